/*-------------------------------------------------------------------------
 *
 * heap_row.c
 *	  What a checker asks of a table about the rows of its index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
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

/*
 * Under repeatable read, the snapshot can be older than the index, which then
 * lacks rows that the snapshot sees, rightly: an error.
 */
void
ecp_heap_check_snapshot(Relation index, Snapshot snapshot)
{
	if (IsolationUsesXactSnapshot() && index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   snapshot->xmin))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index \"%s\" cannot be verified using transaction snapshot",
						RelationGetRelationName(index))));
}
