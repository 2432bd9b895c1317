/*-------------------------------------------------------------------------
 *
 * betree_key.c
 *	  The one order of the index: comparing tuples, pivots and positions.
 *
 * Everything is ordered by (key attributes, heap TID), with each column's
 * direction and place of NULLs.  Pages, pivots, logs, batches and scans all
 * come here to compare, so there is one definition to trust.  Comparisons may
 * throw or run user code; callers hold at most content locks and have changed
 * nothing yet.
 *
 * What is called in loops here and exported is "inline": gcc inlines no other
 * exported function of a shared library.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "access/toast_compression.h"
#include "access/tupmacs.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/inet.h"
#include "utils/rel.h"

/* Inlined FunctionCall2Coll(): the call dominates a comparison. */
static inline int32
call_compare(FmgrInfo *cmp, Oid collation, Datum a, Datum b)
{
	LOCAL_FCINFO(fcinfo, 2);
	Datum		result;

	InitFunctionCallInfoData(*fcinfo, cmp, 2, collation, NULL, NULL);
	fcinfo->args[0].value = a;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = b;
	fcinfo->args[1].isnull = false;
	result = FunctionCallInvoke(fcinfo);
	if (unlikely(fcinfo->isnull))
		elog(ERROR, "function %u returned NULL", cmp->fn_oid);
	return DatumGetInt32(result);
}

/*
 * betree_key_compare_values
 *		Compare a value of column "i" and one of the type that "cmp" takes, in
 *		index order.
 */
inline int
betree_key_compare_values(BetreeRel *bt, int i, FmgrInfo *cmp, Datum value,
						  bool isnull, Datum other, bool other_null)
{
	int16		option = bt->rel->rd_indoption[i];
	int32		result;

	if (unlikely(isnull || other_null))
	{
		if (isnull && other_null)
			return 0;
		return (isnull == ((option & INDOPTION_NULLS_FIRST) != 0)) ? -1 : 1;
	}
	result = call_compare(cmp, bt->rel->rd_indcollation[i], value, other);
	if (option & INDOPTION_DESC)
		INVERT_COMPARE_RESULT(result);
	return result;
}

/*
 * A compressed value cannot be more than this many times as long as what is
 * stored of it: 273 bytes are the most that pglz makes of three, and 255 the
 * most that lz4 makes of one.  Nor is one stored that is not shorter than the
 * value.
 */
#define MAX_COMPRESSION		256

/* Is the length of a varlena, which begins before "end", credible? */
static bool
varlena_is_sane(char *start, char *end)
{
	if (VARATT_IS_1B_E(start))
		return false;
	if (VARATT_IS_1B(start))
		return VARSIZE_1B(start) >= VARHDRSZ_SHORT;
	if (!VARATT_IS_4B_C(start))
		return start + VARHDRSZ <= end && VARSIZE_4B(start) >= VARHDRSZ;
	return start + VARHDRSZ_COMPRESSED <= end &&
		VARSIZE_4B(start) >= VARHDRSZ_COMPRESSED &&
		VARDATA_COMPRESSED_GET_EXTSIZE(start) > VARSIZE_4B(start) &&
		VARDATA_COMPRESSED_GET_EXTSIZE(start) <=
		MAX_COMPRESSION * VARSIZE_4B(start) &&
		VARDATA_COMPRESSED_GET_COMPRESS_METHOD(start) <= TOAST_LZ4_COMPRESSION_ID;
}

/*
 * Where the attribute ends that begins at or, if "off" is not aligned yet,
 * behind "*off" in the tuple's data; moves "*off" to its beginning.
 */
static inline Size
attribute_end(Form_pg_attribute att, char *data, Size size, Size *off)
{
	Size		length = att->attlen;

	if (unlikely(*off >= size))
		betree_page_report_item(data);
	*off = att_align_pointer(*off, att->attalign, att->attlen, data + *off);
	if (unlikely(*off >= size))
		betree_page_report_item(data);
	if (att->attlen == -1)
	{
		if (unlikely(!varlena_is_sane(data + *off, data + size)))
			betree_page_report_item(data);
		length = VARSIZE_ANY(data + *off);
	}
	else if (att->attlen == -2)
		length = strnlen(data + *off, size - *off) + 1;
	if (unlikely(length > size - *off))
		betree_page_report_item(data);
	return *off + length;
}

/* Set in the first word of a numeric whose header has no second one */
#define NUMERIC_HAS_SHORT_HEADER	0x8000

/*
 * betree_key_type_has_header
 *		Is it one of the types whose values are looked into when they are read?
 */
bool
betree_key_type_has_header(Oid type)
{
	return type == NUMERICOID || type == INETOID || type == CIDROID ||
		type == BITOID || type == VARBITOID ||
		type == OIDVECTOROID || type == INT2VECTOROID;
}

/*
 * Does a value of such a type, whose length is credible, have a credible
 * header?
 *
 * The type's functions subtract the size of a header from the length, or take
 * a length from the header, and would read on behind the page.  What is left
 * of a compressed value is long enough for these headers.
 */
static bool
header_is_sane(Oid type, char *start)
{
	char	   *data = VARDATA_ANY(start);
	Size		length = VARSIZE_ANY_EXHDR(start);
	uint16		word;

	switch (type)
	{
		case NUMERICOID:
			if (VARATT_IS_4B_C(start))
				return true;
			if (length < sizeof(word))
				return false;
			memcpy(&word, data, sizeof(word));
			return (word & NUMERIC_HAS_SHORT_HEADER) != 0 ||
				length >= 2 * sizeof(word);
		case BITOID:
		case VARBITOID:
			return VARATT_IS_4B_C(start) || length >= sizeof(int32);
		case INETOID:
		case CIDROID:
			if (VARATT_IS_4B_C(start) || length < offsetof(inet_struct, ipaddr))
				return false;
			if (ip_family(start) == PGSQL_AF_INET)
				return length >= offsetof(inet_struct, ipaddr) + 4 &&
					ip_bits(start) <= 32;
			return ip_family(start) == PGSQL_AF_INET6 &&
				length >= sizeof(inet_struct) && ip_bits(start) <= 128;
		default:
			/* a vector, which is never compressed, nor has it a short length */
			if (!VARATT_IS_4B_U(start) ||
				VARSIZE_4B(start) < offsetof(oidvector, values))
				return false;
			return ((oidvector *) start)->ndim == 1 &&
				((oidvector *) start)->dim1 >= 0 &&
				(Size) ((oidvector *) start)->dim1 <=
				(VARSIZE_4B(start) - offsetof(oidvector, values)) /
				(type == OIDVECTOROID ? sizeof(Oid) : sizeof(int16));
	}
}

/*
 * betree_key_getattr() of an attribute that may be NULL, behind others or by
 * reference
 */
static pg_noinline Datum
getattr_general(BetreeRel *bt, IndexTuple itup, int attno, bool *isnull)
{
	Form_pg_attribute att = TupleDescAttr(bt->tupdesc, attno - 1);
	bool		has_nulls = IndexTupleHasNulls(itup);
	Size		header = IndexInfoFindDataOffset(itup->t_info);
	uint8	   *nulls = (uint8 *) itup + sizeof(IndexTupleData);
	char	   *data = (char *) itup + header;
	Size		size = IndexTupleSize(itup) - header;
	Size		off = 0;

	if (unlikely(IndexTupleSize(itup) < header))
		betree_page_report_item(itup);
	*isnull = has_nulls && att_isnull(attno - 1, nulls);
	if (*isnull)
		return (Datum) 0;
	for (int i = 0; i < attno - 1; i++)
	{
		if (!has_nulls || !att_isnull(i, nulls))
			off = attribute_end(TupleDescAttr(bt->tupdesc, i), data, size,
								&off);
	}
	(void) attribute_end(att, data, size, &off);
	if (OidIsValid(bt->header_type[attno - 1]) &&
		unlikely(!header_is_sane(bt->header_type[attno - 1], data + off)))
		betree_page_report_item(itup);
	return fetchatt(att, data + off);
}

/*
 * betree_key_getattr
 *		index_getattr() that does not trust the tuple's lengths.
 *
 * A damaged length must not lead a comparison out of the tuple, nor the walk
 * to an attribute behind others.
 */
inline Datum
betree_key_getattr(BetreeRel *bt, IndexTuple itup, int attno, bool *isnull)
{
	Form_pg_attribute att = TupleDescAttr(bt->tupdesc, 0);

	Assert(attno >= 1 && attno <= bt->natts);

	/* mostly there is nothing to skip, and no length but the type's */
	if (attno > 1 || att->attlen < 0 || IndexTupleHasNulls(itup))
		return getattr_general(bt, itup, attno, isnull);
	if (unlikely(IndexTupleSize(itup) < sizeof(IndexTupleData) + att->attlen))
		betree_page_report_item(itup);
	*isnull = false;
	return fetchatt(att, (char *) itup + sizeof(IndexTupleData));
}

/* betree_key_verify_tuple() for a tuple that is not of fixed length */
void
betree_key_verify_values(BetreeRel *bt, IndexTuple itup)
{
	bool		has_nulls = IndexTupleHasNulls(itup);
	Size		header = IndexInfoFindDataOffset(itup->t_info);
	char	   *data = (char *) itup + header;
	Size		size = IndexTupleSize(itup) - header;
	Size		end = 0;

	if (unlikely(IndexTupleSize(itup) < header))
		betree_page_report_item(itup);
	for (int i = 0; i < bt->natts; i++)
	{
		Size		off = end;

		if (has_nulls && att_isnull(i, (uint8 *) itup + sizeof(IndexTupleData)))
			continue;
		end = attribute_end(TupleDescAttr(bt->tupdesc, i), data, size, &off);
		if (OidIsValid(bt->header_type[i]) &&
			unlikely(!header_is_sane(bt->header_type[i], data + off)))
			betree_page_report_item(itup);
	}
}

/*
 * betree_key_fixed_size
 *		Size of a tuple without NULLs, if that is the same for all; else 0.
 */
int
betree_key_fixed_size(TupleDesc tupdesc)
{
	int			size = sizeof(IndexTupleData);

	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (att->attlen <= 0)
			return 0;
		size = att_align_nominal(size, att->attalign) + att->attlen;
	}
	return size;
}

/* Size that a tuple with the values of an item takes */
static int
stored_size(BetreeRel *bt, IndexTuple itup)
{
	Size		header = IndexInfoFindDataOffset(itup->t_info);
	char	   *data = (char *) itup + header;
	Size		off = 0;

	for (int i = 0; i < bt->natts; i++)
	{
		if (!IndexTupleHasNulls(itup) ||
			!att_isnull(i, (uint8 *) itup + sizeof(IndexTupleData)))
			off = attribute_end(TupleDescAttr(bt->tupdesc, i), data,
								IndexTupleSize(itup) - header, &off);
	}
	return (int) MAXALIGN(header + off);
}

/* Number of a pivot's attributes, or BETREE_NATTS_PLUSINF */
inline int
betree_key_pivot_natts(BetreeRel *bt, IndexTuple pivot)
{
	int			natts = BetreePivotGetNatts(pivot);

	if (unlikely(natts > bt->nkeyatts && natts != BETREE_NATTS_PLUSINF))
		betree_page_report_item(pivot);
	return natts;
}

/* Position of a leaf's tuple.  By-reference values point into the tuple. */
void
betree_key_from_tuple(BetreeRel *bt, IndexTuple itup, BetreeKey *key)
{
	key->nkeys = bt->nkeyatts;
	key->after = false;
	key->has_tid = true;
	key->tid = itup->t_tid;
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		key->cmp[i] = bt->cmp[i];
		key->value[i] = betree_key_getattr(bt, itup, i + 1, &key->isnull[i]);
	}
}

/* Position of a pivot or high key, which must outlive "key" */
void
betree_key_from_pivot(BetreeRel *bt, IndexTuple pivot, BetreeKey *key)
{
	int			natts = betree_key_pivot_natts(bt, pivot);

	key->after = (natts == BETREE_NATTS_PLUSINF);
	key->nkeys = key->after ? 0 : natts;
	key->has_tid = BetreePivotHasTid(pivot);
	if (key->has_tid)
		key->tid = *BetreePivotGetTid(pivot);
	for (int i = 0; i < key->nkeys; i++)
	{
		key->cmp[i] = bt->cmp[i];
		key->value[i] = betree_key_getattr(bt, pivot, i + 1, &key->isnull[i]);
	}
}

/*
 * Compare a position with the first natts attributes of a tuple and the TID,
 * if there is one; what the tuple lacks is minus infinity.
 */
static inline int
key_compare(BetreeRel *bt, BetreeKey *key, IndexTuple itup, int natts,
			ItemPointer tid)
{
	int			n = Min(key->nkeys, natts);

	Assert(key->nkeys >= 0 && key->nkeys <= bt->nkeyatts);
	Assert(natts >= 0 && natts <= bt->nkeyatts);

	for (int i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		value = betree_key_getattr(bt, itup, i + 1, &isnull);
		int			result;

		/* cross-type functions take the column's value first */
		result = betree_key_compare_values(bt, i, key->cmp[i], value, isnull,
										   key->value[i], key->isnull[i]);
		if (result != 0)
			return result < 0 ? 1 : -1;
	}

	if (key->nkeys > natts)
		return 1;
	if (key->nkeys == natts)
	{
		if (key->has_tid)
			return tid == NULL ? 1 : ItemPointerCompare(&key->tid, tid);
		if (tid == NULL)
			return key->after ? 1 : 0;
	}
	return key->after ? 1 : -1;
}

inline int
betree_key_compare_tuple(BetreeRel *bt, BetreeKey *key, IndexTuple itup)
{
	return key_compare(bt, key, itup, bt->nkeyatts, &itup->t_tid);
}

/* The same with one of the rows of a leaf's item */
int
betree_key_compare_row(BetreeRel *bt, BetreeKey *key, IndexTuple itup,
					   ItemPointer tid)
{
	return key_compare(bt, key, itup, bt->nkeyatts, tid);
}

/* Has a tuple the key's attributes, which are all, whatever its TID? */
static bool
matches_tuple(BetreeRel *bt, BetreeKey *key, IndexTuple itup)
{
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		bool		isnull;
		Datum		value = betree_key_getattr(bt, itup, i + 1, &isnull);

		if (betree_key_compare_values(bt, i, key->cmp[i], value, isnull,
									  key->value[i], key->isnull[i]) != 0)
			return false;
	}
	return true;
}

/*
 * betree_key_find_equal
 *		First of the items "off" to "last", in no order, that has the key's
 *		attributes, which are all, or last + 1.
 *
 * The bytes of a value tell alone if its length is fixed and equal values have
 * the same; mostly its first byte does.
 */
OffsetNumber
betree_key_find_equal(BetreeRel *bt, Page page, OffsetNumber off,
					  OffsetNumber last, BetreeKey *key)
{
	Form_pg_attribute att = TupleDescAttr(bt->tupdesc, 0);
	bool		bytes = bt->same_bytes && key->cmp[0] == bt->cmp[0] && !key->isnull[0];
	char	   *wanted = NULL;

	Assert(key->nkeys == bt->nkeyatts);

	if (bytes)
		wanted = att->attbyval ? (char *) &key->value[0] :
			DatumGetPointer(key->value[0]);
	for (; off <= last; off++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, off);
		char	   *value = (char *) itup + sizeof(IndexTupleData);

		if (!bytes || IndexTupleHasNulls(itup) ||
			IndexTupleSize(itup) < sizeof(IndexTupleData) + att->attlen)
		{
			if (matches_tuple(bt, key, itup))
				break;
		}
		else if (*value == *wanted && memcmp(value, wanted, att->attlen) == 0)
			break;
	}
	return off;
}

inline int
betree_key_compare_pivot(BetreeRel *bt, BetreeKey *key, IndexTuple pivot)
{
	int			natts = betree_key_pivot_natts(bt, pivot);

	if (natts == BETREE_NATTS_PLUSINF)
		return (key->nkeys == 0 && key->after) ? 0 : -1;
	return key_compare(bt, key, pivot, natts,
					   BetreePivotHasTid(pivot) ? BetreePivotGetTid(pivot) :
					   NULL);
}

/* Compare the keys of two leaf tuples */
static int
order_keys(BetreeRel *bt, IndexTuple a, IndexTuple b)
{
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		bool		anull;
		bool		bnull;
		Datum		avalue = betree_key_getattr(bt, a, i + 1, &anull);
		Datum		bvalue = betree_key_getattr(bt, b, i + 1, &bnull);
		int			result;

		result = betree_key_compare_values(bt, i, bt->cmp[i], avalue, anull,
										   bvalue, bnull);
		if (result != 0)
			return result;
	}
	return 0;
}

/* Compare two leaf tuples */
int
betree_key_order_tuples(BetreeRel *bt, IndexTuple a, IndexTuple b)
{
	int			result = order_keys(bt, a, b);

	return result != 0 ? result : ItemPointerCompare(&a->t_tid, &b->t_tid);
}

/* Are their keys equal, whatever the rows?  NULL is equal to NULL. */
bool
betree_key_equal_tuples(BetreeRel *bt, IndexTuple a, IndexTuple b)
{
	return order_keys(bt, a, b) == 0;
}

/* Prepare a tuple for sorting; the item points into it */
void
betree_key_item_init(BetreeRel *bt, BetreeSortItem *item, IndexTuple itup,
					 int order)
{
	Assert(order >= 0 && order <= PG_UINT16_MAX);

	item->itup = itup;
	item->first = betree_key_getattr(bt, itup, 1, &item->first_null);
	item->order = order;
}

/*
 * Compare two items by (key, TID); exact duplicates by "order", the higher
 * first.
 */
inline int
betree_key_item_compare(BetreeRel *bt, const BetreeSortItem *a, const BetreeSortItem *b)
{
	int			result;

	Assert(a->itup != NULL && b->itup != NULL);

	result = betree_key_compare_values(bt, 0, bt->cmp[0], a->first, a->first_null,
									   b->first, b->first_null);
	for (int i = 1; result == 0 && i < bt->nkeyatts; i++)
	{
		bool		anull;
		bool		bnull;
		Datum		avalue = betree_key_getattr(bt, a->itup, i + 1, &anull);
		Datum		bvalue = betree_key_getattr(bt, b->itup, i + 1, &bnull);

		result = betree_key_compare_values(bt, i, bt->cmp[i], avalue, anull,
										   bvalue, bnull);
	}
	if (result == 0)
		result = ItemPointerCompare(&a->itup->t_tid, &b->itup->t_tid);
	return result;
}

static int
sort_item_cmp(const BetreeSortItem *a, const BetreeSortItem *b, BetreeRel *bt)
{
	int			result = betree_key_item_compare(bt, a, b);

	if (result == 0)
		result = (a->order < b->order) - (a->order > b->order);
	return result;
}

#define ST_SORT sort_items
#define ST_ELEMENT_TYPE BetreeSortItem
#define ST_COMPARE(a, b, arg) sort_item_cmp(a, b, arg)
#define ST_COMPARE_ARG_TYPE BetreeRel
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Sort prepared items by (key, TID); already sorted input costs one pass */
void
betree_key_sort(BetreeRel *bt, BetreeSortItem *items, int nitems)
{
	Assert(nitems >= 0);
	Assert(nitems == 0 || items != NULL);

	sort_items(items, nitems, bt);
}

/*
 * betree_key_sort_unique
 *		Sort prepared items, and keep one of those that are exact duplicates;
 *		returns how many are left.
 */
int
betree_key_sort_unique(BetreeRel *bt, BetreeSortItem *items, int nitems)
{
	int			n = 0;

	betree_key_sort(bt, items, nitems);
	for (int i = 0; i < nitems; i++)
	{
		if (n > 0 && betree_key_item_compare(bt, &items[n - 1], &items[i]) == 0)
			continue;
		items[n++] = items[i];
	}
	return n;
}

/*
 * Merge the sorted lists "a", up to "b", and "b", up to "end", into "result";
 * returns where that ends.  Of exact duplicates one is kept.
 */
static BetreeSortItem *
merge_two_lists(BetreeRel *bt, BetreeSortItem *a, BetreeSortItem *b,
				BetreeSortItem *end, BetreeSortItem *result)
{
	BetreeSortItem *a_end = b;

	while (a < a_end && b < end)
	{
		int			cmp = betree_key_item_compare(bt, a, b);

		*result++ = cmp <= 0 ? *a : *b;
		if (cmp <= 0)
			a++;
		if (cmp >= 0)
			b++;
	}
	memcpy(result, a, (a_end - a) * sizeof(BetreeSortItem));
	result += a_end - a;
	memcpy(result, b, (end - b) * sizeof(BetreeSortItem));
	return result + (end - b);
}

/*
 * betree_key_merge_lists
 *		Merge sorted lists of prepared items, and keep one of those that are exact
 *		duplicates; returns how many are left.
 *
 * Each list begins with an item whose "order" is 1, that of the others is 0.
 * The result is in "*items", which may be another array then.
 */
int
betree_key_merge_lists(BetreeRel *bt, BetreeSortItem **items, int nitems)
{
	BetreeSortItem *from = *items;
	BetreeSortItem *to = NULL;
	int		   *starts;
	int			nlists = 0;

	for (int i = 0; i < nitems; i++)
		nlists += from[i].order;
	if (nlists <= 1)
		return nitems;
	to = palloc_extended(nitems * sizeof(BetreeSortItem), MCXT_ALLOC_HUGE);
	starts = palloc((nlists + 1) * sizeof(int));
	nlists = 0;
	for (int i = 0; i < nitems; i++)
	{
		if (from[i].order == 1)
			starts[nlists++] = i;
	}

	while (nlists > 1)
	{
		BetreeSortItem *result = to;
		int			n = 0;

		starts[nlists] = nitems;
		for (int list = 0; list < nlists; list += 2)
		{
			int			second = starts[list + 1];
			int			end = starts[Min(list + 2, nlists)];
			BetreeSortItem *a = from + starts[list];

			starts[n++] = result - to;
			result = merge_two_lists(bt, a, from + second, from + end, result);
		}
		nlists = n;
		nitems = result - to;
		to = from;
		from = result - nitems;
	}
	*items = from;
	return nitems;
}

/*
 * betree_key_item_complaint
 *		What is wrong with a sorted item of a LEAF or LOG page; NULL if nothing
 *		is.  For the checker.
 *
 * It must be as long as its values make it, or those and the TIDs of a posting,
 * and above all rows of the one before it.
 */
const char *
betree_key_item_complaint(BetreeRel *bt, Page page, OffsetNumber off)
{
	IndexTuple	itup = BetreePageGetTuple(page, off);

	if (BetreeTupleIsPosting(itup) &&
		(BetreePageGetOpaque(page)->bteo_kind != BETREE_LEAF ||
		 bt->rel->rd_index->indisunique || bt->natts != bt->nkeyatts))
		return "is a posting, which may not be here";
	if (betree_posting_key_size(itup) != stored_size(bt, itup))
		return "is not as long as its values";
	if (off > FirstOffsetNumber)
	{
		IndexTuple	previous = BetreePageGetTuple(page, off - 1);
		BetreeKey	key;

		betree_key_from_tuple(bt, previous, &key);
		key.tid = betree_posting_last(previous);
		if (betree_key_compare_tuple(bt, &key, itup) >= 0)
			return "is not above the one before it";
	}
	return NULL;
}

/*
 * betree_key_search_node
 *		The child of a NODE that a position belongs to.
 *
 * That is the last child whose pivot is not above "key" or, "strict", is
 * below it: the child to read next when going backward from "key".  The
 * position must be in the node's range.
 */
int
betree_key_search_node(BetreeRel *bt, Page page, BetreeKey *key, bool strict)
{
	int			low = 0;
	int			high = BetreeNodeNumChildren(page) - 1;
	int			limit = strict ? 1 : 0;

	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	/* the first child's pivot is the node's own lower bound */
	while (low < high)
	{
		int			mid = low + (high - low + 1) / 2;

		if (betree_key_compare_pivot(bt, key,
									 BetreeNodeGetPivot(page, mid)) >= limit)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* First of the sorted items 1..last that is not below "key", or last + 1 */
OffsetNumber
betree_key_search_page(BetreeRel *bt, Page page, OffsetNumber last,
					   BetreeKey *key)
{
	OffsetNumber low = FirstOffsetNumber;
	OffsetNumber high = OffsetNumberNext(last);

	Assert(last <= PageGetMaxOffsetNumber(page));

	while (low < high)
	{
		OffsetNumber mid = low + (high - low) / 2;

		if (betree_key_compare_tuple(bt, key,
									 BetreePageGetTuple(page, mid)) > 0)
			low = OffsetNumberNext(mid);
		else
			high = mid;
	}
	return low;
}

/* First of "n" sorted items that is not below "key", or n */
int
betree_key_search_items(BetreeRel *bt, BetreeSortItem *items, int n, BetreeKey *key)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (betree_key_compare_tuple(bt, key, items[mid].itup) > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * betree_key_search_page_hint
 *		betree_key_search_page() that first looks at a place where it may be.
 *
 * For callers that go through a page in key order: it mostly is where they
 * stopped the last time.  Any hint is right.
 */
OffsetNumber
betree_key_search_page_hint(BetreeRel *bt, Page page, OffsetNumber last,
							OffsetNumber hint, BetreeKey *key)
{
	Assert(last <= PageGetMaxOffsetNumber(page));

	if (hint >= FirstOffsetNumber && hint <= last + 1 &&
		(hint > last ||
		 betree_key_compare_tuple(bt, key, BetreePageGetTuple(page, hint)) <= 0) &&
		(hint == FirstOffsetNumber ||
		 betree_key_compare_tuple(bt, key, BetreePageGetTuple(page, hint - 1)) > 0))
		return hint;
	return betree_key_search_page(bt, page, last, key);
}

/*
 * betree_key_search_page_near
 *		First of the sorted items "first" to before "end" that is not below
 *		"key", or "end"; "*found" says whether it is equal.
 *
 * For callers that go through a page in key order and know about how many items
 * are between one key and the next: looks there first, then further and
 * further away.
 */
OffsetNumber
betree_key_search_page_near(BetreeRel *bt, Page page, OffsetNumber first,
							OffsetNumber end, int distance, BetreeKey *key,
							bool *found)
{
	int			low = first;
	int			high = end;
	int			probe = first + distance;

	Assert(distance >= 0);
	Assert(end <= PageGetMaxOffsetNumber(page) + 1);

	*found = false;
	while (low < high)
	{
		int			cmp;

		if (probe >= high)
			probe = low + (high - low) / 2;
		cmp = betree_key_compare_tuple(bt, key, BetreePageGetTuple(page, probe));
		if (cmp > 0)
		{
			low = probe + 1;
			distance = 2 * distance + 1;
			probe = high == end ? low + distance : low + (high - low) / 2;
		}
		else
		{
			*found = cmp == 0;
			high = probe;
			probe = low + (high - low) / 2;
		}
	}
	return high;
}

/* Is the position at or above the node's lower bound and below its upper? */
bool
betree_key_node_covers(BetreeRel *bt, Page page, BetreeKey *key)
{
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	return betree_key_compare_pivot(bt, key, BetreeNodeGetHikey(page)) < 0 &&
		betree_key_compare_pivot(bt, key, BetreeNodeGetPivot(page, 0)) >= 0;
}
