/*-------------------------------------------------------------------------
 *
 * betree_vacuum.h
 *	  VACUUM of a betree index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_VACUUM_H
#define BETREE_VACUUM_H

#include "access/genam.h"

extern IndexBulkDeleteResult *betreebulkdelete(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats,
											   IndexBulkDeleteCallback callback,
											   void *callback_state);
extern IndexBulkDeleteResult *betreevacuumcleanup(IndexVacuumInfo *info,
												  IndexBulkDeleteResult *stats);

#endif							/* BETREE_VACUUM_H */
