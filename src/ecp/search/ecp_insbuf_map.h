/*-------------------------------------------------------------------------
 *
 * ecp_insbuf_map.h
 *	  Which insert buffer of a node takes the rows of which cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_INSBUF_MAP_H
#define ECP_INSBUF_MAP_H

#include "ecp/page/ecp_page.h"

/*
 * Which buffer of a node takes the rows of which cluster (ecp_insbuf.c): that
 * with the nearest leader.  A buffer without clusters follows another one.
 */
typedef struct EcpInsbufMap
{
	int32	   *buffer_of;		/* each child */
	int32	   *nmembers;		/* children of each buffer */
	int32	   *next;			/* of each buffer, one that follows it, or -1 */
	int32	   *keeper;			/* of a buffer without clusters: the nearest */
	uint64	   *bins;			/* of the children of each buffer */
} EcpInsbufMap;

/* What a search has read of an insert buffer. */
typedef struct EcpInsbufTaken
{
	uint64		bins;			/* bins whose rows were read */
	int			place;			/* for the caller's use */
} EcpInsbufTaken;

struct EcpNode;

extern void ecp_insbuf_map(const EcpMetaPageData *meta,
						   const EcpChildData *children, const char *leaders,
						   Size stride, int nchildren, int nbuffers,
						   EcpInsbufMap *map);
extern uint64 ecp_insbuf_take(const EcpIndexState *state,
							  const struct EcpNode *node, uint32 child,
							  EcpInsbufTaken *taken);

#endif							/* ECP_INSBUF_MAP_H */
