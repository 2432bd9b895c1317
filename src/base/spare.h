/*-------------------------------------------------------------------------
 *
 * spare.h
 *	  Memory that is kept from one use to the next.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SPARE_H
#define ECP_SPARE_H

#include "utils/palloc.h"

/* An object that is not in use, and the context of all that belongs to it. */
typedef struct EcpSpare
{
	void	   *object;			/* NULL: there is none */
	MemoryContext context;
} EcpSpare;

/*
 * The object, if there is one, else NULL.  Its context becomes a child of the
 * current one, like one that is made anew: if an error
 * prevents its return, it is freed with that context.
 */
extern void *ecp_spare_take(EcpSpare *spare);

/*
 * Keep an object that was taken, or one that is new; if one is kept already,
 * or if this one is large, delete its context.
 */
extern void ecp_spare_give(EcpSpare *spare, void *object,
						   MemoryContext context);

#endif							/* ECP_SPARE_H */
