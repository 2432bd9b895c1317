/*-------------------------------------------------------------------------
 *
 * betree_place.h
 *	  Inserting one tuple into a leaf, past the logs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_PLACE_H
#define BETREE_PLACE_H

#include "access/itup.h"
#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"
#include "storage/buf.h"
#include "storage/bufpage.h"

extern bool betree_place_is_at_end(BetreeRel *bt, Page node, BetreeKey *key);
extern bool betree_place_is_inside(BetreeRel *bt, IndexTuple message,
								   IndexTuple itup);
extern bool betree_place_begins_leaf(BetreeRel *bt, Page page, IndexTuple itup);
extern bool betree_place_insert(BetreeRel *bt, Buffer leafbuf, IndexTuple itup,
								bool last);

#endif							/* BETREE_PLACE_H */
