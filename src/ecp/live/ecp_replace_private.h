/*-------------------------------------------------------------------------
 *
 * ecp_replace_private.h
 *	  What the files of a replacement share: ecp_replace.c writes and
 *	  publishes it, ecp_replace_plan.c and ecp_flush.c say what the new clusters are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_REPLACE_PRIVATE_H
#define ECP_REPLACE_PRIVATE_H

#include "ecp/live/ecp_regroup_divide.h"
#include "ecp/live/ecp_replace.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_read.h"

/* A cluster to be written, or a further run of one that stays. */
typedef struct EcpNewRun
{
	int			level;
	int			nitems;
	int		   *items;			/* numbers of rows or children */
	char	   *leader;			/* of the parent's element kind */
	const EcpChildData *extends;	/* the one that it is a run of, or NULL */
	EcpChildData child;			/* as the parent will have it */
	uint32		nslots;
} EcpNewRun;

typedef struct EcpReplace
{
	Relation	index;
	EcpIndexState state;
	EcpReplaceKind kind;
	const EcpReplaceRequest *target;
	/* what is replaced: of a flush, what ecp_flush_plan() finds worth it */
	int			nold;
	const int  *which;			/* children of the parent; a buffer last */
	EcpChildData *old;
	uint32		old_pages;
	uint32		spare;			/* free slots wanted in each new leaf */
	uint32		missed;			/* rows that came while we worked */
	int			nold_buffers;	/* of the old clusters */
	/* what is copied: rows, or the children of one node */
	EcpRowSet	rows;
	EcpNodeImage *node;
	char	   *prepared;		/* rows as they compare with leaders */
	Size		prepared_stride;
	/* of a flush: the first rows are the buffer's, and where they go */
	int32	   *members;		/* number of the cluster, of each */
	uint8	   *moves;			/* of each cluster, EcpFlushMove */
	int			nstay;			/* rows before those that are rewritten, */
	int			nrewritten;		/* and so many are the buffer's of these */
	/* what is written */
	int			nnew;			/* without a new root */
	int			nextended;		/* the first ones: further runs */
	int			nbuffers;		/* the last ones of them */
	EcpNewRun  *new;
	uint32		npages;			/* that were written with contents */
	EcpIntentData intent;
} EcpReplace;

#define EcpReplaceIsGroup(r) \
	((r)->kind == ECP_REPLACE_GROUP || (r)->kind == ECP_REPLACE_BUFFERS)

/* A row or leader that is copied, as it compares with leaders. */
#define EcpReplaceVector(r, item) \
	((r)->target->level == 0 ? \
	 (r)->prepared + (item) * (r)->prepared_stride : \
	 (r)->node->leaders + (item) * (r)->node->stride)

/* ---- ecp_replace.c ---- */

extern void ecp_replace_prepare(EcpReplace *r, int first);

/* ---- ecp_replace_plan.c ---- */

extern int	ecp_replace_count(const EcpReplace *r);
extern void ecp_replace_divide(EcpReplace *r);
extern void ecp_replace_add_buffers(EcpReplace *r, int nbuffers,
									const char *leaders, Size stride, int n);
extern void ecp_replace_add_clusters(EcpReplace *r, const EcpRegroupRows *rows,
									 int first);
extern uint32 ecp_replace_slots(const EcpGeometry *geo, int level, int n,
								uint32 spare);

/* ---- ecp_flush.c ---- */

extern void ecp_flush_plan(EcpReplace *r);
extern void ecp_flush_divide(EcpReplace *r);
extern bool ecp_flush_append(EcpReplace *r);
extern void ecp_flush_count(const EcpReplace *r);

#endif							/* ECP_REPLACE_PRIVATE_H */
