/*-------------------------------------------------------------------------
 *
 * ecp_limits.h
 *	  Limits of leaves, groups of leaves, and the retired queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LIMITS_H
#define ECP_LIMITS_H

#include "ecp/page/ecp_page.h"

/* Pages that a split copies at most; larger clusters are cut first. */
#define ECP_SPLIT_PAGES_MAX			(ECP_RUN_PAGES_MAX / 2)

extern bool ecp_limits_too_much_retired(Relation index,
										const EcpIndexState *state);
extern uint32 ecp_limits_leaf_rows(const EcpIndexState *state);
extern double ecp_limits_regroup_rows(const EcpIndexState *state);

#endif							/* ECP_LIMITS_H */
