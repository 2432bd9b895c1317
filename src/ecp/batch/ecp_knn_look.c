/*-------------------------------------------------------------------------
 *
 * ecp_knn_look.c
 *	  Many queries at once: where a query's scan would have stopped.
 *
 * A scan with a recall target looks at what it has after some numbers of
 * clusters (EcpLookNext()).  The same looks are made here after a wave, with the
 * rows that the first clusters of the query's order had.  Of these only the best
 * were kept; the heap's bound tells whether those are all that a look needs.
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
#define LOOK_AHEAD_MOST		4

/* What a process looks with. */
struct EcpKnnLook
{
	EcpKnn	   *knn;
	void	   *prepared;		/* the query in the form of leaders */
	EcpPlace	place;			/* of the query */
	EcpQueryMix mix;
	EcpScanPlan scan;			/* its slacks follow the rows that pass */
	double		slack;
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

EcpKnnLook *
ecp_knn_look_create(EcpKnn *knn)
{
	const EcpKnnPlan *plan = knn->plan;
	MemoryContext old = MemoryContextSwitchTo(knn->context);
	EcpKnnLook *look = palloc0(sizeof(EcpKnnLook));

	Assert(plan->scan.adaptive);
	look->knn = knn;
	look->prepared = palloc(plan->state.node.vec_bytes);
	look->scan = plan->scan;
	look->nearest.k = plan->scan.k;
	look->nearest.rows = palloc(mul_size(plan->scan.k, sizeof(EcpNearestRow)));
	MemoryContextSwitchTo(old);
	return look;
}

/* The end of a query's first n clusters and the buffers that follow them. */
int
ecp_knn_look_end(const EcpKnn *knn, int q, int n)
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

/* Set where a query is, by the k-th row, too, and by which slack its scan stops. */
static void
look_set_mix(EcpKnnLook *look, float8 kth)
{
	const EcpMetaPageData *meta = &look->knn->plan->state.meta;

	ecp_place_set_kth(&look->place, meta, kth);
	ecp_place_mix(&look->place, &meta->ecpm_curve, look->scan.rows, &look->mix);
	look->slack = ecp_mix_slack(&look->mix, look->knn->plan->scan.slack);
}

/* Begin with a query: where it is. */
static void
look_set_query(EcpKnnLook *look, int q)
{
	EcpKnn	   *knn = look->knn;
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
	(void) ecp_knn_prepare(knn, q, look->prepared);
	ecp_place_set_ranks(&look->place, meta, look->prepared, refs[0].rank, around);
	look_set_mix(look, query->kth);
}

/* Add the rows of a cluster or buffer to those by which the slack is set. */
static void
look_count(EcpKnnLook *look, const EcpKnnRef *ref, uint64 *passed, uint64 *live)
{
	const EcpKnnCluster *cluster = &look->knn->clusters[EcpKnnRefCluster(ref)];

	*passed += cluster->npassed;
	*live += cluster->nlive;
}

/* With a filter, the slack that a scan has which has seen these rows. */
static void
look_set_slack(EcpKnnLook *look, uint64 passed, uint64 live)
{
	if (!look->knn->plan->filtered)
		return;
	ecp_target_plan_among(&look->knn->plan->state.meta,
						  (double) Max(live, 1) / Max(passed, 1), &look->scan);
	look->slack = ecp_mix_slack(&look->mix, look->scan.slack);
}

/* Does a scan stop after n clusters, where the k-th row has this rank? */
static bool
look_stops(const EcpKnnLook *look, int n, const EcpKnnRef *next, float8 kth)
{
	const EcpMetaPageData *meta = &look->knn->plan->state.meta;

	return ecp_stop_gap(&look->place, meta, next->rank, kth) +
		ecp_stop_advance(meta, n) >= look->slack;
}

/*
 * After a wave, replay the scan of a query over the refs that were read, and look
 * where this is new.  Returns the ref from which on the scan reads nothing;
 * ECP_KNN_LOOK_AGAIN if it goes on behind the wave, and then *kth is the rank of its
 * k-th row; or ECP_KNN_LOOK_LOST if that cannot be told: rows that were not
 * kept are at the query's bound or beyond, so the k-th row is known, or that it
 * is not nearer than that.
 */
int
ecp_knn_look_replay(EcpKnnLook *look, int q, float8 *kth)
{
	EcpKnn	   *knn = look->knn;
	EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	EcpRanked  *heap = ecp_knn_heap(knn, q);
	EcpNearest *nearest = &look->nearest;
	int			at = knn->plan->scan.least;
	int			n = 0;
	int			i = 0;
	uint64		passed = 0;
	uint64		live = 0;

	look_set_query(look, q);
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
				look_set_mix(look, query->kth);
			}
			if (n == at || r == query->end)
				look_set_slack(look, passed, live);
			if (n == at)
			{
				at = EcpLookNext(n);
				if (r > query->first &&
					look_stops(look, n, &refs[r], Min(nearest->kth, query->bound)))
					return nearest->kth < query->bound || isinf(query->bound) ?
						r : ECP_KNN_LOOK_LOST;
			}
			if (r == query->end)
			{
				look->nread = n;
				*kth = nearest->kth;
				return ECP_KNN_LOOK_AGAIN;
			}
			n++;
		}
		look_count(look, &refs[r], &passed, &live);
		for (; i < query->nheap && EcpKnnItemRef(heap[i].item) == r; i++)
		{
			if (!EcpRankedIsNaN(&heap[i]))
				ecp_nearest_add(nearest, heap[i].rank);
		}
	}
	/* without the next leader we cannot look */
	return (query->flags & ECP_KNN_ALL_READ) != 0 ? query->nrefs :
		ECP_KNN_LOOK_LOST;
}

/*
 * Behind a wave after which a query was replayed, where its scan will stop if it
 * meets no nearer rows: the end of the refs to read next.  Beyond all refs if
 * those that are known do not tell.
 */
int
ecp_knn_look_ahead(EcpKnnLook *look, int q)
{
	EcpKnn	   *knn = look->knn;
	const EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	int			at = knn->plan->scan.least;
	int			n = look->nread;
	int			r = query->end;

	/* the filter passed too few: at that rate, so many clusters have enough */
	if (knn->plan->filtered && isinf(look->nearest.kth))
		return ecp_knn_look_end(knn, q, n * Min(1 + look->nearest.k /
												Max(look->nearest.n, 1),
												LOOK_AHEAD_MOST));
	while (at <= n)
		at = EcpLookNext(at);
	for (; r < query->nrefs; r++)
	{
		if (EcpKnnRefIsBuffer(&refs[r]))
			continue;
		if (n == at)
		{
			if (look_stops(look, n, &refs[r], look->nearest.kth))
				break;
			at = EcpLookNext(n);
		}
		n++;
	}
	return r < query->nrefs || (query->flags & ECP_KNN_ALL_READ) != 0 ? r :
		PG_INT32_MAX;
}
