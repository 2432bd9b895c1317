/*-------------------------------------------------------------------------
 *
 * vector_nibbles.c
 *	  Vectors in four bits an element: making them, and ranks from them.
 *
 * The mathematics is in vector_nibbles.h.  The rotation is that of codes, and the
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

#include "vector/vector_kernels.h"
#include "vector/vector_nibbles.h"

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

/* Of a query's elements, in 8 bits. */
#define QUERY_LEVELS	127

/* Rows are ranked this many at a time. */
#define RANK_CHUNK		64

struct EcpNibblesQuery
{
	EcpMetric	metric;
	int			bytes;			/* of a row's levels */
	const int8 *elements;		/* of the even levels, then of the odd ones */
	double		norm;			/* |q|; the rest is of q / |q|, rotated */
	double		sum;			/* of the elements */
	double		step;			/* of their 8 bits */
	double		middle;			/* what the product with 7.5 everywhere is */
	double		rounded;		/* length of what these 8 bits lack */
	double		side;			/* length of a vector of ones */
	double		width;			/* w, or 1 */
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

static double
vector_dot(const float4 *a, const float4 *b, int n)
{
	float4		dot;

	ecp_kernels->f32_dot_rows(a, n, (const char *) b, 0, 1, &dot);
	return dot;
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
	covariance = vector_dot(x, floats, n) - mean * sum;
	step = variance > 0 ? Max(covariance / variance, 0) : 0;
	fit2 = n * mean * mean + step * step * variance;
	times = fit2 > 0 ? norm2 / fit2 : 0;
	data->middle = (mean + step * (LEVEL_MIDDLE - level)) * times * scale;
	data->step = step * times * scale;
	data->norm = sqrt(norm2) * scale;
	data->error = sqrt(Max(times - 1, 0) + NIBBLES_LOSS);

	/* one that is too long for floats, or for its fit, says nothing */
	if (!isfinite(data->norm) || !isfinite(data->middle) ||
		!isfinite(data->step) || !isfinite(data->error) || fit2 <= 0)
	{
		data->norm = Min(data->norm, FLT_MAX);
		data->middle = data->step = 0;
		data->error = FLT_MAX;
	}
}

void
ecp_nibbles_make(int dims, const float4 *vector, void *nibbles)
{
	EcpNibblesData data = {0};
	uint8	   *bytes = (uint8 *) nibbles + sizeof(data);
	int			n = EcpCodeDims(dims);
	float4		scale = vector_scale(dims, vector);
	float4		x[ECP_NIBBLES_DIMS_MAX];
	float4		ones[ECP_NIBBLES_DIMS_MAX];
	uint8		levels[ECP_NIBBLES_DIMS_MAX] = {0};
	double		norm2;

	Assert(dims >= 1 && dims <= ECP_NIBBLES_DIMS_MAX);
	vector_rotate(dims, vector, scale, x);
	norm2 = vector_dot(x, x, n);
	if (norm2 > 0)
	{
		double		mean;

		for (int i = 0; i < n; i++)
			ones[i] = 1;
		mean = vector_dot(x, ones, n) / n;
		nibbles_choose(x, n, mean, norm2, levels);
		nibbles_fit(x, n, mean, norm2, levels, 1.0 / scale, &data);
	}
	memcpy(nibbles, &data, sizeof(data));
	for (int i = 0; i < n; i += 2)
		bytes[i / 2] = levels[i] | levels[i + 1] << 4;
}

void
ecp_nibbles_get(int dims, const void *nibbles, float4 *vector)
{
	EcpNibblesData data;
	const uint8 *bytes = (const uint8 *) nibbles + sizeof(data);
	int			n = EcpCodeDims(dims);
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
	for (int i = 0; i < n; i += 2)
	{
		x[i] = middle + step * ((bytes[i / 2] & 0x0F) - (float4) LEVEL_MIDDLE);
		x[i + 1] = middle + step * ((bytes[i / 2] >> 4) - (float4) LEVEL_MIDDLE);
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
		!isfinite(data.norm) || !isfinite(data.error))
		return "a number that is not finite";
	if (data.step < 0 || data.norm < 0 || data.error < 0)
		return "a length that is negative";
	return NULL;
}

/* The elements of a query in 8 bits, and what they lack. */
static void
query_round(EcpNibblesQuery *query, const float4 *x, int n, int8 *elements)
{
	int8	   *upper = elements + EcpNibblesPadded(n / 2);
	float4		largest = 0;
	double		lack2 = 0;
	int			total = 0;

	for (int i = 0; i < n; i++)
		largest = Max(largest, fabsf(x[i]));
	query->step = largest / QUERY_LEVELS;
	for (int i = 0; i < n; i++)
	{
		int			level = largest > 0 ? (int) rintf(x[i] / largest * QUERY_LEVELS) : 0;
		double		lack = x[i] - query->step * level;

		*(i % 2 == 0 ? &elements[i / 2] : &upper[i / 2]) = level;
		total += level;
		lack2 += lack * lack;
		query->sum += x[i];
	}
	query->middle = LEVEL_MIDDLE * total;
	query->rounded = sqrt(lack2);
}

Size
ecp_nibbles_query_bytes(int dims)
{
	return sizeof(EcpNibblesQuery) + 64 +
		2 * EcpNibblesPadded(EcpCodeDims(dims) / 2);
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
	Assert(metric != ECP_METRIC_HAMMING && eps >= 0);
	memset(query, 0, ecp_nibbles_query_bytes(dims));
	query->metric = metric;
	query->bytes = n / 2;
	query->elements = elements;
	query->side = sqrt(n);
	query->width = eps == ECP_NIBBLES_EPS_NONE ? 1 : eps / sqrt(n - 1);
	vector_rotate(dims, vector, scale, x);
	query->norm = sqrt(vector_dot(x, x, n));
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

void
ecp_nibbles_query_rank(const EcpNibblesQuery *query, const void *rows,
					   Size stride, int n, float8 *ranks, float8 *bounds)
{
	const char *first = rows;
	int32		dots[RANK_CHUNK];

	for (int done = 0; done < n; done += RANK_CHUNK)
	{
		int			count = Min(n - done, RANK_CHUNK);

		ecp_kernels->nibble_dots(query->elements, query->bytes,
								 (const uint8 *) first + sizeof(EcpNibblesData),
								 stride, count, dots);
		for (int i = 0; i < count; i++, first += stride)
		{
			const EcpNibblesData *data = (const EcpNibblesData *) first;
			double		norm = data->norm;
			double		dot = data->middle * query->sum +
				data->step * query->step * (dots[i] - query->middle);
			double		s = norm > 0 ? dot / norm : 0;

			ranks[done + i] = query_rank(query, norm, s);
			if (bounds)
				bounds[done + i] = query_bound(query, data, s);
		}
	}
}
