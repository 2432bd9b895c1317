/*-------------------------------------------------------------------------
 *
 * ecp_live.h
 *	  Inserts, insert buffers, replacing clusters, maintenance, VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LIVE_H
#define ECP_LIVE_H

#include "access/genam.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

/* ecp_insert.c: insert into an ecp index */

extern bool ecpinsert(Relation index, Datum *values, bool *isnull,
					  ItemPointer heap_tid, Relation heap,
					  IndexUniqueCheck checkUnique, bool indexUnchanged,
					  IndexInfo *indexInfo);

/* ecp_maintain_lock.c: limits of leaves, groups of leaves, and the retired queue */

/* Pages that a split copies at most; larger clusters are cut first. */
#define ECP_SPLIT_PAGES_MAX			(ECP_RUN_PAGES_MAX / 2)

extern bool ecp_limits_too_much_retired(Relation index,
										const EcpIndexState *state);
extern uint32 ecp_limits_leaf_rows(const EcpIndexState *state);
extern double ecp_limits_regroup_rows(const EcpIndexState *state);

/* The same: the lock of the one process that changes an index's structure. */

extern void ecp_maintain_lock_take(Relation index);

/* Without waiting; false if another process has it. */
extern bool ecp_maintain_lock_try(Relation index);
extern void ecp_maintain_lock_release(Relation index);

/* For assertions. */
extern bool ecp_maintain_lock_held(Relation index);

/*
 * Wait a moment for other transactions to end.  Returns false, without waiting,
 * after "tries", which begins at 0, of a second, or, in autovacuum, ten.
 */
extern bool ecp_maintain_wait(int *tries);

/* ecp_replace.c: replacing clusters; the maintenance lock is held */

/* Free slots of a new leaf, for rows inserted in the meantime. */
#define ECP_LEAF_SPARE		4

/* A buffer to be flushed, and the clusters whose rows it holds. */
typedef struct EcpFlush
{
	int			buffer;			/* child of the parent */
	int			nmembers;
	const int  *members;		/* children of the parent */
	const EcpClusterSize *sizes;	/* of the members */
	bool		empties;		/* no row stays buffered */
} EcpFlush;

/* The clusters to be replaced; parent NULL = the root. */
typedef struct EcpReplaceRequest
{
	int			level;			/* of the clusters */
	const EcpNodeImage *parent;
	int			nold;
	int			which[2];		/* children of parent */
	const int  *group;			/* or of a group, more of them */
	bool		retrain;		/* a group: new leaders, not moved ones */
	bool		copy;			/* a group: the same leaves elsewhere */
	const EcpFlush *flush;		/* a group that is a flush: without nold and
								 * group, which follow from what waits */
	int			nbuffers;		/* new buffers; of a flush, 0 or 1: with or
								 * without */
	uint32		room;			/* a node: free slots that it should have */
	EcpChildData *result;		/* gets what the first new one is, or NULL */
} EcpReplaceRequest;

typedef enum EcpReplaceKind
{
	ECP_REPLACE_FOLD,			/* one by one, without holes */
	ECP_REPLACE_SPLIT,			/* one by two */
	ECP_REPLACE_MERGE,			/* two by one */
	ECP_REPLACE_DROP,			/* an empty one by nothing */
	ECP_REPLACE_GROUP,			/* many leaves by many, rows change places */
	ECP_REPLACE_BUFFERS			/* nothing by empty buffers of a node */
} EcpReplaceKind;

extern bool ecp_replace(Relation index, EcpReplaceKind kind,
						const EcpReplaceRequest *target);

/* Slots of a new run for n items, with at least "spare" free slots. */
extern uint32 ecp_replace_plan_slots(const EcpGeometry *geo, int level, int n,
									 uint32 spare);

/* Undo what ecpm_op names, if anything.  The maintenance lock is held. */
extern void ecp_replace_undo(Relation index);

/* ecp_maintain.c: maintenance: splits, folds, merges */

/* Free slots that a node needs before one of its children is replaced. */
#define ECP_NODE_FREE_MIN			4

/* What maintenance did, for ecp_maintain() and VACUUM (VERBOSE). */
typedef struct EcpMaintainCounts
{
	uint32		splits;
	uint32		folds;
	uint32		merges;
	uint32		drops;
	uint32		groups;
	uint32		regrouped;		/* leaves in them, before */
	uint32		flushes;		/* of buffers */
	uint32		purged_pages;
} EcpMaintainCounts;

extern void ecp_maintain_renew_node(Relation index, BlockNumber blk, uint64 run,
									int level, uint32 room);
extern void ecp_maintain_fold_node(Relation index, EcpChildData *ref, uint32 room);

extern void ecp_maintain_pause(Relation index);
extern int	ecp_maintain_neighbours(const EcpIndexState *state, const EcpNodeImage *node,
									int i, int *which, int max);
extern void ecp_maintain_full_leaf(Relation index, const void *prepared);
extern void ecp_maintain_leaves(Relation index, EcpMaintainCounts *counts);

/* ecp_insbuf.c: creating and flushing insert buffers */

extern void ecp_insbuf_create(Relation index, const void *prepared);
extern void ecp_insbuf_flush_full(Relation index, Relation heap,
								  const void *prepared);
extern void ecp_insbuf_flush_node(Relation index, EcpChildData *ref,
								  EcpMaintainCounts *counts);
extern void ecp_insbuf_flush_all(Relation index, EcpMaintainCounts *counts);

/*
 * ecp_insbuf_plan.c: number, size and leaders of the insert buffers of a node.
 */

extern uint32 ecp_insbuf_plan_limit(Relation index, const EcpIndexState *state,
									int nmembers);
extern uint32 ecp_insbuf_plan_limit_held(const EcpIndexState *state, int nmembers);
extern uint32 ecp_insbuf_plan_slots(Relation index, const EcpIndexState *state);
extern int	ecp_insbuf_plan_clusters(Relation index, const EcpIndexState *state);
extern int	ecp_insbuf_plan_divide(const EcpIndexState *state,
								   const char *leaders, Size stride, int n,
								   int nbuffers, char *centres);
extern bool ecp_insbuf_plan_sides(const EcpIndexState *state,
								  const EcpNodeImage *node, uint64 seed,
								  uint8 *sides, void **centres);

/* ecp_regroup.c: regrouping leaves */

extern void ecp_regroup_train(Relation index, Relation heap, bool train,
							  bool thorough, EcpMaintainCounts *counts);
extern void ecp_regroup_shrunk(Relation index, Relation heap,
							   EcpMaintainCounts *counts);
extern void ecp_regroup_around_splits(Relation index,
									  EcpMaintainCounts *counts);

/* ecp_compact.c: giving back the end of the file */

/* Move what is at the end of the file forward, if much before it is free. */
extern void ecp_compact(Relation index, Relation heap, bool thorough,
						EcpMaintainCounts *counts);

/* Cut off free blocks at the end of the file, if they are many, or "few", too. */
extern void ecp_compact_truncate(Relation index, int elevel, bool few);

/* ecp_purge.c: freeing retired clusters */

/* How ecp_purge() frees clusters: */
#define ECP_PURGE_FEW	0x01	/* even if they are few */
#define ECP_PURGE_NOW	0x02	/* also if the horizon has not passed, but no
								 * snapshot exists */
#define ECP_PURGE_SOME	0x04	/* only some of them, for a short time */
#define ECP_PURGE_WAIT	0x08	/* wait a while for snapshots, if there are
								 * many; ECP_PURGE_NOW is set, too */

extern void ecp_purge_stamp(Relation index);
extern uint32 ecp_purge(Relation index, Relation heap, int how);
extern bool ecp_purge_for_insert(Relation index, Relation heap, int how);

/* ecp_vacuum.c: VACUUM of an ecp index */

extern IndexBulkDeleteResult *ecpbulkdelete(IndexVacuumInfo *info,
											IndexBulkDeleteResult *stats,
											IndexBulkDeleteCallback callback,
											void *callback_state);
extern IndexBulkDeleteResult *ecpvacuumcleanup(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats);

#endif							/* ECP_LIVE_H */
