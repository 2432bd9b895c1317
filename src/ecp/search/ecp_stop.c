/*-------------------------------------------------------------------------
 *
 * ecp_stop.c
 *	  SEARCH: the declared recall, and when a search has enough for it.
 *
 * Clusters come in the order of their leaders' distances from the query, and
 * after n of them the nearest rows read so far are known.  The larger the gap
 * between the distance of the next leader, D(n + 1), and that of the k-th row,
 * D_k, the less is missed.  A search stops at the first check where
 *
 *	  D(n + 1) - D_k + STOP_PULL * spread * ln(n) >= margin
 *
 * The margin for a target, a k and a query class is measured on the index
 * (ecp_recall_points.c), so that the mean recall of such queries is the target.
 * The third term makes queries that need many clusters give up earlier.  A mean
 * is cheapest when one more cluster gains every query the same, and it gains
 * less where more have been read.  The term is worth a tenth to a quarter of the
 * clusters; anything from 0.3 to 0.7 is within a twentieth
 * of the best.  The spread is that of the gaps of rows, so that the
 * units are the index's own.
 *
 * The same gap means more for a query between the rows than for a row, and less
 * for one far away: from there all leaders are about equally distant.  So
 * margins are measured for five query classes (EcpQueryClass), and a query has
 * their mean, weighted by how much it is of each class.  That follows from where it
 * is among the leaders and how far from the rows (EcpPlace), by normal distributions
 * of this place for the queries of each class.  Where rows have near copies, a query
 * that has none is as near to leaders as rows are, and only the k-th row of the first
 * clusters says that a gap like theirs will never be reached: without that, such
 * queries read all clusters, or one.  A query farther away than all that were measured
 * belongs to the class whose distribution is widest, the far ones; their margin grows
 * little with distance, because they see the same half-spaces.
 *
 * Among queries of a class, those that are farther from their nearest leader find
 * less with the same margin, and fresh queries are farther than rows.  Therefore the
 * margin rises a little with this distance (STOP_OUTER).  It costs next to nothing,
 * as the mean is near its optimum; equal recall for near and far rows costs half as
 * many clusters more (sentence embeddings).
 *
 * Estimates of how many rows unread clusters have, from the volumes of a ball's
 * caps beyond the boundaries between clusters (Mohoney et al., Quake, OSDI
 * 2025), were tried first.  They give each query the same recall instead of a
 * mean, which costs a quarter more clusters in all, see test/bench/RESULTS.md.
 *
 * Ranks by inner product become distances by an additional element that makes
 * all rows equally long: D(q, x)^2 = |q|^2 + N - 2 q x, where N is the largest
 * square of a row's length.
 *
 * Everything here follows from the index and the query, nothing from what is in
 * memory: so the same query reads the same clusters everywhere.
 *
 * The target is ecp.target_recall or, if that is 0, the index's storage parameter.
 * The metapage has a curve (ecp_recall_curve.c): where searches for 1 to 10,000 rows
 * (ecp_target_ks) have to stop for each of a list of targets.  A target between two
 * of the list takes the upper one; above the last all is read.  A number of rows
 * between two of the list is interpolated up to 1,000 rows.  Above, it takes the
 * larger margin of the two: where the rows of a group are all found and those of the
 * next begin, the margin that is needed jumps, and it falls where most clusters have
 * to be read in any case.  Beyond the last, it goes on rising as it did before it.
 * A quarter of all rows, or more, are searched for in all clusters: hardly fewer
 * would have them, and so none is missed.
 *
 * Without a curve (a small index that was created empty) a search reads a number of
 * clusters by a rule, which was fitted to several data sets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_stop.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Spreads by which the margin falls for e times the clusters. */
#define STOP_PULL		0.4

/*
 * Spreads by which the margin rises for one standard deviation more of the
 * distance from the nearest leader, and the most deviations that count.
 */
#define STOP_OUTER		0.4
#define STOP_OUTER_MOST	2.0

/* ---- the nearest rows ---- */

/* Put a row, which is nearer than the k-th so far, into the heap. */
void
ecp_nearest_replace(EcpNearest *nearest, float8 rank)
{
	EcpRanked	row = {rank, nearest->cluster};

	Assert(nearest->k > 0 && nearest->n <= nearest->k);
	ecp_ranked_push(nearest->rows, &nearest->n, nearest->k, &row, ~UINT64CONST(0));
	if (nearest->n == nearest->k)
		nearest->kth = nearest->rows[0].rank;
}

/* ---- places ---- */

/* The distance of a leader from the query. */
static inline double
place_leader(const EcpPlace *place, const EcpMetaPageData *meta, float4 rank)
{
	double		square = rank;

	if (meta->ecpm_metric == ECP_METRIC_IP)
		square = place->norm + meta->ecpm_curve.ecpm_norm + 2 * square;
	return sqrt(Max(square, 0));
}

/* The distance of a row, on the scale of the leaders'. */
static inline double
place_row(const EcpPlace *place, const EcpMetaPageData *meta, float8 rank)
{
	double		square = ecp_stop_square(place, meta, rank);

	if (meta->ecpm_metric == ECP_METRIC_IP)
		square = place->norm + meta->ecpm_curve.ecpm_norm + 2 * rank;
	return sqrt(Max(square, 0));
}

void
ecp_place_set_ranks(EcpPlace *place, const EcpMetaPageData *meta,
					const void *prepared, float4 near, float4 around)
{
	place->norm = 0;
	if (meta->ecpm_metric == ECP_METRIC_IP || meta->ecpm_metric == ECP_METRIC_JACCARD)
		place->norm = -ecp_distance(meta->ecpm_leader_elem, ECP_METRIC_IP,
									meta->ecpm_dims, prepared, prepared);
	place->near = place_leader(place, meta, near);
	place->around = place_leader(place, meta, around);
	place->kth = 0;
}

void
ecp_place_set_kth(EcpPlace *place, const EcpMetaPageData *meta, float8 kth)
{
	place->kth = isinf(kth) ? 0 : Max(place_row(place, meta, kth), FLT_MIN);
}

void
ecp_place_set(EcpPlace *place, const EcpMetaPageData *meta,
			  const void *prepared, const EcpClusterRef *refs, int nrefs)
{
	float4		near = nrefs > 0 ? refs[0].rank : 0;
	float4		around = near;
	int			n = 0;

	for (int r = 0; r < nrefs && n < ECP_PLACE_LEADERS; r++)
	{
		if (refs[r].is_buffer)
			continue;
		around = refs[r].rank;
		n++;
	}
	ecp_place_set_ranks(place, meta, prepared, near, around);
}

/* What is added to the margin by the distance from the nearest leader. */
static double
place_outer(const EcpPlace *place, const EcpRecallCurveData *curve)
{
	const EcpQueryClassData *rows = &curve->ecpm_classes[0];
	const float4 *inverse = rows->ecpm_inverse;

	/* the reciprocal of the variance of this distance alone */
	double		precision = inverse[2] > 0 ?
		inverse[0] - (double) inverse[1] * inverse[1] / inverse[2] : 0;
	double		deviations = (place->near - rows->ecpm_mean[0]) *
		sqrt(Max(precision, 0));

	if (!isfinite(deviations))
		return 0;
	return STOP_OUTER * curve->ecpm_spread *
		Max(Min(deviations, STOP_OUTER_MOST), -STOP_OUTER_MOST);
}

/*
 * The logarithm of the density of the k-th row's distance for a class.  Rows searched
 * for have themselves for a first row, and copies are as near: nearer than rows have
 * it on average says no more than that average.
 */
static double
place_rows(const EcpPlace *place, const EcpQueryRowsData *rows, int class)
{
	double		share = Max(place->kth / place->around, rows[0].ecpm_mean) -
		rows[class].ecpm_mean;

	return (log(rows[class].ecpm_inverse) -
			share * share * rows[class].ecpm_inverse) / 2;
}

/* Are there distributions of the k-th row for all classes that there are? */
static bool
place_has_rows(const EcpPlace *place, const EcpRecallCurveData *curve,
			   const EcpQueryRowsData *rows)
{
	if (!(place->kth > 0 && place->around > 0) || rows == NULL)
		return false;
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
		if (!isinf(curve->ecpm_classes[class].ecpm_log) &&
			!(rows[class].ecpm_inverse > 0))
			return false;
	return true;
}

void
ecp_place_mix(const EcpPlace *place, const EcpRecallCurveData *curve,
			  const EcpQueryRowsData *rows, EcpQueryMix *mix)
{
	bool		has_rows = place_has_rows(place, curve, rows);
	double	   *weights = mix->weights;
	double		best = -get_float8_infinity();
	double		total = 0;

	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
	{
		const EcpQueryClassData *data = &curve->ecpm_classes[class];
		double		near = place->near - data->ecpm_mean[0];
		double		around = place->around - data->ecpm_mean[1];

		/* the logarithm of the density */
		weights[class] = -data->ecpm_log -
			(near * near * data->ecpm_inverse[0] +
			 2 * near * around * data->ecpm_inverse[1] +
			 around * around * data->ecpm_inverse[2]) / 2;
		if (has_rows && isfinite(weights[class]))
			weights[class] += place_rows(place, rows, class);
		best = Max(best, weights[class]);
	}
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
	{
		weights[class] = isfinite(best) ? exp(weights[class] - best) : 1;
		total += weights[class];
	}
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
		weights[class] /= total;
	mix->outer = place_outer(place, curve);
}

double
ecp_mix_margin(const EcpQueryMix *mix, const float4 *margin)
{
	double		sum = mix->outer;

	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
		sum += mix->weights[class] * margin[class];
	return sum;
}

/* ---- gaps ---- */

double
ecp_stop_unit(const EcpPlace *place, const EcpMetaPageData *meta, float4 leader,
			  float4 radius)
{
	double		square = (double) radius * radius + Max(leader, 0);

	return 2 * radius * sqrt(meta->ecpm_metric == ECP_METRIC_IP ? place->norm : square);
}

double
ecp_stop_gap(const EcpPlace *place, const EcpMetaPageData *meta, float4 leader,
			 float8 kth)
{
	if (isinf(kth))
		return -get_float8_infinity();
	return place_leader(place, meta, leader) - place_row(place, meta, kth);
}

double
ecp_stop_advance(const EcpMetaPageData *meta, int n)
{
	const EcpRecallCurveData *curve = &meta->ecpm_curve;
	double		growth = ecp_stop_growth(meta);

	Assert(n > 0);
	return STOP_PULL * curve->ecpm_spread * log(n / growth);
}

/* ---- from a recall target to where a search stops ---- */

/* How many times as many clusters as the rule's have nearly all of the nearest rows. */
#define TARGET_DEPTH		8
#define TARGET_DEPTH_LEAST	4096

/* Probes grow with these powers of one over the share missed, and of k. */
#define TARGET_POWER			0.5
#define TARGET_K_POWER			0.3

/* By how much probes grow at least for ten times the rows, beyond the curve. */
#define TARGET_BEYOND			4.0

/* By how much of the spread margins rise at least there. */
#define TARGET_RISE				0.5

/* Searches for this share of the rows or more read all clusters. */
#define TARGET_ALL_SHARE		0.25

/*
 * Without a curve, a search reads this many times what the rule says, also for one row
 * as much as for ten.
 */
#define TARGET_UNMEASURED		2.25

/* How many times as many clusters as when it was measured a curve of few holds. */
#define TARGET_FEW_GROWTH		1.125

/* The first check is at this share of the mean number of clusters. */
#define TARGET_LEAST			8

/*
 * The clusters after which the k-th row tells where the query is have this multiple of
 * k rows: most queries have met k then.  More clusters than any index has need
 * not be counted.
 */
#define TARGET_KNOWN_TIMES		1.5
#define TARGET_KNOWN_MOST		(PG_INT32_MAX / 2)

/* Users are told of a target that takes more of this number of clusters. */
#define TARGET_MUCH_SHARE		0.25
#define TARGET_MUCH_CLUSTERS	256

/* The curve's number of ECP_TARGET_K, and of the k above which none is interpolated. */
#define TARGET_K_PLACE			1
#define TARGET_LARGER_PLACE		3

/* How probes grow as fewer rows pass, and rows to see then */
#define ECP_FILTER_POWER		0.25
#define ECP_FILTER_ROWS			100

const int	ecp_target_ks[ECP_CURVE_KS] = {1, 10, 100, 1000, 3000, 10000};

const double ecp_target_levels[ECP_CURVE_TARGETS] = {
	0.5, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999
};

/*
 * Measured at about 128 rows a cluster: a recall@10 of 0.95 takes 18 probes
 * of 203 clusters (SIFT), 25 of 496 (sentence embeddings; images only 6) and
 * 57 of 3,988 (SIFT).  For more clusters than that the trials say that
 * probes grow as their square root.
 */
double
ecp_target_rule_probes(uint32 nleaves)
{
	double		nclusters = Max(nleaves, 1);

	return Max(2.1 * pow(nclusters, 0.4), 0.92 * sqrt(nclusters));
}

int
ecp_target_depth(const EcpMetaPageData *meta)
{
	double		depth = Max(TARGET_DEPTH * ecp_target_rule_probes(meta->ecpm_nleaves),
							TARGET_DEPTH_LEAST);

	return (int) Min(depth, Max(meta->ecpm_nleaves, 1));
}

/* The rule for any target and k; random leaders need more probes. */
static double
target_rule(const EcpMetaPageData *meta, double target, double k)
{
	double		probes = ecp_target_rule_probes(meta->ecpm_nleaves);

	if (meta->ecpm_leaders == ECP_LEADERS_RANDOM)
		probes *= 1.7;
	return probes * pow(0.05 / Max(1 - target, 1e-6), TARGET_POWER) *
		pow(Max(k / ECP_TARGET_K, 1), TARGET_K_POWER);
}

bool
ecp_target_has_curve(const EcpMetaPageData *meta)
{
	const EcpRecallCurveData *curve = &meta->ecpm_curve;

	return curve->ecpm_queries > 0 &&
		(curve->ecpm_leaves >= ECP_TARGET_CLUSTERS ||
		 meta->ecpm_nleaves <= TARGET_FEW_GROWTH * curve->ecpm_leaves);
}

float8
ecp_target_recall_of(Relation index)
{
	return ecp_target_recall > 0 ? ecp_target_recall :
		ecp_options_get(index).target_recall;
}

/* The number of the curve's points for a target; -1 if there are none. */
static int
target_level(const EcpMetaPageData *meta, double target)
{
	int			t = 0;

	while (t < ECP_CURVE_TARGETS && ecp_target_levels[t] < target)
		t++;
	return ecp_target_has_curve(meta) && t < ECP_CURVE_TARGETS ? t : -1;
}

/*
 * Where a k is between those of the curve: the lower one, and how far on; more
 * than 1 beyond the last.
 */
static int
target_between(double k, double *part)
{
	int			low = 0;

	while (low < ECP_CURVE_KS - 2 && k >= ecp_target_ks[low + 1])
		low++;
	*part = log(Max(k, 1) / ecp_target_ks[low]) /
		log((double) ecp_target_ks[low + 1] / ecp_target_ks[low]);
	return low;
}

/* The margins at level t, between two ks. */
static void
target_margins(const EcpMetaPageData *meta, int t, int low, double part,
			   float4 *margin)
{
	const EcpRecallPointData *points = &meta->ecpm_curve.ecpm_points[low][t];
	const EcpRecallPointData *above = &meta->ecpm_curve.ecpm_points[low + 1][t];

	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
	{
		double		least = points->ecpm_margin[class];
		double		rise = above->ecpm_margin[class] - least;

		if (low < TARGET_LARGER_PLACE)
			margin[class] = least + rise * part;
		else if (part <= 1)
			margin[class] = least + (part > 0 ? Max(rise, 0) : 0);
		else
			margin[class] = least + Max(rise, 0) + (part - 1) *
				Max(rise, TARGET_RISE * meta->ecpm_curve.ecpm_spread);
	}
}

/* How far away the k-th row is, between two ks; as at the last beyond it. */
static void
target_rows_between(const EcpMetaPageData *meta, int low, double part,
					EcpQueryRowsData *rows)
{
	part = Min(part, 1);
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
	{
		const EcpQueryRowsData *from = &meta->ecpm_curve.ecpm_rows[low][class];
		const EcpQueryRowsData *to = &meta->ecpm_curve.ecpm_rows[low + 1][class];

		rows[class].ecpm_mean = from->ecpm_mean + part *
			(to->ecpm_mean - from->ecpm_mean);
		rows[class].ecpm_inverse = Min(from->ecpm_inverse, to->ecpm_inverse);
	}
}

/* Clusters at level t; also beyond the last k, and of an index that has grown. */
static double
target_clusters(const EcpMetaPageData *meta, int t, double k)
{
	double		part;
	int			low = target_between(k, &part);
	double		clusters = meta->ecpm_curve.ecpm_points[low][t].ecpm_clusters;
	double		above = meta->ecpm_curve.ecpm_points[low + 1][t].ecpm_clusters;
	double		ratio = Max(above / Max(clusters, 1), 1);

	clusters *= ecp_stop_growth(meta);

	/*
	 * with the larger margin of the two it may take more than the upper one
	 * says
	 */
	if (low >= TARGET_LARGER_PLACE && part < 1)
		return clusters * Max(pow(ratio, part),
							  pow(TARGET_BEYOND,
								  log10(Max(k, 1) / ecp_target_ks[low])));
	clusters *= pow(ratio, Min(part, 1));
	/* TARGET_BEYOND is for ten times the rows, and the last two ks are nearer */
	if (part > 1)
		clusters *= pow(Max(ratio, sqrt(TARGET_BEYOND)), part - 1);
	return clusters;
}

/* The number of rows in the index, by its number of clusters. */
static double
target_rows(const EcpMetaPageData *meta)
{
	const EcpRecallCurveData *curve = &meta->ecpm_curve;

	if (curve->ecpm_queries > 0 && curve->ecpm_leaves > 0)
		return curve->ecpm_tuples / curve->ecpm_leaves * meta->ecpm_nleaves;
	return (double) meta->ecpm_leaf_target * meta->ecpm_nleaves;
}

/* Are enough rows wanted to read all clusters for them? */
static bool
target_wants_all(const EcpMetaPageData *meta, double rows)
{
	return ecp_probes == 0 && rows >= TARGET_ALL_SHARE * target_rows(meta);
}

double
ecp_target_clusters(Relation index, const EcpMetaPageData *meta, double rows)
{
	double		target = ecp_target_recall_of(index);
	double		nclusters = Max(meta->ecpm_nleaves, 1);
	double		clusters = nclusters;
	int			level = target_level(meta, target);

	if (ecp_probes > 0)
		clusters = ecp_probes;
	else if (target_wants_all(meta, rows))
		clusters = nclusters;
	else if (level >= 0)
		clusters = target_clusters(meta, level, rows);
	else if (target < 1 && !ecp_target_has_curve(meta))
		clusters = TARGET_UNMEASURED * target_rule(meta, target, rows);
	/* also if a damaged page has no number */
	return clusters >= 1 ? Min(clusters, nclusters) : 1;
}

int
ecp_target_known(double cluster_rows, double k)
{
	double		wanted = Min(TARGET_KNOWN_TIMES * k / Max(cluster_rows, 1),
							 TARGET_KNOWN_MOST);
	int			n = 1;

	while (n < wanted)
		n = EcpCheckNext(n);
	return n;
}

/* What a search of the index reads, by its settings. */
void
ecp_target_plan(Relation index, const EcpMetaPageData *meta, uint64 rows,
				EcpScanPlan *plan)
{
	int			level = target_level(meta, ecp_target_recall_of(index));
	double		part;
	int			low;

	memset(plan, 0, sizeof(EcpScanPlan));
	plan->k = rows == 0 ? ECP_TARGET_K : (int) Min(rows, ECP_TARGET_K_MAX);
	plan->probes = ecp_probes > 0 ? ecp_probes :
		(int) ceil(ecp_target_clusters(index, meta, plan->k));
	plan->all = target_wants_all(meta, Max(rows, 1));
	if (ecp_probes > 0 || level < 0 || plan->all)
		return;
	plan->adaptive = true;
	plan->level = level;
	ecp_target_plan_among(meta, 1, plan);
	low = target_between(plan->k, &part);
	target_rows_between(meta, low, part, plan->rows);
	plan->known = ecp_target_known(meta->ecpm_curve.ecpm_tuples /
								   Max(meta->ecpm_curve.ecpm_leaves, 1), plan->k);
	plan->least = plan->known;
	while (EcpCheckNext(plan->least) <= plan->probes / TARGET_LEAST)
		plan->least = EcpCheckNext(plan->least);
}

void
ecp_target_plan_among(const EcpMetaPageData *meta, double more,
					  EcpScanPlan *plan)
{
	double		part;
	int			low;

	Assert(plan->adaptive && more >= 1);
	plan->among = (int) Min(plan->k * more, PG_INT32_MAX / 2);
	low = target_between(plan->among, &part);
	target_margins(meta, plan->level, low, part, plan->margin);
}

void
ecp_target_plan_best(const EcpMetaPageData *meta, EcpScanPlan *plan)
{
	plan->level = ECP_CURVE_TARGETS - 1;
	ecp_target_plan_among(meta, 1, plan);
}

/* Between two targets by what their margins are, and in proportion below. */
double
ecp_target_recall_at(const EcpMetaPageData *meta, int k,
					 const EcpQueryMix *mix, double sum)
{
	double		below = 0;
	double		margin = 0;
	double		part;
	int			low = target_between(k, &part);

	Assert(meta->ecpm_curve.ecpm_queries > 0);
	for (int t = 0; t < ECP_CURVE_TARGETS; t++)
	{
		double		level = ecp_target_levels[t];
		double		before = margin;
		float4		margins[ECP_QUERY_CLASSES];

		target_margins(meta, t, low, part, margins);
		margin = ecp_mix_margin(mix, margins);
		if (t == 0)
			before = margin - meta->ecpm_curve.ecpm_spread;
		if (sum < margin)
			return sum <= before ? below :
				below + (level - below) * (sum - before) / (margin - before);
		below = level;
	}
	return below;
}

double
ecp_target_expected(Relation index, const EcpMetaPageData *meta, int k)
{
	const EcpRecallPointData *points = meta->ecpm_curve.ecpm_points[k];
	double		probes = ecp_probes / ecp_stop_growth(meta);
	int			level = target_level(meta, ecp_target_recall_of(index));
	int			t = 0;

	Assert(k >= 0 && k < ECP_CURVE_KS);
	if (!ecp_target_has_curve(meta))
		return get_float8_nan();
	if (ecp_probes == 0)
		return level < 0 || target_wants_all(meta, ecp_target_ks[k]) ? 1 :
			points[level].ecpm_recall;

	/* between the two targets that take fewer and more */
	if (ecp_probes >= meta->ecpm_nleaves)
		return 1;
	while (t < ECP_CURVE_TARGETS && points[t].ecpm_clusters <= probes)
		t++;
	if (t == 0)
		return points[0].ecpm_recall * probes / points[0].ecpm_clusters;
	if (t == ECP_CURVE_TARGETS)
		return points[t - 1].ecpm_recall;
	return points[t - 1].ecpm_recall +
		(points[t].ecpm_recall - points[t - 1].ecpm_recall) *
		(probes - points[t - 1].ecpm_clusters) /
		(points[t].ecpm_clusters - points[t - 1].ecpm_clusters);
}

bool
ecp_target_takes_much(Relation index, const EcpMetaPageData *meta,
					  EcpTargetShare *share)
{
	const EcpRecallPointData *points = meta->ecpm_curve.ecpm_points[TARGET_K_PLACE];
	double		nclusters = meta->ecpm_nleaves;
	int			level = 0;

	share->target = ecp_target_recall_of(index);
	if (meta->ecpm_curve.ecpm_queries == 0 || share->target >= 1 ||
		ecp_probes > 0 || nclusters < TARGET_MUCH_CLUSTERS)
		return false;
	share->share = ecp_target_clusters(index, meta, ECP_TARGET_K) / nclusters;
	while (level + 1 < ECP_CURVE_TARGETS &&
		   points[level + 1].ecpm_clusters <= TARGET_MUCH_SHARE * nclusters)
		level++;
	share->lower = ecp_target_levels[level];
	share->lower_share = Max(points[level].ecpm_clusters / nclusters, 0.01);
	return share->share > TARGET_MUCH_SHARE;
}

void
ecp_target_tell(Relation index, const EcpMetaPageData *meta)
{
	EcpTargetShare share;

	if (!ecp_target_takes_much(index, meta, &share))
		return;
	ereport(NOTICE,
			(errmsg("searches of index \"%s\" read %.0f %% of its clusters for a recall of %g",
					RelationGetRelationName(index), 100 * share.share, share.target),
			 errdetail("The nearest rows of the queries that were tried are spread over many clusters."),
			 errhint("A target_recall of %g takes %.0f %%.",
					 share.lower, 100 * share.lower_share)));
}

/*
 * Clusters that the first window has to have when a share of the rows passes
 * the conditions.
 *
 * The k nearest of these are about the k / share nearest of all, and those
 * are spread over a few more clusters than the k nearest; measured, with 200
 * thousand SIFT vectors: 1.2 times as many for one row in ten, 1.6 times for
 * one in a hundred.  We take a little more.  When hardly a row passes, what
 * matters is that enough of them are seen before the first is returned.
 */
double
ecp_target_filter_probes(double probes, double share, double cluster_rows)
{
	double		passed = Max(cluster_rows * share, 1e-9);

	Assert(probes >= 0 && cluster_rows >= 0);
	Assert(share >= 0 && share <= 1);

	probes /= pow(Max(share, 1e-9), ECP_FILTER_POWER);
	return ceil(Max(probes, ECP_FILTER_ROWS / passed));
}
