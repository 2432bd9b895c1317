/*-------------------------------------------------------------------------
 *
 * ecp_search.c
 *	  SEARCH: from a query vector to rows by distance.
 *
 * The metapage is read first, after the snapshot exists: what it says, at
 * its structure version, holds every row that the snapshot can see, whatever
 * is inserted, split or vacuumed meanwhile (see README).  Then clusters come
 * from ecp_descent.c in order of promise and are read in windows:
 *
 *	 window		"probes" clusters at first, or until they are too far away
 *				(ecp_target.c), then 2, 4, 8 ... times as many
 *	 cluster	its runs one after the other
 *	 page		one kernel call on the page itself, under its share lock;
 *				ecp_probe.c brings the pages
 *	 row		live slots become candidates {rank, TID} in an EcpTopk
 *
 * Conditions on key attributes (ecp_attr.c) are checked before anything else
 * of a row.  The rows that fulfil them are spread over more clusters than as
 * many nearest rows would be, so the first window grows until it has as many
 * clusters as the share of rows that pass calls for (ecp_filter_probes).
 *
 * All rows of a window are read before one of them is returned.  A search
 * does not know how many rows will be asked for, so it keeps ahead: as soon
 * as more than a share of the rows read has been returned (ECP_SEARCH_AHEAD)
 * the next window is read and merged with what waits.  This is what happens
 * under a filter that discards nearly everything, and it makes the rows come
 * in nearly the right order even then.  work_mem bounds what may wait;
 * beyond it rows are returned before more are read.
 *
 * With a radius, only rows within it become candidates, and the first window
 * that has rows, and none of them, is the last.
 *
 * ecp.iterative_scan says what happens to the order.  strict_order: a row
 * that turns up nearer than one already returned is dropped, and counted.
 * relaxed_order: every row read is returned, once; so it is if nobody asked
 * for an order.  off: only the first window is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/topk.h"
#include "ecp/ecp_probe.h"
#include "ecp/ecp_rerank.h"
#include "ecp/ecp_search.h"
#include "ecp/ecp_share.h"
#include "ecp/ecp_target.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "vector/vector_codes.h"

/* Rows read for each one returned, before more clusters are read. */
#define ECP_SEARCH_AHEAD		8

/* Slots that are ranked together although some did not pass. */
#define ECP_RANK_GROUP			16
#define ECP_RANK_MASK			((UINT64CONST(1) << ECP_RANK_GROUP) - 1)

/* Bytes of a slot that stand together in COLUMNS; see vector_distance.h */
#define ECP_COLUMNS_GROUP		4

/* A radius is widened by this much: the condition is checked again. */
#define ECP_RADIUS_SLACK		1e-6

/* Rows that are sure to be taken in order, as a guess. */
#define ECP_SEARCH_BATCH		16

struct EcpSearch
{
	EcpProbe	probe;			/* must be first */
	Relation	index;
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
	EcpShared  *shared;			/* NULL: search alone */
	EcpShare   *share;			/* our part, from the start on */
	bool		opens;			/* and we came first */
	EcpScanPlan plan;			/* of the first window */
	EcpNearest	nearest;		/* ranks or bounds, if plan.early */
	uint64		window;			/* clusters of the next window */
	EcpRanked	last;			/* returned last */
	float8	   *ranks;			/* of the slots of a page */
	uint32		slots_max;		/* room in ranks */
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

EcpSearchStats ecp_search_last;

static void search_read_page(EcpProbe *probe, const EcpProbeRun *run,
							 Buffer buffer, const EcpEntryView *view,
							 uint32 first, int n);

/*
 * A search of an index, in the current memory context.  It can be started
 * any number of times.
 */
EcpSearch *
ecp_search_create(Relation index)
{
	EcpSearch  *search = palloc0(sizeof(EcpSearch));

	search->index = index;
	search->rank_max = get_float8_infinity();
	search->context = AllocSetContextCreate(CurrentMemoryContext, "ecp search",
											ALLOCSET_SMALL_SIZES);
	ecp_topk_init(&search->rows, CurrentMemoryContext, ECP_SEARCH_BATCH);
	search->probe.index = index;
	search->probe.state = &search->state;
	search->probe.page = search_read_page;
	ecp_probe_init(&search->probe);
	return search;
}

/*
 * Return only rows that fulfil these conditions, from the next start on; the
 * filter must live as long.  NULL: all rows.
 */
void
ecp_search_set_filter(EcpSearch *search, const EcpAttrFilter *filter)
{
	search->filter = filter;
}

void
ecp_search_set_scan(EcpSearch *search, EcpShared *shared, bool ordered)
{
	search->shared = shared;
	search->unordered = !ordered;
}

void
ecp_search_set_radius(EcpSearch *search, float8 radius)
{
	EcpMetric	metric;
	EcpForm		form;

	search->rank_max = get_float8_infinity();
	/* NaN is greater than all numbers, and so is no limit either */
	if (isnan(radius) || isinf(radius) > 0)
		return;
	ecp_class_get(search->index, &form, &metric);
	if (metric == ECP_METRIC_L2)
		radius = radius < 0 ? -1 : radius * radius;
	search->rank_max = radius + fabs(radius) * ECP_RADIUS_SLACK;
}

/* Arrays for the slots of a leaf's page; they depend on its geometry. */
static void
search_allocate(EcpSearch *search)
{
	const EcpGeometry *geo = &search->state.leaf;
	MemoryContext old;
	EcpVectorPart *part;

	if (search->passed == NULL && search->filter != NULL)
		search->passed = MemoryContextAlloc(GetMemoryChunkContext(search),
											sizeof(uint64) * geo->live_words);
	if (search->slots_max >= geo->slots)
		return;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(search));
	search->slots_max = geo->slots;
	search->ranks = palloc(sizeof(float8) * (geo->slots + ECP_KERNEL_SLACK));
	if (geo->quantizer != ECP_QUANTIZER_NONE)
		ecp_rerank_init(&search->rerank, &search->probe);
	else if (geo->stream)
	{
		part = search->vectors = palloc0(sizeof(EcpVectorPart));
		part->live = palloc(sizeof(uint64) * geo->live_words);
		part->tids = palloc(sizeof(ItemPointerData) * geo->slots);
		for (int f = 0; f < geo->nfactors; f++)
			part->factors[f] = palloc(sizeof(uint32) * geo->slots +
									  ECP_KERNEL_SLACK);
		part->vector = palloc(geo->vec_bytes + ECP_KERNEL_SLACK);
	}
	MemoryContextSwitchTo(old);
}

/*
 * Prepare to compare codes with the query.  Who reads all clusters wants all
 * rows in order.
 */
static void
search_set_codes(EcpSearch *search, const void *prepared)
{
	const EcpMetaPageData *meta = &search->state.meta;
	bool		all = search->window >= meta->ecpm_nleaves;

	search->codes = ecp_code_query_create(meta->ecpm_leader_elem,
										  meta->ecpm_metric, meta->ecpm_dims,
										  meta->ecpm_rotation_seed, prepared,
										  all ? ECP_CODE_EPS_WIDE : ECP_CODE_EPS);
	ecp_rerank_reset(&search->rerank);
	search->rerank.query = search->query;
}

/* Decide how the first window is read, or learn what was decided. */
static void
search_set_plan(EcpSearch *search)
{
	EcpScanPlan *plan = &search->plan;
	bool		radius = !isinf(search->rank_max);

	if (search->share && !search->opens)
		*plan = *ecp_share_plan(search->share);
	else
	{
		ecp_scan_plan(search->index, &search->state.meta, plan);
		if (search->query == NULL || search->filter != NULL || radius ||
			ecp_probe_is_cold())
			plan->early = false;
		if (search->share)
			ecp_share_open(search->share, plan, search->filter != NULL,
						   radius);
	}
	ecp_nearest_reset(&search->nearest);
	if (!plan->early)
		search->nearest.kth = -get_float8_infinity();	/* notes nothing */
	search->stats.probes = plan->probes;
	search->window = search->stats.probes;
}

/*
 * Take the query vector: what rows are compared with, and where the descent
 * begins.  In search->context.
 */
static void
search_set_query(EcpSearch *search, Datum value, bool isnull)
{
	const EcpMetaPageData *meta = &search->state.meta;
	void	   *prepared = palloc0(search->state.node.vec_bytes);

	search->null_query = isnull;
	search->constant = 0;
	if (!isnull)
	{
		EcpVector	vector;

		ecp_vector_read(value, meta->ecpm_form, &vector);
		ecp_vector_check_dims(&vector, meta->ecpm_dims,
							  RelationGetRelationName(search->index));
		if (ecp_prepare(meta, &vector, prepared))
			search->query = ecp_query_create(meta->ecpm_elem,
											 meta->ecpm_metric,
											 meta->ecpm_dims, vector.data);
		else
		{
			/* no direction: as far from everything as from anything else */
			search->constant = get_float8_nan();
			memset(prepared, 0, search->state.node.vec_bytes);
		}
		ecp_vector_release(&vector);
	}

	search_set_plan(search);
	if (search->share)
		ecp_share_set_query(search->share, prepared);
	else
		search->descent = ecp_descent_begin(search->index, &search->state,
											prepared, false,
											Min(search->plan.early ?
												search->plan.most :
												search->window,
												meta->ecpm_nleaves));
	if (search->query && search->state.leaf.quantizer != ECP_QUANTIZER_NONE)
		search_set_codes(search, prepared);
}

/*
 * The metapage that the search goes by.  One structure version serves all
 * searches with one snapshot, and all processes of a search.
 */
static void
search_set_state(EcpSearch *search)
{
	EcpShare   *share = NULL;

	if (search->shared)
	{
		share = MemoryContextAllocZero(search->context, sizeof(EcpShare));
		share->shared = search->shared;
		share->probe = &search->probe;
		share->state = &search->state;
		share->stats = &search->stats;
		share->candidates = &search->candidates;
		share->nearest = &search->nearest;
		share->context = search->context;
		search->opens = ecp_share_enter(share);
	}
	search->share = share;
	search->stats.joined = share && !search->opens;
	if (search->stats.joined)
		search->state = *ecp_share_state(share);
	else if (!search->state_valid)
		ecp_index_state_read(search->index, &search->state);
	search->state_valid = true;
}

/*
 * Begin a search for what is near to "query".  "snapshot" is the one that
 * the rows will be checked with; the same for all searches of "search".
 */
void
ecp_search_start(EcpSearch *search, Snapshot snapshot, Datum query,
				 bool isnull)
{
	MemoryContext old;

	ecp_search_finish(search);
	ecp_topk_reset(&search->rows);
	memset(&search->stats, 0, sizeof(EcpSearchStats));
	search->stats.index = RelationGetRelid(search->index);
	search->probe.snapshot = snapshot;
	search->probe.clusters = search->probe.pages = 0;
	search->query = NULL;
	search->codes = NULL;
	ecp_probe_init(&search->probe);
	search->iterative = ecp_iterative_scan;
	if (search->unordered && search->iterative == ECP_ITERATIVE_STRICT)
		search->iterative = ECP_ITERATIVE_RELAXED;
	search->max_scan_tuples = ecp_max_scan_tuples;
	search->last.rank = -get_float8_infinity();
	search->last.item = 0;
	search->candidates = 0;
	search->started = true;

	search_set_state(search);
	if (EcpIndexIsEmpty(&search->state))
	{
		EcpScanPlan none = {0};

		search->stats.stop = ECP_STOP_CLUSTERS;
		if (search->share && search->opens)
			ecp_share_open(search->share, &none, false, false);
		return;
	}

	old = MemoryContextSwitchTo(search->context);
	search_allocate(search);
	search_set_query(search, query, isnull);
	MemoryContextSwitchTo(old);
}

/* What has been done so far is what ecp_last_scan() shows. */
void
ecp_search_note(EcpSearch *search)
{
	search->stats.clusters = search->probe.clusters;
	search->stats.pages = search->probe.pages;
	search->stats.reranked = search->codes ? search->rerank.reranked : 0;
	ecp_search_last = search->stats;
}

/*
 * End the search that was started, if any; its figures become the backend's
 * last.
 */
void
ecp_search_finish(EcpSearch *search)
{
	if (!search->started)
		return;
	search->started = false;
	ecp_search_note(search);
	if (search->descent)
		ecp_descent_end(search->descent);
	search->descent = NULL;
	if (search->share)
		ecp_share_leave(search->share);
	search->share = NULL;
	MemoryContextReset(search->context);
}

void
ecp_search_free(EcpSearch *search)
{
	ecp_search_finish(search);
	ecp_topk_free(&search->rows);
	if (search->probe.page_copy)
		pfree(search->probe.page_copy);
	if (search->ranks)
		pfree(search->ranks);
	if (search->passed)
		pfree(search->passed);
	if (search->rerank.probe)
		ecp_rerank_free(&search->rerank);
	MemoryContextDelete(search->context);
	pfree(search);
}

/*
 * Rows of a page, with their ranks or lower bounds of them, were put into the
 * room of search->rows: those that are wanted become candidates.
 */
static void
search_added(EcpSearch *search, EcpRanked *items, int nitems)
{
	search->stats.vectors += nitems;
	if (!isinf(search->rank_max))
	{
		int			nwithin = 0;

		for (int i = 0; i < nitems; i++)
		{
			if (items[i].rank <= search->rank_max)
				items[nwithin++] = items[i];
		}
		nitems = nwithin;
	}
	search->candidates += nitems;
	ecp_topk_added(&search->rows, nitems);
}

/* Add the live rows among the first n slots of a page. */
static void
search_add_rows(EcpSearch *search, const uint64 *live,
				const ItemPointerData *tids, int n, const float8 *ranks)
{
	EcpRanked  *items = ecp_topk_room(&search->rows, n);
	int			nitems = 0;

	for (int first = 0; first < n; first += 64)
	{
		uint64		word = live[first / 64];

		if (n - first < 64)
			word &= (UINT64CONST(1) << (n - first)) - 1;
		if (word == PG_UINT64_MAX)
		{
			for (int i = first; i < first + 64; i++)
			{
				(void) ecp_nearest_add(&search->nearest, ranks[i]);
				ecp_ranked_set(&items[nitems++], ranks[i],
							   ecp_tid_item(&tids[i]));
			}
			continue;
		}
		while (word != 0)
		{
			int			i = first + pg_rightmost_one_pos64(word);

			word &= word - 1;
			(void) ecp_nearest_add(&search->nearest, ranks[i]);
			ecp_ranked_set(&items[nitems++], ranks[i],
						   ecp_tid_item(&tids[i]));
		}
	}
	search_added(search, items, nitems);
}

/* Ranks of n rows, wherever they stand. */
static inline void
search_rank(EcpSearch *search, const char *codes, bool columns, Size stride,
			uint32 *const *factors, int n, float8 *ranks)
{
	const uint32 *const *fac = (const uint32 *const *) factors;

	if (columns)
		ecp_query_rank_columns(search->query, (const uint8 *) codes,
							   search->state.leaf.slots, fac, n, ranks);
	else
		ecp_query_rank_rows(search->query, codes, stride, fac, n, ranks);
}

/* Ranks of slots i .. i + n - 1 of a page; their vectors follow each other. */
static void
search_rank_vectors(EcpSearch *search, int i, const char *vectors, int n)
{
	const EcpGeometry *geo = &search->state.leaf;
	uint32	   *factors[ECP_FACTORS_MAX];

	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		factors[f] = f < geo->nfactors ? search->vectors->factors[f] + i : NULL;
	search_rank(search, vectors, false, geo->vec_bytes, factors, n,
				&search->ranks[i]);
}

/*
 * Rank what one page of the vector part holds, from slot i on: "offset" is
 * where its vector begins or, if "copied" bytes of it are in part->vector
 * already, goes on.  Returns the next slot to rank; *copied is what was
 * copied of its vector.
 */
static int
search_rank_page(EcpSearch *search, const char *payload, uint32 offset,
				 int i, int n, uint32 *copied)
{
	EcpVectorPart *part = search->vectors;
	uint32		vec_bytes = search->state.leaf.vec_bytes;
	int			whole;

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

	/* one that goes on on the next page */
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
 * span pages in a copy.  Pages without a live vector are not touched: nobody
 * may have initialised them.
 */
static void
search_rank_stream(EcpSearch *search, const EcpProbeRun *run, uint32 first,
				   int n)
{
	const EcpGeometry *geo = &search->state.leaf;
	const uint64 *live = search->vectors->live;
	int			i = 0;
	uint32		copied = 0;

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
		ecp_stream_position(geo, run->header.ecpr_entry_pages, first + i,
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
 * Rank, of the first n slots of a page, those that passed the conditions:
 * by groups as wide as a kernel's registers, and only groups with such a slot.
 */
static void
search_rank_passed(EcpSearch *search, const EcpEntryView *view, int n)
{
	const EcpGeometry *geo = &search->state.leaf;
	Size		stride = geo->columns ? ECP_COLUMNS_GROUP : geo->code_bytes;
	uint32	   *factors[ECP_FACTORS_MAX] = {NULL};
	int			from = 0;

	while (from < n)
	{
		int			upto = from;

		while (upto < n &&
			   ((search->passed[upto / 64] >> (upto % 64)) & ECP_RANK_MASK) != 0)
			upto += ECP_RANK_GROUP;
		if (upto > from)
		{
			for (int f = 0; f < geo->nfactors; f++)
				factors[f] = view->factors[f] + from;
			search_rank(search, view->codes + from * stride, geo->columns,
						geo->code_bytes, factors, Min(upto, n) - from,
						search->ranks + from);
		}
		from = upto + ECP_RANK_GROUP;
	}
}

/*
 * Bounds of the rows of an entry page from their codes; the exact vectors
 * are read when their turn comes.  Blocks without a row that is wanted are
 * passed over.
 */
static void
search_read_codes(EcpSearch *search, const EcpProbeRun *run,
				  const EcpEntryView *view, const uint64 *live, uint32 first,
				  int n)
{
	float4		leader_rank = search->state.meta.ecpm_root_level > 0 ?
		search->probe.ref->rank : ecp_code_query_origin(search->codes);
	EcpRanked  *items = ecp_topk_room(&search->rows, n);
	uint64		number = PG_UINT64_MAX;
	int			nitems = 0;

	for (int from = 0; from < n; from += 64)
	{
		int			count = Min(n - from, 64);
		uint64		word = live[from / 64];
		float4		bounds[64];
		const uint32 *factors[ECP_CODE_FACTORS];

		if (count < 64)
			word &= (UINT64CONST(1) << count) - 1;
		if (word == 0)
			continue;
		if (number == PG_UINT64_MAX)
			number = ecp_rerank_add_page(&search->rerank, run, first, n,
										 view->tids);
		for (int f = 0; f < ECP_CODE_FACTORS; f++)
			factors[f] = view->factors[f] + from;
		ecp_code_query_bounds(search->codes, leader_rank,
							  (const uint8 *) view->codes +
							  from * search->state.leaf.code_bytes,
							  factors, count, bounds);
		while (word != 0)
		{
			int			i = pg_rightmost_one_pos64(word);
			float8		bound = bounds[i];

			word &= word - 1;
			(void) ecp_nearest_add(&search->nearest, bound);
			/* overflow tells nothing: let the exact rank be read */
			items[nitems].rank = isnan(bound) ? -get_float8_infinity() : bound;
			items[nitems++].item = number + from + i;
		}
	}
	search_added(search, items, nitems);
}

/*
 * Rank the rows of an entry page: what the probe calls with each of them.
 */
static void
search_read_page(EcpProbe *probe, const EcpProbeRun *run, Buffer buffer,
				 const EcpEntryView *view, uint32 first, int n)
{
	EcpSearch  *search = (EcpSearch *) probe;
	const EcpGeometry *geo = &search->state.leaf;
	EcpVectorPart *part = search->vectors;
	const uint64 *live = view->live;

	if (search->filter)
	{
		search->stats.filtered += ecp_attr_filter_page(search->filter, geo,
													   view, n,
													   search->passed);
		live = search->passed;
		for (int w = 0; w < geo->live_words; w++)
			search->stats.filtered -= pg_popcount64(live[w]);
	}
	if (n > 0 && search->query == NULL)
	{
		for (int i = 0; i < n; i++)
			search->ranks[i] = search->constant;
		search_add_rows(search, live, view->tids, n, search->ranks);
		UnlockReleaseBuffer(buffer);
		return;
	}
	if (n > 0 && search->codes)
	{
		search_read_codes(search, run, view, live, first, n);
		UnlockReleaseBuffer(buffer);
		return;
	}
	if (n > 0 && !geo->stream)
	{
		if (search->filter)
			search_rank_passed(search, view, n);
		else
			search_rank(search, view->codes, geo->columns, geo->code_bytes,
						view->factors, n, search->ranks);
		search_add_rows(search, live, view->tids, n, search->ranks);
	}
	if (n == 0 || !geo->stream)
	{
		UnlockReleaseBuffer(buffer);
		return;
	}

	/* the vectors are on other pages, and we lock one at a time */
	memcpy(part->live, live, sizeof(uint64) * geo->live_words);
	memcpy(part->tids, view->tids, sizeof(ItemPointerData) * n);
	for (int f = 0; f < geo->nfactors; f++)
		memcpy(part->factors[f], view->factors[f], sizeof(uint32) * n);
	UnlockReleaseBuffer(buffer);
	search_rank_stream(search, run, first, n);
	search_add_rows(search, part->live, part->tids, n, search->ranks);
}

/*
 * Read up to n more clusters, the last ones of which may be left for later
 * when "rows_max" candidates wait.
 */
static void
search_read_window(EcpSearch *search, uint64 n, uint64 rows_max)
{
	EcpProbe   *probe = &search->probe;

	search->stats.windows++;
	while ((n > 0 || EcpProbeAtBuffer(probe)) &&
		   EcpTopkCount(&search->rows) < rows_max)
	{
		if (EcpProbeWaiting(probe) == 0)
		{
			MemoryContext old = MemoryContextSwitchTo(search->context);
			int			taken = ecp_probe_take(probe, search->descent, n);

			MemoryContextSwitchTo(old);
			if (taken == 0)
			{
				search->stats.stop = ECP_STOP_CLUSTERS;
				return;
			}
		}
		if (!EcpProbeAtBuffer(probe))
			n--;
		ecp_probe_next(probe);
	}
}

/*
 * Read the first window where its size depends on what it finds: until the
 * next cluster is too far away.  How far that is was measured so that the
 * target of recall is reached (ecp_calibrate.c).
 */
static void
search_read_nearest(EcpSearch *search)
{
	EcpProbe   *probe = &search->probe;
	const EcpScanPlan *plan = &search->plan;
	EcpMetric	metric = search->state.meta.ecpm_metric;

	search->stats.windows++;
	for (int n = 0; n < plan->most || EcpProbeAtBuffer(probe);)
	{
		if (EcpProbeWaiting(probe) == 0)
		{
			MemoryContext old = MemoryContextSwitchTo(search->context);
			int			taken = ecp_probe_take(probe, search->descent,
											   plan->most - n);

			MemoryContextSwitchTo(old);
			if (taken == 0)
			{
				search->stats.stop = ECP_STOP_CLUSTERS;
				break;
			}
		}
		/* a buffer belongs to a cluster that was read */
		if (EcpProbeAtBuffer(probe))
		{
			ecp_probe_next(probe);
			continue;
		}
		if (n >= plan->least &&
			ecp_target_reached(metric, probe->refs[probe->next_ref].rank,
							   search->nearest.kth, plan->slack))
		{
			search->stats.early = true;
			break;
		}
		n++;
		ecp_probe_next(probe);
	}

	/* of windows to come, the ranks need not be noted */
	search->nearest.kth = -get_float8_infinity();
}

/*
 * Read our part of what several processes read: of the first window, or of
 * the next one.
 */
static void
search_read_shared(EcpSearch *search, uint64 rows_max)
{
	EcpSearchStats *stats = &search->stats;
	EcpProbe   *probe = &search->probe;
	EcpShare   *share = search->share;
	bool		first = stats->windows++ == 0;
	uint64		wanted = first ? PG_UINT64_MAX : share->taken + search->window;
	EcpShareEnd end = ECP_SHARE_WINDOW;

	while (share->taken < wanted && EcpTopkCount(&search->rows) < rows_max &&
		   ecp_share_take(share, first, wanted - share->taken, &end) > 0)
	{
		while (EcpProbeWaiting(probe) > 0)
			ecp_probe_next(probe);
	}
	ecp_share_pause(share);

	stats->early |= end == ECP_SHARE_EARLY;
	if (end == ECP_SHARE_CLUSTERS)
		stats->stop = ECP_STOP_CLUSTERS;
	else if (end == ECP_SHARE_RADIUS)
		stats->stop = ECP_STOP_RADIUS;
	else if (first && ecp_share_is_late(share))
		stats->stop = ECP_STOP_LATE;
	if (first)
	{
		search->nearest.kth = -get_float8_infinity();
		search->window = ecp_share_window(share);
	}
}

/* Go on with the first window of a search with conditions. */
static void
search_read_filtered(EcpSearch *search)
{
	EcpSearchStats *stats = &search->stats;

	while (stats->stop == ECP_STOP_NONE)
	{
		double		wanted = search->probe.clusters * 2.0;
		double		rows = stats->vectors + stats->filtered;

		if (stats->vectors > 0)
			wanted = Min(wanted,
						 ecp_filter_probes(stats->probes, stats->vectors / rows,
										   rows / search->probe.clusters));
		if (wanted <= search->probe.clusters)
			break;
		search_read_window(search, (uint64) wanted - search->probe.clusters,
						   PG_UINT64_MAX);
		stats->windows--;
	}
	search->window = Max(search->window, search->probe.clusters);
}

/*
 * Read the next window, if there is to be one.  Afterwards stats.stop says
 * whether there will be another.
 */
static void
search_read_more(EcpSearch *search)
{
	EcpSearchStats *stats = &search->stats;
	uint64		rows_max = PG_UINT64_MAX;
	uint64		candidates = search->candidates;
	uint64		vectors = stats->vectors;

	if (stats->windows > 0)
	{
		/* a NULL query promises all rows, whatever the settings */
		if (!search->null_query)
		{
			if (search->iterative == ECP_ITERATIVE_OFF)
				stats->stop = ECP_STOP_PROBES;
			else if (search->max_scan_tuples >= 0 &&
					 (search->share ? ecp_share_vectors(search->share) :
					  stats->vectors) >= search->max_scan_tuples)
				stats->stop = ECP_STOP_TUPLES;
			if (stats->stop != ECP_STOP_NONE)
				return;
		}
		search->window *= 2;
		rows_max = (uint64) work_mem * 1024 / sizeof(EcpRanked);
	}
	if (search->share)
	{
		search_read_shared(search, rows_max);
		ecp_search_note(search);
		return;
	}
	if (stats->windows == 0 && search->plan.early)
		search_read_nearest(search);
	else
		search_read_window(search, search->window, rows_max);
	if (search->filter && stats->windows == 1)
		search_read_filtered(search);

	/* clusters come in order of promise: the rest promises less */
	if (!isinf(search->rank_max) && search->candidates == candidates &&
		stats->vectors > vectors && stats->stop == ECP_STOP_NONE)
		stats->stop = ECP_STOP_RADIUS;
	ecp_search_note(search);
}

/* Candidates that wait. */
static uint64
search_waiting(EcpSearch *search)
{
	uint64		waiting = EcpTopkCount(&search->rows);

	if (search->codes)
		waiting += search->rerank.nexact;
	return waiting;
}

/* The nearest candidate; its item is its TID.  Returns false if none waits. */
static bool
search_take(EcpSearch *search, EcpRanked *row)
{
	const EcpRanked *ranked;

	if (search->codes)
		return ecp_rerank_take(&search->rerank, &search->rows, row);
	ranked = ecp_topk_take(&search->rows);
	if (ranked == NULL)
		return false;
	*row = *ranked;
	return true;
}

/* Is it time to read on, although candidates wait? */
static bool
search_wants_more(EcpSearch *search)
{
	EcpSearchStats *stats = &search->stats;

	if (stats->stop != ECP_STOP_NONE)
		return false;
	if (search_waiting(search) == 0)
		return true;
	return (stats->returned + 1) * ECP_SEARCH_AHEAD > search->candidates &&
		search_waiting(search) <
		(uint64) work_mem * 1024 / sizeof(EcpRanked) / 2;
}

/*
 * The next row: its TID, and the distance unless *isnull.  Returns false in
 * the end, and ever after.
 */
bool
ecp_search_next(EcpSearch *search, ItemPointer tid, float8 *distance,
				bool *isnull)
{
	EcpRanked	ranked;

	for (;;)
	{
		while (search_wants_more(search))
			search_read_more(search);

		if (!search_take(search, &ranked))
			return false;
		if (ranked.rank > search->rank_max)
			continue;			/* its bound was not */
		if (search->iterative != ECP_ITERATIVE_STRICT ||
			ranked.rank > search->last.rank)
			break;
		if (ranked.rank == search->last.rank &&
			EcpRankedIsNaN(&ranked) >= EcpRankedIsNaN(&search->last))
			break;
		search->stats.dropped++;
	}
	search->last = ranked;
	search->stats.returned++;

	ecp_tid_from_item(search->index, EcpRankedItem(&ranked), tid);
	*isnull = search->null_query;
	*distance = EcpRankedIsNaN(&ranked) ? get_float8_nan() :
		ecp_rank_distance(search->state.meta.ecpm_metric, ranked.rank);
	return true;
}
