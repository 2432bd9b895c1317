/*-------------------------------------------------------------------------
 *
 * device_placement.h
 *	  Which storage target each group of relations should live on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_PLACEMENT_H
#define ECP_DEVICE_PLACEMENT_H

#include "postgres.h"

/* Groups up to which an exact search, which is exponential, is allowed. */
#define ECP_PLACE_OPTIMAL_MAX	16

typedef enum EcpPlaceStrategy
{
	ECP_PLACE_LPT,				/* all groups anew, largest first */
	ECP_PLACE_ONLINE,			/* placed groups stay, others in their order */
	ECP_PLACE_REBALANCE,		/* move as little as reaches the limit */
	ECP_PLACE_RANDOM,			/* a target by a hash of number and seed */
	ECP_PLACE_OPTIMAL,			/* exact, for few groups */
	ECP_PLACE_CURRENT			/* as it is now */
} EcpPlaceStrategy;

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
	const char *name;			/* for messages; may be NULL */
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

extern EcpPlaceStrategy ecp_placement_strategy(const char *name);
extern void ecp_placement_check(const EcpPlacement *p);
extern void ecp_placement_solve(EcpPlacement *p, EcpPlaceStrategy strategy,
								double factor, uint64 seed);
extern void ecp_placement_rename(EcpPlacement *p);
extern int	ecp_placement_online_target(const EcpPlacement *p,
										double bytes, double weight);
extern double ecp_placement_makespan(const EcpPlacement *p);
extern double ecp_placement_lower_bound(const EcpPlacement *p);
extern double ecp_placement_guarantee(const EcpPlacement *p);
extern double ecp_placement_moved_bytes(const EcpPlacement *p);

#endif							/* ECP_DEVICE_PLACEMENT_H */
