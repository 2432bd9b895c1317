/*-------------------------------------------------------------------------
 *
 * ecp_recall_points.c
 *	  RECALL: from the notes of searches to the points of the curve.
 *
 * A point says where searches stop (ecp_stop.c): the least margin for each class of
 * query with which the mean recall of these is the target.
 *
 *	 classes		where the queries of each class are
 *	 alone		the margin of a query class unlike rows, as if all
 *				queries were known to be of it
 *	 together	that of rows, where each query has the mean of the classes' margins,
 *				by its weights; then the margin of a class that misses the target
 *				rises until all reach it
 *
 * The target must be exceeded, for three reasons.  The mean over some hundreds
 * of queries has an error: by POINTS_ERRORS standard errors, and of a low target
 * by POINTS_RESERVE_ROWS of the share that may be missed, times this share.  Others
 * are unlike rows in more ways than those tried, and are few: by
 * POINTS_RESERVE_OTHERS.  And codes lose rows that the searches here do not see
 * ("loss").
 *
 * Fresh queries are farther from the leaders than the rows, which these were made
 * of: two in five descriptors of another photograph, and one in three of a normal
 * distribution, are as far as the outer fifth of the rows, where a margin finds less
 * than on average (.92 instead of .95).  Therefore a mean of the rows has to reach
 * the target, too, in which the farthest count most (POINTS_TILT).  The mean, and
 * not these rows by themselves: for the outer third of minilm that takes five times
 * the clusters of the others, and twice as many for all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "ecp/recall/ecp_recall_private.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/float.h"

/* By how much a target is exceeded; see above. */
#define POINTS_RESERVE_ROWS	0.2
#define POINTS_RESERVE_FEW	0.20
#define POINTS_RESERVE_OTHERS 0.40
#define POINTS_ERRORS		0.2
#define POINTS_ERRORS_FEW	0.5
#define POINTS_ERRORS_OTHERS 0.25

/* Rows that are fewer, as those for the largest k, say less than their error. */
#define POINTS_FEW			30

/* The mean weight of a class in rows from which on they are like it. */
#define POINTS_LIKENESS		0.1

/* How much more than the average the farthest row counts, and the nearest less. */
#define POINTS_TILT			0.3

/*
 * Queries that miss the nearest row, at least, to be counted by themselves.  A row's
 * cases are much alike: with all of them, fewer rows have a smaller error (sift-dev,
 * 0.95: 640 rows 0.0082, and 0.0042 with five cases, by the same number of clusters).
 */
#define POINTS_MISSED_LEAST	4
#define POINTS_MISSED_ROWS	80	/* of rows */

/* Margins are as exact as this share of the range of what checks have. */
#define POINTS_STEPS		512
#define POINTS_RAISE		2

/* The highest margin is at least this share of it beyond; more than float4 rounds. */
#define POINTS_BEYOND		1e-6

/*
 * A search has all when at most this share of the nearest rows is missed: of fewer
 * than a hundred, none.  Others go on by so much of the spread, as they may need
 * more: with a third of it, one in twenty ends too early to know that it has missed a
 * row, and high targets are not reached.  Of queries unlike rows, fewer went on to
 * the end.
 */
#define POINTS_REST			0.015
#define POINTS_MORE			0.30
#define POINTS_MORE_OTHERS	0.50

/* The spread is that of gaps for 10 rows. */
#define POINTS_SPREAD_CASE	EcpRecallCaseOf(1)

/* ---- queries ---- */

static int
points_compare(const void *a, const void *b)
{
	const EcpRecallNotes *x = *(const EcpRecallNotes *const *) a;
	const EcpRecallNotes *y = *(const EcpRecallNotes *const *) b;

	return (x->place.near > y->place.near) - (x->place.near < y->place.near);
}

/*
 * How much each query counts in the tilted mean of its class: rows the more the
 * farther they are from their nearest leaders.
 */
static double *
points_tilts(const EcpRecallQueries *queries)
{
	double	   *tilts = palloc(mul_size(queries->n, sizeof(double)));
	const EcpRecallNotes **rows = palloc(mul_size(queries->n, sizeof(*rows)));
	int			n = 0;

	for (int q = 0; q < queries->n; q++)
	{
		tilts[q] = 1;
		if (EcpRecallNotesOf(queries, q)->class == ECP_QUERY_ROW)
			rows[n++] = EcpRecallNotesOf(queries, q);
	}
	qsort(rows, n, sizeof(*rows), points_compare);
	for (int r = 0; r < n; r++)
	{
		int			q = ((const char *) rows[r] - queries->notes) / queries->stride;

		tilts[q] += POINTS_TILT * ((2 * r + 1.0) / n - 1);
	}
	pfree(rows);
	return tilts;
}

double
ecp_recall_spread(const EcpRecallQueries *queries)
{
	double		sum = 0;
	double		squares = 0;
	int64		n = 0;

	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);

		for (int i = 0; i < notes->nchecks && notes->class == ECP_QUERY_ROW; i++)
		{
			double		gap = notes->checks[i].gap[POINTS_SPREAD_CASE];

			if (!isfinite(gap))
				continue;
			sum += gap;
			squares += gap * gap;
			n++;
		}
	}
	return n == 0 ? 0 : sqrt(Max(squares / n - (sum / n) * (sum / n), 0));
}

double
ecp_recall_sum_most(const EcpRecallQueries *queries, const EcpMetaPageData *meta,
					int class, int k)
{
	int			last = k == 0 ? EcpRecallCaseOf(k) : EcpRecallCaseWithSelf(k);
	double		most = -get_float8_infinity();

	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);

		for (int i = 0; i < notes->nchecks && notes->class == class; i++)
		{
			const EcpRecallCheck *check = &notes->checks[i];
			double		advance = ecp_stop_advance(meta, check->n);

			/* the last check has all */
			for (int c = EcpRecallCaseOf(k); c <= last; c++)
				if (!isinf(check->gap[c]) &&
					(check->recall[c] < 1 - POINTS_REST || isinf(most)))
					most = Max(most, check->gap[c] + advance);
		}
	}
	return isinf(most) ? get_float8_infinity() :
		most + (class == ECP_QUERY_ROW ? POINTS_MORE : POINTS_MORE_OTHERS) *
		meta->ecpm_curve.ecpm_spread;
}

int
ecp_recall_ahead(const EcpRecallQueries *queries, const EcpMetaPageData *meta,
				 int class, const float4 *most, int nks)
{
	int64		clusters = 0;
	int			n = 0;

	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);
		int			i = 0;

		if (notes->class != class)
			continue;
		for (int k = 0; k < nks; k++)
			while (i < notes->nchecks - 1 &&
				   !(notes->checks[i].gap[EcpRecallCaseOf(k)] +
					 ecp_stop_advance(meta, notes->checks[i].n) > most[k]))
				i++;
		clusters += notes->checks[i].n;
		n++;
	}
	return n == 0 ? PG_INT32_MAX : (int) (clusters / n) + 1;
}

int
ecp_recall_depth(const EcpRecallNotes *notes, int k)
{
	int			i = 0;

	while (i < notes->nchecks - 1 &&
		   notes->checks[i].recall[EcpRecallCaseOf(k)] < 1 - POINTS_REST)
		i++;
	return notes->checks[i].n;
}

/* ---- tries ---- */

/* What margins give for the queries of a class. */
typedef struct PointResult
{
	int			n;				/* queries */
	double		recall;			/* mean of the queries' */
	double		tilted;			/* the same, where some count more */
	double		error;			/* its standard error */
	double		clusters;		/* mean number read */
} PointResult;

/* A query that tells of the k. */
typedef struct PointQuery
{
	int			nchecks;
	int			most;			/* clusters at the last of them */
	double		tilt;			/* how much it counts in tilted means */
	const EcpQueryMix *mix;
	const EcpRecallNotes *notes;
} PointQuery;

/* The searches for one k: its cases. */
typedef struct PointTries
{
	const EcpRecallQueries *queries;
	const EcpMetaPageData *meta;
	int			k;				/* its number */
	int			first;			/* its first case */
	int			cases[ECP_QUERY_CLASSES];	/* and how many, for each class */
	double		loss;
	const EcpQueryMix *mixes;	/* of each query */
	const double *tilts;
	PointQuery *those;			/* that tell of the k, those of a class
								 * together */
	int			firsts[ECP_QUERY_CLASSES + 1];	/* of each class, and of none */
	const float8 *advances;		/* at each check */
	int			max_checks;

	/*
	 * Checks between which searches stop, of each query and case, while a
	 * margin is searched for, and where they stopped the last time
	 */
	bool		narrow;
	int		   *lows;
	int		   *highs;
	int		   *stops;
	float8	   *sums;			/* see tries_set_sums() */
	float4	   *recalls;		/* likewise */
	int		   *clusters;		/* after how many a check is, but the last of
								 * a query */
	double		low;			/* of what checks have */
	double		high;
} PointTries;

/* The number of query q in a case. */
static inline Size
tries_number(const PointTries *tries, int q, int c)
{
	return (Size) q * EcpRecallCasesOf(tries->k) + c - tries->first;
}

/* Where its checks are, in the arrays. */
static inline Size
tries_checks(const PointTries *tries, int q, int c)
{
	return tries_number(tries, q, c) * tries->max_checks;
}

/*
 * Set the queries that tell of the k.  The notes are far apart, and a result needs
 * little of them.
 */
static void
tries_set_those(PointTries *tries)
{
	int			n = 0;

	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
	{
		tries->firsts[class] = n;
		for (int q = 0; q < tries->queries->n; q++)
		{
			const EcpRecallNotes *notes = EcpRecallNotesOf(tries->queries, q);
			PointQuery *that = &tries->those[n];

			if (notes->class != class || notes->nks <= tries->k)
				continue;
			that->nchecks = notes->nchecks;
			that->most = notes->checks[notes->nchecks - 1].n;
			that->tilt = tries->tilts[q];
			that->mix = &tries->mixes[q];
			that->notes = notes;
			n++;
		}
	}
	tries->firsts[ECP_QUERY_CLASSES] = n;
}

/*
 * Set, for each query and case of the k, the largest sum of gap and advance up to
 * each check, and the recall there.
 */
static void
tries_set_sums(const PointTries *tries)
{
	for (int q = 0; q < tries->firsts[ECP_QUERY_CLASSES]; q++)
	{
		const EcpRecallNotes *notes = tries->those[q].notes;

		for (int c = tries->first;
			 c < tries->first + EcpRecallCasesOf(tries->k); c++)
		{
			float8	   *sums = tries->sums + tries_checks(tries, q, c);
			float4	   *recalls = tries->recalls + tries_checks(tries, q, c);
			float8		most = -get_float8_infinity();

			for (int i = 0; i < notes->nchecks; i++)
			{
				float8		sum = notes->checks[i].gap[c] + tries->advances[i];

				if (sum > most)
					most = sum;
				sums[i] = most;
				recalls[i] = notes->checks[i].recall[c];
			}
		}
	}
}

/*
 * The check at which a search stops that has this margin, from "low" to "high", the
 * last.  It is searched for without branches, which would be guessed wrong half of the
 * time.
 */
static inline int
tries_stop(const float8 *sums, int low, int high, double margin)
{
	const float8 *at = sums + low;

	/* it is one of the n from "at" on */
	for (int n = high - low + 1; n > 1;)
	{
		int			half = n / 2;

		at += at[half - 1] < margin ? half : 0;
		n -= half;
	}
	return at - sums;
}

/*
 * What margins give for the queries of this class in a number of cases, on average;
 * "margin" if there are none.
 */
static void
tries_result_cases(const PointTries *tries, int class, const float4 *margins,
				   double margin, int first, int ncases, PointResult *result)
{
	double		recall = 0;
	double		squares = 0;
	double		clusters = 0;
	double		tilted = 0;
	double		tilts = 0;
	int			n = tries->firsts[class + 1] - tries->firsts[class];

	for (int q = tries->firsts[class]; q < tries->firsts[class + 1]; q++)
	{
		const PointQuery *that = &tries->those[q];
		double		found = 0;
		double		sum;

		sum = margins ? ecp_mix_margin(that->mix, margins) : margin + that->mix->outer;
		for (int c = first; c < first + ncases; c++)
		{
			Size		number = tries_number(tries, q, c);
			Size		checks = tries_checks(tries, q, c);
			int			i = tries_stop(tries->sums + checks,
									   tries->narrow ? tries->lows[number] : 0,
									   tries->narrow ? tries->highs[number] :
									   that->nchecks - 1, sum);

			tries->stops[number] = i;
			found += tries->recalls[checks + i];
			if (c == first)
				clusters += i < that->nchecks - 1 ? tries->clusters[i] :
					that->most;
		}
		found /= ncases;
		recall += found;
		squares += found * found;
		tilted += found * that->tilt;
		tilts += that->tilt;
	}
	result->n = n;
	result->recall = n > 0 ? recall / n : 1;
	result->tilted = n > 0 ? tilted / tilts : 1;
	result->clusters = n > 0 ? clusters / n : 0;
	result->error = n > 0 ?
		sqrt(Max(squares / n - result->recall * result->recall, 0) / n) : 0;
}

/*
 * What margins give for the queries of this class: the mean of the classes', or, if
 * there are none, "margin".  Users search for new vectors and for rows, so of
 * rows the worse of the two counts.
 */
static void
tries_result(const PointTries *tries, int class, const float4 *margins,
			 double margin, PointResult *result)
{
	PointResult with_self;

	tries_result_cases(tries, class, margins, margin, tries->first,
					   tries->cases[class], result);
	if (class != ECP_QUERY_ROW || tries->k == 0)
		return;
	tries_result_cases(tries, class, margins, margin,
					   EcpRecallCaseWithSelf(tries->k), 1, &with_self);
	if (with_self.recall < result->recall)
	{
		result->recall = with_self.recall;
		result->tilted = with_self.tilted;
		result->error = with_self.error;
	}
}

/*
 * Which cases count for a target: the first as long as it has some queries that miss
 * the nearest row, else all.  Other cases are not quite the same: of a point
 * half-way between two rows, these are often the nearest, and not near.
 */
static void
tries_set_cases(PointTries *tries, double target)
{
	const EcpRecallQueries *queries = tries->queries;
	int			n[ECP_QUERY_CLASSES] = {0};

	for (int q = 0; q < queries->n; q++)
		n[EcpRecallNotesOf(queries, q)->class]++;
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
	{
		int			least = class == ECP_QUERY_ROW ? POINTS_MISSED_ROWS :
			POINTS_MISSED_LEAST;

		tries->cases[class] = tries->k > 0 || n[class] * (1 - target) >= least ? 1 :
			ECP_RECALL_FIRSTS;
	}
}

/* Will such queries reach this target? */
static bool
tries_reach(const PointTries *tries, int class, const PointResult *result,
			double target)
{
	double		missed = 1 - Min(result->recall, result->tilted);

	if (missed <= 0)
		return true;
	missed += tries->loss;
	if (class != ECP_QUERY_ROW)
		return missed + POINTS_ERRORS_OTHERS * result->error <=
			(1 - target) * (1 - POINTS_RESERVE_OTHERS);
	if (result->n < POINTS_FEW)
		return missed + POINTS_ERRORS_FEW * result->error <=
			(1 - target) * (1 - POINTS_RESERVE_FEW);
	return missed + POINTS_ERRORS * result->error <=
		(1 - target) * (1 - POINTS_RESERVE_ROWS * (1 - target));
}

/* ---- points ---- */

/* One of POINTS_STEPS + 1 margins. */
#define PointsMargin(tries, step) \
	((tries)->low + ((tries)->high - (tries)->low) * (step) / POINTS_STEPS)

/*
 * Set the least margin with which a class reaches the target, alone or together, and
 * return its number.  A higher margin never stops earlier, so that each try narrows
 * the range of the next ones.
 */
static int
points_least(PointTries *tries, int class, double target, bool together,
			 float4 *margins)
{
	int			low = 0;
	int			high = POINTS_STEPS;
	int			ncases = EcpRecallCasesOf(tries->k);
	Size		first = (Size) tries->firsts[class] * ncases;
	Size		bytes = (tries->firsts[class + 1] * (Size) ncases - first) *
		sizeof(int);

	for (int q = tries->firsts[class]; q < tries->firsts[class + 1]; q++)
		for (int c = 0; c < ncases; c++)
		{
			tries->lows[q * (Size) ncases + c] = 0;
			tries->highs[q * (Size) ncases + c] = tries->those[q].nchecks - 1;
		}
	tries->narrow = true;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		PointResult result;

		margins[class] = PointsMargin(tries, middle);
		tries_result(tries, class, together ? margins : NULL, margins[class], &result);
		if (tries_reach(tries, class, &result, target))
			high = middle;
		else
			low = middle + 1;
		memcpy((high == middle ? tries->highs : tries->lows) + first,
			   tries->stops + first, bytes);
	}
	tries->narrow = false;
	margins[class] = PointsMargin(tries, high);
	return high;
}

/*
 * Classes that rows are like, by their places, have at least the rows' margin: else
 * these rows would find less, and all others have to read more for the mean.
 */
static void
points_like_rows(const PointTries *tries, int *steps, float4 *margins)
{
	double		likeness[ECP_QUERY_CLASSES] = {0};
	int			n = 0;

	for (int q = 0; q < tries->queries->n; q++)
	{
		if (EcpRecallNotesOf(tries->queries, q)->class != ECP_QUERY_ROW)
			continue;
		for (int class = 0; class < ECP_QUERY_CLASSES; class++)
			likeness[class] += tries->mixes[q].weights[class];
		n++;
	}
	for (int class = ECP_QUERY_ROW + 1; class < ECP_QUERY_CLASSES; class++)
		if (likeness[class] > POINTS_LIKENESS * n &&
			steps[class] < steps[ECP_QUERY_ROW])
		{
			steps[class] = steps[ECP_QUERY_ROW];
			margins[class] = margins[ECP_QUERY_ROW];
		}
}

/* Raise margins, whose numbers are "steps", until all classes reach the target. */
static void
points_together(const PointTries *tries, double target, int *steps,
				float4 *margins)
{
	bool		raised = true;

	while (raised)
	{
		raised = false;
		CHECK_FOR_INTERRUPTS();
		for (int class = 0; class < ECP_QUERY_CLASSES; class++)
		{
			PointResult result;

			tries_result(tries, class, margins, 0, &result);
			/* distances that overflow may never reach it */
			if (tries_reach(tries, class, &result, target) ||
				steps[class] >= POINTS_STEPS)
				continue;
			steps[class] += POINTS_RAISE;
			margins[class] = PointsMargin(tries, steps[class]);
			raised = true;
		}
	}
}

/* What the margins of a point give for all rows. */
static void
points_note_rows(const PointTries *tries, EcpRecallPointData *point)
{
	PointResult rows;

	tries_result(tries, ECP_QUERY_ROW, point->ecpm_margin, 0, &rows);
	point->ecpm_clusters = rows.clusters;
	point->ecpm_recall = Max(rows.recall - tries->loss, 0);
}

/* The points of one k. */
static void
points_of_k(PointTries *tries, int k, EcpRecallPointData *points)
{
	tries->k = k;
	tries->first = EcpRecallCaseOf(k);
	tries_set_those(tries);
	tries_set_sums(tries);
	tries->low = get_float8_infinity();
	tries->high = -get_float8_infinity();
	for (int q = 0; q < tries->firsts[ECP_QUERY_CLASSES]; q++)
	{
		const PointQuery *that = &tries->those[q];

		for (int i = 0; i < that->nchecks; i++)
			for (int c = tries->first; c < tries->first + EcpRecallCasesOf(k); c++)
			{
				double		sum = that->notes->checks[i].gap[c] +
					tries->advances[i] - that->mix->outer;

				if (!isfinite(sum))
					continue;
				tries->low = Min(tries->low, sum);
				tries->high = Max(tries->high, sum);
			}
	}
	if (tries->low > tries->high)
		tries->low = tries->high = 0;
	/* beyond the highest, all is read, also if all are equal */
	tries->high += Max((tries->high - tries->low) / POINTS_STEPS,
					   POINTS_BEYOND * Max(fabs(tries->high), FLT_MIN));
	for (int t = 0; t < ECP_CURVE_TARGETS; t++)
	{
		EcpRecallPointData *point = &points[t];
		int			steps[ECP_QUERY_CLASSES];

		tries_set_cases(tries, ecp_target_levels[t]);
		for (int class = 0; class < ECP_QUERY_CLASSES; class++)
			steps[class] = points_least(tries, class, ecp_target_levels[t], false,
										point->ecpm_margin);
		points_like_rows(tries, steps, point->ecpm_margin);
		steps[ECP_QUERY_ROW] = points_least(tries, ECP_QUERY_ROW,
											ecp_target_levels[t], true,
											point->ecpm_margin);
		points_together(tries, ecp_target_levels[t], steps, point->ecpm_margin);
		/* a higher target never stops earlier */
		for (int class = 0; class < ECP_QUERY_CLASSES && t > 0; class++)
			point->ecpm_margin[class] = Max(point->ecpm_margin[class],
											points[t - 1].ecpm_margin[class]);
		points_note_rows(tries, point);
	}
}

/* Set what each query is of each class, for a k. */
static void
points_mixes(const EcpRecallQueries *queries, int k, const EcpRecallCurveData *curve,
			 EcpQueryMix *mixes)
{
	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);
		EcpPlace	place = notes->place;

		place.kth = notes->kth[k];
		ecp_place_mix(&place, curve, curve->ecpm_rows[k], &mixes[q]);
	}
}

/* What a search has beyond the gap at each check. */
static float8 *
points_advances(const EcpMetaPageData *meta, const int *clusters, int max_checks)
{
	float8	   *advances = palloc(mul_size(max_checks, sizeof(float8)));

	for (int i = 0; i < max_checks; i++)
		advances[i] = ecp_stop_advance(meta, clusters[i]);
	return advances;
}

void
ecp_recall_points(const EcpRecallQueries *queries, double loss,
				  EcpMetaPageData *meta)
{
	EcpRecallCurveData *curve = &meta->ecpm_curve;
	EcpQueryMix *mixes = palloc(mul_size(queries->n, sizeof(EcpQueryMix)));
	double	   *tilts = points_tilts(queries);
	int			max_checks = 1;
	PointTries	tries = {queries, meta};

	Assert(queries->n > 0);
	curve->ecpm_spread = ecp_recall_spread(queries);
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
		ecp_recall_class(queries, class, &curve->ecpm_classes[class]);
	for (int q = 0; q < queries->n; q++)
		max_checks = Max(max_checks, EcpRecallNotesOf(queries, q)->nchecks);
	tries.loss = loss;
	tries.mixes = mixes;
	tries.tilts = tilts;
	tries.those = palloc(mul_size(queries->n, sizeof(PointQuery)));
	tries.max_checks = max_checks;
	tries.clusters = palloc(mul_size(max_checks, sizeof(int)));
	tries.clusters[0] = 1;
	for (int i = 1; i < max_checks; i++)
		tries.clusters[i] = EcpCheckNext(tries.clusters[i - 1]);
	tries.advances = points_advances(meta, tries.clusters, max_checks);
	tries.lows = palloc(mul_size(queries->n, ECP_RECALL_FIRSTS * sizeof(int)));
	tries.highs = palloc(mul_size(queries->n, ECP_RECALL_FIRSTS * sizeof(int)));
	tries.stops = palloc(mul_size(queries->n, ECP_RECALL_FIRSTS * sizeof(int)));
	tries.sums = palloc_extended(mul_size(mul_size(queries->n, max_checks),
										  ECP_RECALL_FIRSTS * sizeof(float8)),
								 MCXT_ALLOC_HUGE);
	tries.recalls = palloc_extended(mul_size(mul_size(queries->n, max_checks),
											 ECP_RECALL_FIRSTS * sizeof(float4)),
									MCXT_ALLOC_HUGE);
	for (int k = 0; k < ECP_CURVE_KS; k++)
	{
		EcpRecallPointData *points = curve->ecpm_points[k];

		ecp_recall_classes_rows(queries, k, curve);
		points_mixes(queries, k, curve, mixes);
		points_of_k(&tries, k, points);
		for (int t = 0; t < ECP_CURVE_TARGETS; t++)
			elog(DEBUG1, "ecp recall curve: k %d, recall %g: margins %g, %g, %g, %g and %g, %g clusters",
				 ecp_target_ks[k], ecp_target_levels[t], points[t].ecpm_margin[0],
				 points[t].ecpm_margin[1], points[t].ecpm_margin[2],
				 points[t].ecpm_margin[3], points[t].ecpm_margin[4],
				 points[t].ecpm_clusters);
	}
	pfree(tries.sums);
	pfree(tries.recalls);
	pfree(tries.those);
	pfree(tries.lows);
	pfree(tries.highs);
	pfree(tries.stops);
	pfree(mixes);
	pfree(tilts);
}
