/*-------------------------------------------------------------------------
 *
 * ecp_radius.c
 *	  How many rows are within a radius.
 *
 * The planner takes a third of the rows for any "v <-> q < r".  The index knows
 * better: the leaders, compared with q, say where the clusters are.  A row's
 * rank (the squared distance, say) exceeds that of its leader by an amount
 * whose distribution depends on how far away the leader is, and changes
 * slowly with that.  So some rows of four clusters are read, the nearest and three
 * farther away (two clusters, if vectors are long), and what their ranks exceed those of their leaders by is assumed
 * of the clusters about as far away.
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
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/plan/ecp_plan.h"
#include "ecp/search/ecp_probe.h"
#include "optimizer/optimizer.h"
#include "storage/shmem.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "vector/vector_distance.h"

/* Bytes of leaders of a node that are compared: about 40 us. */
#define RADIUS_NODE_BYTES		(1024 * 1024)

/* Of the children of a node above level 1: the nearest, and some of the others. */
#define RADIUS_NODES_NEAR		4
#define RADIUS_NODES_FAR		4

/* Clusters that are read, and leaders among which they are chosen. */
#define RADIUS_PROBES			4
#define RADIUS_CHOICE			64

/* Rows of each that are compared, and bytes after which no more are read. */
#define RADIUS_ROWS				64
#define RADIUS_PROBE_BYTES		(256 * 1024)

/*
 * Distances are bounded, so that their tail is thinner than that of a normal
 * distribution: the share of it, and the standard deviations where it ends.
 */
#define RADIUS_TAIL_SHARE		0.25
#define RADIUS_TAIL_END			4

/* A cluster whose leader was compared. */
typedef struct RadiusCluster
{
	float4		rank;			/* of the leader */
	float4		rows;			/* that it stands for */
	float4		radius;			/* of the rows around the leader */
	BlockNumber blk;
	uint64		run;
} RadiusCluster;

/* A cluster that was read. */
typedef struct RadiusProbe
{
	float4		rank;			/* of the leader */
	uint64		run;
	int			nrows;
	float8		mean;			/* of the excess, */
	float8		deviation;
	float8		excess[RADIUS_ROWS];	/* of its rows over that, sorted */
} RadiusProbe;

typedef struct RadiusEstimate
{
	Relation	index;
	EcpIndexState state;
	EcpVector	query;
	void	   *prepared;		/* the query as leaders are compared */
	RadiusCluster *clusters;
	int			nclusters;
	int			clusters_max;
	RadiusProbe probes[RADIUS_PROBES];	/* sorted by rank in the end */
	int			nprobes;
	Size		bytes;			/* read for them */
} RadiusEstimate;

/* A distance, as the operator returns it, on the scale of leaders' ranks. */
static float8
radius_rank(const EcpMetaPageData *meta, float8 distance)
{
	switch (meta->ecpm_metric)
	{
		case ECP_METRIC_L2:
			return distance < 0 ? -1 : distance * distance;
		case ECP_METRIC_COSINE:
			return 2 * distance;	/* of vectors of unit length */
		case ECP_METRIC_HAMMING:
			return distance * ECP_BIT_L2;
		default:
			return distance;
	}
}

static void
radius_add_cluster(RadiusEstimate *estimate, float4 rank, double weight,
				   const EcpChildData *child)
{
	RadiusCluster *cluster;

	if (estimate->nclusters == estimate->clusters_max)
	{
		estimate->clusters_max = Max(estimate->clusters_max * 2, 1024);
		estimate->clusters = estimate->clusters == NULL ?
			palloc(mul_size(estimate->clusters_max, sizeof(RadiusCluster))) :
			repalloc_huge(estimate->clusters,
						  mul_size(estimate->clusters_max,
								   sizeof(RadiusCluster)));
	}
	cluster = &estimate->clusters[estimate->nclusters++];
	cluster->rank = rank;
	cluster->rows = weight * Max(child->ecpc_nrows, 1);
	cluster->radius = child->ecpc_radius;
	cluster->blk = child->ecpc_blk;
	cluster->run = child->ecpc_run;
}

/*
 * Compare the leaders of a node, or, of a large one, those of every step-th block
 * of the panel.  Returns the step.
 */
static int
radius_rank_node(const RadiusEstimate *estimate, const EcpNode *node,
				 float4 *ranks)
{
	const EcpPanel *panel = estimate->state.meta.ecpm_metric == ECP_METRIC_IP ?
		node->ip_panel : node->panel;
	Size		bytes = (Size) node->nchildren * estimate->state.node.vec_bytes;
	int			step = bytes / RADIUS_NODE_BYTES + 1;

	if (step == 1)
		ecp_panel_rank(panel, estimate->prepared, 0, node->nchildren, ranks);
	else
	{
		for (int i = 0; i < node->nchildren; i += step * ECP_PANEL_BLOCK)
			ecp_panel_rank(panel, estimate->prepared, i,
						   Min(node->nchildren - i, ECP_PANEL_BLOCK), ranks + i);
	}
	return step;
}

static int
radius_compare_ranks(const void *a, const void *b)
{
	const RadiusCluster *x = a;
	const RadiusCluster *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
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
	EcpNode    *node = ecp_cache_get(estimate->index, &estimate->state, ref,
									 level);
	float4	   *ranks = palloc(mul_size(node->nchildren + 1, sizeof(float4)));
	int			step = radius_rank_node(estimate, node, ranks);
	RadiusCluster *children;	/* blk: number of the child */
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

	children = palloc(mul_size(node->nchildren + 1, sizeof(RadiusCluster)));
	for (int i = 0; i < node->nchildren; i++)
	{
		if (i / ECP_PANEL_BLOCK % step == 0)
		{
			children[n].rank = ranks[i];
			children[n++].blk = i;
		}
	}
	qsort(children, n, sizeof(RadiusCluster), radius_compare_ranks);
	near = Min(n, radius_nodes_near(estimate));
	for (int i = 0; i < near; i++)
		radius_collect(estimate, &node->children[children[i].blk], level - 1,
					   weight * step);
	far = Min(n - near, RADIUS_NODES_FAR);
	for (int i = 0; i < far; i++)
	{
		double		share = (double) (n - near) / far;
		int			child = near + (int) ((i + 0.5) * share);

		radius_collect(estimate, &node->children[children[child].blk],
					   level - 1, weight * step * share);
	}
	ecp_cache_release(node);
}

static int
radius_compare_float8(const void *a, const void *b)
{
	return float8_cmp_internal(*(const float8 *) a, *(const float8 *) b);
}

/* Read the rows of a cluster, and by what their ranks exceed its leader's. */
static void
radius_probe(RadiusEstimate *estimate, const RadiusCluster *cluster)
{
	const EcpMetaPageData *meta = &estimate->state.meta;
	RadiusProbe *probe = &estimate->probes[estimate->nprobes];
	float8		sum = 0;
	float8		squares = 0;
	EcpRowSet	rows;
	void	   *row;
	int			step;

	ecp_cluster_rows_init(&rows, &estimate->state);
	if (!ecp_cluster_rows_read(estimate->index, &estimate->state, cluster->blk,
							   cluster->run, InvalidBuffer, &rows) ||
		rows.nrows == 0)
		return;
	estimate->bytes += rows.nrows * rows.stride;
	row = palloc(ecp_vector_bytes(estimate->query.elem, meta->ecpm_dims));
	probe->rank = cluster->rank;
	probe->run = cluster->run;
	step = (rows.nrows + RADIUS_ROWS - 1) / RADIUS_ROWS;
	probe->nrows = 0;
	for (int i = 0; i < rows.nrows; i += step)
	{
		ecp_prepare_query(meta, rows.vectors + i * rows.stride, row);
		probe->excess[probe->nrows++] =
			radius_rank(meta, ecp_distance(estimate->query.elem,
										   meta->ecpm_metric, meta->ecpm_dims,
										   estimate->query.data, row)) -
			cluster->rank;
	}
	pfree(row);
	for (int i = 0; i < probe->nrows; i++)
	{
		sum += probe->excess[i];
		squares += probe->excess[i] * probe->excess[i];
	}
	probe->mean = sum / probe->nrows;
	probe->deviation = sqrt(Max(squares / probe->nrows -
								probe->mean * probe->mean, 0));
	qsort(probe->excess, probe->nrows, sizeof(float8), radius_compare_float8);
	estimate->nprobes++;
}

static int
radius_compare_probes(const void *a, const void *b)
{
	const RadiusProbe *x = a;
	const RadiusProbe *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Read the nearest cluster, and some about as far as many others. */
static void
radius_read_probes(RadiusEstimate *estimate)
{
	int			n = Min(estimate->nclusters, RADIUS_CHOICE);
	RadiusCluster choice[RADIUS_CHOICE];
	int			nearest = 0;

	for (int i = 1; i < estimate->nclusters; i++)
	{
		if (estimate->clusters[i].rank < estimate->clusters[nearest].rank)
			nearest = i;
	}
	radius_probe(estimate, &estimate->clusters[nearest]);
	for (int i = 0; i < n; i++)
		choice[i] = estimate->clusters[(int64) i * estimate->nclusters / n];
	qsort(choice, n, sizeof(RadiusCluster), radius_compare_ranks);
	for (int i = RADIUS_CHOICE / 2; i > 1; i /= 4)
	{
		if (i < n && estimate->bytes < RADIUS_PROBE_BYTES)
			radius_probe(estimate, &choice[i]);
	}
	qsort(estimate->probes, estimate->nprobes, sizeof(RadiusProbe),
		  radius_compare_probes);
}

/*
 * The share of a cluster's rows that exceed the leader's rank by less than all
 * rows of a probe do: the tail of a normal distribution, if there can be any.
 */
static double
radius_tail(const RadiusEstimate *estimate, const RadiusCluster *cluster,
			const RadiusProbe *probe, float8 limit)
{
	float8		below = probe->mean - (limit - cluster->rank);

	if (below >= RADIUS_TAIL_END * probe->deviation)
		return 0;
	if (estimate->state.meta.ecpm_metric != ECP_METRIC_IP &&
		(limit < 0 ||
		 sqrt(limit) < sqrt(Max(cluster->rank, 0)) - cluster->radius))
		return 0;
	return RADIUS_TAIL_SHARE *
		Min(erfc(below / probe->deviation * M_SQRT1_2) / 2, 1.0 / probe->nrows);
}

/*
 * The share of a cluster's rows up to a rank, if they are as in a probe.  Of
 * another cluster's rows none is taken to be as near as the nearest in the
 * probe, which often is the query itself.
 */
static double
radius_probe_share(const RadiusEstimate *estimate, const RadiusCluster *cluster,
				   const RadiusProbe *probe, float8 limit)
{
	float8		excess = limit - cluster->rank;
	int			first = cluster->run != probe->run && probe->nrows > 1;
	int			low = first;
	int			high = probe->nrows;

	if (excess < probe->excess[first])
		return radius_tail(estimate, cluster, probe, limit);
	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (probe->excess[middle] <= excess)
			low = middle + 1;
		else
			high = middle;
	}
	return (double) (low - first) / (probe->nrows - first);
}

/* The share of all rows up to a rank. */
static double
radius_count(const RadiusEstimate *estimate, float8 limit)
{
	double		within = 0;
	double		all = 0;

	for (int i = 0; i < estimate->nclusters; i++)
	{
		const RadiusCluster *cluster = &estimate->clusters[i];
		int			p = 0;

		while (p + 1 < estimate->nprobes &&
			   cluster->rank > (estimate->probes[p].rank +
								estimate->probes[p + 1].rank) / 2)
			p++;
		within += cluster->rows *
			radius_probe_share(estimate, cluster, &estimate->probes[p], limit);
		all += cluster->rows;
	}
	return within / all;
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

	estimate.index = index;
	ecp_meta_read_state(index, &estimate.state);
	if (EcpIndexIsEmpty(&estimate.state))
		return -1;
	ecp_vector_read(query, meta->ecpm_column_type, &estimate.query);
	estimate.prepared = palloc0(estimate.state.node.vec_bytes);

	/* the scan will report another number of dimensions */
	if (estimate.query.dims != meta->ecpm_dims ||
		!ecp_prepare(meta, &estimate.query, estimate.prepared))
		return -1;
	if (meta->ecpm_root_level == 0)
		radius_add_cluster(&estimate, 0, 1, &meta->ecpm_root);
	else
		radius_collect(&estimate, &meta->ecpm_root, meta->ecpm_root_level, 1);
	if (estimate.nclusters > 0)
		radius_read_probes(&estimate);
	return estimate.nprobes > 0 ?
		radius_count(&estimate, radius_rank(meta, radius)) : -1;
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
