/*-------------------------------------------------------------------------
 *
 * betree_leaf.c
 *	  Merging a batch of messages into a leaf, splitting it if need be.
 *
 * One WAL record moves a batch: it writes the leaf, up to two new leaves, and
 * in their parent the new pivots, the marker that says that the batch has
 * left the log, and the counters.  A crash finds the batch in the log or in
 * the leaf, never in both.
 *
 * A full leaf and a full batch always fit three pages, since tuples are at
 * most a sixth of a page.  Two leaves and their batches may be spread anew
 * over two or three pages; that record moves the bound between them.
 *
 * A batch that is added in place leaves postings as they are, except those whose
 * TID range a message falls into.  Where whole pages are written anyway, neighbours
 * with the same key become postings first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/xloginsert.h"
#include "base/core.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "betree/leaf/betree_leaf.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"

/* the leaf's tuples and the batch's, in order */
typedef struct MergedItem
{
	IndexTuple	itup;
	OffsetNumber from;			/* place in the leaf, or 0 for a new one */
} MergedItem;

typedef struct Merged
{
	int			nitems;
	int			space;			/* with item pointers */
	int			max_space;		/* of the largest tuple */
	bool		ascending;		/* the batch goes behind all of the leaf */
	int			max_items;
	MergedItem *items;
} Merged;

/*
 * How a merged leaf is cut into pages: page i begins at start[i].  The first is a
 * leaf already, and so is the last if two are; the others are new.  A third leaf
 * comes between two: they keep their outer tuples, and only it is logged whole.
 */
#define MAX_PAGES		3

/* how full, in percent, leaves may be that share their tuples */
#define SHARE_FILL_TWO	95
#define SHARE_FILL_THREE	90

typedef struct LeafSplit
{
	int			npages;
	int			nold;			/* of these, leaves already */
	bool		keeps_first;	/* the first one does not change */
	bool		at_end;			/* the last one is the last leaf, and grows */
	int			start[MAX_PAGES + 1];
	IndexTuple	separator[MAX_PAGES];	/* of pages 1.. */
	Buffer		buf[MAX_PAGES];
} LeafSplit;

static inline bool
is_new(const LeafSplit *split, int i)
{
	return i > 0 && i <= split->npages - split->nold;
}

/* Room for the tuples of "nleaves" leaves, and a batch for each */
static Merged *
merged_create(int nleaves)
{
	Merged	   *merged = palloc0(sizeof(Merged));

	merged->max_items = nleaves * BETREE_MERGE_MAX_ITEMS;
	merged->items = palloc(merged->max_items * sizeof(MergedItem));
	return merged;
}

static void
merged_free(Merged *merged)
{
	pfree(merged->items);
	pfree(merged);
}

static inline void
merged_add(Merged *merged, IndexTuple itup, OffsetNumber from)
{
	/* postings that a batch has cut to pieces are more */
	if (unlikely(merged->nitems >= merged->max_items))
	{
		merged->max_items *= 2;
		merged->items = repalloc(merged->items,
								 merged->max_items * sizeof(MergedItem));
	}
	merged->items[merged->nitems].itup = itup;
	merged->items[merged->nitems].from = from;
	merged->nitems++;
	merged->space += BetreeTupleSpace(itup);
	merged->max_space = Max(merged->max_space, BetreeTupleSpace(itup));
}

/* Go on with a posting, or add the item that has been made and begin another */
static void
merged_add_row(Merged *merged, BetreePosting *posting, IndexTuple itup,
			   ItemPointer tid)
{
	if (posting->key != NULL &&
		betree_posting_same_key(posting->key, itup) &&
		betree_posting_add_row(posting, tid))
		return;
	if (posting->key != NULL)
		merged_add(merged, betree_posting_form(posting), InvalidOffsetNumber);
	betree_posting_begin_row(posting, itup, tid);
}

/*
 * Add what becomes of a posting with messages among its rows, message "first"
 * and more; returns the first one behind them.  Messages with keys that are
 * equal, but not the same, cut it.  One that it has already adds nothing.
 */
static int
merge_posting(BetreeRel *bt, IndexTuple itup, BetreeBatch *batch, int first,
			  Merged *merged)
{
	ItemPointerData tids[BETREE_POSTING_MAX_ROWS];
	int			n = betree_posting_read(itup, tids);
	int			i = first;
	BetreePosting posting;

	posting.key = NULL;
	for (int row = 0; row < n;)
	{
		IndexTuple	message = i < batch->nitems ? batch->items[i].itup : NULL;
		int			cmp = 1;

		if (message != NULL && betree_key_equal_tuples(bt, message, itup))
			cmp = ItemPointerCompare(&message->t_tid, &tids[row]);
		if (cmp < 0)
			merged_add_row(merged, &posting, message, &message->t_tid);
		else
		{
			merged_add_row(merged, &posting, itup, &tids[row]);
			row++;
		}
		if (cmp <= 0)
			i++;
	}
	merged_add(merged, betree_posting_form(&posting), InvalidOffsetNumber);
	return i;
}

/*
 * Merge the batch with the page, and add the result.  Messages lie sparsely
 * between the tuples of the leaf, so each is searched with growing steps.  A
 * message that is in the leaf already takes its place: inserting twice is
 * inserting once.
 */
static void
merge_items(BetreeRel *bt, Page page, BetreeBatch *batch, Merged *merged)
{
	OffsetNumber maxoff = betree_page_nitems(page);
	OffsetNumber pos = FirstOffsetNumber;

	for (int i = 0; i < batch->nitems;)
	{
		BetreeSortItem *message = &batch->items[i];
		OffsetNumber low = pos;
		OffsetNumber high = pos;
		OffsetNumber posting = InvalidOffsetNumber;
		int			step = 1;
		bool		found = false;

		if (unlikely(BetreeTupleIsPosting(message->itup)))
			betree_page_report_item(message->itup);

		/* ascending input goes behind the last item */
		if (i == 0 && maxoff > 0 &&
			betree_place_compare(bt, message, page, maxoff) > 0)
		{
			low = high = maxoff + 1;
			merged->ascending = true;
		}

		while (high <= maxoff && betree_place_compare(bt, message, page, high) > 0)
		{
			low = high + 1;
			high += step;
			step *= 2;
		}
		high = Min(high, maxoff + 1);
		while (low < high)
		{
			OffsetNumber mid = low + (high - low) / 2;

			if (betree_place_compare(bt, message, page, mid) > 0)
				low = mid + 1;
			else
				high = mid;
		}
		if (low <= maxoff)
			found = betree_place_compare(bt, message, page, low) == 0;

		if (found && BetreeTupleIsPosting(BetreePageGetTuple(page, low)))
			posting = low;
		else if (!found && low > pos &&
				 betree_place_is_inside(bt, message->itup, BetreePageGetTuple(page, low - 1)))
			posting = low - 1;
		if (posting != InvalidOffsetNumber)
			low = posting;
		for (; pos < low; pos++)
			merged_add(merged, BetreePageGetTuple(page, pos), pos);
		if (posting != InvalidOffsetNumber)
			i = merge_posting(bt, BetreePageGetTuple(page, pos), batch, i,
							  merged);
		else
		{
			merged_add(merged, message->itup, InvalidOffsetNumber);
			i++;
		}
		if (found || posting != InvalidOffsetNumber)
			pos++;
	}
	for (; pos <= maxoff; pos++)
		merged_add(merged, BetreePageGetTuple(page, pos), pos);
}

/*
 * Make postings of neighbours with the same key.  What is a posting already, and
 * has no room for the next, stays as it is.
 */
static void
deduplicate(BetreeRel *bt, Merged *merged)
{
	BetreePosting posting;
	int			nadded = 0;		/* to the posting that the last item begins */
	int			n = 0;

	if (!bt->deduplicate)
		return;
	for (int i = 0; i < merged->nitems; i++)
	{
		MergedItem	item = merged->items[i];

		if (n > 0 && (nadded > 0 ||
					  (!betree_posting_is_full(merged->items[n - 1].itup) &&
					   betree_posting_same_key(merged->items[n - 1].itup, item.itup))))
		{
			if (nadded == 0)
				betree_posting_begin(&posting, merged->items[n - 1].itup);
			if (betree_posting_add(&posting, item.itup))
			{
				nadded++;
				continue;
			}
		}
		if (nadded > 0)
			merged->items[n - 1].itup = betree_posting_form(&posting);
		nadded = 0;
		merged->items[n++] = item;
	}
	if (nadded > 0)
		merged->items[n - 1].itup = betree_posting_form(&posting);

	merged->nitems = n;
	merged->space = merged->max_space = 0;
	for (int i = 0; i < n; i++)
	{
		merged->space += BetreeTupleSpace(merged->items[i].itup);
		merged->max_space = Max(merged->max_space,
								BetreeTupleSpace(merged->items[i].itup));
	}
}

/*
 * Are the merged tuples more than three pages may have to take?  They are if the
 * leaf was full and the batch has cut postings to pieces.
 */
static bool
is_too_much(Merged *merged)
{
	return merged->space / MAX_PAGES + (int) BetreeMaxItemSize > BetreePageCapacity ||
		merged->nitems > MAX_PAGES * BETREE_LEAF_MAX_ITEMS;
}

/* Do the merged tuples fit one page? */
static bool
fits_page(Merged *merged)
{
	return merged->space <= BetreePageCapacity &&
		merged->nitems <= BETREE_LEAF_MAX_ITEMS;
}

/*
 * Take the highest free place of this size below "*place", for the next one to look
 * below; 0 if there is none above "lower".
 */
static int
claim_below(bool *taken, int *place, int size, int lower)
{
	for (;;)
	{
		int			at = *place - size;
		int			unit = *place / MAXIMUM_ALIGNOF - 1;

		if (at < lower)
			return 0;
		while (unit >= at / MAXIMUM_ALIGNOF && !taken[unit])
			unit--;
		*place = (unit + 1) * MAXIMUM_ALIGNOF;
		if (*place <= at)
			break;
		/* go below what is taken */
		while (unit >= 0 && taken[unit])
			unit--;
		*place = (unit + 1) * MAXIMUM_ALIGNOF;
	}
	memset(taken + *place / MAXIMUM_ALIGNOF, true, size / MAXIMUM_ALIGNOF);
	return *place;
}

/*
 * Choose places on a leaf for items: those that lie there stay, since bytes that do not
 * move are not logged, and the others come between and below them.  Returns the lowest
 * place, or 0 if sizes differ, so that the others do not fit there.
 */
static int
place_items(Page page, const MergedItem *items, int nitems, ItemIdData *ids)
{
	bool		taken[BLCKSZ / MAXIMUM_ALIGNOF] = {false};
	int			lower = MAXALIGN(SizeOfPageHeaderData + nitems * sizeof(ItemIdData));
	int			upper = ((PageHeader) page)->pd_special;
	int			place = upper;

	for (int i = 0; i < nitems; i++)
	{
		uintptr_t	offset = (uintptr_t) items[i].itup - (uintptr_t) page;
		int			size = MAXALIGN(IndexTupleSize(items[i].itup));

		ItemIdSetUnused(&ids[i]);
		if (offset >= BLCKSZ || offset < lower || offset + size > place ||
			offset != MAXALIGN(offset) ||
			memchr(taken + offset / MAXIMUM_ALIGNOF, true, size / MAXIMUM_ALIGNOF) != NULL)
			continue;
		memset(taken + offset / MAXIMUM_ALIGNOF, true, size / MAXIMUM_ALIGNOF);
		ItemIdSetNormal(&ids[i], offset, IndexTupleSize(items[i].itup));
		upper = Min(upper, offset);
	}
	for (int i = 0; i < nitems; i++)
	{
		int			size = IndexTupleSize(items[i].itup);
		int			at;

		if (ItemIdIsUsed(&ids[i]))
			continue;
		at = claim_below(taken, &place, MAXALIGN(size), lower);
		if (at == 0)
			return 0;
		ItemIdSetNormal(&ids[i], at, size);
		upper = Min(upper, at);
	}
	return upper;
}

/* Does an item, for which place_items() has chosen a place on the page, lie there? */
static inline bool
stays(Page page, const MergedItem *item, ItemId iid)
{
	return (char *) item->itup == page + ItemIdGetOffset(iid);
}

/*
 * Has a leaf gaps between its items, and will be logged as a whole with the next
 * change?  Then it had better be written without them.
 */
static bool
is_to_be_packed(Buffer leafbuf)
{
	PageHeader	header = (PageHeader) BufferGetPage(leafbuf);

	return XLogCheckBufferNeedsBackup(leafbuf) &&
		betree_page_live_space((Page) header) <
		BetreePageCapacity - (header->pd_upper - header->pd_lower);
}

/*
 * Put the new tuples where there is room, and rewrite the item pointers.  Returns
 * false, having changed nothing, if there is none for one of them.
 */
static bool
write_in_place(BetreeRel *bt, Buffer nodebuf, int child, Buffer leafbuf,
			   BetreeBatch *batch, Merged *merged, bool at_end)
{
	Page		page = BufferGetPage(leafbuf);
	PageHeader	header = (PageHeader) page;
	ItemIdData	ids[MaxIndexTuplesPerPage];
	int			upper = place_items(page, merged->items, merged->nitems, ids);
	bool		bloom;
	bool		known;
	int			first = 0;
	int			run = 0;		/* new tuples that lie one behind the other */
	int			run_end = 0;
	EcpDelta	delta;
	int			leafno = batch->set_marker ? 1 : 0;

	if (upper == 0)
		return false;
	bloom = BufferIsValid(nodebuf) && betree_bloom_pages_ensure(bt, nodebuf);
	known = !bloom || betree_bloom_add(bt, nodebuf, BufferGetBlockNumber(leafbuf), batch);

	while (first < merged->nitems && merged->items[first].from == first + 1 &&
		   stays(page, &merged->items[first], &ids[first]))
		first++;
	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES,
					batch->set_marker ? nodebuf : InvalidBuffer, leafbuf);
	for (int i = first; i < merged->nitems; i++)
	{
		int			size = MAXALIGN(ItemIdGetLength(&ids[i]));
		int			at = ItemIdGetOffset(&ids[i]);

		if (stays(page, &merged->items[i], &ids[i]))
			continue;
		/* one that the item pointers push up may overlap its new place */
		memmove(page + at, merged->items[i].itup, size);
		if (at + size != run)
		{
			ecp_delta_range(&delta, leafno, run, run_end - run);
			run_end = at + size;
		}
		run = at;
	}
	ecp_delta_range(&delta, leafno, run, run_end - run);
	header->pd_upper = upper;
	header->pd_lower = SizeOfPageHeaderData +
		merged->nitems * sizeof(ItemIdData);
	memcpy(PageGetItemId(page, first + 1), &ids[first],
		   (merged->nitems - first) * sizeof(ItemIdData));

	if (batch->set_marker)
		betree_log_absorb(&delta, child, batch);
	ecp_delta_bytes(&delta, leafno, &header->pd_lower, 2 * sizeof(LocationIndex));
	ecp_delta_bytes(&delta, leafno, PageGetItemId(page, first + 1),
					(merged->nitems - first) * sizeof(ItemIdData));
	ecp_delta_finish(&delta);
	if (!known && !at_end)
		betree_bloom_set(bt, nodebuf, leafbuf);
	return true;
}

/*
 * Cut the merged tuples into pages of "limit" bytes or "max_items", whichever
 * comes first; an even piece takes the tuple that crosses its limit.
 */
static void
cut_into_pages(Merged *merged, LeafSplit *split, int limit, int max_items)
{
	int			space = 0;

	Assert(merged->nitems > 0);
	Assert(limit > 0 && max_items > 0);

	split->npages = 0;
	split->start[0] = 0;
	for (int i = 0; i < merged->nitems; i++)
	{
		int			item_space = BetreeTupleSpace(merged->items[i].itup);
		int			have = i - split->start[split->npages];

		if (have > 0 && split->npages < MAX_PAGES - 1 &&
			(have >= max_items || space >= limit ||
			 (merged->ascending && space + item_space > limit)))
		{
			split->npages++;
			split->start[split->npages] = i;
			space = 0;
		}
		space += item_space;
		if (space > BetreePageCapacity)
			betree_page_report_item(merged->items[i].itup);
	}
	split->npages++;
	split->start[split->npages] = merged->nitems;
}

/*
 * Cut the merged leaf into pages.  Evenly, unless the batch came in ascending
 * order: then all pages but the last are packed, for more will follow there.
 *
 * No piece differs from its share by more than a tuple, so three pages do, or
 * items of the leaf overlap.
 */
static void
choose_split(BetreeRel *bt, Merged *merged, LeafSplit *split)
{
	int			limit;
	int			max_items = BETREE_LEAF_MAX_ITEMS;

	if (merged->ascending)
	{
		limit = BetreePageCapacity * bt->fillfactor / 100;
		limit = Max(limit, merged->space / MAX_PAGES + (int) BetreeMaxItemSize);
		limit = Min(limit, BetreePageCapacity);
	}
	else
	{
		int			npages = MAX_PAGES;

		if (merged->space / 2 + (int) BetreeMaxItemSize <= BetreePageCapacity &&
			merged->nitems <= 2 * max_items)
			npages = 2;
		limit = merged->space / npages;
		if (max_items < MaxIndexTuplesPerPage)
			max_items = (merged->nitems + npages - 1) / npages;
	}
	cut_into_pages(merged, split, limit, max_items);
}

/* Cut the tuples of two leaves into "npages", if that fills them rightly */
static bool
choose_share(Merged *merged, LeafSplit *split, int npages, int fill)
{
	int			max_items = (merged->nitems + npages - 1) / npages;

	if (merged->space > npages * BetreePageCapacity * fill / 100 ||
		merged->space / npages + merged->max_space > BetreePageCapacity ||
		max_items > BETREE_LEAF_MAX_ITEMS)
		return false;
	cut_into_pages(merged, split, merged->space / npages,
				   BETREE_LEAF_MAX_ITEMS < MaxIndexTuplesPerPage ? max_items :
				   BETREE_LEAF_MAX_ITEMS);
	return split->npages >= split->nold;
}

/* Make the separators; returns whether the node has room for them */
static bool
form_separators(BetreeRel *bt, Page node, int child, Merged *merged,
				LeafSplit *split)
{
	int			space = 0;
	int			nnew = split->npages - split->nold;

	Assert(nnew >= 0 && split->npages <= MAX_PAGES);

	for (int i = 1; i < split->npages; i++)
	{
		int			at = split->start[i];

		split->separator[i] =
			betree_form_separator(bt, merged->items[at - 1].itup,
								  merged->items[at].itup);
		space += BetreeTupleSpace(split->separator[i]);
	}
	if (split->nold > 1)
		space -= BetreeTupleSpace(BetreeNodeGetPivot(node, child + 1));
	return space <= 0 ||
		(space <= betree_node_room(node) &&
		 BetreeNodeNumChildren(node) + nnew <= BETREE_NODE_MAX_CHILDREN);
}

/*
 * Point the node at the pages behind the first, whose buffers are known, from the
 * last on.  A pivot that stays is overwritten: deleting it moves the tuples of the
 * others.
 */
static void
write_pivots(Page node, int child, LeafSplit *split, uint16 marker)
{
	Assert(BetreePageGetOpaque(node)->bteo_level == 1);

	betree_node_shift_log(node, child + split->nold - 1,
						  split->npages - split->nold);
	for (int i = split->npages - 1; i > 0; i--)
	{
		IndexTuple	pivot = split->separator[i];
		OffsetNumber off = BETREE_FIRST_PIVOT + child + 1;
		Size		size = IndexTupleSize(pivot);
		bool		done;

		BetreePivotSetChild(pivot, BufferGetBlockNumber(split->buf[i]));
		BetreePivotSetMarker(pivot, marker);
		if (!is_new(split, i))
			done = PageIndexTupleOverwrite(node, off, (Pointer) pivot, size);
		else
			done = PageAddItem(node, (Pointer) pivot, size, off, false, false) !=
				InvalidOffsetNumber;
		if (!done)
			betree_page_report_item(node);
	}
}

/*
 * Fill a page with items; a leaf of "leafbuf", which it is a copy of, is changed as
 * little as possible.
 */
static void
write_items(Page page, Buffer leafbuf, const MergedItem *items, int nitems)
{
	PageHeader	header = (PageHeader) page;
	ItemIdData	ids[MaxIndexTuplesPerPage];
	int			upper = 0;

	if (BufferIsValid(leafbuf) && nitems <= MaxIndexTuplesPerPage &&
		!XLogCheckBufferNeedsBackup(leafbuf))
		upper = place_items(BufferGetPage(leafbuf), items, nitems, ids);
	if (upper == 0)
	{
		/* this is logged as an image, which may be compressed */
		betree_page_init(page, BETREE_LEAF, 0, 0);
		for (int i = 0; i < nitems; i++)
			betree_page_add(page, items[i].itup);
		return;
	}
	for (int i = 0; i < nitems; i++)
	{
		if (!stays(BufferGetPage(leafbuf), &items[i], &ids[i]))
			memcpy(page + ItemIdGetOffset(&ids[i]), items[i].itup, ItemIdGetLength(&ids[i]));
	}
	memcpy(PageGetItemId(page, 1), ids, nitems * sizeof(ItemIdData));
	header->pd_lower = SizeOfPageHeaderData + nitems * sizeof(ItemIdData);
	header->pd_upper = upper;
}

/*
 * Write the merged tuples as pages, those that are not new into the leaves that
 * split->buf already has.  "next_batch" is that of the second such leaf, or NULL.
 */
static void
write_pages(BetreeRel *bt, Buffer nodebuf, int child, BetreeBatch *batch,
			BetreeBatch *next_batch, Merged *merged, LeafSplit *split)
{
	GenericXLogState *state;
	Page		node = NULL;
	bool		bloom = BufferIsValid(nodebuf) && betree_bloom_pages_ensure(bt, nodebuf);
	int			first = split->keeps_first ? 1 : 0;

	for (int i = first; i < split->npages && bloom; i++)
	{
		if (!is_new(split, i))
			betree_bloom_forget(bt, nodebuf, BufferGetBlockNumber(split->buf[i]));
	}

	state = GenericXLogStart(bt->rel);
	if (BufferIsValid(nodebuf))
	{
		node = GenericXLogRegisterBuffer(state, nodebuf, 0);
		if (batch->set_marker)
		{
			BetreePivotSetMarker(BetreeNodeGetPivot(node, child), batch->upto);
			(void) betree_node_count_batch(node, batch->nitems);
			if (next_batch != NULL)
				(void) betree_node_count_batch(node, next_batch->nitems);
		}
	}

	for (int i = first; i < split->npages; i++)
	{
		bool		new = is_new(split, i);
		Page		page;

		if (new)
			split->buf[i] = betree_block_alloc(bt->rel);
		page = GenericXLogRegisterBuffer(state, split->buf[i], new ? GENERIC_XLOG_FULL_IMAGE : 0);
		write_items(page, new ? InvalidBuffer : split->buf[i],
					merged->items + split->start[i],
					split->start[i + 1] - split->start[i]);
	}
	if (split->npages > 1)
		write_pivots(node, child, split,
					 BetreePivotGetMarker(BetreeNodeGetPivot(node, child)));
	GenericXLogFinish(state);

	for (int i = 0; i < split->npages; i++)
	{
		/* tuples of leaves go to the right, or to a new one */
		for (int j = 0; j < split->npages; j++)
		{
			if (!is_new(split, j) && (j < i || is_new(split, i)))
				PredicateLockPageSplit(bt->rel, BufferGetBlockNumber(split->buf[j]),
									   BufferGetBlockNumber(split->buf[i]));
		}
		if (bloom && !(split->at_end && i == split->npages - 1) &&
			!(i < first && betree_bloom_has_slot(bt, BufferGetPage(nodebuf),
												 BufferGetBlockNumber(split->buf[i]))))
			betree_bloom_set(bt, nodebuf, split->buf[i]);
		if (is_new(split, i))
			UnlockReleaseBuffer(split->buf[i]);
	}
}

/*
 * betree_leaf_fits
 *		Will the leaf still be one page when the batch has been merged with it?
 */
bool
betree_leaf_fits(Page page, BetreeBatch *batch)
{
	PageHeader	header = (PageHeader) page;
	int			nitems = betree_page_nitems(page) + batch->nitems;

	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_LEAF);

	return nitems <= BETREE_LEAF_MAX_ITEMS &&
		(header->pd_upper - header->pd_lower >= batch->space ||
		 betree_page_live_space(page) + batch->space <= BetreePageCapacity);
}

/*
 * betree_leaf_share
 *		Merge batches into two neighbouring leaves and spread the tuples evenly
 *		over them, and a third one if need be.
 *
 * "leafbuf" is child "child" of the node, "nextbuf" the next one; all are
 * exclusively locked.  Both batches must be complete.  Returns false, having
 * changed nothing, if this does not suit: the leaves would be too full, or the
 * first need not be split if it has postings, the keys ascend, or the node has
 * no room for the pivots.
 */
bool
betree_leaf_share(BetreeRel *bt, Buffer nodebuf, int child, Buffer leafbuf,
				  Buffer nextbuf, BetreeBatch *batch, BetreeBatch *next_batch)
{
	Merged	   *merged = merged_create(2);
	LeafSplit	split = {.nold = 2,.buf = {leafbuf}};
	bool		done = false;

	Assert(batch->complete && next_batch->complete);
	Assert(batch->set_marker && next_batch->set_marker);
	Assert(batch->nitems > 0);
	Assert(child >= 0 && child + 1 < BetreeNodeNumChildren(BufferGetPage(nodebuf)));
	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(ecp_buffer_is_exclusive_locked(leafbuf));
	Assert(ecp_buffer_is_exclusive_locked(nextbuf));

	merge_items(bt, BufferGetPage(leafbuf), batch, merged);
	deduplicate(bt, merged);
	if (!merged->ascending && !fits_page(merged))
	{
		merge_items(bt, BufferGetPage(nextbuf), next_batch, merged);
		merged->ascending = false;
		deduplicate(bt, merged);
		done = (choose_share(merged, &split, 2, SHARE_FILL_TWO) ||
				choose_share(merged, &split, 3, SHARE_FILL_THREE)) &&
			form_separators(bt, BufferGetPage(nodebuf), child, merged, &split);
	}
	if (done)
	{
		split.buf[split.npages - 1] = nextbuf;
		write_pages(bt, nodebuf, child, batch, next_batch, merged, &split);
		ECP_STOP_POINT("shared");
	}
	merged_free(merged);
	return done;
}

/* Write what has been merged with a leaf; false if the node has no room */
static bool
write_merged(BetreeRel *bt, Buffer nodebuf, int child, Buffer leafbuf,
			 BetreeBatch *batch, Merged *merged, bool at_end)
{
	LeafSplit	split = {.nold = 1,.npages = 1,.buf = {leafbuf},.at_end = at_end};

	split.start[1] = merged->nitems;
	if (!fits_page(merged))
		choose_split(bt, merged, &split);
	if (split.npages > 1 &&
		(!BufferIsValid(nodebuf) ||
		 !form_separators(bt, BufferGetPage(nodebuf), child, merged, &split)))
		return false;
	write_pages(bt, nodebuf, child, batch, NULL, merged, &split);
	return true;
}

/* Is the batch a tuple that comes past the logs to the last leaf of the index? */
static bool
is_last_leaf(Buffer nodebuf, int child, BetreeBatch *batch)
{
	Page		node;

	if (!BufferIsValid(nodebuf) || batch->set_marker)
		return false;
	node = BufferGetPage(nodebuf);
	return child == BetreeNodeNumChildren(node) - 1 &&
		BetreePivotGetNatts(BetreeNodeGetHikey(node)) == BETREE_NATTS_PLUSINF;
}

/*
 * Begin a new last leaf with the last tuple, and leave the others where they are,
 * or write them anew if postings have made them fewer.
 */
static bool
begin_leaf(BetreeRel *bt, Buffer nodebuf, int child, Buffer leafbuf,
		   BetreeBatch *batch, Merged *merged)
{
	int			old_items = betree_page_nitems(BufferGetPage(leafbuf));
	LeafSplit	split = {.nold = 1,.npages = 2,.buf = {leafbuf},.at_end = true};

	split.keeps_first = merged->nitems == old_items + 1;
	split.start[1] = merged->nitems - 1;
	split.start[2] = merged->nitems;
	if (!form_separators(bt, BufferGetPage(nodebuf), child, merged, &split))
		return false;
	write_pages(bt, nodebuf, child, batch, NULL, merged, &split);
	return true;
}

/*
 * Split a leaf that is too full for its batch, which stays where it is: the
 * caller is told that the batch is not all.
 */
static bool
split_before_merge(BetreeRel *bt, Buffer nodebuf, int child, Buffer leafbuf,
				   BetreeBatch *batch)
{
	Page		page = BufferGetPage(leafbuf);
	OffsetNumber maxoff = betree_page_nitems(page);
	Merged	   *merged = merged_create(1);
	LeafSplit	split = {.nold = 1,.buf = {leafbuf}};
	BetreeBatch none = {0};
	bool		done;

	if (maxoff < 2 || !batch->set_marker)
		betree_page_report_item(page);
	for (OffsetNumber off = 1; off <= maxoff; off++)
		merged_add(merged, BetreePageGetTuple(page, off), off);
	cut_into_pages(merged, &split, merged->space / 2, (maxoff + 1) / 2);
	done = form_separators(bt, BufferGetPage(nodebuf), child, merged, &split);
	if (done)
		write_pages(bt, nodebuf, child, &none, NULL, merged, &split);
	merged_free(merged);
	batch->complete = false;
	return done;
}

/*
 * betree_leaf_merge
 *		Merge a batch into the leaf that is child "child" of a node.
 *
 * The leaf is exclusively locked; so is the node, or InvalidBuffer is given
 * for it if the batch does not come from its log and a split is not wanted.
 * Returns false, having changed nothing, if the node has no room for the
 * pivots of new leaves.  A batch that would not fit, with the leaf, what new
 * leaves there may be stays in the log, and is not complete any more: the leaf has
 * been split then.
 */
bool
betree_leaf_merge(BetreeRel *bt, Buffer nodebuf, int child, Buffer leafbuf,
				  BetreeBatch *batch)
{
	Page		page = BufferGetPage(leafbuf);
	Merged	   *merged = merged_create(1);
	bool		at_end = is_last_leaf(nodebuf, child, batch);
	bool		begins;
	bool		done = true;

	Assert(batch->nitems > 0);
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_LEAF);
	Assert(ecp_buffer_is_exclusive_locked(leafbuf));
	Assert(BufferIsValid(nodebuf) ?
		   ecp_buffer_is_exclusive_locked(nodebuf) : !batch->set_marker);

	merge_items(bt, page, batch, merged);
	begins = at_end && merged->ascending &&
		betree_place_begins_leaf(bt, page, batch->items[0].itup);
	if (begins || !fits_page(merged) || is_to_be_packed(leafbuf) ||
		!write_in_place(bt, nodebuf, child, leafbuf, batch, merged, at_end))
	{
		deduplicate(bt, merged);
		if (begins && merged->space >= BetreePageCapacity * bt->fillfactor / 100 * 7 / 8)
			done = begin_leaf(bt, nodebuf, child, leafbuf, batch, merged);
		else if (is_too_much(merged))
			done = split_before_merge(bt, nodebuf, child, leafbuf, batch);
		else
		{
			/* the last leaf is packed, as with a batch in ascending order */
			merged->ascending |= at_end;
			done = write_merged(bt, nodebuf, child, leafbuf, batch, merged, at_end);
		}
	}
	merged_free(merged);
	if (done)
		ECP_STOP_POINT("merged");
	return done;
}
