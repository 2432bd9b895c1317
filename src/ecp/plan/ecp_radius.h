/*-------------------------------------------------------------------------
 *
 * ecp_radius.h
 *	  How many rows are within a radius.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RADIUS_H
#define ECP_RADIUS_H

#include "ecp/plan/ecp_match.h"

/*
 * The share of the index's rows within the radius of a match, from leaders and
 * a few clusters; negative if the query or the radius is not known yet.
 */
extern double ecp_radius_share(const EcpMatch *match);

#endif							/* ECP_RADIUS_H */
