/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx512.h
 *	  AVX-512's registers, and what the kernels' templates do with them.
 *
 * See vector_kernels_floats.h for what each function is to do.  A register is
 * 16 lanes of 4 bytes.  Ends of rows and of lists are read and written under a
 * mask.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_AVX512_H
#define VECTOR_KERNELS_AVX512_H

#include "vector/vector_kernels.h"

#ifdef ECP_HAVE_X86_KERNELS

#include <immintrin.h>

#define KERNELS			ecp_kernels_avx512
#define KERNELS_NAME	"avx512"
#define TARGET \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define TEMPLATE		static inline __attribute__((always_inline)) TARGET

#define WIDTH			64

/*
 * A tile of 6 vectors x 4 blocks of 16 leaders keeps 24 sums in registers; per
 * step it loads 4 registers of leaders and broadcasts 6 elements of vectors for 24
 * multiply-adds.
 */
#define TILE_BLOCKS		4
#define U8_VECTORS		6
#define F32_VECTORS		6

typedef __m512 Floats;
typedef __m512d Doubles;
typedef int32 Ints __attribute__((vector_size(WIDTH)));
typedef uint16 Words __attribute__((vector_size(WIDTH)));
typedef __mmask16 Mask;

#define LANE_NUMBERS	((Ints) {0, 1, 2, 3, 4, 5, 6, 7, \
								 8, 9, 10, 11, 12, 13, 14, 15})
#define FloatsAll(x)	_mm512_set1_ps(x)
#define DoublesAll(x)	_mm512_set1_pd(x)

/* ---- ends of arrays ---- */

TEMPLATE Mask
first_lanes(int n)
{
	return (Mask) (n >= 16 ? 0xFFFF : (1U << n) - 1);
}

TEMPLATE Floats
floats_load_some(const float4 *x, int n)
{
	return _mm512_maskz_loadu_ps(first_lanes(n), x);
}

TEMPLATE void
floats_store_some(float4 *x, Floats floats, int n)
{
	_mm512_mask_storeu_ps(x, first_lanes(n), floats);
}

/* ---- floats ---- */

TEMPLATE Floats
multiply_add(Floats x, Floats y, Floats sum)
{
	return _mm512_fmadd_ps(x, y, sum);
}

TEMPLATE Floats
multiply_subtract(Floats x, Floats y, Floats sum)
{
	return _mm512_fnmadd_ps(x, y, sum);
}

TEMPLATE float4
lanes_sum(Floats x)
{
	__m256		half = _mm256_add_ps(_mm512_castps512_ps256(x),
									 _mm512_extractf32x8_ps(x, 1));
	__m128		quarter = _mm_add_ps(_mm256_castps256_ps128(half),
									 _mm256_extractf128_ps(half, 1));

	quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
	return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
}

TEMPLATE Floats
lanes_swap(Floats x, int distance)
{
	return distance == 1 ? _mm512_permute_ps(x, 0xB1) :
		distance == 2 ? _mm512_permute_ps(x, 0x4E) :
		distance == 4 ? _mm512_shuffle_f32x4(x, x, 0xB1) :
		_mm512_shuffle_f32x4(x, x, 0x4E);
}

TEMPLATE Floats
halves_load(const uint16 *x)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *) x));
}

TEMPLATE Floats
halves_load_some(const uint16 *x, int n)
{
	return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), x));
}

TEMPLATE void
halves_store(uint16 *x, Floats floats)
{
	_mm256_storeu_si256((__m256i *) x,
						_mm512_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT));
}

TEMPLATE void
halves_store_some(uint16 *x, Floats floats, int n)
{
	_mm256_mask_storeu_epi16(x, first_lanes(n),
							 _mm512_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT));
}

TEMPLATE Doubles
doubles_load(const float4 *x)
{
	return _mm512_cvtps_pd(_mm256_loadu_ps(x));
}

TEMPLATE void
doubles_store(float4 *x, Doubles doubles)
{
	_mm256_storeu_ps(x, _mm512_cvtpd_ps(doubles));
}

/* ---- comparisons ---- */

TEMPLATE Mask
floats_less(Floats x, Floats y)
{
	return _mm512_cmp_ps_mask(x, y, _CMP_LT_OQ);
}

TEMPLATE Mask
floats_not_above(Floats x, Floats y)
{
	return _mm512_cmp_ps_mask(x, y, _CMP_NGT_UQ);
}

TEMPLATE uint32
doubles_not_above(Doubles x, Doubles y)
{
	return _mm512_cmp_pd_mask(x, y, _CMP_NGT_UQ);
}

TEMPLATE Mask
ints_less(Ints x, Ints y)
{
	return _mm512_cmplt_epi32_mask((__m512i) x, (__m512i) y);
}

TEMPLATE uint32
mask_bits(Mask mask)
{
	return mask;
}

TEMPLATE Ints
mask_select(Mask mask, Ints x, Ints y)
{
	return (Ints) _mm512_mask_mov_epi32((__m512i) y, mask, (__m512i) x);
}

/* ---- bytes of floats ---- */

TEMPLATE Floats
bytes_to_floats(const uint8 *x)
{
	__m128i		bytes = _mm_loadu_si128((const __m128i *) x);

	return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

TEMPLATE Words
words_load(const uint8 *x)
{
	return (Words) _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *) x));
}

TEMPLATE void
floats_to_bytes(uint8 *bytes, const Floats *x)
{
	__m512i		ints = _mm512_cvttps_epu32(_mm512_max_ps(x[0], FloatsAll(0)));

	_mm_storeu_si128((__m128i *) bytes, _mm512_cvtusepi32_epi8(ints));
}

#endif							/* ECP_HAVE_X86_KERNELS */

#endif							/* VECTOR_KERNELS_AVX512_H */
