/*-------------------------------------------------------------------------
 *
 * device_file.h
 *	  Temporary files of a measurement, in the tablespace that is measured.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_FILE_H
#define ECP_DEVICE_FILE_H

#include "postgres.h"

#include "storage/fd.h"

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

#endif							/* ECP_DEVICE_FILE_H */
