/*-------------------------------------------------------------------------
 *
 * ecp_replace_plan.c
 *	  Which rows or leaders go to which new cluster of a replacement, and how
 *	  large it is.
 *
 * Step 1 of ecp_replace.c has copied what the old clusters have.  A split
 * divides it by 2-means, a fold or merge puts it into one, a group is divided
 * by ecp_regroup_divide.c and a flush of a buffer by ecp_flush.c.
 *
 * A node of level 1 that has buffers is split between buffers: each goes to
 * one side together with its clusters, so that the rows which wait in it stay
 * where searches of these clusters look for them, and need not be moved.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/cluster/ecp_kmeans.h"
#include "ecp/live/ecp_insbuf_plan.h"
#include "ecp/live/ecp_regroup_divide.h"
#include "ecp/live/ecp_replace.h"
#include "ecp/live/ecp_replace_private.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Free slots that a rewritten node gets at least. */
#define ECP_NODE_SPARE_MIN	16

/* Slots of a new run for n items, "spare" of which are free at least. */
uint32
ecp_replace_slots(const EcpGeometry *geo, int level, int n, uint32 spare)
{
	uint32		nslots;
	uint32		entry_pages;
	uint32		npages;

	Assert(n >= 0);
	if (level == 0)
		nslots = n + spare + (geo->stream ? n / 8 : 0);
	else
		nslots = n + Max(Max(n / 2, ECP_NODE_SPARE_MIN), spare);
	nslots = Min(nslots, ecp_slots_in_pages(geo, ECP_RUN_PAGES_MAX));
	if (nslots < n)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cluster of %d vectors of %u bytes is too large", n,
						geo->vec_bytes)));

	/* slots on the entry pages cost nothing more if vectors are there */
	if (!geo->stream)
	{
		ecp_run_size(geo, nslots, &entry_pages, &npages);
		nslots = entry_pages * geo->slots;
	}
	return nslots;
}

int
ecp_replace_count(const EcpReplace *r)
{
	return r->target->level == 0 ? r->rows.nrows :
		r->node->nchildren + r->node->nbuffers;
}

/*
 * Flags of new clusters.  A leaf that keeps its leader keeps what is said of
 * it; members of a group are as most of the old ones were.
 */
static uint16
new_flags(const EcpReplace *r)
{
	int			ntrained = 0;

	if (r->target->level > 0 || (r->kind != ECP_REPLACE_GROUP &&
								 r->kind != ECP_REPLACE_FOLD))
		return 0;
	if (r->target->retrain)
		return ECP_CHILD_TRAINED;
	for (int i = 0; i < r->nold; i++)
	{
		if (r->old[i].ecpc_flags & ECP_CHILD_TRAINED)
			ntrained++;
	}
	return 2 * ntrained > r->nold - r->nold_buffers ?
		ECP_CHILD_TRAINED : 0;
}

/* Set leader, radius and size of a new cluster whose items are known. */
static void
new_finish(EcpReplace *r, EcpNewRun *new)
{
	EcpMetaPageData *meta = &r->state.meta;
	bool		buffer = new >= &r->new[r->nnew - r->nbuffers];
	float8		radius = 0;

	new->level = r->target->level;
	new->nslots = ecp_replace_slots(EcpLevelGeometry(&r->state, new->level),
									new->level, new->nitems,
									new->level > 0 ? r->target->room :
									new->extends ? 0 : r->spare);
	if (buffer)
		new->nslots = Max(new->nslots,
						  ecp_insbuf_slots(r->index, &r->state));
	for (int i = 0; i < new->nitems; i++)
	{
		float8		d = ecp_leader_distance(meta, new->leader,
											EcpReplaceVector(r, new->items[i]));

		radius = Max(radius, d);
	}
	new->child.ecpc_radius = radius;
	new->child.ecpc_nrows = new->nitems;
	new->child.ecpc_flags = buffer ? ECP_CHILD_BUFFER : new_flags(r);
	new->child.ecpc_vfrom = meta->ecpm_sversion + 1;
	new->child.ecpc_vto = ECP_V_NONE;
}

/*
 * At most so many buffers, for the clusters with these leaders.  r->new has
 * room for them.
 */
void
ecp_replace_add_buffers(EcpReplace *r, int nbuffers, const char *leaders,
						Size stride, int n)
{
	Size		vec_bytes = r->state.node.vec_bytes;
	char	   *centres = palloc_extended(add_size(mul_size(nbuffers,
															vec_bytes), 64),
										  MCXT_ALLOC_HUGE);

	Assert(nbuffers > 0 && n > 0);
	r->nbuffers = ecp_insbuf_divide(&r->state, leaders, stride, n, nbuffers,
									centres);
	for (int i = 0; i < r->nbuffers; i++)
	{
		char	   *leader = palloc0(MAXALIGN(vec_bytes));

		memcpy(leader, centres + i * vec_bytes, vec_bytes);
		r->new[r->nnew++].leader = leader;
	}
	pfree(centres);
}

/*
 * The clusters that ecp_regroup_divide() made of the rows from "first" on.
 * r->new has room for them.
 */
void
ecp_replace_add_clusters(EcpReplace *r, const EcpRegroupRows *rows, int first)
{
	EcpNewRun  *added = r->new + r->nnew;

	Assert(first >= 0 && first + rows->n <= r->rows.nrows);
	for (int i = 0; i < rows->n; i++)
		added[rows->clusters[i]].nitems++;
	for (int i = 0; i < rows->nclusters; i++)
	{
		added[i].leader = rows->centres + i * rows->centre_stride;
		added[i].items = palloc(Max(added[i].nitems, 1) * sizeof(int));
		added[i].nitems = 0;
	}
	for (int i = 0; i < rows->n; i++)
	{
		EcpNewRun  *new = &added[rows->clusters[i]];

		new->items[new->nitems++] = first + i;
	}
	r->nnew += rows->nclusters;
}

/* The same for a group: as ecp_regroup_divide() says; or for new buffers. */
static void
divide_group(EcpReplace *r)
{
	const EcpReplaceRequest *target = r->target;
	EcpRegroupRows rows = {0};

	rows.n = r->rows.nrows;
	rows.vectors = r->prepared;
	rows.stride = r->prepared_stride;
	if (r->kind == ECP_REPLACE_GROUP)
		ecp_regroup_divide(&r->state, target->parent, r->which, r->nold,
						   target->retrain, &rows);
	r->new = palloc0((rows.nclusters + target->nbuffers + 1) * sizeof(EcpNewRun));
	ecp_replace_add_clusters(r, &rows, 0);
	if (target->nbuffers > 0)
		ecp_replace_add_buffers(r, target->nbuffers, target->parent->leaders,
								target->parent->stride,
								target->parent->nchildren);
}

/*
 * Sides of a split of a node with buffers.  Returns false if it has none, or
 * they cannot be divided so that both sides have clusters.
 */
static bool
divide_between_buffers(const EcpReplace *r, uint8 *sides, void **centres)
{
	return r->target->level == 1 &&
		ecp_insbuf_sides(&r->state, r->node, r->old[0].ecpc_run, sides,
						 centres);
}

/* Decide which items go to which new cluster. */
static void
divide_items(EcpReplace *r)
{
	EcpMetaPageData *meta = &r->state.meta;
	const EcpReplaceRequest *target = r->target;
	int			n = ecp_replace_count(r);
	char	   *vectors = n > 0 ? EcpReplaceVector(r, 0) : NULL;
	Size		stride = target->level == 0 ? r->prepared_stride : r->node->stride;
	uint8	   *sides = palloc0(Max(n, 1));

	r->nnew = r->kind == ECP_REPLACE_DROP ? 0 :
		r->kind == ECP_REPLACE_SPLIT ? 2 : 1;
	r->new = palloc0((r->nnew + 1) * sizeof(EcpNewRun));
	for (int i = 0; i < r->nnew; i++)
	{
		r->new[i].leader = palloc0(MAXALIGN(r->state.node.vec_bytes));
		r->new[i].items = palloc(Max(n, 1) * sizeof(int));
	}

	if (r->kind == ECP_REPLACE_SPLIT)
	{
		void	   *centres[2] = {r->new[0].leader, r->new[1].leader};

		if (!divide_between_buffers(r, sides, centres))
			ecp_kmeans_two(meta->ecpm_leader_elem, meta->ecpm_dims, vectors,
						   stride, n, meta->ecpm_seed ^ r->old[0].ecpc_run,
						   sides, centres);
	}
	else if (r->kind == ECP_REPLACE_MERGE && n > 0)
		ecp_kmeans_centre(meta->ecpm_leader_elem, meta->ecpm_dims, vectors, stride,
						  n, r->new[0].leader);
	else if (r->nnew > 0 && target->parent)
		memcpy(r->new[0].leader,
			   target->parent->leaders +
			   r->which[0] * target->parent->stride,
			   r->state.node.vec_bytes);

	for (int i = 0; i < n && r->nnew > 0; i++)
	{
		EcpNewRun  *new = &r->new[sides[i]];

		new->items[new->nitems++] = i;
	}
}

/*
 * ecp_replace_divide
 *		Step 1 of ecp_replace.c, its second half: what the new clusters are.
 */
void
ecp_replace_divide(EcpReplace *r)
{
	if (r->target->flush)
		ecp_flush_divide(r);
	else if (EcpReplaceIsGroup(r))
		divide_group(r);
	else
		divide_items(r);
	for (int i = 0; i < r->nnew; i++)
		new_finish(r, &r->new[i]);
}
