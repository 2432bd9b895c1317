/*-------------------------------------------------------------------------
 *
 * ecp_math.h
 *	  k-means, lists of leaders, and floats as bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_MATH_H
#define ECP_MATH_H

#include "base/team.h"
#include "common/pg_prng.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* ecp_kmeans.c: centres of rows */

/* Rows that lie in memory, "stride" bytes apart. */
typedef struct EcpRows
{
	EcpElem		elem;
	int			dims;
	Size		stride;
	int			n;
	bool		shuffled;		/* they are in random order */
	const char *rows;
	EcpMemory  *memory;			/* that they begin, or NULL */

	/* called after each step of k-means with them, unless NULL */
	void		(*step) (void *arg, double share_done);
	void	   *step_arg;
} EcpRows;

/*
 * Lloyd's algorithm over some rows; centres receives at most k centres, equal
 * and empty ones left out.  Returns their number.
 *
 * A team (which may be NULL) takes part when the rows and the centres begin
 * memories that are shared (else NULL).
 */
extern int	ecp_kmeans(EcpTeam *team, const EcpRows *rows, int k,
					   int iterations, pg_prng_state *prng,
					   char *centres, EcpMemory *centres_memory);

/* Comparisons of n rows with k centres in such a run, about. */
extern double ecp_kmeans_compared(double n, double k, int iterations);

/*
 * Some more steps for k centres, of which each row has one, given in "leaders":
 * rows move to centres near to their own.  Returns the number of centres.
 */
extern int	ecp_kmeans_refine(EcpTeam *team, const EcpRows *rows, int k,
							  int steps, const int32 *leaders, char *centres,
							  EcpMemory *centres_memory);
extern PGDLLEXPORT void ecp_kmeans_nearest_task(EcpTeam *team, const void *args,
												char **memories);
extern PGDLLEXPORT void ecp_kmeans_near_task(EcpTeam *team, const void *args,
											 char **memories);
extern PGDLLEXPORT void ecp_kmeans_means_task(EcpTeam *team, const void *args,
											  char **memories);

/*
 * Nearest of "n" panel entries for each row, in steps that can be cancelled.
 */
extern void ecp_kmeans_assign(const EcpPanel *panel, int n, int dims,
							  const char *rows, Size stride, int nrows,
							  int32 *leaders, float4 *ranks);

/* The same of n centres, "centre_stride" bytes apart. */
extern void ecp_kmeans_nearest(EcpElem elem, int dims, const char *centres,
							   Size centre_stride, int n, const char *rows,
							   Size stride, int nrows, int32 *nearest,
							   float4 *ranks);

/*
 * Rows by leader: those of leader c of k are order[first[c]] ..
 * order[first[c + 1] - 1], in ascending order.
 */
extern void ecp_kmeans_group(const int32 *leaders, int n, int k,
							 int32 *first, int32 *order);

/*
 * Numbers of the m smallest of n ranks in ascending order, and of equal ranks
 * the first; "limit" is the largest of the m.
 */
extern void ecp_kmeans_choose(const float4 *ranks, int n, float4 limit, int m,
							  int32 *numbers);

/*
 * 2-means of n vectors of element kind elem ("stride" bytes apart): sides[i]
 * becomes 0 or 1, centres[0] and [1] receive the two centres (elem).  Eight
 * Lloyd steps from two members chosen by "seed"; if a side would get less
 * than an eighth, the cut is by position instead (equal vectors never
 * separate).  Returns the number of vectors on side 1.
 */
extern int	ecp_kmeans_two(EcpElem elem, int dims, const void *vectors,
						   Size stride, int n, uint64 seed,
						   uint8 *sides, void *centres[2]);

/*
 * The same, but side 0 gets n / 2 vectors and side 1 the others, so that
 * sizes do not depend on the vectors.
 */
extern void ecp_kmeans_halve(EcpElem elem, int dims, const void *vectors,
							 Size stride, int n, uint64 seed,
							 uint8 *sides, void *centres[2]);

/* Mean of n vectors, rounded to elem; for the leader of a new cluster. */
extern void ecp_kmeans_centre(EcpElem elem, int dims, const void *vectors,
							  Size stride, int n, void *centre);

/* ecp_byte_copy.c: rows of floats as bytes */

/* With fewer elements, leaders may differ by a few steps only. */
#define ECP_BYTE_COPY_DIMS_MIN	64

/* How bytes are made of floats; see ecp_byte_copy.c. */
typedef struct EcpByteScale
{
	int			dims;
	float4		factor;
	float4		lows[FLEXIBLE_ARRAY_MEMBER];
} EcpByteScale;

extern Size ecp_byte_copy_size(int dims);
extern EcpByteScale *ecp_byte_copy_scale(const EcpRows *rows);
extern void ecp_byte_copy_put(const EcpByteScale *scale, const float4 *vector,
							  uint8 *bytes);
extern void ecp_byte_copy_rows(const EcpByteScale *scale, const EcpRows *rows,
							   EcpRows *bytes, EcpMemory *memory);
extern bool ecp_byte_copy_serves(const EcpRows *bytes, const char *leaders,
								 int nleaders);

/* ecp_leader_lists.c: lists of leaders near to each other */

/* What finds leaders of rows; see ecp_leader_lists.c. */
typedef struct EcpLeaderLists EcpLeaderLists;

/* Bytes of the lists of n leaders, 0 if they are too few for one. */
extern Size ecp_leader_lists_bytes(EcpElem elem, int dims, int n);

/* Comparisons of a row with centres and leaders, where n leaders have lists. */
extern double ecp_leader_lists_compared(double n);
extern void ecp_leader_lists_init(EcpLeaderLists *lists, EcpElem elem, int dims,
								  const EcpPanel *leaders, int n);
extern void ecp_leader_lists_nearest(const EcpLeaderLists *lists, const char *rows,
									 Size stride, int nrows, int32 *leaders);

#endif							/* ECP_MATH_H */
