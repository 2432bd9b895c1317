/*-------------------------------------------------------------------------
 *
 * ecp_knn_descent.c
 *	  Many queries at once: which clusters each of them may want.
 *
 * Every query descends by itself, and gets as its refs the clusters that its
 * scan would read first, nearest first.  If a scan stops by an estimate, these are
 * several times as many as it reads on average, with what the estimate takes.
 *
 * The clusters of all queries are in a hash table in shared memory, by block,
 * to which all processes add while they descend.  A slot is never freed, not
 * even for the next batch, and its other fields are read in later phases only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_value.h"

/* Find the slot of a cluster in the hash table, or fill one. */
static uint32
descent_cluster(EcpKnn *knn, const EcpClusterRef *ref)
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

/* Scratch memory for descents. */
typedef struct DescentMemory
{
	void	   *prepared;		/* the query in the form of leaders */
	EcpClusterRef *refs;		/* max_refs */
} DescentMemory;

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

/* Find the refs of a query by a descent as a scan does it. */
static void
descent_query(EcpKnn *knn, int q, const DescentMemory *memory)
{
	const EcpKnnPlan *plan = knn->plan;
	const EcpMetaPageData *meta = &plan->state.meta;
	EcpKnnQuery *query = &knn->queries[q];
	EcpKnnRef  *refs = ecp_knn_refs(knn, q);
	EcpDescent *descent;
	int			nclusters = 0;

	query->nrefs = 0;
	if ((query->flags & ECP_KNN_NULL) != 0)
		return;
	if (!ecp_knn_prepare(knn, q, memory->prepared))
	{
		query->flags |= ECP_KNN_NO_PLACE;
		return;
	}

	descent = ecp_descent_begin(knn->index, &plan->state, memory->prepared,
								false, Min(plan->scan.probes, meta->ecpm_nleaves));
	ecp_descent_set_ahead(descent, plan->probes);
	while (nclusters < plan->probes || ecp_descent_at_buffer(descent))
	{
		int			r = query->nrefs;

		if (r == plan->max_refs)
		{
			query->flags |= ECP_KNN_CUT_OFF;
			break;
		}
		if (!ecp_descent_next(descent, &memory->refs[r]))
			break;
		refs[r].cluster = descent_cluster(knn, &memory->refs[r]);
		refs[r].rank = memory->refs[r].rank;
		if (memory->refs[r].is_buffer)
			refs[r].cluster |= ECP_KNN_BUFFER;
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
	DescentMemory memory;

	Assert(first >= 0 && end <= knn->shared->nqueries);
	memory.prepared = palloc(knn->plan->state.node.vec_bytes);
	memory.refs = palloc_extended(mul_size(knn->plan->max_refs,
										   sizeof(EcpClusterRef)),
								  MCXT_ALLOC_HUGE);
	for (int q = first; q < end; q++)
	{
		CHECK_FOR_INTERRUPTS();
		descent_query(knn, q, &memory);
		ecp_knn_wave_first(knn, q);
	}
	pfree(memory.refs);
	pfree(memory.prepared);
}
