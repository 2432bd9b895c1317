/*-------------------------------------------------------------------------
 *
 * ecp_path.c
 *	  The paths of ecp indexes.
 *
 * Core would offer scans that no ecp index can do (without an order, by two
 * distances, with a list of radii): it knows only what an access method can
 * do in general, and a high cost does not prevent them, since others can be
 * higher by the settings.  So the first hook hides our indexes from core, and
 * the second makes all their paths, of what ecp_match.c finds.  The library is
 * loaded whenever there is such an index, because the planner calls its handler.
 *
 * Core's paths are charged for the distances that a sort above them computes:
 * those of a table by the second hook, those of a join by the fourth; the third
 * offers the nested loops of ecp_path_joined.c, ecp_path_batch.c and ecp_path_list.c.
 *
 * The last hook is for SELECT id ... ORDER BY v <-> q LIMIT k: core makes
 * the scan compute v <-> q of each row that it returns, which nothing reads.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "base/compat.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/plan/ecp_plan.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"

static EcpRelationHook path_previous_relation_hook;
static set_rel_pathlist_hook_type path_previous_hook;
static set_join_pathlist_hook_type path_previous_pair_hook;
static join_search_hook_type path_previous_join_hook;
static create_upper_paths_hook_type path_previous_upper_hook;

/*
 * Are all columns of the table that the query needs in the index?  As in core's
 * check_index_only().
 */
static bool
path_is_index_only(const EcpMatch *match)
{
	IndexOptInfo *index = match->index;
	Bitmapset  *wanted = NULL;
	Bitmapset  *returned = NULL;
	ListCell   *lc;

	if (!enable_indexonlyscan)
		return false;
	pull_varattnos((Node *) match->rel->reltarget->exprs, match->rel->relid,
				   &wanted);
	foreach(lc, index->indrestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause,
					   match->rel->relid, &wanted);
	for (int i = 0; i < index->ncolumns; i++)
	{
		if (index->indexkeys[i] != 0 && index->canreturn[i])
			returned = bms_add_member(returned, index->indexkeys[i] -
									  FirstLowInvalidHeapAttributeNumber);
	}
	return bms_is_subset(wanted, returned);
}

/* Offer the scan of an index. */
static void
path_add_index(const EcpMatch *match)
{
	Path	   *path = ecp_path_scan(match, match->clauses, match->rel->lateral_relids,
									 path_is_index_only(match));

	if (match->loses_rows)
		path->startup_cost += ECP_COST_UNWANTED;
	if (match->loses_rows ||
		(match->order != NULL && ecp_match_numbered(match->root) != NULL))
		path->total_cost += ECP_COST_UNWANTED;
	add_path(match->rel, path);
}

/*
 * Hide our indexes from core, so that it makes no paths of them; and from a statement of
 * ours all but its own.
 */
static void
path_relation_hook(ECP_RELATION_HOOK_ARGS)
{
	const EcpKnnStatement *statement = ecp_knn_statement_planned;
	ListCell   *lc;

	if (path_previous_relation_hook)
		path_previous_relation_hook(ECP_RELATION_HOOK_PASSED);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (!ecp_match_is_ours(index))
			continue;
		index->amhasgettuple = index->amcanorderbyop = false;
		if (statement != NULL &&
			index->indexoid != RelationGetRelid(statement->index) &&
			list_member_oid(statement->indexes, index->indexoid))
			rel->indexlist = foreach_delete_current(rel->indexlist, lc);
	}
}

/*
 * Distances that a path of core computes for each row that it returns: one for
 * the order; for a radius also those of the rows outside it.
 */
static double
path_distances(const EcpMatch *match, bool joined)
{
	double		distances = match->order && !joined ? 1 : 0;

	Assert(match->order != NULL || match->radius != NULL);
	if (match->radius)
		distances += 1 / Max(clause_selectivity(match->root,
												(Node *) match->radius, 0,
												JOIN_INNER, NULL), 1e-3);
	return distances;
}

/*
 * Add to the paths of a table the cost of computing the distances of their
 * rows, which core does not know.  All are charged the same for each row, so
 * the order of the lists does not change.  path_join_hook() charges a table that
 * is joined for the order.
 */
static void
path_charge_table(PlannerInfo *root, RelOptInfo *rel, Oid relid, List *matches)
{
	bool		joined = bms_membership(root->all_baserels) == BMS_MULTIPLE;
	const IndexOptInfo *index = NULL;
	EcpDistanceCost cost;
	double		most = 0;
	ListCell   *lc;

	foreach(lc, matches)
	{
		const EcpMatch *match = lfirst(lc);
		double		distances = path_distances(match, joined);

		if (distances > most)
		{
			most = distances;
			index = match->index;
		}
	}
	if (index == NULL)
		return;
	ecp_cost_distance(index, relid, &cost);
	foreach(lc, list_concat_copy(rel->pathlist, rel->partial_pathlist))
	{
		Path	   *path = lfirst(lc);

		path->total_cost += ecp_cost_distances(root, &cost, path, most);
	}
}

/* Change the number of rows that a table returns, and its paths with it. */
static void
path_set_rows(RelOptInfo *rel, double rows)
{
	double		change = rows / rel->rows;
	ListCell   *lc;

	rel->rows = rows;
	foreach(lc, list_concat_copy(rel->pathlist, rel->partial_pathlist))
	{
		Path	   *path = lfirst(lc);

		path->rows = clamp_row_est(path->rows * change);
	}
	foreach(lc, rel->ppilist)
	{
		ParamPathInfo *param = lfirst(lc);

		param->ppi_rows = clamp_row_est(param->ppi_rows * change);
	}
}

/*
 * Estimate the rows within a radius, for which core took a third of all.  Row
 * security forbids that, as for core's statistics: the estimate tells of rows that
 * the user may not see.
 */
static void
path_estimate_radius(PlannerInfo *root, RelOptInfo *rel, List *matches)
{
	ListCell   *lc;

	foreach(lc, matches)
	{
		const EcpMatch *match = lfirst(lc);
		double		share;

		if (match->radius == NULL || match->index->indpred != NIL ||
			root->qual_security_level > 0)
			continue;
		share = ecp_radius_share(match);
		if (share < 0)
			continue;
		match->radius->norm_selec = match->radius->outer_selec = share;
		path_set_rows(rel,
					  clamp_row_est(rel->tuples *
									clauselist_selectivity(root,
														   rel->baserestrictinfo,
														   0, JOIN_INNER, NULL)));
		return;
	}
}

/* The rows of a partitioned table, after those of its partitions have changed. */
static void
path_sum_partitions(PlannerInfo *root, RelOptInfo *rel, Index rti)
{
	double		rows = 0;
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		RelOptInfo *child = root->simple_rel_array[info->child_relid];

		if (info->parent_relid == rti && child != NULL && !IS_DUMMY_REL(child))
			rows += child->rows;
	}
	if (rows > 0)
		rel->rows = clamp_row_est(rows);
}

static void
path_hook(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	List	   *matches;
	ListCell   *lc;

	if (path_previous_hook)
		path_previous_hook(root, rel, rti, rte);
	if (rte->rtekind != RTE_RELATION || IS_DUMMY_REL(rel))
		return;
	if (rte->inh)
		path_sum_partitions(root, rel, rti);
	matches = ecp_match_indexes(root, rel);
	path_estimate_radius(root, rel, matches);
	path_charge_table(root, rel, rte->relid, matches);
	foreach(lc, ecp_match_best(matches, false))
		path_add_index(lfirst(lc));
}

/* Does the order of a path, which is that of the query, come from our scan? */
static bool
path_order_is_ours(Path *path)
{
	while (!ecp_match_is_scan(path) && !ecp_path_is_joined(path))
	{
		switch (nodeTag(path))
		{
			case T_NestPath:
				path = ((JoinPath *) path)->outerjoinpath;
				break;
			case T_GatherMergePath:
				path = ((GatherMergePath *) path)->subpath;
				break;
			case T_ProjectionPath:
				path = ((ProjectionPath *) path)->subpath;
				break;
			case T_AppendPath:
				path = linitial(((AppendPath *) path)->subpaths);
				break;
			case T_MergeAppendPath:
				path = linitial(((MergeAppendPath *) path)->subpaths);
				break;
			default:
				return false;
		}
	}
	return true;
}

/* As path_charge_table(), for paths of a join that are not in our order. */
static void
path_charge_join(PlannerInfo *root, List *paths, const EcpDistanceCost *cost)
{
	List	   *order = list_make1(linitial(root->query_pathkeys));
	ListCell   *lc;

	Assert(root->query_pathkeys != NIL);
	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (!pathkeys_contained_in(order, path->pathkeys) ||
			!path_order_is_ours(path))
			path->total_cost += ecp_cost_distances(root, cost, path, 1);
	}
}

/*
 * Cost of the distance that a query with joins orders by, from a value or from
 * other tables' rows; false if none.
 */
static bool
path_order_cost(PlannerInfo *root, EcpDistanceCost *cost)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];
		RangeTblEntry *rte = root->simple_rte_array[i];
		List	   *matches;
		Relids		others;
		ListCell   *lc;

		if (rel == NULL || rte->rtekind != RTE_RELATION)
			continue;
		matches = ecp_match_indexes(root, rel);
		others = bms_difference(root->all_baserels, rel->relids);
		if (rel->reloptkind == RELOPT_BASEREL && !bms_is_empty(others))
			matches = list_concat(matches,
								  ecp_match_joined(root, rel, others, NIL));
		foreach(lc, matches)
		{
			const EcpMatch *match = lfirst(lc);

			if (match->order)
			{
				ecp_cost_distance(match->index, rte->relid, cost);
				return true;
			}
		}
	}
	return false;
}

/*
 * A join above a scan of ours drops rows that a list leaves out of the scan: it finds
 * fewer of the nearest, which no cost can express (match_is_superseded()).  It is
 * offered beside a list only if it is over before that is read.
 */
static void
path_charge_unlisted(PlannerInfo *root, List *paths)
{
	const Path *list = NULL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		if (list == NULL)
			list = ecp_path_list_of(lfirst(lc));
	}
	foreach(lc, list == NULL ? NIL : paths)
	{
		Path	   *path = lfirst(lc);
		double		share = Min(Max(root->limit_tuples, 0) / path->rows, 1);

		if (path->pathkeys == NIL || ecp_path_list_of(path) != NULL ||
			!path_order_is_ours(path) ||
			path->startup_cost + share * (path->total_cost - path->startup_cost) <
			list->total_cost)
			continue;
		path->startup_cost += ECP_COST_UNWANTED;
		path->total_cost += ECP_COST_UNWANTED;
	}
}

/* Core calls it for either side as the outer one. */
static void
path_pair_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer,
			   RelOptInfo *inner, JoinType type, JoinPathExtraData *extra)
{
	EcpJoin		join = {root, joinrel, outer, inner, type, extra};

	if (path_previous_pair_hook)
		path_previous_pair_hook(root, joinrel, outer, inner, type, extra);
	ecp_path_joined_add(&join);
	ecp_path_batch_add(&join);
	ecp_path_list_add(&join);
}

static int
path_compare(const ListCell *a, const ListCell *b)
{
	return compare_path_costs(lfirst(a), lfirst(b), TOTAL_COST);
}

/* A sort above joins computes the distances of the rows that they return. */
static RelOptInfo *
path_join_hook(PlannerInfo *root, int levels_needed, List *initial_rels)
{
	RelOptInfo *rel;
	EcpDistanceCost cost;

	if (path_previous_join_hook)
		rel = path_previous_join_hook(root, levels_needed, initial_rels);
	else if (enable_geqo && levels_needed >= geqo_threshold)
		rel = geqo(root, levels_needed, initial_rels);
	else
		rel = standard_join_search(root, levels_needed, initial_rels);

	if (root->query_pathkeys == NIL || IS_DUMMY_REL(rel) ||
		!bms_is_subset(root->all_baserels, rel->relids))
		return rel;
	if (path_order_cost(root, &cost))
	{
		path_charge_join(root, rel->pathlist, &cost);
		path_charge_join(root, rel->partial_pathlist, &cost);
		path_charge_unlisted(root, rel->pathlist);
		list_sort(rel->pathlist, path_compare);
		list_sort(rel->partial_pathlist, path_compare);
		set_cheapest(rel);
	}
	return rel;
}

/*
 * Does the query only want the first rows in its order, and the distance only
 * for that order?  Then *junk is the place of the distance among the columns of
 * the query.
 */
static bool
path_match_junk(PlannerInfo *root, int *junk)
{
	Query	   *parse = root->parse;
	ListCell   *lc;
	int			i = 0;

	if (!ecp_match_is_plain(parse) || parse->rowMarks != NIL || parse->hasWindowFuncs ||
		parse->limitOption != LIMIT_OPTION_COUNT ||
		list_length(parse->sortClause) != 1)
		return false;
	foreach(lc, root->processed_tlist)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->ressortgroupref ==
			linitial_node(SortGroupClause, parse->sortClause)->tleSortGroupRef)
		{
			*junk = i;
			return tle->resjunk;
		}
		i++;
	}
	return false;
}

/*
 * A path under a LIMIT without the column "junk", or NULL if it is not one of
 * our scans with the columns of the query.
 */
static Path *
path_without_junk(PlannerInfo *root, Path *path, int junk)
{
	ProjectionPath *projection = (ProjectionPath *) path;
	Path	   *copy;
	PathTarget *target;
	ListCell   *lc;
	Expr	   *expr;

	Assert(junk >= 0 && junk < list_length(root->processed_tlist));
	if (!IsA(path, ProjectionPath) || !ecp_match_is_scan(projection->subpath) ||
		projection->subpath->pathtype != T_IndexScan ||
		((IndexPath *) projection->subpath)->indexorderbys == NIL ||
		list_length(path->pathtarget->exprs) !=
		list_length(root->processed_tlist))
		return NULL;
	lc = list_nth_cell(path->pathtarget->exprs, junk);
	expr = lfirst(lc);
	if (!equal(expr, list_nth_node(TargetEntry, root->processed_tlist,
								   junk)->expr))
		return NULL;

	target = copy_pathtarget(path->pathtarget);
	lfirst(list_nth_cell(target->exprs, junk)) =
		makeNullConst(exprType((Node *) expr), -1, exprCollation((Node *) expr));
	copy = (Path *) makeNode(ProjectionPath);
	memcpy(copy, path, sizeof(ProjectionPath));
	copy->pathtarget = target;
	return copy;
}

/*
 * The distance that a query orders by is a column of its plan even if the
 * query does not return it, because a sort needs it.  A scan in the order of an
 * index does not, and to compute it the vector of every row returned has to be
 * read, often from the TOAST table.
 */
static void
path_upper_hook(PlannerInfo *root, UpperRelationKind stage,
				RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	ListCell   *lc;
	int			junk;

	if (path_previous_upper_hook)
		path_previous_upper_hook(root, stage, input_rel, output_rel, extra);
	if (stage == UPPERREL_WINDOW)
		ecp_path_number_add(root, input_rel, output_rel);
	if (stage != UPPERREL_FINAL || !path_match_junk(root, &junk))
		return;
	foreach(lc, output_rel->pathlist)
	{
		LimitPath  *limit = lfirst(lc);
		Path	   *subpath;

		if (!IsA(limit, LimitPath))
			continue;
		subpath = path_without_junk(root, limit->subpath, junk);
		if (subpath != NULL)
		{
			limit->subpath = subpath;
			limit->path.pathtarget = subpath->pathtarget;
		}
	}
}

/* Install the hooks; called by _PG_init(). */
void
ecp_path_init(void)
{
	path_previous_relation_hook = ecp_relation_hook;
	ecp_relation_hook = path_relation_hook;
	path_previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = path_hook;
	path_previous_pair_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = path_pair_hook;
	path_previous_join_hook = join_search_hook;
	join_search_hook = path_join_hook;
	path_previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = path_upper_hook;
	ecp_path_list_init();
	ecp_path_number_init();
	ecp_batch_node_init();
}
