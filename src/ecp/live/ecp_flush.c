/*-------------------------------------------------------------------------
 *
 * ecp_flush.c
 *	  Plan of a flush: where the rows of an insert buffer go.
 *
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
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/cluster/ecp_kmeans.h"
#include "ecp/live/ecp_insbuf_plan.h"
#include "ecp/live/ecp_limits.h"
#include "ecp/live/ecp_regroup_divide.h"
#include "ecp/live/ecp_replace.h"
#include "ecp/live/ecp_replace_private.h"
#include "ecp/page/ecp_cluster.h"
#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Runs that a cluster may have before it is rewritten. */
#define ECP_FLUSH_RUNS			3

/* Rows stay buffered that are fewer than 1/n of the mean. */
#define ECP_FLUSH_FEW			2

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
flush_assign(EcpReplace *r, EcpFlushPlan *plan)
{
	const EcpMetaPageData *meta = &r->state.meta;
	const EcpFlush *flush = r->target->flush;
	const EcpNodeImage *parent = r->target->parent;
	void	   *memory = palloc_extended(ecp_panel_bytes(meta->ecpm_leader_elem,
														 meta->ecpm_dims,
														 flush->nmembers),
										 MCXT_ALLOC_HUGE);
	EcpPanel   *panel = ecp_panel_init(memory, meta->ecpm_leader_elem,
									   ECP_METRIC_L2, meta->ecpm_dims,
									   flush->nmembers);

	for (int i = 0; i < flush->nmembers; i++)
		ecp_panel_set(panel, i,
					  parent->leaders + flush->members[i] * parent->stride);
	ecp_kmeans_assign(panel, flush->nmembers, meta->ecpm_dims, r->old.prepared,
					  r->old.prepared_stride, plan->nrows, plan->members, NULL);
	pfree(memory);
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
		if (plan->moves[i] != ECP_MOVE_WAIT)
			r->new.nflushed += counts[i];
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
	ecp_replace_plan_old(r, which, n);
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
	ecp_replace_plan_buffers(r, flush_buffers(r, n), leaders, parent->stride,
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
	ecp_replace_plan_clusters(r, &rows, plan->nstay);
	if (r->target->nbuffers > 0)
		flush_add_buffers(r, plan, places);
	pfree(places);
}

/*
 * ecp_flush_plan
 *		What a flush replaces, and by what.  Returns false if the buffer is
 *		empty.
 */
bool
ecp_flush_plan(EcpReplace *r)
{
	const EcpFlush *flush = r->target->flush;
	const EcpChildData *buffer = &r->target->parent->children[flush->buffer];
	EcpFlushPlan plan = {0};

	Assert(flush->buffer >= r->target->parent->nchildren);
	Assert(r->kind == ECP_REPLACE_GROUP);
	if (!ecp_replace_plan_copy(r, buffer, InvalidBuffer))
		ecp_report_moved(r->index, buffer->ecpc_blk);
	plan.nrows = r->old.rows.nrows;
	if (plan.nrows == 0)
		return false;
	plan.members = palloc_extended(mul_size(plan.nrows, sizeof(int32)),
								   MCXT_ALLOC_HUGE);
	plan.moves = palloc0_array(EcpFlushMove, flush->nmembers);
	flush_assign(r, &plan);
	flush_choose(r, &plan);
	for (int i = 0; i < r->old.n - 1; i++)	/* the last one is the buffer */
	{
		if (!ecp_replace_plan_copy(r, &r->old.children[i], InvalidBuffer))
			ecp_report_moved(r->index, r->old.children[i].ecpc_blk);
	}
	flush_divide(r, &plan);
	return true;
}
