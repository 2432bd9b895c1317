/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx2_u8.h
 *	  Templates of the kernels of vector_kernels_avx2.c for rows of floats, to be
 *	  expanded there for float32 and float16, the kernels for rows in PARTS, and
 *	  what all its kernels share:
 *	  target, masks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_AVX2_U8_H
#define VECTOR_KERNELS_AVX2_U8_H

#include "vector/vector_kernels.h"
#include "vector/vector_kernels_avx2.h"
#include "vector/vector_kernels_floats.h"

#ifdef ECP_HAVE_X86_KERNELS

#include <immintrin.h>


/* A mask whose first n of 8 lanes are all ones. */
TEMPLATE __m256i
lane_mask(int n)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(n),
							  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* ---- rows in PARTS ---- */

/* Rows whose upper parts are compared at a time: a register of sums. */
#define PARTS_ROWS		8

TEMPLATE int32
add_lanes_i32(__m256i sum)
{
	__m128i		half = _mm_add_epi32(_mm256_castsi256_si128(sum),
									 _mm256_extracti128_si256(sum, 1));

	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(1, 0, 3, 2)));
	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(2, 3, 0, 1)));
	return _mm_cvtsi128_si32(half);
}

/* The sum of the lanes of each of four registers, in two halves. */
TEMPLATE __m256i
add_lanes_by_two(const __m256i *sums)
{
	return _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]),
							 _mm256_hadd_epi32(sums[2], sums[3]));
}

/* Inner product of a query with the levels of 32 upper parts, in eight parts. */
TEMPLATE __m256i
parts_product(__m256i x, __m256i levels, __m256i q0, __m256i q1)
{
	const __m256i nibble = _mm256_set1_epi8(0x0F);
	__m256i		x0 = _mm256_shuffle_epi8(levels, _mm256_and_si256(x, nibble));
	__m256i		x1 = _mm256_shuffle_epi8(levels, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));

	x0 = _mm256_add_epi16(_mm256_maddubs_epi16(x0, q0), _mm256_maddubs_epi16(x1, q1));
	return _mm256_madd_epi16(x0, _mm256_set1_epi16(1));
}

/*
 * Inner products of a query with the levels of PARTS_ROWS rows, of which the last one
 * that there is takes the place of those that there are not.
 */
TEMPLATE __m256i
parts_products(const EcpPartsQuery *query, const uint8 *upper, int bytes,
			   int n)
{
	const __m256i levels = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) ecp_parts_levels));
	__m256i		fours[PARTS_ROWS / ROWS];

#pragma GCC unroll 2
	for (int first = 0; first < PARTS_ROWS; first += ROWS)
	{
		__m256i		sums[ROWS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			const uint8 *row = upper + (Size) Min(first + r, n - 1) * bytes;

			sums[r] = _mm256_setzero_si256();
#pragma GCC unroll 2
			for (int i = 0; i < bytes; i += 32)
				sums[r] = _mm256_add_epi32(sums[r],
										   parts_product(_mm256_loadu_si256((const __m256i *) (row + i)), levels,
														 _mm256_loadu_si256((const __m256i *) (query->elements[0] + i)),
														 _mm256_loadu_si256((const __m256i *) (query->elements[1] + i))));
		}
		fours[first / ROWS] = add_lanes_by_two(sums);
	}
	return _mm256_add_epi32(_mm256_permute2x128_si256(fours[0], fours[1], 0x20),
							_mm256_permute2x128_si256(fours[0], fours[1], 0x31));
}

TEMPLATE uint64
avx2_u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
				   const int32 *factor, int n, float4 limit)
{
	uint64		near = 0;

	for (int first = 0; first < n; first += PARTS_ROWS)
	{
		int			count = n - first;
		const uint8 *row = upper + (Size) first * query->bytes;
		__m256i		factors = _mm256_maskload_epi32(factor + first, lane_mask(count));
		__m256i		number;
		__m256		bound;
		__m256		width;

		/* constants where it matters: whole registers of the commonest length */
		if (query->bytes != 64)
			number = parts_products(query, row, query->bytes, count);
		else if (count < PARTS_ROWS)
			number = parts_products(query, row, 64, count);
		else
			number = parts_products(query, row, 64, PARTS_ROWS);
		number = _mm256_sub_epi32(_mm256_add_epi32(_mm256_set1_epi32(query->base),
												   _mm256_srai_epi32(factors, 8)),
								  _mm256_slli_epi32(number, 3));
		bound = _mm256_cvtepi32_ps(_mm256_max_epi32(number, _mm256_setzero_si256()));
		width = _mm256_mul_ps(_mm256_set1_ps(query->unit),
							  _mm256_cvtepi32_ps(_mm256_and_si256(factors, _mm256_set1_epi32(0xFF))));
		bound = _mm256_fnmadd_ps(width, _mm256_sqrt_ps(bound), bound);
		near |= (uint64) _mm256_movemask_ps(_mm256_cmp_ps(bound, _mm256_set1_ps(limit), _CMP_LE_OQ)) << first;
	}
	return near & EcpLowBits(n);
}

/* The sums of the squares of differences of bytes. */
TEMPLATE __m256i
add_squares(__m256i sum, __m256i x, __m256i y)
{
	__m256i		diff = _mm256_or_si256(_mm256_subs_epu8(x, y), _mm256_subs_epu8(y, x));
	__m256i		low = _mm256_unpacklo_epi8(diff, _mm256_setzero_si256());
	__m256i		high = _mm256_unpackhi_epi8(diff, _mm256_setzero_si256());

	sum = _mm256_add_epi32(sum, _mm256_madd_epi16(low, low));
	return _mm256_add_epi32(sum, _mm256_madd_epi16(high, high));
}

TEMPLATE void
avx2_u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
				   const uint8 *lower, uint64 rows, float8 *ranks)
{
	const __m256i nibble = _mm256_set1_epi8(0x0F);

	for (; rows != 0; rows &= rows - 1)
	{
		int			r = __builtin_ctzll(rows);
		__m256i		sum = _mm256_setzero_si256();

		for (int i = 0; i < query->bytes; i += 32)
		{
			__m256i		valid = _mm256_loadu_si256((const __m256i *) (query->valid + i));
			__m256i		high = _mm256_and_si256(valid, _mm256_loadu_si256((const __m256i *) (upper + (Size) r * query->bytes + i)));
			__m256i		low = _mm256_and_si256(valid, _mm256_loadu_si256((const __m256i *) (lower + (Size) r * query->bytes + i)));
			__m256i		x0 = _mm256_or_si256(_mm256_slli_epi16(_mm256_and_si256(high, nibble), 4),
											 _mm256_and_si256(low, nibble));
			__m256i		x1 = _mm256_or_si256(_mm256_andnot_si256(nibble, high),
											 _mm256_and_si256(_mm256_srli_epi16(low, 4), nibble));

			sum = add_squares(sum, x0, _mm256_loadu_si256((const __m256i *) (query->values[0] + i)));
			sum = add_squares(sum, x1, _mm256_loadu_si256((const __m256i *) (query->values[1] + i)));
		}
		ranks[r] = add_lanes_i32(sum);
	}
}

#endif							/* ECP_HAVE_X86_KERNELS */

#endif							/* VECTOR_KERNELS_AVX2_U8_H */
