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

/*
 * Move what is at the end of the file forward, if much before it is free.  "wait"
 * is ECP_PURGE_WAIT or 0.
 */
extern void ecp_compact(Relation index, Relation heap, int wait,
						EcpMaintainCounts *counts);

/* Cut off free blocks at the end of the file, if they are many. */
extern void ecp_compact_truncate(Relation index, int elevel);

#endif							/* ECP_COMPACT_H */
