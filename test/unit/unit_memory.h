/*-------------------------------------------------------------------------
 *
 * unit_memory.h
 *	  Random numbers, and memory that ends at a page that cannot be read, for
 *	  unit tests of kernels.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_UNIT_MEMORY_H
#define ECP_UNIT_MEMORY_H

#include <sys/mman.h>
#include <unistd.h>

static uint64 random_state = 1;

/* xorshift64*: the same numbers everywhere */
static uint32
random_u32(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32) ((random_state * UINT64CONST(2685821657736338717)) >> 32);
}

/*
 * Memory of "bytes" bytes that ends where an unreadable page begins; never
 * freed before guard_reset().
 */
static char *guard_area = NULL;
static Size guard_bytes = 0;

static char *
guard_alloc(Size bytes)
{
	Size		page = sysconf(_SC_PAGESIZE);

	guard_bytes = TYPEALIGN(page, bytes) + page;
	guard_area = mmap(NULL, guard_bytes, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guard_area == MAP_FAILED)
		abort();
	mprotect(guard_area + guard_bytes - page, page, PROT_NONE);
	return guard_area + guard_bytes - page - bytes;
}

static void
guard_free(void)
{
	munmap(guard_area, guard_bytes);
}

#endif							/* ECP_UNIT_MEMORY_H */
