/*-------------------------------------------------------------------------
 *
 * ecp_maintain.c
 *	  Decisions of maintenance: which leaves and nodes are split, folded,
 *	  merged or dropped.
 *
 * Called by inserts that find a cluster full (one split), and by VACUUM's
 * cleanup and ecp_maintain() (ecp_vacuum.c), with the maintenance lock
 * held.  ecp_replace.c replaces the clusters.
 *
 * - A leaf with more rows than ecp_limits_leaf_rows() is split by VACUUM, or by
 *	 the insert that finds it full.
 * - A leaf in more than four runs, or with less than a quarter of its slots
 *	 in use, is folded if that saves pages.
 * - A leaf that has lost three quarters of the rows it was written with is
 *	 merged with the nearest sibling; an empty leaf is dropped.  Where many
 *	 have, ecp_regroup.c replaces them before, in groups.
 * - A node without room for new entries is rewritten, as one node or two, before
 *	 any of its children is replaced, and its own parent before it.
 *
 * Replaced clusters stay until no snapshot can need them, so a fold extends the
 * file before it saves space.  Therefore folds and merges pause while more than
 * a sixteenth of the index is retired; splits and drops do not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/topk.h"
#include "commands/vacuum.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Runs of a leaf that is not folded, at most. */
#define ECP_FOLD_RUNS			4

static uint32
node_limit(const EcpIndexState *state)
{
	uint32		fits = ecp_geometry_slots(&state->node, ECP_SPLIT_PAGES_MAX);

	return Max(Min(state->meta.ecpm_node_max, fits), 4);
}

/* ---- nodes ---- */

/* Position of a child among those of a node, or -1. */
static int
node_find_child(const EcpNodeImage *node, uint64 run)
{
	for (int i = 0; i < node->nchildren; i++)
	{
		if (node->children[i].ecpc_run == run)
			return i;
	}
	return -1;
}

/* May a child of this node be replaced by two? */
static bool
node_has_room(const EcpIndexState *state, const EcpNodeImage *node)
{
	return node->nfree >= ECP_NODE_FREE_MIN &&
		node->nchildren <= node_limit(state);
}

/*
 * The node of "level" that has the child "run", with leaders.  Reads all nodes
 * of that level, of which there are few, since it is used for the parents of
 * nodes only.
 */
static EcpNodeImage *
find_parent(Relation index, const EcpIndexState *state, int level,
			uint64 run, int *which)
{
	List	   *nodes = ecp_node_collect(index, state, level);
	ListCell   *lc;

	Assert(level > 1);
	foreach(lc, nodes)
	{
		EcpNodeRef *ref = lfirst(lc);
		EcpNodeImage *node;

		node = ecp_node_read(index, state, level, ref->child.ecpc_blk,
							 ref->child.ecpc_run, true);
		*which = node_find_child(node, run);
		if (*which >= 0)
			return node;
		ecp_node_image_free(node);
	}
	ecp_report_corrupt(index, ECP_META_BLKNO,
					   "A node is not referred to by any node above it.");
	return NULL;
}

/*
 * The parent of a node, rewritten first if it has no room for a successor; NULL
 * if the node is the root.  *state is the version of the parent.
 */
static EcpNodeImage *
node_parent(Relation index, uint64 run, int level, int *which,
			EcpIndexState *state)
{
	check_stack_depth();
	for (;;)
	{
		EcpNodeImage *parent;

		ecp_meta_read_state(index, state);
		if (state->meta.ecpm_root.ecpc_run == run)
			return NULL;
		parent = find_parent(index, state, level + 1, run, which);
		if (node_has_room(state, parent))
			return parent;
		ecp_maintain_renew_node(index, parent->head.blk, parent->head.run, level + 1,
								0);
	}
}

/* Can a node be split, with each buffer beside its clusters? */
static bool
node_divisible(const EcpIndexState *state, const EcpNodeImage *node)
{
	Size		stride = node->stride;
	uint8	   *sides;
	char	   *scratch;
	void	   *centres[2];

	if (node->nbuffers == 0)
		return true;
	sides = palloc(node->nchildren + node->nbuffers);
	scratch = palloc(2 * stride);
	centres[0] = scratch;
	centres[1] = scratch + stride;
	return ecp_insbuf_plan_sides(state, node, node->head.run, sides, centres);
}

/*
 * Rewrite a node so that it has room, "room" free slots and half as many as it
 * has children at least: as two nodes if it has too many children.
 * Its parent is rewritten first if it has no room.  Buffers stay in one node
 * with their clusters.  If that is impossible because there is only one buffer,
 * it is flushed before its clusters are divided.
 */
void
ecp_maintain_renew_node(Relation index, BlockNumber blk, uint64 run, int level,
						uint32 room)
{
	EcpIndexState state;
	EcpReplaceRequest target = {0};
	EcpNodeImage *node;
	EcpReplaceKind kind;

	Assert(ecp_maintain_lock_held(index));
	Assert(level > 0);
	for (;;)
	{
		EcpMaintainCounts counts = {0};
		EcpChildData ref = {0};

		target.parent = node_parent(index, run, level, &target.which[0],
									&state);
		node = ecp_node_read(index, &state, level, blk, run, true);
		kind = node->nchildren > node_limit(&state) ?
			ECP_REPLACE_SPLIT : ECP_REPLACE_FOLD;
		if (kind == ECP_REPLACE_FOLD || node_divisible(&state, node))
			break;
		ref.ecpc_blk = blk;
		ref.ecpc_run = run;
		ecp_insbuf_flush_node(index, &ref, &counts);
		blk = ref.ecpc_blk;
		run = ref.ecpc_run;
	}

	target.level = level;
	target.nold = 1;
	target.room = room;
	if (!ecp_replace(index, kind, &target))
		ecp_report_corrupt(index, blk, "A node has no children.");
}

/*
 * Rewrite a node of level 1 with "room" free slots; *ref is where it is
 * then.
 */
void
ecp_maintain_fold_node(Relation index, EcpChildData *ref, uint32 room)
{
	EcpIndexState state;
	EcpReplaceRequest target = {0};
	EcpChildData folded;

	Assert(ecp_maintain_lock_held(index));
	target.parent = node_parent(index, ref->ecpc_run, 1,
								&target.which[0], &state);
	target.level = 1;
	target.nold = 1;
	target.room = room;
	target.result = &folded;
	if (!ecp_replace(index, ECP_REPLACE_FOLD, &target))
		ecp_report_corrupt(index, ref->ecpc_blk, "A node has no children.");
	*ref = folded;
}

/* ---- one split, for an insert ---- */

/* The leaf nearest to "prepared", as a target; false if there is no leaf. */
static bool
target_nearest(Relation index, const EcpIndexState *state,
			   const void *prepared, EcpReplaceRequest *target,
			   EcpChildData *leaf)
{
	EcpDescent *descent;
	EcpClusterRef cluster;
	EcpNodeImage *parent;

	memset(target, 0, sizeof(EcpReplaceRequest));
	target->nold = 1;
	if (EcpIndexIsEmpty(state))
		return false;
	if (state->meta.ecpm_root_level == 0)
	{
		*leaf = state->meta.ecpm_root;
		return true;
	}

	descent = ecp_descent_nearest(index, state, prepared, &cluster);
	ecp_descent_end(descent);
	parent = ecp_node_read(index, state, 1, cluster.parent_blk,
						   cluster.parent_run, true);
	target->parent = parent;
	target->which[0] = node_find_child(parent, cluster.child.ecpc_run);
	if (target->which[0] < 0)
		ecp_report_moved(index, cluster.child.ecpc_blk);
	*leaf = cluster.child;
	return true;
}

/*
 * Split the leaf nearest to "prepared" if it is (still) full.
 */
void
ecp_maintain_full_leaf(Relation index, const void *prepared)
{
	Assert(ecp_maintain_lock_held(index));
	for (;;)
	{
		EcpIndexState state;
		EcpReplaceRequest target;
		EcpChildData leaf;
		EcpClusterSize size;

		CHECK_FOR_INTERRUPTS();
		ecp_meta_read_state(index, &state);
		if (!target_nearest(index, &state, prepared, &target, &leaf))
			return;
		ecp_cluster_size(index, &state, &leaf, true, &size);
		if (size.nlive < ecp_limits_leaf_rows(&state))
			return;				/* another process has split it */
		if (target.parent && !node_has_room(&state, target.parent))
		{
			ecp_maintain_renew_node(index, target.parent->head.blk,
									target.parent->head.run, 1, 0);
			continue;
		}
		(void) ecp_replace(index, ECP_REPLACE_SPLIT, &target);
		return;
	}
}

/* ---- leaves ---- */

/*
 * The other children of a node whose leaders are nearest to that of child i, the
 * nearest first, at most "max"; returns their number.
 */
int
ecp_maintain_neighbours(const EcpIndexState *state, const EcpNodeImage *node, int i,
						int *which, int max)
{
	float8	   *nearest = palloc_array(float8, max);
	int			n = 0;

	Assert(i >= 0 && i < node->nchildren);
	Assert(node->leaders != NULL);
	for (int k = 0; k < node->nchildren; k++)
	{
		float8		d = ecp_leader_distance(&state->meta,
											node->leaders + i * node->stride,
											node->leaders + k * node->stride);
		int			at = k == i ? -1 : ecp_smallest_add(nearest, &n, max, d);

		if (at < 0)
			continue;
		memmove(&which[at + 1], &which[at], (n - 1 - at) * sizeof(int));
		which[at] = k;
	}
	pfree(nearest);
	return n;
}

/*
 * Should leaf i of a node (or the root, if node is NULL) be replaced?  If so,
 * *kind and *target say how.
 */
static bool
leaf_decide(Relation index, const EcpIndexState *state,
			const EcpNodeImage *node, int i, EcpReplaceKind *kind,
			EcpReplaceRequest *target)
{
	const EcpMetaPageData *meta = &state->meta;
	const EcpChildData *leaf = node ? &node->children[i] : &meta->ecpm_root;
	uint32		limit = ecp_limits_leaf_rows(state);
	uint32		entry_pages;
	uint32		npages;
	EcpClusterSize size;

	memset(target, 0, sizeof(EcpReplaceRequest));
	target->parent = node;
	target->nold = 1;
	target->which[0] = i;

	ecp_cluster_size(index, state, leaf, false, &size);
	if (size.nslots <= limit && size.nruns <= ECP_FOLD_RUNS && !size.has_holes)
		return false;
	ecp_cluster_size(index, state, leaf, true, &size);

	if (size.nlive > limit)
	{
		*kind = ECP_REPLACE_SPLIT;
		return true;
	}
	if (size.nlive == 0 &&
		(node ? node->nchildren > 1 :
		 (meta->ecpm_flags & ECP_META_DIMS_LEARNED) != 0))
	{
		*kind = ECP_REPLACE_DROP;
		return true;
	}
	if (ecp_limits_too_much_retired(index, state))
		return false;

	if (node && node->nchildren > 1 &&
		size.nlive < meta->ecpm_leaf_target / 4 &&
		size.nlive < leaf->ecpc_nrows / 4)
	{
		EcpClusterSize other;
		int			sibling;

		(void) ecp_maintain_neighbours(state, node, i, &sibling, 1);
		ecp_cluster_size(index, state, &node->children[sibling], true,
						 &other);
		if (size.nlive + other.nlive <= limit - limit / 4)
		{
			target->nold = 2;
			target->which[1] = sibling;
			*kind = ECP_REPLACE_MERGE;
			return true;
		}
	}
	ecp_geometry_run_size(&state->leaf, Max(size.nlive, 1), &entry_pages, &npages);
	if (npages < size.npages &&
		(size.nruns > ECP_FOLD_RUNS || size.nlive < size.nslots / 4))
	{
		*kind = ECP_REPLACE_FOLD;
		return true;
	}
	return false;
}

static void
maintain_count(EcpReplaceKind kind, EcpMaintainCounts *counts)
{
	switch (kind)
	{
		case ECP_REPLACE_FOLD:
			counts->folds++;
			break;
		case ECP_REPLACE_SPLIT:
			counts->splits++;
			break;
		case ECP_REPLACE_MERGE:
			counts->merges++;
			break;
		case ECP_REPLACE_DROP:
			counts->drops++;
			break;
		case ECP_REPLACE_GROUP:
			counts->groups++;
			break;
		case ECP_REPLACE_BUFFERS:
			break;
	}
}

/*
 * Maintain the leaves below one node.  Returns false if the node had to be
 * rewritten: the remaining leaves are then below its successors.
 */
static bool
maintain_children(Relation index, const EcpChildData *ref,
				  EcpMaintainCounts *counts)
{
	uint32		next_slot = 0;

	Assert(ecp_maintain_lock_held(index));
	for (;;)
	{
		EcpIndexState state;
		EcpNodeImage *node;
		EcpReplaceRequest target;
		EcpReplaceKind kind;
		bool		found = false;

		ecp_meta_read_state(index, &state);
		node = ecp_node_read(index, &state, 1, ref->ecpc_blk, ref->ecpc_run,
							 true);

		/* new children have higher slots than those seen */
		for (int i = 0; i < node->nchildren && !found; i++)
		{
			if (node->slots[i] < next_slot)
				continue;
			ecp_vacuum_delay_point();
			next_slot = node->slots[i] + 1;
			found = leaf_decide(index, &state, node, i, &kind, &target);
		}
		if (!found)
			return true;
		if (!node_has_room(&state, node))
		{
			ecp_maintain_renew_node(index, ref->ecpc_blk, ref->ecpc_run, 1, 0);
			return false;
		}
		if (ecp_replace(index, kind, &target))
			maintain_count(kind, counts);
		ecp_node_image_free(node);
	}
}

/* Maintain an index whose root is a leaf. */
static void
maintain_root_leaf(Relation index, EcpMaintainCounts *counts)
{
	EcpIndexState state;
	EcpReplaceRequest target;
	EcpReplaceKind kind;

	ecp_meta_read_state(index, &state);
	if (EcpIndexIsEmpty(&state) || state.meta.ecpm_root_level > 0)
		return;
	if (leaf_decide(index, &state, NULL, 0, &kind, &target) &&
		ecp_replace(index, kind, &target))
		maintain_count(kind, counts);
}

/*
 * Split, fold, merge and drop leaves, in all nodes.  The maintenance lock is
 * held.
 */
void
ecp_maintain_leaves(Relation index, EcpMaintainCounts *counts)
{
	MemoryContext context;
	MemoryContext old_context;
	uint64		from_run = 0;
	bool		again = true;

	context = AllocSetContextCreate(CurrentMemoryContext, "ecp maintain",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	maintain_root_leaf(index, counts);
	while (again)
	{
		EcpIndexState state;
		uint64		next_run;
		List	   *nodes;
		ListCell   *lc;

		/* after the first round, only nodes written in the previous one */
		again = false;
		MemoryContextReset(context);
		ecp_meta_read_state(index, &state);
		next_run = state.meta.ecpm_next_run;
		nodes = ecp_node_collect(index, &state, 1);
		foreach(lc, nodes)
		{
			EcpNodeRef *ref = lfirst(lc);

			if (ref->child.ecpc_run >= from_run &&
				!maintain_children(index, &ref->child, counts))
				again = true;
		}
		from_run = next_run;
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

/* Let waiting inserters take the maintenance lock. */
void
ecp_maintain_pause(Relation index)
{
	ecp_maintain_lock_release(index);
	CHECK_FOR_INTERRUPTS();
	ecp_maintain_lock_take(index);
	ecp_replace_undo(index);
}
