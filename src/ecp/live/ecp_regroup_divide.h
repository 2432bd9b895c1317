/*-------------------------------------------------------------------------
 *
 * ecp_regroup_divide.h
 *	  Dividing the rows of a group of leaves among new clusters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_REGROUP_DIVIDE_H
#define ECP_REGROUP_DIVIDE_H

#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"

/* Rows of a group and, from ecp_regroup_divide(), their new clusters. */
typedef struct EcpRegroupRows
{
	int			n;
	const char *vectors;		/* as they compare with leaders */
	Size		stride;
	int			nclusters;
	int32	   *clusters;		/* of each row */
	char	   *centres;		/* the new leaders */
	Size		centre_stride;
} EcpRegroupRows;

extern void ecp_regroup_divide(const EcpIndexState *state,
							   const EcpNodeImage *parent, const int *which,
							   int nwhich, bool retrain, EcpRegroupRows *rows);

#endif							/* ECP_REGROUP_DIVIDE_H */
