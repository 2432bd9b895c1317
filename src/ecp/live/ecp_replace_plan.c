/*-------------------------------------------------------------------------
 *
 * ecp_replace_plan.c
 *	  Step 1 of a replacement: copy the old clusters, divide their rows or
 *	  leaders among new ones.
 *
 * A split divides by 2-means, a fold or merge makes one cluster, a group is
 * divided by ecp_regroup_divide.c, and a flush is planned by ecp_flush.c.
 *
 * A node of level 1 that has buffers is split between buffers: each goes to
 * one side together with its clusters, so that searches of these clusters
 * still find the rows that wait in it, and none of them has to be moved.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/cluster/ecp_kmeans.h"
#include "ecp/live/ecp_insbuf_plan.h"
#include "ecp/live/ecp_maintain.h"
#include "ecp/live/ecp_regroup_divide.h"
#include "ecp/live/ecp_replace.h"
#include "ecp/live/ecp_replace_private.h"
#include "ecp/page/ecp_cluster.h"
#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Free slots of a new node, at least. */
#define ECP_NODE_SPARE_MIN	16

/* Slots of a new run for n items, with at least "spare" free slots. */
uint32
ecp_replace_plan_slots(const EcpGeometry *geo, int level, int n, uint32 spare)
{
	uint32		nslots;
	uint32		entry_pages;
	uint32		npages;

	Assert(n >= 0);
	if (level == 0)
		nslots = n + spare + (geo->stream ? n / 8 : 0);
	else
		nslots = n + Max(Max(n / 2, ECP_NODE_SPARE_MIN), spare);
	nslots = Min(nslots, ecp_geometry_slots(geo, ECP_RUN_PAGES_MAX));
	if (nslots < n)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cluster of %d vectors of %u bytes is too large", n,
						geo->vec_bytes)));

	/* use entry pages fully if vectors are on them */
	if (!geo->stream)
	{
		ecp_geometry_run_size(geo, nslots, &entry_pages, &npages);
		nslots = entry_pages * geo->slots;
	}
	return nslots;
}

/*
 * Append the rows of a leaf that are not copied yet, and prepare them for
 * comparison with leaders.  Returns false if the leaf is gone.
 */
bool
ecp_replace_plan_copy(EcpReplace *r, const EcpChildData *leaf, Buffer held)
{
	const EcpMetaPageData *meta = &r->state.meta;
	EcpReplaceOld *old = &r->old;
	int			first = old->rows.nrows;

	if (!ecp_cluster_rows_read(r->index, &r->state, leaf->ecpc_blk, leaf->ecpc_run,
							   held, &old->rows))
		return false;
	if (EcpRowsArePrepared(meta))
	{
		old->prepared = old->rows.vectors;
		return true;
	}
	if (old->prepared_max < old->rows.max)
	{
		Size		bytes = mul_size(old->rows.max, old->prepared_stride);

		old->prepared_max = old->rows.max;
		old->prepared = old->prepared ? repalloc_huge(old->prepared, bytes) :
			palloc_extended(bytes, MCXT_ALLOC_HUGE);
	}
	for (int i = first; i < old->rows.nrows; i++)
	{
		char	   *prepared = old->prepared + i * old->prepared_stride;
		EcpVector	vector = {0};

		vector.elem = meta->ecpm_elem;
		vector.dims = meta->ecpm_dims;
		vector.data = old->rows.vectors + i * old->rows.stride;
		if (!ecp_prepare(meta, &vector, prepared))
			memset(prepared, 0, r->state.node.vec_bytes);
	}
	return true;
}

/* Replace these children of the parent, or the root. */
void
ecp_replace_plan_old(EcpReplace *r, const int *which, int n)
{
	EcpReplaceOld *old = &r->old;

	old->n = n;
	old->which = which;
	old->children = palloc_array(EcpChildData, Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		old->children[i] = r->target->parent ?
			r->target->parent->children[which[i]] : r->state.meta.ecpm_root;
		if (old->children[i].ecpc_flags & ECP_CHILD_BUFFER)
			old->nbuffers++;
	}
}

/* Copy what is replaced.  Returns the number of rows, or of leaders. */
static int
plan_copy_old(EcpReplace *r)
{
	EcpReplaceOld *old = &r->old;

	if (r->target->level > 0)
	{
		const EcpChildData *ref = &old->children[0];

		Assert(old->n == 1);
		old->node = ecp_node_read(r->index, &r->state, r->target->level,
								  ref->ecpc_blk, ref->ecpc_run, true);
		if (old->node == NULL)
			ecp_report_moved(r->index, ref->ecpc_blk);
		return old->node->nchildren == 0 ? 0 :
			old->node->nchildren + old->node->nbuffers;
	}
	for (int i = 0; i < old->n; i++)
	{
		if (!ecp_replace_plan_copy(r, &old->children[i], InvalidBuffer))
			ecp_report_moved(r->index, old->children[i].ecpc_blk);
	}
	return old->rows.nrows;
}

/* Can n rows or leaders be replaced as wanted? */
static bool
plan_is_possible(const EcpReplace *r, int n)
{
	if (r->kind == ECP_REPLACE_DROP)
		return n == 0;
	if (r->kind == ECP_REPLACE_SPLIT || r->kind == ECP_REPLACE_GROUP)
		return n >= 2;
	return n > 0 || r->target->level == 0;
}

/*
 * Flags of new clusters.  A leaf that keeps its leader keeps its flags; members
 * of a group get those of the majority of the old ones.
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
	for (int i = 0; i < r->old.n; i++)
	{
		if (r->old.children[i].ecpc_flags & ECP_CHILD_TRAINED)
			ntrained++;
	}
	return 2 * ntrained > r->old.n - r->old.nbuffers ?
		ECP_CHILD_TRAINED : 0;
}

/* Set leader, radius and size of a new cluster whose items are known. */
static void
new_finish(EcpReplace *r, EcpNewRun *new)
{
	EcpMetaPageData *meta = &r->state.meta;
	bool		buffer = new >= &r->new.runs[r->new.n - r->new.nbuffers];
	float8		radius = 0;

	new->level = r->target->level;
	new->nslots = ecp_replace_plan_slots(EcpLevelGeometry(&r->state, new->level),
										 new->level, new->nitems,
										 new->level > 0 ? r->target->room :
										 new->extends ? 0 : r->spare);
	if (buffer)
		new->nslots = Max(new->nslots,
						  ecp_insbuf_plan_slots(r->index, &r->state));
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
 * Add up to nbuffers buffers for the clusters with these n leaders.
 * r->new.runs has room for them.
 */
void
ecp_replace_plan_buffers(EcpReplace *r, int nbuffers, const char *leaders,
						 Size stride, int n)
{
	Size		vec_bytes = r->state.node.vec_bytes;
	char	   *centres = palloc_extended(add_size(mul_size(nbuffers,
															vec_bytes), 64),
										  MCXT_ALLOC_HUGE);

	Assert(nbuffers > 0 && n > 0);
	r->new.nbuffers = ecp_insbuf_plan_divide(&r->state, leaders, stride, n,
											 nbuffers, centres);
	for (int i = 0; i < r->new.nbuffers; i++)
	{
		char	   *leader = palloc0(MAXALIGN(vec_bytes));

		memcpy(leader, centres + i * vec_bytes, vec_bytes);
		r->new.runs[r->new.n++].leader = leader;
	}
	pfree(centres);
}

/*
 * Add the clusters that ecp_regroup_divide() made of the rows from "first" on.
 * r->new.runs has room for them.
 */
void
ecp_replace_plan_clusters(EcpReplace *r, const EcpRegroupRows *rows, int first)
{
	EcpNewRun  *added = r->new.runs + r->new.n;

	Assert(first >= 0 && first + rows->n <= r->old.rows.nrows);
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
	r->new.n += rows->nclusters;
}

/* New clusters of a group, or new buffers. */
static void
divide_group(EcpReplace *r)
{
	const EcpReplaceRequest *target = r->target;
	EcpRegroupRows rows = {0};

	rows.n = r->old.rows.nrows;
	rows.vectors = r->old.prepared;
	rows.stride = r->old.prepared_stride;
	if (r->kind == ECP_REPLACE_GROUP)
		ecp_regroup_divide(&r->state, target->parent, r->old.which, r->old.n,
						   target->retrain, &rows);
	r->new.runs = palloc0_array(EcpNewRun,
								rows.nclusters + target->nbuffers + 1);
	ecp_replace_plan_clusters(r, &rows, 0);
	if (target->nbuffers > 0)
		ecp_replace_plan_buffers(r, target->nbuffers, target->parent->leaders,
								 target->parent->stride,
								 target->parent->nchildren);
}

/* None, one or two new clusters, for n rows or leaders. */
static void
divide_items(EcpReplace *r, int n)
{
	EcpMetaPageData *meta = &r->state.meta;
	const EcpReplaceRequest *target = r->target;
	EcpReplaceOld *old = &r->old;
	EcpNewRun  *runs;
	char	   *vectors = n > 0 ? EcpReplaceVector(r, 0) : NULL;
	Size		stride = target->level == 0 ? old->prepared_stride :
		old->node->stride;
	uint8	   *sides = palloc0(Max(n, 1));

	r->new.n = r->kind == ECP_REPLACE_DROP ? 0 :
		r->kind == ECP_REPLACE_SPLIT ? 2 : 1;
	r->new.runs = runs = palloc0_array(EcpNewRun, r->new.n + 1);
	for (int i = 0; i < r->new.n; i++)
	{
		runs[i].leader = palloc0(MAXALIGN(r->state.node.vec_bytes));
		runs[i].items = palloc(Max(n, 1) * sizeof(int));
	}

	if (r->kind == ECP_REPLACE_SPLIT)
	{
		void	   *centres[2] = {runs[0].leader, runs[1].leader};

		if (target->level != 1 ||
			!ecp_insbuf_plan_sides(&r->state, old->node,
								   old->children[0].ecpc_run, sides, centres))
			ecp_kmeans_two(meta->ecpm_leader_elem, meta->ecpm_dims, vectors,
						   stride, n,
						   meta->ecpm_seed ^ old->children[0].ecpc_run,
						   sides, centres);
	}
	else if (r->kind == ECP_REPLACE_MERGE && n > 0)
		ecp_kmeans_centre(meta->ecpm_leader_elem, meta->ecpm_dims, vectors,
						  stride, n, runs[0].leader);
	else if (r->new.n > 0 && target->parent)
		memcpy(runs[0].leader,
			   target->parent->leaders +
			   old->which[0] * target->parent->stride,
			   r->state.node.vec_bytes);

	for (int i = 0; i < n && r->new.n > 0; i++)
	{
		EcpNewRun  *new = &runs[sides[i]];

		new->items[new->nitems++] = i;
	}
}

/*
 * ecp_replace_plan
 *		Decide what is replaced, and by what.
 *
 * Returns false if the clusters do not have the rows for it, or the parent has
 * no room.
 */
bool
ecp_replace_plan(EcpReplace *r)
{
	const EcpReplaceRequest *target = r->target;

	ecp_cluster_rows_init(&r->old.rows, &r->state);
	r->old.prepared_stride = EcpRowsArePrepared(&r->state.meta) ?
		r->old.rows.stride : MAXALIGN(r->state.node.vec_bytes);
	if (target->flush)
	{
		if (!ecp_flush_plan(r))
			return false;
	}
	else
	{
		int			n;

		ecp_replace_plan_old(r, target->group ? target->group : target->which,
							 target->nold);
		n = plan_copy_old(r);
		if (!plan_is_possible(r, n))
			return false;
		if (EcpReplaceIsGroup(r))
			divide_group(r);
		else
			divide_items(r, n);
	}
	for (int i = 0; i < r->new.n; i++)
		new_finish(r, &r->new.runs[i]);
	return !EcpReplaceIsGroup(r) ||
		r->new.n - r->new.nextended + ECP_NODE_FREE_MIN <= target->parent->nfree;
}
