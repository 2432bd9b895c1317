/*-------------------------------------------------------------------------
 *
 * page_writer.h
 *	  Writes the pages of a relation that only this transaction can see.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PAGE_WRITER_H
#define PAGE_WRITER_H

#include "storage/block.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

typedef struct EcpPageWriter EcpPageWriter;

/*
 * Make a fork nblocks long before several processes begin to fill it, each
 * with a writer of its own; blocks that are never put read as zeros.
 */
extern void ecp_page_writer_reserve(Relation relation, ForkNumber fork,
									BlockNumber nblocks);

/* palloc'd in the current memory context */
extern EcpPageWriter *ecp_page_writer_begin(Relation relation, ForkNumber fork);

/*
 * A page to be filled, all zeros.  It belongs to the caller until it is
 * handed back by ecp_page_writer_put(), at any time and in any order.
 */
extern Page ecp_page_writer_get(EcpPageWriter *writer);

/*
 * Make "page" the contents of block blkno.  Blocks are best put in ascending
 * order, without gaps; a block put out of order is written where it belongs,
 * and gaps read as zeros until they are put.  The page must not be used any
 * more.
 */
extern void ecp_page_writer_put(EcpPageWriter *writer, BlockNumber blkno,
								Page page);

/*
 * Write what is pending and make the fork durable, unless another writer ends later;
 * *seconds and *bytes, if not NULL, receive the totals.  Frees the writer.
 */
extern void ecp_page_writer_end(EcpPageWriter *writer, bool durable,
								double *seconds, uint64 *bytes);

#endif							/* PAGE_WRITER_H */
