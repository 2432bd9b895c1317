/*-------------------------------------------------------------------------
 *
 * ecpbench.c
 *	  Recall and speed of vector indexes over the same rows in one run.
 *
 * For each method: load the rows (or find them loaded), build the index (or
 * find it built), search with growing effort, look closer around the recalls
 * that are compared (0.95 and 0.99), and then with several connections.  In
 * the end tables on standard output, and on request a CSV file and a plot.
 *
 * README tells how to call it and how to read the figures.
 *
 *-------------------------------------------------------------------------
 */
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#ifndef ECPBENCH_COMMIT
#define ECPBENCH_COMMIT "unknown"
#endif

#define METHODS_MAX		32
#define CLIENTS_MAX		8

/* Measurements that look for a setting near a target between two others. */
#define REFINE_STEPS	4

/* queries that bring an index into memory */
#define WARMING_QUERIES	100

/* the usual settings end with the first that finds so much */
#define ENOUGH_RECALL	0.999

static const double targets[] = {0.95, 0.99};

typedef struct MethodResult
{
	Method		method;
	BuildCost	cost;
	Point		points[POINTS_MAX];
	int			npoints;
	double		clients_qps[CLIENTS_MAX];
	int			clients_value;	/* setting they ran with */
	double		inserts_per_second;
	double		insert_wal;
	bool		available;		/* its extension is installed */
	bool		measured;
} MethodResult;

/* What main() learns from its arguments besides the Run. */
typedef struct Options
{
	const char *base;
	const char *queries;
	const char *truth;
	long		limit_rows;
	long		limit_queries;
	const char *sweep[METHOD_KINDS_MAX];
	int			clients[CLIENTS_MAX];
	int			nclients;
	long		inserts;
	long		insert_before;
	bool		build_only;
	bool		force_real;
	const char *csv;
	const char *plot;
} Options;

static MethodResult results[METHODS_MAX];
static int	nresults = 0;

/* ---- small things ---- */

void
die(const char *format,...)
{
	va_list		args;

	fprintf(stderr, "ecpbench: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

void *
allocate(size_t bytes)
{
	void	   *result = malloc(Max(bytes, 1));

	if (result == NULL)
		die("out of memory");
	return result;
}

double
seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

void
progress(const char *what, double done, double total)
{
	static double last = 0;
	double		now = seconds_now();
	int			filled;

	if (!isatty(STDERR_FILENO) || (now - last < 0.2 && done < total))
		return;
	last = now;
	filled = total > 0 ? (int) (30 * Min(done / total, 1)) : 0;
	fprintf(stderr, "\r%-60.60s [%.*s%*s] %3.0f %%", what, filled,
			"##############################", 30 - filled, "",
			total > 0 ? 100 * Min(done / total, 1) : 0);
	if (done >= total && total > 0)
		fprintf(stderr, "\r%104s\r", "");
}

static int
parse_list(const char *argument, int *values, int max)
{
	int			n = 0;

	while (*argument && n < max)
	{
		char	   *end;
		long		value = strtol(argument, &end, 10);

		if (end == argument || value < 1)
			die("\"%s\" is not a list of numbers", argument);
		values[n++] = value;
		argument = (*end == ',') ? end + 1 : end;
	}
	return n;
}

/* ---- methods ---- */

/* What can be measured, and by which setting it is traded for recall. */
typedef struct MethodKind
{
	const char *name;
	const char *access_method;
	const char *parameter;
	double		unit;			/* of the numbers of a sweep */
	const char *sweep;			/* by default */
} MethodKind;

static const MethodKind method_kinds[] = {
	{"ecp", "ecp", "ecp.probes", 1, "1,2,4,8,16,32,64,128,256"},
	{"ecp_target", "ecp", "ecp.target_recall", 0.001,
	"800,900,930,940,950,960,970,980,985,990,995"},
	{"ecp_vector", "ecp", "ecp.target_recall", 0.001,
	"800,900,930,940,950,960,970,980,985,990,995"},
	{"ivfflat", "ivfflat", "ivfflat.probes", 1, "1,2,4,8,16,32,64,128,256"},
	{"hnsw", "hnsw", "hnsw.ef_search", 1, "10,20,40,80,160,320,640"},
	{"vchordrq", "vchordrq", "vchordrq.probes", 1,
	"1,2,4,8,16,32,64,128,256"},
	{"exact", "exact", NULL, 0, NULL}
};

/* The part of a method's argument that follows "mark". */
static void
method_part(const char *argument, char mark, char *part)
{
	const char *start = strchr(argument, mark);

	if (start)
		snprintf(part, TEXT_SIZE, "%.*s", (int) strcspn(start + 1, "@!"),
				 start + 1);
}

/*
 * Add "ecp", "ivfflat:lists=1000", "ecp:levels=2@maintenance_work_mem=64MB",
 * "vchordrq!vchordrq.epsilon=1.0": access method, storage parameters, settings
 * of the build, settings of the searches.
 */
static void
method_add(const char *argument)
{
	Method	   *method = &results[nresults].method;
	size_t		length = strcspn(argument, ":@!");

	if (nresults == METHODS_MAX)
		die("too many methods");
	for (int i = 0; i < lengthof(method_kinds); i++)
	{
		if (strlen(method_kinds[i].name) == length &&
			strncmp(method_kinds[i].name, argument, length) == 0)
		{
			method->kind = i;
			method->access_method = method_kinds[i].access_method;
			method->parameter = method_kinds[i].parameter;
			method->unit = method_kinds[i].unit;
		}
	}
	if (method->access_method == NULL)
		die("\"%s\" is not a method", argument);

	snprintf(method->label, sizeof(method->label), "%s", argument);
	if (argument[length] == ':')
		method_part(argument, ':', method->with);
	method_part(argument, '@', method->settings);
	method_part(argument, '!', method->search);
	nresults++;
}

/* Names of table and index, once the data and the metric are known. */
static void
method_name(Method *method, const Run *run, bool force_real)
{
	static const char *const tables[] = {"ecpbench_bytea", "ecpbench_real",
		"ecpbench_vector"};
	static const char *const metrics[] = {"l2", "ip", "cosine"};
	bool		is_exact = strcmp(method->access_method, "exact") == 0;
	uint32_t	hash = 2166136261;

	if (strcmp(method_kinds[method->kind].name, "ecp_vector") == 0)
		method->type = COLUMN_VECTOR;
	else if (is_exact || strcmp(method->access_method, "ecp") == 0)
		method->type = (run->base.is_bytes && !force_real) ? COLUMN_BYTEA :
			COLUMN_REAL;
	else
		method->type = COLUMN_VECTOR;
	snprintf(method->table, sizeof(method->table), "%s", tables[method->type]);

	if (is_exact)
		return;
	/* an index of the same parameters serves all settings of searches */
	for (const char *c = method->label; *c && *c != '!'; c++)
		hash = (hash ^ (unsigned char) *c) * 16777619;
	snprintf(method->index, sizeof(method->index), "%s_%s_%s_%08x",
			 method->table, metrics[run->metric], method->access_method, hash);
}

/* ---- measuring ---- */

static int
method_sweep(const Method *method, const Options *options, int *values)
{
	const char *sweep = options->sweep[method->kind];

	if (sweep == NULL)
		sweep = method_kinds[method->kind].sweep;
	if (sweep)
		return parse_list(sweep, values, POINTS_MAX / 2);
	values[0] = 0;				/* exact */
	return 1;
}

/* Measure one setting and keep the points in the order of settings. */
static Point *
point_add(PGconn *conn, const Run *run, MethodResult *result, int value)
{
	Point		point;
	int			i;

	search_measure(conn, run, &result->method, value, &point);
	printf("%-40s %6d  recall %.4f  %9.1f queries/s  mean %6.0f us  CPU %6.0f us  p50 %6.0f us  p99 %6.0f us\n",
		   result->method.label, value, point.recall, point.qps, point.mean_us,
		   point.cpu_us, point.p50_us, point.p99_us);
	fflush(stdout);

	if (result->npoints == POINTS_MAX)
		die("too many settings");
	for (i = result->npoints; i > 0 && result->points[i - 1].value > value; i--)
		result->points[i] = result->points[i - 1];
	result->points[i] = point;
	result->npoints++;
	return &result->points[i];
}

/* Measure settings that come closer to a recall from both sides. */
static void
refine(PGconn *conn, const Run *run, MethodResult *result, double target)
{
	for (int step = 0; step < REFINE_STEPS; step++)
	{
		int			above = 0;
		int			low;
		int			high;

		while (above < result->npoints && result->points[above].recall < target)
			above++;
		if (above == 0 || above == result->npoints)
			return;
		low = result->points[above - 1].value;
		high = result->points[above].value;
		if (high - low <= Max(1, low / 50))
			return;
		point_add(conn, run, result, (low + high) / 2);
	}
}

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

static void
method_run(const Run *run, const Options *options, MethodResult *result)
{
	Method	   *method = &result->method;
	PGconn	   *conn = server_connect(run);
	int			values[POINTS_MAX];
	int			nvalues;
	bool		is_given = options->sweep[method->kind] != NULL;

	table_load(run, conn, method->table, method->type);
	if (method->index[0])
	{
		index_build(run, method, &result->cost);
		printf("%-40s built in %.1f s%s: %.1f MB, WAL %.1f MB, peak memory %.1f MB\n",
			   method->label, result->cost.seconds,
			   result->cost.is_old ? " by an earlier run" : "",
			   result->cost.index_bytes / 1048576,
			   result->cost.wal_bytes / 1048576,
			   result->cost.peak_kb / 1024.0);
		fflush(stdout);
	}
	result->measured = true;
	if (options->build_only)
	{
		PQfinish(conn);
		return;
	}

	index_only(conn, method);
	PQfinish(conn);
	conn = server_connect(run);
	nvalues = method_sweep(method, options, values);
	/* VectorChord plans nothing before its setting is made */
	search_set(conn, method, values[0]);
	search_prepare(conn, run, method);

	/* the table and the index into memory, by the setting that reads most */
	{
		Point		ignored;
		Run			once = *run;

		once.seconds = 0;
		once.queries.rows = Min(once.queries.rows, WARMING_QUERIES);
		if (method->parameter)
			search_measure(conn, &once, method, values[nvalues - 1], &ignored);
	}
	/* of the usual settings, those that still gain; the given ones, all */
	for (int i = 0; i < nvalues; i++)
	{
		Point	   *point = point_add(conn, run, result, values[i]);

		if (!is_given && point->recall >= ENOUGH_RECALL)
			break;
	}
	for (int t = 0; t < lengthof(targets) && method->parameter && !is_given; t++)
		refine(conn, run, result, targets[t]);
	PQfinish(conn);

	for (int i = 0; i < result->npoints; i++)
	{
		if (result->points[i].recall >= targets[0])
		{
			result->clients_value = result->points[i].value;
			break;
		}
	}
	for (int i = 0; i < options->nclients && result->clients_value > 0; i++)
	{
		result->clients_qps[i] = search_clients(run, method,
												result->clients_value,
												options->clients[i]);
		printf("%-40s %6d  %d connections: %.1f queries/s\n", method->label,
			   result->clients_value, options->clients[i],
			   result->clients_qps[i]);
		fflush(stdout);
	}
}

/* ---- reports ---- */

static void
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
	printf("\n# data %s: %ld x %d %s, %ld queries, %s\n", run->data_name,
		   run->base.rows * run->repeat, run->base.dims,
		   run->base.is_bytes ? "uint8" : "float32", run->queries.rows,
		   run->metric == METRIC_L2 ? "L2" :
		   run->metric == METRIC_IP ? "inner product" : "cosine");
}

static void
report_builds(void)
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
report_searches(const Options *options)
{
	for (int t = 0; t < lengthof(targets); t++)
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

			if (results[i].npoints == 0)
				continue;
			if (isnan(us))
				printf("%-44s %12s\n", results[i].method.label, "not reached");
			else
				printf("%-44s %12.1f %12.1f %12.1f %22.2f\n",
					   results[i].method.label, 1e6 / us, us,
					   us_at(&results[i], targets[t], true), us / ours);
		}
	}

	for (int c = 0; c < options->nclients; c++)
	{
		printf("\n%2d connections at recall >= %-16.2f %12s %8s\n",
			   options->clients[c], targets[0], "queries/s", "setting");
		for (int i = 0; i < nresults; i++)
		{
			if (results[i].clients_value > 0)
				printf("%-44s %12.1f %8d\n", results[i].method.label,
					   results[i].clients_qps[c], results[i].clients_value);
		}
	}
}

static void
report_inserts(const Options *options)
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

static void
write_csv(const char *path, const Run *run)
{
	FILE	   *file = fopen(path, "w");

	if (file == NULL)
		die("could not create file \"%s\": %m", path);
	fprintf(file, "data,rows,dims,method,setting,recall,qps,mean_us,cpu_us,p50_us,p99_us,"
			"build_s,build_cpu_s,peak_kb,wal_bytes,index_bytes,clients_qps\n");
	for (int i = 0; i < nresults; i++)
	{
		const MethodResult *result = &results[i];

		for (int p = 0; p < result->npoints; p++)
		{
			const Point *point = &result->points[p];

			fprintf(file, "%s,%ld,%d,\"%s\",%d,%.5f,%.2f,%.2f,%.2f,%.2f,%.2f,%.3f,%.3f,%ld,%.0f,%.0f,",
					run->data_name, run->base.rows * run->repeat,
					run->base.dims, result->method.label, point->value,
					point->recall, point->qps, point->mean_us, point->cpu_us,
					point->p50_us, point->p99_us, result->cost.seconds,
					result->cost.cpu_seconds, result->cost.peak_kb,
					result->cost.wal_bytes, result->cost.index_bytes);
			/* of the setting that was taken for them, the first number */
			if (point->value == result->clients_value && result->clients_qps[0] > 0)
				fprintf(file, "%.2f", result->clients_qps[0]);
			fprintf(file, "\n");
		}
	}
	fclose(file);
}

/* PREFIX.svg and PREFIX.png by gnuplot, from PREFIX.gp which holds the data. */
static void
write_plot(const char *prefix, const Run *run)
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

/* ---- arguments ---- */

static void
usage(void)
{
	printf("ecpbench measures recall and speed of vector indexes.\n\n"
		   "  ecpbench [option...] [folder with base.*vecs, query.*vecs, truth.ivecs]\n\n"
		   "  --base, --query, --truth FILE   .bvecs or .fvecs, the same, .ivecs\n"
		   "  -d, --dbname CONNINFO     server and database (superuser)\n"
		   "  -m, --method METHOD       ecp, ecp_target, ecp_vector, ivfflat, hnsw, vchordrq or\n"
		   "                            exact, with :storage parameters, @settings of the build\n"
		   "                            and !settings of searches; as often as you like\n"
		   "  --distance l2|ip|cosine\n"
		   "  -k N                      neighbours (10)\n"
		   "  --sweep METHOD=N,N,...    settings that are measured, and no others\n"
		   "  -c, --clients N,N,...     then with as many connections\n"
		   "  -s, --seconds S           least time of a measurement (1)\n"
		   "  --rows N, --queries N     use the first ones only\n"
		   "  --repeat N                load the rows N times, with noise (no recall)\n"
		   "  --shuffle SEED            load in random order\n"
		   "  --set NAME=VALUE,...      settings of every connection\n"
		   "  --real                    real[] for ecp though the elements are uint8\n"
		   "  --inserts N[,BEFORE]      also measure N inserts after BEFORE rows (50000)\n"
		   "  --rebuild                 build indexes that exist again\n"
		   "  --build-only              no searches\n"
		   "  --csv FILE, --plot PREFIX write FILE, PREFIX.svg and PREFIX.png\n");
}

/* The file NAME.bvecs or NAME.fvecs of a folder. */
static const char *
find_vectors(const char *folder, const char *name)
{
	static const char *const suffixes[] = {"bvecs", "fvecs"};
	char	   *path = allocate(TEXT_SIZE);

	for (int i = 0; i < lengthof(suffixes); i++)
	{
		snprintf(path, TEXT_SIZE, "%s/%s.%s", folder, name, suffixes[i]);
		if (access(path, R_OK) == 0)
			return path;
	}
	die("no %s.bvecs or %s.fvecs in \"%s\"", name, name, folder);
}

static void
parse_sweep(Options *options, const char *argument)
{
	size_t		length = strcspn(argument, "=");

	for (int i = 0; i < lengthof(method_kinds) && argument[length]; i++)
	{
		if (strlen(method_kinds[i].name) == length &&
			strncmp(method_kinds[i].name, argument, length) == 0)
		{
			options->sweep[i] = argument + length + 1;
			return;
		}
	}
	die("\"%s\" is not METHOD=N,N,...", argument);
}

static void
parse_arguments(int argc, char **argv, Run *run, Options *options)
{
	enum
	{
		BASE = 256, QUERY, TRUTH, DISTANCE, SWEEP, ROWS, QUERIES, REPEAT,
		SHUFFLE, SET, REAL, INSERTS, REBUILD, BUILD_ONLY, CSV, PLOT
	};
	static const struct option names[] = {
		{"base", required_argument, NULL, BASE},
		{"query", required_argument, NULL, QUERY},
		{"truth", required_argument, NULL, TRUTH},
		{"dbname", required_argument, NULL, 'd'},
		{"method", required_argument, NULL, 'm'},
		{"distance", required_argument, NULL, DISTANCE},
		{"sweep", required_argument, NULL, SWEEP},
		{"clients", required_argument, NULL, 'c'},
		{"seconds", required_argument, NULL, 's'},
		{"rows", required_argument, NULL, ROWS},
		{"queries", required_argument, NULL, QUERIES},
		{"repeat", required_argument, NULL, REPEAT},
		{"shuffle", required_argument, NULL, SHUFFLE},
		{"set", required_argument, NULL, SET},
		{"real", no_argument, NULL, REAL},
		{"inserts", required_argument, NULL, INSERTS},
		{"rebuild", no_argument, NULL, REBUILD},
		{"build-only", no_argument, NULL, BUILD_ONLY},
		{"csv", required_argument, NULL, CSV},
		{"plot", required_argument, NULL, PLOT},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}
	};
	int			option;

	while ((option = getopt_long(argc, argv, "d:m:k:c:s:h", names, NULL)) != -1)
	{
		switch (option)
		{
			case BASE:
				options->base = optarg;
				break;
			case QUERY:
				options->queries = optarg;
				break;
			case TRUTH:
				options->truth = optarg;
				break;
			case 'd':
				run->conninfo = optarg;
				break;
			case 'm':
				method_add(optarg);
				break;
			case DISTANCE:
				run->metric = strcmp(optarg, "l2") == 0 ? METRIC_L2 :
					strcmp(optarg, "ip") == 0 ? METRIC_IP : METRIC_COSINE;
				if (run->metric == METRIC_COSINE && strcmp(optarg, "cosine") != 0)
					die("--distance is l2, ip or cosine");
				break;
			case 'k':
				run->k = Max(1, atoi(optarg));
				break;
			case SWEEP:
				parse_sweep(options, optarg);
				break;
			case 'c':
				options->nclients = parse_list(optarg, options->clients,
											   CLIENTS_MAX);
				break;
			case 's':
				run->seconds = atof(optarg);
				break;
			case ROWS:
				options->limit_rows = atol(optarg);
				break;
			case QUERIES:
				options->limit_queries = atol(optarg);
				break;
			case REPEAT:
				run->repeat = Max(1, atoi(optarg));
				break;
			case SHUFFLE:
				run->shuffle = strtoull(optarg, NULL, 10);
				break;
			case SET:
				run->settings = optarg;
				break;
			case REAL:
				options->force_real = true;
				break;
			case INSERTS:
				if (sscanf(optarg, "%ld,%ld", &options->inserts,
						   &options->insert_before) < 1)
					die("--inserts is N or N,BEFORE");
				break;
			case REBUILD:
				run->rebuild = true;
				break;
			case BUILD_ONLY:
				options->build_only = true;
				break;
			case CSV:
				options->csv = optarg;
				break;
			case PLOT:
				options->plot = optarg;
				break;
			case 'h':
				usage();
				exit(0);
			default:
				exit(2);
		}
	}

	if (optind < argc)
	{
		const char *folder = argv[optind];
		char	   *truth = allocate(TEXT_SIZE);

		if (options->base == NULL)
			options->base = find_vectors(folder, "base");
		if (options->queries == NULL)
			options->queries = find_vectors(folder, "query");
		snprintf(truth, TEXT_SIZE, "%s/truth.ivecs", folder);
		if (options->truth == NULL && access(truth, R_OK) == 0)
			options->truth = truth;
	}
	if (options->base == NULL || options->queries == NULL)
	{
		usage();
		exit(2);
	}
}

/* The last folder of the base's path, as the name of the data. */
static const char *
data_name(const char *path)
{
	char	   *name = strdup(path);
	char	   *slash = strrchr(name, '/');

	if (slash == NULL)
		return name;
	while (slash > name && slash[-1] == '/')
		slash--;
	*slash = '\0';
	slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

int
main(int argc, char **argv)
{
	Run			run = {0};
	Options		options = {.insert_before = 50000};
	PGconn	   *conn;

	run.conninfo = "";
	run.k = 10;
	run.seconds = 1;
	run.repeat = 1;
	parse_arguments(argc, argv, &run, &options);
	if (nresults == 0)
	{
		method_add("ecp");
		method_add("ivfflat:lists=1000");
		method_add("hnsw");
	}

	matrix_read(&run.base, options.base, options.limit_rows);
	matrix_read(&run.queries, options.queries, options.limit_queries);
	run.data_name = data_name(options.base);
	if (run.base.dims != run.queries.dims ||
		run.base.is_bytes != run.queries.is_bytes)
		die("base and queries differ in dimensions or elements");

	/* truth.ivecs is for L2 over all rows of the file */
	if (run.metric != METRIC_L2 || options.limit_rows > 0)
		options.truth = NULL;

	conn = server_connect(&run);
	/* first: this creates the extensions whose versions are reported */
	for (int i = 0; i < nresults; i++)
	{
		method_name(&results[i].method, &run, options.force_real);
		results[i].available = method_is_available(conn, &results[i].method);
	}
	report_settings(&run, conn);
	if (!options.build_only)
		run.truth = truth_ranks(&run.base, &run.queries, run.metric, run.k,
								options.truth);

	for (int i = 0; i < nresults; i++)
	{
		MethodResult *result = &results[i];

		if (!result->available)
		{
			printf("%-40s left out: its extension is not installed\n",
				   result->method.label);
			continue;
		}
		method_run(&run, &options, result);
		if (options.inserts > 0)
			insert_measure(&run, &result->method, options.insert_before,
						   options.inserts, &result->inserts_per_second,
						   &result->insert_wal);
	}

	report_builds();
	if (!options.build_only)
		report_searches(&options);
	report_inserts(&options);
	if (options.csv)
		write_csv(options.csv, &run);
	if (options.plot)
		write_plot(options.plot, &run);
	PQfinish(conn);
	return 0;
}
