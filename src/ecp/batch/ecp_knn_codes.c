/*-------------------------------------------------------------------------
 *
 * ecp_knn_codes.c
 *	  Many queries at once: clusters with codes in place of vectors.
 *
 * What a scan does with codes is done here for many queries.  A page of codes
 * that was read gives each query that wants its cluster bounds and estimates of
 * the rows' ranks.  The estimates go to the query's heap, by which is decided
 * where its scan would stop (ecp_knn_look.c).  The rows with the smallest bounds
 * are kept in a heap of their own with the places of their vectors, and in the
 * end go through the scans' EcpRerank: so the rows that it returns are the
 * scan's, also where a bound is wrong.
 *
 * If a row that was not kept might come next, fewer rows are returned; then a
 * query that needs more is left to a scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/topk.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_tid.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_codes.h"

/* Queries whose vectors are prefetched together, and how many of each. */
#define CODES_TOGETHER		256
#define CODES_AHEAD(knn)	(2 * (knn)->plan->keep)

/* ---- the smallest bounds ---- */

/* In a scan's order: of equal bounds, that of the row read first. */
static inline bool
code_is_less(const EcpKnnCode *a, const EcpKnnCode *b)
{
	int			x = EcpKnnItemRef(a->item);
	int			y = EcpKnnItemRef(b->item);

	if (a->bound != b->bound)
		return a->bound < b->bound;
	return x < y || (x == y && a->row < b->row);
}

#define ST_SORT codes_sort
#define ST_ELEMENT_TYPE EcpKnnCode
#define ST_COMPARE(a, b) (code_is_less(a, b) ? -1 : code_is_less(b, a))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT blocks_sort
#define ST_ELEMENT_TYPE BlockNumber
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Add a row to a query's heap, whose root is the worst of the best. */
static void
code_push(EcpKnnQuery *query, EcpKnnCode *codes, int room,
		  const EcpKnnCode *code)
{
	int			i;

	SpinLockAcquire(&query->mutex);
	if (query->ncodes < room)
	{
		i = query->ncodes++;
		while (i > 0 && code_is_less(&codes[(i - 1) / 2], code))
		{
			codes[i] = codes[(i - 1) / 2];
			i = (i - 1) / 2;
		}
		codes[i] = *code;
	}
	else if (code_is_less(code, &codes[0]))
	{
		for (i = 0; 2 * i + 1 < room;)
		{
			int			child = 2 * i + 1;

			if (child + 1 < room && code_is_less(&codes[child], &codes[child + 1]))
				child++;
			if (!code_is_less(code, &codes[child]))
				break;
			codes[i] = codes[child];
			i = child;
		}
		codes[i] = *code;
	}
	if (query->ncodes == room)
		query->code_bound = codes[0].bound;
	SpinLockRelease(&query->mutex);
}

/* ---- pages of codes ---- */

/* A query in the form that codes are compared with. */
static const EcpCodeQuery *
codes_prepared(EcpKnn *knn, uint32 q)
{
	const EcpKnnPlan *plan = knn->plan;
	const EcpMetaPageData *meta = &plan->state.meta;
	EcpCodeQuery **codes = &knn->prepared.codes[q];

	if (*codes == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(knn->prepared.context);
		void	   *prepared = palloc(plan->state.node.vec_bytes);
		bool		all = plan->scan.probes >= meta->ecpm_nleaves;

		(void) ecp_knn_prepare(knn, q, prepared);
		*codes = ecp_code_query_create(meta->ecpm_leader_elem,
									   meta->ecpm_metric, meta->ecpm_dims,
									   meta->ecpm_rotation_seed, prepared,
									   all ? ECP_CODE_EPS_WIDE : ECP_CODE_EPS);
		pfree(prepared);
		MemoryContextSwitchTo(old);
	}
	return *codes;
}

/* Offer rows from + i of a block, where bit i of "word" is set, to a query. */
static void
codes_offer(EcpKnn *knn, const EcpKnnPair *pair, const EcpKnnBlock *block,
			int from, uint64 word, const float4 *bounds,
			const uint32 *const *factors, EcpCodeMargin margin)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnQuery *query = &knn->queries[pair->query];
	uint64		ref = EcpKnnRefItem(pair->ref);

	for (; word != 0; word &= word - 1)
	{
		int			i = pg_rightmost_one_pos64(word);
		uint64		item = ecp_tid_item(&block->tids[from + i]) | ref;

		if (plan->scan.adaptive && bounds[i] < query->bound)
		{
			float4		estimate = ecp_code_estimate(margin, factors, i, bounds[i]);

			if (estimate < query->bound)
				ecp_knn_compare_push(query, ecp_knn_heap(knn, pair->query),
									 plan->room, estimate, item);
		}
		if (!(bounds[i] > query->code_bound))
		{
			EcpKnnCode	code;

			/* on overflow the exact rank is to be read */
			code.bound = isnan(bounds[i]) ? -get_float4_infinity() : bounds[i];
			code.row = block->row + from + i;
			code.item = item;
			code.place = block->place;
			code.place.slot += from + i;
			code_push(query, ecp_knn_codes(knn, pair->query), plan->code_room,
					  &code);
		}
	}
}

/* Compare a query with a page of codes. */
static void
codes_compare_block(EcpKnn *knn, const EcpKnnPair *pair,
					const EcpKnnBlock *block)
{
	const EcpKnnPlan *plan = knn->plan;
	const EcpCodeQuery *codes = codes_prepared(knn, pair->query);
	const EcpKnnQuery *query = &knn->queries[pair->query];
	float4		leader_rank = plan->state.meta.ecpm_root_level > 0 ?
		ecp_knn_refs(knn, pair->query)[pair->ref].rank :
		ecp_code_query_origin(codes);
	EcpCodeMargin margin = ecp_code_query_margin(codes, leader_rank);

	for (int from = 0; from < block->n; from += 64)
	{
		int			count = Min(block->n - from, 64);
		float8		limit = query->code_bound;
		uint64		word = 0;
		float4		bounds[64];
		const uint32 *factors[ECP_CODE_FACTORS];

		if (plan->scan.adaptive)
			limit = Max(limit, query->bound);
		if (block->live[from / 64] == 0)
			continue;
		for (int f = 0; f < ECP_CODE_FACTORS; f++)
			factors[f] = block->factors[f] + from;
		ecp_code_query_bounds(codes, leader_rank,
							  (const uint8 *) block->rows + from * block->stride,
							  factors, count, bounds);
		for (int i = 0; i < count; i++)
			word |= (uint64) !(bounds[i] > limit) << i;
		codes_offer(knn, pair, block, from, word & block->live[from / 64],
					bounds, factors, margin);
	}
}

/* Compare these queries with these pages. */
void
ecp_knn_codes_compare(EcpKnn *knn, const EcpKnnBlock *blocks, int nblocks,
					  const EcpKnnPair *pairs, int npairs)
{
	Assert(knn->plan->code_room > 0);
	for (int i = 0; i < npairs; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int b = 0; b < nblocks; b++)
			codes_compare_block(knn, &pairs[i], &blocks[b]);
	}
}

/* ---- exact ranks ---- */

/* Forget rows of clusters that a query's scan does not read; sort the others. */
static void
codes_forget(EcpKnn *knn, uint32 q)
{
	EcpKnnQuery *query = &knn->queries[q];
	EcpKnnCode *codes = ecp_knn_codes(knn, q);
	int			n = 0;

	for (int i = 0; i < query->ncodes; i++)
	{
		if (EcpKnnItemRef(codes[i].item) < query->end)
			codes[n++] = codes[i];
	}
	codes_sort(codes, n);
	query->ncodes = n;
}

/* Set the rows that a scan returns first, if the others were not kept. */
static void
codes_rerank(EcpKnn *knn, uint32 q, EcpRerank *rerank, EcpTopk *bounds)
{
	const EcpKnnPlan *plan = knn->plan;
	EcpKnnQuery *query = &knn->queries[q];
	const EcpKnnCode *codes = ecp_knn_codes(knn, q);
	EcpRanked  *heap = ecp_knn_heap(knn, q);
	float8		last = -get_float8_infinity();
	EcpRanked  *items;
	EcpRanked	row;

	rerank->query = ecp_knn_compare_prepared(knn, q);
	ecp_rerank_reset(rerank);
	ecp_topk_reset(bounds, 2 * plan->keep);
	items = ecp_topk_room(bounds, query->ncodes);
	for (int i = 0; i < query->ncodes; i++)
	{
		EcpProbeRun run = {0};
		ItemPointerData tid;

		ecp_tid_from_item(knn->index, codes[i].item & ECP_KNN_TID_MASK, &tid);
		run.blk = codes[i].place.blk;
		run.run = codes[i].place.run;
		run.header.ecpr_entry_pages = codes[i].place.entry_pages;
		items[i].rank = codes[i].bound;
		items[i].item = ecp_rerank_add_page(rerank, &run, codes[i].place.slot, 1,
											&tid);
	}
	ecp_topk_added(bounds, query->ncodes);

	query->nheap = 0;
	while (query->nheap < plan->keep && ecp_rerank_take(rerank, bounds, &row))
	{
		/* a row that was not kept may be nearer */
		if (row.rank > query->code_bound)
			break;
		if (row.rank < last && ecp_iterative_scan != ECP_ITERATIVE_RELAXED)
			continue;
		last = row.rank;
		heap[query->nheap++] = row;
	}
}

/* Prefetch the vectors that are most likely to be read, in the order of blocks. */
static void
codes_prefetch(EcpKnn *knn, int first, int end, BlockNumber *blocks)
{
	int			n = 0;

	for (int q = first; q < end; q++)
	{
		const EcpKnnCode *codes = ecp_knn_codes(knn, q);

		for (int i = 0; i < Min(knn->queries[q].ncodes, CODES_AHEAD(knn)); i++)
		{
			const EcpKnnPlace *place = &codes[i].place;
			uint32		pageno;
			uint32		offset;

			ecp_geometry_stream_position(&knn->plan->state.leaf,
										 place->entry_pages, place->slot,
										 &pageno, &offset);
			blocks[n++] = place->blk + pageno;
		}
	}
	blocks_sort(blocks, n);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || blocks[i] != blocks[i - 1])
			ecp_probe_prefetch(knn->index, blocks[i], 1);
	}
}

/* Set the candidates of queries first .. end - 1, whose clusters were read. */
void
ecp_knn_codes_rerank(EcpKnn *knn, int first, int end)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp batch rerank",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	BlockNumber *blocks = palloc(mul_size(Min(end - first, CODES_TOGETHER),
										  CODES_AHEAD(knn) * sizeof(BlockNumber)));
	EcpProbe	probe = {0};
	EcpRerank	rerank;
	EcpTopk		bounds;

	Assert(first >= 0 && end <= knn->shared->nqueries);
	probe.index = knn->index;
	probe.state = &knn->plan->state;
	probe.snapshot = knn->snapshot;
	ecp_probe_init(&probe);
	ecp_rerank_init(&rerank, &probe);
	ecp_topk_init(&bounds, context, 1);
	for (int q = first; q < end; q++)
	{
		CHECK_FOR_INTERRUPTS();
		if ((q - first) % CODES_TOGETHER == 0)
		{
			int			together = Min(end - q, CODES_TOGETHER);

			for (int i = q; i < q + together; i++)
				codes_forget(knn, i);
			if (probe.prefetch > 0 && ecp_probe_is_cold())
				codes_prefetch(knn, q, q + together, blocks);
		}
		if (knn->queries[q].ncodes > 0)
			codes_rerank(knn, q, &rerank, &bounds);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
