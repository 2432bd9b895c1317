/*-------------------------------------------------------------------------
 *
 * ecp_group.c
 *	  Groups of a table's rows: those with the same value in a column.
 *
 * Values are told apart as DISTINCT does it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "common/hashfn.h"
#include "ecp/batch/ecp_knn.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

/* Groups that there is room for at first. */
#define GROUPS_FIRST		64

/* What a group is: a value of the column. */
typedef struct GroupKey
{
	Datum		value;
	bool		isnull;
} GroupKey;

typedef struct GroupEntry
{
	GroupKey	key;
	uint32		hash;
	uint32		number;
	char		status;			/* of simplehash */
} GroupEntry;

static uint32
group_hash(EcpRowGroups *groups, const GroupKey *key)
{
	/* the few types that only have an order have a list of groups */
	if (key->isnull || !OidIsValid(groups->hash.fn_oid))
		return 0;
	return murmurhash32(DatumGetUInt32(FunctionCall1Coll(&groups->hash,
														 groups->column.collation,
														 key->value)));
}

static bool
group_equal(EcpRowGroups *groups, const GroupKey *a, const GroupKey *b)
{
	if (a->isnull || b->isnull)
		return a->isnull && b->isnull;
	return DatumGetBool(FunctionCall2Coll(&groups->equal,
										  groups->column.collation,
										  a->value, b->value));
}

#define SH_PREFIX			groups
#define SH_ELEMENT_TYPE		GroupEntry
#define SH_KEY_TYPE			GroupKey
#define SH_KEY				key
#define SH_HASH_KEY(tb, key) group_hash((tb)->private_data, &(key))
#define SH_EQUAL(tb, a, b)	group_equal((tb)->private_data, &(a), &(b))
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a)	(a)->hash
#define SH_SCOPE			static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

void
ecp_group_init(EcpRowGroups *groups, EcpUserColumn column)
{
	TypeCacheEntry *type;

	groups->column = column;
	type = lookup_type_cache(groups->column.type, TYPECACHE_EQ_OPR_FINFO |
							 TYPECACHE_HASH_PROC_FINFO);
	if (!OidIsValid(type->eq_opr_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an equality operator for type %s",
						format_type_be(groups->column.type))));
	fmgr_info_copy(&groups->equal, &type->eq_opr_finfo, CurrentMemoryContext);
	groups->hash.fn_oid = InvalidOid;
	if (OidIsValid(type->hash_proc_finfo.fn_oid))
		fmgr_info_copy(&groups->hash, &type->hash_proc_finfo, CurrentMemoryContext);
	groups->typlen = type->typlen;
	groups->typbyval = type->typbyval;
	groups->n = 0;
	groups->context = CurrentMemoryContext;
	groups->row_context = AllocSetContextCreate(CurrentMemoryContext,
												"ecp group of a row",
												ALLOCSET_SMALL_SIZES);
	groups->table = groups_create(CurrentMemoryContext, GROUPS_FIRST, groups);
}

/* Number a new group, whose value is copied. */
static void
group_add(EcpRowGroups *groups, GroupEntry *group)
{
	MemoryContext old = MemoryContextSwitchTo(groups->context);

	if (!group->key.isnull)
		group->key.value = datumCopy(group->key.value, groups->typbyval,
									 groups->typlen);
	group->number = groups->n++;
	MemoryContextSwitchTo(old);
}

static GroupKey
group_key(EcpRowGroups *groups, TupleTableSlot *slot)
{
	GroupKey	key;

	key.value = ecp_user_table_column_value(&groups->column, slot, &key.isnull);
	if (key.isnull)
		key.value = (Datum) 0;
	return key;
}

uint32
ecp_group_number(EcpRowGroups *groups, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(groups->row_context);
	GroupKey	key = group_key(groups, slot);
	GroupEntry *group;
	bool		found;

	group = groups_insert(groups->table, key, &found);
	if (!found)
		group_add(groups, group);
	MemoryContextSwitchTo(old);
	MemoryContextReset(groups->row_context);
	return group->number;
}

#define ST_SORT ecp_group_rows_sort
#define ST_ELEMENT_TYPE EcpGroupRow
#define ST_COMPARE(a, b) \
	(float8_lt((a)->distance, (b)->distance) ? -1 : \
	 float8_gt((a)->distance, (b)->distance) ? 1 : \
	 ItemPointerCompare((ItemPointer) &(a)->tid, (ItemPointer) &(b)->tid))
#define ST_SCOPE extern
#define ST_DEFINE
#include "lib/sort_template.h"

void
ecp_group_rows_return(ReturnSetInfo *rsinfo, EcpGroupRow *rows, int n, int k)
{
	ecp_group_rows_sort(rows, n);
	for (int i = 0; i < Min(n, k); i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = Int32GetDatum(i + 1);
		values[1] = PointerGetDatum(&rows[i].tid);
		values[2] = Float8GetDatum(rows[i].distance);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}
