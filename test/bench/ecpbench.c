/*-------------------------------------------------------------------------
 *
 * ecpbench.c
 *	  Recall and speed of vector indexes over the same rows in one run.
 *
 * For each method: load the rows (or find them loaded), build the index (or
 * find it built), search with growing effort, look closer around the recalls
 * that are compared (0.95 and 0.99); then, with the least settings that reach
 * them, inside the server and with several connections, by turns.  In the end
 * tables on standard output, and on request a CSV file and a plot.
 *
 * README tells how to call it and how to read the figures.
 *
 *-------------------------------------------------------------------------
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define METHODS_MAX		32
/* a sweep ends with the first setting that finds so much */
#define ENOUGH_RECALL	0.999


/* a setting that finds so little more than a target is taken for it */
#define ENOUGH_CLOSE	0.001

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
method_name(Method *method, const Run *run, const Options *options)
{
	static const char *const tables[] = {"ecpbench_bytea", "ecpbench_real",
		"ecpbench_vector", "ecpbench_halfvec"};
	static const char *const metrics[] = {"l2", "ip", "cosine", "l1"};
	bool		is_exact = strcmp(method->access_method, "exact") == 0;
	uint32_t	hash = 2166136261;

	if (strcmp(method_kinds[method->kind].name, "ecp_vector") != 0 &&
		(is_exact || strcmp(method->access_method, "ecp") == 0))
		method->type = (run->base.is_bytes && !options->force_real) ?
			COLUMN_BYTEA : COLUMN_REAL;
	else
		method->type = options->half ? COLUMN_HALFVEC : COLUMN_VECTOR;
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
	if (run->blkio)
		printf("%47s  blocks read %.1f + %.1f of the table  requests %.1f  read %.0f kB\n", "",
			   point.reads.index_blocks, point.reads.table_blocks,
			   point.reads.requests, point.reads.bytes / 1024);
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
	for (;;)
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
		if (high - low <= 1 ||
			result->points[above].recall < target + ENOUGH_CLOSE)
			return;
		point_add(conn, run, result, (low + high) / 2);
	}
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
	/* those that still gain */
	for (int i = 0; i < nvalues; i++)
	{
		Point	   *point = point_add(conn, run, result, values[i]);

		if (point->recall >= ENOUGH_RECALL)
			break;
	}
	for (int t = 0; t < TARGETS && method->parameter &&
		 (!is_given || options->turns > 0); t++)
		refine(conn, run, result, targets[t]);
	PQfinish(conn);
}

/* The least setting that was measured and reaches a recall, or NULL. */
static Point *
point_at(MethodResult *result, double target)
{
	for (int i = 0; i < result->npoints; i++)
	{
		if (result->points[i].recall >= target)
			return &result->points[i];
	}
	return NULL;
}

/* Measure by turns the settings that reach the targets. */
static void
measure_turns(const Run *run, const Options *options)
{
	Turner		turners[METHODS_MAX * TARGETS];
	int			n = 0;

	for (int i = 0; i < nresults; i++)
	{
		Point	   *before = NULL;

		for (int t = 0; t < TARGETS; t++)
		{
			Point	   *point = point_at(&results[i], targets[t]);

			if (point != NULL && point != before)
			{
				turners[n].method = &results[i].method;
				turners[n++].point = point;
			}
			before = point;
		}
	}
	turns_measure(run, turners, n, options->turns, options->clients,
				  options->nclients);
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
		   "  --distance l2|ip|cosine|l1\n"
		   "  -k N                      neighbours (10)\n"
		   "  --sweep METHOD=N,N,...    settings that are measured, until one finds 0.999\n"
		   "  --turns N                 then measure N times by turns, inside the server\n"
		   "  -c, --clients N,N,...     and with as many connections (1 turn, if not given)\n"
		   "  -s, --seconds S           least time of a measurement (1)\n"
		   "  --rows N, --queries N     use the first ones only\n"
		   "  --repeat N                load the rows N times, with noise (no recall)\n"
		   "  --shuffle SEED            load in random order\n"
		   "  --set NAME=VALUE,...      settings of every connection\n"
		   "  --real                    real[] for ecp though the elements are uint8\n"
		   "  --inserts N[,BEFORE]      also measure N inserts after BEFORE rows (50000)\n"
		   "  --half                    halfvec for vector; elements must be float16\n"
		   "  --rebuild[=METHOD]        build indexes that exist again (of an access method)\n"
		   "  --build-only              no searches\n"
		   "  --blkio FOLDER            the server's cgroup of blkio: count what queries read\n"
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
		SHUFFLE, SET, REAL, HALF, TURNS, INSERTS, REBUILD, BUILD_ONLY, CSV,
		PLOT, BLKIO
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
		{"half", no_argument, NULL, HALF},
		{"turns", required_argument, NULL, TURNS},
		{"rebuild", optional_argument, NULL, REBUILD},
		{"build-only", no_argument, NULL, BUILD_ONLY},
		{"blkio", required_argument, NULL, BLKIO},
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
					strcmp(optarg, "ip") == 0 ? METRIC_IP :
					strcmp(optarg, "l1") == 0 ? METRIC_L1 : METRIC_COSINE;
				if (run->metric == METRIC_COSINE && strcmp(optarg, "cosine") != 0)
					die("--distance is l2, ip, cosine or l1");
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
			case HALF:
				options->half = true;
				break;
			case TURNS:
				options->turns = Min(Max(1, atoi(optarg)), TURNS_MAX);
				break;
			case INSERTS:
				if (sscanf(optarg, "%ld,%ld", &options->inserts,
						   &options->insert_before) < 1)
					die("--inserts is N or N,BEFORE");
				break;
			case REBUILD:
				run->rebuild = optarg ? optarg : "";
				break;
			case BUILD_ONLY:
				options->build_only = true;
				break;
			case BLKIO:
				run->blkio = optarg;
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

	if (options->nclients > 0)
		options->turns = Max(options->turns, 1);
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
		method_name(&results[i].method, &run, &options);
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

	if (!options.build_only && options.turns > 0)
		measure_turns(&run, &options);
	report_results(&options, results, nresults);
	if (options.csv)
		write_csv(options.csv, &run, &options, results, nresults);
	if (options.plot)
		write_plot(options.plot, &run, results, nresults);
	PQfinish(conn);
	return 0;
}
