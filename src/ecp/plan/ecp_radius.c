/*-------------------------------------------------------------------------
 *
 * ecp_radius.c
 *	  How many rows are within a radius.
 *
 * The planner takes a third of the rows for any "v <-> q < r".  The index knows
 * better: the leaders, compared with q, say where the clusters are.  By how much
 * the ranks of their rows (the squared distance, say) exceed those of the leaders
 * was measured with the recall curve, relative to the clusters' radii.  Ranks are
 * taken for gamma distributed, as sums of squares are.
 *
 * Planning must be fast: of large nodes, and of many nodes, only some leaders are
 * compared.  That misses few rows: those of clusters near q that are not among
 * them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "base/topk.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/plan/ecp_plan.h"
#include "ecp/search/ecp_stop.h"
#include "optimizer/optimizer.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "vector/vector_distance.h"

/* Bytes of leaders of a node that are compared: about 40 us. */
#define RADIUS_NODE_BYTES		(1024 * 1024)

/* Children of a node above level 1 that are read: the nearest, and some others. */
#define RADIUS_NODES_NEAR		4
#define RADIUS_NODES_FAR		4

typedef struct RadiusEstimate
{
	Relation	index;
	EcpIndexState state;
	void	   *prepared;		/* the query as leaders are compared */
	EcpPlace	place;			/* for its length */
	float8		limit;			/* the radius, on the scale of leaders' ranks */
	double		within;			/* rows within it, */
	double		all;			/* of these */
} RadiusEstimate;

/*
 * Add a cluster, which stands for "weight" of them.  By inner product, what makes
 * squared distances of the ranks is added to them.
 */
static void
radius_add_cluster(RadiusEstimate *estimate, float4 rank, double weight,
				   const EcpChildData *child)
{
	const EcpMetaPageData *meta = &estimate->state.meta;
	const EcpRecallCurveData *curve = &meta->ecpm_curve;
	double		more = meta->ecpm_metric == ECP_METRIC_IP ?
		(estimate->place.norm + curve->ecpm_norm) / 2 : 0;
	double		rows = weight * Max(child->ecpc_nrows, 1);
	double		mean = more + rank +
		curve->ecpm_excess * child->ecpc_radius * child->ecpc_radius;
	double		deviation = curve->ecpm_excess_deviation *
		ecp_stop_unit(&estimate->place, meta, rank, child->ecpc_radius);

	estimate->all += rows;
	if (deviation > 0 && mean > 0)
		estimate->within += rows *
			(1 - ecp_cost_gamma_above(mean, mean * mean / (deviation * deviation),
									  more + estimate->limit));
	else if (estimate->limit >= mean - more)
		estimate->within += rows;
}

/*
 * Compare the leaders of a node, or, of a large one, those of every step-th block
 * of the panel.  Returns the step.
 */
static int
radius_rank_node(const RadiusEstimate *estimate, const EcpNode *node,
				 float4 *ranks)
{
	EcpMetric	metric = estimate->state.meta.ecpm_metric;
	Size		bytes = (Size) node->nchildren * estimate->state.node.vec_bytes;
	int			step = bytes / RADIUS_NODE_BYTES + 1;

	if (step == 1)
		ecp_node_rank(node, metric, estimate->prepared, 0, node->nchildren, ranks);
	else
	{
		for (int i = 0; i < node->nchildren; i += step * ECP_PANEL_BLOCK)
			ecp_node_rank(node, metric, estimate->prepared, i,
						  Min(node->nchildren - i, ECP_PANEL_BLOCK), ranks + i);
	}
	return step;
}

/* How many of the nearest children are looked into: all of a small index. */
static int
radius_nodes_near(const RadiusEstimate *estimate)
{
	double		bytes = (double) estimate->state.meta.ecpm_nleaves *
		estimate->state.node.vec_bytes;

	return bytes <= RADIUS_NODE_BYTES ? PG_INT32_MAX : RADIUS_NODES_NEAR;
}

/*
 * Collect clusters below a node; each stands for as many as "weight" says.
 * Above level 1, children are chosen by their ranks.
 */
static void
radius_collect(RadiusEstimate *estimate, const EcpChildData *ref, int level,
			   double weight)
{
	EcpNode    *node = ecp_cache_get(estimate->index, &estimate->state, ref, level,
									 false);
	float4	   *ranks = palloc(mul_size(node->nchildren + 1, sizeof(float4)));
	int			step = radius_rank_node(estimate, node, ranks);
	EcpRanked  *children;		/* by their numbers */
	int			n = 0;
	int			near;
	int			far;

	if (level == 1)
	{
		for (int i = 0; i < node->nchildren; i++)
		{
			if (i / ECP_PANEL_BLOCK % step == 0)
				radius_add_cluster(estimate, ranks[i], weight * step,
								   &node->children[i]);
		}
		ecp_cache_release(node);
		return;
	}

	children = palloc(mul_size(node->nchildren + 1, sizeof(EcpRanked)));
	for (int i = 0; i < node->nchildren; i++)
	{
		if (i / ECP_PANEL_BLOCK % step == 0)
			ecp_ranked_set(&children[n++], ranks[i], i);
	}
	ecp_ranked_sort(children, n);
	near = Min(n, radius_nodes_near(estimate));
	for (int i = 0; i < near; i++)
		radius_collect(estimate, &node->children[EcpRankedItem(&children[i])], level - 1,
					   weight * step);
	far = Min(n - near, RADIUS_NODES_FAR);
	for (int i = 0; i < far; i++)
	{
		double		share = (double) (n - near) / far;
		int			child = near + (int) ((i + 0.5) * share);

		radius_collect(estimate, &node->children[EcpRankedItem(&children[child])],
					   level - 1, weight * step * share);
	}
	ecp_cache_release(node);
}

/* The value of an expression if the planner can know it, and it is not NULL. */
static bool
radius_value(PlannerInfo *root, Node *node, Datum *value)
{
	Node	   *known = estimate_expression_value(root, node);

	if (!IsA(known, Const) || ((Const *) known)->constisnull)
		return false;
	*value = ((Const *) known)->constvalue;
	return true;
}

/* Estimate in the current memory context, whatever that leaves in it. */
static double
radius_estimate(Relation index, Datum query, float8 radius)
{
	RadiusEstimate estimate = {0};
	const EcpMetaPageData *meta = &estimate.state.meta;
	EcpVector	vector;

	estimate.index = index;
	ecp_meta_read_state(index, &estimate.state);
	if (EcpIndexIsEmpty(&estimate.state) || meta->ecpm_root_level == 0 ||
		meta->ecpm_curve.ecpm_queries == 0)
		return -1;
	ecp_vector_read(query, meta->ecpm_column_type, &vector);
	estimate.prepared = palloc0(estimate.state.node.vec_bytes);

	/* the scan will report another number of dimensions */
	if (vector.dims != meta->ecpm_dims ||
		!ecp_prepare(meta, &vector, estimate.prepared))
		return -1;
	if (meta->ecpm_metric != ECP_METRIC_IP && radius < 0)
		return 0;
	if (meta->ecpm_metric == ECP_METRIC_L2)
		radius *= radius;
	ecp_place_set_ranks(&estimate.place, meta, estimate.prepared, 0, 0);
	estimate.limit = ecp_stop_square(&estimate.place, meta, radius);
	radius_collect(&estimate, &meta->ecpm_root, meta->ecpm_root_level, 1);
	return estimate.all > 0 ? Max(Min(estimate.within / estimate.all, 1), 0) : -1;
}

double
ecp_radius_share(const EcpMatch *match)
{
	MemoryContext context;
	MemoryContext old;
	Relation	index;
	Datum		query;
	Datum		radius;
	double		share;

	Assert(match->radius != NULL);

	/* clusters that are replaced meanwhile stay for the sake of the snapshot */
	if (!ActiveSnapshotSet() ||
		!radius_value(match->root, match->radius_query, &query) ||
		!radius_value(match->root, match->radius_limit, &radius) ||
		isnan(DatumGetFloat8(radius)))
		return -1;
	context = AllocSetContextCreate(CurrentMemoryContext, "ecp radius",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	index = index_open(match->index->indexoid, NoLock);
	share = radius_estimate(index, query, DatumGetFloat8(radius));
	index_close(index, NoLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return share;
}
