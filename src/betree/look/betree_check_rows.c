/*-------------------------------------------------------------------------
 *
 * betree_check_rows.c
 *	  betree_index_check(): are the rows that the index has those of the table?
 *
 * The checker puts the TID of each live item into a sort.  Those that the
 * snapshot sees, all different, are as many as the rows that it has found in the
 * table, and so the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "base/compat.h"
#include "base/heap_row.h"
#include "betree/look/betree_check_rows.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

/* A sort of TIDs, as numbers in the same order */
Tuplesortstate *
betree_check_rows_begin(void)
{
	return tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
								 maintenance_work_mem / 2, NULL, false);
}

void
betree_check_rows_add(Tuplesortstate *tids, ItemPointer tid)
{
	int64		number = ((int64) ItemPointerGetBlockNumber(tid) << 16) |
		ItemPointerGetOffsetNumber(tid);

	tuplesort_putdatum(tids, Int64GetDatum(number), false);
}

pg_noreturn static void report_row(Relation index, ItemPointer tid,
								   const char *detail);

static void
report_row(Relation index, ItemPointer tid, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is corrupted: row (%u,%u)",
					RelationGetRelationName(index),
					ItemPointerGetBlockNumber(tid),
					ItemPointerGetOffsetNumber(tid)),
			 errdetail_internal("%s", detail),
			 errhint("Please REINDEX it.")));
}

/*
 * betree_check_rows
 *		Complain unless no two of the TIDs are the same, each is of a row that the
 *		heap has, and the snapshot sees "nrows" of them.  Ends the sort.
 */
void
betree_check_rows(Relation index, Relation heap, Tuplesortstate *tids,
				  Snapshot snapshot, int64 nrows)
{
	IndexFetchTableData *fetch = ecp_table_fetch_begin(heap);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	int64		last = -1;
	int64		nseen = 0;
	Datum		value;
	bool		isnull;

	tuplesort_performsort(tids);
	while (ecp_tuplesort_getdatum(tids, &value, &isnull))
	{
		int64		number = DatumGetInt64(value);
		ItemPointerData tid;
		ItemPointerData row;
		bool		call_again = false;

		CHECK_FOR_INTERRUPTS();
		ItemPointerSet(&tid, (BlockNumber) (number >> 16), (OffsetNumber) number);
		row = tid;
		if (number == last)
			report_row(index, &tid, "The index has it twice.");
		last = number;
		if (table_index_fetch_tuple(fetch, &row, snapshot, slot, &call_again, NULL))
			nseen++;
		else if (!ecp_heap_has_row(heap, &tid))
			report_row(index, &tid, "The table does not have it.");
	}
	tuplesort_end(tids);
	ExecDropSingleTupleTableSlot(slot);
	table_index_fetch_end(fetch);
	if (nseen != nrows)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has " INT64_FORMAT " visible rows, but its table " INT64_FORMAT,
						RelationGetRelationName(index), nseen, nrows),
				 errhint("Please REINDEX it.")));
}
