/*-------------------------------------------------------------------------
 *
 * device_place.c
 *	  Placement seen from SQL: the arithmetic on arrays, and what the functions
 *	  of the script cannot ask the server for.
 *
 * Targets, plans, moves and rules are PL/pgSQL (sql/ecp_storage--1.0.sql).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/statvfs.h>

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_event_trigger.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/user_index.h"
#include "device/place/device_place.h"

/* Weights or speeds in an array, among them the pieces of a comparison. */
#define PLACE_ARRAY_MAX	10000000

PG_FUNCTION_INFO_V1(ecp_place_assign);
PG_FUNCTION_INFO_V1(ecp_place_bound);
PG_FUNCTION_INFO_V1(ecp_place_free_bytes);
PG_FUNCTION_INFO_V1(ecp_place_makespan);
PG_FUNCTION_INFO_V1(ecp_place_trigger_wanted);
PG_FUNCTION_INFO_V1(ecp_table_distributed);
PG_FUNCTION_INFO_V1(ecp_table_refuse_distributed);

/* Numbers that are positive, or zero if that is allowed. */
static double *
place_array(ArrayType *array, int *n, const char *what, bool zero_allowed)
{
	double	   *values = ecp_user_array_float8(array, what, 0,
											   PLACE_ARRAY_MAX, n);

	for (int i = 0; i < *n; i++)
	{
		if (!(values[i] > 0 || (zero_allowed && values[i] == 0)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must not be null or negative%s", what,
							zero_allowed ? "" : " or zero")));
	}
	return values;
}

/* There must be as many of one thing as of another. */
static void
place_same_number(int n, const char *what, int expected, const char *others)
{
	if (n != expected)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("number of %s (%d) differs from number of %s (%d)",
						what, n, others, expected)));
}

/*
 * The indexes of targets, one a group, given by their numbers from 1; -1 for
 * NULL, which means none.
 */
static int *
place_targets(const EcpPlacement *p, ArrayType *array)
{
	int			n;
	bool	   *nulls;
	int		   *values = ecp_user_array_int4(array, "targets", 0,
											 PLACE_ARRAY_MAX, &n, &nulls);

	place_same_number(n, "targets given", p->ngroups, "weights");
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i] && (values[i] < 1 || values[i] > p->ntargets))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("target %d does not exist", values[i]),
					 errdetail("Targets are numbered from 1 to %d.",
							   p->ntargets)));
		values[i]--;
	}
	return values;
}

static EcpPlacement *
place_from_arrays(ArrayType *weights, ArrayType *speeds, ArrayType *bytes)
{
	EcpPlacement *p = palloc0_object(EcpPlacement);
	double	   *w = place_array(weights, &p->ngroups, "weights", true);
	double	   *s = place_array(speeds, &p->ntargets, "speeds", false);
	double	   *b = w;

	if (bytes)
	{
		int			n;

		b = place_array(bytes, &n, "bytes", true);
		place_same_number(n, "bytes", p->ngroups, "weights");
	}
	p->groups = palloc0_array(EcpPlaceGroup, Max(p->ngroups, 1));
	for (int g = 0; g < p->ngroups; g++)
	{
		p->groups[g].bytes = b[g];
		p->groups[g].weight = w[g];
		p->groups[g].current = p->groups[g].target = -1;
	}
	p->targets = palloc0_array(EcpPlaceTarget, Max(p->ntargets, 1));
	for (int t = 0; t < p->ntargets; t++)
	{
		p->targets[t].speed = s[t];
		p->targets[t].capacity = INFINITY;
	}
	ecp_placement_check(p);
	return p;
}

/* Names of groups, for messages. */
static void
place_names(EcpPlacement *p, ArrayType *array)
{
	Datum	   *names;
	bool	   *nulls;
	int			n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls,
					  &n);
	place_same_number(n, "names", p->ngroups, "weights");
	for (int g = 0; g < n; g++)
		p->groups[g].name = nulls[g] ? NULL : TextDatumGetCString(names[g]);
}

/*
 * ecp_place_assign(weights, speeds, strategy, capacities, current, factor,
 *					seed, bytes, names)
 *		The number of the target of each weight; 0 for none.
 */
Datum
ecp_place_assign(PG_FUNCTION_ARGS)
{
	EcpPlacement *p;
	Datum	   *result;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) ||
		PG_ARGISNULL(5) || PG_ARGISNULL(6))
		PG_RETURN_NULL();
	p = place_from_arrays(PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_ARRAYTYPE_P(1),
						  PG_ARGISNULL(7) ? NULL : PG_GETARG_ARRAYTYPE_P(7));
	if (!PG_ARGISNULL(8))
		place_names(p, PG_GETARG_ARRAYTYPE_P(8));
	if (!PG_ARGISNULL(3))
	{
		int			n;
		double	   *capacities = place_array(PG_GETARG_ARRAYTYPE_P(3), &n,
											 "capacities", true);

		place_same_number(n, "capacities", p->ntargets, "speeds");
		for (int t = 0; t < n; t++)
			p->targets[t].capacity = capacities[t];
	}
	if (!PG_ARGISNULL(4))
	{
		int		   *current = place_targets(p, PG_GETARG_ARRAYTYPE_P(4));

		for (int g = 0; g < p->ngroups; g++)
			p->groups[g].current = current[g];
	}

	ecp_placement_solve(p, text_to_cstring(PG_GETARG_TEXT_PP(2)),
						PG_GETARG_FLOAT8(5), (uint64) PG_GETARG_INT64(6));

	result = palloc_array(Datum, Max(p->ngroups, 1));
	for (int g = 0; g < p->ngroups; g++)
		result[g] = Int32GetDatum(p->groups[g].target + 1);
	PG_RETURN_ARRAYTYPE_P(construct_array(result, p->ngroups, INT4OID, 4,
										  true, TYPALIGN_INT));
}

/* ecp_place_makespan(weights, speeds, targets) */
Datum
ecp_place_makespan(PG_FUNCTION_ARGS)
{
	EcpPlacement *p = place_from_arrays(PG_GETARG_ARRAYTYPE_P(0),
										PG_GETARG_ARRAYTYPE_P(1), NULL);
	int		   *targets = place_targets(p, PG_GETARG_ARRAYTYPE_P(2));

	for (int g = 0; g < p->ngroups; g++)
		p->groups[g].target = targets[g];
	PG_RETURN_FLOAT8(ecp_placement_makespan(p));
}

/* ecp_place_bound(weights, speeds) */
Datum
ecp_place_bound(PG_FUNCTION_ARGS)
{
	EcpPlacement *p = place_from_arrays(PG_GETARG_ARRAYTYPE_P(0),
										PG_GETARG_ARRAYTYPE_P(1), NULL);

	PG_RETURN_FLOAT8(ecp_placement_lower_bound(p));
}

/*
 * ecp_place_free_bytes(tablespace)
 *		Bytes that are free for us in its file system.
 */
Datum
ecp_place_free_bytes(PG_FUNCTION_ARGS)
{
	Oid			tablespace = PG_GETARG_OID(0);
	char		path[MAXPGPATH];
	struct statvfs fs;

	if (tablespace == DEFAULTTABLESPACE_OID)
		strlcpy(path, "base", sizeof(path));
	else
		snprintf(path, sizeof(path), "pg_tblspc/%u", tablespace);
	if (statvfs(path, &fs) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not get free space of directory \"%s\": %m",
						path)));
	PG_RETURN_FLOAT8((double) fs.f_bavail * fs.f_frsize);
}

/* ecp_table_distributed(relid): does Citus distribute the table? */
Datum
ecp_table_distributed(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(ecp_shards_exist(PG_GETARG_OID(0)));
}

/* ecp_table_refuse_distributed(relid): the table, or an error if it is */
Datum
ecp_table_refuse_distributed(PG_FUNCTION_ARGS)
{
	ecp_shards_refuse(PG_GETARG_OID(0));
	PG_RETURN_OID(PG_GETARG_OID(0));
}

/* Are there rules, also those of transactions that began after ours? */
static bool
place_have_rules(void)
{
	Relation	rules = table_open(get_relname_relid("ecp_place_rules",
													 get_namespace_oid("ecp_storage", false)),
								   AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(rules, NULL);
	TableScanDesc scan = ecp_table_beginscan(rules, snapshot);
	bool		found = table_scan_getnextslot(scan, ForwardScanDirection, slot);

	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	table_close(rules, AccessShareLock);
	return found;
}

/*
 * ecp_place_trigger_wanted()
 *		Is the event trigger to be created (true) or dropped (false)?  NULL if
 *		it exists while there are rules, as it should.
 *
 * What a query sees of both is as old as its transaction where that is
 * REPEATABLE READ.  One of another owner by that name does not count.
 */
Datum
ecp_place_trigger_wanted(PG_FUNCTION_ARGS)
{
	Oid			trigger = get_event_trigger_oid("ecp_place_new_partition", true);
	bool		exists = OidIsValid(trigger) &&
		getExtensionOfObject(EventTriggerRelationId, trigger) ==
		get_extension_oid("ecp_storage", false);
	bool		wanted = place_have_rules();

	if (wanted == exists)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(wanted);
}
