/*-------------------------------------------------------------------------
 *
 * vector_kernels_scalar.c
 *	  The kernels in plain C: the definition of what the others compute.
 *
 * Used on CPUs without a better set, and as the reference in test/unit.
 * Sums of float32 follow the order that vector_kernels.h states, lane by
 * lane, although a plain CPU would not need lanes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"
#include "vector/vector_kernels.h"

#define LANES	16

/* Slots of COLUMNS whose sums are kept at a time. */
#define SLOTS	64

static bool
kernels_supported(void)
{
	return true;
}

static void
u8_prepare(const uint8 *elements, int dims, int8 *shifted,
		   int32 *sum, int32 *norm2)
{
	*sum = 0;
	*norm2 = 0;

	for (int i = 0; i < dims; i++)
	{
		*sum += elements[i];
		*norm2 += elements[i] * elements[i];
	}

	if (shifted)
	{
		for (int i = 0; i < dims; i++)
			shifted[i] = (int8) (elements[i] - 128);
		memset(shifted + dims, 0, EcpGroups(dims) * ECP_GROUP - dims);
	}
}

static void
u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
			 const int32 *factor, int n, float8 *ranks)
{
	for (int r = 0; r < n; r++)
	{
		const uint8 *row = rows + r * stride;
		int32		dot = 0;

		for (int i = 0; i < query->dims; i++)
			dot += row[i] * query->elements[i];

		ranks[r] = query->base + query->factor_times * factor[r] +
			query->dot_times * dot;
	}
}

/*
 * Inner products of n slots with the elements, whose groups are "stride" bytes apart.
 */
static void
group_dots(const uint8 *groups, Size stride, const int8 *elements, int ngroups, int n,
		   int32 *dots)
{
	memset(dots, 0, n * sizeof(int32));
	for (int g = 0; g < ngroups; g++, groups += stride, elements += ECP_GROUP)
	{
		for (int s = 0; s < n; s++)
		{
			const uint8 *x = groups + s * ECP_GROUP;

			dots[s] += x[0] * elements[0] + x[1] * elements[1] +
				x[2] * elements[2] + x[3] * elements[3];
		}
	}
}

static void
u8_rank_columns(const EcpU8Query *query, const uint8 *columns, int nslots,
				const int32 *factor, int n, float8 *ranks)
{
	for (int first = 0; first < n; first += SLOTS)
	{
		int			count = Min(n - first, SLOTS);
		int32		dots[SLOTS];

		group_dots(columns + first * ECP_GROUP, (Size) nslots * ECP_GROUP,
				   query->elements, EcpGroups(query->dims), count, dots);
		for (int s = 0; s < count; s++)
			ranks[first + s] = query->base +
				query->factor_times * factor[first + s] +
				query->dot_times * dots[s];
	}
}

static uint64
u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
			  const int32 *factor, int n, float4 limit)
{
	uint64		near = 0;

	for (int r = 0; r < n; r++, upper += query->bytes)
	{
		int32		dot = 0;
		float4		estimate;
		float4		width = query->unit * (float4) (factor[r] & 0xFF);

		for (int i = 0; i < query->bytes; i++)
			dot += ecp_parts_levels[upper[i] & 0x0F] * query->elements[0][i] +
				ecp_parts_levels[upper[i] >> 4] * query->elements[1][i];
		estimate = (float4) Max(query->base + (factor[r] >> 8) - 8 * dot, 0);
		near |= (uint64) (fmaf(-width, sqrtf(estimate), estimate) <= limit) << r;
	}
	return near;
}

static void
u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
			  const uint8 *lower, uint64 rows, float8 *ranks)
{
	for (; rows != 0; rows &= rows - 1)
	{
		int			r = pg_rightmost_one_pos64(rows);
		const uint8 *high = upper + (Size) r * query->bytes;
		const uint8 *low = lower + (Size) r * query->bytes;
		int32		sum = 0;

		for (int i = 0; i < query->bytes; i++)
		{
			int32		first = (high[i] & 0x0F) << 4 | (low[i] & 0x0F);
			int32		second = (high[i] & 0xF0) | low[i] >> 4;

			first -= query->values[0][i];
			second -= query->values[1][i];
			sum += first * first + second * second;
		}
		ranks[r] = sum;
	}
}

static void
u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	EcpU8Sums	result = {0, 0, 0};

	for (int i = 0; i < dims; i++)
	{
		result.aa += a[i] * a[i];
		result.ab += a[i] * b[i];
		result.bb += b[i] * b[i];
	}

	*sums = result;
}

EcpBitRows(, ecp_bit_ranks)

/* Add the lanes pairwise, in the order that every instruction set keeps. */
static float4
add_lanes(float4 *lanes)
{
	for (int half = LANES / 2; half > 0; half /= 2)
	{
		for (int i = 0; i < half; i++)
			lanes[i] += lanes[i + half];
	}

	return lanes[0];
}

/* Element i of a row, zero from "dims" on. */
static inline float4
element(const char *row, int dims, bool half, int i)
{
	if (i >= dims)
		return 0;
	return half ? ecp_half_to_float(((const uint16 *) row)[i]) :
		((const float4 *) row)[i];
}

static void
float_rows(const float4 *query, int dims, const char *rows, Size stride,
		   int n, bool half, EcpMetric metric, float4 *sums)
{
	for (int r = 0; r < n; r++, rows += stride)
	{
		float4		lanes[LANES] = {0};

		for (int i = 0; i < TYPEALIGN(LANES, dims); i++)
		{
			float4		x = element(rows, dims, half, i);
			float4		q = element((const char *) query, dims, false, i);

			if (metric == ECP_METRIC_L2)
				x = q = x - q;
			lanes[i % LANES] = metric == ECP_METRIC_L1 ? lanes[i % LANES] + fabsf(x - q) :
				fmaf(x, q, lanes[i % LANES]);
		}
		sums[r] = add_lanes(lanes);
	}
}

#define FloatRows(name, half, metric) \
static void \
name(const float4 *query, int dims, const char *rows, Size stride, int n, \
	 float4 *sums) \
{ \
	float_rows(query, dims, rows, stride, n, half, metric, sums); \
}

FloatRows(f32_l2_rows, false, ECP_METRIC_L2)
FloatRows(f32_dot_rows, false, ECP_METRIC_IP)
FloatRows(f32_l1_rows, false, ECP_METRIC_L1)
FloatRows(f16_l2_rows, true, ECP_METRIC_L2)
FloatRows(f16_dot_rows, true, ECP_METRIC_IP)
FloatRows(f16_l1_rows, true, ECP_METRIC_L1)

static void
f16_floats(const uint16 *x, int n, float4 *floats)
{
	for (int i = 0; i < n; i++)
		floats[i] = ecp_half_to_float(x[i]);
}

static void
f16_halves(const float4 *x, int n, uint16 *halves)
{
	for (int i = 0; i < n; i++)
		halves[i] = ecp_half_from_float(x[i]);
}

static void
u8_panel_rank(const EcpPanelView *panel, const int8 *vector, int first, int n,
			  int32 *ranks)
{
	int			ngroups = EcpGroups(panel->dims);
	Size		stride = ECP_GROUP * ECP_PANEL_BLOCK;

	for (int done = 0; done < n; done += ECP_PANEL_BLOCK)
	{
		int			count = Min(n - done, ECP_PANEL_BLOCK);
		int32		dots[ECP_PANEL_BLOCK];

		group_dots((const uint8 *) panel->data +
				   (first + done) / ECP_PANEL_BLOCK * ngroups * stride,
				   stride, vector, ngroups, count, dots);
		for (int l = 0; l < count; l++)
			ranks[done + l] = panel->factors[first + done + l] -
				dots[l] * (1 << panel->shift);
	}
}

static void
f32_panel_rank(const EcpPanelView *panel, const float4 *vector,
			   int first, int n, float4 *ranks)
{
	Size		block_floats = (Size) panel->dims * ECP_PANEL_BLOCK;

	for (int done = 0; done < n; done += ECP_PANEL_BLOCK)
	{
		int			count = Min(n - done, ECP_PANEL_BLOCK);
		const float4 *block = (const float4 *) panel->data +
			(first + done) / ECP_PANEL_BLOCK * block_floats;
		float4		sums[ECP_PANEL_BLOCK] = {0};

		for (int i = 0; i < panel->dims; i++)
		{
			const float4 *x = block + i * ECP_PANEL_BLOCK;

			for (int l = 0; l < count; l++)
			{
				if (panel->metric == ECP_METRIC_L2)
				{
					float4		diff = x[l] - vector[i];

					sums[l] = fmaf(diff, diff, sums[l]);
				}
				else			/* the rank is the negative product */
					sums[l] = fmaf(-x[l], vector[i], sums[l]);
			}
		}

		memcpy(ranks + done, sums, count * sizeof(float4));
	}
}

#define PanelNearest(name, rank, Vectors, Vector, Rank, worst) \
static void \
name(const EcpPanelView *panel, int n, const Vectors *vectors, Size stride, \
	 int nvectors, int32 *leaders, Rank *ranks) \
{ \
	for (int v = 0; v < nvectors; v++) \
	{ \
		Rank		block[ECP_PANEL_BLOCK]; \
\
		leaders[v] = 0; \
		ranks[v] = worst; \
		for (int l = 0; l < n; l++) \
		{ \
			if (l % ECP_PANEL_BLOCK == 0) \
				rank(panel, (const Vector *) ((const char *) vectors + v * stride), \
					 l, Min(n - l, ECP_PANEL_BLOCK), block); \
			if (block[l % ECP_PANEL_BLOCK] < ranks[v]) \
			{ \
				ranks[v] = block[l % ECP_PANEL_BLOCK]; \
				leaders[v] = l; \
			} \
		} \
	} \
}

PanelNearest(u8_panel_nearest, u8_panel_rank, int8, int8, int32, PG_INT32_MAX)
PanelNearest(f32_panel_nearest, f32_panel_rank, char, float4, float4, INFINITY)

static void
f32_hadamard(float4 *x, const uint32 *signs, int n, float4 scale)
{
	for (int i = 0; i < n; i++)
		x[i] = (signs[i] >> 31) ? -x[i] : x[i];
	for (int h = 1; h < n; h *= 2)
	{
		for (int i = 0; i < n; i++)
		{
			float4		a = x[i];
			float4		b;

			if (i & h)
				continue;
			b = x[i + h];
			x[i] = a + b;
			x[i + h] = a - b;
		}
	}
	for (int i = 0; i < n; i++)
		x[i] *= scale;
}

static void
f32_signs(const float4 *x, const float4 *y, int n, uint8 *bits,
		  float4 *sum, float4 *y_sum)
{
	float4		sums[16] = {0};
	float4		y_sums[16] = {0};

	memset(bits, 0, n / 8);
	for (int i = 0; i < n; i++)
	{
		sums[i % 16] += fabsf(x[i]);
		y_sums[i % 16] += x[i] > 0 ? y[i] : -y[i];
		if (x[i] > 0)
			bits[i / 8] |= 1 << (i % 8);
	}
	*sum = add_lanes(sums);
	*y_sum = add_lanes(y_sums);
}

static void
u8_floats(const uint8 *x, int n, float4 *floats)
{
	for (int i = 0; i < n; i++)
		floats[i] = x[i];
}

static void
u8_add(const uint8 *const *rows, int nrows, int n, uint32 *sums)
{
	for (int r = 0; r < nrows; r++)
	{
		for (int i = 0; i < n; i++)
			sums[i] += rows[r][i];
	}
}

static void
f32_add(const float4 *const *rows, int nrows, int n, float8 *sums)
{
	for (int r = 0; r < nrows; r++)
	{
		for (int i = 0; i < n; i++)
			sums[i] += rows[r][i];
	}
}

static inline uint8
byte_of(float4 v)
{
	return v >= 255 ? 255 : v > 0 ? (uint8) v : 0;
}

static void
f32_bytes(const float4 *x, const float4 *lows, float4 scale, int n,
		  uint8 *bytes)
{
	for (int i = 0; i < n; i++)
		bytes[i] = byte_of((x[i] - lows[i]) * scale);
}

static void
f32_steps(const float4 *vector, const float4 *middle, const float4 *step, int n,
		  bool differences, float4 scale, uint8 *bytes, float4 *most, float4 *base)
{
	float4		products[ECP_DIMS_MAX];
	float4		sums[LANES] = {0};

	*most = 0;
	for (int i = 0; i < n; i++)
	{
		float4		x = differences ? vector[i] - middle[i] : vector[i];

		sums[i % LANES] = fmaf(x, differences ? x : middle[i], sums[i % LANES]);
		products[i] = x * step[i];
		*most = fabsf(products[i]) < *most ? *most : fabsf(products[i]);
	}
	*base = add_lanes(sums);
	if (scale == 0)
		scale = EcpStepsScale(*most);
	for (int i = 0; i < n; i++)
		bytes[i] = byte_of(fmaf(products[i], scale, 128.5f));
}

static void
plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride,
		   int n, int32 *dots)
{
	int			part = EcpPlanePadded(bytes);

	for (int r = 0; r < n; r++)
	{
		const uint8 *row = rows + r * stride;

		dots[r] = 0;
		for (int i = 0; i < bytes; i++)
		{
			for (int j = 0; j < 8; j++)
				dots[r] += (row[i] >> j & 1) * query[j * part + i];
		}
	}
}

static int32
nibble_dot(const int8 *query, int bytes, const uint8 *row)
{
	int			part = EcpPlanePadded(bytes);
	int32		dot = 0;

	for (int i = 0; i < bytes; i++)
		dot += (row[i] & 0x0F) * query[i] + (row[i] >> 4) * query[part + i];
	return dot;
}

static void
code_bounds(const EcpCodeScan *scan, const uint8 *blocks,
			const float4 *add, const float4 *times,
			const float4 *width, int nblocks, float4 *bounds)
{
	for (int b = 0; b < nblocks; b++)
	{
		uint32		sums[32] = {0};

		for (int g = 0; g < scan->ngroups; g++)
		{
			const uint8 *table = scan->tables + g * 16;
			const uint8 *codes = blocks + ((Size) b * scan->ngroups + g) * 16;

			for (int i = 0; i < 16; i++)
			{
				sums[i] += table[codes[i] & 0x0F];
				sums[i + 16] += table[codes[i] >> 4];
			}
		}
		for (int i = 0; i < 32; i++)
		{
			int			row = b * 32 + i;
			float4		bound = scan->base + add[row];

			bound = fmaf(-times[row],
						 fmaf(scan->step, (float4) sums[i], scan->low), bound);
			bounds[row] = fmaf(-scan->radius, width[row], bound);
		}
	}
}

#define Passed(name, Rank) \
static uint64 \
name(const Rank *ranks, int n, Rank limit) \
{ \
	uint64		passed = 0; \
\
	for (int i = 0; i < n; i++) \
		passed |= (uint64) !(ranks[i] > limit) << i; \
	return passed; \
}

Passed(f64_passed, float8)
Passed(f32_passed, float4)

const EcpKernels ecp_kernels_scalar = {EcpKernelsTable("scalar")};
