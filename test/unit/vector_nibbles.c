/*-------------------------------------------------------------------------
 *
 * vector_nibbles.c
 *	  Proves of vectors in four bits that every instruction set makes the same of
 *	  them, that estimates have no bias, and that bounds are below the ranks: all
 *	  of those that cannot be wrong, and but for few of the others.  The same of
 *	  rows that their signs place beyond a limit.
 *
 * Rows end where a page begins that cannot be read.  Lengths are 1 to 200 and some
 * long ones; vectors are random, sparse, all equal, far from the origin, and so
 * large or small that sums of squares overflow or vanish.
 *
 * link: src/vector/vector_parts.c
 * link: src/vector/vector_value.c src/vector/vector_dispatch.c
 * link: src/vector/vector_panel.c src/vector/vector_codes.c
 * link: src/vector/vector_nibbles.c src/vector/vector_kernels.c
 * link: src/vector/vector_kernels_scalar.c
 * link: src/vector/vector_kernels_avx2.c src/vector/vector_kernels_avx512.c
 * link: src/vector/vector_kernels_neon.c src/vector/vector_kernels_dotprod.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "base/bits.h"
#include "port/pg_bitutils.h"
#include "vector/vector_codes.h"
#include "vector/vector_kernels.h"

#include "server_shim.h"
#include "unit.h"
#include "unit_memory.h"

#define ROWS_MAX	130

static const char *const shapes[] = {"random", "sparse", "equal elements",
"two values", "far from the origin", "huge", "tiny", "zero"};

static void
fill(int shape, int dims, int n, float4 *vectors)
{
	for (int i = 0; i < n * dims; i++)
	{
		double		x = random_number();

		switch (shape)
		{
			case 0:
				vectors[i] = x;
				break;
			case 1:
				vectors[i] = i % dims % 29 == 0 ? x : 0;
				break;
			case 2:
				vectors[i] = 0.37f * (1 + i / dims);
				break;
			case 3:
				vectors[i] = x > 0 ? 1 : -1;
				break;
			case 4:
				vectors[i] = 10 + x;
				break;
			case 5:
				vectors[i] = x * 3.4e38;
				break;
			case 6:
				vectors[i] = x * 1e-38;
				break;
			default:
				vectors[i] = 0;
				break;
		}
	}
}

static void
make_all(const char *isa, int dims, int n, const float4 *vectors, uint8 *rows)
{
	if (!ecp_kernels_select(isa))
		abort();
	for (int i = 0; i < n; i++)
		ecp_nibbles_make(dims, vectors + i * dims,
						 rows + i * EcpNibblesBytes(dims));
}

static EcpNibblesQuery *
create(EcpMetric metric, int dims, const float4 *vector, float4 eps)
{
	return ecp_nibbles_query_init(malloc(ecp_nibbles_query_bytes(dims)), metric,
								  dims, vector, eps);
}

/*
 * Ranks and bounds of n rows whose parts follow each other.  Returns how many of them
 * their signs do not place beyond the limit.
 */
static int
rank_all(const EcpNibblesQuery *query, int dims, const uint8 *first, int n,
		 float8 limit, float8 *ranks, float8 *bounds)
{
	Size		stride = EcpNibblesBytes(dims);
	int			passed = 0;

	for (int done = 0; done < n; done += ECP_PASS_ROWS)
	{
		const char *upper = (const char *) first + done * stride;
		EcpNibblesRows rows = {upper, stride, upper + EcpNibblesUpper(dims), stride};
		uint64		which = EcpLowBits(n - done);
		uint64		near = ecp_nibbles_query_rank(query, &rows, which, limit,
												  ranks + done, bounds + done);

		if ((near & ~which) != 0)
			abort();
		passed += __builtin_popcountll(near);
		for (int i = 0; i < Min(n - done, ECP_PASS_ROWS); i++)
		{
			if ((near >> i & 1) == 0)
				ranks[done + i] = bounds[done + i] = NAN;
		}
	}
	return passed;
}

/* What is made, what comes back, ranks and bounds are the scalar kernels'. */
static void
test_isa(const char *isa)
{
	static float4 vectors[ROWS_MAX * 200];
	float4		back[2][200];
	float8		ranks[2][ROWS_MAX];
	float8		bounds[2][ROWS_MAX];
	int			passed[2];
	int			differ = 0;

	for (int dims = 1; dims <= 200; dims++)
	{
		Size		stride = EcpNibblesBytes(dims);
		int			n = 1 + dims * 7 % ROWS_MAX;
		int			shape = dims % lengthof(shapes);
		uint8	   *rows = (uint8 *) guard_alloc(n * stride);
		uint8	   *others = malloc(n * stride);

		fill(shape, dims, n, vectors);
		make_all("scalar", dims, n, vectors, others);
		make_all(isa, dims, n, vectors, rows);
		differ += memcmp(rows, others, n * stride) != 0;
		for (int i = 0; i < 2; i++)
		{
			EcpNibblesQuery *query;

			if (!ecp_kernels_select(i == 0 ? "scalar" : isa))
				abort();
			query = create(ECP_METRIC_L2, dims, vectors, 2.5f);
			rank_all(query, dims, rows, n, INFINITY, ranks[i], bounds[i]);
			/* the last row alone, and rows that do not fill a register */
			passed[i] = rank_all(query, dims, rows, n, ranks[i][n / 2],
								 ranks[i], bounds[i]);
			ecp_nibbles_get(dims, rows, back[i]);
			pfree(query);
		}
		differ += passed[0] != passed[1];
		differ += memcmp(ranks[0], ranks[1], n * sizeof(float8)) != 0;
		differ += memcmp(bounds[0], bounds[1], n * sizeof(float8)) != 0;
		differ += memcmp(back[0], back[1], dims * sizeof(float4)) != 0;
		free(others);
		guard_free(rows, n * stride);
	}
	unit_ok(differ == 0, "%s: %d of 1000 differ", isa, differ);
}

/* The extremes of sums: all bits are set, and all elements are 127 or -128. */
static void
test_sums(const char *isa)
{
	static int8 query[8 * 256] __attribute__((aligned(64)));
	static uint8 rows[6 * 256];
	int			wrong = 0;

	if (!ecp_kernels_select(isa))
		abort();
	memset(rows, 0xFF, sizeof(rows));
	for (int bytes = 2; bytes <= 256; bytes += 2)
	{
		int32		dots[6];

		for (int element = -128; element <= 127; element += 255)
		{
			memset(query, 0, sizeof(query));
			for (int j = 0; j < 8; j++)
				memset(query + j * EcpPlanePadded(bytes), element, bytes);
			ecp_kernels->plane_dots(query, bytes, rows, 256, 6, dots);
			for (int r = 0; r < 6; r++)
				wrong += dots[r] != 8 * bytes * element;
		}
	}
	for (int bytes = 8; bytes <= ECP_CODE_DIMS_MAX / 2; bytes += 8)
	{
		for (int element = -128; element <= 127; element += 255)
		{
			memset(query, 0, sizeof(query));
			memset(query, element, bytes);
			memset(query + EcpPlanePadded(bytes), element, bytes);
			wrong += ecp_kernels->nibble_dot(query, bytes, rows) != 30 * bytes * element;
		}
	}
	unit_ok(wrong == 0, "%s: %d of 1792 extreme sums are wrong", isa, wrong);
}

static double
exact_rank(EcpMetric metric, int dims, const float4 *a, const float4 *b)
{
	double		aa = 0;
	double		ab = 0;
	double		bb = 0;
	double		l2 = 0;

	for (int i = 0; i < dims; i++)
	{
		aa += (double) a[i] * a[i];
		ab += (double) a[i] * b[i];
		bb += (double) b[i] * b[i];
		l2 += ((double) a[i] - b[i]) * ((double) a[i] - b[i]);
	}
	return metric == ECP_METRIC_L2 ? l2 : metric == ECP_METRIC_IP ? -ab :
		1 - ab / sqrt(aa * bb);
}

/*
 * How many rows are beyond a limit by their signs that are not: at all limits that
 * are the rank of a row.
 */
static int
test_signs(const EcpNibblesQuery *query, EcpMetric metric, int dims,
		   const float4 *vector, const float4 *vectors, const uint8 *rows)
{
	double		exact[ROWS_MAX - 10];
	int			lost = 0;

	for (int i = 0; i < ROWS_MAX - 10; i++)
		exact[i] = exact_rank(metric, dims, vector, vectors + i * dims);
	for (int at = 0; at < ROWS_MAX - 10; at += 20)
	{
		float8		ranks[ROWS_MAX];
		float8		bounds[ROWS_MAX];

		rank_all(query, dims, rows, ROWS_MAX - 10, exact[at], ranks, bounds);
		for (int i = 0; i < ROWS_MAX - 10; i++)
			lost += isnan(bounds[i]) && exact[i] <= exact[at];
	}
	return lost;
}

/* Queries of a shape against rows of it; the first query is a row. */
static void
test_bounds(EcpMetric metric, int shape)
{
	static const int all_dims[] = {16, 33, 64, 100, 384, 768, ECP_NIBBLES_DIMS_MAX};
	static float4 vectors[ROWS_MAX * ECP_NIBBLES_DIMS_MAX];
	static uint8 rows[ROWS_MAX * EcpNibblesBytes(ECP_NIBBLES_DIMS_MAX)];
	static const float4 eps[] = {ECP_NIBBLES_EPS_NONE, ECP_CODE_EPS_WIDE,
		ECP_CODE_EPS};
	int			above[lengthof(eps)] = {0};
	int			total = 0;
	int			lost = 0;
	double		bias = 0;
	double		spread = 0;

	ecp_kernels_init();
	for (int d = 0; d < lengthof(all_dims); d++)
	{
		int			dims = all_dims[d];
		Size		stride = EcpNibblesBytes(dims);

		fill(shape, dims, ROWS_MAX, vectors);
		make_all(ecp_kernels_name(), dims, ROWS_MAX, vectors, rows);
		for (int q = 0; q < 10; q++)
		{
			float8		ranks[ROWS_MAX];
			float8		bounds[lengthof(eps)][ROWS_MAX];

			for (int e = 0; e < lengthof(eps); e++)
			{
				EcpNibblesQuery *query = create(metric, dims, vectors + q * dims,
												eps[e]);

				rank_all(query, dims, rows + (q > 0 ? 10 * stride : 0),
						 ROWS_MAX - 10, INFINITY, ranks, bounds[e]);
				if (e > 0)
					lost += test_signs(query, metric, dims, vectors + q * dims,
									   vectors + (q > 0 ? 10 : 0) * dims,
									   rows + (q > 0 ? 10 * stride : 0));
				pfree(query);
			}
			for (int i = 0; i < ROWS_MAX - 10; i++, total++)
			{
				double		rank = exact_rank(metric, dims, vectors + q * dims,
											  vectors + (i + (q > 0 ? 10 : 0)) * dims);

				for (int e = 0; e < lengthof(eps); e++)
					above[e] += bounds[e][i] > rank;
				bias += ranks[i] - rank;
				spread += (ranks[i] - rank) * (ranks[i] - rank);
			}
		}
	}
	unit_ok(above[0] == 0, "metric %d, %s: %d of %d bounds are wrong", metric,
			shapes[shape], above[0], total);
	unit_ok(above[1] == 0, "metric %d, %s: %d of %d wide ones are", metric,
			shapes[shape], above[1], total);
	/* eps 2.5 promises 0.6 percent */
	unit_ok(above[2] <= total / 100, "metric %d, %s: %d of %d narrow ones are",
			metric, shapes[shape], above[2], total);

	/*
	 * six limits, two widths; eps 3 promises 0.3 percent of those near a
	 * limit
	 */
	unit_ok(lost <= total * 12 / 1000, "metric %d, %s: %d of %d signs are wrong",
			metric, shapes[shape], lost, total * 12);
	/* of independent errors the mean is within four of its deviations */
	if (shape == 0)
		unit_ok(fabs(bias) <= 4 * sqrt(spread), "metric %d: the bias is %g, by chance %g",
				metric, bias / total, sqrt(spread) / total);
}

/* What comes back is as far away as the row says. */
static void
test_back(int shape)
{
	int			dims = 384;
	float4		vector[384];
	float4		back[384];
	uint8		row[EcpNibblesBytes(384)];
	double		worst = 0;
	bool		fault = false;

	for (int i = 0; i < 100; i++)
	{
		double		norm2 = 0;
		double		error2 = 0;

		fill(shape, dims, 1, vector);
		ecp_nibbles_make(dims, vector, row);
		ecp_nibbles_get(dims, row, back);
		fault |= ecp_nibbles_fault(row) != NULL;
		if (((EcpNibblesData *) row)->error == FLT_MAX)
			continue;			/* its length is no float */
		for (int d = 0; d < dims; d++)
		{
			norm2 += (double) vector[d] * vector[d];
			error2 += ((double) back[d] - vector[d]) * ((double) back[d] - vector[d]);
		}
		if (norm2 > 0)
			worst = Max(worst, fabs(sqrt(error2 / norm2) -
									((EcpNibblesData *) row)->error));
	}
	unit_ok(worst < 2e-3 && !fault, "%s: errors are off by up to %g",
			shapes[shape], worst);
}

static void
test_set(const char *isa)
{
	test_isa(isa);
	test_sums(isa);
}

int
main(void)
{
	EcpNibblesData bad = {0, 1, -1, 0};

	unit_each_isa(test_set);
	for (int metric = ECP_METRIC_L2; metric <= ECP_METRIC_COSINE; metric++)
		for (int shape = 0; shape < 7; shape++)
			test_bounds(metric, shape);
	for (int shape = 0; shape < lengthof(shapes); shape++)
		test_back(shape);
	unit_ok(ecp_nibbles_fault(&bad) != NULL, "a negative length");
	bad.norm = NAN;
	unit_ok(ecp_nibbles_fault(&bad) != NULL, "a length that is no number");
	return unit_done();
}
