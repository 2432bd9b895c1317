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
	uint64		clusters;		/* read, or skipped */
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

/*
 * Will the row with this TID, of this rank, pass what is above the search?
 */
typedef bool (*EcpSearchTest) (void *arg, ItemPointer tid, float8 rank);

/* What is wanted from the next start on; a new search wants all rows in order. */
typedef struct EcpSearchRequest
{
	const EcpAttrFilter *filter;	/* conditions on attributes, or NULL */
	float8		radius;			/* rows not farther are wanted (give or take a
								 * rounding error), or infinity */
	bool		unordered;		/* rows may be returned in any order */
	bool		located;		/* entries will be read again; if once, always */
	uint64		limit;			/* rows that will be asked for; 0 = not known */
	bool		filtered;		/* rows are, until that number passes */
	bool		immediate;		/* "passed" is known before the next is taken */
	EcpSearchTest test;			/* NULL = not known; else asked once a row */
	void	   *test_arg;		/* has not passed, or, */
	bool		tested;			/* of all rows before they are returned */
	bool		grouped;		/* one row of each group passes */
	Relation	heap;			/* whose pages to prefetch, or NULL */
	EcpTableRow *table;			/* where exact vectors are, if not in the
								 * index */
} EcpSearchRequest;

extern EcpSearch *ecp_search_create(Relation index);
extern EcpSearchRequest *ecp_search_request(EcpSearch *search);

/*
 * Where rows are "located", the entry of the row that was returned last (its page is
 * pinned and share-locked; the slot may have changed meanwhile), and its vector (with
 * no lock held).
 */
extern Buffer ecp_search_entry(EcpSearch *search, EcpEntryView *view,
							   int *slot);
extern void ecp_search_vector(EcpSearch *search, void *vector);

/* What it reads; valid from the first row on. */
extern const EcpIndexState *ecp_search_state(const EcpSearch *search);

/* While rows are returned: how many have passed what is above the search. */
extern void ecp_search_set_passed(EcpSearch *search, uint64 passed);

extern void ecp_search_start(EcpSearch *search, Snapshot snapshot,
							 Datum query, bool isnull);
extern bool ecp_search_next(EcpSearch *search, ItemPointer tid,
							float8 *distance, bool *isnull);
extern void ecp_search_finish(EcpSearch *search);
extern void ecp_search_note(EcpSearch *search);
extern void ecp_search_free(EcpSearch *search);

#endif							/* ECP_SEARCH_H */
