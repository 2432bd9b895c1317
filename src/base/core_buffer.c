/*-------------------------------------------------------------------------
 *
 * core_buffer.c
 *	  What bufmgr.h does not tell of a buffer.
 *
 * Which locks this process holds on a buffer's contents: up to PostgreSQL 18
 * there is no function for that, so the lock is taken from the buffer's
 * descriptor.  It must be known in a damaged index, where a page may refer to one
 * that we have locked ourselves: waiting for that lock would never end, and could
 * not be cancelled.
 *
 * Where the buffer's descriptor is: a pin of a buffer that was not used for a
 * while begins with a cache miss there, which a search that knows its next pages
 * takes early.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/core.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"

bool
ecp_buffer_is_locked(Buffer buffer)
{
	return !BufferIsLocal(buffer) && ecp_content_lock_held(buffer);
}

bool
ecp_buffer_is_share_locked(Buffer buffer)
{
	return BufferIsLocal(buffer) || ecp_content_lock_held(buffer);
}

bool
ecp_buffer_is_exclusive_locked(Buffer buffer)
{
	return BufferIsLocal(buffer) ||
		ecp_content_lock_held_exclusively(buffer);
}

Buffer
ecp_buffer_at(const void *address)
{
	uintptr_t	at = (uintptr_t) address;
	uintptr_t	shared = (uintptr_t) BufferBlocks;

	if (at >= shared && (at - shared) / BLCKSZ < (uintptr_t) NBuffers)
		return (Buffer) ((at - shared) / BLCKSZ) + 1;
	for (int i = 0; i < NLocBuffer; i++)
	{
		uintptr_t	local = (uintptr_t) LocalBufferBlockPointers[i];

		if (local != 0 && at >= local && at < local + BLCKSZ)
			return -(i + 1);
	}
	return InvalidBuffer;
}

void
ecp_buffer_warm(Buffer buffer)
{
	Assert(BufferIsValid(buffer));
	if (!BufferIsLocal(buffer))
		__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
}

void
ecp_buffer_warm_page(Buffer buffer, Size offset, Size bytes)
{
	const char *page = BufferGetPage(buffer);

	Assert(offset + bytes <= BLCKSZ);

	ecp_buffer_warm(buffer);
	ecp_memory_warm(page, 1);
	ecp_memory_warm(page + offset, bytes);
	ecp_memory_warm(page + BLCKSZ - 1, 1);
}
