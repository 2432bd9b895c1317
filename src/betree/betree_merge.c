/*-------------------------------------------------------------------------
 *
 * betree_merge.c
 *	  One step of a scan: merging a leaf with the messages of its range.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree_scan.h"

/* Add a tuple to the result, if it passes the filter */
static void
page_add(BetreeScanOpaque so, BetreeScanPage *page, IndexTuple itup)
{
	BetreeScanItem *item;

	if (so->quals.nfilter > 0 && !betree_quals_match(so, itup))
		return;
	if (page->nitems >= page->max_items)
	{
		page->max_items = Max(64, page->max_items * 2);
		page->items = page->items == NULL ?
			palloc(page->max_items * sizeof(BetreeScanItem)) :
			repalloc(page->items, page->max_items * sizeof(BetreeScanItem));
	}
	if (so->heap != NULL && unlikely(!betree_block_tid_exists(so->heap, &itup->t_tid)))
		betree_page_report_item();
	item = &page->items[page->nitems++];
	item->tid = itup->t_tid;
	item->itup = NULL;
	if (so->interlock)
	{
		betree_key_verify_tuple(&so->bt, itup);
		item->itup = CopyIndexTuple(itup);
	}
}

/* First message not below the key */
static int
message_search(BetreeScanOpaque so, BetreeKey *key)
{
	int			low = 0;
	int			high = so->reader.messages.nitems;

	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (betree_key_compare_tuple(&so->bt, key, so->reader.messages.items[mid].itup) > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * betree_merge_leaf
 *		Merge the leaf, share-locked, with the messages of its range.
 *
 * "leaf" is NULL if the leaf has nothing.  "from" and "to" bound what the step
 * reads.
 */
void
betree_merge_leaf(BetreeScanOpaque so, BetreeScanPage *page, Page leaf,
				  BetreeKey *from, BetreeKey *to)
{
	BetreeRel  *bt = &so->bt;
	OffsetNumber off = FirstOffsetNumber;
	OffsetNumber end = FirstOffsetNumber;
	int			message = message_search(so, from);
	int			last = message_search(so, to);

	if (leaf != NULL)
	{
		OffsetNumber maxoff = PageGetMaxOffsetNumber(leaf);

		off = betree_key_search_page(bt, leaf, maxoff, from);
		end = betree_key_search_page(bt, leaf, maxoff, to);
		/* windows are narrower */
		if (so->quals.nsets == 0)
		{
			off = Max(off, betree_key_search_page(bt, leaf, maxoff, &so->quals.lower));
			end = Min(end, betree_key_search_page(bt, leaf, maxoff, &so->quals.upper));
		}
	}

	while (off < end || message < last)
	{
		int			cmp;

		if (so->quals.nsets > 0 && off < end)
		{
			off = betree_array_skip(so, leaf, off, end - 1, page->high);
			if (off >= end && message >= last)
				break;
		}
		if (message >= last)
			cmp = 1;
		else if (off >= end)
			cmp = -1;
		else
		{
			BetreeSortItem item;

			betree_key_item_init(bt, &item, BetreePageGetTuple(leaf, off), 0);
			cmp = betree_key_item_compare(bt, &so->reader.messages.items[message], &item);
		}

		/* flushed since it was collected: the leaf's copy does */
		if (cmp == 0)
			message++;
		else if (cmp < 0)
			page_add(so, page, so->reader.messages.items[message++].itup);
		else
		{
			/* a macro that may look at its argument more than once */
			page_add(so, page, BetreePageGetTuple(leaf, off));
			off++;
		}
	}
}
