/*-------------------------------------------------------------------------
 *
 * ecp_recall_search.c
 *	  RECALL: a search that notes what it would have found if it had stopped.
 *
 * It uses the descent, the probe, the gaps and the exact vectors of
 * src/ecp/search, but not ecp_search.c.  That reads the metapage, which a build
 * writes last, and keeps all rows of a window.  Here each row is compared
 * with the last of the nearest so far, and few are kept.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/recall/ecp_recall_private.h"
#include "ecp/search/ecp_descent.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_stop.h"
#include "ecp/search/ecp_target.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* The nearest rows by exact distances, and that can make up for others as near. */
#define SEARCH_EXACT_MOST	100

/*
 * How wide bounds by codes are.  Where a row's exact distance is not read, although
 * it is one of the nearest, the next takes its place, which is as likely to be in
 * any cluster: so these few tell of all.  From queries far away, where all rows are
 * about equally far, the usual width lets a quarter of them pass.
 */
#define SEARCH_CODE_EPS		1.0f

/*
 * Ranks are the same if they differ by this share: those of the two rows half-way
 * between which a query is, but for rounding.
 */
#define SEARCH_SAME			1e-6

/* Is this the row that is searched for?  Then note where it was met. */
static inline bool
search_is_self(EcpRecallCurve *curve, ItemPointer tid)
{
	/* not ItemPointerEquals(): a TID of a damaged page may be invalid */
	if (!ItemPointerIsValid(&curve->self) ||
		ItemPointerCompare(tid, &curve->self) != 0)
		return false;
	curve->self_cluster = curve->truth.cluster;
	return true;
}

/* Note a row by what a scan would know of it. */
static inline void
search_see(EcpRecallCurve *curve, float8 rank)
{
	for (int k = 0; k < curve->nks; k++)
		ecp_nearest_add(&curve->seen[k], rank);
}

/* Rows of at least this rank are not among the nearest so far, of any k. */
static inline float8
search_most(const EcpRecallCurve *curve)
{
	return Max(curve->truth.kth, curve->seen[curve->nks - 1].kth);
}

/* Rows of a page by their codes. */
static void
search_codes(EcpRecallCurve *curve, const EcpProbeRun *run, Buffer buffer,
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
		if (!(bounds[i] < search_most(curve)))
			continue;
		if (!EcpSlotIsLive(view, i) ||
			search_is_self(curve, &view->tids[i]))
			continue;
		search_see(curve, ecp_code_estimate(margin, factors, i, bounds[i]));
		if (bounds[i] < curve->truth.kth)
			near[nnear++] = i;
	}
	UnlockReleaseBuffer(buffer);
	for (int i = 0; i < nnear; i++)
	{
		if (bounds[near[i]] < curve->truth.kth)
			ecp_nearest_add(&curve->truth,
							ecp_rerank_rank(&curve->rerank, number + near[i]));
	}
	pfree(near);
	pfree(bounds);
}

/* A row that is among the nearest so far. */
static void
search_row(EcpRecallCurve *curve, ItemPointer tid, float8 rank)
{
	if (search_is_self(curve, tid))
		return;
	search_see(curve, rank);
	ecp_nearest_add(&curve->truth, rank);
}

/* Rows in PARTS: those that cannot be among the nearest are left out. */
static void
search_parts(EcpRecallCurve *curve, const EcpEntryView *view, int n)
{
	const EcpGeometry *geo = &curve->state->leaf;

	for (int from = 0; from < n; from += 64)
	{
		uint64		word = view->live[from / 64] & EcpLowBits(n - from);

		word = ecp_query_pass_parts(curve->query,
									(const uint8 *) view->codes + from * geo->code_bytes,
									(const uint8 *) view->rest + from * geo->rest_bytes,
									geo->nfactors > 0 ? view->factors[0] + from : NULL, word,
									search_most(curve), curve->ranks);
		for (; word != 0; word &= word - 1)
		{
			int			i = pg_rightmost_one_pos64(word);

			if (curve->ranks[i] < search_most(curve))
				search_row(curve, &view->tids[from + i], curve->ranks[i]);
		}
	}
}

/* Callback of the probe, with each entry page. */
static void
search_page(void *arg, const EcpProbeRun *run, Buffer buffer,
			const EcpEntryView *view, uint32 first, int n)
{
	EcpRecallCurve *curve = arg;
	const EcpGeometry *geo = &curve->state->leaf;
	const uint32 *const *factors = (const uint32 *const *) view->factors;

	if (n > 0 && curve->codes)
	{
		search_codes(curve, run, buffer, view, first, n);
		return;
	}
	if (n > 0 && geo->parts)
	{
		search_parts(curve, view, n);
		UnlockReleaseBuffer(buffer);
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
		if (!(curve->ranks[i] < search_most(curve)))
			continue;
		if (EcpSlotIsLive(view, i))
			search_row(curve, &view->tids[i], curve->ranks[i]);
	}
	UnlockReleaseBuffer(buffer);
}

/* Smaller ranks first, and those that were read first. */
static int
search_compare(const void *a, const void *b)
{
	const EcpNearestRow *x = a;
	const EcpNearestRow *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->cluster > y->cluster) - (x->cluster < y->cluster);
}

/* The gap before the next leader of a look, with a k-th row of this rank. */
static float4
search_gap(const EcpRecallCurve *curve, const EcpRecallNotes *notes,
		   const EcpRecallLook *look, float8 kth)
{
	if (isinf(look->next))
		return get_float4_infinity();
	return (float4) ecp_stop_gap(&notes->place, &curve->state->meta, look->next,
								 kth);
}

/* The rank of the (k - 1)-th nearest row so far; infinity if there are not so many. */
static float8
search_before_last(const EcpNearest *nearest)
{
	const EcpNearestRow *rows = nearest->rows;

	Assert(nearest->k > 2);
	if (nearest->n < nearest->k - 1)
		return get_float8_infinity();
	return nearest->n < nearest->k ? rows[0].rank : Max(rows[1].rank, rows[2].rank);
}

/* Look at the search after n clusters. */
static void
search_look(EcpRecallCurve *curve, EcpRecallNotes *notes, int n)
{
	const EcpProbe *probe = &curve->probe;
	EcpRecallLook *look = &notes->looks[notes->nlooks++];

	Assert(notes->nlooks <= curve->max_looks);
	look->n = n;
	look->next = EcpProbeWaiting(probe) == 0 ? get_float4_infinity() :
		probe->refs[probe->next_ref].rank;
	for (int k = 0; k < notes->nks; k++)
	{
		const EcpNearest *seen = &curve->seen[k];

		look->gap[EcpRecallCaseOf(k)] = search_gap(curve, notes, look, seen->kth);
		if (k > 0)
			look->gap[EcpRecallCaseWithSelf(k)] =
				search_gap(curve, notes, look, curve->self_cluster < n ?
						   search_before_last(seen) : seen->kth);
	}
}

/*
 * Is there next to nothing to find after the last look, for any k?  Where many rows
 * are equally far away, there can be for few rows, but not for many.
 */
static bool
search_is_done(const EcpRecallCurve *curve, const EcpRecallNotes *notes)
{
	const EcpRecallLook *look = &notes->looks[notes->nlooks - 1];
	double		advance = ecp_stop_advance(&curve->state->meta, look->n);

	for (int k = 0; k < notes->nks; k++)
		if (!(look->gap[EcpRecallCaseOf(k)] + advance >
			  curve->sum_most[notes->kind][k]))
			return false;
	return true;
}

/*
 * Note the recall of a case at all looks: the share that each had of "wanted" rows,
 * any of the first n of "rows" and, unless that is nowhere, the row searched for.
 */
static void
search_note_case(EcpRecallNotes *notes, int c, const EcpNearestRow *rows, int n,
				 int wanted, int self_cluster)
{
	int		   *came = palloc0(mul_size(notes->nlooks, sizeof(int)));
	int			found = 0;

	for (int r = -1; r < n; r++)
	{
		int			cluster = r < 0 ? self_cluster : rows[r].cluster;
		int			low = 0;
		int			high = notes->nlooks;

		/* the first look after this cluster */
		while (low < high)
		{
			int			middle = (low + high) / 2;

			if (cluster < notes->looks[middle].n)
				high = middle;
			else
				low = middle + 1;
		}
		if (low < notes->nlooks)
			came[low]++;
	}
	for (int i = 0; i < notes->nlooks; i++)
	{
		found += came[i];
		notes->looks[i].recall[c] = (float4) Min(found, wanted) / Max(wanted, 1);
	}
	pfree(came);
}

/*
 * Note the recall of k number "k".  More nearest rows than SEARCH_EXACT_MOST are
 * those by what a scan would know: exact distances of so many take too long, and
 * hardly change where they are.
 */
static void
search_note_recall(EcpRecallCurve *curve, EcpRecallNotes *notes, int k)
{
	const EcpNearest *seen = &curve->seen[k];
	const EcpNearestRow *rows = curve->truth.rows;
	bool		is_row = ItemPointerIsValid(&curve->self);
	bool		is_exact = ecp_target_ks[k] <= curve->truth.k;
	int			wanted = Min(ecp_target_ks[k], is_exact ? curve->truth.n : seen->n);

	if (!is_exact)
	{
		/* of a heap, the first is the farthest */
		search_note_case(notes, EcpRecallCaseOf(k), seen->rows, seen->n, wanted,
						 PG_INT32_MAX);
		search_note_case(notes, EcpRecallCaseWithSelf(k), seen->rows + is_row,
						 seen->n - is_row, wanted,
						 is_row ? curve->self_cluster : PG_INT32_MAX);
		return;
	}
	for (int with_self = 0; with_self <= 1; with_self++)
	{
		bool		self = with_self && is_row && wanted > 1;
		int			n = wanted - self;

		/*
		 * Rows as near as the k-th are as good.  Of very many no more than
		 * belong to the answer: they would make up for nearer ones that are
		 * missed, and few queries tell of so many rows.
		 */
		while (n < Min(curve->truth.n, SEARCH_EXACT_MOST) &&
			   rows[n].rank <= rows[wanted - self - 1].rank)
			n++;
		/* a query that is no row has the one case twice */
		search_note_case(notes, EcpRecallCaseOf(k) + with_self, rows, n, wanted,
						 self ? curve->self_cluster : PG_INT32_MAX);
	}
}

/*
 * The cases of a look where the nearest rows are not there.  Codes make the first
 * row's distance another, as a scan sees it: so much all of these differ.
 */
static void
search_note_firsts(const EcpRecallCurve *curve, const EcpRecallNotes *notes,
				   EcpRecallLook *look)
{
	const EcpNearestRow *rows = curve->truth.rows;
	int			nrows = curve->truth.n;
	float4		seen = look->gap[0];
	float4		first = 0;

	for (int f = 0; f < ECP_RECALL_FIRSTS; f++)
	{
		int			r = Min(f, nrows - 1);
		double		near = rows[r].rank + SEARCH_SAME * fabs(rows[r].rank);

		while (r < nrows && rows[r].cluster >= look->n)
			r++;
		look->recall[f] = r < nrows && rows[r].rank <= near;
		look->gap[f] = search_gap(curve, notes, look,
								  r < nrows ? rows[r].rank : get_float8_infinity());
		if (f == 0)
			first = look->gap[0];
		if (!isinf(seen) && !isinf(first))
			look->gap[f] += seen - first;
	}
}

/* The search has ended: note how many of the nearest rows each look had. */
static void
search_note(EcpRecallCurve *curve, EcpRecallNotes *notes)
{
	int			nrows = curve->truth.n;

	qsort(curve->truth.rows, nrows, sizeof(EcpNearestRow), search_compare);
	for (int i = 0; i < notes->nlooks; i++)
		search_note_firsts(curve, notes, &notes->looks[i]);
	for (int k = 1; k < notes->nks; k++)
		search_note_recall(curve, notes, k);
	notes->valid = true;
}

/* Prepare to search for a query; false if that is not possible. */
static bool
search_begin(EcpRecallCurve *curve, const void *query, void *prepared)
{
	EcpMetaPageData *meta = &curve->state->meta;
	EcpVector	vector = {0};

	vector.elem = EcpMetaQueryElem(meta);
	vector.dims = meta->ecpm_dims;
	vector.data = query;
	if (!ecp_prepare(meta, &vector, prepared))
		return false;
	curve->query = ecp_query_create(meta->ecpm_elem, meta->ecpm_metric,
									meta->ecpm_dims, query);
	curve->codes = NULL;
	if (curve->state->leaf.quantizer != ECP_QUANTIZER_NONE)
	{
		curve->codes = ecp_code_query_create(meta->ecpm_leader_elem,
											 meta->ecpm_metric, meta->ecpm_dims,
											 meta->ecpm_rotation_seed, prepared,
											 SEARCH_CODE_EPS);
		ecp_rerank_reset(&curve->rerank);
		curve->rerank.query = curve->query;
	}
	curve->self_cluster = PG_INT32_MAX;
	curve->truth.k = Min(ecp_target_ks[curve->nks - 1], SEARCH_EXACT_MOST);
	ecp_nearest_reset(&curve->truth);
	for (int k = 0; k < ECP_CURVE_KS; k++)
		ecp_nearest_reset(&curve->seen[k]);
	ecp_probe_init(&curve->probe);
	if (!curve->prefetch)
		curve->probe.prefetch = 0;
	return true;
}

/* Search for a vector, and keep notes; in the context of the query. */
static void
search_run(EcpRecallCurve *curve, EcpQueryKind kind, const void *row)
{
	EcpRecallNotes *notes = EcpRecallNotesOf(&curve->queries, curve->queries.n);
	EcpProbe   *probe = &curve->probe;
	EcpMetaPageData *meta = &curve->state->meta;
	int			expected = Min(ecp_target_rule_probes(meta->ecpm_nleaves),
							   curve->depth);
	void	   *prepared = palloc(curve->state->node.vec_bytes);
	EcpDescent *descent;
	int			look = 1;
	int			n = 0;

	Assert(curve->queries.n < curve->max_queries);
	notes->kind = kind;
	notes->nks = curve->nks;
	notes->nlooks = 0;
	notes->valid = false;
	if (!search_begin(curve, row, prepared))
		return;
	descent = ecp_descent_begin(probe->index, curve->state, prepared, false,
								expected);
	(void) ecp_probe_take(probe, descent, Max(expected, ECP_PLACE_LEADERS) + 1);
	ecp_place_set(&notes->place, meta, prepared, probe->refs,
				  EcpProbeWaiting(probe));
	for (;;)
	{
		if (EcpProbeWaiting(probe) == 0)
			(void) ecp_probe_take(probe, descent, n);
		if (EcpProbeWaiting(probe) == 0)
			break;
		if (!EcpProbeAtBuffer(probe))
		{
			if (n == look)
			{
				search_look(curve, notes, n);
				if (n >= curve->depth || search_is_done(curve, notes))
					break;
				look = EcpLookNext(n);
			}
			curve->truth.cluster = n;
			for (int k = 0; k < ECP_CURVE_KS; k++)
				curve->seen[k].cluster = n;
			n++;
		}
		ecp_probe_next(probe);
	}
	ecp_descent_end(descent);
	if (curve->truth.n == 0)
		return;
	if (notes->nlooks == 0 || notes->looks[notes->nlooks - 1].n < n)
		search_look(curve, notes, n);
	search_note(curve, notes);
	curve->queries.n++;
}

void
ecp_recall_search(EcpRecallCurve *curve, EcpQueryKind kind, const void *row,
				  ItemPointer self)
{
	MemoryContext old;

	Assert(row != NULL);
	CHECK_FOR_INTERRUPTS();
	ItemPointerSetInvalid(&curve->self);
	if (self)
		curve->self = *self;
	old = MemoryContextSwitchTo(curve->query_context);
	search_run(curve, kind, row);
	MemoryContextSwitchTo(old);
	MemoryContextReset(curve->query_context);
}

static void
search_nearest_init(EcpNearest *nearest, int k)
{
	nearest->k = k;
	nearest->rows = palloc(mul_size(k, sizeof(EcpNearestRow)));
}

/* Allocate what searches need, in the current memory context. */
void
ecp_recall_search_init(EcpRecallCurve *curve)
{
	const EcpIndexState *state = curve->state;

	curve->probe.state = state;
	curve->probe.page = search_page;
	curve->probe.page_arg = curve;
	ecp_probe_init(&curve->probe);
	if (state->leaf.quantizer != ECP_QUANTIZER_NONE)
		ecp_rerank_init(&curve->rerank, &curve->probe);
	search_nearest_init(&curve->truth, SEARCH_EXACT_MOST);
	for (int k = 0; k < ECP_CURVE_KS; k++)
		search_nearest_init(&curve->seen[k], ecp_target_ks[k]);
	curve->ranks = palloc((state->leaf.slots + ECP_KERNEL_SLACK) * sizeof(float8));
}
