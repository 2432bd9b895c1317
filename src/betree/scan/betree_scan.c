/*-------------------------------------------------------------------------
 *
 * betree_scan.c
 *	  The index-scan callbacks.
 *
 * A scan holds one page of results, read by betree_step.c from one leaf's
 * range, and hands them out; at either end of it the next step begins at the
 * bound of the range just read.  A marked page is kept beside the current
 * one, so that returning to a mark reads nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/spare.h"
#include "base/wait_event.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/leaf/betree_leaf.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_page.h"
#include "betree/scan/betree_scan.h"
#include "betree/scan/betree_scan_private.h"
#include "betree/tree/betree_tree.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* ambeginscan */
IndexScanDesc
betreebeginscan(Relation rel, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(rel, nkeys, norderbys);
	BetreeScanOpaque so = palloc(sizeof(BetreeScanOpaqueData));

	memset(so, 0, offsetof(BetreeScanOpaqueData, quals.lower));
	betree_rel_open(&so->bt, rel);
	so->context = AllocSetContextCreate(CurrentMemoryContext, "betree scan",
										ALLOCSET_SMALL_SIZES);
	so->quals.context = AllocSetContextCreate(so->context, "betree quals",
											  ALLOCSET_SMALL_SIZES);
	so->quals.hash_context = so->context;
	betree_step_init(so);
	scan->opaque = so;
	scan->xs_itupdesc = RelationGetDescr(rel);
	return scan;
}

/* Empty a page of results and give up its pins */
static void
page_reset(BetreeScanPage *page)
{
	betree_step_page_unpin(page);
	MemoryContextReset(page->context);
	page->low = page->high = NULL;
	page->nitems = 0;
}

/* A page that is neither the current nor the marked one */
static BetreeScanPage *
page_get(BetreeScanOpaque so)
{
	BetreeScanPage *page = so->unused;

	if (page != NULL)
	{
		so->unused = NULL;
		return page;
	}
	page = MemoryContextAllocZero(so->context, sizeof(BetreeScanPage));
	page->pin = InvalidBuffer;
	page->guard = InvalidBuffer;
	page->context = AllocSetContextCreate(so->context, "betree scan page",
										  ALLOCSET_DEFAULT_SIZES);
	return page;
}

/* Give up a page that was the current or the marked one */
static void
page_release(BetreeScanOpaque so, BetreeScanPage *page)
{
	if (page == NULL || page == so->cur || page == so->mark)
		return;
	Assert(page != so->unused);
	page_reset(page);
	if (so->unused == NULL)
		so->unused = page;
	else
	{
		MemoryContextDelete(page->context);
		if (page->items != NULL)
			pfree(page->items);
		if (page->leaf != NULL)
			pfree(page->leaf);
		pfree(page);
	}
}

/* The row returned last is dead to everyone, as the executor has found */
static void
note_killed(BetreeScanOpaque so)
{
	so->killed = ecp_enlarge(so->context, so->killed, &so->max_killed, so->nkilled + 1,
							 sizeof(ItemPointerData));
	so->killed[so->nkilled++] = so->cur->items[so->cur_index].tid;
}

/*
 * Have the entries of dead rows removed that the current page has, if they are
 * many.  The list may name a row twice, if the scan has turned.
 */
static void
purge_killed(BetreeScanOpaque so)
{
	int			nkilled = so->nkilled;
	MemoryContext context;
	MemoryContext oldcontext;

	so->nkilled = 0;
	if (nkilled < BETREE_PURGE_ROWS || so->heap == NULL)
		return;
	context = AllocSetContextCreate(so->context, "betree purge", ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	betree_entry_begin(so->bt.rel);
	so->bt.heap = so->heap;
	betree_purge_scanned(&so->bt, so->cur->low, so->killed, nkilled);
	so->bt.heap = NULL;
	betree_entry_end(so->bt.rel);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}

static void
set_current(BetreeScanOpaque so, BetreeScanPage *page)
{
	BetreeScanPage *old = so->cur;

	if (so->nkilled > 0)
		purge_killed(so);
	so->cur = page;
	page_release(so, old);
}

static void
set_mark(BetreeScanOpaque so, BetreeScanPage *page)
{
	BetreeScanPage *old = so->mark;

	so->mark = page;
	page_release(so, old);
}

/* amrescan */
void
betreerescan(IndexScanDesc scan, ScanKey scankey, int nscankeys,
			 ScanKey orderbys, int norderbys)
{
	BetreeScanOpaque so = (BetreeScanOpaque) scan->opaque;

	betree_held_send(RelationGetRelid(scan->indexRelation));
	set_current(so, NULL);
	set_mark(so, NULL);
	betree_step_forget(so);
	so->begun = false;
	so->part_end = NULL;
	if (scankey && scan->numberOfKeys > 0)
		memmove(scan->keyData, scankey,
				scan->numberOfKeys * sizeof(ScanKeyData));
}

/* amendscan */
void
betreeendscan(IndexScanDesc scan)
{
	BetreeScanOpaque so = (BetreeScanOpaque) scan->opaque;

	set_current(so, NULL);
	set_mark(so, NULL);
	betree_step_forget(so);
	MemoryContextDelete(so->context);
	pfree(so);
}

/* ---- parallel scans: who reads which part of the range ---- */

/*
 * A part is what one leaf parent has of the scan's range.  A process that has
 * read its part takes the next one: it looks up how far the leaf parent at the
 * shared bound reaches, moves the bound there, and goes step by step through
 * what lies between.  So each log is read by one process.  The parts of a
 * process are in the order of the scan.
 *
 * VACUUM may make the bound between two leaf parents one inside a node, or even
 * inside the range of a leaf.  So what a step reads is cut off at the end of the
 * part (set_bounds in betree_step.c).
 *
 * Where arrays or quals with a skip function make the scan jump, the first
 * process takes all of the range.
 */

typedef enum ParallelState
{
	PARALLEL_BEGUN,				/* no part has been taken */
	PARALLEL_BUSY,				/* a process moves the bound */
	PARALLEL_READY,				/* the next part begins at the bound */
	PARALLEL_DONE				/* no part is left */
} ParallelState;

typedef struct BetreeParallelScanData
{
	slock_t		mutex;			/* protects the state only: who has made it */
	ParallelState state;		/* BUSY may use the bound */
	ConditionVariable cv;		/* BUSY is over */
	IndexTupleData bound;		/* a pivot, of at most ... */
	char		rest[BetreeMaxItemSize + MAXALIGN(sizeof(ItemPointerData))];
} BetreeParallelScanData;

/* What the processes of a scan share, or NULL */
static BetreeParallelScan
parallel_state(IndexScanDesc scan)
{
	if (scan->parallel_scan == NULL)
		return NULL;
	return (BetreeParallelScan) OffsetToPointer((void *) scan->parallel_scan,
												scan->parallel_scan->ecp_ps_offset);
}

/* amestimateparallelscan */
Size
betreeestimateparallelscan(ECP_ESTIMATE_PARALLEL_SCAN_ARGS)
{
	return sizeof(BetreeParallelScanData);
}

/* aminitparallelscan */
void
betreeinitparallelscan(void *target)
{
	BetreeParallelScan shared = (BetreeParallelScan) target;

	SpinLockInit(&shared->mutex);
	shared->state = PARALLEL_BEGUN;
	ConditionVariableInit(&shared->cv);
}

/* amparallelrescan */
void
betreeparallelrescan(IndexScanDesc scan)
{
	BetreeParallelScan shared = parallel_state(scan);

	SpinLockAcquire(&shared->mutex);
	shared->state = PARALLEL_BEGUN;
	SpinLockRelease(&shared->mutex);
}

/* Wait for the right to move the bound; returns the state before */
static ParallelState
seize(BetreeParallelScan shared)
{
	uint32		wait_event = ecp_wait_event(ECP_WAIT_SCAN);
	ParallelState state;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		state = shared->state;
		if (state != PARALLEL_DONE)
			shared->state = PARALLEL_BUSY;
		SpinLockRelease(&shared->mutex);
		if (state != PARALLEL_BUSY)
			break;
		ConditionVariableSleep(&shared->cv, wait_event);
	}
	ConditionVariableCancelSleep();
	return state;
}

static void
release(BetreeParallelScan shared, ParallelState state)
{
	SpinLockAcquire(&shared->mutex);
	Assert(shared->state == PARALLEL_BUSY);
	shared->state = state;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->cv);
}

/*
 * End of what the leaf parent has that the position "key" belongs to, in the
 * direction of the scan
 */
static IndexTuple
find_end(BetreeScanOpaque so, BetreeKey *key, ScanDirection dir)
{
	bool		strict = ScanDirectionIsBackward(dir);
	Buffer		nodebuf;
	Page		node;
	IndexTuple	end;

	betree_entry_begin(so->bt.rel);
	nodebuf = betree_descend(&so->bt, key, strict, 1, BUFFER_LOCK_SHARE, NULL, NULL);
	node = BufferGetPage(nodebuf);
	end = CopyIndexTuple(strict ? BetreeNodeGetPivot(node, 0) : BetreeNodeGetHikey(node));
	UnlockReleaseBuffer(nodebuf);
	betree_entry_end(so->bt.rel);
	return end;
}

/*
 * Take the next part of a parallel scan.
 *
 * Sets where it begins, NULL for the beginning of the range, and so->part_end,
 * NULL for the end of the range; both in the context of the scan.  Returns
 * false if there is none.
 */
static bool
parallel_next(BetreeScanOpaque so, ScanDirection dir, IndexTuple *from)
{
	BetreeParallelScan shared = so->parallel;
	MemoryContext oldcontext;
	ParallelState state = seize(shared);
	BetreeKey	key;

	*from = NULL;
	so->part_end = NULL;
	if (state == PARALLEL_DONE)
		return false;
	if (betree_quals_jump(&so->bt, &so->quals))
	{
		release(shared, PARALLEL_DONE);
		return true;
	}

	oldcontext = MemoryContextSwitchTo(so->context);
	if (state == PARALLEL_READY)
	{
		*from = CopyIndexTuple(&shared->bound);
		betree_key_from_pivot(&so->bt, *from, &key);
	}
	else
		key = ScanDirectionIsForward(dir) ? so->quals.lower : so->quals.upper;
	so->part_end = find_end(so, &key, dir);
	MemoryContextSwitchTo(oldcontext);

	if (betree_step_is_last(so, so->part_end, dir))
		release(shared, PARALLEL_DONE);
	else
	{
		if (IndexTupleSize(so->part_end) >
			sizeof(BetreeParallelScanData) - offsetof(BetreeParallelScanData, bound))
			betree_page_report_item(so->part_end);
		memcpy(&shared->bound, so->part_end, IndexTupleSize(so->part_end));
		release(shared, PARALLEL_READY);
	}
	return true;
}

/* ---- one page after the other ---- */

/* Is there nothing of the scan's range beyond this end of the page? */
static bool
at_end_of_range(BetreeScanOpaque so, BetreeScanPage *page, ScanDirection dir)
{
	IndexTuple	bound = ScanDirectionIsForward(dir) ? page->high : page->low;

	if (so->part_end != NULL)
	{
		BetreeKey	end;
		int			cmp;

		betree_key_from_pivot(&so->bt, so->part_end, &end);
		cmp = betree_key_compare_pivot(&so->bt, &end, bound);
		if (ScanDirectionIsForward(dir) ? cmp <= 0 : cmp >= 0)
			return true;
	}
	return betree_step_is_last(so, bound, dir);
}

/* The end of the range: keep neither results nor pins */
static void
finish(BetreeScanOpaque so)
{
	set_current(so, NULL);
	betree_step_forget(so);
}

/*
 * Step until a page has results.  Returns false, with no current page, at the
 * end of the range.
 */
static bool
next_page(BetreeScanOpaque so, ScanDirection dir)
{
	do
	{
		BetreeScanPage *page;
		IndexTuple	from = NULL;

		CHECK_FOR_INTERRUPTS();

		if (so->cur != NULL && at_end_of_range(so, so->cur, dir))
		{
			finish(so);
			if (so->parallel == NULL)
				return false;
		}
		if (so->cur == NULL && so->parallel != NULL)
		{
			if (!parallel_next(so, dir, &from))
				return false;
			betree_step_restart(so);
		}
		if (so->cur != NULL)
		{
			from = ScanDirectionIsForward(dir) ? so->cur->high : so->cur->low;

			/* do not keep VACUUM waiting for a page that is consumed */
			if (so->cur != so->mark)
				betree_step_page_unpin(so->cur);
		}
		page = page_get(so);
		if (!betree_step_read(so, page, from, dir))
		{
			finish(so);
			page_release(so, page);
			if (so->parallel == NULL)
				return false;
			continue;
		}
		set_current(so, page);
	} while (so->cur == NULL || so->cur->nitems == 0);

	so->cur_index = ScanDirectionIsForward(dir) ? 0 : so->cur->nitems - 1;
	return true;
}

/* Prepare a scan at its first call */
static void
begin(IndexScanDesc scan, bool want_itup)
{
	BetreeScanOpaque so = (BetreeScanOpaque) scan->opaque;

	pgstat_count_index_scan(scan->indexRelation);
	ecp_count_index_search(scan);
	betree_quals_prepare(&so->bt, &so->quals, scan);
	so->heap = scan->heapRelation;
	so->heap_blocks = 0;
	so->snapshot = scan->xs_snapshot;
	so->mvcc = scan->xs_snapshot != NULL &&
		IsMVCCSnapshot(scan->xs_snapshot);
	so->interlock = want_itup;
	so->parallel = parallel_state(scan);
	so->part_end = NULL;
	betree_step_begin(so);

	/*
	 * Other snapshots may meet a TID that VACUUM has recycled, unless there
	 * is none: CLUSTER, which uses SnapshotAny, has locked the table.
	 */
	so->recheck = !so->mvcc && scan->xs_snapshot != NULL &&
		scan->xs_snapshot->snapshot_type != SNAPSHOT_ANY;
	so->begun = true;
}

/* amgettuple */
bool
betreegettuple(IndexScanDesc scan, ScanDirection dir)
{
	BetreeScanOpaque so = (BetreeScanOpaque) scan->opaque;
	BetreeScanItem *item;

	if (!so->begun)
		begin(scan, scan->xs_want_itup);
	if (so->quals.impossible)
		return false;
	if (scan->kill_prior_tuple && so->cur != NULL)
		note_killed(so);

	if (so->cur != NULL && ScanDirectionIsForward(dir) &&
		so->cur_index + 1 < so->cur->nitems)
		so->cur_index++;
	else if (so->cur != NULL && ScanDirectionIsBackward(dir) &&
			 so->cur_index > 0)
		so->cur_index--;
	else if (!next_page(so, dir))
		return false;

	Assert(so->cur_index >= 0 && so->cur_index < so->cur->nitems);
	item = &so->cur->items[so->cur_index];
	scan->xs_heaptid = item->tid;
	scan->xs_itup = item->itup;
	scan->xs_recheck = so->recheck;
	return true;
}

/* amgetbitmap */
int64
betreegetbitmap(IndexScanDesc scan, TIDBitmap *tbm)
{
	BetreeScanOpaque so = (BetreeScanOpaque) scan->opaque;
	int64		ntids = 0;

	begin(scan, false);
	if (so->quals.impossible)
		return 0;

	/* the executor has the table open, and does not tell us */
	so->heap = table_open(scan->indexRelation->rd_index->indrelid, NoLock);
	while (next_page(so, ForwardScanDirection))
	{
		for (int i = 0; i < so->cur->nitems; i++)
			tbm_add_tuples(tbm, &so->cur->items[i].tid, 1, false);
		ntids += so->cur->nitems;
	}
	table_close(so->heap, NoLock);
	so->heap = NULL;
	return ntids;
}

/* ammarkpos */
void
betreemarkpos(IndexScanDesc scan)
{
	BetreeScanOpaque so = (BetreeScanOpaque) scan->opaque;

	set_mark(so, so->cur);
	so->mark_index = so->cur_index;
}

/* amrestrpos */
void
betreerestrpos(IndexScanDesc scan)
{
	BetreeScanOpaque so = (BetreeScanOpaque) scan->opaque;

	if (so->cur != so->mark)
	{
		set_current(so, so->mark);
		betree_step_restart(so);
	}
	so->cur_index = so->mark_index;
}

/*
 * amcanreturn
 *
 * All columns are stored as they are.  But a standby replays generic WAL
 * without waiting for pins, so nothing there keeps VACUUM's deletions behind
 * an index-only scan: plan none in recovery.
 */
bool
betreecanreturn(Relation index, int attno)
{
	return !RecoveryInProgress();
}
