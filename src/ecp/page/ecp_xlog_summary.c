/*-------------------------------------------------------------------------
 *
 * ecp_xlog_summary.c
 *	  The WAL records that write summaries of clusters.
 *
 * Both are SUMMARY in the README's table: one page of a node, of which the caller
 * has the head locked, so that the node is not replaced meanwhile (M2 to M4).
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

	ecp_delta_begin(&delta, index,
					node->summary_bytes * (1 + ECP_DELTA_HEADER));
	ecp_delta_buffer(&delta, buffer);
	START_CRIT_SECTION();
	for (int i = ECP_SUMMARY_HEADER; i < node->summary_bytes; i++)
	{
		uint8		bits = (uint8) part[i] & ~stream[i];

		if (bits == 0)
			continue;
		stream[i] |= bits;
		ecp_delta_range(&delta, 0, start + i, 1);
	}
	ecp_delta_finish(&delta);
	END_CRIT_SECTION();
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
