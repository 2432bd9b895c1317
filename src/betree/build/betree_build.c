/*-------------------------------------------------------------------------
 *
 * betree_build.c
 *	  CREATE INDEX: the tree from the bottom, out of sorted input.
 *
 * The heap's rows go through a tuplesort of (attributes, TID) and come back
 * in index order (betree_build_sort.c).  Leaves are packed to the fill factor and written one after
 * the other, rows with the same key as postings; each finished page hands a
 * pivot to the node being filled one level above.  The leaves of a node so lie
 * side by side in the file, followed by the node.  Logs start empty.
 *
 * Pages bypass shared buffers and are WAL-logged as they are written
 * (base/page_writer.c): one pass.  Metapage and root have fixed places and
 * come last.
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
#include "base/page_writer.h"
#include "base/stop_point.h"
#include "betree/build/betree_build.h"
#include "betree/build/betree_build_sort.h"
#include "betree/ingest/betree_unique.h"
#include "betree/log/betree_bloom_pages.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_form.h"
#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"
#include "betree/page/betree_node.h"
#include "betree/page/betree_page.h"
#include "betree/page/betree_posting.h"
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

/* A page being filled, one for each level; leaves at level 0 */
typedef struct BuildLevel
{
	IndexTuple	low;			/* lower bound of the page */
	IndexTuple *items;			/* pivots, or tuples of a leaf */
	int			nitems;
	int			max_items;
	int			space;
	char	   *data;			/* what the items point to */
	int			used;			/* of BLCKSZ bytes */
	MemoryContext context;		/* of what else belongs to the page */
} BuildLevel;

typedef struct BuildState
{
	BetreeRel	bt;
	BetreeBuildSort sort;

	/* of a unique index */
	IndexTuple	last_alive;		/* last tuple of a row that is alive, or NULL */
	char		last_space[BetreeMaxItemSize];

	/* writing */
	EcpPageWriter *writer;
	BlockNumber next_block;
	BuildLevel	level[BETREE_MAX_HEIGHT];
	int			height;			/* number of levels that have been started */
	BetreeBloomSlots blooms;	/* of leaves, for the node being filled */
	BetreePosting posting;		/* the last rows, not in the leaf yet; its
								 * key: */
	IndexTuple	posting_key;	/* NULL if there are none */
	char		posting_space[BetreeMaxItemSize];
} BuildState;

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

/* Begin to fill a page of a level whose lower bound is "low" */
static void
start_page(BuildState *state, int levelno, IndexTuple low)
{
	BuildLevel *level = &state->level[levelno];

	Assert(levelno >= 0 && levelno <= state->height);

	if (level->context == NULL)
		level->context = AllocSetContextCreate(CurrentMemoryContext,
											   "betree build level",
											   ALLOCSET_DEFAULT_SIZES);
	if (level->items == NULL)
	{
		level->max_items = MaxIndexTuplesPerPage;
		level->items = palloc(level->max_items * sizeof(IndexTuple));
		level->data = palloc(BLCKSZ);
	}
	MemoryContextReset(level->context);
	level->nitems = 0;
	level->space = 0;
	level->used = 0;
	level->low = MemoryContextAlloc(level->context, IndexTupleSize(low));
	memcpy(level->low, low, IndexTupleSize(low));
	state->height = Max(state->height, levelno + 1);
}

/* Add a tuple or pivot to the page of a level; it is copied */
static IndexTuple
level_add(BuildLevel *level, IndexTuple itup)
{
	IndexTuple	copy = (IndexTuple) (level->data + level->used);

	Assert(level->nitems < level->max_items);
	Assert(level->used + MAXALIGN(IndexTupleSize(itup)) <= BLCKSZ);

	memcpy(copy, itup, IndexTupleSize(itup));
	level->used += MAXALIGN(IndexTupleSize(itup));
	level->items[level->nitems++] = copy;
	level->space += BetreeTupleSpace(itup);
	return copy;
}

/*
 * Write the Bloom pages of a parent of leaves, if it shall have such, and
 * enter them into its directory.  They come behind the leaves, the last of which
 * may be the next node's.
 */
static void
write_bloom_pages(BuildState *state, Page node, BlockNumber owner)
{
	BetreeRel  *bt = &state->bt;
	int			nchildren = BetreeNodeNumChildren(node);
	int			npages = betree_bloom_pages_wanted(bt, nchildren);

	if (owner == InvalidBlockNumber)
		owner = state->next_block + npages;
	if (betree_bloom_pages_fit(bt, node, npages))
	{
		for (int i = 0; i < npages; i++)
		{
			Page		page = ecp_page_writer_get(state->writer);

			betree_bloom_pages_form(bt, page, &state->blooms, nchildren, i, npages, owner);
			betree_node_add_dir(node, state->next_block,
								BETREE_DIR_BLOOM_NUMBER(i), 0);
			ecp_page_writer_put(state->writer, state->next_block++, page);
		}
	}
	betree_bloom_pages_pass(&state->blooms, nchildren);
}

/*
 * Write the page of a level, with "hikey" if it is a node, to the block that
 * is returned: the next one, if "blkno" does not say which.
 */
static BlockNumber
write_page(BuildState *state, int levelno, BlockNumber blkno,
		   IndexTuple hikey)
{
	BuildLevel *level = &state->level[levelno];
	Page		page = ecp_page_writer_get(state->writer);

	if (levelno > 0)
		betree_node_form(page, levelno, betree_log_ncap(&state->bt, levelno),
						 hikey, level->items, level->nitems);
	else
	{
		betree_page_init(page, BETREE_LEAF, 0, 0);
		for (int i = 0; i < level->nitems; i++)
			betree_page_add(page, level->items[i]);
	}
	if (levelno == 1 && state->blooms.nslots > 0)
		write_bloom_pages(state, page, blkno);
	if (blkno == InvalidBlockNumber)
		blkno = state->next_block++;
	if (levelno == 0 && betree_bloom_pages_reserved(&state->bt) > 0)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(level->context);

		betree_bloom_pages_collect(&state->bt, &state->blooms, blkno, level->items,
								   level->nitems);
		MemoryContextSwitchTo(oldcontext);
	}
	ecp_page_writer_put(state->writer, blkno, page);
	return blkno;
}

/*
 * Finish the page of a level, whose upper bound is "high": write it, and tell
 * the level above.  The caller starts the next page, if there is one.
 */
static void
finish_page(BuildState *state, int levelno, IndexTuple high)
{
	BlockNumber blkno;
	BuildLevel *above;
	IndexTuple	pivot;
	int			special;
	int			space;
	int			limit;

	if (levelno + 1 >= BETREE_MAX_HEIGHT)
		elog(ERROR, "betree index \"%s\" is too high",
			 RelationGetRelationName(state->bt.rel));

	blkno = write_page(state, levelno, InvalidBlockNumber, high);
	pivot = state->level[levelno].low;
	BetreePivotSetChild(pivot, blkno);
	BetreePivotSetMarker(pivot, 0);

	above = &state->level[levelno + 1];
	if (state->height <= levelno + 1)
		start_page(state, levelno + 1, pivot);

	/* a node keeps room for the pivots of its children's splits */
	special = (int) BetreeNodeSpecialSize(betree_log_ncap(&state->bt,
														  levelno + 1));
	space = BLCKSZ - SizeOfPageHeaderData - special -
		2 * (int) BetreeMaxItemSize;
	limit = Min(space, (BLCKSZ - special) * BETREE_NODE_FILLFACTOR / 100);
	if (above->nitems > 1 &&
		(above->space + BetreeTupleSpace(pivot) > limit ||
		 above->nitems >= BETREE_NODE_MAX_CHILDREN - 1))
	{
		finish_page(state, levelno + 1, pivot);
		start_page(state, levelno + 1, pivot);
	}
	level_add(above, pivot);
}

/* Add the next item in order to the leaf being filled */
static void
add_item(BuildState *state, IndexTuple itup)
{
	BuildLevel *leaf = &state->level[0];
	int			limit = BetreePageCapacity * state->bt.fillfactor / 100;

	if (leaf->nitems > 0 &&
		(leaf->space + BetreeTupleSpace(itup) > limit ||
		 leaf->nitems >= BETREE_LEAF_MAX_ITEMS))
	{
		IndexTuple	separator;

		separator = betree_form_separator(&state->bt,
										  leaf->items[leaf->nitems - 1], itup);
		finish_page(state, 0, separator);
		start_page(state, 0, separator);
		pfree(separator);
	}
	level_add(leaf, itup);
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

/*
 * Write what is being filled at each level, the highest one as the root, and
 * the metapage.
 */
static void
finish_tree(BuildState *state)
{
	IndexTuple	plus = betree_node_infinite_pivot(true);
	Page		meta;
	int			levelno;

	for (levelno = 0; levelno == 0 || levelno < state->height - 1; levelno++)
		finish_page(state, levelno, plus);
	Assert(levelno == state->height - 1);
	(void) write_page(state, levelno, BETREE_ROOT_BLKNO, plus);

	meta = ecp_page_writer_get(state->writer);
	betree_page_init_meta(meta, state->bt.nkeyatts, state->bt.natts,
						  state->sort.index_tuples > 0 ? state->bt.built_width : 0);
	ecp_page_writer_put(state->writer, BETREE_META_BLKNO, meta);
	ecp_page_writer_end(state->writer, NULL, NULL);
}

/* Start writing a tree to a fork */
static void
begin_tree(BuildState *state, ForkNumber fork)
{
	state->writer = ecp_page_writer_begin(state->bt.rel, fork);
	state->next_block = BETREE_ROOT_BLKNO + 1;
	start_page(state, 0, betree_node_infinite_pivot(false));
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

/* The tree, out of the sorted tuples */
static void
load_tree(BuildState *state)
{
	BetreeBuildSort *sort = &state->sort;
	int64		ntuples = 0;
	IndexTuple	itup;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, BETREE_PROGRESS_LOAD);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL,
								 (int64) sort->index_tuples);
	begin_tree(state, MAIN_FORKNUM);
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
	finish_tree(state);
	report_loaded(ntuples);
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

	betree_rel_open(&state.bt, index);
	betree_build_sort_begin(&state.sort, &state.bt, heap, indexInfo);
	if (state.sort.index_tuples > 0)
		state.bt.built_width = (int) (state.sort.index_bytes / state.sort.index_tuples);
	load_tree(&state);
	betree_build_sort_end(&state.sort);

	result->heap_tuples = state.sort.heap_tuples;
	result->index_tuples = state.sort.index_tuples;
	return result;
}

/* ambuildempty: an empty tree in the init fork of an unlogged index */
void
betreebuildempty(Relation index)
{
	BuildState	state = {0};

	betree_rel_open(&state.bt, index);
	begin_tree(&state, INIT_FORKNUM);
	finish_tree(&state);
}
