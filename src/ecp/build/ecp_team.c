/*-------------------------------------------------------------------------
 *
 * ecp_team.c
 *	  Parallel workers of an index build.
 *
 * The backend launches workers once, after the sample was taken, and gives
 * them one task after the other: parts of the choice of leaders, the scan
 * of the table, the writing of leaves, the searches for the recall curve.  It does its own part of each task and waits for the
 * others.  Items of a task are claimed from a counter, so that nobody waits
 * for a slow worker longer than a claim takes.  No result may depend on who
 * did an item: that makes the index the same for any number of workers.
 *
 * What a task works on lies in dynamic shared memory segments of its own
 * (EcpMemory), which workers attach when a task names them and give up when
 * one does not.  Errors of workers reach the backend with the next interrupt
 * that it looks for, and a worker ends when the backend does: both as in
 * every parallel operation of the server.
 *
 * Used by ecp_build.c, ecp_leaders.c, ecp_kmeans.c, ecp_merge.c and
 * ecp_calibrate.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "ecp/build/ecp_build.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/proc.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#define MEMORY_ALIGN	64

/* Keys of the parallel context's table of contents. */
#define TEAM_KEY_SHARED			UINT64CONST(0xEC90000000000001)
#define TEAM_KEY_SCAN			UINT64CONST(0xEC90000000000002)
#define TEAM_KEY_WAL_USAGE		UINT64CONST(0xEC90000000000003)
#define TEAM_KEY_BUFFER_USAGE	UINT64CONST(0xEC90000000000004)
#define TEAM_KEY_QUERY			UINT64CONST(0xEC90000000000005)

typedef struct TeamTask
{
	EcpTask		kind;
	int64		nitems;
	int64		step;
	dsm_handle	memories[ECP_TASK_MEMORIES];
	char		args[ECP_TASK_ARGS_BYTES] pg_attribute_aligned(8);
} TeamTask;

typedef struct TeamShared
{
	/* constant */
	Oid			heap;
	Oid			index;
	bool		concurrent;
	dsm_handle	files;

	/* the metapage to be and geometry, as of the start of the task */
	EcpIndexState state;

	pg_atomic_uint64 next_item;
	pg_atomic_uint64 rows;
	pg_atomic_uint64 ahead;
	ConditionVariable start_cv;
	ConditionVariable done_cv;

	slock_t		mutex;			/* protects all below */
	uint64		generation;		/* of task */
	int			nbusy;			/* workers that are not done with it */
	TeamTask	task;
	double		heap_tuples;
	double		index_tuples;
	uint32		rounds;
	bool		broken_hot_chain;
	double		cpu_s;
	EcpFilesCount count;
} TeamShared;

/* One process's view. */
struct EcpTeam
{
	EcpBuild   *build;
	TeamShared *shared;
	ParallelTableScanDesc scan;
	TableScanDesc joined;		/* our part of it */

	/* the backend only */
	ParallelContext *pcxt;
	Snapshot	snapshot;
	WalUsage   *wal_usage;
	BufferUsage *buffer_usage;
};

/* A worker's attached memories. */
typedef struct TeamAttached
{
	dsm_segment *segs[ECP_TASK_MEMORIES];
} TeamAttached;

PGDLLEXPORT void ecp_team_main(dsm_segment *seg, shm_toc *toc);

static const EcpTaskFunction team_tasks[] = {
	[ECP_TASK_NEAREST] = ecp_kmeans_nearest_task,
	[ECP_TASK_NEAR] = ecp_kmeans_near_task,
	[ECP_TASK_MEANS] = ecp_kmeans_means_task,
	[ECP_TASK_GROUPS] = ecp_leaders_groups_task,
	[ECP_TASK_SCAN] = ecp_build_scan_task,
	[ECP_TASK_MERGE] = ecp_merge_task,
	[ECP_TASK_CALIBRATE] = ecp_calibration_task
};

/* ---- memory ---- */

/* Memory with room for 63 bytes more, which kernels may read. */
void
ecp_memory_alloc(EcpMemory *memory, bool shared, Size bytes)
{
	bytes = add_size(bytes, 2 * MEMORY_ALIGN);
	memory->seg = NULL;
	memory->allocated = NULL;
	if (shared)
	{
		memory->seg = dsm_create(bytes, 0);
		memory->address = dsm_segment_address(memory->seg);
	}
	else
	{
		memory->allocated = palloc_extended(bytes, MCXT_ALLOC_HUGE);
		memory->address = memory->allocated;
	}
	memory->address = (char *) TYPEALIGN(MEMORY_ALIGN, memory->address);
}

void
ecp_memory_free(EcpMemory *memory)
{
	if (memory->seg)
		dsm_detach(memory->seg);
	else if (memory->allocated)
		pfree(memory->allocated);
	memset(memory, 0, sizeof(EcpMemory));
}

/*
 * Attach a task's memories, and detach what it does not name; those that
 * consecutive tasks share stay, because attaching costs a fault a page.
 */
static void
team_attach(TeamAttached *attached, const TeamTask *task, char **addresses)
{
	TeamAttached old = *attached;

	memset(attached, 0, sizeof(TeamAttached));
	for (int i = 0; i < ECP_TASK_MEMORIES; i++)
		for (int j = 0; j < ECP_TASK_MEMORIES; j++)
			if (old.segs[j] && task->memories[i] != DSM_HANDLE_INVALID &&
				dsm_segment_handle(old.segs[j]) == task->memories[i])
			{
				attached->segs[i] = old.segs[j];
				old.segs[j] = NULL;
			}
	for (int j = 0; j < ECP_TASK_MEMORIES; j++)
		if (old.segs[j])
			dsm_detach(old.segs[j]);
	for (int i = 0; i < ECP_TASK_MEMORIES; i++)
	{
		addresses[i] = NULL;
		if (task->memories[i] == DSM_HANDLE_INVALID)
			continue;
		if (attached->segs[i] == NULL)
			attached->segs[i] = dsm_attach(task->memories[i]);
		if (attached->segs[i] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("could not map dynamic shared memory segment")));
		addresses[i] = (char *)
			TYPEALIGN(MEMORY_ALIGN, dsm_segment_address(attached->segs[i]));
	}
}

/* ---- tasks ---- */

int64
ecp_team_step(const EcpTeam *team, int64 nitems, int64 least)
{
	return Max(nitems / (8 * (team->pcxt->nworkers_launched + 1)), least);
}

bool
ecp_team_claim(EcpTeam *team, int64 *from, int64 *upto)
{
	const TeamTask *task = &team->shared->task;

	*from = pg_atomic_fetch_add_u64(&team->shared->next_item, task->step);
	*upto = Min(*from + task->step, task->nitems);
	return *from < task->nitems;
}

/* Wait until all workers are done with the present task. */
static void
team_wait(EcpTeam *team)
{
	TeamShared *shared = team->shared;
	int			nbusy;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		nbusy = shared->nbusy;
		SpinLockRelease(&shared->mutex);
		if (nbusy == 0)
			break;
		ConditionVariableSleep(&shared->done_cv,
							   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

static void
team_start(EcpTeam *team, const TeamTask *task)
{
	TeamShared *shared = team->shared;

	shared->state = team->build->state;
	pg_atomic_write_u64(&shared->next_item, 0);
	pg_atomic_write_u64(&shared->rows, 0);
	SpinLockAcquire(&shared->mutex);
	shared->task = *task;
	shared->nbusy = team->pcxt->nworkers_launched;
	shared->generation++;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->start_cv);
}

void
ecp_team_run(EcpTeam *team, EcpTask kind, const void *args, Size args_bytes,
			 int64 nitems, int64 step, EcpMemory *const *memories,
			 int nmemories)
{
	TeamTask	task = {0};
	char	   *addresses[ECP_TASK_MEMORIES] = {0};

	Assert(args_bytes <= ECP_TASK_ARGS_BYTES);
	Assert(nmemories <= ECP_TASK_MEMORIES);

	task.kind = kind;
	task.nitems = nitems;
	task.step = step;
	memcpy(task.args, args, args_bytes);
	for (int i = 0; i < ECP_TASK_MEMORIES; i++)
	{
		task.memories[i] = DSM_HANDLE_INVALID;
		if (i < nmemories && memories[i]->seg)
		{
			task.memories[i] = dsm_segment_handle(memories[i]->seg);
			addresses[i] = memories[i]->address;
		}
	}
	team_start(team, &task);
	team_tasks[kind] (team->build, task.args, addresses);
	team_wait(team);

	/* nobody writes any more */
	ecp_files_count_add(ecp_files_count(team->build->files),
						&team->shared->count);
	memset(&team->shared->count, 0, sizeof(EcpFilesCount));
}

/* A worker's life: task after task. */
static void
team_work(EcpTeam *team)
{
	TeamShared *shared = team->shared;
	TeamAttached attached = {0};
	uint64		seen = 0;

	for (;;)
	{
		TeamTask	task;
		char	   *addresses[ECP_TASK_MEMORIES];
		double		cpu_s;
		bool		started;
		EcpFilesCount *count = ecp_files_count(team->build->files);

		for (;;)
		{
			SpinLockAcquire(&shared->mutex);
			started = shared->generation != seen;
			seen = shared->generation;
			task = shared->task;
			SpinLockRelease(&shared->mutex);
			if (started)
				break;
			ConditionVariableSleep(&shared->start_cv,
								   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
		}
		ConditionVariableCancelSleep();
		team_attach(&attached, &task, addresses);
		if (task.kind == ECP_TASK_END)
			break;

		cpu_s = ecp_cpu_seconds();
		memset(count, 0, sizeof(EcpFilesCount));
		team->build->state = shared->state;
		team_tasks[task.kind] (team->build, task.args, addresses);
		cpu_s = ecp_cpu_seconds() - cpu_s;

		SpinLockAcquire(&shared->mutex);
		shared->cpu_s += cpu_s;
		ecp_files_count_add(&shared->count, count);
		shared->nbusy--;
		SpinLockRelease(&shared->mutex);
		ConditionVariableSignal(&shared->done_cv);
	}
}

/* ---- the scan of the table ---- */

TableScanDesc
ecp_team_scan(EcpTeam *team)
{
	team->joined = table_beginscan_parallel(team->build->heap, team->scan);
	return team->joined;
}

/* The scan starts at block 0, since it is not synchronized. */
void
ecp_team_position(const EcpTeam *team, uint32 *own_blocks,
				  uint64 *given_blocks)
{
	HeapScanDesc own = (HeapScanDesc) team->joined;
	ParallelBlockTableScanDesc all = (ParallelBlockTableScanDesc) team->scan;

	*own_blocks = own->rs_parallelworkerdata->phsw_chunk_remaining;
	*given_blocks = pg_atomic_read_u64(&all->phs_nallocated);
}

pg_atomic_uint64 *
ecp_team_ahead(EcpTeam *team)
{
	return &team->shared->ahead;
}

uint64
ecp_team_count_rows(EcpTeam *team, uint64 rows)
{
	return pg_atomic_add_fetch_u64(&team->shared->rows, rows);
}

void
ecp_team_add(EcpTeam *team, double heap_tuples, double index_tuples,
			 uint32 rounds, bool broken_hot_chain)
{
	TeamShared *shared = team->shared;

	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += heap_tuples;
	shared->index_tuples += index_tuples;
	shared->rounds += rounds;
	shared->broken_hot_chain |= broken_hot_chain;
	SpinLockRelease(&shared->mutex);
}

/* After the task: nobody writes any more. */
void
ecp_team_sums(EcpTeam *team, double *heap_tuples, double *index_tuples,
			  uint32 *rounds, bool *broken_hot_chain)
{
	const TeamShared *shared = team->shared;

	*heap_tuples = shared->heap_tuples;
	*index_tuples = shared->index_tuples;
	*rounds = shared->rounds;
	*broken_hot_chain = shared->broken_hot_chain;
}

double
ecp_team_cpu_s(const EcpTeam *team)
{
	return team->shared->cpu_s;
}

int
ecp_team_workers(const EcpTeam *team)
{
	return team->pcxt->nworkers_launched;
}

/* ---- begin and end ---- */

static void
team_estimate(ParallelContext *pcxt, Relation heap, Snapshot snapshot)
{
	shm_toc_estimator *estimator = &pcxt->estimator;

	shm_toc_estimate_chunk(estimator, sizeof(TeamShared));
	shm_toc_estimate_chunk(estimator,
						   table_parallelscan_estimate(heap, snapshot));
	shm_toc_estimate_chunk(estimator,
						   mul_size(sizeof(WalUsage), pcxt->nworkers));
	shm_toc_estimate_chunk(estimator,
						   mul_size(sizeof(BufferUsage), pcxt->nworkers));
	shm_toc_estimate_keys(estimator, 4);
	if (debug_query_string)
	{
		shm_toc_estimate_chunk(estimator, strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(estimator, 1);
	}
}

/* Fill the parallel context's segment. */
static void
team_share(EcpTeam *team)
{
	EcpBuild   *build = team->build;
	ParallelContext *pcxt = team->pcxt;
	shm_toc    *toc = pcxt->toc;
	TeamShared *shared = shm_toc_allocate(toc, sizeof(TeamShared));

	memset(shared, 0, sizeof(TeamShared));
	shared->heap = RelationGetRelid(build->heap);
	shared->index = RelationGetRelid(build->index);
	shared->concurrent = build->indexInfo->ii_Concurrent;
	shared->files = ecp_files_share(build->files);
	pg_atomic_init_u64(&shared->next_item, 0);
	pg_atomic_init_u64(&shared->rows, 0);
	pg_atomic_init_u64(&shared->ahead, 0);
	ConditionVariableInit(&shared->start_cv);
	ConditionVariableInit(&shared->done_cv);
	SpinLockInit(&shared->mutex);
	shm_toc_insert(toc, TEAM_KEY_SHARED, shared);
	team->shared = shared;

	/* not synchronized: the order of rows must not depend on others */
	team->scan = shm_toc_allocate(toc,
								  table_parallelscan_estimate(build->heap,
															  team->snapshot));
	table_parallelscan_initialize(build->heap, team->scan, team->snapshot);
	team->scan->phs_syncscan = false;
	shm_toc_insert(toc, TEAM_KEY_SCAN, team->scan);

	team->wal_usage =
		shm_toc_allocate(toc, mul_size(sizeof(WalUsage), pcxt->nworkers));
	shm_toc_insert(toc, TEAM_KEY_WAL_USAGE, team->wal_usage);
	team->buffer_usage =
		shm_toc_allocate(toc, mul_size(sizeof(BufferUsage), pcxt->nworkers));
	shm_toc_insert(toc, TEAM_KEY_BUFFER_USAGE, team->buffer_usage);

	if (debug_query_string)
	{
		Size		bytes = strlen(debug_query_string) + 1;
		char	   *query = shm_toc_allocate(toc, bytes);

		memcpy(query, debug_query_string, bytes);
		shm_toc_insert(toc, TEAM_KEY_QUERY, query);
	}
}

/* Give back the context and what hangs on it; workers are gone. */
static void
team_destroy(EcpTeam *team)
{
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
	DestroyParallelContext(team->pcxt);
	ExitParallelMode();
	pfree(team);
}

EcpTeam *
ecp_team_begin(EcpBuild *build)
{
	EcpTeam    *team = palloc0(sizeof(EcpTeam));

	Assert(build->workers > 0);
	team->build = build;
	EnterParallelMode();
	team->pcxt = CreateParallelContext("$libdir/ecp", "ecp_team_main",
									   build->workers);

	/* as the server's own builds: see _bt_begin_parallel() */
	if (build->indexInfo->ii_Concurrent)
		team->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	else
		team->snapshot = SnapshotAny;
	team_estimate(team->pcxt, build->heap, team->snapshot);
	InitializeParallelDSM(team->pcxt);
	if (team->pcxt->seg == NULL)
	{
		team_destroy(team);
		return NULL;
	}
	team_share(team);
	LaunchParallelWorkers(team->pcxt);
	if (team->pcxt->nworkers_launched == 0)
	{
		WaitForParallelWorkersToFinish(team->pcxt);
		team_destroy(team);
		return NULL;
	}

	/* a worker that cannot start is an error, not something to wait for */
	WaitForParallelWorkersToAttach(team->pcxt);
	return team;
}

void
ecp_team_end(EcpTeam *team)
{
	TeamTask	task = {0};

	task.kind = ECP_TASK_END;
	team_start(team, &task);
	WaitForParallelWorkersToFinish(team->pcxt);
	for (int i = 0; i < team->pcxt->nworkers_launched; i++)
		InstrAccumParallelQuery(&team->buffer_usage[i], &team->wal_usage[i]);
	team_destroy(team);
}

/* What a worker knows of the build. */
static void
team_worker_build(EcpTeam *team, EcpBuild *build, Relation heap,
				  Relation index)
{
	TeamShared *shared = team->shared;

	build->heap = heap;
	build->index = index;
	build->indexInfo = BuildIndexInfo(index);
	build->indexInfo->ii_Concurrent = shared->concurrent;
	build->options = ecp_options_get(index);
	ecp_attr_desc_init(index, NULL, &build->attrs);
	build->budget = maintenance_work_mem * (Size) 1024;
	build->phase = -1;
	build->ctx = AllocSetContextCreate(CurrentMemoryContext, "ecp build",
									   ALLOCSET_DEFAULT_SIZES);
	build->rowctx = AllocSetContextCreate(build->ctx, "ecp build, one row",
										  ALLOCSET_DEFAULT_SIZES);
	build->files = ecp_files_attach(shared->files);
	build->team = team;
	build->participant = ParallelWorkerNumber + 1;
	team->build = build;
}

/*
 * What a worker runs.
 */
void
ecp_team_main(dsm_segment *seg, shm_toc *toc)
{
	TeamShared *shared;
	EcpTeam		team = {0};
	EcpBuild	build = {0};
	Relation	heap;
	Relation	index;
	LOCKMODE	heap_lock = ShareLock;
	LOCKMODE	index_lock = AccessExclusiveLock;
	WalUsage   *wal_usage;
	BufferUsage *buffer_usage;

	debug_query_string = shm_toc_lookup(toc, TEAM_KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);

	shared = shm_toc_lookup(toc, TEAM_KEY_SHARED, false);
	team.shared = shared;
	team.scan = shm_toc_lookup(toc, TEAM_KEY_SCAN, false);

	/* the locks that the backend is known to hold */
	if (shared->concurrent)
	{
		heap_lock = ShareUpdateExclusiveLock;
		index_lock = RowExclusiveLock;
	}
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);
	team_worker_build(&team, &build, heap, index);

	InstrStartParallelQuery();
	team_work(&team);
	buffer_usage = shm_toc_lookup(toc, TEAM_KEY_BUFFER_USAGE, false);
	wal_usage = shm_toc_lookup(toc, TEAM_KEY_WAL_USAGE, false);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber],
						  &wal_usage[ParallelWorkerNumber]);

	ecp_files_end(build.files);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}
