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
scalar_supported(void)
{
	return true;
}

static void
scalar_u8_prepare(const uint8 *elements, int dims, int8 *shifted,
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
scalar_u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
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

static void
scalar_u8_rank_columns(const EcpU8Query *query, const uint8 *columns,
					   int nslots, const int32 *factor, int n, float8 *ranks)
{
	int			ngroups = EcpGroups(query->dims);

	for (int first = 0; first < n; first += SLOTS)
	{
		int			count = Min(n - first, SLOTS);
		int32		dots[SLOTS] = {0};

		for (int g = 0; g < ngroups; g++)
		{
			const int8 *q = query->elements + g * ECP_GROUP;
			const uint8 *group = columns + ((Size) g * nslots + first) * ECP_GROUP;

			for (int s = 0; s < count; s++)
			{
				const uint8 *x = group + s * ECP_GROUP;

				dots[s] += x[0] * q[0] + x[1] * q[1] + x[2] * q[2] + x[3] * q[3];
			}
		}

		for (int s = 0; s < count; s++)
			ranks[first + s] = query->base +
				query->factor_times * factor[first + s] +
				query->dot_times * dots[s];
	}
}

static uint64
scalar_u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
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
scalar_u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
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
scalar_u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
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

static void
scalar_bit_rank_rows(const uint8 *query, int bytes, const uint8 *rows,
					 Size stride, int n, float8 *ranks)
{
	for (int r = 0; r < n; r++)
		ranks[r] = ecp_bits_differ(query, rows + r * stride, bytes);
}

/* Add the lanes pairwise, in the order that every instruction set keeps. */
static float4
scalar_add_lanes(float4 *lanes)
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
scalar_element(const char *row, int dims, bool half, int i)
{
	if (i >= dims)
		return 0;
	return half ? ecp_half_to_float(((const uint16 *) row)[i]) :
		((const float4 *) row)[i];
}

static void
scalar_float_rows(const float4 *query, int dims, const char *rows, Size stride,
				  int n, bool half, bool squared, float4 *sums)
{
	for (int r = 0; r < n; r++, rows += stride)
	{
		float4		lanes[LANES] = {0};

		for (int i = 0; i < TYPEALIGN(LANES, dims); i++)
		{
			float4		x = scalar_element(rows, dims, half, i);
			float4		q = scalar_element((const char *) query, dims, false, i);

			if (squared)
				x = q = x - q;
			lanes[i % LANES] = fmaf(x, q, lanes[i % LANES]);
		}
		sums[r] = scalar_add_lanes(lanes);
	}
}

#define FloatRows(name, half, squared) \
static void \
name(const float4 *query, int dims, const char *rows, Size stride, int n, \
	 float4 *sums) \
{ \
	scalar_float_rows(query, dims, rows, stride, n, half, squared, sums); \
}

FloatRows(scalar_f32_l2_rows, false, true)
FloatRows(scalar_f32_dot_rows, false, false)
FloatRows(scalar_f16_l2_rows, true, true)
FloatRows(scalar_f16_dot_rows, true, false)

static void
scalar_f16_floats(const uint16 *x, int n, float4 *floats)
{
	for (int i = 0; i < n; i++)
		floats[i] = ecp_half_to_float(x[i]);
}

static void
scalar_f16_halves(const float4 *x, int n, uint16 *halves)
{
	for (int i = 0; i < n; i++)
		halves[i] = ecp_half_from_float(x[i]);
}

static void
scalar_u8_panel_rank(const EcpPanelView *panel, const int8 *vector,
					 int first, int n, int32 *ranks)
{
	int			ngroups = EcpGroups(panel->dims);
	Size		block_bytes = (Size) ngroups * ECP_GROUP * ECP_PANEL_BLOCK;

	for (int done = 0; done < n; done += ECP_PANEL_BLOCK)
	{
		int			count = Min(n - done, ECP_PANEL_BLOCK);
		const uint8 *block = (const uint8 *) panel->data +
			(first + done) / ECP_PANEL_BLOCK * block_bytes;
		int32		dots[ECP_PANEL_BLOCK] = {0};

		for (int g = 0; g < ngroups; g++)
		{
			const int8 *v = vector + g * ECP_GROUP;
			const uint8 *group = block + g * ECP_GROUP * ECP_PANEL_BLOCK;

			for (int l = 0; l < count; l++)
			{
				const uint8 *x = group + l * ECP_GROUP;

				dots[l] += x[0] * v[0] + x[1] * v[1] + x[2] * v[2] + x[3] * v[3];
			}
		}

		for (int l = 0; l < count; l++)
			ranks[done + l] = panel->factors[first + done + l] -
				dots[l] * (1 << panel->shift);
	}
}

static void
scalar_f32_panel_rank(const EcpPanelView *panel, const float4 *vector,
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

static void
scalar_u8_panel_nearest(const EcpPanelView *panel, int n,
						const int8 *vectors, Size stride, int nvectors,
						int32 *leaders, int32 *ranks)
{
	for (int v = 0; v < nvectors; v++)
	{
		leaders[v] = 0;
		ranks[v] = PG_INT32_MAX;

		for (int first = 0; first < n; first += ECP_PANEL_BLOCK)
		{
			int			count = Min(n - first, ECP_PANEL_BLOCK);
			int32		block[ECP_PANEL_BLOCK];

			scalar_u8_panel_rank(panel, vectors + v * stride, first, count,
								 block);
			for (int l = 0; l < count; l++)
			{
				if (block[l] < ranks[v])
				{
					ranks[v] = block[l];
					leaders[v] = first + l;
				}
			}
		}
	}
}

static void
scalar_f32_panel_nearest(const EcpPanelView *panel, int n,
						 const char *vectors, Size stride, int nvectors,
						 int32 *leaders, float4 *ranks)
{
	for (int v = 0; v < nvectors; v++)
	{
		leaders[v] = 0;
		ranks[v] = INFINITY;

		for (int first = 0; first < n; first += ECP_PANEL_BLOCK)
		{
			int			count = Min(n - first, ECP_PANEL_BLOCK);
			float4		block[ECP_PANEL_BLOCK];

			scalar_f32_panel_rank(panel,
								  (const float4 *) (vectors + v * stride),
								  first, count, block);
			for (int l = 0; l < count; l++)
			{
				if (block[l] < ranks[v])
				{
					ranks[v] = block[l];
					leaders[v] = first + l;
				}
			}
		}
	}
}

static void
scalar_f32_hadamard(float4 *x, const uint32 *signs, int n, float4 scale)
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
scalar_f32_signs(const float4 *x, const float4 *y, int n, uint8 *bits,
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
	*sum = scalar_add_lanes(sums);
	*y_sum = scalar_add_lanes(y_sums);
}

static void
scalar_u8_floats(const uint8 *x, int n, float4 *floats)
{
	for (int i = 0; i < n; i++)
		floats[i] = x[i];
}

static void
scalar_u8_add(const uint8 *const *rows, int nrows, int n, uint32 *sums)
{
	for (int r = 0; r < nrows; r++)
	{
		for (int i = 0; i < n; i++)
			sums[i] += rows[r][i];
	}
}

static void
scalar_f32_add(const float4 *const *rows, int nrows, int n, float8 *sums)
{
	for (int r = 0; r < nrows; r++)
	{
		for (int i = 0; i < n; i++)
			sums[i] += rows[r][i];
	}
}

static void
scalar_f32_bytes(const float4 *x, const float4 *lows, float4 scale, int n,
				 uint8 *bytes)
{
	for (int i = 0; i < n; i++)
	{
		float4		v = (x[i] - lows[i]) * scale;

		bytes[i] = v >= 255 ? 255 : v > 0 ? (uint8) v : 0;
	}
}

static void
scalar_plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride,
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

static void
scalar_code_bounds(const EcpCodeScan *scan, const uint8 *blocks,
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

static uint64
scalar_f64_passed(const float8 *ranks, int n, float8 limit)
{
	uint64		passed = 0;

	for (int i = 0; i < n; i++)
		passed |= (uint64) !(ranks[i] > limit) << i;
	return passed;
}

static uint64
scalar_f32_passed(const float4 *ranks, int n, float4 limit)
{
	uint64		passed = 0;

	for (int i = 0; i < n; i++)
		passed |= (uint64) !(ranks[i] > limit) << i;
	return passed;
}

const EcpKernels ecp_kernels_scalar = {
	.name = "scalar",
	.supported = scalar_supported,
	.u8_prepare = scalar_u8_prepare,
	.u8_rank_rows = scalar_u8_rank_rows,
	.u8_rank_columns = scalar_u8_rank_columns,
	.u8_parts_near = scalar_u8_parts_near,
	.u8_parts_rank = scalar_u8_parts_rank,
	.u8_sums = scalar_u8_sums,
	.bit_rank_rows = scalar_bit_rank_rows,
	.f32_l2_rows = scalar_f32_l2_rows,
	.f32_dot_rows = scalar_f32_dot_rows,
	.f16_l2_rows = scalar_f16_l2_rows,
	.f16_dot_rows = scalar_f16_dot_rows,
	.f16_floats = scalar_f16_floats,
	.f16_halves = scalar_f16_halves,
	.u8_panel_rank = scalar_u8_panel_rank,
	.f32_panel_rank = scalar_f32_panel_rank,
	.u8_panel_nearest = scalar_u8_panel_nearest,
	.f32_panel_nearest = scalar_f32_panel_nearest,
	.f32_hadamard = scalar_f32_hadamard,
	.f32_signs = scalar_f32_signs,
	.u8_floats = scalar_u8_floats,
	.u8_add = scalar_u8_add,
	.f32_add = scalar_f32_add,
	.f32_bytes = scalar_f32_bytes,
	.plane_dots = scalar_plane_dots,
	.code_bounds = scalar_code_bounds,
	.f64_passed = scalar_f64_passed,
	.f32_passed = scalar_f32_passed,
};
