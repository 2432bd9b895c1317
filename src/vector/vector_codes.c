/*-------------------------------------------------------------------------
 *
 * vector_codes.c
 *	  One-bit codes of vectors: making them, and bounds of ranks from them.
 *
 * The mathematics is in vector_codes.h.  The two inner loops, the Hadamard
 * transform and the sums by shuffles, are kernels (vector_kernels.h) and give
 * the same answers in every instruction set; so an index may be read by
 * another machine than the one that wrote it.
 *
 * The random signs of an index and the rotated leader of the cluster whose
 * rows were coded last are remembered: rows come one at a time, but many of
 * one cluster in a row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "port/pg_bitutils.h"
#include "vector/vector_codes.h"
#include "vector/vector_kernels.h"

#define CODE_ROUNDS_MAX	4

#define CODE_ALIGN		64

/* Levels: the last, what stands for zero, and steps in a standard deviation. */
#define LEVEL_LAST		15
#define LEVEL_MIDDLE	7.5f
#define LEVEL_STEPS		2.98f

/*
 * How much wider eps is for levels: their bounds are narrow enough, and are to be right
 * more often.  What is lost of sparse vectors is not quite random.
 */
#define LEVELS_CAUTION	1.4f

/* The largest element of a query in signed bytes. */
#define QUERY_LEVELS	127

typedef float4 FourFloats __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32 FourInts __attribute__((vector_size(16)));

struct EcpCodeQuery
{
	EcpMetric	metric;
	EcpCodeScan scan;			/* base and radius are the cluster's */
	float4		norm;			/* |q| */
	float4		eps;
	float4		rounding;		/* of the tables: what <s, q'> may be short of */
	float4		loss;			/* see code_loss() */
	float4		l1;				/* as in EcpCodeMargin */
	const int8 *elements;		/* q' in bytes, for levels */
	float4		byte_step;
	int32		byte_sum;
	float4		byte_rounding;	/* eps times what bytes may be short of, a
								 * step */
};

/* Signs of the rotation for one seed and number of elements: top bits. */
typedef struct CodeRotation
{
	uint64		seed;
	int			dims;			/* as rotated; 0 = not made yet */
	int			nrounds;
	int			window;			/* elements that a round transforms */
	uint32		signs[CODE_ROUNDS_MAX][ECP_CODE_DIMS_MAX];
} CodeRotation;

/* The leader of the row that was coded last. */
typedef struct CodeLeader
{
	uint64		seed;
	EcpElem		elem;
	int			dims;			/* 0 = none yet */
	bool		origin;			/* it is not a vector */
	float4		vector[ECP_CODE_DIMS_MAX];	/* in its element kind */
	float4		elements[ECP_CODE_DIMS_MAX];
	float4		rotated[ECP_CODE_DIMS_MAX];
} CodeLeader;

static CodeRotation code_rotation;
static CodeLeader code_leader;

/* splitmix64 of a counter: random bits that no library changes */
static uint64
code_random(uint64 seed, uint64 counter)
{
	uint64		z = seed + (counter + 1) * UINT64CONST(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static const CodeRotation *
code_rotation_get(int dims, uint64 seed)
{
	CodeRotation *rotation = &code_rotation;
	int			window = 16;

	if (rotation->dims == dims && rotation->seed == seed)
		return rotation;

	while (window * 2 <= dims)
		window *= 2;
	rotation->seed = seed;
	rotation->dims = dims;
	rotation->window = window;
	rotation->nrounds = window == dims ? CODE_ROUNDS_MAX - 1 : CODE_ROUNDS_MAX;
	for (int r = 0; r < rotation->nrounds; r++)
	{
		for (int i = 0; i < dims; i++)
		{
			uint64		bits = code_random(seed, r * ECP_CODE_DIMS_MAX + i / 64);

			rotation->signs[r][i] = (uint32) (bits >> (i % 64)) << 31;
		}
	}
	return rotation;
}

void
ecp_code_rotate(float4 *x, int dims, uint64 seed)
{
	const CodeRotation *rotation = code_rotation_get(dims, seed);
	int			window = rotation->window;
	float4		scale = 1 / sqrtf((float4) window);

	for (int r = 0; r < rotation->nrounds; r++)
	{
		int			first = (r % 2) * (dims - window);

		ecp_kernels->f32_hadamard(x + first, rotation->signs[r] + first,
								  window, scale);
	}
}

void
ecp_code_rotate_back(float4 *x, int dims, uint64 seed)
{
	static const uint32 no_signs[ECP_CODE_DIMS_MAX];
	const CodeRotation *rotation = code_rotation_get(dims, seed);
	int			window = rotation->window;
	float4		scale = 1 / sqrtf((float4) window);

	for (int r = rotation->nrounds - 1; r >= 0; r--)
	{
		int			first = (r % 2) * (dims - window);

		ecp_kernels->f32_hadamard(x + first, no_signs, window, scale);
		for (int i = first; i < first + window; i++)
			x[i] = rotation->signs[r][i] ? -x[i] : x[i];
	}
}

/* What rounding may take from a rank, as a share of its summands. */
static float4
code_loss(int dims)
{
	return 2 * FLT_EPSILON * sqrtf(dims);
}

/* The elements of a prepared vector, with zeros up to the rotated length. */
static void
code_elements(EcpElem elem, int dims, const void *vector, float4 *elements)
{
	if (elem == ECP_ELEM_UINT8)
		ecp_kernels->u8_floats(vector, dims, elements);
	else
		memcpy(elements, vector, dims * sizeof(float4));
	memset(elements + dims, 0, (EcpCodeDims(dims) - dims) * sizeof(float4));
}

/* The leader (NULL = the origin) and its rotated form. */
static const CodeLeader *
code_leader_get(EcpElem elem, int dims, uint64 seed, const void *leader)
{
	CodeLeader *cached = &code_leader;
	Size		bytes = dims * (elem == ECP_ELEM_UINT8 ? 1 : sizeof(float4));
	int			ndims = EcpCodeDims(dims);

	if (cached->dims == dims && cached->elem == elem &&
		cached->seed == seed && cached->origin == (leader == NULL) &&
		(cached->origin || memcmp(cached->vector, leader, bytes) == 0))
		return cached;

	cached->dims = dims;
	cached->elem = elem;
	cached->seed = seed;
	cached->origin = leader == NULL;
	if (cached->origin)
		memset(cached->elements, 0, ndims * sizeof(float4));
	else
	{
		memcpy(cached->vector, leader, bytes);
		code_elements(elem, dims, leader, cached->elements);
	}
	memcpy(cached->rotated, cached->elements, ndims * sizeof(float4));
	ecp_code_rotate(cached->rotated, ndims, seed);
	return cached;
}

/*
 * The factors of a row whose rotated form has |r|^2 = norm2, and <s, r'> = sum with what
 * its code stands for, s, where |s|^2 = code_norm2 and <s, c'> = leader_sum.
 */
static void
code_factors(EcpMetric metric, int ndims, double norm2, double sum,
			 double code_norm2, double leader_sum, void *factors)
{
	float4		values[ECP_CODE_FACTORS] = {0};

	/* a row that is its leader has no direction, and needs none */
	if (norm2 > 0 && sum > 0)
	{
		double		times = norm2 / sum;	/* |r| / (a |s|) */
		double		cos2 = Min(sum * sum / (norm2 * code_norm2), 1.0);
		double		width = sqrt(norm2 * (1 - cos2) / (cos2 * (ndims - 1)));
		double		shift = times * leader_sum;
		double		loss = code_loss(ndims) * (norm2 + 2 * fabs(shift));

		switch (metric)
		{
			case ECP_METRIC_L2:
			case ECP_METRIC_L1:
				values[0] = norm2 + 2 * shift - loss;
				values[1] = 2 * times;
				values[2] = 2 * width;
				break;
			case ECP_METRIC_IP:
				values[1] = times;
				values[2] = width;
				break;
			case ECP_METRIC_COSINE:
				values[0] = norm2 / 2 + shift - loss / 2;
				values[1] = times;
				values[2] = width;
				break;
			case ECP_METRIC_HAMMING:
			case ECP_METRIC_JACCARD:
				Assert(false);	/* bits have no codes */
				break;
		}
	}
	/* a row too far away for floats is always compared exactly */
	if (!isfinite(values[0]) || !isfinite(values[1]) || !isfinite(values[2]))
	{
		values[0] = -FLT_MAX;
		values[1] = values[2] = 0;
	}
	memcpy(factors, values, sizeof(values));
}

/* The levels of a row's rotated form r. */
static void
levels_make(EcpMetric metric, int ndims, const float4 *r, const float4 *leader,
			double norm2, char *levels)
{
	uint8	   *nibbles = (uint8 *) levels + ECP_CODE_FACTORS * sizeof(float4);
	float4		step = sqrt(norm2 / ndims) / LEVEL_STEPS;
	float4		lows[ECP_CODE_DIMS_MAX];
	uint8		level[ECP_CODE_DIMS_MAX];
	float4		floats[ECP_CODE_DIMS_MAX];
	int32		sum;
	int32		squares;

	for (int i = 0; i < ndims; i++)
		lows[i] = -(LEVEL_MIDDLE + 0.5f) * step;
	ecp_kernels->f32_bytes(r, lows, step > 0 && isfinite(1 / step) ? 1 / step : 0,
						   ndims, level);
	for (int i = 0; i < ndims; i++)
		level[i] = Min(level[i], LEVEL_LAST);
	ecp_kernels->u8_prepare(level, ndims, NULL, &sum, &squares);
	ecp_kernels->u8_floats(level, ndims, floats);
	for (int i = 0; i < ndims; i++)
		floats[i] -= LEVEL_MIDDLE;
	code_factors(metric, ndims, norm2, ecp_float_dot(floats, r, ndims),
				 squares - 2 * LEVEL_MIDDLE * sum + ndims * LEVEL_MIDDLE * LEVEL_MIDDLE,
				 ecp_float_dot(floats, leader, ndims), levels);
	for (int i = 0; i < ndims / 2; i++)
		nibbles[i] = level[i] | level[ndims / 2 + i] << 4;
}

void
ecp_code_make(EcpElem elem, EcpMetric metric, int dims, uint64 seed,
			  const void *row, const void *leader, uint8 *code,
			  uint32 *factors, char *levels)
{
	const CodeLeader *c = code_leader_get(elem, dims, seed, leader);
	int			ndims = EcpCodeDims(dims);
	float4		r[ECP_CODE_DIMS_MAX];
	float4		row_sum;
	float4		leader_sum;
	double		norm2;

	Assert(dims <= ECP_CODE_DIMS_MAX);

	code_elements(elem, dims, row, r);
	for (int i = 0; i < ndims; i += 4)
		*(FourFloats *) (r + i) -= *(const FourFloats *) (c->elements + i);
	norm2 = ecp_float_dot(r, r, ndims);
	ecp_code_rotate(r, ndims, seed);
	ecp_kernels->f32_signs(r, c->rotated, ndims, code, &row_sum, &leader_sum);
	if (isinf(norm2))
	{
		/* too much for a float only */
		norm2 = 0;
		for (int i = 0; i < ndims; i++)
			norm2 += (double) r[i] * r[i];
	}
	code_factors(metric, ndims, norm2, row_sum, ndims, leader_sum, factors);
	if (levels)
		levels_make(metric, ndims, r, c->rotated, norm2, levels);
}

void
ecp_code_put(uint8 *blocks, int slot, int dims, const uint8 *code)
{
	int			ngroups = EcpCodeDims(dims) / ECP_GROUP;
	uint8	   *byte = blocks + (Size) (slot / ECP_CODE_BLOCK) * ngroups * 16 +
		slot % 16;
	int			shift = slot % ECP_CODE_BLOCK < 16 ? 0 : 4;

	Assert(slot >= 0);
	Assert(dims >= 1 && dims <= ECP_CODE_DIMS_MAX);
	for (int g = 0; g < ngroups; g++, byte += 16)
	{
		uint8		nibble = (code[g / 2] >> (g % 2 * 4)) & 0x0F;

		*byte = (*byte & (0xF0 >> shift)) | (nibble << shift);
	}
}

void
ecp_code_get(const uint8 *blocks, int slot, int dims, uint8 *code)
{
	int			ngroups = EcpCodeDims(dims) / ECP_GROUP;
	const uint8 *byte = blocks +
		(Size) (slot / ECP_CODE_BLOCK) * ngroups * 16 + slot % 16;
	int			shift = slot % ECP_CODE_BLOCK < 16 ? 0 : 4;

	Assert(slot >= 0);
	Assert(dims >= 1 && dims <= ECP_CODE_DIMS_MAX);
	memset(code, 0, EcpCodeBytes(dims));
	for (int g = 0; g < ngroups; g++, byte += 16)
		code[g / 2] |= ((*byte >> shift) & 0x0F) << (g % 2 * 4);
}

/*
 * The table of four numbers: the sums of any of them, above the least such sum, which
 * are less than 255.5; rounded.  Entry m has numbers i whose bit i of m is set.
 */
static void
code_make_table(const float4 *steps, uint8 *table)
{
	const FourFloats third = {0, steps[2], 0, steps[2]};
	const FourFloats fourth = {0, 0, steps[3], steps[3]};
	float4		least = 0.5f;
	FourInts	packed = {0};

	for (int i = 0; i < ECP_GROUP; i++)
		least += steps[i] < 0 ? -steps[i] : 0;
	for (int m = 0; m < 4; m++)
	{
		float4		sum = least + (m & 1 ? steps[0] : 0);
		FourFloats	sums = {0};

		sum += m & 2 ? steps[1] : 0;
		sums = sums + sum + third + fourth;
		packed |= __builtin_convertvector(sums, FourInts) << (8 * m);
	}
	memcpy(table, &packed, sizeof(packed));
}

/*
 * The tables: of each four elements the sums that their signs can make, as
 * steps above the least one.
 */
static void
code_make_tables(EcpCodeScan *scan, const float4 *q, uint8 *tables)
{
	float4		range = 0;
	float4		inverse;
	double		low = 0;
	float4		steps[ECP_CODE_DIMS_MAX];

	for (int g = 0; g < scan->ngroups; g++)
	{
		const float4 *x = q + g * ECP_GROUP;
		float4		sum = fabsf(x[0]) + fabsf(x[1]) + fabsf(x[2]) + fabsf(x[3]);

		range = Max(range, 2 * sum);
		low -= sum;
	}
	scan->low = low;
	scan->step = range / 255;
	inverse = range > 0 ? 255 / range : 0;

	for (int i = 0; i < scan->ngroups * ECP_GROUP; i++)
		steps[i] = 2 * q[i] * inverse;
	for (int g = 0; g < scan->ngroups; g++)
		code_make_table(steps + g * ECP_GROUP, tables + g * 16);
}

EcpRounded
ecp_code_round(const float4 *x, int n, int8 *bytes)
{
	EcpRounded	rounded = {0};
	float4		largest = 0;
	double		lack2 = 0;

	for (int i = 0; i < n; i++)
		largest = Max(largest, fabsf(x[i]));
	rounded.step = largest / QUERY_LEVELS;
	for (int i = 0; i < n; i++)
	{
		double		lack;

		bytes[i] = largest > 0 ? (int) rintf(x[i] / largest * QUERY_LEVELS) : 0;
		lack = x[i] - (double) rounded.step * bytes[i];
		rounded.total += bytes[i];
		lack2 += lack * lack;
	}
	rounded.lack = sqrt(lack2);
	return rounded;
}

/* The elements of a query in bytes, as nibble_dot() has them. */
static void
query_round(EcpCodeQuery *query, const float4 *q, int ndims, int8 *elements)
{
	int8		bytes[ECP_CODE_DIMS_MAX];
	EcpRounded	rounded = ecp_code_round(q, ndims, bytes);

	memcpy(elements, bytes, ndims / 2);
	memcpy(elements + EcpPlanePadded(ndims / 2), bytes + ndims / 2, ndims / 2);
	query->elements = elements;
	query->byte_step = rounded.step;
	query->byte_sum = rounded.total;
	query->byte_rounding = LEVELS_CAUTION * query->eps * LEVEL_STEPS * rounded.lack;
}

EcpCodeQuery *
ecp_code_query_create(EcpElem elem, EcpMetric metric, int dims, uint64 seed,
					  const void *query, float4 eps, bool levels, float4 l1)
{
	int			ndims = EcpCodeDims(dims);
	Size		bytes = sizeof(EcpCodeQuery) + CODE_ALIGN + ndims / ECP_GROUP * 16 +
		(levels ? 2 * EcpPlanePadded(ndims / 2) : 0);
	EcpCodeQuery *result = palloc0(bytes);
	uint8	   *tables = (uint8 *) TYPEALIGN(CODE_ALIGN, result + 1);
	float4		q[ECP_CODE_DIMS_MAX];
	float4		norm2;
	float4		ngroups;

	Assert(dims >= 1 && dims <= ECP_CODE_DIMS_MAX);
	Assert(eps >= 0);
	code_elements(elem, dims, query, q);
	norm2 = ecp_float_dot(q, q, ndims);
	ecp_code_rotate(q, ndims, seed);

	result->metric = metric;
	result->norm = sqrtf(norm2);
	result->eps = eps;
	result->scan.ngroups = ndims / ECP_GROUP;
	result->scan.tables = tables;
	code_make_tables(&result->scan, q, tables);
	if (levels)
		query_round(result, q, ndims, (int8 *) tables + ndims / ECP_GROUP * 16);

	/* an entry is off by half a step at most, by uniform chance */
	ngroups = result->scan.ngroups;
	result->rounding = result->scan.step *
		Min(ngroups / 2, eps * sqrtf(ngroups / 12));
	result->scan.low += result->rounding;
	result->loss = code_loss(ndims);
	result->l1 = metric == ECP_METRIC_L1 ? Max(l1, 1) : 0;
	return result;
}

float4
ecp_code_query_origin(const EcpCodeQuery *query)
{
	return query->metric == ECP_METRIC_IP ? 0 : query->norm * query->norm;
}

/* |v|: the rank of a leader by L2 is its squared distance, by cosine, too. */
static float4
query_radius(const EcpCodeQuery *query, float4 leader_rank)
{
	return query->metric == ECP_METRIC_IP ? query->norm : sqrtf(Max(leader_rank, 0));
}

EcpCodeMargin
ecp_code_query_margin(const EcpCodeQuery *query, float4 leader_rank)
{
	EcpCodeMargin margin;

	margin.times = query->rounding;
	margin.width = query->eps * query_radius(query, leader_rank);
	margin.l1 = query->l1;
	return margin;
}

/* What all ranks of a cluster's rows have in common, less what rounding may take. */
static float4
query_base(const EcpCodeQuery *query, float4 leader_rank)
{
	bool		cosine = query->metric == ECP_METRIC_COSINE;
	float4		base = cosine ? leader_rank / 2 : leader_rank;

	return base - query->loss * (fabsf(base) + (cosine ? 1 : 0));
}

void
ecp_code_query_bounds(const EcpCodeQuery *query, float4 leader_rank,
					  const uint8 *blocks, const uint32 *const *factors,
					  int n, float4 *bounds)
{
	EcpCodeScan scan = query->scan;

	Assert(n >= 0);
	scan.base = query_base(query, leader_rank);
	scan.radius = ecp_code_query_margin(query, leader_rank).width;
	ecp_kernels->code_bounds(&scan, blocks, (const float4 *) factors[0],
							 (const float4 *) factors[1],
							 (const float4 *) factors[2],
							 (n + ECP_CODE_BLOCK - 1) / ECP_CODE_BLOCK,
							 bounds);
	for (int i = 0; query->l1 > 0 && i < n; i++)
		bounds[i] = query->l1 * sqrtf(Max(bounds[i], 0));
}

void
ecp_code_query_refine(const EcpCodeQuery *query, float4 leader_rank,
					  const char *levels, Size stride, uint64 which,
					  float4 *bounds, float8 *estimates)
{
	int			bytes = query->scan.ngroups * ECP_GROUP / 2;
	float4		base = query_base(query, leader_rank);
	float4		radius = LEVELS_CAUTION * query->eps * query_radius(query, leader_rank);

	for (; which != 0; which &= which - 1)
	{
		int			i = pg_rightmost_one_pos64(which);
		const char *row = levels + i * stride;
		float4		factors[ECP_CODE_FACTORS];
		float4		product;
		float4		estimate;
		float4		bound;

		memcpy(factors, row, sizeof(factors));
		product = ecp_kernels->nibble_dot(query->elements, bytes,
										  (const uint8 *) row + sizeof(factors)) -
			LEVEL_MIDDLE * query->byte_sum;
		estimate = base + factors[0] - factors[1] * query->byte_step * product;
		bound = estimate - factors[1] * query->byte_rounding - radius * factors[2];
		if (query->l1 > 0)
		{
			estimate = query->l1 * sqrtf(Max(estimate, 0));
			bound = query->l1 * sqrtf(Max(bound, 0));
		}
		estimates[i] = estimate;
		if (bound > bounds[i])
			bounds[i] = bound;
	}
}
