/*-------------------------------------------------------------------------
 *
 * ecp_recall_query.c
 *	  RECALL: queries, which follow from their numbers and the seed of the index.
 *
 * Rows are random ones, and others are made of a pool of these: half-way between two
 * rows, with each element from another row, farther out, and with random
 * elements.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/recall/ecp_recall_private.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Far queries are up to so many differences of two rows from a row. */
#define QUERY_FAR_MOST		16.0

/*
 * Mixed ones have up to this share of their elements from one row: as near to the
 * rows as texts on another subject are, up to as far as random ones.
 */
#define QUERY_LEAN_MOST		0.6

/* Rows that are looked at for one that is not a copy of another. */
#define QUERY_ROW_TRIES		32

/* Pairs of rows of a cluster, and what is taken off the mean, in standard deviations. */
#define QUERY_PAIRS			128
#define QUERY_L1_CAUTION	3.5

/* A stream of random numbers of its own for everything that has a number. */
static void
query_seed(const EcpRecallCurve *curve, int number, pg_prng_state *prng)
{
	pg_prng_seed(prng, hash_bytes_uint32_extended(number,
												  curve->state->meta.ecpm_seed));
}

/* Choose a row: its cluster and its number; each with the same probability. */
static const EcpChildData *
query_choose(const EcpRecallCurve *curve, pg_prng_state *prng, uint32 *row)
{
	const EcpChildData *cluster;

	/* by rejection */
	do
	{
		cluster = &curve->clusters[pg_prng_uint64_range(prng, 0,
														curve->nclusters - 1)];
		*row = pg_prng_uint64_range(prng, 0, curve->largest - 1);
	} while (*row >= cluster->ecpc_nrows);
	return cluster;
}

/* Have two slots the same factors, as rows at one place have? */
static bool
query_same_factors(const EcpGeometry *geo, const EcpEntryView *a, int slot_a,
				   const uint32 *b)
{
	for (int f = 0; f < geo->nfactors; f++)
		if (a->factors[f][slot_a] != b[f])
			return false;
	return true;
}

/*
 * Read a row of a cluster by its number: its vector, as stored, and its TID.  It is a
 * copy if one before it is at the same place.  False if it is not there.
 */
static bool
query_read_row(const EcpRecallCurve *curve, const EcpChildData *cluster, uint32 row,
			   char *vector, ItemPointer tid, bool *is_copy)
{
	const EcpGeometry *geo = &curve->state->leaf;
	uint32		factors[ECP_ENTRY_FACTORS_MAX];
	char	   *other = palloc(geo->row_bytes + ECP_KERNEL_SLACK);
	bool		found = false;
	PGAlignedBlock copy;
	EcpRun	   *runs;
	int			nruns = ecp_cluster_runs(curve->index, curve->state, 0,
										 cluster->ecpc_blk, cluster->ecpc_run,
										 InvalidBuffer, &runs);

	*is_copy = false;
	/* the row, and then those before it */
	for (int round = 0; round <= (int) found; round++)
	{
		uint32		n = 0;

		for (int r = 0; r < nruns && n <= row; r++)
			for (uint32 p = 0; p < runs[r].header.ecpr_hw_page && n <= row; p++)
			{
				uint32		nslots = ecp_run_page_slots(geo, &runs[r], p);
				EcpEntryView view;

				ecp_run_copy_page(curve->index, &runs[r], p, InvalidBuffer, copy.data);
				ecp_entry_view(copy.data, geo, 0, &view);
				for (uint32 slot = 0; slot < nslots && n <= row; slot++)
				{
					if (!EcpSlotIsLive(&view, slot))
						continue;
					if (round == 0 && n == row)
					{
						found = true;
						*tid = view.tids[slot];
						for (int f = 0; f < geo->nfactors; f++)
							factors[f] = view.factors[f][slot];
						ecp_run_read_vector(curve->index, geo, &runs[r], &view,
											p * geo->slots + slot, vector);
					}
					else if (round == 1 && n < row &&
							 query_same_factors(geo, &view, slot, factors))
					{
						ecp_run_read_vector(curve->index, geo, &runs[r], &view,
											p * geo->slots + slot, other);
						if (memcmp(vector, other, geo->vec_bytes) == 0)
							*is_copy = true;
					}
					n++;
				}
			}
	}
	return found;
}

Size
ecp_recall_query_bytes(const EcpRecallCurve *curve)
{
	const EcpMetaPageData *meta = &curve->state->meta;

	return ecp_vector_bytes(EcpMetaQueryElem(meta), meta->ecpm_dims);
}

bool
ecp_recall_query_row(EcpRecallCurve *curve, int number, char *query, ItemPointer tid)
{
	MemoryContext old = MemoryContextSwitchTo(curve->row_context);
	bool		found = false;
	pg_prng_state prng;

	Assert(curve->nclusters > 0 && curve->largest > 0);
	query_seed(curve, number, &prng);
	for (int tries = 1; tries <= QUERY_ROW_TRIES && !found; tries++)
	{
		uint32		row;
		const EcpChildData *cluster = query_choose(curve, &prng, &row);
		char	   *vector = palloc(curve->state->leaf.row_bytes + ECP_KERNEL_SLACK);
		bool		is_copy;

		if (query_read_row(curve, cluster, row, vector, tid, &is_copy) &&
			(tries == QUERY_ROW_TRIES || !is_copy))
		{
			ecp_prepare_query(&curve->state->meta, vector, query);
			found = true;
		}
		MemoryContextReset(curve->row_context);
	}
	MemoryContextSwitchTo(old);
	return found;
}

/* The same of a pair of rows: 0 if they are not there, or at one place. */
static double
query_pair_l1(const EcpRecallCurve *curve, int number)
{
	const EcpMetaPageData *meta = &curve->state->meta;
	Size		bytes = curve->state->leaf.row_bytes + ECP_KERNEL_SLACK;
	char	   *vector = palloc(bytes);
	float4	   *rows[2];
	const EcpChildData *cluster;
	pg_prng_state prng;
	ItemPointerData tid;
	bool		is_copy;
	uint32		row;
	double		l2;

	query_seed(curve, number, &prng);
	cluster = query_choose(curve, &prng, &row);
	for (int r = 0; r < 2; r++)
	{
		rows[r] = palloc(ecp_recall_query_bytes(curve));
		if (!query_read_row(curve, cluster, r == 0 ? row : row > 0 ? row - 1 : 1,
							vector, &tid, &is_copy))
			return 0;
		ecp_prepare_query(meta, vector, rows[r]);
	}
	l2 = ecp_distance(ECP_ELEM_FLOAT32, ECP_METRIC_L2, meta->ecpm_dims, rows[0], rows[1]);
	return l2 == 0 ? 0 :
		ecp_distance(ECP_ELEM_FLOAT32, ECP_METRIC_L1, meta->ecpm_dims, rows[0], rows[1]) / l2;
}

float4
ecp_recall_query_l1(EcpRecallCurve *curve)
{
	MemoryContext old = MemoryContextSwitchTo(curve->row_context);
	double		sum = 0;
	double		squares = 0;
	int			n = 0;

	for (int pair = 0; pair < QUERY_PAIRS; pair++)
	{
		double		times = query_pair_l1(curve, -1 - ECP_RECALL_POOL - pair);

		MemoryContextReset(curve->row_context);
		n += times > 0;
		sum += times;
		squares += times * times;
	}
	MemoryContextSwitchTo(old);
	if (n == 0)
		return 1;
	sum /= n;
	if (curve->has_codes)
		sum -= QUERY_L1_CAUTION * sqrt(Max(squares / n - sum * sum, 0));
	return Max(sum, 1);
}

/* An element of a row of the pool; a bit is 0 or 1. */
static float4
query_element(const EcpRecallCurve *curve, int row, int element)
{
	const char *vector = curve->pool + row * ecp_recall_query_bytes(curve);

	switch (EcpMetaQueryElem(&curve->state->meta))
	{
		case ECP_ELEM_FLOAT32:
			return ((const float4 *) vector)[element];
		case ECP_ELEM_UINT8:
			return ((const uint8 *) vector)[element];
		default:
			return (((const uint8 *) vector)[element / 8] >> (7 - element % 8)) & 1;
	}
}

/* Set one, as near to "value" as the kind of elements allows. */
static void
query_set_element(const EcpRecallCurve *curve, char *vector, int element,
				  float4 value)
{
	switch (EcpMetaQueryElem(&curve->state->meta))
	{
		case ECP_ELEM_FLOAT32:
			((float4 *) vector)[element] = value;
			break;
		case ECP_ELEM_UINT8:
			((uint8 *) vector)[element] = (uint8) Min(Max(rintf(value), 0), 255);
			break;
		default:
			if (value > 0.5f)
				((uint8 *) vector)[element / 8] |= 0x80 >> element % 8;
			break;
	}
}

/* The least and the largest element of the pool. */
static void
query_range(const EcpRecallCurve *curve, float4 *least, float4 *largest)
{
	*least = get_float4_infinity();
	*largest = -get_float4_infinity();
	for (int row = 0; row < ECP_RECALL_POOL; row++)
		for (int i = 0; i < curve->state->meta.ecpm_dims; i++)
		{
			float4		element = query_element(curve, row, i);

			*least = Min(*least, element);
			*largest = Max(*largest, element);
		}
}

void
ecp_recall_query_other(const EcpRecallCurve *curve, EcpQueryClass class, int number,
					   char *vector)
{
	bool		bits = curve->state->meta.ecpm_elem == ECP_ELEM_BIT;
	pg_prng_state prng;
	int			a;
	int			b;
	float4		far;
	float4		lean;
	float4		least = 0;
	float4		largest = 0;

	query_seed(curve, number, &prng);
	a = pg_prng_uint64_range(&prng, 0, ECP_RECALL_POOL - 1);
	b = pg_prng_uint64_range(&prng, 0, ECP_RECALL_POOL - 1);
	far = pow(QUERY_FAR_MOST, pg_prng_double(&prng));
	lean = QUERY_LEAN_MOST * pg_prng_double(&prng);
	if (class == ECP_QUERY_RANDOM)
		query_range(curve, &least, &largest);
	for (int i = 0; i < curve->state->meta.ecpm_dims; i++)
	{
		uint64		random = pg_prng_uint64(&prng);
		int			c = random % ECP_RECALL_POOL;
		int			d = random / ECP_RECALL_POOL % ECP_RECALL_POOL;
		bool		heads = random / ECP_RECALL_POOL / ECP_RECALL_POOL % 2;
		float4		from = query_element(curve, c, i);
		float4		value;

		if (class == ECP_QUERY_MIXED)
			value = pg_prng_double(&prng) < lean ? query_element(curve, a, i) : from;
		else if (bits && class == ECP_QUERY_RANDOM)
			value = heads;
		else if (class == ECP_QUERY_RANDOM)
			value = least + (largest - least) * pg_prng_double(&prng);
		else if (bits && class == ECP_QUERY_FAR)
			value = 1 - from;
		else if (class == ECP_QUERY_FAR)
			value = from + far * (from - query_element(curve, d, i));
		else if (bits)
			value = query_element(curve, heads ? a : b, i);
		else
			value = (query_element(curve, a, i) + query_element(curve, b, i)) / 2;
		query_set_element(curve, vector, i, value);
	}
}
