/*-------------------------------------------------------------------------
 *
 * ecp_knn_descent.c
 *	  Many queries at once through an ecp index: which clusters they want.
 *
 * After DeCP's batch search (Gudmundsson, Amsaleg, Jonsson, Franklin:
 * "Towards Engineering a Web-Scale Multimedia Service", MMSys 2017):
 *
 *	 descend	every query gets the clusters that its scan would read first:
 *				by a descent of its own or, where all leaders are in one
 *				node, by comparing some leaders with many queries at a time
 *	 waves		queries by cluster, clusters by block (ecp_knn_wave.c)
 *	 clusters	pages are copied, and while they are in the processor's
 *				cache all queries that want them are compared with them
 *				(ecp_knn_read.c)
 *
 * A scan of a memory-resident index waits for memory and for its page
 * visits; here a page is visited once for dozens of queries.  On a disk the
 * clusters come in ascending order, each once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_cache.h"
#include "ecp/search/ecp_descent.h"
#include "ecp/search/ecp_insbuf_map.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Queries that are compared with leaders at a time, and leaders (of 16s). */
#define DESCEND_QUERIES		32
#define DESCEND_LEADERS		256

/* Leaders of which one tells how many are nearer. */
#define LEADERS_SAMPLE		256

/* ---- descend ---- */

/* Has the query a place among the leaders? */
static inline bool
batch_has_place(const EcpKnnQuery *query)
{
	return (query->flags & (ECP_KNN_NULL | ECP_KNN_NO_PLACE)) == 0;
}

/* Bring a query into the form of leaders, if that is possible. */
static void
batch_prepare(EcpKnn *knn, int q, void *prepared)
{
	const EcpMetaPageData *meta = &knn->shared->state.meta;
	EcpVector	vector;

	knn->queries[q].nrefs = 0;
	if ((knn->queries[q].flags & ECP_KNN_NULL) != 0)
		return;
	vector.elem = meta->ecpm_elem;
	vector.dims = meta->ecpm_dims;
	vector.data = knn->elements + q * knn->shared->query_stride;
	vector.detoasted = NULL;
	if (!ecp_prepare(meta, &vector, prepared))
		knn->queries[q].flags |= ECP_KNN_NO_PLACE;
}

/*
 * Add the buffer of a cluster to what a query wants.  Up to the ref "first"
 * it stands alone: a scan would have read those before.
 */
static void
batch_add_buffer(EcpKnn *knn, int q, const EcpChildData *buffer, uint64 bins,
				 int *place, int first)
{
	if (ecp_knn_join_ref(knn, q, *place, first, buffer, bins))
		return;
	*place = knn->queries[q].nrefs;
	ecp_knn_add_ref(knn, q, buffer, 0, true, bins);
}

/* The clusters of one query, by a descent as a scan has it. */
static void
batch_descend_query(EcpKnn *knn, int q, void *prepared)
{
	EcpKnnShared *shared = knn->shared;
	EcpKnnQuery *query = &knn->queries[q];
	EcpDescent *descent;
	EcpClusterRef ref;
	int			nclusters = 0;
	int			first = 0;

	batch_prepare(knn, q, prepared);
	if (!batch_has_place(query))
		return;
	descent = ecp_descent_begin(knn->index, &shared->state, prepared, false,
								Min(shared->probes,
									shared->state.meta.ecpm_nleaves));
	while ((nclusters < shared->probes || ecp_descent_at_buffer(descent)) &&
		   ecp_descent_next(descent, &ref))
	{
		if (ref.is_buffer)
		{
			batch_add_buffer(knn, q, &ref.child, ref.bins, ref.place, first);
			continue;
		}
		if (nclusters++ % ECP_PROBE_REFS == 0)
			first = query->nrefs;
		ecp_knn_add_ref(knn, q, &ref.child, ref.rank, false, ECP_BINS_ALL);
	}
	ecp_descent_end(descent);
	if (nclusters < shared->probes)
		query->flags |= ECP_KNN_ALL_READ;
}

/* A leader of the root, for choosing the nearest ones. */
typedef struct RankedLeader
{
	float4		rank;
	uint32		child;
} RankedLeader;

#define ST_SORT leaders_sort_any
#define ST_ELEMENT_TYPE RankedLeader
#define ST_COMPARE(a, b) \
	((a)->rank < (b)->rank ? -1 : (a)->rank > (b)->rank ? 1 : \
	 (a)->child < (b)->child ? -1 : (a)->child > (b)->child)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Is a before b?  Equal ranks: the lower number, as a descent has it. */
static inline bool
leader_is_before(const RankedLeader *a, const RankedLeader *b)
{
	return a->rank < b->rank || (a->rank == b->rank && a->child < b->child);
}

/*
 * One pass of a radix sort, by the byte "shift" bits up in the distance from
 * the lowest rank.
 */
static inline void
leaders_pass(const RankedLeader *from, RankedLeader *to, int n, float4 lowest,
			 float4 scale, int shift)
{
	uint32		ends[257] = {0};

	for (int i = 0; i < n; i++)
		ends[((uint32) ((from[i].rank - lowest) * scale) >> shift & 0xFF) + 1]++;
	for (int r = 0; r < 256; r++)
		ends[r + 1] += ends[r];
	for (int i = 0; i < n; i++)
		to[ends[(uint32) ((from[i].rank - lowest) * scale) >> shift & 0xFF]++] =
			from[i];
}

/*
 * Put leaders in order: by 16 bits of where their ranks are between the lowest
 * and the highest, and then by moving each past the few before it that belong
 * behind.  A sort by comparisons takes many times as long, for branches that
 * nobody can predict.  "more" has room for n.
 */
static void
leaders_sort(RankedLeader *leaders, int n, RankedLeader *more)
{
	float4		lowest = get_float4_infinity();
	float4		highest = -get_float4_infinity();
	float4		scale;

	for (int i = 0; i < n; i++)
	{
		lowest = Min(lowest, leaders[i].rank);
		highest = Max(highest, leaders[i].rank);
	}
	scale = PG_UINT16_MAX / (highest - lowest);
	if (!(scale > 0) || isinf(scale))
	{
		leaders_sort_any(leaders, n);
		return;
	}
	leaders_pass(leaders, more, n, lowest, scale, 0);
	leaders_pass(more, leaders, n, lowest, scale, 8);
	for (int i = 1; i < n; i++)
	{
		RankedLeader leader = leaders[i];
		int			place = i;

		for (; place > 0 && leader_is_before(&leader, &leaders[place - 1]);
			 place--)
			leaders[place] = leaders[place - 1];
		leaders[place] = leader;
	}
}

/*
 * A rank that about "wanted" of n do not exceed, rather more than fewer: by
 * an evenly spaced sample, the lowest of which are kept in order.
 */
static float4
leaders_threshold(const float4 *ranks, int n, int wanted)
{
	float4		lowest[LEADERS_SAMPLE];
	int			nkeep = Min((int64) LEADERS_SAMPLE * wanted / n + 3,
							LEADERS_SAMPLE);
	int			nkept = 0;

	for (int i = 0; i < LEADERS_SAMPLE; i++)
	{
		float4		rank = ranks[(int64) i * n / LEADERS_SAMPLE];
		int			pos;

		if (nkept == nkeep && !(rank < lowest[nkept - 1]))
			continue;
		if (nkept < nkeep)
			nkept++;
		for (pos = nkept - 1; pos > 0 && lowest[pos - 1] > rank; pos--)
			lowest[pos] = lowest[pos - 1];
		lowest[pos] = rank;
	}
	return lowest[nkept - 1];
}

/*
 * Put the "wanted" nearest of n leaders into leaders[0 ..], which has room for
 * 2 n + 1, in order.  Returns how many there are.
 */
static int
leaders_choose(const float4 *ranks, int n, int wanted, RankedLeader *leaders)
{
	int			nfound = 0;

	if (n > LEADERS_SAMPLE && n > 2 * wanted)
	{
		float4		threshold = leaders_threshold(ranks, n, wanted);

		for (int i = 0; i < n; i++)
		{
			leaders[nfound].rank = ranks[i];
			leaders[nfound].child = i;
			nfound += ranks[i] <= threshold;
		}
	}
	if (nfound < wanted)
	{
		for (nfound = 0; nfound < n; nfound++)
		{
			leaders[nfound].rank = ranks[nfound];
			leaders[nfound].child = nfound;
		}
	}
	leaders_sort(leaders, nfound, leaders + n);
	return Min(nfound, wanted);
}

/* A query wants these clusters, and the rows that wait for them. */
static void
batch_add_leaders(EcpKnn *knn, int q, const EcpNode *root,
				  const RankedLeader *leaders, int n)
{
	const EcpIndexState *state = &knn->shared->state;
	EcpInsbufTaken *taken = NULL;
	int			first = 0;

	if (root->nbuffers > 0)
		taken = palloc0(root->nbuffers * sizeof(EcpInsbufTaken));
	for (int i = 0; i < n; i++)
	{
		uint32		child = leaders[i].child;
		bool		follow;
		uint64		bins;

		if (i % ECP_PROBE_REFS == 0)
			first = knn->queries[q].nrefs;
		ecp_knn_add_ref(knn, q, &root->children[child], leaders[i].rank,
						false, ECP_BINS_ALL);
		if (taken == NULL)
			continue;
		follow = taken[root->map.buffer_of[child]].bins == 0;
		bins = ecp_insbuf_take(state, root, child,
							   &taken[root->map.buffer_of[child]]);
		for (int b = root->map.buffer_of[child]; b >= 0 && bins != 0;
			 b = follow ? root->map.next[b] : -1)
		{
			batch_add_buffer(knn, q, &root->children[root->nchildren + b],
							 bins, &taken[b].place, first);
			bins = ECP_BINS_ALL;
		}
	}
	if (taken != NULL)
		pfree(taken);
}

/*
 * The clusters of at most DESCEND_QUERIES queries under a root of level 1,
 * which a descent would compare with all of its leaders: some leaders at a
 * time, with all queries while they are in the processor's cache.
 */
static void
batch_descend_flat(EcpKnn *knn, EcpNode *root, int first, int end,
				   float4 *ranks, RankedLeader *leaders, char *prepared)
{
	EcpKnnShared *shared = knn->shared;
	const EcpMetaPageData *meta = &shared->state.meta;
	const EcpPanel *panel = meta->ecpm_metric == ECP_METRIC_IP ?
		root->ip_panel : root->panel;
	Size		stride = MAXALIGN(shared->state.node.vec_bytes);
	int			n = root->nchildren;

	for (int q = first; q < end; q++)
		batch_prepare(knn, q, prepared + (q - first) * stride);
	for (int done = 0; done < n; done += DESCEND_LEADERS)
	{
		CHECK_FOR_INTERRUPTS();
		for (int q = first; q < end; q++)
		{
			if (batch_has_place(&knn->queries[q]))
				ecp_panel_rank(panel, prepared + (q - first) * stride, done,
							   Min(n - done, DESCEND_LEADERS),
							   ranks + (Size) (q - first) * n + done);
		}
	}
	for (int q = first; q < end; q++)
	{
		EcpKnnQuery *query = &knn->queries[q];
		int			nclusters;

		if (!batch_has_place(query))
			continue;
		nclusters = leaders_choose(ranks + (Size) (q - first) * n, n,
								   shared->probes, leaders);
		batch_add_leaders(knn, q, root, leaders, nclusters);
		if (nclusters < shared->probes)
			query->flags |= ECP_KNN_ALL_READ;
	}
}

/* Find the clusters of queries first .. end - 1. */
void
ecp_knn_descend(EcpKnn *knn, int first, int end)
{
	EcpKnnShared *shared = knn->shared;
	const EcpMetaPageData *meta = &shared->state.meta;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp descent",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	char	   *prepared;

	prepared = palloc0(mul_size(DESCEND_QUERIES,
								MAXALIGN(shared->state.node.vec_bytes)));
	if (meta->ecpm_root_level == 1)
	{
		EcpNode    *root = ecp_node_get(knn->index, &shared->state,
										&meta->ecpm_root, 1);
		float4	   *ranks;
		RankedLeader *leaders;

		ranks = palloc_extended(mul_size(mul_size(DESCEND_QUERIES,
												  root->nchildren + 1),
										 sizeof(float4)), MCXT_ALLOC_HUGE);
		leaders = palloc_extended(mul_size(2 * root->nchildren + 1,
										   sizeof(RankedLeader)),
								  MCXT_ALLOC_HUGE);
		for (int q = first; q < end; q += DESCEND_QUERIES)
			batch_descend_flat(knn, root, q, Min(q + DESCEND_QUERIES, end),
							   ranks, leaders, prepared);
		ecp_node_release(root);
	}
	else
	{
		for (int q = first; q < end; q++)
			batch_descend_query(knn, q, prepared);
	}
	for (int q = first; q < end; q++)
		ecp_knn_first_wave(knn, q);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
