/*-------------------------------------------------------------------------
 *
 * ecp_search_private.h
 *	  What a search is, for the files that work on it: ecp_search.c decides what
 *	  is read, ecp_search_page.c makes candidates of a page, ecp_search_rest.c has
 *	  those rows that are probably not wanted.
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
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"
#include "vector/vector_nibbles.h"

/*
 * The tenth rank is hardly ever above this, if its estimate from codes is kth.
 */
#define EcpSearchNear(kth)	((kth) + 0.1 * fabs(kth))

/* What a scan asks for: by ecp_search.c, before the search starts. */
typedef struct EcpSearchRequest
{
	const EcpAttrFilter *filter;	/* conditions on attributes, or NULL */
	float8		radius;			/* rows within it are wanted, or infinity */
	bool		unordered;		/* rows may be returned in any order */
	bool		located;		/* entries will be read again: number all rows */
	Relation	heap;			/* whose pages to prefetch, or NULL */
	uint64		limit;			/* rows that will be asked for; 0 = not known */
	bool		filtered;		/* of those returned some may not count */
	bool		immediate;		/* "passed" is known before the next is taken */
	uint64		passed;			/* rows that count, so far */
	EcpSearchTest test;			/* would a row count?  NULL = not known */
	void	   *test_arg;
	bool		tested;			/* ask of all rows */
	bool		grouped;		/* one of each group passes */
	EcpTableRow *table;			/* where exact vectors are, if not in the
								 * index */
	EcpIterativeScan iterative; /* settings when the search began */
	int			max_scan_tuples;
} EcpSearchRequest;

/* What rows are compared with: by ecp_search.c, when the search starts. */
typedef struct EcpSearchQuery
{
	EcpQuery   *exact;			/* NULL: all distances are "constant" */
	bool		bounded;		/* candidates have bounds of ranks, from: */
	EcpCodeQuery *codes;
	EcpNibblesQuery *nibbles;	/* exact ranks are those of the table's rows */
	float8		constant;		/* 0 or NaN */
	float8		rank_max;		/* of rows within the radius, or infinity */
	bool		is_null;		/* distances are NULL */
} EcpSearchQuery;

/* The time that a search has; ecp_search_begin.c. */
typedef struct EcpSearchBudget
{
	double		ms;				/* 0: no limit */
	instr_time	start;
	double		begun;			/* ms after the start: clusters are read, */
	double		read;			/* and those of the first window are */
} EcpSearchBudget;

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
	uint64	   *near;			/* of PARTS: those that become candidates */
	float8	   *ranks;			/* of those of the page, or float4 bounds */
	float8	   *scratch;		/* room for them if none is left out */
	EcpVectorPart *vectors;		/* if they are not on entry pages */
} EcpSearchSlots;

/*
 * Rows of the first window that were left out because they are farther away than
 * the nearest; in words of 64 slots of a page each.
 */
typedef struct EcpSearchRest
{
	bool		active;			/* rows are left out */
	uint64		nrows;			/* that were */
	Size		nwords;
	Size		words_max;
	uint64	   *left;			/* which slots of each word */
	uint64	   *numbers;		/* of its first slot, if rows are numbered */
	ItemPointerData *tids;		/* 64 of each word, if they are not */
	float8	   *ranks;			/* 64 of each word, or float4 bounds */
} EcpSearchRest;

/* A page of rows in PARTS, of which those with ranks above the limit were left out. */
typedef struct EcpLeftPage
{
	BlockNumber blk;			/* of the run */
	uint64		run;
	Buffer	   *recent;
	int			nrecent;
	uint32		pageno;
	int			n;				/* slots that were used */
	float8		limit;
} EcpLeftPage;

/* Rows that were left out without a rank; see ecp_search_parts.c. */
typedef struct EcpSearchLeft
{
	bool		active;			/* rows may be left out */
	float8		ahead;			/* how far beyond the k-th they are not, as a
								 * share of its rank */
	EcpLeftPage *pages;
	Size		npages;
	Size		pages_max;
	float8		limit;			/* the smallest */
	uint64		nrows;
} EcpSearchLeft;

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

/* Rows of the table that are prefetched at a time. */
#define ECP_SEARCH_AHEAD_ROWS	10

/* Rows whose exact ranks were read before they are taken; "next" is the next one. */
typedef struct EcpSearchAhead
{
	int			next;
	int			n;
	EcpRanked	rows[ECP_SEARCH_AHEAD_ROWS];
} EcpSearchAhead;

struct EcpSearch
{
	EcpProbe	probe;
	MemoryContext memory;		/* of this struct and its arrays */
	MemoryContext context;		/* of one search, reset by the next */
	EcpSearchRequest request;
	EcpSearchBudget budget;
	bool		started;
	bool		state_valid;
	EcpIndexState state;
	EcpSearchQuery query;
	EcpDescent *descent;		/* NULL before the first window and in the end */

	/* how the first window is read, and clusters of the next one */
	EcpScanPlan plan;
	EcpPlace	place;			/* of the query, if the plan is adaptive */
	EcpQueryMix mix;
	uint64		window;
	uint64		rows_known;		/* rows that are taken before more is read */
	uint64		rows_read;		/* rows for which enough has been read */
	bool		strict;			/* no row may be returned too late */
	bool		complete;		/* all clusters are read before one is
								 * returned */

	/* candidates */
	EcpSearchSlots slots;
	EcpTopk		rows;			/* item = TID, or number */
	EcpSearchRest rest;			/* of them */
	uint64		candidates;		/* that were added to "rows", or left out */
	EcpSearchLeft left;			/* the same */
	uint64		taken;			/* from there, in order */
	EcpSearchHold hold;
	EcpRerank	rerank;			/* numbered ones */
	EcpSearchAhead ahead;		/* of these, in order */
	EcpNearest	nearest;		/* in the first window */
	int			nearest_max;	/* room in it */
	float8		near;			/* rows whose bounds are above are not */

	EcpSearchReturned returned;
	EcpSearchStats stats;
};

/*
 * Prepare the query vector for comparisons with rows, decide how the first window
 * is read, and begin the descent; in search->context.
 */
extern void ecp_search_begin(EcpSearch *search, Datum value, bool isnull);

/*
 * Do not note the nearest rows any more: only the first window needs them, and
 * not with a radius, where not all rows become candidates.
 */
extern void ecp_search_note_none(EcpSearch *search);

/*
 * Start the time that a search has, and set budget.ms; 0 if it is not limited.
 * Then, before each cluster: would it take too long?  Not the first one.  When the
 * first window has been read, and for each row that is returned: note the time.
 */
extern void ecp_budget_start(EcpSearch *search, bool isnull);
extern bool ecp_budget_is_spent(EcpSearch *search);
extern void ecp_budget_read(EcpSearch *search);
extern void ecp_budget_returned(EcpSearch *search);

/* Make room for the slots of a page of search->state, in search->context. */
extern void ecp_search_page_init(EcpSearch *search);

/* Are rows numbered?  Else they have their TIDs in search->rows. */
#define EcpSearchIsNumbered(search) \
	((search)->request.located || (search)->query.codes != NULL)

/* A bound; on overflow, one that makes the exact rank be read. */
static inline float8
ecp_search_bound(const float4 *bounds, int i)
{
	return isnan(bounds[i]) ? -get_float8_infinity() : bounds[i];
}

/*
 * From now on rows can be left out, if all that are taken from search->rows are in
 * order or it gets the others first.
 */
extern void ecp_search_rest_begin(EcpSearch *search);

/* Where to put the ranks, or bounds, of the next n slots, which are of one page. */
extern float8 *ecp_search_rest_room(EcpSearch *search, int n);

/*
 * The next word of slots, of which the rows "left" are left out.  "number" is that
 * of the first, or "tids" are those of all n.
 */
extern void ecp_search_rest_add(EcpSearch *search, uint64 left, uint64 number,
								const ItemPointerData *tids, int n);

/* Rank the rows of an entry page: what the probe calls with each of them. */
extern void ecp_search_page_read(void *arg, const EcpProbeRun *run,
								 Buffer buffer, const EcpEntryView *view,
								 uint32 first, int n);

/*
 * Add the live ones among slots first .. first + n - 1 of a run, which are of
 * one page, with search->slots.ranks.
 */
extern void ecp_search_add_rows(EcpSearch *search, const EcpProbeRun *run,
								const uint64 *live, const ItemPointerData *tids,
								uint32 first, int n);

/*
 * The same with live slots among the first n of a page where codes of four bits are
 * all that the index has of vectors.  Rows whose ranks are above the limit by their
 * signs are not added, nor those that this page gave with the limit "beyond".  Returns
 * the number of the first.
 */
extern uint64 ecp_search_add_nibbles(EcpSearch *search, const EcpEntryView *view,
									 const uint64 *live, int n, float8 beyond,
									 float8 limit);

/* From now on rows in PARTS can be left out. */
extern void ecp_search_parts_begin(EcpSearch *search);

/* Rank the rows of a page in PARTS, and add them or leave them out. */
extern void ecp_search_parts_read(EcpSearch *search, const EcpProbeRun *run,
								  const EcpEntryView *view, const uint64 *live,
								  uint32 first, int n);

/* Add those that were left out. */
extern void ecp_search_parts_flush(EcpSearch *search);

/*
 * Take the row with the smallest exact rank where candidates have bounds; false if
 * there is none.  Those that were left out are added before one that is farther.
 */
extern bool ecp_search_parts_take(EcpSearch *search, EcpRanked *row);

#endif							/* ECP_SEARCH_PRIVATE_H */
