/*-------------------------------------------------------------------------
 *
 * heap_row.h
 *	  Rows of the table of an index: a check of them against the entries of the
 *	  index, and errors that name one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_HEAP_ROW_H
#define ECP_HEAP_ROW_H

#include "storage/itemptr.h"
#include "utils/elog.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* A check of the rows of a table against the entries of its index. */
typedef struct EcpHeapCheck
{
	Relation	heap;
	Relation	index;
	Snapshot	snapshot;		/* whose rows must be in the index; NULL: none */
	struct bloom_filter *filter;	/* of the entries, or NULL */
	struct Tuplesortstate *tids;	/* of the entries, or NULL */
	MemoryContext row_context;
	int64		nrows;			/* that a build would index */
} EcpHeapCheck;

/* Begin; with "tids" the entries' TIDs are compared, with "rows" the table is read. */
extern void ecp_heap_check_begin(EcpHeapCheck *check, Relation heap,
								 Relation index, bool tids, bool rows);

/* An entry of the index; its bytes count if there is a filter. */
extern void ecp_heap_check_entry(EcpHeapCheck *check, const ItemPointerData *tid,
								 const void *bytes, Size size);

/*
 * The entry of a row that a build finds, as bytes, NULL if it is not indexed; of size 0
 * if it cannot be in the index.
 */
typedef const void *(*EcpHeapForm) (void *arg, ItemPointer tid, Datum *values,
									bool *isnull, Size *size);

/*
 * All entries have come: complain unless each row that the snapshot sees has one, no
 * two have the same TID and, if VACUUM is "locked_out", each is of a row that the table
 * has, dead or alive; those that the snapshot sees are then the rows that were found.
 */
extern void ecp_heap_check_end(EcpHeapCheck *check, EcpHeapForm form, void *arg,
							   bool locked_out);

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
