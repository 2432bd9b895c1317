/*-------------------------------------------------------------------------
 *
 * device_stream.c
 *	  Streams of frames from several devices: delays, measured or simulated.
 *
 * After "Comparing Multimedia Storage Architectures".  A frame is cut into
 * extents, which lie on different devices; a stream requests frames at a
 * fixed rate; each device serves the requests in the order of their times.
 * A frame is complete when its last extent has been read, and its delay is the
 * time since it was requested.  Rates are frames in one second of the pattern,
 * which is played in time_slice seconds: a shorter slice is a higher load.
 *
 * When delays are measured, each device has a worker.  All workers know the
 * whole schedule, so they need not communicate: a worker waits for the time of
 * the next request, reads the extents of the frame that are on its device, and
 * notes when it has finished.
 *
 * ecp_stream_bench() reads a striped table as any query would read it;
 * ecp_stream_bench_files() a file in each tablespace, which needs no table and
 * shows the devices alone.  Both ask the operating system to drop from its
 * cache what they have read; a table must be larger than shared buffers, or
 * have more frames than are played, or it is served from there.  Its indexes
 * are read before the clock starts, since the formula counts extents only.
 *
 * When delays are simulated, a device takes latency + bytes / throughput for
 * an extent, and the rest is the same arithmetic.
 *
 * Streams of different rates that start together coincide again and again, and
 * then wait for each other.  "Harmonised" streams have one basic rate or an
 * integer fraction of it, with the same total, and start in turn, so that they
 * do not coincide.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "base/user_index.h"
#include "device/measure/device_measure.h"
#include "device/stream/device_extent.h"

#define STREAM_DEVICES_MAX	16
#define STREAM_STREAMS_MAX	16
#define STREAM_REQUESTS_MAX 1000000
#define STREAM_EXTENTS_MAX	1000000

/* seconds: whatever is added or multiplied of these is finite */
#define STREAM_TIME_MIN		1e-9
#define STREAM_TIME_MAX		1e9

/* extents that are simulated between two checks for interrupts */
#define STREAM_EXTENTS_UNCHECKED 4096

/* consecutive frames start on different devices */
#define STREAM_PRIME		7

/* seconds for workers to get ready before the first request */
#define STREAM_LEAD_S		0.2

/* points of the cumulative distribution that is returned: every 5 % */
#define STREAM_CPD_POINTS	21

extern PGDLLEXPORT void ecp_stream_serve(const EcpJobContext *context,
										 const void *task,
										 EcpJobResult *result);

PG_FUNCTION_INFO_V1(ecp_stream_bench);
PG_FUNCTION_INFO_V1(ecp_stream_bench_files);
PG_FUNCTION_INFO_V1(ecp_stream_simulate);

typedef struct StreamTask
{
	int			ndevices;
	int			nstreams;
	double		fps[STREAM_STREAMS_MAX];
	int			requests_max;	/* of all of them, at most */
	double		phase[STREAM_STREAMS_MAX];	/* seconds of the pattern */
	double		time_slice;
	int			slices;

	/* files, and simulated devices */
	int			extents;		/* of a frame */
	int			extent_bytes;
	int64		file_bytes;
	char		paths[STREAM_DEVICES_MAX][MAXPGPATH];

	/* a striped table: which streams, and the times of their frames */
	bool		from_table;
	EcpStripes	stripes;
	int32		stream_id[STREAM_STREAMS_MAX];
	int			first_frame[STREAM_STREAMS_MAX];	/* in times[] */
	int			nframes[STREAM_STREAMS_MAX];
	TimestampTz times[FLEXIBLE_ARRAY_MEMBER];
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

/* The schedule, which is the same in every process. */
static StreamRequest *
stream_requests(const StreamTask *task, int *nrequests)
{
	StreamRequest *requests = palloc_array(StreamRequest,
										   task->requests_max + 1);
	int			n = 0;

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
	Assert(n <= task->requests_max);
	qsort(requests, n, sizeof(StreamRequest), stream_compare_requests);
	*nrequests = n;
	return requests;
}

/* The device of an extent of a frame.  Neither number exceeds a million. */
static int
stream_device(const StreamTask *task, const StreamRequest *request, int extent)
{
	Assert(task->ndevices > 0 && extent >= 0);
	return (extent + request->stream + request->frame * STREAM_PRIME) %
		task->ndevices;
}

/* What a worker reads one device's share of the frames from. */
typedef struct StreamSource
{
	int			device;

	/* a file */
	int			fd;
	char	   *buffer;
	pg_prng_state prng;

	/* partitions of a table */
	EcpExtentReader *readers[ECP_EXTENT_LEAVES_MAX];
	int			nreaders;
} StreamSource;

static void
stream_source_open(const StreamTask *task, int device, StreamSource *source)
{
	Assert(device >= 0 && device < task->ndevices);
	memset(source, 0, sizeof(*source));
	source->device = device;
	if (task->from_table)
	{
		for (int i = 0; i < task->stripes.nleaves; i++)
		{
			EcpExtentReader *reader;
			int64		none = 0;

			if (task->stripes.device[i] != device)
				continue;
			(void) ecp_extent_warm(task->stripes.leaf[i], NBuffers / 2);
			reader = ecp_extent_open(task->stripes.leaf[i], 0);
			/* read no frame: plans the query, sets up the executor once */
			(void) ecp_extent_read(reader, task->stream_id[0], DT_NOBEGIN,
								   NULL, true, NULL, NULL, &none);
			source->readers[source->nreaders++] = reader;
		}
		return;
	}
	source->fd = ecp_job_open(task->paths[device], O_RDONLY);
	source->buffer = palloc(task->extent_bytes);
	pg_prng_seed(&source->prng, device + 1);
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_RANDOM)
	(void) posix_fadvise(source->fd, 0, 0, POSIX_FADV_RANDOM);
#endif
}

static void
stream_source_close(const StreamTask *task, StreamSource *source)
{
	if (!task->from_table)
	{
		CloseTransientFile(source->fd);
		pfree(source->buffer);
	}
}

/* Read the bytes of an extent from anywhere in the file. */
static void
stream_read_file(const StreamTask *task, StreamSource *source)
{
	int64		nplaces = task->file_bytes / task->extent_bytes;
	off_t		at = (off_t) pg_prng_uint64_range(&source->prng, 0, nplaces - 1) *
		task->extent_bytes;

	Assert(source->fd >= 0 && task->file_bytes >= task->extent_bytes);
	ecp_job_read(source->fd, source->buffer, task->extent_bytes, at,
				 task->paths[source->device]);
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_DONTNEED)
	/* the next time it has to come from the device again */
	(void) posix_fadvise(source->fd, at, task->extent_bytes,
						 POSIX_FADV_DONTNEED);
#endif
}

/* Read the part of a frame that is on the device. */
static void
stream_serve(const StreamTask *task, const StreamRequest *request,
			 StreamSource *source, EcpJobResult *result)
{
	if (task->from_table)
	{
		int			s = request->stream;
		TimestampTz t = task->times[task->first_frame[s] +
									request->frame % task->nframes[s]];

		for (int i = 0; i < source->nreaders; i++)
			result->bytes += ecp_extent_read(source->readers[i],
											 task->stream_id[s], t, NULL, true,
											 NULL, NULL, &result->ops);
		return;
	}
	for (int e = 0; e < task->extents; e++)
	{
		if (stream_device(task, request, e) != source->device)
			continue;
		CHECK_FOR_INTERRUPTS();
		stream_read_file(task, source);
		result->ops++;
		result->bytes += task->extent_bytes;
	}
}

/* Seconds since the first request was due. */
static double
stream_seconds(const EcpJobContext *context)
{
	return ecp_job_seconds(context) - STREAM_LEAD_S;
}

/*
 * ecp_stream_serve
 *		Serve what is on this worker's device.
 *
 * shared[request * ndevices + device] becomes the time when it was done.
 */
void
ecp_stream_serve(const EcpJobContext *context, const void *arg,
				 EcpJobResult *result)
{
	const StreamTask *task = arg;
	double	   *done = context->shared;
	int			nrequests;
	StreamRequest *requests = stream_requests(task, &nrequests);

	Assert(done != NULL && task->ndevices <= STREAM_DEVICES_MAX);
	if (task->from_table)
		SPI_connect();
	/* with fewer workers than devices, a worker has several */
	for (int d = context->worker; d < task->ndevices; d += context->nworkers)
	{
		StreamSource source;

		stream_source_open(task, d, &source);
		for (int r = 0; r < nrequests; r++)
		{
			double		before = stream_seconds(context);

			CHECK_FOR_INTERRUPTS();
			while (before < requests[r].time)
			{
				pg_usleep((long) Min(1e5, (requests[r].time - before) * 1e6) + 1);
				CHECK_FOR_INTERRUPTS();
				before = stream_seconds(context);
			}
			stream_serve(task, &requests[r], &source, result);
			done[(Size) r * task->ndevices + d] = stream_seconds(context);
			result->busy_s += done[(Size) r * task->ndevices + d] - before;
		}
		stream_source_close(task, &source);
	}
	if (task->from_table)
		SPI_finish();
}

/* Serve all requests on devices that are given by two figures. */
static void
stream_simulate(const StreamTask *task, const StreamRequest *requests,
				int nrequests, double latency_s, double bps, double *done,
				double *busy_s)
{
	double		service = latency_s + task->extent_bytes / bps;
	double	   *free_at = palloc0_array(double, task->ndevices);

	Assert(latency_s >= 0 && bps > 0);
	*busy_s = 0;
	for (int r = 0; r < nrequests; r++)
	{
		for (int d = 0; d < task->ndevices; d++)
			done[(Size) r * task->ndevices + d] = requests[r].time;
		for (int e = 0; e < task->extents; e++)
		{
			int			d = stream_device(task, &requests[r], e);

			if (e % STREAM_EXTENTS_UNCHECKED == 0)
				CHECK_FOR_INTERRUPTS();
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

/* The delay that a share of the frames does not exceed. */
static double
stream_percentile(const double *delays, int n, double share)
{
	int			at = (int) ceil(share * n) - 1;

	Assert(n > 0 && share >= 0 && share <= 1);
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

	Assert(stream >= -1 && stream < task->nstreams);
	for (int r = 0; r < nrequests; r++)
	{
		double		finished = 0;

		if (stream >= 0 && requests[r].stream != stream)
			continue;
		for (int d = 0; d < task->ndevices; d++)
			finished = Max(finished, done[(Size) r * task->ndevices + d]);
		delays[n] = (finished - requests[r].time) * 1e3;
		sum += delays[n];
		/* the next frame of the stream has already been requested */
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
	double		length = task->slices * task->time_slice;
	double		utilisation = busy_s / task->ndevices / length;

	for (int s = 0; s < task->nstreams; s++)
	{
		CHECK_FOR_INTERRUPTS();
		stream_report(rsinfo, task, requests, nrequests, done, s, utilisation);
	}
	stream_report(rsinfo, task, requests, nrequests, done, -1, utilisation);
}

/*
 * Give the streams one basic rate, or integer fractions of it, with the same
 * total, and have them start in turn.
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

/* Set what measured and simulated streams have in common. */
static void
stream_task_init(StreamTask *task, ArrayType *fps, double time_slice,
				 int slices, int extents, int extent_bytes, bool harmonise)
{
	double	   *rates = ecp_user_array_float8(fps, "streams", 1,
											  STREAM_STREAMS_MAX,
											  &task->nstreams);
	double		requests = 0;

	for (int s = 0; s < task->nstreams; s++)
	{
		task->fps[s] = rates[s];
		if (!(task->fps[s] > 0 && task->fps[s] <= 1e6))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("rates of streams must be positive")));
	}
	if (!(time_slice >= STREAM_TIME_MIN && time_slice <= STREAM_TIME_MAX) ||
		slices < 1 || extents < 1 || extents > STREAM_EXTENTS_MAX ||
		extent_bytes < 512 || extent_bytes > 64 * 1024 * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time slice and number of slices must be positive, a frame of 1 to %d extents, and an extent from 512 bytes to 64 MB",
						STREAM_EXTENTS_MAX)));
	task->time_slice = time_slice;
	task->slices = slices;
	task->extents = extents;
	task->extent_bytes = extent_bytes;
	if (harmonise)
		stream_harmonise(task);
	for (int s = 0; s < task->nstreams; s++)
		requests += ceil(task->fps[s] * task->slices);
	if (requests > STREAM_REQUESTS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many requests: %.0f", requests)));
	task->requests_max = (int) requests;
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
	double		latency_s = PG_GETARG_FLOAT8(1) * 1e-3;
	double		bps = PG_GETARG_FLOAT8(2) * 1e6;

	stream_task_init(task, PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_FLOAT8(6),
					 PG_GETARG_INT32(7), PG_GETARG_INT32(4),
					 PG_GETARG_INT32(5), PG_GETARG_BOOL(8));
	task->ndevices = PG_GETARG_INT32(3);
	if (task->ndevices < 1 || task->ndevices > STREAM_DEVICES_MAX ||
		!(latency_s >= 0) || !(bps > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("between 1 and %d devices of positive throughput must be given",
						STREAM_DEVICES_MAX)));
	if (latency_s + task->extent_bytes / bps > STREAM_TIME_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("time of a device for an extent is out of range")));
	InitMaterializedSRF(fcinfo, 0);
	requests = stream_requests(task, &nrequests);
	done = palloc_extended(mul_size(mul_size(Max(nrequests, 1), task->ndevices),
									sizeof(double)), MCXT_ALLOC_HUGE);
	stream_simulate(task, requests, nrequests, latency_s, bps, done, &busy_s);
	stream_report_all((ReturnSetInfo *) fcinfo->resultinfo, task, requests,
					  nrequests, done, busy_s);
	return (Datum) 0;
}

/* Run the workers, and report. */
static void
stream_measure(StreamTask *task, Size task_bytes, ReturnSetInfo *rsinfo)
{
	EcpJobResult results[STREAM_DEVICES_MAX];
	EcpJobResult sum;
	StreamRequest *requests;
	double	   *done;
	Size		done_bytes;
	int			nrequests;
	int			launched;

	requests = stream_requests(task, &nrequests);
	done_bytes = mul_size(mul_size(Max(nrequests, 1), task->ndevices),
						  sizeof(double));
	done = palloc_extended(done_bytes, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	launched = ecp_job_run(EcpJobOf(ecp_stream_serve), task, task_bytes, task->ndevices,
						   done_bytes, done, results);
	if (launched < task->ndevices)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("only %d of %d workers could be started",
						launched, task->ndevices),
				 errhint("Consider increasing max_worker_processes and max_parallel_workers.")));
	ecp_job_sum(results, launched, &sum);
	stream_report_all(rsinfo, task, requests, nrequests, done, sum.busy_s);
}

/*
 * ecp_stream_bench_files(tablespaces, fps, extents, extent_bytes, time_slice,
 *						  slices, harmonise, file_bytes)
 */
Datum
ecp_stream_bench_files(PG_FUNCTION_ARGS)
{
	StreamTask *task = palloc0_object(StreamTask);
	EcpDeviceFile files[STREAM_DEVICES_MAX];
	const char **names;

	stream_task_init(task, PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_FLOAT8(4),
					 PG_GETARG_INT32(5), PG_GETARG_INT32(2),
					 PG_GETARG_INT32(3), PG_GETARG_BOOL(6));
	names = ecp_user_array_name(PG_GETARG_ARRAYTYPE_P(0), "tablespaces", 1,
								STREAM_DEVICES_MAX, &task->ndevices);
	task->file_bytes = PG_GETARG_INT64(7);
	if (task->file_bytes < task->extent_bytes ||
		task->file_bytes < 1024 * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("file of a stream must have at least 1 MB and one extent")));
	InitMaterializedSRF(fcinfo, 0);

	for (int d = 0; d < task->ndevices; d++)
	{
		ecp_device_file_create(ecp_device_file_tablespace(names[d],
														  "ecp_stream_bench_files()"),
							   &files[d]);
		ecp_device_file_fill(&files[d], task->file_bytes,
							 get_float8_infinity(), NULL, NULL);
		ecp_device_file_forget(&files[d], true);
		strlcpy(task->paths[d], files[d].path, MAXPGPATH);
	}
	stream_measure(task, sizeof(*task), (ReturnSetInfo *) fcinfo->resultinfo);
	for (int d = 0; d < task->ndevices; d++)
		ecp_device_file_close(&files[d]);
	return (Datum) 0;
}

/*
 * Look up the frames to play: of the first streams of the table, each as many
 * as its rate needs, the earliest first.  Returns the task with their times
 * appended.
 */
static StreamTask *
stream_load_frames(StreamTask *task, Oid parent, Size *task_bytes)
{
	char	   *relname = ecp_extent_relname(parent);
	Oid			argtypes[2] = {INT4OID, INT8OID};
	SPIPlanPtr	streams = NULL;
	SPIPlanPtr	frames = NULL;
	MemoryContext outer = CurrentMemoryContext;
	List	   *indexes = NIL;
	int			total = 0;
	uint64		nstreams;

	for (int i = 0; i < task->stripes.nleaves; i++)
		indexes = list_concat(indexes, ecp_indexes_fold(task->stripes.leaf[i]));
	SPI_connect();
	ecp_extent_select(parent,
					  psprintf("SELECT DISTINCT stream FROM %s WHERE stream IS NOT NULL"
							   " ORDER BY stream LIMIT %d",
							   relname, task->nstreams),
					  &streams, 0, NULL, 0, NULL);
	nstreams = SPI_processed;
	if (nstreams < (uint64) task->nstreams)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("table \"%s\" has %d streams, but %d are to be played",
						get_rel_name(parent), (int) nstreams, task->nstreams)));
	for (int s = 0; s < task->nstreams; s++)
	{
		bool		isnull;

		task->stream_id[s] =
			DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[s],
										SPI_tuptable->tupdesc, 1, &isnull));
	}
	for (int s = 0; s < task->nstreams; s++)
	{
		Datum		values[2];

		values[0] = Int32GetDatum(task->stream_id[s]);
		values[1] = Int64GetDatum((int64) ceil(task->fps[s] * task->slices));
		ecp_extent_select(parent,
						  psprintf("SELECT DISTINCT t FROM %s"
								   " WHERE stream OPERATOR(pg_catalog.=) $1 AND t IS NOT NULL"
								   " ORDER BY t LIMIT $2", relname),
						  &frames, 2, argtypes, 0, values);
		if (SPI_processed == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("stream %d of table \"%s\" has no frames",
							task->stream_id[s], get_rel_name(parent))));
		*task_bytes = sizeof(StreamTask) +
			(total + SPI_processed) * sizeof(TimestampTz);
		MemoryContextSwitchTo(outer);
		task = repalloc(task, *task_bytes);
		task->first_frame[s] = total;
		task->nframes[s] = (int) SPI_processed;
		for (uint64 f = 0; f < SPI_processed; f++)
		{
			bool		isnull;

			task->times[total++] =
				DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[f],
												  SPI_tuptable->tupdesc, 1,
												  &isnull));
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_finish();
	ecp_indexes_close(indexes);
	return task;
}

/*
 * ecp_stream_bench(parent, fps, time_slice, slices, harmonise)
 */
Datum
ecp_stream_bench(PG_FUNCTION_ARGS)
{
	StreamTask *task = palloc0_object(StreamTask);
	Oid			parent = PG_GETARG_OID(0);
	Size		task_bytes = sizeof(StreamTask);
	BlockNumber room = NBuffers / 2;

	ecp_shards_refuse(PG_GETARG_OID(0));
	/* extents are what the table has */
	stream_task_init(task, PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_FLOAT8(2),
					 PG_GETARG_INT32(3), 1, BLCKSZ, PG_GETARG_BOOL(4));
	InitMaterializedSRF(fcinfo, 0);
	(void) ecp_extent_load_stripes(parent, &task->stripes);
	if (task->stripes.ndevices > STREAM_DEVICES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("table \"%s\" is in more than %d tablespaces",
						get_rel_name(parent), STREAM_DEVICES_MAX)));
	task->from_table = true;
	task->ndevices = task->stripes.ndevices;
	task = stream_load_frames(task, parent, &task_bytes);
	for (int i = 0; i < task->stripes.nleaves; i++)
		room = ecp_extent_warm(task->stripes.leaf[i], room);
	stream_measure(task, task_bytes, (ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}
