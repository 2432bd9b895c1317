/*-------------------------------------------------------------------------
 *
 * betree_quals.c
 *	  Scan keys: the range that they bound, and the test of what is in it.
 *
 * The range is two positions in index order, made of the equality quals on
 * the leading columns and the inequalities on the first column without one;
 * NULLs, which no operator accepts, are cut off where they lie at an end.
 * Arrays among those equality quals cut windows out of the range, see
 * betree_array.c.  Quals that the range implies are not tested again.  All
 * others are tested on every tuple of the range, the index's own order being
 * the same for both directions of a scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "betree/define/betree_define.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_page.h"
#include "betree/scan/betree_scan_private.h"
#include "catalog/pg_index.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* The quals of one column that could bound the range */
typedef struct ColumnQuals
{
	ScanKey		equal;			/* = or IS NULL, with the fewest elements */
	ScanKey		low;			/* bounds in index order */
	ScanKey		high;
	bool		not_null;		/* some qual rejects NULLs */
} ColumnQuals;

/*
 * betree_quals_family_cmp
 *		The comparison function of column "i" for these types, palloc'd, or NULL if
 *		the family has none.
 */
FmgrInfo *
betree_quals_family_cmp(BetreeRel *bt, int i, Oid left, Oid right)
{
	RegProcedure proc = get_opfamily_proc(bt->rel->rd_opfamily[i], left, right,
										  BETREE_ORDER_PROC);
	FmgrInfo   *result;

	if (!RegProcedureIsValid(proc))
		return NULL;
	result = palloc(sizeof(FmgrInfo));
	fmgr_info(proc, result);
	return result;
}

/*
 * betree_quals_cmp
 *		The comparison function (column, argument) of a qual, or NULL if the
 *		family has none for its type.
 *
 * An array's is for its elements.  Allocated in the current context.
 */
FmgrInfo *
betree_quals_cmp(BetreeRel *bt, ScanKey key)
{
	int			i = key->sk_attno - 1;
	Oid			subtype = key->sk_subtype;

	if (subtype == InvalidOid || subtype == bt->rel->rd_opcintype[i] ||
		(key->sk_flags & SK_ISNULL))
		return bt->cmp[i];
	return betree_quals_family_cmp(bt, i, bt->rel->rd_opcintype[i], subtype);
}

/* The number of a qual's elements; what has no array has one */
static int
count_elements(ScanKey key)
{
	return key->sk_flags & SK_SEARCHARRAY ? BetreeQualGetArray(key)->nvalues : 1;
}

/* The first element of a qual, or the last */
static Datum
get_element(ScanKey key, bool last)
{
	BetreeArray *array = BetreeQualGetArray(key);

	if (!(key->sk_flags & SK_SEARCHARRAY))
		return key->sk_argument;
	return array->values[last ? array->nvalues - 1 : 0];
}

/*
 * Put a qual's argument into a position, as its next column; an array's first
 * or last element
 */
static void
add_bound(BetreeRel *bt, BetreeKey *key, ScanKey qual, bool last)
{
	int			i = key->nkeys;

	key->cmp[i] = betree_quals_cmp(bt, qual);
	key->value[i] = get_element(qual, last);
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
	ScanKey    *bound;
	bool		lower;

	if (key->sk_flags & SK_SEARCHNULL)
	{
		column->equal = key;
		return;
	}
	column->not_null = true;
	if ((key->sk_flags & SK_SEARCHNOTNULL) ||
		((key->sk_flags & SK_SEARCHARRAY) && BetreeQualGetArray(key)->cmp == NULL) ||
		betree_quals_cmp(bt, key) == NULL)
		return;

	switch (key->sk_strategy)
	{
		case BTEqualStrategyNumber:
			if (column->equal == NULL ||
				count_elements(key) < count_elements(column->equal))
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
	bound = lower ? &column->low : &column->high;
	if (*bound == NULL || is_narrower(bt, key, *bound, lower))
		*bound = key;
}

/* Does a bound exclude values equal to it? */
static inline bool
is_strict(ScanKey key)
{
	return key->sk_strategy == BTLessStrategyNumber ||
		key->sk_strategy == BTGreaterStrategyNumber;
}

/* Bound the range by the inequalities of column "i", behind those with = */
static void
bound_column(BetreeRel *bt, BetreeQuals *quals, ScanKey keys, int i, ColumnQuals *column,
			 bool *used)
{
	bool		nulls_first = (bt->rel->rd_indoption[i] & INDOPTION_NULLS_FIRST) != 0;

	if (column->low != NULL)
	{
		add_bound(bt, &quals->lower, column->low, false);
		quals->lower.after = is_strict(column->low);
		used[column->low - keys] = true;
	}
	else if (column->not_null && nulls_first)
		add_null_bound(bt, &quals->lower, true);

	if (column->high != NULL)
	{
		add_bound(bt, &quals->upper, column->high, false);
		quals->upper.after = !is_strict(column->high);
		used[column->high - keys] = true;
	}
	else if (column->not_null && !nulls_first)
		add_null_bound(bt, &quals->upper, false);
}

/*
 * Make the range out of the quals of the columns, and its windows if there are
 * arrays.  "used" marks the quals that it implies.
 */
static void
make_range(BetreeRel *bt, BetreeQuals *quals, ScanKey keys, ColumnQuals *columns, bool *used)
{
	bool		arrays = false;
	int			n;

	memset(&quals->lower, 0, offsetof(BetreeKey, cmp));
	memset(&quals->upper, 0, offsetof(BetreeKey, cmp));
	quals->upper.after = true;

	for (n = 0; n < bt->nkeyatts && columns[n].equal != NULL; n++)
	{
		add_bound(bt, &quals->lower, columns[n].equal, false);
		add_bound(bt, &quals->upper, columns[n].equal, true);
		used[columns[n].equal - keys] = true;
		arrays = arrays || (columns[n].equal->sk_flags & SK_SEARCHARRAY);
	}
	if (n < bt->nkeyatts)
		bound_column(bt, quals, keys, n, &columns[n], used);
	if (!arrays)
		return;

	quals->nsets = n;
	quals->sets = palloc(n * sizeof(BetreeArray));
	for (int i = 0; i < n; i++)
	{
		BetreeArray one = {&quals->lower.value[i], 1, quals->lower.cmp[i]};

		quals->sets[i] = columns[i].equal->sk_flags & SK_SEARCHARRAY ?
			*BetreeQualGetArray(columns[i].equal) : one;
	}
	betree_array_begin(quals);
}

/*
 * Look for the hash functions of the columns and of the arguments of the
 * equality quals.  They are kept for the next rescan, which brings other
 * arguments of the same types.
 */
static bool
find_hash(BetreeRel *bt, BetreeQuals *quals, ColumnQuals *columns)
{
	bool		same = quals->hash_known;
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
		return quals->hash_usable;

	oldcontext = MemoryContextSwitchTo(quals->hash_context);
	quals->hash_usable = betree_hash_init(bt, &quals->hash.own);
	for (int i = 0; i < bt->nkeyatts && quals->hash_usable; i++)
	{
		Oid			arg_proc;

		if (betree_hash_proc(bt, i, quals->hash.subtype[i], &arg_proc) ==
			quals->hash.own.proc[i].fn_oid && OidIsValid(arg_proc))
			fmgr_info(arg_proc, &quals->hash.arg[i]);
		else
			quals->hash_usable = false;
	}
	quals->hash_known = true;
	MemoryContextSwitchTo(oldcontext);
	return quals->hash_usable;
}

/*
 * betree_quals_hash
 *		The hash of a position that has arguments of the equality quals, for
 *		the filters of the logs.
 */
uint64
betree_quals_hash(BetreeRel *bt, BetreeQuals *quals, BetreeKey *key)
{
	uint64		hash = 0;

	Assert(key->nkeys == bt->nkeyatts);
	Assert(quals->hash_usable);

	for (int i = 0; i < key->nkeys; i++)
		hash = betree_hash_add(bt, &quals->hash.arg[i], i,
							   key->value[i], key->isnull[i], hash);
	return hash;
}

/*
 * If the quals ask for equality on all key columns, hash their arguments;
 * those of arrays when a window is looked for.
 */
static void
hash_quals(BetreeRel *bt, BetreeQuals *quals, ColumnQuals *columns)
{
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		if (columns[i].equal == NULL)
			return;
	}
	if (!find_hash(bt, quals, columns))
		return;
	if (quals->nsets > 0)
		quals->window_hashed = true;
	else
	{
		quals->hash_value = betree_quals_hash(bt, quals, &quals->lower);
		quals->hashed = true;
	}
}

/* Does a qual accept a value of its column? */
static bool
qual_accepts(BetreeRel *bt, BetreeQuals *quals, ScanKey key, Datum value, bool isnull)
{
	if (key->sk_flags & SK_SEARCHNULL)
		return isnull;
	if (isnull)
		return false;
	if (key->sk_flags & SK_SEARCHNOTNULL)
		return true;
	if (key->sk_flags & SK_SEARCHARRAY)
		return betree_array_accepts(bt, key, value);
	return DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
										  value, key->sk_argument));
}

/*
 * Drop the elements of an array that another qual of the order, on the same
 * column, does not accept; such quals are "used" then.  Returns false if no
 * element is left.  Elements of another type are left alone.
 */
static bool
narrow_array(BetreeRel *bt, BetreeQuals *quals, ScanKey keys, int nkeys, ScanKey equal,
			 bool *used)
{
	BetreeArray *array = BetreeQualGetArray(equal);

	if (OidIsValid(equal->sk_subtype) &&
		equal->sk_subtype != bt->rel->rd_opcintype[equal->sk_attno - 1])
		return true;
	for (int i = 0; i < nkeys; i++)
	{
		int			n = 0;

		if (keys[i].sk_attno != equal->sk_attno || &keys[i] == equal ||
			keys[i].sk_strategy > BTMaxStrategyNumber)
			continue;
		used[i] = true;
		for (int j = 0; j < array->nvalues; j++)
		{
			if (qual_accepts(bt, quals, &keys[i], array->values[j], false))
				array->values[n++] = array->values[j];
		}
		array->nvalues = n;
	}
	if (array->nvalues == 1)
	{
		equal->sk_argument = array->values[0];
		equal->sk_flags &= ~SK_SEARCHARRAY;
	}
	return array->nvalues > 0;
}

/*
 * Prepare the scan keys, and find those of each column that could bound the
 * range.  Returns false if nothing can satisfy them all.
 */
static bool
classify_quals(BetreeRel *bt, BetreeQuals *quals, ScanKey keys, int nkeys,
			   ColumnQuals *columns, bool *used)
{
	for (int i = 0; i < nkeys; i++)
	{
		ScanKey		key = &keys[i];

		if (key->sk_flags & SK_ROW_HEADER)
			elog(ERROR, "betree does not support row scan keys");
		if ((key->sk_flags & SK_ISNULL) &&
			!(key->sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL)))
			return false;
		if ((key->sk_flags & SK_SEARCHARRAY) && !betree_array_prepare(bt, key))
			return false;
		classify_qual(bt, key, &columns[key->sk_attno - 1]);
	}
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		if (columns[i].equal != NULL &&
			(columns[i].equal->sk_flags & SK_SEARCHARRAY) &&
			!narrow_array(bt, quals, keys, nkeys, columns[i].equal, used))
			return false;
	}
	return true;
}

/*
 * betree_quals_prepare
 *		Look at the scan keys: set the range, the filter and the skip qual.
 *
 * Done when the scan starts, not in amrescan: a scan may be rescanned and never
 * started.
 */
void
betree_quals_prepare(BetreeRel *bt, BetreeQuals *quals, IndexScanDesc scan)
{
	int			nkeys = scan->numberOfKeys;
	ColumnQuals columns[INDEX_MAX_KEYS] = {0};
	ScanKey		keys;
	bool	   *used;
	MemoryContext oldcontext;

	Assert(nkeys == 0 || scan->keyData != NULL);

	MemoryContextReset(quals->context);
	oldcontext = MemoryContextSwitchTo(quals->context);
	used = palloc0(nkeys * sizeof(bool) + 1);
	keys = palloc((nkeys + 1) * sizeof(ScanKeyData));
	if (nkeys > 0)
		memcpy(keys, scan->keyData, nkeys * sizeof(ScanKeyData));
	quals->skip_qual = NULL;
	quals->nfilter = 0;
	quals->filter = palloc((nkeys + 1) * sizeof(ScanKeyData));
	quals->nsets = 0;
	quals->hashed = quals->window_hashed = false;
	quals->impossible = !classify_quals(bt, quals, keys, nkeys, columns, used);
	if (!quals->impossible)
	{
		make_range(bt, quals, keys, columns, used);
		hash_quals(bt, quals, columns);
	}

	for (int i = 0; i < nkeys; i++)
	{
		ScanKey		key = &keys[i];

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
betree_quals_jump(BetreeRel *bt, BetreeQuals *quals)
{
	return quals->skip_qual != NULL || quals->nsets > 0;
}

/*
 * betree_quals_match
 *		Does a tuple of the range pass the quals that the range does not imply?
 */
bool
betree_quals_match(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup)
{
	for (int i = 0; i < quals->nfilter; i++)
	{
		ScanKey		key = &quals->filter[i];
		bool		isnull;
		Datum		value = betree_key_getattr(bt, itup, key->sk_attno,
											   &isnull);

		if (!qual_accepts(bt, quals, key, value, isnull))
			return false;
	}
	return true;
}

/*
 * Find the next value that may satisfy the skip qual, see BetreeSkip; of an
 * array, with any of its elements.
 */
static bool
find_skip(BetreeRel *bt, BetreeQuals *quals, BetreeSkip *skip)
{
	ScanKeyData key = *quals->skip_qual;
	bool		found = false;
	Datum		from = skip->value;
	Datum		best = from;

	key.sk_flags &= ~SK_SEARCHARRAY;
	skip->qual = &key;
	for (int i = 0; i < count_elements(quals->skip_qual); i++)
	{
		if (quals->skip_qual->sk_flags & SK_SEARCHARRAY)
			key.sk_argument = BetreeQualGetArray(quals->skip_qual)->values[i];
		skip->value = from;
		if (!DatumGetBool(FunctionCall1(&quals->skip_proc, PointerGetDatum(skip))))
			continue;
		if (!found || DatumGetInt32(FunctionCall2Coll(bt->cmp[0],
													  bt->rel->rd_indcollation[0],
													  skip->value, best)) < 0)
			best = skip->value;
		found = true;
	}
	skip->value = best;
	return found;
}

/* Move a forward position to where the skip qual can next be satisfied */
static bool
skip_by_qual(BetreeRel *bt, BetreeQuals *quals, BetreeKey *key, bool *moved)
{
	BetreeSkip	skip;
	int32		cmp = 1;

	skip.have_value = key->nkeys > 0 && !key->isnull[0];
	skip.value = skip.have_value ? key->value[0] : (Datum) 0;

	/* NULLs and descending columns are not in the function's order */
	if ((bt->rel->rd_indoption[0] & INDOPTION_DESC) ||
		(key->nkeys > 0 && (key->isnull[0] || key->cmp[0] != bt->cmp[0])))
		return true;

	if (!find_skip(bt, quals, &skip))
		return false;
	if (skip.have_value)
		cmp = DatumGetInt32(FunctionCall2Coll(bt->cmp[0],
											  bt->rel->rd_indcollation[0],
											  skip.value, key->value[0]));
	if (cmp > 0)
	{
		key->nkeys = 1;
		key->after = false;
		key->has_tid = false;
		key->cmp[0] = bt->cmp[0];
		key->value[0] = skip.value;
		key->isnull[0] = false;
		*moved = true;
	}
	return true;
}

/*
 * betree_quals_skip
 *		Move a position in the scan's direction to where the quals can next be
 *		satisfied: past what arrays or the skip qual exclude.
 *
 * "from" is the pivot that the position was made of, or NULL at the end of the
 * range where the scan begins.  Returns false if they cannot any more.  A moved
 * position points into memory of the quals or of the current context.
 */
bool
betree_quals_skip(BetreeRel *bt, BetreeQuals *quals, IndexTuple from, ScanDirection dir,
				  BetreeKey *key, bool *moved)
{
	bool		forward = ScanDirectionIsForward(dir);

	*moved = false;
	if (quals->nsets > 0 && from != NULL)
	{
		BetreeKey  *end = forward ? &quals->window_low : &quals->window_high;
		int			cmp;

		if (!betree_array_seek(bt, quals, from, dir))
			return false;
		cmp = betree_key_compare_pivot(bt, end, from);
		if (forward ? cmp > 0 : cmp < 0)
		{
			*key = *end;
			*moved = true;
		}
	}
	if (forward && quals->skip_qual != NULL)
		return skip_by_qual(bt, quals, key, moved);
	return true;
}

/*
 * betree_quals_last_child
 *		The last child of a leaf parent that the scan comes to, from "child" on
 *		in its direction; all may have windows.
 */
int
betree_quals_last_child(BetreeRel *bt, BetreeQuals *quals, Page node, int child,
						ScanDirection dir)
{
	if (ScanDirectionIsForward(dir))
		return quals->nsets > 0 ? BetreeNodeNumChildren(node) - 1 :
			Max(child, betree_key_search_node(bt, node, &quals->upper, true));
	return quals->nsets > 0 ? 0 :
		Min(child, betree_key_search_node(bt, node, &quals->lower, false));
}
