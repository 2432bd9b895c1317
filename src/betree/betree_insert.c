/*-------------------------------------------------------------------------
 *
 * betree_insert.c
 *	  aminsert: put a message into the log of a node.
 *
 * An insert goes down to the topmost node that owns a log, appends the tuple
 * to the tail, and is done: no leaf is read.  When the tail is full, it is
 * sealed and a new tail takes its place (betree_log.c).  The seal that
 * completes log_pages pages starts a drain, which moves the messages down
 * child by child (betree_drain.c): each insert into the node goes on with it,
 * by flush_budget leaves at most.
 *
 * If a log cannot take another page, because drains fail or cannot keep up,
 * the tuple goes into its leaf directly.  That is always legal: messages
 * commute.  An insert waits for nothing but content locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* One of this many inserts that find a log full tries to drain it */
#define DRAIN_ATTEMPTS	64

/*
 * Append with the node exclusively locked, sealing its tail if that is full.
 * Unlocks the node.  Returns false if the log can take no more; "*drain" says
 * that the caller should go on with a drain.
 */
static bool
append_or_seal(BetreeRel *bt, Buffer nodebuf, IndexTuple itup, bool *drain)
{
	BlockNumber tailblk = betree_node_tail(BufferGetPage(nodebuf));
	bool		done = false;

	*drain = false;
	if (tailblk != InvalidBlockNumber)
	{
		Buffer		tailbuf = betree_block_read(bt, tailblk, BUFFER_LOCK_EXCLUSIVE,
												BETREE_LOG);

		/* another backend may have sealed it since we looked */
		if (betree_log_tail_has_room(BufferGetPage(tailbuf), itup))
		{
			betree_log_append(bt, tailbuf, itup);
			done = true;
		}
		UnlockReleaseBuffer(tailbuf);
	}
	if (!done)
	{
		BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));

		done = betree_log_seal(bt, nodebuf, itup);
		*drain = opaque->bteo_drain != 0 &&
			(bt->inserts_drain ||
			 opaque->bteo_drain == opaque->bteo_seq ||
			 opaque->bteo_nlog >= opaque->bteo_ncap - 2 -
			 betree_node_nfilters(BufferGetPage(nodebuf)));
	}
	LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
	return done;
}

/* Lock child "child" of a node of level 1, and say which it is */
static Buffer
lock_leaf(BetreeRel *bt, Page node, BetreeKey *key, int *child)
{
	*child = betree_key_search_node(bt, node, key, false);
	return betree_block_read_child(bt, node, *child, BUFFER_LOCK_EXCLUSIVE);
}

/* Insert a tuple into its leaf, past all logs */
static void
insert_leaf(BetreeRel *bt, IndexTuple itup)
{
	BetreeKey	key;
	BetreeSortItem item;
	BetreeBatch batch = {0};
	bool		done = false;

	betree_key_item_init(bt, &item, itup, 0);
	batch.nitems = 1;
	batch.space = BetreeTupleSpace(itup);
	batch.items = &item;
	betree_key_from_tuple(bt, itup, &key);

	while (!done)
	{
		Buffer		nodebuf;
		Buffer		leafbuf;
		int			child;

		CHECK_FOR_INTERRUPTS();

		nodebuf = betree_descend(bt, &key, false, 1, BUFFER_LOCK_SHARE,
								 NULL, NULL);
		leafbuf = lock_leaf(bt, BufferGetPage(nodebuf), &key, &child);
		LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
		done = betree_leaf_merge(bt, InvalidBuffer, child, leafbuf, &batch);
		UnlockReleaseBuffer(leafbuf);
		if (done)
		{
			ReleaseBuffer(nodebuf);
			break;
		}

		/* the leaf must split: that takes the node */
		nodebuf = betree_descend_relock(bt, nodebuf, &key, 1,
										BUFFER_LOCK_EXCLUSIVE);
		leafbuf = lock_leaf(bt, BufferGetPage(nodebuf), &key, &child);
		done = betree_leaf_merge(bt, nodebuf, child, leafbuf, &batch);
		UnlockReleaseBuffer(leafbuf);
		UnlockReleaseBuffer(nodebuf);
		if (!done)
			(void) betree_split_node(bt, &key, 1);
	}
}

/* Append the tuple to a log, and take part in a drain of that */
static void
insert_message(BetreeRel *bt, IndexTuple itup)
{
	BetreeKey	key;
	Buffer		nodebuf;
	Page		node;
	BlockNumber nodeblk;
	BlockNumber tailblk;
	int			level;
	int			budget = bt->flush_budget;
	bool		appended = false;
	bool		drain;

	betree_key_from_tuple(bt, itup, &key);
	nodebuf = betree_descend(bt, &key, false, bt->log_levels,
							 BUFFER_LOCK_SHARE, NULL, NULL);
	nodeblk = BufferGetBlockNumber(nodebuf);
	node = BufferGetPage(nodebuf);
	level = BetreePageGetOpaque(node)->bteo_level;
	drain = bt->inserts_drain && BetreePageGetOpaque(node)->bteo_drain != 0;

	/*
	 * A seal or a split of the node needs the lock on its tail.  So once we
	 * have that, the node can be released.
	 */
	tailblk = betree_node_tail(node);
	if (tailblk != InvalidBlockNumber)
	{
		Buffer		tailbuf = betree_block_read(bt, tailblk, BUFFER_LOCK_EXCLUSIVE,
												BETREE_LOG);

		LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
		if (betree_log_tail_has_room(BufferGetPage(tailbuf), itup))
		{
			betree_log_append(bt, tailbuf, itup);
			appended = true;
		}
		UnlockReleaseBuffer(tailbuf);
	}
	else
		LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);

	if (!appended)
	{
		nodebuf = betree_descend_relock(bt, nodebuf, &key, level,
										BUFFER_LOCK_EXCLUSIVE);
		nodeblk = BufferGetBlockNumber(nodebuf);
		if (!append_or_seal(bt, nodebuf, itup, &drain))
		{
			insert_leaf(bt, itup);
			drain = pg_prng_uint64_range(&pg_global_prng_state, 0,
										 DRAIN_ATTEMPTS - 1) == 0;
		}
	}
	ReleaseBuffer(nodebuf);
	if (drain)
		betree_drain_node(bt, nodeblk, level, &budget);
}

/* Insert one tuple, where it belongs by the options */
static void
enter_and_insert(BetreeRel *bt, IndexTuple itup)
{
	BetreeEntry entry;

	betree_entry_begin(&entry, bt->rel);
	PG_TRY();
	{
		if (bt->log_pages > 0)
			insert_message(bt, itup);
		else
			insert_leaf(bt, itup);
	}
	PG_FINALLY();
	{
		betree_entry_end(&entry);
	}
	PG_END_TRY();
}

/* What aminsert keeps from one row to the next */
typedef struct BetreeInsertState
{
	MemoryContext context;		/* reset for each row */
} BetreeInsertState;

/* aminsert */
bool
betreeinsert(Relation rel, Datum *values, bool *isnull, ItemPointer ht_ctid,
			 Relation heapRel, IndexUniqueCheck checkUnique,
			 bool indexUnchanged, IndexInfo *indexInfo)
{
	BetreeInsertState *state = (BetreeInsertState *) indexInfo->ii_AmCache;
	MemoryContext oldcontext;
	BetreeRel	bt;
	IndexTuple	itup;

	if (state == NULL)
	{
		state = MemoryContextAlloc(indexInfo->ii_Context,
								   sizeof(BetreeInsertState));
		state->context = AllocSetContextCreate(indexInfo->ii_Context,
											   "betree insert",
											   ALLOCSET_DEFAULT_SIZES);
		indexInfo->ii_AmCache = state;
	}
	oldcontext = MemoryContextSwitchTo(state->context);

	betree_rel_open(&bt, rel);
	itup = betree_key_form_tuple(&bt, values, isnull, ht_ctid, heapRel);
	enter_and_insert(&bt, itup);

	MemoryContextSwitchTo(oldcontext);
	MemoryContextReset(state->context);
	return false;
}
