/*-------------------------------------------------------------------------
 *
 * betree_log.c
 *	  The log of a node: appending to its tails, sealing them, and reading from
 *	  the sealed pages what is pending for a child.
 *
 * Only tails are ever appended to.  A node of level 1 has several, each for an
 * interval of children, so that a scan of a short range reads the sealed pages
 * of one interval.  A seal sorts them, gives them a number, and starts new ones.
 * Sealed pages are not written again, except by VACUUM; a flush raises the
 * marker of a child in the node instead (betree_log_absorb).
 *
 * The intervals are those into which what has just been sealed falls evenly, so
 * tails fill at the same pace while keys come as they came before.  If they do
 * not, and few tails are half full, only those are sealed, and the others stay.
 * Ascending keys, which all go to one child, have one tail.
 *
 * Each insert touches a tail, so all tails should stay in memory.  A node has as
 * many as let the nodes and tails of the index take half of the shared buffers
 * (tails_wanted): one where the index is much larger.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "base/core.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "betree/define/betree_define.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

/* children that a tail is for, at least, and pages of the log for each tail */
#ifdef BETREE_TINY
#define TAIL_CHILDREN	1
#define TAIL_PAGES		1
#else
#define TAIL_CHILDREN	4
#define TAIL_PAGES		4
#endif

/* The tails of a node that is sealed, all exclusively locked */
typedef struct SealState
{
	BetreeRel  *bt;
	Buffer		nodebuf;
	uint32		seq;			/* number that they get */
	int			ntails;
	Buffer		tail[BETREE_TAILS_MAX];
	bool		seals[BETREE_TAILS_MAX];	/* is it sealed? */
	bool		spare[BETREE_TAILS_MAX];	/* or empty, and not needed? */
	bool		covered[BETREE_FILTER_PAGES_MAX];
	int			nnew;			/* new tails, and the children they begin with */
	int			first[BETREE_TAILS_MAX];
} SealState;

/*
 * betree_log_ncap
 *		Directory capacity that a new node of "level" gets.
 *
 * That is the sealed pages that start a drain, room for those that are sealed
 * while it runs, tails, and filter pages; and Bloom pages at level 1.
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
		ncap = bt->log_pages + Max(8, bt->log_pages / 4) + BETREE_TAILS_MAX +
			betree_filter_pages(bt);
	if (level == 1)
		ncap += betree_bloom_pages_reserved(bt);
	return Min(ncap, BETREE_NCAP_MAX);
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

/*
 * Let the tails that are sealed be the log's last pages, which "covered" filters
 * know of, and those that are empty spare ones
 */
static void
dir_seal_tails(SealState *seal, Page node)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	BetreeDirEntry old[BETREE_NCAP_MAX];
	BetreeDirEntry *tail = old + opaque->bteo_nlog;
	int			nold = opaque->bteo_ndir;
	int			end = opaque->bteo_nlog + seal->ntails;
	int			n = opaque->bteo_nlog;

	memcpy(old, dir, nold * sizeof(BetreeDirEntry));
	for (int i = 0; i < seal->ntails; i++)
	{
		if (!seal->seals[i])
			continue;
		dir[n] = tail[i];
		dir[n].bted_seq = (uint16) seal->seq;
		dir[n++].bted_kind = (uint16)
			BETREE_DIR_LOG(BETREE_DIR_SEALED, i == 0 ? 0 : BetreeDirGetFirst(&tail[i]));
		opaque->bteo_seq = seal->seq;
		opaque->bteo_nlog = n;
	}
	for (int i = 0; i < seal->ntails; i++)
	{
		if (!seal->seals[i] && !seal->spare[i])
			dir[n++] = tail[i];
	}
	for (int i = end; i < nold; i++)
		dir[n++] = old[i];
	for (int i = 0; i < seal->ntails; i++)
	{
		if (seal->spare[i])
		{
			dir[n] = tail[i];
			dir[n++].bted_kind = BETREE_DIR_SPARE;
		}
	}
	for (int i = opaque->bteo_nlog; i < opaque->bteo_ndir; i++)
	{
		int			number = dir[i].bted_kind >> 8;

		if (BetreeDirIsFilter(&dir[i]) &&
			(number >= BETREE_FILTER_PAGES_MAX || !seal->covered[number]))
			dir[i].bted_seq = opaque->bteo_seq;
	}
}

/* Enter a new tail for the children from "first" on */
static void
dir_put_tail(Page node, BlockNumber blkno, int first)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	int			at = opaque->bteo_nlog;
	int			spare = at;

	/* it is a spare page of the node or a new one */
	while (spare < opaque->bteo_ndir && dir[spare].bted_block != blkno)
		spare++;
	if (spare == opaque->bteo_ndir)
		betree_node_add_dir(node, blkno, BETREE_DIR_SPARE, 0);
	while (first > 0 && at < spare && BetreeDirIsTail(&dir[at]) &&
		   (at == opaque->bteo_nlog || BetreeDirGetFirst(&dir[at]) <= first))
		at++;
	memmove(&dir[at + 1], &dir[at], (spare - at) * sizeof(BetreeDirEntry));
	dir[at].bted_block = blkno;
	dir[at].bted_seq = 0;
	dir[at].bted_kind = (uint16) BETREE_DIR_LOG(BETREE_DIR_TAIL, first);
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
	int			capacity = betree_node_log_capacity(page);

	Assert(bt->log_pages >= 0 && bt->log_pages <= BETREE_LOG_PAGES_MAX);
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	pages = Min(pages, capacity - 1 - Min(BETREE_TAILS_MAX, Max(1, capacity / 4)));
	pages = Max(1, pages);
	if (blkno == BETREE_ROOT_BLKNO ||
		(BetreePageGetOpaque(page)->bteo_flags & BETREE_DRAINED) != 0)
		return pages;
	return 1 + murmurhash32(blkno) % pages;
}

/* Is a page for messages half full, or more? */
static bool
is_half_full(Page page)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_upper - header->pd_lower <= BetreePageCapacity / 2 ||
		betree_page_nitems(page) >= BETREE_LOG_PAGE_MAX_ITEMS / 2;
}

/*
 * Lock the tails, and choose those to be sealed: all that have messages if
 * "all", or if most are half full, else those that are
 */
static void
lock_tails(SealState *seal, bool all)
{
	Page		node = BufferGetPage(seal->nodebuf);
	int			nlog = BetreePageGetOpaque(node)->bteo_nlog;
	int			nfull = 0;

	seal->ntails = betree_node_ntails(node);
	if (seal->ntails > BETREE_TAILS_MAX)
		betree_block_report(seal->bt->rel, seal->nodebuf);
	for (int i = 0; i < seal->ntails; i++)
	{
		seal->tail[i] = betree_block_read(seal->bt->rel,
										  BetreeNodeGetDir(node)[nlog + i].bted_block,
										  BUFFER_LOCK_EXCLUSIVE, BETREE_LOG);
		nfull += is_half_full(BufferGetPage(seal->tail[i]));
	}
	all = all || 2 * nfull > seal->ntails;
	for (int i = 0; i < seal->ntails; i++)
	{
		Page		page = BufferGetPage(seal->tail[i]);
		bool		empty = betree_page_nitems(page) == 0;

		seal->spare[i] = all && empty;
		seal->seals[i] = all ? !empty : is_half_full(page);
	}
}

/* An empty one may be a spare page now, and be used for another tail */
static void
unlock_tails(SealState *seal)
{
	for (int i = 0; i < seal->ntails; i++)
		UnlockReleaseBuffer(seal->tail[i]);
}

/* Number of tails that a node of this index should have */
static int
tails_wanted(BetreeRel *bt, Page node)
{
	int			nchildren = BetreeNodeNumChildren(node);
	int			wanted = BETREE_TAILS_MAX;

	/* batches from above would have to be divided */
	if (BetreePageGetOpaque(node)->bteo_level > 1 || bt->log_levels > 1)
		return 1;
#ifndef BETREE_TINY
	{
		double		nodes = (double) RelationGetNumberOfBlocks(bt->rel) / (nchildren + 1);

		wanted = (int) Min(wanted, NBuffers / 2 / Max(nodes, 1) - 1);
	}
#endif
	wanted = Min(wanted, betree_rel_log_pages(bt, nchildren) / TAIL_PAGES);
	wanted = Min(wanted, betree_node_log_capacity(node) / 4);
	wanted = Min(wanted, nchildren / TAIL_CHILDREN);
	return Max(wanted, 1);
}

/*
 * Choose the new tails: the same intervals for those of some that are sealed; or
 * intervals into which the messages fall evenly, which are sorted
 */
static void
choose_intervals(SealState *seal, bool single)
{
	Page		node = BufferGetPage(seal->nodebuf);
	BetreeDirEntry *tail = BetreeNodeGetDir(node) + BetreePageGetOpaque(node)->bteo_nlog;
	int			wanted = single ? 1 : tails_wanted(seal->bt, node);
	int			total = 0;
	int			before = 0;
	int			last = -1;
	bool		some = false;

	seal->nnew = 0;
	for (int i = 0; i < seal->ntails; i++)
	{
		total += betree_page_nitems(BufferGetPage(seal->tail[i]));
		if (!seal->seals[i] && !seal->spare[i])
			some = true;
	}
	for (int i = 0; i < seal->ntails && some; i++)
	{
		if (seal->seals[i])
			seal->first[seal->nnew++] = i == 0 ? 0 : BetreeDirGetFirst(&tail[i]);
	}
	if (some)
		return;

	seal->first[seal->nnew++] = 0;
	for (int i = 0, part = 0; i < seal->ntails; i++)
	{
		Page		page = BufferGetPage(seal->tail[i]);
		int			maxoff = betree_page_nitems(page);

		for (; part < wanted && total * part / wanted < before + maxoff; part++)
		{
			OffsetNumber off = total * part / wanted - before + 1;
			BetreeKey	key;
			int			child;

			betree_key_from_tuple(seal->bt, BetreePageGetTuple(page, off), &key);
			child = betree_key_search_node(seal->bt, node, &key, false);
			if (last >= 0 && child > last)
				seal->first[seal->nnew++] = child;
			last = Max(child, last);
		}
		before += maxoff;
	}
}

/* Sort a tail, and give it the number with which it will be sealed */
static void
sort_tail(SealState *seal, Buffer buf)
{
	Page		page = BufferGetPage(buf);
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	OffsetNumber maxoff = betree_page_nitems(page);
	ItemIdData	ids[MaxIndexTuplesPerPage];
	bool		changed = betree_append_sort(seal->bt, page, ids);
	EcpDelta	delta;

	ecp_delta_begin(&delta, seal->bt->rel, ECP_DELTA_BYTES, buf, InvalidBuffer);
	opaque->bteo_seq = seal->seq;
	opaque->bteo_nsorted = maxoff;
	if (changed)
	{
		memcpy(PageGetItemId(page, 1), ids, maxoff * sizeof(ItemIdData));
		ecp_delta_range(&delta, 0, SizeOfPageHeaderData, maxoff * sizeof(ItemIdData));
	}
	ecp_delta_field(&delta, 0, opaque->bteo_seq);
	ecp_delta_field(&delta, 0, opaque->bteo_nsorted);
	ecp_delta_finish(&delta);
	ECP_STOP_POINT("sorted");
}

/*
 * Seal what shall be sealed, if that is anything, and add the first of the new
 * tails, or any other, "i": in one record, with "newbuf" for it.
 */
static void
write_seal(SealState *seal, int i, Buffer newbuf)
{
	GenericXLogState *state = GenericXLogStart(seal->bt->rel);
	Page		node = GenericXLogRegisterBuffer(state, seal->nodebuf, 0);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);

	if (i == 0)
	{
		dir_seal_tails(seal, node);
		if (opaque->bteo_drain == 0 && opaque->bteo_nlog > 0 &&
			(!BufferIsValid(newbuf) ||
			 opaque->bteo_nlog >= drain_threshold(seal->bt, node,
												  BufferGetBlockNumber(seal->nodebuf))))
			opaque->bteo_drain = opaque->bteo_seq;
	}
	if (BufferIsValid(newbuf))
	{
		Page		page = GenericXLogRegisterBuffer(state, newbuf, GENERIC_XLOG_FULL_IMAGE);

		dir_put_tail(node, BufferGetBlockNumber(newbuf), seal->first[i]);
		betree_page_init(page, BETREE_LOG, opaque->bteo_level, 0);
		BetreePageGetOpaque(page)->bteo_owner = BufferGetBlockNumber(seal->nodebuf);
	}
	GenericXLogFinish(state);
	if (i == 0)
		ECP_STOP_POINT("sealed");
	else
		ECP_STOP_POINT("tail-added");
}

/* Has the directory room for another tail, beside a few entries for others? */
static bool
has_room_for_tail(Page node)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);

	return opaque->bteo_ndir + 4 <= opaque->bteo_ncap ||
		betree_node_find_dir(node, BETREE_DIR_SPARE) >= 0;
}

/*
 * betree_log_seal
 *		Seal the tails of a node, and give it new ones.
 *
 * The node is exclusively locked and stays so.  Tails that are not half full
 * may stay; "single", all are sealed, and there is one afterwards.  The seal
 * that makes the log as long as drain_threshold() says starts a drain.  Returns
 * false, with a drain under way, if the log can take no more; it can when that
 * drain is finished (betree_drain.c).
 */
bool
betree_log_seal(BetreeRel *bt, Buffer nodebuf, bool single)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));
	SealState	seal = {0};
	Buffer		sealed[BETREE_TAILS_MAX];
	int			nsealed = 0;
	bool		has_room;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(opaque->bteo_kind == BETREE_NODE);

	seal.bt = bt;
	seal.nodebuf = nodebuf;
	seal.seq = Max(opaque->bteo_seq + 1, 1);
	betree_filter_trim(bt, nodebuf);
	has_room = log_has_room(BufferGetPage(nodebuf), seal.seq);

	/* a directory full of tails: there is something to be drained then */
	if (!has_room &&
		(opaque->bteo_nlog > 0 || betree_node_ntails(BufferGetPage(nodebuf)) < 2))
	{
		start_needed_drain(bt, nodebuf);
		return false;
	}

	lock_tails(&seal, single || !has_room);
	for (int i = 0; i < seal.ntails; i++)
	{
		if (seal.seals[i])
		{
			sort_tail(&seal, seal.tail[i]);
			sealed[nsealed++] = seal.tail[i];
		}
	}
	choose_intervals(&seal, single);
	memset(seal.covered, true, sizeof(seal.covered));
	if (nsealed > 0)
		betree_filter_seal(bt, nodebuf, sealed, nsealed, seal.seq, seal.covered);
	for (int i = 0; i < seal.nnew; i++)
	{
		Page		node = BufferGetPage(nodebuf);
		Buffer		newbuf = InvalidBuffer;

		if (i > 0 && !has_room_for_tail(node))
			break;
		if (has_room)
			newbuf = get_tail_page(bt, node);
		write_seal(&seal, i, newbuf);
		if (i == 0)
			unlock_tails(&seal);
		if (!has_room)
			break;
		UnlockReleaseBuffer(newbuf);
	}

	/* all were empty, and are spare pages now */
	if (!has_room && nsealed == 0)
		return betree_log_seal(bt, nodebuf, single);
	return has_room;
}

/*
 * betree_log_batch_init
 *		Allocate the space of a batch of at most "npages" full pages.
 */
void
betree_log_batch_init(BetreeBatch *batch, int npages)
{
	Assert(npages > 0 && npages <= BETREE_NCAP_MAX);

	memset(batch, 0, sizeof(BetreeBatch));
	batch->max_space = npages * BLCKSZ;
	batch->items = palloc(npages * MaxIndexTuplesPerPage *
						  sizeof(BetreeSortItem));
	batch->data = palloc(npages * BLCKSZ);
}

/*
 * Copy items from "off" on that are below "upper" into the batch, if all of
 * them fit.  Returns false if they do not.
 */
static bool
batch_add(BetreeRel *bt, BetreeBatch *batch, Page page, OffsetNumber *off,
		  BetreeKey *upper, int max_space, int max_items, int order)
{
	OffsetNumber maxoff = betree_page_nitems(page);
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
 * betree_log_free_page
 *		Free a page that is directory entry "at" of a node, no sealed one; both
 *		are exclusively locked.
 */
void
betree_log_free_page(BetreeRel *bt, Buffer nodebuf, int at, Buffer buf)
{
	GenericXLogState *state = GenericXLogStart(bt->rel);

	betree_node_remove_dir(GenericXLogRegisterBuffer(state, nodebuf, 0), at);
	betree_page_init(GenericXLogRegisterBuffer(state, buf, 0), BETREE_FREE, 0, 0);
	GenericXLogFinish(state);
}

/*
 * betree_log_is_live
 *		Is an item of a log page or tail, of this directory entry, live, or a
 *		leftover of a flush or a split?
 */
bool
betree_log_is_live(BetreeRel *bt, Page node, BetreeDirEntry *entry, IndexTuple itup)
{
	BetreeKey	key;
	int			child;

	betree_key_from_tuple(bt, itup, &key);
	if (!betree_key_node_covers(bt, node, &key))
		return false;
	if (BetreeDirIsTail(entry))
		return true;
	child = betree_key_search_node(bt, node, &key, false);
	return BetreeSeqNewer(entry->bted_seq,
						  BetreePivotGetMarker(BetreeNodeGetPivot(node, child)));
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
			/* only one of the pages with a number covers a child */
			if (betree_node_log_ends(node, i))
				batch->upto = dir[i].bted_seq;
			continue;
		}
		buf = betree_log_cache_lock(bt->rel, cache, i, dir[i].bted_block);
		page = BufferGetPage(buf);
		off = betree_key_search_page_hint(bt, page, betree_page_nitems(page),
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
 * The node is the record's first page.
 */
void
betree_log_absorb(EcpDelta *delta, int child, BetreeBatch *batch)
{
	Page		node = BufferGetPage(delta->buffers[0]);
	IndexTuple	pivot = BetreeNodeGetPivot(node, child);
	BetreeCounters counters = BetreeNodeGetCounters(node);
	uint32	   *bucket = betree_node_count_batch(node, batch->nitems);

	Assert(CritSectionCount > 0);
	Assert(batch->set_marker);

	BetreePivotSetMarker(pivot, batch->upto);
	ecp_delta_field(delta, 0, pivot->t_tid.ip_posid);
	ecp_delta_field(delta, 0, counters->btec_messages);
	ecp_delta_field(delta, 0, *bucket);
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
	OffsetNumber maxoff = betree_page_nitems(page);
	LocationIndex old_upper = betree_page_upper(page);
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	EcpDelta	delta;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(ecp_buffer_is_exclusive_locked(tailbuf));
	Assert(batch->nitems > 0);
	Assert(maxoff + batch->nitems <= BETREE_LOG_PAGE_MAX_ITEMS);

	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES, nodebuf, tailbuf);
	header->pd_lower = SizeOfPageHeaderData + maxoff * sizeof(ItemIdData);
	header->pd_upper = old_upper;
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

	betree_log_absorb(&delta, child, batch);
	ecp_delta_bytes(&delta, 1, &header->pd_lower, 2 * sizeof(LocationIndex));
	ecp_delta_bytes(&delta, 1, PageGetItemId(page, maxoff + 1),
					batch->nitems * sizeof(ItemIdData));
	ecp_delta_range(&delta, 1, header->pd_upper, old_upper - header->pd_upper);
	ecp_delta_field(&delta, 1, opaque->bteo_nsorted);
	ecp_delta_finish(&delta);
	ECP_STOP_POINT("flushed-down");
}
