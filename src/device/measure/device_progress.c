/*-------------------------------------------------------------------------
 *
 * device_progress.c
 *	  Progress of measuring functions, for the view ecp_progress.
 *
 * The server keeps for each backend the number of a command, the OID of its
 * target and some counters (backend_progress.h), and resets them at the end of
 * a transaction.  Its own views select the commands that they know by name,
 * and an extension cannot add a name; but any number can be stored.  So we use
 * a number that no view of the server selects, and read the status of the
 * backends ourselves.  That needs no shared memory of our own, and does not
 * show up in pg_stat_progress_create_index or another view of the server.
 *
 * As with those views, track_activities must be on, and the targets and
 * counters of a role are shown to its members and to those of
 * pg_read_all_stats.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "commands/tablespace.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "device/measure/device_progress.h"

/* Far from the numbers of the server's commands. */
#define PROGRESS_COMMAND_OURS	((ProgressCommandType) 7681)

/* The counters. */
enum
{
	PROGRESS_COMMAND,
	PROGRESS_PHASE,
	PROGRESS_STEPS_DONE,
	PROGRESS_STEPS_TOTAL,
	PROGRESS_WRITTEN_BYTES
};

PG_FUNCTION_INFO_V1(ecp_progress_get);

static const char *const command_names[] = {
	[ECP_PROGRESS_CALIBRATE] = "ecp_calibrate",
	[ECP_PROGRESS_BENCH] = "ecp_bench",
};

static const char *const phase_names[] = {
	[ECP_PROGRESS_FILL] = "sequential write",
	[ECP_PROGRESS_READ_SIZES] = "read by size",
	[ECP_PROGRESS_RANDOM_WORKERS] = "random read by workers",
	[ECP_PROGRESS_SEQUENTIAL_WORKERS] = "sequential read by workers",
	[ECP_PROGRESS_MISALIGNED] = "misaligned read",
	[ECP_PROGRESS_STEPS] = "read in steps",
	[ECP_PROGRESS_MIXED] = "read beside writes",
	[ECP_PROGRESS_CACHED] = "cached read",
	[ECP_PROGRESS_SYNCED] = "write and fsync",
	[ECP_PROGRESS_APPENDED] = "append and fsync",
	[ECP_PROGRESS_LAZY] = "write, fsync in the end",
	[ECP_PROGRESS_BLOCK] = "block",
	[ECP_PROGRESS_KNN] = "knn",
	[ECP_PROGRESS_SORT] = "sort",
	[ECP_PROGRESS_SEARCH] = "search",
};

/* Steps that this backend has completed. */
static int64 progress_steps;

void
ecp_progress_begin(EcpProgressCommand command, Oid tablespace, int steps)
{
	Assert(command >= 0 && command < lengthof(command_names) && steps >= 0);
	progress_steps = 0;
	pgstat_progress_start_command(PROGRESS_COMMAND_OURS, tablespace);
	pgstat_progress_update_param(PROGRESS_COMMAND, command);
	pgstat_progress_update_param(PROGRESS_STEPS_TOTAL, steps);
}

void
ecp_progress_phase(EcpProgressPhase phase)
{
	Assert(phase >= 0 && phase < lengthof(phase_names));
	pgstat_progress_update_param(PROGRESS_PHASE, phase);
}

/* Report that one more measurement is complete. */
void
ecp_progress_step(int64 written_bytes)
{
	pgstat_progress_update_param(PROGRESS_STEPS_DONE, ++progress_steps);
	pgstat_progress_update_param(PROGRESS_WRITTEN_BYTES, written_bytes);
}

void
ecp_progress_end(void)
{
	pgstat_progress_end_command();
}

const char *
ecp_progress_phase_name(EcpProgressPhase phase)
{
	Assert(phase >= 0 && phase < lengthof(phase_names));
	return phase_names[phase];
}

/* The name of a number, which another version of the library may have set. */
static void
progress_name(const char *const *names, int n, int64 which, Datum *value,
			  bool *isnull)
{
	*isnull = which < 0 || which >= n;
	if (!*isnull)
		*value = CStringGetTextDatum(names[which]);
}

/*
 * ecp_progress_get()
 *		A row for each backend that is measuring.
 */
Datum
ecp_progress_get(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			nbackends = pgstat_fetch_stat_numbackends();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 1; i <= nbackends; i++)
	{
		LocalPgBackendStatus *local = ecp_backend_status(i);
		const PgBackendStatus *status;
		Datum		values[8] = {0};
		bool		nulls[8];
		char	   *name;

		if (local == NULL)
			continue;
		status = &local->backendStatus;
		if (status->st_progress_command != PROGRESS_COMMAND_OURS)
			continue;
		memset(nulls, true, sizeof(nulls));
		values[0] = Int32GetDatum(status->st_procpid);
		values[1] = ObjectIdGetDatum(status->st_databaseid);
		nulls[0] = nulls[1] = false;
		if (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
			has_privs_of_role(GetUserId(), status->st_userid))
		{
			const int64 *param = status->st_progress_param;

			progress_name(command_names, lengthof(command_names),
						  param[PROGRESS_COMMAND], &values[2], &nulls[2]);
			name = get_tablespace_name(status->st_progress_command_target);
			nulls[3] = name == NULL;
			if (name)
				values[3] = DirectFunctionCall1(namein, CStringGetDatum(name));
			progress_name(phase_names, lengthof(phase_names),
						  param[PROGRESS_PHASE], &values[4], &nulls[4]);
			values[5] = Int64GetDatum(param[PROGRESS_STEPS_DONE]);
			values[6] = Int64GetDatum(param[PROGRESS_STEPS_TOTAL]);
			values[7] = Int64GetDatum(param[PROGRESS_WRITTEN_BYTES]);
			nulls[5] = nulls[6] = nulls[7] = false;
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
							 values, nulls);
	}
	return (Datum) 0;
}
