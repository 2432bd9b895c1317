/*-------------------------------------------------------------------------
 *
 * core_wal.c
 *	  WAL records of PostgreSQL's own kinds, made by hand.
 *
 * All that we log is replayed by a server without this library, so the records
 * are PostgreSQL's.  Two of them have no public interface:
 *
 * Generic records.  GenericXLogFinish() finds out what has changed by copying
 * each page twice and comparing the copies, which took a third of the time of
 * an insert into either index.  The most frequent changes are to a few bytes
 * at known places: EcpDelta writes the record from these.  A block's data in
 * it is a list of fragments: offset and length (both uint16), and the bytes.
 * That format is generic_xlog.c's own; it has not changed since it came with
 * PostgreSQL 9.6, and wal_consistency_checking = generic, with which our tests
 * run, checks that it is what a server replays.  For versions that we do not
 * know, pages are logged as full images, which need no fragments.
 *
 * Page reuse.  A record of GiST's that names an index and a transaction, and
 * touches no page: redo cancels the queries that need the blocks.  Any index may
 * log it, but it is declared in GiST's private header.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gist_private.h"
#include "access/xloginsert.h"
#include "base/compat.h"
#include "base/core_wal.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

void
ecp_delta_begin_pages(EcpDelta *delta, Relation rel, int max_bytes,
					  const Buffer *buffers, int nbuffers)
{
	static char *space = NULL;
	static int	space_bytes = 0;

	Assert(max_bytes > 0);
	Assert(nbuffers > 0 && nbuffers <= ECP_DELTA_BUFFERS);
	if (max_bytes > space_bytes)
	{
		if (space != NULL)
			pfree(space);
		space = NULL;
		space_bytes = 0;
		space = MemoryContextAlloc(TopMemoryContext,
								   (Size) ECP_DELTA_BUFFERS * max_bytes);
		space_bytes = max_bytes;
	}
	delta->rel = rel;
	delta->nbuffers = nbuffers;
	delta->max_bytes = max_bytes;
	for (int i = 0; i < nbuffers; i++)
	{
		delta->buffers[i] = buffers[i];
		delta->pages[i] = BufferGetPage(buffers[i]);
		delta->bytes[i] = 0;
		delta->fragments[i] = space + i * max_bytes;
	}
	START_CRIT_SECTION();
}

void
ecp_delta_report(void)
{
	elog(PANIC, "changes of a page are too long for a WAL record");
}

/* Will a byte of the page be there when the record is replayed? */
static inline bool
byte_stays(const char *page, int offset, char byte)
{
	PageHeader	header = (PageHeader) page;

	return page[offset] == byte &&
		(byte == 0 || offset < header->pd_lower || offset >= header->pd_upper);
}

void
ecp_delta_copy(EcpDelta *delta, int bufno, int offset, const void *from,
			   int length)
{
	char	   *page = delta->pages[bufno];
	const char *bytes = from;
	int			first = 0;
	int			end = length;

	Assert(CritSectionCount > 0);
	while (first < end && byte_stays(page, offset + first, bytes[first]))
		first++;
	while (end > first && byte_stays(page, offset + end - 1, bytes[end - 1]))
		end--;
	memcpy(page + offset + first, bytes + first, end - first);
	ecp_delta_range(delta, bufno, offset + first, end - first);
}

void
ecp_delta_finish(EcpDelta *delta)
{
	Assert(CritSectionCount > 0);
	for (int i = 0; i < delta->nbuffers; i++)
		MarkBufferDirty(delta->buffers[i]);

	if (RelationNeedsWAL(delta->rel))
	{
		XLogRecPtr	lsn;

		XLogBeginInsert();
		for (int i = 0; i < delta->nbuffers; i++)
		{
			XLogRegisterBuffer(i, delta->buffers[i], ECP_DELTA_REGBUF);
			XLogRegisterBufData(i, delta->fragments[i], delta->bytes[i]);
		}
		lsn = XLogInsert(RM_GENERIC_ID, 0);
		for (int i = 0; i < delta->nbuffers; i++)
			PageSetLSN(BufferGetPage(delta->buffers[i]), lsn);
	}
	END_CRIT_SECTION();
}

void
ecp_log_page_reuse(Relation index, Relation heap, BlockNumber blk,
				   FullTransactionId fxid)
{
	Assert(RelationNeedsWAL(index));
	Assert(BlockNumberIsValid(blk));
	ecp_gist_page_reuse(index, heap, blk, fxid);
}
