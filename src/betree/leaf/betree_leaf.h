/*-------------------------------------------------------------------------
 *
 * betree_leaf.h
 *	  Merging batches of messages into leaves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_LEAF_H
#define BETREE_LEAF_H

#include "betree/log/betree_batch.h"
#include "betree/order/betree_rel.h"
#include "storage/buf.h"

extern bool betree_leaf_fits(Page page, BetreeBatch *batch);
extern bool betree_leaf_share(BetreeRel *bt, Buffer nodebuf, int child,
							  Buffer leafbuf, Buffer nextbuf,
							  BetreeBatch *batch, BetreeBatch *next_batch);
extern bool betree_leaf_merge(BetreeRel *bt, Buffer nodebuf, int child,
							  Buffer leafbuf, BetreeBatch *batch);

#endif							/* BETREE_LEAF_H */
