/*-------------------------------------------------------------------------
 *
 * device_sql.c
 *	  Queries as texts.
 *
 * A text can only name tables.  Ours are in the schema ecp_storage, which only a
 * superuser can rename, or in pg_catalog.  The schema of a user's table may be
 * renamed before the text is analyzed, and another take its place, where a view
 * could run functions of its owner as the caller: what the name has been found
 * to be is looked at before anything is executed.  Texts name no functions of
 * ours, which could have overloads that fit better (tools/check_sql.sh).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "device/measure/device_sql.h"
#include "base/stop_point.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/tuplestore.h"

char *
ecp_sql_relname(Oid relid)
{
	char	   *relname = get_rel_name(relid);
	char	   *nspname = get_namespace_name(get_rel_namespace(relid));

	if (relname == NULL || nspname == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return quote_qualified_identifier(nspname, relname);
}

void
ecp_sql_execute(int expected, const char *text, int nargs, Oid *types,
				Datum *values, const char *nulls)
{
	int			rc = SPI_execute_with_args(text, nargs, types, values, nulls,
										   expected == SPI_OK_SELECT, 0);

	if (rc != expected)
		elog(ERROR, "could not execute \"%s\": %s", text,
			 SPI_result_code_string(rc));
}

/* Is this the first relation of the query that was analyzed? */
static bool
plan_reads(SPIPlanPtr plan, Oid relid)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));
	Query	   *query = linitial_node(Query, source->query_list);
	RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);

	return rte->rtekind == RTE_RELATION && rte->relid == relid;
}

void
ecp_sql_select(Oid relid, const char *text, SPIPlanPtr *plan, int nargs,
			   Oid *types, int options, Datum *values)
{
	int			rc;

	while (*plan == NULL || !SPI_plan_is_valid(*plan))
	{
		if (*plan != NULL)
			SPI_freeplan(*plan);
		ECP_STOP_POINT("sql-select");
		*plan = SPI_prepare_cursor(text, nargs, types, options);
		if (*plan == NULL)
			elog(ERROR, "could not prepare \"%s\": %s", text,
				 SPI_result_code_string(SPI_result));
	}
	if (!plan_reads(*plan, relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("schema \"%s\" was renamed concurrently",
						get_namespace_name(get_rel_namespace(relid)))));

	/*
	 * A valid plan is not analyzed again: nothing waits for a lock, and so
	 * learns of changes, before that is decided.
	 */
	rc = SPI_execute_plan(*plan, values, NULL, true, 0);
	if (rc != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\": %s", text,
			 SPI_result_code_string(rc));
}

void
ecp_sql_return_rows(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(rsinfo->setResult, SPI_tuptable->vals[i]);
}
