/*-------------------------------------------------------------------------
 *
 * ecp_descent.h
 *	  Clusters in order of promise.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DESCENT_H
#define ECP_DESCENT_H

#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_cache.h"
#include "vector/vector_distance.h"

/* A cluster that a descent found. */
typedef struct EcpClusterRef
{
	EcpChildData child;			/* head of the cluster */
	float4		rank;			/* of its leader */
	bool		is_buffer;		/* an insert buffer, of the cluster before */
	bool		skip;			/* it has no row that counts: ecp_probe.c */
	/* where its leader stands, for maintenance: valid at the same version */
	BlockNumber parent_blk;		/* head of the parent node, Invalid = root */
	uint64		parent_run;
	uint32		parent_slot;	/* slot within the parent's run */
	/* and in memory, until the descent ends; NULL = root */
	const EcpPanel *panel;
	uint32		panel_child;
	const struct EcpNode *parent;
	/* buffers of the head run's first pages, as last seen: see EcpNode */
	Buffer	   *recent;
	int			nrecent;
} EcpClusterRef;

/*
 * Clusters of structure version state->meta.ecpm_sversion in order of
 * promise, from best-first search over the nodes with a beam that follows
 * the number of clusters asked for (at least 40 leaders are compared for
 * each cluster returned); all clusters come out in the end, each once.
 * A cluster is followed by its insert buffer if that may have rows for it that
 * were not returned before; buffers are not counted in "expected".
 *
 * Uses the leader cache; no lock and no pin is held between calls.
 * "prepared" is the query as ecp_prepare() gives it (copied).  For IP the
 * leaders are ranked by the inner product, else by L2; "assigning" ranks by
 * L2 always (build, insert, split).
 */
typedef struct EcpDescent EcpDescent;

extern EcpDescent *ecp_descent_begin(Relation index,
									 const EcpIndexState *state,
									 const void *prepared, bool assigning,
									 int expected);

/* The first n clusters will be taken; called before that, for speed only. */
extern void ecp_descent_set_ahead(EcpDescent *descent, int n);
extern bool ecp_descent_next(EcpDescent *descent, EcpClusterRef *cluster);

/*
 * Descend to the cluster that a row belongs to, whose parent stays valid until
 * ecp_descent_end().  The root is a node.
 */
extern EcpDescent *ecp_descent_nearest(Relation index,
									   const EcpIndexState *state,
									   const void *prepared,
									   EcpClusterRef *cluster);

/* Will ecp_descent_next() return an insert buffer? */
extern bool ecp_descent_at_buffer(const EcpDescent *descent);

extern void ecp_descent_end(EcpDescent *descent);

#endif							/* ECP_DESCENT_H */
