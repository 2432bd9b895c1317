/*-------------------------------------------------------------------------
 *
 * heap_row.h
 *	  What a checker asks of a table about a row of its index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_HEAP_ROW_H
#define ECP_HEAP_ROW_H

#include "storage/itemptr.h"
#include "utils/rel.h"

extern bool ecp_heap_has_row(Relation heap, const ItemPointerData *tid);

#endif							/* ECP_HEAP_ROW_H */
