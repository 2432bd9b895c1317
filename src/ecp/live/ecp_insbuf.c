/*-------------------------------------------------------------------------
 *
 * ecp_insbuf.c
 *	  Insert buffers: rows wait beside the clusters and are moved to them in
 *	  bulk.
 *
 * In an index far larger than memory, each insert reads a page of a random
 * cluster and causes it to be written again: one block read and one written for
 * a row.  With the storage parameter buffer_rows, a row goes to a buffer
 * instead, which serves several neighbouring clusters of a node.  The last pages
 * of all buffers stay in memory.  A buffer that has buffer_rows rows for each of
 * its clusters is flushed: its rows become further runs of the clusters, or are
 * written together with the clusters' rows as new clusters.  ecp_insbuf_plan.c
 * says how many clusters share a buffer.
 *
 * A buffer is a leaf, flagged ECP_CHILD_BUFFER, among the children of a node of
 * level 1.  Appending to it, scanning it and removing dead rows are the same as
 * for any leaf.  It has a leader, the centre of some leaders of the node, and
 * takes the rows of the clusters whose leaders are nearest to it
 * (ecp_insbuf_map()).  This assignment is not stored: it follows from the
 * children that are visible at a structure version.
 *
 *	 insert		nearest cluster -> its buffer -> a free slot there
 *	 full		REPLACE of {buffer, clusters} by {clusters, buffer}, by the
 *				process that holds the maintenance lock (ecp_replace_plan.c decides
 *				what becomes of each row); other inserts go on, except into
 *				this buffer while the flush is being published
 *	 search		the first cluster of a buffer is followed by the buffer
 *
 * Since a flush is one REPLACE of a group (ecp_replace.c), a row is, at any
 * version, either in the buffer or in a cluster.
 *
 * The cluster of a buffered row is decided when the row is flushed.  If the
 * nearest cluster is split or regrouped in the meantime, its successors may
 * belong to another buffer; searches that read one of the clusters that the
 * buffer still serves then find the row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/stop_point.h"
#include "commands/vacuum.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* ---- flushing; the maintenance lock is held ---- */

/* Position of a buffer among the children of a node, or -1 if it is gone. */
static int
buffer_find(const EcpNodeImage *node, uint64 run)
{
	for (int i = node->nchildren; i < node->nchildren + node->nbuffers; i++)
	{
		if (node->children[i].ecpc_run == run)
			return i;
	}
	return -1;
}

/* Copy a node of level 1; *state is its version. */
static EcpNodeImage *
buffer_read_node(Relation index, const EcpChildData *ref,
				 EcpIndexState *state)
{
	EcpNodeImage *node;

	ecp_meta_read_state(index, state);
	node = ecp_node_read(index, state, 1, ref->ecpc_blk, ref->ecpc_run, true);
	return node;
}

/*
 * The clusters of a buffer, or the one that it follows if it has none, as a
 * palloc'd array.  Returns their number.
 */
static int
buffer_members(const EcpIndexState *state, const EcpNodeImage *node,
			   int which, int **members)
{
	EcpInsbufMap map;
	int			buffer = which - node->nchildren;
	int			n = 0;

	Assert(which >= node->nchildren && which < node->nchildren + node->nbuffers);
	ecp_insbuf_map(&state->meta, node->leaders, node->stride,
				   node->nchildren, node->nbuffers, &map);
	*members = palloc_array(int, Max(node->nchildren, 1));
	for (int i = 0; i < node->nchildren; i++)
	{
		if (map.buffer_of[i] == buffer)
			(*members)[n++] = i;
	}
	if (n == 0 && map.keeper[buffer] >= 0)
		(*members)[n++] = map.keeper[buffer];
	return n;
}

/* Sizes of clusters of a node, palloc'd. */
static EcpClusterSize *
buffer_sizes(Relation index, const EcpIndexState *state,
			 const EcpNodeImage *node, const int *members, int n)
{
	EcpClusterSize *sizes = palloc_array(EcpClusterSize, Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		const EcpChildData *child = &node->children[members[i]];

		CHECK_FOR_INTERRUPTS();
		ecp_cluster_size(index, state, child, false, &sizes[i]);
	}
	return sizes;
}

/*
 * Move rows of one buffer to its clusters: all of them if "empties", else those
 * of clusters for which many wait.  With "keep", the buffer is replaced by a
 * new one, or by several if it had many clusters.  *ref is the node, and may be
 * a different one on return.  Returns false if the flush failed.
 */
static bool
buffer_flush(Relation index, EcpChildData *ref, uint64 run, bool keep,
			 bool empties, EcpMaintainCounts *counts)
{
	bool		folded = false;

	for (;;)
	{
		EcpIndexState state;
		EcpReplaceRequest target = {0};
		EcpFlush	flush = {0};
		EcpNodeImage *node = buffer_read_node(index, ref, &state);
		EcpClusterSize size;
		int		   *members;
		uint32		room;

		CHECK_FOR_INTERRUPTS();
		flush.buffer = buffer_find(node, run);
		if (flush.buffer < 0)
			return false;
		ecp_cluster_size(index, &state, &node->children[flush.buffer], false, &size);
		flush.nmembers = buffer_members(&state, node, flush.buffer, &members);

		/* each cluster may become two, with a buffer; the rows may need more */
		room = 3 * flush.nmembers + 2 * ECP_NODE_FREE_MIN +
			3 * size.nslots / Max(state.meta.ecpm_leaf_target, 1);
		if (node->nfree < room && !folded)
		{
			ecp_maintain_fold_node(index, ref, 2 * room);
			folded = true;
			continue;
		}
		flush.members = members;
		flush.sizes = buffer_sizes(index, &state, node, members,
								   flush.nmembers);
		flush.empties = empties || !keep;
		target.parent = node;
		target.flush = &flush;
		target.nbuffers = keep ? 1 : 0;
		ECP_STOP_POINT("buffer-flush");
		if (!ecp_replace(index, ECP_REPLACE_GROUP, &target))
			return false;
		counts->flushes++;
		return true;
	}
}

/*
 * The buffer of a node with the lowest run in [from, before), and its number of
 * rows; -1 if there is none.  Unlike positions, runs do not change when the node
 * is rewritten.
 */
static int
buffer_next(Relation index, const EcpIndexState *state,
			const EcpNodeImage *node, uint64 from, uint64 before,
			uint32 *nrows)
{
	EcpClusterSize size;
	int			next = -1;

	for (int i = node->nchildren; i < node->nchildren + node->nbuffers; i++)
	{
		uint64		run = node->children[i].ecpc_run;

		if (run >= from && run < before &&
			(next < 0 || run < node->children[next].ecpc_run))
			next = i;
	}
	if (next < 0)
		return -1;
	ecp_cluster_size(index, state, &node->children[next], true, &size);
	*nrows = size.nlive;
	return next;
}

/*
 * ecp_insbuf_flush_node
 *		Flush all buffers of a node.  None is left, except those that got rows
 *		in the meantime.
 *
 * Each buffer is replaced by an empty one first, and these are dropped last:
 * without a buffer, its clusters would belong to other buffers, whose flushes
 * would rewrite them.  *ref is the node, and may be a different one on return.
 */
void
ecp_insbuf_flush_node(Relation index, EcpChildData *ref,
					  EcpMaintainCounts *counts)
{
	EcpIndexState state;
	uint64		before;
	uint64		from = 0;
	bool		dropping = false;

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	before = state.meta.ecpm_next_run;
	for (;;)
	{
		EcpReplaceRequest target = {0};
		EcpNodeImage *node = buffer_read_node(index, ref, &state);
		uint32		nrows;
		int			which = buffer_next(index, &state, node, from, before,
										&nrows);

		ecp_vacuum_delay_point();
		if (which < 0 && dropping)
			return;
		if (which < 0)
		{
			dropping = true;
			from = 0;
			before = PG_UINT64_MAX;
			continue;
		}
		from = node->children[which].ecpc_run + 1;
		target.parent = node;
		target.nold = 1;
		target.which[0] = which;
		if (dropping && nrows == 0)
			(void) ecp_replace(index, ECP_REPLACE_DROP, &target);
		else if (!dropping && nrows > 0)
			(void) buffer_flush(index, ref, from - 1, true, true, counts);
		ecp_node_image_free(node);
	}
}

/* Flush all buffers of the index. */
void
ecp_insbuf_flush_all(Relation index, EcpMaintainCounts *counts)
{
	MemoryContext context;
	MemoryContext old_context;
	EcpIndexState state;
	ListCell   *lc;

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	if (state.meta.ecpm_nbuffers == 0)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "ecp buffers",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	foreach(lc, ecp_node_collect(index, &state, 1))
	{
		EcpNodeRef *ref = lfirst(lc);

		ecp_insbuf_flush_node(index, &ref->child, counts);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

/*
 * The node of the cluster nearest to "prepared", and the run of the cluster's
 * buffer or 0.  Returns false if the root is a leaf.
 */
static bool
buffer_nearest(Relation index, const void *prepared, EcpIndexState *state,
			   EcpChildData *ref, uint64 *run, int *nmembers)
{
	EcpDescent *descent;
	EcpClusterRef cluster;

	ecp_meta_read_state(index, state);
	if (EcpIndexIsEmpty(state) || state->meta.ecpm_root_level == 0)
		return false;
	descent = ecp_descent_nearest(index, state, prepared, &cluster);
	memset(ref, 0, sizeof(EcpChildData));
	ref->ecpc_blk = cluster.parent_blk;
	ref->ecpc_run = cluster.parent_run;
	*run = 0;
	*nmembers = 0;
	if (cluster.parent->nbuffers > 0)
	{
		const EcpNode *node = cluster.parent;
		int			buffer = node->map.buffer_of[cluster.panel_child];

		*run = node->children[node->nchildren + buffer].ecpc_run;
		*nmembers = node->map.nmembers[buffer];
	}
	ecp_descent_end(descent);
	return true;
}

/*
 * ecp_insbuf_create
 *		Create the buffers of the node of the cluster nearest to "prepared" if
 *		it has none.
 */
void
ecp_insbuf_create(Relation index, const void *prepared)
{
	EcpIndexState state;
	EcpReplaceRequest target = {0};
	EcpNodeImage *node;
	EcpChildData ref;
	uint64		run;
	int			nmembers;

	Assert(ecp_maintain_lock_held(index));
	if (!buffer_nearest(index, prepared, &state, &ref, &run, &nmembers) ||
		run != 0)
		return;
	node = buffer_read_node(index, &ref, &state);
	target.nbuffers = Max(node->nchildren /
						  ecp_insbuf_plan_clusters(index, &state), 1);
	if (node->nfree < target.nbuffers + ECP_NODE_FREE_MIN)
	{
		ecp_maintain_fold_node(index, &ref, target.nbuffers + 2 * ECP_NODE_FREE_MIN);
		node = buffer_read_node(index, &ref, &state);
	}
	target.parent = node;
	ECP_STOP_POINT("buffer-create");
	(void) ecp_replace(index, ECP_REPLACE_BUFFERS, &target);
}

/*
 * ecp_insbuf_flush_full
 *		Flush the buffer of the cluster nearest to "prepared" if it is (still)
 *		full.
 *
 * An index that is only inserted into is vacuumed rarely, so clusters that were
 * retired are freed here if they are many.  While an old snapshot prevents that,
 * a flush needs more rows: else each flush would extend the file by its clusters
 * for a few rows.
 */
void
ecp_insbuf_flush_full(Relation index, Relation heap, const void *prepared)
{
	EcpMaintainCounts counts = {0};
	EcpIndexState state;
	EcpNodeImage *node;
	EcpChildData ref;
	EcpClusterSize size;
	uint64		run;
	int			nmembers;
	int			which;

	Assert(ecp_maintain_lock_held(index));
	if (!buffer_nearest(index, prepared, &state, &ref, &run, &nmembers) ||
		run == 0)
		return;
	node = buffer_read_node(index, &ref, &state);
	which = buffer_find(node, run);
	if (which < 0)
		ecp_report_moved(index, ref.ecpc_blk);
	ecp_cluster_size(index, &state, &node->children[which], true, &size);
	ecp_node_image_free(node);
	if (size.nlive < ecp_insbuf_plan_limit(index, &state, nmembers))
		return;					/* another process has flushed it */
	if (!ecp_purge_for_insert(index, heap, 0) &&
		size.nlive < ecp_insbuf_plan_limit_held(&state, nmembers))
		return;
	(void) buffer_flush(index, &ref, run, nmembers > 0, false, &counts);
}
