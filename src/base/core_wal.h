/*-------------------------------------------------------------------------
 *
 * core_wal.h
 *	  WAL records of PostgreSQL's own kinds, made by hand.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CORE_WAL_H
#define CORE_WAL_H

#include "access/generic_xlog.h"
#include "access/transam.h"
#include "base/compat.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* Pages that one record changes at most: as many as GenericXLog's. */
#define ECP_DELTA_BUFFERS	MAX_GENERIC_XLOG_PAGES

/* A generic record that describes the bytes its pages change. */
typedef struct EcpDelta
{
	Relation	rel;
	int			nbuffers;
	Buffer		buffers[ECP_DELTA_BUFFERS];
	char	   *pages[ECP_DELTA_BUFFERS];
	int			max_bytes;		/* of a page's fragments */
	int			bytes[ECP_DELTA_BUFFERS];
	char	   *fragments[ECP_DELTA_BUFFERS];
} EcpDelta;

/* Fragments of a page that take no more than this need few ranges. */
#define ECP_DELTA_BYTES		(BLCKSZ + 512)

/* Bytes of a fragment beside those of its range. */
#define ECP_DELTA_HEADER	(2 * sizeof(uint16))

/*
 * Start a record of some buffers, exclusively locked, and allocate what it needs:
 * max_bytes for the fragments of a page.  Only one record is made at a time.
 *
 * A critical section begins here, and ends with ecp_delta_finish(): in between,
 * change the pages, and name the ranges that have changed.
 */
extern void ecp_delta_begin_pages(EcpDelta *delta, Relation rel, int max_bytes,
								  const Buffer *buffers, int nbuffers);

/* The same of one buffer or two, numbers 0 and 1; either may be InvalidBuffer. */
static inline void
ecp_delta_begin(EcpDelta *delta, Relation rel, int max_bytes, Buffer first, Buffer second)
{
	Buffer		buffers[2] = {first, second};
	int			skip = BufferIsValid(first) ? 0 : 1;

	ecp_delta_begin_pages(delta, rel, max_bytes, buffers + skip,
						  (BufferIsValid(second) ? 2 : 1) - skip);
}

/* The error for ranges that exceed max_bytes. */
pg_noreturn extern void ecp_delta_report(void);

/*
 * Name a range of the page that has been changed.  Inline,
 * because a row in columns changes a range for every few elements.
 */
static inline void
ecp_delta_range(EcpDelta *delta, int bufno, int offset, int length)
{
	int			bytes = delta->bytes[bufno];
	char	   *to = delta->fragments[bufno] + bytes;
	uint16		header[2];

	Assert(CritSectionCount > 0);
	Assert(bufno >= 0 && bufno < delta->nbuffers);
	Assert(offset >= 0 && length >= 0 && offset + length <= BLCKSZ);
	if (length == 0)
		return;
	bytes += ECP_DELTA_HEADER + length;
	if (unlikely(bytes > delta->max_bytes))
		ecp_delta_report();
	header[0] = offset;
	header[1] = length;
	memcpy(to, header, ECP_DELTA_HEADER);
	memcpy(to + ECP_DELTA_HEADER, delta->pages[bufno] + offset, length);
	delta->bytes[bufno] = bytes;
}

/* The same of bytes of the page that are given by their address. */
static inline void
ecp_delta_bytes(EcpDelta *delta, int bufno, const void *from, int length)
{
	ecp_delta_range(delta, bufno, (const char *) from - delta->pages[bufno], length);
}

/* The same of a variable. */
#define ecp_delta_field(delta, bufno, field) \
	ecp_delta_bytes(delta, bufno, &(field), sizeof(field))

/*
 * Copy bytes to the page, and name those that change.  Bytes at both ends that
 * stay as they are need not be logged; in the hole between pd_lower and pd_upper
 * that is true of zeros only, since redo clears the hole.
 */
extern void ecp_delta_copy(EcpDelta *delta, int bufno, int offset,
						   const void *from, int length);

/* Mark the buffers dirty, log the record, and end the critical section. */
extern void ecp_delta_finish(EcpDelta *delta);

/*
 * Log that blocks which queries on a standby may still need, those of
 * snapshots that do not see "fxid" as over, are about to be used again.
 */
extern void ecp_log_page_reuse(Relation index, Relation heap, BlockNumber blk,
							   FullTransactionId fxid);

#endif							/* CORE_WAL_H */
