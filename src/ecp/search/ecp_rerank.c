/*-------------------------------------------------------------------------
 *
 * ecp_rerank.c
 *	  SEARCH: rows in the order of their exact ranks, where what was read of them
 *	  is codes; and what is read of the table.
 *
 * Codes give each row a lower bound of its rank (vector_codes.h).  Rows wait
 * in the order of these; a row is returned when its exact rank is known and
 * no bound is below it.  So exact vectors are read only for rows whose bound is
 * below the rank of the last row returned: 20 to 50 for ten rows of a few
 * thousand.
 *
 *	 ecp_rerank_add_page()	rows of an entry page get numbers
 *	 EcpTopk				{bound, number}, filled by ecp_candidates.c
 *	 ecp_rerank_rank()		number -> vector page -> exact rank
 *	 "exact" heap			{rank, TID}
 *
 * An index-only scan needs the entries of the rows that it returns: then rows
 * are identified by numbers instead of TIDs, also without codes, and the entry
 * page is read again.
 *
 * The vector of a row is read some time after its code.  Its slot may have
 * been freed and filled again meanwhile, but only if no snapshot can see the
 * row any more; then neither can ours see the new one, whose vector we get.
 *
 * An index with codes of four bits has no exact vectors: they are in the rows of the
 * table, and rows are identified by their TIDs.  Codes of four bits estimate ranks
 * well: for the ten nearest rows, 12 or 13 are fetched here.  The executor fetches
 * those that are returned once more, from pages that are in the processor's cache
 * then.  We fetch what the executor would: the version of the row that the scan's
 * snapshot sees, along a HOT chain, in which the indexed column does not change.  As
 * for any index, the TID is still that of the row whose code was read: if VACUUM has
 * freed it meanwhile, the snapshot did not see the old row, and does not see a new
 * one, which was inserted later.  A row that is not visible is left out, here instead
 * of in the executor.
 *
 * In an index on an expression, the vector's expression alone is computed, by the
 * table's owner, as maintenance does it: the user who runs the query need not have
 * written it there, nor may run what a function's owner has made of it since.
 *
 * The nearest rows are anywhere in the table, and the executor fetches them one after
 * the other, each time waiting for the device, or for memory: the buffer table, the
 * buffer's descriptor, the page, the row.  A search knows the next rows beforehand.
 * PrefetchBuffer() starts reading a page that is not in shared buffers; of one that
 * is, it returns the buffer, and what the executor will need is fetched into the
 * processor's cache.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "base/core.h"
#include "base/topk.h"
#include "base/user_index.h"
#include "catalog/pg_am_d.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/shmem.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* How many rows ahead to fetch vectors into the processor's cache. */
#define RERANK_WARM		3

/* How many rows ahead to prefetch from the device, at most. */
#define RERANK_PAGES_AHEAD	16

/* Vectors to go on prefetching for, after one that was not in shared buffers. */
#define RERANK_COLD		64

#define RERANK_ROWS_MIN		1024
#define RERANK_PAGES_MIN	64

/* Vectors to go on prefetching for; shared by all indexes of the backend */
static int	rerank_cold;

typedef struct EcpExactRow
{
	pairingheap_node node;
	EcpRanked	row;			/* item = TID */
	struct EcpExactRow *next;	/* unused one */
} EcpExactRow;

/* ---- vectors that only the table has ---- */

struct EcpTableRow
{
	IndexScanDesc scan;
	MemoryContext scan_context;
	BlockNumber heap_blocks;	/* of the table at least; 0 = not known */
	AttrNumber	column;			/* 0 = an expression */
	ExprState  *expression;		/* if it is one */
	EState	   *estate;
	TupleTableSlot *slot;		/* NULL before the first row */
	MemoryContext context;		/* of one row */
};

/* Nothing but this struct before the first row is asked for. */
EcpTableRow *
ecp_table_row_create(IndexScanDesc scan)
{
	EcpTableRow *row = palloc0(sizeof(EcpTableRow));

	row->scan = scan;
	row->scan_context = CurrentMemoryContext;
	return row;
}

static void
row_open(EcpTableRow *row)
{
	Relation	index = row->scan->indexRelation;
	MemoryContext old = MemoryContextSwitchTo(row->scan_context);

	Assert(row->scan->heapRelation != NULL);
	row->column = index->rd_index->indkey.values[0];
	row->context = AllocSetContextCreate(CurrentMemoryContext, "ecp table row",
										 ALLOCSET_DEFAULT_SIZES);
	if (row->column == 0)
	{
		EcpCaller	caller;

		row->estate = CreateExecutorState();
		ecp_become_owner(&caller, row->scan->heapRelation);
		row->expression = ExecPrepareExpr(linitial(RelationGetIndexExpressions(index)),
										  row->estate);
		ecp_become_caller(&caller);
	}
	row->slot = table_slot_create(row->scan->heapRelation, NULL);
	MemoryContextSwitchTo(old);
}

void
ecp_table_row_free(EcpTableRow *row)
{
	if (row->slot)
	{
		ExecDropSingleTupleTableSlot(row->slot);
		MemoryContextDelete(row->context);
		if (row->estate)
			FreeExecutorState(row->estate);
	}
	pfree(row);
}

/* The value that the row in the slot has in the index. */
static Datum
row_value(EcpTableRow *row, bool *isnull)
{
	EcpCaller	caller;
	ExprContext *econtext;
	Datum		value;

	if (row->column != 0)
		return slot_getattr(row->slot, row->column, isnull);
	econtext = GetPerTupleExprContext(row->estate);
	econtext->ecxt_scantuple = row->slot;
	ecp_become_owner(&caller, row->scan->heapRelation);
	value = ExecEvalExprSwitchContext(row->expression, econtext, isnull);
	ecp_become_caller(&caller);
	return value;
}

/* The rank of the row in the slot; false if it has no vector. */
static bool
row_rank(EcpTableRow *row, const EcpMetaPageData *meta, const EcpQuery *query,
		 float8 *rank)
{
	uint32		factors[ECP_FACTORS_MAX];
	const uint32 *const factor[ECP_FACTORS_MAX] = {&factors[0], &factors[1]};
	EcpVector	vector;
	bool		isnull;
	Datum		value = row_value(row, &isnull);

	StaticAssertStmt(ECP_FACTORS_MAX == 2, "factors of a row");
	if (isnull)
		return false;
	ecp_vector_read(value, meta->ecpm_column_type, &vector);
	ecp_vector_check_dims(&vector, meta->ecpm_dims,
						  RelationGetRelationName(row->scan->indexRelation));
	ecp_factors_compute(vector.elem, meta->ecpm_metric, vector.dims, vector.data,
						factors);
	ecp_query_rank_rows(query, vector.data, 0, factor, 1, rank);
	return true;
}

/*
 * The rank of the row with the TID of an EcpRanked's item; false if the scan's
 * snapshot does not see it.
 */
static bool
row_fetch_rank(EcpTableRow *row, const EcpMetaPageData *meta, uint64 item,
			   const EcpQuery *query, float8 *rank)
{
	IndexScanDesc scan = row->scan;
	ItemPointerData tid = scan->xs_heaptid;
	MemoryContext old;
	bool		found;

	if (row->slot == NULL)
		row_open(row);
	ecp_tid_from_item(scan->indexRelation, item, &scan->xs_heaptid);
	ecp_tid_check(scan->indexRelation, scan->heapRelation, &scan->xs_heaptid,
				  &row->heap_blocks);
	/* it moves the TID along a HOT chain */
	found = index_fetch_heap(scan, row->slot);
	scan->xs_heaptid = tid;
	if (!found)
		return false;

	old = MemoryContextSwitchTo(row->context);
	found = row_rank(row, meta, query, rank);
	MemoryContextSwitchTo(old);
	MemoryContextReset(row->context);
	if (row->estate)
		ResetPerTupleExprContext(row->estate);
	ExecClearTuple(row->slot);
	return found;
}

/* ---- exact ranks ---- */

/* The smallest rank first, as the first in a pairing heap is the largest. */
static int
rerank_compare(const pairingheap_node *a, const pairingheap_node *b, void *arg)
{
	const EcpRanked *x = &pairingheap_const_container(EcpExactRow, node, a)->row;
	const EcpRanked *y = &pairingheap_const_container(EcpExactRow, node, b)->row;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return x->item < y->item ? 1 : x->item > y->item ? -1 : 0;
}

/*
 * In the current memory context, in which it lives.  Before its use comes
 * ecp_rerank_reset().
 */
void
ecp_rerank_init(EcpRerank *rerank, EcpProbe *probe)
{
	memset(rerank, 0, sizeof(EcpRerank));
	rerank->probe = probe;
	rerank->context = CurrentMemoryContext;
	rerank->exact = pairingheap_allocate(rerank_compare, NULL);
}

/* Forget all rows, and prepare for those of probe->state. */
void
ecp_rerank_reset(EcpRerank *rerank)
{
	uint32		vec_bytes = rerank->probe->state->leaf.vec_bytes;

	Assert(vec_bytes > 0);
	if (rerank->vec_bytes_max < vec_bytes)
	{
		if (rerank->vector)
			pfree(rerank->vector);
		rerank->vector = MemoryContextAlloc(rerank->context,
											vec_bytes + ECP_KERNEL_SLACK);
		rerank->vec_bytes_max = vec_bytes;
	}
	while (!pairingheap_is_empty(rerank->exact))
	{
		EcpExactRow *exact =
			pairingheap_container(EcpExactRow, node,
								  pairingheap_remove_first(rerank->exact));

		exact->next = rerank->unused;
		rerank->unused = exact;
	}
	rerank->nexact = rerank->nrows = rerank->reranked = 0;
	rerank->npages = 0;
}

static void
rerank_enlarge(EcpRerank *rerank, int n)
{
	MemoryContext old = MemoryContextSwitchTo(rerank->context);

	if (rerank->nrows + n > rerank->rows_max)
	{
		uint64		max = Max(rerank->rows_max * 2, RERANK_ROWS_MIN);
		Size		bytes;

		max = Max(max, rerank->nrows + n);
		bytes = mul_size(max, sizeof(ItemPointerData));
		if (rerank->tids)
			rerank->tids = repalloc_huge(rerank->tids, bytes);
		else
			rerank->tids = palloc_extended(bytes, MCXT_ALLOC_HUGE);
		rerank->rows_max = max;
	}
	if (rerank->npages == rerank->pages_max)
	{
		int			max = Max(rerank->pages_max * 2, RERANK_PAGES_MIN);
		Size		bytes = mul_size(max, sizeof(EcpCodePage));

		if (rerank->pages)
			rerank->pages = repalloc_huge(rerank->pages, bytes);
		else
			rerank->pages = palloc(bytes);
		rerank->pages_max = max;
	}
	MemoryContextSwitchTo(old);
}

/*
 * Give numbers to n slots of an entry page, whose first is "slot" of the run.
 * Returns the first number; the others follow it.
 */
uint64
ecp_rerank_add_page(EcpRerank *rerank, const EcpProbeRun *run, uint32 slot,
					int n, const ItemPointerData *tids)
{
	uint64		first = rerank->nrows;
	EcpCodePage *page;

	Assert(n > 0 && n <= rerank->probe->state->leaf.slots);
	if (first + n > rerank->rows_max || rerank->npages == rerank->pages_max)
		rerank_enlarge(rerank, n);
	page = &rerank->pages[rerank->npages++];
	page->first = first;
	page->blk = run->blk;
	page->run = run->run;
	page->vector_page = EcpRunVectorPage(&rerank->probe->state->leaf, &run->header);
	page->slot = slot;
	page->recent = run->recent;
	page->nrecent = run->nrecent;
	memcpy(rerank->tids + first, tids, n * sizeof(ItemPointerData));
	rerank->nrows += n;
	return first;
}

/* The entry page on which row "number" was. */
static const EcpCodePage *
rerank_page(const EcpRerank *rerank, uint64 number)
{
	int			low = 0;
	int			high = rerank->npages - 1;

	Assert(number < rerank->nrows);
	while (low < high)
	{
		int			middle = low + (high - low + 1) / 2;

		if (rerank->pages[middle].first <= number)
			low = middle;
		else
			high = middle - 1;
	}
	return &rerank->pages[low];
}

/* Where the vector of row "number" begins. */
static const EcpCodePage *
rerank_find(const EcpRerank *rerank, uint64 number, uint32 *pageno,
			uint32 *offset)
{
	const EcpCodePage *page = rerank_page(rerank, number);

	ecp_geometry_stream_position(&rerank->probe->state->leaf, page->vector_page,
								 page->slot + (uint32) (number - page->first),
								 pageno, offset);
	return page;
}

/* Fetch the vector of a row into the processor's cache, if its buffer is known. */
static void
rerank_warm(const EcpRerank *rerank, uint64 number)
{
	uint32		pageno;
	uint32		offset;
	const EcpCodePage *page = rerank_find(rerank, number, &pageno, &offset);

	if (pageno < page->nrecent && page->recent[pageno] > 0)
		ecp_buffer_warm_page(page->recent[pageno],
							 MAXALIGN(SizeOfPageHeaderData) + offset,
							 Min(rerank->probe->state->leaf.vec_bytes,
								 ECP_PAYLOAD_BYTES - offset));
}

/* Prefetch the pages of a row's vector from the device. */
static void
rerank_prefetch_vector(const EcpRerank *rerank, uint64 number)
{
	uint32		vec_bytes = rerank->probe->state->leaf.vec_bytes;
	uint32		pageno;
	uint32		offset;
	const EcpCodePage *page = rerank_find(rerank, number, &pageno, &offset);
	uint32		npages = (offset + vec_bytes - 1) / ECP_PAYLOAD_BYTES + 1;

	ecp_probe_prefetch(rerank->probe->index, page->blk + pageno, npages);
}

/*
 * Before the first of the bounds is taken: prefetch the vectors of the next, as many
 * as clusters.  Of rows that are farther away than what is wanted, if that is known,
 * few will be compared.
 */
static void
rerank_prefetch_next(const EcpRerank *rerank, const EcpTopk *bounds)
{
	const EcpRanked *bound = &bounds->items[bounds->first];
	Size		left = bounds->sorted - bounds->first;
	Size		ahead = Min(rerank->probe->prefetch, RERANK_PAGES_AHEAD);
	float8		near = isinf(rerank->near) ? get_float8_infinity() : rerank->near;
	Size		from = bounds->first == bounds->sorted_from ? 1 : ahead;

	for (Size i = from; i < left && i <= ahead && bound[i].rank <= near; i++)
		rerank_prefetch_vector(rerank, EcpRankedItem(&bound[i]));
}

/* Before the first of the bounds is taken: fetch the vectors of the next. */
static void
rerank_warm_next(const EcpRerank *rerank, const EcpTopk *bounds)
{
	const EcpRanked *bound = &bounds->items[bounds->first];

	if (bounds->first == bounds->sorted_from)
	{
		/* nothing was fetched yet for the first rows of a new batch */
		for (int i = 1; i < RERANK_WARM && bounds->first + i < bounds->sorted; i++)
			rerank_warm(rerank, EcpRankedItem(bound + i));
	}
	if (bounds->first + RERANK_WARM < bounds->sorted)
		rerank_warm(rerank, EcpRankedItem(bound + RERANK_WARM));
}

/*
 * The same of the table's rows: their pages, as many ahead as a device can look for
 * at a time, and the next rows, where these are in memory.
 */
static void
rerank_prefetch(const EcpRerank *rerank, const EcpTopk *bounds)
{
	const EcpRanked *bound = &bounds->items[bounds->first];
	Size		left = bounds->sorted - bounds->first;

	if (rerank->heap == NULL)
		return;
	if (bounds->first == bounds->sorted_from)
	{
		for (Size i = 0; i < Min(left, RERANK_PAGES_AHEAD); i++)
			ecp_heap_prefetch_page(rerank->heap, bound[i].item);
		for (Size i = 0; i < Min(left, RERANK_WARM); i++)
			ecp_heap_prefetch_row(bound[i].item);
	}
	if (left > RERANK_PAGES_AHEAD)
		ecp_heap_prefetch_page(rerank->heap, bound[RERANK_PAGES_AHEAD].item);
	if (left > RERANK_WARM)
		ecp_heap_prefetch_row(bound[RERANK_WARM].item);
}

static EcpProbeRun
rerank_run(const EcpCodePage *page)
{
	EcpProbeRun run = {0};

	run.blk = page->blk;
	run.run = page->run;
	run.recent = page->recent;
	run.nrecent = page->nrecent;
	return run;
}

/*
 * The exact vector of a row: on its page, which the caller unlocks and
 * releases, or in rerank->vector, if it spans pages.
 */
static const char *
rerank_vector(EcpRerank *rerank, uint64 number, Buffer *buffer)
{
	uint32		vec_bytes = rerank->probe->state->leaf.vec_bytes;
	uint32		done = 0;
	uint32		pageno;
	uint32		offset;
	EcpProbeRun run = rerank_run(rerank_find(rerank, number, &pageno, &offset));
	const char *vector;
	Page		contents;

	CHECK_FOR_INTERRUPTS();
	for (;;)
	{
		uint32		part = Min(vec_bytes - done, ECP_PAYLOAD_BYTES - offset);

		*buffer = ecp_probe_buffer(rerank->probe, &run, ECP_PAGE_VECTOR,
								   pageno, &contents);
		vector = EcpPageGetStream(contents) + offset;
		if (part == vec_bytes)
			return vector;
		memcpy(rerank->vector + done, vector, part);
		done += part;
		if (done == vec_bytes)
			return rerank->vector;
		UnlockReleaseBuffer(*buffer);
		pageno++;
		offset = 0;
	}
}

void
ecp_rerank_vector(EcpRerank *rerank, uint64 number, void *vector)
{
	Buffer		buffer;
	const char *stored = rerank_vector(rerank, number, &buffer);

	memcpy(vector, stored, rerank->probe->state->leaf.vec_bytes);
	UnlockReleaseBuffer(buffer);
}

Buffer
ecp_rerank_entry(EcpRerank *rerank, uint64 number, EcpEntryView *view,
				 int *slot)
{
	const EcpGeometry *geo = &rerank->probe->state->leaf;
	const EcpCodePage *page = rerank_page(rerank, number);
	uint32		run_slot = page->slot + (uint32) (number - page->first);
	EcpProbeRun run = rerank_run(page);
	Buffer		buffer;
	Page		contents;

	buffer = ecp_probe_buffer(rerank->probe, &run, ECP_PAGE_ENTRY,
							  run_slot / geo->slots, &contents);
	ecp_entry_view(contents, geo, 0, view);
	*slot = run_slot % geo->slots;
	return buffer;
}

/* The exact rank of a row. */
float8
ecp_rerank_rank(EcpRerank *rerank, uint64 number)
{
	const EcpMetaPageData *meta = &rerank->probe->state->meta;
	uint32		factors[ECP_FACTORS_MAX];
	const uint32 *const factor[ECP_FACTORS_MAX] = {&factors[0], &factors[1]};
	Buffer		buffer;
	const char *vector = rerank_vector(rerank, number, &buffer);
	float8		rank;

	StaticAssertStmt(ECP_FACTORS_MAX == 2, "factors of a row");
	Assert(rerank->query != NULL);
	ecp_factors_compute(meta->ecpm_elem, meta->ecpm_metric, meta->ecpm_dims,
						vector, factors);
	ecp_query_rank_rows(rerank->query, vector,
						rerank->probe->state->leaf.vec_bytes, factor, 1, &rank);
	UnlockReleaseBuffer(buffer);
	rerank->reranked++;
	return rank;
}

/* The exact rank of a row by its item: of the row that is visible, if one is. */
static bool
rerank_rank(EcpRerank *rerank, uint64 item, EcpRanked *row)
{
	float8		rank;

	if (rerank->table == NULL)
	{
		ecp_ranked_set(row, ecp_rerank_rank(rerank, item),
					   rerank->numbered ? item :
					   ecp_tid_item(&rerank->tids[item]));
		return true;
	}
	CHECK_FOR_INTERRUPTS();
	rerank->reranked++;
	if (!row_fetch_rank(rerank->table, &rerank->probe->state->meta, item,
						rerank->query, &rank))
		return false;
	ecp_ranked_set(row, rank, item);
	return true;
}

void
ecp_rerank_put_back(EcpRerank *rerank, const EcpRanked *row)
{
	EcpExactRow *exact = rerank->unused;

	if (exact)
		rerank->unused = exact->next;
	else
		exact = MemoryContextAlloc(rerank->context, sizeof(EcpExactRow));
	exact->row = *row;
	pairingheap_add(rerank->exact, &exact->node);
	rerank->nexact++;
}

/* Read the exact rank of a row, and queue it by that. */
static void
rerank_add_exact(EcpRerank *rerank, uint64 item)
{
	EcpRanked	row;
	int64		missed = pgBufferUsage.shared_blks_read;

	if (!rerank_rank(rerank, item, &row))
		return;
	if (pgBufferUsage.shared_blks_read != missed)
		rerank_cold = RERANK_COLD;
	else if (rerank_cold > 0)
		rerank_cold--;
	ecp_rerank_put_back(rerank, &row);

	/*
	 * A row that is near will probably be fetched from the table.  About
	 * three times as many are prefetched as will be fetched, so only if it
	 * may save a read.
	 */
	if (rerank->heap && rerank->table == NULL &&
		(ecp_probe_is_cold() || rerank_cold > 0) &&
		row.rank <= rerank->near)
		ecp_heap_prefetch_page(rerank->heap, row.item);
}

/*
 * The row with the smallest rank; its item is its TID, or its number if
 * rerank->numbered.  Returns false when no row waits.
 */
bool
ecp_rerank_take(EcpRerank *rerank, EcpTopk *bounds, EcpRanked *row)
{
	for (;;)
	{
		EcpExactRow *exact = NULL;
		const EcpRanked *bound = ecp_topk_peek(bounds);
		uint64		item;

		if (!pairingheap_is_empty(rerank->exact))
			exact = pairingheap_container(EcpExactRow, node,
										  pairingheap_first(rerank->exact));
		if (exact != NULL && (bound == NULL || exact->row.rank <= bound->rank))
		{
			*row = exact->row;
			(void) pairingheap_remove_first(rerank->exact);
			rerank->nexact--;
			exact->next = rerank->unused;
			rerank->unused = exact;
			return true;
		}
		if (bound == NULL)
			return false;

		item = EcpRankedItem(bound);
		if (rerank->table)
			rerank_prefetch(rerank, bounds);
		else if (rerank_cold > 0 && rerank->probe->prefetch > 0)
			rerank_prefetch_next(rerank, bounds);
		else
			rerank_warm_next(rerank, bounds);
		bounds->first++;
		rerank_add_exact(rerank, item);
	}
}

/* ---- pages of the table, before the executor fetches rows ---- */

/* More than the rows prefetched ahead; a power of two. */
#define HEAP_BUFFERS		64

/* Rows whose pages are prefetched at a time. */
#define HEAP_PAGES		10

/* Buffers of pages prefetched, by block number; InvalidBuffer: not in memory. */
static Buffer heap_buffers[HEAP_BUFFERS];

bool
ecp_heap_prefetch_helps(Relation heap)
{
	return heap != NULL && heap->rd_rel->relam == HEAP_TABLE_AM_OID &&
		!RelationUsesLocalBuffers(heap);
}

void
ecp_heap_prefetch_page(Relation heap, uint64 item)
{
	BlockNumber blk = EcpItemBlock(item);
	OffsetNumber offset = EcpItemOffset(item);
	Buffer	   *buffer = &heap_buffers[blk % HEAP_BUFFERS];

	Assert(ecp_heap_prefetch_helps(heap));

	/* a damaged index may have any TID: the scan reports it (ecp_tid_check()) */
	*buffer = InvalidBuffer;
	if (offset == InvalidOffsetNumber || offset > MaxHeapTuplesPerPage ||
		!ecp_page_exists(heap, blk))
		return;
	*buffer = PrefetchBuffer(heap, MAIN_FORKNUM, blk).recent_buffer;
	if (BufferIsValid(*buffer))
		ecp_buffer_warm_page(*buffer, SizeOfPageHeaderData +
							 sizeof(ItemIdData) * (offset - 1), sizeof(ItemIdData));
}

void
ecp_heap_prefetch_row(uint64 item)
{
	Buffer		buffer = heap_buffers[EcpItemBlock(item) % HEAP_BUFFERS];
	OffsetNumber offset = EcpItemOffset(item);
	Page		page;

	if (!BufferIsValid(buffer) || offset == InvalidOffsetNumber ||
		offset > MaxHeapTuplesPerPage)
		return;

	/* the buffer may have another page by now: nothing depends on it */
	page = BufferGetPage(buffer);
	__builtin_prefetch(page + ItemIdGetOffset(PageGetItemId(page, offset)) %
					   BLCKSZ);
}

/*
 * A row, the taken-th, will be fetched, and then probably the n that follow, which are
 * "next".  Prefetch their pages, ten at a time since more may not be wanted, and each
 * row shortly before it is fetched.
 */
void
ecp_heap_prefetch_next(Relation heap, const EcpRanked *next, Size n, uint64 taken)
{
	int			place = (taken - 1) % HEAP_PAGES;
	Size		end = Min(HEAP_PAGES - 1 - place, n);

	Assert(taken > 0);
	if (place == 0)
	{
		for (Size i = 0; i < end; i++)
			ecp_heap_prefetch_page(heap, next[i].item);
		for (Size i = 0; i < Min(ECP_HEAP_AHEAD, end); i++)
			ecp_heap_prefetch_row(next[i].item);
	}
	if (ECP_HEAP_AHEAD < end)
		ecp_heap_prefetch_row(next[ECP_HEAP_AHEAD].item);
}
