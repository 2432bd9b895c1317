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
 * is a version whose key has not changed.  It asks about rows that share a key,
 * one heap block at a time, fullest block first.  Rows of the batch count, too: a
 * row that is updated all the time may have most of its versions there.  (Asked
 * about all at once, the table gives up at the first block without success: then
 * one in twenty full leaves was split where versions of all ages were there.)
 *
 * Queries on a standby may still need these entries.  A record of its own,
 * before the one that removes them, makes redo wait for such queries, or cancel
 * them (base/core_wal.c).
 *
 * Rows are removed by VACUUM only, so index-only scans need no interlock.
 *
 * A row that is updated far more often than its leaf is written has its versions
 * in the log.  Whoever asks the table about them, a check of a unique key or an
 * index scan, says which are dead, and has them removed when there are enough
 * (betree_purge_rows).  So they are asked about once, which is what btree's
 * LP_DEAD bits are for.  Bits in item pointers would need no WAL, but no index
 * page may differ from what a standby has replayed, or wal_consistency_checking
 * could not prove the records made by hand.  And a tail that is full asks about
 * the versions in it before it is sealed (betree_purge_tail): it stays the tail
 * if half of it is free afterwards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "base/core.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "betree/leaf/betree_leaf.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Blocks of the table that are looked at: those which most of the rows concerned
 * are in.  A leaf that overflows has got a batch: one block for each of its
 * messages, or as many as are cheap.
 */
#define BLOCKS_MIN	16
#define BLOCKS_MAX	64

/* A row with the key of another one of the leaf or the batch */
typedef struct PurgeRow
{
	ItemPointerData tid;
	OffsetNumber off;			/* of its item; of a message, where that would
								 * be in the leaf */
	int			space;			/* that its item takes, divided by its rows */
	int			number;			/* among all rows of the leaf, in its order;
								 * messages behind them, in that of the batch */
} PurgeRow;

/* Those of them that are in one block, rows[start] and more */
typedef struct PurgeBlock
{
	int			start;
	int			nrows;
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

/* also of rows, which begin with their TIDs */
static int
tid_cmp(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) unconstify(void *, a),
							  (ItemPointer) unconstify(void *, b));
}

/* Set a row of an item that has "n" */
static void
add_row(PurgeRow *row, ItemPointer tid, OffsetNumber off, IndexTuple itup, int n,
		int number)
{
	row->tid = *tid;
	row->off = off;
	row->space = BetreeTupleSpace(itup) / n;
	row->number = number;
}

/* those with the most rows first */
static int
block_cmp(const void *a, const void *b)
{
	return ((const PurgeBlock *) b)->nrows - ((const PurgeBlock *) a)->nrows;
}

/*
 * Has a message of the batch the key of this item?  "*next" is the first that can
 * have it, and goes on with the items, which ascend.
 */
static bool
has_equal_message(BetreeRel *bt, BetreeBatch *batch, IndexTuple itup, int *next)
{
	for (; *next < batch->nitems; (*next)++)
	{
		IndexTuple	message = batch->items[*next].itup;

		if (betree_key_equal_tuples(bt, message, itup))
			return true;
		if (betree_key_order_tuples(bt, message, itup) > 0)
			return false;
	}
	return false;
}

/* Has message "i" of the batch a neighbour there with the same key? */
static bool
is_repeated(BetreeRel *bt, BetreeBatch *batch, int i)
{
	IndexTuple	itup = batch->items[i].itup;

	return (i > 0 && betree_key_equal_tuples(bt, batch->items[i - 1].itup, itup)) ||
		(i + 1 < batch->nitems &&
		 betree_key_equal_tuples(bt, itup, batch->items[i + 1].itup));
}

/*
 * Has the item of a leaf several rows, or a neighbour or a message with the same
 * key?  "*next" is as above.
 */
static bool
has_equal_rows(BetreeRel *bt, Page page, OffsetNumber off, BetreeBatch *batch,
			   int *next)
{
	IndexTuple	itup = BetreePageGetTuple(page, off);

	return BetreeTupleIsPosting(itup) ||
		has_equal_message(bt, batch, itup, next) ||
		(off > FirstOffsetNumber &&
		 betree_key_equal_tuples(bt, BetreePageGetTuple(page, off - 1), itup)) ||
		(off < betree_page_nitems(page) &&
		 betree_key_equal_tuples(bt, itup, BetreePageGetTuple(page, off + 1)));
}

/*
 * Ask the table about rows of one block.  Sets in "dead" which are of no use, and
 * raises the horizon, the last transaction that could need one.  Returns whether
 * there are any.
 */
static bool
ask_table(BetreeRel *bt, Buffer leafbuf, PurgeRow *rows, int nrows, bool *dead,
		  TransactionId *horizon)
{
	TM_IndexDelete *deltids = palloc(nrows * sizeof(TM_IndexDelete));
	TM_IndexStatus *status = palloc(nrows * sizeof(TM_IndexStatus));
	TM_IndexDeleteOp op = {
		.irel = bt->rel,
		.iblknum = BufferGetBlockNumber(leafbuf),
		.bottomup = true,
		.bottomupfreespace = BLCKSZ,
		.ndeltids = nrows,
		.deltids = deltids,
		.status = status,
	};
	TransactionId xid;
	bool		found = false;

	for (int i = 0; i < nrows; i++)
	{
		Assert(OffsetNumberIsValid(rows[i].off));
		deltids[i].tid = rows[i].tid;
		deltids[i].id = i;
		status[i].idxoffnum = rows[i].off;
		status[i].knowndeletable = false;
		status[i].promising = true;
		status[i].freespace = rows[i].space;
	}
	xid = table_index_delete_tuples(bt->heap, &op);
	if (TransactionIdIsValid(xid) &&
		(!TransactionIdIsValid(*horizon) || TransactionIdFollows(xid, *horizon)))
		*horizon = xid;
	for (int i = 0; i < op.ndeltids; i++)
	{
		if (!status[deltids[i].id].knowndeletable)
			continue;
		dead[rows[deltids[i].id].number] = true;
		found = true;
	}
	pfree(deltids);
	pfree(status);
	return found;
}

/*
 * The rows of a leaf and a batch that have equal ones, in their order; returns
 * their number.  "*nleaf" is the number of all rows of the leaf, which is that of
 * the first message.
 */
static int
collect_rows(BetreeRel *bt, Page page, BetreeBatch *batch, PurgeRow **rows,
			 int *nleaf)
{
	ItemPointerData tids[BETREE_POSTING_MAX_ROWS];
	OffsetNumber maxoff = betree_page_nitems(page);
	int			max_rows = batch->nitems + 1;
	int			nrows = 0;
	int			number = 0;
	int			next = 0;
	OffsetNumber at = FirstOffsetNumber;

	for (OffsetNumber off = FirstOffsetNumber; off <= maxoff; off++)
		max_rows += betree_posting_nrows(BetreePageGetTuple(page, off));
	*rows = palloc(max_rows * sizeof(PurgeRow));
	for (OffsetNumber off = FirstOffsetNumber; off <= maxoff; off++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, off);
		int			n = betree_posting_read(itup, tids);

		if (has_equal_rows(bt, page, off, batch, &next))
		{
			for (int i = 0; i < n; i++)
				add_row(&(*rows)[nrows++], &tids[i], off, itup, n, number + i);
		}
		number += n;
	}
	*nleaf = number;
	for (int i = 0; i < batch->nitems; i++)
	{
		IndexTuple	itup = batch->items[i].itup;

		if (!is_repeated(bt, batch, i))
			continue;
		/* the table wants an offset, for its report of a TID that has no row */
		while (at <= maxoff &&
			   betree_key_order_tuples(bt, BetreePageGetTuple(page, at), itup) < 0)
			at = OffsetNumberNext(at);
		add_row(&(*rows)[nrows++], &itup->t_tid, at, itup, 1, *nleaf + i);
	}
	return nrows;
}

/*
 * Find the dead ones of these rows, looking at "limit" blocks at most; "dead" is by
 * their numbers
 */
static bool
find_dead(BetreeRel *bt, Buffer leafbuf, PurgeRow *rows, int nrows, int limit,
		  bool *dead, TransactionId *horizon)
{
	PurgeBlock *blocks = palloc(Max(nrows, 1) * sizeof(PurgeBlock));
	int			nblocks = 0;
	bool		found = false;

	qsort(rows, nrows, sizeof(PurgeRow), tid_cmp);
	for (int i = 0; i < nrows; i++)
	{
		if (i == 0 || ItemPointerGetBlockNumberNoCheck(&rows[i].tid) !=
			ItemPointerGetBlockNumberNoCheck(&rows[i - 1].tid))
		{
			blocks[nblocks].start = i;
			blocks[nblocks++].nrows = 0;
		}
		blocks[nblocks - 1].nrows++;
	}
	qsort(blocks, nblocks, sizeof(PurgeBlock), block_cmp);
	for (int i = 0; i < Min(nblocks, limit); i++)
	{
		if (ask_table(bt, leafbuf, rows + blocks[i].start, blocks[i].nrows, dead,
					  horizon))
			found = true;
	}
	pfree(blocks);
	return found;
}

/* What is to be removed from the page */
static BetreeRemoval *
make_removal(Page page, const bool *dead)
{
	BetreeRemoval *removal = palloc(sizeof(BetreeRemoval));

	removal->ndead = removal->nshrunk = 0;
	for (OffsetNumber off = FirstOffsetNumber; off <= betree_page_nitems(page); off++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, off);
		int			n = betree_posting_nrows(itup);

		if (memchr(dead, true, n) != NULL)
			betree_posting_removal_add(removal, off, itup, dead);
		dead += n;
	}
	return removal;
}

/*
 * Remove dead rows from an exclusively locked page; a tail gets the space as well.
 * A record before that, or before a batch is moved that they are not in any more,
 * says that they are dead to all later than the horizon.
 */
static void
remove_rows(BetreeRel *bt, Buffer buf, const bool *dead, TransactionId horizon,
			bool compact)
{
	BetreeRemoval *removal = make_removal(BufferGetPage(buf), dead);

	if (XLogStandbyInfoActive() && RelationNeedsWAL(bt->rel) &&
		TransactionIdIsNormal(horizon))
		ecp_log_page_reuse(bt->rel, bt->heap, BufferGetBlockNumber(buf),
						   full_xid(horizon));
	if (removal->ndead + removal->nshrunk > 0 || compact)
	{
		GenericXLogState *xlog = GenericXLogStart(bt->rel);
		Page		page = GenericXLogRegisterBuffer(xlog, buf, 0);

		betree_posting_removal_apply(page, removal);
		if (compact)
			betree_page_compact(page);
		GenericXLogFinish(xlog);
	}
	ECP_STOP_POINT("purged");
}

/* Remove the dead ones from the batch; one message stays, which is to be moved */
static void
shorten_batch(BetreeBatch *batch, const bool *dead)
{
	int			n = 0;

	for (int i = 0; i < batch->nitems; i++)
	{
		if (dead[i] && (n > 0 || i + 1 < batch->nitems))
			batch->space -= BetreeTupleSpace(batch->items[i].itup);
		else
			batch->items[n++] = batch->items[i];
	}
	batch->nitems = n;
}

/*
 * betree_purge_leaf
 *		Remove entries of dead rows from a leaf, exclusively locked as its node
 *		is, and from a batch that it has no room for, if that seems to be
 *		worthwhile.
 */
void
betree_purge_leaf(BetreeRel *bt, Buffer leafbuf, BetreeBatch *batch)
{
	Page		page = BufferGetPage(leafbuf);
	TransactionId horizon = InvalidTransactionId;
	PurgeRow   *rows;
	int			nrows;
	int			nleaf;
	int			limit = Max(BLOCKS_MIN, Min(batch->nitems, BLOCKS_MAX));
	bool	   *dead;

	Assert(ecp_buffer_is_exclusive_locked(leafbuf));
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_LEAF);

	if (bt->heap == NULL)
		return;
	nrows = collect_rows(bt, page, batch, &rows, &nleaf);
	dead = palloc0(nleaf + batch->nitems);
	if (!find_dead(bt, leafbuf, rows, nrows, limit, dead, &horizon))
		return;
	shorten_batch(batch, dead + nleaf);
	remove_rows(bt, leafbuf, dead, horizon, false);
}

/* Is the TID among those given, which ascend? */
static bool
has_tid(const ItemPointerData *tids, int ntids, ItemPointer tid)
{
	return bsearch(tid, tids, ntids, sizeof(ItemPointerData), tid_cmp) != NULL;
}

/*
 * betree_purge_rows
 *		Remove from a page of a log or a leaf, exclusively locked, those entries
 *		of some rows whose rows are dead to everyone.
 *
 * "tids", which is sorted here, the caller has found dead, but not under this lock:
 * VACUUM may have been here, and a TID be another row's.  So the table is asked
 * again; it must tell the horizon, too.
 */
void
betree_purge_rows(BetreeRel *bt, Buffer buf, ItemPointerData *tids, int ntids)
{
	ItemPointerData posting[BETREE_POSTING_MAX_ROWS];
	Page		page = BufferGetPage(buf);
	OffsetNumber maxoff = betree_page_nitems(page);
	TransactionId horizon = InvalidTransactionId;
	PurgeRow   *rows = palloc(ntids * sizeof(PurgeRow));
	int			nrows = 0;
	int			number = 0;
	bool	   *dead;

	Assert(ecp_buffer_is_exclusive_locked(buf));
	Assert(bt->heap != NULL && ntids > 0);

	qsort(tids, ntids, sizeof(ItemPointerData), tid_cmp);
	for (OffsetNumber off = FirstOffsetNumber; off <= maxoff; off++)
	{
		IndexTuple	itup = BetreePageGetTuple(page, off);
		int			n = betree_posting_read(itup, posting);

		for (int i = 0; i < n; i++, number++)
		{
			if (nrows < ntids && has_tid(tids, ntids, &posting[i]))
				add_row(&rows[nrows++], &posting[i], off, itup, n, number);
		}
	}
	dead = palloc0(number + 1);
	if (find_dead(bt, buf, rows, nrows, BLOCKS_MAX, dead, &horizon))
		remove_rows(bt, buf, dead, horizon, false);
	pfree(dead);
	pfree(rows);
}

/* Rows that a scan has found dead */
typedef struct ScannedRows
{
	BetreeRel  *bt;
	ItemPointerData *tids;
	int			ntids;
} ScannedRows;

/* Has a locked page an entry of such a row? */
static bool
has_scanned(ScannedRows *scanned, Page page)
{
	ItemPointerData tids[BETREE_POSTING_MAX_ROWS];

	for (OffsetNumber off = FirstOffsetNumber; off <= betree_page_nitems(page); off++)
	{
		int			n = betree_posting_read(BetreePageGetTuple(page, off), tids);

		for (int i = 0; i < n; i++)
		{
			if (has_tid(scanned->tids, scanned->ntids, &tids[i]))
				return true;
		}
	}
	return false;
}

/* Purge a page that is share-locked, and whose node stays so, and release it */
static void
purge_scanned_page(ScannedRows *scanned, Buffer buf)
{
	if (has_scanned(scanned, BufferGetPage(buf)))
	{
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
		betree_purge_rows(scanned->bt, buf, scanned->tids, scanned->ntids);
	}
	UnlockReleaseBuffer(buf);
}

/* Purge the log of a share-locked node */
static void
purge_scanned_log(void *arg, Buffer nodebuf)
{
	ScannedRows *scanned = (ScannedRows *) arg;
	Page		node = BufferGetPage(nodebuf);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);

	for (int i = 0; i < BetreePageGetOpaque(node)->bteo_ndir; i++)
	{
		if (BetreeDirIsSealed(&dir[i]) || BetreeDirIsTail(&dir[i]))
			purge_scanned_page(scanned,
							   betree_block_read(scanned->bt->rel, dir[i].bted_block,
												 BUFFER_LOCK_SHARE, BETREE_LOG));
	}
}

/*
 * betree_purge_scanned
 *		Remove entries of rows that a scan has found dead, from the leaf with the
 *		bound "low" and from the logs above it.
 *
 * The caller holds no lock.  What the leaf has given to another one since then is
 * left to the next scan.
 */
void
betree_purge_scanned(BetreeRel *bt, IndexTuple low, ItemPointerData *tids, int ntids)
{
	ScannedRows scanned = {bt, tids, ntids};
	BetreeKey	key;
	Buffer		nodebuf;
	Page		node;
	int			child;

	qsort(tids, ntids, sizeof(ItemPointerData), tid_cmp);
	betree_key_from_pivot(bt, low, &key);
	nodebuf = betree_descend(bt, &key, false, 1, BUFFER_LOCK_SHARE,
							 purge_scanned_log, &scanned);
	node = BufferGetPage(nodebuf);
	child = betree_key_search_node(bt, node, &key, false);
	purge_scanned_page(&scanned,
					   betree_block_read_child(bt->rel, node, child, BUFFER_LOCK_SHARE));
	UnlockReleaseBuffer(nodebuf);
}

/*
 * The rows of a log page that have equal ones there, in the order of keys; returns
 * their number.  "*nkeys" is that of their keys.
 */
static int
collect_tail_rows(BetreeRel *bt, Page page, PurgeRow *rows, int *nkeys)
{
	OffsetNumber maxoff = betree_page_nitems(page);
	BetreeSortItem *items = palloc(maxoff * sizeof(BetreeSortItem));
	int			nrows = 0;

	*nkeys = 0;
	for (int i = 0; i < maxoff; i++)
		betree_key_item_init(bt, &items[i], BetreePageGetTuple(page, i + 1), i + 1);
	betree_key_sort(bt, items, maxoff);
	for (int i = 0; i < maxoff; i++)
	{
		bool		begins = i == 0 ||
			!betree_key_equal_tuples(bt, items[i - 1].itup, items[i].itup);

		if (begins && (i + 1 == maxoff ||
					   !betree_key_equal_tuples(bt, items[i].itup, items[i + 1].itup)))
			continue;
		*nkeys += begins;
		add_row(&rows[nrows++], &items[i].itup->t_tid, items[i].order, items[i].itup, 1,
				items[i].order - 1);
	}
	pfree(items);
	return nrows;
}

/*
 * betree_purge_tail
 *		Make room in a full tail, exclusively locked as its node is, if half of it
 *		is free when the entries of dead rows are gone.
 *
 * Else it is to be sealed: to move its tuples more often than that would cost more
 * than to read the log pages that it becomes.
 */
void
betree_purge_tail(BetreeRel *bt, Buffer tailbuf)
{
	Page		page = BufferGetPage(tailbuf);
	int			nitems = betree_page_nitems(page);
	int			excess = betree_page_live_space(page) - BetreePageCapacity / 2;
	TransactionId horizon = InvalidTransactionId;
	PurgeRow   *rows;
	int			nrows;
	int			nkeys;
	bool	   *dead;

	Assert(ecp_buffer_is_exclusive_locked(tailbuf));
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_LOG);

	if (nitems == 0)
		return;
	rows = palloc(nitems * sizeof(PurgeRow));
	dead = palloc0(nitems);
	if (excess > 0 && bt->new_version)
	{
		nrows = collect_tail_rows(bt, page, rows, &nkeys);
		/* if all are versions of as many rows as they have keys */
		if (excess <= (int64) BetreePageCapacity * (nrows - nkeys) / nitems)
			(void) find_dead(bt, tailbuf, rows, nrows, BLOCKS_MIN, dead, &horizon);
		for (int i = 0; i < nitems; i++)
		{
			if (dead[i])
				excess -= BetreeTupleSpace(BetreePageGetTuple(page, i + 1));
		}
	}
	if (excess <= 0)
		remove_rows(bt, tailbuf, dead, horizon, true);
	pfree(dead);
	pfree(rows);
}
