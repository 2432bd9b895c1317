/*-------------------------------------------------------------------------
 *
 * ecp_maintain_lock.c
 *	  The lock of the one process that changes an index's structure.
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
#include "storage/lmgr.h"
#include "storage/lock.h"

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
