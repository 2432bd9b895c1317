/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx2.c
 *	  Kernels for AVX2 with FMA and F16C (Haswell, Zen and later): its registers,
 *	  of 8 lanes of 4 bytes, and what the templates do with them.
 *
 * See vector_kernels_floats.h and vector_kernels_bytes.h for what each function or
 * macro is to do.  The functions carry their target in an attribute: a file compiled
 * with -mavx2 could leak such code into functions that every CPU runs.
 *
 * AVX2's multiplication of unsigned with signed bytes saturates sums of two
 * products.  Bytes that are small are multiplied so; others are widened to 16
 * bits and multiplied by vpmaddwd, which cannot overflow: those of rows one after
 * the other, those of groups the even and the odd ones by a mask and a shift.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_kernels.h"

#ifdef ECP_HAVE_X86_KERNELS

#include <cpuid.h>
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

/* Registers of slots that are compared with a query. */
#define SLOT_REGS		4

typedef __m256 Floats;
typedef __m256d Doubles;
typedef int32 Ints __attribute__((vector_size(WIDTH)));
typedef uint16 Words __attribute__((vector_size(WIDTH)));
typedef uint8 Bytes __attribute__((vector_size(WIDTH)));
typedef int32 Four __attribute__((vector_size(16)));
typedef Ints Mask;				/* lanes of ones */

#define LANE_NUMBERS	((Ints) {0, 1, 2, 3, 4, 5, 6, 7})

/* Registers as intrinsics have them; unaligned memory. */
#define M(x)			((__m256i) (x))
#define LowHalf(x)		_mm256_castsi256_si128(M(x))
#define HighHalf(x)		_mm256_extracti128_si256(M(x), 1)
#define LoadHalf(p)		_mm_loadu_si128((const __m128i *) (p))

static bool
kernels_supported(void)
{
	unsigned int eax;
	unsigned int ebx;
	unsigned int ecx;
	unsigned int edx;

	/*
	 * The compilers' function checks what the operating system saves and
	 * restores, too, but not all of them know F16C.
	 */
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		__builtin_cpu_supports("popcnt") &&
		__get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

/* ---- floats ---- */

#define FloatsAll(x)	_mm256_set1_ps(x)
#define DoublesAll(x)	_mm256_set1_pd(x)
#define multiply_add(x, y, sum)			_mm256_fmadd_ps(x, y, sum)
#define multiply_subtract(x, y, sum)	_mm256_fnmadd_ps(x, y, sum)
#define floats_sqrt(x)			_mm256_sqrt_ps(x)
#define halves_load(p)			_mm256_cvtph_ps(LoadHalf(p))
#define halves_store(p, x) \
	_mm_storeu_si128((__m128i *) (p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))
#define doubles_load(p)			_mm256_cvtps_pd(_mm_loadu_ps(p))
#define doubles_store(p, x)		_mm_storeu_ps(p, _mm256_cvtpd_ps(x))
#define bytes_to_floats(p) \
	_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *) (p))))

#define first_lanes(n)	((Mask) _mm256_cmpgt_epi32(_mm256_set1_epi32(n), M(LANE_NUMBERS)))
#define floats_load_some(p, n)	_mm256_maskload_ps(p, M(first_lanes(n)))
#define floats_store_some(p, x, n)	_mm256_maskstore_ps(p, M(first_lanes(n)), x)

#define floats_less(x, y)		((Mask) _mm256_cmp_ps(x, y, _CMP_LT_OQ))
#define floats_not_above(x, y)	((Mask) _mm256_cmp_ps(x, y, _CMP_NGT_UQ))
#define doubles_not_above(x, y)	_mm256_movemask_pd(_mm256_cmp_pd(x, y, _CMP_NGT_UQ))
#define ints_less(x, y)			((Mask) _mm256_cmpgt_epi32(M(y), M(x)))
#define ints_not_below_zero(x)	((Ints) _mm256_max_epi32(M(x), _mm256_setzero_si256()))
#define mask_bits(mask)			((uint32) _mm256_movemask_ps((__m256) (mask)))
#define mask_select(mask, x, y)	((Ints) _mm256_blendv_epi8(M(y), M(x), M(mask)))

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
halves_load_some(const uint16 *x, int n)
{
	uint16		padded[8] = {0};

	for (int i = 0; i < Min(n, 8); i++)
		padded[i] = x[i];
	return halves_load(padded);
}

TEMPLATE void
halves_store_some(uint16 *x, Floats floats, int n)
{
	uint16		halves[8];

	halves_store(halves, floats);
	memcpy(x, halves, n * sizeof(uint16));
}

TEMPLATE void
floats_to_bytes(uint8 *bytes, const Floats *x)
{
	const Floats most = FloatsAll(255); /* packing makes 0 of what is below */
	__m256i		words = _mm256_packus_epi32(_mm256_cvttps_epi32(_mm256_min_ps(most, x[0])),
											_mm256_cvttps_epi32(_mm256_min_ps(most, x[1])));

	words = _mm256_permute4x64_epi64(words, 0xD8);
	_mm_storeu_si128((__m128i *) bytes, _mm_packus_epi16(LowHalf(words), HighHalf(words)));
}

/* ---- bytes ---- */

#define words_load(p)			((Words) _mm256_cvtepu8_epi16(LoadHalf(p)))
#define bytes_store_some(p, x, n) \
	do { Bytes bytes_ = (x); memcpy(p, &bytes_, n); } while (0)
#define bytes_sum(sum, x)		((sum) + (Ints) _mm256_sad_epu8(M(x), _mm256_setzero_si256()))
#define bytes_differ(x, y) \
	((Bytes) (_mm256_subs_epu8(M(x), M(y)) | _mm256_subs_epu8(M(y), M(x))))
#define table_load(p)			((Bytes) _mm256_broadcastsi128_si256(LoadHalf(p)))
#define table_lookup(table, x)	((Bytes) _mm256_shuffle_epi8(M(table), M(x)))

/* 16 bytes of a row from i on, with zeros behind its end. */
TEMPLATE __m128i
half_load_some(const uint8 *row, int i, int dims)
{
	uint64		few[2];

	if (i + 16 <= dims)
		return LoadHalf(row + i);
	if (i >= dims)
		return _mm_setzero_si128();
	if (dims < 16)
	{
		ecp_few_bytes(row, dims, few);
		return LoadHalf(few);
	}

	/* the last 16 bytes, moved; numbers from 16 on have their upper bit set */
	return _mm_shuffle_epi8(LoadHalf(row + dims - 16),
							_mm_add_epi8(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
										 _mm_set1_epi8(0x70 + i + 16 - dims)));
}

#define bytes_load_some(row, i, dims) \
	((Bytes) _mm256_setr_m128i(half_load_some(row, i, dims), half_load_some(row, (i) + 16, dims)))

/* ---- products of bytes ---- */

#define add_words(sum, x, y)	((sum) + (Ints) _mm256_madd_epi16(x, y))

TEMPLATE Ints
products_add(Ints sum, Bytes x, Bytes y)
{
	const __m256i zero = _mm256_setzero_si256();

	sum = add_words(sum, _mm256_unpacklo_epi8(M(x), zero), _mm256_unpacklo_epi8(M(y), zero));
	return add_words(sum, _mm256_unpackhi_epi8(M(x), zero), _mm256_unpackhi_epi8(M(y), zero));
}

/* The elements 0 and 2, 1 and 3 of groups, in 16 bits. */
typedef struct DotRow
{
	__m256i		even;
	__m256i		odd;
} DotRow;

typedef DotRow DotQuery;
typedef Ints DotSum;

#define DOT_ZERO		((Ints) {0})
#define dot_sum(sum)	(*(sum))
#define dot_rest(vector, dims)	0

TEMPLATE DotRow
dot_row(Bytes x)
{
	DotRow		row = {M(x) & _mm256_set1_epi16(0xFF), _mm256_srli_epi16(M(x), 8)};

	return row;
}

TEMPLATE DotQuery
dot_query(const int8 *group)
{
	__m256i		q = _mm256_set1_epi32(*(const int32 *) group);
	DotQuery	query = {_mm256_srai_epi16(_mm256_slli_epi16(q, 8), 8), _mm256_srai_epi16(q, 8)};

	return query;
}

TEMPLATE void
dot_add(DotSum *sum, DotRow x, DotQuery q)
{
	*sum += (Ints) _mm256_madd_epi16(x.even, q.even) + (Ints) _mm256_madd_epi16(x.odd, q.odd);
}

#define ROW_BYTES		16

typedef __m256i RowBytes;

#define row_load(p)		_mm256_cvtepu8_epi16(LoadHalf(p))
#define row_load_some(row, i, dims)	_mm256_cvtepu8_epi16(half_load_some(row, i, dims))
#define row_query(p)	_mm256_cvtepi8_epi16(LoadHalf(p))
#define row_dot(sum, x, q)	(*(sum) = add_words(*(sum), x, q))

/* Sums of small bytes fit 16 bits. */
typedef struct SmallSum
{
	Ints		sum;
	Words		words;
} SmallSum;

#define SMALL_ZERO		((SmallSum) {{0}, {0}})
#define small_sum(small)	((small)->sum)
#define small_add(small, x, q)	((small)->words += (Words) _mm256_maddubs_epi16(M(x), M(q)))

TEMPLATE void
small_flush(SmallSum *small)
{
	small->sum = add_words(small->sum, M(small->words), _mm256_set1_epi16(1));
	small->words = (Words)
	{
		0
	};
}

/* ---- sums of lanes ---- */

#define quarters_sum(x)			((Four) LowHalf(x) + (Four) HighHalf(x))
#define four_store_doubles(p, x)	_mm256_storeu_pd(p, _mm256_cvtepi32_pd((__m128i) (x)))

TEMPLATE int32
ints_sum(Ints x)
{
	__m128i		half = (__m128i) quarters_sum(x);

	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(1, 0, 3, 2)));
	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(2, 3, 0, 1)));
	return _mm_cvtsi128_si32(half);
}

TEMPLATE Ints
four_rows(const Ints *sums)
{
	return (Ints) _mm256_hadd_epi32(_mm256_hadd_epi32(M(sums[0]), M(sums[1])),
									_mm256_hadd_epi32(M(sums[2]), M(sums[3])));
}

TEMPLATE Ints
fours_join(const Ints *fours)
{
	return (Ints) _mm256_permute2x128_si256(M(fours[0]), M(fours[1]), 0x20) +
		(Ints) _mm256_permute2x128_si256(M(fours[0]), M(fours[1]), 0x31);
}

TEMPLATE void
ints_store_doubles(float8 *x, Ints ints)
{
	four_store_doubles(x, LowHalf(ints));
	four_store_doubles(x + 4, HighHalf(ints));
}

TEMPLATE void
ints_store_doubles_some(float8 *x, Ints ints, int n)
{
	float8		doubles[8];

	ints_store_doubles(doubles, ints);
	memcpy(x, doubles, n * sizeof(float8));
}

/* The halves of a register of 16 bits, as 32 bits and added. */
#define add_halves(x) \
	((Ints) _mm256_cvtepu16_epi32(LowHalf(x)) + (Ints) _mm256_cvtepu16_epi32(HighHalf(x)))

TEMPLATE void
code_sums(Words even, Words odd, Ints *sums)
{
	sums[0] += add_halves(_mm256_unpacklo_epi16(M(even), M(odd)));
	sums[1] += add_halves(_mm256_unpackhi_epi16(M(even), M(odd)));
}

EcpBitRows(TARGET, ecp_bit_ranks)

#include "vector/vector_kernels_floats.h"
#include "vector/vector_kernels_bytes.h"

#endif							/* ECP_HAVE_X86_KERNELS */
