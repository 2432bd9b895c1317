/*-------------------------------------------------------------------------
 *
 * ecp_batch_node.h
 *	  The node of a plan that reads query vectors ahead.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BATCH_NODE_H
#define ECP_BATCH_NODE_H

#include "nodes/plannodes.h"

/* For fewer outer rows, scans are as fast. */
#define ECP_BATCH_ROWS_MIN	8

/*
 * A plan that returns the rows of "outer", of which "vector" is what scans of an index,
 * for the k nearest, will be asked about; k = 0 if the LIMIT is not known yet.
 */
extern CustomScan *ecp_batch_node_create(Plan *outer, Node *vector, Oid index, int k);
extern void ecp_batch_node_init(void);

#endif							/* ECP_BATCH_NODE_H */
