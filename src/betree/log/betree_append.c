/*-------------------------------------------------------------------------
 *
 * betree_append.c
 *	  Appending rows to tails, or to the last leaf of the index: one record for some.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core.h"
#include "base/core_wal.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

/*
 * A lookup reads the tail's unsorted items one by one; when they are this many, and
 * as many as the sorted ones, the whole page is put in order.
 */
#define SORT_INTERVAL	64

/*
 * betree_append_sort
 *		The item pointers of a log page in the order of its tuples.  Returns
 * whether that differs from the order that they have.
 */
bool
betree_append_sort(BetreeRel *bt, Page page, ItemIdData *ids)
{
	OffsetNumber maxoff = betree_page_nitems(page);
	int			nsorted = BetreePageGetOpaque(page)->bteo_nsorted;
	BetreeSortItem *items = palloc(maxoff * sizeof(BetreeSortItem));
	BetreeSortItem *rest = items + nsorted;
	int			nrest = maxoff - nsorted;
	int			a = 0;
	int			b = 0;
	bool		changed = false;

	for (int i = 0; i < maxoff; i++)
		betree_key_item_init(bt, &items[i], BetreePageGetTuple(page, i + 1),
							 i + 1);
	betree_key_sort(bt, rest, nrest);

	for (int i = 0; i < maxoff; i++)
	{
		BetreeSortItem *next;

		if (b >= nrest)
			next = &items[a++];
		else if (a >= nsorted ||
				 betree_key_item_compare(bt, &rest[b], &items[a]) < 0)
			next = &rest[b++];
		else
			next = &items[a++];
		ids[i] = *PageGetItemId(page, next->order);
		if (next->order != i + 1)
			changed = true;

		/* the rest of an ascending page needs no comparison */
		if (!changed && a < nsorted && b == 0 &&
			(nrest == 0 ||
			 betree_key_item_compare(bt, &items[nsorted - 1], &rest[0]) <= 0))
		{
			while (a < nsorted)
			{
				ids[a] = *PageGetItemId(page, a + 1);
				a++;
			}
			i = a - 1;
		}
	}
	pfree(items);
	return changed;
}

/*
 * betree_append_put
 *		Put items into a page of a delta record, a tail or a leaf.
 *
 * "tuples" are as they lie on the page.  "ids" has room for all item pointers of a
 * page, and has those from "off" on, the new items' included.
 */
void
betree_append_put(EcpDelta *delta, int bufno, BetreeRoom *room, const void *tuples,
				  OffsetNumber off, ItemIdData *ids)
{
	static const PGAlignedBlock zeros;
	PageHeader	header = (PageHeader) delta->pages[bufno];
	LocationIndex old_upper = header->pd_upper;
	int			lower = SizeOfPageHeaderData + (off - 1) * (int) sizeof(ItemIdData);
	int			nids = room->nitems + room->nnew + 1 - off;
	int			bytes = room->bounds[0] - lower;

	Assert(CritSectionCount > 0);
	Assert(off >= FirstOffsetNumber && nids > 0);
	Assert(bytes >= nids * (int) sizeof(ItemIdData));

	/*
	 * the hole need not be clear behind the item pointers kept for later
	 * items
	 */
	memset(&ids[nids], 0, bytes - nids * sizeof(ItemIdData));
	if (room->bounds[1] < old_upper)
		ecp_delta_copy(delta, bufno, room->bounds[1], zeros.data,
					   Min(old_upper, room->upper) - room->bounds[1]);
	ecp_delta_copy(delta, bufno, room->upper, tuples, room->bytes);
	ecp_delta_copy(delta, bufno, lower, ids, bytes);
	ecp_delta_copy(delta, bufno, offsetof(PageHeaderData, pd_lower), room->bounds,
				   sizeof(room->bounds));
}

/* A page that a record appends to */
typedef struct TailChange
{
	BetreeRoom	room;
	int			nsorted;		/* what is sorted anew, or 0 */
	OffsetNumber off;			/* of the first item pointer that changes */
	ItemIdData	ids[MaxIndexTuplesPerPage];
} TailChange;

/* Find the room of an append, and order what a tail has if that is time */
static void
prepare_append(BetreeRel *bt, BetreeAppend *tail, TailChange *change)
{
	Page		page = BufferGetPage(tail->buf);
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	int			maxoff = betree_page_nitems(page);
	bool		leaf = opaque->bteo_kind == BETREE_LEAF;

	Assert(ecp_buffer_is_exclusive_locked(tail->buf));

	if (!betree_page_find_room(page, tail->nitems, tail->bytes,
							   leaf ? BETREE_LEAF_MAX_ITEMS : BETREE_LOG_PAGE_MAX_ITEMS,
							   &change->room))
		betree_page_report_item(page);
	/* what comes at once is in order */
	change->nsorted = !leaf && maxoff == 0 ? tail->nitems : 0;
	change->off = maxoff + 1;
	if (!leaf && maxoff - opaque->bteo_nsorted >= Max(SORT_INTERVAL, opaque->bteo_nsorted))
	{
		change->nsorted = maxoff;
		if (betree_append_sort(bt, page, change->ids))
			change->off = FirstOffsetNumber;
	}
}

/* Put the tuples of an append where there is room, within a delta record */
static void
put_append(EcpDelta *delta, int bufno, BetreeAppend *tail, TailChange *change)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(delta->pages[bufno]);
	ItemIdData *ids = change->ids + change->room.nitems + 1 - change->off;
	PGAlignedBlock tuples;
	int			at = tail->bytes;

	/* the first at the top, as if they had come one by one */
	for (int i = 0; i < tail->nitems; i++)
	{
		IndexTuple	itup = tail->items[i].itup;
		int			size = IndexTupleSize(itup);

		at -= MAXALIGN(size);
		memcpy(tuples.data + at, itup, MAXALIGN(size));
		ItemIdSetNormal(&ids[i], change->room.upper + at, size);
	}
	betree_append_put(delta, bufno, &change->room, tuples.data, change->off, change->ids);
	if (change->nsorted > 0)
	{
		opaque->bteo_nsorted = change->nsorted;
		ecp_delta_field(delta, bufno, opaque->bteo_nsorted);
	}
}

/*
 * betree_append_rows
 *		Append tuples, for which there is room, to some tails of a node, or to the
 *		last leaf of the index.
 */
void
betree_append_rows(BetreeRel *bt, BetreeAppend *tails, int ntails)
{
	TailChange	changes[ECP_DELTA_BUFFERS];
	Buffer		buffers[ECP_DELTA_BUFFERS] = {InvalidBuffer};
	EcpDelta	delta;

	Assert(ntails > 0 && ntails <= ECP_DELTA_BUFFERS);

	for (int i = 0; i < ntails; i++)
	{
		prepare_append(bt, &tails[i], &changes[i]);
		buffers[i] = tails[i].buf;
	}
	ecp_delta_begin_pages(&delta, bt->rel, ECP_DELTA_BYTES, buffers, ntails);
	for (int i = 0; i < ntails; i++)
		put_append(&delta, i, &tails[i], &changes[i]);
	ecp_delta_finish(&delta);
}
