/*-------------------------------------------------------------------------
 *
 * ecp_target.h
 *	  From a recall target to what a search reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TARGET_H
#define ECP_TARGET_H

#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_stop.h"

/* Rows that are asked for, as far as a search knows, if there is no LIMIT. */
#define ECP_TARGET_K		10

/* The most nearest rows that a search looks at to decide where it stops. */
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
 * until it has enough for the "k" nearest rows by the slacks for the kinds of
 * queries (ecp_stop.c).  Then "probes" is how many that takes on average, "least"
 * where it looks first, and "known" the clusters, no more than these, after which
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
	float4		slack[ECP_QUERY_KINDS];
	EcpQueryRowsData rows[ECP_QUERY_KINDS];
} EcpScanPlan;

/* A search that looked after n clusters looks again after so many. */
#define EcpLookNext(n)	((n) + Max((n) / 12, 1))

/* Numbers of rows and targets of the curve's points, ascending. */
extern const int ecp_target_ks[ECP_CURVE_KS];
extern const double ecp_target_levels[ECP_CURVE_TARGETS];

/*
 * After how many clusters there should be k rows, where a cluster has so many on
 * average: a number at which searches look.
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

/* A plan for the "rows" nearest; 0 = not known how many. */
extern void ecp_target_plan(Relation index, const EcpMetaPageData *meta,
							uint64 rows, EcpScanPlan *plan);

/* Let such a plan go on to the highest target of the curve. */
extern void ecp_target_plan_best(const EcpMetaPageData *meta, EcpScanPlan *plan);

/*
 * Make an adaptive plan's slacks those for its k rows among "more" times as many,
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

#endif							/* ECP_TARGET_H */
