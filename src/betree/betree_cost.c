/*-------------------------------------------------------------------------
 *
 * betree_cost.c
 *	  amcostestimate: btree's estimate, and the logs on top.
 *
 * Selectivity, correlation and the leaf pages are those of a B-tree.  On the
 * way to its leaves a scan also looks into the log of each leaf parent, which
 * between two drains is half full on average.  A scan that can use the log's
 * filter (= on all key columns) reads one filter page and the tail instead;
 * any other reads the log once per node.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "betree/betree.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "base/compat.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/index_selfuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/* leaves of a node, about */
#define LEAVES_PER_NODE		180

/* comparisons of a binary search in a page */
#define SEARCH_COMPARISONS	8

/* btree's charge for a page on the way down, in cpu_operator_cost */
#define PAGE_OPERATORS		50.0

/* pages of a log that a lookup reads where there is a filter: it, the tail */
#define FILTERED_PAGES		2

/*
 * What the clauses of a path ask for: returns the number of scans that arrays
 * make of it, and sets "*filtered" if each of them can use a filter.
 */
static double
examine_clauses(PlannerInfo *root, IndexPath *path, BetreeRel *bt,
				bool *filtered)
{
	IndexOptInfo *index = path->indexinfo;
	bool		equal[INDEX_MAX_KEYS] = {0};
	double		nscans = 1;
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, path->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);

		foreach(lc2, iclause->indexquals)
		{
			Expr	   *clause = lfirst_node(RestrictInfo, lc2)->clause;
			Oid			op = InvalidOid;
			Oid			left;
			Oid			right;
			Oid			arg_proc;

			if (IsA(clause, OpExpr))
				op = ((OpExpr *) clause)->opno;
			else if (IsA(clause, ScalarArrayOpExpr))
			{
				ScalarArrayOpExpr *saop = (ScalarArrayOpExpr *) clause;

				op = saop->opno;
				nscans *= Max(1.0,
							  ecp_estimate_array_length(root,
														lsecond(saop->args)));
			}
			if (!OidIsValid(op) || iclause->indexcol >= bt->nkeyatts ||
				get_op_opfamily_strategy(op, index->opfamily[iclause->indexcol]) !=
				BTEqualStrategyNumber)
				continue;
			op_input_types(op, &left, &right);
			if (OidIsValid(betree_filter_hash_proc(bt, iclause->indexcol, right,
												   &arg_proc)))
				equal[iclause->indexcol] = true;
		}
	}

	*filtered = betree_filter_pages(bt) > 0;
	for (int i = 0; i < bt->nkeyatts; i++)
		*filtered = *filtered && equal[i];
	return nscans;
}

/* Pages that a scan passes above the leaf: btree's tree_height, guessed */
static int
guess_height(double pages)
{
	int			height = 1;

	while (pages > LEAVES_PER_NODE)
	{
		pages /= LEAVES_PER_NODE;
		height++;
	}
	return height;
}

/* amcostestimate */
void
betreecostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				   Cost *indexStartupCost, Cost *indexTotalCost,
				   Selectivity *indexSelectivity, double *indexCorrelation,
				   double *indexPages)
{
	double		pages = path->indexinfo->pages;
	Relation	rel = index_open(path->indexinfo->indexoid, NoLock);
	BetreeRel	bt;
	bool		filtered;
	double		nscans;
	double		nodes;
	double		log_pages;
	double		miss;
	double		random_cost;
	Cost		descent;
	Cost		first;

	betree_rel_open(&bt, rel);
	nscans = examine_clauses(root, path, &bt, &filtered);
	index_close(rel, NoLock);

	btcostestimate(root, path, loop_count, indexStartupCost, indexTotalCost,
				   indexSelectivity, indexCorrelation, indexPages);

	/* each of several scans goes down by itself, to one node at least */
	nodes = Max(nscans, ceil(*indexPages / LEAVES_PER_NODE));

	/* an index that is not larger than its nodes' logs has none yet */
	log_pages = Min(bt.log_pages / 2.0, pages / 2.0);
	if (filtered)
		log_pages = Min(log_pages, FILTERED_PAGES);

	/* the part of the index that memory is not expected to hold */
	miss = 1.0 - (double) effective_cache_size / Max(1.0, pages);
	miss = Max(0.0, Min(1.0, miss));
	get_tablespace_page_costs(path->indexinfo->reltablespace, &random_cost,
							  NULL);

	/*
	 * btcostestimate() takes the height from the planner, which asks btree
	 * indexes only for it.  A log page costs a binary search; a filter or a
	 * tail, which are read from one end to the other, what btree charges for
	 * a page.  The last page of a log, which takes appends, is in memory.
	 */
	descent = guess_height(pages) * PAGE_OPERATORS * cpu_operator_cost;
	if (filtered)
		first = log_pages * PAGE_OPERATORS * cpu_operator_cost +
			Max(log_pages - 1, 0) * miss * random_cost;
	else
		first = log_pages * (SEARCH_COMPARISONS * cpu_operator_cost +
							 miss * random_cost);
	*indexStartupCost += descent + first;
	*indexTotalCost += nscans * descent + nodes * first;
	*indexPages += log_pages * nodes;
}
