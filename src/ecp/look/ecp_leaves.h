/*-------------------------------------------------------------------------
 *
 * ecp_leaves.h
 *	  The clusters and insert buffers of an index, one after the other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LEAVES_H
#define ECP_LEAVES_H

#include "ecp/page/ecp_page.h"

/* A cluster or an insert buffer, as its parent refers to it. */
typedef struct EcpLeafRef
{
	EcpChildData child;
	bool		is_buffer;
} EcpLeafRef;

/* All leaves of a version in the order of the tree, and its nodes. */
typedef struct EcpLeaves
{
	int			n;
	EcpLeafRef *refs;
	int64		nnodes;
	int64		node_pages;
	int64		dead_leaders;	/* slots of leaders that were replaced */
} EcpLeaves;

/* What to copy of the rows of a leaf. */
#define ECP_LEAF_TIDS		0x01
#define ECP_LEAF_VECTORS	0x02

/* The contents of a leaf. */
typedef struct EcpLeafRows
{
	int			nruns;
	uint32		nslots;
	uint32		npages;
	uint32		nrows;
	ItemPointerData *tids;		/* if wanted, else NULL */
	char	   *vectors;		/* the same; vec_bytes each, and
								 * ECP_KERNEL_SLACK bytes more */
	uint32		max;			/* rows that there is room for */
} EcpLeafRows;

extern void ecp_leaves_collect(Relation index, const EcpIndexState *state,
							   EcpLeaves *leaves);
extern void ecp_leaf_read(Relation index, const EcpIndexState *state,
						  const EcpLeafRef *ref, int want, EcpLeafRows *rows);
extern void ecp_leaf_rows_free(EcpLeafRows *rows);

#endif							/* ECP_LEAVES_H */
