/*-------------------------------------------------------------------------
 *
 * ecp_sweep.c
 *	  Blocks of a relation that is not in memory, read in ascending order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/spccache.h"

static int
sweep_cmp(const void *a, const void *b)
{
	BlockNumber x = *(const BlockNumber *) a;
	BlockNumber y = *(const BlockNumber *) b;

	return (x > y) - (x < y);
}

/*
 * Read these blocks, which others will soon read in another order.
 */
void
ecp_sweep_read(Relation rel, BlockNumber *blocks, Size n)
{
	Size		distance = RelationUsesLocalBuffers(rel) ? 0 :
		get_tablespace_io_concurrency(rel->rd_rel->reltablespace);
	Size		ahead = 0;

	qsort(blocks, n, sizeof(BlockNumber), sweep_cmp);
	n = qunique(blocks, n, sizeof(BlockNumber), sweep_cmp);
	for (Size i = 0; i < n && ecp_page_exists(rel, blocks[i]); i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (; ahead < Min(n, i + 1 + distance) && ecp_page_exists(rel, blocks[ahead]); ahead++)
			if (distance > 0)
				PrefetchBuffer(rel, MAIN_FORKNUM, blocks[ahead]);
		ReleaseBuffer(ReadBuffer(rel, blocks[i]));
	}
}
