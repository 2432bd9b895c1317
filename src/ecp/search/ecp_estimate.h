/*-------------------------------------------------------------------------
 *
 * ecp_estimate.h
 *	  How much of an answer the clusters read so far have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_ESTIMATE_H
#define ECP_ESTIMATE_H

#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_descent.h"
#include "ecp/search/ecp_probe.h"
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

/* What an estimate knows of a cluster. */
typedef struct EcpEstimateCluster
{
	float4		margin;			/* distance of the query from its boundary */
	float4		rank;			/* of its leader */
	float4		nrows;
} EcpEstimateCluster;

/*
 * Of a query: what is known of the clusters in the order of promise, from the
 * nearest on.
 */
typedef struct EcpEstimate
{
	const EcpMetaPageData *meta;
	MemoryContext context;
	const EcpRates *rates;		/* see EcpRecallCurveData */
	float4		growth;			/* of the number of rows, since they were
								 * measured */
	float8		query_norm;		/* square of its length, for IP */
	float4		nearest_rank;	/* of the first leader */
	float8		inner;			/* of vectors from the query to two leaders */
	float8		spread_min;		/* between leaders, squared */
	int			taken;			/* clusters */
	int			n;				/* of them in the array: all, or none */
	int			max;			/* room in it */
	EcpEstimateCluster *clusters;	/* in "context", or the caller's with room
									 * for all that are added */
} EcpEstimate;

/* "prepared" is the query as ecp_prepare() gives it; used for IP only. */
extern void ecp_estimate_begin(EcpEstimate *estimate,
							   const EcpMetaPageData *meta,
							   MemoryContext context, const void *prepared);

/* Add the next clusters; insert buffers among the refs are left out. */
extern void ecp_estimate_add(EcpEstimate *estimate, const EcpClusterRef *refs,
							 int nrefs);

/* Clusters that are added at once in the beginning, if there are so many. */
#define ECP_ESTIMATE_SAMPLE		32

/*
 * Clusters that are to be added, if there are so many, before an estimate
 * after n by a search that takes "probes" on average.
 */
#define EcpEstimateKnown(n, probes) \
	Max(2 * Max(n, probes), ECP_ESTIMATE_SAMPLE)

/*
 * Have the first n clusters taken from the descent, as far as there are so many,
 * added, and waiting to be read.
 */
extern void ecp_estimate_take(EcpEstimate *estimate, int n, EcpProbe *probe,
							  EcpDescent *descent);

/*
 * By how much the rank of the leader after the first "nread" exceeds that of one
 * as far away as the k-th row; minus infinity if there are not yet k rows,
 * infinity if there is no other leader.
 */
extern float4 ecp_estimate_excess(const EcpEstimate *estimate, int nread,
								  float8 kth);

/*
 * Estimate the recall of a search that has read the first "nread" clusters,
 * where "nearest" has the k nearest rows of them.
 */
extern double ecp_estimate_recall(const EcpEstimate *estimate, int nread,
								  const EcpNearest *nearest);

/* The bin of a cluster's rates, if the k-th row has this rank. */
extern int	ecp_estimate_bin(const EcpEstimate *estimate, int cluster,
							 float8 kth);

#endif							/* ECP_ESTIMATE_H */
