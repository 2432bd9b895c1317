/*-------------------------------------------------------------------------
 *
 * ecp_knn_stop.c
 *	  Many queries at once: where a query's scan would have stopped.
 *
 * A scan with a recall target checks after some numbers of clusters whether it has
 * enough (EcpCheckNext()).  The same checks are made here after a wave, with the
 * rows that the first clusters of the query's order had.  Of these only the best
 * were kept; the heap's bound tells whether those are all that a check needs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/topk.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_stop.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

/* Where too few rows passed, how many times as many clusters are read next. */
#define STOP_AHEAD_MOST		4

/* What a process checks with. */
struct EcpKnnStop
{
	EcpKnn	   *knn;
	void	   *prepared;		/* the query in the form of leaders */
	EcpPlace	place;			/* of the query */
	EcpQueryMix mix;
	EcpScanPlan scan;			/* its margins follow the rows that pass */
	double		margin;
	EcpNearest	nearest;
	int			nread;			/* clusters that were replayed */
};

/* Candidates in the order of the refs that they came by. */
#define ST_SORT refs_sort
#define ST_ELEMENT_TYPE EcpRanked
#define ST_COMPARE(a, b) \
	(EcpKnnItemRef((a)->item) - EcpKnnItemRef((b)->item))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

EcpKnnStop *
ecp_knn_stop_create(EcpKnn *knn)
{
	const EcpKnnPlan *plan = knn->plan;
	MemoryContext old = MemoryContextSwitchTo(knn->context);
	EcpKnnStop *stop = palloc0(sizeof(EcpKnnStop));

	Assert(plan->scan.adaptive);
	stop->knn = knn;
	stop->prepared = palloc(plan->state.node.vec_bytes);
	stop->scan = plan->scan;
	stop->nearest.k = plan->scan.k;
	stop->nearest.rows = palloc(mul_size(plan->scan.k, sizeof(EcpRanked)));
	MemoryContextSwitchTo(old);
	return stop;
}

/* The end of a query's first n clusters and the buffers that follow them. */
int
ecp_knn_stop_end(const EcpKnn *knn, int q, int n)
{
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	int			r = 0;

	Assert(n > 0);
	for (; r < knn->queries[q].nrefs; r++)
	{
		if (!EcpKnnRefIsBuffer(&refs[r]) && n-- == 0)
			break;
	}
	return r;
}

/* Set where a query is, by the k-th row, too, and by which margin its scan stops. */
static void
stop_set_mix(EcpKnnStop *stop, float8 kth)
{
	const EcpMetaPageData *meta = &stop->knn->plan->state.meta;

	ecp_place_set_kth(&stop->place, meta, kth);
	ecp_place_mix(&stop->place, &meta->ecpm_curve, stop->scan.rows, &stop->mix);
	stop->margin = ecp_mix_margin(&stop->mix, stop->knn->plan->scan.margin);
}

/* Begin with a query: where it is. */
static void
stop_set_query(EcpKnnStop *stop, int q)
{
	EcpKnn	   *knn = stop->knn;
	const EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	const EcpMetaPageData *meta = &knn->plan->state.meta;
	float4		around = refs[0].rank;
	int			n = 0;

	for (int r = 0; r < query->nrefs && n < ECP_PLACE_LEADERS; r++)
	{
		if (EcpKnnRefIsBuffer(&refs[r]))
			continue;
		around = refs[r].rank;
		n++;
	}
	(void) ecp_knn_prepare(knn, q, stop->prepared);
	ecp_place_set_ranks(&stop->place, meta, stop->prepared, refs[0].rank, around);
	stop_set_mix(stop, query->kth);
}

/* Add the rows of a cluster or buffer to those by which the margin is set. */
static void
stop_count(EcpKnnStop *stop, const EcpKnnRef *ref, uint64 *passed, uint64 *live)
{
	const EcpKnnCluster *cluster = &stop->knn->clusters[EcpKnnRefCluster(ref)];

	*passed += cluster->npassed;
	*live += cluster->nlive;
}

/* With a filter, the margin that a scan has which has seen these rows. */
static void
stop_set_margin(EcpKnnStop *stop, uint64 passed, uint64 live)
{
	if (!stop->knn->plan->filtered)
		return;
	ecp_target_plan_among(&stop->knn->plan->state.meta,
						  (double) Max(live, 1) / Max(passed, 1), &stop->scan);
	stop->margin = ecp_mix_margin(&stop->mix, stop->scan.margin);
}

/* Does a scan stop after n clusters, where the k-th row has this rank? */
static bool
stop_here(const EcpKnnStop *stop, int n, const EcpKnnRef *next, float8 kth)
{
	const EcpMetaPageData *meta = &stop->knn->plan->state.meta;

	return ecp_stop_gap(&stop->place, meta, next->rank, kth) +
		ecp_stop_advance(meta, n) >= stop->margin;
}

/*
 * After a wave, replay the scan of a query over the refs that were read, and check
 * where this is new.  Returns the ref from which on the scan reads nothing;
 * ECP_KNN_STOP_LATER if it goes on behind the wave, and then *kth is the rank of its
 * k-th row; or ECP_KNN_STOP_UNKNOWN if that cannot be told: rows that were not
 * kept are at the query's bound or beyond, so the k-th row is known, or that it
 * is not nearer than that.
 */
int
ecp_knn_stop_replay(EcpKnnStop *stop, int q, float8 *kth)
{
	EcpKnn	   *knn = stop->knn;
	EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	EcpRanked  *heap = ecp_knn_heap(knn, q);
	EcpNearest *nearest = &stop->nearest;
	int			at = knn->plan->scan.least;
	int			n = 0;
	int			i = 0;
	uint64		passed = 0;
	uint64		live = 0;

	stop_set_query(stop, q);
	ecp_nearest_reset(nearest);
	refs_sort(heap, query->nheap);
	for (int r = 0; r < query->nrefs; r++)
	{
		if (!EcpKnnRefIsBuffer(&refs[r]))
		{
			/* the first wave ends there, and all of its k nearest were kept */
			if (n == knn->plan->scan.known && r > query->first &&
				!knn->plan->filtered)
			{
				query->kth = nearest->kth;
				stop_set_mix(stop, query->kth);
			}
			if (n == at || r == query->end)
				stop_set_margin(stop, passed, live);
			if (n == at)
			{
				at = EcpCheckNext(n);
				if (r > query->first &&
					stop_here(stop, n, &refs[r], Min(nearest->kth, query->bound)))
					return nearest->kth < query->bound || isinf(query->bound) ?
						r : ECP_KNN_STOP_UNKNOWN;
			}
			if (r == query->end)
			{
				stop->nread = n;
				*kth = nearest->kth;
				return ECP_KNN_STOP_LATER;
			}
			n++;
		}
		stop_count(stop, &refs[r], &passed, &live);
		for (; i < query->nheap && EcpKnnItemRef(heap[i].item) == r; i++)
		{
			if (!EcpRankedIsNaN(&heap[i]))
				ecp_nearest_add(nearest, heap[i].rank);
		}
	}
	/* without the next leader we cannot check */
	return (query->flags & ECP_KNN_ALL_READ) != 0 ? query->nrefs :
		ECP_KNN_STOP_UNKNOWN;
}

/*
 * Behind a wave after which a query was replayed, where its scan will stop if it
 * meets no nearer rows: the end of the refs to read next.  Beyond all refs if
 * those that are known do not tell.
 */
int
ecp_knn_stop_ahead(EcpKnnStop *stop, int q)
{
	EcpKnn	   *knn = stop->knn;
	const EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	int			at = knn->plan->scan.least;
	int			n = stop->nread;
	int			r = query->end;

	/* the filter passed too few: at that rate, so many clusters have enough */
	if (knn->plan->filtered && isinf(stop->nearest.kth))
		return ecp_knn_stop_end(knn, q, n * Min(1 + stop->nearest.k /
												Max(stop->nearest.n, 1),
												STOP_AHEAD_MOST));
	while (at <= n)
		at = EcpCheckNext(at);
	for (; r < query->nrefs; r++)
	{
		if (EcpKnnRefIsBuffer(&refs[r]))
			continue;
		if (n == at)
		{
			if (stop_here(stop, n, &refs[r], stop->nearest.kth))
				break;
			at = EcpCheckNext(n);
		}
		n++;
	}
	return r < query->nrefs || (query->flags & ECP_KNN_ALL_READ) != 0 ? r :
		PG_INT32_MAX;
}
