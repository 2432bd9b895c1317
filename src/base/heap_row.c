/*-------------------------------------------------------------------------
 *
 * heap_row.c
 *	  Rows of the table of an index: what a checker asks of it, and errors that
 *	  name one.
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

/* ---- errors that name a row and a column ---- */

static void
error_row_callback(void *arg)
{
	const EcpErrorRow *row = arg;
	const char *column =
		NameStr(TupleDescAttr(RelationGetDescr(row->index), 0)->attname);

	errcontext("row (%u,%u) of table \"%s\", column \"%s\" of index \"%s\"",
			   ItemPointerGetBlockNumberNoCheck(&row->tid),
			   ItemPointerGetOffsetNumberNoCheck(&row->tid),
			   RelationGetRelationName(row->heap), column,
			   RelationGetRelationName(row->index));
}

void
ecp_error_row_begin(EcpErrorRow *row, Relation heap, Relation index,
					const ItemPointerData *tid)
{
	Assert(index->rd_index->indrelid == RelationGetRelid(heap));
	row->heap = heap;
	row->index = index;
	row->tid = *tid;
	row->callback.callback = error_row_callback;
	row->callback.arg = row;
	row->callback.previous = error_context_stack;
	error_context_stack = &row->callback;
}

void
ecp_error_row_end(EcpErrorRow *row)
{
	Assert(error_context_stack == &row->callback);
	error_context_stack = row->callback.previous;
}
