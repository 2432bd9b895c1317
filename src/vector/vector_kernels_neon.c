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

#include "vector/vector_kernels_neon_u8.h"

#ifdef ECP_HAVE_NEON_KERNELS

/* The target of functions with products of bytes. */
#if defined(__ARM_FEATURE_DOTPROD)
#define DOTPROD_TARGET
#elif defined(__clang__)
#define DOTPROD_TARGET	__attribute__((target("dotprod")))
#else
#define DOTPROD_TARGET	__attribute__((target("arch=armv8.2-a+dotprod")))
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
DOTPROD_TARGET TEMPLATE void
dotprod_add(int32x4_t *sums, int8x16_t x, int8x16_t y)
{
	__asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sums[0]) : "w"(x), "w"(y));
}

DOTPROD_TARGET TEMPLATE void
dotprod_add_unsigned(uint32x4_t *sums, uint8x16_t x, uint8x16_t y)
{
	__asm__("udot %0.4s, %1.16b, %2.16b" : "+w"(sums[0]) : "w"(x), "w"(y));
}

static const ByteProducts dotprod_products = {
	.add = dotprod_add,
	.add_unsigned = dotprod_add_unsigned,
	.by_four = true
};

DOTPROD_TARGET static void
dotprod_u8_prepare(const uint8 *elements, int dims, int8 *shifted, int32 *sum,
				   int32 *norm2)
{
	u8_prepare(elements, dims, shifted, sum, norm2, &dotprod_products);
}

DOTPROD_TARGET static void
dotprod_plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride,
				   int n, int32 *dots)
{
	plane_dots(query, bytes, rows, stride, n, dots, &dotprod_products);
}

DOTPROD_TARGET static void
dotprod_u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
					 const int32 *factor, int n, float8 *ranks)
{
	u8_rank_rows(query, rows, stride, factor, n, ranks, &dotprod_products);
}

DOTPROD_TARGET static void
dotprod_u8_rank_columns(const EcpU8Query *query, const uint8 *columns,
						int nslots, const int32 *factor, int n, float8 *ranks)
{
	u8_rank_columns(query, columns, nslots, factor, n, ranks, &dotprod_products);
}

DOTPROD_TARGET static void
dotprod_u8_pass_columns(const EcpU8Query *const *queries, int nqueries,
						const int32 *limits, const uint8 *columns, int nslots,
						const int32 *factor, int n, uint64 *passed,
						int32 *ranks)
{
	u8_pass_columns(queries, nqueries, limits, columns, nslots, factor, n,
					passed, ranks, &dotprod_products);
}

DOTPROD_TARGET static uint64
dotprod_u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
					  const int32 *factor, int n, float4 limit)
{
	return u8_parts_near(query, upper, factor, n, limit, &dotprod_products);
}

DOTPROD_TARGET static void
dotprod_u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
					  const uint8 *lower, uint64 rows, float8 *ranks)
{
	u8_parts_rank(query, upper, lower, rows, ranks, &dotprod_products);
}

DOTPROD_TARGET static void
dotprod_u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	u8_sums(a, b, dims, sums, &dotprod_products);
}

DOTPROD_TARGET static void
dotprod_u8_panel_rank(const EcpPanelView *panel, const int8 *vector,
					  int first, int n, int32 *ranks)
{
	u8_panel_rank(panel, vector, first, n, ranks, &dotprod_products);
}

DOTPROD_TARGET static void
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

/* ---- codes ---- */

/* Groups whose 8-bit entries 16 bits can add up. */
#define CODE_GROUPS		256

StaticAssertDecl(CODE_GROUPS * PG_UINT8_MAX <= PG_UINT16_MAX,
				 "sums of codes fit 16 bits");

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
	.f32_l2_rows = f32_l2_rows,
	.f32_dot_rows = f32_dot_rows,
	.f16_l2_rows = f16_l2_rows,
	.f16_dot_rows = f16_dot_rows,
	.f16_norm2 = f16_norm2,
	.f16_floats = f16_floats,
	.f16_halves = f16_halves,
	.u8_panel_rank = neon_u8_panel_rank,
	.f32_panel_rank = f32_panel_rank,
	.u8_panel_nearest = neon_u8_panel_nearest,
	.f32_panel_nearest = f32_panel_nearest,
	.f32_hadamard = f32_hadamard,
	.code_tables = code_tables,
	.f32_signs = f32_signs,
	.u8_floats = u8_floats,
	.u8_add = u8_add,
	.f32_add = f32_add,
	.f32_unit = f32_unit,
	.f32_bytes = f32_bytes,
	.plane_dots = neon_plane_dots,
	.code_bounds = neon_code_bounds,
	.f64_passed = f64_passed,
	.f32_passed = f32_passed,
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
	.f32_l2_rows = f32_l2_rows,
	.f32_dot_rows = f32_dot_rows,
	.f16_l2_rows = f16_l2_rows,
	.f16_dot_rows = f16_dot_rows,
	.f16_norm2 = f16_norm2,
	.f16_floats = f16_floats,
	.f16_halves = f16_halves,
	.u8_panel_rank = dotprod_u8_panel_rank,
	.f32_panel_rank = f32_panel_rank,
	.u8_panel_nearest = dotprod_u8_panel_nearest,
	.f32_panel_nearest = f32_panel_nearest,
	.f32_hadamard = f32_hadamard,
	.code_tables = code_tables,
	.f32_signs = f32_signs,
	.u8_floats = u8_floats,
	.u8_add = u8_add,
	.f32_add = f32_add,
	.f32_unit = f32_unit,
	.f32_bytes = f32_bytes,
	.plane_dots = dotprod_plane_dots,
	.code_bounds = neon_code_bounds,
	.f64_passed = f64_passed,
	.f32_passed = f32_passed,
};

#endif							/* ECP_HAVE_NEON_KERNELS */
