/*-------------------------------------------------------------------------
 *
 * ecp_page.c
 *	  Initialises, checks and locks the pages of an ecp index.
 *
 * The formats are drawn in ecp_page.h.  Data from disk is used only after a check
 * of this file: a damaged page is an error, and a page that was freed and reused
 * by another run is distinguished from a damaged one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/core.h"
#include "ecp/page/ecp_page.h"

/* Header and opaque of any page; the payload is zero. */
static void
page_init(Page page, int kind, uint64 run, uint32 pageno, Size lower)
{
	EcpPageOpaque opaque;

	Assert(lower >= ECP_PAGE_START && lower <= ECP_PAGE_END);
	PageInit(page, BLCKSZ, sizeof(EcpPageOpaqueData));
	opaque = EcpPageGetOpaque(page);
	opaque->ecpo_run = run;
	opaque->ecpo_pageno = pageno;
	opaque->ecpo_kind = kind;
	opaque->ecpo_page_id = ECP_PAGE_ID;

	/*
	 * What lies between pd_lower and pd_upper is zeroed by generic WAL and
	 * left out of full-page images.
	 */
	Assert(lower <= ((PageHeader) page)->pd_upper);
	((PageHeader) page)->pd_lower = lower;
}

void
ecp_page_init_meta(Page page, const EcpMetaPageData *meta)
{
	page_init(page, ECP_PAGE_META, 0, 0,
			  ECP_PAGE_START + sizeof(EcpMetaPageData));
	memcpy(EcpPageGetMeta(page), meta, sizeof(EcpMetaPageData));
}

void
ecp_page_init_map(Page page, uint32 mapno)
{
	page_init(page, ECP_PAGE_MAP, 0, mapno,
			  ECP_PAGE_START + ECP_MAP_BYTES);
}

void
ecp_page_init_run(Page page, const EcpGeometry *geo, uint64 run,
				  uint32 pageno, uint32 entry_pages)
{
	Assert(run > 0);
	if (pageno < entry_pages)
		page_init(page, ECP_PAGE_ENTRY, run, pageno, geo->page_lower);
	else
		page_init(page, ECP_PAGE_VECTOR, run, pageno, ECP_PAGE_END);
}

bool
ecp_page_exists(Relation index, BlockNumber blk)
{
	BlockNumber known = RelationGetSmgr(index)->smgr_cached_nblocks[MAIN_FORKNUM];

	if (known != InvalidBlockNumber && blk < known)
		return true;
	return blk < RelationGetNumberOfBlocks(index);
}

/* Check that the page is an ecp page of this kind, with a valid header. */
void
ecp_page_check(Relation index, Buffer buffer, int kind)
{
	Page		page = BufferGetPage(buffer);
	EcpPageOpaque opaque;

	Assert(ecp_buffer_is_share_locked(buffer));
	if (PageIsNew(page))
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "The page is all zeros.");
	if (!ecp_page_has_form(page))
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "The page header is not that of an ecp page.");
	opaque = EcpPageGetOpaque(page);
	if (opaque->ecpo_page_id != ECP_PAGE_ID || opaque->ecpo_kind != kind)
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   psprintf("Page kind is %u with id %04X, expected %d with id %04X.",
									opaque->ecpo_kind, opaque->ecpo_page_id,
									kind, ECP_PAGE_ID));
}

bool
ecp_page_check_run(Relation index, Buffer buffer, int kind, uint64 run,
				   uint32 pageno)
{
	Page		page = BufferGetPage(buffer);
	EcpPageOpaque opaque;

	Assert(ecp_buffer_is_share_locked(buffer));
	/* the common case first: identity proves the rest of the format */
	if (ecp_page_has_form(page))
	{
		opaque = EcpPageGetOpaque(page);
		if (opaque->ecpo_run == run && opaque->ecpo_pageno == pageno &&
			opaque->ecpo_kind == kind && opaque->ecpo_page_id == ECP_PAGE_ID)
		{
			/* for entry pages, ecp_entry_check_lower() checks it */
			if (kind == ECP_PAGE_VECTOR &&
				((PageHeader) page)->pd_lower != ECP_PAGE_END)
				ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
								   "The payload does not end where it should.");
			return true;
		}

		/* sound, but of another run: freed and reused */
		if (opaque->ecpo_page_id == ECP_PAGE_ID && opaque->ecpo_run != run &&
			(opaque->ecpo_kind == ECP_PAGE_ENTRY ||
			 opaque->ecpo_kind == ECP_PAGE_VECTOR))
			return false;
	}
	ecp_page_check(index, buffer, kind);
	ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
					   "The page number within the run is wrong.");
}

/*
 * Lock a page to which another page, which may be locked, refers.  In a damaged
 * index this may be a page that this process has locked: waiting for it would
 * never end.
 */
void
ecp_page_lock(Relation index, Buffer buffer, int lockmode)
{
	Assert(BufferIsValid(buffer));
	Assert(lockmode == BUFFER_LOCK_SHARE || lockmode == BUFFER_LOCK_EXCLUSIVE);
	if (ecp_buffer_is_locked(buffer))
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "A page that is being changed is referred to once more.");
	LockBuffer(buffer, lockmode);
}

/* Pin and lock a block to which a page refers. */
Buffer
ecp_page_get(Relation index, BlockNumber blk, int lockmode)
{
	Buffer		buffer;

	if (!ecp_page_exists(index, blk))
		ecp_report_corrupt(index, blk, "A reference to a block is invalid.");
	buffer = ReadBuffer(index, blk);
	if (lockmode != BUFFER_LOCK_UNLOCK)
		ecp_page_lock(index, buffer, lockmode);
	return buffer;
}

/* ---- errors about damaged pages, and pages that are gone ---- */

void
ecp_report_corrupt(Relation index, BlockNumber blk, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains a corrupted page at block %u",
					RelationGetRelationName(index), blk),
			 errdetail_internal("%s", detail),
			 errhint("Please REINDEX it.")));
}

/*
 * Report that a run to which structure version V refers is gone.  On a primary
 * it is not freed while a snapshot needs it; on a standby, the primary may free
 * it, as it may remove heap rows.
 */
void
ecp_report_moved(Relation index, BlockNumber blk)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("canceling statement due to conflict with recovery"),
				 errdetail("Block %u of index \"%s\" was reused by the primary.",
						   blk, RelationGetRelationName(index))));
	ecp_report_corrupt(index, blk,
					   "The page belongs to another run than its reference says.");
}
