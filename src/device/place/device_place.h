/*-------------------------------------------------------------------------
 *
 * device_place.h
 *	  The placement problem of a partitioned table, read from the catalogs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_PLACE_H
#define ECP_DEVICE_PLACE_H

#include "postgres.h"

#include "fmgr.h"

#include "device/place/device_placement.h"

typedef struct EcpPlaceProblem
{
	EcpPlacement placement;
	Oid			parent;
	Oid		   *relid;			/* per group: the leaf partition */
	char	  **from;			/* per group: the tablespace it is in */
	char	  **bound;			/* per group: its partition bound, or NULL */
	bool	   *split;			/* per group: an index is elsewhere */
	bool	   *is_server;		/* per target: a foreign server, plan only */
} EcpPlaceProblem;

extern EcpPlaceProblem *ecp_place_load(Oid parent,
									   const char *place,
									   const char *weight);

#endif							/* ECP_DEVICE_PLACE_H */
