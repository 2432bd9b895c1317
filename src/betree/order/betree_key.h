/*-------------------------------------------------------------------------
 *
 * betree_key.h
 *	  The order of tuples, pivots and positions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_KEY_H
#define BETREE_KEY_H

#include "betree/order/betree_rel.h"
#include "betree/page/betree_page.h"

/*
 * A position in the order of (key, heap TID): "nkeys" attributes, then the
 * TID if has_tid, then minus infinity, or plus infinity if "after".
 */
typedef struct BetreeKey
{
	int			nkeys;
	bool		after;
	bool		has_tid;
	ItemPointerData tid;
	FmgrInfo   *cmp[INDEX_MAX_KEYS];	/* compares (column, value) */
	Datum		value[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
} BetreeKey;

/* A tuple to be sorted, with its first key */
typedef struct BetreeSortItem
{
	IndexTuple	itup;
	Datum		first;
	bool		first_null;
	uint16		order;			/* caller's; of equal ones the higher wins */
} BetreeSortItem;

extern int	betree_key_compare_values(BetreeRel *bt, int i, FmgrInfo *cmp,
									  Datum value, bool isnull, Datum other,
									  bool other_null);
extern Datum betree_key_getattr(BetreeRel *bt, IndexTuple itup, int attno,
								bool *isnull);
extern bool betree_key_type_has_header(Oid type);
extern void betree_key_verify_values(BetreeRel *bt, IndexTuple itup);

/* Check all values of a tuple that is handed to code that does not. */
static inline void
betree_key_verify_tuple(BetreeRel *bt, IndexTuple itup)
{
	if (bt->fixed_size == 0 || IndexTupleHasNulls(itup))
		betree_key_verify_values(bt, itup);
	else if (unlikely(IndexTupleSize(itup) < bt->fixed_size))
		betree_page_report_item(itup);
}

extern int	betree_key_fixed_size(TupleDesc tupdesc);
extern int	betree_key_pivot_natts(BetreeRel *bt, IndexTuple pivot);
extern void betree_key_from_tuple(BetreeRel *bt, IndexTuple itup,
								  BetreeKey *key);
extern void betree_key_from_pivot(BetreeRel *bt, IndexTuple pivot,
								  BetreeKey *key);
extern int	betree_key_compare_tuple(BetreeRel *bt, BetreeKey *key,
									 IndexTuple itup);
extern int	betree_key_compare_row(BetreeRel *bt, BetreeKey *key,
								   IndexTuple itup, ItemPointer tid);
extern OffsetNumber betree_key_find_equal(BetreeRel *bt, Page page,
										  OffsetNumber off, OffsetNumber last,
										  BetreeKey *key);
extern int	betree_key_compare_pivot(BetreeRel *bt, BetreeKey *key,
									 IndexTuple pivot);
extern int	betree_key_order_tuples(BetreeRel *bt, IndexTuple a, IndexTuple b);
extern const char *betree_key_item_complaint(BetreeRel *bt, Page page,
											 OffsetNumber off);
extern bool betree_key_equal_tuples(BetreeRel *bt, IndexTuple a, IndexTuple b);
extern void betree_key_sort(BetreeRel *bt, BetreeSortItem *items, int nitems);
extern int	betree_key_sort_unique(BetreeRel *bt, BetreeSortItem *items, int nitems);
extern int	betree_key_merge_lists(BetreeRel *bt, BetreeSortItem **items,
								   int nitems);
extern void betree_key_item_init(BetreeRel *bt, BetreeSortItem *item,
								 IndexTuple itup, int order);
extern int	betree_key_item_compare(BetreeRel *bt, const BetreeSortItem *a,
									const BetreeSortItem *b);
extern int	betree_key_search_node(BetreeRel *bt, Page page, BetreeKey *key,
								   bool strict);
extern OffsetNumber betree_key_search_page(BetreeRel *bt, Page page,
										   OffsetNumber last, BetreeKey *key);
extern OffsetNumber betree_key_search_page_hint(BetreeRel *bt, Page page,
												OffsetNumber last,
												OffsetNumber hint,
												BetreeKey *key);
extern OffsetNumber betree_key_search_page_near(BetreeRel *bt, Page page,
												OffsetNumber first,
												OffsetNumber end, int distance,
												BetreeKey *key, bool *found);
extern bool betree_key_node_covers(BetreeRel *bt, Page page, BetreeKey *key);

#endif							/* BETREE_KEY_H */
