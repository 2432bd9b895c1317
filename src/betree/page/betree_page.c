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

#include "base/core.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_page.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* items that a page takes space for when one comes, itself included */
#define ROOM_ITEMS		8

/*
 * betree_page_report_item
 *		The error for an item that is not inside its page, or is cut off.
 *
 * It is found while comparing, where the index and the block are not at hand.
 * "where" is an address inside the page.  If that is a buffer, it tells the
 * block; a copy of a page or of an item does not.
 */
void
betree_page_report_item(const void *where)
{
	Relation	rel = betree_entry_index();
	Buffer		buf = ecp_buffer_at(where);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("betree index contains a damaged item"),
				 errhint("Find the index by betree_index_check(), and REINDEX it.")));
	if (!BufferIsValid(buf))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" contains a damaged item",
						RelationGetRelationName(rel)),
				 errhint("Please REINDEX it.")));
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains a damaged item at block %u",
					RelationGetRelationName(rel), BufferGetBlockNumber(buf)),
			 errhint("Please REINDEX it.")));
}

/*
 * betree_page_init
 *		Make an empty page of the given kind; "ncap" counts for a NODE only.
 */
void
betree_page_init(Page page, int kind, int level, int ncap)
{
	BetreePageOpaque opaque;

	Assert(kind >= BETREE_META && kind <= BETREE_KIND_MAX);
	Assert(level >= 0 && level < BETREE_MAX_HEIGHT);
	Assert(kind == BETREE_NODE ? ncap >= 0 && ncap <= BETREE_NCAP_MAX : ncap == 0);
	Assert((level > 0) == (kind == BETREE_NODE) || kind == BETREE_LOG ||
		   kind == BETREE_FILTER || kind == BETREE_BLOOM);

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
 * It belongs to a log or is a Bloom page then, and is older than "start", where
 * the caller began to look at what is referred to.  Without WAL no crash leaves
 * such pages, and their LSN means nothing.
 */
bool
betree_page_is_lost(Relation rel, Page page, XLogRecPtr start)
{
	return RelationNeedsWAL(rel) && !PageIsNew(page) &&
		PageGetSpecialSize(page) == sizeof(BetreePageOpaqueData) &&
		BetreePageGetOpaque(page)->bteo_page_id == BETREE_PAGE_ID &&
		(BetreePageGetOpaque(page)->bteo_kind == BETREE_LOG ||
		 BetreePageGetOpaque(page)->bteo_kind == BETREE_BLOOM) &&
		PageGetLSN(page) < start;
}

/*
 * Add a tuple behind the others.  The caller has made sure that it fits, unless
 * the items that it counted overlap, as no sound page's do.
 */
void
betree_page_add(Page page, IndexTuple itup)
{
	if (PageAddItem(page, (Pointer) itup, IndexTupleSize(itup),
					OffsetNumberNext(PageGetMaxOffsetNumber(page)),
					false, false) == InvalidOffsetNumber)
		betree_page_report_item(page);
}

/*
 * Space that the live items take, with their item pointers.  Deletions leave
 * the bytes of tuples behind, so pd_upper does not tell.
 */
int
betree_page_live_space(Page page)
{
	OffsetNumber maxoff = betree_page_nitems(page);
	int			space = 0;

	for (OffsetNumber off = FirstOffsetNumber; off <= maxoff; off++)
		space += MAXALIGN(ItemIdGetLength(PageGetItemId(page, off))) +
			sizeof(ItemIdData);
	return space;
}

/*
 * betree_page_upper
 *		Where the free space of a LEAF or LOG page ends: at pd_upper, or above,
 *		where there are zeros.  No item begins with them.
 */
int
betree_page_upper(Page page)
{
	PageHeader	header = (PageHeader) page;
	int			upper = MAXALIGN(header->pd_upper); /* of a damaged page, too */

	while (upper < header->pd_special && *(uint64 *) (page + upper) == 0)
		upper += sizeof(uint64);
	return upper;
}

/*
 * betree_page_find_room
 *		Find room for items of "bytes" in a LEAF or LOG page that may have "max_items".
 *
 * Takes some more of the hole than a few items need, if there is as much, for those
 * that come after them.
 */
bool
betree_page_find_room(Page page, int nnew, int bytes, int max_items, BetreeRoom *room)
{
	PageHeader	header = (PageHeader) page;
	int			upper = betree_page_upper(page);

	Assert(nnew > 0 && bytes == MAXALIGN(bytes));

	room->nitems = betree_page_nitems(page);
	room->nnew = nnew;
	room->bytes = bytes;
	if (room->nitems + nnew > max_items)
		return false;
	room->upper = upper - bytes;
	room->bounds[0] = header->pd_lower;
	room->bounds[1] = header->pd_upper;
	if (room->nitems + nnew <= PageGetMaxOffsetNumber(page) &&
		upper - bytes >= header->pd_upper)
		return true;

	for (int more = Max(ROOM_ITEMS - nnew, 0); more >= 0; more = more > 0 ? 0 : -1)
	{
		int			lower = SizeOfPageHeaderData +
			(room->nitems + nnew + more) * (int) sizeof(ItemIdData);
		int			new_upper = upper - bytes - more * MAXALIGN(bytes / nnew);

		room->bounds[0] = Max(header->pd_lower, lower);
		if (room->nitems + nnew + more > max_items || new_upper < (int) room->bounds[0])
			continue;
		/* zeros above pd_upper may become item pointers */
		room->bounds[1] = Max(Min(header->pd_upper, new_upper),
							  MAXALIGN(room->bounds[0]));
		return true;
	}
	return false;
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
	OffsetNumber maxoff = betree_page_nitems(page);
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
	header->pd_lower = SizeOfPageHeaderData + (to - 1) * sizeof(ItemIdData);
	if (to == FirstOffsetNumber)
		header->pd_upper = header->pd_special;
}

/*
 * betree_page_compact
 *		Close the gaps that removed items have left in a LOG page.
 */
void
betree_page_compact(Page page)
{
	PageHeader	header = (PageHeader) page;
	OffsetNumber maxoff = betree_page_nitems(page);
	PGAlignedBlock copy;
	int			upper = header->pd_special;

	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_LOG);

	header->pd_lower = SizeOfPageHeaderData + maxoff * sizeof(ItemIdData);
	memcpy(copy.data, page, BLCKSZ);
	for (OffsetNumber off = FirstOffsetNumber; off <= maxoff; off++)
	{
		IndexTuple	itup = BetreePageGetTuple(copy.data, off);
		Size		size = IndexTupleSize(itup);

		upper -= MAXALIGN(size);
		/* more than fit: they overlap */
		if (upper < header->pd_lower)
			betree_page_report_item(page);
		memcpy(page + upper, itup, size);
		ItemIdSetNormal(PageGetItemId(page, off), upper, size);
	}
	header->pd_upper = upper;
}

/*
 * betree_page_shrink_item
 *		Put a tuple that is not longer in the place of an item of a LEAF.
 *
 * Nothing else moves, for the sake of the WAL record.
 */
void
betree_page_shrink_item(Page page, OffsetNumber off, IndexTuple itup)
{
	ItemId		iid = PageGetItemId(page, off);

	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_LEAF);

	if (IndexTupleSize(itup) > ItemIdGetLength(iid))
		betree_page_report_item(page);
	memcpy((char *) page + ItemIdGetOffset(iid), itup, IndexTupleSize(itup));
	ItemIdSetNormal(iid, ItemIdGetOffset(iid), IndexTupleSize(itup));
}

/* Make the metapage */
void
betree_page_init_meta(Page page, int nkeyatts, int natts, uint32 tuple_width)
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
