/*-------------------------------------------------------------------------
 *
 * ecp_buffer_map.h
 *	  Which buffer of a node takes the rows of which cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BUFFER_MAP_H
#define ECP_BUFFER_MAP_H

#include "ecp/page/ecp_page.h"

/*
 * Which buffer of a node takes the rows of which cluster (ecp_buffer.c): that
 * with the nearest leader.  A buffer without clusters follows another one.
 */
typedef struct EcpBufferMap
{
	int32	   *buffer_of;		/* each child */
	int32	   *nmembers;		/* children of each buffer */
	int32	   *next;			/* of each buffer, one that follows it, or -1 */
	int32	   *keeper;			/* of a buffer without clusters: the nearest */
	uint64	   *bins;			/* of the children of each buffer */
} EcpBufferMap;

/* What a search has taken of a buffer. */
typedef struct EcpBufferTaken
{
	uint64		bins;			/* whose rows */
	int			place;			/* a number that the taker keeps here */
} EcpBufferTaken;

struct EcpNode;

extern void ecp_buffer_map(const EcpMetaPageData *meta,
						   const EcpChildData *children, const char *leaders,
						   Size stride, int nchildren, int nbuffers,
						   EcpBufferMap *map);
extern uint64 ecp_buffer_take(const EcpIndexState *state,
							  const struct EcpNode *node, uint32 child,
							  EcpBufferTaken *taken);

#endif							/* ECP_BUFFER_MAP_H */
