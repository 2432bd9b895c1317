/*-------------------------------------------------------------------------
 *
 * vector_kernels_neon.c
 *	  Kernels for NEON, which every aarch64 CPU has.
 *
 * One register is 4 lanes of 4 bytes, so 16 lanes are four registers.  Bytes
 * are multiplied as 16-bit numbers (the instructions for bytes of both signs
 * came with later extensions): vmull_s8 and friends would need equal signs.
 * COLUMNS keep four elements of a slot together; vpaddq_s32 adds up the
 * products of a slot.
 *
 * Panels: a tile of 4 vectors x half a block keeps 8 registers of sums.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_kernels.h"

#ifdef ECP_HAVE_NEON_KERNELS

#include <arm_neon.h>

#define TEMPLATE	static inline __attribute__((always_inline))

/* Registers of 16 lanes. */
#define QUARTERS		4

/* Vectors of a tile of a panel, whose other side is one block. */
#define TILE_VECTORS	4

static bool
neon_supported(void)
{
	return true;
}

/* ---- uint8 ---- */

/* Up to 16 bytes of a row, followed by zeros. */
TEMPLATE	uint8x16_t
load_bytes(const uint8 *bytes, int n)
{
	uint8		padded[16] = {0};

	if (n >= 16)
		return vld1q_u8(bytes);

	memcpy(padded, bytes, n);
	return vld1q_u8(padded);
}

TEMPLATE	int16x8_t
widen_low(uint8x16_t x)
{
	return vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x)));
}

TEMPLATE	int16x8_t
widen_high(uint8x16_t x)
{
	return vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(x)));
}

/* sum + the products of 8 elements, two to a lane. */
TEMPLATE	int32x4_t
add_products(int32x4_t sum, int16x8_t x, int16x8_t y)
{
	sum = vmlal_s16(sum, vget_low_s16(x), vget_low_s16(y));
	return vmlal_s16(sum, vget_high_s16(x), vget_high_s16(y));
}

static void
neon_u8_prepare(const uint8 *elements, int dims, int8 *shifted,
				int32 *sum, int32 *norm2)
{
	int32x4_t	sums = vdupq_n_s32(0);
	int32x4_t	squares = vdupq_n_s32(0);
	int16x8_t	ones = vdupq_n_s16(1);

	for (int i = 0; i < dims; i += 16)
	{
		uint8x16_t	bytes = load_bytes(elements + i, dims - i);
		int16x8_t	low = widen_low(bytes);
		int16x8_t	high = widen_high(bytes);

		sums = add_products(add_products(sums, low, ones), high, ones);
		squares = add_products(add_products(squares, low, low), high, high);
	}

	*sum = vaddvq_s32(sums);
	*norm2 = vaddvq_s32(squares);

	if (shifted)
	{
		for (int i = 0; i < dims; i++)
			shifted[i] = (int8) (elements[i] - 128);
		memset(shifted + dims, 0, EcpGroups(dims) * ECP_GROUP - dims);
	}
}

static void
neon_u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
				  const int32 *factor, int n, float8 *ranks)
{
	for (int r = 0; r < n; r++)
	{
		const uint8 *row = rows + r * stride;
		int32x4_t	low = vdupq_n_s32(0);
		int32x4_t	high = vdupq_n_s32(0);

		for (int i = 0; i < query->dims; i += 16)
		{
			int8x16_t	q = vld1q_s8(query->elements + i);
			uint8x16_t	x = load_bytes(row + i, query->dims - i);

			low = add_products(low, widen_low(x), vmovl_s8(vget_low_s8(q)));
			high = add_products(high, widen_high(x), vmovl_s8(vget_high_s8(q)));
		}

		ranks[r] = query->base + query->factor_times * factor[r] +
			query->dot_times * vaddvq_s32(vaddq_s32(low, high));
	}
}

/*
 * sum + the inner products of the groups of 4 slots with one group, which is
 * in both halves of q.
 */
TEMPLATE	int32x4_t
add_groups(int32x4_t sum, uint8x16_t x, int16x8_t q)
{
	int16x8_t	low = widen_low(x);
	int16x8_t	high = widen_high(x);
	int32x4_t	slot0 = vmull_s16(vget_low_s16(low), vget_low_s16(q));
	int32x4_t	slot1 = vmull_s16(vget_high_s16(low), vget_low_s16(q));
	int32x4_t	slot2 = vmull_s16(vget_low_s16(high), vget_low_s16(q));
	int32x4_t	slot3 = vmull_s16(vget_high_s16(high), vget_low_s16(q));

	return vaddq_s32(sum, vpaddq_s32(vpaddq_s32(slot0, slot1),
									 vpaddq_s32(slot2, slot3)));
}

/* The group of four signed bytes, widened, in both halves. */
TEMPLATE	int16x8_t
load_group(const int8 *group)
{
	int32		bytes;

	memcpy(&bytes, group, sizeof(bytes));
	return vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(bytes)));
}

static void
neon_u8_rank_columns(const EcpU8Query *query, const uint8 *columns,
					 int nslots, const int32 *factor, int n, float8 *ranks)
{
	int			ngroups = EcpGroups(query->dims);

	for (int first = 0; first < n; first += 16)
	{
		int			count = Min(n - first, 16);
		int32x4_t	sums[QUARTERS];
		int32		dots[16];

		for (int b = 0; b < QUARTERS; b++)
			sums[b] = vdupq_n_s32(0);

		for (int g = 0; g < ngroups; g++)
		{
			int16x8_t	q = load_group(query->elements + g * ECP_GROUP);
			const uint8 *group = columns + ((Size) g * nslots + first) * ECP_GROUP;

			for (int b = 0; b < QUARTERS; b++)
			{
				int			bytes = (count - b * 4) * ECP_GROUP;

				if (bytes > 0)
					sums[b] = add_groups(sums[b],
										 load_bytes(group + b * 16, bytes), q);
			}
		}

		for (int b = 0; b < QUARTERS; b++)
			vst1q_s32(dots + b * 4, sums[b]);
		for (int s = 0; s < count; s++)
			ranks[first + s] = query->base +
				query->factor_times * factor[first + s] +
				query->dot_times * dots[s];
	}
}

static void
neon_u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	int32x4_t	aa = vdupq_n_s32(0);
	int32x4_t	ab = vdupq_n_s32(0);
	int32x4_t	bb = vdupq_n_s32(0);

	for (int i = 0; i < dims; i += 16)
	{
		uint8x16_t	x = load_bytes(a + i, dims - i);
		uint8x16_t	y = load_bytes(b + i, dims - i);

		aa = add_products(add_products(aa, widen_low(x), widen_low(x)),
						  widen_high(x), widen_high(x));
		ab = add_products(add_products(ab, widen_low(x), widen_low(y)),
						  widen_high(x), widen_high(y));
		bb = add_products(add_products(bb, widen_low(y), widen_low(y)),
						  widen_high(y), widen_high(y));
	}

	sums->aa = vaddvq_s32(aa);
	sums->ab = vaddvq_s32(ab);
	sums->bb = vaddvq_s32(bb);
}

static void
neon_u8_panel_rank(const EcpPanelView *panel, const int8 *vector, int first,
				   int n, int32 *ranks)
{
	int			ngroups = EcpGroups(panel->dims);

	for (int done = 0; done < n; done += ECP_PANEL_BLOCK)
	{
		const uint8 *block = (const uint8 *) panel->data +
			(first + done) / ECP_PANEL_BLOCK * (Size) ngroups * 64;
		int32x4_t	sums[QUARTERS];
		int32		dots[ECP_PANEL_BLOCK];

		for (int b = 0; b < QUARTERS; b++)
			sums[b] = vdupq_n_s32(0);

		for (int g = 0; g < ngroups; g++)
		{
			int16x8_t	q = load_group(vector + g * ECP_GROUP);

			for (int b = 0; b < QUARTERS; b++)
				sums[b] = add_groups(sums[b], vld1q_u8(block + g * 64 + b * 16), q);
		}

		for (int b = 0; b < QUARTERS; b++)
			vst1q_s32(dots + b * 4, sums[b]);
		for (int l = 0; l < Min(n - done, ECP_PANEL_BLOCK); l++)
			ranks[done + l] = panel->factors[first + done + l] -
				(dots[l] << panel->shift);
	}
}

static void
neon_u8_panel_nearest(const EcpPanelView *panel, int n, const int8 *vectors,
					  Size stride, int nvectors, int32 *leaders,
					  int32 *ranks)
{
	for (int v = 0; v < nvectors; v++)
	{
		leaders[v] = 0;
		ranks[v] = PG_INT32_MAX;
	}

	/* one block after the other, so that it stays in the first cache */
	for (int first = 0; first < n; first += ECP_PANEL_BLOCK)
	{
		int			count = Min(n - first, ECP_PANEL_BLOCK);

		for (int v = 0; v < nvectors; v++)
		{
			int32		block[ECP_PANEL_BLOCK];

			neon_u8_panel_rank(panel, vectors + v * stride, first, count,
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

/* ---- bits ---- */

static void
neon_bit_rank_rows(const uint8 *query, int bytes, const uint8 *rows,
				   Size stride, int n, float8 *ranks)
{
	for (int r = 0; r < n; r++)
		ranks[r] = ecp_bits_differ_expand(query, rows + r * stride, bytes);
}

/* ---- float32 ---- */

/* The sum of 16 lanes, in the order that all instruction sets keep. */
TEMPLATE float4
add_lanes_f32(const float32x4_t * sums)
{
	float32x4_t quarter = vaddq_f32(vaddq_f32(sums[0], sums[2]),
									vaddq_f32(sums[1], sums[3]));
	float32x2_t pair = vadd_f32(vget_low_f32(quarter), vget_high_f32(quarter));

	return vget_lane_f32(pair, 0) + vget_lane_f32(pair, 1);
}

/* "squared" is a constant where this is expanded. */
TEMPLATE void
f32_rows(const float4 *query, int dims, const char *rows, Size stride, int n,
		 bool squared, float4 *result)
{
	for (int r = 0; r < n; r++)
	{
		const float4 *row = (const float4 *) (rows + r * stride);
		float32x4_t sums[QUARTERS];

		for (int b = 0; b < QUARTERS; b++)
			sums[b] = vdupq_n_f32(0);

		for (int i = 0; i < dims; i += 16)
		{
			const float4 *x = row + i;
			const float4 *q = query + i;
			float4		padded_x[16] = {0};
			float4		padded_q[16] = {0};

			if (dims - i < 16)
			{
				memcpy(padded_x, x, (dims - i) * sizeof(float4));
				memcpy(padded_q, q, (dims - i) * sizeof(float4));
				x = padded_x;
				q = padded_q;
			}

			for (int b = 0; b < QUARTERS; b++)
			{
				float32x4_t p = vld1q_f32(x + b * 4);
				float32x4_t o = vld1q_f32(q + b * 4);

				if (squared)
				{
					p = vsubq_f32(p, o);
					sums[b] = vfmaq_f32(sums[b], p, p);
				}
				else
					sums[b] = vfmaq_f32(sums[b], p, o);
			}
		}

		result[r] = add_lanes_f32(sums);
	}
}

static void
neon_f32_l2_rows(const float4 *query, int dims, const char *rows,
				 Size stride, int n, float4 *sums)
{
	f32_rows(query, dims, rows, stride, n, true, sums);
}

static void
neon_f32_dot_rows(const float4 *query, int dims, const char *rows,
				  Size stride, int n, float4 *sums)
{
	f32_rows(query, dims, rows, stride, n, false, sums);
}

/* Ranks of nvectors vectors x 16 leaders; constants: nvectors, squared. */
TEMPLATE void
f32_tile(const float4 *const *vector, const float4 *block, int dims,
		 int nvectors, bool squared, float32x4_t sums[][QUARTERS])
{
	for (int v = 0; v < nvectors; v++)
	{
		for (int b = 0; b < QUARTERS; b++)
			sums[v][b] = vdupq_n_f32(0);
	}

	for (int i = 0; i < dims; i++)
	{
		for (int v = 0; v < nvectors; v++)
		{
			float32x4_t q = vdupq_n_f32(vector[v][i]);

			for (int b = 0; b < QUARTERS; b++)
			{
				float32x4_t x = vld1q_f32(block + i * ECP_PANEL_BLOCK + b * 4);

				if (squared)
				{
					x = vsubq_f32(x, q);
					sums[v][b] = vfmaq_f32(sums[v][b], x, x);
				}
				else			/* the rank is the negative product */
					sums[v][b] = vfmsq_f32(sums[v][b], x, q);
			}
		}
	}
}

/* The tile with the panel's metric, as ranks in memory. */
TEMPLATE void
f32_tile_ranks(const EcpPanelView *panel, const float4 *const *vector,
			   int block, int nvectors, float4 ranks[][ECP_PANEL_BLOCK])
{
	const float4 *data = (const float4 *) panel->data +
		block * (Size) panel->dims * ECP_PANEL_BLOCK;
	float32x4_t sums[TILE_VECTORS][QUARTERS];

	if (panel->metric == ECP_METRIC_L2)
		f32_tile(vector, data, panel->dims, nvectors, true, sums);
	else
		f32_tile(vector, data, panel->dims, nvectors, false, sums);

	for (int v = 0; v < nvectors; v++)
	{
		for (int b = 0; b < QUARTERS; b++)
			vst1q_f32(ranks[v] + b * 4, sums[v][b]);
	}
}

static void
neon_f32_panel_rank(const EcpPanelView *panel, const float4 *vector,
					int first, int n, float4 *ranks)
{
	for (int done = 0; done < n; done += ECP_PANEL_BLOCK)
	{
		float4		block[1][ECP_PANEL_BLOCK];

		f32_tile_ranks(panel, &vector, (first + done) / ECP_PANEL_BLOCK, 1,
					   block);
		memcpy(ranks + done, block[0],
			   Min(n - done, ECP_PANEL_BLOCK) * sizeof(float4));
	}
}

static void
neon_f32_panel_nearest(const EcpPanelView *panel, int n, const char *vectors,
					   Size stride, int nvectors, int32 *leaders,
					   float4 *ranks)
{
	for (int v = 0; v < nvectors; v++)
	{
		leaders[v] = 0;
		ranks[v] = INFINITY;
	}

	for (int first = 0; first < n; first += ECP_PANEL_BLOCK)
	{
		int			count = Min(n - first, ECP_PANEL_BLOCK);

		for (int done = 0; done < nvectors; done += TILE_VECTORS)
		{
			const float4 *vector[TILE_VECTORS];
			float4		block[TILE_VECTORS][ECP_PANEL_BLOCK];

			for (int v = 0; v < TILE_VECTORS; v++)
				vector[v] = (const float4 *) (vectors +
											  Min(done + v, nvectors - 1) * stride);
			f32_tile_ranks(panel, vector, first / ECP_PANEL_BLOCK,
						   TILE_VECTORS, block);

			for (int v = 0; v < Min(nvectors - done, TILE_VECTORS); v++)
			{
				for (int l = 0; l < count; l++)
				{
					if (block[v][l] < ranks[done + v])
					{
						ranks[done + v] = block[v][l];
						leaders[done + v] = first + l;
					}
				}
			}
		}
	}
}

/* ---- codes ---- */

/* Groups whose 8-bit entries 16 bits can add up. */
#define CODE_GROUPS		256

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
neon_u8_add(const uint8 *x, int n, uint32 *sums)
{
	int			i = 0;

	for (; i + 8 <= n; i += 8)
	{
		uint16x8_t	wide = vmovl_u8(vld1_u8(x + i));

		vst1q_u32(sums + i, vaddw_u16(vld1q_u32(sums + i),
									  vget_low_u16(wide)));
		vst1q_u32(sums + i + 4, vaddw_u16(vld1q_u32(sums + i + 4),
										  vget_high_u16(wide)));
	}
	for (; i < n; i++)
		sums[i] += x[i];
}

static void
neon_f32_bytes(const float4 *x, const float4 *lows, float4 scale, int n,
			   uint8 *bytes)
{
	ecp_bytes_expand(x, lows, scale, n, bytes);
}

/* Add the 16-bit sums of 8 rows to their 32-bit sums. */
TEMPLATE void
add_code_sums(uint32x4_t * sums, uint16x8_t part)
{
	sums[0] = vaddw_u16(sums[0], vget_low_u16(part));
	sums[1] = vaddw_u16(sums[1], vget_high_u16(part));
}

static void
neon_code_bounds(const EcpCodeScan *scan, const uint8 *blocks,
				 const float4 *add, const float4 *times,
				 const float4 *width, int nblocks, float4 *bounds)
{
	const		uint8x16_t nibble = vdupq_n_u8(0x0F);

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
	.u8_sums = neon_u8_sums,
	.bit_rank_rows = neon_bit_rank_rows,
	.f32_l2_rows = neon_f32_l2_rows,
	.f32_dot_rows = neon_f32_dot_rows,
	.u8_panel_rank = neon_u8_panel_rank,
	.f32_panel_rank = neon_f32_panel_rank,
	.u8_panel_nearest = neon_u8_panel_nearest,
	.f32_panel_nearest = neon_f32_panel_nearest,
	.f32_hadamard = neon_f32_hadamard,
	.code_tables = neon_code_tables,
	.f32_signs = neon_f32_signs,
	.u8_floats = neon_u8_floats,
	.u8_add = neon_u8_add,
	.f32_bytes = neon_f32_bytes,
	.code_bounds = neon_code_bounds,
};

#endif							/* ECP_HAVE_NEON_KERNELS */
