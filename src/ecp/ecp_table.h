/*-------------------------------------------------------------------------
 *
 * ecp_table.h
 *	  An index together with its table, for SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TABLE_H
#define ECP_TABLE_H

#include "ecp/ecp.h"
#include "utils/portal.h"

extern void ecp_table_open(Oid index_oid, Relation *heap, Relation *index);
extern char *ecp_table_query(Relation heap, Relation index);
extern Portal ecp_query_open(const char *sql);
extern void ecp_query_check_type(Oid wanted, Oid type);

#endif							/* ECP_TABLE_H */
