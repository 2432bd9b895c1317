/*-------------------------------------------------------------------------
 *
 * device_sql.h
 *	  Queries as texts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_SQL_H
#define ECP_DEVICE_SQL_H

#include "executor/spi.h"
#include "fmgr.h"

/* The schema-qualified, quoted name of a relation; an error if there is none. */
extern char *ecp_sql_relname(Oid relid);

/*
 * Execute a text by SPI, to which the caller is connected; an error unless the
 * result is "expected".  nulls may be NULL, as in SPI.  It names relations of
 * the schema ecp_storage and of pg_catalog only.
 */
extern void ecp_sql_execute(int expected, const char *text, int nargs,
							Oid *types, Datum *values, const char *nulls);

/*
 * Execute a SELECT whose first relation is "relid", which the caller has locked,
 * by the name that ecp_sql_relname() gave.  *plan is NULL at first, and is kept
 * for the next call.  The search path is one that others cannot change.
 */
extern void ecp_sql_select(Oid relid, const char *text, SPIPlanPtr *plan,
						   int nargs, Oid *types, int options, Datum *values);

/*
 * Add the rows of the last query of SPI, whose columns have the types of the
 * function's result, to the set that it returns.
 */
extern void ecp_sql_return_rows(FunctionCallInfo fcinfo);

#endif							/* ECP_DEVICE_SQL_H */
