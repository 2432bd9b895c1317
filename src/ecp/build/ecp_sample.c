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
 * Depends on nothing but the seed and the table: the scan never starts in
 * the middle (no synchronized scan).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "base/team.h"
#include "catalog/index.h"
#include "ecp/build/ecp_build.h"
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

typedef struct SampleState
{
	EcpBuild   *build;
	EcpSample  *sample;
	double		seen;			/* rows that would be indexed */
	pg_prng_state prng;
} SampleState;

/* Callback of the scan: offer one row to the reservoir. */
static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool tupleIsAlive, void *arg)
{
	SampleState *state = arg;
	EcpBuild   *build = state->build;
	EcpSample  *sample = state->sample;
	MemoryContext oldctx = MemoryContextSwitchTo(build->rowctx);
	EcpVector	vector;
	Size		slot;

	if (!isnull[0] && ecp_build_state_row(build, tid, values[0], &vector))
	{
		state->seen++;
		if (sample->stride == 0)
		{
			/* the first row has set the dimensions */
			sample->stride = EcpBuildPrepBytes(build);
			sample->max = Min(sample->max,
							  build->budget * ECP_SHARE_SAMPLE / sample->stride);
			sample->max = Max(sample->max, 16);
			MemoryContextSwitchTo(build->ctx);
			ecp_team_memory_alloc(&sample->memory, build->plan.nworkers > 0,
								  mul_size(sample->max, sample->stride));
			MemoryContextSwitchTo(build->rowctx);
			sample->rows = sample->memory.address;
		}
		if (sample->n < sample->max)
			slot = sample->n++;
		else
			slot = pg_prng_uint64_range(&state->prng, 0, state->seen - 1);

		if (slot < sample->max)
			memcpy(sample->rows + slot * sample->stride, build->prepared,
				   sample->stride);
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
	char	   *tmp = palloc(sample->stride);

	Assert(n <= sample->n);
	for (int i = 0; i < n; i++)
	{
		int			j = pg_prng_uint64_range(&state->prng, i, sample->n - 1);
		char	   *a = sample->rows + i * sample->stride;
		char	   *b = sample->rows + j * sample->stride;

		if (i == j)
			continue;
		memcpy(tmp, a, sample->stride);
		memcpy(a, b, sample->stride);
		memcpy(b, tmp, sample->stride);
	}
	pfree(tmp);
	sample->n = n;
}

/*
 * ecp_sample_take
 *		Sample the table; *sample is palloc'd, its rows are separate.
 *
 * On return the dimensions are known unless no row was found, and
 * table_rows is the estimated number of rows to be indexed.
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
	want = ecp_build_state_sample_rows(build, Max(want, SAMPLE_ROWS_MIN));
	sample->max = Min(want, PG_INT32_MAX / 2);
	state.seen = 0;

	ndraw = Min(nblocks, Max(sample->max / SAMPLE_ROWS_PER_BLOCK,
							 SAMPLE_BLOCKS_MIN));
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
