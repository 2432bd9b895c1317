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
 *				ecp_probe.c brings the pages, ecp_candidates.c takes the rows
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

/* Under a filter, windows are for this multiple of the rows that are returned. */
#define SEARCH_FILTER_AHEAD		4.0

/*
 * The same where one row of each group is wanted: a group has few rows as near as
 * the last of the answer, and a cluster that is not read often has all of them.
 */
#define SEARCH_GROUPS_AHEAD		2.0

/*
 * Have as many rows been read as ecp.max_scan_tuples allows, or for as long as
 * max_ms does?  At least one cluster is read, and each with the rows of its insert
 * buffer.
 */
static bool
search_is_over(EcpSearch *search)
{
	EcpSearchStats *stats = &search->stats;

	if (search->max_scan_tuples >= 0 && search->probe.clusters > 0 &&
		stats->vectors + stats->filtered >= search->max_scan_tuples)
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

/* Read the next cluster or buffer; the rows of one that is skipped fail. */
static void
search_read_cluster(EcpSearch *search)
{
	/* reading counts what fails, too */
	uint32		skipped = ecp_probe_next(&search->probe);

	search->stats.filtered += skipped;
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
		   EcpTopkCount(&search->rows.candidates) < rows_max)
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
 * What is compared with the margin of a target by a search that read n clusters, and
 * is at the next: by the k-th row, or the farthest of those that were tested.
 */
static double
search_sum(const EcpSearch *search, int n)
{
	const EcpProbe *probe = &search->probe;
	const EcpMetaPageData *meta = &search->state.meta;
	float8		kth = search->rows.taken > 0 ? search->rows.hold.farthest : search->nearest.kth;

	return ecp_stop_gap(&search->place, meta, probe->refs[probe->next_ref].rank,
						kth) + ecp_stop_advance(meta, n);
}

/*
 * Do windows end at checks, as the first does, while rows are tested and held back?
 * Where a group or other nodes decide, too, they are for more rows.
 */
static bool
search_checks_held(const EcpSearch *search)
{
	return search->rows.hold.active && search->plan.adaptive &&
		!search->request.filtered && !search->request.grouped;
}

/*
 * The margin of the target.  Under conditions that one row in s fulfils, the k nearest
 * are among the s * k nearest of all; of rows that were tested, among all of these.
 */
static double
search_margin(EcpSearch *search)
{
	const EcpSearchStats *stats = &search->stats;
	EcpScanPlan *plan = &search->plan;
	double		rows = Max(stats->vectors + stats->filtered, 1);

	if (search->request.filter || search->rows.hold.active)
		ecp_target_plan_among(&search->state.meta, rows / Max(stats->vectors, 1) *
							  Max((double) search->rows.taken / plan->k, 1), plan);
	return ecp_mix_margin(&search->mix, plan->margin);
}

/*
 * Have all clusters up to the next check, and the one after, taken, or a quarter more
 * than were read: each is compared with many others.
 */
static void
search_take_clusters(EcpSearch *search, int n, int check)
{
	EcpProbe   *probe = &search->probe;
	int			wanted = check - n + 1;
	MemoryContext old;

	if (EcpProbeWaiting(probe) >= wanted)
		return;
	old = MemoryContextSwitchTo(search->context);
	(void) ecp_probe_take(probe, search->descent, Max(wanted, n / 4));
	MemoryContextSwitchTo(old);
}

/*
 * The clusters have been read whose k-th row tells where the query is, and so which
 * margin it has.  Under conditions that row is farther away than for the queries that
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
	int			check = plan->least;

	Assert(search->descent != NULL && plan->adaptive && plan->least > 0);

	search->stats.windows++;
	for (int n = 0;;)
	{
		/* those that wait may be buffers, which lead to no check */
		if (n == 0 || n == check || EcpProbeWaiting(probe) == 0)
			search_take_clusters(search, n, EcpCheckNext(check));
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
			if (n == check)
			{
				search->stats.early = search_sum(search, n) >= search_margin(search);
				check = EcpCheckNext(n);
			}
			if (search->stats.early || search_is_over(search))
			{
				(void) search_margin(search);
				search->stats.recall =
					ecp_target_recall_at(&search->state.meta, plan->among,
										 &search->mix, search_sum(search, Max(n, 1)));
				ecp_probe_pause(probe);
				break;
			}
			n++;
			/* and what is read if the next check does not end the search */
			probe->sure = probe->next_ref + EcpCheckNext(check) - n;
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
	if (!search->rows.deferred.active)
		return;
	if (EcpSearchHasBounds(search))
		search->rows.rerank.near = search->near;
	ecp_topk_sort_below(&search->rows.candidates, search->near);
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
	const EcpSearchHold *hold = &search->rows.hold;
	const EcpMetaPageData *meta = &search->state.meta;
	Relation	index = search->probe.index;
	double		rows = 2.0 * search->rows_known;
	double		ahead = request->filtered ? SEARCH_FILTER_AHEAD :
		request->grouped ? SEARCH_GROUPS_AHEAD : 1;
	double		clusters;
	double		before;

	if (search_checks_held(search))
	{
		/* few rows are taken before the check after it */
		search->rows.candidates.batch = Max(search->rows.taken / 8, ECP_SEARCH_BATCH);
		return EcpCheckNext(search->probe.clusters) - search->probe.clusters;
	}
	if ((request->filtered || hold->active) && request->limit > 0)
	{
		uint64		passed = EcpTopkCount(&hold->rows) +
			(request->filtered ? search->rows.passed : hold->returned);
		double		expected = (double) search->rows.taken * request->limit /
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
		search->rows.found < request->limit ||
		(search->plan.adaptive && !request->filtered && !search->rows.hold.active &&
		 search->rows_known < request->limit);
}

/* Other rows may be found that are nearer than those taken ahead. */
static void
search_give_ahead(EcpSearch *search)
{
	EcpSearchAhead *ahead = &search->rows.ahead;

	while (ahead->next < ahead->n)
		ecp_rerank_put_back(&search->rows.rerank, &ahead->rows[ahead->next++]);
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
	uint64		candidates = search->rows.found;
	uint64		vectors = stats->vectors;

	if (stats->windows > 0)
	{
		if (search->iterative == ECP_ITERATIVE_OFF && !search->is_null)
			stats->stop = ECP_STOP_PROBES;
		if (stats->stop != ECP_STOP_NONE || search_is_over(search))
			return;
		if (search->plan.adaptive)
			search->window = search_next_window(search);
		else
			search->window *= 2;
		ecp_topk_add_more(&search->rows.candidates);
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
	if (!isinf(search->rank_max) && search->rows.found == candidates &&
		stats->vectors > vectors && stats->stop == ECP_STOP_NONE)
		stats->stop = ECP_STOP_RADIUS;
	ecp_search_note(search);
}

/* The number of candidates that wait. */
static uint64
search_waiting(EcpSearch *search)
{
	uint64		waiting = EcpTopkCount(&search->rows.candidates) + search->rows.deferred.nrows +
		search->rows.pages.nrows;

	if (EcpSearchHasBounds(search))
		waiting += search->rows.rerank.nexact + search->rows.ahead.n - search->rows.ahead.next;
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
	const EcpSearchHold *hold = &search->rows.hold;
	uint64		rows = request->limit;

	/* of rows that are tested, one at least for each that is still wanted */
	if (hold->active)
	{
		uint64		found = hold->returned + EcpTopkCount(&hold->rows);

		rows = search->rows.taken + (rows > found ? rows - found : 0);
	}
	if (!search_checks_held(search))
		rows = Min(rows, search->rows_known);
	if (request->heap == NULL || request->located || request->filtered ||
		search->rows.rerank.table != NULL ||
		!search->plan.adaptive || rows <= search->rows.taken)
		return 1;
	return Min(rows - search->rows.taken, ECP_SEARCH_AHEAD_ROWS);
}

/*
 * Take the row with the smallest exact rank where candidates have bounds; false if
 * there is none.  Deferred pages are read before one that is farther.
 */
static bool
search_take_exact(EcpSearch *search, EcpRanked *row)
{
	for (;;)
	{
		bool		found = ecp_rerank_take(&search->rows.rerank, &search->rows.candidates, row);

		if (search->rows.pages.npages == 0 ||
			(found && row->rank <= search->rows.pages.limit))
			return found;
		if (found)
			ecp_rerank_put_back(&search->rows.rerank, row);
		ecp_candidates_read_deferred(search);
	}
}

/*
 * Take the nearest row by its exact rank, and with it those that follow, whose
 * pages of the table are prefetched; each of these rows shortly before it is taken.
 */
static bool
search_take_ahead(EcpSearch *search, EcpRanked *row)
{
	EcpSearchAhead *ahead = &search->rows.ahead;

	if (ahead->next == ahead->n)
	{
		int			max = search_ahead_rows(search);

		ahead->next = ahead->n = 0;
		while (ahead->n < max && search_take_exact(search, &ahead->rows[ahead->n]))
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

	if (EcpSearchHasBounds(search))
		return search_take_ahead(search, row);
	if (search->rows.pages.npages > 0)
	{
		ranked = ecp_topk_peek(&search->rows.candidates);
		if (ranked == NULL || ranked->rank > search->rows.pages.limit)
			ecp_candidates_read_deferred(search);
	}
	ranked = ecp_topk_take(&search->rows.candidates);
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
		enough = (search->rows.taken + 1) * ECP_SEARCH_AHEAD <= search->rows.found;
	else if (search_checks_held(search))
		enough = search->rows.taken < search->plan.k ||
			!search_has_cluster(search, EcpCheckNext(n) - n) ||
			search_sum(search, n) >= search_margin(search);
	else
		enough = search->rows.taken < search->rows_known;
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
	const EcpRanked *floor = &search->rows.returned.floor;

	if (search->request.unordered ||
		search->iterative == ECP_ITERATIVE_RELAXED ||
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
		if (row->rank > search->rank_max)
			continue;			/* only its bound was within the radius */
		if (!search_is_late(search, row))
			break;
		search->stats.dropped++;
	}
	search->rows.taken++;
	if (search->request.heap && !EcpSearchHasBounds(search))
		search_prefetch_heap(search, &search->rows.candidates, search->rows.taken);
	return true;
}

/* The TID of a row, which becomes the one that functions are asked about. */
static void
search_set_tid(EcpSearch *search, const EcpRanked *row, ItemPointer tid)
{
	uint64		item = EcpRankedItem(row);

	if (search->request.located)
	{
		search->rows.returned.number = item;
		item = ecp_tid_item(&search->rows.rerank.tids[item]);
	}
	ecp_tid_from_item(search->probe.index, item, tid);
}

/*
 * Take the next of the rows that count.  First we test rows until there are as
 * many as are wanted, and go on to read meanwhile: rows that come late are put
 * in their place among those held back.  What is read later than that is as far
 * away as all of them, or would have been missed by a search for that number.
 */
static bool
search_take_held(EcpSearch *search, EcpRanked *row)
{
	EcpSearchHold *hold = &search->rows.hold;
	uint64		limit = search->request.limit;
	uint64		wanted = limit > hold->returned ? limit - hold->returned : 1;
	const EcpRanked *ranked;

	for (;;)
	{
		bool		enough = EcpTopkCount(&hold->rows) >= wanted;
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		if (!hold->has_next)
			hold->has_next = search_take_next(search, !enough || search_checks_held(search),
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

	if (search->rows.hold.active ? !search_take_held(search, &row) :
		!search_take_next(search, true, &row))
	{
		ecp_search_note(search);
		return false;
	}
	search->rows.returned.last = row;
	/* until it is known that it does not count */
	if (!search->request.immediate)
		search->rows.returned.floor = row;
	search->stats.returned++;
	ecp_budget_returned(search);
	ecp_search_note_returned(search);
	search_set_tid(search, &row, tid);
	*isnull = search->is_null;
	*distance = EcpRankedIsNaN(&row) ? get_float8_nan() :
		ecp_rank_distance(search->state.meta.ecpm_metric, row.rank);
	return true;
}

Buffer
ecp_search_entry(EcpSearch *search, EcpEntryView *view, int *slot)
{
	Assert(search->started && search->request.located);
	return ecp_rerank_entry(&search->rows.rerank, search->rows.returned.number, view, slot);
}

void
ecp_search_vector(EcpSearch *search, void *vector)
{
	Assert(search->started && search->request.located);
	ecp_rerank_vector(&search->rows.rerank, search->rows.returned.number, vector);
}

const EcpIndexState *
ecp_search_state(const EcpSearch *search)
{
	return &search->state;
}
