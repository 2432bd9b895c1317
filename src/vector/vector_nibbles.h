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
 * The query's elements are rounded to 8 bits, so that <q, c> is a sum of integers,
 * the same in every instruction set; what that may take from s is allowed for.
 *
 * Of each row there is an EcpNibblesData, then its levels, two in a byte, the one
 * with the even number in the lower half.
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
} EcpNibblesData;

/* Bytes of a row; more elements than codes can have it cannot have either. */
#define ECP_NIBBLES_DIMS_MAX	ECP_CODE_DIMS_MAX
#define EcpNibblesBytes(dims)	(sizeof(EcpNibblesData) + EcpCodeDims(dims) / 2)

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

/*
 * Estimates of the ranks of n rows, "stride" bytes apart, and unless "bounds" is
 * NULL, lower bounds of them: minus infinity of a row that is too long for floats.
 * Any bytes can be read, but give ranks only if they are those of a row.
 */
extern void ecp_nibbles_query_rank(const EcpNibblesQuery *query, const void *rows,
								   Size stride, int n, float8 *ranks,
								   float8 *bounds);

#endif							/* VECTOR_NIBBLES_H */
