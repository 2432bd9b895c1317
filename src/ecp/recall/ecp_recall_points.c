/*-------------------------------------------------------------------------
 *
 * ecp_recall_points.c
 *	  RECALL: from the notes of searches to rates and points of the curve.
 *
 * Rates (ecp_estimate.c) are the rows found divided by the rows there were, for
 * each distance of the boundary.  They fall with it; where few rows were found,
 * neighbouring distances are taken together until they do (the pool of adjacent
 * violators), and beyond the last row found they are extrapolated.
 *
 * A point says where searches stop: at the first look at which the estimate of
 * recall is "estimate" at least, and the next leader is farther away than the
 * k-th row by the "slack", or "most" clusters were read.  Slack and most alone read
 * the fewest clusters for a given mean recall, but only of queries that are
 * all of one kind: for those far from the rows all leaders are about as far away
 * as the k-th row.  The estimate alone gives every query the same recall, and
 * reads most clusters for the few that are hardest.  So for each target and k
 * the three are taken which read the fewest clusters and reach the target for each
 * kind of query.
 *
 * It must exceed the target, for three reasons.  Rows of the table are
 * easier than fresh queries, because leaders were made of them: by
 * POINTS_MARGIN of the share that may be missed.  The mean over a few hundred
 * queries has an error, and the best of many tries is partly luck: by
 * POINTS_ERRORS standard errors.  And codes lose rows that the searches here
 * do not see ("loss").
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "ecp/recall/ecp_recall_private.h"
#include "ecp/search/ecp_target.h"
#include "miscadmin.h"
#include "utils/float.h"

/* By how much a target is exceeded; see above. */
#define POINTS_MARGIN		0.10
#define POINTS_ERRORS		0.5

/* Estimates, slacks and numbers of clusters that are tried, at most. */
#define POINTS_ESTIMATES	24
#define POINTS_SLACKS		24
#define POINTS_MOST			16
#define POINTS_MISSED_MAX	0.99
#define POINTS_MISSED_MIN	0.001

/*
 * The estimate is at least this share of the target: queries that nobody has
 * tried may be unlike all kinds.
 */
#define POINTS_ESTIMATE_MIN	0.6

/* What a cluster read for rows counts, against other kinds. */
#define POINTS_ROWS_WEIGHT	4

/* Rates are never less, and fall at least by this power of e over a radius. */
#define RATE_MIN			1e-12
#define RATE_FALL			10.0
#define RATE_FALL_UNKNOWN	30.0

/* Share of the distances at which rows were found, of which the fall is taken. */
#define RATE_TAIL			0.4

/* ---- rates ---- */

/* Neighbouring bins with one rate. */
typedef struct RateBlock
{
	double		found;
	double		rows;
	double		middle;			/* of the bins */
	int			nbins;
} RateBlock;

/* Pool bins until the rates fall.  Returns the number of blocks with rows found. */
static int
rates_pool(const double *found, const double *rows, RateBlock *blocks)
{
	int			n = 0;

	for (int b = 0; b < ECP_RATE_BINS; b++)
	{
		RateBlock  *block = &blocks[n++];

		block->found = found[b];
		block->rows = rows[b];
		block->middle = b + 0.5;
		block->nbins = 1;
		while (n > 1 && blocks[n - 1].found * blocks[n - 2].rows >=
			   blocks[n - 2].found * blocks[n - 1].rows)
		{
			RateBlock  *before = &blocks[n - 2];

			before->middle = (before->middle * before->nbins +
							  blocks[n - 1].middle * blocks[n - 1].nbins) /
				(before->nbins + blocks[n - 1].nbins);
			before->found += blocks[n - 1].found;
			before->rows += blocks[n - 1].rows;
			before->nbins += blocks[n - 1].nbins;
			n--;
		}
	}
	while (n > 0 && !(blocks[n - 1].found > 0 && blocks[n - 1].rows > 0))
		n--;
	return n;
}

/* By how much the logarithm falls from bin to bin, in the end. */
static double
rates_fall(const RateBlock *blocks, int n)
{
	double		from = blocks[n - 1].middle * RATE_TAIL;
	double		sums[4] = {0};
	int			count = 0;
	double		fall;

	for (int i = 0; i < n; i++)
	{
		double		x = blocks[i].middle;
		double		y = log(blocks[i].found / blocks[i].rows);

		if (x < from)
			continue;
		sums[0] += x;
		sums[1] += y;
		sums[2] += x * x;
		sums[3] += x * y;
		count++;
	}
	if (count < 3)
		return RATE_FALL_UNKNOWN / ECP_RATE_BINS;
	fall = -(count * sums[3] - sums[0] * sums[1]) /
		(count * sums[2] - sums[0] * sums[0]);
	return Max(fall, RATE_FALL / ECP_RATE_BINS);
}

/* The rates of one kind of query; false if nothing was found. */
static bool
rates_of_kind(const EcpRecallQueries *queries, int kind, EcpRates *rates)
{
	double		found[ECP_RATE_BINS] = {0};
	double		rows[ECP_RATE_BINS] = {0};
	RateBlock	blocks[ECP_RATE_BINS];
	double		fall;
	int			n;
	int			i = 0;

	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);

		for (int b = 0; b < ECP_RATE_BINS && notes->kind == kind; b++)
		{
			found[b] += notes->found[b];
			rows[b] += notes->rows[b];
		}
	}
	n = rates_pool(found, rows, blocks);
	if (n == 0)
		return false;
	fall = rates_fall(blocks, n);
	for (int b = 0; b < ECP_RATE_BINS; b++)
	{
		double		x = b + 0.5;
		double		y;

		while (i < n && blocks[i].middle < x)
			i++;
		if (i == n)
			y = log(blocks[n - 1].found / blocks[n - 1].rows) -
				fall * (x - blocks[n - 1].middle);
		else
		{
			y = log(blocks[i].found / blocks[i].rows);
			if (i > 0)
			{
				double		part = (blocks[i].middle - x) /
					(blocks[i].middle - blocks[i - 1].middle);

				y += part * (log(blocks[i - 1].found / blocks[i - 1].rows) - y);
			}
		}
		rates[b][kind] = Max(exp(y), RATE_MIN);
	}
	return true;
}

void
ecp_recall_rates(const EcpRecallQueries *queries, EcpRates *rates)
{
	if (!rates_of_kind(queries, ECP_QUERY_ROW, rates))
		return;
	for (int kind = ECP_QUERY_ROW + 1; kind < ECP_RATE_KINDS; kind++)
	{
		if (!rates_of_kind(queries, kind, rates))
			for (int b = 0; b < ECP_RATE_BINS; b++)
				rates[b][kind] = rates[b][ECP_QUERY_ROW];
	}
}

/* ---- points ---- */

/* What a try gives, for one kind of query. */
typedef struct PointResult
{
	int			n;				/* queries */
	double		recall;			/* mean of the queries' */
	double		error;			/* its standard error */
	double		clusters;		/* mean number read */
} PointResult;

/* The looks of all queries at which searches for one k could stop. */
typedef struct PointLooks
{
	const EcpRecallQueries *queries;
	int			k;				/* its number */
	uint16	   *enough;			/* first with the estimate, from each look on */
	uint16	   *far;			/* first with each slack */
	uint16	   *many;			/* first with each number of clusters */
} PointLooks;

/* Fill in enough for an estimate. */
static void
looks_estimate(PointLooks *looks, int max_looks, float4 estimate)
{
	for (int q = 0; q < looks->queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(looks->queries, q);
		uint16	   *enough = looks->enough + q * max_looks;

		/* after the last look all has been found */
		for (int i = notes->nlooks - 1; i >= 0; i--)
			enough[i] = i == notes->nlooks - 1 ||
				notes->looks[i].estimate[looks->k] >= estimate ? i : enough[i + 1];
	}
}

/* The first look at which a search stops by slack or most. */
static int
look_first(const EcpRecallNotes *notes, int k, float4 slack, float4 most)
{
	int			i = 0;

	while (i < notes->nlooks - 1 && notes->looks[i].n < most &&
		   !(notes->looks[i].excess[k] >= slack))
		i++;
	return i;
}

/* Add the look at which a query stops. */
static inline void
result_add(PointResult *result, const EcpRecallLook *look, int k)
{
	result->n++;
	result->recall += look->recall[k];
	result->error += look->recall[k] * look->recall[k];
	result->clusters += look->n;
}

/* From sums to means. */
static void
results_finish(PointResult *results)
{
	for (int kind = 0; kind < ECP_RATE_KINDS; kind++)
	{
		PointResult *result = &results[kind];

		if (result->n == 0)
			continue;
		result->recall /= result->n;
		result->clusters /= result->n;
		result->error = sqrt(Max(result->error / result->n -
								 result->recall * result->recall, 0) /
							 result->n);
	}
}

/* What slack number s and most number m give with the estimate set. */
static void
point_try(const PointLooks *looks, int max_looks, int s, int m,
		  PointResult *results)
{
	int			n = looks->queries->n;

	memset(results, 0, ECP_RATE_KINDS * sizeof(PointResult));
	for (int q = 0; q < n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(looks->queries, q);
		int			first = Min(looks->far[s * n + q], looks->many[m * n + q]);
		int			i = looks->enough[q * max_looks + first];

		result_add(&results[notes->kind], &notes->looks[i], looks->k);
	}
	results_finish(results);
}

/* Will queries of all kinds reach this target? */
static bool
point_reaches(const PointResult *results, double loss, double target)
{
	for (int kind = 0; kind < ECP_RATE_KINDS; kind++)
	{
		double		missed = 1 - results[kind].recall;

		if (results[kind].n == 0 || missed <= 0)
			continue;
		missed += loss + POINTS_ERRORS * results[kind].error;
		if (missed > (1 - target) * (1 - POINTS_MARGIN))
			return false;
	}
	return true;
}

/* Mean logarithm of the clusters read. */
static double
point_cost(const PointResult *results)
{
	double		cost = 0;

	for (int kind = 0; kind < ECP_RATE_KINDS; kind++)
	{
		if (results[kind].n > 0)
			cost += (kind == ECP_QUERY_ROW ? POINTS_ROWS_WEIGHT : 1) *
				log(results[kind].clusters);
	}
	return cost;
}

/* Smaller numbers first. */
static int
points_compare(const void *a, const void *b)
{
	float4		x = *(const float4 *) a;
	float4		y = *(const float4 *) b;

	return (x > y) - (x < y);
}

/* Slacks to try: evenly among the excesses of rows' looks; infinity at last. */
static int
points_slacks(const EcpRecallQueries *queries, int k, int max_looks,
			  float4 *slacks)
{
	float4	   *all = palloc(mul_size(queries->n * max_looks, sizeof(float4)));
	int			n = 0;
	int			nslacks;

	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);

		for (int i = 0; i < notes->nlooks && notes->kind == ECP_QUERY_ROW; i++)
		{
			if (!isinf(notes->looks[i].excess[k]))
				all[n++] = notes->looks[i].excess[k];
		}
	}
	qsort(all, n, sizeof(float4), points_compare);
	nslacks = Min(n, POINTS_SLACKS - 1);
	for (int s = 0; s < nslacks; s++)
		slacks[s] = all[(int64) s * n / nslacks];
	slacks[nslacks++] = get_float4_infinity();
	pfree(all);
	return nslacks;
}

/* Numbers of clusters to try: those of looks, evenly; any at last. */
static int
points_most(int max_looks, float4 *most)
{
	int			n = Min(max_looks, POINTS_MOST) - 1;
	int			clusters = 1;
	int			i = 0;

	for (int look = 0; look < max_looks && i < n; look++)
	{
		if (look == i * max_looks / n)
			most[i++] = clusters;
		clusters = EcpLookNext(clusters);
	}
	most[i++] = get_float4_infinity();
	return i;
}

/* Keep what a try gives for the targets that it reaches at less cost. */
static void
points_keep(const PointResult *results, double loss, float4 estimate,
			float4 slack, float4 most, double *costs, EcpRecallPointData *points)
{
	double		cost = point_cost(results);

	for (int t = 0; t < ECP_CURVE_TARGETS; t++)
	{
		if (!point_reaches(results, loss, ecp_target_levels[t]))
			break;
		if (cost >= costs[t] ||
			estimate < ecp_target_levels[t] * POINTS_ESTIMATE_MIN)
			continue;
		costs[t] = cost;
		points[t].ecpm_estimate = estimate;
		points[t].ecpm_slack = slack;
		points[t].ecpm_most = most;
		points[t].ecpm_clusters = results[ECP_QUERY_ROW].clusters;
	}
}

/* Points of one k. */
static void
points_of_k(const EcpRecallQueries *queries, double loss, int k,
			EcpRecallPointData *points)
{
	int			max_looks = 1;
	int			n = queries->n;
	double		costs[ECP_CURVE_TARGETS];
	PointResult results[ECP_RATE_KINDS];
	float4		slacks[POINTS_SLACKS];
	float4		most[POINTS_MOST];
	int			nslacks;
	int			nmost;
	PointLooks	looks = {queries, k};

	for (int q = 0; q < n; q++)
		max_looks = Max(max_looks, EcpRecallNotesOf(queries, q)->nlooks);
	nslacks = points_slacks(queries, k, max_looks, slacks);
	nmost = points_most(max_looks, most);
	looks.enough = palloc(mul_size(n * max_looks, sizeof(uint16)));
	looks.far = palloc(mul_size(n * nslacks, sizeof(uint16)));
	looks.many = palloc(mul_size(n * nmost, sizeof(uint16)));
	for (int q = 0; q < n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);

		for (int s = 0; s < nslacks; s++)
			looks.far[s * n + q] = look_first(notes, k, slacks[s],
											  get_float4_infinity());
		for (int m = 0; m < nmost; m++)
			looks.many[m * n + q] = look_first(notes, k, get_float4_infinity(),
											   most[m]);
	}

	/* all is read where nothing else will do */
	looks_estimate(&looks, max_looks, 2);
	point_try(&looks, max_looks, nslacks - 1, nmost - 1, results);
	for (int t = 0; t < ECP_CURVE_TARGETS; t++)
	{
		points[t].ecpm_estimate = 1;
		points[t].ecpm_slack = points[t].ecpm_most = get_float4_infinity();
		points[t].ecpm_clusters = results[ECP_QUERY_ROW].clusters;
		costs[t] = get_float8_infinity();
	}
	for (int e = 0; e < POINTS_ESTIMATES; e++)
	{
		float4		estimate =
			1 - POINTS_MISSED_MAX *
			pow(POINTS_MISSED_MIN, (double) e / (POINTS_ESTIMATES - 1));

		CHECK_FOR_INTERRUPTS();
		looks_estimate(&looks, max_looks, estimate);
		for (int s = 0; s < nslacks; s++)
			for (int m = 0; m < nmost; m++)
			{
				point_try(&looks, max_looks, s, m, results);
				points_keep(results, loss, estimate, slacks[s], most[m], costs,
							points);
			}
	}
	pfree(looks.enough);
	pfree(looks.far);
	pfree(looks.many);

	/* a higher target never stops earlier */
	for (int t = 1; t < ECP_CURVE_TARGETS; t++)
	{
		points[t].ecpm_estimate = Max(points[t].ecpm_estimate,
									  points[t - 1].ecpm_estimate);
		points[t].ecpm_slack = Max(points[t].ecpm_slack, points[t - 1].ecpm_slack);
		points[t].ecpm_most = Max(points[t].ecpm_most, points[t - 1].ecpm_most);
		points[t].ecpm_clusters = Max(points[t].ecpm_clusters,
									  points[t - 1].ecpm_clusters);
	}
}

void
ecp_recall_points(const EcpRecallQueries *queries, double loss,
				  EcpRecallPointData points[ECP_CURVE_KS][ECP_CURVE_TARGETS])
{
	Assert(queries->n > 0);
	for (int k = 0; k < ECP_CURVE_KS; k++)
	{
		points_of_k(queries, loss, k, points[k]);
		for (int t = 0; t < ECP_CURVE_TARGETS; t++)
			elog(DEBUG1, "ecp recall curve: k %g, recall %g: estimate %g, slack %g, most %g, %g clusters",
				 pow(10, k), ecp_target_levels[t], points[k][t].ecpm_estimate,
				 points[k][t].ecpm_slack, points[k][t].ecpm_most,
				 points[k][t].ecpm_clusters);
	}
}

double
ecp_recall_of_plan(const EcpRecallQueries *queries, const EcpScanPlan *plan,
				   double *error)
{
	int			k = (int) rint(log10(plan->k));
	PointResult results[ECP_RATE_KINDS] = {0};
	PointResult *rows = &results[ECP_QUERY_ROW];

	Assert(k >= 0 && k < ECP_CURVE_KS);
	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);
		int			i;

		if (notes->kind != ECP_QUERY_ROW)
			continue;
		if (plan->adaptive)
		{
			i = look_first(notes, k, plan->slack, plan->most);
			while (i < notes->nlooks - 1 &&
				   !(notes->looks[i].estimate[k] >= plan->recall))
				i++;
		}
		else
			i = look_first(notes, k, get_float4_infinity(), plan->probes);
		result_add(rows, &notes->looks[i], k);
	}
	results_finish(results);
	*error = rows->n > 0 ? rows->error : get_float8_nan();
	return rows->n > 0 ? rows->recall : get_float8_nan();
}
