/*-------------------------------------------------------------------------
 *
 * betree_descend.c
 *	  The way from the root downward.
 *
 * Locks are coupled: a child is locked before its parent is released, so a
 * block number that was read from a page is still what it was when we get
 * there.  That is why the tree needs no sibling links and no unfinished
 * splits, and why a freed page can be used again at once.  The one exception
 * is a NODE: it may be remembered without a lock and checked again
 * (betree_descend_relock).  It may have been split, merged with another one, or
 * freed and used again meanwhile; if it is a node of that level whose range
 * holds the position, it is the right node: each level has exactly one for a
 * position.
 *
 * So a descent need not begin at the root: a copy of it, which may be out of date, tells
 * the node below, which is checked.  The root must have no log, nor get one; it does
 * if log_levels is raised, which takes a lock that makes the copy be forgotten.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "base/core.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* Does the position, for the direction "strict", belong to the node? */
static bool
node_has_position(BetreeRel *bt, Page node, BetreeKey *key, bool strict)
{
	if (!strict)
		return betree_key_node_covers(bt, node, key);
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
		betree_block_verify_page(bt->rel, buf, BETREE_NODE, -1);
		wanted = mode_for_level(BetreePageGetOpaque(BufferGetPage(buf))->bteo_level,
								target, lockmode);
		if (mode == wanted)
			return buf;
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		mode = wanted;
	}
}

/*
 * Lock the node below the root, by the copy of that.  InvalidBuffer if there is none,
 * or the node is not what it was.
 */
static Buffer
lock_below_root(BetreeRel *bt, BetreeKey *key, bool strict, int level, int lockmode)
{
	Page		root = betree_rel_get_root(bt);
	BlockNumber blkno;
	Buffer		buf;
	int			at;

	/* there, nodes are locked by their parents' predicates */
	if (root == NULL || IsolationIsSerializable())
		return InvalidBuffer;
	at = BetreePageGetOpaque(root)->bteo_level - 1;
	if (at < level)
		return InvalidBuffer;
	for (int i = 0; i < key->nkeys; i++)
	{
		if (key->cmp[i]->fn_oid >= FirstGenbkiObjectId)
			return InvalidBuffer;
	}
	blkno = BetreeNodeGetChild(root, betree_key_search_node(bt, root, key, strict));
	buf = betree_block_pin(bt->rel, blkno);
	if (!ecp_buffer_is_locked(buf) &&
		betree_descend_remembered(bt, buf, key, strict, at, mode_for_level(at, level, lockmode)))
		return buf;
	ReleaseBuffer(buf);
	return InvalidBuffer;
}

/* May descents leave this root out?  It is locked. */
static bool
may_leave_out(BetreeRel *bt, Page root)
{
	int			level = BetreePageGetOpaque(root)->bteo_level;

	return level > 1 && level > bt->log_levels && !betree_node_has_log(root);
}

/*
 * betree_descend
 *		Go from the root to the NODE of "level" whose range holds "key".
 *
 * Returns it pinned and locked in "lockmode", with nothing else locked.  That
 * is the root, of a level below "level", if the tree is not so high.  "strict"
 * is as in betree_key_search_node.  "visit", if not NULL, is called with each node
 * on the way, the last one included, while it is locked; a root without a log may be
 * left out.
 */
Buffer
betree_descend(BetreeRel *bt, BetreeKey *key, bool strict, int level,
			   int lockmode, BetreeVisit visit, void *arg)
{
	Buffer		buf;
	int			at;

	Assert(level >= 1);
	Assert(lockmode == BUFFER_LOCK_SHARE || lockmode == BUFFER_LOCK_EXCLUSIVE);

	buf = lock_below_root(bt, key, strict, level, lockmode);
	if (!BufferIsValid(buf))
	{
		buf = lock_root(bt, level, lockmode);
		if (may_leave_out(bt, BufferGetPage(buf)))
			betree_rel_set_root(bt, BufferGetPage(buf));
	}
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
		childbuf = betree_block_read_child(bt->rel, page,
										   betree_key_search_node(bt, page, key, strict),
										   mode_for_level(at, level, lockmode));
		UnlockReleaseBuffer(buf);
		buf = childbuf;
	}

	/* walks go on at a bound of the node; so they must come forward */
	if (!node_has_position(bt, BufferGetPage(buf), key, strict))
		betree_block_report_order(bt->rel, BufferGetBlockNumber(buf));
	return buf;
}

/*
 * betree_descend_remembered
 *		Lock a NODE again that the caller has kept pinned, if it is still of
 *		this level and the position still belongs to it.
 *
 * Else returns false, with the node pinned, but not locked.
 */
bool
betree_descend_remembered(BetreeRel *bt, Buffer buf, BetreeKey *key, bool strict,
						  int level, int lockmode)
{
	Assert(BufferIsValid(buf));
	Assert(level >= 1);

	LockBuffer(buf, lockmode);
	if (BetreePageGetOpaque(BufferGetPage(buf))->bteo_kind == BETREE_NODE &&
		BetreePageGetOpaque(BufferGetPage(buf))->bteo_level == level)
	{
		betree_block_verify_page(bt->rel, buf, BETREE_NODE, level);
		if (node_has_position(bt, BufferGetPage(buf), key, strict))
			return true;
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	return false;
}

/*
 * betree_descend_relock
 *		Lock the NODE of "level" whose range holds "key", given one that the
 *		caller has kept pinned and that probably is it.
 *
 * Consumes the pin on "buf", returns a pinned and locked buffer.
 */
Buffer
betree_descend_relock(BetreeRel *bt, Buffer buf, BetreeKey *key, int level,
					  int lockmode)
{
	if (betree_descend_remembered(bt, buf, key, false, level, lockmode))
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
 * betree_descend_height
 *		Height of the tree: the root's level.
 */
int
betree_descend_height(BetreeRel *bt)
{
	Buffer		buf = betree_block_read(bt->rel, BETREE_ROOT_BLKNO, BUFFER_LOCK_SHARE,
										BETREE_NODE);
	int			level = BetreePageGetOpaque(BufferGetPage(buf))->bteo_level;

	UnlockReleaseBuffer(buf);
	return level;
}
