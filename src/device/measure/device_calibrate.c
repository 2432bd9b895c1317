/*-------------------------------------------------------------------------
 *
 * device_calibrate.c
 *	  Measures a tablespace and stores its profile.
 *
 * ecp_calibrate() writes a temporary file of some hundred megabytes into the
 * tablespace, in order, and then reads and writes blocks of it: at random and
 * in order, cold and warm, by block size and by number of workers, misaligned,
 * with fsync.  The delays of single cold random reads by size give the line
 *
 *		delay = latency + size / throughput
 *
 * by least squares of the errors relative to the delay: otherwise the largest
 * size alone would decide, and the latency, which matters for the small ones,
 * would be noise.  A device whose curve is not a line (a throttle gives the
 * larger of two delays, not their sum) is recognised by r2, and by the plateau
 * of the small sizes and the slope of the large ones, which are stored, too.
 *
 * Other work on the machine disturbs a measurement either way: it makes delays
 * longer, and a process that was held up finds what was read ahead meanwhile.
 * So reads are measured in several passes, and the median counts.  Where passes
 * come to very different figures, or the delays do not lie on a line, a notice
 * and ecp_advise() say so.
 *
 * The time is bounded: each measurement gets an equal part of what is left.
 * A single operation cannot be stopped, least of all an fsync, so the time of
 * one operation is estimated before each measurement from those made so far.
 * A measurement that would exceed its part is made without warming up, once;
 * one that would exceed it by far is left out, with a warning, and its figure
 * is the estimate.  So the end is late by at most one operation that took
 * longer than any before it.
 *
 * The bytes written are bounded, too: a slow device gets a smaller file.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "access/table.h"
#include "base/user_row.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/tablespace.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/user_array.h"
#include "device/cost/device_profile.h"
#include "device/measure/device_file.h"
#include "device/measure/device_job.h"
#include "device/measure/device_sql.h"

#define CAL_SMALL_BYTES		8192
#define CAL_LARGE_BYTES		(1024 * 1024)
#define CAL_WARM_BYTES		(8 * 1024 * 1024)
#define CAL_STEP_READ_BYTES 4096	/* what a file system reads at least */
#define CAL_STEP_BYTES		(128 * 1024)	/* a cluster of the report */
#define CAL_MISALIGN		4609	/* no multiple of anything */
#define CAL_POINTS_MAX		32
#define FIT_POINTS_MAX		1000000

/* share of the time for writing the file */
#define CAL_FILL_SHARE		0.25
/* more seconds improve no measurement */
#define CAL_POINT_SECONDS	1.5
/* until a device that was idle has used up its credit */
#define CAL_WARMUP_SECONDS	0.12
/* an operation may take this long, whatever its share of the time */
#define CAL_SLACK_SECONDS	0.15
/* passes over a measurement of reads; the median counts */
#define CAL_PASSES			3
/* measurements other than by size and by workers: three of reads, four more */
#define CAL_OTHER_POINTS	(3 * CAL_PASSES + 4)
/* below this r2, or above this ratio of two passes, figures are uncertain */
#define CAL_R2_MIN			0.9
#define CAL_SPREAD_MAX		3.0
/* small random writes stop here */
#define CAL_WRITE_BYTES		(16 * 1024 * 1024)

PG_FUNCTION_INFO_V1(ecp_calibrate);
PG_FUNCTION_INFO_V1(ecp_delay_fit);
PG_FUNCTION_INFO_V1(ecp_processors);

/* State of one calibration. */
typedef struct Calibration
{
	EcpDeviceFile file;
	EcpDeviceProfile profile;
	double		plateau_us;
	double		slope_mb_s;
	double		misaligned_ratio;
	double		spread;			/* largest ratio of two passes over the same */
	int64		written_bytes;
	EcpJobResult first;			/* of the last job, its first process */
	double		max_seconds;
	int			points_left;
	int			left_out;		/* measurements */
	double		read_s;			/* what the last single read took, */
	int			read_bytes;		/* which read this many bytes */
	double		sync_s;			/* of a small write with its fsync */
	bool		verbose;
	bool		warned;			/* about missing workers */
	instr_time	start;
	ReturnSetInfo *rsinfo;
} Calibration;

/* One measurement, and what came of its passes so far. */
typedef struct CalPoint
{
	const char *test;
	EcpTransferTask task;
	bool		cold;
	int			workers;
	int			wanted;			/* passes */
	int			launched;		/* processes of the last one */
	int			npasses;
	EcpJobResult passes[CAL_PASSES];
} CalPoint;

static double
cal_elapsed(const Calibration *cal)
{
	return ecp_job_elapsed(cal->start);
}

/*
 * cal_fit
 *		Least squares of relative errors: delay = latency + size / throughput.
 *
 * Delays are in microseconds, sizes in bytes; throughput in bytes per
 * microsecond, which is MB/s.  A negative latency or throughput has no
 * meaning: the line is then put through the origin.  With fewer than two
 * sizes there is no line, and r2 is 0.
 */
static void
cal_fit(int n, const double *sizes, const double *delays,
		double *latency_us, double *mb_s, double *r2)
{
	double		sw = 0;
	double		sx = 0;
	double		sy = 0;
	double		sxx = 0;
	double		sxy = 0;
	double		det;
	double		slope = 0;
	double		residual = 0;
	double		total = 0;

	Assert(n >= 1);
	for (int i = 0; i < n; i++)
	{
		double		w = 1.0 / (delays[i] * delays[i]);

		sw += w;
		sx += w * sizes[i];
		sy += w * delays[i];
		sxx += w * sizes[i] * sizes[i];
		sxy += w * sizes[i] * delays[i];
	}
	det = sw * sxx - sx * sx;
	*latency_us = 0;
	if (n >= 2 && det > 0)
	{
		slope = (sw * sxy - sx * sy) / det;
		*latency_us = (sy - slope * sx) / sw;
	}
	if (slope <= 0 || *latency_us < 0)
	{
		slope = sxy / sxx;
		*latency_us = 0;
	}
	for (int i = 0; i < n; i++)
	{
		double		w = 1.0 / (delays[i] * delays[i]);
		double		error = delays[i] - *latency_us - slope * sizes[i];
		double		spread = delays[i] - sy / sw;

		residual += w * error * error;
		total += w * spread * spread;
	}
	*mb_s = 1.0 / slope;
	*r2 = total > 0 ? 1.0 - residual / total : 0;
	if (!isfinite(*latency_us) || !isfinite(*mb_s) || !isfinite(*r2))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("sizes or delays are out of range")));
}

/*
 * ecp_delay_fit(sizes, delays)
 */
Datum
ecp_delay_fit(PG_FUNCTION_ARGS)
{
	double	   *numbers[2];
	int			n[2];
	Datum		values[4];
	bool		nulls[4] = {0};
	double		latency_us;
	double		mb_s;
	double		r2;

	for (int a = 0; a < 2; a++)
	{
		numbers[a] = ecp_user_array_float8(PG_GETARG_ARRAYTYPE_P(a),
										   a == 0 ? "sizes" : "delays", 0,
										   FIT_POINTS_MAX, &n[a]);
		for (int i = 0; i < n[a]; i++)
		{
			if (!(numbers[a][i] > 0))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("sizes and delays must be positive")));
		}
	}
	if (n[0] != n[1] || n[0] < 2)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("as many sizes as delays must be given, and at least two")));

	cal_fit(n[0], numbers[0], numbers[1], &latency_us, &mb_s, &r2);
	values[0] = Float8GetDatum(latency_us);
	values[1] = Float8GetDatum(mb_s);
	values[2] = Float8GetDatum(r2);
	values[3] = Float8GetDatum(latency_us * mb_s);
	PG_RETURN_DATUM(ecp_user_row(fcinfo, lengthof(values), values, nulls));
}

static void
cal_report(Calibration *cal, const char *test,
		   const EcpTransferTask *task, bool cold, int workers,
		   const EcpJobResult *sum)
{
	Datum		values[11];
	bool		nulls[11] = {0};
	double		mb_s = sum->counted_s > 0 ? sum->bytes / sum->counted_s * 1e-6 : 0;
	double		delay_us = sum->ops > 0 ? sum->busy_s / sum->ops * 1e6 : 0;

	values[0] = CStringGetTextDatum(test);
	values[1] = CStringGetTextDatum(task->write ? "write" : "read");
	values[2] = CStringGetTextDatum(task->random ? "random" : "sequential");
	values[3] = BoolGetDatum(cold);
	values[4] = BoolGetDatum(task->misalign != 0);
	values[5] = Int32GetDatum(task->block_bytes);
	values[6] = Int32GetDatum(workers);
	values[7] = Int64GetDatum(sum->ops);
	values[8] = Int64GetDatum(sum->bytes);
	values[9] = Float8GetDatum(mb_s);
	values[10] = Float8GetDatum(delay_us);
	tuplestore_putvalues(cal->rsinfo->setResult, cal->rsinfo->setDesc,
						 values, nulls);
	ereport(cal->verbose ? INFO : DEBUG1,
			(errmsg("%s, %d bytes, %d workers: %.1f MB/s, %.0f us (%.1f of %.1f s)",
					test, task->block_bytes, workers, mb_s, delay_us,
					cal_elapsed(cal), cal->max_seconds)));
}

/* The share of the next measurement of the time that is left. */
static double
cal_share(const Calibration *cal)
{
	double		left = cal->max_seconds - cal_elapsed(cal);

	return Min(CAL_POINT_SECONDS, Max(left, 0) / Max(cal->points_left, 1));
}

/*
 * Seconds that one operation of each worker should take at most.
 *
 * Reading is taken to be as fast as writing until a read was measured; from
 * then on, a read of more bytes to take no more than in proportion; and when
 * there is a line through the delays, that is taken.
 */
static double
cal_estimate(const Calibration *cal, const EcpTransferTask *task, int workers)
{
	const EcpDeviceProfile *profile = &cal->profile;
	double		bytes = task->warm ? task->file_bytes : task->block_bytes;
	double		seconds = 0;

	Assert(task->block_bytes > 0 && workers >= 1);
	if (task->write || task->mixed)
		seconds = cal->sync_s;
	if (task->mixed)
		seconds += CAL_LARGE_BYTES / (profile->seq_write_mb_s * 1e6);
	if (task->write)
		return seconds * workers;
	if (profile->read_mb_s > 0)
		seconds += Max(cal->read_s, profile->latency_us * 1e-6 +
					   bytes / (profile->read_mb_s * 1e6));
	else if (cal->read_bytes > 0)
		seconds += cal->read_s * Max(1.0, bytes / cal->read_bytes);
	else
		seconds += bytes / (profile->seq_write_mb_s * 1e6);
	return seconds * workers;
}

static double
cal_rate(const EcpJobResult *sum)
{
	return sum->counted_s > 0 ? sum->ops / sum->counted_s : 0;
}

static double
cal_mb_s(const EcpJobResult *sum)
{
	return sum->counted_s > 0 ? sum->bytes / sum->counted_s * 1e-6 : 0;
}

/*
 * All workers for task->max_seconds.  Returns the number of them that there
 * were.
 */
static int
cal_job(Calibration *cal, EcpTransferTask *task, bool cold, int workers,
		EcpJobResult *result)
{
	EcpJobResult results[ECP_JOB_WORKERS_MAX];
	int			launched;

	Assert(workers >= 1 && workers <= ECP_JOB_WORKERS_MAX);
	/* all that was written was synced */
	if (cold)
		ecp_device_file_forget(&cal->file, false);
	launched = ecp_job_run(EcpJobOf(ecp_job_transfer), task, sizeof(*task), workers,
						   0, NULL, results);
	ecp_job_sum(results, launched, result);
	cal->first = results[0];
	if (task->write)
		cal->written_bytes += result->bytes;
	else if (task->mixed && launched > 1)
		cal->written_bytes += results[1].bytes;
	return launched;
}

/*
 * One pass over a measurement, in its share of the time that is left.  There
 * may be no time for it; of several passes, one is better than none.
 */
static void
cal_pass(Calibration *cal, CalPoint *point)
{
	EcpTransferTask *task = &point->task;
	int			left = point->wanted - point->npasses;
	double		share = cal_share(cal);
	double		estimate;
	bool		short_of_time;
	EcpJobResult one;

	Assert(left > 0 && left <= CAL_PASSES && cal->file.bytes > 0);
	cal->points_left--;
	strlcpy(task->path, cal->file.path, sizeof(task->path));
	if (task->file_bytes == 0)
		task->file_bytes = cal->file.bytes;
	if (point->npasses > 0)
		estimate = point->passes[0].busy_s / point->passes[0].ops;
	else
		estimate = cal_estimate(cal, task, point->workers);
	short_of_time = estimate > share;
	if (estimate > Max(share * Max(left, 2), CAL_SLACK_SECONDS) ||
		(short_of_time && point->npasses > 0))
		return;

	/* one operation at least */
	task->max_seconds = Max(share, 0.001);
	task->warmup_s = 0;
	if (point->cold && !short_of_time)
	{
		task->warmup_s = Min(CAL_WARMUP_SECONDS, share / 4);
		task->max_seconds -= task->warmup_s;
	}
	point->launched = cal_job(cal, task, point->cold, point->workers, &one);
	if (one.ops > 0)
		point->passes[point->npasses++] = one;
}

static int
cal_compare_rates(const void *a, const void *b)
{
	double		ra = cal_rate(a);
	double		rb = cal_rate(b);

	return ra < rb ? -1 : ra > rb ? 1 : 0;
}

/*
 * The median of the passes, of two the slower one.  Leaves *sum zero if there
 * was no time for any.
 */
static void
cal_median(Calibration *cal, CalPoint *point, EcpJobResult *sum)
{
	int			n = point->npasses;

	memset(sum, 0, sizeof(*sum));
	if (n == 0)
	{
		cal->left_out++;
		return;
	}
	qsort(point->passes, n, sizeof(EcpJobResult), cal_compare_rates);
	*sum = point->passes[(n - 1) / 2];
	if (cal_rate(&point->passes[0]) > 0)
		cal->spread = Max(cal->spread, cal_rate(&point->passes[n - 1]) /
						  cal_rate(&point->passes[0]));
	if (point->launched < point->workers && !cal->warned)
	{
		cal->warned = true;
		ereport(NOTICE,
				(errmsg("only %d of %d workers could be started",
						point->launched, point->workers),
				 errhint("Consider increasing max_worker_processes and max_parallel_workers.")));
	}
	cal_report(cal, point->test, &point->task, point->cold, point->launched,
			   sum);
}

/* One measurement after another, with all of its passes. */
static void
cal_run(Calibration *cal, const char *test, const EcpTransferTask *task,
		bool cold, int workers, int passes, EcpJobResult *sum)
{
	CalPoint	point = {.test = test,.task = *task,.cold = cold,.workers = workers,.wanted = passes};

	Assert(passes > 0 && passes <= CAL_PASSES);
	for (int pass = 0; pass < passes; pass++)
		cal_pass(cal, &point);
	cal_median(cal, &point, sum);
}

/*
 * Single cold random reads by size, and the line through their delays.
 *
 * The passes go over all sizes, so that a burst of other work disturbs one of
 * each.  If there was no time for two sizes, the line goes through the one and
 * the throughput of writing.
 */
static void
cal_read_sizes(Calibration *cal, const int *sizes, int nsizes)
{
	double		x[CAL_POINTS_MAX];
	double		y[CAL_POINTS_MAX];
	EcpDeviceProfile *profile = &cal->profile;
	CalPoint   *points = palloc0_array(CalPoint, nsizes);
	int			n = 0;

	Assert(nsizes >= 1 && nsizes <= CAL_POINTS_MAX);
	for (int pass = 0; pass < CAL_PASSES; pass++)
	{
		for (int i = 0; i < nsizes; i++)
		{
			CalPoint   *point = &points[i];

			point->test = "read by size";
			point->task.random = true;
			point->task.block_bytes = sizes[i];
			point->cold = true;
			point->workers = 1;
			point->wanted = CAL_PASSES;
			cal_pass(cal, point);
			/* what the next size is estimated from */
			if (pass > 0 || point->npasses == 0)
				continue;
			cal->read_s = point->passes[0].busy_s / point->passes[0].ops;
			cal->read_bytes = sizes[i];
		}
	}
	for (int i = 0; i < nsizes; i++)
	{
		EcpJobResult sum;

		cal_median(cal, &points[i], &sum);
		if (sum.ops == 0 || sum.busy_s <= 0)
			continue;
		x[n] = sizes[i];
		y[n++] = sum.busy_s / sum.ops * 1e6;
	}
	pfree(points);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("too few measurements for a profile"),
				 errhint("Give more time or a larger file.")));
	if (n == 1)
	{
		profile->read_mb_s = profile->seq_write_mb_s;
		profile->latency_us = Max(0, y[0] - x[0] / profile->read_mb_s);
	}
	else
		cal_fit(n, x, y, &profile->latency_us, &profile->read_mb_s,
				&profile->r2);
	profile->half_bandwidth_bytes =
		(int64) (profile->latency_us * profile->read_mb_s);
	cal->plateau_us = y[0];
	cal->slope_mb_s = n >= 2 && y[n - 1] > y[n - 2] ?
		(x[n - 1] - x[n - 2]) / (y[n - 1] - y[n - 2]) : profile->read_mb_s;
	/* what follows reads small blocks, mostly */
	cal->read_s = y[0] * 1e-6;
	cal->read_bytes = (int) x[0];
}

/* Small and large reads by number of workers, in passes over all of them. */
static void
cal_read_workers(Calibration *cal, const int *workers, int nworkers)
{
	EcpDeviceProfile *profile = &cal->profile;
	CalPoint   *points = palloc0_array(CalPoint, 2 * nworkers);
	double		rates[CAL_POINTS_MAX];
	double		best = 0;

	Assert(nworkers >= 1 && nworkers <= CAL_POINTS_MAX && cal->read_s > 0);
	for (int pass = 0; pass < CAL_PASSES; pass++)
	{
		for (int i = 0; i < 2 * nworkers; i++)
		{
			CalPoint   *point = &points[i];
			bool		small = i % 2 == 0;

			point->test = small ? "random read by workers" :
				"sequential read by workers";
			point->task.random = small;
			point->task.block_bytes = small ? CAL_SMALL_BYTES : CAL_LARGE_BYTES;
			point->cold = true;
			point->workers = workers[i / 2];
			point->wanted = CAL_PASSES;
			cal_pass(cal, point);
		}
	}

	profile->rand_read_iops = 1.0 / cal->read_s;
	profile->seq_read_mb_s = profile->read_mb_s;
	profile->best_workers = workers[0];
	for (int i = 0; i < nworkers; i++)
	{
		EcpJobResult sum;

		cal_median(cal, &points[2 * i], &sum);
		rates[i] = cal_rate(&sum);
		best = Max(best, rates[i]);
		if (i == 0 && rates[i] > 0)
			profile->rand_read_iops = rates[i];
		cal_median(cal, &points[2 * i + 1], &sum);
		if (sum.ops > 0 &&
			(i == 0 || cal_mb_s(&sum) > profile->seq_read_mb_s))
			profile->seq_read_mb_s = cal_mb_s(&sum);
	}
	pfree(points);
	profile->rand_read_iops_max = Max(best, profile->rand_read_iops);
	for (int i = nworkers - 1; i >= 0; i--)
	{
		if (rates[i] > 0 && rates[i] >= 0.9 * best)
			profile->best_workers = workers[i];
	}
}

/*
 * How much longer a random read takes beside a process that writes: two
 * processes, of which the first one's delays count.
 */
static void
cal_mixed(Calibration *cal, EcpTransferTask *task)
{
	EcpDeviceProfile *profile = &cal->profile;
	EcpJobResult reader;
	EcpJobResult sum;

	cal_run(cal, "read beside writes", task, true, 2, 1, &sum);
	reader = cal->first;
	profile->mixed_ratio = 1.0;
	if (sum.ops > 0 && reader.ops > 0 && reader.busy_s > 0)
		profile->mixed_ratio =
			Max(1.0, reader.busy_s / reader.ops * profile->rand_read_iops);
}

/* Make writes that do not count: see CAL_WARMUP_SECONDS. */
static void
cal_spend_credit(Calibration *cal, const EcpTransferTask *task)
{
	EcpTransferTask first = *task;
	EcpJobResult result;

	strlcpy(first.path, cal->file.path, sizeof(first.path));
	first.file_bytes = cal->file.bytes;
	first.max_ops = (task->max_ops + 1) / 2;
	first.max_seconds = cal_share(cal);
	(void) ecp_job_run(EcpJobOf(ecp_job_transfer), &first, sizeof(first), 1, 0, NULL,
					   &result);
	cal->written_bytes += result.bytes;
}

static void
cal_others(Calibration *cal)
{
	EcpDeviceProfile *profile = &cal->profile;
	EcpTransferTask misaligned = {.random = true,.block_bytes = CAL_SMALL_BYTES,.misalign = CAL_MISALIGN};
	EcpTransferTask warm = {.random = true,.block_bytes = 128 * 1024,.warm = true};
	EcpTransferTask synced = {.write = true,.random = true,.sync_each = true,.block_bytes = CAL_SMALL_BYTES};
	EcpTransferTask appended = {.write = true,.sync_each = true,.block_bytes = CAL_SMALL_BYTES};
	EcpTransferTask lazy = {.write = true,.random = true,.sync_end = true,.block_bytes = CAL_SMALL_BYTES};
	EcpTransferTask steps = {.block_bytes = CAL_STEP_READ_BYTES,.step_bytes = CAL_STEP_BYTES};
	EcpTransferTask mixed = {.random = true,.mixed = true,.block_bytes = CAL_SMALL_BYTES};
	EcpJobResult sum;

	cal_run(cal, "misaligned read", &misaligned, true, 1, CAL_PASSES, &sum);
	cal->misaligned_ratio = cal_rate(&sum) > 0 ?
		profile->rand_read_iops / cal_rate(&sum) : 1;

	cal_run(cal, "read in steps", &steps, true, 1, CAL_PASSES, &sum);
	profile->step_read_us = sum.ops > 0 ? sum.busy_s / sum.ops * 1e6 :
		cal->plateau_us;
	cal_mixed(cal, &mixed);

	/* as much of the file as can be read in the time */
	warm.file_bytes = Min(CAL_WARM_BYTES, cal->file.bytes);
	while (warm.file_bytes > warm.block_bytes &&
		   cal_estimate(cal, &warm, 1) > cal_share(cal) / 2)
		warm.file_bytes /= 2;
	warm.block_bytes = (int) Min(warm.block_bytes, warm.file_bytes);
	cal_run(cal, "cached read", &warm, false, 1, CAL_PASSES, &sum);
	profile->cached_mb_s = sum.ops > 0 ? cal_mb_s(&sum) :
		profile->seq_read_mb_s;

	synced.max_ops = appended.max_ops = CAL_WRITE_BYTES / CAL_SMALL_BYTES / 4;
	cal_run(cal, "write and fsync", &synced, false, 1, 1, &sum);
	profile->rand_write_us = sum.ops > 0 ? sum.busy_s / sum.ops * 1e6 :
		cal->sync_s * 1e6;
	cal->sync_s = profile->rand_write_us * 1e-6;
	cal_run(cal, "append and fsync", &appended, false, 1, 1, &sum);
	profile->fsync_us = sum.ops > 0 ? sum.busy_s / sum.ops * 1e6 :
		profile->rand_write_us;

	/* as many as there is time for if each waits as the synced ones do */
	lazy.max_ops = (int64) Min(CAL_WRITE_BYTES / CAL_SMALL_BYTES,
							   cal_share(cal) / Max(cal->sync_s, 1e-6));
	profile->rand_write_iops = 1.0 / cal->sync_s;
	if (lazy.max_ops > 0)
		cal_spend_credit(cal, &lazy);
	lazy.max_ops = Max(lazy.max_ops, 1);
	cal_run(cal, "write, fsync in the end", &lazy, false, 1, 1, &sum);
	if (sum.ops > 0)
		profile->rand_write_iops = cal_rate(&sum);
}

/*
 * Store the profile in place of that of an earlier calibration.
 *
 * Done as the owner of the table, so that the right to measure does not need
 * the right to write to it.
 */
static void
cal_store(const Calibration *cal, const char *tablespace)
{
	const EcpDeviceProfile *p = &cal->profile;
	Relation	rel;
	Oid			userid;
	int			context;
	Oid			types[23] = {NAMEOID};
	Datum		values[23];
	int			n = 0;

	values[n++] = DirectFunctionCall1(namein, CStringGetDatum(tablespace));
	values[n++] = Float8GetDatum(p->latency_us);
	values[n++] = Float8GetDatum(p->read_mb_s);
	values[n++] = Float8GetDatum(p->r2);
	values[n++] = Float8GetDatum((double) p->half_bandwidth_bytes);
	values[n++] = Float8GetDatum(p->seq_read_mb_s);
	values[n++] = Float8GetDatum(p->seq_write_mb_s);
	values[n++] = Float8GetDatum(p->rand_read_iops);
	values[n++] = Float8GetDatum(p->rand_read_iops_max);
	values[n++] = Float8GetDatum(p->rand_write_iops);
	values[n++] = Float8GetDatum(p->rand_write_us);
	values[n++] = Float8GetDatum(p->fsync_us);
	values[n++] = Float8GetDatum(p->cached_mb_s);
	values[n++] = Float8GetDatum((double) p->best_workers);
	values[n++] = Float8GetDatum(p->step_read_us);
	values[n++] = Float8GetDatum(p->mixed_ratio);
	values[n++] = Float8GetDatum(cal->plateau_us);
	values[n++] = Float8GetDatum(cal->slope_mb_s);
	values[n++] = Float8GetDatum(cal->misaligned_ratio);
	values[n++] = Float8GetDatum(cal->spread);
	values[n++] = Float8GetDatum((double) cal->file.bytes);
	values[n++] = Float8GetDatum((double) cal->written_bytes);
	values[n++] = Float8GetDatum(cal_elapsed(cal));
	Assert(n == lengthof(values));
	for (int i = 1; i < n; i++)
		types[i] = FLOAT8OID;

	rel = table_open(get_relname_relid("ecp_device",
									   get_namespace_oid("ecp_storage", false)),
					 RowExclusiveLock);
	GetUserIdAndSecContext(&userid, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE);
	SPI_connect();
	ecp_sql_execute(SPI_OK_DELETE,
					"DELETE FROM ecp_storage.ecp_device"
					" WHERE tablespace OPERATOR(pg_catalog.=) $1",
					1, types, values, NULL);
	ecp_sql_execute(SPI_OK_INSERT,
					"INSERT INTO ecp_storage.ecp_device VALUES"
					" ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,"
					" $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)",
					n, types, values, NULL);
	SPI_finish();
	SetUserIdAndSecContext(userid, context);
	table_close(rel, NoLock);
}

/* Raise a notice if the figures are not to be relied on. */
static void
cal_report_doubt(const Calibration *cal, const char *tablespace)
{
	bool		bent = cal->profile.r2 < CAL_R2_MIN;
	bool		spread = cal->spread > CAL_SPREAD_MAX;

	if (!bent && !spread)
		return;
	ereport(NOTICE,
			(errmsg("figures of tablespace \"%s\" are uncertain", tablespace),
			 bent ? errdetail("Delays by size do not lie on a line: r2 is %.2f.",
							  cal->profile.r2) :
			 errdetail("Passes over the same measurement differ by a factor of %.1f.",
					   cal->spread),
			 errhint("Calibrate again without other load on the machine.")));
}

/*
 * ecp_processors()
 *		The number of processors, which ecp_advise() keeps to.
 */
Datum
ecp_processors(PG_FUNCTION_ARGS)
{
	long		n = sysconf(_SC_NPROCESSORS_ONLN);

	PG_RETURN_INT32((int32) Max(n, 1));
}

/* Rising numbers from "smallest" to "largest". */
static int *
cal_numbers(ArrayType *array, int *n, int smallest, int largest,
			const char *what)
{
	int		   *values = ecp_user_array_int4(array, what, 1, CAL_POINTS_MAX,
											 n, NULL);

	for (int i = 0; i < *n; i++)
	{
		if (values[i] < smallest || values[i] > largest ||
			(i > 0 && values[i] <= values[i - 1]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must rise and be from %d to %d",
							what, smallest, largest)));
	}
	return values;
}

/*
 * ecp_calibrate(tablespace, file_bytes, seconds, max_written, block_bytes,
 *				 workers, verbose)
 *		Measure, store the profile, return the measurements.
 */
Datum
ecp_calibrate(PG_FUNCTION_ARGS)
{
	char	   *name = NameStr(*PG_GETARG_NAME(0));
	int64		file_bytes = PG_GETARG_INT64(1);
	int64		max_written = Max(PG_GETARG_INT64(3), 0);
	Calibration cal = {0};
	EcpTransferTask fill = {.write = true,.sync_end = true,.block_bytes = CAL_LARGE_BYTES};
	EcpJobResult sum = {0};
	double		bytes_per_s;
	Oid			tablespace;
	int		   *sizes;
	int		   *workers;
	int			nsizes;
	int			nworkers;

	cal.max_seconds = PG_GETARG_FLOAT8(2);
	cal.verbose = PG_GETARG_BOOL(6);
	tablespace = ecp_device_file_tablespace(name, "ecp_calibrate()");
	sizes = cal_numbers(PG_GETARG_ARRAYTYPE_P(4), &nsizes, 512,
						64 * 1024 * 1024, "block sizes");
	workers = cal_numbers(PG_GETARG_ARRAYTYPE_P(5), &nworkers, 1,
						  ECP_JOB_WORKERS_MAX, "numbers of workers");
	/* the writer beside reads writes half of the file once more */
	file_bytes = Min(file_bytes,
					 Max(0, max_written - 4 * CAL_WRITE_BYTES) / 3 * 2);
	if (!(cal.max_seconds > 0) || nsizes < 2 ||
		file_bytes < 2 * (int64) sizes[nsizes - 1] ||
		file_bytes < 16 * (int64) CAL_LARGE_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("calibration needs time, two block sizes, and a file of 16 MB and of twice the largest block"),
				 errdetail("The file may have %lld bytes within the limit on bytes written.",
						   (long long) file_bytes)));
	InitMaterializedSRF(fcinfo, 0);
	cal.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	INSTR_TIME_SET_CURRENT(cal.start);
	ecp_device_file_create(tablespace, &cal.file);
	ecp_device_file_fill(&cal.file, file_bytes,
						 cal.max_seconds * CAL_FILL_SHARE, &bytes_per_s,
						 &cal.sync_s);
	cal.written_bytes = sum.bytes = cal.file.bytes;
	cal.profile.seq_write_mb_s = bytes_per_s * 1e-6;
	fill.block_bytes = (int) Min(CAL_LARGE_BYTES, sum.bytes);
	sum.ops = sum.bytes / fill.block_bytes;
	sum.bytes = sum.ops * fill.block_bytes;
	sum.busy_s = sum.counted_s = sum.bytes / bytes_per_s;
	cal_report(&cal, "sequential write", &fill, false, 1, &sum);

	/* a device so slow that the file is small has no large blocks to read */
	while (nsizes > 1 && 2 * (int64) sizes[nsizes - 1] > cal.file.bytes)
	{
		nsizes--;
		cal.left_out++;
	}
	cal.points_left = CAL_PASSES * (nsizes + 2 * nworkers) + CAL_OTHER_POINTS;
	cal_read_sizes(&cal, sizes, nsizes);
	cal_read_workers(&cal, workers, nworkers);
	cal_others(&cal);
	ecp_device_file_close(&cal.file);
	if (cal.left_out > 0)
		ereport(WARNING,
				(errmsg("tablespace \"%s\" is too slow for a whole calibration in %g s",
						name, cal.max_seconds),
				 errdetail_plural("%d measurement was left out; what depends on it is an estimate.",
								  "%d measurements were left out; what depends on them are estimates.",
								  cal.left_out, cal.left_out),
				 errhint("Give more time.")));

	cal_report_doubt(&cal, name);

	cal_store(&cal, name);
	return (Datum) 0;
}
