/*-------------------------------------------------------------------------
 *
 * core_buffer.h
 *	  What bufmgr.h does not tell of a buffer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CORE_BUFFER_H
#define CORE_BUFFER_H

#include "storage/buf.h"

/* Does this process hold a lock, of either mode?  False of local buffers. */
extern bool ecp_buffer_is_locked(Buffer buffer);

/*
 * For assertions: may this process read the page, or change it?  Local buffers
 * have no locks, and need none.
 */
extern bool ecp_buffer_is_share_locked(Buffer buffer);
extern bool ecp_buffer_is_exclusive_locked(Buffer buffer);

/* The buffer that an address is in, or InvalidBuffer; for error messages */
extern Buffer ecp_buffer_at(const void *address);

/*
 * Let the processor fetch memory; the descriptor of a buffer, if it is shared;
 * and that with part of a page, which may be another one by now.
 */
static inline void
ecp_memory_warm(const char *from, Size bytes)
{
	const Size	cache_line = 64;

	for (const char *p = from; p < from + bytes; p += cache_line)
		__builtin_prefetch(p, 0, 1);
}

extern void ecp_buffer_warm(Buffer buffer);
extern void ecp_buffer_warm_page(Buffer buffer, Size offset, Size bytes);

#endif							/* CORE_BUFFER_H */
