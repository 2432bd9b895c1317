/*-------------------------------------------------------------------------
 *
 * device_file.c
 *	  Temporary files of a measurement, in the tablespace that is measured.
 *
 * They lie in the tablespace's own area for temporary files, so fd.c counts
 * them against temp_file_limit and removes them at any end of the transaction,
 * and the next start of the server removes what a crash left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xlog.h"
#include "base/compat.h"
#include "base/wait_event.h"
#include "catalog/pg_tablespace.h"
#include "commands/tablespace.h"
#include "common/pg_prng.h"
#include "device/measure/device_measure.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/memutils.h"

/*
 * A file is filled in pieces, each followed by a sync.  The first one is small
 * enough for any device; a piece is at most FILL_GROWTH times as large as the
 * one before, and no larger than what should take FILL_SYNC_SECONDS.
 */
#define FILL_CHUNK_BYTES	(1024 * 1024)
#define FILL_FIRST_BYTES	(64 * 1024)
#define FILL_GROWTH			4
#define FILL_SYNC_BYTES		(32 * 1024 * 1024)
#define FILL_SYNC_SECONDS	1.0

/*
 * ecp_device_file_tablespace
 *		The OID of the tablespace that a SQL function is to measure.
 *
 * Checks that the caller may create files there and that this server may
 * write at all.
 */
Oid
ecp_device_file_tablespace(const char *name, const char *function)
{
	Oid			tablespace = get_tablespace_oid(name, false);

	PreventCommandDuringRecovery(function);
	if (tablespace == GLOBALTABLESPACE_OID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tablespace \"%s\" cannot be measured", name),
				 errdetail("Only shared relations can be placed there.")));
	if (tablespace != MyDatabaseTableSpace)
	{
		AclResult	result = ecp_tablespace_aclcheck(tablespace, GetUserId());

		if (result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_TABLESPACE, name);
	}
	return tablespace;
}

/*
 * ecp_device_file_create
 *		Create an empty temporary file in a tablespace.
 *
 * Leaves the temporary tablespaces of the transaction as they were.
 */
void
ecp_device_file_create(Oid tablespace, EcpDeviceFile *file)
{
	Oid		   *ours;
	Oid		   *saved;
	int			nsaved;
	char		prefix[MAXPGPATH];

	Assert(OidIsValid(tablespace));
	PrepareTempTablespaces();
	saved = MemoryContextAlloc(TopTransactionContext, 64 * sizeof(Oid));
	nsaved = GetTempTablespaces(saved, 64);
	ours = MemoryContextAlloc(TopTransactionContext, sizeof(Oid));
	ours[0] = tablespace;
	SetTempTablespaces(ours, 1);
	file->file = OpenTemporaryFile(false);
	SetTempTablespaces(saved, nsaved);

	/* fd.c falls back to the default tablespace if ours cannot be used */
	strlcpy(file->path, FilePathName(file->file), sizeof(file->path));
	TempTablespacePath(prefix, tablespace);
	if (strncmp(file->path, prefix, strlen(prefix)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not create a temporary file in tablespace \"%s\"",
						get_tablespace_name(tablespace))));
	file->bytes = 0;
}

/*
 * ecp_device_file_append
 *		Write at the end of the file.
 */
void
ecp_device_file_append(EcpDeviceFile *file, const void *data, int bytes)
{
	Assert(bytes > 0);
	errno = 0;
	if (FileWrite(file->file, unconstify(void *, data), bytes, file->bytes,
				  ecp_wait_event(ECP_WAIT_DEVICE)) != bytes)
	{
		if (errno == 0)
			errno = ENOSPC;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write to file \"%s\": %m", file->path)));
	}
	file->bytes += bytes;
}

/* Append "bytes" in chunks, no two of which are alike, and sync the file. */
static void
fill_piece(EcpDeviceFile *file, char *chunk, int64 bytes)
{
	Assert(bytes > 0);
	while (bytes > 0)
	{
		int64		at = file->bytes;
		int			n = (int) Min(bytes, FILL_CHUNK_BYTES);

		CHECK_FOR_INTERRUPTS();
		memcpy(chunk, &at, sizeof(at));
		ecp_device_file_append(file, chunk, n);
		FileWriteback(file->file, at, n, ecp_wait_event(ECP_WAIT_DEVICE));
		bytes -= n;
	}
	ecp_job_sync(FileGetRawDesc(file->file), file->path);
}

/*
 * ecp_device_file_fill
 *		Write a file from its beginning, in order, and sync it.
 *
 * The data cannot be compressed.  Stops early if the next piece would exceed
 * max_seconds at the rate of the last one, so that a slow device bounds the
 * size of the file; file->bytes is the size reached.  Each chunk is handed to
 * the device as soon as it is written, so that it never waits for us; the
 * syncs bound what it has yet to do.
 *
 * *bytes_per_s becomes the rate of writing with few syncs, that is, without
 * the first, small pieces if others followed; *sync_s what the sync of the
 * smallest piece took.  Both may be NULL.
 */
void
ecp_device_file_fill(EcpDeviceFile *file, int64 bytes, double max_seconds,
					 double *bytes_per_s, double *sync_s)
{
	char	   *chunk = palloc(FILL_CHUNK_BYTES);
	pg_prng_state prng;
	instr_time	start;
	double		elapsed = 0;
	double		rate = 0;		/* of the last piece */
	int64		largest = 0;	/* piece so far */
	int64		counted_bytes = 0;
	double		counted_s = 0;

	Assert(file->bytes == 0 && bytes > 0 && max_seconds > 0);
	pg_prng_seed(&prng, 20110722);
	for (int i = 0; i < FILL_CHUNK_BYTES; i += sizeof(uint64))
	{
		uint64		word = pg_prng_uint64(&prng);

		memcpy(chunk + i, &word, sizeof(word));
	}

	INSTR_TIME_SET_CURRENT(start);
	while (file->bytes < bytes)
	{
		double		most = FILL_FIRST_BYTES;
		double		before = elapsed;
		int64		piece;

		if (largest > 0)
			most = Min(Min((double) largest * FILL_GROWTH, FILL_SYNC_BYTES),
					   rate * Min(FILL_SYNC_SECONDS, max_seconds - elapsed));
		if (most < FILL_FIRST_BYTES && file->bytes > 0)
		{
			if (elapsed >= max_seconds ||
				FILL_FIRST_BYTES > rate * (max_seconds - elapsed))
				break;
			most = FILL_FIRST_BYTES;
		}
		piece = (int64) most / FILL_FIRST_BYTES * FILL_FIRST_BYTES;
		piece = Min(piece, bytes - file->bytes);
		fill_piece(file, chunk, piece);
		elapsed = ecp_job_elapsed(start);
		rate = piece / Max(elapsed - before, 1e-6);
		if (sync_s && largest == 0)
			*sync_s = elapsed - before;
		if (piece >= 2 * largest)
		{
			largest = piece;
			counted_bytes = 0;
			counted_s = 0;
		}
		counted_bytes += piece;
		counted_s += elapsed - before;
	}
	pfree(chunk);
	if (bytes_per_s)
		*bytes_per_s = counted_bytes / Max(counted_s, 1e-6);
}

/*
 * ecp_device_file_forget
 *		Ask the page cache to drop the file; it drops clean pages only.
 *
 * "sync" makes all of them clean first.  It is best omitted where nothing was
 * written: even then a sync may wait for the writes of others.
 */
void
ecp_device_file_forget(const EcpDeviceFile *file, bool sync)
{
	int			fd = ecp_job_open(file->path, O_RDWR);

	Assert(file->path[0] != '\0');
	if (sync)
		ecp_job_sync(fd, file->path);
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_DONTNEED)
	(void) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
#endif
	CloseTransientFile(fd);
}

void
ecp_device_file_close(EcpDeviceFile *file)
{
	FileClose(file->file);
}
