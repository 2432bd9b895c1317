/*-------------------------------------------------------------------------
 *
 * ecp_buffer.h
 *	  Making and flushing buffers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BUFFER_H
#define ECP_BUFFER_H

#include "ecp/live/ecp_maintain.h"
#include "ecp/page/ecp_page.h"

extern void ecp_buffer_create(Relation index, const void *prepared);
extern void ecp_buffer_flush_full(Relation index, Relation heap,
								  const void *prepared);
extern void ecp_buffer_flush_node(Relation index, EcpChildData *ref,
								  EcpMaintainCounts *counts);
extern void ecp_buffer_flush_all(Relation index, EcpMaintainCounts *counts);

#endif							/* ECP_BUFFER_H */
