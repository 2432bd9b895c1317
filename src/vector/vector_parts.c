/*-------------------------------------------------------------------------
 *
 * vector_parts.c
 *	  PARTS: rows of bytes whose upper four bits say which of them are near.
 *
 * The upper four bits of all elements of a row are in one place, and the lower
 * ones in another (vector_distance.h).  A search reads the upper parts of all
 * rows, the lower ones of few, and no byte is stored twice.
 *
 * An element is taken for the level of its upper part: 16 i + 8, or 4 if that is
 * 0, since small elements of real vectors are mostly small.  With y for the
 * levels of row x, and e = x - y,
 *
 *	  |q - x|^2 = |q - y|^2 + |e|^2 - 2 <q - y, e>
 *
 * What is before the last product is the row's estimate s, for which the row has
 * a number, |y|^2 - 256 sum(y) + |e|^2, and the upper parts have the rest:
 *
 *	  s = |q|^2 + number - 2 <q - 128, y>
 *
 * The last product is at most 2 |e| |q - y|, and |q - y|^2 is not above s, so that
 *
 *	  s - 2 |e| sqrt(s)
 *
 * is never above the rank: a row that is beyond a limit by this bound is.  A
 * row's factor has its number in the upper 24 bits and 2 |e| in the lower 8, in
 * units such that the largest possible is 255, rounded up.
 *
 * Rounding of floats does not change that.  s is a whole number that a float has
 * room for, since dims is at most ECP_PARTS_DIMS_MAX.  The root and its product
 * with 2 |e| may be rounded down, for which the units are a little larger.  The
 * difference may be rounded up, but not above a limit that it was not above,
 * since the limit is a whole number, too.
 *
 * The levels are multiples of four, and kernels multiply by a quarter of them: the
 * sum of four products of such a byte with a signed one fits 16 bits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_kernels.h"

/* |e| of an element at most: of 15, whose level is 4. */
#define PARTS_ERROR_MAX	11

/* What roundings may take off a bound, relative to 2 |e|. */
#define PARTS_ROUNDING		1e-6

/* Quarters of the levels. */
const uint8 ecp_parts_levels[16] = {
	1, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62
};

/* What one step of a factor's lower byte stands for. */
static double
parts_unit(int dims)
{
	return 2 * PARTS_ERROR_MAX * sqrt(dims) / PG_UINT8_MAX;
}

void
ecp_parts_put(uint8 *upper, uint8 *lower, int slot, int dims,
			  const uint8 *row)
{
	int			n = EcpPartsBytes(dims);

	Assert(slot >= 0);
	upper += (Size) slot * n;
	lower += (Size) slot * n;
	memset(upper, 0, n);
	memset(lower, 0, n);
	for (int i = 0; i < Min(n, dims); i++)
	{
		upper[i] = row[i] >> 4;
		lower[i] = row[i] & 0x0F;
	}
	for (int i = n; i < dims; i++)
	{
		upper[i - n] |= row[i] & 0xF0;
		lower[i - n] |= row[i] << 4;
	}
}

void
ecp_parts_get(const uint8 *upper, const uint8 *lower, int slot, int dims,
			  uint8 *row)
{
	int			n = EcpPartsBytes(dims);

	Assert(slot >= 0);
	upper += (Size) slot * n;
	lower += (Size) slot * n;
	for (int i = 0; i < Min(n, dims); i++)
		row[i] = upper[i] << 4 | (lower[i] & 0x0F);
	for (int i = n; i < dims; i++)
		row[i] = (upper[i - n] & 0xF0) | lower[i - n] >> 4;
}

uint32
ecp_parts_factor(int dims, const uint8 *row)
{
	int32		number = 0;
	int32		error2 = 0;
	double		width;

	Assert(dims <= ECP_PARTS_DIMS_MAX);
	for (int i = 0; i < dims; i++)
	{
		int32		y = row[i] < 16 ? 4 : (row[i] & 0xF0) + 8;
		int32		e = row[i] - y;

		number += y * y - 256 * y;
		error2 += e * e;
	}
	width = ceil(2 * sqrt(error2) / parts_unit(dims));
	return (uint32) (number + error2) << 8 | Min((uint32) width, PG_UINT8_MAX);
}

void
ecp_parts_query_init(EcpPartsQuery *parts, int dims, const uint8 *query)
{
	int			n = EcpPartsBytes(dims);

	memset(parts, 0, sizeof(EcpPartsQuery));
	parts->bytes = n;
	parts->unit = (float4) (parts_unit(dims) * (1 + PARTS_ROUNDING));
	for (int i = 0; i < dims; i++)
	{
		parts->values[i / n][i % n] = query[i];
		parts->elements[i / n][i % n] = (int8) (query[i] - 128);
		parts->base += query[i] * query[i];
	}
	memset(parts->valid, 0xFF, n);
}
