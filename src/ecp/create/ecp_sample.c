/*-------------------------------------------------------------------------
 *
 * ecp_sample.c
 *	  A sample of the rows to be indexed, for ecp_leaders.c to learn from.
 *
 * Blocks are drawn by the block sampler and read in ascending order, rows by
 * a reservoir over the rows of those blocks, so that the sample is uniform
 * when all blocks are read and nearly so otherwise.  We draw more blocks than
 * needed to fill the reservoir: rows that were loaded together are often
 * alike, and a few from many places say more than many from a few.
 *
 * The sample's size is bounded by a share of maintenance_work_mem, and by
 * the number of rows that the leaders can use.  That follows from the number
 * of rows in the table, which is only guessed before, from the first blocks;
 * so the sample is cut down to the right size afterwards, and put in random
 * order, which its users rely on.
 *
 * Vectors that are out of line are the larger part of what there is to read.
 * The reservoir keeps the pointers to them, and those of the rows that are left
 * are read at the end, in the order in which the TOAST table has them, by all of
 * the team.
 *
 * Depends on nothing but the seed and the table: the scan never starts in
 * the middle (no synchronized scan).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/team.h"
#include "catalog/index.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/sampling.h"
#include "vector/vector_value.h"

/* Rows of the reservoir for each block drawn; a block holds more. */
#define SAMPLE_ROWS_PER_BLOCK	4

#define SAMPLE_BLOCKS_MIN		1000
#define SAMPLE_ROWS_MIN			10000

/* Blocks from which the dimensions and the density of rows are learnt. */
#define SAMPLE_PROBE_BLOCKS		32

/* Rows that a process of the team reads at a time. */
#define SAMPLE_FETCH_ROWS		64

typedef struct SampleState
{
	EcpBuild   *build;
	EcpSample  *sample;
	double		seen;			/* rows that would be indexed, unless their
								 * vector, which is out of line, says no */
	pg_prng_state prng;
} SampleState;

/* Room for the rows, once the first has set the dimensions. */
static void
sample_alloc(EcpBuild *build, EcpSample *sample)
{
	MemoryContext oldctx = MemoryContextSwitchTo(build->ctx);

	sample->stride = EcpBuildPrepBytes(build);
	sample->max = Min(sample->max,
					  build->budget * ECP_SHARE_SAMPLE / sample->stride);
	sample->max = Max(sample->max, 16);
	ecp_team_memory_alloc(&sample->memory, build->plan.nworkers > 0,
						  mul_size(sample->max, sample->stride));
	sample->rows = sample->memory.address;
	MemoryContextSwitchTo(oldctx);
}

/* The place of one more row in the reservoir, or -1. */
static int64
sample_slot(SampleState *state)
{
	EcpSample  *sample = state->sample;
	uint64		slot;

	if (fmod(++state->seen, ECP_PROGRESS_ROWS) == 0)
		ecp_build_state_progress(state->build, ECP_PROGRESS_ROWS, state->seen);
	if (sample->n < sample->max)
		return sample->n++;
	slot = pg_prng_uint64_range(&state->prng, 0, state->seen - 1);
	return slot < sample->max ? (int64) slot : -1;
}

/* Offer a row whose vector is out of line. */
static void
sample_pointer(SampleState *state, ItemPointer tid, Datum value)
{
	EcpSample  *sample = state->sample;
	int64		slot = sample_slot(state);
	EcpSampleLate *late;

	if (sample->late.address == NULL)
	{
		Size		bytes = mul_size(sizeof(EcpSampleLate), sample->max);
		MemoryContext oldctx = MemoryContextSwitchTo(state->build->ctx);

		ecp_team_memory_alloc(&sample->late, state->build->plan.nworkers > 0,
							  bytes);
		memset(sample->late.address, 0, bytes);
		MemoryContextSwitchTo(oldctx);
	}
	if (slot < 0)
		return;
	late = (EcpSampleLate *) sample->late.address + slot;
	late->slot = slot;
	late->tid = *tid;
	late->state = ECP_SAMPLE_LATE;
	memcpy(late->pointer, DatumGetPointer(value), TOAST_POINTER_SIZE);
}

/* Callback of the scan: offer one row to the reservoir. */
static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool tupleIsAlive, void *arg)
{
	SampleState *state = arg;
	EcpBuild   *build = state->build;
	EcpSample  *sample = state->sample;
	MemoryContext oldctx;
	EcpVector	vector;

	if (isnull[0])
		return;
	if (sample->stride > 0 &&
		VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(values[0])))
	{
		sample_pointer(state, tid, values[0]);
		return;
	}
	oldctx = MemoryContextSwitchTo(build->rowctx);
	if (ecp_build_state_row(build, tid, values[0], &vector))
	{
		int64		slot;

		if (sample->stride == 0)
			sample_alloc(build, sample);
		slot = sample_slot(state);
		if (slot >= 0)
			memcpy(sample->rows + slot * sample->stride, build->prepared,
				   sample->stride);
		if (slot >= 0 && sample->late.address)
			((EcpSampleLate *) sample->late.address)[slot].state =
				ECP_SAMPLE_READ;
	}
	MemoryContextSwitchTo(oldctx);
	MemoryContextReset(build->rowctx);
}

/* Callback of the scan of the first blocks: count, and learn dimensions. */
static void
sample_probe_row(Relation index, ItemPointer tid, Datum *values,
				 bool *isnull, bool tupleIsAlive, void *arg)
{
	SampleState *state = arg;
	EcpBuild   *build = state->build;
	MemoryContext oldctx = MemoryContextSwitchTo(build->rowctx);
	EcpVector	vector;

	if (!isnull[0] && ecp_build_state_row(build, tid, values[0], &vector))
		state->seen++;

	MemoryContextSwitchTo(oldctx);
	MemoryContextReset(build->rowctx);
}

/* Keep n rows of the sample, chosen at random, in random order. */
static void
sample_cut(SampleState *state, int n)
{
	EcpSample  *sample = state->sample;
	EcpSampleLate *late = (EcpSampleLate *) sample->late.address;
	char	   *tmp = palloc(sample->stride);

	Assert(n <= sample->n);
	for (int i = 0; i < n; i++)
	{
		int			j = pg_prng_uint64_range(&state->prng, i, sample->n - 1);
		char	   *a = sample->rows + i * sample->stride;
		char	   *b = sample->rows + j * sample->stride;

		if (i == j)
			continue;
		if (late)
		{
			EcpSampleLate one = late[i];

			late[i] = late[j];
			late[j] = one;
			late[i].slot = i;
			late[j].slot = j;
			if (late[i].state == ECP_SAMPLE_LATE &&
				late[j].state == ECP_SAMPLE_LATE)
				continue;
		}
		memcpy(tmp, a, sample->stride);
		memcpy(a, b, sample->stride);
		memcpy(b, tmp, sample->stride);
	}
	pfree(tmp);
	sample->n = n;
}

/* ---- vectors out of line ---- */

/* Rows to read first, by where the TOAST table has them. */
static int
late_cmp(const void *a, const void *b)
{
	const EcpSampleLate *x = a;
	const EcpSampleLate *y = b;
	struct varatt_external p;
	struct varatt_external q;

	if (x->state != y->state)
		return x->state == ECP_SAMPLE_LATE ? -1 : 1;
	if (x->state != ECP_SAMPLE_LATE)
		return 0;
	VARATT_EXTERNAL_GET_POINTER(p, x->pointer);
	VARATT_EXTERNAL_GET_POINTER(q, y->pointer);
	if (p.va_valueid != q.va_valueid)
		return p.va_valueid < q.va_valueid ? -1 : 1;
	return 0;
}

/* Read a row to its place, or note that it is none to be indexed. */
static void
late_fetch(EcpBuild *build, EcpSampleLate *late, char *rows, Size stride)
{
	MemoryContext oldctx = MemoryContextSwitchTo(build->rowctx);
	EcpVector	vector;

	Assert(late->state == ECP_SAMPLE_LATE);
	if (ecp_build_state_row(build, &late->tid, PointerGetDatum(late->pointer),
							&vector))
	{
		memcpy(rows + late->slot * stride, build->prepared, stride);
		late->state = ECP_SAMPLE_READ;
	}
	else
		late->state = ECP_SAMPLE_NONE;
	MemoryContextSwitchTo(oldctx);
	MemoryContextReset(build->rowctx);
}

void
ecp_sample_fetch_task(EcpTeam *team, const void *args, char **memories)
{
	EcpBuild   *build = ecp_build_team_build(team);
	int64		from;
	int64		upto;

	while (ecp_team_claim(team, &from, &upto))
	{
		CHECK_FOR_INTERRUPTS();
		for (int64 i = from; i < upto; i++)
			late_fetch(build, (EcpSampleLate *) memories[1] + i, memories[0],
					   EcpBuildPrepBytes(build));
		ecp_build_state_progress(build, upto - from, upto);
	}
}

/* Close the gaps of rows that are not indexed; "late" is as it was read. */
static void
late_close_gaps(EcpSample *sample, const EcpSampleLate *late, int nlate)
{
	bool	   *none = palloc0(sample->n);
	int			n = 0;

	for (int i = 0; i < nlate; i++)
		none[late[i].slot] = late[i].state == ECP_SAMPLE_NONE;
	for (int i = 0; i < sample->n; i++)
	{
		if (none[i])
			continue;
		if (n < i)
			memcpy(sample->rows + n * sample->stride,
				   sample->rows + i * sample->stride, sample->stride);
		n++;
	}
	pfree(none);
	sample->table_rows *= (double) n / sample->n;
	sample->n = n;
}

void
ecp_sample_fetch(EcpBuild *build, EcpSample *sample)
{
	EcpSampleLate *late = (EcpSampleLate *) sample->late.address;
	int			nlate = 0;

	if (late == NULL || sample->n == 0)
		return;
	qsort(late, sample->n, sizeof(EcpSampleLate), late_cmp);
	while (nlate < sample->n && late[nlate].state == ECP_SAMPLE_LATE)
		nlate++;
	ecp_build_state_total(nlate);
	if (build->team)
	{
		EcpMemory  *memories[] = {&sample->memory, &sample->late};

		ecp_team_run(build->team, EcpTaskOf(ecp_sample_fetch_task), NULL, 0,
					 nlate, SAMPLE_FETCH_ROWS, memories, lengthof(memories));
	}
	else
		for (int i = 0; i < nlate; i++)
		{
			CHECK_FOR_INTERRUPTS();
			late_fetch(build, &late[i], sample->rows, sample->stride);
			if ((i + 1) % ECP_PROGRESS_ROWS == 0)
				ecp_build_state_progress(build, ECP_PROGRESS_ROWS, i + 1);
		}
	late_close_gaps(sample, late, nlate);
	ecp_team_memory_free(&sample->late);
}

/* ---- the sample ---- */

/*
 * ecp_sample_take
 *		Sample the table; *sample is palloc'd, its rows are separate.
 *
 * On return the dimensions are known unless no row was found, and
 * table_rows is the estimated number of rows to be indexed.  The rows are those
 * of the sample after ecp_sample_fetch().
 */
EcpSample *
ecp_sample_take(EcpBuild *build)
{
	EcpSample  *sample = palloc0(sizeof(EcpSample));
	SampleState state = {0};
	BlockSamplerData blocks;
	BlockNumber nblocks = RelationGetNumberOfBlocks(build->heap);
	BlockNumber nprobe = Min(nblocks, SAMPLE_PROBE_BLOCKS);
	BlockNumber ndraw;
	double		rows;
	double		want;

	Assert(build->participant == 0 && build->team == NULL);
	if (nblocks == 0)
		return sample;

	state.build = build;
	state.sample = sample;
	pg_prng_seed(&state.prng, (uint64) build->options.seed);

	/* dead rows can make the first blocks emptier than the rest */
	table_index_build_range_scan(build->heap, build->index, build->indexInfo,
								 false, false, false, 0, nprobe,
								 sample_probe_row, &state, NULL);
	want = Max(state.seen / nprobe * nblocks,
			   build->heap->rd_rel->reltuples);
	rows = Max(want, SAMPLE_ROWS_MIN);
	want = ecp_build_state_sample_rows(build, rows);
	sample->max = Min(want, PG_INT32_MAX / 2);
	state.seen = 0;

	ndraw = Min(nblocks, Max(sample->max / SAMPLE_ROWS_PER_BLOCK,
							 SAMPLE_BLOCKS_MIN));
	ecp_build_state_total(rows * ndraw / nblocks);
	if (ndraw == nblocks)
		table_index_build_scan(build->heap, build->index, build->indexInfo,
							   false, true, sample_row, &state, NULL);
	else
	{
		BlockSampler_Init(&blocks, nblocks, ndraw,
						  (uint32) build->options.seed);
		while (BlockSampler_HasMore(&blocks))
		{
			CHECK_FOR_INTERRUPTS();
			table_index_build_range_scan(build->heap, build->index,
										 build->indexInfo, false, false,
										 false, BlockSampler_Next(&blocks), 1,
										 sample_row, &state, NULL);
		}
	}

	sample->table_rows = state.seen * nblocks / ndraw;
	if (sample->n > 0)
	{
		want = ecp_build_state_sample_rows(build, sample->table_rows);
		sample_cut(&state, (int) Min(want, sample->n));
	}
	return sample;
}
