/*-------------------------------------------------------------------------
 *
 * heap_row.c
 *	  What a checker asks of a table about a row of its index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/heap_row.h"
#include "catalog/pg_am_d.h"
#include "storage/bufmgr.h"

/*
 * May an index have an entry for this TID?  A row can be dead, but its line
 * pointer is not free before the entries are gone; and a row that is the
 * continuation of a chain has none.  Of other kinds of tables we do not know.
 */
bool
ecp_heap_has_row(Relation heap, const ItemPointerData *tid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	bool		has_row = false;
	Buffer		buffer;
	Page		page;

	if (heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return true;
	buffer = ReadBuffer(heap, ItemPointerGetBlockNumber(tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (offset >= FirstOffsetNumber && offset <= PageGetMaxOffsetNumber(page))
	{
		ItemId		item = PageGetItemId(page, offset);

		has_row = ItemIdIsDead(item) || ItemIdIsRedirected(item) ||
			(ItemIdIsNormal(item) &&
			 !HeapTupleHeaderIsHeapOnly((HeapTupleHeader) PageGetItem(page, item)));
	}
	UnlockReleaseBuffer(buffer);
	return has_row;
}
