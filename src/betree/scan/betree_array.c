/*-------------------------------------------------------------------------
 *
 * betree_array.c
 *	  Array quals: their elements, and the windows that they cut the range into.
 *
 * "k = ANY (array)" of a leading column leaves of the scan's range one window
 * for each combination of elements, narrower than the range in its first
 * columns and bounded like it in the next one.  The windows are never listed,
 * for there may be more of them than rows: from what the index holds next we
 * seek the next window, and from there what the index holds, each by key.  As
 * elements are sorted as the index is, a scan returns its order, in both
 * directions.
 *
 * An inequality with ANY is one with the least or greatest element.  Arrays of
 * other columns, and those of types that we cannot sort, are tested on each
 * tuple.  All operators are strict, so NULL elements match nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/skey.h"
#include "access/stratnum.h"
#include "betree/define/betree_define.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_page.h"
#include "betree/scan/betree_scan_private.h"
#include "catalog/pg_index.h"
#include "fmgr.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/*
 * Pages of a log that a probe of its filter, which is read from one end to the
 * other, must save to be worthwhile
 */
#define PAGES_PER_PROBE		4

/* How to sort elements, in qsort_arg's form */
typedef struct ElementOrder
{
	FmgrInfo   *cmp;
	Oid			collation;
	bool		desc;
} ElementOrder;

static int
compare_elements(const void *a, const void *b, void *arg)
{
	ElementOrder *order = (ElementOrder *) arg;
	int32		cmp = DatumGetInt32(FunctionCall2Coll(order->cmp, order->collation,
													  *(const Datum *) a,
													  *(const Datum *) b));

	CHECK_FOR_INTERRUPTS();
	if (order->desc)
		INVERT_COMPARE_RESULT(cmp);
	return cmp;
}

/* Find how to sort the elements of a qual; false if its family cannot tell */
static bool
find_order(BetreeRel *bt, ScanKey key, ElementOrder *order)
{
	int			i = key->sk_attno - 1;

	order->collation = bt->rel->rd_indcollation[i];
	order->desc = (bt->rel->rd_indoption[i] & INDOPTION_DESC) != 0;
	order->cmp = bt->cmp[i];
	if (OidIsValid(key->sk_subtype) && key->sk_subtype != bt->rel->rd_opcintype[i])
		order->cmp = betree_quals_family_cmp(bt, i, key->sk_subtype, key->sk_subtype);
	return order->cmp != NULL;
}

/* The elements of an array qual but for NULLs, sorted if possible */
static BetreeArray *
form_array(BetreeRel *bt, ScanKey key)
{
	BetreeArray *result = palloc(sizeof(BetreeArray));
	ArrayType  *array = DatumGetArrayTypeP(key->sk_argument);
	ElementOrder order;
	int16		len;
	bool		byval;
	char		align;
	bool	   *nulls;
	int			n;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align,
					  &result->values, &nulls, &n);
	result->nvalues = 0;
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
			result->values[result->nvalues++] = result->values[i];
	}

	result->cmp = key->sk_strategy <= BTMaxStrategyNumber ?
		betree_quals_cmp(bt, key) : NULL;
	if (result->cmp == NULL || result->nvalues <= 1)
		return result;
	if (!find_order(bt, key, &order))
	{
		result->cmp = NULL;
		return result;
	}
	qsort_arg(result->values, result->nvalues, sizeof(Datum), compare_elements,
			  &order);
	result->nvalues = qunique_arg(result->values, result->nvalues,
								  sizeof(Datum), compare_elements, &order);
	return result;
}

/*
 * betree_array_prepare
 *		Make of an array qual one whose argument is a BetreeArray or, where one
 *		element suffices, one that has no array.
 *
 * Returns false if nothing can satisfy it.  Allocates in the current context.
 */
bool
betree_array_prepare(BetreeRel *bt, ScanKey key)
{
	BetreeArray *array = form_array(bt, key);
	bool		desc = (bt->rel->rd_indoption[key->sk_attno - 1] &
						INDOPTION_DESC) != 0;
	bool		want_last;

	if (array->nvalues == 0)
		return false;
	if (array->nvalues > 1 &&
		(array->cmp == NULL || key->sk_strategy == BTEqualStrategyNumber))
	{
		key->sk_argument = PointerGetDatum(array);
		return true;
	}

	/* less than any one is less than the greatest */
	want_last = (key->sk_strategy < BTEqualStrategyNumber) != desc;
	key->sk_argument = array->values[want_last ? array->nvalues - 1 : 0];
	key->sk_flags &= ~SK_SEARCHARRAY;
	return true;
}

/*
 * First element that a column's value is not above, in index order; "*equal"
 * tells whether it is that value.
 */
static int
find_element(BetreeRel *bt, int column, BetreeArray *array, bool element_null,
			 Datum value, bool isnull, bool *equal)
{
	int			low = 0;
	int			high = array->nvalues;

	*equal = false;
	while (low < high)
	{
		int			mid = low + (high - low) / 2;
		int			cmp = betree_key_compare_values(bt, column, array->cmp,
													value, isnull,
													array->values[mid],
													element_null);

		if (cmp == 0)
		{
			*equal = true;
			return mid;
		}
		if (cmp > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Does a value that is not NULL satisfy a qual that still has its array? */
bool
betree_array_accepts(BetreeRel *bt, ScanKey key, Datum value)
{
	BetreeArray *array = BetreeQualGetArray(key);
	bool		found = false;

	if (array->cmp != NULL)
	{
		(void) find_element(bt, key->sk_attno - 1, array, false, value, false,
							&found);
		return found;
	}
	for (int i = 0; i < array->nvalues && !found; i++)
		found = DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
											   value, array->values[i]));
	return found;
}

/* Put the chosen elements into the window's bounds */
static void
set_window(BetreeQuals *quals)
{
	for (int i = 0; i < quals->nsets; i++)
		quals->window_low.value[i] = quals->window_high.value[i] =
			quals->sets[i].values[quals->chosen[i]];
}

/*
 * betree_array_begin
 *		Begin with the first window; the range and the sets of the columns are
 *		known.
 */
void
betree_array_begin(BetreeQuals *quals)
{
	Assert(quals->nsets > 0);

	memset(quals->chosen, 0, sizeof(quals->chosen));
	quals->window_low = quals->lower;
	quals->window_high = quals->upper;
	set_window(quals);
}

/*
 * The choice of column "at" may be past its last element: carry.  Columns after
 * it start anew.  Returns false, with the last window, if there is none there.
 */
static bool
settle(BetreeQuals *quals, int at, ScanDirection dir)
{
	bool		forward = ScanDirectionIsForward(dir);
	bool		found = true;

	while (found && (quals->chosen[at] < 0 ||
					 quals->chosen[at] >= quals->sets[at].nvalues))
	{
		if (at > 0)
			quals->chosen[--at] += forward ? 1 : -1;
		else
			found = false;
	}
	for (int i = found ? at + 1 : 0; i < quals->nsets; i++)
		quals->chosen[i] = forward == found ? 0 : quals->sets[i].nvalues - 1;
	set_window(quals);
	return found;
}

/*
 * Is the present window what a seek from a tuple, or pivot, in its
 * combination of elements would find: does it not lie behind it?
 */
static bool
window_reaches(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup, bool pivot,
			   ScanDirection dir)
{
	BetreeKey  *end = ScanDirectionIsForward(dir) ? &quals->window_high :
		&quals->window_low;
	int			cmp = pivot ? betree_key_compare_pivot(bt, end, itup) :
		betree_key_compare_tuple(bt, end, itup);

	return ScanDirectionIsForward(dir) ? cmp > 0 : cmp < 0;
}

/* betree_array_seek(), from a pivot or from a tuple */
static bool
seek(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup, bool pivot, ScanDirection dir)
{
	bool		forward = ScanDirectionIsForward(dir);
	int			natts = bt->nkeyatts;
	int			at;

	if (pivot)
		natts = betree_key_pivot_natts(bt, itup);
	if (natts == BETREE_NATTS_PLUSINF)
	{
		quals->chosen[0] = forward ? quals->sets[0].nvalues :
			quals->sets[0].nvalues - 1;
		return settle(quals, 0, dir);
	}

	for (at = 0; at < quals->nsets; at++)
	{
		bool		equal = false;

		/* what a pivot lacks is below all values */
		quals->chosen[at] = 0;
		if (at < natts)
		{
			bool		isnull;
			Datum		value = betree_key_getattr(bt, itup, at + 1, &isnull);

			quals->chosen[at] = find_element(bt, at, &quals->sets[at],
											 quals->lower.isnull[at], value,
											 isnull, &equal);
		}
		if (equal)
			continue;
		if (!forward)
			quals->chosen[at]--;
		return settle(quals, at, dir);
	}

	set_window(quals);
	if (window_reaches(bt, quals, itup, pivot, dir))
		return true;
	quals->chosen[--at] += forward ? 1 : -1;
	return settle(quals, at, dir);
}

/*
 * betree_array_seek
 *		Make the present window the first that does not end at or before a
 *		pivot; backward, the last that does not begin at or after it.
 *
 * Returns false if there is none.
 */
bool
betree_array_seek(BetreeRel *bt, BetreeQuals *quals, IndexTuple pivot, ScanDirection dir)
{
	return seek(bt, quals, pivot, true, dir);
}

/* Go on to the next window, in the index's order; false if there is none */
static bool
next_window(BetreeQuals *quals)
{
	quals->chosen[quals->nsets - 1]++;
	return settle(quals, quals->nsets - 1, ForwardScanDirection);
}

/*
 * betree_array_narrow
 *		Raise "low", which is at the pivot "lower", to the first window there,
 *		which becomes the present one; false if it begins at or after "upper".
 */
bool
betree_array_narrow(BetreeRel *bt, BetreeQuals *quals, IndexTuple lower, IndexTuple upper,
					BetreeKey *low)
{
	BetreeKey  *begin = &quals->window_low;

	if (!betree_array_seek(bt, quals, lower, ForwardScanDirection) ||
		betree_key_compare_pivot(bt, begin, upper) >= 0)
		return false;
	if (betree_key_compare_pivot(bt, begin, lower) > 0)
		*low = *begin;
	return true;
}

/* Count the windows from the present one to a pivot, at most up to "max" */
static int
count_windows(BetreeRel *bt, BetreeQuals *quals, IndexTuple upper, int max)
{
	int			present[INDEX_MAX_KEYS];
	int			n = 1;

	memcpy(present, quals->chosen, sizeof(present));
	while (n < max && next_window(quals) &&
		   betree_key_compare_pivot(bt, &quals->window_low, upper) < 0)
		n++;
	memcpy(quals->chosen, present, sizeof(present));
	set_window(quals);
	return n;
}

/*
 * betree_array_probe
 *		betree_filter_probe() for the windows from the present one to a pivot,
 *		if there are not too many.
 */
bool
betree_array_probe(BetreeRel *bt, BetreeQuals *quals, Page node, IndexTuple upper,
				   uint16 *from, bool *hit)
{
	int			max = Max(1, BetreePageGetOpaque(node)->bteo_nlog /
						  PAGES_PER_PROBE);
	int			n = count_windows(bt, quals, upper, max + 1);

	if (n > max)
		return false;
	for (int i = 0; i < n; i++)
	{
		bool		this_hit[BETREE_FILTER_HITS];
		uint16		this_from;

		if (i > 0)
			(void) next_window(quals);
		if (!betree_filter_probe(bt, node, quals->hash.own.id,
								 betree_quals_hash(bt, quals, &quals->window_low),
								 &this_from, i == 0 ? hit : this_hit))
			return false;
		if (i == 0 || BetreeSeqNewer(this_from, *from))
			*from = this_from;
		for (int seq = 0; i > 0 && seq < BETREE_FILTER_HITS; seq++)
			hit[seq] |= this_hit[seq];
	}
	return true;
}

/*
 * Where to look for the next item in a window, or NULL if this one is in it.
 * Items mostly come in order, so try the present window and the next.
 */
static BetreeKey *
find_target(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup)
{
	if (betree_key_compare_tuple(bt, &quals->window_low, itup) <= 0)
	{
		if (betree_key_compare_tuple(bt, &quals->window_high, itup) > 0)
			return NULL;
		if (!next_window(quals))
			return &quals->upper;
		if (betree_key_compare_tuple(bt, &quals->window_low, itup) > 0)
			return &quals->window_low;
		if (betree_key_compare_tuple(bt, &quals->window_high, itup) > 0)
			return NULL;
	}
	if (!seek(bt, quals, itup, false, ForwardScanDirection))
		return &quals->upper;
	return betree_key_compare_tuple(bt, &quals->window_low, itup) <= 0 ?
		NULL : &quals->window_low;
}

/* Go to the window of a tuple of the range; false if it is in none */
bool
betree_array_enter(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup)
{
	return find_target(bt, quals, itup) == NULL;
}

/*
 * betree_array_skip
 *		First of the sorted items "off" to "last" that is in a window, or
 *		last + 1.
 *
 * Windows that begin at or after the pivot "upper" do not count.
 */
OffsetNumber
betree_array_skip(BetreeRel *bt, BetreeQuals *quals, Page page, OffsetNumber off,
				  OffsetNumber last, IndexTuple upper)
{
	while (off <= last)
	{
		BetreeKey  *target = find_target(bt, quals, BetreePageGetTuple(page, off));
		OffsetNumber next;

		if (target == NULL)
			break;
		if (betree_key_compare_pivot(bt, target, upper) >= 0)
			return OffsetNumberNext(last);
		next = betree_key_search_page(bt, page, last, target);
		off = Max(next, OffsetNumberNext(off));
	}
	return off;
}
