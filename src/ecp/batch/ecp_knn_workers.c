/*-------------------------------------------------------------------------
 *
 * ecp_knn_workers.c
 *	  Many queries at once: the memory of a batch, and who works on it.
 *
 * The leader publishes one phase after the other (ecp_knn_run) and works on
 * it like everybody else: take the next few items, do them, count them as
 * done.  A phase is over when all of its items are done, not when all
 * workers have come by, so workers that start late or not at all do no harm.
 * Nobody changes what a phase reads while one of its items is out.
 *
 * Without workers the same arrays are palloc'd and a phase is a function
 * call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/topk.h"
#include "ecp/batch/ecp_knn.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "vector/vector_distance.h"

#define KNN_KEY_SHARED		UINT64CONST(0xEC90000000000001)
#define KNN_KEY_PSCAN		UINT64CONST(0xEC90000000000002)
#define KNN_KEY_BUFFERS		UINT64CONST(0xEC90000000000003)
#define KNN_KEY_WAL			UINT64CONST(0xEC90000000000004)

/* A batch has at least that many queries, whatever work_mem says. */
#define KNN_QUERIES_MIN		16

/* Bytes of a query, at most, that are not in the shared arrays. */
#define KNN_PREPARED_BYTES	256

/*
 * Lay out the arrays for as many queries as "memory" has room for, and not
 * more than shared->max_queries.
 */
void
ecp_knn_layout(EcpKnnShared *shared, Size memory)
{
	Size		per_query;
	Size		n;
	Size		pos = MAXALIGN(sizeof(EcpKnnShared));

	per_query = shared->query_stride + sizeof(EcpKnnQuery) + sizeof(uint32) +
		mul_size(shared->room, sizeof(EcpRanked)) +
		mul_size(shared->keep, sizeof(ItemPointerData)) +
		shared->query_stride + KNN_PREPARED_BYTES;
	if (!shared->exact)
		per_query += mul_size(shared->max_refs,
							  sizeof(EcpKnnRef) + sizeof(EcpKnnPair));
	n = Max(memory / per_query, KNN_QUERIES_MIN);
	n = shared->max_queries = Min(n, shared->max_queries);

	shared->off_elements = pos;
	pos += MAXALIGN(mul_size(n, shared->query_stride));
	shared->off_queries = pos;
	pos += MAXALIGN(mul_size(n, sizeof(EcpKnnQuery)));
	shared->off_heaps = pos;
	pos += mul_size(mul_size(n, shared->room), sizeof(EcpRanked));
	shared->off_tids = pos;
	pos += MAXALIGN(mul_size(mul_size(n, shared->keep),
							 sizeof(ItemPointerData)));
	shared->off_rest = pos;
	pos += MAXALIGN(mul_size(n, sizeof(uint32)));
	shared->off_refs = shared->off_clusters = shared->off_pairs = pos;
	shared->off_order = shared->off_active = pos;
	if (!shared->exact)
	{
		Size		nrefs = mul_size(n, shared->max_refs);

		shared->max_clusters = shared->state.meta.ecpm_nleaves +
			shared->state.meta.ecpm_nbuffers + 1;
		shared->nslots = pg_nextpower2_32(shared->max_clusters / 2 * 3 + 1);
		pos += mul_size(nrefs, sizeof(EcpKnnRef));
		shared->off_clusters = pos;
		pos += mul_size(shared->nslots, sizeof(EcpKnnCluster));
		shared->off_order = pos;
		pos += mul_size(shared->max_clusters, sizeof(EcpKnnOrder));
		shared->off_active = pos;
		pos += MAXALIGN(mul_size(shared->max_clusters, sizeof(uint32)));
		shared->off_pairs = pos;
		pos += mul_size(nrefs, sizeof(EcpKnnPair));
	}
	shared->bytes = pos;
}

/* Find the arrays, in this process. */
void
ecp_knn_attach(EcpKnn *knn, EcpKnnShared *shared)
{
	char	   *base = (char *) shared;

	knn->shared = shared;
	knn->elements = base + shared->off_elements;
	knn->queries = (EcpKnnQuery *) (base + shared->off_queries);
	knn->heaps = (EcpRanked *) (base + shared->off_heaps);
	knn->tids = (ItemPointerData *) (base + shared->off_tids);
	knn->rest = (uint32 *) (base + shared->off_rest);
	knn->refs = (EcpKnnRef *) (base + shared->off_refs);
	knn->clusters = (EcpKnnCluster *) (base + shared->off_clusters);
	knn->order = (EcpKnnOrder *) (base + shared->off_order);
	knn->active = (uint32 *) (base + shared->off_active);
	knn->pairs = (EcpKnnPair *) (base + shared->off_pairs);

	knn->context = AllocSetContextCreate(CurrentMemoryContext, "ecp batch",
										 ALLOCSET_DEFAULT_SIZES);
	knn->prepared = palloc_extended(mul_size(shared->max_queries,
											 sizeof(EcpQuery *)),
									MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static void
knn_init_shared(EcpKnnShared *shared, const EcpKnnShared *plan)
{
	*shared = *plan;
	SpinLockInit(&shared->mutex);
	pg_atomic_init_u32(&shared->early, 0);
	shared->phase = ECP_KNN_WAIT;
	ConditionVariableInit(&shared->work);
	ConditionVariableInit(&shared->done);
	for (int i = 0; i < shared->max_queries; i++)
	{
		EcpKnnQuery *query = (EcpKnnQuery *) ((char *) shared +
											  shared->off_queries) + i;

		SpinLockInit(&query->mutex);
	}
	for (uint32 c = 0; c < shared->nslots; c++)
	{
		EcpKnnCluster *cluster = (EcpKnnCluster *) ((char *) shared +
													shared->off_clusters) + c;

		memset(cluster, 0, sizeof(EcpKnnCluster));
		pg_atomic_init_u32(&cluster->blk, 0);
		pg_atomic_init_u32(&cluster->wanted, 0);
		pg_atomic_init_u32(&cluster->placed, 0);
	}
}

/* A segment for the batch, and workers.  Returns false if there are none. */
static bool
knn_start_workers(EcpKnn *knn, const EcpKnnShared *plan, int nworkers)
{
	ParallelContext *pcxt;
	EcpKnnShared *shared;
	Size		usage;

	EnterParallelMode();
	pcxt = CreateParallelContext("$libdir/ecp", "ecp_knn_worker_main", nworkers);
	usage = mul_size(nworkers, sizeof(BufferUsage));
	shm_toc_estimate_chunk(&pcxt->estimator, plan->bytes);
	shm_toc_estimate_chunk(&pcxt->estimator, usage);
	shm_toc_estimate_chunk(&pcxt->estimator,
						   mul_size(nworkers, sizeof(WalUsage)));
	shm_toc_estimate_keys(&pcxt->estimator, 3);
	if (plan->exact)
	{
		shm_toc_estimate_chunk(&pcxt->estimator,
							   table_parallelscan_estimate(knn->heap,
														   knn->snapshot));
		shm_toc_estimate_keys(&pcxt->estimator, 1);
	}
	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
	{
		DestroyParallelContext(pcxt);
		ExitParallelMode();
		return false;
	}

	shared = shm_toc_allocate(pcxt->toc, plan->bytes);
	knn_init_shared(shared, plan);
	shm_toc_insert(pcxt->toc, KNN_KEY_SHARED, shared);
	knn->buffer_usage = shm_toc_allocate(pcxt->toc, usage);
	shm_toc_insert(pcxt->toc, KNN_KEY_BUFFERS, knn->buffer_usage);
	knn->wal_usage = shm_toc_allocate(pcxt->toc,
									  mul_size(nworkers, sizeof(WalUsage)));
	shm_toc_insert(pcxt->toc, KNN_KEY_WAL, knn->wal_usage);
	if (plan->exact)
	{
		knn->pscan = shm_toc_allocate(pcxt->toc,
									  table_parallelscan_estimate(knn->heap,
																  knn->snapshot));
		table_parallelscan_initialize(knn->heap, knn->pscan, knn->snapshot);
		shm_toc_insert(pcxt->toc, KNN_KEY_PSCAN, knn->pscan);
	}

	LaunchParallelWorkers(pcxt);
	shared->participants = 1 + pcxt->nworkers_launched;
	knn->pcxt = pcxt;
	ecp_knn_attach(knn, shared);
	return true;
}

/*
 * Make the memory that "plan" describes and start at most "nworkers"
 * workers.  The relations are open; parallel mode lasts until
 * ecp_knn_stop().
 */
void
ecp_knn_start(EcpKnn *knn, const EcpKnnShared *plan, int nworkers)
{
	EcpKnnShared *shared;

	if (nworkers > 0 && knn_start_workers(knn, plan, nworkers))
		return;
	shared = palloc_extended(plan->bytes, MCXT_ALLOC_HUGE);
	knn_init_shared(shared, plan);
	shared->participants = 1;
	ecp_knn_attach(knn, shared);
}

/* Do items first .. end - 1 of a phase. */
static void
knn_work(EcpKnn *knn, EcpKnnPhase phase, int first, int end)
{
	EcpKnnShared *shared = knn->shared;

	if (knn->batch != shared->batch)
	{
		/* what was prepared is for other queries */
		knn->batch = shared->batch;
		MemoryContextReset(knn->context);
		memset(knn->prepared, 0, shared->nqueries * sizeof(EcpQuery *));
	}
	switch (phase)
	{
		case ECP_KNN_DESCEND:
			ecp_knn_descend(knn, first, end);
			break;
		case ECP_KNN_PLACE:
			ecp_knn_place(knn, first, end);
			break;
		case ECP_KNN_CLUSTERS:
			ecp_knn_clusters(knn, first, end);
			break;
		case ECP_KNN_DECIDE:
			ecp_knn_decide(knn, first, end);
			break;
		case ECP_KNN_TABLE:
			ecp_knn_table(knn);
			break;
		case ECP_KNN_FETCH:
			ecp_knn_fetch(knn, first, end);
			break;
		case ECP_KNN_RESCAN:
			ecp_knn_rescan(knn, first, end);
			break;
		default:
			elog(ERROR, "unrecognized phase of a batch: %d", (int) phase);
	}
}

/*
 * Take items and do them until none is left.  Returns the phase that it saw
 * in the end.
 */
static EcpKnnPhase
knn_work_off(EcpKnn *knn)
{
	EcpKnnShared *shared = knn->shared;

	for (;;)
	{
		EcpKnnPhase phase;
		int			first;
		int			end;
		bool		all_done;

		CHECK_FOR_INTERRUPTS();
		SpinLockAcquire(&shared->mutex);
		phase = shared->phase;
		first = shared->next;
		end = Min(first + shared->step, shared->nitems);
		shared->next = end;
		SpinLockRelease(&shared->mutex);
		if (phase == ECP_KNN_WAIT || phase == ECP_KNN_END || first >= end)
			return phase;

		knn_work(knn, phase, first, end);

		SpinLockAcquire(&shared->mutex);
		shared->ndone += end - first;
		all_done = shared->ndone == shared->nitems;
		SpinLockRelease(&shared->mutex);
		if (all_done)
			ConditionVariableBroadcast(&shared->done);
	}
}

static bool
knn_phase_is_done(EcpKnnShared *shared)
{
	bool		done;

	SpinLockAcquire(&shared->mutex);
	done = shared->ndone == shared->nitems;
	SpinLockRelease(&shared->mutex);
	return done;
}

static void
knn_publish(EcpKnnShared *shared, EcpKnnPhase phase, int nitems, int step)
{
	SpinLockAcquire(&shared->mutex);
	shared->phase = phase;
	shared->next = shared->ndone = 0;
	shared->nitems = nitems;
	shared->step = Max(step, 1);
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->work);
}

/*
 * One phase of a batch, from the first item to the last.  "step" is how many
 * items a participant takes at a time.
 */
void
ecp_knn_run(EcpKnn *knn, EcpKnnPhase phase, int nitems, int step)
{
	EcpKnnShared *shared = knn->shared;

	if (nitems == 0)
		return;
	if (knn->pcxt == NULL)
	{
		knn_work(knn, phase, 0, nitems);
		return;
	}
	knn_publish(shared, phase, nitems, step);
	(void) knn_work_off(knn);
	ConditionVariablePrepareToSleep(&shared->done);
	while (!knn_phase_is_done(shared))
		ConditionVariableSleep(&shared->done, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
}

/* Send the workers home and release what the participant has of its own. */
void
ecp_knn_stop(EcpKnn *knn)
{
	ecp_knn_reader_free(knn);
	ecp_knn_table_free(knn);
	if (knn->pcxt != NULL)
	{
		knn_publish(knn->shared, ECP_KNN_END, 0, 1);
		WaitForParallelWorkersToFinish(knn->pcxt);
		for (int i = 0; i < knn->pcxt->nworkers_launched; i++)
			InstrAccumParallelQuery(&knn->buffer_usage[i], &knn->wal_usage[i]);
		DestroyParallelContext(knn->pcxt);
		ExitParallelMode();
		knn->pcxt = NULL;
	}
	else
		pfree(knn->shared);
	knn->shared = NULL;
	MemoryContextDelete(knn->context);
	pfree(knn->prepared);
}

/* Has a batch begun, or ended, since what we made for the last one? */
static bool
knn_has_work(EcpKnnShared *shared)
{
	bool		work;

	SpinLockAcquire(&shared->mutex);
	work = shared->phase == ECP_KNN_END || shared->next < shared->nitems;
	SpinLockRelease(&shared->mutex);
	return work;
}

/*
 * The entry point of a worker.
 */
void
ecp_knn_worker_main(dsm_segment *seg, shm_toc *toc)
{
	EcpKnnShared *shared = shm_toc_lookup(toc, KNN_KEY_SHARED, false);
	BufferUsage *buffers = shm_toc_lookup(toc, KNN_KEY_BUFFERS, false);
	WalUsage   *wal = shm_toc_lookup(toc, KNN_KEY_WAL, false);
	EcpKnn		knn = {0};

	knn.heap = table_open(shared->heap_oid, AccessShareLock);
	knn.index = index_open(shared->index_oid, AccessShareLock);
	knn.snapshot = GetActiveSnapshot();
	knn.pscan = shm_toc_lookup(toc, KNN_KEY_PSCAN, true);
	ecp_knn_attach(&knn, shared);
	InstrStartParallelQuery();

	while (knn_work_off(&knn) != ECP_KNN_END)
	{
		ConditionVariablePrepareToSleep(&shared->work);
		while (!knn_has_work(shared))
			ConditionVariableSleep(&shared->work, PG_WAIT_EXTENSION);
		ConditionVariableCancelSleep();
	}

	ecp_knn_reader_free(&knn);
	ecp_knn_table_free(&knn);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber],
						  &wal[ParallelWorkerNumber]);
	index_close(knn.index, AccessShareLock);
	table_close(knn.heap, AccessShareLock);
}
