/*-------------------------------------------------------------------------
 *
 * betree_build.c
 *	  CREATE INDEX: leaves out of sorted input.
 *
 * The heap's rows go through a tuplesort of (attributes, TID) and come back
 * in index order (betree_build_sort.c).  Leaves are packed to the fill factor,
 * rows with the same key as postings, and written with the nodes above
 * (betree_build_tree.c): in a parallel build by a worker, which takes half of the
 * work that follows the sort from the backend.
 *
 * Rows with equal keys come one after the other, so a unique index sees
 * duplicates then; rows that are dead, but not to everyone, may be among them
 * and do not count, so the sort takes along which are alive.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "base/compat.h"
#include "base/stop_point.h"
#include "betree/create/betree_build.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* Tuples after which progress is told */
#define PROGRESS_TUPLES		1024

typedef struct BuildState
{
	BetreeRel	bt;
	BetreeBuildSort sort;

	/* of a unique index */
	IndexTuple	last_alive;		/* last tuple of a row that is alive, or NULL */
	char		last_space[BetreeMaxItemSize];

	/* the leaf being filled */
	IndexTuple	last_item;		/* NULL: it is empty */
	int			nitems;
	int			space;
	int			used;
	char	   *leaf;			/* items one after the other, of BLCKSZ bytes */
	BetreePosting posting;		/* the last rows, not in the leaf yet; its
								 * key: */
	IndexTuple	posting_key;	/* NULL if there are none */
	char		posting_space[BetreeMaxItemSize];

	BetreeBuildTree *tree;		/* NULL: another process writes it */
} BuildState;

PGDLLEXPORT void betree_build_load_task(EcpTeam *team, const void *args,
										char **memories);

/*
 * Complain if the next tuple in order, which is in the slot, has the key of the
 * last one whose row is alive, and its own is alive, too.
 */
static void
check_duplicate(BuildState *state, IndexTuple itup)
{
	BetreeRel  *bt = &state->bt;
	TupleTableSlot *slot = state->sort.slot;

	slot_getallattrs(slot);
	if (!DatumGetBool(slot->tts_values[bt->natts + 1]) ||
		betree_unique_is_exempt(bt, slot->tts_isnull))
		return;
	if (state->last_alive != NULL &&
		betree_key_equal_tuples(bt, state->last_alive, itup))
	{
		char	   *description =
			BuildIndexValueDescription(bt->rel, slot->tts_values,
									   slot->tts_isnull);

		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("could not create unique index \"%s\"",
						RelationGetRelationName(bt->rel)),
				 description ? errdetail("Key %s is duplicated.", description) :
				 errdetail("Duplicate keys exist."),
				 errtableconstraint(state->sort.heap,
									RelationGetRelationName(bt->rel))));
	}
	state->last_alive = (IndexTuple) state->last_space;
	memcpy(state->last_alive, itup, IndexTupleSize(itup));
}

/* The leaf is full, or the last one; "high" is its upper bound */
static void
pass_leaf(BuildState *state, IndexTuple high)
{
	if (state->tree)
		betree_build_tree_add_leaf(state->tree, high, state->leaf, state->used);
	else
		betree_build_sort_send(state->sort.team, high, state->leaf, state->used);
	state->last_item = NULL;
	state->nitems = 0;
	state->space = 0;
	state->used = 0;
}

/* Add the next item in order to the leaf being filled; it is copied */
static void
add_item(BuildState *state, IndexTuple itup)
{
	int			limit = BetreePageCapacity * state->bt.fillfactor / 100;

	if (state->nitems > 0 &&
		(state->space + BetreeTupleSpace(itup) > limit ||
		 state->nitems >= BETREE_LEAF_MAX_ITEMS))
	{
		IndexTuple	separator;

		separator = betree_form_separator(&state->bt, state->last_item, itup);
		pass_leaf(state, separator);
		pfree(separator);
	}
	Assert(state->used + MAXALIGN(IndexTupleSize(itup)) <= BLCKSZ);
	state->last_item = (IndexTuple) (state->leaf + state->used);
	memcpy(state->last_item, itup, IndexTupleSize(itup));
	state->nitems++;
	state->used += MAXALIGN(IndexTupleSize(itup));
	state->space += BetreeTupleSpace(itup);
}

/* Add the rows to the leaf that have been kept because more might follow */
static void
add_posting(BuildState *state)
{
	if (state->posting_key == NULL)
		return;
	if (state->posting.nrows > 1)
	{
		IndexTuple	itup = betree_posting_form(&state->posting);

		add_item(state, itup);
		pfree(itup);
	}
	else
		add_item(state, state->posting_key);
	state->posting_key = NULL;
}

/*
 * Have two tuples that have just been formed the same key, bit for bit?  Mostly
 * not: the first word tells.
 */
static inline bool
same_words(IndexTuple a, IndexTuple b)
{
	const uint64 *x = (const uint64 *) a;
	const uint64 *y = (const uint64 *) b;
	int			nwords = (int) (IndexTupleSize(a) / sizeof(uint64));

	if (a->t_info != b->t_info)
		return false;
	for (int i = 1; i < nwords; i++)
	{
		if (x[i] != y[i])
			return false;
	}
	return true;
}

/* Add the next tuple in order */
static void
add_tuple(BuildState *state, IndexTuple itup)
{
	IndexTuple	key = state->posting_key;

	if (!state->bt.deduplicate)
	{
		add_item(state, itup);
		return;
	}
	Assert(IndexTupleSize(itup) == MAXALIGN(IndexTupleSize(itup)));
	if (key != NULL && same_words(key, itup))
	{
		/* there is nothing to prepare for a key that comes once */
		if (state->posting.nrows == 0)
			betree_posting_begin(&state->posting, key);
		if (betree_posting_add_row(&state->posting, &itup->t_tid))
			return;
	}
	add_posting(state);
	state->posting_key = (IndexTuple) state->posting_space;
	memcpy(state->posting_key, itup, IndexTupleSize(itup));
	state->posting.nrows = 0;
}

/* ambuildphasename */
char *
betreebuildphasename(int64 phasenum)
{
	switch (phasenum)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case BETREE_PROGRESS_SCAN:
			return "scanning table";
		case BETREE_PROGRESS_SORT:
			return "sorting tuples";
		case BETREE_PROGRESS_LOAD:
			return "loading tuples in tree";
		default:
			return NULL;
	}
}

/* Tell how many tuples are in the tree */
static void
report_loaded(int64 ntuples)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, ntuples);
	ECP_STOP_POINT("build-loaded");
}

/* Leaves, out of the sorted tuples */
static void
pack_leaves(BuildState *state)
{
	BetreeBuildSort *sort = &state->sort;
	int64		ntuples = 0;
	IndexTuple	itup;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, BETREE_PROGRESS_LOAD);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL,
								 (int64) sort->index_tuples);
	while ((itup = betree_build_sort_next(sort)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (sort->unique)
		{
			MemoryContext oldcontext = MemoryContextSwitchTo(sort->row_context);

			check_duplicate(state, itup);
			MemoryContextSwitchTo(oldcontext);
		}
		add_tuple(state, itup);
		if (++ntuples % PROGRESS_TUPLES == 0)
			report_loaded(ntuples);
	}
	add_posting(state);
	pass_leaf(state, betree_node_infinite_pivot(true));
	report_loaded(ntuples);
}

/* A worker: write the leaves that the backend packs, and the nodes above */
static void
write_leaves(BetreeBuildTeam *team, int built_width)
{
	BetreeRel	bt;
	BetreeBuildTree *tree;
	IndexTuple	high;
	char	   *items;
	Size		bytes;

	betree_rel_open(&bt, team->index.index);
	tree = betree_build_tree_begin(&bt, MAIN_FORKNUM, built_width);
	do
	{
		betree_build_sort_receive(team, &high, &items, &bytes);
		betree_build_tree_add_leaf(tree, high, items, bytes);
	} while (BetreePivotGetNatts(high) != BETREE_NATTS_PLUSINF);
	betree_build_tree_end(tree);
}

/*
 * betree_build_load_task
 *		A process's part in making the tree; the argument is the mean size of a
 *		tuple.
 */
void
betree_build_load_task(EcpTeam *team, const void *args, char **memories)
{
	BetreeBuildTeam *build_team = (BetreeBuildTeam *) team;

	if (!IsParallelWorker())
		pack_leaves((BuildState *) build_team->load);
	else if (betree_build_sort_writes())
		write_leaves(build_team, *(const int *) args);
	else
		team->leave = true;
}

/* The tree, out of the sorted tuples */
static void
load_tree(BuildState *state)
{
	BetreeBuildSort *sort = &state->sort;
	BetreeBuildTeam *team = sort->team;
	int			built_width = 0;

	if (sort->index_tuples > 0)
		built_width = (int) (sort->index_bytes / sort->index_tuples);
	state->leaf = palloc(BLCKSZ);
	if (team)
	{
		team->load = state;
		ecp_team_run(&team->index.team, EcpTaskOf(betree_build_load_task),
					 &built_width, sizeof(built_width), 0, 1, NULL, 0);
	}
	else
	{
		state->tree = betree_build_tree_begin(&state->bt, MAIN_FORKNUM, built_width);
		pack_leaves(state);
		betree_build_tree_end(state->tree);
	}
}

/* ambuild */
IndexBuildResult *
betreebuild(Relation heap, Relation index, IndexInfo *indexInfo)
{
	BuildState	state = {0};
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));

	betree_held_forget(RelationGetRelid(index));
	betree_rel_open(&state.bt, index);
	betree_build_sort_begin(&state.sort, &state.bt, heap, indexInfo);
	load_tree(&state);
	betree_build_sort_end(&state.sort);

	result->heap_tuples = state.sort.heap_tuples;
	result->index_tuples = state.sort.index_tuples;
	if (ECP_SERVER_MAJOR < 18 && indexInfo->ii_Unique &&
		!ReindexIsProcessingIndex(RelationGetRelid(index)))
		ereport(NOTICE,
				(errmsg("unique index \"%s\" makes INSERT ... ON CONFLICT into its table fail before PostgreSQL 18",
						RelationGetRelationName(index)),
				 errhint("Where that is needed use a unique btree, MERGE, or for DO NOTHING an exclusion constraint USING betree.")));
	return result;
}

/* ambuildempty: an empty tree in the init fork of an unlogged index */
void
betreebuildempty(Relation index)
{
	BetreeRel	bt;
	BetreeBuildTree *tree;

	betree_rel_open(&bt, index);
	tree = betree_build_tree_begin(&bt, INIT_FORKNUM, 0);
	betree_build_tree_add_leaf(tree, betree_node_infinite_pivot(true), NULL, 0);
	betree_build_tree_end(tree);
}
