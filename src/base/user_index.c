/*-------------------------------------------------------------------------
 *
 * user_index.c
 *	  Indexes that users name in calls of SQL functions.
 *
 * All functions that inspect or maintain an index check the same before they
 * touch it: that it is of the expected kind, and that the caller has the right
 * to do this.  Rights are checked before waiting for the lock, so that a user
 * without rights on a table cannot hold up others that use it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/user_index.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

static void
report_kind(const char *name, const EcpIndexKind *kind, char relkind)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not %s", name, kind->name),
			 relkind == RELKIND_PARTITIONED_INDEX ?
			 errdetail("The index of a partitioned table has no rows of its own.") : 0,
			 relkind == RELKIND_PARTITIONED_INDEX ?
			 errhint("Name the index of a partition.") : 0));
}

/*
 * The table of the index that is the first argument of a function, if the caller
 * has this right to it.
 */
static Oid
user_index_table(FunctionCallInfo fcinfo, EcpIndexRight right,
				 const EcpIndexKind *kind)
{
	Oid			index_oid = PG_GETARG_OID(0);
	char		relkind = get_rel_relkind(index_oid);
	Oid			heap_oid;

	if (relkind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", index_oid)));
	if (relkind != RELKIND_INDEX)
		report_kind(get_rel_name(index_oid), kind, relkind);
	heap_oid = IndexGetRelation(index_oid, false);

	if (right == ECP_INDEX_OWN)
	{
		if (!ecp_relation_ownercheck(index_oid, GetUserId()))
			aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
						   get_rel_name(index_oid));
	}
	else if (pg_class_aclcheck(heap_oid, GetUserId(),
							   ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(heap_oid));
	ecp_shards_refuse(heap_oid);
	return heap_oid;
}

/* Open the index, whose table is locked if the caller needs it. */
static Relation
open_index(Oid index_oid, Oid heap_oid, LOCKMODE lockmode,
		   const EcpIndexKind *kind)
{
	Relation	index = index_open(index_oid, lockmode);

	if (index->rd_rel->relkind != RELKIND_INDEX ||
		index->rd_indam->amoptions != kind->options)
		report_kind(RelationGetRelationName(index), kind,
					index->rd_rel->relkind);
	/* while we waited, it might have gone and its OID come back */
	if (index->rd_index->indrelid != heap_oid)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not open parent table of index \"%s\"",
						RelationGetRelationName(index))));
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));
	/* as the planner says of tables */
	if (index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary or unlogged relations during recovery")));
	return index;
}

/*
 * ecp_user_index_open
 *		Open a valid index of this kind and, unless "heap" is NULL, its table, to
 *		read its pages.  Row security is left to the caller.
 */
Relation
ecp_user_index_open(FunctionCallInfo fcinfo, LOCKMODE lockmode,
					EcpIndexRight right, const EcpIndexKind *kind,
					Relation *heap)
{
	Oid			heap_oid = user_index_table(fcinfo, right, kind);
	Relation	index;

	/* the table before its index, as everybody does */
	if (heap)
		*heap = table_open(heap_oid, lockmode);
	index = open_index(PG_GETARG_OID(0), heap_oid, lockmode, kind);

	/* what CREATE INDEX CONCURRENTLY left behind may have no pages */
	if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(index)),
				 errhint("Drop it, or REINDEX it.")));
	return index;
}

/*
 * ecp_user_index_open_monitored
 *		The same for a function that a query calls for all indexes: NULL if the
 *		index is not valid.
 */
Relation
ecp_user_index_open_monitored(FunctionCallInfo fcinfo, const EcpIndexKind *kind)
{
	Oid			heap_oid = user_index_table(fcinfo, ECP_INDEX_READ, kind);
	Relation	index = open_index(PG_GETARG_OID(0), heap_oid, AccessShareLock, kind);

	if (index->rd_index->indisvalid)
		return index;
	index_close(index, AccessShareLock);
	return NULL;
}

/*
 * ecp_become_owner
 *		Switch to the owner of a table until ecp_become_caller(), as VACUUM
 *		does, before functions of index expressions can run.
 *
 * These functions are the owner's, and would otherwise run with the rights of
 * a superuser that merely looks at the index.  Also RelationGetIndexExpressions() and
 * RelationGetIndexPredicate() run functions, those whose arguments are constants.  An error restores the caller's identity.
 */
void
ecp_become_owner(EcpCaller *caller, Relation heap)
{
	GetUserIdAndSecContext(&caller->userid, &caller->sec_context);
	SetUserIdAndSecContext(heap->rd_rel->relowner,
						   caller->sec_context | SECURITY_RESTRICTED_OPERATION);
	caller->nestlevel = NewGUCNestLevel();
	ecp_restrict_search_path();
}

void
ecp_become_caller(const EcpCaller *caller)
{
	AtEOXact_GUC(false, caller->nestlevel);
	SetUserIdAndSecContext(caller->userid, caller->sec_context);
}

/*
 * ecp_indexes_fold
 *		Evaluate what is constant in the expressions and predicates of a table's
 *		indexes as its owner, before the current user plans a query of the table:
 *		the planner would do it as this one.
 *
 * The relcache keeps what they are then, through invalidations, as long as the
 * indexes are open: until ecp_indexes_close().  But it does not keep that a predicate
 * is true of all rows.
 */
List *
ecp_indexes_fold(Oid relid)
{
	Relation	heap = table_open(relid, AccessShareLock);
	EcpCaller	caller;
	List	   *indexes = NIL;
	ListCell   *lc;

	ecp_become_owner(&caller, heap);
	foreach(lc, RelationGetIndexList(heap))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		(void) RelationGetIndexExpressions(index);
		if (RelationGetIndexPredicate(index) == NIL &&
			!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
			caller.userid != heap->rd_rel->relowner)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("predicate of index \"%s\" is constant",
							RelationGetRelationName(index)),
					 errdetail("A query of the table would compute it with the rights of the current user, who is not the owner."),
					 errhint("Drop the index, or create it without the predicate.")));
		indexes = lappend(indexes, index);
	}
	ecp_become_caller(&caller);
	table_close(heap, NoLock);
	return indexes;
}

/* The locks stay, as those of the planner do. */
void
ecp_indexes_close(List *indexes)
{
	ListCell   *lc;

	foreach(lc, indexes)
		index_close(lfirst(lc), NoLock);
	list_free(indexes);
}

/*
 * ecp_user_index_begin
 *		Open a valid index and its table, for the owner to check or to
 *		maintain it, and be the table's owner until ecp_user_index_end().
 */
void
ecp_user_index_begin(EcpUserIndex *user, FunctionCallInfo fcinfo,
					 LOCKMODE lockmode, const EcpIndexKind *kind)
{
	user->index = ecp_user_index_open(fcinfo, lockmode, ECP_INDEX_OWN, kind,
									  &user->heap);
	user->lockmode = lockmode;
	ecp_become_owner(&user->caller, user->heap);
}

/* Be the caller again, and let go of both. */
void
ecp_user_index_end(EcpUserIndex *user)
{
	ecp_become_caller(&user->caller);
	index_close(user->index, user->lockmode);
	table_close(user->heap, user->lockmode);
}

/* ---- arrays that are arguments of SQL functions ---- */

static void
array_read(ArrayType *array, Oid type, const char *what, int least, int most,
		   Datum **elems, bool **nulls, int *n)
{
	int16		len;
	bool		byval;
	char		align;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array of %s must have one dimension", what)));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (*n < least || *n > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("between %d and %d %s must be given", least, most,
						what)));
	Assert(ARR_ELEMTYPE(array) == type);
	get_typlenbyvalalign(type, &len, &byval, &align);
	deconstruct_array(array, type, len, byval, align, elems, nulls, n);
}

double *
ecp_user_array_float8(ArrayType *array, const char *what, int least, int most,
					  int *n)
{
	Datum	   *elems;
	bool	   *nulls;
	double	   *result;

	array_read(array, FLOAT8OID, what, least, most, &elems, &nulls, n);
	result = palloc((*n + 1) * sizeof(double));
	for (int i = 0; i < *n; i++)
		result[i] = nulls[i] ? get_float8_nan() : DatumGetFloat8(elems[i]);
	return result;
}

int *
ecp_user_array_int4(ArrayType *array, const char *what, int least, int most,
					int *n, bool **nulls)
{
	Datum	   *elems;
	bool	   *isnull;
	int		   *result;

	array_read(array, INT4OID, what, least, most, &elems, &isnull, n);
	if (nulls)
		*nulls = isnull;
	result = palloc((*n + 1) * sizeof(int));
	for (int i = 0; i < *n; i++)
		result[i] = isnull[i] ? 0 : DatumGetInt32(elems[i]);
	return result;
}

const char **
ecp_user_array_name(ArrayType *array, const char *what, int least, int most,
					int *n)
{
	Datum	   *elems;
	bool	   *nulls;
	const char **result;

	array_read(array, NAMEOID, what, least, most, &elems, &nulls, n);
	result = palloc((*n + 1) * sizeof(char *));
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", what)));
		result[i] = NameStr(*DatumGetName(elems[i]));
	}
	return result;
}

/* ---- rows that SQL functions return ---- */

Datum
ecp_user_row(FunctionCallInfo fcinfo, int n, const Datum *values,
			 const bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE ||
		desc->natts != n)
		elog(ERROR, "return type must be a row type of %d columns", n);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
											 (Datum *) values, (bool *) nulls));
}

/* ---- tables that Citus distributes ---- */

/*
 * Citus keeps them in its catalog pg_dist_partition, on all nodes.
 */

bool
ecp_shards_exist(Oid table)
{
	Oid			catalog = get_relname_relid("pg_dist_partition",
											PG_CATALOG_NAMESPACE);
	Oid			unique;
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	if (!OidIsValid(catalog) || !OidIsValid(get_extension_oid("citus", true)))
		return false;
	unique = get_relname_relid("pg_dist_partition_logical_relid_index",
							   PG_CATALOG_NAMESPACE);
	ScanKeyInit(&key, get_attnum(catalog, "logicalrelid"),
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	rel = table_open(catalog, AccessShareLock);
	scan = systable_beginscan(rel, unique, OidIsValid(unique), NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

void
ecp_shards_refuse(Oid table)
{
	if (ecp_shards_exist(table))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is distributed", get_rel_name(table)),
				 errdetail("Its rows are in shards, which Citus places on its nodes."),
				 errhint("Call the function for each shard by run_command_on_shards().")));
}
