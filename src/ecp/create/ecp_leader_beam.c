/*-------------------------------------------------------------------------
 *
 * ecp_leader_beam.c
 *	  BUILD: the nearest of very many leaders, by their tree.
 *
 * At each level a row looks into the few nodes nearest to it (ECP_ASSIGN_BEAM): a
 * single path would put four rows out of ten into a wrong cluster.  Many rows descend
 * together, level by level, and a node is compared with all that look into it while
 * it is in the processor's cache.  One row after the other reads hundreds of kB of
 * leaders from memory for each: at 2 million rows of 128 bytes that took several
 * times as long, and the more the larger the tree.
 *
 * Called by ecp_assign.c where leaders are too many for lists
 * (ecp_leader_lists.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/create/ecp_build.h"
#include "ecp/math/ecp_math.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/float.h"
#include "vector/vector_distance.h"

/* Rows that go to the kernel at a time. */
#define BEAM_ROWS			96

/*
 * At the lowest level a row looks into as many nodes as have BEAM_LEADERS leaders, but
 * no fewer than BEAM_LOWEST of them.
 */
#define BEAM_LEADERS		600
#define BEAM_LOWEST			5

/* Entries that are offered to a beam at a time. */
#define BEAM_OFFERED		ECP_PANEL_BLOCK

/*
 * Entries of a level, the best few so far of a row, in ascending order of rank: the
 * bits of the rank, which as a square has no sign, and the entry's number.  Those
 * after the last are BEAM_NONE.
 */
typedef struct Beam
{
	uint64		entries[ECP_ASSIGN_BEAM];
} Beam;

#define BEAM_NONE			PG_UINT64_MAX

/* A block of rows on its way down. */
typedef struct BeamBlock
{
	const EcpLeaderTree *tree;
	const char *rows;
	Size		stride;
	int			nrows;
	Beam	   *beams;			/* of each row: entries of the level */
	Beam	   *next;			/* of the level below */
	float4	   *ranks;			/* of each row: its leader's so far */
	int32	   *leaders;

	/* visits: a row and an entry of its beam; those of one entry are adjacent */
	int32	   *entries;
	int32	   *of_row;
	int32	   *order;
	int32	   *first;
	char	   *some;			/* BEAM_ROWS rows */
	float4	   *scratch;		/* ranks of a node's entries */
} BeamBlock;

static inline void
beam_reset(Beam *beam)
{
	for (int i = 0; i < ECP_ASSIGN_BEAM; i++)
		beam->entries[i] = BEAM_NONE;
}

/* Among equal ranks the lower number is first.  There are no branches. */
static inline void
beam_add(Beam *beam, int32 number, float4 rank)
{
	uint64	   *entries = beam->entries;
	uint32		bits;
	uint64		entry;

	memcpy(&bits, &rank, sizeof(bits));
	entry = (uint64) bits << 32 | (uint32) number;
	for (int i = ECP_ASSIGN_BEAM - 1; i > 0; i--)
	{
		uint64		here = Min(entry, entries[i]);

		entries[i] = Max(entries[i - 1], here);
	}
	entries[0] = Min(entry, entries[0]);
}

/* What is farther cannot be added; not a number, if the beam is not full. */
static inline float4
beam_limit(const Beam *beam)
{
	uint32		bits = beam->entries[ECP_ASSIGN_BEAM - 1] >> 32;
	float4		limit;

	memcpy(&limit, &bits, sizeof(limit));
	return limit;
}

/*
 * Offer a row's beam the entries from .. upto - 1 of a level.  Most are not near
 * enough, which a kernel finds out for many at a time.
 */
static void
beam_rank(const BeamBlock *block, int level, int row, int from, int upto,
		  Beam *beam)
{
	int			start = from - from % ECP_PANEL_BLOCK;
	const float4 *ranks = block->scratch;

	ecp_panel_rank(block->tree->panel[level], block->rows + row * block->stride,
				   start, upto - start, block->scratch);
	for (int i = from; i < upto; i += BEAM_OFFERED)
	{
		uint64		near = ecp_bounds_passed(ranks + i - start,
											 Min(upto - i, BEAM_OFFERED),
											 beam_limit(beam));

		for (; near != 0; near &= near - 1)
		{
			int			entry = i + pg_rightmost_one_pos64(near);

			beam_add(beam, entry, ranks[entry - start]);
		}
	}
}

/*
 * Rows whose beams have one entry of level 1: the nearest of its leaders, if that is
 * nearer than what each has.  A few leaders of the nodes beside it are compared,
 * too, as panels are ranked in blocks, which does no harm.
 */
static void
block_nearest(BeamBlock *block, const int32 *rows, int nrows, int from, int upto)
{
	const EcpLeaderTree *tree = block->tree;
	int			start = from - from % ECP_PANEL_BLOCK;

	for (int done = 0; done < nrows; done += BEAM_ROWS)
	{
		int			n = Min(nrows - done, BEAM_ROWS);
		int32		nearest[BEAM_ROWS];
		float4		ranks[BEAM_ROWS];

		for (int i = 0; i < n; i++)
			memcpy(block->some + i * tree->vec_bytes,
				   block->rows + block->of_row[rows[done + i]] * block->stride,
				   tree->vec_bytes);
		ecp_panel_nearest(tree->panel[0], start, upto - start, block->some,
						  tree->vec_bytes, n, nearest, ranks);
		for (int i = 0; i < n; i++)
		{
			int32		row = block->of_row[rows[done + i]];

			if (ranks[i] < block->ranks[row] ||
				(ranks[i] == block->ranks[row] && nearest[i] < block->leaders[row]))
			{
				block->ranks[row] = ranks[i];
				block->leaders[row] = nearest[i];
			}
		}
	}
}

/* From the entries of a level, in the beams, to those of the level below. */
static void
block_descend(BeamBlock *block, int level)
{
	const EcpLeaderTree *tree = block->tree;
	const int32 *children = tree->first[level];
	Beam	   *beams = block->beams;
	int			most = level > 1 ? ECP_ASSIGN_BEAM :
		Min(Max(BEAM_LOWEST, BEAM_LEADERS / (tree->n[0] / tree->n[1] + 1)),
			ECP_ASSIGN_BEAM);
	int			nvisits = 0;

	for (int r = 0; r < block->nrows; r++)
	{
		const uint64 *entries = beams[r].entries;

		for (int i = 0; i < most && entries[i] != BEAM_NONE; i++)
		{
			block->entries[nvisits] = (int32) entries[i];
			block->of_row[nvisits++] = r;
		}
		beam_reset(&block->next[r]);
	}
	ecp_kmeans_group(block->entries, nvisits, tree->n[level], block->first,
					 block->order);
	for (int e = 0; e < tree->n[level]; e++)
	{
		const int32 *visits = block->order + block->first[e];
		int			n = block->first[e + 1] - block->first[e];

		if (children[e] == children[e + 1])
			continue;
		CHECK_FOR_INTERRUPTS();
		if (level == 1)
			block_nearest(block, visits, n, children[e], children[e + 1]);
		else
			for (int i = 0; i < n; i++)
			{
				int32		row = block->of_row[visits[i]];

				beam_rank(block, level - 1, row, children[e], children[e + 1],
						  &block->next[row]);
			}
	}
	block->beams = block->next;
	block->next = beams;
}

/*
 * The nearest leader of each of some prepared rows, or one that is hardly farther,
 * in a tree of at least two levels.
 */
void
ecp_leader_beam_nearest(const EcpLeaderTree *tree, const char *rows, Size stride,
						int nrows, int32 *leaders)
{
	BeamBlock	block = {tree, rows, stride, nrows};
	Size		nvisits = mul_size(nrows, ECP_ASSIGN_BEAM);
	int			top = tree->nlevels - 1;

	Assert(top > 0 && nrows > 0);
	block.beams = palloc_array(Beam, nrows);
	block.next = palloc_array(Beam, nrows);
	block.ranks = palloc_array(float4, nrows);
	block.leaders = leaders;
	block.entries = palloc_array(int32, nvisits);
	block.of_row = palloc_array(int32, nvisits);
	block.order = palloc_array(int32, nvisits);
	block.first = palloc_array(int32, tree->n[1] + 1);
	block.some = palloc(BEAM_ROWS * tree->vec_bytes + 64);
	block.scratch = palloc_array(float4, tree->n[1] + 2 * ECP_PANEL_BLOCK);
	for (int r = 0; r < nrows; r++)
	{
		if (r % BEAM_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		beam_reset(&block.beams[r]);
		block.ranks[r] = get_float4_infinity();
		leaders[r] = PG_INT32_MAX;
		beam_rank(&block, top, r, 0, tree->n[top], &block.beams[r]);
	}
	for (int level = top; level > 0; level--)
		block_descend(&block, level);
	pfree(block.scratch);
	pfree(block.some);
	pfree(block.first);
	pfree(block.order);
	pfree(block.of_row);
	pfree(block.entries);
	pfree(block.ranks);
	pfree(block.next);
	pfree(block.beams);
}
