/*-------------------------------------------------------------------------
 *
 * ecp_knn_workers.c
 *	  Many queries at once: the memory of a batch, and its processes.
 *
 * A phase is a task of a team (base/team.c): the main process and its workers take
 * items from a counter until none is left, and what the next phase reads is
 * complete when all have.  Without workers the same arrays are palloc'd, and a
 * phase is a function call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "base/topk.h"
#include "base/wait_event.h"
#include "ecp/batch/ecp_knn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "vector/vector_distance.h"

/* A batch has at least this number of queries, whatever work_mem is. */
#define KNN_QUERIES_MIN		16

/* Bytes of a query, at most, that are not in the shared arrays. */
#define KNN_PREPARED_BYTES	256

/* Add an array to the memory that begins at "base"; NULL while its size is found. */
static void *
layout_array(char *base, Size *bytes, Size n, Size item_bytes)
{
	Size		at = *bytes;

	*bytes += MAXALIGN(mul_size(n, item_bytes));
	return base ? base + at : NULL;
}

/* Set where the arrays are; returns the bytes of all. */
static Size
layout_arrays(EcpKnn *knn, const EcpKnnPlan *plan, char *base)
{
	Size		bytes = MAXALIGN(sizeof(EcpKnnShared));
	Size		n = plan->max_queries;

	knn->elements = layout_array(base, &bytes, n, plan->query_stride);
	knn->queries = layout_array(base, &bytes, n, sizeof(EcpKnnQuery));
	knn->heaps = layout_array(base, &bytes, mul_size(n, plan->room), sizeof(EcpRanked));
	knn->refs = layout_array(base, &bytes, mul_size(n, plan->max_refs), sizeof(EcpKnnRef));
	knn->clusters = layout_array(base, &bytes, plan->nslots, sizeof(EcpKnnCluster));
	knn->active = layout_array(base, &bytes, plan->max_clusters, sizeof(EcpKnnOrder));
	knn->pairs = layout_array(base, &bytes, mul_size(n, plan->max_read), sizeof(EcpKnnPair));
	knn->key_memory = layout_array(base, &bytes, 1, plan->key_bytes);
	return bytes;
}

/*
 * Plan the memory of as many queries as "memory" has room for, and not more than
 * plan->max_queries.
 */
void
ecp_knn_workers_layout(EcpKnnPlan *plan, Size memory)
{
	EcpKnn		knn;
	Size		per_query;

	Assert(plan->max_queries > 0 && plan->room >= plan->k);
	per_query = plan->query_stride + sizeof(EcpKnnQuery) +
		mul_size(plan->room, sizeof(EcpRanked)) +
		mul_size(plan->max_refs, sizeof(EcpKnnRef)) +
		mul_size(plan->max_read, sizeof(EcpKnnPair)) +
		plan->query_stride + KNN_PREPARED_BYTES;
	plan->max_queries = Min(Max(memory / per_query, KNN_QUERIES_MIN), plan->max_queries);
	if (!plan->exact)
	{
		plan->max_clusters = plan->state.meta.ecpm_nleaves +
			plan->state.meta.ecpm_nbuffers + 1;
		plan->nslots = pg_nextpower2_32(plan->max_clusters / 2 * 3 + 1);
	}
	plan->bytes = layout_arrays(&knn, plan, NULL);
}

static inline bool
knn_has_team(const EcpKnn *knn)
{
	return knn->team.shared != NULL;
}

/* Find the arrays, in this process. */
static void
knn_attach(EcpKnn *knn, EcpKnnShared *shared)
{
	knn->shared = shared;
	knn->plan = &shared->plan;
	(void) layout_arrays(knn, knn->plan, (char *) shared);

	knn->context = AllocSetContextCreate(CurrentMemoryContext, "ecp batch",
										 ALLOCSET_DEFAULT_SIZES);
	knn->prepared.context = AllocSetContextCreate(knn->context, "ecp batch, queries",
												  ALLOCSET_DEFAULT_SIZES);
	knn->prepared.queries = MemoryContextAllocExtended(knn->context,
													   mul_size(knn->plan->max_queries,
																sizeof(EcpQuery *)),
													   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Fill new memory, but for the team's part. */
static void
knn_init_shared(EcpKnn *knn, EcpKnnShared *shared, const EcpKnnPlan *plan)
{
	memset((char *) shared + sizeof(EcpTeamShared), 0,
		   sizeof(EcpKnnShared) - sizeof(EcpTeamShared));
	shared->plan = *plan;
	knn_attach(knn, shared);
	if (plan->filtered)
		ecp_knn_keys_write(knn->index, knn->keys, knn->nkeys,
						   knn->key_memory);
	for (int q = 0; q < plan->max_queries; q++)
		SpinLockInit(&knn->queries[q].mutex);
	for (uint32 c = 0; c < plan->nslots; c++)
	{
		EcpKnnCluster *cluster = &knn->clusters[c];

		memset(cluster, 0, sizeof(EcpKnnCluster));
		pg_atomic_init_u32(&cluster->blk, 0);
		pg_atomic_init_u32(&cluster->wanted, 0);
		pg_atomic_init_u32(&cluster->placed, 0);
	}
}

/*
 * A team that shares the memory that "plan" describes, for fewer queries at a
 * time if there is no room for it.  Returns false if there is none for a few,
 * either; the plan is then what it was.
 */
static bool
knn_create_team(EcpKnn *knn, EcpKnnPlan *plan, int nworkers)
{
	const EcpKnnPlan whole = *plan;

	knn->team.memory_setting = "work_mem";
	while (!ecp_team_create(&knn->team, "ecp_knn_workers_main", nworkers,
							plan->bytes, knn->heap,
							plan->exact ? knn->snapshot : NULL,
							ecp_wait_event(ECP_WAIT_BATCH)))
	{
		if (plan->max_queries <= KNN_QUERIES_MIN)
		{
			*plan = whole;
			return false;
		}
		plan->max_queries = Max(plan->max_queries / 2, KNN_QUERIES_MIN);
		ecp_knn_workers_layout(plan, get_hash_memory_limit());
	}
	return true;
}

/* Read the keys of a condition, of which each process has a filter of its own. */
static void
knn_set_filter(EcpKnn *knn)
{
	const EcpKnnPlan *plan = knn->plan;
	bool		never;
	bool		recheck;

	if (!plan->filtered)
		return;
	knn->keys = ecp_knn_keys_read(knn->key_memory, plan->nkeys);
	knn->filter = ecp_attr_filter_create(knn->index, knn->keys, plan->nkeys,
										 &never, &recheck);
	if (knn->filter)
		knn->summary = ecp_attr_filter_summary(knn->filter, &plan->state.meta);
}

/*
 * Make the memory that "plan" describes and start at most "nworkers"
 * workers.  The relations are open; parallel mode lasts until
 * ecp_knn_workers_stop().
 */
void
ecp_knn_workers_start(EcpKnn *knn, EcpKnnPlan *plan, int nworkers)
{
	Assert(plan->max_queries > 0 &&
		   plan->bytes > sizeof(EcpKnnShared));
	if (nworkers > 0 && knn_create_team(knn, plan, nworkers))
	{
		knn_init_shared(knn, (EcpKnnShared *) knn->team.shared, plan);
		ecp_team_launch(&knn->team, false);
	}
	else
		knn_init_shared(knn, palloc_extended(plan->bytes, MCXT_ALLOC_HUGE),
						plan);
	knn_set_filter(knn);
}

/* Do items first .. end - 1 of a phase. */
static void
knn_work(EcpKnn *knn, EcpKnnPhase phase, int first, int end)
{
	Assert(first >= 0 && first < end);
	if (knn->prepared.batch != knn->shared->batch)
	{
		/* what is prepared is of other queries */
		knn->prepared.batch = knn->shared->batch;
		MemoryContextReset(knn->prepared.context);
		memset(knn->prepared.queries, 0,
			   knn->shared->nqueries * sizeof(EcpQuery *));
	}
	switch (phase)
	{
		case ECP_KNN_DESCEND:
			ecp_knn_descent(knn, first, end);
			break;
		case ECP_KNN_PLACE:
			ecp_knn_wave_place(knn, first, end);
			break;
		case ECP_KNN_CLUSTERS:
			ecp_knn_read(knn, first, end);
			break;
		case ECP_KNN_DECIDE:
			ecp_knn_wave_decide(knn, first, end);
			break;
		case ECP_KNN_TABLE:
			ecp_knn_table(knn);
			break;
		default:
			elog(ERROR, "unrecognized phase of a batch: %d", (int) phase);
	}
}

/* A process's part of a phase. */
void
ecp_knn_workers_task(EcpTeam *team, const void *args, char **memories)
{
	EcpKnnPhase phase = *(const EcpKnnPhase *) args;
	int64		first;
	int64		end;

	while (ecp_team_claim(team, &first, &end))
	{
		CHECK_FOR_INTERRUPTS();
		knn_work((EcpKnn *) team, phase, first, end);
	}
}

/*
 * One phase of a batch, from the first item to the last.  "step" is how many
 * items a process takes at a time.
 */
void
ecp_knn_workers_run(EcpKnn *knn, EcpKnnPhase phase, int nitems, int step)
{
	Assert(nitems >= 0);
	if (nitems == 0)
		return;
	if (knn_has_team(knn))
		ecp_team_run(&knn->team, EcpTaskOf(ecp_knn_workers_task), &phase,
					 sizeof(phase), nitems, Max(step, 1), NULL, 0);
	else
		knn_work(knn, phase, 0, nitems);
}

/* Processes that do the items of a phase. */
int
ecp_knn_workers_processes(const EcpKnn *knn)
{
	return knn_has_team(knn) ? 1 + knn->team.nworkers : 1;
}

/* End the workers, and release what this process has of its own. */
void
ecp_knn_workers_stop(EcpKnn *knn)
{
	if (knn_has_team(knn))
		ecp_team_end(&knn->team);
	else
		pfree(knn->shared);
	knn->shared = NULL;
	knn->plan = NULL;
	MemoryContextDelete(knn->context);
}

/*
 * The entry point of a worker.
 */
void
ecp_knn_workers_main(dsm_segment *seg, shm_toc *toc)
{
	EcpKnn		knn = {0};

	ecp_team_attach(&knn.team, toc);
	knn_attach(&knn, (EcpKnnShared *) knn.team.shared);
	knn.heap = table_open(knn.plan->heap_oid, AccessShareLock);
	knn.index = index_open(knn.plan->index_oid, AccessShareLock);
	knn.snapshot = GetActiveSnapshot();
	knn_set_filter(&knn);

	ecp_team_work(&knn.team);

	index_close(knn.index, AccessShareLock);
	table_close(knn.heap, AccessShareLock);
}
