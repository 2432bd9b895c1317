/*-------------------------------------------------------------------------
 *
 * ecp_drift.h
 *	  How inserts and deletes have changed an index since it was built.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DRIFT_H
#define ECP_DRIFT_H

#include "datatype/timestamp.h"
#include "ecp/look/ecp_drift_recall.h"
#include "ecp/look/ecp_leaves.h"
#include "ecp/page/ecp_page.h"

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
 * "recall" has compared all of them, or is NULL if there are none.
 */
extern void ecp_drift_measured(Relation index, const EcpIndexState *state,
							   const EcpLeaves *leaves,
							   const EcpDriftRecall *recall, EcpDrift *drift);

#endif							/* ECP_DRIFT_H */
