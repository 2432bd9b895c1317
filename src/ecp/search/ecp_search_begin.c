/*-------------------------------------------------------------------------
 *
 * ecp_search_begin.c
 *	  SEARCH: a search starts and ends: how the first window is read, with what rows
 *	  are compared, and how long that may take.
 *
 * "max_ms" is the dual of a recall target: that says what is found, and the search how
 * long it takes; here the time is given, and the search says what it has found, by the
 * curve (ecp_target_recall_at()).  The time is that of one search, from its start to
 * the last row that the LIMIT asks for.  Before each cluster but the first the search
 * reads the clock, and stops if another cluster, as long as those so far took on
 * average, would end after the time less what returning the rows will take.  That is
 * what it took for each row in the last searches of this session, and includes what
 * the executor did with the rows.  Clusters come in order of promise, so there is
 * nothing to decide but where to stop.  What is found depends on the machine and on
 * what is in memory, as nothing else does (ecp_stop.c).  Only searches for a known
 * number of rows have a limit of time: others may be all that is wanted, and lose rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/spare.h"
#include "base/topk.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_search.h"
#include "ecp/search/ecp_search_private.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * A radius is widened by this share of it, and by search_radius_margin(): the
 * condition is checked again.
 */
#define RADIUS_MARGIN		1e-6

/* Rows that wait in memory until they are sorted may have this share of work_mem. */
#define SEARCH_BOUND_SHARE	4

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
	ecp_topk_init(&search->rows.candidates, memory, ECP_SEARCH_BATCH);
	ecp_topk_init(&search->rows.hold.rows, memory, ECP_SEARCH_BATCH);
	search->probe.state = &search->state;
	search->query.state = &search->state;
	search->probe.page = ecp_candidates_page;
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
	memset(&search->request, 0, sizeof(EcpSearchRequest));
	search->request.radius = get_float8_infinity();
	search->probe.index = index;
	ecp_probe_init(&search->probe);
	return search;
}

EcpSearchRequest *
ecp_search_request(EcpSearch *search)
{
	Assert(!search->started);
	return &search->request;
}

void
ecp_search_set_passed(EcpSearch *search, uint64 passed)
{
	const EcpSearchRequest *request = &search->request;
	EcpSearchHold *hold = &search->rows.hold;

	Assert(search->started);
	if (passed > search->rows.passed)
		search->rows.returned.floor = search->rows.returned.last;
	search->rows.passed = passed;

	/* not visible: rows that are held back from now on are not lost */
	if (passed < search->stats.returned && request->immediate &&
		!request->filtered && request->test != NULL && search->strict &&
		!search->complete && request->limit > 0 && !hold->active)
	{
		hold->active = true;
		hold->returned = passed;
		hold->farthest = search->rows.returned.last.rank;
	}
}

/* ---- the time that a search has ---- */

/* The share of the time that is kept for returning rows, at most. */
#define BUDGET_RETURN_SHARE		0.5

/* How fast the mean time of returning a row follows the last one. */
#define BUDGET_FOLLOW			0.125

/* ms that returning a row takes: at first what it takes in memory. */
static double budget_row_ms = 0.001;

/* Milliseconds since the search started. */
static double
budget_elapsed(const EcpSearchBudget *budget)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, budget->start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/* Start the time that a search has, and set budget.ms; 0 if it is not limited. */
static void
budget_start(EcpSearch *search, bool isnull)
{
	EcpSearchBudget *budget = &search->budget;

	budget->ms = 0;
	if (search->request.limit == 0 || isnull || ecp_max_ms < 0)
		return;
	budget->ms = ecp_max_ms > 0 ? ecp_max_ms :
		ecp_options_get(search->probe.index).max_ms;
	if (budget->ms == 0)
		return;
	budget->begun = budget->read = 0;
	INSTR_TIME_SET_CURRENT(budget->start);
}

bool
ecp_budget_is_spent(EcpSearch *search)
{
	EcpSearchBudget *budget = &search->budget;
	double		elapsed;
	double		cluster;
	double		returning;

	Assert(budget->ms > 0);
	elapsed = budget_elapsed(budget);
	if (search->probe.clusters == 0)
	{
		budget->begun = elapsed;
		return false;
	}
	cluster = (elapsed - budget->begun) / search->probe.clusters;
	returning = Min(budget_row_ms * search->request.limit,
					BUDGET_RETURN_SHARE * budget->ms);
	return elapsed + cluster + returning > budget->ms;
}

void
ecp_budget_read(EcpSearch *search)
{
	if (search->budget.ms > 0)
		search->budget.read = budget_elapsed(&search->budget);
}

void
ecp_budget_returned(EcpSearch *search)
{
	EcpSearchBudget *budget = &search->budget;
	uint64		rows = search->stats.returned;

	if (budget->ms == 0 || rows != search->request.limit ||
		search->stats.windows != 1)
		return;
	budget_row_ms += BUDGET_FOLLOW *
		((budget_elapsed(budget) - budget->read) / rows - budget_row_ms);
}

/* ---- the first window ---- */

/* Prepare to number rows, if they have codes or their entries are wanted. */
static void
search_init_rerank(EcpSearch *search)
{
	MemoryContext old;

	if (search->state.leaf.quantizer == ECP_QUANTIZER_NONE &&
		search->state.leaf.elem != ECP_ELEM_NIBBLES && !search->request.located)
		return;

	/* its arrays are large: the next search takes them over */
	old = MemoryContextSwitchTo(search->memory);
	if (search->rows.rerank.probe == NULL)
		ecp_rerank_init(&search->rows.rerank, &search->probe);
	MemoryContextSwitchTo(old);
	search->rows.rerank.numbered = search->request.located;
	search->rows.rerank.heap = search->request.heap;
	search->rows.rerank.table = NULL;
	search->rows.rerank.near = -get_float8_infinity();
	ecp_rerank_reset(&search->rows.rerank);
}

/*
 * Prepare to compare codes with the query.  A search that reads all clusters
 * is expected to return all rows in order, so its bounds are wider, and by L1 take it
 * that a row's distance may be no larger than by L2, which it cannot be below.
 */
static void
search_set_codes(EcpSearch *search, const void *prepared)
{
	const EcpMetaPageData *meta = &search->state.meta;
	bool		all = search->window >= meta->ecpm_nleaves;

	search->query.codes = ecp_code_query_create(meta->ecpm_leader_elem,
												meta->ecpm_metric, meta->ecpm_dims,
												meta->ecpm_rotation_seed, prepared,
												all ? ECP_CODE_EPS_WIDE : ECP_CODE_EPS,
												search->state.leaf.levels_bytes > 0,
												all ? 1 : meta->ecpm_curve.ecpm_norm);
	search->rows.rerank.query = search->query.exact;
}

/*
 * The same with codes of four bits.  Where all clusters are read before a row is
 * returned, none may be missed.
 */
static void
search_set_nibbles(EcpSearch *search, const void *prepared)
{
	const EcpMetaPageData *meta = &search->state.meta;
	float4		eps = search->complete ? ECP_NIBBLES_EPS_NONE :
		search->window >= meta->ecpm_nleaves ? ECP_CODE_EPS_WIDE : ECP_CODE_EPS;

	Assert(search->request.table != NULL);
	search->query.nibbles =
		ecp_nibbles_query_init(palloc(ecp_nibbles_query_bytes(meta->ecpm_dims)),
							   meta->ecpm_metric, meta->ecpm_dims, prepared, eps);
	search->rows.rerank.query = search->query.exact;
	search->rows.rerank.table = search->request.table;
}

/* Note the nearest rows of the first window, for a decision or for their order. */
static void
search_note_begin(EcpSearch *search)
{
	EcpNearest *nearest = &search->nearest;

	nearest->k = search->plan.adaptive ? search->plan.k : ECP_TARGET_K;
	if (search->rows.pages.active)
		nearest->k = Max(nearest->k, search->request.limit);
	if (search->nearest_max < nearest->k)
	{
		if (nearest->rows)
			pfree(nearest->rows);
		search->nearest_max = 0;
		nearest->rows = MemoryContextAlloc(search->memory,
										   mul_size(nearest->k, sizeof(EcpRanked)));
		search->nearest_max = nearest->k;
	}
	ecp_nearest_reset(nearest);
	search->near = get_float8_infinity();
}

void
ecp_search_note_none(EcpSearch *search)
{
	search->nearest.kth = search->near = -get_float8_infinity();
}

/*
 * All rows may be wanted, in their order, or a quarter of them, for which all clusters
 * are read: so all are read before one is returned.  What does not fit in
 * work_mem is sorted on disk.
 */
static void
search_set_complete(EcpSearch *search)
{
	Size		bytes = (Size) work_mem * 1024;

	search->complete = true;
	search->plan.adaptive = false;
	search->plan.probes = Max(search->state.meta.ecpm_nleaves, 1);
	ecp_topk_set_bound(&search->rows.candidates, Max(bytes / SEARCH_BOUND_SHARE /
													 sizeof(EcpRanked), 1),
					   work_mem / 2);
}

/* Decide how the first window is read. */
static void
search_set_plan(EcpSearch *search)
{
	const EcpSearchRequest *request = &search->request;
	EcpScanPlan *plan = &search->plan;
	bool		radius = !isinf(search->rank_max);
	uint64		rows = request->limit;

	if (request->filtered || request->tested)
		rows = Max(rows, ECP_TARGET_K);
	ecp_target_plan(search->probe.index, &search->state.meta, rows, plan);
	if (ecp_target_changed)
	{
		ecp_target_changed = false;
		ecp_target_tell(search->probe.index, &search->state.meta);
	}
	/* where only the time says how much is read, it is all used */
	if (search->budget.ms > 0 && ecp_target_recall == 0 && plan->adaptive)
		ecp_target_plan_best(&search->state.meta, plan);
	if (search->query.exact == NULL || radius)
		plan->adaptive = false;
	search->strict = !request->unordered && search->query.exact != NULL &&
		search->iterative == ECP_ITERATIVE_STRICT;
	search->complete = false;
	if (search->strict && !radius && (request->limit == 0 || plan->all))
		search_set_complete(search);
	search->rows.hold.active = search->strict && !search->complete &&
		request->tested && request->limit > 0;
	ecp_candidates_begin(search);
	search_note_begin(search);
	if (radius)
		ecp_search_note_none(search);
	search->stats.probes = plan->probes;
	search->window = plan->probes;
	search->rows_known = search->rows_read = plan->k;
}

/* Take the first clusters, which say where the query is. */
static void
search_set_place(EcpSearch *search, const void *prepared)
{
	EcpProbe   *probe = &search->probe;

	(void) ecp_probe_take(probe, search->descent,
						  Max(search->plan.probes, ECP_PLACE_LEADERS) + 1);
	ecp_place_set(&search->place, &search->state.meta, prepared, probe->refs,
				  EcpProbeWaiting(probe));
	ecp_place_mix(&search->place, &search->state.meta.ecpm_curve, NULL, &search->mix);
}

/*
 * By how much what a scan computes of a row can be above "radius", if the column's
 * operator says that the row is within it.
 *
 * What is stored may be rounded.  Rounding to a half moves an element by at most
 * 2^-11 of it, or by 2^-25 if it is subnormal; so it moves a row x by at most
 * 2^-11 |x| + 2^-25 sqrt(D).
 *
 * And the operator may add up in another order than our kernels, as pgvector's do.  A
 * sum of D products of float32, in any order, is off by at most (D + 1) 2^-24 of the
 * sum of their absolute values, which is at most |x| |q|; ours of 16 lanes by
 * (D / 16 + 5) 2^-24.  Squares of differences, which are rounded before, take two
 * more, of the squared distance.  A cosine has the error of the product and, by the
 * square root, once that of sums of squares.  Three times D + 8 is more than any of
 * this.
 */
static float8
search_radius_margin(const EcpMetaPageData *meta, const EcpVector *query,
					 float8 radius)
{
	bool		exact = EcpDistancesAreExact(meta);
	float8		relative = exact ? 0 : ldexp(1, -11);
	float8		absolute = exact ? 0 : ldexp(sqrt(meta->ecpm_dims), -25);
	float8		sums = ldexp(3 * (meta->ecpm_dims + 8.0), -24);
	const float4 *elements = query->data;
	float8		norm1 = 0;
	float8		norm2 = 0;
	float8		moved;

	if (exact && EcpOperatorsAreOurs(meta))
		return 0;
	for (int i = 0; i < query->dims; i++)
	{
		norm1 += fabsf(elements[i]);
		norm2 += (float8) elements[i] * elements[i];
	}
	switch (meta->ecpm_metric)
	{
		case ECP_METRIC_L2:
			moved = relative * (sqrt(norm2) + Max(radius, 0)) + absolute;
			return moved + sums * (Max(radius, 0) + moved);
		case ECP_METRIC_L1:
			moved = relative * (norm1 + Max(radius, 0)) + absolute * sqrt(meta->ecpm_dims);
			return moved + sums * (Max(radius, 0) + moved);
		case ECP_METRIC_IP:

			/*
			 * |x| is not known, but that of the longest row of a sample; rows
			 * that are more than twice as long are not promised.
			 */
			if (meta->ecpm_curve.ecpm_norm == 0)
				return get_float8_infinity();
			return ((relative + sums) * 2 * sqrt(meta->ecpm_curve.ecpm_norm) +
					absolute) * sqrt(norm2);
		default:

			/*
			 * The angle between x and what is stored of it, whose length is
			 * at least 2^14 (ecp_vector_halve()); 1 - cos changes by no more.
			 */
			return 1.01 * (relative + ldexp(absolute, -14)) + sums;
	}
}

/* The largest rank that a row within the radius can have; it is checked again. */
static void
search_set_rank_max(EcpSearch *search, const EcpVector *query)
{
	const EcpMetaPageData *meta = &search->state.meta;
	float8		radius = search->request.radius;

	if (radius == get_float8_infinity())
		return;
	if (query->data)
		radius += search_radius_margin(meta, query, radius);
	if (meta->ecpm_metric == ECP_METRIC_L2)
		radius = radius < 0 ? -1 : radius * radius;
	search->rank_max = radius + fabs(radius) * RADIUS_MARGIN;
}

/*
 * Prepare the query vector for comparisons with rows, decide how the first window is
 * read, and begin the descent.
 */
static void
search_begin(EcpSearch *search, Datum value, bool isnull)
{
	const EcpMetaPageData *meta = &search->state.meta;
	void	   *prepared = palloc0(search->state.node.vec_bytes);
	EcpVector	vector = {0};

	search->is_null = isnull;
	search->rank_max = get_float8_infinity();
	if (isnull)
		search_set_rank_max(search, &vector);
	else
	{
		ecp_vector_read(value, meta->ecpm_column_type, &vector);
		ecp_vector_check_dims(&vector, meta->ecpm_dims,
							  RelationGetRelationName(search->probe.index));
		if (ecp_prepare(meta, &vector, prepared))
			search->query.exact = ecp_query_create(meta->ecpm_elem == ECP_ELEM_NIBBLES ?
												   vector.elem : meta->ecpm_elem,
												   meta->ecpm_metric,
												   meta->ecpm_dims, vector.data);
		else
			memset(prepared, 0, search->state.node.vec_bytes);
		search_set_rank_max(search, &vector);
		ecp_vector_release(&vector);
	}

	if (search->request.filter)
		search->probe.summary = ecp_attr_filter_summary(search->request.filter,
														meta);
	search_init_rerank(search);
	search_set_plan(search);
	search->descent = ecp_descent_begin(search->probe.index, &search->state,
										prepared, false,
										Min(search->window, meta->ecpm_nleaves));
	if (search->plan.adaptive)
	{
		ecp_descent_set_ahead(search->descent,
							  Max(search->plan.probes, ECP_PLACE_LEADERS) + 1);
		search_set_place(search, prepared);
	}
	if (search->query.exact && meta->ecpm_elem == ECP_ELEM_NIBBLES)
		search_set_nibbles(search, prepared);
	/* bounds from codes are wrong for a few rows, which would be lost */
	if (search->query.exact && !search->complete &&
		search->state.leaf.quantizer != ECP_QUANTIZER_NONE)
		search_set_codes(search, prepared);
	ecp_candidates_init(search);
}

/* ---- searches ---- */

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
	ecp_topk_reset(&search->rows.candidates, ECP_SEARCH_BATCH);
	ecp_topk_reset(&search->rows.hold.rows, ECP_SEARCH_BATCH);
	memset(&search->stats, 0, sizeof(EcpSearchStats));
	budget_start(search, isnull);
	search->stats.index = RelationGetRelid(search->probe.index);
	search->stats.wanted = search->request.limit;
	search->probe.snapshot = snapshot;
	search->probe.clusters = search->probe.skipped = search->probe.pages = 0;
	search->query.exact = NULL;
	search->query.codes = NULL;
	search->query.nibbles = NULL;
	ecp_probe_init(&search->probe);
	if (search->probe.prefetch == 0)
		search->request.heap = NULL;
	search->iterative = ecp_iterative_scan;
	/* a NULL query promises all rows, whatever the settings */
	search->max_scan_tuples = isnull ? -1 : ecp_max_scan_tuples;
	search->rows.returned.last.rank = -get_float8_infinity();
	search->rows.returned.last.item = 0;
	search->rows.returned.floor = search->rows.returned.last;
	search->rows.found = search->rows.taken = search->rows.passed = search->rows.hold.returned = 0;
	search->rows.hold.active = search->rows.hold.has_next = false;
	search->rows.ahead.next = search->rows.ahead.n = 0;
	search->rows.hold.farthest = -get_float8_infinity();
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
	search_begin(search, query, isnull);
	MemoryContextSwitchTo(old);
}

/* Make the figures so far those that ecp_last_scan() shows. */
void
ecp_search_note(EcpSearch *search)
{
	search->stats.clusters = search->probe.clusters;
	search->stats.skipped = search->probe.skipped;
	search->stats.pages = search->probe.pages;
	search->stats.reranked = EcpSearchHasBounds(search) ? search->rows.rerank.reranked : 0;
	ecp_search_last = search->stats;
	/* whatever was read, all rows are as far away */
	if (search->is_null)
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
	ecp_topk_unbound(&search->rows.candidates);
	search->rows.deferred.active = false;
	search->rows.deferred.nrows = 0;
	search->rows.pages.npages = 0;
	search->rows.pages.nrows = 0;
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

void
ecp_search_note_returned(EcpSearch *search)
{
	/* others may have run since */
	if (search_noted != search)
		ecp_search_note(search);
	ecp_search_last.returned = search->stats.returned;
}
