/*-------------------------------------------------------------------------
 *
 * ecp_stop.h
 *	  When a search with a recall target has enough.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_STOP_H
#define ECP_STOP_H

#include <math.h>

#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_descent.h"
#include "utils/float.h"

/* One of the nearest rows: its rank, or an estimate, and the cluster it is in. */
typedef struct EcpNearestRow
{
	float8		rank;
	int			cluster;		/* its number in the order of promise */
} EcpNearestRow;

/*
 * The k nearest rows so far, as a heap with the farthest first.  "cluster" is
 * the one that is being read, in ascending order.  Of rows of the same rank those
 * that came first are kept: which ones there are depends on the rows that were
 * added, not on those that were not near enough.
 */
typedef struct EcpNearest
{
	int			k;
	int			n;
	int			cluster;
	float8		kth;			/* infinity before there are k */
	EcpNearestRow *rows;		/* room for k */
} EcpNearest;

extern void ecp_nearest_replace(EcpNearest *nearest, float8 rank);

static inline void
ecp_nearest_reset(EcpNearest *nearest)
{
	nearest->n = nearest->cluster = 0;
	nearest->kth = get_float8_infinity();
}

/* Note a row if it is among the k nearest so far. */
static inline void
ecp_nearest_add(EcpNearest *nearest, float8 rank)
{
	if (rank < nearest->kth)
		ecp_nearest_replace(nearest, rank);
}

/*
 * Where a query is: how far away from the nearest leader, and from the
 * ECP_PLACE_LEADERS-th, or the last if there are not so many; and from the k-th
 * row of the first clusters (EcpScanPlan), 0 if that is not known.
 */
#define ECP_PLACE_LEADERS	32

typedef struct EcpPlace
{
	float8		norm;			/* square of the query's length, for IP */
	float4		near;
	float4		around;
	float4		kth;
} EcpPlace;

/*
 * Set the place of a query whose first clusters are "refs", at least
 * ECP_PLACE_LEADERS of them if there are so many.  "prepared" is the query as
 * ecp_prepare() gives it.  Or by the ranks of the two leaders.
 */
extern void ecp_place_set(EcpPlace *place, const EcpMetaPageData *meta,
						  const void *prepared, const EcpClusterRef *refs,
						  int nrefs);
extern void ecp_place_set_ranks(EcpPlace *place, const EcpMetaPageData *meta,
								const void *prepared, float4 near,
								float4 around);

/* Set the k-th row, by its rank; infinite if there are not so many. */
extern void ecp_place_set_kth(EcpPlace *place, const EcpMetaPageData *meta,
							  float8 kth);

/*
 * How much a query is of each kind, with a sum of 1; and what is added to its
 * slack because it is farther from its nearest leader than rows are, or less if
 * it is nearer.
 */
typedef struct EcpQueryMix
{
	double		weights[ECP_QUERY_KINDS];
	double		outer;
} EcpQueryMix;

/* "rows" are of the kinds, for the k; without them the k-th row says nothing. */
extern void ecp_place_mix(const EcpPlace *place, const EcpRecallCurveData *curve,
						  const EcpQueryRowsData *rows, EcpQueryMix *mix);

/* A query's slack, from those of the kinds. */
extern double ecp_mix_slack(const EcpQueryMix *mix, const float4 *slack);

/*
 * The distance of a leader with this rank minus that of the k-th row.  Minus
 * infinity if there are not yet k rows.
 */
extern double ecp_stop_gap(const EcpPlace *place, const EcpMetaPageData *meta,
						   float4 leader, float8 kth);

/*
 * A search stops where the gap before the leader of the cluster that is next,
 * plus this much after n clusters, reaches a slack.
 */
extern double ecp_stop_advance(const EcpMetaPageData *meta, int n);

/*
 * How many times the clusters a search reads since the curve was measured: as many as
 * there are.  With their square root, twice the rows cost .02 of recall (GloVe).
 */
static inline double
ecp_stop_growth(const EcpMetaPageData *meta)
{
	double		growth = (double) meta->ecpm_nleaves /
		Max(meta->ecpm_curve.ecpm_leaves, 1);

	return Max(growth, 1);
}

#endif							/* ECP_STOP_H */
