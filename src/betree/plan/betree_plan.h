/*-------------------------------------------------------------------------
 *
 * betree_plan.h
 *	  Costs of index scans, and paths that core makes for btree only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_PLAN_H
#define BETREE_PLAN_H

#include "nodes/pathnodes.h"
#include "utils/relcache.h"

/* betree_cost.c: costs of index scans */

extern void betreecostestimate(PlannerInfo *root, IndexPath *path,
							   double loop_count, Cost *indexStartupCost,
							   Cost *indexTotalCost,
							   Selectivity *indexSelectivity,
							   double *indexCorrelation, double *indexPages);

extern int	betree_cost_height(Relation rel);

extern void betree_cost_init(void);

#endif							/* BETREE_PLAN_H */
