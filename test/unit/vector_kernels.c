/*-------------------------------------------------------------------------
 *
 * vector_kernels.c
 *	  Proves that every instruction set gives the scalar kernels' answers to
 *	  the last bit, and that the scalar ones are right.
 *
 * Inputs are random and extreme (all bytes 0 or 255; floats so large that
 * sums overflow and so small that they are denormal), lengths 1 to 300 and
 * some long ones, numbers of rows around every block size.  Rows end exactly
 * at a page that cannot be read, so that a kernel that reads too far dies.
 *
 * link: src/vector/vector_value.c src/vector/vector_dispatch.c
 * link: src/vector/vector_panel.c src/vector/vector_codes.c
 * link: src/vector/vector_nibbles.c src/vector/vector_kernels.c
 * link: src/vector/vector_parts.c
 * link: src/vector/vector_kernels_scalar.c
 * link: src/vector/vector_kernels_avx2.c src/vector/vector_kernels_avx512.c
 * link: src/vector/vector_kernels_neon.c src/vector/vector_kernels_dotprod.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_codes.h"
#include "vector/vector_kernels.h"

#include "server_shim.h"
#include "unit.h"
#include "unit_memory.h"

#define ROWS_MAX		200
/* Comparisons of the test that is running. */
static int	npassed = 0;
static int	nfailed = 0;

static void
check(bool ok, const char *isa, const char *what, int dims, int n, int pattern)
{
	if (ok)
		npassed++;
	else
	{
		if (nfailed < 10)
			printf("# %s: %s: dims %d, n %d, pattern %d\n", isa, what, dims,
				   n, pattern);
		nfailed++;
	}
}

/* Patterns of elements. */
#define NPATTERNS	5

static void
fill_u8(uint8 *elements, Size n, int pattern)
{
	for (Size i = 0; i < n; i++)
	{
		switch (pattern)
		{
			case 0:
				elements[i] = random_u32() >> 24;
				break;
			case 1:
				elements[i] = 255;
				break;
			case 2:
				elements[i] = 0;
				break;
			case 3:
				elements[i] = (random_u32() & 1) ? 255 : 0;
				break;
			default:			/* many equal ranks */
				elements[i] = random_u32() & 1;
				break;
		}
	}
}

static void
fill_f32(float4 *elements, Size n, int pattern)
{
	for (Size i = 0; i < n; i++)
	{
		float4		uniform = (float4) random_number();

		switch (pattern)
		{
			case 0:
				elements[i] = uniform;
				break;
			case 1:				/* squares and sums overflow */
				elements[i] = uniform * 3e38f;
				break;
			case 2:				/* products are denormal or round to zero */
				elements[i] = uniform * 1e-22f;
				break;
			case 3:				/* large and small together */
				elements[i] = uniform * ((random_u32() & 1) ? 1e9f : 1e-9f);
				break;
			default:			/* many equal ranks, zeros of both signs */
				elements[i] = (random_u32() & 1) ? -0.0f : 1.0f;
				break;
		}
	}
}

/* Ranks of n rows by the kernels of "isa", in both arrangements. */
static void
rank_all(const char *isa, EcpElem elem, EcpMetric metric, int dims,
		 const void *query_elements, const char *rows, int n,
		 const uint8 *columns, const uint32 *const *factors,
		 float8 *row_ranks, float8 *column_ranks, float8 *distances)
{
	Size		stride = ecp_vector_bytes(elem, dims);
	EcpQuery   *query;

	if (!ecp_kernels_select(isa))
		abort();

	query = ecp_query_create(elem, metric, dims, query_elements);
	ecp_query_rank_rows(query, rows, stride, factors, n, row_ranks);
	if (columns)
		ecp_query_rank_columns(query, columns, n, factors, n, column_ranks);
	for (int i = 0; i < n; i++)
		distances[i] = ecp_distance(elem, metric, dims, query_elements,
									rows + i * stride);
	pfree(query);
}

/* Bits are random bytes of a row's length, with zeros behind the last bit. */
static void
fill_bits(uint8 *bits, int dims, int n, int pattern)
{
	int			bytes = ecp_vector_bytes(ECP_ELEM_BIT, dims);

	fill_u8(bits, (Size) n * bytes, pattern);
	for (int i = 1; dims % 8 != 0 && i <= n; i++)
		bits[i * bytes - 1] &= 0xFF00 >> dims % 8;
}

/* From the bits of two strings, one by one. */
static float8
expected_bits(EcpMetric metric, int dims, const uint8 *a, const uint8 *b)
{
	int			differ = 0;
	int			both = 0;

	for (int i = 0; i < dims; i++)
	{
		int			x = a[i / 8] >> (7 - i % 8) & 1;
		int			y = b[i / 8] >> (7 - i % 8) & 1;

		differ += x != y;
		both += x && y;
	}
	if (metric == ECP_METRIC_HAMMING)
		return differ;
	return both == 0 ? 1 : 1 - both / (float8) (both + differ);
}

/*
 * Is a rank what it is between the vectors that leaders are compared with, in
 * their unit?
 */
static bool
is_spread_rank(int dims, const uint8 *a, const uint8 *b, float8 rank)
{
	EcpVector	va = {ECP_ELEM_BIT, dims, a};
	EcpVector	vb = {ECP_ELEM_BIT, dims, b};
	uint8	   *spread = malloc(2 * dims);
	EcpU8Sums	sums;
	bool		result;

	ecp_vector_convert(&va, ECP_ELEM_UINT8, spread);
	ecp_vector_convert(&vb, ECP_ELEM_UINT8, spread + dims);
	ecp_kernels->u8_sums(spread, spread + dims, dims, &sums);
	result = sums.aa - 2 * sums.ab + sums.bb == rank * ECP_BIT_L2;
	free(spread);
	return result;
}

/*
 * What the rank is, computed the obvious way.  What its rounding is relative to
 * goes to *scale, unless that is NULL.
 */
static float8
expected_rank(EcpElem elem, EcpMetric metric, int dims, const void *a,
			  const void *b, float8 *scale)
{
	float8		aa = 0;
	float8		ab = 0;
	float8		bb = 0;
	float8		l2 = 0;
	float8		l1 = 0;

	if (elem == ECP_ELEM_BIT)
		return expected_bits(metric, dims, a, b);
	for (int i = 0; i < dims; i++)
	{
		float8		x = (elem == ECP_ELEM_UINT8) ?
			((const uint8 *) a)[i] : ((const float4 *) a)[i];
		float8		y = (elem == ECP_ELEM_UINT8) ?
			((const uint8 *) b)[i] : ((const float4 *) b)[i];

		aa += x * x;
		ab += x * y;
		bb += y * y;
		l2 += (x - y) * (x - y);
		l1 += fabs(x - y);
	}

	if (scale)
		*scale = (metric == ECP_METRIC_L2) ? l2 : (metric == ECP_METRIC_L1) ? l1 :
			(metric == ECP_METRIC_IP) ? sqrt(aa * bb) : 1;
	return (metric == ECP_METRIC_L2) ? l2 : (metric == ECP_METRIC_L1) ? l1 :
		(metric == ECP_METRIC_IP) ? -ab : 1 - ab / sqrt(aa * bb);
}

static bool
is_near(float8 a, float8 b, float8 tolerance)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance;
}

/*
 * Several queries at a time: the rows themselves, with limits of all kinds.
 */
static bool
pass_is_right(EcpElem elem, EcpMetric metric, int dims, const char *rows,
			  int n, const uint8 *columns, const uint32 *const *factors)
{
	Size		stride = ecp_vector_bytes(elem, dims);
	EcpQuery   *queries[ECP_PASS_QUERIES];
	float8		expected[ECP_PASS_QUERIES][ROWS_MAX];
	float8		limits[ECP_PASS_QUERIES];
	float8		ranks[ECP_PASS_QUERIES][ECP_PASS_ROWS];
	float8	   *to[ECP_PASS_QUERIES];
	uint64		passed[ECP_PASS_QUERIES];
	int			nslots = n;
	bool		ok = true;

	n = Min(n, ECP_PASS_ROWS);
	for (int q = 0; q < lengthof(queries); q++)
	{
		queries[q] = ecp_query_create(elem, metric, dims,
									  rows + q * 7 % n * stride);
		ecp_query_rank_rows(queries[q], rows, stride, factors, n, expected[q]);
		limits[q] = q == 3 ? INFINITY : q == 2 ? -INFINITY :
			expected[q][n / 2] + (q == 1 ? 0.5 : 0);
		to[q] = ranks[q];
	}
	for (int nqueries = 1; nqueries <= lengthof(queries); nqueries++)
	{
		ecp_queries_pass_columns((const EcpQuery *const *) queries, nqueries, limits,
								 columns, nslots, factors, n, passed, to);
		for (int q = 0; q < nqueries; q++)
		{
			for (int i = 0; i < n; i++)
			{
				bool		passes = !(expected[q][i] > limits[q]);

				ok &= passes == ((passed[q] >> i & 1) != 0);
				ok &= !passes ||
					memcmp(&ranks[q][i], &expected[q][i], sizeof(float8)) == 0;
			}
			ok &= n == 64 || passed[q] >> n == 0;
		}
	}
	for (int q = 0; q < lengthof(queries); q++)
		pfree(queries[q]);
	return ok;
}

static void
test_rows(const char *isa, EcpElem elem, EcpMetric metric, int dims, int n,
		  int pattern)
{
	Size		row_bytes = ecp_vector_bytes(elem, dims);
	Size		column_bytes = (Size) n * TYPEALIGN(4, dims);
	char	   *query = malloc(row_bytes);
	char	   *rows = guard_alloc(n * row_bytes);
	uint8	   *columns = NULL;
	uint32	   *factors[ECP_FACTORS_MAX];
	float8		ranks[2][ROWS_MAX];
	float8		column_ranks[2][ROWS_MAX];
	float8		distances[2][ROWS_MAX];

	if (elem == ECP_ELEM_UINT8)
	{
		fill_u8((uint8 *) query, dims, pattern);
		fill_u8((uint8 *) rows, (Size) n * dims, pattern);
		columns = (uint8 *) guard_alloc(column_bytes);
	}
	else if (elem == ECP_ELEM_BIT)
	{
		fill_bits((uint8 *) query, dims, 1, pattern);
		fill_bits((uint8 *) rows, dims, n, pattern);
	}
	else
	{
		fill_f32((float4 *) query, dims, pattern);
		fill_f32((float4 *) rows, (Size) n * dims, pattern);
	}

	ecp_kernels_select("scalar");
	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		factors[f] = malloc(n * sizeof(uint32));
	for (int i = 0; i < n; i++)
	{
		uint32		row_factors[ECP_FACTORS_MAX] = {0};

		ecp_factors_compute(elem, metric, dims, rows + i * row_bytes,
							row_factors);
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			factors[f][i] = row_factors[f];
		if (columns)
		{
			uint8	   *back = malloc(dims);

			ecp_columns_put(columns, n, i, dims,
							(uint8 *) rows + i * row_bytes);
			ecp_columns_get(columns, n, i, dims, back);
			if (memcmp(back, rows + i * row_bytes, dims) != 0)
				check(false, isa, "columns back to rows", dims, n, pattern);
			free(back);
		}
	}

	rank_all("scalar", elem, metric, dims, query, rows, n, columns,
			 (const uint32 *const *) factors, ranks[0], column_ranks[0],
			 distances[0]);
	rank_all(isa, elem, metric, dims, query, rows, n, columns,
			 (const uint32 *const *) factors, ranks[1], column_ranks[1],
			 distances[1]);

	check(memcmp(ranks[0], ranks[1], n * sizeof(float8)) == 0, isa,
		  "rows equal scalar", dims, n, pattern);
	check(memcmp(distances[0], distances[1], n * sizeof(float8)) == 0, isa,
		  "distances equal scalar", dims, n, pattern);
	if (columns)
	{
		check(pass_is_right(elem, metric, dims, rows, n, columns,
							(const uint32 *const *) factors), isa,
			  "what passes for several queries", dims, n, pattern);
		check(memcmp(column_ranks[1], ranks[1], n * sizeof(float8)) == 0, isa,
			  "columns equal rows", dims, n, pattern);
		guard_free(columns, column_bytes);
	}

	for (int i = 0; i < n; i++)
	{
		float8		scale = 1;
		float8		expected = expected_rank(elem, metric, dims, query,
											 rows + i * row_bytes, &scale);
		float8		tolerance = (elem == ECP_ELEM_FLOAT32) ? 1e-5 * scale :
			(metric == ECP_METRIC_COSINE) ? 1e-12 : 0;

		check(is_near(ranks[1][i], expected, tolerance), isa,
			  "rank is right", dims, n, pattern);
		check(is_near(distances[1][i],
					  ecp_rank_distance(metric, ranks[1][i]), 0) ||
			  ranks[1][i] < 0,
			  isa, "distance follows from rank", dims, n, pattern);
		check(metric != ECP_METRIC_HAMMING ||
			  is_spread_rank(dims, (uint8 *) query,
							 (uint8 *) rows + i * row_bytes, ranks[1][i]),
			  isa, "rank of bits as bytes", dims, n, pattern);
	}

	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		free(factors[f]);
	free(query);
	guard_free(rows, n * row_bytes);
}

/*
 * Are the ranks of float32 leaders finite, and in order but for rounding, however
 * large they are?
 */
static bool
is_order_right(EcpMetric metric, int dims, const char *vector,
			   const char *leaders, int n, const float4 *ranks, int nearest)
{
	Size		stride = dims * sizeof(float4);
	float8		nearest_scale;
	float8		lowest = expected_rank(ECP_ELEM_FLOAT32, metric, dims, vector,
									   leaders + nearest * stride,
									   &nearest_scale);
	bool		ok = true;

	for (int i = 0; i < n; i++)
	{
		float8		scale;
		float8		expected = expected_rank(ECP_ELEM_FLOAT32, metric, dims,
											 vector, leaders + i * stride,
											 &scale);

		scale = Max(scale, nearest_scale);
		ok = ok && isfinite(ranks[i]) &&
			(lowest <= expected + 1e-3 * scale || scale < 1e-30);
	}
	return ok;
}

/* Is the nearest from the second block on the nearest of all, if that is there? */
static bool
same_beyond(const EcpPanel *panel, int n, const char *vectors, Size row_bytes,
			int nvectors, const int32 *nearest, const float4 *ranks)
{
	for (int v = 0; v < nvectors; v++)
	{
		int32		beyond;
		float4		rank;

		ecp_panel_nearest(panel, 16, n - 16, vectors + v * row_bytes, row_bytes, 1,
						  &beyond, &rank);
		if (beyond < 16 || beyond >= n ||
			(nearest[v] < 16 ? rank < ranks[v] :
			 beyond != nearest[v] || rank != ranks[v]))
			return false;
	}
	return true;
}

static void
test_panel(const char *isa, EcpElem elem, EcpMetric metric, int dims, int n,
		   int nvectors, int pattern)
{
	Size		row_bytes = ecp_vector_bytes(elem, dims);
	char	   *leaders = malloc(n * row_bytes);
	char	   *vectors = guard_alloc(nvectors * row_bytes);
	char	   *back = malloc(row_bytes);
	void	   *memory = malloc(ecp_panel_bytes(elem, dims, n));
	EcpPanel   *panel = ecp_panel_init(memory, elem, metric, dims, n);
	int32	   *nearest[2];
	float4	   *ranks[2];
	float4	   *all[2];
	bool		ok = true;

	if (elem == ECP_ELEM_UINT8)
	{
		fill_u8((uint8 *) leaders, n * row_bytes, pattern);
		fill_u8((uint8 *) vectors, nvectors * row_bytes, pattern);
	}
	else
	{
		fill_f32((float4 *) leaders, (Size) n * dims, pattern);
		fill_f32((float4 *) vectors, (Size) nvectors * dims, pattern);
	}

	for (int i = 0; i < n; i++)
	{
		ecp_panel_set(panel, i, leaders + i * row_bytes);
		ecp_panel_get(panel, i, back);
		ok = ok && memcmp(back, leaders + i * row_bytes, row_bytes) == 0;
	}
	check(ok, isa, "panel gives leaders back", dims, n, pattern);

	for (int k = 0; k < 2; k++)
	{
		nearest[k] = malloc(nvectors * sizeof(int32));
		ranks[k] = malloc(nvectors * sizeof(float4));
		all[k] = malloc((n + 16) * sizeof(float4));
		ecp_kernels_select(k == 0 ? "scalar" : isa);
		ecp_panel_nearest(panel, 0, n, vectors, row_bytes, nvectors,
						  nearest[k], ranks[k]);
	}
	check(memcmp(nearest[0], nearest[1], nvectors * sizeof(int32)) == 0 &&
		  memcmp(ranks[0], ranks[1], nvectors * sizeof(float4)) == 0, isa,
		  "nearest equals scalar", dims, n, pattern);

	check(n <= 16 || same_beyond(panel, n, vectors, row_bytes, nvectors, nearest[1],
								 ranks[1]), isa,
		  "nearest from the second block on", dims, n, pattern);

	/* the nearest by the ranks, from 0 and from the middle of the panel */
	ok = true;
	for (int v = 0; v < nvectors; v++)
	{
		int			middle = n / 2 / 16 * 16;

		for (int k = 0; k < 2; k++)
		{
			ecp_kernels_select(k == 0 ? "scalar" : isa);
			all[k][n] = 12345;
			ecp_panel_rank(panel, vectors + v * row_bytes, 0, n, all[k]);
			ok = ok && all[k][n] == 12345;
		}
		ok = ok && memcmp(all[0], all[1], n * sizeof(float4)) == 0;
		ecp_panel_rank(panel, vectors + v * row_bytes, middle, n - middle,
					   all[0]);
		ok = ok && memcmp(all[0], all[1] + middle,
						  (n - middle) * sizeof(float4)) == 0;

		for (int i = 0; i < n; i++)
			ok = ok && !(all[1][i] < ranks[1][v]);
		ok = ok && (memcmp(&all[1][nearest[1][v]], &ranks[1][v],
						   sizeof(float4)) == 0);

		if (pattern == 0)
		{
			float8		expected = expected_rank(elem, metric, dims,
												 vectors + v * row_bytes,
												 leaders + nearest[1][v] * row_bytes,
												 NULL);

			ok = ok && is_near(ranks[1][v], expected,
							   (elem == ECP_ELEM_UINT8) ? 64 : 1e-5 * dims);
		}
		ok = ok && (elem != ECP_ELEM_FLOAT32 ||
					is_order_right(metric, dims, vectors + v * row_bytes,
								   leaders, n, all[1], nearest[1][v]));
	}
	check(ok, isa, "nearest has the lowest rank", dims, n, pattern);

	for (int k = 0; k < 2; k++)
	{
		free(nearest[k]);
		free(ranks[k]);
		free(all[k]);
	}
	free(memory);
	free(back);
	free(leaders);
	guard_free(vectors, nvectors * row_bytes);
}

static const int row_counts[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 58,
64, 65, 130};
static const int long_dims[] = {384, 768, 784, 1000, 1536};

static void
test_all_rows(const char *isa, EcpElem elem, EcpMetric metric)
{
	for (int dims = 1; dims <= 300; dims++)
	{
		for (int pattern = 0; pattern < NPATTERNS; pattern++)
			test_rows(isa, elem, metric, dims,
					  row_counts[(dims + pattern) % lengthof(row_counts)],
					  pattern);
	}

	for (int i = 0; i < lengthof(row_counts); i++)
		test_rows(isa, elem, metric, 128, row_counts[i], 0);

	for (int i = 0; i < lengthof(long_dims); i++)
	{
		test_rows(isa, elem, metric, long_dims[i], 19, 0);
		test_rows(isa, elem, metric, long_dims[i], 6, 1);
	}

	for (int pattern = 0; pattern < NPATTERNS; pattern++)
		test_rows(isa, elem, metric, ECP_DIMS_MAX, 3, pattern);
}

static void
test_all_panels(const char *isa, EcpElem elem, EcpMetric metric)
{
	for (int dims = 1; dims <= 300; dims++)
	{
		for (int pattern = 0; pattern < NPATTERNS; pattern++)
			test_panel(isa, elem, metric, dims,
					   row_counts[(dims + pattern) % lengthof(row_counts)],
					   1 + dims % 13, pattern);
	}

	for (int i = 0; i < lengthof(row_counts); i++)
		test_panel(isa, elem, metric, 128, row_counts[i], 199, i % NPATTERNS);

	for (int i = 0; i < lengthof(long_dims); i++)
		test_panel(isa, elem, metric, long_dims[i], 70, 20, 0);

	for (int pattern = 0; pattern < NPATTERNS; pattern++)
		test_panel(isa, elem, metric, ECP_DIMS_MAX, 18, 7, pattern);
}

/* What one instruction set makes of rows with codes. */
typedef struct Coded
{
	uint8	   *blocks;
	uint32	   *factors[ECP_CODE_FACTORS];
	float4	   *bounds;
	char	   *levels;
	float4	   *refined;		/* bounds from these */
	float8	   *estimates;
} Coded;

static void
code_all(const char *isa, EcpElem elem, EcpMetric metric, int dims,
		 const char *query, const char *leader, float4 leader_rank,
		 const char *rows, int n, Coded *coded)
{
	Size		row_bytes = ecp_vector_bytes(elem, dims);
	int			nblocks = (n + ECP_CODE_BLOCK - 1) / ECP_CODE_BLOCK;
	Size		nslots = nblocks * ECP_CODE_BLOCK;
	Size		levels_bytes = EcpLevelsBytes(dims);
	uint8		code[ECP_CODE_DIMS_MAX / 8];
	uint8		back[ECP_CODE_DIMS_MAX / 8];
	uint32		factors[ECP_CODE_FACTORS];
	EcpCodeQuery *prepared;

	if (!ecp_kernels_select(isa))
		abort();
	coded->blocks = calloc(nslots, EcpCodeBytes(dims));
	coded->bounds = malloc(nslots * sizeof(float4));
	coded->levels = malloc(n * levels_bytes);
	coded->refined = malloc(nslots * sizeof(float4));
	coded->estimates = malloc(n * sizeof(float8));
	for (int f = 0; f < ECP_CODE_FACTORS; f++)
		coded->factors[f] = calloc(nslots, sizeof(uint32));
	for (int i = 0; i < n; i++)
	{
		ecp_code_make(elem, metric, dims, 7, rows + i * row_bytes, leader,
					  code, factors, coded->levels + i * levels_bytes);
		ecp_code_put(coded->blocks, i, dims, code);
		for (int f = 0; f < ECP_CODE_FACTORS; f++)
			coded->factors[f][i] = factors[f];
		ecp_code_get(coded->blocks, i, dims, back);
		if (memcmp(code, back, EcpCodeBytes(dims)) != 0)
			check(false, isa, "code back from its block", dims, n, 0);
	}
	prepared = ecp_code_query_create(elem, metric, dims, 7, query,
									 ECP_CODE_EPS, true, 0);
	if (leader == NULL)
		leader_rank = ecp_code_query_origin(prepared);
	ecp_code_query_bounds(prepared, leader_rank, coded->blocks,
						  (const uint32 *const *) coded->factors, n,
						  coded->bounds);
	memcpy(coded->refined, coded->bounds, nslots * sizeof(float4));
	for (int i = 0; i < n; i += 64)
		ecp_code_query_refine(prepared, leader_rank, coded->levels + i * levels_bytes,
							  levels_bytes, EcpLowBits(n - i), coded->refined + i,
							  coded->estimates + i);
	pfree(prepared);
}

static void
coded_free(Coded *coded)
{
	free(coded->blocks);
	free(coded->bounds);
	free(coded->levels);
	free(coded->refined);
	free(coded->estimates);
	for (int f = 0; f < ECP_CODE_FACTORS; f++)
		free(coded->factors[f]);
}

/* Scale n vectors to unit length, as those under cosine are. */
static void
normalise(float4 *vectors, int dims, int n)
{
	for (int i = 0; i < n; i++, vectors += dims)
	{
		double		norm2 = 1e-9;

		for (int d = 0; d < dims; d++)
			norm2 += (double) vectors[d] * vectors[d];
		for (int d = 0; d < dims; d++)
			vectors[d] /= sqrt(norm2);
	}
}

/* Rows whose bounds are above their ranks, and by how much others are below. */
typedef struct CodedSums
{
	int			total;
	int			above;
	int			refined_above;
	double		below;			/* as a share of the rank */
	double		refined_below;
	double		off;			/* what estimates are off */
} CodedSums;

/*
 * Codes, factors, levels and bounds are equal to the scalar ones', and bounds are
 * below the ranks but for few rows, which are counted.
 */
static void
test_codes(const char *isa, EcpElem elem, EcpMetric metric, int dims, int n,
		   bool has_leader, CodedSums *sums)
{
	Size		row_bytes = ecp_vector_bytes(elem, dims);
	char	   *vectors = malloc((n + 2) * row_bytes);
	char	   *query = vectors;
	char	   *leader = vectors + row_bytes;
	char	   *rows = leader + row_bytes;
	EcpMetric	leader_metric = metric == ECP_METRIC_IP ? metric : ECP_METRIC_L2;
	float8		leader_rank;
	Coded		scalar;
	Coded		other;
	int			nblocks = (n + ECP_CODE_BLOCK - 1) / ECP_CODE_BLOCK;
	bool		same;

	if (elem == ECP_ELEM_UINT8)
		fill_u8((uint8 *) vectors, (n + 2) * dims, 0);
	else
		fill_f32((float4 *) vectors, (n + 2) * dims, 0);
	if (metric == ECP_METRIC_COSINE)
		normalise((float4 *) vectors, dims, n + 2);
	leader_rank = expected_rank(elem, leader_metric, dims, query, leader, NULL);

	code_all("scalar", elem, metric, dims, query, has_leader ? leader : NULL,
			 leader_rank, rows, n, &scalar);
	code_all(isa, elem, metric, dims, query, has_leader ? leader : NULL,
			 leader_rank, rows, n, &other);
	same = memcmp(scalar.blocks, other.blocks,
				  nblocks * ECP_CODE_BLOCK * EcpCodeBytes(dims)) == 0 &&
		memcmp(scalar.bounds, other.bounds, n * sizeof(float4)) == 0 &&
		memcmp(scalar.levels, other.levels, n * EcpLevelsBytes(dims)) == 0 &&
		memcmp(scalar.refined, other.refined, n * sizeof(float4)) == 0 &&
		memcmp(scalar.estimates, other.estimates, n * sizeof(float8)) == 0;
	for (int f = 0; f < ECP_CODE_FACTORS; f++)
		same = same && memcmp(scalar.factors[f], other.factors[f],
							  n * sizeof(uint32)) == 0;
	check(same, isa, "codes, factors, bounds", dims, n, has_leader);

	for (int i = 0; i < n; i++)
	{
		float8		rank = expected_rank(elem, metric, dims, query,
										 rows + i * row_bytes, NULL);

		double		unit = Max(fabs(rank), 1e-6);

		sums->above += other.bounds[i] > rank + 1e-4 * unit;
		sums->refined_above += other.refined[i] > rank + 1e-4 * unit;
		sums->total++;
		if (dims < 64)
			continue;
		sums->below += (rank - other.bounds[i]) / unit;
		sums->refined_below += (rank - other.refined[i]) / unit;
		sums->off += fabs(rank - other.estimates[i]) / unit;
	}
	coded_free(&scalar);
	coded_free(&other);
	free(vectors);
}

static void
test_all_codes(const char *isa, EcpElem elem, EcpMetric metric)
{
	CodedSums	sums = {0};

	for (int dims = 1; dims <= 300; dims++)
		test_codes(isa, elem, metric, dims, 1 + dims * 7 % 199, dims % 3 > 0, &sums);
	test_codes(isa, elem, metric, 784, 200, true, &sums);
	test_codes(isa, elem, metric, ECP_CODE_DIMS_MAX, 64, true, &sums);

	/* eps 2.5 promises 0.6 percent; that of levels is wider */
	check(sums.above <= sums.total / 100, isa, "too high", sums.above, sums.total, 0);
	check(sums.refined_above <= sums.above + sums.total / 1000, isa,
		  "rows below refined bounds", sums.refined_above, sums.total, 0);
	check(sums.refined_below < sums.below / 3, isa, "refined bounds",
		  (int) sums.refined_below, (int) sums.below, 0);
	check(sums.off < sums.refined_below / 2, isa, "estimates from levels",
		  (int) sums.off, (int) sums.refined_below, 0);
}

/* Rows that are added up, more than 16 bits hold the sums of. */
#define ADDED_ROWS		600

/* What one instruction set makes of elements. */
typedef struct Converted
{
	float4		floats[300];
	uint32		sums[300];
	uint8		bytes[300];
	float8		float_sums[300];
	float4		unit[300];
	bool		has_unit;
} Converted;

static void
convert_all(const char *isa, int dims, int nrows, const uint8 *u8,
			const float4 *f32, const float4 *lows, Converted *converted)
{
	const uint8 *u8_rows[ADDED_ROWS];
	const float4 *f32_rows[ADDED_ROWS];

	if (!ecp_kernels_select(isa))
		abort();
	memset(converted, 0, sizeof(Converted));
	for (int r = 0; r < nrows; r++)
	{
		u8_rows[r] = u8;
		f32_rows[r] = r % 2 ? f32 : lows;
	}
	for (int d = 0; d < dims; d++)
	{
		converted->sums[d] = d;
		converted->float_sums[d] = d;
		converted->unit[d] = f32[d];
	}
	ecp_kernels->u8_floats(u8, dims, converted->floats);
	ecp_add_bytes(u8_rows, nrows, dims, converted->sums);
	ecp_add_floats(f32_rows, nrows, dims, converted->float_sums);
	converted->has_unit = ecp_unit_length(converted->unit, dims);
	ecp_floats_to_bytes(f32, lows, 100, dims, converted->bytes);
}

/*
 * Floats and sums of bytes, bytes and sums of floats, and floats of unit length
 * are equal to the scalar ones.
 */
static void
test_conversions(const char *isa)
{
	for (int dims = 1; dims < 300; dims++)
	{
		uint8		u8[300];
		float4		f32[300];
		float4		lows[300];
		float4		zeros[300] = {0};
		int			nrows = 1 + dims * 7 % ADDED_ROWS;
		Converted	scalar;
		Converted	other;

		fill_u8(u8, dims, dims % NPATTERNS);
		fill_f32(f32, dims, 0);
		fill_f32(lows, dims, 0);
		f32[0] = dims % 2 ? 3e38f : -3e38f;
		convert_all("scalar", dims, nrows, u8, f32, lows, &scalar);
		convert_all(isa, dims, nrows, u8, f32, lows, &other);
		check(memcmp(&scalar, &other, sizeof(Converted)) == 0, isa,
			  "conversions", dims, 1, 0);
		check(other.bytes[0] == (dims % 2 ? 255 : 0), isa,
			  "byte of what is outside", dims, 1, 0);
		check(other.has_unit && !ecp_unit_length(zeros, dims), isa,
			  "unit length", dims, 1, 0);
		check(other.sums[dims - 1] == dims - 1 + nrows * u8[dims - 1] &&
			  other.floats[dims - 1] == u8[dims - 1], isa,
			  "sum and float of a byte", dims, 1, 0);
	}
}

/* What the comparisons since the last report say. */
static void
report(const char *isa, const char *elem, const char *metric, const char *what)
{
	unit_ok(nfailed == 0 && npassed > 0, "%s, %s %s: %s (%d comparisons)", isa, elem,
			metric, what, npassed + nfailed);
	npassed = nfailed = 0;
}

static void
test_isa(const char *isa)
{
	static const EcpElem elems[] = {ECP_ELEM_UINT8, ECP_ELEM_FLOAT32};
	static const char *const elem_names[] = {"uint8", "float32"};
	static const char *const metric_names[] = {"", "L2", "IP", "cosine"};

	random_state = 1;
	npassed = nfailed = 0;
	test_all_rows(isa, ECP_ELEM_BIT, ECP_METRIC_HAMMING);
	report(isa, "bit", "Hamming", "rows");
	test_conversions(isa);
	report(isa, "all", "kinds", "conversions");

	for (int e = 0; e < lengthof(elems); e++)
	{
		for (int metric = ECP_METRIC_L2; metric <= ECP_METRIC_COSINE; metric++)
		{
			test_all_rows(isa, elems[e], metric);
			report(isa, elem_names[e], metric_names[metric], "rows");

			/* prepared vectors under cosine are float32 */
			if (metric != ECP_METRIC_COSINE || elems[e] == ECP_ELEM_FLOAT32)
			{
				test_all_codes(isa, elems[e], metric);
				report(isa, elem_names[e], metric_names[metric], "codes");
			}

			if (metric == ECP_METRIC_COSINE)
				continue;		/* panels are for L2 and IP */

			test_all_panels(isa, elems[e], metric);
			report(isa, elem_names[e], metric_names[metric], "panels");
		}
	}

	/* last, so that the others have the random numbers that they have had */
	test_all_rows(isa, ECP_ELEM_FLOAT32, ECP_METRIC_L1);
	report(isa, "float32", "L1", "rows");
	test_all_rows(isa, ECP_ELEM_BIT, ECP_METRIC_JACCARD);
	report(isa, "bit", "Jaccard", "rows");
}

int
main(void)
{
	unit_each_isa(test_isa);

	ecp_kernels_init();
	unit_ok(ecp_kernels_select(ecp_kernels_name()), "kernels chosen: %s",
			ecp_kernels_name());

	return unit_done();
}
