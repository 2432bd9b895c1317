/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx2.h
 *	  Templates of the kernels of vector_kernels_avx2.c for rows of floats, to be
 *	  expanded there for float32 and float16, and what all its kernels share:
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
}			RowSums;

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
			   RowSums * sums, bool half, bool squared)
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

#endif							/* ECP_HAVE_X86_KERNELS */

#endif							/* VECTOR_KERNELS_AVX2_H */
