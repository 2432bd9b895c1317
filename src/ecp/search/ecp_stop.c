/*-------------------------------------------------------------------------
 *
 * ecp_stop.c
 *	  SEARCH: when a search with a recall target has enough.
 *
 * Clusters come in the order of their leaders' distances from the query, and
 * after n of them the nearest rows read so far are known.  The larger the gap
 * between the distance of the next leader, D(n + 1), and that of the k-th row,
 * D_k, the less is missed.  A search stops at the first look where
 *
 *	  D(n + 1) - D_k + STOP_PULL * spread * ln(n) >= slack
 *
 * The slack for a target, a k and a kind of query is measured on the index
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
 * slacks are measured for five kinds of queries (EcpQueryKind), and a query has
 * their mean, weighted by how much it is of each kind.  That follows from where it
 * is among the leaders and how far from the rows (EcpPlace), by normal distributions
 * of this place for the queries of each kind.  Where rows have near copies, a query
 * that has none is as near to leaders as rows are, and only the k-th row of the first
 * clusters says that a gap like theirs will never be reached: without that, such
 * queries read all clusters, or one.  A query farther away than all that were measured is one
 * of the kind whose distribution is widest, the far ones; their slack grows little
 * with distance, because they see the same half-spaces.
 *
 * Among queries of a kind, those that are farther from their nearest leader find
 * less with the same slack, and fresh queries are farther than rows.  Therefore the
 * slack rises a little with this distance (STOP_OUTER).  It costs next to nothing,
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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_stop.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Spreads by which the slack falls for e times the clusters. */
#define STOP_PULL		0.4

/*
 * Spreads by which the slack rises for one standard deviation more of the
 * distance from the nearest leader, and the most deviations that count.
 */
#define STOP_OUTER		0.4
#define STOP_OUTER_MOST	2.0

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
	double		square = ecp_stop_square(meta, rank);

	if (meta->ecpm_metric == ECP_METRIC_IP)
		square = place->norm + meta->ecpm_curve.ecpm_norm + 2 * rank;
	return sqrt(Max(square, 0));
}

void
ecp_place_set_ranks(EcpPlace *place, const EcpMetaPageData *meta,
					const void *prepared, float4 near, float4 around)
{
	place->norm = 0;
	if (meta->ecpm_metric == ECP_METRIC_IP)
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

/* What is added to the slack by the distance from the nearest leader. */
static double
place_outer(const EcpPlace *place, const EcpRecallCurveData *curve)
{
	const EcpQueryKindData *rows = &curve->ecpm_kinds[0];
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
 * The logarithm of the density of the k-th row's distance for a kind.  Rows searched
 * for have themselves for a first row, and copies are as near: nearer than rows have
 * it on average says no more than that average.
 */
static double
place_rows(const EcpPlace *place, const EcpQueryRowsData *rows, int kind)
{
	double		share = Max(place->kth / place->around, rows[0].ecpm_mean) -
		rows[kind].ecpm_mean;

	return (log(rows[kind].ecpm_inverse) -
			share * share * rows[kind].ecpm_inverse) / 2;
}

/* Are there distributions of the k-th row for all kinds that there are? */
static bool
place_has_rows(const EcpPlace *place, const EcpRecallCurveData *curve,
			   const EcpQueryRowsData *rows)
{
	if (!(place->kth > 0 && place->around > 0) || rows == NULL)
		return false;
	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
		if (!isinf(curve->ecpm_kinds[kind].ecpm_log) &&
			!(rows[kind].ecpm_inverse > 0))
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

	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
	{
		const EcpQueryKindData *data = &curve->ecpm_kinds[kind];
		double		near = place->near - data->ecpm_mean[0];
		double		around = place->around - data->ecpm_mean[1];

		/* the logarithm of the density */
		weights[kind] = -data->ecpm_log -
			(near * near * data->ecpm_inverse[0] +
			 2 * near * around * data->ecpm_inverse[1] +
			 around * around * data->ecpm_inverse[2]) / 2;
		if (has_rows && isfinite(weights[kind]))
			weights[kind] += place_rows(place, rows, kind);
		best = Max(best, weights[kind]);
	}
	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
	{
		weights[kind] = isfinite(best) ? exp(weights[kind] - best) : 1;
		total += weights[kind];
	}
	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
		weights[kind] /= total;
	mix->outer = place_outer(place, curve);
}

double
ecp_mix_slack(const EcpQueryMix *mix, const float4 *slack)
{
	double		sum = mix->outer;

	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
		sum += mix->weights[kind] * slack[kind];
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
