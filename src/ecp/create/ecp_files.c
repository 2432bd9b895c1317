/*-------------------------------------------------------------------------
 *
 * ecp_files.c
 *	  Intermediate files of an index build, in the tablespaces it was given.
 *
 * A build policy writes real files with real opens and closes, whose number
 * and size are its cost, so BufFile, which hides them, is of no use here.
 * Files of a SharedFileSet are named, can be closed and opened again, and
 * are deleted with the set.  The set belongs to a small dynamic shared memory
 * segment of ours, which the resource owner releases however the build ends,
 * so that end, error and cancel all delete the files.  After a crash the
 * postmaster does, since they are under pgsql_tmp.  Workers attach the same
 * segment (ecp_build_team.c).
 *
 * One set for each tablespace of ecp.build_tablespaces, so that we decide
 * which file goes where; or one that uses temp_tablespaces.
 *
 * The server does not apply temp_file_limit to files that were opened again,
 * so we count their bytes ourselves.
 *
 * Used by the policies; ecp_build.c begins and ends it, and reports the
 * counts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "base/compat.h"
#include "commands/tablespace.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/define/ecp_define.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/dsm.h"
#include "storage/sharedfileset.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

/* The server never gives SetTempTablespaces() more. */
#define TEMP_TABLESPACES_MAX	64

/* What lies in the segment. */
typedef struct FilesShared
{
	pg_atomic_uint64 present_bytes; /* in files that were not deleted yet */
	pg_atomic_uint32 next_number;
	int			nsets;
	SharedFileSet sets[FLEXIBLE_ARRAY_MEMBER];
} FilesShared;

struct EcpFiles
{
	int			ntablespaces;	/* 0: temp_tablespaces decides */
	Oid			tablespaces[ECP_TABLESPACES_MAX];
	dsm_segment *seg;			/* NULL until the first file */
	FilesShared *shared;		/* in seg */
	EcpFilesCount count;
};

EcpFiles *
ecp_files_begin(void)
{
	EcpFiles   *files = palloc0(sizeof(EcpFiles));
	EcpTablespacesFault fault;

	files->ntablespaces = ecp_tablespaces_resolve(ecp_build_tablespaces,
												  files->tablespaces, &fault);
	if (files->ntablespaces < 0)
		ereport(ERROR,
				(errcode(fault.sqlerrcode),
				 errmsg_internal("%s", fault.message),
				 fault.detail ? errdetail_internal("%s", fault.detail) : 0));
	return files;
}

Oid
ecp_files_tablespace(const EcpFiles *files)
{
	Oid			oid = InvalidOid;

	if (files->ntablespaces > 0)
		return files->tablespaces[0];
	PrepareTempTablespaces();
	(void) GetTempTablespaces(&oid, 1);
	return oid;
}

EcpFilesCount *
ecp_files_count(EcpFiles *files)
{
	return &files->count;
}

void
ecp_files_count_add(EcpFilesCount *sum, const EcpFilesCount *part)
{
	sum->files += part->files;
	sum->opens += part->opens;
	sum->read_bytes += part->read_bytes;
	sum->written_bytes += part->written_bytes;
	sum->io_s += part->io_s;
}

/*
 * Make the file sets.  A new set copies the current temporary tablespaces, so
 * these are changed for each set, and restored.
 */
static void
files_create_sets(EcpFiles *files)
{
	int			nsets = Max(files->ntablespaces, 1);
	int			nold;
	Oid		   *old;
	Oid		   *one;

	files->seg = dsm_create(add_size(offsetof(FilesShared, sets),
									 mul_size(sizeof(SharedFileSet), nsets)),
							0);
	files->shared = dsm_segment_address(files->seg);
	pg_atomic_init_u64(&files->shared->present_bytes, 0);
	pg_atomic_init_u32(&files->shared->next_number, 0);
	files->shared->nsets = nsets;
	if (files->ntablespaces == 0)
	{
		SharedFileSetInit(&files->shared->sets[0], files->seg);
		return;
	}

	/* the server keeps the arrays until the end of the transaction */
	PrepareTempTablespaces();
	old = MemoryContextAlloc(TopTransactionContext,
							 sizeof(Oid) * TEMP_TABLESPACES_MAX);
	nold = GetTempTablespaces(old, TEMP_TABLESPACES_MAX);
	one = MemoryContextAlloc(TopTransactionContext, sizeof(Oid));

	PG_TRY();
	{
		for (int i = 0; i < nsets; i++)
		{
			*one = files->tablespaces[i];
			SetTempTablespaces(one, 1);
			SharedFileSetInit(&files->shared->sets[i], files->seg);
		}
	}
	PG_FINALLY();
	{
		SetTempTablespaces(old, nold);
	}
	PG_END_TRY();
}

/* Make the files of a build reachable for its workers. */
dsm_handle
ecp_files_share(EcpFiles *files)
{
	if (files->seg == NULL)
		files_create_sets(files);
	return dsm_segment_handle(files->seg);
}

/* The same files in a worker. */
EcpFiles *
ecp_files_attach(dsm_handle handle)
{
	EcpFiles   *files = palloc0(sizeof(EcpFiles));

	files->seg = dsm_attach(handle);
	if (files->seg == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not map dynamic shared memory segment")));
	files->shared = dsm_segment_address(files->seg);
	for (int i = 0; i < files->shared->nsets; i++)
		SharedFileSetAttach(&files->shared->sets[i], files->seg);
	return files;
}

uint32
ecp_files_new_number(EcpFiles *files)
{
	if (files->seg == NULL)
		files_create_sets(files);
	return pg_atomic_fetch_add_u32(&files->shared->next_number, 1);
}

uint32
ecp_files_numbers(const EcpFiles *files)
{
	return files->seg ? pg_atomic_read_u32(&files->shared->next_number) : 0;
}

/* The set and the name of a file. */
static FileSet *
files_set(EcpFiles *files, uint32 number, char *name)
{
	snprintf(name, MAXPGPATH, "ecp.%u", number);
	return &files->shared->sets[number % files->shared->nsets].fs;
}

static void
files_clock(EcpFiles *files, instr_time start)
{
	instr_time	end;

	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	files->count.io_s += INSTR_TIME_GET_DOUBLE(end);
}

/* Create an empty file, which stays open. */
File
ecp_files_create(EcpFiles *files, uint32 number)
{
	char		name[MAXPGPATH];
	FileSet    *set;
	File		file;
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	if (files->seg == NULL)
		files_create_sets(files);
	set = files_set(files, number, name);
	file = FileSetCreate(set, name);
	files->count.files++;
	files->count.opens++;
	files_clock(files, start);
	return file;
}

File
ecp_files_open(EcpFiles *files, uint32 number)
{
	char		name[MAXPGPATH];
	FileSet    *set = files_set(files, number, name);
	File		file;
	instr_time	start;

	Assert(files->seg != NULL);
	INSTR_TIME_SET_CURRENT(start);
	file = FileSetOpen(set, name, O_RDWR);
	if (file <= 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open intermediate file \"%s\": %m", name)));
	files->count.opens++;
	files_clock(files, start);
	return file;
}

void
ecp_files_close(EcpFiles *files, File file)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	FileClose(file);
	files_clock(files, start);
}

/* The file is closed and has "bytes" bytes. */
void
ecp_files_delete(EcpFiles *files, uint32 number, uint64 bytes)
{
	char		name[MAXPGPATH];
	FileSet    *set = files_set(files, number, name);
	instr_time	start;

	Assert(files->seg != NULL);
	INSTR_TIME_SET_CURRENT(start);
	FileSetDelete(set, name, true);
	pg_atomic_sub_fetch_u64(&files->shared->present_bytes, bytes);
	files_clock(files, start);
}

void
ecp_files_write(EcpFiles *files, File file, const void *data, Size bytes,
				uint64 offset)
{
	const char *from = data;
	instr_time	start;
	uint64		present;

	Assert(file > 0);
	present = pg_atomic_add_fetch_u64(&files->shared->present_bytes, bytes);
	if (temp_file_limit >= 0 && present > (uint64) temp_file_limit * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("temporary file size exceeds temp_file_limit (%dkB)",
						temp_file_limit)));

	INSTR_TIME_SET_CURRENT(start);
	files->count.written_bytes += bytes;
	while (bytes > 0)
	{
		int			step = Min(bytes, (Size) 1 << 30);
		int			done = FileWrite(file, unconstify(char *, from), step,
									 offset, WAIT_EVENT_BUFFILE_WRITE);

		if (done <= 0)
		{
			if (errno == 0)
				errno = ENOSPC;
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write to file \"%s\": %m",
							FilePathName(file))));
		}
		from += done;
		offset += done;
		bytes -= done;
	}
	files_clock(files, start);
}

void
ecp_files_read(EcpFiles *files, File file, void *data, Size bytes,
			   uint64 offset)
{
	char	   *to = data;
	instr_time	start;

	Assert(file > 0);
	INSTR_TIME_SET_CURRENT(start);
	files->count.read_bytes += bytes;
	while (bytes > 0)
	{
		int			step = Min(bytes, (Size) 1 << 30);
		int			done = FileRead(file, to, step, offset,
									WAIT_EVENT_BUFFILE_READ);

		if (done < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read file \"%s\": %m",
							FilePathName(file))));
		if (done == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("unexpected end of file \"%s\"",
							FilePathName(file))));
		to += done;
		offset += done;
		bytes -= done;
	}
	files_clock(files, start);
}

/* Ask the kernel to read ahead, unless maintenance_io_concurrency is 0. */
void
ecp_files_prefetch(EcpFiles *files, File file, Size bytes, uint64 offset)
{
	instr_time	start;

	if (maintenance_io_concurrency == 0)
		return;
	INSTR_TIME_SET_CURRENT(start);
	(void) FilePrefetch(file, offset, bytes, WAIT_EVENT_BUFFILE_READ);
	files_clock(files, start);
}

uint64
ecp_files_size(EcpFiles *files, File file)
{
	off_t		bytes = FileSize(file);

	if (bytes < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not determine size of file \"%s\": %m",
						FilePathName(file))));
	return bytes;
}

/* Free the state; the last process to do so deletes all files. */
void
ecp_files_end(EcpFiles *files)
{
	if (files->seg)
		dsm_detach(files->seg);
	pfree(files);
}

/* ---- merging parts of files ---- */

/* Smallest (leader, TID) first: binaryheap has the largest on top. */
static int
part_cmp(Datum a, Datum b, void *arg)
{
	const EcpFilesPart *x = (const EcpFilesPart *) DatumGetPointer(a);
	const EcpFilesPart *y = (const EcpFilesPart *) DatumGetPointer(b);

	if (x->leader != y->leader)
		return x->leader > y->leader ? -1 : 1;
	return ItemPointerCompare(unconstify(ItemPointerData *, &y->tid),
							  unconstify(ItemPointerData *, &x->tid));
}

EcpFilesMerge *
ecp_files_merge_create(EcpFiles *files, Size record, int max, int max_parts, bool last)
{
	EcpFilesMerge *merge = palloc0(sizeof(EcpFilesMerge));

	Assert(record > ECP_RECORD_HEADER && max > 0);
	merge->files = files;
	merge->record = record;
	merge->max = max;
	merge->last = last;
	merge->parts = palloc_extended(mul_size(sizeof(EcpFilesPart), max_parts),
								   MCXT_ALLOC_HUGE);
	merge->heap = binaryheap_allocate(max_parts, part_cmp, NULL);
	return merge;
}

EcpFilesPart *
ecp_files_merge_open(EcpFilesMerge *merge, uint32 number)
{
	EcpFilesPart *part = &merge->parts[merge->nparts++];

	memset(part, 0, sizeof(EcpFilesPart));
	part->number = number;
	part->file = ecp_files_open(merge->files, number);
	return part;
}

/* A part has been read. */
static void
part_close(const EcpFilesMerge *merge, EcpFilesPart *part)
{
	ecp_files_close(merge->files, part->file);
	if (merge->last)
		ecp_files_delete(merge->files, part->number, part->size);
	pfree(part->buffer);
}

/*
 * Go to the next record; false, with the part closed, behind the last.  The kernel
 * reads the next piece while the caller works on this one.
 */
static bool
part_next(const EcpFilesMerge *merge, EcpFilesPart *part)
{
	Assert(part->offset <= part->end);
	if (part->buffer == NULL)
		part->buffer = palloc(mul_size(merge->record, merge->max));
	if (++part->next >= part->n)
	{
		uint64		left = (part->end - part->offset) / merge->record;

		part->n = Min(left, (uint64) merge->max);
		if (part->n == 0)
		{
			part_close(merge, part);
			return false;
		}
		CHECK_FOR_INTERRUPTS();
		ecp_files_read(merge->files, part->file, part->buffer,
					   part->n * merge->record, part->offset);
		part->offset += part->n * merge->record;
		part->next = 0;
		if (part->offset < part->end)
			ecp_files_prefetch(merge->files, part->file,
							   Min(part->end - part->offset, merge->max * merge->record),
							   part->offset);
	}
	part->record = part->buffer + part->next * merge->record;
	memcpy(&part->leader, part->record, sizeof(int32));
	memcpy(&part->tid, part->record + sizeof(int32), sizeof(ItemPointerData));
	return true;
}

void
ecp_files_merge_start(EcpFilesMerge *merge)
{
	for (int i = 0; i < merge->nparts; i++)
	{
		if (part_next(merge, &merge->parts[i]))
			binaryheap_add_unordered(merge->heap, PointerGetDatum(&merge->parts[i]));
	}
	binaryheap_build(merge->heap);
	merge->nparts = 0;
}

const EcpFilesPart *
ecp_files_merge_first(const EcpFilesMerge *merge)
{
	return binaryheap_empty(merge->heap) ? NULL :
		(const EcpFilesPart *) DatumGetPointer(binaryheap_first(merge->heap));
}

void
ecp_files_merge_advance(EcpFilesMerge *merge)
{
	Datum		top = binaryheap_first(merge->heap);

	if (part_next(merge, (EcpFilesPart *) DatumGetPointer(top)))
		binaryheap_replace_first(merge->heap, top);
	else
		(void) binaryheap_remove_first(merge->heap);
}

int
ecp_files_merge_read(EcpFilesMerge *merge, int leader, int max, ItemPointerData *tids,
					 char *vectors)
{
	Size		row_bytes = merge->record - ECP_RECORD_HEADER;
	const EcpFilesPart *part;
	int			n = 0;

	Assert(max > 0);
	while (n < max && (part = ecp_files_merge_first(merge)) != NULL &&
		   part->leader <= leader)
	{
		if (part->leader == leader)
		{
			tids[n] = part->tid;
			memcpy(vectors + n * row_bytes, part->record + ECP_RECORD_HEADER, row_bytes);
			n++;
		}
		ecp_files_merge_advance(merge);
	}
	return n;
}

void
ecp_files_merge_free(EcpFilesMerge *merge)
{
	while (!binaryheap_empty(merge->heap))
		part_close(merge, (EcpFilesPart *) DatumGetPointer(binaryheap_remove_first(merge->heap)));
	binaryheap_free(merge->heap);
	pfree(merge->parts);
	pfree(merge);
}
