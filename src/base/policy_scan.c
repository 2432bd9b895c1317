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
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "storage/shmem.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

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
	scan->plan = ecp_condition_plan(rel, query, policy_text);
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
