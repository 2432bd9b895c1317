/*-------------------------------------------------------------------------
 *
 * vector_kernels.h
 *	  The kernels of one instruction set; private to src/vector.
 *
 * A kernel file fills in one EcpKernels.  Everything that is not in a hot
 * loop (factors, padding, the last step from sums to ranks) is in
 * vector_dispatch.c and vector_panel.c, once.  Kernels allocate nothing and
 * raise no errors, so that test/unit can run them outside a server.
 *
 * What makes the answers equal to the last bit:
 *
 * - uint8 and bits are integer arithmetic modulo 2^32, so order does not matter and
 *	 bytes that mean nothing cannot trap.
 * - float32 rows: lane i of 16 takes the elements i, i + 16, ... by fused
 *	 multiply-add; a last group of fewer than 16 elements is filled up with
 *	 zeros; then lane i + 8 is added to lane i, and so on for 4, 2 and 1.
 * - float16 rows: each element becomes the float32 that it is, then as above.
 * - float32 panels: a leader's sum takes the elements in order by fused
 *	 multiply-add, so each leader is a lane and no sum crosses lanes.
 *
 * What one instruction set has prepared (queries, tables, columns, panels),
 * all others read: the setting ecp.kernels may change while a scan is open.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_KERNELS_H
#define VECTOR_KERNELS_H

#include <math.h>

#include "base/bits.h"
#include "vector/vector_distance.h"

/* Vectors that ecp_panel_nearest() takes to a kernel at a time. */
#define ECP_PANEL_VECTORS	96

#define EcpGroups(dims)		(((dims) + ECP_GROUP - 1) / ECP_GROUP)

/*
 * A uint8 query for the kernels.  The elements are q - 128, which is what
 * the instructions for unsigned x signed bytes take, followed by zeros up to
 * a multiple of 64.  For every row
 *		rank = base + factor_times * factor + dot_times * dot
 * where dot is the inner product of the row with the elements here.
 */
typedef struct EcpU8Query
{
	const int8 *elements;
	int			dims;
	int32		base;
	int32		factor_times;
	int32		dot_times;
} EcpU8Query;

/*
 * A query for PARTS (vector_parts.c).  A row whose upper part stands for levels
 * with the inner product "dot" with the elements here, and that has this factor,
 * is near if its bound is not above a limit:
 *		estimate = base + (factor >> 8) - 2 * dot, at least 0
 *		bound = estimate - unit * (factor & 255) * sqrt(estimate)
 * the latter by one product and then a fused multiply-add.
 */
#define ECP_PARTS_BYTES_MAX	128

typedef struct EcpPartsQuery
{
	/* of the elements in lower bits, of those in upper ones; then zeros */
	int8		elements[2][ECP_PARTS_BYTES_MAX];	/* minus 128 */
	uint8		values[2][ECP_PARTS_BYTES_MAX];
	uint8		valid[ECP_PARTS_BYTES_MAX]; /* 0xFF where a row has bytes */
	int			bytes;			/* of either half of a row */
	int32		base;
	float4		unit;
} EcpPartsQuery;

/* For each upper part, a quarter of its level. */
extern const uint8 ecp_parts_levels[16];

extern void ecp_parts_query_init(EcpPartsQuery *parts, int dims,
								 const uint8 *query);

/* Inner products of two uint8 vectors, each with itself and the other. */
typedef struct EcpU8Sums
{
	int32		aa;
	int32		ab;
	int32		bb;
} EcpU8Sums;

/*
 * A panel as the kernels see it.  uint8: for every block of 16 leaders the
 * groups one after the other, 16 x 4 bytes each; "factors" has a constant a
 * leader, and for a vector given as int8 (minus 128, as above)
 *		rank = base of the vector + factor - (dot << shift)
 * float32: for every block the elements one after the other, 16 floats each.
 */
typedef struct EcpPanelView
{
	EcpMetric	metric;
	int			dims;
	int			shift;			/* uint8: 1 for L2, 0 for IP */
	const int32 *factors;		/* uint8 */
	const void *data;			/* 64-byte aligned */
} EcpPanelView;

/*
 * A query as the kernel of codes takes it; see vector_codes.h.  For a row
 * whose table entries add up to "sum"
 *		bound = base + add - times * (low + step * sum) - radius * width
 * each product by fused multiply-add, from the inside outwards.
 */
typedef struct EcpCodeScan
{
	const uint8 *tables;		/* 16 bytes a group, 64-byte aligned */
	int			ngroups;		/* a multiple of 4 */
	float4		low;
	float4		step;
	float4		base;
	float4		radius;
} EcpCodeScan;

/* Bytes of each of the eight parts of a query for planes of bits. */
#define EcpPlanePadded(bytes)	TYPEALIGN(64, bytes)

typedef struct EcpKernels
{
	const char *name;

	/* Does this CPU, and the operating system, have the instructions? */
	bool		(*supported) (void);

	/*
	 * Sum of the elements and of their squares; and unless "shifted" is NULL,
	 * the elements minus 128 there, followed by zeros up to a whole group.
	 */
	void		(*u8_prepare) (const uint8 *elements, int dims, int8 *shifted,
							   int32 *sum, int32 *norm2);

	/* ranks[i] as EcpU8Query says, for i < n */
	void		(*u8_rank_rows) (const EcpU8Query *query, const uint8 *rows,
								 Size stride, const int32 *factor, int n,
								 float8 *ranks);
	void		(*u8_rank_columns) (const EcpU8Query *query,
									const uint8 *columns, int nslots,
									const int32 *factor, int n,
									float8 *ranks);

	/* which of n <= ECP_PASS_ROWS rows are near, and ranks of some of them */
	uint64		(*u8_parts_near) (const EcpPartsQuery *query,
								  const uint8 *upper, const int32 *factor,
								  int n, float4 limit);
	void		(*u8_parts_rank) (const EcpPartsQuery *query,
								  const uint8 *upper, const uint8 *lower,
								  uint64 rows, float8 *ranks);

	/*
	 * The same for nqueries <= ECP_PASS_QUERIES queries and n <=
	 * ECP_PASS_ROWS slots: passed[q] has the bits of the slots i whose rank,
	 * in ranks[q * ECP_PASS_ROWS + i], is not above limits[q].  NULL: one
	 * query at a time.
	 */
	void		(*u8_pass_columns) (const EcpU8Query *const *queries,
									int nqueries, const int32 *limits,
									const uint8 *columns, int nslots,
									const int32 *factor, int n,
									uint64 *passed, int32 *ranks);
	void		(*u8_sums) (const uint8 *a, const uint8 *b, int dims,
							EcpU8Sums *sums);

	/* ranks[i] is the number of bits in which row i < n differs */
	void		(*bit_rank_rows) (const uint8 *query, int bytes,
								  const uint8 *rows, Size stride, int n,
								  float8 *ranks);

	/* sums[i] of squared differences, or of products, with row i < n */
	void		(*f32_l2_rows) (const float4 *query, int dims,
								const char *rows, Size stride, int n,
								float4 *sums);
	void		(*f32_dot_rows) (const float4 *query, int dims,
								 const char *rows, Size stride, int n,
								 float4 *sums);

	/* the same of float16 rows, and the sum of the squares of one */
	void		(*f16_l2_rows) (const float4 *query, int dims,
								const char *rows, Size stride, int n,
								float4 *sums);
	void		(*f16_dot_rows) (const float4 *query, int dims,
								 const char *rows, Size stride, int n,
								 float4 *sums);
	float4		(*f16_norm2) (const uint16 *row, int dims);

	/* n float16 elements as float32, and the reverse, to the nearest even */
	void		(*f16_floats) (const uint16 *x, int n, float4 *floats);
	void		(*f16_halves) (const float4 *x, int n, uint16 *halves);

	/*
	 * Ranks of leaders first .. first + n - 1 against one vector.  uint8:
	 * elements as in EcpU8Query, ranks without the vector's base.
	 */
	void		(*u8_panel_rank) (const EcpPanelView *panel,
								  const int8 *vector, int first, int n,
								  int32 *ranks);
	void		(*f32_panel_rank) (const EcpPanelView *panel,
								   const float4 *vector, int first, int n,
								   float4 *ranks);

	/*
	 * Nearest of leaders 0 .. n - 1 (n >= 1) for at most ECP_PANEL_VECTORS
	 * vectors, "stride" bytes apart; the rank as above.  If no rank is below
	 * infinity the nearest is leader 0.
	 */
	void		(*u8_panel_nearest) (const EcpPanelView *panel, int n,
									 const int8 *vectors, Size stride,
									 int nvectors,
									 int32 *leaders, int32 *ranks);
	void		(*f32_panel_nearest) (const EcpPanelView *panel, int n,
									  const char *vectors, Size stride,
									  int nvectors,
									  int32 *leaders, float4 *ranks);

	/*
	 * Flip the sign of element i where signs[i] has its top bit set, then a
	 * Hadamard transform of n elements (a power of two from 16 on), times
	 * scale; in place.
	 */
	void		(*f32_hadamard) (float4 *x, const uint32 *signs, int n,
								 float4 scale);

	/*
	 * The tables of EcpCodeScan: of each four numbers the sums of any of
	 * them, above the least such sum, which are less than 255.5; rounded.
	 */
	void		(*code_tables) (const float4 *steps, int ngroups,
								uint8 *tables);

	/*
	 * Of n elements (a multiple of 16): a bit each, set where it is positive;
	 * the sum of their absolute values; and the sum of the elements of y,
	 * with the other sign where the bit is not set.
	 */
	void		(*f32_signs) (const float4 *x, const float4 *y, int n,
							  uint8 *bits, float4 *sum, float4 *y_sum);

	/* n uint8 elements as floats */
	void		(*u8_floats) (const uint8 *x, int n, float4 *floats);

	/* nrows rows of n elements, added to sums one after the other */
	void		(*u8_add) (const uint8 *const *rows, int nrows, int n,
						   uint32 *sums);
	void		(*f32_add) (const float4 *const *rows, int nrows, int n,
							float8 *sums);

	/*
	 * Scale n floats to a sum of squares of one; false, without a change, if
	 * it is zero.
	 */
	bool		(*f32_unit) (float4 *x, int n);

	/*
	 * n floats (a multiple of 16), minus "lows", times scale, as uint8;
	 * values out of range become 0 or 255.
	 */
	void		(*f32_bytes) (const float4 *x, const float4 *lows,
							  float4 scale, int n, uint8 *bytes);

	/*
	 * Which of n <= 64 numbers are not above the limit, and so all that are
	 * NaN. Reads a multiple of 16; bits from n on are of no use.
	 */
	uint64		(*f64_passed) (const float8 *ranks, int n, float8 limit);
	uint64		(*f32_passed) (const float4 *ranks, int n, float4 limit);

	/*
	 * dots[i] of row i < n of "bytes" (a multiple of 2) bytes: the sum of the
	 * elements of a query whose bits are set.  Bit j of byte b is that of the
	 * element query[j * EcpPlanePadded(bytes) + b].  The query is aligned to
	 * 64 bytes, and each of its parts ends in zeros.
	 */
	void		(*plane_dots) (const int8 *query, int bytes,
							   const uint8 *rows, Size stride, int n,
							   int32 *dots);

	/* bounds of nblocks blocks of 32 rows, as EcpCodeScan says */
	void		(*code_bounds) (const EcpCodeScan *scan, const uint8 *blocks,
								const float4 *add, const float4 *times,
								const float4 *width, int nblocks,
								float4 *bounds);
} EcpKernels;

/*
 * The nearest of the leaders from the best ones of each lane: lane l of
 * block b is leader 16 b + l.  Equal ranks: the lower number.
 */
#define EcpLanesNearest(lane_ranks, lane_blocks, leader, rank) \
	do { \
		(rank) = (lane_ranks)[0]; \
		(leader) = (lane_blocks)[0] * ECP_PANEL_BLOCK; \
		for (int lane_ = 1; lane_ < ECP_PANEL_BLOCK; lane_++) \
		{ \
			int32		number_ = (lane_blocks)[lane_] * ECP_PANEL_BLOCK + lane_; \
\
			if ((lane_ranks)[lane_] < (rank) || \
				((lane_ranks)[lane_] == (rank) && number_ < (leader))) \
			{ \
				(rank) = (lane_ranks)[lane_]; \
				(leader) = number_; \
			} \
		} \
	} while (0)

/* What lies between a half's range of exponents and a float4's. */
#define HALF_SCALE			0x1p112f
#define HALF_EXPONENT		0x7C00
#define HALF_SIGN			0x8000
#define HALF_TO_FLOAT4_SHIFT	13	/* bits of the mantissa */
#define FLOAT4_EXPONENT		0x7F800000	/* infinity or NaN */

/*
 * A half's bits, moved to where a float4 has its mantissa and exponent, are
 * the number divided by HALF_SCALE, also when the half is subnormal; but
 * infinity and NaN have to be made so.
 */
static inline float4
ecp_half_to_float(uint16 half)
{
	uint32		bits = (uint32) (half & ~HALF_SIGN) << HALF_TO_FLOAT4_SHIFT;
	float4		number;

	memcpy(&number, &bits, sizeof(number));
	number *= HALF_SCALE;
	memcpy(&bits, &number, sizeof(bits));
	if ((half & HALF_EXPONENT) == HALF_EXPONENT)
		bits |= FLOAT4_EXPONENT;
	bits |= (uint32) (half & HALF_SIGN) << 16;
	memcpy(&number, &bits, sizeof(number));
	return number;
}

/*
 * The nearest half, of two the even one; infinity from 65520 on.  Below 2^-14
 * halves are the multiples of 2^-24, to which adding 0.5 rounds a float.
 */
static inline uint16
ecp_half_from_float(float4 number)
{
	const uint32 first_normal = 0x38800000; /* 2^-14 */
	const uint32 one_half = 0x3F000000; /* 0.5 */
	uint32		bits;
	uint32		sign;

	memcpy(&bits, &number, sizeof(bits));
	sign = bits >> 16 & HALF_SIGN;
	bits &= PG_INT32_MAX;
	if (bits > FLOAT4_EXPONENT) /* NaN */
		return sign | HALF_EXPONENT | 0x200 |
			(bits >> HALF_TO_FLOAT4_SHIFT & 0x3FF);
	if (bits < first_normal)
	{
		number = fabsf(number) + 0.5f;
		memcpy(&bits, &number, sizeof(bits));
		return sign | (bits - one_half);
	}
	bits += 0xFFF + (bits >> HALF_TO_FLOAT4_SHIFT & 1);
	bits = (bits - (112 << 23)) >> HALF_TO_FLOAT4_SHIFT;
	return sign | Min(bits, HALF_EXPONENT);
}

/*
 * Bits in which two strings of bytes differ.  To be expanded where it is known
 * whether the CPU has an instruction that counts bits.
 */
static inline __attribute__((always_inline))
int32
ecp_bits_differ_expand(const uint8 *a, const uint8 *b, int bytes)
{
	int64		count = 0;
	int			i = 0;

	for (; i + (int) sizeof(uint64) <= bytes; i += sizeof(uint64))
	{
		uint64		x;
		uint64		y;

		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		count += __builtin_popcountll(x ^ y);
	}
	for (; i < bytes; i++)
		count += __builtin_popcount(a[i] ^ b[i]);
	return (int32) count;
}

/* Registers of 16 lanes, whatever instruction set they are expanded for. */
typedef float4 EcpLanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32 EcpLaneNumbers __attribute__((vector_size(64), aligned(4), may_alias));

#define ECP_LANES	((EcpLaneNumbers) {0, 1, 2, 3, 4, 5, 6, 7, \
									   8, 9, 10, 11, 12, 13, 14, 15})

/*
 * Lane i is lane i ^ m of x, where m is 1, 2, 4 or 8.  clang, which also makes
 * the server's JIT bitcode, wants the numbers of lanes written out.
 */
#ifdef __clang__
#define EcpLanesSwap(x, m) \
	((m) == 1 ? __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, \
										9, 8, 11, 10, 13, 12, 15, 14) : \
	 (m) == 2 ? __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, \
										10, 11, 8, 9, 14, 15, 12, 13) : \
	 (m) == 4 ? __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, \
										12, 13, 14, 15, 8, 9, 10, 11) : \
	 __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, \
							 0, 1, 2, 3, 4, 5, 6, 7))
#else
#define EcpLanesSwap(x, m)	__builtin_shuffle(x, ECP_LANES ^ (m))
#endif

/*
 * The transform, to be expanded in functions of any instruction set: each
 * element is the same sums in the same order.
 */
static inline __attribute__((always_inline))
void
ecp_hadamard_expand(float4 *x, const uint32 *signs, int n, float4 scale)
{
	int			h = 16;

	for (int i = 0; i < n; i += 16)
	{
		EcpLanes	v = (EcpLanes) (*(EcpLaneNumbers *) (x + i) ^
									*(const EcpLaneNumbers *) (signs + i));

#pragma GCC unroll 4
		for (int m = 1; m < 16; m *= 2)
		{
			EcpLanes	partner = EcpLanesSwap(v, m);
			EcpLaneNumbers upper = (ECP_LANES & m) != 0;

			/* lower lane: v + partner; upper lane: partner - v */
			v = partner +
				(EcpLanes) ((EcpLaneNumbers) v ^ (upper & PG_INT32_MIN));
		}
		*(EcpLanes *) (x + i) = v * (n == 16 ? scale : 1);
	}
	/* two steps at a time, which halves the loads and stores */
	for (; h * 2 < n; h *= 4)
	{
		float4		times = h * 4 == n ? scale : 1;

		for (int first = 0; first < n; first += 4 * h)
		{
			for (int i = first; i < first + h; i += 16)
			{
				EcpLanes	a = *(EcpLanes *) (x + i);
				EcpLanes	b = *(EcpLanes *) (x + i + h);
				EcpLanes	c = *(EcpLanes *) (x + i + 2 * h);
				EcpLanes	d = *(EcpLanes *) (x + i + 3 * h);
				EcpLanes	sum_ab = a + b;
				EcpLanes	sum_cd = c + d;
				EcpLanes	less_ab = a - b;
				EcpLanes	less_cd = c - d;

				*(EcpLanes *) (x + i) = (sum_ab + sum_cd) * times;
				*(EcpLanes *) (x + i + h) = (less_ab + less_cd) * times;
				*(EcpLanes *) (x + i + 2 * h) = (sum_ab - sum_cd) * times;
				*(EcpLanes *) (x + i + 3 * h) = (less_ab - less_cd) * times;
			}
		}
	}
	if (h < n)
	{
		for (int i = 0; i < h; i += 16)
		{
			EcpLanes	a = *(EcpLanes *) (x + i);
			EcpLanes	b = *(EcpLanes *) (x + i + h);

			*(EcpLanes *) (x + i) = (a + b) * scale;
			*(EcpLanes *) (x + i + h) = (a - b) * scale;
		}
	}
}

typedef uint8 EcpLaneBytes __attribute__((vector_size(16), aligned(1), may_alias));

static inline __attribute__((always_inline))
void
ecp_bytes_expand(const float4 *x, const float4 *lows, float4 scale, int n,
				 uint8 *bytes)
{
	for (int i = 0; i < n; i += 16)
	{
		EcpLanes	v = (*(const EcpLanes *) (x + i) -
						 *(const EcpLanes *) (lows + i)) * scale;
		EcpLaneNumbers low = v > 0;
		EcpLaneNumbers high = v >= 255;

		v = (EcpLanes) ((EcpLaneNumbers) v & low & ~high);
		*(EcpLaneBytes *) (bytes + i) =
			__builtin_convertvector(__builtin_convertvector(v, EcpLaneNumbers) |
									(high & 255), EcpLaneBytes);
	}
}

/* Sums of columns of bytes, in 16 bits as long as these hold them. */
#define ECP_ADD_COLUMNS		32
#define ECP_ADD_ROWS		256

typedef uint8 EcpColumnBytes __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint16 EcpColumnSums __attribute__((vector_size(64)));

static inline __attribute__((always_inline))
void
ecp_u8_add_expand(const uint8 *const *rows, int nrows, int n, uint32 *sums)
{
	for (int done = 0; done < nrows; done += ECP_ADD_ROWS)
	{
		int			upto = Min(done + ECP_ADD_ROWS, nrows);

		for (int i = 0; n >= ECP_ADD_COLUMNS && i < n; i += ECP_ADD_COLUMNS)
		{
			/* the last columns are read with some that are done */
			int			start = Min(i, n - ECP_ADD_COLUMNS);
			EcpColumnSums columns = {0};

			for (int r = done; r < upto; r++)
				columns += __builtin_convertvector(*(const EcpColumnBytes *) (rows[r] + start),
												   EcpColumnSums);
			for (int c = i; c < start + ECP_ADD_COLUMNS; c++)
				sums[c] += columns[c - start];
		}
		for (int i = 0; n < ECP_ADD_COLUMNS && i < n; i++)
			for (int r = done; r < upto; r++)
				sums[i] += rows[r][i];
	}
}

/* Eight floats, and the same with more bits. */
typedef float4 EcpFloats __attribute__((vector_size(32), aligned(4), may_alias));
typedef float8 EcpDoubles __attribute__((vector_size(64), aligned(8), may_alias));

static inline __attribute__((always_inline))
void
ecp_f32_add_expand(const float4 *const *rows, int nrows, int n, float8 *sums)
{
	int			i = 0;

	/* four sums at a time, so that additions do not wait for each other */
	for (; i + 32 <= n; i += 32)
	{
		EcpDoubles	columns[4];

#pragma GCC unroll 4
		for (int c = 0; c < 4; c++)
			columns[c] = *(const EcpDoubles *) (sums + i + c * 8);
		for (int r = 0; r < nrows; r++)
		{
#pragma GCC unroll 4
			for (int c = 0; c < 4; c++)
				columns[c] += __builtin_convertvector(*(const EcpFloats *) (rows[r] + i + c * 8),
													  EcpDoubles);
		}
#pragma GCC unroll 4
		for (int c = 0; c < 4; c++)
			*(EcpDoubles *) (sums + i + c * 8) = columns[c];
	}
	for (; i < n; i++)
		for (int r = 0; r < nrows; r++)
			sums[i] += rows[r][i];
}

static inline __attribute__((always_inline))
bool
ecp_f32_unit_expand(float4 *x, int n)
{
	int			whole = n - n % 8;
	EcpDoubles	lanes = {0};
	double		norm2 = 0;
	double		scale;

	/* products are exact: nothing depends on how they are added up, but order */
	for (int i = 0; i < whole; i += 8)
	{
		EcpDoubles	v = __builtin_convertvector(*(EcpFloats *) (x + i),
												EcpDoubles);

		lanes += v * v;
	}
	for (int i = 0; i < 8; i++)
		norm2 += lanes[i];
	for (int i = whole; i < n; i++)
		norm2 += (double) x[i] * x[i];
	if (norm2 == 0)
		return false;

	scale = 1 / sqrt(norm2);
	for (int i = 0; i < whole; i += 8)
	{
		EcpFloats  *v = (EcpFloats *) (x + i);

		*v = __builtin_convertvector(__builtin_convertvector(*v, EcpDoubles) *
									 scale, EcpFloats);
	}
	for (int i = whole; i < n; i++)
		x[i] = (float4) (x[i] * scale);
	return true;
}

/* The sum of 16 lanes, in the order that all instruction sets keep. */
static inline float4
ecp_lanes_sum(float4 *lanes)
{
	for (int h = 8; h > 0; h /= 2)
	{
		for (int i = 0; i < h; i++)
			lanes[i] += lanes[i + h];
	}
	return lanes[0];
}

/* The signs and their sums, in the same way. */
static inline __attribute__((always_inline))
void
ecp_signs_expand(const float4 *x, const float4 *y, int n, uint8 *bits,
				 float4 *sum, float4 *y_sum)
{
	const EcpLaneNumbers bit = {
		1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
		32768
	};
	EcpLanes	sums = {0};
	EcpLanes	y_sums = {0};

	for (int i = 0; i < n; i += 16)
	{
		EcpLanes	v = *(const EcpLanes *) (x + i);
		EcpLaneNumbers positive = v > 0;
		EcpLaneNumbers set = positive & bit;
		EcpLaneNumbers flip = ~positive & PG_INT32_MIN;
		uint16		word;

#pragma GCC unroll 4
		for (int h = 8; h > 0; h /= 2)
			set |= EcpLanesSwap(set, h);
		word = (uint16) set[0];
		bits[i / 8] = (uint8) word;
		bits[i / 8 + 1] = (uint8) (word >> 8);
		sums += (EcpLanes) ((EcpLaneNumbers) v & PG_INT32_MAX);
		y_sums += (EcpLanes) (*(const EcpLaneNumbers *) (y + i) ^ flip);
	}
	*sum = ecp_lanes_sum((float4 *) &sums);
	*y_sum = ecp_lanes_sum((float4 *) &y_sums);
}

/* The tables of codes: each is a register, entry m of which is lane m. */
static inline __attribute__((always_inline))
void
ecp_code_tables_expand(const float4 *steps, int ngroups, uint8 *tables)
{

	for (int g = 0; g < ngroups; g++, steps += ECP_GROUP, tables += 16)
	{
		float4		least = 0.5f;
		EcpLanes	sums;

		for (int i = 0; i < ECP_GROUP; i++)
			least += steps[i] < 0 ? -steps[i] : 0;
		sums = (EcpLanes) (ECP_LANES & 0) + least;
#pragma GCC unroll 4
		for (int i = 0; i < ECP_GROUP; i++)
		{
			EcpLanes	step = (EcpLanes) (ECP_LANES & 0) + steps[i];
			EcpLaneNumbers has = (ECP_LANES & (1 << i)) != 0;

			sums += (EcpLanes) ((EcpLaneNumbers) step & has);
		}
		*(EcpLaneBytes *) tables =
			__builtin_convertvector(__builtin_convertvector(sums, EcpLaneNumbers),
									EcpLaneBytes);
	}
}

extern const EcpKernels ecp_kernels_scalar;

#if defined(__x86_64__) && defined(__GNUC__)
#define ECP_HAVE_X86_KERNELS
extern const EcpKernels ecp_kernels_avx2;
extern const EcpKernels ecp_kernels_avx512;
#endif

#if defined(__aarch64__) && defined(__ARM_NEON)
#define ECP_HAVE_NEON_KERNELS
extern const EcpKernels ecp_kernels_neon;
extern const EcpKernels ecp_kernels_dotprod;
#endif

/* The kernels in use; never NULL. */
extern const EcpKernels *ecp_kernels;

#endif							/* VECTOR_KERNELS_H */
