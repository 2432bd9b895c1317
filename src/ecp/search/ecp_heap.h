/*-------------------------------------------------------------------------
 *
 * ecp_heap.h
 *	  The table's pages that the rows of a scan are on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_HEAP_H
#define ECP_HEAP_H

#include "access/genam.h"
#include "storage/block.h"
#include "storage/off.h"

/* Can the functions below be used for this table? */
extern bool ecp_heap_is_ours(Relation heap);

/*
 * Let the processor fetch what we remember of a block, what on its page says
 * where a row is, and then the row.
 */
extern void ecp_heap_warm_recent(Relation heap, BlockNumber blk);
extern void ecp_heap_warm(Relation heap, BlockNumber blk, OffsetNumber offset);
extern void ecp_heap_warm_row(Relation heap, BlockNumber blk,
							  OffsetNumber offset);

/* Remember where the block of the row returned last is, after it was fetched. */
extern void ecp_heap_note(IndexScanDesc scan, BlockNumber blk);

/* Pin the block of the row that is returned next, if we know where it is. */
extern void ecp_heap_switch(IndexScanDesc scan, BlockNumber blk);

#endif							/* ECP_HEAP_H */
