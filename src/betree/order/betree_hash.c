/*-------------------------------------------------------------------------
 *
 * betree_hash.c
 *	  Hashes of keys.
 *
 * The hash functions are those by which the executor would hash the opclass's
 * equality operator.  Nothing in the catalogs binds the index to them, so filter
 * and Bloom pages bear the identity of those they were made with; a lookup with
 * other functions does not use them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "base/compat.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_page.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* betree_hash_proc(), from the catalogs */
static Oid
look_up_hash_proc(BetreeRel *bt, int i, Oid subtype, Oid *arg_proc)
{
	Relation	rel = bt->rel;
	Oid			equal;
	Oid			proc;

	if (OidIsValid(rel->rd_indcollation[i]) &&
		!get_collation_isdeterministic(rel->rd_indcollation[i]))
		return InvalidOid;
	equal = get_opfamily_member(rel->rd_opfamily[i], rel->rd_opcintype[i],
								subtype, BTEqualStrategyNumber);
	if (!OidIsValid(equal) ||
		!op_hashjoinable(equal,
						 getBaseType(TupleDescAttr(bt->tupdesc, i)->atttypid)) ||
		!get_op_hash_functions(equal, &proc, arg_proc))
		return InvalidOid;
	return proc;
}

/*
 * betree_hash_proc
 *		Hash function of the index's column "i" and, in "*arg_proc", that for
 *		the right operand of its = with "subtype"; InvalidOid if there is none.
 */
Oid
betree_hash_proc(BetreeRel *bt, int i, Oid subtype, Oid *arg_proc)
{
	uint64		catalog = betree_rel_catalog_changes();
	Oid			proc;

	Assert(i >= 0 && i < bt->nkeyatts);

	*arg_proc = InvalidOid;
	if (subtype != bt->rel->rd_opcintype[i])
		return look_up_hash_proc(bt, i, subtype, arg_proc);
	if (!betree_rel_get_hash(bt->rel, i, &proc, arg_proc))
	{
		proc = look_up_hash_proc(bt, i, subtype, arg_proc);
		betree_rel_set_hash(bt->rel, i, proc, *arg_proc, catalog);
	}
	return proc;
}

/*
 * betree_hash_init
 *		Find the hash functions of all key columns; false if one has none.
 *
 * A major version may change what a function computes,
 * and pg_upgrade keeps our pages: so it is part of the identity.
 */
bool
betree_hash_init(BetreeRel *bt, BetreeHash *hash)
{
	hash->id = hash_combine(BETREE_VERSION, murmurhash32(ECP_SERVER_MAJOR));
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		Oid			arg_proc;
		Oid			proc = betree_hash_proc(bt, i, bt->rel->rd_opcintype[i],
											&arg_proc);

		if (!OidIsValid(proc))
			return false;
		fmgr_info(proc, &hash->proc[i]);
		hash->id = hash_combine(hash->id, murmurhash32(proc));
	}
	return true;
}

/*
 * betree_hash_get
 *		The hash functions of all key columns, looked for once for each "bt", or
 *		NULL.
 */
BetreeHash *
betree_hash_get(BetreeRel *bt)
{
	if (!bt->hash_known)
	{
		BetreeHash *hash = MemoryContextAlloc(bt->context, sizeof(BetreeHash));
		MemoryContext oldcontext = MemoryContextSwitchTo(bt->context);

		if (betree_hash_init(bt, hash))
			bt->hash = hash;
		else
			pfree(hash);
		MemoryContextSwitchTo(oldcontext);
		bt->hash_known = true;
	}
	return bt->hash;
}

/* Add column "i" to the hash of a key, which begins as 0 */
uint64
betree_hash_add(BetreeRel *bt, FmgrInfo *proc, int i, Datum value,
				bool isnull, uint64 hash)
{
	uint32		part = 0;

	Assert(i >= 0 && i < bt->nkeyatts);

	if (!isnull)
		part = DatumGetUInt32(FunctionCall1Coll(proc,
												bt->rel->rd_indcollation[i],
												value));
	return hash_bytes_uint32_extended(part, hash);
}

/* Hash of a tuple's key columns */
uint64
betree_hash_tuple(BetreeRel *bt, BetreeHash *hash, IndexTuple itup)
{
	uint64		result = 0;

	for (int i = 0; i < bt->nkeyatts; i++)
	{
		bool		isnull;
		Datum		value = betree_key_getattr(bt, itup, i + 1, &isnull);

		result = betree_hash_add(bt, &hash->proc[i], i, value, isnull, result);
	}
	return result;
}
