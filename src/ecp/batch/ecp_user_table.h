/*-------------------------------------------------------------------------
 *
 * ecp_user_table.h
 *	  An index together with its table, for SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_USER_TABLE_H
#define ECP_USER_TABLE_H

#include "access/tableam.h"
#include "base/user_index.h"
#include "ecp/page/ecp_page.h"
#include "nodes/execnodes.h"

/* What evaluates what an index has of a row. */
typedef struct EcpUserTableRows
{
	EcpCaller	caller;
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;		/* for the row */
} EcpUserTableRows;

/*
 * Called with each row that the index has, or should have: its TID and what
 * is indexed, which is not NULL.  The memory context is reset after each.
 */
typedef void (*EcpUserTableVisitor) (const ItemPointerData *tid, Datum value,
									 void *arg);

extern void ecp_user_table_rows_begin(EcpUserTableRows *rows, Relation heap,
									  Relation index);
extern bool ecp_user_table_row_value(EcpUserTableRows *rows, Datum *value);

/*
 * The distance of the row in rows->slot from a query, as the operator returns it;
 * false if the index does not have the row.  "query" are the query's elements.
 */
extern bool ecp_user_table_row_distance(EcpUserTableRows *rows, Relation index,
										const EcpMetaPageData *meta,
										const void *query, float8 *distance);
extern void ecp_user_table_rows_end(EcpUserTableRows *rows);
extern void ecp_user_table_scan(Relation heap, Relation index, TableScanDesc scan,
								EcpUserTableVisitor visitor, void *arg);
extern void ecp_user_table_fetch(Relation heap, Relation index, Snapshot snapshot,
								 const ItemPointerData *tids, int ntids,
								 EcpUserTableVisitor visitor, void *arg);

/* A column that a user names, as SELECT would find it: also a system column. */
typedef struct EcpUserColumn
{
	AttrNumber	attnum;
	Oid			type;
	Oid			collation;
} EcpUserColumn;

extern void ecp_user_table_column(Relation heap, const char *name,
								  EcpUserColumn *column);
extern Datum ecp_user_table_column_value(const EcpUserColumn *column,
										 TupleTableSlot *slot, bool *isnull);

/*
 * The function that makes vectors of the index out of values of a type;
 * InvalidOid if they are vectors of the index.  It is an error if there is no
 * such function, or, if "missing_ok", InvalidOid too.
 */
extern Oid	ecp_user_table_conversion(Relation index, Oid type, bool missing_ok);

#endif							/* ECP_USER_TABLE_H */
