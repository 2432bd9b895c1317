/*-------------------------------------------------------------------------
 *
 * ecp_flush.c
 *	  Where the rows of a buffer go when it is flushed.
 *
 * A flush should write few blocks for each row that it moves.  What that
 * costs depends on how many rows wait for a cluster and how many it has:
 *
 * - few wait (less than half of the mean): they wait on in the buffer that
 *	 takes the place of this one, until the write of their cluster is worth it;
 *	 not if the buffers are to be emptied.
 * - they and the cluster's are within the limit of a cluster: they become a
 *	 further run of it.  Nothing else of the cluster is written but the link to
 *	 that run.
 * - else the cluster is rewritten, with all others of which that is true, by
 *	 clusters of the usual size with leaders from k-means: room for two flushes.
 *
 * A further run is part of the cluster from the version on that the flush
 * publishes (ecpr_vfrom), which is also the first without the old buffer.  So
 * who reads an older version finds the rows in the buffer only, who reads it
 * or a newer one in the run only.  It is written before, and linked to the
 * cluster's last run with the cluster's head locked (APPEND).  An inserter who
 * comes to a run of a version that he does not know starts over, so that no
 * row is put into or behind a run that undo may take away.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/stop_point.h"
#include "ecp/cluster/ecp_kmeans.h"
#include "ecp/live/ecp_insbuf_plan.h"
#include "ecp/live/ecp_limits.h"
#include "ecp/live/ecp_regroup_divide.h"
#include "ecp/live/ecp_replace.h"
#include "ecp/live/ecp_replace_private.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_read.h"
#include "ecp/page/ecp_stat.h"
#include "ecp/page/ecp_xlog.h"
#include "miscadmin.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Runs that a cluster may have before it is rewritten. */
#define ECP_FLUSH_RUNS			3

/* Rows wait on that are fewer than 1/n of the mean. */
#define ECP_FLUSH_FEW			2

/* What happens to the rows that wait for a cluster. */
typedef enum EcpFlushMove
{
	ECP_MOVE_WAIT,
	ECP_MOVE_APPEND,
	ECP_MOVE_REWRITE
} EcpFlushMove;

/* ---- the plan ---- */

/* The cluster of the nearest leader, and its bin, for each row of the buffer. */
static void
flush_assign(EcpReplace *r)
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
	ecp_kmeans_assign(panel, flush->nmembers, meta->ecpm_dims, r->prepared,
					  r->prepared_stride, r->rows.nrows, r->members, NULL);
	pfree(memory);
	for (int i = 0; i < r->rows.nrows; i++)
	{
		int			member = flush->members[r->members[i]];

		r->rows.bins[i] = EcpClusterBin(parent->children[member].ecpc_run);
	}
}

/* What is done with a cluster for which so many rows wait. */
static EcpFlushMove
flush_decide(const EcpReplace *r, int member, int waiting)
{
	const EcpFlush *flush = r->target->flush;
	const EcpClusterSize *size = &flush->sizes[member];

	Assert(member >= 0 && member < flush->nmembers);
	if (waiting == 0)
		return ECP_MOVE_WAIT;
	if (!flush->empties && (double) waiting * flush->nmembers *
		ECP_FLUSH_FEW < r->rows.nrows)
		return ECP_MOVE_WAIT;
	if (r->target->nbuffers > 0 && size->nruns < ECP_FLUSH_RUNS &&
		size->nrows_about + waiting <= ecp_limits_leaf_rows(&r->state))
		return ECP_MOVE_APPEND;
	return ECP_MOVE_REWRITE;
}

/* Exchange two rows that were copied. */
static void
flush_swap(EcpReplace *r, int a, int b, char *scratch)
{
	EcpRowSet  *rows = &r->rows;
	ItemPointerData tid = rows->tids[a];
	int32		member = r->members[a];
	uint8		bin = rows->bins[a];
	char	   *x = rows->vectors + a * rows->stride;
	char	   *y = rows->vectors + b * rows->stride;

	rows->tids[a] = rows->tids[b];
	rows->tids[b] = tid;
	r->members[a] = r->members[b];
	r->members[b] = member;
	rows->bins[a] = rows->bins[b];
	rows->bins[b] = bin;
	memcpy(scratch, x, rows->stride);
	memcpy(x, y, rows->stride);
	memcpy(y, scratch, rows->stride);
	if (r->prepared == rows->vectors)
		return;
	x = r->prepared + a * r->prepared_stride;
	y = r->prepared + b * r->prepared_stride;
	memcpy(scratch, x, r->prepared_stride);
	memcpy(x, y, r->prepared_stride);
	memcpy(y, scratch, r->prepared_stride);
}

/*
 * ecp_flush_plan
 *		Copy the rows of the buffer and decide what to do with them.
 *
 * What is replaced are the clusters that are rewritten and the buffer, whose
 * rows for these clusters are its last ones then.
 */
void
ecp_flush_plan(EcpReplace *r)
{
	const EcpFlush *flush = r->target->flush;
	const EcpChildData *buffer = &r->target->parent->children[flush->buffer];
	int		   *counts = palloc0_array(int, flush->nmembers);
	int		   *group = palloc_array(int, flush->nmembers + 1);
	char	   *scratch = palloc(Max(r->rows.stride, r->prepared_stride));
	int			n = 0;

	Assert(r->target->flush != NULL && r->kind == ECP_REPLACE_GROUP);
	Assert(flush->buffer >= r->target->parent->nchildren);
	if (!ecp_rows_read(r->index, &r->state, buffer->ecpc_blk,
					   buffer->ecpc_run, InvalidBuffer, &r->rows))
		ecp_report_moved(r->index, buffer->ecpc_blk);
	ecp_replace_prepare(r, 0);
	r->members = palloc_extended(mul_size(Max(r->rows.nrows, 1),
										  sizeof(int32)), MCXT_ALLOC_HUGE);
	r->moves = palloc0_array(uint8, flush->nmembers);
	r->nstay = r->rows.nrows;
	if (r->rows.nrows > 0)
		flush_assign(r);
	for (int i = 0; i < r->rows.nrows; i++)
		counts[r->members[i]]++;
	for (int i = 0; i < flush->nmembers; i++)
	{
		r->moves[i] = flush_decide(r, i, counts[i]);
		if (r->moves[i] == ECP_MOVE_REWRITE)
			group[n++] = flush->members[i];
		else if (r->moves[i] == ECP_MOVE_APPEND)
			r->nextended++;
	}
	for (int i = 0; i < r->nstay;)
	{
		if (r->moves[r->members[i]] != ECP_MOVE_REWRITE)
			i++;
		else if (i != --r->nstay)
			flush_swap(r, i, r->nstay, scratch);
	}
	r->nrewritten = r->rows.nrows - r->nstay;
	group[n++] = flush->buffer;
	r->which = group;
	r->nold = n;
	pfree(scratch);
	pfree(counts);
}

/* ---- what is written ---- */

/* Add the buffer's rows from row 0 on that "moves" so to "places". */
static void
flush_add_rows(EcpReplace *r, EcpFlushMove move, EcpNewRun **places)
{
	for (int i = 0; i < r->nstay; i++)
	{
		if (r->moves[r->members[i]] == move)
			places[r->members[i]]->nitems++;
	}
	for (int i = 0; i < r->target->flush->nmembers; i++)
	{
		EcpNewRun  *place = places[i];

		if (r->moves[i] != move || place->items != NULL)
			continue;
		place->items = palloc(Max(place->nitems, 1) * sizeof(int));
		place->nitems = 0;
	}
	for (int i = 0; i < r->nstay; i++)
	{
		EcpNewRun  *place = places[r->members[i]];

		if (r->moves[r->members[i]] == move)
			place->items[place->nitems++] = i;
	}
}

/* How many buffers n clusters should have. */
static int
flush_buffers(const EcpReplace *r, int n)
{
	int			clusters = ecp_insbuf_clusters(r->index, &r->state);

	return Max((n + clusters / 2) / clusters, 1);
}

/*
 * New buffers for the clusters that there are then, with the rows that wait
 * on: each with the buffer that its cluster will belong to.
 */
static void
flush_add_buffers(EcpReplace *r, EcpNewRun **places)
{
	const EcpMetaPageData *meta = &r->state.meta;
	const EcpFlush *flush = r->target->flush;
	const EcpNodeImage *parent = r->target->parent;
	int			nwritten = r->nnew - r->nextended;
	int			first = r->nnew;
	int			n = 0;
	char	   *leaders;

	leaders = palloc_extended(mul_size(nwritten + flush->nmembers,
									   parent->stride), MCXT_ALLOC_HUGE);
	for (int i = r->nextended; i < r->nnew; i++)
		memcpy(leaders + n++ * parent->stride, r->new[i].leader,
			   parent->stride);
	for (int i = 0; i < flush->nmembers; i++)
	{
		if (r->moves[i] != ECP_MOVE_REWRITE)
			memcpy(leaders + n++ * parent->stride,
				   parent->leaders + flush->members[i] * parent->stride,
				   parent->stride);
	}
	ecp_replace_add_buffers(r, flush_buffers(r, n), leaders,
							parent->stride, n);
	pfree(leaders);
	for (int i = 0; i < flush->nmembers; i++)
	{
		float8		nearest_d = 0;

		if (r->moves[i] != ECP_MOVE_WAIT)
			continue;
		places[i] = NULL;
		for (int b = first; b < r->nnew; b++)
		{
			float8		d = ecp_leader_distance(meta, r->new[b].leader,
												parent->leaders +
												flush->members[i] * parent->stride);

			if (places[i] == NULL || d < nearest_d)
			{
				places[i] = &r->new[b];
				nearest_d = d;
			}
		}
	}
	flush_add_rows(r, ECP_MOVE_WAIT, places);
}

/*
 * ecp_flush_divide
 *		What a flush writes: further runs, clusters that are written anew, and
 *		the buffers that take the place of the old one.
 */
void
ecp_flush_divide(EcpReplace *r)
{
	const EcpFlush *flush = r->target->flush;
	const EcpNodeImage *parent = r->target->parent;
	EcpNewRun **places = palloc0_array(EcpNewRun *, flush->nmembers);
	EcpRegroupRows rows = {0};

	Assert(r->nstay >= 0 && r->nstay <= r->rows.nrows);
	rows.n = r->rows.nrows - r->nstay;
	rows.vectors = r->prepared + r->nstay * r->prepared_stride;
	rows.stride = r->prepared_stride;
	if (rows.n > 0)
		ecp_regroup_divide(&r->state, parent, r->which, r->nold, true, &rows);

	/* there are no more buffers than clusters */
	r->new = palloc0((r->nextended + 2 * rows.nclusters + flush->nmembers +
					  1) * sizeof(EcpNewRun));
	for (int i = 0; i < flush->nmembers; i++)
	{
		if (r->moves[i] != ECP_MOVE_APPEND)
			continue;
		places[i] = &r->new[r->nnew++];
		places[i]->extends = &parent->children[flush->members[i]];
		places[i]->leader = parent->leaders +
			flush->members[i] * parent->stride;
	}
	flush_add_rows(r, ECP_MOVE_APPEND, places);
	ecp_replace_add_clusters(r, &rows, r->nstay);
	if (r->target->nbuffers > 0)
		flush_add_buffers(r, places);
}

/* ---- linking what was written ---- */

/*
 * Link one run to its cluster.  Returns false if an inserter has added a run
 * whose number is higher, since runs ascend in a list.
 */
static bool
flush_append(EcpReplace *r, const EcpNewRun *new)
{
	const EcpChildData *cluster = new->extends;
	Buffer		head = ecp_run_lock(r->index, cluster->ecpc_blk,
									cluster->ecpc_run);
	Buffer		last = head;
	uint64		run = cluster->ecpc_run;
	bool		done;

	Assert(new->extends != NULL);
	for (;;)
	{
		EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(last));
		Buffer		next;

		if (header->ecpr_next_run == 0)
			break;
		if (header->ecpr_next_run <= run)
			ecp_report_corrupt(r->index, BufferGetBlockNumber(last),
							   "A run does not fit into the list of its cluster.");
		run = header->ecpr_next_run;
		next = ecp_run_lock(r->index, header->ecpr_next_blk, run);
		if (last != head)
			UnlockReleaseBuffer(last);
		last = next;
	}
	done = run < new->child.ecpc_run;
	if (done)
		ecp_xlog_append(r->index, last, new->child.ecpc_blk,
						new->child.ecpc_run);
	if (last != head)
		UnlockReleaseBuffer(last);
	UnlockReleaseBuffer(head);
	return done;
}

/*
 * ecp_flush_append
 *		Link the further runs that a flush has written to their clusters,
 *		which nobody sees before the flush is published.
 */
bool
ecp_flush_append(EcpReplace *r)
{
	for (int i = 0; i < r->nextended; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!flush_append(r, &r->new[i]))
			return false;
		ECP_STOP_POINT("flush-append");
	}
	return true;
}

/*
 * ecp_flush_count
 *		Count a flush that is published: rows that left the buffer, and pages
 *		that were written for that.
 */
void
ecp_flush_count(const EcpReplace *r)
{
	uint64		moved = 0;

	for (int i = 0; i < r->nextended; i++)
		moved += r->new[i].nitems;
	ecp_stat_count(r->index, ECP_STAT_FLUSHES, 1);
	ecp_stat_count(r->index, ECP_STAT_FLUSHED_ROWS, moved + r->nrewritten);
	ecp_stat_count(r->index, ECP_STAT_FLUSHED_PAGES,
				   r->npages + r->nextended);
}
