/*-------------------------------------------------------------------------
 *
 * ecp_vacuum.h
 *	  VACUUM of an ecp index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_VACUUM_H
#define ECP_VACUUM_H

#include "access/genam.h"

extern IndexBulkDeleteResult *ecpbulkdelete(IndexVacuumInfo *info,
											IndexBulkDeleteResult *stats,
											IndexBulkDeleteCallback callback,
											void *callback_state);
extern IndexBulkDeleteResult *ecpvacuumcleanup(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats);

#endif							/* ECP_VACUUM_H */
