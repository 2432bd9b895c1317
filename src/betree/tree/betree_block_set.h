/*-------------------------------------------------------------------------
 *
 * betree_block_set.h
 *	  Sets of blocks, as met by a walk over the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BLOCK_SET_H
#define BETREE_BLOCK_SET_H

#include "storage/block.h"
#include "utils/memutils.h"

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

/* Blocks that came into being during the walk are passed over. */
static inline void
betree_block_set_add(BetreeBlockSet *set, BlockNumber blkno)
{
	if (blkno < set->nblocks)
		set->bits[blkno / 8] |= 1 << (blkno % 8);
}

#endif							/* BETREE_BLOCK_SET_H */
