/*-------------------------------------------------------------------------
 *
 * betree_page.c
 *	  Pages of the betree index: making them, and changing their parts.
 *
 * The functions here work on a page image, be it GenericXLog's copy, a page
 * of a build in local memory, or a buffer; they neither lock nor log.  See
 * betree_page.h for the formats.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree_page.h"

#include "port/pg_bitutils.h"
#include "utils/rel.h"

/*
 * betree_report_damaged_item
 *		The error for an item that is not inside its page, or is cut off.
 *
 * Found while comparing, where the index and the block are not known: the
 * checker names them.
 */
void
betree_report_damaged_item(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("betree index contains a damaged item"),
			 errhint("Find the index by betree_index_check(), and REINDEX it.")));
}

/*
 * betree_page_init
 *		Make an empty page of the given kind; "ncap" counts for a NODE only.
 */
void
betree_page_init(Page page, int kind, int level, int ncap)
{
	BetreePageOpaque opaque;

	Assert(kind >= BETREE_META && kind <= BETREE_FREE);
	Assert(level >= 0 && level < BETREE_MAX_HEIGHT);
	Assert(kind == BETREE_NODE ? ncap >= 0 && ncap <= BETREE_NCAP_MAX : ncap == 0);
	Assert((level > 0) == (kind == BETREE_NODE) || kind == BETREE_LOG ||
		   kind == BETREE_FILTER);

	PageInit(page, BLCKSZ,
			 kind == BETREE_NODE ? BetreeNodeSpecialSize(ncap) :
			 sizeof(BetreePageOpaqueData));
	opaque = BetreePageGetOpaque(page);
	opaque->bteo_kind = kind;
	opaque->bteo_level = level;
	opaque->bteo_ncap = ncap;
	opaque->bteo_page_id = BETREE_PAGE_ID;
}

/* May an allocation take this page?  Caller holds it exclusively. */
bool
betree_page_is_reusable(Page page)
{
	return PageIsNew(page) ||
		(PageGetSpecialSize(page) == sizeof(BetreePageOpaqueData) &&
		 BetreePageGetOpaque(page)->bteo_page_id == BETREE_PAGE_ID &&
		 BetreePageGetOpaque(page)->bteo_kind == BETREE_FREE);
}

/*
 * betree_page_is_lost
 *		Was a page that nothing refers to lost in a crash?
 *
 * It belongs to a log then, and is older than "start", where the caller began
 * to look at what is referred to.  Without WAL no crash leaves such pages, and
 * their LSN means nothing.
 */
bool
betree_page_is_lost(Relation rel, Page page, XLogRecPtr start)
{
	return RelationNeedsWAL(rel) && !PageIsNew(page) &&
		PageGetSpecialSize(page) == sizeof(BetreePageOpaqueData) &&
		BetreePageGetOpaque(page)->bteo_page_id == BETREE_PAGE_ID &&
		BetreePageGetOpaque(page)->bteo_kind == BETREE_LOG &&
		PageGetLSN(page) < start;
}

/*
 * Add a tuple behind the others.  The caller has made sure that it fits, unless
 * the items that it counted overlap, as no sound page's do.
 */
void
betree_page_add(Page page, IndexTuple itup)
{
	if (PageAddItem(page, (Item) itup, IndexTupleSize(itup),
					OffsetNumberNext(PageGetMaxOffsetNumber(page)),
					false, false) == InvalidOffsetNumber)
		betree_report_damaged_item();
}

/*
 * Space that the live items take, with their item pointers.  Deletions leave
 * the bytes of tuples behind, so pd_upper does not tell.
 */
int
betree_page_live_space(Page page)
{
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	int			space = 0;

	for (OffsetNumber off = FirstOffsetNumber; off <= maxoff; off++)
		space += MAXALIGN(ItemIdGetLength(PageGetItemId(page, off))) +
			sizeof(ItemIdData);
	return space;
}

/*
 * betree_page_delete_items
 *		Remove items, given in ascending order, from a LEAF or LOG page.
 *
 * Only item pointers move; the bytes of the tuples stay as garbage until the
 * page is next rewritten, for moving them would make the WAL record as long
 * as the page.  The sorted prefix of a LOG page shrinks by what it loses.
 */
void
betree_page_delete_items(Page page, OffsetNumber *offsets, int noffsets)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	PageHeader	header = (PageHeader) page;
	OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
	OffsetNumber to = FirstOffsetNumber;
	int			next = 0;
	int			nsorted = opaque->bteo_nsorted;

	Assert(noffsets > 0 && noffsets <= maxoff);
	Assert(opaque->bteo_kind == BETREE_LEAF || opaque->bteo_kind == BETREE_LOG);
	for (int i = 1; i < noffsets; i++)
		Assert(offsets[i - 1] < offsets[i]);

	for (OffsetNumber from = FirstOffsetNumber; from <= maxoff; from++)
	{
		if (next < noffsets && offsets[next] == from)
		{
			if (from <= nsorted)
				opaque->bteo_nsorted--;
			next++;
			continue;
		}
		if (to != from)
			*PageGetItemId(page, to) = *PageGetItemId(page, from);
		to = OffsetNumberNext(to);
	}
	header->pd_lower -= noffsets * sizeof(ItemIdData);
	if (to == FirstOffsetNumber)
		header->pd_upper = header->pd_special;
}

/* Make the metapage */
void
betree_meta_init(Page page, int nkeyatts, int natts, uint32 tuple_width)
{
	BetreeMetaPage meta;

	Assert(nkeyatts >= 1 && nkeyatts <= natts && natts <= INDEX_MAX_KEYS);

	betree_page_init(page, BETREE_META, 0, 0);
	meta = BetreePageGetMeta(page);
	meta->btem_magic = BETREE_MAGIC;
	meta->btem_version = BETREE_VERSION;
	meta->btem_nkeyatts = nkeyatts;
	meta->btem_natts = natts;
	meta->btem_tuple_width = tuple_width;
	/* generic WAL keeps what is below pd_lower only */
	((PageHeader) page)->pd_lower =
		((char *) meta + sizeof(BetreeMetaPageData)) - (char *) page;
}

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

/* Block of the page that takes appends, or InvalidBlockNumber */
BlockNumber
betree_node_tail(Page page)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);

	Assert(opaque->bteo_kind == BETREE_NODE);

	if (opaque->bteo_ndir > opaque->bteo_nlog &&
		dir[opaque->bteo_nlog].bted_kind == BETREE_DIR_TAIL)
		return dir[opaque->bteo_nlog].bted_block;
	return InvalidBlockNumber;
}

/* Add an entry at the end of the directory, which has room for it. */
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
	if (kind == BETREE_DIR_SEALED)
		opaque->bteo_nlog++;
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

/* Number of a node's filter pages */
int
betree_node_nfilters(Page page)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	int			nfilters = 0;

	for (int i = opaque->bteo_nlog; i < opaque->bteo_ndir; i++)
		nfilters += BetreeDirIsFilter(&dir[i]);
	return nfilters;
}

/*
 * betree_node_raise
 *		Raise to where the log begins the markers, and what filter pages cover,
 *		that lag behind.
 *
 * The log has nothing as old as that for the children concerned.  Numbers are
 * compared modulo 2^BETREE_MARKER_BITS, so none may lag too far.
 */
void
betree_node_raise(Page page)
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
	betree_node_raise(page);
}

/*
 * betree_pivot_infinite
 *		A pivot below (or, "plus", a high key above) everything, palloc'd.
 */
IndexTuple
betree_pivot_infinite(bool plus)
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
 * betree_node_log_ordered
 *		Is log page "i" newer than the one before it, and not newer than the
 *		newest number given?
 */
bool
betree_node_log_ordered(Page page, int i)
{
	BetreeDirEntry *dir = BetreeNodeGetDir(page);

	Assert(i >= 0 && i < BetreePageGetOpaque(page)->bteo_nlog);

	return !BetreeSeqNewer(dir[i].bted_seq, BetreePageGetOpaque(page)->bteo_seq) &&
		(i == 0 || BetreeSeqNewer(dir[i].bted_seq, dir[i - 1].bted_seq));
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
