/*-------------------------------------------------------------------------
 *
 * ecp_row_test.c
 *	  SEARCH: will the executor keep a row that a scan returns?
 *
 * A scan in strict order cannot return a row that turns up when farther ones
 * have been returned.  It therefore holds rows back until it knows as many as a
 * LIMIT asks for (ecp_search.c); of those that a condition outside the index
 * discards, or that are not visible, only the executor would know.  So we do here
 * what it does: fetch the row, and evaluate the conditions of the node.  Those that
 * fail are not returned; those that pass are fetched and checked once more.
 *
 * The conditions are evaluated in a context of our own, whose memory is reset
 * for each row.  Which rows they are evaluated for is not another question than
 * with any other scan.  Rows that they discard are counted for EXPLAIN ANALYZE.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "ecp/search/ecp_rerank.h"
#include "executor/executor.h"
#include "executor/instrument.h"

struct EcpRowTest
{
	IndexScanDesc scan;
	ScanState  *node;
	ExprState  *recheck;		/* conditions of the index */
	bool		index_only;
	ExprContext *context;
	TupleTableSlot *slot;
};

EcpRowTest *
ecp_row_test_create(IndexScanDesc scan, ScanState *node)
{
	EState	   *estate = node->ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	EcpRowTest *test = palloc0(sizeof(EcpRowTest));

	test->scan = scan;
	test->node = node;
	test->index_only = IsA(node, IndexOnlyScanState);
	test->recheck = test->index_only ?
		castNode(IndexOnlyScanState, node)->recheckqual :
		castNode(IndexScanState, node)->indexqualorig;
	test->context = CreateExprContext(estate);
	/* of the kind for which the conditions were compiled */
	test->slot = MakeSingleTupleTableSlot(node->ss_ScanTupleSlot->tts_tupleDescriptor,
										  node->ss_ScanTupleSlot->tts_ops);
	MemoryContextSwitchTo(old);
	return test;
}

void
ecp_row_test_free(EcpRowTest *test)
{
	ExecDropSingleTupleTableSlot(test->slot);
	FreeExprContext(test->context, true);
	pfree(test);
}

/* The row's values into the slot; false if it is not visible. */
static bool
test_fetch(EcpRowTest *test)
{
	IndexScanDesc scan = test->scan;
	ItemPointerData tid = scan->xs_heaptid;
	bool		found;

	if (test->index_only)
	{
		ExecForceStoreHeapTuple(scan->xs_hitup, test->slot, false);
		return true;
	}
	/* it moves the TID along a HOT chain */
	found = index_fetch_heap(scan, test->slot);
	scan->xs_heaptid = tid;
	return found;
}

bool
ecp_row_test_passes(EcpRowTest *test, bool recheck)
{
	bool		passes = false;

	ResetExprContext(test->context);
	test->context->ecxt_scantuple = test->slot;
	if (!test_fetch(test))
		return false;
	if (recheck && !ExecQual(test->recheck, test->context))
		InstrCountFiltered2(&test->node->ps, 1);
	else if (!ExecQual(test->node->ps.qual, test->context))
		InstrCountFiltered1(&test->node->ps, 1);
	else
		passes = true;
	ExecClearTuple(test->slot);
	return passes;
}
