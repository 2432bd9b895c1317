/*-------------------------------------------------------------------------
 *
 * device_job.c
 *	  Measured jobs: one function in several processes at the same time.
 *
 * A job of one process runs in the backend itself.  More processes are
 * background workers of a parallel context, which provides error reports,
 * cancellation and an orderly end.  They wait for each other before the clock
 * starts.  If the server has fewer workers than were requested, the job runs
 * with those, and reports their number.
 *
 * Files are read and written by plain system calls, bypassing shared buffers
 * but not the page cache of the operating system, as with the relations of the
 * server.  "Cold" means that the page cache was asked to drop the file before.
 *
 * The job that most measurements run, transferring blocks, is here, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "base/core.h"
#include "base/wait_event.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/fd.h"
#include "storage/shm_toc.h"
#include "utils/wait_event.h"

#include "device/measure/device_measure.h"

#define JOB_KEY_STATE		UINT64CONST(0xEC9D000000000001)
#define JOB_KEY_TASK		UINT64CONST(0xEC9D000000000002)
#define JOB_KEY_SHARED		UINT64CONST(0xEC9D000000000003)

/* At most this share of a process's blocks may go into warming up. */
#define WARMUP_SHARE		0.25

/* Bytes that the writers of a mixed job write and sync at a time. */
#define MIXED_WRITE_BYTES	(1024 * 1024)

/* In shared memory, at JOB_KEY_STATE. */
typedef struct JobState
{
	char		function[NAMEDATALEN];
	int			nworkers;		/* launched */
	bool		has_shared;
	bool		go;
	instr_time	start;
	pg_atomic_uint32 ready;
	ConditionVariable cv;
	EcpJobResult results[ECP_JOB_WORKERS_MAX];
} JobState;

extern PGDLLEXPORT void ecp_job_worker_main(dsm_segment *seg, shm_toc *toc);

/* Open a file until the end of the transaction, or CloseTransientFile(). */
int
ecp_job_open(const char *path, int flags)
{
	int			fd = OpenTransientFile(path, flags | PG_BINARY);

	Assert(path[0] != '\0');
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	return fd;
}

/* Read or write all of the bytes. */
static void
job_transfer(int fd, char *buffer, size_t bytes, off_t offset,
			 const char *path, bool write)
{
	Assert(fd >= 0 && bytes > 0 && offset >= 0);
	pgstat_report_wait_start(ecp_wait_event(ECP_WAIT_DEVICE));
	for (size_t done = 0; done < bytes;)
	{
		ssize_t		n = write ?
			pwrite(fd, buffer + done, bytes - done, offset + done) :
			pread(fd, buffer + done, bytes - done, offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 && !write)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("file \"%s\" is shorter than expected", path)));
		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 write ? errmsg("could not write to file \"%s\": %m", path) :
					 errmsg("could not read file \"%s\": %m", path)));
		done += n;
	}
	pgstat_report_wait_end();
}

void
ecp_job_read(int fd, void *buffer, size_t bytes, off_t offset,
			 const char *path)
{
	job_transfer(fd, buffer, bytes, offset, path, false);
}

void
ecp_job_write(int fd, const void *buffer, size_t bytes, off_t offset,
			  const char *path)
{
	job_transfer(fd, unconstify(void *, buffer), bytes, offset, path, true);
}

void
ecp_job_sync(int fd, const char *path)
{
	Assert(fd >= 0);
	if (fsync(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not fsync file \"%s\": %m", path)));
}

/* Seconds since "start". */
double
ecp_job_elapsed(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now);
}

/* Seconds since all processes of the job started. */
double
ecp_job_seconds(const EcpJobContext *context)
{
	return ecp_job_elapsed(context->start);
}

/*
 * The entry point of a background worker: waits until all have started, then
 * runs the job.
 */
void
ecp_job_worker_main(dsm_segment *seg, shm_toc *toc)
{
	JobState   *state = shm_toc_lookup(toc, JOB_KEY_STATE, false);
	void	   *task = shm_toc_lookup(toc, JOB_KEY_TASK, false);
	EcpJobContext context;
	EcpJobFunction function;
	EcpJobResult *result = &state->results[ParallelWorkerNumber];

	Assert(IsParallelWorker() && ParallelWorkerNumber < ECP_JOB_WORKERS_MAX);
	pg_atomic_fetch_add_u32(&state->ready, 1);
	ConditionVariableBroadcast(&state->cv);
	ConditionVariablePrepareToSleep(&state->cv);
	while (!*(volatile bool *) &state->go)
		ConditionVariableSleep(&state->cv, ecp_wait_event(ECP_WAIT_JOB));
	ConditionVariableCancelSleep();
	pg_read_barrier();

	context.worker = ParallelWorkerNumber;
	context.nworkers = state->nworkers;
	context.start = state->start;
	context.shared = state->has_shared ?
		shm_toc_lookup(toc, JOB_KEY_SHARED, false) : NULL;

	/* as the server finds the entry point of a worker */
	function = (EcpJobFunction)
		load_external_function("$libdir/ecp_storage", state->function, true, NULL);
	function(&context, task, result);
	result->finish_s = ecp_job_seconds(&context);
}

/*
 * Launch workers, start them together and wait for the end.  Returns how many
 * were launched.
 */
static int
job_run_parallel(EcpJob job, const void *task, Size task_bytes,
				 int nworkers, Size shared_bytes, void *shared,
				 EcpJobResult *results)
{
	ParallelContext *pcxt;
	JobState   *state;
	void	   *task_copy;
	void	   *shared_area = NULL;
	int			launched;

	Assert(strlen(job.name) < NAMEDATALEN && task_bytes > 0);
	EnterParallelMode();
	pcxt = CreateParallelContext("$libdir/ecp_storage", "ecp_job_worker_main", nworkers);
	shm_toc_estimate_chunk(&pcxt->estimator, sizeof(JobState));
	shm_toc_estimate_chunk(&pcxt->estimator, task_bytes);
	shm_toc_estimate_chunk(&pcxt->estimator, shared_bytes);
	shm_toc_estimate_keys(&pcxt->estimator, 3);
	if (!ecp_dsm_initialize(pcxt))
	{
		/* no room for a segment: the caller runs the job itself */
		DestroyParallelContext(pcxt);
		ExitParallelMode();
		return 0;
	}

	state = shm_toc_allocate(pcxt->toc, sizeof(JobState));
	memset(state, 0, sizeof(JobState));
	strlcpy(state->function, job.name, sizeof(state->function));
	state->has_shared = shared_bytes > 0;
	pg_atomic_init_u32(&state->ready, 0);
	ConditionVariableInit(&state->cv);
	shm_toc_insert(pcxt->toc, JOB_KEY_STATE, state);
	task_copy = shm_toc_allocate(pcxt->toc, task_bytes);
	memcpy(task_copy, task, task_bytes);
	shm_toc_insert(pcxt->toc, JOB_KEY_TASK, task_copy);
	if (shared_bytes > 0)
	{
		shared_area = shm_toc_allocate(pcxt->toc, shared_bytes);
		memcpy(shared_area, shared, shared_bytes);
		shm_toc_insert(pcxt->toc, JOB_KEY_SHARED, shared_area);
	}

	LaunchParallelWorkers(pcxt);
	launched = pcxt->nworkers_launched;
	if (launched > 0)
	{
		WaitForParallelWorkersToAttach(pcxt);
		ConditionVariablePrepareToSleep(&state->cv);
		while (pg_atomic_read_u32(&state->ready) < (uint32) launched)
			ConditionVariableSleep(&state->cv, ecp_wait_event(ECP_WAIT_JOB));
		ConditionVariableCancelSleep();
		state->nworkers = launched;
		INSTR_TIME_SET_CURRENT(state->start);
		pg_write_barrier();
		*(volatile bool *) &state->go = true;
		ConditionVariableBroadcast(&state->cv);
		WaitForParallelWorkersToFinish(pcxt);
		memcpy(results, state->results, launched * sizeof(EcpJobResult));
		if (shared_bytes > 0)
			memcpy(shared, shared_area, shared_bytes);
	}
	DestroyParallelContext(pcxt);
	ExitParallelMode();
	return launched;
}

/*
 * ecp_job_run
 *		Run a job in nworkers processes; results has room for as many.
 *
 * "shared" is copied to where all processes can write, and back at the end.
 * Returns the number of processes, which is lower than nworkers if the server
 * has no more workers.
 */
int
ecp_job_run(EcpJob job, const void *task, Size task_bytes, int nworkers,
			Size shared_bytes, void *shared, EcpJobResult *results)
{
	EcpJobContext context;
	int			launched = 0;

	Assert(nworkers >= 1 && nworkers <= ECP_JOB_WORKERS_MAX);
	Assert((shared != NULL) == (shared_bytes > 0));
	memset(results, 0, nworkers * sizeof(EcpJobResult));
	if (nworkers > 1)
		launched = job_run_parallel(job, task, task_bytes, nworkers,
									shared_bytes, shared, results);
	if (launched > 0)
		return launched;

	context.worker = 0;
	context.nworkers = 1;
	context.shared = shared;
	INSTR_TIME_SET_CURRENT(context.start);
	job.function(&context, task, &results[0]);
	results[0].finish_s = ecp_job_seconds(&context);
	return 1;
}

/* Sums over the processes; of counted_s and finish_s the largest. */
void
ecp_job_sum(const EcpJobResult *results, int n, EcpJobResult *sum)
{
	Assert(n >= 1 && n <= ECP_JOB_WORKERS_MAX);
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < n; i++)
	{
		sum->ops += results[i].ops;
		sum->bytes += results[i].bytes;
		sum->busy_s += results[i].busy_s;
		sum->counted_s = Max(sum->counted_s, results[i].counted_s);
		sum->finish_s = Max(sum->finish_s, results[i].finish_s);
		sum->found += results[i].found;
	}
}

/*
 * The step, about 0.618 of the file, by which blocks are visited in an order
 * that jumps about and comes to each block once.
 */
static int64
transfer_stride(int64 nblocks)
{
	int64		stride = (int64) (nblocks * 0.6180339887);

	Assert(nblocks > 0);
	for (stride = Max(stride, 1);; stride++)
	{
		int64		a = stride;
		int64		b = nblocks;

		while (b != 0)
		{
			int64		rest = a % b;

			a = b;
			b = rest;
		}
		if (a == 1)
			return stride;
	}
}

static void
transfer_warm(int fd, const EcpTransferTask *task, char *buffer)
{
	for (int64 at = 0; at + task->block_bytes <= task->file_bytes;
		 at += task->block_bytes)
	{
		CHECK_FOR_INTERRUPTS();
		ecp_job_read(fd, buffer, task->block_bytes, at, task->path);
	}
}

/*
 * ecp_job_transfer
 *		The job that reads or writes blocks.
 *
 * In order, each process has its own section of the file; at random, the
 * blocks are divided among them.  No block is visited twice, so that a cold
 * file stays cold, unless the file is to be warm.
 *
 * The first warmup_s seconds do not count: an idle device has credit, in its
 * cache or with a throttle.
 */
void
ecp_job_transfer(const EcpJobContext *context, const void *arg,
				 EcpJobResult *result)
{
	EcpTransferTask own = *(const EcpTransferTask *) arg;
	const EcpTransferTask *task = &own;
	bool		jumps = own.random || own.step_bytes > 0;
	int			fd = ecp_job_open(task->path, O_RDWR);
	char	   *buffer;
	int64		step;
	int64		nblocks;
	int64		mine;
	int64		first;
	int64		stride;
	bool		warming = task->warmup_s > 0;
	double		begin;
	double		now;

	Assert(context->worker >= 0 && context->worker < context->nworkers);
	if (task->mixed && context->worker % 2 == 1)
	{
		own.write = own.sync_each = true;
		own.random = jumps = false;
		own.block_bytes = MIXED_WRITE_BYTES;
	}
	Assert(task->block_bytes > 0 && task->misalign >= 0);
	buffer = palloc0(task->block_bytes);
	step = Max(task->step_bytes, task->block_bytes);
	nblocks = (task->file_bytes - task->misalign) / step;
	mine = nblocks / context->nworkers;
	first = mine * context->worker;
	stride = task->random ? transfer_stride(Max(nblocks, 1)) : 1;

#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_RANDOM)
	if (jumps)
		(void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
#endif
	if (task->warm)
		transfer_warm(fd, task, buffer);
	begin = now = ecp_job_seconds(context);
	for (int64 i = 0; i < mine || (task->warm && mine > 0); i++)
	{
		int64		n = first + i % mine;
		off_t		offset = task->misalign + step *
			(task->random ? (int64) (((uint64) n * stride) % nblocks) : n);
		double		before = now;

		CHECK_FOR_INTERRUPTS();
		if (now - begin >= task->max_seconds ||
			(task->max_ops > 0 && i >= task->max_ops))
			break;
		if (task->write)
		{
			memcpy(buffer, &n, sizeof(n));
			ecp_job_write(fd, buffer, task->block_bytes, offset, task->path);
			if (task->sync_each)
				ecp_job_sync(fd, task->path);
		}
		else
			ecp_job_read(fd, buffer, task->block_bytes, offset, task->path);
		now = ecp_job_seconds(context);
		if (warming)
		{
			warming = now - begin < task->warmup_s &&
				i < mine * WARMUP_SHARE;
			if (!warming)
				begin = now;
			continue;
		}
		result->ops++;
		result->bytes += task->block_bytes;
		result->busy_s += now - before;
	}
	if (task->sync_end)
		ecp_job_sync(fd, task->path);
	result->counted_s = ecp_job_seconds(context) - begin;
	CloseTransientFile(fd);
	pfree(buffer);
}
