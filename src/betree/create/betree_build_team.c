/*-------------------------------------------------------------------------
 *
 * betree_build_team.c
 *	  CREATE INDEX: the processes of a parallel build, and what they share.
 *
 * They read and sort the table together (betree_build_sort.c).  Then the backend
 * merges what they have sorted and packs leaves, while the first worker writes
 * them and the nodes above (betree_build.c); the other workers have left.  The
 * two are joined by a queue of leaves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "base/team.h"
#include "betree/create/betree_build.h"
#include "betree/page/betree_page.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/proc.h"
#include "utils/rel.h"

/*
 * Queue of packed leaves between the backend and the writer, which stops receiving
 * while it writes a batch of 32 pages; meanwhile the backend packs twice as many
 * leaves, or more.
 */
#define QUEUE_BYTES		(128 * BLCKSZ)

/* In shared memory, followed by the queue and what the sort shares */
typedef struct BuildShared
{
	EcpIndexTeamShared team;	/* must be first; its mutex protects: */
	double		index_bytes;
} BuildShared;

#define BUILD_SHARED_SIZE	BUFFERALIGN(sizeof(BuildShared))

PGDLLEXPORT void betree_build_team_main(dsm_segment *seg, shm_toc *toc);

static inline shm_mq *
shared_queue(BetreeBuildTeam *team)
{
	return (shm_mq *) ((char *) team->index.team.shared + BUILD_SHARED_SIZE);
}

Sharedsort *
betree_build_team_sort(BetreeBuildTeam *team)
{
	return (Sharedsort *) ((char *) shared_queue(team) + QUEUE_BYTES);
}

bool
betree_build_team_writes(void)
{
	return IsParallelWorker() && ParallelWorkerNumber == 0;
}

/* Fill what is shared before the workers start */
static void
share(BetreeBuildTeam *team, int nworkers)
{
	dsm_segment *seg = team->index.team.pcxt->seg;
	shm_mq	   *queue = shm_mq_create(shared_queue(team), QUEUE_BYTES);

	shm_mq_set_sender(queue, MyProc);
	team->leaves = shm_mq_attach(queue, seg, NULL);
	tuplesort_initialize_shared(betree_build_team_sort(team), nworkers + 1, seg);
}

BetreeBuildTeam *
betree_build_team_begin(Relation heap, Relation index, IndexInfo *info)
{
	int			nworkers = ecp_index_workers(heap, index, info, NULL);
	BetreeBuildTeam *team;
	Size		bytes = BUILD_SHARED_SIZE + QUEUE_BYTES;

	if (nworkers == 0)
		return NULL;
	team = palloc0(sizeof(BetreeBuildTeam));
	bytes = add_size(bytes, tuplesort_estimate_shared(nworkers + 1));
	if (ecp_index_team_create(&team->index, "betree_build_team_main", nworkers,
							  bytes, heap, index, info))
	{
		share(team, nworkers);
		if (ecp_index_team_launch(&team->index))
			return team;
	}
	pfree(team);
	return NULL;
}

void
betree_build_team_end(BetreeBuildTeam *team)
{
	ecp_index_team_end(&team->index);
}

/* The entry point of a worker */
void
betree_build_team_main(dsm_segment *seg, shm_toc *toc)
{
	BetreeBuildTeam team = {0};

	ecp_index_team_attach(&team.index, toc);
	tuplesort_attach_shared(betree_build_team_sort(&team), seg);
	if (betree_build_team_writes())
	{
		shm_mq_set_receiver(shared_queue(&team), MyProc);
		team.leaves = shm_mq_attach(shared_queue(&team), seg, NULL);
	}
	ecp_team_work(&team.index.team);
	ecp_index_team_detach(&team.index);
}

void
betree_build_team_add(BetreeBuildTeam *team, double heap_tuples,
					  double index_tuples, double index_bytes)
{
	BuildShared *shared = (BuildShared *) team->index.team.shared;

	ecp_index_team_add(&team->index.team, heap_tuples, index_tuples,
					   team->index.info->ii_BrokenHotChain);
	SpinLockAcquire(&shared->team.mutex);
	shared->index_bytes += index_bytes;
	SpinLockRelease(&shared->team.mutex);
}

void
betree_build_team_sums(BetreeBuildTeam *team, IndexInfo *info,
					   double *heap_tuples, double *index_tuples,
					   double *index_bytes)
{
	ecp_index_team_sums(&team->index.team, info, heap_tuples, index_tuples);
	*index_bytes = ((BuildShared *) team->index.team.shared)->index_bytes;
}

/*
 * The queue fails only if the process at its other end has.  A worker's error
 * is on its way to the backend, and a backend's error ends its workers.
 */
pg_noreturn static void
report_lost(BetreeBuildTeam *team)
{
	if (!IsParallelWorker())
		WaitForParallelWorkersToFinish(team->index.team.pcxt);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("lost connection to a process of an index build")));
}

void
betree_build_team_send(BetreeBuildTeam *team, IndexTuple high, char *items,
					   Size bytes)
{
	bool		last = BetreePivotGetNatts(high) == BETREE_NATTS_PLUSINF;
	shm_mq_iovec parts[] = {{(char *) high, IndexTupleSize(high)}, {items, bytes}};

	/* what follows it must be aligned */
	Assert(IndexTupleSize(high) == MAXALIGN(IndexTupleSize(high)));

	if (shm_mq_sendv(team->leaves, parts, lengthof(parts), false, last) != SHM_MQ_SUCCESS)
		report_lost(team);
}

void
betree_build_team_receive(BetreeBuildTeam *team, IndexTuple *high,
						  char **items, Size *bytes)
{
	Size		size;
	void	   *data;

	if (shm_mq_receive(team->leaves, &size, &data, false) != SHM_MQ_SUCCESS)
		report_lost(team);
	*high = (IndexTuple) data;
	Assert(size >= IndexTupleSize(*high));
	*items = (char *) data + IndexTupleSize(*high);
	*bytes = size - IndexTupleSize(*high);
}
