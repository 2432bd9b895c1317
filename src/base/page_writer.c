/*-------------------------------------------------------------------------
 *
 * page_writer.c
 *	  Writes the pages of a relation that only this transaction can see.
 *
 * An index build fills pages in local memory and hands them over once; they
 * never pass through shared buffers, where an index larger than
 * shared_buffers would be written, read again for WAL and written again.
 * Pages are collected into batches.  A batch is WAL-logged with one record
 * of full images (when the relation needs WAL; an init fork always does, it
 * is what recovery makes an unlogged relation of), checksummed and written
 * in block order, extending the file as it goes.
 *
 * The pages bypass the checkpointer, so that no checkpoint knows of them:
 * the fork is fsync'ed at the end, also when it is unlogged (a clean
 * shutdown keeps it, and a checkpoint in between would not have written it),
 * but not when it is temporary.
 *
 * From PostgreSQL 17 on the server has this facility itself and we are a
 * thin cover of it.
 *
 * Several processes can fill a fork at once, if one has reserved its blocks
 * before: then none of them extends it.
 *
 * Called by the builds of both access methods.  Must not be mixed with
 * access through shared buffers before ecp_page_writer_end().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "base/compat.h"
#include "base/page_writer.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#ifdef ECP_HAVE_BULK_WRITE
#include "storage/bulk_write.h"
#endif

#define WRITER_BATCH	32		/* pages, as many as a WAL record takes */

#ifndef ECP_HAVE_BULK_WRITE
typedef struct WriterBlock
{
	BlockNumber blkno;
	Page		page;
} WriterBlock;
#endif

struct EcpPageWriter
{
	Relation	relation;
	ForkNumber	fork;
	uint64		bytes;
	instr_time	spent;
#ifdef ECP_HAVE_BULK_WRITE
	BulkWriteState *bulk;
#else
	bool		use_wal;
	BlockNumber nblocks;		/* of the fork, as far as it is written */
	MemoryContext ctx;			/* pages */
	int			npending;
	int			nspare;
	WriterBlock pending[WRITER_BATCH];
	Page		spare[WRITER_BATCH];
#endif
};

/* An all-zero page has no checksum. */
static PGIOAlignedBlock writer_zeros;

/*
 * The last block is written, and those before it are a hole in the file until
 * they are: nothing is written twice.
 */
void
ecp_page_writer_reserve(Relation relation, ForkNumber fork,
						BlockNumber nblocks)
{
	SMgrRelation smgr = RelationGetSmgr(relation);

	if (smgrnblocks(smgr, fork) < nblocks)
		smgrextend(smgr, fork, nblocks - 1, writer_zeros.data, true);
}

EcpPageWriter *
ecp_page_writer_begin(Relation relation, ForkNumber fork)
{
	EcpPageWriter *writer = palloc0(sizeof(EcpPageWriter));

	writer->relation = relation;
	writer->fork = fork;
#ifdef ECP_HAVE_BULK_WRITE
	writer->bulk = smgr_bulk_start_rel(relation, fork);
#else
	writer->use_wal = RelationNeedsWAL(relation) || fork == INIT_FORKNUM;
	writer->nblocks = smgrnblocks(RelationGetSmgr(relation), fork);
	writer->ctx = AllocSetContextCreate(CurrentMemoryContext, "page writer",
										ALLOCSET_DEFAULT_SIZES);
#endif
	return writer;
}

#ifndef ECP_HAVE_BULK_WRITE

static int
writer_block_cmp(const void *a, const void *b)
{
	BlockNumber x = ((const WriterBlock *) a)->blkno;
	BlockNumber y = ((const WriterBlock *) b)->blkno;

	return x < y ? -1 : x > y;
}

/* Write one page where it belongs, zeros into the gap before it. */
static void
writer_write(EcpPageWriter *writer, BlockNumber blkno, Page page)
{
	SMgrRelation smgr = RelationGetSmgr(writer->relation);

	PageSetChecksumInplace(page, blkno);
	if (blkno < writer->nblocks)
	{
		smgrwrite(smgr, writer->fork, blkno, (char *) page, true);
		return;
	}
	while (writer->nblocks < blkno)
		smgrextend(smgr, writer->fork, writer->nblocks++, writer_zeros.data,
				   true);
	smgrextend(smgr, writer->fork, blkno, (char *) page, true);
	writer->nblocks++;
}

static void
writer_flush(EcpPageWriter *writer)
{
	BlockNumber blknos[WRITER_BATCH];
	Page		pages[WRITER_BATCH];

	if (writer->npending == 0)
		return;
	qsort(writer->pending, writer->npending, sizeof(WriterBlock),
		  writer_block_cmp);
	for (int i = 0; i < writer->npending; i++)
	{
		blknos[i] = writer->pending[i].blkno;
		pages[i] = writer->pending[i].page;
	}

	if (writer->use_wal)
		log_newpages(&ecp_relation_locator(writer->relation), writer->fork,
					 writer->npending, blknos, pages, true);
	for (int i = 0; i < writer->npending; i++)
	{
		writer_write(writer, blknos[i], pages[i]);
		if (writer->nspare < WRITER_BATCH)
			writer->spare[writer->nspare++] = pages[i];
		else
			pfree(pages[i]);
	}
	writer->npending = 0;
}

#endif							/* !ECP_HAVE_BULK_WRITE */

Page
ecp_page_writer_get(EcpPageWriter *writer)
{
	Page		page;

#ifdef ECP_HAVE_BULK_WRITE
	page = (Page) smgr_bulk_get_buf(writer->bulk);
#else
	if (writer->nspare > 0)
		page = writer->spare[--writer->nspare];
	else
		page = MemoryContextAlloc(writer->ctx, BLCKSZ);
#endif
	memset(page, 0, BLCKSZ);
	return page;
}

void
ecp_page_writer_put(EcpPageWriter *writer, BlockNumber blkno, Page page)
{
	instr_time	start;
	instr_time	end;

	writer->bytes += BLCKSZ;
#ifdef ECP_HAVE_BULK_WRITE
	INSTR_TIME_SET_CURRENT(start);
	smgr_bulk_write(writer->bulk, blkno, (BulkWriteBuffer) page, true);
#else
	writer->pending[writer->npending].blkno = blkno;
	writer->pending[writer->npending++].page = page;
	if (writer->npending < WRITER_BATCH)
		return;
	CHECK_FOR_INTERRUPTS();
	INSTR_TIME_SET_CURRENT(start);
	writer_flush(writer);
#endif
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(writer->spent, end, start);
}

void
ecp_page_writer_end(EcpPageWriter *writer, bool durable, double *seconds,
					uint64 *bytes)
{
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
#ifdef ECP_HAVE_BULK_WRITE
	smgr_bulk_finish(writer->bulk);
#else
	writer_flush(writer);
	if (durable && !RelationUsesLocalBuffers(writer->relation))
		smgrimmedsync(RelationGetSmgr(writer->relation), writer->fork);
	MemoryContextDelete(writer->ctx);
#endif
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_ACCUM_DIFF(writer->spent, end, start);

	if (seconds)
		*seconds = INSTR_TIME_GET_DOUBLE(writer->spent);
	if (bytes)
		*bytes = writer->bytes;
	pfree(writer);
}
