/*-------------------------------------------------------------------------
 *
 * ecp_search.h
 *	  One search of an ecp index: what ecp_scan.c drives and ecp_recall.c
 *	  reads the figures of.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SEARCH_H
#define ECP_SEARCH_H

#include "ecp/define/ecp.h"
#include "ecp/page/ecp_attr.h"
#include "utils/snapshot.h"

/* Why a search read no further clusters. */
typedef enum EcpSearchStop
{
	ECP_STOP_NONE,				/* nobody asked for more rows */
	ECP_STOP_CLUSTERS,			/* it has read them all */
	ECP_STOP_PROBES,			/* ecp.iterative_scan = off */
	ECP_STOP_TUPLES,			/* ecp.max_scan_tuples */
	ECP_STOP_RADIUS,			/* a window had no row within the radius */
	ECP_STOP_LATE				/* other processes had read what was wanted */
} EcpSearchStop;

typedef struct EcpSearchStats
{
	Oid			index;
	int			probes;			/* clusters of the first window, planned */
	bool		joined;			/* it came to one of other processes */
	bool		early;			/* it ended where clusters were too far */
	uint64		windows;
	uint64		clusters;		/* read */
	uint64		pages;
	uint64		vectors;		/* candidates: compared with the query */
	uint64		filtered;		/* rows that conditions kept out */
	uint64		reranked;		/* exactly, after their codes */
	uint64		returned;
	uint64		dropped;		/* nearer than a row returned before */
	EcpSearchStop stop;
} EcpSearchStats;

/* The last search of this backend; index is InvalidOid before the first. */
extern EcpSearchStats ecp_search_last;

typedef struct EcpSearch EcpSearch;

extern EcpSearch *ecp_search_create(Relation index);
extern void ecp_search_set_filter(EcpSearch *search,
								  const EcpAttrFilter *filter);

/*
 * Remember of each row where its entry is, from the first start on: of the
 * row that was returned last, the two functions read the entry (its page is
 * pinned and share-locked; the slot may have changed meanwhile) and its vector
 * (with no lock held).
 */
extern void ecp_search_set_located(EcpSearch *search);
extern Buffer ecp_search_entry(EcpSearch *search, EcpEntryView *view,
							   int *slot);
extern void ecp_search_vector(EcpSearch *search, void *vector);

/* What it reads; valid from the first row on. */
extern const EcpIndexState *ecp_search_state(const EcpSearch *search);

/*
 * Return only rows not farther than this (give or take a rounding error), from
 * the next start on; infinity: all rows.
 */
extern void ecp_search_set_radius(EcpSearch *search, float8 radius);

struct EcpShared;

/*
 * What scan it is for, from the next start on: take part in the search whose
 * memory "shared" is (ecp_share.c), or search alone (NULL); if not "ordered",
 * no row is dropped for the order.
 */
extern void ecp_search_set_scan(EcpSearch *search, struct EcpShared *shared,
								bool ordered);

/*
 * From the next start on, the rows returned will be fetched from this table,
 * of which ecp_heap_is_ours() is true; NULL: from no such table.
 */
extern void ecp_search_set_heap(EcpSearch *search, Relation heap);
extern void ecp_search_start(EcpSearch *search, Snapshot snapshot,
							 Datum query, bool isnull);
extern bool ecp_search_next(EcpSearch *search, ItemPointer tid,
							float8 *distance, bool *isnull);
extern void ecp_search_finish(EcpSearch *search);
extern void ecp_search_note(EcpSearch *search);
extern void ecp_search_free(EcpSearch *search);

/* ---- ecp_scan.c ---- */

extern const char *ecp_scan_stop_name(EcpSearchStop stop);
extern void ecp_scan_totals(IndexScanDesc scan, EcpSearchStats *totals);

#endif							/* ECP_SEARCH_H */
