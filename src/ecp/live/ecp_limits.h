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

extern bool ecp_retired_too_much(Relation index,
								 const EcpIndexState *state);
extern uint32 ecp_leaf_limit(const EcpIndexState *state);
extern double ecp_group_rows_max(const EcpIndexState *state);

#endif							/* ECP_LIMITS_H */
