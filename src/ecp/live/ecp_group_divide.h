/*-------------------------------------------------------------------------
 *
 * ecp_group_divide.h
 *	  Where the rows of a group of leaves go.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_GROUP_DIVIDE_H
#define ECP_GROUP_DIVIDE_H

#include "ecp/live/ecp_replace.h"
#include "ecp/page/ecp_page.h"

/* Rows of a group and, from ecp_group_divide(), where they go. */
typedef struct EcpGroupRows
{
	int			n;
	const char *vectors;		/* as they compare with leaders */
	Size		stride;
	int			nclusters;
	int32	   *clusters;		/* of each row */
	char	   *centres;		/* the new leaders */
	Size		centre_stride;
} EcpGroupRows;

extern void ecp_group_divide(const EcpIndexState *state,
							 const EcpReplaceTarget *target,
							 EcpGroupRows *rows);

#endif							/* ECP_GROUP_DIVIDE_H */
