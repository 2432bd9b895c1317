/*-------------------------------------------------------------------------
 *
 * ecp_table.c
 *	  An index together with its table, for the SQL functions that compare
 *	  what the index finds with the rows: ecp_recall.c, ecp_knn.c,
 *	  ecp_exact.c, ecp_vote.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "ecp/ecp_table.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"

/*
 * Open index and table, in the order of their locks, and check that the index
 * is one of ours that can answer, and that the user may know of the rows.
 * Row security is the caller's to look at.
 */
void
ecp_table_open(Oid index_oid, Relation *heap, Relation *index)
{
	Oid			heap_oid = ecp_user_index_table(index_oid, ECP_INDEX_READ,
												&ecp_index_kind);

	*heap = table_open(heap_oid, AccessShareLock);
	*index = ecp_user_index_open(index_oid, AccessShareLock, ECP_INDEX_READ,
								 &ecp_index_kind);
	if (!(*index)->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(*index))));
}

/* What is needed to evaluate what an index has of a row. */
typedef struct TableRows
{
	EcpCaller	caller;
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;
	EcpTableVisitor visitor;
	void	   *arg;
} TableRows;

/* Index expressions run as the table's owner until table_rows_end(). */
static void
table_rows_begin(TableRows *rows, Relation heap, Relation index,
				 EcpTableVisitor visitor, void *arg)
{
	ecp_become_owner(&rows->caller, heap);
	rows->info = BuildIndexInfo(index);
	rows->estate = CreateExecutorState();
	rows->predicate = ExecPrepareQual(rows->info->ii_Predicate, rows->estate);
	rows->slot = table_slot_create(heap, NULL);
	GetPerTupleExprContext(rows->estate)->ecxt_scantuple = rows->slot;
	rows->visitor = visitor;
	rows->arg = arg;
}

static void
table_rows_end(TableRows *rows)
{
	ExecDropSingleTupleTableSlot(rows->slot);
	FreeExecutorState(rows->estate);
	ecp_become_caller(&rows->caller);
}

/* Show the row in the slot to the visitor, if the index has it. */
static void
table_rows_visit(TableRows *rows)
{
	ExprContext *econtext = GetPerTupleExprContext(rows->estate);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	MemoryContext old;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(econtext);
	if (rows->predicate != NULL && !ExecQual(rows->predicate, econtext))
		return;
	FormIndexDatum(rows->info, rows->slot, rows->estate, values, isnull);
	if (isnull[0])
		return;
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(rows->estate));
	rows->visitor(&rows->slot->tts_tid, values[0], rows->arg);
	MemoryContextSwitchTo(old);
}

/*
 * ecp_table_scan
 *		Visit the rows of a scan that the index has.
 */
void
ecp_table_scan(Relation heap, Relation index, TableScanDesc scan,
			   EcpTableVisitor visitor, void *arg)
{
	TableRows	rows;

	table_rows_begin(&rows, heap, index, visitor, arg);
	while (table_scan_getnextslot(scan, ForwardScanDirection, rows.slot))
		table_rows_visit(&rows);
	table_rows_end(&rows);
}

/*
 * ecp_table_fetch
 *		Visit rows by their TIDs, those that the snapshot sees.
 */
void
ecp_table_fetch(Relation heap, Relation index, Snapshot snapshot,
				const ItemPointerData *tids, int ntids,
				EcpTableVisitor visitor, void *arg)
{
	TableRows	rows;

	table_rows_begin(&rows, heap, index, visitor, arg);
	for (int i = 0; i < ntids; i++)
	{
		ItemPointerData tid = tids[i];

		if (table_tuple_fetch_row_version(heap, &tid, snapshot, rows.slot))
			table_rows_visit(&rows);
	}
	table_rows_end(&rows);
}

/*
 * A cursor on a query that only reads.  SPI is connected; the plan lasts until
 * SPI_finish().
 */
Portal
ecp_query_open(const char *sql)
{
	SPIPlanPtr	plan = SPI_prepare(sql, 0, NULL);

	if (plan == NULL)
		elog(ERROR, "could not prepare query: %s",
			 SPI_result_code_string(SPI_result));
	return SPI_cursor_open(NULL, plan, NULL, NULL, true);
}

/*
 * Are values of this type vectors that an index has, whose operator class is
 * for "wanted"?  A column may be of a domain, or of bit varying for bit.
 */
void
ecp_query_check_type(Oid wanted, Oid type)
{
	if (!IsBinaryCoercible(type, wanted))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("queries must be vectors of type %s, not %s",
						format_type_be(wanted), format_type_be(type))));
}
