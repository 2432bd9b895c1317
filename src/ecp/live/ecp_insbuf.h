/*-------------------------------------------------------------------------
 *
 * ecp_insbuf.h
 *	  Creating and flushing insert buffers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_INSBUF_H
#define ECP_INSBUF_H

#include "ecp/live/ecp_maintain.h"
#include "ecp/page/ecp_page.h"

extern void ecp_insbuf_create(Relation index, const void *prepared);
extern void ecp_insbuf_flush_full(Relation index, Relation heap,
								  const void *prepared);
extern void ecp_insbuf_flush_node(Relation index, EcpChildData *ref,
								  EcpMaintainCounts *counts);
extern void ecp_insbuf_flush_all(Relation index, EcpMaintainCounts *counts);

#endif							/* ECP_INSBUF_H */
