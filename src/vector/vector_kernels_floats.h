/*-------------------------------------------------------------------------
 *
 * vector_kernels_floats.h
 *	  Template of the kernels of floats: vector_kernels_SET.c includes it once, after
 *	  its instruction set's registers.
 *
 * A register has WIDTH bytes, LANES lanes of 4 bytes; REGS registers are the 16
 * lanes that vector_kernels.h speaks of.  Everything is written for registers of
 * that width: wider vector types, which a compiler splits, end in memory.
 *
 * What an instruction set defines, besides the types and the shapes of tiles:
 *
 *	  FloatsAll, DoublesAll		the same number in all lanes
 *	  first_lanes				which are the first n lanes?
 *	  floats_load_some, halves_load_some
 *								the first n lanes, zeros in the others
 *	  floats_store_some, halves_store_some
 *								the first n lanes
 *	  multiply_add, _subtract	sum + xy and sum - xy, rounded once
 *	  floats_sqrt
 *	  lanes_sum					lanes i + LANES / 2 are added to lanes i, and so on
 *	  lanes_swap				lane i is lane i ^ distance, a power of two
 *	  halves_load, _store		LANES float16, rounded to the nearest even
 *	  doubles_load, _store		DLANES floats as doubles, and the reverse
 *	  floats_less, ints_less, floats_not_above, doubles_not_above
 *								masks of lanes, the last one as bits; NaN is not above
 *	  mask_bits					bit i is lane i's
 *	  mask_select				x where the mask is, else y
 *	  bytes_to_floats			LANES bytes
 *	  words_load				bytes as numbers of 16 bits
 *	  floats_to_bytes			16 bytes of 16 lanes; out of range: 0 or 255
 *
 * Constants in the arguments of a function below ("squared", numbers of
 * registers) make one loop of it for each, where it is expanded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_FLOATS_H
#define VECTOR_KERNELS_FLOATS_H

#include "vector/vector_kernels.h"

#ifdef WIDTH

#define LANES		(WIDTH / 4)
#define DLANES		(WIDTH / 8)
#define REGS		(16 / LANES)

/* Rows compared at a time. */
#define ROWS		4

/* Registers of a tile's blocks of leaders. */
#define TILE_REGS	(TILE_BLOCKS * REGS)

/* Blocks of a panel that are compared with one vector at a time. */
#define RANK_BLOCKS	4

/* Registers in memory. */
typedef float4 FloatsMemory __attribute__((vector_size(WIDTH), aligned(4), may_alias));
typedef float8 DoublesMemory __attribute__((vector_size(WIDTH), aligned(8), may_alias));
typedef int32 IntsMemory __attribute__((vector_size(WIDTH), aligned(4), may_alias));
typedef int32 FourMemory __attribute__((vector_size(16), aligned(4), may_alias));

#define FloatsLoad(p)	((Floats) *(const FloatsMemory *) (p))
#define DoublesLoad(p)	((Doubles) *(const DoublesMemory *) (p))
#define IntsLoad(p)		((Ints) *(const IntsMemory *) (p))
#define FloatsStore(p, x)	(*(FloatsMemory *) (p) = (FloatsMemory) (x))
#define DoublesStore(p, x)	(*(DoublesMemory *) (p) = (DoublesMemory) (x))
#define IntsStore(p, x)		(*(IntsMemory *) (p) = (IntsMemory) (x))

#define IntsAll(x)		((Ints) {0} + (x))

/*
 * The compiler takes an index as it is.  Otherwise gcc 12 computes the addresses of
 * one array from those of another in each step of a tile.
 */
#define KeepIndex(i)	__asm__("" : "+r"(i))

/* The sum of 16 lanes, in the order that all instruction sets keep. */
TEMPLATE float4
floats_sum(Floats *lanes)
{
#pragma GCC unroll 2
	for (int h = REGS / 2; h > 0; h /= 2)
	{
#pragma GCC unroll 2
		for (int i = 0; i < h; i++)
			lanes[i] += lanes[i + h];
	}
	return lanes_sum(lanes[0]);
}

/* ---- rows ---- */

/* Up to LANES elements of a row, zeros behind them; all of them if n is a constant. */
TEMPLATE Floats
elements_load(const void *row, Size i, int n, bool half)
{
	if (half)
		return n >= LANES ? halves_load((const uint16 *) row + i) :
			halves_load_some((const uint16 *) row + i, n);
	return n >= LANES ? FloatsLoad((const float4 *) row + i) :
		floats_load_some((const float4 *) row + i, n);
}

/* 16 elements of each row from i on, or n; a constant if there are 16. */
TEMPLATE void
float_rows_add(const float4 *query, const char *const *row, Size i, int n,
			   bool half, EcpMetric metric, Floats sums[][REGS])
{
#pragma GCC unroll 4
	for (int b = 0; b < REGS; b++)
	{
		Size		first = i + b * LANES;
		int			count = n - b * LANES;
		Floats		q = elements_load(query, first, count, false);

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			Floats		x = elements_load(row[r], first, count, half);

			if (metric == ECP_METRIC_IP)
				sums[r][b] = multiply_add(x, q, sums[r][b]);
			else
			{
				x = x - q;
				if (metric == ECP_METRIC_L2)
					sums[r][b] = multiply_add(x, x, sums[r][b]);
				else			/* without the sign */
					sums[r][b] += (Floats) ((Ints) x & PG_INT32_MAX);
			}
		}
	}
}

TEMPLATE void
float_rows(const float4 *query, int dims, const char *rows, Size stride, int n,
		   bool half, EcpMetric metric, float4 *result)
{
	int			left = dims % 16;
	Size		whole = dims - left;

	for (int first = 0; first < n; first += ROWS)
	{
		const char *row[ROWS];
		Floats		sums[ROWS][REGS];

#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			row[r] = rows + Min(first + r, n - 1) * stride;
#pragma GCC unroll 4
			for (int b = 0; b < REGS; b++)
				sums[r][b] = FloatsAll(0);
		}
		for (Size i = 0; i < whole; i += 16)
			float_rows_add(query, row, i, 16, half, metric, sums);
		if (left > 0)
			float_rows_add(query, row, whole, left, half, metric, sums);
#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
		{
			if (first + r < n)
				result[first + r] = floats_sum(sums[r]);
		}
	}
}

#define FloatRows(name, half, metric) \
static TARGET void \
name(const float4 *query, int dims, const char *rows, Size stride, int n, \
	 float4 *sums) \
{ \
	float_rows(query, dims, rows, stride, n, half, metric, sums); \
}

FloatRows(f32_l2_rows, false, ECP_METRIC_L2)
FloatRows(f32_dot_rows, false, ECP_METRIC_IP)
FloatRows(f32_l1_rows, false, ECP_METRIC_L1)
FloatRows(f16_l2_rows, true, ECP_METRIC_L2)
FloatRows(f16_dot_rows, true, ECP_METRIC_IP)
FloatRows(f16_l1_rows, true, ECP_METRIC_L1)

static TARGET void
f16_floats(const uint16 *x, int n, float4 *floats)
{
	int			left = n % LANES;
	Size		whole = n - left;

	for (Size i = 0; i < whole; i += LANES)
		FloatsStore(floats + i, halves_load(x + i));
	if (left > 0)
		floats_store_some(floats + whole,
						  elements_load(x, whole, left, true), left);
}

static TARGET void
f16_halves(const float4 *x, int n, uint16 *halves)
{
	int			left = n % LANES;
	Size		whole = n - left;

	for (Size i = 0; i < whole; i += LANES)
		halves_store(halves + i, FloatsLoad(x + i));
	if (left > 0)
		halves_store_some(halves + whole, floats_load_some(x + whole, left),
						  left);
}

/* ---- panels ---- */

/*
 * The block of register r of a tile that begins with block "first" of a panel of n
 * leaders: the last one again if there are no more, which changes nothing.
 */
TEMPLATE int
tile_block(int n, int first, int r)
{
	return r < REGS ? first : Min(first + r / REGS, (n - 1) / 16);
}

/* Where the leaders of nregs registers are. */
TEMPLATE void
tile_leaders(const EcpPanelView *panel, int n, int first, int nregs,
			 Size block_bytes, const char **leaders)
{
#pragma GCC unroll 16
	for (int r = 0; r < nregs; r++)
		leaders[r] = (const char *) panel->data +
			tile_block(n, first, r) * block_bytes + r % REGS * WIDTH;
}

/* Ranks of nvectors vectors by nregs registers of leaders. */
TEMPLATE void
f32_tile(const float4 *const *vector, int nvectors, const char *const *leaders,
		 int dims, int nregs, bool squared, Floats *ranks)
{
#pragma GCC unroll 24
	for (int i = 0; i < nvectors * nregs; i++)
		ranks[i] = FloatsAll(0);
	for (Size i = 0, at = 0; i < dims; i++, at += 64)
	{
		Floats		x[16];

		KeepIndex(i);
#pragma GCC unroll 16
		for (int r = 0; r < nregs; r++)
			x[r] = FloatsLoad(leaders[r] + at);
#pragma GCC unroll 6
		for (int v = 0; v < nvectors; v++)
		{
			Floats		q = FloatsAll(vector[v][i]);

#pragma GCC unroll 16
			for (int r = 0; r < nregs; r++)
			{
				Floats	   *rank = &ranks[v * nregs + r];

				if (squared)
				{
					Floats		diff = x[r] - q;

					*rank = multiply_add(diff, diff, *rank);
				}
				else			/* the rank is the negative product */
					*rank = multiply_subtract(x[r], q, *rank);
			}
		}
	}
}

/* Ranks of the leaders from "done" on, of those from "first" on. */
TEMPLATE void
f32_rank_some(const EcpPanelView *panel, const float4 *vector, int first,
			  int n, int done, int nblocks, bool squared, float4 *ranks)
{
	const char *leaders[RANK_BLOCKS * REGS];
	Floats		some[RANK_BLOCKS * REGS];

	tile_leaders(panel, first + n, (first + done) / 16, nblocks * REGS,
				 (Size) panel->dims * 64, leaders);
	f32_tile(&vector, 1, leaders, panel->dims, nblocks * REGS, squared, some);
#pragma GCC unroll 16
	for (int r = 0; r < nblocks * REGS; r++)
	{
		int			left = n - done - r * LANES;

		if (left >= LANES)
			FloatsStore(ranks + done + r * LANES, some[r]);
		else if (left > 0)
			floats_store_some(ranks + done + r * LANES, some[r], left);
	}
}

TEMPLATE void
f32_rank(const EcpPanelView *panel, const float4 *vector, int first, int n,
		 bool squared, float4 *ranks)
{
	for (int done = 0; done < n; done += RANK_BLOCKS * 16)
	{
		if (n - done <= 16)
			f32_rank_some(panel, vector, first, n, done, 1, squared, ranks);
		else if (n - done <= 32)
			f32_rank_some(panel, vector, first, n, done, 2, squared, ranks);
		else
			f32_rank_some(panel, vector, first, n, done, RANK_BLOCKS, squared, ranks);
	}
}

static TARGET void
f32_panel_rank(const EcpPanelView *panel, const float4 *vector, int first,
			   int n, float4 *ranks)
{
	if (panel->metric == ECP_METRIC_L2)
		f32_rank(panel, vector, first, n, true, ranks);
	else
		f32_rank(panel, vector, first, n, false, ranks);
}

/* ---- making codes ---- */

/* The transform of 16 elements. */
TEMPLATE void
hadamard_lanes(Floats *v)
{
	const Ints	numbers = LANE_NUMBERS;

#pragma GCC unroll 4
	for (int m = 1; m < LANES; m *= 2)
	{
		Ints		upper = (Ints) ((numbers & m) != 0) & PG_INT32_MIN;

		/* lower lane: v + partner; upper lane: partner - v */
#pragma GCC unroll 4
		for (int b = 0; b < REGS; b++)
			v[b] = lanes_swap(v[b], m) + (Floats) ((Ints) v[b] ^ upper);
	}
#pragma GCC unroll 2
	for (int h = 1; h < REGS; h *= 2)
	{
#pragma GCC unroll 4
		for (int b = 0; b < REGS; b++)
		{
			Floats		lower = v[b & ~h];

			if (b & h)
			{
				v[b & ~h] = lower + v[b];
				v[b] = lower - v[b];
			}
		}
	}
}

static TARGET void
f32_hadamard(float4 *x, const uint32 *signs, int n, float4 scale)
{
	Size		h = 16;

	for (Size i = 0; i < n; i += 16)
	{
		Floats		v[REGS];

#pragma GCC unroll 4
		for (int b = 0; b < REGS; b++)
			v[b] = (Floats) (IntsLoad(x + i + b * LANES) ^
							 IntsLoad(signs + i + b * LANES));
		hadamard_lanes(v);
#pragma GCC unroll 4
		for (int b = 0; b < REGS; b++)
			FloatsStore(x + i + b * LANES, v[b] * FloatsAll(n == 16 ? scale : 1));
	}
	/* two steps at a time, which halves the loads and stores */
	for (; h * 2 < n; h *= 4)
	{
		Floats		times = FloatsAll(h * 4 == n ? scale : 1);

		for (Size first = 0; first < n; first += 4 * h)
		{
			for (Size i = first; i < first + h; i += LANES)
			{
				Floats		a = FloatsLoad(x + i);
				Floats		b = FloatsLoad(x + i + h);
				Floats		c = FloatsLoad(x + i + 2 * h);
				Floats		d = FloatsLoad(x + i + 3 * h);

				FloatsStore(x + i, ((a + b) + (c + d)) * times);
				FloatsStore(x + i + h, ((a - b) + (c - d)) * times);
				FloatsStore(x + i + 2 * h, ((a + b) - (c + d)) * times);
				FloatsStore(x + i + 3 * h, ((a - b) - (c - d)) * times);
			}
		}
	}
	for (Size i = 0; h < n && i < h; i += LANES)
	{
		Floats		a = FloatsLoad(x + i);
		Floats		b = FloatsLoad(x + i + h);

		FloatsStore(x + i, (a + b) * FloatsAll(scale));
		FloatsStore(x + i + h, (a - b) * FloatsAll(scale));
	}
}

static TARGET void
f32_signs(const float4 *x, const float4 *y, int n, uint8 *bits, float4 *sum,
		  float4 *y_sum)
{
	Floats		sums[REGS];
	Floats		y_sums[REGS];

#pragma GCC unroll 4
	for (int b = 0; b < REGS; b++)
		sums[b] = y_sums[b] = FloatsAll(0);
	for (Size i = 0; i < n; i += 16)
	{
		uint16		word = 0;

#pragma GCC unroll 4
		for (int b = 0; b < REGS; b++)
		{
			Ints		v = IntsLoad(x + i + b * LANES);
			Mask		negative = floats_not_above((Floats) v, FloatsAll(0));
			Ints		flip = mask_select(negative, IntsAll(PG_INT32_MIN), IntsAll(0));

			word |= mask_bits(negative) << (b * LANES);
			sums[b] += (Floats) (v & PG_INT32_MAX);
			y_sums[b] += (Floats) (IntsLoad(y + i + b * LANES) ^ flip);
		}
		word = ~word;
		memcpy(bits + i / 8, &word, sizeof(word));
	}
	*sum = floats_sum(sums);
	*y_sum = floats_sum(y_sums);
}

/* ---- conversions and sums ---- */

static TARGET void
u8_floats(const uint8 *x, int n, float4 *floats)
{
	Size		i = 0;

	for (; i + LANES <= n; i += LANES)
		FloatsStore(floats + i, bytes_to_floats(x + i));
	for (; i < n; i++)
		floats[i] = x[i];
}

static TARGET void
f32_bytes(const float4 *x, const float4 *lows, float4 scale, int n,
		  uint8 *bytes)
{
	for (Size i = 0; i < n; i += 16)
	{
		Floats		v[REGS];

#pragma GCC unroll 4
		for (int b = 0; b < REGS; b++)
			v[b] = (FloatsLoad(x + i + b * LANES) -
					FloatsLoad(lows + i + b * LANES)) * FloatsAll(scale);
		floats_to_bytes(bytes + i, v);
	}
}

/* 16 elements from i on, or n; a constant if there are 16. */
TEMPLATE void
steps_add(const float4 *vector, const float4 *middle, const float4 *step, Size i,
		  int n, bool differences, float4 *products, Ints *most, Floats *sums)
{
#pragma GCC unroll 4
	for (int b = 0; b < REGS; b++)
	{
		Size		first = i + b * LANES;
		Floats		x = elements_load(vector, first, n - b * LANES, false);
		Floats		m = FloatsLoad(middle + first);
		Floats		product;
		Ints		size;

		if (differences)
			x = m = x - m;
		sums[b] = multiply_add(x, m, sums[b]);
		product = x * FloatsLoad(step + first);
		FloatsStore(products + first, product);
		/* as numbers, floats without a sign have the same order */
		size = (Ints) product & PG_INT32_MAX;
		most[b] = mask_select(ints_less(most[b], size), size, most[b]);
	}
}

static TARGET void
f32_steps(const float4 *vector, const float4 *middle, const float4 *step, int n,
		  bool differences, float4 scale, uint8 *bytes, float4 *most, float4 *base)
{
	float4		products[ECP_DIMS_MAX + 16];
	Floats		sums[REGS];
	Ints		mosts[REGS];
	int32		sizes[16];
	int			left = n % 16;
	Size		whole = n - left;
	int32		size = 0;

#pragma GCC unroll 4
	for (int b = 0; b < REGS; b++)
	{
		sums[b] = FloatsAll(0);
		mosts[b] = IntsAll(0);
	}
	for (Size i = 0; i < whole; i += 16)
		steps_add(vector, middle, step, i, 16, differences, products, mosts, sums);
	if (left > 0)
		steps_add(vector, middle, step, whole, left, differences, products, mosts, sums);
	*base = floats_sum(sums);
#pragma GCC unroll 4
	for (int b = 0; b < REGS; b++)
		IntsStore(sizes + b * LANES, mosts[b]);
	for (int i = 0; i < 16; i++)
		size = Max(size, sizes[i]);
	memcpy(most, &size, sizeof(size));

	if (scale == 0)
		scale = EcpStepsScale(*most);
	for (Size i = 0; i < n; i += 16)
	{
		Floats		v[REGS];

#pragma GCC unroll 4
		for (int b = 0; b < REGS; b++)
			v[b] = multiply_add(FloatsLoad(products + i + b * LANES),
								FloatsAll(scale), FloatsAll(128.5f));
		floats_to_bytes(bytes + i, v);
	}
}

/* Columns whose sums are in registers, so that additions do not wait. */
#define ADD_COLUMNS		32

/* Rows of bytes whose sums 16 bits hold. */
#define ADD_ROWS		256

static TARGET void
u8_add(const uint8 *const *rows, int nrows, int n, uint32 *sums)
{
	for (int done = 0; done < nrows; done += ADD_ROWS)
	{
		int			upto = Min(done + ADD_ROWS, nrows);

		for (int i = 0; n >= ADD_COLUMNS && i < n; i += ADD_COLUMNS)
		{
			/* the last columns are read with some that are done */
			int			start = Min(i, n - ADD_COLUMNS);
			Words		columns[ADD_COLUMNS / (WIDTH / 2)];
			uint16		words[ADD_COLUMNS];

#pragma GCC unroll 4
			for (int c = 0; c < lengthof(columns); c++)
				columns[c] = (Words)
			{
				0
			};
			for (int r = done; r < upto; r++)
			{
#pragma GCC unroll 4
				for (int c = 0; c < lengthof(columns); c++)
					columns[c] += words_load(rows[r] + start + c * (WIDTH / 2));
			}
			memcpy(words, columns, sizeof(words));
			for (int c = i; c < start + ADD_COLUMNS; c++)
				sums[c] += words[c - start];
		}
		for (int i = 0; n < ADD_COLUMNS && i < n; i++)
			for (int r = done; r < upto; r++)
				sums[i] += rows[r][i];
	}
}

static TARGET void
f32_add(const float4 *const *rows, int nrows, int n, float8 *sums)
{
	int			i = 0;

	for (; i + ADD_COLUMNS <= n; i += ADD_COLUMNS)
	{
		Doubles		columns[ADD_COLUMNS / DLANES];

#pragma GCC unroll 16
		for (int c = 0; c < ADD_COLUMNS / DLANES; c++)
			columns[c] = DoublesLoad(sums + i + c * DLANES);
		for (int r = 0; r < nrows; r++)
		{
#pragma GCC unroll 16
			for (int c = 0; c < ADD_COLUMNS / DLANES; c++)
				columns[c] += doubles_load(rows[r] + i + c * DLANES);
		}
#pragma GCC unroll 16
		for (int c = 0; c < ADD_COLUMNS / DLANES; c++)
			DoublesStore(sums + i + c * DLANES, columns[c]);
	}
	for (; i < n; i++)
		for (int r = 0; r < nrows; r++)
			sums[i] += rows[r][i];
}

static TARGET uint64
f64_passed(const float8 *ranks, int n, float8 limit)
{
	uint64		passed = 0;

	for (Size i = 0; i < n; i += 16)
	{
		uint32		bits = 0;

#pragma GCC unroll 8
		for (int b = 0; b < 16; b += DLANES)
			bits |= doubles_not_above(DoublesLoad(ranks + i + b), DoublesAll(limit)) << b;
		passed |= (uint64) bits << i;
	}
	return passed;
}

static TARGET uint64
f32_passed(const float4 *ranks, int n, float4 limit)
{
	uint64		passed = 0;

	for (int i = 0; i < n; i += 16)
	{
		uint32		bits = 0;

#pragma GCC unroll 4
		for (int b = 0; b < 16; b += LANES)
			bits |= mask_bits(floats_not_above(FloatsLoad(ranks + i + b), FloatsAll(limit))) << b;
		passed |= (uint64) bits << i;
	}
	return passed;
}

#endif							/* WIDTH */

#endif							/* VECTOR_KERNELS_FLOATS_H */
