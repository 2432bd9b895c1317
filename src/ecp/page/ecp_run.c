/*-------------------------------------------------------------------------
 *
 * ecp_run.c
 *	  Runs: page 0 and its header, entry pages, exact vectors.
 *
 * For the leader cache, maintenance, VACUUM, the checker and the inspection
 * functions; scans read clusters in a faster way (ecp_probe.c).  Functions that
 * read copy under one share lock at a time, and hold nothing on return.
 *
 * A reference may be outdated if the reader does not hold the maintenance lock:
 * its blocks may have been freed and used by another run.  These functions tell
 * that from damage and return false (or NULL, or InvalidBuffer); the caller
 * starts over or reports it (ecp_report_moved()), as ecp_run_lock() and
 * ecp_node_read() do.
 *
 * Some callers read a cluster whose head they have locked; they pass its buffer
 * as "held", and that page is not locked again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/core.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"

/*
 * Initialise (in memory) page 0 of an empty run, of which only that page is
 * initialised.
 */
void
ecp_run_init(Page page, const EcpGeometry *geo, int level, uint64 run,
			 uint64 head_run, uint32 nslots)
{
	EcpRunHeader header;
	uint32		entry_pages;
	uint32		npages;

	Assert(level >= 0 && nslots > 0);
	Assert(run > 0);
	ecp_geometry_run_size(geo, nslots, &entry_pages, &npages);
	ecp_page_init_run(page, geo, run, 0, entry_pages);
	header = EcpPageGetRunHeader(page);
	header->ecpr_head_run = head_run;
	header->ecpr_next_blk = InvalidBlockNumber;
	header->ecpr_npages = npages;
	header->ecpr_entry_pages = entry_pages;
	header->ecpr_nslots = nslots;
	header->ecpr_hw_page = 1;
	header->ecpr_retired_next = InvalidBlockNumber;
	header->ecpr_level = level;
	header->ecpr_flags = run == head_run ? ECP_RUN_HEAD : 0;
}

/*
 * Page "pageno" of the run that begins at blk, locked and checked, or
 * InvalidBuffer if it belongs to another run now.
 */
Buffer
ecp_run_page_get(Relation index, int kind, BlockNumber blk, uint64 run,
				 uint32 pageno, int lockmode)
{
	Buffer		buffer;

	Assert(kind == ECP_PAGE_ENTRY || kind == ECP_PAGE_VECTOR);
	Assert(lockmode != BUFFER_LOCK_UNLOCK);
	if (blk == ECP_META_BLKNO || blk + pageno < blk)
		ecp_report_corrupt(index, blk, "A reference to a run is invalid.");
	buffer = ecp_page_get(index, blk + pageno, lockmode);
	if (ecp_page_check_run(index, buffer, kind, run, pageno))
		return buffer;
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}

/* Page 0 of a run that must be there, locked exclusively. */
Buffer
ecp_run_lock(Relation index, BlockNumber blk, uint64 run)
{
	Buffer		page0 = ecp_run_page_get(index, ECP_PAGE_ENTRY, blk, run, 0,
										 BUFFER_LOCK_EXCLUSIVE);

	if (!BufferIsValid(page0))
		ecp_report_moved(index, blk);
	return page0;
}

/*
 * Bounds of the header of the run whose page 0 is in "buffer": everything
 * that a reader follows or multiplies.
 */
void
ecp_run_check_header(Relation index, Buffer buffer, const EcpGeometry *geo)
{
	EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(buffer));
	BlockNumber blk = BufferGetBlockNumber(buffer);
	uint32		entry_pages;
	uint32		npages;

	Assert(geo->slots > 0);
	ecp_entry_check_lower(index, buffer, geo);
	if (header->ecpr_nslots == 0 ||
		(uint64) header->ecpr_nslots > (uint64) header->ecpr_entry_pages * geo->slots)
		ecp_report_corrupt(index, blk,
						   psprintf("A run of %u entry pages claims %u slots.",
									header->ecpr_entry_pages,
									header->ecpr_nslots));
	ecp_geometry_run_size(geo, header->ecpr_nslots, &entry_pages, &npages);
	if (header->ecpr_entry_pages != entry_pages ||
		header->ecpr_npages != npages ||
		header->ecpr_npages > ECP_RUN_PAGES_MAX ||
		header->ecpr_hw_page == 0 ||
		header->ecpr_hw_page > header->ecpr_entry_pages ||
		header->ecpr_free_hint > header->ecpr_hw_page ||
		blk + header->ecpr_npages < blk)
		ecp_report_corrupt(index, blk,
						   psprintf("A run of %u slots claims %u entry pages, %u of them used, of %u pages.",
									header->ecpr_nslots,
									header->ecpr_entry_pages,
									header->ecpr_hw_page,
									header->ecpr_npages));
}

/*
 * Copy the header of a run, and, if "copy" is not NULL, all of its page 0.
 * Returns false if the blocks belong to another run now.
 */
bool
ecp_run_read(Relation index, const EcpIndexState *state, int level,
			 BlockNumber blk, uint64 run, Buffer held, EcpRun *out)
{
	bool		is_held = BufferIsValid(held) && BufferGetBlockNumber(held) == blk;
	Buffer		buffer = held;

	Assert(level >= 0);
	Assert(!BufferIsValid(held) || ecp_buffer_is_exclusive_locked(held));
	if (!is_held)
	{
		buffer = ecp_run_page_get(index, ECP_PAGE_ENTRY, blk, run, 0,
								  BUFFER_LOCK_SHARE);
		if (!BufferIsValid(buffer))
			return false;
	}
	ecp_run_check_header(index, buffer, EcpLevelGeometry(state, level));
	out->blk = blk;
	out->run = run;
	out->header = *EcpPageGetRunHeader(BufferGetPage(buffer));
	if (!is_held)
		UnlockReleaseBuffer(buffer);
	if (out->header.ecpr_level != level)
		ecp_report_corrupt(index, blk,
						   psprintf("A run of level %u was found where level %d was expected.",
									out->header.ecpr_level, level));
	return true;
}

/* Slots of entry page "pageno" that exist. */
uint32
ecp_run_page_slots(const EcpGeometry *geo, const EcpRun *run, uint32 pageno)
{
	Assert(pageno * geo->slots < run->header.ecpr_nslots);
	return Min(geo->slots, run->header.ecpr_nslots - pageno * geo->slots);
}

/* Copy a whole entry page of a run; ecp_report_moved() if it is another run's now. */
void
ecp_run_copy_page(Relation index, const EcpRun *run, uint32 pageno,
				  Buffer held, char *copy)
{
	Buffer		buffer;

	Assert(pageno < run->header.ecpr_entry_pages);
	Assert(!BufferIsValid(held) || ecp_buffer_is_exclusive_locked(held));
	CHECK_FOR_INTERRUPTS();
	if (BufferIsValid(held) && BufferGetBlockNumber(held) == run->blk + pageno)
	{
		memcpy(copy, BufferGetPage(held), BLCKSZ);
		return;
	}
	buffer = ecp_run_page_get(index, ECP_PAGE_ENTRY, run->blk, run->run, pageno,
							  BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		ecp_report_moved(index, run->blk + pageno);
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/*
 * Copy the exact vector of a slot (numbered within the run): from the copied
 * entry page that "view" points into, or from the vector part.
 */
void
ecp_run_read_vector(Relation index, const EcpGeometry *geo, const EcpRun *run,
					const EcpEntryView *view, uint32 slot, char *vector)
{
	Assert(slot < run->header.ecpr_nslots);
	if (!geo->stream)
	{
		ecp_entry_get_vector(geo, view, slot % geo->slots, vector);
		return;
	}

	ecp_stream_foreach(part, geo, EcpRunVectorPage(geo, &run->header), slot)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = ecp_run_page_get(index, ECP_PAGE_VECTOR, run->blk, run->run,
								  part.pageno, BUFFER_LOCK_SHARE);
		if (!BufferIsValid(buffer))
			ecp_report_moved(index, run->blk + part.pageno);
		memcpy(vector + part.done,
			   EcpPageGetStream(BufferGetPage(buffer)) + part.offset,
			   part.bytes);
		UnlockReleaseBuffer(buffer);
	}
}

/* Copy the levels of a slot (numbered within the run). */
void
ecp_run_read_levels(Relation index, const EcpGeometry *geo, const EcpRun *run,
					uint32 slot, char *levels)
{
	uint32		pageno = run->header.ecpr_entry_pages + EcpLevelsPage(geo, slot);
	Buffer		buffer;

	Assert(slot < run->header.ecpr_nslots);
	CHECK_FOR_INTERRUPTS();
	buffer = ecp_run_page_get(index, ECP_PAGE_VECTOR, run->blk, run->run, pageno,
							  BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		ecp_report_moved(index, run->blk + pageno);
	memcpy(levels, EcpPageGetStream(BufferGetPage(buffer)) + EcpLevelsOffset(geo, slot),
		   geo->levels_bytes);
	UnlockReleaseBuffer(buffer);
}
