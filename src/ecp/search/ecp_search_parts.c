/*-------------------------------------------------------------------------
 *
 * ecp_search_parts.c
 *	  SEARCH: rows in PARTS, of which a search reads the lower part only if the
 *	  upper one does not say that they are too far away.
 *
 * Of bytes these are the lower and the upper four bits; of codes of four bits, which
 * are all that some indexes have of a vector, the lower three and the uppermost.
 *
 * What is too far away: while the first window is read, what is a little beyond the
 * k-th row so far, where k is the number of rows that are asked for; with a radius,
 * what is beyond that.  Rows whose ranks are not above this limit are compared as all
 * others are, and added; so the order of rows and their distances are those of a
 * search that compares all (with codes, but for few rows).  Of the others not even the rank is known.
 * Only their pages are noted, with the limit that each was read with, and they are
 * read again before a row is taken that is farther away than one of the limits.
 *
 * That takes about as long as the first time, so nothing is left out for a cursor,
 * and less under a filter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "base/topk.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/search/ecp_search_private.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"

/* Rows are left out if not more are asked for. */
#define PARTS_LIMIT_MAX	1000

#define PARTS_PAGES_MIN	256

/*
 * How far beyond the k-th row, as a share of its rank, rows are compared all the
 * same: a few may be taken in the place of rows that are invisible, and many under
 * a filter.
 */
#define PARTS_AHEAD				0.03
#define PARTS_AHEAD_FILTERED	0.3

void
ecp_search_parts_begin(EcpSearch *search)
{
	const EcpSearchRequest *request = &search->request;
	EcpSearchLeft *left = &search->left;

	left->active = search->state.leaf.parts && !search->complete &&
		isinf(search->query.rank_max) && request->limit > 0 &&
		request->limit <= PARTS_LIMIT_MAX;
	left->ahead = request->filtered || search->hold.active ?
		PARTS_AHEAD_FILTERED : PARTS_AHEAD;
	left->npages = 0;
	left->nrows = 0;
	left->limit = get_float8_infinity();
	search->probe.whole = !left->active && isinf(search->query.rank_max);
}

/* The rank beyond which rows are not compared now, or not at all. */
static float8
parts_limit(const EcpSearch *search)
{
	if (!isinf(search->query.rank_max))
		return search->query.rank_max;
	if (!search->left.active || !search->rest.active)
		return get_float8_infinity();
	return search->query.nibbles ? search->near :
		search->nearest.kth * (1 + search->left.ahead);
}

/*
 * Add those of the live slots of a page whose ranks are above "beyond" and not above
 * the limit.  Returns the number of those that are farther.
 */
static uint64
parts_add(EcpSearch *search, const EcpProbeRun *run,
		  const EcpEntryView *view, const uint64 *live, uint32 first, int n,
		  float8 beyond, float8 limit)
{
	const EcpGeometry *geo = &search->state.leaf;
	uint64	   *near = search->slots.near;
	uint64		any = 0;
	uint64		farther = 0;

	if (search->query.nibbles)
		return ecp_search_add_nibbles(search, view, live, n, beyond, limit);
	for (int from = 0; from < n; from += ECP_PASS_ROWS)
	{
		float8	   *ranks = search->slots.ranks + from;
		uint64		word = live[from / 64] & EcpLowBits(n - from);
		uint64		passed = ecp_query_pass_parts(search->query.exact,
												  (const uint8 *) view->codes + from * geo->code_bytes,
												  (const uint8 *) view->rest + from * geo->rest_bytes,
												  view->factors[0] + from, word,
												  limit, ranks);

		farther += pg_popcount64(word & ~passed);
		for (uint64 rows = isinf(beyond) ? 0 : passed; rows != 0; rows &= rows - 1)
		{
			int			i = pg_rightmost_one_pos64(rows);

			if (ranks[i] <= beyond)
				passed &= ~(UINT64CONST(1) << i);
		}
		near[from / 64] = passed;
		any |= passed;
	}
	if (any != 0)
		ecp_search_add_rows(search, run, near, view->tids, first, n);
	return farther;
}

void
ecp_search_parts_read(EcpSearch *search, const EcpProbeRun *run,
					  const EcpEntryView *view, const uint64 *live,
					  uint32 first, int n)
{
	EcpSearchLeft *left = &search->left;
	float8		limit = parts_limit(search);
	uint64		farther = parts_add(search, run, view, live, first, n,
									-get_float8_infinity(), limit);
	EcpLeftPage *page;

	search->stats.vectors += farther;
	if (farther == 0 || !left->active)
		return;
	if (left->npages == left->pages_max)
	{
		Size		max = Max(left->pages_max * 2, PARTS_PAGES_MIN);
		Size		bytes = mul_size(max, sizeof(EcpLeftPage));

		left->pages = left->pages == NULL ?
			MemoryContextAllocHuge(search->memory, bytes) :
			repalloc_huge(left->pages, bytes);
		left->pages_max = max;
	}
	page = &left->pages[left->npages++];
	page->blk = run->blk;
	page->run = run->run;
	page->recent = run->recent;
	page->nrecent = run->nrecent;
	page->pageno = first / search->state.leaf.slots;
	page->n = n;
	page->limit = limit;
	left->limit = Min(left->limit, limit);
	left->nrows += farther;
	search->candidates += farther;
}

/*
 * Add the rows of a page that were left out.  Slots may have been freed and filled
 * again meanwhile, but only with rows that our snapshot cannot see.
 */
static void
parts_add_left(EcpSearch *search, const EcpLeftPage *page)
{
	const EcpGeometry *geo = &search->state.leaf;
	const EcpAttrFilter *filter = search->request.filter;
	EcpProbeRun run = {0};
	EcpEntryView view;
	Buffer		buffer;
	Page		contents;

	run.blk = page->blk;
	run.run = page->run;
	run.recent = page->recent;
	run.nrecent = page->nrecent;
	buffer = ecp_probe_buffer(&search->probe, &run, ECP_PAGE_ENTRY,
							  page->pageno, &contents);
	ecp_entry_view(contents, geo, 0, &view);
	if (filter)
		(void) ecp_attr_filter_page(filter, geo, &view, page->n,
									search->slots.passed);
	(void) parts_add(search, &run, &view,
					 filter ? search->slots.passed : view.live,
					 page->pageno * geo->slots, page->n, page->limit,
					 get_float8_infinity());
	UnlockReleaseBuffer(buffer);
}

void
ecp_search_parts_flush(EcpSearch *search)
{
	EcpSearchLeft *left = &search->left;

	/* those are nearer, and there will be no other rest */
	ecp_topk_add_more(&search->rows);
	Assert(!search->rest.active);
	search->slots.ranks = search->slots.scratch;
	search->stats.vectors -= left->nrows;
	search->candidates -= left->nrows;
	for (Size i = 0; i < left->npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		parts_add_left(search, &left->pages[i]);
	}
	left->npages = 0;
	left->nrows = 0;
	left->limit = get_float8_infinity();
}

bool
ecp_search_parts_take(EcpSearch *search, EcpRanked *row)
{
	for (;;)
	{
		bool		found = ecp_rerank_take(&search->rerank, &search->rows, row);

		if (search->left.npages == 0 ||
			(found && row->rank <= search->left.limit))
			return found;
		if (found)
			ecp_rerank_put_back(&search->rerank, row);
		ecp_search_parts_flush(search);
	}
}
