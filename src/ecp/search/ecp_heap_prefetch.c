/*-------------------------------------------------------------------------
 *
 * ecp_heap_prefetch.c
 *	  SEARCH: prefetching pages of the table before the executor fetches rows
 *	  from them.
 *
 * The nearest rows are anywhere in the table, and the executor fetches them
 * one after the other, each time waiting for the device, or for memory: the
 * buffer table, the buffer's descriptor, the page, the row.  A search knows
 * the next rows beforehand.  PrefetchBuffer() starts reading a page that is
 * not in shared buffers; of one that is, it returns the buffer, and what the
 * executor will look at is fetched into the processor's cache.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/core.h"
#include "catalog/pg_am_d.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_rerank.h"
#include "storage/bufmgr.h"

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
