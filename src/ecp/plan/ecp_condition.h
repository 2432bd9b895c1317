/*-------------------------------------------------------------------------
 *
 * ecp_condition.h
 *	  Conditions on key columns that are no "column operator value".
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_CONDITION_H
#define ECP_CONDITION_H

#include "ecp/plan/ecp_match.h"

/*
 * What an index can check of a condition, whose first key column is "column",
 * or NULL.  *lossy is set if rows that it lets through must be checked again.
 */
extern Expr *ecp_condition_make(const EcpMatch *match, Node *clause,
								int column, bool *lossy);

/*
 * The conditions that "column LIKE 'x%'" and the like imply, of a column that keeps
 * the first bytes of a text; NIL if there are none.
 */
extern List *ecp_condition_make_prefix(const EcpMatch *match, Node *clause,
									   int column);

/*
 * If the condition is "value = ANY (column)" of a column with tags, the array of the
 * value, with which "&&" says the same; or NULL.
 */
extern Node *ecp_condition_element(const EcpMatch *match,
								   const ScalarArrayOpExpr *op, int column);

#endif							/* ECP_CONDITION_H */
