/*-------------------------------------------------------------------------
 *
 * ecp_team.c
 *	  Tasks that the processes of an index build do together.
 *
 * The backend has its workers do one task after the other.  It does its own
 * part of each and waits for the others.  Items of a task are claimed from a
 * counter, so that nobody waits for a slow worker longer than a claim takes.
 * No result may depend on who did an item: that makes the index the same for
 * any number of workers.
 *
 * What a task works on lies in dynamic shared memory segments of its own
 * (EcpMemory), which workers attach when a task names them and give up when
 * one does not.
 *
 * ecp_build_team.c launches the workers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/resource.h>

#include "ecp/cluster/ecp_team.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/wait_event.h"

#define MEMORY_ALIGN	64

/* A worker's attached memories. */
typedef struct TeamAttached
{
	dsm_segment *segs[ECP_TASK_MEMORIES];
} TeamAttached;


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

void
ecp_team_init(EcpTeamShared *shared)
{
	pg_atomic_init_u64(&shared->next_item, 0);
	pg_atomic_init_u64(&shared->rows, 0);
	ConditionVariableInit(&shared->start_cv);
	ConditionVariableInit(&shared->done_cv);
	SpinLockInit(&shared->mutex);
}

int64
ecp_team_step(const EcpTeam *team, int64 nitems, int64 least)
{
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

/* Wait until all workers are done with the present task. */
static void
team_wait(EcpTeam *team)
{
	EcpTeamShared *shared = team->shared;
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
team_start(EcpTeam *team, const EcpTeamTask *task)
{
	EcpTeamShared *shared = team->shared;

	pg_atomic_write_u64(&shared->next_item, 0);
	pg_atomic_write_u64(&shared->rows, 0);
	SpinLockAcquire(&shared->mutex);
	shared->task = *task;
	shared->nbusy = team->nworkers;
	shared->generation++;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->start_cv);
}

void
ecp_team_run(EcpTeam *team, EcpTask which, const void *args, Size args_bytes,
			 int64 nitems, int64 step, EcpMemory *const *memories,
			 int nmemories)
{
	EcpTeamTask task = {0};
	char	   *addresses[ECP_TASK_MEMORIES] = {0};

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
		if (i < nmemories && memories[i]->seg)
		{
			task.memories[i] = dsm_segment_handle(memories[i]->seg);
			addresses[i] = memories[i]->address;
		}
	}
	team->begin(team);
	team_start(team, &task);
	which.function(team, task.args, addresses);
	team_wait(team);
	team->end(team);
}

/* Let the workers go. */
void
ecp_team_dismiss(EcpTeam *team)
{
	EcpTeamTask task = {0};

	team_start(team, &task);
}

/* What a worker does: task after task. */
void
ecp_team_work(EcpTeam *team)
{
	EcpTeamShared *shared = team->shared;
	TeamAttached attached = {0};
	uint64		seen = 0;

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
		if (task.function[0] == '\0')
			break;

		/* as the server finds a worker's first function */
		function = (EcpTaskFunction)
			load_external_function("$libdir/ecp", task.function, true, NULL);
		cpu_s = ecp_cpu_seconds();
		team->begin(team);
		function(team, task.args, addresses);
		team->end(team);
		cpu_s = ecp_cpu_seconds() - cpu_s;

		SpinLockAcquire(&shared->mutex);
		shared->cpu_s += cpu_s;
		shared->nbusy--;
		SpinLockRelease(&shared->mutex);
		ConditionVariableSignal(&shared->done_cv);
	}
}

uint64
ecp_team_count_rows(EcpTeam *team, uint64 rows)
{
	return pg_atomic_add_fetch_u64(&team->shared->rows, rows);
}

/* Of this process, since it began. */
double
ecp_cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
		(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000000.0;
}

double
ecp_team_cpu_s(const EcpTeam *team)
{
	return team->shared->cpu_s;
}
