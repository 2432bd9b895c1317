/*-------------------------------------------------------------------------
 *
 * ecp_policy_chunkfiles.c
 *	  The policy ChunkFiles: one intermediate file for each in-buff.
 *
 * The in-buff, sorted by leader and TID, is written as one chunk file, and
 * at the end all chunks are merged in that order.  All reads and writes are
 * large and sequential in their file.  Which process of a parallel build
 * wrote a chunk does not matter.
 *
 * Several processes can merge, each some ranges of leaders.  At the end of a
 * chunk file stands its directory: how many records come before each range of
 * ECP_RANGE_LEADERS leaders, and before the end.
 *
 * The merge divides its memory among processes and chunks.  When that would
 * leave them too little, one process merges alone; and when there are too many
 * for it, groups of chunks are merged into larger ones first.  A build
 * whose rows fit the first in-buffs of its processes writes no file at all,
 * and says so in its report.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/define/ecp_define.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#define CHUNK_WRITE_BYTES		(256 * 1024)
#define CHUNK_READ_BYTES_MIN	(16 * 1024)
#define CHUNK_READ_BYTES_MAX	(1024 * 1024)

typedef struct ChunkFiles
{
	MemoryContext ctx;
	Size		record;
	uint32	   *chunks;			/* numbers of files, when they are to be
								 * merged */
	int			nchunks;
	EcpFilesMerge *merge;

	/* in-buffs of which none was written, one per participant */
	EcpInBuff  *kept;
	int32	   *kept_next;		/* where to go on in their order */
} ChunkFiles;

static void *
chunkfiles_begin(EcpBuild *build)
{
	ChunkFiles *state = palloc0(sizeof(ChunkFiles));

	state->ctx = CurrentMemoryContext;
	state->record = ECP_RECORD_HEADER + EcpBuildRowBytes(build);
	return state;
}

/* ---- writing ---- */

typedef struct ChunkWriter
{
	EcpFiles   *files;
	uint32		number;
	File		file;
	Size		record;
	int			nbuffer;
	int			n;				/* records in the buffer */
	char	   *buffer;
	uint64		bytes;			/* of the file */

	/* the directory: ranges that have begun, and their first records */
	int			nranges;
	int			nranges_max;
	uint64	   *directory;
} ChunkWriter;

/* Ranges of leaders in a directory, the end not counted. */
static int
chunk_ranges(const EcpBuild *build)
{
	return (build->tree->n[0] + ECP_RANGE_LEADERS - 1) / ECP_RANGE_LEADERS;
}

/* Bytes of a directory. */
static Size
chunk_directory_bytes(const EcpBuild *build)
{
	return sizeof(uint64) * ((Size) chunk_ranges(build) + 1);
}

static void
chunk_writer_begin(EcpBuild *build, ChunkFiles *state, ChunkWriter *writer)
{
	writer->files = build->files;
	writer->number = ecp_files_new_number(build->files);
	writer->file = ecp_files_create(build->files, writer->number);
	writer->record = state->record;
	writer->nbuffer = Max(1, CHUNK_WRITE_BYTES / state->record);
	writer->n = 0;
	writer->buffer = palloc(writer->nbuffer * state->record);
	writer->bytes = 0;
	writer->nranges = 0;
	writer->nranges_max = chunk_ranges(build);
	writer->directory = palloc(chunk_directory_bytes(build));
}

static void
chunk_writer_flush(ChunkWriter *writer)
{
	Size		bytes = writer->n * writer->record;

	CHECK_FOR_INTERRUPTS();
	ecp_files_write(writer->files, writer->file, writer->buffer, bytes,
					writer->bytes);
	writer->bytes += bytes;
	writer->n = 0;
}

/* Note where ranges before the "upto"th begin, if that is not known yet. */
static inline void
chunk_writer_ranges(ChunkWriter *writer, int upto)
{
	while (writer->nranges < upto)
		writer->directory[writer->nranges++] =
			writer->bytes / writer->record + writer->n;
}

/* Room for one more record, of this leader. */
static inline char *
chunk_writer_next(ChunkWriter *writer, int leader)
{
	chunk_writer_ranges(writer, leader / ECP_RANGE_LEADERS + 1);
	if (writer->n == writer->nbuffer)
		chunk_writer_flush(writer);
	return writer->buffer + writer->n++ * writer->record;
}

/* Returns the number of the finished file. */
static uint32
chunk_writer_end(ChunkWriter *writer)
{
	chunk_writer_ranges(writer, writer->nranges_max + 1);
	if (writer->n > 0)
		chunk_writer_flush(writer);
	ecp_files_write(writer->files, writer->file, writer->directory,
					sizeof(uint64) * writer->nranges, writer->bytes);
	ecp_files_close(writer->files, writer->file);
	pfree(writer->directory);
	pfree(writer->buffer);
	return writer->number;
}

static void
chunkfiles_round(EcpBuild *build, EcpInBuff *inbuff, int participant)
{
	ChunkFiles *state = build->policy_state;
	ChunkWriter writer;

	Assert(inbuff->n > 0 && inbuff->n <= inbuff->max);
	chunk_writer_begin(build, state, &writer);
	for (int i = 0; i < inbuff->n; i++)
	{
		int32		row = inbuff->order[i];

		ecp_record_write(inbuff, row,
						 chunk_writer_next(&writer, inbuff->leaders[row]));
	}
	(void) chunk_writer_end(&writer);
}

/* ---- merging ---- */

/*
 * How many records of a chunk are read at once when n chunks are merged, by
 * each of "readers" processes.
 */
static int
chunk_nread(const EcpBuild *build, Size record, int readers, int n)
{
	Size		bytes = build->budget * ECP_SHARE_IN_BUFF / readers / n;

	Assert(readers > 0 && n > 0);
	bytes = Max(Min(bytes, CHUNK_READ_BYTES_MAX), CHUNK_READ_BYTES_MIN);
	return Max(bytes / record, 1);
}

/* The first record of a range of leaders, or of the end. */
static uint64
chunk_directory_read(const EcpBuild *build, const EcpFilesPart *chunk, int range)
{
	uint64		records;

	ecp_files_read(build->files, chunk->file, &records, sizeof(records),
				   chunk->size - chunk_directory_bytes(build) +
				   sizeof(records) * range);
	return records;
}

/*
 * Merge the records of leaders from .. upto - 1 of n chunks, as one of
 * "readers" processes.  The chunks are not needed any more if it is the last
 * time.
 */
static EcpFilesMerge *
chunk_merge_begin(EcpBuild *build, ChunkFiles *state, const uint32 *chunks, int n,
				  int readers, int from, int upto, bool last)
{
	EcpFilesMerge *merge =
		ecp_files_merge_create(build->files, state->record,
							   chunk_nread(build, state->record, readers, n), n, last);

	Assert(n > 0);
	for (int i = 0; i < n; i++)
	{
		EcpFilesPart *chunk = ecp_files_merge_open(merge, chunks[i]);

		chunk->size = ecp_files_size(build->files, chunk->file);
		chunk->end = chunk->size - chunk_directory_bytes(build);
		if (from > 0)
			chunk->offset = state->record *
				chunk_directory_read(build, chunk, from / ECP_RANGE_LEADERS);
		if (upto < build->tree->n[0])
			chunk->end = state->record *
				chunk_directory_read(build, chunk, upto / ECP_RANGE_LEADERS);
	}
	ecp_files_merge_start(merge);
	return merge;
}

/* Prepare to read from the in-buffs. */
static void
chunkfiles_merge_kept(EcpBuild *build, ChunkFiles *state)
{
	state->kept = palloc_array(EcpInBuff, build->plan.nparticipants);
	state->kept_next = palloc0_array(int32, build->plan.nparticipants);
	for (int p = 0; p < build->plan.nparticipants; p++)
		ecp_assign_inbuff_open(build, p, &state->kept[p]);
}

/* List the chunks, as they were written. */
static void
chunkfiles_list(const EcpBuild *build, ChunkFiles *state)
{
	state->nchunks = ecp_files_numbers(build->files);
	state->chunks = palloc_extended(mul_size(sizeof(uint32), state->nchunks),
									MCXT_ALLOC_HUGE);
	for (int i = 0; i < state->nchunks; i++)
		state->chunks[i] = i;
}

/*
 * If there is too little memory for each process to merge all chunks at once,
 * the backend merges alone.  It first merges groups of chunks, until one merge
 * takes those that are left.
 */
static bool
chunkfiles_merge(EcpBuild *build)
{
	ChunkFiles *state = build->policy_state;
	MemoryContext oldctx;
	int			fan_in = build->budget * ECP_SHARE_IN_BUFF /
		Max(CHUNK_READ_BYTES_MIN, state->record);

	if (build->assigned.kept ||
		ecp_files_numbers(build->files) <= fan_in / build->plan.nparticipants)
		return true;

	oldctx = MemoryContextSwitchTo(state->ctx);
	chunkfiles_list(build, state);
	fan_in = Max(fan_in, 2);
	while (state->nchunks > fan_in)
	{
		int			n = 0;

		for (int from = 0; from < state->nchunks; from += fan_in)
		{
			int			count = Min(fan_in, state->nchunks - from);
			EcpFilesMerge *merge;
			const EcpFilesPart *chunk;
			ChunkWriter writer;

			if (count == 1)
			{
				state->chunks[n++] = state->chunks[from];
				continue;
			}
			merge = chunk_merge_begin(build, state, &state->chunks[from], count,
									  1, 0, build->tree->n[0], true);
			chunk_writer_begin(build, state, &writer);
			while ((chunk = ecp_files_merge_first(merge)) != NULL)
			{
				memcpy(chunk_writer_next(&writer, chunk->leader), chunk->record,
					   state->record);
				ecp_files_merge_advance(merge);
			}
			state->chunks[n++] = chunk_writer_end(&writer);
			ecp_files_merge_free(merge);
		}
		state->nchunks = n;
	}
	MemoryContextSwitchTo(oldctx);
	return false;
}

static void
chunkfiles_range(EcpBuild *build, int readers, int from, int upto)
{
	ChunkFiles *state = build->policy_state;
	MemoryContext oldctx = MemoryContextSwitchTo(state->ctx);

	Assert(readers >= 1);
	Assert(from % ECP_RANGE_LEADERS == 0 && from <= upto);
	if (build->assigned.kept)
	{
		if (state->kept == NULL)
			chunkfiles_merge_kept(build, state);
		memset(state->kept_next, 0, sizeof(int32) * build->plan.nparticipants);
	}
	else
	{
		if (state->chunks == NULL)
			chunkfiles_list(build, state);
		if (state->merge)
			ecp_files_merge_free(state->merge);
		state->merge = chunk_merge_begin(build, state, state->chunks,
										 state->nchunks, readers, from, upto,
										 false);
	}
	MemoryContextSwitchTo(oldctx);
}

/* Which of the in-buffs has the leader's next row; -1 when there is none. */
static int
chunkfiles_next_kept(const EcpBuild *build, ChunkFiles *state, int leader)
{
	int			best = -1;
	ItemPointer best_tid = NULL;

	for (int p = 0; p < build->plan.nparticipants; p++)
	{
		EcpInBuff  *inbuff = &state->kept[p];
		ItemPointer tid;

		if (inbuff->n == 0)
			continue;
		state->kept_next[p] = Max(state->kept_next[p], inbuff->first[leader]);
		if (state->kept_next[p] >= inbuff->first[leader + 1])
			continue;
		tid = &inbuff->tids[inbuff->order[state->kept_next[p]]];
		if (best < 0 || ItemPointerCompare(tid, best_tid) < 0)
		{
			best = p;
			best_tid = tid;
		}
	}
	return best;
}

/* Rows of a leader from in-buffs that were never written. */
static int
chunkfiles_read_kept(EcpBuild *build, ChunkFiles *state, int leader, int max,
					 ItemPointerData *tids, char *vectors)
{
	int			n = 0;
	int			p;

	while (n < max &&
		   (p = chunkfiles_next_kept(build, state, leader)) >= 0)
	{
		const EcpInBuff *inbuff = &state->kept[p];
		int32		row = inbuff->order[state->kept_next[p]++];

		tids[n] = inbuff->tids[row];
		memcpy(vectors + (Size) n * EcpBuildRowBytes(build),
			   inbuff->vectors + (Size) row * EcpBuildRowBytes(build),
			   EcpBuildRowBytes(build));
		n++;
	}
	return n;
}

static int
chunkfiles_read(EcpBuild *build, int leader, int max, ItemPointerData *tids,
				char *vectors)
{
	ChunkFiles *state = build->policy_state;

	Assert(max > 0);
	if (build->assigned.kept)
		return chunkfiles_read_kept(build, state, leader, max, tids, vectors);
	return ecp_files_merge_read(state->merge, leader, max, tids, vectors);
}

const EcpPolicyRoutine ecp_policy_chunkfiles = {
	.name = "chunkfiles",
	.policy = ECP_POLICY_CHUNKFILES,
	.keeps_in_memory = true,
	.begin = chunkfiles_begin,
	.round = chunkfiles_round,
	.merge = chunkfiles_merge,
	.range = chunkfiles_range,
	.read = chunkfiles_read
};
