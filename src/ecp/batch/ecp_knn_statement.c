/*-------------------------------------------------------------------------
 *
 * ecp_knn_statement.c
 *	  Many queries at once: the statement that a user would write.
 *
 *	 SELECT q.number, q.query, n.tid, n.distance
 *	 FROM queries q CROSS JOIN LATERAL
 *		 (SELECT ctid AS tid, v <-> q.vector AS distance FROM ONLY items
 *		  WHERE predicate AND condition ORDER BY v <-> q.vector LIMIT k) n
 *
 * The server parses, plans and executes it as the calling user.  What a condition, a
 * policy or a privilege does is therefore what it does in any query, and the plan has a
 * batch (ecp_path_batch.c) where it can have one.  The queries are a named tuplestore.
 *
 * The text is made of the index's definition, which the server itself deparses so that
 * it is parsed again as what it was, of names with their schemas, and of the condition.
 * That is the caller's, and has been parsed by itself before (base/policy_scan.c), so it
 * is one expression on the columns of the table.  A name can stand for another table
 * when the text is parsed, as a lock does not keep a schema from being renamed: that is
 * found out.
 *
 * Expression and predicate of the index are its owner's and would be evaluated as the
 * calling user.  Therefore, these may not call functions of other roles.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/transam.h"
#include "base/compat.h"
#include "base/stop_point.h"
#include "base/user_index.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "executor/executor.h"
#include "executor/nodeIndexscan.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/portal.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

/* The queries' name; a table of the user's is hardly called so. */
#define STATEMENT_QUERIES	"ecp queries"

const EcpKnnStatement *ecp_knn_statement_planned;

/* ---- the text ---- */

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

char *
ecp_knn_operator(Oid op)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(op));
	Form_pg_operator form;
	char	   *text;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", op);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	text = psprintf("OPERATOR(%s.%s)",
					quote_identifier(get_namespace_name(form->oprnamespace)),
					NameStr(form->oprname));

	ReleaseSysCache(tuple);
	return text;
}

/* An expression of the index's, as the owner has folded it. */
static char *
statement_expression(Relation heap, Node *expression)
{
	List	   *context = deparse_context_for(RelationGetRelationName(heap),
											  RelationGetRelid(heap));

	return psprintf("(%s)", deparse_expression(expression, context, false, false));
}

/* What is indexed, as a vector of the operator's type. */
static char *
statement_vector(Relation index, const char *definition, Oid type)
{
	Oid			wanted = index->rd_opcintype[0];

	if (type == wanted)
		return pstrdup(definition);
	return psprintf("CAST(%s AS %s)", definition,
					format_type_extended(wanted, -1, FORMAT_TYPE_TYPEMOD_GIVEN |
										 FORMAT_TYPE_FORCE_QUALIFY));
}

/* A row with this vector is in the index, and the condition is true of it. */
static char *
statement_where(Relation heap, Relation index, const char *definition,
				const char *condition)
{
	StringInfoData where;
	List	   *predicate = RelationGetIndexPredicate(index);

	initStringInfo(&where);
	appendStringInfo(&where, "%s IS NOT NULL", definition);
	if (predicate != NIL)
		appendStringInfo(&where, " AND %s",
						 statement_expression(heap,
											  (Node *) make_ands_explicit(predicate)));
	if (condition)
	{
		ParseState *pstate = make_parsestate(NULL);

		(void) ecp_condition_parse(pstate, heap, condition);
		free_parsestate(pstate);
		/* it may end with a comment */
		appendStringInfo(&where, " AND (%s\n)", condition);
	}
	return where.data;
}

/*
 * ecp_knn_statement_begin
 *		Begin with a valid index and its table, which are open.
 */
void
ecp_knn_statement_begin(EcpKnnStatement *statement, Relation heap, Relation index,
						const char *condition)
{
	char	   *schema = get_namespace_name(RelationGetNamespace(heap));
	char	   *name = RelationGetRelationName(heap);
	AttrNumber	attno = index->rd_index->indkey.values[0];
	Node	   *expression;
	const char *definition;
	Oid			type;

	statement->heap = heap;
	statement->index = index;
	statement->by_index = condition == NULL;
	statement->folded = ecp_indexes_fold(RelationGetRelid(heap));
	statement->indexes = RelationGetIndexList(heap);
	expression = attno == 0 ? linitial(RelationGetIndexExpressions(index)) : NULL;
	if (expression_is_foreign(expression, NULL) ||
		expression_is_foreign((Node *) RelationGetIndexPredicate(index), NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" cannot be searched by this function",
						RelationGetRelationName(index)),
				 errdetail("Its expression or predicate calls functions of another role."),
				 errhint("A query of the table calls them with the rights of the current user.")));

	if (expression)
	{
		definition = statement_expression(heap, expression);
		type = exprType(expression);
	}
	else
	{
		const FormData_pg_attribute *att = TupleDescAttr(RelationGetDescr(heap), attno - 1);

		definition = quote_identifier(NameStr(att->attname));
		type = att->atttypid;
	}
	statement->table = psprintf("ONLY %s", quote_qualified_identifier(schema, name));
	statement->name = quote_identifier(name);
	statement->queries = strcmp(name, "q") == 0 ? "p" : "q";
	statement->vector = statement_vector(index, definition, type);
	statement->operator =
		ecp_knn_operator(get_opfamily_member(index->rd_opfamily[0], index->rd_opcintype[0],
											 index->rd_opcintype[0], ECP_DISTANCE_STRATEGY));
	statement->where = statement_where(heap, index, definition, condition);
	ECP_STOP_POINT("knn-statement");
}

void
ecp_knn_statement_end(EcpKnnStatement *statement)
{
	ecp_indexes_close(statement->folded);
}

/*
 * ecp_knn_statement_open
 *		Open the index that is the first argument of a function, and take the queries
 *		that are the second.
 */
void
ecp_knn_statement_open(EcpKnnStatement *statement, FunctionCallInfo fcinfo,
					   const char *condition, EcpKnnInput *input)
{
	Relation	heap;
	Relation	index = ecp_user_index_open(fcinfo, AccessShareLock,
											ECP_INDEX_READ,
											&ecp_index_kind, &heap);

	ecp_knn_input_init(input, index);
	ecp_meta_read_state(index, &statement->state);
	if (!EcpIndexIsEmpty(&statement->state))
		input->meta = &statement->state.meta;
	ecp_knn_input_read(input, PG_GETARG_DATUM(1),
					   get_fn_expr_argtype(fcinfo->flinfo, 1));
	ecp_knn_statement_begin(statement, heap, index, condition);
}

void
ecp_knn_statement_close(EcpKnnStatement *statement, EcpKnnInput *input)
{
	ecp_knn_statement_end(statement);
	tuplestore_end(input->store);
	index_close(statement->index, AccessShareLock);
	table_close(statement->heap, AccessShareLock);
}

char *
ecp_knn_statement_search(const EcpKnnStatement *statement, int k, int ncolumns,
						 char *const *columns, bool distance)
{
	const char *q = statement->queries;
	StringInfoData sql;
	char	   *order = psprintf("%s %s %s.vector", statement->vector,
								 statement->operator, q);

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT %s.number, %s.query, n.* FROM \"" STATEMENT_QUERIES
					 "\" AS %s CROSS JOIN LATERAL (SELECT %s.ctid AS tid, %s AS distance",
					 q, q, q, statement->name,
					 distance ? order : "CAST(NULL AS pg_catalog.float8)");
	for (int i = 0; i < ncolumns; i++)
		appendStringInfo(&sql, ", %s.%s AS c%d", statement->name,
						 quote_identifier(columns[i]), i + 1);
	appendStringInfo(&sql, " FROM %s WHERE %s ORDER BY %s LIMIT %d) AS n "
					 "WHERE %s.vector IS NOT NULL",
					 statement->table, statement->where, order, k, q);
	return sql.data;
}

/* ---- running it ---- */

/* Takes the rows of a statement. */
typedef struct StatementReceiver
{
	DestReceiver pub;			/* must be first */
	const IndexScanState *scan; /* that knows their distances, or NULL */
	EcpKnnRowVisitor visitor;
	void	   *arg;
	Datum	   *values;
	bool	   *nulls;
} StatementReceiver;

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	StatementReceiver *receiver = (StatementReceiver *) self;
	int			n = slot->tts_tupleDescriptor->natts;

	CHECK_FOR_INTERRUPTS();
	slot_getallattrs(slot);
	memcpy(receiver->values, slot->tts_values, n * sizeof(Datum));
	memcpy(receiver->nulls, slot->tts_isnull, n * sizeof(bool));
	if (receiver->scan)
	{
		receiver->values[3] = receiver->scan->iss_ScanDesc->xs_orderbyvals[0];
		receiver->nulls[3] = receiver->scan->iss_ScanDesc->xs_orderbynulls[0];
	}
	receiver->visitor(slot->tts_tupleDescriptor, receiver->values, receiver->nulls,
					  receiver->arg);
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	StatementReceiver *receiver = (StatementReceiver *) self;

	receiver->values = palloc_array(Datum, desc->natts);
	receiver->nulls = palloc_array(bool, desc->natts);
}

static void
receive_shutdown(DestReceiver *self)
{
}

/* The scan of the index that returns the rows of a plan one by one, or NULL. */
static IndexScanState *
statement_scan(const EcpKnnStatement *statement, PlanState *node)
{
	while (node != NULL)
	{
		switch (nodeTag(node))
		{
			case T_IndexScanState:
				{
					IndexScanState *scan = castNode(IndexScanState, node);

					return RelationGetRelid(scan->iss_RelationDesc) ==
						RelationGetRelid(statement->index) &&
						scan->iss_NumOrderByKeys == 1 ? scan : NULL;
				}
			case T_NestLoopState:
				node = innerPlanState(node);
				break;
			case T_SubqueryScanState:
				node = castNode(SubqueryScanState, node)->subplan;
				break;
			case T_LimitState:
			case T_ResultState:
				node = outerPlanState(node);
				break;
			default:
				return NULL;
		}
	}
	return NULL;
}

static void
statement_set_option(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
}

/* The settings of a statement, which its planner and executor see. */
static int
statement_set(const EcpKnnStatement *statement)
{
	int			nestlevel = NewGUCNestLevel();

	statement_set_option("ecp.enable_batch_join", "on");
	/* each scan evaluates little */
	statement_set_option("jit", "off");
	/* without a condition it is the index that the user has named */
	if (statement->by_index)
		statement_set_option("enable_seqscan", "off");
	return nestlevel;
}

/* Plan a statement, whose parameter is a vector of the index if there are no queries. */
static Portal
statement_start(const EcpKnnStatement *statement, EcpKnnInput *input, const char *sql,
				Datum vector)
{
	Oid			type = statement->index->rd_opcintype[0];
	CachedPlanSource *source;
	SPIPlanPtr	plan;
	Portal		portal;

	if (input)
	{
		EphemeralNamedRelation queries = palloc0_object(EphemeralNamedRelationData);

		queries->md.name = STATEMENT_QUERIES;
		queries->md.tupdesc = input->desc;
		queries->md.enrtype = ENR_NAMED_TUPLESTORE;
		queries->md.enrtuples = input->n;
		queries->reldata = input->store;
		if (SPI_register_relation(queries) != SPI_OK_REL_REGISTER)
			elog(ERROR, "could not register queries");
	}
	plan = SPI_prepare(sql, input ? 0 : 1, &type);
	if (plan == NULL)
		elog(ERROR, "could not prepare query: %s",
			 SPI_result_code_string(SPI_result));
	source = linitial(SPI_plan_get_plan_sources(plan));
	if (!list_member_oid(source->relationOids, RelationGetRelid(statement->heap)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("schema of table \"%s\" was renamed meanwhile",
						RelationGetRelationName(statement->heap))));
	ecp_knn_statement_planned = statement;
	PG_TRY();
	{
		portal = SPI_cursor_open(NULL, plan, &vector, NULL, true);
	}
	PG_FINALLY();
	{
		ecp_knn_statement_planned = NULL;
	}
	PG_END_TRY();
	return portal;
}

/*
 * Run a statement.  False, and nothing is done, if the distances are to come from a scan
 * and the plan has none that knows them.
 */
static bool
statement_run(const EcpKnnStatement *statement, EcpKnnInput *input, const char *sql,
			  bool from_scan, EcpKnnRowVisitor visitor, void *arg)
{
	StatementReceiver receiver = {{0}};
	int			nestlevel = statement_set(statement);
	Portal		portal;
	bool		done;

	receiver.pub.receiveSlot = receive_row;
	receiver.pub.rStartup = receive_startup;
	receiver.pub.rShutdown = receive_shutdown;
	receiver.pub.rDestroy = receive_shutdown;
	receiver.pub.mydest = DestNone;
	receiver.visitor = visitor;
	receiver.arg = arg;
	SPI_connect();
	portal = statement_start(statement, input, sql, (Datum) 0);
	if (from_scan)
		receiver.scan = statement_scan(statement, portal->queryDesc->planstate);
	done = !from_scan || receiver.scan != NULL;
	if (done)
		PortalRunFetch(portal, FETCH_FORWARD, FETCH_ALL, &receiver.pub);
	SPI_cursor_close(portal);
	SPI_finish();
	AtEOXact_GUC(true, nestlevel);
	return done;
}

void
ecp_knn_statement_run(const EcpKnnStatement *statement, EcpKnnInput *input,
					  const char *sql, EcpKnnRowVisitor visitor, void *arg)
{
	(void) statement_run(statement, input, sql, false, visitor, arg);
}

/*
 * ecp_knn_statement_run_search
 *		Run ecp_knn_statement_search().  Where the index has exact distances and the plan
 *		is a scan of it, they are not computed again, for which the vectors would be read.
 */
void
ecp_knn_statement_run_search(const EcpKnnStatement *statement, EcpKnnInput *input,
							 int k, int ncolumns, char *const *columns,
							 EcpKnnRowVisitor visitor, void *arg)
{
	bool		exact = input->meta != NULL && EcpDistancesAreExact(input->meta);
	char	   *sql = ecp_knn_statement_search(statement, k, ncolumns, columns, false);

	if (exact && statement_run(statement, input, sql, true, visitor, arg))
		return;
	sql = ecp_knn_statement_search(statement, k, ncolumns, columns, true);
	/* rounded vectors come in the order of their distances */
	if (!exact)
		sql = psprintf("%s ORDER BY 1, 4, 3", sql);
	(void) statement_run(statement, input, sql, false, visitor, arg);
}

/*
 * ecp_knn_statement_keys
 *		The keys of the scan, in the current memory context, if the k nearest rows of a
 *		vector are found by a scan of the index that checks nothing else.
 */
bool
ecp_knn_statement_keys(const EcpKnnStatement *statement, Datum vector, int k,
					   ScanKeyData **keys, int *nkeys)
{
	char	   *sql = psprintf("SELECT 1 FROM %s WHERE %s ORDER BY %s %s $1 LIMIT %d",
							   statement->table, statement->where, statement->vector,
							   statement->operator, k);
	MemoryContext context = CurrentMemoryContext;
	IndexScanState *scan;
	Portal		portal;
	bool		found = false;

	SPI_connect();
	portal = statement_start(statement, NULL, sql, vector);
	scan = statement_scan(statement, portal->queryDesc->planstate);
	if (scan != NULL && scan->ss.ps.plan->qual == NIL)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		if (scan->iss_NumRuntimeKeys > 0)
			ExecIndexEvalRuntimeKeys(scan->iss_RuntimeContext, scan->iss_RuntimeKeys,
									 scan->iss_NumRuntimeKeys);
		*keys = palloc_array(ScanKeyData, Max(scan->iss_NumScanKeys, 1));
		found = ecp_knn_keys_copy(statement->index, scan->iss_ScanKeys,
								  scan->iss_NumScanKeys, *keys, nkeys);
		MemoryContextSwitchTo(old);
	}
	SPI_cursor_close(portal);
	SPI_finish();
	return found;
}
