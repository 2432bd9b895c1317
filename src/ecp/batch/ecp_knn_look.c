/*-------------------------------------------------------------------------
 *
 * ecp_knn_look.c
 *	  Many queries at once: where a query's scan would have stopped.
 *
 * A scan with a target of recall looks at what it has after some numbers of
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
#include "ecp/search/ecp_estimate.h"
#include "ecp/search/ecp_target.h"
#include "utils/memutils.h"

/* What a process looks with. */
struct EcpKnnLook
{
	MemoryContext context;
	EcpKnn	   *knn;
	void	   *prepared;		/* the query in the form of leaders */
	int			nclusters;		/* of the query, known */
	bool		all;			/* there are no others */
	EcpEstimate estimate;
	EcpNearest	nearest;
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
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp batch look",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	EcpKnnLook *look = palloc0(sizeof(EcpKnnLook));

	Assert(plan->scan.adaptive);
	look->context = context;
	look->knn = knn;
	look->prepared = palloc(plan->state.node.vec_bytes);
	look->nearest.k = plan->scan.k;
	look->nearest.rows = palloc(mul_size(plan->scan.k, sizeof(EcpNearestRow)));
	MemoryContextSwitchTo(old);
	return look;
}

void
ecp_knn_look_free(EcpKnnLook *look)
{
	MemoryContextDelete(look->context);
}

/*
 * The end of a query's first n clusters and the buffers that follow them; behind
 * all refs if it has no refs of some of these.
 */
int
ecp_knn_look_end(const EcpKnn *knn, int q, int n)
{
	const EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);

	Assert(n > 0);
	for (int r = 0; r < query->nrefs; r++)
	{
		if (!EcpKnnRefIsBuffer(&refs[r]) && n-- == 0)
			return r;
	}
	return query->nrefs + ((query->flags & ECP_KNN_ALL_READ) == 0);
}

/* Set what is known of a query's clusters, as its descent found it. */
static void
look_set_query(EcpKnnLook *look, int q)
{
	EcpKnn	   *knn = look->knn;
	const EcpKnnQuery *query = &knn->queries[q];

	(void) ecp_knn_prepare(knn, q, look->prepared);
	ecp_estimate_begin(&look->estimate, &knn->plan->state.meta, look->context,
					   look->prepared);
	look->estimate.clusters = ecp_knn_known(knn, q);
	look->nclusters = query->known;
	look->all = (query->flags & ECP_KNN_ALL_READ) != 0;
}

/* Is what an estimate after n clusters takes known? */
static bool
look_can_be(const EcpKnnLook *look, int n)
{
	return look->all ||
		EcpEstimateKnown(n, look->knn->plan->scan.probes) <= look->nclusters;
}

/* Have the estimate know what it does when a scan looks after n clusters. */
static void
look_set(EcpKnnLook *look, int n)
{
	Assert(look_can_be(look, n));
	look->estimate.n = Min(EcpEstimateKnown(n, look->knn->plan->scan.probes),
						   look->nclusters);
}

/* Does a scan stop after n clusters, with the nearest rows as they are now? */
static bool
look_at(EcpKnnLook *look, int n)
{
	double		recall;

	look_set(look, n);
	return ecp_target_reached(&look->knn->plan->scan, &look->estimate, n,
							  &look->nearest, &recall);
}

/*
 * Can we tell whether a scan stops after n clusters?  Rows that were not kept
 * are at the query's bound or beyond: so the k-th row is known, or we know that it
 * is too far away.
 */
static bool
look_is_known(EcpKnnLook *look, const EcpKnnQuery *query, int n)
{
	if (!look_can_be(look, n))
		return false;
	if (look->nearest.kth < query->bound || isinf(query->bound))
		return true;
	look_set(look, n);
	return !ecp_target_may_be_reached(&look->knn->plan->scan, &look->estimate,
									  n, query->bound);
}

/*
 * After a wave, replay the scan of a query over the refs that were read, and look
 * where this is new.  Returns the ref from which on the scan reads nothing;
 * ECP_KNN_LOOK_AGAIN if it goes on behind the wave, and then *kth is the rank of its
 * k-th row; or ECP_KNN_LOOK_LOST if that cannot be told.
 */
int
ecp_knn_look_replay(EcpKnnLook *look, int q, float8 *kth)
{
	EcpKnn	   *knn = look->knn;
	const EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	EcpRanked  *heap = ecp_knn_heap(knn, q);
	EcpNearest *nearest = &look->nearest;
	int			at = knn->plan->scan.least;
	int			n = 0;
	int			i = 0;

	look_set_query(look, q);
	ecp_nearest_reset(nearest);
	refs_sort(heap, query->nheap);
	for (int r = 0; r < query->nrefs || !look->all; r++)
	{
		if (r == query->nrefs || !EcpKnnRefIsBuffer(&refs[r]))
		{
			if (n == at)
			{
				at = EcpLookNext(n);
				if (r > query->first)
				{
					if (!look_is_known(look, query, n))
						return ECP_KNN_LOOK_LOST;
					if (look_at(look, n))
						return r;
				}
			}
			if (r == query->end)
			{
				*kth = nearest->kth;
				return ECP_KNN_LOOK_AGAIN;
			}
			nearest->cluster = n++;
		}
		for (; i < query->nheap && EcpKnnItemRef(heap[i].item) == r; i++)
		{
			if (!EcpRankedIsNaN(&heap[i]))
				ecp_nearest_add(nearest, heap[i].rank);
		}
	}
	return query->nrefs;
}

/*
 * Behind a wave after which a query was replayed, where its scan will stop if it
 * meets no nearer rows: the end of the refs to read next.  That of this wave if
 * nothing is known of what comes next.
 */
int
ecp_knn_look_ahead(EcpKnnLook *look, int q)
{
	EcpKnn	   *knn = look->knn;
	int			read = look->nearest.cluster + 1;
	int			end = read;

	for (int n = knn->plan->scan.least;; n = EcpLookNext(n))
	{
		if (n <= read)
			continue;
		if (n >= look->nclusters && look->all)
			return knn->queries[q].nrefs;
		if (!look_can_be(look, n))
			break;
		end = n;
		if (look_at(look, n))
			break;
	}
	return ecp_knn_look_end(knn, q, end);
}
