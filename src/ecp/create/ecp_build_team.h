/*-------------------------------------------------------------------------
 *
 * ecp_build_team.h
 *	  The processes of an index build: the backend and its parallel workers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BUILD_TEAM_H
#define ECP_BUILD_TEAM_H

#include "base/team.h"

struct EcpBuild;

/*
 * Launch up to build->plan.nworkers workers; returns NULL if none started.  Up
 * to ecp_build_team_end() the backend is in parallel mode; the metapage and the
 * leaders may change between tasks.
 */
extern EcpTeam *ecp_build_team_begin(struct EcpBuild *build);
extern void ecp_build_team_end(EcpTeam *team);

/* Within a task: the build, which in a worker is a struct of its own. */
extern struct EcpBuild *ecp_build_team_build(EcpTeam *team);

/* ---- of the scan of the table ---- */

/* The scan of the table that a process joins. */
extern struct TableScanDescData *ecp_build_team_scan(EcpTeam *team);

/*
 * Where that scan of a heap is: blocks that this process alone has still to
 * read, and the block from which on no process was given any.
 */
extern void ecp_build_team_position(const EcpTeam *team, uint32 *own_blocks,
									uint64 *given_blocks);

/* How far the team has read ahead. */
extern pg_atomic_uint64 *ecp_build_team_ahead(EcpTeam *team);

/* Add what a process found to what the team found (besides base/index_team.h). */
extern void ecp_build_team_add_rounds(EcpTeam *team, uint32 rounds);
extern uint32 ecp_build_team_rounds(EcpTeam *team);

extern PGDLLEXPORT void ecp_build_recall_task(EcpTeam *team, const void *args,
											  char **memories);

#endif							/* ECP_BUILD_TEAM_H */
