/*-------------------------------------------------------------------------
 *
 * ecp_maintain.h
 *	  Maintenance: splits, folds, merges.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_MAINTAIN_H
#define ECP_MAINTAIN_H

#include "ecp/page/ecp_page.h"

/* Free slots that a node needs before one of its children is replaced. */
#define ECP_NODE_FREE_MIN			4

/* What maintenance did, for ecp_maintain() and VACUUM (VERBOSE). */
typedef struct EcpMaintainCounts
{
	uint32		splits;
	uint32		folds;
	uint32		merges;
	uint32		drops;
	uint32		groups;
	uint32		regrouped;		/* leaves in them, before */
	uint32		flushes;		/* of buffers */
	uint32		purged_pages;
} EcpMaintainCounts;

extern void ecp_maintain_renew_node(Relation index, BlockNumber blk, uint64 run,
									int level, uint32 room);
extern void ecp_maintain_fold_node(Relation index, EcpChildData *ref, uint32 room);

extern void ecp_maintain_pause(Relation index);

/*
 * Wait a moment for other transactions to end.  Returns false, without waiting,
 * after "tries", which begins at 0, of a second, or, in autovacuum, ten.
 */
extern bool ecp_maintain_wait(int *tries);
extern void ecp_maintain_full_leaf(Relation index, const void *prepared);
extern void ecp_maintain_leaves(Relation index, EcpMaintainCounts *counts);

#endif							/* ECP_MAINTAIN_H */
