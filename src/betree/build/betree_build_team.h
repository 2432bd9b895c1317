/*-------------------------------------------------------------------------
 *
 * betree_build_team.h
 *	  The processes that build an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BUILD_TEAM_H
#define BETREE_BUILD_TEAM_H

#include "access/itup.h"
#include "base/index_team.h"
#include "storage/shm_mq.h"
#include "utils/tuplesort.h"

/* One process's view */
typedef struct BetreeBuildTeam
{
	EcpIndexTeam index;			/* must be first */
	shm_mq_handle *leaves;		/* their way to the process that writes */
	void	   *load;			/* the backend only: the task's state */
} BetreeBuildTeam;

/* The backend: workers, as many as the server has and wants to give, or NULL */
extern BetreeBuildTeam *betree_build_team_begin(Relation heap, Relation index,
												IndexInfo *info);
extern void betree_build_team_end(BetreeBuildTeam *team);

/* What all processes sort to */
extern Sharedsort *betree_build_team_sort(BetreeBuildTeam *team);

/* What a process has sorted; and the sum of all processes */
extern void betree_build_team_add(BetreeBuildTeam *team, double heap_tuples,
								  double index_tuples, double index_bytes);
extern void betree_build_team_sums(BetreeBuildTeam *team, IndexInfo *info,
								   double *heap_tuples, double *index_tuples,
								   double *index_bytes);

/* Is this the process that writes? */
extern bool betree_build_team_writes(void);

/*
 * The backend sends the leaves in order, the last one with an infinite upper
 * bound; the process that writes receives them.  What is received is valid until
 * the next.
 */
extern void betree_build_team_send(BetreeBuildTeam *team, IndexTuple high,
								   char *items, Size bytes);
extern void betree_build_team_receive(BetreeBuildTeam *team, IndexTuple *high,
									  char **items, Size *bytes);

#endif							/* BETREE_BUILD_TEAM_H */
