/*-------------------------------------------------------------------------
 *
 * ecp_regroup.h
 *	  Regrouping leaves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_REGROUP_H
#define ECP_REGROUP_H

#include "ecp/live/ecp_maintain.h"
#include "ecp/page/ecp_page.h"

extern void ecp_regroup_train(Relation index, Relation heap, bool train,
							  bool thorough, EcpMaintainCounts *counts);
extern void ecp_regroup_shrunk(Relation index, Relation heap,
							   EcpMaintainCounts *counts);
extern void ecp_regroup_around_splits(Relation index,
									  EcpMaintainCounts *counts);
extern double ecp_regroup_misassigned(Relation index, const EcpIndexState *state,
									  int samples);

#endif							/* ECP_REGROUP_H */
