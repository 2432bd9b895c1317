/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx512.c
 *	  Kernels for AVX-512 with VNNI (Ice Lake, Zen 4 and later): its registers, of
 *	  16 lanes of 4 bytes, and what the templates do with them.
 *
 * See vector_kernels_floats.h and vector_kernels_bytes.h for what each function or
 * macro is to do.  Ends of rows and of lists are read and written under a mask.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

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

/* Registers of slots that are compared with a query, and queries at a time. */
#define SLOT_REGS		4
#define PASS_VECTORS	4

typedef __m512 Floats;
typedef __m512d Doubles;
typedef int32 Ints __attribute__((vector_size(WIDTH)));
typedef uint16 Words __attribute__((vector_size(WIDTH)));
typedef uint8 Bytes __attribute__((vector_size(WIDTH)));
typedef int32 Four __attribute__((vector_size(16)));
typedef __mmask16 Mask;

#define LANE_NUMBERS	((Ints) {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})

/* Registers as intrinsics have them; unaligned memory. */
#define M(x)			((__m512i) (x))
#define LowHalf(x)		_mm512_castsi512_si256(M(x))
#define HighHalf(x)		_mm512_extracti64x4_epi64(M(x), 1)
#define LoadHalf(p)		_mm256_loadu_si256((const __m256i *) (p))
#define LoadQuarter(p)	_mm_loadu_si128((const __m128i *) (p))

static bool
kernels_supported(void)
{
	/* checks what the operating system saves and restores, too */
	return __builtin_cpu_supports("avx512f") &&
		__builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512vnni") &&
		__builtin_cpu_supports("popcnt");
}

/* ---- floats ---- */

#define FloatsAll(x)	_mm512_set1_ps(x)
#define DoublesAll(x)	_mm512_set1_pd(x)
#define multiply_add(x, y, sum)			_mm512_fmadd_ps(x, y, sum)
#define multiply_subtract(x, y, sum)	_mm512_fnmadd_ps(x, y, sum)
#define floats_sqrt(x)			_mm512_sqrt_ps(x)
#define halves_load(p)			_mm512_cvtph_ps(LoadHalf(p))
#define halves_store(p, x) \
	_mm256_storeu_si256((__m256i *) (p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))
#define doubles_load(p)			_mm512_cvtps_pd(_mm256_loadu_ps(p))
#define doubles_store(p, x)		_mm256_storeu_ps(p, _mm512_cvtpd_ps(x))
#define bytes_to_floats(p)		_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(LoadQuarter(p)))
#define floats_to_bytes(p, x) \
	_mm_storeu_si128((__m128i *) (p), \
					 _mm512_cvtusepi32_epi8(_mm512_cvttps_epu32(_mm512_max_ps((x)[0], FloatsAll(0)))))

#define first_lanes(n)	((Mask) ((n) >= 16 ? 0xFFFF : (1U << (n)) - 1))
#define floats_load_some(p, n)	_mm512_maskz_loadu_ps(first_lanes(n), p)
#define floats_store_some(p, x, n)	_mm512_mask_storeu_ps(p, first_lanes(n), x)
#define halves_load_some(p, n)	_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p))
#define halves_store_some(p, x, n) \
	_mm256_mask_storeu_epi16(p, first_lanes(n), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))

#define floats_less(x, y)		_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ)
#define floats_not_above(x, y)	_mm512_cmp_ps_mask(x, y, _CMP_NGT_UQ)
#define doubles_not_above(x, y)	_mm512_cmp_pd_mask(x, y, _CMP_NGT_UQ)
#define ints_less(x, y)			_mm512_cmplt_epi32_mask(M(x), M(y))
#define ints_not_below_zero(x)	((Ints) _mm512_max_epi32(M(x), _mm512_setzero_si512()))
#define mask_bits(mask)			((uint32) (mask))
#define mask_select(mask, x, y)	((Ints) _mm512_mask_mov_epi32(M(y), mask, M(x)))

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

/* ---- bytes ---- */

/* The first n of 64 bytes. */
#define ByteMask(n)		((__mmask64) EcpLowBits(n))

#define words_load(p)			((Words) _mm512_cvtepu8_epi16(LoadHalf(p)))
#define bytes_load_some(row, i, dims) \
	((Bytes) _mm512_maskz_loadu_epi8(ByteMask((int) ((dims) - (i))), (row) + (i)))
#define bytes_store_some(p, x, n)	_mm512_mask_storeu_epi8(p, ByteMask((int) (n)), M(x))
#define bytes_sum(sum, x)		((sum) + (Ints) _mm512_sad_epu8(M(x), _mm512_setzero_si512()))
#define bytes_differ(x, y) \
	((Bytes) (_mm512_subs_epu8(M(x), M(y)) | _mm512_subs_epu8(M(y), M(x))))
#define table_load(p)			((Bytes) _mm512_broadcast_i32x4(LoadQuarter(p)))
#define table_lookup(table, x)	((Bytes) _mm512_shuffle_epi8(M(table), M(x)))

/* ---- products of bytes ---- */

TEMPLATE Ints
products_add(Ints sum, Bytes x, Bytes y)
{
	const __m512i zero = _mm512_setzero_si512();
	__m512i		low = _mm512_dpwssd_epi32(M(sum), _mm512_unpacklo_epi8(M(x), zero),
										  _mm512_unpacklo_epi8(M(y), zero));

	return (Ints) _mm512_dpwssd_epi32(low, _mm512_unpackhi_epi8(M(x), zero),
									  _mm512_unpackhi_epi8(M(y), zero));
}

typedef Ints DotSum;
typedef Bytes DotRow;
typedef Ints DotQuery;

#define DOT_ZERO		((Ints) {0})
#define dot_sum(sum)	(*(sum))
#define dot_rest(vector, dims)	0
#define dot_row(x)		(x)
#define dot_query(group)	((DotQuery) _mm512_set1_epi32(*(const int32 *) (group)))

/*
 * vpdpbusd multiplies 64 unsigned with 64 signed bytes and adds each four products
 * to a lane, without saturation; it is why queries are kept as q - 128.  In assembly
 * because gcc 12 gives the intrinsic's result another register than its operand,
 * and then spills half a tile.
 */
#define dot_add(sum, x, q) \
	__asm__("vpdpbusd %2, %1, %0" : "+v"(*(sum)) : "v"(x), "v"(q))

#define ROW_BYTES		WIDTH

typedef Bytes RowBytes;

#define row_load(p)		BytesLoad(p)
#define row_load_some(row, i, dims)	bytes_load_some(row, i, dims)
#define row_query(p)	BytesLoad(p)
#define row_dot(sum, x, q)	dot_add(sum, x, q)

typedef Ints SmallSum;

#define SMALL_ZERO		DOT_ZERO
#define small_sum(small)	(*(small))
#define small_add(small, x, q)	dot_add(small, x, q)
#define small_flush(small)	((void) 0)

/* ---- sums of lanes ---- */

#define ints_sum(x)		_mm512_reduce_add_epi32(M(x))
#define four_store_doubles(p, x)	_mm256_storeu_pd(p, _mm256_cvtepi32_pd((__m128i) (x)))

TEMPLATE Four
quarters_sum(Ints x)
{
	__m256i		half = _mm256_add_epi32(LowHalf(x), HighHalf(x));

	return (Four) _mm256_castsi256_si128(half) + (Four) _mm256_extracti128_si256(half, 1);
}

TEMPLATE Ints
four_rows(const Ints *sums)
{
	Ints		a = (Ints) _mm512_unpacklo_epi32(M(sums[0]), M(sums[1])) +
		(Ints) _mm512_unpackhi_epi32(M(sums[0]), M(sums[1]));
	Ints		b = (Ints) _mm512_unpacklo_epi32(M(sums[2]), M(sums[3])) +
		(Ints) _mm512_unpackhi_epi32(M(sums[2]), M(sums[3]));

	return (Ints) _mm512_unpacklo_epi64(M(a), M(b)) + (Ints) _mm512_unpackhi_epi64(M(a), M(b));
}

/* The even quarters of two such registers, and the odd ones, added. */
TEMPLATE Ints
add_quarters(Ints a, Ints b)
{
	return (Ints) _mm512_shuffle_i32x4(M(a), M(b), 0x88) +
		(Ints) _mm512_shuffle_i32x4(M(a), M(b), 0xDD);
}

TEMPLATE Ints
fours_join(const Ints *fours)
{
	return add_quarters(add_quarters(fours[0], fours[1]),
						add_quarters(fours[2], fours[3]));
}

TEMPLATE void
ints_store_doubles(float8 *x, Ints ints)
{
	_mm512_storeu_pd(x, _mm512_cvtepi32_pd(LowHalf(ints)));
	_mm512_storeu_pd(x + 8, _mm512_cvtepi32_pd(HighHalf(ints)));
}

TEMPLATE void
ints_store_doubles_some(float8 *x, Ints ints, int n)
{
	Mask		mask = first_lanes(n);

	_mm512_mask_storeu_pd(x, (__mmask8) mask, _mm512_cvtepi32_pd(LowHalf(ints)));
	_mm512_mask_storeu_pd(x + 8, (__mmask8) (mask >> 8), _mm512_cvtepi32_pd(HighHalf(ints)));
}

/* The halves of a register of 16 bits, as 32 bits and added. */
#define add_halves(x) \
	_mm512_add_epi32(_mm512_cvtepu16_epi32(LowHalf(x)), _mm512_cvtepu16_epi32(HighHalf(x)))

TEMPLATE void
code_sums(Words even, Words odd, Ints *sums)
{
	__m512i		low = add_halves(_mm512_unpacklo_epi16(M(even), M(odd)));
	__m512i		high = add_halves(_mm512_unpackhi_epi16(M(even), M(odd)));

	sums[0] += (Ints) _mm512_shuffle_i64x2(low, high, 0x44) +
		(Ints) _mm512_shuffle_i64x2(low, high, 0xEE);
}

/* The first CPUs with all the other instructions lack this one. */
#define TARGET_POPCNT	__attribute__((target("avx512f,avx512bw,avx512vpopcntdq")))

static inline __attribute__((always_inline)) TARGET_POPCNT
void
bit_long_ranks(const uint8 *query, int bytes, const uint8 *rows, Size stride,
			   int n, bool jaccard, float8 *ranks)
{
	for (int r = 0; r < n; r++, rows += stride)
	{
		__m512i		count = _mm512_setzero_si512();
		int64		sum;

		for (int i = 0; i < bytes; i += 64)
		{
			__mmask64	mask = ByteMask(bytes - i);
			__m512i		x = _mm512_maskz_loadu_epi8(mask, rows + i);
			__m512i		q = _mm512_maskz_loadu_epi8(mask, query + i);

			count = _mm512_add_epi64(count, _mm512_popcnt_epi64(_mm512_xor_si512(x, q)));
			if (jaccard)		/* in the upper half of the same sum */
				count = _mm512_add_epi64(count,
										 _mm512_slli_epi64(_mm512_popcnt_epi64(_mm512_and_si512(x, q)), 32));
		}
		sum = _mm512_reduce_add_epi64(count);
		ranks[r] = jaccard ? ecp_jaccard(sum >> 32, (sum >> 32) + (int32) sum) : (int32) sum;
	}
}

static TARGET_POPCNT void
bit_hamming_long_rows(const uint8 *query, int bytes, const uint8 *rows, Size stride,
					  int n, float8 *ranks)
{
	bit_long_ranks(query, bytes, rows, stride, n, false, ranks);
}

static TARGET_POPCNT void
bit_jaccard_long_rows(const uint8 *query, int bytes, const uint8 *rows, Size stride,
					  int n, float8 *ranks)
{
	bit_long_ranks(query, bytes, rows, stride, n, true, ranks);
}

static inline __attribute__((always_inline)) __attribute__((target("popcnt")))
void
bit_ranks(const uint8 *query, int bytes, const uint8 *rows, Size stride, int n,
		  bool jaccard, float8 *ranks)
{
	EcpBitRanks long_rows = jaccard ? bit_jaccard_long_rows : bit_hamming_long_rows;

	/* adding up the lanes at the end costs as much as counting 64 bytes */
	if (bytes >= 128 && __builtin_cpu_supports("avx512vpopcntdq"))
		long_rows(query, bytes, rows, stride, n, ranks);
	else
		ecp_bit_ranks(query, bytes, rows, stride, n, jaccard, ranks);
}

EcpBitRows(__attribute__((target("popcnt"))), bit_ranks)

#include "vector/vector_kernels_floats.h"
#include "vector/vector_kernels_bytes.h"

#endif							/* ECP_HAVE_X86_KERNELS */
