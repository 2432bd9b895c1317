/*-------------------------------------------------------------------------
 *
 * betree_merge.c
 *	  One step of a scan: merging a leaf with the messages of its range.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/spare.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/scan/betree_scan_private.h"

/*
 * An index-only scan copies the tuples of a leaf one by one if the step wants at
 * most this part of them; else all at once.
 */
#define COPY_SINGLY_PART	8

/* minimum results for which the limit is computed (betree_block_tid_limit) */
#define TID_LIMIT_ITEMS		16

/* Make room for "n" results more */
static void
page_reserve(BetreeScanOpaque so, BetreeScanPage *page, int n)
{
	if (n > TID_LIMIT_ITEMS && so->heap != NULL && so->heap_blocks == 0)
		so->heap_blocks = betree_block_tid_limit(so->heap);
	page->items = ecp_enlarge(so->context, page->items, &page->max_items,
							  page->nitems + n, sizeof(BetreeScanItem));
}

/* Is it certain without asking that a row of the table may have this TID? */
static inline bool
is_tid_plain(BetreeScanOpaque so, ItemPointer tid)
{
	OffsetNumber off = ItemPointerGetOffsetNumberNoCheck(tid);

	return off - 1U < MaxHeapTuplesPerPage &&
		ItemPointerGetBlockNumberNoCheck(tid) < so->heap_blocks;
}

/* Add a row to the result; index-only scans are handed "copy", its tuple */
static inline void
page_add(BetreeScanOpaque so, BetreeScanPage *page, ItemPointer tid,
		 IndexTuple copy)
{
	BetreeScanItem *item = &page->items[page->nitems++];

	Assert(page->nitems <= page->max_items);

	if (unlikely(!is_tid_plain(so, tid)) && so->heap != NULL &&
		!betree_block_tid_exists(so->heap, tid))
		betree_page_report_item(tid);
	item->tid = *tid;
	item->itup = copy;
}

/* Add a tuple if it passes the filter */
static void
page_add_matching(BetreeScanOpaque so, BetreeScanPage *page, IndexTuple itup)
{
	if (so->quals.nfilter > 0 && !betree_quals_match(&so->bt, &so->quals, itup))
		return;
	if (so->interlock)
	{
		betree_key_verify_tuple(&so->bt, itup);
		page_add(so, page, &itup->t_tid, CopyIndexTuple(itup));
	}
	else
		page_add(so, page, &itup->t_tid, NULL);
}

/* What a step merges into its page of results */
typedef struct LeafMerge
{
	Page		leaf;
	ptrdiff_t	copies;			/* how far copies are from the leaf's tuples,
								 * or 0 if they have not been copied */
	BetreeKey  *from;			/* what the step reads */
	BetreeKey  *to;
	int			message;		/* the next one */
	int			last;			/* to before this one */
} LeafMerge;

/*
 * Add those rows of a posting that the step reads, and messages up to the last of
 * them, of which there may be some only if "weave".
 *
 * A bound was one of a leaf, and may have been inside of this one since.
 */
static void
page_add_posting(BetreeScanOpaque so, BetreeScanPage *page, LeafMerge *merge,
				 IndexTuple posting, bool weave)
{
	BetreeRel  *bt = &so->bt;
	BetreeSortItem *messages = so->reader.messages.items;
	bool		matches = so->quals.nfilter == 0 || betree_quals_match(&so->bt, &so->quals, posting);
	IndexTuple	copy = NULL;
	ItemPointerData tids[BETREE_POSTING_MAX_ROWS];
	int			n = betree_posting_read(posting, tids);
	int			row = 0;

	/* and for what may come behind it, of the leaf and of the messages */
	page_reserve(so, page, n + merge->last - merge->message + (int) MaxIndexTuplesPerPage);
	if (matches && so->interlock)
	{
		betree_key_verify_tuple(bt, posting);
		copy = merge->copies == 0 ? CopyIndexTuple(posting) :
			(IndexTuple) ((char *) posting + merge->copies);
	}
	if (merge->from->has_tid)
	{
		while (row < n &&
			   betree_key_compare_row(bt, merge->from, posting, &tids[row]) > 0)
			row++;
	}
	if (merge->to->has_tid)
	{
		while (n > row &&
			   betree_key_compare_row(bt, merge->to, posting, &tids[n - 1]) <= 0)
			n--;
	}

	while (row < n)
	{
		IndexTuple	message = weave && merge->message < merge->last ?
			messages[merge->message].itup : NULL;

		if (message != NULL && !betree_key_equal_tuples(bt, message, posting))
			message = NULL;
		for (; row < n; row++)
		{
			if (message != NULL && ItemPointerCompare(&tids[row], &message->t_tid) >= 0)
				break;
			if (matches)
				page_add(so, page, &tids[row], copy);
		}
		if (row == n)
			break;

		/* flushed since it was collected: the leaf's copy does */
		if (ItemPointerCompare(&tids[row], &message->t_tid) != 0)
			page_add_matching(so, page, message);
		merge->message++;
	}
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

/* Add the items "off" to before "end" of the leaf */
static void
page_add_leaf(BetreeScanOpaque so, BetreeScanPage *page, LeafMerge *merge,
			  OffsetNumber off, OffsetNumber end)
{
	Page		leaf = merge->leaf;
	ptrdiff_t	copies = merge->copies;

	for (; off < end; off++)
	{
		IndexTuple	itup;

		if (so->quals.nsets > 0 &&
			(off = betree_array_skip(&so->bt, &so->quals, leaf, off, end - 1, page->high)) >= end)
			break;
		itup = BetreePageGetTuple(leaf, off);
		if (unlikely(BetreeTupleIsPosting(itup)))
			page_add_posting(so, page, merge, itup, false);
		else if (copies == 0)
			page_add_matching(so, page, itup);
		else if (so->quals.nfilter == 0 || betree_quals_match(&so->bt, &so->quals, itup))
		{
			betree_key_verify_tuple(&so->bt, itup);
			page_add(so, page, &itup->t_tid, (IndexTuple) ((char *) itup + copies));
		}
	}
}

/*
 * Is the item of the leaf a posting with the key of a message?  Then it may have
 * rows on both sides of that.
 */
static bool
posting_may_enclose(BetreeScanOpaque so, Page leaf, OffsetNumber off,
					IndexTuple message)
{
	IndexTuple	itup = BetreePageGetTuple(leaf, off);

	return BetreeTupleIsPosting(itup) &&
		betree_key_equal_tuples(&so->bt, itup, message);
}

/*
 * Where in the leaf the range begins and ends.  Mostly that is where the leaf
 * does; a lookup ends close to where it begins.
 */
static void
search_leaf(BetreeScanOpaque so, Page leaf, BetreeKey *from, BetreeKey *to,
			OffsetNumber *off, OffsetNumber *end)
{
	BetreeRel  *bt = &so->bt;
	OffsetNumber last = betree_page_nitems(leaf);
	bool		lookup = so->quals.hashed;
	bool		found;

	*off = *end = FirstOffsetNumber;
	if (last == 0)
		return;
	if (lookup ||
		betree_key_compare_tuple(bt, from, BetreePageGetTuple(leaf, *off)) > 0)
		*off = betree_key_search_page(bt, leaf, last, from);

	/* the bound may be inside of a posting */
	if (from->has_tid && *off > FirstOffsetNumber &&
		BetreeTupleIsPosting(BetreePageGetTuple(leaf, *off - 1)))
		(*off)--;
	*end = betree_key_search_page_near(bt, leaf, *off, last + 1,
									   lookup ? 0 : last - Min(*off, last), to,
									   &found);
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
	BetreeMessages *messages = &so->reader.messages;
	OffsetNumber off = FirstOffsetNumber;
	OffsetNumber end = FirstOffsetNumber;
	LeafMerge	merge = {.leaf = leaf,.from = from,.to = to};

	merge.message = betree_key_search_items(bt, messages->items, messages->nitems, from);
	merge.last = betree_key_search_items(bt, messages->items, messages->nitems, to);
	if (leaf != NULL)
		search_leaf(so, leaf, from, to, &off, &end);

	page_reserve(so, page, (end - off) + Max(merge.last - merge.message, 0));
	if (so->interlock && off < end &&
		(end - off) > betree_page_nitems(leaf) / COPY_SINGLY_PART)
		merge.copies = copy_leaf(so, page, leaf);

	while (merge.message < merge.last)
	{
		IndexTuple	itup = messages->items[merge.message].itup;
		bool		found = false;

		if (off < end)
		{
			BetreeKey	key;
			OffsetNumber next;
			OffsetNumber posting;

			betree_key_from_tuple(bt, itup, &key);
			next = betree_key_search_page_near(bt, leaf, off, end,
											   (end - off) /
											   (merge.last - merge.message + 1),
											   &key, &found);
			posting = found ? next : next - 1;
			if (posting >= off && posting_may_enclose(so, leaf, posting, itup))
			{
				page_add_leaf(so, page, &merge, off, posting);
				page_add_posting(so, page, &merge, BetreePageGetTuple(leaf, posting),
								 true);
				off = posting + 1;
				continue;
			}
			page_add_leaf(so, page, &merge, off, next);
			off = next;
		}
		/* flushed since it was collected: the leaf's copy does */
		if (!found)
			page_add_matching(so, page, itup);
		merge.message++;
	}
	page_add_leaf(so, page, &merge, off, end);
}
