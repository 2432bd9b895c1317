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
#include "miscadmin.h"
#include "pgstat.h"
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
