/*-------------------------------------------------------------------------
 *
 * betree_run.c
 *	  Runs: sealed pages of a log, merged, so that ranges read fewer of them.
 *
 * Each sealed page has messages of all children, so a scan must look into all
 * of them, however short its range.  A run is what some of them, neighbours in
 * the log, still have for the children, sorted over as many pages: each page
 * has what is for an interval of children, which the directory tells, and a
 * scan reads one page of each run.
 *
 * Runs are made where they are read.  A scan whose first step has met many
 * pages (BETREE_RUN_READS) in a log where another one has done so merges them
 * when it has released its locks; an index without such scans is never written
 * for them.  So it is the reader that writes, as one that prunes a heap page
 * does.  Not on a standby, where the runs that the primary has made are read.
 *
 * All pages of a run bear the number of the newest page that went in.  What is
 * live of the messages is newer than the marker of its child, so it also is
 * under the higher number, and a child that has absorbed the log up to that
 * number has absorbed all that went in.  Hence flushes, drains and drops work
 * as they do with single pages, but for looking at one page of a run.
 *
 * The messages of a child must not be on two pages of a run: a flush takes a
 * whole number of pages with different numbers, and a page's worth is the most
 * that it takes.  Where a child has more than a page of them, fewer pages are
 * merged, or none until the log has been dropped (BETREE_NO_RUNS).
 *
 * The run is written to spare pages of the node, each in a record of its own.
 * The record that swaps the directory's entries then makes spare pages of those
 * that were merged.  A crash between leaves spare pages whose content is of no
 * use, as that of all spare pages.
 *
 * The interval of children of a page is kept by the records that change the pivots.
 * A leaf that splits into k makes the children behind it move by k - 1; what a run
 * has for it may now be for each of the k, and they are in the interval of the same
 * page.  Leaves that share have nothing pending, nor have a leaf that VACUUM frees
 * and its left neighbour, so it does not matter in which page's interval a moved
 * bound is; a page may be left without any child.  The split of a node counts the
 * children of the right half from its first; a page that only one half needs leaves
 * the interval of its neighbour in the other half too large, which costs a read at
 * most.
 *
 * A merge stays on one side of the target of a drain: pages that are about to be
 * dropped are not merged with others.  A drop finds all pages of a run not newer
 * than the target, or none.  Only level 1 has runs, since only scans of leaves ask
 * for them.
 *
 * Merged is the part of the log with the most runs and single pages whose merge
 * does not mostly write a large run again (none is larger than twice the others),
 * and for which the node has spare pages or entries.  So runs grow as in the size
 * tiers of an LSM tree.  Ascending keys, which all go to one child, prevent runs.
 *
 * Filters know the messages of a run by the numbers of the pages that were merged.
 * These are above the number of the log page before the run: if any of them is hit,
 * the run is read.  When the page before is dropped, or goes to the other half of a
 * split, an older one takes its place, or none: the run is read in vain, or always.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/xlog.h"
#include "base/stop_point.h"
#include "betree/log/betree_batch.h"
#include "betree/log/betree_log.h"
#include "betree/log/betree_run.h"
#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_node.h"
#include "betree/page/betree_page.h"
#include "storage/bufmgr.h"

/* no more pages than this are merged at once, for the time that it takes */
#define RUN_MAX_PAGES	48

/* entries of a directory that runs leave alone, for filter pages and the tail */
#define KEEP_FREE		2

/* Neighbouring pages of a log: directory entries first..last-1 */
typedef struct LogPart
{
	int			first;
	int			last;
	int			nruns;			/* single pages among them included */
} LogPart;

/* A page of the run that is being made */
typedef struct RunPage
{
	int			child;			/* the first one that it is for */
	int			start;			/* its first message in the batch */
	int			space;
	BlockNumber blkno;			/* where it has been written */
} RunPage;

typedef struct RunState
{
	BetreeRel  *bt;
	Buffer		nodebuf;		/* exclusively locked */
	LogPart		part;
	uint32		seq;			/* number of the run */
	BetreeBatch batch;			/* live messages, sorted */
	RunPage		pages[RUN_MAX_PAGES];
	int			npages;
	int			max_pages;
} RunState;

/* Pages that a node can be given, or has to spare */
static int
pages_available(Page node)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	int			available = opaque->bteo_ncap - opaque->bteo_ndir - KEEP_FREE;

	available = Max(available, 0);
	for (int i = opaque->bteo_nlog; i < opaque->bteo_ndir; i++)
		available += dir[i].bted_kind == BETREE_DIR_SPARE;
	return Min(available, RUN_MAX_PAGES);
}

/*
 * Is a merge of this part worthwhile and possible?  Not if it would mostly
 * write a large run again; nor if a child would have more than a page of
 * messages, which half as many pages as there are children seldom have.
 */
static bool
is_part_suitable(Page node, LogPart *part, int largest, int available)
{
	int			npages = part->last - part->first;

	return part->nruns >= BETREE_RUN_MIN &&
		npages + 1 <= available &&
		largest <= 2 * (npages - largest) &&
		npages <= Max(BetreeNodeNumChildren(node) / 2, BETREE_RUN_MIN);
}

/*
 * Find the part of a locked node's log whose merge saves most reads; what a
 * drain under way moves does not count.  Returns false if there is none.
 */
static bool
choose_part(Page node, LogPart *best)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	int			available = pages_available(node);
	int			start = 0;

	memset(best, 0, sizeof(LogPart));
	if ((opaque->bteo_flags & BETREE_NO_RUNS) != 0)
		return false;
	while (start < opaque->bteo_nlog && opaque->bteo_drain != 0 &&
		   !BetreeSeqNewer(dir[start].bted_seq, opaque->bteo_drain))
		start++;

	for (; start < opaque->bteo_nlog; start++)
	{
		LogPart		part = {start, start, 0};
		int			largest = 0;
		int			begin = start;

		if (start > 0 && dir[start - 1].bted_seq == dir[start].bted_seq)
			continue;
		for (int i = start; i < opaque->bteo_nlog && i - start < available; i++)
		{
			if (!betree_node_log_ends(node, i))
				continue;
			largest = Max(largest, i + 1 - begin);
			begin = part.last = i + 1;
			part.nruns++;
			if (part.nruns > best->nruns &&
				is_part_suitable(node, &part, largest, available))
				*best = part;
		}
	}
	return best->nruns > 0;
}

/*
 * betree_run_wanted
 *		Has the log of a locked node pages that should be merged?
 */
bool
betree_run_wanted(Page node)
{
	LogPart		part;

	return BetreePageGetOpaque(node)->bteo_level == 1 &&
		!RecoveryInProgress() && choose_part(node, &part);
}

/* Copy what the pages of the part hold in the node's range, and sort it */
static void
collect(RunState *state)
{
	BetreeRel  *bt = state->bt;
	Page		node = BufferGetPage(state->nodebuf);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	BetreeBatch *batch = &state->batch;
	BetreeKey	low;
	BetreeKey	high;

	betree_key_from_pivot(bt, BetreeNodeGetPivot(node, 0), &low);
	betree_key_from_pivot(bt, BetreeNodeGetHikey(node), &high);
	batch->nitems = batch->data_used = 0;
	for (int i = state->part.first; i < state->part.last; i++)
	{
		Buffer		buf = betree_block_read(bt->rel, dir[i].bted_block,
											BUFFER_LOCK_SHARE, BETREE_LOG);
		Page		page = BufferGetPage(buf);
		OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
		OffsetNumber end = betree_key_search_page(bt, page, maxoff, &high);

		state->seq = BetreePageGetOpaque(page)->bteo_seq;
		if ((uint16) state->seq != dir[i].bted_seq)
			betree_block_report(bt->rel, buf);
		for (OffsetNumber off = betree_key_search_page(bt, page, maxoff, &low);
			 off < end; off++)
		{
			IndexTuple	itup = BetreePageGetTuple(page, off);
			Size		size = IndexTupleSize(itup);

			/* items that overlap */
			if (batch->data_used + (int) MAXALIGN(size) > batch->max_space)
				betree_block_report(bt->rel, buf);
			memcpy(batch->data + batch->data_used, itup, size);
			betree_key_item_init(bt, &batch->items[batch->nitems++],
								 (IndexTuple) (batch->data + batch->data_used), i);
			batch->data_used += MAXALIGN(size);
		}
		UnlockReleaseBuffer(buf);
	}
	batch->nitems = betree_key_sort_unique(bt, batch->items, batch->nitems);
}

/*
 * Put the messages from "start" on, which are all of a child, on the last page
 * or on a new one.  Returns false if that cannot be.
 */
static bool
place_child(RunState *state, int child, int start)
{
	RunPage    *page = state->npages > 0 ? &state->pages[state->npages - 1] : NULL;
	int			nitems = state->batch.nitems - start;
	int			space = 0;

	if (nitems == 0)
		return true;
	for (int i = start; i < state->batch.nitems; i++)
		space += BetreeTupleSpace(state->batch.items[i].itup);
	if (page == NULL ||
		page->space + space > BetreePageCapacity ||
		state->batch.nitems - page->start > BETREE_LOG_PAGE_MAX_ITEMS)
	{
		if (state->npages >= state->max_pages)
			return false;
		page = &state->pages[state->npages++];
		page->child = child;
		page->start = start;
		page->space = 0;
	}
	page->space += space;
	return page->space <= BetreePageCapacity &&
		nitems <= BETREE_LOG_PAGE_MAX_ITEMS;
}

/*
 * Leave in the batch what is live, and divide it into pages by child.  Returns
 * false if a child has more than a page, or the pages do not suffice.
 */
static bool
arrange(RunState *state)
{
	BetreeRel  *bt = state->bt;
	Page		node = BufferGetPage(state->nodebuf);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	BetreeBatch *batch = &state->batch;
	int			nsorted = batch->nitems;
	int			next = 0;

	batch->nitems = 0;
	state->npages = 0;
	for (int child = 0; child < BetreeNodeNumChildren(node) && next < nsorted;
		 child++)
	{
		uint16		marker = BetreePivotGetMarker(BetreeNodeGetPivot(node, child));
		int			start = batch->nitems;
		BetreeKey	upper;

		betree_key_from_pivot(bt, BetreeNodeGetUpper(node, child), &upper);
		for (; next < nsorted &&
			 betree_key_compare_tuple(bt, &upper, batch->items[next].itup) > 0;
			 next++)
		{
			int			from = batch->items[next].order;

			if (BetreeSeqNewer(dir[from].bted_seq, marker) &&
				betree_node_log_covers(node, from, child, child))
				batch->items[batch->nitems++] = batch->items[next];
		}
		if (!place_child(state, child, start))
			return false;
	}
	return true;
}

/* Write page "i" of the run to spare page "spare", or to a new one if < 0 */
static void
write_page(RunState *state, int i, int spare)
{
	BetreeRel  *bt = state->bt;
	Page		node = BufferGetPage(state->nodebuf);
	RunPage    *run = &state->pages[i];
	int			end = i + 1 < state->npages ? state->pages[i + 1].start :
		state->batch.nitems;
	GenericXLogState *xlog;
	BetreePageOpaque opaque;
	Buffer		buf;
	Page		page;

	if (spare >= 0)
	{
		buf = betree_block_read(bt->rel, BetreeNodeGetDir(node)[spare].bted_block,
								BUFFER_LOCK_EXCLUSIVE, BETREE_LOG);
		xlog = GenericXLogStart(bt->rel);
	}
	else
	{
		buf = betree_block_alloc(bt->rel);
		xlog = GenericXLogStart(bt->rel);
		betree_node_add_dir(GenericXLogRegisterBuffer(xlog, state->nodebuf, 0),
							BufferGetBlockNumber(buf), BETREE_DIR_SPARE, 0);
	}
	run->blkno = BufferGetBlockNumber(buf);

	page = GenericXLogRegisterBuffer(xlog, buf, GENERIC_XLOG_FULL_IMAGE);
	betree_page_init(page, BETREE_LOG, BetreePageGetOpaque(node)->bteo_level, 0);
	for (int j = run->start; j < end; j++)
		betree_page_add(page, state->batch.items[j].itup);
	opaque = BetreePageGetOpaque(page);
	opaque->bteo_seq = state->seq;
	opaque->bteo_owner = BufferGetBlockNumber(state->nodebuf);
	opaque->bteo_nsorted = PageGetMaxOffsetNumber(page);
	GenericXLogFinish(xlog);
	ECP_STOP_POINT("run-page");
	UnlockReleaseBuffer(buf);
}

/*
 * Write the pages of the run, each to a spare page of the node.  The next seal
 * takes the first spare page, so use them from the end.
 */
static void
write_pages(RunState *state)
{
	int			spare = BetreePageGetOpaque(BufferGetPage(state->nodebuf))->bteo_ndir;

	for (int i = 0; i < state->npages; i++)
	{
		Page		node = BufferGetPage(state->nodebuf);
		BetreePageOpaque opaque = BetreePageGetOpaque(node);

		/* new ones go to the end, and are passed already */
		while (--spare >= opaque->bteo_nlog)
		{
			if (BetreeNodeGetDir(node)[spare].bted_kind == BETREE_DIR_SPARE)
				break;
		}
		write_page(state, i, spare >= opaque->bteo_nlog ? spare : -1);
		if (spare < opaque->bteo_nlog)
			spare = opaque->bteo_nlog;
	}
}

/* Is this the block of a page of the run? */
static bool
is_run_page(RunState *state, BlockNumber blkno)
{
	for (int i = 0; i < state->npages; i++)
	{
		if (state->pages[i].blkno == blkno)
			return true;
	}
	return false;
}

/* Put the run into the log, where the merged pages were; those become spare */
static void
publish(RunState *state)
{
	GenericXLogState *xlog = GenericXLogStart(state->bt->rel);
	Page		node = GenericXLogRegisterBuffer(xlog, state->nodebuf, 0);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	BetreeDirEntry old[BETREE_NCAP_MAX];
	int			nold = opaque->bteo_ndir;
	int			nlog = opaque->bteo_nlog;
	int			n = state->part.first;

	memcpy(old, dir, nold * sizeof(BetreeDirEntry));
	for (int i = 0; i < state->npages; i++)
	{
		dir[n].bted_block = state->pages[i].blkno;
		dir[n].bted_seq = (uint16) state->seq;
		dir[n++].bted_kind = (uint16) BETREE_DIR_RUN_FIRST(state->pages[i].child);
	}
	for (int i = state->part.last; i < nold; i++)
	{
		if (i == nlog)
			opaque->bteo_nlog = n;
		if (i < nlog || !is_run_page(state, old[i].bted_block))
			dir[n++] = old[i];
	}
	if (nold == nlog)
		opaque->bteo_nlog = n;
	for (int i = state->part.first; i < state->part.last && n < nold; i++)
	{
		dir[n] = old[i];
		dir[n].bted_seq = 0;
		dir[n++].bted_kind = BETREE_DIR_SPARE;
	}
	opaque->bteo_ndir = n;
	betree_node_raise_lagging(node);
	GenericXLogFinish(xlog);
	ECP_STOP_POINT("run-made");
}

/* Set a flag of an exclusively locked node, until the next drop */
static void
set_flag(BetreeRel *bt, Buffer nodebuf, uint16 flag)
{
	GenericXLogState *xlog = GenericXLogStart(bt->rel);
	Page		node = GenericXLogRegisterBuffer(xlog, nodebuf, 0);

	BetreePageGetOpaque(node)->bteo_flags |= flag;
	GenericXLogFinish(xlog);
	ECP_STOP_POINT("run-flagged");
}

/* Take the older half of the part only; false if it would not be worthwhile */
static bool
halve_part(Page node, LogPart *part)
{
	part->nruns /= 2;
	part->last = part->first;
	for (int i = 0; i < part->nruns; i++)
	{
		while (!betree_node_log_ends(node, part->last))
			part->last++;
		part->last++;
	}
	return part->nruns >= BETREE_RUN_MIN;
}

/* Merge the part; half of it if it is too much for a child */
static void
merge_part(RunState *state)
{
	Page		node = BufferGetPage(state->nodebuf);
	bool		fits;

	betree_batch_init(&state->batch, state->part.last - state->part.first);
	do
	{
		int			npages = state->part.last - state->part.first;

		/* where each child has much, pages would stay empty for the most part */
		state->max_pages = Min(pages_available(node), npages + npages / 4 + 1);
		collect(state);
		fits = arrange(state);
	} while (!fits && halve_part(node, &state->part));

	if (fits)
	{
		write_pages(state);
		publish(state);
	}
	else
		set_flag(state->bt, state->nodebuf, BETREE_NO_RUNS);
	pfree(state->batch.items);
	pfree(state->batch.data);
}

/*
 * betree_run_make
 *		Merge pages of the log of a node, which is pinned and not locked.
 *
 * The caller holds no lock.  The first scan that calls only leaves a flag: a
 * merge costs as much as some scans, and many a node is not read again.  Does
 * nothing if another backend is at work there.
 */
void
betree_run_make(BetreeRel *bt, Buffer nodebuf)
{
	RunState	state = {0};
	Page		node = BufferGetPage(nodebuf);

	if (!ConditionalLockBuffer(nodebuf))
		return;
	if (BetreePageGetOpaque(node)->bteo_kind != BETREE_NODE)
	{
		/* it has been freed */
		LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
		return;
	}
	betree_block_verify_page(bt->rel, nodebuf, BETREE_NODE, -1);
	if (betree_run_wanted(node) && choose_part(node, &state.part))
	{
		if ((BetreePageGetOpaque(node)->bteo_flags & BETREE_SCANNED) == 0)
			set_flag(bt, nodebuf, BETREE_SCANNED);
		else
		{
			betree_log_check_order(node);
			state.bt = bt;
			state.nodebuf = nodebuf;
			merge_part(&state);
		}
	}
	LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
}
