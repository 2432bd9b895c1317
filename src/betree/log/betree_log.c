/*-------------------------------------------------------------------------
 *
 * betree_log.c
 *	  The log of a node: appending to its tail, sealing it, and reading from
 *	  the sealed pages what is pending for a child.
 *
 * Only the tail is ever appended to.  A seal sorts it, numbers it, and starts
 * a new tail.  Sealed pages are not written again, except by VACUUM; a flush
 * raises the marker of a child in the node instead (betree_log_absorb).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "base/core_buffer.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "betree/define/betree_options.h"
#include "betree/log/betree_batch.h"
#include "betree/log/betree_bloom_pages.h"
#include "betree/log/betree_filter.h"
#include "betree/log/betree_log.h"
#include "betree/log/betree_log_cache.h"
#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_node.h"
#include "betree/page/betree_page.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

/*
 * A lookup reads the tail's unsorted items one by one; after this many
 * appends the whole page is put in order.
 */
#define SORT_INTERVAL	64

/*
 * The item pointers of a log page in the order of its tuples.  Returns
 * whether that differs from the order that they have.
 */
static bool
sorted_item_ids(BetreeRel *bt, Page page, ItemIdData *ids)
{
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
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
 * betree_log_ncap
 *		Directory capacity that a new node of "level" gets.
 *
 * That is the sealed pages that start a drain, room for those that are sealed
 * while it runs, and for runs, a tail, and filter pages; and Bloom pages at
 * level 1.
 *
 * A node that owns no log by the present options still gets a few entries,
 * so that messages can go to any node when the options change.
 */
int
betree_log_ncap(BetreeRel *bt, int level)
{
	int			ncap = BETREE_NCAP_MIN;

	Assert(level >= 1);

	if (bt->log_pages > 0 && level <= bt->log_levels)
		ncap = bt->log_pages + Max(8, bt->log_pages / 4) + 1 +
			betree_filter_pages(bt);
	if (level == 1)
		ncap += betree_bloom_pages_reserved(bt);
	return Min(ncap, BETREE_NCAP_MAX);
}

/*
 * betree_log_append
 *		Append a tuple, for which there is room, to an exclusively locked tail.
 */
void
betree_log_append(BetreeRel *bt, Buffer tailbuf, IndexTuple itup)
{
	Page		page = BufferGetPage(tailbuf);
	PageHeader	header = (PageHeader) page;
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	Size		size = MAXALIGN(IndexTupleSize(itup));
	bool		sort = maxoff - opaque->bteo_nsorted >= SORT_INTERVAL;
	bool		changed = false;
	ItemIdData	ids[MaxIndexTuplesPerPage];
	LocationIndex bounds[2] = {header->pd_lower + sizeof(ItemIdData),
		header->pd_upper - size};
	EcpDelta	delta;

	Assert(ecp_buffer_is_exclusive_locked(tailbuf));
	Assert(betree_log_tail_has_room(page, itup));

	if (sort)
		changed = sorted_item_ids(bt, page, ids);
	ItemIdSetNormal(&ids[maxoff], bounds[1], IndexTupleSize(itup));

	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES);
	ecp_delta_buffer(&delta, tailbuf);

	START_CRIT_SECTION();
	ecp_delta_copy(&delta, 0, bounds[1], itup, size);
	if (changed)
		ecp_delta_copy(&delta, 0, SizeOfPageHeaderData, ids,
					   (maxoff + 1) * sizeof(ItemIdData));
	else
		ecp_delta_copy(&delta, 0,
					   SizeOfPageHeaderData + maxoff * sizeof(ItemIdData),
					   &ids[maxoff], sizeof(ItemIdData));
	ecp_delta_copy(&delta, 0, offsetof(PageHeaderData, pd_lower), bounds,
				   sizeof(bounds));
	if (sort)
		opaque->bteo_nsorted = maxoff;
	if (sort)
		ecp_delta_range(&delta, 0,
						(char *) &opaque->bteo_nsorted - (char *) page,
						sizeof(opaque->bteo_nsorted));
	ecp_delta_finish(&delta);
	END_CRIT_SECTION();
}

/* A page to be the next tail: a spare one of the node or a fresh one */
static Buffer
get_tail_page(BetreeRel *bt, Page node)
{
	int			spare = betree_node_find_dir(node, BETREE_DIR_SPARE);

	if (spare < 0)
		return betree_block_alloc(bt->rel);
	return betree_block_read(bt->rel, BetreeNodeGetDir(node)[spare].bted_block,
							 BUFFER_LOCK_EXCLUSIVE, BETREE_LOG);
}

/*
 * betree_log_set_drain
 *		Start a drain of all that an exclusively locked node has sealed, or
 *		extend the one under way to that.
 */
void
betree_log_set_drain(BetreeRel *bt, Buffer nodebuf)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));
	GenericXLogState *state;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(opaque->bteo_kind == BETREE_NODE);

	if (opaque->bteo_nlog == 0 || opaque->bteo_drain == opaque->bteo_seq)
		return;
	state = GenericXLogStart(bt->rel);
	opaque = BetreePageGetOpaque(GenericXLogRegisterBuffer(state, nodebuf, 0));
	opaque->bteo_drain = opaque->bteo_seq;
	GenericXLogFinish(state);
}

/*
 * Can the log of a node take another page?  Not if the directory is full, or
 * if its oldest page is too old to be told from newer ones by its number.
 */
static bool
log_has_room(Page node, uint32 seq)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);

	if (opaque->bteo_ndir >= opaque->bteo_ncap &&
		betree_node_find_dir(node, BETREE_DIR_SPARE) < 0)
		return false;
	return opaque->bteo_nlog == 0 ||
		betree_node_log_span(node, seq) <= BETREE_SEQ_SPAN_MAX;
}

/*
 * The log can take no more: see to it that a drain is under way, without which
 * the caller would try again without end.
 */
static void
start_needed_drain(BetreeRel *bt, Buffer nodebuf)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));

	if (opaque->bteo_nlog == 0)
		betree_block_report(bt->rel, nodebuf);
	/* a log that a split has shortened may not have come to its drain */
	if (opaque->bteo_drain == 0)
		betree_log_set_drain(bt, nodebuf);
	if (opaque->bteo_drain == 0)
		betree_block_report(bt->rel, nodebuf);
}

/* Let the tail be the log's last page, which "covered" filters know of */
static void
dir_seal_tail(Page node, uint32 seq, const bool *covered)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);

	opaque->bteo_seq = seq;
	dir[opaque->bteo_nlog].bted_seq = (uint16) seq;
	dir[opaque->bteo_nlog].bted_kind = BETREE_DIR_SEALED;
	opaque->bteo_nlog++;
	for (int i = opaque->bteo_nlog; i < opaque->bteo_ndir; i++)
	{
		int			number = dir[i].bted_kind >> 8;

		if (BetreeDirIsFilter(&dir[i]) &&
			(number >= BETREE_FILTER_PAGES_MAX || !covered[number]))
			dir[i].bted_seq = (uint16) seq;
	}
}

/* Enter the new tail, whose place is behind the log */
static void
dir_put_tail(Page node, BlockNumber blkno)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	int			at = betree_node_find_dir(node, BETREE_DIR_SPARE);

	if (at < 0)
	{
		at = opaque->bteo_ndir;
		betree_node_add_dir(node, blkno, BETREE_DIR_TAIL, 0);
	}
	dir[at] = dir[opaque->bteo_nlog];
	dir[opaque->bteo_nlog].bted_block = blkno;
	dir[opaque->bteo_nlog].bted_seq = 0;
	dir[opaque->bteo_nlog].bted_kind = BETREE_DIR_TAIL;
}

/*
 * Sealed pages that start a drain of the node at "blkno".
 *
 * Nodes that a build has made fill at the same pace when keys are random, and
 * would all drain at the same time, over and over.  So the first drain of a
 * node comes sooner, each node's at another length of its log, spread evenly:
 * then as many nodes drain at any time.  The root is alone on its level.
 */
static int
drain_threshold(BetreeRel *bt, Page page, BlockNumber blkno)
{
	int			pages = betree_rel_log_pages(bt, BetreeNodeNumChildren(page));

	Assert(bt->log_pages >= 0 && bt->log_pages <= BETREE_LOG_PAGES_MAX);
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	pages = Max(1, Min(pages, betree_node_log_capacity(page) - 2));
	if (blkno == BETREE_ROOT_BLKNO ||
		(BetreePageGetOpaque(page)->bteo_flags & BETREE_DRAINED) != 0)
		return pages;
	return 1 + murmurhash32(blkno) % pages;
}

/*
 * betree_log_seal
 *		Give a node a new tail, and its old one a place in the log.
 *
 * The node is exclusively locked and stays so.  The new tail begins with
 * "itup", if that is not NULL.  The seal that makes the log as long as
 * drain_threshold() says starts a drain.  Returns false, with a drain
 * under way, if the log can take no more; it can when that drain is finished
 * (betree_drain.c).
 */
bool
betree_log_seal(BetreeRel *bt, Buffer nodebuf, IndexTuple itup)
{
	Page		node = BufferGetPage(nodebuf);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BlockNumber oldblk = betree_node_tail(node);
	Buffer		oldbuf = InvalidBuffer;
	Buffer		newbuf;
	GenericXLogState *state;
	Page		page;
	uint32		seq = opaque->bteo_seq + 1;
	ItemIdData	ids[MaxIndexTuplesPerPage];
	bool		changed = false;
	bool		covered[BETREE_FILTER_PAGES_MAX];

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(opaque->bteo_kind == BETREE_NODE);

	if (seq == 0)
		seq = 1;
	betree_filter_trim(bt, nodebuf);
	if (!log_has_room(node, seq))
	{
		start_needed_drain(bt, nodebuf);
		return false;
	}

	if (oldblk != InvalidBlockNumber)
	{
		oldbuf = betree_block_read(bt->rel, oldblk, BUFFER_LOCK_EXCLUSIVE, BETREE_LOG);
		changed = sorted_item_ids(bt, BufferGetPage(oldbuf), ids);
		betree_filter_seal(bt, nodebuf, BufferGetPage(oldbuf), ids, seq,
						   covered);
	}
	newbuf = get_tail_page(bt, node);

	state = GenericXLogStart(bt->rel);
	node = GenericXLogRegisterBuffer(state, nodebuf, 0);
	opaque = BetreePageGetOpaque(node);

	if (BufferIsValid(oldbuf))
	{
		OffsetNumber maxoff;

		page = GenericXLogRegisterBuffer(state, oldbuf, 0);
		maxoff = PageGetMaxOffsetNumber(page);
		if (changed)
			memcpy(PageGetItemId(page, 1), ids, maxoff * sizeof(ItemIdData));
		BetreePageGetOpaque(page)->bteo_nsorted = maxoff;
		BetreePageGetOpaque(page)->bteo_seq = seq;
		dir_seal_tail(node, seq, covered);
	}
	dir_put_tail(node, BufferGetBlockNumber(newbuf));

	if (opaque->bteo_drain == 0 && opaque->bteo_nlog > 0 &&
		betree_node_log_length(node) >= drain_threshold(bt, node,
														BufferGetBlockNumber(nodebuf)))
		opaque->bteo_drain = opaque->bteo_seq;

	page = GenericXLogRegisterBuffer(state, newbuf, GENERIC_XLOG_FULL_IMAGE);
	betree_page_init(page, BETREE_LOG, opaque->bteo_level, 0);
	BetreePageGetOpaque(page)->bteo_owner = BufferGetBlockNumber(nodebuf);
	if (itup != NULL)
	{
		betree_page_add(page, itup);
		BetreePageGetOpaque(page)->bteo_nsorted = 1;
	}
	GenericXLogFinish(state);
	ECP_STOP_POINT("sealed");

	UnlockReleaseBuffer(newbuf);
	if (BufferIsValid(oldbuf))
		UnlockReleaseBuffer(oldbuf);
	return true;
}

/*
 * Copy items from "off" on that are below "upper" into the batch, if all of
 * them fit.  Returns false if they do not.
 */
static bool
batch_add(BetreeRel *bt, BetreeBatch *batch, Page page, OffsetNumber *off,
		  BetreeKey *upper, int max_space, int max_items, int order)
{
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	int			nitems = batch->nitems;
	int			space = batch->space;
	int			used = batch->data_used;

	for (; *off <= maxoff; (*off)++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, *off);
		Size		size = IndexTupleSize(itup);

		if (betree_key_compare_tuple(bt, upper, itup) <= 0)
			break;
		space += BetreeTupleSpace(itup);
		if (space > max_space || nitems >= max_items)
			return false;
		memcpy(batch->data + used, itup, size);
		betree_key_item_init(bt, &batch->items[nitems],
							 (IndexTuple) (batch->data + used), order);
		used += MAXALIGN(size);
		nitems++;
	}
	batch->nitems = nitems;
	batch->space = space;
	batch->data_used = used;
	return true;
}

/*
 * betree_log_check_order
 *		Complain if the numbers of a locked node's log are not in order, from
 *		the oldest to the newest given.
 *
 * Each flush raises the marker of its child, so that a drain ends, only if
 * they are.  While the node is locked the log does not change: callers of
 * betree_log_gather() check once for all children.
 */
void
betree_log_check_order(Page node)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);

	if (opaque->bteo_nlog > 0 &&
		betree_node_log_span(node, opaque->bteo_seq) > BETREE_SEQ_SPAN_MAX)
		betree_page_report_item(node);
	for (int i = 0; i < opaque->bteo_nlog; i++)
	{
		if (!betree_node_log_ordered(node, i))
			betree_page_report_item(node);
	}
}

/*
 * betree_log_gather
 *		Collect what a node's log holds for one of its children.
 *
 * The node is locked, and its log is in order (betree_log_check_order).  Pages
 * are taken whole and oldest first, as long as "max_space" and "max_items"
 * suffice; batch->upto is the number of the last one, and batch->complete says
 * that there was no other.  An empty batch that is not complete means that not
 * even the items of the first page fit.
 */
void
betree_log_gather(BetreeRel *bt, Page node, int child, int max_space,
				  int max_items, BetreeLogCache *cache, BetreeBatch *batch)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	uint16		marker = BetreePivotGetMarker(BetreeNodeGetPivot(node, child));
	BetreeKey	lower;
	BetreeKey	upper;

	Assert(opaque->bteo_kind == BETREE_NODE);
	Assert(child >= 0 && child < BetreeNodeNumChildren(node));
	Assert(max_space >= 0 && max_space <= batch->max_space);

	betree_key_from_pivot(bt, BetreeNodeGetPivot(node, child), &lower);
	betree_key_from_pivot(bt, BetreeNodeGetUpper(node, child), &upper);
	batch->nitems = 0;
	batch->space = 0;
	batch->data_used = 0;
	batch->set_marker = true;
	batch->complete = true;
	batch->upto = marker;

	for (int i = 0; i < opaque->bteo_nlog; i++)
	{
		Buffer		buf;
		Page		page;
		OffsetNumber off;

		if (!BetreeSeqNewer(dir[i].bted_seq, marker))
			continue;
		if (!betree_node_log_covers(node, i, child, child))
		{
			/* only one page of a run covers a child */
			if (betree_node_log_ends(node, i))
				batch->upto = dir[i].bted_seq;
			continue;
		}
		buf = betree_log_cache_lock(bt->rel, cache, i, dir[i].bted_block);
		page = BufferGetPage(buf);
		off = betree_key_search_page_hint(bt, page, PageGetMaxOffsetNumber(page),
										  cache->hint[i], &lower);
		batch->complete = batch_add(bt, batch, page, &off, &upper, max_space,
									max_items, i);
		cache->hint[i] = off;
		betree_log_cache_unlock(cache, i, buf);
		if (!batch->complete)
			break;
		if (betree_node_log_ends(node, i))
			batch->upto = dir[i].bted_seq;
	}
	batch->nitems = betree_key_sort_unique(bt, batch->items, batch->nitems);
}

/*
 * betree_log_absorb
 *		Set the marker of a child and count the batch, within a delta record.
 *
 * "bufno" is the node in the record; the caller is in its critical section.
 */
void
betree_log_absorb(EcpDelta *delta, int bufno, int child,
				  BetreeBatch *batch)
{
	Page		node = BufferGetPage(delta->buffers[bufno]);
	IndexTuple	pivot = BetreeNodeGetPivot(node, child);
	BetreeCounters counters = BetreeNodeGetCounters(node);
	uint32	   *bucket = betree_node_count_batch(node, batch->nitems);

	Assert(CritSectionCount > 0);
	Assert(batch->set_marker);

	BetreePivotSetMarker(pivot, batch->upto);
	ecp_delta_range(delta, bufno,
					(char *) &pivot->t_tid.ip_posid - (char *) node,
					sizeof(OffsetNumber));
	ecp_delta_range(delta, bufno,
					(char *) &counters->btec_messages - (char *) node,
					sizeof(uint32));
	ecp_delta_range(delta, bufno, (char *) bucket - (char *) node,
					sizeof(uint32));
}

/*
 * betree_log_append_batch
 *		Move a batch from the log of a node to the tail of a child's log.
 *
 * All three are exclusively locked, and the tail has room.
 */
void
betree_log_append_batch(BetreeRel *bt, Buffer nodebuf, int child, Buffer tailbuf,
						BetreeBatch *batch)
{
	Page		page = BufferGetPage(tailbuf);
	PageHeader	header = (PageHeader) page;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	LocationIndex old_upper = header->pd_upper;
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	EcpDelta	delta;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(ecp_buffer_is_exclusive_locked(tailbuf));
	Assert(batch->nitems > 0);
	Assert(maxoff + batch->nitems <= BETREE_LOG_PAGE_MAX_ITEMS);

	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES);
	ecp_delta_buffer(&delta, nodebuf);
	ecp_delta_buffer(&delta, tailbuf);

	START_CRIT_SECTION();
	for (int i = 0; i < batch->nitems; i++)
	{
		IndexTuple	itup = batch->items[i].itup;

		header->pd_upper -= MAXALIGN(IndexTupleSize(itup));
		header->pd_lower += sizeof(ItemIdData);
		memcpy((char *) page + header->pd_upper, itup,
			   MAXALIGN(IndexTupleSize(itup)));
		ItemIdSetNormal(PageGetItemId(page, maxoff + 1 + i), header->pd_upper,
						IndexTupleSize(itup));
	}
	/* batches are sorted: the first one begins the sorted prefix */
	if (maxoff == 0)
		opaque->bteo_nsorted = batch->nitems;

	betree_log_absorb(&delta, 0, child, batch);
	ecp_delta_range(&delta, 1, offsetof(PageHeaderData, pd_lower),
					2 * sizeof(LocationIndex));
	ecp_delta_range(&delta, 1,
					SizeOfPageHeaderData + maxoff * sizeof(ItemIdData),
					batch->nitems * sizeof(ItemIdData));
	ecp_delta_range(&delta, 1, header->pd_upper,
					old_upper - header->pd_upper);
	ecp_delta_range(&delta, 1,
					(char *) &opaque->bteo_nsorted - (char *) page,
					sizeof(opaque->bteo_nsorted));
	ecp_delta_finish(&delta);
	END_CRIT_SECTION();
	ECP_STOP_POINT("flushed-down");
}
