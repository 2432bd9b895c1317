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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "catalog/pg_type_d.h"
#include "ecp/plan/ecp_plan.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"

static set_join_pathlist_hook_type joined_previous_hook;

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

void
ecp_path_add_loop(PlannerInfo *root, RelOptInfo *joinrel, Path *outer,
				  const EcpMatch *match, List *clauses, Relids outer_relids,
				  JoinPathExtraData *extra)
{
	List	   *order = list_make1(linitial(root->query_pathkeys));
	JoinCostWorkspace workspace;
	Path	   *inner;

	inner = (Path *) create_index_path(root, match->index, clauses,
									   list_make1(match->order),
									   list_make1_int(0), order,
									   ForwardScanDirection, false,
									   bms_copy(outer_relids), 1.0, false);
	ecp_cost_fetch(root, (IndexPath *) inner);
	ecp_initial_cost_nestloop(root, &workspace, JOIN_INNER, outer, inner, extra);
	add_path(joinrel, (Path *)
			 create_nestloop_path(root, joinrel, JOIN_INNER, &workspace, extra,
								  outer, inner, extra->restrictlist, order,
								  NULL));
}

static void
joined_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
			RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	ParamPathInfo *param;
	List	   *matches;
	ListCell   *lc;

	if (joined_previous_hook)
		joined_previous_hook(root, joinrel, outer, inner, type, extra);
	if (type != JOIN_INNER || root->query_pathkeys == NIL ||
		inner->reloptkind != RELOPT_BASEREL || inner->indexlist == NIL ||
		planner_rt_fetch(inner->relid, root)->inh ||
		!bms_is_empty(inner->lateral_relids) ||
		outer->cheapest_total_path == NULL ||
		!bms_is_empty(PATH_REQ_OUTER(outer->cheapest_total_path)) ||
		!joined_is_single(root, outer))
		return;
	param = get_baserel_parampathinfo(root, inner, bms_copy(outer->relids));
	matches = ecp_match_joined(root, inner, outer->relids,
							   param->ppi_clauses);
	foreach(lc, matches)
	{
		const EcpMatch *match = lfirst(lc);

		if (match->order != NULL && match->usable && match->nearest &&
			!ecp_match_is_superseded(match, matches))
			ecp_path_add_loop(root, joinrel, outer->cheapest_total_path, match,
							  match->clauses, match->outer, extra);
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
	return IsA(inner, IndexPath) &&
		ecp_match_is_ours(((const IndexPath *) inner)->indexinfo) &&
		((const IndexPath *) inner)->indexorderbys != NIL;
}

/* Install the hook; called by ecp_path_init(). */
void
ecp_path_joined_init(void)
{
	joined_previous_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = joined_hook;
}
