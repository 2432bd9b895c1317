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
#include "ecp/live/ecp_compact.h"
#include "ecp/live/ecp_limits.h"
#include "ecp/live/ecp_maintain.h"
#include "ecp/live/ecp_maintain_lock.h"
#include "ecp/live/ecp_purge.h"
#include "ecp/live/ecp_replace.h"
#include "ecp/page/ecp_cluster.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_space.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

/* Compact a file of which more than 1/n is free, */
#define ECP_COMPACT_SHARE		4

/* so that there are 1/n more blocks than are used. */
#define ECP_COMPACT_SPARE		16

/* Leaves copied at once. */
#define ECP_COMPACT_GROUP		64

/* Cut the file if 1/n of it, or so many blocks, are free at the end. */
#define ECP_TRUNCATE_SHARE		16
#define ECP_TRUNCATE_BLOCKS		1000

/* What is moved, and how far that has come. */
typedef struct EcpCompact
{
	Relation	index;
	BlockNumber end;			/* blocks from here on should be free */
	bool		full;			/* nothing fits before it any more */
	EcpChildData node;			/* whose leaves are moved */
	uint32		next_slot;		/* of the first one that was not looked at */
	bool		renewed;		/* it has all the room it can have */
	EcpMaintainCounts *counts;
} EcpCompact;

/* Is a run of a leaf behind the end?  *nslots gets its slots. */
static bool
leaf_is_behind(const EcpCompact *compact, const EcpIndexState *state,
			   const EcpChildData *leaf, double *nslots)
{
	EcpRun	   *runs;
	int			nruns;
	bool		behind = false;

	nruns = ecp_cluster_runs(compact->index, state, 0, leaf->ecpc_blk,
							 leaf->ecpc_run, InvalidBuffer, &runs);
	if (nruns < 0)
		ecp_report_moved(compact->index, leaf->ecpc_blk);
	*nslots = 0;
	for (int i = 0; i < nruns; i++)
	{
		*nslots += runs[i].header.ecpr_nslots;
		if (runs[i].blk + runs[i].header.ecpr_npages > compact->end)
			behind = true;
	}
	pfree(runs);
	return behind;
}

/*
 * Choose leaves of a node that are behind the end: at most "max", with about as
 * many rows as fit into memory.
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
		double		nslots;

		if (node->slots[i] < compact->next_slot)
			continue;
		ecp_vacuum_delay_point();
		compact->next_slot = node->slots[i] + 1;
		if (!leaf_is_behind(compact, state, &node->children[i], &nslots))
			continue;
		which[n++] = i;
		nrows += nslots;
	}
	return n;
}

/*
 * Copy some leaves of a node from behind the end to before it.  Returns false if
 * there is nothing left to do with the node.
 */
static bool
compact_group(EcpCompact *compact)
{
	EcpChildData *ref = &compact->node;
	EcpIndexState state;
	EcpReplaceRequest target = {0};
	EcpChildData copied;
	EcpNodeImage *node;
	int			which[ECP_COMPACT_GROUP];

	ecp_meta_read_state(compact->index, &state);
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
	target.result = &copied;
	if (target.nold == 0 ||
		!ecp_replace(compact->index, ECP_REPLACE_GROUP, &target))
		return false;
	compact->renewed = false;
	compact->counts->folds += target.nold;
	compact->full = copied.ecpc_blk >= compact->end;
	return !compact->full;
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
		while (!compact->full && compact_group(compact))
		{
			MemoryContextReset(context);
			ecp_maintain_pause(compact->index);
		}
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	list_free_deep(nodes);
}

/* Nodes of all levels, children first. */
static void
compact_nodes(const EcpCompact *compact)
{
	Relation	index = compact->index;
	EcpIndexState state;
	List	   *nodes;

	ecp_meta_read_state(index, &state);
	nodes = ecp_node_collect(index, &state, -1);
	for (int i = list_length(nodes) - 1; i >= 0; i--)
	{
		EcpNodeRef *ref = list_nth(nodes, i);
		EcpNodeImage *node;

		CHECK_FOR_INTERRUPTS();
		if (ref->child.ecpc_blk + ref->child.ecpc_npages <= compact->end)
			continue;
		ecp_meta_read_state(index, &state);
		node = ecp_node_try_read(index, &state, ref->level, ref->child.ecpc_blk,
								 ref->child.ecpc_run, false);
		if (node != NULL && (node->head.header.ecpr_flags & ECP_RUN_RETIRED) == 0)
			ecp_maintain_renew_node(index, ref->child.ecpc_blk,
									ref->child.ecpc_run, ref->level, 0);
	}
	list_free_deep(nodes);
}

/*
 * ecp_compact
 *		Move what is at the end of the file forward.
 *
 * The maintenance lock is held, and released between groups.
 */
void
ecp_compact(Relation index, Relation heap, int wait, EcpMaintainCounts *counts)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	uint64		used = ecp_space_count_used(index);
	EcpCompact	compact = {0};

	Assert(ecp_maintain_lock_held(index));
	if (used + nblocks / ECP_COMPACT_SHARE >= nblocks)
		return;
	compact.index = index;
	compact.end = used + used / ECP_COMPACT_SPARE;
	compact.counts = counts;
	compact_leaves(&compact);
	compact_nodes(&compact);
	counts->purged_pages += ecp_purge(index, heap,
									  ECP_PURGE_FEW | ECP_PURGE_NOW | wait);
}

/* Blocks that the file must have, or all if too few would be cut off. */
static BlockNumber
truncate_end(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	EcpIndexState state;
	BlockNumber end;

	ecp_meta_read_state(index, &state);
	end = ecp_space_end(index, state.meta.ecpm_map_hint);
	if (end < nblocks && (nblocks - end >= ECP_TRUNCATE_BLOCKS ||
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
truncate_index(Relation index, int elevel)
{
	BlockNumber nblocks;
	BlockNumber end;

	if (index->rd_refcnt != 1 || !truncate_is_wanted(index) ||
		truncate_end(index) == RelationGetNumberOfBlocks(index))
		return;
	if (!truncate_lock(index))
	{
		ereport(elevel,
				(errmsg("index \"%s\": stopping truncate due to conflicting lock request",
						RelationGetRelationName(index))));
		return;
	}
	nblocks = RelationGetNumberOfBlocks(index);
	end = truncate_end(index);
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
		truncate_index(index, truncate_later_elevel);
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
ecp_compact_truncate(Relation index, int elevel)
{
	Assert(!ecp_maintain_lock_held(index));
	Assert(!IsParallelWorker());
	if (IsInParallelMode())
		truncate_defer(index, elevel);
	else
		truncate_index(index, elevel);
}
