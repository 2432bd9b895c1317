/*-------------------------------------------------------------------------
 *
 * ecp_target.h
 *	  From a target of recall to what a search reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TARGET_H
#define ECP_TARGET_H

#include "base/topk.h"
#include "ecp/page/ecp_page.h"
#include "utils/float.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Targets are for recall at this k. */
#define ECP_TARGET_K		10

/* Read more clusters when fewer rows than this were read per row returned. */
#define ECP_SEARCH_AHEAD	8

/*
 * How a search reads its first window: "probes" clusters; or, if "early", at
 * least "least" and at most "most" of them, and none whose leader is farther
 * away than the rows found so far say (ecp_target_reached()).
 */
typedef struct EcpScanPlan
{
	int			probes;
	bool		early;
	int			least;
	int			most;
	float4		slack;			/* squared distance */
} EcpScanPlan;

/* The smallest ranks, or estimates of ranks, that were seen. */
typedef struct EcpTopRanks
{
	int			n;
	float8		kth;			/* infinity before there are k */
	float8		ranks[ECP_TARGET_K];
} EcpTopRanks;

static inline void
ecp_top_ranks_reset(EcpTopRanks *nearest)
{
	nearest->n = 0;
	nearest->kth = get_float8_infinity();
}

/* Note a rank if it is among the k smallest; returns its place, or -1. */
static inline int
ecp_top_ranks_add(EcpTopRanks *nearest, float8 rank)
{
	int			place;

	Assert(nearest->n >= 0 && nearest->n <= ECP_TARGET_K);
	if (!(rank < nearest->kth))
		return -1;
	place = ecp_smallest_add(nearest->ranks, &nearest->n, ECP_TARGET_K, rank);
	if (nearest->n == ECP_TARGET_K)
		nearest->kth = nearest->ranks[ECP_TARGET_K - 1];
	return place;
}

/* Least and most clusters around a number of probes, when it may vary. */
#define EcpTargetLeast(probes)	Max((int) ((probes) / 4), 1)
#define EcpTargetMost(probes)	((int) ceil((probes) * 1.5))

/*
 * The rank of a leader that is as far away as the k-th row.  Leaders are ranked
 * by squared distance; a cosine rank is half of that, and a differing bit is a
 * distance of 255.
 */
static inline float8
ecp_target_leader_rank(EcpMetric metric, float8 kth)
{
	if (metric == ECP_METRIC_COSINE)
		return kth * 2;
	if (metric == ECP_METRIC_HAMMING)
		return kth * ECP_BIT_L2;
	return kth;
}

/* A leader's rank beyond which reading is unlikely; not known without kth. */
static inline float8
ecp_target_far(EcpMetric metric, float8 kth, float4 slack)
{
	return isinf(kth) ? -kth : ecp_target_leader_rank(metric, kth) + slack;
}

/* How much farther away a leader of this rank is than the k-th row. */
static inline float8
ecp_target_excess(EcpMetric metric, float4 leader_rank, float8 kth)
{
	return leader_rank - ecp_target_leader_rank(metric, kth);
}

/* Is a cluster whose leader has this rank too far away? */
static inline bool
ecp_target_reached(EcpMetric metric, float4 leader_rank, float8 kth,
				   float4 slack)
{
	return ecp_target_excess(metric, leader_rank, kth) > slack;
}

extern float8 ecp_target_recall_of(Relation index);
extern double ecp_target_rule_probes(uint32 nleaves);
extern void ecp_target_plan(Relation index, const EcpMetaPageData *meta,
							EcpScanPlan *plan);

/* Probes by the settings: ecp.probes, or what the target of recall takes. */
extern int	ecp_target_probes(Relation index, const EcpMetaPageData *meta);

/* The same when only a share of the rows fulfils the scan's conditions. */
extern double ecp_target_filter_probes(double probes, double share,
									   double cluster_rows);

#endif							/* ECP_TARGET_H */
