/*-------------------------------------------------------------------------
 *
 * condition.c
 *	  Conditions on a table's columns that users give as texts.
 *
 * The text is parsed by itself, as an expression, and never becomes part of
 * another text: so it cannot add anything else to the query, and the table that
 * it is about is the one that is open.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/user_index.h"
#include "optimizer/optimizer.h"
#include "parser/parse_clause.h"
#include "parser/parse_collate.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lockdefs.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"

/* Errors with a position are about the condition, not about the statement. */
static void
condition_error(void *arg)
{
	const char *text = arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(text);
	}
	else
		errcontext("condition \"%s\"", text);
}

/* The expression that the text is. */
static Node *
condition_expression(const char *text)
{
	RawStmt    *raw = linitial_node(RawStmt,
									raw_parser(text, RAW_PARSE_PLPGSQL_EXPR));
	SelectStmt *select = castNode(SelectStmt, raw->stmt);
	ResTarget  *target;

	/* the grammar also takes what may follow the expressions of a SELECT */
	if (list_length(select->targetList) == 1 &&
		select->distinctClause == NIL && select->fromClause == NIL &&
		select->whereClause == NULL && select->groupClause == NIL &&
		select->havingClause == NULL && select->windowClause == NIL &&
		select->sortClause == NIL && select->limitOffset == NULL &&
		select->limitCount == NULL && select->lockingClause == NIL)
	{
		target = linitial_node(ResTarget, select->targetList);
		if (target->name == NULL &&
			!(IsA(target->val, ColumnRef) &&
			  IsA(llast(castNode(ColumnRef, target->val)->fields), A_Star)))
			return target->val;
	}
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("condition must be a boolean expression, as after WHERE")));
	return NULL;				/* keep compiler quiet */
}

Node *
ecp_condition_parse(ParseState *pstate, Relation rel, const char *text)
{
	ParseNamespaceItem *item = addRangeTableEntryForRelation(pstate, rel,
															 AccessShareLock, NULL,
															 false, true);
	ErrorContextCallback callback;
	Node	   *condition;

	addNSItemToQuery(pstate, item, true, true, true);
	if (text == NULL)
		return NULL;
	callback.callback = condition_error;
	callback.arg = unconstify(char *, text);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	pstate->p_sourcetext = text;

	condition = transformWhereClause(pstate, condition_expression(text),
									 EXPR_KIND_WHERE, "condition");
	assign_expr_collations(pstate, condition);
	if (contain_volatile_functions(condition))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must not call volatile functions")));
	error_context_stack = callback.previous;
	return condition;
}

/*
 * ecp_condition_plan
 *		Plan a query of a table, with a condition or policies, whose owner first
 *		computes what is constant in its indexes.
 */
PlannedStmt *
ecp_condition_plan(Relation rel, Query *query, const char *text)
{
	List	   *indexes = ecp_indexes_fold(RelationGetRelid(rel));
	PlannedStmt *plan;

	query = linitial_node(Query, QueryRewrite(query));
	plan = ecp_plan_query(query, text);
	ecp_indexes_close(indexes);
	/* a view may do it, too */
	if (!CommandIsReadOnly(plan))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("condition must not lock rows")));
	return plan;
}
