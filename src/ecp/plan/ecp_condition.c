/*-------------------------------------------------------------------------
 *
 * ecp_condition.c
 *	  Conditions on key columns: their normal form, and those that are no "column
 *	  operator value".
 *
 *	 tenant = 1 OR tenant = 2		also of several columns, and AND below OR
 *	 status <> 3, NOT IN (3, 4)		by the operator whose negator is "="
 *	 flag IS NOT TRUE				true of NULL, too
 *	 x IS DISTINCT FROM 3			the same
 *	 (a, b) < (1, 2)				"a < 1 OR (a = 1 AND b < 2)"
 *	 7 = ANY (tags)					"tags && ARRAY[7]"
 *	 name LIKE 'x%'					by a column of the first bytes
 *
 * NOT, IS TRUE, IS DISTINCT FROM and row comparisons are written with AND and OR first
 * (condition_rewrite()), and what is left is one comparison of a column with a value,
 * which a scan key can say if it is all there is (ecp_condition_normal()).
 *
 * The others are trees of comparisons, which the index checks as it does those on one
 * column.  The tree is the right side of an operator, in a row whose fields are
 * explained in ecp_attr_tree.c.  The planner has moved NOT to the operators.
 *
 * OR needs all of its operands.  AND below OR does not: what it lets through
 * without some is checked again.  So it is where keys of a kind stand for several
 * values; those cannot say "<>".  Since the operator does not compare anything
 * itself, queries that may check a row again because it was changed meanwhile,
 * UPDATE and SELECT FOR UPDATE, do so by the original condition.
 *
 * OR of "=" on one column is the same as IN, which a scan key can say.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/plan/ecp_plan.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* What has been made of a condition so far. */
typedef struct Condition
{
	const EcpMatch *match;
	List	   *comparisons;	/* in normal form */
	List	   *fields;			/* of the row */
	int			column;			/* of the first comparison, */
	Node	   *operand;		/* and its left side */
	bool		lossy;
} Condition;

/* A constant that EXPLAIN prints without its type. */
static Node *
condition_word(const char *word)
{
	return (Node *) makeConst(UNKNOWNOID, -1, InvalidOid, -2,
							  CStringGetDatum(word), false, false);
}

/* Add three fields; there is no value if it is NULL. */
static void
condition_append(Condition *condition, int number, const char *operator,
				 Node *value)
{
	condition->fields =
		lappend(condition->fields,
				makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
						  Int32GetDatum(number), false, true));
	condition->fields = lappend(condition->fields, condition_word(operator));
	condition->fields = lappend(condition->fields,
								value ? value : condition_word(""));
}

/*
 * The array of a value that is no element of this type if it is another integer: none
 * then, "CASE WHEN value BETWEEN ... THEN ARRAY[value] ELSE '{}' END".
 */
static Node *
condition_narrow(Node *value, Oid type, Node *values, Oid array_type)
{
	int64		max = type == INT2OID ? PG_INT16_MAX : PG_INT32_MAX;
	Oid			value_type = exprType(value);
	Expr	   *wide = (Expr *) coerce_type(NULL, value, value_type, INT8OID, -1,
											COERCION_IMPLICIT, COERCE_IMPLICIT_CAST, -1);
	CaseWhen   *when = makeNode(CaseWhen);
	CaseExpr   *result = makeNode(CaseExpr);
	Expr	   *tests[2];

	Assert(type == INT2OID || type == INT4OID);
	for (int i = 0; i < 2; i++)
		tests[i] =
			make_opclause(get_opfamily_member(INTEGER_BTREE_FAM_OID, INT8OID, INT8OID,
											  i == 0 ? BTLessEqualStrategyNumber :
											  BTGreaterEqualStrategyNumber),
						  BOOLOID, false, wide,
						  (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
											 Int64GetDatum(i == 0 ? max : -max - 1),
											 false, FLOAT8PASSBYVAL),
						  InvalidOid, InvalidOid);
	when->expr = make_andclause(list_make2(tests[0], tests[1]));
	when->result = (Expr *) values;
	when->location = -1;
	result->casetype = array_type;
	result->args = list_make1(when);
	result->defresult = (Expr *)
		makeConst(array_type, -1, InvalidOid, -1,
				  PointerGetDatum(construct_empty_array(type)), false, false);
	result->location = -1;
	return (Node *) result;
}

static bool
condition_is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/*
 * A value is an element of a set of tags if the operator is an equality of the family
 * by which they are hashed, and it has their type, or one that is cast to it and
 * keeps its value, as integer to bigint, or is an integer that may be too large.  The
 * operator casts nothing, so only casts of PostgreSQL's own are added: others, and the
 * checks of a domain, are functions of the types' owners.
 */
static Node *
condition_element(const EcpMatch *match, const ScalarArrayOpExpr *op, int column)
{
	Node	   *value = linitial(op->args);
	Node	   *array = lsecond(op->args);
	Oid			value_type = exprType(value);
	Oid			type = get_base_element_type(exprType(array));
	Oid			cast = InvalidOid;
	bool		narrow;
	ArrayExpr  *values;
	Node	   *result;

	Assert(column > 0 && column < match->index->nkeycolumns);
	if (!op->useOr || !OidIsValid(type) ||
		EcpClassAttrKind(ecp_match_class(match->index, column)) != ECP_ATTR_TAGS ||
		match->index->indexcollations[column] != op->inputcollid ||
		!ecp_match_is_column(match, array, column) ||
		!ecp_match_is_value(match, value) ||
		!op_in_opfamily(op->opno,
						lookup_type_cache(type, TYPECACHE_HASH_OPFAMILY)->hash_opf))
		return NULL;
	narrow = value_type != type &&
		find_coercion_pathway(type, value_type, COERCION_IMPLICIT,
							  &cast) == COERCION_PATH_NONE;
	if (cast >= FirstNormalObjectId ||
		(value_type != type && get_typtype(type) == TYPTYPE_DOMAIN))
		return NULL;
	if (narrow && !(condition_is_integer(value_type) && condition_is_integer(type)))
		return NULL;
	values = makeNode(ArrayExpr);
	values->array_typeid = get_array_type(type);
	values->array_collid = op->inputcollid;
	values->element_typeid = type;
	values->elements = list_make1(coerce_type(NULL, value, value_type, type, -1,
											  narrow ? COERCION_ASSIGNMENT : COERCION_IMPLICIT,
											  COERCE_IMPLICIT_CAST, -1));
	values->location = -1;
	result = (Node *) values;
	if (narrow)
		result = condition_narrow(value, type, result, values->array_typeid);
	return eval_const_expressions(match->root, result);
}

/* ---- normal form ---- */

static Node *
condition_null_test(Node *operand, NullTestType type)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = (Expr *) operand;
	test->nulltesttype = type;
	test->location = -1;
	return (Node *) test;
}

/* "value IS TRUE" and the like, by NOT, OR and tests for NULL. */
static Node *
condition_rewrite_boolean(const BooleanTest *test)
{
	Node	   *value = (Node *) test->arg;

	switch (test->booltesttype)
	{
		case IS_TRUE:
			return value;
		case IS_FALSE:
			return (Node *) make_notclause((Expr *) value);
		case IS_NOT_TRUE:
			return (Node *) make_orclause(list_make2(make_notclause((Expr *) value),
													 condition_null_test(value, IS_NULL)));
		case IS_NOT_FALSE:
			return (Node *) make_orclause(list_make2(value,
													 condition_null_test(value, IS_NULL)));
		default:
			return condition_null_test(value, test->booltesttype == IS_UNKNOWN ?
									   IS_NULL : IS_NOT_NULL);
	}
}

/*
 * "operand IS DISTINCT FROM constant", whose node has the operator "=", as "operand <>
 * constant OR operand IS NULL"; or the contrary, as "operand = constant".  NULL if that
 * is not possible.
 */
static Node *
condition_rewrite_distinct(const DistinctExpr *op, bool differs)
{
	int			side = IsA(linitial(op->args), Const) ? 0 : 1;
	const Const *constant = list_nth(op->args, side);
	Node	   *operand = list_nth(op->args, 1 - side);
	Oid			opno = differs ? get_negator(op->opno) : op->opno;
	Expr	   *comparison;

	if (!IsA(constant, Const) || constant->constisnull || !OidIsValid(opno) ||
		exprType(operand) != constant->consttype)
		return NULL;
	comparison = make_opclause(opno, BOOLOID, false, linitial(op->args),
							   lsecond(op->args), InvalidOid, op->inputcollid);
	return !differs ? (Node *) comparison :
		(Node *) make_orclause(list_make2(comparison,
										  condition_null_test(operand, IS_NULL)));
}

/* An operator of a row comparison, with this strategy. */
static Expr *
condition_row_operator(const RowCompareExpr *row, int i, int strategy)
{
	Oid			left;
	Oid			right;

	op_input_types(list_nth_oid(row->opnos, i), &left, &right);
	return make_opclause(get_opfamily_member(list_nth_oid(row->opfamilies, i), left, right,
											 strategy),
						 BOOLOID, false, list_nth(row->largs, i), list_nth(row->rargs, i),
						 InvalidOid, list_nth_oid(row->inputcollids, i));
}

/* "(a, b) < (1, 2)", which is "a < 1 OR (a = 1 AND b < 2)" */
static Node *
condition_rewrite_row(const RowCompareExpr *row)
{
	int			last = list_length(row->opnos) - 1;
	int			strategy = get_op_opfamily_strategy(linitial_oid(row->opnos),
													linitial_oid(row->opfamilies));
	int			strict = strategy;
	Expr	   *expr = condition_row_operator(row, last, strategy);

	if (strategy == BTLessEqualStrategyNumber)
		strict = BTLessStrategyNumber;
	else if (strategy == BTGreaterEqualStrategyNumber)
		strict = BTGreaterStrategyNumber;
	for (int i = last - 1; i >= 0; i--)
	{
		Expr	   *equal = condition_row_operator(row, i, BTEqualStrategyNumber);

		expr = make_orclause(list_make2(condition_row_operator(row, i, strict),
										make_andclause(list_make2(equal, expr))));
	}
	return (Node *) expr;
}

/* By AND, OR and NOT, what other nodes say. */
static Node *
condition_rewrite(Node *node)
{
	bool		negated = is_notclause(node);
	Node	   *arg = negated ? (Node *) get_notclausearg((Expr *) node) : node;
	Node	   *result = NULL;

	if (IsA(arg, DistinctExpr))
		result = condition_rewrite_distinct((DistinctExpr *) arg, !negated);
	else if (IsA(node, BooleanTest))
		result = condition_rewrite_boolean((BooleanTest *) node);
	else if (IsA(node, RowCompareExpr))
		result = condition_rewrite_row((RowCompareExpr *) node);
	return result ? result : node;
}

/* "column", of a Boolean, and "NOT column". */
static Expr *
condition_normal_boolean(const EcpMatch *match, Node *node, int column)
{
	bool		value = !is_notclause(node);

	if (!value)
		node = (Node *) get_notclausearg((Expr *) node);
	if (!op_in_opfamily(BooleanEqualOperator, match->index->opfamily[column]) ||
		!ecp_match_is_column(match, node, column))
		return NULL;
	return make_opclause(BooleanEqualOperator, BOOLOID, false, (Expr *) node,
						 (Expr *) makeBoolConst(value, false), InvalidOid, InvalidOid);
}

/* "column operator ANY (array)" or ALL; and "value = ANY (column)". */
static Expr *
condition_normal_array(const EcpMatch *match, ScalarArrayOpExpr *op, int column)
{
	Node	   *values = condition_element(match, op, column);
	Oid			overlap;

	if (values == NULL)
		return ecp_match_is_column(match, linitial(op->args), column) &&
			ecp_match_is_value(match, lsecond(op->args)) ? (Expr *) op : NULL;
	overlap = get_opfamily_member(match->index->opfamily[column], ANYARRAYOID,
								  ANYARRAYOID, ECP_TAGS_OVERLAP);
	return OidIsValid(overlap) ?
		make_opclause(overlap, BOOLOID, false, lsecond(op->args), (Expr *) values,
					  InvalidOid, op->inputcollid) : NULL;
}

Expr *
ecp_condition_normal(const EcpMatch *match, Node *node, int column, Oid *opno)
{
	Expr	   *expr;

	Assert(column > 0 && column < match->index->nkeycolumns);
	node = condition_rewrite(node);
	*opno = InvalidOid;
	if (IsA(node, NullTest))
	{
		NullTest   *test = (NullTest *) node;

		return !test->argisrow &&
			ecp_match_is_column(match, (Node *) test->arg, column) ? (Expr *) test : NULL;
	}
	if (IsA(node, ScalarArrayOpExpr))
		expr = condition_normal_array(match, (ScalarArrayOpExpr *) node, column);
	else if (is_opclause(node))
		expr = ecp_match_operator(match, (OpExpr *) node, column);
	else
		expr = condition_normal_boolean(match, node, column);
	if (expr == NULL || exprInputCollation((Node *) expr) !=
		match->index->indexcollations[column])
		return NULL;
	*opno = IsA(expr, OpExpr) ? ((OpExpr *) expr)->opno :
		((ScalarArrayOpExpr *) expr)->opno;
	return expr;
}

/* ---- the tree ---- */

/* How trees name an operator of a family, or the negator of its "="; or NULL. */
static const char *
condition_operator(const IndexOptInfo *index, int column, Oid opno, bool *lossy)
{
	EcpAttrKind kind = EcpClassAttrKind(ecp_match_class(index, column));
	Oid			negator;
	int			strategy;

	*lossy = !ecp_attr_kind_is_exact(kind);
	if (!OidIsValid(get_opfamily_member(index->opfamily[column], ANYELEMENTOID,
										RECORDOID, ECP_TREE_STRATEGY)))
		return NULL;
	strategy = get_op_opfamily_strategy(opno, index->opfamily[column]);
	if (strategy > 0 && strategy <= BTMaxStrategyNumber)
		return ecp_attr_tree_operator(kind, strategy);
	negator = get_negator(opno);
	if (*lossy || !OidIsValid(negator) ||
		get_op_opfamily_strategy(negator, index->opfamily[column]) !=
		BTEqualStrategyNumber)
		return NULL;
	return "<>";
}

/* Add a comparison in normal form. */
static bool
condition_add_comparison(Condition *condition, Expr *expr, int column, Oid opno)
{
	Node	   *operand;
	Node	   *value = NULL;
	const char *name;

	if (IsA(expr, NullTest))
	{
		operand = (Node *) ((NullTest *) expr)->arg;
		name = ((NullTest *) expr)->nulltesttype == IS_NULL ? "IS NULL" : "IS NOT NULL";
	}
	else
	{
		const ScalarArrayOpExpr *array = (const ScalarArrayOpExpr *) expr;
		bool		is_array = IsA(expr, ScalarArrayOpExpr);
		List	   *args = is_array ? array->args : ((OpExpr *) expr)->args;
		bool		lossy;

		operand = linitial(args);
		value = lsecond(args);
		name = condition_operator(condition->match->index, column, opno, &lossy);
		if (name == NULL ||
			(is_array && (strcmp(name, array->useOr ? "=" : "<>") != 0 ||
						  !OidIsValid(get_element_type(exprType(value))))))
			return false;
		if (is_array)
			name = array->useOr ? "= ANY" : "<> ALL";
		condition->lossy |= lossy;
	}
	if (condition->comparisons == NIL)
	{
		condition->column = column;
		condition->operand = operand;
	}
	condition->comparisons = lappend(condition->comparisons, expr);
	condition_append(condition, column + 1, name, value);
	return true;
}

static bool condition_add(Condition *condition, Node *node);

/* AND or OR of conditions. */
static bool
condition_add_all(Condition *condition, const BoolExpr *expr)
{
	int			length = list_length(condition->fields);
	bool		all = expr->boolop == AND_EXPR;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		if (condition_add(condition, lfirst(lc)))
			n++;
		else if (all)
			condition->lossy = true;
		else
		{
			condition->fields = list_truncate(condition->fields, length);
			return false;
		}
	}
	if (n > 1)
		condition_append(condition, n, all ? "AND" : "OR", NULL);
	return n > 0;
}

/* Add what the index can check of a condition; false, and nothing, if nothing. */
static bool
condition_add(Condition *condition, Node *node)
{
	check_stack_depth();
	node = condition_rewrite(node);
	if (is_orclause(node) || is_andclause(node))
		return condition_add_all(condition, (BoolExpr *) node);
	for (int column = 1; column < condition->match->index->nkeycolumns; column++)
	{
		Oid			opno;
		Expr	   *expr = ecp_condition_normal(condition->match, node, column, &opno);

		if (expr != NULL && condition_add_comparison(condition, expr, column, opno))
			return true;
	}
	return false;
}

Expr *
ecp_condition_any(const OpExpr *op, Node *array)
{
	ScalarArrayOpExpr *result = makeNode(ScalarArrayOpExpr);

	result->opno = op->opno;
	result->opfuncid = get_opcode(op->opno);
	result->useOr = true;
	result->inputcollid = op->inputcollid;
	result->args = list_make2(linitial(op->args), array);
	result->location = -1;
	return (Expr *) result;
}

/*
 * OR of "column = value", of one column and one operator, as "column = ANY
 * (array)"; NULL if it is another condition.
 */
static Expr *
condition_make_array(const Condition *condition, Node *clause)
{
	const OpExpr *first = linitial(condition->comparisons);
	ArrayExpr  *array = makeNode(ArrayExpr);
	ListCell   *lc;

	if (!is_orclause(clause) || !IsA(first, OpExpr) ||
		get_op_opfamily_strategy(first->opno,
								 condition->match->index->opfamily[condition->column]) !=
		BTEqualStrategyNumber)
		return NULL;
	foreach(lc, ((BoolExpr *) clause)->args)
	{
		if (!is_opclause(lfirst(lc)))
			return NULL;
	}
	array->element_typeid = exprType(lsecond(first->args));
	array->array_typeid = get_array_type(array->element_typeid);
	array->array_collid = first->inputcollid;
	array->location = -1;
	foreach(lc, condition->comparisons)
	{
		const OpExpr *op = lfirst(lc);

		if (!IsA(op, OpExpr) || op->opno != first->opno ||
			!equal(linitial(op->args), linitial(first->args)) ||
			exprType(lsecond(op->args)) != array->element_typeid)
			return NULL;
		array->elements = lappend(array->elements, lsecond(op->args));
	}
	if (!OidIsValid(array->array_typeid))
		return NULL;
	return ecp_condition_any(first, eval_const_expressions(condition->match->root,
														   (Node *) array));
}

/* The tree as a condition for a scan. */
static Expr *
condition_make_tree(const Condition *condition)
{
	RowExpr    *row = makeNode(RowExpr);

	row->args = condition->fields;
	row->row_typeid = RECORDOID;
	row->row_format = COERCE_EXPLICIT_CALL;
	for (int i = 1; i <= list_length(row->args); i++)
		row->colnames = lappend(row->colnames, makeString(psprintf("f%d", i)));
	row->location = -1;
	return make_opclause(get_opfamily_member(condition->match->index->opfamily[condition->column],
											 ANYELEMENTOID, RECORDOID,
											 ECP_TREE_STRATEGY),
						 BOOLOID, false, (Expr *) condition->operand,
						 (Expr *) row, InvalidOid, InvalidOid);
}

Expr *
ecp_condition_make(const EcpMatch *match, Node *clause, int column,
				   bool *lossy)
{
	Condition	condition = {0};
	Query	   *parse = match->root->parse;
	Expr	   *array;

	Assert(column > 0 && column < match->index->nkeycolumns);
	condition.match = match;
	if (!condition_add(&condition, clause) || condition.column != column ||
		list_length(condition.fields) > ECP_TREE_FIELDS_MAX)
		return NULL;
	array = condition_make_array(&condition, clause);
	*lossy = array == NULL &&
		(condition.lossy || parse->commandType != CMD_SELECT ||
		 parse->rowMarks != NIL);
	return array ? array : condition_make_tree(&condition);
}

/*
 * Core makes conditions for an index of a pattern with a fixed prefix
 * (like_support.c), for the operator families that it knows.  Name btree's, which
 * has the same operators as ours.
 */
List *
ecp_condition_make_prefix(const EcpMatch *match, Node *clause, int column)
{
	IndexOptInfo *index = match->index;
	const OpExpr *op = (const OpExpr *) clause;
	SupportRequestIndexCondition request = {0};
	Oid			support;

	Assert(column > 0 && column < index->nkeycolumns);
	if (!is_opclause(clause) || list_length(op->args) != 2 ||
		get_opfamily_member(index->opfamily[column], TEXTOID, TEXTOID,
							BTLessStrategyNumber) != TextPatternLessOperator ||
		!match_index_to_operand(linitial(op->args), column, index))
		return NIL;
	support = get_func_support(get_opcode(op->opno));
	if (!OidIsValid(support))
		return NIL;
	request.type = T_SupportRequestIndexCondition;
	request.root = match->root;
	request.funcid = get_opcode(op->opno);
	request.node = clause;
	request.indexarg = 0;
	request.index = index;
	request.indexcol = column;
	request.opfamily = TEXT_PATTERN_BTREE_FAM_OID;
	request.indexcollation = index->indexcollations[column];
	request.lossy = true;
	return (List *) DatumGetPointer(OidFunctionCall1(support,
													 PointerGetDatum(&request)));
}
