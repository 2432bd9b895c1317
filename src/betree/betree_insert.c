/*-------------------------------------------------------------------------
 *
 * betree_insert.c
 *	  aminsert: put a message into a node's buffer.
 *
 * An insert goes down to the topmost node that owns a buffer, appends the
 * tuple to the tail page of its log, and is done: no leaf is read.  When the
 * tail is full, it is sorted, gets its number, and a new tail takes its place
 * (seal).  The seal that completes buffer_pages pages starts a drain, which
 * moves the messages down child by child (betree_flush.c): each insert into
 * the node goes on with it, by flush_budget leaves at most.
 *
 * If a log cannot take another page, because drains fail or cannot keep up,
 * the tuple goes into its leaf directly: always legal, because messages
 * commute.  Nobody ever waits for anything but content locks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * A lookup reads the tail's unsorted items one by one; after this many
 * appends the whole page is put in order.
 */
#define SORT_INTERVAL	64

/* One of this many inserts that find a log full tries to drain it */
#define DRAIN_ATTEMPTS	64

/*
 * The item pointers of a BUF page in the order of its tuples.  Returns
 * whether that differs from what they are.
 */
static bool
sorted_item_ids(BetreeRel *bt, Page page, ItemIdData *ids)
{
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	int			nsorted = BetreePageGetOpaque(page)->bteo_nsorted;
	BetreeSortItem *items = palloc(maxoff * sizeof(BetreeSortItem));
	BetreeSortItem *tail = items + nsorted;
	int			ntail = maxoff - nsorted;
	int			a = 0;
	int			b = 0;
	bool		changed = false;

	for (int i = 0; i < maxoff; i++)
		betree_sort_item_init(bt, &items[i], BetreePageGetTuple(page, i + 1),
							  i + 1);
	betree_sort(bt, tail, ntail);

	for (int i = 0; i < maxoff; i++)
	{
		BetreeSortItem *next;

		if (b >= ntail)
			next = &items[a++];
		else if (a >= nsorted ||
				 betree_sort_item_compare(bt, &tail[b], &items[a]) < 0)
			next = &tail[b++];
		else
			next = &items[a++];
		ids[i] = *PageGetItemId(page, next->order);
		if (next->order != i + 1)
			changed = true;

		/* the rest of an ascending page needs no comparison */
		if (!changed && a < nsorted && b == 0 &&
			(ntail == 0 ||
			 betree_sort_item_compare(bt, &items[nsorted - 1], &tail[0]) <= 0))
		{
			while (a < nsorted)
			{
				ids[a] = *PageGetItemId(page, a + 1);
				a++;
			}
			i = a - 1;
		}
	}
	pfree(items);
	return changed;
}

/* Does the tuple fit at the end of this BUF page? */
static inline bool
tail_has_room(Page page, IndexTuple itup)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_upper - header->pd_lower >= BetreeTupleSpace(itup) &&
		PageGetMaxOffsetNumber(page) < BETREE_BUF_MAX_ITEMS;
}

/* Append a tuple, for which there is room, to an exclusively locked tail */
static void
append_to_tail(BetreeRel *bt, Buffer tailbuf, IndexTuple itup)
{
	Page		page = BufferGetPage(tailbuf);
	PageHeader	header = (PageHeader) page;
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	Size		size = MAXALIGN(IndexTupleSize(itup));
	bool		sort = maxoff - opaque->bteo_nsorted >= SORT_INTERVAL;
	bool		changed = false;
	ItemIdData	ids[MaxIndexTuplesPerPage];
	EcpDelta	delta;

	if (sort)
		changed = sorted_item_ids(bt, page, ids);

	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES);
	ecp_delta_buffer(&delta, tailbuf);

	START_CRIT_SECTION();
	if (changed)
		memcpy(PageGetItemId(page, 1), ids, maxoff * sizeof(ItemIdData));
	if (sort)
		opaque->bteo_nsorted = maxoff;
	header->pd_upper -= size;
	memcpy((char *) page + header->pd_upper, itup, size);
	header->pd_lower += sizeof(ItemIdData);
	ItemIdSetNormal(PageGetItemId(page, maxoff + 1), header->pd_upper,
					IndexTupleSize(itup));

	ecp_delta_range(&delta, 0, offsetof(PageHeaderData, pd_lower),
					2 * sizeof(LocationIndex));
	if (changed)
		ecp_delta_range(&delta, 0, SizeOfPageHeaderData,
						(maxoff + 1) * sizeof(ItemIdData));
	else
		ecp_delta_range(&delta, 0,
						SizeOfPageHeaderData + maxoff * sizeof(ItemIdData),
						sizeof(ItemIdData));
	ecp_delta_range(&delta, 0, header->pd_upper, size);
	if (sort)
		ecp_delta_range(&delta, 0,
						(char *) &opaque->bteo_nsorted - (char *) page,
						sizeof(opaque->bteo_nsorted));
	ecp_delta_finish(&delta);
}

/* A page to be the next tail: a spare one of the node or a fresh one */
static Buffer
get_tail_page(BetreeRel *bt, Page node)
{
	int			spare = betree_node_find_dir(node, BETREE_DIR_SPARE);

	if (spare < 0)
		return betree_alloc(bt);
	return betree_read(bt, BetreeNodeGetDir(node)[spare].bted_block,
					   BUFFER_LOCK_EXCLUSIVE, BETREE_BUF);
}

/*
 * betree_set_drain
 *		Start a drain of all that an exclusively locked node has sealed, or
 *		extend the one under way to that.
 */
void
betree_set_drain(BetreeRel *bt, Buffer nodebuf)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));
	GenericXLogState *state;

	if (opaque->bteo_nlog == 0 || opaque->bteo_drain == opaque->bteo_seq)
		return;
	state = betree_xlog_start(bt->rel);
	opaque = BetreePageGetOpaque(betree_xlog_page(state, nodebuf, false));
	opaque->bteo_drain = opaque->bteo_seq;
	betree_xlog_finish(state);
}

/*
 * Can the log of a node take another page?  Not if the directory is full, or
 * if its oldest page is too old to be told from newer ones by its number.
 */
static bool
log_has_room(Page node, uint32 seq)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);

	if (opaque->bteo_ndir >= opaque->bteo_ncap &&
		betree_node_find_dir(node, BETREE_DIR_SPARE) < 0)
		return false;
	return opaque->bteo_nlog == 0 ||
		betree_node_log_span(node, seq) <= BETREE_SEQ_SPAN_MAX;
}

/*
 * betree_seal
 *		Give a node a new tail, and its old one a place in the log.
 *
 * The node is exclusively locked and stays so.  The new tail begins with
 * "itup", if that is not NULL.  "start_drain" starts a drain even if the log
 * is short.  Returns false, with a drain under way, if the log can take no
 * more: when that drain is finished, it can (README, "Draining").
 */
bool
betree_seal(BetreeRel *bt, Buffer nodebuf, IndexTuple itup, bool start_drain)
{
	Page		node = BufferGetPage(nodebuf);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir;
	BlockNumber oldblk = betree_node_tail(node);
	Buffer		oldbuf = InvalidBuffer;
	Buffer		newbuf;
	GenericXLogState *state;
	Page		page;
	int			at;
	uint32		seq = opaque->bteo_seq + 1;
	ItemIdData	ids[MaxIndexTuplesPerPage];
	bool		changed = false;
	bool		covered[BETREE_FILTER_PAGES_MAX];

	if (seq == 0)
		seq = 1;
	betree_filter_trim(bt, nodebuf);
	if (!log_has_room(node, seq))
	{
		if (opaque->bteo_nlog == 0)
			betree_report_page(bt, nodebuf);
		/* a log that a split has shortened may not have come to its drain */
		if (opaque->bteo_drain == 0)
			betree_set_drain(bt, nodebuf);
		/* nor would the caller, which would try again for ever */
		if (opaque->bteo_drain == 0)
			betree_report_page(bt, nodebuf);
		return false;
	}

	if (oldblk != InvalidBlockNumber)
	{
		oldbuf = betree_read(bt, oldblk, BUFFER_LOCK_EXCLUSIVE, BETREE_BUF);
		changed = sorted_item_ids(bt, BufferGetPage(oldbuf), ids);
		betree_filter_seal(bt, nodebuf, BufferGetPage(oldbuf), ids, seq,
						   covered);
	}
	newbuf = get_tail_page(bt, node);

	state = betree_xlog_start(bt->rel);
	node = betree_xlog_page(state, nodebuf, false);
	opaque = BetreePageGetOpaque(node);
	dir = BetreeNodeGetDir(node);

	if (BufferIsValid(oldbuf))
	{
		OffsetNumber maxoff;

		page = betree_xlog_page(state, oldbuf, false);
		maxoff = PageGetMaxOffsetNumber(page);
		opaque->bteo_seq = seq;
		if (changed)
			memcpy(PageGetItemId(page, 1), ids, maxoff * sizeof(ItemIdData));
		BetreePageGetOpaque(page)->bteo_nsorted = maxoff;
		BetreePageGetOpaque(page)->bteo_seq = seq;
		dir[opaque->bteo_nlog].bted_seq = (uint16) seq;
		dir[opaque->bteo_nlog].bted_kind = BETREE_DIR_LOG;
		opaque->bteo_nlog++;
		for (int i = opaque->bteo_nlog; i < opaque->bteo_ndir; i++)
		{
			int			number = dir[i].bted_kind >> 8;

			if (BetreeDirIsFilter(&dir[i]) &&
				(number >= BETREE_FILTER_PAGES_MAX || !covered[number]))
				dir[i].bted_seq = (uint16) seq;
		}
	}

	/* the tail's place is behind the log */
	at = betree_node_find_dir(node, BETREE_DIR_SPARE);
	if (at < 0)
	{
		at = opaque->bteo_ndir;
		betree_node_add_dir(node, BufferGetBlockNumber(newbuf),
							BETREE_DIR_TAIL, 0);
	}
	dir[at] = dir[opaque->bteo_nlog];
	dir[opaque->bteo_nlog].bted_block = BufferGetBlockNumber(newbuf);
	dir[opaque->bteo_nlog].bted_seq = 0;
	dir[opaque->bteo_nlog].bted_kind = BETREE_DIR_TAIL;

	if (opaque->bteo_drain == 0 && opaque->bteo_nlog > 0 &&
		(start_drain ||
		 opaque->bteo_nlog >= betree_drain_threshold(bt, node,
													 BufferGetBlockNumber(nodebuf))))
		opaque->bteo_drain = opaque->bteo_seq;

	page = betree_xlog_page(state, newbuf, true);
	betree_page_init(page, BETREE_BUF, opaque->bteo_level, 0);
	BetreePageGetOpaque(page)->bteo_owner = BufferGetBlockNumber(nodebuf);
	if (itup != NULL)
	{
		betree_page_add(page, itup);
		BetreePageGetOpaque(page)->bteo_nsorted = 1;
	}
	betree_xlog_finish(state);
	ECP_STOP_POINT("sealed");

	UnlockReleaseBuffer(newbuf);
	if (BufferIsValid(oldbuf))
		UnlockReleaseBuffer(oldbuf);
	return true;
}

/*
 * Append with the node exclusively locked, sealing its tail if that is full.
 * Unlocks the node.  Returns false if the log can take no more; "*drain" says
 * that a drain is under way and wants help.
 */
static bool
append_or_seal(BetreeRel *bt, Buffer nodebuf, IndexTuple itup, bool *drain)
{
	BlockNumber tailblk = betree_node_tail(BufferGetPage(nodebuf));
	bool		done = false;

	*drain = false;
	if (tailblk != InvalidBlockNumber)
	{
		Buffer		tailbuf = betree_read(bt, tailblk, BUFFER_LOCK_EXCLUSIVE,
										  BETREE_BUF);

		/* somebody else may have sealed it since we looked */
		if (tail_has_room(BufferGetPage(tailbuf), itup))
		{
			append_to_tail(bt, tailbuf, itup);
			done = true;
		}
		UnlockReleaseBuffer(tailbuf);
	}
	if (!done)
	{
		BetreePageOpaque opaque = BetreePageGetOpaque(BufferGetPage(nodebuf));

		done = betree_seal(bt, nodebuf, itup, false);
		*drain = opaque->bteo_drain != 0 &&
			(bt->flush_budget > 0 ||
			 opaque->bteo_drain == opaque->bteo_seq ||
			 opaque->bteo_nlog >= opaque->bteo_ncap - 2 -
			 betree_node_nfilters(BufferGetPage(nodebuf)));
	}
	LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
	return done;
}

/* Insert one tuple into a buffer */
static void
insert_tuple(BetreeRel *bt, IndexTuple itup)
{
	BetreeKey	key;
	Buffer		nodebuf;
	Page		node;
	BlockNumber nodeblk;
	BlockNumber tailblk;
	int			level;
	bool		drain;

	/* the root is the only node whose level is not known from above */
	nodebuf = ReadBuffer(bt->rel, BETREE_ROOT_BLKNO);
	LockBuffer(nodebuf, BUFFER_LOCK_SHARE);
	betree_check_page(bt, nodebuf, BETREE_NODE, -1);
	node = BufferGetPage(nodebuf);
	level = BetreePageGetOpaque(node)->bteo_level;

	if (level > bt->buffer_levels)
		betree_key_from_tuple(bt, itup, &key);
	while (level > bt->buffer_levels)
	{
		int			child = betree_node_search(bt, node, &key, false);
		Buffer		childbuf;

		childbuf = betree_read_child(bt, node, child, BUFFER_LOCK_SHARE);
		UnlockReleaseBuffer(nodebuf);
		nodebuf = childbuf;
		node = BufferGetPage(nodebuf);
		level--;
	}

	/*
	 * Once we have the tail, a seal or a split of the node has to wait for
	 * us; so the node can be released at once.
	 */
	tailblk = betree_node_tail(node);
	if (tailblk != InvalidBlockNumber)
	{
		Buffer		tailbuf = betree_read(bt, tailblk, BUFFER_LOCK_EXCLUSIVE,
										  BETREE_BUF);

		drain = bt->flush_budget > 0 &&
			BetreePageGetOpaque(node)->bteo_drain != 0;
		LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);
		if (tail_has_room(BufferGetPage(tailbuf), itup))
		{
			append_to_tail(bt, tailbuf, itup);
			UnlockReleaseBuffer(tailbuf);
			nodeblk = BufferGetBlockNumber(nodebuf);
			ReleaseBuffer(nodebuf);
			if (drain)
				(void) betree_drain(bt, nodeblk, level, bt->flush_budget);
			return;
		}
		UnlockReleaseBuffer(tailbuf);
	}
	else
		LockBuffer(nodebuf, BUFFER_LOCK_UNLOCK);

	betree_key_from_tuple(bt, itup, &key);
	nodebuf = betree_relock_node(bt, nodebuf, &key, level,
								 BUFFER_LOCK_EXCLUSIVE);
	if (!append_or_seal(bt, nodebuf, itup, &drain))
	{
		betree_insert_leaf(bt, itup);
		drain = pg_prng_uint64_range(&pg_global_prng_state, 0,
									 DRAIN_ATTEMPTS - 1) == 0;
	}
	nodeblk = BufferGetBlockNumber(nodebuf);
	ReleaseBuffer(nodebuf);
	if (drain)
		(void) betree_drain(bt, nodeblk, level, bt->flush_budget);
}

/* Insert one tuple, where it belongs by the options */
static void
enter_and_insert(BetreeRel *bt, IndexTuple itup)
{
	BetreeEntry entry;

	betree_enter(&entry, bt->rel);
	PG_TRY();
	{
		if (bt->buffer_pages > 0)
			insert_tuple(bt, itup);
		else
			betree_insert_leaf(bt, itup);
	}
	PG_FINALLY();
	{
		betree_leave(&entry);
	}
	PG_END_TRY();
}

/* What aminsert keeps from one row to the next */
typedef struct BetreeInsertState
{
	MemoryContext context;		/* reset for each row */
} BetreeInsertState;

/* aminsert */
bool
betreeinsert(Relation rel, Datum *values, bool *isnull, ItemPointer ht_ctid,
			 Relation heapRel, IndexUniqueCheck checkUnique,
			 bool indexUnchanged, IndexInfo *indexInfo)
{
	BetreeInsertState *state = (BetreeInsertState *) indexInfo->ii_AmCache;
	MemoryContext oldcontext;
	BetreeRel	bt;
	IndexTuple	itup;

	if (state == NULL)
	{
		state = MemoryContextAlloc(indexInfo->ii_Context,
								   sizeof(BetreeInsertState));
		state->context = AllocSetContextCreate(indexInfo->ii_Context,
											   "betree insert",
											   ALLOCSET_DEFAULT_SIZES);
		indexInfo->ii_AmCache = state;
	}
	oldcontext = MemoryContextSwitchTo(state->context);

	betree_open(&bt, rel);
	itup = betree_form_tuple(&bt, values, isnull, ht_ctid, heapRel);
	enter_and_insert(&bt, itup);

	MemoryContextSwitchTo(oldcontext);
	MemoryContextReset(state->context);
	return false;
}
