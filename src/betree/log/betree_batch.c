/*-------------------------------------------------------------------------
 *
 * betree_batch.c
 *	  Batches of messages on their way down.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_page.h"

/*
 * betree_batch_init
 *		Allocate the space of a batch of at most "npages" full pages.
 */
void
betree_batch_init(BetreeBatch *batch, int npages)
{
	Assert(npages > 0 && npages <= BETREE_NCAP_MAX);

	memset(batch, 0, sizeof(BetreeBatch));
	batch->max_space = npages * BLCKSZ;
	batch->items = palloc(npages * MaxIndexTuplesPerPage *
						  sizeof(BetreeSortItem));
	batch->data = palloc(npages * BLCKSZ);
}
