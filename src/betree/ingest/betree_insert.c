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
 * Tuples that belong to the last leaves of the index, as those with ascending keys
 * do, go there directly: they meet the same leaf again and again, so that to
 * collect them would only cost a second writing.
 *
 * If a log cannot take another page, because drains fail or cannot keep up,
 * the tuple goes into its leaf directly.  That is always legal: messages
 * commute.  An insert waits for nothing but content locks, unless the index is
 * unique: then it looks for other rows with its key first (betree_unique.c),
 * and may have to wait for a transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/xact.h"
#include "base/core.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/leaf/betree_leaf.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* One of this many inserts that find a log full tries to drain it */
#define DRAIN_ATTEMPTS	64

/*
 * Rows that a tail takes at a time, if there are many: the header of a record of four
 * tails is then a hundredth of it
 */
#define TURN_ROWS	32

/* The directory entry of the tail of a locked node, which has some, for this key */
static int
tail_of_key(BetreeRel *bt, Page node, BetreeKey *key)
{
	int			child = 0;

	if (betree_node_ntails(node) > 1)
		child = betree_key_search_node(bt, node, key, false);
	return betree_node_tail_of(node, child);
}

/* Lock it */
static Buffer
lock_tail(BetreeRel *bt, Page node, int at)
{
	return betree_block_read(bt->rel, BetreeNodeGetDir(node)[at].bted_block,
							 BUFFER_LOCK_EXCLUSIVE, BETREE_LOG);
}

/*
 * Tell serializable transactions that have read where a tuple goes, by the child
 * of the locked node that takes it, or is its leaf's parent, and by its key; fails
 * if one of them and this one cannot both succeed.  With the page locked that
 * takes the tuple, or the node exclusively: then later readers meet the tuple.
 */
static void
check_conflict(BetreeRel *bt, Page node, BetreeKey *key, IndexTuple itup)
{
	BetreeHash *hash;

	if (!IsolationIsSerializable())
		return;
	CheckForSerializableConflictIn(bt->rel, NULL,
								   BetreeNodeGetChild(node,
													  betree_key_search_node(bt, node, key, false)));
	hash = betree_hash_get(bt);
	if (hash != NULL)
		CheckForSerializableConflictIn(bt->rel, NULL,
									   BetreeHashGetLockBlock(betree_hash_tuple(bt, hash, itup)));
}

/* Can one more tuple be appended to a locked tail? */
static inline bool
has_room(Buffer tailbuf, IndexTuple itup)
{
	return betree_log_tail_has_room(BufferGetPage(tailbuf), 1, MAXALIGN(IndexTupleSize(itup)));
}

/* Append one tuple, for which there is room, to an exclusively locked tail */
static void
append_one(BetreeRel *bt, Buffer tailbuf, IndexTuple itup)
{
	BetreeSortItem item = {.itup = itup};
	BetreeAppend tail = {tailbuf, &item, 1, MAXALIGN(IndexTupleSize(itup))};

	betree_append_rows(bt, &tail, 1);
}

/* Append to a tail of an exclusively locked node, if there is one, and room */
static bool
append(BetreeRel *bt, Buffer nodebuf, BetreeKey *key, IndexTuple itup)
{
	Page		node = BufferGetPage(nodebuf);
	Buffer		tailbuf;
	bool		done;

	if (betree_node_ntails(node) == 0)
		return false;
	tailbuf = lock_tail(bt, node, tail_of_key(bt, node, key));
	if (!has_room(tailbuf, itup))
		betree_purge_tail(bt, tailbuf);
	done = has_room(tailbuf, itup);
	if (done)
		append_one(bt, tailbuf, itup);
	UnlockReleaseBuffer(tailbuf);
	return done;
}

/*
 * Append with the node exclusively locked, sealing its tails if the one is full.
 * Returns false if the log can take no more; "*drain" says that the caller
 * should go on with a drain.
 */
static bool
append_or_seal(BetreeRel *bt, Buffer nodebuf, BetreeKey *key, IndexTuple itup,
			   bool *drain)
{
	bool		done;

	*drain = false;
	check_conflict(bt, BufferGetPage(nodebuf), key, itup);
	/* there was room, or another backend may have sealed since we looked */
	done = append(bt, nodebuf, key, itup);
	if (!done)
	{
		BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));

		if (betree_log_seal(bt, nodebuf, false))
			done = append(bt, nodebuf, key, itup);
		*drain = opaque->bteo_drain != 0 &&
			(bt->inserts_drain ||
			 opaque->bteo_drain == opaque->bteo_seq ||
			 opaque->bteo_nlog >=
			 betree_node_log_capacity(BufferGetPage(nodebuf)) - BETREE_TAILS_MAX);
	}
	return done;
}

/* Lock child "child" of a node of level 1, and say which it is */
static Buffer
lock_leaf(BetreeRel *bt, Page node, BetreeKey *key, int *child)
{
	*child = betree_key_search_node(bt, node, key, false);
	return betree_block_read_child(bt->rel, node, *child, BUFFER_LOCK_EXCLUSIVE);
}

/* Let a batch be one tuple, which "item" is to hold */
static void
batch_of_one(BetreeRel *bt, BetreeBatch *batch, BetreeSortItem *item,
			 IndexTuple itup)
{
	betree_key_item_init(bt, item, itup, 0);
	memset(batch, 0, sizeof(BetreeBatch));
	batch->nitems = 1;
	batch->space = BetreeTupleSpace(itup);
	batch->items = item;
}

/*
 * Insert a tuple into its leaf, below an exclusively locked node that it
 * belongs to.  Returns false if the leaf's parent must be split first.
 */
static bool
insert_below(BetreeRel *bt, Buffer nodebuf, BetreeKey *key, BetreeBatch *batch)
{
	Buffer		buf = nodebuf;
	Buffer		leafbuf;
	int			child;
	bool		done;

	while (BetreePageGetOpaque(BufferGetPage(buf))->bteo_level > 1)
	{
		Page		node = BufferGetPage(buf);
		Buffer		childbuf = betree_block_read_child(bt->rel, node,
													   betree_key_search_node(bt, node, key, false),
													   BUFFER_LOCK_EXCLUSIVE);

		if (buf != nodebuf)
			UnlockReleaseBuffer(buf);
		buf = childbuf;
	}
	leafbuf = lock_leaf(bt, BufferGetPage(buf), key, &child);
	check_conflict(bt, BufferGetPage(buf), key, batch->items[0].itup);
	if (!betree_leaf_fits(BufferGetPage(leafbuf), batch))
		betree_purge_leaf(bt, leafbuf, batch);
	done = betree_leaf_merge(bt, buf, child, leafbuf, batch);
	UnlockReleaseBuffer(leafbuf);
	if (buf != nodebuf)
		UnlockReleaseBuffer(buf);
	return done;
}

/*
 * Insert a tuple into its leaf, one of the last ones of the index, without
 * writing their parent, which is locked.  Returns false if that must be written;
 * "*last" says that the leaf is the last one.
 */
static bool
insert_at_end(BetreeRel *bt, Buffer nodebuf, BetreeKey *key, IndexTuple itup,
			  bool *last)
{
	Page		node = BufferGetPage(nodebuf);
	int			child = betree_key_search_node(bt, node, key, false);
	Buffer		leafbuf;
	bool		done;

	*last = child == BetreeNodeNumChildren(node) - 1;
	if (betree_bloom_has_slot(bt, node, BetreeNodeGetChild(node, child)))
		return false;
	leafbuf = betree_block_read_child(bt->rel, node, child, BUFFER_LOCK_EXCLUSIVE);
	check_conflict(bt, node, key, itup);
	done = betree_place_insert(bt, leafbuf, itup, *last);
	UnlockReleaseBuffer(leafbuf);
	return done;
}

/* Insert a tuple into its leaf, past all logs */
static void
insert_leaf(BetreeRel *bt, IndexTuple itup)
{
	BetreeKey	key;
	BetreeSortItem item;
	BetreeBatch batch;
	bool		done = false;

	batch_of_one(bt, &batch, &item, itup);
	betree_key_from_tuple(bt, itup, &key);

	while (!done)
	{
		Buffer		nodebuf;
		Buffer		leafbuf;
		int			child;

		CHECK_FOR_INTERRUPTS();

		nodebuf = betree_descend(bt, &key, false, 1, BUFFER_LOCK_SHARE,
								 NULL, NULL);
		if (betree_node_nblooms(BufferGetPage(nodebuf)) > 0)
			LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
		else
		{
			leafbuf = lock_leaf(bt, BufferGetPage(nodebuf), &key, &child);
			check_conflict(bt, BufferGetPage(nodebuf), &key, itup);
			LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
			done = betree_leaf_merge(bt, InvalidBuffer, child, leafbuf, &batch);
			UnlockReleaseBuffer(leafbuf);
		}
		if (done)
		{
			ReleaseBuffer(nodebuf);
			break;
		}

		/* the leaf must split, or has a Bloom filter: that takes the node */
		nodebuf = betree_descend_relock(bt, nodebuf, &key, 1,
										BUFFER_LOCK_EXCLUSIVE);
		done = insert_below(bt, nodebuf, &key, &batch);
		UnlockReleaseBuffer(nodebuf);
		if (!done)
			(void) betree_split_node(bt, &key, 1);
	}
}

/*
 * Insert a tuple that belongs to one of the last leaves, below the share-locked
 * "nodebuf", past the logs.  Returns false if it had better become a message;
 * else the node has been unlocked and released.
 */
static bool
insert_ascending(BetreeRel *bt, Buffer nodebuf, BetreeKey *key, IndexTuple itup)
{
	bool		last;
	bool		done;
	BetreeSortItem item;
	BetreeBatch batch;

	if (insert_at_end(bt, nodebuf, key, itup, &last))
	{
		UnlockReleaseBuffer(nodebuf);
		return true;
	}
	if (!last)
		return false;

	/* a new leaf, mostly */
	batch_of_one(bt, &batch, &item, itup);
	LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
	nodebuf = betree_descend_relock(bt, nodebuf, key, 1, BUFFER_LOCK_EXCLUSIVE);
	done = insert_below(bt, nodebuf, key, &batch);
	UnlockReleaseBuffer(nodebuf);
	if (!done)
	{
		(void) betree_split_node(bt, key, 1);
		insert_leaf(bt, itup);
	}
	return true;
}

/*
 * Lock the tail that takes a row, behind those that are locked, or go on with the
 * last one; NULL if there is none, or the record is full.
 */
static BetreeAppend *
next_tail(BetreeRel *bt, Page node, BetreeKey *key, BetreeAppend *tails, int *ntails,
		  int *at)
{
	int			next = tail_of_key(bt, node, key);

	if (*ntails > 0 && next == *at)
		return &tails[*ntails - 1];
	/* damaged, if they descend: their locks ascend */
	if (*ntails == ECP_DELTA_BUFFERS || (*ntails > 0 && next < *at))
		return NULL;
	*at = next;
	tails[*ntails] = (BetreeAppend)
	{
		.buf = lock_tail(bt, node, next),
	};
	return &tails[(*ntails)++];
}

/*
 * Append rows, which are in order, to the tails of a share-locked node that the
 * first one belongs to, with one record, but none behind it that belongs to a leaf at
 * the end of the index.  Returns how many; the node is unlocked.
 *
 * A seal or a split of the node needs the locks on its tails.  So once we have
 * these, the node can be released.
 */
static int
append_some(BetreeRel *bt, Buffer nodebuf, BetreeSortItem *items, int nitems)
{
	Page		node = BufferGetPage(nodebuf);
	BetreeAppend tails[ECP_DELTA_BUFFERS];
	int			ntails = 0;
	int			at = 0;
	int			n;

	for (n = 0; n < nitems && betree_node_ntails(node) > 0; n++)
	{
		int			size = MAXALIGN(IndexTupleSize(items[n].itup));
		BetreeAppend *tail;
		BetreeKey	key;

		betree_key_from_tuple(bt, items[n].itup, &key);
		if (n > 0 && (!betree_key_node_covers(bt, node, &key) ||
					  betree_place_is_at_end(bt, node, &key)))
			break;
		tail = next_tail(bt, node, &key, tails, &ntails, &at);
		if (tail == NULL ||
			!betree_log_tail_has_room(BufferGetPage(tail->buf), tail->nitems + 1,
									  tail->bytes + size))
			break;
		check_conflict(bt, node, &key, items[n].itup);
		if (tail->nitems == 0)
			tail->items = &items[n];
		tail->nitems++;
		tail->bytes += size;
	}
	LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
	if (ntails > 0 && tails[ntails - 1].nitems == 0)
		UnlockReleaseBuffer(tails[--ntails].buf);
	if (ntails > 0)
		betree_append_rows(bt, tails, ntails);
	for (int i = 0; i < ntails; i++)
		UnlockReleaseBuffer(tails[i].buf);
	return n;
}

/* Append the tuple to a log, and take part in a drain of that */
static void
insert_message(BetreeRel *bt, IndexTuple itup)
{
	BetreeKey	key;
	Buffer		nodebuf;
	Page		node;
	BetreeSortItem item = {.itup = itup};
	BlockNumber nodeblk;
	int			level;
	int			budget = bt->flush_budget;
	bool		appended;
	bool		drain;

	betree_key_from_tuple(bt, itup, &key);
	nodebuf = betree_descend(bt, &key, false, bt->log_levels,
							 BUFFER_LOCK_SHARE, NULL, NULL);
	nodeblk = BufferGetBlockNumber(nodebuf);
	node = BufferGetPage(nodebuf);
	if (betree_place_is_at_end(bt, node, &key) && insert_ascending(bt, nodebuf, &key, itup))
		return;
	level = BetreePageGetOpaque(node)->bteo_level;
	drain = bt->inserts_drain && BetreePageGetOpaque(node)->bteo_drain != 0;

	appended = append_some(bt, nodebuf, &item, 1) > 0;
	if (!appended)
	{
		nodebuf = betree_descend_relock(bt, nodebuf, &key, level,
										BUFFER_LOCK_EXCLUSIVE);
		nodeblk = BufferGetBlockNumber(nodebuf);
		appended = append_or_seal(bt, nodebuf, &key, itup, &drain);
		LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
		if (!appended)
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

/*
 * Append rows, which are in order, to the last leaf of the index, if the first one
 * belongs behind its items, below a share-locked node.  Returns how many; the node is
 * unlocked.
 */
static int
append_at_end(BetreeRel *bt, Buffer nodebuf, BetreeKey *key, BetreeSortItem *items, int nitems)
{
	Page		node = BufferGetPage(nodebuf);
	int			child = betree_key_search_node(bt, node, key, false);
	BetreeAppend leaf = {.items = items};

	if (child == BetreeNodeNumChildren(node) - 1 &&
		!betree_bloom_has_slot(bt, node, BetreeNodeGetChild(node, child)))
		leaf.buf = betree_block_read_child(bt->rel, node, child, BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
	if (!BufferIsValid(leaf.buf))
		return 0;
	leaf.nitems = betree_place_count_behind(bt, BufferGetPage(leaf.buf), items, nitems,
											&leaf.bytes);
	if (leaf.nitems > 0)
		betree_append_rows(bt, &leaf, 1);
	UnlockReleaseBuffer(leaf.buf);
	return leaf.nitems;
}

/*
 * Insert some of these rows, which are in order, and take part in a drain as each
 * would have done.  Returns how many.
 */
static int
insert_some(BetreeRel *bt, BetreeSortItem *items, int nitems)
{
	BetreeKey	key;
	Buffer		nodebuf;
	BetreePageOpaque opaque;
	BlockNumber nodeblk;
	int			level;
	int			n;
	bool		drain;

	betree_key_from_tuple(bt, items[0].itup, &key);
	nodebuf = betree_descend(bt, &key, false, bt->log_levels, BUFFER_LOCK_SHARE, NULL, NULL);
	opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));
	nodeblk = BufferGetBlockNumber(nodebuf);
	level = opaque->bteo_level;
	drain = bt->inserts_drain && opaque->bteo_drain != 0;
	if (betree_place_is_at_end(bt, BufferGetPage(nodebuf), &key))
		n = append_at_end(bt, nodebuf, &key, items, nitems);
	else
		n = append_some(bt, nodebuf, items, nitems);
	ReleaseBuffer(nodebuf);
	if (n == 0)
		insert_message(bt, items[0].itup);
	else if (drain)
	{
		int			budget = (int) Min((int64) bt->flush_budget * n, BETREE_BUDGET_ALL);

		betree_drain_node(bt, nodeblk, level, &budget);
	}
	return Max(n, 1);
}

/*
 * How many of these rows, which are in order, belong to the same node as the first,
 * and to no leaf at the end of the index, or do like it; and how many it should get at
 * a time.
 */
static int
count_of_node(BetreeRel *bt, BetreeSortItem *items, int nitems, int *per_turn)
{
	BetreeKey	key;
	Buffer		nodebuf;
	Page		node;
	int			low = 1;
	int			high = nitems;

	betree_key_from_tuple(bt, items[0].itup, &key);
	nodebuf = betree_descend(bt, &key, false, bt->log_levels, BUFFER_LOCK_SHARE, NULL, NULL);
	node = BufferGetPage(nodebuf);
	*per_turn = TURN_ROWS * Max(betree_node_ntails(node), 1);
	if (betree_place_is_at_end(bt, node, &key))
		*per_turn = low = high;
	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		betree_key_from_tuple(bt, items[mid].itup, &key);
		if (betree_key_node_covers(bt, node, &key) && !betree_place_is_at_end(bt, node, &key))
			low = mid + 1;
		else
			high = mid;
	}
	UnlockReleaseBuffer(nodebuf);
	return low;
}

/*
 * betree_insert_rows
 *		Insert tuples, in order, into an index that is not unique.
 *
 * No serializable transaction: there, each is compared with what others read.  Many
 * rows of a node come in several turns, each of them spread over all of the node, so
 * that its tails fill evenly, as they would if the rows came as the table has them.
 */
void
betree_insert_rows(BetreeRel *bt, BetreeSortItem *items, int nitems)
{
	BetreeSortItem *turn = palloc_extended(Max(nitems, 1) * sizeof(BetreeSortItem), MCXT_ALLOC_HUGE);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "betree insert",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	int			nnode;

	Assert(!IsolationIsSerializable());

	for (int i = 0; i < nitems; i += nnode)
	{
		int			per_turn = nitems;
		int			nturns;

		/* the option may have changed since the rows came */
		nnode = bt->log_pages > 0 ? count_of_node(bt, items + i, nitems - i, &per_turn) : nitems;
		nturns = (nnode - 1) / per_turn + 1;
		for (int first = 0; first < nturns; first++)
		{
			int			n = 0;

			for (int j = first; j < nnode; j += nturns)
				turn[n++] = items[i + j];
			for (int done = 0; done < n;)
			{
				CHECK_FOR_INTERRUPTS();

				if (bt->log_pages > 0)
					done += insert_some(bt, turn + done, n - done);
				else
					insert_leaf(bt, turn[done++].itup);
				MemoryContextReset(context);
			}
		}
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
	pfree(turn);
}

/*
 * Append a tuple that a check allows to the tail that the check has locked, and
 * give up the check's locks.  Returns false if the tail is full: check again,
 * with the gate locked exclusively.
 */
static bool
append_checked(BetreeUnique *unique)
{
	BetreeRel  *bt = unique->bt;
	BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(unique->gate));
	BlockNumber nodeblk = BufferGetBlockNumber(unique->gate);
	int			level = opaque->bteo_level;
	int			budget = bt->flush_budget;
	bool		drain = bt->inserts_drain && opaque->bteo_drain != 0;
	bool		done = false;

	Assert(!unique->exclusive);

	if (has_room(unique->tail, unique->itup))
	{
		check_conflict(bt, BufferGetPage(unique->gate), &unique->position, unique->itup);
		append_one(bt, unique->tail, unique->itup);
		done = true;
	}
	betree_unique_unlock(unique);
	if (!done)
		unique->exclusive = true;
	else if (drain)
		betree_drain_node(bt, nodeblk, level, &budget);
	return done;
}

/*
 * Insert a tuple that a check allows, into the node that the check has left
 * exclusively locked, or below it.  Gives up the check's locks.  Returns false
 * if the leaf's parent had to be split: check again.
 */
static bool
insert_checked(BetreeUnique *unique)
{
	BetreeRel  *bt = unique->bt;
	Buffer		nodebuf = unique->target;
	BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));
	BlockNumber nodeblk = BufferGetBlockNumber(nodebuf);
	int			level = opaque->bteo_level;
	int			budget = bt->flush_budget;
	bool		drain = bt->inserts_drain && opaque->bteo_drain != 0;
	bool		last = false;
	bool		done;
	bool		seal_drains = false;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));

	done = betree_place_is_at_end(bt, BufferGetPage(nodebuf), &unique->position) &&
		insert_at_end(bt, nodebuf, &unique->position, unique->itup, &last);
	if (!done && !last && bt->log_pages > 0)
		done = append_or_seal(bt, nodebuf, &unique->position, unique->itup, &seal_drains);
	if (!done)
	{
		BetreeSortItem item;
		BetreeBatch batch;

		batch_of_one(bt, &batch, &item, unique->itup);
		done = insert_below(bt, nodebuf, &unique->position, &batch);
	}
	betree_unique_unlock(unique);
	if (!done)
		(void) betree_split_node(bt, &unique->position, 1);
	if (drain || seal_drains)
		betree_drain_node(bt, nodeblk, level, &budget);
	return done;
}

/*
 * Insert a tuple into a unique index, or only check it.  Returns whether its
 * key is known to be unique; "values" are those of the tuple.
 */
static bool
insert_unique(BetreeRel *bt, IndexTuple itup, Relation heap,
			  IndexUniqueCheck mode, Datum *values, bool *isnull)
{
	BetreeUnique unique;
	bool		done = false;

	betree_unique_begin(&unique, bt, heap, itup, mode);
	while (!done)
	{
		CHECK_FOR_INTERRUPTS();

		betree_unique_check(&unique);
		/* a failure to serialize comes first: it may be why there is another */
		if (unique.conflict)
			check_conflict(bt, BufferGetPage(unique.gate), &unique.position, itup);
		if (TransactionIdIsValid(unique.wait) || unique.conflict ||
			mode == UNIQUE_CHECK_EXISTING)
		{
			betree_unique_unlock(&unique);
			if (TransactionIdIsValid(unique.wait))
				betree_unique_wait(&unique);
			else if (unique.conflict)
				betree_unique_report(&unique, values, isnull);
			else if (!unique.found)
				betree_unique_report_missing(&unique);
			else
				done = true;
		}
		else if (unique.exclusive)
			done = insert_checked(&unique);
		else
			done = append_checked(&unique);
	}
	return unique.unique;
}

/* What aminsert keeps from one row to the next */
typedef struct BetreeInsertState
{
	MemoryContext context;		/* reset for each row */
	BetreeHeld *held;			/* rows of the index */
	bool		hash_known;		/* as in BetreeRel */
	BetreeHash *hash;
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
	bool		unique = true;

	if (state == NULL)
	{
		state = MemoryContextAllocZero(indexInfo->ii_Context,
									   sizeof(BetreeInsertState));
		state->context = AllocSetContextCreate(indexInfo->ii_Context,
											   "betree insert",
											   ALLOCSET_DEFAULT_SIZES);
		indexInfo->ii_AmCache = state;
	}
	oldcontext = MemoryContextSwitchTo(state->context);

	betree_rel_open(&bt, rel);
	bt.context = indexInfo->ii_Context;
	bt.new_version = indexUnchanged;
	/* where versions of a row pile up */
	if (indexUnchanged || rel->rd_index->indisunique)
		bt.heap = heapRel;
	bt.hash_known = state->hash_known;
	bt.hash = state->hash;
	itup = betree_form_tuple(&bt, values, isnull, ht_ctid, heapRel);
	if (checkUnique != UNIQUE_CHECK_NO && betree_unique_is_exempt(&bt, isnull))
		checkUnique = UNIQUE_CHECK_NO;
	betree_entry_refuse(rel);
	if (bt.log_pages == 0 || !bt.plain || indexUnchanged ||
		!betree_held_add(&state->held, rel, heapRel, itup))
	{
		betree_entry_begin(rel);
		if (checkUnique != UNIQUE_CHECK_NO)
			unique = insert_unique(&bt, itup, heapRel, checkUnique, values, isnull);
		else if (bt.log_pages > 0)
			insert_message(&bt, itup);
		else
			insert_leaf(&bt, itup);
		betree_entry_end(rel);
	}
	state->hash_known = bt.hash_known;
	state->hash = bt.hash;

	MemoryContextSwitchTo(oldcontext);
	MemoryContextReset(state->context);
	return unique;
}
