/*-------------------------------------------------------------------------
 *
 * ecp_cost.h
 *	  What a scan of an ecp index costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_COST_H
#define ECP_COST_H

#include "access/amapi.h"
#include "nodes/pathnodes.h"

extern bool ecpproperty(Oid index_oid, int attno, IndexAMProperty prop,
						const char *propname, bool *res, bool *isnull);
extern void ecpcostestimate(PlannerInfo *root, IndexPath *path,
							double loop_count, Cost *startup, Cost *total,
							Selectivity *selectivity, double *correlation,
							double *pages);

/* What a distance costs that the executor computes from a row of the table. */
typedef struct EcpDistanceCost
{
	Cost		cpu;
	double		vector_pages;	/* pages of the TOAST table a vector */
	double		toast_pages;	/* all of them; 0: vectors are in the rows */
	double		random_page_cost;
	double		seq_page_cost;
} EcpDistanceCost;

extern List *ecp_cost_filters(const IndexOptInfo *index, List *indexclauses);
extern void ecp_cost_distance(const IndexOptInfo *index, Oid relid,
							  EcpDistanceCost *cost);
extern Cost ecp_cost_distances(PlannerInfo *root, const EcpDistanceCost *cost,
							   const Path *path, double count);
extern bool ecp_cost_batch(PlannerInfo *root, IndexPath *path, double n, Cost *search,
						   Cost *setup);
extern void ecp_cost_fetch(PlannerInfo *root, IndexPath *path);

#endif							/* ECP_COST_H */
