/*-------------------------------------------------------------------------
 *
 * ecp_build_team.c
 *	  Parallel workers of an index build.
 *
 * The backend launches workers once, after the sample was taken, and gives
 * them one task after the other (ecp_team.c): parts of the choice of leaders,
 * the scan of the table, the writing of leaves, the searches for the recall
 * curve.  This file has what workers share with the backend: the metapage to
 * be, the parallel scan of the table, and sums.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/parallel.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "catalog/index.h"
#include "ecp/build/ecp_build.h"
#include "ecp/build/ecp_build_team.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/build/ecp_policy.h"
#include "ecp/cluster/ecp_team.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "miscadmin.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

typedef struct TeamShared
{
	EcpTeamShared tasks;		/* must be first */

	/* constant */
	Oid			heap;
	Oid			index;
	bool		concurrent;
	dsm_handle	files;

	/* copies for the workers, as of the start of the task */
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
	TableScanDesc joined;		/* our part of the scan of the table */
	Snapshot	snapshot;		/* the backend only */
} EcpBuildTeam;

#define BuildTeamShared(team) \
	((TeamShared *) ((const EcpTeam *) (team))->shared)

PGDLLEXPORT void ecp_build_team_main(dsm_segment *seg, shm_toc *toc);

/* ---- before and after a task ---- */

/* In the backend: workers see the build as it is now. */
static void
team_begin_task(EcpTeam *team)
{
	EcpBuildTeam *build_team = (EcpBuildTeam *) team;
	const EcpBuild *build = build_team->build;
	TeamShared *shared = BuildTeamShared(team);

	shared->state = build->state;
	shared->plan = build->plan;
	shared->assigned = build->assigned;
}

/* In the backend, when all workers have done the task. */
static void
team_end_task(EcpTeam *team)
{
	EcpBuildTeam *build_team = (EcpBuildTeam *) team;
	TeamShared *shared = BuildTeamShared(team);

	ecp_files_count_add(ecp_files_count(build_team->build->files),
						&shared->count);
	memset(&shared->count, 0, sizeof(EcpFilesCount));
}

static void
team_worker_begin_task(EcpTeam *team)
{
	EcpBuildTeam *build_team = (EcpBuildTeam *) team;
	const TeamShared *shared = BuildTeamShared(team);
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
	TeamShared *shared = BuildTeamShared(team);

	SpinLockAcquire(&shared->mutex);
	ecp_files_count_add(&shared->count,
						ecp_files_count(build_team->build->files));
	SpinLockRelease(&shared->mutex);
}

EcpBuild *
ecp_build_team_build(EcpTeam *team)
{
	return ((EcpBuildTeam *) team)->build;
}

/* ---- the scan of the table ---- */

TableScanDesc
ecp_build_team_scan(EcpTeam *base)
{
	EcpBuildTeam *team = (EcpBuildTeam *) base;

	team->joined = ecp_table_beginscan_parallel(team->build->heap, base->scan);
	return team->joined;
}

/* The scan starts at block 0, since it is not synchronized. */
void
ecp_build_team_position(const EcpTeam *base, uint32 *own_blocks,
						uint64 *given_blocks)
{
	const EcpBuildTeam *team = (const EcpBuildTeam *) base;
	HeapScanDesc own = (HeapScanDesc) team->joined;
	ParallelBlockTableScanDesc all = (ParallelBlockTableScanDesc) base->scan;

	Assert(team->joined != NULL);
	*own_blocks = own->rs_parallelworkerdata->phsw_chunk_remaining;
	*given_blocks = pg_atomic_read_u64(&all->phs_nallocated);
}

pg_atomic_uint64 *
ecp_build_team_ahead(EcpTeam *team)
{
	return &BuildTeamShared(team)->ahead;
}

void
ecp_build_team_add(EcpTeam *team, double heap_tuples, double index_tuples,
				   uint32 rounds, bool broken_hot_chain)
{
	TeamShared *shared = BuildTeamShared(team);

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
	const TeamShared *shared = BuildTeamShared(team);

	Assert(ParallelWorkerNumber < 0);
	*heap_tuples = shared->heap_tuples;
	*index_tuples = shared->index_tuples;
	*rounds = shared->rounds;
	*broken_hot_chain = shared->broken_hot_chain;
}

/* ---- begin and end ---- */

static void
team_destroy(EcpBuildTeam *team)
{
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
	pfree(team);
}

EcpTeam *
ecp_build_team_begin(EcpBuild *build)
{
	EcpBuildTeam *team = palloc0(sizeof(EcpBuildTeam));
	TeamShared *shared;

	Assert(build->participant == 0 && build->team == NULL);
	Assert(build->plan.nworkers > 0);
	team->build = build;
	team->team.memory_setting = "maintenance_work_mem";

	/* as the server's own builds: see _bt_begin_parallel() */
	if (build->indexInfo->ii_Concurrent)
		team->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	else
		team->snapshot = SnapshotAny;
	if (!ecp_team_create(&team->team, "ecp_build_team_main",
						 build->plan.nworkers,
						 sizeof(TeamShared), build->heap, team->snapshot,
						 WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN))
	{
		team_destroy(team);
		return NULL;
	}
	team->team.begin = team_begin_task;
	team->team.end = team_end_task;
	shared = BuildTeamShared(team);
	memset((char *) shared + sizeof(EcpTeamShared), 0,
		   sizeof(TeamShared) - sizeof(EcpTeamShared));
	shared->heap = RelationGetRelid(build->heap);
	shared->index = RelationGetRelid(build->index);
	shared->concurrent = build->indexInfo->ii_Concurrent;
	shared->files = ecp_files_share(build->files);
	pg_atomic_init_u64(&shared->ahead, 0);
	SpinLockInit(&shared->mutex);

	ecp_team_launch(&team->team, true);
	if (team->team.nworkers == 0)
	{
		ecp_build_team_end(&team->team);
		return NULL;
	}
	return &team->team;
}

void
ecp_build_team_end(EcpTeam *team)
{
	ecp_team_end(team);
	team_destroy((EcpBuildTeam *) team);
}

/* The build, in a worker. */
static void
team_worker_build(EcpBuildTeam *team, EcpBuild *build, Relation heap,
				  Relation index)
{
	TeamShared *shared = BuildTeamShared(team);

	ecp_build_state_open(build, heap, index, BuildIndexInfo(index),
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

	ecp_team_attach(&team.team, toc);
	team.team.begin = team_worker_begin_task;
	team.team.end = team_worker_end_task;
	shared = BuildTeamShared(&team);

	/* the locks that the backend is known to hold */
	if (shared->concurrent)
	{
		heap_lock = ShareUpdateExclusiveLock;
		index_lock = RowExclusiveLock;
	}
	heap = table_open(shared->heap, heap_lock);
	index = index_open(shared->index, index_lock);
	team_worker_build(&team, &build, heap, index);

	ecp_team_work(&team.team);

	ecp_files_end(build.files);
	index_close(index, index_lock);
	table_close(heap, heap_lock);
}

/*
 * ecp_build_recall_task
 *		Search for a part of the queries of the recall curve.
 */
void
ecp_build_recall_task(EcpTeam *team, const void *args, char **memories)
{
	EcpBuild   *build = ecp_build_team_build(team);

	ecp_recall_curve_work(team, build->index, &build->state, args, memories,
						  ecp_build_state_queries, build);
}
