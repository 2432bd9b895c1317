/*-------------------------------------------------------------------------
 *
 * betree_purge.c
 *	  Removing entries of dead rows from a leaf before it is split.
 *
 * Each version of a row has an entry of its own, unless the table could do with
 * a HOT update.  Where rows are updated again and again the entries of old
 * versions would make leaves split, long before VACUUM comes.  So a leaf that
 * a batch does not fit asks the table which of its entries are of no use to
 * anyone any more, as nbtree does: in a unique index, and where the row inserted
 * is a version whose key has not changed.  It asks for neighbours with the same
 * key, block by block, those first that most of them are in.  (Asked for all at
 * once, the table gives up at the first block without success: then one in
 * twenty full leaves was split where versions of all ages were there.)
 *
 * Queries on a standby may still need these entries.  A record of its own,
 * before the one that removes them, makes redo wait for such queries, or cancel
 * them (base/core_wal.c).
 *
 * Rows are removed by VACUUM only, so index-only scans need no interlock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree.h"

#include "access/tableam.h"
#include "access/transam.h"
#include "access/xlog.h"

/*
 * Blocks of the table that are looked at: those which most of the entries
 * concerned refer to.  A leaf that overflows has got a batch of entries, so
 * that is a fraction of a block for each.
 */
#define BLOCKS_MAX	16

/* entries with a neighbour of the same key that refer to one block */
typedef struct PurgeBlock
{
	BlockNumber blkno;
	int			nentries;
} PurgeBlock;

/* The transaction with an epoch, which is not in the future */
static FullTransactionId
full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		epoch = EpochFromFullTransactionId(next);

	if (xid > XidFromFullTransactionId(next))
		epoch--;
	return FullTransactionIdFromEpochAndXid(epoch, xid);
}

/* Count an entry for its block, in an array with room for one more */
static int
count_block(PurgeBlock *blocks, int nblocks, BlockNumber blkno)
{
	for (int i = 0; i < nblocks; i++)
	{
		if (blocks[i].blkno == blkno)
		{
			blocks[i].nentries++;
			return nblocks;
		}
	}
	blocks[nblocks].blkno = blkno;
	blocks[nblocks].nentries = 1;
	return nblocks + 1;
}

static int
block_cmp(const void *a, const void *b)
{
	return ((const PurgeBlock *) b)->nentries - ((const PurgeBlock *) a)->nentries;
}

/* Has the item of a leaf a neighbour with the same key? */
static bool
has_equal_neighbour(BetreeRel *bt, Page page, OffsetNumber off)
{
	IndexTuple	itup = BetreePageGetTuple(page, off);

	return (off > FirstOffsetNumber &&
			betree_key_equal_tuples(bt, BetreePageGetTuple(page, off - 1), itup)) ||
		(off < PageGetMaxOffsetNumber(page) &&
		 betree_key_equal_tuples(bt, itup, BetreePageGetTuple(page, off + 1)));
}

/*
 * Ask the table about those of the entries that refer to one block.  Adds what
 * is of no use to "dead", and returns how many that are; raises the horizon, the
 * last transaction that could need one.
 */
static int
ask_table(BetreeRel *bt, Buffer leafbuf, OffsetNumber *offsets, int noffsets,
		  BlockNumber blkno, OffsetNumber *dead, TransactionId *horizon)
{
	Page		page = BufferGetPage(leafbuf);
	TM_IndexDelete deltids[MaxIndexTuplesPerPage];
	TM_IndexStatus status[MaxIndexTuplesPerPage];
	TM_IndexDeleteOp op = {
		.irel = bt->rel,
		.iblknum = BufferGetBlockNumber(leafbuf),
		.bottomup = true,
		.bottomupfreespace = BLCKSZ,
		.deltids = deltids,
		.status = status,
	};
	TransactionId xid;
	int			ndead = 0;

	for (int i = 0; i < noffsets; i++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, offsets[i]);
		int			n = op.ndeltids;

		if (ItemPointerGetBlockNumber(&itup->t_tid) != blkno)
			continue;
		deltids[n].tid = itup->t_tid;
		deltids[n].id = n;
		status[n].idxoffnum = offsets[i];
		status[n].knowndeletable = false;
		status[n].promising = true;
		status[n].freespace = BetreeTupleSpace(itup);
		op.ndeltids++;
	}
	xid = table_index_delete_tuples(bt->heap, &op);
	if (TransactionIdIsValid(xid) &&
		(!TransactionIdIsValid(*horizon) || TransactionIdFollows(xid, *horizon)))
		*horizon = xid;
	for (int i = 0; i < op.ndeltids; i++)
	{
		TM_IndexStatus *found = &status[deltids[i].id];

		if (found->knowndeletable)
			dead[ndead++] = found->idxoffnum;
	}
	return ndead;
}

static int
offset_cmp(const void *a, const void *b)
{
	return (int) *(const OffsetNumber *) a - (int) *(const OffsetNumber *) b;
}

/*
 * Find the leaf's entries of dead rows; returns their number, and them in
 * ascending order.
 */
static int
find_dead(BetreeRel *bt, Buffer leafbuf, OffsetNumber *dead, TransactionId *horizon)
{
	Page		page = BufferGetPage(leafbuf);
	OffsetNumber offsets[MaxIndexTuplesPerPage];
	PurgeBlock	blocks[MaxIndexTuplesPerPage];
	int			noffsets = 0;
	int			nblocks = 0;
	int			ndead = 0;

	for (OffsetNumber off = FirstOffsetNumber; off <= PageGetMaxOffsetNumber(page); off++)
	{
		if (!has_equal_neighbour(bt, page, off))
			continue;
		offsets[noffsets++] = off;
		nblocks = count_block(blocks, nblocks,
							  ItemPointerGetBlockNumber(&BetreePageGetTuple(page, off)->t_tid));
	}
	qsort(blocks, nblocks, sizeof(PurgeBlock), block_cmp);
	for (int i = 0; i < Min(nblocks, BLOCKS_MAX); i++)
		ndead += ask_table(bt, leafbuf, offsets, noffsets, blocks[i].blkno,
						   dead + ndead, horizon);
	qsort(dead, ndead, sizeof(OffsetNumber), offset_cmp);
	return ndead;
}

/*
 * betree_purge_leaf
 *		Remove entries of dead rows from a leaf, exclusively locked as its node
 *		is, if that seems to be worthwhile.
 */
void
betree_purge_leaf(BetreeRel *bt, Buffer leafbuf)
{
	OffsetNumber dead[MaxIndexTuplesPerPage];
	TransactionId horizon = InvalidTransactionId;
	int			ndead;
	GenericXLogState *xlog;

	Assert(ecp_buffer_is_exclusive_locked(leafbuf));
	Assert(BetreePageGetOpaque(BufferGetPage(leafbuf))->bteo_kind == BETREE_LEAF);

	if (bt->heap == NULL)
		return;
	ndead = find_dead(bt, leafbuf, dead, &horizon);
	if (ndead == 0)
		return;

	if (XLogStandbyInfoActive() && RelationNeedsWAL(bt->rel) &&
		TransactionIdIsNormal(horizon))
		ecp_log_page_reuse(bt->rel, bt->heap, BufferGetBlockNumber(leafbuf),
						   full_xid(horizon));
	xlog = GenericXLogStart(bt->rel);
	betree_page_delete_items(GenericXLogRegisterBuffer(xlog, leafbuf, 0),
							 dead, ndead);
	GenericXLogFinish(xlog);
	ECP_STOP_POINT("purged");
}
