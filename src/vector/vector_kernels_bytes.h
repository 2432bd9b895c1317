/*-------------------------------------------------------------------------
 *
 * vector_kernels_bytes.h
 *	  Template of the kernels of bytes and bits, and the table of all kernels:
 *	  vector_kernels_SET.c includes it once, last.
 *
 * See vector_kernels_floats.h for registers.  Inner products of bytes are where sets
 * differ most, so that a header defines three kinds of them, of a register of
 * bytes each:
 *
 *	  DotSum, DOT_ZERO, dot_sum		sums of products; the sums of each four bytes
 *	  dot_row, dot_query, dot_add	LANES groups by the same group of a query
 *	  dot_rest						what all products with a query lack
 *	  ROW_BYTES, row_load, row_load_some, row_query, row_dot
 *									ROW_BYTES bytes of a row by those of a query
 *	  SmallSum, SMALL_ZERO, small_add, small_flush, small_sum
 *									bytes up to 62, no more than eight times 1 or
 *									twice 62 before a flush, by signed bytes
 *	  products_add					unsigned bytes by unsigned bytes
 *
 * and besides
 *
 *	  bytes_load_some			bytes of a row from i on, zeros behind its end
 *	  bytes_store_some			the first n bytes
 *	  bytes_sum					adds bytes to lanes
 *	  bytes_differ				differences without their signs
 *	  table_load, table_lookup	16 bytes; those that bytes below 16 choose
 *	  ints_store_doubles, ints_store_doubles_some, four_store_doubles
 *	  ints_not_below_zero		zero for what is below it
 *	  ints_sum					the sum of all lanes
 *	  four_rows					lane i of each four: a part of the sum of register i
 *	  fours_join				the sums of LANES registers from LANES / 4 of these
 *	  quarters_sum				the fours of a register, added
 *	  code_sums					adds sums of 16 rows, even and odd ones
 *	  bit_rank_rows				a whole kernel
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_BYTES_H
#define VECTOR_KERNELS_BYTES_H

#include "vector/vector_codes.h"
#include "vector/vector_kernels_floats.h"

#ifdef WIDTH

/* Registers of slots of a tile. */
#define SLOT_REGS	4

/* Sums of groups of one vector that do not wait for each other. */
#define CHAINS		(4 / REGS)

typedef uint8 BytesMemory __attribute__((vector_size(WIDTH), aligned(1), may_alias));

#define BytesLoad(p)		((Bytes) *(const BytesMemory *) (p))
#define BytesStore(p, x)	(*(BytesMemory *) (p) = (BytesMemory) (x))
#define BytesAll(x)			((Bytes) {0} + (uint8) (x))

/* The upper four bits of bytes, and bit j of them. */
#define UpperNibbles(x)		((Bytes) ((Words) (x) >> 4) & BytesAll(0x0F))
#define ByteBits(x, j)		((Bytes) ((Words) (x) >> (j)) & BytesAll(1))

/* ---- rows ---- */

TEMPLATE void
prepare_some(Bytes x, Ints *sums, Ints *squares)
{
	*sums = bytes_sum(*sums, x);
	*squares = products_add(*squares, x, x);
}

static TARGET void
u8_prepare(const uint8 *elements, int dims, int8 *shifted, int32 *sum,
		   int32 *norm2)
{
	Size		whole = dims / WIDTH * WIDTH;
	Ints		sums = IntsAll(0);
	Ints		squares = IntsAll(0);

	for (Size i = 0; i < whole; i += WIDTH)
	{
		Bytes		x = BytesLoad(elements + i);

		prepare_some(x, &sums, &squares);
		if (shifted)
			BytesStore(shifted + i, x ^ BytesAll(0x80));
	}
	if (whole < dims)
	{
		Bytes		x = bytes_load_some(elements, whole, dims);

		prepare_some(x, &sums, &squares);
		if (shifted)
			bytes_store_some((uint8 *) shifted + whole, x ^ BytesAll(0x80), dims - whole);
	}
	for (int i = dims; shifted && i % ECP_GROUP != 0; i++)
		shifted[i] = 0;
	*sum = ints_sum(sums);
	*norm2 = ints_sum(squares);
}

TEMPLATE void
sums_add(Bytes x, Bytes y, Ints *aa, Ints *ab, Ints *bb)
{
	*aa = products_add(*aa, x, x);
	*ab = products_add(*ab, x, y);
	*bb = products_add(*bb, y, y);
}

static TARGET void
u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	Size		whole = dims / WIDTH * WIDTH;
	Ints		aa = IntsAll(0);
	Ints		ab = IntsAll(0);
	Ints		bb = IntsAll(0);

	for (Size i = 0; i < whole; i += WIDTH)
		sums_add(BytesLoad(a + i), BytesLoad(b + i), &aa, &ab, &bb);
	if (whole < dims)
		sums_add(bytes_load_some(a, whole, dims), bytes_load_some(b, whole, dims),
				 &aa, &ab, &bb);
	sums->aa = ints_sum(aa);
	sums->ab = ints_sum(ab);
	sums->bb = ints_sum(bb);
}

/* What ranks of rows with a query have besides their products and factors. */
TEMPLATE int32
query_base(const EcpU8Query *query)
{
	return query->base + query->dot_times * dot_rest(query->elements, query->dims);
}

static TARGET void
u8_rank_rows(const EcpU8Query *query, const uint8 *rows, Size stride,
			 const int32 *factor, int n, float8 *ranks)
{
	Size		whole = query->dims / ROW_BYTES * ROW_BYTES;
	int32		base = query_base(query);

	for (int done = 0; done < n; done += ROWS)
	{
		/* the last four may have rows of those before */
		int			first = Max(Min(done, n - ROWS), 0);
		const uint8 *row[ROWS];
		DotSum		dots[ROWS];
		Ints		sums[ROWS];
		Four		four;

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
			dots[r] = DOT_ZERO;
		}
		for (Size i = 0; i < whole; i += ROW_BYTES)
		{
			RowBytes	q = row_query(query->elements + i);

#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
				row_dot(&dots[r], row_load(row[r] + i), q);
		}
		if (whole < query->dims)
		{
			RowBytes	q = row_query(query->elements + whole);

#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
				row_dot(&dots[r], row_load_some(row[r], whole, query->dims), q);
		}
#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
			sums[r] = dot_sum(&dots[r]);
		four = quarters_sum(four_rows(sums)) * query->dot_times + base;
		if (n >= ROWS)
			four_store_doubles(ranks + first, four +
							   *(const FourMemory *) (factor + first) * query->factor_times);
		else
		{
			for (int r = 0; r < n; r++)
				ranks[r] = four[r] + factor[r] * query->factor_times;
		}
	}
}

/* ---- columns and panels ---- */

/*
 * Inner products of nvectors vectors with the slots of nregs registers, whose groups
 * are "stride" bytes apart.  If there are fewer slots than lanes, "live" of them,
 * there is one register.
 */
TEMPLATE void
u8_tile(const int8 *const *vector, int nvectors, const char *const *slots,
		Size stride, int ngroups, int nregs, int live, DotSum *sums)
{
#pragma GCC unroll 24
	for (int i = 0; i < nvectors * nregs; i++)
		sums[i] = DOT_ZERO;
	for (Size g = 0, at = 0; g < ngroups; g++, at += stride)
	{
		DotRow		x[SLOT_REGS];

		KeepIndex(g);
#pragma GCC unroll 4
		for (int r = 0; r < nregs; r++)
			x[r] = dot_row(live >= LANES ? BytesLoad(slots[r] + at) :
						   (Bytes) floats_load_some((const float4 *) (slots[r] + at), live));
#pragma GCC unroll 6
		for (int v = 0; v < nvectors; v++)
		{
			DotQuery	q = dot_query(vector[v] + g * ECP_GROUP);

#pragma GCC unroll 4
			for (int r = 0; r < nregs; r++)
				dot_add(&sums[v * nregs + r], x[r], q);
		}
	}
}

/*
 * The first slot of register r of nregs, in a tile that begins with slot "first" of
 * n: the last one may have slots of the one before it.
 */
TEMPLATE int
tile_slot(int n, int first, int r, int nregs, int live)
{
	if (r < nregs - 1 || live < LANES)
		return first + r * LANES;
	return Min(first + r * LANES, n - LANES);
}

/* Ranks of the slots of a register. */
TEMPLATE Ints
slot_ranks(const EcpU8Query *query, int32 base, const DotSum *sum,
		   const int32 *factor, int live)
{
	Ints		factors = live >= LANES ? IntsLoad(factor) :
		(Ints) floats_load_some((const float4 *) factor, live);

	return factors * query->factor_times + dot_sum(sum) * query->dot_times + base;
}

TEMPLATE void
rank_slots(const EcpU8Query *query, int32 base, const uint8 *columns,
		   int nslots, const int32 *factor, int n, int first, int nregs,
		   int live, float8 *ranks)
{
	const char *slots[SLOT_REGS];
	DotSum		sums[SLOT_REGS];

#pragma GCC unroll 4
	for (int r = 0; r < nregs; r++)
		slots[r] = (const char *) columns + tile_slot(n, first, r, nregs, live) * ECP_GROUP;
	u8_tile(&query->elements, 1, slots, (Size) nslots * ECP_GROUP,
			EcpGroups(query->dims), nregs, live, sums);
#pragma GCC unroll 4
	for (int r = 0; r < nregs; r++)
	{
		int			slot = tile_slot(n, first, r, nregs, live);
		Ints		rank = slot_ranks(query, base, &sums[r], factor + slot, live);

		if (live >= LANES)
			ints_store_doubles(ranks + slot, rank);
		else
			ints_store_doubles_some(ranks, rank, live);
	}
}

/* A function of tiles of n slots, with constants: registers, and lanes in use. */
#define SlotTiles(n, first, tile, ...) \
	do { \
		int			regs_ = ((n) - (first) + LANES - 1) / LANES; \
\
		if ((n) < LANES) \
			tile(__VA_ARGS__, n, first, 1, n, ranks); \
		else if (regs_ == 1) \
			tile(__VA_ARGS__, n, first, 1, LANES, ranks); \
		else if (regs_ == 2) \
			tile(__VA_ARGS__, n, first, 2, LANES, ranks); \
		else if (regs_ == 3) \
			tile(__VA_ARGS__, n, first, 3, LANES, ranks); \
		else \
			tile(__VA_ARGS__, n, first, SLOT_REGS, LANES, ranks); \
	} while (0)

static TARGET void
u8_rank_columns(const EcpU8Query *query, const uint8 *columns, int nslots,
				const int32 *factor, int n, float8 *ranks)
{
	int32		base = query_base(query);

	for (int first = 0; first < n; first += SLOT_REGS * LANES)
		SlotTiles(n, first, rank_slots, query, base, columns, nslots, factor);
}

#ifdef PASS_VECTORS

/* PASS_VECTORS queries, whose results go to these places. */
typedef struct PassQueries
{
	const EcpU8Query *query[PASS_VECTORS];
	int32		base[PASS_VECTORS];
	int32		limit[PASS_VECTORS];
	int			place[PASS_VECTORS];
	uint64		passed[PASS_VECTORS];
} PassQueries;

TEMPLATE void
pass_slots(PassQueries *pass, const uint8 *columns, int nslots,
		   const int32 *factor, int n, int first, int nregs, int live,
		   int32 *ranks)
{
	const int8 *vector[PASS_VECTORS];
	const char *slots[SLOT_REGS];
	DotSum		sums[PASS_VECTORS * SLOT_REGS];

#pragma GCC unroll 4
	for (int v = 0; v < PASS_VECTORS; v++)
		vector[v] = pass->query[v]->elements;
#pragma GCC unroll 4
	for (int r = 0; r < nregs; r++)
		slots[r] = (const char *) columns + tile_slot(n, first, r, nregs, live) * ECP_GROUP;
	u8_tile(vector, PASS_VECTORS, slots, (Size) nslots * ECP_GROUP,
			EcpGroups(pass->query[0]->dims), nregs, live, sums);
#pragma GCC unroll 4
	for (int v = 0; v < PASS_VECTORS; v++)
	{
#pragma GCC unroll 4
		for (int r = 0; r < nregs; r++)
		{
			int			slot = tile_slot(n, first, r, nregs, live);
			Ints		rank = slot_ranks(pass->query[v], pass->base[v],
										  &sums[v * nregs + r], factor + slot, live);
			uint64		above = mask_bits(ints_less(IntsAll(pass->limit[v]), rank));

			if ((~above & EcpLowBits(Min(live, LANES))) == 0)
				continue;
			pass->passed[v] |= (~above & EcpLowBits(Min(live, LANES))) << slot;
			IntsStore(ranks + pass->place[v] * ECP_PASS_ROWS + slot, rank);
		}
	}
}

static TARGET void
u8_pass_columns(const EcpU8Query *const *queries, int nqueries,
				const int32 *limits, const uint8 *columns, int nslots,
				const int32 *factor, int n, uint64 *passed, int32 *ranks)
{
	for (int done = 0; done < nqueries; done += PASS_VECTORS)
	{
		PassQueries pass;

		/* the last one is repeated, with the same results */
		for (int v = 0; v < PASS_VECTORS; v++)
		{
			int			q = Min(done + v, nqueries - 1);

			pass.query[v] = queries[q];
			pass.base[v] = query_base(queries[q]);
			pass.limit[v] = limits[q];
			pass.place[v] = q;
			pass.passed[v] = 0;
		}
		for (int first = 0; first < n; first += SLOT_REGS * LANES)
			SlotTiles(n, first, pass_slots, &pass, columns, nslots, factor);
		for (int v = 0; v < PASS_VECTORS; v++)
			passed[pass.place[v]] = pass.passed[v];
	}
}
#endif

/*
 * One vector has no use for a tile: this reads the leaders from the first to the
 * last byte, which suits the prefetcher.
 */
static TARGET void
u8_panel_rank(const EcpPanelView *panel, const int8 *vector, int first, int n,
			  int32 *ranks)
{
	Size		ngroups = EcpGroups(panel->dims);
	const char *data = (const char *) panel->data + first / 16 * ngroups * 64;
	int32		rest = dot_rest(vector, panel->dims) << panel->shift;

	for (int done = 0; done < n; done += 16, data += ngroups * 64)
	{
		DotSum		sums[CHAINS][REGS];
		Size		g = 0;

#pragma GCC unroll 4
		for (int i = 0; i < CHAINS * REGS; i++)
			sums[i / REGS][i % REGS] = DOT_ZERO;
		for (; g + CHAINS <= ngroups; g += CHAINS)
		{
#pragma GCC unroll 4
			for (int c = 0; c < CHAINS; c++)
			{
				DotQuery	q = dot_query(vector + (g + c) * ECP_GROUP);

#pragma GCC unroll 4
				for (int b = 0; b < REGS; b++)
					dot_add(&sums[c][b], dot_row(BytesLoad(data + (g + c) * 64 + b * WIDTH)), q);
			}
		}
		for (; g < ngroups; g++)
		{
			DotQuery	q = dot_query(vector + g * ECP_GROUP);

#pragma GCC unroll 4
			for (int b = 0; b < REGS; b++)
				dot_add(&sums[0][b], dot_row(BytesLoad(data + g * 64 + b * WIDTH)), q);
		}
#pragma GCC unroll 4
		for (int b = 0; b < REGS; b++)
		{
			int			at = done + b * LANES;
			Ints		dots = dot_sum(&sums[0][b]);

#pragma GCC unroll 4
			for (int c = 1; c < CHAINS; c++)
				dots += dot_sum(&sums[c][b]);
			dots = IntsLoad(panel->factors + first + at) - (dots << panel->shift) - rest;
			if (n - done >= 16)
				IntsStore(ranks + at, dots);
			else
				floats_store_some((float4 *) ranks + at, (Floats) dots, n - at);
		}
	}
}

/* As f32_nearest_tile(). */
TEMPLATE void
u8_nearest_tile(const EcpPanelView *panel, int n, int first, int nblocks,
				const int8 *vectors, Size stride, int nvectors, int done,
				int tile_vectors, int ngroups, Nearest *best)
{
	const int8 *vector[U8_VECTORS];
	const char *leaders[TILE_REGS];
	DotSum		sums[U8_VECTORS * TILE_REGS];
	Ints		ranks[U8_VECTORS * TILE_REGS];
	int			nregs = nblocks * REGS;

	tile_leaders(panel, n, first, nregs, (Size) ngroups * 64, leaders);
#pragma GCC unroll 6
	for (int v = 0; v < tile_vectors; v++)
		vector[v] = vectors + Min(done + v, nvectors - 1) * stride;
	u8_tile(vector, tile_vectors, leaders, 64, ngroups, nregs, LANES, sums);
#pragma GCC unroll 4
	for (int r = 0; r < nregs; r++)
	{
		Ints		factors = IntsLoad(panel->factors +
									   tile_block(n, first, r) * 16 + r % REGS * LANES);

#pragma GCC unroll 6
		for (int v = 0; v < tile_vectors; v++)
			ranks[v * nregs + r] = factors -
				(dot_sum(&sums[v * nregs + r]) << panel->shift);
	}
	nearest_keep(best, nvectors, done, tile_vectors, n, first, nregs, ranks, false);
}

static TARGET void
u8_panel_nearest(const EcpPanelView *panel, int n, const int8 *vectors,
				 Size stride, int nvectors, int32 *leaders, int32 *ranks)
{
	int			ngroups = EcpGroups(panel->dims);
	int			nblocks = (n + 15) / 16;
	Nearest		best[ECP_PANEL_VECTORS];

	for (int v = 0; v < nvectors; v++)
	{
		for (int b = 0; b < REGS; b++)
		{
			best[v].rank[b] = IntsAll(PG_INT32_MAX);
			best[v].block[b] = IntsAll(0);
		}
	}
	for (int first = 0; first < nblocks; first += TILE_BLOCKS)
	{
		bool		one = TILE_BLOCKS > 1 && nblocks - first == 1;

		for (int done = 0; done < nvectors; done += U8_VECTORS)
		{
			bool		few = nvectors - done <= FewVectors(U8_VECTORS);

			NearestTiles(u8_nearest_tile, U8_VECTORS, one, few, ngroups);
		}
	}
	for (int v = 0; v < nvectors; v++)
	{
		nearest_leader(&best[v], false, &leaders[v], &ranks[v]);
		ranks[v] -= dot_rest(vectors + v * stride, panel->dims) << panel->shift;
	}
}

/* ---- rows in PARTS ---- */

/*
 * Inner products of a query with the levels of LANES rows, of which the last one that
 * there is takes the place of those that there are not.  What is read behind a row
 * is multiplied by zeros.
 */
TEMPLATE Ints
parts_products(const EcpPartsQuery *query, const uint8 *upper, int bytes,
			   int n)
{
	const Bytes levels = table_load(ecp_parts_levels);
	Ints		fours[LANES / ROWS];

#pragma GCC unroll 4
	for (int first = 0; first < LANES; first += ROWS)
	{
		Ints		sums[ROWS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			const uint8 *row = upper + (Size) Min(first + r, n - 1) * bytes;
			SmallSum	sum = SMALL_ZERO;

#pragma GCC unroll 4
			for (Size i = 0; i < bytes; i += WIDTH)
			{
				Bytes		x = BytesLoad(row + i);

				small_add(&sum, table_lookup(levels, x & BytesAll(0x0F)),
						  BytesLoad(query->elements[0] + i));
				small_add(&sum, table_lookup(levels, UpperNibbles(x)),
						  BytesLoad(query->elements[1] + i));
				small_flush(&sum);
			}
			sums[r] = small_sum(&sum);
		}
		fours[first / ROWS] = four_rows(sums);
	}
	return fours_join(fours);
}

static TARGET uint64
u8_parts_near(const EcpPartsQuery *query, const uint8 *upper,
			  const int32 *factor, int n, float4 limit)
{
	uint64		near = 0;

	for (int first = 0; first < n; first += LANES)
	{
		int			count = n - first;
		const uint8 *row = upper + (Size) first * query->bytes;
		Ints		factors = count >= LANES ? IntsLoad(factor + first) :
			(Ints) floats_load_some((const float4 *) factor + first, count);
		Ints		number;
		Floats		bound;
		Floats		width;

		/* constants where it matters: whole registers of the commonest length */
		if (query->bytes != 64)
			number = parts_products(query, row, query->bytes, count);
		else if (count < LANES)
			number = parts_products(query, row, 64, count);
		else
			number = parts_products(query, row, 64, LANES);
		number = query->base + (factors >> 8) - (number << 3);
		bound = __builtin_convertvector(ints_not_below_zero(number), Floats);
		width = FloatsAll(query->unit) * __builtin_convertvector(factors & 0xFF, Floats);
		bound = multiply_subtract(width, floats_sqrt(bound), bound);
		near |= (uint64) mask_bits(floats_not_above(bound, FloatsAll(limit))) << first;
	}
	return near & EcpLowBits(n);
}

static TARGET void
u8_parts_rank(const EcpPartsQuery *query, const uint8 *upper,
			  const uint8 *lower, uint64 rows, float8 *ranks)
{
	const Bytes nibble = BytesAll(0x0F);

	for (; rows != 0; rows &= rows - 1)
	{
		int			r = __builtin_ctzll(rows);
		Ints		sum = IntsAll(0);

		for (Size i = 0; i < query->bytes; i += WIDTH)
		{
			Bytes		valid = BytesLoad(query->valid + i);
			Bytes		high = valid & BytesLoad(upper + (Size) r * query->bytes + i);
			Bytes		low = valid & BytesLoad(lower + (Size) r * query->bytes + i);
			Bytes		x0 = (Bytes) ((Words) (high & nibble) << 4) | (low & nibble);
			Bytes		x1 = (high & ~nibble) | UpperNibbles(low);

			x0 = bytes_differ(x0, BytesLoad(query->values[0] + i));
			x1 = bytes_differ(x1, BytesLoad(query->values[1] + i));
			sum = products_add(products_add(sum, x0, x0), x1, x1);
		}
		ranks[r] = ints_sum(sum);
	}
}

/* ---- planes of bits, and codes ---- */

/* A register of each row, whole or its end. */
TEMPLATE void
plane_add(const int8 *query, Size part, const uint8 *const *row, Size i,
		  int bytes, bool whole, SmallSum *sums)
{
	Bytes		x[ROWS];

#pragma GCC unroll 4
	for (int r = 0; r < ROWS; r++)
		x[r] = whole ? BytesLoad(row[r] + i) : bytes_load_some(row[r], i, bytes);
#pragma GCC unroll 8
	for (int j = 0; j < 8; j++)
	{
		Bytes		q = BytesLoad(query + j * part + i);

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
			small_add(&sums[r], ByteBits(x[r], j), q);
	}
#pragma GCC unroll 4
	for (int r = 0; r < ROWS; r++)
		small_flush(&sums[r]);
}

static TARGET void
plane_dots(const int8 *query, int bytes, const uint8 *rows, Size stride, int n,
		   int32 *dots)
{
	Size		part = EcpPlanePadded(bytes);
	Size		whole = bytes / WIDTH * WIDTH;

	for (int done = 0; done < n; done += ROWS)
	{
		int			first = Max(Min(done, n - ROWS), 0);
		const uint8 *row[ROWS];
		SmallSum	small[ROWS];
		Ints		sums[ROWS];
		Four		four;

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
			small[r] = SMALL_ZERO;
		}
		for (Size i = 0; i < whole; i += WIDTH)
			plane_add(query, part, row, i, bytes, true, small);
		if (whole < bytes)
			plane_add(query, part, row, whole, bytes, false, small);
#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
			sums[r] = small_sum(&small[r]);
		four = quarters_sum(four_rows(sums));
		if (n >= ROWS)
			*(FourMemory *) (dots + first) = (FourMemory) four;
#pragma GCC unroll 3
		for (int r = 0; r < ROWS - 1; r++)
		{
			if (n < ROWS && r < n)
				dots[r] = four[r];
		}
	}
}

/* A lane of 16 bits holds sums of so many entries: bytes of codes for a register. */
#define CODE_BYTES		(256 * WIDTH)
#define CODE_BYTES_MAX	(ECP_CODE_DIMS_MAX / ECP_GROUP * 16)

/* Add the entries that codes choose to the sums of a block's two times 16 rows. */
TEMPLATE void
code_add(const uint8 *tables, const uint8 *codes, Size nbytes,
		 Ints sums[][REGS])
{
	/* sums of bytes 2i + 256 * bytes 2i + 1, and of the latter */
	Words		both[2];
	Words		odd[2];

	both[0] = both[1] = odd[0] = odd[1] = (Words)
	{
		0
	};
	for (Size i = 0; i < nbytes; i += WIDTH)
	{
		Bytes		table = BytesLoad(tables + i);
		Bytes		x = BytesLoad(codes + i);
		Words		x0 = (Words) table_lookup(table, x & BytesAll(0x0F));
		Words		x1 = (Words) table_lookup(table, UpperNibbles(x));

		both[0] += x0;
		both[1] += x1;
		odd[0] += x0 >> 8;
		odd[1] += x1 >> 8;
	}
#pragma GCC unroll 2
	for (int h = 0; h < 2; h++)
		code_sums(both[h] - (odd[h] << 8), odd[h], sums[h]);
}

static TARGET void
code_bounds(const EcpCodeScan *scan, const uint8 *blocks, const float4 *add,
			const float4 *times, const float4 *width, int nblocks,
			float4 *bounds)
{
	Size		nbytes = scan->ngroups * 16;

	for (int b = 0; b < nblocks; b++, blocks += nbytes)
	{
		Ints		sums[2][REGS];

#pragma GCC unroll 8
		for (int i = 0; i < 2 * REGS; i++)
			sums[i / REGS][i % REGS] = IntsAll(0);
		if (CODE_BYTES >= CODE_BYTES_MAX)
			code_add(scan->tables, blocks, nbytes, sums);
		else
		{
			for (Size i = 0; i < nbytes; i += CODE_BYTES)
				code_add(scan->tables + i, blocks + i, Min(CODE_BYTES, nbytes - i), sums);
		}
#pragma GCC unroll 8
		for (int i = 0; i < 2 * REGS; i++)
		{
			int			row = b * ECP_CODE_BLOCK + i * LANES;
			Floats		sum = __builtin_convertvector(sums[i / REGS][i % REGS], Floats);
			Floats		bound = FloatsAll(scan->base) + FloatsLoad(add + row);

			sum = multiply_add(FloatsAll(scan->step), sum, FloatsAll(scan->low));
			bound = multiply_subtract(FloatsLoad(times + row), sum, bound);
			bound = multiply_subtract(FloatsAll(scan->radius), FloatsLoad(width + row), bound);
			FloatsStore(bounds + row, bound);
		}
	}
}

const EcpKernels KERNELS = {
	.name = KERNELS_NAME,
	.supported = kernels_supported,
	.u8_prepare = u8_prepare,
	.u8_rank_rows = u8_rank_rows,
	.u8_rank_columns = u8_rank_columns,
	.u8_parts_near = u8_parts_near,
	.u8_parts_rank = u8_parts_rank,
#ifdef PASS_VECTORS
	.u8_pass_columns = u8_pass_columns,
#endif
	.u8_sums = u8_sums,
	.bit_rank_rows = bit_rank_rows,
	.f32_l2_rows = f32_l2_rows,
	.f32_dot_rows = f32_dot_rows,
	.f16_l2_rows = f16_l2_rows,
	.f16_dot_rows = f16_dot_rows,
	.f16_norm2 = f16_norm2,
	.f16_floats = f16_floats,
	.f16_halves = f16_halves,
	.u8_panel_rank = u8_panel_rank,
	.f32_panel_rank = f32_panel_rank,
	.u8_panel_nearest = u8_panel_nearest,
	.f32_panel_nearest = f32_panel_nearest,
	.f32_hadamard = f32_hadamard,
	.code_tables = code_tables,
	.f32_signs = f32_signs,
	.u8_floats = u8_floats,
	.u8_add = u8_add,
	.f32_add = f32_add,
	.f32_unit = f32_unit,
	.f32_bytes = f32_bytes,
	.plane_dots = plane_dots,
	.code_bounds = code_bounds,
	.f64_passed = f64_passed,
	.f32_passed = f32_passed,
};

#endif							/* WIDTH */

#endif							/* VECTOR_KERNELS_BYTES_H */
