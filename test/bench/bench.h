/*-------------------------------------------------------------------------
 *
 * bench.h
 *	  What the files of ecpbench share.
 *
 * ecpbench.c reads the options, runs the methods and reports; bench_data.c
 * knows vectors: files, exact search, recall; bench_server.c knows the
 * server: loading, building, queries; bench_turns.c measures by turns;
 * bench_report.c writes tables, CSV and plots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BENCH_H
#define BENCH_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define Max(a, b)		((a) > (b) ? (a) : (b))
#define Min(a, b)		((a) < (b) ? (a) : (b))
#define lengthof(array) ((int) (sizeof(array) / sizeof((array)[0])))

#define POINTS_MAX		64
#define TURNS_MAX		64
#define CLIENTS_MAX		8
#define METHOD_KINDS_MAX	8
#define NAME_SIZE		64
#define TEXT_SIZE		512

/* Ends the program with a message. */
extern void die(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));
extern void *allocate(size_t bytes);
extern double seconds_now(void);
extern int	compare_doubles(const void *a, const void *b);	/* for qsort() */

/* A bar on standard error, if that is a terminal. */
extern void progress(const char *what, double done, double total);

/* ---- bench_data.c ---- */

typedef enum Metric
{
	METRIC_L2, METRIC_IP, METRIC_COSINE, METRIC_L1
} Metric;

/* Vectors of one file: all uint8 or all float32, one after the other. */
typedef struct Matrix
{
	bool		is_bytes;
	int			dims;
	long		rows;
	void	   *data;
} Matrix;

/* .bvecs or .fvecs; at most "limit" rows (0 = all) */
extern void matrix_read(Matrix *matrix, const char *path, long limit);
extern const void *matrix_row(const Matrix *matrix, long row);

/*
 * Rank of two vectors, exactly: squared distance, negative inner product,
 * 1 - cosine or L1 distance.  Not for speed.
 */
extern double exact_rank(const Matrix *base, long row, const Matrix *queries,
						 long query, Metric metric);

/*
 * The rank of the k-th nearest row of each query: what a row must not
 * exceed to count as found.  From the neighbours in "path" (.ivecs), or by
 * exact search if path is NULL.
 */
extern double *truth_ranks(const Matrix *base, const Matrix *queries,
						   Metric metric, int k, const char *path);

/* A permutation of 0 .. n - 1 that "seed" determines; 0 leaves the order. */
extern long *shuffled_order(long n, uint64_t seed);

/* ---- bench_server.c ---- */

typedef enum ColumnType
{
	COLUMN_BYTEA, COLUMN_REAL, COLUMN_VECTOR, COLUMN_HALFVEC
} ColumnType;

extern const char *const column_type_names[];

typedef struct Method
{
	const char *access_method;	/* or "exact" */
	char		with[TEXT_SIZE];	/* storage parameters */
	char		settings[TEXT_SIZE];	/* name=value,... for the build */
	char		search[TEXT_SIZE];	/* the same for searches */
	char		label[TEXT_SIZE];
	char		index[NAME_SIZE];
	char		table[NAME_SIZE];
	ColumnType	type;
	int			kind;			/* of ecpbench's table of them */
	const char *parameter;		/* setting that a sweep varies */
	double		unit;			/* of the sweep's numbers */
} Method;

/* What a build took; kept in the database for indexes that are used again. */
typedef struct BuildCost
{
	double		seconds;
	double		cpu_seconds;	/* of the backend; 0 = not known */
	long		peak_kb;		/* RssAnon; 0 = not known */
	double		wal_bytes;
	double		index_bytes;
	bool		is_old;			/* of an earlier run */
} BuildCost;

/* What a setting took by turns with the others. */
typedef struct Turns
{
	double		server_us[TURNS_MAX];	/* a query, inside the server */
	double		cpu_us[TURNS_MAX];	/* its time on a processor */
	double		clients_qps[CLIENTS_MAX][TURNS_MAX];
} Turns;

/* What queries read: 8 kB blocks that were not in shared buffers, and from the device. */
typedef struct Reads
{
	double		index_blocks;
	double		table_blocks;	/* with those of its TOAST table */
	double		requests;
	double		bytes;
}			Reads;

/* One setting of one method. */
typedef struct Point
{
	int			value;			/* of method->parameter */
	double		recall;
	double		qps;
	double		mean_us;
	double		cpu_us;			/* of the backend; 0 = not known */
	double		p50_us;
	double		p99_us;
	Reads		reads;			/* of a query; 0 without --blkio */
	Turns	   *turns;			/* NULL if it was not chosen for them */
} Point;

typedef struct MethodResult
{
	Method		method;
	BuildCost	cost;
	Point		points[POINTS_MAX];
	int			npoints;
	double		inserts_per_second;
	double		insert_wal;
	bool		available;		/* its extension is installed */
	bool		measured;
} MethodResult;

/* Everything that the measurements of a run have in common. */
typedef struct Run
{
	const char *conninfo;
	Matrix		base;
	Matrix		queries;
	Metric		metric;
	int			k;
	double	   *truth;			/* truth_ranks() */
	double		seconds;		/* least time of a measurement */
	int			repeat;			/* copies of the base that are loaded */
	uint64_t	shuffle;
	const char *settings;		/* name=value,... of every connection */
	const char *data_name;
	const char *blkio;			/* the server's cgroup, to count reads, or
								 * NULL */
	const char *rebuild;		/* access method whose indexes are built
								 * again, "" = all, NULL = none */
} Run;

/* What ecpbench learns from its arguments besides the Run. */
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
	int			turns;
	bool		build_only;
	bool		force_real;
	bool		half;
	const char *csv;
	const char *plot;
} Options;

extern PGconn *server_connect(const Run *run);
extern PGresult *server_query(PGconn *conn, const char *format,...) __attribute__((format(printf, 2, 3)));
extern void server_execute(PGconn *conn, const char *format,...) __attribute__((format(printf, 2, 3)));
extern void server_value(PGconn *conn, char *value, size_t size,
						 const char *format,...) __attribute__((format(printf, 4, 5)));
extern void server_settings(PGconn *conn, const char *settings);

extern bool method_is_available(PGconn *conn, const Method *method);
extern void table_load(const Run *run, PGconn *conn, const char *table,
					   ColumnType type);

/* Seconds that a process of this machine has been on a processor, or 0. */
extern double cpu_seconds(int pid);

/* The table that has the queries of a method's column type. */
extern void queries_load(const Run *run, PGconn *conn, ColumnType type,
						 char *table, size_t size);
extern void index_build(const Run *run, const Method *method,
						BuildCost *cost);
extern void index_only(PGconn *conn, const Method *method);
extern void insert_measure(const Run *run, const Method *method, long before,
						   long inserts, double *per_second,
						   double *wal_bytes);

extern void search_prepare(PGconn *conn, const Run *run,
						   const Method *method);
extern void search_set(PGconn *conn, const Method *method, int value);
extern void search_measure(PGconn *conn, const Run *run,
						   const Method *method, int value, Point *point);
extern const char *search_operator(const Run *run);
extern char *search_buffer(const Run *run);
extern PGresult *search_one(PGconn *conn, const Run *run,
							const Method *method, long query, char *vector);

/* ---- bench_turns.c ---- */

/* A setting of a method that is measured by turns with others. */
typedef struct Turner
{
	const Method *method;
	Point	   *point;
	PGconn	   *conn;
} Turner;

/* Queries that bring an index, and the caches of a connection, into memory. */
#define WARMING_QUERIES	100

/*
 * Measure the settings by turns: the time of a query inside the server, and
 * queries a second of each of the numbers of connections.  The order of every
 * second turn is reversed.  Allocates the points' turns.
 */
extern void turns_measure(const Run *run, Turner *turners, int nturners,
						  int turns, const int *clients, int nclients);

/* "median (least to most)" of n values */
extern void turns_show(const double *values, int n, char *shown, size_t size);

/* Bytes a second that so many threads of this program read from memory. */
extern double memory_bandwidth(int nthreads);

/* ---- bench_report.c ---- */

/* The recalls at which methods are compared. */
#define TARGETS			2
extern const double targets[TARGETS];

extern void report_settings(const Run *run, PGconn *conn);
extern void report_results(const Options *options,
						   const MethodResult *results, int nresults);
extern void write_csv(const char *path, const Run *run,
					  const Options *options, const MethodResult *results,
					  int nresults);
extern void write_plot(const char *prefix, const Run *run,
					   const MethodResult *results, int nresults);

#endif							/* BENCH_H */
