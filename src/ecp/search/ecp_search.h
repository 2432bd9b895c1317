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

#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_rerank.h"
#include "utils/snapshot.h"

/* Why a search read no further clusters. */
typedef enum EcpSearchStop
{
	ECP_STOP_NONE,				/* no more rows were requested */
	ECP_STOP_CLUSTERS,			/* it has read them all */
	ECP_STOP_PROBES,			/* ecp.iterative_scan = off */
	ECP_STOP_TUPLES,			/* ecp.max_scan_tuples */
	ECP_STOP_TIME,				/* max_ms */
	ECP_STOP_RADIUS,			/* a window had no row within the radius */
	ECP_STOP_NULL				/* the query is NULL: no row is nearer */
} EcpSearchStop;

typedef struct EcpSearchStats
{
	Oid			index;
	uint64		wanted;			/* rows that the LIMIT asks for; 0 = not known */
	int			probes;			/* clusters of the first window, planned */
	bool		early;			/* the first window ended at its target */
	float8		recall;			/* estimate of the first window's; 0 = none */
	uint64		windows;
	uint64		clusters;		/* read, or passed over */
	uint64		skipped;		/* of them, by their summaries */
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

/*
 * From the next start on: return rows in the order of their distances, or, if
 * not "ordered", in any order.
 */
extern void ecp_search_set_ordered(EcpSearch *search, bool ordered);

/*
 * From the next start on: at most so many rows are wanted, or, if "filtered",
 * rows until so many of them have passed what is above the search; 0: not
 * known.  While rows are returned, the second function tells how many have;
 * if "immediate", of all that were returned.
 */
extern void ecp_search_set_limit(EcpSearch *search, uint64 rows,
								 bool filtered, bool immediate);
extern void ecp_search_set_passed(EcpSearch *search, uint64 passed);

/*
 * From the next start on: "test" tells whether a row, of this rank, will pass, or
 * NULL.  If "always", all rows are tested before they are returned in order, else
 * only after one has not passed.  If "grouped", one row of each group passes.
 */
typedef bool (*EcpSearchTest) (void *arg, ItemPointer tid, float8 rank);
extern void ecp_search_set_test(EcpSearch *search, EcpSearchTest test,
								void *arg, bool always, bool grouped);

/*
 * From the next start on: the table's rows.  An index that has only codes of four
 * bits needs them.
 */
extern void ecp_search_set_table(EcpSearch *search, EcpTableRow *table);

/* From the next start on, prefetch the rows returned from this table. */
extern void ecp_search_set_heap(EcpSearch *search, Relation heap);
extern void ecp_search_start(EcpSearch *search, Snapshot snapshot,
							 Datum query, bool isnull);
extern bool ecp_search_next(EcpSearch *search, ItemPointer tid,
							float8 *distance, bool *isnull);
extern void ecp_search_finish(EcpSearch *search);
extern void ecp_search_note(EcpSearch *search);
extern void ecp_search_free(EcpSearch *search);

#endif							/* ECP_SEARCH_H */
