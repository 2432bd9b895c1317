/*-------------------------------------------------------------------------
 *
 * spare.h
 *	  Memory that is kept from one use to the next.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SPARE_H
#define ECP_SPARE_H

#include "storage/shmem.h"
#include "utils/memutils.h"

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

/*
 * An array, or NULL at first, with room for "needed" items of "bytes"; *max is how many
 * it has room for.
 */
static inline void *
ecp_enlarge(MemoryContext context, void *array, int *max, int needed, Size bytes)
{
	if (likely(needed <= *max))
		return array;
	*max = Max(Max(64, 2 * *max), needed);
	return array == NULL ? MemoryContextAllocHuge(context, mul_size(*max, bytes)) :
		repalloc_huge(array, mul_size(*max, bytes));
}

#endif							/* ECP_SPARE_H */
