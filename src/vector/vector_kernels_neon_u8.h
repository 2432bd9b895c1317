/*-------------------------------------------------------------------------
 *
 * vector_kernels_neon_u8.h
 *	  The uint8 kernels of vector_kernels_neon.c, to be expanded there for
 *	  each way to multiply bytes.
 *
 * "products" is that way: a constant, whose functions are expanded, too.  A
 * tile of 4 vectors x 16 leaders or slots keeps 16 registers of sums; where
 * the sums of four slots need two registers, 2 vectors do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_NEON_U8_H
#define VECTOR_KERNELS_NEON_U8_H

#include "vector/vector_kernels.h"
#include "vector/vector_kernels_neon.h"
#include "vector/vector_kernels_floats.h"

#ifdef ECP_HAVE_NEON_KERNELS

#include <arm_neon.h>


/* Registers of 16 lanes; of the slots of COLUMNS that a tile has. */
#define QUARTERS		4
#define QUARTERS_MAX	8

/* Vectors of a tile, and of one of uint8. */
#define TILE_VECTORS	4
#define U8TileVectors(products)	((products)->by_four ? TILE_VECTORS : TILE_VECTORS / 2)

/*
 * The bytes of rows are unsigned, those of queries signed.  What multiplies
 * bytes takes two of a kind, so rows are made signed, too:
 *		x(q - 128) = (x - 128)(q - 128) + 128 sum(q - 128)
 * where the last part, the "rest" of a query below, belongs to no row.
 */
TEMPLATE int8x16_t
signed_bytes(uint8x16_t x)
{
	return vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(0x80)));
}

/*
 * Functions that add products of 16 bytes to sums: those of each four bytes to
 * a lane of sums[0] ("by_four"), or those of each two bytes to a lane, of
 * sums[0] from the lower half and of sums[1] from the upper one.
 */
typedef struct ByteProducts
{
	void		(*add) (int32x4_t *sums, int8x16_t x, int8x16_t y);
	void		(*add_unsigned) (uint32x4_t *sums, uint8x16_t x, uint8x16_t y);
	bool		by_four;
} ByteProducts;

/* The sums of each four bytes. */
TEMPLATE int32x4_t
group_sums(const int32x4_t *sums, const ByteProducts *products)
{
	return products->by_four ? sums[0] : vpaddq_s32(sums[0], sums[1]);
}

/* The sum of all of them. */
TEMPLATE int32
unsigned_sum(const uint32x4_t *sums)
{
	return (int32) vaddvq_u32(vaddq_u32(sums[0], sums[1]));
}

/* Bytes i .. i + 15 of a row of "dims" bytes, zeros behind its end. */
TEMPLATE uint8x16_t
load_bytes(const uint8 *row, int i, int dims)
{
	static const uint8 numbers[16] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	};
	uint8		padded[16] = {0};

	if (i + 16 <= dims)
		return vld1q_u8(row + i);

	/* the last 16 bytes, moved; numbers from 16 on stand for zeros */
	if (dims >= 16)
		return vqtbl1q_u8(vld1q_u8(row + dims - 16),
						  vaddq_u8(vld1q_u8(numbers),
								   vdupq_n_u8(i + 16 - dims)));

	memcpy(padded, row, dims);
	return vld1q_u8(padded);
}

/* Groups of up to 4 slots, then zeros. */
TEMPLATE uint8x16_t
load_groups(const uint8 *groups, int n)
{
	uint32		padded[4] = {0};

	if (n >= 4)
		return vld1q_u8(groups);

	for (int s = 0; s < n; s++)
		memcpy(&padded[s], groups + s * ECP_GROUP, ECP_GROUP);
	return vreinterpretq_u8_u32(vld1q_u32(padded));
}

/* One group in each quarter of a register. */
TEMPLATE int8x16_t
load_group(const int8 *group)
{
	int32		bytes;

	memcpy(&bytes, group, sizeof(bytes));
	return vreinterpretq_s8_s32(vdupq_n_s32(bytes));
}

/* What of its inner products belongs to a vector alone. */
TEMPLATE int32
vector_rest(const int8 *vector, int dims)
{
	int32x4_t	sum = vdupq_n_s32(0);

	for (int i = 0; i < dims; i += 16)
	{
		uint8x16_t	bytes = load_bytes((const uint8 *) vector, i, dims);

		sum = vpadalq_s16(sum, vpaddlq_s8(vreinterpretq_s8_u8(bytes)));
	}
	return vaddvq_s32(sum) * 128;
}

/* Planes of bits. */
TEMPLATE void
plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride, int n,
		   int32 *dots, const ByteProducts *products)
{
	int			part = EcpPlanePadded(bytes);

	for (int r = 0; r < n; r++)
	{
		const uint8 *row = rows + r * stride;
		int32x4_t	sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};

		for (int i = 0; i < bytes; i += 16)
		{
			uint8x16_t	x = load_bytes(row, i, bytes);

			for (int j = 0; j < 8; j++)
			{
				uint8x16_t	bits = vandq_u8(vshlq_u8(x, vdupq_n_s8(-j)), vdupq_n_u8(1));

				products->add(sums, vreinterpretq_s8_u8(bits),
							  vld1q_s8(query + j * part + i));
			}
		}
		dots[r] = vaddvq_s32(group_sums(sums, products));
	}
}

TEMPLATE void
u8_prepare(const uint8 *elements, int dims, int8 *shifted, int32 *sum,
		   int32 *norm2, const ByteProducts *products)
{
	uint32x4_t	sums = vdupq_n_u32(0);
	uint32x4_t	squares[2] = {vdupq_n_u32(0), vdupq_n_u32(0)};

	for (int i = 0; i < dims; i += 16)
	{
		uint8x16_t	x = load_bytes(elements, i, dims);

		sums = vpadalq_u16(sums, vpaddlq_u8(x));
		products->add_unsigned(squares, x, x);

		if (shifted && i + 16 <= dims)
			vst1q_s8(shifted + i, signed_bytes(x));
		else if (shifted)
		{
			for (int d = i; d < EcpGroups(dims) * ECP_GROUP; d++)
				shifted[d] = (d < dims) ? (int8) (elements[d] - 128) : 0;
		}
	}

	*sum = (int32) vaddvq_u32(sums);
	*norm2 = unsigned_sum(squares);
}

/* Ranks of 4 rows or slots, from inner products. */
TEMPLATE int32x4_t
dot_ranks(const EcpU8Query *query, int32x4_t dots, int32x4_t factors)
{
	int32x4_t	ranks = vmlaq_n_s32(vdupq_n_s32(query->base), factors,
									query->factor_times);

	return vmlaq_n_s32(ranks, dots, query->dot_times);
}

/* Factors of up to 4, then zeros. */
TEMPLATE int32x4_t
load_factors(const int32 *factor, int n)
{
	int32		padded[4] = {0};

	if (n >= 4)
		return vld1q_s32(factor);

	for (int r = 0; r < n; r++)
		padded[r] = factor[r];
	return vld1q_s32(padded);
}

/* The ranks of up to 4, to where they belong. */
TEMPLATE void
store_ranks(const EcpU8Query *query, int32x4_t dots, const int32 *factor,
			int n, float8 *ranks)
{
	int32x4_t	rank = dot_ranks(query, dots, load_factors(factor, n));
	int32		parts[4];

	if (n >= 4)
	{
		vst1q_f64(ranks, vcvtq_f64_s64(vmovl_s32(vget_low_s32(rank))));
		vst1q_f64(ranks + 2, vcvtq_f64_s64(vmovl_high_s32(rank)));
		return;
	}
	vst1q_s32(parts, rank);
	for (int r = 0; r < n; r++)
		ranks[r] = parts[r];
}

TEMPLATE void
u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
			 const int32 *factor, int n, float8 *ranks, const ByteProducts *products)
{
	int32x4_t	rest = vdupq_n_s32(vector_rest(query->elements, query->dims));

	for (int first = 0; first < n; first += ROWS)
	{
		const uint8 *row[ROWS];
		int32x4_t	sums[ROWS][2];
		int32x4_t	dots[ROWS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
			sums[r][0] = sums[r][1] = vdupq_n_s32(0);
		}

		/* the query has zeros behind its end */
		for (int i = 0; i < query->dims; i += 16)
		{
			int8x16_t	q = vld1q_s8(query->elements + i);

#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
				products->add(sums[r],
							  signed_bytes(load_bytes(row[r], i, query->dims)),
							  q);
		}

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
			dots[r] = group_sums(sums[r], products);
		dots[0] = vpaddq_s32(vpaddq_s32(dots[0], dots[1]),
							 vpaddq_s32(dots[2], dots[3]));
		store_ranks(query, vaddq_s32(dots[0], rest), factor + first,
					Min(n - first, ROWS), ranks + first);
	}
}

/*
 * Inner products of vectors with the slots of groups that are "stride" bytes
 * apart: nvectors (a constant, as is nquarters) x nslots slots, in nquarters
 * registers.
 */
TEMPLATE void
u8_tile(const int8 *const *vector, const int32 *rest, int nvectors,
		const uint8 *groups, Size stride, int ngroups, int nslots,
		int nquarters, const ByteProducts *products, int32x4_t dots[][QUARTERS_MAX])
{
	int32x4_t	sums[TILE_VECTORS][QUARTERS_MAX][2];

#pragma GCC unroll 4
	for (int v = 0; v < nvectors; v++)
	{
#pragma GCC unroll 8
		for (int b = 0; b < nquarters; b++)
			sums[v][b][0] = sums[v][b][1] = vdupq_n_s32(0);
	}

	for (int g = 0; g < ngroups; g++, groups += stride)
	{
		int8x16_t	x[QUARTERS_MAX];

#pragma GCC unroll 8
		for (int b = 0; b < nquarters; b++)
			x[b] = signed_bytes(load_groups(groups + b * 16, nslots - b * 4));

#pragma GCC unroll 4
		for (int v = 0; v < nvectors; v++)
		{
			int8x16_t	q = load_group(vector[v] + g * ECP_GROUP);

#pragma GCC unroll 8
			for (int b = 0; b < nquarters; b++)
				products->add(sums[v][b], x[b], q);
		}
	}

#pragma GCC unroll 4
	for (int v = 0; v < nvectors; v++)
	{
#pragma GCC unroll 8
		for (int b = 0; b < nquarters; b++)
			dots[v][b] = vaddq_s32(group_sums(sums[v][b], products),
								   vdupq_n_s32(rest[v]));
	}
}

/*
 * Ranks of slots "first" .. n - 1 of COLUMNS, in tiles of nquarters (a
 * constant) registers.  The last tile may have slots of the one before it.
 */
TEMPLATE void
rank_slots(const EcpU8Query *query, int32 rest, const uint8 *columns,
		   int nslots, const int32 *factor, int n, int nquarters,
		   float8 *ranks, const ByteProducts *products)
{
	for (int done = 0; done < n; done += nquarters * 4)
	{
		int			first = Max(0, Min(done, n - nquarters * 4));
		int			count = nquarters > 1 ? nquarters * 4 : Min(n, 4);
		int32x4_t	dots[1][QUARTERS_MAX];

		u8_tile(&query->elements, &rest, 1, columns + first * ECP_GROUP,
				nslots * ECP_GROUP, EcpGroups(query->dims), count, nquarters,
				products, dots);
#pragma GCC unroll 8
		for (int b = 0; b < nquarters; b++)
			store_ranks(query, dots[0][b], factor + first + b * 4, count - b * 4,
						ranks + first + b * 4);
	}
}

TEMPLATE void
u8_rank_columns(const EcpU8Query *query, const uint8 *columns, int nslots,
				const int32 *factor, int n, float8 *ranks, const ByteProducts *products)
{
	int32		rest = vector_rest(query->elements, query->dims);

	if (n >= 32)
		rank_slots(query, rest, columns, nslots, factor, n, 8, ranks, products);
	else if (n >= 16)
		rank_slots(query, rest, columns, nslots, factor, n, 4, ranks, products);
	else
		rank_slots(query, rest, columns, nslots, factor, n, 1, ranks, products);
}

/* Bits of the lanes of 4 numbers that are all ones. */
TEMPLATE uint64
lane_bits(uint32x4_t lanes)
{
	static const uint32 bits[4] = {1, 2, 4, 8};

	return vaddvq_u32(vandq_u32(lanes, vld1q_u32(bits)));
}

/* The first n of 4 lanes. */
TEMPLATE uint32x4_t
lane_mask(int n)
{
	static const int32 numbers[4] = {0, 1, 2, 3};

	return vcltq_s32(vld1q_s32(numbers), vdupq_n_s32(n));
}

/* As rank_slots(), for nvectors (a constant) queries and their limits. */
TEMPLATE void
pass_slots(const EcpU8Query *const *query, const int32 *rest,
		   const int32 *limits, int nvectors, const uint8 *columns,
		   int nslots, const int32 *factor, int n, int nquarters,
		   const ByteProducts *products, uint64 *passed, int32 ranks[][ECP_PASS_ROWS])
{
	const int8 *vector[TILE_VECTORS];

	for (int v = 0; v < nvectors; v++)
	{
		vector[v] = query[v]->elements;
		passed[v] = 0;
	}

	for (int done = 0; done < n; done += nquarters * 4)
	{
		int			first = Max(0, Min(done, n - nquarters * 4));
		int			count = nquarters > 1 ? nquarters * 4 : Min(n, 4);
		int32x4_t	dots[TILE_VECTORS][QUARTERS_MAX];

		u8_tile(vector, rest, nvectors, columns + first * ECP_GROUP,
				nslots * ECP_GROUP, EcpGroups(query[0]->dims), count,
				nquarters, products, dots);
#pragma GCC unroll 4
		for (int v = 0; v < nvectors; v++)
		{
#pragma GCC unroll 4
			for (int b = 0; b < nquarters; b++)
			{
				int			slot = first + b * 4;
				int32x4_t	rank = dot_ranks(query[v], dots[v][b],
											 load_factors(factor + slot, count - b * 4));
				uint32x4_t	passes = vandq_u32(vcleq_s32(rank, vdupq_n_s32(limits[v])),
											   lane_mask(count - b * 4));

				passed[v] |= lane_bits(passes) << slot;
				vst1q_s32(ranks[v] + slot, rank);
			}
		}
	}
}

TEMPLATE void
u8_pass_columns(const EcpU8Query *const *queries, int nqueries,
				const int32 *limits, const uint8 *columns, int nslots,
				const int32 *factor, int n, uint64 *passed, int32 *ranks,
				const ByteProducts *products)
{
	int			nvectors = U8TileVectors(products);

	for (int done = 0; done < nqueries; done += nvectors)
	{
		int			live = Min(nqueries - done, nvectors);
		const EcpU8Query *query[TILE_VECTORS];
		int32		rest[TILE_VECTORS];
		int32		limit[TILE_VECTORS];
		uint64		bits[TILE_VECTORS];
		int32		all[TILE_VECTORS][ECP_PASS_ROWS];

		/* the last one is repeated, and its results are ignored */
		for (int v = 0; v < nvectors; v++)
		{
			query[v] = queries[done + Min(v, live - 1)];
			rest[v] = vector_rest(query[v]->elements, query[v]->dims);
			limit[v] = limits[done + Min(v, live - 1)];
		}
		if (n >= 16)
			pass_slots(query, rest, limit, nvectors, columns, nslots, factor,
					   n, 4, products, bits, all);
		else
			pass_slots(query, rest, limit, nvectors, columns, nslots, factor,
					   n, 1, products, bits, all);

		memcpy(passed + done, bits, live * sizeof(uint64));
		for (int v = 0; v < live; v++)
			memcpy(ranks + (done + v) * ECP_PASS_ROWS, all[v],
				   n * sizeof(int32));
	}
}

TEMPLATE void
u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums,
		const ByteProducts *products)
{
	uint32x4_t	aa[2] = {vdupq_n_u32(0), vdupq_n_u32(0)};
	uint32x4_t	ab[2] = {vdupq_n_u32(0), vdupq_n_u32(0)};
	uint32x4_t	bb[2] = {vdupq_n_u32(0), vdupq_n_u32(0)};

	for (int i = 0; i < dims; i += 16)
	{
		uint8x16_t	x = load_bytes(a, i, dims);
		uint8x16_t	y = load_bytes(b, i, dims);

		products->add_unsigned(aa, x, x);
		products->add_unsigned(ab, x, y);
		products->add_unsigned(bb, y, y);
	}

	sums->aa = unsigned_sum(aa);
	sums->ab = unsigned_sum(ab);
	sums->bb = unsigned_sum(bb);
}

/* Ranks, without the vector's base, of 4 leaders. */
TEMPLATE int32x4_t
leader_ranks(const EcpPanelView *panel, int leader, int32x4_t dots)
{
	return vsubq_s32(vld1q_s32(panel->factors + leader),
					 vshlq_s32(dots, vdupq_n_s32(panel->shift)));
}

TEMPLATE void
u8_panel_rank(const EcpPanelView *panel, const int8 *vector, int first,
			  int n, int32 *ranks, const ByteProducts *products)
{
	int			ngroups = EcpGroups(panel->dims);
	int32		rest = vector_rest(vector, panel->dims);

	for (int done = 0; done < n; done += ECP_PANEL_BLOCK)
	{
		const uint8 *block = (const uint8 *) panel->data +
			(first + done) / ECP_PANEL_BLOCK * (Size) ngroups * 64;
		int32x4_t	dots[1][QUARTERS_MAX];
		int32		rank[ECP_PANEL_BLOCK];

		u8_tile(&vector, &rest, 1, block, 64, ngroups, ECP_PANEL_BLOCK,
				QUARTERS, products, dots);
		for (int b = 0; b < QUARTERS; b++)
			vst1q_s32(rank + b * 4,
					  leader_ranks(panel, first + done + b * 4, dots[0][b]));
		memcpy(ranks + done, rank,
			   Min(n - done, ECP_PANEL_BLOCK) * sizeof(int32));
	}
}

TEMPLATE void
u8_panel_nearest(const EcpPanelView *panel, int n, const int8 *vectors,
				 Size stride, int nvectors, int32 *leaders, int32 *ranks,
				 const ByteProducts *products)
{
	int			ngroups = EcpGroups(panel->dims);
	int			tile = U8TileVectors(products);
	int32		rest[ECP_PANEL_VECTORS];
	int32x4_t	best[ECP_PANEL_VECTORS][QUARTERS];
	int32x4_t	best_block[ECP_PANEL_VECTORS][QUARTERS];

	for (int v = 0; v < nvectors; v++)
	{
		rest[v] = vector_rest(vectors + v * stride, panel->dims);
		for (int b = 0; b < QUARTERS; b++)
		{
			best[v][b] = vdupq_n_s32(PG_INT32_MAX);
			best_block[v][b] = vdupq_n_s32(0);
		}
	}

	/* one block after the other, so that it stays in the first cache */
	for (int first = 0; first < n; first += ECP_PANEL_BLOCK)
	{
		const uint8 *block = (const uint8 *) panel->data +
			first / ECP_PANEL_BLOCK * (Size) ngroups * 64;
		int32x4_t	number = vdupq_n_s32(first / ECP_PANEL_BLOCK);

		for (int done = 0; done < nvectors; done += tile)
		{
			const int8 *vector[TILE_VECTORS];
			int32		vector_rests[TILE_VECTORS];
			int32x4_t	dots[TILE_VECTORS][QUARTERS_MAX];

			for (int v = 0; v < tile; v++)
			{
				int			i = Min(done + v, nvectors - 1);

				vector[v] = vectors + i * stride;
				vector_rests[v] = rest[i];
			}
			u8_tile(vector, vector_rests, tile, block, 64, ngroups,
					ECP_PANEL_BLOCK, QUARTERS, products, dots);

			/* the last vector again changes nothing */
#pragma GCC unroll 4
			for (int v = 0; v < tile; v++)
			{
				int			i = Min(done + v, nvectors - 1);

#pragma GCC unroll 4
				for (int b = 0; b < QUARTERS; b++)
				{
					int32x4_t	rank = leader_ranks(panel, first + b * 4,
													dots[v][b]);
					uint32x4_t	better = vandq_u32(vcltq_s32(rank, best[i][b]),
												   lane_mask(n - first - b * 4));

					best[i][b] = vbslq_s32(better, rank, best[i][b]);
					best_block[i][b] = vbslq_s32(better, number,
												 best_block[i][b]);
				}
			}
		}
	}

	for (int v = 0; v < nvectors; v++)
		EcpLanesNearest((const int32 *) best[v], (const int32 *) best_block[v],
						leaders[v], ranks[v]);
}

/* Levels are signed bytes, too. */
TEMPLATE uint64
u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
			  const int32 *factor, int n, float4 limit,
			  const ByteProducts *products)
{
	const uint8x16_t nibble = vdupq_n_u8(0x0F);
	uint8x16_t	levels = vld1q_u8(ecp_parts_levels);
	uint64		near = 0;

	for (int r = 0; r < n; r++, upper += query->bytes)
	{
		int32x4_t	sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
		float4		width = query->unit * (float4) (factor[r] & 0xFF);
		int32		number;
		float4		estimate;

		for (int i = 0; i < query->bytes; i += 16)
		{
			uint8x16_t	x = vld1q_u8(upper + i);

			products->add(sums, vreinterpretq_s8_u8(vqtbl1q_u8(levels, vandq_u8(x, nibble))),
						  vld1q_s8(query->elements[0] + i));
			products->add(sums, vreinterpretq_s8_u8(vqtbl1q_u8(levels, vshrq_n_u8(x, 4))),
						  vld1q_s8(query->elements[1] + i));
		}
		number = query->base + (factor[r] >> 8) -
			8 * vaddvq_s32(vaddq_s32(sums[0], sums[1]));
		estimate = (float4) Max(number, 0);
		near |= (uint64) (fmaf(-width, vget_lane_f32(vsqrt_f32(vdup_n_f32(estimate)), 0),
							   estimate) <= limit) << r;
	}
	return near;
}

TEMPLATE void
u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
			  const uint8 *lower, uint64 rows, float8 *ranks,
			  const ByteProducts *products)
{
	const uint8x16_t nibble = vdupq_n_u8(0x0F);

	for (; rows != 0; rows &= rows - 1)
	{
		int			r = __builtin_ctzll(rows);
		uint32x4_t	sums[2] = {vdupq_n_u32(0), vdupq_n_u32(0)};

		for (int i = 0; i < query->bytes; i += 16)
		{
			uint8x16_t	valid = vld1q_u8(query->valid + i);
			uint8x16_t	high = vandq_u8(valid, vld1q_u8(upper + (Size) r * query->bytes + i));
			uint8x16_t	low = vandq_u8(valid, vld1q_u8(lower + (Size) r * query->bytes + i));
			uint8x16_t	x0 = vabdq_u8(vsliq_n_u8(vandq_u8(low, nibble), high, 4),
									  vld1q_u8(query->values[0] + i));
			uint8x16_t	x1 = vabdq_u8(vsriq_n_u8(high, low, 4),
									  vld1q_u8(query->values[1] + i));

			products->add_unsigned(sums, x0, x0);
			products->add_unsigned(sums, x1, x1);
		}
		ranks[r] = unsigned_sum(sums);
	}
}

#endif							/* ECP_HAVE_NEON_KERNELS */
#endif							/* VECTOR_KERNELS_NEON_U8_H */
