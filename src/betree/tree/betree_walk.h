/*-------------------------------------------------------------------------
 *
 * betree_walk.h
 *	  Walks in key order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_WALK_H
#define BETREE_WALK_H

#include "access/itup.h"
#include "betree/order/betree_rel.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/rel.h"

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

#endif							/* BETREE_WALK_H */
