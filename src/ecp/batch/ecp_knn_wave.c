/*-------------------------------------------------------------------------
 *
 * ecp_knn_wave.c
 *	  Many queries at once: which clusters are read when, and for whom.
 *
 * Descents say which clusters each query may want, nearest first (its refs).
 * A scan that may end early reads them in this order and stops before the
 * first whose leader is too far away for the ten nearest rows found so far
 * (ecp_target.c).  A batch reads them in the order of blocks, in waves:
 *
 *	 wave 0		the clusters that a scan reads in any case
 *	 wave 1		further ones, as far as the rows found do not rule them out
 *
 * In wave 1, rows that may be among the nearest are kept together with the
 * ref that they came by.  After the wave they are looked at in the order of
 * refs, as the scan would have met them: so we know where it would have
 * stopped, and forget what came later.  The answers are the scan's, but a
 * batch reads some clusters in vain.  With more waves these would be fewer, but
 * more clusters would be read twice, which costs as much.
 *
 * Without early stops the first wave has all the clusters, and is the last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/topk.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_target.h"
#include "vector/vector_value.h"

#define ST_SORT order_sort
#define ST_ELEMENT_TYPE EcpKnnOrder
#define ST_COMPARE(a, b) \
	((a)->blk < (b)->blk ? -1 : (a)->blk > (b)->blk)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Candidates in the order of the refs that they came by. */
#define ST_SORT refs_sort
#define ST_ELEMENT_TYPE EcpRanked
#define ST_COMPARE(a, b) \
	(EcpKnnItemRef((a)->item) - EcpKnnItemRef((b)->item))
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

/*
 * From ref "first" on, the end of n clusters and the buffers that follow
 * them.
 */
static int
wave_end(EcpKnn *knn, int q, int first, int n)
{
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	int			r = first;

	Assert(first >= 0 && n > 0);
	for (; r < knn->queries[q].nrefs; r++)
	{
		if (!EcpKnnRefIsBuffer(&refs[r]) && n-- == 0)
			break;
	}
	return r;
}

/* What a query whose refs are known wants first. */
void
ecp_knn_wave_first(EcpKnn *knn, int q)
{
	const EcpScanPlan *scan = &knn->plan->scan;
	EcpKnnQuery *query = &knn->queries[q];

	Assert(q >= 0 && q < knn->shared->nqueries);
	query->end = 0;
	wave_want(knn, q, scan->early ? wave_end(knn, q, 0, scan->least) :
			  query->nrefs);
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
	pg_atomic_write_u32(&shared->early, 0);
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

/*
 * Note in "nearest" the rows of a query in the order of refs.  Returns the
 * ref of this wave that a scan would not read, and all after it, or -1; rows
 * from there on are removed.
 */
static int
wave_replay(EcpKnn *knn, int q, EcpTopRanks *nearest)
{
	const EcpScanPlan *scan = &knn->plan->scan;
	EcpMetric	metric = knn->plan->state.meta.ecpm_metric;
	EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	EcpRanked  *heap = ecp_knn_heap(knn, q);
	int			i = 0;

	Assert(query->nheap <= knn->plan->room);
	ecp_top_ranks_reset(nearest);
	refs_sort(heap, query->nheap);
	for (int r = query->first; r < query->end; r++)
	{
		/* those before this wave have no ref */
		for (; i < query->nheap && EcpKnnItemRef(heap[i].item) < r; i++)
			(void) ecp_top_ranks_add(nearest, heap[i].rank);
		if (query->first > 0 && !EcpKnnRefIsBuffer(&refs[r]) &&
			ecp_target_reached(metric, refs[r].rank, nearest->kth,
							   scan->slack))
		{
			query->nheap = i;
			return r;
		}
	}
	for (; i < query->nheap; i++)
		(void) ecp_top_ranks_add(nearest, heap[i].rank);
	return -1;
}

/* A query has read refs 0 .. end - 1 and no more. */
static void
wave_finish(EcpKnn *knn, int q, int end)
{
	EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);

	Assert(end >= 0 && end <= query->nrefs);
	if (end < query->nrefs)
	{
		query->flags &= ~ECP_KNN_ALL_READ;
		pg_atomic_fetch_add_u32(&knn->shared->early, 1);
	}
	for (int r = 0; r < end; r++)
		query->vectors += knn->clusters[EcpKnnRefCluster(&refs[r])].nlive;
	query->first = query->end = end;
}

/* Decide after a wave what the query wants in the next one. */
static void
wave_decide(EcpKnn *knn, int q)
{
	const EcpScanPlan *scan = &knn->plan->scan;
	EcpMetric	metric = knn->plan->state.meta.ecpm_metric;
	EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnRef *refs = ecp_knn_refs(knn, q);
	EcpTopRanks nearest;
	int			stop;
	int			limit;

	if (!scan->early)
	{
		wave_finish(knn, q, query->end);
		return;
	}
	stop = wave_replay(knn, q, &nearest);
	ecp_knn_compare_keep(query, ecp_knn_heap(knn, q),
						 knn->plan->keep);
	if (stop >= 0)
	{
		wave_finish(knn, q, stop);
		return;
	}

	/* the k-th row only gets nearer: what is too far away now stays so */
	limit = query->nrefs;
	for (int r = query->end; r < limit; r++)
	{
		if (!EcpKnnRefIsBuffer(&refs[r]) &&
			ecp_target_reached(metric, refs[r].rank, nearest.kth,
							   scan->slack))
			limit = r;
	}
	if (limit == query->end)
		wave_finish(knn, q, limit);
	else
		wave_want(knn, q, limit);
}

/* Decide for queries first .. end - 1. */
void
ecp_knn_wave_decide(EcpKnn *knn, int first, int end)
{
	Assert(first >= 0 && end <= knn->shared->nqueries);
	for (int q = first; q < end; q++)
	{
		if (knn->queries[q].first < knn->queries[q].end)
			wave_decide(knn, q);
	}
}
