/*-------------------------------------------------------------------------
 *
 * ecp_living.h
 *	  What the files that change a living index share: reading the structure,
 *	  writing one WAL record, replacing clusters.
 *
 * Included by ecp_space.c, ecp_walk.c, ecp_xlog.c, ecp_insert.c,
 * ecp_replace.c, ecp_maintain.c, ecp_vacuum.c, ecp_check.c and
 * ecp_inspect.c.  The README's "Locks" and "WAL records" say who may hold
 * what while calling these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LIVING_H
#define ECP_LIVING_H

#include "access/transam.h"
#include "ecp/define/ecp.h"

/* Heavyweight lock of the one maintainer: block 0 of the index. */
#define ECP_MAINTAIN_LOCK_BLKNO		ECP_META_BLKNO

/* A node needs so many free slots before one of its children is replaced. */
#define ECP_NODE_FREE_MIN			4

/* A split copies at most so many pages; clusters above it are cut first. */
#define ECP_SPLIT_PAGES_MAX			(ECP_RUN_PAGES_MAX / 2)

#define EcpLevelGeometry(state, level) \
	((level) == 0 ? &(state)->leaf : &(state)->node)

/* ---- ecp_space.c ---- */

/* Free blocks found, their map page exclusively locked but not changed. */
typedef struct EcpExtent
{
	Buffer		map;
	bool		map_is_new;		/* to be initialised in the same record */
	uint32		mapno;
	BlockNumber blk;
	uint32		npages;
} EcpExtent;

extern void ecp_space_find(Relation index, uint32 hint, uint32 npages,
						   EcpExtent *extent);
extern Page ecp_space_register(Relation index, GenericXLogState *xlog,
							   const EcpExtent *extent);
extern void ecp_space_mark(Relation index, Page map, BlockNumber blk,
						   uint32 npages, bool used);
extern uint64 ecp_space_owner(Page page);
extern void ecp_space_check_free(Relation index, Buffer buffer);
extern Buffer ecp_space_map_lock(Relation index, BlockNumber blk, int lockmode);
extern uint64 ecp_space_count_used(Relation index);
extern void ecp_bulk_begin(void);
extern void ecp_bulk_end(void);
extern BufferAccessStrategy ecp_bulk_strategy(bool writing);

/* ---- ecp_walk.c: reading the structure, one share lock at a time ---- */

/* Page 0 of a run, as it was when it was read. */
typedef struct EcpRun
{
	BlockNumber blk;
	uint64		run;
	EcpRunHeaderData header;
} EcpRun;

/* Where a walk along the retired queue is. */
typedef struct EcpRetiredWalk
{
	BlockNumber next;
	uint32		version;		/* of the one before */
	uint64		npages;			/* of those so far, but for further runs */
} EcpRetiredWalk;

/* A node copied from its pages: the children visible at one version. */
typedef struct EcpNodeImage
{
	EcpRun		head;
	int			level;
	uint32		nfree;			/* free slots */
	int			nchildren;
	int			nbuffers;		/* in the same arrays, behind the children */
	EcpChildData *children;
	uint32	   *slots;			/* of the children within the run */
	char	   *leaders;		/* stride bytes each; NULL if not wanted */
	Size		stride;
} EcpNodeImage;

/* Rows of a leaf copied from its pages, and which slots they came from. */
typedef struct EcpRowSet
{
	int			nrows;
	int			max;
	ItemPointerData *tids;
	char	   *vectors;		/* rows, stride bytes each; see ecp_page.h */
	Size		stride;
	uint8	   *bins;
	uint32		npages;			/* of all runs read */
	int			nruns;
	int			runs_max;
	struct EcpRowSetRun *runs;
} EcpRowSet;

/* What one visit to the headers of a cluster tells. */
typedef struct EcpClusterSize
{
	int			nruns;
	uint32		nslots;
	uint32		npages;
	uint32		nrows_about;	/* if no row was inserted but by flushes */
	uint32		nlive;			/* only if counted */
	bool		has_holes;		/* VACUUM freed slots before the last page */
} EcpClusterSize;

extern void ecp_buffer_lock(Relation index, Buffer buffer, int lockmode);
extern Buffer ecp_buffer_get(Relation index, BlockNumber blk, int lockmode);
extern Buffer ecp_run_buffer(Relation index, int kind, BlockNumber blk,
							 uint64 run, uint32 pageno, int lockmode);
extern bool ecp_run_read(Relation index, const EcpIndexState *state,
						 int level, BlockNumber blk, uint64 run,
						 Buffer held, EcpRun *out);
extern int	ecp_cluster_runs(Relation index, const EcpIndexState *state,
							 int level, BlockNumber blk, uint64 run,
							 Buffer held, EcpRun **runs);
extern void ecp_retired_read(Relation index, const EcpIndexState *state,
							 BlockNumber blk, EcpRun *out);
extern void ecp_retired_begin(const EcpIndexState *state,
							  EcpRetiredWalk *walk);
extern bool ecp_retired_next(Relation index, const EcpIndexState *state,
							 EcpRetiredWalk *walk, EcpRun *head);
extern void ecp_written_read(Relation index, const EcpIndexState *state,
							 BlockNumber blk, EcpRun *out);
extern bool ecp_run_copy_page(Relation index, const EcpRun *run,
							  uint32 pageno, Buffer held, char *copy);
extern void ecp_run_read_vector(Relation index, const EcpGeometry *geo,
								const EcpRun *run, const EcpEntryView *view,
								uint32 slot, char *vector);
extern EcpNodeImage *ecp_node_read(Relation index, const EcpIndexState *state,
								   int level, BlockNumber blk, uint64 run,
								   bool leaders);
extern void ecp_node_image_free(EcpNodeImage *node);
extern bool ecp_cluster_size(Relation index, const EcpIndexState *state,
							 const EcpChildData *child, bool count_live,
							 EcpClusterSize *size);
extern void ecp_rows_init(EcpRowSet *rows, const EcpIndexState *state);
extern bool ecp_rows_read(Relation index, const EcpIndexState *state,
						  BlockNumber blk, uint64 run, Buffer held,
						  EcpRowSet *rows);

/* All nodes of one level (or all levels, -1), parents before children. */
extern List *ecp_collect_nodes(Relation index, const EcpIndexState *state,
							   int level);

/* Element of that list. */
typedef struct EcpNodeRef
{
	EcpChildData child;
	int			level;
} EcpNodeRef;

/* ---- ecp_xlog.c: each function is one kind of WAL record ---- */

extern void ecp_run_init(Page page, const EcpGeometry *geo, int level,
						 uint64 run, uint64 head_run, uint32 nslots);
extern void ecp_run_set_freed(GenericXLogState *xlog, Buffer page0);
extern void ecp_run_set_last(GenericXLogState *xlog, Buffer last);
extern Buffer ecp_meta_lock(Relation index);
extern bool ecp_xlog_learn(Relation index, EcpIndexState *state,
						   uint32 nslots);
extern bool ecp_xlog_put(Relation index, const EcpIndexState *state,
						 int level, Buffer page0, const EcpSlotItem *item,
						 uint32 stop_slot);
extern void ecp_xlog_add_run(Relation index, const EcpIndexState *state,
							 Buffer last, uint32 nslots);
extern void ecp_xlog_kill(Relation index, Buffer buffer,
						  const EcpGeometry *geo, const uint64 *keep);
extern void ecp_xlog_hint(Relation index, Buffer page0, uint32 free_hint);
extern void ecp_xlog_append(Relation index, Buffer last, BlockNumber blk,
							uint64 run);
extern void ecp_xlog_begin(Relation index, EcpIntentData *intent, int nruns);
extern void ecp_xlog_alloc(Relation index, int which, uint32 npages,
						   EcpIntentData *intent);
extern void ecp_xlog_fill(Relation index, BlockNumber blk, char *pages,
						  uint32 npages);
extern void ecp_xlog_end_child(Relation index, const EcpIndexState *state,
							   Buffer head, uint32 slot, uint32 vto);
extern void ecp_xlog_close(Relation index, Buffer head);
extern void ecp_xlog_undo_close(Relation index, EcpIntentData *intent);
extern void ecp_xlog_undo_written(Relation index, const EcpRun *run,
								  EcpIntentData *intent);
extern void ecp_xlog_undo_page(Relation index, const EcpIndexState *state,
							   Buffer head, uint32 pageno);
extern void ecp_xlog_undo_extent(Relation index, int which,
								 const EcpIntentData *intent);

/* The rest of what PUBLISH writes. */
typedef struct EcpPublish
{
	int			nold;
	Buffer		old[2];			/* exclusively locked heads */
	BlockNumber first_closed;	/* of a group: nold is 0; may be Invalid */
	BlockNumber last_closed;
	uint32		retired_pages;
	bool		root_changes;
	EcpChildData root;
	uint32		root_level;
	int			nleaves_delta;
	int			nbuffers_delta;
} EcpPublish;

extern void ecp_xlog_publish(Relation index, const EcpPublish *publish);
extern void ecp_xlog_stamp(Relation index, BlockNumber head);
extern void ecp_xlog_free_run(Relation index, const EcpRun *run,
							  const EcpRun *predecessor);

/* ---- ecp_replace.c: the maintenance lock is held ---- */

/* A buffer to be flushed, and the clusters that it keeps rows for. */
typedef struct EcpFlush
{
	int			buffer;			/* child of the parent */
	int			nmembers;
	const int  *members;		/* children of the parent */
	const EcpClusterSize *sizes;	/* of the members */
	bool		empties;		/* no row is to wait on */
} EcpFlush;

/* Which cluster of which parent; parent NULL = the cluster is the root. */
typedef struct EcpReplaceTarget
{
	int			level;			/* of the clusters */
	const EcpNodeImage *parent;
	int			nold;
	int			which[2];		/* children of parent */
	const int  *group;			/* or of a group, more of them; a buffer last */
	const EcpFlush *flush;		/* a group that is a flush: nold and group
								 * follow from what waits */
	bool		retrain;		/* a group: new leaders, not moved ones */
	int			nbuffers;		/* so many buffers are to be written, or, of a
								 * flush, as many as there should be; 0: none */
	uint32		room;			/* a node: free slots that it should have */
	EcpChildData *result;		/* gets what the first new one is, or NULL */
} EcpReplaceTarget;

#define EcpReplaceWhich(target, i) \
	((target)->group ? (target)->group[i] : (target)->which[i])

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
						const EcpReplaceTarget *target);
extern void ecp_undo(Relation index);

/* Do rows compare with leaders as they are? */
#define EcpRowsArePrepared(meta) \
	((meta)->ecpm_elem == (meta)->ecpm_leader_elem && \
	 (meta)->ecpm_metric != ECP_METRIC_COSINE)

/* ---- ecp_group.c ---- */

/* Rows of a group and, from ecp_group_divide(), where they go. */
typedef struct EcpGroupRows
{
	int			n;
	const char *vectors;		/* as they compare with leaders */
	Size		stride;
	int			nclusters;
	int32	   *clusters;		/* of each row */
	char	   *centres;		/* the new leaders */
	Size		centre_stride;
} EcpGroupRows;

extern void ecp_group_divide(const EcpIndexState *state,
							 const EcpReplaceTarget *target,
							 EcpGroupRows *rows);

extern double ecp_group_rows_max(const EcpIndexState *state);

/* ---- ecp_maintain.c ---- */

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

extern void ecp_node_renew(Relation index, BlockNumber blk, uint64 run,
						   int level);
extern void ecp_node_fold(Relation index, EcpChildData *ref, uint32 room);
extern bool ecp_purge_some(Relation index, Relation heap);

/* ecp_group.c */
extern void ecp_group_train(Relation index, EcpMaintainCounts *counts);
extern void ecp_group_around_splits(Relation index,
									EcpMaintainCounts *counts);
extern double ecp_misplaced_share(Relation index, const EcpIndexState *state,
								  int samples);

extern bool ecp_retired_too_much(Relation index,
								 const EcpIndexState *state);
extern uint32 ecp_leaf_limit(const EcpIndexState *state);
extern void ecp_maintain_full_leaf(Relation index, const void *prepared);
extern void ecp_maintain_index(Relation index, Relation heap, bool purge_all,
							   EcpMaintainCounts *counts);

/* ---- ecp_buffer.c ---- */

extern uint32 ecp_buffer_limit(Relation index, const EcpIndexState *state,
							   int nmembers);
extern uint32 ecp_buffer_limit_held(const EcpIndexState *state, int nmembers);
extern uint32 ecp_buffer_slots(Relation index, const EcpIndexState *state);
extern int	ecp_buffer_clusters(Relation index, const EcpIndexState *state);
extern int	ecp_buffer_divide(const EcpIndexState *state,
							  const char *leaders, Size stride, int n,
							  int nbuffers, char *centres);
extern bool ecp_buffer_sides(const EcpIndexState *state,
							 const EcpNodeImage *node, uint64 seed,
							 uint8 *sides, void **centres);
extern void ecp_buffer_create(Relation index, const void *prepared);
extern void ecp_buffer_flush_full(Relation index, Relation heap,
								  const void *prepared);
extern void ecp_buffer_flush_node(Relation index, EcpChildData *ref,
								  EcpMaintainCounts *counts);
extern void ecp_buffer_flush_all(Relation index, EcpMaintainCounts *counts);

/*
 * Named stop points between WAL records, for crash tests.  Compiled only
 * with assertions or -DECP_DEBUG; see the README, "Tests".
 */
#if defined(ECP_DEBUG) || defined(USE_ASSERT_CHECKING)
extern void ecp_stop_point_init(void);
extern void ecp_stop_point(const char *name);
#define ECP_STOP_POINT(name)	ecp_stop_point(name)
#else
#define ecp_stop_point_init()	((void) 0)
#define ECP_STOP_POINT(name)	((void) 0)
#endif

#endif							/* ECP_LIVING_H */
