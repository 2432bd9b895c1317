/*-------------------------------------------------------------------------
 *
 * ecp_path_list.c
 *	  A condition that a value is among those of another table.
 *
 *	 SELECT ... FROM items WHERE owner IN (SELECT id FROM allowed WHERE ...)
 *	 ORDER BY v <-> q LIMIT 10
 *
 * and EXISTS, and a join with a unique column of a table that has no other use in
 * the query.  For core these are joins, which are above the scan: it returns nearest
 * rows until ten have passed.  If the column is a key column, another plan is offered:
 *
 *	 Nested Loop
 *	   ->  Custom Scan (ecp list)						one row: the list
 *			 ->  Seq Scan on allowed
 *	   ->  Index Scan using items_v on items
 *			 Index Cond: (owner = ANY (allowed.id))
 *			 Order By: (v <-> q)
 *
 * The node reads all values of the other side and returns one row with an array of
 * them, which the scan has as its condition by the parameter of the nested loop.  So
 * the condition must be "column = value", with a plain column on the other side, and
 * nothing else of the other side be wanted.  In the plan the array goes by the name of
 * that column, as a Var of the array's type.
 *
 * It is not offered for more values than work_mem has room for, nor where rows are
 * locked or changed, which may evaluate single rows again.  The estimate may be wrong:
 * the values are sorted, within work_mem, so that each is in the array once, and if the
 * array becomes much larger than was expected, the query fails, since by then there is
 * no other way to answer it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "base/compat.h"
#include "catalog/pg_collation.h"
#include "commands/explain.h"
#ifdef ECP_HAVE_EXPLAIN_HOOK
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "ecp/plan/ecp_plan.h"
#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

/* What a value takes in the array and, as a range of keys, in the scan. */
#define LIST_VALUE_BYTES(width)		((width) + 2 * sizeof(uint64))

/* ---- the node ---- */

typedef struct ListState
{
	CustomScanState css;		/* must be first */
	AttrNumber	column;			/* of the child */
	TypeCacheEntry *type;		/* of its values */
	bool		done;
	uint64		values;
} ListState;

/* The array of the distinct values of a sort; NULL if there are none. */
static ArrayBuildState *
list_collect(ListState *list, Tuplesortstate *sort, MemoryContext context)
{
	TypeCacheEntry *type = list->type;
	Size		room = 2 * get_hash_memory_limit();
	Size		bytes = 0;
	ArrayBuildState *array = NULL;
	Datum		value;
	bool		isnull;

	while (ecp_tuplesort_getdatum(sort, &value, &isnull))
	{
		CHECK_FOR_INTERRUPTS();
		if (array == NULL ||
			!DatumGetBool(FunctionCall2Coll(&type->eq_opr_finfo, C_COLLATION_OID, value,
											array->dvalues[array->nelems - 1])))
		{
			array = accumArrayResult(array, value, false, type->type_id, context);
			list->values++;
			bytes += LIST_VALUE_BYTES(datumGetSize(array->dvalues[array->nelems - 1],
												   type->typbyval, type->typlen));
			if (bytes > room)
				ereport(ERROR,
						errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("too many distinct values in the list for an index scan"),
						errdetail("The first " UINT64_FORMAT " take more than %zu kB, twice \"work_mem\" times \"hash_mem_multiplier\".",
								  list->values, room / 1024),
						errhint("Increase \"work_mem\", or set \"enable_nestloop\" to off for this query, which is then planned without the list."));
		}
		if (!type->typbyval)
			pfree(DatumGetPointer(value));
	}
	return array;
}

static TupleTableSlot *
list_next(CustomScanState *css)
{
	ListState  *list = (ListState *) css;
	MemoryContext context = css->ss.ps.ps_ExprContext->ecxt_per_tuple_memory;
	TupleTableSlot *result = ExecClearTuple(css->ss.ss_ScanTupleSlot);
	Tuplesortstate *sort;
	ArrayBuildState *array;

	MemoryContextReset(context);
	if (list->done)
		return result;
	list->done = true;
	list->values = 0;
	sort = tuplesort_begin_datum(list->type->type_id, list->type->lt_opr, C_COLLATION_OID,
								 false, work_mem, NULL, TUPLESORT_NONE);
	for (;;)
	{
		TupleTableSlot *slot = ExecProcNode(outerPlanState(list));
		bool		isnull;
		Datum		value;

		if (TupIsNull(slot))
			break;
		value = slot_getattr(slot, list->column, &isnull);
		if (!isnull)			/* nothing equals NULL */
			tuplesort_putdatum(sort, value, false);
	}
	tuplesort_performsort(sort);
	array = list_collect(list, sort, context);
	tuplesort_end(sort);
	if (array == NULL)
		return result;
	result->tts_values[0] = makeArrayResult(array, context);
	result->tts_isnull[0] = false;
	return ExecStoreVirtualTuple(result);
}

static void
list_begin(CustomScanState *css, EState *estate, int eflags)
{
	ListState  *list = (ListState *) css;
	const CustomScan *plan = castNode(CustomScan, css->ss.ps.plan);

	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
	list->column = linitial_int(plan->custom_private);
	list->type = lookup_type_cache((Oid) lsecond_int(plan->custom_private),
								   TYPECACHE_LT_OPR | TYPECACHE_EQ_OPR_FINFO);
}

static void
list_end(CustomScanState *css)
{
	ExecEndNode(outerPlanState(css));
}

static void
list_rescan(CustomScanState *css)
{
	((ListState *) css)->done = false;
	ExecScanReScan(&css->ss);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static void
list_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	if (es->analyze)
		ExplainPropertyUInteger("Values", NULL, ((ListState *) css)->values, es);
}

static const CustomExecMethods list_exec_methods = {
	.CustomName = "ecp list",
	.BeginCustomScan = list_begin,
	.ExecCustomScan = list_next,
	.EndCustomScan = list_end,
	.ReScanCustomScan = list_rescan,
	.ExplainCustomScan = list_explain
};

static Node *
list_create_state(CustomScan *plan)
{
	ListState  *list = palloc0_object(ListState);

	NodeSetTag(list, T_CustomScanState);
	list->css.methods = &list_exec_methods;
	return (Node *) list;
}

static const CustomScanMethods list_methods = {
	.CustomName = "ecp list",
	.CreateCustomScanState = list_create_state
};

/* ---- paths and the plan ---- */

static Plan *
list_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
		  List *clauses, List *plans)
{
	Plan	   *child = linitial(plans);
	Var		   *values = linitial(path->custom_private);
	TargetEntry *entry = tlist_member((Expr *) values, child->targetlist);
	CustomScan *plan = makeNode(CustomScan);

	if (entry == NULL)
		elog(ERROR, "values of a list not found in its plan");
	plan->scan.plan.targetlist = tlist;
	plan->scan.plan.lefttree = child;
	plan->custom_scan_tlist = copyObject(tlist);
	plan->custom_private = list_make2_int(entry->resno, (int) values->vartype);
	plan->methods = &list_methods;
	return (Plan *) plan;
}

static const CustomPathMethods list_path_methods = {
	.CustomName = "ecp list",
	.PlanCustomPath = list_plan
};

/* One row with the array of the values of a path. */
static Path *
list_outer_path(Path *child, Var *values, Var *array)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = child->parent;
	path->path.pathtarget = create_empty_pathtarget();
	add_column_to_pathtarget(path->path.pathtarget, (Expr *) array, 0);
	path->path.rows = 1;
	path->path.startup_cost = path->path.total_cost =
		child->total_cost + child->rows * cpu_operator_cost;
	path->custom_paths = list_make1(child);
	path->custom_private = list_make1(values);
	path->methods = &list_path_methods;
	return (Path *) path;
}

/* Offer the nested loop of the list and the scan of an index. */
static void
list_add_path(const EcpJoin *join, const EcpMatch *match, int column,
			  RestrictInfo *rinfo, const OpExpr *op)
{
	RelOptInfo *other = join->inner;
	Var		   *values = lsecond(op->args);
	Var		   *array = copyObject(values);
	IndexClause *clause = makeNode(IndexClause);
	RestrictInfo *derived;
	List	   *clauses = list_copy(match->clauses);
	int			place = 0;
	EcpJoin		loop = *join;
	JoinPathExtraData many = *join->extra;

	array->vartype = get_array_type(values->vartype);
	array->vartypmod = -1;

	/* what the join lets through, the condition does */
	derived = make_simple_restrictinfo(join->root, ecp_condition_any(op, (Node *) array));
	derived->clause_relids = bms_copy(match->rel->relids);
	derived->norm_selec = Min(join->rel->rows / Max(match->rel->rows, 1), 1);
	clause->rinfo = rinfo;
	clause->indexquals = list_make1(derived);
	clause->indexcol = column;
	while (place < list_length(clauses) &&
		   list_nth_node(IndexClause, clauses, place)->indexcol <= column)
		place++;
	clauses = list_insert_nth(clauses, place, clause);

	many.inner_unique = false;	/* many rows of the index for the list */
	loop.extra = &many;
	loop.type = JOIN_INNER;
	ecp_path_add_loop(&loop, list_outer_path(other->cheapest_total_path, values, array),
					  ecp_path_scan(match, clauses, other->relids, false),
					  list_make1(linitial(join->root->query_pathkeys)));
}

/* Offer the loop if the condition is "key column = column of the other table". */
static void
list_add_match(const EcpJoin *join, const EcpMatch *match, RestrictInfo *rinfo)
{
	const IndexOptInfo *index = match->index;

	for (int column = 1; column < index->nkeycolumns; column++)
	{
		OpExpr	   *op = (OpExpr *) ecp_match_operator(match, (OpExpr *) rinfo->clause, column);
		const Var  *values = op == NULL ? NULL : lsecond(op->args);

		if (values != NULL && IsA(values, Var) && values->varattno > 0 &&
			values->varlevelsup == 0 &&
			bms_is_member(values->varno, join->inner->relids) &&
			OidIsValid(get_array_type(values->vartype)) &&
			index->indexcollations[column] == op->inputcollid &&
			get_op_opfamily_strategy(op->opno, index->opfamily[column]) ==
			BTEqualStrategyNumber)
		{
			list_add_path(join, match, column, rinfo, op);
			return;
		}
	}
}

void
ecp_path_list_add(const EcpJoin *join)
{
	PlannerInfo *root = join->root;
	RelOptInfo *rel = join->outer;
	RelOptInfo *other = join->inner;
	RestrictInfo *rinfo;
	ParamPathInfo *param;
	List	   *matches;
	ListCell   *lc;

	if (!enable_nestloop ||
		(join->type != JOIN_SEMI &&
		 !(join->type == JOIN_INNER && join->extra->inner_unique)) ||
		!ecp_path_loop_fits(join, rel, other) || root->rowMarks != NIL ||
		root->parse->commandType != CMD_SELECT ||
		!bms_is_empty(other->lateral_relids) ||
		other->rows * LIST_VALUE_BYTES(other->reltarget->width) > work_mem * 1024.0 ||
		!bms_is_subset(pull_varnos(root, (Node *) join->rel->reltarget->exprs), rel->relids))
		return;
	matches = ecp_match_best(ecp_match_indexes(root, rel), true);
	if (matches == NIL)
		return;
	param = get_baserel_parampathinfo(root, rel, bms_copy(other->relids));
	if (list_length(join->extra->restrictlist) != 1 || list_length(param->ppi_clauses) != 1)
		return;
	rinfo = linitial_node(RestrictInfo, param->ppi_clauses);
	if (!is_opclause(rinfo->clause) || !restriction_is_securely_promotable(rinfo, rel))
		return;
	foreach(lc, matches)
		list_add_match(join, lfirst(lc), rinfo);
}

/* The path of the list of such a nested loop; NULL if it is none. */
const Path *
ecp_path_list_of(const Path *path)
{
	const Path *outer;

	if (!IsA(path, NestPath))
		return NULL;
	outer = ((const JoinPath *) path)->outerjoinpath;
	return IsA(outer, CustomPath) &&
		((const CustomPath *) outer)->methods == &list_path_methods ? outer : NULL;
}

void
ecp_path_list_init(void)
{
	RegisterCustomScanMethods(&list_methods);
}
