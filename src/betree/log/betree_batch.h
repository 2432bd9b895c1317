/*-------------------------------------------------------------------------
 *
 * betree_batch.h
 *	  Batches of messages on their way down.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BATCH_H
#define BETREE_BATCH_H

#include "betree/order/betree_key.h"

/* Messages of one child, collected from the log of its parent */
typedef struct BetreeBatch
{
	int			nitems;
	int			space;			/* of the items, with item pointers */
	int			max_space;		/* of "data" */
	bool		set_marker;		/* the items come from the node's log */
	uint16		upto;			/* they are all it had up to this number */
	bool		complete;		/* and that is the newest sealed page */
	BetreeSortItem *items;		/* MaxIndexTuplesPerPage for each page */
	char	   *data;			/* copies of the tuples */
	int			data_used;
} BetreeBatch;

extern void betree_batch_init(BetreeBatch *batch, int npages);

#endif							/* BETREE_BATCH_H */
