/*-------------------------------------------------------------------------
 *
 * policy_scan.c
 *	  The rows of a table that row-level security lets the current user see.
 *
 * This is the query SELECT ctid FROM ONLY table [WHERE ctid = ANY (...) AND
 * condition], which the server rewrites with the table's policies, plans and
 * executes as any other.  It is not parsed, though, but for the condition: it is
 * made of the OIDs of the table and the operator.  A text would name them, and the
 * name of a table that is open and locked may stand for another one by then, since
 * a lock on a table does not keep its schema from being renamed.  The rows that the
 * other table allows would then be taken for those of this one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "base/compat.h"
#include "base/condition.h"
#include "base/policy_scan.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "storage/shmem.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

/* Takes the rows of the query. */
typedef struct PolicyReceiver
{
	DestReceiver pub;			/* must be first */
	ItemPointerData *tids;
	int			n;
	int			max;
} PolicyReceiver;

struct EcpPolicyScan
{
	PolicyReceiver receiver;
	QueryDesc  *desc;
	bool		ended;			/* a plan that has ended would begin again */
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

/* The condition that a row's TID is one of these. */
static Node *
tid_condition(Var *ctid, const ItemPointerData *asked, int nasked)
{
	ScalarArrayOpExpr *condition = makeNode(ScalarArrayOpExpr);
	Datum	   *values = palloc(mul_size(Max(nasked, 1), sizeof(Datum)));
	ArrayType  *array;

	for (int i = 0; i < nasked; i++)
		values[i] = PointerGetDatum(&asked[i]);
	array = construct_array(values, nasked, TIDOID, sizeof(ItemPointerData),
							false, TYPALIGN_SHORT);
	pfree(values);
	condition->opno = TIDEqualOperator;
	condition->opfuncid = F_TIDEQ;
	condition->useOr = true;
	condition->args =
		list_make2(copyObject(ctid),
				   makeConst(TIDARRAYOID, -1, InvalidOid, -1,
							 PointerGetDatum(array), false, false));
	condition->location = -1;
	return (Node *) condition;
}

/* The query, as the parser would make it. */
static Query *
make_query(Relation rel, const char *condition, const ItemPointerData *asked,
		   int nasked)
{
	ParseState *pstate = make_parsestate(NULL);
	Query	   *query = makeNode(Query);
	Node	   *where = ecp_condition_parse(pstate, rel, condition);
	Var		   *ctid;

	ctid = makeVar(1, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);
	markVarForSelectPriv(pstate, ctid);
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = pstate->p_rtable;
	ecp_query_set_perminfos(query, pstate);
	if (asked)
		where = make_and_qual(tid_condition(ctid, asked, nasked), where);
	query->hasSubLinks = pstate->p_hasSubLinks;
	query->jointree = makeFromExpr(pstate->p_joinlist, where);
	query->targetList = list_make1(makeTargetEntry((Expr *) ctid, 1, "ctid",
												   false));
	free_parsestate(pstate);
	return query;
}

EcpPolicyScan *
ecp_policy_scan_begin(Relation rel, Snapshot snapshot, const char *condition,
					  const ItemPointerData *asked, int nasked)
{
	EcpPolicyScan *scan = palloc0_object(EcpPolicyScan);
	Query	   *query = make_query(rel, condition, asked, nasked);
	const char *text = "row-level security of an index's rows";

	scan->receiver.pub.receiveSlot = receive_slot;
	scan->receiver.pub.rStartup = receive_startup;
	scan->receiver.pub.rShutdown = receive_shutdown;
	scan->receiver.pub.rDestroy = receive_shutdown;
	scan->receiver.pub.mydest = DestNone;

	query = linitial_node(Query, QueryRewrite(query));
	scan->desc = CreateQueryDesc(ecp_plan_query(query, text), text, snapshot,
								 InvalidSnapshot, &scan->receiver.pub, NULL,
								 NULL, 0);
	ExecutorStart(scan->desc, 0);
	return scan;
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
	ExecutorFinish(scan->desc);
	ExecutorEnd(scan->desc);
	FreeQueryDesc(scan->desc);
	pfree(scan);
}
