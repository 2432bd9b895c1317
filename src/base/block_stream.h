/*-------------------------------------------------------------------------
 *
 * block_stream.h
 *	  Blocks of a relation, read ahead of their use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BLOCK_STREAM_H
#define ECP_BLOCK_STREAM_H

#include "storage/block.h"
#include "storage/buf.h"
#include "utils/relcache.h"

/*
 * These blocks of the fork whose first segment is "path" will be needed, or
 * will not be again.  Returns at once; without posix_fadvise(), or if the
 * file is not there, nothing happens.
 */
extern void ecp_block_hint(const char *path, BlockNumber first,
						   BlockNumber nblocks, bool needed);

typedef struct EcpBlockStream EcpBlockStream;

/* The next block that will be wanted, or InvalidBlockNumber */
typedef BlockNumber (*EcpBlockStreamNext) (void *arg);

/*
 * Begin to read the main fork of a relation for maintenance; "strategy" may be
 * NULL.  Blocks are asked for ahead of their use, all of them exist.
 */
extern EcpBlockStream *ecp_block_stream_begin(Relation rel,
											  BufferAccessStrategy strategy,
											  EcpBlockStreamNext next, void *arg);

/* The next block, pinned; InvalidBuffer at the end */
extern Buffer ecp_block_stream_next(EcpBlockStream *stream);
extern void ecp_block_stream_end(EcpBlockStream *stream);

/* Blocks of an array, for ecp_block_stream_list() as "next" */
typedef struct EcpBlockList
{
	const BlockNumber *blocks;
	int			nblocks;
	int			at;
} EcpBlockList;

extern BlockNumber ecp_block_stream_list(void *list);

#endif							/* ECP_BLOCK_STREAM_H */
