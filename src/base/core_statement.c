/*-------------------------------------------------------------------------
 *
 * core_statement.c
 *	  The CREATE INDEX that the session executes.
 *
 * Core looks for the operator classes of a new index before it calls anything
 * of the access method but the handler, and what it says of a missing one does
 * not help its user: that a default operator class could be defined.  A hook
 * for utility statements could say more, but in a session's first statement the
 * library is not loaded before the handler is called.  So the handler looks
 * at the portal.  Statements within functions have no portal; their users get
 * core's message.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core_statement.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"

const IndexStmt *
ecp_core_index_statement(void)
{
	ListCell   *lc;

	if (ActivePortal == NULL || ActivePortal->commandTag != CMDTAG_CREATE_INDEX)
		return NULL;
	foreach(lc, ActivePortal->stmts)
	{
		const PlannedStmt *statement = lfirst_node(PlannedStmt, lc);

		if (statement->utilityStmt && IsA(statement->utilityStmt, IndexStmt))
			return (const IndexStmt *) statement->utilityStmt;
	}
	return NULL;
}
