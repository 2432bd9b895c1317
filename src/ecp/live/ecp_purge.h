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

extern void ecp_purge_stamp(Relation index);
extern uint32 ecp_purge(Relation index, Relation heap, bool all);
extern bool ecp_purge_for_insert(Relation index, Relation heap);

#endif							/* ECP_PURGE_H */
