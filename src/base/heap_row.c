/*-------------------------------------------------------------------------
 *
 * heap_row.c
 *	  Rows of the table of an index: a check of them against the entries of the
 *	  index, and errors that name one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/heap_row.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "lib/bloomfilter.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

/*
 * May an index have an entry for this TID?  A row can be dead, but its line
 * pointer is not free before the entries are gone; and a row that is the
 * continuation of a chain has none.  Of other kinds of tables we do not know.
 */
static bool
heap_has_row(Relation heap, const ItemPointerData *tid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	bool		has_row = false;
	Buffer		buffer;
	Page		page;

	if (heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return true;
	buffer = ReadBuffer(heap, ItemPointerGetBlockNumber(tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (offset >= FirstOffsetNumber && offset <= PageGetMaxOffsetNumber(page))
	{
		ItemId		item = PageGetItemId(page, offset);

		has_row = ItemIdIsDead(item) || ItemIdIsRedirected(item) ||
			(ItemIdIsNormal(item) &&
			 !HeapTupleHeaderIsHeapOnly((HeapTupleHeader) PageGetItem(page, item)));
	}
	UnlockReleaseBuffer(buffer);
	return has_row;
}

/*
 * Under repeatable read, the snapshot can be older than the index, which then
 * lacks rows that the snapshot sees, rightly: an error.
 */
static void
check_snapshot(Relation index, Snapshot snapshot)
{
	if (IsolationUsesXactSnapshot() && index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   snapshot->xmin))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index \"%s\" cannot be verified using transaction snapshot",
						RelationGetRelationName(index))));
}

void
ecp_heap_check_begin(EcpHeapCheck *check, Relation heap, Relation index, bool tids,
					 bool rows)
{
	memset(check, 0, sizeof(EcpHeapCheck));
	check->heap = heap;
	check->index = index;
	if (tids)
		check->tids = tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
											maintenance_work_mem / 2, NULL,
											TUPLESORT_NONE);
	if (!rows)
		return;
	check->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	check_snapshot(index, check->snapshot);
	check->filter = bloom_create(Max(heap->rd_rel->reltuples,
									 (int64) RelationGetNumberOfBlocks(heap) * 64),
								 maintenance_work_mem / 2,
								 pg_prng_uint64(&pg_global_prng_state));
	check->row_context = AllocSetContextCreate(CurrentMemoryContext, "ecp check row",
											   ALLOCSET_DEFAULT_SIZES);
}

void
ecp_heap_check_entry(EcpHeapCheck *check, const ItemPointerData *tid, const void *bytes,
					 Size size)
{
	/* as numbers in the same order */
	if (check->tids)
		tuplesort_putdatum(check->tids,
						   Int64GetDatum((int64) ItemPointerGetBlockNumber(tid) << 16 |
										 ItemPointerGetOffsetNumber(tid)), false);
	if (check->filter)
		bloom_add_element(check->filter, (unsigned char *) bytes, size);
}

/* What the scan of the table has for check_heap_row() */
typedef struct HeapRows
{
	EcpHeapCheck *check;
	EcpHeapForm form;
	void	   *arg;
} HeapRows;

/* Callback of table_index_build_scan: a row must be in the filter. */
static void
check_heap_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive,
			   void *arg)
{
	HeapRows   *rows = arg;
	EcpHeapCheck *check = rows->check;
	MemoryContext old = MemoryContextSwitchTo(check->row_context);
	Size		size;
	const void *bytes = rows->form(rows->arg, tid, values, isnull, &size);

	if (bytes != NULL)
		check->nrows++;
	if (bytes != NULL &&
		(size == 0 || bloom_lacks_element(check->filter, (unsigned char *) bytes, size)))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("row (%u,%u) of table \"%s\" is not in index \"%s\"",
						ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid),
						RelationGetRelationName(check->heap),
						RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->row_context);
}

/* As in amcheck: only what the snapshot sees, as a concurrent build would scan. */
static void
check_heap(HeapRows *rows)
{
	EcpHeapCheck *check = rows->check;
	IndexInfo  *info = BuildIndexInfo(check->index);

	info->ii_Concurrent = true;
	info->ii_Unique = false;
	info->ii_ExclusionOps = NULL;
	info->ii_ExclusionProcs = NULL;
	info->ii_ExclusionStrats = NULL;
	table_index_build_scan(check->heap, check->index, info, true, false, check_heap_row,
						   rows, table_beginscan_strat(check->heap, check->snapshot, 0,
													   NULL, true, true));
}

pg_noreturn static void report_tid(EcpHeapCheck *check, ItemPointer tid,
								   const char *detail);

static void
report_tid(EcpHeapCheck *check, ItemPointer tid, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is corrupted: row (%u,%u)",
					RelationGetRelationName(check->index),
					ItemPointerGetBlockNumber(tid), ItemPointerGetOffsetNumber(tid)),
			 errdetail_internal("%s", detail),
			 errhint("Please REINDEX it.")));
}

/* Each TID must be there once and, with "in_table", of a row that the table has. */
static void
check_tids(EcpHeapCheck *check, bool in_table)
{
	IndexFetchTableData *fetch = ecp_table_fetch_begin(check->heap);
	TupleTableSlot *slot = table_slot_create(check->heap, NULL);
	int64		last = -1;
	int64		nseen = 0;
	Datum		value;
	bool		isnull;

	tuplesort_performsort(check->tids);
	while (ecp_tuplesort_getdatum(check->tids, &value, &isnull))
	{
		int64		number = DatumGetInt64(value);
		ItemPointerData tid;
		ItemPointerData row;
		bool		call_again = false;

		CHECK_FOR_INTERRUPTS();
		ItemPointerSet(&tid, (BlockNumber) (number >> 16), (OffsetNumber) number);
		row = tid;
		if (number == last)
			report_tid(check, &tid, "The index has it twice.");
		last = number;
		if (!in_table)
			continue;
		if (table_index_fetch_tuple(fetch, &row, check->snapshot, slot, &call_again, NULL))
			nseen++;
		else if (!heap_has_row(check->heap, &tid))
			report_tid(check, &tid, "The table does not have it.");
	}
	tuplesort_end(check->tids);
	ExecDropSingleTupleTableSlot(slot);
	table_index_fetch_end(fetch);
	if (in_table && nseen != check->nrows)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has " INT64_FORMAT " visible rows, but its table " INT64_FORMAT,
						RelationGetRelationName(check->index), nseen, check->nrows),
				 errhint("Please REINDEX it.")));
}

void
ecp_heap_check_end(EcpHeapCheck *check, EcpHeapForm form, void *arg, bool locked_out)
{
	HeapRows	rows = {check, form, arg};

	if (check->filter)
		check_heap(&rows);
	if (check->tids)
		check_tids(check, check->snapshot != NULL && locked_out);
	if (check->snapshot)
		UnregisterSnapshot(check->snapshot);
}

/* ---- errors that name a row and a column ---- */

static void
error_row_callback(void *arg)
{
	const EcpErrorRow *row = arg;
	const char *column =
		NameStr(TupleDescAttr(RelationGetDescr(row->index), 0)->attname);

	errcontext("row (%u,%u) of table \"%s\", column \"%s\" of index \"%s\"",
			   ItemPointerGetBlockNumberNoCheck(&row->tid),
			   ItemPointerGetOffsetNumberNoCheck(&row->tid),
			   RelationGetRelationName(row->heap), column,
			   RelationGetRelationName(row->index));
}

void
ecp_error_row_begin(EcpErrorRow *row, Relation heap, Relation index,
					const ItemPointerData *tid)
{
	Assert(index->rd_index->indrelid == RelationGetRelid(heap));
	row->heap = heap;
	row->index = index;
	row->tid = *tid;
	row->callback.callback = error_row_callback;
	row->callback.arg = row;
	row->callback.previous = error_context_stack;
	error_context_stack = &row->callback;
}

void
ecp_error_row_end(EcpErrorRow *row)
{
	Assert(error_context_stack == &row->callback);
	error_context_stack = row->callback.previous;
}
