/*-------------------------------------------------------------------------
 *
 * betree_build.h
 *	  Building an index: rows in order, processes, pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BUILD_H
#define BETREE_BUILD_H

#include "access/genam.h"
#include "access/itup.h"
#include "base/team.h"
#include "common/relpath.h"
#include "nodes/execnodes.h"
#include "storage/shm_mq.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

extern IndexBuildResult *betreebuild(Relation heap, Relation index,
									 IndexInfo *indexInfo);
extern void betreebuildempty(Relation index);
extern char *betreebuildphasename(int64 phasenum);

/* betree_build_sort.c: the processes that build an index */

/* One process's view */
typedef struct BetreeBuildTeam
{
	EcpIndexTeam index;			/* must be first */
	shm_mq_handle *leaves;		/* their way to the process that writes */
	void	   *load;			/* the backend only: the task's state */
} BetreeBuildTeam;

/* Is this the process that writes? */
extern bool betree_build_sort_writes(void);

/*
 * The backend sends the leaves in order, the last one with an infinite upper
 * bound; the process that writes receives them.  What is received is valid until
 * the next.
 */
extern void betree_build_sort_send(BetreeBuildTeam *team, IndexTuple high,
								   char *items, Size bytes);
extern void betree_build_sort_receive(BetreeBuildTeam *team, IndexTuple *high,
									  char **items, Size *bytes);

/* The same: the rows of a table in index order */

struct BetreeRel;
struct Tuplesortstate;

/* Subphases of CREATE INDEX, after PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE */
#define BETREE_PROGRESS_SCAN	2
#define BETREE_PROGRESS_SORT	3
#define BETREE_PROGRESS_LOAD	4

typedef struct BetreeBuildSort
{
	struct BetreeRel *bt;
	Relation	heap;
	struct Tuplesortstate *state;
	TupleTableSlot *slot;		/* attributes, TID, in a unique index "alive" */
	MemoryContext row_context;	/* reset for each row */
	struct BetreeBuildTeam *team;	/* the backend only, or NULL */
	bool		unique;
	IndexTuple	fixed;			/* room for a tuple, if all values are of
								 * fixed length, or NULL */
	double		heap_tuples;
	double		index_tuples;
	double		index_bytes;
} BetreeBuildSort;

/* Read the table and sort its rows; "sort" is all zeros */
extern void betree_build_sort_begin(BetreeBuildSort *sort, struct BetreeRel *bt,
									Relation heap, IndexInfo *info);

/* The next index tuple, valid until the next call, or NULL */
extern IndexTuple betree_build_sort_next(BetreeBuildSort *sort);
extern void betree_build_sort_end(BetreeBuildSort *sort);

/* betree_build_tree.c: the pages of a tree that is built */

struct BetreeRel;

typedef struct BetreeBuildTree BetreeBuildTree;

/* "built_width" is the mean size of a tuple, or 0 if there are none */
extern BetreeBuildTree *betree_build_tree_begin(struct BetreeRel *bt,
												ForkNumber fork, int built_width);
extern void betree_build_tree_add_leaf(BetreeBuildTree *tree, IndexTuple high,
									   char *items, Size bytes);
extern void betree_build_tree_end(BetreeBuildTree *tree);

#endif							/* BETREE_BUILD_H */
