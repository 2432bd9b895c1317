/*-------------------------------------------------------------------------
 *
 * ecp_path_joined.c
 *	  A query vector that is in a row of another table: "items like this one".
 *
 *	 SELECT ... FROM items i, items x WHERE x.id = 7
 *	 ORDER BY i.v <-> x.v LIMIT 10
 *	 WITH q AS MATERIALIZED (SELECT ... AS v LIMIT 1)
 *	 SELECT ... FROM items i, q ORDER BY i.v <-> q.v LIMIT 10
 *
 * For core the order is that of a join, which no path of one table has.  But if
 * there is one row at most on the other side, a nested loop returns the rows in
 * the order of its inner side, a scan for the nearest of that row's vector.  That
 * there is only one must be certain: a unique index all columns of which are
 * compared with constants, LIMIT 1, an aggregate or nothing in FROM.
 *
 * If there may be several, the nearest pairs are among the nearest rows of each, as
 * many as the query wants in all.  So the scan goes below a LIMIT of its own, and the loop
 * below a sort, also with its outer rows read ahead (ecp_path_batch.c):
 *
 *	 Limit
 *	   ->  Sort											Sort Key: (i.v <-> x.v)
 *			 ->  Nested Loop
 *				   ->  Seq Scan on items x
 *				   ->  Limit
 *						 ->  Index Scan using items_v on items i
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "ecp/plan/ecp_plan.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

/* Does a query return one row at most? */
static bool
joined_query_is_single(PlannerInfo *root, const Query *query)
{
	const Const *limit = (const Const *)
		eval_const_expressions(root, query->limitCount);

	if (query->commandType != CMD_SELECT || query->setOperations != NULL ||
		query->hasTargetSRFs)
		return false;
	if (limit != NULL && IsA(limit, Const) && limit->consttype == INT8OID &&
		!limit->constisnull && DatumGetInt64(limit->constvalue) <= 1 &&
		query->limitOption == LIMIT_OPTION_COUNT)
		return true;
	if (query->groupClause != NIL || query->groupingSets != NIL)
		return false;
	return query->hasAggs || query->jointree->fromlist == NIL;
}

static bool
joined_cte_is_single(PlannerInfo *root, const RangeTblEntry *rte)
{
	ListCell   *lc;

	for (Index up = rte->ctelevelsup; up > 0 && root != NULL; up--)
		root = root->parent_root;
	if (root == NULL)
		return false;
	foreach(lc, root->parse->cteList)
	{
		const CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) == 0)
			return !cte->cterecursive &&
				joined_query_is_single(root, castNode(Query, cte->ctequery));
	}
	return false;
}

/* Does one side of a join return one row at most? */
static bool
joined_is_single(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte;

	if (rel->reloptkind != RELOPT_BASEREL)
		return false;
	rte = planner_rt_fetch(rel->relid, root);
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return !rte->inh && ecp_has_unique_index(root, rel);
		case RTE_SUBQUERY:
			return joined_query_is_single(root, rte->subquery);
		case RTE_CTE:
			return joined_cte_is_single(root, rte);
		case RTE_FUNCTION:
			return list_length(rte->functions) == 1 &&
				!expression_returns_set(linitial_node(RangeTblFunction,
													  rte->functions)->funcexpr);
		case RTE_RESULT:
			return true;
		default:
			return false;
	}
}

Path *
ecp_path_scan(const EcpMatch *match, List *clauses, Relids outer, bool index_only)
{
	List	   *orders = NIL;
	List	   *order_columns = NIL;
	List	   *pathkeys = NIL;
	IndexPath  *path;

	Assert(match->usable && ecp_match_is_ours(match->index));
	if (match->order)
	{
		orders = list_make1(match->order);
		order_columns = list_make1_int(0);
		pathkeys = list_make1(ecp_match_key(match->root));
	}
	path = create_index_path(match->root, match->index, clauses, orders,
							 order_columns, pathkeys, ForwardScanDirection,
							 index_only, bms_copy(outer), 1.0, false);
	ecp_cost_fetch(match->root, path);
	return (Path *) path;
}

void
ecp_path_add_loop(const EcpJoin *join, Path *outer, Path *inner, List *order)
{
	JoinCostWorkspace workspace;
	Path	   *path;

	ecp_initial_cost_nestloop(join->root, &workspace, join->type, outer, inner,
							  join->extra);
	path = (Path *) create_nestloop_path(join->root, join->rel, join->type, &workspace,
										 join->extra, outer, inner,
										 join->extra->restrictlist, order, NULL);
	if (IsA(inner, LimitPath))
		path->rows = Min(path->rows, clamp_row_est(outer->rows * inner->rows));
	add_path(join->rel, path);
}

bool
ecp_path_loop_fits(const EcpJoin *join, RelOptInfo *scan, RelOptInfo *other)
{
	return join->root->query_pathkeys != NIL &&
		scan->reloptkind == RELOPT_BASEREL && scan->indexlist != NIL &&
		!planner_rt_fetch(scan->relid, join->root)->inh &&
		bms_is_empty(scan->lateral_relids) &&
		other->cheapest_total_path != NULL &&
		bms_is_empty(PATH_REQ_OUTER(other->cheapest_total_path));
}

/*
 * Rows that the query wants of all pairs, if each outer row may as well have no more:
 * the pairs are the query's rows, in the order of the distance alone.  Else NULL.
 */
static Node *
joined_limit(const EcpJoin *join)
{
	const PlannerInfo *root = join->root;
	const Query *parse = root->parse;
	const Const *count = (const Const *) parse->limitCount;
	const Const *offset = (const Const *) parse->limitOffset;
	int64		rows;

	if (count == NULL || parse->limitOption != LIMIT_OPTION_COUNT ||
		!ecp_match_is_plain(parse) || parse->hasWindowFuncs || root->rowMarks != NIL ||
		list_length(root->query_pathkeys) != 1 ||
		!bms_is_subset(root->all_baserels, join->rel->relids) ||
		contain_volatile_functions((Node *) count))
		return NULL;
	if (offset == NULL)
		return (Node *) count;
	if (!IsA(count, Const) || !IsA(offset, Const) || count->constisnull ||
		offset->constisnull ||
		pg_add_s64_overflow(DatumGetInt64(count->constvalue),
							DatumGetInt64(offset->constvalue), &rows))
		return NULL;
	return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
							  Int64GetDatum(rows), false, FLOAT8PASSBYVAL);
}

/* Does the inner side of the loop check all conditions of the join? */
static bool
joined_scan_is_filtered(const EcpJoin *join)
{
	Relids		both = bms_union(join->outer->relids, join->inner->relids);
	ListCell   *lc;

	foreach(lc, join->extra->restrictlist)
	{
		if (!join_clause_is_movable_into(lfirst_node(RestrictInfo, lc),
										 join->inner->relids, both))
			return false;
	}
	return true;
}

/* Offer the loops with as many of the nearest for each outer row as the query wants. */
static void
joined_add_limit(const EcpJoin *join, Path *scan, Node *limit)
{
	double		rows = join->root->limit_tuples;
	LimitPath  *inner = create_limit_path(join->root, join->inner, scan, NULL, limit,
										  LIMIT_OPTION_COUNT, 0,
										  rows > 0 ? (int64) rows : -1);

	inner->path.param_info = scan->param_info;
	ecp_path_add_loop(join, join->outer->cheapest_total_path, (Path *) inner, NIL);
	ecp_path_batch_add_limit(join, inner);
}

void
ecp_path_joined_add(const EcpJoin *join)
{
	RelOptInfo *outer = join->outer;
	RelOptInfo *inner = join->inner;
	Node	   *limit = NULL;
	ParamPathInfo *param;
	ListCell   *lc;

	if (join->type != JOIN_INNER || !ecp_path_loop_fits(join, inner, outer))
		return;
	if (!joined_is_single(join->root, outer))
	{
		limit = joined_limit(join);
		if (limit == NULL || !joined_scan_is_filtered(join))
			return;
	}
	param = get_baserel_parampathinfo(join->root, inner, bms_copy(outer->relids));
	foreach(lc, ecp_match_best(ecp_match_joined(join->root, inner, outer->relids,
												param->ppi_clauses), true))
	{
		const EcpMatch *match = lfirst(lc);
		Path	   *scan = ecp_path_scan(match, match->clauses, match->outer, false);

		if (limit)
			joined_add_limit(join, scan, limit);
		else
			ecp_path_add_loop(join, outer->cheapest_total_path, scan,
							  list_make1(linitial(join->root->query_pathkeys)));
	}
}

/* Is it such a nested loop? */
bool
ecp_path_is_joined(const Path *path)
{
	const Path *inner;

	if (!IsA(path, NestPath))
		return false;
	inner = ((const JoinPath *) path)->innerjoinpath;
	return ecp_match_is_scan(inner) && ((const IndexPath *) inner)->indexorderbys != NIL;
}
