/*-------------------------------------------------------------------------
 *
 * ecp_xlog_run.c
 *	  The WAL records that link a run to its cluster, and that free it;
 *	  and those that write summaries of clusters.
 *
 * An inserter that finds a cluster full adds an empty run (ADDRUN), which is
 * part of the cluster at once.  A flush writes runs with rows, and links them
 * (APPEND) before the version that has them is published, because scans of
 * older versions find these rows elsewhere.  PURGE frees runs of a retired
 * cluster, UNDO those of a replacement that was given up.  See ecp_xlog.c for
 * what all records have in common.
 *
 * SUMMARY in the README's table is one page of a node, whose head the caller has locked,
 * so that the node is not replaced meanwhile (M2 to M4).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "base/core.h"
#include "base/core_wal.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"

/*
 * ADDRUN: META, MAP, page 0 of the last run, page 0 of the new run.  The
 * cluster's list ends in an empty run of nslots slots, which owns its bits.
 *
 * "last" is page 0 of the last run, exclusively locked, as is the head.
 */
void
ecp_xlog_run_add(Relation index, const EcpIndexState *state, Buffer last,
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
	ecp_geometry_run_size(geo, nslots, &entry_pages, &extent.npages);
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
ecp_xlog_run_append(Relation index, Buffer last, BlockNumber blk, uint64 run)
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
		Buffer		buffer = ecp_run_lock(index, blk, id);
		EcpRunHeader header;

		CHECK_FOR_INTERRUPTS();
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
 * In a record: the list of a cluster ends with the run whose page 0 is in
 * "last".
 */
static void
run_set_last(GenericXLogState *xlog, Buffer last)
{
	EcpRunHeader header;

	Assert(ecp_buffer_is_exclusive_locked(last));
	header = EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, last, 0));
	header->ecpr_next_blk = InvalidBlockNumber;
	header->ecpr_next_run = 0;
}

/* A record that frees the blocks of a run, and what it has locked. */
typedef struct EcpFreeRecord
{
	Buffer		before;			/* page 0 of the run before it, or invalid */
	Buffer		page0;
	Buffer		map;
	Buffer		meta;
	GenericXLogState *xlog;
	EcpMetaPage m;				/* to be changed by the caller */
} EcpFreeRecord;

/* "before" is locked already. */
static void
free_begin(Relation index, const EcpRun *run, Buffer before, EcpFreeRecord *record)
{
	record->before = before;
	record->page0 = ecp_run_lock(index, run->blk, run->run);
	record->map = ecp_space_map_lock(index, run->blk, BUFFER_LOCK_EXCLUSIVE);
	record->meta = ecp_meta_lock(index);

	record->xlog = GenericXLogStart(index);
	record->m = EcpPageGetMeta(GenericXLogRegisterBuffer(record->xlog,
														 record->meta, 0));
	ecp_space_mark(index,
				   GenericXLogRegisterBuffer(record->xlog, record->map, 0),
				   run->blk, run->header.ecpr_npages, false);
	ecp_xlog_set_freed(record->xlog, record->page0);
	if (BufferIsValid(before))
		run_set_last(record->xlog, before);
	record->m->ecpm_map_hint = Min(record->m->ecpm_map_hint,
								   EcpBlockMap(run->blk));
}

static void
free_end(EcpFreeRecord *record)
{
	GenericXLogFinish(record->xlog);
	UnlockReleaseBuffer(record->meta);
	UnlockReleaseBuffer(record->map);
	UnlockReleaseBuffer(record->page0);
	if (BufferIsValid(record->before))
		UnlockReleaseBuffer(record->before);
}

/*
 * PURGE (one run): page 0 of the run before it in its retired cluster, or
 * for the head nothing; page 0 of the run; MAP; META.  The blocks are free and
 * nothing names them.  Runs are freed from the last to the head.
 */
void
ecp_xlog_run_free(Relation index, const EcpRun *run, const EcpRun *predecessor)
{
	Buffer		before = InvalidBuffer;
	EcpFreeRecord record;

	Assert(predecessor == NULL || predecessor->run < run->run);
	if (predecessor)
		before = ecp_run_lock(index, predecessor->blk, predecessor->run);
	free_begin(index, run, before, &record);
	if (predecessor == NULL)
	{
		record.m->ecpm_retired_head = run->header.ecpr_retired_next;
		if (record.m->ecpm_retired_head == InvalidBlockNumber)
			record.m->ecpm_retired_tail = InvalidBlockNumber;
	}
	record.m->ecpm_retired_pages -= Min(record.m->ecpm_retired_pages,
										run->header.ecpr_npages);
	free_end(&record);
}

/*
 * UNDO (of FILL and APPEND, for a group): page 0 of the run before if the run
 * was linked to it, page 0 of the run, MAP, META.  The bits of the run that was
 * written last are clear, and neither ecpm_op nor a cluster names it; *intent
 * gets the same.
 */
void
ecp_xlog_run_undo(Relation index, const EcpRun *run,
				  EcpIntentData *intent)
{
	Buffer		before = InvalidBuffer;
	EcpFreeRecord record;

	if ((run->header.ecpr_flags & ECP_RUN_HEAD) == 0)
		before = run_before(index, run);
	free_begin(index, run, before, &record);
	record.m->ecpm_op.ecpi_written = run->header.ecpr_retired_next;
	*intent = record.m->ecpm_op;
	free_end(&record);
}

/* ---- summaries ---- */

/* The page of a node with the summary of a slot. */
static uint32
summary_page(const EcpIndexState *state, Buffer head, uint32 slot)
{
	EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(head));

	Assert(slot < header->ecpr_nslots);
	return ecp_summary_page(&state->node,
							EcpSummaryFirstPage(&state->node, header), slot);
}

/*
 * SUMMARY: the child in a slot has this summary.  The head of the node is
 * exclusively locked.
 */
void
ecp_xlog_summary_put(Relation index, const EcpIndexState *state, Buffer head,
					 uint32 slot, const char *summary)
{
	const EcpGeometry *node = &state->node;
	GenericXLogState *xlog = GenericXLogStart(index);
	Buffer		buffer;

	Assert(ecp_buffer_is_exclusive_locked(head));
	buffer = ecp_xlog_vector_page(index, xlog, node, head,
								  summary_page(state, head, slot),
								  EcpSummaryOffset(node, slot), summary,
								  node->summary_bytes);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
}

/* Set the bits of "part" that a summary on a locked page lacks. */
static void
summary_set(Relation index, const EcpGeometry *node, Buffer buffer,
			uint32 offset, const char *part)
{
	uint8	   *stream = (uint8 *) EcpPageGetStream(BufferGetPage(buffer)) + offset;
	int			start = (char *) stream - (char *) BufferGetPage(buffer);
	EcpDelta	delta;

	ecp_delta_begin(&delta, index, node->summary_bytes * (1 + ECP_DELTA_HEADER),
					buffer, InvalidBuffer);
	for (int i = ECP_SUMMARY_HEADER; i < node->summary_bytes; i++)
	{
		uint8		bits = (uint8) part[i] & ~stream[i];

		if (bits == 0)
			continue;
		stream[i] |= bits;
		ecp_delta_range(&delta, 0, start + i, 1);
	}
	ecp_delta_finish(&delta);
}

/*
 * SUMMARY: the child in a slot, which has the run id of "part", has its bits, too.
 * The head of the node is locked, in whatever mode.  Nothing is written if the
 * bits are set.
 */
void
ecp_xlog_summary_add(Relation index, const EcpIndexState *state, Buffer head,
					 uint32 slot, const char *part)
{
	const EcpGeometry *node = &state->node;
	BlockNumber blk = BufferGetBlockNumber(head);
	uint64		run = EcpPageGetOpaque(BufferGetPage(head))->ecpo_run;
	uint32		pageno = summary_page(state, head, slot);
	uint32		offset = EcpSummaryOffset(node, slot);

	Assert(ecp_buffer_is_share_locked(head));
	for (int mode = BUFFER_LOCK_SHARE;; mode = BUFFER_LOCK_EXCLUSIVE)
	{
		Buffer		buffer = ecp_run_page_get(index, ECP_PAGE_VECTOR, blk, run,
											  pageno, mode);
		const char *summary;
		bool		done;

		if (!BufferIsValid(buffer))
			ecp_report_moved(index, blk + pageno);
		summary = EcpPageGetStream(BufferGetPage(buffer)) + offset;
		if (memcmp(summary, part, ECP_SUMMARY_HEADER) != 0)
			ecp_report_corrupt(index, blk + pageno,
							   "The summary of a cluster is that of another one.");
		done = ecp_summary_has(node, summary, part);
		if (!done && mode == BUFFER_LOCK_EXCLUSIVE)
		{
			summary_set(index, node, buffer, offset, part);
			done = true;
		}
		UnlockReleaseBuffer(buffer);
		if (done)
			break;
	}
}
