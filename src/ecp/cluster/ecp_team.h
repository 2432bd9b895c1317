/*-------------------------------------------------------------------------
 *
 * ecp_team.h
 *	  Tasks that the processes of an index build do together.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TEAM_H
#define ECP_TEAM_H

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/dsm.h"
#include "storage/spin.h"

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

#define ECP_TASK_MEMORIES	4
#define ECP_TASK_ARGS_BYTES	96

typedef struct EcpTeam EcpTeam;

/*
 * A task: every process of the team calls it with the same arguments.  It
 * claims items by ecp_team_claim() until there are none.
 */
typedef void (*EcpTaskFunction) (EcpTeam *team, const void *args,
								 char **memories);

typedef struct EcpTask
{
	const char *name;			/* of the function, which must be exported */
	EcpTaskFunction function;
} EcpTask;

#define EcpTaskOf(function)	((EcpTask) {#function, function})

/* A task as workers are told of it. */
typedef struct EcpTeamTask
{
	char		function[64];	/* empty: no more tasks */
	int64		nitems;
	int64		step;
	dsm_handle	memories[ECP_TASK_MEMORIES];
	char		args[ECP_TASK_ARGS_BYTES] pg_attribute_aligned(8);
} EcpTeamTask;

/* In shared memory. */
typedef struct EcpTeamShared
{
	pg_atomic_uint64 next_item;
	pg_atomic_uint64 rows;
	ConditionVariable start_cv;
	ConditionVariable done_cv;

	slock_t		mutex;			/* protects all below */
	uint64		generation;		/* of task */
	int			nbusy;			/* workers that are not done with it */
	EcpTeamTask task;
	double		cpu_s;
} EcpTeamShared;

/* One process's view: the beginning of a larger struct. */
struct EcpTeam
{
	EcpTeamShared *shared;
	int			nworkers;		/* the backend only */

	/* called in each process before and after its part of a task */
	void		(*begin) (EcpTeam *team);
	void		(*end) (EcpTeam *team);
};

extern void ecp_team_init(EcpTeamShared *shared);

/* What a worker does, until the backend lets it go. */
extern void ecp_team_work(EcpTeam *team);
extern void ecp_team_dismiss(EcpTeam *team);

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

/* CPU seconds of the workers in all tasks so far. */
extern double ecp_team_cpu_s(const EcpTeam *team);
extern double ecp_cpu_seconds(void);

#endif							/* ECP_TEAM_H */
