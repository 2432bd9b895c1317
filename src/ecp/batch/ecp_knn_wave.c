/*-------------------------------------------------------------------------
 *
 * ecp_knn_wave.c
 *	  Many queries at once: which clusters are read when, and for whom.
 *
 * Each query descends by itself, and gets as its refs the clusters that its scan would
 * read first, nearest first; if the scan stops by an estimate, several times as many as
 * it reads on average, with what the estimate takes.  The clusters of all queries are in
 * a hash table in shared memory, by block, to which all processes add while they
 * descend.  A slot is never freed, not even for the next batch, and its other fields are
 * read in later phases only.
 *
 * A scan with a recall target reads them in this order, and checks now and then
 * whether it has enough (ecp_stop.c).  A batch reads them in the order of
 * blocks, in waves:
 *
 *	 first wave		as far as a part of what scans read on average
 *	 other waves	from there on, as far as the query's scan would read if no
 *					nearer rows turned up (ecp_knn_stop.c)
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
#include "common/hashfn.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "utils/float.h"

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
static void
wave_first(EcpKnn *knn, int q)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnQuery *query = &knn->queries[q];
	int			end = query->nrefs;

	Assert(q >= 0 && q < knn->shared->nqueries);
	query->first = query->end = 0;
	query->kth = get_float8_infinity();
	if (plan->scan.adaptive)
		end = ecp_knn_stop_end(knn, q, plan->scan.known);
	if (end > plan->max_read || (query->flags & ECP_KNN_CUT_OFF) != 0)
		wave_cut_off(query);
	else
		wave_want(knn, q, end);
}

/* ---- descents ---- */

/* Find the slot of a cluster in the hash table, or fill one. */
static uint32
wave_cluster(EcpKnn *knn, const EcpClusterRef *ref)
{
	const EcpChildData *child = &ref->child;
	uint32		mask = knn->plan->nslots - 1;
	uint32		c = murmurhash32(child->ecpc_blk) & mask;

	for (uint32 n = 0; n <= mask; n++, c = (c + 1) & mask)
	{
		EcpKnnCluster *cluster = &knn->clusters[c];
		uint32		blk = pg_atomic_read_u32(&cluster->blk);

		if (blk == 0 &&
			pg_atomic_compare_exchange_u32(&cluster->blk, &blk,
										   child->ecpc_blk))
		{
			cluster->npages = child->ecpc_npages;
			cluster->run = child->ecpc_run;
			cluster->nlive = child->ecpc_nrows;
			if (knn->summary)
				cluster->skip = ecp_probe_rules_out(knn->index, &knn->plan->state,
													knn->snapshot, knn->summary, ref);
			return c;
		}
		/* a failed exchange has set blk to what is there */
		if (blk == child->ecpc_blk)
			return c;
	}
	ecp_report_corrupt(knn->index, ECP_META_BLKNO,
					   "There are more clusters than the metapage says.");
	return 0;					/* keep compiler quiet */
}

/* Find the refs of a query by a descent as a scan does it; "prepared" is scratch. */
static void
descent_query(EcpKnn *knn, int q, void *prepared)
{
	const EcpKnnPlan *plan = knn->plan;
	const EcpMetaPageData *meta = &plan->state.meta;
	EcpKnnQuery *query = &knn->queries[q];
	EcpKnnRef  *refs = ecp_knn_refs(knn, q);
	EcpDescent *descent;
	EcpClusterRef ref;
	int			nclusters = 0;

	query->nrefs = 0;
	if ((query->flags & ECP_KNN_NULL) != 0)
		return;
	if (!ecp_knn_prepare(knn, q, prepared))
	{
		query->flags |= ECP_KNN_NO_PLACE;
		return;
	}

	descent = ecp_descent_begin(knn->index, &plan->state, prepared,
								false, Min(plan->scan.probes, meta->ecpm_nleaves));
	ecp_descent_set_ahead(descent, plan->probes);
	while (nclusters < plan->probes || ecp_descent_at_buffer(descent))
	{
		EcpKnnRef  *to = &refs[query->nrefs];

		if (query->nrefs == plan->max_refs)
		{
			query->flags |= ECP_KNN_CUT_OFF;
			break;
		}
		if (!ecp_descent_next(descent, &ref))
			break;
		to->cluster = wave_cluster(knn, &ref);
		to->rank = ref.rank;
		if (ref.is_buffer)
			to->cluster |= ECP_KNN_BUFFER;
		else
			nclusters++;
		query->nrefs++;
	}
	if (nclusters < plan->probes && (query->flags & ECP_KNN_CUT_OFF) == 0)
		query->flags |= ECP_KNN_ALL_READ;
	ecp_descent_end(descent);
}

/* Find the refs of queries first .. end - 1, and what they want first. */
void
ecp_knn_descent(EcpKnn *knn, int first, int end)
{
	void	   *prepared = palloc(knn->plan->state.node.vec_bytes);

	Assert(first >= 0 && end <= knn->shared->nqueries);
	for (int q = first; q < end; q++)
	{
		CHECK_FOR_INTERRUPTS();
		descent_query(knn, q, prepared);
		wave_first(knn, q);
	}
	pfree(prepared);
}

/* ---- the next wave ---- */

/*
 * Put the clusters that are wanted into the order of blocks, and make room in pairs for
 * the queries that want them.  Returns false if none is.
 */
bool
ecp_knn_wave_next(EcpKnn *knn)
{
	EcpKnnShared *shared = knn->shared;
	uint32		npairs = 0;

	Assert(!knn->plan->exact);
	shared->nactive = 0;
	for (uint32 c = 0; c < knn->plan->nslots; c++)
	{
		EcpKnnOrder *active = &knn->active[shared->nactive];

		if (pg_atomic_read_u32(&knn->clusters[c].wanted) == 0)
			continue;
		if (shared->nactive++ == knn->plan->max_clusters)
			ecp_report_corrupt(knn->index, ECP_META_BLKNO,
							   "There are more clusters than the metapage says.");
		active->blk = pg_atomic_read_u32(&knn->clusters[c].blk);
		active->cluster = c;
	}
	order_sort(knn->active, shared->nactive);
	for (int i = 0; i < shared->nactive; i++)
	{
		EcpKnnCluster *cluster = &knn->clusters[knn->active[i].cluster];

		cluster->first = npairs;
		npairs += pg_atomic_read_u32(&cluster->wanted);
		pg_atomic_write_u32(&cluster->wanted, 0);
		pg_atomic_write_u32(&cluster->placed, 0);
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
wave_decide(EcpKnn *knn, int q)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnStop *stop = knn->stop;
	EcpKnnQuery *query = &knn->queries[q];
	float8		kth = 0.0;		/* used, and then set, if the scan goes on */
	int			end = ecp_knn_stop_replay(stop, q, &kth);

	if (end >= 0)
	{
		wave_forget(knn, q, end);
		wave_finish(knn, q, end);
		return;
	}
	if (end == ECP_KNN_STOP_LATER && query->first == 0 &&
		plan->first > plan->scan.known)
		end = ecp_knn_stop_end(knn, q, plan->first);
	else if (end == ECP_KNN_STOP_LATER)
		end = ecp_knn_stop_ahead(stop, q);
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
	bool		adaptive = knn->plan->scan.adaptive;

	Assert(first >= 0 && end <= knn->shared->nqueries);
	if (adaptive && knn->stop == NULL)
		knn->stop = ecp_knn_stop_create(knn);
	for (int q = first; q < end; q++)
	{
		const EcpKnnQuery *query = &knn->queries[q];

		CHECK_FOR_INTERRUPTS();
		if (query->first == query->end)
			continue;
		if (adaptive)
			wave_decide(knn, q);
		else
			wave_finish(knn, q, query->end);
	}
}
