/*-------------------------------------------------------------------------
 *
 * ecp_regroup.c
 *	  Groups of leaves: new leaders for many clusters at once, and rows moved
 *	  to the leader that is now nearest.
 *
 * An index that grows by splits becomes worse than one built from the same
 * rows.  A split is limited to one cluster: rows that are nearer to a
 * neighbouring leader stay, and rows of neighbours that are nearer to one of the
 * halves are not moved there.  Also, leaders represent the rows of the past.
 * Therefore leaves are regrouped: neighbours, as many as fit into memory,
 * exchange their rows in one REPLACE of a group (ecp_replace.c,
 * ecp_regroup_divide.c).  This is LIRE's reassignment (SPFresh, SOSP'23) with
 * many splits at a time instead of one.
 *
 * - ecp_maintain() trains leaders where more than a tenth of a node's leaves
 *	 were made by splits and merges since the last training, or where they have
 *	 lost a fifth of their rows.  Then it reassigns the same rows in other
 *	 groups, for those on the border of two groups.
 * - VACUUM does the same where more than half were made so, without reassigning:
 *	 in all, this takes a time proportional to the number of rows inserted.
 * - VACUUM trains leaders for the remaining rows of leaves that have lost most of
 *	 theirs.
 * - VACUUM reassigns rows around leaves that were split since the last VACUUM,
 *	 with a limit on their number.
 *
 * The leaves of a group are children of one node.  The maintenance lock is
 * released between two groups so that waiting inserters can take it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "base/compat.h"
#include "base/user_index.h"
#include "commands/vacuum.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_probe.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Leaves to train by one k-means: more would be too slow. */
#define ECP_REGROUP_LEAVES_MAX	1500

/* A node is trained when 1/n of its leaves are younger: by ecp_maintain(), */
#define ECP_REGROUP_YOUNG			10
#define ECP_REGROUP_YOUNG_VACUUM	2	/* and by VACUUM */

/* New leaves of a group at most, by those that its rows should make. */
#define ECP_REGROUP_ROOM			1.5

/* A node is rewritten after training if 1/n of its slots would be enough. */
#define ECP_REGROUP_NODE_WASTE		2

/*
 * A leaf has lost most of its rows if less than 1/n are left.  Half of them
 * often come back.
 */
#define ECP_REGROUP_LOST			3

/* A node is trained, too, where its leaves have lost more than 1/n of theirs. */
#define ECP_REGROUP_LOST_NODE		5

/* What VACUUM reassigns around a leaf that was split. */
#define ECP_REGROUP_NEIGHBOURS	8
#define ECP_REGROUP_CHECKED		16	/* rows looked at, */
#define ECP_REGROUP_MISASSIGNED		3	/* of which more than 1/n are
										 * misassigned */
#define ECP_REGROUP_ROUNDING	1e-6	/* of a distance */
#define ECP_REGROUP_VACUUM_MIN	8	/* groups at most: this number, */
#define ECP_REGROUP_VACUUM_SHARE	64	/* and 1/n of the leaves */

PGDLLEXPORT Datum ecp_misassigned(PG_FUNCTION_ARGS);

/* ---- which leaves make a group ---- */

/* Leaves of one node that are still to be treated. */
typedef struct EcpRegroupTodo
{
	const EcpNodeImage *node;
	int			n;
	int		   *which;			/* children of the node */
	uint32	   *nrows;			/* of each child of the node, about */
	double		total;			/* rows of all n */
} EcpRegroupTodo;

/*
 * Reduce the leaves to be treated to neighbours with at most rows_max rows and
 * leaves_max leaves: divide them by 2-means over the leaders and keep the first
 * half, as often as necessary.
 */
static void
group_choose(const EcpMetaPageData *meta, EcpRegroupTodo *todo,
			 double rows_max, int leaves_max, uint64 seed)
{
	const EcpNodeImage *node = todo->node;
	char	   *centre[2];
	char	   *leaders;
	uint8	   *sides;

	Assert(leaves_max >= 0);
	Assert(todo->n <= todo->node->nchildren);
	if (todo->n < 3 || (todo->total <= rows_max && todo->n <= leaves_max))
		return;
	leaders = palloc_extended(mul_size(todo->n, node->stride), MCXT_ALLOC_HUGE);
	sides = palloc(todo->n);
	centre[0] = palloc(node->stride);
	centre[1] = palloc(node->stride);
	while (todo->n >= 3 && (todo->total > rows_max || todo->n > leaves_max))
	{
		int			left = 0;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < todo->n; i++)
			memcpy(leaders + i * node->stride,
				   node->leaders + todo->which[i] * node->stride,
				   node->stride);
		ecp_kmeans_two(meta->ecpm_leader_elem, meta->ecpm_dims, leaders,
					   node->stride, todo->n, seed + todo->n, sides,
					   (void **) centre);
		todo->total = 0;
		for (int i = 0; i < todo->n; i++)
		{
			if (sides[i] != 0)
				continue;
			todo->which[left++] = todo->which[i];
			todo->total += todo->nrows[todo->which[i]];
		}
		todo->n = left;
	}
	pfree(centre[1]);
	pfree(centre[0]);
	pfree(sides);
	pfree(leaders);
}

/* One pass over the index: which leaves it treats, and how. */
typedef struct EcpRegroupPass
{
	Relation	heap;
	bool		retrain;		/* else: reassign what was trained before */
	bool		shrunk;			/* only leaves that have lost most of their
								 * rows */
	int			young;			/* or all, where 1/n of them are younger */
	bool		lost;			/* or have lost many of their rows */
	uint64		from;			/* run ids: given since training began */
	uint64		before;			/* and: since this pass began */
} EcpRegroupPass;

/*
 * Has a leaf lost most of its rows?  size->nlive is set only if it may have.  A
 * leaf that has been small from the start stays.
 */
static bool
leaf_has_shrunk(Relation index, const EcpIndexState *state,
				const EcpChildData *leaf, EcpClusterSize *size)
{
	if (!size->has_holes)
		return false;
	ecp_cluster_size(index, state, leaf, true, size);
	return size->nlive * ECP_REGROUP_LOST <
		Min(size->nrows_had, state->meta.ecpm_leaf_target);
}

/* The leaves of a node that a pass treats, with their sizes. */
static void
group_todo(Relation index, const EcpIndexState *state,
		   const EcpNodeImage *node, const EcpRegroupPass *pass,
		   EcpRegroupTodo *todo)
{
	memset(todo, 0, sizeof(EcpRegroupTodo));
	todo->node = node;
	todo->which = palloc_array(int, Max(node->nchildren, 1));
	todo->nrows = palloc0_array(uint32, Max(node->nchildren, 1));
	for (int i = 0; i < node->nchildren; i++)
	{
		const EcpChildData *leaf = &node->children[i];
		EcpClusterSize size;

		if (leaf->ecpc_run >= pass->before)
			continue;
		ecp_vacuum_delay_point();
		ecp_cluster_size(index, state, leaf, false, &size);
		if (pass->shrunk && !leaf_has_shrunk(index, state, leaf, &size))
			continue;
		todo->nrows[i] = pass->shrunk ? size.nlive : size.nslots;
		todo->total += todo->nrows[i];
		todo->which[todo->n++] = i;
	}
}

/*
 * Let inserters that waited for the group take the maintenance lock, and free
 * what it has replaced, so that the next group can reuse it.
 */
static void
group_pause(Relation index, const EcpRegroupPass *pass,
			EcpMaintainCounts *counts)
{
	ecp_maintain_pause(index);
	counts->purged_pages += ecp_purge(index, pass->heap, ECP_PURGE_NOW);
}

/* Replace a group; false if it was not possible. */
static bool
group_replace(Relation index, const EcpReplaceRequest *target,
			  EcpMaintainCounts *counts)
{
	if (!ecp_replace(index, ECP_REPLACE_GROUP, target))
		return false;
	counts->groups++;
	counts->regrouped += target->nold;
	return true;
}

/*
 * Free slots that a node should have before its leaves are replaced.  Leaders
 * that are trained in one group are better than those of several, so that there
 * should be room for all new leaves at once.
 */
static uint32
group_room(const EcpIndexState *state, const EcpRegroupTodo *todo, bool retrain)
{
	const EcpNodeImage *node = todo->node;
	double		fits = ecp_geometry_slots(&state->node, ECP_RUN_PAGES_MAX);
	double		room = node->nchildren / 4;

	if (retrain)
		room = Min(todo->total, ecp_limits_regroup_rows(state)) *
			ECP_REGROUP_ROOM / state->meta.ecpm_leaf_target;
	room = Min(room, fits - node->nchildren - node->nbuffers);
	return Max(room, 2 * ECP_NODE_FREE_MIN);
}

/*
 * Rewrite a node that has far more slots than children, as training leaves it:
 * scans copy all its pages.
 */
static void
group_trim_node(Relation index, const EcpChildData *ref)
{
	EcpIndexState state;
	EcpNodeImage *node;

	ecp_meta_read_state(index, &state);
	node = ecp_node_try_read(index, &state, 1, ref->ecpc_blk, ref->ecpc_run,
							 false);
	if (node != NULL && (node->head.header.ecpr_flags & ECP_RUN_RETIRED) == 0 &&
		node->head.header.ecpr_nslots / ECP_REGROUP_NODE_WASTE >
		node->nchildren + node->nbuffers + state.node.slots)
		ecp_maintain_renew_node(index, ref->ecpc_blk, ref->ecpc_run, 1, 0);
}

/*
 * Replace one group of the node "ref".  Returns false if none is left, or if the
 * node is gone or had to be rewritten, in which case *again is set.
 */
static bool
group_replace_one(Relation index, const EcpChildData *ref,
				  const EcpRegroupPass *pass, EcpMaintainCounts *counts,
				  bool *again)
{
	EcpIndexState state;
	EcpReplaceRequest target = {0};
	EcpRegroupTodo todo;
	EcpNodeImage *node;
	double		rows_max;
	int			leaves_max;
	uint32		room;

	ecp_meta_read_state(index, &state);
	node = ecp_node_try_read(index, &state, 1, ref->ecpc_blk, ref->ecpc_run,
							 true);
	if (node == NULL || (node->head.header.ecpr_flags & ECP_RUN_RETIRED) != 0)
	{
		*again = true;
		return false;
	}
	group_todo(index, &state, node, pass, &todo);
	if (todo.n < 2 || todo.total < 2)
		return false;

	/* a single group has no borders */
	if (!pass->retrain && todo.n <= ECP_REGROUP_LEAVES_MAX &&
		todo.total <= ecp_limits_regroup_rows(&state))
		return false;

	/* there may be more new leaves than old; each needs a slot of the node */
	room = group_room(&state, &todo, pass->retrain);
	if (node->nfree < room)
	{
		ecp_maintain_renew_node(index, ref->ecpc_blk, ref->ecpc_run, 1, room);
		*again = true;
		return false;
	}
	rows_max = Min(ecp_limits_regroup_rows(&state),
				   node->nfree / ECP_REGROUP_ROOM * state.meta.ecpm_leaf_target);
	leaves_max = pass->retrain ? ECP_REGROUP_LEAVES_MAX :
		Min(ECP_REGROUP_LEAVES_MAX, node->nfree / 2);
	group_choose(&state.meta, &todo, rows_max, leaves_max,
				 state.meta.ecpm_seed + (pass->retrain ? 0 : 1));
	target.parent = node;
	target.nold = todo.n;
	target.group = todo.which;
	target.retrain = pass->retrain;
	return group_replace(index, &target, counts);
}

/*
 * Have the leaves of a node together lost many rows?  Each takes half a page more
 * than its rows do.
 */
static bool
node_has_shrunk(Relation index, const EcpIndexState *state,
				const EcpNodeImage *node)
{
	double		lost = 0;
	double		had = 0;

	for (int i = 0; i < node->nchildren; i++)
	{
		EcpClusterSize size;
		uint32		nrows;

		ecp_vacuum_delay_point();
		ecp_cluster_size(index, state, &node->children[i], true, &size);
		nrows = Min(size.nrows_had, state->meta.ecpm_leaf_target);
		had += nrows;
		lost += nrows - Min(size.nlive, nrows);
	}
	return lost * ECP_REGROUP_LOST_NODE > had;
}

/* Does a pass, which may have begun before, treat leaves of a node? */
static bool
group_pass_wants(Relation index, const EcpIndexState *state,
				 const EcpRegroupPass *pass, const EcpNodeImage *node)
{
	int			nyoung = 0;

	if (pass->shrunk)
		return true;
	for (int i = 0; i < node->nchildren; i++)
	{
		const EcpChildData *child = &node->children[i];

		if ((child->ecpc_flags & ECP_CHILD_TRAINED) == 0)
			nyoung++;
		else if (child->ecpc_run >= pass->from)
			return true;
	}
	return pass->retrain && (nyoung * pass->young > node->nchildren ||
							 (pass->lost && node_has_shrunk(index, state, node)));
}

/* Report it if a round that is to be repeated has not changed the index. */
static void
group_check_progress(Relation index, uint32 before)
{
	EcpIndexState state;

	ecp_meta_read_state(index, &state);
	if (state.meta.ecpm_sversion == before)
		ecp_report_corrupt(index, ECP_META_BLKNO,
						   "A node of the present version is marked as retired.");
}

/* Treat the leaves of all nodes of a pass, one group at a time. */
static void
group_pass(Relation index, const EcpRegroupPass *pass,
		   EcpMaintainCounts *counts)
{
	bool		again = true;

	while (again)
	{
		EcpIndexState state;
		uint32		sversion;
		List	   *nodes;
		ListCell   *lc;

		again = false;
		ecp_meta_read_state(index, &state);
		sversion = state.meta.ecpm_sversion;
		nodes = ecp_node_collect(index, &state, 1);
		foreach(lc, nodes)
		{
			EcpNodeRef *ref = lfirst(lc);
			MemoryContext context;
			MemoryContext old_context;
			EcpNodeImage *node;
			uint32		groups = counts->groups;
			bool		more;

			context = AllocSetContextCreate(CurrentMemoryContext, "ecp group",
											ALLOCSET_DEFAULT_SIZES);
			old_context = MemoryContextSwitchTo(context);
			ecp_meta_read_state(index, &state);
			node = ecp_node_try_read(index, &state, 1, ref->child.ecpc_blk,
									 ref->child.ecpc_run, false);
			more = node != NULL && group_pass_wants(index, &state, pass, node);
			while (more)
			{
				MemoryContextReset(context);
				more = group_replace_one(index, &ref->child, pass, counts,
										 &again);
				if (more)
					group_pause(index, pass, counts);
			}
			if (counts->groups > groups)
				group_trim_node(index, &ref->child);
			MemoryContextSwitchTo(old_context);
			MemoryContextDelete(context);
		}
		list_free_deep(nodes);
		if (again)
			group_check_progress(index, sversion);
	}
}

/*
 * ecp_regroup_train
 *		Train leaders where many are younger than the last training; "train" where
 *		some are, "thorough" where many rows are gone.
 *
 * The maintenance lock is held, and released between groups.
 */
void
ecp_regroup_train(Relation index, Relation heap, bool train, bool thorough,
				  EcpMaintainCounts *counts)
{
	EcpIndexState state;
	EcpRegroupPass pass = {0};
	uint32		groups = counts->groups;

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	pass.heap = heap;
	pass.retrain = true;
	pass.young = train ? ECP_REGROUP_YOUNG : ECP_REGROUP_YOUNG_VACUUM;
	pass.lost = thorough;
	pass.from = pass.before = state.meta.ecpm_next_run;
	group_pass(index, &pass, counts);
	if (!train || counts->groups == groups)
		return;
	ecp_meta_read_state(index, &state);
	pass.retrain = false;
	pass.before = state.meta.ecpm_next_run;
	group_pass(index, &pass, counts);
}

/*
 * ecp_regroup_shrunk
 *		Train leaders for the rows of leaves that have lost most of theirs.
 *
 * The maintenance lock is held, and released between groups.
 */
void
ecp_regroup_shrunk(Relation index, Relation heap, EcpMaintainCounts *counts)
{
	EcpIndexState state;
	EcpRegroupPass pass = {0};

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	pass.heap = heap;
	pass.retrain = pass.shrunk = true;
	pass.from = pass.before = state.meta.ecpm_next_run;
	group_pass(index, &pass, counts);
}

/* ---- misassigned rows ---- */

/*
 * Is a prepared row nearer to another leader than to "own", that of its cluster?
 * Equally near is none: which of some equal leaders a row went to is chance.
 */
static bool
row_is_misassigned(Relation index, const EcpIndexState *state,
				   const void *prepared, uint64 run, const void *own)
{
	const EcpMetaPageData *meta = &state->meta;
	EcpClusterRef nearest;
	EcpDescent *descent = ecp_descent_nearest(index, state, prepared, &nearest);
	bool		misassigned = false;

	if (nearest.child.ecpc_run != run)
	{
		char	   *other = palloc(state->node.vec_bytes + 64);

		ecp_panel_get(nearest.panel, nearest.panel_child, other);
		misassigned = ecp_leader_distance(meta, prepared, other) <
			ecp_leader_distance(meta, prepared, own) * (1 - ECP_REGROUP_ROUNDING);
		pfree(other);
	}
	ecp_descent_end(descent);
	return misassigned;
}

/*
 * Count the rows among the first of leaf i of a node, at most "max", that are
 * nearer to another leader.  Adds to both counts.
 */
static void
group_count_misassigned(Relation index, const EcpIndexState *state,
						const EcpNodeImage *node, int i, int max, int *nrows,
						int *nmisassigned)
{
	const EcpGeometry *geo = &state->leaf;
	const EcpChildData *leaf = &node->children[i];
	char	   *vector = palloc(geo->vec_bytes + 64);
	char	   *prepared = palloc(state->node.vec_bytes + 64);
	PGAlignedBlock copy;
	EcpRun		run;
	EcpEntryView view;
	int			nslots;

	Assert(max >= 0);
	Assert(node->leaders != NULL);
	if (!ecp_run_read(index, state, 0, leaf->ecpc_blk, leaf->ecpc_run,
					  InvalidBuffer, &run))
		ecp_report_moved(index, leaf->ecpc_blk);
	ecp_run_copy_page(index, &run, 0, InvalidBuffer, copy.data);
	ecp_entry_view(copy.data, geo, 0, &view);
	nslots = Min(geo->slots, run.header.ecpr_nslots);
	for (int slot = 0; slot < nslots && max > 0; slot++)
	{
		if (!EcpSlotIsLive(&view, slot))
			continue;
		ecp_run_read_vector(index, geo, &run, &view, slot, vector);
		if (!ecp_prepare_row(&state->meta, vector, prepared))
			continue;
		if (row_is_misassigned(index, state, prepared, leaf->ecpc_run,
							   node->leaders + i * node->stride))
			(*nmisassigned)++;
		(*nrows)++;
		max--;
	}
	pfree(prepared);
	pfree(vector);
}

/* Reassign leaf i of a node together with its nearest neighbours. */
static bool
group_around(Relation index, const EcpIndexState *state,
			 const EcpNodeImage *node, int i, EcpMaintainCounts *counts)
{
	EcpReplaceRequest target = {0};
	int			which[ECP_REGROUP_NEIGHBOURS];

	/* the leaf itself is the first */
	which[0] = i;
	target.parent = node;
	target.nold = 1 + ecp_maintain_neighbours(state, node, i, which + 1,
											  ECP_REGROUP_NEIGHBOURS - 1);
	target.group = which;
	return group_replace(index, &target, counts);
}

/*
 * Reassign rows around the leaves of one node that come from splits, are older
 * than run "before" and have many misassigned rows: at most "max" groups.
 * Returns the number of groups.
 */
static int
group_around_node(Relation index, const EcpChildData *ref, uint64 before,
				  int max, EcpMaintainCounts *counts)
{
	uint32		next_slot = 0;
	int			done = 0;

	while (done < max)
	{
		EcpIndexState state;
		EcpNodeImage *node;
		int			found = -1;

		ecp_meta_read_state(index, &state);
		if (ecp_limits_too_much_retired(index, &state))
			return done;
		node = ecp_node_read(index, &state, 1, ref->ecpc_blk, ref->ecpc_run,
							 true);
		if (node->nchildren < 2 ||
			node->nfree < 2 * ECP_REGROUP_NEIGHBOURS + ECP_NODE_FREE_MIN)
			return done;

		/* children that we add come behind those that we have seen */
		for (int i = 0; i < node->nchildren && found < 0; i++)
		{
			const EcpChildData *leaf = &node->children[i];
			int			nrows = 0;
			int			nmisassigned = 0;

			if (node->slots[i] < next_slot || leaf->ecpc_run >= before ||
				(leaf->ecpc_flags & ECP_CHILD_TRAINED) != 0)
				continue;
			ecp_vacuum_delay_point();
			next_slot = node->slots[i] + 1;
			group_count_misassigned(index, &state, node, i, ECP_REGROUP_CHECKED,
									&nrows, &nmisassigned);
			if (nmisassigned * ECP_REGROUP_MISASSIGNED > nrows)
				found = i;
		}
		if (found < 0)
			return done;
		if (group_around(index, &state, node, found, counts))
			done++;
		ecp_node_image_free(node);
	}
	return done;
}

/*
 * ecp_regroup_around_splits
 *		Reassign rows around some leaves that were split, for VACUUM.
 *
 * The maintenance lock is held.
 */
void
ecp_regroup_around_splits(Relation index, EcpMaintainCounts *counts)
{
	MemoryContext context;
	MemoryContext old_context;
	EcpIndexState state;
	ListCell   *lc;
	int			max;

	Assert(ecp_maintain_lock_held(index));
	context = AllocSetContextCreate(CurrentMemoryContext, "ecp group",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	ecp_meta_read_state(index, &state);
	max = ECP_REGROUP_VACUUM_MIN + state.meta.ecpm_nleaves / ECP_REGROUP_VACUUM_SHARE;
	foreach(lc, ecp_node_collect(index, &state, 1))
	{
		EcpNodeRef *ref = lfirst(lc);

		if (max <= 0)
			break;
		max -= group_around_node(index, &ref->child, state.meta.ecpm_next_run,
								 max, counts);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

/* ---- SQL ---- */

/*
 * Statistic I11 of the README, estimated by about "samples" rows.
 */
static double
regroup_misassigned(Relation index, const EcpIndexState *state, int samples)
{
	ListCell   *lc;
	double		share = (double) samples / Max(state->meta.ecpm_nleaves, 1);
	double		due = 0;
	int			nrows = 0;
	int			nmisassigned = 0;

	foreach(lc, ecp_node_collect(index, state, 1))
	{
		EcpNodeRef *ref = lfirst(lc);
		EcpNodeImage *node = ecp_node_read(index, state, 1,
										   ref->child.ecpc_blk,
										   ref->child.ecpc_run, true);

		for (int i = 0; i < node->nchildren; i++)
		{
			due += share;
			if (due < 1)
				continue;
			CHECK_FOR_INTERRUPTS();
			group_count_misassigned(index, state, node, i, (int) due, &nrows,
									&nmisassigned);
			due -= (int) due;
		}
		ecp_node_image_free(node);
	}
	return nrows > 0 ? (double) nmisassigned / nrows : 0;
}

PG_FUNCTION_INFO_V1(ecp_misassigned);

/*
 * ecp_misassigned(index regclass, samples int)
 */
Datum
ecp_misassigned(PG_FUNCTION_ARGS)
{
	Relation	index;
	EcpIndexState state;
	double		share;

	index = ecp_user_index_open(fcinfo, AccessShareLock, ECP_INDEX_READ,
								&ecp_index_kind, NULL);

	ecp_meta_read_state(index, &state);
	share = regroup_misassigned(index, &state, Max(PG_GETARG_INT32(1), 1));
	relation_close(index, AccessShareLock);
	PG_RETURN_FLOAT8(share);
}
