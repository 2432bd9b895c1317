/*-------------------------------------------------------------------------
 *
 * betree_step.c
 *	  One step of a scan: a leaf and what the logs above it hold for it.
 *
 * A scan's position is a key, never a page.  A step goes down from the root,
 * coupling share locks, and collects on the way what is live in the logs for
 * the child that the position belongs to; then it reads that leaf, merges,
 * and releases all locks.  Messages only move downward, so reading from
 * above misses none; one that moved while we read is met twice, with the same
 * key and TID, and the merge drops the second.  The next position is the
 * upper (going backward, the lower) bound of the child.
 *
 * We keep the last leaf parent pinned and begin the next step there, if it is
 * one still and the position is in its range.  The first step
 * collects for its leaf only, since many a scan ends there, unless the log is
 * longer than we may pin.  The pins on the log pages stay, so that the second
 * step does not look them up again when it collects what the log holds for the
 * next leaves, and so do later ones, each time for more of them
 * (choose_last_child).  What is collected is kept.  That is right for MVCC snapshots:
 * what is flushed later is met twice and dropped once, what is appended later
 * is invisible to us, and what VACUUM removes was dead to us.  It counts up to
 * where the node ended: VACUUM may merge the node with its neighbour, or the page
 * become another leaf parent.
 *
 * Index-only scans trust the visibility map, so VACUUM must not have recycled
 * a TID between our reading it and our returning it.  They pin the leaf
 * before they read the first log page, and keep the pin until the step's
 * items are consumed; VACUUM, which cleans logs before leaves, waits for
 * that pin (betree_vacuum.c).  Messages that are kept for later steps need the
 * pin that was held when they were read: this guard, a second pin on the
 * leaf of that step, is kept until the last of them is consumed.  Pins on log
 * pages mean nothing to VACUUM.
 *
 * A lookup with = on all key columns skips a leaf whose Bloom filter says
 * that it lacks the key (betree_bloom.c): then it neither reads nor pins it.
 * Where most keys have been found, the filter is asked only if the log had the
 * key.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "base/stop_point.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/scan/betree_scan_private.h"
#include "betree/tree/betree_tree.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * Steps of a scan before a node's log is read as a whole; for a scan that jumps,
 * steps in this node, most of which it may skip
 */
#define STEPS_BEFORE_CACHE	1
#define JUMPS_BEFORE_CACHE	3

/* pins that the scans of this backend keep on log pages, or may take */
static int	reserved_pins = 0;

/* Do the collected messages, which are kept, reach to the end of a child? */
static bool
has_collected(BetreeScanOpaque so, Page node, int child)
{
	BetreeMessages *messages = &so->reader.messages;
	BetreeKey	end;

	Assert(messages->cached);

	betree_key_from_pivot(&so->bt, messages->end, &end);
	return ScanDirectionIsForward(messages->dir) ?
		betree_key_compare_pivot(&so->bt, &end, BetreeNodeGetUpper(node, child)) >= 0 :
		betree_key_compare_pivot(&so->bt, &end, BetreeNodeGetPivot(node, child)) <= 0;
}

/*
 * A descent that collects what the logs above level 1 hold for the position;
 * "blind", it only finds out whether they hold anything
 */
typedef struct Descent
{
	BetreeScanOpaque so;
	BetreeKey  *key;
	bool		strict;
	bool		blind;
} Descent;

/*
 * Lock a page on the way, or a leaf, against inserts, before the log above it is
 * read: an insert looks for the lock at the child of the node that takes it.  A
 * lookup has locked its key.
 */
static void
lock_predicate(BetreeScanOpaque so, BlockNumber blkno)
{
	if (so->mvcc && !so->quals.hashed)
		PredicateLockPage(so->bt.rel, blkno, so->snapshot);
}

static void
visit_node(void *arg, Buffer nodebuf)
{
	Descent    *descent = (Descent *) arg;
	BetreeScanOpaque so = descent->so;
	Page		node = BufferGetPage(nodebuf);
	bool		has_log = betree_node_has_log(node);
	int			child;

	ecp_test_for_old_snapshot(so->snapshot, so->bt.rel, node);
	/* the root gives its locks to the node into which it grows */
	lock_predicate(so, BufferGetBlockNumber(nodebuf));
	if (BetreePageGetOpaque(node)->bteo_level == 1 ||
		!(has_log || IsolationIsSerializable()))
		return;
	child = betree_key_search_node(&so->bt, node, descent->key, descent->strict);
	lock_predicate(so, BetreeNodeGetChild(node, child));
	so->reader.upper_logs |= has_log;
	if (has_log && !descent->blind)
		betree_collect_log(so, node, child, child);
}

/* Are two pivots the same, bit for bit but for child and marker? */
static bool
same_bound(IndexTuple a, IndexTuple b)
{
	Size		size = IndexTupleSize(a);

	return IndexTupleSize(b) == size &&
		BetreePivotGetNatts(a) == BetreePivotGetNatts(b) &&
		memcmp(&a->t_info, &b->t_info,
			   size - offsetof(IndexTupleData, t_info)) == 0;
}

/* Has a leaf still the bounds for which upper logs were read, if any were? */
static bool
has_leaf_bounds(BetreeScanOpaque so, Page node, int child)
{
	return so->reader.leaf_low == NULL ||
		(same_bound(BetreeNodeGetPivot(node, child), so->reader.leaf_low) &&
		 same_bound(BetreeNodeGetUpper(node, child), so->reader.leaf_high));
}

/*
 * Go down to the leaf parent, collecting from the logs above it.  Leaves it
 * share-locked in reader.nodebuf.
 *
 * For windows, of which the child of an upper node may have many, there are two
 * descents: the first finds the bounds of the leaf that matter.
 */
static void
descend_collecting(BetreeScanOpaque so, BetreeKey *key, bool strict)
{
	Descent		descent = {so, key, strict, so->quals.nsets > 0};

	betree_step_forget(so);
	so->reader.upper_logs = false;
	so->reader.nreads = 0;
	if (so->quals.skip_qual != NULL)
		so->reader.nsteps = 0;
	so->reader.nodebuf = betree_descend(&so->bt, key, strict, 1,
										BUFFER_LOCK_SHARE, visit_node,
										&descent);
	if (descent.blind && so->reader.upper_logs)
	{
		Page		node = BufferGetPage(so->reader.nodebuf);
		int			child = betree_key_search_node(&so->bt, node, key, strict);
		MemoryContext context = so->reader.messages.context;

		so->reader.leaf_low = betree_image_copy(context, BetreeNodeGetPivot(node, child));
		so->reader.leaf_high = betree_image_copy(context, BetreeNodeGetUpper(node, child));
		UnlockReleaseBuffer(so->reader.nodebuf);
		so->reader.nodebuf = InvalidBuffer;
		descent.blind = false;
		so->reader.nodebuf = betree_descend(&so->bt, key, strict, 1,
											BUFFER_LOCK_SHARE, visit_node,
											&descent);
	}
}

/*
 * Ask the Bloom filter of a leaf, if that is worth it, whether it lacks the key
 * that the scan looks for.
 */
static bool
ask_bloom(BetreeScanOpaque so, Page node, BlockNumber leafblk)
{
	bool		excluded;

	if (!so->quals.hashed || so->reader.messages.cached ||
		betree_node_nblooms(node) == 0 ||
		(so->interlock && !betree_rel_bloom_choose(so->bt.rel)))
		return false;
	excluded = betree_bloom_excludes(&so->bt, node, leafblk, so->quals.hash.own.id,
									 so->quals.hash_value);
	betree_rel_bloom_learn(so->bt.rel, excluded);
	return excluded;
}

/* Give back the reserved pins; also when an error ends the scan */
static void
unreserve_pins(void *arg)
{
	BetreeScanOpaque so = (BetreeScanOpaque) arg;

	Assert(reserved_pins >= so->reader.log_cache.npins);

	reserved_pins -= so->reader.log_cache.npins;
	so->reader.log_cache.npins = 0;
}

/*
 * betree_step_init
 *		Prepare a scan that has just been allocated.
 */
void
betree_step_init(BetreeScanOpaque so)
{
	BetreeReader *reader = &so->reader;

	reader->nodebuf = InvalidBuffer;
	reader->walk_dir = NoMovementScanDirection;
	reader->messages.guard = InvalidBuffer;
	reader->messages.context = AllocSetContextCreate(so->context,
													 "betree messages",
													 ALLOCSET_DEFAULT_SIZES);
}

/*
 * betree_step_begin
 *		Prepare for the first step after amrescan; the quals are known.
 */
void
betree_step_begin(BetreeScanOpaque so)
{
	BetreeReader *reader = &so->reader;
	MemoryContextCallback *callback;
	MemoryContext oldcontext;

	Assert(!BufferIsValid(reader->nodebuf));
	Assert(!reader->messages.cached);

	if (so->mvcc && so->quals.hashed)
		PredicateLockPage(so->bt.rel, BetreeHashGetLockBlock(so->quals.hash_value),
						  so->snapshot);
	reader->nsteps = 0;
	reader->nahead = 1;
	reader->keep_log_pins = so->mvcc && !so->quals.hashed;
	if (!reader->keep_log_pins || reader->log_cache.buf != NULL)
		return;
	oldcontext = MemoryContextSwitchTo(so->context);
	betree_log_cache_init(&reader->log_cache);
	reader->log_cache.npins = 0;
	callback = palloc(sizeof(MemoryContextCallback));
	callback->func = unreserve_pins;
	callback->arg = so;
	MemoryContextRegisterResetCallback(so->context, callback);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Keep pins from now on, on as many of the node's log pages as the backend
 * may have.
 */
static void
reserve_pins(BetreeScanOpaque so, Page node)
{
	int			npins = Min(BetreePageGetOpaque(node)->bteo_nlog + betree_node_ntails(node),
							betree_log_cache_limit() - reserved_pins);

	Assert(reserved_pins >= 0);

	if (so->reader.log_cache.npins == 0 && npins > 0)
	{
		so->reader.log_cache.npins = npins;
		reserved_pins += npins;
	}
}

/* Give up the pins on log pages */
static void
release_log_pins(BetreeScanOpaque so)
{
	if (so->reader.log_cache.buf != NULL)
	{
		betree_log_cache_release(&so->reader.log_cache);
		unreserve_pins(so);
	}
}

/* May the scan keep pins on all pages of the node's log? */
static inline bool
can_pin_log(BetreeScanOpaque so, Page node)
{
	return so->reader.log_cache.npins >=
		BetreePageGetOpaque(node)->bteo_nlog + betree_node_ntails(node);
}

/*
 * Shall this step, number reader.nsteps, collect for the rest of the scan in the
 * node?  Not the first one, but for logs too long to be kept pinned: the next
 * step would read them again.  A scan that goes from window to window does when
 * the steps here have read as many pages of the log as it has.
 */
static bool
should_collect_rest(BetreeScanOpaque so, Page node)
{
	if (so->quals.nsets > 0)
		return so->reader.nreads > BetreePageGetOpaque(node)->bteo_nlog;
	if (so->quals.skip_qual != NULL)
		return so->reader.nsteps > JUMPS_BEFORE_CACHE;
	return so->reader.nsteps > STEPS_BEFORE_CACHE ||
		(so->reader.keep_log_pins &&
		 !can_pin_log(so, node));
}

/*
 * The last child to collect messages for in this step, which collects for the rest of
 * the scan in the node.
 *
 * Many a scan ends soon, by a LIMIT, say.  Where the log's pages are pinned, or
 * are for some of the children each, it costs little to come back: so that is for
 * four times as many children each time.
 */
static int
choose_last_child(BetreeScanOpaque so, Page node, int child, ScanDirection dir)
{
	int			last = betree_quals_last_child(&so->bt, &so->quals, node, child, dir);
	int			ahead = so->reader.nahead;

	so->reader.nahead = Min(4 * ahead, BETREE_NODE_MAX_CHILDREN);
	if (so->quals.nsets > 0 || so->quals.skip_qual != NULL ||
		!so->reader.keep_log_pins ||
		(betree_node_ntails(node) < 2 && !can_pin_log(so, node)))
		return last;
	return ScanDirectionIsForward(dir) ? Min(last, child + ahead) :
		Max(last, child - ahead);
}

/*
 * betree_step_restart
 *		The next step begins elsewhere: where the scan has been before.
 *
 * Restart cycle detection.  What a scan that jumps has collected may begin
 * behind that place; others collect in their second step in a node, or in the
 * first.
 */
void
betree_step_restart(BetreeScanOpaque so)
{
	so->reader.walk_dir = NoMovementScanDirection;
	if (betree_quals_jump(&so->bt, &so->quals))
		betree_collect_reset(so);
}

/*
 * betree_step_forget
 *		Forget the remembered node and what was collected there.
 */
void
betree_step_forget(BetreeScanOpaque so)
{
	if (BufferIsValid(so->reader.nodebuf))
		ReleaseBuffer(so->reader.nodebuf);
	release_log_pins(so);
	so->reader.nodebuf = InvalidBuffer;
	betree_collect_reset(so);
}

/* Has the range of the scan nothing beyond this bound? */
bool
betree_step_is_last(BetreeScanOpaque so, IndexTuple bound, ScanDirection dir)
{
	if (ScanDirectionIsForward(dir))
		return BetreePivotGetNatts(bound) == BETREE_NATTS_PLUSINF ||
			betree_key_compare_pivot(&so->bt, &so->quals.upper, bound) <= 0;
	return BetreePivotGetNatts(bound) == 0 ||
		betree_key_compare_pivot(&so->bt, &so->quals.lower, bound) >= 0;
}

/*
 * betree_step_page_unpin
 *		Give up the pins of a page of results that is consumed.
 */
void
betree_step_page_unpin(BetreeScanPage *page)
{
	if (BufferIsValid(page->pin))
		ReleaseBuffer(page->pin);
	if (BufferIsValid(page->guard))
		ReleaseBuffer(page->guard);
	page->pin = page->guard = InvalidBuffer;
}

/*
 * Collect what the log of the locked leaf parent holds for one child; or for
 * the rest of the scan in the node, unless the child's leaf is not pinned.
 */
static void
collect_for_step(BetreeScanOpaque so, int child, Buffer leafbuf, ScanDirection dir)
{
	Page		node = BufferGetPage(so->reader.nodebuf);
	int			first = child;
	int			last = child;
	bool		rest = false;

	/* may messages be kept for later steps in the node? */
	if (BufferIsValid(leafbuf) && so->mvcc && !so->reader.upper_logs)
	{
		so->reader.nsteps++;
		rest = should_collect_rest(so, node);
	}
	if (rest)
	{
		if (so->interlock)
		{
			IncrBufferRefCount(leafbuf);
			so->reader.messages.guard = leafbuf;
		}
		if (ScanDirectionIsForward(dir))
			last = choose_last_child(so, node, child, dir);
		else
			first = choose_last_child(so, node, child, dir);
		so->reader.messages.cached = true;
		so->reader.messages.dir = dir;
		so->reader.messages.end =
			betree_image_copy(so->reader.messages.context,
							  ScanDirectionIsForward(dir) ?
							  BetreeNodeGetUpper(node, last) :
							  BetreeNodeGetPivot(node, first));
	}
	for (int i = first; i <= last; i++)
		lock_predicate(so, BetreeNodeGetChild(node, i));
	betree_collect_log(so, node, first, last);
	betree_collect_finish(so);
	if (so->reader.messages.cached &&
		(ScanDirectionIsForward(dir) ? last + 1 == BetreeNodeNumChildren(node) : first == 0))
		release_log_pins(so);
}

/*
 * Choose whether to read the log before the leaf is pinned: in the first step of
 * a lookup, if Bloom filters have mostly been asked in vain.
 */
static bool
choose_log_first(BetreeScanOpaque so)
{
	return so->quals.hashed && !so->interlock && !so->reader.messages.cached &&
		so->reader.nsteps == 0 && !betree_rel_bloom_choose(so->bt.rel);
}

/*
 * Collect from the log for a child, then pin its leaf.  If the log has the
 * key, the leaf mostly lacks it, so that it is worth asking.
 */
static void
collect_log_first(BetreeScanOpaque so, Page node, int child, ScanDirection dir,
				  Buffer *leafbuf)
{
	BlockNumber leafblk = BetreeNodeGetChild(node, child);

	so->reader.nsteps++;
	collect_for_step(so, child, InvalidBuffer, dir);
	if (so->reader.messages.nitems == 0 ||
		!betree_bloom_excludes(&so->bt, node, leafblk, so->quals.hash.own.id,
							   so->quals.hash_value))
		*leafbuf = betree_block_pin(so->bt.rel, leafblk);
}

/*
 * Lock the leaf parent of the position, with the messages for the leaf
 * collected; returns the child, and pins its leaf in "*leafbuf", unless there
 * is nothing to be read from it.
 *
 * Without a pin, what an index-only scan finds in the logs may not be returned:
 * then it begins again and pins the leaf, although that has nothing.
 */
static int
locate(BetreeScanOpaque so, BetreeKey *key, ScanDirection dir,
	   Buffer *leafbuf)
{
	bool		strict = ScanDirectionIsBackward(dir);
	BlockNumber pinned = InvalidBlockNumber;
	bool		pin_excluded = false;

	*leafbuf = InvalidBuffer;
	for (;;)
	{
		Page		node;
		int			child;
		BlockNumber leafblk;
		bool		excluded;

		CHECK_FOR_INTERRUPTS();

		if (so->reader.messages.cached && so->reader.messages.dir != dir)
			betree_collect_reset(so);
		if (!so->mvcc || !BufferIsValid(so->reader.nodebuf) || so->reader.upper_logs ||
			!betree_descend_remembered(&so->bt, so->reader.nodebuf, key, strict, 1,
									   BUFFER_LOCK_SHARE))
			descend_collecting(so, key, strict);
		else if (!so->reader.messages.cached)
			betree_collect_reset(so);
		if (so->reader.keep_log_pins && !so->reader.messages.cached)
			reserve_pins(so, BufferGetPage(so->reader.nodebuf));
		node = BufferGetPage(so->reader.nodebuf);
		child = betree_key_search_node(&so->bt, node, key, strict);
		leafblk = BetreeNodeGetChild(node, child);

		if (!has_leaf_bounds(so, node, child))
		{
			LockBuffer(so->reader.nodebuf, BUFFER_LOCK_UNLOCK);
			betree_step_forget(so);
			continue;
		}
		if (choose_log_first(so))
		{
			Assert(!BufferIsValid(*leafbuf));
			collect_log_first(so, node, child, dir, leafbuf);
			return child;
		}
		excluded = !pin_excluded && ask_bloom(so, node, leafblk);
		if (BufferIsValid(*leafbuf) && (excluded || leafblk != pinned))
		{
			ReleaseBuffer(*leafbuf);
			*leafbuf = InvalidBuffer;
		}
		if (!BufferIsValid(*leafbuf) && !excluded)
		{
			*leafbuf = betree_block_pin(so->bt.rel, leafblk);
			pinned = leafblk;

			/* logs above were read before this pin: read them again */
			if (so->interlock && so->reader.upper_logs)
			{
				LockBuffer(so->reader.nodebuf, BUFFER_LOCK_UNLOCK);
				betree_step_forget(so);
				continue;
			}
		}
		if (so->interlock && !excluded)
			ECP_STOP_POINT("scan-pinned");
		if (so->reader.messages.cached)
		{
			if (has_collected(so, node, child))
				return child;
			betree_collect_reset(so);
		}

		collect_for_step(so, child, *leafbuf, dir);
		if (!excluded || !so->interlock || so->reader.messages.nitems == 0)
			return child;
		LockBuffer(so->reader.nodebuf, BUFFER_LOCK_UNLOCK);
		betree_step_forget(so);
		pin_excluded = true;
	}
}

/* Narrow what the step reads to before "bound", or to behind it */
static void
narrow(BetreeScanOpaque so, BetreeScanPage *page, IndexTuple bound, bool before)
{
	BetreeKey	key;

	betree_key_from_pivot(&so->bt, bound, &key);
	if (before && betree_key_compare_pivot(&so->bt, &key, page->high) < 0)
		page->high = bound;
	if (!before && betree_key_compare_pivot(&so->bt, &key, page->low) > 0)
		page->low = bound;
}

/*
 * Set the bounds of the range that the step reads, of a child of the locked
 * leaf parent, and take note of the one at which the next step begins.
 */
static void
set_bounds(BetreeScanOpaque so, BetreeScanPage *page, int child,
		   IndexTuple from, ScanDirection dir)
{
	BetreeRel  *bt = &so->bt;
	Page		node = BufferGetPage(so->reader.nodebuf);
	BlockNumber blkno = BufferGetBlockNumber(so->reader.nodebuf);
	bool		forward = ScanDirectionIsForward(dir);

	page->low = CopyIndexTuple(BetreeNodeGetPivot(node, child));
	page->high = CopyIndexTuple(BetreeNodeGetUpper(node, child));
	if (from != NULL)
	{
		BetreeKey	bound;

		/* damaged pivots must not send us round in circles */
		betree_key_from_pivot(bt, from, &bound);
		if (forward ?
			betree_key_compare_pivot(bt, &bound, page->high) >= 0 :
			betree_key_compare_pivot(bt, &bound, page->low) <= 0)
			betree_block_report_order(bt->rel, blkno);

		/* a merge of leaves may have put "from" inside the child's range */
		narrow(so, page, from, !forward);
	}
	if (so->part_end != NULL)	/* the same, of the next part's beginning */
		narrow(so, page, CopyIndexTuple(so->part_end), forward);

	if (from == NULL || dir != so->reader.walk_dir)
		betree_walk_begin(&so->reader.walk, so->context);
	so->reader.walk_dir = dir;
	betree_walk_step(bt->rel, &so->reader.walk, forward ? page->high : page->low,
					 blkno);
}

/*
 * betree_step_read
 *		Read the next leaf's range in the given direction into "page".
 *
 * "from" is the bound at which the last step ended, or NULL to begin at the
 * end of the scan's range.  Returns false if the range is exhausted.
 */
bool
betree_step_read(BetreeScanOpaque so, BetreeScanPage *page, IndexTuple from,
				 ScanDirection dir)
{
	bool		forward = ScanDirectionIsForward(dir);
	BetreeRel  *bt = &so->bt;
	BetreeKey	key;
	BetreeKey	low;
	BetreeKey	high;
	BetreeKey  *first = &low;
	BetreeKey  *last = &high;
	bool		moved = false;
	Buffer		leafbuf;
	int			child;
	MemoryContext oldcontext = MemoryContextSwitchTo(page->context);

	Assert(so->begun);
	Assert(page->nitems == 0 && !BufferIsValid(page->pin));

	betree_entry_begin(bt->rel);
	if (from == NULL)
		key = forward ? so->quals.lower : so->quals.upper;
	else
	{
		/* "from" may belong to the page that we fill now */
		from = CopyIndexTuple(from);
		betree_key_from_pivot(bt, from, &key);
	}
	if (!betree_quals_skip(&so->bt, &so->quals, from, dir, &key, &moved))
	{
		MemoryContextSwitchTo(oldcontext);
		betree_entry_end(bt->rel);
		return false;
	}

	child = locate(so, &key, dir, &leafbuf);
	set_bounds(so, page, child, from, dir);
	betree_key_from_pivot(bt, page->low, &low);
	betree_key_from_pivot(bt, page->high, &high);

	/* windows are narrower than the scan's range */
	if (so->quals.nsets == 0 &&
		betree_key_compare_pivot(bt, &so->quals.lower, page->low) > 0)
		first = &so->quals.lower;
	if (so->quals.nsets == 0 &&
		betree_key_compare_pivot(bt, &so->quals.upper, page->high) < 0)
		last = &so->quals.upper;
	if (moved && forward)
		first = &key;
	else if (moved)
		last = &key;
	if (BufferIsValid(leafbuf))
	{
		betree_block_lock(bt->rel, leafbuf, BUFFER_LOCK_SHARE);
		betree_block_verify_page(bt->rel, leafbuf, BETREE_LEAF, 0);
		ecp_test_for_old_snapshot(so->snapshot, bt->rel, BufferGetPage(leafbuf));
		betree_merge_leaf(so, page, BufferGetPage(leafbuf), first, last);
		LockBuffer(leafbuf, BUFFER_LOCK_UNLOCK);
	}
	else
		betree_merge_leaf(so, page, NULL, first, last);
	LockBuffer(so->reader.nodebuf, BUFFER_LOCK_UNLOCK);

	if (so->interlock && page->nitems > 0)
	{
		page->pin = leafbuf;
		if (BufferIsValid(so->reader.messages.guard))
		{
			IncrBufferRefCount(so->reader.messages.guard);
			page->guard = so->reader.messages.guard;
		}
	}
	else if (BufferIsValid(leafbuf))
		ReleaseBuffer(leafbuf);
	MemoryContextSwitchTo(oldcontext);
	betree_entry_end(bt->rel);
	return true;
}
