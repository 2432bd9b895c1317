/*-------------------------------------------------------------------------
 *
 * ecp_tid.h
 *	  TIDs that come from an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TID_H
#define ECP_TID_H

#include "storage/itemptr.h"
#include "utils/relcache.h"

/* A TID as an item of an EcpRanked. */
static inline uint64
ecp_tid_item(const ItemPointerData *tid)
{
	return (uint64) tid->ip_blkid.bi_hi << 32 |
		(uint64) tid->ip_blkid.bi_lo << 16 | tid->ip_posid;
}

#define EcpItemBlock(item)	((BlockNumber) ((item) >> 16))
#define EcpItemOffset(item) ((OffsetNumber) (item))

/* Set a TID from such an item, or report that it is none. */
extern void ecp_tid_from_item(Relation index, uint64 item, ItemPointer tid);

/* Report a TID that is beyond the end of the table. */
extern void ecp_tid_check(Relation index, Relation heap,
						  const ItemPointerData *tid,
						  BlockNumber *heap_blocks);

#endif							/* ECP_TID_H */
