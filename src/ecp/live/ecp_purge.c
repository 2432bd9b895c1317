/*-------------------------------------------------------------------------
 *
 * ecp_purge.c
 *	  Freeing retired clusters.
 *
 * Replaced clusters wait in the retired queue until no snapshot can need them.
 * The maintenance lock is held in all functions of this file.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/compat.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "commands/vacuum.h"
#include "ecp/live/ecp_limits.h"
#include "ecp/live/ecp_maintain_lock.h"
#include "ecp/live/ecp_purge.h"
#include "ecp/page/ecp_cluster.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/page/ecp_xlog.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

/* VACUUM frees retired pages when they are more than 1/n of the index. */
#define ECP_PURGE_SHARE			20

/*
 * Stamp retired clusters that a crash or error left without a horizon: the
 * present one is late enough.
 */
void
ecp_purge_stamp(Relation index)
{
	EcpIndexState state;
	EcpRetiredWalk walk;
	EcpRun		run;

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	ecp_cluster_retired_begin(&state, &walk);
	while (ecp_cluster_retired_next(index, &state, &walk, &run))
	{
		if (run.header.ecpr_retired_fxid == 0)
			ecp_xlog_stamp(index, run.blk);
	}
}

/* Free the cluster at the head of the queue.  Returns its pages. */
static uint32
purge_cluster(Relation index, const EcpIndexState *state,
			  const EcpRun *head)
{
	EcpRun	   *runs;
	int			nruns;
	uint32		npages = 0;

	nruns = ecp_cluster_runs(index, state, head->header.ecpr_level, head->blk,
							 head->run, InvalidBuffer, &runs);
	for (int i = nruns - 1; i >= 0; i--)
	{
		npages += runs[i].header.ecpr_npages;
		ecp_xlog_run_free(index, &runs[i], i > 0 ? &runs[i - 1] : NULL);
		ECP_STOP_POINT("purge-run");
	}
	pfree(runs);
	return npages;
}

/*
 * ecp_purge
 *		Free the retired clusters that no snapshot can need: if they are many,
 *		or "all".  Returns the number of pages.
 *
 * PostgreSQL's record of page reuse, written before the first block is freed,
 * makes redo on standbys wait for older queries or cancel them, as removing rows
 * does.
 */
uint32
ecp_purge(Relation index, Relation heap, bool all)
{
	EcpIndexState state;
	FullTransactionId latest = InvalidFullTransactionId;
	EcpRetiredWalk walk;
	EcpRun		run;
	int			nclusters = 0;
	uint32		npages = 0;

	ecp_meta_read_state(index, &state);
	if (!all && state.meta.ecpm_retired_pages <=
		RelationGetNumberOfBlocks(index) / ECP_PURGE_SHARE)
		return 0;

	ecp_cluster_retired_begin(&state, &walk);
	while (ecp_cluster_retired_next(index, &state, &walk, &run))
	{
		FullTransactionId fxid;

		fxid = FullTransactionIdFromU64(run.header.ecpr_retired_fxid);
		if (!FullTransactionIdIsValid(fxid) ||
			!GlobalVisCheckRemovableFullXid(NULL, fxid))
			break;
		if (!FullTransactionIdIsValid(latest) ||
			FullTransactionIdFollows(fxid, latest))
			latest = fxid;
		nclusters++;
	}
	if (nclusters == 0)
		return 0;

	if (RelationNeedsWAL(index) && XLogStandbyInfoActive())
		ecp_log_page_reuse(index, heap, state.meta.ecpm_retired_head, latest);
	ECP_STOP_POINT("purge");

	while (nclusters-- > 0)
	{
		ecp_vacuum_delay_point();
		ecp_meta_read_state(index, &state);
		ecp_cluster_retired_read(index, &state, state.meta.ecpm_retired_head, &run);
		npages += purge_cluster(index, &state, &run);
	}
	return npages;
}

/*
 * Free retired clusters if they are many, for an insert that is about to retire
 * more of them.  Returns false if they are still many, because a snapshot may
 * need them.
 */
bool
ecp_purge_for_insert(Relation index, Relation heap)
{
	EcpIndexState state;

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	if (!ecp_limits_too_much_retired(index, &state))
		return true;
	(void) ecp_purge(index, heap, false);
	ecp_meta_read_state(index, &state);
	return !ecp_limits_too_much_retired(index, &state);
}
