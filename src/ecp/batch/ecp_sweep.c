/*-------------------------------------------------------------------------
 *
 * ecp_sweep.c
 *	  Blocks of a relation that is not in memory, read in ascending order.
 *
 * A block that follows another one is read ahead by the kernel.  Where reading what
 * lies between two wanted ones costs less than a seek, by the tablespace's page costs,
 * it is read, too, so that they follow each other; the others are prefetched.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* More blocks are not read for nothing, whatever the page costs are. */
#define SWEEP_GAP_MAX	1024

void
ecp_sweep_init(EcpSweep *sweep, Relation rel)
{
	Oid			tablespace = rel->rd_rel->reltablespace;
	double		random_cost;
	double		seq_cost;

	memset(sweep, 0, sizeof(EcpSweep));
	sweep->rel = rel;
	sweep->strategy = GetAccessStrategy(BAS_BULKREAD);
	get_tablespace_page_costs(tablespace, &random_cost, &seq_cost);
	if (seq_cost > 0 && random_cost > seq_cost)
		sweep->gap = (BlockNumber) Min(random_cost / seq_cost - 1, SWEEP_GAP_MAX);
	if (!RelationUsesLocalBuffers(rel))
		sweep->distance = get_tablespace_io_concurrency(tablespace);
}

void
ecp_sweep_set(EcpSweep *sweep, const EcpSweepRange *ranges, Size n)
{
	sweep->ranges = ranges;
	sweep->n = n;
	sweep->next = sweep->ahead = 0;
}

const EcpSweepRange *
ecp_sweep_next(EcpSweep *sweep, bool cold)
{
	const EcpSweepRange *range = &sweep->ranges[sweep->next++];
	Size		end = Min(sweep->n, sweep->next + sweep->distance);

	Assert(sweep->next <= sweep->n);
	if (cold && range->blk > sweep->end && range->blk - sweep->end <= sweep->gap &&
		ecp_page_exists(sweep->rel, range->blk))
		for (BlockNumber blk = sweep->end; blk < range->blk; blk++)
			ReleaseBuffer(ReadBufferExtended(sweep->rel, MAIN_FORKNUM, blk, RBM_NORMAL,
											 sweep->strategy));
	sweep->end = range->blk + range->npages;
	for (sweep->ahead = Max(sweep->ahead, sweep->next); cold && sweep->ahead < end;
		 sweep->ahead++)
	{
		const EcpSweepRange *ahead = &sweep->ranges[sweep->ahead];
		BlockNumber before = ahead[-1].blk + ahead[-1].npages;

		if (ahead->blk > before && ahead->blk - before > sweep->gap)
			ecp_probe_prefetch(sweep->rel, ahead->blk, ahead->npages);
	}
	return range;
}

static int
sweep_cmp(const void *a, const void *b)
{
	BlockNumber x = ((const EcpSweepRange *) a)->blk;
	BlockNumber y = ((const EcpSweepRange *) b)->blk;

	return (x > y) - (x < y);
}

/* Read these ranges, which others will soon read in another order. */
void
ecp_sweep_read(Relation rel, EcpSweepRange *ranges, Size n)
{
	EcpSweep	sweep;

	qsort(ranges, n, sizeof(EcpSweepRange), sweep_cmp);
	ecp_sweep_init(&sweep, rel);
	ecp_sweep_set(&sweep, ranges, n);
	for (Size i = 0; i < n; i++)
	{
		BlockNumber done = sweep.end;
		const EcpSweepRange *range = ecp_sweep_next(&sweep, true);

		CHECK_FOR_INTERRUPTS();
		for (BlockNumber blk = Max(range->blk, done); blk < sweep.end && ecp_page_exists(rel, blk); blk++)
			ReleaseBuffer(ReadBuffer(rel, blk));
	}
	FreeAccessStrategy(sweep.strategy);
}
