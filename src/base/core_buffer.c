/*-------------------------------------------------------------------------
 *
 * core_buffer.c
 *	  Which locks this process holds on the contents of buffers.
 *
 * PostgreSQL 15 has no function for that, so the lock is taken from the buffer's
 * descriptor.
 * It must be known in a damaged index, where a page may refer to one that we
 * have locked ourselves: waiting for that lock would never end, and could not
 * be cancelled.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core_buffer.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"

static LWLock *
content_lock(Buffer buffer)
{
	Assert(BufferIsValid(buffer) && !BufferIsLocal(buffer));
	return BufferDescriptorGetContentLock(GetBufferDescriptor(buffer - 1));
}

bool
ecp_buffer_is_locked(Buffer buffer)
{
	return !BufferIsLocal(buffer) && LWLockHeldByMe(content_lock(buffer));
}

bool
ecp_buffer_is_share_locked(Buffer buffer)
{
	return BufferIsLocal(buffer) || LWLockHeldByMe(content_lock(buffer));
}

bool
ecp_buffer_is_exclusive_locked(Buffer buffer)
{
	return BufferIsLocal(buffer) ||
		LWLockHeldByMeInMode(content_lock(buffer), LW_EXCLUSIVE);
}
