/*-------------------------------------------------------------------------
 *
 * vector_kernels_neon.h
 *	  NEON's registers, of 4 lanes of 4 bytes, and what the kernels' templates do
 *	  with them.
 *
 * See vector_kernels_floats.h and vector_kernels_bytes.h for what each function or
 * macro is to do.  This is for two sets: if DOTPROD is defined, for the one whose
 * CPUs multiply bytes.
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

/* Registers of slots that are compared with a query, and queries at a time. */
#define SLOT_REGS		8
#define PASS_VECTORS	U8_VECTORS

typedef float32x4_t Floats;
typedef float64x2_t Doubles;
typedef int32x4_t Ints;
typedef uint16x8_t Words;
typedef uint8x16_t Bytes;
typedef Ints Four;
typedef uint32x4_t Mask;

#define LANE_NUMBERS	((Ints) {0, 1, 2, 3})

/* ---- floats ---- */

#define FloatsAll(x)	vdupq_n_f32(x)
#define DoublesAll(x)	vdupq_n_f64(x)
#define multiply_add(x, y, sum)			vfmaq_f32(sum, x, y)
#define multiply_subtract(x, y, sum)	vfmsq_f32(sum, x, y)
#define floats_sqrt(x)			vsqrtq_f32(x)
#define halves_load(p)			vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#define halves_store(p, x)		vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)))
#define doubles_load(p)			vcvt_f64_f32(vld1_f32(p))
#define doubles_store(p, x)		vst1_f32(p, vcvt_f32_f64(x))

#define first_lanes(n)			vcltq_s32(LANE_NUMBERS, vdupq_n_s32(n))
#define floats_less(x, y)		vcltq_f32(x, y)
#define floats_not_above(x, y)	vmvnq_u32(vcgtq_f32(x, y))
#define ints_less(x, y)			vcltq_s32(x, y)
#define ints_not_below_zero(x)	vmaxq_s32(x, vdupq_n_s32(0))
#define mask_bits(mask)			vaddvq_u32(vandq_u32(mask, (Mask) {1, 2, 4, 8}))
#define mask_select(mask, x, y)	vbslq_s32(mask, x, y)

TEMPLATE uint32
doubles_not_above(Doubles x, Doubles y)
{
	uint64x2_t	above = vcgtq_f64(x, y);

	return (~vgetq_lane_u64(above, 0) & 1) | (~vgetq_lane_u64(above, 1) & 2);
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
floats_load_some(const float4 *x, int n)
{
	Floats		floats = vdupq_n_f32(0);

	if (n >= 4)
		return vld1q_f32(x);
	if (n >= 2)
		floats = vcombine_f32(vld1_f32(x), vget_low_f32(floats));
	if (n == 1)
		floats = vld1q_lane_f32(x, floats, 0);
	if (n == 3)
		floats = vld1q_lane_f32(x + 2, floats, 2);
	return floats;
}

TEMPLATE void
floats_store_some(float4 *x, Floats floats, int n)
{
	for (int i = 0; i < Min(n, 4); i++)
		x[i] = floats[i];
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
halves_store_some(uint16 *x, Floats floats, int n)
{
	uint16		halves[4];

	halves_store(halves, floats);
	memcpy(x, halves, n * sizeof(uint16));
}

TEMPLATE Floats
bytes_to_floats(const uint8 *x)
{
	uint32		bytes;

	memcpy(&bytes, x, sizeof(bytes));
	return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes)))));
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

/* ---- bytes ---- */

#define words_load(p)			vmovl_u8(vld1_u8(p))
#define bytes_store_some(p, x, n) \
	do { Bytes bytes_ = (x); memcpy(p, &bytes_, n); } while (0)
#define bytes_sum(sum, x)		((Ints) vpadalq_u16((uint32x4_t) (sum), vpaddlq_u8(x)))
#define bytes_differ(x, y)		vabdq_u8(x, y)
#define table_load(p)			vld1q_u8(p)
#define table_lookup(table, x)	vqtbl1q_u8(table, x)

TEMPLATE Bytes
bytes_load_some(const uint8 *row, int i, int dims)
{
	const Bytes numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	uint64		few[2];

	if (i + 16 <= dims)
		return vld1q_u8(row + i);
	if (dims < 16)
	{
		ecp_few_bytes(row, dims, few);
		return vld1q_u8((const uint8 *) few);
	}

	/* the last 16 bytes, moved; numbers from 16 on stand for zeros */
	return vqtbl1q_u8(vld1q_u8(row + dims - 16),
					  vaddq_u8(numbers, vdupq_n_u8(i + 16 - dims)));
}

/* ---- products of bytes ---- */

/*
 * What multiplies bytes takes two of a kind, so rows are made signed, too:
 *		x(q - 128) = (x - 128)(q - 128) + 128 sum(q - 128)
 * where the last part is the rest.
 */
typedef int8x16_t DotRow;
typedef int8x16_t DotQuery;

#define dot_row(x)		vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(0x80)))
#define dot_query(group)	vreinterpretq_s8_s32(vld1q_dup_s32((const int32 *) (group)))

TEMPLATE int32
dot_rest(const int8 *vector, int dims)
{
	Ints		sum = vdupq_n_s32(0);

	for (int i = 0; i < dims; i += 16)
	{
		Bytes		bytes = bytes_load_some((const uint8 *) vector, i, dims);

		sum = vpadalq_s16(sum, vpaddlq_s8(vreinterpretq_s8_u8(bytes)));
	}
	return vaddvq_s32(sum) * 128;
}

#ifdef DOTPROD

typedef Ints DotSum;

#define DOT_ZERO		((Ints) {0})
#define dot_sum(sum)	(*(sum))

/*
 * In assembly because not every compiler lets a function have the intrinsics
 * because of its attribute.
 */
#define dot_add(sum, x, q) \
	__asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(*(sum)) : "w"(x), "w"(q))

TEMPLATE Ints
products_add(Ints sum, Bytes x, Bytes y)
{
	__asm__("udot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(y));
	return sum;
}

#else

/* Sums of each two bytes, of the lower and the upper half of registers. */
typedef struct DotSum
{
	Ints		low;
	Ints		high;
} DotSum;

#define DOT_ZERO		((DotSum) {{0}, {0}})
#define dot_sum(sum)	vpaddq_s32((sum)->low, (sum)->high)

TEMPLATE void
dot_add(DotSum *sum, DotRow x, DotQuery q)
{
	sum->low = vpadalq_s16(sum->low, vmull_s8(vget_low_s8(x), vget_low_s8(q)));
	sum->high = vpadalq_s16(sum->high, vmull_high_s8(x, q));
}

TEMPLATE Ints
products_add(Ints sum, Bytes x, Bytes y)
{
	uint32x4_t	low = vpadalq_u16((uint32x4_t) sum,
								  vmull_u8(vget_low_u8(x), vget_low_u8(y)));

	return (Ints) vpadalq_u16(low, vmull_high_u8(x, y));
}

#endif

#define ROW_BYTES		WIDTH

typedef DotRow RowBytes;

#define row_load(p)		dot_row(BytesLoad(p))
#define row_load_some(row, i, dims)	dot_row(bytes_load_some(row, i, dims))
#define row_query(p)	((RowBytes) BytesLoad(p))
#define row_dot(sum, x, q)	dot_add(sum, x, q)

typedef DotSum SmallSum;

#define SMALL_ZERO		DOT_ZERO
#define small_sum(small)	dot_sum(small)
#define small_add(small, x, q)	dot_add(small, (DotRow) (x), (DotQuery) (q))
#define small_flush(small)	((void) 0)

/* ---- sums of lanes ---- */

#define ints_sum(x)		vaddvq_s32(x)
#define four_rows(sums) \
	vpaddq_s32(vpaddq_s32((sums)[0], (sums)[1]), vpaddq_s32((sums)[2], (sums)[3]))
#define fours_join(fours)	((fours)[0])
#define quarters_sum(x)		(x)
#define four_store_doubles(p, x)	ints_store_doubles(p, x)

TEMPLATE void
ints_store_doubles(float8 *x, Ints ints)
{
	vst1q_f64(x, vcvtq_f64_s64(vmovl_s32(vget_low_s32(ints))));
	vst1q_f64(x + 2, vcvtq_f64_s64(vmovl_high_s32(ints)));
}

TEMPLATE void
ints_store_doubles_some(float8 *x, Ints ints, int n)
{
	for (int i = 0; i < Min(n, 4); i++)
		x[i] = ints[i];
}

TEMPLATE void
code_sums(Words even, Words odd, Ints *sums)
{
	Words		low = vzip1q_u16(even, odd);
	Words		high = vzip2q_u16(even, odd);

	sums[0] += (Ints) vmovl_u16(vget_low_u16(low));
	sums[1] += (Ints) vmovl_high_u16(low);
	sums[2] += (Ints) vmovl_u16(vget_low_u16(high));
	sums[3] += (Ints) vmovl_high_u16(high);
}

TEMPLATE void
bit_ranks(const uint8 *query, int bytes, const uint8 *rows, Size stride, int n,
		  bool jaccard, float8 *ranks)
{
	for (int r = 0; r < n; r++)
	{
		const uint8 *row = rows + r * stride;
		uint16x8_t	differ = vdupq_n_u16(0);
		uint16x8_t	both = vdupq_n_u16(0);

		/* at most 16 a step: no vector is so long that 16 bits overflow */
		for (int i = 0; i < bytes; i += 16)
		{
			Bytes		x = bytes_load_some(row, i, bytes);
			Bytes		q = bytes_load_some(query, i, bytes);

			differ = vpadalq_u8(differ, vcntq_u8(veorq_u8(x, q)));
			if (jaccard)
				both = vpadalq_u8(both, vcntq_u8(vandq_u8(x, q)));
		}
		ranks[r] = vaddlvq_u16(differ);
		if (jaccard)
			ranks[r] = ecp_jaccard(vaddlvq_u16(both),
								   (int64) vaddlvq_u16(both) + vaddlvq_u16(differ));
	}
}

EcpBitRows(TARGET, bit_ranks)

#endif							/* ECP_HAVE_NEON_KERNELS */

#endif							/* VECTOR_KERNELS_NEON_H */
