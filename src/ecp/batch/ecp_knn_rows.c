/*-------------------------------------------------------------------------
 *
 * ecp_knn_rows.c
 *	  Many queries at once: from candidates to rows that the user may see.
 *
 * An index entry does not say which snapshots see its row.  The candidates
 * of many queries are sorted by TID, each table block is visited once, and
 * the snapshot decides; a TID that begins a chain of updates becomes that of
 * the visible version.  Row security is applied by a query on the table, as
 * the calling user, which returns the TIDs that the policies allow
 * (base/policy_scan.c).
 *
 * A query that is left with too few rows, or would have had to read more
 * clusters than its first window, is answered by an ordinary index scan.  So
 * the answer is always that of a scan.
 *
 * An index that has rounded vectors finds the rows, but not their distances; the
 * executor computes those of a scan from the table, and so do we.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/policy_scan.h"
#include "base/stop_point.h"
#include "base/topk.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/batch/ecp_sweep.h"
#include "ecp/batch/ecp_user_table.h"
#include "ecp/define/ecp_class.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_tid.h"
#include "ecp/search/ecp_scan.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "vector/vector_value.h"

/* TIDs that are checked against row security at a time. */
#define POLICY_TIDS		10000

/* ---- visibility ---- */

/* A candidate: its TID as a number, and its place in heaps and tids. */
typedef struct FetchItem
{
	uint64		tid;
	Size		place;
} FetchItem;

#define ST_SORT fetch_sort
#define ST_ELEMENT_TYPE FetchItem
#define ST_COMPARE(a, b) \
	((a)->tid < (b)->tid ? -1 : (a)->tid > (b)->tid)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

#define FetchItemBlock(item) ((BlockNumber) ((item)->tid >> 16))

/* Prefetch the blocks of the items from "*next" on that come soon. */
static void
fetch_prefetch(const EcpSweep *sweep, const FetchItem *items, int nitems,
			   int current, int *next)
{
	/* few items are of the same block: items are counted as blocks */
	*next = Max(*next, current + 1);
	for (; *next < Min(nitems, current + 1 + sweep->distance); (*next)++)
	{
		BlockNumber before = FetchItemBlock(&items[*next - 1]);
		BlockNumber blk = FetchItemBlock(&items[*next]);

		if (blk != before && EcpSweepIsJump(sweep, before + 1, blk) &&
			ecp_page_exists(sweep->rel, blk))
			PrefetchBuffer(sweep->rel, MAIN_FORKNUM, blk);
	}
}

/* Look up candidates in the order of TIDs, and note the visible ones. */
static void
fetch_items(EcpKnn *knn, const FetchItem *items, int nitems)
{
	IndexFetchTableData *fetch = ecp_table_fetch_begin(knn->heap);
	TupleTableSlot *slot = table_slot_create(knn->heap, NULL);
	BlockNumber block = InvalidBlockNumber;
	BlockNumber heap_blocks = 0;
	EcpSweep	sweep;
	int			prefetched = 0;

	ecp_sweep_init(&sweep, knn->heap);
	for (int i = 0; i < nitems; i++)
	{
		ItemPointerData *result = &knn->tids[items[i].place];
		ItemPointerData tid;
		bool		call_again = false;
		bool		all_dead = false;

		if (i > 0 && items[i].tid == items[i - 1].tid)
		{
			*result = knn->tids[items[i - 1].place];
			continue;
		}
		ecp_tid_from_item(knn->index, items[i].tid, &tid);
		if (FetchItemBlock(&items[i]) != block)
		{
			CHECK_FOR_INTERRUPTS();
			ecp_tid_check(knn->index, knn->heap, &tid, &heap_blocks);
			block = FetchItemBlock(&items[i]);
			ecp_sweep_to(&sweep, block, 1);
			if (EcpSweepIsCold(&sweep))
				fetch_prefetch(&sweep, items, nitems, i, &prefetched);
		}
		if (table_index_fetch_tuple(fetch, &tid, knn->snapshot, slot,
									&call_again, &all_dead))
			*result = slot->tts_tid;
	}
	ecp_sweep_end(&sweep);
	ExecDropSingleTupleTableSlot(slot);
	table_index_fetch_end(fetch);
}

/*
 * Put the candidates of queries first .. end - 1 in order, and find out which
 * are visible; the TIDs of the others are invalid afterwards.
 */
void
ecp_knn_rows_fetch(EcpKnn *knn, int first, int end)
{
	int			keep = knn->plan->keep;
	FetchItem  *items;
	int			nitems = 0;

	Assert(first >= 0 && end <= knn->shared->nqueries);
	for (int q = first; q < end; q++)
		nitems += knn->queries[q].nheap;
	items = palloc_extended(mul_size(nitems + 1, sizeof(FetchItem)),
							MCXT_ALLOC_HUGE);
	nitems = 0;
	for (int q = first; q < end; q++)
	{
		EcpRanked  *heap = ecp_knn_heap(knn, q);

		/* those by codes are in the order in which a scan returns them */
		if (knn->plan->code_room == 0)
			ecp_knn_compare_sort(heap, knn->queries[q].nheap);
		Assert(knn->queries[q].nheap <= keep);
		for (int i = 0; i < keep; i++)
			ItemPointerSetInvalid(&ecp_knn_tids(knn, q)[i]);
		for (int i = 0; i < knn->queries[q].nheap; i++)
		{
			Size		place = (Size) q * keep + i;

			items[nitems].tid = EcpRankedItem(&heap[i]);
			items[nitems++].place = place;
		}
	}
	if (knn->plan->exact)
	{
		/* these come from a scan with the snapshot */
		for (int i = 0; i < nitems; i++)
			ItemPointerSet(&knn->tids[items[i].place],
						   FetchItemBlock(&items[i]),
						   (OffsetNumber) items[i].tid);
	}
	else
	{
		fetch_sort(items, nitems);
		fetch_items(knn, items, nitems);
	}
	pfree(items);
}

/* ---- row security and conditions ---- */

static int
policy_compare(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

/*
 * Make those of the TIDs invalid that the table's policies hide from the
 * calling user, or whose rows do not satisfy the condition.
 */
void
ecp_knn_rows_check_policies(EcpKnn *knn, ItemPointerData *tids, int ntids)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp policies",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	Assert(knn->checked);
	ECP_STOP_POINT("knn-policies");
	for (int done = 0; done < ntids; done += POLICY_TIDS)
	{
		int			end = Min(ntids, done + POLICY_TIDS);
		int			nasked = 0;
		int			nallowed;
		ItemPointerData *asked = palloc(POLICY_TIDS * sizeof(ItemPointerData));
		ItemPointerData *allowed = palloc(POLICY_TIDS * sizeof(ItemPointerData));
		EcpPolicyScan *scan;

		CHECK_FOR_INTERRUPTS();
		for (int i = done; i < end; i++)
		{
			if (ItemPointerIsValid(&tids[i]))
				asked[nasked++] = tids[i];
		}
		if (nasked == 0)
			continue;
		scan = ecp_policy_scan_begin(knn->heap, knn->snapshot,
									 knn->condition ? knn->condition->text : NULL,
									 asked, nasked);
		nallowed = ecp_policy_scan_next(scan, allowed, nasked);
		ecp_policy_scan_end(scan);
		qsort(allowed, nallowed, sizeof(ItemPointerData), policy_compare);
		for (int i = done; i < end; i++)
		{
			if (ItemPointerIsValid(&tids[i]) &&
				bsearch(&tids[i], allowed, nallowed, sizeof(ItemPointerData),
						policy_compare) == NULL)
				ItemPointerSetInvalid(&tids[i]);
		}
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ---- scans for the rest ---- */

/*
 * Take rows from a scan until there are k, and count them.  With row security they
 * are taken in chunks of growing size, and rows that its policies hide do not count.
 */
static void
rescan_take(EcpKnn *knn, IndexScanDesc scan, TupleTableSlot *slot,
			EcpKnnQuery *query, uint64 *count, EcpRanked *heap,
			ItemPointerData *tids)
{
	int			k = knn->plan->k;
	int			chunk = k;
	bool		more = true;

	Assert(k > 0 && k <= knn->plan->keep);
	query->nresults = 0;
	*count = 0;
	while (more && query->nresults < k)
	{
		ItemPointerData *taken;
		float8	   *distances;
		int			ntaken = 0;

		taken = palloc(mul_size(chunk, sizeof(ItemPointerData)));
		distances = palloc(mul_size(chunk, sizeof(float8)));
		while (ntaken < chunk &&
			   (more = index_getnext_slot(scan, ForwardScanDirection, slot)))
		{
			CHECK_FOR_INTERRUPTS();
			taken[ntaken] = slot->tts_tid;
			distances[ntaken++] = DatumGetFloat8(scan->xs_orderbyvals[0]);
			(*count)++;
		}
		if (knn->checked)
			ecp_knn_rows_check_policies(knn, taken, ntaken);
		for (int i = 0; i < ntaken && query->nresults < k; i++)
		{
			if (!ItemPointerIsValid(&taken[i]))
				continue;
			heap[query->nresults].rank = distances[i];
			tids[query->nresults++] = taken[i];
		}
		pfree(taken);
		pfree(distances);
		chunk = Min(chunk * 2, POLICY_TIDS);
	}
}

/* Search for each of rest[first .. end - 1] by a scan of its own. */
void
ecp_knn_rows_rescan(EcpKnn *knn, int first, int end)
{
	const EcpKnnPlan *plan = knn->plan;
	const EcpMetaPageData *meta = &plan->state.meta;
	TupleTableSlot *slot = table_slot_create(knn->heap, NULL);
	IndexScanDesc scan = ecp_index_beginscan(knn->heap, knn->index,
											 knn->snapshot, plan->nkeys, 1);
	uint64		count;

	/* what the policies hide is known later */
	ecp_scan_set_wanted(scan, plan->k, knn->checked ? NULL : &count);
	Assert(!plan->exact);
	Assert(first >= 0 && end <= knn->shared->nrest);
	for (int i = first; i < end; i++)
	{
		uint32		q = knn->rest[i];
		Datum		value = ecp_vector_make(meta->ecpm_column_type, meta->ecpm_dims,
											knn->elements +
											q * plan->query_stride);
		ScanKeyData orderby;

		CHECK_FOR_INTERRUPTS();
		memset(&orderby, 0, sizeof(orderby));
		orderby.sk_flags = SK_ORDER_BY;
		orderby.sk_attno = 1;
		orderby.sk_strategy = ECP_DISTANCE_STRATEGY;
		orderby.sk_argument = value;
		index_rescan(scan, knn->keys, plan->nkeys, &orderby, 1);
		rescan_take(knn, scan, slot, &knn->queries[q], &count,
					ecp_knn_heap(knn, q),
					ecp_knn_tids(knn, q));
		pfree(DatumGetPointer(value));
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/* ---- distances ---- */

/* Put an answer's rows, which are nearly in order, in the order of distances. */
static void
rows_sort(EcpRanked *heap, ItemPointerData *tids, int n)
{
	for (int i = 1; i < n; i++)
	{
		EcpRanked	row = heap[i];
		ItemPointerData tid = tids[i];
		int			j = i;

		for (; j > 0 && heap[j - 1].rank > row.rank; j--)
		{
			heap[j] = heap[j - 1];
			tids[j] = tids[j - 1];
		}
		heap[j] = row;
		tids[j] = tid;
	}
}

/*
 * Give the rows of all answers the distances of the table's vectors, where those
 * that the index has are rounded.
 */
void
ecp_knn_rows_set_distances(EcpKnn *knn)
{
	const EcpKnnPlan *plan = knn->plan;
	const EcpMetaPageData *meta = &plan->state.meta;
	EcpUserTableRows rows;

	if (EcpDistancesAreExact(meta))
		return;
	ecp_user_table_rows_begin(&rows, knn->heap, knn->index);
	for (int q = 0; q < knn->shared->nqueries; q++)
	{
		const EcpKnnQuery *query = &knn->queries[q];
		EcpRanked  *heap = ecp_knn_heap(knn, q);
		ItemPointerData *tids = ecp_knn_tids(knn, q);

		for (int i = 0; i < query->nresults; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if ((query->flags & ECP_KNN_NULL) == 0 &&
				table_tuple_fetch_row_version(knn->heap, &tids[i],
											  knn->snapshot, rows.slot))
				(void) ecp_user_table_row_distance(&rows, knn->index, meta,
												   knn->elements + q * plan->query_stride,
												   &heap[i].rank);
		}
		rows_sort(heap, tids, query->nresults);
	}
	ecp_user_table_rows_end(&rows);
}
