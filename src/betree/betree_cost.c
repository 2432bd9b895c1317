/*-------------------------------------------------------------------------
 *
 * betree_cost.c
 *	  amcostestimate: btree's estimate, and the logs on top.
 *
 * Selectivity, correlation and the leaf pages are those of a B-tree.  On the
 * way to its leaves a scan also looks into the log of each leaf parent, which
 * between two drains is half full on average.  A short scan binary-searches
 * those pages once per leaf; a long one reads them once per node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "betree/betree.h"

#include "access/genam.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/index_selfuncs.h"
#include "utils/rel.h"

/* leaves of a node, about */
#define LEAVES_PER_NODE		180

/* comparisons of a binary search in a page */
#define SEARCH_COMPARISONS	8

void
betreecostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				   Cost *indexStartupCost, Cost *indexTotalCost,
				   Selectivity *indexSelectivity, double *indexCorrelation,
				   double *indexPages)
{
	Relation	rel = index_open(path->indexinfo->indexoid, NoLock);
	BetreeRel	bt;
	double		leaves;
	double		nodes;
	double		log_pages;
	double		miss;
	Cost		first;

	betree_open(&bt, rel);
	index_close(rel, NoLock);

	btcostestimate(root, path, loop_count, indexStartupCost, indexTotalCost,
				   indexSelectivity, indexCorrelation, indexPages);

	/* an index that is not larger than its nodes' logs has none yet */
	leaves = Max(1.0, *indexPages);
	nodes = ceil(leaves / LEAVES_PER_NODE);
	log_pages = Min(bt.buffer_pages / 2.0, path->indexinfo->pages / 2.0);

	/* the part of the index that memory is not expected to hold */
	miss = 1.0 - (double) effective_cache_size / Max(1.0, path->indexinfo->pages);
	miss = Max(0.0, Min(1.0, miss));

	first = log_pages * (SEARCH_COMPARISONS * cpu_operator_cost +
						 miss * random_page_cost);
	*indexStartupCost += first;
	*indexTotalCost += first * nodes;
	*indexPages += log_pages * nodes;
}
