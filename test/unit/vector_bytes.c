/*-------------------------------------------------------------------------
 *
 * vector_bytes.c
 *	  Proves that leaders as bytes have the ranks of the leaders, nearly, and the
 *	  same in each instruction set.
 *
 * link: src/vector/vector_panel.c src/vector/vector_parts.c
 * link: src/vector/vector_nibbles.c src/vector/vector_kernels.c
 * link: src/vector/vector_codes.c
 * link: src/vector/vector_value.c src/vector/vector_dispatch.c
 * link: src/vector/vector_kernels_scalar.c
 * link: src/vector/vector_kernels_avx2.c src/vector/vector_kernels_avx512.c
 * link: src/vector/vector_kernels_neon.c src/vector/vector_kernels_dotprod.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_distance.h"
#include "vector/vector_kernels.h"

#include "server_shim.h"
#include "unit.h"

#define DIMS_MOST	520
#define LEADERS		(19 * ECP_PANEL_BLOCK + 3)

/* all that are made: a search's go with their memory context */
static EcpBytePanel *panels[1000];
static int	npanels;

static float4 leaders[LEADERS * DIMS_MOST];
static float4 vector[DIMS_MOST];
static float4 ranks[2][LEADERS + 1];

static float8
random_normal(uint64 *state)
{
	float8		sum = 0;

	for (int i = 0; i < 12; i++)
	{
		*state = *state * UINT64CONST(6364136223846793005) + UINT64CONST(1442695040888963407);
		sum += (float8) (*state >> 11) / (UINT64CONST(1) << 53);
	}
	return sum - 6;
}

/* Leaders around "offset", one of them farther away by "one"; a vector beside another. */
static void
fill(int dims, float4 offset, float4 one)
{
	uint64		state = dims;

	for (int i = 0; i < LEADERS * dims; i++)
		leaders[i] = offset + random_normal(&state) * (1 + i % dims % 7);
	for (int d = 0; d < dims; d++)
	{
		leaders[5 * dims + d] += one;
		vector[d] = leaders[17 * dims + d] + random_normal(&state) / 2;
	}
	/* an element that is the same in all leaders */
	for (int i = 0; i < LEADERS; i++)
		leaders[i * dims + dims / 2] = 3;
}

/* The largest error of the ranks, as a share of their range. */
static float8
largest_error(EcpMetric metric, int dims)
{
	float8		most = 0;
	float8		least = INFINITY;
	float8		largest = 0;

	for (int i = 0; i < LEADERS; i++)
	{
		float8		rank = ecp_distance(ECP_ELEM_FLOAT32, ECP_METRIC_IP, dims, vector,
										leaders + i * dims);

		if (metric == ECP_METRIC_L2)
		{
			rank = 0;
			for (int d = 0; d < dims; d++)
				rank += ((float8) vector[d] - leaders[i * dims + d]) *
					((float8) vector[d] - leaders[i * dims + d]);
		}
		least = Min(least, rank);
		largest = Max(largest, rank);
		most = Max(most, fabs(rank - ranks[1][i]));
	}
	return most / (largest - least);
}

static void
test_bytes(const char *isa, EcpMetric metric, int dims, float4 offset, float4 one,
		   float8 error)
{
	EcpBytePanel *panel;
	bool		ok = true;

	fill(dims, offset, one);
	panel = ecp_byte_panel_create(dims, LEADERS, (const char *) leaders,
								  dims * sizeof(float4));
	panels[npanels++] = panel;
	for (int k = 0; k < 2; k++)
	{
		ecp_kernels_select(k == 0 ? "scalar" : isa);
		ranks[k][LEADERS] = 12345;
		ecp_byte_panel_rank(panel, metric, vector, 0, LEADERS, ranks[k]);
		ok = ok && ranks[k][LEADERS] == 12345;
	}
	ok = ok && memcmp(ranks[0], ranks[1], sizeof(ranks[0])) == 0;
	ecp_byte_panel_rank(panel, metric, vector, 2 * ECP_PANEL_BLOCK, 7, ranks[0]);
	ok = ok && memcmp(ranks[0], ranks[1] + 2 * ECP_PANEL_BLOCK, 7 * sizeof(float4)) == 0;
	unit_ok(ok && largest_error(metric, dims) < error,
			"%s, metric %d, %d elements around %g: errors of %.4f of the range of ranks",
			isa, metric, dims, offset, largest_error(metric, dims));
}

/* Ranks are finite, however far away the vector is. */
static void
test_limits(const char *isa)
{
	EcpBytePanel *panel;
	bool		ok = true;

	fill(64, 0, 0);
	panel = ecp_byte_panel_create(64, LEADERS, (const char *) leaders,
								  64 * sizeof(float4));
	panels[npanels++] = panel;
	for (EcpMetric metric = ECP_METRIC_L2; metric <= ECP_METRIC_IP; metric++)
	{
		vector[1] = -3e38f;
		ecp_byte_panel_rank(panel, metric, vector, 0, LEADERS, ranks[0]);
		for (int i = 0; i < LEADERS; i++)
			ok = ok && isfinite(ranks[0][i]);
	}
	leaders[100] = 1e20f;
	ok = ok && ecp_byte_panel_create(64, LEADERS, (const char *) leaders,
									 64 * sizeof(float4)) == NULL;
	unit_ok(ok, "%s: vectors and leaders far away", isa);
}

/* The error is that of neighbours, and is large where steps are wide beside these. */
static void
test_error(const char *isa)
{
	const Size	stride = 64 * sizeof(float4);
	const char *rows = (const char *) leaders;
	float8		error[2];

	ecp_kernels_select(isa);
	for (int i = 0; i < 2; i++)
	{
		EcpBytePanel *panel;

		fill(64, 0, 0);
		for (int k = 0; k < LEADERS; k += 2)
			leaders[k * 64] += i * 1e4f;
		panel = ecp_byte_panel_create(64, LEADERS, rows, stride);
		panels[npanels++] = panel;
		error[i] = ecp_byte_panel_error(panel, LEADERS, rows, stride);
	}
	unit_ok(error[0] > 0 && error[0] < 10 && error[1] > 10 * error[0],
			"%s: errors of %.2f and, in two places, %.0f", isa, error[0], error[1]);
}

static void
test_isa(const char *isa)
{
	static const int dims[] = {64, 65, 100, 127, 256, 384, 515};

	for (EcpMetric metric = ECP_METRIC_L2; metric <= ECP_METRIC_IP; metric++)
	{
		for (int i = 0; i < lengthof(dims); i++)
			test_bytes(isa, metric, dims[i], 0, 0, 0.01);
		test_bytes(isa, metric, 128, 1000, 0, metric == ECP_METRIC_L2 ? 0.01 : 0.02);
		test_bytes(isa, metric, 128, 0, 30, 0.02);
	}
	test_limits(isa);
	test_error(isa);
}

int
main(void)
{
	unit_each_isa(test_isa);
	return unit_done();
}
