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
#include "ecp/page/ecp_page.h"

typedef struct EcpDrift
{
	int64		nrows;
	uint32		noverfull;		/* clusters that should be split */
	uint32		nsplit;			/* clusters made by splits */
	double		misassigned;	/* share of rows; statistic I11 */
	TimestampTz measured;		/* the recall curve; 0 = there is none */
	double		rows_then;
	double		target;			/* recall */
	double		expected;		/* present recall; NaN = not known */
	double		lowest;			/* if known: that at the k with the lowest, */
	int			lowest_k;		/* within its error, and which that is */
	const char *advice;			/* NULL = nothing to do */
} EcpDrift;

extern void ecp_drift_measure(Relation index, EcpIndexState *state,
							  const EcpChildData *leaves, uint32 nleaves,
							  int64 nbuffered, bool wasteful,
							  EcpDrift *drift);

#endif							/* ECP_DRIFT_H */
