/*-------------------------------------------------------------------------
 *
 * ecp_drift.h
 *	  Has an index changed so much that something should be done about it?
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
	uint32		nsplit;			/* clusters whose leaders come from splits */
	double		misassigned;	/* share of rows; statistic I11 */
	TimestampTz measured;		/* the recall curve; 0 = there is none */
	double		rows_then;
	double		target;			/* recall */
	double		expected;		/* what searches find now; NaN = not known */
	const char *advice;			/* NULL = there is nothing to do */
} EcpDrift;

extern void ecp_drift_measure(Relation index, EcpIndexState *state,
							  const EcpChildData *leaves, uint32 nleaves,
							  int64 nbuffered, bool wasteful,
							  EcpDrift *drift);

#endif							/* ECP_DRIFT_H */
