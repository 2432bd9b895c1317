/*-------------------------------------------------------------------------
 *
 * ecp_heap_prefetch.h
 *	  Prefetching pages of the table before the executor fetches rows from them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_HEAP_PREFETCH_H
#define ECP_HEAP_PREFETCH_H

#include "base/topk.h"
#include "utils/rel.h"

/* Rows that are prefetched before they are fetched. */
#define ECP_HEAP_AHEAD		2

/* Are the row pointers of this table (or NULL) blocks in shared buffers? */
extern bool ecp_heap_prefetch_helps(Relation heap);

/*
 * The row of an EcpRanked's item will be fetched soon: prefetch its page, and a
 * little later, when that is in memory, the row.
 */
extern void ecp_heap_prefetch_page(Relation heap, uint64 item);
extern void ecp_heap_prefetch_row(uint64 item);
extern void ecp_heap_prefetch_next(Relation heap, const EcpRanked *next, Size n,
								   uint64 taken);

#endif							/* ECP_HEAP_PREFETCH_H */
