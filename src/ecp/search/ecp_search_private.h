/*-------------------------------------------------------------------------
 *
 * ecp_search_private.h
 *	  What a search is, for the files that work on it: ecp_search.c decides what
 *	  is read, ecp_candidates.c makes candidates of a page or defers its rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SEARCH_PRIVATE_H
#define ECP_SEARCH_PRIVATE_H

#include <math.h>

#include "base/topk.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_search.h"
#include "ecp/search/ecp_stop.h"
#include "portability/instr_time.h"

/* The time that a search has; ecp_search_begin.c. */
typedef struct EcpSearchBudget
{
	double		ms;				/* 0: no limit */
	instr_time	start;
	double		begun;			/* ms after the start: clusters are read, */
	double		read;			/* and those of the first window are */
} EcpSearchBudget;

/* Arrays for the slots of a page: ecp_candidates.c's. */
typedef struct EcpSearchSlots
{
	uint64	   *wanted;			/* those that fulfil the conditions */
	const ItemPointerData *tids;	/* of the page */
	const uint64 *ranked;		/* slots that were compared: */
	EcpNear		near;			/* their ranks */
	float4		leader_rank;	/* of the cluster, with codes */
	uint64		number;			/* of the first slot, if rows are numbered */
	float8	   *scratch;		/* room for ranks if none is deferred */
	EcpVectorPart *vectors;		/* if vectors are not on entry pages */
} EcpSearchSlots;

/*
 * Rows of the first window that are farther away than the nearest; in words of 64
 * slots of a page each.
 */
typedef struct EcpDeferredRows
{
	bool		active;			/* rows are deferred */
	uint64		nrows;			/* that were */
	Size		nwords;
	Size		words_max;
	uint64	   *words;			/* which slots of each */
	uint64	   *numbers;		/* of its first slot, if rows are numbered */
	ItemPointerData *tids;		/* 64 of each word, if they are not */
	float8	   *ranks;			/* 64 of each word, or float4 bounds */
} EcpDeferredRows;

/* A page of rows in PARTS, of which those above the limit were not compared. */
typedef struct EcpDeferredPage
{
	BlockNumber blk;			/* of the run */
	uint64		run;
	Buffer	   *recent;
	int			nrecent;
	uint32		pageno;
	int			n;				/* slots that were used */
	float8		limit;
} EcpDeferredPage;

/* Rows that were deferred without a rank. */
typedef struct EcpDeferredPages
{
	bool		active;			/* rows may be */
	float8		margin;			/* how far beyond the k-th they are not, as a
								 * share of its rank */
	EcpDeferredPage *pages;
	Size		npages;
	Size		pages_max;
	float8		limit;			/* the smallest */
	uint64		nrows;
} EcpDeferredPages;

/*
 * The row that was returned last.  Nearer than "floor" are those that are too
 * late: of the rows that count, this was the last, as far as that is known.
 */
typedef struct EcpSearchReturned
{
	EcpRanked	last;
	EcpRanked	floor;
	uint64		number;			/* if rows are numbered */
} EcpSearchReturned;

/*
 * Rows that are held back until as many that count are known as are wanted.  The
 * next one is not returned before those that are nearer are known.
 */
typedef struct EcpSearchHold
{
	bool		active;
	EcpTopk		rows;			/* that count */
	uint64		returned;		/* of them, and before them */
	float8		farthest;		/* rank of those that were tested, or returned */
	bool		has_next;
	EcpRanked	next;			/* to be tested */
} EcpSearchHold;

/* Rows that are sorted at first. */
#define ECP_SEARCH_BATCH		16

/* Rows of the table that are prefetched at a time. */
#define ECP_SEARCH_AHEAD_ROWS	10

/* Rows whose exact ranks were read before they are taken; "next" is the next one. */
typedef struct EcpSearchAhead
{
	int			next;
	int			n;
	EcpRanked	rows[ECP_SEARCH_AHEAD_ROWS];
} EcpSearchAhead;

/* The rows of a search, from pages to the executor, in the order in which they pass. */
typedef struct EcpSearchRows
{
	EcpTopk		candidates;		/* item = TID, or number */
	EcpDeferredRows deferred;	/* farther than these */
	EcpDeferredPages pages;		/* and without ranks */
	EcpRerank	rerank;			/* numbered ones, and those with bounds */
	EcpSearchAhead ahead;		/* of these, in order */
	EcpSearchHold hold;
	EcpSearchReturned returned;
	uint64		found;			/* candidates, deferred or not */
	uint64		taken;			/* of them, in order */
	uint64		passed;			/* of those returned, as far as is known */
} EcpSearchRows;

/*
 * The modes of a search, which follow from the request, the settings and the index when
 * it starts; only "held" can begin later, and what is deferred ends with the first
 * window.  A radius is a mode, too: rank_max is finite.
 *
 *	 strict		rows come in order, and iterative_scan is strict_order: none may be
 *				returned too late
 *	 complete	strict, and all rows may be wanted, or a quarter of them: all clusters
 *				are read, and sorted on disk if necessary
 *	 adaptive	the index has a curve: the first window ends where the stop test says
 *	 held		strict, and rows are tested: those that pass are held back until there
 *				are as many as the LIMIT asks for
 *	 bounds		rows have codes of one bit, or of four: rerank finds exact ranks
 *	 numbered	rows have numbers instead of TIDs: with codes of one bit, or "located"
 *	 deferred	rows farther than the nearest do not become candidates yet
 *	 pages		nor are they compared to the end, if they are in PARTS
 *
 * Which occur together (x), which never do (-), and which only with that of the row (<):
 *
 *				complete  adaptive  held  bounds  numbered  deferred  pages  radius
 *	 strict		   <		 x		 <		x		 x		   x		x	   x
 *	 complete				 -		 -		1		 x		   -		-	   -
 *	 adaptive						 x		x		 x		   x		x	   -
 *	 held									x		 x		   x		x	   x
 *	 bounds											 x		   x		2	   x
 *	 numbered												   x		x	   x
 *	 deferred															<	   -
 *	 pages																	   -
 *
 * 1: of four bits only, as bounds of one bit are wrong for a few rows.  2: of four bits.
 */
struct EcpSearch
{
	EcpProbe	probe;
	MemoryContext memory;		/* of this struct and its arrays */
	MemoryContext context;		/* of one search, reset by the next */
	EcpSearchRequest request;
	EcpIterativeScan iterative; /* settings when it began */
	int			max_scan_tuples;
	EcpSearchBudget budget;
	bool		started;
	bool		state_valid;
	EcpIndexState state;
	EcpPageQuery query;			/* what rows are compared with; exact is NULL
								 * if that has no direction, or is NULL */
	bool		is_null;		/* distances are NULL */
	float8		rank_max;		/* of rows within the radius, or infinity */
	EcpDescent *descent;		/* NULL before the first window and in the end */

	/* how the first window is read, and clusters of the next one */
	EcpScanPlan plan;
	EcpPlace	place;			/* of the query, if the plan is adaptive */
	EcpQueryMix mix;
	uint64		window;
	uint64		rows_known;		/* rows that are taken before more is read */
	uint64		rows_read;		/* rows for which enough has been read */
	bool		strict;
	bool		complete;

	EcpSearchSlots slots;
	EcpNearest	nearest;		/* in the first window */
	int			nearest_max;	/* room in it */
	float8		near;			/* rows whose ranks or bounds are above are
								 * not */
	EcpSearchRows rows;
	EcpSearchStats stats;
};

/*
 * Do not note the nearest rows any more: only the first window needs them, and
 * not with a radius, where not all rows become candidates.
 */
extern void ecp_search_note_none(EcpSearch *search);

/* One more row is returned: ecp_last_scan() shows this search. */
extern void ecp_search_note_returned(EcpSearch *search);

/*
 * Before each cluster: would it take too long?  Not the first one.  When the first
 * window has been read, and for each row that is returned: note the time.
 */
extern bool ecp_budget_is_spent(EcpSearch *search);
extern void ecp_budget_read(EcpSearch *search);
extern void ecp_budget_returned(EcpSearch *search);

/* Do candidates have bounds of ranks?  Exact ones are in the index or the table. */
#define EcpSearchHasBounds(search) \
	((search)->query.codes != NULL || (search)->query.nibbles != NULL)

/* Are rows numbered?  Else they have their TIDs. */
#define EcpSearchIsNumbered(search) \
	((search)->request.located || (search)->query.codes != NULL)

/*
 * From now on rows can be deferred.  The second, when search->query is known, makes
 * room for the slots of a page, in search->context.
 */
extern void ecp_candidates_begin(EcpSearch *search);
extern void ecp_candidates_init(EcpSearch *search);

/* Make candidates of the rows of an entry page: what the probe calls. */
extern void ecp_candidates_page(void *arg, const EcpProbeRun *run, Buffer buffer,
								const EcpEntryView *view, uint32 first, int n);

/* Read the deferred pages again, and add all deferred rows. */
extern void ecp_candidates_read_deferred(EcpSearch *search);

#endif							/* ECP_SEARCH_PRIVATE_H */
