/*-------------------------------------------------------------------------
 *
 * stop_point.c
 *	  Named points between WAL records where tests stop a backend.
 *
 * Compiled only with assertions or -DECP_DEBUG.  The setting
 * ecp.debug_stop_at is NAME[:COUNT[:ACTION]].  When the point NAME is reached
 * for the COUNTth time (default 1) since the setting was made, the backend
 * acts:
 *
 *	error	raise an error (the default)
 *	panic	flush the WAL and crash the server
 *	wait	wait until the advisory lock (7777, 1) is free
 *
 * "wait" makes concurrency tests deterministic: the test takes the lock with
 * pg_advisory_lock(7777, 1), starts the backend, acts while that waits, and
 * releases the lock.  If the backend holds content locks at the point, the
 * wait cannot be cancelled.
 *
 * This file is in two libraries (src/README).  The setting is that of the one whose
 * _PG_init calls ecp_stop_point_init(); the other finds what acts on it by a
 * variable of the server's, once the first is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/stop_point.h"

#if defined(ECP_DEBUG) || defined(USE_ASSERT_CHECKING)

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/guc.h"

typedef void (*StopPoint) (const char *name);

static char *debug_stop_at;
static int	stop_count;			/* times the point was reached */

static void stop_here(const char *name);

/* The StopPoint of the library that has the setting; NULL before it is loaded. */
static void **
stop_point_variable(void)
{
	static void **variable;

	if (variable == NULL)
		variable = find_rendezvous_variable("ecp_stop_point");
	return variable;
}

static void
stop_at_assign(const char *newval, void *extra)
{
	stop_count = 0;
}

void
ecp_stop_point_init(void)
{
	DefineCustomStringVariable("ecp.debug_stop_at",
							   "Stop point of a test, with count and action.",
							   NULL, &debug_stop_at, "", PGC_SUSET,
							   GUC_NOT_IN_SAMPLE, NULL, stop_at_assign, NULL);
	*stop_point_variable() = (void *) stop_here;
}

static void
wait_for_advisory_lock(void)
{
	LOCKTAG		tag;

	/* the key space of pg_advisory_lock(int, int) */
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 7777, 1, 2);
	(void) LockAcquire(&tag, ShareLock, true, false);
	LockRelease(&tag, ShareLock, true);
}

/*
 * The end of what has been logged.  Where that is the end of a page, the position
 * for inserts is behind the header of the next one, which is not there to be
 * flushed.
 */
static XLogRecPtr
logged_end(void)
{
	XLogRecPtr	end = GetXLogInsertRecPtr();

	if (XLogSegmentOffset(end, wal_segment_size) == SizeOfXLogLongPHD)
		end -= SizeOfXLogLongPHD;
	else if (end % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		end -= SizeOfXLogShortPHD;
	return end;
}

static void
stop_here(const char *name)
{
	size_t		len = strlen(name);
	const char *rest;
	int			count = 1;

	if (debug_stop_at == NULL || strncmp(debug_stop_at, name, len) != 0)
		return;
	rest = debug_stop_at + len;
	if (*rest != '\0' && *rest != ':')
		return;
	if (*rest == ':')
		count = strtol(rest + 1, (char **) &rest, 10);
	if (++stop_count != count)
		return;

	if (strcmp(rest, ":panic") == 0)
	{
		/* what was logged before is what recovery finds */
		XLogFlush(logged_end());
		elog(PANIC, "stop point \"%s\" reached", name);
	}
	else if (strcmp(rest, ":wait") == 0)
		wait_for_advisory_lock();
	else
		elog(ERROR, "stop point \"%s\" reached", name);
}

void
ecp_stop_point(const char *name)
{
	void	   *act = *stop_point_variable();

	if (act != NULL)
		((StopPoint) act) (name);
}

#endif
