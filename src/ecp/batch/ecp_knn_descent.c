/*-------------------------------------------------------------------------
 *
 * ecp_knn_descent.c
 *	  Many queries at once: which clusters each of them may want.
 *
 * Every query descends by itself, and gets as its refs the clusters that its
 * scan would read first, nearest first.
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
#include "ecp/search/ecp_descent.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "vector/vector_value.h"

/* Find the slot of a cluster in the hash table, or fill one. */
static uint32
descent_cluster(EcpKnn *knn, const EcpChildData *child)
{
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

/* Add a cluster or an insert buffer to the refs of a query. */
static void
descent_add_ref(EcpKnn *knn, int q, const EcpClusterRef *cluster)
{
	EcpKnnQuery *query = &knn->queries[q];
	EcpKnnRef  *ref;

	if (query->nrefs == knn->plan->max_refs)
	{
		query->flags |= ECP_KNN_CUT_OFF;
		return;
	}
	ref = &ecp_knn_refs(knn, q)[query->nrefs++];
	ref->cluster = descent_cluster(knn, &cluster->child) |
		(cluster->is_buffer ? ECP_KNN_BUFFER : 0);
	ref->rank = cluster->rank;
}

/*
 * Find the refs of a query by a descent as a scan does it.  "prepared" is
 * scratch memory for the query in the form of leaders.
 */
static void
descent_query(EcpKnn *knn, int q, void *prepared)
{
	const EcpKnnPlan *plan = knn->plan;
	const EcpMetaPageData *meta = &plan->state.meta;
	EcpKnnQuery *query = &knn->queries[q];
	EcpDescent *descent;
	EcpClusterRef ref;
	EcpVector	vector;
	int			nclusters = 0;

	query->nrefs = 0;
	if ((query->flags & ECP_KNN_NULL) != 0)
		return;
	vector.elem = meta->ecpm_elem;
	vector.dims = meta->ecpm_dims;
	vector.data = knn->elements + q * plan->query_stride;
	vector.detoasted = NULL;
	if (!ecp_prepare(meta, &vector, prepared))
	{
		query->flags |= ECP_KNN_NO_PLACE;
		return;
	}

	descent = ecp_descent_begin(knn->index, &plan->state, prepared, false,
								Min(plan->probes, meta->ecpm_nleaves));
	while ((nclusters < plan->probes || ecp_descent_at_buffer(descent)) &&
		   ecp_descent_next(descent, &ref))
	{
		if (!ref.is_buffer)
			nclusters++;
		descent_add_ref(knn, q, &ref);
	}
	ecp_descent_end(descent);
	if (nclusters < plan->probes)
		query->flags |= ECP_KNN_ALL_READ;
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
		ecp_knn_wave_first(knn, q);
	}
	pfree(prepared);
}
