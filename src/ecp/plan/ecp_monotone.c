/*-------------------------------------------------------------------------
 *
 * ecp_monotone.c
 *	  Expressions that rise or fall with a distance: similarities.
 *
 * "ORDER BY 1 - (v <=> q) DESC" is the order by the distance, "1 - (v <=> q) >
 * 0.8" is a radius.  An expression is taken apart from the outside, a step at
 * a time: sums and differences with what does not change during the scan,
 * products with numbers, the sign, quotients, and functions that rise.
 *
 * Rounding can make values of the expression equal whose distances are not, but
 * never puts them in another order: the result of +, -, *, / and sqrt is the
 * number next to the exact one, so that a larger exact result is rounded to a larger
 * number or the same.  What is in the order of the distance is then in that of
 * the expression, and rows that are equal by it may come in any order, or are put in
 * order by a sort of the further columns, which compares values of the expression.
 * exp(), ln() and power() of the C library do not promise that; they are not steps.
 *
 * A bound of the expression becomes one of the distance that is not smaller than
 * it has to be, since the condition is checked again: rounding at a step changes
 * it by a share of itself, which is a millionth of what a search adds to any
 * radius (RADIUS_MARGIN in ecp_search_begin.c), and by a share of the operand, which
 * is added here.  What is rounded to some digits is as near to the bound as the
 * last of them; a cast to numeric is accounted for where the bound is cast back
 * (match_number() in ecp_match.c).  No bound must be computed with an overflow,
 * which the query would not have reported.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "catalog/pg_type_d.h"
#include "ecp/plan/ecp_plan.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* Larger operands do not occur, and bounds might overflow. */
#define MONOTONE_OPERAND_MAX	1e6

/* A distance has fewer digits, and more could not be told from 0. */
#define MONOTONE_DIGITS_MAX		15

/* The share of an operand that rounding can change, and more. */
#define MONOTONE_ROUNDING		ldexp(1, -50)

/* A finite number that is known, or NaN. */
static float8
monotone_number(const Node *node)
{
	const Const *number = (const Const *) node;
	float8		value = get_float8_nan();

	if (!IsA(node, Const) || number->constisnull)
		return value;
	if (number->consttype == FLOAT8OID)
		value = DatumGetFloat8(number->constvalue);
	else if (number->consttype == FLOAT4OID)
		value = DatumGetFloat4(number->constvalue);
	return isinf(value) ? get_float8_nan() : value;
}

/* Which of two arguments changes during the scan?  NULL if both or none. */
static Node *
monotone_argument(PlannerInfo *root, Index relid, Node *left, Node *right)
{
	bool		in_left = bms_is_member(relid, pull_varnos(root, left));
	bool		in_right = bms_is_member(relid, pull_varnos(root, right));

	if (in_left == in_right ||
		contain_volatile_functions(in_left ? right : left))
		return NULL;
	return in_left ? left : right;
}

/* round(numeric, digits) */
static bool
monotone_step_digits(Node *argument, const Const *digits,
					 EcpMonotoneStep *step)
{
	int			n;

	if (!IsA(digits, Const) || digits->constisnull)
		return false;
	n = DatumGetInt32(digits->constvalue);
	step->argument = argument;
	step->kind = ECP_MONOTONE_ROUND;
	step->number = pow(10, -n);
	return n >= 0 && n <= MONOTONE_DIGITS_MAX;
}

/* A sum, a difference, a product or a quotient. */
static bool
monotone_step_binary(PlannerInfo *root, Index relid, Oid function, Node *left,
					 Node *right, EcpMonotoneStep *step)
{
	Node	   *operand;

	if (function == F_ROUND_NUMERIC_INT4)
		return monotone_step_digits(left, (const Const *) right, step);
	step->argument = monotone_argument(root, relid, left, right);
	if (step->argument == NULL)
		return false;
	operand = step->argument == left ? right : left;
	step->number = monotone_number(operand);
	switch (function)
	{
		case F_FLOAT8PL:
		case F_FLOAT48PL:
		case F_FLOAT84PL:
			step->kind = ECP_MONOTONE_PLUS;
			return true;
		case F_FLOAT8MI:
		case F_FLOAT48MI:
		case F_FLOAT84MI:
			step->falls = step->argument == right;
			step->kind = step->falls ? ECP_MONOTONE_MINUS_FROM :
				ECP_MONOTONE_PLUS;
			if (!step->falls)
				step->number = -step->number;
			return true;
		case F_FLOAT8DIV:
		case F_FLOAT48DIV:
		case F_FLOAT84DIV:
			step->kind = step->argument == right ? ECP_MONOTONE_INTO :
				ECP_MONOTONE_OTHER;
			break;
		case F_FLOAT8MUL:
		case F_FLOAT48MUL:
		case F_FLOAT84MUL:
			step->kind = ECP_MONOTONE_TIMES;
			break;
		default:
			return false;
	}
	step->falls = (step->number < 0) != (step->kind == ECP_MONOTONE_INTO);
	return step->number < 0 || step->number > 0;
}

/* A sign, or a function that rises and whose result is rounded correctly. */
static bool
monotone_step_unary(Oid function, Node *argument, EcpMonotoneStep *step)
{
	step->argument = argument;
	step->kind = ECP_MONOTONE_OTHER;
	switch (function)
	{
		case F_FLOAT8UM:
			step->falls = true;
			step->kind = ECP_MONOTONE_MINUS_FROM;
			step->number = 0;
			return true;
		case F_NUMERIC_FLOAT8:
			step->kind = ECP_MONOTONE_ROUND;
			step->number = 0;
			return true;
		case F_FLOAT8UP:
		case F_FLOAT4_FLOAT8:
		case F_SQRT_FLOAT8:
		case F_DSQRT:
		case F_FLOOR_FLOAT8:
		case F_CEIL_FLOAT8:
		case F_CEILING_FLOAT8:
		case F_ROUND_FLOAT8:
		case F_DROUND:
			return true;
		default:
			return false;
	}
}

/*
 * Take the outermost step of an expression of a table's row; false if it is
 * none that we know.
 */
bool
ecp_monotone_step(PlannerInfo *root, Index relid, Node *node,
				  EcpMonotoneStep *step)
{
	List	   *args;
	Oid			function;

	memset(step, 0, sizeof(EcpMonotoneStep));
	step->number = get_float8_nan();
	if (is_opclause(node))
	{
		args = ((OpExpr *) node)->args;
		function = get_opcode(((OpExpr *) node)->opno);
	}
	else if (IsA(node, FuncExpr))
	{
		args = ((FuncExpr *) node)->args;
		function = ((FuncExpr *) node)->funcid;
	}
	else
		return false;
	if (list_length(args) == 1)
		return monotone_step_unary(function, linitial(args), step);
	return list_length(args) == 2 &&
		monotone_step_binary(root, relid, function, linitial(args),
							 lsecond(args), step);
}

static Node *
monotone_const(float8 value)
{
	return (Node *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
							  Float8GetDatum(value), false, FLOAT8PASSBYVAL);
}

/* left - right, or left * right */
static Node *
monotone_operation(const char *name, Node *left, Node *right)
{
	Oid			opno = OpernameGetOprid(list_make2(makeString("pg_catalog"),
												   makeString(pstrdup(name))),
										FLOAT8OID, FLOAT8OID);

	Assert(OidIsValid(opno));
	return (Node *) make_opclause(opno, FLOAT8OID, false, (Expr *) left,
								  (Expr *) right, InvalidOid, InvalidOid);
}

/*
 * The value of a step is below (or, if "above", above) a bound: then its argument
 * is below or above, as step->falls says, the bound that is returned; NULL if that
 * cannot be said.
 */
Node *
ecp_monotone_bound(const EcpMonotoneStep *step, Node *bound, bool above)
{
	bool		argument_above = above != step->falls;
	float8		rounding = fabs(step->number) * MONOTONE_ROUNDING;

	Assert(exprType(bound) == FLOAT8OID);
	if (isnan(step->number) || fabs(step->number) > MONOTONE_OPERAND_MAX)
		return NULL;
	switch (step->kind)
	{
		case ECP_MONOTONE_ROUND:
			return monotone_operation(argument_above ? "-" : "+", bound,
									  monotone_const(step->number));
		case ECP_MONOTONE_PLUS:
			return monotone_operation("-", bound,
									  monotone_const(step->number +
													 (argument_above ? rounding : -rounding)));
		case ECP_MONOTONE_MINUS_FROM:
			return monotone_operation("-",
									  monotone_const(step->number -
													 (argument_above ? rounding : -rounding)),
									  bound);
		case ECP_MONOTONE_TIMES:
			/* of other factors the quotient could overflow, or be too small */
			if (fabs(step->number) == 1)
				return monotone_operation("*", bound,
										  monotone_const(step->number));
			return NULL;
		case ECP_MONOTONE_INTO:
		case ECP_MONOTONE_OTHER:
			break;
	}
	return NULL;
}
