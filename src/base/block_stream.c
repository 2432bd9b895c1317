/*-------------------------------------------------------------------------
 *
 * block_stream.c
 *	  Blocks of a relation, read ahead of their use.
 *
 * From PostgreSQL 17 on this is a thin cover of the server's read streams, which
 * read several blocks at once and, from 18 on, asynchronously; before, the
 * kernel is told of as many blocks as maintenance_io_concurrency says.
 *
 * A stream pins what it has read ahead.  So it must not be kept where the caller
 * waits, and is not for scans, whose pins VACUUM waits for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "base/block_stream.h"
#include "base/compat.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/rel.h"
#include "utils/spccache.h"
#ifdef ECP_HAVE_READ_STREAM
#include "storage/read_stream.h"
#endif

#define AHEAD_MAX	64			/* a power of two */

struct EcpBlockStream
{
	EcpBlockStreamNext next;
	void	   *arg;
#ifdef ECP_HAVE_READ_STREAM
	ReadStream *stream;
#else
	Relation	rel;
	BufferAccessStrategy strategy;
	bool		ended;			/* "next" has no more */
	uint32		distance;		/* blocks to be ahead, at least 1 */
	uint32		nread;
	uint32		nahead;			/* asked for */
	BlockNumber ahead[AHEAD_MAX];
#endif
};

BlockNumber
ecp_block_stream_list(void *arg)
{
	EcpBlockList *list = (EcpBlockList *) arg;

	return list->at < list->nblocks ? list->blocks[list->at++] : InvalidBlockNumber;
}

#ifdef ECP_HAVE_READ_STREAM

static BlockNumber
stream_callback(ReadStream * read_stream, void *arg, void *per_buffer)
{
	EcpBlockStream *stream = (EcpBlockStream *) arg;

	return stream->next(stream->arg);
}

EcpBlockStream *
ecp_block_stream_begin(Relation rel, BufferAccessStrategy strategy,
					   EcpBlockStreamNext next, void *arg)
{
	EcpBlockStream *stream = palloc0(sizeof(EcpBlockStream));

	stream->next = next;
	stream->arg = arg;
	stream->stream = read_stream_begin_relation(READ_STREAM_MAINTENANCE, strategy,
												rel, MAIN_FORKNUM,
												stream_callback, stream, 0);
	return stream;
}

Buffer
ecp_block_stream_next(EcpBlockStream *stream)
{
	return read_stream_next_buffer(stream->stream, NULL);
}

void
ecp_block_stream_end(EcpBlockStream *stream)
{
	read_stream_end(stream->stream);
	pfree(stream);
}

#else

EcpBlockStream *
ecp_block_stream_begin(Relation rel, BufferAccessStrategy strategy,
					   EcpBlockStreamNext next, void *arg)
{
	EcpBlockStream *stream = palloc0(sizeof(EcpBlockStream));
	int			concurrency =
		get_tablespace_maintenance_io_concurrency(rel->rd_rel->reltablespace);

	stream->next = next;
	stream->arg = arg;
	stream->rel = rel;
	stream->strategy = strategy;
	stream->distance = Max(1, Min(concurrency, AHEAD_MAX));
	return stream;
}

Buffer
ecp_block_stream_next(EcpBlockStream *stream)
{
	while (!stream->ended && stream->nahead - stream->nread < stream->distance)
	{
		BlockNumber blkno = stream->next(stream->arg);

		if (blkno == InvalidBlockNumber)
		{
			stream->ended = true;
			break;
		}
		if (stream->distance > 1)
			PrefetchBuffer(stream->rel, MAIN_FORKNUM, blkno);
		stream->ahead[stream->nahead++ % AHEAD_MAX] = blkno;
	}
	if (stream->nread == stream->nahead)
		return InvalidBuffer;
	return ReadBufferExtended(stream->rel, MAIN_FORKNUM,
							  stream->ahead[stream->nread++ % AHEAD_MAX],
							  RBM_NORMAL, stream->strategy);
}

void
ecp_block_stream_end(EcpBlockStream *stream)
{
	pfree(stream);
}

#endif							/* ECP_HAVE_READ_STREAM */

/*
 * Unlike PrefetchBuffer(), of many blocks at once, which then come with few
 * requests to the device; and it does not look whether they are in shared
 * buffers.  Used by the reading ahead of index builds and by readers of extents.
 */
void
ecp_block_hint(const char *path, BlockNumber first, BlockNumber nblocks,
			   bool needed)
{
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_WILLNEED) && defined(POSIX_FADV_DONTNEED)
	BlockNumber block = first;
	BlockNumber left = nblocks;

	while (left > 0)
	{
		BlockNumber segment = block / RELSEG_SIZE;
		BlockNumber here = Min(left, RELSEG_SIZE - block % RELSEG_SIZE);
		char		name[MAXPGPATH];
		int			fd;

		if (segment == 0)
			strlcpy(name, path, MAXPGPATH);
		else
			snprintf(name, MAXPGPATH, "%s.%u", path, segment);
		fd = OpenTransientFile(name, O_RDONLY | PG_BINARY);
		if (fd < 0)
			return;
		(void) posix_fadvise(fd, (off_t) (block % RELSEG_SIZE) * BLCKSZ,
							 (off_t) here * BLCKSZ,
							 needed ? POSIX_FADV_WILLNEED : POSIX_FADV_DONTNEED);
		CloseTransientFile(fd);
		block += here;
		left -= here;
	}
#endif
}
