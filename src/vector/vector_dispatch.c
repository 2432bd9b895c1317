/*-------------------------------------------------------------------------
 *
 * vector_dispatch.c
 *	  Computes ranks with the kernels of this CPU.
 *
 * A query is turned once into the form that the kernels of vector_kernels.h
 * take: uint8 elements minus 128, so that an unsigned row times a signed
 * query is one instruction, and the three numbers that make a rank out of
 * that inner product and the row's factor:
 *
 *	  L2	 |x - q|^2 = |q|^2 + (|x|^2 - 256 sum(x)) - 2 x(q - 128)
 *	  IP	 -xq       = -(128 sum(x)) - x(q - 128)
 *	  cosine  xq       =   128 sum(x) + x(q - 128), then 1 - xq / (|x||q|)
 *
 * Bits are compared as they are.
 *
 * All of it fits 32 bits: |x|^2 is at most ECP_DIMS_MAX * 255^2 < 2^30, and
 * intermediate results may wrap without harm.
 *
 * The kernels add up float32 rows in float32, whose range is less than that of
 * the squares of its values: elements of 1e20 overflow, those of 1e-22 lose
 * their digits.  Such results are recognised here, and the row is compared again
 * in double precision, in which every sum of products of two floats is finite
 * and has its digits.
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

/* Ranks of float32 rows are computed this many at a time. */
#define RANK_CHUNK		64

/* What a query's elements are aligned and padded to. */
#define QUERY_ALIGN		64

/* Ranks of rows in PARTS are whole numbers below it, which a float4 has room for. */
#define PARTS_LIMIT_MAX	(1 << 24)

/*
 * Rows whose upper parts are compared at a time.  Lower parts of the near ones are
 * prefetched while the next are compared.
 */
#define PARTS_STEP	16

StaticAssertDecl(ECP_PARTS_DIMS_MAX * PG_UINT8_MAX * PG_UINT8_MAX < PARTS_LIMIT_MAX,
				 "ranks of rows in PARTS");
StaticAssertDecl(EcpPartsBytes(ECP_PARTS_DIMS_MAX) <= ECP_PARTS_BYTES_MAX,
				 "bytes of PARTS");

struct EcpQuery
{
	EcpElem		elem;			/* of the rows */
	EcpMetric	metric;
	int			dims;
	float8		norm2;			/* |q|^2, for cosine, as the kernel says */
	EcpU8Query	u8;				/* uint8 only */
	const EcpPartsQuery *parts; /* for rows in PARTS, or NULL */
	const float4 *f32;			/* float32 and float16 only */
	EcpFloatSums float_sums;
	const uint8 *bits;			/* bit only */
	EcpBitRanks bit_ranks;
	const EcpNibblesQuery *nibbles; /* nibbles only */
};

int
ecp_factors_count(EcpElem elem, EcpMetric metric)
{
	switch (elem)
	{
		case ECP_ELEM_UINT8:
			return (metric == ECP_METRIC_COSINE) ? 2 : 1;
		case ECP_ELEM_FLOAT32:
		case ECP_ELEM_FLOAT16:
			return (metric == ECP_METRIC_COSINE) ? 1 : 0;
		case ECP_ELEM_BIT:
		case ECP_ELEM_NIBBLES:
			return 0;
		default:
			elog(ERROR, "unrecognized element kind: %d", (int) elem);
			return 0;			/* keep compiler quiet */
	}
}

/* The sum of a vector's squares, as the kernel says. */
#define f32_norm2(vector, dims)	ecp_float_dot(vector, vector, dims)

static pg_noinline float4
f16_norm2(const uint16 *row, int dims)
{
	float4		floats[ECP_DIMS_MAX];

	ecp_kernels->f16_floats(row, dims, floats);
	return f32_norm2(floats, dims);
}

/* See vector_distance.h for what each factor is. */
void
ecp_factors_compute(EcpElem elem, EcpMetric metric, int dims,
					const void *row, uint32 *factors)
{
	if (elem == ECP_ELEM_UINT8)
	{
		int32		sum;
		int32		norm2;

		ecp_kernels->u8_prepare(row, dims, NULL, &sum, &norm2);

		if (metric == ECP_METRIC_L2)
			factors[0] = (uint32) (norm2 - 256 * sum);
		else
			factors[0] = (uint32) (128 * sum);
		if (metric == ECP_METRIC_COSINE)
			factors[1] = (uint32) norm2;
	}
	else if (metric == ECP_METRIC_COSINE && elem != ECP_ELEM_NIBBLES)
	{
		float4		norm2 = elem == ECP_ELEM_FLOAT16 ?
			f16_norm2(row, dims) : f32_norm2(row, dims);

		memcpy(&factors[0], &norm2, sizeof(norm2));
	}
}

/* ---- sums that float32 cannot hold ---- */

/*
 * Sums of squares below this may have lost digits to denormal summands.  Those of
 * the longest vector with this sum have lost less than rounding takes.
 */
#define FLOAT_SUM_MIN	1e-30f

/* Is a sum of squares, as a kernel adds it up, exact to its last digits? */
static inline bool
square_sum_is_exact(float4 sum)
{
	return sum >= FLOAT_SUM_MIN && sum <= FLT_MAX;
}

/* The product of two vectors in double precision, where each summand is exact. */
static float8
wide_dot(const float4 *a, const float4 *b, int dims)
{
	float8		sum = 0;

	for (int i = 0; i < dims; i++)
		sum += (float8) a[i] * b[i];
	return sum;
}

/* Their squared distance. */
static float8
wide_l2(const float4 *a, const float4 *b, int dims)
{
	float8		sum = 0;

	for (int i = 0; i < dims; i++)
	{
		float8		diff = (float8) a[i] - b[i];

		sum = fma(diff, diff, sum);
	}
	return sum;
}

/*
 * Ranks of two vectors by what the kernels say.  They do not depend on which of
 * the two is the query.
 */
static inline float8
f32_l2_rank(const float4 *a, const float4 *b, int dims, float4 sum)
{
	if (likely(square_sum_is_exact(sum)) ||
		(sum == 0 && memcmp(a, b, dims * sizeof(float4)) == 0))
		return sum;
	return wide_l2(a, b, dims);
}

static inline float8
f32_ip_rank(const float4 *a, const float4 *b, int dims, float4 dot)
{
	if (likely(square_sum_is_exact(fabsf(dot))) ||
		(dot == 0 && square_sum_is_exact(f32_norm2(a, dims)) &&
		 square_sum_is_exact(f32_norm2(b, dims))))
		return -(float8) dot;
	return -wide_dot(a, b, dims);
}

/*
 * Absolute differences have their digits, however small they are, but their sum may
 * overflow.
 */
#define distance_sum_is_exact(sum)	((sum) <= FLT_MAX)

static inline float8
f32_l1_rank(const float4 *a, const float4 *b, int dims, float4 sum)
{
	float8		wide = 0;

	if (likely(distance_sum_is_exact(sum)))
		return sum;
	for (int i = 0; i < dims; i++)
		wide += fabs((float8) a[i] - b[i]);
	return wide;
}

/* The kernel of sums of float rows. */
static EcpFloatSums
float_sums(EcpElem rows, EcpMetric metric)
{
	bool		half = rows == ECP_ELEM_FLOAT16;

	switch (metric)
	{
		case ECP_METRIC_L2:
			return half ? ecp_kernels->f16_l2_rows : ecp_kernels->f32_l2_rows;
		case ECP_METRIC_L1:
			return half ? ecp_kernels->f16_l1_rows : ecp_kernels->f32_l1_rows;
		default:
			return half ? ecp_kernels->f16_dot_rows : ecp_kernels->f32_dot_rows;
	}
}

/* The kernel of bit rows. */
static EcpBitRanks
bit_ranks(EcpMetric metric)
{
	Assert(metric == ECP_METRIC_HAMMING || metric == ECP_METRIC_JACCARD);
	return metric == ECP_METRIC_HAMMING ? ecp_kernels->bit_hamming_rows :
		ecp_kernels->bit_jaccard_rows;
}

EcpQuery *
ecp_query_create(EcpElem rows, EcpMetric metric, int dims,
				 const void *elements)
{
	EcpElem		elem = ecp_elem_for_query(rows);
	bool		parts = ecp_parts_fit(rows, metric, dims);
	Size		bytes = rows == ECP_ELEM_NIBBLES ? ecp_nibbles_query_bytes(dims) :
		TYPEALIGN(QUERY_ALIGN, ecp_vector_bytes(elem, dims));
	EcpQuery   *query = palloc0(sizeof(EcpQuery) + QUERY_ALIGN + bytes +
								(parts ? sizeof(EcpPartsQuery) : 0));
	char	   *copy = (char *) TYPEALIGN(QUERY_ALIGN, query + 1);

	Assert(dims >= 1 && dims <= ECP_DIMS_MAX);
	Assert(elements != NULL);
	query->elem = rows;
	query->metric = metric;
	query->dims = dims;

	if (elem == ECP_ELEM_UINT8)
	{
		int32		sum;
		int32		norm2;

		Assert(metric <= ECP_METRIC_COSINE);
		ecp_kernels->u8_prepare(elements, dims, (int8 *) copy, &sum, &norm2);
		query->norm2 = norm2;
		query->u8.elements = (int8 *) copy;
		if (parts)
		{
			query->parts = (EcpPartsQuery *) (copy + bytes);
			ecp_parts_query_init((EcpPartsQuery *) query->parts, dims,
								 elements);
		}
		query->u8.dims = dims;
		query->u8.base = (metric == ECP_METRIC_L2) ? norm2 : 0;
		query->u8.factor_times = (metric == ECP_METRIC_IP) ? -1 : 1;
		query->u8.dot_times = (metric == ECP_METRIC_L2) ? -2 :
			(metric == ECP_METRIC_IP) ? -1 : 1;
	}
	else if (elem == ECP_ELEM_BIT)
	{
		memcpy(copy, elements, ecp_vector_bytes(elem, dims));
		query->bits = (uint8 *) copy;
		query->bit_ranks = bit_ranks(metric);
	}
	else if (rows == ECP_ELEM_NIBBLES)
		query->nibbles = ecp_nibbles_query_init(copy, metric, dims, elements,
												ECP_CODE_EPS);
	else
	{
		memcpy(copy, elements, dims * sizeof(float4));
		query->f32 = (const float4 *) copy;
		query->float_sums = float_sums(rows, metric);

		if (metric == ECP_METRIC_COSINE)
			query->norm2 = f32_norm2(query->f32, dims);
	}

	return query;
}

/*
 * 1 - cos from an inner product and two squared norms.  The clamp is for
 * parallel vectors whose rounded cosine is above 1.  A zero vector has no
 * direction: NaN, which the clamps let through.
 */
static inline float8
cosine_rank(float8 dot, float8 norm2_a, float8 norm2_b)
{
	float8		similarity = dot / sqrt(norm2_a * norm2_b);

	if (similarity > 1)
		similarity = 1;
	else if (similarity < -1)
		similarity = -1;

	return 1 - similarity;
}

/* Turn the exact inner products of uint8 rows into cosine ranks, in place. */
static void
u8_cosine_ranks(const EcpQuery *query, const int32 *norm2, int n,
				float8 *ranks)
{
	for (int i = 0; i < n; i++)
		ranks[i] = cosine_rank(ranks[i], query->norm2, norm2[i]);
}

static inline float8
f32_cosine_rank(const float4 *a, float4 norm2_a, const float4 *b,
				float4 norm2_b, int dims, float4 dot)
{
	if (likely(square_sum_is_exact(norm2_a) && square_sum_is_exact(norm2_b)))
		return cosine_rank(dot, norm2_a, norm2_b);
	return cosine_rank(wide_dot(a, b, dims), wide_dot(a, a, dims),
					   wide_dot(b, b, dims));
}

/* The rank of two vectors by what a kernel says of them; norms for cosine only. */
static float8
f32_rank(EcpMetric metric, int dims, const float4 *a, float4 norm2_a,
		 const float4 *b, float4 norm2_b, float4 sum)
{
	switch (metric)
	{
		case ECP_METRIC_L2:
			return f32_l2_rank(a, b, dims, sum);
		case ECP_METRIC_IP:
			return f32_ip_rank(a, b, dims, sum);
		case ECP_METRIC_COSINE:
			return f32_cosine_rank(a, norm2_a, b, norm2_b, dims, sum);
		case ECP_METRIC_L1:
			return f32_l1_rank(a, b, dims, sum);
		case ECP_METRIC_HAMMING:
		case ECP_METRIC_JACCARD:
			break;
	}
	elog(ERROR, "unrecognized metric: %d", (int) metric);
	return 0;					/* keep compiler quiet */
}

/* Ranks of a chunk of n rows, right if all sums are exact; are they? */
static inline bool
f32_exact_ranks(const EcpQuery *query, const float4 *sums,
				const float4 *norm2, int n, float8 *ranks)
{
	bool		exact = true;

	switch (query->metric)
	{
		case ECP_METRIC_L2:
			for (int i = 0; i < n; i++)
			{
				exact &= square_sum_is_exact(sums[i]);
				ranks[i] = sums[i];
			}
			break;
		case ECP_METRIC_IP:
			for (int i = 0; i < n; i++)
			{
				exact &= square_sum_is_exact(fabsf(sums[i]));
				ranks[i] = -(float8) sums[i];
			}
			break;
		case ECP_METRIC_COSINE:
			exact = square_sum_is_exact(query->norm2);
			for (int i = 0; i < n; i++)
			{
				exact &= square_sum_is_exact(norm2[i]);
				ranks[i] = cosine_rank(sums[i], query->norm2, norm2[i]);
			}
			break;
		case ECP_METRIC_L1:
			for (int i = 0; i < n; i++)
			{
				exact &= distance_sum_is_exact(sums[i]);
				ranks[i] = sums[i];
			}
			break;
		case ECP_METRIC_HAMMING:
		case ECP_METRIC_JACCARD:
			Assert(false);
			break;
	}
	return exact;
}

/* The same of a row as it is stored. */
static pg_noinline float8
float_rank(const EcpQuery *query, const char *row, const float4 *norm2,
		   float4 sum)
{
	float4		converted[ECP_DIMS_MAX];
	const float4 *floats = (const float4 *) row;

	if (query->elem == ECP_ELEM_FLOAT16)
	{
		ecp_halves_to_floats((const uint16 *) row, query->dims, converted);
		floats = converted;
	}
	return f32_rank(query->metric, query->dims, query->f32, query->norm2, floats,
					norm2 ? *norm2 : 0, sum);
}

static void
float_rank_rows(const EcpQuery *query, const char *rows, Size stride,
				const float4 *norm2, int n, float8 *ranks)
{
	float4		sums[RANK_CHUNK];

	for (int done = 0; done < n; done += RANK_CHUNK)
	{
		int			count = Min(n - done, RANK_CHUNK);
		const char *first = rows + done * stride;
		const float4 *norms = norm2 ? norm2 + done : NULL;

		query->float_sums(query->f32, query->dims, first, stride, count, sums);
		if (likely(f32_exact_ranks(query, sums, norms, count, ranks + done)))
			continue;
		for (int i = 0; i < count; i++)
			ranks[done + i] = float_rank(query, first + i * stride,
										 norms ? norms + i : NULL, sums[i]);
	}
}

/* Rows of nibbles whose parts follow each other. */
static void
nibbles_rank_rows(const EcpQuery *query, const char *rows, Size stride, int n,
				  float8 *ranks)
{
	for (int done = 0; done < n; done += ECP_PASS_ROWS)
	{
		EcpNibblesRows some = {rows, stride,
			rows + EcpNibblesUpper(query->dims), stride};

		(void) ecp_nibbles_query_rank(query->nibbles, &some,
									  EcpLowBits(n - done), INFINITY,
									  ranks + done, NULL);
		rows += ECP_PASS_ROWS * stride;
	}
}

void
ecp_query_rank_rows(const EcpQuery *query, const void *rows, Size stride,
					const uint32 *const *factors, int n, float8 *ranks)
{
	Assert(n >= 0);
	if (query->elem == ECP_ELEM_UINT8)
	{
		ecp_kernels->u8_rank_rows(&query->u8, rows, stride,
								  (const int32 *) factors[0], n, ranks);
		if (query->metric == ECP_METRIC_COSINE)
			u8_cosine_ranks(query, (const int32 *) factors[1], n, ranks);
	}
	else if (query->elem == ECP_ELEM_BIT)
		query->bit_ranks(query->bits, ecp_vector_bytes(ECP_ELEM_BIT, query->dims),
						 rows, stride, n, ranks);
	else if (query->elem == ECP_ELEM_NIBBLES)
		nibbles_rank_rows(query, rows, stride, n, ranks);
	else
		float_rank_rows(query, rows, stride,
						factors ? (const float4 *) factors[0] : NULL,
						n, ranks);
}

void
ecp_query_rank_columns(const EcpQuery *query, const uint8 *columns,
					   int nslots, const uint32 *const *factors, int n,
					   float8 *ranks)
{
	Assert(query->elem == ECP_ELEM_UINT8);
	Assert(n <= nslots);

	ecp_kernels->u8_rank_columns(&query->u8, columns, nslots,
								 (const int32 *) factors[0], n, ranks);
	if (query->metric == ECP_METRIC_COSINE)
		u8_cosine_ranks(query, (const int32 *) factors[1], n, ranks);
}

uint64
ecp_query_pass_parts(const EcpQuery *query, const uint8 *upper,
					 const uint8 *lower, const uint32 *factor, uint64 rows,
					 float8 limit, float8 *ranks)
{
	const EcpPartsQuery *parts = query->parts;
	uint64		near = 0;
	uint64		passed = 0;

	if (query->elem == ECP_ELEM_NIBBLES)
	{
		EcpNibblesRows halves = {(const char *) upper, EcpNibblesUpper(query->dims),
			(const char *) lower, EcpNibblesLower(query->dims)};

		return ecp_nibbles_query_rank(query->nibbles, &halves, rows, limit, ranks, NULL);
	}
	Assert(parts != NULL);
	if (rows == 0)
		return 0;
	if (limit < PARTS_LIMIT_MAX)
	{
		float4		whole = (float4) Max(floor(limit), -1);
		int			n = pg_leftmost_one_pos64(rows) + 1;

		for (int from = 0; from < n; from += PARTS_STEP)
		{
			int			count = Min(n - from, PARTS_STEP);
			uint64		word = ecp_kernels->u8_parts_near(parts,
														  upper + (Size) from * parts->bytes,
														  (const int32 *) factor + from,
														  count, whole) << from;

			word &= rows;
			near |= word;
			for (; word != 0; word &= word - 1)
			{
				const uint8 *row = lower + (Size) pg_rightmost_one_pos64(word) * parts->bytes;

				__builtin_prefetch(row);
				__builtin_prefetch(row + parts->bytes - 1);
			}
		}
		rows = near;
	}
	ecp_kernels->u8_parts_rank(parts, upper, lower, rows, ranks);
	for (; rows != 0; rows &= rows - 1)
	{
		int			i = pg_rightmost_one_pos64(rows);

		passed |= (uint64) (ranks[i] <= limit) << i;
	}
	return passed;
}

uint64
ecp_ranks_passed(const float8 *ranks, int n, float8 limit)
{
	Assert(n >= 0 && n <= 64);
	return ecp_kernels->f64_passed(ranks, n, limit) & EcpLowBits(n);
}

uint64
ecp_bounds_passed(const float4 *bounds, int n, float8 limit)
{
	float4		rounded = (float4) limit;

	Assert(n >= 0 && n <= 64);
	if (rounded < limit)
		rounded = nextafterf(rounded, INFINITY);
	return ecp_kernels->f32_passed(bounds, n, rounded) & EcpLowBits(n);
}

/* The largest rank of uint8 vectors, L2 or IP, that is not above a limit. */
static int32
u8_limit(float8 limit)
{
	if (limit >= PG_INT32_MAX)
		return PG_INT32_MAX;
	return limit > PG_INT32_MIN ? (int32) floor(limit) : PG_INT32_MIN;
}

/* Some queries, of L2 or IP, in one kernel call. */
static void
u8_pass_columns(const EcpQuery *const *queries, int nqueries,
				const float8 *limits, const uint8 *columns, int nslots,
				const int32 *factor, int n, uint64 *passed, float8 *const *ranks)
{
	const EcpU8Query *u8[ECP_PASS_QUERIES] = {NULL};
	int32		u8_limits[ECP_PASS_QUERIES] = {0};
	int32		sums[ECP_PASS_QUERIES * ECP_PASS_ROWS];

	for (int q = 0; q < nqueries; q++)
	{
		u8[q] = &queries[q]->u8;
		u8_limits[q] = u8_limit(limits[q]);
	}
	ecp_kernels->u8_pass_columns(u8, nqueries, u8_limits, columns, nslots,
								 factor, n, passed, sums);
	for (int q = 0; q < nqueries; q++)
	{
		for (uint64 word = passed[q]; word != 0; word &= word - 1)
		{
			int			i = pg_rightmost_one_pos64(word);

			ranks[q][i] = sums[q * ECP_PASS_ROWS + i];
		}
	}
}

void
ecp_queries_pass_columns(const EcpQuery *const *queries, int nqueries,
						 const float8 *limits, const uint8 *columns,
						 int nslots, const uint32 *const *factors, int n,
						 uint64 *passed, float8 *const *ranks)
{
	Assert(nqueries >= 1 && nqueries <= ECP_PASS_QUERIES);
	Assert(n <= ECP_PASS_ROWS);

	if (ecp_kernels->u8_pass_columns == NULL ||
		queries[0]->metric == ECP_METRIC_COSINE)
	{
		for (int q = 0; q < nqueries; q++)
		{
			ecp_query_rank_columns(queries[q], columns, nslots, factors, n, ranks[q]);
			passed[q] = ecp_ranks_passed(ranks[q], n, limits[q]);
		}
	}
	else
		u8_pass_columns(queries, nqueries, limits, columns, nslots,
						(const int32 *) factors[0], n, passed, ranks);
}

void
ecp_columns_put(uint8 *columns, int nslots, int slot, int dims,
				const uint8 *row)
{
	int			whole = dims / ECP_GROUP;

	Assert(slot >= 0 && slot < nslots);
	columns += slot * ECP_GROUP;
	for (int g = 0; g < whole; g++, columns += nslots * ECP_GROUP)
		memcpy(columns, row + g * ECP_GROUP, ECP_GROUP);
	if (whole * ECP_GROUP < dims)
	{
		memset(columns, 0, ECP_GROUP);
		memcpy(columns, row + whole * ECP_GROUP, dims - whole * ECP_GROUP);
	}
}

void
ecp_columns_get(const uint8 *columns, int nslots, int slot, int dims,
				uint8 *row)
{
	int			whole = dims / ECP_GROUP;

	Assert(slot >= 0 && slot < nslots);
	columns += slot * ECP_GROUP;
	for (int g = 0; g < whole; g++, columns += nslots * ECP_GROUP)
		memcpy(row + g * ECP_GROUP, columns, ECP_GROUP);
	memcpy(row + whole * ECP_GROUP, columns, dims - whole * ECP_GROUP);
}

void
ecp_add_bytes(const uint8 *const *rows, int nrows, int dims, uint32 *sums)
{
	Assert(nrows >= 0 && dims >= 1);
	ecp_kernels->u8_add(rows, nrows, dims, sums);
}

void
ecp_add_floats(const float4 *const *rows, int nrows, int dims, float8 *sums)
{
	Assert(nrows >= 0 && dims >= 1);
	ecp_kernels->f32_add(rows, nrows, dims, sums);
}

void
ecp_floats_to_bytes(const float4 *vector, const float4 *lows, float4 scale,
					int dims, uint8 *bytes)
{
	int			whole = dims - dims % 16;

	Assert(dims >= 1);
	ecp_kernels->f32_bytes(vector, lows, scale, whole, bytes);
	if (whole < dims)
	{
		float4		rest[16] = {0};
		float4		rest_lows[16] = {0};
		uint8		rest_bytes[16];
		int			n = dims - whole;

		memcpy(rest, vector + whole, n * sizeof(float4));
		memcpy(rest_lows, lows + whole, n * sizeof(float4));
		ecp_kernels->f32_bytes(rest, rest_lows, scale, 16, rest_bytes);
		memcpy(bytes + whole, rest_bytes, n);
	}
}

void
ecp_halves_to_floats(const uint16 *halves, int dims, float4 *floats)
{
	Assert(dims >= 1);
	ecp_kernels->f16_floats(halves, dims, floats);
}

void
ecp_floats_to_halves(const float4 *floats, int dims, uint16 *halves)
{
	Assert(dims >= 1);
	ecp_kernels->f16_halves(floats, dims, halves);
}

/*
 * Products of floats are exact, so nothing depends on how they are added up, but
 * order: that of 8 lanes, then of the elements that do not fill them.
 */
bool
ecp_unit_length(float4 *vector, int dims)
{
	double		lanes[8] = {0};
	int			whole = dims / 8 * 8;
	double		norm2 = 0;
	double		scale;

	Assert(dims >= 1);
	for (int i = 0; i < whole; i += 8)
	{
		for (int l = 0; l < 8; l++)
			lanes[l] += (double) vector[i + l] * vector[i + l];
	}
	for (int i = 0; i < 8; i++)
		norm2 += lanes[i];
	for (int i = whole; i < dims; i++)
		norm2 += (double) vector[i] * vector[i];
	if (norm2 == 0)
		return false;
	scale = 1 / sqrt(norm2);
	for (int i = 0; i < whole; i += 8)
		for (int l = 0; l < 8; l++)
			vector[i + l] = (float4) (vector[i + l] * scale);
	for (int i = whole; i < dims; i++)
		vector[i] = (float4) (vector[i] * scale);
	return true;
}

float8
ecp_rank_distance(EcpMetric metric, float8 rank)
{
	return (metric == ECP_METRIC_L2) ? sqrt(rank) : rank;
}

/*
 * Equal to creating a query from "a" and ranking "b",
 * without the preparation.
 */
float8
ecp_distance(EcpElem elem, EcpMetric metric, int dims, const void *a,
			 const void *b)
{
	float8		rank;

	Assert(elem != ECP_ELEM_FLOAT16 && elem != ECP_ELEM_NIBBLES);
	if (elem == ECP_ELEM_UINT8)
	{
		EcpU8Sums	sums;

		ecp_kernels->u8_sums(a, b, dims, &sums);
		rank = metric == ECP_METRIC_COSINE ? cosine_rank(sums.ab, sums.aa, sums.bb) :
			metric == ECP_METRIC_IP ? -(float8) sums.ab : sums.aa - 2 * sums.ab + sums.bb;
	}
	else if (elem == ECP_ELEM_BIT)
		bit_ranks(metric) (a, ecp_vector_bytes(elem, dims), b, 0, 1, &rank);
	else
	{
		bool		cosine = metric == ECP_METRIC_COSINE;
		float4		sum;

		float_sums(elem, metric) (a, dims, b, 0, 1, &sum);
		rank = f32_rank(metric, dims, a, cosine ? f32_norm2(a, dims) : 0, b,
						cosine ? f32_norm2(b, dims) : 0, sum);
	}
	return ecp_rank_distance(metric, rank);
}
