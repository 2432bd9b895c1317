/*-------------------------------------------------------------------------
 *
 * ecp_limit.h
 *	  What the LIMIT of a running query asks of an index scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LIMIT_H
#define ECP_LIMIT_H

#include "access/genam.h"

typedef struct EcpScanLimit
{
	uint64		rows;			/* offset and count together; 0 = not known */
	bool		filtered;		/* nodes above the scan's may discard rows */
	bool		tested;			/* and that one, by its conditions */
	bool		immediate;		/* ecp_limit_passed() is up to date */
	struct ScanState *scan;		/* that node; NULL if they are volatile */
	const struct LimitState *node;
} EcpScanLimit;

/*
 * Find the LIMIT above a scan that is about to return its first row, or its
 * first since a rescan: all that it needs are the nearest "rows", with WITH TIES
 * and under an incremental sort also their ties.  If "filtered", so many must
 * be left of what the scan returns.  False, and rows = 0, if there is none, or
 * if there are nodes between that need all rows.  Below a Merge Append each scan is
 * told the number for all.
 *
 * The answer is valid until the rescan or the end of the scan.
 */
extern bool ecp_limit_of(IndexScanDesc scan, EcpScanLimit *limit);

/*
 * Of "rows", those that have reached the LIMIT: from all scans below it, and
 * without those that nodes between have collected, if not "immediate".
 */
extern uint64 ecp_limit_passed(const EcpScanLimit *limit);

extern void ecp_limit_init(void);

#endif							/* ECP_LIMIT_H */
