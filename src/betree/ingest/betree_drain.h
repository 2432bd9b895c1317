/*-------------------------------------------------------------------------
 *
 * betree_drain.h
 *	  Drains: moving messages down.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_DRAIN_H
#define BETREE_DRAIN_H

#include "betree/order/betree_rel.h"

extern void betree_drain_node(BetreeRel *bt, BlockNumber blkno, int level,
							  int *budget);
extern void betree_drain_all(BetreeRel *bt);

#endif							/* BETREE_DRAIN_H */
