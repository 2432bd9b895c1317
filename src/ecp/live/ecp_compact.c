/*-------------------------------------------------------------------------
 *
 * ecp_compact.c
 *	  Giving back the end of the file.
 *
 * Blocks are allocated lowest first, but what was replaced is freed only after
 * its successors were written, which are behind it.  When VACUUM has freed much
 * of an index, it copies the clusters and nodes at the end of the file into free
 * blocks before them, frees the originals, and cuts the file.
 *
 * Only the end moves: at most as many pages as are free.  The leaves of a node
 * are copied in groups (ecp_replace.c), without changing their leaders or rows.
 *
 * The file is cut under an exclusive lock on the index, as VACUUM cuts tables.
 * See the README, "Space".
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/stop_point.h"
#include "catalog/storage.h"
#include "commands/vacuum.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

/* Compact a file of which more than 1/n is free, */
#define ECP_COMPACT_SHARE		8

/* so that there are 1/n more blocks than are used; ecp_maintain() always. */
#define ECP_COMPACT_SPARE		16

/* It also copies leaves that become smaller by more than 1/n. */
#define ECP_COMPACT_HOLES		7

/* Leaves copied at once. */
#define ECP_COMPACT_GROUP		64

/* Cut the file if 1/SHARE of it, or BLOCKS blocks, are free at the end. */
#define ECP_TRUNCATE_SHARE		16
#define ECP_TRUNCATE_BLOCKS		1000

/* What is moved, and how far that has come. */
typedef struct EcpCompact
{
	Relation	index;
	Relation	heap;
	bool		thorough;		/* also what has many free slots: */
	bool		pack;			/* leaves of that kind, else: */
	BlockNumber end;			/* blocks from here on should be free */
	EcpChildData node;			/* whose leaves are moved */
	uint32		next_slot;		/* of the first one that was not looked at */
	bool		renewed;		/* it has all the room it can have */
	EcpMaintainCounts *counts;
} EcpCompact;

/* Would a run, or cluster, of npages be much smaller with these slots? */
static bool
is_loose(const EcpGeometry *geo, uint32 npages, uint32 nslots)
{
	uint32		entry_pages;
	uint32		needed;

	ecp_geometry_run_size(geo, nslots, &entry_pages, &needed);
	return needed < npages - npages / ECP_COMPACT_HOLES;
}

/* Would a copy of a leaf be much smaller?  *nrows gets its rows. */
static bool
leaf_is_loose(const EcpCompact *compact, const EcpIndexState *state,
			  const EcpChildData *leaf, double *nrows)
{
	EcpClusterSize size;

	ecp_cluster_size(compact->index, state, leaf, true, &size);
	*nrows = size.nlive;
	return is_loose(&state->leaf, size.npages, size.nlive + ECP_LEAF_SPARE);
}

/* The first of npages free blocks. */
static BlockNumber
first_room(Relation index, const EcpIndexState *state, uint32 npages)
{
	EcpExtent	room;

	ecp_space_find(index, state->meta.ecpm_map_hint, npages, &room);
	UnlockReleaseBuffer(room.map);
	return room.blk;
}

/*
 * Is a run of a leaf behind the end, with room for a copy before it?  *nslots
 * gets its slots.
 */
static bool
leaf_is_behind(const EcpCompact *compact, const EcpIndexState *state,
			   const EcpChildData *leaf, double *nslots)
{
	EcpRun	   *runs;
	int			nruns;
	uint32		entry_pages;
	uint32		npages;
	bool		behind = false;

	nruns = ecp_cluster_runs(compact->index, state, 0, leaf->ecpc_blk,
							 leaf->ecpc_run, InvalidBuffer, &runs);
	*nslots = 0;
	for (int i = 0; i < nruns; i++)
	{
		*nslots += runs[i].header.ecpr_nslots;
		if (runs[i].blk + runs[i].header.ecpr_npages > compact->end)
			behind = true;
	}
	pfree(runs);
	if (!behind)
		return false;
	ecp_geometry_run_size(&state->leaf, *nslots, &entry_pages, &npages);
	return first_room(compact->index, state, npages) + npages <= compact->end;
}

/*
 * Choose leaves of a node to copy: at most "max", with about as many rows as fit
 * into memory.
 */
static int
compact_choose(EcpCompact *compact, const EcpIndexState *state,
			   const EcpNodeImage *node, int *which, int max)
{
	double		nrows = 0;
	int			n = 0;

	/* copies have higher slots than the leaves that were looked at */
	for (int i = 0; i < node->nchildren && n < max &&
		 nrows < ecp_limits_regroup_rows(state); i++)
	{
		double		nitems;

		if (node->slots[i] < compact->next_slot)
			continue;
		ecp_vacuum_delay_point();
		compact->next_slot = node->slots[i] + 1;
		if (!(compact->pack ? leaf_is_loose : leaf_is_behind)
			(compact, state, &node->children[i], &nitems))
			continue;
		which[n++] = i;
		nrows += nitems;
	}
	return n;
}

/* Copy some leaves of a node.  Returns false if none is left to be copied. */
static bool
compact_group(EcpCompact *compact)
{
	EcpChildData *ref = &compact->node;
	EcpIndexState state;
	EcpReplaceRequest target = {0};
	EcpNodeImage *node;
	int			which[ECP_COMPACT_GROUP];

	ecp_meta_read_state(compact->index, &state);
	/* a snapshot may need what is replaced, so that the file grows */
	if (compact->pack && state.meta.ecpm_retired_pages >
		RelationGetNumberOfBlocks(compact->index) / ECP_COMPACT_SHARE)
		return false;
	node = ecp_node_try_read(compact->index, &state, 1, ref->ecpc_blk,
							 ref->ecpc_run, true);
	if (node == NULL || (node->head.header.ecpr_flags & ECP_RUN_RETIRED) != 0)
		return false;
	if (node->nfree < 2 * ECP_NODE_FREE_MIN)
	{
		if (compact->renewed)
			return false;
		ecp_maintain_fold_node(compact->index, ref, 2 * ECP_COMPACT_GROUP);
		compact->renewed = true;
		compact->next_slot = 0;
		return true;
	}
	target.nold = compact_choose(compact, &state, node, which,
								 Min(ECP_COMPACT_GROUP,
									 node->nfree - ECP_NODE_FREE_MIN));
	target.parent = node;
	target.group = which;
	target.copy = true;
	if (target.nold == 0 ||
		!ecp_replace(compact->index, ECP_REPLACE_GROUP, &target))
		return false;
	compact->renewed = false;
	compact->counts->folds += target.nold;
	return true;
}

/* Leaves of all nodes. */
static void
compact_leaves(EcpCompact *compact)
{
	EcpIndexState state;
	MemoryContext context;
	MemoryContext old_context;
	List	   *nodes;
	ListCell   *lc;

	ecp_meta_read_state(compact->index, &state);
	nodes = ecp_node_collect(compact->index, &state, 1);
	context = AllocSetContextCreate(CurrentMemoryContext, "ecp compact",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	foreach(lc, nodes)
	{
		compact->node = ((EcpNodeRef *) lfirst(lc))->child;
		compact->next_slot = 0;
		compact->renewed = false;
		while (compact_group(compact))
		{
			MemoryContextReset(context);
			ecp_maintain_pause(compact->index);
			compact->counts->purged_pages += ecp_purge(compact->index,
													   compact->heap,
													   ECP_PURGE_NOW);
		}
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	list_free_deep(nodes);
}

/* Is a node to be moved or, of ecp_maintain(), to be made smaller? */
static bool
node_is_wanted(const EcpCompact *compact, const EcpNodeRef *ref)
{
	Relation	index = compact->index;
	EcpIndexState state;
	EcpNodeImage *node;
	uint32		nslots;
	uint32		entry_pages;
	uint32		npages;

	ecp_meta_read_state(index, &state);
	node = ecp_node_try_read(index, &state, ref->level, ref->child.ecpc_blk,
							 ref->child.ecpc_run, false);
	if (node == NULL || (node->head.header.ecpr_flags & ECP_RUN_RETIRED) != 0)
		return false;
	nslots = ecp_replace_plan_slots(&state.node, ref->level,
									node->nchildren + node->nbuffers, 0);
	if (compact->thorough &&
		is_loose(&state.node, ref->child.ecpc_npages, nslots))
		return true;
	if (ref->child.ecpc_blk + ref->child.ecpc_npages <= compact->end)
		return false;

	ecp_geometry_run_size(&state.node, nslots, &entry_pages, &npages);
	return first_room(index, &state, npages) < ref->child.ecpc_blk;
}

/* Nodes of all levels, children first. */
static void
compact_nodes(const EcpCompact *compact, List *nodes)
{
	for (int i = list_length(nodes) - 1; i >= 0; i--)
	{
		EcpNodeRef *ref = list_nth(nodes, i);

		CHECK_FOR_INTERRUPTS();
		if (node_is_wanted(compact, ref))
			ecp_maintain_renew_node(compact->index, ref->child.ecpc_blk,
									ref->child.ecpc_run, ref->level, 0);
	}
}

/* Pages of nodes. */
static uint64
pages_of_nodes(List *nodes)
{
	uint64		npages = 0;
	ListCell   *lc;

	foreach(lc, nodes)
		npages += ((EcpNodeRef *) lfirst(lc))->child.ecpc_npages;
	return npages;
}

/*
 * ecp_compact
 *		Copy leaves with many free slots, if "thorough", and move what is at the
 *		end of the file forward.
 *
 * The maintenance lock is held, and released between groups.
 */
void
ecp_compact(Relation index, Relation heap, bool thorough,
			EcpMaintainCounts *counts)
{
	int			how = ECP_PURGE_FEW | ECP_PURGE_NOW |
		(thorough ? 0 : ECP_PURGE_WAIT);
	EcpIndexState state;
	EcpCompact	compact = {0};
	BlockNumber nblocks;
	uint64		used;

	Assert(ecp_maintain_lock_held(index));
	compact.index = index;
	compact.heap = heap;
	compact.counts = counts;
	compact.thorough = compact.pack = thorough;
	compact.end = MaxBlockNumber;
	if (thorough)
	{
		compact_leaves(&compact);
		counts->purged_pages += ecp_purge(index, heap, how);
	}
	compact.pack = false;
	ecp_meta_read_state(index, &state);
	nblocks = RelationGetNumberOfBlocks(index);
	used = ecp_space_count_used(index);
	used -= Min(used, state.meta.ecpm_retired_pages);
	if (used + nblocks / (thorough ? ECP_COMPACT_SPARE : ECP_COMPACT_SHARE) >=
		nblocks)
		return;

	/* nodes need room in one place, which is behind the leaves */
	used -= Min(used, pages_of_nodes(ecp_node_collect(index, &state, -1)));
	compact.end = used + used / ECP_COMPACT_SPARE;
	compact_leaves(&compact);
	counts->purged_pages += ecp_purge(index, heap, how);

	/* what was made smaller lies behind what it was, and is moved then */
	for (int i = 0; i < 2; i++)
	{
		ecp_meta_read_state(index, &state);
		compact_nodes(&compact, ecp_node_collect(index, &state, -1));
		counts->purged_pages += ecp_purge(index, heap, how);
	}
}

/* Blocks that the file must have, or all if too few would be cut off, but "few". */
static BlockNumber
truncate_end(Relation index, bool few)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	EcpIndexState state;
	BlockNumber end;

	ecp_meta_read_state(index, &state);
	end = ecp_space_end(index, state.meta.ecpm_map_hint);
	if (end < nblocks && (few || nblocks - end >= ECP_TRUNCATE_BLOCKS ||
						  nblocks - end >= nblocks / ECP_TRUNCATE_SHARE))
		return end;
	return nblocks;
}

/* Lock the index exclusively, without waiting for long. */
static bool
truncate_lock(Relation index)
{
	int			tries = 0;

	while (!ConditionalLockRelation(index, AccessExclusiveLock))
	{
		if (!ecp_maintain_wait(&tries))
			return false;
	}
	return true;
}

/* Does the table's storage parameter vacuum_truncate allow it? */
static bool
truncate_is_wanted(Relation index)
{
	Relation	heap = table_open(index->rd_index->indrelid, NoLock);
	const StdRdOptions *options = (StdRdOptions *) heap->rd_options;
	bool		wanted = ecp_vacuum_truncates(options);

	table_close(heap, NoLock);
	return wanted;
}

/* Cut off the free blocks at the end of the file. */
static void
truncate_index(Relation index, int elevel, bool few)
{
	BlockNumber nblocks;
	BlockNumber end;

	if (index->rd_refcnt != 1 || !truncate_is_wanted(index) ||
		truncate_end(index, few) == RelationGetNumberOfBlocks(index))
		return;
	if (!truncate_lock(index))
	{
		ereport(elevel,
				(errmsg("index \"%s\": stopping truncate due to conflicting lock request",
						RelationGetRelationName(index))));
		return;
	}
	nblocks = RelationGetNumberOfBlocks(index);
	end = truncate_end(index, few);
	if (end < nblocks)
	{
		ECP_STOP_POINT("truncate");
		RelationTruncate(index, end);
		ECP_STOP_POINT("truncated");
	}
	UnlockRelation(index, AccessExclusiveLock);
	if (end < nblocks)
		ereport(elevel,
				(errmsg("index \"%s\": truncated %u to %u pages",
						RelationGetRelationName(index), nblocks, end)));
}

/* Indexes to truncate when the transaction commits: OIDs, in its context. */
static List *truncate_later = NIL;
static int	truncate_later_elevel;

static void
truncate_xact_callback(XactEvent event, void *arg)
{
	List	   *indexes = truncate_later;
	ListCell   *lc;

	truncate_later = NIL;
	if (event != XACT_EVENT_PRE_COMMIT)
		return;
	foreach(lc, indexes)
	{
		/* VACUUM has this lock until the transaction ends */
		Relation	index = try_relation_open(lfirst_oid(lc), RowExclusiveLock);

		if (index == NULL)
			continue;
		truncate_index(index, truncate_later_elevel, false);
		relation_close(index, NoLock);
	}
}

/* Truncate an index at the end of the transaction. */
static void
truncate_defer(Relation index, int elevel)
{
	static bool registered = false;
	MemoryContext old_context;

	if (!registered)
	{
		RegisterXactCallback(truncate_xact_callback, NULL);
		registered = true;
	}
	old_context = MemoryContextSwitchTo(TopTransactionContext);
	truncate_later = list_append_unique_oid(truncate_later,
											RelationGetRelid(index));
	truncate_later_elevel = elevel;
	MemoryContextSwitchTo(old_context);
}

/*
 * ecp_compact_truncate
 *		Cut off the free blocks at the end of the file.
 *
 * The exclusive lock proves that no other process reads or extends the file, and
 * that all will learn of its new length; a scan of this process has a reference
 * to the index besides the caller's.  Standbys need the lock, too, and therefore
 * a transaction id, which a parallel VACUUM cannot get: there, it is done when
 * the workers have ended, right before the commit.
 */
void
ecp_compact_truncate(Relation index, int elevel, bool few)
{
	Assert(!ecp_maintain_lock_held(index));
	Assert(!IsParallelWorker());
	if (IsInParallelMode())
		truncate_defer(index, elevel);
	else
		truncate_index(index, elevel, few);
}
