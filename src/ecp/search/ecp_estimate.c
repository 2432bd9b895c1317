/*-------------------------------------------------------------------------
 *
 * ecp_estimate.c
 *	  SEARCH: how much of an answer the clusters read so far have.
 *
 * The rows of a cluster are nearer to its leader c than to the leader c0 that is
 * nearest to the query q, so they are beyond the plane between the two, whose
 * distance from q is
 *
 *	  h = (D(q, c)^2 - D(q, c0)^2) / (2 D(c, c0))
 *
 * A row can be among the k nearest only if it is in the part of a ball around
 * q that is cut off by this plane, and the ball's radius is D_k, the distance of
 * the k-th row so far.  So how many of the k nearest rows a cluster has follows
 * from u = h / D_k, its number of rows, and the rate g(u) for one row (after
 * Quake's adaptive partition scanning, Mohoney et al., OSDI 2025).  Quake takes g
 * for the volume of a cap.  We measure it on the index (ecp_recall_curve.c),
 * because data fill a space of fewer dimensions than vectors have, how many
 * depends on the place, and leaders are denser where rows are.  It turns
 * out to be nearly the same for k from 1 to 1,000, and for rows, points between
 * rows and points far away; where it is not, there is a g for each kind of query.
 *
 * What the rows found say of the present query is used, too:
 *
 * - The sum of g over the clusters that were read is the share of the k rows that
 *   we expected.  If they had k, the others have in proportion: a gamma
 *   distribution with a mean of 1, worth PRIOR_ROWS rows, is updated with k.
 * - The places where they were found say which g fits: its weight is the
 *   probability of finding them there.
 *
 * With M rows expected in the clusters that were not read, those that we have
 * are about k / (k + M) of the k nearest: the recall.
 *
 * D(c, c0) would take as long as all of the descent.  The square is
 * D(q, c)^2 + D(q, c0)^2 - 2 (c - q)(c0 - q), and the last product, of the
 * query's distance from what leaders have in common, varies little: it is the
 * mean over some leaders for which D(c, c0) is computed.
 *
 * Ranks by inner product become distances by an additional element that makes
 * all rows equally long: D(q, x)^2 = |q|^2 + N - 2 q x, where N is the largest
 * square of a row's length.
 *
 * Everything here follows from the index and the query, nothing from what is in
 * memory: so the same query reads the same clusters everywhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_estimate.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* How many rows the expectation is worth, against those that were found. */
#define PRIOR_ROWS			10.0

/*
 * Leaders whose distance from the first is computed: every second one among the
 * ECP_ESTIMATE_SAMPLE nearest.  Others would give another mean.
 */
#define SAMPLE_STEP			2

/*
 * Rates of an index without a curve: those of a row at the boundary, and the
 * powers of ten by which they fall over a ball's radius, which were measured to be
 * about these for rows, points between them, and points far away.
 */
#define DEFAULT_RATE		0.001
static const float4 default_slopes[ECP_RATE_KINDS] = {7, 9, 12, 16};

/* A ball's radius squared, at least: rows may be equal to the query. */
#define BALL_MIN			1e-30

/*
 * Rows whose squared distance is less than this share of the k-th row's are found
 * anyway, and say nothing of the others: the query's own, and its copies.
 */
#define NEAR_SHARE			(1 / 16.0)

/* Rows after which products of rates are turned into logarithms. */
#define PRODUCT_ROWS		16

/* ---- the nearest rows ---- */

/* Put a row, which is nearer than the k-th so far, into the heap. */
void
ecp_nearest_replace(EcpNearest *nearest, float8 rank)
{
	EcpNearestRow *rows = nearest->rows;
	int			place;

	Assert(nearest->k > 0 && nearest->n <= nearest->k);
	if (nearest->n < nearest->k)
	{
		/* up from the end */
		place = nearest->n++;
		while (place > 0 && rows[(place - 1) / 2].rank <= rank)
		{
			rows[place] = rows[(place - 1) / 2];
			place = (place - 1) / 2;
		}
	}
	else
	{
		/* down from the first, which goes */
		place = 0;
		for (;;)
		{
			int			child = 2 * place + 1;

			if (child >= nearest->n)
				break;
			if (child + 1 < nearest->n &&
				(rows[child + 1].rank > rows[child].rank ||
				 (rows[child + 1].rank == rows[child].rank &&
				  rows[child + 1].cluster > rows[child].cluster)))
				child++;
			if (rows[child].rank <= rank)
				break;
			rows[place] = rows[child];
			place = child;
		}
	}
	rows[place].rank = rank;
	rows[place].cluster = nearest->cluster;
	if (nearest->n == nearest->k)
		nearest->kth = rows[0].rank;
}

/* ---- clusters ---- */

/* Rates of an index without a curve. */
static const EcpRates *
estimate_default_rates(void)
{
	static EcpRates rates[ECP_RATE_BINS];

	if (rates[0][0] == 0)
	{
		for (int b = ECP_RATE_BINS - 1; b >= 0; b--)
			for (int g = 0; g < ECP_RATE_KINDS; g++)
				rates[b][g] = DEFAULT_RATE *
					pow(10, -default_slopes[g] * (b + 0.5) / ECP_RATE_BINS);
	}
	return (const EcpRates *) rates;
}

void
ecp_estimate_begin(EcpEstimate *estimate, const EcpMetaPageData *meta,
				   MemoryContext context, const void *prepared)
{
	memset(estimate, 0, sizeof(EcpEstimate));
	estimate->meta = meta;
	estimate->context = context;
	estimate->rates = meta->ecpm_curve.ecpm_queries > 0 ?
		(const EcpRates *) meta->ecpm_curve.ecpm_rates : estimate_default_rates();
	estimate->growth = meta->ecpm_curve.ecpm_queries > 0 ?
		(float4) meta->ecpm_curve.ecpm_leaves / Max(meta->ecpm_nleaves, 1) : 1;
	if (meta->ecpm_metric == ECP_METRIC_IP)
		estimate->query_norm = -ecp_distance(meta->ecpm_leader_elem,
											 ECP_METRIC_IP, meta->ecpm_dims,
											 prepared, prepared);
}

/*
 * The distances between some of the leaders and the first, of which
 * the others' are computed.
 */
static void
estimate_sample(EcpEstimate *estimate, const EcpClusterRef *refs, int nrefs)
{
	const EcpMetaPageData *meta = estimate->meta;
	const EcpClusterRef *first = &refs[0];
	void	   *leader = palloc(ecp_vector_bytes(meta->ecpm_leader_elem,
												 meta->ecpm_dims) +
								ECP_KERNEL_SLACK);
	double		sum = 0;
	int			n = 0;

	estimate->nearest_rank = first->rank;
	estimate->spread_min = get_float8_infinity();
	ecp_panel_get(first->panel, first->panel_child, leader);
	for (int r = 1; r < Min(nrefs, ECP_ESTIMATE_SAMPLE); r += SAMPLE_STEP)
	{
		int			child = refs[r].panel_child;
		int			from = child - child % ECP_PANEL_BLOCK;
		float4		ranks[ECP_PANEL_BLOCK];
		float8		spread;

		if (refs[r].is_buffer)
			continue;
		ecp_panel_rank(refs[r].panel, leader, from, child - from + 1, ranks);
		spread = Max(ranks[child - from], 0);
		if (spread == 0)
			continue;
		estimate->spread_min = Min(estimate->spread_min, spread);
		sum += meta->ecpm_metric == ECP_METRIC_IP ? spread :
			((float8) refs[r].rank + first->rank - spread) / 2;
		n++;
	}
	if (n > 0)
		estimate->inner = sum / n;
	else
		estimate->spread_min = 0;
	pfree(leader);
}

/* The distance of the query from the boundary of a cluster. */
static inline float4
estimate_margin(const EcpEstimate *estimate, float4 rank)
{
	float8		excess = (float8) rank - estimate->nearest_rank;
	float8		spread;

	if (!(excess > 0))
		return 0;
	/* half of the difference of the squares, as for other metrics */
	if (estimate->meta->ecpm_metric == ECP_METRIC_IP)
		return (float4) (excess / sqrt(estimate->inner));
	spread = (float8) rank + estimate->nearest_rank - 2 * estimate->inner;
	spread = Max(spread, estimate->spread_min / 2);
	return (float4) (excess / (2 * sqrt(spread)));
}

void
ecp_estimate_add(EcpEstimate *estimate, const EcpClusterRef *refs, int nrefs)
{
	/* the only cluster of an index has no leader */
	if (nrefs == 0 || refs[0].panel == NULL)
		return;
	if (estimate->n == 0)
		estimate_sample(estimate, refs, nrefs);
	if (estimate->n + nrefs > estimate->max)
	{
		int			max = Max(2 * estimate->max, estimate->n + nrefs);
		Size		bytes = mul_size(max, sizeof(EcpEstimateCluster));

		if (estimate->max == 0)
			estimate->clusters = MemoryContextAlloc(estimate->context, bytes);
		else
			estimate->clusters = repalloc(estimate->clusters, bytes);
		estimate->max = max;
	}
	for (int r = 0; r < nrefs; r++)
	{
		EcpEstimateCluster *cluster = &estimate->clusters[estimate->n];

		if (refs[r].is_buffer)
			continue;
		cluster->margin = estimate_margin(estimate, refs[r].rank);
		cluster->rank = refs[r].rank;
		cluster->nrows = refs[r].child.ecpc_nrows * estimate->growth;
		estimate->n++;
	}
}

void
ecp_estimate_take(EcpEstimate *estimate, int n, EcpProbe *probe,
				  EcpDescent *descent)
{
	n = Max(n, ECP_ESTIMATE_SAMPLE);
	while (estimate->taken < n)
	{
		int			waiting = EcpProbeWaiting(probe);
		int			taken = ecp_probe_take(probe, descent,
										   n - estimate->taken);

		if (taken == 0)
			break;
		ecp_estimate_add(estimate, probe->refs + waiting, taken);
		for (int r = waiting; r < waiting + taken; r++)
			estimate->taken += !probe->refs[r].is_buffer;
	}
}

/* ---- estimates ---- */

/* The bin of a margin, where the ball's radius is ECP_RATE_BINS / scale. */
static inline int
estimate_margin_bin(float4 margin, float4 scale)
{
	float4		u = margin * scale;

	return u < ECP_RATE_BINS - 1 ? (int) u : ECP_RATE_BINS - 1;
}

/* Rows expected in clusters from .. upto - 1, of each kind, for k = 1. */
static void
estimate_sum(const EcpEstimate *estimate, int from, int upto, float4 scale,
			 float4 *sums)
{
	const EcpEstimateCluster *clusters = estimate->clusters;
	const EcpRates *rates = estimate->rates;
	float4		sum[ECP_RATE_KINDS] = {0};	/* in registers */

	for (int c = from; c < upto; c++)
	{
		int			bin = estimate_margin_bin(clusters[c].margin, scale);

		for (int g = 0; g < ECP_RATE_KINDS; g++)
			sum[g] += clusters[c].nrows * rates[bin][g];
	}
	memcpy(sums, sum, sizeof(sum));
}

/*
 * The same for all clusters from "from" on, also those that the descent has not
 * returned: as many more as the last half has compared with the quarter before.
 */
static void
estimate_sum_rest(const EcpEstimate *estimate, int from, float4 scale,
				  float4 *sums)
{
	int			n = estimate->n;
	double		more = estimate->meta->ecpm_nleaves - (double) n;
	float4		half[ECP_RATE_KINDS];
	float4		quarter[ECP_RATE_KINDS];

	estimate_sum(estimate, from, n, scale, sums);
	if (more <= 0)
		return;
	estimate_sum(estimate, n / 2, n, scale, half);
	estimate_sum(estimate, n / 4, n / 2, scale, quarter);
	for (int g = 0; g < ECP_RATE_KINDS; g++)
	{
		float4		ratio = half[g] < quarter[g] * 0.9f ? half[g] / quarter[g] : 0.9f;
		float4		rest = half[g] * ratio / (1 - ratio);
		float4		most = half[g] * (float4) (more / Max(n - n / 2, 1));

		sums[g] += Min(rest, most);
	}
}

/*
 * The distance of the k-th row from the query, squared, as leaders are ranked:
 * a cosine rank is half of it, and a differing bit is a distance of 255.
 */
static float8
estimate_ball(const EcpEstimate *estimate, float8 kth)
{
	const EcpMetaPageData *meta = estimate->meta;

	if (meta->ecpm_metric == ECP_METRIC_IP)
		return estimate->query_norm + meta->ecpm_curve.ecpm_norm + 2 * kth;
	if (meta->ecpm_metric == ECP_METRIC_COSINE)
		return kth * 2;
	if (meta->ecpm_metric == ECP_METRIC_HAMMING)
		return kth * ECP_BIT_L2;
	return kth;
}

/*
 * Log likelihood of finding the rows where they were found, of each kind, and
 * that so many were found at all.  Returns their number without those that are
 * much nearer than the others.
 */
static int
estimate_likelihood(const EcpEstimate *estimate, const EcpNearest *nearest,
					float4 scale, const float4 *read, double *likelihood)
{
	float8		near = estimate_ball(estimate, nearest->kth) * NEAR_SHARE;
	double		product[ECP_RATE_KINDS];
	int			n = 0;

	for (int g = 0; g < ECP_RATE_KINDS; g++)
	{
		likelihood[g] = 0;
		product[g] = 1;
	}
	for (int i = 0; i < nearest->n; i++)
	{
		int			cluster = nearest->rows[i].cluster;
		const float4 *rates;

		Assert(cluster >= 0 && cluster < estimate->n);
		if (estimate_ball(estimate, nearest->rows[i].rank) < near)
			continue;
		rates = estimate->rates[estimate_margin_bin(estimate->clusters[cluster].margin, scale)];
		for (int g = 0; g < ECP_RATE_KINDS; g++)
			product[g] *= rates[g];
		if (n++ % PRODUCT_ROWS == PRODUCT_ROWS - 1)
		{
			for (int g = 0; g < ECP_RATE_KINDS; g++)
			{
				likelihood[g] += log(Max(product[g], 1e-300));
				product[g] = 1;
			}
		}
	}
	for (int g = 0; g < ECP_RATE_KINDS; g++)
		likelihood[g] += log(Max(product[g], 1e-300)) + n * log(Max(n, 1)) -
			(PRIOR_ROWS + n) * log(PRIOR_ROWS + n * read[g]);
	return n;
}

/* Bins over the radius of the ball. */
static float4
estimate_scale(const EcpEstimate *estimate, float8 kth)
{
	float8		ball = estimate_ball(estimate, kth);

	return (float4) (ECP_RATE_BINS / sqrt(ball > BALL_MIN ? ball : BALL_MIN));
}

int
ecp_estimate_bin(const EcpEstimate *estimate, int cluster, float8 kth)
{
	Assert(cluster >= 0 && cluster < estimate->n);
	return estimate_margin_bin(estimate->clusters[cluster].margin,
							   estimate_scale(estimate, kth));
}

float4
ecp_estimate_excess(const EcpEstimate *estimate, int nread, float8 kth)
{
	Assert(nread >= 0);
	if (nread >= estimate->meta->ecpm_nleaves)
		return get_float4_infinity();
	if (isinf(kth) || nread >= estimate->n)
		return -get_float4_infinity();
	/* of ranks by inner product, only the difference counts */
	return (float4) (estimate->clusters[nread].rank -
					 (estimate->meta->ecpm_metric == ECP_METRIC_IP ? kth :
					  estimate_ball(estimate, kth)));
}

double
ecp_estimate_recall(const EcpEstimate *estimate, int nread,
					const EcpNearest *nearest)
{
	float4		read[ECP_RATE_KINDS];
	float4		rest[ECP_RATE_KINDS];
	double		likelihood[ECP_RATE_KINDS];
	double		best = -get_float8_infinity();
	double		total = 0;
	double		missed = 0;
	float4		scale;
	int			n;

	Assert(nread >= 0);
	if (nread >= estimate->meta->ecpm_nleaves)
		return 1;
	if (isinf(nearest->kth) || nread >= estimate->n)
		return 0;
	scale = estimate_scale(estimate, nearest->kth);
	estimate_sum(estimate, 0, nread, scale, read);
	estimate_sum_rest(estimate, nread, scale, rest);
	n = estimate_likelihood(estimate, nearest, scale, read, likelihood);
	for (int g = 0; g < ECP_RATE_KINDS; g++)
		best = Max(best, likelihood[g]);
	for (int g = 0; g < ECP_RATE_KINDS; g++)
	{
		double		weight = exp(likelihood[g] - best);

		total += weight;
		missed += weight * rest[g] * (PRIOR_ROWS + n) /
			(PRIOR_ROWS + n * read[g]);
	}
	return 1 / (1 + missed / total);
}
