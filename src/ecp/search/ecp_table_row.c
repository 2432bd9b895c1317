/*-------------------------------------------------------------------------
 *
 * ecp_table_row.c
 *	  SEARCH: the exact rank of a row whose vector only the table has.
 *
 * An index that keeps codes of four bits estimates ranks well: for the ten nearest
 * rows, 12 or 13 are fetched here.  The executor fetches those that are returned
 * once more, from pages that are in the processor's cache then.
 *
 * What is fetched is what the executor would: the version of the row that the
 * scan's snapshot sees, along a HOT chain, in which the indexed column does not
 * change.  That the TID is still that of the row which the scan has read the code of
 * follows as for any index: if VACUUM has freed it meanwhile, the snapshot did not
 * see the old row, and does not see a new one, which was inserted later.  A row that
 * is not visible is left out, here instead of in the executor.
 *
 * Of an index on an expression, the vector's expression is computed, and no other one,
 * by the table's owner, as maintenance does it: the user who runs the query need not
 * have written it there, nor may run what a function's owner has made of it since.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "base/user_index.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_rerank.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "vector/vector_value.h"

struct EcpTableRow
{
	IndexScanDesc scan;
	MemoryContext scan_context;
	BlockNumber heap_blocks;	/* of the table at least; 0 = not known */
	AttrNumber	column;			/* 0 = an expression */
	ExprState  *expression;		/* if it is one */
	EState	   *estate;
	TupleTableSlot *slot;		/* NULL before the first row */
	MemoryContext context;		/* of one row */
};

/* Nothing but this struct before the first row is asked for. */
EcpTableRow *
ecp_table_row_create(IndexScanDesc scan)
{
	EcpTableRow *row = palloc0(sizeof(EcpTableRow));

	row->scan = scan;
	row->scan_context = CurrentMemoryContext;
	return row;
}

static void
row_open(EcpTableRow *row)
{
	Relation	index = row->scan->indexRelation;
	MemoryContext old = MemoryContextSwitchTo(row->scan_context);

	Assert(row->scan->heapRelation != NULL);
	row->column = index->rd_index->indkey.values[0];
	row->context = AllocSetContextCreate(CurrentMemoryContext, "ecp table row",
										 ALLOCSET_DEFAULT_SIZES);
	if (row->column == 0)
	{
		EcpCaller	caller;

		row->estate = CreateExecutorState();
		ecp_become_owner(&caller, row->scan->heapRelation);
		row->expression = ExecPrepareExpr(linitial(RelationGetIndexExpressions(index)),
										  row->estate);
		ecp_become_caller(&caller);
	}
	row->slot = table_slot_create(row->scan->heapRelation, NULL);
	MemoryContextSwitchTo(old);
}

void
ecp_table_row_free(EcpTableRow *row)
{
	if (row->slot)
	{
		ExecDropSingleTupleTableSlot(row->slot);
		MemoryContextDelete(row->context);
		if (row->estate)
			FreeExecutorState(row->estate);
	}
	pfree(row);
}

/* The value that the row in the slot has in the index. */
static Datum
row_value(EcpTableRow *row, bool *isnull)
{
	EcpCaller	caller;
	ExprContext *econtext;
	Datum		value;

	if (row->column != 0)
		return slot_getattr(row->slot, row->column, isnull);
	econtext = GetPerTupleExprContext(row->estate);
	econtext->ecxt_scantuple = row->slot;
	ecp_become_owner(&caller, row->scan->heapRelation);
	value = ExecEvalExprSwitchContext(row->expression, econtext, isnull);
	ecp_become_caller(&caller);
	return value;
}

/* The rank of the row in the slot; false if it has no vector. */
static bool
row_rank(EcpTableRow *row, const EcpMetaPageData *meta, const EcpQuery *query,
		 float8 *rank)
{
	uint32		factors[ECP_FACTORS_MAX];
	const uint32 *const factor[ECP_FACTORS_MAX] = {&factors[0], &factors[1]};
	EcpVector	vector;
	bool		isnull;
	Datum		value = row_value(row, &isnull);

	StaticAssertStmt(ECP_FACTORS_MAX == 2, "factors of a row");
	if (isnull)
		return false;
	ecp_vector_read(value, meta->ecpm_column_type, &vector);
	ecp_vector_check_dims(&vector, meta->ecpm_dims,
						  RelationGetRelationName(row->scan->indexRelation));
	ecp_factors_compute(vector.elem, meta->ecpm_metric, vector.dims, vector.data,
						factors);
	ecp_query_rank_rows(query, vector.data, 0, factor, 1, rank);
	return true;
}

bool
ecp_table_row_rank(EcpTableRow *row, const EcpMetaPageData *meta, uint64 item,
				   const EcpQuery *query, float8 *rank)
{
	IndexScanDesc scan = row->scan;
	ItemPointerData tid = scan->xs_heaptid;
	MemoryContext old;
	bool		found;

	if (row->slot == NULL)
		row_open(row);
	ecp_tid_from_item(scan->indexRelation, item, &scan->xs_heaptid);
	ecp_tid_check(scan->indexRelation, scan->heapRelation, &scan->xs_heaptid,
				  &row->heap_blocks);
	/* it moves the TID along a HOT chain */
	found = index_fetch_heap(scan, row->slot);
	scan->xs_heaptid = tid;
	if (!found)
		return false;

	old = MemoryContextSwitchTo(row->context);
	found = row_rank(row, meta, query, rank);
	MemoryContextSwitchTo(old);
	MemoryContextReset(row->context);
	if (row->estate)
		ResetPerTupleExprContext(row->estate);
	ExecClearTuple(row->slot);
	return found;
}
