/*-------------------------------------------------------------------------
 *
 * core_statement.h
 *	  The CREATE INDEX that the session executes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_CORE_STATEMENT_H
#define ECP_CORE_STATEMENT_H

#include "nodes/parsenodes.h"

/*
 * The CREATE INDEX that a client has sent and that is being executed, as the
 * grammar made it, and its table; or NULL.
 */
extern const IndexStmt *ecp_core_index_statement(Oid *table);

#endif							/* ECP_CORE_STATEMENT_H */
