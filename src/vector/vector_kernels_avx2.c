/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx2.c
 *	  Kernels for AVX2 with FMA and F16C (Haswell, Zen and later).
 *
 * One register is 8 lanes of 4 bytes, so 16 lanes are two registers.  AVX2's
 * multiplication of unsigned with signed bytes saturates; here the bytes of
 * a group are widened to 16 bits instead, the even and the odd ones by a
 * mask and a shift, and multiplied by vpmaddwd, which cannot overflow.
 *
 * Panels: a tile of 3 (uint8) or 4 vectors x 1 block of 16 leaders keeps its
 * sums, two registers a vector, in the 16 registers.  See
 * vector_kernels_avx512.h for tiles and for why the target is an attribute.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_codes.h"
#include "vector/vector_kernels_avx2_u8.h"

#ifdef ECP_HAVE_X86_KERNELS

#include <cpuid.h>

/* Registers of slots that rank_slots() works on at a time. */
#define SLOT_BLOCKS		4

/* A uint8 query's group as 16-bit elements: 0 and 2, 1 and 3. */
typedef struct GroupPairs
{
	__m256i		even;
	__m256i		odd;
} GroupPairs;

static bool
avx2_supported(void)
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

/* ---- uint8 ---- */

/* Up to 16 bytes of a row, followed by zeros. */
TEMPLATE __m128i
load_bytes(const uint8 *bytes, int n)
{
	uint8		padded[16] = {0};

	if (n >= 16)
		return _mm_loadu_si128((const __m128i *) bytes);

	for (int i = 0; i < n; i++)
		padded[i] = bytes[i];
	return _mm_loadu_si128((const __m128i *) padded);
}

static TARGET void
avx2_u8_prepare(const uint8 *elements, int dims, int8 *shifted,
				int32 *sum, int32 *norm2)
{
	int			padded = EcpGroups(dims) * ECP_GROUP;
	__m256i		sums = _mm256_setzero_si256();
	__m256i		squares = _mm256_setzero_si256();

	for (int i = 0; i < dims; i += 16)
	{
		__m128i		bytes = load_bytes(elements + i, dims - i);
		__m256i		x = _mm256_cvtepu8_epi16(bytes);

		sums = _mm256_add_epi32(sums, _mm256_madd_epi16(x, _mm256_set1_epi16(1)));
		squares = _mm256_add_epi32(squares, _mm256_madd_epi16(x, x));

		if (shifted && dims - i >= 16)
			_mm_storeu_si128((__m128i *) (shifted + i),
							 _mm_sub_epi8(bytes, _mm_set1_epi8(-128)));
		else if (shifted)
		{
			for (int d = i; d < padded; d++)
				shifted[d] = (d < dims) ? (int8) (elements[d] - 128) : 0;
		}
	}

	*sum = add_lanes_i32(sums);
	*norm2 = add_lanes_i32(squares);
}

static TARGET void
avx2_u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
				  const int32 *factor, int n, float8 *ranks)
{
	for (int first = 0; first < n; first += ROWS)
	{
		const uint8 *row[ROWS];
		__m256i		sums[ROWS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
			sums[r] = _mm256_setzero_si256();
		}

		for (int i = 0; i < query->dims; i += 16)
		{
			__m256i		q = _mm256_cvtepi8_epi16(_mm_load_si128((const __m128i *) (query->elements + i)));

#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
			{
				__m256i		x = _mm256_cvtepu8_epi16(load_bytes(row[r] + i, query->dims - i));

				sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(x, q));
			}
		}

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			if (first + r < n)
				ranks[first + r] = query->base +
					query->factor_times * factor[first + r] +
					query->dot_times * add_lanes_i32(sums[r]);
		}
	}
}

/* The pairs of a group whose four elements are the bytes of "group". */
TEMPLATE GroupPairs
group_pairs(const int8 *group)
{
	__m256i		q = _mm256_set1_epi32(*(const int32 *) group);
	GroupPairs	result;

	result.even = _mm256_srai_epi16(_mm256_slli_epi16(q, 8), 8);
	result.odd = _mm256_srai_epi16(q, 8);
	return result;
}

/* Add the inner products of 8 groups of unsigned bytes with "pairs". */
TEMPLATE __m256i
add_group(__m256i sum, __m256i even, __m256i odd, const GroupPairs *pairs)
{
	return _mm256_add_epi32(sum,
							_mm256_add_epi32(_mm256_madd_epi16(even, pairs->even),
											 _mm256_madd_epi16(odd, pairs->odd)));
}

/* Eight ranks as doubles. */
TEMPLATE void
store_ranks(float8 *ranks, __m256i rank)
{
	_mm256_storeu_pd(ranks, _mm256_cvtepi32_pd(_mm256_castsi256_si128(rank)));
	_mm256_storeu_pd(ranks + 4,
					 _mm256_cvtepi32_pd(_mm256_extracti128_si256(rank, 1)));
}

/* nblocks is a constant where this is expanded. */
TEMPLATE void
rank_slots(const EcpU8Query *query, const uint8 *columns, int nslots,
		   const int32 *factor, int first, int count, int nblocks,
		   float8 *ranks)
{
	int			ngroups = EcpGroups(query->dims);
	const int32 *column = (const int32 *) columns + first;
	__m256i		low_bytes = _mm256_set1_epi16(0xFF);
	__m256i		last = lane_mask(count - (nblocks - 1) * 8);
	__m256i		sums[SLOT_BLOCKS];

#pragma GCC unroll 4
	for (int b = 0; b < nblocks; b++)
		sums[b] = _mm256_setzero_si256();

	for (int g = 0; g < ngroups; g++)
	{
		GroupPairs	pairs = group_pairs(query->elements + g * ECP_GROUP);

#pragma GCC unroll 4
		for (int b = 0; b < nblocks; b++)
		{
			__m256i		x = (b < nblocks - 1) ?
				_mm256_loadu_si256((const __m256i *) (column + b * 8)) :
				_mm256_maskload_epi32(column + b * 8, last);

			sums[b] = add_group(sums[b], _mm256_and_si256(x, low_bytes),
								_mm256_srli_epi16(x, 8), &pairs);
		}
		column += nslots;
	}

#pragma GCC unroll 4
	for (int b = 0; b < nblocks; b++)
	{
		int			slot = first + b * 8;
		__m256i		live = (b < nblocks - 1) ? _mm256_set1_epi32(-1) : last;
		__m256i		rank = _mm256_mullo_epi32(_mm256_maskload_epi32(factor + slot, live),
											  _mm256_set1_epi32(query->factor_times));

		rank = _mm256_add_epi32(rank, _mm256_mullo_epi32(sums[b],
														 _mm256_set1_epi32(query->dot_times)));
		rank = _mm256_add_epi32(rank, _mm256_set1_epi32(query->base));
		if (b < nblocks - 1)
			store_ranks(ranks + slot, rank);
		else
		{
			float8		block[8];

			/* storing by a mask takes as long as all the rest on some CPUs */
			store_ranks(block, rank);
			memcpy(ranks + slot, block, (count - b * 8) * sizeof(float8));
		}
	}
}

static TARGET void
avx2_u8_rank_columns(const EcpU8Query *query, const uint8 *columns,
					 int nslots, const int32 *factor, int n, float8 *ranks)
{
	for (int first = 0; first < n; first += SLOT_BLOCKS * 8)
	{
		int			count = Min(n - first, SLOT_BLOCKS * 8);

		switch ((count + 7) / 8)
		{
			case 1:
				rank_slots(query, columns, nslots, factor, first, count, 1,
						   ranks);
				break;
			case 2:
				rank_slots(query, columns, nslots, factor, first, count, 2,
						   ranks);
				break;
			case 3:
				rank_slots(query, columns, nslots, factor, first, count, 3,
						   ranks);
				break;
			default:
				rank_slots(query, columns, nslots, factor, first, count, 4,
						   ranks);
				break;
		}
	}
}

static TARGET void
avx2_u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	__m256i		aa = _mm256_setzero_si256();
	__m256i		ab = _mm256_setzero_si256();
	__m256i		bb = _mm256_setzero_si256();

	for (int i = 0; i < dims; i += 16)
	{
		__m256i		x = _mm256_cvtepu8_epi16(load_bytes(a + i, dims - i));
		__m256i		y = _mm256_cvtepu8_epi16(load_bytes(b + i, dims - i));

		aa = _mm256_add_epi32(aa, _mm256_madd_epi16(x, x));
		ab = _mm256_add_epi32(ab, _mm256_madd_epi16(x, y));
		bb = _mm256_add_epi32(bb, _mm256_madd_epi16(y, y));
	}

	sums->aa = add_lanes_i32(aa);
	sums->ab = add_lanes_i32(ab);
	sums->bb = add_lanes_i32(bb);
}

/* Inner products of nvectors (a constant) vectors with 16 leaders. */
TEMPLATE void
u8_tile(const int8 *const *vector, const uint8 *block, int ngroups,
		int nvectors, __m256i sums[][2])
{
	__m256i		low_bytes = _mm256_set1_epi16(0xFF);

#pragma GCC unroll 4
	for (int v = 0; v < nvectors; v++)
		sums[v][0] = sums[v][1] = _mm256_setzero_si256();

	for (int g = 0; g < ngroups; g++)
	{
		__m256i		x0 = _mm256_load_si256((const __m256i *) (block + g * 64));
		__m256i		x1 = _mm256_load_si256((const __m256i *) (block + g * 64 + 32));
		__m256i		even0 = _mm256_and_si256(x0, low_bytes);
		__m256i		even1 = _mm256_and_si256(x1, low_bytes);
		__m256i		odd0 = _mm256_srli_epi16(x0, 8);
		__m256i		odd1 = _mm256_srli_epi16(x1, 8);

#pragma GCC unroll 4
		for (int v = 0; v < nvectors; v++)
		{
			GroupPairs	pairs = group_pairs(vector[v] + g * ECP_GROUP);

			sums[v][0] = add_group(sums[v][0], even0, odd0, &pairs);
			sums[v][1] = add_group(sums[v][1], even1, odd1, &pairs);
		}
	}
}

static TARGET void
avx2_u8_panel_rank(const EcpPanelView *panel, const int8 *vector, int first,
				   int n, int32 *ranks)
{
	int			ngroups = EcpGroups(panel->dims);
	__m128i		shift = _mm_cvtsi32_si128(panel->shift);

	for (int done = 0; done < n; done += 16)
	{
		const uint8 *block = (const uint8 *) panel->data +
			(first + done) / 16 * (Size) ngroups * 64;
		const int32 *factor = panel->factors + first + done;
		__m256i		sums[1][2];
		__m256i		rank[2];

		u8_tile(&vector, block, ngroups, 1, sums);
		for (int h = 0; h < 2; h++)
			rank[h] = _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *) factor + h),
									   _mm256_sll_epi32(sums[0][h], shift));
		if (n - done >= 16)
			memcpy(ranks + done, rank, sizeof(rank));
		else
			memcpy(ranks + done, rank, (n - done) * sizeof(int32));
	}
}

static TARGET void
avx2_u8_panel_nearest(const EcpPanelView *panel, int n, const int8 *vectors,
					  Size stride, int nvectors, int32 *leaders,
					  int32 *ranks)
{
	int			ngroups = EcpGroups(panel->dims);
	int			nblocks = (n + 15) / 16;
	__m128i		shift = _mm_cvtsi32_si128(panel->shift);
	__m256i		best[ECP_PANEL_VECTORS][2];
	__m256i		best_block[ECP_PANEL_VECTORS][2];

	for (int v = 0; v < nvectors; v++)
	{
		best[v][0] = best[v][1] = _mm256_set1_epi32(PG_INT32_MAX);
		best_block[v][0] = best_block[v][1] = _mm256_setzero_si256();
	}

	for (int b = 0; b < nblocks; b++)
	{
		const uint8 *block = (const uint8 *) panel->data + b * (Size) ngroups * 64;
		const __m256i *factor = (const __m256i *) (panel->factors + b * 16);

		for (int done = 0; done < nvectors; done += U8_VECTORS)
		{
			const int8 *vector[U8_VECTORS];
			__m256i		sums[U8_VECTORS][2];

#pragma GCC unroll 4
			for (int v = 0; v < U8_VECTORS; v++)
				vector[v] = vectors + Min(done + v, nvectors - 1) * stride;

			u8_tile(vector, block, ngroups, U8_VECTORS, sums);

#pragma GCC unroll 4
			for (int v = 0; v < U8_VECTORS; v++)
			{
				int			i = Min(done + v, nvectors - 1);

#pragma GCC unroll 2
				for (int h = 0; h < 2; h++)
				{
					__m256i		rank = _mm256_sub_epi32(factor[h],
														_mm256_sll_epi32(sums[v][h], shift));
					__m256i		better = _mm256_and_si256(lane_mask(n - b * 16 - h * 8),
														  _mm256_cmpgt_epi32(best[i][h], rank));

					best[i][h] = _mm256_blendv_epi8(best[i][h], rank, better);
					best_block[i][h] = _mm256_blendv_epi8(best_block[i][h],
														  _mm256_set1_epi32(b), better);
				}
			}
		}
	}

	for (int v = 0; v < nvectors; v++)
		EcpLanesNearest((const int32 *) best[v], (const int32 *) best_block[v],
						leaders[v], ranks[v]);
}

/* ---- bits ---- */

static TARGET void
avx2_bit_rank_rows(const uint8 *query, int bytes, const uint8 *rows,
				   Size stride, int n, float8 *ranks)
{
	for (int r = 0; r < n; r++)
		ranks[r] = ecp_bits_differ_expand(query, rows + r * stride, bytes);
}

/* ---- float32 ---- */

/* ---- codes ---- */

/* A plane of bits: 32 bytes from i on, with zeros behind the last. */
TEMPLATE __m256i
load_plane(const uint8 *row, int i, int bytes)
{
	uint8		padded[32] = {0};

	if (i + 32 <= bytes)
		return _mm256_loadu_si256((const __m256i *) (row + i));
	if (i + 16 == bytes)
		return _mm256_setr_m128i(_mm_loadu_si128((const __m128i *) (row + i)),
								 _mm_setzero_si128());
	memcpy(padded, row + i, bytes - i);
	return _mm256_loadu_si256((const __m256i *) padded);
}

/* Eight sums of two elements of a query, each at most 128, fit 16 bits by far. */
static TARGET void
avx2_plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride,
				int n, int32 *dots)
{
	const __m256i one = _mm256_set1_epi8(1);
	int			part = EcpPlanePadded(bytes);

	for (int first = 0; first < n; first += ROWS)
	{
		const uint8 *row[ROWS];
		__m256i		sums[ROWS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
			sums[r] = _mm256_setzero_si256();
		}
		for (int i = 0; i < bytes; i += 32)
		{
			__m256i		x[ROWS];
			__m256i		some[ROWS];

#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
			{
				x[r] = load_plane(row[r], i, bytes);
				some[r] = _mm256_setzero_si256();
			}
#pragma GCC unroll 8
			for (int j = 0; j < 8; j++)
			{
				__m256i		q = _mm256_load_si256((const __m256i *) (query + j * part + i));

#pragma GCC unroll 4
				for (int r = 0; r < ROWS; r++)
				{
					__m256i		bits = _mm256_and_si256(_mm256_srli_epi16(x[r], j), one);

					some[r] = _mm256_add_epi16(some[r], _mm256_maddubs_epi16(bits, q));
				}
			}
#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
				sums[r] = _mm256_add_epi32(sums[r],
										   _mm256_madd_epi16(some[r], _mm256_set1_epi16(1)));
		}
		for (int r = 0; r < Min(n - first, ROWS); r++)
			dots[first + r] = add_lanes_i32(sums[r]);
	}
}

/* Bounds of 8 rows from their 16-bit sums in two halves of a register. */
TEMPLATE void
store_code_bounds(const EcpCodeScan *scan, __m256i halves, const float4 *add,
				  const float4 *times, const float4 *width, float4 *bounds)
{
	__m256i		wide = _mm256_add_epi32(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(halves)),
										_mm256_cvtepu16_epi32(_mm256_extracti128_si256(halves, 1)));
	__m256		sum = _mm256_fmadd_ps(_mm256_set1_ps(scan->step),
									  _mm256_cvtepi32_ps(wide),
									  _mm256_set1_ps(scan->low));
	__m256		bound = _mm256_add_ps(_mm256_set1_ps(scan->base),
									  _mm256_loadu_ps(add));

	bound = _mm256_fnmadd_ps(_mm256_loadu_ps(times), sum, bound);
	bound = _mm256_fnmadd_ps(_mm256_set1_ps(scan->radius),
							 _mm256_loadu_ps(width), bound);
	_mm256_storeu_ps(bounds, bound);
}

/* A 16-bit sum gets a byte from each second group. */
StaticAssertDecl(ECP_CODE_DIMS_MAX / ECP_GROUP / 2 * PG_UINT8_MAX <= PG_UINT16_MAX,
				 "sums of codes fit 16 bits");

static TARGET void
avx2_code_bounds(const EcpCodeScan *scan, const uint8 *blocks,
				 const float4 *add, const float4 *times,
				 const float4 *width, int nblocks, float4 *bounds)
{
	const __m256i nibble = _mm256_set1_epi8(0x0F);
	int			nbytes = scan->ngroups * 16;

	for (int b = 0; b < nblocks; b++, blocks += nbytes)
	{
		/* 16-bit sums of bytes 2i + 256 * bytes 2i + 1, and of the latter */
		__m256i		both[2];
		__m256i		odd[2];

		for (int h = 0; h < 2; h++)
			both[h] = odd[h] = _mm256_setzero_si256();
		for (int i = 0; i < nbytes; i += 32)
		{
			__m256i		table = _mm256_load_si256((const __m256i *) (scan->tables + i));
			__m256i		codes = _mm256_loadu_si256((const __m256i *) (blocks + i));
			__m256i		x0 = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, nibble));
			__m256i		x1 = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), nibble));

			both[0] = _mm256_add_epi16(both[0], x0);
			both[1] = _mm256_add_epi16(both[1], x1);
			odd[0] = _mm256_add_epi16(odd[0], _mm256_srli_epi16(x0, 8));
			odd[1] = _mm256_add_epi16(odd[1], _mm256_srli_epi16(x1, 8));
		}
		for (int h = 0; h < 2; h++)
		{
			int			row = b * 32 + h * 16;
			__m256i		even = _mm256_sub_epi16(both[h], _mm256_slli_epi16(odd[h], 8));

			store_code_bounds(scan, _mm256_unpacklo_epi16(even, odd[h]),
							  add + row, times + row, width + row,
							  bounds + row);
			store_code_bounds(scan, _mm256_unpackhi_epi16(even, odd[h]),
							  add + row + 8, times + row + 8,
							  width + row + 8, bounds + row + 8);
		}
	}
}

const EcpKernels ecp_kernels_avx2 = {
	.name = "avx2",
	.supported = avx2_supported,
	.u8_prepare = avx2_u8_prepare,
	.u8_rank_rows = avx2_u8_rank_rows,
	.u8_rank_columns = avx2_u8_rank_columns,
	.u8_parts_near = avx2_u8_parts_near,
	.u8_parts_rank = avx2_u8_parts_rank,
	.u8_sums = avx2_u8_sums,
	.bit_rank_rows = avx2_bit_rank_rows,
	.f32_l2_rows = f32_l2_rows,
	.f32_dot_rows = f32_dot_rows,
	.f16_l2_rows = f16_l2_rows,
	.f16_dot_rows = f16_dot_rows,
	.f16_norm2 = f16_norm2,
	.f16_floats = f16_floats,
	.f16_halves = f16_halves,
	.u8_panel_rank = avx2_u8_panel_rank,
	.f32_panel_rank = f32_panel_rank,
	.u8_panel_nearest = avx2_u8_panel_nearest,
	.f32_panel_nearest = f32_panel_nearest,
	.f32_hadamard = f32_hadamard,
	.code_tables = code_tables,
	.f32_signs = f32_signs,
	.u8_floats = u8_floats,
	.u8_add = u8_add,
	.f32_add = f32_add,
	.f32_unit = f32_unit,
	.f32_bytes = f32_bytes,
	.plane_dots = avx2_plane_dots,
	.code_bounds = avx2_code_bounds,
	.f64_passed = f64_passed,
	.f32_passed = f32_passed,
};

#endif							/* ECP_HAVE_X86_KERNELS */
