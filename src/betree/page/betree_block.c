/*-------------------------------------------------------------------------
 *
 * betree_block.c
 *	  Reading, checking, locking and allocating pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "base/core.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_page.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * betree_block_report
 *		The error for a page that cannot be what an index has there.
 */
void
betree_block_report(Relation index, Buffer buf)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains unexpected page at block %u",
					RelationGetRelationName(index),
					BufferGetBlockNumber(buf)),
			 errhint("Please REINDEX it.")));
}

/*
 * betree_block_report_order
 *		The error for a NODE whose pivots lead nowhere or backward.
 */
void
betree_block_report_order(Relation index, BlockNumber blkno)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" has pivots out of order at block %u",
					RelationGetRelationName(index), blkno),
			 errhint("Please REINDEX it.")));
}

/* Complain of a metapage that is not ours, or of a version that we do not read */
static void
verify_meta(Relation index, BetreeMetaPage meta)
{
	if (meta->btem_magic != BETREE_MAGIC || meta->btem_version != BETREE_VERSION ||
		meta->btem_natts != IndexRelationGetNumberOfAttributes(index) ||
		meta->btem_nkeyatts != IndexRelationGetNumberOfKeyAttributes(index))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has no valid betree metapage",
						RelationGetRelationName(index)),
				 errdetail("Magic number is %08X, version %u.",
						   meta->btem_magic, meta->btem_version),
				 errhint("Please REINDEX it.")));
}

/*
 * betree_block_verify_page
 *		Complain if the page is not what the caller's path says it is.
 *
 * "level" is not looked at if negative.
 */
void
betree_block_verify_page(Relation index, Buffer buf, int kind, int level)
{
	Page		page = BufferGetPage(buf);
	PageHeader	header = (PageHeader) page;
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	bool		valid;

	Assert(ecp_buffer_is_share_locked(buf));
	Assert(level < BETREE_MAX_HEIGHT);

	valid = !PageIsNew(page) &&
		PageGetPageSize(page) == BLCKSZ &&
		header->pd_lower >= SizeOfPageHeaderData &&
		header->pd_lower <= header->pd_upper &&
		header->pd_upper <= header->pd_special &&
		header->pd_upper == MAXALIGN(header->pd_upper) &&
		(kind == BETREE_FILTER || kind == BETREE_BLOOM ||
		 PageGetMaxOffsetNumber(page) <= MaxIndexTuplesPerPage) &&
		PageGetSpecialSize(page) >= sizeof(BetreePageOpaqueData) &&
		opaque->bteo_page_id == BETREE_PAGE_ID &&
		opaque->bteo_kind == kind &&
		(level < 0 || opaque->bteo_level == level);
	if (valid && kind == BETREE_NODE)
		valid = opaque->bteo_level > 0 &&
			opaque->bteo_level < BETREE_MAX_HEIGHT &&
			opaque->bteo_ncap <= BETREE_NCAP_MAX &&
			PageGetSpecialSize(page) == MAXALIGN(BetreeNodeSpecialSize(opaque->bteo_ncap)) &&
			opaque->bteo_nlog <= opaque->bteo_ndir &&
			opaque->bteo_ndir <= opaque->bteo_ncap &&
			PageGetMaxOffsetNumber(page) >= BETREE_FIRST_PIVOT;
	else if (valid)
		valid = PageGetSpecialSize(page) == sizeof(BetreePageOpaqueData) &&
			opaque->bteo_nsorted <= betree_page_nitems(page) &&
			(kind != BETREE_LEAF || opaque->bteo_level == 0);
	if (!valid)
		betree_block_report(index, buf);
	if (kind == BETREE_META)
		verify_meta(index, BetreePageGetMeta(page));
}

/*
 * betree_block_lock
 *		LockBuffer() for a page that another page, which is locked, refers to.
 *
 * In a damaged index it may refer to a page that we have locked ourselves, and
 * waiting for that would never end.
 */
void
betree_block_lock(Relation index, Buffer buf, int lockmode)
{
	if (ecp_buffer_is_locked(buf))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" refers to block %u from below or twice",
						RelationGetRelationName(index),
						BufferGetBlockNumber(buf)),
				 errhint("Please REINDEX it.")));
	LockBuffer(buf, lockmode);
}

/* Blocks of a relation when they were last counted, at least once */
BlockNumber
betree_block_last_count(Relation rel)
{
	BlockNumber nblocks = RelationGetSmgr(rel)->smgr_cached_nblocks[MAIN_FORKNUM];

	return nblocks != InvalidBlockNumber ? nblocks : RelationGetNumberOfBlocks(rel);
}

/*
 * Is a block in a relation?  What the storage manager knows of the length
 * mostly saves asking the kernel.  The index is not truncated while it is open.
 */
static inline bool
block_exists(Relation rel, BlockNumber blkno)
{
	return blkno < betree_block_last_count(rel) || blkno < RelationGetNumberOfBlocks(rel);
}

/*
 * betree_block_tid_exists
 *		May a row of the table have this TID?  Known of heaps only.
 */
bool
betree_block_tid_exists(Relation heap, ItemPointer tid)
{
	return ItemPointerIsValid(tid) &&
		(heap->rd_tableam != GetHeapamTableAmRoutine() ||
		 (ItemPointerGetOffsetNumberNoCheck(tid) <= MaxHeapTuplesPerPage &&
		  block_exists(heap, ItemPointerGetBlockNumber(tid))));
}

/*
 * betree_block_tid_limit
 *		Block below which betree_block_tid_exists() looks at offsets only.
 */
BlockNumber
betree_block_tid_limit(Relation heap)
{
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return 0;
	return betree_block_last_count(heap);
}

/*
 * betree_block_verify
 *		Complain if a block number that a page gave us is not in the index.
 *
 * The storage manager would say that it could not open or read a file; and to
 * read InvalidBlockNumber is to extend it.
 */
void
betree_block_verify(Relation index, BlockNumber blkno)
{
	if (unlikely(!block_exists(index, blkno)))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" refers to block %u, which is beyond its end",
						RelationGetRelationName(index), blkno),
				 errhint("Please REINDEX it.")));
}

/* Pin a page that another page refers to */
Buffer
betree_block_pin(Relation index, BlockNumber blkno)
{
	betree_block_verify(index, blkno);
	return ReadBuffer(index, blkno);
}

/* Read, lock and check a page of the given kind */
Buffer
betree_block_read(Relation index, BlockNumber blkno, int lockmode, int kind)
{
	Buffer		buf;

	Assert(kind >= BETREE_META && kind <= BETREE_KIND_MAX);

	buf = betree_block_pin(index, blkno);
	betree_block_lock(index, buf, lockmode);
	betree_block_verify_page(index, buf, kind, -1);
	return buf;
}

/*
 * The same through a ring of buffers, which pages that are many and wanted once
 * take from each other, not from pages that this process needs again.
 */
Buffer
betree_block_read_passing(Relation index, BlockNumber blkno, int lockmode, int kind)
{
	static BufferAccessStrategy ring = NULL;
	Buffer		buf;

	if (ring == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		ring = GetAccessStrategy(BAS_BULKREAD);
		MemoryContextSwitchTo(old);
	}
	betree_block_verify(index, blkno);
	buf = ReadBufferExtended(index, MAIN_FORKNUM, blkno, RBM_NORMAL, ring);
	betree_block_lock(index, buf, lockmode);
	betree_block_verify_page(index, buf, kind, -1);
	return buf;
}

/* The same for child "child" of a NODE, which is locked */
Buffer
betree_block_read_child(Relation index, Page node, int child, int lockmode)
{
	int			level = BetreePageGetOpaque(node)->bteo_level - 1;
	Buffer		buf;

	Assert(level >= 0);
	Assert(child >= 0 && child < BetreeNodeNumChildren(node));

	buf = betree_block_pin(index, BetreeNodeGetChild(node, child));
	betree_block_lock(index, buf, lockmode);
	betree_block_verify_page(index, buf, level > 0 ? BETREE_NODE : BETREE_LEAF, level);
	return buf;
}

/* Free pages that an allocation found locked, at most */
#define BUSY_MAX		4

/*
 * betree_block_free
 *		Tell the free space map of a page that has become of kind FREE.
 *
 * RecordFreeIndexPage() writes the map's lowest level only, where an
 * allocation does not find the page before the next VACUUM.
 */
void
betree_block_free(Relation index, BlockNumber blkno)
{
	RecordFreeIndexPage(index, blkno);
	FreeSpaceMapVacuumRange(index, blkno, blkno + 1);
}

/*
 * A page of kind FREE that the free space map knows, exclusively locked; or
 * InvalidBuffer.
 *
 * The map is a hint, not crash safe, and may name a page that is not there, or
 * that we ourselves have locked: so try the lock, and look at the page.  One
 * that another process has locked, mostly to write it out, goes back into the
 * map.
 */
static Buffer
take_free_page(Relation index)
{
	BlockNumber busy[BUSY_MAX];
	int			nbusy = 0;
	Buffer		found = InvalidBuffer;

	while (!BufferIsValid(found) && nbusy < BUSY_MAX)
	{
		BlockNumber blkno = GetFreeIndexPage(index);
		Buffer		buf;

		if (blkno == InvalidBlockNumber)
			break;
		if (!block_exists(index, blkno))
			continue;
		buf = ReadBuffer(index, blkno);
		if (!ConditionalLockBuffer(buf))
		{
			if (!ecp_buffer_is_locked(buf))
				busy[nbusy++] = blkno;
			ReleaseBuffer(buf);
		}
		else if (betree_page_is_reusable(BufferGetPage(buf)))
			found = buf;
		else
			UnlockReleaseBuffer(buf);
	}
	for (int i = 0; i < nbusy; i++)
		betree_block_free(index, busy[i]);
	return found;
}

/*
 * betree_block_alloc
 *		Get a page to write, exclusively locked; its content is garbage.
 */
Buffer
betree_block_alloc(Relation index)
{
	Buffer		buf = take_free_page(index);
	bool		extend_lock = !RELATION_IS_LOCAL(index);

	if (BufferIsValid(buf))
		return buf;
	if (extend_lock)
		LockRelationForExtension(index, ExclusiveLock);
	buf = ReadBuffer(index, P_NEW);
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	if (extend_lock)
		UnlockRelationForExtension(index, ExclusiveLock);
	return buf;
}
