/*-------------------------------------------------------------------------
 *
 * betree_vacuum.c
 *	  ambulkdelete and amvacuumcleanup.
 *
 * The walk goes through the tree in key order and resumes by key.  A node's
 * log is cleaned before anything below the node: messages only move down, or
 * to a leaf of their key in a split, and the set of dead TIDs was fixed before the
 * call, so no dead entry can get behind the walk.  Every entry is shown to the
 * callback, also those in logs, as CREATE INDEX CONCURRENTLY needs.
 *
 * Index-only scans hold a pin on the leaf while they use what they read of
 * it and of the logs above it (betree_step.c).  We need to wait for those
 * that read before we cleaned: on every leaf, changed or not, we try for a
 * cleanup lock.  Where we do not get it, we clean under an ordinary exclusive
 * lock, and wait for the pins at the end of the walk, holding nothing.  Waiting
 * at once, under the node's lock, could deadlock with a backend that scans and
 * inserts.
 *
 * Leaves left empty are given to the free space map, and so are nodes that have
 * few children left, with their logs (betree_shrink.c).  Since no lock-free
 * page references exist, a freed page may be used again at once.  The free
 * space map is not crash safe: at the end we look at all pages that the walk
 * did not meet.  Among them are copies of log pages, and Bloom pages, that a
 * crash left behind between their making and the split, or other change, that
 * they were made for.  A page that came into use after the walk began has a
 * newer LSN; any other page in use belongs to a node that the walk has met.
 *
 * Each page is read once, but not in the order of the file: of an index that
 * random inserts have doubled, a quarter of the leaves are within 16 blocks behind
 * the last, and 43 % lie before it.  Going by block an entry could get behind the
 * walk, by a flush or a split into a page that has been passed.  It would take a
 * walk over all logs first, and then, as in nbtree, a mark of this VACUUM on each
 * leaf that gets entries of another one; and leaves are freed with their parent.
 * So the next leaves of a node are prefetched instead.
 *
 * Proof that no index-only scan returns an entry that is gone: if we visit the leaf
 * after the scan's pin, we see the pin and wait; if before, log and leaf were clean
 * when the scan read them, for the log of a node is cleaned before its leaves, and
 * dead entries only move down, or to a leaf that we have yet to visit: our position
 * is a key, and entries at or above it stay there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/generic_xlog.h"
#include "access/xlog.h"
#include "base/block_stream.h"
#include "base/compat.h"
#include "base/core.h"
#include "base/spare.h"
#include "base/stop_point.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "betree/upkeep/betree_upkeep.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/spccache.h"

typedef struct VacuumState
{
	BetreeRel	bt;
	IndexVacuumInfo *info;
	IndexBulkDeleteResult *stats;
	IndexBulkDeleteCallback callback;
	void	   *callback_state;
	XLogRecPtr	start_lsn;
	BetreeBlockSet visited;		/* of the blocks at the start */
	BlockNumber *wait;			/* leaves whose cleanup lock we did not get */
	int			nwait;
	int			max_wait;
	BlockNumber last_node[BETREE_MAX_HEIGHT];	/* whose log has been cleaned */
	Buffer		nodebuf;		/* leaf parent, pinned */
	BlockNumber ahead_of;		/* node whose leaves are prefetched */
	int			nahead;			/* how many */
	BlockNumber unmet;			/* see next_unmet_page */
	IndexTuple	cursor;			/* lower bound of the next child */
	BetreeWalk	walk;
	MemoryContext context;
	MemoryContext work_context; /* reset for each leaf */
} VacuumState;

/*
 * Delete the dead rows of a LEAF or LOG page, exclusively locked.  For items
 * of a log, "node" tells whether they count: copies of flushed messages, and
 * those of another node's range, do not.
 */
static void
clean_page(VacuumState *state, Buffer buf, Page node, BetreeDirEntry *entry)
{
	BetreeRel  *bt = &state->bt;
	Page		page = BufferGetPage(buf);
	OffsetNumber maxoff = betree_page_nitems(page);
	BetreeRemoval *removal = palloc(sizeof(BetreeRemoval));

	removal->ndead = removal->nshrunk = 0;
	Assert(ecp_buffer_is_exclusive_locked(buf));
	Assert((node == NULL) == (entry == NULL));

	for (OffsetNumber off = FirstOffsetNumber; off <= maxoff; off++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, off);
		ItemPointerData tids[BETREE_POSTING_MAX_ROWS];
		bool		dead[BETREE_POSTING_MAX_ROWS];
		int			n = betree_posting_read(itup, tids);
		int			ndead = 0;
		bool		live = true;

		if (!ItemPointerIsValid(&tids[0]) || (node != NULL && n > 1))
			betree_page_report_item(itup);
		if (node != NULL)
			live = betree_log_is_live(bt, node, entry, itup);
		for (int i = 0; i < n; i++)
		{
			dead[i] = state->callback(&tids[i], state->callback_state);
			ndead += dead[i];
		}
		if (ndead > 0)
			betree_posting_removal_add(removal, off, itup, dead);
		if (live)
		{
			state->stats->tuples_removed += ndead;
			state->stats->num_index_tuples += n - ndead;
		}
	}

	if (removal->ndead + removal->nshrunk > 0)
	{
		GenericXLogState *xlog = GenericXLogStart(bt->rel);

		betree_posting_removal_apply(GenericXLogRegisterBuffer(xlog, buf, 0), removal);
		GenericXLogFinish(xlog);
		ECP_STOP_POINT("vacuum-deleted");
	}
	pfree(removal);
}

/* Clean the log of a node, which is share-locked */
static void
clean_log(VacuumState *state, Page node)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	BetreeDirEntry *entries[BETREE_NCAP_MAX];
	BlockNumber blocks[BETREE_NCAP_MAX];
	EcpBlockList list = {.blocks = blocks};
	EcpBlockStream *stream;

	for (int i = 0; i < opaque->bteo_ndir; i++)
	{
		betree_block_set_add(&state->visited, dir[i].bted_block);
		if (!BetreeDirIsSealed(&dir[i]) &&
			!BetreeDirIsTail(&dir[i]))
			continue;
		betree_block_verify(state->bt.rel, dir[i].bted_block);
		entries[list.nblocks] = &dir[i];
		blocks[list.nblocks++] = dir[i].bted_block;
	}

	stream = ecp_block_stream_begin(state->bt.rel, state->info->strategy,
									ecp_block_stream_list, &list);
	for (int i = 0; i < list.nblocks; i++)
	{
		Buffer		buf = ecp_block_stream_next(stream);

		betree_block_lock(state->bt.rel, buf, BUFFER_LOCK_EXCLUSIVE);
		betree_block_verify_page(state->bt.rel, buf, BETREE_LOG, -1);
		clean_page(state, buf, node, entries[i]);
		UnlockReleaseBuffer(buf);
	}
	ecp_block_stream_end(stream);
}

/* Clean the log of a node on the way, if that has not been done yet */
static void
visit_node(void *arg, Buffer nodebuf)
{
	VacuumState *state = (VacuumState *) arg;
	Page		node = BufferGetPage(nodebuf);
	BlockNumber blkno = BufferGetBlockNumber(nodebuf);
	int			level = BetreePageGetOpaque(node)->bteo_level;

	betree_block_set_add(&state->visited, blkno);
	if (state->last_node[level] == blkno)
		return;
	clean_log(state, node);
	state->last_node[level] = blkno;
	for (int i = 1; i < level; i++)
		state->last_node[i] = InvalidBlockNumber;
	ECP_STOP_POINT("vacuum-log-cleaned");
}

/*
 * Lock the leaf parent of the cursor, having cleaned the logs of all nodes on
 * the way to it.
 */
static void
lock_leaf_parent(VacuumState *state)
{
	BetreeKey	key;

	Assert(state->cursor != NULL);
	Assert(BetreePivotGetNatts(state->cursor) != BETREE_NATTS_PLUSINF);

	betree_key_from_pivot(&state->bt, state->cursor, &key);
	if (BufferIsValid(state->nodebuf))
	{
		if (betree_descend_remembered(&state->bt, state->nodebuf, &key, false, 1,
									  BUFFER_LOCK_SHARE))
			return;
		ReleaseBuffer(state->nodebuf);
		state->nodebuf = InvalidBuffer;
	}
	state->nodebuf = betree_descend(&state->bt, &key, false, 1,
									BUFFER_LOCK_SHARE, visit_node, state);
}

/*
 * The next leaves of a node, as many as maintenance_io_concurrency, will be
 * needed; but for one all have been asked for if the last leaf was its, too.  Not
 * by a stream, whose pins would keep empty leaves from being freed.
 */
static void
prefetch_leaves(VacuumState *state, Page node, int child)
{
	Relation	rel = state->bt.rel;
	BlockNumber nodeblk = BufferGetBlockNumber(state->nodebuf);
	int			last = Min(child + state->nahead, BetreeNodeNumChildren(node) - 1);
	int			first = state->ahead_of == nodeblk ?
		Max(child + state->nahead, child + 1) : child + 1;

	state->ahead_of = nodeblk;
	for (int i = first; i <= last; i++)
	{
		betree_block_verify(rel, BetreeNodeGetChild(node, i));
		PrefetchBuffer(rel, MAIN_FORKNUM, BetreeNodeGetChild(node, i));
	}
}

/* Clean the leaf at the cursor and move the cursor behind it */
static void
clean_leaf(VacuumState *state)
{
	BetreeRel  *bt = &state->bt;
	BetreeKey	key;
	Page		node;
	int			child;
	BlockNumber leafblk;
	Buffer		leafbuf;
	bool		empty;
	bool		last;
	IndexTuple	low;

	lock_leaf_parent(state);
	node = BufferGetPage(state->nodebuf);
	betree_key_from_pivot(bt, state->cursor, &key);
	child = betree_key_search_node(bt, node, &key, false);
	leafblk = BetreeNodeGetChild(node, child);
	betree_block_verify(bt->rel, leafblk);
	prefetch_leaves(state, node, child);

	leafbuf = ReadBufferExtended(bt->rel, MAIN_FORKNUM, leafblk, RBM_NORMAL,
								 state->info->strategy);
	if (!ConditionalLockBufferForCleanup(leafbuf))
	{
		betree_block_lock(bt->rel, leafbuf, BUFFER_LOCK_EXCLUSIVE);
		state->wait = ecp_enlarge(state->context, state->wait, &state->max_wait,
								  state->nwait + 1, sizeof(BlockNumber));
		state->wait[state->nwait++] = leafblk;
	}
	betree_block_verify_page(bt->rel, leafbuf, BETREE_LEAF, 0);
	betree_block_set_add(&state->visited, leafblk);
	clean_page(state, leafbuf, NULL, NULL);
	empty = betree_page_nitems(BufferGetPage(leafbuf)) == 0;
	low = CopyIndexTuple(BetreeNodeGetPivot(node, child));
	last = child + 1 == BetreeNodeNumChildren(node);
	if (betree_key_compare_pivot(bt, &key, BetreeNodeGetUpper(node, child)) >= 0)
		betree_page_report_item(node);
	pfree(state->cursor);
	state->cursor = betree_image_copy(state->context, BetreeNodeGetUpper(node, child));
	betree_walk_step(bt->rel, &state->walk, state->cursor,
					 BufferGetBlockNumber(state->nodebuf));
	UnlockReleaseBuffer(leafbuf);
	LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);

	if (empty && betree_shrink_leaf(bt, low, state->stats))
		empty = false;
	if (last && betree_shrink_nodes(bt, low, state->cursor, state->last_node,
									state->stats))
	{
		/* what the page becomes next must be visited like any other node */
		ReleaseBuffer(state->nodebuf);
		state->nodebuf = InvalidBuffer;
		if (empty)
			(void) betree_shrink_leaf(bt, low, state->stats);
	}
}

/* The walk, from the cursor on */
static void
clean_leaves(VacuumState *state)
{
	betree_entry_begin(state->bt.rel);
	while (BetreePivotGetNatts(state->cursor) != BETREE_NATTS_PLUSINF)
	{
		ecp_vacuum_delay_point();
		clean_leaf(state);
		MemoryContextReset(state->work_context);
	}
	betree_entry_end(state->bt.rel);
	if (BufferIsValid(state->nodebuf))
		ReleaseBuffer(state->nodebuf);
}

/*
 * Look at a page that the walk did not meet, exclusively locked: may it be
 * used, or can it be freed?
 */
static bool
free_unmet_page(VacuumState *state, Buffer buf)
{
	Page		page = BufferGetPage(buf);
	GenericXLogState *xlog;

	if (betree_page_is_reusable(page))
		return true;
	if (!betree_page_is_lost(state->bt.rel, page, state->start_lsn))
		return false;
	xlog = GenericXLogStart(state->bt.rel);
	betree_page_init(GenericXLogRegisterBuffer(xlog, buf, 0), BETREE_FREE, 0, 0);
	GenericXLogFinish(xlog);
	return true;
}

/* The next page that the walk did not meet, for a stream */
static BlockNumber
next_unmet_page(void *arg)
{
	VacuumState *state = (VacuumState *) arg;

	while (state->unmet < state->visited.nblocks)
	{
		BlockNumber blkno = state->unmet++;

		if (blkno != BETREE_META_BLKNO &&
			!betree_block_set_has(&state->visited, blkno))
			return blkno;
	}
	return InvalidBlockNumber;
}

/*
 * Tell the free space map of free and never used pages that we did not meet,
 * and free those that a crash has lost.
 */
static void
record_free_pages(VacuumState *state)
{
	EcpBlockStream *stream =
		ecp_block_stream_begin(state->bt.rel, state->info->strategy,
							   next_unmet_page, state);
	Buffer		buf;

	/* BufferIsValid() may evaluate its argument several times */
	while ((buf = ecp_block_stream_next(stream)) != InvalidBuffer)
	{
		BlockNumber blkno = BufferGetBlockNumber(buf);
		bool		reusable;

		ecp_vacuum_delay_point();
		LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
		reusable = free_unmet_page(state, buf);
		UnlockReleaseBuffer(buf);
		if (reusable)
		{
			RecordFreeIndexPage(state->bt.rel, blkno);
			state->stats->pages_free++;
		}
	}
	ecp_block_stream_end(stream);
}

/* ambulkdelete */
IndexBulkDeleteResult *
betreebulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
				 IndexBulkDeleteCallback callback, void *callback_state)
{
	VacuumState state = {0};
	MemoryContext oldcontext;

	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	stats->estimated_count = false;
	stats->num_index_tuples = 0;
	stats->pages_free = 0;

	betree_rel_open(&state.bt, info->index);
	state.info = info;
	state.stats = stats;
	state.callback = callback;
	state.callback_state = callback_state;
	state.start_lsn = GetXLogInsertRecPtr();
	state.nodebuf = InvalidBuffer;
	state.ahead_of = InvalidBlockNumber;
	state.nahead = get_tablespace_maintenance_io_concurrency(info->index->rd_rel->reltablespace);
	state.context = AllocSetContextCreate(CurrentMemoryContext,
										  "betree vacuum",
										  ALLOCSET_DEFAULT_SIZES);
	state.work_context = AllocSetContextCreate(state.context,
											   "betree vacuum leaf",
											   ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < BETREE_MAX_HEIGHT; i++)
		state.last_node[i] = InvalidBlockNumber;
	oldcontext = MemoryContextSwitchTo(state.context);
	betree_block_set_init(&state.visited,
						  RelationGetNumberOfBlocks(info->index));
	state.cursor = betree_node_infinite_pivot(false);
	betree_walk_begin(&state.walk, state.context);

	MemoryContextSwitchTo(state.work_context);
	clean_leaves(&state);
	ECP_STOP_POINT("vacuum-walked");

	/* always, also if we have deleted nothing: an earlier call may have */
	for (int i = 0; i < state.nwait; i++)
	{
		Buffer		buf = ReadBuffer(info->index, state.wait[i]);

		LockBufferForCleanup(buf);
		UnlockReleaseBuffer(buf);
	}
	record_free_pages(&state);

	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(state.context);
	return stats;
}

/* amvacuumcleanup */
IndexBulkDeleteResult *
betreevacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;

	if (stats == NULL)
	{
		/* nothing to delete: do not read the index for its statistics */
		stats = palloc0(sizeof(IndexBulkDeleteResult));
		stats->num_index_tuples = info->num_heap_tuples;
		stats->estimated_count = true;
	}
	else if (!info->estimated_count &&
			 stats->num_index_tuples > info->num_heap_tuples)
		stats->num_index_tuples = info->num_heap_tuples;

	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	IndexFreeSpaceMapVacuum(info->index);
	return stats;
}
