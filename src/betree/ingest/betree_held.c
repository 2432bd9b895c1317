/*-------------------------------------------------------------------------
 *
 * betree_held.c
 *	  Rows that this transaction has inserted, but that are not in the index yet.
 *
 * A record of one appended row is twice as long as the row.  So an index that is not
 * unique gets the second row of a transaction, and those after it, later and together:
 * in order, with a record for up to four tails (betree_insert_rows).  Until then
 * nobody needs them there.  Other transactions do not see the rows, and what ours
 * reads has them sent first.  The rules:
 *
 * 1. Held rows belong to the current (sub)transaction or to committed parts of it: they
 *	  are sent when a subtransaction begins, and forgotten when it aborts, as the rows
 *	  themselves are.
 * 2. They are sent before this transaction's end is decided (commit, PREPARE), and
 *	  after that no more are held; so a commit record is behind their records.
 * 3. They are sent before a scan of the index, and all before a parallel plan runs,
 *	  whose other processes do not have them.
 * 4. An index that is built, also in its old place, is built with them: they are
 *	  forgotten.  Otherwise they go to the index of their OID, wherever that is stored
 *	  then.  If that is to be dropped, they are sent before, since ALTER TABLE may give
 *	  its storage to another one.
 * 5. No held row is given up but by rule 1.  ON CONFLICT does that with a row that is
 *	  in some indexes when it meets the conflict; then its TID may soon be another row's.
 *	  Such a row, which is marked as speculative in the table, is not held.
 *
 * Not held are rows of indexes that others look into for rows not committed yet
 * (unique ones, exclusion constraints), or that are being built concurrently, or whose
 * comparisons run functions that someone may have made, which a commit, or the beginning
 * of a subtransaction, is no place for; of serializable transactions, which fail where
 * they insert; and new versions of rows whose key has not changed, which purge old ones.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/stop_point.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"

/* Rows that there is room for at first */
#define FIRST_ROWS		32

/* The rows of an index; lives as long as the transaction */
struct BetreeHeld
{
	Oid			index;
	int			nrows;
	int			max_rows;
	IndexTuple *rows;
	MemoryContext context;		/* of the tuples */
	struct BetreeHeld *next;
};

static BetreeHeld *held_list;
static Size held_bytes;			/* of all */
static bool held_ends;			/* the transaction's end is being decided */

static ExecutorRun_hook_type held_previous_run;
static ExecutorFinish_hook_type held_previous_finish;
static object_access_hook_type held_previous_access;

/* The list's entry, NULL if there is none */
static BetreeHeld *
find_held(Oid index)
{
	BetreeHeld *held = held_list;

	while (held != NULL && held->index != index)
		held = held->next;
	return held;
}

static void
forget_rows(BetreeHeld *held)
{
	if (held->nrows == 0)
		return;
	for (int i = 0; i < held->nrows; i++)
		held_bytes -= IndexTupleSize(held->rows[i]) + sizeof(IndexTuple);
	held->nrows = 0;
	MemoryContextReset(held->context);
}

/*
 * Is a row speculative, whose transaction gives it up if it finds a conflict?
 */
static bool
is_speculative(Relation heap, ItemPointer tid)
{
	Buffer		buf = ReadBuffer(heap, ItemPointerGetBlockNumber(tid));
	OffsetNumber off = ItemPointerGetOffsetNumber(tid);
	Page		page = BufferGetPage(buf);
	bool		speculative = true;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (off <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(PageGetItemId(page, off)))
		speculative = HeapTupleHeaderIsSpeculative((HeapTupleHeader)
												   PageGetItem(page, PageGetItemId(page, off)));
	UnlockReleaseBuffer(buf);
	return speculative;
}

/* Send the rows of an index */
static void
send_rows(BetreeHeld *held)
{
	Relation	index;
	MemoryContext context;
	MemoryContext oldcontext;
	BetreeSortItem *items;
	BetreeRel	bt;

	if (held->nrows == 0)
		return;
	index = index_open(held->index, RowExclusiveLock);
	context = AllocSetContextCreate(CurrentMemoryContext, "betree held rows",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	betree_rel_open(&bt, index);
	items = palloc_extended(held->nrows * sizeof(BetreeSortItem), MCXT_ALLOC_HUGE);
	betree_entry_begin(index);
	for (int i = 0; i < held->nrows; i++)
		betree_key_item_init(&bt, &items[i], held->rows[i], 0);
	betree_key_sort(&bt, items, held->nrows);
	betree_insert_rows(&bt, items, held->nrows);
	betree_entry_end(index);
	ECP_STOP_POINT("held-sent");

	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
	index_close(index, NoLock);
	forget_rows(held);
}

/*
 * betree_held_send
 *		Insert the held rows of an index, or of all if InvalidOid.
 *
 * Before anything reads the index of which this transaction expects to see its rows.
 */
void
betree_held_send(Oid index)
{
	if (held_bytes == 0)
		return;
	for (BetreeHeld *held = held_list; held != NULL; held = held->next)
	{
		if (!OidIsValid(index) || held->index == index)
			send_rows(held);
	}
}

/*
 * betree_held_forget
 *		Forget the held rows of an index that is about to be built with them.
 */
void
betree_held_forget(Oid index)
{
	BetreeHeld *held = find_held(index);

	if (held != NULL)
		forget_rows(held);
}

/*
 * betree_held_add
 *		Hold a row back, if that may be; else the caller inserts it.
 *
 * "held" is what the statement keeps from one row to the next, NULL at first.
 */
bool
betree_held_add(BetreeHeld **held, Relation index, Relation heap, IndexTuple itup)
{
	BetreeHeld *mine;
	IndexTuple	copy;

	if (index->rd_index->indisunique || index->rd_index->indisexclusion ||
		!index->rd_index->indisvalid || held_ends || IsolationIsSerializable() ||
		heap->rd_tableam != GetHeapamTableAmRoutine())
		return false;
	if (*held == NULL)
		*held = find_held(RelationGetRelid(index));
	mine = *held;
	if (mine == NULL)
	{
		/* most transactions insert one row */
		mine = MemoryContextAllocZero(TopTransactionContext, sizeof(BetreeHeld));
		mine->index = RelationGetRelid(index);
		mine->next = held_list;
		*held = held_list = mine;
		return false;
	}
	if (is_speculative(heap, &itup->t_tid))
		return false;
	if (held_bytes >= (Size) work_mem * 1024)
		betree_held_send(InvalidOid);

	/* max_rows changes last: an error here may end a subtransaction only */
	if (mine->context == NULL)
		mine->context = GenerationContextCreate(TopTransactionContext, "betree held rows",
												ALLOCSET_SMALL_SIZES);
	if (mine->rows == NULL)
	{
		mine->rows = MemoryContextAlloc(TopTransactionContext, FIRST_ROWS * sizeof(IndexTuple));
		mine->max_rows = FIRST_ROWS;
	}
	else if (mine->nrows == mine->max_rows)
	{
		mine->rows = repalloc_huge(mine->rows, 2 * mine->max_rows * sizeof(IndexTuple));
		mine->max_rows *= 2;
	}
	/* sending them must not wait, while a subtransaction begins */
	if (mine->nrows == 0)
		LockRelationOid(mine->index, RowExclusiveLock);
	copy = MemoryContextAlloc(mine->context, IndexTupleSize(itup));
	memcpy(copy, itup, IndexTupleSize(itup));
	mine->rows[mine->nrows++] = copy;
	held_bytes += IndexTupleSize(itup) + sizeof(IndexTuple);
	return true;
}

/* A transaction ends (rule 2) */
static void
held_xact_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
	{
		betree_held_send(InvalidOid);
		held_ends = true;
	}
	else if (event != XACT_EVENT_PARALLEL_PRE_COMMIT)
	{
		/* its memory context goes with it */
		held_list = NULL;
		held_bytes = 0;
		held_ends = false;
	}
}

/*
 * A subtransaction begins or ends (rule 1).  An error here, while it begins, may cost
 * the connection; so a cancel waits, and what a statement inside another one has
 * inserted has been sent at its end.
 */
static void
held_subxact_callback(SubXactEvent event, SubTransactionId mySubid,
					  SubTransactionId parentSubid, void *arg)
{
	if (held_bytes == 0)
		return;
	if (event == SUBXACT_EVENT_START_SUB)
	{
		HOLD_INTERRUPTS();
		betree_held_send(InvalidOid);
		RESUME_INTERRUPTS();
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		for (BetreeHeld *held = held_list; held != NULL; held = held->next)
			forget_rows(held);
	}
}

/* A plan is about to run (rule 3) */
static void
held_executor_run(ECP_EXECUTOR_RUN_ARGS)
{
	if (desc->plannedstmt->parallelModeNeeded)
		betree_held_send(InvalidOid);
	if (held_previous_run)
		held_previous_run(ECP_EXECUTOR_RUN_PASSED);
	else
		standard_ExecutorRun(ECP_EXECUTOR_RUN_PASSED);
}

/* A plan has run, perhaps inside a subtransaction */
static void
held_executor_finish(QueryDesc *desc)
{
	if (GetCurrentTransactionNestLevel() > 1)
		betree_held_send(InvalidOid);
	if (held_previous_finish)
		held_previous_finish(desc);
	else
		standard_ExecutorFinish(desc);
}

/* An index is about to be dropped (rule 4) */
static void
held_object_access(ObjectAccessType access, Oid class, Oid object, int subobject, void *arg)
{
	if (held_previous_access)
		held_previous_access(access, class, object, subobject, arg);
	if (access == OAT_DROP && class == RelationRelationId)
		betree_held_send(object);
}

/* Install the hooks and callbacks; called by _PG_init(). */
void
betree_held_init(void)
{
	RegisterXactCallback(held_xact_callback, NULL);
	RegisterSubXactCallback(held_subxact_callback, NULL);
	held_previous_run = ExecutorRun_hook;
	ExecutorRun_hook = held_executor_run;
	held_previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = held_executor_finish;
	held_previous_access = object_access_hook;
	object_access_hook = held_object_access;
}
