/*-------------------------------------------------------------------------
 *
 * vector_nibbles.c
 *	  Vectors in four bits an element: making them, and ranks from them.
 *
 * The mathematics is in vector_codes.h.  The rotation is that of codes, and the
 * sums over elements are kernels, which give the same in every instruction set:
 * so a row that is read again from the table has the bytes that are stored.
 *
 * A vector is scaled by a power of two before it is rotated, so that no sum
 * overflows, whatever its elements are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "port/pg_bitutils.h"
#include "vector/vector_codes.h"
#include "vector/vector_kernels.h"

/* The last level, and the number that "middle" stands for. */
#define LEVEL_LAST		15
#define LEVEL_MIDDLE	7.5

/*
 * Half of the range of levels, in standard deviations of a row's elements: of
 * random elements this makes the error least, and a row's are random once rotated.
 */
#define LEVELS_SPREAD	2.6f

/* The rotation of all indexes. */
#define NIBBLES_SEED	UINT64CONST(0x6563705F6E696262)

/* By how much rounding of floats may change a cosine, or the square of an error. */
#define NIBBLES_LOSS	2e-6

/* How much wider signs take eps than bounds do, since they leave rows out. */
#define SIGNS_CAUTION	1.2

/* Planes of a row. */
#define PLANES			4

struct EcpNibblesQuery
{
	EcpMetric	metric;
	int			bytes;			/* of a plane */
	const int8 *elements;		/* as plane_dots() has them */
	double		norm;			/* |q|; the rest is of q / |q|, rotated */
	double		sum;			/* of the elements */
	double		step;			/* of their 8 bits */
	double		total;			/* of the elements in 8 bits */
	double		rounded;		/* length of what these 8 bits lack */
	double		side;			/* length of a vector of ones */
	double		width;			/* w, or 1 */
	double		signs_width;	/* the same for signs */
};

/* The factor, a power of two, that makes the largest element about one. */
static float4
vector_scale(int dims, const float4 *vector)
{
	float4		largest = 0;
	int			exponent;

	for (int i = 0; i < dims; i++)
		largest = Max(largest, fabsf(vector[i]));
	(void) frexpf(largest, &exponent);
	/* the inverse has to be a float, too */
	return largest > 0 ? ldexpf(1, -Max(exponent, -126)) : 1;
}

/* A vector, scaled and rotated, with as many elements as codes have. */
static void
vector_rotate(int dims, const float4 *vector, float4 scale, float4 *rotated)
{
	int			ndims = EcpCodeDims(dims);

	for (int i = 0; i < dims; i++)
		rotated[i] = vector[i] * scale;
	memset(rotated + dims, 0, (ndims - dims) * sizeof(float4));
	ecp_code_rotate(rotated, ndims, NIBBLES_SEED);
}

/*
 * The levels of n elements, one a byte: between the least and the largest, but not
 * farther from their mean than LEVELS_SPREAD says.
 */
static void
nibbles_choose(const float4 *x, int n, double mean, double norm2, uint8 *levels)
{
	float4		half = LEVELS_SPREAD * sqrt(Max(norm2 / n - mean * mean, 0));
	float4		least = x[0];
	float4		largest = x[0];
	float4		lows[ECP_NIBBLES_DIMS_MAX];
	float4		step;

	for (int i = 1; i < n; i++)
	{
		least = Min(least, x[i]);
		largest = Max(largest, x[i]);
	}
	least = Max(least, (float4) mean - half);
	largest = Min(largest, (float4) mean + half);
	step = (largest - least) / LEVEL_LAST;
	for (int i = 0; i < n; i++)
		lows[i] = least - step / 2;
	ecp_kernels->f32_bytes(x, lows, step > 0 ? 1 / step : 0, n, levels);
	for (int i = 0; i < n; i++)
		levels[i] = Min(levels[i], LEVEL_LAST);
}

/* The length of what signs stand for, as a share of the row's. */
static float4
nibbles_signs(const float4 *x, int n, double norm2, const uint8 *levels)
{
	float4		signs[ECP_NIBBLES_DIMS_MAX];
	float4		length;

	for (int i = 0; i < n; i++)
		signs[i] = levels[i] > LEVEL_MIDDLE ? 1 : -1;
	length = sqrt(norm2 * n) / ecp_float_dot(x, signs, n);
	return isfinite(length) && length > 0 ? length : 0;
}

/* What the levels stand for: the best for these elements, as the header says. */
static void
nibbles_fit(const float4 *x, int n, double mean, double norm2,
			const uint8 *levels, double scale, EcpNibblesData *data)
{
	float4		floats[ECP_NIBBLES_DIMS_MAX];
	int32		sum;
	int32		squares;
	double		level;
	double		variance;
	double		covariance;
	double		step;
	double		fit2;
	double		times;

	ecp_kernels->u8_prepare(levels, n, NULL, &sum, &squares);
	ecp_kernels->u8_floats(levels, n, floats);
	level = (double) sum / n;
	variance = squares - level * sum;
	covariance = ecp_float_dot(x, floats, n) - mean * sum;
	step = variance > 0 ? Max(covariance / variance, 0) : 0;
	fit2 = n * mean * mean + step * step * variance;
	times = fit2 > 0 ? norm2 / fit2 : 0;
	data->middle = (mean + step * (LEVEL_MIDDLE - level)) * times * scale;
	data->step = step * times * scale;
	data->norm = sqrt(norm2) * scale;
	data->error = sqrt(Max(times - 1, 0) + NIBBLES_LOSS);

	data->signs = nibbles_signs(x, n, norm2, levels);

	/* one that is too long for floats, or for its fit, says nothing */
	if (!isfinite(data->norm) || !isfinite(data->middle) ||
		!isfinite(data->step) || !isfinite(data->error) || fit2 <= 0)
	{
		data->norm = Min(data->norm, FLT_MAX);
		data->middle = data->step = data->signs = 0;
		data->error = FLT_MAX;
	}
}

void
ecp_nibbles_make(int dims, const float4 *vector, void *nibbles)
{
	EcpNibblesData data = {0};
	uint8	   *planes = (uint8 *) nibbles + sizeof(data);
	int			n = EcpCodeDims(dims);
	int			plane = EcpCodeBytes(dims);
	float4		scale = vector_scale(dims, vector);
	float4		x[ECP_NIBBLES_DIMS_MAX];
	float4		ones[ECP_NIBBLES_DIMS_MAX];
	uint8		levels[ECP_NIBBLES_DIMS_MAX] = {0};
	double		norm2;

	Assert(dims >= 1 && dims <= ECP_NIBBLES_DIMS_MAX);
	vector_rotate(dims, vector, scale, x);
	norm2 = ecp_float_dot(x, x, n);
	if (norm2 > 0)
	{
		double		mean;

		for (int i = 0; i < n; i++)
			ones[i] = 1;
		mean = (double) ecp_float_dot(x, ones, n) / n;
		nibbles_choose(x, n, mean, norm2, levels);
		nibbles_fit(x, n, mean, norm2, levels, 1.0 / scale, &data);
	}
	memcpy(nibbles, &data, sizeof(data));
	memset(planes, 0, PLANES * plane);
	for (int i = 0; i < n; i++)
	{
		for (int p = 0; p < PLANES; p++)
			planes[p * plane + i / 8] |= (levels[i] >> (PLANES - 1 - p) & 1) << i % 8;
	}
}

void
ecp_nibbles_get(int dims, const void *nibbles, float4 *vector)
{
	EcpNibblesData data;
	const uint8 *planes = (const uint8 *) nibbles + sizeof(data);
	int			n = EcpCodeDims(dims);
	int			plane = EcpCodeBytes(dims);
	float4		x[ECP_NIBBLES_DIMS_MAX];
	float4		middle;
	float4		step;

	Assert(dims >= 1 && dims <= ECP_NIBBLES_DIMS_MAX);
	memcpy(&data, nibbles, sizeof(data));
	if (!(data.norm > 0))
	{
		memset(vector, 0, dims * sizeof(float4));
		return;
	}
	middle = data.middle / data.norm;
	step = data.step / data.norm;
	for (int i = 0; i < n; i++)
	{
		int			level = 0;

		for (int p = 0; p < PLANES; p++)
			level = level * 2 + (planes[p * plane + i / 8] >> i % 8 & 1);
		x[i] = middle + step * (level - (float4) LEVEL_MIDDLE);
	}
	ecp_code_rotate_back(x, n, NIBBLES_SEED);
	for (int i = 0; i < dims; i++)
	{
		float4		element = x[i] * data.norm;

		vector[i] = Max(Min(element, FLT_MAX), -FLT_MAX);
	}
}

const char *
ecp_nibbles_fault(const void *nibbles)
{
	EcpNibblesData data;

	memcpy(&data, nibbles, sizeof(data));
	if (!isfinite(data.middle) || !isfinite(data.step) ||
		!isfinite(data.norm) || !isfinite(data.error) || !isfinite(data.signs))
		return "a number that is not finite";
	if (data.step < 0 || data.norm < 0 || data.error < 0 || data.signs < 0)
		return "a length that is negative";
	return NULL;
}

/* The elements of a query in 8 bits, as plane_dots() has them. */
static void
query_round(EcpNibblesQuery *query, const float4 *x, int n, int8 *elements)
{
	int			part = EcpPlanePadded(query->bytes);
	int8		bytes[ECP_NIBBLES_DIMS_MAX];
	EcpRounded	rounded = ecp_code_round(x, n, bytes);

	for (int i = 0; i < n; i++)
	{
		elements[i % 8 * part + i / 8] = bytes[i];
		query->sum += x[i];
	}
	query->step = rounded.step;
	query->total = rounded.total;
	query->rounded = rounded.lack;
}

Size
ecp_nibbles_query_bytes(int dims)
{
	return sizeof(EcpNibblesQuery) + 64 +
		8 * EcpPlanePadded(EcpCodeBytes(dims));
}

EcpNibblesQuery *
ecp_nibbles_query_init(void *memory, EcpMetric metric, int dims,
					   const float4 *vector, float4 eps)
{
	EcpNibblesQuery *query = memory;
	int			n = EcpCodeDims(dims);
	int8	   *elements = (int8 *) TYPEALIGN(64, query + 1);
	float4		scale = vector_scale(dims, vector);
	float4		x[ECP_NIBBLES_DIMS_MAX];

	Assert(dims >= 1 && dims <= ECP_NIBBLES_DIMS_MAX);
	Assert(metric <= ECP_METRIC_COSINE && eps >= 0);
	memset(query, 0, ecp_nibbles_query_bytes(dims));
	query->metric = metric;
	query->bytes = EcpCodeBytes(dims);
	query->elements = elements;
	query->side = sqrt(n);
	query->width = eps == ECP_NIBBLES_EPS_NONE ? 1 : eps / sqrt(n - 1);
	query->signs_width = Min(query->width * SIGNS_CAUTION, 1);
	vector_rotate(dims, vector, scale, x);
	query->norm = sqrt(ecp_float_dot(x, x, n));
	for (int i = 0; i < n && query->norm > 0; i++)
		x[i] = x[i] / query->norm;
	query->norm /= scale;
	query_round(query, x, n, elements);
	return query;
}

/* From the cosine of a query and a row of this length to a rank. */
static inline double
query_rank(const EcpNibblesQuery *query, double norm, double cosine)
{
	switch (query->metric)
	{
		case ECP_METRIC_L2:
			return query->norm * query->norm + norm * norm -
				2 * query->norm * norm * cosine;
		case ECP_METRIC_IP:
			return -query->norm * norm * cosine;
		default:
			return 1 - cosine;
	}
}

/* The largest cosine of a query and a row, if this one is the estimate. */
static inline double
query_most(const EcpNibblesQuery *query, const EcpNibblesData *data, double s)
{
	double		e = data->error * query->width;

	/* what is rounded of the query is multiplied by levels * step */
	if (data->norm > 0)
		s += query->rounded * query->width *
			(1 + data->error + fabs(data->middle) * query->side / data->norm);
	if (s < 1)
		s = (s + e * sqrt(1 + e * e - s * s)) / (1 + e * e);
	else
		s = 1;
	return s;
}

/* What rounding of floats may take from a rank. */
static inline double
query_loss(const EcpNibblesQuery *query, double norm)
{
	switch (query->metric)
	{
		case ECP_METRIC_L2:
			return NIBBLES_LOSS * (query->norm + norm) * (query->norm + norm);
		case ECP_METRIC_IP:
			return NIBBLES_LOSS * query->norm * norm;
		default:
			return NIBBLES_LOSS;
	}
}

/* The least rank of a row, if this is the estimate of the cosine. */
static inline double
query_bound(const EcpNibblesQuery *query, const EcpNibblesData *data, double s)
{
	double		bound = query_rank(query, data->norm, query_most(query, data, s)) -
		query_loss(query, data->norm);

	return data->error == FLT_MAX || isnan(bound) ? -INFINITY : bound;
}

/* The least cosine of a row whose rank is not above the limit. */
static inline double
query_least(const EcpNibblesQuery *query, double norm, double limit)
{
	limit += query_loss(query, norm);
	switch (query->metric)
	{
		case ECP_METRIC_L2:
			return (query->norm * query->norm + norm * norm - limit) /
				(2 * query->norm * norm);
		case ECP_METRIC_IP:
			return -limit / (query->norm * norm);
		default:
			return 1 - limit;
	}
}

/* Is a row beyond the limit by its signs, whose product with the query is "dot"? */
static inline bool
query_is_beyond(const EcpNibblesQuery *query, const EcpNibblesData *data,
				int32 dot, double limit)
{
	double		least = query_least(query, data->norm, limit);
	double		e2 = data->signs * data->signs - 1 + NIBBLES_LOSS;
	double		w2 = query->signs_width * query->signs_width;
	double		s = data->signs / query->side * query->step *
		(2.0 * dot - query->total);

	/* what is rounded of the query, as in query_most() */
	s += query->rounded * query->signs_width * data->signs + NIBBLES_LOSS;
	/* not so for NaN, nor where s falls when the cosine rises */
	if (!(data->signs > 0 && data->norm > 0) ||
		!(least > 0 || least * least * (1 + e2 * w2) < 1))
		return false;
	least = Min(least, 1);
	return s < least - sqrt(Max(e2, 0) * w2 * (1 - least * least));
}

/* The rows among "which" that may be within the limit by their signs. */
static uint64
query_pass(const EcpNibblesQuery *query, const EcpNibblesRows *rows,
		   uint64 which, const int32 *dots, float8 limit)
{
	uint64		passed = which;

	if (isinf(limit) && limit > 0)
		return which;
	for (; which != 0; which &= which - 1)
	{
		int			i = pg_rightmost_one_pos64(which);
		EcpNibblesData data;

		memcpy(&data, rows->upper + i * rows->upper_stride, sizeof(data));
		if (query_is_beyond(query, &data, dots[i], limit))
			passed &= ~(UINT64CONST(1) << i);
		else
			__builtin_prefetch(rows->lower + i * rows->lower_stride);
	}
	return passed;
}

/* Estimate and bound of a row of whose first plane the product is known. */
static void
query_rank_row(const EcpNibblesQuery *query, const char *upper,
			   const char *lower, int32 dot, float8 *rank, float8 *bound)
{
	EcpNibblesData data;
	int32		dots[PLANES - 1];
	double		levels;
	double		s;

	memcpy(&data, upper, sizeof(data));
	ecp_kernels->plane_dots(query->elements, query->bytes, (const uint8 *) lower,
							query->bytes, PLANES - 1, dots);
	levels = 8 * dot + 4 * dots[0] + 2 * dots[1] + dots[2];
	s = data.middle * query->sum +
		data.step * query->step * (levels - LEVEL_MIDDLE * query->total);
	s = data.norm > 0 ? s / data.norm : 0;
	*rank = query_rank(query, data.norm, s);
	if (bound)
		*bound = query_bound(query, &data, s);
}

uint64
ecp_nibbles_query_rank(const EcpNibblesQuery *query, const EcpNibblesRows *rows,
					   uint64 which, float8 limit, float8 *ranks,
					   float8 *bounds)
{
	int32		dots[ECP_PASS_ROWS];

	if (which == 0)
		return 0;
	ecp_kernels->plane_dots(query->elements, query->bytes,
							(const uint8 *) rows->upper + sizeof(EcpNibblesData),
							rows->upper_stride, pg_leftmost_one_pos64(which) + 1,
							dots);
	which = query_pass(query, rows, which, dots, limit);
	for (uint64 left = which; left != 0; left &= left - 1)
	{
		int			i = pg_rightmost_one_pos64(left);

		query_rank_row(query, rows->upper + i * rows->upper_stride,
					   rows->lower + i * rows->lower_stride, dots[i], &ranks[i],
					   bounds ? &bounds[i] : NULL);
	}
	return which;
}
