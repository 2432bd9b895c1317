/*-------------------------------------------------------------------------
 *
 * wait_event.h
 *	  Names of the waits of this extension, as pg_stat_activity shows them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_WAIT_EVENT_H
#define ECP_WAIT_EVENT_H

typedef enum EcpWait
{
	ECP_WAIT_BATCH,				/* processes of ecp_knn_batch() */
	ECP_WAIT_SCAN,				/* the next part of a parallel scan of betree */
	ECP_WAIT_JOB,				/* processes that measure a device */
	ECP_WAIT_DEVICE				/* the device that is measured */
} EcpWait;

/* The wait event, "extension" before PostgreSQL 17. */
extern uint32 ecp_wait_event(EcpWait wait);

#endif							/* ECP_WAIT_EVENT_H */
