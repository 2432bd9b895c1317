/*-------------------------------------------------------------------------
 *
 * sql_text.c
 *	  Names in the texts of queries and messages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/sql_text.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
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

char *
ecp_sql_text(Oid nspoid, const char *sql)
{
	StringInfoData buf;
	const char *nspname = quote_identifier(get_namespace_name(nspoid));

	initStringInfo(&buf);
	for (const char *c = sql; *c; c++)
	{
		if (c[0] == '%' && c[1] == 'N')
		{
			appendStringInfoString(&buf, nspname);
			c++;
		}
		else
			appendStringInfoChar(&buf, *c);
	}
	return buf.data;
}

void
ecp_sql_execute(Oid nspoid, int expected, const char *sql, int nargs,
				Oid *types, Datum *values, const char *nulls)
{
	char	   *text = ecp_sql_text(nspoid, sql);
	int			rc;

	rc = SPI_execute_with_args(text, nargs, types, values, nulls,
							   expected == SPI_OK_SELECT, 0);
	if (rc != expected)
		elog(ERROR, "could not execute \"%s\": %s", text,
			 SPI_result_code_string(rc));
	pfree(text);
}

void
ecp_sql_return_rows(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(rsinfo->setResult, SPI_tuptable->vals[i]);
}
