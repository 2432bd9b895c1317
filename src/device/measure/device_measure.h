/*-------------------------------------------------------------------------
 *
 * device_measure.h
 *	  Jobs in several processes, temporary files of a measurement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_MEASURE_H
#define ECP_DEVICE_MEASURE_H

#include "postgres.h"

#include "portability/instr_time.h"
#include "storage/fd.h"

/*
 * device_job.c: one function in several processes at the same time.
 */

#define ECP_JOB_WORKERS_MAX		64

/* What one process did, or all of them (ecp_job_sum()). */
typedef struct EcpJobResult
{
	int64		ops;
	int64		bytes;
	double		busy_s;			/* sum of the delays of the operations */
	double		counted_s;		/* from the first operation counted to the end */
	double		finish_s;		/* since all started */
	int64		found;			/* of what was searched for */
} EcpJobResult;

typedef struct EcpJobContext
{
	int			worker;			/* from 0 */
	int			nworkers;
	instr_time	start;			/* the same in all processes */
	void	   *shared;			/* output of all processes, or NULL */
} EcpJobContext;

typedef void (*EcpJobFunction) (const EcpJobContext *context,
								const void *task, EcpJobResult *result);

/* Workers look the function up by name, so it must be exported. */
typedef struct EcpJob
{
	const char *name;
	EcpJobFunction function;
} EcpJob;

#define EcpJobOf(function)	((EcpJob) {#function, function})

/* Blocks read or written, in order or not. */
typedef struct EcpTransferTask
{
	char		path[MAXPGPATH];
	bool		write;
	bool		random;
	bool		warm;			/* read everything once before */
	bool		sync_each;		/* each write with its fsync */
	bool		sync_end;
	bool		mixed;			/* every second worker writes, in order */
	int			block_bytes;
	int			step_bytes;		/* from block to block; 0 for the next one */
	int			misalign;		/* by which all offsets are shifted */
	int64		file_bytes;
	int64		max_ops;		/* of each worker; 0 for no limit */
	double		max_seconds;	/* after warming up */
	double		warmup_s;		/* at most; what is done then is not counted */
} EcpTransferTask;

extern int	ecp_job_open(const char *path, int flags);
extern void ecp_job_read(int fd, void *buffer, size_t bytes, off_t offset,
						 const char *path);
extern void ecp_job_write(int fd, const void *buffer, size_t bytes,
						  off_t offset, const char *path);
extern void ecp_job_sync(int fd, const char *path);
extern double ecp_job_elapsed(instr_time start);
extern double ecp_job_seconds(const EcpJobContext *context);
extern int	ecp_job_run(EcpJob job, const void *task, Size task_bytes,
						int nworkers, Size shared_bytes, void *shared,
						EcpJobResult *results);
extern void ecp_job_sum(const EcpJobResult *results, int n,
						EcpJobResult *sum);

extern PGDLLEXPORT void ecp_job_transfer(const EcpJobContext *context,
										 const void *task,
										 EcpJobResult *result);

/*
 * device_file.c: files in the tablespace that is measured.
 */

/* Gone at the end of the transaction. */
typedef struct EcpDeviceFile
{
	File		file;
	char		path[MAXPGPATH];
	int64		bytes;			/* of data in it */
} EcpDeviceFile;

extern Oid	ecp_device_file_tablespace(const char *name, const char *function);
extern void ecp_device_file_create(Oid tablespace, EcpDeviceFile *file);
extern void ecp_device_file_append(EcpDeviceFile *file, const void *data,
								   int bytes);
extern void ecp_device_file_fill(EcpDeviceFile *file, int64 bytes,
								 double max_seconds, double *bytes_per_s,
								 double *sync_s);
extern void ecp_device_file_forget(const EcpDeviceFile *file, bool sync);
extern void ecp_device_file_close(EcpDeviceFile *file);

#endif							/* ECP_DEVICE_MEASURE_H */
