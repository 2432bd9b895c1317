/*-------------------------------------------------------------------------
 *
 * ecp_xlog_run.c
 *	  The WAL records that link a run to its cluster, and unlink it.
 *
 * An inserter that finds a cluster full adds an empty run (ADDRUN), which is
 * part of the cluster at once.  A flush writes runs with rows, and links them
 * (APPEND) before the version that has them is published, for scans of older
 * versions have these rows elsewhere.  See ecp_xlog.c for what all records
 * have in common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "base/core_buffer.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_read.h"
#include "ecp/page/ecp_space.h"
#include "ecp/page/ecp_xlog.h"
#include "miscadmin.h"

/*
 * ADDRUN: META, MAP, page 0 of the last run, page 0 of the new run.  The
 * cluster's list ends in an empty run of nslots slots, which owns its bits.
 *
 * "last" is page 0 of the last run, exclusively locked, as is the head.
 */
void
ecp_xlog_add_run(Relation index, const EcpIndexState *state, Buffer last,
				 uint32 nslots)
{
	const EcpGeometry *geo = &state->leaf;
	uint32		entry_pages;
	EcpExtent	extent;
	Buffer		meta;
	Buffer		added;
	GenericXLogState *xlog;
	EcpMetaPage m;
	EcpRunHeader header;
	Page		page;

	Assert(ecp_buffer_is_exclusive_locked(last));
	Assert(nslots > 0);
	ecp_run_size(geo, nslots, &entry_pages, &extent.npages);
	ecp_space_find(index, state->meta.ecpm_map_hint, extent.npages, &extent);
	meta = ecp_meta_lock(index);
	added = ecp_space_new_buffer(index, extent.blk);

	xlog = GenericXLogStart(index);
	m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));
	(void) ecp_space_register(index, xlog, &extent);
	header = EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, last, 0));
	page = GenericXLogRegisterBuffer(xlog, added, GENERIC_XLOG_FULL_IMAGE);

	header->ecpr_next_blk = extent.blk;
	header->ecpr_next_run = ecp_meta_take_runs(index, m, 1);
	ecp_run_init(page, geo, 0, header->ecpr_next_run, header->ecpr_head_run,
				 nslots);
	GenericXLogFinish(xlog);

	UnlockReleaseBuffer(added);
	UnlockReleaseBuffer(meta);
	UnlockReleaseBuffer(extent.map);
}

/*
 * APPEND: page 0 of the last run.  The cluster's list ends in a run that
 * belongs to it from the next version on, if that is published, and ecpm_op
 * names that run.
 *
 * "last" is page 0 of the last run, exclusively locked, as is the head.
 */
void
ecp_xlog_append(Relation index, Buffer last, BlockNumber blk, uint64 run)
{
	GenericXLogState *xlog = GenericXLogStart(index);
	EcpRunHeader header;

	Assert(ecp_buffer_is_exclusive_locked(last));
	Assert(BlockNumberIsValid(blk) && run > 0);
	header = EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, last, 0));
	header->ecpr_next_blk = blk;
	header->ecpr_next_run = run;
	GenericXLogFinish(xlog);
}

/*
 * Page 0 of the run that a run which a flush wrote is linked to, exclusively
 * locked; InvalidBuffer if it is not linked.
 */
static Buffer
run_before(Relation index, const EcpRun *run)
{
	BlockNumber blk = run->header.ecpr_head_blk;
	uint64		id = run->header.ecpr_head_run;

	for (;;)
	{
		Buffer		buffer = ecp_run_page_get(index, ECP_PAGE_ENTRY, blk, id, 0,
											  BUFFER_LOCK_EXCLUSIVE);
		EcpRunHeader header;

		CHECK_FOR_INTERRUPTS();
		if (!BufferIsValid(buffer))
			ecp_report_moved(index, blk);
		header = EcpPageGetRunHeader(BufferGetPage(buffer));
		if (header->ecpr_next_run == run->run)
			return buffer;
		if (header->ecpr_next_run != 0 && header->ecpr_next_run <= id)
			ecp_report_corrupt(index, blk,
							   "A run does not fit into the list of its cluster.");
		blk = header->ecpr_next_blk;
		id = header->ecpr_next_run;
		UnlockReleaseBuffer(buffer);
		if (id == 0)
			return InvalidBuffer;
	}
}

/*
 * UNDO (of FILL and APPEND, for a group): page 0 of the run, MAP, META, page 0
 * of the run before if the run was linked to it.  The bits of the run that was
 * written last are clear, and neither ecpm_op nor a cluster names it; *intent
 * gets the same.
 */
void
ecp_xlog_undo_written(Relation index, const EcpRun *run,
					  EcpIntentData *intent)
{
	Buffer		before = InvalidBuffer;
	Buffer		page0;
	Buffer		map;
	Buffer		meta;
	GenericXLogState *xlog;
	EcpMetaPage m;

	if ((run->header.ecpr_flags & ECP_RUN_HEAD) == 0)
		before = run_before(index, run);
	page0 = ecp_run_page_get(index, ECP_PAGE_ENTRY, run->blk, run->run, 0,
							 BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(page0))
		ecp_report_moved(index, run->blk);
	map = ecp_space_map_lock(index, run->blk, BUFFER_LOCK_EXCLUSIVE);
	meta = ecp_meta_lock(index);
	xlog = GenericXLogStart(index);
	m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));
	ecp_space_mark(index, GenericXLogRegisterBuffer(xlog, map, 0), run->blk,
				   run->header.ecpr_npages, false);
	ecp_run_set_freed(xlog, page0);
	if (BufferIsValid(before))
		ecp_run_set_last(xlog, before);
	m->ecpm_op.ecpi_written = run->header.ecpr_retired_next;
	m->ecpm_map_hint = Min(m->ecpm_map_hint, EcpBlockMap(run->blk));
	*intent = m->ecpm_op;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta);
	UnlockReleaseBuffer(map);
	UnlockReleaseBuffer(page0);
	if (BufferIsValid(before))
		UnlockReleaseBuffer(before);
}
