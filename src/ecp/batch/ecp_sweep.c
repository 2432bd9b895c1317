/*-------------------------------------------------------------------------
 *
 * ecp_sweep.c
 *	  A pass over blocks of a relation in ascending order, which reads across
 *	  small gaps where a seek costs more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/batch/ecp_sweep.h"
#include "ecp/page/ecp_page.h"
#include "executor/instrument.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* Blocks or clusters to go on prefetching for, after a read of the device. */
#define SWEEP_COLD		64

/*
 * The planner's parameters of the tablespace say what a seek costs, in blocks
 * read.
 */
void
ecp_sweep_init(EcpSweep *sweep, Relation rel)
{
	Oid			tablespace = rel->rd_rel->reltablespace;
	double		random_cost;
	double		seq_cost;
	double		gap = 0;

	Assert(RelationIsValid(rel));
	memset(sweep, 0, sizeof(EcpSweep));
	sweep->rel = rel;
	get_tablespace_page_costs(tablespace, &random_cost, &seq_cost);
	if (seq_cost > 0)
		gap = random_cost / seq_cost - 1;
	sweep->gap = (BlockNumber) Max(Min(gap, 1024), 0);
	sweep->distance = RelationUsesLocalBuffers(rel) ? 0 :
		get_tablespace_io_concurrency(tablespace);
	sweep->missed = -1;
}

/*
 * The caller is going to read "npages" blocks from blk on.  If blocks are being
 * read from the device, and reading those since the last call is cheaper than
 * skipping them, read them.
 */
void
ecp_sweep_to(EcpSweep *sweep, BlockNumber blk, uint32 npages)
{
	int64		missed = pgBufferUsage.shared_blks_read;

	if (sweep->missed != missed)
		sweep->cold = sweep->missed < 0 ? 0 : SWEEP_COLD;
	else if (sweep->cold > 0)
		sweep->cold--;

	if (sweep->cold > 0 && blk > sweep->next &&
		blk - sweep->next <= sweep->gap && ecp_page_exists(sweep->rel, blk))
	{
		if (sweep->strategy == NULL)
			sweep->strategy = GetAccessStrategy(BAS_BULKREAD);
		for (; sweep->next < blk; sweep->next++)
			ReleaseBuffer(ReadBufferExtended(sweep->rel, MAIN_FORKNUM,
											 sweep->next, RBM_NORMAL,
											 sweep->strategy));
	}
	sweep->next = blk + npages;
	sweep->missed = pgBufferUsage.shared_blks_read;
}

void
ecp_sweep_end(EcpSweep *sweep)
{
	if (sweep->strategy != NULL)
		FreeAccessStrategy(sweep->strategy);
	sweep->strategy = NULL;
}
