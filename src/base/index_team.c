/*-------------------------------------------------------------------------
 *
 * index_team.c
 *	  The backend and the parallel workers that build an index.
 *
 * What the builds of both access methods share of their teams (base/team.c): the
 * snapshot of the scan, the locks that workers take, sums over the processes.
 * As in the server's own builds, see _bt_begin_parallel().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "base/team.h"
#include "catalog/index.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

static void
team_forget_snapshot(EcpIndexTeam *team)
{
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
}

bool
ecp_index_team_create(EcpIndexTeam *team, const char *entry, int nworkers,
					  Size bytes, Relation heap, Relation index,
					  IndexInfo *info)
{
	EcpIndexTeamShared *shared;

	Assert(bytes >= sizeof(EcpIndexTeamShared));
	team->team.memory_setting = "maintenance_work_mem";
	team->heap = heap;
	team->index = index;
	team->info = info;

	/*
	 * A concurrent build indexes what its snapshot sees; another one all rows
	 * that are not dead to everyone.
	 */
	if (info->ii_Concurrent)
		team->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	else
		team->snapshot = SnapshotAny;
	if (!ecp_team_create(&team->team, entry, nworkers, bytes, heap,
						 team->snapshot, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN))
	{
		team_forget_snapshot(team);
		return false;
	}
	shared = (EcpIndexTeamShared *) team->team.shared;
	memset((char *) shared + sizeof(EcpTeamShared), 0,
		   bytes - sizeof(EcpTeamShared));
	shared->heap = RelationGetRelid(heap);
	shared->index = RelationGetRelid(index);
	shared->concurrent = info->ii_Concurrent;
	SpinLockInit(&shared->mutex);
	return true;
}

bool
ecp_index_team_launch(EcpIndexTeam *team)
{
	ecp_team_launch(&team->team, true);
	if (team->team.nworkers > 0)
		return true;
	ecp_index_team_end(team);
	return false;
}

void
ecp_index_team_end(EcpIndexTeam *team)
{
	ecp_team_end(&team->team);
	team_forget_snapshot(team);
}

void
ecp_index_team_attach(EcpIndexTeam *team, shm_toc *toc)
{
	const EcpIndexTeamShared *shared;

	ecp_team_attach(&team->team, toc);
	shared = (const EcpIndexTeamShared *) team->team.shared;

	/* the locks that the backend is known to hold */
	team->heap_lock = shared->concurrent ? ShareUpdateExclusiveLock : ShareLock;
	team->index_lock = shared->concurrent ? RowExclusiveLock : AccessExclusiveLock;
	team->heap = table_open(shared->heap, team->heap_lock);
	team->index = index_open(shared->index, team->index_lock);
	team->info = BuildIndexInfo(team->index);
	team->info->ii_Concurrent = shared->concurrent;
}

void
ecp_index_team_detach(EcpIndexTeam *team)
{
	index_close(team->index, team->index_lock);
	table_close(team->heap, team->heap_lock);
}

void
ecp_index_team_add(EcpTeam *team, double heap_tuples, double index_tuples,
				   bool broken_hot_chain)
{
	EcpIndexTeamShared *shared = (EcpIndexTeamShared *) team->shared;

	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += heap_tuples;
	shared->index_tuples += index_tuples;
	shared->broken_hot_chain |= broken_hot_chain;
	SpinLockRelease(&shared->mutex);
}

void
ecp_index_team_sums(EcpTeam *team, IndexInfo *info, double *heap_tuples,
					double *index_tuples)
{
	const EcpIndexTeamShared *shared = (const EcpIndexTeamShared *) team->shared;

	*heap_tuples = shared->heap_tuples;
	*index_tuples = shared->index_tuples;
	if (shared->broken_hot_chain)
		info->ii_BrokenHotChain = true;
}
