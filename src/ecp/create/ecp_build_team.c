/*-------------------------------------------------------------------------
 *
 * ecp_build_team.c
 *	  Parallel workers of an index build.
 *
 * The backend launches workers once, after the sample was taken, and gives
 * them one task after the other (base/team.c): parts of the choice of leaders,
 * the scan of the table, the writing of leaves, the searches for the recall
 * curve.  This file has what workers share with the backend: the metapage to
 * be, the parallel scan of the table, and sums.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/team.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "miscadmin.h"
#include "utils/rel.h"

typedef struct TeamShared
{
	EcpIndexTeamShared team;	/* must be first */
	dsm_handle	files;			/* constant */

	/* copies for the workers, as of the start of the task */
	EcpIndexState state;
	EcpBuildPlan plan;
	EcpAssigned assigned;

	pg_atomic_uint64 ahead;

	/* protected by the team's mutex */
	uint32		rounds;
	EcpFilesCount count;
} TeamShared;

/* One process's view. */
typedef struct EcpBuildTeam
{
	EcpIndexTeam team;			/* must be first */
	EcpBuild   *build;
	TableScanDesc joined;		/* our part of the scan of the table */
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

	SpinLockAcquire(&shared->team.mutex);
	ecp_files_count_add(&shared->count,
						ecp_files_count(build_team->build->files));
	SpinLockRelease(&shared->team.mutex);
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
ecp_build_team_add_rounds(EcpTeam *team, uint32 rounds)
{
	TeamShared *shared = BuildTeamShared(team);

	SpinLockAcquire(&shared->team.mutex);
	shared->rounds += rounds;
	SpinLockRelease(&shared->team.mutex);
}

/* After the task. */
uint32
ecp_build_team_rounds(EcpTeam *team)
{
	Assert(ParallelWorkerNumber < 0);
	return BuildTeamShared(team)->rounds;
}

/* ---- begin and end ---- */

EcpTeam *
ecp_build_team_begin(EcpBuild *build)
{
	EcpBuildTeam *team = palloc0(sizeof(EcpBuildTeam));
	TeamShared *shared;

	Assert(build->participant == 0 && build->team == NULL);
	Assert(build->plan.nworkers > 0);
	team->build = build;
	if (!ecp_index_team_create(&team->team, "ecp_build_team_main",
							   build->plan.nworkers, sizeof(TeamShared),
							   build->heap, build->index, build->indexInfo))
	{
		pfree(team);
		return NULL;
	}
	team->team.team.begin = team_begin_task;
	team->team.team.end = team_end_task;
	shared = BuildTeamShared(team);
	shared->files = ecp_files_share(build->files);
	pg_atomic_init_u64(&shared->ahead, 0);
	if (!ecp_index_team_launch(&team->team))
	{
		pfree(team);
		return NULL;
	}
	return &team->team.team;
}

void
ecp_build_team_end(EcpTeam *team)
{
	ecp_index_team_end((EcpIndexTeam *) team);
	pfree(team);
}

/*
 * What a worker runs.
 */
void
ecp_build_team_main(dsm_segment *seg, shm_toc *toc)
{
	EcpBuildTeam team = {0};
	EcpBuild	build = {0};

	ecp_index_team_attach(&team.team, toc);
	team.team.team.begin = team_worker_begin_task;
	team.team.team.end = team_worker_end_task;
	ecp_build_state_open(&build, team.team.heap, team.team.index, team.team.info,
						 ecp_files_attach(BuildTeamShared(&team)->files));
	build.team = &team.team.team;
	build.participant = ParallelWorkerNumber + 1;
	team.build = &build;

	ecp_team_work(&team.team.team);

	ecp_files_end(build.files);
	ecp_index_team_detach(&team.team);
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
