/*-------------------------------------------------------------------------
 *
 * ecp_purge.h
 *	  Freeing retired clusters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PURGE_H
#define ECP_PURGE_H

#include "utils/rel.h"

/* How ecp_purge() frees clusters: */
#define ECP_PURGE_FEW	0x01	/* even if they are few */
#define ECP_PURGE_NOW	0x02	/* also if the horizon has not passed, but no
								 * snapshot exists */
#define ECP_PURGE_SOME	0x04	/* only some of them, for a short time */
#define ECP_PURGE_WAIT	0x08	/* wait a while for snapshots, if there are
								 * many; ECP_PURGE_NOW is set, too */

extern void ecp_purge_stamp(Relation index);
extern uint32 ecp_purge(Relation index, Relation heap, int how);
extern bool ecp_purge_for_insert(Relation index, Relation heap, int how);

#endif							/* ECP_PURGE_H */
