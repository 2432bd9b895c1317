/*-------------------------------------------------------------------------
 *
 * ecp_build.h
 *	  What the files of the index build share.
 *
 *	 ecp_sample.c -> ecp_leaders.c -> ecp_assign.c -> a policy -> ecp_merge.c
 *
 * ecp_build.c drives them.  The leaders are frozen before the first row is
 * assigned, and a policy does not depend on what fills the in-buff.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BUILD_H
#define ECP_BUILD_H

#include "access/detoast.h"
#include "access/genam.h"
#include "base/compat.h"
#include "base/page_writer.h"
#include "base/team.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/define/ecp_define.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "nodes/execnodes.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * How a build divides maintenance_work_mem: the sample is gone before the
 * in-buff comes, the in-buff's memory is the merge's read buffers later.
 */
#define ECP_SHARE_SAMPLE	0.5 /* sampled rows */
#define ECP_SHARE_LEADERS	0.25	/* leaders, once in panels */
#define ECP_SHARE_GUIDE		0.2 /* lists of leaders, while rows are assigned */
#define ECP_SHARE_IN_BUFF	0.4 /* in-buff, then buffers of the merge */
#define ECP_SHARE_CLUSTER	0.03	/* rows of a cluster that is merged */

/* Nodes that a row's descent looks into at each level, at most. */
#define ECP_ASSIGN_BEAM		8

/* Values of the progress view's phase; 1 is core's "initializing". */
#define ECP_PROGRESS_SAMPLE		2
#define ECP_PROGRESS_LEADERS	3
#define ECP_PROGRESS_ASSIGN		4
#define ECP_PROGRESS_MERGE		5
#define ECP_PROGRESS_NODES		6
#define ECP_PROGRESS_RECALL		7

/* Of a row of the sample: was it read? */
typedef enum EcpSampleRead
{
	ECP_SAMPLE_READ,
	ECP_SAMPLE_LATE,			/* no: it is out of line */
	ECP_SAMPLE_NONE				/* it is not to be indexed */
} EcpSampleRead;

typedef struct EcpSampleLate
{
	int32		slot;			/* its place in the sample */
	ItemPointerData tid;
	uint8		state;			/* EcpSampleRead */
	char		pointer[TOAST_POINTER_SIZE];
} EcpSampleLate;

/* Rows from which leaders are learnt, prepared as leaders are. */
typedef struct EcpSample
{
	int			n;
	int			max;
	Size		stride;
	char	   *rows;			/* in memory */
	EcpMemory	memory;
	EcpMemory	late;			/* EcpSampleLate of each; none if all were
								 * read */
	double		table_rows;		/* rows to be indexed, an estimate */
} EcpSample;

/*
 * The frozen leaders.  Level 0 has those of the clusters, level l > 0 those
 * of the nodes of level l; the root is a node of level nlevels and not
 * included.  Entries are in tree order: the children of entry i of level l are
 * the entries first[l][i] .. first[l][i + 1] - 1 of level l - 1.  Rows are
 * compared with them as prepared, or as bytes made of that.
 */
typedef struct EcpLeaderTree
{
	EcpElem		elem;
	int			dims;
	Size		vec_bytes;
	EcpByteScale *scale;		/* NULL: prepared vectors */
	int			nlevels;
	int			n[ECP_LEVELS_MAX];
	EcpPanel   *panel[ECP_LEVELS_MAX];
	int32	   *first[ECP_LEVELS_MAX];	/* first[0] is not used */
	EcpLeaderLists *lists;		/* to the leaders of level 0, or NULL */
	MemoryContext ctx;
} EcpLeaderTree;

/*
 * An in-buff, mapped in the memory of all in-buffs, of which each process has
 * one.  Any process can open it, and read the assigned rows that were left in
 * it.
 */
typedef struct EcpInBuff
{
	int			max;			/* rows that it holds */
	int			n;
	Size		vec_bytes;
	char	   *vectors;		/* rows, see ecp_page.h */
	ItemPointerData *tids;
	int32	   *leaders;		/* after assignment */
	int32	   *order;			/* row numbers by leader, then TID */
	int32	   *first;			/* where each leader's rows begin in order */
	int32	   *rows_left;		/* in the memory: rows left in it, else 0 */
} EcpInBuff;

/* For qsort_arg(): of two row numbers, that with the lower TID first. */
static inline int
ecp_tid_order_cmp(const void *a, const void *b, void *tids)
{
	return ItemPointerCompare((ItemPointer) tids + *(const int32 *) a,
							  (ItemPointer) tids + *(const int32 *) b);
}

/* Make the record of an assigned row. */
static inline void
ecp_record_write(const EcpInBuff *inbuff, int32 row, char *record)
{
	memcpy(record, &inbuff->leaders[row], sizeof(int32));
	memcpy(record + sizeof(int32), &inbuff->tids[row], sizeof(ItemPointerData));
	memcpy(record + ECP_RECORD_HEADER,
		   inbuff->vectors + (Size) row * inbuff->vec_bytes, inbuff->vec_bytes);
}

/*
 * Where a process reads ahead while it assigns an in-buff (ecp_readahead.c).
 * Positions are those of the larger of two relations, the table and what it
 * has out of line.
 */
typedef struct EcpReadahead
{
	BlockNumber heap_blocks;
	BlockNumber toast_blocks;
	char	   *heap_path;
	char	   *toast_path;		/* NULL: vectors are in the table */
	double		scale;			/* positions to a block of the table */
	int			piece;			/* to ask for at a time; 0: none */
	uint64		window;			/* positions that the next in-buff takes */
	uint64		asked;			/* positions of it asked for */
	uint64		next;			/* of those that no other process reads */
	uint64		end;
	uint64		total;			/* of all in-buffs so far */
} EcpReadahead;

/*
 * What is decided before the table is scanned; by ecp_build.c.  Workers have a
 * copy.
 */
typedef struct EcpBuildPlan
{
	Size		in_buff;		/* bytes that ecp.in_buff stands for */
	double		read_blocks;	/* of the table, and out of line */
	int			nworkers;		/* to ask for */
	int			nparticipants;	/* the backend and the workers there are */
	double		table_rows;		/* an estimate, from the sample */
	EcpBuildPolicy policy;
} EcpBuildPlan;

/*
 * What the scan of the table leaves behind; by ecp_assign.c.  Workers have a
 * copy, as of the start of a task.
 */
typedef struct EcpAssigned
{
	int			inbuff_max;		/* rows of each in-buff */
	bool		kept;			/* all rows stayed in the in-buffs */
	double		rows;
} EcpAssigned;

/*
 * What the assignment works on, in memories that workers attach; the tree has
 * one of its own only if there is a team.
 */
typedef struct EcpAssignMemory
{
	EcpMemory	tree;
	EcpMemory	inbuffs;		/* of all participants */
	EcpMemory	counts;			/* rows of each leader; see ecp_leader_rows() */
} EcpAssignMemory;

#define ECP_ASSIGN_MEMORIES	3

/* A build, as one process sees it. */
typedef struct EcpBuild
{
	/* from the start: see ecp_build_state_open() */
	Relation	heap;
	Relation	index;
	IndexInfo  *indexInfo;
	EcpOptions	options;
	EcpAttrDesc attrs;			/* of the columns besides the vector */
	Size		budget;			/* bytes of maintenance_work_mem */
	MemoryContext ctx;			/* lives as long as the build */
	MemoryContext rowctx;		/* one row of the heap scan */
	EcpFiles   *files;
	int			participant;	/* 0 = the backend */
	EcpTeam    *team;			/* NULL: none */

	EcpIndexState state;		/* the metapage to be, and geometry */
	void	   *prepared;		/* the current row, once dimensions are known */
	EcpBuildPlan plan;

	EcpLeaderTree *tree;		/* NULL: there are no rows */
	EcpAssignMemory memory;
	EcpAssigned assigned;
	void	   *policy_state;	/* of the plan's policy */
} EcpBuild;

/* Bytes of a row (exact vector, key attributes) and of a prepared vector. */
#define EcpBuildRowBytes(build)		((Size) (build)->state.leaf.row_bytes)
#define EcpBuildPrepBytes(build)	((Size) (build)->state.node.vec_bytes)

/* Are these the same bytes? */
static inline bool
ecp_build_prep_same(const EcpBuild *build)
{
	const EcpMetaPageData *meta = &build->state.meta;

	return meta->ecpm_leader_elem == meta->ecpm_elem &&
		meta->ecpm_metric != ECP_METRIC_COSINE && build->attrs.bytes == 0;
}

/* Is a row compared with leaders as it is stored? */
static inline bool
ecp_build_compared_same(const EcpBuild *build)
{
	return build->tree->scale == NULL && ecp_build_prep_same(build);
}

/* Rows of each leader: of all participants; and of one. */
static inline uint64 *
ecp_leader_rows(const EcpBuild *build)
{
	return (uint64 *) build->memory.counts.address;
}

static inline uint64 *
ecp_leader_rows_of(const EcpBuild *build, int participant)
{
	return ecp_leader_rows(build) +
		(Size) (participant + 1) * build->tree->n[0];
}

static inline const EcpPolicyRoutine *
ecp_policy_routine(EcpBuildPolicy policy)
{
	return policy == ECP_POLICY_TEMPFILES ?
		&ecp_policy_tempfiles : &ecp_policy_chunkfiles;
}

/* ---- ecp_build.c ---- */

extern IndexBuildResult *ecpbuild(Relation heap, Relation index,
								  IndexInfo *indexInfo);
extern void ecpbuildempty(Relation index);
extern char *ecpbuildphasename(int64 phasenum);

/* ---- ecp_build_state.c ---- */

/*
 * What a process knows of a build from the start.  In a worker, "files" are
 * those of the backend (ecp_files_attach()).
 */
extern void ecp_build_state_open(EcpBuild *build, Relation heap, Relation index,
								 IndexInfo *indexInfo, EcpFiles *files);

/*
 * Read a heap row's value as the index stores it, in the current memory context
 * if that is not as it is, and prepare it in build->prepared.  Returns false
 * when the row is not indexed.  The first row sets the dimensions, unless the
 * index has them; all others must have as many.  Allocates in the current
 * memory context.
 */
extern bool ecp_build_state_row(EcpBuild *build, const ItemPointerData *tid,
								Datum value, EcpVector *vector);

/*
 * Put a stored row to dst as it is compared with leaders, where that is not the
 * same.  There is space for a prepared vector.
 */
extern void ecp_build_state_compared(const EcpBuild *build, const char *row,
									 void *space, char *dst);

/*
 * Leaders for a number of rows, within memory, and rows to sample for them;
 * before the dimensions are known an upper bound.
 */
extern double ecp_build_state_leaders(const EcpBuild *build, double rows);
extern double ecp_build_state_sample_rows(const EcpBuild *build, double rows);

/* Rows that each participant's in-buff holds, and the bytes of one. */
extern int	ecp_build_state_inbuff_rows(const EcpBuild *build);
extern Size ecp_build_state_inbuff_row_bytes(const EcpBuild *build);

/* Bytes of the lists of n leaders of this kind; 0 if there are none. */
extern Size ecp_build_state_lists_bytes(const EcpBuild *build, EcpElem elem, int n);

/* Bytes of memory that a build for so many rows takes at most. */
extern double ecp_build_state_memory(const EcpBuild *build, double rows);

/* Rows between two reports of progress. */
#define ECP_PROGRESS_ROWS	4096

/* Show that a phase, or a part of one, begins, and how many rows it has to do. */
extern void ecp_build_state_total(double rows);

/*
 * Show progress: this process has done "more" rows since the last call, and
 * "rows" in all.
 */
extern void ecp_build_state_progress(const EcpBuild *build, uint64 more,
									 uint64 rows);

/* The same of queries of the recall curve, of which "done" were tried. */
extern void ecp_build_state_queries(void *arg, uint64 done);

/* ---- ecp_sample.c ---- */

extern EcpSample *ecp_sample_take(EcpBuild *build);

/* Read the rows that are out of line: the backend alone, or its team. */
extern void ecp_sample_fetch(EcpBuild *build, EcpSample *sample);
extern PGDLLEXPORT void ecp_sample_fetch_task(EcpTeam *team, const void *args,
											  char **memories);

/* ---- ecp_leaders.c ---- */

extern EcpLeaderTree *ecp_leaders_choose(EcpBuild *build, EcpSample *sample);

/* The elements of leaders while rows are assigned, unless they are too near. */
static inline EcpElem
ecp_build_compared_elem(const EcpBuild *build)
{
	const EcpMetaPageData *meta = &build->state.meta;

	return meta->ecpm_leader_elem == ECP_ELEM_FLOAT32 &&
		meta->ecpm_dims >= ECP_BYTE_COPY_DIMS_MIN ?
		ECP_ELEM_UINT8 : meta->ecpm_leader_elem;
}

/* Comparisons of vectors by which leaders for a table of "rows" are chosen. */
extern double ecp_leaders_compared(const EcpBuild *build, double rows);

/* The tree of one leader, for a table in which no row was sampled. */
extern EcpLeaderTree *ecp_leaders_single(EcpBuild *build, const void *leader);

extern PGDLLEXPORT void ecp_leaders_groups_task(EcpTeam *team, const void *args,
												char **memories);

/* The tree of a team in the memory where ecp_leaders_choose() left it. */
extern EcpLeaderTree *ecp_leaders_attach(char *memory);

extern void ecp_leader_beam_nearest(const EcpLeaderTree *tree, const char *rows,
									Size stride, int nrows, int32 *leaders);

/* ---- ecp_assign.c ---- */

/* What the report says of the scan. */
typedef struct EcpAssignReport
{
	double		heap_tuples;
	uint32		rounds;
	uint64		in_buff;		/* bytes of all in-buffs */
} EcpAssignReport;

/*
 * Scan the table, and give each row to its leader and to the policy: the
 * backend alone, or its team.
 */
extern void ecp_assign(EcpBuild *build, EcpAssignReport *report);

/* Leaders that a row is compared with, in a table of "rows". */
extern double ecp_assign_compared(const EcpBuild *build, double rows);
extern PGDLLEXPORT void ecp_assign_task(EcpTeam *team, const void *args,
										char **memories);

/*
 * The memories of a task that needs what was assigned: all of them, in the
 * backend; and their addresses, in a worker.
 */
extern void ecp_assign_memories(EcpBuild *build,
								EcpMemory *memories[ECP_ASSIGN_MEMORIES]);
extern void ecp_assign_attach(EcpBuild *build, char **memories);
extern void ecp_assign_free(EcpBuild *build);

/* Map the in-buff of a participant, with the rows that were left in it. */
extern void ecp_assign_inbuff_open(const EcpBuild *build, int participant,
								   EcpInBuff *inbuff);

/* ---- ecp_readahead.c ---- */

/*
 * Begin to read what the next in-buff will hold.  The scan is at the row
 * "tid", whose vector is "value".
 */
extern void ecp_readahead_begin(EcpReadahead *ahead, const EcpBuild *build,
								ItemPointer tid, Datum value);

/* While it is assigned, before the step that ends after "upto" rows. */
extern void ecp_readahead_step(EcpReadahead *ahead, const EcpBuild *build,
							   int upto);
extern void ecp_readahead_end(EcpReadahead *ahead);

/* Rows to assign between two steps. */
extern int	ecp_readahead_rows(const EcpReadahead *ahead,
							   const EcpBuild *build, int most);

/* ---- ecp_layout.c ---- */

/* Where the next run goes. */
typedef struct EcpLayout
{
	BlockNumber blk;			/* first that is free */
	uint64		run;
} EcpLayout;

/* Slots of a run for n vectors: all that its pages hold, spare included. */
extern uint32 ecp_layout_slots(const EcpGeometry *geo, int level, int n,
							   uint32 *entry_pages, uint32 *npages);

/*
 * Skip a run of npages; returns its first block.  No map page lies within
 * it, and one map page has all of its bits.
 */
extern BlockNumber ecp_layout_run(const EcpBuild *build, EcpLayout *at,
								  uint32 npages);

/*
 * Skip all runs of a cluster.  Its rows are divided into pieces of
 * ecp_layout_piece() rows, the last of which is smaller, and each piece is
 * halved until no part has more than ecpm_leaf_max; of an odd number the
 * second half gets more.
 */
extern void ecp_layout_cluster(const EcpBuild *build, EcpLayout *at,
							   uint64 rows);
extern int	ecp_layout_piece(const EcpBuild *build);

/* The page of the map that runs are noted on. */
typedef struct EcpLayoutMap
{
	EcpPageWriter *writer;
	uint32		mapno;
	Page		page;
} EcpLayoutMap;

/*
 * Write the map of the metapage, the map's own pages and the runs noted, which
 * come in ascending order.
 */
extern void ecp_layout_map_begin(EcpLayoutMap *map, EcpPageWriter *writer);
extern void ecp_layout_map_run(EcpLayoutMap *map, BlockNumber blk,
							   uint32 npages);
extern void ecp_layout_map_end(EcpLayoutMap *map);

/* ---- ecp_merge.c ---- */

/* Write a part of the leaves, in each process of the team. */
extern PGDLLEXPORT void ecp_merge_task(EcpTeam *team, const void *args,
									   char **memories);

/* Write all pages of the index from what the policy kept. */
extern void ecp_merge(EcpBuild *build);

#endif							/* ECP_BUILD_H */
