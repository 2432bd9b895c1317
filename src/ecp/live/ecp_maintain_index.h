/*-------------------------------------------------------------------------
 *
 * ecp_maintain_index.h
 *	  Maintenance of a whole index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_MAINTAIN_INDEX_H
#define ECP_MAINTAIN_INDEX_H

#include "ecp/live/ecp_maintain.h"

extern void ecp_maintain_index(Relation index, Relation heap, bool thorough,
							   bool train, EcpMaintainCounts *counts);

#endif							/* ECP_MAINTAIN_INDEX_H */
