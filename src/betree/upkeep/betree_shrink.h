/*-------------------------------------------------------------------------
 *
 * betree_shrink.h
 *	  Freeing empty leaves, merging nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_SHRINK_H
#define BETREE_SHRINK_H

#include "access/genam.h"
#include "access/itup.h"
#include "betree/order/betree_rel.h"

extern bool betree_shrink_leaf(BetreeRel *bt, IndexTuple low,
							   IndexBulkDeleteResult *stats);
extern bool betree_shrink_nodes(BetreeRel *bt, IndexTuple low, IndexTuple end,
								BlockNumber *last,
								IndexBulkDeleteResult *stats);

#endif							/* BETREE_SHRINK_H */
