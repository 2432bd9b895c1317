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
#include "storage/block.h"
#include "utils/rel.h"

/* A walk over the tree that goes on where its last step ended */
typedef struct BetreeWalk
{
	MemoryContext context;
	IndexTuple	seen;			/* a bound that it has passed, or NULL */
	uint64		nsteps;
} BetreeWalk;

extern void betree_walk_begin(BetreeWalk *walk, MemoryContext context);
extern void betree_walk_step(Relation index, BetreeWalk *walk, IndexTuple bound,
							 BlockNumber blkno);

#endif							/* BETREE_WALK_H */
