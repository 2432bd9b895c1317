/*-------------------------------------------------------------------------
 *
 * betree_merge.c
 *	  One step of a scan: merging a leaf with the messages of its range.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree_scan.h"

/*
 * An index-only scan copies the tuples of a leaf one by one if the step wants at
 * most this part of them; else all at once.
 */
#define COPY_SINGLY_PART	8

/* so many results of a step are worth a betree_block_tid_limit() */
#define TID_LIMIT_ITEMS		16

/* Prepare for "n" results at most */
static void
page_reserve(BetreeScanOpaque so, BetreeScanPage *page, int n)
{
	if (n > TID_LIMIT_ITEMS && so->heap != NULL && so->heap_blocks == 0)
		so->heap_blocks = betree_block_tid_limit(so->heap);
	if (n <= page->max_items)
		return;
	if (page->items != NULL)
		pfree(page->items);
	page->max_items = Max(64, n);
	page->items = MemoryContextAllocExtended(so->context,
											 page->max_items * sizeof(BetreeScanItem),
											 MCXT_ALLOC_HUGE);
}

/* Is it certain without asking that a row of the table may have this TID? */
static inline bool
is_tid_plain(BetreeScanOpaque so, ItemPointer tid)
{
	OffsetNumber off = ItemPointerGetOffsetNumberNoCheck(tid);

	return off - 1U < MaxHeapTuplesPerPage &&
		ItemPointerGetBlockNumberNoCheck(tid) < so->heap_blocks;
}

/* Add a tuple to the result; index-only scans are handed "copy" */
static inline void
page_add(BetreeScanOpaque so, BetreeScanPage *page, IndexTuple itup,
		 IndexTuple copy)
{
	BetreeScanItem *item = &page->items[page->nitems++];

	Assert(page->nitems <= page->max_items);

	if (unlikely(!is_tid_plain(so, &itup->t_tid)) && so->heap != NULL &&
		!betree_block_tid_exists(so->heap, &itup->t_tid))
		betree_page_report_item();
	item->tid = itup->t_tid;
	item->itup = copy;
}

/* Add a tuple if it passes the filter */
static void
page_add_matching(BetreeScanOpaque so, BetreeScanPage *page, IndexTuple itup)
{
	if (so->quals.nfilter > 0 && !betree_quals_match(so, itup))
		return;
	if (so->interlock)
	{
		betree_key_verify_tuple(&so->bt, itup);
		page_add(so, page, itup, CopyIndexTuple(itup));
	}
	else
		page_add(so, page, itup, NULL);
}

/*
 * Copy the tuples of the leaf at once.  Returns how far the copies are from
 * the originals.
 */
static ptrdiff_t
copy_leaf(BetreeScanOpaque so, BetreeScanPage *page, Page leaf)
{
	if (page->leaf == NULL)
		page->leaf = MemoryContextAlloc(so->context, BLCKSZ);

	/* a damaged item pointer may point to anywhere in front of pd_special */
	memcpy(page->leaf, leaf, ((PageHeader) leaf)->pd_special);
	return page->leaf - leaf;
}

/*
 * Add the items "off" to before "end" of the leaf; "copies" is how far their
 * copies are from them, or 0 if they have not been copied.
 */
static void
page_add_leaf(BetreeScanOpaque so, BetreeScanPage *page, Page leaf,
			  OffsetNumber off, OffsetNumber end, ptrdiff_t copies)
{
	for (; off < end; off++)
	{
		IndexTuple	itup;

		if (so->quals.nsets > 0 &&
			(off = betree_array_skip(so, leaf, off, end - 1, page->high)) >= end)
			break;
		itup = BetreePageGetTuple(leaf, off);
		if (copies == 0)
			page_add_matching(so, page, itup);
		else if (so->quals.nfilter == 0 || betree_quals_match(so, itup))
		{
			betree_key_verify_tuple(&so->bt, itup);
			page_add(so, page, itup, (IndexTuple) ((char *) itup + copies));
		}
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
	ptrdiff_t	copies = 0;

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

	page_reserve(so, page, (end - Min(off, end)) + (last - Min(message, last)));
	if (so->interlock && off < end &&
		(end - off) > PageGetMaxOffsetNumber(leaf) / COPY_SINGLY_PART)
		copies = copy_leaf(so, page, leaf);

	for (; message < last; message++)
	{
		IndexTuple	itup = so->reader.messages.items[message].itup;
		bool		found = false;

		if (off < end)
		{
			BetreeKey	key;
			OffsetNumber next;

			betree_key_from_tuple(bt, itup, &key);
			next = betree_key_search_page_near(bt, leaf, off, end,
											   (end - off) / (last - message + 1),
											   &key, &found);
			page_add_leaf(so, page, leaf, off, next, copies);
			off = next;
		}
		/* flushed since it was collected: the leaf's copy does */
		if (!found)
			page_add_matching(so, page, itup);
	}
	page_add_leaf(so, page, leaf, off, end, copies);
}
