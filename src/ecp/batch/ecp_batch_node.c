/*-------------------------------------------------------------------------
 *
 * ecp_batch_node.c
 *	  Custom Scan (ecp batch): the outer side of a nested loop whose inner side
 *	  searches for the nearest of each outer row's vector.
 *
 *	 Nested Loop
 *	   ->  Custom Scan (ecp batch)
 *			 ->  Seq Scan on queries q
 *	   ->  Limit
 *			 ->  Index Scan using items_v on items		Order By: (v <-> q.v)
 *
 * The node returns the rows of its child as they come, but reads as many ahead as
 * work_mem has room for.  The loop is core's, and so is the inner side.  When the
 * scan there begins, it asks here (ecp_scan_answerer) whether its answer is known; for
 * the first row of a batch, the rows of all vectors from there on are found at
 * once, with the keys, the LIMIT and the snapshot of that very scan (ecp_knn_find()).
 * So the plan only says that it may be worth it: whatever differs then, a vector, a
 * key, a LIMIT, is no reason for a wrong answer, but for a scan.  The executor fetches
 * the rows by their TIDs as those of any scan; if one of them is not visible, that scan
 * searches for itself.
 *
 * What a batch leaves to scans, vectors that are NULL or do not fit the index, and
 * queries that read much more than others, is left to the scan itself.  So
 * is all, if scans are faster: in memory a batch pays where each cluster is wanted by
 * several queries (knn_pays()).
 *
 * A batch reads with the settings at its first row, which only matters if they
 * change while a cursor is open.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "commands/explain.h"
#ifdef ECP_HAVE_EXPLAIN_HOOK
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "ecp/batch/ecp_knn.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_scan.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "vector/vector_value.h"

/* A row that was read ahead. */
typedef struct NodeRow
{
	MinimalTuple tuple;
	struct varlena *vector;		/* NULL if it is NULL */
	EcpScanAnswer answer;		/* its rows are NULL if none is known */
} NodeRow;

typedef struct NodeState
{
	CustomScanState css;		/* must be first */
	ExprState  *vector;			/* of a row */
	Oid			index;
	int			k;				/* that the planner knew, or 0 */
	dlist_node	place;			/* in node_states */
	MemoryContextCallback callback;

	MemoryContext context;		/* of what the rows of a batch have */
	NodeRow    *rows;
	int			max_rows;
	int			nrows;
	int			next;			/* to be returned */
	bool		ended;			/* there are no more */

	/* what the batch was answered for; scan is NULL before */
	IndexScanDesc scan;
	Snapshot	snapshot;
	uint64		wanted;
	ScanKeyData *keys;
	int			nkeys;

	uint64		batches;
	uint64		queries;		/* that they found answers for, */
	uint64		given_up;		/* and those that were not enough */
} NodeState;

/* Nodes that are being executed. */
static dlist_head node_states = DLIST_STATIC_INIT(node_states);

/* ---- reading ahead ---- */

static void
node_forget_rows(NodeState *node)
{
	ExecClearTuple(node->css.ss.ss_ScanTupleSlot);
	MemoryContextReset(node->context);
	node->nrows = node->next = 0;
	node->scan = NULL;
}

/* Keep a row of the child; returns the memory that it takes. */
static Size
node_add_row(NodeState *node, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(node->context);
	ExprContext *econtext = node->css.ss.ps.ps_ExprContext;
	NodeRow    *row;
	Datum		value;
	bool		isnull;
	Size		bytes;

	if (node->nrows == node->max_rows)
	{
		node->max_rows *= 2;
		node->rows = repalloc_huge(node->rows,
								   mul_size(node->max_rows, sizeof(NodeRow)));
	}
	row = &node->rows[node->nrows++];
	memset(row, 0, sizeof(NodeRow));
	row->tuple = ExecCopySlotMinimalTuple(slot);
	bytes = row->tuple->t_len + sizeof(NodeRow) + node->k * sizeof(EcpRanked);

	/* by the slot that the expression has been compiled for */
	ExecForceStoreMinimalTuple(row->tuple, node->css.ss.ss_ScanTupleSlot, false);
	econtext->ecxt_scantuple = node->css.ss.ss_ScanTupleSlot;
	ResetExprContext(econtext);
	value = ExecEvalExprSwitchContext(node->vector, econtext, &isnull);
	if (!isnull)
	{
		row->vector = PG_DETOAST_DATUM_COPY(value);
		bytes += VARSIZE(row->vector);
	}
	MemoryContextSwitchTo(old);
	return bytes;
}

/* Read rows of the child, as many as there is room for. */
static void
node_read(NodeState *node)
{
	Size		bytes = 0;

	node_forget_rows(node);
	while (bytes < (Size) work_mem * 1024)
	{
		TupleTableSlot *slot = ExecProcNode(outerPlanState(node));

		if (TupIsNull(slot))
		{
			node->ended = true;
			break;
		}
		bytes += node_add_row(node, slot);
	}
}

static TupleTableSlot *
node_next(CustomScanState *css)
{
	NodeState  *node = (NodeState *) css;
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;

	if (node->next == node->nrows && !node->ended)
		node_read(node);
	if (node->next == node->nrows)
		return ExecClearTuple(slot);
	ExecForceStoreMinimalTuple(node->rows[node->next++].tuple, slot, false);
	return slot;
}

/* ---- answers ---- */

static void
node_take_answer(int64 id, const EcpScanAnswer *answer, void *arg)
{
	NodeState  *node = arg;
	EcpScanAnswer *kept = &node->rows[id].answer;
	Size		bytes = mul_size(Max(answer->n, 1), sizeof(EcpRanked));

	*kept = *answer;
	kept->given_up = &node->given_up;
	kept->rows = memcpy(MemoryContextAllocHuge(node->context, bytes), answer->rows,
						answer->n * sizeof(EcpRanked));
	node->queries++;
}

/*
 * Take the vectors of the rows from "first" on that a scan would search for, as many as
 * there is room for answers.
 */
static void
node_take_vectors(NodeState *node, int first, EcpKnnInput *input)
{
	double		room = work_mem * 1024.0 / (node->wanted * sizeof(EcpRanked));
	EcpIndexState state;

	ecp_meta_read_state(input->index, &state);
	if (EcpIndexIsEmpty(&state))
		return;
	for (int i = first; i < node->nrows && input->n < room; i++)
	{
		Datum		vector = PointerGetDatum(node->rows[i].vector);

		/* an error, if the loop gets there, is the scan's */
		if (node->rows[i].vector != NULL &&
			ecp_vector_is_readable(vector, state.meta.ecpm_column_type,
								   state.meta.ecpm_dims))
			ecp_knn_input_add(input, i, vector, false);
	}
}

/* Has a search of the index a time to keep? */
static bool
node_is_timed(Relation index)
{
	return ecp_max_ms > 0 ||
		(ecp_max_ms == 0 && ecp_options_get(index).max_ms > 0);
}

/* Answer the rows from "first" on as this scan. */
static void
node_answer(NodeState *node, int first, IndexScanDesc scan, const EcpScanLimit *limit)
{
	MemoryContext old = MemoryContextSwitchTo(node->context);
	MemoryContext work;
	EcpKnnInput input;
	bool		copied;

	node->scan = scan;
	node->snapshot = scan->xs_snapshot;
	node->wanted = limit->rows;
	node->keys = palloc_array(ScanKeyData, Max(scan->numberOfKeys, 1));
	copied = ecp_knn_keys_copy(scan->indexRelation, scan->keyData, scan->numberOfKeys,
							   node->keys, &node->nkeys);
	if (copied && limit->rows <= ECP_KNN_K_MAX &&
		limit->node->limitOption == LIMIT_OPTION_COUNT &&
		!node_is_timed(scan->indexRelation))
	{
		work = AllocSetContextCreate(node->context, "ecp batch work",
									 ALLOCSET_DEFAULT_SIZES);
		MemoryContextSwitchTo(work);
		ecp_knn_input_init(&input, scan->indexRelation);
		node_take_vectors(node, first, &input);
		if (input.n >= ECP_BATCH_ROWS_MIN &&
			ecp_knn_find(scan->heapRelation, scan->indexRelation, scan->xs_snapshot,
						 node->keys, node->nkeys, limit->scan->ps.plan->plan_rows,
						 scan->xs_recheck, &input, (int) limit->rows, node_take_answer, node))
			node->batches++;
		tuplestore_end(input.store);
		MemoryContextSwitchTo(node->context);
		MemoryContextDelete(work);
	}
	MemoryContextSwitchTo(old);
}

/* Was the batch answered for such a scan? */
static bool
node_is_for(const NodeState *node, IndexScanDesc scan, const EcpScanLimit *limit)
{
	return node->scan == scan && node->snapshot == scan->xs_snapshot &&
		node->wanted == limit->rows &&
		ecp_knn_keys_equal(scan->indexRelation, scan->keyData, scan->numberOfKeys,
						   node->keys, node->nkeys);
}

/* Is this the vector of the row that the node returned last? */
static bool
node_is_at(const NodeState *node, Datum vector)
{
	const struct varlena *current = node->next > 0 ?
		node->rows[node->next - 1].vector : NULL;

	return current != NULL &&
		datum_image_eq(PointerGetDatum(current), vector, false, -1);
}

/* ecp_scan_answerer */
static bool
node_find_answer(IndexScanDesc scan, const EcpScanLimit *limit, Datum query,
				 EcpScanAnswer *answer)
{
	dlist_iter	iter;

	dlist_foreach(iter, &node_states)
	{
		NodeState  *node = dlist_container(NodeState, place, iter.cur);
		const NodeRow *row;

		if (node->index != RelationGetRelid(scan->indexRelation) ||
			node->css.ss.ps.state != limit->scan->ps.state ||
			(node->scan != NULL && node->scan != scan) || !node_is_at(node, query))
			continue;
		if (node->scan == NULL)
			node_answer(node, node->next - 1, scan, limit);
		row = &node->rows[node->next - 1];
		if (row->answer.rows == NULL || !node_is_for(node, scan, limit))
			return false;
		*answer = row->answer;
		return true;
	}
	return false;
}

/* ---- the node ---- */

static void
node_forget(void *arg)
{
	dlist_delete(&((NodeState *) arg)->place);
}

static void
node_begin(CustomScanState *css, EState *estate, int eflags)
{
	NodeState  *node = (NodeState *) css;
	const CustomScan *plan = castNode(CustomScan, css->ss.ps.plan);

	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
	node->vector = ExecInitExpr(linitial(plan->custom_exprs), &css->ss.ps);
	node->k = linitial_int(plan->custom_private);
	node->index = (Oid) lsecond_int(plan->custom_private);
	node->context = AllocSetContextCreate(estate->es_query_cxt, "ecp batch rows",
										  ALLOCSET_DEFAULT_SIZES);
	node->max_rows = 64;
	node->rows = MemoryContextAlloc(estate->es_query_cxt,
									node->max_rows * sizeof(NodeRow));

	/* until the executor's memory goes, also after an error */
	dlist_push_head(&node_states, &node->place);
	node->callback.func = node_forget;
	node->callback.arg = node;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &node->callback);
}

static void
node_end(CustomScanState *css)
{
	node_forget_rows((NodeState *) css);
	ExecEndNode(outerPlanState(css));
}

static void
node_rescan(CustomScanState *css)
{
	NodeState  *node = (NodeState *) css;

	node_forget_rows(node);
	node->ended = false;
	ExecScanReScan(&css->ss);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static void
node_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	NodeState  *node = (NodeState *) css;

	ExplainPropertyText("Index", get_rel_name(node->index), es);
	if (node->k > 0)
		ExplainPropertyInteger("Rows Wanted", NULL, node->k, es);
	if (es->analyze)
	{
		ExplainPropertyUInteger("Batches", NULL, node->batches, es);
		ExplainPropertyUInteger("Queries", NULL, node->queries - node->given_up, es);
	}
}

static const CustomExecMethods node_exec_methods = {
	.CustomName = "ecp batch",
	.BeginCustomScan = node_begin,
	.ExecCustomScan = node_next,
	.EndCustomScan = node_end,
	.ReScanCustomScan = node_rescan,
	.ExplainCustomScan = node_explain
};

static Node *
node_create_state(CustomScan *plan)
{
	NodeState  *node = palloc0_object(NodeState);

	NodeSetTag(node, T_CustomScanState);
	node->css.methods = &node_exec_methods;
	return (Node *) node;
}

static const CustomScanMethods node_methods = {
	.CustomName = "ecp batch",
	.CreateCustomScanState = node_create_state
};

CustomScan *
ecp_batch_node_create(Plan *outer, Node *vector, Oid index, int k)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan.targetlist = copyObject(outer->targetlist);
	plan->scan.plan.lefttree = outer;
	plan->custom_scan_tlist = copyObject(outer->targetlist);
	plan->custom_exprs = list_make1(vector);
	plan->custom_private = list_make2_int(k, (int) index);
	plan->methods = &node_methods;
	return plan;
}

/* Called by ecp_path_init(). */
void
ecp_batch_node_init(void)
{
	RegisterCustomScanMethods(&node_methods);
	ecp_scan_answerer = node_find_answer;
}
