/*-------------------------------------------------------------------------
 *
 * betree_flush.c
 *	  Moving messages from a node's log down to its children.
 *
 * A drain absorbs the log up to a number, bteo_drain, that a seal has put
 * into the node.  It visits the children in key order, and takes for each all
 * that is pending in the sealed pages (gather), as one batch and one record
 * (flush); the pages of the log themselves are not written.  When every child
 * has what the pages up to the number hold, they become spare (drop).
 *
 * The leaves of a node mostly lie one behind the other in the file.  They are
 * prefetched and pinned in groups while the node is not locked, and flushed
 * with the node locked exclusively for the length of a group.
 *
 * Children that are nodes take the batch into the tail of their own log.  One
 * that has no room left is drained first: a cascade, whose depth is the
 * number of levels.
 *
 * Any backend may run a drain or part of one, several may at a time: each
 * flush finds out under the node's lock what is pending.  A drain therefore
 * need not be finished by who began it: each insert into the node does a
 * part of it, which the budget bounds (flush_budget), and the markers tell the
 * next one where to go on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree.h"

#include "miscadmin.h"
#include "utils/memutils.h"

/* children that are flushed under one lock of the node */
#define GROUP_SIZE		16

typedef enum FlushResult
{
	FLUSHED,
	NODE_FULL,					/* split the node first */
	CHILD_FULL					/* drain the child first */
} FlushResult;

typedef struct DrainState
{
	BetreeRel  *bt;
	int			level;
	Buffer		nodebuf;		/* pinned */
	IndexTuple	cursor;			/* lower bound of the next child, or NULL */
	IndexTuple	end;			/* high key of the node when we began */
	BetreeWalk	walk;			/* over the nodes that it was split into */
	uint16		target;			/* drain up to this number */
	int			budget;			/* batches that may still be moved */
	int			empty[GROUP_SIZE];	/* children that nothing was pending for */
	int			nempty;
	BlockNumber full_child;
	bool		child_drains;	/* a flush started a drain of full_child */
	BlockNumber waited_child;	/* the last one that was drained for want of */
	uint32		waited_drain;	/* room in it, and the number of that drain */
	BetreeLogCache cache;
	BetreeBatch batch;
	BetreeBatch next_batch;		/* of the next leaf, see flush_to_leaf */
	Buffer		ahead[GROUP_SIZE];
	int			nahead;
	MemoryContext context;		/* reset for each child */
} DrainState;

/*
 * betree_batch_init
 *		Allocate the space of a batch of at most "npages" full pages.
 */
void
betree_batch_init(BetreeBatch *batch, int npages)
{
	memset(batch, 0, sizeof(BetreeBatch));
	batch->items = palloc(npages * MaxIndexTuplesPerPage *
						  sizeof(BetreeSortItem));
	batch->data = palloc(npages * BLCKSZ);
}

/* How many pages every backend may keep pinned */
int
betree_logcache_limit(void)
{
	return Max(8, NBuffers / (2 * MaxBackends));
}

/* Allocate a cache that keeps as many pins as it may */
void
betree_logcache_init(BetreeLogCache *cache)
{
	cache->npins = Min(betree_logcache_limit(), BETREE_NCAP_MAX);
	cache->buf = palloc0(BETREE_NCAP_MAX * sizeof(Buffer));
	cache->hint = palloc0(BETREE_NCAP_MAX * sizeof(OffsetNumber));
	cache->blkno = palloc0(BETREE_NCAP_MAX * sizeof(BlockNumber));
}

void
betree_logcache_release(BetreeLogCache *cache)
{
	for (int i = 0; i < cache->npins; i++)
	{
		if (BufferIsValid(cache->buf[i]))
			ReleaseBuffer(cache->buf[i]);
		cache->buf[i] = InvalidBuffer;
	}
}

/* Share-lock the log page of directory entry "i" */
Buffer
betree_logcache_lock(BetreeRel *bt, BetreeLogCache *cache, int i,
					 BlockNumber blkno)
{
	Buffer		buf;

	betree_check_block(bt, blkno);
	if (i < cache->npins)
	{
		cache->buf[i] = ReleaseAndReadBuffer(cache->buf[i], bt->rel, blkno);
		buf = cache->buf[i];
	}
	else
		buf = ReadBuffer(bt->rel, blkno);
	if (cache->blkno[i] != blkno)
	{
		cache->blkno[i] = blkno;
		cache->hint[i] = 0;
	}
	betree_lock(bt, buf, BUFFER_LOCK_SHARE);
	betree_check_page(bt, buf, BETREE_BUF, -1);
	return buf;
}

/* Unlock it; the pin stays, if the cache has room for it */
void
betree_logcache_unlock(BetreeLogCache *cache, int i, Buffer buf)
{
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	if (i >= cache->npins)
		ReleaseBuffer(buf);
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
		betree_sort_item_init(bt, &batch->items[nitems],
							  (IndexTuple) (batch->data + used), order);
		used += MAXALIGN(size);
		nitems++;
	}
	batch->nitems = nitems;
	batch->space = space;
	batch->data_used = used;
	return true;
}

/* Sort the batch; of exact duplicates the newest stays */
static void
batch_finish(BetreeRel *bt, BetreeBatch *batch)
{
	int			n = 0;

	betree_sort(bt, batch->items, batch->nitems);
	for (int i = 0; i < batch->nitems; i++)
	{
		if (n > 0 && betree_sort_item_compare(bt, &batch->items[n - 1],
											  &batch->items[i]) == 0)
			continue;
		batch->items[n++] = batch->items[i];
	}
	batch->nitems = n;
}

/*
 * Each flush raises the marker of its child, so that a drain ends; but only if
 * the numbers of the log are in order, from the oldest to the newest given.
 */
static void
check_log_order(Page node)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);

	if (opaque->bteo_nlog > 0 &&
		betree_node_log_span(node, opaque->bteo_seq) > BETREE_SEQ_SPAN_MAX)
		betree_report_damaged_item();
	for (int i = 0; i < opaque->bteo_nlog; i++)
	{
		if (dir[i].bted_kind != BETREE_DIR_LOG ||
			!betree_node_log_ordered(node, i))
			betree_report_damaged_item();
	}
}

/*
 * betree_gather
 *		Collect what a node's log holds for one of its children.
 *
 * The node is locked.  Pages are taken whole and oldest first, as long as
 * "max_space" and "max_items" suffice; batch->upto names the last, and batch->complete says
 * that there was no more.  An empty batch that is not complete means that not
 * even the first page's items fit.
 */
void
betree_gather(BetreeRel *bt, Page node, int child, int max_space,
			  int max_items, BetreeLogCache *cache, BetreeBatch *batch)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	uint16		marker = BetreePivotGetMarker(BetreeNodeGetPivot(node, child));
	BetreeKey	lower;
	BetreeKey	upper;

	betree_key_from_pivot(bt, BetreeNodeGetPivot(node, child), &lower);
	betree_key_from_pivot(bt, BetreeNodeGetUpper(node, child), &upper);
	batch->nitems = 0;
	batch->space = 0;
	batch->data_used = 0;
	batch->set_marker = true;
	batch->complete = true;
	batch->upto = marker;

	check_log_order(node);
	for (int i = 0; i < opaque->bteo_nlog; i++)
	{
		Buffer		buf;
		Page		page;
		OffsetNumber off;

		if (!BetreeSeqNewer(dir[i].bted_seq, marker))
			continue;
		buf = betree_logcache_lock(bt, cache, i, dir[i].bted_block);
		page = BufferGetPage(buf);
		off = betree_page_search_hint(bt, page, PageGetMaxOffsetNumber(page),
									  cache->hint[i], &lower);
		batch->complete = batch_add(bt, batch, page, &off, &upper, max_space,
									max_items, i);
		cache->hint[i] = off;
		betree_logcache_unlock(cache, i, buf);
		if (!batch->complete)
			break;
		batch->upto = dir[i].bted_seq;
	}
	batch_finish(bt, batch);
}

/*
 * Flush one child that is a leaf, as far as the budget goes.  The node is
 * exclusively locked.
 *
 * A leaf that must split takes the next one along, if all that is pending for
 * it fits a batch as well: their tuples are spread over the two, or over
 * three.  So leaves stay fuller than by halving, and the next leaf is written
 * where its turn would have come anyway.
 */
static FlushResult
flush_to_leaf(DrainState *state, int child)
{
	BetreeRel  *bt = state->bt;
	Page		node = BufferGetPage(state->nodebuf);
	Buffer		leafbuf;
	Buffer		nextbuf;
	bool		done = true;

	do
	{
		bool		pair = false;

		betree_gather(bt, node, child, BetreePageCapacity,
					  BETREE_BATCH_MAX_ITEMS, &state->cache, &state->batch);
		if (state->batch.nitems == 0)
		{
			/* a page fits a batch, unless its items overlap */
			if (!state->batch.complete)
				betree_report_damaged_item();
			state->empty[state->nempty++] = child;
			break;
		}
		leafbuf = betree_read_child(bt, node, child, BUFFER_LOCK_EXCLUSIVE);
		if (state->batch.complete && child + 1 < BetreeNodeNumChildren(node) &&
			!betree_leaf_fits(BufferGetPage(leafbuf), &state->batch))
		{
			betree_gather(bt, node, child + 1, BetreePageCapacity,
						  BETREE_BATCH_MAX_ITEMS, &state->cache,
						  &state->next_batch);
			pair = state->next_batch.complete;
		}
		if (pair)
		{
			nextbuf = betree_read_child(bt, node, child + 1,
										BUFFER_LOCK_EXCLUSIVE);
			pair = betree_leaf_share(bt, state->nodebuf, child, leafbuf,
									 nextbuf, &state->batch,
									 &state->next_batch);
			UnlockReleaseBuffer(nextbuf);
		}
		if (!pair)
			done = betree_leaf_merge(bt, state->nodebuf, child, leafbuf,
									 &state->batch);
		UnlockReleaseBuffer(leafbuf);
		state->budget--;

		/*
		 * What remains may belong to new leaves, which are children of their
		 * own now, with markers that say so.
		 */
	} while (done && !state->batch.complete && state->budget > 0);

	return done ? FLUSHED : NODE_FULL;
}

/*
 * Raise the markers of the children that nothing was pending for, so that the
 * next part of the drain need not look again.  The node is exclusively
 * locked, and still was when they were found.
 */
static void
pass_empty(DrainState *state)
{
	Page		node = BufferGetPage(state->nodebuf);
	EcpDelta	delta;

	if (state->nempty == 0)
		return;
	ecp_delta_begin(&delta, state->bt->rel, ECP_DELTA_BYTES);
	ecp_delta_buffer(&delta, state->nodebuf);
	START_CRIT_SECTION();
	for (int i = 0; i < state->nempty; i++)
	{
		IndexTuple	pivot = BetreeNodeGetPivot(node, state->empty[i]);

		BetreePivotSetMarker(pivot, BetreePageGetOpaque(node)->bteo_seq);
		ecp_delta_range(&delta, 0,
						(char *) &pivot->t_tid.ip_posid - (char *) node,
						sizeof(OffsetNumber));
	}
	ecp_delta_finish(&delta);
	state->nempty = 0;
	ECP_STOP_POINT("passed");
}

/* Write a batch into the tail of a child's log */
static void
append_batch(BetreeRel *bt, Buffer nodebuf, int child, Buffer tailbuf,
			 BetreeBatch *batch)
{
	Page		page = BufferGetPage(tailbuf);
	PageHeader	header = (PageHeader) page;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	LocationIndex old_upper = header->pd_upper;
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	EcpDelta	delta;

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

	betree_log_child_flush(&delta, 0, child, batch);
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
	ECP_STOP_POINT("flushed-down");
}

/*
 * A child is to be drained, since its log is full.  We have done that before
 * if it still is: then no drain of a sound node would be under way.
 */
static void
wait_for_child(DrainState *state, Buffer childbuf)
{
	BlockNumber blkno = BufferGetBlockNumber(childbuf);
	uint32		drain = BetreePageGetOpaque(BufferGetPage(childbuf))->bteo_drain;

	if (blkno == state->waited_child && drain == state->waited_drain)
		betree_report_page(state->bt, childbuf);
	state->waited_child = blkno;
	state->waited_drain = drain;
}

/*
 * Flush one child that is a node.  The node is exclusively locked; the child
 * is locked here, and what happens to it is left in "state".
 */
static FlushResult
flush_to_node(DrainState *state, int child)
{
	BetreeRel  *bt = state->bt;
	Page		node = BufferGetPage(state->nodebuf);
	BetreeBatch *batch = &state->batch;
	Buffer		childbuf = betree_read_child(bt, node, child,
											 BUFFER_LOCK_EXCLUSIVE);
	Page		childpage = BufferGetPage(childbuf);
	FlushResult result = FLUSHED;

	for (;;)
	{
		BlockNumber tailblk = betree_node_tail(childpage);
		Buffer		tailbuf = InvalidBuffer;
		int			room = 0;
		int			max_items = 0;

		if (tailblk != InvalidBlockNumber)
		{
			Page		tail;

			tailbuf = betree_read(bt, tailblk, BUFFER_LOCK_EXCLUSIVE,
								  BETREE_BUF);
			tail = BufferGetPage(tailbuf);
			room = ((PageHeader) tail)->pd_upper -
				((PageHeader) tail)->pd_lower;
			max_items = BETREE_BUF_MAX_ITEMS -
				(int) PageGetMaxOffsetNumber(tail);
		}
		betree_gather(bt, node, child, room, max_items, &state->cache, batch);
		if (batch->nitems > 0)
		{
			append_batch(bt, state->nodebuf, child, tailbuf, batch);
			state->budget--;
		}
		else if (batch->complete)
			state->empty[state->nempty++] = child;
		if (BufferIsValid(tailbuf))
			UnlockReleaseBuffer(tailbuf);
		if (batch->complete)
			break;

		/*
		 * A new tail takes at least what one page of our log holds.  There
		 * can be one at the latest when the child has been drained.
		 */
		if (batch->nitems == 0 && room == BetreePageCapacity)
			betree_report_damaged_item();
		if (batch->nitems == 0 &&
			!betree_seal(bt, childbuf, NULL, false))
		{
			result = CHILD_FULL;
			wait_for_child(state, childbuf);
			break;
		}
	}
	state->full_child = BufferGetBlockNumber(childbuf);
	state->child_drains = BetreePageGetOpaque(childpage)->bteo_drain != 0;
	UnlockReleaseBuffer(childbuf);
	return result;
}

/* Release the pins of a group */
static void
release_ahead(DrainState *state)
{
	for (int i = 0; i < state->nahead; i++)
		ReleaseBuffer(state->ahead[i]);
	state->nahead = 0;
}

/* Lock the node at the cursor; follows splits */
static void
lock_at_cursor(DrainState *state, int lockmode)
{
	BetreeKey	key;

	if (state->cursor == NULL)
	{
		LockBuffer(state->nodebuf, lockmode);
		betree_check_page(state->bt, state->nodebuf, BETREE_NODE, -1);
		return;
	}
	betree_key_from_pivot(state->bt, state->cursor, &key);
	state->nodebuf = betree_relock_node(state->bt, state->nodebuf, &key,
										state->level, lockmode);
}

/* The child that the cursor stands at; the node is locked */
static int
child_at_cursor(DrainState *state)
{
	BetreeKey	key;

	if (state->cursor == NULL)
		return 0;
	betree_key_from_pivot(state->bt, state->cursor, &key);
	return betree_node_search(state->bt, BufferGetPage(state->nodebuf), &key,
							  false);
}

static void
set_cursor(DrainState *state, IndexTuple pivot)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(GetMemoryChunkContext(state->batch.data));

	if (state->cursor != NULL)
		pfree(state->cursor);
	state->cursor = CopyIndexTuple(pivot);
	MemoryContextSwitchTo(oldcontext);
}

/* Does the child still lack something of the pages up to the target? */
static inline bool
child_lags(DrainState *state, Page node, int child)
{
	return BetreeSeqNewer(state->target,
						  BetreePivotGetMarker(BetreeNodeGetPivot(node, child)));
}

/* Read and pin the next leaves with the node unlocked */
static void
read_ahead(DrainState *state)
{
	BlockNumber blocks[GROUP_SIZE];
	int			n = 0;
	Page		node;
	int			limit = Min(Min(GROUP_SIZE, state->budget),
							state->cache.npins);

	if (state->level > 1)
		return;
	lock_at_cursor(state, BUFFER_LOCK_SHARE);
	node = BufferGetPage(state->nodebuf);
	if (BetreePageGetOpaque(node)->bteo_level == 1)
	{
		for (int child = child_at_cursor(state);
			 child < BetreeNodeNumChildren(node) && n < limit; child++)
		{
			if (!child_lags(state, node, child))
				continue;
			blocks[n] = BetreeNodeGetChild(node, child);
			betree_check_block(state->bt, blocks[n++]);
		}
	}
	LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);

	for (int i = 0; i < n; i++)
		PrefetchBuffer(state->bt->rel, MAIN_FORKNUM, blocks[i]);
	for (int i = 0; i < n; i++)
		state->ahead[state->nahead++] = ReadBuffer(state->bt->rel, blocks[i]);
}

/*
 * All children have been visited: turn the absorbed pages into spare ones.
 * The node is exclusively locked.  Returns false if some child still lacks
 * something.
 */
static bool
finish_drain(DrainState *state)
{
	BetreeRel  *bt = state->bt;
	Page		node = BufferGetPage(state->nodebuf);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	GenericXLogState *xlog;
	int			ndrop = 0;

	for (int child = 0; child < BetreeNodeNumChildren(node); child++)
	{
		if (!child_lags(state, node, child))
			continue;
		betree_gather(bt, node, child, BetreePageCapacity,
					  BETREE_BATCH_MAX_ITEMS, &state->cache, &state->batch);
		if (state->batch.nitems > 0 || !state->batch.complete)
			return false;
	}
	while (ndrop < opaque->bteo_nlog &&
		   !BetreeSeqNewer(dir[ndrop].bted_seq, state->target))
		ndrop++;
	if (ndrop == 0)
		betree_report_page(bt, state->nodebuf);

	xlog = betree_xlog_start(bt->rel);
	node = betree_xlog_page(xlog, state->nodebuf, false);
	betree_node_drop_log(node, ndrop);
	BetreePageGetOpaque(node)->bteo_drain = 0;
	BetreePageGetOpaque(node)->bteo_flags |= BETREE_DRAINED;
	betree_xlog_finish(xlog);
	ECP_STOP_POINT("dropped");
	return true;
}

typedef enum DrainStep
{
	DRAIN_CONTINUE,
	DRAIN_DONE,
	DRAIN_SPLIT,
	DRAIN_CHILD
} DrainStep;

/*
 * This node has been drained; if it has been split since we began, go on with
 * the one to its right.
 */
static DrainStep
next_node(DrainState *state)
{
	Page		node = BufferGetPage(state->nodebuf);
	BetreeKey	hikey;

	if (BetreePageGetOpaque(node)->bteo_level != state->level)
		return DRAIN_DONE;
	betree_key_from_pivot(state->bt, BetreeNodeGetHikey(node), &hikey);
	if (betree_key_compare_pivot(state->bt, &hikey, state->end) >= 0)
		return DRAIN_DONE;
	set_cursor(state, BetreeNodeGetHikey(node));
	betree_walk_step(state->bt, &state->walk, state->cursor,
					 BufferGetBlockNumber(state->nodebuf));
	return DRAIN_CONTINUE;
}

/*
 * Flush a group of children.  Takes and releases the node's lock.
 */
static DrainStep
drain_group(DrainState *state)
{
	Page		node;
	DrainStep	step = DRAIN_CONTINUE;
	int			nvisited = 0;
	int			child;

	lock_at_cursor(state, BUFFER_LOCK_EXCLUSIVE);
	node = BufferGetPage(state->nodebuf);

	if (BetreePageGetOpaque(node)->bteo_level != state->level ||
		BetreePageGetOpaque(node)->bteo_drain == 0)
	{
		step = next_node(state);
		LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);
		return step;
	}
	state->target = (uint16) BetreePageGetOpaque(node)->bteo_drain;

	for (child = child_at_cursor(state);
		 child < BetreeNodeNumChildren(node); child++)
	{
		MemoryContext oldcontext;
		FlushResult result;

		if (!child_lags(state, node, child))
			continue;
		if (nvisited >= GROUP_SIZE || state->budget <= 0)
			break;

		oldcontext = MemoryContextSwitchTo(state->context);
		result = state->level == 1 ? flush_to_leaf(state, child) :
			flush_to_node(state, child);
		MemoryContextSwitchTo(oldcontext);
		MemoryContextReset(state->context);
		nvisited++;

		if (result == NODE_FULL)
		{
			step = DRAIN_SPLIT;
			break;
		}
		if (state->level > 1 && (result == CHILD_FULL || state->child_drains))
		{
			step = DRAIN_CHILD;
			if (result == FLUSHED)
				child++;
			break;
		}
	}

	pass_empty(state);

	if (child < BetreeNodeNumChildren(node))
	{
		set_cursor(state, BetreeNodeGetPivot(node, child));
		if (step == DRAIN_CONTINUE && state->budget <= 0)
			step = DRAIN_DONE;
	}
	else if (step == DRAIN_CONTINUE && finish_drain(state))
		step = next_node(state);
	else
	{
		/* again from the first child */
		set_cursor(state, BetreeNodeGetPivot(node, 0));
		if (child_at_cursor(state) != 0)
			betree_report_order(state->bt, BufferGetBlockNumber(state->nodebuf));
	}
	LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);
	return step;
}

/*
 * Make room in the node at the cursor, which was full.  If the tree has
 * another node there, ours must have been split since, and lead to that.
 */
static void
split_at_cursor(DrainState *state)
{
	BlockNumber full = BufferGetBlockNumber(state->nodebuf);
	BetreeKey	key;

	betree_key_from_pivot(state->bt, state->cursor, &key);
	if (betree_split_node(state->bt, &key, state->level) == full)
		return;
	lock_at_cursor(state, BUFFER_LOCK_SHARE);
	if (BufferGetBlockNumber(state->nodebuf) == full)
		betree_report_page(state->bt, state->nodebuf);
	LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);
}

/*
 * betree_drain
 *		Go on with the drain of a node, if one is under way.
 *
 * The caller holds no lock.  "budget" bounds the batches that are moved, here
 * and in the drains of children, 0 for all.  Returns what is left of it, or 0.
 */
int
betree_drain(BetreeRel *bt, BlockNumber blkno, int level, int budget)
{
	DrainState	state = {0};
	MemoryContext drain_context;
	MemoryContext oldcontext;
	DrainStep	step;

	drain_context = AllocSetContextCreate(CurrentMemoryContext, "betree drain",
										  ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(drain_context);
	state.bt = bt;
	state.level = level;
	state.budget = budget > 0 ? budget : INT_MAX;
	state.context = AllocSetContextCreate(drain_context, "betree flush",
										  ALLOCSET_DEFAULT_SIZES);
	betree_batch_init(&state.batch, 1);
	betree_batch_init(&state.next_batch, 1);
	betree_logcache_init(&state.cache);
	betree_walk_begin(&state.walk, drain_context);
	state.waited_child = InvalidBlockNumber;
	state.nodebuf = ReadBuffer(bt->rel, blkno);

	/* the target, for the first look ahead */
	LockBuffer(state.nodebuf, BUFFER_LOCK_SHARE);
	betree_check_page(bt, state.nodebuf, BETREE_NODE, -1);
	state.target = (uint16) BetreePageGetOpaque(BufferGetPage(state.nodebuf))->bteo_drain;
	state.end = CopyIndexTuple(BetreeNodeGetHikey(BufferGetPage(state.nodebuf)));
	LockBuffer(state.nodebuf, BUFFER_LOCK_UNLOCK);

	do
	{
		CHECK_FOR_INTERRUPTS();

		read_ahead(&state);
		step = drain_group(&state);
		release_ahead(&state);
		if (step == DRAIN_SPLIT)
			split_at_cursor(&state);
		else if (step == DRAIN_CHILD)
		{
			state.budget = betree_drain(bt, state.full_child, level - 1,
										Max(state.budget, 1));
			if (state.budget <= 0)
				step = DRAIN_DONE;
		}
	} while (step != DRAIN_DONE);

	betree_logcache_release(&state.cache);
	ReleaseBuffer(state.nodebuf);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(drain_context);
	return Max(state.budget, 0);
}

/*
 * Seal what the tail of a node holds, and let a drain go for all of the log.
 * The node is exclusively locked.  Returns false if the tail could not be
 * sealed: it can when what the log holds has been drained.
 */
static bool
drain_tail(BetreeRel *bt, Buffer nodebuf)
{
	BlockNumber tailblk = betree_node_tail(BufferGetPage(nodebuf));
	bool		done = true;

	if (tailblk != InvalidBlockNumber)
	{
		Buffer		tailbuf = betree_read(bt, tailblk, BUFFER_LOCK_EXCLUSIVE,
										  BETREE_BUF);
		bool		empty = PageGetMaxOffsetNumber(BufferGetPage(tailbuf)) == 0;

		UnlockReleaseBuffer(tailbuf);
		if (!empty)
			done = betree_seal(bt, nodebuf, NULL, true);
	}
	betree_set_drain(bt, nodebuf);
	return done;
}

/*
 * betree_flush_all
 *		Move everything that is buffered now down to the leaves.
 *
 * Level by level from the top, each in key order.
 */
void
betree_flush_all(BetreeRel *bt)
{
	Buffer		rootbuf = betree_read(bt, BETREE_ROOT_BLKNO, BUFFER_LOCK_SHARE,
									  BETREE_NODE);
	int			height = BetreePageGetOpaque(BufferGetPage(rootbuf))->bteo_level;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "betree flush all",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	UnlockReleaseBuffer(rootbuf);
	for (int level = height; level >= 1; level--)
	{
		IndexTuple	cursor = betree_pivot_infinite(false);
		BetreeWalk	walk = {0};

		betree_walk_begin(&walk, context);
		while (BetreePivotGetNatts(cursor) != BETREE_NATTS_PLUSINF)
		{
			BetreeKey	key;
			Buffer		nodebuf;
			BlockNumber blkno;
			bool		sealed;
			bool		pending;

			CHECK_FOR_INTERRUPTS();

			betree_key_from_pivot(bt, cursor, &key);
			nodebuf = betree_descend(bt, &key, false, level,
									 BUFFER_LOCK_EXCLUSIVE);
			blkno = BufferGetBlockNumber(nodebuf);
			sealed = drain_tail(bt, nodebuf);
			pending = BetreePageGetOpaque(BufferGetPage(nodebuf))->bteo_drain != 0;
			if (sealed)
			{
				cursor = CopyIndexTuple(BetreeNodeGetHikey(BufferGetPage(nodebuf)));
				betree_walk_step(bt, &walk, cursor, blkno);
			}
			UnlockReleaseBuffer(nodebuf);
			if (pending)
				(void) betree_drain(bt, blkno, level, 0);
		}
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}
