/*-------------------------------------------------------------------------
 *
 * error_row.h
 *	  Errors name the row of the table and the column that they are about.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_ERROR_ROW_H
#define ECP_ERROR_ROW_H

#include "storage/itemptr.h"
#include "utils/elog.h"
#include "utils/rel.h"

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

#endif							/* ECP_ERROR_ROW_H */
