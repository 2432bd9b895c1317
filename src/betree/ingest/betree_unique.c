/*-------------------------------------------------------------------------
 *
 * betree_unique.c
 *	  Uniqueness check.
 *
 * Every insert or check of a key takes two locks: one on its gate, the topmost
 * node with a log whose range holds the key's first position, (key, minus
 * infinity), and the exclusive lock of the gate's tail.  With the gate
 * share-locked the check looks for other entries of the key everywhere but in
 * the tail, and asks the table which of them count, as nbtree does under the
 * leaf's lock; then it locks the tail and looks there, and the insert appends
 * the new entry.  So checks of different keys wait for each other at the tail
 * only.  Where the entry is not for one tail of the gate, or finds that full, the
 * gate is exclusively locked instead.  See README, "Unique indexes".
 *
 * Entries of the key can only be below the gate or, if their TIDs separate
 * nodes, below nodes to its right, which is rare: then the check begins again
 * from the root and goes through all of them, with the locks on the ancestors
 * held, so that no lock is taken upward.  The answer may be known before the
 * node that the new entry belongs to has been reached: then the walk goes on to
 * lock that, without asking the table.
 *
 * If the log is full, the entry goes into the leaf, below the target, which is
 * locked already.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/core.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/leaf/betree_leaf.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * betree_unique_is_exempt
 *		Is the key exempt because it has a NULL?
 */
bool
betree_unique_is_exempt(BetreeRel *bt, const bool *isnull)
{
	if (bt->rel->rd_index->indnullsnotdistinct)
		return false;
	for (int i = 0; i < bt->nkeyatts; i++)
	{
		if (isnull[i])
			return true;
	}
	return false;
}

/*
 * betree_unique_begin
 *		Prepare the check of a tuple, for one call of aminsert.
 */
void
betree_unique_begin(BetreeUnique *unique, BetreeRel *bt, Relation heap,
					IndexTuple itup, IndexUniqueCheck mode)
{
	BetreeHash *hash = betree_hash_get(bt);

	Assert(mode != UNIQUE_CHECK_NO);

	memset(unique, 0, offsetof(BetreeUnique, position));
	unique->bt = bt;
	unique->heap = heap;
	unique->itup = itup;
	unique->mode = mode;
	unique->exclusive = bt->log_pages == 0;
	unique->hashed = hash != NULL;
	if (hash != NULL)
		unique->hash = betree_hash_tuple(bt, hash, itup);

	betree_key_from_tuple(bt, itup, &unique->position);
	unique->low = unique->position;
	unique->low.has_tid = false;
	unique->high = unique->low;
	unique->high.after = true;
	unique->fetch = NULL;
}

/* Ask the table; it keeps its block pinned until the next one is asked for */
static bool
ask_table(BetreeUnique *unique, ItemPointer tid, Snapshot snapshot, bool *all_dead)
{
	ItemPointerData row = *tid;
	bool		call_again = false;
	bool		found;

	if (unique->fetch == NULL)
	{
		unique->fetch = ecp_table_fetch_begin(unique->heap);
		unique->slot = table_slot_create(unique->heap, NULL);
	}
	found = table_index_fetch_tuple(unique->fetch, &row, snapshot, unique->slot,
									&call_again, all_dead);
	ExecClearTuple(unique->slot);
	return found;
}

/* No more questions */
static void
end_asking(BetreeUnique *unique)
{
	if (unique->fetch == NULL)
		return;
	table_index_fetch_end(unique->fetch);
	ExecDropSingleTupleTableSlot(unique->slot);
	unique->fetch = NULL;
}

/*
 * Does the row of an entry with our key count?  Sets what the check has found,
 * and "done" if that is the answer.
 *
 * The node where the entry was found is locked, so VACUUM cannot have made the
 * TID another row's.
 */
static void
check_row(BetreeUnique *unique, IndexTuple itup)
{
	ItemPointerData tid = itup->t_tid;
	SnapshotData dirty;
	bool		all_dead = false;

	if (unique->mode == UNIQUE_CHECK_EXISTING &&
		ItemPointerEquals(&tid, &unique->itup->t_tid))
	{
		unique->found = true;
		return;
	}

	InitDirtySnapshot(dirty);
	if (!ask_table(unique, &tid, &dirty, &all_dead))
	{
		if (all_dead)
			unique->page_dead[unique->npage_dead++] = tid;
		return;
	}

	unique->unique = false;
	unique->done = true;

	/* a possible conflict is enough: it will be checked again */
	if (unique->mode == UNIQUE_CHECK_PARTIAL)
		return;

	/* an in-progress transaction inserts or deletes it */
	unique->wait = TransactionIdIsValid(dirty.xmin) ? dirty.xmin : dirty.xmax;
	if (TransactionIdIsValid(unique->wait))
	{
		unique->token = dirty.speculativeToken;
		return;
	}

	/*
	 * A row that counts.  But our own may be dead by now, in a deferred check
	 * or while an index is built concurrently: then nothing is violated.
	 */
	tid = unique->itup->t_tid;
	if (!ask_table(unique, &tid, SnapshotSelf, NULL))
	{
		unique->unique = true;
		unique->found = true;
		return;
	}
	unique->conflict = true;
}

/*
 * Look for our key on a locked page: a leaf, or the page of the log of a node that
 * this directory entry is of.
 */
static void
check_page(BetreeUnique *unique, Page page, Page node, BetreeDirEntry *entry)
{
	BetreeRel  *bt = unique->bt;
	OffsetNumber maxoff = betree_page_nitems(page);
	OffsetNumber nsorted = node == NULL ? maxoff :
		BetreePageGetOpaque(page)->bteo_nsorted;
	OffsetNumber off = betree_key_search_page(bt, page, nsorted, &unique->low);

	unique->npage_dead = 0;
	for (; off <= maxoff && !unique->done; off++)
	{
		IndexTuple	itup;

		/* among the sorted ones, those with our key are neighbours */
		if (off <= nsorted &&
			betree_key_find_equal(bt, page, off, off, &unique->low) != off)
			off = nsorted + 1;
		if (off > nsorted &&
			(off = betree_key_find_equal(bt, page, off, maxoff, &unique->low)) > maxoff)
			break;
		itup = BetreePageGetTuple(page, off);

		/* unique indexes have none */
		if (unlikely(BetreeTupleIsPosting(itup)))
			betree_page_report_item(itup);
		if (node == NULL || betree_log_is_live(bt, node, entry, itup))
			check_row(unique, itup);
	}
}

/*
 * Done with a page, locked exclusively or not.  Its entries of dead rows are removed
 * if this check has met many, in whatever pages: then the next one meets few.
 *
 * The node above stays locked, so the page is still what it was when we have the
 * exclusive lock.
 */
static void
purge_page(BetreeUnique *unique, Buffer buf, bool exclusive)
{
	unique->ndead += unique->npage_dead;
	if (unique->npage_dead == 0 || unique->ndead < BETREE_PURGE_ROWS)
		return;
	if (!exclusive)
	{
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	}
	betree_purge_rows(unique->bt, buf, unique->page_dead, unique->npage_dead);
}

/* Is our key below this pivot, in all its entries? */
static inline bool
is_below(BetreeUnique *unique, IndexTuple pivot)
{
	return betree_key_compare_pivot(unique->bt, &unique->high, pivot) < 0;
}

/* Is this the gate, whose tail is looked at last? */
static inline bool
is_shared_gate(BetreeUnique *unique, Page node)
{
	return !unique->exclusive && BufferIsValid(unique->gate) &&
		node == BufferGetPage(unique->gate);
}

/*
 * The log of a locked node: its tails, and the pages that the filter names.
 * "first" is the first child that our key may be in.
 */
static void
check_log(BetreeUnique *unique, Page node, int first)
{
	BetreeRel  *bt = unique->bt;
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);
	int			nlog = opaque->bteo_nlog +
		(is_shared_gate(unique, node) ? 0 : betree_node_ntails(node));
	uint16		from = 0;
	bool		hit[BETREE_FILTER_HITS];
	bool		filtered = opaque->bteo_nlog > 0 && unique->hashed &&
		betree_filter_probe(bt, node, betree_hash_get(bt)->id, unique->hash,
							&from, hit);
	int			last = first;

	while (nlog > 0 && last + 1 < BetreeNodeNumChildren(node) &&
		   !is_below(unique, BetreeNodeGetPivot(node, last + 1)))
		last++;

	for (int i = 0; i < nlog && !unique->done; i++)
	{
		bool		tail = i >= opaque->bteo_nlog;
		Buffer		buf;

		if (!betree_node_log_ordered(node, i))
			betree_page_report_item(node);
		if (!betree_node_log_covers(node, i, first, last) ||
			(!tail && filtered && betree_filter_excludes(node, i, from, hit)))
			continue;
		buf = betree_block_read(bt->rel, dir[i].bted_block, BUFFER_LOCK_SHARE, BETREE_LOG);
		check_page(unique, BufferGetPage(buf), node, &dir[i]);
		purge_page(unique, buf, false);
		UnlockReleaseBuffer(buf);
	}
}

static void check_node(BetreeUnique *unique, Buffer nodebuf);

/*
 * A child that is a node: lock it and look there.  The gate, and the node that
 * the tuple belongs to, stay locked.
 */
static void
check_child_node(BetreeUnique *unique, Page node, int child)
{
	BetreeRel  *bt = unique->bt;
	BetreeKey  *position = &unique->position;
	bool		at_level = BetreePageGetOpaque(node)->bteo_level - 1 == unique->level;
	bool		gate = at_level && !BufferIsValid(unique->gate);
	bool		target = at_level &&
		betree_key_compare_pivot(bt, position, BetreeNodeGetPivot(node, child)) >= 0 &&
		betree_key_compare_pivot(bt, position, BetreeNodeGetUpper(node, child)) < 0;
	Buffer		buf = betree_block_read_child(bt->rel, node, child,
											  gate || target ?
											  BUFFER_LOCK_EXCLUSIVE : BUFFER_LOCK_SHARE);

	if (target && !betree_key_node_covers(bt, BufferGetPage(buf), position))
		betree_block_report(bt->rel, buf);
	if (gate)
		unique->gate = buf;
	if (target)
		unique->target = buf;
	check_node(unique, buf);
	if (!gate && !target)
		UnlockReleaseBuffer(buf);
}

/* A child that is a leaf: its Bloom filter mostly says that it lacks the key */
static void
check_leaf(BetreeUnique *unique, Page node, int child)
{
	BetreeRel  *bt = unique->bt;
	Buffer		buf;

	if (unique->hashed &&
		betree_bloom_excludes(bt, node, BetreeNodeGetChild(node, child),
							  betree_hash_get(bt)->id, unique->hash))
		return;
	buf = betree_block_read_child(bt->rel, node, child, BUFFER_LOCK_SHARE);
	check_page(unique, BufferGetPage(buf), NULL, NULL);
	purge_page(unique, buf, false);
	UnlockReleaseBuffer(buf);
}

/* The first child of a locked node that our key may be in */
static int
first_child(BetreeUnique *unique, Page node)
{
	BetreeRel  *bt = unique->bt;

	return betree_key_compare_pivot(bt, &unique->low,
									BetreeNodeGetPivot(node, 0)) < 0 ? 0 :
		betree_key_search_node(bt, node, &unique->low, false);
}

/*
 * Look for our key in a locked node and below it, from above: what moves
 * meanwhile moves down.  When the answer is known, only the gate and the target
 * are left to be locked.
 */
static void
check_node(BetreeUnique *unique, Buffer nodebuf)
{
	Page		node = BufferGetPage(nodebuf);
	int			level = BetreePageGetOpaque(node)->bteo_level;
	int			child = first_child(unique, node);

	if (!unique->done)
		check_log(unique, node, child);
	for (; child < BetreeNodeNumChildren(node); child++)
	{
		if (is_below(unique, BetreeNodeGetPivot(node, child)))
			break;
		if (unique->done &&
			(level <= unique->level || BufferIsValid(unique->target)))
			break;
		if (level == 1)
			check_leaf(unique, node, child);
		else
			check_child_node(unique, node, child);
	}
}

/*
 * A node on the way to the gate.  It has messages if log_levels has been
 * lowered, and those with our key all go the same way.
 */
static void
visit_node(void *arg, Buffer nodebuf)
{
	BetreeUnique *unique = (BetreeUnique *) arg;
	Page		node = BufferGetPage(nodebuf);

	if (BetreePageGetOpaque(node)->bteo_level > unique->bt->log_levels &&
		!unique->done && betree_node_has_log(node))
		check_log(unique, node, first_child(unique, node));
}

static void
reset_result(BetreeUnique *unique)
{
	unique->unique = true;
	unique->done = false;
	unique->found = false;
	unique->conflict = false;
	unique->wait = InvalidTransactionId;
	unique->token = 0;
	unique->ndead = 0;
	unique->gate = unique->target = unique->tail = InvalidBuffer;
}

/* The directory entry of the first tail of the gate that has entries of our key */
static int
first_tail(BetreeUnique *unique, Page gate)
{
	return betree_node_tail_of(gate, first_child(unique, gate));
}

/*
 * Is it enough to share-lock the gate?  Not if entries of our key can be in several
 * of its tails, or the tuple is for none of them.
 */
static bool
may_share(BetreeUnique *unique, Page gate)
{
	BetreeRel  *bt = unique->bt;

	if (betree_node_ntails(gate) == 0)
		return unique->mode == UNIQUE_CHECK_EXISTING;
	return first_tail(unique, gate) ==
		betree_node_tail_of(gate, betree_key_search_node(bt, gate, &unique->high, false)) &&
		(unique->mode == UNIQUE_CHECK_EXISTING ||
		 !betree_place_is_at_end(bt, gate, &unique->position));
}

/*
 * Lock the gate, and look above and below it.  Returns false if entries of the
 * key may be to the right of what it covers; then nothing is locked.
 */
static bool
check_below_gate(BetreeUnique *unique)
{
	BetreeRel  *bt = unique->bt;
	Buffer		gate = betree_descend(bt, &unique->low, false, bt->log_levels,
									  unique->exclusive ? BUFFER_LOCK_EXCLUSIVE :
									  BUFFER_LOCK_SHARE, visit_node, unique);

	if (betree_key_compare_pivot(bt, &unique->high,
								 BetreeNodeGetHikey(BufferGetPage(gate))) >= 0)
	{
		UnlockReleaseBuffer(gate);
		return false;
	}
	if (!unique->exclusive && !may_share(unique, BufferGetPage(gate)))
	{
		UnlockReleaseBuffer(gate);
		reset_result(unique);
		unique->exclusive = true;
		return check_below_gate(unique);
	}
	unique->gate = unique->target = gate;
	check_node(unique, gate);
	return true;
}

/*
 * The tail of the share-locked gate, which is locked for the insert that may
 * follow.  All else has been looked at; since the gate has been locked from then on,
 * new entries of its keys can only be here.
 */
static void
check_tail(BetreeUnique *unique)
{
	BetreeRel  *bt = unique->bt;
	Page		gate = BufferGetPage(unique->gate);
	BetreeDirEntry *entry;

	if (betree_node_ntails(gate) == 0 || unique->conflict ||
		TransactionIdIsValid(unique->wait))
		return;
	entry = BetreeNodeGetDir(gate) + first_tail(unique, gate);
	unique->tail = betree_block_read(bt->rel, entry->bted_block, BUFFER_LOCK_EXCLUSIVE,
									 BETREE_LOG);
	if (!unique->done)
	{
		check_page(unique, BufferGetPage(unique->tail), gate, entry);
		purge_page(unique, unique->tail, true);
	}
}

/* The same from the root, which is above the gate, through all that it takes */
static void
check_from_root(BetreeUnique *unique)
{
	BetreeRel  *bt = unique->bt;
	Buffer		root = betree_descend(bt, &unique->low, false, BETREE_MAX_HEIGHT - 1,
									  BUFFER_LOCK_SHARE, NULL, NULL);

	if (BetreePageGetOpaque(BufferGetPage(root))->bteo_level <= bt->log_levels)
		betree_block_report(bt->rel, root);
	unique->level = bt->log_levels;
	check_node(unique, root);

	/* nodes that do not cover what their parents say */
	if (!BufferIsValid(unique->gate) || !BufferIsValid(unique->target))
		betree_block_report(bt->rel, root);
	UnlockReleaseBuffer(root);
}

/*
 * betree_unique_check
 *		Lock the gate of the tuple's key and look for other rows that have it.
 *
 * Afterwards unique->wait is a transaction to wait for, or unique->conflict
 * tells that a row counts, or the tuple may be inserted: if unique->exclusive into
 * unique->target, the node that it belongs to, which is exclusively locked as is
 * unique->gate; else only to unique->tail, if there is one, exclusively locked.
 * In each case betree_unique_unlock() must follow.
 */
void
betree_unique_check(BetreeUnique *unique)
{
	reset_result(unique);
	if (!check_below_gate(unique))
	{
		reset_result(unique);
		unique->exclusive = true;
		check_from_root(unique);
	}
	else if (!unique->exclusive)
		check_tail(unique);
	end_asking(unique);
	Assert(!unique->exclusive || ecp_buffer_is_exclusive_locked(unique->gate));
	Assert(!unique->exclusive || ecp_buffer_is_exclusive_locked(unique->target));
}

/* Give up the locks of a check */
void
betree_unique_unlock(BetreeUnique *unique)
{
	if (BufferIsValid(unique->tail))
		UnlockReleaseBuffer(unique->tail);
	if (unique->target != unique->gate)
		UnlockReleaseBuffer(unique->target);
	UnlockReleaseBuffer(unique->gate);
	unique->gate = unique->target = unique->tail = InvalidBuffer;
}

/*
 * betree_unique_wait
 *		Wait for the transaction that the check has met; nothing is locked.
 */
void
betree_unique_wait(BetreeUnique *unique)
{
	Assert(TransactionIdIsValid(unique->wait));

	if (unique->token != 0)
		SpeculativeInsertionWait(unique->wait, unique->token);
	else
		XactLockTableWait(unique->wait, unique->bt->rel, &unique->itup->t_tid,
						  XLTW_InsertIndex);
}

/*
 * betree_unique_report
 *		Complain about a duplicate, in btree's words; nothing is locked.
 */
void
betree_unique_report(BetreeUnique *unique, Datum *values, bool *isnull)
{
	Relation	rel = unique->bt->rel;
	char	   *description = BuildIndexValueDescription(rel, values, isnull);

	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("duplicate key value violates unique constraint \"%s\"",
					RelationGetRelationName(rel)),
			 description ? errdetail("Key %s already exists.", description) : 0,
			 errtableconstraint(unique->heap, RelationGetRelationName(rel))));
}

/*
 * betree_unique_report_missing
 *		Complain that the entry of a row that is checked was not found.
 */
void
betree_unique_report_missing(BetreeUnique *unique)
{
	Relation	rel = unique->bt->rel;

	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("failed to re-find tuple within index \"%s\"",
					RelationGetRelationName(rel)),
			 errhint("This may be because of a non-immutable index expression."),
			 errtableconstraint(unique->heap, RelationGetRelationName(rel))));
}
