/*-------------------------------------------------------------------------
 *
 * policy_scan.c
 *	  The rows of a table that row-level security lets the current user see.
 *
 * This is the query SELECT ctid FROM ONLY table [WHERE condition], or, for one row after
 * the other, WHERE ctid = $1 AND condition, which the server rewrites with the table's
 * policies, plans and executes as any other.  Only the condition is parsed; all else is
 * made of OIDs.  A text would name them, and the name of a table that is open and locked
 * may stand for another one by then, since a lock on a table does not keep its schema
 * from being renamed.  The rows that the other table allows would then be taken for those
 * of this one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "base/compat.h"
#include "base/user_index.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "jit/jit.h"
#include "nodes/makefuncs.h"
#include "nodes/params.h"
#include "optimizer/optimizer.h"
#include "parser/parse_clause.h"
#include "parser/parse_collate.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lockdefs.h"
#include "storage/shmem.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* ---- conditions on a table's columns that users give as texts ---- */

/*
 * The text is parsed by itself, as an expression, and never becomes part of
 * another text: so it cannot add anything else to the query, and the table that
 * it is about is the one that is open.
 */

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
 * Plan a query of a table, with a condition or policies, whose owner first
 * computes what is constant in its indexes.
 */
static PlannedStmt *
condition_plan(Relation rel, Query *query, const char *text)
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

/* ---- rows that policies allow ---- */

/* Takes the rows of the query. */
typedef struct PolicyReceiver
{
	DestReceiver pub;			/* must be first */
	ItemPointerData *tids;
	int			n;
	int			max;
} PolicyReceiver;

static const char *const policy_text = "row-level security of an index's rows";

struct EcpPolicyScan
{
	PolicyReceiver receiver;
	QueryDesc  *desc;
	PlannedStmt *plan;
	Snapshot	snapshot;
	ParamListInfo params;		/* the row that is asked for, or NULL */
	ItemPointerData tid;		/* its TID */
	bool		ended;			/* a plan that has ended would begin again */
	bool		asked;			/* the plan has been executed for a row */
};

static bool
receive_slot(TupleTableSlot *slot, DestReceiver *self)
{
	PolicyReceiver *receiver = (PolicyReceiver *) self;
	bool		isnull;
	Datum		tid = slot_getattr(slot, 1, &isnull);

	Assert(!isnull && receiver->n < receiver->max);
	receiver->tids[receiver->n++] = *(ItemPointer) DatumGetPointer(tid);
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static void
receive_shutdown(DestReceiver *self)
{
}

/* The condition that a row's TID is that of the parameter. */
static Node *
row_condition(Var *ctid)
{
	Param	   *tid = makeNode(Param);

	tid->paramkind = PARAM_EXTERN;
	tid->paramid = 1;
	tid->paramtype = TIDOID;
	tid->paramtypmod = -1;
	tid->location = -1;
	return (Node *) make_opclause(TIDEqualOperator, BOOLOID, false,
								  copyObject((Expr *) ctid), (Expr *) tid,
								  InvalidOid, InvalidOid);
}

/* The query, as the parser would make it: of all rows, or of one. */
static Query *
make_query(Relation rel, const char *condition, bool one)
{
	ParseState *pstate = make_parsestate(NULL);
	Query	   *query = makeNode(Query);
	Node	   *where = ecp_condition_parse(pstate, rel, condition);
	Var		   *ctid;

	ctid = makeVar(1, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);
	markVarForSelectPriv(pstate, ctid);
	if (one)
		where = make_and_qual(row_condition(ctid), where);
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = pstate->p_rtable;
	ecp_query_set_perminfos(query, pstate);
	query->hasSubLinks = pstate->p_hasSubLinks;
	query->jointree = makeFromExpr(pstate->p_joinlist, where);
	query->targetList = list_make1(makeTargetEntry((Expr *) ctid, 1, "ctid",
												   false));
	free_parsestate(pstate);
	return query;
}

/*
 * Can the plan be executed again for another row?  The executor does not know that a
 * parameter of ours has changed: a join, which a condition can be, might use what it
 * has stored.
 */
static bool
scan_can_rewind(const EcpPolicyScan *scan)
{
	const Plan *plan = scan->plan->planTree;

	if (IsA(plan, Result) && outerPlan(plan) != NULL)
		plan = outerPlan(plan);
	return IsA(plan, TidScan) || IsA(plan, SeqScan);
}

static void
scan_start(EcpPolicyScan *scan)
{
	scan->desc = CreateQueryDesc(scan->plan, policy_text, scan->snapshot,
								 InvalidSnapshot, &scan->receiver.pub,
								 scan->params, NULL, 0);
	ExecutorStart(scan->desc, scan->params && scan_can_rewind(scan) ?
				  EXEC_FLAG_REWIND : 0);
}

static void
scan_stop(EcpPolicyScan *scan)
{
	ExecutorFinish(scan->desc);
	ExecutorEnd(scan->desc);
	FreeQueryDesc(scan->desc);
}

/* Plan a query and begin to execute it. */
static EcpPolicyScan *
scan_begin(Relation rel, Query *query, Snapshot snapshot, ParamListInfo params)
{
	EcpPolicyScan *scan = palloc0_object(EcpPolicyScan);

	scan->receiver.pub.receiveSlot = receive_slot;
	scan->receiver.pub.rStartup = receive_startup;
	scan->receiver.pub.rShutdown = receive_shutdown;
	scan->receiver.pub.rDestroy = receive_shutdown;
	scan->receiver.pub.mydest = DestNone;

	scan->params = params;
	scan->snapshot = snapshot;
	scan->plan = condition_plan(rel, query, policy_text);
	/* for one row it would take longer than all else */
	if (params)
		scan->plan->jitFlags = PGJIT_NONE;
	scan_start(scan);
	return scan;
}

EcpPolicyScan *
ecp_policy_scan_begin(Relation rel, Snapshot snapshot, const char *condition)
{
	return scan_begin(rel, make_query(rel, condition, false), snapshot, NULL);
}

EcpPolicyScan *
ecp_policy_scan_begin_rows(Relation rel, Snapshot snapshot, const char *condition)
{
	ParamListInfo params = makeParamList(1);

	params->params[0].pflags = 0;
	params->params[0].ptype = TIDOID;
	params->params[0].isnull = false;
	return scan_begin(rel, make_query(rel, condition, true), snapshot, params);
}

bool
ecp_policy_scan_has(EcpPolicyScan *scan, const ItemPointerData *tid)
{
	ItemPointerData found;

	Assert(scan->params != NULL);
	scan->tid = *tid;
	scan->params->params[0].value = PointerGetDatum(&scan->tid);
	if (scan->asked && scan_can_rewind(scan))
		ExecutorRewind(scan->desc);
	else if (scan->asked)
	{
		scan_stop(scan);
		scan_start(scan);
	}
	scan->asked = true;
	scan->receiver.tids = &found;
	scan->receiver.n = 0;
	scan->receiver.max = 1;
	ecp_executor_run(scan->desc, 1);
	return scan->receiver.n > 0;
}

int
ecp_policy_scan_next(EcpPolicyScan *scan, ItemPointerData *tids, int max)
{
	Assert(max > 0);
	scan->receiver.tids = tids;
	scan->receiver.n = 0;
	scan->receiver.max = max;
	if (!scan->ended)
		ecp_executor_run(scan->desc, max);
	scan->ended = scan->receiver.n < max;
	return scan->receiver.n;
}

void
ecp_policy_scan_end(EcpPolicyScan *scan)
{
	scan_stop(scan);
	pfree(scan);
}
