/*-------------------------------------------------------------------------
 *
 * ecp_knn_condition.c
 *	  Many queries at once: the rows that satisfy a condition.
 *
 * The condition is SQL of the calling user's.  The planner plans the search that
 * a query of its own would be:
 *
 *	 SELECT ctid, v <-> $1 FROM ONLY table WHERE condition
 *	 ORDER BY v <-> $1 LIMIT k
 *
 * with the table's policies.  If the plan is a scan of the index with nothing
 * besides index conditions, then the keys of these are what the batch needs: it
 * leaves out the slots that do not pass, as a scan does.  Keys that represent
 * several values (ecp_attr_filter.c) let pass what may satisfy the condition, and the
 * candidates are checked by a query.  With every other plan there is nothing to
 * share, and the batch executes it for each query.  So the answers are those of
 * the searches in any case.
 *
 * The query is made of OIDs, but for the condition (see base/policy_scan.c).  It
 * has the index's expression and predicate, which are of the table's owner, and
 * are evaluated as the calling user here.  Therefore, these may not call functions
 * of other roles.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "base/compat.h"
#include "base/condition.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "ecp/batch/ecp_knn_condition.h"
#include "ecp/batch/ecp_user_table.h"
#include "ecp/define/ecp_class.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_prepare.h"
#include "executor/execdesc.h"
#include "executor/executor.h"
#include "executor/nodeIndexscan.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "storage/shmem.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "vector/vector_value.h"

/* Takes the rows of a search. */
typedef struct ConditionReceiver
{
	DestReceiver pub;			/* must be first */
	EcpRanked  *rows;
	ItemPointerData *tids;
	int			n;
} ConditionReceiver;

/* The plan while it is executed. */
struct EcpKnnConditionRun
{
	ConditionReceiver receiver;
	ParamListInfo params;
	QueryDesc  *desc;
};

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	ConditionReceiver *receiver = (ConditionReceiver *) self;
	int			n = receiver->n;

	slot_getallattrs(slot);
	/* of a row without a vector, which sorts last */
	if (slot->tts_isnull[1])
		return true;
	receiver->n++;
	receiver->tids[n] = *(ItemPointer) DatumGetPointer(slot->tts_values[0]);
	receiver->rows[n].item = 0;
	receiver->rows[n].rank = DatumGetFloat8(slot->tts_values[1]);
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

/* ---- the query ---- */

/* Is a function of a role whose code the calling user need not want to run? */
static bool
function_is_foreign(Oid function, void *context)
{
	HeapTuple	tuple;
	Oid			owner;

	if (function < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	return owner != GetUserId() && !superuser_arg(owner);
}

static bool
expression_is_foreign(Node *node, void *context)
{
	if (node == NULL)
		return false;
	/* a domain's constraints call functions, too */
	if (IsA(node, CoerceToDomain) || ecp_is_json_expr(node))
		return true;
	return check_functions_in_node(node, function_is_foreign, context) ||
		expression_tree_walker(node, expression_is_foreign, context);
}

/* The vector of the index, as an expression of the query's first table. */
static Expr *
query_vector(ParseState *pstate, Relation heap, Relation index)
{
	AttrNumber	attno = index->rd_index->indkey.values[0];
	Oid			type = index->rd_opcintype[0];
	Expr	   *vector;

	if (attno != 0)
	{
		const FormData_pg_attribute *att = TupleDescAttr(RelationGetDescr(heap),
														 attno - 1);

		vector = (Expr *) makeVar(1, attno, att->atttypid, att->atttypmod,
								  att->attcollation, 0);
		markVarForSelectPriv(pstate, (Var *) vector);
	}
	else
		vector = linitial(RelationGetIndexExpressions(index));
	if (exprType((Node *) vector) != type)
		vector = (Expr *) makeRelabelType(vector, type, -1, InvalidOid,
										  COERCE_IMPLICIT_CAST);
	return vector;
}

/* The distance of a row from the vector that is the query's parameter. */
static Expr *
query_distance(ParseState *pstate, Relation heap, Relation index)
{
	Oid			type = index->rd_opcintype[0];
	Oid			op = get_opfamily_member(index->rd_opfamily[0], type, type,
										 ECP_DISTANCE_STRATEGY);
	Param	   *param = makeNode(Param);
	Expr	   *distance;

	param->paramkind = PARAM_EXTERN;
	param->paramid = 1;
	param->paramtype = type;
	param->paramtypmod = -1;
	param->location = -1;
	distance = make_opclause(op, FLOAT8OID, false,
							 query_vector(pstate, heap, index),
							 (Expr *) param, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) distance);
	return distance;
}

/* The search, as the parser would make it. */
static Query *
query_create(Relation heap, Relation index, int k, const char *text)
{
	ParseState *pstate = make_parsestate(NULL);
	Query	   *query = makeNode(Query);
	SortGroupClause *order = makeNode(SortGroupClause);
	Node	   *where = ecp_condition_parse(pstate, heap, text);
	List	   *predicate = RelationGetIndexPredicate(index);
	TargetEntry *distance;

	if (expression_is_foreign((Node *) RelationGetIndexExpressions(index), NULL) ||
		expression_is_foreign((Node *) predicate, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" cannot be searched with a condition",
						RelationGetRelationName(index)),
				 errdetail("Its expression or predicate calls functions of another role.")));
	/* others are not in the index */
	if (predicate != NIL)
		where = make_and_qual((Node *) make_ands_explicit(predicate), where);

	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	distance = makeTargetEntry(query_distance(pstate, heap, index), 2, "distance",
							   false);
	distance->ressortgroupref = order->tleSortGroupRef = 1;
	get_sort_group_operators(FLOAT8OID, true, true, false, &order->sortop,
							 &order->eqop, NULL, &order->hashable);
	query->targetList =
		list_make2(makeTargetEntry((Expr *) makeVar(1, SelfItemPointerAttributeNumber,
													TIDOID, -1, InvalidOid, 0),
								   1, "ctid", false),
				   distance);
	query->sortClause = list_make1(order);
	query->limitCount = (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
										   Int64GetDatum(k), false,
										   FLOAT8PASSBYVAL);
	query->limitOption = LIMIT_OPTION_COUNT;
	query->rtable = pstate->p_rtable;
	ecp_query_set_perminfos(query, pstate);
	query->hasSubLinks = pstate->p_hasSubLinks;
	query->jointree = makeFromExpr(pstate->p_joinlist, where);
	free_parsestate(pstate);
	return query;
}

/* ---- the plan ---- */

/*
 * Is the plan a scan that can begin again with another vector?  The executor does not
 * know that a parameter of ours has changed, so a sort would return what it has.
 */
static bool
plan_is_scan(const EcpKnnCondition *condition)
{
	const Plan *plan = condition->plan->planTree;

	return IsA(plan, Limit) &&
		(IsA(outerPlan(plan), IndexScan) || IsA(outerPlan(plan), IndexOnlyScan));
}

/* Begin to execute the plan; the vector is NULL yet. */
static EcpKnnConditionRun *
run_begin(EcpKnnCondition *condition)
{
	EcpKnnConditionRun *run = palloc0_object(EcpKnnConditionRun);
	ConditionReceiver *receiver = &run->receiver;

	run->params = makeParamList(1);
	run->params->params[0].isnull = true;
	run->params->params[0].ptype = condition->type;
	receiver->pub.receiveSlot = receive_row;
	receiver->pub.rStartup = receive_startup;
	receiver->pub.rShutdown = receive_shutdown;
	receiver->pub.rDestroy = receive_shutdown;
	receiver->pub.mydest = DestNone;
	run->desc = CreateQueryDesc(condition->plan, condition->text,
								condition->snapshot, InvalidSnapshot,
								&receiver->pub, run->params, NULL, 0);
	ExecutorStart(run->desc, plan_is_scan(condition) ? EXEC_FLAG_REWIND : 0);
	return run;
}

static void
run_end(EcpKnnConditionRun *run)
{
	ExecutorFinish(run->desc);
	ExecutorEnd(run->desc);
	FreeQueryDesc(run->desc);
	pfree(run->params);
	pfree(run);
}

/* The type of what a scan key compares with; InvalidOid if that is nothing. */
static Oid
key_type(Relation index, const ScanKeyData *key)
{
	if ((key->sk_flags & (SK_ISNULL | SK_SEARCHNULL | SK_SEARCHNOTNULL)) != 0)
		return InvalidOid;
	/* of any type: arrays are all alike here */
	if ((key->sk_flags & SK_SEARCHARRAY) != 0)
		return ANYARRAYOID;
	return OidIsValid(key->sk_subtype) ? key->sk_subtype :
		index->rd_opcintype[key->sk_attno - 1];
}

/*
 * Copy the keys of a scan, in the current memory context, but for those that say
 * that the vector is not NULL, which is true of all rows.  False if one is a radius.
 */
bool
ecp_knn_keys_copy(Relation index, const ScanKeyData *from, int nfrom, ScanKeyData *to,
				  int *nto)
{
	bool		copied = true;

	*nto = 0;
	for (int i = 0; i < nfrom; i++)
	{
		ScanKey		key = &to[*nto];
		Oid			type;

		*key = from[i];
		if (key->sk_attno == 1)
		{
			copied &= (key->sk_flags & SK_SEARCHNOTNULL) != 0;
			continue;
		}
		type = key_type(index, key);
		if (OidIsValid(type))
		{
			int16		typlen;
			bool		byval;

			get_typlenbyval(type, &typlen, &byval);
			if (typlen == -1)
				key->sk_argument = PointerGetDatum(PG_DETOAST_DATUM(key->sk_argument));
			key->sk_argument = datumCopy(key->sk_argument, byval, typlen);
		}
		(*nto)++;
	}
	return copied;
}

/*
 * If the plan is a scan of the index that needs nothing else, take its scan
 * keys, in the current memory context.
 */
static void
condition_take_keys(EcpKnnCondition *condition, Relation index)
{
	const Plan *plan = condition->plan->planTree;
	const IndexScan *scan;
	EcpKnnConditionRun *run;
	IndexScanState *state;

	if (!IsA(plan, Limit) || !IsA(outerPlan(plan), IndexScan))
		return;
	scan = castNode(IndexScan, outerPlan(plan));
	if (scan->indexid != RelationGetRelid(index) || scan->scan.plan.qual != NIL ||
		list_length(scan->indexorderby) != 1)
		return;

	run = run_begin(condition);
	state = castNode(IndexScanState, outerPlanState(run->desc->planstate));
	ExecIndexEvalRuntimeKeys(state->iss_RuntimeContext, state->iss_RuntimeKeys,
							 state->iss_NumRuntimeKeys);
	condition->rows = scan->scan.plan.plan_rows;
	condition->keys = palloc_array(ScanKeyData, Max(state->iss_NumScanKeys, 1));
	condition->indexed = ecp_knn_keys_copy(index, state->iss_ScanKeys,
										   state->iss_NumScanKeys, condition->keys,
										   &condition->nkeys);
	run_end(run);
	(void) ecp_attr_filter_create(index, condition->keys, condition->nkeys,
								  &condition->never, &condition->recheck);
}

EcpKnnCondition *
ecp_knn_condition_create(const char *text)
{
	EcpKnnCondition *condition = palloc0_object(EcpKnnCondition);

	condition->text = text;

	condition->context = AllocSetContextCreate(CurrentMemoryContext,
											   "ecp search with a condition",
											   ALLOCSET_DEFAULT_SIZES);
	return condition;
}

void
ecp_knn_condition_plan(EcpKnnCondition *condition, Relation heap, Relation index,
					   Snapshot snapshot, int k)
{
	List	   *indexes = ecp_indexes_fold(RelationGetRelid(heap));
	Query	   *query = query_create(heap, index, k, condition->text);

	Assert(k > 0);
	condition->heap = heap;
	condition->index = index;
	condition->snapshot = snapshot;
	condition->type = index->rd_opcintype[0];
	condition->k = k;
	condition->plan = ecp_condition_plan(heap, query, condition->text);
	ecp_indexes_close(indexes);
	/* each search would be compiled anew */
	condition->plan->jitFlags = PGJIT_NONE;
	condition_take_keys(condition, index);
}

void
ecp_knn_condition_free(EcpKnnCondition *condition)
{
	if (condition->run)
		run_end(condition->run);
	MemoryContextDelete(condition->context);
	pfree(condition);
}

/* Keep a row whose distance is NaN, if the index has it. */
static void
keep_indexed(const ItemPointerData *tid, Datum value, void *arg)
{
	EcpKnnCondition *condition = arg;
	ConditionReceiver *receiver = &condition->run->receiver;
	EcpIndexState state;
	EcpVector	vector;

	ecp_meta_read_state(condition->index, &state);
	ecp_vector_read(value, state.meta.ecpm_column_type, &vector);
	if (ecp_prepare(&state.meta, &vector,
					palloc(ecp_vector_bytes(state.meta.ecpm_leader_elem,
											vector.dims))))
		receiver->tids[receiver->n++] = *tid;
	ecp_vector_release(&vector);
}

/*
 * Leave out the rows that a plan other than a scan of the index has found and that
 * are not in it: by cosine those that have no direction.  Their distances are NaN,
 * and last.
 */
static void
leave_out(EcpKnnCondition *condition)
{
	ConditionReceiver *receiver = &condition->run->receiver;
	ItemPointerData *tids;
	int			n = receiver->n;

	while (receiver->n > 0 && isnan(receiver->rows[receiver->n - 1].rank))
		receiver->n--;
	n -= receiver->n;
	if (n == 0)
		return;
	tids = palloc_array(ItemPointerData, n);
	memcpy(tids, receiver->tids + receiver->n, n * sizeof(ItemPointerData));
	ecp_user_table_fetch(condition->heap, condition->index, condition->snapshot,
						 tids, n, keep_indexed, condition);
	pfree(tids);
}

int
ecp_knn_condition_search(EcpKnnCondition *condition, Datum vector,
						 EcpRanked *rows, ItemPointerData *tids)
{
	bool		again = condition->run != NULL;
	MemoryContext old = MemoryContextSwitchTo(condition->context);
	EcpKnnConditionRun *run;
	int			n;

	CHECK_FOR_INTERRUPTS();
	if (!again)
		condition->run = run_begin(condition);
	run = condition->run;
	/* a rescan evaluates it at once */
	run->params->params[0].value = vector;
	run->params->params[0].isnull = false;
	if (again)
		ExecutorRewind(run->desc);
	run->receiver.rows = rows;
	run->receiver.tids = tids;
	run->receiver.n = 0;
	ecp_executor_run(run->desc, 0);
	leave_out(condition);
	n = run->receiver.n;
	Assert(n <= condition->k);

	MemoryContextSwitchTo(old);
	if (!plan_is_scan(condition))
	{
		run_end(run);
		condition->run = NULL;
		MemoryContextReset(condition->context);
	}
	return n;
}

/* Do two keys demand the same? */
static bool
key_equals(Relation index, const ScanKeyData *a, const ScanKeyData *b)
{
	Oid			type = key_type(index, a);
	int16		typlen;
	bool		byval;

	if (a->sk_flags != b->sk_flags || a->sk_attno != b->sk_attno ||
		a->sk_strategy != b->sk_strategy || a->sk_subtype != b->sk_subtype ||
		a->sk_collation != b->sk_collation)
		return false;
	if (!OidIsValid(type))
		return true;
	get_typlenbyval(type, &typlen, &byval);
	return datum_image_eq(a->sk_argument, b->sk_argument, byval, typlen);
}

/* Would ecp_knn_keys_copy() make this copy of the keys of a scan? */
bool
ecp_knn_keys_equal(Relation index, const ScanKeyData *keys, int nkeys,
				   const ScanKeyData *copy, int ncopy)
{
	int			n = 0;

	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i].sk_attno == 1 && (keys[i].sk_flags & SK_SEARCHNOTNULL) != 0)
			continue;
		if (n == ncopy || !key_equals(index, &keys[i], &copy[n++]))
			return false;
	}
	return n == ncopy;
}

/* ---- scan keys for other processes ---- */

Size
ecp_knn_keys_bytes(Relation index, const ScanKeyData *keys, int nkeys)
{
	Size		bytes = mul_size(nkeys, sizeof(ScanKeyData));

	for (int i = 0; i < nkeys; i++)
	{
		Oid			type = key_type(index, &keys[i]);
		int16		typlen = sizeof(Datum);
		bool		byval = true;

		if (OidIsValid(type))
			get_typlenbyval(type, &typlen, &byval);
		bytes += datumEstimateSpace(keys[i].sk_argument, !OidIsValid(type), byval,
									typlen);
	}
	return MAXALIGN(bytes);
}

void
ecp_knn_keys_write(Relation index, const ScanKeyData *keys, int nkeys, char *to)
{
	char	   *value = to + mul_size(nkeys, sizeof(ScanKeyData));

	memcpy(to, keys, nkeys * sizeof(ScanKeyData));
	for (int i = 0; i < nkeys; i++)
	{
		Oid			type = key_type(index, &keys[i]);
		int16		typlen = sizeof(Datum);
		bool		byval = true;

		if (OidIsValid(type))
			get_typlenbyval(type, &typlen, &byval);
		datumSerialize(keys[i].sk_argument, !OidIsValid(type), byval, typlen,
					   &value);
	}
}

/*
 * They compare nothing themselves (ecp_attr_filter.c does), so their functions stay
 * behind.
 */
ScanKeyData *
ecp_knn_keys_read(char *from, int nkeys)
{
	ScanKeyData *keys = palloc_array(ScanKeyData, Max(nkeys, 1));
	char	   *value = from + mul_size(nkeys, sizeof(ScanKeyData));

	memcpy(keys, from, nkeys * sizeof(ScanKeyData));
	for (int i = 0; i < nkeys; i++)
	{
		bool		isnull;

		keys[i].sk_argument = datumRestore(&value, &isnull);
		memset(&keys[i].sk_func, 0, sizeof(FmgrInfo));
	}
	return keys;
}
