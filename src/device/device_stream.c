/*-------------------------------------------------------------------------
 *
 * device_stream.c
 *	  Streams of frames from several devices: delays, measured or simulated.
 *
 * After "Comparing Multimedia Storage Architectures".  A frame is cut into
 * extents, which lie on different devices; a stream asks for frames at a
 * fixed rate; each device serves the requests in the order of their times.
 * A frame is there when its last extent is, and its delay is the time since
 * it was asked for.  The rates are frames in one second of the pattern, which
 * is played in time_slice seconds: a shorter slice is a higher load.
 *
 * Measured, each device has a worker with a file in its tablespace.  All
 * workers know the whole schedule, so nothing is sent between them: a worker
 * waits for the time of the next request that concerns it, reads, and notes
 * when it was done.  Requests have no jitter of their own.
 *
 * Simulated, a device takes latency + bytes / throughput for an extent, and
 * the rest is the same arithmetic; that needs no device and no time.
 *
 * Streams of different rates that start together meet again and again, and
 * then each waits for the others.  "Harmonised" streams have one basic rate
 * or an integer fraction of it, with the same total, and start in turn, so
 * that they do not meet.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "device/device_io.h"

#define STREAM_DEVICES_MAX	16
#define STREAM_STREAMS_MAX	16
#define STREAM_REQUESTS_MAX 1000000

/* extents of consecutive frames begin on other devices */
#define STREAM_PRIME		7

/* points of the cumulative distribution that is returned: every 5 % */
#define STREAM_CPD_POINTS	21

PG_FUNCTION_INFO_V1(ecp_stream_bench);
PG_FUNCTION_INFO_V1(ecp_stream_simulate);

typedef struct StreamTask
{
	char		paths[STREAM_DEVICES_MAX][MAXPGPATH];
	int64		file_bytes;
	int			ndevices;
	int			nstreams;
	double		fps[STREAM_STREAMS_MAX];
	double		phase[STREAM_STREAMS_MAX];	/* seconds of the pattern */
	double		time_slice;
	int			slices;
	int			extents;		/* of a frame */
	int			extent_bytes;
} StreamTask;

typedef struct StreamRequest
{
	double		time;			/* seconds since the start */
	int			stream;
	int			frame;
} StreamRequest;

static int
stream_compare_requests(const void *a, const void *b)
{
	const StreamRequest *ra = a;
	const StreamRequest *rb = b;

	if (ra->time != rb->time)
		return ra->time < rb->time ? -1 : 1;
	if (ra->stream != rb->stream)
		return ra->stream < rb->stream ? -1 : 1;
	return ra->frame < rb->frame ? -1 : 1;
}

/* The schedule; the same in every process. */
static StreamRequest *
stream_requests(const StreamTask *task, int *nrequests)
{
	StreamRequest *requests;
	double		expected = 0;
	int			n = 0;

	for (int s = 0; s < task->nstreams; s++)
		expected += ceil(task->fps[s] * task->slices);
	if (expected > STREAM_REQUESTS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many requests: %.0f", expected)));
	requests = palloc_array(StreamRequest, (Size) expected + 1);
	for (int s = 0; s < task->nstreams; s++)
	{
		int			frames = (int) floor(task->fps[s] * task->slices);

		for (int f = 0; f < frames; f++)
		{
			requests[n].time = (task->phase[s] + f / task->fps[s]) *
				task->time_slice;
			requests[n].stream = s;
			requests[n++].frame = f;
		}
	}
	qsort(requests, n, sizeof(StreamRequest), stream_compare_requests);
	*nrequests = n;
	return requests;
}

/* On which device is an extent of a frame? */
static int
stream_device(const StreamTask *task, const StreamRequest *request, int extent)
{
	return (extent + request->stream + request->frame * STREAM_PRIME) %
		task->ndevices;
}

/*
 * ecp_job_stream
 *		Serve what is on this worker's device.
 *
 * shared[request * ndevices + device] becomes the time when it was done.
 */
void
ecp_job_stream(const EcpJobContext *context, const void *arg,
			   EcpJobResult *result)
{
	const StreamTask *task = arg;
	double	   *done = context->shared;
	int			nrequests;
	StreamRequest *requests = stream_requests(task, &nrequests);
	char	   *buffer = palloc(task->extent_bytes);
	int64		nplaces = task->file_bytes / task->extent_bytes;
	pg_prng_state prng;

	/* with fewer workers than devices, a worker has several */
	for (int d = context->worker; d < task->ndevices; d += context->nworkers)
	{
		const char *path = task->paths[d];
		int			fd = ecp_job_open(path, O_RDONLY);

		pg_prng_seed(&prng, d + 1);
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_RANDOM)
		(void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
#endif
		for (int r = 0; r < nrequests; r++)
		{
			double		before = ecp_job_seconds(context);

			CHECK_FOR_INTERRUPTS();
			while (before < requests[r].time)
			{
				pg_usleep((long) Min(1e5, (requests[r].time - before) * 1e6) + 1);
				CHECK_FOR_INTERRUPTS();
				before = ecp_job_seconds(context);
			}
			for (int e = 0; e < task->extents; e++)
			{
				off_t		at;

				if (stream_device(task, &requests[r], e) != d)
					continue;
				at = (off_t) pg_prng_uint64_range(&prng, 0, nplaces - 1) *
					task->extent_bytes;
				ecp_job_read(fd, buffer, task->extent_bytes, at, path);
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_DONTNEED)
				/* the next time it has to come from the device again */
				(void) posix_fadvise(fd, at, task->extent_bytes,
									 POSIX_FADV_DONTNEED);
#endif
				result->ops++;
				result->bytes += task->extent_bytes;
			}
			done[(Size) r * task->ndevices + d] = ecp_job_seconds(context);
			result->busy_s += done[(Size) r * task->ndevices + d] - before;
		}
		CloseTransientFile(fd);
	}
}

/* The same on devices that are two figures. */
static void
stream_simulate(const StreamTask *task, const StreamRequest *requests,
				int nrequests, double latency_s, double bps, double *done,
				double *busy_s)
{
	double		service = latency_s + task->extent_bytes / bps;
	double	   *free_at = palloc0_array(double, task->ndevices);

	*busy_s = 0;
	for (int r = 0; r < nrequests; r++)
	{
		for (int d = 0; d < task->ndevices; d++)
			done[(Size) r * task->ndevices + d] = requests[r].time;
		for (int e = 0; e < task->extents; e++)
		{
			int			d = stream_device(task, &requests[r], e);

			free_at[d] = Max(free_at[d], requests[r].time) + service;
			done[(Size) r * task->ndevices + d] = free_at[d];
			*busy_s += service;
		}
	}
	pfree(free_at);
}

static int
stream_compare_delays(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The delay that this share of the frames does not exceed. */
static double
stream_percentile(const double *delays, int n, double share)
{
	int			at = (int) ceil(share * n) - 1;

	return delays[Max(0, Min(at, n - 1))];
}

/*
 * A row for a stream, or for all of them if stream is -1.
 */
static void
stream_report(ReturnSetInfo *rsinfo, const StreamTask *task,
			  const StreamRequest *requests, int nrequests,
			  const double *done, int stream, double utilisation)
{
	double	   *delays = palloc_array(double, Max(nrequests, 1));
	Datum		cpd[STREAM_CPD_POINTS];
	Datum		values[11];
	bool		nulls[11] = {0};
	double		sum = 0;
	int			late = 0;
	int			n = 0;

	for (int r = 0; r < nrequests; r++)
	{
		double		finished = 0;

		if (stream >= 0 && requests[r].stream != stream)
			continue;
		for (int d = 0; d < task->ndevices; d++)
			finished = Max(finished, done[(Size) r * task->ndevices + d]);
		delays[n] = (finished - requests[r].time) * 1e3;
		sum += delays[n];
		/* the next frame of the stream has been asked for already */
		if (delays[n] > task->time_slice * 1e3 / task->fps[requests[r].stream])
			late++;
		n++;
	}
	if (n == 0)
		return;
	qsort(delays, n, sizeof(double), stream_compare_delays);
	for (int i = 0; i < STREAM_CPD_POINTS; i++)
		cpd[i] = Float8GetDatum(stream_percentile(delays, n,
												  (double) i / (STREAM_CPD_POINTS - 1)));

	nulls[0] = stream < 0;
	values[0] = Int32GetDatum(stream + 1);
	values[1] = Int32GetDatum(n);
	values[2] = Float8GetDatum(sum / n);
	values[3] = Float8GetDatum(stream_percentile(delays, n, 0.5));
	values[4] = Float8GetDatum(stream_percentile(delays, n, 0.95));
	values[5] = Float8GetDatum(stream_percentile(delays, n, 0.99));
	values[6] = Float8GetDatum(delays[n - 1]);
	values[7] = Float8GetDatum(delays[n - 1] - stream_percentile(delays, n, 0.5));
	values[8] = Int32GetDatum(late);
	values[9] = Float8GetDatum(utilisation);
	values[10] = PointerGetDatum(construct_array(cpd, STREAM_CPD_POINTS,
												 FLOAT8OID, 8,
												 FLOAT8PASSBYVAL,
												 TYPALIGN_DOUBLE));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	pfree(delays);
}

static void
stream_report_all(ReturnSetInfo *rsinfo, const StreamTask *task,
				  const StreamRequest *requests, int nrequests,
				  const double *done, double busy_s)
{
	double		length = 0;

	/* from the first request to when the last stream would ask again */
	for (int s = 0; s < task->nstreams; s++)
		length = Max(length, task->slices * task->time_slice);
	for (int s = 0; s < task->nstreams; s++)
		stream_report(rsinfo, task, requests, nrequests, done, s,
					  busy_s / task->ndevices / length);
	stream_report(rsinfo, task, requests, nrequests, done, -1,
				  busy_s / task->ndevices / length);
}

/*
 * One basic rate, or integer fractions of it, with the same total; and the
 * streams begin in turn.
 */
static void
stream_harmonise(StreamTask *task)
{
	double		total = 0;
	double		fastest = 0;
	double		parts = 0;
	double		base;

	for (int s = 0; s < task->nstreams; s++)
	{
		total += task->fps[s];
		fastest = Max(fastest, task->fps[s]);
	}
	for (int s = 0; s < task->nstreams; s++)
		parts += 1.0 / rint(fastest / task->fps[s]);
	base = total / parts;
	for (int s = 0; s < task->nstreams; s++)
	{
		task->fps[s] = base / rint(fastest / task->fps[s]);
		task->phase[s] = s / (base * task->nstreams);
	}
}

/* What measured and simulated streams have in common. */
static void
stream_task_init(StreamTask *task, ArrayType *fps, double time_slice,
				 int slices, int extents, int extent_bytes, bool harmonise)
{
	Datum	   *elems;
	bool	   *nulls;

	deconstruct_array(fps, FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &elems, &nulls, &task->nstreams);
	if (task->nstreams < 1 || task->nstreams > STREAM_STREAMS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("between 1 and %d streams must be given",
						STREAM_STREAMS_MAX)));
	for (int s = 0; s < task->nstreams; s++)
	{
		task->fps[s] = nulls[s] ? 0 : DatumGetFloat8(elems[s]);
		if (!(task->fps[s] > 0 && task->fps[s] <= 1e6))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("rates of streams must be positive")));
	}
	if (!(time_slice > 0) || slices < 1 || extents < 1 ||
		extent_bytes < 512 || extent_bytes > 64 * 1024 * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time slice, numbers of slices and extents must be positive, and an extent from 512 bytes to 64 MB")));
	task->time_slice = time_slice;
	task->slices = slices;
	task->extents = extents;
	task->extent_bytes = extent_bytes;
	if (harmonise)
		stream_harmonise(task);
}

/*
 * ecp_stream_simulate(fps, latency_ms, mb_s, devices, extents, extent_bytes,
 *					   time_slice, slices, harmonise)
 */
Datum
ecp_stream_simulate(PG_FUNCTION_ARGS)
{
	StreamTask *task = palloc0_object(StreamTask);
	StreamRequest *requests;
	int			nrequests;
	double	   *done;
	double		busy_s;
	double		latency_ms = PG_GETARG_FLOAT8(1);
	double		mb_s = PG_GETARG_FLOAT8(2);

	stream_task_init(task, PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_FLOAT8(6),
					 PG_GETARG_INT32(7), PG_GETARG_INT32(4),
					 PG_GETARG_INT32(5), PG_GETARG_BOOL(8));
	task->ndevices = PG_GETARG_INT32(3);
	if (task->ndevices < 1 || task->ndevices > STREAM_DEVICES_MAX ||
		!(latency_ms >= 0) || !(mb_s > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("between 1 and %d devices of positive throughput must be given",
						STREAM_DEVICES_MAX)));
	InitMaterializedSRF(fcinfo, 0);
	requests = stream_requests(task, &nrequests);
	done = palloc_extended(mul_size(mul_size(Max(nrequests, 1), task->ndevices),
									sizeof(double)), MCXT_ALLOC_HUGE);
	stream_simulate(task, requests, nrequests, latency_ms * 1e-3, mb_s * 1e6,
					done, &busy_s);
	stream_report_all((ReturnSetInfo *) fcinfo->resultinfo, task, requests,
					  nrequests, done, busy_s);
	return (Datum) 0;
}

/*
 * ecp_stream_bench(tablespaces, fps, extents, extent_bytes, time_slice,
 *					slices, harmonise, file_bytes)
 */
Datum
ecp_stream_bench(PG_FUNCTION_ARGS)
{
	StreamTask *task = palloc0_object(StreamTask);
	EcpDeviceFile files[STREAM_DEVICES_MAX];
	EcpJobResult results[STREAM_DEVICES_MAX];
	EcpJobResult sum;
	StreamRequest *requests;
	Datum	   *names;
	bool	   *nulls;
	double	   *done;
	Size		done_bytes;
	int			nrequests;
	int			launched;

	stream_task_init(task, PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_FLOAT8(4),
					 PG_GETARG_INT32(5), PG_GETARG_INT32(2),
					 PG_GETARG_INT32(3), PG_GETARG_BOOL(6));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), NAMEOID, NAMEDATALEN, false,
					  TYPALIGN_CHAR, &names, &nulls, &task->ndevices);
	if (task->ndevices < 1 || task->ndevices > STREAM_DEVICES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("between 1 and %d tablespaces must be given",
						STREAM_DEVICES_MAX)));
	task->file_bytes = PG_GETARG_INT64(7);
	if (task->file_bytes < task->extent_bytes ||
		task->file_bytes < 1024 * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("file of a stream must have at least 1 MB and one extent")));
	InitMaterializedSRF(fcinfo, 0);

	for (int d = 0; d < task->ndevices; d++)
	{
		Oid			tablespace;

		if (nulls[d])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("name of a tablespace must not be null")));
		tablespace = ecp_device_tablespace(NameStr(*DatumGetName(names[d])),
										   "ecp_stream_bench()");
		ecp_device_file_create(tablespace, &files[d]);
		ecp_device_file_fill(&files[d], task->file_bytes,
							 get_float8_infinity(), NULL);
		ecp_device_file_forget(&files[d]);
		strlcpy(task->paths[d], files[d].path, MAXPGPATH);
	}

	requests = stream_requests(task, &nrequests);
	done_bytes = mul_size(mul_size(Max(nrequests, 1), task->ndevices),
						  sizeof(double));
	done = palloc_extended(done_bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	launched = ecp_job_run(ECP_JOB_STREAM, task, sizeof(*task), task->ndevices,
						   done_bytes, done, results);
	if (launched < task->ndevices)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("only %d of %d workers could be started",
						launched, task->ndevices),
				 errhint("Consider increasing max_worker_processes and max_parallel_workers.")));
	ecp_job_sum(results, launched, &sum);
	stream_report_all((ReturnSetInfo *) fcinfo->resultinfo, task, requests,
					  nrequests, done, sum.busy_s);
	for (int d = 0; d < task->ndevices; d++)
		ecp_device_file_close(&files[d]);
	return (Datum) 0;
}
