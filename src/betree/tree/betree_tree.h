/*-------------------------------------------------------------------------
 *
 * betree_tree.h
 *	  Descents from the root, and walks in key order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_TREE_H
#define BETREE_TREE_H

#include "access/itup.h"
#include "betree/order/betree_order.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* betree_descend.c: descents from the root */

/* Called with each NODE on the way down, while it is locked */
typedef void (*BetreeVisit) (void *arg, Buffer nodebuf);

extern Buffer betree_descend(BetreeRel *bt, BetreeKey *key, bool strict,
							 int level, int lockmode, BetreeVisit visit,
							 void *arg);
extern bool betree_descend_remembered(BetreeRel *bt, Buffer buf,
									  BetreeKey *key, bool strict, int level,
									  int lockmode);
extern Buffer betree_descend_relock(BetreeRel *bt, Buffer buf, BetreeKey *key,
									int level, int lockmode);
extern int	betree_descend_height(BetreeRel *bt);

/* betree_walk.c: walks in key order */

/* A walk over the tree that goes on where its last step ended */
typedef struct BetreeWalk
{
	MemoryContext context;
	IndexTuple	seen;			/* a bound that it has passed, or NULL */
	uint64		nsteps;
} BetreeWalk;

/* A walk over the nodes of a level, in key order */
typedef struct BetreeLevelWalk
{
	BetreeWalk	walk;
	int			level;
	IndexTuple	low;			/* where the next node begins */
} BetreeLevelWalk;

extern void betree_walk_begin(BetreeWalk *walk, MemoryContext context);
extern void betree_walk_step(Relation index, BetreeWalk *walk, IndexTuple bound,
							 BlockNumber blkno);
extern void betree_walk_level(BetreeLevelWalk *nodes, int level);
extern Buffer betree_walk_node(BetreeRel *bt, BetreeLevelWalk *nodes,
							   int lockmode);
extern void betree_walk_past(BetreeRel *bt, BetreeLevelWalk *nodes,
							 Buffer nodebuf);

/* betree_block_set: sets of blocks, as met by a walk over the index */

/* Blocks that a walk over the index has met, of the first "nblocks". */
typedef struct BetreeBlockSet
{
	BlockNumber nblocks;
	uint8	   *bits;
} BetreeBlockSet;

/* Empty, in the current context. */
static inline void
betree_block_set_init(BetreeBlockSet *set, BlockNumber nblocks)
{
	set->nblocks = nblocks;
	set->bits = palloc_extended(nblocks / 8 + 1,
								MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static inline bool
betree_block_set_has(const BetreeBlockSet *set, BlockNumber blkno)
{
	return blkno < set->nblocks &&
		(set->bits[blkno / 8] & (1 << (blkno % 8))) != 0;
}

/* Blocks that came into being during the walk are skipped. */
static inline void
betree_block_set_add(BetreeBlockSet *set, BlockNumber blkno)
{
	if (blkno < set->nblocks)
		set->bits[blkno / 8] |= 1 << (blkno % 8);
}

#endif							/* BETREE_TREE_H */
