/*-------------------------------------------------------------------------
 *
 * spare.c
 *	  Memory that is kept from one use to the next.
 *
 * A search has arrays of some ten to hundred kilobytes.  malloc() gives
 * such pieces back to the operating system when they are freed, and the next
 * search of the backend pays for each page again by a page fault, which is
 * up to a tenth of its time.  Therefore the owner of such arrays allocates them
 * in a context together with all that refers to them, and leaves it here.
 *
 * An object is either here, with its context below TopMemoryContext, or in
 * use, with its context below its user's.  So an error leaks nothing, and two
 * users at a time do not meet: the second makes an object of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/spare.h"
#include "utils/memutils.h"

/* Objects of more bytes are not kept. */
#define SPARE_BYTES_MAX		(4 * 1024 * 1024)

void *
ecp_spare_take(EcpSpare *spare)
{
	void	   *object = spare->object;

	if (object == NULL)
		return NULL;
	spare->object = NULL;
	MemoryContextSetParent(spare->context, CurrentMemoryContext);
	return object;
}

void
ecp_spare_give(EcpSpare *spare, void *object, MemoryContext context)
{
	if (spare->object != NULL ||
		MemoryContextMemAllocated(context, true) > SPARE_BYTES_MAX)
	{
		MemoryContextDelete(context);
		return;
	}
	MemoryContextSetParent(context, TopMemoryContext);
	spare->object = object;
	spare->context = context;
}
