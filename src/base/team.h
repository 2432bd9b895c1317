/*-------------------------------------------------------------------------
 *
 * team.h
 *	  Processes that work on one task, and those of an index build.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TEAM_H
#define ECP_TEAM_H

#include "access/parallel.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/dsm.h"
#include "storage/lockdefs.h"
#include "storage/spin.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * team.c: tasks that a backend and its parallel workers do together.
 *
 * (The server's sources call the backend of a parallel operation its leader;
 * in ecp a leader is a vector.)
 */

/*
 * Memory that all of a team can reach: a dynamic shared memory segment if there
 * will be workers and there is room for it, else palloc'd.
 */
typedef struct EcpMemory
{
	dsm_segment *seg;			/* NULL: private */
	char	   *address;		/* on a 64-byte boundary */
	void	   *allocated;		/* private: what palloc() returned */
} EcpMemory;

extern void ecp_team_memory_alloc(EcpMemory *memory, bool shared, Size bytes);

/* A segment, or false if there is no room for it. */
extern bool ecp_team_memory_share(EcpMemory *memory, Size bytes);
extern void ecp_team_memory_free(EcpMemory *memory);

#define ECP_TASK_MEMORIES	4
#define ECP_TASK_ARGS_BYTES	192

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

/* In shared memory: the beginning of a larger struct. */
typedef struct EcpTeamShared
{
	uint32		wait_event;		/* constant */
	bool		all;			/* constant: see ecp_team_launch() */
	pg_atomic_uint64 next_item;
	pg_atomic_uint64 rows;
	ConditionVariable start_cv;
	ConditionVariable done_cv;

	slock_t		mutex;			/* protects all below */
	uint64		generation;		/* of task */
	bool		open;			/* workers may begin with it */
	int			nbusy;			/* workers to wait for */
	EcpTeamTask task;
	double		cpu_s;			/* of the workers, in all tasks so far */
} EcpTeamShared;

/* One process's view: the beginning of a larger struct. */
struct EcpTeam
{
	EcpTeamShared *shared;
	struct ParallelTableScanDescData *scan; /* of the table; NULL: none */
	struct WalUsage *wal_usage; /* of the workers */
	struct BufferUsage *buffer_usage;

	/* called in each process before and after its part of a task, unless NULL */
	void		(*begin) (EcpTeam *team);
	void		(*end) (EcpTeam *team);

	bool		leave;			/* a worker: the task that set it, the team's
								 * last, is its last; it need not wait for the
								 * others */

	/* the backend only */
	ParallelContext *pcxt;
	int			nworkers;
	const char *memory_setting; /* that bounds what is shared */
	bool		told_short;
};

/*
 * The backend: make a team of at most nworkers, whose entry point is the
 * exported function "entry", with "bytes" of shared memory that begins with
 * EcpTeamShared and is the caller's to fill after it.  With a snapshot, the
 * team has a parallel scan of the table.  The caller has set
 * team->memory_setting.  Returns false if there is no room in dynamic shared
 * memory.  Up to ecp_team_end() the backend is in parallel mode.
 */
extern bool ecp_team_create(EcpTeam *team, const char *entry, int nworkers,
							Size bytes, Relation heap, Snapshot snapshot,
							uint32 wait_event);

/*
 * The backend, once shared memory is filled: start the workers there are.  If
 * "all", every worker does its part of every task, since tasks leave something
 * in the process that later ones need; else a worker leaves out those that are
 * over before it has started.
 */
extern void ecp_team_launch(EcpTeam *team, bool all);

/* The backend: end the workers, and what was shared with them. */
extern void ecp_team_end(EcpTeam *team);

/* A worker: find what the backend made, and do tasks until it ends the team. */
extern void ecp_team_attach(EcpTeam *team, shm_toc *toc);
extern void ecp_team_work(EcpTeam *team);

/* A NOTICE, the first time, that there is too little dynamic shared memory. */
extern void ecp_team_tell_short(EcpTeam *team);

/*
 * Do a task of nitems items with the whole team; returns when all have done
 * their part.  Items are claimed about "step" at a time.  If one of the
 * memories is not shared, the backend does the task alone.
 */
extern void ecp_team_run(EcpTeam *team, EcpTask task,
						 const void *args, Size args_bytes,
						 int64 nitems, int64 step,
						 EcpMemory *const *memories, int nmemories);

/* Within a task: take items *from .. *upto - 1; false when none are left. */
extern bool ecp_team_claim(EcpTeam *team, int64 *from, int64 *upto);

/* Items to claim at once, so that all of the team end at about one time. */
extern int64 ecp_team_step(const EcpTeam *team, int64 nitems, int64 least);

/* Count rows that the task is done with; returns how many there are. */
extern uint64 ecp_team_count_rows(EcpTeam *team, uint64 rows);

extern double ecp_team_process_cpu_s(void);

/* The backend and the parallel workers that build an index */

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

/* How many parallel workers an index build asks for */

/*
 * Workers for a build.  As for a btree, the table's parallel_workers,
 * max_parallel_maintenance_workers and maintenance_work_mem come before the
 * size of what is read.  *read_blocks, unless NULL, receives that: the blocks of
 * the table, and about as many as the columns of the index take in the TOAST
 * table.
 */
extern int	ecp_index_workers(Relation heap, Relation index, IndexInfo *info,
							  double *read_blocks);

#endif							/* ECP_TEAM_H */
