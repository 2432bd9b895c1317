/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx512_u8.h
 *	  Templates of the uint8 kernels of vector_kernels_avx512.c, to be
 *	  expanded there for each number of registers, the kernels for rows in
 *	  PARTS, and what all its kernels share: target, masks, shape of a tile.
 *
 * Panels: a tile of 6 vectors x 4 blocks of 16 leaders keeps 24 sums in
 * registers; per step it loads 4 registers of leaders and broadcasts 6
 * vector elements for 24 multiply-adds.  Incomplete tiles repeat their last
 * vector or block: the same comparison again changes nothing.
 *
 * The functions carry their target in an attribute: a file compiled with
 * -mavx512f could leak such code into functions that every CPU runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_AVX512_U8_H
#define VECTOR_KERNELS_AVX512_U8_H

#include "vector/vector_kernels.h"
#include "vector/vector_kernels_avx512.h"
#include "vector/vector_kernels_floats.h"

#ifdef ECP_HAVE_X86_KERNELS

#include <immintrin.h>


/* Shape of a tile of a panel. */
#define TILE_VECTORS	6

/* The first n of 16 lanes, or of 64 bytes. */
#define LaneMask(n)		((__mmask16) ((n) >= 16 ? 0xFFFF : (1U << (n)) - 1))
#define ByteMask(n)		((__mmask64) EcpLowBits(n))

/* The sum of the lanes of each of four registers. */
TEMPLATE __m128i
add_lanes_i32(const __m512i *sums)
{
	__m256i		half[ROWS];
	__m256i		quarters;

#pragma GCC unroll 4
	for (int r = 0; r < ROWS; r++)
		half[r] = _mm256_add_epi32(_mm512_castsi512_si256(sums[r]),
								   _mm512_extracti64x4_epi64(sums[r], 1));

	quarters = _mm256_hadd_epi32(_mm256_hadd_epi32(half[0], half[1]),
								 _mm256_hadd_epi32(half[2], half[3]));
	return _mm_add_epi32(_mm256_castsi256_si128(quarters),
						 _mm256_extracti128_si256(quarters, 1));
}

/*
 * Ranks of the count slots from "first" of COLUMNS on, which are in nblocks
 * (a constant where this is expanded) registers of 16 slots.
 */
TEMPLATE void
rank_slots(const EcpU8Query *query, const uint8 *columns, int nslots,
		   const int32 *factor, int first, int count, int nblocks,
		   float8 *ranks)
{
	int			ngroups = EcpGroups(query->dims);
	const int32 *groups = (const int32 *) query->elements;
	const int32 *column = (const int32 *) columns + first;
	__mmask16	last = LaneMask(count - (nblocks - 1) * 16);
	__m512i		sums[TILE_BLOCKS];

#pragma GCC unroll 4
	for (int b = 0; b < nblocks; b++)
		sums[b] = _mm512_setzero_si512();

	for (int g = 0; g < ngroups; g++)
	{
		__m512i		q = _mm512_set1_epi32(groups[g]);

#pragma GCC unroll 4
		for (int b = 0; b < nblocks; b++)
		{
			__m512i		x = (b < nblocks - 1) ?
				_mm512_loadu_si512(column + b * 16) :
				_mm512_maskz_loadu_epi32(last, column + b * 16);

			sums[b] = _mm512_dpbusd_epi32(sums[b], x, q);
		}
		column += nslots;
	}

#pragma GCC unroll 4
	for (int b = 0; b < nblocks; b++)
	{
		__mmask16	live = (b < nblocks - 1) ? 0xFFFF : last;
		__m512i		rank;

		rank = _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(live, factor + first + b * 16),
								  _mm512_set1_epi32(query->factor_times));
		rank = _mm512_add_epi32(rank, _mm512_mullo_epi32(sums[b],
														 _mm512_set1_epi32(query->dot_times)));
		rank = _mm512_add_epi32(rank, _mm512_set1_epi32(query->base));
		_mm512_mask_storeu_pd(ranks + first + b * 16, (__mmask8) live,
							  _mm512_cvtepi32_pd(_mm512_castsi512_si256(rank)));
		_mm512_mask_storeu_pd(ranks + first + b * 16 + 8,
							  (__mmask8) (live >> 8),
							  _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(rank, 1)));
	}
}

/*
 * sum += x q, in place.  In assembly because gcc 12 gives the intrinsic's
 * result another register than its operand, and then spills half a tile.
 */
TEMPLATE void
add_bytes_in_place(__m512i *sum, __m512i x, __m512i q)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(x), "v"(q));
}

/* Inner products of a tile: nvectors, nblocks are constants where expanded. */
TEMPLATE void
u8_tile(const int8 *const *vector, const uint8 *const *block, int ngroups,
		int nvectors, int nblocks, __m512i sums[][TILE_BLOCKS])
{
#pragma GCC unroll 6
	for (int v = 0; v < nvectors; v++)
	{
#pragma GCC unroll 4
		for (int b = 0; b < nblocks; b++)
			sums[v][b] = _mm512_setzero_si512();
	}

	for (int g = 0; g < ngroups; g++)
	{
		__m512i		x[TILE_BLOCKS];

#pragma GCC unroll 4
		for (int b = 0; b < nblocks; b++)
			x[b] = _mm512_load_si512(block[b] + g * 64);

#pragma GCC unroll 6
		for (int v = 0; v < nvectors; v++)
		{
			__m512i		q = _mm512_set1_epi32(*(const int32 *) (vector[v] + g * ECP_GROUP));

#pragma GCC unroll 4
			for (int b = 0; b < nblocks; b++)
				add_bytes_in_place(&sums[v][b], x[b], q);
		}
	}
}

/*
 * Ranks of slots of COLUMNS, in nblocks (a constant where this is expanded)
 * registers of 16, for ECP_PASS_QUERIES queries: 16 sums in registers, and 8
 * loads for each 16 multiply-adds.
 */
TEMPLATE void
pass_slots(const EcpU8Query *const *query, const int32 *limits,
		   const uint8 *columns, int nslots, const int32 *factor, int count,
		   int nblocks, uint64 *passed, int32 *ranks)
{
	int			ngroups = EcpGroups(query[0]->dims);
	const int32 *column = (const int32 *) columns;
	__mmask16	last = LaneMask(count - (nblocks - 1) * 16);
	__m512i		sums[ECP_PASS_QUERIES][TILE_BLOCKS];

#pragma GCC unroll 4
	for (int q = 0; q < ECP_PASS_QUERIES; q++)
	{
#pragma GCC unroll 4
		for (int b = 0; b < nblocks; b++)
			sums[q][b] = _mm512_setzero_si512();
	}

	for (int g = 0; g < ngroups; g++)
	{
		__m512i		x[TILE_BLOCKS];

#pragma GCC unroll 4
		for (int b = 0; b < nblocks; b++)
			x[b] = (b < nblocks - 1) ?
				_mm512_loadu_si512(column + b * 16) :
				_mm512_maskz_loadu_epi32(last, column + b * 16);

#pragma GCC unroll 4
		for (int q = 0; q < ECP_PASS_QUERIES; q++)
		{
			__m512i		group = _mm512_set1_epi32(((const int32 *) query[q]->elements)[g]);

#pragma GCC unroll 4
			for (int b = 0; b < nblocks; b++)
				add_bytes_in_place(&sums[q][b], x[b], group);
		}
		column += nslots;
	}

#pragma GCC unroll 4
	for (int q = 0; q < ECP_PASS_QUERIES; q++)
	{
		__m512i		base = _mm512_set1_epi32(query[q]->base);
		__m512i		factor_times = _mm512_set1_epi32(query[q]->factor_times);
		__m512i		dot_times = _mm512_set1_epi32(query[q]->dot_times);
		__m512i		limit = _mm512_set1_epi32(limits[q]);

		passed[q] = 0;
#pragma GCC unroll 4
		for (int b = 0; b < nblocks; b++)
		{
			__mmask16	live = (b < nblocks - 1) ? 0xFFFF : last;
			__m512i		rank;
			__mmask16	mask;

			rank = _mm512_mullo_epi32(_mm512_maskz_loadu_epi32(live, factor + b * 16),
									  factor_times);
			rank = _mm512_add_epi32(rank, _mm512_mullo_epi32(sums[q][b], dot_times));
			rank = _mm512_add_epi32(rank, base);
			mask = _mm512_mask_cmple_epi32_mask(live, rank, limit);
			if (mask == 0)
				continue;
			passed[q] |= (uint64) mask << (b * 16);
			_mm512_storeu_si512(ranks + q * ECP_PASS_ROWS + b * 16, rank);
		}
	}
}

/*
 * Compare a tile of leaders, nblocks (a constant where this is expanded)
 * blocks from "first" on, with the vectors from "done" on.
 */
TEMPLATE void
u8_nearest_tile(const EcpPanelView *panel, int n, int first, int nblocks,
				const int8 *vectors, Size stride, int nvectors, int done,
				__m512i *best, __m512i *best_block)
{
	int			ngroups = EcpGroups(panel->dims);
	__m128i		shift = _mm_cvtsi32_si128(panel->shift);
	const int8 *vector[TILE_VECTORS];
	const uint8 *block[TILE_BLOCKS];
	__m512i		sums[TILE_VECTORS][TILE_BLOCKS];

#pragma GCC unroll 4
	for (int b = 0; b < nblocks; b++)
		block[b] = (const uint8 *) panel->data +
			Min(first + b, (n - 1) / 16) * (Size) ngroups * 64;
#pragma GCC unroll 6
	for (int v = 0; v < TILE_VECTORS; v++)
		vector[v] = vectors + Min(done + v, nvectors - 1) * stride;

	u8_tile(vector, block, ngroups, TILE_VECTORS, nblocks, sums);

#pragma GCC unroll 6
	for (int v = 0; v < TILE_VECTORS; v++)
	{
		int			i = Min(done + v, nvectors - 1);

#pragma GCC unroll 4
		for (int b = 0; b < nblocks; b++)
		{
			int			number = Min(first + b, (n - 1) / 16);
			__m512i		factor = _mm512_load_si512(panel->factors + number * 16);
			__m512i		rank = _mm512_sub_epi32(factor,
												_mm512_sll_epi32(sums[v][b], shift));
			__mmask16	better = _mm512_mask_cmplt_epi32_mask(LaneMask(n - number * 16),
															  rank, best[i]);

			best[i] = _mm512_mask_mov_epi32(best[i], better, rank);
			best_block[i] = _mm512_mask_set1_epi32(best_block[i], better, number);
		}
	}
}

/* ---- rows in PARTS ---- */

/* Rows whose upper parts are compared at a time: a register of sums. */
#define PARTS_ROWS		16

/* The sum of the lanes of each of four registers, in four parts. */
TEMPLATE __m512i
add_lanes_by_four(const __m512i *sums)
{
	__m512i		a = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[0], sums[1]),
									 _mm512_unpackhi_epi32(sums[0], sums[1]));
	__m512i		b = _mm512_add_epi32(_mm512_unpacklo_epi32(sums[2], sums[3]),
									 _mm512_unpackhi_epi32(sums[2], sums[3]));

	return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b),
							_mm512_unpackhi_epi64(a, b));
}

/* The even parts of two such registers, and the odd ones, added. */
TEMPLATE __m512i
add_parts(__m512i a, __m512i b)
{
	return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88),
							_mm512_shuffle_i32x4(a, b, 0xDD));
}

/*
 * Inner products of a query with the levels of PARTS_ROWS rows, of which the last one
 * that there is takes the place of those that there are not.
 */
TEMPLATE __m512i
parts_products(const EcpPartsQuery *query, const uint8 *upper, int bytes,
			   int n)
{
	const __m512i nibble = _mm512_set1_epi8(0x0F);
	const __m512i levels = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *) ecp_parts_levels));
	__m512i		fours[PARTS_ROWS / ROWS];

#pragma GCC unroll 4
	for (int first = 0; first < PARTS_ROWS; first += ROWS)
	{
		__m512i		sums[ROWS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			const uint8 *row = upper + (Size) Min(first + r, n - 1) * bytes;

			sums[r] = _mm512_setzero_si512();
			for (int i = 0; i < bytes; i += 64)
			{
				__m512i		x = _mm512_maskz_loadu_epi8(ByteMask(bytes - i), row + i);
				__m512i		x0 = _mm512_shuffle_epi8(levels, _mm512_and_si512(x, nibble));
				__m512i		x1 = _mm512_shuffle_epi8(levels, _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble));

				sums[r] = _mm512_dpbusd_epi32(sums[r], x0, _mm512_loadu_si512(query->elements[0] + i));
				sums[r] = _mm512_dpbusd_epi32(sums[r], x1, _mm512_loadu_si512(query->elements[1] + i));
			}
		}
		fours[first / ROWS] = add_lanes_by_four(sums);
	}
	return add_parts(add_parts(fours[0], fours[1]), add_parts(fours[2], fours[3]));
}

static TARGET uint64
avx512_u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
					 const int32 *factor, int n, float4 limit)
{
	uint64		near = 0;

	for (int first = 0; first < n; first += PARTS_ROWS)
	{
		int			count = n - first;
		const uint8 *row = upper + (Size) first * query->bytes;
		__mmask16	live = LaneMask(count);
		__m512i		factors = _mm512_maskz_loadu_epi32(live, factor + first);
		__m512i		number;
		__m512		bound;
		__m512		width;

		/* constants where it matters: whole registers of the commonest length */
		if (query->bytes != 64)
			number = parts_products(query, row, query->bytes, count);
		else if (count < PARTS_ROWS)
			number = parts_products(query, row, 64, count);
		else
			number = parts_products(query, row, 64, PARTS_ROWS);
		number = _mm512_sub_epi32(_mm512_add_epi32(_mm512_set1_epi32(query->base),
												   _mm512_srai_epi32(factors, 8)),
								  _mm512_slli_epi32(number, 3));
		bound = _mm512_cvtepi32_ps(_mm512_max_epi32(number, _mm512_setzero_si512()));
		width = _mm512_mul_ps(_mm512_set1_ps(query->unit),
							  _mm512_cvtepi32_ps(_mm512_and_si512(factors, _mm512_set1_epi32(0xFF))));
		bound = _mm512_fnmadd_ps(width, _mm512_sqrt_ps(bound), bound);
		near |= (uint64) _mm512_mask_cmp_ps_mask(live, bound, _mm512_set1_ps(limit), _CMP_LE_OQ) << first;
	}
	return near;
}

/* The sums of the squares of differences of bytes. */
TEMPLATE __m512i
add_squares(__m512i sum, __m512i x, __m512i y)
{
	__m512i		diff = _mm512_or_si512(_mm512_subs_epu8(x, y), _mm512_subs_epu8(y, x));
	__m512i		low = _mm512_unpacklo_epi8(diff, _mm512_setzero_si512());
	__m512i		high = _mm512_unpackhi_epi8(diff, _mm512_setzero_si512());

	return _mm512_dpwssd_epi32(_mm512_dpwssd_epi32(sum, low, low), high, high);
}

TEMPLATE void
avx512_u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
					 const uint8 *lower, uint64 rows, float8 *ranks)
{
	const __m512i nibble = _mm512_set1_epi8(0x0F);

	for (; rows != 0; rows &= rows - 1)
	{
		int			r = __builtin_ctzll(rows);
		__m512i		sum = _mm512_setzero_si512();

		for (int i = 0; i < query->bytes; i += 64)
		{
			__mmask64	mask = ByteMask(query->bytes - i);
			__m512i		high = _mm512_maskz_loadu_epi8(mask, upper + (Size) r * query->bytes + i);
			__m512i		low = _mm512_maskz_loadu_epi8(mask, lower + (Size) r * query->bytes + i);
			__m512i		x0 = _mm512_or_si512(_mm512_slli_epi16(_mm512_and_si512(high, nibble), 4),
											 _mm512_and_si512(low, nibble));
			__m512i		x1 = _mm512_or_si512(_mm512_andnot_si512(nibble, high),
											 _mm512_and_si512(_mm512_srli_epi16(low, 4), nibble));

			sum = add_squares(sum, x0, _mm512_loadu_si512(query->values[0] + i));
			sum = add_squares(sum, x1, _mm512_loadu_si512(query->values[1] + i));
		}
		ranks[r] = _mm512_reduce_add_epi32(sum);
	}
}

#endif							/* ECP_HAVE_X86_KERNELS */

#endif							/* VECTOR_KERNELS_AVX512_U8_H */
