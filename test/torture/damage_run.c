/*-------------------------------------------------------------------------
 *
 * damage_run.c
 *	  The driver of the damage campaign: see the script "damage".
 *
 * One connection, round after round: damage a page, ask the check, read (with
 * a check that found nothing, everything, and each answer must be right), go
 * the ways that write (after them, too, if the check found nothing), and put
 * all pages back.  A statement ends with an answer or an error; not with the
 * server, and not never: what takes no notice of statement_timeout is looked
 * at by gdb and killed, and the server is begun anew from its copy.
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HANG_MS			12000	/* statement_timeout is 4 s */
#define MEMORY_MAX_KB	(500 * 1024)
#define SESSION_ROUNDS	40
#define STATEMENTS_MAX	400
#define OUTCOMES_MAX	4000

typedef struct Statement
{
	char	   *index;
	char	   *kind;
	char	   *name;
	char	   *sql;
	char	   *truth;			/* or "" */
	char	   *weight_text;
	int			weight;
	char	   *answer;			/* the right one, or NULL */
	double		seconds;		/* that it took in all */
} Statement;

typedef struct Outcome
{
	char	   *what;
	long		n;
} Outcome;

static Statement statements[STATEMENTS_MAX];
static int	nstatements;
static char *indexes[64];
static int	nindexes;
static Outcome outcomes[OUTCOMES_MAX];
static int	noutcomes;
static const char *conninfo;
static const char *restart_command;
static FILE *findings_file;
static PGconn *conn;
static int	session_rounds;

/* the round */
static uint64_t random_state;
static uint64_t campaign_seed;
static long round_number;
static char *damaged;			/* what damage_apply() said */
static char block[16];

/* what is counted */
static long nfindings;
static long nclean;
static long nrefused;
static long nstatements_run;
static long ncrashes;
static long nhangs;
static long nwrong;
static long ninternal;
static long ntimeouts;
static long nmemory;
static long nspread;

static uint64_t
next_random(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static char *
format(const char *template,...)
{
	va_list		args;
	char	   *text;

	va_start(args, template);
	if (vasprintf(&text, template, args) < 0)
		abort();
	va_end(args);
	return text;
}

static void
count_outcome(char *what)
{
	for (int i = 0; i < noutcomes; i++)
		if (strcmp(outcomes[i].what, what) == 0)
		{
			outcomes[i].n++;
			free(what);
			return;
		}
	if (noutcomes < OUTCOMES_MAX)
		outcomes[noutcomes++] = (Outcome)
	{
		what, 1
	};
}

static void
finding(long *counter, const char *index, const char *kind, const char *name, const char *detail)
{
	(*counter)++;
	nfindings++;
	count_outcome(format("FINDING %s: %s", kind, name));
	for (int i = 0; i < 2; i++)
	{
		FILE	   *file = i == 0 ? findings_file : stdout;

		if (file == NULL || (file == stdout && nfindings > 200))
			continue;
		fprintf(file, "%s --seed %llu --round %ld\n\tof %s: %s\n\tby %s: %s\n\n",
				kind, (unsigned long long) campaign_seed, round_number, index,
				damaged ? damaged : "", name, detail);
		fflush(file);
	}
}

/* ---- the server ---- */

static PGresult *run(const char *sql, bool *hung);

static char *
ask(const char *sql)
{
	PGresult   *result = PQexec(conn, sql);
	char	   *answer;

	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
	{
		fprintf(stderr, "%s\n%s", sql, PQerrorMessage(conn));
		PQclear(result);
		return NULL;
	}
	answer = strdup(PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	return answer;
}

static void
ignore_notice(void *arg, const char *message)
{
}

/* A new session, which has read what it saved while the indexes are sound. */
static bool
begin_session(void)
{
	if (conn)
		PQfinish(conn);
	conn = PQconnectdb(conninfo);
	session_rounds = 0;
	if (PQstatus(conn) != CONNECTION_OK)
		return false;
	PQsetNoticeProcessor(conn, ignore_notice, NULL);
	for (int i = 0; i < nindexes; i++)
	{
		char	   *sql = format("SELECT damage_kinds('%s')", indexes[i]);
		char	   *kinds = ask(sql);

		free(sql);
		if (kinds == NULL)
			return false;
		free(kinds);
	}
	return true;
}

static void
restart(void)
{
	if (restart_command == NULL || *restart_command == '\0')
	{
		printf("the server has ended\n");
		exit(1);
	}
	PQfinish(conn);
	conn = NULL;
	if (system(restart_command) != 0 || !begin_session())
	{
		printf("could not start the server anew\n");
		exit(1);
	}
}

/* Where a process is, by gdb. */
static char *
backtrace_of(int pid)
{
	static char text[16384];
	char	   *command = format("gdb -p %d -batch -ex bt 2>/dev/null | grep '^#' | head -30", pid);
	FILE	   *pipe = popen(command, "r");
	size_t		bytes = pipe ? fread(text, 1, sizeof(text) - 1, pipe) : 0;

	text[		bytes] = '\0';

	if (pipe)
		pclose(pipe);
	free(command);
	return text;
}

static long
peak_memory(int pid)
{
	char	   *path = format("/proc/%d/status", pid);
	FILE	   *file = fopen(path, "r");
	char		line[256];
	long		kb = 0;

	free(path);
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmHWM: %ld", &kb);
	if (file)
		fclose(file);
	return kb;
}

/*
 * Send a text and wait for the last of its results.  NULL: the connection is
 * gone, or (hung) nothing came.
 */
static PGresult *
run(const char *sql, bool *hung)
{
	PGresult   *last = NULL;

	*hung = false;
	if (!PQsendQuery(conn, sql))
		return NULL;
	for (;;)
	{
		PGresult   *result;

		while (PQisBusy(conn))
		{
			struct pollfd wait = {PQsocket(conn), POLLIN, 0};
			int			ready = poll(&wait, 1, HANG_MS);

			if (ready < 0 && errno == EINTR)
				continue;
			if (ready == 0)
			{
				*hung = true;
				PQclear(last);
				return NULL;
			}
			if (!PQconsumeInput(conn))
				break;
		}
		result = PQgetResult(conn);
		if (result == NULL)
			break;
		if (last != NULL && (PQresultStatus(last) == PGRES_FATAL_ERROR ||
							 (PQresultStatus(last) == PGRES_TUPLES_OK &&
							  PQresultStatus(result) != PGRES_TUPLES_OK &&
							  PQresultStatus(result) != PGRES_FATAL_ERROR)))
			PQclear(result);
		else
		{
			PQclear(last);
			last = result;
		}
	}
	if (PQstatus(conn) != CONNECTION_OK)
	{
		PQclear(last);
		return NULL;
	}
	return last;
}

static char *
text_of(PGresult *result)
{
	char	   *text = strdup("");

	for (int row = 0; row < PQntuples(result) && row < 100; row++)
		for (int col = 0; col < PQnfields(result); col++)
		{
			char	   *longer = format("%s%s|", text, PQgetvalue(result, row, col));

			free(text);
			text = longer;
		}
	return text;
}

static char *
replace(const char *text, const char *what, const char *by)
{
	const char *at = strstr(text, what);

	return at ? format("%.*s%s%s", (int) (at - text), text, by, at + strlen(what)) : strdup(text);
}

typedef enum Verdict
{
	ANSWERED,
	REFUSED,
	GONE						/* and the server is a new one */
} Verdict;

/* One text (between ";;" of a statement), and what came of it. */
static Verdict
try_text(const Statement *statement, const char *sql, bool sound)
{
	bool		hung;
	int			pid = PQbackendPID(conn);
	PGresult   *result = run(sql, &hung);
	Verdict		verdict = ANSWERED;

	nstatements_run++;
	if (hung)
	{
		finding(&nhangs, statement->index, "HANG", statement->name, backtrace_of(pid));
		kill(pid, SIGKILL);
		restart();
		return GONE;
	}
	if (result == NULL)
	{
		finding(&ncrashes, statement->index, "CRASH", statement->name, PQerrorMessage(conn));
		restart();
		return GONE;
	}
	if (PQresultStatus(result) == PGRES_FATAL_ERROR)
	{
		const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
		char	   *message = format("%s %s", state, PQresultErrorMessage(result));

		verdict = REFUSED;
		count_outcome(format("%s %s%s", statement->kind, state,
							 strncmp(state, "XX00", 4) == 0 ? "" :
							 format(" (%.60s)", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY))));
		if (strcmp(state, "XX000") == 0)
			finding(&ninternal, statement->index, "INTERNAL", statement->name, message);
		else if (strcmp(state, "57014") == 0)
			finding(&ntimeouts, statement->index, "ENDLESS", statement->name, message);
		else if (sound && (strcmp(statement->kind, "read") == 0 || strncmp(state, "XX00", 4) != 0))
			finding(&nspread, statement->index, "REFUSED AFTER A CLEAN CHECK", statement->name, message);
		free(message);
	}
	else
	{
		count_outcome(format("%s answered", statement->kind));
		if (sound && statement->answer)
		{
			char	   *answer = text_of(result);

			if (strcmp(answer, statement->answer) != 0)
			{
				char	   *detail = format("%.300s instead of %.300s", answer, statement->answer);

				finding(&nwrong, statement->index, "WRONG", statement->name, detail);
				free(detail);
			}
			free(answer);
		}
	}
	PQclear(result);
	if (PQtransactionStatus(conn) != PQTRANS_IDLE)
		PQclear(PQexec(conn, "ROLLBACK"));
	return verdict;
}

static Verdict
try(Statement *statement, bool sound)
{
	char	   *rest = replace(statement->sql, ":block", block);
	char	   *text = rest;
	Verdict		verdict = ANSWERED;
	double		begin = now();

	while (text &&verdict != GONE)
	{
		char	   *next = strstr(text, " ;; ");

		if (next)
			*next = '\0';
		verdict = try_text(statement, text, sound);
		text = next ? next + 4 : NULL;
	}
	free(rest);
	statement->seconds += now() - begin;
	return verdict;
}

static Statement *
choose_statement(const char *index, const char *kind)
{
	int64_t		sum = 0;
	int			i;

	for (i = 0; i < nstatements; i++)
		if (strcmp(statements[i].index, index) == 0 && strcmp(statements[i].kind, kind) == 0)
			sum += statements[i].weight;
	sum = next_random() % sum;
	for (i = 0;; i++)
		if (strcmp(statements[i].index, index) == 0 && strcmp(statements[i].kind, kind) == 0 &&
			(sum -= statements[i].weight) < 0)
			return &statements[i];
}

/* All reads, whose answers must be right.  False: the server is a new one. */
static bool
read_all(const char *index)
{
	for (int i = 0; i < nstatements; i++)
		if (strcmp(statements[i].index, index) == 0 && strcmp(statements[i].kind, "read") == 0 &&
			try(&statements[i], true) == GONE)
			return false;
	return true;
}

static bool
read_some(const char *index, int n)
{
	while (n-- > 0)
		if (try(choose_statement(index, next_random() % 2 ? "read" : "inspect"), false) == GONE)
			return false;
	return true;
}

static void
count_verdict(bool sound)
{
	const char *colon = strchr(damaged, ':');
	char	   *kind = strndup(damaged, colon ? colon - damaged : 0);
	char	   *digit = strpbrk(kind, "0123456789");

	if (digit)
		*digit = '\0';
	count_outcome(format("page %sis %s", kind, sound ? "clean" : "refused"));
	free(kind);
	if (sound)
		nclean++;
	else
		nrefused++;
}

/* False: the server is a new one, and so are its pages. */
static bool
try_round(const char *index)
{
	Statement  *check = choose_statement(index, "check");
	bool		warm = next_random() % 4 == 0;
	Verdict		verdict;
	bool		sound;
	char	   *sql;

	if (warm && try(choose_statement(index, "read"), true) == GONE)
		return false;
	sql = format("SELECT damage_apply('%s', %lld, %s)", index,
				 (long long) (next_random() >> 1), warm ? "false" : "true");
	free(damaged);
	damaged = ask(sql);
	free(sql);
	if (damaged == NULL)
		exit(1);
	snprintf(block, sizeof(block), "%d", atoi(strpbrk(damaged, "0123456789")));

	/* what a warm cache says is another version's matter */
	if (warm && !read_some(index, 2))
		return false;
	verdict = try(check, false);
	if (verdict == GONE)
		return false;
	sound = verdict == ANSWERED;
	count_verdict(sound);
	if (sound ? !read_all(index) : false)
		return false;
	if (!read_some(index, sound ? 1 : 2))
		return false;
	for (int n = next_random() % 3; n > 0; n--)
	{
		if (try(choose_statement(index, "write"), sound) == GONE)
			return false;
		if (sound)
		{
			verdict = try(check, true);
			if (verdict == GONE)
				return false;
			if (verdict == REFUSED)
			{
				finding(&nspread, index, "UNSOUND AFTER A CLEAN CHECK", "check", "after a write");
				sound = false;
			}
		}
	}
	return !sound || try(choose_statement(index, "read"), true) != GONE;
}

static void
try_index(const char *index)
{
	int			pid = PQbackendPID(conn);
	char	   *sql;
	char	   *answer;
	long		kb;

	if (!try_round(index))
		return;
	kb = peak_memory(pid);
	if (kb > MEMORY_MAX_KB)
	{
		char	   *detail = format("%ld MB", kb / 1024);

		finding(&nmemory, index, "MEMORY", "round", detail);
		free(detail);
		session_rounds = SESSION_ROUNDS;
	}
	sql = format("RESET ALL; SELECT damage_restore('%s')", index);
	answer = ask(sql);
	free(sql);
	if (answer == NULL)
		restart();
	free(answer);
	if (++session_rounds >= SESSION_ROUNDS && !begin_session())
		restart();
}

/* ---- beginning and end ---- */

static void
load_statements(const char *only)
{
	char	   *sql = format("SELECT index, kind, name, sql, COALESCE(truth, ''), weight FROM damage_statement"
							 " WHERE index ~ '%s' ORDER BY index, kind, name", only);
	PGresult   *result = PQexec(conn, sql);

	free(sql);
	nstatements = PQntuples(result);
	if (nstatements == 0 || nstatements > STATEMENTS_MAX)
	{
		fprintf(stderr, "no statements: %s\n", PQerrorMessage(conn));
		exit(1);
	}
	for (int i = 0; i < nstatements; i++)
	{
		char	  **field = &statements[i].index;

		for (int col = 0; col < 6; col++)
			field[col] = strdup(PQgetvalue(result, i, col));
		statements[i].weight = atoi(statements[i].weight_text);
		if (nindexes == 0 || strcmp(indexes[nindexes - 1], statements[i].index) != 0)
			indexes[nindexes++] = statements[i].index;
	}
	PQclear(result);
}

/* The right answers: what sound indexes say must be what their tables say. */
static bool
learn_answers(void)
{
	bool		good = true;

	for (int i = 0; i < nstatements; i++)
	{
		Statement  *statement = &statements[i];
		bool		hung;
		PGresult   *result;
		char	   *sql;
		char	   *truth;

		if (strcmp(statement->kind, "write") == 0)
			continue;
		strcpy(block, "2");
		sql = replace(statement->sql, ":block", block);
		result = run(sql, &hung);
		free(sql);
		if (PQresultStatus(result) != PGRES_TUPLES_OK)
		{
			fprintf(stderr, "%s of %s: %s", statement->name, statement->index, PQerrorMessage(conn));
			good = good && strcmp(statement->kind, "inspect") == 0;
		}
		else if (statement->truth[0] != '\0')
		{
			statement->answer = text_of(result);
			sql = format("RESET ALL; SET enable_indexscan = off; SET enable_indexonlyscan = off; "
						 "SET enable_bitmapscan = off; %s", statement->truth);
			PQclear(result);
			result = run(sql, &hung);
			free(sql);
			truth = text_of(result);
			if (strcmp(truth, statement->answer) != 0)
			{
				fprintf(stderr, "%s of %s: %s instead of %s\n", statement->name, statement->index,
						statement->answer, truth);
				good = false;
			}
			free(truth);
		}
		PQclear(result);
		if (PQtransactionStatus(conn) != PQTRANS_IDLE)
			PQclear(PQexec(conn, "ROLLBACK"));
	}
	return good;
}

static int
compare_outcomes(const void *a, const void *b)
{
	return strcmp(((const Outcome *) a)->what, ((const Outcome *) b)->what);
}

static void
report(long pages, time_t begin)
{
	qsort(outcomes, noutcomes, sizeof(Outcome), compare_outcomes);
	printf("\n");
	for (int i = 0; i < noutcomes; i++)
		printf("%9ld  %s\n", outcomes[i].n, outcomes[i].what);
	for (int i = 0; i < nstatements; i++)
		printf("%9.1f s  %s of %s\n", statements[i].seconds, statements[i].name, statements[i].index);
	printf("%ld pages damaged (seed %llu), %ld statements, %ld s: %ld called clean, %ld refused by the check; "
		   "crashes %ld, hangs %ld, wrong answers %ld, refusals after a clean check %ld, "
		   "internal errors %ld, endless %ld, memory %ld\n",
		   pages, (unsigned long long) campaign_seed, nstatements_run, (long) (time(NULL) - begin),
		   nclean, nrefused, ncrashes, nhangs, nwrong, nspread, ninternal, ntimeouts, nmemory);
	fflush(stdout);
}

/* damage_run CONNINFO SEED PAGES FIRST INDEXES [FINDINGS [RESTART COMMAND]] */
int
main(int argc, char **argv)
{
	long		first;
	long		pages;
	time_t		begin = time(NULL);

	if (argc < 6)
	{
		fprintf(stderr, "usage: %s conninfo seed pages first-round index-regexp [findings [restart-command]]\n", argv[0]);
		return 2;
	}
	conninfo = argv[1];
	campaign_seed = strtoull(argv[2], NULL, 10);
	pages = atol(argv[3]);
	first = atol(argv[4]);
	findings_file = argc > 6 ? fopen(argv[6], "a") : NULL;
	restart_command = argc > 7 ? argv[7] : NULL;
	if (!begin_session())
	{
		fprintf(stderr, "%s", PQerrorMessage(conn));
		return 1;
	}
	load_statements(argv[5]);
	if (!learn_answers())
		return 1;
	for (int i = 0; i < nindexes; i++)
	{
		char	   *sql = format("SELECT damage_kinds('%s')", indexes[i]);

		printf("%s: %s\n", indexes[i], ask(sql));
		free(sql);
		sql = format("SELECT damage_restore('%s')", indexes[i]);
		free(ask(sql));
		free(sql);
	}
	for (round_number = first; round_number < first + pages; round_number++)
	{
		random_state = campaign_seed * UINT64_C(1000003) + round_number;
		try_index(indexes[round_number % nindexes]);
		if ((round_number - first) % 5000 == 4999)
			report(round_number - first + 1, begin);
	}
	report(pages, begin);
	PQfinish(conn);
	return nfindings == 0 ? 0 : 1;
}
