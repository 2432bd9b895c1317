/*-------------------------------------------------------------------------
 *
 * core.h
 *	  Server state that has no public interface.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_CORE_H
#define ECP_CORE_H

#include "access/parallel.h"
#include "access/transam.h"
#include "nodes/parsenodes.h"
#include "storage/buf.h"
#include "storage/dsm.h"
#include "utils/relcache.h"

/* core_buffer.c: what bufmgr.h does not tell of a buffer */

/* Does this process hold a lock, of either mode?  False of local buffers. */
extern bool ecp_buffer_is_locked(Buffer buffer);

/*
 * For assertions: may this process read the page, or change it?  Local buffers
 * have no locks, and need none.
 */
extern bool ecp_buffer_is_share_locked(Buffer buffer);
extern bool ecp_buffer_is_exclusive_locked(Buffer buffer);

/* The buffer that an address is in, or InvalidBuffer; for error messages */
extern Buffer ecp_buffer_at(const void *address);

/*
 * Let the processor fetch memory; the descriptor of a buffer, if it is shared;
 * and that with part of a page, which may be another one by now.  A line at a time:
 * four at once take fewer instructions, and a seventh more time (RESULTS.md).
 */
static inline void
ecp_memory_warm(const char *from, Size bytes)
{
	const Size	cache_line = 64;

	for (const char *p = from; p < from + bytes; p += cache_line)
		__builtin_prefetch(p, 0, 1);
}

extern void ecp_buffer_warm(Buffer buffer);
extern void ecp_buffer_warm_page(Buffer buffer, Size offset, Size bytes);

/* core_dsm.c: dynamic shared memory where there may be too little of it */

/*
 * As dsm_create(), but returns NULL if there is no room for the segment, or
 * if there are too many.
 */
extern dsm_segment *ecp_dsm_create(Size bytes);

/*
 * As InitializeParallelDSM(), but returns false if there is no room.  The
 * context can then only be destroyed.
 */
extern bool ecp_dsm_initialize(ParallelContext *pcxt);

/* core_snapshot.c: whether a query may need what was replaced */

/*
 * If no query that began before this call reads "rel", which is a relation of this
 * database, in another process, on a standby that sends feedback, or in this process:
 * the largest transaction id of a record of page reuse by which another standby ends
 * its queries that do.  Invalid if one may read it.
 */
extern FullTransactionId ecp_relation_unread(Relation rel);

/*
 * core_statement.c: the CREATE INDEX or ALTER INDEX that the session executes.
 */

/*
 * The CREATE INDEX that a client has sent and that is being executed, as the
 * grammar made it, and its table; or NULL.
 */
extern const IndexStmt *ecp_core_index_statement(Oid *table);

/*
 * The storage parameters that the ALTER INDEX or ALTER TABLE that a client has
 * sent sets or resets, as DefElems.
 */
extern List *ecp_core_set_options(void);

#endif							/* ECP_CORE_H */
