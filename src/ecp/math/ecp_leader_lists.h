/*-------------------------------------------------------------------------
 *
 * ecp_leader_lists.h
 *	  Lists of leaders near to each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LEADER_LISTS_H
#define ECP_LEADER_LISTS_H

#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* What finds leaders of rows; see ecp_leader_lists.c. */
typedef struct EcpLeaderLists EcpLeaderLists;

/* Bytes of the lists of n leaders, 0 if they are too few for one. */
extern Size ecp_leader_lists_bytes(EcpElem elem, int dims, int n);
extern void ecp_leader_lists_init(EcpLeaderLists *lists, EcpElem elem, int dims,
								  const EcpPanel *leaders, int n);
extern void ecp_leader_lists_nearest(const EcpLeaderLists *lists, const char *rows,
									 Size stride, int nrows, int32 *leaders);

#endif							/* ECP_LEADER_LISTS_H */
