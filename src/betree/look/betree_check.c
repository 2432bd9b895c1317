/*-------------------------------------------------------------------------
 *
 * betree_check.c
 *	  betree_index_check(): verifies the invariants that the README states.
 *
 * Walks the levels from the root in key order.  Each node is looked at under
 * a share lock, with its log and, at level 1, its leaves; its range must
 * begin where its left neighbour's ended.  On a primary the caller's lock
 * keeps writers out, so that also the blocks can be accounted for: each is
 * referred to once, or free, or lost in a crash (which betree_index_stats
 * counts and VACUUM mends, not an error).  On a standby, where such a lock
 * cannot be had, blocks are not accounted for.
 *
 * With "heapallindexed", every row that an index build would find must be in
 * the index; a Bloom filter of the index's tuples is probed with the heap's,
 * as amcheck does for btree.  And each item of the index must be of a row of
 * the heap, dead or alive, that has no other; those that the snapshot sees are
 * then as many as the rows that were found, and so the same.  A standby cannot
 * lock VACUUM out, and does not look for that.  And of the rows of a unique
 * index that the snapshot sees no two have the same key.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "base/heap_row.h"
#include "base/spare.h"
#include "base/user_index.h"
#include "betree/define/betree_define.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

typedef struct CheckState
{
	BetreeRel	bt;
	BetreeBlockSet visited;
	bool		exclusive;		/* no writers: blocks can be accounted for */
	EcpHeapCheck rows;
	MemoryContext context;		/* reset for each node */
	BetreeLogCache cache;
	BetreeBatch batch;
	BetreeSortItem *upper;		/* live messages of the levels above 1 */
	int			nupper;
	int			max_upper;
	BetreeSortItem *tail;		/* live ones of this node's tail, sorted */
	int			ntail;
	MemoryContext upper_context;
	bool		unique;			/* no two visible rows have the same key */
	IndexTuple	previous;		/* last of the items in order, or NULL */
	bool		previous_known; /* whether its row is visible is known */
	bool		previous_visible;
	MemoryContext previous_context;
} CheckState;

pg_noreturn static void corrupt(CheckState *state, BlockNumber blkno,
								const char *fmt,...) pg_attribute_printf(3, 4);

static void
corrupt(CheckState *state, BlockNumber blkno, const char *fmt,...)
{
	va_list		args;
	char		detail[512];

	va_start(args, fmt);
	vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is corrupted at block %u",
					RelationGetRelationName(state->bt.rel), blkno),
			 errdetail_internal("%s", detail),
			 errhint("Please REINDEX it.")));
}

/* A block has been reached: for the first time, unless pages can move */
static void
visit(CheckState *state, BlockNumber blkno)
{
	if (!state->exclusive)
		return;
	if (blkno >= state->visited.nblocks)
		corrupt(state, blkno, "The block is beyond the end of the file.");
	if (betree_block_set_has(&state->visited, blkno))
		corrupt(state, blkno, "The block is referred to twice.");
	betree_block_set_add(&state->visited, blkno);
}

/*
 * A copy of an index tuple in a form that depends on the values only: whole,
 * uncompressed values are formed again.
 */
static IndexTuple
normalize(BetreeRel *bt, Datum *values, bool *isnull, ItemPointer tid)
{
	Datum		normal[INDEX_MAX_KEYS];
	IndexTuple	itup;

	for (int i = 0; i < bt->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(bt->tupdesc, i);

		normal[i] = values[i];
		if (!isnull[i] && !att->attbyval && att->attlen == -1)
			normal[i] = PointerGetDatum(PG_DETOAST_DATUM(values[i]));
	}
	itup = index_form_tuple(bt->tupdesc, normal, isnull);
	itup->t_tid = *tid;
	return itup;
}

/* A live tuple of block "blkno": check what it says, put it into the filter */
static void
account(CheckState *state, BlockNumber blkno, IndexTuple itup)
{
	IndexTuple	normal = NULL;

	betree_key_verify_tuple(&state->bt, itup);
	if (!betree_block_tid_exists(state->rows.heap, &itup->t_tid))
		corrupt(state, blkno, "An item refers to row (%u,%u), which the table cannot have.",
				ItemPointerGetBlockNumberNoCheck(&itup->t_tid),
				ItemPointerGetOffsetNumberNoCheck(&itup->t_tid));
	if (state->rows.filter != NULL)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		isnull[INDEX_MAX_KEYS];

		index_deform_tuple(itup, state->bt.tupdesc, values, isnull);
		normal = normalize(&state->bt, values, isnull, &itup->t_tid);
	}
	ecp_heap_check_entry(&state->rows, &itup->t_tid, normal,
						 normal ? IndexTupleSize(normal) : 0);
	if (normal != NULL)
		pfree(normal);
}

/* Items 1..n of a page are whole, and ascend strictly with all their rows */
static void
check_ascending(CheckState *state, BlockNumber blkno, Page page, int n)
{
	for (OffsetNumber off = 1; off <= n; off++)
	{
		const char *complaint = betree_key_item_complaint(&state->bt, page, off);

		if (complaint != NULL)
			corrupt(state, blkno, "Item %u %s.", off, complaint);
	}
}

/* Sizes and places of a page's items */
static void
check_items(CheckState *state, Buffer buf)
{
	Page		page = BufferGetPage(buf);
	PageHeader	header = (PageHeader) page;
	OffsetNumber maxoff = betree_page_nitems(page);

	for (OffsetNumber off = FirstOffsetNumber; off <= maxoff; off++)
	{
		ItemId		iid = PageGetItemId(page, off);

		if (!ItemIdIsNormal(iid) ||
			ItemIdGetOffset(iid) < header->pd_upper ||
			ItemIdGetOffset(iid) + ItemIdGetLength(iid) > header->pd_special ||
			ItemIdGetOffset(iid) % MAXIMUM_ALIGNOF != 0 ||
			ItemIdGetLength(iid) < sizeof(IndexTupleData) ||
			IndexTupleSize((IndexTuple) PageGetItem(page, iid)) >
			ItemIdGetLength(iid))
			corrupt(state, BufferGetBlockNumber(buf),
					"Item pointer %u is invalid.", off);
	}
	if (betree_page_live_space(page) > header->pd_special - betree_page_upper(page) +
		maxoff * (int) sizeof(ItemIdData))
		corrupt(state, BufferGetBlockNumber(buf), "Items overlap.");
}

/* The same position, of two pivots or high keys? */
static bool
same_position(CheckState *state, IndexTuple a, IndexTuple b)
{
	BetreeKey	key;

	betree_key_from_pivot(&state->bt, a, &key);
	return betree_key_compare_pivot(&state->bt, &key, b) == 0;
}

/*
 * Pivots ascend, and the node's range begins at "low"; on a standby VACUUM may
 * have merged it with one that we have seen
 */
static void
check_pivots(CheckState *state, Buffer buf, IndexTuple low)
{
	Page		page = BufferGetPage(buf);
	BlockNumber blkno = BufferGetBlockNumber(buf);
	BetreeKey	key;

	if (state->exclusive && !same_position(state, low, BetreeNodeGetPivot(page, 0)))
		corrupt(state, blkno, "The node does not begin where its left neighbor ends.");
	for (int child = 0; child < BetreeNodeNumChildren(page); child++)
	{
		betree_key_from_pivot(&state->bt, BetreeNodeGetPivot(page, child), &key);
		if (betree_key_compare_pivot(&state->bt, &key,
									 BetreeNodeGetUpper(page, child)) >= 0)
			corrupt(state, blkno, "Pivot %d is not below the next.", child);
	}
}

/*
 * Can a child have absorbed, or a filter cover, the log up to this number?
 * Not if it is in the future, nor if it lags behind the log by more than one.
 */
static bool
is_number_sane(Page node, uint16 number)
{
	return !BetreeSeqNewer(number, BetreePageGetOpaque(node)->bteo_seq) &&
		!BetreeSeqNewer(BetreeNodeLogStart(node), number);
}

/* The range of a child that is a node is what its parent says */
static void
check_child_range(CheckState *state, Page node, int child)
{
	Buffer		buf = betree_block_read_child(state->bt.rel, node, child,
											  BUFFER_LOCK_SHARE);
	Page		page = BufferGetPage(buf);

	if (!same_position(state, BetreeNodeGetPivot(node, child),
					   BetreeNodeGetPivot(page, 0)) ||
		!same_position(state, BetreeNodeGetUpper(node, child),
					   BetreeNodeGetHikey(page)))
		corrupt(state, BufferGetBlockNumber(buf),
				"The range of the node is not what its parent says.");
	UnlockReleaseBuffer(buf);
}

/*
 * Directory entry "at", of a filter page: its number is one of 0..n-1, its
 * coverage not in the future, and its page a filter.  Or of a Bloom page, whose
 * slots are each of one child of the node.
 */
static void
check_filter_entry(CheckState *state, Buffer nodebuf, int at)
{
	Page		node = BufferGetPage(nodebuf);
	BetreeDirEntry *entry = BetreeNodeGetDir(node) + at;
	const char *complaint;

	if (BetreeDirIsBloom(entry))
		complaint = betree_bloom_complaint(&state->bt, node, at);
	else
	{
		Buffer		buf;

		if ((entry->bted_kind >> 8) >= betree_node_nfilters(node) ||
			betree_node_nfilters(node) > BETREE_FILTER_PAGES_MAX ||
			betree_node_find_dir(node, entry->bted_kind) != at ||
			!is_number_sane(node, entry->bted_seq))
			corrupt(state, BufferGetBlockNumber(nodebuf),
					"Directory entry %d of a filter page is invalid.", at);
		buf = betree_block_read(state->bt.rel, entry->bted_block, BUFFER_LOCK_SHARE,
								BETREE_FILTER);
		complaint = betree_filter_complaint(BufferGetPage(buf));
		UnlockReleaseBuffer(buf);
	}
	if (complaint != NULL)
		corrupt(state, entry->bted_block, "%s", complaint);
}

/*
 * Keep a live message of a level above 1, to be compared with what is below;
 * not if it may move there before we come to it.
 */
static void
keep_upper(CheckState *state, IndexTuple itup)
{
	if (!state->exclusive)
		return;
	state->upper = ecp_enlarge(state->upper_context, state->upper, &state->max_upper,
							   state->nupper + 1, sizeof(BetreeSortItem));
	betree_key_item_init(&state->bt, &state->upper[state->nupper++],
						 betree_image_copy(state->upper_context, itup), 0);
}

/* Account the live items of a tail, and add them to state->tail */
static void
check_tail(CheckState *state, Page node, BlockNumber blkno, Page page)
{
	BetreeRel  *bt = &state->bt;

	for (OffsetNumber off = 1; off <= betree_page_nitems(page); off++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, off);
		BetreeKey	key;

		/* those that are not sorted yet, check_ascending() has not seen */
		if (BetreeTupleIsPosting(itup))
			corrupt(state, blkno, "Item %u is a posting, which may not be here.", off);
		betree_key_from_tuple(bt, itup, &key);
		if (!betree_key_node_covers(bt, node, &key))
			continue;
		account(state, blkno, itup);
		betree_key_item_init(bt, &state->tail[state->ntail++],
							 CopyIndexTuple(itup), 0);
		if (BetreePageGetOpaque(node)->bteo_level > 1)
			keep_upper(state, itup);
	}
}

/* What is live in log page or tail "i" is of the children that it is for */
static void
check_interval(CheckState *state, Page node, int i, Page page)
{
	BetreeRel  *bt = &state->bt;
	BetreeDirEntry *entry = BetreeNodeGetDir(node) + i;

	for (OffsetNumber off = 1; off <= betree_page_nitems(page); off++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, off);
		BetreeKey	key;
		int			child;

		if (!betree_log_is_live(bt, node, entry, itup))
			continue;
		betree_key_from_tuple(bt, itup, &key);
		child = betree_key_search_node(bt, node, &key, false);
		if (!betree_node_log_covers(node, i, child, child))
			corrupt(state, entry->bted_block,
					"Item %u is of child %d, which the page is not for.", off, child);
	}
}

/* The directory: order, numbers, markers; and each page of the log */
static void
check_log(CheckState *state, Buffer nodebuf)
{
	BetreeRel  *bt = &state->bt;
	Page		node = BufferGetPage(nodebuf);
	BlockNumber nodeblk = BufferGetBlockNumber(nodebuf);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	int			ntails = betree_node_ntails(node);

	state->tail = palloc((ntails * MaxIndexTuplesPerPage + 1) * sizeof(BetreeSortItem));
	for (int child = 0; child < BetreeNodeNumChildren(node); child++)
	{
		if (!is_number_sane(node,
							BetreePivotGetMarker(BetreeNodeGetPivot(node, child))))
			corrupt(state, nodeblk,
					"The marker of child %d is not of the log.", child);
	}
	if (opaque->bteo_nlog > 0 &&
		betree_node_log_span(node, opaque->bteo_seq) > BETREE_SEQ_SPAN_MAX)
		corrupt(state, nodeblk, "The log is longer than numbers can tell.");
	if (opaque->bteo_drain != 0 &&
		(opaque->bteo_nlog == 0 ||
		 BetreeSeqNewer(dir[0].bted_seq, opaque->bteo_drain) ||
		 BetreeSeqNewer(opaque->bteo_drain, opaque->bteo_seq)))
		corrupt(state, nodeblk, "The drain is not of the log.");
	for (int i = 0; i < opaque->bteo_ndir; i++)
	{
		Buffer		buf;
		Page		page;
		BetreePageOpaque bufopaque;
		bool		log = BetreeDirIsSealed(&dir[i]);
		bool		tail = BetreeDirIsTail(&dir[i]);

		if (log != (i < opaque->bteo_nlog) ||
			(tail && i >= opaque->bteo_nlog + ntails) ||
			(!log && !tail && dir[i].bted_kind != BETREE_DIR_SPARE &&
			 !BetreeDirIsFilter(&dir[i]) && !BetreeDirIsBloom(&dir[i])))
			corrupt(state, nodeblk, "Directory entry %d is of wrong kind %d.",
					i, dir[i].bted_kind);
		if ((log || tail) && !betree_node_log_ordered(node, i))
			corrupt(state, nodeblk, "Directory entry %d is out of order.", i);
		visit(state, dir[i].bted_block);
		if (BetreeDirIsFilter(&dir[i]) || BetreeDirIsBloom(&dir[i]))
		{
			check_filter_entry(state, nodebuf, i);
			continue;
		}

		buf = betree_block_read(bt->rel, dir[i].bted_block, BUFFER_LOCK_SHARE, BETREE_LOG);
		page = BufferGetPage(buf);
		bufopaque = BetreePageGetOpaque(page);
		if (log || tail)
		{
			check_items(state, buf);
			if ((tail && dir[i].bted_seq != 0) ||
				(log && (uint16) bufopaque->bteo_seq != dir[i].bted_seq) ||
				(log && bufopaque->bteo_nsorted != betree_page_nitems(page)))
				corrupt(state, dir[i].bted_block,
						"The log page does not match its directory entry.");
			check_ascending(state, dir[i].bted_block, page, bufopaque->bteo_nsorted);
			check_interval(state, node, i, page);
		}
		if (tail)
			check_tail(state, node, dir[i].bted_block, page);
		UnlockReleaseBuffer(buf);
	}
	betree_key_sort(bt, state->tail, state->ntail);
}

/*
 * All that the logs hold for a leaf, sorted: what its node has sealed, which
 * is in state->batch, what is in the node's tail, and what is above it.  No
 * two may be the same.
 */
static int
gather_all(CheckState *state, Page node, int child, BetreeSortItem **items)
{
	struct
	{
		BetreeSortItem *items;
		int			n;
	}			sources[] = {{state->tail, state->ntail}, {state->upper, state->nupper}};
	IndexTuple	low = BetreeNodeGetPivot(node, child);
	int			n = state->batch.nitems;
	BetreeKey	lower;
	BetreeKey	upper;

	betree_key_from_pivot(&state->bt, low, &lower);
	betree_key_from_pivot(&state->bt, BetreeNodeGetUpper(node, child), &upper);
	*items = palloc_extended((n + state->ntail + state->nupper + 1) * sizeof(BetreeSortItem),
							 MCXT_ALLOC_HUGE);
	memcpy(*items, state->batch.items, n * sizeof(BetreeSortItem));
	for (int i = 0; i < lengthof(sources); i++)
	{
		int			first = betree_key_search_items(&state->bt, sources[i].items,
													sources[i].n, &lower);
		int			end = betree_key_search_items(&state->bt, sources[i].items,
												  sources[i].n, &upper);

		while (first < end)
			(*items)[n++] = sources[i].items[first++];
	}
	betree_key_sort(&state->bt, *items, n);
	for (int i = 1; i < n; i++)
	{
		if (betree_key_item_compare(&state->bt, &(*items)[i - 1],
									&(*items)[i]) == 0)
			corrupt(state, BetreePivotGetChild(low),
					"The logs hold an item for the page twice.");
	}
	return n;
}

static bool
is_visible(CheckState *state, IndexTuple itup)
{
	ItemPointerData tid = itup->t_tid;

	return table_index_fetch_tuple_check(state->rows.heap, &tid, state->rows.snapshot,
										 NULL);
}

static bool
is_exempt(BetreeRel *bt, IndexTuple itup)
{
	bool		isnull[INDEX_MAX_KEYS];

	for (int i = 0; i < bt->nkeyatts; i++)
		(void) betree_key_getattr(bt, itup, i + 1, &isnull[i]);
	return betree_unique_is_exempt(bt, isnull);
}

/*
 * The next live item in the order of the index, which is unique: complain if
 * its row and an earlier one with the same key are visible.
 */
static void
check_unique(CheckState *state, BlockNumber blkno, IndexTuple itup)
{
	bool		equal;
	bool		visible = false;

	if (!state->unique || is_exempt(&state->bt, itup))
		return;
	equal = state->previous != NULL &&
		betree_key_equal_tuples(&state->bt, state->previous, itup);
	if (equal)
	{
		if (!state->previous_known)
			state->previous_visible = is_visible(state, state->previous);
		state->previous_known = true;
		visible = is_visible(state, itup);
		if (visible && state->previous_visible)
			corrupt(state, blkno, "Rows (%u,%u) and (%u,%u) have the same key.",
					ItemPointerGetBlockNumber(&state->previous->t_tid),
					ItemPointerGetOffsetNumber(&state->previous->t_tid),
					ItemPointerGetBlockNumber(&itup->t_tid),
					ItemPointerGetOffsetNumber(&itup->t_tid));
		if (!visible)
			return;
	}
	MemoryContextReset(state->previous_context);
	state->previous = betree_image_copy(state->previous_context, itup);
	state->previous_known = equal;
	state->previous_visible = visible;
}

/*
 * A leaf: order, range, a Bloom filter that knows all tuples, and none of them
 * in a log, too
 */
static void
check_leaf(CheckState *state, Page node, int child)
{
	BetreeRel  *bt = &state->bt;
	BlockNumber blkno = BetreeNodeGetChild(node, child);
	Buffer		buf = betree_block_read_child(bt->rel, node, child, BUFFER_LOCK_SHARE);
	Page		page = BufferGetPage(buf);
	OffsetNumber maxoff = betree_page_nitems(page);
	BetreeHash *hash = betree_hash_get(bt);
	BetreeSortItem *messages;
	int			nmessages = gather_all(state, node, child, &messages);
	int			message = 0;
	BetreeKey	key;
	ItemPointerData tids[BETREE_POSTING_MAX_ROWS];
	int			nrows;

	check_items(state, buf);
	check_ascending(state, blkno, page, maxoff);
	if (maxoff > 0)
	{
		betree_key_from_pivot(bt, BetreeNodeGetPivot(node, child), &key);
		if (betree_key_compare_tuple(bt, &key, BetreePageGetTuple(page, 1)) > 0)
			corrupt(state, blkno, "The first item is below the page's range.");
		betree_key_from_pivot(bt, BetreeNodeGetUpper(node, child), &key);
		tids[0] = betree_posting_last(BetreePageGetTuple(page, maxoff));
		if (betree_key_compare_row(bt, &key, BetreePageGetTuple(page, maxoff),
								   &tids[0]) <= 0)
			corrupt(state, blkno, "The last item is above the page's range.");
	}
	for (OffsetNumber off = 1; off <= maxoff; off++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, off);
		IndexTuple	row = betree_posting_form_row(itup, &itup->t_tid);

		if (hash != NULL && betree_bloom_lacks(bt, node, blkno, hash, itup))
			corrupt(state, blkno, "Item %u is not in the leaf's Bloom filter.", off);
		nrows = betree_posting_read(itup, tids);
		for (int i = 0; i < nrows; i++)
		{
			row->t_tid = tids[i];
			account(state, blkno, row);
			while (message < nmessages &&
				   betree_key_order_tuples(bt, messages[message].itup, row) < 0)
				check_unique(state, blkno, messages[message++].itup);
			if (message < nmessages &&
				betree_key_order_tuples(bt, messages[message].itup, row) == 0)
				corrupt(state, blkno, "Item %u is also in the log.", off);
			check_unique(state, blkno, row);
		}
	}
	while (message < nmessages)
		check_unique(state, blkno, messages[message++].itup);
	pfree(messages);
	UnlockReleaseBuffer(buf);
}

/* Check one level, from left to right */
static void
check_level(CheckState *state, int level)
{
	BetreeRel  *bt = &state->bt;
	BetreeHash *hash = betree_hash_get(bt);
	BetreeLevelWalk nodes;
	Buffer		nodebuf;

	betree_walk_level(&nodes, level);
	while ((nodebuf = betree_walk_node(bt, &nodes, BUFFER_LOCK_SHARE)) != InvalidBuffer)
	{
		Page		node = BufferGetPage(nodebuf);
		MemoryContext oldcontext;

		visit(state, BufferGetBlockNumber(nodebuf));
		check_items(state, nodebuf);
		check_pivots(state, nodebuf, nodes.low);

		/* what we have seen of it may come again */
		if (!same_position(state, nodes.low, BetreeNodeGetPivot(node, 0)))
			state->previous = NULL;

		oldcontext = MemoryContextSwitchTo(state->context);
		state->ntail = 0;
		check_log(state, nodebuf);
		for (int child = 0; child < BetreeNodeNumChildren(node); child++)
		{
			betree_log_gather(bt, node, child, BETREE_LOG_MAX_SPACE,
							  BETREE_LOG_MAX_ITEMS, &state->cache, &state->batch);
			for (int i = 0; i < state->batch.nitems; i++)
			{
				BetreeSortItem *item = &state->batch.items[i];

				account(state, BetreeNodeGetDir(node)[item->order].bted_block,
						item->itup);
				if (level > 1)
					keep_upper(state, item->itup);
				if (hash != NULL &&
					betree_filter_lacks(bt, node, hash, item->itup, item->order))
					corrupt(state, BetreeNodeGetDir(node)[item->order].bted_block,
							"An item of the log page is not in the filter.");
			}
			if (level > 1)
				check_child_range(state, node, child);
			else
			{
				visit(state, BetreeNodeGetChild(node, child));
				check_leaf(state, node, child);
			}
		}
		MemoryContextSwitchTo(oldcontext);
		betree_walk_past(bt, &nodes, nodebuf);
		UnlockReleaseBuffer(nodebuf);
		MemoryContextReset(state->context);
	}
}

static void
check_levels(CheckState *state)
{
	for (int level = betree_descend_height(&state->bt); level >= 1; level--)
	{
		if (level == 1)
			betree_key_sort(&state->bt, state->upper, state->nupper);
		check_level(state, level);
	}
	betree_log_cache_release(&state->cache);
}

/* What the index must have of a row of the heap */
static const void *
form_row(void *arg, ItemPointer tid, Datum *values, bool *isnull, Size *size)
{
	CheckState *state = (CheckState *) arg;
	IndexTuple	itup = normalize(&state->bt, values, isnull, tid);

	*size = IndexTupleSize(itup);
	return itup;
}

PG_FUNCTION_INFO_V1(betree_index_check);

/* betree_index_check(index regclass, heapallindexed boolean) returns void */
Datum
betree_index_check(PG_FUNCTION_ARGS)
{
	bool		heapallindexed = PG_GETARG_BOOL(1);
	bool		exclusive = !RecoveryInProgress();
	CheckState	state = {0};
	EcpUserIndex user;

	ecp_user_index_begin(&user, fcinfo,
						 exclusive ? ShareLock : AccessShareLock,
						 &betree_options_index_kind);
	betree_held_send(RelationGetRelid(user.index));
	betree_rel_open(&state.bt, user.index);
	ecp_heap_check_begin(&state.rows, user.heap, user.index, heapallindexed && exclusive,
						 heapallindexed);
	UnlockReleaseBuffer(betree_block_read(state.bt.rel, BETREE_META_BLKNO,
										  BUFFER_LOCK_SHARE, BETREE_META));
	state.exclusive = exclusive;
	betree_block_set_init(&state.visited, RelationGetNumberOfBlocks(user.index));
	state.context = AllocSetContextCreate(CurrentMemoryContext, "betree check",
										  ALLOCSET_DEFAULT_SIZES);
	state.upper_context = CurrentMemoryContext;
	betree_log_cache_init(&state.cache);
	betree_log_batch_init(&state.batch, BETREE_NCAP_MAX);
	if (heapallindexed)
	{
		/* a deferrable constraint may be violated in this transaction */
		state.unique = user.index->rd_index->indisunique &&
			user.index->rd_index->indisvalid && user.index->rd_index->indimmediate;
		state.previous_context = AllocSetContextCreate(CurrentMemoryContext,
													   "betree check unique",
													   ALLOCSET_SMALL_SIZES);
	}

	betree_entry_begin(user.index);
	check_levels(&state);
	betree_entry_end(user.index);

	/* free pages are read, as they are before something is written to them */
	for (BlockNumber blk = 0; blk < state.visited.nblocks; blk++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!betree_block_set_has(&state.visited, blk))
			ReleaseBuffer(ReadBuffer(user.index, blk));
	}
	ecp_heap_check_end(&state.rows, form_row, &state, exclusive);
	ecp_user_index_end(&user);
	PG_RETURN_VOID();
}
