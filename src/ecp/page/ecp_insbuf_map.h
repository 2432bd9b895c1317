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
} EcpInsbufMap;

extern void ecp_insbuf_map(const EcpMetaPageData *meta, const char *leaders,
						   Size stride, int nchildren, int nbuffers,
						   EcpInsbufMap *map);

#endif							/* ECP_INSBUF_MAP_H */
