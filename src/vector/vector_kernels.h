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
 *	 multiply-add, or adds absolute differences; a last group of fewer than 16 elements is filled up with
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

/* sums[i] over the elements of a query and of row i < n */
typedef void (*EcpFloatSums) (const float4 *query, int dims, const char *rows,
							  Size stride, int n, float4 *sums);

typedef void (*EcpBitRanks) (const uint8 *query, int bytes, const uint8 *rows,
							 Size stride, int n, float8 *ranks);

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

	/*
	 * ranks[i] is the number of bits in which row i < n differs, or its
	 * Jaccard distance
	 */
	EcpBitRanks bit_hamming_rows;
	EcpBitRanks bit_jaccard_rows;

	/*
	 * squared differences, products, or absolute differences; with float32
	 * rows, or float16 ones
	 */
	EcpFloatSums f32_l2_rows;
	EcpFloatSums f32_dot_rows;
	EcpFloatSums f32_l1_rows;
	EcpFloatSums f16_l2_rows;
	EcpFloatSums f16_dot_rows;
	EcpFloatSums f16_l1_rows;

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
	 * For n elements (a multiple of 16): a bit each, set where it is
	 * positive; the sum of their absolute values; and the sum of the elements
	 * of y, with the other sign where the bit is not set.
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
	 * n floats (a multiple of 16), minus "lows", times scale, as uint8;
	 * values out of range become 0 or 255.
	 */
	void		(*f32_bytes) (const float4 *x, const float4 *lows,
							  float4 scale, int n, uint8 *bytes);

	/*
	 * Leaders as bytes, and vectors for them (vector_panel.c): 128 for zero,
	 * plus each element, minus its middle if there are differences, times its
	 * step, times "scale".  A scale of 0 makes 255 or 1 of the largest
	 * product with a step, whose absolute value is "most"; if that is not
	 * finite, the bytes are of no use.  "base" is the sum of the squared
	 * differences, or else of the products with the middles.  There are
	 * middles, steps and bytes up to a multiple of 16.
	 */
	void		(*f32_steps) (const float4 *vector, const float4 *middle,
							  const float4 *step, int n, bool differences,
							  float4 scale, uint8 *bytes, float4 *most,
							  float4 *base);

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

	/*
	 * The sum of the elements of a query times those of a row of nibbles: the
	 * lower one of byte i < bytes is that of query[i], the upper one that of
	 * query[EcpPlanePadded(bytes) + i].  The query as above.
	 */
	int32		(*nibble_dot) (const int8 *query, int bytes, const uint8 *row);

	/* bounds of nblocks blocks of 32 rows, as EcpCodeScan says */
	void		(*code_bounds) (const EcpCodeScan *scan, const uint8 *blocks,
								const float4 *add, const float4 *times,
								const float4 *width, int nblocks,
								float4 *bounds);
} EcpKernels;

/* The kernels of a file that has them under these names, but u8_pass_columns. */
#define EcpKernelsTable(name_) \
	.name = name_, .supported = kernels_supported, \
	.u8_prepare = u8_prepare, .u8_rank_rows = u8_rank_rows, \
	.u8_rank_columns = u8_rank_columns, .u8_parts_near = u8_parts_near, \
	.u8_parts_rank = u8_parts_rank, .u8_sums = u8_sums, \
	.bit_hamming_rows = bit_hamming_rows, .bit_jaccard_rows = bit_jaccard_rows, \
	.f32_l2_rows = f32_l2_rows, .f32_dot_rows = f32_dot_rows, \
	.f32_l1_rows = f32_l1_rows, .f16_l2_rows = f16_l2_rows, \
	.f16_dot_rows = f16_dot_rows, .f16_l1_rows = f16_l1_rows, \
	.f16_floats = f16_floats, .f16_halves = f16_halves, \
	.u8_panel_rank = u8_panel_rank, .f32_panel_rank = f32_panel_rank, \
	.u8_panel_nearest = u8_panel_nearest, .f32_panel_nearest = f32_panel_nearest, \
	.f32_hadamard = f32_hadamard, .f32_signs = f32_signs, .u8_floats = u8_floats, \
	.u8_add = u8_add, .f32_add = f32_add, .f32_bytes = f32_bytes, .f32_steps = f32_steps, \
	.plane_dots = plane_dots, .nibble_dot = nibble_dot, .code_bounds = code_bounds, \
	.f64_passed = f64_passed, .f32_passed = f32_passed

/* What f32_steps multiplies by. */
static inline float4
EcpStepsScale(float4 most)
{
	float4		scale = 127 / most;

	return isfinite(most) && isfinite(scale) ? scale : 0;
}

/* Fewer than 16 bytes, then zeros. */
static inline void
ecp_few_bytes(const uint8 *x, int n, uint64 *few)
{
	uint32		first = 0;
	uint32		last = 0;

	few[0] = few[1] = 0;
	if (n > 8)
	{
		memcpy(&few[0], x, 8);
		memcpy(&few[1], x + n - 8, 8);
		few[1] >>= (16 - n) * 8;
	}
	else if (n >= 4)
	{
		/* bytes that are in both are the same */
		memcpy(&first, x, 4);
		memcpy(&last, x + n - 4, 4);
		few[0] = first | (uint64) last << (n - 4) * 8;
	}
	else
	{
		for (int i = 0; i < n; i++)
			few[0] |= (uint64) x[i] << i * 8;
	}
}

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

/* The Jaccard distance, from the bits that both strings and that either have. */
static inline float8
ecp_jaccard(int64 both, int64 either)
{
	return both == 0 ? 1 : 1 - both / (float8) either;
}

/*
 * The rank of one row of bits.  To be expanded where it is known whether the CPU has
 * an instruction that counts bits, and for a constant "jaccard".
 */
static inline __attribute__((always_inline))
float8
ecp_bit_rank(const uint8 *a, const uint8 *b, int bytes, bool jaccard)
{
	int64		differ = 0;
	int64		both = 0;
	int			i = 0;

	for (; i + (int) sizeof(uint64) <= bytes; i += sizeof(uint64))
	{
		uint64		x;
		uint64		y;

		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		differ += __builtin_popcountll(x ^ y);
		if (jaccard)
			both += __builtin_popcountll(x & y);
	}
	for (; i < bytes; i++)
	{
		differ += __builtin_popcount(a[i] ^ b[i]);
		if (jaccard)
			both += __builtin_popcount(a[i] & b[i]);
	}
	return jaccard ? ecp_jaccard(both, both + differ) : differ;
}

/* The same of many rows. */
static inline __attribute__((always_inline))
void
ecp_bit_ranks(const uint8 *query, int bytes, const uint8 *rows, Size stride, int n,
			  bool jaccard, float8 *ranks)
{
	for (int r = 0; r < n; r++)
		ranks[r] = ecp_bit_rank(query, rows + r * stride, bytes, jaccard);
}

/* Both kernels of bits, from a function as that above. */
#define EcpBitRows(TARGET, rows_ranks) \
static TARGET void \
bit_hamming_rows(const uint8 *query, int bytes, const uint8 *rows, Size stride, \
				 int n, float8 *ranks) \
{ \
	rows_ranks(query, bytes, rows, stride, n, false, ranks); \
} \
static TARGET void \
bit_jaccard_rows(const uint8 *query, int bytes, const uint8 *rows, Size stride, \
				 int n, float8 *ranks) \
{ \
	rows_ranks(query, bytes, rows, stride, n, true, ranks); \
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

/* The inner product of two float32 vectors. */
static inline float4
ecp_float_dot(const float4 *a, const float4 *b, int n)
{
	float4		dot;

	ecp_kernels->f32_dot_rows(a, n, (const char *) b, 0, 1, &dot);
	return dot;
}

#endif							/* VECTOR_KERNELS_H */
