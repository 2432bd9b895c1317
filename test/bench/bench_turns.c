/*-------------------------------------------------------------------------
 *
 * bench_turns.c
 *	  Settings of several methods measured by turns: what a query takes inside
 *	  the server, and how many a second several connections are answered.
 *
 * Inside the server a function searches for all queries, one after the other,
 * and reads the clock before and after: no client, no protocol, no processor
 * that has fallen idle in between.  What other work the machine has, and what
 * its clock rate is, changes from minute to minute and is the same for all
 * methods of a turn.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* Words that each thread reads: more than any cache holds. */
#define MEMORY_WORDS	(32 * 1024 * 1024L)
#define MEMORY_ROUNDS	3

/* ---- several connections ---- */

typedef struct Client
{
	pthread_t	thread;
	const Run  *run;
	const Method *method;
	PGconn	   *conn;
	long		first;			/* query to start with */
	long		done;
	const double *deadline;
	pthread_barrier_t *barrier;
} Client;

static void *
client_main(void *argument)
{
	Client	   *client = argument;
	char	   *vector = search_buffer(client->run);
	long		queries = client->run->queries.rows;

	/* warm up this connection's caches */
	for (long q = 0; q < Min(queries, WARMING_QUERIES); q++)
		PQclear(search_one(client->conn, client->run, client->method,
						   (client->first + q) % queries, vector));

	pthread_barrier_wait(client->barrier);	/* all have warmed up */
	pthread_barrier_wait(client->barrier);	/* the clock runs */

	while (seconds_now() < *client->deadline)
	{
		PQclear(search_one(client->conn, client->run, client->method,
						   (client->first + client->done) % queries, vector));
		client->done++;
	}

	free(vector);
	return NULL;
}

/* Queries per second of nclients connections at a time. */
static double
search_clients(const Run *run, const Method *method, int value, int nclients)
{
	Client	   *clients = allocate(nclients * sizeof(Client));
	pthread_barrier_t barrier;
	double		deadline;
	double		start;
	double		elapsed;
	long		done = 0;

	pthread_barrier_init(&barrier, NULL, nclients + 1);
	for (int i = 0; i < nclients; i++)
	{
		Client	   *client = &clients[i];

		client->run = run;
		client->method = method;
		client->conn = server_connect(run);
		client->first = run->queries.rows * i / nclients;
		client->done = 0;
		client->deadline = &deadline;
		client->barrier = &barrier;
		search_set(client->conn, method, value);
		search_prepare(client->conn, run, method);
		if (pthread_create(&client->thread, NULL, client_main, client) != 0)
			die("could not create a thread");
	}

	pthread_barrier_wait(&barrier);
	start = seconds_now();
	deadline = start + Max(run->seconds, 2);
	pthread_barrier_wait(&barrier);

	for (int i = 0; i < nclients; i++)
	{
		pthread_join(clients[i].thread, NULL);
		done += clients[i].done;
		PQfinish(clients[i].conn);
	}
	elapsed = seconds_now() - start;

	pthread_barrier_destroy(&barrier);
	free(clients);
	return done / elapsed;
}

/* ---- inside the server ---- */

/* Prepare the method's connection, with a function that takes the time. */
static void
turner_connect(const Run *run, Turner *turner)
{
	const Method *method = turner->method;
	PGconn	   *conn = server_connect(run);
	char		queries[NAME_SIZE];

	turner->conn = conn;
	queries_load(run, conn, method->type, queries, sizeof(queries));
	index_only(conn, method);
	search_set(conn, method, turner->point->value);
	search_prepare(conn, run, method);
	server_execute(conn,
				   "CREATE FUNCTION pg_temp.ecpbench_turn(n int) RETURNS float8 LANGUAGE plpgsql AS $$ "
				   "DECLARE query record; start timestamptz = clock_timestamp(); "
				   "BEGIN "
				   "FOR query IN SELECT v FROM %s ORDER BY id LIMIT n LOOP "
				   "PERFORM max(id) FROM (SELECT id FROM %s ORDER BY v %s query.v LIMIT %d) AS s; "
				   "END LOOP; "
				   "RETURN extract(epoch FROM clock_timestamp() - start) * 1e6 / n; "
				   "END $$",
				   queries, method->table, search_operator(run), run->k);
}

/* Microseconds that each of the first n queries takes, and has a processor. */
static double
turner_run(const Turner *turner, long n, double *cpu_us)
{
	char		value[NAME_SIZE];
	double		start = cpu_seconds(PQbackendPID(turner->conn));

	server_value(turner->conn, value, sizeof(value),
				 "SELECT pg_temp.ecpbench_turn(%ld)", n);
	*cpu_us = (cpu_seconds(PQbackendPID(turner->conn)) - start) / n * 1e6;
	return atof(value);
}

void
turns_measure(const Run *run, Turner *turners, int nturners, int turns,
			  const int *clients, int nclients)
{
	for (int i = 0; i < nturners; i++)
	{
		turners[i].point->turns = allocate(sizeof(Turns));
		turner_connect(run, &turners[i]);
	}

	for (int turn = 0; turn < turns; turn++)
	{
		for (int n = 0; n < nturners; n++)
		{
			Turner	   *turner = &turners[turn % 2 ? nturners - 1 - n : n];
			Turns	   *result = turner->point->turns;

			progress("turns", turn * nturners + n, turns * nturners);
			/* what this invalidates is planned and cached again while warming */
			index_only(turner->conn, turner->method);
			turner_run(turner, Min(WARMING_QUERIES, run->queries.rows),
					   &result->cpu_us[turn]);
			result->server_us[turn] = turner_run(turner, run->queries.rows,
												 &result->cpu_us[turn]);
			for (int c = 0; c < nclients; c++)
				result->clients_qps[c][turn] =
					search_clients(run, turner->method, turner->point->value,
								   clients[c]);
		}
	}
	progress("turns", 1, 1);
	for (int i = 0; i < nturners; i++)
		PQfinish(turners[i].conn);
}

void
turns_show(const double *values, int n, char *shown, size_t size)
{
	double		sorted[TURNS_MAX];

	memcpy(sorted, values, n * sizeof(double));
	qsort(sorted, n, sizeof(double), compare_doubles);
	snprintf(shown, size, "%.0f (%.0f to %.0f)",
			 (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[0], sorted[n - 1]);
}

/* ---- memory ---- */

typedef struct Reader
{
	pthread_t	thread;
	uint64_t   *words;
	uint64_t	sum;
} Reader;

static void *
reader_main(void *argument)
{
	Reader	   *reader = argument;
	uint64_t	sums[8] = {0};

	for (int round = 0; round < MEMORY_ROUNDS; round++)
	{
		for (long i = 0; i < MEMORY_WORDS; i += 8)
		{
			for (int s = 0; s < 8; s++)
				sums[s] += reader->words[i + s];
		}
	}
	for (int s = 0; s < 8; s++)
		reader->sum += sums[s];
	return NULL;
}

double
memory_bandwidth(int nthreads)
{
	Reader		readers[CLIENTS_MAX];
	double		start;
	double		seconds;
	uint64_t	sum = 0;

	for (int i = 0; i < nthreads; i++)
	{
		readers[i].sum = 0;
		readers[i].words = allocate(MEMORY_WORDS * sizeof(uint64_t));
		memset(readers[i].words, 1, MEMORY_WORDS * sizeof(uint64_t));
	}
	start = seconds_now();
	for (int i = 0; i < nthreads; i++)
	{
		if (pthread_create(&readers[i].thread, NULL, reader_main, &readers[i]) != 0)
			die("could not create a thread");
	}
	for (int i = 0; i < nthreads; i++)
	{
		pthread_join(readers[i].thread, NULL);
		sum += readers[i].sum;
		free(readers[i].words);
	}
	seconds = seconds_now() - start;
	/* or the compiler would leave out the reading */
	if (sum == 0)
		die("memory does not hold what was written");
	return (double) nthreads * MEMORY_ROUNDS * MEMORY_WORDS * sizeof(uint64_t) / seconds;
}
