/*-------------------------------------------------------------------------
 *
 * betree_collect.c
 *	  One step of a scan: what a node's log holds for it.
 *
 * What is collected is copied, sorted and without duplicates in
 * reader.messages: each sealed page, and the sorted part of a tail, is a sorted
 * list in it, and betree_collect_finish() merges them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/spare.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/scan/betree_scan_private.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* What is to be collected from a log: the children and an interval of keys */
typedef struct LogRange
{
	Page		node;
	int			first;
	int			last;
	int			child;			/* the only one, or -1 for several */
	uint16		oldest;			/* markers of the children */
	uint16		newest;
	IndexTuple	upper;			/* pivot, as is "high" */
	BetreeKey	low;
	BetreeKey	high;
	BetreeKey  *from;			/* the interval: the narrower of these bounds */
	BetreeKey  *to;				/* and, unless there are windows, the scan's */
} LogRange;

/* Copy a tuple to where the messages are */
static IndexTuple
copy_message(BetreeMessages *messages, IndexTuple itup)
{
	Size		size = MAXALIGN(IndexTupleSize(itup));
	char	   *copy = messages->space;

	if (size > messages->space_left)
	{
		/* a scan of one leaf collects few */
		messages->space_size = Min(Max(2 * messages->space_size, 512), BLCKSZ);
		messages->space_left = Max(messages->space_size, size);
		copy = MemoryContextAlloc(messages->context, messages->space_left);
	}
	memcpy(copy, itup, IndexTupleSize(itup));
	messages->space = copy + size;
	messages->space_left -= size;
	return (IndexTuple) copy;
}

/* Add a message; "order" is 1 if it begins a sorted list, else 0 */
static void
message_add(BetreeScanOpaque so, IndexTuple itup, int order)
{
	BetreeMessages *messages = &so->reader.messages;

	messages->items = ecp_enlarge(messages->context, messages->items,
								  &messages->max_items, messages->nitems + 1,
								  sizeof(BetreeSortItem));
	betree_key_item_init(&so->bt, &messages->items[messages->nitems],
						 copy_message(messages, itup), order);
	messages->nitems++;
}

/*
 * betree_collect_reset
 *		Forget what was collected.
 */
void
betree_collect_reset(BetreeScanOpaque so)
{
	BetreeMessages *messages = &so->reader.messages;

	MemoryContextReset(messages->context);
	messages->items = NULL;
	messages->nitems = 0;
	messages->max_items = 0;
	messages->space_size = messages->space_left = 0;
	messages->cached = false;
	so->reader.leaf_low = so->reader.leaf_high = NULL;
	if (BufferIsValid(messages->guard))
		ReleaseBuffer(messages->guard);
	messages->guard = InvalidBuffer;
}

/* Take note of the markers of the range's children */
static void
find_markers(LogRange *range)
{
	for (int i = range->first; i <= range->last; i++)
	{
		uint16		marker = BetreePivotGetMarker(BetreeNodeGetPivot(range->node, i));

		if (i == range->first || BetreeSeqNewer(marker, range->newest))
			range->newest = marker;
		if (i == range->first || BetreeSeqNewer(range->oldest, marker))
			range->oldest = marker;
	}
}

/*
 * Is a sealed page's item live, with respect to its child's marker?  Items come
 * in order: "*child" is the last one's, or the first of the range.
 */
static bool
is_live(BetreeScanOpaque so, LogRange *range, IndexTuple itup, uint16 seq,
		int *child)
{
	if (range->child < 0)
	{
		BetreeKey	key;

		betree_key_from_tuple(&so->bt, itup, &key);
		while (*child < range->last &&
			   betree_key_compare_pivot(&so->bt, &key,
										BetreeNodeGetPivot(range->node, *child + 1)) >= 0)
			(*child)++;
	}
	return BetreeSeqNewer(seq,
						  BetreePivotGetMarker(BetreeNodeGetPivot(range->node, *child)));
}

/*
 * Where the range begins among the sorted items of a page.  "hint" is NULL or,
 * if known, where the last step's items ended.
 */
static OffsetNumber
find_first(BetreeScanOpaque so, LogRange *range, Page page,
		   OffsetNumber nsorted, OffsetNumber *hint)
{
	if (hint != NULL && *hint != InvalidOffsetNumber)
		return betree_key_search_page_hint(&so->bt, page, nsorted, *hint,
										   range->from);
	return betree_key_search_page(&so->bt, page, nsorted, range->from);
}

/* Where the range ends among the sorted items, which begin it at "first" */
static OffsetNumber
find_end(BetreeScanOpaque so, LogRange *range, Page page, OffsetNumber first,
		 OffsetNumber nsorted)
{
	int			nchildren = BetreeNodeNumChildren(range->node);
	int			distance = nsorted * (range->last - range->first + 1) / nchildren;
	bool		found;

	return betree_key_search_page_near(&so->bt, page, first, nsorted + 1,
									   distance, range->to, &found);
}

/*
 * Collect from one log page, share-locked.  "hint" is as in find_first(); it is
 * moved on.
 */
static void
collect_page(BetreeScanOpaque so, LogRange *range, Page page, bool tail,
			 uint16 seq, OffsetNumber *hint)
{
	BetreeRel  *bt = &so->bt;
	BetreeMessages *messages = &so->reader.messages;
	OffsetNumber maxoff = betree_page_nitems(page);
	OffsetNumber nsorted = BetreePageGetOpaque(page)->bteo_nsorted;
	bool		all_live = tail || BetreeSeqNewer(seq, range->newest);
	int			child = range->first;
	int			first = messages->nitems;
	OffsetNumber off = find_first(so, range, page, nsorted, hint);
	OffsetNumber end = off <= nsorted ?
		find_end(so, range, page, off, nsorted) : off;

	Assert(range->child < BetreeNodeNumChildren(range->node));

	for (; off < end; off++)
	{
		IndexTuple	itup;

		if (so->quals.nsets > 0 &&
			(off = betree_array_skip(&so->bt, &so->quals, page, off, end - 1, range->upper)) >= end)
			break;
		itup = BetreePageGetTuple(page, off);
		if (all_live || is_live(so, range, itup, seq, &child))
			message_add(so, itup, messages->nitems == first);
	}
	if (hint != NULL)
		*hint = end;

	first = messages->nitems;
	for (off = nsorted + 1; off <= maxoff; off++)
	{
		IndexTuple	itup;

		if (so->quals.hashed &&
			(off = betree_key_find_equal(bt, page, off, maxoff,
										 &so->quals.lower)) > maxoff)
			break;
		itup = BetreePageGetTuple(page, off);
		if (betree_key_compare_tuple(bt, range->to, itup) > 0 &&
			betree_key_compare_tuple(bt, range->from, itup) <= 0 &&
			(so->quals.nsets == 0 || betree_array_enter(&so->bt, &so->quals, itup)))
			message_add(so, itup, 0);
	}
	if (messages->nitems > first)
	{
		betree_key_sort(bt, messages->items + first, messages->nitems - first);
		messages->items[first].order = 1;
	}
}

/* May sealed page "i" of the log have live items of the range? */
static inline bool
is_pending(LogRange *range, int i)
{
	return BetreeSeqNewer(BetreeNodeGetDir(range->node)[i].bted_seq,
						  range->oldest) &&
		betree_node_log_covers(range->node, i, range->first, range->last);
}

/* Are there more log pages to read than the filter's own page? */
static bool
is_filter_worthwhile(LogRange *range)
{
	int			pending = 0;

	/* the last ones are pending, if any */
	for (int i = BetreePageGetOpaque(range->node)->bteo_nlog - 1;
		 i >= 0 && pending < 2; i--)
		pending += is_pending(range, i);
	return pending >= 2;
}

/*
 * Ask the node's filter, if it is worthwhile, for the log pages that may hold
 * what the scan looks for, see betree_filter_probe()
 */
static bool
probe_filter(BetreeScanOpaque so, LogRange *range, uint16 *from, bool *hit)
{
	BetreeQuals *quals = &so->quals;

	if (!(quals->hashed || (quals->window_hashed && range->child >= 0)) ||
		!is_filter_worthwhile(range))
		return false;
	if (quals->hashed)
		return betree_filter_probe(&so->bt, range->node, quals->hash.own.id,
								   quals->hash_value, from, hit);
	return betree_array_probe(&so->bt, &so->quals, range->node, range->upper, from, hit);
}

/* Set the range of keys of the children "first" to "last" */
static bool
set_range(BetreeScanOpaque so, LogRange *range, Page node, int first, int last)
{
	BetreeRel  *bt = &so->bt;
	IndexTuple	lower = BetreeNodeGetPivot(node, first);

	range->node = node;
	range->first = first;
	range->last = last;
	range->child = first == last ? first : -1;
	range->upper = BetreeNodeGetUpper(node, last);
	if (BetreePageGetOpaque(node)->bteo_level > 1 && so->reader.leaf_low != NULL)
	{
		lower = so->reader.leaf_low;
		range->upper = so->reader.leaf_high;
	}
	find_markers(range);
	betree_key_from_pivot(bt, lower, &range->low);
	betree_key_from_pivot(bt, range->upper, &range->high);
	range->from = &range->low;
	range->to = &range->high;
	if (so->quals.nsets > 0)
		return betree_array_narrow(&so->bt, &so->quals, lower, range->upper, &range->low);
	if (betree_key_compare_pivot(bt, &so->quals.lower, lower) > 0)
		range->from = &so->quals.lower;
	if (betree_key_compare_pivot(bt, &so->quals.upper, range->upper) < 0)
		range->to = &so->quals.upper;
	return true;
}

/*
 * betree_collect_log
 *		Collect what a node's log holds for the children "first" to "last".
 *
 * The node is share-locked, so that its directory and its filter pages belong
 * together.
 */
void
betree_collect_log(BetreeScanOpaque so, Page node, int first, int last)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	bool		use_cache = so->reader.keep_log_pins && opaque->bteo_level == 1;
	LogRange	range;
	uint16		filter_from = 0;
	bool		hit[BETREE_FILTER_HITS];
	bool		filtered;

	if (!betree_node_has_log(node) || !set_range(so, &range, node, first, last))
		return;
	filtered = probe_filter(so, &range, &filter_from, hit);
	for (int i = 0; i < opaque->bteo_ndir; i++)
	{
		bool		tail = BetreeDirIsTail(&dir[i]);
		Buffer		buf;

		if (BetreeDirIsSealed(&dir[i]) != (i < opaque->bteo_nlog) ||
			((i < opaque->bteo_nlog || tail) && !betree_node_log_ordered(node, i)))
			betree_page_report_item(node);
		if (i < opaque->bteo_nlog)
		{
			if (!is_pending(&range, i) ||
				(filtered &&
				 betree_filter_excludes(node, i, filter_from, hit)))
				continue;
		}
		else if (!tail || !betree_node_log_covers(node, i, first, last))
			continue;
		if (use_cache)
			buf = betree_log_cache_lock(so->bt.rel, &so->reader.log_cache, i,
										dir[i].bted_block);
		else
			buf = betree_block_read(so->bt.rel, dir[i].bted_block, BUFFER_LOCK_SHARE,
									BETREE_LOG);
		if (!filtered)
			so->reader.nreads++;
		ecp_test_for_old_snapshot(so->snapshot, so->bt.rel, BufferGetPage(buf));
		collect_page(so, &range, BufferGetPage(buf), tail, dir[i].bted_seq,
					 use_cache ? &so->reader.log_cache.hint[i] : NULL);
		if (use_cache)
			betree_log_cache_unlock(&so->reader.log_cache, i, buf);
		else
			UnlockReleaseBuffer(buf);
	}
}

/*
 * betree_collect_finish
 *		Put in order what was collected.
 */
void
betree_collect_finish(BetreeScanOpaque so)
{
	BetreeMessages *messages = &so->reader.messages;
	MemoryContext oldcontext = MemoryContextSwitchTo(messages->context);

	messages->nitems = messages->max_items =
		betree_key_merge_lists(&so->bt, &messages->items, messages->nitems);
	MemoryContextSwitchTo(oldcontext);
}
