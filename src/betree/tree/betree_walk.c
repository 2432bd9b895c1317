/*-------------------------------------------------------------------------
 *
 * betree_walk.c
 *	  Walks in key order, which damaged pivots must not send round in circles.
 *
 * In a sound index each step ends beyond the bound where it began, so every walk is
 * finite.  It is not if a damaged value has made the comparison no order: of 1.5, a
 * numeric with digits that none has, and 2, each may be less than the next.  So no
 * walk comes twice to the same bound, bit for bit: it remembers one, another after
 * 1, 2, 4, 8, ... steps (Brent 1980).  While the pages do not change, a step depends
 * on the bound alone (and on the leaf parent that a scan keeps), so a walk that does
 * not end runs in a circle; it has remembered a bound of the circle before it has
 * made three times as many steps as there are bounds.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

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
 *		has been there.
 *
 * The bound is remembered that the walk had after the last power of two steps
 * (Brent 1980).
 */
void
betree_walk_step(Relation index, BetreeWalk *walk, IndexTuple bound,
				 BlockNumber blkno)
{
	Size		size = IndexTupleSize(bound);

	Assert(walk->context != NULL);

	if (walk->seen != NULL && IndexTupleSize(walk->seen) == size &&
		memcmp(walk->seen, bound, size) == 0)
		betree_block_report_order(index, blkno);
	walk->nsteps++;
	if ((walk->nsteps & (walk->nsteps - 1)) == 0)
	{
		if (walk->seen != NULL)
			pfree(walk->seen);
		walk->seen = betree_image_copy(walk->context, bound);
	}
}

/*
 * betree_walk_level
 *		Begin a walk over the nodes of a level, in key order.
 *
 * Each step descends from the root, so nothing is locked between two nodes.
 */
void
betree_walk_level(BetreeLevelWalk *nodes, int level)
{
	memset(nodes, 0, sizeof(BetreeLevelWalk));
	betree_walk_begin(&nodes->walk, CurrentMemoryContext);
	nodes->level = level;
	nodes->low = betree_node_infinite_pivot(false);
}

/*
 * betree_walk_node
 *		The node to look at, pinned and locked in "lockmode"; InvalidBuffer behind
 *		the last one.  It is the same again until betree_walk_past().
 */
Buffer
betree_walk_node(BetreeRel *bt, BetreeLevelWalk *nodes, int lockmode)
{
	BetreeKey	key;

	CHECK_FOR_INTERRUPTS();

	if (BetreePivotGetNatts(nodes->low) == BETREE_NATTS_PLUSINF)
		return InvalidBuffer;
	betree_key_from_pivot(bt, nodes->low, &key);
	return betree_descend(bt, &key, false, nodes->level, lockmode, NULL, NULL);
}

/*
 * betree_walk_past
 *		Go on behind a node, which is locked.
 */
void
betree_walk_past(BetreeRel *bt, BetreeLevelWalk *nodes, Buffer nodebuf)
{
	IndexTuple	hikey = BetreeNodeGetHikey(BufferGetPage(nodebuf));

	pfree(nodes->low);
	nodes->low = betree_image_copy(nodes->walk.context, hikey);
	betree_walk_step(bt->rel, &nodes->walk, hikey, BufferGetBlockNumber(nodebuf));
}
