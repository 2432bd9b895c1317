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
#include "base/core.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "commands/vacuum.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

/*
 * Retired pages are freed when they are more than 1/n of the index; at once,
 * which may cancel more queries on standbys, when they are more than this.
 */
#define ECP_PURGE_SHARE			20
#define ECP_PURGE_NOW_SHARE		8

/* Clusters that an insert frees at most. */
#define ECP_PURGE_SOME_CLUSTERS	64

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
 * Count the clusters at the head of the queue that no snapshot can need, at most
 * "max"; *latest is the latest of their horizons.
 */
static int
purge_count(Relation index, const EcpIndexState *state, int how, int max,
			FullTransactionId *latest)
{
	EcpRetiredWalk walk;
	EcpRun		run;
	FullTransactionId unread = InvalidFullTransactionId;
	int			n = 0;

	/* what follows knows the present horizon, not that of our snapshot */
	if (how & ECP_PURGE_NOW)
	{
		(void) GetOldestNonRemovableTransactionId(NULL);
		unread = ecp_relation_unread(index);
	}
	*latest = InvalidFullTransactionId;
	ecp_cluster_retired_begin(state, &walk);
	while (n < max && ecp_cluster_retired_next(index, state, &walk, &run))
	{
		FullTransactionId fxid;

		fxid = FullTransactionIdFromU64(run.header.ecpr_retired_fxid);
		if (!FullTransactionIdIsValid(fxid) ||
			(FullTransactionIdFollows(fxid, unread) &&
			 !GlobalVisCheckRemovableFullXid(NULL, fxid)))
			break;
		if (!FullTransactionIdIsValid(*latest) ||
			FullTransactionIdFollows(fxid, *latest))
			*latest = fxid;
		n++;
	}
	return n;
}

/*
 * Free retired clusters that no snapshot can need.  Returns the number of pages.
 *
 * PostgreSQL's record of page reuse, written before the first block is freed,
 * makes redo on standbys wait for older queries or cancel them, as removing rows
 * does.
 */
static uint32
purge_clusters(Relation index, Relation heap, int how)
{
	EcpIndexState state;
	FullTransactionId latest;
	EcpRun		run;
	int			nclusters;
	uint32		npages = 0;

	ecp_meta_read_state(index, &state);
	if ((how & ECP_PURGE_FEW) == 0)
	{
		BlockNumber nblocks = RelationGetNumberOfBlocks(index);

		if (state.meta.ecpm_retired_pages <= nblocks / ECP_PURGE_SHARE)
			return 0;
		if (state.meta.ecpm_retired_pages <= nblocks / ECP_PURGE_NOW_SHARE)
			how &= ~ECP_PURGE_NOW;
	}
	nclusters = purge_count(index, &state, how,
							(how & ECP_PURGE_SOME) ?
							ECP_PURGE_SOME_CLUSTERS : INT_MAX, &latest);
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
 * If many pages are retired, let other processes maintain the index, and end
 * transactions that may need these pages.  Returns false if not, or if that has
 * been tried for long enough.
 */
static bool
purge_wait(Relation index, int *tries)
{
	EcpIndexState state;
	bool		waited;

	/* a scan of our own does not end meanwhile */
	ecp_meta_read_state(index, &state);
	if (index->rd_refcnt != 1 ||
		state.meta.ecpm_retired_pages <=
		RelationGetNumberOfBlocks(index) / ECP_PURGE_NOW_SHARE)
		return false;
	ecp_maintain_lock_release(index);
	ECP_STOP_POINT("purge-wait");
	waited = ecp_maintain_wait(tries);
	ecp_maintain_lock_take(index);
	ecp_replace_undo(index);
	return waited;
}

/*
 * ecp_purge
 *		Free retired clusters that no snapshot can need, if there are many: see
 *		the flags for "how".  Returns the number of pages.
 */
uint32
ecp_purge(Relation index, Relation heap, int how)
{
	uint32		npages;
	int			tries = 0;

	Assert(ecp_maintain_lock_held(index));
	npages = purge_clusters(index, heap, how);
	while ((how & ECP_PURGE_WAIT) != 0 && purge_wait(index, &tries))
		npages += purge_clusters(index, heap, how);
	return npages;
}

/*
 * Free retired clusters if they are many, for an insert that is about to retire
 * more of them.  Returns false if they are still many, because a snapshot may
 * need them.
 */
bool
ecp_purge_for_insert(Relation index, Relation heap, int how)
{
	EcpIndexState state;

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	if (!ecp_limits_too_much_retired(index, &state))
		return true;
	(void) ecp_purge(index, heap, how);
	ecp_meta_read_state(index, &state);
	return !ecp_limits_too_much_retired(index, &state);
}
