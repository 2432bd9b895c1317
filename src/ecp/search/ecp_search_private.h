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
#include "ecp/search/ecp_target.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/*
 * The tenth rank is hardly ever above this, if its estimate from codes is kth.
 */
#define EcpSearchNear(kth)	((kth) + 0.1 * fabs(kth))

struct EcpSearch
{
	EcpProbe	probe;			/* must be first */
	Relation	index;
	MemoryContext memory;		/* of this struct and its arrays */
	MemoryContext context;		/* of one search, reset by the next */
	bool		state_valid;
	EcpIndexState state;
	const EcpAttrFilter *filter;	/* conditions on attributes, or NULL */
	uint64	   *passed;			/* slots of a page that fulfil them */
	float8		rank_max;		/* of rows that are wanted, or infinity */
	uint64		candidates;		/* rows that came to be in "rows" */
	EcpIterativeScan iterative; /* settings when the search began */
	int			max_scan_tuples;

	EcpQuery   *query;			/* NULL: all distances are "constant" */
	float8		constant;		/* 0 or NaN */
	bool		null_query;		/* distances are NULL */
	bool		unordered;		/* nobody wants the rows in order */
	bool		started;
	EcpDescent *descent;		/* NULL before the first window and in the end */

	EcpTopk		rows;			/* candidates; item = TID, or number */
	EcpCodeQuery *codes;		/* NULL: candidates have exact ranks */
	EcpRerank	rerank;			/* of those that have not */
	Relation	heap;			/* rows will be fetched from it, or NULL */
	bool		located;		/* their places are wanted: all are numbered */
	uint64		number;			/* then, of the row returned last */
	EcpScanPlan plan;			/* of the first window */
	EcpTopRanks nearest;		/* ranks or estimates, in the first window */
	float8		near;			/* rows whose bounds are not above are noted */
	uint64		window;			/* clusters of the next window */
	EcpRanked	last;			/* returned last */
	float8	   *ranks;			/* of the slots of a page */
	struct EcpVectorPart *vectors;	/* where they are not on entry pages */
	EcpSearchStats stats;
};

/* What of an entry page is needed to read its rows' vectors afterwards. */
typedef struct EcpVectorPart
{
	uint64	   *live;
	ItemPointerData *tids;
	uint32	   *factors[ECP_FACTORS_MAX];
	char	   *vector;			/* one that spans pages */
} EcpVectorPart;

/* Rank the rows of an entry page: what the probe calls with each of them. */
extern void ecp_search_read_page(EcpProbe *probe, const EcpProbeRun *run,
								 Buffer buffer, const EcpEntryView *view,
								 uint32 first, int n);

#endif							/* ECP_SEARCH_PRIVATE_H */
