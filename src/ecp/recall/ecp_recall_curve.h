/*-------------------------------------------------------------------------
 *
 * ecp_recall_curve.h
 *	  Measuring what recall costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RECALL_CURVE_H
#define ECP_RECALL_CURVE_H

#include "base/team.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_stop.h"

/*
 * Queries that a curve is measured with, and in an insert, which is to be short; and
 * those that make a curve.
 */
#define ECP_RECALL_QUERIES	400
#define ECP_RECALL_QUERIES_FEW	160
#define ECP_RECALL_QUERIES_LEAST 100

/* Is there a curve of such an index?  Not with exact vectors beside the entries. */
#define EcpRecallIsMeasured(state) \
	(!EcpIndexIsEmpty(state) && \
	 !((state)->leaf.stream && (state)->leaf.quantizer == ECP_QUANTIZER_NONE))

typedef struct EcpRecallCurve EcpRecallCurve;

/*
 * Begin to measure, with up to max_queries queries, the index that "state" was
 * read from.  Its pages must be readable; the metapage is not read again.
 * Returns NULL where this is of no use.  What was measured before is used until
 * there is something new.
 */
extern EcpRecallCurve *ecp_recall_curve_begin(Relation index,
											  EcpIndexState *state,
											  int max_queries);
extern void ecp_recall_curve_end(EcpRecallCurve *curve);

/*
 * Have "report" called with "arg" and the number of queries, of ECP_RECALL_QUERIES,
 * that were tried: by ecp_recall_curve_sample() after each.
 */
typedef void (*EcpRecallReport) (void *arg, uint64 done);
extern void ecp_recall_curve_report(EcpRecallCurve *curve, EcpRecallReport report,
									void *arg);

/*
 * Take one query, as one that is like the rows: a vector with the index's
 * elements and, if it is a row of the index, which one, or NULL.
 */
extern void ecp_recall_curve_query(EcpRecallCurve *curve, const void *row,
								   ItemPointer self);

/*
 * Take queries unlike the rows of the index, and, if "rows", also rows.  Each
 * of two steps takes so many seconds at most, or some seconds if that is longer.
 */
extern void ecp_recall_curve_sample(EcpRecallCurve *curve, bool rows,
									double seconds);

/* The rows are as many as the clusters say. */
#define ECP_ROWS_UNKNOWN	(-1.0)

/*
 * Put the curve that follows from the queries into the metapage in memory;
 * "rows" is the number of rows of the index, or ECP_ROWS_UNKNOWN.  Returns false, leaving it, if
 * there were too few queries.
 */
extern bool ecp_recall_curve_choose(EcpRecallCurve *curve, double rows);

/*
 * Measure and store the curve of an index that has "rows", with ECP_RECALL_QUERIES or,
 * if "few", as fast as possible.  Each of two steps takes so many seconds at most, or,
 * if not "few", some seconds if that is longer.  Returns false if there was no time.
 */
extern bool ecp_recall_curve_measure(Relation index, EcpIndexState *state, bool few,
									 double rows, double seconds);

/*
 * How many rows have come or gone since the curve was measured, relative to those
 * that there were then; infinity without a curve.  An update is both.
 */
extern double ecp_recall_curve_change(const EcpRecallCurveData *data, double rows);

/* Write the curve in *meta to the index; later searches follow it. */
extern void ecp_recall_curve_store(Relation index, const EcpMetaPageData *meta);

/*
 * Have ecp_recall_curve_sample(), of all classes, done by a team, whose processes run
 * "task": it calls ecp_recall_curve_work() with the index and the state.
 */
extern void ecp_recall_curve_set_team(EcpRecallCurve *curve, EcpTeam *team,
									  EcpTask task);
extern void ecp_recall_curve_work(EcpTeam *team, Relation index,
								  EcpIndexState *state, const void *args,
								  char **memories, EcpRecallReport report,
								  void *arg);

#endif							/* ECP_RECALL_CURVE_H */
