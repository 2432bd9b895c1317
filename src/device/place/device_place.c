/*-------------------------------------------------------------------------
 *
 * device_place.c
 *	  The targets of a place, and the placement problem of a partitioned table.
 *
 * ecp_place_load() turns a partitioned table and a named set of targets into
 * the arrays that device_placement.c works on.
 *
 * The speed and the capacity of a target can be left open.  The speed then is
 * the measured sequential read rate of the tablespace (ecp_calibrate), and the
 * capacity what is free in its file system plus what the groups already hold
 * there, both looked up when the plan is made.
 *
 * Everything runs with the rights of the caller, who must be able to read the
 * tables of targets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/statvfs.h>

#include "catalog/pg_class.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "commands/tablespace.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/shards.h"
#include "device/cost/device_profile.h"
#include "device/measure/device_sql.h"
#include "device/place/device_place.h"

#define PLACE_MB	1e6			/* speeds are in MB/s as on a data sheet */

PG_FUNCTION_INFO_V1(ecp_place_groups);
PG_FUNCTION_INFO_V1(ecp_place_target);

/*
 * ecp_place_target(place, target, speed, capacity)
 *		Add or change a target of a place.
 *
 * The name is a tablespace's or, if there is none of that name, a foreign
 * server's.
 */
Datum
ecp_place_target(PG_FUNCTION_ARGS)
{
	Oid			argtypes[5] = {NAMEOID, NAMEOID, BOOLOID, FLOAT8OID, TEXTOID};
	Datum		values[5];
	char		nulls[6] = "     ";
	char	   *target;
	bool		is_server = false;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("place and target must not be null")));
	target = NameStr(*PG_GETARG_NAME(1));
	if (!OidIsValid(get_tablespace_oid(target, true)))
	{
		if (GetForeignServerByName(target, true) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("there is no tablespace or foreign server \"%s\"",
							target)));
		is_server = true;
	}
	if (get_tablespace_oid(target, true) == GLOBALTABLESPACE_OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only shared relations can be placed in tablespace \"%s\"",
						target)));
	if (is_server && (PG_ARGISNULL(2) || PG_ARGISNULL(3)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("speed and capacity of foreign server \"%s\" must be given",
						target),
				 errdetail("They can be measured only for a tablespace.")));
	if (!PG_ARGISNULL(2) &&
		!(PG_GETARG_FLOAT8(2) > 0 && isfinite(PG_GETARG_FLOAT8(2))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("speed of a target must be positive and finite"),
				 errhint("Give megabytes per second, or null to have the measured speed taken.")));
	if (!PG_ARGISNULL(3) &&
		DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
										  PG_GETARG_DATUM(3))) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capacity of a target must not be negative"),
				 errhint("Give null to have the free space of the file system taken.")));

	for (int i = 0; i < 5; i++)
	{
		int			arg = i < 2 ? i : i - 1;

		if (i == 2)
			values[i] = BoolGetDatum(is_server);
		else
		{
			values[i] = PG_GETARG_DATUM(arg);
			nulls[i] = PG_ARGISNULL(arg) ? 'n' : ' ';
		}
	}

	SPI_connect();
	ecp_sql_execute(SPI_OK_INSERT,
					"INSERT INTO ecp_storage.ecp_place_targets AS o"
					" (place, target, is_server, speed, capacity)"
					" VALUES ($1, $2, $3, $4, pg_catalog.pg_size_bytes($5))"
					" ON CONFLICT (place, target) DO UPDATE SET"
					" is_server = excluded.is_server,"
					" speed = excluded.speed,"
					" capacity = excluded.capacity",
					5, argtypes, values, nulls);
	SPI_finish();
	PG_RETURN_VOID();
}

/* Bytes that are free for us in the file system of a tablespace. */
static double
place_free_bytes(Oid tablespace)
{
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
	return (double) fs.f_bavail * fs.f_frsize;
}

/* MB/s of a tablespace that has been measured; an error if it has not. */
static double
place_measured_speed(const char *target)
{
	EcpDeviceProfile profile;

	if (!ecp_device_profile_read(get_tablespace_oid(target, false), &profile))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("speed of target \"%s\" is not known", target),
				 errhint("Measure the tablespace with ecp_calibrate(), or give a speed to ecp_place_target().")));
	return profile.seq_read_mb_s;
}

static void
place_load_targets(EcpPlaceProblem *problem, const char *place)
{
	EcpPlacement *p = &problem->placement;
	Oid			argtypes[1] = {NAMEOID};
	Datum		values[1] = {DirectFunctionCall1(namein,
												 CStringGetDatum(place))};
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext spi;

	SPI_connect();
	ecp_sql_execute(SPI_OK_SELECT,
					"SELECT target::pg_catalog.text, is_server, speed,"
					" capacity::pg_catalog.float8"
					" FROM ecp_storage.ecp_place_targets"
					" WHERE place OPERATOR(pg_catalog.=) $1"
					" ORDER BY target",
					1, argtypes, values, NULL);
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("place \"%s\" has no targets", place),
				 errhint("Add them with ecp_place_target().")));

	spi = MemoryContextSwitchTo(outer);
	p->ntargets = (int) SPI_processed;
	p->targets = palloc0_array(EcpPlaceTarget, p->ntargets);
	problem->is_server = palloc0_array(bool, p->ntargets);
	for (int t = 0; t < p->ntargets; t++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[t];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		Datum		datum;
		bool		isnull;

		p->targets[t].name = SPI_getvalue(tuple, desc, 1);
		problem->is_server[t] =
			DatumGetBool(SPI_getbinval(tuple, desc, 2, &isnull));
		/* check now, before anything is moved */
		if (problem->is_server[t] ?
			GetForeignServerByName(p->targets[t].name, true) == NULL :
			!OidIsValid(get_tablespace_oid(p->targets[t].name, true)))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("target \"%s\" of place \"%s\" does not exist any more",
							p->targets[t].name, place),
					 errhint("Delete its row from ecp_storage.ecp_place_targets.")));
		datum = SPI_getbinval(tuple, desc, 3, &isnull);
		p->targets[t].speed = PLACE_MB *
			(isnull ? place_measured_speed(p->targets[t].name) :
			 DatumGetFloat8(datum));
		datum = SPI_getbinval(tuple, desc, 4, &isnull);
		/* -1: look it up when we know what the groups hold there */
		p->targets[t].capacity = isnull ? -1 : DatumGetFloat8(datum);
	}
	MemoryContextSwitchTo(spi);
	SPI_finish();
}

/*
 * The groups of table $1: its leaf partitions, or itself.  The columns are those
 * of ecp_place_groups().
 */
static const char *const groups_query =
"WITH here AS ("
"  SELECT t.spcname"
"  FROM pg_catalog.pg_database AS d"
"    JOIN pg_catalog.pg_tablespace AS t ON t.oid OPERATOR(pg_catalog.=) d.dattablespace"
"  WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
"), leaf AS ("
"  SELECT relid::pg_catalog.oid AS relid"
"  FROM pg_catalog.pg_partition_tree($1) WHERE isleaf"
"  UNION"
"  SELECT $1::pg_catalog.oid"
")"
" SELECT c.oid::pg_catalog.regclass, pg_catalog.pg_total_relation_size(c.oid),"
"   pg_catalog.pg_stat_get_numscans(c.oid), COALESCE(t.spcname, here.spcname),"
"   EXISTS (SELECT FROM pg_catalog.pg_index AS x"
"       JOIN pg_catalog.pg_class AS i ON i.oid OPERATOR(pg_catalog.=) x.indexrelid"
"     WHERE x.indrelid OPERATOR(pg_catalog.=) c.oid"
"       AND i.reltablespace OPERATOR(pg_catalog.<>) c.reltablespace),"
"   pg_catalog.pg_get_expr(c.relpartbound, c.oid)"
" FROM leaf"
"   JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) leaf.relid"
"   LEFT JOIN pg_catalog.pg_tablespace AS t ON t.oid OPERATOR(pg_catalog.=) c.reltablespace"
"   CROSS JOIN here"
" WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,m}'::pg_catalog.\"char\"[])";

/* Execute groups_query, or a query that contains it. */
static void
place_select_groups(Oid parent, const char *sql)
{
	Oid			argtypes[1] = {REGCLASSOID};
	Datum		values[1] = {ObjectIdGetDatum(parent)};

	ecp_shards_refuse(parent);
	ecp_sql_execute(SPI_OK_SELECT, sql, 1, argtypes, values, NULL);
}

/* ecp_place_groups(parent regclass) */
Datum
ecp_place_groups(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	place_select_groups(PG_GETARG_OID(0), groups_query);
	ecp_sql_return_rows(fcinfo);
	SPI_finish();
	return (Datum) 0;
}

static void
place_load_groups(EcpPlaceProblem *problem, bool by_scans)
{
	EcpPlacement *p = &problem->placement;
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext spi;

	SPI_connect();
	place_select_groups(problem->parent,
						psprintf("SELECT grp::pg_catalog.oid, grp::pg_catalog.text,"
								 " bytes::pg_catalog.float8, scans::pg_catalog.float8,"
								 " tablespace::pg_catalog.text, split, bound"
								 " FROM (%s) AS g (grp, bytes, scans, tablespace, split, bound)"
								 " ORDER BY grp::pg_catalog.oid", groups_query));

	spi = MemoryContextSwitchTo(outer);
	p->ngroups = (int) SPI_processed;
	p->groups = palloc0_array(EcpPlaceGroup, Max(p->ngroups, 1));
	problem->relid = palloc0_array(Oid, Max(p->ngroups, 1));
	problem->from = palloc0_array(char *, Max(p->ngroups, 1));
	problem->bound = palloc0_array(char *, Max(p->ngroups, 1));
	problem->split = palloc0_array(bool, Max(p->ngroups, 1));
	for (int g = 0; g < p->ngroups; g++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[g];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		EcpPlaceGroup *group = &p->groups[g];
		bool		isnull;
		double		scans;

		problem->relid[g] =
			DatumGetObjectId(SPI_getbinval(tuple, desc, 1, &isnull));
		group->name = SPI_getvalue(tuple, desc, 2);
		group->bytes = DatumGetFloat8(SPI_getbinval(tuple, desc, 3, &isnull));
		scans = DatumGetFloat8(SPI_getbinval(tuple, desc, 4, &isnull));
		group->weight = by_scans ? group->bytes * (1 + scans) : group->bytes;
		problem->from[g] = SPI_getvalue(tuple, desc, 5);
		problem->split[g] =
			DatumGetBool(SPI_getbinval(tuple, desc, 6, &isnull));
		problem->bound[g] = SPI_getvalue(tuple, desc, 7);
		group->current = group->target = -1;
		for (int t = 0; t < p->ntargets; t++)
		{
			if (!problem->is_server[t] && !problem->split[g] &&
				strcmp(p->targets[t].name, problem->from[g]) == 0)
				group->current = t;
		}
	}
	MemoryContextSwitchTo(spi);
	SPI_finish();
}

/*
 * ecp_place_load
 *		Read groups and targets.  Everything is allocated in the current
 *		memory context.
 *
 * A group with an index in another tablespace counts as being on no target, so
 * that every plan brings it together.
 */
EcpPlaceProblem *
ecp_place_load(Oid parent, const char *place, const char *weight)
{
	EcpPlaceProblem *problem = palloc0_object(EcpPlaceProblem);
	EcpPlacement *p = &problem->placement;
	bool		by_scans = strcmp(weight, "scans") == 0;
	char		relkind;

	if (!by_scans && strcmp(weight, "bytes") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized weight \"%s\"", weight),
				 errhint("Valid weights are \"bytes\" and \"scans\".")));
	(void) ecp_sql_relname(parent); /* an error if there is none */
	relkind = get_rel_relkind(parent);
	if (relkind != RELKIND_PARTITIONED_TABLE &&
		relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view",
						get_rel_name(parent))));
	problem->parent = parent;
	place_load_targets(problem, place);
	place_load_groups(problem, by_scans);

	for (int t = 0; t < p->ntargets; t++)
	{
		if (p->targets[t].capacity >= 0)
			continue;
		p->targets[t].capacity =
			place_free_bytes(get_tablespace_oid(p->targets[t].name, false));
		for (int g = 0; g < p->ngroups; g++)
		{
			if (p->groups[g].current == t)
				p->targets[t].capacity += p->groups[g].bytes;
		}
	}
	ecp_placement_check(p);
	return problem;
}
