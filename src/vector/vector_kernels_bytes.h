/*-------------------------------------------------------------------------
 *
 * vector_kernels_bytes.h
 *	  Template of the kernels of bytes and bits, and the table of all kernels:
 *	  vector_kernels_SET.c includes it once, last.
 *
 * See vector_kernels_floats.h for registers.  Inner products of bytes are where sets
 * differ most, so that a set defines three kinds of them, of a register of bytes
 * each:
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
 *	  bit_hamming_rows, bit_jaccard_rows
 *								whole kernels
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_BYTES_H
#define VECTOR_KERNELS_BYTES_H

#include "vector/vector_codes.h"
#include "vector/vector_kernels_floats.h"

#ifdef WIDTH

/* Registers of slots of a tile for several queries; for one there are SLOT_REGS. */
#define PASS_REGS	4

#define TILE_VECTORS_MAX	Max(U8_VECTORS, F32_VECTORS)

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

TEMPLATE Bytes
bytes_load(const uint8 *row, int i, int dims)
{
	return i + WIDTH <= dims ? BytesLoad(row + i) : bytes_load_some(row, i, dims);
}

static TARGET void
u8_prepare(const uint8 *elements, int dims, int8 *shifted, int32 *sum,
		   int32 *norm2)
{
	Ints		sums = IntsAll(0);
	Ints		squares = IntsAll(0);

	for (int i = 0; i < dims; i += WIDTH)
	{
		Bytes		x = bytes_load(elements, i, dims);

		sums = bytes_sum(sums, x);
		squares = products_add(squares, x, x);
		if (shifted && i + WIDTH <= dims)
			BytesStore(shifted + i, x ^ BytesAll(0x80));
		else if (shifted)
			bytes_store_some((uint8 *) shifted + i, x ^ BytesAll(0x80), dims - i);
	}
	for (int i = dims; shifted && i % ECP_GROUP != 0; i++)
		shifted[i] = 0;
	*sum = ints_sum(sums);
	*norm2 = ints_sum(squares);
}

static TARGET void
u8_sums(const uint8 *a, const uint8 *b, int dims, EcpU8Sums *sums)
{
	Ints		aa = IntsAll(0);
	Ints		ab = IntsAll(0);
	Ints		bb = IntsAll(0);

	for (int i = 0; i < dims; i += WIDTH)
	{
		Bytes		x = bytes_load(a, i, dims);
		Bytes		y = bytes_load(b, i, dims);

		aa = products_add(aa, x, x);
		ab = products_add(ab, x, y);
		bb = products_add(bb, y, y);
	}
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
#pragma GCC unroll 8
		for (int r = 0; r < nregs; r++)
			x[r] = dot_row(live >= LANES ? BytesLoad(slots[r] + at) :
						   (Bytes) floats_load_some((const float4 *) (slots[r] + at), live));
#pragma GCC unroll 6
		for (int v = 0; v < nvectors; v++)
		{
			DotQuery	q = dot_query(vector[v] + g * ECP_GROUP);

#pragma GCC unroll 8
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

#pragma GCC unroll 8
	for (int r = 0; r < nregs; r++)
		slots[r] = (const char *) columns + tile_slot(n, first, r, nregs, live) * ECP_GROUP;
	u8_tile(&query->elements, 1, slots, (Size) nslots * ECP_GROUP,
			EcpGroups(query->dims), nregs, live, sums);
#pragma GCC unroll 8
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

/*
 * A function of tiles of n slots, with constants: registers, at most "most" of them,
 * and lanes in use.
 */
#define SlotTiles(n, most, tile, ...) \
	for (int first_ = 0, regs_; first_ < (n); first_ += Min(regs_, regs_ >= (most) ? (most) : 4) * LANES) \
	{ \
		regs_ = ((n) - first_ + LANES - 1) / LANES; \
		if ((n) < LANES) \
			tile(__VA_ARGS__, n, first_, 1, n, ranks); \
		else if (regs_ == 1) \
			tile(__VA_ARGS__, n, first_, 1, LANES, ranks); \
		else if (regs_ == 2) \
			tile(__VA_ARGS__, n, first_, 2, LANES, ranks); \
		else if (regs_ == 3) \
			tile(__VA_ARGS__, n, first_, 3, LANES, ranks); \
		else if (regs_ < (most)) \
			tile(__VA_ARGS__, n, first_, 4, LANES, ranks); \
		else \
			tile(__VA_ARGS__, n, first_, most, LANES, ranks); \
	}

static TARGET void
u8_rank_columns(const EcpU8Query *query, const uint8 *columns, int nslots,
				const int32 *factor, int n, float8 *ranks)
{
	int32		base = query_base(query);

	SlotTiles(n, SLOT_REGS, rank_slots, query, base, columns, nslots, factor);
}

#ifdef PASS_VECTORS

/* PASS_VECTORS queries, and which ones of all they are. */
typedef struct PassQueries
{
	const EcpU8Query *query[PASS_VECTORS];
	int32		base[PASS_VECTORS];
	int32		limit[PASS_VECTORS];
	int			number[PASS_VECTORS];
	uint64		passed[PASS_VECTORS];
} PassQueries;

TEMPLATE void
pass_slots(PassQueries *pass, const uint8 *columns, int nslots,
		   const int32 *factor, int n, int first, int nregs, int live,
		   int32 *ranks)
{
	const int8 *vector[PASS_VECTORS];
	const char *slots[PASS_REGS];
	DotSum		sums[PASS_VECTORS * PASS_REGS];

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
			IntsStore(ranks + pass->number[v] * ECP_PASS_ROWS + slot, rank);
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
			pass.number[v] = q;
			pass.passed[v] = 0;
		}
		SlotTiles(n, PASS_REGS, pass_slots, &pass, columns, nslots, factor);
		for (int v = 0; v < PASS_VECTORS; v++)
			passed[pass.number[v]] = pass.passed[v];
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

/* ---- nearest leaders ---- */

/* What is compared: constants where it is expanded. */
typedef enum PanelKind
{
	PANEL_U8,
	PANEL_F32_L2,
	PANEL_F32_IP
} PanelKind;

/* The best rank of each lane, and the block that it is of. */
typedef struct Nearest
{
	Ints		rank[REGS];		/* or floats */
	Ints		block[REGS];
} Nearest;

/*
 * The ranks of a tile, ints or floats, are compared with the best ones of its
 * vectors: those from "done" on, the last one again if there are no more.
 */
TEMPLATE void
nearest_keep(Nearest *best, int nvectors, int done, int tile_vectors, int n,
			 int first, int nregs, const Ints *ranks, PanelKind kind)
{
#pragma GCC unroll 4
	for (int r = 0; r < nregs; r++)
	{
		int			block = tile_block(n, first, r);
		int			b = r % REGS;
		Mask		live = first_lanes(n - block * 16 - b * LANES);

#pragma GCC unroll 6
		for (int v = 0; v < tile_vectors; v++)
		{
			Nearest    *nearest = &best[Min(done + v, nvectors - 1)];
			Ints		rank = ranks[v * nregs + r];
			Mask		better = live & (kind != PANEL_U8 ?
										 floats_less((Floats) rank, (Floats) nearest->rank[b]) :
										 ints_less(rank, nearest->rank[b]));

			nearest->rank[b] = mask_select(better, rank, nearest->rank[b]);
			nearest->block[b] = mask_select(better, IntsAll(block), nearest->block[b]);
		}
	}
}

/* Keep the better of two ranks in each lane; of equal ones the lower leader. */
TEMPLATE void
nearest_reduce(Ints *rank, Ints *leader, Ints other_rank, Ints other, PanelKind kind)
{
	Mask		lower = kind != PANEL_U8 ? floats_less((Floats) other_rank, (Floats) *rank) :
		ints_less(other_rank, *rank);
	Mask		higher = kind != PANEL_U8 ? floats_less((Floats) *rank, (Floats) other_rank) :
		ints_less(*rank, other_rank);

	lower |= ints_less(other, *leader) & ~higher;
	*rank = mask_select(lower, other_rank, *rank);
	*leader = mask_select(lower, other, *leader);
}

/*
 * The nearest of the leaders from the best ones of each lane, and its rank: lane l
 * of block b is leader 16 b + l.
 */
TEMPLATE void
nearest_leader(const Nearest *best, PanelKind kind, int32 *leader, void *rank)
{
	Ints		ranks = best->rank[0];
	Ints		leaders = best->block[0] * 16 + LANE_NUMBERS;

#pragma GCC unroll 4
	for (int b = 1; b < REGS; b++)
		nearest_reduce(&ranks, &leaders, best->rank[b],
					   best->block[b] * 16 + LANE_NUMBERS + b * LANES, kind);
#pragma GCC unroll 4
	for (int m = 1; m < LANES; m *= 2)
		nearest_reduce(&ranks, &leaders, (Ints) lanes_swap((Floats) ranks, m),
					   (Ints) lanes_swap((Floats) leaders, m), kind);
	*leader = leaders[0];

	/*
	 * Not by memcpy(): the one of _FORTIFY_SOURCE, which packages of the
	 * server define, would leave the best ones in memory while they are
	 * looked for.
	 */
	*(int32 *) rank = ranks[0];
}

/* Compare nblocks blocks from "first" on with tile_vectors vectors from "done" on. */
TEMPLATE void
nearest_tile(const EcpPanelView *panel, int n, int first, int nblocks,
			 const char *vectors, Size stride, int nvectors, int done,
			 int tile_vectors, PanelKind kind, Nearest *best)
{
	int			steps = kind == PANEL_U8 ? EcpGroups(panel->dims) : panel->dims;
	int			nregs = nblocks * REGS;
	const char *vector[TILE_VECTORS_MAX];
	const char *leaders[TILE_REGS];
	DotSum		sums[TILE_VECTORS_MAX * TILE_REGS];
	Ints		ranks[TILE_VECTORS_MAX * TILE_REGS];

	tile_leaders(panel, n, first, nregs, (Size) steps * 64, leaders);
#pragma GCC unroll 6
	for (int v = 0; v < tile_vectors; v++)
		vector[v] = vectors + Min(done + v, nvectors - 1) * stride;
	if (kind != PANEL_U8)
		f32_tile((const float4 *const *) vector, tile_vectors, leaders, steps, nregs,
				 kind == PANEL_F32_L2, (Floats *) ranks);
	else
	{
		u8_tile((const int8 *const *) vector, tile_vectors, leaders, 64, steps, nregs,
				LANES, sums);
#pragma GCC unroll 24
		for (int i = 0; i < tile_vectors * nregs; i++)
			ranks[i] = IntsLoad(panel->factors + tile_block(n, first, i % nregs) * 16 +
								i % REGS * LANES) - (dot_sum(&sums[i]) << panel->shift);
	}
	nearest_keep(best, nvectors, done, tile_vectors, n, first, nregs, ranks, kind);
}

TEMPLATE void
panel_nearest(const EcpPanelView *panel, int n, const char *vectors, Size stride,
			  int nvectors, int tile_vectors, PanelKind kind, int32 *leaders,
			  void *ranks)
{
	int			nblocks = (n + 15) / 16;
	int			few = tile_vectors * 2 / 3;
	Nearest		best[ECP_PANEL_VECTORS];

	for (int v = 0; v < nvectors; v++)
	{
		for (int b = 0; b < REGS; b++)
		{
			best[v].rank[b] = kind == PANEL_U8 ? IntsAll(PG_INT32_MAX) :
				(Ints) FloatsAll(INFINITY);
			best[v].block[b] = IntsAll(0);
		}
	}
	for (int first = 0; first < nblocks; first += TILE_BLOCKS)
	{
		/* the last leaders, or two centres, may be in one block */
		bool		one = TILE_BLOCKS > 1 && nblocks - first == 1;

		for (int done = 0; done < nvectors; done += tile_vectors)
		{
			if (one && nvectors - done <= few)
				nearest_tile(panel, n, first, 1, vectors, stride, nvectors, done,
							 few, kind, best);
			else if (one)
				nearest_tile(panel, n, first, 1, vectors, stride, nvectors, done,
							 tile_vectors, kind, best);
			else if (nvectors - done <= few)
				nearest_tile(panel, n, first, TILE_BLOCKS, vectors, stride, nvectors,
							 done, few, kind, best);
			else
				nearest_tile(panel, n, first, TILE_BLOCKS, vectors, stride, nvectors,
							 done, tile_vectors, kind, best);
		}
	}
	for (int v = 0; v < nvectors; v++)
		nearest_leader(&best[v], kind, &leaders[v], (char *) ranks + v * sizeof(float4));
}

static TARGET void
f32_panel_nearest(const EcpPanelView *panel, int n, const char *vectors,
				  Size stride, int nvectors, int32 *leaders, float4 *ranks)
{
	if (panel->metric == ECP_METRIC_L2)
		panel_nearest(panel, n, vectors, stride, nvectors, F32_VECTORS, PANEL_F32_L2,
					  leaders, ranks);
	else
		panel_nearest(panel, n, vectors, stride, nvectors, F32_VECTORS, PANEL_F32_IP,
					  leaders, ranks);
}

static TARGET void
u8_panel_nearest(const EcpPanelView *panel, int n, const int8 *vectors,
				 Size stride, int nvectors, int32 *leaders, int32 *ranks)
{
	panel_nearest(panel, n, (const char *) vectors, stride, nvectors, U8_VECTORS,
				  PANEL_U8, leaders, ranks);
	for (int v = 0; v < nvectors; v++)
		ranks[v] -= dot_rest(vectors + v * stride, panel->dims) << panel->shift;
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

static TARGET int32
nibble_dot(const int8 *query, int bytes, const uint8 *row)
{
	Size		part = EcpPlanePadded(bytes);
	SmallSum	small = SMALL_ZERO;

	for (int i = 0; i < bytes; i += WIDTH)
	{
		Bytes		x = bytes_load(row, i, bytes);

		small_add(&small, x & BytesAll(0x0F), BytesLoad(query + i));
		small_add(&small, UpperNibbles(x), BytesLoad(query + part + i));
		small_flush(&small);
	}
	return ints_sum(small_sum(&small));
}

/* Bytes of codes for a register, such that lanes of 16 bits can hold the sums. */
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
	EcpKernelsTable(KERNELS_NAME),
#ifdef PASS_VECTORS
	.u8_pass_columns = u8_pass_columns,
#endif
};

#endif							/* WIDTH */

#endif							/* VECTOR_KERNELS_BYTES_H */
