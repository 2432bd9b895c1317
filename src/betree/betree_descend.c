/*-------------------------------------------------------------------------
 *
 * betree_descend.c
 *	  Reading and allocating pages, and the way from the root downward.
 *
 * Locks are coupled: a child is locked before its parent is released, so a
 * block number that was read from a page is still what it was when we get
 * there.  That is why the tree needs no sibling links and no unfinished
 * splits, and why a freed page can be used again at once.  The one exception
 * is a NODE, which is never freed and whose range only ever shrinks: it may
 * be remembered without a lock and checked again (betree_relock_node).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree.h"

#include "access/heapam.h"
#include "miscadmin.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"

static BetreeEntry *entered = NULL;

/*
 * betree_enter
 *		Begin to work on an index with locks on its pages; see betree_leave.
 *
 * Functions of operator classes and types run under these locks.  One that
 * uses the same index would wait for its own backend, and a wait for a content
 * lock cannot be cancelled; in a temporary index, whose pages have no locks, it
 * would change what we are about to change.  This makes that an error.
 */
void
betree_enter(BetreeEntry *entry, Relation rel)
{
	for (BetreeEntry *outer = entered; outer != NULL; outer = outer->outer)
	{
		if (outer->relid == RelationGetRelid(rel))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("cannot access index \"%s\" from a function that it calls",
							RelationGetRelationName(rel)),
					 errdetail("The functions of an operator class run while pages of the index are locked.")));
	}
	entry->relid = RelationGetRelid(rel);
	entry->outer = entered;
	entered = entry;
}

/*
 * betree_leave
 *		End that; to be called also if an error was thrown.
 */
void
betree_leave(BetreeEntry *entry)
{
	Assert(entered == entry);

	entered = entry->outer;
}

/*
 * betree_report_page
 *		The error for a page that cannot be what an index has there.
 */
void
betree_report_page(BetreeRel *bt, Buffer buf)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains unexpected page at block %u",
					RelationGetRelationName(bt->rel),
					BufferGetBlockNumber(buf)),
			 errhint("Please REINDEX it.")));
}

/*
 * betree_verify_page
 *		Complain if the page is not what the caller's path says it is.
 *
 * "level" is not looked at if negative.
 */
void
betree_verify_page(BetreeRel *bt, Buffer buf, int kind, int level)
{
	Page		page = BufferGetPage(buf);
	PageHeader	header = (PageHeader) page;
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	bool		valid;

	Assert(ecp_buffer_is_share_locked(buf));
	Assert(level < BETREE_MAX_HEIGHT);

	valid = !PageIsNew(page) &&
		PageGetPageSize(page) == BLCKSZ &&
		header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_upper == MAXALIGN(header->pd_upper) &&
		(kind == BETREE_FILTER ||
		 PageGetMaxOffsetNumber(page) <= MaxIndexTuplesPerPage) &&
		PageGetSpecialSize(page) >= sizeof(BetreePageOpaqueData) &&
		opaque->bteo_page_id == BETREE_PAGE_ID &&
		opaque->bteo_kind == kind &&
		(level < 0 || opaque->bteo_level == level);
	if (valid && kind == BETREE_NODE)
		valid = opaque->bteo_level > 0 &&
			opaque->bteo_level < BETREE_MAX_HEIGHT &&
			opaque->bteo_ncap <= BETREE_NCAP_MAX &&
			PageGetSpecialSize(page) == MAXALIGN(BetreeNodeSpecialSize(opaque->bteo_ncap)) &&
			opaque->bteo_nlog <= opaque->bteo_ndir &&
			opaque->bteo_ndir <= opaque->bteo_ncap &&
			PageGetMaxOffsetNumber(page) >= BETREE_FIRST_PIVOT;
	else if (valid)
		valid = PageGetSpecialSize(page) == sizeof(BetreePageOpaqueData) &&
			opaque->bteo_nsorted <= PageGetMaxOffsetNumber(page) &&
			(kind != BETREE_LEAF || opaque->bteo_level == 0);
	if (!valid)
		betree_report_page(bt, buf);
}

/*
 * betree_lock
 *		LockBuffer() for a page that another page, which is locked, refers to.
 *
 * In a damaged index it may refer to a page that we have locked ourselves, and
 * waiting for that would never end.
 */
void
betree_lock(BetreeRel *bt, Buffer buf, int lockmode)
{
	if (ecp_buffer_is_locked(buf))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" refers to block %u from below or twice",
						RelationGetRelationName(bt->rel),
						BufferGetBlockNumber(buf)),
				 errhint("Please REINDEX it.")));
	LockBuffer(buf, lockmode);
}

/*
 * Is a block in a relation?  What the storage manager knows of the length
 * mostly saves asking the kernel.  The index is not truncated while it is open.
 */
static inline bool
block_exists(Relation rel, BlockNumber blkno)
{
	BlockNumber nblocks = RelationGetSmgr(rel)->smgr_cached_nblocks[MAIN_FORKNUM];

	return (nblocks != InvalidBlockNumber && blkno < nblocks) ||
		blkno < RelationGetNumberOfBlocks(rel);
}

/*
 * betree_tid_exists
 *		May a row of the table have this TID?  Known of heaps only.
 */
bool
betree_tid_exists(Relation heap, ItemPointer tid)
{
	return ItemPointerIsValid(tid) &&
		(heap->rd_tableam != GetHeapamTableAmRoutine() ||
		 (ItemPointerGetOffsetNumberNoCheck(tid) <= MaxHeapTuplesPerPage &&
		  block_exists(heap, ItemPointerGetBlockNumber(tid))));
}

/*
 * betree_verify_block
 *		Complain if a block number that a page gave us is not in the index.
 *
 * The storage manager would say that it could not open or read a file; and to
 * read InvalidBlockNumber is to extend it.
 */
void
betree_verify_block(BetreeRel *bt, BlockNumber blkno)
{
	if (unlikely(!block_exists(bt->rel, blkno)))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" refers to block %u, which is beyond its end",
						RelationGetRelationName(bt->rel), blkno),
				 errhint("Please REINDEX it.")));
}

/* Pin a page that another page refers to */
Buffer
betree_pin(BetreeRel *bt, BlockNumber blkno)
{
	betree_verify_block(bt, blkno);
	return ReadBuffer(bt->rel, blkno);
}

/* Read, lock and check a page of the given kind */
Buffer
betree_read(BetreeRel *bt, BlockNumber blkno, int lockmode, int kind)
{
	Buffer		buf;

	Assert(kind >= BETREE_META && kind <= BETREE_FREE);

	buf = betree_pin(bt, blkno);
	betree_lock(bt, buf, lockmode);
	betree_verify_page(bt, buf, kind, -1);
	return buf;
}

/* The same for child "child" of a NODE, which is locked */
Buffer
betree_read_child(BetreeRel *bt, Page node, int child, int lockmode)
{
	int			level = BetreePageGetOpaque(node)->bteo_level - 1;
	Buffer		buf;

	Assert(level >= 0);
	Assert(child >= 0 && child < BetreeNodeNumChildren(node));

	buf = betree_pin(bt, BetreeNodeGetChild(node, child));
	betree_lock(bt, buf, lockmode);
	betree_verify_page(bt, buf, level > 0 ? BETREE_NODE : BETREE_LEAF, level);
	return buf;
}

/*
 * betree_alloc
 *		Get a page to write, exclusively locked; its content is garbage.
 *
 * The free space map is a hint, not crash safe, and may name a page that is
 * not there, or that we ourselves have locked: so try the lock, and look at
 * the page.
 */
Buffer
betree_alloc(BetreeRel *bt)
{
	Buffer		buf;
	bool		extend_lock = !RELATION_IS_LOCAL(bt->rel);

	for (;;)
	{
		BlockNumber blkno = GetFreeIndexPage(bt->rel);

		if (blkno == InvalidBlockNumber)
			break;
		if (!block_exists(bt->rel, blkno))
			continue;
		buf = ReadBuffer(bt->rel, blkno);
		if (ConditionalLockBuffer(buf))
		{
			if (betree_page_is_reusable(BufferGetPage(buf)))
				return buf;
			LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		}
		ReleaseBuffer(buf);
	}

	if (extend_lock)
		LockRelationForExtension(bt->rel, ExclusiveLock);
	buf = ReadBuffer(bt->rel, P_NEW);
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	if (extend_lock)
		UnlockRelationForExtension(bt->rel, ExclusiveLock);
	return buf;
}

/*
 * betree_report_order
 *		The error for a NODE whose pivots lead nowhere or backward.
 */
void
betree_report_order(BetreeRel *bt, BlockNumber blkno)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" has pivots out of order at block %u",
					RelationGetRelationName(bt->rel), blkno),
			 errhint("Please REINDEX it.")));
}

/*
 * betree_walk_begin
 *		Begin a walk in key order; what it remembers is kept in "context".
 */
void
betree_walk_begin(BetreeWalk *walk, MemoryContext context)
{
	if (walk->seen != NULL)
		pfree(walk->seen);
	walk->context = context;
	walk->seen = NULL;
	walk->nsteps = 0;
}

/*
 * betree_walk_step
 *		Take note that a walk goes on at "bound", of node "blkno".  Complain if it
 *		has been there: see "Walks" in the README.
 *
 * The bound is remembered that the walk had after the last power of two steps
 * (Brent 1980).
 */
void
betree_walk_step(BetreeRel *bt, BetreeWalk *walk, IndexTuple bound,
				 BlockNumber blkno)
{
	Size		size = IndexTupleSize(bound);

	Assert(walk->context != NULL);

	if (walk->seen != NULL && IndexTupleSize(walk->seen) == size &&
		memcmp(walk->seen, bound, size) == 0)
		betree_report_order(bt, blkno);
	walk->nsteps++;
	if ((walk->nsteps & (walk->nsteps - 1)) == 0)
	{
		IndexTuple	copy = MemoryContextAlloc(walk->context, size);

		memcpy(copy, bound, size);
		if (walk->seen != NULL)
			pfree(walk->seen);
		walk->seen = copy;
	}
}

/* Does the position, for the direction "strict", belong to the node? */
static bool
node_has_position(BetreeRel *bt, Page node, BetreeKey *key, bool strict)
{
	if (!strict)
		return betree_node_covers(bt, node, key);
	return betree_key_compare_pivot(bt, key, BetreeNodeGetHikey(node)) <= 0 &&
		betree_key_compare_pivot(bt, key, BetreeNodeGetPivot(node, 0)) > 0;
}

/* Lock mode for a node of "level" on the way to "target" */
static inline int
mode_for_level(int level, int target, int lockmode)
{
	return level <= target ? lockmode : BUFFER_LOCK_SHARE;
}

/* Lock the root; its level is known only when it is locked */
static Buffer
lock_root(BetreeRel *bt, int target, int lockmode)
{
	Buffer		buf = ReadBuffer(bt->rel, BETREE_ROOT_BLKNO);
	int			mode = BUFFER_LOCK_SHARE;

	for (;;)
	{
		int			wanted;

		LockBuffer(buf, mode);
		betree_verify_page(bt, buf, BETREE_NODE, -1);
		wanted = mode_for_level(BetreePageGetOpaque(BufferGetPage(buf))->bteo_level,
								target, lockmode);
		if (mode == wanted)
			return buf;
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		mode = wanted;
	}
}

/*
 * betree_descend
 *		Go from the root to the NODE of "level" whose range holds "key".
 *
 * Returns it pinned and locked in "lockmode", with nothing else locked.  That
 * is the root, of a level below "level", if the tree is not so high.  "strict"
 * is as in betree_node_search.  "visit", if not NULL, is called with each node
 * on the way, the last one included, while it is locked.
 */
Buffer
betree_descend(BetreeRel *bt, BetreeKey *key, bool strict, int level,
			   int lockmode, BetreeVisit visit, void *arg)
{
	Buffer		buf;
	int			at;

	Assert(level >= 1);
	Assert(lockmode == BUFFER_LOCK_SHARE || lockmode == BUFFER_LOCK_EXCLUSIVE);

	buf = lock_root(bt, level, lockmode);
	at = BetreePageGetOpaque(BufferGetPage(buf))->bteo_level;
	for (;;)
	{
		Page		page = BufferGetPage(buf);
		Buffer		childbuf;

		if (visit != NULL)
			visit(arg, buf);
		if (at <= level)
			break;
		at--;
		childbuf = betree_read_child(bt, page,
									 betree_node_search(bt, page, key, strict),
									 mode_for_level(at, level, lockmode));
		UnlockReleaseBuffer(buf);
		buf = childbuf;
	}

	/* walks go on at a bound of the node; so they must come forward */
	if (!node_has_position(bt, BufferGetPage(buf), key, strict))
		betree_report_order(bt, BufferGetBlockNumber(buf));
	return buf;
}

/*
 * betree_lock_remembered
 *		Lock a NODE again that the caller has kept pinned, if it is still of
 *		this level and the position still belongs to it.
 *
 * Else returns false, with the node pinned, but not locked.
 */
bool
betree_lock_remembered(BetreeRel *bt, Buffer buf, BetreeKey *key, bool strict,
					   int level, int lockmode)
{
	Assert(BufferIsValid(buf));
	Assert(level >= 1);

	LockBuffer(buf, lockmode);
	if (BetreePageGetOpaque(BufferGetPage(buf))->bteo_level == level)
	{
		betree_verify_page(bt, buf, BETREE_NODE, level);
		if (node_has_position(bt, BufferGetPage(buf), key, strict))
			return true;
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	return false;
}

/*
 * betree_relock_node
 *		Lock the NODE of "level" whose range holds "key", given one that the
 *		caller has kept pinned and that probably is it.
 *
 * Consumes the pin on "buf", returns a pinned and locked buffer.
 */
Buffer
betree_relock_node(BetreeRel *bt, Buffer buf, BetreeKey *key, int level,
				   int lockmode)
{
	if (betree_lock_remembered(bt, buf, key, false, level, lockmode))
		return buf;
	ReleaseBuffer(buf);

	buf = betree_descend(bt, key, false, level, lockmode, NULL, NULL);
	if (BetreePageGetOpaque(BufferGetPage(buf))->bteo_level != level)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has no level %d any more",
						RelationGetRelationName(bt->rel), level),
				 errhint("Please REINDEX it.")));
	return buf;
}

/*
 * betree_height
 *		Height of the tree: the root's level.
 */
int
betree_height(BetreeRel *bt)
{
	Buffer		buf = betree_read(bt, BETREE_ROOT_BLKNO, BUFFER_LOCK_SHARE,
								  BETREE_NODE);
	int			level = BetreePageGetOpaque(BufferGetPage(buf))->bteo_level;

	UnlockReleaseBuffer(buf);
	return level;
}
