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

#include "base/block_stream.h"
#include "base/compat.h"
#include "storage/bufmgr.h"
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
