/*-------------------------------------------------------------------------
 *
 * bench_server.c
 *	  What ecpbench does with the server: loading, building, searching.
 *
 * Vectors travel as binary parameters of prepared statements and by binary
 * COPY, so that no text is parsed while the clock runs.  The plan of each
 * search is checked before it is measured: it must use the index.
 *
 *-------------------------------------------------------------------------
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define STATEMENT		"ecpbench"
#define SQL_SIZE		2048
#define FLOAT4_OID		700

/* Bytes that one vector can take in binary form, without its elements. */
#define VECTOR_OVERHEAD	32

/* How often the memory of a backend is looked at. */
#define SAMPLE_MS		10

const char *const column_type_names[] = {"bytea", "real[]", "vector",
"halfvec"};

/* ---- queries ---- */

PGconn *
server_connect(const Run *run)
{
	PGconn	   *conn = PQconnectdb(run->conninfo);

	if (PQstatus(conn) != CONNECTION_OK)
		die("%s", PQerrorMessage(conn));
	server_execute(conn, "SET client_min_messages = warning");
	server_execute(conn, "SET plan_cache_mode = force_generic_plan");
	server_settings(conn, run->settings);
	return conn;
}

static PGresult *
query_formatted(PGconn *conn, const char *format, va_list args)
{
	char		sql[SQL_SIZE];
	PGresult   *result;

	vsnprintf(sql, sizeof(sql), format, args);
	result = PQexec(conn, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		PQresultStatus(result) != PGRES_COMMAND_OK &&
		PQresultStatus(result) != PGRES_COPY_IN)
		die("%sin: %s", PQerrorMessage(conn), sql);
	return result;
}

PGresult *
server_query(PGconn *conn, const char *format,...)
{
	va_list		args;
	PGresult   *result;

	va_start(args, format);
	result = query_formatted(conn, format, args);
	va_end(args);
	return result;
}

void
server_execute(PGconn *conn, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	PQclear(query_formatted(conn, format, args));
	va_end(args);
}

/* The first value of a query's answer; "" if there is none. */
void
server_value(PGconn *conn, char *value, size_t size, const char *format,...)
{
	va_list		args;
	PGresult   *result;

	va_start(args, format);
	result = query_formatted(conn, format, args);
	va_end(args);
	snprintf(value, size, "%s",
			 PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
}

/* Carry out "name=value,name=value". */
void
server_settings(PGconn *conn, const char *settings)
{
	char		copy[TEXT_SIZE];
	char	   *rest = copy;
	char	   *item;

	snprintf(copy, sizeof(copy), "%s", settings ? settings : "");
	while ((item = strsep(&rest, ",")) != NULL)
	{
		char	   *value = strchr(item, '=');

		if (value == NULL)
			continue;
		*value++ = '\0';
		server_execute(conn, "SET %s = '%s'", item, value);
	}
}

/* Create the extensions that have the method; false if one is missing. */
bool
method_is_available(PGconn *conn, const Method *method)
{
	bool		is_ecp = strcmp(method->access_method, "ecp") == 0;
	const char *extension = "vector";
	char		found[8];

	if (method->type < COLUMN_VECTOR)
		extension = "ecp";
	else if (is_ecp)
		extension = "ecp_pgvector";
	else if (strcmp(method->access_method, "vchordrq") == 0)
		extension = "vchord";

	/* ecp_pgvector is there with ecp, but cannot be created without vector */
	server_value(conn, found, sizeof(found),
				 "SELECT bool_and(wanted IN (SELECT name FROM pg_available_extensions))"
				 " FROM unnest('{%s,%s}'::name[]) AS wanted",
				 extension, method->type >= COLUMN_VECTOR ? "vector" : extension);
	if (found[0] != 't')
		return false;
	server_execute(conn, "CREATE EXTENSION IF NOT EXISTS %s CASCADE", extension);
	/* for the settings */
	if (is_ecp)
		server_execute(conn, "LOAD 'ecp'");
	else if (method->type >= COLUMN_VECTOR)
		server_execute(conn, "LOAD 'vector'");
	return true;
}

/* ---- binary forms ---- */

static char *
put_int32(char *to, int32_t value)
{
	uint32_t	network = htonl((uint32_t) value);

	memcpy(to, &network, sizeof(network));
	return to + sizeof(network);
}

static char *
put_int16(char *to, int16_t value)
{
	uint16_t	network = htons((uint16_t) value);

	memcpy(to, &network, sizeof(network));
	return to + sizeof(network);
}

static char *
put_float(char *to, float value)
{
	int32_t		bits;

	memcpy(&bits, &value, sizeof(bits));
	return put_int32(to, bits);
}

/* The bits of a float16 of this value, which it must have exactly. */
static uint16_t
half_bits(float value)
{
	_Float16	half = (_Float16) value;
	uint16_t	bits;

	if ((float) half != value)
		die("%g is not a float16: see convert.py half", value);
	memcpy(&bits, &half, sizeof(bits));
	return bits;
}

/* Binary form of a vector as a value of "type"; returns its length. */
static int
put_vector(char *to, ColumnType type, const Matrix *matrix, const void *row)
{
	char	   *start = to;
	int			dims = matrix->dims;

	switch (type)
	{
		case COLUMN_BYTEA:
			if (!matrix->is_bytes)
				die("a bytea column takes vectors of uint8 only");
			memcpy(to, row, dims);
			return dims;
		case COLUMN_REAL:
			to = put_int32(to, 1);	/* dimensions of the array */
			to = put_int32(to, 0);	/* no nulls */
			to = put_int32(to, FLOAT4_OID);
			to = put_int32(to, dims);
			to = put_int32(to, 1);	/* lower bound */
			break;
		case COLUMN_VECTOR:
		case COLUMN_HALFVEC:
			to = put_int16(to, dims);
			to = put_int16(to, 0);
			break;
	}

	for (int i = 0; i < dims; i++)
	{
		float		value = matrix->is_bytes ? ((const uint8_t *) row)[i] :
			((const float *) row)[i];

		if (type == COLUMN_REAL)
			to = put_int32(to, sizeof(float));
		to = type == COLUMN_HALFVEC ? put_int16(to, half_bits(value)) :
			put_float(to, value);
	}

	return to - start;
}

static size_t
vector_room(const Matrix *matrix)
{
	return VECTOR_OVERHEAD + (size_t) matrix->dims * 2 * sizeof(float);
}

/* ---- loading ---- */

/*
 * Send rows "first" .. of "order" by binary COPY.  Copies after the first
 * have each byte moved by up to 2, so that no two rows are equal.
 */
static void
copy_rows(const Run *run, PGconn *conn, const char *table, ColumnType type,
		  const long *order, long first, long rows)
{
	static const char header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";
	char	   *line = allocate(vector_room(&run->base) + 64);
	uint8_t    *noisy = allocate(run->base.dims * sizeof(float));
	unsigned	state = 1;
	PGresult   *result;

	server_execute(conn, "COPY %s (id, v) FROM STDIN (FORMAT binary)", table);
	if (PQputCopyData(conn, header, 19) != 1)
		die("%s", PQerrorMessage(conn));

	for (long i = first; i < first + rows; i++)
	{
		long		row = order[i];
		const void *vector = matrix_row(&run->base, row % run->base.rows);
		char	   *to = line;
		char	   *length;

		if (row >= run->base.rows && run->base.is_bytes)
		{
			for (int d = 0; d < run->base.dims; d++)
			{
				int			value;

				state = state * 1664525u + 1013904223u;
				value = ((const uint8_t *) vector)[d] + (int) (state >> 24) % 5 - 2;
				noisy[d] = Max(0, Min(255, value));
			}
			vector = noisy;
		}

		to = put_int16(to, 2);
		to = put_int32(to, sizeof(int32_t));
		to = put_int32(to, row);
		length = to;
		to += sizeof(int32_t);
		to += put_vector(to, type, &run->base, vector);
		put_int32(length, to - length - sizeof(int32_t));
		if (PQputCopyData(conn, line, to - line) != 1)
			die("%s", PQerrorMessage(conn));
		if (i % 1000 == 999)
			progress(table, i + 1 - first, rows);
	}

	put_int16(line, -1);
	if (PQputCopyData(conn, line, 2) != 1 || PQputCopyEnd(conn, NULL) != 1)
		die("%s", PQerrorMessage(conn));
	while ((result = PQgetResult(conn)) != NULL)
	{
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			die("%s", PQerrorMessage(conn));
		PQclear(result);
	}
	progress(table, 1, 1);

	free(line);
	free(noisy);
}

static void
table_create(const Run *run, PGconn *conn, const char *table,
			 ColumnType type)
{
	char		column[NAME_SIZE];

	if (type >= COLUMN_VECTOR)
		snprintf(column, sizeof(column), "%s(%d)", column_type_names[type],
				 run->base.dims);
	else
		snprintf(column, sizeof(column), "%s", column_type_names[type]);
	server_execute(conn, "CREATE TABLE %s (id integer, v %s)", table, column);
}

/*
 * Make the table of this data, or keep the one that is there if its comment
 * says that it holds the same.
 */
void
table_load(const Run *run, PGconn *conn, const char *table, ColumnType type)
{
	long		rows = run->base.rows * run->repeat;
	char		comment[TEXT_SIZE];
	char		existing[TEXT_SIZE];
	long	   *order;

	snprintf(comment, sizeof(comment), "ecpbench: %s, %ld rows, shuffle %llu",
			 run->data_name, rows, (unsigned long long) run->shuffle);
	server_value(conn, existing, sizeof(existing),
				 "SELECT obj_description(to_regclass('%s'), 'pg_class')",
				 table);
	if (strcmp(comment, existing) == 0)
		return;

	server_execute(conn, "DROP TABLE IF EXISTS %s", table);
	table_create(run, conn, table, type);
	order = shuffled_order(rows, run->shuffle);
	copy_rows(run, conn, table, type, order, 0, rows);
	free(order);
	server_execute(conn, "ALTER TABLE %s ADD PRIMARY KEY (id)", table);
	server_execute(conn, "VACUUM (ANALYZE, FREEZE) %s", table);
	server_execute(conn, "COMMENT ON TABLE %s IS '%s'", table, comment);
}

void
queries_load(const Run *run, PGconn *conn, ColumnType type, char *table,
			 size_t size)
{
	Run			queries = *run;

	queries.base = run->queries;
	queries.repeat = 1;
	queries.shuffle = 0;
	snprintf(table, size, "ecpbench_queries_%.*s",
			 (int) strcspn(column_type_names[type], "["),
			 column_type_names[type]);
	table_load(&queries, conn, table, type);
}

/* ---- building ---- */

/* Anonymous memory of a process of this machine in kB, or 0. */
static long
anonymous_kb(int pid)
{
	char		path[64];
	char		line[128];
	long		kb = 0;
	FILE	   *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file))
	{
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			break;
	}
	fclose(file);
	return kb;
}

/* Seconds that a process of this machine has been on a processor, or 0. */
double
cpu_seconds(int pid)
{
	char		path[64];
	double		nanoseconds = 0;
	FILE	   *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%lf", &nanoseconds) != 1)
		nanoseconds = 0;
	fclose(file);
	return nanoseconds * 1e-9;
}

/* Show how far CREATE INDEX has come, as seen by another connection. */
static void
build_progress(PGconn *watcher, const Method *method)
{
	PGresult   *result;

	result = server_query(watcher,
						  "SELECT phase, greatest(tuples_done, blocks_done), "
						  "greatest(tuples_total, blocks_total) "
						  "FROM pg_stat_progress_create_index LIMIT 1");
	if (PQntuples(result) == 1)
	{
		char		what[TEXT_SIZE];

		snprintf(what, sizeof(what), "%.40s: %s", method->label,
				 PQgetvalue(result, 0, 0));
		progress(what, atof(PQgetvalue(result, 0, 1)),
				 atof(PQgetvalue(result, 0, 2)));
	}
	PQclear(result);
}

/* Run a statement and sample the memory of the backend that works on it. */
static long
execute_watched(const Run *run, PGconn *conn, const Method *method,
				const char *sql)
{
	PGconn	   *watcher = server_connect(run);
	int			pid = PQbackendPID(conn);
	long		peak_kb = 0;
	int			samples = 0;
	PGresult   *result;

	if (PQsendQuery(conn, sql) != 1)
		die("%s", PQerrorMessage(conn));

	while (PQconsumeInput(conn) && PQisBusy(conn))
	{
		struct pollfd wait = {PQsocket(conn), POLLIN, 0};

		poll(&wait, 1, SAMPLE_MS);
		peak_kb = Max(peak_kb, anonymous_kb(pid));
		if (++samples % 50 == 0)
			build_progress(watcher, method);
	}

	while ((result = PQgetResult(conn)) != NULL)
	{
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			die("%sin: %s", PQerrorMessage(conn), sql);
		PQclear(result);
	}
	progress(method->label, 1, 1);
	PQfinish(watcher);
	return peak_kb;
}

/* Operator class of a method for its column type and the metric. */
static const char *
operator_class(const Method *method, Metric metric)
{
	static const char *const names[][4] = {
		{"bytea_l2_ops", "bytea_ip_ops", "bytea_cosine_ops", "none"},
		{"real_l2_ops", "real_ip_ops", "real_cosine_ops", "real_l1_ops"},
		{"vector_l2_ops", "vector_ip_ops", "vector_cosine_ops", "vector_l1_ops"},
		{"halfvec_l2_ops", "halfvec_ip_ops", "halfvec_cosine_ops", "halfvec_l1_ops"}
	};

	return names[method->type][metric];
}

/*
 * Build the method's index, or take the one that is there, and say what it
 * cost.
 */
void
index_build(const Run *run, const Method *method, BuildCost *cost)
{
	PGconn	   *conn = server_connect(run);
	char		value[TEXT_SIZE];
	char		lsn[NAME_SIZE];
	char		sql[SQL_SIZE];
	double		start;
	double		cpu_start;
	bool		again = run->rebuild != NULL &&
		(run->rebuild[0] == '\0' ||
		 strcmp(run->rebuild, method->access_method) == 0);

	server_execute(conn,
				   "CREATE TABLE IF NOT EXISTS ecpbench_build (index text PRIMARY KEY, "
				   "label text, seconds float8, cpu_seconds float8, peak_kb bigint, wal float8, bytes float8)");
	server_value(conn, value, sizeof(value),
				 "SELECT 1 FROM ecpbench_build WHERE index = '%s' "
				 "AND to_regclass(index) IS NOT NULL", method->index);

	if (value[0] == '\0' || again)
	{
		memset(cost, 0, sizeof(*cost));
		server_execute(conn, "DROP INDEX IF EXISTS %s", method->index);
		server_execute(conn, "DELETE FROM ecpbench_build WHERE index = '%s'",
					   method->index);
		server_execute(conn, "CHECKPOINT");
		server_settings(conn, method->settings);
		snprintf(sql, sizeof(sql), "CREATE INDEX %s ON %s USING %s (v %s)%s%s%s",
				 method->index, method->table, method->access_method,
				 operator_class(method, run->metric),
				 method->with[0] ? " WITH (" : "", method->with,
				 method->with[0] ? ")" : "");

		server_value(conn, lsn, sizeof(lsn), "SELECT pg_current_wal_insert_lsn()");
		start = seconds_now();
		cpu_start = cpu_seconds(PQbackendPID(conn));
		cost->peak_kb = execute_watched(run, conn, method, sql);
		cost->seconds = seconds_now() - start;
		cost->cpu_seconds = cpu_seconds(PQbackendPID(conn)) - cpu_start;
		server_value(conn, value, sizeof(value),
					 "SELECT pg_current_wal_insert_lsn() - '%s'::pg_lsn", lsn);
		cost->wal_bytes = atof(value);
		server_value(conn, value, sizeof(value), "SELECT pg_relation_size('%s')",
					 method->index);
		cost->index_bytes = atof(value);
		server_execute(conn,
					   "INSERT INTO ecpbench_build (index, label, seconds, cpu_seconds, peak_kb, wal, bytes) "
					   "VALUES ('%s', $q$%s$q$, %g, %g, %ld, %.0f, %.0f)",
					   method->index, method->label, cost->seconds,
					   cost->cpu_seconds, cost->peak_kb, cost->wal_bytes, cost->index_bytes);
	}
	else
	{
		PGresult   *result;

		result = server_query(conn,
							  "SELECT seconds, peak_kb, wal, bytes, cpu_seconds FROM ecpbench_build WHERE index = '%s'",
							  method->index);
		cost->seconds = atof(PQgetvalue(result, 0, 0));
		cost->peak_kb = atol(PQgetvalue(result, 0, 1));
		cost->wal_bytes = atof(PQgetvalue(result, 0, 2));
		cost->index_bytes = atof(PQgetvalue(result, 0, 3));
		cost->cpu_seconds = atof(PQgetvalue(result, 0, 4));
		cost->is_old = true;
		PQclear(result);
	}

	PQfinish(conn);
}

/*
 * Hide every index of the method's table but its own from the planner.
 * Several indexes over one column cannot be chosen between by a setting, and
 * dropping the others would throw away minutes of building.
 */
void
index_only(PGconn *conn, const Method *method)
{
	const char *index = method->index[0] ? method->index : "pg_class";

	server_execute(conn,
				   "UPDATE pg_index SET indisvalid = (indexrelid = '%s'::regclass) "
				   "WHERE indrelid = '%s'::regclass AND NOT indisprimary "
				   "AND indisvalid <> (indexrelid = '%s'::regclass)",
				   index, method->table, index);
}

/* ---- inserting ---- */

/*
 * Single-row inserts into an index over the first "before" rows: a table of
 * its own, because other indexes would be paid for, too.
 */
void
insert_measure(const Run *run, const Method *method, long before,
			   long inserts, double *per_second, double *wal_bytes)
{
	PGconn	   *conn = server_connect(run);
	const char *table = "ecpbench_insert";
	long	   *order = shuffled_order(run->base.rows, 1);
	char	   *vector = allocate(vector_room(&run->base));
	char		lsn[NAME_SIZE];
	char		value[NAME_SIZE];
	double		start;

	if (before + inserts > run->base.rows)
		die("not enough rows for inserts");

	server_execute(conn, "DROP TABLE IF EXISTS %s", table);
	table_create(run, conn, table, method->type);
	copy_rows(run, conn, table, method->type, order, 0, before);
	server_settings(conn, method->settings);
	if (method->index[0])
		server_execute(conn, "CREATE INDEX ON %s USING %s (v %s)%s%s%s", table,
					   method->access_method,
					   operator_class(method, run->metric),
					   method->with[0] ? " WITH (" : "", method->with,
					   method->with[0] ? ")" : "");
	/* so that WAL has the images of pages after a checkpoint for all alike */
	server_execute(conn, "CHECKPOINT");
	server_execute(conn, "PREPARE ecpbench_insert (integer, %s) AS "
				   "INSERT INTO %s VALUES ($1, $2)",
				   column_type_names[method->type], table);

	server_value(conn, lsn, sizeof(lsn), "SELECT pg_current_wal_insert_lsn()");
	start = seconds_now();
	server_execute(conn, "BEGIN");
	for (long i = before; i < before + inserts; i++)
	{
		char		id[sizeof(int32_t)];
		const char *values[2] = {id, vector};
		int			lengths[2] = {sizeof(id), 0};
		int			formats[2] = {1, 1};
		PGresult   *result;

		put_int32(id, order[i]);
		lengths[1] = put_vector(vector, method->type, &run->base,
								matrix_row(&run->base, order[i]));
		result = PQexecPrepared(conn, "ecpbench_insert", 2, values, lengths,
								formats, 1);
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			die("%s", PQerrorMessage(conn));
		PQclear(result);
		if (i % 100 == 0)
			progress("inserts", i - before, inserts);
	}
	server_execute(conn, "COMMIT");
	*per_second = inserts / (seconds_now() - start);
	server_value(conn, value, sizeof(value),
				 "SELECT pg_current_wal_insert_lsn() - '%s'::pg_lsn", lsn);
	*wal_bytes = atof(value) / inserts;
	progress("inserts", 1, 1);

	server_execute(conn, "DROP TABLE %s", table);
	free(order);
	free(vector);
	PQfinish(conn);
}

/* ---- searching ---- */

/* Die if the statement that will be measured does not use the index. */
static void
search_check_plan(PGconn *conn, const Method *method)
{
	PGresult   *result;
	char	   *sql;
	bool		found = false;

	result = server_query(conn, "SELECT quote_literal(v::text) FROM %s LIMIT 1",
						  method->table);
	if (PQntuples(result) == 0)
		die("table %s is empty", method->table);
	/* a vector in text can be long */
	if (asprintf(&sql, "EXPLAIN (COSTS OFF) EXECUTE " STATEMENT " (%s)",
				 PQgetvalue(result, 0, 0)) < 0)
		die("out of memory");
	PQclear(result);
	result = PQexec(conn, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	free(sql);

	for (int i = 0; i < PQntuples(result); i++)
	{
		if (strstr(PQgetvalue(result, i, 0), method->index))
			found = true;
	}
	if (!found)
	{
		for (int i = 0; i < PQntuples(result); i++)
			fprintf(stderr, "%s\n", PQgetvalue(result, i, 0));
		die("the plan does not use index %s", method->index);
	}
	PQclear(result);
}

/* By which the rows are ordered. */
const char *
search_operator(const Run *run)
{
	static const char *const operators[] = {"<->", "<#>", "<=>", "<+>"};

	return operators[run->metric];
}

/* Prepare the search of "method" on this connection. */
void
search_prepare(PGconn *conn, const Run *run, const Method *method)
{
	bool		is_exact = method->index[0] == '\0';

	/* a measured index is used whatever the planner thinks of it */
	server_execute(conn, "SET enable_seqscan = %s", is_exact ? "on" : "off");
	server_execute(conn, "SET enable_indexscan = %s", is_exact ? "off" : "on");
	server_execute(conn, "PREPARE " STATEMENT " (%s) AS "
				   "SELECT id FROM %s ORDER BY v %s $1 LIMIT %d",
				   column_type_names[method->type], method->table,
				   search_operator(run), run->k);
	if (!is_exact)
		search_check_plan(conn, method);
}

void
search_set(PGconn *conn, const Method *method, int value)
{
	server_settings(conn, method->search);
	if (method->parameter)
		server_execute(conn, "SET %s = %g", method->parameter,
					   value * method->unit);
}

/* Where search_one() puts the binary form of a query. */
char *
search_buffer(const Run *run)
{
	return allocate(vector_room(&run->queries));
}

/* Search for one query; the rows found are in the result. */
PGresult *
search_one(PGconn *conn, const Run *run, const Method *method, long query,
		   char *vector)
{
	const char *values[1] = {vector};
	int			lengths[1];
	int			formats[1] = {1};
	PGresult   *result;

	lengths[0] = put_vector(vector, method->type, &run->queries,
							matrix_row(&run->queries, query));
	result = PQexecPrepared(conn, STATEMENT, 1, values, lengths, formats, 1);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	return result;
}

/* How many of the rows found are among the k nearest, ties counted. */
static int
count_found(const Run *run, PGresult *result, long query)
{
	double		limit = run->truth[query];
	int			found = 0;

	/* the last digits of float32 vectors' ranks are not the index's fault */
	limit += 1e-6 * (limit > 0 ? limit : -limit);

	for (int i = 0; i < PQntuples(result); i++)
	{
		uint32_t	id;

		memcpy(&id, PQgetvalue(result, i, 0), sizeof(id));
		if (exact_rank(&run->base, ntohl(id), &run->queries, query,
					   run->metric) <= limit)
			found++;
	}
	return Min(found, run->k);
}

/* What was read from devices, as the cgroup's file "name" says. */
static double
blkio_read(const Run *run, const char *name)
{
	char		path[TEXT_SIZE];
	char		operation[NAME_SIZE];
	double		n;
	double		sum = 0;
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/blkio.throttle.%s", run->blkio, name);
	file = fopen(path, "r");
	if (file == NULL)
		die("could not open file \"%s\": %m", path);
	/* lines "MAJOR:MINOR Read N", of other operations, and "Total N" */
	while (fscanf(file, "%*s %63s %lf", operation, &n) == 2)
	{
		if (strcmp(operation, "Read") == 0)
			sum += n;
	}
	fclose(file);
	return sum;
}

/* Add what was read so far to the figures, "sign" times. */
static void
reads_add(PGconn *conn, const Run *run, const Method *method, double sign,
		  Reads * reads)
{
	PGresult   *result;

	if (run->blkio == NULL)
		return;
	server_execute(conn, "SELECT pg_stat_force_next_flush()");
	server_execute(conn, "SELECT pg_stat_clear_snapshot()");
	result = server_query(conn, "SELECT idx_blks_read, heap_blks_read + coalesce(toast_blks_read, 0) "
						  "+ coalesce(tidx_blks_read, 0) "
						  "FROM pg_statio_user_tables WHERE relname = '%s'", method->table);
	reads->index_blocks += sign * atof(PQgetvalue(result, 0, 0));
	reads->table_blocks += sign * atof(PQgetvalue(result, 0, 1));
	PQclear(result);
	reads->requests += sign * blkio_read(run, "io_serviced");
	reads->bytes += sign * blkio_read(run, "io_service_bytes");
}

/*
 * Measure one setting on one connection: a pass to warm up, in which recall
 * is counted, and then whole passes until run->seconds have gone (0: none).
 */
void
search_measure(PGconn *conn, const Run *run, const Method *method, int value,
			   Point *point)
{
	long		queries = run->queries.rows;
	long		room = queries;
	long		n = 0;
	long		found = 0;
	double	   *times = allocate(room * sizeof(double));
	char	   *vector = search_buffer(run);
	double		total = 0;
	double		cpu_start;
	Reads		reads = {0};
	char		what[TEXT_SIZE];

	search_set(conn, method, value);
	snprintf(what, sizeof(what), "%.60s %d", method->label, value);

	for (long q = 0; q < queries; q++)
	{
		PGresult   *result = search_one(conn, run, method, q, vector);

		found += count_found(run, result, q);
		PQclear(result);
		progress(what, q + 1, queries);
	}

	reads_add(conn, run, method, -1, &reads);
	cpu_start = cpu_seconds(PQbackendPID(conn));
	while (total < run->seconds)
	{
		for (long q = 0; q < queries; q++)
		{
			double		start = seconds_now();

			PQclear(search_one(conn, run, method, q, vector));
			if (n == room)
			{
				room *= 2;
				times = realloc(times, room * sizeof(double));
				if (times == NULL)
					die("out of memory");
			}
			times[n] = seconds_now() - start;
			total += times[n++];
		}
	}

	memset(point, 0, sizeof(*point));
	point->value = value;
	point->recall = (double) found / (queries * run->k);
	if (n > 0)
	{
		qsort(times, n, sizeof(double), compare_doubles);
		point->qps = n / total;
		point->mean_us = total / n * 1e6;
		point->cpu_us = (cpu_seconds(PQbackendPID(conn)) - cpu_start) / n * 1e6;
		point->p50_us = times[n / 2] * 1e6;
		point->p99_us = times[n * 99 / 100] * 1e6;
		reads_add(conn, run, method, 1, &reads);
		point->reads.index_blocks = reads.index_blocks / n;
		point->reads.table_blocks = reads.table_blocks / n;
		point->reads.requests = reads.requests / n;
		point->reads.bytes = reads.bytes / n;
	}

	free(times);
	free(vector);
}
