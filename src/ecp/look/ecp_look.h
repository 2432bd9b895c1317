/*-------------------------------------------------------------------------
 *
 * ecp_look.h
 *	  Drift, and the recall of drift.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LOOK_H
#define ECP_LOOK_H

#include "datatype/timestamp.h"
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

/*
 * ecp_drift.c: how inserts and deletes have changed an index since it was built.
 */

typedef struct EcpDrift
{
	int64		nrows;			/* -1 = not known */
	uint32		noverfull;		/* clusters that should be split */
	uint32		nsplit;			/* clusters made by splits */
	double		misassigned;	/* share of rows; statistic I11 */
	TimestampTz measured;		/* the recall curve; 0 = there is none */
	double		rows_then;
	double		change;			/* since then; see ecp_recall_curve_change() */
	double		target;			/* recall */
	double		expected;		/* recall; NaN = not known */
	double		lowest;			/* if known: that at the k with the lowest, */
	int			lowest_k;		/* within its error, and which that is */
	const char *advice;			/* NULL = nothing to do */
} EcpDrift;

/* What the metapage and pg_class tell. */
extern void ecp_drift_stored(Relation index, const EcpIndexState *state,
							 EcpDrift *drift);

/*
 * What a pass over all leaves tells, which have their present numbers of rows;
 * "recall" is NULL if there are none.
 */
extern void ecp_drift_measured(Relation index, const EcpIndexState *state,
							   const EcpLeaves *leaves,
							   EcpDriftRecall *recall, EcpDrift *drift);

#endif							/* ECP_LOOK_H */
