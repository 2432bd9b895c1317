/*-------------------------------------------------------------------------
 *
 * error_row.c
 *	  Errors name the row of the table and the column that they are about.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/error_row.h"

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
