/*-------------------------------------------------------------------------
 *
 * ecp_attr_tree.h
 *	  Conditions on key attributes below AND and OR.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_ATTR_TREE_H
#define ECP_ATTR_TREE_H

#include "ecp/page/ecp_attr.h"

typedef struct EcpAttrTree EcpAttrTree;

/* What the comparison of a strategy is called in a tree; NULL if there is none. */
extern const char *ecp_attr_tree_operator(int kind, int strategy);

extern EcpAttrTree *ecp_attr_tree_create(const EcpAttrDesc *desc,
										 const ScanKeyData *key);

/* Of n <= 64 slots of an entry page, those that fulfil the condition. */
extern uint64 ecp_attr_tree_match(const EcpAttrTree *tree,
								  const EcpGeometry *geo,
								  const EcpEntryView *view, int first, int n);

#endif							/* ECP_ATTR_TREE_H */
