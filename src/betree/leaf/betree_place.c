/*-------------------------------------------------------------------------
 *
 * betree_place.c
 *	  Inserting one tuple into a leaf, past the logs.
 *
 * That takes no array of the leaf's items, as merging a batch does
 * (betree_leaf.c), and writes nothing but the leaf.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "betree/leaf/betree_leaf.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

/*
 * Leaves at the end of the index that tuples go to past the logs.  Keys that
 * come a little out of order, as from several sessions, are in two.
 */
#define END_LEAVES		2

/*
 * betree_place_is_at_end
 *		Does a tuple belong to one of the last leaves of the index, below a locked
 *		node?  Ascending keys do, also those that come a little late.
 */
bool
betree_place_is_at_end(BetreeRel *bt, Page node, BetreeKey *key)
{
	int			child = BetreeNodeNumChildren(node) - END_LEAVES;

	return BetreePageGetOpaque(node)->bteo_level == 1 &&
		BetreePivotGetNatts(BetreeNodeGetHikey(node)) == BETREE_NATTS_PLUSINF &&
		betree_key_compare_pivot(bt, key, BetreeNodeGetPivot(node, Max(child, 0))) >= 0;
}

/*
 * betree_place_is_inside
 *		Is a message that is above an item, as an item, not above all of its rows?
 */
bool
betree_place_is_inside(BetreeRel *bt, IndexTuple message, IndexTuple itup)
{
	ItemPointerData last;

	if (!BetreeTupleIsPosting(itup) ||
		!betree_key_equal_tuples(bt, message, itup))
		return false;
	last = betree_posting_last(itup);
	return ItemPointerCompare(&message->t_tid, &last) <= 0;
}

/*
 * Is a leaf as full as a build would make it?  What deletions have left behind
 * does not count.
 */
static bool
is_filled(BetreeRel *bt, Page page)
{
	PageHeader	header = (PageHeader) page;
	int			limit = BetreePageCapacity * bt->fillfactor / 100;

	return BetreePageCapacity - (header->pd_upper - header->pd_lower) >= limit &&
		betree_page_live_space(page) >= limit;
}

/*
 * betree_place_begins_leaf
 *		Shall a tuple, above all of the last leaf of the index, begin a new leaf?
 *
 * Not one that the leaf's last item can take into a posting.
 */
bool
betree_place_begins_leaf(BetreeRel *bt, Page page, IndexTuple itup)
{
	OffsetNumber maxoff = betree_page_nitems(page);

	return maxoff > 0 && is_filled(bt, page) &&
		!(bt->deduplicate &&
		  betree_posting_same_key(BetreePageGetTuple(page, maxoff), itup));
}

/*
 * betree_place_count_behind
 *		How many of some rows, which are in order and belong to the last leaf of the
 *		index, can be put behind its items before it is as full as a build would make
 *		it; and their bytes.
 */
int
betree_place_count_behind(BetreeRel *bt, Page page, BetreeSortItem *items, int nitems,
						  int *bytes)
{
	PageHeader	header = (PageHeader) page;
	OffsetNumber maxoff = betree_page_nitems(page);
	int			limit = BetreePageCapacity * bt->fillfactor / 100;
	int			space = BetreePageCapacity - (header->pd_upper - header->pd_lower);
	int			n = 0;

	*bytes = 0;
	if (maxoff == 0 || betree_place_compare(bt, &items[0], page, maxoff) <= 0 ||
		betree_place_is_inside(bt, items[0].itup, BetreePageGetTuple(page, maxoff)))
		return 0;
	while (n < nitems && space < limit)
	{
		int			size = MAXALIGN(IndexTupleSize(items[n].itup));
		BetreeRoom	room;

		if (!betree_page_find_room(page, n + 1, *bytes + size, BETREE_LEAF_MAX_ITEMS, &room))
			break;
		*bytes += size;
		space += size + sizeof(ItemIdData);
		n++;
	}
	return n;
}

/* Where a tuple belongs in a leaf; InvalidOffsetNumber if it is there already */
static OffsetNumber
find_place(BetreeRel *bt, Page page, IndexTuple itup)
{
	OffsetNumber maxoff = betree_page_nitems(page);
	OffsetNumber low = FirstOffsetNumber;
	OffsetNumber high = maxoff;
	BetreeSortItem item;

	betree_key_item_init(bt, &item, itup, 0);
	if (maxoff == 0 || betree_place_compare(bt, &item, page, maxoff) > 0)
		return maxoff + 1;
	while (low < high)
	{
		OffsetNumber mid = low + (high - low) / 2;

		if (betree_place_compare(bt, &item, page, mid) > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return betree_place_compare(bt, &item, page, low) == 0 ? InvalidOffsetNumber : low;
}

/*
 * betree_place_insert
 *		Insert a tuple into an exclusively locked leaf that has no Bloom filter,
 *		past the logs.
 *
 * Returns false, having changed nothing, if that takes more than a place between
 * two items: betree_leaf_merge() can do it.  "last" says that it is the last leaf
 * of the index.
 */
bool
betree_place_insert(BetreeRel *bt, Buffer leafbuf, IndexTuple itup, bool last)
{
	Page		page = BufferGetPage(leafbuf);
	ItemIdData	ids[MaxIndexTuplesPerPage];
	BetreeRoom	room;
	OffsetNumber off;
	EcpDelta	delta;

	Assert(ecp_buffer_is_exclusive_locked(leafbuf));
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_LEAF);

	if (!betree_page_find_room(page, 1, MAXALIGN(IndexTupleSize(itup)),
							   BETREE_LEAF_MAX_ITEMS, &room))
		return false;
	off = find_place(bt, page, itup);
	if (off == InvalidOffsetNumber ||
		(off > FirstOffsetNumber &&
		 betree_place_is_inside(bt, itup, BetreePageGetTuple(page, off - 1))) ||
		(last && off > room.nitems && betree_place_begins_leaf(bt, page, itup)))
		return false;

	ItemIdSetNormal(&ids[0], room.upper, IndexTupleSize(itup));
	memcpy(&ids[1], PageGetItemId(page, off),
		   (room.nitems + 1 - off) * sizeof(ItemIdData));
	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES, leafbuf, InvalidBuffer);
	betree_append_put(&delta, 0, &room, itup, off, ids);
	ecp_delta_finish(&delta);
	ECP_STOP_POINT("merged");
	return true;
}
