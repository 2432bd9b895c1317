/*-------------------------------------------------------------------------
 *
 * ecp_build_team.c
 *	  Parallel workers of an index build.
 *
 * The backend launches workers once, after the sample was taken, and gives
 * them one task after the other (ecp_team.c): parts of the choice of leaders,
 * the scan of the table, the writing of leaves, the searches for the recall
 * curve.  Here is what they know of the build, and what they find out: the
 * metapage to be, the scan of the table that all of them join, and sums.
 *
 * Errors of workers reach the backend with the next interrupt that it looks
 * for, and a worker ends when the backend does: both as in every parallel
 * operation of the server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "ecp/build/ecp_build.h"
#include "ecp/build/ecp_build_team.h"
#include "ecp/build/ecp_policy.h"
#include "ecp/cluster/ecp_team.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
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

/* Keys of the parallel context's table of contents. */
#define TEAM_KEY_SHARED			UINT64CONST(0xEC90000000000001)
#define TEAM_KEY_SCAN			UINT64CONST(0xEC90000000000002)
#define TEAM_KEY_WAL_USAGE		UINT64CONST(0xEC90000000000003)
#define TEAM_KEY_BUFFER_USAGE	UINT64CONST(0xEC90000000000004)
#define TEAM_KEY_QUERY			UINT64CONST(0xEC90000000000005)

typedef struct TeamShared
{
	EcpTeamShared tasks;

	/* constant */
	Oid			heap;
	Oid			index;
	bool		concurrent;
	dsm_handle	files;

	/* what the processes agree on, as of the start of the task */
	EcpIndexState state;
	EcpBuildPlan plan;
	EcpAssigned assigned;

	pg_atomic_uint64 ahead;

	slock_t		mutex;			/* protects all below */
	double		heap_tuples;
	double		index_tuples;
	uint32		rounds;
	bool		broken_hot_chain;
	EcpFilesCount count;
} TeamShared;

/* One process's view. */
typedef struct EcpBuildTeam
{
	EcpTeam		team;			/* must be first */
	EcpBuild   *build;
	TeamShared *shared;
	ParallelTableScanDesc scan;
	TableScanDesc joined;		/* our part of it */

	/* the backend only */
	ParallelContext *pcxt;
	Snapshot	snapshot;
	WalUsage   *wal_usage;
	BufferUsage *buffer_usage;
} EcpBuildTeam;

PGDLLEXPORT void ecp_build_team_main(dsm_segment *seg, shm_toc *toc);

/* ---- before and after a task ---- */

/* The backend: workers see the build as it is now. */
static void
team_begin_task(EcpTeam *team)
{
	EcpBuildTeam *build_team = (EcpBuildTeam *) team;
	const EcpBuild *build = build_team->build;
	TeamShared *shared = build_team->shared;

	shared->state = build->state;
	shared->plan = build->plan;
	shared->assigned = build->assigned;
}

/* All workers are done with the task. */
static void
team_end_task(EcpTeam *team)
{
	EcpBuildTeam *build_team = (EcpBuildTeam *) team;
	TeamShared *shared = build_team->shared;

	ecp_files_count_add(ecp_files_count(build_team->build->files),
						&shared->count);
	memset(&shared->count, 0, sizeof(EcpFilesCount));
}

static void
team_worker_begin_task(EcpTeam *team)
{
	EcpBuildTeam *build_team = (EcpBuildTeam *) team;
	const TeamShared *shared = build_team->shared;
	EcpBuild   *build = build_team->build;

	memset(ecp_files_count(build->files), 0, sizeof(EcpFilesCount));
	build->state = shared->state;
	build->plan = shared->plan;
	build->assigned = shared->assigned;
}

static void
team_worker_end_task(EcpTeam *team)
{
	EcpBuildTeam *build_team = (EcpBuildTeam *) team;
	TeamShared *shared = build_team->shared;

	SpinLockAcquire(&shared->mutex);
	ecp_files_count_add(&shared->count,
						ecp_files_count(build_team->build->files));
	SpinLockRelease(&shared->mutex);
}

EcpBuild *
ecp_team_build(EcpTeam *team)
{
	return ((EcpBuildTeam *) team)->build;
}

/* ---- the scan of the table ---- */

TableScanDesc
ecp_build_team_scan(EcpTeam *base)
{
	EcpBuildTeam *team = (EcpBuildTeam *) base;

	team->joined = table_beginscan_parallel(team->build->heap, team->scan);
	return team->joined;
}

/* The scan starts at block 0, since it is not synchronized. */
void
ecp_build_team_position(const EcpTeam *base, uint32 *own_blocks,
						uint64 *given_blocks)
{
	const EcpBuildTeam *team = (const EcpBuildTeam *) base;
	HeapScanDesc own = (HeapScanDesc) team->joined;
	ParallelBlockTableScanDesc all = (ParallelBlockTableScanDesc) team->scan;

	*own_blocks = own->rs_parallelworkerdata->phsw_chunk_remaining;
	*given_blocks = pg_atomic_read_u64(&all->phs_nallocated);
}

pg_atomic_uint64 *
ecp_build_team_ahead(EcpTeam *team)
{
	return &((EcpBuildTeam *) team)->shared->ahead;
}

void
ecp_build_team_add(EcpTeam *team, double heap_tuples, double index_tuples,
				   uint32 rounds, bool broken_hot_chain)
{
	TeamShared *shared = ((EcpBuildTeam *) team)->shared;

	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += heap_tuples;
	shared->index_tuples += index_tuples;
	shared->rounds += rounds;
	shared->broken_hot_chain |= broken_hot_chain;
	SpinLockRelease(&shared->mutex);
}

/* After the task. */
void
ecp_build_team_sums(EcpTeam *team, double *heap_tuples, double *index_tuples,
					uint32 *rounds, bool *broken_hot_chain)
{
	const TeamShared *shared = ((EcpBuildTeam *) team)->shared;

	*heap_tuples = shared->heap_tuples;
	*index_tuples = shared->index_tuples;
	*rounds = shared->rounds;
	*broken_hot_chain = shared->broken_hot_chain;
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
team_share(EcpBuildTeam *team)
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
	pg_atomic_init_u64(&shared->ahead, 0);
	SpinLockInit(&shared->mutex);
	ecp_team_init(&shared->tasks);
	shm_toc_insert(toc, TEAM_KEY_SHARED, shared);
	team->shared = shared;
	team->team.shared = &shared->tasks;

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
team_destroy(EcpBuildTeam *team)
{
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
	DestroyParallelContext(team->pcxt);
	ExitParallelMode();
	pfree(team);
}

EcpTeam *
ecp_build_team_begin(EcpBuild *build)
{
	EcpBuildTeam *team = palloc0(sizeof(EcpBuildTeam));

	Assert(build->plan.nworkers > 0);
	team->build = build;
	EnterParallelMode();
	team->pcxt = CreateParallelContext("$libdir/ecp", "ecp_build_team_main",
									   build->plan.nworkers);

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

	team->team.nworkers = team->pcxt->nworkers_launched;
	team->team.begin = team_begin_task;
	team->team.end = team_end_task;

	/* a worker that cannot start is an error, not something to wait for */
	WaitForParallelWorkersToAttach(team->pcxt);
	return &team->team;
}

void
ecp_build_team_end(EcpTeam *base)
{
	EcpBuildTeam *team = (EcpBuildTeam *) base;

	ecp_team_dismiss(base);
	WaitForParallelWorkersToFinish(team->pcxt);
	for (int i = 0; i < team->pcxt->nworkers_launched; i++)
		InstrAccumParallelQuery(&team->buffer_usage[i], &team->wal_usage[i]);
	team_destroy(team);
}

/* The build, in a worker. */
static void
team_worker_build(EcpBuildTeam *team, EcpBuild *build, Relation heap,
				  Relation index)
{
	TeamShared *shared = team->shared;

	ecp_build_open(build, heap, index, BuildIndexInfo(index),
				   ecp_files_attach(shared->files));
	build->indexInfo->ii_Concurrent = shared->concurrent;
	build->team = &team->team;
	build->participant = ParallelWorkerNumber + 1;
	team->build = build;
}

/*
 * What a worker runs.
 */
void
ecp_build_team_main(dsm_segment *seg, shm_toc *toc)
{
	TeamShared *shared;
	EcpBuildTeam team = {0};
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
	team.team.shared = &shared->tasks;
	team.team.begin = team_worker_begin_task;
	team.team.end = team_worker_end_task;
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
	ecp_team_work(&team.team);
	buffer_usage = shm_toc_lookup(toc, TEAM_KEY_BUFFER_USAGE, false);
	wal_usage = shm_toc_lookup(toc, TEAM_KEY_WAL_USAGE, false);
	InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber],
						  &wal_usage[ParallelWorkerNumber]);

	ecp_files_end(build.files);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}
