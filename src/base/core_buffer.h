/*-------------------------------------------------------------------------
 *
 * core_buffer.h
 *	  Which locks this process holds on the contents of buffers.
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

#endif							/* CORE_BUFFER_H */
