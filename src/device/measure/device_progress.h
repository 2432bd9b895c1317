/*-------------------------------------------------------------------------
 *
 * device_progress.h
 *	  Progress of measuring functions, for the view ecp_progress.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_PROGRESS_H
#define ECP_DEVICE_PROGRESS_H

#include "postgres.h"

typedef enum EcpProgressCommand
{
	ECP_PROGRESS_CALIBRATE,
	ECP_PROGRESS_BENCH
} EcpProgressCommand;

/* What is measured now; the names are those of the functions' output. */
typedef enum EcpProgressPhase
{
	ECP_PROGRESS_FILL,
	ECP_PROGRESS_READ_SIZES,
	ECP_PROGRESS_RANDOM_WORKERS,
	ECP_PROGRESS_SEQUENTIAL_WORKERS,
	ECP_PROGRESS_MISALIGNED,
	ECP_PROGRESS_STEPS,
	ECP_PROGRESS_MIXED,
	ECP_PROGRESS_CACHED,
	ECP_PROGRESS_SYNCED,
	ECP_PROGRESS_APPENDED,
	ECP_PROGRESS_LAZY,
	ECP_PROGRESS_BLOCK,
	ECP_PROGRESS_KNN,
	ECP_PROGRESS_SORT,
	ECP_PROGRESS_SEARCH
} EcpProgressPhase;

extern void ecp_progress_begin(EcpProgressCommand command, Oid tablespace,
							   int steps);
extern void ecp_progress_phase(EcpProgressPhase phase);
extern void ecp_progress_step(int64 written_bytes);
extern void ecp_progress_end(void);
extern const char *ecp_progress_phase_name(EcpProgressPhase phase);

#endif							/* ECP_DEVICE_PROGRESS_H */
