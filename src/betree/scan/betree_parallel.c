/*-------------------------------------------------------------------------
 *
 * betree_parallel.c
 *	  Parallel index scans: who reads which part of the range.
 *
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
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "base/compat.h"
#include "base/wait_event.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_page.h"
#include "betree/scan/betree_scan.h"
#include "betree/scan/betree_scan_private.h"
#include "betree/tree/betree_tree.h"
#include "storage/bufmgr.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

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
	BetreeParallelScan shared = betree_parallel_state(scan);

	SpinLockAcquire(&shared->mutex);
	shared->state = PARALLEL_BEGUN;
	SpinLockRelease(&shared->mutex);
}

/* What the processes of a scan share, or NULL */
BetreeParallelScan
betree_parallel_state(IndexScanDesc scan)
{
	if (scan->parallel_scan == NULL)
		return NULL;
	return (BetreeParallelScan) OffsetToPointer((void *) scan->parallel_scan,
												scan->parallel_scan->ecp_ps_offset);
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
 * betree_parallel_next
 *		Take the next part of a parallel scan.
 *
 * Sets where it begins, NULL for the beginning of the range, and so->part_end,
 * NULL for the end of the range; both in the context of the scan.  Returns
 * false if there is none.
 */
bool
betree_parallel_next(BetreeScanOpaque so, ScanDirection dir, IndexTuple *from)
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
