/*-------------------------------------------------------------------------
 *
 * betree_split.h
 *	  Splitting nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_SPLIT_H
#define BETREE_SPLIT_H

#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"

extern BlockNumber betree_split_node(BetreeRel *bt, BetreeKey *key, int level);

#endif							/* BETREE_SPLIT_H */
