/*-------------------------------------------------------------------------
 *
 * betree_build_sort.h
 *	  The rows of a table in index order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BUILD_SORT_H
#define BETREE_BUILD_SORT_H

#include "access/itup.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

struct BetreeRel;
struct BetreeBuildTeam;
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

#endif							/* BETREE_BUILD_SORT_H */
