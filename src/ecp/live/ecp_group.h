/*-------------------------------------------------------------------------
 *
 * ecp_group.h
 *	  Which leaves change places together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_GROUP_H
#define ECP_GROUP_H

#include "ecp/live/ecp_maintain.h"
#include "ecp/page/ecp_page.h"

extern void ecp_group_train(Relation index, EcpMaintainCounts *counts);
extern void ecp_group_around_splits(Relation index,
									EcpMaintainCounts *counts);
extern double ecp_misplaced_share(Relation index, const EcpIndexState *state,
								  int samples);

#endif							/* ECP_GROUP_H */
