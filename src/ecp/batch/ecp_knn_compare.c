/*-------------------------------------------------------------------------
 *
 * ecp_knn_compare.c
 *	  Many queries at once: blocks of rows compared with queries, and the
 *	  best of them kept.
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

/* Queries ahead to fetch into the processor's cache. */
#define COMPARE_AHEAD		ECP_PASS_QUERIES

static inline bool
ranked_is_less(const EcpRanked *a, const EcpRanked *b)
{
	return a->rank < b->rank ||
		(a->rank == b->rank &&
		 (a->item & ECP_KNN_TID_MASK) < (b->item & ECP_KNN_TID_MASK));
}

#define ST_SORT candidates_sort
#define ST_ELEMENT_TYPE EcpRanked
#define ST_COMPARE(a, b) \
	(ranked_is_less(a, b) ? -1 : ranked_is_less(b, a))
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
void
ecp_knn_compare_push(EcpKnnQuery *query, EcpRanked *heap, int room, float8 rank,
					 uint64 item)
{
	EcpRanked	ranked;
	int			i;

	ecp_ranked_set(&ranked, rank, item);
	SpinLockAcquire(&query->mutex);
	Assert(query->nheap <= room);
	if (query->nheap < room)
	{
		i = query->nheap++;
		while (i > 0 && ranked_is_less(&heap[(i - 1) / 2], &ranked))
		{
			heap[i] = heap[(i - 1) / 2];
			i = (i - 1) / 2;
		}
		heap[i] = ranked;
	}
	else if (ranked_is_less(&ranked, &heap[0]))
	{
		i = 0;
		for (;;)
		{
			int			child = 2 * i + 1;

			if (child >= room)
				break;
			if (child + 1 < room &&
				ranked_is_less(&heap[child], &heap[child + 1]))
				child++;
			if (!ranked_is_less(&ranked, &heap[child]))
				break;
			heap[i] = heap[child];
			i = child;
		}
		heap[i] = ranked;
	}
	if (query->nheap == room)
		query->bound = heap[0].rank;
	SpinLockRelease(&query->mutex);
}

/*
 * Offer some of the rows from "first" on of a block, which are the bits of
 * "word" and have these ranks, to a query.
 */
static inline void
knn_offer(EcpKnn *knn, const EcpKnnPair *pair, const EcpKnnBlock *block,
		  int first, uint64 word, const float8 *ranks)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnQuery *query = &knn->queries[pair->query];
	EcpRanked  *heap = ecp_knn_heap(knn, pair->query);
	uint64		ref = plan->scan.adaptive ? EcpKnnRefItem(pair->ref) : 0;

	for (; word != 0; word &= word - 1)
	{
		int			i = pg_rightmost_one_pos64(word);
		uint64		item = ecp_tid_item(&block->tids[first + i]);

		ecp_knn_compare_push(query, heap, plan->room, ranks[i], item | ref);
	}
}

/* The query in the form that the kernels take. */
static const EcpQuery *
knn_query(EcpKnn *knn, uint32 q)
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

/* What ecp_queries_pass_rows() does, for rows in PARTS. */
static void
knn_pass_parts(const EcpKnnBlock *block, int first, int count,
			   const EcpQuery *const *prepared, int n, const float8 *limits,
			   uint64 *passed, float8 *ranks)
{
	uint64		live = block->live[first / 64] & EcpLowBits(count);

	for (int i = 0; i < n; i++)
		passed[i] = ecp_query_pass_parts(prepared[i],
										 (const uint8 *) block->rows + first * block->stride,
										 (const uint8 *) block->lower + first * block->lower_stride,
										 block->factors[0] + first, live, limits[i],
										 ranks + i * ECP_PASS_ROWS);
}

/* Compare a few queries with a block, and keep what is near. */
static void
knn_compare_block(EcpKnn *knn, const EcpKnnBlock *block,
				  const EcpKnnPair *const *pairs,
				  const EcpQuery *const *prepared, int n)
{
	Assert(n > 0 && n <= ECP_PASS_QUERIES);
	for (int first = 0; first < block->n; first += ECP_PASS_ROWS)
	{
		int			count = Min(block->n - first, ECP_PASS_ROWS);
		const uint32 *factors[ECP_FACTORS_MAX] = {NULL};
		float8		limits[ECP_PASS_QUERIES];
		uint64		passed[ECP_PASS_QUERIES];
		float8		ranks[ECP_PASS_QUERIES * ECP_PASS_ROWS];

		for (int f = 0; f < ECP_FACTORS_MAX; f++)
		{
			if (block->factors[f] != NULL)
				factors[f] = block->factors[f] + first;
		}
		for (int i = 0; i < n; i++)
			limits[i] = *(volatile float8 *) &knn->queries[pairs[i]->query].bound;
		if (block->lower != NULL)
			knn_pass_parts(block, first, count, prepared, n, limits, passed,
						   ranks);
		else if (block->columns)
			ecp_queries_pass_columns(prepared, n, limits,
									 (const uint8 *) block->rows +
									 first * ECP_GROUP,
									 block->nslots, factors, count, passed,
									 ranks);
		else
			ecp_queries_pass_rows(prepared, n, limits,
								  block->rows + first * block->stride,
								  block->stride, factors, count, passed,
								  ranks);
		for (int i = 0; i < n; i++)
		{
			if (block->live != NULL)
				passed[i] &= block->live[first / 64];
			knn_offer(knn, pairs[i], block, first, passed[i],
					  ranks + i * ECP_PASS_ROWS);
		}
	}
}

/*
 * Compare these queries with these blocks, and keep what is near.
 */
void
ecp_knn_compare(EcpKnn *knn, const EcpKnnBlock *blocks, int nblocks,
				const EcpKnnPair *pairs, int npairs)
{
	const EcpKnnPair *tile[ECP_PASS_QUERIES];
	const EcpQuery *prepared[ECP_PASS_QUERIES];
	int			n = 0;

	Assert(nblocks > 0 && npairs >= 0);
	for (int i = 0; i < npairs; i++)
	{
		if (i + COMPARE_AHEAD < npairs)
		{
			uint32		ahead = pairs[i + COMPARE_AHEAD].query;

			__builtin_prefetch(&knn->queries[ahead], 1);
			if (knn->prepared.queries[ahead] != NULL)
				__builtin_prefetch(knn->prepared.queries[ahead]);
		}
		if ((knn->queries[pairs[i].query].flags & ECP_KNN_NULL) == 0)
		{
			tile[n] = &pairs[i];
			prepared[n++] = knn_query(knn, pairs[i].query);
		}
		if (n < ECP_PASS_QUERIES && i < npairs - 1)
			continue;
		CHECK_FOR_INTERRUPTS();
		for (int b = 0; n > 0 && b < nblocks; b++)
			knn_compare_block(knn, &blocks[b], tile, prepared, n);
		n = 0;
	}
}
