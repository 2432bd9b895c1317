/*-------------------------------------------------------------------------
 *
 * heap_row.h
 *	  Rows of the table of an index: what a checker asks of it, and errors that
 *	  name one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_HEAP_ROW_H
#define ECP_HEAP_ROW_H

#include "storage/itemptr.h"
#include "utils/elog.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

extern bool ecp_heap_has_row(Relation heap, const ItemPointerData *tid);
extern void ecp_heap_check_snapshot(Relation index, Snapshot snapshot);

typedef struct EcpErrorRow
{
	ErrorContextCallback callback;
	Relation	heap;
	Relation	index;
	ItemPointerData tid;
} EcpErrorRow;

/*
 * Until ecp_error_row_end(), the context of each error names the row, and the
 * first column of the index.
 */
extern void ecp_error_row_begin(EcpErrorRow *row, Relation heap, Relation index,
								const ItemPointerData *tid);
extern void ecp_error_row_end(EcpErrorRow *row);

#endif							/* ECP_HEAP_ROW_H */
