/*-------------------------------------------------------------------------
 *
 * ecp_condition.c
 *	  Conditions on key columns that are no "column operator value".
 *
 *	 tenant = 1 OR tenant = 2		also of several columns, and AND below OR
 *	 status <> 3, NOT IN (3, 4)		by the operator whose negator is "="
 *	 flag IS NOT TRUE				true of NULL, too
 *	 x IS DISTINCT FROM 3			the same
 *	 (a, b) < (1, 2)				"a < 1 OR (a = 1 AND b < 2)"
 *	 7 = ANY (tags)					"tags && ARRAY[7]"
 *	 name LIKE 'x%'					by a column of the first bytes
 *
 * They are trees of comparisons, which the index checks as it does those on one
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
	List	   *fields;			/* of the row */
	int			column;			/* the first one, or -1 */
	Node	   *operand;		/* which is this */
	bool		lossy;
} Condition;

static bool condition_add(Condition *condition, Node *node);

/* The key column that an expression is, or -1. */
static int
condition_column(const EcpMatch *match, Node *node)
{
	for (int column = 1; column < match->index->nkeycolumns; column++)
	{
		if (ecp_match_is_column(match, node, column))
			return column;
	}
	return -1;
}

/* The key column on one side of an operator, and what is on the other; or -1. */
static int
condition_operands(const Condition *condition, const OpExpr *op, Node **operand,
				   Node **value)
{
	int			column = condition_column(condition->match, linitial(op->args));
	int			side = column < 0 ? 1 : 0;

	if (column < 0)
		column = condition_column(condition->match, lsecond(op->args));
	*operand = list_nth(op->args, side);
	*value = list_nth(op->args, 1 - side);
	return column;
}

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

static void
condition_append_leaf(Condition *condition, int column, Node *operand,
					  const char *operator, Node *value)
{
	if (condition->column < 0)
	{
		condition->column = column;
		condition->operand = operand;
	}
	condition_append(condition, column + 1, operator, value);
}

/*
 * How the operator family calls an operator; NULL if it has none that can be
 * used.  "negated" has a meaning for operators that are not in the family.
 */
static const char *
condition_operator(const Condition *condition, int column, Oid opno,
				   Oid collation, bool *lossy)
{
	const IndexOptInfo *index = condition->match->index;
	EcpAttrKind kind = EcpClassAttrKind(ecp_match_class(index, column));
	Oid			negator;
	int			strategy;

	*lossy = !ecp_attr_kind_is_exact(kind);
	if (index->indexcollations[column] != collation ||
		!OidIsValid(get_opfamily_member(index->opfamily[column], ANYELEMENTOID,
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

static bool
condition_add_operator(Condition *condition, const OpExpr *op)
{
	Node	   *operand;
	Node	   *value;
	int			column = condition_operands(condition, op, &operand, &value);
	Oid			opno = operand == linitial(op->args) ? op->opno :
		get_commutator(op->opno);
	const char *name;
	bool		lossy;

	if (column < 0 || !OidIsValid(opno) ||
		!ecp_match_is_value(condition->match, value))
		return false;
	name = condition_operator(condition, column, opno, op->inputcollid, &lossy);
	if (name == NULL)
		return false;
	condition->lossy |= lossy;
	condition_append_leaf(condition, column, operand, name, value);
	return true;
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
Node *
ecp_condition_element(const EcpMatch *match, const ScalarArrayOpExpr *op,
					  int column)
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

static bool
condition_add_element(Condition *condition, const ScalarArrayOpExpr *op)
{
	Node	   *operand = lsecond(op->args);
	int			column = condition_column(condition->match, operand);
	Node	   *values;

	if (column < 0)
		return false;
	values = ecp_condition_element(condition->match, op, column);
	if (values == NULL)
		return false;
	condition->lossy = true;
	condition_append_leaf(condition, column, operand, "&&", values);
	return true;
}

/* "column = ANY (array)", "column <> ALL (array)" */
static bool
condition_add_array(Condition *condition, const ScalarArrayOpExpr *op)
{
	Node	   *operand = linitial(op->args);
	Node	   *array = lsecond(op->args);
	int			column = condition_column(condition->match, operand);
	const char *name;
	bool		lossy;

	if (column < 0 || !ecp_match_is_value(condition->match, array) ||
		!OidIsValid(get_element_type(exprType(array))))
		return false;
	name = condition_operator(condition, column, op->opno, op->inputcollid,
							  &lossy);
	if (name == NULL || strcmp(name, op->useOr ? "=" : "<>") != 0)
		return false;
	condition->lossy |= lossy;
	condition_append_leaf(condition, column, operand,
						  op->useOr ? "= ANY" : "<> ALL", array);
	return true;
}

/* A Boolean column, which is "value" or, if "unknown", NULL. */
static bool
condition_add_boolean(Condition *condition, Node *operand, bool value,
					  bool unknown)
{
	int			column = condition_column(condition->match, operand);

	if (column < 0 ||
		!op_in_opfamily(BooleanEqualOperator,
						condition->match->index->opfamily[column]))
		return false;
	condition_append_leaf(condition, column, operand, "=",
						  makeBoolConst(value, false));
	if (unknown)
	{
		condition_append_leaf(condition, column, operand, "IS NULL", NULL);
		condition_append(condition, 2, "OR", NULL);
	}
	return true;
}

static bool
condition_add_null(Condition *condition, Node *operand, bool is_null)
{
	int			column = condition_column(condition->match, operand);

	if (column < 0)
		return false;
	condition_append_leaf(condition, column, operand,
						  is_null ? "IS NULL" : "IS NOT NULL", NULL);
	return true;
}

static bool
condition_add_boolean_test(Condition *condition, const BooleanTest *test)
{
	Node	   *operand = (Node *) test->arg;

	switch (test->booltesttype)
	{
		case IS_TRUE:
			return condition_add_boolean(condition, operand, true, false);
		case IS_FALSE:
			return condition_add_boolean(condition, operand, false, false);
		case IS_NOT_TRUE:
			return condition_add_boolean(condition, operand, false, true);
		case IS_NOT_FALSE:
			return condition_add_boolean(condition, operand, true, true);
		default:
			return condition_add_null(condition, operand,
									  test->booltesttype == IS_UNKNOWN);
	}
}

/*
 * "column IS DISTINCT FROM value", whose node has the operator "=", or the
 * contrary.
 */
static bool
condition_add_distinct(Condition *condition, const DistinctExpr *op,
					   bool differs)
{
	Node	   *operand;
	Node	   *value;
	int			column = condition_operands(condition, op, &operand, &value);
	const char *name;
	bool		lossy;

	if (column < 0 || !IsA(value, Const) || ((Const *) value)->constisnull ||
		exprType(value) != exprType(operand))
		return false;
	name = condition_operator(condition, column, op->opno, op->inputcollid,
							  &lossy);
	if (name == NULL || (differs && lossy) || strcmp(name, "=") != 0)
		return false;
	condition->lossy |= lossy;
	condition_append_leaf(condition, column, operand, differs ? "<>" : "=",
						  value);
	if (differs)
	{
		condition_append_leaf(condition, column, operand, "IS NULL", NULL);
		condition_append(condition, 2, "OR", NULL);
	}
	return true;
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
static bool
condition_add_row(Condition *condition, const RowCompareExpr *row)
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
	return condition_add(condition, (Node *) expr);
}

/* NOT of what has no negator. */
static bool
condition_add_not(Condition *condition, Node *node)
{
	if (IsA(node, DistinctExpr))
		return condition_add_distinct(condition, (DistinctExpr *) node, false);
	return condition_add_boolean(condition, node, false, false);
}

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
	if (is_orclause(node) || is_andclause(node))
		return condition_add_all(condition, (BoolExpr *) node);
	if (is_notclause(node))
		return condition_add_not(condition,
								 (Node *) get_notclausearg((Expr *) node));
	switch (nodeTag(node))
	{
		case T_OpExpr:
			return list_length(((OpExpr *) node)->args) == 2 &&
				condition_add_operator(condition, (OpExpr *) node);
		case T_ScalarArrayOpExpr:
			return condition_add_array(condition, (ScalarArrayOpExpr *) node) ||
				condition_add_element(condition, (ScalarArrayOpExpr *) node);
		case T_NullTest:
			return !((NullTest *) node)->argisrow &&
				condition_add_null(condition, (Node *) ((NullTest *) node)->arg,
								   ((NullTest *) node)->nulltesttype == IS_NULL);
		case T_BooleanTest:
			return condition_add_boolean_test(condition, (BooleanTest *) node);
		case T_DistinctExpr:
			return condition_add_distinct(condition, (DistinctExpr *) node, true);
		case T_RowCompareExpr:
			return condition_add_row(condition, (RowCompareExpr *) node);
		default:
			return condition_add_boolean(condition, node, true, false);
	}
}

/*
 * OR of "column = value", of one column and one operator, as "column = ANY
 * (array)"; NULL if it is another condition.
 */
static Expr *
condition_make_array(const Condition *condition, Node *clause)
{
	ScalarArrayOpExpr *result = makeNode(ScalarArrayOpExpr);
	ArrayExpr  *array = makeNode(ArrayExpr);
	ListCell   *lc;

	if (!is_orclause(clause))
		return NULL;
	foreach(lc, ((BoolExpr *) clause)->args)
	{
		OpExpr	   *op = lfirst(lc);
		Node	   *value;

		if (!is_opclause(op) || list_length(op->args) != 2 ||
			op->inputcollid != condition->match->index->indexcollations[condition->column] ||
			get_op_opfamily_strategy(op->opno,
									 condition->match->index->opfamily[condition->column]) != BTEqualStrategyNumber)
			return NULL;
		value = lsecond(op->args);
		if (!equal(linitial(op->args), condition->operand))
		{
			/* "=" of one type is its own commutator */
			if (!equal(value, condition->operand) ||
				get_commutator(op->opno) != op->opno)
				return NULL;
			value = linitial(op->args);
		}
		if (array->elements != NIL &&
			(op->opno != result->opno ||
			 exprType(value) != array->element_typeid))
			return NULL;
		result->opno = op->opno;
		result->inputcollid = op->inputcollid;
		array->element_typeid = exprType(value);
		array->elements = lappend(array->elements, value);
	}
	array->array_typeid = get_array_type(array->element_typeid);
	array->array_collid = result->inputcollid;
	array->location = -1;
	if (!OidIsValid(array->array_typeid))
		return NULL;
	result->opfuncid = get_opcode(result->opno);
	result->useOr = true;
	result->args = list_make2(condition->operand,
							  eval_const_expressions(condition->match->root,
													 (Node *) array));
	result->location = -1;
	return (Expr *) result;
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
	condition.column = -1;
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
 * (like_support.c), for the operator families that it knows.  It is told of that of
 * btree, which has the same operators as ours.
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
