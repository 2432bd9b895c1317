/*-------------------------------------------------------------------------
 *
 * ecp_stop.h
 *	  When a search ends: the declared recall and the stop rule.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_STOP_H
#define ECP_STOP_H

#include <math.h>

#include "base/topk.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_probe.h"
#include "utils/float.h"

/*
 * The k nearest rows so far, as a heap with the farthest first: their ranks, or
 * estimates, and the numbers of their clusters in the order of promise.  "cluster" is
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
	EcpRanked  *rows;			/* room for k */
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
 * ECP_PLACE_LEADERS-th, or the last if there are fewer; and from the k-th
 * row of the first clusters (EcpScanPlan), 0 if that is not known.
 */
#define ECP_PLACE_LEADERS	32

typedef struct EcpPlace
{
	float8		norm;			/* square of the query's length, for IP and
								 * Jaccard */
	float4		near;
	float4		around;
	float4		kth;
} EcpPlace;

/*
 * Set the place of a query whose first clusters are "refs", at least
 * ECP_PLACE_LEADERS of them if there are as many.  "prepared" is the query as
 * ecp_prepare() gives it.  Or by the ranks of the two leaders.
 */
extern void ecp_place_set(EcpPlace *place, const EcpMetaPageData *meta,
						  const void *prepared, const EcpClusterRef *refs,
						  int nrefs);
extern void ecp_place_set_ranks(EcpPlace *place, const EcpMetaPageData *meta,
								const void *prepared, float4 near,
								float4 around);

/* Set the k-th row, by its rank; infinite if there are fewer. */
extern void ecp_place_set_kth(EcpPlace *place, const EcpMetaPageData *meta,
							  float8 kth);

/*
 * How much a query is of each class, with a sum of 1; and what is added to its
 * margin because it is farther from its nearest leader than rows are, or less if
 * it is nearer.
 */
typedef struct EcpQueryMix
{
	double		weights[ECP_QUERY_CLASSES];
	double		outer;
} EcpQueryMix;

/* "rows" are of the classes, for the k; without them the k-th row says nothing. */
extern void ecp_place_mix(const EcpPlace *place, const EcpRecallCurveData *curve,
						  const EcpQueryRowsData *rows, EcpQueryMix *mix);

/* A query's margin, from those of the classes. */
extern double ecp_mix_margin(const EcpQueryMix *mix, const float4 *margin);

/*
 * The rank of a row on the scale of the leaders'.  A cosine rank is half of it, and a
 * differing bit is 255 away.  Of L1 and Jaccard it is what it is on average: a row's L1
 * distance is so many times as large as the other (ecpm_norm), and of as many bits as the
 * query it differs in 2 J / (2 - J) as many.
 */
static inline double
ecp_stop_square(const EcpPlace *place, const EcpMetaPageData *meta, float8 rank)
{
	switch (meta->ecpm_metric)
	{
		case ECP_METRIC_COSINE:
			return 2 * rank;
		case ECP_METRIC_HAMMING:
			return rank * ECP_BIT_L2;
		case ECP_METRIC_L1:
			rank /= Max(meta->ecpm_curve.ecpm_norm, 1);
			return rank * rank;
		case ECP_METRIC_JACCARD:
			rank = Min(rank, 1);	/* a radius may be larger */
			return 2 * rank / (2 - rank) * place->norm;
		default:
			return rank;
	}
}

/*
 * In what unit the ranks of a cluster's rows deviate from that of its leader: the most
 * that a row at this distance from the leader can differ by, or more.
 */
extern double ecp_stop_unit(const EcpPlace *place, const EcpMetaPageData *meta,
							float4 leader, float4 radius);

/*
 * The distance of a leader with this rank minus that of the k-th row.  Minus
 * infinity if there are not yet k rows.
 */
extern double ecp_stop_gap(const EcpPlace *place, const EcpMetaPageData *meta,
						   float4 leader, float8 kth);

/*
 * A search stops where the gap before the leader of the cluster that is next,
 * plus this much after n clusters, reaches a margin.
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

/* From a recall target to what a search reads. */

/* Rows that are asked for, as far as a search knows, if there is no LIMIT. */
#define ECP_TARGET_K		10

/* The most nearest rows that a search notes to decide where it stops. */
#define ECP_TARGET_K_MAX	65536

/* Read more clusters when fewer rows than this were read per row returned. */
#define ECP_SEARCH_AHEAD	8

/*
 * Conditions that leave one row in more than this leave few: vectors are not fetched
 * ahead then, and summaries are asked.
 */
#define ECP_SEARCH_SPARSE	16

/*
 * How a search reads its first window: "probes" clusters; or, if "adaptive",
 * until it has enough for the "k" nearest rows by the margins for the classes of
 * queries (ecp_stop.c).  Then "probes" is how many that takes on average, "least"
 * where it checks first, and "known" the clusters, no more than these, after which
 * the k-th row tells where the query is (EcpPlace), by "rows".  If "all", so many
 * rows are wanted that all clusters are read.
 */
typedef struct EcpScanPlan
{
	int			probes;
	bool		adaptive;
	bool		all;
	int			k;
	int			among;			/* nearest rows of all that these k are among */
	int			level;			/* target, of ecp_target_levels */
	int			known;
	int			least;
	float4		margin[ECP_QUERY_CLASSES];
	EcpQueryRowsData rows[ECP_QUERY_CLASSES];
} EcpScanPlan;

/* A search that checked after n clusters checks again after this number. */
#define EcpCheckNext(n)	((n) + Max((n) / 12, 1))

/* Numbers of rows and targets of the curve's points, ascending. */
extern const int ecp_target_ks[ECP_CURVE_KS];
extern const double ecp_target_levels[ECP_CURVE_TARGETS];

/*
 * After how many clusters there should be k rows, where a cluster has so many on
 * average: a number at which searches check.
 */
extern int	ecp_target_known(double cluster_rows, double k);

/*
 * From so many clusters on an index needs a curve, and a curve of so many holds while
 * the index grows.  Where there are fewer, the distances from the first 32 leaders are
 * those of the whole index, and change with each cluster.
 */
#define ECP_TARGET_CLUSTERS	64

/* Do searches follow a curve?  Else they read by the rule. */
extern bool ecp_target_has_curve(const EcpMetaPageData *meta);

extern float8 ecp_target_recall_of(Relation index);
extern double ecp_target_rule_probes(uint32 nleaves);

/* Clusters that are read for a query to know its nearest rows. */
extern int	ecp_target_depth(const EcpMetaPageData *meta);

/* A plan for the "rows" nearest; 0 = not known how many. */
extern void ecp_target_plan(Relation index, const EcpMetaPageData *meta,
							uint64 rows, EcpScanPlan *plan);

/* Let such a plan go on to the highest target of the curve. */
extern void ecp_target_plan_best(const EcpMetaPageData *meta, EcpScanPlan *plan);

/*
 * Make an adaptive plan's margins those for its k rows among "more" times as many,
 * which are what a search reads for that returns one in so many.
 */
extern void ecp_target_plan_among(const EcpMetaPageData *meta, double more,
								  EcpScanPlan *plan);

/*
 * The recall to expect of a search for the k nearest rows that stops where the gap
 * and what is added to it after so many clusters have this sum.
 */
extern double ecp_target_recall_at(const EcpMetaPageData *meta, int k,
								   const EcpQueryMix *mix, double sum);

/*
 * Clusters that the target takes on average for this number of rows; for
 * any number, also those for which there is no plan.
 */
extern double ecp_target_clusters(Relation index, const EcpMetaPageData *meta,
								  double rows);

/*
 * Mean recall, for the curve's k number "k", of searches by the present settings
 * for queries like rows, as it was when the curve was measured; NaN if there is
 * none.
 */
extern double ecp_target_expected(Relation index, const EcpMetaPageData *meta,
								  int k);

/* Share of the clusters that a target takes, and the highest that takes little. */
typedef struct EcpTargetShare
{
	double		target;
	double		share;
	double		lower;			/* or the lowest of the curve */
	double		lower_share;
} EcpTargetShare;

/*
 * Do searches for the usual number of rows read so much of a large index, by
 * its curve, that users should be told?  A target of 1 says so itself.
 */
extern bool ecp_target_takes_much(Relation index, const EcpMetaPageData *meta,
								  EcpTargetShare *share);
extern void ecp_target_tell(Relation index, const EcpMetaPageData *meta);

/* What a fixed number of probes becomes when only a share of the rows passes. */
extern double ecp_target_filter_probes(double probes, double share,
									   double cluster_rows);

#endif							/* ECP_STOP_H */
