/*-------------------------------------------------------------------------
 *
 * ecp_drift_recall.h
 *	  The present recall of an index, in one pass over its clusters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DRIFT_RECALL_H
#define ECP_DRIFT_RECALL_H

#include "ecp/look/ecp_leaves.h"
#include "ecp/page/ecp_page.h"

typedef struct EcpDriftRecall EcpDriftRecall;

/* The largest k of which it tells: nearest rows that are kept of a query. */
#define ECP_DRIFT_K_MOST	1000

/*
 * Take random rows of the leaves as queries, which reads some clusters.  Free
 * with ecp_drift_recall_end().
 */
extern EcpDriftRecall *ecp_drift_recall_begin(Relation index,
											  EcpIndexState *state,
											  const EcpLeaves *leaves);

/*
 * The rows of leaf number "leaf", with TIDs and vectors, if it was read to take
 * queries; or NULL.  Valid until ecp_drift_recall_end().
 */
extern const EcpLeafRows *ecp_drift_recall_kept(const EcpDriftRecall *recall,
												int leaf);

/* Compare a leaf with the queries whose searches may read it. */
extern void ecp_drift_recall_add(EcpDriftRecall *recall, const EcpLeafRef *ref,
								 const EcpLeafRows *rows);

/*
 * All leaves have been compared: mean recall at k of searches by the present
 * settings, and its standard error; NaN if there were no queries.
 */
extern double ecp_drift_recall_at(const EcpDriftRecall *recall, int k,
								  double *error);

/* Share of the queries that are strictly nearer to another cluster's leader. */
extern double ecp_drift_recall_misassigned(const EcpDriftRecall *recall);
extern void ecp_drift_recall_end(EcpDriftRecall *recall);

#endif							/* ECP_DRIFT_RECALL_H */
