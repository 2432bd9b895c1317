/*-------------------------------------------------------------------------
 *
 * ecp_drift_recall.c
 *	  The present recall of an index, in one pass over its clusters.
 *
 * Random rows of the index are the queries of a batch (ecp_knn.h) with a single wave,
 * which goes far beyond what any scan reads.  So the nearest rows are known, each with
 * the cluster that it came by, and the scan of a query can be replayed: this tells
 * where it stops, and what it has found by then.
 *
 * With a quantiser, a scan sees estimates where exact ranks are used here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/look/ecp_look.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

#define DRIFT_QUERIES		256

/* Slots of a leaf that are tried for each query. */
#define DRIFT_TRIES			32

/* Clusters among which a row's own is looked for. */
#define DRIFT_OWN			256

/* Rows that are kept of a query: those that a scan returns may be farther away. */
#define DRIFT_ROWS			(2 * ECP_DRIFT_K_MOST)

struct EcpDriftRecall
{
	MemoryContext context;
	EcpKnn		knn;
	pg_prng_state prng;
	ItemPointerData self[DRIFT_QUERIES];
	int			nmisassigned;	/* of the queries */
};

/* Is a query strictly nearer to another cluster's leader than to its own's? */
static bool
recall_is_misassigned(EcpKnn *knn, int q, uint64 own)
{
	void	   *prepared = palloc(knn->plan->state.node.vec_bytes + ECP_KERNEL_SLACK);
	float4		nearest = 0;
	float4		rank = 0;
	EcpClusterRef ref;
	EcpDescent *descent;

	if (knn->plan->state.meta.ecpm_root_level == 0 || !ecp_knn_prepare(knn, q, prepared))
		return false;
	descent = ecp_descent_begin(knn->index, &knn->plan->state, prepared, true, 1);
	for (int n = 0; n < DRIFT_OWN && ecp_descent_next(descent, &ref);)
	{
		if (ref.is_buffer)
			continue;
		rank = ref.rank;
		if (n++ == 0)
			nearest = rank;
		if (ref.child.ecpc_run == own)
			break;
	}
	ecp_descent_end(descent);
	pfree(prepared);
	return rank > nearest;
}

/* Take n rows of a leaf as queries, each with the same probability. */
static void
recall_take(EcpDriftRecall *recall, const EcpLeafRef *ref, int n)
{
	const EcpChildData *leaf = &ref->child;
	EcpKnn	   *knn = &recall->knn;
	const EcpIndexState *state = &knn->plan->state;
	const EcpGeometry *geo = &state->leaf;
	char	   *vector = palloc(geo->row_bytes + ECP_KERNEL_SLACK);
	uint32		npages = 0;
	PGAlignedBlock copy;
	EcpRun	   *runs;
	int			nruns = ecp_cluster_runs(knn->index, state, 0, leaf->ecpc_blk,
										 leaf->ecpc_run, InvalidBuffer, &runs);

	for (int r = 0; r < nruns; r++)
		npages += runs[r].header.ecpr_hw_page;
	for (int tries = n * DRIFT_TRIES; npages > 0 && n > 0 && tries > 0; tries--)
	{
		uint32		page = pg_prng_uint64_range(&recall->prng, 0, npages - 1);
		uint32		slot = pg_prng_uint64_range(&recall->prng, 0, geo->slots - 1);
		const EcpRun *run = runs;
		int			q = knn->shared->nqueries;
		EcpEntryView view;

		for (; page >= run->header.ecpr_hw_page; run++)
			page -= run->header.ecpr_hw_page;
		ecp_run_copy_page(knn->index, run, page, InvalidBuffer, copy.data);
		ecp_entry_view(copy.data, geo, 0, &view);
		if (slot >= ecp_run_page_slots(geo, run, page) || !EcpSlotIsLive(&view, slot))
			continue;
		ecp_run_read_vector(knn->index, geo, run, &view, page * geo->slots + slot, vector);
		ecp_prepare_query(&state->meta, vector,
						  knn->elements + q * knn->plan->query_stride);
		recall->self[q] = view.tids[slot];
		if (!ref->is_buffer)
			recall->nmisassigned += recall_is_misassigned(knn, q, leaf->ecpc_run);
		ecp_knn_query_begin(&knn->queries[q], q);
		knn->shared->nqueries++;
		n--;
	}
	pfree(vector);
	pfree(runs);
}

/* Draw rows evenly spaced along the leaves, by the numbers that the tree has. */
static void
recall_draw(EcpDriftRecall *recall, const EcpLeaves *leaves)
{
	double		total = 0;
	double		seen = 0;
	double		next;
	double		step;

	/* a leaf that counts no rows yet may have some */
	for (int i = 0; i < leaves->n; i++)
		total += Max(leaves->refs[i].child.ecpc_nrows, 1);
	step = total / DRIFT_QUERIES;
	next = step * pg_prng_double(&recall->prng);
	for (int i = 0; i < leaves->n; i++)
	{
		int			n = 0;

		seen += Max(leaves->refs[i].child.ecpc_nrows, 1);
		for (; next < seen; next += step)
			n++;
		n = Min(n, DRIFT_QUERIES - recall->knn.shared->nqueries);
		if (n > 0)
			recall_take(recall, &leaves->refs[i], n);
	}
}

/* A batch that reads all clusters of its queries in one wave. */
static void
recall_plan(const EcpIndexState *state, EcpKnnPlan *plan)
{
	const EcpMetaPageData *meta = &state->meta;
	int			depth = ecp_target_depth(meta);

	plan->state = *state;
	plan->k = ECP_DRIFT_K_MOST;
	plan->room = DRIFT_ROWS;
	plan->scan.adaptive = true;
	plan->scan.probes = (int) Min(ecp_target_rule_probes(meta->ecpm_nleaves), depth);
	plan->max_refs = plan->max_read =
		(int) Min(Min(2 * (uint64) depth + 1, depth + 1 + (uint64) meta->ecpm_nbuffers),
				  ECP_KNN_REFS_MAX);
	/* the leader after the last cluster is needed, too */
	plan->probes = Min(depth + 1, plan->max_refs);
	plan->scan.known = plan->probes - 1;
	plan->max_queries = DRIFT_QUERIES;
	plan->query_bytes = ecp_vector_bytes(EcpMetaQueryElem(meta), meta->ecpm_dims);
	plan->query_stride = MAXALIGN(plan->query_bytes);
	ecp_knn_workers_layout(plan, MaxAllocHugeSize);
}

/* Keep those of a query's rows that count, in order. */
static void
recall_settle(EcpDriftRecall *recall, int q)
{
	EcpRanked  *rows = ecp_knn_heap(&recall->knn, q);
	uint64		self = ecp_tid_item(&recall->self[q]);
	int			n = 0;

	for (int i = 0; i < recall->knn.queries[q].nheap; i++)
		if (!EcpRankedIsNaN(&rows[i]) && (rows[i].item & ECP_KNN_TID_MASK) != self)
			rows[n++] = rows[i];
	recall->knn.queries[q].nheap = n;
}

EcpDriftRecall *
ecp_drift_recall_begin(Relation index, EcpIndexState *state,
					   const EcpLeaves *leaves)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "ecp drift",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	EcpDriftRecall *recall = palloc0(sizeof(EcpDriftRecall));
	EcpKnn	   *knn = &recall->knn;
	EcpKnnPlan	plan = {0};

	Assert(leaves->n > 0);
	recall->context = context;
	knn->index = index;
	pg_prng_seed(&recall->prng, state->meta.ecpm_seed);
	recall_plan(state, &plan);
	ecp_knn_workers_start(knn, &plan, 0);
	recall_draw(recall, leaves);
	knn->shared->batch++;
	ecp_knn_workers_run(knn, ECP_KNN_DESCEND, knn->shared->nqueries, 1);
	if (ecp_knn_wave_next(knn))
	{
		ecp_knn_workers_run(knn, ECP_KNN_PLACE, knn->shared->nqueries, 1);
		ecp_knn_workers_run(knn, ECP_KNN_CLUSTERS, knn->shared->nactive, 1);
	}
	for (int q = 0; q < knn->shared->nqueries; q++)
		recall_settle(recall, q);
	MemoryContextSwitchTo(old);
	return recall;
}

void
ecp_drift_recall_end(EcpDriftRecall *recall)
{
	ecp_knn_workers_stop(&recall->knn);
	MemoryContextDelete(recall->context);
}

static int
recall_compare_blocks(const void *blk, const void *order)
{
	BlockNumber a = *(const BlockNumber *) blk;
	BlockNumber b = ((const EcpKnnOrder *) order)->blk;

	return a < b ? -1 : a > b;
}

bool
ecp_drift_recall_counted(const EcpDriftRecall *recall, const EcpChildData *leaf,
						 uint32 *nrows)
{
	const EcpKnn *knn = &recall->knn;
	const EcpKnnOrder *found = bsearch(&leaf->ecpc_blk, knn->active, knn->shared->nactive,
									   sizeof(EcpKnnOrder), recall_compare_blocks);

	if (found != NULL)
		*nrows = knn->clusters[found->cluster].nlive;
	return found != NULL;
}

/* ---- what searches find ---- */

/* The share of the k nearest rows that came by the refs before "end". */
static double
recall_share(const EcpRanked *rows, int nrows, int k, int end)
{
	int			wanted = Min(k, nrows);
	int			found = 0;

	/* rows as near as the k-th are as good */
	for (int r = 0; r < nrows && found < wanted && rows[r].rank <= rows[wanted - 1].rank; r++)
		found += EcpKnnItemRef(rows[r].item) < end;
	return (double) found / wanted;
}

double
ecp_drift_recall_at(EcpDriftRecall *recall, int k, double *error)
{
	EcpKnn	   *knn = &recall->knn;
	EcpScanPlan *plan = &knn->shared->plan.scan;
	EcpKnnStop *stop = NULL;
	double		sum = 0;
	double		squares = 0;
	int			n = 0;

	Assert(k > 0 && k <= ECP_DRIFT_K_MOST);
	ecp_target_plan(knn->index, &knn->plan->state.meta, k, plan);
	if (plan->adaptive)
		stop = ecp_knn_stop_create(knn);
	for (int q = 0; q < knn->shared->nqueries; q++)
	{
		EcpKnnQuery *query = &knn->queries[q];
		float8		kth;
		double		found;
		int			end;

		CHECK_FOR_INTERRUPTS();
		if (query->nheap == 0)
			continue;
		query->kth = get_float8_infinity();
		end = stop ? ecp_knn_stop_replay(stop, q, &kth) :
			ecp_knn_stop_end(knn, q, plan->probes);
		ecp_knn_compare_sort(ecp_knn_heap(knn, q), query->nheap);
		found = recall_share(ecp_knn_heap(knn, q), query->nheap, k,
							 end < 0 ? query->end : end);
		sum += found;
		squares += found * found;
		n++;
	}
	if (n == 0)
		return *error = get_float8_nan();
	sum /= n;
	*error = sqrt(Max(squares / n - sum * sum, 0) / n);
	return sum;
}

double
ecp_drift_recall_misassigned(const EcpDriftRecall *recall)
{
	return (double) recall->nmisassigned / Max(recall->knn.shared->nqueries, 1);
}
