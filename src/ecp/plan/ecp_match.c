/*-------------------------------------------------------------------------
 *
 * ecp_match.c
 *	  What an ecp index can do for a query: the order by the distance, a radius,
 *	  or both, and the conditions that the index can check.
 *
 * Some of the conditions core would not find:
 *
 *	 WHERE v <-> q < r			the rows within a radius: not "column operator
 *								value", but the index can answer it, with
 *								ORDER BY v <-> q LIMIT k
 *	 WHERE tenant IN (1, 2)		before PostgreSQL 17 core gives up the order of
 *								a scan for it, or the condition for the order
 *	 WHERE flag, NOT flag		before 16 core takes a Boolean column for a
 *								condition only with its own access methods
 *	 WHERE 7 = ANY (tags)		which is "tags && ARRAY[7]"
 *
 * What rises or falls with a distance orders and limits as the distance does
 * (ecp_monotone.c).  Conditions on key columns that scan keys cannot say are
 * ecp_condition.c's.
 *
 * A radius becomes the condition "v <operator> (q, r)" with the operator that
 * the operator family of the vector has at strategy 2, whose right side is a
 * row of the query and the radius.  It is lossy: the original condition is
 * checked again above the scan.  Clients whose parameters have no numbers ("?")
 * send the query twice: then the scan compares both, and a radius around another
 * vector than that of the order is no radius to it.  A scan can miss rows within
 * the radius, which is acceptable where the nearest rows are wanted; a query for
 * all rows within a radius is left to other plans, unless ecp.approximate_radius
 * is on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "base/compat.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_define.h"
#include "ecp/plan/ecp_plan.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* More than rounding can make of a distance of 0. */
#define MATCH_DIVISOR_MIN	1e-3

/* More than the share that casts between numeric and float8, of 15 digits, change. */
#define MATCH_NUMERIC_ROUNDING	1e-14

bool
ecp_match_is_ours(const IndexOptInfo *index)
{
	return index->amcostestimate == ecpcostestimate;
}

bool
ecp_match_is_scan(const Path *path)
{
	return IsA(path, IndexPath) &&
		ecp_match_is_ours(((const IndexPath *) path)->indexinfo);
}

int
ecp_match_class(const IndexOptInfo *index, int column)
{
	Oid			function = get_opfamily_proc(index->opfamily[column],
											 index->opcintype[column],
											 index->opcintype[column],
											 ECP_CLASS_PROC);

	Assert(column >= 0 && column < index->nkeycolumns);
	Assert(OidIsValid(function));
	return DatumGetInt32(OidFunctionCall1(function, PointerGetDatum(NULL)));
}

bool
ecp_match_is_value(const EcpMatch *match, Node *node)
{
	return !bms_is_member(match->rel->relid, pull_varnos(match->root, node)) &&
		!contain_volatile_functions(node);
}

/* The family by which the elements of a type's values are hashed, if it has any. */
static Oid
match_hash_family(Oid type)
{
	Oid			element = get_base_element_type(type);

	return OidIsValid(element) ?
		lookup_type_cache(element, TYPECACHE_HASH_OPFAMILY)->hash_opf : InvalidOid;
}

/*
 * An array may be a column under the name of another type, whose equality is not that
 * of the elements that the index has hashed (text[] and citext[]).
 */
bool
ecp_match_is_column(const EcpMatch *match, Node *node, int column)
{
	if (!match_index_to_operand(node, column, match->index))
		return false;
	return !IsA(node, RelabelType) ||
		match_hash_family(exprType(node)) ==
		match_hash_family(exprType((Node *) ((RelabelType *) node)->arg));
}

/* By place: "=" is its own commutator. */
Expr *
ecp_match_operator(const EcpMatch *match, OpExpr *op, int column)
{
	bool		commuted;

	Assert(column >= 0 && column < match->index->nkeycolumns);
	if (list_length(op->args) != 2)
		return NULL;
	commuted = !ecp_match_is_column(match, linitial(op->args), column);
	if (!ecp_match_is_value(match, commuted ? linitial(op->args) : lsecond(op->args)) ||
		(commuted && (!ecp_match_is_column(match, lsecond(op->args), column) ||
					  !OidIsValid(get_commutator(op->opno)))))
		return NULL;
	if (commuted)
	{
		op = copyObject(op);
		CommuteOpExpr(op);
	}
	return (Expr *) op;
}

/* A distance of the index's column: "column operator query". */
typedef struct MatchDistance
{
	Oid			opno;
	Node	   *column;
	Node	   *query;			/* does not change during the scan */
	Oid			sortfamily;		/* of the operators that order it */
} MatchDistance;

/* If the expression is a cast of the index's vector, the vector; or NULL. */
static Node *
match_cast(const EcpMatch *match, Node *node)
{
	Node	   *arg = NULL;

	if (IsA(node, ArrayCoerceExpr))
		arg = (Node *) ((ArrayCoerceExpr *) node)->arg;
	else if (IsA(node, FuncExpr) &&
			 (((FuncExpr *) node)->funcformat == COERCE_IMPLICIT_CAST ||
			  ((FuncExpr *) node)->funcformat == COERCE_EXPLICIT_CAST))
		arg = linitial(((FuncExpr *) node)->args);
	return arg && match_index_to_operand(arg, 0, match->index) ? arg : NULL;
}

/*
 * Match the distance between the column, cast to another type of the operator
 * family, and a value of that type: it is the distance between the column and
 * the value as one of the column's type.  See ecp_class.c.
 */
static bool
match_cast_distance(const EcpMatch *match, const OpExpr *op,
					MatchDistance *distance)
{
	Oid			family = match->index->opfamily[0];
	Oid			type = match->index->opcintype[0];
	Oid			other;
	Oid			convert;
	Node	   *value = lsecond(op->args);

	distance->column = match_cast(match, linitial(op->args));
	if (distance->column == NULL)
	{
		distance->column = match_cast(match, lsecond(op->args));
		value = linitial(op->args);
	}
	if (distance->column == NULL || !ecp_match_is_value(match, value))
		return false;
	other = exprType(value);
	convert = get_opfamily_proc(family, other, type, ECP_CONVERT_PROC);
	if (!OidIsValid(convert) ||
		get_opfamily_member(family, other, other,
							ECP_DISTANCE_STRATEGY) != op->opno)
		return false;
	distance->opno = get_opfamily_member(family, type, type,
										 ECP_DISTANCE_STRATEGY);
	distance->query = eval_const_expressions(match->root,
											 (Node *) makeFuncExpr(convert, type,
																   list_make1(value),
																   InvalidOid, InvalidOid,
																   COERCE_EXPLICIT_CALL));
	return OidIsValid(distance->opno);
}

static bool
match_distance(const EcpMatch *match, Node *node, MatchDistance *distance)
{
	OpExpr	   *op;

	if (!is_opclause(node) || list_length(((OpExpr *) node)->args) != 2)
		return false;
	op = (OpExpr *) ecp_match_operator(match, (OpExpr *) node, 0);
	if (op != NULL)
	{
		distance->opno = op->opno;
		distance->column = linitial(op->args);
		distance->query = lsecond(op->args);
	}
	else if (!match_cast_distance(match, (OpExpr *) node, distance))
		return false;
	distance->sortfamily =
		get_op_opfamily_sortfamily(distance->opno, match->index->opfamily[0]);
	return OidIsValid(distance->sortfamily);
}

/*
 * Match an expression that rises or, then *falls, falls with a distance.  If
 * "bound" is not NULL, *bound limits the expression from above or below, and
 * becomes the bound of the distance, or NULL.  What a number is divided by may be a
 * sum of a distance and a positive number, which has no pole.
 */
static bool
match_function(const EcpMatch *match, Node *node, MatchDistance *distance,
			   bool *falls, Node **bound, bool above)
{
	EcpMonotoneStep step;
	bool		divides = false;
	float8		least = 0;

	*falls = false;
	while (!match_distance(match, node, distance))
	{
		if (!ecp_monotone_step(match->root, match->rel->relid, node, &step) ||
			(divides && step.kind != ECP_MONOTONE_PLUS))
			return false;
		if (bound != NULL && *bound != NULL)
			*bound = ecp_monotone_bound(&step, *bound, above != *falls);
		*falls ^= step.falls;
		if (divides)
			least += step.number;
		divides |= step.kind == ECP_MONOTONE_INTO;
		node = step.argument;
	}
	/* a distance is not negative, but for rounding; an inner product can be */
	return !divides || (least > MATCH_DIVISOR_MIN &&
						EcpClassMetric(ecp_match_class(match->index, 0)) != ECP_METRIC_IP);
}

/* Does the catalog say that a column is NOT NULL? */
static bool
match_catalog_not_null(Oid relid, AttrNumber attno)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										Int16GetDatum(attno));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Has no row of the query NULL as its vector?  By the column's definition, or
 * by a condition: IS NOT NULL, or a bound of what depends on a distance.
 */
static bool
match_not_null(const EcpMatch *match)
{
	const RangeTblEntry *rte = match->root->simple_rte_array[match->rel->relid];
	int			column = match->index->indexkeys[0];
	ListCell   *lc;

	if (column > 0 &&
		ecp_column_is_not_null(match->rel, column, rte->relid,
							   match_catalog_not_null))
		return true;
	foreach(lc, match->rel->baserestrictinfo)
	{
		Node	   *clause = (Node *) lfirst_node(RestrictInfo, lc)->clause;
		NullTest   *test = (NullTest *) clause;
		OpExpr	   *op = (OpExpr *) clause;
		MatchDistance distance;
		bool		falls;

		if (IsA(clause, NullTest) && test->nulltesttype == IS_NOT_NULL &&
			!test->argisrow &&
			match_index_to_operand((Node *) test->arg, 0, match->index))
			return true;
		if (is_opclause(clause) && list_length(op->args) == 2 &&
			op_strict(op->opno) &&
			(match_function(match, linitial(op->args), &distance, &falls, NULL, false) ||
			 match_function(match, lsecond(op->args), &distance, &falls, NULL, false)))
			return true;
	}
	return false;
}

/*
 * Is the last of the orders of a window the one that the query around it has alone, by
 * a column of this query?
 */
static bool
match_is_outer_order(const PlannerInfo *root, const WindowClause *window)
{
	const PlannerInfo *outer = root->parent_root;
	const PathKey *key = llast_node(PathKey, root->window_pathkeys);
	const PathKey *wanted = linitial_node(PathKey, outer->query_pathkeys);
	const Node *order = get_sortgroupclause_expr(linitial(window->orderClause),
												 root->processed_tlist);
	ListCell   *lc;

	if (wanted->pk_opfamily != key->pk_opfamily ||
		ecp_pathkey_is_ascending(wanted) != ecp_pathkey_is_ascending(key) ||
		wanted->pk_nulls_first != key->pk_nulls_first)
		return false;
	foreach(lc, wanted->pk_eclass->ec_members)
	{
		const Var  *var = (const Var *) lfirst_node(EquivalenceMember, lc)->em_expr;

		if (IsA(var, Var) && var->varattno > 0 && var->varlevelsup == 0 &&
			outer->simple_rte_array[var->varno]->rtekind == RTE_SUBQUERY &&
			equal(get_tle_by_resno(root->processed_tlist, var->varattno)->expr, order))
			return true;
	}
	return false;
}

/* Is the query, of the one table, its rows and their numbers in groups by one column? */
static bool
match_is_numbered(const PlannerInfo *root)
{
	const Query *parse = root->parse;
	const WindowClause *window = parse->windowClause == NIL ? NULL :
		linitial_node(WindowClause, parse->windowClause);
	ListCell   *lc;

	if (window == NULL || list_length(parse->windowClause) != 1 ||
		list_length(window->partitionClause) != 1 ||
		list_length(window->orderClause) != 1 ||
		list_length(root->window_pathkeys) != 2 || !ecp_match_is_plain(parse) ||
		parse->sortClause != NIL || parse->limitCount != NULL ||
		parse->limitOffset != NULL || bms_membership(root->all_baserels) != BMS_SINGLETON)
		return false;
	foreach(lc, pull_var_clause((Node *) root->processed_tlist, PVC_INCLUDE_WINDOWFUNCS |
								PVC_INCLUDE_PLACEHOLDERS))
	{
		const WindowFunc *function = lfirst(lc);

		if (IsA(function, WindowFunc) &&
			(function->winfnoid != F_ROW_NUMBER || function->aggfilter != NULL))
			return false;
	}
	return true;
}

const WindowClause *
ecp_match_numbered(const PlannerInfo *root)
{
	const PlannerInfo *outer = root->parent_root;
	const WindowClause *window;

	if (outer == NULL || !match_is_numbered(root) || !ecp_match_is_plain(outer->parse) ||
		outer->parse->limitCount == NULL || outer->parse->hasWindowFuncs ||
		outer->query_pathkeys == NIL ||
		bms_membership(outer->all_baserels) != BMS_SINGLETON)
		return NULL;
	window = linitial_node(WindowClause, root->parse->windowClause);
	return match_is_outer_order(root, window) ? window : NULL;
}

PathKey *
ecp_match_key(const PlannerInfo *root)
{
	if (root->query_pathkeys == NIL)
		return NULL;
	return ecp_match_numbered(root) == NULL ? linitial_node(PathKey, root->query_pathkeys) :
		llast_node(PathKey, root->window_pathkeys);
}

/*
 * Is what belongs to these tables an order of ours: of our rows, or, for one row of
 * others, of ours and these?
 */
static bool
match_is_of_order(const EcpMatch *match, Relids relids)
{
	if (match->outer == NULL)
		return bms_equal(relids, match->rel->relids);
	return bms_is_member(match->rel->relid, relids) &&
		bms_overlap(relids, match->outer) &&
		bms_is_subset(relids, bms_union(match->rel->relids, match->outer));
}

/*
 * Does the query order by the distance, or by what rises or falls with it?
 * Further columns of its order are left to an incremental sort.  Rows whose vector
 * is NULL are not in the index, and those of length 0, whose cosine distance is NaN.
 * The former must come last, where the index is read no further than to them, or
 * there must be none; the latter are in no answer, whether they would come last,
 * or first, as by "1 - (v <=> q) DESC".
 */
static void
match_order(EcpMatch *match)
{
	PathKey    *key;
	EquivalenceMemberIterator it;
	EquivalenceMember *member;

	key = ecp_match_key(match->root);
	if (key == NULL || key->pk_eclass->ec_has_volatile)
		return;
	setup_eclass_member_iterator(&it, key->pk_eclass, match->rel->relids);
	while ((member = eclass_member_iterator_next(&it)) != NULL)
	{
		MatchDistance distance;
		bool		falls;

		if (!match_is_of_order(match, member->em_relids) ||
			!match_function(match, (Node *) member->em_expr, &distance, &falls,
							NULL, false) ||
			distance.sortfamily != key->pk_opfamily ||
			ecp_pathkey_is_ascending(key) == falls ||
			(key->pk_nulls_first && !match_not_null(match)))
			continue;

		/* the executor wants the index's column on the left */
		match->order = make_opclause(distance.opno, FLOAT8OID, false,
									 (Expr *) distance.column,
									 (Expr *) distance.query,
									 InvalidOid, InvalidOid);
		match->order_query = distance.query;
		return;
	}
}

/* Add a condition; the index checks those derived from it, or, if there are none, itself. */
static void
match_add_clause(EcpMatch *match, RestrictInfo *rinfo, List *derived,
				 bool lossy, int column)
{
	IndexClause *clause = makeNode(IndexClause);
	ListCell   *lc;

	Assert(column >= 0 && column < match->index->nkeycolumns);
	clause->rinfo = rinfo;
	foreach(lc, derived)
		clause->indexquals = lappend(clause->indexquals,
									 make_simple_restrictinfo(match->root, lfirst(lc)));
	if (derived == NIL)
		clause->indexquals = list_make1(rinfo);
	clause->lossy = lossy;
	clause->indexcol = column;
	clause->indexcols = NIL;
	match->clauses = lappend(match->clauses, clause);
}

/*
 * Find the operator for a radius in the operator family of the vector, and the
 * type of its right side; false if there is none.
 */
static bool
match_radius_operator(const IndexOptInfo *index, Oid *opno, Oid *type)
{
	CatCList   *list = SearchSysCacheList1(AMOPSTRATEGY,
										   ObjectIdGetDatum(index->opfamily[0]));
	bool		found = false;

	for (int i = 0; i < list->n_members && !found; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&list->members[i]->tuple);

		if (form->amoppurpose == AMOP_SEARCH &&
			form->amopstrategy == ECP_RADIUS_STRATEGY &&
			form->amoplefttype == index->opcintype[0])
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
 * A number as a float: of type numeric only if it is known, since the cast of
 * others could overflow, and widened by more than its rounding, and that of the
 * distance's cast, can be.  NULL if it is none.
 */
static Node *
match_number(const EcpMatch *match, Node *node, bool above)
{
	const Const *number;
	float8		value;

	if (exprType(node) == FLOAT8OID)
		return node;
	number = (const Const *) eval_const_expressions(match->root, node);
	if (exprType(node) != NUMERICOID || !IsA(number, Const) ||
		number->constisnull)
		return NULL;
	value = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											   number->constvalue));
	if (!isinf(value))
		value += fabs(value) * (above ? -MATCH_NUMERIC_ROUNDING :
								MATCH_NUMERIC_ROUNDING);
	return (Node *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
							  Float8GetDatum(value), false, FLOAT8PASSBYVAL);
}

/* Which order of numbers is "op", "<" or the like, by B-tree strategy?  0 if none. */
static int
match_number_order(const OpExpr *op)
{
	Oid			left;
	Oid			right;
	int			strategy;

	op_input_types(op->opno, &left, &right);
	if (left != right || (left != FLOAT8OID && left != NUMERICOID))
		return 0;
	strategy = get_op_opfamily_strategy(op->opno,
										lookup_type_cache(left,
														  TYPECACHE_BTREE_OPFAMILY)->btree_opf);
	return strategy == BTEqualStrategyNumber ? 0 : strategy;
}

/*
 * Is it "distance < r" or the like, also of what rises or falls with a distance?
 * Then *radius is the largest distance, rounded up.
 */
static bool
match_bound(const EcpMatch *match, const OpExpr *op, MatchDistance *distance,
			Node **radius)
{
	int			strategy = match_number_order(op);

	if (strategy == 0)
		return false;
	for (int side = 0; side < 2; side++)
	{
		Node	   *node = list_nth(op->args, side);
		Node	   *bound = list_nth(op->args, 1 - side);
		bool		above = (strategy > BTEqualStrategyNumber) == (side == 0);
		bool		falls;

		*radius = match_number(match, bound, above);
		if (match_function(match, node, distance, &falls, radius, above) &&
			above == falls && *radius != NULL && ecp_match_is_value(match, bound))
			return true;
	}
	return false;
}

/*
 * Is it the distance that the query orders by?  Two parameters may be one vector:
 * the scan, which has to be the same for both, will see.
 */
static bool
match_radius_is_of_order(const EcpMatch *match, Node *query)
{
	Node	   *order = match->order_query;

	if (match->order == NULL || equal(query, order))
		return true;
	return match->nearest && !IsA(query, Const) && !IsA(order, Const) &&
		!contain_var_clause(query) && !contain_var_clause(order);
}

/* Is the condition a radius?  If the query orders by a distance, it must be that. */
static void
match_radius(EcpMatch *match, RestrictInfo *rinfo)
{
	OpExpr	   *op = (OpExpr *) rinfo->clause;
	MatchDistance distance;
	Node	   *radius;
	RowExpr    *ball;
	Expr	   *derived;
	Oid			opno;
	Oid			type;

	if (match->radius || !is_opclause(op) || list_length(op->args) != 2 ||
		!match_bound(match, op, &distance, &radius) ||
		!match_radius_is_of_order(match, distance.query) ||
		!match_radius_operator(match->index, &opno, &type))
		return;

	match->radius = rinfo;
	match->radius_query = distance.query;
	match->radius_limit = eval_const_expressions(match->root, radius);
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
	derived = make_opclause(opno, BOOLOID, false, (Expr *) distance.column,
							(Expr *) eval_const_expressions(match->root, (Node *) ball),
							InvalidOid, InvalidOid);
	match_add_clause(match, rinfo, list_make1(derived), true, 0);
}

/*
 * IS NOT NULL of the vector is true of all rows of the index, which has none
 * whose vector is NULL.
 */
static void
match_null_test(EcpMatch *match, RestrictInfo *rinfo)
{
	NullTest   *test = (NullTest *) rinfo->clause;

	if (!IsA(test, NullTest) || test->argisrow ||
		!match_index_to_operand((Node *) test->arg, 0, match->index))
		return;
	if (test->nulltesttype == IS_NULL)
		match->null_vector = true;
	else
		match_add_clause(match, rinfo, NIL, false, 0);
}

/* Another condition whose first column is this one. */
static void
match_tree(EcpMatch *match, RestrictInfo *rinfo, int column)
{
	Node	   *clause = (Node *) rinfo->clause;
	bool		lossy = true;
	Expr	   *tree = ecp_condition_make(match, clause, column, &lossy);
	List	   *derived = tree ? list_make1(tree) :
		ecp_condition_make_prefix(match, clause, column);

	if (derived != NIL)
		match_add_clause(match, rinfo, derived, lossy, column);
}

/* Is it a condition on an attribute that a scan key can say? */
static bool
match_attribute(EcpMatch *match, RestrictInfo *rinfo, int column)
{
	Oid			family = match->index->opfamily[column];
	Oid			opno;
	Expr	   *expr = ecp_condition_normal(match, (Node *) rinfo->clause, column, &opno);

	if (expr == NULL ||
		(OidIsValid(opno) &&
		 (!op_in_opfamily(opno, family) ||
		  get_op_opfamily_strategy(opno, family) == ECP_TREE_STRATEGY)) ||
		(IsA(expr, ScalarArrayOpExpr) && !((ScalarArrayOpExpr *) expr)->useOr))
		return false;
	match_add_clause(match, rinfo, expr == rinfo->clause ? NIL : list_make1(expr), false,
					 column);
	return true;
}

/*
 * Have all window functions the same order, and does none need rows after the
 * current one?  (ntile() does, but only to count them.)
 */
static bool
match_windows_go_forward(const Query *parse)
{
	const WindowClause *first = NULL;
	ListCell   *lc;

	foreach(lc, parse->windowClause)
	{
		const WindowClause *window = lfirst_node(WindowClause, lc);

		if (first == NULL)
			first = window;
		if (window->orderClause == NIL ||
			(window->frameOptions & FRAMEOPTION_END_CURRENT_ROW) == 0 ||
			!equal(window->orderClause, first->orderClause) ||
			!equal(window->partitionClause, first->partitionClause))
			return false;
	}
	return true;
}

/*
 * Does the query want only the first rows in the order of the scan, by its own
 * LIMIT or by that of an outer query?  Otherwise it wants all rows, also through a
 * cursor, for which the planner only guesses how many will be fetched.  If no
 * ORDER BY says which rows come first, window functions do.
 */
static bool
match_wants_nearest(const PlannerInfo *root)
{
	const Query *parse = root->parse;
	List	   *order = root->sort_pathkeys;

	if (order == NIL && parse->hasWindowFuncs)
		order = root->window_pathkeys;
	if (root->tuple_fraction <= 0 || order == NIL ||
		compare_pathkeys(root->query_pathkeys, order) != PATHKEYS_EQUAL ||
		parse->hasAggs || parse->groupClause != NIL ||
		parse->groupingSets != NIL || !match_windows_go_forward(parse))
		return false;

	/* an outer query's LIMIT is a number of rows here, a guess a fraction */
	return parse->limitCount != NULL ||
		(root->parent_root != NULL && root->tuple_fraction >= 1);
}

/* The conditions that an index can check, in the order of its columns. */
static void
match_clauses(EcpMatch *match)
{
	IndexOptInfo *index = match->index;
	List	   *clauses = list_concat_copy(index->indrestrictinfo,
										   match->join_clauses);

	for (int column = 0; column < index->nkeycolumns; column++)
	{
		ListCell   *lc;

		foreach(lc, clauses)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

			if (rinfo->pseudoconstant ||
				!restriction_is_securely_promotable(rinfo, match->rel))
				continue;
			if (column > 0)
			{
				if (!match_attribute(match, rinfo, column))
					match_tree(match, rinfo, column);
			}
			else
			{
				match_radius(match, rinfo);
				match_null_test(match, rinfo);
			}
		}
	}
}

/*
 * The query wants all rows in the order of the distance: does a scan drop some
 * for the sake of the order, or stop before it has read all?
 */
static bool
match_loses_rows(const EcpMatch *match)
{
	return !match->nearest && (match->radius == NULL || match->all_within) &&
		(ecp_iterative_scan != ECP_ITERATIVE_RELAXED ||
		 ecp_max_scan_tuples >= 0);
}

/*
 * Find out what an index can do for the query; false if the query has no
 * distance of its column.
 */
static bool
match_index(EcpMatch *match)
{
	Assert(ecp_match_is_ours(match->index) && match->index->nkeycolumns >= 1);
	match_order(match);
	match->nearest = match->order && (match_wants_nearest(match->root) ||
									  ecp_match_numbered(match->root) != NULL);
	match_clauses(match);
	match->loses_rows = match_loses_rows(match);
	match->usable = !match->all_within ||
		(match->order != NULL && !match->loses_rows);
	return (match->order != NULL || match->radius != NULL) &&
		!match->null_vector;
}

/*
 * Does another index do the same and check more conditions?  It finds more of
 * the nearest rows, which no cost can express.
 */
static bool
match_is_superseded(const EcpMatch *match, List *matches)
{
	List	   *filters = ecp_cost_filters(match->index, match->clauses);
	ListCell   *lc;

	foreach(lc, matches)
	{
		const EcpMatch *other = lfirst(lc);
		List	   *others = ecp_cost_filters(other->index, other->clauses);

		if (other->usable && list_length(others) < list_length(filters) &&
			list_difference_ptr(others, filters) == NIL &&
			equal(other->order, match->order))
			return true;
	}
	return false;
}

List *
ecp_match_best(List *matches, bool nearest)
{
	List	   *best = NIL;
	ListCell   *lc;

	foreach(lc, matches)
	{
		EcpMatch   *match = lfirst(lc);

		if (match->usable && (match->nearest || !nearest) &&
			!match_is_superseded(match, matches))
			best = lappend(best, match);
	}
	return best;
}

static List *
match_indexes(PlannerInfo *root, RelOptInfo *rel, Relids outer,
			  List *join_clauses)
{
	List	   *matches = NIL;
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);
		EcpMatch   *match;

		if (!ecp_match_is_ours(index) || index->hypothetical ||
			(index->indpred != NIL && !index->predOK))
			continue;
		match = palloc0(sizeof(EcpMatch));
		match->root = root;
		match->rel = rel;
		match->index = index;
		match->outer = outer;
		match->join_clauses = join_clauses;
		if (match_index(match))
			matches = lappend(matches, match);
	}
	return matches;
}

/* The indexes of a table a distance of which is in the query: EcpMatches. */
List *
ecp_match_indexes(PlannerInfo *root, RelOptInfo *rel)
{
	return match_indexes(root, rel, NULL, NIL);
}

List *
ecp_match_joined(PlannerInfo *root, RelOptInfo *rel, Relids outer,
				 List *join_clauses)
{
	Assert(!bms_is_empty(outer));
	return match_indexes(root, rel, outer, join_clauses);
}
