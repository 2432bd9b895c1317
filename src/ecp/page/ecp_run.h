/*-------------------------------------------------------------------------
 *
 * ecp_run.h
 *	  Reading and writing: the metapage, space, runs, nodes and clusters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RUN_H
#define ECP_RUN_H

#include "access/generic_xlog.h"
#include "ecp/page/ecp_page.h"
#include "nodes/pg_list.h"
#include "storage/bufmgr.h"

/*
 * ecp_meta.c: the metapage: formed from the index's definition, checked against it.
 */

/* Leaders compared with every row; above, rows descend the tree. */
#define ECP_FLAT_LEADERS_MAX	10000

/*
 * Copy the metapage (share lock, checks, released) and compute geometry.
 * state->meta.ecpm_sversion is the structure version that the caller then
 * uses for everything it reads.
 */
extern void ecp_meta_read_state(Relation index, EcpIndexState *state);

/* True when the index has no root (nothing was ever inserted). */
#define EcpIndexIsEmpty(state) ((state)->meta.ecpm_root.ecpc_run == 0)

/*
 * Form the metapage of an index without rows from its opclass and reloptions
 * (dims is 0 unless a reloption or typmod gives it).
 */
extern void ecp_meta_form(Relation index, EcpMetaPageData *meta);

/*
 * Set the dimensions and what follows from them: the sizes of clusters and nodes,
 * by the index's storage parameters.
 */
extern void ecp_meta_set_dims(Relation index, EcpMetaPageData *meta, int dims);

/*
 * Allocate n ids of runs and return the first; an error if there are no more.
 * The caller has locked the metapage exclusively and registered it.
 */
extern uint64 ecp_meta_take_runs(Relation index, EcpMetaPageData *meta, int n);

/* An error if no structure version can follow the present one. */
extern void ecp_meta_check_version(Relation index,
								   const EcpMetaPageData *meta);

/* Rows of a cluster of which a probe reads "bytes" bytes. */
extern uint64 ecp_meta_cluster_rows(const EcpGeometry *leaf, uint64 bytes);

/* Set the size of clusters in rows, within limits. */
extern void ecp_meta_set_cluster_rows(EcpMetaPageData *meta,
									  const EcpGeometry *leaf, uint64 rows);

/* The metapage, exclusively locked and checked. */
extern Buffer ecp_meta_lock(Relation index);

/* ecp_space.c: the block map, and the first touch of pages */

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
extern BlockNumber ecp_space_end(Relation index, uint32 hint);

/*
 * Return "blk" of the main fork, exclusively locked, to be initialised by the
 * caller with a full image.  Extends the relation if it is too short (under the
 * extension lock).
 */
extern Buffer ecp_space_new_buffer(Relation index, BlockNumber blk);

/* Page 0 of a run, as it was when it was read. */
typedef struct EcpRun
{
	BlockNumber blk;
	uint64		run;
	EcpRunHeaderData header;
} EcpRun;

extern void ecp_run_init(Page page, const EcpGeometry *geo, int level,
						 uint64 run, uint64 head_run, uint32 nslots);
extern Buffer ecp_run_page_get(Relation index, int kind, BlockNumber blk,
							   uint64 run, uint32 pageno, int lockmode);
extern Buffer ecp_run_lock(Relation index, BlockNumber blk, uint64 run);

/* Check the header of a run. */
extern void ecp_run_check_header(Relation index, Buffer buffer,
								 const EcpGeometry *geo);
extern bool ecp_run_read(Relation index, const EcpIndexState *state,
						 int level, BlockNumber blk, uint64 run,
						 Buffer held, EcpRun *out);
extern uint32 ecp_run_page_slots(const EcpGeometry *geo, const EcpRun *run,
								 uint32 pageno);
extern void ecp_run_copy_page(Relation index, const EcpRun *run,
							  uint32 pageno, Buffer held, char *copy);
extern void ecp_run_read_levels(Relation index, const EcpGeometry *geo,
								const EcpRun *run, uint32 slot, char *levels);
extern void ecp_run_read_vector(Relation index, const EcpGeometry *geo,
								const EcpRun *run, const EcpEntryView *view,
								uint32 slot, char *vector);

/* ecp_node.c: nodes: copies of them, and the nodes of a level */

/* A node copied from its pages: the children visible at one version. */
typedef struct EcpNodeImage
{
	EcpRun		head;
	int			level;
	uint32		valid_from;		/* versions that have the same children, while */
	uint32		valid_until;	/* ecpr_change stays; exclusive end */
	uint32		nfree;			/* slots that can be had: free, from
								 * ecpr_free_hint on */
	int			nchildren;
	int			nbuffers;		/* in the same arrays, behind the children */
	EcpChildData *children;
	uint32	   *slots;			/* of the children within the run */
	char	   *leaders;		/* stride bytes each; NULL if not wanted */
	Size		stride;
} EcpNodeImage;

/* Check the head of a node of any level. */
extern void ecp_node_check_header(Relation index, Buffer buffer,
								  const EcpIndexState *state);
extern EcpNodeImage *ecp_node_try_read(Relation index,
									   const EcpIndexState *state, int level,
									   BlockNumber blk, uint64 run,
									   bool leaders);
extern EcpNodeImage *ecp_node_read(Relation index, const EcpIndexState *state,
								   int level, BlockNumber blk, uint64 run,
								   bool leaders);
extern void ecp_node_image_free(EcpNodeImage *node);

/* Element of the list of ecp_node_collect(). */
typedef struct EcpNodeRef
{
	EcpChildData child;
	int			level;
} EcpNodeRef;

/* All nodes of one level (or all levels, -1), parents before children. */
extern List *ecp_node_collect(Relation index, const EcpIndexState *state,
							  int level);

/* A cluster or an insert buffer, as its parent refers to it. */
typedef struct EcpLeafRef
{
	EcpChildData child;
	bool		is_buffer;
} EcpLeafRef;

/* All leaves of a version in the order of the tree, and its nodes. */
typedef struct EcpLeaves
{
	int			n;
	EcpLeafRef *refs;
	int64		nnodes;
	int64		node_pages;
	int64		dead_leaders;	/* slots of leaders that were replaced */
} EcpLeaves;

/* Find all clusters and insert buffers of a version, and count its nodes. */
extern void ecp_leaves_collect(Relation index, const EcpIndexState *state,
							   EcpLeaves *leaves);

/*
 * ecp_cluster.c: clusters: their runs, their size, copies of their rows; the retired
 * queue.
 */

/* Where a walk along the retired queue is. */
typedef struct EcpRetiredWalk
{
	BlockNumber next;
	uint32		version;		/* of the one before */
	uint64		npages;			/* of those so far, but for further runs */
} EcpRetiredWalk;

/* Rows of a leaf copied from its pages, and which slots they came from. */
typedef struct EcpRowSet
{
	int			nrows;
	int			max;
	ItemPointerData *tids;
	char	   *vectors;		/* rows, stride bytes each; see ecp_page.h */
	Size		stride;
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
	uint32		nrows_had;		/* at least, at some time */
	uint32		nlive;			/* only if counted */
	bool		has_holes;		/* VACUUM may have freed many slots */
} EcpClusterSize;

extern int	ecp_cluster_runs(Relation index, const EcpIndexState *state,
							 int level, BlockNumber blk, uint64 run,
							 Buffer held, EcpRun **runs);
extern void ecp_cluster_size(Relation index, const EcpIndexState *state,
							 const EcpChildData *child, bool count_live,
							 EcpClusterSize *size);
extern void ecp_cluster_retired_read(Relation index, const EcpIndexState *state,
									 BlockNumber blk, EcpRun *out);
extern void ecp_cluster_retired_begin(const EcpIndexState *state,
									  EcpRetiredWalk *walk);
extern bool ecp_cluster_retired_next(Relation index, const EcpIndexState *state,
									 EcpRetiredWalk *walk, EcpRun *head);
extern void ecp_cluster_written_read(Relation index, const EcpIndexState *state,
									 BlockNumber blk, EcpRun *out);
extern void ecp_cluster_rows_init(EcpRowSet *rows, const EcpIndexState *state);
extern void ecp_cluster_rows_read(Relation index, const EcpIndexState *state,
								  BlockNumber blk, uint64 run, Buffer held,
								  EcpRowSet *rows);

/*
 * ecp_insbuf_map.c: which insert buffer of a node takes the rows of which cluster.
 */

/*
 * Which buffer of a node takes the rows of which cluster (ecp_insbuf.c): that
 * with the nearest leader.  A buffer without clusters follows another one.
 */
typedef struct EcpInsbufMap
{
	int32	   *buffer_of;		/* each child */
	int32	   *nmembers;		/* children of each buffer */
	int32	   *next;			/* of each buffer, one that follows it, or -1 */
	int32	   *keeper;			/* of a buffer without clusters: the nearest */
} EcpInsbufMap;

extern void ecp_insbuf_map(const EcpMetaPageData *meta, const char *leaders,
						   Size stride, int nchildren, int nbuffers,
						   EcpInsbufMap *map);

/* ecp_xlog.c: changes of pages: each function is one kind of WAL record */

extern void ecp_xlog_set_freed(GenericXLogState *xlog, Buffer page0);
extern bool ecp_xlog_learn(Relation index, EcpIndexState *state,
						   uint32 nslots);
extern bool ecp_xlog_put(Relation index, const EcpIndexState *state,
						 int level, Buffer page0, const EcpSlotItem *item,
						 uint32 stop_slot, uint32 *filled);
extern Buffer ecp_xlog_vector_page(Relation index, GenericXLogState *xlog,
								   const EcpGeometry *geo, Buffer page0,
								   uint32 pageno, uint32 offset,
								   const char *data, uint32 bytes);
extern void ecp_xlog_summary_put(Relation index, const EcpIndexState *state,
								 Buffer head, uint32 slot, const char *summary);
extern void ecp_xlog_summary_add(Relation index, const EcpIndexState *state,
								 Buffer head, uint32 slot, const char *summary);
extern void ecp_xlog_run_add(Relation index, const EcpIndexState *state,
							 Buffer last, uint32 nslots);
extern void ecp_xlog_kill(Relation index, Buffer buffer,
						  const EcpGeometry *geo, const uint64 *keep);
extern void ecp_xlog_hint(Relation index, Buffer page0, uint32 free_hint);
extern void ecp_xlog_run_append(Relation index, Buffer last, BlockNumber blk,
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
extern void ecp_xlog_run_undo(Relation index, const EcpRun *run,
							  EcpIntentData *intent);
extern void ecp_xlog_undo_page(Relation index, const EcpIndexState *state,
							   Buffer head, uint32 pageno);
extern void ecp_xlog_undo_begin(Relation index);
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
extern void ecp_xlog_run_free(Relation index, const EcpRun *run,
							  const EcpRun *predecessor);

#endif							/* ECP_RUN_H */
