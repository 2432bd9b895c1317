/*-------------------------------------------------------------------------
 *
 * betree_page.h
 *	  On-disk formats of the betree index, and their accessors.
 *
 * Every page is a standard page with item pointers, so that full-page images
 * drop the hole; every payload is an item, or in the special area, or (META,
 * FILTER, BLOOM) below pd_lower: generic WAL zeroes what lies between.
 *
 *	block 0   META   BetreeMetaPageData below pd_lower
 *	block 1   NODE   the root, always: it grows by pushing its contents down
 *	others    NODE | LEAF | LOG | FILTER | BLOOM | FREE, as bteo_kind says
 *
 *	NODE	  item 1 is the high key, items 2.. are the pivots in key order,
 *			  each the lower bound of one child.  The special area holds the
 *			  log directory, the counters, and the opaque data:
 *
 *	pd_special	BetreeDirEntry[bteo_ncap]
 *				BetreeCountersData
 *				BetreePageOpaqueData		(the last 32 bytes of any page)
 *
 *	LEAF	  index tuples, ascending by (key, heap TID); postings among them,
 *			  see below
 *	LOG		  index tuples; the first bteo_nsorted ascending by (key, TID),
 *			  the others in order of arrival.  bteo_seq = 0 while it is the
 *			  tail of its node's log, its number in the log afterwards.
 *
 * The last item pointers of a LEAF or LOG page may be unused, and bytes above
 * pd_upper zero: room for a few items, so that the next ones change neither bound
 * and have a shorter WAL record (betree_page_find_room).
 *
 * A pivot is an index tuple whose t_tid is not a heap TID: its block number
 * is the child, its offset number holds the marker (low 10 bits) and the
 * number of key attributes (high 6 bits); the attributes behind them are
 * minus infinity.  INDEX_AM_RESERVED_BIT says that a heap TID follows at the
 * end of the tuple.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_PAGE_H
#define BETREE_PAGE_H

#include "access/itup.h"
#include "base/compat.h"
#include "storage/block.h"
#include "storage/bufpage.h"
#include "storage/off.h"
#include "utils/relcache.h"

#define BETREE_MAGIC			0xBE7E0001
#define BETREE_VERSION			1
#define BETREE_PAGE_ID			0xFF9B	/* last two bytes of every page */

#define BETREE_MAX_HEIGHT		24	/* levels, leaves included */

#define BETREE_META_BLKNO		0
#define BETREE_ROOT_BLKNO		1

/* values of bteo_kind */
#define BETREE_META				1
#define BETREE_NODE				2
#define BETREE_LEAF				3
#define BETREE_LOG				4
#define BETREE_FILTER			5
#define BETREE_FREE				6
#define BETREE_BLOOM			7
#define BETREE_KIND_MAX			BETREE_BLOOM

/*
 * Metapage.
 *
 *	OFFSET SIZE  FIELD
 *	  0     4    btem_magic
 *	  4     4    btem_version
 *	  8     2    btem_nkeyatts		key attributes, for the checker
 *	 10     2    btem_natts			all attributes
 *	 12     4    btem_tuple_width	mean tuple size seen by the build, or 0
 */
typedef struct BetreeMetaPageData
{
	uint32		btem_magic;
	uint32		btem_version;
	uint16		btem_nkeyatts;
	uint16		btem_natts;
	uint32		btem_tuple_width;
} BetreeMetaPageData;

typedef BetreeMetaPageData *BetreeMetaPage;

#define BetreePageGetMeta(page)	((BetreeMetaPage) PageGetContents(page))

/*
 * Opaque data at the end of every page.
 *
 *	OFFSET SIZE  FIELD
 *	  0     4    bteo_seq		LOG: number in the log, if sealed.
 *								NODE: the newest number given
 *	  4     4    bteo_drain		NODE: the drain under way absorbs the log up to
 *								this number, 0 = none
 *	  8     4    bteo_owner		LOG, FILTER, BLOOM: node that took the page (a hint:
 *								pages change hands in splits)
 *	 12     2    bteo_ncap		NODE: directory capacity, 0 = owns no log
 *	 14     2    bteo_nlog		NODE: sealed pages, directory entries 0..nlog-1
 *	 16     2    bteo_ndir		NODE: directory entries in use
 *	 18     2    bteo_nsorted	LOG: length of the sorted prefix
 *	 20     4    bteo_hash_id	FILTER, BLOOM: identity of the hash functions
 *	 24     1    bteo_kind
 *	 25     1    bteo_level		0 = leaf; LOG: level of its node
 *	 26     2    bteo_flags
 *	 28     2    unused
 *	 30     2    bteo_page_id
 */
typedef struct BetreePageOpaqueData
{
	uint32		bteo_seq;
	uint32		bteo_drain;
	uint32		bteo_owner;
	uint16		bteo_ncap;
	uint16		bteo_nlog;
	uint16		bteo_ndir;
	uint16		bteo_nsorted;
	uint32		bteo_hash_id;
	uint8		bteo_kind;
	uint8		bteo_level;
	uint16		bteo_flags;
	uint16		bteo_unused;
	uint16		bteo_page_id;
} BetreePageOpaqueData;

typedef BetreePageOpaqueData *BetreePageOpaque;

/* values of bteo_flags */
#define BETREE_DRAINED			0x0001	/* NODE: a drain has been finished */

StaticAssertDecl(sizeof(BetreePageOpaqueData) == 32,
				 "betree page opaque data is 32 bytes");

#define BetreePageGetOpaque(page) \
	((BetreePageOpaque) ((char *) (page) + BLCKSZ - sizeof(BetreePageOpaqueData)))

/*
 * Counters of one node, changed in the WAL records of its flushes, so that
 * they cost a few bytes there and survive a crash.  btec_flushes[i] counts
 * batches of 2^i to 2^(i+1)-1 messages (the last one: and more).
 */
#define BETREE_HISTOGRAM_SIZE	11

typedef struct BetreeCountersData
{
	uint32		btec_messages;	/* messages moved to the children, mod 2^32 */
	uint32		btec_flushes[BETREE_HISTOGRAM_SIZE];
} BetreeCountersData;

typedef BetreeCountersData *BetreeCounters;

StaticAssertDecl(sizeof(BetreeCountersData) == 48,
				 "betree counters are 48 bytes");

/*
 * Directory entry.  The order is: sealed pages, oldest first; the tails; then
 * spare pages, filter pages and Bloom pages in any order.  The upper byte of a
 * filter or Bloom page's kind is its number among those of its kind.  A filter
 * page's bted_seq tells what it covers: log pages with newer numbers.
 *
 * A log page is for an interval of children.  The upper 13 bits of its kind are
 * the first of them; the first child of the next tail, or of the next sealed
 * page with the same number, ends it, the last one has the rest.  The first tail
 * begins with child 0, whatever it bears.
 */
typedef struct BetreeDirEntry
{
	uint32		bted_block;
	uint16		bted_seq;		/* low bits of the page's bteo_seq */
	uint16		bted_kind;		/* BETREE_DIR_*, with a page's number */
} BetreeDirEntry;

#define BETREE_DIR_SEALED			1	/* sealed page */
#define BETREE_DIR_TAIL			2	/* page that takes appends */
#define BETREE_DIR_SPARE		3	/* absorbed page, to be used again */
#define BETREE_DIR_FILTER		4	/* fingerprints of the sealed pages */
#define BETREE_DIR_BLOOM			6	/* Bloom filters of the leaves */
#define BETREE_DIR_KIND_MASK	0xFF
#define BETREE_DIR_LOG_BITS		3	/* of a log page's kind; the rest is the
									 * child */

#define BETREE_DIR_FILTER_NUMBER(number) \
	(BETREE_DIR_FILTER | ((number) << 8))
#define BetreeDirIsFilter(entry) \
	(((entry)->bted_kind & BETREE_DIR_KIND_MASK) == BETREE_DIR_FILTER)
#define BETREE_DIR_BLOOM_NUMBER(number) \
	(BETREE_DIR_BLOOM | ((number) << 8))
#define BetreeDirIsBloom(entry) \
	(((entry)->bted_kind & BETREE_DIR_KIND_MASK) == BETREE_DIR_BLOOM)
#define BetreeDirGetNumber(entry)	((entry)->bted_kind >> 8)
#define BETREE_DIR_LOG(kind, first) \
	((kind) | ((first) << BETREE_DIR_LOG_BITS))
#define BetreeDirIsLog(entry, kind) \
	(((entry)->bted_kind & ((1 << BETREE_DIR_LOG_BITS) - 1)) == (kind))
#define BetreeDirIsSealed(entry)	BetreeDirIsLog(entry, BETREE_DIR_SEALED)
#define BetreeDirIsTail(entry)		BetreeDirIsLog(entry, BETREE_DIR_TAIL)
/* first child of a sealed page or a tail */
#define BetreeDirGetFirst(entry) \
	((int) ((entry)->bted_kind >> BETREE_DIR_LOG_BITS))

StaticAssertDecl(MaxIndexTuplesPerPage < (1 << (16 - BETREE_DIR_LOG_BITS)),
				 "the number of a child fits a directory entry");

/* tails of a node, at most */
#ifdef BETREE_TINY
#define BETREE_TAILS_MAX		3
#else
#define BETREE_TAILS_MAX		8
#endif

#define BetreeNodeGetDir(page) \
	((BetreeDirEntry *) PageGetSpecialPointer(page))
/* number just before the oldest sealed page's, or the newest given if none */
#define BetreeNodeLogStart(page) \
	(BetreePageGetOpaque(page)->bteo_nlog > 0 ? \
	 BetreeNodeGetDir(page)[0].bted_seq - 1U : \
	 BetreePageGetOpaque(page)->bteo_seq)
#define BetreeNodeGetCounters(page) \
	((BetreeCounters) ((char *) (page) + BLCKSZ - \
					   sizeof(BetreePageOpaqueData) - \
					   sizeof(BetreeCountersData)))

/* the error of BetreePageGetTuple() */
pg_noreturn extern void betree_page_report_item(const void *where);

/* Items of a NODE */
#define BETREE_HIKEY			1
#define BETREE_FIRST_PIVOT		2

#define BetreeNodeNumChildren(page) \
	((int) PageGetMaxOffsetNumber(page) - 1)
/*
 * Get an item.  What a damaged page could make us read outside of it is
 * checked here: it costs little beside the comparison that follows.
 */
static inline IndexTuple
BetreePageGetTuple(Page page, OffsetNumber off)
{
	ItemId		iid = PageGetItemId(page, off);
	IndexTuple	itup = (IndexTuple) ((char *) page + ItemIdGetOffset(iid));

	if (unlikely(ItemIdGetOffset(iid) < SizeOfPageHeaderData ||
				 ItemIdGetOffset(iid) % MAXIMUM_ALIGNOF != 0 ||
				 ItemIdGetOffset(iid) + ItemIdGetLength(iid) >
				 ((PageHeader) page)->pd_special ||
				 ItemIdGetLength(iid) < sizeof(IndexTupleData) ||
				 IndexTupleSize(itup) < sizeof(IndexTupleData) ||
				 IndexTupleSize(itup) > ItemIdGetLength(iid)))
		betree_page_report_item(page);
	return itup;
}

/* Number of items of a LEAF or LOG page: what is behind the last one is unused */
static inline int
betree_page_nitems(Page page)
{
	int			n = (int) PageGetMaxOffsetNumber(page);

	while (n > 0 && !ItemIdIsUsed(PageGetItemId(page, n)))
		n--;
	return n;
}

#define BetreeNodeGetHikey(page) \
	BetreePageGetTuple(page, BETREE_HIKEY)
#define BetreeNodeGetPivot(page, child) \
	BetreePageGetTuple(page, BETREE_FIRST_PIVOT + (child))
/* upper bound of a child: the next pivot, or the node's high key */
#define BetreeNodeGetUpper(page, child) \
	((child) + 1 < BetreeNodeNumChildren(page) ? \
	 BetreeNodeGetPivot(page, (child) + 1) : BetreeNodeGetHikey(page))

/* Pivots */
#define BETREE_MARKER_BITS		10
#define BETREE_MARKER_MASK		((1 << BETREE_MARKER_BITS) - 1)
#define BETREE_NATTS_PLUSINF	63
#define BETREE_PIVOT_TID_BIT	INDEX_AM_RESERVED_BIT

StaticAssertDecl(INDEX_MAX_KEYS < BETREE_NATTS_PLUSINF,
				 "number of attributes fits a betree pivot");

#define BetreePivotGetChild(pivot) \
	BlockIdGetBlockNumber(&(pivot)->t_tid.ip_blkid)
#define BetreeNodeGetChild(page, child) \
	BetreePivotGetChild(BetreeNodeGetPivot(page, child))
#define BetreePivotSetChild(pivot, blk) \
	BlockIdSet(&(pivot)->t_tid.ip_blkid, (blk))
#define BetreePivotGetMarker(pivot) \
	((pivot)->t_tid.ip_posid & BETREE_MARKER_MASK)
#define BetreePivotGetNatts(pivot) \
	((int) ((pivot)->t_tid.ip_posid >> BETREE_MARKER_BITS))
#define BetreePivotSet(pivot, natts, marker) \
	((pivot)->t_tid.ip_posid = \
	 (OffsetNumber) (((natts) << BETREE_MARKER_BITS) | \
					 ((marker) & BETREE_MARKER_MASK)))
#define BetreePivotSetMarker(pivot, marker) \
	BetreePivotSet(pivot, BetreePivotGetNatts(pivot), marker)
#define BetreePivotHasTid(pivot) \
	(((pivot)->t_info & BETREE_PIVOT_TID_BIT) != 0)
#define BetreePivotGetTid(pivot) \
	((ItemPointer) ((char *) (pivot) + IndexTupleSize(pivot) - \
					MAXALIGN(sizeof(ItemPointerData))))

/*
 * Postings.  An item of a LEAF may be of several rows whose keys are the same,
 * bit for bit; INDEX_AM_RESERVED_BIT tells.  Its t_tid is the least of their
 * TIDs, so that it is compared like any other tuple.  All between the first and
 * the last TID belongs to it: the next item of the leaf is above its last.
 *
 *	OFFSET		FIELD
 *	  0			IndexTupleData, its size is that of all this
 *	  8			NULL bits and values, as in the tuple of one row
 *	key size	the other TIDs, ascending: the distance of each from the one
 *				before it, seven bits in a byte, low ones first; all bytes of a
 *				distance but its last have the high bit set
 *				zeros, less than MAXALIGN
 *	size - 4	BetreePostingTailData
 *
 * The distance is that of TIDs as numbers (BetreeTidNumber).
 */
typedef struct BetreePostingTailData
{
	uint16		btpt_key_size;	/* of the tuple of one row */
	uint16		btpt_nrows;
} BetreePostingTailData;

StaticAssertDecl(sizeof(BetreePostingTailData) == 4,
				 "tail of a betree posting is 4 bytes");

#define BETREE_POSTING_BIT		INDEX_AM_RESERVED_BIT

#define BetreeTupleIsPosting(itup) \
	(((itup)->t_info & BETREE_POSTING_BIT) != 0)

/* bits of a line pointer's number; a TID with a larger one has its own item */
#define BETREE_POSTING_OFFSET_BITS	(BLCKSZ <= 8192 ? 9 : 11)

/*
 * Bytes of distances, and rows.  Longer postings save little, and are read as a
 * whole; and none is longer than any tuple may be (BetreeMaxItemSize).  A key
 * that leaves less than the lesser number of bytes gets no posting.
 */
#define BETREE_POSTING_BYTES_MAX	512
#define BETREE_POSTING_BYTES_MIN	64

/*
 * Is number a newer than number b, both modulo 2^BETREE_MARKER_BITS?  The
 * numbers in use at one time span less than half of that range
 * (BETREE_SEQ_SPAN_MAX).
 */
#define BetreeSeqNewer(a, b) \
	(((((uint32) (a)) - ((uint32) (b))) & BETREE_MARKER_MASK) - 1 < \
	 (1U << (BETREE_MARKER_BITS - 1)) - 1)

/* no page is sealed with a number further than this above the oldest one's */
#define BETREE_SEQ_SPAN_MAX		(1 << (BETREE_MARKER_BITS - 2))

/*
 * FILTER page: below pd_lower groups of fingerprints, each of keys of one log
 * page.  A fingerprint has 19 bits: the upper 3 are the number of a bucket, the
 * others a part, and the parts are in the order of their buckets.
 *
 *	OFFSET SIZE  FIELD
 *	  0     2    btef_seq		the log page's number
 *	  2     8    btef_ends		for each bucket, the number of parts in it and
 *								those before
 *	 10     2    btef_parts[]
 */
#define BETREE_FILTER_PAGES_MAX	15	/* of a node */
#define BETREE_FILTER_HITS		(1 << BETREE_MARKER_BITS)
#define BETREE_FILTER_BUCKETS	8
#define BETREE_FILTER_GROUP_MAX	255

typedef struct BetreeFilterGroupData
{
	uint16		btef_seq;
	uint8		btef_ends[BETREE_FILTER_BUCKETS];
	uint16		btef_parts[FLEXIBLE_ARRAY_MEMBER];
} BetreeFilterGroupData;

typedef BetreeFilterGroupData *BetreeFilterGroup;

#define BetreeFilterGroupSize(nparts) \
	((int) (offsetof(BetreeFilterGroupData, btef_parts) + \
			(nparts) * sizeof(uint16)))

StaticAssertDecl(BetreeFilterGroupSize(0) == 10,
				 "header of a group of a betree filter is 10 bytes");

/*
 * BLOOM page: below pd_lower a header and an array of slots, each the Bloom
 * filter of the keys of one leaf.  A slot is the leaf's block number, or
 * InvalidBlockNumber if it is free, and bteb_slot_bytes of bits.  Of B Bloom
 * pages of a node the one with number "block % B" has the leaf's slot, if any
 * has.
 *
 *	OFFSET SIZE  FIELD
 *	  0     4    bteb_slot_bytes	a multiple of 8
 *	  4     4    unused
 */
typedef struct BetreeBloomHeaderData
{
	uint32		bteb_slot_bytes;
	uint32		bteb_unused;
} BetreeBloomHeaderData;

typedef BetreeBloomHeaderData *BetreeBloomHeader;

StaticAssertDecl(sizeof(BetreeBloomHeaderData) == 8,
				 "header of a betree Bloom page is 8 bytes");

#define BETREE_BLOOM_PAGES_MAX	63	/* of a node */
#define BETREE_BLOOM_BYTES_MIN	32	/* of a slot's bits */

#define BetreeBloomGetHeader(page) \
	((BetreeBloomHeader) PageGetContents(page))
#define BetreeBloomSlotSize(bytes) \
	((int) sizeof(BlockNumber) + (int) (bytes))
/* how many slots fit a page */
#define BetreeBloomPageSlots(bytes) \
	Min(BETREE_BLOOM_MAX_SLOTS, \
		(BetreePageCapacity - (int) sizeof(BetreeBloomHeaderData)) / \
		BetreeBloomSlotSize(bytes))

/*
 * Sizes.  The directory's capacity is read from the page, never derived from
 * an option; BETREE_NCAP_MAX bounds it and with it the largest tuple: a node
 * with the longest directory holds a high key and four pivots.
 */
#define BETREE_NCAP_MIN			4
#define BETREE_NCAP_MAX			176

#define BetreeNodeSpecialSize(ncap) \
	(sizeof(BetreePageOpaqueData) + sizeof(BetreeCountersData) + \
	 (ncap) * sizeof(BetreeDirEntry))

#define BetreeMaxItemSize \
	(MAXALIGN_DOWN((BLCKSZ - SizeOfPageHeaderData - \
					BetreeNodeSpecialSize(BETREE_NCAP_MAX)) / 5 - \
				   sizeof(ItemIdData)) - MAXALIGN(sizeof(ItemPointerData)))

/* What the items of a LEAF or LOG page may take, item pointers included */
#define BetreePageCapacity \
	((int) (BLCKSZ - SizeOfPageHeaderData - sizeof(BetreePageOpaqueData)))
#define BetreeTupleSpace(itup) \
	((int) (MAXALIGN(IndexTupleSize(itup)) + sizeof(ItemIdData)))

/*
 * With BETREE_TINY pages hold few items, so that a test with some thousand
 * rows sees every level of a high tree.
 */
#ifdef BETREE_TINY
#define BETREE_LEAF_MAX_ITEMS	6
#define BETREE_LOG_PAGE_MAX_ITEMS	4
#define BETREE_NODE_MAX_CHILDREN 6
#define BETREE_BATCH_MAX_ITEMS	12
#define BETREE_FILTER_MAX_BYTES 110
#define BETREE_POSTING_MAX_ROWS	5
#define BETREE_BLOOM_MAX_SLOTS	2
#else
#define BETREE_LEAF_MAX_ITEMS	MaxIndexTuplesPerPage
#define BETREE_LOG_PAGE_MAX_ITEMS	MaxIndexTuplesPerPage
#define BETREE_NODE_MAX_CHILDREN MaxIndexTuplesPerPage
#define BETREE_BATCH_MAX_ITEMS	MaxIndexTuplesPerPage
#define BETREE_FILTER_MAX_BYTES BetreePageCapacity
#define BETREE_POSTING_MAX_ROWS	(BETREE_POSTING_BYTES_MAX + 1)
#define BETREE_BLOOM_MAX_SLOTS	BLCKSZ
#endif

/* Where a LEAF or LOG page takes more items, and its bounds afterwards */
typedef struct BetreeRoom
{
	int			nitems;			/* that it has */
	int			nnew;
	int			bytes;			/* of the new ones */
	LocationIndex upper;		/* of the lowest */
	LocationIndex bounds[2];	/* pd_lower, pd_upper */
} BetreeRoom;

/* most items of a leaf merged with a batch */
#define BETREE_MERGE_MAX_ITEMS	(2 * MaxIndexTuplesPerPage)

extern void betree_page_init(Page page, int kind, int level, int ncap);
extern bool betree_page_is_reusable(Page page);
extern bool betree_page_is_lost(Relation rel, Page page, XLogRecPtr start);
extern void betree_page_add(Page page, IndexTuple itup);
extern int	betree_page_live_space(Page page);
extern int	betree_page_upper(Page page);
extern bool betree_page_find_room(Page page, int nnew, int bytes, int max_items,
								  BetreeRoom *room);
extern void betree_page_delete_items(Page page, OffsetNumber *offsets,
									 int noffsets);
extern void betree_page_compact(Page page);
extern void betree_page_shrink_item(Page page, OffsetNumber off,
									IndexTuple itup);
extern void betree_page_init_meta(Page page, int nkeyatts, int natts,
								  uint32 tuple_width);

#endif							/* BETREE_PAGE_H */
