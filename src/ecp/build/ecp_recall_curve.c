/*-------------------------------------------------------------------------
 *
 * ecp_recall_curve.c
 *	  BUILD: measure what recall costs, for ecp_target.c.
 *
 * Rows of the index, chosen at random, are searched for as if they were
 * queries, each without itself.  One search reads many more clusters than any
 * target will need, and notes in which cluster, by the order of the descent,
 * each of the ten nearest rows was found, and after each cluster how near
 * the tenth was by then.  (The first searches read all these clusters; those
 * after them leave out the ones that are farther away than any in which the
 * first found a row, and half as far again.)  From these notes the recall of
 * every number of probes and of every rule for stopping early follows, without
 * searching again:
 *
 *	  after a quarter of the probes at the earliest and one and a half times
 *	  as many at the latest, stop before the cluster whose leader c has
 *	  D(q, c)^2 > D_k^2 + slack
 *
 * where D_k is the distance of the tenth row so far (by its estimate, where
 * codes are read).  For each of a list of targets the pair of probes and
 * slack that reads fewest clusters is kept.
 *
 * More than the target is asked for, for three reasons.  Rows of the table are
 * easier than fresh queries, because leaders were made of them:
 * CURVE_MARGIN of the share that may be missed.  A few hundred queries say
 * it with an error, and a choice among many pairs is a lucky one:
 * CURVE_ERRORS standard errors.  And codes lose rows that neither the
 * searches here nor those of scans see: CURVE_CODES_LOSS.
 *
 * The time is bounded, which matters where each cluster is a wait for a
 * device: the curve follows from the queries that were done by then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "ecp/build/ecp_build.h"
#include "ecp/build/ecp_build_team.h"
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

/*
 * The time that a measurement is given may be exceeded, by CURVE_PATIENCE times
 * or up to CURVE_SECONDS, for the first CURVE_QUERIES_MIN queries: fewer would
 * ask for more probes in all searches to come.  From fewer than
 * CURVE_QUERIES_LEAST no curve is made, and scans go by the rule.
 */
#define CURVE_QUERIES_MIN	ECP_RECALL_CURVE_QUERIES
#define CURVE_PATIENCE		3
#define CURVE_SECONDS		5.0
#define CURVE_QUERIES_LEAST	100

/* Clusters read for a query, as a multiple of the rule's for 0.95. */
#define CURVE_DEPTH			8

/* Queries that read all of them, and how much farther the others look. */
#define CURVE_QUERIES_FULL	100
#define CURVE_REACH			1.5

/* Asked for beyond the target; see above. */
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

/* What one query told. */
typedef struct CurveQuery
{
	int			nclusters;		/* read */
	int			nfound;			/* of the k nearest */
	int			found[ECP_TARGET_K];	/* in which of the clusters */
	float4	   *leaders;		/* rank of each cluster's leader */
	float8	   *kth;			/* after that cluster */
} CurveQuery;

struct EcpRecallCurve
{
	EcpProbe	probe;			/* must be first */
	MemoryContext context;		/* of all */
	MemoryContext row_context;	/* of the row that one query is */
	MemoryContext query_context;	/* of one query */
	EcpIndexState *state;
	EcpRerank	rerank;
	int			depth;			/* clusters noted for a query */
	float4		reach;			/* slack beyond which none is read */
	bool		prefetch;		/* pages may have to be waited for */

	/* the query that runs */
	const EcpQuery *query;
	const EcpCodeQuery *codes;
	ItemPointerData self;
	int			cluster;		/* that is read */
	EcpTopRanks truth;
	int			found[ECP_TARGET_K];
	EcpTopRanks seen;			/* as a scan sees it */
	float8	   *ranks;			/* of a page */

	int			nqueries;
	int			max_queries;
	CurveQuery *queries;
};

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

/* Is this the row that is searched for, if it is one of the index? */
static inline bool
curve_is_self(const EcpRecallCurve *curve, ItemPointer tid)
{
	/* compared, as a damaged page may have TIDs that are none */
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
		/* of nearly all rows this is all */
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

/* What the probe calls with each entry page. */
static void
curve_page(EcpProbe *probe, const EcpProbeRun *run, Buffer buffer,
		   const EcpEntryView *view, uint32 first, int n)
{
	EcpRecallCurve *curve = (EcpRecallCurve *) probe;
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

/* Note in which clusters the nearest rows were found; see below. */
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

static void
curve_notes_alloc(const EcpRecallCurve *curve, CurveQuery *notes)
{
	if (notes->leaders != NULL)
		return;
	notes->leaders = MemoryContextAlloc(curve->context,
										curve->depth * sizeof(float4));
	notes->kth = MemoryContextAlloc(curve->context,
									curve->depth * sizeof(float8));
}

/* Search for a vector, and keep the notes; in the query's context. */
static void
curve_search(EcpRecallCurve *curve, const void *row, ItemPointer self,
			 const float8 *nearest, int nnearest)
{
	EcpMetaPageData *meta = &curve->state->meta;
	CurveQuery *notes = &curve->queries[curve->nqueries];
	EcpProbe   *probe = &curve->probe;
	EcpVector	vector = {0};
	void	   *prepared = palloc(curve->state->node.vec_bytes);
	EcpDescent *descent;

	Assert(curve->nqueries <= curve->max_queries);
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
		notes->leaders[curve->cluster] = rank;
		do
		{
			if (far)
				probe->next_ref++;
			else
				ecp_probe_next(probe);
		} while (EcpProbeAtBuffer(probe));
		notes->kth[curve->cluster] = curve->seen.kth;
	}
	ecp_descent_end(descent);
	curve_note_query(curve, notes, nearest, nnearest);
}

/*
 * Take one query: a vector with the index's elements and, if it is a row of
 * the index, which one.  If the ranks of its nearest rows are known, "nearest"
 * has nnearest of them, in ascending order; else the nearest rows of the
 * clusters read here are taken for them.
 */
void
ecp_recall_curve_query(EcpRecallCurve *curve, const void *row, ItemPointer self,
					   const float8 *nearest, int nnearest)
{
	CurveQuery *notes = &curve->queries[curve->nqueries];
	MemoryContext old;

	Assert(row != NULL);
	Assert(nearest == NULL || nnearest >= 0);
	CHECK_FOR_INTERRUPTS();
	if (curve->nqueries == curve->max_queries || (nearest && nnearest == 0))
		return;
	curve_notes_alloc(curve, notes);
	old = MemoryContextSwitchTo(curve->query_context);
	curve_search(curve, row, self, nearest, nnearest);
	MemoryContextSwitchTo(old);
	MemoryContextReset(curve->query_context);
}

/* ---- choosing rows ---- */

/* All clusters, and with them their numbers of rows. */
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

		if (node == NULL)
			ecp_report_moved(index, ref->child.ecpc_blk);
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
 * Take a random row of some clusters as a query, each row of these with the
 * same probability; "number" is that of the choice.  False if there was
 * nothing to be found.
 */
static bool
curve_row(EcpRecallCurve *curve, const EcpChildData *clusters,
		  int nclusters, uint32 largest, int number)
{
	int			before = curve->nqueries;
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
	return curve->nqueries > before;
}

/* Is the time up, after "number" choices? */
static bool
curve_is_late(int number, instr_time start, double seconds)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	if (number < CURVE_QUERIES_MIN)
		seconds = Max(seconds * CURVE_PATIENCE, CURVE_SECONDS);
	return INSTR_TIME_GET_DOUBLE(now) > seconds;
}

/*
 * The first queries have read all clusters: how far need the others look?
 * Ranks by inner product do not say.
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
		const CurveQuery *query = &curve->queries[q];

		for (int i = 0; i < query->nfound; i++)
		{
			float8		excess =
				ecp_target_excess(metric, query->leaders[query->found[i]],
								  query->kth[query->nclusters - 1]);

			reach = Max(reach, excess);
		}
	}
	curve->reach = (float4) (CURVE_REACH * reach);
}

/*
 * Take random rows of some clusters as queries, until there are enough of
 * them or the time is up.
 */
void
ecp_recall_curve_sample(EcpRecallCurve *curve, const EcpChildData *clusters,
						int nclusters, double seconds)
{
	uint32		largest = curve_largest(clusters, nclusters);
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (int q = 0; q < curve->max_queries && largest > 0; q++)
	{
		if (curve_is_late(q, start, seconds))
			break;
		if (q == CURVE_QUERIES_FULL)
			curve_set_reach(curve);
		(void) curve_row(curve, clusters, nclusters, largest, q);
	}
}

/* ---- choosing points ---- */

/* Where queries stop with this slack, without bounds. */
static void
curve_stops(const EcpRecallCurve *curve, float4 slack, int *stops)
{
	EcpMetric	metric = curve->state->meta.ecpm_metric;

	for (int q = 0; q < curve->nqueries; q++)
	{
		const CurveQuery *query = &curve->queries[q];
		int			stop = 1;

		while (stop < query->nclusters &&
			   !ecp_target_reached(metric, query->leaders[stop],
								   query->kth[stop - 1], slack))
			stop++;
		stops[q] = stop;
	}
}

/* What a rule gave. */
typedef struct CurveResult
{
	double		recall;			/* mean of the queries' */
	double		error;			/* its standard error */
	double		cost;			/* mean number of clusters */
} CurveResult;

/*
 * Try a rule: where each query stops if there were no bounds, and these.
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
		const CurveQuery *query = &curve->queries[q];
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

/* Does it reach this target on queries to come? */
static bool
curve_reaches(const CurveResult *result, double target)
{
	double		missed = 1 - result->recall;

	if (missed <= 0)
		return true;
	missed += CURVE_ERRORS * result->error;
	return missed <= (1 - target) * (1 - CURVE_MARGIN);
}

/* The slacks to try: shares of a typical squared distance; the last is none. */
static void
curve_slacks(const EcpRecallCurve *curve, EcpMetric metric, float4 *slacks)
{
	double		sum = 0;

	for (int q = 0; q < curve->nqueries; q++)
		sum += fabs(curve->queries[q].leaders[0]);
	sum /= curve->nqueries;
	for (int s = 0; s < CURVE_SLACKS - 1; s++)
		slacks[s] = sum * (s - 2) * 0.08;
	slacks[CURVE_SLACKS - 1] = get_float4_infinity();
}

/*
 * Put the curve that follows from the queries into the metapage in memory;
 * "rows" is how many the index has.  Returns false, leaving it, if there were
 * no queries.
 */
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

/*
 * CURVE: META.  Write the curve in *meta to the index: all searches that begin
 * from now on follow it.
 */
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

/* Recall of a search by this plan. */
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

/* ---- one after the other ---- */

/*
 * Begin to measure, with up to max_queries queries, the index that "state" was
 * read of.  Its pages must be readable; the metapage is not read again.
 * Returns NULL where this is of no use.
 */
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
	curve->probe.ordered = true;
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
	curve->queries = palloc0(mul_size(max_queries + 1, sizeof(CurveQuery)));
	MemoryContextSwitchTo(old);
	return curve;
}

void
ecp_recall_curve_end(EcpRecallCurve *curve)
{
	MemoryContextDelete(curve->context);
}

/* ---- of a build ---- */

/* An index that fits the caches is in them: it has just been written. */
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

/* All that a process of a build needs to know beside the state. */
typedef struct CurveArgs
{
	int			first;			/* of the choices that are this task's */
	int			max_queries;
	int			depth;
	int			nclusters;
	float4		reach;
	double		seconds;
} CurveArgs;

/* A query's notes in shared memory; kth and leaders follow. */
typedef struct CurveShared
{
	int			nclusters;		/* 0 = nothing was searched for */
	int			nfound;
	int			found[ECP_TARGET_K];
} CurveShared;

static Size
curve_shared_bytes(const CurveArgs *args)
{
	return MAXALIGN(sizeof(CurveShared)) +
		MAXALIGN((sizeof(float8) + sizeof(float4)) * args->depth);
}

/* Copy notes to shared memory, or (take) from there. */
static void
curve_copy_notes(const CurveArgs *args, char *memory, CurveQuery *notes,
				 bool take)
{
	CurveShared *shared = (CurveShared *) memory;
	float8	   *kth = (float8 *) (memory + MAXALIGN(sizeof(CurveShared)));
	float4	   *leaders = (float4 *) (kth + args->depth);

	if (take)
	{
		notes->nclusters = shared->nclusters;
		notes->nfound = shared->nfound;
		memcpy(notes->found, shared->found, sizeof(notes->found));
		memcpy(notes->kth, kth, sizeof(float8) * args->depth);
		memcpy(notes->leaders, leaders, sizeof(float4) * args->depth);
	}
	else
	{
		shared->nclusters = notes->nclusters;
		shared->nfound = notes->nfound;
		memcpy(shared->found, notes->found, sizeof(notes->found));
		memcpy(kth, notes->kth, sizeof(float8) * args->depth);
		memcpy(leaders, notes->leaders, sizeof(float4) * args->depth);
	}
}

/*
 * ecp_recall_curve_task
 *		Search for a part of the rows, in each process of the team.
 *
 * The memories are those of the clusters and of the notes.
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

	curve->reach = shape->reach;
	INSTR_TIME_SET_CURRENT(start);
	while (ecp_team_claim(team, &from, &upto))
		for (int64 q = shape->first + from; q < shape->first + upto; q++)
		{
			/* each query is noted in place of the one before */
			curve->nqueries = 0;
			if (!curve_is_late(q, start, shape->seconds) &&
				curve_row(curve, clusters, shape->nclusters, largest, q))
				curve_copy_notes(shape,
								 memories[1] + q * curve_shared_bytes(shape),
								 &curve->queries[0], false);
		}
	ecp_recall_curve_end(curve);
}

/* As ecp_recall_curve_sample(), by a team. */
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
	args.depth = curve->depth;
	args.nclusters = nclusters;
	args.seconds = seconds;
	bytes = mul_size(sizeof(EcpChildData), nclusters);
	ecp_team_memory_alloc(&clusters_memory, true, bytes);
	memcpy(clusters_memory.address, clusters, bytes);
	bytes = mul_size(curve_shared_bytes(&args), args.max_queries);
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
			char	   *memory = notes_memory.address +
				q * curve_shared_bytes(&args);

			if (((CurveShared *) memory)->nclusters == 0)
				continue;
			curve_notes_alloc(curve, &curve->queries[curve->nqueries]);
			curve_copy_notes(&args, memory, &curve->queries[curve->nqueries++],
							 true);
		}
		args.first = upto;
		curve_set_reach(curve);
	}
	ecp_team_memory_free(&clusters_memory);
	ecp_team_memory_free(&notes_memory);
}

/*
 * What a build does: measure with rows of the index, and put the curve into
 * the metapage to be, within about these seconds.
 */
void
ecp_recall_curve_build(EcpBuild *build, double seconds)
{
	EcpIndexState *state = &build->state;
	EcpRecallCurve *curve = curve_begin(build, ECP_RECALL_CURVE_QUERIES);
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
