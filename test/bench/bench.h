/*-------------------------------------------------------------------------
 *
 * bench.h
 *	  What the files of ecpbench share.
 *
 * ecpbench.c reads the options, runs the methods and reports; bench_data.c
 * knows vectors: files, exact search, recall; bench_server.c knows the
 * server: loading, building, queries.
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
#define METHOD_KINDS_MAX	8
#define NAME_SIZE		64
#define TEXT_SIZE		512

/* Ends the program with a message. */
extern void die(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));
extern void *allocate(size_t bytes);
extern double seconds_now(void);

/* A bar on standard error, if that is a terminal. */
extern void progress(const char *what, double done, double total);

/* ---- bench_data.c ---- */

typedef enum Metric
{
	METRIC_L2, METRIC_IP, METRIC_COSINE
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
 * Rank of two vectors, exactly: squared distance, negative inner product or
 * 1 - cosine.  Not for speed.
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
	COLUMN_BYTEA, COLUMN_REAL, COLUMN_VECTOR
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
} Point;

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
	bool		rebuild;
} Run;

extern PGconn *server_connect(const Run *run);
extern PGresult *server_query(PGconn *conn, const char *format,...) __attribute__((format(printf, 2, 3)));
extern void server_execute(PGconn *conn, const char *format,...) __attribute__((format(printf, 2, 3)));
extern void server_value(PGconn *conn, char *value, size_t size,
						 const char *format,...) __attribute__((format(printf, 4, 5)));
extern void server_settings(PGconn *conn, const char *settings);

extern bool method_is_available(PGconn *conn, const Method *method);
extern void table_load(const Run *run, PGconn *conn, const char *table,
					   ColumnType type);
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
extern double search_clients(const Run *run, const Method *method, int value,
							 int nclients);

#endif							/* BENCH_H */
