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

/* Let the processor fetch the descriptor of a buffer, if it is shared. */
extern void ecp_buffer_warm(Buffer buffer);

#endif							/* CORE_BUFFER_H */
