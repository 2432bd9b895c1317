/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  Tables that Citus distributes.
 *
 * Citus keeps them in its catalog pg_dist_partition, on all nodes, and runs
 * commands on nodes by master_run_on_worker(), which is also below its
 * run_command_on_shards().  We call it ourselves because the index of a shard
 * is wanted, not its table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "base/shards.h"
#include "base/sql_text.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

/* Longer arguments are left out of the statement that a hint shows. */
#define SHARDS_HINT_ARGUMENT	40

PGDLLEXPORT Datum ecp_is_distributed(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_run_on_shards(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_is_distributed);
PG_FUNCTION_INFO_V1(ecp_run_on_shards);

/*
 * Run command $1, with the name of shard of relation $2 in the place of %L,
 * for each shard of table $3, or ($4) each copy of it.  The rows of a result
 * become one JSON value, since a node returns one value.  CASE sets the
 * settings first.
 */
static const char *const shards_query =
"WITH settings AS ("
"  SELECT string_agg(format('pg_catalog.set_config(%L::pg_catalog.text,"
"    %L::pg_catalog.text, false)', name, setting), ', ') AS calls"
"  FROM pg_settings"
"  WHERE name LIKE 'ecp.%' AND context = 'user'"
"    AND source IN ('client', 'database', 'user', 'database user', 'session')"
"), copies AS ("
"  SELECT s.shardid, p.nodename::text AS node, p.nodeport::int4 AS port,"
"    row_number() OVER (PARTITION BY s.shardid ORDER BY p.placementid) AS copy"
"  FROM pg_dist_shard AS s JOIN pg_dist_shard_placement AS p USING (shardid)"
"  WHERE s.logicalrelid = $3 AND p.shardstate = 1"
"), called AS MATERIALIZED ("
"  SELECT row_number() OVER (ORDER BY shardid, copy) AS n, shardid, node, port,"
"    concat('SELECT CASE WHEN ROW(true, ' || calls || ') IS NOT NULL THEN ',"
"      CASE WHEN calls IS NULL THEN 'SELECT ' END,"
"      '(SELECT pg_catalog.json_agg(f) FROM (', format($1, shard_name($2, shardid)),"
"      ') AS f)', CASE WHEN calls IS NOT NULL THEN ' END' END) AS command"
"  FROM copies, settings"
"  WHERE copy = 1 OR $4"
"), lists AS ("
"  SELECT array_agg(node ORDER BY n) AS nodes, array_agg(port ORDER BY n) AS ports,"
"    array_agg(command ORDER BY n) AS commands"
"  FROM called"
")"
" SELECT called.shardid, called.node, called.port, r.success, r.result"
" FROM lists, master_run_on_worker(nodes, ports, commands, true)"
"    WITH ORDINALITY AS r (node, port, success, result, n)"
"  JOIN called USING (n) ORDER BY n";

/* The table of an index; any other relation is one itself. */
static Oid
table_of(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_INDEX ?
		IndexGetRelation(relid, false) : relid;
}

bool
ecp_shards_possible(void)
{
	return OidIsValid(get_extension_oid("citus", true));
}

bool
ecp_shards_exist(Oid relid)
{
	Oid			catalog = get_relname_relid("pg_dist_partition",
											PG_CATALOG_NAMESPACE);
	Oid			unique;
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	if (!OidIsValid(catalog) || !ecp_shards_possible())
		return false;
	unique = get_relname_relid("pg_dist_partition_logical_relid_index",
							   PG_CATALOG_NAMESPACE);
	ScanKeyInit(&key, get_attnum(catalog, "logicalrelid"),
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table_of(relid)));
	rel = table_open(catalog, AccessShareLock);
	scan = systable_beginscan(rel, unique, OidIsValid(unique), NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

/* ecp_is_distributed(relation regclass) */
Datum
ecp_is_distributed(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ecp_shards_exist(PG_GETARG_OID(0)));
}

/* The queries here name objects without their schema. */
static int
search_path_begin(void)
{
	int			nestlevel = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return nestlevel;
}

/*
 * Run a command for the shards of a relation, by SPI, to which the caller is
 * connected.  The rows of SPI are the shards, with the JSON in column 5.
 */
static void
run_on_shards(Oid relid, Datum command, bool copies)
{
	Oid			types[4] = {TEXTOID, REGCLASSOID, REGCLASSOID, BOOLOID};
	Datum		args[4] = {command, ObjectIdGetDatum(relid),
		ObjectIdGetDatum(table_of(relid)), BoolGetDatum(copies)};
	int			nestlevel = search_path_begin();

	if (SPI_execute_with_args(shards_query, 4, types, args, NULL, true,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "could not run a command on shards");
	AtEOXact_GUC(false, nestlevel);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;

		if (strcmp(SPI_getvalue(row, desc, 4), "t") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
					 errmsg("shard %s of \"%s\", on %s:%s, reports: %s",
							SPI_getvalue(row, desc, 1), get_rel_name(relid),
							SPI_getvalue(row, desc, 2),
							SPI_getvalue(row, desc, 3),
							SPI_getvalue(row, desc, 5))));
	}
}

/* The JSON of a row; false if the command returned no row. */
static bool
shard_answer(uint64 i, Datum *answer)
{
	char	   *text = SPI_getvalue(SPI_tuptable->vals[i],
									SPI_tuptable->tupdesc, 5);

	/* Citus returns NULL as an empty string */
	if (text == NULL || text[0] == '\0')
		return false;
	*answer = CStringGetTextDatum(text);
	return true;
}

/*
 * ecp_run_on_shards(relation regclass, command text, copies bool)
 *		A row for each shard, with the rows of its answer as JSON.
 */
Datum
ecp_run_on_shards(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			relid = PG_GETARG_OID(0);

	if (!ecp_shards_exist(relid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("%s is neither a distributed table nor an index of one",
						ecp_sql_relname(relid))));
	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	run_on_shards(relid, PG_GETARG_DATUM(1), PG_GETARG_BOOL(2));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[4];
		bool		nulls[4];

		for (int c = 0; c < 3; c++)
			values[c] = SPI_getbinval(SPI_tuptable->vals[i],
									  SPI_tuptable->tupdesc, c + 1, &nulls[c]);
		nulls[3] = !shard_answer(i, &values[3]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	SPI_finish();
	return (Datum) 0;
}

/* Append a text to a format string. */
static void
append_format(StringInfo buf, const char *text)
{
	for (const char *c = text; *c; c++)
	{
		if (*c == '%')
			appendStringInfoChar(buf, '%');
		appendStringInfoChar(buf, *c);
	}
}

/*
 * A call of a function of the same schema as that of fcinfo, with %L, which is
 * to become a shard's relation, as its first argument; the others are these.
 *
 * The nodes look the function up by its name.  Each argument has exactly
 * the declared type, so that no function of the same name which another role has
 * created there fits better; a function with polymorphic arguments cannot be called.
 *
 * Only for a reader, if "most" is not 0, and so without longer arguments.
 */
static char *
shard_command(FunctionCallInfo fcinfo, const char *function, int nargs,
			  const Oid *types, const NullableDatum *args, int most)
{
	Oid			namespace = get_func_namespace(fcinfo->flinfo->fn_oid);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoString(&buf, "SELECT * FROM ");
	append_format(&buf, quote_qualified_identifier(get_namespace_name(namespace),
												   function));
	appendStringInfoString(&buf, "(%L::pg_catalog.regclass");
	for (int i = 0; i < nargs; i++)
	{
		Oid			output;
		bool		isvarlena;
		char	   *value = "NULL";

		Assert(most > 0 || !IsPolymorphicType(types[i]));
		if (!args[i].isnull)
		{
			getTypeOutputInfo(types[i], &output, &isvarlena);
			value = OidOutputFunctionCall(output, args[i].value);
			value = most > 0 && strlen(value) > most ? "..." :
				quote_literal_cstr(value);
		}
		appendStringInfoString(&buf, ", ");
		append_format(&buf, value);
		appendStringInfoString(&buf, "::");
		append_format(&buf, format_type_be_qualified(types[i]));
	}
	appendStringInfoChar(&buf, ')');
	return buf.data;
}

/* The same call as that of fcinfo. */
static char *
shard_call(FunctionCallInfo fcinfo, int most)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	Oid		   *types;
	int			nargs;

	(void) get_func_signature(function, &types, &nargs);
	Assert(nargs == PG_NARGS() && nargs >= 1);
	for (int i = 1; i < nargs; i++)
	{
		if (most > 0 && IsPolymorphicType(types[i]))
			types[i] = get_fn_expr_argtype(fcinfo->flinfo, i);
	}
	return shard_command(fcinfo, get_func_name(function), nargs - 1, types + 1,
						 fcinfo->args + 1, most);
}

/*
 * The query whose rows are those of the function: merge, with the relation
 * "shards" before it, and its columns converted to those of the result.  NULL
 * for rows of shards with the columns of the result, too.
 */
static char *
merge_query(FunctionCallInfo fcinfo, const char *shard_columns, const char *merge)
{
	Oid			type;
	TupleDesc	desc;
	StringInfoData columns;
	StringInfoData names;
	StringInfoData casts;

	if (get_call_result_type(fcinfo, &type, &desc) != TYPEFUNC_COMPOSITE)
	{
		desc = CreateTemplateTupleDesc(1);
		TupleDescInitEntry(desc, 1, get_func_name(fcinfo->flinfo->fn_oid),
						   type, -1, 0);
	}
	initStringInfo(&columns);
	initStringInfo(&names);
	initStringInfo(&casts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		const char *name = quote_identifier(NameStr(att->attname));
		const char *type = format_type_be_qualified(att->atttypid);
		const char *comma = i > 0 ? ", " : "";

		appendStringInfo(&columns, "%s%s %s", comma, name, type);
		appendStringInfo(&names, "%s%s", comma, name);
		appendStringInfo(&casts, "%sm.%s::%s", comma, name, type);
	}
	return psprintf("WITH shards AS MATERIALIZED ("
					"SELECT s.shardid, f.* FROM unnest($1, $2) AS s (shardid, result),"
					" json_to_recordset(s.result::json) AS f (%s))"
					" SELECT %s FROM (%s) AS m (%s)",
					shard_columns ? shard_columns : columns.data, casts.data,
					merge, names.data);
}

/* Return the rows that SPI has. */
static Datum
merge_result(FunctionCallInfo fcinfo)
{
	HeapTuple  *rows = SPI_tuptable->vals;
	TupleDesc	desc = SPI_tuptable->tupdesc;

	if (fcinfo->flinfo->fn_retset)
	{
		ecp_sql_return_rows(fcinfo);
		return (Datum) 0;
	}
	Assert(SPI_processed == 1);
	if (desc->natts > 1)
		return PointerGetDatum(SPI_returntuple(rows[0], BlessTupleDesc(desc)));
	Assert(TupleDescAttr(desc, 0)->attbyval);
	return SPI_getbinval(rows[0], desc, 1, &fcinfo->isnull);
}

/* Execute a query on the answers that SPI has, as its parameters. */
static void
merge_answers(const char *query)
{
	Oid			types[2] = {INT8ARRAYOID, TEXTARRAYOID};
	ArrayBuildState *shards = initArrayResult(INT8OID, CurrentMemoryContext,
											  false);
	ArrayBuildState *answers = initArrayResult(TEXTOID, CurrentMemoryContext,
											   false);
	Datum		args[2];
	int			nestlevel;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		answer;
		bool		isnull;

		if (!shard_answer(i, &answer))
			continue;
		accumArrayResult(answers, answer, false, TEXTOID, CurrentMemoryContext);
		accumArrayResult(shards,
						 SPI_getbinval(SPI_tuptable->vals[i],
									   SPI_tuptable->tupdesc, 1, &isnull),
						 false, INT8OID, CurrentMemoryContext);
	}
	args[0] = makeArrayResult(shards, CurrentMemoryContext);
	args[1] = makeArrayResult(answers, CurrentMemoryContext);
	nestlevel = search_path_begin();
	if (SPI_execute_with_args(query, 2, types, args, NULL, true,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "could not merge the answers of shards");
	AtEOXact_GUC(false, nestlevel);
}

/* Run a command for the shards of the function's first argument, and merge. */
static Datum
call_shards(FunctionCallInfo fcinfo, const char *command, bool copies,
			const char *shard_columns, const char *merge)
{
	Datum		result = (Datum) 0;

	if (fcinfo->flinfo->fn_retset)
		InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	run_on_shards(PG_GETARG_OID(0), CStringGetTextDatum(command), copies);
	if (merge)
	{
		merge_answers(merge_query(fcinfo, shard_columns, merge));
		result = merge_result(fcinfo);
	}
	SPI_finish();
	return result;
}

bool
ecp_shards_call(FunctionCallInfo fcinfo, bool copies, const char *merge,
				Datum *result)
{
	*result = (Datum) 0;
	if (PG_ARGISNULL(0) || !ecp_shards_exist(PG_GETARG_OID(0)))
		return false;
	*result = call_shards(fcinfo, shard_call(fcinfo, 0), copies, NULL, merge);
	return true;
}

void
ecp_shards_query(FunctionCallInfo fcinfo, const char *function, int nargs,
				 const Oid *types, const NullableDatum *args,
				 const char *columns, const char *merge)
{
	(void) call_shards(fcinfo, shard_command(fcinfo, function, nargs, types, args, 0),
					   false, columns, merge);
}

void
ecp_shards_refuse_relation(Oid relid, const char *hint)
{
	Oid			table;

	if (!ecp_shards_exist(relid))
		return;
	table = table_of(relid);
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 relid == table ?
			 errmsg("table \"%s\" is distributed", get_rel_name(table)) :
			 errmsg("\"%s\" is an index of distributed table \"%s\"",
					get_rel_name(relid), get_rel_name(table)),
			 errdetail("Its rows are in shards, on the nodes of Citus."),
			 errhint("%s", hint)));
}

void
ecp_shards_refuse(FunctionCallInfo fcinfo, const char *hint)
{
	Oid			relid = PG_GETARG_OID(0);

	if (!ecp_shards_exist(relid))
		return;
	if (hint == NULL)
		hint = psprintf("Ask each shard: SELECT * FROM ecp_run_on_shards(%s, %s)",
						quote_literal_cstr(ecp_sql_relname(relid)),
						quote_literal_cstr(shard_call(fcinfo,
													  SHARDS_HINT_ARGUMENT)));
	ecp_shards_refuse_relation(relid, hint);
}
