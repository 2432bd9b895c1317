/*-------------------------------------------------------------------------
 *
 * betree_upkeep.h
 *	  VACUUM, and freeing empty leaves and nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_UPKEEP_H
#define BETREE_UPKEEP_H

#include "access/genam.h"
#include "access/itup.h"
#include "betree/order/betree_order.h"

/* betree_vacuum.c: VACUUM of a betree index */

extern IndexBulkDeleteResult *betreebulkdelete(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats,
											   IndexBulkDeleteCallback callback,
											   void *callback_state);
extern IndexBulkDeleteResult *betreevacuumcleanup(IndexVacuumInfo *info,
												  IndexBulkDeleteResult *stats);

/* betree_shrink.c: freeing empty leaves, merging nodes */

extern bool betree_shrink_leaf(BetreeRel *bt, IndexTuple low,
							   IndexBulkDeleteResult *stats);
extern bool betree_shrink_nodes(BetreeRel *bt, IndexTuple low, IndexTuple end,
								BlockNumber *last,
								IndexBulkDeleteResult *stats);

#endif							/* BETREE_UPKEEP_H */
