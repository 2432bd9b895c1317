/*-------------------------------------------------------------------------
 *
 * ecp_replace_undo.c
 *	  Undo a replacement that was not published.
 *
 * Each step can be repeated, and ecpm_op is emptied last, so that the next
 * maintainer finishes an undo that is interrupted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/stop_point.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"

/* Of a group, also undo the closing of old leaves and the writing of new ones. */
static void
undo_group(Relation index, EcpIndexState *state)
{
	EcpIntentData *intent = &state->meta.ecpm_op;

	while (intent->ecpi_closed != InvalidBlockNumber)
	{
		CHECK_FOR_INTERRUPTS();
		ecp_xlog_undo_close(index, intent);
		ECP_STOP_POINT("undo-close");
	}
	while (intent->ecpi_written != InvalidBlockNumber)
	{
		EcpRun		run;

		CHECK_FOR_INTERRUPTS();
		ecp_cluster_written_read(index, state, intent->ecpi_written, &run);
		ecp_xlog_run_undo(index, &run, intent);
		ECP_STOP_POINT("undo-written");
	}
}

void
ecp_replace_undo(Relation index)
{
	EcpIndexState state;
	EcpIntentData *intent = &state.meta.ecpm_op;

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	if (intent->ecpi_kind == ECP_OP_NONE)
		return;
	if ((intent->ecpi_kind != ECP_OP_REPLACE &&
		 intent->ecpi_kind != ECP_OP_GROUP) ||
		intent->ecpi_nnew > lengthof(intent->ecpi_new))
		ecp_report_corrupt(index, ECP_META_BLKNO,
						   "The unfinished operation is not a known one.");

	if (intent->ecpi_parent != InvalidBlockNumber)
	{
		Buffer		head = ecp_page_get(index, intent->ecpi_parent,
										BUFFER_LOCK_EXCLUSIVE);
		uint32		npages;

		ecp_node_check_header(index, head, &state);
		npages = EcpPageGetRunHeader(BufferGetPage(head))->ecpr_hw_page;
		for (uint32 p = 0; p < npages; p++)
		{
			ecp_xlog_undo_page(index, &state, head, p);
			ECP_STOP_POINT("undo-page");
		}
		UnlockReleaseBuffer(head);
	}
	if (intent->ecpi_kind == ECP_OP_GROUP)
		undo_group(index, &state);
	for (int i = 0; i < intent->ecpi_nnew; i++)
	{
		if (intent->ecpi_new[i] == InvalidBlockNumber)
			continue;
		ecp_xlog_undo_extent(index, i, intent);
		ECP_STOP_POINT("undo-extent");
	}
	ecp_xlog_undo_begin(index);
}
