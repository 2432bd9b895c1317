/*-------------------------------------------------------------------------
 *
 * ecp_knn.c
 *	  The nearest rows of many queries: what ecp_batch_node.c, ecp_knn_exact() and
 *	  ecp_recall() ask for.
 *
 *	 batch		as many queries as work_mem times hash_mem_multiplier has room for
 *	 phases		see ecp_knn.h: descend and clusters, or table
 *	 answers	query by query, nearest first
 *
 * What ecp_knn_find() finds is what scans with the same keys, settings and snapshot
 * return.  A batch looks at the first window of each scan, which may end where an
 * estimate says so (ecp_knn_wave.c).  If the scan would not have read on to find k rows
 * (see ecp_search.c), that is the answer; if not, the query is left to the scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/topk.h"
#include "catalog/pg_index.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_scan.h"
#include "ecp/search/ecp_stop.h"
#include "executor/nodeHash.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Items that a process takes at a time: queries to descend for, to decide, */
#define KNN_DESCEND_STEP	32
#define KNN_QUERIES_STEP	256

/* Queries by codes that want each cluster on average, where it is read before. */
#define KNN_CODES_WANTED	0.25

/* Blocks of a sample, and how many are not in memory where that is cold. */
#define KNN_SAMPLE			32
#define KNN_SAMPLE_MISSING	4

/*
 * In memory a batch must save more by comparing rows with many queries than it costs: on
 * average this many of them have to want each cluster, fewer with a condition, which
 * is then checked once for all; more if rows are soon compared, or many are returned.
 */
#define KNN_SHARED			5
#define KNN_SHARED_FILTERED 3
#define KNN_SHARED_BYTES	128
#define KNN_SHARED_K		25

/* Candidates that there is room for besides twice the best, for decisions. */
#define KNN_ROOM_MORE		16

/* Buffers that a query may want beyond one for each cluster. */
#define KNN_BUFFERS_MORE	16

/*
 * If scans stop by an estimate: how many times as many clusters as they read on
 * average a query may read in waves, where it knows twice as many; and over
 * what share of that number the second wave goes.
 */
#define KNN_WAVE_MOST		4
#define KNN_WAVE_FIRST		0.5

PGDLLEXPORT Datum ecp_knn_exact(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_knn_exact);

/* ---- batches ---- */

/*
 * Take the next batch of queries.  Returns false in the end.
 */
static bool
knn_next_batch(EcpKnn *knn, EcpKnnInput *input, TupleTableSlot *slot)
{
	EcpKnnShared *shared = knn->shared;
	const EcpKnnPlan *plan = knn->plan;
	const EcpMetaPageData *meta = &plan->state.meta;
	int			n = 0;

	shared->batch++;
	while (n < plan->max_queries &&
		   tuplestore_gettupleslot(input->store, true, false, slot))
	{
		EcpKnnQuery *query = &knn->queries[n];
		bool		isnull;
		Datum		value;
		EcpVector	vector;

		ecp_knn_query_begin(query, DatumGetInt64(slot_getattr(slot, 1, &isnull)));
		value = slot_getattr(slot, 2, &isnull);
		if (isnull)
			query->flags = ECP_KNN_NULL;
		else
		{
			EcpKnnErrorQuery error_query;

			ecp_knn_error_begin(&error_query, query->id);
			ecp_vector_read(value, meta->ecpm_column_type, &vector);
			ecp_vector_check_dims(&vector, meta->ecpm_dims,
								  RelationGetRelationName(knn->index));
			ecp_knn_error_end(&error_query);
			memcpy(knn->elements + n * plan->query_stride, vector.data,
				   plan->query_bytes);
			ecp_vector_release(&vector);
		}
		n++;
	}
	shared->nqueries = n;
	return n > 0;
}

/* Put candidates in order, the nearest first, with distances instead of ranks. */
static void
knn_settle(const EcpKnn *knn, EcpRanked *heap, int n)
{
	ecp_knn_compare_sort(heap, n);
	for (int i = 0; i < n; i++)
	{
		uint64		item = EcpRankedItem(&heap[i]);

		heap[i].rank = EcpRankedIsNaN(&heap[i]) ? get_float8_nan() :
			ecp_rank_distance(knn->plan->state.meta.ecpm_metric, heap[i].rank);
		heap[i].item = item;
	}
}

/*
 * Put a query's candidates in order, as the answer of its scan, with distances.  False
 * if a scan would look further for it.  Those that are not visible are for the executor
 * to find out: unless the answer has all rows that there are, the scan then has to look.
 */
static bool
knn_answer(EcpKnn *knn, int q, EcpScanAnswer *answer)
{
	const EcpKnnPlan *plan = knn->plan;
	const EcpKnnQuery *query = &knn->queries[q];
	EcpRanked  *heap = ecp_knn_heap(knn, q);

	answer->rows = heap;
	answer->n = query->nheap;
	if ((query->flags & (ECP_KNN_NULL | ECP_KNN_NO_PLACE | ECP_KNN_CUT_OFF)) != 0 ||
		(ecp_max_scan_tuples >= 0 &&
		 query->vectors + query->filtered >= ecp_max_scan_tuples))
		return false;
	answer->complete = query->vectors == query->nheap &&
		(ecp_iterative_scan == ECP_ITERATIVE_OFF ||
		 (query->flags & ECP_KNN_ALL_READ) != 0);
	if (!answer->complete)
	{
		if (query->nheap < plan->k)
			return false;
		answer->n = plan->k;
		if (ecp_iterative_scan != ECP_ITERATIVE_OFF && !plan->scan.adaptive &&
			(query->flags & ECP_KNN_ALL_READ) == 0 &&
			(uint64) plan->k * ECP_SEARCH_AHEAD > query->vectors)
			return false;
	}
	knn_settle(knn, heap, query->nheap);
	return true;
}

/* Find candidates of the queries of the batch. */
static void
knn_find(EcpKnn *knn)
{
	EcpKnnShared *shared = knn->shared;
	const EcpKnnPlan *plan = knn->plan;
	int			n = shared->nqueries;
	int			processes = ecp_knn_workers_processes(knn);

	Assert(!plan->by_scans);
	if (plan->exact)
	{
		if (knn->team.scan != NULL && shared->batch > 1)
			table_parallelscan_reinitialize(knn->heap, knn->team.scan);
		ecp_knn_workers_run(knn, ECP_KNN_TABLE, processes, 1);
	}
	else
	{
		ecp_knn_workers_run(knn, ECP_KNN_DESCEND, n, KNN_DESCEND_STEP);
		while (ecp_knn_wave_next(knn))
		{
			ecp_knn_workers_run(knn, ECP_KNN_PLACE, n, KNN_QUERIES_STEP);
			ecp_knn_workers_run(knn, ECP_KNN_CLUSTERS, shared->nactive,
								shared->nactive / (processes * 32));
			ecp_knn_workers_run(knn, ECP_KNN_DECIDE, n, KNN_QUERIES_STEP);
		}
	}
}

/*
 * How many workers to ask for: as many as settings allow, if the work is
 * worth starting them.
 */
static int
knn_workers(EcpKnn *knn, const EcpKnnPlan *plan, int64 nqueries)
{
	const EcpMetaPageData *meta = &plan->state.meta;
	double		rows = Max(knn->heap->rd_rel->reltuples, 1);
	double		cost;

	if (max_parallel_workers_per_gather == 0 || IsInParallelMode() ||
		(plan->exact && knn->checked) || RelationUsesLocalBuffers(knn->heap))
		return 0;
	/* index expressions need not be safe in a worker, nor for the caller */
	if (plan->exact &&
		(!heap_attisnull(knn->index->rd_indextuple, Anum_pg_index_indexprs,
						 NULL) ||
		 !heap_attisnull(knn->index->rd_indextuple, Anum_pg_index_indpred,
						 NULL)))
		return 0;

	if (!plan->exact)
		rows *= Min((double) plan->scan.probes / Max(meta->ecpm_nleaves, 1), 1);
	/* a kernel compares about 1280 bytes in the time of an operator */
	cost = nqueries * rows * cpu_operator_cost *
		(0.02 + plan->state.leaf.vec_bytes / 1280.0);
	if (cost < parallel_setup_cost)
		return 0;
	return max_parallel_workers_per_gather;
}

/* The refs that n clusters have, at most. */
static int
knn_plan_refs(const EcpKnnPlan *plan, int n)
{
	/* each buffer comes once, with a cluster; hardly ever several with one */
	return n + Min((uint64) plan->state.meta.ecpm_nbuffers, n + KNN_BUFFERS_MORE);
}

/* Clusters that a scan reads on average: more where few rows pass the filter. */
static int
knn_plan_probes(const EcpKnn *knn, const EcpKnnPlan *plan)
{
	const EcpMetaPageData *meta = &plan->state.meta;
	double		rows = Max(knn->heap->rd_rel->reltuples, 1);
	double		nleaves = Max(meta->ecpm_nleaves, 1);
	double		share;

	if (!plan->filtered)
		return plan->scan.probes;
	share = Min(knn->keys_rows / rows, 1);
	if (plan->scan.adaptive)
		return (int) ceil(ecp_target_clusters(knn->index, meta,
											  plan->scan.k / Max(share, 1 / rows)));
	return (int) Min(ecp_target_filter_probes(plan->scan.probes, share,
											  rows / nleaves), nleaves);
}

/* Which clusters are read, as in a scan that begins now. */
static void
knn_plan_clusters(EcpKnn *knn, EcpKnnPlan *plan)
{
	const EcpMetaPageData *meta = &plan->state.meta;
	EcpScanPlan *scan = &plan->scan;

	/* one more than there are: so we see whether these were all */
	int			all = meta->ecpm_nleaves + 1;
	int			probes;

	/* a scan whose rows are checked again wants as many at least */
	ecp_target_plan(knn->index, meta, knn->checked ? Max(plan->k, ECP_TARGET_K) : plan->k,
					scan);
	probes = knn_plan_probes(knn, plan);
	plan->probes = Min(scan->probes, all);
	if (!scan->adaptive)
	{
		/* how far such a scan reads depends on the rows that pass */
		plan->by_scans = plan->filtered;
		plan->max_refs = plan->max_read = knn_plan_refs(plan, plan->probes);
		return;
	}

	/* more than refs have numbers for, or a scan looks at: by scans */
	plan->by_scans = plan->k > scan->k ||
		probes > ECP_KNN_REFS_MAX / (4 * KNN_WAVE_MOST) - KNN_BUFFERS_MORE;
	if (plan->by_scans)
		return;
	/* and one more, to look at */
	plan->probes = Min(Max(KNN_WAVE_MOST * probes, ECP_PLACE_LEADERS) + 1,
					   all);
	plan->max_refs = knn_plan_refs(plan, plan->probes);
	plan->max_read = knn_plan_refs(plan, plan->probes == all ? all :
								   KNN_WAVE_MOST * probes);
	plan->first = scan->least;
	while (plan->first < probes * KNN_WAVE_FIRST)
		plan->first = EcpCheckNext(plan->first);
}

/*
 * Is the index in shared buffers, by a sample of its blocks?  Looking prefetches
 * those that are not, which are few, as it ends there.
 */
static bool
knn_is_in_memory(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	int			n = Min(nblocks, KNN_SAMPLE);
	int			missing = 0;

	if (nblocks > (BlockNumber) NBuffers)
		return false;
	for (int i = 0; i < n && missing < KNN_SAMPLE_MISSING; i++)
	{
		BlockNumber blk = (BlockNumber) ((uint64) nblocks * i / n);

		if (!BufferIsValid(PrefetchBuffer(index, MAIN_FORKNUM, blk).recent_buffer))
			missing++;
	}
	return missing < KNN_SAMPLE_MISSING;
}

static void
knn_plan(EcpKnn *knn, EcpKnnPlan *plan, bool exact, int k, int64 nqueries)
{
	Assert(k >= 1 && nqueries >= 1);
	plan->heap_oid = RelationGetRelid(knn->heap);
	plan->index_oid = RelationGetRelid(knn->index);
	plan->exact = exact;
	plan->k = plan->room = k;
	if (!exact)
	{
		/* keys that are true of all rows are none */
		plan->filtered = knn->nkeys > 0;
		plan->nkeys = knn->nkeys;
		plan->key_bytes = ecp_knn_keys_bytes(knn->index, knn->keys, knn->nkeys);
		knn_plan_clusters(knn, plan);
	}
	if (plan->scan.adaptive)
		plan->room = Max(k, plan->scan.k) * 2 + KNN_ROOM_MORE;
	plan->max_queries = (int) Min(nqueries, PG_INT32_MAX / plan->room);
	plan->query_bytes = ecp_vector_bytes(EcpMetaQueryElem(&plan->state.meta),
										 plan->state.meta.ecpm_dims);
	plan->query_stride = MAXALIGN(plan->query_bytes);
	ecp_knn_workers_layout(plan, get_hash_memory_limit());
}

/*
 * Compare the whole table with all queries, and call the visitor with each query's k
 * nearest rows.  Returns the number of rows that this process compared.
 */
static uint64
knn_compare_table(EcpKnn *knn, EcpKnnPlan *plan, EcpKnnInput *input, int k,
				  bool parallel, EcpKnnVisitor visitor, void *arg)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(input->desc, &TTSOpsMinimalTuple);
	uint64		nrows = 0;

	knn_plan(knn, plan, true, k, input->n);
	ecp_knn_workers_start(knn, plan, parallel ? knn_workers(knn, plan, input->n) : 0);
	while (knn_next_batch(knn, input, slot))
	{
		knn_find(knn);
		nrows = ecp_knn_table_rows(knn);
		for (int q = 0; q < knn->shared->nqueries; q++)
		{
			const EcpKnnQuery *query = &knn->queries[q];
			EcpRanked  *nearest = ecp_knn_heap(knn, q);

			knn_settle(knn, nearest, query->nheap);
			visitor(query->id, knn->elements + q * knn->plan->query_stride,
					nearest, query->nheap, arg);
		}
	}
	ecp_knn_workers_stop(knn);
	ExecDropSingleTupleTableSlot(slot);
	return nrows;
}

/*
 * ecp_knn_truth
 *		Find the k nearest rows of each query by comparing the whole table with all
 *		queries, and call the visitor for each query.  Returns the number of rows.
 */
uint64
ecp_knn_truth(Relation heap, Relation index, const EcpIndexState *state,
			  EcpKnnInput *input, int k, EcpKnnVisitor visitor, void *arg)
{
	EcpKnn		knn = {0};
	EcpKnnPlan	plan = {0};

	Assert(k > 0);
	if (input->n == 0)
		return 0;
	knn.heap = heap;
	knn.index = index;
	knn.snapshot = GetActiveSnapshot();
	plan.state = *state;
	return knn_compare_table(&knn, &plan, input, k, false, visitor, arg);
}

/* Is a batch faster than a scan for each query?  On a device it saves reads. */
static bool
knn_pays(const EcpKnn *knn, const EcpKnnPlan *plan, int64 nqueries)
{
	double		shared = (double) nqueries * knn_plan_probes(knn, plan) /
		Max(plan->state.meta.ecpm_nleaves, 1);
	double		least = plan->filtered ? KNN_SHARED_FILTERED : KNN_SHARED;

	least *= Max((double) plan->k / KNN_SHARED_K, 1) *
		Max((double) KNN_SHARED_BYTES / plan->query_bytes, 1);
	return shared >= least || !knn_is_in_memory(knn->index);
}

/* Do scans for the queries want so much of an index on a device that it is read before? */
static bool
knn_is_cold(const EcpKnn *knn, const EcpKnnPlan *plan, int64 nqueries)
{
	return (double) nqueries * plan->scan.probes >=
		KNN_CODES_WANTED * plan->state.meta.ecpm_nleaves &&
		!knn_is_in_memory(knn->index);
}

/*
 * Give the answers of a batch to the visitor.  If the table is not in memory, read its
 * pages that have the rows: the executor would do so in the order of queries.
 */
static void
knn_give_answers(EcpKnn *knn, EcpKnnAnswerVisitor visitor, void *arg)
{
	bool		cold = !knn_is_in_memory(knn->heap);
	Size		max = cold ? mul_size(knn->shared->nqueries, knn->plan->k) : 1;
	EcpSweepRange *ranges = palloc_extended(mul_size(max, sizeof(EcpSweepRange)),
											MCXT_ALLOC_HUGE);
	Size		n = 0;

	for (int q = 0; q < knn->shared->nqueries; q++)
	{
		EcpScanAnswer answer;

		if (!knn_answer(knn, q, &answer))
			continue;
		for (int i = 0; cold && i < answer.n; i++)
		{
			ranges[n].blk = EcpItemBlock(answer.rows[i].item);
			ranges[n++].npages = 1;
		}
		visitor(knn->queries[q].id, &answer, arg);
	}
	if (cold)
		ecp_sweep_read(knn->heap, ranges, n);
	pfree(ranges);
}

/*
 * Codes are compared with one query at a time in any case, so their scans are left to
 * the executor.  If the index is not in memory, read the clusters that they will want
 * before, in the order of blocks, unless these are few or too many.
 */
static void
knn_read_ahead(EcpKnn *knn)
{
	const EcpKnnPlan *plan = knn->plan;
	double		probes = knn_plan_probes(knn, plan);
	EcpSweepRange *ranges;
	Size		nblocks = 0;
	Size		n = 0;

	ecp_knn_workers_run(knn, ECP_KNN_DESCEND, knn->shared->nqueries, KNN_DESCEND_STEP);
	for (int q = 0; q < knn->shared->nqueries; q++)
	{
		const EcpKnnRef *refs = ecp_knn_refs(knn, q);

		for (int r = 0; r < Min(knn->queries[q].nrefs, probes); r++)
		{
			EcpKnnCluster *cluster = &knn->clusters[EcpKnnRefCluster(&refs[r])];

			if (cluster->first == 0 && !cluster->skip)
				nblocks += cluster->npages;
			cluster->first = 1;
		}
	}
	if (nblocks > NBuffers / 2)
		return;
	ranges = palloc_array(EcpSweepRange, Max(nblocks, 1));
	for (uint32 c = 0; c < plan->nslots; c++)
	{
		EcpKnnCluster *cluster = &knn->clusters[c];

		if (cluster->first != 1 || cluster->skip)
			continue;
		ranges[n].blk = pg_atomic_read_u32(&cluster->blk);
		ranges[n++].npages = cluster->npages;
	}
	ecp_sweep_read(knn->index, ranges, n);
	pfree(ranges);
}

/*
 * ecp_knn_find
 *		Find what scans with these keys, under a LIMIT of k, would return for the
 *		queries, whose vectors fit the index, and call the visitor for each query that
 *		needs no scan.  "rows" is how many rows are expected to satisfy the keys; these
 *		may let pass others, if rows are "checked" again.  False if scans are faster.
 */
bool
ecp_knn_find(Relation heap, Relation index, Snapshot snapshot, ScanKeyData *keys,
			 int nkeys, double rows, bool checked, EcpKnnInput *input, int k,
			 EcpKnnAnswerVisitor visitor, void *arg)
{
	EcpKnn		knn = {0};
	EcpKnnPlan	plan = {0};
	TupleTableSlot *slot;
	bool		codes;

	Assert(k > 0 && k <= ECP_KNN_K_MAX && input->n > 0);
	knn.heap = heap;
	knn.index = index;
	knn.snapshot = snapshot;
	knn.keys = keys;
	knn.nkeys = nkeys;
	knn.keys_rows = rows;
	knn.checked = checked;
	ecp_meta_read_state(index, &plan.state);
	if (EcpIndexIsEmpty(&plan.state))
		return false;
	knn_plan(&knn, &plan, false, k, input->n);
	codes = plan.state.leaf.quantizer != ECP_QUANTIZER_NONE;
	if (plan.by_scans || !(codes ? knn_is_cold(&knn, &plan, input->n) :
						   knn_pays(&knn, &plan, input->n)))
		return false;
	slot = MakeSingleTupleTableSlot(input->desc, &TTSOpsMinimalTuple);
	if (!codes)
		pgstat_count_index_scan(index);
	ecp_knn_workers_start(&knn, &plan, codes ? 0 : knn_workers(&knn, &plan, input->n));
	while (knn_next_batch(&knn, input, slot))
	{
		if (codes)
		{
			knn_read_ahead(&knn);
			continue;
		}
		knn_find(&knn);
		knn_give_answers(&knn, visitor, arg);
	}
	ecp_knn_workers_stop(&knn);
	ExecDropSingleTupleTableSlot(slot);
	return !codes;
}

/* Add a query's answer to the result of ecp_knn_exact(). */
static void
exact_put(int64 id, const void *elements, const EcpRanked *nearest, int n, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	Datum		values[4];
	bool		nulls[4] = {false};

	CHECK_FOR_INTERRUPTS();
	values[0] = Int64GetDatum(id);
	for (int i = 0; i < n; i++)
	{
		ItemPointerData tid;

		ItemPointerSet(&tid, EcpItemBlock(nearest[i].item), EcpItemOffset(nearest[i].item));
		values[1] = Int32GetDatum(i + 1);
		values[2] = PointerGetDatum(&tid);
		values[3] = Float8GetDatum(nearest[i].rank);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/*
 * ecp_knn_exact(index regclass, queries anyarray or text, k int, condition text)
 *		The nearest rows of many queries, by comparing the whole table.
 */
Datum
ecp_knn_exact(PG_FUNCTION_ARGS)
{
	EcpKnn		knn = {0};
	EcpKnnPlan	plan = {0};
	EcpKnnInput input;
	int			k;

	if (!ecp_knn_result_begin(fcinfo, 3))
		return (Datum) 0;
	k = ecp_knn_check_number(PG_GETARG_INT32(2), "k");
	knn.index = ecp_user_index_open(fcinfo, AccessShareLock, ECP_INDEX_READ,
									&ecp_index_kind, &knn.heap);
	knn.condition = ecp_knn_condition(fcinfo, 3);
	knn.checked = knn.condition != NULL ||
		check_enable_rls(RelationGetRelid(knn.heap), InvalidOid, false) == RLS_ENABLED;
	knn.snapshot = GetActiveSnapshot();
	ecp_knn_input_init(&input, knn.index);
	ecp_knn_input_read(&input, PG_GETARG_DATUM(1),
					   get_fn_expr_argtype(fcinfo->flinfo, 1));
	/* before anything is read, and also if the index is empty */
	PredicateLockRelation(knn.index, knn.snapshot);
	ecp_meta_read_state(knn.index, &plan.state);
	if (!EcpIndexIsEmpty(&plan.state) && input.n > 0)
		(void) knn_compare_table(&knn, &plan, &input, k, true, exact_put,
								 fcinfo->resultinfo);
	tuplestore_end(input.store);
	index_close(knn.index, AccessShareLock);
	table_close(knn.heap, AccessShareLock);
	return (Datum) 0;
}
