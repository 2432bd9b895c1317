/*-------------------------------------------------------------------------
 *
 * ecp_candidates.c
 *	  SEARCH: from a page of a cluster to candidates.
 *
 * Called by ecp_probe.c with each entry page of the clusters that a search reads,
 * under a share lock.
 *
 *	 conditions		slots that are live and fulfil them (ecp_attr_filter.c)
 *	 ranks			of these, or lower bounds of them (ecp_near.c)
 *	 candidates		{rank, TID}, or {rank, number} if more than the TID of a row
 *					will be needed (ecp_rerank.c)
 *
 * The first window has thousands of rows, of which ten are usually taken.  While it
 * is read, the k nearest so far are known (ecp_stop.c): rows farther away than
 * the k-th cannot be among the first k.  They are deferred:
 *
 *	 deferred rows	Their ranks stay where the kernel has put them, beside their TIDs;
 *					a register is compared at a time, and nothing else is done for
 *					each row.  If more rows are taken than the nearest, or another
 *					window is read, all become candidates at once.
 *	 deferred pages	Of rows in PARTS (the lower and the upper four bits of bytes; the
 *					lower three and the uppermost bit of codes of four) that are
 *					farther than the k-th by a margin, where k is the number of rows
 *					that are asked for, the lower part is not read and the rank not
 *					known.  Their pages are noted with the limit of each, and read
 *					again before a row is taken that is farther away than one of the
 *					limits.  That takes about as long as the first time, so nothing
 *					is deferred for a cursor, and less under a filter.
 *
 * So the order of rows and their distances are those of a search that defers none
 * (with codes, but for few rows).  Nothing is deferred where all rows are sorted, and
 * with a radius, beyond which rows are left out for good.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "base/topk.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_search_private.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

#define DEFER_WORD		64
#define DEFER_WORDS_MIN	256

/* Rows without ranks are deferred if not more are asked for. */
#define DEFER_LIMIT_MAX	1000

#define DEFER_PAGES_MIN	256

/*
 * How far beyond the k-th row, as a share of its rank, rows are compared all the
 * same: a few may be taken in the place of rows that are invisible, and many under
 * a filter.
 */
#define DEFER_MARGIN			0.03
#define DEFER_MARGIN_FILTERED	0.3

/* The tenth rank is hardly ever farther beyond its estimate, as a share of that. */
#define NEAR_MARGIN_LEVELS	0.02
#define NEAR_MARGIN_CODES	0.1

/* ---- deferred rows ---- */

/* The rank of a row, or its bound: on overflow, one that makes its rank be read. */
static inline float8
deferred_rank(const EcpSearch *search, const float8 *ranks, int i)
{
	float8		rank = search->query.codes ? ((const float4 *) ranks)[i] : ranks[i];

	return search->query.codes && isnan(rank) ? -get_float8_infinity() : rank;
}

/* Make the deferred rows candidates. */
static void
defer_flush(EcpTopk *rows, void *arg)
{
	EcpSearch  *search = arg;
	EcpDeferredRows *deferred = &search->rows.deferred;
	EcpRanked  *items = ecp_topk_room(rows, deferred->nrows);
	Size		nitems = 0;

	Assert(deferred->active && rows == &search->rows.candidates);
	for (Size w = 0; w < deferred->nwords; w++)
	{
		const ItemPointerData *tids = deferred->tids + w * DEFER_WORD;

		for (uint64 word = deferred->words[w]; word != 0; word &= word - 1)
		{
			int			i = pg_rightmost_one_pos64(word);

			ecp_ranked_set(&items[nitems++],
						   deferred_rank(search, deferred->ranks + w * DEFER_WORD, i),
						   EcpSearchIsNumbered(search) ?
						   deferred->numbers[w] + i : ecp_tid_item(&tids[i]));
		}
	}
	Assert(nitems == deferred->nrows);
	ecp_topk_added(rows, nitems);
	deferred->nrows = 0;
	deferred->active = false;
}

static void *
defer_array(EcpSearch *search, void *array, Size words, Size bytes)
{
	bytes = mul_size(words, bytes);
	return array == NULL ? MemoryContextAllocHuge(search->memory, bytes) :
		repalloc_huge(array, bytes);
}

/* Where to put the ranks of the n slots of a page. */
static float8 *
defer_room(EcpSearch *search, int n)
{
	EcpDeferredRows *deferred = &search->rows.deferred;
	Size		needed = deferred->nwords + (n + DEFER_WORD - 1) / DEFER_WORD + 1;

	StaticAssertStmt(ECP_KERNEL_SLACK <= DEFER_WORD * sizeof(float4),
					 "what kernels write behind the ranks is within another word");
	if (!deferred->active)
		return search->slots.scratch;
	if (needed > deferred->words_max)
	{
		Size		max = Max(DEFER_WORDS_MIN, deferred->words_max);

		while (max < needed)
			max = mul_size(max, 2);
		deferred->words = defer_array(search, deferred->words, max, sizeof(uint64));
		deferred->numbers = defer_array(search, deferred->numbers, max,
										sizeof(uint64));
		deferred->tids = defer_array(search, deferred->tids, max,
									 DEFER_WORD * sizeof(ItemPointerData));
		deferred->ranks = defer_array(search, deferred->ranks, max,
									  DEFER_WORD * sizeof(float8));
		deferred->words_max = max;
	}
	return deferred->ranks + deferred->nwords * DEFER_WORD;
}

/* Defer rows of the next word of n slots, the first of which is slot "from". */
static void
defer_rows(EcpSearch *search, int from, uint64 rows, int n)
{
	EcpDeferredRows *deferred = &search->rows.deferred;
	Size		w = deferred->nwords++;

	Assert(deferred->active && w < deferred->words_max);
	deferred->words[w] = rows;
	deferred->numbers[w] = search->slots.number + from;
	if (rows != 0 && !EcpSearchIsNumbered(search))
		memcpy(deferred->tids + w * DEFER_WORD, search->slots.tids + from,
			   n * sizeof(ItemPointerData));
	deferred->nrows += pg_popcount64(rows);
}

void
ecp_candidates_begin(EcpSearch *search)
{
	const EcpSearchRequest *request = &search->request;
	EcpDeferredRows *deferred = &search->rows.deferred;
	EcpDeferredPages *pages = &search->rows.pages;
	bool		all = search->complete || !isinf(search->rank_max);

	deferred->nrows = deferred->nwords = 0;
	deferred->active = !all;
	if (deferred->active)
		ecp_topk_set_more(&search->rows.candidates, defer_flush, search);
	pages->active = search->state.leaf.parts && !all && request->limit > 0 &&
		request->limit <= DEFER_LIMIT_MAX;
	pages->margin = request->filtered || search->rows.hold.active ?
		DEFER_MARGIN_FILTERED : DEFER_MARGIN;
	pages->npages = 0;
	pages->nrows = 0;
	pages->limit = get_float8_infinity();
	search->probe.whole = !pages->active && isinf(search->rank_max);
}

void
ecp_candidates_init(EcpSearch *search)
{
	const EcpGeometry *geo = &search->state.leaf;
	EcpSearchSlots *slots = &search->slots;

	Assert(CurrentMemoryContext == search->context);
	memset(slots, 0, sizeof(EcpSearchSlots));
	slots->wanted = palloc(sizeof(uint64) * geo->live_words);
	slots->scratch = palloc(sizeof(float8) * (geo->slots + ECP_KERNEL_SLACK));
	slots->near.words = palloc(sizeof(uint64) * geo->live_words);
	if (EcpSearchHasBounds(search))
		slots->near.estimates = palloc(sizeof(float8) * DEFER_WORD * geo->live_words);
	if (geo->stream && search->query.codes == NULL)
		slots->vectors = ecp_vector_part_create(geo);
}

/* ---- candidates ---- */

/* Note a row that may be among the nearest: its rank, or the estimate of it. */
static inline void
candidates_note(EcpSearch *search, int slot, float8 rank)
{
	float8		estimate = ecp_near_estimate(&search->query, &search->slots.near, slot,
											 rank);
	float8		kth;

	ecp_nearest_add(&search->nearest, estimate);
	kth = search->nearest.kth;

	/*
	 * nibbles: at least as far beyond the k-th as this bound is from its
	 * estimate
	 */
	search->near = search->query.codes ? kth + fabs(kth) *
		(search->state.leaf.levels_bytes > 0 ? NEAR_MARGIN_LEVELS : NEAR_MARGIN_CODES) :
		search->query.nibbles ? kth + Max(search->rows.pages.margin * fabs(kth),
										  estimate - rank) : kth;
}

/* Note the rows of a word that may be among the nearest, and defer the others. */
static uint64
candidates_nearest(EcpSearch *search, int from, uint64 word, int n)
{
	const float8 *ranks = search->slots.near.ranks + from;
	uint64		near = 0;
	uint64		passed = word;

	/* with nibbles, the limit may rise again */
	if (search->query.nibbles == NULL)
		passed &= ecp_near_passed(&search->query, &search->slots.near, from, n,
								  search->near);
	for (; passed != 0; passed &= passed - 1)
	{
		int			i = pg_rightmost_one_pos64(passed);
		float8		rank = deferred_rank(search, ranks, i);

		/* the limit may have fallen meanwhile */
		if (rank > search->near)
			continue;
		near |= UINT64CONST(1) << i;
		candidates_note(search, from + i, rank);
	}
	defer_rows(search, from, word & ~near, n);
	return near;
}

/*
 * Make rows of a page, with search->slots.near.ranks, candidates, or defer them.
 * Returns the number of the candidates.
 */
static uint64
candidates_add(EcpSearch *search, const EcpProbeRun *run, uint32 first, int n)
{
	EcpSearchSlots *slots = &search->slots;
	float8		rank_max = search->rank_max;
	bool		within = !isinf(rank_max);
	bool		numbered = EcpSearchIsNumbered(search);
	uint64		added = 0;

	if (numbered && slots->tids)
		slots->number = ecp_rerank_add_page(&search->rows.rerank, run, first, n,
											slots->tids);
	for (int from = 0; from < n; from += 64)
	{
		int			count = Min(n - from, 64);
		uint64		word = slots->ranked[from / 64] & EcpLowBits(count);
		const float8 *ranks = slots->near.ranks + from;
		EcpRanked  *items;
		int			nitems = 0;

		if (search->rows.deferred.active)
			word = candidates_nearest(search, from, word, count);
		if (word == 0)
			continue;
		items = ecp_topk_room(&search->rows.candidates, count);
		for (; word != 0; word &= word - 1)
		{
			int			i = pg_rightmost_one_pos64(word);
			float8		rank = deferred_rank(search, ranks, i);

			if (within && !(rank <= rank_max))
				continue;
			ecp_ranked_set(&items[nitems++], rank, numbered ?
						   slots->number + from + i : ecp_tid_item(&slots->tids[from + i]));
		}
		ecp_topk_added(&search->rows.candidates, nitems);
		added += nitems;
	}
	return added;
}

/* The number of bits among the first n of some words. */
static inline uint64
candidates_count(const uint64 *words, int n)
{
	uint64		count = 0;

	for (int from = 0; from < n; from += 64)
		count += pg_popcount64(words[from / 64] & EcpLowBits(n - from));
	return count;
}

/* Compare the live slots of a page, of which there may be none above the limit. */
static inline void
candidates_compare(EcpSearch *search, const EcpEntryView *view, const uint64 *live,
				   int n, float8 limit)
{
	EcpSearchSlots *slots = &search->slots;

	slots->tids = view->tids;
	slots->ranked = live;
	slots->near.ranks = defer_room(search, n);
	if (search->query.codes)
		slots->leader_rank = search->state.meta.ecpm_root_level > 0 ?
			search->probe.ref->rank : ecp_code_query_origin(search->query.codes);
	if (search->query.exact)
		slots->ranked = ecp_page_near(&search->query, view, slots->leader_rank, live, n,
									  limit, &slots->near);
	else
	{
		/* the distance from NULL, or from a vector that has no direction */
		for (int i = 0; i < n; i++)
			slots->near.ranks[i] = search->is_null ? 0 : get_float8_nan();
	}
}

/* ---- levels ---- */

/*
 * The rows of a page with codes and levels: those that may be near have their bounds
 * refined, from another page, as we lock one at a time.  Releases the buffer.
 */
static uint64
candidates_levels(EcpSearch *search, const EcpProbeRun *run, Buffer buffer,
				  const EcpEntryView *view, const uint64 *live, uint32 first, int n)
{
	EcpSearchSlots *slots = &search->slots;
	bool		deferred = search->rows.deferred.active;
	float8		limit = deferred ? search->near : search->rank_max;
	const uint64 *words;

	candidates_compare(search, view, live, n, limit);
	slots->number = ecp_rerank_add_page(&search->rows.rerank, run, first, n, view->tids);
	memmove(slots->wanted, live, sizeof(uint64) * search->state.leaf.live_words);
	words = slots->ranked == live ? slots->wanted : slots->ranked;
	slots->ranked = deferred ? slots->wanted : words;
	slots->tids = NULL;
	UnlockReleaseBuffer(buffer);
	/* all rows would be, in vain, if all of them are sorted */
	if (deferred || !isinf(limit))
		ecp_levels_near(&search->probe, &search->query, run, first, slots->leader_rank,
						words, n, &slots->near);
	return candidates_add(search, run, first, n);
}

/* ---- deferred pages ---- */

/* The rank beyond which rows are not compared now, or not at all. */
static float8
defer_limit(const EcpSearch *search)
{
	if (!isinf(search->rank_max))
		return search->rank_max;
	if (!search->rows.pages.active || !search->rows.deferred.active)
		return get_float8_infinity();
	return search->query.nibbles ? search->near :
		search->nearest.kth * (1 + search->rows.pages.margin);
}

/* Note that rows of a page are above the limit. */
static void
defer_page(EcpSearch *search, const EcpProbeRun *run, uint32 first, int n,
		   float8 limit)
{
	EcpDeferredPages *pages = &search->rows.pages;
	EcpDeferredPage *page;

	if (pages->npages == pages->pages_max)
	{
		Size		max = Max(pages->pages_max * 2, DEFER_PAGES_MIN);

		pages->pages = defer_array(search, pages->pages, max, sizeof(EcpDeferredPage));
		pages->pages_max = max;
	}
	page = &pages->pages[pages->npages++];
	page->blk = run->blk;
	page->run = run->run;
	page->recent = run->recent;
	page->nrecent = run->nrecent;
	page->pageno = first / search->state.leaf.slots;
	page->n = n;
	page->limit = limit;
	pages->limit = Min(pages->limit, limit);
}

/*
 * Add the rows of a page that were not compared.  Slots may have been freed and filled
 * again meanwhile, but only with rows that our snapshot cannot see.
 */
static void
defer_read_page(EcpSearch *search, const EcpDeferredPage *page)
{
	const EcpGeometry *geo = &search->state.leaf;
	EcpSearchSlots *slots = &search->slots;
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
	if (search->request.filter)
		(void) ecp_attr_filter_page(search->request.filter, geo, &view, page->n,
									slots->wanted);
	else
		memcpy(slots->wanted, view.live, sizeof(uint64) * geo->live_words);
	if (search->query.nibbles)
	{
		/* whether a row was added, its signs say */
		candidates_compare(search, &view, slots->wanted, page->n, page->limit);
		for (int w = 0; w * 64 < page->n; w++)
			slots->wanted[w] &= ~slots->ranked[w];
	}
	candidates_compare(search, &view, slots->wanted, page->n, get_float8_infinity());
	for (int w = 0; search->query.nibbles == NULL && w * 64 < page->n; w++)
		slots->near.words[w] &= ~ecp_ranks_passed(slots->near.ranks + w * 64,
												  Min(page->n - w * 64, 64),
												  page->limit);
	(void) candidates_add(search, &run, page->pageno * geo->slots, page->n);
	UnlockReleaseBuffer(buffer);
}

void
ecp_candidates_read_deferred(EcpSearch *search)
{
	EcpDeferredPages *pages = &search->rows.pages;

	/* those are nearer, and no others will be deferred */
	ecp_topk_add_more(&search->rows.candidates);
	Assert(!search->rows.deferred.active);
	for (Size i = 0; i < pages->npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		defer_read_page(search, &pages->pages[i]);
	}
	pages->npages = 0;
	pages->nrows = 0;
	pages->limit = get_float8_infinity();
}

/* ---- pages ---- */

/* The slots of a page that fulfil the conditions; counts the others. */
static const uint64 *
candidates_filter(EcpSearch *search, const EcpEntryView *view, int n)
{
	EcpSearchStats *stats = &search->stats;
	uint64	   *wanted = search->slots.wanted;

	stats->filtered += ecp_attr_filter_page(search->request.filter,
											&search->state.leaf, view, n, wanted);
	for (int w = 0; w < search->state.leaf.live_words; w++)
		stats->filtered -= pg_popcount64(wanted[w]);
	search->probe.keys = true;
	search->probe.sparse = stats->vectors * ECP_SEARCH_SPARSE < stats->filtered;
	return wanted;
}

void
ecp_candidates_page(void *arg, const EcpProbeRun *run, Buffer buffer,
					const EcpEntryView *view, uint32 first, int n)
{
	EcpSearch  *search = arg;
	EcpSearchSlots *slots = &search->slots;
	const uint64 *live = view->live;
	uint64		nlive;
	uint64		added;

	Assert(BufferIsValid(buffer));
	Assert(n >= 0 && n <= search->state.leaf.slots);

	if (search->request.filter)
		live = candidates_filter(search, view, n);
	nlive = candidates_count(live, n);
	search->stats.vectors += nlive;
	if (nlive > 0 && slots->vectors != NULL && search->query.exact != NULL)
	{
		/* the vectors are on other pages, and we lock one at a time */
		float8		limit = defer_limit(search);
		EcpPageQueries queries = {&search->state, 1, &search->query.exact, &limit,
			&slots->near
			};

		ecp_vector_part_set(slots->vectors, &search->state.leaf, view, live, n);
		UnlockReleaseBuffer(buffer);
		slots->near.ranks = defer_room(search, n);
		ecp_vector_part_near(&search->probe, &queries, slots->vectors, run, first, 0, n);
		slots->tids = slots->vectors->tids;
		slots->ranked = slots->near.words;
		added = candidates_add(search, run, first, n);
		search->rows.found += search->rows.deferred.active ? nlive : added;
		return;
	}
	if (nlive > 0 && search->query.codes && search->state.leaf.levels_bytes > 0)
	{
		added = candidates_levels(search, run, buffer, view, live, first, n);
		search->rows.found += search->rows.deferred.active ? nlive : added;
		return;
	}
	if (nlive > 0)
	{
		float8		limit = defer_limit(search);
		uint64		nranked = nlive;

		candidates_compare(search, view, live, n, limit);
		if (slots->ranked != live)
			nranked = candidates_count(slots->ranked, n);
		if (nranked < nlive && search->rows.pages.active)
		{
			defer_page(search, run, first, n, limit);
			search->rows.pages.nrows += nlive - nranked;
		}
		added = nranked == 0 ? 0 : candidates_add(search, run, first, n);
		search->rows.found += search->rows.deferred.active ? nlive : added;
	}
	UnlockReleaseBuffer(buffer);
}
