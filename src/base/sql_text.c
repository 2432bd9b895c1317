/*-------------------------------------------------------------------------
 *
 * sql_text.c
 *	  Names in the texts of queries and messages.
 *
 * A text can only name tables, and a name may stand for another table when
 * the text is analyzed: the schema may have been renamed, and another have taken
 * its place.  A view there could run functions of its owner as the caller.  So a
 * hook looks at what the names of such a text have been found to be, before it
 * is rewritten or executed.  Texts name no functions of ours, which could have
 * overloads that fit better (tools/check_sql.sh).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/sql_text.h"
#include "base/stop_point.h"
#include "catalog/pg_namespace.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
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

/* The text whose names are checked, and where its relations are. */
typedef struct CheckedText
{
	const char *text;
	Oid			nspoid;
} CheckedText;

static CheckedText checked;
static bool hooked;
static post_parse_analyze_hook_type previous_hook;

/* Find a relation that is in neither of the schemas where it may be. */
static bool
is_elsewhere(Node *node, void *arg)
{
	const CheckedText *where = arg;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *rte = (RangeTblEntry *) node;
		Oid			nspoid;

		if (rte->rtekind != RTE_RELATION)
			return false;
		nspoid = get_rel_namespace(rte->relid);
		return nspoid != where->nspoid && nspoid != PG_CATALOG_NAMESPACE;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, is_elsewhere, arg,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, is_elsewhere, arg);
}

static void
check_names(ParseState *pstate, Query *query, ECP_JUMBLE_STATE *jstate)
{
	if (previous_hook)
		previous_hook(pstate, query, jstate);
	if (checked.text !=NULL && pstate->p_sourcetext != NULL &&
		strcmp(pstate->p_sourcetext, checked.text) == 0 &&
		is_elsewhere((Node *) query, &checked))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("schema \"%s\" was renamed concurrently",
						get_namespace_name(checked.nspoid))));
}

/* Begin to check this text; returns what was checked before. */
static CheckedText
check_begin(Oid nspoid, const char *text)
{
	CheckedText outer = checked;

	if (!hooked)
	{
		previous_hook = post_parse_analyze_hook;
		post_parse_analyze_hook = check_names;
		hooked = true;
	}
	checked.text = text;

	checked.nspoid = nspoid;
	return outer;
}

SPIPlanPtr
ecp_sql_prepare(Oid nspoid, const char *text, int nargs, Oid *types, int options)
{
	CheckedText outer = check_begin(nspoid, text);
	SPIPlanPtr	plan = NULL;

	PG_TRY();
	{
		plan = SPI_prepare_cursor(text, nargs, types, options);
	}
	PG_FINALLY();
	{
		checked = outer;
	}
	PG_END_TRY();
	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", text,
			 SPI_result_code_string(SPI_result));
	return plan;
}

void
ecp_sql_select_plan(Oid nspoid, const char *text, SPIPlanPtr plan, Datum *values)
{
	CheckedText outer = check_begin(nspoid, text);
	int			rc = 0;

	/* what was prepared may be analyzed again */
	PG_TRY();
	{
		rc = SPI_execute_plan(plan, values, NULL, true, 0);
	}
	PG_FINALLY();
	{
		checked = outer;
	}
	PG_END_TRY();
	if (rc != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\": %s", text,
			 SPI_result_code_string(rc));
}

void
ecp_sql_execute_text(Oid nspoid, int expected, const char *text, int nargs,
					 Oid *types, Datum *values, const char *nulls)
{
	CheckedText outer = check_begin(nspoid, text);
	int			rc = 0;

	PG_TRY();
	{
		ECP_STOP_POINT("sql-execute");
		rc = SPI_execute_with_args(text, nargs, types, values, nulls,
								   expected == SPI_OK_SELECT, 0);
	}
	PG_FINALLY();
	{
		checked = outer;
	}
	PG_END_TRY();
	if (rc != expected)
		elog(ERROR, "could not execute \"%s\": %s", text,
			 SPI_result_code_string(rc));
}

void
ecp_sql_execute(Oid nspoid, int expected, const char *sql, int nargs,
				Oid *types, Datum *values, const char *nulls)
{
	char	   *text = ecp_sql_text(nspoid, sql);

	ecp_sql_execute_text(nspoid, expected, text, nargs, types, values, nulls);
	pfree(text);
}

void
ecp_sql_return_rows(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(rsinfo->setResult, SPI_tuptable->vals[i]);
}
