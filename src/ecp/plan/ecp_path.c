/*-------------------------------------------------------------------------
 *
 * ecp_path.c
 *	  The paths of ecp indexes.
 *
 * Core would offer scans that no ecp index can do (without an order, by two
 * distances, with a list of radii): it knows only what an access method can
 * do in general, and a cost is no way to refuse, because any other may be
 * higher by the settings.  So the first hook hides our indexes from it, and
 * the second makes all their paths.  The library is loaded whenever there is
 * such an index, because the planner calls its handler.
 *
 * A path has an order by the distance, a radius, or both, and all conditions
 * that the index can check.  Some of these core would not find:
 *
 *	 WHERE v <-> q < r			the rows within a radius: not "column operator
 *								value", but the index can answer it, with
 *								ORDER BY v <-> q LIMIT k
 *	 WHERE tenant IN (1, 2)		before PostgreSQL 17 core gives up the order of
 *								a scan for it, or the condition for the order
 *	 WHERE flag, NOT flag		before 16 core takes a Boolean column for a
 *								condition only with its own access methods
 *
 * Core's paths are charged for the distances that a sort above them computes:
 * those of a table by the second hook, those of a join by the third.
 *
 * The fourth hook is for SELECT id ... ORDER BY v <-> q LIMIT k: core makes
 * the scan compute v <-> q of each row that it returns, which nothing reads.
 *
 * A radius becomes the condition "v <operator> (q, r)" with the operator that
 * the vector's operator family has at strategy 2, whose right side is a row
 * of the query and the radius.  It is lossy: the condition that was asked for
 * is checked again above the scan.  A scan may miss rows within it.  That is
 * what who asks for the nearest rows expects; a query for all rows within a
 * radius is left to other plans, unless ecp.approximate_radius is on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/sysattr.h"
#include "base/compat.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_class.h"
#include "ecp/define/ecp_options.h"
#include "ecp/plan/ecp_cost.h"
#include "ecp/plan/ecp_path.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/geqo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

static get_relation_info_hook_type path_previous_relation_hook;
static set_rel_pathlist_hook_type path_previous_hook;
static join_search_hook_type path_previous_join_hook;
static create_upper_paths_hook_type path_previous_upper_hook;

/* What we know of a scan of one index. */
typedef struct PathMatch
{
	PlannerInfo *root;
	RelOptInfo *rel;
	IndexOptInfo *index;
	Expr	   *order;			/* v <-> q that the query orders by, or NULL */
	Node	   *order_query;	/* its q */
	List	   *clauses;		/* IndexClauses */
	RestrictInfo *radius;		/* v <-> q < r, or NULL */
	bool		null_vector;	/* the query wants rows that are not there */
	bool		nearest;		/* not all rows are asked for */
	bool		all_within;		/* but all within the radius: not in clauses */
	bool		usable;			/* by a scan that answers the query */
} PathMatch;

/*
 * What a path costs more that drops rows which the query asks for: more than
 * any other will, but less than what is switched off (disable_cost).
 */
#define PATH_COST_UNWANTED		5.0e9

/* Can it be compared with the index's column during the scan? */
static bool
path_is_value(const PathMatch *match, Node *node)
{
	return !bms_is_member(match->rel->relid, pull_varnos(match->root, node)) &&
		!contain_volatile_functions(node);
}

/* A distance by which an index orders: of its column from "query". */
typedef struct PathDistance
{
	Node	   *column;
	Node	   *query;			/* does not change during the scan */
	Oid			sortfamily;		/* of the operators that order it */
} PathDistance;

static bool
path_match_distance(const PathMatch *match, Node *node,
					PathDistance *distance)
{
	IndexOptInfo *index = match->index;
	OpExpr	   *op = (OpExpr *) node;
	Oid			opno;

	if (!is_opclause(node) || list_length(op->args) != 2)
		return false;
	opno = op->opno;
	distance->column = linitial(op->args);
	distance->query = lsecond(op->args);
	if (!match_index_to_operand(distance->column, 0, index))
	{
		opno = get_commutator(opno);
		distance->column = lsecond(op->args);
		distance->query = linitial(op->args);
		if (!OidIsValid(opno) ||
			!match_index_to_operand(distance->column, 0, index))
			return false;
	}
	distance->sortfamily = get_op_opfamily_sortfamily(opno,
													  index->opfamily[0]);
	return OidIsValid(distance->sortfamily) &&
		path_is_value(match, distance->query);
}

/*
 * Does the query order by the distance?  What else it orders by is left to an
 * incremental sort.
 */
static void
path_match_order(PathMatch *match)
{
	PathKey    *key;
	EquivalenceMemberIterator it;
	EquivalenceMember *member;

	if (match->root->query_pathkeys == NIL)
		return;
	key = linitial_node(PathKey, match->root->query_pathkeys);
	if (!ecp_pathkey_is_ascending(key) || key->pk_nulls_first ||
		key->pk_eclass->ec_has_volatile)
		return;
	setup_eclass_member_iterator(&it, key->pk_eclass, match->rel->relids);
	while ((member = eclass_member_iterator_next(&it)) != NULL)
	{
		PathDistance distance;
		OpExpr	   *op;

		if (!bms_equal(member->em_relids, match->rel->relids) ||
			!path_match_distance(match, (Node *) member->em_expr, &distance) ||
			distance.sortfamily != key->pk_opfamily)
			continue;

		/* the executor wants the index's column on the left */
		op = (OpExpr *) member->em_expr;
		if (distance.query == linitial(op->args))
		{
			op = copyObject(op);
			CommuteOpExpr(op);
		}
		match->order = (Expr *) op;
		match->order_query = distance.query;
		return;
	}
}

static void
path_add_clause(PathMatch *match, RestrictInfo *rinfo, Expr *derived,
				bool lossy, int column)
{
	IndexClause *clause = makeNode(IndexClause);

	clause->rinfo = rinfo;
	clause->indexquals = list_make1(derived == NULL ? rinfo :
									make_simple_restrictinfo(match->root, derived));
	clause->lossy = lossy;
	clause->indexcol = column;
	clause->indexcols = NIL;
	match->clauses = lappend(match->clauses, clause);
}

/*
 * The operator that the vector's family has for a radius, and the type of its
 * right side; false if it has none.
 */
static bool
path_radius_operator(Oid opfamily, Oid *opno, Oid *type)
{
	CatCList   *list = SearchSysCacheList1(AMOPSTRATEGY,
										   ObjectIdGetDatum(opfamily));
	bool		found = false;

	for (int i = 0; i < list->n_members && !found; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&list->members[i]->tuple);

		if (form->amoppurpose == AMOP_SEARCH &&
			form->amopstrategy == ECP_RADIUS_STRATEGY)
		{
			*opno = form->amopopr;
			*type = form->amoprighttype;
			found = true;
		}
	}
	ReleaseSysCacheList(list);
	return found;
}

/*
 * Is it "distance < r" or the like, of the distance that is ordered by, if
 * any?
 */
static void
path_match_radius(PathMatch *match, RestrictInfo *rinfo)
{
	OpExpr	   *op = (OpExpr *) rinfo->clause;
	PathDistance distance;
	Node	   *node;
	Node	   *radius;
	RowExpr    *ball;
	Oid			left;
	Oid			right;
	Oid			opno;
	Oid			type;
	int			strategy;

	if (match->radius || !is_opclause(op) || list_length(op->args) != 2)
		return;
	op_input_types(op->opno, &left, &right);
	if (left != FLOAT8OID || right != FLOAT8OID)
		return;
	strategy = get_op_opfamily_strategy(op->opno,
										lookup_type_cache(FLOAT8OID,
														  TYPECACHE_BTREE_OPFAMILY)->btree_opf);
	node = linitial(op->args);
	radius = lsecond(op->args);
	if (strategy == BTGreaterStrategyNumber ||
		strategy == BTGreaterEqualStrategyNumber)
	{
		node = lsecond(op->args);
		radius = linitial(op->args);
	}
	else if (strategy != BTLessStrategyNumber &&
			 strategy != BTLessEqualStrategyNumber)
		return;

	if (!path_match_distance(match, node, &distance) ||
		!path_is_value(match, radius) ||
		(match->order && !equal(distance.query, match->order_query)) ||
		!path_radius_operator(match->index->opfamily[0], &opno, &type))
		return;

	match->radius = rinfo;
	if (!match->nearest && !ecp_approximate_radius)
	{
		match->all_within = true;
		return;
	}
	ball = makeNode(RowExpr);
	ball->args = list_make2(distance.query, radius);
	ball->row_typeid = type;
	ball->row_format = COERCE_EXPLICIT_CAST;
	ball->location = -1;
	path_add_clause(match, rinfo,
					make_opclause(opno, BOOLOID, false,
								  (Expr *) distance.column,
								  (Expr *) eval_const_expressions(match->root,
																  (Node *) ball),
								  InvalidOid, InvalidOid),
					true, 0);
}

/*
 * IS NOT NULL of the vector need not be checked again.  Rows of which it is
 * NULL are not in the index.
 */
static void
path_match_null_test(PathMatch *match, RestrictInfo *rinfo)
{
	NullTest   *test = (NullTest *) rinfo->clause;

	if (!IsA(test, NullTest) || test->argisrow ||
		!match_index_to_operand((Node *) test->arg, 0, match->index))
		return;
	if (test->nulltesttype == IS_NULL)
		match->null_vector = true;
	else
		path_add_clause(match, rinfo, NULL, false, 0);
}

/* "column operator value" or "value operator column", of an attribute. */
static bool
path_match_operator(PathMatch *match, RestrictInfo *rinfo, int column)
{
	IndexOptInfo *index = match->index;
	OpExpr	   *op = (OpExpr *) rinfo->clause;
	Oid			opno;
	Node	   *value;
	bool		commuted;		/* by place: "=" is its own commutator */

	if (list_length(op->args) != 2 ||
		index->indexcollations[column] != op->inputcollid)
		return false;
	opno = op->opno;
	value = lsecond(op->args);
	commuted = !match_index_to_operand(linitial(op->args), column, index);
	if (commuted)
	{
		opno = get_commutator(opno);
		value = linitial(op->args);
		if (!OidIsValid(opno) ||
			!match_index_to_operand(lsecond(op->args), column, index))
			return false;
	}
	if (!op_in_opfamily(opno, index->opfamily[column]) ||
		!path_is_value(match, value))
		return false;
	if (commuted)
	{
		op = copyObject(op);
		CommuteOpExpr(op);
		path_add_clause(match, rinfo, (Expr *) op, false, column);
	}
	else
		path_add_clause(match, rinfo, NULL, false, column);
	return true;
}

/* "column = ANY (array)", of an attribute. */
static bool
path_match_array(PathMatch *match, RestrictInfo *rinfo, int column)
{
	IndexOptInfo *index = match->index;
	ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) rinfo->clause;

	if (!op->useOr || index->indexcollations[column] != op->inputcollid ||
		!match_index_to_operand(linitial(op->args), column, index) ||
		!op_in_opfamily(op->opno, index->opfamily[column]) ||
		!path_is_value(match, lsecond(op->args)))
		return false;
	path_add_clause(match, rinfo, NULL, false, column);
	return true;
}

/* "column", "NOT column", "column IS TRUE" or "IS FALSE", of a Boolean. */
static bool
path_match_boolean(PathMatch *match, RestrictInfo *rinfo, int column)
{
	Node	   *node = (Node *) rinfo->clause;
	bool		value = true;

	if (is_notclause(node))
	{
		node = (Node *) get_notclausearg((Expr *) node);
		value = false;
	}
	else if (IsA(node, BooleanTest))
	{
		BooleanTest *test = (BooleanTest *) node;

		if (test->booltesttype != IS_TRUE && test->booltesttype != IS_FALSE)
			return false;
		node = (Node *) test->arg;
		value = test->booltesttype == IS_TRUE;
	}
	if (!op_in_opfamily(BooleanEqualOperator, match->index->opfamily[column]) ||
		!match_index_to_operand(node, column, match->index))
		return false;
	path_add_clause(match, rinfo,
					make_opclause(BooleanEqualOperator, BOOLOID, false,
								  (Expr *) node,
								  (Expr *) makeBoolConst(value, false),
								  InvalidOid, InvalidOid),
					false, column);
	return true;
}

/* A condition on an attribute that the index can check? */
static bool
path_match_attribute(PathMatch *match, RestrictInfo *rinfo, int column)
{
	Node	   *clause = (Node *) rinfo->clause;

	if (is_opclause(clause))
		return path_match_operator(match, rinfo, column);
	if (IsA(clause, ScalarArrayOpExpr))
		return path_match_array(match, rinfo, column);
	if (IsA(clause, NullTest))
	{
		NullTest   *test = (NullTest *) clause;

		if (test->argisrow ||
			!match_index_to_operand((Node *) test->arg, column, match->index))
			return false;
		path_add_clause(match, rinfo, NULL, false, column);
		return true;
	}
	return path_match_boolean(match, rinfo, column);
}

/*
 * Are all columns that the query wants of the table in the index?  As core's
 * check_index_only() decides for the paths that it makes.
 */
static bool
path_is_index_only(const PathMatch *match)
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

/*
 * Does a window function look at no row behind the one that it is of?  (Those
 * that do anyway, as ntile() does, number rows.)
 */
static bool
path_windows_go_forward(const Query *parse)
{
	ListCell   *lc;

	foreach(lc, parse->windowClause)
	{
		const WindowClause *window = lfirst_node(WindowClause, lc);

		if (window->orderClause == NIL ||
			(window->frameOptions & FRAMEOPTION_END_CURRENT_ROW) == 0)
			return false;
	}
	return true;
}

/*
 * Does the query ask for the rows that come first in the order of the scan,
 * by a LIMIT of its own, by that of a query above it, or through a cursor?
 * Else it asks for all of them, and a scan that leaves some out would answer
 * another question.
 */
static bool
path_wants_nearest(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	if (root->tuple_fraction <= 0 || root->sort_pathkeys == NIL ||
		compare_pathkeys(root->query_pathkeys,
						 root->sort_pathkeys) != PATHKEYS_EQUAL ||
		parse->hasAggs || parse->groupClause != NIL ||
		parse->groupingSets != NIL || !path_windows_go_forward(parse))
		return false;

	/* without a LIMIT above it, the planner guesses a fraction for others */
	return parse->limitCount != NULL || root->parent_root == NULL ||
		root->tuple_fraction >= 1;
}

/* The conditions that an index can check, in the order of its columns. */
static void
path_match_clauses(PathMatch *match)
{
	IndexOptInfo *index = match->index;

	for (int column = 0; column < index->nkeycolumns; column++)
	{
		ListCell   *lc;

		foreach(lc, index->indrestrictinfo)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

			if (rinfo->pseudoconstant ||
				!restriction_is_securely_promotable(rinfo, match->rel))
				continue;
			if (column > 0)
				(void) path_match_attribute(match, rinfo, column);
			else
			{
				path_match_radius(match, rinfo);
				path_match_null_test(match, rinfo);
			}
		}
	}
}

/*
 * The query asks for all rows in the order of the distance: does the scan drop
 * some for the order, or stop before it has read them?  A radius is there only
 * if nobody minds.
 */
static bool
path_loses_rows(const PathMatch *match)
{
	return !match->nearest && (match->radius == NULL || match->all_within) &&
		(ecp_iterative_scan != ECP_ITERATIVE_RELAXED ||
		 ecp_max_scan_tuples >= 0);
}

/*
 * Find out what an index can do for the query; false if the query does not
 * even have a distance of its column.
 */
static bool
path_match(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
		   PathMatch *match)
{
	memset(match, 0, sizeof(PathMatch));
	match->root = root;
	match->rel = rel;
	match->index = index;
	path_match_order(match);
	match->nearest = match->order && path_wants_nearest(root);
	path_match_clauses(match);
	match->usable = !match->all_within ||
		(match->order != NULL && !path_loses_rows(match));
	return (match->order != NULL || match->radius != NULL) &&
		!match->null_vector;
}

/* Offer the scan of an index. */
static void
path_add_index(const PathMatch *match)
{
	PlannerInfo *root = match->root;
	RelOptInfo *rel = match->rel;
	IndexOptInfo *index = match->index;
	List	   *orders = NIL;
	List	   *order_columns = NIL;
	List	   *pathkeys = NIL;
	bool		index_only = path_is_index_only(match);
	bool		unwanted = path_loses_rows(match);
	Path	   *path;

	if (match->order)
	{
		orders = list_make1(match->order);
		order_columns = list_make1_int(0);
		pathkeys = list_make1(linitial(root->query_pathkeys));
	}
	path = (Path *) create_index_path(root, index, match->clauses, orders,
									  order_columns, pathkeys,
									  ForwardScanDirection, index_only,
									  bms_copy(rel->lateral_relids), 1.0,
									  false);
	ecp_cost_fetch(root, (IndexPath *) path);
	if (unwanted)
	{
		path->startup_cost += PATH_COST_UNWANTED;
		path->total_cost += PATH_COST_UNWANTED;
	}
	add_path(rel, path);
}

static bool
path_index_is_ours(const IndexOptInfo *index)
{
	return index->amcostestimate == ecpcostestimate;
}

/* Is it a scan of our indexes? */
static bool
path_is_ours(const Path *path)
{
	return IsA(path, IndexPath) &&
		path_index_is_ours(((const IndexPath *) path)->indexinfo);
}

/* Hide our indexes from core, which could not add a path of theirs now. */
static void
path_relation_hook(PlannerInfo *root, Oid relid, bool inhparent,
				   RelOptInfo *rel)
{
	ListCell   *lc;

	if (path_previous_relation_hook)
		path_previous_relation_hook(root, relid, inhparent, rel);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (path_index_is_ours(index))
			index->amhasgettuple = index->amcanorderbyop = false;
	}
}

/*
 * Distances that a path of core's computes for each row that it returns: for
 * the order that row's, for a radius that and those of the rows outside.
 */
static double
path_distances(const PathMatch *match, bool joined)
{
	double		distances = match->order && !joined ? 1 : 0;

	if (match->radius)
		distances += 1 / Max(clause_selectivity(match->root,
												(Node *) match->radius, 0,
												JOIN_INNER, NULL), 1e-3);
	return distances;
}

/*
 * Add to the paths of a table what core does not know of: the distances that
 * their rows need before they can be put in order.  All of them are charged
 * the same for each row, and none becomes better than another by that, so
 * their lists stay as they are.  A table that is joined is charged by
 * path_join_hook() for the order.
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
		const PathMatch *match = lfirst(lc);
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
	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		path->total_cost += ecp_cost_distances(root, &cost, path, most);
	}
	foreach(lc, rel->partial_pathlist)
	{
		Path	   *path = lfirst(lc);

		path->total_cost += ecp_cost_distances(root, &cost, path, most);
	}
}

/*
 * Does another index do the same and check more conditions?  Then it finds the
 * nearest rows more surely, which no cost can express.
 */
static bool
path_is_superseded(const PathMatch *match, List *matches)
{
	List	   *filters = ecp_cost_filters(match->index, match->clauses);
	ListCell   *lc;

	foreach(lc, matches)
	{
		const PathMatch *other = lfirst(lc);
		List	   *others = ecp_cost_filters(other->index, other->clauses);

		if (other->usable && list_length(others) < list_length(filters) &&
			list_difference_ptr(others, filters) == NIL &&
			equal(other->order, match->order))
			return true;
	}
	return false;
}

/* The indexes of a table whose distance the query has. */
static List *
path_match_indexes(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *matches = NIL;
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);
		PathMatch	match;

		if (path_index_is_ours(index) && !index->hypothetical &&
			(index->indpred == NIL || index->predOK) &&
			path_match(root, rel, index, &match))
			matches = lappend(matches, memcpy(palloc(sizeof(PathMatch)), &match,
											  sizeof(PathMatch)));
	}
	return matches;
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
	matches = path_match_indexes(root, rel);
	path_charge_table(root, rel, rte->relid, matches);
	foreach(lc, matches)
	{
		const PathMatch *match = lfirst(lc);

		if (match->usable && !path_is_superseded(match, matches))
			path_add_index(match);
	}
}

/* Is the order of a path, which is the query's, that of one of our scans? */
static bool
path_order_is_ours(Path *path)
{
	while (!path_is_ours(path))
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

/* As path_charge_table(), but paths of a join, and not those in our order. */
static void
path_charge_join(PlannerInfo *root, List *paths, const EcpDistanceCost *cost)
{
	List	   *order = list_make1(linitial(root->query_pathkeys));
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (!pathkeys_contained_in(order, path->pathkeys) ||
			!path_order_is_ours(path))
			path->total_cost += ecp_cost_distances(root, cost, path, 1);
	}
}

/* What the distance costs that a query with joins orders by; false if none. */
static bool
path_order_cost(PlannerInfo *root, EcpDistanceCost *cost)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];
		RangeTblEntry *rte = root->simple_rte_array[i];
		ListCell   *lc;

		if (rel == NULL || rte->rtekind != RTE_RELATION)
			continue;
		foreach(lc, path_match_indexes(root, rel))
		{
			const PathMatch *match = lfirst(lc);

			if (match->order)
			{
				ecp_cost_distance(match->index, rte->relid, cost);
				return true;
			}
		}
	}
	return false;
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
		list_sort(rel->pathlist, path_compare);
		list_sort(rel->partial_pathlist, path_compare);
		set_cheapest(rel);
	}
	return rel;
}

/*
 * Does the query want nothing but the first rows of a scan in its order, and
 * the distance only for that order?  Then *junk is the place of the distance
 * among the columns of the query.
 */
static bool
path_match_junk(PlannerInfo *root, int *junk)
{
	Query	   *parse = root->parse;
	ListCell   *lc;
	int			i = 0;

	if (parse->commandType != CMD_SELECT || parse->rowMarks != NIL ||
		parse->groupClause != NIL || parse->groupingSets != NIL ||
		parse->distinctClause != NIL || parse->setOperations != NULL ||
		parse->hasAggs || parse->hasWindowFuncs || parse->hasTargetSRFs ||
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
 * A path under a LIMIT without the column "junk", or NULL if it is no scan
 * of ours that has the columns of the query.
 */
static Path *
path_without_junk(PlannerInfo *root, Path *path, int junk)
{
	ProjectionPath *projection = (ProjectionPath *) path;
	Path	   *copy;
	PathTarget *target;
	ListCell   *lc;
	Expr	   *expr;

	if (!IsA(path, ProjectionPath) || !path_is_ours(projection->subpath) ||
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
 * query does not return it: a sort would want it.  A scan in the order of an
 * index needs none, and computing it means to read the vector of every row
 * that is returned, often from the TOAST table.
 */
static void
path_upper_hook(PlannerInfo *root, UpperRelationKind stage,
				RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	ListCell   *lc;
	int			junk;

	if (path_previous_upper_hook)
		path_previous_upper_hook(root, stage, input_rel, output_rel, extra);
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

void
ecp_path_init(void)
{
	path_previous_relation_hook = get_relation_info_hook;
	get_relation_info_hook = path_relation_hook;
	path_previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = path_hook;
	path_previous_join_hook = join_search_hook;
	join_search_hook = path_join_hook;
	path_previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = path_upper_hook;
}
