/*-------------------------------------------------------------------------
 *
 * ecp_page.c
 *	  Initialises and checks the pages of an ecp index.
 *
 * The formats are drawn in ecp_page.h.  Nothing that is read from disk is
 * believed before a check of this file has passed: a damaged page is an error,
 * and a page that was freed and used again by another run is told apart from a
 * damaged one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core_buffer.h"
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
		page_init(page, ECP_PAGE_ENTRY, run, pageno, geo->lower);
	else
		page_init(page, ECP_PAGE_VECTOR, run, pageno, ECP_PAGE_END);
}

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
 * A run that structure version V refers to is gone.  On a primary nothing
 * frees it while we may still read it; on a standby a maintainer's horizon
 * can pass us, as heap rows can.
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

bool
ecp_block_exists(Relation index, BlockNumber blk)
{
	BlockNumber known = RelationGetSmgr(index)->smgr_cached_nblocks[MAIN_FORKNUM];

	if (known != InvalidBlockNumber && blk < known)
		return true;
	return blk < RelationGetNumberOfBlocks(index);
}

/* Is the page one of ours, of this kind, and self-consistent? */
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
			/* of entry pages, ecp_entry_check_lower() knows where it is */
			if (kind == ECP_PAGE_VECTOR &&
				((PageHeader) page)->pd_lower != ECP_PAGE_END)
				ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
								   "The payload does not end where it should.");
			return true;
		}

		/* sound, but somebody else's: freed and used again */
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
 * Does pd_lower say that the whole of an entry page is in use?  What is behind
 * it would be zeroed by whoever changes the page.
 */
void
ecp_entry_check_lower(Relation index, Buffer buffer, const EcpGeometry *geo)
{
	Assert(ecp_buffer_is_share_locked(buffer));
	if (((PageHeader) BufferGetPage(buffer))->pd_lower != geo->lower)
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "The payload does not end where it should.");
}
