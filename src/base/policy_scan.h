/*-------------------------------------------------------------------------
 *
 * policy_scan.h
 *	  The rows of a table that row-level security lets the current user see.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_POLICY_SCAN_H
#define ECP_POLICY_SCAN_H

#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef struct EcpPolicyScan EcpPolicyScan;

/*
 * Begin to read the TIDs of an open table's rows as the current user.  The table's
 * children are left out, and with a condition (condition.h) the rows for which it is not
 * true.
 */
extern EcpPolicyScan *ecp_policy_scan_begin(Relation rel, Snapshot snapshot,
											const char *condition);

/* The next TIDs, at most "max"; 0 in the end. */
extern int	ecp_policy_scan_next(EcpPolicyScan *scan, ItemPointerData *tids,
								 int max);

/*
 * Begin to ask for one row after the other, and: may the current user see the row
 * with this TID, and is the condition true of it?
 */
extern EcpPolicyScan *ecp_policy_scan_begin_rows(Relation rel,
												 Snapshot snapshot,
												 const char *condition);
extern bool ecp_policy_scan_has(EcpPolicyScan *scan,
								const ItemPointerData *tid);
extern void ecp_policy_scan_end(EcpPolicyScan *scan);

#endif							/* ECP_POLICY_SCAN_H */
