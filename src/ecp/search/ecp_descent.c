/*-------------------------------------------------------------------------
 *
 * ecp_descent.c
 *	  Clusters in order of promise: best-first search over the leader tree.
 *
 * Each level of the tree has a queue of entries that were compared and not
 * yet taken: clusters at level 0, nodes above.  Opening a node ranks
 * all its leaders in one kernel call and puts them into the queue of the
 * level below.  To return a cluster we take the nearest from queue 0, but
 * not before enough leaders were compared there: ECP_BEAM for each cluster
 * that is wanted.  To get more of them we open the nearest node from the
 * queue above, under the same rule there, and so on up to the root.
 *
 * So the beam follows the number of clusters wanted.  A beam of fixed width
 * caps the recall: with 4 to 8 nodes at 0.75 to 0.97 on SIFT whatever was
 * read afterwards.  40 leaders compared for each cluster wanted lose less
 * than 2 % against comparing all.  As the queues never drop anything, all
 * clusters come out in the end, each once, at any number of levels.
 *
 * Insert buffers (ecp_insbuf.c) are not in the queues: each follows the first
 * of the clusters that it takes rows for.
 *
 * The structure version of "state" determines the set of clusters; the nodes
 * come from the leader cache.  Used by scans, and by inserts and
 * splits to find the nearest leader ("assigning").
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "base/bits.h"
#include "base/spare.h"
#include "base/topk.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Leaders compared for each one wanted, and nodes opened at least. */
#define ECP_BEAM			40
#define ECP_BEAM_NODES_MIN	8

/* When more are asked for than was expected, a quarter more is, and so on. */
#define ECP_DESCENT_STEP	4

/*
 * If a node has at least this number of leaders for each one wanted, only
 * those below a threshold are queued at first.
 */
#define ECP_DESCENT_DEFER	8

/* Queue of one level. */
typedef struct EcpDescentLevel
{
	EcpTopk		queue;			/* items: number of node << 32 | child */
	uint64		wanted;			/* how many we expect to be asked for */
	uint64		taken;
	uint64		compared;		/* leaders */
	uint64		opened;			/* nodes that they came from */
} EcpDescentLevel;

struct EcpDescent
{
	Relation	index;
	const EcpIndexState *state;
	bool		exact;			/* leaders as they are, not as bytes */
	EcpMetric	metric;			/* of the index, or L2 to assign */
	bool		root_taken;
	MemoryContext context;		/* of this struct and its arrays */
	MemoryContextCallback callback; /* of the context */
	char	   *prepared;
	Size		prepared_max;	/* bytes of room */

	EcpNode   **nodes;			/* pinned */
	bool	  **taken;			/* insert buffers of each, returned */
	int			nnodes;
	int			nodes_max;
	int			buffer_node;	/* node of the buffer that is next, */
	int			buffer;			/* or -1 */
	float4	   *ranks;			/* of the leaders of the last node opened */
	int			ranks_max;
	int			deferred_level; /* whose queue has not all of them, or -1 */
	float4		deferred_above; /* it lacks those not up to this rank */

	int			nlevels;		/* level of the root */
	int			levels_max;
	EcpDescentLevel levels[FLEXIBLE_ARRAY_MEMBER];
};

/* Arrays of a descent that has ended, for the next one. */
static EcpSpare descent_spare;

/*
 * Estimate how many nodes of each level are needed for "expected" clusters, so
 * that the first nodes of a level are already chosen among enough of them.
 */
static void
descent_expect(EcpDescent *descent, int expected)
{
	double		fanout = pow(Max(descent->state->meta.ecpm_nleaves, 1),
							 1.0 / descent->nlevels);
	double		wanted = Max(expected, 1);

	for (int l = 0; l < descent->nlevels; l++)
	{
		EcpDescentLevel *level = &descent->levels[l];

		level->taken = level->compared = level->opened = 0;
		level->wanted = wanted;
		ecp_topk_reset(&level->queue,
					   (Size) Min(wanted, PG_INT32_MAX));
		wanted = Max(ceil(wanted * ECP_BEAM / Max(fanout, 1)),
					 ECP_BEAM_NODES_MIN);
		wanted = Min(wanted, PG_INT32_MAX);
	}
}

static void
descent_release(EcpDescent *descent)
{
	for (int i = 0; i < descent->nnodes; i++)
	{
		ecp_cache_release(descent->nodes[i]);
		if (descent->taken[i])
			pfree(descent->taken[i]);
	}
	descent->nnodes = 0;
}

/*
 * The memory of a descent goes.  If it has not ended, because of an error in a
 * subtransaction, its nodes are released; those that it has at the end of the
 * transaction, the cache releases.
 */
static void
descent_callback(void *arg)
{
	if (GetCurrentTransactionNestLevel() > 1)
		descent_release(arg);
}

/* Get a descent, possibly a used one, with room for at least nlevels levels. */
static EcpDescent *
descent_get(int nlevels)
{
	EcpDescent *descent = ecp_spare_take(&descent_spare);
	MemoryContext context;

	if (descent != NULL && descent->levels_max >= nlevels)
		return descent;
	if (descent != NULL)
		MemoryContextDelete(descent->context);

	context = AllocSetContextCreate(CurrentMemoryContext, "ecp descent",
									ALLOCSET_SMALL_SIZES);
	descent = MemoryContextAllocZero(context, offsetof(EcpDescent, levels) +
									 nlevels * sizeof(EcpDescentLevel));
	descent->context = context;
	descent->callback.func = descent_callback;
	descent->callback.arg = descent;
	MemoryContextRegisterResetCallback(context, &descent->callback);
	descent->levels_max = nlevels;
	for (int l = 0; l < nlevels; l++)
		ecp_topk_init(&descent->levels[l].queue, context, 1);
	return descent;
}

/*
 * Begin a descent in the current memory context, which must live until
 * ecp_descent_end(); so must "state".  "prepared" is copied.
 */
EcpDescent *
ecp_descent_begin(Relation index, const EcpIndexState *state,
				  const void *prepared, bool assigning, int expected)
{
	int			nlevels = state->meta.ecpm_root_level;
	Size		vec_bytes = state->node.vec_bytes;
	EcpDescent *descent;

	Assert(!EcpIndexIsEmpty(state));
	Assert(prepared != NULL);
	Assert(expected >= 0);

	descent = descent_get(nlevels);
	descent->index = index;
	descent->state = state;

	/*
	 * Bounds of rows follow from the ranks of their leaders, and are to be
	 * right where all rows are read.
	 */
	descent->exact = assigning || expected >= state->meta.ecpm_nleaves;
	descent->metric = assigning ? ECP_METRIC_L2 : state->meta.ecpm_metric;
	descent->root_taken = false;
	if (descent->prepared_max < vec_bytes)
	{
		if (descent->prepared)
			pfree(descent->prepared);
		descent->prepared_max = 0;
		descent->prepared = MemoryContextAlloc(descent->context, vec_bytes);
		descent->prepared_max = vec_bytes;
	}
	memcpy(descent->prepared, prepared, vec_bytes);
	descent->nnodes = 0;
	descent->deferred_level = -1;
	descent->nlevels = nlevels;
	descent->buffer = -1;
	if (nlevels > 0)
		descent_expect(descent, expected);
	return descent;
}

void
ecp_descent_set_ahead(EcpDescent *descent, int n)
{
	Assert(n > 0 && !descent->root_taken);
	if (descent->nlevels > 0)
		ecp_topk_reset(&descent->levels[0].queue, n);
}

/*
 * Put leaders of the last node opened into queue l: those of at most this
 * rank, of which none is at most NaN, or ("deferred") all others.
 */
static void
descent_add(EcpDescent *descent, int l, float4 rank, bool deferred)
{
	EcpTopk    *queue = &descent->levels[l].queue;
	const float4 *ranks = descent->ranks;
	int			n = descent->nodes[descent->nnodes - 1]->nchildren;
	uint64		base = (uint64) (descent->nnodes - 1) << 32;
	EcpRanked  *items = ecp_topk_room(queue, n);
	int			nitems = 0;

	Assert(descent->nnodes > 0 && n <= descent->ranks_max);
	for (int first = 0; first < n; first += 64)
	{
		int			count = Min(n - first, 64);
		uint64		word = isnan(rank) ? 0 :
			ecp_bounds_passed(ranks + first, count, rank);

		if (deferred)
			word = ~word & EcpLowBits(count);
		for (; word != 0; word &= word - 1)
		{
			int			i = first + pg_rightmost_one_pos64(word);

			ecp_ranked_set(&items[nitems++], ranks[i], base + i);
		}
	}
	ecp_topk_added(queue, nitems);
}

/* Queue the leaders of the last node that were left out. */
static void
descent_add_deferred(EcpDescent *descent)
{
	descent_add(descent, descent->deferred_level, descent->deferred_above, true);
	descent->deferred_level = -1;
}

/* A rank that about "wanted" of the n leaders of the last node do not exceed. */
static float4
descent_threshold(const EcpDescent *descent, int n, uint64 wanted)
{
	float8		sample[ECP_TOPK_SAMPLE];

	for (int i = 0; i < ECP_TOPK_SAMPLE; i++)
		sample[i] = descent->ranks[i * (n / ECP_TOPK_SAMPLE)];
	return (float4) ecp_topk_threshold(sample, n, wanted);
}

/* Open a node of level l + 1: rank its children into queue l. */
static void
descent_open(EcpDescent *descent, int l, const EcpChildData *ref)
{
	EcpDescentLevel *level = &descent->levels[l];
	EcpNode    *node;

	CHECK_FOR_INTERRUPTS();
	if (descent->deferred_level >= 0)
		descent_add_deferred(descent);

	if (descent->nnodes == descent->nodes_max)
	{
		descent->nodes_max = descent->nodes_max > 0 ? descent->nodes_max * 2 : 16;
		if (descent->nodes == NULL)
		{
			descent->nodes = MemoryContextAlloc(descent->context,
												descent->nodes_max * sizeof(EcpNode *));
			descent->taken = MemoryContextAlloc(descent->context,
												descent->nodes_max * sizeof(bool *));
		}
		else
		{
			descent->nodes = repalloc(descent->nodes,
									  mul_size(descent->nodes_max,
											   sizeof(EcpNode *)));
			descent->taken = repalloc(descent->taken,
									  mul_size(descent->nodes_max,
											   sizeof(bool *)));
		}
	}
	node = ecp_cache_get(descent->index, descent->state, ref, l + 1,
						 descent->exact);
	descent->taken[descent->nnodes] = node->nbuffers > 0 ?
		MemoryContextAllocZero(descent->context, node->nbuffers *
							   sizeof(bool)) : NULL;
	descent->nodes[descent->nnodes++] = node;
	level->opened++;
	if (node->nchildren == 0)
		return;

	if (descent->ranks_max < node->nchildren)
	{
		if (descent->ranks)
			pfree(descent->ranks);
		descent->ranks_max = 0;
		/* whole blocks of them are compared */
		descent->ranks = MemoryContextAlloc(descent->context,
											mul_size(node->nchildren + ECP_PANEL_BLOCK,
													 sizeof(float4)));
		descent->ranks_max = node->nchildren;
	}
	ecp_node_rank(node, descent->metric, descent->prepared, 0, node->nchildren,
				  descent->ranks);

	/* NaN: all leaders are deferred */
	descent->deferred_above = get_float4_nan();
	descent->deferred_level = l;
	if (EcpTopkCount(&level->queue) == 0 &&
		node->nchildren >= ECP_TOPK_SAMPLE &&
		node->nchildren / ECP_DESCENT_DEFER >= level->queue.batch)
	{
		descent->deferred_above = descent_threshold(descent, node->nchildren,
													level->queue.batch);
		descent_add(descent, l, descent->deferred_above, false);
	}
	else
		descent_add_deferred(descent);
	level->compared += node->nchildren;
}

/* The child that an item of a queue stands for. */
static const EcpChildData *
descent_child(const EcpDescent *descent, const EcpRanked *ranked)
{
	uint64		item = EcpRankedItem(ranked);

	Assert(item >> 32 < descent->nnodes);
	Assert((uint32) item < descent->nodes[item >> 32]->nchildren);
	return &descent->nodes[item >> 32]->children[(uint32) item];
}

/*
 * Take the most promising child from queue l, after having compared enough
 * of them.  Returns NULL when there are no more; valid until the next call.
 */
static const EcpRanked *
descent_take(EcpDescent *descent, int l)
{
	EcpDescentLevel *level = &descent->levels[l];
	uint64		opened = level->opened;

	Assert(l >= 0 && l < descent->nlevels);

	/* in steps, so that several nodes are opened at a time */
	if (++level->taken > level->wanted)
		level->wanted = level->taken + level->taken / ECP_DESCENT_STEP;

	while (level->compared < level->wanted * ECP_BEAM ||
		   level->opened < ECP_BEAM_NODES_MIN)
	{
		if (l + 1 < descent->nlevels)
		{
			const EcpRanked *above = descent_take(descent, l + 1);

			if (above == NULL)
				break;
			descent_open(descent, l, descent_child(descent, above));
		}
		else
		{
			if (descent->root_taken)
				break;
			descent->root_taken = true;
			descent_open(descent, l, &descent->state->meta.ecpm_root);
		}
	}
	if (EcpTopkCount(&level->queue) == 0 && descent->deferred_level == l)
		descent_add_deferred(descent);
	/* what is put in order now is so until the next nodes are opened */
	if (level->opened != opened && level->taken > 1)
		level->queue.batch = level->wanted - level->taken + 1;
	return ecp_topk_take(&level->queue);
}

/* Make a reference to entry number "child" of a node. */
static void
descent_fill(const EcpNode *parent, uint32 child, EcpClusterRef *cluster)
{
	cluster->child = parent->children[child];
	cluster->is_buffer = child >= parent->nchildren;
	cluster->skip = false;
	cluster->parent_blk = parent->blk;
	cluster->parent_run = parent->run;
	cluster->parent_slot = parent->slots[child];
	cluster->parent = parent;
	cluster->panel = parent->panel;
	cluster->panel_child = child;
	cluster->recent = parent->recent + parent->recent_first[child];
	cluster->nrecent = parent->recent_first[child + 1] -
		parent->recent_first[child];
}

/* Return the insert buffer that is next, and set the one after it. */
static void
descent_next_buffer(EcpDescent *descent, EcpClusterRef *cluster)
{
	const EcpNode *node = descent->nodes[descent->buffer_node];
	int			child = node->nchildren + descent->buffer;
	int			first = child - child % ECP_PANEL_BLOCK;
	float4		ranks[ECP_PANEL_BLOCK];

	Assert(descent->buffer < node->nbuffers);
	descent_fill(node, child, cluster);
	ecp_node_rank(node, descent->metric, descent->prepared, first, child - first + 1,
				  ranks);
	cluster->rank = ranks[child - first];
	descent->buffer = node->map.next[descent->buffer];
}

/* A cluster is returned: return its insert buffer next, unless done before. */
static void
descent_set_buffer(EcpDescent *descent, int n, uint32 child)
{
	const EcpNode *node = descent->nodes[n];
	int			buffer = node->map.buffer_of[child];

	Assert(buffer >= 0 && buffer < node->nbuffers);
	if (descent->taken[n][buffer])
		return;
	descent->taken[n][buffer] = true;
	descent->buffer_node = n;
	descent->buffer = buffer;
}

bool
ecp_descent_at_buffer(const EcpDescent *descent)
{
	return descent->buffer >= 0;
}

bool
ecp_descent_next(EcpDescent *descent, EcpClusterRef *cluster)
{
	const EcpRanked *ranked;
	const EcpNode *parent;
	uint32		child;

	if (descent->nlevels == 0)
	{
		/* the root is a cluster, the only one */
		if (descent->root_taken)
			return false;
		descent->root_taken = true;
		memset(cluster, 0, sizeof(EcpClusterRef));
		cluster->child = descent->state->meta.ecpm_root;
		cluster->parent_blk = InvalidBlockNumber;
		return true;
	}

	if (descent->buffer >= 0)
	{
		descent_next_buffer(descent, cluster);
		return true;
	}
	ranked = descent_take(descent, 0);
	if (ranked == NULL)
		return false;
	parent = descent->nodes[EcpRankedItem(ranked) >> 32];
	child = (uint32) EcpRankedItem(ranked);
	descent_fill(parent, child, cluster);
	cluster->rank = ranked->rank;

	if (parent->nbuffers > 0)
		descent_set_buffer(descent, EcpRankedItem(ranked) >> 32, child);
	return true;
}

/*
 * Release the nodes, and keep the memory for the next descent.
 */
void
ecp_descent_end(EcpDescent *descent)
{
	descent_release(descent);
	ecp_spare_give(&descent_spare, descent, descent->context);
}

EcpDescent *
ecp_descent_nearest(Relation index, const EcpIndexState *state,
					const void *prepared, EcpClusterRef *cluster)
{
	EcpDescent *descent = ecp_descent_begin(index, state, prepared, true, 1);

	if (!ecp_descent_next(descent, cluster))
		ecp_report_corrupt(index, state->meta.ecpm_root.ecpc_blk,
						   "The tree of leaders has no leaves.");
	return descent;
}
