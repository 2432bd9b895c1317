/*-------------------------------------------------------------------------
 *
 * betree_xlog.c
 *	  WAL: generic records, and two ways to make them.
 *
 * All records are PostgreSQL's generic WAL, so a server replays them without
 * this library.  Structure changes use GenericXLog, which copies and compares
 * whole pages.  The two frequent records, an append to a log and the flush of
 * a batch into a leaf with room, change few bytes at known places: for them
 * we emit the same record by hand.  A block's data in it is a list of
 * fragments, each an offset, a length (both uint16) and the bytes;
 * wal_consistency_checking=generic checks that we describe what we did.
 *
 * A record registers its buffers in the order in which their locks were
 * taken, and redo takes and holds them likewise: NODEs from the top, then
 * BUF pages, then leaves from the left, then new pages.  A reader on a
 * standby, coupling its locks downward, sees all of a record or nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* one buffer's fragments: what a flush can change, and some headers */
#define DELTA_SIZE		(BLCKSZ + 512)

/*
 * betree_delta_begin
 *		Start a record by hand: allocate what it needs.
 *
 * Protocol: begin; add the buffers, exclusively locked; START_CRIT_SECTION;
 * change the pages and name the changed ranges; finish, which ends the
 * critical section.
 */
void
betree_delta_begin(BetreeDelta *delta, Relation rel)
{
	static char *space = NULL;

	if (space == NULL)
		space = MemoryContextAlloc(TopMemoryContext,
								   BETREE_XLOG_MAX_BUFFERS * DELTA_SIZE);
	delta->rel = rel;
	delta->nbuffers = 0;
	for (int i = 0; i < BETREE_XLOG_MAX_BUFFERS; i++)
		delta->data[i] = space + i * DELTA_SIZE;
}

/* Add a buffer; returns its number for betree_delta_range */
int
betree_delta_buffer(BetreeDelta *delta, Buffer buf)
{
	Assert(delta->nbuffers < BETREE_XLOG_MAX_BUFFERS);
	delta->buffers[delta->nbuffers] = buf;
	delta->len[delta->nbuffers] = 0;
	return delta->nbuffers++;
}

/* Name a range of the page that has been changed; copies it */
void
betree_delta_range(BetreeDelta *delta, int bufno, int offset, int length)
{
	char	   *to = delta->data[bufno] + delta->len[bufno];
	uint16		header[2];

	Assert(CritSectionCount > 0);
	if (length == 0)
		return;
	if (delta->len[bufno] + sizeof(header) + length > DELTA_SIZE)
		elog(PANIC, "betree WAL record is too long");
	header[0] = offset;
	header[1] = length;
	memcpy(to, header, sizeof(header));
	memcpy(to + sizeof(header),
		   BufferGetPage(delta->buffers[bufno]) + offset, length);
	delta->len[bufno] += sizeof(header) + length;
}

/* Log the record and end the critical section */
void
betree_delta_finish(BetreeDelta *delta)
{
	for (int i = 0; i < delta->nbuffers; i++)
		MarkBufferDirty(delta->buffers[i]);

	if (RelationNeedsWAL(delta->rel))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < delta->nbuffers; i++)
		{
			XLogRegisterBuffer(i, delta->buffers[i], REGBUF_STANDARD);
			XLogRegisterBufData(i, delta->data[i], delta->len[i]);
		}
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		for (int i = 0; i < delta->nbuffers; i++)
			PageSetLSN(BufferGetPage(delta->buffers[i]), lsn);
	}
	END_CRIT_SECTION();
}

/* GenericXLog, for the other records */
GenericXLogState *
betree_xlog_start(Relation rel)
{
	return GenericXLogStart(rel);
}

/*
 * The copy of a page to be changed.  A page that was free or new must be
 * logged as an image: redo would not find it, or find something else there.
 */
Page
betree_xlog_page(GenericXLogState *state, Buffer buf, bool new_page)
{
	return GenericXLogRegisterBuffer(state, buf,
									 new_page ? GENERIC_XLOG_FULL_IMAGE : 0);
}

void
betree_xlog_finish(GenericXLogState *state)
{
	GenericXLogFinish(state);
}

