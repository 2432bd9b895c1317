/*-------------------------------------------------------------------------
 *
 * heap_row.h
 *	  What a checker asks of a table about the rows of its index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_HEAP_ROW_H
#define ECP_HEAP_ROW_H

#include "storage/itemptr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

extern bool ecp_heap_has_row(Relation heap, const ItemPointerData *tid);
extern void ecp_heap_check_snapshot(Relation index, Snapshot snapshot);

#endif							/* ECP_HEAP_ROW_H */
