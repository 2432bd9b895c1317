/*-------------------------------------------------------------------------
 *
 * device_place.h
 *	  Which storage target each group of relations should live on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_PLACE_H
#define ECP_DEVICE_PLACE_H

#include "postgres.h"

/*
 * A group is what must stay together: a partition, its indexes and its TOAST
 * table.  "bytes" counts against a target's capacity, "weight" against its
 * speed; they are the same unless hot groups are to weigh more.
 */
typedef struct EcpPlaceGroup
{
	const char *name;			/* for messages; may be NULL */
	double		bytes;
	double		weight;
	int			current;		/* index of the target it is on, or -1 */
	int			target;			/* result: index of a target */
} EcpPlaceGroup;

typedef struct EcpPlaceTarget
{
	double		speed;			/* weight per second */
	double		capacity;		/* bytes; infinity if there is no limit */
} EcpPlaceTarget;

typedef struct EcpPlacement
{
	int			ngroups;
	EcpPlaceGroup *groups;
	int			ntargets;
	EcpPlaceTarget *targets;
} EcpPlacement;

extern void ecp_placement_check(const EcpPlacement *p);
extern void ecp_placement_solve(EcpPlacement *p, const char *strategy,
								double factor, uint64 seed);
extern void ecp_placement_rename(EcpPlacement *p);
extern double ecp_placement_makespan(const EcpPlacement *p);
extern double ecp_placement_lower_bound(const EcpPlacement *p);

#endif							/* ECP_DEVICE_PLACE_H */
