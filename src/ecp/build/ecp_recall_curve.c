/*-------------------------------------------------------------------------
 *
 * ecp_recall_curve.c
 *	  BUILD: measure what recall costs, for ecp_target.c.
 *
 * Random rows of the index are searched for as if they were queries, each
 * without itself.  A search reads many more clusters than any target needs.  It
 * notes after each cluster the rank of the tenth row so far, and for each of
 * the ten nearest rows the cluster in which it was found.  (The first searches
 * read all these clusters.  Later ones omit a cluster whose leader is farther
 * away than that of any cluster in which the first found a row, and half as far
 * again.)  The recall of any number of probes, and of any rule for stopping
 * early, follows from these notes without another search:
 *
 *	  after a quarter of the probes at the earliest and one and a half times
 *	  as many at the latest, stop before the cluster whose leader c has
 *	  D(q, c)^2 > D_k^2 + slack
 *
 * where D_k is the distance of the tenth row so far (by its estimate, where
 * codes are read).  For each of a list of targets the pair of probes and
 * slack that reads the fewest clusters is kept.
 *
 * A pair must exceed its target, for three reasons.  Rows of the table are
 * easier than fresh queries, because leaders were made of them: by
 * CURVE_MARGIN of the share that may be missed.  The mean over a few hundred
 * queries has an error, and the best of many pairs is partly luck: by
 * CURVE_ERRORS standard errors.  Codes lose rows that neither the searches
 * here nor those of scans see: by CURVE_CODES_LOSS.
 *
 * The searches use the descent, the probe and the exact vectors of
 * src/ecp/search, but not ecp_search.c.  That reads the metapage, which a build
 * writes last, and sorts the rows of a whole window, whose clusters are
 * forgotten by then.  Here each row is compared with the tenth so far, and few
 * are kept: candidates of several times as many clusters need not be sorted.
 *
 * The time is bounded, which matters where each cluster is a wait for a
 * device: the curve follows from the queries done by then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "ecp/build/ecp_build.h"
#include "ecp/build/ecp_build_team.h"
#include "ecp/build/ecp_recall_curve.h"
#include "ecp/cluster/ecp_team.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_cluster.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_xlog.h"
#include "ecp/search/ecp_descent.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_target.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Queries of a build, and how many it takes to make a curve of them. */
#define CURVE_QUERIES		400
#define CURVE_QUERIES_LEAST	100

/*
 * A measurement may take CURVE_PATIENCE times as long as it should, or
 * CURVE_SECONDS if that is longer: from fewer queries, a curve asks for more
 * probes in all later searches.
 */
#define CURVE_PATIENCE		3
#define CURVE_SECONDS		5.0

/* Clusters read for a query, as a multiple of the rule's for 0.95. */
#define CURVE_DEPTH			8

/* Queries that read all of them, and how much farther the others read. */
#define CURVE_QUERIES_FULL	100
#define CURVE_REACH			1.5

/* By how much a target is exceeded; see above. */
#define CURVE_MARGIN		0.15
#define CURVE_ERRORS		1.5
#define CURVE_CODES_LOSS	0.001

/* Numbers of probes and slacks that are tried. */
#define CURVE_PROBES		80
#define CURVE_SLACKS		14

static const float4 curve_targets[] = {
	0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985,
	0.99, 0.9925, 0.995, 0.9975, 0.999
};

StaticAssertDecl(lengthof(curve_targets) <= ECP_RECALL_POINTS,
				 "points of the curve");

/* After one cluster: the rank of its leader, and of the k-th row so far. */
typedef struct CurveStep
{
	float8		kth;
	float4		leader;
} CurveStep;

/* The notes of one query, with a step for each cluster of curve->depth. */
typedef struct CurveQuery
{
	int			nclusters;		/* read */
	int			nfound;			/* of the k nearest; 0: nothing to be found */
	int			found[ECP_TARGET_K];	/* in which of the clusters */
	CurveStep	steps[FLEXIBLE_ARRAY_MEMBER];
} CurveQuery;

struct EcpRecallCurve
{
	EcpProbe	probe;
	MemoryContext context;		/* of this struct and the notes */
	MemoryContext row_context;	/* of the cluster with the row */
	MemoryContext query_context;	/* of one query */
	EcpIndexState *state;
	EcpRerank	rerank;
	int			depth;			/* clusters noted for a query */
	float4		reach;			/* slack beyond which none is read */
	bool		prefetch;		/* pages may have to be waited for */

	/* the present query */
	const EcpQuery *query;
	const EcpCodeQuery *codes;
	ItemPointerData self;
	int			cluster;		/* being read */
	EcpTopRanks truth;
	int			found[ECP_TARGET_K];
	EcpTopRanks seen;			/* what a scan would know */
	float8	   *ranks;			/* of a page's rows */

	int			nqueries;
	int			max_queries;
	char	   *queries;		/* see curve_query() */
};

static Size
curve_query_bytes(const EcpRecallCurve *curve)
{
	return add_size(offsetof(CurveQuery, steps),
					mul_size(curve->depth, sizeof(CurveStep)));
}

static inline CurveQuery *
curve_query(const EcpRecallCurve *curve, int q)
{
	return (CurveQuery *) (curve->queries + q * curve_query_bytes(curve));
}

/* ---- searching ---- */

static void
curve_note_truth(EcpRecallCurve *curve, float8 rank)
{
	int			place = ecp_top_ranks_add(&curve->truth, rank);

	if (place < 0)
		return;
	for (int i = curve->truth.n - 1; i > place; i--)
		curve->found[i] = curve->found[i - 1];
	curve->found[place] = curve->cluster;
}

/* Is this the row that is searched for? */
static inline bool
curve_is_self(const EcpRecallCurve *curve, ItemPointer tid)
{
	/* not ItemPointerEquals(): a TID of a damaged page may be invalid */
	return ItemPointerIsValid(&curve->self) &&
		ItemPointerCompare(tid, unconstify(ItemPointerData *, &curve->self)) == 0;
}

/* Rows of a page by their codes. */
static void
curve_codes(EcpRecallCurve *curve, const EcpProbeRun *run, Buffer buffer,
			const EcpEntryView *view, uint32 first, int n)
{
	const EcpClusterRef *ref = curve->probe.ref;
	float4		leader_rank = ref->panel ? ref->rank :
		ecp_code_query_origin(curve->codes);
	EcpCodeMargin margin = ecp_code_query_margin(curve->codes, leader_rank);
	const uint32 *const *factors = (const uint32 *const *) view->factors;
	int			nslots = TYPEALIGN(ECP_CODE_BLOCK, n);
	float4	   *bounds = palloc(nslots * sizeof(float4));
	int		   *near = palloc(n * sizeof(int));
	int			nnear = 0;
	uint64		number;

	ecp_code_query_bounds(curve->codes, leader_rank,
						  (const uint8 *) view->codes, factors, n, bounds);
	number = ecp_rerank_add_page(&curve->rerank, run, first, n, view->tids);
	for (int i = 0; i < n; i++)
	{
		/* nearly all rows end here */
		if (!(bounds[i] < curve->truth.kth || bounds[i] < curve->seen.kth))
			continue;
		if (!EcpSlotIsLive(view, i) ||
			curve_is_self(curve, &view->tids[i]))
			continue;
		(void) ecp_top_ranks_add(&curve->seen, ecp_code_estimate(margin, factors, i,
																 bounds[i]));
		if (bounds[i] < curve->truth.kth)
			near[nnear++] = i;
	}
	UnlockReleaseBuffer(buffer);
	for (int i = 0; i < nnear; i++)
	{
		if (bounds[near[i]] < curve->truth.kth)
			curve_note_truth(curve, ecp_rerank_rank(&curve->rerank,
													number + near[i]));
	}
	pfree(near);
	pfree(bounds);
}

/* Callback of the probe, with each entry page. */
static void
curve_page(void *arg, const EcpProbeRun *run, Buffer buffer,
		   const EcpEntryView *view, uint32 first, int n)
{
	EcpRecallCurve *curve = arg;
	const EcpGeometry *geo = &curve->state->leaf;
	const uint32 *const *factors = (const uint32 *const *) view->factors;

	if (n > 0 && curve->codes)
	{
		curve_codes(curve, run, buffer, view, first, n);
		return;
	}
	if (n > 0 && geo->columns)
		ecp_query_rank_columns(curve->query, (const uint8 *) view->codes,
							   geo->slots, factors, n, curve->ranks);
	else if (n > 0)
		ecp_query_rank_rows(curve->query, view->codes, geo->code_bytes, factors,
							n, curve->ranks);
	for (int i = 0; i < n; i++)
	{
		if (!(curve->ranks[i] < curve->truth.kth))
			continue;
		if (!EcpSlotIsLive(view, i) ||
			curve_is_self(curve, &view->tids[i]))
			continue;
		(void) ecp_top_ranks_add(&curve->seen, curve->ranks[i]);
		curve_note_truth(curve, curve->ranks[i]);
	}
	UnlockReleaseBuffer(buffer);
}

/*
 * Note in which clusters the nearest rows were found; those that were not, as
 * "nearest" says, in one that no search reads.
 */
static void
curve_note_query(EcpRecallCurve *curve, CurveQuery *notes,
				 const float8 *nearest, int nnearest)
{
	int			nfound = curve->truth.n;

	notes->nclusters = curve->cluster;
	memcpy(notes->found, curve->found, sizeof(notes->found));
	if (nearest != NULL)
	{
		nnearest = Min(nnearest, ECP_TARGET_K);
		while (nfound > 0 &&
			   curve->truth.ranks[nfound - 1] > nearest[nnearest - 1])
			nfound--;
		while (nfound < nnearest)
			notes->found[nfound++] = PG_INT32_MAX;
		nfound = nnearest;
	}
	notes->nfound = nfound;
	if (nfound > 0)
		curve->nqueries++;
}

/* Search for a vector, and keep notes; in the context of the query. */
static void
curve_search(EcpRecallCurve *curve, const void *row, ItemPointer self,
			 const float8 *nearest, int nnearest)
{
	EcpMetaPageData *meta = &curve->state->meta;
	CurveQuery *notes = curve_query(curve, curve->nqueries);
	EcpProbe   *probe = &curve->probe;
	EcpVector	vector = {0};
	void	   *prepared = palloc(curve->state->node.vec_bytes);
	EcpDescent *descent;

	Assert(curve->nqueries < curve->max_queries);
	vector.elem = meta->ecpm_elem;
	vector.dims = meta->ecpm_dims;
	vector.data = row;
	if (!ecp_prepare(meta, &vector, prepared))
		return;
	curve->query = ecp_query_create(meta->ecpm_elem, meta->ecpm_metric,
									meta->ecpm_dims, row);
	curve->codes = NULL;
	if (curve->state->leaf.quantizer != ECP_QUANTIZER_NONE)
	{
		curve->codes = ecp_code_query_create(meta->ecpm_leader_elem,
											 meta->ecpm_metric, meta->ecpm_dims,
											 meta->ecpm_rotation_seed, prepared,
											 ECP_CODE_EPS);
		ecp_rerank_reset(&curve->rerank);
		curve->rerank.query = curve->query;
	}
	ItemPointerSetInvalid(&curve->self);
	if (self)
		curve->self = *self;
	ecp_top_ranks_reset(&curve->truth);
	ecp_top_ranks_reset(&curve->seen);
	ecp_probe_init(probe);
	if (!curve->prefetch)
		probe->prefetch = 0;
	descent = ecp_descent_begin(probe->index, curve->state, prepared, false,
								curve->depth);
	for (curve->cluster = 0; curve->cluster < curve->depth; curve->cluster++)
	{
		float4		rank;
		bool		far;

		if (EcpProbeWaiting(probe) == 0 &&
			ecp_probe_take(probe, descent, curve->depth - curve->cluster) == 0)
			break;
		rank = probe->refs[probe->next_ref].rank;
		far = ecp_target_reached(meta->ecpm_metric, rank, curve->seen.kth,
								 curve->reach);
		notes->steps[curve->cluster].leader = rank;
		do
		{
			if (far)
				probe->next_ref++;
			else
				ecp_probe_next(probe);
		} while (EcpProbeAtBuffer(probe));
		notes->steps[curve->cluster].kth = curve->seen.kth;
	}
	ecp_descent_end(descent);
	curve_note_query(curve, notes, nearest, nnearest);
}

void
ecp_recall_curve_query(EcpRecallCurve *curve, const void *row, ItemPointer self,
					   const float8 *nearest, int nnearest)
{
	MemoryContext old;

	Assert(row != NULL);
	Assert(nearest == NULL || nnearest >= 0);
	CHECK_FOR_INTERRUPTS();
	if (curve->nqueries == curve->max_queries || (nearest && nnearest == 0))
		return;
	old = MemoryContextSwitchTo(curve->query_context);
	curve_search(curve, row, self, nearest, nnearest);
	MemoryContextSwitchTo(old);
	MemoryContextReset(curve->query_context);
}

/* ---- choosing rows ---- */

/* All clusters, with their numbers of rows. */
static EcpChildData *
curve_clusters(Relation index, EcpIndexState *state, int *n)
{
	EcpChildData *clusters;
	List	   *nodes;
	ListCell   *lc;

	*n = 0;
	clusters = palloc_extended(mul_size(Max(state->meta.ecpm_nleaves, 1),
										sizeof(EcpChildData)),
							   MCXT_ALLOC_HUGE);
	if (state->meta.ecpm_root_level == 0)
	{
		clusters[(*n)++] = state->meta.ecpm_root;
		return clusters;
	}
	nodes = ecp_node_collect(index, state, 1);
	foreach(lc, nodes)
	{
		EcpNodeRef *ref = lfirst(lc);
		EcpNodeImage *node = ecp_node_read(index, state, 1,
										   ref->child.ecpc_blk,
										   ref->child.ecpc_run, false);

		for (int i = 0; i < node->nchildren && *n < state->meta.ecpm_nleaves; i++)
			clusters[(*n)++] = node->children[i];
		ecp_node_image_free(node);
	}
	return clusters;
}

/* Rows of the largest of some clusters. */
static uint32
curve_largest(const EcpChildData *clusters, int nclusters)
{
	uint32		largest = 0;

	for (int i = 0; i < nclusters; i++)
		largest = Max(largest, clusters[i].ecpc_nrows);
	return largest;
}

/*
 * Take a random row of some clusters as a query, each row with the same
 * probability.  The choice follows from its number and the index's seed.
 */
static void
curve_row(EcpRecallCurve *curve, const EcpChildData *clusters,
		  int nclusters, uint32 largest, int number)
{
	MemoryContext old = MemoryContextSwitchTo(curve->row_context);
	const EcpChildData *cluster;
	EcpRowSet	rows;
	uint32		row;
	pg_prng_state prng;

	Assert(nclusters > 0 && largest > 0);
	/* by rejection */
	pg_prng_seed(&prng, hash_bytes_uint32_extended(number,
												   curve->state->meta.ecpm_seed));
	do
	{
		cluster = &clusters[pg_prng_uint64_range(&prng, 0, nclusters - 1)];
		row = pg_prng_uint64_range(&prng, 0, largest - 1);
	} while (row >= cluster->ecpc_nrows);

	ecp_cluster_rows_init(&rows, curve->state);
	if (ecp_cluster_rows_read(curve->probe.index, curve->state, cluster->ecpc_blk,
							  cluster->ecpc_run, InvalidBuffer, &rows) &&
		row < rows.nrows)
		ecp_recall_curve_query(curve, rows.vectors + row * rows.stride,
							   &rows.tids[row], NULL, 0);
	MemoryContextSwitchTo(old);
	MemoryContextReset(curve->row_context);
}

/* Is the time up of a measurement that should take these seconds? */
static bool
curve_is_late(instr_time start, double seconds)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now) >
		Max(seconds * CURVE_PATIENCE, CURVE_SECONDS);
}

/*
 * The first queries have read all clusters: limit how far the others read,
 * unless ranks are by inner product, which are no distances.
 */
static void
curve_set_reach(EcpRecallCurve *curve)
{
	EcpMetric	metric = curve->state->meta.ecpm_metric;
	float8		reach = 0;

	if (metric == ECP_METRIC_IP || curve->nqueries == 0)
		return;
	for (int q = 0; q < curve->nqueries; q++)
	{
		const CurveQuery *query = curve_query(curve, q);

		for (int i = 0; i < query->nfound; i++)
		{
			float8		excess =
				ecp_target_excess(metric, query->steps[query->found[i]].leader,
								  query->steps[query->nclusters - 1].kth);

			reach = Max(reach, excess);
		}
	}
	curve->reach = (float4) (CURVE_REACH * reach);
}

void
ecp_recall_curve_sample(EcpRecallCurve *curve, const EcpChildData *clusters,
						int nclusters, double seconds)
{
	uint32		largest = curve_largest(clusters, nclusters);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (int q = 0; q < curve->max_queries && largest > 0; q++)
	{
		if (curve_is_late(start, seconds))
			break;
		if (q == CURVE_QUERIES_FULL)
			curve_set_reach(curve);
		curve_row(curve, clusters, nclusters, largest, q);
	}
}

/* ---- choosing points ---- */

/* The clusters that each query reads with this slack, if without bounds. */
static void
curve_stops(const EcpRecallCurve *curve, float4 slack, int *stops)
{
	EcpMetric	metric = curve->state->meta.ecpm_metric;

	for (int q = 0; q < curve->nqueries; q++)
	{
		const CurveQuery *query = curve_query(curve, q);
		int			stop = 1;

		while (stop < query->nclusters &&
			   !ecp_target_reached(metric, query->steps[stop].leader,
								   query->steps[stop - 1].kth, slack))
			stop++;
		stops[q] = stop;
	}
}

/* What a rule gives. */
typedef struct CurveResult
{
	double		recall;			/* mean of the queries' */
	double		error;			/* its standard error */
	double		cost;			/* mean number of clusters read */
} CurveResult;

/*
 * Try a rule: "stops" says where each query stops within the bounds least and
 * most; NULL: all read "most".
 */
static void
curve_rule(const EcpRecallCurve *curve, const int *stops, int least,
		   int most, CurveResult *result)
{
	double		sum = 0;
	double		squares = 0;
	double		cost = 0;
	int			n = curve->nqueries;

	Assert(n > 0);
	for (int q = 0; q < n; q++)
	{
		const CurveQuery *query = curve_query(curve, q);
		int			stop = stops ? Min(Max(stops[q], least), most) : most;
		int			hits = 0;
		double		recall;

		for (int i = 0; i < query->nfound; i++)
			hits += query->found[i] < stop;
		recall = (double) hits / query->nfound;
		sum += recall;
		squares += recall * recall;
		cost += Min(stop, query->nclusters);
	}
	result->recall = sum / n;
	result->error = sqrt(Max(squares / n - result->recall * result->recall, 0) /
						 n);
	result->cost = cost / n;
	if (curve->state->leaf.quantizer != ECP_QUANTIZER_NONE)
		result->recall -= CURVE_CODES_LOSS;
}

/* Will it reach this target for fresh queries? */
static bool
curve_reaches(const CurveResult *result, double target)
{
	double		missed = 1 - result->recall;

	if (missed <= 0)
		return true;
	missed += CURVE_ERRORS * result->error;
	return missed <= (1 - target) * (1 - CURVE_MARGIN);
}

/* The slacks to try: shares of a typical squared distance; at last, infinity. */
static void
curve_slacks(const EcpRecallCurve *curve, EcpMetric metric, float4 *slacks)
{
	double		sum = 0;

	for (int q = 0; q < curve->nqueries; q++)
		sum += fabs(curve_query(curve, q)->steps[0].leader);
	sum /= curve->nqueries;
	for (int s = 0; s < CURVE_SLACKS - 1; s++)
		slacks[s] = sum * (s - 2) * 0.08;
	slacks[CURVE_SLACKS - 1] = get_float4_infinity();
}

bool
ecp_recall_curve_choose(EcpRecallCurve *curve, double rows)
{
	EcpMetaPageData *meta = &curve->state->meta;
	float4		slacks[CURVE_SLACKS];
	int		   *stops;
	int			ntargets = lengthof(curve_targets);
	double		costs[lengthof(curve_targets)];
	EcpRecallPointData best[lengthof(curve_targets)];

	if (curve->nqueries == 0)
		return false;
	stops = palloc(curve->nqueries * sizeof(int));
	for (int t = 0; t < ntargets; t++)
		costs[t] = get_float8_infinity();
	curve_slacks(curve, meta->ecpm_metric, slacks);
	for (int s = 0; s < CURVE_SLACKS; s++)
	{
		bool		early = s < CURVE_SLACKS - 1;

		/* ranks by inner product are no distances */
		if (early && meta->ecpm_metric == ECP_METRIC_IP)
			continue;
		if (early)
			curve_stops(curve, slacks[s], stops);
		for (int p = 0; p < CURVE_PROBES; p++)
		{
			double		probes = round(pow(curve->depth,
										   (p + 1.0) / CURVE_PROBES));
			CurveResult result;

			if (early)
				curve_rule(curve, stops, EcpTargetLeast(probes),
						   EcpTargetMost(probes), &result);
			else
				curve_rule(curve, NULL, 0, (int) probes, &result);
			for (int t = 0; t < ntargets; t++)
			{
				if (result.cost >= costs[t] ||
					!curve_reaches(&result, curve_targets[t]))
					continue;
				costs[t] = result.cost;
				best[t].ecpm_probes = probes;
				best[t].ecpm_recall = curve_targets[t];
				best[t].ecpm_slack = slacks[s];
				best[t].ecpm_clusters = result.cost;
			}
		}
	}
	elog(DEBUG1, "ecp recall curve: %d queries, %d clusters each",
		 curve->nqueries, curve->depth);
	meta->ecpm_recall_queries = curve->nqueries;
	meta->ecpm_recall_leaves = meta->ecpm_nleaves;
	meta->ecpm_recall_time = GetCurrentTimestamp();
	meta->ecpm_recall_tuples = rows;
	meta->ecpm_recall_points = 0;
	for (int t = 0; t < ntargets && !isinf(costs[t]); t++)
	{
		elog(DEBUG1, "ecp recall curve: recall %g: %u probes, slack %g, %g clusters",
			 best[t].ecpm_recall, best[t].ecpm_probes, best[t].ecpm_slack,
			 best[t].ecpm_clusters);
		meta->ecpm_recall[meta->ecpm_recall_points++] = best[t];
	}
	pfree(stops);
	return true;
}

/* CURVE: META. */
void
ecp_recall_curve_store(Relation index, const EcpMetaPageData *meta)
{
	Buffer		buffer = ecp_meta_lock(index);
	GenericXLogState *xlog = GenericXLogStart(index);
	EcpMetaPage m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, buffer, 0));

	Assert(meta->ecpm_recall_points <= ECP_RECALL_POINTS);
	m->ecpm_recall_points = meta->ecpm_recall_points;
	memcpy(m->ecpm_recall, meta->ecpm_recall, sizeof(m->ecpm_recall));
	m->ecpm_recall_time = meta->ecpm_recall_time;
	m->ecpm_recall_tuples = meta->ecpm_recall_tuples;
	m->ecpm_recall_leaves = meta->ecpm_recall_leaves;
	m->ecpm_recall_queries = meta->ecpm_recall_queries;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
}

double
ecp_recall_curve_at(const EcpRecallCurve *curve, const EcpScanPlan *plan)
{
	CurveResult result;
	int		   *stops = NULL;

	if (curve->nqueries == 0)
		return get_float8_nan();
	if (plan->early)
	{
		stops = palloc(curve->nqueries * sizeof(int));
		curve_stops(curve, plan->slack, stops);
		curve_rule(curve, stops, plan->least, plan->most, &result);
		pfree(stops);
	}
	else
		curve_rule(curve, NULL, 0, plan->probes, &result);
	return result.recall;
}

/* ---- begin and end ---- */

EcpRecallCurve *
ecp_recall_curve_begin(Relation index, EcpIndexState *state, int max_queries)
{
	EcpMetaPageData *meta = &state->meta;
	MemoryContext context;
	MemoryContext old;
	EcpRecallCurve *curve;

	Assert(max_queries > 0);
	/* exact vectors beside the entry pages would take too long */
	if (EcpIndexIsEmpty(state) ||
		(state->leaf.stream && state->leaf.quantizer == ECP_QUANTIZER_NONE))
		return NULL;

	context = AllocSetContextCreate(CurrentMemoryContext, "ecp recall curve",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	curve = palloc0(sizeof(EcpRecallCurve));
	curve->context = context;
	curve->row_context = AllocSetContextCreate(context,
											   "ecp recall curve, one cluster",
											   ALLOCSET_DEFAULT_SIZES);
	curve->query_context = AllocSetContextCreate(context,
												 "ecp recall curve, one query",
												 ALLOCSET_DEFAULT_SIZES);
	curve->state = state;
	curve->probe.index = index;
	curve->probe.state = state;
	curve->probe.page = curve_page;
	curve->probe.page_arg = curve;
	curve->depth = (int) Min(ceil(CURVE_DEPTH *
								  ecp_target_rule_probes(meta->ecpm_nleaves)),
							 meta->ecpm_nleaves);
	ecp_probe_init(&curve->probe);
	if (state->leaf.quantizer != ECP_QUANTIZER_NONE)
		ecp_rerank_init(&curve->rerank, &curve->probe);
	curve->ranks = palloc((state->leaf.slots + ECP_KERNEL_SLACK) * sizeof(float8));
	curve->reach = get_float4_infinity();
	curve->prefetch = true;
	curve->max_queries = max_queries;
	curve->queries = palloc_extended(mul_size(max_queries,
											  curve_query_bytes(curve)),
									 MCXT_ALLOC_HUGE);
	MemoryContextSwitchTo(old);
	return curve;
}

void
ecp_recall_curve_end(EcpRecallCurve *curve)
{
	MemoryContextDelete(curve->context);
}

/* ---- of a build ---- */

/* An index that fits the caches is in them, as it has just been written. */
static EcpRecallCurve *
curve_begin(EcpBuild *build, int max_queries)
{
	EcpRecallCurve *curve = ecp_recall_curve_begin(build->index, &build->state,
												   max_queries);

	if (curve)
		curve->prefetch =
			RelationGetNumberOfBlocks(build->index) > effective_cache_size;
	return curve;
}

/* What a process of a build needs besides the state. */
typedef struct CurveArgs
{
	int			first;			/* number of the task's first choice */
	int			max_queries;
	int			nclusters;
	float4		reach;
	double		seconds;
} CurveArgs;

/*
 * ecp_recall_curve_task
 *		Search for a part of the rows, in each process of the team.
 *
 * The memories are those of the clusters and of the notes, where the queries
 * stand by the numbers of their choices.
 */
void
ecp_recall_curve_task(EcpTeam *team, const void *args, char **memories)
{
	EcpBuild   *build = ecp_build_team_build(team);
	const CurveArgs *shape = args;
	const EcpChildData *clusters = (const EcpChildData *) memories[0];
	uint32		largest = curve_largest(clusters, shape->nclusters);
	EcpRecallCurve *curve = curve_begin(build, shape->max_queries);
	instr_time	start;
	int64		from;
	int64		upto;

	curve->queries = memories[1];
	curve->reach = shape->reach;
	INSTR_TIME_SET_CURRENT(start);
	while (ecp_team_claim(team, &from, &upto))
		for (int64 q = shape->first + from; q < shape->first + upto; q++)
		{
			if (curve_is_late(start, shape->seconds))
				break;
			curve->nqueries = q;
			curve_row(curve, clusters, shape->nclusters, largest, q);
		}
	ecp_recall_curve_end(curve);
}

/* ecp_recall_curve_sample() by a team. */
static void
curve_sample_team(EcpRecallCurve *curve, EcpBuild *build,
				  const EcpChildData *clusters, int nclusters,
				  double seconds)
{
	CurveArgs	args = {0};
	EcpMemory	clusters_memory;
	EcpMemory	notes_memory;
	EcpMemory  *memories[] = {&clusters_memory, &notes_memory};
	Size		bytes;

	if (curve_largest(clusters, nclusters) == 0)
		return;
	args.max_queries = curve->max_queries;
	args.nclusters = nclusters;
	args.seconds = seconds;
	bytes = mul_size(sizeof(EcpChildData), nclusters);
	ecp_team_memory_alloc(&clusters_memory, true, bytes);
	memcpy(clusters_memory.address, clusters, bytes);
	bytes = mul_size(curve_query_bytes(curve), args.max_queries);
	ecp_team_memory_alloc(&notes_memory, true, bytes);
	memset(notes_memory.address, 0, bytes);

	while (args.first < args.max_queries)
	{
		int			upto = args.first == 0 ?
			Min(CURVE_QUERIES_FULL, args.max_queries) : args.max_queries;

		args.reach = curve->reach;
		ecp_team_run(build->team, EcpTaskOf(ecp_recall_curve_task), &args, sizeof(args),
					 upto - args.first,
					 ecp_team_step(build->team, upto - args.first, 1),
					 memories, lengthof(memories));
		for (int q = args.first; q < upto; q++)
		{
			const CurveQuery *notes = (const CurveQuery *)
				(notes_memory.address + q * curve_query_bytes(curve));

			if (notes->nfound > 0)
				memcpy(curve_query(curve, curve->nqueries++), notes,
					   curve_query_bytes(curve));
		}
		args.first = upto;
		curve_set_reach(curve);
	}
	ecp_team_memory_free(&clusters_memory);
	ecp_team_memory_free(&notes_memory);
}

void
ecp_recall_curve_build(EcpBuild *build, double seconds)
{
	EcpIndexState *state = &build->state;
	EcpRecallCurve *curve = curve_begin(build, CURVE_QUERIES);
	EcpChildData *clusters;
	int			nclusters;

	if (curve == NULL)
		return;
	clusters = curve_clusters(build->index, state, &nclusters);
	if (build->team)
		curve_sample_team(curve, build, clusters, nclusters, seconds);
	else
		ecp_recall_curve_sample(curve, clusters, nclusters, seconds);
	if (curve->nqueries >= CURVE_QUERIES_LEAST)
		(void) ecp_recall_curve_choose(curve, state->meta.ecpm_build_tuples);
	pfree(clusters);
	ecp_recall_curve_end(curve);
}
