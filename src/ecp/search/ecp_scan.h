/*-------------------------------------------------------------------------
 *
 * ecp_scan.h
 *	  Index scans of ecp.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SCAN_H
#define ECP_SCAN_H

#include "access/genam.h"
#include "access/relscan.h"
#include "base/topk.h"
#include "ecp/search/ecp_limit.h"
#include "ecp/search/ecp_search.h"

extern IndexScanDesc ecpbeginscan(Relation index, int nkeys, int norderbys);
extern void ecprescan(IndexScanDesc scan, ScanKey keys, int nkeys,
					  ScanKey orderbys, int norderbys);
extern bool ecpgettuple(IndexScanDesc scan, ScanDirection dir);
extern void ecpendscan(IndexScanDesc scan);

/* Tell a scan that belongs to no plan how many rows will be taken of it. */
extern void ecp_scan_set_wanted(IndexScanDesc scan, uint64 rows);

/*
 * Tell such a scan which rows count, one of each group: the test fetches the row at
 * scan->xs_heaptid, whose rank this is.  It can be asked about a row after farther
 * ones; a row that counts is returned at its place.  Scans that read all clusters
 * first, or in another order than strict_order, and those whose query is no vector
 * return all rows untested.
 */
typedef bool (*EcpScanTest) (void *arg, IndexScanDesc scan, float8 rank);
extern void ecp_scan_set_test(IndexScanDesc scan, EcpScanTest test, void *arg);

/*
 * Rows of a scan that were found before it began, in its order: distances, and TIDs as
 * numbers.  As long as all of them turn out to be visible, and pass where they are checked
 * again, they are the scan's first rows, so they are at least as many as its LIMIT; if "complete", they are all that it
 * would find.
 */
typedef struct EcpScanAnswer
{
	const EcpRanked *rows;
	int			n;
	bool		complete;
	uint64	   *given_up;		/* answers that were not enough */
} EcpScanAnswer;

/*
 * Set by whoever answers scans that begin: those for the nearest rows of "query" whose
 * LIMIT takes what they return, one row after the other, and discards none.  The
 * answer lasts until the next rescan.  False if there is none.
 */
typedef bool (*EcpScanAnswerer) (IndexScanDesc scan, const EcpScanLimit *limit,
								 Datum query, EcpScanAnswer *answer);
extern EcpScanAnswerer ecp_scan_answerer;

extern const char *ecp_scan_stop_name(EcpSearchStop stop);
extern void ecp_scan_totals(IndexScanDesc scan, EcpSearchStats *totals);

#endif							/* ECP_SCAN_H */
