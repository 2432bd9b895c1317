/*-------------------------------------------------------------------------
 *
 * betree_drain.c
 *	  Draining a node: moving the messages of its log down to its children.
 *
 * A drain absorbs the log up to a number, bteo_drain, that a seal has put
 * into the node.  It visits the children in key order, and takes for each all
 * that is pending in the sealed pages (betree_log_gather), as one batch and
 * one record; the pages of the log themselves are not written.  When every
 * child has what the pages up to the number hold, they become spare.
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
 * flush finds out under the node's lock what is pending.  So the backend that
 * started a drain need not finish it: each insert into the node does a part
 * of it, which the budget bounds (flush_budget), and the markers tell the
 * next one where to go on.
 *
 * A drain ends, whatever the options were when a node was made.  Each round moves
 * a batch, raises a marker, splits a node, or finishes the drain of a child that
 * cannot take a batch; messages only move down, so of the first three there are
 * finitely many, and the last is a drain one level below.  It remains to show that
 * the log of a child can take a batch after its drain, that is, that a seal can
 * give it an empty tail.  betree_log_seal() refuses only a log that is full, or
 * whose oldest page is too old, and sees to it that a drain of it is under way: a
 * seal need not have started one, since a split may have made the directory shorter
 * than the log that starts one.  That drain turns at least one sealed page into a
 * spare one, which the next seal takes.  A full directory without any sealed page
 * holds filter pages, which a split gives to one half in whatever number they are;
 * while the log is empty they cover nothing, and betree_log_seal() frees as many as
 * leave the log BETREE_NCAP_MIN entries.  (Bloom pages come only where they leave as
 * many.)  No node is made with fewer, and a split half has at least what its node
 * had: the pivots that it lost made room.  A directory that is still full must be
 * damaged, and is reported.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "base/block_stream.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/leaf/betree_leaf.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
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
	IndexTuple	cursor;			/* lower bound of the next child */
	IndexTuple	end;			/* high key of the node when we began */
	BetreeWalk	walk;			/* over the nodes that it was split into */
	uint16		target;			/* drain up to this number */
	int		   *budget;			/* batches that may still be moved */
	int			empty[GROUP_SIZE];	/* children that nothing was pending for */
	int			nempty;
	BlockNumber flushed_child;	/* the last one, if it is a node */
	bool		child_drains;	/* a drain of it is under way */
	BlockNumber full_child;		/* the last child that was drained because it */
	uint32		full_drain;		/* had no room, and the number of that drain */
	XLogRecPtr	full_lsn;		/* of the node that was full */
	BetreeLogCache cache;
	BetreeBatch batch;
	BetreeBatch next_batch;		/* of the next leaf, see flush_to_leaf */
	Buffer		ahead[GROUP_SIZE];
	int			nahead;
	MemoryContext context;		/* reset for each child */
} DrainState;

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

		betree_log_gather(bt, node, child, BetreePageCapacity,
						  BETREE_BATCH_MAX_ITEMS, &state->cache, &state->batch);
		if (state->batch.nitems == 0)
		{
			/* a page fits a batch, unless its items overlap */
			if (!state->batch.complete)
				betree_page_report_item(node);
			state->empty[state->nempty++] = child;
			break;
		}
		leafbuf = betree_block_read_child(bt->rel, node, child, BUFFER_LOCK_EXCLUSIVE);
		if (!betree_leaf_fits(BufferGetPage(leafbuf), &state->batch))
			betree_purge_leaf(bt, leafbuf, &state->batch);
		if (state->batch.complete && child + 1 < BetreeNodeNumChildren(node) &&
			betree_node_same_tail(node, child) &&
			!betree_leaf_fits(BufferGetPage(leafbuf), &state->batch))
		{
			betree_log_gather(bt, node, child + 1, BetreePageCapacity,
							  BETREE_BATCH_MAX_ITEMS, &state->cache,
							  &state->next_batch);
			pair = state->next_batch.complete;
		}
		if (pair)
		{
			nextbuf = betree_block_read_child(bt->rel, node, child + 1,
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
		(*state->budget)--;

		/*
		 * What remains may belong to new leaves, which are children of their
		 * own now, with markers that say so.
		 */
	} while (done && !state->batch.complete && *state->budget > 0);

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
	Assert(state->nempty <= GROUP_SIZE);

	ecp_delta_begin(&delta, state->bt->rel, ECP_DELTA_BYTES, state->nodebuf, InvalidBuffer);
	for (int i = 0; i < state->nempty; i++)
	{
		IndexTuple	pivot = BetreeNodeGetPivot(node, state->empty[i]);

		BetreePivotSetMarker(pivot, BetreePageGetOpaque(node)->bteo_seq);
		ecp_delta_field(&delta, 0, pivot->t_tid.ip_posid);
	}
	ecp_delta_finish(&delta);
	state->nempty = 0;
	ECP_STOP_POINT("passed");
}

/*
 * A child must be drained because its log is full.  If we have come here for the
 * same drain of the same child before, draining does not help: it is damaged.
 */
static void
note_full_child(DrainState *state, Buffer childbuf)
{
	BlockNumber blkno = BufferGetBlockNumber(childbuf);
	uint32		drain = BetreePageGetOpaque(BufferGetPage(childbuf))->bteo_drain;

	if (blkno == state->full_child && drain == state->full_drain)
		betree_block_report(state->bt->rel, childbuf);
	state->full_child = blkno;
	state->full_drain = drain;
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
	Buffer		childbuf = betree_block_read_child(bt->rel, node, child,
												   BUFFER_LOCK_EXCLUSIVE);
	Page		childpage = BufferGetPage(childbuf);
	FlushResult result = FLUSHED;

	for (;;)
	{
		Buffer		tailbuf = InvalidBuffer;
		int			room = 0;
		int			max_items = 0;

		/* several tails, each for a part of the batch, are sealed first */
		if (betree_node_ntails(childpage) == 1)
		{
			int			at = BetreePageGetOpaque(childpage)->bteo_nlog;
			Page		tail;

			tailbuf = betree_block_read(bt->rel, BetreeNodeGetDir(childpage)[at].bted_block,
										BUFFER_LOCK_EXCLUSIVE, BETREE_LOG);
			tail = BufferGetPage(tailbuf);
			room = ((PageHeader) tail)->pd_upper -
				((PageHeader) tail)->pd_lower;
			max_items = BETREE_LOG_PAGE_MAX_ITEMS -
				betree_page_nitems(tail);
		}
		betree_log_gather(bt, node, child, room, max_items, &state->cache, batch);
		if (batch->nitems > 0)
		{
			betree_log_append_batch(bt, state->nodebuf, child, tailbuf, batch);
			(*state->budget)--;
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
			betree_page_report_item(node);
		if (batch->nitems == 0 &&
			!betree_log_seal(bt, childbuf, true))
		{
			result = CHILD_FULL;
			note_full_child(state, childbuf);
			break;
		}
	}
	state->flushed_child = BufferGetBlockNumber(childbuf);
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

/* Lock the node at the cursor; follows splits and merges */
static void
lock_at_cursor(DrainState *state, int lockmode)
{
	BetreeKey	key;

	Assert(state->cursor != NULL);
	betree_key_from_pivot(state->bt, state->cursor, &key);
	state->nodebuf = betree_descend_relock(state->bt, state->nodebuf, &key,
										   state->level, lockmode);
}

/* The child that the cursor stands at; the node is locked */
static int
child_at_cursor(DrainState *state)
{
	BetreeKey	key;

	betree_key_from_pivot(state->bt, state->cursor, &key);
	return betree_key_search_node(state->bt, BufferGetPage(state->nodebuf), &key,
								  false);
}

static void
set_cursor(DrainState *state, IndexTuple pivot)
{
	if (state->cursor != NULL)
		pfree(state->cursor);
	state->cursor = betree_image_copy(state->walk.context, pivot);
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
	EcpBlockList list = {.blocks = blocks};
	EcpBlockStream *stream;
	int			n = 0;
	Page		node;
	int			limit = Min(Min(GROUP_SIZE, *state->budget),
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
			betree_block_verify(state->bt->rel, blocks[n++]);
		}
	}
	LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);

	if (n == 0)
		return;
	list.nblocks = n;
	stream = ecp_block_stream_begin(state->bt->rel, NULL, ecp_block_stream_list,
									&list);
	while (n-- > 0)
		state->ahead[state->nahead++] = ecp_block_stream_next(stream);
	ecp_block_stream_end(stream);
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

	Assert(opaque->bteo_drain != 0);

	for (int child = 0; child < BetreeNodeNumChildren(node); child++)
	{
		if (!child_lags(state, node, child))
			continue;
		betree_log_gather(bt, node, child, BetreePageCapacity,
						  BETREE_BATCH_MAX_ITEMS, &state->cache, &state->batch);
		if (state->batch.nitems > 0 || !state->batch.complete)
			return false;
	}
	while (ndrop < opaque->bteo_nlog &&
		   !BetreeSeqNewer(dir[ndrop].bted_seq, state->target))
		ndrop++;
	if (ndrop == 0)
		betree_block_report(bt->rel, state->nodebuf);

	xlog = GenericXLogStart(bt->rel);
	node = GenericXLogRegisterBuffer(xlog, state->nodebuf, 0);
	betree_node_drop_log(node, ndrop);
	BetreePageGetOpaque(node)->bteo_drain = 0;
	BetreePageGetOpaque(node)->bteo_flags |= BETREE_DRAINED;
	GenericXLogFinish(xlog);
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

	Assert(state->end != NULL);

	if (BetreePageGetOpaque(node)->bteo_level != state->level)
		return DRAIN_DONE;
	betree_key_from_pivot(state->bt, BetreeNodeGetHikey(node), &hikey);
	if (betree_key_compare_pivot(state->bt, &hikey, state->end) >= 0)
		return DRAIN_DONE;
	set_cursor(state, BetreeNodeGetHikey(node));
	betree_walk_step(state->bt->rel, &state->walk, state->cursor,
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
	betree_log_check_order(node);

	for (child = child_at_cursor(state);
		 child < BetreeNodeNumChildren(node); child++)
	{
		MemoryContext oldcontext;
		FlushResult result;

		if (!child_lags(state, node, child))
			continue;
		if (nvisited >= GROUP_SIZE || *state->budget <= 0)
			break;

		oldcontext = MemoryContextSwitchTo(state->context);
		result = state->level == 1 ? flush_to_leaf(state, child) :
			flush_to_node(state, child);
		MemoryContextSwitchTo(oldcontext);
		MemoryContextReset(state->context);
		nvisited++;

		if (result == NODE_FULL)
		{
			state->full_lsn = PageGetLSN(node);
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
		if (step == DRAIN_CONTINUE && *state->budget <= 0)
			step = DRAIN_DONE;
	}
	else if (step == DRAIN_CONTINUE && finish_drain(state))
		step = next_node(state);
	else
	{
		/* again from the first child */
		set_cursor(state, BetreeNodeGetPivot(node, 0));
		if (child_at_cursor(state) != 0)
			betree_block_report_order(state->bt->rel, BufferGetBlockNumber(state->nodebuf));
	}
	LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);
	return step;
}

/*
 * Make room in the node at the cursor, which was full.  If the tree has
 * another node there, ours must have been changed since, and lead to that.
 */
static void
split_at_cursor(DrainState *state)
{
	BlockNumber full = BufferGetBlockNumber(state->nodebuf);
	BetreeKey	key;

	Assert(state->cursor != NULL);

	betree_key_from_pivot(state->bt, state->cursor, &key);
	if (betree_split_node(state->bt, &key, state->level) == full)
		return;
	lock_at_cursor(state, BUFFER_LOCK_SHARE);
	if (BufferGetBlockNumber(state->nodebuf) == full &&
		PageGetLSN(BufferGetPage(state->nodebuf)) == state->full_lsn)
		betree_block_report(state->bt->rel, state->nodebuf);
	LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);
}

/*
 * Take hold of the node and its beginning.  Returns false if it is not what it
 * was: the root may have grown, or VACUUM have freed the node, which had
 * nothing in its log.
 */
static bool
begin_drain(DrainState *state, BlockNumber blkno)
{
	Page		node;
	bool		valid;

	state->nodebuf = ReadBuffer(state->bt->rel, blkno);
	LockBuffer(state->nodebuf, BUFFER_LOCK_SHARE);
	node = BufferGetPage(state->nodebuf);
	valid = BetreePageGetOpaque(node)->bteo_kind == BETREE_NODE &&
		BetreePageGetOpaque(node)->bteo_level == state->level;
	if (valid)
	{
		betree_block_verify_page(state->bt->rel, state->nodebuf, BETREE_NODE, -1);
		/* for the first look ahead */
		state->target = (uint16) BetreePageGetOpaque(node)->bteo_drain;
		set_cursor(state, BetreeNodeGetPivot(node, 0));
		state->end = CopyIndexTuple(BetreeNodeGetHikey(node));
	}
	LockBuffer(state->nodebuf, BUFFER_LOCK_UNLOCK);
	return valid;
}

/*
 * betree_drain_node
 *		Go on with the drain of a node, if one is under way.
 *
 * The caller holds no lock.  At most "*budget" batches are moved, here and in
 * the drains of children; what is left of it is returned there.
 */
void
betree_drain_node(BetreeRel *bt, BlockNumber blkno, int level, int *budget)
{
	DrainState	state = {0};
	MemoryContext drain_context;
	MemoryContext oldcontext;
	DrainStep	step;

	Assert(level >= 1 && level < BETREE_MAX_HEIGHT);
	Assert(*budget > 0);

	drain_context = AllocSetContextCreate(CurrentMemoryContext, "betree drain",
										  ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(drain_context);
	state.bt = bt;
	state.level = level;
	state.budget = budget;
	state.context = AllocSetContextCreate(drain_context, "betree flush",
										  ALLOCSET_DEFAULT_SIZES);
	betree_log_batch_init(&state.batch, 1);
	betree_log_batch_init(&state.next_batch, 1);
	betree_log_cache_init(&state.cache);
	betree_walk_begin(&state.walk, drain_context);
	state.full_child = InvalidBlockNumber;

	ECP_STOP_POINT("drain");
	step = begin_drain(&state, blkno) ? DRAIN_CONTINUE : DRAIN_DONE;
	while (step != DRAIN_DONE)
	{
		CHECK_FOR_INTERRUPTS();

		read_ahead(&state);
		step = drain_group(&state);
		release_ahead(&state);
		ECP_STOP_POINT("drain-group");
		if (step == DRAIN_SPLIT)
		{
			ECP_STOP_POINT("drain-split");
			split_at_cursor(&state);
		}
		else if (step == DRAIN_CHILD)
		{
			/* a drain that a flush has started makes at least one step */
			*budget = Max(*budget, 1);
			betree_drain_node(bt, state.flushed_child, level - 1, budget);
			if (*budget <= 0)
				step = DRAIN_DONE;
		}
	}

	betree_log_cache_release(&state.cache);
	ReleaseBuffer(state.nodebuf);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(drain_context);
}

/*
 * Seal what the tails of a node hold, and start a drain of all of the log.
 * The node is exclusively locked.  Returns false if the tails could not be
 * sealed: they can when what the log holds has been drained.
 */
static bool
seal_and_start_drain(BetreeRel *bt, Buffer nodebuf)
{
	Page		node = BufferGetPage(nodebuf);
	int			nlog = BetreePageGetOpaque(node)->bteo_nlog;
	int			ntails = betree_node_ntails(node);
	bool		empty = true;
	bool		done = true;

	for (int i = 0; i < ntails && empty; i++)
	{
		Buffer		tailbuf = betree_block_read(bt->rel,
												BetreeNodeGetDir(node)[nlog + i].bted_block,
												BUFFER_LOCK_EXCLUSIVE, BETREE_LOG);

		empty = betree_page_nitems(BufferGetPage(tailbuf)) == 0;
		UnlockReleaseBuffer(tailbuf);
	}
	if (!empty)
		done = betree_log_seal(bt, nodebuf, true);
	betree_log_set_drain(bt, nodebuf);
	return done;
}

/*
 * betree_drain_all
 *		Move all messages that are in logs now down to the leaves.
 *
 * Level by level from the top, each in key order.
 */
void
betree_drain_all(BetreeRel *bt)
{
	int			height = betree_descend_height(bt);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "betree flush all",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	for (int level = height; level >= 1; level--)
	{
		BetreeLevelWalk nodes;
		Buffer		nodebuf;

		betree_walk_level(&nodes, level);
		while ((nodebuf = betree_walk_node(bt, &nodes, BUFFER_LOCK_EXCLUSIVE)) != InvalidBuffer)
		{
			BlockNumber blkno = BufferGetBlockNumber(nodebuf);
			bool		sealed = seal_and_start_drain(bt, nodebuf);
			bool		pending = BetreePageGetOpaque(BufferGetPage(nodebuf))->bteo_drain != 0;
			int			budget = BETREE_BUDGET_ALL;

			if (sealed)
				betree_walk_past(bt, &nodes, nodebuf);
			UnlockReleaseBuffer(nodebuf);
			if (pending)
				betree_drain_node(bt, blkno, level, &budget);
		}
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}
