/*-------------------------------------------------------------------------
 *
 * betree_zorder.c
 *	  Z-order of points: comparison, windows and jumps.
 *
 * The key is the point itself, so an index-only scan gives it back exactly.
 * Only the order is ours: a float8 maps to a uint64 "code" that grows with
 * it, and two points compare as the numbers that interleaving the bits of
 * their codes would give, x before y.  Those 128-bit numbers are never built:
 * the coordinate whose codes differ in the more significant bit decides.
 *
 * Z-order grows with each coordinate, so all points of a rectangle lie
 * between its two corners; but the curve leaves the rectangle and returns.
 * A scan that meets a point outside asks betree_point_skip() for the next
 * position inside (bigmin, Tropf and Herzog 1981) and descends again there.
 * The scan tests the operators themselves, on the exact keys: a window may be
 * too wide, but it must never be too narrow.
 *
 * Codes.  -0.0 and 0.0 are equal and share a code, and no other code is
 * unused between -Infinity and Infinity: bigmin returns positions that no row
 * may hold, and each of them must turn back into the float8 of exactly that
 * code.  All NaNs are one value, above Infinity, as in core's float8 order.
 *
 * Windows.  "<@ box" is exact in core (plain comparisons, hence false for any
 * NaN).  "<@ circle" compares a rounded distance: its bounding box is widened
 * by more than the rounding.  "~=" calls points equal that differ by EPSILON
 * in either coordinate.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "base/compat.h"
#include "betree/define/betree_define.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/geo_decls.h"
#include "utils/sortsupport.h"

/* strategies of point_zorder_ops after those of the order */
#define STRATEGY_IN_BOX		10
#define STRATEGY_IN_CIRCLE	11
#define STRATEGY_SAME		12

#define SIGN_BIT	UINT64CONST(0x8000000000000000)

/* coordinates of a window or code pair */
#define X	0
#define Y	1

/* A rectangle of codes, its borders included */
typedef struct ZWindow
{
	uint64		lo[2];
	uint64		hi[2];
} ZWindow;

static uint64
code_from_float8(float8 value)
{
	union
	{
		float8		value;
		uint64		bits;
	}			u;

	u.value = isnan(value) ? get_float8_nan() : value;

	/* the sign of a NaN is platform lore, and it must sort last */
	if (isnan(u.value))
		u.bits &= ~SIGN_BIT;

	/* negating the bits sends -0.0 to the code of 0.0, see above */
	if (u.bits & SIGN_BIT)
		return ~u.bits + 1;
	return u.bits | SIGN_BIT;
}

static float8
code_to_float8(uint64 code)
{
	union
	{
		float8		value;
		uint64		bits;
	}			u;

	u.bits = (code & SIGN_BIT) ? code & ~SIGN_BIT : ~code + 1;
	return u.value;
}

static void
codes_from_point(const Point *point, uint64 *codes)
{
	codes[X] = code_from_float8(point->x);
	codes[Y] = code_from_float8(point->y);
}

static void
codes_to_point(const uint64 *codes, Point *point)
{
	point->x = code_to_float8(codes[X]);
	point->y = code_to_float8(codes[Y]);
}

/*
 * Three-way comparison in Z-order.
 *
 * With d = a xor b, "dx < dy and dx < (dx xor dy)" says that the leading bit
 * of dy is more significant than that of dx.
 */
static int
zorder_cmp(const uint64 *a, const uint64 *b)
{
	uint64		dx = a[X] ^ b[X];
	uint64		dy = a[Y] ^ b[Y];
	int			which = (dx < dy && dx < (dx ^ dy)) ? Y : X;

	if (a[which] == b[which])
		return 0;
	return a[which] < b[which] ? -1 : 1;
}

static int
point_cmp(const Point *a, const Point *b)
{
	uint64		acodes[2];
	uint64		bcodes[2];

	codes_from_point(a, acodes);
	codes_from_point(b, bcodes);
	return zorder_cmp(acodes, bcodes);
}

/* All points, also those with NaN and Infinity. */
static void
window_init(ZWindow *window)
{
	window->lo[X] = window->lo[Y] = code_from_float8(-get_float8_infinity());
	window->hi[X] = window->hi[Y] = code_from_float8(get_float8_nan());
}

/* Cut one dimension of the window; false if nothing of it remains. */
static bool
window_cut(ZWindow *window, int dim, float8 lo, float8 hi)
{
	window->lo[dim] = Max(window->lo[dim], code_from_float8(lo));
	window->hi[dim] = Min(window->hi[dim], code_from_float8(hi));
	return window->lo[dim] <= window->hi[dim];
}

/* Cut one dimension to what lies within "radius" of a circle's centre. */
static bool
window_cut_radius(ZWindow *window, int dim, float8 centre, float8 radius)
{
	float8		reach;

	/*
	 * Core rounds the difference of the coordinates, the hypotenuse and so
	 * the distance; together less than four units in the last place of the
	 * larger operand.  nextafter covers numbers too small for the product.
	 */
	reach = radius + (fabs(centre) + radius) * (4 * DBL_EPSILON);
	return window_cut(window, dim,
					  nextafter(centre - reach, -get_float8_infinity()),
					  nextafter(centre + reach, get_float8_infinity()));
}

/* Cut one dimension to the values that ~= may call equal to "value". */
static bool
window_cut_same(ZWindow *window, int dim, float8 value)
{
	if (isnan(value))
		return window_cut(window, dim, value, value);
	return window_cut(window, dim,
					  nextafter(value - 2 * EPSILON, -get_float8_infinity()),
					  nextafter(value + 2 * EPSILON, get_float8_infinity()));
}

/*
 * Set the window to the points that a qual may accept.
 *
 * "argument" is the right operand of the strategy's operator and not null.
 * Returns false if no point at all can satisfy the qual.
 */
static bool
window_from_qual(ZWindow *window, StrategyNumber strategy, Datum argument)
{
	window_init(window);

	switch (strategy)
	{
		case STRATEGY_IN_BOX:
			{
				BOX		   *box = DatumGetBoxP(argument);

				if (isnan(box->low.x) || isnan(box->low.y) ||
					isnan(box->high.x) || isnan(box->high.y))
					return false;
				return window_cut(window, X, box->low.x, box->high.x) &&
					window_cut(window, Y, box->low.y, box->high.y);
			}
		case STRATEGY_IN_CIRCLE:
			{
				CIRCLE	   *circle = DatumGetCircleP(argument);

				/* distances from or to infinity: leave it to the operator */
				if (!isfinite(circle->radius) ||
					!isfinite(circle->center.x) || !isfinite(circle->center.y))
					return true;
				return window_cut_radius(window, X, circle->center.x,
										 circle->radius) &&
					window_cut_radius(window, Y, circle->center.y,
									  circle->radius);
			}
		case STRATEGY_SAME:
			{
				Point	   *point = DatumGetPointP(argument);

				return window_cut_same(window, X, point->x) &&
					window_cut_same(window, Y, point->y);
			}
		default:
			elog(ERROR, "unrecognized strategy number: %d", strategy);
	}
	return false;				/* keep compiler quiet */
}

static bool
window_contains(const ZWindow *window, const uint64 *codes)
{
	return codes[X] >= window->lo[X] && codes[X] <= window->hi[X] &&
		codes[Y] >= window->lo[Y] && codes[Y] <= window->hi[Y];
}

/*
 * Find the smallest position of the window above "codes" in Z-order, which
 * must be outside the window.  Returns false if there is none.
 *
 * We walk down the bits of the interleaved number and keep the rectangle of
 * the window that shares the bits seen so far with it.  Where the rectangle
 * spans both values of a bit, it is halved.  The half on the number's side is
 * searched further; the upper half, if it is the other one, is remembered as
 * the answer should that search fail: its lowest corner is next above us.
 */
static bool
window_bigmin(const ZWindow *window, const uint64 *codes, uint64 *result)
{
	uint64		lo[2];
	uint64		hi[2];
	bool		found = false;

	memcpy(lo, window->lo, sizeof(lo));
	memcpy(hi, window->hi, sizeof(hi));

	for (uint64 bit = SIGN_BIT; bit != 0; bit >>= 1)
	{
		for (int dim = X; dim <= Y; dim++)
		{
			bool		cur = (codes[dim] & bit) != 0;
			uint64		upper;

			if (((lo[dim] ^ hi[dim]) & bit) == 0)
			{
				if (cur == ((lo[dim] & bit) != 0))
					continue;

				/* what remains of the window lies entirely to one side */
				if (cur)
					return found;
				memcpy(result, lo, sizeof(lo));
				return true;
			}

			/* where the upper half begins */
			upper = (hi[dim] & ~(bit - 1)) | bit;

			if (cur)
				lo[dim] = upper;
			else
			{
				memcpy(result, lo, sizeof(lo));
				result[dim] = upper;
				found = true;
				hi[dim] = upper - 1;
			}
		}
	}

	/* not reached while the contract holds */
	return found;
}

/*
 * Find the first position of the window in Z-order that is not before
 * "current".  Returns false if there is none.
 */
static bool
window_advance(const ZWindow *window, const Point *current, Point *next)
{
	uint64		codes[2];
	uint64		result[2];

	codes_from_point(current, codes);
	if (window_contains(window, codes))
	{
		*next = *current;
		return true;
	}
	if (!window_bigmin(window, codes, result))
		return false;
	codes_to_point(result, next);
	return true;
}

/*
 * The operators #<#, #<=#, #=#, #>=#, #># and the support functions.
 */
#define POINT_FUNCTION(name, result) \
	PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		int			cmp = point_cmp(PG_GETARG_POINT_P(0), PG_GETARG_POINT_P(1)); \
\
		return result; \
	} \
	PG_FUNCTION_INFO_V1(name)

POINT_FUNCTION(betree_point_lt, BoolGetDatum(cmp < 0));
POINT_FUNCTION(betree_point_le, BoolGetDatum(cmp <= 0));
POINT_FUNCTION(betree_point_eq, BoolGetDatum(cmp == 0));
POINT_FUNCTION(betree_point_ge, BoolGetDatum(cmp >= 0));
POINT_FUNCTION(betree_point_gt, BoolGetDatum(cmp > 0));
POINT_FUNCTION(betree_point_cmp, Int32GetDatum(cmp));

PG_FUNCTION_INFO_V1(betree_point_sortsupport);
PG_FUNCTION_INFO_V1(betree_point_skip);
PG_FUNCTION_INFO_V1(betree_point_bigmin);

static int
point_fastcmp(Datum a, Datum b, SortSupport ssup)
{
	return point_cmp(DatumGetPointP(a), DatumGetPointP(b));
}

#if SIZEOF_DATUM == 8
/* Move the upper 32 bits of a code to the even bits of the result. */
static uint64
spread_upper_half(uint64 code)
{
	code >>= 32;
	code = (code | (code << 16)) & UINT64CONST(0x0000FFFF0000FFFF);
	code = (code | (code << 8)) & UINT64CONST(0x00FF00FF00FF00FF);
	code = (code | (code << 4)) & UINT64CONST(0x0F0F0F0F0F0F0F0F);
	code = (code | (code << 2)) & UINT64CONST(0x3333333333333333);
	code = (code | (code << 1)) & UINT64CONST(0x5555555555555555);
	return code;
}

/* Abbreviated key: the first 64 of the 128 interleaved bits. */
static Datum
point_abbrev_convert(Datum original, SortSupport ssup)
{
	uint64		codes[2];

	codes_from_point(DatumGetPointP(original), codes);
	return UInt64GetDatum((spread_upper_half(codes[X]) << 1) |
						  spread_upper_half(codes[Y]));
}

/* One conversion costs less than one full comparison: never give up. */
static bool
point_abbrev_abort(int memtupcount, SortSupport ssup)
{
	return false;
}
#endif

Datum
betree_point_sortsupport(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);

	ssup->comparator = point_fastcmp;
	if (ssup->abbreviate)
	{
		ssup->comparator = ssup_datum_unsigned_cmp;
		ssup->abbrev_converter = point_abbrev_convert;
		ssup->abbrev_abort = point_abbrev_abort;
		ssup->abbrev_full_comparator = point_fastcmp;
	}
	PG_RETURN_VOID();
}

/*
 * betree_point_skip(internal) returns boolean
 *
 * Support function 7: the next point that can satisfy a qual, see BetreeSkip.
 */
Datum
betree_point_skip(PG_FUNCTION_ARGS)
{
	BetreeSkip *skip = (BetreeSkip *) PG_GETARG_POINTER(0);
	Point	   *next;
	ZWindow		window;

	if (!window_from_qual(&window, skip->qual->sk_strategy,
						  skip->qual->sk_argument))
		PG_RETURN_BOOL(false);

	next = (Point *) palloc(sizeof(Point));
	if (!skip->have_value)
		codes_to_point(window.lo, next);
	else if (!window_advance(&window, DatumGetPointP(skip->value), next))
		PG_RETURN_BOOL(false);

	skip->value = PointPGetDatum(next);
	PG_RETURN_BOOL(true);
}

/*
 * betree_point_bigmin(lo point, hi point, current point) returns point
 *
 * The first position in Z-order of the rectangle (lo, hi) that is not before
 * "current"; NULL if there is none.  For callers that search such an order by
 * hand, and for tests.
 */
Datum
betree_point_bigmin(PG_FUNCTION_ARGS)
{
	Point	   *current = PG_GETARG_POINT_P(2);
	Point	   *next = (Point *) palloc(sizeof(Point));
	ZWindow		window;

	codes_from_point(PG_GETARG_POINT_P(0), window.lo);
	codes_from_point(PG_GETARG_POINT_P(1), window.hi);
	if (window.lo[X] > window.hi[X] || window.lo[Y] > window.hi[Y] ||
		!window_advance(&window, current, next))
		PG_RETURN_NULL();
	PG_RETURN_POINT_P(next);
}
