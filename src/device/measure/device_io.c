/*-------------------------------------------------------------------------
 *
 * device_io.c
 *	  Measured jobs in several processes on files of a tablespace.
 *
 * A measurement creates temporary files in the tablespace's own area for
 * such files, so that fd.c counts them against temp_file_limit and removes
 * them on any end of the transaction, and the next start of the server
 * removes what a crash left.  It then runs jobs: the same function in one or
 * more processes, which all start at the same moment.
 *
 * A job of one process runs in the backend itself.  More are dynamic
 * background workers of a parallel context, which gives us error reports from
 * the workers, cancellation, and an orderly end in every case.  If the server
 * has fewer workers to give than were asked for, the job runs with those, and
 * the number is reported.
 *
 * Files are read and written by plain system calls, past shared buffers; the
 * page cache of the operating system stays in between, as it does for the
 * relations of the server.  "Cold" means that the cache was asked to drop the
 * file before, which it does for clean pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_tablespace.h"
#include "commands/tablespace.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/fd.h"
#include "storage/shm_toc.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "base/compat.h"
#include "device/measure/device_io.h"

#define JOB_KEY_STATE		UINT64CONST(0xEC9D000000000001)
#define JOB_KEY_TASK		UINT64CONST(0xEC9D000000000002)
#define JOB_KEY_SHARED		UINT64CONST(0xEC9D000000000003)

/*
 * A file is filled in pieces, each followed by a sync.  The first one is small
 * enough for any device; a piece is at most FILL_GROWTH times as large as the
 * one before, and no larger than what should take FILL_SYNC_SECONDS.
 */
#define FILL_CHUNK_BYTES	(1024 * 1024)
#define FILL_FIRST_BYTES	(64 * 1024)
#define FILL_GROWTH			4
#define FILL_SYNC_BYTES		(32 * 1024 * 1024)
#define FILL_SYNC_SECONDS	1.0

/* Much of a job's file may go into warming up. */
#define WARMUP_SHARE		0.25

/* What the writers of a mixed job write and sync at once. */
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

extern PGDLLEXPORT void ecp_device_worker_main(dsm_segment *seg,
											   shm_toc *toc);

/*
 * ecp_device_tablespace
 *		The tablespace that a measuring function was asked to measure.
 *
 * Checks that the caller may create files there and that this server may
 * write at all.
 */
Oid
ecp_device_tablespace(const char *name, const char *function)
{
	Oid			tablespace = get_tablespace_oid(name, false);

	PreventCommandDuringRecovery(function);
	if (tablespace == GLOBALTABLESPACE_OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tablespace \"%s\" cannot be measured", name),
				 errdetail("Only shared relations can be placed there.")));
	if (tablespace != MyDatabaseTableSpace)
	{
		AclResult	result = ecp_tablespace_aclcheck(tablespace, GetUserId());

		if (result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_TABLESPACE, name);
	}
	return tablespace;
}

/*
 * ecp_device_file_create
 *		An empty temporary file in this tablespace.
 *
 * The temporary tablespaces of the transaction are what they were before.
 */
void
ecp_device_file_create(Oid tablespace, EcpDeviceFile *file)
{
	Oid		   *ours;
	Oid		   *saved;
	int			nsaved;
	char		prefix[MAXPGPATH];

	PrepareTempTablespaces();
	saved = MemoryContextAlloc(TopTransactionContext, 64 * sizeof(Oid));
	nsaved = GetTempTablespaces(saved, 64);
	ours = MemoryContextAlloc(TopTransactionContext, sizeof(Oid));
	ours[0] = tablespace;
	SetTempTablespaces(ours, 1);
	file->file = OpenTemporaryFile(false);
	SetTempTablespaces(saved, nsaved);

	/* fd.c falls back to the default tablespace when ours cannot be used */
	strlcpy(file->path, FilePathName(file->file), sizeof(file->path));
	TempTablespacePath(prefix, tablespace);
	if (strncmp(file->path, prefix, strlen(prefix)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not create a temporary file in tablespace \"%s\"",
						get_tablespace_name(tablespace))));
	file->bytes = 0;
}

static void
fill_sync(const EcpDeviceFile *file)
{
	if (fsync(FileGetRawDesc(file->file)) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not fsync file \"%s\": %m", file->path)));
}

static double
fill_elapsed(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now);
}

/* Write so many bytes at the end of the file, and sync. */
static void
fill_piece(EcpDeviceFile *file, char *buffer, int64 bytes)
{
	while (bytes > 0)
	{
		int			chunk = (int) Min(bytes, FILL_CHUNK_BYTES);

		CHECK_FOR_INTERRUPTS();
		/* no two chunks are alike */
		memcpy(buffer, &file->bytes, sizeof(file->bytes));
		errno = 0;
		if (FileWrite(file->file, buffer, chunk, file->bytes,
					  PG_WAIT_EXTENSION) != chunk)
		{
			if (errno == 0)
				errno = ENOSPC;
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to file \"%s\": %m",
							file->path)));
		}
		FileWriteback(file->file, file->bytes, chunk, PG_WAIT_EXTENSION);
		file->bytes += chunk;
		bytes -= chunk;
	}
	fill_sync(file);
}

/*
 * ecp_device_file_fill
 *		Write a file from its beginning, in order, and sync it.
 *
 * The data cannot be compressed.  Ends early where the next piece would not
 * be done within max_seconds at the rate of the last one, so that a slow
 * device bounds the size of the file; file->bytes says how much there is.
 * The device is given each chunk as soon as it is written, so that it need
 * not wait for us; the syncs bound what it has not done.
 *
 * *bytes_per_s becomes the rate of writing with few syncs, that is, without
 * the first, small pieces if others followed; *sync_s what the sync of the
 * smallest piece took.  Both may be NULL.
 */
void
ecp_device_file_fill(EcpDeviceFile *file, int64 bytes, double max_seconds,
					 double *bytes_per_s, double *sync_s)
{
	char	   *buffer = palloc(FILL_CHUNK_BYTES);
	pg_prng_state prng;
	instr_time	start;
	double		elapsed = 0;
	double		rate = 0;		/* of the last piece */
	int64		largest = 0;	/* piece so far */
	int64		counted_bytes = 0;
	double		counted_s = 0;

	pg_prng_seed(&prng, 20110722);
	for (int i = 0; i < FILL_CHUNK_BYTES; i += sizeof(uint64))
	{
		uint64		word = pg_prng_uint64(&prng);

		memcpy(buffer + i, &word, sizeof(word));
	}

	INSTR_TIME_SET_CURRENT(start);
	while (file->bytes < bytes)
	{
		double		most = FILL_FIRST_BYTES;
		double		before = elapsed;
		int64		piece;

		if (largest > 0)
			most = Min(Min((double) largest * FILL_GROWTH, FILL_SYNC_BYTES),
					   rate * Min(FILL_SYNC_SECONDS, max_seconds - elapsed));
		if (most < FILL_FIRST_BYTES && file->bytes > 0)
		{
			if (elapsed >= max_seconds ||
				FILL_FIRST_BYTES > rate * (max_seconds - elapsed))
				break;
			most = FILL_FIRST_BYTES;
		}
		piece = (int64) most / FILL_FIRST_BYTES * FILL_FIRST_BYTES;
		piece = Min(piece, bytes - file->bytes);
		fill_piece(file, buffer, piece);
		elapsed = fill_elapsed(start);
		rate = piece / Max(elapsed - before, 1e-6);
		if (sync_s && largest == 0)
			*sync_s = elapsed - before;
		if (piece >= 2 * largest)
		{
			largest = piece;
			counted_bytes = 0;
			counted_s = 0;
		}
		counted_bytes += piece;
		counted_s += elapsed - before;
	}
	pfree(buffer);
	if (bytes_per_s)
		*bytes_per_s = counted_bytes / Max(counted_s, 1e-6);
}

/*
 * ecp_device_file_forget
 *		Ask the page cache to drop the file, of which it drops what is clean.
 *
 * "sync" makes all of it clean before.  Without need it is better left out:
 * even with nothing to write it may have to wait for what others wrote.
 */
void
ecp_device_file_forget(const EcpDeviceFile *file, bool sync)
{
	int			fd = ecp_job_open(file->path, O_RDWR);

	if (sync && fsync(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not fsync file \"%s\": %m", file->path)));
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_DONTNEED)
	(void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
#endif
	CloseTransientFile(fd);
}

void
ecp_device_file_close(EcpDeviceFile *file)
{
	FileClose(file->file);
}

/*
 * For jobs
 */

/* Open for the rest of the transaction; close with CloseTransientFile(). */
int
ecp_job_open(const char *path, int flags)
{
	int			fd = OpenTransientFile(path, flags | PG_BINARY);

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	return fd;
}

void
ecp_job_read(int fd, void *buffer, size_t bytes, off_t offset,
			 const char *path)
{
	size_t		done = 0;

	pgstat_report_wait_start(PG_WAIT_EXTENSION);
	while (done < bytes)
	{
		ssize_t		got = pread(fd, (char *) buffer + done, bytes - done,
								offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
		{
			pgstat_report_wait_end();
			if (got == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DATA_CORRUPTED),
						 errmsg("file \"%s\" is shorter than expected",
								path)));
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m", path)));
		}
		done += got;
	}
	pgstat_report_wait_end();
}

void
ecp_job_write(int fd, const void *buffer, size_t bytes, off_t offset,
			  const char *path)
{
	size_t		done = 0;

	pgstat_report_wait_start(PG_WAIT_EXTENSION);
	while (done < bytes)
	{
		ssize_t		put = pwrite(fd, (const char *) buffer + done,
								 bytes - done, offset + done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
		{
			pgstat_report_wait_end();
			if (put == 0)
				errno = ENOSPC;
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to file \"%s\": %m", path)));
		}
		done += put;
	}
	pgstat_report_wait_end();
}

/* Seconds since all processes of the job started. */
double
ecp_job_seconds(const EcpJobContext *context)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, context->start);
	return INSTR_TIME_GET_DOUBLE(now);
}

/*
 * The entry point of a background worker: wait until all are there, run.
 */
void
ecp_device_worker_main(dsm_segment *seg, shm_toc *toc)
{
	JobState   *state = shm_toc_lookup(toc, JOB_KEY_STATE, false);
	void	   *task = shm_toc_lookup(toc, JOB_KEY_TASK, false);
	EcpJobContext context;
	EcpJobFunction function;
	EcpJobResult *result = &state->results[ParallelWorkerNumber];

	pg_atomic_fetch_add_u32(&state->ready, 1);
	ConditionVariableBroadcast(&state->cv);
	ConditionVariablePrepareToSleep(&state->cv);
	while (!*(volatile bool *) &state->go)
		ConditionVariableSleep(&state->cv, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
	pg_read_barrier();

	context.worker = ParallelWorkerNumber;
	context.nworkers = state->nworkers;
	context.start = state->start;
	context.shared = state->has_shared ?
		shm_toc_lookup(toc, JOB_KEY_SHARED, false) : NULL;

	/* as the server finds a worker's first function */
	function = (EcpJobFunction)
		load_external_function("$libdir/ecp", state->function, true, NULL);
	function(&context, task, result);
	result->finish_s = ecp_job_seconds(&context);
}

/* Launch, start together, wait for the end.  Returns the number launched. */
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

	EnterParallelMode();
	pcxt = CreateParallelContext("$libdir/ecp", "ecp_device_worker_main", nworkers);
	shm_toc_estimate_chunk(&pcxt->estimator, sizeof(JobState));
	shm_toc_estimate_chunk(&pcxt->estimator, task_bytes);
	shm_toc_estimate_chunk(&pcxt->estimator, shared_bytes);
	shm_toc_estimate_keys(&pcxt->estimator, 3);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
	{
		/* no room for a segment: the caller goes on alone */
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
			ConditionVariableSleep(&state->cv, PG_WAIT_EXTENSION);
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
 *		Run a job in so many processes; results has room for as many.
 *
 * "shared" is copied to where all processes can write, and back at the end.
 * Returns the number of processes that there were, which is less than
 * nworkers if the server has no more to give.
 */
int
ecp_job_run(EcpJob job, const void *task, Size task_bytes, int nworkers,
			Size shared_bytes, void *shared, EcpJobResult *results)
{
	EcpJobContext context;
	int			launched = 0;

	Assert(nworkers >= 1 && nworkers <= ECP_JOB_WORKERS_MAX);
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

/* Sums; finish_s is that of the last to finish. */
void
ecp_job_sum(const EcpJobResult *results, int n, EcpJobResult *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < n; i++)
	{
		sum->ops += results[i].ops;
		sum->bytes += results[i].bytes;
		sum->busy_s += results[i].busy_s;
		sum->finish_s = Max(sum->finish_s, results[i].finish_s);
		sum->value += results[i].value;
	}
}

/*
 * The n-th of the blocks in an order that jumps about and meets each once:
 * steps of about 0.618 of the file.
 */
static int64
transfer_stride(int64 nblocks)
{
	int64		stride = (int64) (nblocks * 0.6180339887);

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
 *		The block transfer job.
 *
 * In order, each process has its own section of the file; at random, they
 * share out the blocks.  No block is met twice, so that a cold file stays
 * cold, unless the file is to be warm.
 *
 * What is done in the first warmup_s seconds does not count: a device that
 * was idle has credit, whether that is its cache or a throttle's.
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

	if (task->mixed && context->worker % 2 == 1)
	{
		own.write = own.sync_each = true;
		own.random = jumps = false;
		own.block_bytes = MIXED_WRITE_BYTES;
	}
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
			if (task->sync_each && fsync(fd) != 0)
				ereport(ERROR,
						(errcode_for_file_access(),
						 errmsg("could not fsync file \"%s\": %m",
								task->path)));
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
	if (task->sync_end && fsync(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not fsync file \"%s\": %m", task->path)));
	result->value = ecp_job_seconds(context) - begin;
	CloseTransientFile(fd);
	pfree(buffer);
}
