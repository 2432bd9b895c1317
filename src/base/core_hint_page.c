/*-------------------------------------------------------------------------
 *
 * core_hint_page.c
 *	  A page of hints beside an index's pages.
 *
 * An access method has no file of its own in which to keep what may be lost.
 * The fork of the free space map is one that core itself treats as hints: it
 * need not be WAL-logged, wal_consistency_checking leaves it out, it may be
 * missing or torn, and it is copied and dropped with the index.  So an index
 * that does not use the free space map has its block 0 for us.  Core reads
 * that fork only by functions that the access method itself would call, and
 * pg_freespacemap's, which reads the page as a map: figures without sense.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core_hint_page.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#define HINT_FORK			FSM_FORKNUM
#define HINT_BLKNO			0

bool
ecp_hint_page_exists(Relation index)
{
	return smgrexists(RelationGetSmgr(index), HINT_FORK) &&
		RelationGetNumberOfBlocksInFork(index, HINT_FORK) > HINT_BLKNO;
}

/* The page, which exists, locked; zeros if it is damaged. */
Buffer
ecp_hint_page_get(Relation index, int lockmode)
{
	Buffer		buffer = ReadBufferExtended(index, HINT_FORK, HINT_BLKNO,
											RBM_ZERO_ON_ERROR, NULL);

	LockBuffer(buffer, lockmode);
	return buffer;
}

/* Make the page, of zeros, if it does not exist: extends a file, may fail. */
void
ecp_hint_page_make(Relation index)
{
	if (ecp_hint_page_exists(index))
		return;
	LockRelationForExtension(index, ExclusiveLock);
	if (!smgrexists(RelationGetSmgr(index), HINT_FORK))
		smgrcreate(RelationGetSmgr(index), HINT_FORK, false);
	if (!ecp_hint_page_exists(index))
		ReleaseBuffer(ReadBufferExtended(index, HINT_FORK, P_NEW, RBM_NORMAL,
										 NULL));
	UnlockRelationForExtension(index, ExclusiveLock);
}
