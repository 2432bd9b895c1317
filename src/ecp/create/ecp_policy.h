/*-------------------------------------------------------------------------
 *
 * ecp_policy.h
 *	  What a build policy is, and the intermediate files that policies use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_POLICY_H
#define ECP_POLICY_H

#include "ecp/define/ecp_options.h"
#include "portability/instr_time.h"
#include "storage/dsm.h"
#include "storage/fd.h"

struct EcpBuild;
struct EcpInBuff;

/* Ranges of leaders are multiples of this. */
#define ECP_RANGE_LEADERS	128

/*
 * A policy keeps the assigned rows of one in-buff after the other, and gives
 * back the rows of one cluster after the other, in the order of their TIDs.
 * Every process of a build has a state of its own; what all have kept, any of
 * them can give back, a range of leaders at a time.
 */
typedef struct EcpPolicyRoutine
{
	const char *name;
	EcpBuildPolicy policy;

	/* Once, when the leaders are known; returns the policy's state. */
	void	   *(*begin) (struct EcpBuild *build);

	/* Keep the assigned rows of a participant's in-buff. */
	void		(*round) (struct EcpBuild *build, struct EcpInBuff *inbuff,
						  int participant);

	/*
	 * Can the rows of all in-buffs be read where they are, because none was
	 * full before the table ended?
	 */
	bool		keeps_in_memory;

	/*
	 * Once, by the backend, when all processes have kept all rows.  Returns
	 * whether several processes may read at the same time.
	 */
	bool		(*merge) (struct EcpBuild *build);

	/*
	 * This process, one of "readers", will read the leaders from .. upto - 1.
	 * Its ranges come in ascending order, and begin at multiples of
	 * ECP_RANGE_LEADERS.
	 */
	void		(*range) (struct EcpBuild *build, int readers, int from,
						  int upto);

	/*
	 * Up to max further rows of "leader"; returns their number, 0 when there
	 * are no more.  Those leaders of the range that have rows are asked for
	 * in ascending order, each until it has no more.
	 */
	int			(*read) (struct EcpBuild *build, int leader, int max,
						 ItemPointerData *tids, char *vectors);
} EcpPolicyRoutine;

extern const EcpPolicyRoutine ecp_policy_chunkfiles;
extern const EcpPolicyRoutine ecp_policy_tempfiles;

/* ---- ecp_files.c: intermediate files ---- */

typedef struct EcpFilesCount
{
	uint32		files;			/* created */
	uint64		opens;
	uint64		read_bytes;
	uint64		written_bytes;
	double		io_s;			/* spent in calls of the file system */
} EcpFilesCount;

typedef struct EcpFiles EcpFiles;

/*
 * Resolve ecp.build_tablespaces and check the privileges.  No file and no
 * shared memory exist before the first ecp_files_create().
 */
extern EcpFiles *ecp_files_begin(void);

/* Where the first file would go; InvalidOid is where the database is. */
extern Oid	ecp_files_tablespace(const EcpFiles *files);
extern EcpFilesCount *ecp_files_count(EcpFiles *files);
extern void ecp_files_count_add(EcpFilesCount *sum,
								const EcpFilesCount *part);

/* For a worker: the backend shares its files, the worker attaches them. */
extern dsm_handle ecp_files_share(EcpFiles *files);
extern EcpFiles *ecp_files_attach(dsm_handle handle);

/* Numbers that no other process gets, counted from 0; how many were given. */
extern uint32 ecp_files_new_number(EcpFiles *files);
extern uint32 ecp_files_numbers(const EcpFiles *files);

/*
 * Files are named by number; file i lies in the (i mod n)'th tablespace.
 * All are deleted at the end of the build, however it ends.
 */
extern File ecp_files_create(EcpFiles *files, uint32 number);
extern File ecp_files_open(EcpFiles *files, uint32 number);
extern void ecp_files_close(EcpFiles *files, File file);
extern void ecp_files_delete(EcpFiles *files, uint32 number, uint64 bytes);
extern void ecp_files_write(EcpFiles *files, File file, const void *data,
							Size bytes, uint64 offset);
extern void ecp_files_read(EcpFiles *files, File file, void *data,
						   Size bytes, uint64 offset);
extern void ecp_files_prefetch(EcpFiles *files, File file, Size bytes,
							   uint64 offset);
extern uint64 ecp_files_size(EcpFiles *files, File file);
extern void ecp_files_end(EcpFiles *files);

/*
 * Reads records of one size from a part of an open file, one after the other.
 * The caller sets the first five fields, the others are 0.  The buffer is
 * allocated for the first record; the caller frees it.
 */
typedef struct EcpFilesReader
{
	File		file;
	uint64		offset;			/* of what is not in the buffer yet */
	uint64		end;			/* of the part */
	Size		record;
	int			max;			/* records that the buffer has room for */
	int			n;				/* records in it */
	int			next;			/* the current one */
	char	   *buffer;
} EcpFilesReader;

extern const char *ecp_files_reader_next(EcpFiles *files,
										 EcpFilesReader *reader);

/* The record that ecp_files_reader_next() returned last. */
static inline const char *
ecp_files_reader_current(const EcpFilesReader *reader)
{
	return reader->buffer + reader->next * reader->record;
}

#endif							/* ECP_POLICY_H */
