/*-------------------------------------------------------------------------
 *
 * ecp_path_number.c
 *	  The nearest rows of which each group has a few: "one passage a document".
 *
 *	 SELECT ... FROM (SELECT ..., v <-> q AS d,
 *		 row_number() OVER (PARTITION BY doc ORDER BY v <-> q) AS r FROM items) s
 *	 WHERE r <= 1 ORDER BY d LIMIT 10
 *
 * For core a window function needs its rows sorted by group and distance, so all of them.
 * But in the order of the distance alone, a row's number is how many of its group have
 * come, and the numbers are known as the rows come:
 *
 *	 Limit
 *	   ->  Subquery Scan on s							Filter: (r <= 1)
 *			 ->  Custom Scan (ecp row number)
 *				   ->  Index Scan using items_v on items
 *						 Order By: (v <-> q)
 *
 * The node keeps the value and the count of each group that it has met, in memory: a
 * query for the first rows meets few.  Which queries it is for: ecp_match_numbered().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "catalog/pg_type_d.h"
#include "commands/explain.h"
#ifdef ECP_HAVE_EXPLAIN_HOOK
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "ecp/batch/ecp_knn.h"
#include "ecp/plan/ecp_plan.h"
#include "ecp/search/ecp_scan.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/memutils.h"

/* ---- the node ---- */

typedef struct NumberState
{
	CustomScanState css;		/* must be first */
	EcpUserColumn column;		/* of the child, that tells groups apart */
	MemoryContext context;		/* of what follows */
	EcpRowGroups groups;
	int64	   *counts;			/* rows of each group */
	uint32		max_groups;
} NumberState;

static void
number_forget(NumberState *number)
{
	MemoryContext old = MemoryContextSwitchTo(number->context);

	MemoryContextReset(number->context);
	ecp_group_init(&number->groups, number->column);
	number->max_groups = 64;
	number->counts = palloc0_array(int64, number->max_groups);
	MemoryContextSwitchTo(old);
}

/* The number of a row in its group, from 1 on. */
static int64
number_row(NumberState *number, TupleTableSlot *slot)
{
	uint32		group = ecp_group_number(&number->groups, slot);

	if (group == number->max_groups)
	{
		number->counts = repalloc_huge(number->counts,
									   mul_size(2 * (Size) number->max_groups, sizeof(int64)));
		memset(number->counts + number->max_groups, 0, number->max_groups * sizeof(int64));
		number->max_groups *= 2;
	}
	return ++number->counts[group];
}

/* The child's row, and its number behind it. */
static TupleTableSlot *
number_next(ScanState *ss)
{
	NumberState *number = (NumberState *) ss;
	TupleTableSlot *row = ExecProcNode(outerPlanState(ss));
	TupleTableSlot *result = ExecClearTuple(ss->ss_ScanTupleSlot);
	int			ncolumns;

	if (TupIsNull(row))
		return result;
	slot_getallattrs(row);
	ncolumns = row->tts_tupleDescriptor->natts;
	memcpy(result->tts_values, row->tts_values, ncolumns * sizeof(Datum));
	memcpy(result->tts_isnull, row->tts_isnull, ncolumns * sizeof(bool));
	result->tts_values[ncolumns] = Int64GetDatum(number_row(number, row));
	result->tts_isnull[ncolumns] = false;
	return ExecStoreVirtualTuple(result);
}

/* Rows are not evaluated again: such a query locks none. */
static bool
number_recheck(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
number_exec(CustomScanState *css)
{
	return ExecScan(&css->ss, number_next, number_recheck);
}

static void
number_begin(CustomScanState *css, EState *estate, int eflags)
{
	NumberState *number = (NumberState *) css;
	const CustomScan *plan = castNode(CustomScan, css->ss.ps.plan);
	const TargetEntry *entry;

	outerPlanState(css) = ExecInitNode(outerPlan(plan), estate, eflags);
	number->column.attnum = linitial_int(plan->custom_private);
	entry = list_nth_node(TargetEntry, outerPlan(plan)->targetlist,
						  number->column.attnum - 1);
	number->column.type = exprType((Node *) entry->expr);
	number->column.collation = exprCollation((Node *) entry->expr);
	number->context = AllocSetContextCreate(estate->es_query_cxt, "ecp row numbers",
											ALLOCSET_DEFAULT_SIZES);
	number_forget(number);
}

static void
number_end(CustomScanState *css)
{
	ExecEndNode(outerPlanState(css));
}

static void
number_rescan(CustomScanState *css)
{
	number_forget((NumberState *) css);
	ExecScanReScan(&css->ss);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

static void
number_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	NumberState *number = (NumberState *) css;

	if (es->analyze)
		ExplainPropertyUInteger("Groups", NULL, number->groups.n, es);
}

static const CustomExecMethods number_exec_methods = {
	.CustomName = "ecp row number",
	.BeginCustomScan = number_begin,
	.ExecCustomScan = number_exec,
	.EndCustomScan = number_end,
	.ReScanCustomScan = number_rescan,
	.ExplainCustomScan = number_explain
};

static Node *
number_create_state(CustomScan *plan)
{
	NumberState *number = palloc0_object(NumberState);

	NodeSetTag(number, T_CustomScanState);
	number->css.methods = &number_exec_methods;
	return (Node *) number;
}

static const CustomScanMethods number_methods = {
	.CustomName = "ecp row number",
	.CreateCustomScanState = number_create_state
};

/* ---- paths and the plan ---- */

/*
 * Put a plain call in the place of the window function: EXPLAIN looks for the window of
 * one in a node of core.
 */
static Node *
number_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
		return (Node *) makeFuncExpr(((WindowFunc *) node)->winfnoid, INT8OID, NIL,
									 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	return expression_tree_mutator(node, number_mutator, context);
}

static Plan *
number_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
			List *clauses, List *plans)
{
	Plan	   *child = linitial(plans);
	Node	   *group = linitial(path->custom_private);
	TargetEntry *entry = tlist_member((Expr *) group, child->targetlist);
	CustomScan *plan = makeNode(CustomScan);

	if (entry == NULL)
		elog(ERROR, "column of groups not found in the plan of their rows");
	plan->scan.plan.targetlist = (List *) number_mutator((Node *) tlist, NULL);
	plan->scan.plan.lefttree = child;
	plan->scan.plan.qual = (List *) number_mutator(lsecond(path->custom_private), NULL);
	plan->custom_scan_tlist =
		lappend(copyObject(child->targetlist),
				makeTargetEntry((Expr *) number_mutator(lthird(path->custom_private), NULL),
								list_length(child->targetlist) + 1, NULL, false));
	plan->custom_private = list_make1_int(entry->resno);
	plan->methods = &number_methods;
	return (Plan *) plan;
}

static const CustomPathMethods number_path_methods = {
	.CustomName = "ecp row number",
	.PlanCustomPath = number_plan
};

/*
 * The path above our scan, which is charged so much that core chooses it for nothing
 * else: it would lose rows.
 */
static Path *
number_path(PlannerInfo *root, RelOptInfo *rel, Path *child, const WindowAggPath *core)
{
	CustomPath *path = makeNode(CustomPath);
	PathTarget *target = root->upper_targets[UPPERREL_WINDOW];
	Node	   *number = NULL;
	ListCell   *lc;

	/* all are the same function of the same window */
	foreach(lc, pull_var_clause((Node *) target->exprs, PVC_INCLUDE_WINDOWFUNCS |
								PVC_INCLUDE_PLACEHOLDERS))
	{
		if (IsA(lfirst(lc), WindowFunc))
			number = lfirst(lc);
	}
	Assert(number != NULL);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = target;
	path->path.rows = child->rows;
	path->path.startup_cost = child->startup_cost;
	path->path.total_cost = child->total_cost - ECP_COST_UNWANTED +
		child->rows * (cpu_operator_cost + cpu_tuple_cost);
	path->path.pathkeys = child->pathkeys;
	path->custom_paths = list_make1(child);
	path->custom_private =
		list_make3(get_sortgroupclause_expr(linitial(core->winclause->partitionClause),
											root->processed_tlist),
				   ecp_window_path_conditions(core), number);
	path->methods = &number_path_methods;
	return (Path *) path;
}

void
ecp_path_number_add(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	const WindowAggPath *core = output->pathlist == NIL ? NULL : linitial(output->pathlist);
	ListCell   *lc;

	if (ecp_match_numbered(root) == NULL || core == NULL || !IsA(core, WindowAggPath))
		return;
	foreach(lc, input->pathlist)
	{
		Path	   *path = lfirst(lc);
		Path	   *scan = path;

		while (IsA(scan, ProjectionPath))
			scan = ((ProjectionPath *) scan)->subpath;
		if (ecp_match_is_scan(scan) && ((IndexPath *) scan)->indexorderbys != NIL)
			add_path(output, number_path(root, output, path, core));
	}
}

void
ecp_path_number_init(void)
{
	RegisterCustomScanMethods(&number_methods);
	ecp_limit_numbers = &number_exec_methods;
}
