/*-------------------------------------------------------------------------
 *
 * ecp_knn_compare.c
 *	  Many queries at once: the best rows of each query are kept.
 *
 * Every query has a heap of the best candidates, as many as there is "room"
 * for, whose worst rank is the query's bound: a row above it is skipped.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "base/topk.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

#define ST_SORT candidates_sort
#define ST_ELEMENT_TYPE EcpRanked
#define ST_COMPARE(a, b) \
	(ecp_ranked_is_less(a, b, ECP_KNN_TID_MASK) ? -1 : \
	 ecp_ranked_is_less(b, a, ECP_KNN_TID_MASK))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Put candidates in order, the nearest first. */
void
ecp_knn_compare_sort(EcpRanked *candidates, int n)
{
	candidates_sort(candidates, n);
}

/*
 * Before a query's next wave, keep its best candidates only, and all that are
 * not beyond the rank "kth": these decide where it stops.
 */
void
ecp_knn_compare_keep(EcpKnnQuery *query, EcpRanked *heap, int keep, float8 kth)
{
	int			n = Min(query->nheap, keep);

	Assert(keep > 0);
	candidates_sort(heap, query->nheap);
	while (n < query->nheap && heap[n].rank <= kth)
		n++;
	query->nheap = n;
	if (n >= keep)
	{
		/* rows of the rank "kth" are all there: they are below the bound */
		query->bound = heap[n - 1].rank > kth ? heap[n - 1].rank :
			nextafter(kth, get_float8_infinity());
	}
	/* the worst first, as a heap has it */
	for (int i = 0; i < n / 2; i++)
	{
		EcpRanked	ranked = heap[i];

		heap[i] = heap[n - 1 - i];
		heap[n - 1 - i] = ranked;
	}
}

/*
 * Add a candidate to a query's heap, whose root is the worst of the "room"
 * best.
 */
static void
compare_push(EcpKnnQuery *query, EcpRanked *heap, int room, float8 rank, uint64 item)
{
	EcpRanked	ranked;

	ecp_ranked_set(&ranked, rank, item);
	SpinLockAcquire(&query->mutex);
	Assert(query->nheap <= room);
	ecp_ranked_push(heap, &query->nheap, room, &ranked, ECP_KNN_TID_MASK);
	if (query->nheap == room)
		query->bound = heap[0].rank;
	SpinLockRelease(&query->mutex);
}

/*
 * Offer rows to a query: the bits of "word", which have these TIDs and ranks.
 */
void
ecp_knn_compare_offer(EcpKnn *knn, const EcpKnnPair *pair, const ItemPointerData *tids,
					  uint64 word, const float8 *ranks)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnQuery *query = &knn->queries[pair->query];
	EcpRanked  *heap = ecp_knn_heap(knn, pair->query);
	uint64		ref = plan->scan.adaptive ? EcpKnnRefItem(pair->ref) : 0;

	for (; word != 0; word &= word - 1)
	{
		int			i = pg_rightmost_one_pos64(word);

		compare_push(query, heap, plan->room, ranks[i], ecp_tid_item(&tids[i]) | ref);
	}
}

/* The query in the form that the kernels take. */
const EcpQuery *
ecp_knn_compare_query(EcpKnn *knn, uint32 q)
{
	const EcpMetaPageData *meta = &knn->plan->state.meta;

	if (knn->prepared.queries[q] == NULL)
	{
		/* a scan of the table compares its vectors, not what is stored */
		EcpElem		rows = knn->plan->exact ? EcpMetaQueryElem(meta) :
			meta->ecpm_elem;
		MemoryContext old = MemoryContextSwitchTo(knn->prepared.context);

		knn->prepared.queries[q] = ecp_query_create(rows, meta->ecpm_metric,
													meta->ecpm_dims,
													knn->elements +
													q * knn->plan->query_stride);
		MemoryContextSwitchTo(old);
	}
	return knn->prepared.queries[q];
}

/* Bring a query into the form of leaders; false if it has no direction. */
bool
ecp_knn_prepare(const EcpKnn *knn, int q, void *prepared)
{
	const EcpMetaPageData *meta = &knn->plan->state.meta;
	EcpVector	vector;

	vector.elem = EcpMetaQueryElem(meta);
	vector.dims = meta->ecpm_dims;
	vector.data = knn->elements + q * knn->plan->query_stride;
	vector.detoasted = NULL;
	return ecp_prepare(meta, &vector, prepared);
}
