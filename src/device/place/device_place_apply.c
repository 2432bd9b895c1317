/*-------------------------------------------------------------------------
 *
 * device_place_apply.c
 *	  Carrying out a placement: moving groups, placing new partitions.
 *
 * ecp_place_apply() makes a plan and carries it out by ALTER TABLE and ALTER
 * INDEX ... SET TABLESPACE, one group in each transaction.  A group is locked
 * (ACCESS EXCLUSIVE) only while it is copied.  The plan is not stored: a plan
 * of the same strategy, made after part of it was carried out, leaves in place
 * what has been moved, so calling the procedure again resumes it.
 *
 * Moves are taken in turn from the pairs (origin, target), so that no pair of
 * devices works for long while others idle; within a pair the largest first.
 * A move must fit on its target when it is made, not only at the end: one that
 * does not is postponed until others have made room.  A group that is in use
 * longer than lock_timeout is skipped and reported.
 *
 * The statements run with the rights of the caller, who must own the tables
 * and have CREATE on the tablespaces.
 *
 * ecp_place_new_partition() is the function of the event trigger, which exists
 * while there is a rule: ecp_place_rules_changed() sees to that.  Moving a new
 * partition is free, since it is empty; so the rule with the longest prefix
 * that matches its name decides at once where it goes: to a tablespace, or to
 * the target of a place that online LPT picks.  It runs for every role that
 * creates a partition, whatever its rights on the schema of the extension; so
 * the rules are looked up as the owner of the extension, and the partition is
 * moved as the caller.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/compat.h"
#include "base/shards.h"
#include "catalog/dependency.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_event_trigger.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "commands/tablespace.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "device/measure/device_sql.h"
#include "device/place/device_place.h"

PG_FUNCTION_INFO_V1(ecp_place_apply);
PG_FUNCTION_INFO_V1(ecp_place_new_partition);
PG_FUNCTION_INFO_V1(ecp_place_rule);
PG_FUNCTION_INFO_V1(ecp_place_rules_changed);

/* Moves still to be made, and where everything is in the meantime. */
typedef struct PlaceMoves
{
	EcpPlaceProblem *problem;
	double	   *used;			/* bytes on each target now */
	bool	   *pending;		/* per group */
	int		   *pair_turn;		/* (origin + 1, target): moves made so far */
	double		budget;			/* bytes that may still be moved */
	double		moved_bytes;
	int			nmoved;
} PlaceMoves;

static void
place_moves_init(PlaceMoves *moves, EcpPlaceProblem *problem, double budget)
{
	EcpPlacement *p = &problem->placement;

	memset(moves, 0, sizeof(PlaceMoves));
	moves->problem = problem;
	moves->budget = budget;
	moves->used = palloc0_array(double, p->ntargets);
	moves->pending = palloc0_array(bool, Max(p->ngroups, 1));
	moves->pair_turn = palloc0_array(int, mul_size(p->ntargets + 1, p->ntargets));
	for (int g = 0; g < p->ngroups; g++)
	{
		const EcpPlaceGroup *group = &p->groups[g];

		if (group->current >= 0)
			moves->used[group->current] += group->bytes;
		moves->pending[g] = group->target >= 0 &&
			group->target != group->current &&
			!problem->is_server[group->target];
	}
}

static int *
place_moves_turn(PlaceMoves *moves, const EcpPlaceGroup *group)
{
	Assert(group->current >= -1 && group->target >= 0);
	return &moves->pair_turn[(Size) (group->current + 1) *
							 moves->problem->placement.ntargets +
							 group->target];
}

/*
 * The next move: of the pair that had the fewest turns, the largest one; -1 if
 * none is left that fits on its target and in the budget.
 */
static int
place_moves_next(PlaceMoves *moves)
{
	EcpPlacement *p = &moves->problem->placement;
	int			best = -1;

	for (int g = 0; g < p->ngroups; g++)
	{
		EcpPlaceGroup *group = &p->groups[g];
		int			turns;
		int			best_turns;

		if (!moves->pending[g] || group->bytes > moves->budget ||
			moves->used[group->target] + group->bytes >
			p->targets[group->target].capacity)
			continue;
		if (best < 0)
		{
			best = g;
			continue;
		}
		turns = *place_moves_turn(moves, group);
		best_turns = *place_moves_turn(moves, &p->groups[best]);
		if (turns < best_turns ||
			(turns == best_turns && group->bytes > p->groups[best].bytes))
			best = g;
	}
	return best;
}

static void
place_execute(const char *sql)
{
	int			rc = SPI_execute(sql, false, 0);

	if (rc < 0)
		elog(ERROR, "could not execute \"%s\": %s", sql,
			 SPI_result_code_string(rc));
}

/*
 * Move a table, its TOAST table and all its indexes.  The table is locked
 * first, since locking two indexes first could deadlock.
 */
static void
place_move_relation(Oid relid, const char *tablespace)
{
	const char *relname = ecp_sql_relname(relid);
	const char *target = quote_identifier(tablespace);
	Relation	rel;
	List	   *indexes;
	ListCell   *lc;

	Assert(OidIsValid(relid));
	place_execute(psprintf("ALTER TABLE %s SET TABLESPACE %s",
						   relname, target));
	rel = relation_open(relid, NoLock);
	indexes = RelationGetIndexList(rel);
	relation_close(rel, NoLock);
	foreach(lc, indexes)
		place_execute(psprintf("ALTER INDEX %s SET TABLESPACE %s",
							   ecp_sql_relname(lfirst_oid(lc)), target));
}

/*
 * Move one group inside a subtransaction.  Returns false, with everything
 * rolled back, if the table is locked by another transaction or was dropped;
 * rethrows other errors.
 */
static bool
place_move_try(Oid relid, const char *group, const char *tablespace)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	ResourceOwner oldowner = CurrentResourceOwner;
	volatile bool moved = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(oldcontext);
	PG_TRY();
	{
		place_move_relation(relid, tablespace);
		ReleaseCurrentSubTransaction();
		moved = true;
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(oldcontext);
		edata = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(oldcontext);
		CurrentResourceOwner = oldowner;
		if (edata->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
			edata->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED &&
			edata->sqlerrcode != ERRCODE_UNDEFINED_TABLE &&
			edata->sqlerrcode != ERRCODE_OBJECT_IN_USE)
			ReThrowError(edata);
		ereport(NOTICE,
				(errmsg("group \"%s\" was not moved: %s",
						group, edata->message),
				 errhint("Call ecp_place_apply() again to try it once more.")));
		FreeErrorData(edata);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(oldcontext);
	CurrentResourceOwner = oldowner;
	return moved;
}

/* Note that a group was moved. */
static void
place_moves_done(PlaceMoves *moves, const EcpPlaceGroup *group)
{
	moves->budget -= group->bytes;
	moves->moved_bytes += group->bytes;
	moves->nmoved++;
	moves->used[group->target] += group->bytes;
	if (group->current >= 0)
		moves->used[group->current] -= group->bytes;
}

/* May ecp_place_apply() run here, with these arguments? */
static void
place_apply_check(FunctionCallInfo fcinfo)
{
	bool		atomic = true;

	if (fcinfo->context && IsA(fcinfo->context, CallContext))
		atomic = castNode(CallContext, fcinfo->context)->atomic;
	if (atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("ecp_place_apply() cannot run inside a transaction block"),
				 errdetail("It commits after each group that it has moved.")));
	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (PG_ARGISNULL(i) && i != 3)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument %d of ecp_place_apply() must not be null",
							i + 1)));
	}
	PreventCommandIfReadOnly("ecp_place_apply()");
}

/*
 * ecp_place_apply(parent, place, strategy, max_bytes, lock_timeout, weight,
 *				   factor)
 */
Datum
ecp_place_apply(PG_FUNCTION_ARGS)
{
	Oid			parent = PG_GETARG_OID(0);
	EcpPlaceStrategy strategy;
	EcpPlaceProblem *problem;
	EcpPlacement *p;
	PlaceMoves	moves;
	MemoryContext context;
	MemoryContext oldcontext;
	char	   *lock_timeout;
	double		max_bytes = INFINITY;
	int			nleft = 0;
	int			g;

	place_apply_check(fcinfo);

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	context = AllocSetContextCreate(PortalContext, "ecp place apply",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	strategy = ecp_placement_strategy(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	lock_timeout = text_to_cstring(PG_GETARG_TEXT_PP(4));
	if (!PG_ARGISNULL(3))
		max_bytes = (double) DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
															   PG_GETARG_DATUM(3)));
	if (max_bytes < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"max_bytes\" must not be negative"),
				 errhint("Give null to move all there is to move.")));
	problem = ecp_place_load(parent, NameStr(*PG_GETARG_NAME(1)),
							 text_to_cstring(PG_GETARG_TEXT_PP(5)));
	p = &problem->placement;
	ecp_placement_solve(p, strategy, PG_GETARG_FLOAT8(6), 0);
	place_moves_init(&moves, problem, max_bytes);

	while ((g = place_moves_next(&moves)) >= 0)
	{
		EcpPlaceGroup *group = &p->groups[g];

		CHECK_FOR_INTERRUPTS();
		moves.pending[g] = false;
		(*place_moves_turn(&moves, group))++;
		(void) set_config_option("lock_timeout", lock_timeout, PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
								 false);
		if (!place_move_try(problem->relid[g], group->name,
							p->targets[group->target].name))
			continue;
		SPI_commit();
		MemoryContextSwitchTo(context);

		ereport(NOTICE,
				(errmsg("moved group \"%s\" from \"%s\" to \"%s\" (%.0f bytes)",
						group->name, problem->from[g],
						p->targets[group->target].name, group->bytes)));
		place_moves_done(&moves, group);
	}

	for (g = 0; g < p->ngroups; g++)
		nleft += moves.pending[g] ? 1 : 0;
	ereport(NOTICE,
			(errmsg("moved %d groups (%.0f bytes), %d left over",
					moves.nmoved, moves.moved_bytes, nleft)));
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * New partitions
 */

typedef struct PlaceRule
{
	char	   *target;			/* a tablespace, or NULL */
	char	   *place;			/* targets to choose from, or NULL */
} PlaceRule;

/*
 * Check a rule now, since one that cannot be carried out would make every later
 * CREATE TABLE of a partition fail.
 */
static void
place_check_rule(Oid parent, const char *target,
				 const char *place)
{
	if ((target == NULL) == (place == NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("either a target or a place must be given"),
				 errhint("A target is a tablespace; of a place, the best of its targets is taken.")));
	(void) ecp_sql_relname(parent); /* an error if there is none */
	if (get_rel_relkind(parent) != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a partitioned table",
						get_rel_name(parent))));
	if (target && get_tablespace_oid(target, false) == GLOBALTABLESPACE_OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only shared relations can be placed in tablespace \"%s\"",
						target)));
	if (place)
	{
		Oid			argtypes[1] = {TEXTOID};
		Datum		values[1] = {CStringGetTextDatum(place)};

		ecp_sql_execute(SPI_OK_SELECT,
						"SELECT FROM ecp_storage.ecp_place_targets"
						" WHERE place::pg_catalog.text OPERATOR(pg_catalog.=) $1"
						" AND NOT is_server LIMIT 1",
						1, argtypes, values, NULL);
		if (SPI_processed == 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("place \"%s\" has no tablespace among its targets",
							place),
					 errhint("Add one with ecp_place_target().")));
	}
}

/*
 * ecp_place_rule(parent, prefix, target, place)
 *		Add or change a rule.
 */
Datum
ecp_place_rule(PG_FUNCTION_ARGS)
{
	Oid			argtypes[4] = {REGCLASSOID, TEXTOID, NAMEOID, NAMEOID};
	Datum		values[4];
	char		nulls[5] = "    ";

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("parent and prefix must not be null"),
				 errhint("The empty prefix matches every name.")));
	ecp_shards_refuse(PG_GETARG_OID(0));
	for (int i = 0; i < 4; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i) ? 'n' : ' ';
	}
	SPI_connect();
	place_check_rule(PG_GETARG_OID(0),
					 PG_ARGISNULL(2) ? NULL : NameStr(*PG_GETARG_NAME(2)),
					 PG_ARGISNULL(3) ? NULL : NameStr(*PG_GETARG_NAME(3)));
	ecp_sql_execute(SPI_OK_INSERT,
					"INSERT INTO ecp_storage.ecp_place_rules"
					" (parent, prefix, target, place)"
					" VALUES ($1, $2, $3, $4)"
					" ON CONFLICT (parent, prefix) DO UPDATE SET"
					" target = excluded.target,"
					" place = excluded.place",
					4, argtypes, values, nulls);
	SPI_finish();
	PG_RETURN_VOID();
}

/* Are there rules, also those of transactions that began after ours? */
static bool
place_have_rules(Relation rules)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(rules, NULL);
	TableScanDesc scan = ecp_table_beginscan(rules, snapshot);
	bool		found = table_scan_getnextslot(scan, ForwardScanDirection, slot);

	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	return found;
}

/* Does our event trigger exist?  One of another owner by that name does not count. */
static bool
place_have_event_trigger(Oid function)
{
	Oid			trigger = get_event_trigger_oid("ecp_place_new_partition", true);

	return OidIsValid(trigger) &&
		getExtensionOfObject(EventTriggerRelationId, trigger) ==
		getExtensionOfObject(ProcedureRelationId, function);
}

/*
 * Become the owner of one of our functions, as in a SECURITY DEFINER function,
 * until SetUserIdAndSecContext() with what the caller was.
 */
static void
place_become_definer(Oid function, Oid *userid, int *context)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	GetUserIdAndSecContext(userid, context);
	SetUserIdAndSecContext(form->proowner,
						   *context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	ReleaseSysCache(tuple);
}

/*
 * ecp_place_rules_changed
 *		Trigger on the table of rules: have the event trigger while there is a
 *		rule.
 *
 * Of two transactions that change rules, the second waits for the first, and
 * then decides by what that has left.  The commands are ours and the same for
 * every caller.
 */
Datum
ecp_place_rules_changed(PG_FUNCTION_ARGS)
{
	Oid			function = fcinfo->flinfo->fn_oid;
	Relation	rules;
	Oid			userid;
	int			context;
	bool		wanted;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("ecp_place_rules_changed() can only be called by a trigger")));
	rules = ((TriggerData *) fcinfo->context)->tg_relation;

	LockDatabaseObject(ProcedureRelationId, function, 0,
					   ShareUpdateExclusiveLock);
	CommandCounterIncrement();	/* see what this statement has done */
	wanted = place_have_rules(rules);
	if (wanted == place_have_event_trigger(function))
		PG_RETURN_POINTER(NULL);

	place_become_definer(function, &userid, &context);
	SPI_connect();
	if (wanted)
	{
		place_execute("CREATE EVENT TRIGGER ecp_place_new_partition"
					  " ON ddl_command_end WHEN TAG IN ('CREATE TABLE')"
					  " EXECUTE FUNCTION ecp_storage.ecp_place_new_partition()");
		place_execute("COMMENT ON EVENT TRIGGER ecp_place_new_partition IS"
					  " 'places new partitions by the rules of ecp_place_rule()'");
		place_execute("ALTER EXTENSION ecp_storage"
					  " ADD EVENT TRIGGER ecp_place_new_partition");
	}
	else
	{
		place_execute("ALTER EXTENSION ecp_storage"
					  " DROP EVENT TRIGGER ecp_place_new_partition");
		place_execute("DROP EVENT TRIGGER ecp_place_new_partition");
	}
	SPI_finish();
	SetUserIdAndSecContext(userid, context);
	PG_RETURN_POINTER(NULL);
}

/*
 * Find the rule for a new partition: that of the nearest ancestor with one that
 * matches; among those of one ancestor, the one with the longest prefix.  The
 * prefix is compared with the partition's name and with the rest of the name
 * after the ancestor's name and a "_", so that rules need not repeat that.
 */
static bool
place_find_rule(Oid relid, PlaceRule *rule, Oid *ancestor)
{
	List	   *ancestors = get_partition_ancestors(relid);
	ListCell   *lc;

	foreach(lc, ancestors)
	{
		Oid			argtypes[3] = {OIDOID, TEXTOID, TEXTOID};
		Datum		values[3];
		char	   *relname = get_rel_name(relid);
		char	   *parentname = get_rel_name(lfirst_oid(lc));
		size_t		len;

		if (relname == NULL || parentname == NULL)
			continue;
		len = strlen(parentname);
		values[0] = ObjectIdGetDatum(lfirst_oid(lc));
		values[1] = CStringGetTextDatum(relname);
		if (strncmp(relname, parentname, len) == 0 && relname[len] == '_')
			values[2] = CStringGetTextDatum(relname + len + 1);
		else
			values[2] = values[1];
		ecp_sql_execute(SPI_OK_SELECT,
						"SELECT target::pg_catalog.text, place::pg_catalog.text"
						" FROM ecp_storage.ecp_place_rules"
						" WHERE parent::pg_catalog.oid OPERATOR(pg_catalog.=) $1"
						" AND (pg_catalog.starts_with($2, prefix)"
						" OR pg_catalog.starts_with($3, prefix))"
						" ORDER BY pg_catalog.length(prefix) DESC, prefix LIMIT 1",
						3, argtypes, values, NULL);
		if (SPI_processed > 0)
		{
			rule->target = SPI_getvalue(SPI_tuptable->vals[0],
										SPI_tuptable->tupdesc, 1);
			rule->place = SPI_getvalue(SPI_tuptable->vals[0],
									   SPI_tuptable->tupdesc, 2);
			*ancestor = lfirst_oid(lc);
			return true;
		}
	}
	return false;
}

/*
 * Online LPT: the target that would be ready first with one more group, of the
 * mean size of those that have data.
 */
static char *
place_online_tablespace(Oid ancestor, const char *place)
{
	EcpPlaceProblem *problem = ecp_place_load(ancestor, place,
											  "bytes");
	EcpPlacement *p = &problem->placement;
	double		bytes = 0;
	int			n = 0;
	int			t;

	for (int t2 = 0; t2 < p->ntargets; t2++)
	{
		/* we cannot create tables there */
		if (problem->is_server[t2])
			p->targets[t2].capacity = -1;
	}
	for (int g = 0; g < p->ngroups; g++)
	{
		if (p->groups[g].bytes > 0)
		{
			bytes += p->groups[g].bytes;
			n++;
		}
	}
	bytes = n > 0 ? bytes / n : 1;
	t = ecp_placement_online_target(p, bytes, bytes);
	if (t < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("no target of place \"%s\" has room for a new partition",
						place),
				 errdetail("The mean size of a partition is %.0f bytes.",
						   bytes)));
	return p->targets[t].name ? pstrdup(p->targets[t].name) : NULL;
}

/*
 * The tablespace for a new partition by the rules, or NULL.
 *
 * Runs as the owner of the event trigger's function, as a SECURITY DEFINER
 * function would.  It runs only our own queries, on tables that are readable by
 * all roles, and the caller learns only where the partition belongs.
 */
static char *
place_new_tablespace(Oid function, Oid relid)
{
	PlaceRule	rule = {NULL, NULL};
	Oid			ancestor;
	Oid			userid;
	int			context;

	Assert(OidIsValid(function) && OidIsValid(relid));
	place_become_definer(function, &userid, &context);
	if (place_find_rule(relid, &rule, &ancestor) &&
		rule.target == NULL)
		rule.target = place_online_tablespace(ancestor, rule.place);
	SetUserIdAndSecContext(userid, context);
	return rule.target;
}

/*
 * Is this a new leaf partition without a TABLESPACE clause, which takes
 * precedence over every rule?
 */
static bool
place_is_new_leaf(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	result = form->relispartition && form->relkind == RELKIND_RELATION &&
		!ecp_shards_exist(get_partition_parent(relid, false));
	if (result && OidIsValid(form->reltablespace))
	{
		Oid			parent = get_partition_parent(relid, false);

		result = form->reltablespace == get_rel_tablespace(parent);
	}
	ReleaseSysCache(tuple);
	return result;
}

/*
 * ecp_place_new_partition
 *		Event trigger on ddl_command_end of CREATE TABLE.
 */
Datum
ecp_place_new_partition(PG_FUNCTION_ARGS)
{
	Oid		   *relids;
	uint64		nrelids;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("ecp_place_new_partition() can only be called by an event trigger")));

	SPI_connect();
	if (SPI_execute("SELECT DISTINCT objid"
					" FROM pg_catalog.pg_event_trigger_ddl_commands()"
					" WHERE classid OPERATOR(pg_catalog.=)"
					" 'pg_catalog.pg_class'::pg_catalog.regclass"
					" AND command_tag OPERATOR(pg_catalog.=) 'CREATE TABLE'",
					true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the commands of the event trigger");
	nrelids = SPI_processed;
	relids = palloc_array(Oid, Max(nrelids, 1));
	for (uint64 i = 0; i < nrelids; i++)
	{
		bool		isnull;

		relids[i] = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i],
												   SPI_tuptable->tupdesc, 1,
												   &isnull));
	}

	for (uint64 i = 0; i < nrelids; i++)
	{
		char	   *tablespace;

		if (!place_is_new_leaf(relids[i]))
			continue;
		tablespace = place_new_tablespace(fcinfo->flinfo->fn_oid, relids[i]);
		if (tablespace)
			place_move_relation(relids[i], tablespace);
	}
	SPI_finish();
	PG_RETURN_NULL();
}
