/*-------------------------------------------------------------------------
 *
 * ecp_recall_classes.c
 *	  RECALL: where the queries of each class are, by which searches tell them apart.
 *
 * The distances from the nearest leader and from one farther out have a normal
 * distribution of two dimensions.  That of the k-th row, as a share of the latter,
 * has one of its own, so that it can be left out where there is no k-th row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "ecp/recall/ecp_recall_private.h"
#include "utils/float.h"

/* The fewest queries of a class that say where such queries are. */
#define CLASSES_LEAST	5

/* And that say where the k-th row is for them. */
#define CLASSES_ROWS_LEAST	20

/* Variances are at least this share of the square of the mean "around". */
#define CLASSES_VARIANCE_MIN	1e-6

/*
 * The variance of the k-th row's share is at least this: where it is the same for all
 * queries of a class, one a little farther away is like them.
 */
#define CLASSES_ROWS_VARIANCE_MIN	1e-3

void
ecp_recall_class(const EcpRecallQueries *queries, int class, EcpQueryClassData *data)
{
	double		sums[2] = {0};
	double		squares[3] = {0};
	double		covariance[3];
	double		determinant;
	double		least;
	int			n = 0;

	memset(data, 0, sizeof(EcpQueryClassData));
	data->ecpm_log = get_float4_infinity();
	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);
		double		near = notes->place.near;
		double		around = notes->place.around;

		if (notes->class != class)
			continue;
		sums[0] += near;
		sums[1] += around;
		squares[0] += near * near;
		squares[1] += near * around;
		squares[2] += around * around;
		n++;
	}
	if (n < CLASSES_LEAST)
		return;
	sums[0] /= n;
	sums[1] /= n;
	covariance[0] = squares[0] / n - sums[0] * sums[0];
	covariance[1] = squares[1] / n - sums[0] * sums[1];
	covariance[2] = squares[2] / n - sums[1] * sums[1];
	/* rounding, or one place: copies of leaders are at no distance */
	least = CLASSES_VARIANCE_MIN * sums[1] * sums[1];
	covariance[0] = Max(covariance[0], 0) + least;
	covariance[2] = Max(covariance[2], 0) + least;
	determinant = covariance[0] * covariance[2] - covariance[1] * covariance[1];
	if (!(determinant > 0) || covariance[0] / determinant > FLT_MAX ||
		covariance[2] / determinant > FLT_MAX)
		return;
	data->ecpm_mean[0] = sums[0];
	data->ecpm_mean[1] = sums[1];
	data->ecpm_inverse[0] = covariance[2] / determinant;
	data->ecpm_inverse[1] = -covariance[1] / determinant;
	data->ecpm_inverse[2] = covariance[0] / determinant;
	data->ecpm_log = log(determinant) / 2;
}

/* How far away the k-th row is from queries of a class. */
static void
classes_rows_of(const EcpRecallQueries *queries, int class, int k,
				EcpQueryRowsData *rows)
{
	double		sum = 0;
	double		squares = 0;
	int			n = 0;

	memset(rows, 0, sizeof(EcpQueryRowsData));
	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);
		double		share;

		if (notes->class != class || notes->nks <= k || !(notes->kth[k] > 0) ||
			!(notes->place.around > 0))
			continue;
		share = notes->kth[k] / notes->place.around;
		sum += share;
		squares += share * share;
		n++;
	}
	if (n < CLASSES_ROWS_LEAST)
		return;
	sum /= n;
	rows->ecpm_mean = sum;
	rows->ecpm_inverse = 1 / (Max(squares / n - sum * sum, 0) +
							  CLASSES_ROWS_VARIANCE_MIN);
	if (!isfinite(rows->ecpm_inverse) || !isfinite(rows->ecpm_mean))
		rows->ecpm_inverse = 0;
}

void
ecp_recall_classes_rows(const EcpRecallQueries *queries, int k,
						EcpRecallCurveData *curve)
{
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
		classes_rows_of(queries, class, k, &curve->ecpm_rows[k][class]);
}
