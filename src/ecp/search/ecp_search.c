/*-------------------------------------------------------------------------
 *
 * ecp_search.c
 *	  SEARCH: from a query vector to rows by distance.
 *
 * The metapage is read first, after the snapshot was taken: the structure at
 * its version has every row that the snapshot can see, whatever is inserted,
 * split or vacuumed meanwhile (see README).  Then clusters come from
 * ecp_descent.c in order of promise and are read in windows:
 *
 *	 window		at first until the next leader is far enough beyond the nearest
 *				rows (ecp_stop.c), then as many more as further rows take; or
 *				"probes" clusters, then 2, 4, 8 ... times as many
 *	 cluster	its runs one after the other
 *	 page		one kernel call on the page itself, under its share lock;
 *				ecp_probe.c brings the pages, ecp_search_page.c takes the rows
 *	 row		live slots become candidates {rank, TID} in an EcpTopk
 *
 * Conditions on key attributes (ecp_attr_filter.c) are checked before anything else
 * of a row.  Only rows that fulfil them count as nearest; a window of "probes" grows
 * by the share that does (ecp_target_filter_probes).
 *
 * All rows of a window are read before one of them is returned.  How many rows
 * will be asked for is what a LIMIT says; in strict order a search reads enough for
 * all of them first, or, if it does not know, all clusters (search_must_wait()).
 * Else it keeps ahead: before more rows are taken than enough was read for, or,
 * with "probes", as soon as more than a share of the rows read has been taken
 * (ECP_SEARCH_AHEAD), the next window is read and merged with what waits.  work_mem
 * bounds what may wait; beyond it rows are taken before more are read.
 *
 * Rows that the executor will discard count for no LIMIT.  Where we can tell which
 * (ecp_scan.c), they are tested as they are taken, and the others are held back
 * until there are enough (search_take_held()).
 *
 * With a radius, only rows within it become candidates, and the first window
 * that has rows but none within the radius is the last.
 *
 * ecp.iterative_scan says what happens to a row that turns up nearer than one
 * already returned.  strict_order: it is dropped, and counted; that is so where only
 * the executor knows how many rows it needs (README).  relaxed_order: every row
 * read is returned, once; likewise if the scan has no ORDER BY.  off: only the first
 * window is read; one of its rows can still be dropped if the bound from its code was
 * too large.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/spare.h"
#include "base/topk.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_search.h"
#include "ecp/search/ecp_search_private.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Under a filter, windows are for so many times the rows that are returned. */
#define SEARCH_FILTER_AHEAD		4.0

/*
 * And so many where one row of each group is wanted: a group has few rows as near as
 * the last of the answer, and a cluster that is not read often has all of them.
 */
#define SEARCH_GROUPS_AHEAD		2.0

/* Rows that are sorted at first. */
#define ECP_SEARCH_BATCH		16

EcpSearchStats ecp_search_last;

/* The search that these figures are of; perhaps it is no more. */
static const EcpSearch *search_noted;

/* A search that has ended, whose memory the next one takes over. */
static EcpSpare search_spare;

static EcpSearch *
search_allocate(void)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext,
												 "ecp search memory",
												 ALLOCSET_SMALL_SIZES);
	EcpSearch  *search = MemoryContextAllocZero(memory, sizeof(EcpSearch));

	search->memory = memory;
	search->context = AllocSetContextCreate(memory, "ecp search",
											ALLOCSET_DEFAULT_SIZES);
	ecp_topk_init(&search->rows, memory, ECP_SEARCH_BATCH);
	ecp_topk_init(&search->hold.rows, memory, ECP_SEARCH_BATCH);
	search->probe.state = &search->state;
	search->probe.page = ecp_search_page_read;
	search->probe.page_arg = search;
	return search;
}

/*
 * A search of an index, in the current memory context.  It can be started
 * any number of times.
 */
EcpSearch *
ecp_search_create(Relation index)
{
	EcpSearch  *search = ecp_spare_take(&search_spare);

	if (search == NULL)
		search = search_allocate();
	search->state_valid = false;
	search->request.filter = NULL;
	search->request.heap = NULL;
	search->request.located = search->request.unordered = false;
	search->request.radius = get_float8_infinity();
	search->request.limit = 0;
	search->request.filtered = search->request.immediate = false;
	search->request.test = NULL;
	search->request.tested = search->request.grouped = false;
	search->request.table = NULL;
	search->probe.index = index;
	ecp_probe_init(&search->probe);
	return search;
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

	Assert(snapshot != NULL);

	ecp_search_finish(search);
	ecp_topk_reset(&search->rows, ECP_SEARCH_BATCH);
	ecp_topk_reset(&search->hold.rows, ECP_SEARCH_BATCH);
	memset(&search->stats, 0, sizeof(EcpSearchStats));
	ecp_budget_start(search, isnull);
	search->stats.index = RelationGetRelid(search->probe.index);
	search->stats.wanted = search->request.limit;
	search->probe.snapshot = snapshot;
	search->probe.clusters = search->probe.skipped = search->probe.pages = 0;
	search->query.exact = NULL;
	search->query.bounded = false;
	search->query.codes = NULL;
	search->query.nibbles = NULL;
	ecp_probe_init(&search->probe);
	if (search->probe.prefetch == 0)
		search->request.heap = NULL;
	search->request.iterative = ecp_iterative_scan;
	/* a NULL query promises all rows, whatever the settings */
	search->request.max_scan_tuples = isnull ? -1 : ecp_max_scan_tuples;
	search->returned.last.rank = -get_float8_infinity();
	search->returned.last.item = 0;
	search->returned.floor = search->returned.last;
	search->candidates = search->taken = search->hold.returned = 0;
	search->hold.active = search->hold.has_next = false;
	search->ahead.next = search->ahead.n = 0;
	search->hold.farthest = -get_float8_infinity();
	search->started = true;

	/* one structure version serves all searches with one snapshot */
	if (!search->state_valid)
		ecp_meta_read_state(search->probe.index, &search->state);
	search->state_valid = true;
	if (EcpIndexIsEmpty(&search->state))
	{
		search->stats.stop = ECP_STOP_CLUSTERS;
		return;
	}

	old = MemoryContextSwitchTo(search->context);
	ecp_search_begin(search, query, isnull);
	MemoryContextSwitchTo(old);
}

/* Make the figures so far those that ecp_last_scan() shows. */
void
ecp_search_note(EcpSearch *search)
{
	search->stats.clusters = search->probe.clusters;
	search->stats.skipped = search->probe.skipped;
	search->stats.pages = search->probe.pages;
	search->stats.reranked = search->query.bounded ? search->rerank.reranked : 0;
	ecp_search_last = search->stats;
	/* whatever was read, all rows are as far away */
	if (search->query.is_null)
	{
		ecp_search_last.stop = ECP_STOP_NULL;
		ecp_search_last.recall = 0;
	}
	search_noted = search;
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
	ecp_topk_unbound(&search->rows);
	search->rest.active = false;
	search->rest.nrows = 0;
	search->left.npages = 0;
	search->left.nrows = 0;
	MemoryContextReset(search->context);
}

void
ecp_search_free(EcpSearch *search)
{
	ecp_search_finish(search);
	if (search->probe.page_copy)
		pfree(search->probe.page_copy);
	search->probe.page_copy = NULL;
	ecp_spare_give(&search_spare, search, search->memory);
}

/*
 * Have as many rows been read as ecp.max_scan_tuples allows, or for as long as
 * max_ms does?  At least one cluster is read, and each with the rows of its insert
 * buffer.
 */
static bool
search_is_over(EcpSearch *search)
{
	EcpSearchStats *stats = &search->stats;

	if (search->request.max_scan_tuples >= 0 && search->probe.clusters > 0 &&
		stats->vectors + stats->filtered >= search->request.max_scan_tuples)
		stats->stop = ECP_STOP_TUPLES;
	else if (search->budget.ms > 0 && ecp_budget_is_spent(search))
		stats->stop = ECP_STOP_TIME;
	return stats->stop == ECP_STOP_TUPLES || stats->stop == ECP_STOP_TIME;
}

/*
 * Is there a cluster or buffer to read?  If none waits, take up to n clusters
 * from the descent.
 */
static bool
search_has_cluster(EcpSearch *search, uint64 n)
{
	MemoryContext old;

	if (EcpProbeWaiting(&search->probe) > 0)
		return true;
	old = MemoryContextSwitchTo(search->context);
	if (ecp_probe_take(&search->probe, search->descent, n) == 0)
		search->stats.stop = ECP_STOP_CLUSTERS;
	MemoryContextSwitchTo(old);
	return search->stats.stop != ECP_STOP_CLUSTERS;
}

/* Read the next cluster or buffer; the rows of one that is passed over fail. */
static void
search_read_cluster(EcpSearch *search)
{
	/* reading counts what fails, too */
	uint32		passed_over = ecp_probe_next(&search->probe);

	search->stats.filtered += passed_over;
}

/*
 * Read up to n more clusters, but stop when "rows_max" candidates wait.
 */
static void
search_read_window(EcpSearch *search, uint64 n, uint64 rows_max)
{
	EcpProbe   *probe = &search->probe;

	Assert(search->descent != NULL);

	search->stats.windows++;
	while ((n > 0 || EcpProbeAtBuffer(probe)) &&
		   EcpTopkCount(&search->rows) < rows_max)
	{
		if (!search_has_cluster(search, n))
			return;
		if (!EcpProbeAtBuffer(probe))
		{
			if (search_is_over(search))
				return;
			n--;
		}
		search_read_cluster(search);
	}
	/* a window may be just as large as the index */
	if (probe->clusters >= search->state.meta.ecpm_nleaves)
		(void) search_has_cluster(search, 1);
}

/*
 * What is compared with the slack of a target by a search that read n clusters, and
 * is at the next: by the k-th row, or the farthest of those that were tested.
 */
static double
search_sum(const EcpSearch *search, int n)
{
	const EcpProbe *probe = &search->probe;
	const EcpMetaPageData *meta = &search->state.meta;
	float8		kth = search->taken > 0 ? search->hold.farthest : search->nearest.kth;

	return ecp_stop_gap(&search->place, meta, probe->refs[probe->next_ref].rank,
						kth) + ecp_stop_advance(meta, n);
}

/*
 * Do windows end at looks, as the first does, while rows are tested and held back?
 * Where a group or other nodes decide, too, they are for more rows.
 */
static bool
search_looks_held(const EcpSearch *search)
{
	return search->hold.active && search->plan.adaptive &&
		!search->request.filtered && !search->request.grouped;
}

/*
 * The slack of the target.  Under conditions that one row in s fulfils, the k nearest
 * are among the s * k nearest of all; of rows that were tested, among all of these.
 */
static double
search_slack(EcpSearch *search)
{
	const EcpSearchStats *stats = &search->stats;
	EcpScanPlan *plan = &search->plan;
	double		rows = Max(stats->vectors + stats->filtered, 1);

	if (search->request.filter || search->hold.active)
		ecp_target_plan_among(&search->state.meta, rows / Max(stats->vectors, 1) *
							  Max((double) search->taken / plan->k, 1), plan);
	return ecp_mix_slack(&search->mix, plan->slack);
}

/*
 * Have all clusters up to the next look, and the one after, taken, or a quarter more
 * than were read: each is compared with many others.
 */
static void
search_take_clusters(EcpSearch *search, int n, int look)
{
	EcpProbe   *probe = &search->probe;
	int			wanted = look - n + 1;
	MemoryContext old;

	if (EcpProbeWaiting(probe) >= wanted)
		return;
	old = MemoryContextSwitchTo(search->context);
	(void) ecp_probe_take(probe, search->descent, Max(wanted, n / 4));
	MemoryContextSwitchTo(old);
}

/*
 * The clusters have been read whose k-th row tells where the query is, and so which
 * slack it has.  Under conditions that row is farther away than for the queries that
 * were measured.
 */
static void
search_know_place(EcpSearch *search)
{
	const EcpMetaPageData *meta = &search->state.meta;

	if (search->request.filter)
		return;
	ecp_place_set_kth(&search->place, meta, search->nearest.kth);
	ecp_place_mix(&search->place, &meta->ecpm_curve, search->plan.rows,
				  &search->mix);
}

/* Read the first window where its size depends on what it finds. */
static void
search_read_nearest(EcpSearch *search)
{
	EcpProbe   *probe = &search->probe;
	const EcpScanPlan *plan = &search->plan;
	int			look = plan->least;

	Assert(search->descent != NULL && plan->adaptive && plan->least > 0);

	search->stats.windows++;
	for (int n = 0;;)
	{
		/* those that wait may be buffers, which lead to no look */
		if (n == 0 || n == look || EcpProbeWaiting(probe) == 0)
			search_take_clusters(search, n, EcpLookNext(look));
		if (EcpProbeWaiting(probe) == 0)
		{
			search->stats.stop = ECP_STOP_CLUSTERS;
			break;
		}
		/* a buffer belongs to a cluster that was read */
		if (!EcpProbeAtBuffer(probe))
		{
			if (n == plan->known)
				search_know_place(search);
			if (n == look)
			{
				search->stats.early = search_sum(search, n) >= search_slack(search);
				look = EcpLookNext(n);
			}
			if (search->stats.early || search_is_over(search))
			{
				(void) search_slack(search);
				search->stats.recall =
					ecp_target_recall_at(&search->state.meta, plan->among,
										 &search->mix, search_sum(search, Max(n, 1)));
				ecp_probe_pause(probe);
				break;
			}
			n++;
			/* and what is read if the next look does not end the search */
			probe->sure = probe->next_ref + EcpLookNext(look) - n;
		}
		search_read_cluster(search);
	}
	probe->sure = PG_INT32_MAX;
	search->window = probe->clusters;
}

/*
 * The first window has been read.  Sort the rows that may be among the first
 * ten, which is what most scans fetch.
 */
static void
search_first_window_done(EcpSearch *search)
{
	ecp_budget_read(search);
	if (!search->rest.active)
		return;
	if (search->query.bounded)
		search->rerank.near = search->near;
	ecp_topk_sort_below(&search->rows, search->query.bounded ? search->near :
						search->nearest.kth);

	ecp_search_note_none(search);
	search->probe.whole = true;
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
						 ecp_target_filter_probes(stats->probes, stats->vectors / rows,
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
 * More rows are wanted than enough has been read for.  Returns the number of
 * clusters to read for twice as many: as many times what this query took as that
 * is on average.  Under a filter the rows that it passed say how many there will
 * have to be, and we read for more than are returned before the next window: rows
 * that turn up when farther ones have been returned are too late, in each window.
 */
static uint64
search_next_window(EcpSearch *search)
{
	const EcpSearchRequest *request = &search->request;
	const EcpSearchHold *hold = &search->hold;
	const EcpMetaPageData *meta = &search->state.meta;
	Relation	index = search->probe.index;
	double		rows = 2.0 * search->rows_known;
	double		ahead = request->filtered ? SEARCH_FILTER_AHEAD :
		request->grouped ? SEARCH_GROUPS_AHEAD : 1;
	double		clusters;
	double		before;

	if (search_looks_held(search))
	{
		/* few rows are taken before the look after it */
		search->rows.batch = Max(search->taken / 8, ECP_SEARCH_BATCH);
		return EcpLookNext(search->probe.clusters) - search->probe.clusters;
	}
	if ((request->filtered || hold->active) && request->limit > 0)
	{
		uint64		passed = EcpTopkCount(&hold->rows) +
			(request->filtered ? request->passed : hold->returned);
		double		expected = (double) search->taken * request->limit /
			Max(passed, 1);

		rows = Min(Max(rows, expected), 4 * rows);
	}
	else
		rows = Max(rows, request->limit);
	clusters = ecp_target_clusters(index, meta, rows * ahead);
	before = ecp_target_clusters(index, meta, search->rows_read);
	search->rows_known = rows;
	search->rows_read = rows * ahead;
	if (clusters >= meta->ecpm_nleaves)
		return meta->ecpm_nleaves;
	return (uint64) Max(ceil(search->probe.clusters * (clusters / before - 1)), 1);
}

/*
 * May no row be returned yet, because fewer are known than are wanted, or because
 * what was read is not enough for those?  Whatever is read later may have nearer
 * ones, and there is no order in which these could be returned then.
 */
static bool
search_must_wait(const EcpSearch *search)
{
	const EcpSearchRequest *request = &search->request;

	if (!search->strict)
		return false;
	return request->limit == 0 || search->complete ||
		search->candidates < request->limit ||
		(search->plan.adaptive && !request->filtered && !search->hold.active &&
		 search->rows_known < request->limit);
}

/* Other rows may be found that are nearer than those taken ahead. */
static void
search_give_ahead(EcpSearch *search)
{
	EcpSearchAhead *ahead = &search->ahead;

	while (ahead->next < ahead->n)
		ecp_rerank_put_back(&search->rerank, &ahead->rows[ahead->next++]);
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
		if (search->request.iterative == ECP_ITERATIVE_OFF && !search->query.is_null)
			stats->stop = ECP_STOP_PROBES;
		if (stats->stop != ECP_STOP_NONE || search_is_over(search))
			return;
		if (search->plan.adaptive)
			search->window = search_next_window(search);
		else
			search->window *= 2;
		ecp_topk_add_more(&search->rows);
		search_give_ahead(search);
		if (!search_must_wait(search))
			rows_max = (uint64) work_mem * 1024 / sizeof(EcpRanked);
	}
	if (stats->windows == 0 && search->plan.adaptive)
		search_read_nearest(search);
	else
	{
		search_read_window(search, search->window, rows_max);
		if (search->request.filter && stats->windows == 1)
			search_read_filtered(search);
	}
	if (stats->windows == 1)
		search_first_window_done(search);
	if (stats->windows == 1 && stats->stop == ECP_STOP_CLUSTERS)
		stats->recall = 1;

	/* clusters come in order of promise: later ones have no rows either */
	if (!isinf(search->query.rank_max) && search->candidates == candidates &&
		stats->vectors > vectors && stats->stop == ECP_STOP_NONE)
		stats->stop = ECP_STOP_RADIUS;
	ecp_search_note(search);
}

/* The number of candidates that wait. */
static uint64
search_waiting(EcpSearch *search)
{
	uint64		waiting = EcpTopkCount(&search->rows) + search->rest.nrows +
		search->left.nrows;

	if (search->query.bounded)
		waiting += search->rerank.nexact + search->ahead.n - search->ahead.next;
	return waiting;
}

/*
 * How many rows with bounds to take at once: those whose exact ranks will all be
 * needed, if they are then fetched from the table.
 */
static int
search_ahead_rows(const EcpSearch *search)
{
	const EcpSearchRequest *request = &search->request;
	const EcpSearchHold *hold = &search->hold;
	uint64		rows = request->limit;

	/* of rows that are tested, one at least for each that is still wanted */
	if (hold->active)
	{
		uint64		found = hold->returned + EcpTopkCount(&hold->rows);

		rows = search->taken + (rows > found ? rows - found : 0);
	}
	if (!search_looks_held(search))
		rows = Min(rows, search->rows_known);
	if (request->heap == NULL || request->located || request->filtered ||
		search->rerank.table != NULL ||
		!search->plan.adaptive || rows <= search->taken)
		return 1;
	return Min(rows - search->taken, ECP_SEARCH_AHEAD_ROWS);
}

/*
 * Take the nearest row by its exact rank, and with it those that follow, whose
 * pages of the table are prefetched; each of these rows shortly before it is taken.
 */
static bool
search_take_ahead(EcpSearch *search, EcpRanked *row)
{
	EcpSearchAhead *ahead = &search->ahead;

	if (ahead->next == ahead->n)
	{
		int			max = search_ahead_rows(search);

		ahead->next = ahead->n = 0;
		while (ahead->n < max && ecp_search_parts_take(search, &ahead->rows[ahead->n]))
			ahead->n++;
		for (int i = 0; i < ahead->n && max > 1; i++)
			ecp_heap_prefetch_page(search->request.heap, ahead->rows[i].item);
		for (int i = 0; i < Min(ahead->n, ECP_HEAP_AHEAD) && max > 1; i++)
			ecp_heap_prefetch_row(ahead->rows[i].item);
	}
	if (ahead->next == ahead->n)
		return false;
	*row = ahead->rows[ahead->next++];
	if (ahead->next + ECP_HEAP_AHEAD <= ahead->n)
		ecp_heap_prefetch_row(ahead->rows[ahead->next + ECP_HEAP_AHEAD - 1].item);
	return true;
}

/* Take the nearest candidate, whose item is its TID or number; false if none. */
static bool
search_take(EcpSearch *search, EcpRanked *row)
{
	const EcpRanked *ranked;

	if (search->query.bounded)
		return search_take_ahead(search, row);
	if (search->left.npages > 0)
	{
		ranked = ecp_topk_peek(&search->rows);
		if (ranked == NULL || ranked->rank > search->left.limit)
			ecp_search_parts_flush(search);
	}
	ranked = ecp_topk_take(&search->rows);
	if (ranked == NULL)
		return false;
	*row = *ranked;
	return true;
}

/* Should the next window be read before a candidate is taken? */
static bool
search_wants_more(EcpSearch *search)
{
	const EcpSearchStats *stats = &search->stats;
	int			n = search->probe.clusters;
	bool		enough;

	if (stats->stop != ECP_STOP_NONE)
		return false;
	if (search_waiting(search) == 0 || search_must_wait(search))
		return true;
	if (!search->plan.adaptive)
		enough = (search->taken + 1) * ECP_SEARCH_AHEAD <= search->candidates;
	else if (search_looks_held(search))
		enough = search->taken < search->plan.k ||
			!search_has_cluster(search, EcpLookNext(n) - n) ||
			search_sum(search, n) >= search_slack(search);
	else
		enough = search->taken < search->rows_known;
	return !enough && search_waiting(search) <
		(uint64) work_mem * 1024 / sizeof(EcpRanked) / 2;
}

/* The row just taken of "rows" will be fetched from the table. */
static void
search_prefetch_heap(const EcpSearch *search, const EcpTopk *rows, uint64 taken)
{
	ecp_heap_prefetch_next(search->request.heap, rows->items + rows->first,
						   rows->sorted - rows->first, taken);
}

/* Is a row nearer than one after which it cannot be returned any more? */
static bool
search_is_late(const EcpSearch *search, const EcpRanked *row)
{
	const EcpRanked *floor = &search->returned.floor;

	if (search->request.unordered ||
		search->request.iterative == ECP_ITERATIVE_RELAXED ||
		row->rank > floor->rank)
		return false;
	return row->rank < floor->rank ||
		EcpRankedIsNaN(row) < EcpRankedIsNaN(floor);
}

/*
 * Take the next row, of those that were read or, if "more", that will be.  False if
 * there is none.
 */
static bool
search_take_next(EcpSearch *search, bool more, EcpRanked *row)
{
	for (;;)
	{
		while (more && search_wants_more(search))
			search_read_more(search);

		if (!search_take(search, row))
			return false;
		if (row->rank > search->query.rank_max)
			continue;			/* only its bound was within the radius */
		if (!search_is_late(search, row))
			break;
		search->stats.dropped++;
	}
	search->taken++;
	if (search->request.heap && !search->query.bounded)
		search_prefetch_heap(search, &search->rows, search->taken);
	return true;
}

/* The TID of a row, which becomes the one that functions are asked about. */
static void
search_set_tid(EcpSearch *search, const EcpRanked *row, ItemPointer tid)
{
	uint64		item = EcpRankedItem(row);

	if (search->request.located)
	{
		search->returned.number = item;
		item = ecp_tid_item(&search->rerank.tids[item]);
	}
	ecp_tid_from_item(search->probe.index, item, tid);
}

/*
 * Take the next of the rows that count.  First we test rows until there are as
 * many as are wanted, and go on to read meanwhile: rows that come late are put
 * in their place among those held back.  What is read later than that is as far
 * away as all of them, or would have been missed by a search for so many rows.
 */
static bool
search_take_held(EcpSearch *search, EcpRanked *row)
{
	EcpSearchHold *hold = &search->hold;
	uint64		limit = search->request.limit;
	uint64		wanted = limit > hold->returned ? limit - hold->returned : 1;
	const EcpRanked *ranked;

	for (;;)
	{
		bool		enough = EcpTopkCount(&hold->rows) >= wanted;
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		if (!hold->has_next)
			hold->has_next = search_take_next(search, !enough || search_looks_held(search),
											  &hold->next);
		if (!hold->has_next || (enough && hold->next.rank >= hold->farthest))
			break;
		hold->has_next = false;
		hold->farthest = Max(hold->farthest, hold->next.rank);
		search_set_tid(search, &hold->next, &tid);
		if (!search->request.test(search->request.test_arg, &tid,
								  hold->next.rank))
			continue;
		*ecp_topk_room(&hold->rows, 1) = hold->next;
		ecp_topk_added(&hold->rows, 1);
	}
	ranked = ecp_topk_take(&hold->rows);
	if (ranked == NULL)
		return false;
	*row = *ranked;
	hold->returned++;
	/* it was fetched for the test, but may have left the cache since */
	if (search->request.heap && !search->request.located)
		search_prefetch_heap(search, &hold->rows, hold->returned);
	return true;
}

/*
 * The next row: its TID, and the distance unless *isnull.  Returns false after
 * the last one.
 */
bool
ecp_search_next(EcpSearch *search, ItemPointer tid, float8 *distance,
				bool *isnull)
{
	EcpRanked	row;

	Assert(search->started);

	if (search->hold.active ? !search_take_held(search, &row) :
		!search_take_next(search, true, &row))
	{
		ecp_search_note(search);
		return false;
	}
	search->returned.last = row;
	/* until it is known that it does not count */
	if (!search->request.immediate)
		search->returned.floor = row;
	search->stats.returned++;
	ecp_budget_returned(search);
	if (search_noted != search)
		ecp_search_note(search);	/* others have run since */
	ecp_search_last.returned = search->stats.returned;
	search_set_tid(search, &row, tid);
	*isnull = search->query.is_null;
	*distance = EcpRankedIsNaN(&row) ? get_float8_nan() :
		ecp_rank_distance(search->state.meta.ecpm_metric, row.rank);
	return true;
}

Buffer
ecp_search_entry(EcpSearch *search, EcpEntryView *view, int *slot)
{
	Assert(search->started && search->request.located);
	return ecp_rerank_entry(&search->rerank, search->returned.number, view, slot);
}

void
ecp_search_vector(EcpSearch *search, void *vector)
{
	Assert(search->started && search->request.located);
	ecp_rerank_vector(&search->rerank, search->returned.number, vector);
}

const EcpIndexState *
ecp_search_state(const EcpSearch *search)
{
	return &search->state;
}
