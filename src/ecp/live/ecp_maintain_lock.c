/*-------------------------------------------------------------------------
 *
 * ecp_maintain_lock.c
 *	  The lock of the one process that changes an index's structure, and its waiting
 *	  for others.
 *
 * It is the heavyweight lock of the metapage's block: waiting for it can be
 * cancelled, and deadlocks are detected.  Searches, and inserts that only add
 * rows, do not take it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/wait_event.h"

/* How often, at most, and how long to wait for other transactions. */
#define MAINTAIN_TRIES			20
#define MAINTAIN_TRIES_AUTO		200
#define MAINTAIN_WAIT_MS		50

void
ecp_maintain_lock_take(Relation index)
{
	LockPage(index, ECP_META_BLKNO, ExclusiveLock);
}

bool
ecp_maintain_lock_try(Relation index)
{
	return ConditionalLockPage(index, ECP_META_BLKNO, ExclusiveLock);
}

void
ecp_maintain_lock_release(Relation index)
{
	Assert(ecp_maintain_lock_held(index));
	UnlockPage(index, ECP_META_BLKNO, ExclusiveLock);
}

bool
ecp_maintain_lock_held(Relation index)
{
	LOCKTAG		tag;

	SET_LOCKTAG_PAGE(tag, index->rd_lockInfo.lockRelId.dbId,
					 index->rd_lockInfo.lockRelId.relId, ECP_META_BLKNO);
	return ecp_lock_held(&tag, ExclusiveLock);
}

bool
ecp_maintain_wait(int *tries)
{
	CHECK_FOR_INTERRUPTS();
	if ((*tries)++ == (MyBackendType == B_AUTOVAC_WORKER ?
					   MAINTAIN_TRIES_AUTO : MAINTAIN_TRIES))
		return false;
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 MAINTAIN_WAIT_MS, WAIT_EVENT_VACUUM_TRUNCATE);
	ResetLatch(MyLatch);
	return true;
}

/* ---- limits of leaves, groups of leaves, and the retired queue ---- */

/*
 * They follow from the state of the index and the settings.
 */

/* Folds and merges pause while more than 1/n of the pages are retired. */
#define ECP_RETIRED_SHARE		16
#define ECP_RETIRED_PAGES_MIN	64

/* Share of maintenance_work_mem for the rows of a group. */
#define ECP_REGROUP_SHARE			0.6

/*
 * Rows above which a leaf is split by an insert or by VACUUM: the limit of a
 * build, so that the first inserts after it do not split clusters.
 */
uint32
ecp_limits_leaf_rows(const EcpIndexState *state)
{
	uint32		fits = ecp_geometry_slots(&state->leaf, ECP_SPLIT_PAGES_MAX);

	Assert(state->leaf.slots > 0);
	return Max(Min(state->meta.ecpm_leaf_max, fits), 2);
}

/* Rows of a group that fit into maintenance_work_mem. */
double
ecp_limits_regroup_rows(const EcpIndexState *state)
{
	Size		row_bytes = state->leaf.row_bytes + 4 * sizeof(int32) +
		sizeof(ItemPointerData);

	if (!EcpRowsArePrepared(&state->meta))
		row_bytes += state->node.vec_bytes;
	return Max(maintenance_work_mem * 1024.0 * ECP_REGROUP_SHARE / row_bytes, 2);
}

/* Are too many pages retired for anything but splits to retire more? */
bool
ecp_limits_too_much_retired(Relation index, const EcpIndexState *state)
{
	return state->meta.ecpm_retired_pages >
		Max(RelationGetNumberOfBlocks(index) / ECP_RETIRED_SHARE,
			ECP_RETIRED_PAGES_MIN);
}
