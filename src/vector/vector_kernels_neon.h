/*-------------------------------------------------------------------------
 *
 * vector_kernels_neon.h
 *	  NEON's registers, and what the kernels' templates do with them.
 *
 * See vector_kernels_floats.h for what each function is to do.  A register is
 * 4 lanes of 4 bytes.  This is for two sets: if DOTPROD is defined, for the one
 * whose CPUs multiply bytes (Armv8.2, Neoverse N1, Apple M1 and later).
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_NEON_H
#define VECTOR_KERNELS_NEON_H

#include "vector/vector_kernels.h"

#ifdef ECP_HAVE_NEON_KERNELS

#include <arm_neon.h>

#ifndef DOTPROD
#define KERNELS			ecp_kernels_neon
#define KERNELS_NAME	"neon"
#define TARGET
#else
#define KERNELS			ecp_kernels_dotprod
#define KERNELS_NAME	"dotprod"
#if defined(__ARM_FEATURE_DOTPROD)
#define TARGET
#elif defined(__clang__)
#define TARGET			__attribute__((target("dotprod")))
#else
#define TARGET			__attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#endif
#define TEMPLATE		static inline __attribute__((always_inline)) TARGET

#define WIDTH			16

/* Tiles of a panel; sums of bytes take two registers each without dotprod. */
#define TILE_BLOCKS		1
#ifdef DOTPROD
#define U8_VECTORS		4
#else
#define U8_VECTORS		2
#endif
#define F32_VECTORS		4

typedef float32x4_t Floats;
typedef float64x2_t Doubles;
typedef int32x4_t Ints;
typedef uint16x8_t Words;
typedef uint32x4_t Mask;

#define LANE_NUMBERS	((Ints) {0, 1, 2, 3})
#define FloatsAll(x)	vdupq_n_f32(x)
#define DoublesAll(x)	vdupq_n_f64(x)

/* ---- ends of arrays ---- */

TEMPLATE Mask
first_lanes(int n)
{
	return vcltq_s32(LANE_NUMBERS, vdupq_n_s32(n));
}

TEMPLATE Floats
floats_load_some(const float4 *x, int n)
{
	float4		padded[4] = {0};

	for (int i = 0; i < Min(n, 4); i++)
		padded[i] = x[i];
	return vld1q_f32(padded);
}

TEMPLATE void
floats_store_some(float4 *x, Floats floats, int n)
{
	for (int i = 0; i < Min(n, 4); i++)
		x[i] = floats[i];
}

/* ---- floats ---- */

TEMPLATE Floats
multiply_add(Floats x, Floats y, Floats sum)
{
	return vfmaq_f32(sum, x, y);
}

TEMPLATE Floats
multiply_subtract(Floats x, Floats y, Floats sum)
{
	return vfmsq_f32(sum, x, y);
}

TEMPLATE float4
lanes_sum(Floats x)
{
	float32x2_t pair = vadd_f32(vget_low_f32(x), vget_high_f32(x));

	return vget_lane_f32(pair, 0) + vget_lane_f32(pair, 1);
}

TEMPLATE Floats
lanes_swap(Floats x, int distance)
{
	return distance == 1 ? vrev64q_f32(x) : vextq_f32(x, x, 2);
}

TEMPLATE Floats
halves_load(const uint16 *x)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x)));
}

TEMPLATE Floats
halves_load_some(const uint16 *x, int n)
{
	uint16		padded[4] = {0};

	for (int i = 0; i < Min(n, 4); i++)
		padded[i] = x[i];
	return halves_load(padded);
}

TEMPLATE void
halves_store(uint16 *x, Floats floats)
{
	vst1_u16(x, vreinterpret_u16_f16(vcvt_f16_f32(floats)));
}

TEMPLATE void
halves_store_some(uint16 *x, Floats floats, int n)
{
	uint16		halves[4];

	halves_store(halves, floats);
	memcpy(x, halves, n * sizeof(uint16));
}

TEMPLATE Doubles
doubles_load(const float4 *x)
{
	return vcvt_f64_f32(vld1_f32(x));
}

TEMPLATE void
doubles_store(float4 *x, Doubles doubles)
{
	vst1_f32(x, vcvt_f32_f64(doubles));
}

/* ---- comparisons ---- */

TEMPLATE Mask
floats_less(Floats x, Floats y)
{
	return vcltq_f32(x, y);
}

TEMPLATE Mask
floats_not_above(Floats x, Floats y)
{
	return vmvnq_u32(vcgtq_f32(x, y));
}

TEMPLATE uint32
doubles_not_above(Doubles x, Doubles y)
{
	uint64x2_t	above = vcgtq_f64(x, y);

	return (~vgetq_lane_u64(above, 0) & 1) | (~vgetq_lane_u64(above, 1) & 2);
}

TEMPLATE Mask
ints_less(Ints x, Ints y)
{
	return vcltq_s32(x, y);
}

TEMPLATE uint32
mask_bits(Mask mask)
{
	const Mask	bits = {1, 2, 4, 8};

	return vaddvq_u32(vandq_u32(mask, bits));
}

TEMPLATE Ints
mask_select(Mask mask, Ints x, Ints y)
{
	return vbslq_s32(mask, x, y);
}

/* ---- bytes of floats ---- */

TEMPLATE Floats
bytes_to_floats(const uint8 *x)
{
	uint32		bytes;

	memcpy(&bytes, x, sizeof(bytes));
	return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes)))));
}

TEMPLATE Words
words_load(const uint8 *x)
{
	return vmovl_u8(vld1_u8(x));
}

TEMPLATE void
floats_to_bytes(uint8 *bytes, const Floats *x)
{
	uint16x8_t	low = vcombine_u16(vqmovn_u32(vcvtq_u32_f32(x[0])),
								   vqmovn_u32(vcvtq_u32_f32(x[1])));
	uint16x8_t	high = vcombine_u16(vqmovn_u32(vcvtq_u32_f32(x[2])),
									vqmovn_u32(vcvtq_u32_f32(x[3])));

	vst1q_u8(bytes, vcombine_u8(vqmovn_u16(low), vqmovn_u16(high)));
}

#endif							/* ECP_HAVE_NEON_KERNELS */

#endif							/* VECTOR_KERNELS_NEON_H */
