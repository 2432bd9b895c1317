/*-------------------------------------------------------------------------
 *
 * ecp_drift_recall.c
 *	  The present recall of an index, in one pass over its clusters.
 *
 * Random rows of the index are the queries, each searched for without itself.
 * Searches one after the other would read most of the index for each query, to
 * know what there was to find.  Here each cluster is read once:
 *
 *	 begin	descends for each query, which gives its clusters in the order of
 *			promise (the leader cache has the nodes)
 *	 add	compares the rows of a cluster with all queries that have it; of each
 *			query the nearest rows are kept, each with the place of its cluster
 *			in that order
 *	 at		a search that stops after n clusters knows the rows whose places
 *			are below n: this tells where it stops (ecp_stop.c), and what it has
 *			found by then
 *
 * Queries come from a few clusters, drawn by their numbers of rows, whose rows
 * are kept in memory until the pass is over: they are not read twice.
 *
 * With a quantiser, a scan sees estimates where exact ranks are used here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "ecp/look/ecp_look.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * Queries; clusters that they come from; and the share of
 * maintenance_work_mem, one in n, that the rows of these may take.
 */
#define DRIFT_QUERIES		256
#define DRIFT_SOURCES		128
#define DRIFT_SOURCES_SHARE	4

/*
 * Clusters that a search may read: up to DRIFT_CLUSTERS, or, if that is more,
 * DRIFT_DEPTH times the rule's for 0.95.
 */
#define DRIFT_CLUSTERS		4096
#define DRIFT_DEPTH			8

/* Clusters among which a row's own is looked for. */
#define DRIFT_OWN			256

/* One of the nearest rows, and the place of its cluster. */
typedef struct DriftRow
{
	float8		rank;
	int			place;
} DriftRow;

typedef struct DriftQuery
{
	ItemPointerData self;
	bool		misassigned;
	EcpQuery   *query;
	EcpPlace	place;
	int			nranks;
	float4	   *ranks;			/* of the leaders in the order of promise */
	DriftRow   *rows;			/* room for 2 * ECP_DRIFT_K_MOST; the nearest
								 * of all so far are among them */
	int			nrows;
	DriftRow	last;			/* rows behind it are not kept */
} DriftQuery;

/* A leaf that a query may read; all of them are sorted by "run". */
typedef struct DriftWanted
{
	uint64		run;			/* identity of the leaf */
	int			query;
	int			place;
} DriftWanted;

/* A leaf whose rows are kept. */
typedef struct DriftSource
{
	int			leaf;
	EcpLeafRows rows;
} DriftSource;

struct EcpDriftRecall
{
	MemoryContext context;
	Relation	index;
	EcpIndexState *state;
	pg_prng_state prng;
	int			depth;
	DriftQuery *queries;
	int			nqueries;
	DriftSource *sources;
	int			nsources;
	DriftWanted *wanted;
	Size		nwanted;
	Size		max_wanted;
	/* rows of the leaf that is being compared */
	uint32	   *factors[ECP_FACTORS_MAX];
	float8	   *ranks;
	uint32		max;			/* rows that there is room for */
};

/* ---- queries ---- */

/* Is a row strictly nearer to another cluster's leader than to its own's? */
static bool
query_is_misassigned(EcpDriftRecall *recall, const void *prepared, uint64 own)
{
	EcpDescent *descent;
	EcpClusterRef ref;
	float4		nearest = 0;
	float4		rank = 0;
	int			n = 0;

	if (recall->state->meta.ecpm_root_level == 0)
		return false;
	descent = ecp_descent_begin(recall->index, recall->state, prepared, true, 1);
	while (n < DRIFT_OWN && ecp_descent_next(descent, &ref))
	{
		if (ref.is_buffer)
			continue;
		if (n++ == 0)
			nearest = ref.rank;
		rank = ref.rank;
		if (ref.child.ecpc_run == own)
			break;
	}
	ecp_descent_end(descent);
	return rank > nearest;
}

static void
recall_want(EcpDriftRecall *recall, uint64 run, int query, int place)
{
	DriftWanted *wanted;

	if (recall->nwanted == recall->max_wanted)
	{
		recall->max_wanted *= 2;
		recall->wanted = repalloc_huge(recall->wanted,
									   mul_size(recall->max_wanted,
												sizeof(DriftWanted)));
	}
	wanted = &recall->wanted[recall->nwanted++];
	wanted->run = run;
	wanted->query = query;
	wanted->place = place;
}

/* Note the clusters of a query in the order of promise. */
static void
query_descend(EcpDriftRecall *recall, DriftQuery *query, const void *prepared)
{
	EcpMetaPageData *meta = &recall->state->meta;
	int			expected = Min(ecp_target_rule_probes(meta->ecpm_nleaves),
							   recall->depth);
	EcpDescent *descent = ecp_descent_begin(recall->index, recall->state,
											prepared, false, expected);
	EcpClusterRef ref;

	query->ranks = palloc(mul_size(recall->depth + 1, sizeof(float4)));
	while (ecp_descent_next(descent, &ref))
	{
		if (!ref.is_buffer)
		{
			/* the leader after the last cluster is needed, too */
			query->ranks[query->nranks++] = ref.rank;
			if (query->nranks > recall->depth)
				break;
		}
		recall_want(recall, ref.child.ecpc_run, recall->nqueries,
					Max(query->nranks - 1, 0));
	}
	ecp_descent_end(descent);
	ecp_place_set_ranks(&query->place, meta, prepared,
						query->nranks > 0 ? query->ranks[0] : 0,
						query->nranks > 0 ?
						query->ranks[Min(query->nranks, ECP_PLACE_LEADERS) - 1] : 0);
}

/* Take a row of a leaf as a query. */
static void
recall_take(EcpDriftRecall *recall, const EcpLeafRef *ref,
			const EcpLeafRows *rows, uint32 row)
{
	EcpMetaPageData *meta = &recall->state->meta;
	DriftQuery *query = &recall->queries[recall->nqueries];
	void	   *prepared = palloc(recall->state->node.vec_bytes +
								  ECP_KERNEL_SLACK);
	EcpElem		elem = EcpMetaQueryElem(meta);
	void	   *elements = palloc(ecp_vector_bytes(elem, meta->ecpm_dims));
	EcpVector	vector = {0};

	CHECK_FOR_INTERRUPTS();
	ecp_prepare_query(meta, rows->vectors +
					  (Size) row * recall->state->leaf.vec_bytes, elements);
	vector.elem = elem;
	vector.dims = meta->ecpm_dims;
	vector.data = elements;
	if (ecp_prepare(meta, &vector, prepared))
	{
		memset(query, 0, sizeof(DriftQuery));
		query->self = rows->tids[row];
		query->query = ecp_query_create(meta->ecpm_elem, meta->ecpm_metric,
										meta->ecpm_dims, vector.data);
		query->rows = palloc(mul_size(2 * ECP_DRIFT_K_MOST, sizeof(DriftRow)));
		query->last.rank = get_float8_infinity();
		query->misassigned = !ref->is_buffer &&
			query_is_misassigned(recall, prepared, ref->child.ecpc_run);
		query_descend(recall, query, prepared);
		recall->nqueries++;
	}
	pfree(elements);
	pfree(prepared);
}

/* Take n rows of a leaf, or all if there are no more. */
static void
recall_take_some(EcpDriftRecall *recall, const EcpLeafRef *ref,
				 const EcpLeafRows *rows, int n)
{
	uint32		left = Min((uint32) n, rows->nrows);

	/* each set of rows with the same probability */
	for (uint32 row = 0; row < rows->nrows && left > 0; row++)
	{
		if (pg_prng_uint64_range(&recall->prng, 1, rows->nrows - row) > left)
			continue;
		recall_take(recall, ref, rows, row);
		left--;
	}
}

/* Clusters to take queries from, so that their rows fit the memory. */
static int
recall_sources(const EcpDriftRecall *recall, const EcpLeaves *leaves,
			   double nrows)
{
	double		memory = maintenance_work_mem * 1024.0 / DRIFT_SOURCES_SHARE;
	double		rows = nrows / leaves->n * recall->state->leaf.vec_bytes;

	return (int) Max(Min(Min(DRIFT_SOURCES, leaves->n), memory / Max(rows, 1)), 1);
}

/*
 * Draw clusters by their numbers of rows, as the tree has them, evenly spaced
 * along the list of leaves, and take rows of them.
 */
static void
recall_draw(EcpDriftRecall *recall, const EcpLeaves *leaves)
{
	double		total = 0;
	double		seen = 0;
	double		next;
	double		step;
	int			nsources;
	int			nrows;

	/* a leaf that counts no rows yet may have some */
	for (int i = 0; i < leaves->n; i++)
		total += Max(leaves->refs[i].child.ecpc_nrows, 1);
	nsources = recall_sources(recall, leaves, total);
	nrows = (DRIFT_QUERIES + nsources - 1) / nsources;
	step = total / nsources;
	next = step * pg_prng_double(&recall->prng);
	recall->sources = palloc_array(DriftSource, nsources);
	for (int i = 0; i < leaves->n && recall->nsources < nsources; i++)
	{
		const EcpLeafRef *ref = &leaves->refs[i];
		DriftSource *source = &recall->sources[recall->nsources];
		int			n = 0;

		seen += Max(ref->child.ecpc_nrows, 1);
		for (; next < seen; next += step)
			n += nrows;
		n = Min(n, DRIFT_QUERIES - recall->nqueries);
		if (n <= 0)
			continue;
		source->leaf = i;
		ecp_leaf_read(recall->index, recall->state, ref,
					  ECP_LEAF_TIDS | ECP_LEAF_VECTORS, &source->rows);
		recall->nsources++;
		recall_take_some(recall, ref, &source->rows, n);
	}
}

static int
wanted_cmp(const void *a, const void *b)
{
	const DriftWanted *x = a;
	const DriftWanted *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return (x->query > y->query) - (x->query < y->query);
}

EcpDriftRecall *
ecp_drift_recall_begin(Relation index, EcpIndexState *state,
					   const EcpLeaves *leaves)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp drift",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	EcpDriftRecall *recall = palloc0(sizeof(EcpDriftRecall));
	uint32		nleaves = Max(state->meta.ecpm_nleaves, 1);

	Assert(leaves->n > 0);
	recall->context = context;
	recall->index = index;
	recall->state = state;
	recall->depth = (int) Min(Max(DRIFT_DEPTH * ecp_target_rule_probes(nleaves),
								  DRIFT_CLUSTERS), nleaves);
	pg_prng_seed(&recall->prng, state->meta.ecpm_seed);
	recall->queries = palloc_array(DriftQuery, DRIFT_QUERIES);
	recall->max_wanted = 1024;
	recall->wanted = palloc_array(DriftWanted, recall->max_wanted);
	recall_draw(recall, leaves);
	qsort(recall->wanted, recall->nwanted, sizeof(DriftWanted), wanted_cmp);
	MemoryContextSwitchTo(old);
	return recall;
}

void
ecp_drift_recall_end(EcpDriftRecall *recall)
{
	MemoryContextDelete(recall->context);
}

const EcpLeafRows *
ecp_drift_recall_kept(const EcpDriftRecall *recall, int leaf)
{
	for (int s = 0; s < recall->nsources; s++)
	{
		if (recall->sources[s].leaf == leaf)
			return &recall->sources[s].rows;
	}
	return NULL;
}

/* ---- the pass ---- */

/* Nearer first; of equally near rows, those that a search reads first. */
static int
row_cmp(const void *a, const void *b)
{
	const DriftRow *x = a;
	const DriftRow *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Keep the ECP_DRIFT_K_MOST nearest rows, in order. */
static void
query_cut(DriftQuery *query)
{
	qsort(query->rows, query->nrows, sizeof(DriftRow), row_cmp);
	if (query->nrows < ECP_DRIFT_K_MOST)
		return;
	query->nrows = ECP_DRIFT_K_MOST;
	query->last = query->rows[ECP_DRIFT_K_MOST - 1];
}

/* Compare a query with the rows of a leaf in this place of its order. */
static void
recall_compare(EcpDriftRecall *recall, DriftQuery *query, int place,
			   const EcpLeafRows *rows)
{
	ecp_query_rank_rows(query->query, rows->vectors,
						recall->state->leaf.vec_bytes,
						(const uint32 *const *) recall->factors, rows->nrows,
						recall->ranks);
	for (uint32 i = 0; i < rows->nrows; i++)
	{
		DriftRow	row = {recall->ranks[i], place};

		/* not ItemPointerEquals(): a TID of a damaged page may be invalid */
		if (isnan(row.rank) || row_cmp(&row, &query->last) >= 0 ||
			ItemPointerCompare(&rows->tids[i], &query->self) == 0)
			continue;
		query->rows[query->nrows++] = row;
		if (query->nrows == 2 * ECP_DRIFT_K_MOST)
			query_cut(query);
	}
}

/* Compute the factors of the rows of a leaf. */
static void
recall_set_factors(EcpDriftRecall *recall, const EcpLeafRows *rows)
{
	const EcpMetaPageData *meta = &recall->state->meta;
	int			nfactors = ecp_factors_count(meta->ecpm_elem, meta->ecpm_metric);

	if (rows->nrows > recall->max)
	{
		Size		room = add_size(rows->nrows, ECP_KERNEL_SLACK);

		recall->max = rows->nrows;
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			recall->factors[f] = MemoryContextAllocHuge(recall->context,
														mul_size(room, sizeof(uint32)));
		recall->ranks = MemoryContextAllocHuge(recall->context,
											   mul_size(room, sizeof(float8)));
	}
	for (uint32 i = 0; i < rows->nrows && nfactors > 0; i++)
	{
		uint32		factors[ECP_FACTORS_MAX] = {0};

		ecp_factors_compute(meta->ecpm_elem, meta->ecpm_metric, meta->ecpm_dims,
							rows->vectors + (Size) i * recall->state->leaf.vec_bytes,
							factors);
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			recall->factors[f][i] = factors[f];
	}
}

void
ecp_drift_recall_add(EcpDriftRecall *recall, const EcpLeafRef *ref,
					 const EcpLeafRows *rows)
{
	uint64		run = ref->child.ecpc_run;
	Size		low = 0;
	Size		high = recall->nwanted;

	while (low < high)
	{
		Size		middle = low + (high - low) / 2;

		if (recall->wanted[middle].run < run)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == recall->nwanted || rows->nrows == 0)
		return;
	recall_set_factors(recall, rows);
	for (; low < recall->nwanted && recall->wanted[low].run == run; low++)
	{
		CHECK_FOR_INTERRUPTS();
		recall_compare(recall, &recall->queries[recall->wanted[low].query],
					   recall->wanted[low].place, rows);
	}
}

/* ---- what searches find ---- */

/* Rank of the k-th row that a search has after n clusters, or infinity. */
static float8
query_kth(const DriftQuery *query, int n, int k)
{
	for (int r = 0; r < query->nrows; r++)
	{
		if (query->rows[r].place < n && --k == 0)
			return query->rows[r].rank;
	}
	return get_float8_infinity();
}

/* After how many clusters a search for k rows by this plan stops. */
static int
query_stop(const EcpDriftRecall *recall, const DriftQuery *query,
		   const EcpScanPlan *plan, int k)
{
	const EcpMetaPageData *meta = &recall->state->meta;
	EcpPlace	place = query->place;
	EcpQueryMix mix;
	double		slack;
	int			n = plan->least;

	if (!plan->adaptive)
		return plan->probes;
	ecp_place_set_kth(&place, meta, query_kth(query, plan->known, k));
	ecp_place_mix(&place, &meta->ecpm_curve, plan->rows, &mix);
	slack = ecp_mix_slack(&mix, plan->slack);
	while (n < query->nranks &&
		   !(ecp_stop_gap(&place, meta, query->ranks[n],
						  query_kth(query, n, k)) +
			 ecp_stop_advance(meta, n) >= slack))
		n = EcpLookNext(n);
	return n;
}

/* The share of the k nearest rows that the first n clusters have. */
static double
query_recall(const DriftQuery *query, int n, int k)
{
	int			wanted = Min(k, query->nrows);
	int			found = 0;

	/* rows as near as the k-th are as good */
	for (int r = 0; r < query->nrows && found < wanted &&
		 query->rows[r].rank <= query->rows[wanted - 1].rank; r++)
		found += query->rows[r].place < n;
	return (double) found / wanted;
}

double
ecp_drift_recall_at(const EcpDriftRecall *recall, int k, double *error)
{
	EcpScanPlan plan;
	double		sum = 0;
	double		squares = 0;
	int			n = 0;

	Assert(k > 0 && k <= ECP_DRIFT_K_MOST);
	ecp_target_plan(recall->index, &recall->state->meta, k, &plan);
	for (int q = 0; q < recall->nqueries; q++)
	{
		DriftQuery *query = &recall->queries[q];
		double		found;

		CHECK_FOR_INTERRUPTS();
		query_cut(query);
		if (query->nrows == 0)
			continue;
		found = query_recall(query, query_stop(recall, query, &plan, k), k);
		sum += found;
		squares += found * found;
		n++;
	}
	if (n == 0)
		return *error = get_float8_nan();
	sum /= n;
	*error = sqrt(Max(squares / n - sum * sum, 0) / n);
	return sum;
}

double
ecp_drift_recall_misassigned(const EcpDriftRecall *recall)
{
	int			n = 0;

	for (int q = 0; q < recall->nqueries; q++)
		n += recall->queries[q].misassigned;
	return recall->nqueries > 0 ? (double) n / recall->nqueries : 0;
}
