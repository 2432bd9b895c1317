/*-------------------------------------------------------------------------
 *
 * ecp_knn.c
 *	  ecp_knn_batch() and ecp_knn_exact(): the nearest rows of many queries.
 *
 *	 queries	an array of vectors, or what a query of the user's returns
 *				(ecp_knn_input.c); all of them are taken before parallel mode
 *				begins
 *	 batch		as many as work_mem times hash_mem_multiplier has room for
 *	 phases		see ecp_knn.h: descend, clusters or table, fetch, rescan
 *	 answers	query by query, nearest first
 *
 * The answers of ecp_knn_batch() are those of
 *
 *	 SELECT ... FROM queries q, LATERAL
 *		 (SELECT ... FROM items ORDER BY v <-> q.v LIMIT k)
 *
 * with the same settings and snapshot, rows in the same order.  A batch
 * looks at the first window of each scan, which may end where an estimate says
 * so (ecp_knn_wave.c).  When k rows were found there, and the scan would not have
 * read on to find them (see ecp_search.c), that is the answer; if not, the scan
 * itself is run (ecp_knn_rows.c).  With a
 * quantiser the batch compares codes, as scans do (ecp_knn_codes.c), where that
 * saves reads; otherwise scans are faster, and it runs one for each query.
 *
 * With a condition that the index knows, all of this sees only rows that satisfy it;
 * with others, a search is executed for each query (ecp_knn_condition.c).
 *
 * Both functions return TIDs, for a join with the table in the same
 * statement, which has the same snapshot.
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
#include "catalog/pg_type.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/batch/ecp_sweep.h"
#include "ecp/batch/ecp_user_table.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_scan.h"
#include "ecp/search/ecp_stop.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_target.h"
#include "executor/nodeHash.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Items that a process takes at a time: queries to descend for, to decide, */
#define KNN_DESCEND_STEP	32
#define KNN_QUERIES_STEP	256
#define KNN_RESCAN_STEP		4	/* and to search by a scan */

/* Rows with codes that are kept for each candidate, and besides. */
#define KNN_CODES			8
#define KNN_CODES_MORE		64

/*
 * Codes are compared one query at a time in any case, so what a batch of them
 * saves is reads from a device: where each cluster is wanted by a share of a query
 * or more, on average, and where of a sample of blocks, a share is not in memory.
 */
#define KNN_CODES_WANTED	0.25
#define KNN_SAMPLE			32
#define KNN_SAMPLE_MISSING	4

/*
 * In memory a batch must save more by comparing rows with many queries than it costs: on
 * average this many of them have to want each cluster, fewer with a condition, which
 * is then checked once for all; more if rows are soon compared, or many are returned.
 */
#define KNN_SHARED			12
#define KNN_SHARED_FILTERED 6
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

PGDLLEXPORT Datum ecp_knn_batch(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_knn_exact(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_knn_batch);
PG_FUNCTION_INFO_V1(ecp_knn_exact);

/* ---- relations and queries ---- */

/* Open index and table, and check the user's privileges. */
static void
knn_open(EcpKnn *knn, FunctionCallInfo fcinfo)
{
	knn->index = ecp_user_index_open_with_table(fcinfo, AccessShareLock,
												ECP_INDEX_READ, &ecp_index_kind,
												&knn->heap);
	knn->row_security = knn->checked =
		check_enable_rls(RelationGetRelid(knn->heap),
						 InvalidOid, false) == RLS_ENABLED;
	knn->snapshot = GetActiveSnapshot();
	if (!IsMVCCSnapshot(knn->snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ecp index scans need an MVCC snapshot")));
}

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

		query->id = DatumGetInt64(slot_getattr(slot, 1, &isnull));
		query->flags = 0;
		query->nrefs = query->nheap = query->nresults = 0;
		query->vectors = query->filtered = 0;
		query->ncodes = 0;
		query->bound = query->code_bound = get_float8_infinity();
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

/*
 * Turn the visible ones of a query's candidates into its answer.  Returns
 * false if a scan would have looked further for it.
 */
static bool
knn_settle(EcpKnn *knn, int q)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnQuery *query = &knn->queries[q];
	EcpRanked  *heap = ecp_knn_heap(knn, q);
	ItemPointerData *tids = ecp_knn_tids(knn, q);
	bool		refused = query->vectors > query->nheap;
	int			taken = 0;

	Assert(q >= 0 && q < knn->shared->nqueries);
	query->nresults = 0;
	if ((query->flags & ECP_KNN_NULL) != 0)
		return true;
	if ((query->flags & ECP_KNN_NO_PLACE) != 0 && !plan->exact)
		return false;

	while (taken < query->nheap && query->nresults < plan->k)
	{
		int			i = taken++;
		int			n = query->nresults;

		if (!ItemPointerIsValid(&tids[i]))
			continue;
		heap[n].rank = EcpRankedIsNaN(&heap[i]) ? get_float8_nan() :
			ecp_rank_distance(plan->state.meta.ecpm_metric, heap[i].rank);
		heap[n].item = EcpRankedItem(&heap[i]);
		tids[n] = tids[i];
		query->nresults++;
	}
	if (plan->exact)
		return true;
	if ((query->nresults < plan->k && refused) ||
		(query->flags & ECP_KNN_CUT_OFF) != 0 ||
		(ecp_max_scan_tuples >= 0 &&
		 query->vectors + query->filtered >= ecp_max_scan_tuples))
		return false;
	if (ecp_iterative_scan == ECP_ITERATIVE_OFF ||
		(query->flags & ECP_KNN_ALL_READ) != 0)
		return true;
	if (plan->scan.adaptive)
		return query->nresults == plan->k && taken <= plan->scan.k;
	return query->nresults == plan->k &&
		(uint64) taken * ECP_SEARCH_AHEAD <= query->vectors;
}

/*
 * Put a query's candidates in order, as the answer of its scan, with distances.  False
 * if a scan would look further for it.  Those that are not visible are for the executor
 * to find out: unless the answer has all rows that there are, the scan then has to look.
 */
static bool
knn_settle_unseen(EcpKnn *knn, int q, EcpScanAnswer *answer)
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
	if (plan->code_room == 0)
		ecp_knn_compare_sort(heap, query->nheap);
	for (int i = 0; i < answer->n; i++)
	{
		uint64		item = EcpRankedItem(&heap[i]);

		heap[i].rank = EcpRankedIsNaN(&heap[i]) ? get_float8_nan() :
			ecp_rank_distance(plan->state.meta.ecpm_metric, heap[i].rank);
		heap[i].item = item;
	}
	return true;
}

/* Answer the queries that are left. */
static void
knn_answer_rest(EcpKnn *knn)
{
	const EcpMetaPageData *meta = &knn->plan->state.meta;

	if (knn->condition == NULL || !knn->checked)
	{
		ecp_knn_workers_run(knn, ECP_KNN_RESCAN, knn->shared->nrest, KNN_RESCAN_STEP);
		return;
	}
	for (int i = 0; i < knn->shared->nrest; i++)
	{
		uint32		q = knn->rest[i];
		Datum		vector = ecp_vector_make(meta->ecpm_column_type, meta->ecpm_dims,
											 knn->elements + q * knn->plan->query_stride);

		knn->queries[q].nresults =
			ecp_knn_condition_search(knn->condition, vector, ecp_knn_heap(knn, q),
									 ecp_knn_tids(knn, q));
		pfree(DatumGetPointer(vector));
	}
}

/*
 * Answer the queries of the batch by scans, those with a NULL excepted.
 */
static void
knn_answer_by_scans(EcpKnn *knn)
{
	EcpKnnShared *shared = knn->shared;

	shared->nrest = 0;
	for (int q = 0; q < shared->nqueries; q++)
	{
		if ((knn->queries[q].flags & ECP_KNN_NULL) == 0)
			knn->rest[shared->nrest++] = q;
	}
	knn_answer_rest(knn);
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
		ecp_knn_wave_order(knn);
		while (ecp_knn_wave_next(knn))
		{
			ecp_knn_workers_run(knn, ECP_KNN_PLACE, n, KNN_QUERIES_STEP);
			ecp_knn_workers_run(knn, ECP_KNN_CLUSTERS, shared->nactive,
								shared->nactive / (processes * 32));
			ecp_knn_workers_run(knn, ECP_KNN_DECIDE, n, KNN_QUERIES_STEP);
		}
	}
	if (plan->code_room > 0)
		ecp_knn_workers_run(knn, ECP_KNN_RERANK, n,
							(n + processes - 1) / processes);
}

/* Find out which of the candidates are visible. */
static void
knn_fetch(EcpKnn *knn)
{
	int			n = knn->shared->nqueries;
	int			processes = ecp_knn_workers_processes(knn);

	ecp_knn_workers_run(knn, ECP_KNN_FETCH, n, (n + processes - 1) / processes);
	if (knn->checked && !knn->plan->exact)
		ecp_knn_rows_check_policies(knn, knn->tids, n * knn->plan->keep);
}

/* Answer the queries of the batch. */
static void
knn_answer(EcpKnn *knn)
{
	EcpKnnShared *shared = knn->shared;

	if (knn->plan->by_scans)
	{
		knn_answer_by_scans(knn);
		return;
	}
	knn_find(knn);
	knn_fetch(knn);
	shared->nrest = 0;
	for (int q = 0; q < shared->nqueries; q++)
	{
		if (!knn_settle(knn, q))
			knn->rest[shared->nrest++] = q;
	}
	knn_answer_rest(knn);
}

/* Add the answer of a query. */
static void
knn_put_answer(EcpKnnAnswers *rows, int64 id, const EcpRanked *heap,
			   ItemPointerData *tids, int n)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	CHECK_FOR_INTERRUPTS();
	values[0] = Int64GetDatum(id);
	for (int i = 0; i < n; i++)
	{
		values[1] = Int32GetDatum(i + 1);
		values[2] = PointerGetDatum(&tids[i]);
		values[3] = Float8GetDatum(heap[i].rank);
		tuplestore_putvalues(rows->store, rows->desc, values, nulls);
	}
}

static void
knn_put_answers(EcpKnn *knn, EcpKnnAnswers *rows)
{
	for (int q = 0; q < knn->shared->nqueries; q++)
	{
		const EcpKnnQuery *query = &knn->queries[q];

		knn_put_answer(rows, query->id, ecp_knn_heap(knn, q), ecp_knn_tids(knn, q),
					   query->nresults);
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

	if (max_parallel_workers_per_gather == 0 || IsParallelWorker() ||
		knn->checked || RelationUsesLocalBuffers(knn->heap))
		return 0;
	/* index expressions need not be safe in a worker, nor for the caller */
	if ((plan->exact || plan->state.leaf.elem == ECP_ELEM_NIBBLES) &&
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
	share = Min(knn->condition->rows / rows, 1);
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
	int			k = plan->k;
	int			probes;

	/* a scan whose rows are checked wants as many at least */
	if (knn->checked)
		k = Max(k, ECP_TARGET_K);
	ecp_target_plan(knn->index, meta, k, scan);
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
	plan->by_scans = k > scan->k ||
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
		plan->first = EcpLookNext(plan->first);
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

/* Does a batch with codes run a scan for each query? */
static bool
knn_codes_by_scans(const EcpKnn *knn, const EcpKnnPlan *plan, int64 nqueries)
{
	double		wanted = (double) nqueries * plan->scan.probes;

	/* scans have numbers for more refs */
	return plan->max_refs > ECP_KNN_REFS_MAX ||
		wanted < KNN_CODES_WANTED * plan->state.meta.ecpm_nleaves ||
		knn_is_in_memory(knn->index);
}

static void
knn_plan(EcpKnn *knn, EcpKnnPlan *plan, bool exact, int k, int64 nqueries)
{
	Assert(k >= 1 && nqueries >= 1);
	plan->heap_oid = RelationGetRelid(knn->heap);
	plan->index_oid = RelationGetRelid(knn->index);
	plan->exact = exact;
	plan->k = plan->keep = k;
	/* one that is true of all rows has no keys */
	if (!exact && knn->condition && knn->condition->nkeys > 0)
	{
		plan->filtered = true;
		plan->nkeys = knn->condition->nkeys;
		plan->key_bytes = ecp_knn_keys_bytes(knn->index, knn->condition->keys,
											 plan->nkeys);
	}
	if (!exact)
	{
		plan->keep += knn->row_security ? k * 3 : Max(k / 8, 2);
		knn_plan_clusters(knn, plan);
	}

	plan->room = plan->keep;
	/* exact distances from the table are a scan's business */
	if (!exact && plan->state.leaf.elem == ECP_ELEM_NIBBLES)
		plan->by_scans = true;
	else if (!exact && plan->state.leaf.quantizer != ECP_QUANTIZER_NONE)
	{
		plan->by_scans |= knn_codes_by_scans(knn, plan, nqueries);
		if (!plan->by_scans)
			plan->code_room = KNN_CODES * plan->keep + KNN_CODES_MORE;
	}
	if (plan->scan.adaptive)
		plan->room = Max(plan->keep, plan->scan.k) * 2 + KNN_ROOM_MORE;
	plan->max_queries = (int) Min(nqueries, PG_INT32_MAX / plan->room);
	plan->query_bytes = ecp_vector_bytes(EcpMetaQueryElem(&plan->state.meta),
										 plan->state.meta.ecpm_dims);
	plan->query_stride = MAXALIGN(plan->query_bytes);
	ecp_knn_workers_layout(plan, get_hash_memory_limit());
}

/* Find the neighbours of all queries by searches, one after the other. */
static void
knn_search(EcpKnn *knn, EcpKnnInput *input, int k, EcpKnnAnswers *rows)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(input->desc, &TTSOpsMinimalTuple);
	EcpRanked  *found = palloc_array(EcpRanked, k);
	ItemPointerData *tids = palloc_array(ItemPointerData, k);

	while (tuplestore_gettupleslot(input->store, true, false, slot))
	{
		bool		isnull;
		int64		id = DatumGetInt64(slot_getattr(slot, 1, &isnull));
		Datum		vector = slot_getattr(slot, 2, &isnull);
		EcpKnnErrorQuery error_query;
		int			n;

		if (isnull)
			continue;
		ecp_knn_error_begin(&error_query, id);
		n = ecp_knn_condition_search(knn->condition, vector, found, tids);
		ecp_knn_error_end(&error_query);
		knn_put_answer(rows, id, found, tids, n);
	}
	pfree(found);
	pfree(tids);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Find out what is to be done for a condition; returns false if that has been
 * done.
 */
static bool
knn_use_condition(EcpKnn *knn, EcpKnnInput *input, bool exact, int k,
				  const char *text, EcpKnnAnswers *rows)
{
	EcpKnnCondition *condition;

	condition = ecp_knn_condition_create(text);
	knn->condition = condition;
	knn->row_security = false;	/* the policies are in the query */
	knn->checked = true;
	if (exact)
		return true;
	ecp_knn_condition_plan(condition, knn->heap, knn->index, knn->snapshot, k);
	knn->checked = condition->recheck;
	if (!condition->never && !condition->indexed)
		knn_search(knn, input, k, rows);
	return condition->indexed && !condition->never;
}

/* Find the neighbours of all queries. */
static void
knn_execute(EcpKnn *knn, EcpKnnInput *input, bool exact, int k,
			EcpKnnAnswers *rows)
{
	EcpKnnPlan	plan = {0};
	TupleTableSlot *slot;

	/* before anything is read, and also if the index is empty */
	PredicateLockRelation(knn->index, knn->snapshot);
	ecp_meta_read_state(knn->index, &plan.state);
	if (EcpIndexIsEmpty(&plan.state) || input->n == 0)
		return;
	knn_plan(knn, &plan, exact, k, input->n);
	slot = MakeSingleTupleTableSlot(input->desc, &TTSOpsMinimalTuple);
	if (!exact)
		pgstat_count_index_scan(knn->index);
	ecp_knn_workers_start(knn, &plan, knn_workers(knn, &plan, input->n));
	while (knn_next_batch(knn, input, slot))
	{
		knn_answer(knn);
		if (!exact)
			ecp_knn_rows_set_distances(knn);
		knn_put_answers(knn, rows);
	}
	ecp_knn_workers_stop(knn);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Find the k nearest rows of each query by comparing the whole table with all
 * queries, and call the visitor for each query.  Returns the number of rows.
 */
uint64
ecp_knn_truth(Relation heap, Relation index, const EcpIndexState *state,
			  EcpKnnInput *input, int k, EcpKnnVisitor visitor, void *arg)
{
	EcpKnn		knn = {0};
	EcpKnnPlan	plan = {0};
	TupleTableSlot *slot;
	uint64		nrows = 0;

	Assert(k > 0);
	if (input->n == 0)
		return 0;
	knn.heap = heap;
	knn.index = index;
	knn.snapshot = GetActiveSnapshot();
	plan.state = *state;
	knn_plan(&knn, &plan, true, k, input->n);
	slot = MakeSingleTupleTableSlot(input->desc, &TTSOpsMinimalTuple);
	ecp_knn_workers_start(&knn, &plan, 0);
	while (knn_next_batch(&knn, input, slot))
	{
		ecp_knn_workers_run(&knn, ECP_KNN_TABLE, 1, 1);
		nrows = ecp_knn_table_rows(&knn);
		for (int q = 0; q < knn.shared->nqueries; q++)
		{
			const EcpKnnQuery *query = &knn.queries[q];
			EcpRanked  *nearest = ecp_knn_heap(&knn, q);

			ecp_knn_compare_sort(nearest, query->nheap);
			visitor(query->id, knn.elements + q * knn.plan->query_stride,
					nearest, query->nheap, arg);
		}
	}
	ecp_knn_workers_stop(&knn);
	ExecDropSingleTupleTableSlot(slot);
	return nrows;
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

/*
 * Give the answers of a batch to the visitor.  If the table is not in memory, read its
 * pages that have the rows: the executor would do so in the order of queries.
 */
static void
knn_give_answers(EcpKnn *knn, EcpKnnAnswerVisitor visitor, void *arg)
{
	bool		cold = !knn_is_in_memory(knn->heap);
	Size		max = cold ? mul_size(knn->shared->nqueries, knn->plan->keep) : 1;
	BlockNumber *blocks = palloc_extended(mul_size(max, sizeof(BlockNumber)),
										  MCXT_ALLOC_HUGE);
	Size		nblocks = 0;

	for (int q = 0; q < knn->shared->nqueries; q++)
	{
		EcpScanAnswer answer;

		if (!knn_settle_unseen(knn, q, &answer))
			continue;
		for (int i = 0; cold && i < answer.n; i++)
			blocks[nblocks++] = (BlockNumber) (answer.rows[i].item >> 16);
		visitor(knn->queries[q].id, &answer, arg);
	}
	if (cold)
		ecp_sweep_read(knn->heap, blocks, nblocks);
	pfree(blocks);
}

/*
 * ecp_knn_find
 *		Find what scans with these keys, under a LIMIT of k, would return for the
 *		queries, whose vectors fit the index, and call the visitor for each query that
 *		needs no scan.  "rows" is how many rows are expected to satisfy the keys.  False
 *		if scans are faster.
 */
bool
ecp_knn_find(Relation heap, Relation index, Snapshot snapshot, ScanKeyData *keys,
			 int nkeys, double rows, EcpKnnInput *input, int k,
			 EcpKnnAnswerVisitor visitor, void *arg)
{
	EcpKnn		knn = {0};
	EcpKnnPlan	plan = {0};
	EcpKnnCondition condition = {0};
	TupleTableSlot *slot;

	Assert(k > 0 && k <= ECP_KNN_K_MAX && input->n > 0);
	knn.heap = heap;
	knn.index = index;
	knn.snapshot = snapshot;
	condition.rows = rows;
	condition.nkeys = nkeys;
	condition.keys = keys;
	knn.condition = &condition;
	ecp_meta_read_state(index, &plan.state);
	if (EcpIndexIsEmpty(&plan.state))
		return false;
	knn_plan(&knn, &plan, false, k, input->n);
	if (plan.by_scans || !knn_pays(&knn, &plan, input->n))
		return false;
	slot = MakeSingleTupleTableSlot(input->desc, &TTSOpsMinimalTuple);
	pgstat_count_index_scan(index);
	ecp_knn_workers_start(&knn, &plan, 0);
	while (knn_next_batch(&knn, input, slot))
	{
		knn_find(&knn);
		knn_give_answers(&knn, visitor, arg);
	}
	ecp_knn_workers_stop(&knn);
	ExecDropSingleTupleTableSlot(slot);
	return true;
}

/*
 * ecp_knn_answers_find
 *		The answer of a function whose first two arguments are an index and
 *		queries: an array of vectors, or the text of a query.  "condition" may be
 *		NULL.
 */
void
ecp_knn_answers_find(FunctionCallInfo fcinfo, bool exact, int k,
					 const char *condition, EcpKnnAnswers *rows)
{
	EcpKnn		knn = {0};
	EcpKnnInput input;

	if (k < 1 || k > ECP_KNN_K_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be between 1 and %d", ECP_KNN_K_MAX)));
	knn_open(&knn, fcinfo);

	ecp_knn_input_init(&input, knn.index);
	ecp_knn_input_read(&input, PG_GETARG_DATUM(1),
					   get_fn_expr_argtype(fcinfo->flinfo, 1));
	if (condition == NULL ||
		knn_use_condition(&knn, &input, exact, k, condition, rows))
		knn_execute(&knn, &input, exact, k, rows);

	if (knn.condition)
		ecp_knn_condition_free(knn.condition);
	if (rows->queries)
		*rows->queries = input;
	else
		tuplestore_end(input.store);
	index_close(knn.index, AccessShareLock);
	table_close(knn.heap, AccessShareLock);
}

/* Where rows are collected that are not yet the result. */
void
ecp_knn_answers_init(EcpKnnAnswers *rows)
{
	rows->store = tuplestore_begin_heap(false, false, work_mem);
	rows->queries = NULL;
	rows->desc = CreateTemplateTupleDesc(4);
	TupleDescInitEntry(rows->desc, 1, "query", INT8OID, -1, 0);
	TupleDescInitEntry(rows->desc, 2, "rank", INT4OID, -1, 0);
	TupleDescInitEntry(rows->desc, 3, "tid", TIDOID, -1, 0);
	TupleDescInitEntry(rows->desc, 4, "distance", FLOAT8OID, -1, 0);
	TupleDescFinalize(rows->desc);
}

/*
 * ecp_knn_...(index regclass, queries anyarray or text, k int, condition text)
 */
static void
knn_call(FunctionCallInfo fcinfo, bool exact)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	EcpKnnAnswers rows;

	InitMaterializedSRF(fcinfo, 0);
	rows.store = rsinfo->setResult;
	rows.desc = rsinfo->setDesc;
	rows.queries = NULL;
	/* nothing of anything else that is NULL */
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return;
	ecp_knn_answers_find(fcinfo, exact, PG_GETARG_INT32(2),
						 PG_ARGISNULL(3) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(3)),
						 &rows);
}

/*
 * The nearest rows of many queries, through an index.
 */
Datum
ecp_knn_batch(PG_FUNCTION_ARGS)
{
	knn_call(fcinfo, false);
	return (Datum) 0;
}

/*
 * The same by comparing the whole table.
 */
Datum
ecp_knn_exact(PG_FUNCTION_ARGS)
{
	knn_call(fcinfo, true);
	return (Datum) 0;
}
