/*-------------------------------------------------------------------------
 *
 * team.c
 *	  Tasks that a backend and its parallel workers do together: those of an
 *	  index build, and the phases of a batch of queries
 *	  (ecp_knn_workers.c).
 *
 * The backend has its workers do one task after the other.  It does its own
 * part of each and waits for the others.  Items of a task are claimed from a
 * counter, so that no process waits for a slow worker longer than a claim
 * takes.  No result may depend on which process did an item: that makes the
 * index the same for any number of workers.
 *
 * What a task works on lies in dynamic shared memory segments of its own
 * (EcpMemory), which workers attach when a task names them and give up when
 * one does not.  If there is no room for such a segment, the memory is private
 * to the backend, which then does the tasks that work on it alone.
 *
 * Errors of workers reach the backend with the next interrupt that it looks
 * for, and a worker ends when the backend does, as in every parallel
 * operation of the server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/core.h"
#include "base/team.h"
#include "catalog/index.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/shmem.h"
#include "tcop/tcopprot.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

/* Keys of the parallel context's table of contents. */
#define TEAM_KEY_SHARED			UINT64CONST(0xEC90000000000001)
#define TEAM_KEY_SCAN			UINT64CONST(0xEC90000000000002)
#define TEAM_KEY_WAL_USAGE		UINT64CONST(0xEC90000000000003)
#define TEAM_KEY_BUFFER_USAGE	UINT64CONST(0xEC90000000000004)
#define TEAM_KEY_QUERY			UINT64CONST(0xEC90000000000005)

#define MEMORY_ALIGN	64

/* A worker's attached memories. */
typedef struct TeamAttached
{
	dsm_segment *segs[ECP_TASK_MEMORIES];
} TeamAttached;

/* ---- memory ---- */

/* With room for 63 bytes more, which kernels may read. */
static inline Size
memory_bytes(Size bytes)
{
	return add_size(bytes, 2 * MEMORY_ALIGN);
}

bool
ecp_team_memory_share(EcpMemory *memory, Size bytes)
{
	memset(memory, 0, sizeof(EcpMemory));
	memory->seg = ecp_dsm_create(memory_bytes(bytes));
	if (memory->seg)
		memory->address = (char *)
			TYPEALIGN(MEMORY_ALIGN, dsm_segment_address(memory->seg));
	return memory->seg != NULL;
}

void
ecp_team_memory_alloc(EcpMemory *memory, bool shared, Size bytes)
{
	if (shared && ecp_team_memory_share(memory, bytes))
		return;
	memory->seg = NULL;
	memory->allocated = palloc_extended(memory_bytes(bytes), MCXT_ALLOC_HUGE);
	memory->address = (char *) TYPEALIGN(MEMORY_ALIGN, memory->allocated);
}

void
ecp_team_memory_free(EcpMemory *memory)
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
team_attach(TeamAttached *attached, const EcpTeamTask *task, char **addresses)
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
	Assert(least > 0);
	return Max(nitems / (8 * (team->nworkers + 1)), least);
}

bool
ecp_team_claim(EcpTeam *team, int64 *from, int64 *upto)
{
	const EcpTeamTask *task = &team->shared->task;

	*from = pg_atomic_fetch_add_u64(&team->shared->next_item, task->step);
	*upto = Min(*from + task->step, task->nitems);
	return *from < task->nitems;
}

/*
 * Wait until all workers are done with the present task; where not all take
 * part, no more of them begin.
 */
static void
team_wait(EcpTeam *team)
{
	EcpTeamShared *shared = team->shared;
	int			nbusy;

	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		shared->open = shared->all;
		nbusy = shared->nbusy;
		SpinLockRelease(&shared->mutex);
		if (nbusy == 0)
			break;
		ConditionVariableSleep(&shared->done_cv,
							   shared->wait_event);
	}
	ConditionVariableCancelSleep();
}

/* Start a task; workers that are told of no new generation do not see it. */
static void
team_start(EcpTeam *team, const EcpTeamTask *task, bool alone)
{
	EcpTeamShared *shared = team->shared;

	pg_atomic_write_u64(&shared->next_item, 0);
	pg_atomic_write_u64(&shared->rows, 0);
	SpinLockAcquire(&shared->mutex);
	shared->task = *task;
	if (!alone)
	{
		shared->open = true;
		shared->nbusy = shared->all ? team->nworkers : 0;
		shared->generation++;
	}
	SpinLockRelease(&shared->mutex);
	if (!alone)
		ConditionVariableBroadcast(&shared->start_cv);
}

void
ecp_team_tell_short(EcpTeam *team)
{
	if (!team->told_short)
		ereport(NOTICE,
				(errmsg("there is too little dynamic shared memory for all that parallel workers share"),
				 errdetail("Part of the work is done with less memory, or without workers."),
				 errhint("Give the server more, in a container with an option for the size of \"/dev/shm\", or lower \"%s\".",
						 team->memory_setting)));
	team->told_short = true;
}

void
ecp_team_run(EcpTeam *team, EcpTask which, const void *args, Size args_bytes,
			 int64 nitems, int64 step, EcpMemory *const *memories,
			 int nmemories)
{
	EcpTeamTask task = {0};
	char	   *addresses[ECP_TASK_MEMORIES] = {0};
	bool		alone = false;

	Assert(nitems >= 0 && step > 0);
	Assert(args_bytes <= ECP_TASK_ARGS_BYTES);
	Assert(nmemories <= ECP_TASK_MEMORIES);
	Assert(strlen(which.name) < sizeof(task.function));

	strlcpy(task.function, which.name, sizeof(task.function));
	task.nitems = nitems;
	task.step = step;
	if (args_bytes > 0)
		memcpy(task.args, args, args_bytes);
	for (int i = 0; i < ECP_TASK_MEMORIES; i++)
	{
		task.memories[i] = DSM_HANDLE_INVALID;
		if (i >= nmemories)
			continue;
		addresses[i] = memories[i]->address;
		if (memories[i]->seg)
			task.memories[i] = dsm_segment_handle(memories[i]->seg);
		else if (memories[i]->allocated)
			alone = true;
	}
	if (alone)
		ecp_team_tell_short(team);
	if (team->begin)
		team->begin(team);
	team_start(team, &task, alone);
	which.function(team, task.args, addresses);
	if (!alone)
		team_wait(team);
	if (team->end)
		team->end(team);
}

/* What a worker does: task after task. */
void
ecp_team_work(EcpTeam *team)
{
	EcpTeamShared *shared = team->shared;
	TeamAttached attached = {0};
	uint64		seen = 0;

	InstrStartParallelQuery();
	for (;;)
	{
		EcpTeamTask task;
		char	   *addresses[ECP_TASK_MEMORIES];
		double		cpu_s;
		bool		started;
		EcpTaskFunction function;

		for (;;)
		{
			SpinLockAcquire(&shared->mutex);
			started = shared->open && shared->generation != seen;
			if (started)
			{
				seen = shared->generation;
				task = shared->task;
				if (!shared->all)
					shared->nbusy++;
			}
			SpinLockRelease(&shared->mutex);
			if (started)
				break;
			ConditionVariableSleep(&shared->start_cv,
								   shared->wait_event);
		}
		ConditionVariableCancelSleep();
		team_attach(&attached, &task, addresses);
		if (task.function[0] == '\0')
			break;

		/* as the server finds a worker's first function */
		function = (EcpTaskFunction)
			load_external_function("$libdir/ecp", task.function, true, NULL);
		cpu_s = ecp_team_process_cpu_s();
		if (team->begin)
			team->begin(team);
		function(team, task.args, addresses);
		if (team->end)
			team->end(team);
		cpu_s = ecp_team_process_cpu_s() - cpu_s;

		SpinLockAcquire(&shared->mutex);
		shared->cpu_s += cpu_s;
		shared->nbusy--;
		SpinLockRelease(&shared->mutex);
		ConditionVariableSignal(&shared->done_cv);
		if (team->leave)
			break;
	}
	InstrEndParallelQuery(&team->buffer_usage[ParallelWorkerNumber],
						  &team->wal_usage[ParallelWorkerNumber]);
}

uint64
ecp_team_count_rows(EcpTeam *team, uint64 rows)
{
	return pg_atomic_add_fetch_u64(&team->shared->rows, rows);
}

/* CPU time of this process since it began. */
double
ecp_team_process_cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
		(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000000.0;
}

/* ---- begin and end ---- */

static void
team_estimate(ParallelContext *pcxt, Size bytes, Relation heap,
			  Snapshot snapshot)
{
	shm_toc_estimator *estimator = &pcxt->estimator;

	shm_toc_estimate_chunk(estimator, bytes);
	shm_toc_estimate_chunk(estimator,
						   mul_size(sizeof(WalUsage), pcxt->nworkers));
	shm_toc_estimate_chunk(estimator,
						   mul_size(sizeof(BufferUsage), pcxt->nworkers));
	shm_toc_estimate_keys(estimator, 3);
	if (snapshot)
	{
		shm_toc_estimate_chunk(estimator,
							   table_parallelscan_estimate(heap, snapshot));
		shm_toc_estimate_keys(estimator, 1);
	}
	if (debug_query_string)
	{
		shm_toc_estimate_chunk(estimator, strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(estimator, 1);
	}
}

/* Allocate what was estimated. */
static void
team_allocate(EcpTeam *team, Size bytes, Relation heap, Snapshot snapshot)
{
	shm_toc    *toc = team->pcxt->toc;
	int			nworkers = team->pcxt->nworkers;

	team->shared = shm_toc_allocate(toc, bytes);
	memset(team->shared, 0, sizeof(EcpTeamShared));
	shm_toc_insert(toc, TEAM_KEY_SHARED, team->shared);
	if (snapshot)
	{
		/* not synchronized: the order of rows must not depend on others */
		team->scan = shm_toc_allocate(toc,
									  table_parallelscan_estimate(heap, snapshot));
		table_parallelscan_initialize(heap, team->scan, snapshot);
		team->scan->phs_syncscan = false;
		shm_toc_insert(toc, TEAM_KEY_SCAN, team->scan);
	}
	team->wal_usage = shm_toc_allocate(toc,
									   mul_size(sizeof(WalUsage), nworkers));
	shm_toc_insert(toc, TEAM_KEY_WAL_USAGE, team->wal_usage);
	team->buffer_usage = shm_toc_allocate(toc,
										  mul_size(sizeof(BufferUsage),
												   nworkers));
	shm_toc_insert(toc, TEAM_KEY_BUFFER_USAGE, team->buffer_usage);
	if (debug_query_string)
	{
		Size		size = strlen(debug_query_string) + 1;
		char	   *query = shm_toc_allocate(toc, size);

		memcpy(query, debug_query_string, size);
		shm_toc_insert(toc, TEAM_KEY_QUERY, query);
	}
}

static void
team_destroy(EcpTeam *team)
{
	DestroyParallelContext(team->pcxt);
	ExitParallelMode();
	team->pcxt = NULL;
}

bool
ecp_team_create(EcpTeam *team, const char *entry, int nworkers, Size bytes,
				Relation heap, Snapshot snapshot, uint32 wait_event)
{
	EcpTeamShared *shared;

	Assert(nworkers > 0);
	Assert(bytes >= sizeof(EcpTeamShared));
	EnterParallelMode();
	team->pcxt = CreateParallelContext("$libdir/ecp", entry, nworkers);
	team_estimate(team->pcxt, bytes, heap, snapshot);
	if (!ecp_dsm_initialize(team->pcxt))
	{
		team_destroy(team);
		ecp_team_tell_short(team);
		return false;
	}
	team_allocate(team, bytes, heap, snapshot);
	shared = team->shared;
	shared->wait_event = wait_event;
	pg_atomic_init_u64(&shared->next_item, 0);
	pg_atomic_init_u64(&shared->rows, 0);
	ConditionVariableInit(&shared->start_cv);
	ConditionVariableInit(&shared->done_cv);
	SpinLockInit(&shared->mutex);
	return true;
}

void
ecp_team_launch(EcpTeam *team, bool all)
{
	team->shared->all = all;
	LaunchParallelWorkers(team->pcxt);
	team->nworkers = team->pcxt->nworkers_launched;

	/* a worker that cannot start is an error, not something to wait for */
	if (all)
		WaitForParallelWorkersToAttach(team->pcxt);
}

/* End the workers, and release what was shared with them. */
void
ecp_team_end(EcpTeam *team)
{
	EcpTeamTask none = {0};

	team_start(team, &none, false);
	WaitForParallelWorkersToFinish(team->pcxt);
	for (int i = 0; i < team->nworkers; i++)
		InstrAccumParallelQuery(&team->buffer_usage[i], &team->wal_usage[i]);
	team_destroy(team);
}

void
ecp_team_attach(EcpTeam *team, shm_toc *toc)
{
	debug_query_string = shm_toc_lookup(toc, TEAM_KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	team->shared = shm_toc_lookup(toc, TEAM_KEY_SHARED, false);
	team->scan = shm_toc_lookup(toc, TEAM_KEY_SCAN, true);
	team->wal_usage = shm_toc_lookup(toc, TEAM_KEY_WAL_USAGE, false);
	team->buffer_usage = shm_toc_lookup(toc, TEAM_KEY_BUFFER_USAGE, false);
}

/* ---- the backend and the parallel workers that build an index ---- */

/*
 * What the builds of both access methods share of their teams: the
 * snapshot of the scan, the locks that workers take, sums over the processes.
 * As in the server's own builds, see _bt_begin_parallel().
 */

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

/* ---- how many parallel workers an index build asks for ---- */

/*
 * The server gives a btree workers by the number of blocks of the table.  Where
 * the indexed values are out of line that is a small part of what a build
 * reads: 60,000 vectors of 1,536 floats are in 500 blocks, and 60,000 of the
 * TOAST table.  Therefore the rules of plan_create_index_workers() are applied
 * again with the blocks of both, of the TOAST table those that indexed columns
 * take: other columns can be large, too.  That is learnt from the pointers in a
 * few blocks of the table, which detoasts nothing.
 */

/* Blocks of the table in which pointers are looked at. */
#define LOOK_BLOCKS		16

/* Memory of a process below which no worker is added, as the server has it. */
#define PROCESS_MIN_KB	32768

typedef struct OutOfLine
{
	const IndexInfo *info;
	TupleDesc	desc;			/* of the table */
	double		bytes;
} OutOfLine;

/* Columns only: what an expression reads is not seen in its result. */
static bool
column_varlena(const OutOfLine *look, int i)
{
	AttrNumber	attnum = look->info->ii_IndexAttrNumbers[i];

	return attnum > 0 && TupleDescAttr(look->desc, attnum - 1)->attlen == -1;
}

/* What a row has out of line. */
static void
look_row(OutOfLine *look, HeapTuple row)
{
	for (int i = 0; i < look->info->ii_NumIndexAttrs; i++)
	{
		struct varatt_external pointer;
		bool		isnull;
		Datum		value;

		if (!column_varlena(look, i))
			continue;
		value = heap_getattr(row, look->info->ii_IndexAttrNumbers[i], look->desc, &isnull);
		if (isnull || !VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)))
			continue;
		VARATT_EXTERNAL_GET_POINTER(pointer, DatumGetPointer(value));
		look->bytes += VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	}
}

/*
 * The rows of a block, whoever sees them, and without the index's expressions and
 * predicate: a scan for the build would call a user's functions for an estimate, and
 * before the build has its snapshot.
 */
static void
look_block(OutOfLine *look, Relation heap, BlockNumber block)
{
	Buffer		buffer = ReadBufferExtended(heap, MAIN_FORKNUM, block, RBM_NORMAL, NULL);
	Page		page = BufferGetPage(buffer);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	for (OffsetNumber o = FirstOffsetNumber; o <= PageGetMaxOffsetNumber(page); o++)
	{
		ItemId		item = PageGetItemId(page, o);
		HeapTupleData row = {0};

		if (!ItemIdIsNormal(item))
			continue;
		row.t_tableOid = RelationGetRelid(heap);
		row.t_len = ItemIdGetLength(item);
		row.t_data = (HeapTupleHeader) PageGetItem(page, item);
		ItemPointerSet(&row.t_self, block, o);
		look_row(look, &row);
	}
	UnlockReleaseBuffer(buffer);
}

/* Blocks that a scan for the build reads. */
static double
blocks_read(Relation heap, IndexInfo *info)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	BlockNumber nlook = Min(nblocks, LOOK_BLOCKS);
	OutOfLine	look = {.info = info,.desc = RelationGetDescr(heap)};
	bool		varlena = false;

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		varlena |= column_varlena(&look, i);
	if (!varlena || nlook == 0 ||
		!OidIsValid(heap->rd_rel->reltoastrelid) ||
		heap->rd_tableam != GetHeapamTableAmRoutine())
		return nblocks;
	for (BlockNumber i = 0; i < nlook; i++)
		look_block(&look, heap, (BlockNumber) ((uint64) nblocks * i / nlook));
	return nblocks + look.bytes / nlook * nblocks / BLCKSZ;
}

static bool
parallel_safe(Relation index)
{
	PlannerInfo *root = makeNode(PlannerInfo);

	root->glob = makeNode(PlannerGlobal);
	return is_parallel_safe(root, (Node *) RelationGetIndexExpressions(index)) &&
		is_parallel_safe(root, (Node *) RelationGetIndexPredicate(index));
}

int
ecp_index_workers(Relation heap, Relation index, IndexInfo *info,
				  double *read_blocks)
{
	int			workers = ecp_index_core_workers(heap, index, info);
	double		blocks = blocks_read(heap, info);
	RelOptInfo *rel;
	int			more;

	if (read_blocks)
		*read_blocks = blocks;
	if (workers >= max_parallel_maintenance_workers ||
		blocks <= RelationGetNumberOfBlocks(heap) ||
		RelationGetParallelWorkers(heap, -1) != -1 ||
		heap->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
		!parallel_safe(index))
		return workers;

	rel = makeNode(RelOptInfo);
	rel->reloptkind = RELOPT_BASEREL;
	rel->rel_parallel_workers = -1;
	more = compute_parallel_worker(rel, blocks, -1,
								   max_parallel_maintenance_workers);
	while (more > 0 && maintenance_work_mem / (more + 1) < PROCESS_MIN_KB)
		more--;
	return Max(workers, more);
}
