/*-------------------------------------------------------------------------
 *
 * index_team.h
 *	  The backend and the parallel workers that build an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_INDEX_TEAM_H
#define ECP_INDEX_TEAM_H

#include "base/team.h"
#include "nodes/execnodes.h"
#include "storage/lockdefs.h"

/* In shared memory: the beginning of a larger struct. */
typedef struct EcpIndexTeamShared
{
	EcpTeamShared tasks;		/* must be first */

	/* constant */
	Oid			heap;
	Oid			index;
	bool		concurrent;

	slock_t		mutex;			/* protects all below, and what the larger
								 * struct has of this kind */
	double		heap_tuples;
	double		index_tuples;
	bool		broken_hot_chain;
} EcpIndexTeamShared;

/* One process's view: the beginning of a larger struct. */
typedef struct EcpIndexTeam
{
	EcpTeam		team;			/* must be first */
	Relation	heap;
	Relation	index;
	IndexInfo  *info;

	Snapshot	snapshot;		/* the backend only */

	/* a worker only */
	LOCKMODE	heap_lock;
	LOCKMODE	index_lock;
} EcpIndexTeam;

/*
 * The backend: as ecp_team_create(), for the scan that builds an index.  The
 * team is all zeros; what the caller's struct has behind EcpIndexTeamShared is
 * zeros, too.
 */
extern bool ecp_index_team_create(EcpIndexTeam *team, const char *entry,
								  int nworkers, Size bytes, Relation heap,
								  Relation index, IndexInfo *info);

/* Start the workers; returns false, and there is no team, if none started. */
extern bool ecp_index_team_launch(EcpIndexTeam *team);
extern void ecp_index_team_end(EcpIndexTeam *team);

/* A worker: attach, and open table and index; and close them. */
extern void ecp_index_team_attach(EcpIndexTeam *team, shm_toc *toc);
extern void ecp_index_team_detach(EcpIndexTeam *team);

/* Add what a process has found to what the team has. */
extern void ecp_index_team_add(EcpTeam *team, double heap_tuples,
							   double index_tuples, bool broken_hot_chain);

/*
 * The backend, after the task: what the team has found.  A broken HOT chain
 * goes into the backend's own "info".
 */
extern void ecp_index_team_sums(EcpTeam *team, IndexInfo *info,
								double *heap_tuples, double *index_tuples);

#endif							/* ECP_INDEX_TEAM_H */
