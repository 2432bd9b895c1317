/*-------------------------------------------------------------------------
 *
 * sql_text.h
 *	  Names in the texts of queries and messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SQL_TEXT_H
#define ECP_SQL_TEXT_H

#include "executor/spi.h"
#include "fmgr.h"

/* The schema-qualified, quoted name of a relation; an error if there is none. */
extern char *ecp_sql_relname(Oid relid);

/*
 * Text with %N replaced by the quoted name of the schema that holds the
 * extension, which may be moved.
 */
extern char *ecp_sql_text(Oid nspoid, const char *sql);

/*
 * Execute such a text by SPI, to which the caller is connected; an error
 * unless the result is "expected".  nulls may be NULL, as in SPI.  The
 * relations that it names are of this schema, even if that is renamed
 * meanwhile, or of pg_catalog.
 */
extern void ecp_sql_execute(Oid nspoid, int expected, const char *sql,
							int nargs, Oid *types, Datum *values,
							const char *nulls);

/*
 * The same without %N, for relations of any schema; and in two steps, of which
 * the second returns rows as SPI_execute_plan() does.
 */
extern void ecp_sql_execute_text(Oid nspoid, int expected, const char *text,
								 int nargs, Oid *types, Datum *values,
								 const char *nulls);
extern SPIPlanPtr ecp_sql_prepare(Oid nspoid, const char *text, int nargs,
								  Oid *types, int options);
extern void ecp_sql_select_plan(Oid nspoid, const char *text, SPIPlanPtr plan,
								Datum *values);

/*
 * Add the rows of the last query of SPI, whose columns have the types of the
 * function's result, to the set that it returns.
 */
extern void ecp_sql_return_rows(FunctionCallInfo fcinfo);

#endif							/* ECP_SQL_TEXT_H */
