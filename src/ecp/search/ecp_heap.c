/*-------------------------------------------------------------------------
 *
 * ecp_heap.c
 *	  SEARCH: the table's pages that the rows of a scan are on.
 *
 * The nearest rows are anywhere in the table, and the executor fetches them
 * one after the other, with the processor waiting for each: for the buffer
 * table, the buffer's descriptor, the page and the row on it.  A search knows
 * the next rows before they are asked for.  So we remember in which buffer a
 * block was when a scan was there last, and
 *
 *	 ecp_heap_warm()	lets the processor fetch the page's header and line
 *						pointer (and ecp_heap_warm_recent(), before that, what
 *						says where they are),
 *	 ecp_heap_warm_row() then the row, as far as visibility needs it,
 *	 ecp_heap_switch()	pins the page by the number of its buffer, so that the
 *						buffer table need not be asked.
 *
 * All this is for tables of the heap access method only.  Nothing depends on
 * what we remember: it is checked before a page is used, and what the
 * processor is asked for may be anything.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "base/compat.h"
#include "catalog/pg_am_d.h"
#include "common/hashfn.h"
#include "ecp/search/ecp_heap.h"
#include "pgstat.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* Blocks remembered, of all tables; a power of two. */
#define HEAP_RECENT			32768

/* Pages of which one is looked up in the buffer table; see ecp_probe.c. */
#define HEAP_LOOKUP			32

static Buffer heap_recent[HEAP_RECENT];
static uint32 heap_lookups;

static inline Buffer *
heap_recent_of(Relation heap, BlockNumber blk)
{
	uint32		hash = hash_combine(murmurhash32(RelationGetRelid(heap)),
									murmurhash32(blk));

	return &heap_recent[hash % HEAP_RECENT];
}

bool
ecp_heap_is_ours(Relation heap)
{
	return heap != NULL && heap->rd_rel->relam == HEAP_TABLE_AM_OID &&
		!RelationUsesLocalBuffers(heap);
}

void
ecp_heap_warm_recent(Relation heap, BlockNumber blk)
{
	__builtin_prefetch(heap_recent_of(heap, blk));
}

void
ecp_heap_warm(Relation heap, BlockNumber blk, OffsetNumber offset)
{
	Buffer		buffer = *heap_recent_of(heap, blk);
	Page		page;

	if (buffer == InvalidBuffer)
		return;
	page = BufferGetPage(buffer);
	__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
	__builtin_prefetch(page);
	__builtin_prefetch(PageGetItemId(page, offset));
}

void
ecp_heap_warm_row(Relation heap, BlockNumber blk, OffsetNumber offset)
{
	Buffer		buffer = *heap_recent_of(heap, blk);

	/* another page may be there by now, but it is within the buffers */
	if (buffer != InvalidBuffer && offset <= MaxHeapTuplesPerPage)
	{
		Page		page = BufferGetPage(buffer);

		__builtin_prefetch(page + ItemIdGetOffset(PageGetItemId(page, offset)) %
						   BLCKSZ);
	}
}

void
ecp_heap_note(IndexScanDesc scan, BlockNumber blk)
{
	Buffer		buffer = ((IndexFetchHeapData *) scan->xs_heapfetch)->xs_cbuf;

	if (BufferIsValid(buffer))
		*heap_recent_of(scan->heapRelation, blk) = buffer;
}

void
ecp_heap_switch(IndexScanDesc scan, BlockNumber blk)
{
	IndexFetchHeapData *fetch = (IndexFetchHeapData *) scan->xs_heapfetch;
	Relation	heap = scan->heapRelation;
	Buffer		buffer = *heap_recent_of(heap, blk);

	if (buffer == InvalidBuffer || buffer == fetch->xs_cbuf ||
		++heap_lookups % HEAP_LOOKUP == 0 ||
		!ReadRecentBuffer(ecp_relation_locator(heap), MAIN_FORKNUM, blk,
						  buffer))
		return;
	pgstat_count_buffer_read(heap);
	pgstat_count_buffer_hit(heap);
	if (BufferIsValid(fetch->xs_cbuf))
		ReleaseBuffer(fetch->xs_cbuf);
	fetch->xs_cbuf = buffer;

	/* heap does so with each page that it comes to */
	heap_page_prune_opt(heap, buffer);
}
