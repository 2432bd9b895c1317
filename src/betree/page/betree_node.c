/*-------------------------------------------------------------------------
 *
 * betree_node.c
 *	  NODE pages: their pivots, and the directories of their logs.
 *
 * As in betree_page.c, the functions work on a page image.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "port/pg_bitutils.h"

/*
 * betree_node_form
 *		Make a NODE of a high key and pivots, with an empty log directory.
 */
void
betree_node_form(Page page, int level, int ncap, IndexTuple hikey,
				 IndexTuple *pivots, int npivots)
{
	Assert(level >= 1);
	Assert(npivots >= 1);

	betree_page_init(page, BETREE_NODE, level, ncap);
	betree_page_add(page, hikey);
	for (int i = 0; i < npivots; i++)
		betree_page_add(page, pivots[i]);
}

/* Bytes that new pivots of a NODE may take, item pointers included */
int
betree_node_room(Page page)
{
	PageHeader	header = (PageHeader) page;

	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	if (BetreeNodeNumChildren(page) >= BETREE_NODE_MAX_CHILDREN)
		return 0;
	return (int) header->pd_upper - (int) header->pd_lower;
}

/* Number of the pages that take appends */
int
betree_node_ntails(Page page)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	int			ntails = 0;

	Assert(opaque->bteo_kind == BETREE_NODE);

	while (opaque->bteo_nlog + ntails < opaque->bteo_ndir &&
		   BetreeDirIsTail(&dir[opaque->bteo_nlog + ntails]))
		ntails++;
	return ntails;
}

/* Directory entry of the tail for messages of a child; the node has one */
int
betree_node_tail_of(Page page, int child)
{
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	int			at = BetreePageGetOpaque(page)->bteo_nlog;
	int			end = at + betree_node_ntails(page);

	Assert(at < end);

	while (at + 1 < end && BetreeDirGetFirst(&dir[at + 1]) <= child)
		at++;
	return at;
}

/* Do a child and the next one share a tail, or has the node none? */
bool
betree_node_same_tail(Page page, int child)
{
	return betree_node_ntails(page) == 0 ||
		betree_node_tail_of(page, child) == betree_node_tail_of(page, child + 1);
}

/* Has the node anything in its log? */
bool
betree_node_has_log(Page page)
{
	return BetreePageGetOpaque(page)->bteo_nlog > 0 ||
		betree_node_ntails(page) > 0;
}

/* Add an entry of no sealed page at the end of the directory, which has room */
void
betree_node_add_dir(Page page, BlockNumber blkno, int kind, uint32 seq)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *entry = BetreeNodeGetDir(page) + opaque->bteo_ndir;

	if (opaque->bteo_ndir >= opaque->bteo_ncap)
		elog(ERROR, "betree log directory is full");
	entry->bted_block = blkno;
	entry->bted_seq = (uint16) seq;
	entry->bted_kind = kind;
	opaque->bteo_ndir++;
}

/* Remove directory entry "at", which is of no log page */
void
betree_node_remove_dir(Page page, int at)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);

	Assert(at >= opaque->bteo_nlog && at < opaque->bteo_ndir);
	memmove(&dir[at], &dir[at + 1],
			(opaque->bteo_ndir - at - 1) * sizeof(BetreeDirEntry));
	opaque->bteo_ndir--;
}

/* Index of the first directory entry of a kind, or -1 */
int
betree_node_find_dir(Page page, int kind)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);

	for (int i = 0; i < opaque->bteo_ndir; i++)
	{
		if (dir[i].bted_kind == kind)
			return i;
	}
	return -1;
}

/* The directory entry of a kind that a node must have */
BetreeDirEntry *
betree_node_get_dir(Page page, int kind)
{
	int			at = betree_node_find_dir(page, kind);

	if (at < 0)
		betree_page_report_item(page);
	return BetreeNodeGetDir(page) + at;
}

/* Number of a node's pages of a kind, filter or Bloom pages */
int
betree_node_count_dir(Page page, int kind)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	int			n = 0;

	for (int i = opaque->bteo_nlog; i < opaque->bteo_ndir; i++)
		n += (dir[i].bted_kind & BETREE_DIR_KIND_MASK) == kind;
	return n;
}

/* Directory entries that the log can have: those of no other kind of page */
int
betree_node_log_capacity(Page page)
{
	return BetreePageGetOpaque(page)->bteo_ncap -
		betree_node_nfilters(page) - betree_node_nblooms(page);
}

/*
 * betree_node_raise_lagging
 *		Raise to where the log begins the markers, and what filter pages cover,
 *		that lag behind.
 *
 * The log has nothing as old as that for the children concerned.  Numbers are
 * compared modulo 2^BETREE_MARKER_BITS, so none may lag too far.
 */
void
betree_node_raise_lagging(Page page)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	uint16		seq = (uint16) BetreeNodeLogStart(page);

	Assert(opaque->bteo_kind == BETREE_NODE);

	for (int i = 0; i < BetreeNodeNumChildren(page); i++)
	{
		IndexTuple	pivot = BetreeNodeGetPivot(page, i);

		if (BetreeSeqNewer(seq, BetreePivotGetMarker(pivot)))
			BetreePivotSetMarker(pivot, seq);
	}
	for (int i = opaque->bteo_nlog; i < opaque->bteo_ndir; i++)
	{
		if (BetreeDirIsFilter(&dir[i]) && BetreeSeqNewer(seq, dir[i].bted_seq))
			dir[i].bted_seq = seq;
	}
}

/*
 * betree_node_drop_log
 *		Turn the oldest "nlog" pages of the log into spare ones.
 *
 * The caller has made sure that no child misses anything from them.
 */
void
betree_node_drop_log(Page page, int nlog)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	BetreeDirEntry dropped[BETREE_NCAP_MAX];

	Assert(nlog > 0 && nlog <= opaque->bteo_nlog);
	memcpy(dropped, dir, nlog * sizeof(BetreeDirEntry));
	memmove(dir, dir + nlog,
			(opaque->bteo_ndir - nlog) * sizeof(BetreeDirEntry));
	for (int i = 0; i < nlog; i++)
	{
		dropped[i].bted_kind = BETREE_DIR_SPARE;
		dropped[i].bted_seq = 0;
		dir[opaque->bteo_ndir - nlog + i] = dropped[i];
	}
	opaque->bteo_nlog -= nlog;
	betree_node_raise_lagging(page);
}

/*
 * betree_node_infinite_pivot
 *		A pivot below (or, "plus", a high key above) everything, palloc'd.
 */
IndexTuple
betree_node_infinite_pivot(bool plus)
{
	IndexTuple	pivot = palloc0(MAXALIGN(sizeof(IndexTupleData)));

	pivot->t_info = MAXALIGN(sizeof(IndexTupleData));
	BetreePivotSetChild(pivot, InvalidBlockNumber);
	BetreePivotSet(pivot, plus ? BETREE_NATTS_PLUSINF : 0, 0);
	return pivot;
}

/*
 * betree_node_log_span
 *		How far the oldest page of a NODE's log, which has one, is behind the
 *		number "seq".  More than BETREE_SEQ_SPAN_MAX, and numbers do not tell.
 */
uint32
betree_node_log_span(Page page, uint32 seq)
{
	Assert(BetreePageGetOpaque(page)->bteo_nlog > 0);

	return (seq - BetreeNodeGetDir(page)[0].bted_seq) & BETREE_MARKER_MASK;
}

/*
 * betree_node_shift_log
 *		The children behind "child" move by "delta" places.
 *
 * If they make room, what the log holds for "child" may be for the new ones, too.
 */
void
betree_node_shift_log(Page page, int child, int delta)
{
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	int			end = BetreePageGetOpaque(page)->bteo_nlog + betree_node_ntails(page);

	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	for (int i = 0; i < end; i++)
	{
		int			first = BetreeDirGetFirst(&dir[i]);

		if (first > child)
			dir[i].bted_kind += delta * (1 << BETREE_DIR_LOG_BITS);
	}
}

/*
 * betree_node_count_batch
 *		Count a batch that goes to a child; returns the histogram's counter,
 *		which has been changed besides btec_messages.
 */
uint32 *
betree_node_count_batch(Page page, int nitems)
{
	BetreeCounters counters = BetreeNodeGetCounters(page);
	int			bucket = pg_leftmost_one_pos32(Max(nitems, 1));

	Assert(nitems >= 0);
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	counters->btec_messages += nitems;
	bucket = Min(bucket, BETREE_HISTOGRAM_SIZE - 1);
	counters->btec_flushes[bucket]++;
	return &counters->btec_flushes[bucket];
}
