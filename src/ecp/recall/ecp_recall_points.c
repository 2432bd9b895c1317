/*-------------------------------------------------------------------------
 *
 * ecp_recall_points.c
 *	  RECALL: from the notes of searches to the points of the curve.
 *
 * A point says where searches stop (ecp_stop.c): the least slack for each kind of
 * query with which the mean recall of these is the target.
 *
 *	 kinds		where the queries of each kind are
 *	 alone		the slack of a kind of queries unlike rows, as if all
 *				queries were known to be of it
 *	 together	that of rows, where each query has the mean of the kinds' slacks,
 *				by its weights; then the slack of a kind that misses the target
 *				rises until all reach it
 *
 * The target must be exceeded, for three reasons.  The mean over some hundreds
 * of queries has an error: by POINTS_ERRORS standard errors, and of a low target
 * by POINTS_MARGIN_ROWS of the share that may be missed, times this share.  Others
 * are unlike rows in more ways than those tried, and are few: by
 * POINTS_MARGIN_OTHERS.  And codes lose rows that the searches here do not see
 * ("loss").
 *
 * Fresh queries are farther from the leaders than the rows, which these were made
 * of: two in five descriptors of another photograph, and one in three of a normal
 * distribution, are as far as the outer fifth of the rows, where a slack finds less
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
#define POINTS_MARGIN_ROWS	0.2
#define POINTS_MARGIN_FEW	0.20
#define POINTS_MARGIN_OTHERS 0.40
#define POINTS_ERRORS		0.2
#define POINTS_ERRORS_FEW	0.5
#define POINTS_ERRORS_OTHERS 0.25

/* Rows that are fewer, as those for the largest k, say less than their error. */
#define POINTS_FEW			30

/* The mean weight of a kind in rows from which on they look like it. */
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

/* Slacks are as exact as this share of the range of what looks have. */
#define POINTS_STEPS		512
#define POINTS_RAISE		2

/* The highest slack is at least this share of it beyond; more than float4 rounds. */
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
 * How much each query counts in the tilted mean of its kind: rows the more the
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
		if (EcpRecallNotesOf(queries, q)->kind == ECP_QUERY_ROW)
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

		for (int i = 0; i < notes->nlooks && notes->kind == ECP_QUERY_ROW; i++)
		{
			double		gap = notes->looks[i].gap[POINTS_SPREAD_CASE];

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
					int kind, int k)
{
	int			last = k == 0 ? EcpRecallCaseOf(k) : EcpRecallCaseWithSelf(k);
	double		most = -get_float8_infinity();

	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);

		for (int i = 0; i < notes->nlooks && notes->kind == kind; i++)
		{
			const EcpRecallLook *look = &notes->looks[i];
			double		advance = ecp_stop_advance(meta, look->n);

			/* the last look has all */
			for (int c = EcpRecallCaseOf(k); c <= last; c++)
				if (!isinf(look->gap[c]) &&
					(look->recall[c] < 1 - POINTS_REST || isinf(most)))
					most = Max(most, look->gap[c] + advance);
		}
	}
	return isinf(most) ? get_float8_infinity() :
		most + (kind == ECP_QUERY_ROW ? POINTS_MORE : POINTS_MORE_OTHERS) *
		meta->ecpm_curve.ecpm_spread;
}

int
ecp_recall_ahead(const EcpRecallQueries *queries, const EcpMetaPageData *meta,
				 int kind, const float4 *most, int nks)
{
	int64		clusters = 0;
	int			n = 0;

	for (int q = 0; q < queries->n; q++)
	{
		const EcpRecallNotes *notes = EcpRecallNotesOf(queries, q);
		int			i = 0;

		if (notes->kind != kind)
			continue;
		for (int k = 0; k < nks; k++)
			while (i < notes->nlooks - 1 &&
				   !(notes->looks[i].gap[EcpRecallCaseOf(k)] +
					 ecp_stop_advance(meta, notes->looks[i].n) > most[k]))
				i++;
		clusters += notes->looks[i].n;
		n++;
	}
	return n == 0 ? PG_INT32_MAX : (int) (clusters / n) + 1;
}

int
ecp_recall_depth(const EcpRecallNotes *notes, int k)
{
	int			i = 0;

	while (i < notes->nlooks - 1 &&
		   notes->looks[i].recall[EcpRecallCaseOf(k)] < 1 - POINTS_REST)
		i++;
	return notes->looks[i].n;
}

/* ---- tries ---- */

/* What slacks give for the queries of a kind. */
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
	int			nlooks;
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
	int			cases[ECP_QUERY_KINDS]; /* and how many, for each kind */
	double		loss;
	const EcpQueryMix *mixes;	/* of each query */
	const double *tilts;
	PointQuery *those;			/* that tell of the k, those of a kind
								 * together */
	int			firsts[ECP_QUERY_KINDS + 1];	/* of each kind, and of none */
	const float8 *advances;		/* at each look */
	int			max_looks;

	/*
	 * Looks between which searches stop, of each query and case, while a
	 * slack is searched for, and where they stopped the last time
	 */
	bool		narrow;
	int		   *lows;
	int		   *highs;
	int		   *stops;
	float8	   *sums;			/* see tries_set_sums() */
	float4	   *recalls;		/* likewise */
	int		   *clusters;		/* after how many a look is, but the last of a
								 * query */
	double		low;			/* of what looks have */
	double		high;
} PointTries;

/* The number of query q in a case. */
static inline Size
tries_number(const PointTries *tries, int q, int c)
{
	return (Size) q * EcpRecallCasesOf(tries->k) + c - tries->first;
}

/* Where its looks are, in the arrays. */
static inline Size
tries_looks(const PointTries *tries, int q, int c)
{
	return tries_number(tries, q, c) * tries->max_looks;
}

/*
 * Set the queries that tell of the k.  The notes are far apart, and a result needs
 * little of them.
 */
static void
tries_set_those(PointTries *tries)
{
	int			n = 0;

	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
	{
		tries->firsts[kind] = n;
		for (int q = 0; q < tries->queries->n; q++)
		{
			const EcpRecallNotes *notes = EcpRecallNotesOf(tries->queries, q);
			PointQuery *that = &tries->those[n];

			if (notes->kind != kind || notes->nks <= tries->k)
				continue;
			that->nlooks = notes->nlooks;
			that->most = notes->looks[notes->nlooks - 1].n;
			that->tilt = tries->tilts[q];
			that->mix = &tries->mixes[q];
			that->notes = notes;
			n++;
		}
	}
	tries->firsts[ECP_QUERY_KINDS] = n;
}

/*
 * Set, for each query and case of the k, the largest sum of gap and advance up to
 * each look, and the recall there.
 */
static void
tries_set_sums(const PointTries *tries)
{
	for (int q = 0; q < tries->firsts[ECP_QUERY_KINDS]; q++)
	{
		const EcpRecallNotes *notes = tries->those[q].notes;

		for (int c = tries->first;
			 c < tries->first + EcpRecallCasesOf(tries->k); c++)
		{
			float8	   *sums = tries->sums + tries_looks(tries, q, c);
			float4	   *recalls = tries->recalls + tries_looks(tries, q, c);
			float8		most = -get_float8_infinity();

			for (int i = 0; i < notes->nlooks; i++)
			{
				float8		sum = notes->looks[i].gap[c] + tries->advances[i];

				if (sum > most)
					most = sum;
				sums[i] = most;
				recalls[i] = notes->looks[i].recall[c];
			}
		}
	}
}

/*
 * The look at which a search stops that has this slack, from "low" to "high", the
 * last.  It is searched for without branches, which would be guessed wrong half of the
 * time.
 */
static inline int
tries_stop(const float8 *sums, int low, int high, double slack)
{
	const float8 *at = sums + low;

	/* it is one of the n from "at" on */
	for (int n = high - low + 1; n > 1;)
	{
		int			half = n / 2;

		at += at[half - 1] < slack ? half : 0;
		n -= half;
	}
	return at - sums;
}

/*
 * What slacks give for the queries of this kind in a number of cases, on average;
 * "slack" if there are none.
 */
static void
tries_result_cases(const PointTries *tries, int kind, const float4 *slacks,
				   double slack, int first, int ncases, PointResult *result)
{
	double		recall = 0;
	double		squares = 0;
	double		clusters = 0;
	double		tilted = 0;
	double		tilts = 0;
	int			n = tries->firsts[kind + 1] - tries->firsts[kind];

	for (int q = tries->firsts[kind]; q < tries->firsts[kind + 1]; q++)
	{
		const PointQuery *that = &tries->those[q];
		double		found = 0;
		double		sum;

		sum = slacks ? ecp_mix_slack(that->mix, slacks) : slack + that->mix->outer;
		for (int c = first; c < first + ncases; c++)
		{
			Size		number = tries_number(tries, q, c);
			Size		looks = tries_looks(tries, q, c);
			int			i = tries_stop(tries->sums + looks,
									   tries->narrow ? tries->lows[number] : 0,
									   tries->narrow ? tries->highs[number] :
									   that->nlooks - 1, sum);

			tries->stops[number] = i;
			found += tries->recalls[looks + i];
			if (c == first)
				clusters += i < that->nlooks - 1 ? tries->clusters[i] :
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
 * What slacks give for the queries of this kind: the mean of the kinds', or, if
 * there are none, "slack".  Users search for new vectors and for rows, so of
 * rows the worse of the two counts.
 */
static void
tries_result(const PointTries *tries, int kind, const float4 *slacks,
			 double slack, PointResult *result)
{
	PointResult with_self;

	tries_result_cases(tries, kind, slacks, slack, tries->first,
					   tries->cases[kind], result);
	if (kind != ECP_QUERY_ROW || tries->k == 0)
		return;
	tries_result_cases(tries, kind, slacks, slack,
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
	int			n[ECP_QUERY_KINDS] = {0};

	for (int q = 0; q < queries->n; q++)
		n[EcpRecallNotesOf(queries, q)->kind]++;
	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
	{
		int			least = kind == ECP_QUERY_ROW ? POINTS_MISSED_ROWS :
			POINTS_MISSED_LEAST;

		tries->cases[kind] = tries->k > 0 || n[kind] * (1 - target) >= least ? 1 :
			ECP_RECALL_FIRSTS;
	}
}

/* Will such queries reach this target? */
static bool
tries_reach(const PointTries *tries, int kind, const PointResult *result,
			double target)
{
	double		missed = 1 - Min(result->recall, result->tilted);

	if (missed <= 0)
		return true;
	missed += tries->loss;
	if (kind != ECP_QUERY_ROW)
		return missed + POINTS_ERRORS_OTHERS * result->error <=
			(1 - target) * (1 - POINTS_MARGIN_OTHERS);
	if (result->n < POINTS_FEW)
		return missed + POINTS_ERRORS_FEW * result->error <=
			(1 - target) * (1 - POINTS_MARGIN_FEW);
	return missed + POINTS_ERRORS * result->error <=
		(1 - target) * (1 - POINTS_MARGIN_ROWS * (1 - target));
}

/* ---- points ---- */

/* One of POINTS_STEPS + 1 slacks. */
#define PointsSlack(tries, step) \
	((tries)->low + ((tries)->high - (tries)->low) * (step) / POINTS_STEPS)

/*
 * Set the least slack with which a kind reaches the target, alone or together, and
 * return its number.  A higher slack never stops earlier, so that each try narrows
 * where the next ones look.
 */
static int
points_least(PointTries *tries, int kind, double target, bool together,
			 float4 *slacks)
{
	int			low = 0;
	int			high = POINTS_STEPS;
	int			ncases = EcpRecallCasesOf(tries->k);
	Size		first = (Size) tries->firsts[kind] * ncases;
	Size		bytes = (tries->firsts[kind + 1] * (Size) ncases - first) *
		sizeof(int);

	for (int q = tries->firsts[kind]; q < tries->firsts[kind + 1]; q++)
		for (int c = 0; c < ncases; c++)
		{
			tries->lows[q * (Size) ncases + c] = 0;
			tries->highs[q * (Size) ncases + c] = tries->those[q].nlooks - 1;
		}
	tries->narrow = true;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		PointResult result;

		slacks[kind] = PointsSlack(tries, middle);
		tries_result(tries, kind, together ? slacks : NULL, slacks[kind], &result);
		if (tries_reach(tries, kind, &result, target))
			high = middle;
		else
			low = middle + 1;
		memcpy((high == middle ? tries->highs : tries->lows) + first,
			   tries->stops + first, bytes);
	}
	tries->narrow = false;
	slacks[kind] = PointsSlack(tries, high);
	return high;
}

/*
 * Kinds that rows look like, by their places, have at least the rows' slack: else
 * these rows would find less, and all others have to read more for the mean.
 */
static void
points_like_rows(const PointTries *tries, int *steps, float4 *slacks)
{
	double		likeness[ECP_QUERY_KINDS] = {0};
	int			n = 0;

	for (int q = 0; q < tries->queries->n; q++)
	{
		if (EcpRecallNotesOf(tries->queries, q)->kind != ECP_QUERY_ROW)
			continue;
		for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
			likeness[kind] += tries->mixes[q].weights[kind];
		n++;
	}
	for (int kind = ECP_QUERY_ROW + 1; kind < ECP_QUERY_KINDS; kind++)
		if (likeness[kind] > POINTS_LIKENESS * n &&
			steps[kind] < steps[ECP_QUERY_ROW])
		{
			steps[kind] = steps[ECP_QUERY_ROW];
			slacks[kind] = slacks[ECP_QUERY_ROW];
		}
}

/* Raise slacks, whose numbers are "steps", until all kinds reach the target. */
static void
points_together(const PointTries *tries, double target, int *steps,
				float4 *slacks)
{
	bool		raised = true;

	while (raised)
	{
		raised = false;
		CHECK_FOR_INTERRUPTS();
		for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
		{
			PointResult result;

			tries_result(tries, kind, slacks, 0, &result);
			/* distances that overflow may never reach it */
			if (tries_reach(tries, kind, &result, target) ||
				steps[kind] >= POINTS_STEPS)
				continue;
			steps[kind] += POINTS_RAISE;
			slacks[kind] = PointsSlack(tries, steps[kind]);
			raised = true;
		}
	}
}

/* What the slacks of a point give for all rows. */
static void
points_note_rows(const PointTries *tries, EcpRecallPointData *point)
{
	PointResult rows;

	tries_result(tries, ECP_QUERY_ROW, point->ecpm_slack, 0, &rows);
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
	for (int q = 0; q < tries->firsts[ECP_QUERY_KINDS]; q++)
	{
		const PointQuery *that = &tries->those[q];

		for (int i = 0; i < that->nlooks; i++)
			for (int c = tries->first; c < tries->first + EcpRecallCasesOf(k); c++)
			{
				double		sum = that->notes->looks[i].gap[c] +
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
		int			steps[ECP_QUERY_KINDS];

		tries_set_cases(tries, ecp_target_levels[t]);
		for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
			steps[kind] = points_least(tries, kind, ecp_target_levels[t], false,
									   point->ecpm_slack);
		points_like_rows(tries, steps, point->ecpm_slack);
		steps[ECP_QUERY_ROW] = points_least(tries, ECP_QUERY_ROW,
											ecp_target_levels[t], true,
											point->ecpm_slack);
		points_together(tries, ecp_target_levels[t], steps, point->ecpm_slack);
		/* a higher target never stops earlier */
		for (int kind = 0; kind < ECP_QUERY_KINDS && t > 0; kind++)
			point->ecpm_slack[kind] = Max(point->ecpm_slack[kind],
										  points[t - 1].ecpm_slack[kind]);
		points_note_rows(tries, point);
	}
}

/* Set what each query is of each kind, for a k. */
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

/* What a search has beyond the gap at each look. */
static float8 *
points_advances(const EcpMetaPageData *meta, const int *clusters, int max_looks)
{
	float8	   *advances = palloc(mul_size(max_looks, sizeof(float8)));

	for (int i = 0; i < max_looks; i++)
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
	int			max_looks = 1;
	PointTries	tries = {queries, meta};

	Assert(queries->n > 0);
	curve->ecpm_spread = ecp_recall_spread(queries);
	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
		ecp_recall_kind(queries, kind, &curve->ecpm_kinds[kind]);
	for (int q = 0; q < queries->n; q++)
		max_looks = Max(max_looks, EcpRecallNotesOf(queries, q)->nlooks);
	tries.loss = loss;
	tries.mixes = mixes;
	tries.tilts = tilts;
	tries.those = palloc(mul_size(queries->n, sizeof(PointQuery)));
	tries.max_looks = max_looks;
	tries.clusters = palloc(mul_size(max_looks, sizeof(int)));
	tries.clusters[0] = 1;
	for (int i = 1; i < max_looks; i++)
		tries.clusters[i] = EcpLookNext(tries.clusters[i - 1]);
	tries.advances = points_advances(meta, tries.clusters, max_looks);
	tries.lows = palloc(mul_size(queries->n, ECP_RECALL_FIRSTS * sizeof(int)));
	tries.highs = palloc(mul_size(queries->n, ECP_RECALL_FIRSTS * sizeof(int)));
	tries.stops = palloc(mul_size(queries->n, ECP_RECALL_FIRSTS * sizeof(int)));
	tries.sums = palloc_extended(mul_size(mul_size(queries->n, max_looks),
										  ECP_RECALL_FIRSTS * sizeof(float8)),
								 MCXT_ALLOC_HUGE);
	tries.recalls = palloc_extended(mul_size(mul_size(queries->n, max_looks),
											 ECP_RECALL_FIRSTS * sizeof(float4)),
									MCXT_ALLOC_HUGE);
	for (int k = 0; k < ECP_CURVE_KS; k++)
	{
		EcpRecallPointData *points = curve->ecpm_points[k];

		ecp_recall_kinds_rows(queries, k, curve);
		points_mixes(queries, k, curve, mixes);
		points_of_k(&tries, k, points);
		for (int t = 0; t < ECP_CURVE_TARGETS; t++)
			elog(DEBUG1, "ecp recall curve: k %d, recall %g: slacks %g, %g, %g, %g and %g, %g clusters",
				 ecp_target_ks[k], ecp_target_levels[t], points[t].ecpm_slack[0],
				 points[t].ecpm_slack[1], points[t].ecpm_slack[2],
				 points[t].ecpm_slack[3], points[t].ecpm_slack[4],
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
