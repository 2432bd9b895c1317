/*-------------------------------------------------------------------------
 *
 * vector_kernels_neon.c
 *	  Kernels for NEON, which every aarch64 CPU has, and for its products of
 *	  bytes (dotprod: Armv8.2, Neoverse N1, Apple M1 and later).
 *
 * One register is 4 lanes of 4 bytes, so 16 lanes are four registers.  The
 * two sets differ in uint8 only, whose functions are in vector_kernels_neon.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#include "vector/vector_kernels_neon.h"

#ifdef ECP_HAVE_NEON_KERNELS

/* The target of functions with products of bytes. */
#if defined(__ARM_FEATURE_DOTPROD)
#define TARGET
#elif defined(__clang__)
#define TARGET	__attribute__((target("dotprod")))
#else
#define TARGET	__attribute__((target("arch=armv8.2-a+dotprod")))
#endif

static bool
neon_supported(void)
{
	return true;
}

static bool
dotprod_supported(void)
{
#if defined(__ARM_FEATURE_DOTPROD)
	return true;				/* the compiler was told so */
#elif defined(HWCAP_ASIMDDP)
	return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
	return false;
#endif
}

/* ---- uint8, without dotprod ---- */

TEMPLATE void
neon_add(int32x4_t *sums, int8x16_t x, int8x16_t y)
{
	sums[0] = vpadalq_s16(sums[0], vmull_s8(vget_low_s8(x), vget_low_s8(y)));
	sums[1] = vpadalq_s16(sums[1], vmull_high_s8(x, y));
}

TEMPLATE void
neon_add_unsigned(uint32x4_t *sums, uint8x16_t x, uint8x16_t y)
{
	sums[0] = vpadalq_u16(sums[0], vmull_u8(vget_low_u8(x), vget_low_u8(y)));
	sums[1] = vpadalq_u16(sums[1], vmull_high_u8(x, y));
}

static const ByteProducts neon_products = {
	.add = neon_add,
	.add_unsigned = neon_add_unsigned,
	.by_four = false
};

static void
neon_u8_prepare(const uint8 *elements, int dims, int8 *shifted, int32 *sum,
				int32 *norm2)
{
	u8_prepare(elements, dims, shifted, sum, norm2, &neon_products);
}

static void
neon_plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride,
				int n, int32 *dots)
{
	plane_dots(query, bytes, rows, stride, n, dots, &neon_products);
}

static void
neon_u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
				  const int32 *factor, int n, float8 *ranks)
{
	u8_rank_rows(query, rows, stride, factor, n, ranks, &neon_products);
}

static void
neon_u8_rank_columns(const EcpU8Query *query, const uint8 *columns,
					 int nslots, const int32 *factor, int n, float8 *ranks)
{
	u8_rank_columns(query, columns, nslots, factor, n, ranks, &neon_products);
}

static void
neon_u8_pass_columns(const EcpU8Query *const *queries, int nqueries,
					 const int32 *limits, const uint8 *columns, int nslots,
					 const int32 *factor, int n, uint64 *passed, int32 *ranks)
{
	u8_pass_columns(queries, nqueries, limits, columns, nslots, factor, n,
					passed, ranks, &neon_products);
}

static uint64
neon_u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
				   const int32 *factor, int n, float4 limit)
{
	return u8_parts_near(query, upper, factor, n, limit, &neon_products);
}

static void
neon_u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
				   const uint8 *lower, uint64 rows, float8 *ranks)
{
	u8_parts_rank(query, upper, lower, rows, ranks, &neon_products);
}

static void
neon_u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	u8_sums(a, b, dims, sums, &neon_products);
}

static void
neon_u8_panel_rank(const EcpPanelView *panel, const int8 *vector, int first,
				   int n, int32 *ranks)
{
	u8_panel_rank(panel, vector, first, n, ranks, &neon_products);
}

static void
neon_u8_panel_nearest(const EcpPanelView *panel, int n, const int8 *vectors,
					  Size stride, int nvectors, int32 *leaders, int32 *ranks)
{
	u8_panel_nearest(panel, n, vectors, stride, nvectors, leaders, ranks,
					 &neon_products);
}

/* ---- uint8, with dotprod ---- */

/*
 * In assembly because not every compiler lets a function have the intrinsics
 * because of its attribute.
 */
TARGET		TEMPLATE void
dotprod_add(int32x4_t *sums, int8x16_t x, int8x16_t y)
{
	__asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sums[0]) : "w"(x), "w"(y));
}

TARGET		TEMPLATE void
dotprod_add_unsigned(uint32x4_t *sums, uint8x16_t x, uint8x16_t y)
{
	__asm__("udot %0.4s, %1.16b, %2.16b" : "+w"(sums[0]) : "w"(x), "w"(y));
}

static const ByteProducts dotprod_products = {
	.add = dotprod_add,
	.add_unsigned = dotprod_add_unsigned,
	.by_four = true
};

TARGET static void
dotprod_u8_prepare(const uint8 *elements, int dims, int8 *shifted, int32 *sum,
				   int32 *norm2)
{
	u8_prepare(elements, dims, shifted, sum, norm2, &dotprod_products);
}

TARGET static void
dotprod_plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride,
				   int n, int32 *dots)
{
	plane_dots(query, bytes, rows, stride, n, dots, &dotprod_products);
}

TARGET static void
dotprod_u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
					 const int32 *factor, int n, float8 *ranks)
{
	u8_rank_rows(query, rows, stride, factor, n, ranks, &dotprod_products);
}

TARGET static void
dotprod_u8_rank_columns(const EcpU8Query *query, const uint8 *columns,
						int nslots, const int32 *factor, int n, float8 *ranks)
{
	u8_rank_columns(query, columns, nslots, factor, n, ranks, &dotprod_products);
}

TARGET static void
dotprod_u8_pass_columns(const EcpU8Query *const *queries, int nqueries,
						const int32 *limits, const uint8 *columns, int nslots,
						const int32 *factor, int n, uint64 *passed,
						int32 *ranks)
{
	u8_pass_columns(queries, nqueries, limits, columns, nslots, factor, n,
					passed, ranks, &dotprod_products);
}

TARGET static uint64
dotprod_u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
					  const int32 *factor, int n, float4 limit)
{
	return u8_parts_near(query, upper, factor, n, limit, &dotprod_products);
}

TARGET static void
dotprod_u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
					  const uint8 *lower, uint64 rows, float8 *ranks)
{
	u8_parts_rank(query, upper, lower, rows, ranks, &dotprod_products);
}

TARGET static void
dotprod_u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	u8_sums(a, b, dims, sums, &dotprod_products);
}

TARGET static void
dotprod_u8_panel_rank(const EcpPanelView *panel, const int8 *vector,
					  int first, int n, int32 *ranks)
{
	u8_panel_rank(panel, vector, first, n, ranks, &dotprod_products);
}

TARGET static void
dotprod_u8_panel_nearest(const EcpPanelView *panel, int n,
						 const int8 *vectors, Size stride, int nvectors,
						 int32 *leaders, int32 *ranks)
{
	u8_panel_nearest(panel, n, vectors, stride, nvectors, leaders, ranks,
					 &dotprod_products);
}

/* ---- bits ---- */

static void
neon_bit_rank_rows(const uint8 *query, int bytes, const uint8 *rows,
				   Size stride, int n, float8 *ranks)
{
	for (int r = 0; r < n; r++)
	{
		const uint8 *row = rows + r * stride;
		uint16x8_t	sums = vdupq_n_u16(0);

		/* at most 16 a step: no vector is so long that 16 bits overflow */
		for (int i = 0; i < bytes; i += 16)
			sums = vpadalq_u8(sums,
							  vcntq_u8(veorq_u8(load_bytes(query, i, bytes),
												load_bytes(row, i, bytes))));
		ranks[r] = vaddlvq_u16(sums);
	}
}

/* ---- float32 ---- */

/* The sum of 16 lanes, in the order that all instruction sets keep. */
TEMPLATE float4
add_lanes_f32(const float32x4_t *sums)
{
	float32x4_t quarter = vaddq_f32(vaddq_f32(sums[0], sums[2]),
									vaddq_f32(sums[1], sums[3]));
	float32x2_t pair = vadd_f32(vget_low_f32(quarter), vget_high_f32(quarter));

	return vget_lane_f32(pair, 0) + vget_lane_f32(pair, 1);
}

/* Up to 4 elements, then zeros. */
TEMPLATE float32x4_t
load_floats(const float4 *x, int n)
{
	float4		padded[4] = {0};

	if (n >= 4)
		return vld1q_f32(x);

	for (int i = 0; i < n; i++)
		padded[i] = x[i];
	return vld1q_f32(padded);
}

/* Up to 4 float16 elements as float32, then zeros. */
TEMPLATE float32x4_t
load_halves(const uint16 *x, int n)
{
	uint16		padded[4] = {0};

	if (n >= 4)
		return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)));

	for (int i = 0; i < n; i++)
		padded[i] = x[i];
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(padded)));
}

/*
 * Add up to 16 elements of rows; constants: half, squared, and count if it is
 * 16.
 */
TEMPLATE void
float_rows_add(const float4 *query, const char *const *row, int first,
			   int count, bool half, bool squared, float32x4_t sums[][QUARTERS])
{
#pragma GCC unroll 4
	for (int b = 0; b < QUARTERS; b++)
	{
		int			i = first + b * 4;
		float32x4_t q = load_floats(query + i, count - b * 4);

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			float32x4_t x = half ?
				load_halves((const uint16 *) row[r] + i, count - b * 4) :
				load_floats((const float4 *) row[r] + i, count - b * 4);

			if (squared)
			{
				x = vsubq_f32(x, q);
				sums[r][b] = vfmaq_f32(sums[r][b], x, x);
			}
			else
				sums[r][b] = vfmaq_f32(sums[r][b], x, q);
		}
	}
}

/* "half" and "squared" are constants where this is expanded. */
TEMPLATE void
float_rows(const float4 *query, int dims, const char *rows, Size stride, int n,
		   bool half, bool squared, float4 *result)
{
	int			whole = dims / 16 * 16;

	for (int first = 0; first < n; first += ROWS)
	{
		const char *row[ROWS];
		float32x4_t sums[ROWS][QUARTERS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
#pragma GCC unroll 4
			for (int b = 0; b < QUARTERS; b++)
				sums[r][b] = vdupq_n_f32(0);
		}

		for (int i = 0; i < whole; i += 16)
			float_rows_add(query, row, i, 16, half, squared, sums);
		if (whole < dims)
			float_rows_add(query, row, whole, dims - whole, half, squared, sums);

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			if (first + r < n)
				result[first + r] = add_lanes_f32(sums[r]);
		}
	}
}

static void
neon_f32_l2_rows(const float4 *query, int dims, const char *rows,
				 Size stride, int n, float4 *sums)
{
	float_rows(query, dims, rows, stride, n, false, true, sums);
}

static void
neon_f32_dot_rows(const float4 *query, int dims, const char *rows,
				  Size stride, int n, float4 *sums)
{
	float_rows(query, dims, rows, stride, n, false, false, sums);
}

static void
neon_f16_l2_rows(const float4 *query, int dims, const char *rows,
				 Size stride, int n, float4 *sums)
{
	float_rows(query, dims, rows, stride, n, true, true, sums);
}

static void
neon_f16_dot_rows(const float4 *query, int dims, const char *rows,
				  Size stride, int n, float4 *sums)
{
	float_rows(query, dims, rows, stride, n, true, false, sums);
}

static float4
neon_f16_norm2(const uint16 *row, int dims)
{
	float32x4_t sums[QUARTERS];

#pragma GCC unroll 4
	for (int b = 0; b < QUARTERS; b++)
		sums[b] = vdupq_n_f32(0);
	for (int i = 0; i < dims; i += 16)
	{
#pragma GCC unroll 4
		for (int b = 0; b < QUARTERS; b++)
		{
			float32x4_t x = load_halves(row + i + b * 4, dims - i - b * 4);

			sums[b] = vfmaq_f32(sums[b], x, x);
		}
	}
	return add_lanes_f32(sums);
}

static void
neon_f16_floats(const uint16 *x, int n, float4 *floats)
{
	int			whole = n - n % 4;

	for (int i = 0; i < whole; i += 4)
		vst1q_f32(floats + i, load_halves(x + i, 4));
	for (int i = whole; i < n; i++)
		floats[i] = ecp_half_to_float(x[i]);
}

static void
neon_f16_halves(const float4 *x, int n, uint16 *halves)
{
	int			whole = n - n % 4;

	for (int i = 0; i < whole; i += 4)
		vst1_u16(halves + i,
				 vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
	for (int i = whole; i < n; i++)
		halves[i] = ecp_half_from_float(x[i]);
}

/* Ranks of nvectors vectors x 16 leaders; constants: nvectors, squared. */
TEMPLATE void
f32_tile(const float4 *const *vector, const float4 *block, int dims,
		 int nvectors, bool squared, float32x4_t sums[][QUARTERS])
{
#pragma GCC unroll 4
	for (int v = 0; v < nvectors; v++)
	{
#pragma GCC unroll 4
		for (int b = 0; b < QUARTERS; b++)
			sums[v][b] = vdupq_n_f32(0);
	}

	for (int i = 0; i < dims; i++)
	{
		float32x4_t x[QUARTERS];

#pragma GCC unroll 4
		for (int b = 0; b < QUARTERS; b++)
			x[b] = vld1q_f32(block + i * ECP_PANEL_BLOCK + b * 4);

#pragma GCC unroll 4
		for (int v = 0; v < nvectors; v++)
		{
			float32x4_t q = vdupq_n_f32(vector[v][i]);

#pragma GCC unroll 4
			for (int b = 0; b < QUARTERS; b++)
			{
				if (squared)
				{
					float32x4_t diff = vsubq_f32(x[b], q);

					sums[v][b] = vfmaq_f32(sums[v][b], diff, diff);
				}
				else			/* the rank is the negative product */
					sums[v][b] = vfmsq_f32(sums[v][b], x[b], q);
			}
		}
	}
}

static void
neon_f32_panel_rank(const EcpPanelView *panel, const float4 *vector,
					int first, int n, float4 *ranks)
{
	for (int done = 0; done < n; done += ECP_PANEL_BLOCK)
	{
		const float4 *block = (const float4 *) panel->data +
			(first + done) / ECP_PANEL_BLOCK * (Size) panel->dims * ECP_PANEL_BLOCK;
		float32x4_t sums[1][QUARTERS];
		float4		rank[ECP_PANEL_BLOCK];

		if (panel->metric == ECP_METRIC_L2)
			f32_tile(&vector, block, panel->dims, 1, true, sums);
		else
			f32_tile(&vector, block, panel->dims, 1, false, sums);

		for (int b = 0; b < QUARTERS; b++)
			vst1q_f32(rank + b * 4, sums[0][b]);
		memcpy(ranks + done, rank,
			   Min(n - done, ECP_PANEL_BLOCK) * sizeof(float4));
	}
}

TEMPLATE void
f32_nearest(const EcpPanelView *panel, int n, const char *vectors,
			Size stride, int nvectors, bool squared, int32 *leaders,
			float4 *ranks)
{
	float32x4_t best[ECP_PANEL_VECTORS][QUARTERS];
	int32x4_t	best_block[ECP_PANEL_VECTORS][QUARTERS];

	for (int v = 0; v < nvectors; v++)
	{
		for (int b = 0; b < QUARTERS; b++)
		{
			best[v][b] = vdupq_n_f32(INFINITY);
			best_block[v][b] = vdupq_n_s32(0);
		}
	}

	for (int first = 0; first < n; first += ECP_PANEL_BLOCK)
	{
		const float4 *block = (const float4 *) panel->data +
			first * (Size) panel->dims;
		int32x4_t	number = vdupq_n_s32(first / ECP_PANEL_BLOCK);

		for (int done = 0; done < nvectors; done += TILE_VECTORS)
		{
			const float4 *vector[TILE_VECTORS];
			float32x4_t sums[TILE_VECTORS][QUARTERS];

#pragma GCC unroll 4
			for (int v = 0; v < TILE_VECTORS; v++)
				vector[v] = (const float4 *) (vectors +
											  Min(done + v, nvectors - 1) * stride);
			f32_tile(vector, block, panel->dims, TILE_VECTORS, squared, sums);

#pragma GCC unroll 4
			for (int v = 0; v < TILE_VECTORS; v++)
			{
				int			i = Min(done + v, nvectors - 1);

#pragma GCC unroll 4
				for (int b = 0; b < QUARTERS; b++)
				{
					uint32x4_t	better = vandq_u32(vcltq_f32(sums[v][b], best[i][b]),
												   lane_mask(n - first - b * 4));

					best[i][b] = vbslq_f32(better, sums[v][b], best[i][b]);
					best_block[i][b] = vbslq_s32(better, number,
												 best_block[i][b]);
				}
			}
		}
	}

	for (int v = 0; v < nvectors; v++)
		EcpLanesNearest((const float4 *) best[v],
						(const int32 *) best_block[v], leaders[v], ranks[v]);
}

static void
neon_f32_panel_nearest(const EcpPanelView *panel, int n, const char *vectors,
					   Size stride, int nvectors, int32 *leaders,
					   float4 *ranks)
{
	if (panel->metric == ECP_METRIC_L2)
		f32_nearest(panel, n, vectors, stride, nvectors, true, leaders,
					ranks);
	else
		f32_nearest(panel, n, vectors, stride, nvectors, false, leaders,
					ranks);
}

/* ---- codes ---- */

/* Groups whose 8-bit entries 16 bits can add up. */
#define CODE_GROUPS		256

StaticAssertDecl(CODE_GROUPS * PG_UINT8_MAX <= PG_UINT16_MAX,
				 "sums of codes fit 16 bits");

static void
neon_code_tables(const float4 *steps, int ngroups, uint8 *tables)
{
	ecp_code_tables_expand(steps, ngroups, tables);
}

static void
neon_f32_hadamard(float4 *x, const uint32 *signs, int n, float4 scale)
{
	ecp_hadamard_expand(x, signs, n, scale);
}

static void
neon_f32_signs(const float4 *x, const float4 *y, int n, uint8 *bits,
			   float4 *sum, float4 *y_sum)
{
	ecp_signs_expand(x, y, n, bits, sum, y_sum);
}

static void
neon_u8_floats(const uint8 *x, int n, float4 *floats)
{
	int			i = 0;

	for (; i + 8 <= n; i += 8)
	{
		uint16x8_t	wide = vmovl_u8(vld1_u8(x + i));

		vst1q_f32(floats + i,
				  vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide))));
		vst1q_f32(floats + i + 4,
				  vcvtq_f32_u32(vmovl_u16(vget_high_u16(wide))));
	}
	for (; i < n; i++)
		floats[i] = x[i];
}

static void
neon_u8_add(const uint8 *const *rows, int nrows, int n, uint32 *sums)
{
	ecp_u8_add_expand(rows, nrows, n, sums);
}

static void
neon_f32_add(const float4 *const *rows, int nrows, int n, float8 *sums)
{
	ecp_f32_add_expand(rows, nrows, n, sums);
}

static bool
neon_f32_unit(float4 *x, int n)
{
	return ecp_f32_unit_expand(x, n);
}

static void
neon_f32_bytes(const float4 *x, const float4 *lows, float4 scale, int n,
			   uint8 *bytes)
{
	ecp_bytes_expand(x, lows, scale, n, bytes);
}

/* Add the 16-bit sums of 8 rows to their 32-bit sums. */
TEMPLATE void
add_code_sums(uint32x4_t *sums, uint16x8_t part)
{
	sums[0] = vaddw_u16(sums[0], vget_low_u16(part));
	sums[1] = vaddw_u16(sums[1], vget_high_u16(part));
}

static void
neon_code_bounds(const EcpCodeScan *scan, const uint8 *blocks,
				 const float4 *add, const float4 *times,
				 const float4 *width, int nblocks, float4 *bounds)
{
	const uint8x16_t nibble = vdupq_n_u8(0x0F);

	for (int b = 0; b < nblocks; b++, blocks += scan->ngroups * 16)
	{
		uint32x4_t	sums[8];

		for (int i = 0; i < 8; i++)
			sums[i] = vdupq_n_u32(0);
		for (int first = 0; first < scan->ngroups; first += CODE_GROUPS)
		{
			int			end = Min(first + CODE_GROUPS, scan->ngroups);
			uint16x8_t	parts[4];

			for (int i = 0; i < 4; i++)
				parts[i] = vdupq_n_u16(0);
			for (int g = first; g < end; g++)
			{
				uint8x16_t	table = vld1q_u8(scan->tables + g * 16);
				uint8x16_t	codes = vld1q_u8(blocks + g * 16);
				uint8x16_t	x0 = vqtbl1q_u8(table, vandq_u8(codes, nibble));
				uint8x16_t	x1 = vqtbl1q_u8(table, vshrq_n_u8(codes, 4));

				parts[0] = vaddw_u8(parts[0], vget_low_u8(x0));
				parts[1] = vaddw_u8(parts[1], vget_high_u8(x0));
				parts[2] = vaddw_u8(parts[2], vget_low_u8(x1));
				parts[3] = vaddw_u8(parts[3], vget_high_u8(x1));
			}
			for (int i = 0; i < 4; i++)
				add_code_sums(&sums[2 * i], parts[i]);
		}
		for (int i = 0; i < 8; i++)
		{
			int			row = b * 32 + i * 4;
			float32x4_t sum = vfmaq_f32(vdupq_n_f32(scan->low),
										vdupq_n_f32(scan->step),
										vcvtq_f32_u32(sums[i]));
			float32x4_t bound = vaddq_f32(vdupq_n_f32(scan->base),
										  vld1q_f32(add + row));

			bound = vfmsq_f32(bound, vld1q_f32(times + row), sum);
			bound = vfmsq_f32(bound, vdupq_n_f32(scan->radius),
							  vld1q_f32(width + row));
			vst1q_f32(bounds + row, bound);
		}
	}
}

static uint64
neon_f64_passed(const float8 *ranks, int n, float8 limit)
{
	float64x2_t most = vdupq_n_f64(limit);
	uint64		passed = 0;

	for (int i = 0; i < n; i += 2)
	{
		uint64x2_t	above = vcgtq_f64(vld1q_f64(ranks + i), most);

		passed |= (~vgetq_lane_u64(above, 0) & 1) << i |
			(~vgetq_lane_u64(above, 1) & 2) << i;
	}
	return passed;
}

static uint64
neon_f32_passed(const float4 *ranks, int n, float4 limit)
{
	static const uint32 bits[4] = {1, 2, 4, 8};
	float32x4_t most = vdupq_n_f32(limit);
	uint64		passed = 0;

	for (int i = 0; i < n; i += 4)
	{
		uint32x4_t	above = vcgtq_f32(vld1q_f32(ranks + i), most);

		passed |= (uint64) vaddvq_u32(vbicq_u32(vld1q_u32(bits), above)) << i;
	}
	return passed;
}

const EcpKernels ecp_kernels_neon = {
	.name = "neon",
	.supported = neon_supported,
	.u8_prepare = neon_u8_prepare,
	.u8_rank_rows = neon_u8_rank_rows,
	.u8_rank_columns = neon_u8_rank_columns,
	.u8_parts_near = neon_u8_parts_near,
	.u8_parts_rank = neon_u8_parts_rank,
	.u8_pass_columns = neon_u8_pass_columns,
	.u8_sums = neon_u8_sums,
	.bit_rank_rows = neon_bit_rank_rows,
	.f32_l2_rows = neon_f32_l2_rows,
	.f32_dot_rows = neon_f32_dot_rows,
	.f16_l2_rows = neon_f16_l2_rows,
	.f16_dot_rows = neon_f16_dot_rows,
	.f16_norm2 = neon_f16_norm2,
	.f16_floats = neon_f16_floats,
	.f16_halves = neon_f16_halves,
	.u8_panel_rank = neon_u8_panel_rank,
	.f32_panel_rank = neon_f32_panel_rank,
	.u8_panel_nearest = neon_u8_panel_nearest,
	.f32_panel_nearest = neon_f32_panel_nearest,
	.f32_hadamard = neon_f32_hadamard,
	.code_tables = neon_code_tables,
	.f32_signs = neon_f32_signs,
	.u8_floats = neon_u8_floats,
	.u8_add = neon_u8_add,
	.f32_add = neon_f32_add,
	.f32_unit = neon_f32_unit,
	.f32_bytes = neon_f32_bytes,
	.plane_dots = neon_plane_dots,
	.code_bounds = neon_code_bounds,
	.f64_passed = neon_f64_passed,
	.f32_passed = neon_f32_passed,
};


const EcpKernels ecp_kernels_dotprod = {
	.name = "dotprod",
	.supported = dotprod_supported,
	.u8_prepare = dotprod_u8_prepare,
	.u8_rank_rows = dotprod_u8_rank_rows,
	.u8_rank_columns = dotprod_u8_rank_columns,
	.u8_parts_near = dotprod_u8_parts_near,
	.u8_parts_rank = dotprod_u8_parts_rank,
	.u8_pass_columns = dotprod_u8_pass_columns,
	.u8_sums = dotprod_u8_sums,
	.bit_rank_rows = neon_bit_rank_rows,
	.f32_l2_rows = neon_f32_l2_rows,
	.f32_dot_rows = neon_f32_dot_rows,
	.f16_l2_rows = neon_f16_l2_rows,
	.f16_dot_rows = neon_f16_dot_rows,
	.f16_norm2 = neon_f16_norm2,
	.f16_floats = neon_f16_floats,
	.f16_halves = neon_f16_halves,
	.u8_panel_rank = dotprod_u8_panel_rank,
	.f32_panel_rank = neon_f32_panel_rank,
	.u8_panel_nearest = dotprod_u8_panel_nearest,
	.f32_panel_nearest = neon_f32_panel_nearest,
	.f32_hadamard = neon_f32_hadamard,
	.code_tables = neon_code_tables,
	.f32_signs = neon_f32_signs,
	.u8_floats = neon_u8_floats,
	.u8_add = neon_u8_add,
	.f32_add = neon_f32_add,
	.f32_unit = neon_f32_unit,
	.f32_bytes = neon_f32_bytes,
	.plane_dots = dotprod_plane_dots,
	.code_bounds = neon_code_bounds,
	.f64_passed = neon_f64_passed,
	.f32_passed = neon_f32_passed,
};

#endif							/* ECP_HAVE_NEON_KERNELS */
