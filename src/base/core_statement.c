/*-------------------------------------------------------------------------
 *
 * core_statement.c
 *	  The CREATE INDEX or ALTER INDEX that the session executes.
 *
 * Core looks for the operator classes of a new index before it calls anything
 * of the access method but the handler, and what it says of a missing one does
 * not help its user: that a default operator class could be defined.  A hook
 * for utility statements could say more, but in a session's first statement the
 * library is not loaded before the handler is called.  So the handler looks
 * at the portal.  Statements within functions have no portal; their users get
 * core's message.
 *
 * From PostgreSQL 17 on, search_path is restricted by then, so that neither the
 * table nor an operator class can be found by what the statement calls it.  Core
 * has told the view of progress which table it is, unless track_activities is
 * off.
 *
 * Nor does core tell amoptions for what it checks storage parameters: for an
 * index that is made, or for one that is there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"

const IndexStmt *
ecp_core_index_statement(Oid *table)
{
	ListCell   *lc;

	if (MyBEEntry == NULL ||
		MyBEEntry->st_progress_command != PROGRESS_COMMAND_CREATE_INDEX)
		return NULL;
	*table = MyBEEntry->st_progress_command_target;
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

List *
ecp_core_set_options(void)
{
	ListCell   *lc;
	List	   *result = NIL;

	if (ActivePortal == NULL ||
		(ActivePortal->commandTag != CMDTAG_ALTER_INDEX &&
		 ActivePortal->commandTag != CMDTAG_ALTER_TABLE))
		return NIL;
	foreach(lc, ActivePortal->stmts)
	{
		const Node *statement = lfirst_node(PlannedStmt, lc)->utilityStmt;
		ListCell   *lc2;

		if (statement == NULL || !IsA(statement, AlterTableStmt))
			continue;
		foreach(lc2, ((const AlterTableStmt *) statement)->cmds)
		{
			const AlterTableCmd *command = lfirst_node(AlterTableCmd, lc2);

			if (command->subtype == AT_SetRelOptions ||
				command->subtype == AT_ResetRelOptions)
				result = list_concat(result, (List *) command->def);
		}
	}
	return result;
}
