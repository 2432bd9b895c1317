/*-------------------------------------------------------------------------
 *
 * bench_report.c
 *	  What ecpbench prints: settings, tables, CSV and plots.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#ifndef ECPBENCH_COMMIT
#define ECPBENCH_COMMIT "unknown"
#endif

const double targets[TARGETS] = {0.95, 0.99};

/*
 * Time of a query at a recall, interpolated between the two measured settings
 * around it (it is linear in recall there, nearly); NAN if the recall was not
 * reached.
 */
static double
us_at(const MethodResult *result, double target, bool cpu)
{
	for (int i = 0; i < result->npoints; i++)
	{
		const Point *above = &result->points[i];
		const Point *below = above - 1;
		double		share;

		if (above->recall < target)
			continue;
		if (i == 0 || above->recall == below->recall)
			return cpu ? above->cpu_us : above->mean_us;
		share = (target - below->recall) / (above->recall - below->recall);
		if (cpu)
			return below->cpu_us + share * (above->cpu_us - below->cpu_us);
		return below->mean_us + share * (above->mean_us - below->mean_us);
	}
	return NAN;
}

void
report_settings(const Run *run, PGconn *conn)
{
	static const char *const settings[] = {"shared_buffers",
		"maintenance_work_mem", "effective_cache_size", "wal_level",
		"full_page_writes", "max_parallel_maintenance_workers", "jit"};
	char		value[TEXT_SIZE];
	double		load;

	printf("# ecpbench, commit %s\n", ECPBENCH_COMMIT);
	server_value(conn, value, sizeof(value), "SELECT version()");
	printf("# %s\n", value);
	server_value(conn, value, sizeof(value),
				 "SELECT string_agg(extname || ' ' || extversion, ', ') FROM pg_extension");
	printf("# extensions: %s\n", value);
	for (int i = 0; i < lengthof(settings); i++)
	{
		server_value(conn, value, sizeof(value), "SELECT current_setting('%s')",
					 settings[i]);
		printf("%s%s = %s", i ? ", " : "# ", settings[i], value);
	}
	if (getloadavg(&load, 1) == 1)
		printf("\n# load average before the run: %.2f", load);
	printf("\n# memory of this machine: read with %.1f GB/s by one thread, %.1f by two",
		   memory_bandwidth(1) / 1e9, memory_bandwidth(2) / 1e9);
	printf("\n# data %s: %ld x %d %s, %ld queries, %s\n", run->data_name,
		   run->base.rows * run->repeat, run->base.dims,
		   run->base.is_bytes ? "uint8" : "float32", run->queries.rows,
		   run->metric == METRIC_L2 ? "L2" :
		   run->metric == METRIC_IP ? "inner product" :
		   run->metric == METRIC_L1 ? "L1" : "cosine");
}

static void
report_builds(const MethodResult *results, int nresults)
{
	printf("\n%-44s %10s %10s %10s %10s %10s %10s\n", "build", "seconds",
		   "CPU s", "peak MB", "WAL MB", "index MB", "WAL/index");
	for (int i = 0; i < nresults; i++)
	{
		const BuildCost *cost = &results[i].cost;

		if (results[i].measured && results[i].method.index[0])
			printf("%-44s %10.2f %10.2f %10.1f %10.1f %10.1f %10.2f%s\n",
				   results[i].method.label, cost->seconds, cost->cpu_seconds,
				   cost->peak_kb / 1024.0, cost->wal_bytes / 1048576,
				   cost->index_bytes / 1048576,
				   cost->wal_bytes / cost->index_bytes,
				   cost->is_old ? "  (earlier run)" : "");
	}
}

static void
report_searches(const MethodResult *results, int nresults)
{
	for (int t = 0; t < TARGETS; t++)
	{
		double		ours = NAN;

		printf("\nat recall %-34.2f %12s %12s %12s %22s\n", targets[t],
			   "queries/s", "us/query", "CPU us", "times slower than ecp");
		for (int i = 0; i < nresults; i++)
		{
			double		us = us_at(&results[i], targets[t], false);

			if (strcmp(results[i].method.access_method, "ecp") == 0 &&
				!isnan(us) && !(us > ours))
				ours = us;
		}
		for (int i = 0; i < nresults; i++)
		{
			double		us = us_at(&results[i], targets[t], false);

			/* without searches, or with searches that were not timed */
			if (results[i].npoints == 0 || results[i].points[0].mean_us == 0)
				continue;
			if (isnan(us))
				printf("%-44s %12s\n", results[i].method.label, "not reached");
			else
				printf("%-44s %12.1f %12.1f %12.1f %22.2f\n",
					   results[i].method.label, 1e6 / us, us,
					   us_at(&results[i], targets[t], true), us / ours);
		}
	}
}

static void
report_turns(const Options *options, const MethodResult *results, int nresults)
{
	if (options->turns == 0)
		return;
	printf("\n%d turns %40s %8s  %s", options->turns, "setting", "recall",
		   "us inside the server; on a processor");
	for (int c = 0; c < options->nclients; c++)
		printf("; queries/s of %d connections", options->clients[c]);
	printf("\n");
	for (int i = 0; i < nresults; i++)
	{
		for (int p = 0; p < results[i].npoints; p++)
		{
			const Point *point = &results[i].points[p];
			char		shown[TEXT_SIZE];

			if (point->turns == NULL)
				continue;
			turns_show(point->turns->server_us, options->turns, shown, sizeof(shown));
			printf("%-44s %5d %8.4f  %s", results[i].method.label,
				   point->value, point->recall, shown);
			turns_show(point->turns->cpu_us, options->turns, shown, sizeof(shown));
			printf("; %s", shown);
			for (int c = 0; c < options->nclients; c++)
			{
				turns_show(point->turns->clients_qps[c], options->turns, shown,
						   sizeof(shown));
				printf("; %s", shown);
			}
			printf("\n");
		}
	}
}

static void
report_inserts(const Options *options, const MethodResult *results, int nresults)
{
	if (options->inserts == 0)
		return;
	printf("\n%-44s %12s %16s\n", "inserts", "rows/s", "WAL bytes/row");
	for (int i = 0; i < nresults; i++)
	{
		if (results[i].inserts_per_second > 0)
			printf("%-44s %12.1f %16.0f\n", results[i].method.label,
				   results[i].inserts_per_second, results[i].insert_wal);
	}
}

void
report_results(const Options *options, const MethodResult *results,
			   int nresults)
{
	report_builds(results, nresults);
	if (!options->build_only)
		report_searches(results, nresults);
	report_turns(options, results, nresults);
	report_inserts(options, results, nresults);
}

/* The values of the turns, with spaces between them. */
static void
write_turns(FILE *file, const double *values, int turns)
{
	fprintf(file, ",");
	for (int i = 0; i < turns; i++)
		fprintf(file, "%s%.2f", i ? " " : "", values[i]);
}

void
write_csv(const char *path, const Run *run, const Options *options,
		  const MethodResult *results, int nresults)
{
	FILE	   *file = fopen(path, "w");

	if (file == NULL)
		die("could not create file \"%s\": %m", path);
	fprintf(file, "data,rows,dims,method,setting,recall,qps,mean_us,cpu_us,p50_us,p99_us,"
			"build_s,build_cpu_s,peak_kb,wal_bytes,index_bytes,server_us,server_cpu_us,clients_qps,"
			"index_blocks,table_blocks,requests,read_bytes\n");
	for (int i = 0; i < nresults; i++)
	{
		const MethodResult *result = &results[i];

		for (int p = 0; p < result->npoints; p++)
		{
			const Point *point = &result->points[p];

			fprintf(file, "%s,%ld,%d,\"%s\",%d,%.5f,%.2f,%.2f,%.2f,%.2f,%.2f,%.3f,%.3f,%ld,%.0f,%.0f",
					run->data_name, run->base.rows * run->repeat,
					run->base.dims, result->method.label, point->value,
					point->recall, point->qps, point->mean_us, point->cpu_us,
					point->p50_us, point->p99_us, result->cost.seconds,
					result->cost.cpu_seconds, result->cost.peak_kb,
					result->cost.wal_bytes, result->cost.index_bytes);
			/* of the first number of connections */
			write_turns(file, point->turns ? point->turns->server_us : NULL,
						point->turns ? options->turns : 0);
			write_turns(file, point->turns ? point->turns->cpu_us : NULL,
						point->turns ? options->turns : 0);
			write_turns(file, point->turns ? point->turns->clients_qps[0] : NULL,
						point->turns && options->nclients > 0 ? options->turns : 0);
			fprintf(file, ",%.2f,%.2f,%.2f,%.0f\n", point->reads.index_blocks,
					point->reads.table_blocks, point->reads.requests, point->reads.bytes);
		}
	}
	fclose(file);
}

/* PREFIX.svg and PREFIX.png by gnuplot, from PREFIX.gp which holds the data. */
void
write_plot(const char *prefix, const Run *run, const MethodResult *results,
		   int nresults)
{
	static const char *const terminals[][2] = {
		{"svg", "svg size 900,600 font 'sans,14'"},
		{"png", "pngcairo size 1200,800 font 'sans,14'"}
	};
	char		path[TEXT_SIZE];
	char		command[TEXT_SIZE * 2];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s.gp", prefix);
	file = fopen(path, "w");
	if (file == NULL)
		die("could not create file \"%s\": %m", path);

	for (int i = 0; i < nresults; i++)
	{
		if (results[i].npoints == 0)
			continue;
		fprintf(file, "$m%d << END\n", i);
		for (int p = 0; p < results[i].npoints; p++)
			fprintf(file, "%.5f %.2f\n", results[i].points[p].recall,
					results[i].points[p].qps);
		fprintf(file, "END\n");
	}
	fprintf(file, "set title '%s: %ld x %d' noenhanced\n"
			"set xlabel 'recall\\@%d'\nset ylabel 'queries per second'\n"
			"set logscale y\nset grid\nset key bottom left noenhanced\nset xrange [0.5:1]\n",
			run->data_name, run->base.rows * run->repeat, run->base.dims,
			run->k);
	for (int t = 0; t < lengthof(terminals); t++)
	{
		bool		first = true;

		fprintf(file, "set terminal %s\nset output '%s.%s'\nplot", terminals[t][1],
				prefix, terminals[t][0]);
		for (int i = 0; i < nresults; i++)
		{
			if (results[i].npoints == 0)
				continue;
			fprintf(file, "%s $m%d with linespoints linewidth 2 title \"%s\"",
					first ? "" : ",", i, results[i].method.label);
			first = false;
		}
		fprintf(file, "\n");
	}
	fclose(file);

	snprintf(command, sizeof(command), "gnuplot '%s'", path);
	if (system(command) != 0)
		fprintf(stderr, "ecpbench: no plot: gnuplot failed or is not installed; run it on %s later\n",
				path);
}
