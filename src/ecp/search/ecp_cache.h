/*-------------------------------------------------------------------------
 *
 * ecp_cache.h
 *	  Nodes of the leader tree, cached by the backend.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_CACHE_H
#define ECP_CACHE_H

#include "ecp/page/ecp_insbuf_map.h"
#include "ecp/page/ecp_page.h"
#include "vector/vector_distance.h"

/* A node of the leader tree, copied from its pages into a panel. */
typedef struct EcpNode
{
	BlockNumber blk;			/* head page */
	uint64		run;
	uint32		change;			/* of the head when it was read */
	uint32		sversion;		/* version for which children were chosen */
	int			level;
	int			nchildren;
	int			nbuffers;		/* in the same arrays, behind the children */
	EcpChildData *children;
	uint32	   *slots;			/* slot of each child within the run */
	EcpInsbufMap map;			/* if there are buffers */

	/*
	 * Where pages of the children were found in shared buffers: those of
	 * child i from recent[recent_first[i]] on, as many as up to the next
	 * child's.  A hint that the scan keeps here; InvalidBuffer = not known.
	 * NULL above level 1.
	 */
	Buffer	   *recent;
	uint32	   *recent_first;
	uint32		summary_page;	/* of the run: the first with summaries */
	Buffer	   *summary_recent; /* the same hint for each of these, or NULL */
	EcpPanel   *panel;			/* their leaders, metric L2 */
	EcpPanel   *ip_panel;		/* the same ranked by IP, or NULL */
	int			refcount;
} EcpNode;

/*
 * The children of a node that are visible at state's version.  Returned
 * pinned (refcount); release with ecp_cache_release().  Pins are forgotten
 * at the end of the transaction.  The cache lives as long as the backend,
 * keyed by index file and run, bounded by ecp.leader_cache.
 */
extern EcpNode *ecp_cache_get(Relation index, const EcpIndexState *state,
							  const EcpChildData *ref, int level);
extern void ecp_cache_release(EcpNode *node);
extern void ecp_cache_init(void);

#endif							/* ECP_CACHE_H */
