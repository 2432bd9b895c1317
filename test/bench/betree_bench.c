/*-------------------------------------------------------------------------
 *
 * betree_bench.c
 *	  Compare betree with btree (points: GiST, SP-GiST) on the same rows.
 *
 *		betree_bench [options] WORKLOAD
 *
 * Connects by libpq's environment to a server that does nothing else, with
 * the extension and a superuser.  Each engine has a table of its own; one
 * more table, "none", has no index.  First all get --rows rows and their
 * indexes, then --warm rows to fill the buffers of a betree.  Then the clock
 * runs: --inserts rows in --rounds rounds, in each of which the engines take
 * turns (the order turns round from round to round), and each turn begins
 * after a CHECKPOINT and includes one.  What an insert costs "none" is
 * subtracted from the blocks written and the WAL of the others.  At last each
 * engine answers --queries queries of each kind, and the answers must agree;
 * --verify compares some with sequential scans.
 *
 * With --sessions the statements of a turn are spread over several connections.
 *
 * Every measurement is a line of the CSV file; stdout gets a table with the
 * ratio of each engine to the first one.  See test/bench/README.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

#include "betree_workloads.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define LOAD_BATCH		1000000
#define NONE			MAX_ENGINES /* the table without index */
#define MAX_SESSIONS	64

typedef long long int64;

/* The server's counters; a difference of two is what some work cost */
typedef struct Counters
{
	double		seconds;
	double		idx_read;		/* index blocks not found in shared_buffers */
	double		idx_hit;
	double		device;			/* blocks of any file that came from the disk */
	double		written;		/* blocks of any file written by anyone */
	double		wal;			/* bytes */
} Counters;

typedef struct Latencies
{
	double	   *us;
	int64		count;
	int64		size;
} Latencies;

/* One line of the result */
typedef struct Result
{
	const char *phase;
	int			round;
	int			engine;
	double		ops;			/* rows or queries */
	Counters	cost;
	Latencies	latencies;
	double		index_bytes;
} Result;

static struct
{
	int64		rows;
	int64		warm;
	int64		inserts;
	int64		batch;
	int64		rounds;
	int64		sessions;
	int64		queries;
	int64		cycles;
	int64		verify;
	int64		max_seconds;
	int64		keep;
	int64		reuse;
	const char *with;
	const char *only;
	const char *points;
	const char *query;
	const char *before_clock;
	const char *csv;
}			options = {

	.rows = 1000000,.warm = -1,.inserts = 100000,.batch = 1000,
	.queries = 200,.rounds = 2,.sessions = 1,.cycles = 10,.with = ""
};

static PGconn *conn;
static PGconn *sessions[MAX_SESSIONS];	/* the first one is "conn" */
static long postmaster;			/* 0 if it is not to be seen */
static FILE *csv;
static const Workload *work;
static int	nengines;
static char places[32] = "0";
static int64 next_row = 1;

/* sums of the insert phase, for the table at the end */
static Result sums[MAX_ENGINES + 1];
static int	failures;

static void
die(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	fprintf(stderr, "betree_bench: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Replace every "from" in "text" by "to"; the result is malloced. */
static char *
replace(const char *template, const char *from, const char *to)
{
	size_t		size = strlen(template) + 1;
	char	   *result;
	char	   *out;
	const char *hit;

	for (hit = template; (hit = strstr(hit, from)) != NULL; hit += strlen(from))
		size += strlen(to);
	out = result = malloc(size);
	if (result == NULL)
		die("out of memory");
	while ((hit = strstr(template, from)) != NULL)
	{
		memcpy(out, template, hit - template);
		out += hit - template;
		out = stpcpy(out, to);
		template = hit + strlen(from);
	}
	strcpy(out, template);
	return result;
}

static const char *
engine_name(int engine)
{
	return engine == NONE ? "none" : work->engines[engine].name;
}

/* A text of the workload for one engine's table; free it */
static char *
sql_for(const char *template, int engine)
{
	char		table[64];
	char		rows[32];
	char	   *with_table;
	char	   *with_places;
	char	   *result;

	snprintf(table, sizeof(table), "betree_bench_%s", engine_name(engine));
	snprintf(rows, sizeof(rows), "%lld", options.rows);
	with_table = replace(template, "@table", table);
	with_places = replace(with_table, "@places", places);
	result = replace(with_places, "@rows", rows);
	free(with_table);
	free(with_places);
	return result;
}

/* Run SQL without parameters; the first field, if any, is returned: free it */
static char *
run(const char *sql)
{
	PGresult   *result = PQexec(conn, sql);
	char	   *value = NULL;

	if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0)
		value = strdup(PQgetvalue(result, 0, 0));
	else if (PQresultStatus(result) != PGRES_COMMAND_OK &&
			 PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(result);
	return value;
}

static void
run_for(const char *template, int engine)
{
	char	   *sql = sql_for(template, engine);

	free(run(sql));
	free(sql);
}

static double
number_for(const char *template, int engine)
{
	char	   *sql = sql_for(template, engine);
	char	   *value = run(sql);
	double		number = value ? atof(value) : 0;

	free(value);
	free(sql);
	return number;
}

/* A number of a file of /proc, behind the text "name"; 0 without the file */
static double
proc_number(long pid, const char *file, const char *name)
{
	char		path[64];
	char		content[4096];
	FILE	   *stream;
	const char *at;
	size_t		length;

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, file);
	stream = fopen(path, "r");
	if (stream == NULL)
		return 0;
	length = fread(content, 1, sizeof(content) - 1, stream);
	fclose(stream);
	content[length] = '\0';
	at = strstr(content, name);
	return at == NULL ? 0 : atof(at + strlen(name));
}

/* Bytes that a process, and those that it has waited for, read from the disk */
static double
disk_bytes(long pid)
{
	return proc_number(pid, "io", "\nread_bytes: ");
}

/*
 * Blocks that all processes of the server have had from the disk.  What one
 * has read that is gone by now is counted for the postmaster.
 */
static double
device_blocks(void)
{
	DIR		   *proc;
	struct dirent *entry;
	double		bytes;

	if (postmaster == 0 || (proc = opendir("/proc")) == NULL)
		return 0;
	bytes = disk_bytes(postmaster);
	while ((entry = readdir(proc)) != NULL)
	{
		long		pid = atol(entry->d_name);

		if (pid > 0 && (long) proc_number(pid, "status", "\nPPid:\t") == postmaster)
			bytes += disk_bytes(pid);
	}
	closedir(proc);
	return bytes / 8192;
}

/* Is the server on this machine, and may we see what it reads? */
static void
find_postmaster(void)
{
	long		parent = (long) proc_number(PQbackendPID(conn), "status", "\nPPid:\t");
	char		path[64];
	FILE	   *file;

	snprintf(path, sizeof(path), "/proc/%ld/io", parent);
	if (parent > 1 && (file = fopen(path, "r")) != NULL)
	{
		postmaster = parent;
		fclose(file);
	}
	else
		printf("what the server reads from the disk is not known here\n");
}

static void
read_counters(int engine, Counters *counters)
{
	char	   *sql;
	PGresult   *result;
	const char *written;

	counters->seconds = now();

	/* what this backend and the checkpointer have counted arrives soon */
	free(run("SELECT pg_stat_force_next_flush()"));
	free(run("SELECT pg_sleep(0.1)"));
	counters->device = device_blocks();

	written = PQserverVersion(conn) >= 170000 ?
		"(SELECT sum(writes) FROM pg_stat_io)" :
		"(SELECT buffers_checkpoint + buffers_clean + buffers_backend"
		" FROM pg_stat_bgwriter)";
	sql = malloc(1024);
	snprintf(sql, 1024,
			 "SELECT coalesce(idx_blks_read, 0), coalesce(idx_blks_hit, 0), %s,"
			 " pg_current_wal_insert_lsn() - '0/0'"
			 " FROM pg_statio_user_tables"
			 " WHERE relid = 'betree_bench_%s'::regclass",
			 written, engine_name(engine));
	result = PQexec(conn, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
		die("%s: %s", sql, PQerrorMessage(conn));
	counters->idx_read = atof(PQgetvalue(result, 0, 0));
	counters->idx_hit = atof(PQgetvalue(result, 0, 1));
	counters->written = atof(PQgetvalue(result, 0, 2));
	counters->wal = atof(PQgetvalue(result, 0, 3));
	PQclear(result);
	free(sql);
}

/* Add to the result what has been done since "before" was read at "start". */
static void
add_cost(Result *result, const Counters *before, double start)
{
	Counters	after;
	double		end = now();

	read_counters(result->engine, &after);
	result->cost.seconds += end - start;
	result->cost.idx_read += after.idx_read - before->idx_read;
	result->cost.idx_hit += after.idx_hit - before->idx_hit;
	result->cost.device += after.device - before->device;
	result->cost.written += after.written - before->written;
	result->cost.wal += after.wal - before->wal;
}

static void
add_latency(Latencies *latencies, double us)
{
	if (latencies->count == latencies->size)
	{
		latencies->size = latencies->size ? latencies->size * 2 : 1024;
		latencies->us = realloc(latencies->us,
								latencies->size * sizeof(double));
		if (latencies->us == NULL)
			die("out of memory");
	}
	latencies->us[latencies->count++] = us;
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
percentile(Latencies *latencies, double p)
{
	if (latencies->count == 0)
		return 0;
	return latencies->us[(int64) ((latencies->count - 1) * p)];
}

/* Write the result as a line of CSV, and with "verbose" for the reader. */
static void
report(Result *r)
{
	Latencies  *l = &r->latencies;

	qsort(l->us, l->count, sizeof(double), compare_doubles);
	r->index_bytes = number_for("SELECT pg_indexes_size('@table')", r->engine);
	if (csv)
	{
		fprintf(csv, "%s,%s,%s,%d,%.0f,%.3f,%.1f,%.5f,%.5f,%.5f,%.1f,"
				"%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.5f\n",
				work->name, engine_name(r->engine), r->phase, r->round,
				r->ops, r->cost.seconds, r->ops / r->cost.seconds,
				r->cost.idx_read / r->ops, r->cost.idx_hit / r->ops,
				r->cost.written / r->ops, r->cost.wal / r->ops,
				percentile(l, 0.5), percentile(l, 0.95), percentile(l, 0.99),
				percentile(l, 0.999), percentile(l, 1), r->index_bytes,
				r->cost.device / r->ops);
		fflush(csv);
	}
	printf("%-16s %-10s %2d  %10.0f/s  read %9.4f  hit %9.3f  device %8.4f"
		   "  written %8.4f  WAL %8.1f B  p50 %8.0f  p99 %8.0f  max %9.0f us  index %6.0f MB\n",
		   r->phase, engine_name(r->engine), r->round,
		   r->ops / r->cost.seconds, r->cost.idx_read / r->ops,
		   r->cost.idx_hit / r->ops, r->cost.device / r->ops,
		   r->cost.written / r->ops, r->cost.wal / r->ops, percentile(l, 0.5), percentile(l, 0.99),
		   percentile(l, 1), r->index_bytes / (1024 * 1024));
	fflush(stdout);
}

static void
prepare_on(PGconn *session, const char *name, const char *template, int engine)
{
	char	   *sql = sql_for(template, engine);
	PGresult   *result = PQprepare(session, name, sql, 0, NULL);

	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die("%s: %s", sql, PQerrorMessage(session));
	PQclear(result);
	free(sql);
}

static void
prepare(const char *name, const char *template, int engine)
{
	prepare_on(conn, name, template, engine);
}

/* Execute a prepared statement; returns its first field or NULL: free it */
static char *
execute(const char *name, int nparams, int64 a, int64 b, Latencies *latencies)
{
	char		params[2][32];
	const char *values[2] = {params[0], params[1]};
	double		start = now();
	char	   *value = NULL;
	PGresult   *result;

	snprintf(params[0], sizeof(params[0]), "%lld", a);
	snprintf(params[1], sizeof(params[1]), "%lld", b);
	result = PQexecPrepared(conn, name, nparams, values, NULL, NULL, 0);
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		value = strdup(PQntuples(result) > 0 && !PQgetisnull(result, 0, 0) ?
					   PQgetvalue(result, 0, 0) : "nothing");
	else if (PQresultStatus(result) != PGRES_COMMAND_OK)
		die("%s", PQerrorMessage(conn));
	PQclear(result);
	if (latencies)
		add_latency(latencies, (now() - start) * 1e6);
	return value;
}

/* Does this query belong to this engine? */
static int
query_fits(const Query *query, int engine)
{
	if (query->engine)
		return strcmp(query->engine, engine_name(engine)) == 0;
	for (const Query *other = work->queries; other->name; other++)
		if (other->engine && strcmp(other->name, query->name) == 0 &&
			strcmp(other->engine, engine_name(engine)) == 0)
			return 0;
	return 1;
}

/* The row number that the nth query asks for, spread over all rows */
static int64
query_number(int64 n)
{
	unsigned long long x = n * 0x9E3779B97F4A7C15ULL;

	x ^= x >> 31;
	x *= 0xBF58476D1CE4E5B9ULL;
	x ^= x >> 29;
	return (int64) (x % (unsigned long long) (next_row - 1)) + 1;
}

static void
load_points(void)
{
	FILE	   *file;
	char	   *line = NULL;
	size_t		size = 0;
	int64		count = 0;
	PGresult   *result;

	if (options.points == NULL)
		die("this workload needs --points=FILE: longitude and latitude in the first two columns, tabs between them, after a header line");
	file = fopen(options.points, "r");
	if (file == NULL)
		die("could not open \"%s\": %s", options.points, strerror(errno));
	free(run("DROP TABLE IF EXISTS betree_bench_places"));
	free(run("CREATE TABLE betree_bench_places (n int, lon float8, lat float8)"));
	result = PQexec(conn, "COPY betree_bench_places FROM STDIN");
	if (PQresultStatus(result) != PGRES_COPY_IN)
		die("%s", PQerrorMessage(conn));
	PQclear(result);
	while (getline(&line, &size, file) > 0)
	{
		double		lon;
		double		lat;
		char		row[128];

		if (sscanf(line, "%lf\t%lf", &lon, &lat) != 2)
			continue;
		snprintf(row, sizeof(row), "%lld\t%.7f\t%.7f\n", count++, lon, lat);
		if (PQputCopyData(conn, row, strlen(row)) != 1)
			die("%s", PQerrorMessage(conn));
	}
	free(line);
	fclose(file);
	if (count == 0)
		die("no points in \"%s\"", options.points);
	if (PQputCopyEnd(conn, NULL) != 1)
		die("%s", PQerrorMessage(conn));
	while ((result = PQgetResult(conn)) != NULL)
	{
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			die("%s", PQerrorMessage(conn));
		PQclear(result);
	}
	free(run("CREATE INDEX ON betree_bench_places (n)"));
	free(run("VACUUM ANALYZE betree_bench_places"));
	snprintf(places, sizeof(places), "%lld", count);
}

static void
create_index(int engine)
{
	char		with[256];
	char	   *sql;
	double		start = now();

	if (engine == NONE)
		return;
	snprintf(with, sizeof(with), "%s%s%s", options.with[0] ? "WITH (" : "",
			 options.with, options.with[0] ? ")" : "");
	sql = replace(work->engines[engine].index, "@with", with);
	run_for(sql, engine);
	free(sql);
	printf("built %s in %.1f s\n", engine_name(engine), now() - start);
	fflush(stdout);
}

/* Has a session nothing to do?  What its last statement said is read then. */
static int
session_is_idle(PGconn *session)
{
	PGresult   *result;

	if (!PQconsumeInput(session))
		die("%s", PQerrorMessage(session));
	while (!PQisBusy(session))
	{
		result = PQgetResult(session);
		if (result == NULL)
			return 1;
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			die("%s", PQerrorMessage(session));
		PQclear(result);
	}
	return 0;
}

/* Open the sessions that there are not yet, and prepare a statement in all. */
static void
prepare_sessions(const char *template, int engine)
{
	for (int s = 0; s < options.sessions; s++)
	{
		if (sessions[s] == NULL)
			sessions[s] = PQconnectdb("");
		if (PQstatus(sessions[s]) != CONNECTION_OK)
			die("%s", PQerrorMessage(sessions[s]));
		prepare_on(sessions[s], "ins", template, engine);
	}
}

/* What the sessions have counted is wanted now, and their statement no more */
static void
release_sessions(void)
{
	for (int s = 1; s < options.sessions; s++)
	{
		PQclear(PQexec(sessions[s], "DEALLOCATE ins"));
		PQclear(PQexec(sessions[s], "SELECT pg_stat_force_next_flush()"));
	}
	free(run("DEALLOCATE ins"));
}

/* insert_rows() in several sessions: each takes the next statement when idle */
static int64
insert_in_sessions(int64 first, int64 last, int64 batch, double seconds,
				   Latencies *latencies)
{
	double		start = now();
	double		begun[MAX_SESSIONS] = {0};
	struct pollfd polled[MAX_SESSIONS];
	int64		i = first;
	int			busy = 1;

	while (busy > 0)
	{
		busy = 0;
		for (int s = 0; s < options.sessions; s++)
		{
			char		params[2][32];
			const char *values[2] = {params[0], params[1]};
			int			idle = session_is_idle(sessions[s]);

			if (idle && begun[s] > 0 && latencies)
				add_latency(latencies, (now() - begun[s]) * 1e6);
			if (idle)
				begun[s] = 0;
			if (idle && i <= last && (seconds <= 0 || now() - start <= seconds))
			{
				snprintf(params[0], sizeof(params[0]), "%lld", i);
				i = i + batch <= last ? i + batch : last + 1;
				snprintf(params[1], sizeof(params[1]), "%lld", i - 1);
				begun[s] = now();
				if (!PQsendQueryPrepared(sessions[s], "ins", 2, values, NULL, NULL, 0))
					die("%s", PQerrorMessage(sessions[s]));
				idle = 0;
			}
			polled[s].fd = PQsocket(sessions[s]);
			polled[s].events = idle ? 0 : POLLIN;
			busy += !idle;
		}
		if (busy > 0 && poll(polled, options.sessions, -1) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
	}
	return i - first;
}

/*
 * Insert the rows first..last in statements of "batch" rows, for "seconds" at
 * most if that is not 0.  Returns how many were inserted.
 */
static int64
insert_rows(const char *template, int engine, int64 first, int64 last,
			int64 batch, double seconds, Latencies *latencies)
{
	double		start = now();
	int64		i;

	if (options.sessions > 1)
	{
		prepare_sessions(template, engine);
		i = insert_in_sessions(first, last, batch, seconds, latencies);
		release_sessions();
		return i;
	}
	prepare("ins", template, engine);
	for (i = first; i <= last; i += batch)
	{
		int64		end = i + batch - 1;

		if (seconds > 0 && now() - start > seconds)
			break;
		free(execute("ins", 2, i, end < last ? end : last, latencies));
	}
	free(run("DEALLOCATE ins"));
	return (i <= last ? i : last + 1) - first;
}

static const char *
insert_text(int engine)
{
	if (engine == NONE && work->insert_none)
		return work->insert_none;
	return work->insert ? work->insert : work->load;
}

/* One timed turn of one engine */
static void
timed_inserts(const char *phase, const char *template, int round, int engine,
			  int64 first, int64 last)
{
	Result		r = {.phase = phase,.round = round,.engine = engine};
	Counters	before;
	double		start;

	free(run("CHECKPOINT"));
	read_counters(engine, &before);
	start = now();
	r.ops = insert_rows(template, engine, first, last, options.batch,
						options.max_seconds, &r.latencies);
	free(run("CHECKPOINT"));
	add_cost(&r, &before, start);
	report(&r);
	free(r.latencies.us);

	sums[engine].ops += r.ops;
	sums[engine].cost.seconds += r.cost.seconds;
	sums[engine].cost.idx_read += r.cost.idx_read;
	sums[engine].cost.device += r.cost.device;
	sums[engine].cost.written += r.cost.written;
	sums[engine].cost.wal += r.cost.wal;
}

/* All engines and "none" in turn, forwards in odd rounds, backwards in even */
static int
engine_of_turn(int round, int turn)
{
	int			nth = round % 2 ? turn : nengines - turn;

	return nth == nengines ? NONE : nth;
}

static double
ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void
print_sums(const char *phase)
{
	Result	   *none = &sums[NONE];

	printf("\n%s, less what the table without index costs:\n"
		   "engine          rows/s   (x)     read/row   (1/x)   device/row"
		   "   (1/x)  written/row   (1/x)   WAL B/row   (1/x)\n", phase);
	for (int e = 0; e < nengines; e++)
	{
		double		v[2][5];

		for (int k = 0; k < 2; k++)
		{
			Result	   *r = &sums[k == 0 ? e : 0];

			v[k][0] = r->ops / r->cost.seconds;
			v[k][1] = r->cost.idx_read / r->ops;
			v[k][2] = r->cost.device / r->ops - none->cost.device / none->ops;
			v[k][3] = r->cost.written / r->ops - none->cost.written / none->ops;
			v[k][4] = r->cost.wal / r->ops - none->cost.wal / none->ops;
		}
		printf("%-10s %11.0f %6.2f %11.4f %7.1f %12.4f %7.1f %12.4f %7.1f %11.1f %7.1f\n",
			   engine_name(e), v[0][0], v[0][0] / v[1][0],
			   v[0][1], ratio(v[1][1], v[0][1]),
			   v[0][2], ratio(v[1][2], v[0][2]),
			   v[0][3], ratio(v[1][3], v[0][3]),
			   v[0][4], ratio(v[1][4], v[0][4]));
	}
	printf("\n");
	memset(sums, 0, sizeof(sums));
}

static void
create_tables(void)
{
	char	   *columns = replace("CREATE TABLE @table (@columns)", "@columns",
								  work->columns);

	for (int e = 0; e <= nengines; e++)
	{
		int			engine = e == nengines ? NONE : e;

		run_for("DROP TABLE IF EXISTS @table", engine);
		run_for(columns, engine);
	}
	free(columns);
}

static void
load(void)
{
	if (work->load_timed)
	{
		for (int e = 0; e < nengines; e++)
			create_index(e);
		for (int round = 1; round <= options.rounds; round++)
		{
			int64		first = next_row;
			int64		last = options.rows * round / options.rounds;

			for (int turn = 0; turn <= nengines; turn++)
				timed_inserts("load", work->load, round,
							  engine_of_turn(round, turn), first, last);
			next_row = last + 1;
		}
		print_sums("load");
		return;
	}
	for (int e = 0; e < nengines; e++)
	{
		double		start = now();

		insert_rows(work->load, e, 1, options.rows, LOAD_BATCH, 0, NULL);
		printf("loaded %s in %.1f s\n", engine_name(e), now() - start);
		create_index(e);
	}
	next_row = options.rows + 1;
}

static void
warm(void)
{
	/* more than the buffers hold: a fifth of the leaves' rows */
	int64		n = options.warm >= 0 ? options.warm : options.rows / 5;

	for (int e = 0; e < nengines && n > 0; e++)
	{
		double		start = now();

		insert_rows(insert_text(e), e, next_row, next_row + n - 1,
					options.batch > 1000 ? options.batch : 1000, 0, NULL);
		printf("warmed %s by %lld rows in %.1f s\n", engine_name(e), n,
			   now() - start);
		fflush(stdout);
	}
	next_row += n;
	for (int e = 0; e < nengines; e++)
		run_for("VACUUM ANALYZE @table", e);
}

/*
 * Which part of the indexes of a table are fingerprints of keys?  Read before
 * any limit is set, for it looks at each page.
 */
static void
print_fingerprints(int engine)
{
	static const char *const sql =
		"SELECT coalesce(100.0 * count(*) FILTER (WHERE kind IN ('filter', 'bloom'))"
		" / nullif(count(*), 0), 0)"
		" FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
		" JOIN pg_am a ON a.oid = c.relam AND a.amname = 'betree',"
		" generate_series(1, pg_relation_size(c.oid) / 8192 - 1) b,"
		" betree_node_info(c.oid, b)"
		" WHERE i.indrelid = '@table'::regclass";
	double		percent = number_for(sql, engine);

	if (percent > 0)
		printf("%s: %.2f %% of the index are fingerprints\n", engine_name(engine), percent);
	fflush(stdout);
}

/* Messages that an engine's index has moved to leaves, in how many writes */
typedef struct Flushes
{
	double		messages;
	double		writes;
} Flushes;

/* Read before any limit is set: the function walks over the whole index */
static Flushes flushes_before[MAX_ENGINES];

/*
 * Messages that the indexes of a table have moved to leaves, and in how many
 * writes of leaves; zero without a betree index.
 */
static void
read_flushes(int engine, Flushes *flushes)
{
	char	   *sql = sql_for("SELECT coalesce(sum(messages), 0) || ' ' ||"
							  " coalesce(sum(messages /"
							  " nullif(messages_per_leaf_write, 0)), 0)"
							  " FROM pg_index i, pg_class c, pg_am a,"
							  " betree_index_stats(c.oid) s"
							  " WHERE i.indrelid = '@table'::regclass"
							  " AND c.oid = i.indexrelid AND a.oid = c.relam"
							  " AND a.amname = 'betree'", engine);
	char	   *value = run(sql);

	if (value == NULL ||
		sscanf(value, "%lf %lf", &flushes->messages, &flushes->writes) != 2)
		die("unexpected answer of betree_index_stats()");
	free(value);
	free(sql);
}

static void
measure_inserts(void)
{
	for (int round = 1; round <= options.rounds; round++)
	{
		int64		n = options.inserts / options.rounds;

		for (int turn = 0; turn <= nengines; turn++)
		{
			int			engine = engine_of_turn(round, turn);

			timed_inserts("insert", insert_text(engine), round, engine,
						  next_row, next_row + n - 1);
		}
		next_row += n;
	}
	print_sums("insert");
	for (int e = 0; e < nengines; e++)
	{
		Flushes		after;
		double		messages;
		double		writes;

		read_flushes(e, &after);
		messages = after.messages - flushes_before[e].messages;
		writes = after.writes - flushes_before[e].writes;
		if (writes > 0)
			printf("%s: %.0f messages moved to leaves in %.0f writes, %.1f a write\n\n",
				   engine_name(e), messages, writes, messages / writes);
	}
}

/* Ask all engines the same questions, one query kind after the other */
static void
measure_queries(int round)
{
	for (const Query *query = work->queries; query->name; query++)
	{
		char	  **answers;

		if (query->engine ||
			(options.query && strcmp(options.query, query->name) != 0))
			continue;
		answers = calloc(options.queries, sizeof(char *));
		for (int e = 0; e < nengines; e++)
		{
			const Query *mine = query;
			Result		r = {.phase = query->name,.round = round,.engine = e};
			Counters	before;
			double		start;

			while (!query_fits(mine, e) || strcmp(mine->name, query->name) != 0)
				mine++;
			run_for(mine->setting, e);
			prepare("q", mine->sql, e);
			read_counters(e, &before);
			start = now();
			for (int64 i = 0; i < options.queries; i++)
			{
				char	   *answer = execute("q", 1, query_number(i), 0,
											 &r.latencies);

				if (e == 0)
					answers[i] = answer;
				else
				{
					if (strcmp(answer, answers[i]) != 0)
					{
						printf("DIFFERENT ANSWERS to %s(%lld): %s \"%s\", %s \"%s\"\n",
							   query->name, query_number(i), engine_name(0),
							   answers[i], engine_name(e), answer);
						failures++;
					}
					free(answer);
				}
			}
			r.ops = options.queries;
			add_cost(&r, &before, start);
			report(&r);
			free(r.latencies.us);
			free(run("DEALLOCATE q"));
			free(run("RESET ALL"));
		}

		/* the first engine against its own table without index */
		free(run("SET enable_indexscan = off; SET enable_bitmapscan = off;"
				 " SET enable_indexonlyscan = off"));
		for (const Query *mine = query; options.verify; mine++)
		{
			if (!query_fits(mine, 0) || strcmp(mine->name, query->name) != 0)
				continue;
			prepare("q", mine->sql, 0);
			for (int64 i = 0; i < options.verify && i < options.queries; i++)
			{
				char	   *answer = execute("q", 1, query_number(i), 0, NULL);

				if (strcmp(answer, answers[i]) != 0)
				{
					printf("DIFFERENT FROM THE TABLE: %s(%lld): %s \"%s\", sequential scan \"%s\"\n",
						   query->name, query_number(i), engine_name(0),
						   answers[i], answer);
					failures++;
				}
				free(answer);
			}
			free(run("DEALLOCATE q"));
			break;
		}
		free(run("RESET ALL"));
		for (int64 i = 0; i < options.queries; i++)
			free(answers[i]);
		free(answers);
	}
}

/* Inserts one by one with queries between them, each with its latencies */
static void
measure_mixed(void)
{
	for (int e = 0; e < nengines; e++)
	{
		Result		r[MAX_QUERIES + 1] = {{.phase = "mixed_insert",.engine = e}};
		Counters	before;
		double		start;
		int			nkinds = 0;

		run_for(work->queries[0].setting, e);
		prepare("ins", insert_text(e), e);
		for (const Query *q = work->queries; q->name; q++)
		{
			char		name[16];

			snprintf(name, sizeof(name), "q%d", nkinds++);
			prepare(name, q->sql, e);
			r[nkinds].phase = q->name;
			r[nkinds].engine = e;
		}
		free(run("CHECKPOINT"));
		read_counters(e, &before);
		start = now();
		for (int64 i = 0; i < options.queries; i++)
		{
			char		name[16];
			int			kind = i % nkinds;

			free(execute("ins", 2, next_row + i, next_row + i,
						 &r[0].latencies));
			snprintf(name, sizeof(name), "q%d", kind);
			free(execute(name, 1, query_number(i), 0, &r[kind + 1].latencies));
		}
		r[0].ops = options.queries;
		add_cost(&r[0], &before, start);
		for (int k = 0; k <= nkinds; k++)
		{
			r[k].ops = k == 0 ? options.queries : options.queries / nkinds;
			r[k].cost = r[0].cost;
			report(&r[k]);
			free(r[k].latencies.us);
		}
		free(run("DEALLOCATE ALL"));
		free(run("RESET ALL"));
	}
	next_row += options.queries;
}

/* Delete a fifth, vacuum, insert as many, again and again */
static void
measure_aging(void)
{
	for (int cycle = 1; cycle <= options.cycles; cycle++)
	{
		int64		n = options.rows / 5;

		for (int e = 0; e < nengines; e++)
		{
			char		sql[256];
			double		start = now();

			snprintf(sql, sizeof(sql), "DELETE FROM @table WHERE v IN (SELECT v"
					 " FROM @table ORDER BY hashint8extended(v, %d) LIMIT %lld)",
					 cycle, n);
			run_for(sql, e);
			run_for("VACUUM @table", e);
			insert_rows(work->load, e, next_row, next_row + n - 1,
						options.batch, 0, NULL);
			printf("cycle %d of %s: %.1f s\n", cycle, engine_name(e),
				   now() - start);
		}
		next_row += n;
		if (cycle == 1 || cycle == options.cycles)
		{
			for (int e = 0; e < nengines; e++)
				run_for("VACUUM @table", e);
			measure_queries(cycle);
		}
	}

	/* what the remedies of a btree bring */
	for (int e = 0; e < nengines; e++)
		run_for("REINDEX TABLE @table", e);
	printf("after REINDEX:\n");
	measure_queries(options.cycles + 1);
}

static void
print_settings(void)
{
	static const char *const names[] = {
		"server_version", "shared_buffers", "max_wal_size",
		"checkpoint_timeout", "full_page_writes", "wal_compression", "fsync",
		"synchronous_commit", "effective_io_concurrency"
	};

	printf("workload %s: %s\n%lld rows, %lld inserts in statements of %lld,"
		   " %lld rounds, with (%s)\n", work->name, work->about, options.rows,
		   options.inserts, options.batch, options.rounds, options.with);
	for (int i = 0; i < ARRAY_LENGTH(names); i++)
	{
		char		sql[128];
		char	   *value;

		snprintf(sql, sizeof(sql), "SHOW %s", names[i]);
		value = run(sql);
		printf("%s%s = %s", i ? ", " : "", names[i], value);
		free(value);
	}
	printf("\n\n");
	fflush(stdout);
}

/* All options: a number or a text, and what it is for */
static const struct
{
	const char *name;
	int64	   *number;
	const char **string;
	const char *about;
}			option_list[] = {
	{"rows", &options.rows, NULL, "rows before the clock"},
	{"warm", &options.warm, NULL, "rows to fill the buffers with; -1: a fifth of --rows"},
	{"inserts", &options.inserts, NULL, "rows inside the clock"},
	{"batch", &options.batch, NULL, "rows per statement; 1 for latencies of rows"},
	{"rounds", &options.rounds, NULL, "turns of each engine"},
	{"sessions", &options.sessions, NULL, "connections that insert at the same time"},
	{"queries", &options.queries, NULL, "queries of each kind"},
	{"cycles", &options.cycles, NULL, "cycles of workload aging"},
	{"verify", &options.verify, NULL, "answers to compare with sequential scans"},
	{"max-seconds", &options.max_seconds, NULL, "end a turn early, and ask no queries"},
	{"keep", &options.keep, NULL, "1: leave the tables"},
	{"reuse", &options.reuse, NULL, "go on with this row in tables left by --keep=1"},
	{"with", NULL, &options.with, "storage parameters of betree, as log_pages=20"},
	{"engines", NULL, &options.only, "only these, with commas between"},
	{"points", NULL, &options.points, "file of places for workload geo"},
	{"query", NULL, &options.query, "only queries of this kind"},
	{"before-clock", NULL, &options.before_clock, "shell command to run after load and warm-up"},
	{"csv", NULL, &options.csv, "append a line for each measurement to this file"},
};

static void
usage(int status)
{
	printf("usage: betree_bench [--option=value ...] WORKLOAD\n\n");
	for (int i = 0; i < ARRAY_LENGTH(option_list); i++)
	{
		printf("  --%-13s %s", option_list[i].name, option_list[i].about);
		if (option_list[i].number)
			printf(" (%lld)", *option_list[i].number);
		printf("\n");
	}
	printf("\nworkloads:\n");
	for (int i = 0; i < ARRAY_LENGTH(workloads); i++)
		printf("  %-10s %s\n", workloads[i].name, workloads[i].about);
	exit(status);
}

/* Read the options; returns the name of the workload. */
static const char *
read_options(int argc, char **argv)
{
	struct option names[ARRAY_LENGTH(option_list) + 2] = {{"help", no_argument}};
	int			nth;
	int			c;

	for (int i = 0; i < ARRAY_LENGTH(option_list); i++)
	{
		names[i + 1].name = option_list[i].name;
		names[i + 1].has_arg = required_argument;
	}
	while ((c = getopt_long(argc, argv, "", names, &nth)) != -1)
	{
		if (c == '?' || nth == 0)
			usage(c == '?' ? 2 : 0);
		if (option_list[nth - 1].number)
			*option_list[nth - 1].number = atoll(optarg);
		else
			*option_list[nth - 1].string = optarg;
	}
	if (optind != argc - 1 || options.rows < 1 || options.batch < 1 ||
		options.rounds < 1 || options.inserts < options.rounds ||
		options.sessions < 1 || options.sessions > MAX_SESSIONS)
		usage(2);
	return argv[optind];
}

/* A copy of the workload with the engines of --engines only */
static const Workload *
choose_workload(const char *name)
{
	static Workload chosen;

	for (int i = 0; i < ARRAY_LENGTH(workloads); i++)
	{
		if (strcmp(workloads[i].name, name) != 0)
			continue;
		chosen = workloads[i];
		memset(chosen.engines, 0, sizeof(chosen.engines));
		for (int e = 0; e < MAX_ENGINES && workloads[i].engines[e].name; e++)
		{
			const char *engine = workloads[i].engines[e].name;
			const char *hit = options.only ? strstr(options.only, engine) : NULL;
			size_t		length = strlen(engine);

			if (!options.only ||
				(hit && (hit == options.only || hit[-1] == ',') &&
				 (hit[length] == '\0' || hit[length] == ',')))
				chosen.engines[nengines++] = workloads[i].engines[e];
		}
		if (nengines == 0)
			die("no engine \"%s\" in workload %s", options.only, name);
		return &chosen;
	}
	die("no workload \"%s\" (--help lists them)", name);
	return NULL;
}

static void
open_csv(void)
{
	if (options.csv == NULL)
		return;
	csv = fopen(options.csv, "a");
	if (csv == NULL)
		die("could not open \"%s\": %s", options.csv, strerror(errno));
	if (ftell(csv) == 0)
		fprintf(csv, "workload,engine,phase,round,ops,seconds,ops_per_second,"
				"index_blocks_read,index_blocks_hit,blocks_written,wal_bytes,"
				"p50_us,p95_us,p99_us,p999_us,max_us,index_bytes,"
				"device_blocks_read\n");
}

int
main(int argc, char **argv)
{
	work = choose_workload(read_options(argc, argv));
	conn = PQconnectdb("");
	if (PQstatus(conn) != CONNECTION_OK)
		die("%s", PQerrorMessage(conn));
	sessions[0] = conn;
	if (PQserverVersion(conn) < work->min_version)
		die("workload %s needs PostgreSQL %d", work->name, work->min_version / 10000);
	find_postmaster();
	free(run("SET client_min_messages = warning"));
	free(run("CREATE EXTENSION IF NOT EXISTS ecp"));
	open_csv();
	print_settings();

	if (work->needs_points)
		load_points();
	if (options.reuse)
		next_row = options.reuse;
	else
	{
		create_tables();
		load();
	}
	warm();
	for (int e = 0; e < nengines; e++)
	{
		read_flushes(e, &flushes_before[e]);
		print_fingerprints(e);
	}
	if (options.before_clock && system(options.before_clock) != 0)
		die("\"%s\" failed", options.before_clock);
	if (work->aging)
		measure_aging();
	else
	{
		measure_inserts();
		for (int e = 0; e < nengines; e++)
			run_for("VACUUM @table", e);
		if (options.max_seconds == 0)
			measure_queries(1);
	}
	if (work->mixed)
		measure_mixed();

	for (int e = 0; e <= nengines && !options.keep; e++)
		run_for("DROP TABLE @table", e == nengines ? NONE : e);
	PQfinish(conn);
	if (failures)
		printf("%d ANSWERS DIFFER\n", failures);
	return failures ? 1 : 0;
}
