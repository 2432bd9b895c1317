/*-------------------------------------------------------------------------
 *
 * ecp_replace_plan.c
 *	  Step 1 of a replacement: copy the old clusters, divide their rows or
 *	  leaders among new ones.
 *
 * A split divides by 2-means, a fold or merge makes one cluster, a group is
 * divided by ecp_regroup_divide.c, and so are the clusters that a flush rewrites.
 *
 * A node of level 1 that has buffers is split between buffers: each goes to
 * one side together with its clusters, so that searches of these clusters
 * still find the rows that wait in it, and none of them has to be moved.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/stop_point.h"
#include "ecp/live/ecp_live.h"
#include "ecp/live/ecp_replace_private.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Runs that a cluster may have before it is rewritten. */
#define ECP_FLUSH_RUNS			3

/* A cluster with fewer than 1/n of the mean waiting rows is not flushed. */
#define ECP_FLUSH_FEW			2

/* Free slots of a new node, at least. */
#define ECP_NODE_SPARE_MIN	16

/* Slots of a new run for n items, with at least "spare" free slots. */
uint32
ecp_replace_plan_slots(const EcpGeometry *geo, int level, int n, uint32 spare)
{
	uint32		nslots = n + spare;

	Assert(n >= 0);
	if (level > 0)
		nslots = n + Max(Max(n / 2, ECP_NODE_SPARE_MIN), spare);
	nslots = Min(nslots, ecp_geometry_slots(geo, ECP_RUN_PAGES_MAX));
	if (nslots < n)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cluster of %d vectors of %u bytes is too large", n,
						geo->vec_bytes)));
	return ecp_geometry_full_slots(geo, nslots);
}

/*
 * Append the rows of a leaf that are not copied yet, and prepare them for
 * comparison with leaders.
 */
void
ecp_replace_plan_copy(EcpReplace *r, const EcpChildData *leaf, Buffer held)
{
	const EcpMetaPageData *meta = &r->state.meta;
	EcpReplaceOld *old = &r->old;
	int			first = old->rows.nrows;

	ecp_cluster_rows_read(r->index, &r->state, leaf->ecpc_blk, leaf->ecpc_run, held,
						  &old->rows);
	if (EcpRowsArePrepared(meta))
	{
		old->prepared = old->rows.vectors;
		return;
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

		if (!ecp_prepare_row(meta, old->rows.vectors + i * old->rows.stride, prepared))
			memset(prepared, 0, r->state.node.vec_bytes);
	}
}

/* Replace these children of the parent, or the root. */
static void
plan_old(EcpReplace *r, const int *which, int n)
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
		return old->node->nchildren == 0 ? 0 :
			old->node->nchildren + old->node->nbuffers;
	}
	old->first = palloc_array(int, old->n + 1);
	for (int i = 0; i < old->n; i++)
	{
		old->first[i] = old->rows.nrows;
		ecp_replace_plan_copy(r, &old->children[i], InvalidBuffer);
	}
	old->first[old->n] = old->rows.nrows;
	return old->rows.nrows;
}

/* Can n rows or leaders be replaced as wanted? */
static bool
plan_is_possible(const EcpReplace *r, int n)
{
	if (r->kind == ECP_REPLACE_DROP)
		return n == 0;
	if (r->kind == ECP_REPLACE_SPLIT ||
		(r->kind == ECP_REPLACE_GROUP && !r->target->copy))
		return n >= 2;
	return n > 0 || r->target->level == 0;
}

/*
 * Flags of new clusters.  A leaf that keeps its leader keeps its flags; members
 * of a group get those of the majority of the old ones.
 */
static uint16
new_flags(const EcpReplace *r, const EcpNewRun *new)
{
	int			ntrained = 0;

	if (r->target->level > 0 || (r->kind != ECP_REPLACE_GROUP &&
								 r->kind != ECP_REPLACE_FOLD))
		return 0;
	if (r->target->copy)
		return r->old.children[new - r->new.runs].ecpc_flags;
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

/*
 * Free slots that a new run should have; copies have those of a build.  Rows inserted in the meantime go to
 * buffers, if there are any (replace_put_late()).
 */
static uint32
new_spare(const EcpReplace *r, const EcpNewRun *new, bool buffer)
{
	uint32		spare = r->state.leaf.stream && !r->target->copy ?
		new->nitems / 8 : 0;

	if (new->level > 0)
		return r->target->room;
	if (new->extends)
		return spare;
	return spare +
		(r->new.nbuffers > 0 && !buffer ? ECP_LEAF_SPARE : r->spare);
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
										 new_spare(r, new, buffer));
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
	new->child.ecpc_flags = buffer ? ECP_CHILD_BUFFER : new_flags(r, new);
	new->child.ecpc_vfrom = meta->ecpm_sversion + 1;
	new->child.ecpc_vto = ECP_V_NONE;
}

/*
 * Add up to nbuffers buffers for the clusters with these n leaders.
 * r->new.runs has room for them.
 */
static void
plan_buffers(EcpReplace *r, int nbuffers, const char *leaders,
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
static void
plan_clusters(EcpReplace *r, const EcpRegroupRows *rows, int first)
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

/* Each leaf of a group becomes one with the same leader and rows. */
static void
divide_copy(EcpReplace *r)
{
	const EcpReplaceOld *old = &r->old;
	const EcpNodeImage *parent = r->target->parent;

	r->new.n = old->n;
	r->new.runs = palloc0_array(EcpNewRun, old->n + 1);
	for (int i = 0; i < old->n; i++)
	{
		EcpNewRun  *new = &r->new.runs[i];

		new->leader = parent->leaders + old->which[i] * parent->stride;
		new->nitems = old->first[i + 1] - old->first[i];
		new->items = palloc_array(int, Max(new->nitems, 1));
		for (int k = 0; k < new->nitems; k++)
			new->items[k] = old->first[i] + k;
	}
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
	plan_clusters(r, &rows, 0);
	if (target->nbuffers > 0)
		plan_buffers(r, target->nbuffers, target->parent->leaders,
					 target->parent->stride,
					 target->parent->nchildren);
}

/* The nearest new leaf with fewer rows than "limit", or else the nearest. */
static EcpNewRun *
plan_nearest(const EcpReplace *r, int row, int limit)
{
	EcpNewRun  *nearest = NULL;
	float8		nearest_d = 0;

	for (int i = 0; i < r->new.n; i++)
	{
		EcpNewRun  *new = &r->new.runs[i];
		bool		full = new->nitems >= limit;
		float8		d = ecp_leader_distance(&r->state.meta, new->leader,
											EcpReplaceVector(r, row));

		if (nearest == NULL || full < (nearest->nitems >= limit) ||
			(full == (nearest->nitems >= limit) && d < nearest_d))
		{
			nearest = new;
			nearest_d = d;
		}
	}
	return nearest;
}

/*
 * Add the rows that were inserted while the others were divided, which may be
 * many: few are late then (replace_put_late()).
 */
static void
plan_add_rows(EcpReplace *r)
{
	EcpReplaceOld *old = &r->old;
	int			first = old->rows.nrows;
	int			limit = 2 * ecp_limits_leaf_rows(&r->state);
	EcpNewRun **places;

	ECP_STOP_POINT("group-divided");
	for (int i = 0; i < old->n; i++)
		ecp_replace_plan_copy(r, &old->children[i], InvalidBuffer);
	places = palloc_extended(mul_size(old->rows.nrows - first + 1,
									  sizeof(EcpNewRun *)), MCXT_ALLOC_HUGE);
	for (int row = first; row < old->rows.nrows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		places[row - first] = plan_nearest(r, row, limit);
		places[row - first]->nitems++;
	}
	for (int i = 0; i < r->new.n; i++)
		r->new.runs[i].items = repalloc(r->new.runs[i].items,
										Max(r->new.runs[i].nitems, 1) * sizeof(int));
	/* from behind: nitems says where each place's next one goes */
	for (int row = old->rows.nrows - 1; row >= first; row--)
	{
		EcpNewRun  *new = places[row - first];

		new->items[new->nitems - ++new->nadded] = row;
	}
	pfree(places);
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

/* ---- the flush of a buffer ---- */

/*
 * A flush should write few blocks for each row that it moves.  What that
 * costs depends on how many rows wait for a cluster and how many it has:
 *
 * - Few wait (less than half of the mean): they stay buffered in the next
 *	 buffer until writing their cluster is worthwhile, unless the buffers are
 *	 to be emptied.
 * - They and the cluster's rows are within the limit of a cluster: they become
 *	 a further run of it.  Of the other pages of the cluster only the one that
 *	 links to that run is written.
 * - Otherwise the cluster is rewritten, together with all others for which
 *	 this is true, as clusters of the usual size with leaders from k-means.
 *	 This leaves room for two flushes.
 *
 * A further run is part of the cluster from the version that the flush
 * publishes (ecpr_vfrom), which is also the first without the old buffer.  A
 * reader of an older version finds the rows in the buffer only, a reader of
 * this version or a newer one in the run only.
 */

/* What happens to the rows that wait for a cluster. */
typedef enum EcpFlushMove
{
	ECP_MOVE_WAIT,
	ECP_MOVE_APPEND,
	ECP_MOVE_REWRITE
} EcpFlushMove;

/* The buffer's rows, the first ones of those copied. */
typedef struct EcpFlushPlan
{
	int			nrows;
	int			nstay;			/* before those whose clusters are rewritten */
	int32	   *members;		/* number of the cluster, of each row */
	EcpFlushMove *moves;		/* of each cluster */
} EcpFlushPlan;

/* Number of the nearest cluster, for each row of the buffer. */
static void
flush_assign(const EcpReplace *r, EcpFlushPlan *plan)
{
	const EcpMetaPageData *meta = &r->state.meta;
	const EcpFlush *flush = r->target->flush;
	const EcpNodeImage *parent = r->target->parent;
	char	   *leaders = palloc_extended(mul_size(flush->nmembers, parent->stride),
										  MCXT_ALLOC_HUGE);

	for (int i = 0; i < flush->nmembers; i++)
		memcpy(leaders + i * parent->stride,
			   parent->leaders + flush->members[i] * parent->stride, parent->stride);
	ecp_kmeans_nearest(meta->ecpm_leader_elem, meta->ecpm_dims, leaders, parent->stride,
					   flush->nmembers, r->old.prepared, r->old.prepared_stride,
					   plan->nrows, plan->members, NULL);
	pfree(leaders);
}

/* What is done with a cluster for which "waiting" rows wait. */
static EcpFlushMove
flush_decide(const EcpReplace *r, const EcpFlushPlan *plan, int member,
			 int waiting)
{
	const EcpFlush *flush = r->target->flush;
	const EcpClusterSize *size = &flush->sizes[member];

	Assert(member >= 0 && member < flush->nmembers);
	if (waiting == 0)
		return ECP_MOVE_WAIT;
	if (!flush->empties &&
		(double) waiting * flush->nmembers * ECP_FLUSH_FEW < plan->nrows)
		return ECP_MOVE_WAIT;
	if (r->target->nbuffers > 0 && size->nruns < ECP_FLUSH_RUNS &&
		size->nrows_about + waiting <= ecp_limits_leaf_rows(&r->state))
		return ECP_MOVE_APPEND;
	return ECP_MOVE_REWRITE;
}

/* Exchange two rows that were copied. */
static void
flush_swap(EcpReplace *r, EcpFlushPlan *plan, int a, int b, char *scratch)
{
	EcpReplaceOld *old = &r->old;
	EcpRowSet  *rows = &old->rows;
	ItemPointerData tid = rows->tids[a];
	int32		member = plan->members[a];
	char	   *x = rows->vectors + a * rows->stride;
	char	   *y = rows->vectors + b * rows->stride;

	rows->tids[a] = rows->tids[b];
	rows->tids[b] = tid;
	plan->members[a] = plan->members[b];
	plan->members[b] = member;
	memcpy(scratch, x, rows->stride);
	memcpy(x, y, rows->stride);
	memcpy(y, scratch, rows->stride);
	if (old->prepared == rows->vectors)
		return;
	x = old->prepared + a * old->prepared_stride;
	y = old->prepared + b * old->prepared_stride;
	memcpy(scratch, x, old->prepared_stride);
	memcpy(x, y, old->prepared_stride);
	memcpy(y, scratch, old->prepared_stride);
}

/*
 * Decide for each cluster, and put the rows of clusters that are rewritten
 * behind the others.  What is replaced are these clusters and the buffer.
 */
static void
flush_choose(EcpReplace *r, EcpFlushPlan *plan)
{
	const EcpFlush *flush = r->target->flush;
	int		   *counts = palloc0_array(int, flush->nmembers);
	int		   *which = palloc_array(int, flush->nmembers + 1);
	char	   *scratch = palloc(Max(r->old.rows.stride,
									 r->old.prepared_stride));
	int			n = 0;

	for (int i = 0; i < plan->nrows; i++)
		counts[plan->members[i]]++;
	for (int i = 0; i < flush->nmembers; i++)
	{
		plan->moves[i] = flush_decide(r, plan, i, counts[i]);
		if (plan->moves[i] == ECP_MOVE_REWRITE)
			which[n++] = flush->members[i];
		else if (plan->moves[i] == ECP_MOVE_APPEND)
			r->new.nextended++;
	}
	plan->nstay = plan->nrows;
	for (int i = 0; i < plan->nstay;)
	{
		if (plan->moves[plan->members[i]] != ECP_MOVE_REWRITE)
			i++;
		else if (i != --plan->nstay)
			flush_swap(r, plan, i, plan->nstay, scratch);
	}
	which[n++] = flush->buffer;
	plan_old(r, which, n);
	pfree(scratch);
	pfree(counts);
}

/* Add the buffer's rows that make this move to the runs "places". */
static void
flush_add_rows(const EcpReplace *r, const EcpFlushPlan *plan,
			   EcpFlushMove move, EcpNewRun **places)
{
	for (int i = 0; i < plan->nstay; i++)
	{
		if (plan->moves[plan->members[i]] == move)
			places[plan->members[i]]->nitems++;
	}
	for (int i = 0; i < r->target->flush->nmembers; i++)
	{
		EcpNewRun  *place = places[i];

		if (plan->moves[i] != move || place->items != NULL)
			continue;
		place->items = palloc(Max(place->nitems, 1) * sizeof(int));
		place->nitems = 0;
	}
	for (int i = 0; i < plan->nstay; i++)
	{
		EcpNewRun  *place = places[plan->members[i]];

		if (plan->moves[plan->members[i]] == move)
			place->items[place->nitems++] = i;
	}
}

/* Number of buffers for n clusters. */
static int
flush_buffers(const EcpReplace *r, int n)
{
	int			clusters = ecp_insbuf_plan_clusters(r->index, &r->state);

	return Max((n + clusters / 2) / clusters, 1);
}

/*
 * New buffers for the clusters of the next version, with the rows that stay
 * buffered, each in the buffer that its cluster will belong to.
 */
static void
flush_add_buffers(EcpReplace *r, const EcpFlushPlan *plan, EcpNewRun **places)
{
	const EcpMetaPageData *meta = &r->state.meta;
	const EcpFlush *flush = r->target->flush;
	const EcpNodeImage *parent = r->target->parent;
	EcpNewRun  *runs = r->new.runs;
	int			first = r->new.n;
	int			n = 0;
	char	   *leaders;

	leaders = palloc_extended(mul_size(first - r->new.nextended +
									   flush->nmembers, parent->stride),
							  MCXT_ALLOC_HUGE);
	for (int i = r->new.nextended; i < first; i++)
		memcpy(leaders + n++ * parent->stride, runs[i].leader, parent->stride);
	for (int i = 0; i < flush->nmembers; i++)
	{
		if (plan->moves[i] != ECP_MOVE_REWRITE)
			memcpy(leaders + n++ * parent->stride,
				   parent->leaders + flush->members[i] * parent->stride,
				   parent->stride);
	}
	plan_buffers(r, flush_buffers(r, n), leaders, parent->stride,
				 n);
	pfree(leaders);
	for (int i = 0; i < flush->nmembers; i++)
	{
		float8		nearest_d = 0;

		if (plan->moves[i] != ECP_MOVE_WAIT)
			continue;
		places[i] = NULL;
		for (int b = first; b < r->new.n; b++)
		{
			float8		d = ecp_leader_distance(meta, runs[b].leader,
												parent->leaders +
												flush->members[i] * parent->stride);

			if (places[i] == NULL || d < nearest_d)
			{
				places[i] = &runs[b];
				nearest_d = d;
			}
		}
	}
	flush_add_rows(r, plan, ECP_MOVE_WAIT, places);
}

/* Further runs, rewritten clusters, and the buffers that replace the old one. */
static void
flush_divide(EcpReplace *r, const EcpFlushPlan *plan)
{
	const EcpFlush *flush = r->target->flush;
	const EcpNodeImage *parent = r->target->parent;
	EcpReplaceOld *old = &r->old;
	EcpNewRun **places = palloc0_array(EcpNewRun *, flush->nmembers);
	EcpRegroupRows rows = {0};

	rows.n = old->rows.nrows - plan->nstay;
	rows.vectors = old->prepared + plan->nstay * old->prepared_stride;
	rows.stride = old->prepared_stride;
	if (rows.n > 0)
		ecp_regroup_divide(&r->state, parent, old->which, old->n, true, &rows);

	/* there are no more buffers than clusters */
	r->new.runs = palloc0_array(EcpNewRun, r->new.nextended +
								2 * rows.nclusters + flush->nmembers + 1);
	for (int i = 0; i < flush->nmembers; i++)
	{
		if (plan->moves[i] != ECP_MOVE_APPEND)
			continue;
		places[i] = &r->new.runs[r->new.n++];
		places[i]->extends = &parent->children[flush->members[i]];
		places[i]->leader = parent->leaders +
			flush->members[i] * parent->stride;
	}
	flush_add_rows(r, plan, ECP_MOVE_APPEND, places);
	plan_clusters(r, &rows, plan->nstay);
	if (r->target->nbuffers > 0)
		flush_add_buffers(r, plan, places);
	pfree(places);
}

/* What a flush replaces, and by what.  Returns false if the buffer is empty. */
static bool
plan_flush(EcpReplace *r)
{
	const EcpFlush *flush = r->target->flush;
	const EcpChildData *buffer = &r->target->parent->children[flush->buffer];
	EcpFlushPlan plan = {0};

	Assert(flush->buffer >= r->target->parent->nchildren);
	Assert(r->kind == ECP_REPLACE_GROUP);
	ecp_replace_plan_copy(r, buffer, InvalidBuffer);
	plan.nrows = r->old.rows.nrows;
	if (plan.nrows == 0)
		return false;
	plan.members = palloc_extended(mul_size(plan.nrows, sizeof(int32)),
								   MCXT_ALLOC_HUGE);
	plan.moves = palloc0_array(EcpFlushMove, flush->nmembers);
	flush_assign(r, &plan);
	flush_choose(r, &plan);
	for (int i = 0; i < r->old.n - 1; i++)	/* the last one is the buffer */
		ecp_replace_plan_copy(r, &r->old.children[i], InvalidBuffer);
	flush_divide(r, &plan);
	return true;
}

/* ---- all kinds ---- */

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
		if (!plan_flush(r))
			return false;
	}
	else
	{
		int			n;

		plan_old(r, target->group ? target->group : target->which,
				 target->nold);
		n = plan_copy_old(r);
		if (!plan_is_possible(r, n))
			return false;
		if (target->copy)
			divide_copy(r);
		else if (EcpReplaceIsGroup(r))
		{
			divide_group(r);
			if (r->kind == ECP_REPLACE_GROUP)
				plan_add_rows(r);
		}
		else
			divide_items(r, n);
	}
	for (int i = 0; i < r->new.n; i++)
		new_finish(r, &r->new.runs[i]);
	return !EcpReplaceIsGroup(r) ||
		r->new.n - r->new.nextended + ECP_NODE_FREE_MIN <= target->parent->nfree;
}
