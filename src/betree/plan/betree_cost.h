/*-------------------------------------------------------------------------
 *
 * betree_cost.h
 *	  Costs of index scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_COST_H
#define BETREE_COST_H

#include "nodes/pathnodes.h"
#include "utils/relcache.h"

extern void betreecostestimate(PlannerInfo *root, IndexPath *path,
							   double loop_count, Cost *indexStartupCost,
							   Cost *indexTotalCost,
							   Selectivity *indexSelectivity,
							   double *indexCorrelation, double *indexPages);

extern int	betree_cost_height(Relation rel);

#endif							/* BETREE_COST_H */
