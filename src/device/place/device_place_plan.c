/*-------------------------------------------------------------------------
 *
 * device_place_plan.c
 *	  Placement seen from SQL: targets, plans, comparison of strategies.
 *
 * ecp_place_load() turns a partitioned table and a named set of targets into
 * the arrays that device_placement.c works on; ecp_place_plan() and
 * ecp_place_compare() show what comes out.  The same algorithms are callable
 * on plain arrays, ecp_place_assign() and its companions, for "what if" and
 * for the tests.
 *
 * A target's speed and capacity may be left open.  The speed then is the
 * measured sequential read rate of the tablespace (ecp_calibrate), and the
 * capacity what its file system has free plus what the groups already hold
 * there, both looked up when the plan is made.
 *
 * Everything runs with the rights of the caller: who may read the tables of
 * targets may plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/statvfs.h>

#include "catalog/pg_class.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablespace.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/sql_text.h"
#include "device/cost/device_profile.h"
#include "device/place/device_place.h"

#define PLACE_MB	1e6			/* speeds are in MB/s as on a data sheet */

/* Weights or speeds in an array of the caller's. */
#define PLACE_ARRAY_MAX	1000000

/* Pieces that a comparison places at random. */
#define PLACE_PIECES_MAX	10e6

PG_FUNCTION_INFO_V1(ecp_place_assign);
PG_FUNCTION_INFO_V1(ecp_place_bound);
PG_FUNCTION_INFO_V1(ecp_place_makespan);
PG_FUNCTION_INFO_V1(ecp_place_target);
PG_FUNCTION_INFO_V1(ecp_place_plan);
PG_FUNCTION_INFO_V1(ecp_place_compare);

/*
 * Arrays of the caller
 */

static void
place_check_array(const ArrayType *array, const char *what)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array of %s must have one dimension", what)));
	if (ARR_NDIM(array) == 1 && ARR_DIMS(array)[0] > PLACE_ARRAY_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("array of %s must not have more than %d elements",
						what, PLACE_ARRAY_MAX)));
}

static double *
place_array(ArrayType *array, int *n, const char *what, bool zero_allowed)
{
	Datum	   *elems;
	bool	   *nulls;
	double	   *values;

	place_check_array(array, what);
	deconstruct_array(array, FLOAT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &elems, &nulls, n);
	values = palloc_array(double, Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		values[i] = nulls[i] ? -1 : DatumGetFloat8(elems[i]);
		if (!(values[i] > 0 || (zero_allowed && values[i] == 0)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must not be null or negative%s", what,
							zero_allowed ? "" : " or zero")));
	}
	return values;
}

/* Numbers of targets, from 1; NULL means none. */
static int *
place_int_array(ArrayType *array, int n, int ntargets)
{
	Datum	   *elems;
	bool	   *nulls;
	int			nelems;
	int		   *values = palloc_array(int, Max(n, 1));

	place_check_array(array, "targets");
	deconstruct_array(array, INT4OID, 4, true, TYPALIGN_INT,
					  &elems, &nulls, &nelems);
	if (nelems != n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("number of targets given (%d) differs from number of weights (%d)",
						nelems, n)));
	for (int i = 0; i < n; i++)
	{
		int			target = nulls[i] ? 0 : DatumGetInt32(elems[i]);

		if (!nulls[i] && (target < 1 || target > ntargets))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("target %d does not exist", target),
					 errdetail("Targets are numbered from 1 to %d.",
							   ntargets)));
		values[i] = target - 1;
	}
	return values;
}

static EcpPlacement *
place_from_arrays(ArrayType *weights, ArrayType *speeds)
{
	EcpPlacement *p = palloc0_object(EcpPlacement);
	double	   *w = place_array(weights, &p->ngroups, "weights", true);
	double	   *s = place_array(speeds, &p->ntargets, "speeds", false);

	p->groups = palloc0_array(EcpPlaceGroup, Max(p->ngroups, 1));
	for (int g = 0; g < p->ngroups; g++)
	{
		p->groups[g].bytes = p->groups[g].weight = w[g];
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

/*
 * ecp_place_assign(weights, speeds, strategy, capacities, current, factor,
 *					seed)
 *		The number of the target of each weight.
 */
Datum
ecp_place_assign(PG_FUNCTION_ARGS)
{
	EcpPlacement *p;
	Datum	   *result;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) ||
		PG_ARGISNULL(5) || PG_ARGISNULL(6))
		PG_RETURN_NULL();
	p = place_from_arrays(PG_GETARG_ARRAYTYPE_P(0), PG_GETARG_ARRAYTYPE_P(1));

	if (!PG_ARGISNULL(3))
	{
		int			n;
		double	   *capacities = place_array(PG_GETARG_ARRAYTYPE_P(3), &n,
											 "capacities", true);

		if (n != p->ntargets)
			ereport(ERROR,
					(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
					 errmsg("number of capacities (%d) differs from number of speeds (%d)",
							n, p->ntargets)));
		for (int t = 0; t < n; t++)
			p->targets[t].capacity = capacities[t];
	}
	if (!PG_ARGISNULL(4))
	{
		int		   *current = place_int_array(PG_GETARG_ARRAYTYPE_P(4),
											  p->ngroups, p->ntargets);

		for (int g = 0; g < p->ngroups; g++)
			p->groups[g].current = current[g];
	}

	ecp_placement_solve(p,
						ecp_placement_strategy(text_to_cstring(PG_GETARG_TEXT_PP(2))),
						PG_GETARG_FLOAT8(5), (uint64) PG_GETARG_INT64(6));

	result = palloc_array(Datum, Max(p->ngroups, 1));
	for (int g = 0; g < p->ngroups; g++)
		result[g] = Int32GetDatum(p->groups[g].target + 1);
	PG_RETURN_ARRAYTYPE_P(construct_array(result, p->ngroups, INT4OID, 4,
										  true, TYPALIGN_INT));
}

/*
 * ecp_place_makespan(weights, speeds, targets)
 */
Datum
ecp_place_makespan(PG_FUNCTION_ARGS)
{
	EcpPlacement *p = place_from_arrays(PG_GETARG_ARRAYTYPE_P(0),
										PG_GETARG_ARRAYTYPE_P(1));
	int		   *targets = place_int_array(PG_GETARG_ARRAYTYPE_P(2),
										  p->ngroups, p->ntargets);

	for (int g = 0; g < p->ngroups; g++)
		p->groups[g].target = targets[g];
	PG_RETURN_FLOAT8(ecp_placement_makespan(p));
}

/*
 * ecp_place_bound(weights, speeds)
 */
Datum
ecp_place_bound(PG_FUNCTION_ARGS)
{
	EcpPlacement *p = place_from_arrays(PG_GETARG_ARRAYTYPE_P(0),
										PG_GETARG_ARRAYTYPE_P(1));

	PG_RETURN_FLOAT8(ecp_placement_lower_bound(p));
}

/*
 * The catalogs
 */

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
	Oid			nspoid = get_func_namespace(fcinfo->flinfo->fn_oid);
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
	if (SPI_execute_with_args(ecp_sql_text(nspoid,
										   "INSERT INTO %N.ecp_place_targets AS o"
										   " (place, target, is_server, speed, capacity)"
										   " VALUES ($1, $2, $3, $4, pg_catalog.pg_size_bytes($5))"
										   " ON CONFLICT (place, target) DO UPDATE SET"
										   " is_server = excluded.is_server,"
										   " speed = excluded.speed,"
										   " capacity = excluded.capacity"),
							  5, argtypes, values, nulls, false, 0) < 0)
		elog(ERROR, "could not store placement target");
	SPI_finish();
	PG_RETURN_VOID();
}

/* Bytes that a tablespace's file system would still take from us. */
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
place_load_targets(EcpPlaceProblem *problem, Oid nspoid, const char *place)
{
	EcpPlacement *p = &problem->placement;
	Oid			argtypes[1] = {NAMEOID};
	Datum		values[1] = {DirectFunctionCall1(namein,
												 CStringGetDatum(place))};
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext spi;

	SPI_connect();
	if (SPI_execute_with_args(ecp_sql_text(nspoid,
										   "SELECT target::pg_catalog.text, is_server, speed,"
										   " capacity::pg_catalog.float8"
										   " FROM %N.ecp_place_targets"
										   " WHERE place OPERATOR(pg_catalog.=) $1"
										   " ORDER BY target"),
							  1, argtypes, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read placement targets");
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
		/* before anything is moved, not when its turn has come */
		if (problem->is_server[t] ?
			GetForeignServerByName(p->targets[t].name, true) == NULL :
			!OidIsValid(get_tablespace_oid(p->targets[t].name, true)))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("target \"%s\" of place \"%s\" does not exist any more",
							p->targets[t].name, place),
					 errhint("Delete its row from ecp_place_targets.")));
		datum = SPI_getbinval(tuple, desc, 3, &isnull);
		p->targets[t].speed = PLACE_MB *
			(isnull ? place_measured_speed(p->targets[t].name) :
			 DatumGetFloat8(datum));
		datum = SPI_getbinval(tuple, desc, 4, &isnull);
		/* -1: to be looked up when we know what the groups hold there */
		p->targets[t].capacity = isnull ? -1 : DatumGetFloat8(datum);
	}
	MemoryContextSwitchTo(spi);
	SPI_finish();
}

static void
place_load_groups(EcpPlaceProblem *problem, Oid nspoid, bool by_scans)
{
	EcpPlacement *p = &problem->placement;
	Oid			argtypes[1] = {REGCLASSOID};
	Datum		values[1] = {ObjectIdGetDatum(problem->parent)};
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext spi;

	SPI_connect();
	if (SPI_execute_with_args(ecp_sql_text(nspoid,
										   "SELECT grp::pg_catalog.oid, grp::pg_catalog.text,"
										   " bytes::pg_catalog.float8, scans::pg_catalog.float8,"
										   " tablespace::pg_catalog.text, split, bound"
										   " FROM %N.ecp_place_groups($1)"
										   " ORDER BY grp::pg_catalog.oid"),
							  1, argtypes, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read placement groups");

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
 * A group of which an index is in another tablespace counts as being on no
 * target, so that every plan brings it together.
 */
EcpPlaceProblem *
ecp_place_load(Oid nspoid, Oid parent, const char *place, const char *weight)
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
	place_load_targets(problem, nspoid, place);
	place_load_groups(problem, nspoid, by_scans);

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

/*
 * The statements that bring a group to its target.  To bring it to a foreign
 * server takes more than an ALTER TABLE, and is left to the DBA.
 *
 * No name stands in a comment: quoted, it may still have a line break, and what
 * follows that would be executed.
 */
static char *
place_move_script(const EcpPlaceProblem *problem, int g)
{
	const EcpPlacement *p = &problem->placement;
	int			t = p->groups[g].target;
	const char *target = quote_identifier(p->targets[t].name);
	const char *group = ecp_sql_relname(problem->relid[g]);
	const char *parent = ecp_sql_relname(problem->parent);
	char	   *relname;
	char	   *nspname;
	char	   *aside;

	if (!problem->is_server[t])
		return psprintf("ALTER TABLE %s SET TABLESPACE %s; -- and its indexes",
						group, target);
	if (problem->bound[g] == NULL)
		return pstrdup("-- not a partition: cannot be moved to a server");

	relname = get_rel_name(problem->relid[g]);
	nspname = get_namespace_name(get_rel_namespace(problem->relid[g]));
	aside = makeObjectName(relname, "moved", NULL);
	return psprintf("-- after CREATE TABLE of this name on the server:\n"
					"ALTER TABLE %s DETACH PARTITION %s;\n"
					"ALTER TABLE %s RENAME TO %s;\n"
					"CREATE FOREIGN TABLE %s PARTITION OF %s %s SERVER %s"
					" OPTIONS (schema_name %s, table_name %s);\n"
					"INSERT INTO %s SELECT * FROM %s;\n"
					"DROP TABLE %s;",
					parent, group,
					group, quote_identifier(aside),
					group, parent, problem->bound[g], target,
					quote_literal_cstr(nspname), quote_literal_cstr(relname),
					group, quote_qualified_identifier(nspname, aside),
					quote_qualified_identifier(nspname, aside));
}

/*
 * ecp_place_plan(parent, place, strategy, weight, factor, seed)
 *		A row for each group: where it is and where it should be.
 */
Datum
ecp_place_plan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	EcpPlaceProblem *problem;
	EcpPlacement *p;

	InitMaterializedSRF(fcinfo, 0);
	problem = ecp_place_load(get_func_namespace(fcinfo->flinfo->fn_oid),
							 PG_GETARG_OID(0),
							 NameStr(*PG_GETARG_NAME(1)),
							 text_to_cstring(PG_GETARG_TEXT_PP(3)));
	p = &problem->placement;
	ecp_placement_solve(p,
						ecp_placement_strategy(text_to_cstring(PG_GETARG_TEXT_PP(2))),
						PG_GETARG_FLOAT8(4), (uint64) PG_GETARG_INT64(5));

	for (int g = 0; g < p->ngroups; g++)
	{
		EcpPlaceGroup *group = &p->groups[g];
		bool		move = group->target >= 0 &&
			group->target != group->current;
		Datum		values[7];
		bool		nulls[7] = {0};

		values[0] = ObjectIdGetDatum(problem->relid[g]);
		values[1] = Int64GetDatum((int64) group->bytes);
		values[2] = Float8GetDatum(group->weight);
		values[3] = DirectFunctionCall1(namein,
										CStringGetDatum(problem->from[g]));
		nulls[4] = group->target < 0;
		if (!nulls[4])
			values[4] = DirectFunctionCall1(namein,
											CStringGetDatum(p->targets[group->target].name));
		values[5] = BoolGetDatum(move);
		nulls[6] = !move;
		if (move)
			values[6] = CStringGetTextDatum(place_move_script(problem, g));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
							 values, nulls);
	}
	return (Datum) 0;
}

/*
 * Comparison
 */

/* What a placement of whole groups, or of their pieces, amounts to. */
typedef struct PlaceOutcome
{
	double		makespan;
	double		moved_bytes;
	double		remote_bytes;	/* not on the target where its group is read */
	int			moved_groups;
	int			split_groups;
	int			unplaced_groups;
} PlaceOutcome;

static void
place_outcome_groups(const EcpPlaceProblem *problem, PlaceOutcome *out,
					 bool current)
{
	const EcpPlacement *p = &problem->placement;

	memset(out, 0, sizeof(*out));
	out->makespan = ecp_placement_makespan(p);
	for (int g = 0; g < p->ngroups; g++)
	{
		const EcpPlaceGroup *group = &p->groups[g];

		if (current && problem->split[g])
			out->split_groups++;
		if (group->target < 0)
			out->unplaced_groups++;
		else if (group->target != group->current)
		{
			out->moved_groups++;
			out->moved_bytes += group->bytes;
		}
	}
}

/*
 * place_outcome_files
 *		Every piece of every group on a target of its own choice.
 *
 * This is what a file system does that knows nothing of groups.  A group is
 * read by one worker, next to the target that has most of it; all other
 * pieces cross the network.
 */
static void
place_outcome_files(const EcpPlaceProblem *problem, double piece_bytes,
					uint64 seed, PlaceOutcome *out)
{
	const EcpPlacement *p = &problem->placement;
	EcpPlacement pieces = *p;
	int		   *group_of;
	double		npieces = 0;
	int			n = 0;

	memset(out, 0, sizeof(*out));
	for (int g = 0; g < p->ngroups; g++)
		npieces += ceil(p->groups[g].bytes / piece_bytes);
	if (npieces > PLACE_PIECES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many pieces to place at random: %.0f", npieces),
				 errhint("Give a larger size of pieces.")));
	pieces.groups = palloc0(mul_size(Max((Size) npieces, 1),
									 sizeof(EcpPlaceGroup)));
	group_of = palloc0_array(int, Max((Size) npieces, 1));
	for (int g = 0; g < p->ngroups; g++)
	{
		double		left = p->groups[g].bytes;

		CHECK_FOR_INTERRUPTS();
		for (int i = (int) ceil(left / piece_bytes); i > 0; i--)
		{
			EcpPlaceGroup *piece = &pieces.groups[n];

			piece->bytes = Min(left, piece_bytes);
			left -= piece->bytes;
			piece->weight = piece->bytes *
				p->groups[g].weight / p->groups[g].bytes;
			piece->current = p->groups[g].current;
			group_of[n++] = g;
		}
	}
	pieces.ngroups = n;
	ecp_placement_solve(&pieces, ECP_PLACE_RANDOM, 0, seed);

	out->makespan = ecp_placement_makespan(&pieces);
	out->moved_bytes = ecp_placement_moved_bytes(&pieces);
	for (int first = 0, last; first < n; first = last)
	{
		double	   *held = palloc0_array(double, p->ntargets);
		double		most = 0;
		double		all = 0;
		bool		moved = false;

		CHECK_FOR_INTERRUPTS();
		for (last = first; last < n && group_of[last] == group_of[first]; last++)
		{
			const EcpPlaceGroup *piece = &pieces.groups[last];

			held[piece->target] += piece->bytes;
			most = Max(most, held[piece->target]);
			all += piece->bytes;
			moved = moved || piece->target != piece->current;
		}
		out->remote_bytes += all - most;
		out->split_groups += most < all ? 1 : 0;
		out->moved_groups += moved ? 1 : 0;
		pfree(held);
	}
}

static void
place_put_outcome(ReturnSetInfo *rsinfo, const char *strategy,
				  const PlaceOutcome *out, double bound, double guarantee)
{
	Datum		values[9];
	bool		nulls[9] = {0};

	values[0] = CStringGetTextDatum(strategy);
	values[1] = Float8GetDatum(out->makespan);
	values[2] = Float8GetDatum(bound);
	nulls[3] = bound <= 0;
	values[3] = Float8GetDatum(bound > 0 ?
							   100.0 * (out->makespan / bound - 1) : 0);
	nulls[4] = guarantee == 0 || isinf(guarantee);
	values[4] = Float8GetDatum(guarantee);
	values[5] = Int64GetDatum((int64) out->moved_bytes);
	values[6] = Int32GetDatum(out->moved_groups);
	values[7] = Int32GetDatum(out->split_groups);
	values[8] = Int64GetDatum((int64) out->remote_bytes);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * ecp_place_compare(parent, place, weight, factor, piece_bytes, seed)
 *		A row for each strategy.  "current" is left out while a group is on
 *		none of the targets, since it cannot be compared then.
 */
Datum
ecp_place_compare(PG_FUNCTION_ARGS)
{
	static const char *const strategies[] =
	{"current", "random", "online", "lpt", "rebalance"};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	EcpPlaceProblem *problem;
	EcpPlacement *p;
	PlaceOutcome out;
	double		piece_bytes = (double) PG_GETARG_INT64(4);
	uint64		seed = (uint64) PG_GETARG_INT64(5);
	double		bound;

	if (piece_bytes <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size of pieces must be positive")));
	InitMaterializedSRF(fcinfo, 0);
	problem = ecp_place_load(get_func_namespace(fcinfo->flinfo->fn_oid),
							 PG_GETARG_OID(0),
							 NameStr(*PG_GETARG_NAME(1)),
							 text_to_cstring(PG_GETARG_TEXT_PP(2)));
	p = &problem->placement;
	bound = ecp_placement_lower_bound(p);

	place_outcome_files(problem, piece_bytes, seed, &out);
	place_put_outcome(rsinfo, "random_file", &out, bound, 0);
	for (int i = 0; i < lengthof(strategies); i++)
	{
		EcpPlaceStrategy strategy = ecp_placement_strategy(strategies[i]);

		ecp_placement_solve(p, strategy, PG_GETARG_FLOAT8(3), seed);
		place_outcome_groups(problem, &out, strategy == ECP_PLACE_CURRENT);
		if (out.unplaced_groups > 0)
			continue;
		place_put_outcome(rsinfo,
						  strategy == ECP_PLACE_RANDOM ? "random_group" : strategies[i],
						  &out, bound,
						  strategy == ECP_PLACE_LPT ? ecp_placement_guarantee(p) : 0);
	}
	return (Datum) 0;
}
