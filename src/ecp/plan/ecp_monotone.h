/*-------------------------------------------------------------------------
 *
 * ecp_monotone.h
 *	  Expressions that rise or fall with a distance.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_MONOTONE_H
#define ECP_MONOTONE_H

#include "nodes/pathnodes.h"

/* How a bound of the value becomes one of the argument. */
typedef enum EcpMonotoneKind
{
	ECP_MONOTONE_PLUS,			/* argument + operand */
	ECP_MONOTONE_MINUS_FROM,	/* operand - argument */
	ECP_MONOTONE_TIMES,			/* argument * factor */
	ECP_MONOTONE_ROUND,			/* to the next multiple of a number */
	ECP_MONOTONE_INTO,			/* operand / argument, which must not be 0 */
	ECP_MONOTONE_OTHER			/* not at all */
} EcpMonotoneKind;

/* One step of a monotone function: "1 - x" of x. */
typedef struct EcpMonotoneStep
{
	Node	   *argument;
	bool		falls;			/* while the argument rises */
	EcpMonotoneKind kind;
	float8		number;			/* operand or factor; NaN if not known yet */
} EcpMonotoneStep;

extern bool ecp_monotone_step(PlannerInfo *root, Index relid, Node *node,
							  EcpMonotoneStep *step);
extern Node *ecp_monotone_bound(const EcpMonotoneStep *step, Node *bound,
								bool above);

#endif							/* ECP_MONOTONE_H */
