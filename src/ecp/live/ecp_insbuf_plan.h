/*-------------------------------------------------------------------------
 *
 * ecp_insbuf_plan.h
 *	  Number, size and leaders of the insert buffers of a node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_INSBUF_PLAN_H
#define ECP_INSBUF_PLAN_H

#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"

extern uint32 ecp_insbuf_plan_limit(Relation index, const EcpIndexState *state,
									int nmembers);
extern uint32 ecp_insbuf_plan_limit_held(const EcpIndexState *state, int nmembers);
extern uint32 ecp_insbuf_plan_slots(Relation index, const EcpIndexState *state);
extern int	ecp_insbuf_plan_clusters(Relation index, const EcpIndexState *state);
extern int	ecp_insbuf_plan_divide(const EcpIndexState *state,
								   const char *leaders, Size stride, int n,
								   int nbuffers, char *centres);
extern bool ecp_insbuf_plan_sides(const EcpIndexState *state,
								  const EcpNodeImage *node, uint64 seed,
								  uint8 *sides, void **centres);

#endif							/* ECP_INSBUF_PLAN_H */
