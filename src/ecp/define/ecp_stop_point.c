/*-------------------------------------------------------------------------
 *
 * ecp_stop_point.c
 *	  Named points between WAL records where tests stop a backend.
 *
 * Compiled only with assertions or -DECP_DEBUG.  The setting
 * ecp.debug_stop_at is "NAME", "NAME:COUNT", "NAME:COUNT:panic" or
 * "NAME:COUNT:sleep": when the point NAME is reached for the COUNTth time
 * (default 1) since the setting was made, the backend raises an error,
 * or flushes the WAL and crashes the server, or sleeps until it is killed or
 * cancelled.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"


#if defined(ECP_DEBUG) || defined(USE_ASSERT_CHECKING)

#include "access/xlog.h"
#include "ecp/define/ecp_stop_point.h"
#include "miscadmin.h"
#include "utils/guc.h"

static char *ecp_debug_stop_at;
static int	stop_count;			/* times the point was reached */

static void
ecp_stop_assign(const char *newval, void *extra)
{
	stop_count = 0;
}

void
ecp_stop_point_init(void)
{
	DefineCustomStringVariable("ecp.debug_stop_at",
							   "Stop point of a test, with count and action.",
							   NULL, &ecp_debug_stop_at, "", PGC_SUSET,
							   GUC_NOT_IN_SAMPLE, NULL, ecp_stop_assign, NULL);
}

void
ecp_stop_point(const char *name)
{
	size_t		len = strlen(name);
	const char *rest;
	int			count = 1;

	if (ecp_debug_stop_at == NULL || strncmp(ecp_debug_stop_at, name, len) != 0)
		return;
	rest = ecp_debug_stop_at + len;
	if (*rest != '\0' && *rest != ':')
		return;
	if (*rest == ':')
		count = strtol(rest + 1, (char **) &rest, 10);
	if (++stop_count != count)
		return;

	if (strcmp(rest, ":panic") == 0)
	{
		/* what was logged before is what recovery finds */
		XLogFlush(GetXLogInsertRecPtr());
		elog(PANIC, "stop point \"%s\" reached", name);
	}
	if (strcmp(rest, ":sleep") == 0)
	{
		for (;;)
		{
			CHECK_FOR_INTERRUPTS();
			pg_usleep(10000L);
		}
	}
	elog(ERROR, "stop point \"%s\" reached", name);
}

#endif
