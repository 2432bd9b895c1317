/*-------------------------------------------------------------------------
 *
 * betree_leaf.h
 *	  Changing leaves: merges, single tuples, purges; splitting nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_LEAF_H
#define BETREE_LEAF_H

#include "access/itup.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_page.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"

extern bool betree_leaf_fits(Page page, BetreeBatch *batch);
extern bool betree_leaf_share(BetreeRel *bt, Buffer nodebuf, int child,
							  Buffer leafbuf, Buffer nextbuf,
							  BetreeBatch *batch, BetreeBatch *next_batch);
extern bool betree_leaf_merge(BetreeRel *bt, Buffer nodebuf, int child,
							  Buffer leafbuf, BetreeBatch *batch);

/* betree_place.c: inserting one tuple into a leaf, past the logs */

/* Compare a tuple with the leaf's item at "off" */
static inline int
betree_place_compare(BetreeRel *bt, BetreeSortItem *tuple, Page page, OffsetNumber off)
{
	BetreeSortItem item;

	betree_key_item_init(bt, &item, BetreePageGetTuple(page, off), 0);
	return betree_key_item_compare(bt, tuple, &item);
}

extern bool betree_place_is_at_end(BetreeRel *bt, Page node, BetreeKey *key);
extern bool betree_place_is_inside(BetreeRel *bt, IndexTuple message,
								   IndexTuple itup);
extern bool betree_place_begins_leaf(BetreeRel *bt, Page page, IndexTuple itup);
extern int	betree_place_count_behind(BetreeRel *bt, Page page, BetreeSortItem *items,
									  int nitems, int *bytes);
extern bool betree_place_insert(BetreeRel *bt, Buffer leafbuf, IndexTuple itup,
								bool last);

/* betree_purge.c: removing entries of dead rows */

/*
 * Dead rows of which someone who has asked the table about them has the entries
 * removed: fewer are asked about again, which costs less than two records.
 */
#ifdef BETREE_TINY
#define BETREE_PURGE_ROWS		2
#else
#define BETREE_PURGE_ROWS		16
#endif

extern void betree_purge_leaf(BetreeRel *bt, Buffer leafbuf,
							  BetreeBatch *batch);
extern void betree_purge_rows(BetreeRel *bt, Buffer buf, ItemPointerData *tids, int ntids);
extern void betree_purge_scanned(BetreeRel *bt, IndexTuple low, ItemPointerData *tids,
								 int ntids);
extern void betree_purge_tail(BetreeRel *bt, Buffer tailbuf);

/* betree_split.c: splitting nodes */

extern BlockNumber betree_split_node(BetreeRel *bt, BetreeKey *key, int level);

#endif							/* BETREE_LEAF_H */
