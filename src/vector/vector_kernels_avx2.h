/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx2.h
 *	  AVX2's registers, and what the kernels' templates do with them.
 *
 * See vector_kernels_floats.h for what each function is to do.  A register is
 * 8 lanes of 4 bytes.
 *
 * The functions carry their target in an attribute: a file compiled with
 * -mavx2 could leak such code into functions that every CPU runs.
 *
 * AVX2's multiplication of unsigned with signed bytes saturates sums of two
 * products.  Bytes that are small are multiplied so; others are widened to 16
 * bits and multiplied by vpmaddwd, which cannot overflow: those of rows one after
 * the other, those of groups the even and the odd ones by a mask and a shift.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_AVX2_H
#define VECTOR_KERNELS_AVX2_H

#include "vector/vector_kernels.h"

#ifdef ECP_HAVE_X86_KERNELS

#include <immintrin.h>

#define KERNELS			ecp_kernels_avx2
#define KERNELS_NAME	"avx2"
#define TARGET			__attribute__((target("avx2,fma,f16c,popcnt")))
#define TEMPLATE		static inline __attribute__((always_inline)) TARGET

#define WIDTH			32

/* Tiles of a panel: their sums, and what is added, fill the 16 registers. */
#define TILE_BLOCKS		1
#define U8_VECTORS		3
#define F32_VECTORS		6

typedef __m256 Floats;
typedef __m256d Doubles;
typedef int32 Ints __attribute__((vector_size(WIDTH)));
typedef uint16 Words __attribute__((vector_size(WIDTH)));
typedef Ints Mask;				/* lanes of ones */

#define LANE_NUMBERS	((Ints) {0, 1, 2, 3, 4, 5, 6, 7})
#define FloatsAll(x)	_mm256_set1_ps(x)
#define DoublesAll(x)	_mm256_set1_pd(x)

/* ---- ends of arrays ---- */

TEMPLATE Mask
first_lanes(int n)
{
	return (Mask) _mm256_cmpgt_epi32(_mm256_set1_epi32(n),
									 (__m256i) LANE_NUMBERS);
}

TEMPLATE Floats
floats_load_some(const float4 *x, int n)
{
	return _mm256_maskload_ps(x, (__m256i) first_lanes(n));
}

TEMPLATE void
floats_store_some(float4 *x, Floats floats, int n)
{
	_mm256_maskstore_ps(x, (__m256i) first_lanes(n), floats);
}

/* ---- floats ---- */

TEMPLATE Floats
multiply_add(Floats x, Floats y, Floats sum)
{
	return _mm256_fmadd_ps(x, y, sum);
}

TEMPLATE Floats
multiply_subtract(Floats x, Floats y, Floats sum)
{
	return _mm256_fnmadd_ps(x, y, sum);
}

TEMPLATE float4
lanes_sum(Floats x)
{
	__m128		quarter = _mm_add_ps(_mm256_castps256_ps128(x),
									 _mm256_extractf128_ps(x, 1));

	quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
	return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
}

TEMPLATE Floats
lanes_swap(Floats x, int distance)
{
	return distance == 1 ? _mm256_permute_ps(x, 0xB1) :
		distance == 2 ? _mm256_permute_ps(x, 0x4E) :
		_mm256_permute2f128_ps(x, x, 1);
}

TEMPLATE Floats
halves_load(const uint16 *x)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) x));
}

TEMPLATE Floats
halves_load_some(const uint16 *x, int n)
{
	uint16		padded[8] = {0};

	for (int i = 0; i < Min(n, 8); i++)
		padded[i] = x[i];
	return halves_load(padded);
}

TEMPLATE void
halves_store(uint16 *x, Floats floats)
{
	_mm_storeu_si128((__m128i *) x,
					 _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT));
}

TEMPLATE void
halves_store_some(uint16 *x, Floats floats, int n)
{
	uint16		halves[8];

	halves_store(halves, floats);
	memcpy(x, halves, n * sizeof(uint16));
}

TEMPLATE Doubles
doubles_load(const float4 *x)
{
	return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

TEMPLATE void
doubles_store(float4 *x, Doubles doubles)
{
	_mm_storeu_ps(x, _mm256_cvtpd_ps(doubles));
}

/* ---- comparisons ---- */

TEMPLATE Mask
floats_less(Floats x, Floats y)
{
	return (Mask) _mm256_cmp_ps(x, y, _CMP_LT_OQ);
}

TEMPLATE Mask
floats_not_above(Floats x, Floats y)
{
	return (Mask) _mm256_cmp_ps(x, y, _CMP_NGT_UQ);
}

TEMPLATE uint32
doubles_not_above(Doubles x, Doubles y)
{
	return _mm256_movemask_pd(_mm256_cmp_pd(x, y, _CMP_NGT_UQ));
}

TEMPLATE Mask
ints_less(Ints x, Ints y)
{
	return (Mask) _mm256_cmpgt_epi32((__m256i) y, (__m256i) x);
}

TEMPLATE uint32
mask_bits(Mask mask)
{
	return _mm256_movemask_ps((__m256) mask);
}

TEMPLATE Ints
mask_select(Mask mask, Ints x, Ints y)
{
	return (Ints) _mm256_blendv_epi8((__m256i) y, (__m256i) x, (__m256i) mask);
}

/* ---- bytes of floats ---- */

TEMPLATE Floats
bytes_to_floats(const uint8 *x)
{
	__m128i		bytes = _mm_loadl_epi64((const __m128i *) x);

	return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

TEMPLATE Words
words_load(const uint8 *x)
{
	return (Words) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *) x));
}

TEMPLATE void
floats_to_bytes(uint8 *bytes, const Floats *x)
{
	const Floats most = FloatsAll(255); /* packing makes 0 of what is below */
	__m256i		words = _mm256_packus_epi32(_mm256_cvttps_epi32(_mm256_min_ps(most, x[0])),
											_mm256_cvttps_epi32(_mm256_min_ps(most, x[1])));

	words = _mm256_permute4x64_epi64(words, 0xD8);
	_mm_storeu_si128((__m128i *) bytes,
					 _mm_packus_epi16(_mm256_castsi256_si128(words),
									  _mm256_extracti128_si256(words, 1)));
}

#endif							/* ECP_HAVE_X86_KERNELS */

#endif							/* VECTOR_KERNELS_AVX2_H */
