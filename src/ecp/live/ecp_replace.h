/*-------------------------------------------------------------------------
 *
 * ecp_replace.h
 *	  Replacing clusters; the maintenance lock is held.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_REPLACE_H
#define ECP_REPLACE_H

#include "ecp/page/ecp_cluster.h"
#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"

/* Free slots of a new leaf, for rows inserted in the meantime. */
#define ECP_LEAF_SPARE		4

/* A buffer to be flushed, and the clusters whose rows it holds. */
typedef struct EcpFlush
{
	int			buffer;			/* child of the parent */
	int			nmembers;
	const int  *members;		/* children of the parent */
	const EcpClusterSize *sizes;	/* of the members */
	bool		empties;		/* no row stays buffered */
} EcpFlush;

/* The clusters to be replaced; parent NULL = the root. */
typedef struct EcpReplaceRequest
{
	int			level;			/* of the clusters */
	const EcpNodeImage *parent;
	int			nold;
	int			which[2];		/* children of parent */
	const int  *group;			/* or of a group, more of them */
	bool		retrain;		/* a group: new leaders, not moved ones */
	bool		copy;			/* a group: the same leaves elsewhere */
	const EcpFlush *flush;		/* a group that is a flush: without nold and
								 * group, which follow from what waits */
	int			nbuffers;		/* new buffers; of a flush, 0 or 1: with or
								 * without */
	uint32		room;			/* a node: free slots that it should have */
	EcpChildData *result;		/* gets what the first new one is, or NULL */
} EcpReplaceRequest;

typedef enum EcpReplaceKind
{
	ECP_REPLACE_FOLD,			/* one by one, without holes */
	ECP_REPLACE_SPLIT,			/* one by two */
	ECP_REPLACE_MERGE,			/* two by one */
	ECP_REPLACE_DROP,			/* an empty one by nothing */
	ECP_REPLACE_GROUP,			/* many leaves by many, rows change places */
	ECP_REPLACE_BUFFERS			/* nothing by empty buffers of a node */
} EcpReplaceKind;

extern bool ecp_replace(Relation index, EcpReplaceKind kind,
						const EcpReplaceRequest *target);

/* Slots of a new run for n items, with at least "spare" free slots. */
extern uint32 ecp_replace_plan_slots(const EcpGeometry *geo, int level, int n,
									 uint32 spare);

/* Undo what ecpm_op names, if anything.  The maintenance lock is held. */
extern void ecp_replace_undo(Relation index);

#endif							/* ECP_REPLACE_H */
