/*-------------------------------------------------------------------------
 *
 * betree_shrink.c
 *	  VACUUM frees empty leaves, and merges nodes with few children.
 *
 * An empty leaf is freed with its pivot; its neighbour in the node takes its
 * range.  The last leaf of a node stays.
 *
 * A node with few children that has nothing in its log gives its children to a
 * neighbour under the same parent, and is freed.  The children keep their
 * ranges, so nothing below the three nodes changes.  The pages of its log are
 * freed before, one by one, while the node is in the tree.  So a node without
 * rows, which has one empty leaf, hands on the leaf, which then has neighbours
 * and is freed.
 *
 * The neighbour's log may have leftovers in the range that it takes: it had
 * that range before it was split.  In sealed pages they do not count, since the
 * children that it gets are marked as having everything; from the tail, which
 * has no marker, they are removed first.
 *
 * Who remembers the freed node without a lock finds out by betree_descend
 * (betree_descend_remembered), or when the drain of it begins.
 *
 * What has to hold for a merge:
 *
 *   its log     is empty: nothing pending in the sealed pages, nothing in range in
 *               the tail.  Then its pages are freed (VDROP, BLOOMSWAP, FREELOG); a
 *               crash leaves a node with fewer pages.  If messages come before the
 *               merge, the node has a tail again and stays.
 *   survivor    has room for the pivots, and is no more than two thirds full
 *               afterwards, unless it gets one only.  It keeps its log.  Bloom pages
 *               have no slots of the new children until their next flush.
 *   the parent  has nothing pending for either, or the same for both, that is,
 *               their markers are equal.
 *
 * A parent that is left with one child, when the walk leaves it, is tried, too, and
 * then the child again.  A survivor to the right is visited next, one to the left has
 * been, and its children go on being visited by key; VACUUM forgets what it
 * remembers of the freed node (last_node, the pin), because the page must be visited
 * whatever it becomes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/generic_xlog.h"
#include "base/stop_point.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "betree/upkeep/betree_upkeep.h"
#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "storage/predicate.h"

/*
 * A node that takes children from another one shall be no fuller than this, in
 * percent, so that it is not split at once.
 */
#define MERGE_FILL		66

/* Has a child anything pending in the sealed pages of its node? */
static bool
child_has_messages(BetreeRel *bt, Page node, int child)
{
	BetreeLogCache cache = {0};
	BetreeBatch batch;
	bool		found;

	if (BetreePageGetOpaque(node)->bteo_nlog == 0)
		return false;
	cache.hint = palloc0(BETREE_NCAP_MAX * sizeof(OffsetNumber));
	cache.blkno = palloc0(BETREE_NCAP_MAX * sizeof(BlockNumber));
	betree_log_batch_init(&batch, 1);
	betree_log_gather(bt, node, child, BetreePageCapacity, BETREE_BATCH_MAX_ITEMS,
					  &cache, &batch);
	found = batch.nitems > 0 || !batch.complete;
	pfree(cache.hint);
	pfree(cache.blkno);
	pfree(batch.items);
	pfree(batch.data);
	return found;
}

/* Add a page that has become free to the free space map, and to the counts */
static void
count_freed(BetreeRel *bt, BlockNumber blkno, IndexBulkDeleteResult *stats)
{
	RecordFreeIndexPage(bt->rel, blkno);
	stats->pages_newly_deleted++;
	stats->pages_deleted++;
	stats->pages_free++;
}

/*
 * Remove an empty leaf, which is child "child" of a node, and its pivot; both
 * pages are exclusively locked.  Its range goes to child "survivor", the one to its
 * left or to its right, which must not have messages in the log, nor must the
 * leaf: their markers could not be merged.  They share a tail, as that of a child
 * has all its messages.  Being extended, the survivor is marked as having everything,
 * so that leftovers do not count for it.
 */
static void
remove_leaf(BetreeRel *bt, Buffer nodebuf, int child, int survivor, Buffer leafbuf)
{
	GenericXLogState *xlog;
	Page		node;
	IndexTuple	pivot;
	BlockNumber survivorblk = BetreeNodeGetChild(BufferGetPage(nodebuf), survivor);
	int			left = Min(child, survivor);

	betree_bloom_forget(bt, nodebuf, BufferGetBlockNumber(leafbuf));
	xlog = GenericXLogStart(bt->rel);
	node = GenericXLogRegisterBuffer(xlog, nodebuf, 0);
	pivot = BetreeNodeGetPivot(node, left);
	BetreePivotSetChild(pivot, survivorblk);
	BetreePivotSetMarker(pivot, BetreePageGetOpaque(node)->bteo_seq);
	PageIndexTupleDelete(node, BETREE_FIRST_PIVOT + left + 1);
	betree_node_shift_log(node, left + 1, -1);
	betree_page_init(GenericXLogRegisterBuffer(xlog, leafbuf, 0), BETREE_FREE, 0, 0);
	GenericXLogFinish(xlog);
	PredicateLockPageCombine(bt->rel, BufferGetBlockNumber(leafbuf), survivorblk);
	ECP_STOP_POINT("vacuum-freed");
}

/*
 * betree_shrink_leaf
 *		Free the leaf that begins at "low", if it still is empty and may go.
 *
 * The caller holds no lock.  Returns whether the leaf is gone.
 */
bool
betree_shrink_leaf(BetreeRel *bt, IndexTuple low, IndexBulkDeleteResult *stats)
{
	BetreeKey	key;
	Buffer		nodebuf;
	Page		node;
	int			child;
	int			survivor = -1;
	Buffer		leafbuf;
	BlockNumber leafblk;

	betree_key_from_pivot(bt, low, &key);
	nodebuf = betree_descend(bt, &key, false, 1, BUFFER_LOCK_EXCLUSIVE, NULL, NULL);
	node = BufferGetPage(nodebuf);
	child = betree_key_search_node(bt, node, &key, false);
	leafblk = BetreeNodeGetChild(node, child);
	leafbuf = betree_block_pin(bt->rel, leafblk);

	if (BetreeNodeNumChildren(node) > 1 && ConditionalLockBufferForCleanup(leafbuf))
	{
		betree_block_verify_page(bt->rel, leafbuf, BETREE_LEAF, 0);
		betree_log_check_order(node);
		if (betree_page_nitems(BufferGetPage(leafbuf)) == 0 &&
			!child_has_messages(bt, node, child))
		{
			if (child > 0 && betree_node_same_tail(node, child - 1) &&
				!child_has_messages(bt, node, child - 1))
				survivor = child - 1;
			else if (child + 1 < BetreeNodeNumChildren(node) &&
					 betree_node_same_tail(node, child) &&
					 !child_has_messages(bt, node, child + 1))
				survivor = child + 1;
		}
		if (survivor >= 0)
			remove_leaf(bt, nodebuf, child, survivor, leafbuf);
		LockBuffer(leafbuf, BUFFER_LOCK_UNLOCK);
	}
	ReleaseBuffer(leafbuf);
	UnlockReleaseBuffer(nodebuf);

	if (survivor >= 0)
		count_freed(bt, leafblk, stats);
	return survivor >= 0;
}

/* Bytes that the pivots of a node take, with item pointers */
static int
pivots_space(Page node)
{
	return betree_page_live_space(node) - BetreeTupleSpace(BetreeNodeGetHikey(node));
}

/* Are these children, with their pivots' bytes, few for a node like this? */
static bool
are_few(Page node, int nchildren, int space)
{
	int			capacity = (int) ((PageHeader) node)->pd_special - (int) SizeOfPageHeaderData;

	return nchildren <= BETREE_NODE_MAX_CHILDREN * MERGE_FILL / 100 &&
		space <= capacity * MERGE_FILL / 100;
}

/* Is a node worth merging?  Not if two like it would be too many for one. */
static bool
is_small(Page node)
{
	int			nchildren = BetreeNodeNumChildren(node);

	return nchildren == 1 ||
		are_few(node, 2 * nchildren, 2 * pivots_space(node));
}

/*
 * Items of an exclusively locked tail that are inside the range of its node,
 * or outside, "!inside"; their number is returned.
 */
static int
find_items(BetreeRel *bt, Page node, Page tail, bool inside, OffsetNumber *offsets)
{
	int			n = 0;

	for (OffsetNumber off = FirstOffsetNumber; off <= betree_page_nitems(tail); off++)
	{
		BetreeKey	key;

		betree_key_from_tuple(bt, BetreePageGetTuple(tail, off), &key);
		if (betree_key_node_covers(bt, node, &key) == inside)
			offsets[n++] = off;
	}
	return n;
}

/* Is nothing pending in the sealed pages of a locked node? */
static bool
is_absorbed(BetreeRel *bt, Page node)
{
	betree_log_check_order(node);
	for (int child = 0; child < BetreeNodeNumChildren(node); child++)
	{
		if (child_has_messages(bt, node, child))
			return false;
	}
	return true;
}

/* Turn the sealed pages, of which nothing is pending, into spare ones */
static void
drop_sealed(BetreeRel *bt, Buffer nodebuf)
{
	GenericXLogState *xlog = GenericXLogStart(bt->rel);
	Page		node = GenericXLogRegisterBuffer(xlog, nodebuf, 0);

	betree_node_drop_log(node, BetreePageGetOpaque(node)->bteo_nlog);
	BetreePageGetOpaque(node)->bteo_drain = 0;
	GenericXLogFinish(xlog);
	ECP_STOP_POINT("vacuum-dropped");
}

/*
 * Free the page of directory entry "at" of a node whose log has no sealed page.
 * Returns false if it is a tail that has messages.
 */
static bool
free_log_page(BetreeRel *bt, Buffer nodebuf, int at, IndexBulkDeleteResult *stats)
{
	BetreeDirEntry entry = BetreeNodeGetDir(BufferGetPage(nodebuf))[at];
	Buffer		buf = betree_block_read(bt->rel, entry.bted_block, BUFFER_LOCK_EXCLUSIVE,
										BetreeDirIsFilter(&entry) ? BETREE_FILTER :
										BETREE_LOG);
	OffsetNumber live[MaxIndexTuplesPerPage];

	/* its lock waits for an append that is under way */
	if (BetreeDirIsTail(&entry) &&
		find_items(bt, BufferGetPage(nodebuf), BufferGetPage(buf), true, live) > 0)
	{
		UnlockReleaseBuffer(buf);
		return false;
	}
	betree_log_free_page(bt, nodebuf, at, buf);
	ECP_STOP_POINT("vacuum-log-freed");
	UnlockReleaseBuffer(buf);
	count_freed(bt, entry.bted_block, stats);
	return true;
}

/*
 * Free all pages of the log of an exclusively locked node, its Bloom pages
 * included, if there are no messages.
 */
static void
free_log(BetreeRel *bt, Buffer nodebuf, IndexBulkDeleteResult *stats)
{
	Page		node = BufferGetPage(nodebuf);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	bool		freed = true;

	if (!is_absorbed(bt, node))
		return;
	if (opaque->bteo_nlog > 0)
		drop_sealed(bt, nodebuf);
	if (betree_node_nblooms(node) > 0)
		betree_bloom_pages_drop(bt, nodebuf);
	while (opaque->bteo_ndir > 0 && freed)
	{
		BetreeDirEntry *dir = BetreeNodeGetDir(node);
		BetreeDirEntry *entry = dir;

		/* a tail comes first; filter pages are numbered without a gap */
		if (BetreeDirIsFilter(entry))
			entry = betree_node_get_dir(node,
										BETREE_DIR_FILTER_NUMBER(betree_node_nfilters(node) - 1));
		freed = free_log_page(bt, nodebuf, entry - dir, stats);
	}
}

/* Remove the leftovers outside of its range from a tail of a node's log */
static void
clean_tail(BetreeRel *bt, Page node, BlockNumber tailblk)
{
	OffsetNumber leftovers[MaxIndexTuplesPerPage];
	Buffer		buf = betree_block_read(bt->rel, tailblk, BUFFER_LOCK_EXCLUSIVE, BETREE_LOG);
	int			n = find_items(bt, node, BufferGetPage(buf), false, leftovers);

	if (n > 0)
	{
		GenericXLogState *xlog = GenericXLogStart(bt->rel);

		betree_page_delete_items(GenericXLogRegisterBuffer(xlog, buf, 0), leftovers, n);
		GenericXLogFinish(xlog);
		ECP_STOP_POINT("vacuum-tail-cleaned");
	}
	UnlockReleaseBuffer(buf);
}

static void
clean_tails(BetreeRel *bt, Page node)
{
	BetreeDirEntry *tail = BetreeNodeGetDir(node) + BetreePageGetOpaque(node)->bteo_nlog;

	for (int i = 0; i < betree_node_ntails(node); i++)
		clean_tail(bt, node, tail[i].bted_block);
}

/*
 * Add the children of "from" to "to", the image of a neighbour of the same
 * level: before its own, or behind them and then with the high key.  They are
 * marked as having everything.
 */
static void
take_children(Page to, Page from, bool before)
{
	BetreeCounters counters = BetreeNodeGetCounters(to);
	BetreeCounters more = BetreeNodeGetCounters(from);
	int			nchildren = BetreeNodeNumChildren(from);
	int			at = before ? 0 : BetreeNodeNumChildren(to);
	bool		done = true;

	if (before)
		betree_node_shift_log(to, -1, nchildren);
	else
	{
		PageIndexTupleDelete(to, BETREE_HIKEY);
		done = PageAddItem(to, (Pointer) BetreeNodeGetHikey(from),
						   IndexTupleSize(BetreeNodeGetHikey(from)), BETREE_HIKEY,
						   false, false) != InvalidOffsetNumber;
	}
	for (int i = 0; i < nchildren && done; i++)
	{
		IndexTuple	pivot = BetreeNodeGetPivot(from, i);

		done = PageAddItem(to, (Pointer) pivot, IndexTupleSize(pivot),
						   BETREE_FIRST_PIVOT + at + i, false, false) !=
			InvalidOffsetNumber;
		if (done)
			BetreePivotSetMarker(BetreeNodeGetPivot(to, at + i),
								 BetreePageGetOpaque(to)->bteo_seq);
	}
	if (!done)
		betree_page_report_item(to);
	counters->btec_messages += more->btec_messages;
	for (int i = 0; i < BETREE_HISTOGRAM_SIZE; i++)
		counters->btec_flushes[i] += more->btec_flushes[i];
}

/* May "to" have the children of "from", the node to its right or left? */
static bool
may_take(Page to, Page from)
{
	int			nchildren = BetreeNodeNumChildren(to) + BetreeNodeNumChildren(from);
	int			space = betree_page_live_space(from);

	if (BetreeNodeNumChildren(from) > 1 &&
		!are_few(to, nchildren, pivots_space(to) + pivots_space(from)))
		return false;

	/*
	 * the high key of "from" is counted, which may be longer than that of
	 * "to"
	 */
	return nchildren <= BETREE_NODE_MAX_CHILDREN &&
		space <= (int) ((PageHeader) to)->pd_upper - (int) ((PageHeader) to)->pd_lower;
}

/*
 * Give the children of node "child" of a parent to its neighbour "survivor", and
 * free it.  The parent is exclusively locked; the nodes are locked here, the
 * left one first.  Returns false, having changed nothing that matters, if they
 * do not suit.
 */
static bool
merge_node(BetreeRel *bt, Buffer parentbuf, int child, int survivor)
{
	Page		parent = BufferGetPage(parentbuf);
	int			left = Min(child, survivor);
	uint16		marker = BetreePivotGetMarker(BetreeNodeGetPivot(parent, left));
	Buffer		leftbuf;
	Buffer		rightbuf;
	Buffer		nodebuf;
	Buffer		survivorbuf;
	bool		done;

	/* what is pending for either must be for both */
	if (marker != BetreePivotGetMarker(BetreeNodeGetPivot(parent, left + 1)))
	{
		betree_log_check_order(parent);
		if (child_has_messages(bt, parent, left) ||
			child_has_messages(bt, parent, left + 1))
			return false;
		marker = (uint16) BetreePageGetOpaque(parent)->bteo_seq;
	}
	leftbuf = betree_block_read_child(bt->rel, parent, left, BUFFER_LOCK_EXCLUSIVE);
	rightbuf = betree_block_read_child(bt->rel, parent, left + 1, BUFFER_LOCK_EXCLUSIVE);
	nodebuf = child == left ? leftbuf : rightbuf;
	survivorbuf = child == left ? rightbuf : leftbuf;

	done = is_small(BufferGetPage(nodebuf)) &&
		BetreePageGetOpaque(BufferGetPage(nodebuf))->bteo_ndir == 0 &&
		may_take(BufferGetPage(survivorbuf), BufferGetPage(nodebuf));
	if (done)
	{
		GenericXLogState *xlog;
		Page		leftpage;
		Page		rightpage;
		IndexTuple	pivot;

		clean_tails(bt, BufferGetPage(survivorbuf));
		xlog = GenericXLogStart(bt->rel);
		parent = GenericXLogRegisterBuffer(xlog, parentbuf, 0);
		leftpage = GenericXLogRegisterBuffer(xlog, leftbuf, 0);
		rightpage = GenericXLogRegisterBuffer(xlog, rightbuf, 0);

		pivot = BetreeNodeGetPivot(parent, left);
		BetreePivotSetChild(pivot, BufferGetBlockNumber(survivorbuf));
		BetreePivotSetMarker(pivot, marker);
		PageIndexTupleDelete(parent, BETREE_FIRST_PIVOT + left + 1);
		betree_node_shift_log(parent, left + 1, -1);
		take_children(child == left ? rightpage : leftpage, BufferGetPage(nodebuf),
					  child == left);
		betree_page_init(child == left ? leftpage : rightpage, BETREE_FREE, 0, 0);
		GenericXLogFinish(xlog);
		PredicateLockPageCombine(bt->rel, BufferGetBlockNumber(nodebuf),
								 BufferGetBlockNumber(survivorbuf));
		ECP_STOP_POINT("vacuum-merged");
	}
	UnlockReleaseBuffer(rightbuf);
	UnlockReleaseBuffer(leftbuf);
	return done;
}

/*
 * Look at the node of "level" that "low" belongs to: is it small, and not the
 * root?  If its log is empty, its pages are freed; *empty says so.
 */
static bool
prepare_node(BetreeRel *bt, BetreeKey *low, int level, bool *empty,
			 IndexBulkDeleteResult *stats)
{
	Buffer		nodebuf = betree_descend(bt, low, false, level, BUFFER_LOCK_SHARE,
										 NULL, NULL);
	bool		small = BufferGetBlockNumber(nodebuf) != BETREE_ROOT_BLKNO &&
		is_small(BufferGetPage(nodebuf));

	LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
	*empty = false;
	if (small)
	{
		nodebuf = betree_descend_relock(bt, nodebuf, low, level, BUFFER_LOCK_EXCLUSIVE);
		if (BufferGetBlockNumber(nodebuf) != BETREE_ROOT_BLKNO &&
			is_small(BufferGetPage(nodebuf)))
			free_log(bt, nodebuf, stats);
		*empty = BetreePageGetOpaque(BufferGetPage(nodebuf))->bteo_ndir == 0;
		LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
	}
	ReleaseBuffer(nodebuf);
	return small;
}

/*
 * Merge a child of an exclusively locked parent with a neighbour, if it may be.
 * Sets *left to the neighbour, if that is to its left, or else to
 * InvalidBlockNumber.
 */
static bool
merge_with_neighbor(BetreeRel *bt, Buffer parentbuf, int child, BlockNumber *left,
					IndexBulkDeleteResult *stats)
{
	Page		parent = BufferGetPage(parentbuf);
	BlockNumber blkno = BetreeNodeGetChild(parent, child);
	bool		merged;

	*left = InvalidBlockNumber;
	merged = child + 1 < BetreeNodeNumChildren(parent) &&
		merge_node(bt, parentbuf, child, child + 1);
	if (!merged && child > 0)
	{
		*left = BetreeNodeGetChild(parent, child - 1);
		merged = merge_node(bt, parentbuf, child, child - 1);
	}
	if (merged)
		count_freed(bt, blkno, stats);
	return merged;
}

/*
 * Merge the node of "level" that "low" belongs to with a neighbour, if it may
 * be; *merged says so, and *left is as above.  Returns whether its parent is one
 * that might be merged, and ends at "end", too.
 */
static bool
shrink_node(BetreeRel *bt, BetreeKey *low, int level, BetreeKey *end,
			bool *merged, BlockNumber *left, IndexBulkDeleteResult *stats)
{
	bool		empty;
	bool		small = prepare_node(bt, low, level, &empty, stats);
	Buffer		parentbuf;
	Page		parent;
	bool		ends = false;

	*merged = false;
	parentbuf = betree_descend(bt, low, false, level + 1,
							   small && empty ? BUFFER_LOCK_EXCLUSIVE : BUFFER_LOCK_SHARE,
							   NULL, NULL);
	parent = BufferGetPage(parentbuf);
	if (BetreePageGetOpaque(parent)->bteo_level > level)
	{
		if (small && empty)
			*merged = merge_with_neighbor(bt, parentbuf,
										  betree_key_search_node(bt, parent, low, false),
										  left, stats);
		ends = BufferGetBlockNumber(parentbuf) != BETREE_ROOT_BLKNO &&
			betree_key_compare_pivot(bt, end, BetreeNodeGetHikey(parent)) >= 0;
	}
	UnlockReleaseBuffer(parentbuf);
	return ends;
}

/*
 * betree_shrink_nodes
 *		Merge nodes that end at "end", where a walk has left a leaf parent that
 *		has "low": that one, and its ancestors.
 *
 * The caller holds no lock.  "last" has, by level, the node that the walk has
 * visited last; what it was merged with, if that has been visited, takes its
 * place there, and InvalidBlockNumber if not.  Returns whether the leaf parent
 * has been merged.
 */
bool
betree_shrink_nodes(BetreeRel *bt, IndexTuple low, IndexTuple end,
					BlockNumber *last, IndexBulkDeleteResult *stats)
{
	BetreeKey	low_key;
	BetreeKey	end_key;
	int			level = 1;
	bool		any = false;
	bool		ends;

	betree_key_from_pivot(bt, low, &low_key);
	betree_key_from_pivot(bt, end, &end_key);
	do
	{
		bool		merged;
		BlockNumber left;

		ends = shrink_node(bt, &low_key, level, &end_key, &merged, &left, stats);
		if (merged)
			last[level] = left;
		any = any || (merged && level == 1);

		/* a node that has been handed on may have a neighbour now */
		if (merged && level > 1)
		{
			level--;
			ends = true;
		}
		else
			level++;
	} while (ends && level < BETREE_MAX_HEIGHT - 1);
	return any;
}
