/*-------------------------------------------------------------------------
 *
 * ecp_replace_private.h
 *	  Replacing clusters, and dividing the rows of a group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_REPLACE_PRIVATE_H
#define ECP_REPLACE_PRIVATE_H

#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"

/*
 * ecp_regroup_divide.c: dividing the rows of a group of leaves among new clusters.
 */

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

/* A cluster to be written, or a further run of one that stays. */
typedef struct EcpNewRun
{
	int			level;
	int			nitems;
	int		   *items;			/* numbers of rows or children */
	int			nadded;			/* the last ones: since the others were
								 * divided */
	char	   *leader;			/* of the parent's element kind */
	const EcpChildData *extends;	/* the one that it is a run of, or NULL */
	EcpChildData child;			/* as the parent will have it */
	uint32		nslots;
	char	   *summary;		/* of a leaf's rows, late ones included, or
								 * NULL */
} EcpNewRun;

/* What is replaced, with copies of what it has. */
typedef struct EcpReplaceOld
{
	int			n;
	const int  *which;			/* children of the parent; a buffer last */
	EcpChildData *children;
	int			nbuffers;		/* among them */
	EcpRowSet	rows;			/* of leaves, one after the other */
	int		   *first;			/* those of each leaf begin here */
	char	   *prepared;		/* rows as they compare with leaders */
	int			prepared_max;
	Size		prepared_stride;
	EcpNodeImage *node;			/* or the children of one node */
} EcpReplaceOld;

/* What is written instead. */
typedef struct EcpReplaceNew
{
	int			n;				/* without a new root */
	int			nextended;		/* the first ones: further runs */
	int			nbuffers;		/* the last ones of them */
	EcpNewRun  *runs;
} EcpReplaceNew;

/*
 * A replacement.  ecp_replace_plan.c fills "old" and "new"; the rest belongs to
 * ecp_replace.c.
 */
typedef struct EcpReplace
{
	Relation	index;
	EcpIndexState state;
	EcpReplaceKind kind;
	const EcpReplaceRequest *target;
	uint32		spare;			/* free slots wanted in each new leaf that
								 * rows inserted in the meantime may go to */
	EcpReplaceOld old;
	EcpReplaceNew new;
	EcpIntentData intent;
	uint32		npages_retired;
	uint32		nlate;			/* rows inserted since they were copied */
} EcpReplace;

#define EcpReplaceIsGroup(r) \
	((r)->kind == ECP_REPLACE_GROUP || (r)->kind == ECP_REPLACE_BUFFERS)

/* A row or leader that is copied, as it compares with leaders. */
#define EcpReplaceVector(r, item) \
	((r)->target->level == 0 ? \
	 (r)->old.prepared + (item) * (r)->old.prepared_stride : \
	 (r)->old.node->leaders + (item) * (r)->old.node->stride)

/* ---- ecp_replace_plan.c ---- */

extern bool ecp_replace_plan(EcpReplace *r);
extern void ecp_replace_plan_copy(EcpReplace *r, const EcpChildData *leaf,
								  Buffer held);

#endif							/* ECP_REPLACE_PRIVATE_H */
