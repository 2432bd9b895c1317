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
static inline uint32
random_u32(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (uint32) ((random_state * UINT64CONST(2685821657736338717)) >> 32);
}

/* The same from -1 to 1. */
static inline double
random_number(void)
{
	return (int32) random_u32() / 2147483648.0;
}

/* Memory of so many bytes that ends where an unreadable page begins. */
static inline char *
guard_alloc(Size bytes)
{
	Size		page = sysconf(_SC_PAGESIZE);
	Size		readable = TYPEALIGN(page, bytes);
	char	   *area = mmap(NULL, readable + page, PROT_READ | PROT_WRITE,
							MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED ||
		mprotect(area + readable, page, PROT_NONE) != 0)
		abort();
	return area + readable - bytes;
}

static inline void
guard_free(void *memory, Size bytes)
{
	Size		page = sysconf(_SC_PAGESIZE);
	Size		readable = TYPEALIGN(page, bytes);

	munmap((char *) memory + bytes - readable, readable + page);
}

#endif							/* ECP_UNIT_MEMORY_H */
