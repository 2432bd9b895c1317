/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx2.h
 *	  Templates of the kernels of vector_kernels_avx2.c for rows of floats, to be
 *	  expanded there for float32 and float16, the kernels for rows in PARTS, and
 *	  what all its kernels share:
 *	  target, masks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_AVX2_H
#define VECTOR_KERNELS_AVX2_H

#include "vector/vector_kernels.h"

#ifdef ECP_HAVE_X86_KERNELS

#include <immintrin.h>

#define TARGET		__attribute__((target("avx2,fma,f16c,popcnt")))
#define TEMPLATE	static inline __attribute__((always_inline)) TARGET

/* Rows ranked at a time. */
#define ROWS			4

/* A mask whose first n of 8 lanes are all ones. */
TEMPLATE __m256i
lane_mask(int n)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(n),
							  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The sum of 16 lanes, in the order that all instruction sets keep. */
TEMPLATE float4
add_lanes_f32(__m256 low, __m256 high)
{
	__m256		half = _mm256_add_ps(low, high);
	__m128		quarter = _mm_add_ps(_mm256_castps256_ps128(half),
									 _mm256_extractf128_ps(half, 1));

	quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
	quarter = _mm_add_ss(quarter, _mm_movehdup_ps(quarter));
	return _mm_cvtss_f32(quarter);
}

/* Sums of a few rows, of 16 lanes each. */
typedef struct RowSums
{
	__m256		low[ROWS];
	__m256		high[ROWS];
} RowSums;

/* The product of two vectors, or the square of their difference. */
TEMPLATE __m256
add_products(__m256 sum, __m256 x, __m256 q, bool squared)
{
	if (squared)
	{
		x = _mm256_sub_ps(x, q);
		return _mm256_fmadd_ps(x, x, sum);
	}
	return _mm256_fmadd_ps(x, q, sum);
}

/* Up to 8 float16 elements as float32, followed by zeros. */
TEMPLATE __m256
load_halves(const uint16 *halves, int n)
{
	uint16		padded[8] = {0};

	if (n >= 8)
		return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) halves));

	for (int i = 0; i < n; i++)
		padded[i] = halves[i];
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) padded));
}

/*
 * One step of float_rows(): 16 elements, or n, of each row.  Constants where
 * this is expanded: half, squared, and n if it is 16.
 */
TEMPLATE void
float_rows_add(const float4 *query, const char *const *row, int i, int n,
			   RowSums *sums, bool half, bool squared)
{
	__m256i		low_mask = lane_mask(n);
	__m256i		high_mask = lane_mask(n - 8);
	__m256		q0 = n == 16 ? _mm256_loadu_ps(query + i) :
		_mm256_maskload_ps(query + i, low_mask);
	__m256		q1 = n == 16 ? _mm256_loadu_ps(query + i + 8) :
		_mm256_maskload_ps(query + i + 8, high_mask);

#pragma GCC unroll 4
	for (int r = 0; r < ROWS; r++)
	{
		const float4 *floats = (const float4 *) row[r] + i;
		const uint16 *halves = (const uint16 *) row[r] + i;
		__m256		x0;
		__m256		x1;

		if (half)
		{
			x0 = load_halves(halves, n);
			x1 = load_halves(halves + 8, n - 8);
		}
		else
		{
			x0 = n == 16 ? _mm256_loadu_ps(floats) :
				_mm256_maskload_ps(floats, low_mask);
			x1 = n == 16 ? _mm256_loadu_ps(floats + 8) :
				_mm256_maskload_ps(floats + 8, high_mask);
		}
		sums->low[r] = add_products(sums->low[r], x0, q0, squared);
		sums->high[r] = add_products(sums->high[r], x1, q1, squared);
	}
}

/* "half" and "squared" are constants where this is expanded. */
TEMPLATE void
float_rows(const float4 *query, int dims, const char *rows, Size stride, int n,
		   bool half, bool squared, float4 *result)
{
	int			whole = dims - dims % 16;

	for (int first = 0; first < n; first += ROWS)
	{
		const char *row[ROWS];
		RowSums		sums;

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
			sums.low[r] = sums.high[r] = _mm256_setzero_ps();
		}

		for (int i = 0; i < whole; i += 16)
			float_rows_add(query, row, i, 16, &sums, half, squared);
		if (whole < dims)
			float_rows_add(query, row, whole, dims - whole, &sums, half,
						   squared);

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			if (first + r < n)
				result[first + r] = add_lanes_f32(sums.low[r], sums.high[r]);
		}
	}
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

#endif							/* VECTOR_KERNELS_AVX2_H */
