/*-------------------------------------------------------------------------
 *
 * core_snapshot.c
 *	  Whether a query may need what was replaced.
 *
 * PostgreSQL's horizons tell what no snapshot sees any more by transaction ids.
 * They cannot tell a snapshot that was taken before some event from one that was
 * taken after it, if no transaction id was assigned between: on a server that
 * is idle but for a VACUUM, nothing that it replaced could be freed before the
 * next one.  But then there often is no snapshot at all, and that can be seen in
 * the array of processes.
 *
 * A process that has a snapshot has an xmin there.  GetSnapshotData() and the
 * functions that import a snapshot set it under ProcArrayLock in shared mode; so
 * if there is none while we hold the lock exclusively, every snapshot is taken
 * later.  VACUUM's own snapshots do not count, as for the horizons; those that a
 * standby reports (hot_standby_feedback) are the xmin of its walsender or of its
 * replication slot.
 *
 * A standby that reports none learns from WAL to end the queries that do not see a
 * transaction as over.  A transaction that redo has not met it takes for one of long
 * ago, and ends none (ResolveRecoveryConflictWithSnapshotFullXid()).  One that
 * changes nothing that is logged, but temporary tables, is not in WAL before it ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "base/compat.h"
#include "base/core.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/rel.h"

FullTransactionId
ecp_relation_unread(Relation rel)
{
	FullTransactionId next;
	TransactionId slot_xmin;
	bool		found = false;

	/* a scan of this process, as of a cursor, has a reference besides ours */
	if (rel->rd_refcnt != 1)
		return InvalidFullTransactionId;

	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	next = TransamVariables->latestCompletedXid;
	FullTransactionIdAdvance(&next);
	for (uint32 i = 0; i < ProcGlobal->allProcCount && !found; i++)
	{
		PGPROC	   *proc = &ProcGlobal->allProcs[i];

		/* walsenders have no database */
		found = proc != MyProc && TransactionIdIsValid(proc->xmin) &&
			(proc->databaseId == MyDatabaseId || !OidIsValid(proc->databaseId)) &&
			(proc->statusFlags & (PROC_IN_VACUUM | PROC_IN_LOGICAL_DECODING)) == 0;
	}
	LWLockRelease(ProcArrayLock);

	ProcArrayGetReplicationSlotXmin(&slot_xmin, NULL);
	return found || TransactionIdIsValid(slot_xmin) ? InvalidFullTransactionId : next;
}
