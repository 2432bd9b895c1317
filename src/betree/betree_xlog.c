/*-------------------------------------------------------------------------
 *
 * betree_xlog.c
 *	  WAL: generic records, and two ways to make them.
 *
 * All records are PostgreSQL's generic WAL, so a server replays them without
 * this library.  Structure changes use GenericXLog, which copies and compares
 * whole pages.  The two frequent records, an append to a log and the flush of
 * a batch into a leaf with room, change few bytes at known places: these are
 * logged by base/core_wal.c.
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
