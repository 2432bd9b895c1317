/*-------------------------------------------------------------------------
 *
 * betree_quals.c
 *	  Scan keys: the range that they bound, and the test of what is in it.
 *
 * The range is two positions in index order, made of the equality quals on
 * the leading columns and the inequalities on the first column without one;
 * NULLs, which no operator accepts, are cut off where they lie at an end.
 * Quals that the range implies are not tested again.  All others are tested
 * on every tuple of the range, the index's own order being the same for both
 * directions of a scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree_scan.h"

#include "access/stratnum.h"
#include "catalog/pg_index.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* The quals of one column that could bound the range */
typedef struct ColumnQuals
{
	ScanKey		equal;			/* = or IS NULL */
	ScanKey		low;			/* bounds in index order */
	ScanKey		high;
	bool		not_null;		/* some qual rejects NULLs */
} ColumnQuals;

/*
 * The comparison function (column, argument) of a qual, or NULL if the family
 * has none for its type.  Allocated in the current context.
 */
static FmgrInfo *
qual_cmp(BetreeRel *bt, ScanKey key)
{
	int			i = key->sk_attno - 1;
	Oid			subtype = key->sk_subtype;
	RegProcedure proc;
	FmgrInfo   *result;

	if (subtype == InvalidOid || subtype == bt->rel->rd_opcintype[i] ||
		(key->sk_flags & SK_ISNULL))
		return bt->cmp[i];
	proc = get_opfamily_proc(bt->rel->rd_opfamily[i],
							 bt->rel->rd_opcintype[i], subtype,
							 BETREE_ORDER_PROC);
	if (!RegProcedureIsValid(proc))
		return NULL;
	result = palloc(sizeof(FmgrInfo));
	fmgr_info(proc, result);
	return result;
}

/* Put a qual's argument into a position, as its next column */
static void
add_bound(BetreeRel *bt, BetreeKey *key, ScanKey qual)
{
	int			i = key->nkeys;

	key->cmp[i] = qual_cmp(bt, qual);
	key->value[i] = qual->sk_argument;
	key->isnull[i] = (qual->sk_flags & SK_ISNULL) != 0;
	key->nkeys++;
}

/* Bound a position by the edge of the NULLs of its next column */
static void
add_null_bound(BetreeRel *bt, BetreeKey *key, bool after)
{
	int			i = key->nkeys;

	key->cmp[i] = bt->cmp[i];
	key->value[i] = (Datum) 0;
	key->isnull[i] = true;
	key->nkeys++;
	key->after = after;
}

/*
 * Is qual "a" at least as narrow as "b", both lower or both upper bounds?
 * Told only for quals of the column's own type; otherwise the first stays.
 */
static bool
is_narrower(BetreeRel *bt, ScanKey a, ScanKey b, bool lower)
{
	int			i = a->sk_attno - 1;
	int32		cmp;

	if ((a->sk_subtype != InvalidOid &&
		 a->sk_subtype != bt->rel->rd_opcintype[i]) ||
		a->sk_subtype != b->sk_subtype)
		return false;
	cmp = DatumGetInt32(FunctionCall2Coll(bt->cmp[i],
										  bt->rel->rd_indcollation[i],
										  a->sk_argument, b->sk_argument));
	if (bt->rel->rd_indoption[i] & INDOPTION_DESC)
		INVERT_COMPARE_RESULT(cmp);
	if (cmp == 0)
		return a->sk_strategy == BTLessStrategyNumber ||
			a->sk_strategy == BTGreaterStrategyNumber;
	return lower ? cmp > 0 : cmp < 0;
}

/* Sort a column's quals by what they can do for the range */
static void
classify_qual(BetreeRel *bt, ScanKey key, ColumnQuals *column)
{
	bool		desc = (bt->rel->rd_indoption[key->sk_attno - 1] &
						INDOPTION_DESC) != 0;
	ScanKey    *place;
	bool		lower;

	if (key->sk_flags & SK_SEARCHNULL)
	{
		column->equal = key;
		return;
	}
	column->not_null = true;
	if ((key->sk_flags & SK_SEARCHNOTNULL) || qual_cmp(bt, key) == NULL)
		return;

	switch (key->sk_strategy)
	{
		case BTEqualStrategyNumber:
			if (column->equal == NULL)
				column->equal = key;
			return;
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			lower = desc;
			break;
		case BTGreaterStrategyNumber:
		case BTGreaterEqualStrategyNumber:
			lower = !desc;
			break;
		default:
			return;
	}
	place = lower ? &column->low : &column->high;
	if (*place == NULL || is_narrower(bt, key, *place, lower))
		*place = key;
}

/* Does a bound exclude values equal to it? */
static inline bool
is_strict(ScanKey key)
{
	return key->sk_strategy == BTLessStrategyNumber ||
		key->sk_strategy == BTGreaterStrategyNumber;
}

/*
 * Make the range out of the quals of the columns.  "used" marks the quals
 * that it implies.
 */
static void
make_range(BetreeScanOpaque so, ScanKey keys, ColumnQuals *columns, bool *used)
{
	BetreeRel  *bt = &so->bt;
	BetreeQuals *quals = &so->quals;
	int			i;

	memset(&quals->lower, 0, offsetof(BetreeKey, cmp));
	memset(&quals->upper, 0, offsetof(BetreeKey, cmp));
	quals->upper.after = true;

	for (i = 0; i < bt->nkeyatts && columns[i].equal != NULL; i++)
	{
		add_bound(bt, &quals->lower, columns[i].equal);
		add_bound(bt, &quals->upper, columns[i].equal);
		used[columns[i].equal - keys] = true;
	}
	if (i == bt->nkeyatts)
		return;

	if (columns[i].low != NULL)
	{
		add_bound(bt, &quals->lower, columns[i].low);
		quals->lower.after = is_strict(columns[i].low);
		used[columns[i].low - keys] = true;
	}
	else if (columns[i].not_null &&
			 (bt->rel->rd_indoption[i] & INDOPTION_NULLS_FIRST))
		add_null_bound(bt, &quals->lower, true);

	if (columns[i].high != NULL)
	{
		add_bound(bt, &quals->upper, columns[i].high);
		quals->upper.after = !is_strict(columns[i].high);
		used[columns[i].high - keys] = true;
	}
	else if (columns[i].not_null &&
			 !(bt->rel->rd_indoption[i] & INDOPTION_NULLS_FIRST))
		add_null_bound(bt, &quals->upper, false);
}

/*
 * Look for the hash functions of the columns and of the arguments of the
 * equality quals.  They are kept for the next rescan, which brings other
 * arguments of the same types.
 */
static bool
find_hash(BetreeScanOpaque so, ColumnQuals *columns)
{
	BetreeRel  *bt = &so->bt;
	BetreeQuals *quals = &so->quals;
	bool		same = quals->hash.known;
	MemoryContext oldcontext;

	for (int i = 0; i < bt->nkeyatts; i++)
	{
		Oid			subtype = columns[i].equal->sk_subtype;

		if (!OidIsValid(subtype) || (columns[i].equal->sk_flags & SK_ISNULL))
			subtype = bt->rel->rd_opcintype[i];
		if (same && quals->hash.subtype[i] != subtype)
			same = false;
		quals->hash.subtype[i] = subtype;
	}
	if (same)
		return quals->hash.usable;

	oldcontext = MemoryContextSwitchTo(so->context);
	quals->hash.usable = betree_filter_hash_init(bt, &quals->hash.own);
	for (int i = 0; i < bt->nkeyatts && quals->hash.usable; i++)
	{
		Oid			arg_proc;

		if (betree_filter_hash_proc(bt, i, quals->hash.subtype[i], &arg_proc) ==
			quals->hash.own.proc[i].fn_oid && OidIsValid(arg_proc))
			fmgr_info(arg_proc, &quals->hash.arg[i]);
		else
			quals->hash.usable = false;
	}
	quals->hash.known = true;
	MemoryContextSwitchTo(oldcontext);
	return quals->hash.usable;
}

/*
 * If the quals ask for equality on all key columns, hash their arguments, for
 * the filters of the logs.
 */
static void
hash_quals(BetreeScanOpaque so, ColumnQuals *columns)
{
	BetreeRel  *bt = &so->bt;
	BetreeQuals *quals = &so->quals;
	uint64		hash = 0;

	quals->hashed = false;
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		if (columns[i].equal == NULL)
			return;
	}
	if (!find_hash(so, columns))
		return;
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		ScanKey		key = columns[i].equal;

		hash = betree_filter_hash_add(bt, &quals->hash.arg[i], i, key->sk_argument,
									  (key->sk_flags & SK_ISNULL) != 0, hash);
	}
	quals->hash_value = hash;
	quals->hashed = true;
}

/*
 * betree_quals_prepare
 *		Look at the scan keys: set the range, the filter and the skip qual.
 *
 * Done when the scan starts, not in amrescan: a scan may be rescanned and never
 * started.
 */
void
betree_quals_prepare(IndexScanDesc scan)
{
	BetreeScanOpaque so = (BetreeScanOpaque) scan->opaque;
	BetreeRel  *bt = &so->bt;
	BetreeQuals *quals = &so->quals;
	int			nkeys = scan->numberOfKeys;
	ColumnQuals columns[INDEX_MAX_KEYS] = {0};
	bool	   *used;
	MemoryContext oldcontext;

	Assert(nkeys == 0 || scan->keyData != NULL);

	MemoryContextReset(quals->context);
	oldcontext = MemoryContextSwitchTo(quals->context);
	used = palloc0(nkeys * sizeof(bool) + 1);
	quals->impossible = false;
	quals->skip_qual = NULL;
	quals->nfilter = 0;
	quals->filter = palloc((nkeys + 1) * sizeof(ScanKeyData));

	for (int i = 0; i < nkeys; i++)
	{
		ScanKey		key = &scan->keyData[i];

		if (key->sk_flags & (SK_ROW_HEADER | SK_SEARCHARRAY))
			elog(ERROR, "betree does not support row or array scan keys");
		if ((key->sk_flags & SK_ISNULL) &&
			!(key->sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL)))
			quals->impossible = true;
		else
			classify_qual(bt, key, &columns[key->sk_attno - 1]);
	}
	quals->hashed = false;
	if (!quals->impossible)
	{
		make_range(so, scan->keyData, columns, used);
		hash_quals(so, columns);
	}

	for (int i = 0; i < nkeys; i++)
	{
		ScanKey		key = &scan->keyData[i];

		if (used[i])
			continue;
		quals->filter[quals->nfilter++] = *key;
		if (key->sk_strategy > BTMaxStrategyNumber && key->sk_attno == 1 &&
			quals->skip_qual == NULL &&
			OidIsValid(index_getprocid(bt->rel, 1, BETREE_SKIP_PROC)))
		{
			quals->skip_qual = key;
			fmgr_info_copy(&quals->skip_proc,
						   index_getprocinfo(bt->rel, 1, BETREE_SKIP_PROC),
						   quals->context);
		}
	}
	MemoryContextSwitchTo(oldcontext);
}

/* Do the quals make the scan jump over parts of its range? */
bool
betree_quals_jump(BetreeScanOpaque so)
{
	return so->quals.skip_qual != NULL;
}

/*
 * betree_quals_match
 *		Does a tuple of the range pass the quals that the range does not imply?
 */
bool
betree_quals_match(BetreeScanOpaque so, IndexTuple itup)
{
	BetreeQuals *quals = &so->quals;

	for (int i = 0; i < quals->nfilter; i++)
	{
		ScanKey		key = &quals->filter[i];
		bool		isnull;
		Datum		value = betree_key_getattr(&so->bt, itup, key->sk_attno,
											   &isnull);

		if (key->sk_flags & SK_SEARCHNULL)
		{
			if (!isnull)
				return false;
		}
		else if (isnull)
			return false;
		else if (!(key->sk_flags & SK_SEARCHNOTNULL) &&
				 !DatumGetBool(FunctionCall2Coll(&key->sk_func,
												 key->sk_collation, value,
												 key->sk_argument)))
			return false;
	}
	return true;
}

/*
 * betree_quals_skip
 *		Move a forward position to where the skip qual can next be satisfied.
 *
 * Returns false if it cannot any more.  A moved position points into memory
 * of the current context.
 */
bool
betree_quals_skip(BetreeScanOpaque so, BetreeKey *key, bool *moved)
{
	BetreeQuals *quals = &so->quals;
	BetreeSkip	skip;
	int32		cmp = 1;

	*moved = false;
	if (quals->skip_qual == NULL)
		return true;
	skip.qual = quals->skip_qual;
	skip.have_value = key->nkeys > 0 && !key->isnull[0];
	skip.value = skip.have_value ? key->value[0] : (Datum) 0;

	/* NULLs and descending columns are not in the function's order */
	if ((so->bt.rel->rd_indoption[0] & INDOPTION_DESC) ||
		(key->nkeys > 0 && (key->isnull[0] || key->cmp[0] != so->bt.cmp[0])))
		return true;

	if (!DatumGetBool(FunctionCall1(&quals->skip_proc, PointerGetDatum(&skip))))
		return false;
	if (skip.have_value)
		cmp = DatumGetInt32(FunctionCall2Coll(so->bt.cmp[0],
											  so->bt.rel->rd_indcollation[0],
											  skip.value, key->value[0]));
	if (cmp > 0)
	{
		key->nkeys = 1;
		key->after = false;
		key->has_tid = false;
		key->cmp[0] = so->bt.cmp[0];
		key->value[0] = skip.value;
		key->isnull[0] = false;
		*moved = true;
	}
	return true;
}
