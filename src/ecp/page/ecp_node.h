/*-------------------------------------------------------------------------
 *
 * ecp_node.h
 *	  Nodes: copies of them, and the nodes of a level.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_NODE_H
#define ECP_NODE_H

#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "nodes/pg_list.h"

/* A node copied from its pages: the children visible at one version. */
typedef struct EcpNodeImage
{
	EcpRun		head;
	int			level;
	uint32		valid_from;		/* versions that have the same children, while */
	uint32		valid_until;	/* ecpr_change stays; exclusive end */
	uint32		nfree;			/* slots that can be had: free, from
								 * ecpr_free_hint on */
	int			nchildren;
	int			nbuffers;		/* in the same arrays, behind the children */
	EcpChildData *children;
	uint32	   *slots;			/* of the children within the run */
	char	   *leaders;		/* stride bytes each; NULL if not wanted */
	Size		stride;
} EcpNodeImage;

/* Check the head of a node of any level. */
extern void ecp_node_check_header(Relation index, Buffer buffer,
								  const EcpIndexState *state);
extern EcpNodeImage *ecp_node_try_read(Relation index,
									   const EcpIndexState *state, int level,
									   BlockNumber blk, uint64 run,
									   bool leaders);
extern EcpNodeImage *ecp_node_read(Relation index, const EcpIndexState *state,
								   int level, BlockNumber blk, uint64 run,
								   bool leaders);
extern void ecp_node_image_free(EcpNodeImage *node);

/* Element of the list of ecp_node_collect(). */
typedef struct EcpNodeRef
{
	EcpChildData child;
	int			level;
} EcpNodeRef;

/* All nodes of one level (or all levels, -1), parents before children. */
extern List *ecp_node_collect(Relation index, const EcpIndexState *state,
							  int level);

#endif							/* ECP_NODE_H */
