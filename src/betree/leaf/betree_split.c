/*-------------------------------------------------------------------------
 *
 * betree_split.c
 *	  Splitting nodes and growing the root.
 *
 * A node splits when it has no room for the pivots of its children's splits.
 * Its log is divided with it.  A page whose live messages all belong to one
 * half goes to that half; of a page that both need, the right half gets a
 * copy of its part (a WAL record of its own, before anything refers to it), while
 * the left half keeps the page and ignores what is out of its range.  So a
 * node's range must never be extended while its log is not empty.  Bloom pages
 * are made for both halves in the same way, and the old ones freed afterwards.
 *
 * Most splits happen in the middle of a drain, when the children left of the
 * drain's place have nothing pending: cutting there copies next to nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "base/core.h"
#include "base/stop_point.h"
#include "betree/leaf/betree_leaf.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

/* one half of a node to be split */
typedef struct NodeHalf
{
	int			first;			/* children first..last-1 */
	int			last;
	int			nlog;
	int			ndir;
	int			nblooms;		/* of the directory's entries */
	BetreeDirEntry dir[BETREE_NCAP_MAX + 1];
} NodeHalf;

/*
 * The child that shall begin the right half.  The place of a drain, if not
 * too far out; near the end in the last node of a level, where ascending
 * keys come; otherwise half of the space.
 */
static int
choose_split_child(Page node)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	int			nchildren = BetreeNodeNumChildren(node);
	int			total = 0;
	int			space = 0;
	int			at = 0;

	if (BetreePivotGetNatts(BetreeNodeGetHikey(node)) == BETREE_NATTS_PLUSINF &&
		nchildren >= 10)
		return nchildren * 9 / 10;

	if (opaque->bteo_drain != 0)
	{
		while (at < nchildren &&
			   !BetreeSeqNewer(opaque->bteo_drain,
							   BetreePivotGetMarker(BetreeNodeGetPivot(node, at))))
			at++;
	}
	else
	{
		for (int i = 0; i < nchildren; i++)
			total += BetreeTupleSpace(BetreeNodeGetPivot(node, i));
		for (; at < nchildren && space < total / 2; at++)
			space += BetreeTupleSpace(BetreeNodeGetPivot(node, at));
	}
	at = Max(at, (nchildren + 2) / 3);
	at = Min(at, nchildren * 2 / 3);
	return Max(1, Min(at, nchildren - 1));
}

/*
 * Has a log page a live message of the children first_child..last_child-1?
 * A tail is not sorted, and all of its messages are live; "seq" is the number
 * of any other page.
 */
static bool
has_live_items(BetreeRel *bt, Page node, int first_child, int last_child,
			   Page page, bool tail, uint16 seq)
{
	OffsetNumber maxoff = betree_page_nitems(page);
	BetreeKey	lower;
	BetreeKey	upper;

	Assert(first_child >= 0 && first_child < last_child);
	Assert(last_child <= BetreeNodeNumChildren(node));

	if (tail)
	{
		betree_key_from_pivot(bt, BetreeNodeGetPivot(node, first_child), &lower);
		betree_key_from_pivot(bt, BetreeNodeGetUpper(node, last_child - 1),
							  &upper);
		for (OffsetNumber off = 1; off <= maxoff; off++)
		{
			IndexTuple	itup = BetreePageGetTuple(page, off);

			if (betree_key_compare_tuple(bt, &lower, itup) <= 0 &&
				betree_key_compare_tuple(bt, &upper, itup) > 0)
				return true;
		}
		return false;
	}

	for (int child = first_child; child < last_child; child++)
	{
		OffsetNumber off;

		if (!BetreeSeqNewer(seq, BetreePivotGetMarker(BetreeNodeGetPivot(node, child))))
			continue;
		betree_key_from_pivot(bt, BetreeNodeGetPivot(node, child), &lower);
		betree_key_from_pivot(bt, BetreeNodeGetUpper(node, child), &upper);
		off = betree_key_search_page(bt, page, maxoff, &lower);
		if (off <= maxoff &&
			betree_key_compare_tuple(bt, &upper,
									 BetreePageGetTuple(page, off)) > 0)
			return true;
	}
	return false;
}

/*
 * Write a copy of a log page with the items not below "separator".  Nothing
 * refers to it yet; after a crash it is lost, until VACUUM frees it.
 */
static BlockNumber
copy_log_page(BetreeRel *bt, Page source, BetreeKey *separator)
{
	Buffer		buf = betree_block_alloc(bt->rel);
	BlockNumber blkno = BufferGetBlockNumber(buf);
	GenericXLogState *state = GenericXLogStart(bt->rel);
	Page		page = GenericXLogRegisterBuffer(state, buf, GENERIC_XLOG_FULL_IMAGE);
	BetreePageOpaque from = BetreePageGetOpaque(source);
	BetreePageOpaque to = BetreePageGetOpaque(page);

	betree_page_init(page, BETREE_LOG, from->bteo_level, 0);
	to->bteo_seq = from->bteo_seq;
	to->bteo_owner = from->bteo_owner;
	for (OffsetNumber off = 1; off <= betree_page_nitems(source); off++)
	{
		IndexTuple	itup = BetreePageGetTuple(source, off);

		if (betree_key_compare_tuple(bt, separator, itup) > 0)
			continue;
		betree_page_add(page, itup);
		if (off <= from->bteo_nsorted)
			to->bteo_nsorted++;
	}
	GenericXLogFinish(state);
	ECP_STOP_POINT("copied");
	UnlockReleaseBuffer(buf);
	return blkno;
}

static void
half_add_dir(NodeHalf *half, BetreeDirEntry *entry, int kind)
{
	Assert(half->ndir <= BETREE_NCAP_MAX);

	half->dir[half->ndir] = *entry;
	half->dir[half->ndir].bted_kind = kind;
	half->ndir++;
	if (BetreeDirIsSealed(&half->dir[half->ndir - 1]))
		half->nlog++;
}

/* The kind of an entry of the log in the right half, which has fewer children */
static int
right_kind(BetreeDirEntry *entry, NodeHalf *right)
{
	return BETREE_DIR_LOG(BetreeDirIsTail(entry) ? BETREE_DIR_TAIL : BETREE_DIR_SEALED,
						  Max(0, BetreeDirGetFirst(entry) - right->first));
}

/* Divide the log between the halves, copying pages that both need. */
static void
divide_log(BetreeRel *bt, Page node, NodeHalf *left, NodeHalf *right)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	BetreeKey	separator;
	BetreeDirEntry spare[BETREE_NCAP_MAX];
	int			nspare = 0;
	BetreeDirEntry filter[BETREE_NCAP_MAX];
	int			nfilters = 0;
	NodeHalf   *longer;

	betree_key_from_pivot(bt, BetreeNodeGetPivot(node, right->first),
						  &separator);

	for (int i = 0; i < opaque->bteo_ndir; i++)
	{
		BetreeDirEntry *entry = &dir[i];
		bool		tail = BetreeDirIsTail(entry);
		Buffer		buf;
		Page		page;
		bool		in_left;
		bool		in_right;

		if (BetreeDirIsFilter(entry))
		{
			filter[nfilters++] = *entry;
			continue;
		}
		if (BetreeDirIsBloom(entry))
			continue;			/* see add_bloom_pages */
		if (!tail && !BetreeDirIsSealed(entry))
		{
			spare[nspare++] = *entry;
			continue;
		}

		/* a tail's lock waits for the last append that is under way */
		buf = betree_block_read(bt->rel, entry->bted_block,
								tail ? BUFFER_LOCK_EXCLUSIVE : BUFFER_LOCK_SHARE,
								BETREE_LOG);
		page = BufferGetPage(buf);
		in_left = has_live_items(bt, node, left->first, left->last, page,
								 tail, entry->bted_seq);
		in_right = has_live_items(bt, node, right->first, right->last, page,
								  tail, entry->bted_seq);
		if (in_left && in_right)
		{
			BetreeDirEntry copy = *entry;

			copy.bted_block = copy_log_page(bt, page, &separator);
			half_add_dir(left, entry, entry->bted_kind);
			half_add_dir(right, &copy, right_kind(entry, right));
		}
		else if (in_left)
			half_add_dir(left, entry, entry->bted_kind);
		else if (in_right)
			half_add_dir(right, entry, right_kind(entry, right));
		else
			spare[nspare++] = *entry;
		UnlockReleaseBuffer(buf);
	}

	/* the longer log keeps the filter, of all pages in case */
	longer = right->nlog > left->nlog ? right : left;
	for (int i = 0; i < nfilters; i++)
		half_add_dir(longer, &filter[i], filter[i].bted_kind);

	/* the shorter directory gets the next spare page */
	for (int i = 0; i < nspare; i++)
		half_add_dir(left->ndir < right->ndir ? left : right, &spare[i],
					 BETREE_DIR_SPARE);
}

/* The longest directory that one half of a node can have */
static int
max_ncap(Page source, NodeHalf *half, IndexTuple hikey)
{
	int			room = BLCKSZ - SizeOfPageHeaderData - BetreeNodeSpecialSize(0) -
		BetreeTupleSpace(hikey);

	for (int i = half->first; i < half->last; i++)
		room -= BetreeTupleSpace(BetreeNodeGetPivot(source, i));
	return Min(BETREE_NCAP_MAX, room / (int) sizeof(BetreeDirEntry));
}

/*
 * Make Bloom pages for one half of a node that has such, if the directory has
 * room for them beside what is in it.  The last node of the level gets as many as
 * the whole node should have, since ascending keys will make it as large: each
 * growth by a few would write all of them anew.
 */
static void
add_bloom_pages(BetreeRel *bt, Buffer nodebuf, NodeHalf *half, IndexTuple hikey)
{
	Page		node = BufferGetPage(nodebuf);
	int			room = max_ncap(node, half, hikey) - Max(half->ndir, BETREE_NCAP_MIN);
	int			npages = betree_bloom_pages_wanted(bt, half->last - half->first);

	if (betree_node_nblooms(node) == 0 || npages > room)
		return;
	if (BetreePivotGetNatts(hikey) == BETREE_NATTS_PLUSINF)
	{
		int			nlater = betree_bloom_pages_wanted(bt, half->last);

		if (nlater <= room)
			npages = nlater;
	}
	half->nblooms = betree_bloom_pages_copy(bt, nodebuf, half->first, half->last, npages,
											half->dir + half->ndir);
	half->ndir += half->nblooms;
}

/* Put one half of a node on a page image */
static void
write_half(BetreeRel *bt, Page page, Page source, NodeHalf *half,
		   IndexTuple hikey)
{
	BetreePageOpaque from = BetreePageGetOpaque(source);
	BetreePageOpaque to = BetreePageGetOpaque(page);
	int			ncap = betree_log_ncap(bt, from->bteo_level) +
		(bt->bloom ? 0 : half->nblooms);

	/* an option may ask for a longer directory than there is room for */
	ncap = Min(ncap, max_ncap(source, half, hikey));
	ncap = Max(ncap, half->ndir);
	if (half->nblooms > 0)
		ncap = Max(ncap, half->nblooms + BETREE_NCAP_MIN);
	betree_page_init(page, BETREE_NODE, from->bteo_level, ncap);
	betree_page_add(page, hikey);
	for (int i = half->first; i < half->last; i++)
		betree_page_add(page, BetreeNodeGetPivot(source, i));
	memcpy(BetreeNodeGetDir(page), half->dir,
		   half->ndir * sizeof(BetreeDirEntry));
	to->bteo_ndir = half->ndir;
	to->bteo_nlog = half->nlog;
	to->bteo_seq = from->bteo_seq;
	to->bteo_flags = from->bteo_flags;
	/* it may have lost pages of the log that its children never absorbed */
	betree_node_raise_lagging(page);
	if (half->nlog > 0 && from->bteo_drain != 0 &&
		!BetreeSeqNewer(half->dir[0].bted_seq, from->bteo_drain))
		to->bteo_drain = from->bteo_drain;
}

/*
 * Split a node; it and its parent are exclusively locked, and the parent has
 * room for the pivot.
 */
static void
split_locked(BetreeRel *bt, Buffer parentbuf, int child, Buffer nodebuf)
{
	Page		node = BufferGetPage(nodebuf);
	PGAlignedBlock copy;
	NodeHalf	left = {0};
	NodeHalf	right = {0};
	Buffer		rightbuf;
	GenericXLogState *state;
	Page		page;
	Page		parent;
	IndexTuple	separator;

	Assert(ecp_buffer_is_exclusive_locked(parentbuf));
	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(BetreeNodeNumChildren(node) >= 2);
	Assert(BetreePageGetOpaque(BufferGetPage(parentbuf))->bteo_level ==
		   BetreePageGetOpaque(node)->bteo_level + 1);

	left.last = right.first = choose_split_child(node);
	right.last = BetreeNodeNumChildren(node);
	divide_log(bt, node, &left, &right);

	memcpy(copy.data, node, BLCKSZ);
	separator = CopyIndexTuple(BetreeNodeGetPivot(node, right.first));
	add_bloom_pages(bt, nodebuf, &left, separator);
	add_bloom_pages(bt, nodebuf, &right, BetreeNodeGetHikey(node));
	rightbuf = betree_block_alloc(bt->rel);

	state = GenericXLogStart(bt->rel);
	parent = GenericXLogRegisterBuffer(state, parentbuf, 0);

	page = GenericXLogRegisterBuffer(state, nodebuf, 0);
	write_half(bt, page, copy.data, &left, separator);
	memcpy(BetreeNodeGetCounters(page), BetreeNodeGetCounters(copy.data),
		   sizeof(BetreeCountersData));

	page = GenericXLogRegisterBuffer(state, rightbuf, GENERIC_XLOG_FULL_IMAGE);
	write_half(bt, page, copy.data, &right, BetreeNodeGetHikey(copy.data));

	/* what the parent's log holds for it is as old as for the left half */
	BetreePivotSetChild(separator, BufferGetBlockNumber(rightbuf));
	BetreePivotSetMarker(separator,
						 BetreePivotGetMarker(BetreeNodeGetPivot(parent, child)));
	if (PageAddItem(parent, (Pointer) separator, IndexTupleSize(separator),
					BETREE_FIRST_PIVOT + child + 1, false, false) ==
		InvalidOffsetNumber)
		betree_page_report_item(parent);
	betree_node_shift_log(parent, child, 1);
	GenericXLogFinish(state);
	PredicateLockPageSplit(bt->rel, BufferGetBlockNumber(nodebuf),
						   BufferGetBlockNumber(rightbuf));
	ECP_STOP_POINT("split");
	UnlockReleaseBuffer(rightbuf);
	betree_bloom_pages_free(bt, BetreeNodeGetDir(copy.data),
							BetreePageGetOpaque(copy.data)->bteo_ndir);
}

/*
 * Push the root's contents, log included, down into a new node, its only
 * child.  The root is exclusively locked.
 */
static void
grow_root(BetreeRel *bt, Buffer rootbuf)
{
	Page		root = BufferGetPage(rootbuf);
	int			level = BetreePageGetOpaque(root)->bteo_level;
	Buffer		buf;
	GenericXLogState *state;
	Page		page;
	IndexTuple	pivot = betree_node_infinite_pivot(false);

	if (level + 1 >= BETREE_MAX_HEIGHT)
		elog(ERROR, "betree index \"%s\" is too high",
			 RelationGetRelationName(bt->rel));

	buf = betree_block_alloc(bt->rel);
	state = GenericXLogStart(bt->rel);
	root = GenericXLogRegisterBuffer(state, rootbuf, 0);
	page = GenericXLogRegisterBuffer(state, buf, GENERIC_XLOG_FULL_IMAGE);
	memcpy(page, root, BLCKSZ);
	BetreePivotSetChild(pivot, BufferGetBlockNumber(buf));
	betree_node_form(root, level + 1, betree_log_ncap(bt, level + 1),
					 betree_node_infinite_pivot(true), &pivot, 1);
	GenericXLogFinish(state);
	PredicateLockPageSplit(bt->rel, BETREE_ROOT_BLKNO, BufferGetBlockNumber(buf));
	ECP_STOP_POINT("root-grown");
	UnlockReleaseBuffer(buf);
}

/* Has the node room for what a flush can add? */
static bool
has_room(Page page)
{
	return betree_node_room(page) >=
		2 * (int) (BetreeMaxItemSize + MAXALIGN(sizeof(ItemPointerData)) +
				   sizeof(ItemIdData)) &&
		BetreeNodeNumChildren(page) + 2 <= BETREE_NODE_MAX_CHILDREN;
}

/*
 * betree_split_node
 *		Make room in the node of "level" whose range holds "key".
 *
 * The caller holds no lock.  Splits the ancestors first if they are full.
 * Does nothing if another backend has made room already.  Returns the node, the
 * left one if it was split.
 */
BlockNumber
betree_split_node(BetreeRel *bt, BetreeKey *key, int level)
{
	Assert(level >= 1 && level < BETREE_MAX_HEIGHT);

	for (;;)
	{
		Buffer		parentbuf;
		Buffer		nodebuf;
		BlockNumber blkno;
		Page		parent;
		int			child;

		CHECK_FOR_INTERRUPTS();

		parentbuf = betree_descend(bt, key, false, level + 1,
								   BUFFER_LOCK_EXCLUSIVE, NULL, NULL);
		parent = BufferGetPage(parentbuf);
		if (BetreePageGetOpaque(parent)->bteo_level <= level)
		{
			/* the node is the root */
			grow_root(bt, parentbuf);
			UnlockReleaseBuffer(parentbuf);
			continue;
		}

		if (BetreeNodeNumChildren(parent) >= BETREE_NODE_MAX_CHILDREN ||
			betree_node_room(parent) <
			(int) (BetreeMaxItemSize + MAXALIGN(sizeof(ItemPointerData)) +
				   sizeof(ItemIdData)))
		{
			UnlockReleaseBuffer(parentbuf);
			(void) betree_split_node(bt, key, level + 1);
			continue;
		}

		child = betree_key_search_node(bt, parent, key, false);
		nodebuf = betree_block_read_child(bt->rel, parent, child, BUFFER_LOCK_EXCLUSIVE);
		if (!has_room(BufferGetPage(nodebuf)))
		{
			/* a node has room for a high key and four pivots */
			if (BetreeNodeNumChildren(BufferGetPage(nodebuf)) < 2)
				betree_block_report(bt->rel, nodebuf);
			split_locked(bt, parentbuf, child, nodebuf);
		}
		blkno = BufferGetBlockNumber(nodebuf);
		UnlockReleaseBuffer(nodebuf);
		UnlockReleaseBuffer(parentbuf);
		return blkno;
	}
}
