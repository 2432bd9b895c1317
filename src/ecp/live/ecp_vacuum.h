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
#include "ecp/live/ecp_maintain.h"

extern IndexBulkDeleteResult *ecpbulkdelete(IndexVacuumInfo *info,
											IndexBulkDeleteResult *stats,
											IndexBulkDeleteCallback callback,
											void *callback_state);
extern IndexBulkDeleteResult *ecpvacuumcleanup(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats);
extern void ecp_vacuum_measure(Relation index, double rows, double removed,
							   const EcpMaintainCounts *counts);

#endif							/* ECP_VACUUM_H */
