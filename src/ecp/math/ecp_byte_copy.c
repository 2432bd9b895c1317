/*-------------------------------------------------------------------------
 *
 * ecp_byte_copy.c
 *	  BUILD: float vectors as bytes, to choose leaders and assign rows by.
 *
 * Which leader is nearest to a row hardly ever depends on more than the first
 * eight bits of their elements, and bytes are compared four times as fast as
 * floats and take a quarter of the memory.  So leaders are learnt from bytes,
 * and rows compared with them as bytes, where they differ enough:
 *
 *	  byte = (element - low of the dimension) * scale
 *
 * with one scale for all dimensions, which keeps the order of distances, and
 * lows around the mean of each.  The index has no bytes: the leaders that
 * clusters get in the end are means of their rows as floats (ecp_merge.c),
 * and inserts and searches compare floats.
 *
 * Rows may be so much nearer to their leaders than the largest element is to
 * the mean that bytes do not tell leaders apart.  ecp_byte_copy_serves() checks
 * this once leaders have been learnt, and floats are used if bytes do not serve.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "base/compat.h"
#include "base/team.h"
#include "ecp/math/ecp_math.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Rows from which the range is taken, and the factor that widens it. */
#define BYTES_ROWS			4096
#define BYTES_MARGIN		1.25

/*
 * A row's distance from its leader, squared, in steps.  Rounding moves a row by
 * 0.3 of a step in the direction of another leader, a hundredth of this.  At
 * most one row in BYTES_NEARER may be nearer.
 */
#define BYTES_RANK_MIN		2500
#define BYTES_NEARER		20
#define BYTES_RANKS			1000

Size
ecp_byte_copy_size(int dims)
{
	return offsetof(EcpByteScale, lows) + sizeof(float4) * dims;
}

/* Means of the dimensions, over the first n rows. */
static void
bytes_means(const EcpRows *rows, int n, double *means)
{
	memset(means, 0, sizeof(double) * rows->dims);
	for (int i = 0; i < n; i++)
	{
		const float4 *x = (const float4 *) (rows->rows + i * rows->stride);

		for (int d = 0; d < rows->dims; d++)
			means[d] += x[d];
	}
	for (int d = 0; d < rows->dims; d++)
		means[d] /= n;
}

/*
 * The scale for rows like these, which are in random order; palloc'd.  NULL if
 * they should stay floats.
 */
EcpByteScale *
ecp_byte_copy_scale(const EcpRows *rows)
{
	int			n = Min(rows->n, BYTES_ROWS);
	double		range = 0;
	double	   *means;
	EcpByteScale *scale;

	if (rows->elem != ECP_ELEM_FLOAT32 || rows->dims < ECP_BYTE_COPY_DIMS_MIN || n == 0)
		return NULL;

	means = palloc_array(double, rows->dims);
	bytes_means(rows, n, means);
	for (int i = 0; i < n; i++)
	{
		const float4 *x = (const float4 *) (rows->rows + i * rows->stride);

		for (int d = 0; d < rows->dims; d++)
		{
			double		off = fabs(x[d] - means[d]);

			range = Max(range, off);
		}
	}
	range *= BYTES_MARGIN;
	scale = palloc(ecp_byte_copy_size(rows->dims));
	scale->dims = rows->dims;
	scale->factor = (float4) (255 / (2 * range));
	for (int d = 0; d < rows->dims; d++)
		scale->lows[d] = (float4) (means[d] - range);
	pfree(means);

	/* all rows are equal, or they are as far apart as numbers can be */
	if (isinf(scale->factor) || !(scale->factor >= FLT_MIN))
	{
		pfree(scale);
		return NULL;
	}
	return scale;
}

void
ecp_byte_copy_put(const EcpByteScale *scale, const float4 *vector, uint8 *bytes)
{
	ecp_floats_to_bytes(vector, scale->lows, scale->factor, scale->dims, bytes);
}

/*
 * Rows of bytes made of others, in memory of the same kind, which the caller
 * frees.
 */
void
ecp_byte_copy_rows(const EcpByteScale *scale, const EcpRows *rows, EcpRows *bytes,
				   EcpMemory *memory)
{
	Assert(rows->elem == ECP_ELEM_FLOAT32 && rows->dims == scale->dims);
	*bytes = *rows;
	bytes->elem = ECP_ELEM_UINT8;
	bytes->stride = rows->dims;
	ecp_team_memory_alloc(memory, rows->memory && rows->memory->seg,
						  mul_size(bytes->stride, rows->n));
	bytes->memory = memory;
	bytes->rows = memory->address;
	for (int i = 0; i < rows->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ecp_byte_copy_put(scale, (const float4 *) (rows->rows + i * rows->stride),
						  (uint8 *) memory->address + i * bytes->stride);
	}
}

/* Do rows of bytes, in any order, and their leaders differ enough? */
bool
ecp_byte_copy_serves(const EcpRows *bytes, const char *leaders, int nleaders)
{
	int			n = Min(bytes->n, BYTES_RANKS);
	int32	   *nearest = palloc_array(int32, n);
	float4	   *ranks = palloc_array(float4, n);
	int			nearer = 0;

	Assert(bytes->elem == ECP_ELEM_UINT8);
	Assert(nleaders > 0);
	ecp_kmeans_nearest(ECP_ELEM_UINT8, bytes->dims, leaders, bytes->dims,
					   nleaders, bytes->rows, bytes->stride * (bytes->n / n), n,
					   nearest, ranks);
	for (int i = 0; i < n; i++)
		nearer += ranks[i] < BYTES_RANK_MIN;
	pfree(ranks);
	pfree(nearest);
	return nearer <= n / BYTES_NEARER;
}
