/*-------------------------------------------------------------------------
 *
 * device_place_plan.c
 *	  Placement seen from SQL: plans, comparison of strategies, arrays.
 *
 * ecp_place_plan() and ecp_place_compare() show what comes out for a
 * partitioned table and the targets of a place (device_place.c).  The same
 * algorithms are callable on plain arrays, ecp_place_assign() and its
 * companions, for "what if" and for the tests.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "base/user_array.h"
#include "device/measure/device_sql.h"
#include "device/place/device_place.h"

/* Weights or speeds in an array of the caller's. */
#define PLACE_ARRAY_MAX	1000000

/* Pieces that a comparison places at random. */
#define PLACE_PIECES_MAX	10e6

PG_FUNCTION_INFO_V1(ecp_place_assign);
PG_FUNCTION_INFO_V1(ecp_place_bound);
PG_FUNCTION_INFO_V1(ecp_place_makespan);
PG_FUNCTION_INFO_V1(ecp_place_plan);
PG_FUNCTION_INFO_V1(ecp_place_compare);

/*
 * Arrays of the caller
 */

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

/*
 * The indexes of n targets, given by their numbers from 1; -1 for NULL, which
 * means none.
 */
static int *
place_targets(ArrayType *array, int n, int ntargets)
{
	int			nelems;
	bool	   *nulls;
	int		   *values = ecp_user_array_int4(array, "targets", 0,
											 PLACE_ARRAY_MAX, &nelems, &nulls);

	if (nelems != n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("number of targets given (%d) differs from number of weights (%d)",
						nelems, n)));
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i] && (values[i] < 1 || values[i] > ntargets))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("target %d does not exist", values[i]),
					 errdetail("Targets are numbered from 1 to %d.",
							   ntargets)));
		values[i]--;
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
		int		   *current = place_targets(PG_GETARG_ARRAYTYPE_P(4),
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
	int		   *targets = place_targets(PG_GETARG_ARRAYTYPE_P(2),
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
 * The statements that move a group to its target.  Moving it to a foreign
 * server takes more than an ALTER TABLE, and is left to the DBA.
 *
 * Comments contain no names: even quoted, a name can have a line break, and what
 * follows it would be executed.
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
	problem = ecp_place_load(PG_GETARG_OID(0),
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

/* Figures of a placement of whole groups, or of their pieces. */
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
 *		Place every piece of every group at random.
 *
 * A file system that knows nothing of groups does this.  A group is read by
 * one worker, next to the target that has most of it; all other pieces cross
 * the network.
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

	Assert(piece_bytes > 0);
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
	problem = ecp_place_load(PG_GETARG_OID(0),
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
