/*-------------------------------------------------------------------------
 *
 * device_memory.c
 *	  Throughput of memory, by the seven functions of "Comparing Multimedia
 *	  Storage Architectures".
 *
 *	ISB		initialise a buffer shared by mapping (memset)
 *	IPCISB	the same in a segment of the server's dynamic shared memory
 *	ISLB	initialise a small local buffer
 *	ILLB	initialise a large local buffer
 *	CSLTSB	copy a small local buffer to a shared one (memcpy)
 *	CLLTSB	copy a large local buffer to a shared one
 *	SSLTSB	shuffle a small local buffer into a shared one, word by word
 *
 * Small is 32 kB (published: 8 to 64), large is 4 MB (1 to 8).  Together with
 * the profile of a tablespace this tells which component a stream keeps
 * busiest: see ecp_admit().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>

#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/dsm.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "device/measure/device_measure.h"

#define MEMORY_SMALL_BYTES	(32 * 1024)
#define MEMORY_LARGE_BYTES	(4 * 1024 * 1024)

/* words of a shuffle are this far apart: another page each time */
#define MEMORY_STRIDE		521

PG_FUNCTION_INFO_V1(ecp_memory_bench);

enum
{
	MEMORY_MAPPED,				/* large, shared */
	MEMORY_SEGMENT,				/* large, dynamic shared memory */
	MEMORY_SMALL,				/* local */
	MEMORY_LARGE,				/* local */
	MEMORY_BUFFERS
};

typedef struct MemoryTest
{
	const char *name;
	enum
	{
		MEMORY_SET, MEMORY_COPY, MEMORY_SHUFFLE
	}			kind;
	int			to;
	int			from;
	Size		bytes;
} MemoryTest;

static const MemoryTest memory_tests[] = {
	{"ISB", MEMORY_SET, MEMORY_MAPPED, 0, MEMORY_LARGE_BYTES},
	{"IPCISB", MEMORY_SET, MEMORY_SEGMENT, 0, MEMORY_LARGE_BYTES},
	{"ISLB", MEMORY_SET, MEMORY_SMALL, 0, MEMORY_SMALL_BYTES},
	{"ILLB", MEMORY_SET, MEMORY_LARGE, 0, MEMORY_LARGE_BYTES},
	{"CSLTSB", MEMORY_COPY, MEMORY_MAPPED, MEMORY_SMALL, MEMORY_SMALL_BYTES},
	{"CLLTSB", MEMORY_COPY, MEMORY_MAPPED, MEMORY_LARGE, MEMORY_LARGE_BYTES},
	{"SSLTSB", MEMORY_SHUFFLE, MEMORY_MAPPED, MEMORY_SMALL, MEMORY_SMALL_BYTES},
};

/* Transfer the bytes of a test once. */
static void
memory_transfer(const MemoryTest *test, char **buffers, int round)
{
	char	   *to = buffers[test->to];
	const uint64 *words = (const uint64 *) buffers[test->from];
	int			at = round;

	switch (test->kind)
	{
		case MEMORY_SET:
			memset(to, round, test->bytes);
			break;
		case MEMORY_COPY:
			memcpy(to + round % (MEMORY_LARGE_BYTES / test->bytes) * test->bytes,
				   buffers[test->from], test->bytes);
			break;
		case MEMORY_SHUFFLE:
			for (Size i = 0; i < test->bytes / sizeof(uint64); i++)
			{
				at = (at + MEMORY_STRIDE) % (int) (MEMORY_LARGE_BYTES / sizeof(uint64));
				((volatile uint64 *) to)[at] = words[i];
			}
			break;
	}
}

static double
memory_mb_s(const MemoryTest *test, char **buffers, double seconds)
{
	double		bytes = 0;
	double		elapsed = 0;
	instr_time	start;

	Assert(seconds > 0);
	memory_transfer(test, buffers, 0);	/* touch the pages */
	INSTR_TIME_SET_CURRENT(start);
	for (int round = 1; elapsed < seconds; round++)
	{
		memory_transfer(test, buffers, round);
		bytes += test->bytes;
		if (round % 16 == 0)
		{
			CHECK_FOR_INTERRUPTS();
			elapsed = ecp_job_elapsed(start);
		}
	}
	return bytes / elapsed * 1e-6;
}

/*
 * ecp_memory_bench(seconds)
 *		A row for each function.
 */
Datum
ecp_memory_bench(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	double		seconds = PG_GETARG_FLOAT8(0);
	char	   *buffers[MEMORY_BUFFERS];
	dsm_segment *segment;

	if (!(seconds > 0 && seconds <= 60))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time of each function must be from 0 to 60 seconds")));
	InitMaterializedSRF(fcinfo, 0);
	segment = dsm_create(MEMORY_LARGE_BYTES, 0);
	buffers[MEMORY_SEGMENT] = dsm_segment_address(segment);
	buffers[MEMORY_SMALL] = palloc(MEMORY_SMALL_BYTES);
	buffers[MEMORY_LARGE] = palloc(MEMORY_LARGE_BYTES);
	buffers[MEMORY_MAPPED] = mmap(NULL, MEMORY_LARGE_BYTES, PROT_READ | PROT_WRITE,
								  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (buffers[MEMORY_MAPPED] == MAP_FAILED)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not map shared memory: %m")));

	PG_TRY();
	{
		for (int i = 0; i < lengthof(memory_tests); i++)
		{
			Datum		values[2];
			bool		nulls[2] = {0};

			values[0] = CStringGetTextDatum(memory_tests[i].name);
			values[1] = Float8GetDatum(memory_mb_s(&memory_tests[i], buffers,
												   seconds));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
								 values, nulls);
		}
	}
	PG_FINALLY();
	{
		munmap(buffers[MEMORY_MAPPED], MEMORY_LARGE_BYTES);
	}
	PG_END_TRY();
	dsm_detach(segment);
	return (Datum) 0;
}
