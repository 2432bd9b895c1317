/*-------------------------------------------------------------------------
 *
 * vector_nibbles.h
 *	  Vectors in four bits an element, and bounds of ranks from them.
 *
 * What an index keeps of a row whose exact vector is in the table only.  It is
 * RaBitQ (vector_codes.h) with 16 levels instead of two (Gao, Gou, Xu et al.,
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
 * Of each row there is an EcpNibblesData, then four planes: the uppermost bits of
 * all levels, then the next ones, and so on.  Bit j of byte i of a plane is that of
 * element 8 i + j.  The first plane is with the data in the row's upper part, the
 * others are its lower part, which may be elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_NIBBLES_H
#define VECTOR_NIBBLES_H

#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

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
#define EcpNibblesPlane(dims)	(EcpCodeDims(dims) / 8)
#define EcpNibblesUpper(dims)	(sizeof(EcpNibblesData) + EcpNibblesPlane(dims))
#define EcpNibblesLower(dims)	(3 * EcpNibblesPlane(dims))
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
 * Of at most ECP_PASS_ROWS rows, those whose bits "which" has and which their signs do
 * not place beyond the limit.  Of these, estimates of ranks are set, and unless
 * "bounds" is NULL, lower bounds: minus infinity of a row that is too long for
 * floats.  Any bytes can be read, but give ranks only if they are those of a row.
 */
extern uint64 ecp_nibbles_query_rank(const EcpNibblesQuery *query,
									 const EcpNibblesRows *rows, uint64 which,
									 float8 limit, float8 *ranks, float8 *bounds);

#endif							/* VECTOR_NIBBLES_H */
