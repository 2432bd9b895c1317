/*-------------------------------------------------------------------------
 *
 * ecp_search_page.c
 *	  SEARCH: from a page of a cluster to candidates.
 *
 * Called by ecp_probe.c with each entry page of the clusters that a search
 * reads, under a share lock.
 *
 *	 conditions		slots that are live and fulfil them (ecp_attr_filter.c)
 *	 ranks			by one call of a kernel on the page itself; where vectors
 *					are in the vector part, page after page of that; or lower
 *					bounds of the ranks, from codes
 *	 candidates		{rank, TID}, or {rank, number} if more than the TID of a
 *					row will be needed (ecp_rerank.c)
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
#include "ecp/search/ecp_search.h"
#include "ecp/search/ecp_search_private.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"
#include "vector/vector_nibbles.h"

/* Slots that are ranked together although some are not wanted. */
#define ECP_RANK_GROUP			16
#define ECP_RANK_MASK			((UINT64CONST(1) << ECP_RANK_GROUP) - 1)

void
ecp_search_page_init(EcpSearch *search)
{
	const EcpGeometry *geo = &search->state.leaf;
	EcpSearchSlots *slots = &search->slots;
	EcpVectorPart *part;

	Assert(CurrentMemoryContext == search->context);
	memset(slots, 0, sizeof(EcpSearchSlots));
	if (search->request.filter != NULL)
		slots->passed = palloc(sizeof(uint64) * geo->live_words);
	slots->scratch = palloc(sizeof(float8) * (geo->slots + ECP_KERNEL_SLACK));
	if (geo->parts)
		slots->near = palloc(sizeof(uint64) * geo->live_words);
	if (!geo->stream || search->query.codes != NULL)
		return;
	part = slots->vectors = palloc0(sizeof(EcpVectorPart));
	part->live = palloc(sizeof(uint64) * geo->live_words);
	part->tids = palloc(sizeof(ItemPointerData) * geo->slots);
	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		part->factors[f] = palloc(sizeof(uint32) * geo->slots +
								  ECP_KERNEL_SLACK);
	part->vector = palloc(geo->vec_bytes + ECP_KERNEL_SLACK);
}

/* Rows were ranked: all are candidates if some of them may be left out. */
static inline void
search_ranked(EcpSearch *search, uint64 rows)
{
	search->stats.vectors += pg_popcount64(rows);
	if (search->rest.active)
		search->candidates += pg_popcount64(rows);
}

/* Items were put into the room of search->rows: else these are the candidates. */
static inline void
search_added(EcpSearch *search, int nitems)
{
	if (!search->rest.active)
		search->candidates += nitems;
	ecp_topk_added(&search->rows, nitems);
}

/*
 * Of a word of slots those that may be among the nearest, which are noted; the others
 * are left out.  "number" or "tids" as ecp_search_rest_add() takes them.
 */
static uint64
search_leave_out(EcpSearch *search, uint64 word, const float8 *ranks,
				 uint64 number, const ItemPointerData *tids, int n)
{
	EcpNearest *nearest = &search->nearest;
	uint64		near = 0;

	for (uint64 passed = word & ecp_ranks_passed(ranks, n, nearest->kth);
		 passed != 0; passed &= passed - 1)
	{
		int			i = pg_rightmost_one_pos64(passed);

		/* it may have fallen meanwhile */
		if (ranks[i] > nearest->kth)
			continue;
		near |= UINT64CONST(1) << i;
		ecp_nearest_add(nearest, ranks[i]);
	}
	ecp_search_rest_add(search, word & ~near, number, tids, n);
	return near;
}

/*
 * Add the live ones among slots first .. first + n - 1 of a run, which are of
 * one page, with search->slots.ranks.
 */
void
ecp_search_add_rows(EcpSearch *search, const EcpProbeRun *run,
					const uint64 *live, const ItemPointerData *tids,
					uint32 slot, int n)
{
	float8		rank_max = search->query.rank_max;
	bool		within = !isinf(rank_max);
	uint64		number = 0;

	if (search->request.located)
		number = ecp_rerank_add_page(&search->rerank, run, slot, n, tids);
	for (int from = 0; from < n; from += 64)
	{
		int			count = Min(n - from, 64);
		const float8 *ranks = search->slots.ranks + from;
		uint64		word = live[from / 64] & EcpLowBits(count);
		EcpRanked  *items;
		int			nitems = 0;

		search_ranked(search, word);
		if (search->rest.active)
			word = search_leave_out(search, word, ranks, number + from,
									tids + from, count);
		else if (within)
			word &= ecp_ranks_passed(ranks, count, rank_max);
		if (word == 0)
			continue;
		items = ecp_topk_room(&search->rows, count);
		for (; word != 0; word &= word - 1)
		{
			int			i = pg_rightmost_one_pos64(word);

			if (within && isnan(ranks[i]))
				continue;
			ecp_ranked_set(&items[nitems++], ranks[i], search->request.located ?
						   number + from + i : ecp_tid_item(&tids[from + i]));
		}
		search_added(search, nitems);
	}
}

/* Compute the ranks of n rows in either layout. */
static inline void
search_rank(EcpSearch *search, const char *codes, bool columns, Size stride,
			uint32 *const *factors, int n, float8 *ranks)
{
	const uint32 *const *fac = (const uint32 *const *) factors;

	if (columns)
		ecp_query_rank_columns(search->query.exact, (const uint8 *) codes,
							   search->state.leaf.slots, fac, n, ranks);
	else
		ecp_query_rank_rows(search->query.exact, codes, stride, fac, n, ranks);
}

/* Ranks of slots i .. i + n - 1 of a page; their vectors follow each other. */
static void
search_rank_vectors(EcpSearch *search, int i, const char *vectors, int n)
{
	const EcpGeometry *geo = &search->state.leaf;
	const EcpMetaPageData *meta = &search->state.meta;
	uint32	   *factors[ECP_FACTORS_MAX];
	bool		coded = geo->quantizer != ECP_QUANTIZER_NONE;

	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		factors[f] = coded || f < geo->nfactors ?
			search->slots.vectors->factors[f] + i : NULL;
	/* the entries of rows with codes have the factors of these */
	for (int row = 0; coded && row < n; row++)
	{
		uint32		computed[ECP_FACTORS_MAX];

		ecp_factors_compute(meta->ecpm_elem, meta->ecpm_metric, meta->ecpm_dims,
							vectors + row * geo->vec_bytes, computed);
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			factors[f][row] = computed[f];
	}
	search_rank(search, vectors, false, geo->vec_bytes, factors, n,
				&search->slots.ranks[i]);
}

/*
 * Rank what one page of the vector part holds, from slot i on: "offset" is
 * where its vector begins or, if "copied" bytes of it are in part->vector
 * already, continues.  Returns the next slot to rank; *copied is what was
 * copied of its vector.
 */
static int
search_rank_page(EcpSearch *search, const char *payload, uint32 offset,
				 int i, int n, uint32 *copied)
{
	EcpVectorPart *part = search->slots.vectors;
	uint32		vec_bytes = search->state.leaf.vec_bytes;
	int			whole;

	Assert(offset < ECP_PAYLOAD_BYTES && *copied < vec_bytes);
	Assert(i < n);

	if (*copied > 0)
	{
		uint32		bytes = Min(vec_bytes - *copied, ECP_PAYLOAD_BYTES - offset);

		memcpy(part->vector + *copied, payload + offset, bytes);
		*copied += bytes;
		offset += bytes;
		if (*copied < vec_bytes)
			return i;
		search_rank_vectors(search, i, part->vector, 1);
		*copied = 0;
		i++;
	}

	whole = Min((int) ((ECP_PAYLOAD_BYTES - offset) / vec_bytes), n - i);
	if (whole > 0)
		search_rank_vectors(search, i, payload + offset, whole);
	i += whole;
	offset += whole * vec_bytes;

	/* one that continues on the next page */
	if (i < n && offset < ECP_PAYLOAD_BYTES)
	{
		*copied = ECP_PAYLOAD_BYTES - offset;
		memcpy(part->vector, payload + offset, *copied);
	}
	return i;
}

/*
 * Rank the live ones among slots first .. first + n - 1 of a run, out of its
 * vector part: page after page, whole vectors where they stand, those that
 * span pages in a copy.  Pages without a live vector are skipped, as they may
 * not be initialised.
 */
static void
search_rank_stream(EcpSearch *search, const EcpProbeRun *run, uint32 first,
				   int n)
{
	const EcpGeometry *geo = &search->state.leaf;
	const uint64 *live = search->slots.vectors->live;
	int			i = 0;
	uint32		copied = 0;

	Assert(geo->stream && search->query.codes == NULL);

	while (i < n)
	{
		uint32		pageno;
		uint32		offset;
		Buffer		buffer;
		Page		page;

		if ((live[i / 64] & (UINT64CONST(1) << (i % 64))) == 0)
		{
			copied = 0;
			i++;
			continue;
		}

		CHECK_FOR_INTERRUPTS();
		ecp_geometry_stream_position(geo, run->header.ecpr_entry_pages, first + i,
									 &pageno, &offset);
		pageno += (offset + copied) / ECP_PAYLOAD_BYTES;
		offset = (offset + copied) % ECP_PAYLOAD_BYTES;
		buffer = ecp_probe_buffer(&search->probe, run, ECP_PAGE_VECTOR,
								  pageno, &page);
		i = search_rank_page(search, EcpPageGetStream(page), offset, i, n,
							 &copied);
		UnlockReleaseBuffer(buffer);
	}
}

/*
 * Rank those of the first n slots of a page that are wanted: in groups as wide
 * as a kernel's registers, without the groups that have no such slot.
 */
static void
search_rank_some(EcpSearch *search, const EcpEntryView *view,
				 const uint64 *wanted, int n)
{
	const EcpGeometry *geo = &search->state.leaf;
	Size		stride = geo->columns ? ECP_GROUP : geo->code_bytes;
	uint32	   *factors[ECP_FACTORS_MAX] = {NULL};
	int			from = 0;

	Assert(!geo->stream);
	while (from < n)
	{
		int			upto = from;

		while (upto < n &&
			   ((wanted[upto / 64] >> (upto % 64)) & ECP_RANK_MASK) != 0)
			upto += ECP_RANK_GROUP;
		if (upto > from)
		{
			for (int f = 0; f < geo->nfactors; f++)
				factors[f] = view->factors[f] + from;
			search_rank(search, view->codes + from * stride, geo->columns,
						geo->code_bytes, factors, Min(upto, n) - from,
						search->slots.ranks + from);
		}
		from = upto + ECP_RANK_GROUP;
	}
}

/* Note the estimate of a rank, beside its bound. */
static inline void
search_note_estimate(EcpSearch *search, float8 estimate)
{
	ecp_nearest_add(&search->nearest, estimate);
	search->near = EcpSearchNear(search->nearest.kth);
}

/*
 * The same as search_leave_out() with bounds of ranks, which note estimates of
 * these.
 */
static uint64
search_leave_out_codes(EcpSearch *search, uint64 word, const float4 *bounds,
					   const uint32 *const *factors, EcpCodeMargin margin,
					   uint64 number, int n)
{
	uint64		near = 0;

	for (uint64 passed = word & ecp_bounds_passed(bounds, n, search->near);
		 passed != 0; passed &= passed - 1)
	{
		int			i = pg_rightmost_one_pos64(passed);

		if (bounds[i] >= search->near)
			continue;
		near |= UINT64CONST(1) << i;
		search_note_estimate(search,
							 ecp_code_estimate(margin, factors, i, bounds[i]));
	}
	ecp_search_rest_add(search, word & ~near, number, NULL, n);
	return near;
}

/*
 * Compute bounds for the rows of an entry page from their codes; their exact
 * vectors are read later, if at all.  Blocks without a wanted row are skipped.
 */
static void
search_read_codes(EcpSearch *search, const EcpProbeRun *run,
				  const EcpEntryView *view, const uint64 *live, uint32 first,
				  int n)
{
	float4		leader_rank = search->state.meta.ecpm_root_level > 0 ?
		search->probe.ref->rank : ecp_code_query_origin(search->query.codes);
	EcpCodeMargin margin = ecp_code_query_margin(search->query.codes, leader_rank);
	float8		rank_max = search->query.rank_max;
	uint64		number = PG_UINT64_MAX;

	for (int from = 0; from < n; from += 64)
	{
		int			count = Min(n - from, 64);
		uint64		word = live[from / 64] & EcpLowBits(count);
		float4	   *bounds;
		const uint32 *factors[ECP_CODE_FACTORS];
		EcpRanked  *items;
		int			nitems = 0;

		if (word == 0)
			continue;
		if (number == PG_UINT64_MAX)
			number = ecp_rerank_add_page(&search->rerank, run, first, n,
										 view->tids);
		for (int f = 0; f < ECP_CODE_FACTORS; f++)
			factors[f] = view->factors[f] + from;
		bounds = (float4 *) ecp_search_rest_room(search, count);
		ecp_code_query_bounds(search->query.codes, leader_rank,
							  (const uint8 *) view->codes +
							  from * search->state.leaf.code_bytes,
							  factors, count, bounds);
		search_ranked(search, word);
		if (search->rest.active)
			word = search_leave_out_codes(search, word, bounds, factors, margin,
										  number + from, count);
		else if (!isinf(rank_max))
			word &= ecp_bounds_passed(bounds, count, rank_max);
		if (word == 0)
			continue;
		items = ecp_topk_room(&search->rows, count);
		for (; word != 0; word &= word - 1)
		{
			int			i = pg_rightmost_one_pos64(word);
			float8		bound = ecp_search_bound(bounds, i);

			if (bound > rank_max)
				continue;
			items[nitems].rank = bound;
			items[nitems++].item = number + from + i;
		}
		search_added(search, nitems);
	}
}

/*
 * The same with codes of four bits.  Rows are near up to a little beyond the k-th,
 * at least as far as the bound of a row is from its estimate.
 */
static uint64
search_leave_out_nibbles(EcpSearch *search, uint64 word, const float8 *bounds,
						 const float8 *ranks, const ItemPointerData *tids, int n)
{
	const EcpNearest *nearest = &search->nearest;
	uint64		near = 0;

	for (uint64 left = word; left != 0; left &= left - 1)
	{
		int			i = pg_rightmost_one_pos64(left);

		if (bounds[i] >= search->near)
			continue;
		near |= UINT64CONST(1) << i;
		ecp_nearest_add(&search->nearest, ranks[i]);
		search->near = nearest->kth +
			Max(search->left.ahead * fabs(nearest->kth), ranks[i] - bounds[i]);
	}
	ecp_search_rest_add(search, word & ~near, 0, tids, n);
	return near;
}

uint64
ecp_search_add_nibbles(EcpSearch *search, const EcpEntryView *view,
					   const uint64 *live, int n, float8 beyond, float8 limit)
{
	const EcpGeometry *geo = &search->state.leaf;
	const EcpNibblesQuery *query = search->query.nibbles;
	float8		rank_max = search->query.rank_max;
	uint64		farther = 0;

	for (int from = 0; from < n; from += ECP_PASS_ROWS)
	{
		int			count = Min(n - from, ECP_PASS_ROWS);
		uint64		word = live[from / 64] & EcpLowBits(count);
		const ItemPointerData *tids = view->tids + from;
		EcpNibblesRows rows;
		float8		ranks[ECP_PASS_ROWS];
		float8	   *bounds = ecp_search_rest_room(search, count);
		uint64		passed;
		EcpRanked  *items;
		int			nitems = 0;

		rows.upper_stride = geo->code_bytes;
		rows.upper = view->codes + from * rows.upper_stride;
		rows.lower_stride = geo->rest_bytes;
		rows.lower = view->rest + from * rows.lower_stride;
		if (!isinf(beyond))
			word &= ~ecp_nibbles_query_rank(query, &rows, word, beyond, ranks,
											bounds);
		passed = ecp_nibbles_query_rank(query, &rows, word, limit, ranks, bounds);
		farther += pg_popcount64(word & ~passed);
		if (passed == 0)
			continue;
		search_ranked(search, passed);
		if (search->rest.active)
			passed = search_leave_out_nibbles(search, passed, bounds, ranks, tids,
											  count);
		if (passed == 0)
			continue;
		items = ecp_topk_room(&search->rows, count);
		for (; passed != 0; passed &= passed - 1)
		{
			int			i = pg_rightmost_one_pos64(passed);

			if (bounds[i] > rank_max)
				continue;
			items[nitems].rank = bounds[i];
			items[nitems++].item = ecp_tid_item(&tids[i]);
		}
		search_added(search, nitems);
	}
	return farther;
}

void
ecp_search_page_read(void *arg, const EcpProbeRun *run, Buffer buffer,
					 const EcpEntryView *view, uint32 first, int n)
{
	EcpSearch  *search = arg;
	const EcpGeometry *geo = &search->state.leaf;
	EcpVectorPart *part = search->slots.vectors;
	const uint64 *live = view->live;

	Assert(BufferIsValid(buffer));
	Assert(n >= 0 && n <= geo->slots);

	if (search->request.filter)
	{
		EcpSearchStats *stats = &search->stats;

		stats->filtered += ecp_attr_filter_page(search->request.filter, geo, view,
												n, search->slots.passed);
		live = search->slots.passed;
		for (int w = 0; w < geo->live_words; w++)
			stats->filtered -= pg_popcount64(live[w]);
		search->probe.keys = true;
		search->probe.sparse = stats->vectors * ECP_SEARCH_SPARSE < stats->filtered;
	}
	search->slots.ranks = ecp_search_rest_room(search, n);
	if (n > 0 && search->query.exact == NULL)
	{
		for (int i = 0; i < n; i++)
			search->slots.ranks[i] = search->query.constant;
		ecp_search_add_rows(search, run, live, view->tids, first, n);
		UnlockReleaseBuffer(buffer);
		return;
	}
	if (n > 0 && search->query.codes)
	{
		search_read_codes(search, run, view, live, first, n);
		UnlockReleaseBuffer(buffer);
		return;
	}
	if (n > 0 && geo->parts)
		ecp_search_parts_read(search, run, view, live, first, n);
	else if (n > 0 && !geo->stream)
	{
		if (search->request.filter)
			search_rank_some(search, view, live, n);
		else
			search_rank(search, view->codes, geo->columns, geo->code_bytes,
						view->factors, n, search->slots.ranks);
		ecp_search_add_rows(search, run, live, view->tids, first, n);
	}
	if (n == 0 || !geo->stream)
	{
		UnlockReleaseBuffer(buffer);
		return;
	}

	/* the vectors are on other pages, and we lock one at a time */
	memcpy(part->live, live, sizeof(uint64) * geo->live_words);
	memcpy(part->tids, view->tids, sizeof(ItemPointerData) * n);
	for (int f = 0; f < geo->nfactors && geo->quantizer == ECP_QUANTIZER_NONE; f++)
		memcpy(part->factors[f], view->factors[f], sizeof(uint32) * n);
	UnlockReleaseBuffer(buffer);
	search_rank_stream(search, run, first, n);
	ecp_search_add_rows(search, run, part->live, part->tids, first, n);
}
