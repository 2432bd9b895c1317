/*-------------------------------------------------------------------------
 *
 * condition.h
 *	  Conditions on a table's columns that users give as texts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_CONDITION_H
#define ECP_CONDITION_H

#include "nodes/plannodes.h"
#include "parser/parse_node.h"
#include "utils/relcache.h"

/*
 * Add an open table to what a query reads, without its children, and return the
 * condition that is "text", as the parser makes it of a WHERE; NULL if that is
 * NULL.  It is an error if it is no boolean expression, or volatile.
 */
extern Node *ecp_condition_parse(ParseState *pstate, Relation rel,
								 const char *text);
extern PlannedStmt *ecp_condition_plan(Relation rel, Query *query,
									   const char *text);

#endif							/* ECP_CONDITION_H */
