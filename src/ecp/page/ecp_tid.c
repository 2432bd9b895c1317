/*-------------------------------------------------------------------------
 *
 * ecp_tid.c
 *	  TIDs that come from an index, which may be damaged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am_d.h"
#include "ecp/page/ecp_prepare.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * The row pointer that was made an item of an EcpRanked (ecp_tid_item()).
 */
void
ecp_tid_from_item(Relation index, uint64 item, ItemPointer tid)
{
	ItemPointerSet(tid, EcpItemBlock(item), EcpItemOffset(item));
	if (!ItemPointerIsValid(tid) ||
		ItemPointerGetBlockNumberNoCheck(tid) == InvalidBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains an invalid row pointer",
						RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
}

/*
 * Report a TID that is beyond the end of the table as corruption of the index,
 * which core's message for it would not name.  Only for heap, whose TIDs
 * contain block numbers; our lock on the table prevents its truncation.
 * *heap_blocks caches a lower bound of its length, 0 at first.
 */
void
ecp_tid_check(Relation index, Relation heap, const ItemPointerData *tid,
			  BlockNumber *heap_blocks)
{
	BlockNumber blk = ItemPointerGetBlockNumberNoCheck(tid);

	Assert(ItemPointerIsValid(tid));

	if (blk < *heap_blocks || heap == NULL ||
		heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		return;
	*heap_blocks = RelationGetNumberOfBlocks(heap);
	if (blk >= *heap_blocks)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains a row pointer beyond the end of its table",
						RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
}
