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

#include "device/measure/device_job.h"

#define MEMORY_SMALL_BYTES	(32 * 1024)
#define MEMORY_LARGE_BYTES	(4 * 1024 * 1024)

/* words of a shuffle are this far apart: another page each time */
#define MEMORY_STRIDE		521

PG_FUNCTION_INFO_V1(ecp_memory_bench);

typedef struct MemoryBuffers
{
	char	   *mapped;			/* large, shared */
	char	   *segment;		/* large, dynamic shared memory */
	char	   *small;			/* local */
	char	   *large;			/* local */
} MemoryBuffers;

/* One call of a function; returns the bytes that it transferred. */
typedef Size (*MemoryFunction) (MemoryBuffers *b, int round);

static Size
memory_isb(MemoryBuffers *b, int round)
{
	memset(b->mapped, round, MEMORY_LARGE_BYTES);
	return MEMORY_LARGE_BYTES;
}

static Size
memory_ipcisb(MemoryBuffers *b, int round)
{
	memset(b->segment, round, MEMORY_LARGE_BYTES);
	return MEMORY_LARGE_BYTES;
}

static Size
memory_islb(MemoryBuffers *b, int round)
{
	memset(b->small, round, MEMORY_SMALL_BYTES);
	return MEMORY_SMALL_BYTES;
}

static Size
memory_illb(MemoryBuffers *b, int round)
{
	memset(b->large, round, MEMORY_LARGE_BYTES);
	return MEMORY_LARGE_BYTES;
}

static Size
memory_csltsb(MemoryBuffers *b, int round)
{
	int			places = MEMORY_LARGE_BYTES / MEMORY_SMALL_BYTES;

	memcpy(b->mapped + (round % places) * MEMORY_SMALL_BYTES, b->small,
		   MEMORY_SMALL_BYTES);
	return MEMORY_SMALL_BYTES;
}

static Size
memory_clltsb(MemoryBuffers *b, int round)
{
	memcpy(b->mapped, b->large, MEMORY_LARGE_BYTES);
	return MEMORY_LARGE_BYTES;
}

static Size
memory_ssltsb(MemoryBuffers *b, int round)
{
	const uint64 *from = (const uint64 *) b->small;
	volatile uint64 *to = (volatile uint64 *) b->mapped;
	int			words = MEMORY_LARGE_BYTES / sizeof(uint64);
	int			at = round;

	for (int i = 0; i < MEMORY_SMALL_BYTES / (int) sizeof(uint64); i++)
	{
		at = (at + MEMORY_STRIDE) % words;
		to[at] = from[i];
	}
	return MEMORY_SMALL_BYTES;
}

static const struct
{
	const char *name;
	MemoryFunction function;
}			memory_functions[] =

{
	{"ISB", memory_isb},
	{"IPCISB", memory_ipcisb},
	{"ISLB", memory_islb},
	{"ILLB", memory_illb},
	{"CSLTSB", memory_csltsb},
	{"CLLTSB", memory_clltsb},
	{"SSLTSB", memory_ssltsb},
};

static double
memory_mb_s(MemoryFunction function, MemoryBuffers *buffers, double seconds)
{
	double		bytes = 0;
	double		elapsed = 0;
	instr_time	start;

	Assert(seconds > 0);
	(void) function(buffers, 0);	/* touch the pages */
	INSTR_TIME_SET_CURRENT(start);
	for (int round = 1; elapsed < seconds; round++)
	{
		bytes += function(buffers, round);
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
	MemoryBuffers buffers;
	dsm_segment *segment;

	if (!(seconds > 0 && seconds <= 60))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time of each function must be from 0 to 60 seconds")));
	InitMaterializedSRF(fcinfo, 0);
	segment = dsm_create(MEMORY_LARGE_BYTES, 0);
	buffers.segment = dsm_segment_address(segment);
	buffers.small = palloc(MEMORY_SMALL_BYTES);
	buffers.large = palloc(MEMORY_LARGE_BYTES);
	buffers.mapped = mmap(NULL, MEMORY_LARGE_BYTES, PROT_READ | PROT_WRITE,
						  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (buffers.mapped == MAP_FAILED)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not map shared memory: %m")));

	PG_TRY();
	{
		for (int i = 0; i < lengthof(memory_functions); i++)
		{
			Datum		values[2];
			bool		nulls[2] = {0};

			values[0] = CStringGetTextDatum(memory_functions[i].name);
			values[1] = Float8GetDatum(memory_mb_s(memory_functions[i].function,
												   &buffers, seconds));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
								 values, nulls);
		}
	}
	PG_FINALLY();
	{
		munmap(buffers.mapped, MEMORY_LARGE_BYTES);
	}
	PG_END_TRY();
	dsm_detach(segment);
	return (Datum) 0;
}
