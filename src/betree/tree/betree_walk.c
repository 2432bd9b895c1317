/*-------------------------------------------------------------------------
 *
 * betree_walk.c
 *	  Walks in key order, which damaged pivots must not send round in circles.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/page/betree_block.h"
#include "betree/tree/betree_walk.h"

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
		IndexTuple	copy = MemoryContextAlloc(walk->context, size);

		memcpy(copy, bound, size);
		if (walk->seen != NULL)
			pfree(walk->seen);
		walk->seen = copy;
	}
}
