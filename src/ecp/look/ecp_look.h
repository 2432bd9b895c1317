/*-------------------------------------------------------------------------
 *
 * ecp_look.h
 *	  The recall of an index at present.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LOOK_H
#define ECP_LOOK_H

#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"

/*
 * ecp_drift_recall.c: the present recall of an index, in one pass over its clusters.
 */

typedef struct EcpDriftRecall EcpDriftRecall;

/* The largest k of which it tells: nearest rows that are kept of a query. */
#define ECP_DRIFT_K_MOST	1000

/*
 * Take random rows of the leaves as queries, and read the clusters that their searches
 * may read.  Free with ecp_drift_recall_end().
 */
extern EcpDriftRecall *ecp_drift_recall_begin(Relation index,
											  EcpIndexState *state,
											  const EcpLeaves *leaves);

/* How many rows a leaf has, if it was read. */
extern bool ecp_drift_recall_counted(const EcpDriftRecall *recall,
									 const EcpChildData *leaf, uint32 *nrows);

/*
 * Mean recall at k of searches by the present settings, and its standard error; NaN if
 * there were no queries.
 */
extern double ecp_drift_recall_at(EcpDriftRecall *recall, int k, double *error);

/* Share of the queries that are strictly nearer to another cluster's leader. */
extern double ecp_drift_recall_misassigned(const EcpDriftRecall *recall);
extern void ecp_drift_recall_end(EcpDriftRecall *recall);

#endif							/* ECP_LOOK_H */
