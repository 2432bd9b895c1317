/*-------------------------------------------------------------------------
 *
 * wait_event.c
 *	  Names of the waits of this extension, as pg_stat_activity shows them.
 *
 * The server keeps them in shared memory; a process asks once for each.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/wait_event.h"
#include "utils/wait_event.h"

static const char *const names[] = {
	[ECP_WAIT_BATCH] = "EcpBatch",
	[ECP_WAIT_SCAN] = "BetreeParallelScan",
	[ECP_WAIT_JOB] = "EcpDeviceJob",
	[ECP_WAIT_DEVICE] = "EcpDeviceFile",
};

uint32
ecp_wait_event(EcpWait wait)
{
	static uint32 events[lengthof(names)];

	Assert(wait < lengthof(names));
	if (events[wait] == 0)
		events[wait] = ecp_wait_event_new(names[wait]);
	return events[wait];
}
