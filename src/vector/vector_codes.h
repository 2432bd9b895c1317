/*-------------------------------------------------------------------------
 *
 * vector_codes.h
 *	  Codes of vectors, of one bit and of four an element, and bounds of ranks
 *	  from them.
 *
 * The quantiser is RaBitQ (Gao and Long, SIGMOD 2024).  A row x is described
 * relative to the leader c of its cluster: r = x - c is rotated by a random
 * orthogonal matrix P, the same for the whole index, and the code keeps the
 * signs of r' = P r, one bit an element.  Let s be the vector of these signs
 * (+1, -1), D its length, a the cosine of s and r' (about 0.8 in any number
 * of dimensions, never below 0).  For any v, with v' = P v,
 *
 *	  <r, v>  is estimated by  |r| / (a sqrt(D)) <s, v'>
 *
 * without bias, and the error is above
 *
 *	  eps |r| |v| sqrt(1 - a^2) / (a sqrt(D - 1))
 *
 * with a small probability only: for one row in 160 with eps = 2.5, for one
 * in three million with eps = 5.  A row's rank
 * follows from it with v = q - c (IP: v = q) and <s, v'> = <s, q'> - <s, c'>,
 * so that a query is rotated once, not once a cluster:
 *
 *	  L2	 |r|^2 + |q - c|^2 - 2 <r, q - c>
 *	  IP	 -<c, q> - <r, q>
 *	  cosine  half of L2, between vectors of unit length
 *
 * What of this belongs to the row is computed when it is stored, as three
 * factors (float4), and a lower bound of its rank is then
 *
 *	  base + factor[0] - factor[1] <s, q'> - radius factor[2]
 *
 * where base and radius belong to the query and the cluster.  All vectors
 * are "prepared" ones (see ecp_prepare()): what leaders are compared with.
 *
 * <s, q'> of 32 rows at a time is summed by byte shuffles (fast scan, after
 * Andre, Kermarrec and Le Scouarnec's Quick ADC): four elements of q' give a
 * table of the 16 sums that their signs can make, rounded to a byte, and a
 * block of 32 codes holds for each four elements 16 bytes, in byte i the
 * signs of row i in the lower and of row 16 + i in the upper half.  The error of
 * rounding is a share of |r| |q|, not of |r| |v|: it is all that there is where
 * q is much nearer to the leader than to the origin.  So bounds are lower by what
 * it may be, half a step of each group's table, or eps times the standard
 * deviation of all of them together if that is less; and by what floats lose.
 *
 * Of rows whose bound is low, a second code tells more: 16 levels instead of two, which
 * is RaBitQ again (Gao, Gou, Xu et al., SIGMOD 2025).  Level l of an element of r' stands
 * for l - 7.5 steps, the same step for all elements of a row; s is the vector of these,
 * and the rest is as above, with |s| in the place of sqrt(D).  a is about 0.995, so that
 * the width of a bound is an eighth.  Here q' is rounded to signed bytes, and what that
 * lacks is at most eps times its standard deviation.
 *
 * P is three or four rounds of random signs and a Hadamard transform, each of
 * as many elements as the largest power of two has, from the first element on
 * or up to the last one in turns.  Orthogonal, and n log n.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_CODES_H
#define VECTOR_CODES_H

#include <math.h>

#include "vector/vector_distance.h"

/* Rows of a block; room for rows comes in blocks. */
#define ECP_CODE_BLOCK		32

/* Factors of a row. */
#define ECP_CODE_FACTORS	3

/* Vectors of more elements have no codes. */
#define ECP_CODE_DIMS_MAX	2048

/* Elements of a rotated vector: the next multiple of 16. */
#define EcpCodeDims(dims)	(((uint32) (dims) + 15) / 16 * 16)

/* Bytes of a code, also of each row in a block. */
#define EcpCodeBytes(dims)	(EcpCodeDims(dims) / 8)

/*
 * Bytes of a row's levels: factors, as those of its code, and a nibble an element, those
 * of the first half of all elements in the lower ones.
 */
#define EcpLevelsBytes(dims) \
	(ECP_CODE_FACTORS * sizeof(float4) + 4 * EcpCodeBytes(dims))

/*
 * The code (EcpCodeBytes), its factors, and the levels (EcpLevelsBytes; not if NULL) of a
 * row whose cluster has this leader (NULL = the origin).  "elem" is the element kind of
 * prepared vectors.
 */
extern void ecp_code_make(EcpElem elem, EcpMetric metric, int dims,
						  uint64 seed, const void *row, const void *leader,
						  uint8 *code, uint32 *factors, char *levels);

/*
 * Rotate the elements of a vector, a multiple of 16, in place, by the matrix that
 * follows from their number and the seed; and the other way round.
 */
extern void ecp_code_rotate(float4 *x, int dims, uint64 seed);
extern void ecp_code_rotate_back(float4 *x, int dims, uint64 seed);

/* Put a code into, or take it out of, slot "slot" of blocks of codes. */
extern void ecp_code_put(uint8 *blocks, int slot, int dims, const uint8 *code);
extern void ecp_code_get(const uint8 *blocks, int slot, int dims, uint8 *code);

/* How wide bounds are: usually, and where hardly any row may be missed. */
#define ECP_CODE_EPS		2.5f
#define ECP_CODE_EPS_WIDE	5.0f

/*
 * One query, prepared for many rows, for their levels, too; palloc'd in one chunk.  Codes
 * tell the L2 distance of rows.  For L1, "l1" is how many times as large a row's distance
 * is at least, but for one row in a few hundred; bounds and estimates follow from it.
 */
typedef struct EcpCodeQuery EcpCodeQuery;

extern EcpCodeQuery *ecp_code_query_create(EcpElem elem, EcpMetric metric,
										   int dims, uint64 seed,
										   const void *query, float4 eps, bool levels,
										   float4 l1);

/*
 * The elements of a rotated query as signed bytes, in steps; what these add up to, and the
 * length of what they lack.
 */
typedef struct EcpRounded
{
	float4		step;
	int32		total;
	double		lack;
} EcpRounded;

extern EcpRounded ecp_code_round(const float4 *x, int n, int8 *bytes);

/*
 * Lower bounds of the ranks of n rows of a cluster; leader_rank is what the
 * panel of leaders says of its leader (ecp_code_query_origin() if it has none).
 * Reads codes and factors, and writes bounds, of whole blocks.
 */
extern void ecp_code_query_bounds(const EcpCodeQuery *query,
								  float4 leader_rank, const uint8 *blocks,
								  const uint32 *const *factors, int n,
								  float4 *bounds);

/*
 * By how much the estimates of ranks are above the lower bounds, for each unit
 * of a row's last two factors.
 */
typedef struct EcpCodeMargin
{
	float4		times;
	float4		width;
	float4		l1;				/* of L1: see ecp_code_query_create(); else 0 */
} EcpCodeMargin;

extern EcpCodeMargin ecp_code_query_margin(const EcpCodeQuery *query,
										   float4 leader_rank);

/* The estimate of row i's rank. */
static inline float4
ecp_code_estimate(EcpCodeMargin margin, const uint32 *const *factors, int i,
				  float4 bound)
{
	float4		above = margin.times * ((const float4 *) factors[1])[i] +
		margin.width * ((const float4 *) factors[2])[i];

	if (margin.l1 > 0)
		return sqrtf(bound * bound + margin.l1 * margin.l1 * above);
	return bound + above;
}

/*
 * Of the rows given by the bits of "which", from levels: raises the lower bounds of their
 * ranks, and sets the estimates.  The levels of row i begin i * stride bytes after
 * "levels".  Any bytes can be read.
 */
extern void ecp_code_query_refine(const EcpCodeQuery *query, float4 leader_rank,
								  const char *levels, Size stride, uint64 which,
								  float4 *bounds, float8 *estimates);

/* The rank of a leader at the origin. */
extern float4 ecp_code_query_origin(const EcpCodeQuery *query);

/*
 * vector_nibbles.c: vectors in four bits an element, and bounds of ranks from them.
 *
 * What an index keeps of a row whose exact vector is in the table only.  It is
 * RaBitQ (see above) with 16 levels instead of two (Gao, Gou, Xu et al.,
 * SIGMOD 2025), relative to the origin, so that nothing has to be computed
 * again when a row gets another leader.
 *
 * A row x is rotated by a random orthogonal matrix P, the same for all indexes.
 * Each element of P x becomes the nearest of 16 equidistant levels, the range of
 * which is the row's.  With c the numbers of the levels, x^ = middle + step (c -
 * 7.5) is such that <x, x^> = |x|^2, so that the error x - x^ is at right angles
 * to x.  Let e be its length as a share of |x|, about 0.1.  For a query q, s =
 * <q, x^> / (|q| |x|) estimates the cosine t of q and x without bias, and
 *
 *	  |t - s| <= e sqrt(1 - t^2)
 *
 * Because P is random, e w in the place of e makes this wrong with a small
 * probability only, where w = eps / sqrt(D - 1): for one row in 160 with eps =
 * 2.5, as there.  The largest t for which it holds is
 *
 *	  (s + e sqrt(1 + e^2 - s^2)) / (1 + e^2)
 *
 * and gives the least rank: |q|^2 + |x|^2 - 2 |q| |x| t, -|q| |x| t or 1 - t.
 *
 * The uppermost bit of each level alone tells whether an element is above the
 * middle.  These signs, taken for the row's length / sqrt(D), are a code of one bit
 * with an error of sqrt(a^2 - 1), where a, about 1.25, is the length of what they
 * stand for as a share of |x|, again such that the error is at right angles to x.
 * They are a quarter of the row and tell of most rows that they are beyond a limit:
 * the cosine would have to be T at least, and s is less than T - e w sqrt(1 - T^2).
 *
 * The query's elements are rounded to 8 bits, so that <q, c> is a sum of integers,
 * the same in every instruction set; what that may take from s is allowed for.
 *
 * A row is an EcpNibblesData, then four planes: the uppermost bits of
 * all levels, then the next ones, and so on.  Bit j of byte i of a plane is that of
 * element 8 i + j.  The first plane is with the data in the row's upper part, the
 * others are its lower part, which may be elsewhere.
 */

typedef struct EcpNibblesData
{
	float4		middle;
	float4		step;
	float4		norm;			/* |x| */
	float4		error;			/* e, with what rounding may add */
	float4		signs;			/* a; 0 = signs tell nothing */
} EcpNibblesData;

/* Bytes of a row; more elements than codes can have it cannot have either. */
#define ECP_NIBBLES_DIMS_MAX	ECP_CODE_DIMS_MAX
#define EcpNibblesUpper(dims)	(sizeof(EcpNibblesData) + EcpCodeBytes(dims))
#define EcpNibblesLower(dims)	(3 * EcpCodeBytes(dims))
#define EcpNibblesBytes(dims)	(EcpNibblesUpper(dims) + EcpNibblesLower(dims))

/* From a vector, and back to x^.  The same vector gives the same bytes. */
extern void ecp_nibbles_make(int dims, const float4 *vector, void *nibbles);
extern void ecp_nibbles_get(int dims, const void *nibbles, float4 *vector);

/* What a row's numbers have that they cannot have, for a message; or NULL. */
extern const char *ecp_nibbles_fault(const void *nibbles);

/* A query, prepared for many rows, in memory of the caller's. */
typedef struct EcpNibblesQuery EcpNibblesQuery;

extern Size ecp_nibbles_query_bytes(int dims);

/* Bounds that cannot be wrong, which are eight times as wide. */
#define ECP_NIBBLES_EPS_NONE	0.0f

extern EcpNibblesQuery *ecp_nibbles_query_init(void *memory, EcpMetric metric,
											   int dims, const float4 *vector,
											   float4 eps);

/* Rows: where the parts of the first begin, and bytes from one to the next. */
typedef struct EcpNibblesRows
{
	const char *upper;
	Size		upper_stride;
	const char *lower;
	Size		lower_stride;
} EcpNibblesRows;

/*
 * Returns those of at most ECP_PASS_ROWS rows, given by the bits of "which", that may be
 * within the limit by their signs.  Sets the estimates of their ranks and, unless
 * "bounds" is NULL, lower bounds: minus infinity for a row that is too long for
 * floats.  Any bytes can be read, but give ranks only if they are those of a row.
 */
extern uint64 ecp_nibbles_query_rank(const EcpNibblesQuery *query,
									 const EcpNibblesRows *rows, uint64 which,
									 float8 limit, float8 *ranks, float8 *bounds);

#endif							/* VECTOR_CODES_H */
