/*-------------------------------------------------------------------------
 *
 * ecp_compact.h
 *	  Giving back the end of the file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_COMPACT_H
#define ECP_COMPACT_H

#include "ecp/live/ecp_maintain.h"

/* Move what is at the end of the file forward, if much before it is free. */
extern void ecp_compact(Relation index, Relation heap, bool thorough,
						EcpMaintainCounts *counts);

/* Cut off free blocks at the end of the file, if they are many, or "few", too. */
extern void ecp_compact_truncate(Relation index, int elevel, bool few);

#endif							/* ECP_COMPACT_H */
