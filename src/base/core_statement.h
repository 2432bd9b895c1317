/*-------------------------------------------------------------------------
 *
 * core_statement.h
 *	  The CREATE INDEX or ALTER INDEX that the session executes.
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

/*
 * The storage parameters that the ALTER INDEX or ALTER TABLE that a client has
 * sent sets or resets, as DefElems.
 */
extern List *ecp_core_set_options(void);

#endif							/* ECP_CORE_STATEMENT_H */
