/*-------------------------------------------------------------------------
 *
 * ecp_scan.h
 *	  The executor's side of a search.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SCAN_H
#define ECP_SCAN_H

#include "access/genam.h"
#include "access/relscan.h"
#include "base/compat.h"
#include "base/topk.h"
#include "ecp/search/ecp_search.h"

/* ecp_limit.c: what the LIMIT of a running query asks of an index scan */

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
 * and under an incremental sort also their ties.  If "filtered", that
 * number must be left of what the scan returns.  False, and rows = 0, if there is none, or
 * if there are nodes between that need all rows.  Below a Merge Append each scan is
 * told the number for all.
 *
 * The answer is valid until the rescan or the end of the scan.
 */
extern bool ecp_limit_of(IndexScanDesc scan, EcpScanLimit *limit);

/*
 * How many of "rows" have reached the LIMIT: from all scans below it, and
 * without those that nodes between have collected, if not "immediate".
 */
extern uint64 ecp_limit_passed(const EcpScanLimit *limit);

extern void ecp_limit_init(void);

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

/* A node that returns each row that it gets; set by whoever has it. */
extern const struct CustomExecMethods *ecp_limit_numbers;

extern const char *ecp_scan_stop_name(EcpSearchStop stop);
extern void ecp_scan_totals(IndexScanDesc scan, EcpSearchStats *totals);

/* ecp_index_only.c: rows of an index-only scan */

typedef struct EcpIndexOnly EcpIndexOnly;

extern EcpIndexOnly *ecp_index_only_create(IndexScanDesc scan);

/*
 * Put the row that "search" returned last, and whose TID is in
 * scan->xs_heaptid, into scan->xs_hitup.  Returns false if it is gone, and so
 * cannot be visible to the scan.
 */
extern bool ecp_index_only_row(EcpIndexOnly *ret, IndexScanDesc scan,
							   EcpSearch *search);
extern void ecp_index_only_free(EcpIndexOnly *ret);

extern bool ecpcanreturn(Relation index, int attno);

/* What EXPLAIN ANALYZE says of a scan. */

#ifdef ECP_HAVE_EXPLAIN_HOOK
extern void ecp_explain_init(void);
#else
#define ecp_explain_init()	((void) 0)
#endif

#endif							/* ECP_SCAN_H */
