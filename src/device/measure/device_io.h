/*-------------------------------------------------------------------------
 *
 * device_io.h
 *	  Measured jobs in several processes on files of a tablespace.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_IO_H
#define ECP_DEVICE_IO_H

#include "postgres.h"

#include "port/atomics.h"
#include "portability/instr_time.h"
#include "storage/fd.h"

#define ECP_JOB_WORKERS_MAX		64

/* A temporary file of ours; gone at the end of the transaction. */
typedef struct EcpDeviceFile
{
	File		file;
	char		path[MAXPGPATH];
	int64		bytes;			/* of data in it */
} EcpDeviceFile;

/* What a process did in its part of a job. */
typedef struct EcpJobResult
{
	int64		ops;
	int64		bytes;
	double		busy_s;			/* sum of the delays of the operations */
	double		finish_s;		/* since all started */
	double		value;			/* of the job's own */
} EcpJobResult;

typedef struct EcpJobContext
{
	int			worker;			/* from 0 */
	int			nworkers;
	instr_time	start;			/* the same in all processes */
	void	   *shared;			/* the job's shared output, or NULL */
} EcpJobContext;

typedef void (*EcpJobFunction) (const EcpJobContext *context,
								const void *task, EcpJobResult *result);

/* Workers look the function up by its name, so that it must be exported. */
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

extern void ecp_device_file_create(Oid tablespace, EcpDeviceFile *file);
extern void ecp_device_file_fill(EcpDeviceFile *file, int64 bytes,
								 double max_seconds, double *bytes_per_s,
								 double *sync_s);
extern void ecp_device_file_forget(const EcpDeviceFile *file, bool sync);
extern void ecp_device_file_close(EcpDeviceFile *file);

extern int	ecp_job_open(const char *path, int flags);
extern void ecp_job_read(int fd, void *buffer, size_t bytes, off_t offset,
						 const char *path);
extern void ecp_job_write(int fd, const void *buffer, size_t bytes,
						  off_t offset, const char *path);
extern double ecp_job_seconds(const EcpJobContext *context);
extern int	ecp_job_run(EcpJob job, const void *task, Size task_bytes,
						int nworkers, Size shared_bytes, void *shared,
						EcpJobResult *results);
extern void ecp_job_sum(const EcpJobResult *results, int n,
						EcpJobResult *sum);

extern PGDLLEXPORT void ecp_job_transfer(const EcpJobContext *context,
										 const void *task,
										 EcpJobResult *result);

extern Oid	ecp_device_tablespace(const char *name, const char *function);

#endif							/* ECP_DEVICE_IO_H */
