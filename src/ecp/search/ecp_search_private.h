/*-------------------------------------------------------------------------
 *
 * ecp_search_private.h
 *	  What a search is, for the two files that work on it: ecp_search.c
 *	  decides what is read, ecp_search_page.c makes candidates of a page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SEARCH_PRIVATE_H
#define ECP_SEARCH_PRIVATE_H

#include "base/topk.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_stat.h"
#include "ecp/search/ecp_descent.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_search.h"
#include "ecp/search/ecp_stop.h"
#include "ecp/search/ecp_target.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/*
 * The tenth rank is hardly ever above this, if its estimate from codes is kth.
 */
#define EcpSearchNear(kth)	((kth) + 0.1 * fabs(kth))

/* What a scan asks for: by ecp_search.c, before the search starts. */
typedef struct EcpSearchRequest
{
	const EcpAttrFilter *filter;	/* conditions on attributes, or NULL */
	float8		rank_max;		/* of rows within the radius, or infinity */
	bool		unordered;		/* rows may be returned in any order */
	bool		located;		/* entries will be read again: number all rows */
	Relation	heap;			/* whose pages to prefetch, or NULL */
	uint64		limit;			/* rows that will be asked for; 0 = not known */
	bool		filtered;		/* of those returned some may not count */
	uint64		passed;			/* if filtered: rows that do, so far */
	EcpIterativeScan iterative; /* settings when the search began */
	int			max_scan_tuples;
} EcpSearchRequest;

/* What rows are compared with: by ecp_search.c, when the search starts. */
typedef struct EcpSearchQuery
{
	EcpQuery   *exact;			/* NULL: all distances are "constant" */
	EcpCodeQuery *codes;		/* not NULL: candidates have bounds of ranks */
	float8		constant;		/* 0 or NaN */
	bool		is_null;		/* distances are NULL */
} EcpSearchQuery;

/* What of an entry page is needed to read its rows' vectors afterwards. */
typedef struct EcpVectorPart
{
	uint64	   *live;
	ItemPointerData *tids;
	uint32	   *factors[ECP_FACTORS_MAX];
	char	   *vector;			/* one that spans pages */
} EcpVectorPart;

/* Arrays for the slots of a page: ecp_search_page.c's. */
typedef struct EcpSearchSlots
{
	uint64	   *passed;			/* those that fulfil the conditions */
	float8	   *ranks;
	EcpVectorPart *vectors;		/* if they are not on entry pages */
} EcpSearchSlots;

/* The row that was returned last. */
typedef struct EcpSearchReturned
{
	EcpRanked	last;
	uint64		number;			/* if rows are numbered */
} EcpSearchReturned;

struct EcpSearch
{
	EcpProbe	probe;
	MemoryContext memory;		/* of this struct and its arrays */
	MemoryContext context;		/* of one search, reset by the next */
	EcpSearchRequest request;
	bool		started;
	bool		state_valid;
	EcpIndexState state;
	EcpSearchQuery query;
	EcpDescent *descent;		/* NULL before the first window and in the end */

	/* how the first window is read, and clusters of the next one */
	EcpScanPlan plan;
	EcpPlace	place;			/* of the query, if the plan is adaptive */
	double		weights[ECP_QUERY_KINDS];
	uint64		window;
	uint64		rows_known;		/* rows that are returned before more is read */
	uint64		rows_read;		/* rows for which enough has been read */

	/* candidates */
	EcpSearchSlots slots;
	EcpTopk		rows;			/* item = TID, or number */
	uint64		candidates;		/* that were added to "rows" */
	EcpRerank	rerank;			/* numbered ones */
	EcpNearest	nearest;		/* in the first window */
	int			nearest_max;	/* room in it */
	float8		near;			/* rows whose bounds are not above are noted */

	EcpSearchReturned returned;
	EcpSearchStats stats;
};

/* Make room for the slots of a page of search->state, in search->context. */
extern void ecp_search_page_init(EcpSearch *search);

/* Rank the rows of an entry page: what the probe calls with each of them. */
extern void ecp_search_page_read(void *arg, const EcpProbeRun *run,
								 Buffer buffer, const EcpEntryView *view,
								 uint32 first, int n);

#endif							/* ECP_SEARCH_PRIVATE_H */
