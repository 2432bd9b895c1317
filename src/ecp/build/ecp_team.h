/*-------------------------------------------------------------------------
 *
 * ecp_team.h
 *	  The processes of an index build: the backend and its parallel workers.
 *
 * (The server's sources call the backend of a parallel operation its leader;
 * in ecp a leader is a vector.)
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TEAM_H
#define ECP_TEAM_H

#include "access/parallel.h"
#include "ecp/build/ecp_policy.h"
#include "ecp/define/ecp.h"
#include "storage/dsm.h"

typedef struct EcpBuild EcpBuild;

/*
 * Memory of a build that all of the team can reach: a dynamic shared memory
 * segment when there are to be workers, else palloc'd.
 */
typedef struct EcpMemory
{
	dsm_segment *seg;			/* NULL: private */
	char	   *address;		/* on a 64-byte boundary */
	void	   *allocated;		/* private: what palloc() returned */
} EcpMemory;

extern void ecp_memory_alloc(EcpMemory *memory, bool shared, Size bytes);
extern void ecp_memory_free(EcpMemory *memory);

/* What a team does together. */
typedef enum EcpTask
{
	ECP_TASK_NEAREST,			/* k-means: nearest centres of rows */
	ECP_TASK_NEAR,				/* the same, of near ones */
	ECP_TASK_MEANS,				/* k-means: means of centres */
	ECP_TASK_GROUPS,			/* leaders within the groups of a sample */
	ECP_TASK_SCAN,				/* read and assign the table's rows */
	ECP_TASK_MERGE,				/* write leaves */
	ECP_TASK_CALIBRATE,			/* searches for the recall curve */
	ECP_TASK_END				/* no more tasks */
} EcpTask;

#define ECP_TASK_MEMORIES	4
#define ECP_TASK_ARGS_BYTES	96

/*
 * A task: every process of the team calls it with the same arguments.  It
 * claims items by ecp_team_claim() until there are none.
 */
typedef void (*EcpTaskFunction) (EcpBuild *build, const void *args,
								 char **memories);

typedef struct EcpTeam EcpTeam;

/*
 * Launch workers for build->workers, as many as there are; returns NULL when
 * there are none.  From then to ecp_team_end() the backend is in parallel
 * mode.  Between, the metapage and the leaders may change.
 */
extern EcpTeam *ecp_team_begin(EcpBuild *build);
extern void ecp_team_end(EcpTeam *team);
extern int	ecp_team_workers(const EcpTeam *team);

/*
 * Do a task of nitems items with the whole team; returns when all have done
 * their part.  Items are claimed about "step" at a time.
 */
extern void ecp_team_run(EcpTeam *team, EcpTask task,
						 const void *args, Size args_bytes,
						 int64 nitems, int64 step,
						 EcpMemory *const *memories, int nmemories);

/* Within a task: take items *from .. *upto - 1; false when none are left. */
extern bool ecp_team_claim(EcpTeam *team, int64 *from, int64 *upto);

/* Is so much work (multiply-adds) worth the waking of workers? */
#define ECP_TEAM_WORK_MIN	4e6

/* Items to claim at once, so that all of the team end at about one time. */
extern int64 ecp_team_step(const EcpTeam *team, int64 nitems, int64 least);

/* Count rows that the task is done with; returns how many there are. */
extern uint64 ecp_team_count_rows(EcpTeam *team, uint64 rows);

/* ---- of ECP_TASK_SCAN ---- */

/* The scan of the table that a process joins. */
extern struct TableScanDescData *ecp_team_scan(EcpTeam *team);

/*
 * Where that scan of a heap is: blocks that this process alone has still to
 * read, and the block from which on no process was given any.
 */
extern void ecp_team_position(const EcpTeam *team, uint32 *own_blocks,
							  uint64 *given_blocks);

/* How far the team has read ahead. */
extern pg_atomic_uint64 *ecp_team_ahead(EcpTeam *team);

/* Add what a process found to what the team found. */
extern void ecp_team_add(EcpTeam *team, double heap_tuples,
						 double index_tuples, uint32 rounds,
						 bool broken_hot_chain);
extern void ecp_team_sums(EcpTeam *team, double *heap_tuples,
						  double *index_tuples, uint32 *rounds,
						  bool *broken_hot_chain);

/* CPU seconds of the workers in all tasks so far. */
extern double ecp_team_cpu_s(const EcpTeam *team);

#endif							/* ECP_TEAM_H */
