/*-------------------------------------------------------------------------
 *
 * ecp_recall_curve.h
 *	  Measuring what recall costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RECALL_CURVE_H
#define ECP_RECALL_CURVE_H

#include "ecp/cluster/ecp_team.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_target.h"

struct EcpBuild;

typedef struct EcpRecallCurve EcpRecallCurve;

/*
 * Begin to measure, with up to max_queries queries, the index that "state" was
 * read from.  Its pages must be readable; the metapage is not read again.
 * Returns NULL where this is of no use.
 */
extern EcpRecallCurve *ecp_recall_curve_begin(Relation index,
											  EcpIndexState *state,
											  int max_queries);
extern void ecp_recall_curve_end(EcpRecallCurve *curve);

/*
 * Take one query: a vector with the index's elements and, if it is a row of
 * the index, which one.  If the ranks of its nearest rows are known, "nearest"
 * has nnearest of them, in ascending order; else the nearest rows of the
 * clusters read are taken for them.
 */
extern void ecp_recall_curve_query(EcpRecallCurve *curve, const void *row,
								   ItemPointer self, const float8 *nearest,
								   int nnearest);

/*
 * Take random rows of some clusters as queries, until there are max_queries of
 * them or the time is up.
 */
extern void ecp_recall_curve_sample(EcpRecallCurve *curve,
									const EcpChildData *clusters,
									int nclusters, double seconds);

/*
 * Put the curve that follows from the queries into the metapage in memory;
 * "rows" is the number of rows of the index.  Returns false, leaving it, if
 * there were no queries.
 */
extern bool ecp_recall_curve_choose(EcpRecallCurve *curve, double rows);

/* Write the curve in *meta to the index; later searches follow it. */
extern void ecp_recall_curve_store(Relation index, const EcpMetaPageData *meta);

/* Recall of a search by this plan; NaN if there were no queries. */
extern double ecp_recall_curve_at(const EcpRecallCurve *curve,
								  const EcpScanPlan *plan);

/*
 * What a build does: measure with rows of the index, and put the curve into
 * the metapage to be, within about these seconds.
 */
extern void ecp_recall_curve_build(struct EcpBuild *build, double seconds);
extern PGDLLEXPORT void ecp_recall_curve_task(EcpTeam *team, const void *args,
											  char **memories);

#endif							/* ECP_RECALL_CURVE_H */
