/*-------------------------------------------------------------------------
 *
 * ecp_path_batch.c
 *	  The nearest rows of each row of another table.
 *
 *	 SELECT ... FROM queries q CROSS JOIN LATERAL
 *		 (SELECT ... FROM items ORDER BY v <-> q.v LIMIT k) n
 *
 * or such a join that ecp_path_joined.c has made of one without a subquery.
 * For core that is a nested loop with a scan for each outer row.  If nothing but the
 * vector is of the outer row, q.v or an expression of its columns, then a node on the
 * outer side that reads rows ahead (ecp_batch_node.c) lets the scans of many rows be done
 * at once.  The loop remains what it is, so the path is offered for what core offers a
 * nested loop for: an inner or left join with the subquery, in any order of outer rows.
 *
 * It is not offered where rows are locked or changed, which may evaluate single rows again,
 * nor if the query calls volatile functions, which would be called for rows that the
 * query does not come to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/define/ecp_define.h"
#include "ecp/plan/ecp_plan.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

/* What of the outer row an inner side knows, and how. */
typedef struct BatchOuter
{
	List	   *params;			/* PlannerParamItems, in a subquery */
	Relids		relids;			/* columns of these, in a join */
	bool		all;			/* the loop comes to all outer rows */
} BatchOuter;

/* The inner side of such a loop. */
typedef struct BatchInner
{
	PlannerInfo *root;
	Path	   *path;			/* SubqueryScanPath or LimitPath */
	IndexPath  *scan;			/* what it comes down to */
	Node	   *vector;			/* of the outer row, by its columns */
	int			k;				/* 0 = not known yet */
	double		k_estimate;
} BatchInner;

/* ---- the subquery ---- */

/* The path below projections, which return as many rows. */
static Path *
batch_below(Path *path)
{
	while (IsA(path, ProjectionPath))
		path = ((ProjectionPath *) path)->subpath;
	return path;
}

/* Rows that a LIMIT takes; 0 if that is known later, -1 if it may differ by row. */
static int64
batch_limit(Node *node, int64 missing)
{
	const Const *value = (const Const *) node;

	if (node == NULL)
		return missing;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN)
		return 0;
	if (!IsA(node, Const) || value->constisnull || DatumGetInt64(value->constvalue) < 0)
		return -1;
	return DatumGetInt64(value->constvalue);
}

/* The column of the outer row that a node stands for, or NULL. */
static Node *
batch_outer_column(Node *node, const BatchOuter *outer)
{
	ListCell   *lc;

	if (IsA(node, Var) && bms_is_member(((Var *) node)->varno, outer->relids))
		return node;
	if (!IsA(node, Param) || ((Param *) node)->paramkind != PARAM_EXEC)
		return NULL;
	foreach(lc, outer->params)
	{
		const PlannerParamItem *item = lfirst_node(PlannerParamItem, lc);

		if (item->paramId == ((Param *) node)->paramid)
			return item->item;
	}
	return NULL;
}

/* Does an expression have values of the outer row? */
static bool
batch_has_outer(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (batch_outer_column(node, context) != NULL)
		return true;
	if (IsA(node, RestrictInfo))
		node = (Node *) ((RestrictInfo *) node)->clause;
	return expression_tree_walker(node, batch_has_outer, context);
}

/*
 * Are the conditions of a scan the index's alone, and the same for all outer rows?
 * Those of a join are of the outer row.
 */
static bool
batch_conditions_fit(const IndexPath *scan, BatchOuter *outer)
{
	ListCell   *lc;

	if (ecp_cost_filters(scan->indexinfo, scan->indexclauses) != NIL ||
		(scan->path.param_info && scan->path.param_info->ppi_clauses != NIL))
		return false;
	foreach(lc, scan->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol == 0 && clause->lossy)
			return false;		/* a radius */
		if (batch_has_outer((Node *) clause->indexquals, outer))
			return false;
	}
	return true;
}

/* Put columns of the outer row in the place of the parameters that they are inside. */
static Node *
batch_outer_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (batch_outer_column(node, context) != NULL)
		return copyObject(batch_outer_column(node, context));
	return expression_tree_mutator(node, batch_outer_mutator, context);
}

/* Is there what only the subquery can compute? */
static bool
batch_is_inner(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, PlaceHolderVar) ||
		(IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC))
		return true;
	return expression_tree_walker(node, batch_is_inner, context);
}

/*
 * The vector that a scan orders by, as an expression of the outer row's columns, or NULL.
 * It may fail for rows that the loop does not come to, unless it comes to all.
 */
static Node *
batch_vector(const IndexPath *scan, BatchOuter *outer)
{
	const OpExpr *order = linitial(scan->indexorderbys);
	Node	   *vector;

	if (!IsA(order, OpExpr) || !batch_has_outer(lsecond(order->args), outer))
		return NULL;
	vector = batch_outer_mutator(lsecond(order->args), outer);
	while (IsA(vector, RelabelType))
		vector = (Node *) ((RelabelType *) vector)->arg;
	if (!IsA(vector, Var) && (!outer->all || batch_is_inner(vector, NULL)))
		return NULL;
	return vector;
}

/* Is it a scan below a LIMIT that batches answer? */
static bool
batch_match(PlannerInfo *root, Path *path, LimitPath *limit, BatchOuter *outer,
			BatchInner *match)
{
	Path	   *scan = batch_below(limit->subpath);
	int64		offset;
	int64		count;

	match->root = root;
	match->path = path;
	match->scan = (IndexPath *) scan;
	if (limit->limitOption != LIMIT_OPTION_COUNT ||
		!ecp_match_is_scan(scan) || scan->pathtype != T_IndexScan ||
		!bms_equal(PATH_REQ_OUTER(scan), outer->relids) ||
		list_length(match->scan->indexorderbys) != 1 ||
		!batch_conditions_fit(match->scan, outer))
		return false;

	offset = batch_limit(limit->limitOffset, 0);
	count = batch_limit(limit->limitCount, -1);
	if (offset < 0 || count < 0 || offset + count > ECP_KNN_K_MAX)
		return false;
	match->k = count > 0 && (offset > 0 || limit->limitOffset == NULL) ?
		offset + count : 0;
	match->k_estimate = match->k > 0 ? match->k : limit->path.rows;
	match->vector = batch_vector(match->scan, outer);
	return match->vector != NULL;
}

/* Is a path of the subquery one that batches answer? */
static bool
batch_match_subquery(const PlannerInfo *root, RelOptInfo *inner, Path *path,
					 BatchInner *match)
{
	BatchOuter	outer = {inner->subplan_params, NULL, root->tuple_fraction <= 0};
	Path	   *limit;

	if (!IsA(path, SubqueryScanPath))
		return false;
	limit = batch_below(((SubqueryScanPath *) path)->subpath);
	return IsA(limit, LimitPath) &&
		batch_match(inner->subroot, path, (LimitPath *) limit, &outer, match);
}

/* ---- paths and the plan ---- */

static Plan *
batch_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
		   List *clauses, List *plans)
{
	return (Plan *) ecp_batch_node_create(linitial(plans), linitial(path->custom_private),
										  intVal(lsecond(path->custom_private)),
										  intVal(lthird(path->custom_private)));
}

static const CustomPathMethods batch_path_methods = {
	.CustomName = "ecp batch",
	.PlanCustomPath = batch_plan
};

/* The outer path with its rows read ahead, and the costs of the searches; or NULL. */
static Path *
batch_outer_path(Path *outer, const BatchInner *match)
{
	CustomPath *path;
	double		rows = Max(outer->rows, 1);
	double		row_bytes = outer->pathtarget->width * 2.0 +
		match->k_estimate * sizeof(EcpRanked) + sizeof(void *) * 8;
	double		batch = Min(Max(work_mem * 1024.0 / row_bytes, 1), rows);
	Cost		search;
	Cost		setup;

	if (!ecp_cost_batch(match->root, match->scan, batch, &search, &setup))
		return NULL;
	path = makeNode(CustomPath);
	path->path = *outer;
	NodeSetTag(path, T_CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parallel_aware = path->path.parallel_safe = false;
	path->path.parallel_workers = 0;
	path->path.startup_cost += setup + batch * search +
		(outer->total_cost - outer->startup_cost) * batch / rows;
	path->path.total_cost += ceil(rows / batch) * setup + rows * search;
	path->path.total_cost = Max(path->path.total_cost, path->path.startup_cost);
	path->custom_paths = list_make1(outer);
	path->custom_private = list_make3(match->vector,
									  makeInteger((int) match->scan->indexinfo->indexoid),
									  makeInteger(match->k));
	path->methods = &batch_path_methods;
	return (Path *) path;
}

/* The inner path without the search. */
static Path *
batch_inner_path(const BatchInner *match)
{
	Size		size = IsA(match->path, LimitPath) ? sizeof(LimitPath) :
		sizeof(SubqueryScanPath);
	Path	   *path = memcpy(palloc(size), match->path, size);
	Cost		search = match->scan->path.startup_cost;

	path->startup_cost = Max(path->startup_cost - search, 0);
	path->total_cost = Max(path->total_cost - search, path->startup_cost);
	return path;
}

static void
batch_add_path(const EcpJoin *join, Path *outer, const BatchInner *match)
{
	Path	   *path;

	if (outer->rows < ECP_BATCH_ROWS_MIN || !bms_is_empty(PATH_REQ_OUTER(outer)) ||
		list_difference(pull_var_clause(match->vector, 0), outer->pathtarget->exprs) != NIL)
		return;
	path = batch_outer_path(outer, match);
	if (path != NULL)
		ecp_path_add_loop(join, path, batch_inner_path(match),
						  build_join_pathkeys(join->root, join->rel, join->type,
											  outer->pathkeys));
}

/* Does the outer side have all that the subquery wants, each as a column? */
static bool
batch_outer_fits(RelOptInfo *outer, RelOptInfo *inner)
{
	ListCell   *lc;

	if (inner->reloptkind != RELOPT_BASEREL || inner->rtekind != RTE_SUBQUERY ||
		inner->subroot == NULL || bms_is_empty(inner->lateral_relids) ||
		!bms_is_subset(inner->lateral_relids, outer->relids))
		return false;
	foreach(lc, inner->subplan_params)
	{
		if (!IsA(lfirst_node(PlannerParamItem, lc)->item, Var))
			return false;
	}
	return true;
}

/* May rows of the outer side be read ahead, if the query has such a loop? */
static bool
batch_is_allowed(const EcpJoin *join)
{
	const PlannerInfo *root = join->root;

	return ecp_enable_batch_join && ecp_max_ms <= 0 && enable_nestloop &&
		(join->type == JOIN_INNER || join->type == JOIN_LEFT) &&
		root->rowMarks == NIL &&
		(root->parse->commandType == CMD_SELECT ||
		 root->parse->commandType == CMD_INSERT) &&
		!contain_volatile_functions((Node *) root->parse);
}

void
ecp_path_batch_add(const EcpJoin *join)
{
	RelOptInfo *outer = join->outer;
	RelOptInfo *inner = join->inner;
	ListCell   *lc;

	if (!batch_outer_fits(outer, inner) || !batch_is_allowed(join))
		return;
	foreach(lc, inner->pathlist)
	{
		BatchInner	match;
		ListCell   *lc2;

		if (!bms_is_subset(PATH_REQ_OUTER((Path *) lfirst(lc)), outer->relids) ||
			!batch_match_subquery(join->root, inner, lfirst(lc), &match))
			continue;
		foreach(lc2, outer->pathlist)
			batch_add_path(join, lfirst(lc2), &match);
	}
}

void
ecp_path_batch_add_limit(const EcpJoin *join, LimitPath *inner)
{
	BatchOuter	outer = {NIL, join->outer->relids, true};
	BatchInner	match;

	if (batch_is_allowed(join) &&
		batch_match(join->root, (Path *) inner, inner, &outer, &match))
		batch_add_path(join, join->outer->cheapest_total_path, &match);
}
