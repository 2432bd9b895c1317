/*-------------------------------------------------------------------------
 *
 * vector_kernels_avx512.c
 *	  Kernels for AVX-512 with VNNI (Ice Lake, Zen 4 and later).
 *
 * One register is 16 lanes of 4 bytes.  vpdpbusd multiplies 64 unsigned with
 * 64 signed bytes and adds each four products to a lane, without saturation;
 * it is why queries are kept as q - 128.  Ends of rows and of lists are read
 * and written under a mask, so nothing outside is touched.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_codes.h"
#include "vector/vector_kernels_avx512_u8.h"

#ifdef ECP_HAVE_X86_KERNELS

static bool
avx512_supported(void)
{
	/* checks what the operating system saves and restores, too */
	return __builtin_cpu_supports("avx512f") &&
		__builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512dq") &&
		__builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512vnni") &&
		__builtin_cpu_supports("popcnt");
}

/* ---- uint8 ---- */

static TARGET void
avx512_u8_prepare(const uint8 *elements, int dims, int8 *shifted,
				  int32 *sum, int32 *norm2)
{
	__m512i		sums = _mm512_setzero_si512();
	__m512i		squares = _mm512_setzero_si512();

	for (int i = 0; i < dims; i += 64)
	{
		__mmask64	mask = ByteMask(dims - i);
		__m512i		x = _mm512_maskz_loadu_epi8(mask, elements + i);
		__m512i		low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(x));
		__m512i		high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(x, 1));

		sums = _mm512_add_epi64(sums, _mm512_sad_epu8(x, _mm512_setzero_si512()));
		squares = _mm512_dpwssd_epi32(squares, low, low);
		squares = _mm512_dpwssd_epi32(squares, high, high);

		if (shifted)
			_mm512_mask_storeu_epi8(shifted + i,
									ByteMask(EcpGroups(dims) * ECP_GROUP - i),
									_mm512_maskz_sub_epi8(mask, x, _mm512_set1_epi8(-128)));
	}

	*sum = (int32) _mm512_reduce_add_epi64(sums);
	*norm2 = _mm512_reduce_add_epi32(squares);
}

static TARGET void
avx512_u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
					const int32 *factor, int n, float8 *ranks)
{
	__m128i		base = _mm_set1_epi32(query->base);
	__m128i		factor_times = _mm_set1_epi32(query->factor_times);
	__m128i		dot_times = _mm_set1_epi32(query->dot_times);

	for (int first = 0; first < n; first += ROWS)
	{
		__mmask8	live = (__mmask8) LaneMask(Min(n - first, ROWS));
		const uint8 *row[ROWS];
		__m512i		sums[ROWS];
		__m128i		rank;

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
			sums[r] = _mm512_setzero_si512();
		}

		for (int i = 0; i < query->dims; i += 64)
		{
			__m512i		q = _mm512_load_si512(query->elements + i);
			__mmask64	mask = ByteMask(query->dims - i);

#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
				sums[r] = _mm512_dpbusd_epi32(sums[r],
											  _mm512_maskz_loadu_epi8(mask, row[r] + i),
											  q);
		}

		rank = _mm_mullo_epi32(add_lanes_i32(sums), dot_times);
		rank = _mm_add_epi32(rank, _mm_mullo_epi32(factor_times,
												   _mm_maskz_loadu_epi32(live, factor + first)));
		rank = _mm_add_epi32(rank, base);
		_mm256_mask_storeu_pd(ranks + first, live, _mm256_cvtepi32_pd(rank));
	}
}

static TARGET void
avx512_u8_rank_columns(const EcpU8Query *query, const uint8 *columns,
					   int nslots, const int32 *factor, int n, float8 *ranks)
{
	for (int first = 0; first < n; first += TILE_BLOCKS * 16)
	{
		int			count = Min(n - first, TILE_BLOCKS * 16);

		switch ((count + 15) / 16)
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
avx512_u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	__m512i		aa = _mm512_setzero_si512();
	__m512i		ab = _mm512_setzero_si512();
	__m512i		bb = _mm512_setzero_si512();

	for (int i = 0; i < dims; i += 32)
	{
		__mmask32	mask = (__mmask32) ByteMask(Min(dims - i, 32));
		__m512i		x = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, a + i));
		__m512i		y = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, b + i));

		aa = _mm512_dpwssd_epi32(aa, x, x);
		ab = _mm512_dpwssd_epi32(ab, x, y);
		bb = _mm512_dpwssd_epi32(bb, y, y);
	}

	sums->aa = _mm512_reduce_add_epi32(aa);
	sums->ab = _mm512_reduce_add_epi32(ab);
	sums->bb = _mm512_reduce_add_epi32(bb);
}

static TARGET void
pass_any(const EcpU8Query *const *query, const int32 *limits,
		 const uint8 *columns, int nslots, const int32 *factor, int n,
		 uint64 *passed, int32 *ranks)
{
	switch ((n + 15) / 16)
	{
		case 1:
			pass_slots(query, limits, columns, nslots, factor, n, 1, passed,
					   ranks);
			break;
		case 2:
			pass_slots(query, limits, columns, nslots, factor, n, 2, passed,
					   ranks);
			break;
		case 3:
			pass_slots(query, limits, columns, nslots, factor, n, 3, passed,
					   ranks);
			break;
		default:
			pass_slots(query, limits, columns, nslots, factor, n, 4, passed,
					   ranks);
			break;
	}
}

static TARGET void
avx512_u8_pass_columns(const EcpU8Query *const *queries, int nqueries,
					   const int32 *limits, const uint8 *columns, int nslots,
					   const int32 *factor, int n, uint64 *passed,
					   int32 *ranks)
{
	const EcpU8Query *query[ECP_PASS_QUERIES];
	int32		limit[ECP_PASS_QUERIES];
	uint64		bits[ECP_PASS_QUERIES];
	int32		all[ECP_PASS_QUERIES * ECP_PASS_ROWS];

	/* the last one is repeated, and its results are ignored */
	for (int q = 0; q < ECP_PASS_QUERIES; q++)
	{
		query[q] = queries[Min(q, nqueries - 1)];
		limit[q] = limits[Min(q, nqueries - 1)];
	}
	if (nqueries == ECP_PASS_QUERIES)
		pass_any(query, limit, columns, nslots, factor, n, passed, ranks);
	else
	{
		pass_any(query, limit, columns, nslots, factor, n, bits, all);
		memcpy(passed, bits, nqueries * sizeof(uint64));
		memcpy(ranks, all, nqueries * ECP_PASS_ROWS * sizeof(int32));
	}
}

/*
 * One vector has no use for a tile: this reads the leaders from the first to
 * the last byte, which suits the prefetcher, with four sums a block so that
 * additions do not wait for each other.
 */
static TARGET void
avx512_u8_panel_rank(const EcpPanelView *panel, const int8 *vector,
					 int first, int n, int32 *ranks)
{
	int			ngroups = EcpGroups(panel->dims);
	const int32 *groups = (const int32 *) vector;
	const char *data = (const char *) panel->data + first / 16 * (Size) ngroups * 64;
	__m128i		shift = _mm_cvtsi32_si128(panel->shift);

	for (int done = 0; done < n; done += 16)
	{
		__m512i		sums[4];
		__m512i		rank;
		int			g = 0;

#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			sums[i] = _mm512_setzero_si512();

		for (; g + 4 <= ngroups; g += 4)
		{
#pragma GCC unroll 4
			for (int i = 0; i < 4; i++)
				add_bytes_in_place(&sums[i],
								   _mm512_load_si512(data + (g + i) * 64),
								   _mm512_set1_epi32(groups[g + i]));
		}
		for (; g < ngroups; g++)
			add_bytes_in_place(&sums[0], _mm512_load_si512(data + g * 64),
							   _mm512_set1_epi32(groups[g]));
		data += ngroups * 64;

		rank = _mm512_add_epi32(_mm512_add_epi32(sums[0], sums[1]),
								_mm512_add_epi32(sums[2], sums[3]));
		rank = _mm512_sub_epi32(_mm512_load_si512(panel->factors + first + done),
								_mm512_sll_epi32(rank, shift));
		_mm512_mask_storeu_epi32(ranks + done, LaneMask(n - done), rank);
	}
}

static TARGET void
avx512_u8_panel_nearest(const EcpPanelView *panel, int n,
						const int8 *vectors, Size stride, int nvectors,
						int32 *leaders, int32 *ranks)
{
	int			nblocks = (n + 15) / 16;
	__m512i		best[ECP_PANEL_VECTORS];
	__m512i		best_block[ECP_PANEL_VECTORS];

	for (int v = 0; v < nvectors; v++)
	{
		best[v] = _mm512_set1_epi32(PG_INT32_MAX);
		best_block[v] = _mm512_setzero_si512();
	}

	for (int first = 0; first < nblocks; first += TILE_BLOCKS)
	{
		for (int done = 0; done < nvectors; done += TILE_VECTORS)
		{
			/* the last leaders, or two centres, may be in one block */
			if (nblocks - first == 1)
				u8_nearest_tile(panel, n, first, 1, vectors, stride, nvectors,
								done, best, best_block);
			else
				u8_nearest_tile(panel, n, first, TILE_BLOCKS, vectors, stride,
								nvectors, done, best, best_block);
		}
	}

	for (int v = 0; v < nvectors; v++)
		EcpLanesNearest((const int32 *) &best[v],
						(const int32 *) &best_block[v],
						leaders[v], ranks[v]);
}

/* ---- bits ---- */

/* The first CPUs with all the other instructions lack this one. */
static __attribute__((target("avx512f,avx512bw,avx512vpopcntdq")))
void
avx512_bit_rank_long_rows(const uint8 *query, int bytes, const uint8 *rows,
						  Size stride, int n, float8 *ranks)
{
	for (int r = 0; r < n; r++, rows += stride)
	{
		__m512i		count = _mm512_setzero_si512();

		for (int i = 0; i < bytes; i += 64)
		{
			__mmask64	mask = ByteMask(bytes - i);
			__m512i		x = _mm512_maskz_loadu_epi8(mask, rows + i);
			__m512i		q = _mm512_maskz_loadu_epi8(mask, query + i);

			count = _mm512_add_epi64(count, _mm512_popcnt_epi64(_mm512_xor_si512(x, q)));
		}
		ranks[r] = (int32) _mm512_reduce_add_epi64(count);
	}
}

static __attribute__((target("popcnt")))
void
avx512_bit_rank_rows(const uint8 *query, int bytes, const uint8 *rows,
					 Size stride, int n, float8 *ranks)
{
	/* adding up the lanes at the end costs as much as counting 64 bytes */
	if (bytes >= 128 && __builtin_cpu_supports("avx512vpopcntdq"))
	{
		avx512_bit_rank_long_rows(query, bytes, rows, stride, n, ranks);
		return;
	}
	for (int r = 0; r < n; r++)
		ranks[r] = ecp_bits_differ_expand(query, rows + r * stride, bytes);
}

/* ---- float32 ---- */

/* ---- codes ---- */

static TARGET void
avx512_plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride,
				  int n, int32 *dots)
{
	const __m512i one = _mm512_set1_epi8(1);
	int			part = EcpPlanePadded(bytes);

	for (int first = 0; first < n; first += ROWS)
	{
		const uint8 *row[ROWS];
		__m512i		sums[ROWS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
			sums[r] = _mm512_setzero_si512();
		}
		for (int i = 0; i < bytes; i += 64)
		{
			__mmask64	mask = ByteMask(bytes - i);
			__m512i		x[ROWS];

#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
				x[r] = _mm512_maskz_loadu_epi8(mask, row[r] + i);
#pragma GCC unroll 8
			for (int j = 0; j < 8; j++)
			{
				__m512i		q = _mm512_load_si512(query + j * part + i);

#pragma GCC unroll 4
				for (int r = 0; r < ROWS; r++)
				{
					__m512i		bits = _mm512_and_si512(_mm512_srli_epi16(x[r], j), one);

					sums[r] = _mm512_dpbusd_epi32(sums[r], bits, q);
				}
			}
		}
		_mm_mask_storeu_epi32(dots + first,
							  (__mmask8) LaneMask(Min(n - first, ROWS)),
							  add_lanes_i32(sums));
	}
}

/*
 * The sums of 16 rows from two registers of 16-bit sums, which have the rows
 * with even and odd numbers, once in each quarter.
 */
TEMPLATE __m512i
add_code_quarters(__m512i even, __m512i odd)
{
	__m512i		low = _mm512_unpacklo_epi16(even, odd);
	__m512i		high = _mm512_unpackhi_epi16(even, odd);
	__m512i		halves[2];

	/* widened first: four quarters may be more than 16 bits hold */
	halves[0] = _mm512_add_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(low)),
								 _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(low, 1)));
	halves[1] = _mm512_add_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(high)),
								 _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(high, 1)));
	return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_add_epi32(_mm512_castsi512_si256(halves[0]),
																	  _mm512_extracti64x4_epi64(halves[0], 1))),
							  _mm256_add_epi32(_mm512_castsi512_si256(halves[1]),
											   _mm512_extracti64x4_epi64(halves[1], 1)),
							  1);
}

/* A 16-bit sum gets a byte from each fourth group. */
StaticAssertDecl(ECP_CODE_DIMS_MAX / ECP_GROUP / 4 * PG_UINT8_MAX <= PG_UINT16_MAX,
				 "sums of codes fit 16 bits");

static TARGET void
avx512_code_bounds(const EcpCodeScan *scan, const uint8 *blocks,
				   const float4 *add, const float4 *times,
				   const float4 *width, int nblocks, float4 *bounds)
{
	const __m512i nibble = _mm512_set1_epi8(0x0F);
	int			nbytes = scan->ngroups * 16;

	for (int b = 0; b < nblocks; b++, blocks += nbytes)
	{
		/* 16-bit sums of bytes 2i + 256 * bytes 2i + 1, and of the latter */
		__m512i		both[2];
		__m512i		odd[2];

		for (int h = 0; h < 2; h++)
			both[h] = odd[h] = _mm512_setzero_si512();
		for (int i = 0; i < nbytes; i += 64)
		{
			__m512i		table = _mm512_load_si512(scan->tables + i);
			__m512i		codes = _mm512_loadu_si512(blocks + i);
			__m512i		x0 = _mm512_shuffle_epi8(table, _mm512_and_si512(codes, nibble));
			__m512i		x1 = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(codes, 4), nibble));

			both[0] = _mm512_add_epi16(both[0], x0);
			both[1] = _mm512_add_epi16(both[1], x1);
			odd[0] = _mm512_add_epi16(odd[0], _mm512_srli_epi16(x0, 8));
			odd[1] = _mm512_add_epi16(odd[1], _mm512_srli_epi16(x1, 8));
		}
		for (int h = 0; h < 2; h++)
		{
			int			row = b * 32 + h * 16;
			__m512i		even = _mm512_sub_epi16(both[h], _mm512_slli_epi16(odd[h], 8));
			__m512		sum = _mm512_cvtepi32_ps(add_code_quarters(even, odd[h]));
			__m512		bound = _mm512_add_ps(_mm512_set1_ps(scan->base),
											  _mm512_loadu_ps(add + row));

			sum = _mm512_fmadd_ps(_mm512_set1_ps(scan->step), sum,
								  _mm512_set1_ps(scan->low));
			bound = _mm512_fnmadd_ps(_mm512_loadu_ps(times + row), sum, bound);
			bound = _mm512_fnmadd_ps(_mm512_set1_ps(scan->radius),
									 _mm512_loadu_ps(width + row), bound);
			_mm512_storeu_ps(bounds + row, bound);
		}
	}
}

const EcpKernels ecp_kernels_avx512 = {
	.name = "avx512",
	.supported = avx512_supported,
	.u8_prepare = avx512_u8_prepare,
	.u8_rank_rows = avx512_u8_rank_rows,
	.u8_rank_columns = avx512_u8_rank_columns,
	.u8_parts_near = avx512_u8_parts_near,
	.u8_parts_rank = avx512_u8_parts_rank,
	.u8_pass_columns = avx512_u8_pass_columns,
	.u8_sums = avx512_u8_sums,
	.bit_rank_rows = avx512_bit_rank_rows,
	.f32_l2_rows = f32_l2_rows,
	.f32_dot_rows = f32_dot_rows,
	.f16_l2_rows = f16_l2_rows,
	.f16_dot_rows = f16_dot_rows,
	.f16_norm2 = f16_norm2,
	.f16_floats = f16_floats,
	.f16_halves = f16_halves,
	.u8_panel_rank = avx512_u8_panel_rank,
	.f32_panel_rank = f32_panel_rank,
	.u8_panel_nearest = avx512_u8_panel_nearest,
	.f32_panel_nearest = f32_panel_nearest,
	.f32_hadamard = f32_hadamard,
	.code_tables = code_tables,
	.f32_signs = f32_signs,
	.u8_floats = u8_floats,
	.u8_add = u8_add,
	.f32_add = f32_add,
	.f32_unit = f32_unit,
	.f32_bytes = f32_bytes,
	.plane_dots = avx512_plane_dots,
	.code_bounds = avx512_code_bounds,
	.f64_passed = f64_passed,
	.f32_passed = f32_passed,
};

#endif							/* ECP_HAVE_X86_KERNELS */
