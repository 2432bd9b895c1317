/*-------------------------------------------------------------------------
 *
 * ecp_build.h
 *	  What the files of the index build share.
 *
 *	 ecp_sample.c -> ecp_leaders.c -> ecp_assign.c -> a policy -> ecp_merge.c
 *
 * ecp_build.c drives them.  The leaders are frozen before the first row is
 * assigned, and a policy neither knows nor cares who fills the in-buff.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BUILD_H
#define ECP_BUILD_H

#include "access/genam.h"
#include "base/page_writer.h"
#include "common/pg_prng.h"
#include "ecp/build/ecp_policy.h"
#include "ecp/cluster/ecp_byte_copy.h"
#include "ecp/cluster/ecp_leader_lists.h"
#include "ecp/cluster/ecp_team.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "nodes/execnodes.h"
#include "portability/instr_time.h"
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

/* Nodes that a row's descent looks into at each level. */
#define ECP_ASSIGN_BEAM		8

/* Values of the progress view's phase; 1 is core's "initializing". */
#define ECP_PROGRESS_SAMPLE		2
#define ECP_PROGRESS_LEADERS	3
#define ECP_PROGRESS_ASSIGN		4
#define ECP_PROGRESS_MERGE		5
#define ECP_PROGRESS_NODES		6
#define ECP_PROGRESS_RECALL		7

/* Rows that leaders are learnt from, in the form that leaders have. */
typedef struct EcpSample
{
	int			n;
	int			max;
	Size		stride;
	char	   *rows;			/* in memory */
	EcpMemory	memory;
	double		table_rows;		/* rows to be indexed, an estimate */
} EcpSample;

/*
 * The frozen leaders.  Level 0 are those of the clusters, level l > 0 those
 * of the nodes of level l; the root is a node of level nlevels and not in
 * here.  Entries are in tree order: the children of entry i of level l are
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

/* Rows that are being assigned to leaders, as one process sees them. */
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
	int32	   *left;			/* rows that wait for the end of the scan */
} EcpInBuff;

/*
 * A row in an intermediate file: its leader, its TID and its exact vector,
 * without padding.
 */
#define ECP_RECORD_HEADER	(sizeof(int32) + sizeof(ItemPointerData))

static inline void
ecp_record_form(const EcpInBuff *inbuff, int32 row, char *record)
{
	memcpy(record, &inbuff->leaders[row], sizeof(int32));
	memcpy(record + sizeof(int32), &inbuff->tids[row], sizeof(ItemPointerData));
	memcpy(record + ECP_RECORD_HEADER,
		   inbuff->vectors + (Size) row * inbuff->vec_bytes, inbuff->vec_bytes);
}

static inline void
ecp_record_read(const char *record, Size vec_bytes, ItemPointer tid,
				char *vector)
{
	memcpy(tid, record + sizeof(int32), sizeof(ItemPointerData));
	memcpy(vector, record + ECP_RECORD_HEADER, vec_bytes);
}

/* Leaders (or node centres) that are to become slots of a level's nodes. */
typedef struct EcpEntryList
{
	bool		fixed;			/* the arrays have a memory of their own */
	EcpMemory	memory;
	int			n;
	int			max;
	EcpChildData *children;
	int32	   *parents;		/* entry of the next level they are under */
	char	   *vectors;
	Size		vec_bytes;
} EcpEntryList;

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
	uint64		asked;			/* how many of them were asked for */
	uint64		next;			/* of those that nobody else reads */
	uint64		end;
	uint64		total;			/* of all in-buffs so far */
} EcpReadahead;

typedef struct EcpBuild
{
	Relation	heap;
	Relation	index;
	IndexInfo  *indexInfo;
	EcpOptions	options;
	EcpIndexState state;		/* the metapage to be, and geometry */
	pg_prng_state prng;
	MemoryContext ctx;			/* lives as long as the build */
	MemoryContext rowctx;		/* one row of the heap scan */
	Size		budget;			/* bytes of maintenance_work_mem */
	Size		in_buff;		/* what ecp.in_buff stands for */
	Size		vec_bytes;		/* of a row: exact vector, key attributes */
	Size		prep_bytes;		/* of a prepared vector */
	bool		prep_same;		/* they are the same bytes */
	EcpAttrDesc attrs;			/* of the columns besides the vector */
	void	   *prepared;		/* the current row */

	/* the processes; workers have a struct of their own */
	int			workers;		/* that we would like */
	EcpTeam    *team;			/* NULL: none */
	double		workers_cpu_s;	/* of a team that has ended */
	int			participant;	/* 0 = the backend */
	int			nparticipants;

	double		table_rows;		/* an estimate, from the sample */
	EcpLeaderTree *tree;		/* NULL: one leaf holds everything */
	EcpMemory	tree_memory;	/* the tree, when there is a team */
	EcpMemory	inbuff_memory;	/* in-buffs of all participants */
	EcpMemory	counts_memory;
	int			inbuff_max;		/* rows of each of them */
	uint64	   *part_counts;	/* rows of each leader, for each participant */
	uint64	   *counts;			/* of all, behind them, after the scan */
	double		index_tuples;
	EcpInBuff  *inbuff;			/* ours; NULL while no leaders are known */
	bool		kept;			/* all rows stayed in the in-buffs */
	int			readers;		/* processes that read what policies kept */
	uint32		rounds;
	EcpReadahead ahead;
	const EcpPolicyRoutine *policy;
	void	   *policy_state;
	EcpFiles   *files;

	/* the clock of the report */
	int			phase;			/* EcpBuildPhase, or -1 */
	instr_time	phase_start;
	double		phase_cpu_start;
	EcpFilesCount phase_count_start;
} EcpBuild;

/* ---- ecp_build.c ---- */

extern IndexBuildResult *ecpbuild(Relation heap, Relation index,
								  IndexInfo *indexInfo);
extern void ecpbuildempty(Relation index);
extern char *ecpbuildphasename(int64 phasenum);

extern void ecp_build_phase(EcpBuild *build, int phase, int progress);

/*
 * Take the vector out of a heap row's value, and its prepared form to
 * build->prepared.  Returns false when the row is not indexed.  The first
 * row tells the dimensions, unless the index was told; all others must have
 * as many.  What is allocated goes with the current memory context.
 */
extern bool ecp_build_row(EcpBuild *build, Datum value, EcpVector *vector);

/* The scan of the table, by a process of the team. */
extern PGDLLEXPORT void ecp_build_scan_task(EcpTeam *team, const void *args,
											char **memories);

/* ---- ecp_sample.c ---- */

extern EcpSample *ecp_sample_take(EcpBuild *build);

/* ---- ecp_leaders.c ---- */

extern double ecp_leaders_sample_rows(const EcpBuild *build, double rows);

/* Leaders for so many rows, within memory. */
extern double ecp_leaders_wanted(const EcpBuild *build, double rows);
extern EcpLeaderTree *ecp_leaders_choose(EcpBuild *build, EcpSample *sample);

/* The tree of one leader, for a table in which no row was sampled. */
extern EcpLeaderTree *ecp_leaders_single(EcpBuild *build, const void *leader);

extern PGDLLEXPORT void ecp_leaders_groups_task(EcpTeam *team, const void *args,
												char **memories);

/* Entry i of a level, as prepared vectors are. */
extern void ecp_tree_get(const EcpLeaderTree *tree, int level, int i,
						 void *vector);

/* Make the lists of the leaders of build->tree, if it is of use and fits. */
extern void ecp_tree_leader_lists(EcpBuild *build);

/* Move a tree to shared memory, and find it there. */
extern void ecp_tree_share(EcpBuild *build);
extern EcpLeaderTree *ecp_tree_attach(char *memory);

/* ---- ecp_assign.c ---- */

/* Rows that each participant's in-buff holds. */
extern int	ecp_inbuff_rows(const EcpBuild *build);
extern Size ecp_inbuff_row_bytes(const EcpBuild *build);

/* Bytes of a participant's in-buff, and that in-buff within the memory. */
extern Size ecp_inbuff_bytes(const EcpBuild *build);
extern void ecp_inbuff_map(const EcpBuild *build, int participant,
						   char *memory, EcpInBuff *inbuff);

/*
 * Leaders for all rows of the in-buff; fills leaders, order and first, and
 * counts them.
 */
extern void ecp_inbuff_assign(EcpBuild *build, EcpInBuff *inbuff);

/* ---- ecp_readahead.c ---- */

/*
 * Begin to read what the next in-buff will hold.  The scan has come to the
 * row at "tid"; "value" is its vector.
 */
extern void ecp_readahead_begin(EcpBuild *build, ItemPointer tid, Datum value);

/* While it is assigned: "done" of the in-buff's rows are. */
extern void ecp_readahead_step(EcpBuild *build, int done);
extern void ecp_readahead_end(EcpBuild *build);

/* Rows to assign between two steps. */
extern int	ecp_readahead_rows(const EcpBuild *build, int most);

/* ---- ecp_layout.c ---- */

/* What comes next. */
typedef struct EcpLayout
{
	BlockNumber blk;			/* first that is not given */
	uint64		run;
} EcpLayout;

/* Slots of a run for n vectors: all that its pages hold, spare included. */
extern uint32 ecp_layout_slots(const EcpGeometry *geo, int level, int n,
							   uint32 *entry_pages, uint32 *npages);

/*
 * Pass over a run of npages, whose first block is returned: within one map
 * page and around none.
 */
extern BlockNumber ecp_layout_run(const EcpBuild *build, EcpLayout *at,
								  uint32 npages);

/*
 * Pass over all runs of a cluster.  Its rows are treated in pieces of at
 * most ecp_layout_piece(), the last of which is smaller, and each is halved
 * until there are no more than ecpm_leaf_max together; of an odd number the
 * second half gets more.
 */
extern void ecp_layout_cluster(const EcpBuild *build, EcpLayout *at,
							   uint64 rows);
extern int	ecp_layout_piece(const EcpBuild *build);

/* ---- ecp_merge.c ---- */

/* Write a part of the leaves, in each process of the team. */
extern PGDLLEXPORT void ecp_merge_task(EcpTeam *team, const void *args,
									   char **memories);

/* Write all pages of the index from what the policy kept. */
extern void ecp_merge(EcpBuild *build);

/* ---- ecp_recall_curve.c ---- */

/* Measure recall, and fill in the metapage's curve. */
extern void ecp_recall_curve_build(EcpBuild *build, double seconds);
extern PGDLLEXPORT void ecp_recall_curve_task(EcpTeam *team, const void *args,
											  char **memories);

#endif							/* ECP_BUILD_H */
