/*-------------------------------------------------------------------------
 *
 * ecp_limits.h
 *	  When a leaf is full, a group large enough, and the retired queue too long.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LIMITS_H
#define ECP_LIMITS_H

#include "ecp/page/ecp_page.h"

/* A split copies at most so many pages; clusters above it are cut first. */
#define ECP_SPLIT_PAGES_MAX			(ECP_RUN_PAGES_MAX / 2)

extern bool ecp_limits_too_much_retired(Relation index,
										const EcpIndexState *state);
extern uint32 ecp_limits_leaf_rows(const EcpIndexState *state);
extern double ecp_limits_regroup_rows(const EcpIndexState *state);

#endif							/* ECP_LIMITS_H */
