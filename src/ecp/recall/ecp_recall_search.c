/*-------------------------------------------------------------------------
 *
 * ecp_recall_search.c
 *	  RECALL: a search that notes what it would have found if it had stopped.
 *
 * It uses the gaps of src/ecp/search, but not ecp_search.c.  That reads the
 * metapage, which a build writes last, and keeps all rows of a window.  Here,
 * ecp_recall_pass.c reads clusters in the order of blocks, for many searches,
 * some of each at a time.  Of these, each search is given the rows nearer than the
 * last of the nearest before, with the numbers of their clusters in its own order.
 * In this order it adds them then, and checks itself where a scan would
 * (ecp_recall_search_replay()).
 *
 * So the notes do not depend on what is read together, and neither does where a
 * search ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/recall/ecp_recall_private.h"
#include "ecp/search/ecp_stop.h"
#include "storage/shmem.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * The nearest rows by exact distances, and that can make up for others as near.  Where
 * exact distances are read from pages of their own, they are fewer, and tell of
 * smaller ks only.
 */
#define SEARCH_EXACT_MOST	100
#define SEARCH_CODES_EXACT	10
#define SEARCH_SOME_K		2	/* number of the k that some rows tell of */

/*
 * How wide bounds by codes are.  Where a row's exact distance is not read, although
 * it is one of the nearest, the next takes its place, which is as likely to be in
 * any cluster: so these few stand for all.  From queries far away, where all rows are
 * about equally far, the usual width lets a quarter of them pass.
 */
#define SEARCH_CODE_EPS		1.0f

/*
 * Exact ranks are read only of so many times as many rows, those nearest by
 * estimate.  From queries far away, where all rows are about equally far, thousands
 * would have to be read.
 */
#define SEARCH_NEAR_TIMES	2
#define SEARCH_NEAR_LEAST	40

/* Room for rows and the like, at first. */
#define SEARCH_ROOM_MIN		256

/*
 * Ranks are the same if they differ by this share: those of the two rows half-way
 * between which a query is, but for rounding.
 */
#define SEARCH_SAME			1e-6

/* The gap before the next leader of a check, with a k-th row of this rank. */
static float4
search_gap(const EcpRecallCurve *curve, const EcpRecallSearch *search,
		   const EcpRecallCheck *check, float8 kth)
{
	if (isinf(check->next))
		return get_float4_infinity();
	return (float4) ecp_stop_gap(&search->notes->place, &curve->state->meta,
								 check->next, kth);
}

/* The rank of the (k - 1)-th nearest row so far; infinity if there are not so many. */
static float8
search_before_last(const EcpNearest *nearest)
{
	const EcpRanked *rows = nearest->rows;

	Assert(nearest->k > 2);
	if (nearest->n < nearest->k - 1)
		return get_float8_infinity();
	return nearest->n < nearest->k ? rows[0].rank : Max(rows[1].rank, rows[2].rank);
}

/* Set the gaps of a check by the nearest rows so far. */
static void
search_set_gaps(const EcpRecallCurve *curve, const EcpRecallSearch *search,
				EcpRecallCheck *check)
{
	for (int k = search->first_k; k < search->nks; k++)
	{
		const EcpNearest *seen = &search->seen[k];

		if (check->n == curve->known[k])
		{
			EcpPlace	place = search->notes->place;

			ecp_place_set_kth(&place, &curve->state->meta, seen->kth);
			search->notes->kth[k] = place.kth;
		}
		check->gap[EcpRecallCaseOf(k)] = search_gap(curve, search, check, seen->kth);
		if (k > 0)
			check->gap[EcpRecallCaseWithSelf(k)] =
				search_gap(curve, search, check,
						   search->self_cluster < check->n && search->share == 1 ?
						   search_before_last(seen) : seen->kth);
	}
}

/* Look at the search after search->n clusters. */
static void
search_check(const EcpRecallCurve *curve, EcpRecallSearch *search)
{
	EcpRecallCheck *check = &search->notes->checks[search->nchecks++];

	Assert(search->nchecks <= curve->max_checks);
	check->n = search->n;
	check->next = search->n < search->nrefs ? search->refs[search->n].rank :
		get_float4_infinity();
	search_set_gaps(curve, search, check);
}

/* Is there next to nothing to find after n clusters, for any k? */
static bool
search_is_done(const EcpRecallCurve *curve, const EcpRecallSearch *search, int n)
{
	const EcpRecallNotes *notes = search->notes;
	const EcpMetaPageData *meta = &curve->state->meta;
	double		advance = 0;

	for (int k = search->first_k; k < search->nks; k++)
	{
		float4		most = curve->sum_most[notes->class][k];
		float4		gap;

		if (isinf(most))
			return false;
		if (k == search->first_k)
			advance = ecp_stop_advance(meta, n);
		gap = (float4) ecp_stop_gap(&notes->place, meta, search->refs[n].rank,
									search->seen[k].kth);
		if (!(gap + advance > most))
			return false;
	}
	return true;
}

/*
 * Note the recall of a case at all checks: the share that each had of "wanted" rows,
 * any of the first n of "rows" and, unless that is nowhere, the row searched for.
 */
static void
search_note_case(const EcpRecallSearch *search, int c, const EcpRanked *rows,
				 int n, int wanted, int self_cluster)
{
	EcpRecallCheck *checks = search->notes->checks;
	int			nchecks = search->nchecks;
	int		   *came = palloc0(mul_size(nchecks, sizeof(int)));
	int			found = 0;

	for (int r = -1; r < n; r++)
	{
		int			cluster = r < 0 ? self_cluster : (int) rows[r].item;
		int			low = 0;
		int			high = nchecks;

		/* the first check after this cluster */
		while (low < high)
		{
			int			middle = (low + high) / 2;

			if (cluster < checks[middle].n)
				high = middle;
			else
				low = middle + 1;
		}
		if (low < nchecks)
			came[low]++;
	}
	for (int i = 0; i < nchecks; i++)
	{
		found += came[i];
		checks[i].recall[c] = (float4) Min(found, wanted) / Max(wanted, 1);
	}
	pfree(came);
}

/*
 * Note the recall of k number "k".  More nearest rows than SEARCH_EXACT_MOST are
 * those by what a scan would know: exact distances of so many take too long, and
 * hardly change where they are.
 */
static void
search_note_recall(EcpRecallSearch *search, int k)
{
	const EcpNearest *seen = &search->seen[k];
	const EcpNearest *truth = &search->truth;
	const EcpRanked *rows = truth->rows;
	bool		is_row = ItemPointerIsValid(&search->self) && search->share == 1;
	bool		is_exact = ecp_target_ks[k] <= truth->k;
	int			wanted = Min(seen->k, is_exact ? truth->n : seen->n);

	if (search->codes && search->first_k == 0 && k == SEARCH_SOME_K)
	{
		const EcpNearest *some = &search->some_truth;

		for (int with_self = 0; with_self <= 1; with_self++)
			search_note_case(search, EcpRecallCaseOf(k) + with_self, some->rows,
							 some->n, some->n, PG_INT32_MAX);
	}
	else if (!is_exact)
	{
		/* of a heap, the first is the farthest */
		search_note_case(search, EcpRecallCaseOf(k), seen->rows, seen->n, wanted,
						 PG_INT32_MAX);
		search_note_case(search, EcpRecallCaseWithSelf(k), seen->rows + is_row,
						 seen->n - is_row, wanted,
						 is_row ? search->self_cluster : PG_INT32_MAX);
	}
	for (int with_self = 0; with_self <= 1 && is_exact; with_self++)
	{
		bool		self = with_self && is_row && wanted > 1;
		int			n = wanted - self;

		/*
		 * Rows as near as the k-th are as good.  Of very many no more than
		 * belong to the answer: they would make up for nearer ones that are
		 * missed, and few queries tell of so many rows.
		 */
		while (n < Min(truth->n, SEARCH_EXACT_MOST) &&
			   rows[n].rank <= rows[wanted - self - 1].rank)
			n++;
		/* a query that is no row has the one case twice */
		search_note_case(search, EcpRecallCaseOf(k) + with_self, rows, n, wanted,
						 self ? search->self_cluster : PG_INT32_MAX);
	}
}

/*
 * The cases of a check where the nearest rows are not there.  Codes make the first
 * row's distance another, as a scan sees it: so much all of these differ.
 */
static void
search_note_firsts(const EcpRecallCurve *curve, const EcpRecallSearch *search,
				   EcpRecallCheck *check)
{
	const EcpRanked *rows = search->truth.rows;
	int			nrows = search->truth.n;
	float4		seen = check->gap[0];
	float4		first = 0;

	for (int f = 0; f < ECP_RECALL_FIRSTS; f++)
	{
		int			r = Min(f, nrows - 1);
		double		near = rows[r].rank + SEARCH_SAME * fabs(rows[r].rank);

		while (r < nrows && (int) rows[r].item >= check->n)
			r++;
		check->recall[f] = r < nrows && rows[r].rank <= near;
		check->gap[f] = search_gap(curve, search, check,
								   r < nrows ? rows[r].rank : get_float8_infinity());
		if (f == 0)
			first = check->gap[0];
		if (!isinf(seen) && !isinf(first))
			check->gap[f] += seen - first;
	}
}

/* The checks of the query after this search had ended: it would have found no more. */
static void
search_note_ended(const EcpRecallCurve *curve, const EcpRecallSearch *search)
{
	EcpRecallNotes *notes = search->notes;
	const EcpRecallCheck *last = &notes->checks[search->nchecks - 1];

	for (int i = search->nchecks; i < notes->nchecks; i++)
	{
		EcpRecallCheck *check = &notes->checks[i];

		search_set_gaps(curve, search, check);
		search_note_firsts(curve, search, check);
		for (int c = EcpRecallCaseOf(1); c < EcpRecallCaseOf(search->nks); c++)
			check->recall[c] = last->recall[c];
	}
}

void
ecp_recall_search_note(EcpRecallCurve *curve, EcpRecallSearch *search)
{
	EcpRecallNotes *notes = search->notes;
	int			nrows = search->truth.n;

	Assert(search->nchecks > 0);
	if (search->first_k == 0)
	{
		if (nrows == 0)
			return;
		ecp_ranked_sort(search->truth.rows, nrows);
		for (int i = 0; i < search->nchecks; i++)
			search_note_firsts(curve, search, &notes->checks[i]);
	}
	for (int k = Max(search->first_k, 1); k < search->nks; k++)
		search_note_recall(search, k);
	if (search->first_k == 0)
		search_note_ended(curve, search);
	notes->nchecks = Max(notes->nchecks, search->nchecks);
	notes->nks = Max(notes->nks, search->nks);
	notes->valid = search->first_k == 0;
}

/* ---- rows ---- */

void *
ecp_recall_room(void *array, int n, int *max, Size bytes)
{
	if (n < *max)
		return array;
	*max = Max(2 * *max, SEARCH_ROOM_MIN);
	bytes = mul_size(*max, bytes);
	return array == NULL ? palloc_extended(bytes, MCXT_ALLOC_HUGE) :
		repalloc_huge(array, bytes);
}

void
ecp_recall_search_add(EcpRecallSearch *search, const EcpRecallRow *row)
{
	search->rows = ecp_recall_room(search->rows, search->nrows, &search->rows_max,
								   sizeof(EcpRecallRow));
	search->rows[search->nrows++] = *row;
}

void
ecp_recall_search_exact(EcpRecallSearch *search, EcpRecallRow *row, float8 rank)
{
	row->bound = get_float4_infinity();
	search->truth.cluster = search->some_truth.cluster = row->cluster;
	ecp_nearest_add(&search->truth, rank);
	if (EcpRecallIsSome(search, row))
		ecp_nearest_add(&search->some_truth, rank);
}

bool
ecp_recall_search_wants(const EcpRecallSearch *search, const EcpRecallRow *row,
						bool first)
{
	bool		some = search->nks > SEARCH_SOME_K && EcpRecallIsSome(search, row);

	if (first)
		return row->rank <= search->truth_kth ||
			(some && row->rank <= search->some_seen.kth);
	return row->bound < search->truth.kth ||
		(some && row->bound < search->some_truth.kth);
}

/* Put the new rows in the order of their clusters, each as they came. */
static void
search_sort(EcpRecallSearch *search)
{
	EcpRecallRow *rows = search->rows + search->nkept;
	int			nrows = search->nrows - search->nkept;
	int			nclusters = search->upto - search->n;
	int		   *first;
	EcpRecallRow *sorted;

	if (nrows == 0)
		return;
	first = palloc0(mul_size(nclusters + 1, sizeof(int)));
	sorted = palloc_extended(mul_size(nrows, sizeof(EcpRecallRow)), MCXT_ALLOC_HUGE);
	for (int r = 0; r < nrows; r++)
		first[rows[r].cluster - search->n + 1]++;
	for (int c = 0; c < nclusters; c++)
		first[c + 1] += first[c];
	for (int r = 0; r < nrows; r++)
		sorted[first[rows[r].cluster - search->n]++] = rows[r];
	memcpy(rows, sorted, nrows * sizeof(EcpRecallRow));
	pfree(sorted);
	pfree(first);
}

/* The nearest so far, as a scan knows them. */
static void
search_see(EcpRecallSearch *search, const EcpRecallRow *row)
{
	for (int k = search->first_k; k < search->nks; k++)
	{
		search->seen[k].cluster = row->cluster;
		ecp_nearest_add(&search->seen[k], row->rank);
	}
	if (search->first_k > 0)
		return;
	if (search->codes)
	{
		search->near.cluster = row->cluster;
		ecp_nearest_add(&search->near, row->rank);
		if (search->nks <= SEARCH_SOME_K || !EcpRecallIsSome(search, row))
			return;
		search->some_seen.cluster = search->some_near.cluster = row->cluster;
		ecp_nearest_add(&search->some_seen, row->rank);
		ecp_nearest_add(&search->some_near, row->rank);
	}
	else
	{
		search->truth.cluster = row->cluster;
		ecp_nearest_add(&search->truth, row->rank);
	}
}

/* May the exact rank of a row be wanted? */
static bool
search_is_near(const EcpRecallSearch *search, const EcpRecallRow *row)
{
	return row->rank <= search->near.kth ||
		(search->nks > SEARCH_SOME_K && EcpRecallIsSome(search, row) &&
		 row->rank <= search->some_near.kth);
}

/* Keep those rows of clusters before n whose exact ranks may be wanted. */
static void
search_keep(EcpRecallSearch *search)
{
	bool		exact = search->codes && search->first_k == 0;
	int			n = 0;

	for (int r = 0; r < search->nrows && exact; r++)
		if (search->rows[r].cluster < search->n &&
			search_is_near(search, &search->rows[r]))
			search->rows[n++] = search->rows[r];
	search->nrows = search->nkept = n;
	search->limit = search->seen[search->nks - 1].kth;
	if (!exact)
		return;
	search->truth_kth = search->seen[Min(search->nks, SEARCH_SOME_K) - 1].kth;
	search->limit = Max(search->limit, search->near.kth);
	if (search->nks > SEARCH_SOME_K)
		search->limit = Max(search->limit, search->some_near.kth);
}

/* Note by how much the rows of a pass, none of which was left out, exceed their leaders. */
static void
search_note_excess(const EcpRecallCurve *curve, EcpRecallSearch *search)
{
	const EcpMetaPageData *meta = &curve->state->meta;
	EcpRecallExcess *excess = &search->notes->excess;

	for (int r = search->nkept; r < search->nrows; r++)
	{
		const EcpRecallRow *row = &search->rows[r];
		const EcpRecallRef *ref = &search->refs[row->cluster];
		double		radius = curve->clusters[ref->place].ecpc_radius;
		double		unit = ecp_stop_unit(&search->notes->place, meta, ref->rank, radius);
		double		square = ecp_stop_square(&search->notes->place, meta, row->rank);
		double		e = (square - ref->rank) / unit;
		double		s = radius * radius / unit;

		if (!(unit > 0))
			continue;
		excess->rows++;
		excess->ee += e * e;
		excess->es += e * s;
		excess->ss += s * s;
	}
}

void
ecp_recall_search_replay(EcpRecallCurve *curve, EcpRecallSearch *search)
{
	int			r = search->nkept;
	bool		last = search->all && search->upto == search->nrefs;

	Assert(search->n < search->upto && !search->done);
	if (search->nks == ECP_CURVE_KS && isinf(search->limit))
		search_note_excess(curve, search);
	search_sort(search);
	while (!search->done && search->n < search->upto)
	{
		search->n = Min(search->next_check, search->upto);
		for (; r < search->nrows && search->rows[r].cluster < search->n; r++)
			search_see(search, &search->rows[r]);
		if (search->n < search->next_check || search->n == search->nrefs)
			continue;
		search_check(curve, search);
		search->done = search->n >= search->depth ||
			search_is_done(curve, search, search->n);
		search->next_check = EcpCheckNext(search->n);
	}
	if (last && !search->done)
	{
		search_check(curve, search);
		search->done = true;
	}
	search_keep(search);
}

int
ecp_recall_search_end(const EcpRecallCurve *curve, const EcpRecallSearch *search,
					  int most)
{
	for (int n = search->next_check; n < most; n = EcpCheckNext(n))
		if (search_is_done(curve, search, n))
			return n;
	return most;
}

/* ---- begin ---- */

static void
search_nearest_init(EcpNearest *nearest, int k)
{
	nearest->k = k;
	nearest->rows = palloc(mul_size(k, sizeof(EcpRanked)));
	ecp_nearest_reset(nearest);
}

bool
ecp_recall_search_begin(EcpRecallCurve *curve, EcpRecallSearch *search)
{
	EcpMetaPageData *meta = &curve->state->meta;
	EcpVector	vector = {0};

	if (search->query == NULL)
	{
		vector.elem = EcpMetaQueryElem(meta);
		vector.dims = meta->ecpm_dims;
		vector.data = search->row;
		search->prepared = palloc(curve->state->node.vec_bytes);
		if (!ecp_prepare(meta, &vector, search->prepared))
			return false;
		search->query = ecp_query_create(meta->ecpm_elem, meta->ecpm_metric,
										 meta->ecpm_dims, search->row);
		if (curve->has_codes)
			search->codes = ecp_code_query_create(meta->ecpm_leader_elem,
												  meta->ecpm_metric,
												  meta->ecpm_dims,
												  meta->ecpm_rotation_seed,
												  search->prepared,
												  SEARCH_CODE_EPS,
												  curve->state->leaf.levels_bytes > 0,
												  meta->ecpm_curve.ecpm_norm);
	}
	search->done = false;
	search->self_cluster = PG_INT32_MAX;
	search->next_buffer = search->n = search->nchecks = 0;
	search->next_check = 1;
	search->nkept = search->nrows = 0;
	search->limit = get_float8_infinity();
	search->some = curve->share > 1 ? ECP_RECALL_SOME : 1;
	for (int k = search->first_k; k < search->nks; k++)
		search_nearest_init(&search->seen[k],
							Max(ecp_target_ks[k] / search->share, 1));
	if (search->first_k == 0)
	{
		int			k = search->codes ? SEARCH_CODES_EXACT :
			Min(ecp_target_ks[search->nks - 1], SEARCH_EXACT_MOST);
		int			some = ecp_target_ks[SEARCH_SOME_K] / search->some;

		search_nearest_init(&search->truth, k);
		search_nearest_init(&search->near,
							Max(SEARCH_NEAR_TIMES * k, SEARCH_NEAR_LEAST));
		search_nearest_init(&search->some_truth, some);
		search_nearest_init(&search->some_seen, some);
		search_nearest_init(&search->some_near, SEARCH_NEAR_TIMES * some);
	}
	return true;
}
