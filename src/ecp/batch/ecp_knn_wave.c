/*-------------------------------------------------------------------------
 *
 * ecp_knn_wave.c
 *	  Many queries at once: which clusters are read when, and for whom.
 *
 * Descents say which clusters each query may want, nearest first (its refs).
 * A scan with a recall target reads them in this order, and looks now and then
 * whether it has enough (ecp_stop.c).  A batch reads them in the order of
 * blocks, in waves:
 *
 *	 first wave		as far as a part of what scans read on average
 *	 other waves	from there on, as far as the query's scan would read if no
 *					nearer rows turned up (ecp_knn_look.c)
 *
 * The rows that may be among the nearest are kept together with the ref that they
 * came by.  After a wave the scan is replayed with them: so we know where it
 * would have stopped, and forget what came later.  The answers are the scan's, but
 * a batch reads some clusters in vain, and some in several waves.  A query whose
 * scan reads much more than others, or for which too few rows were kept, is cut
 * off and left to a scan.
 *
 * With a fixed number of clusters the first wave has all of them, and is the last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/topk.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "vector/vector_value.h"

#define ST_SORT order_sort
#define ST_ELEMENT_TYPE EcpKnnOrder
#define ST_COMPARE(a, b) \
	((a)->blk < (b)->blk ? -1 : (a)->blk > (b)->blk)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* ---- clusters ---- */

/* A query wants its refs up to "end" in the next wave. */
static void
wave_want(EcpKnn *knn, int q, int end)
{
	EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);

	Assert(end >= query->end && end <= query->nrefs);
	query->first = query->end;
	query->end = end;
	for (int r = query->first; r < end; r++)
		pg_atomic_fetch_add_u32(&knn->clusters[EcpKnnRefCluster(&refs[r])].wanted,
								1);
}

/* A query is left to a scan. */
static void
wave_cut_off(EcpKnnQuery *query)
{
	query->flags |= ECP_KNN_CUT_OFF;
	query->first = query->end;
	query->nheap = 0;
}

/* What a query whose refs are known wants first. */
void
ecp_knn_wave_first(EcpKnn *knn, int q)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnQuery *query = &knn->queries[q];
	int			end = query->nrefs;

	Assert(q >= 0 && q < knn->shared->nqueries);
	query->first = query->end = 0;
	query->kth = get_float8_infinity();
	if (plan->scan.adaptive)
		end = ecp_knn_look_end(knn, q, plan->scan.known);
	if (end > plan->max_read || (query->flags & ECP_KNN_CUT_OFF) != 0)
		wave_cut_off(query);
	else
		wave_want(knn, q, end);
}

/*
 * Put the clusters that queries may want, of this and earlier batches, into
 * the order of blocks.
 */
void
ecp_knn_wave_order(EcpKnn *knn)
{
	EcpKnnShared *shared = knn->shared;

	Assert(!knn->plan->exact);
	shared->nclusters = 0;
	shared->wave = -1;
	for (uint32 c = 0; c < knn->plan->nslots; c++)
	{
		BlockNumber blk = pg_atomic_read_u32(&knn->clusters[c].blk);

		if (blk == 0)
			continue;
		if (shared->nclusters == knn->plan->max_clusters)
			ecp_report_corrupt(knn->index, ECP_META_BLKNO,
							   "There are more clusters than the metapage says.");
		knn->order[shared->nclusters].blk = blk;
		knn->order[shared->nclusters++].cluster = c;
	}
	order_sort(knn->order, shared->nclusters);
}

/*
 * Make room in pairs for what is wanted in the next wave.  Returns false if
 * nothing is.
 */
bool
ecp_knn_wave_next(EcpKnn *knn)
{
	EcpKnnShared *shared = knn->shared;
	uint32		npairs = 0;

	Assert(!knn->plan->exact);
	shared->nactive = 0;
	shared->wave++;
	for (int i = 0; i < shared->nclusters; i++)
	{
		EcpKnnCluster *cluster = &knn->clusters[knn->order[i].cluster];
		uint32		wanted = pg_atomic_read_u32(&cluster->wanted);

		if (wanted == 0)
			continue;
		pg_atomic_write_u32(&cluster->wanted, 0);
		pg_atomic_write_u32(&cluster->placed, 0);
		cluster->first = npairs;
		npairs += wanted;
		knn->active[shared->nactive++] = knn->order[i].cluster;
	}
	return npairs > 0;
}

/* Add queries first .. end - 1 to the pairs of the clusters that they want. */
void
ecp_knn_wave_place(EcpKnn *knn, int first, int end)
{
	Assert(first >= 0 && end <= knn->shared->nqueries);
	for (int q = first; q < end; q++)
	{
		const EcpKnnQuery *query = &knn->queries[q];
		const EcpKnnRef *refs = ecp_knn_refs(knn, q);

		for (int r = query->first; r < query->end; r++)
		{
			EcpKnnCluster *cluster = &knn->clusters[EcpKnnRefCluster(&refs[r])];
			EcpKnnPair *pair = knn->pairs + cluster->first +
				pg_atomic_fetch_add_u32(&cluster->placed, 1);

			pair->query = q;
			pair->ref = r;
		}
	}
}

/* ---- decisions ---- */

/* A query has read refs 0 .. end - 1 and no more. */
static void
wave_finish(EcpKnn *knn, int q, int end)
{
	EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);

	Assert(end >= 0 && end <= query->nrefs);
	if (end < query->nrefs)
		query->flags &= ~ECP_KNN_ALL_READ;
	for (int r = 0; r < end; r++)
	{
		const EcpKnnCluster *cluster = &knn->clusters[EcpKnnRefCluster(&refs[r])];

		query->vectors += cluster->npassed;
		query->filtered += cluster->nlive - cluster->npassed;
	}
	query->first = query->end = end;
}

/* Forget the candidates that did not come by refs 0 .. end - 1, and those refs. */
static void
wave_forget(EcpKnn *knn, int q, int end)
{
	EcpKnnQuery *query = &knn->queries[q];
	EcpRanked  *heap = ecp_knn_heap(knn, q);
	int			n = 0;

	for (int i = 0; i < query->nheap; i++)
	{
		if (EcpKnnItemRef(heap[i].item) >= end)
			continue;
		heap[n] = heap[i];
		heap[n++].item &= ECP_KNN_TID_MASK;
	}
	ecp_knn_compare_sort(heap, n);
	query->nheap = Min(n, knn->plan->k);
}

/* Decide after a wave what the query wants in the next one. */
static void
wave_decide(EcpKnn *knn, EcpKnnLook *look, int q)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnQuery *query = &knn->queries[q];
	float8		kth = 0.0;		/* used, and then set, if the scan goes on */
	int			end = ecp_knn_look_replay(look, q, &kth);

	if (end >= 0)
	{
		wave_forget(knn, q, end);
		wave_finish(knn, q, end);
		return;
	}
	if (end == ECP_KNN_LOOK_AGAIN && query->first == 0 &&
		plan->first > plan->scan.known)
		end = ecp_knn_look_end(knn, q, plan->first);
	else if (end == ECP_KNN_LOOK_AGAIN)
		end = ecp_knn_look_ahead(look, q);
	if (end <= query->end || end > plan->max_read)
		wave_cut_off(query);
	else
	{
		ecp_knn_compare_keep(query, ecp_knn_heap(knn, q), plan->k, kth);
		wave_want(knn, q, end);
	}
}

/* Decide for queries first .. end - 1. */
void
ecp_knn_wave_decide(EcpKnn *knn, int first, int end)
{
	EcpKnnLook *look = knn->plan->scan.adaptive ? ecp_knn_look_create(knn) : NULL;

	Assert(first >= 0 && end <= knn->shared->nqueries);
	for (int q = first; q < end; q++)
	{
		const EcpKnnQuery *query = &knn->queries[q];

		CHECK_FOR_INTERRUPTS();
		if (query->first == query->end)
			continue;
		if (look != NULL)
			wave_decide(knn, look, q);
		else
			wave_finish(knn, q, query->end);
	}
	if (look != NULL)
		ecp_knn_look_free(look);
}
