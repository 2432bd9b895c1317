/*-------------------------------------------------------------------------
 *
 * ecp_sweep.c
 *	  A pass over blocks of a relation in ascending order, which reads across
 *	  small gaps where a seek costs more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "executor/instrument.h"
#include "miscadmin.h"
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

#define ST_SORT blocks_sort
#define ST_ELEMENT_TYPE BlockNumber
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Prefetch the blocks from "*next" on that come soon. */
static void
sweep_prefetch(const EcpSweep *sweep, const BlockNumber *blocks, Size n, Size current,
			   Size *next)
{
	*next = Max(*next, current + 1);
	for (; *next < Min(n, current + 1 + sweep->distance); (*next)++)
	{
		BlockNumber before = blocks[*next - 1];
		BlockNumber blk = blocks[*next];

		if (blk != before && EcpSweepIsJump(sweep, before + 1, blk) &&
			ecp_page_exists(sweep->rel, blk))
			PrefetchBuffer(sweep->rel, MAIN_FORKNUM, blk);
	}
}

/*
 * Read these blocks, which others will soon read in another order.
 */
void
ecp_sweep_read(Relation rel, BlockNumber *blocks, Size n)
{
	EcpSweep	sweep;
	Size		prefetched = 0;

	ecp_sweep_init(&sweep, rel);
	blocks_sort(blocks, n);
	for (Size i = 0; i < n; i++)
	{
		if ((i > 0 && blocks[i] == blocks[i - 1]) || !ecp_page_exists(rel, blocks[i]))
			continue;
		CHECK_FOR_INTERRUPTS();
		ecp_sweep_to(&sweep, blocks[i], 1);
		if (EcpSweepIsCold(&sweep))
			sweep_prefetch(&sweep, blocks, n, i, &prefetched);
		ReleaseBuffer(ReadBuffer(rel, blocks[i]));
	}
	ecp_sweep_end(&sweep);
}
