/*-------------------------------------------------------------------------
 *
 * betree_build_tree.c
 *	  CREATE INDEX: the pages of the tree, from the bottom.
 *
 * The leaves come in order, packed (betree_build.c), and are written one after
 * the other; each finished page hands a pivot to the node being filled one level
 * above.  The leaves of a node so lie side by side in the file, followed by the
 * node.  Logs start empty.
 *
 * Pages bypass shared buffers and are WAL-logged as they are written
 * (base/page_writer.c): one pass.  Metapage and root have fixed places and
 * come last.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/page_writer.h"
#include "base/stop_point.h"
#include "betree/create/betree_build.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* A page being filled, one for each level; leaves at level 0 */
typedef struct BuildLevel
{
	IndexTuple	low;			/* lower bound of the page */
	IndexTuple *items;			/* pivots, or tuples of a leaf */
	int			nitems;
	int			max_items;
	int			space;
	char	   *data;			/* what the pivots point to; not of a leaf */
	int			used;			/* of BLCKSZ bytes */
	MemoryContext context;		/* of what else belongs to the page */
} BuildLevel;

struct BetreeBuildTree
{
	BetreeRel  *bt;
	int			built_width;	/* mean bytes of a tuple; 0 if there are none */
	EcpPageWriter *writer;
	BlockNumber next_block;
	BuildLevel	level[BETREE_MAX_HEIGHT];
	int			height;			/* number of levels that have been started */
	BetreeBloomSlots blooms;	/* of leaves, for the node being filled */
};

/* Begin to fill a page of a level whose lower bound is "low" */
static void
start_page(BetreeBuildTree *tree, int levelno, IndexTuple low)
{
	BuildLevel *level = &tree->level[levelno];

	Assert(levelno >= 0 && levelno <= tree->height);

	if (level->context == NULL)
		level->context = AllocSetContextCreate(CurrentMemoryContext,
											   "betree build level",
											   ALLOCSET_DEFAULT_SIZES);
	if (level->items == NULL)
	{
		level->max_items = MaxIndexTuplesPerPage;
		level->items = palloc(level->max_items * sizeof(IndexTuple));
		if (levelno > 0)
			level->data = palloc(BLCKSZ);
	}
	MemoryContextReset(level->context);
	level->nitems = 0;
	level->space = 0;
	level->used = 0;
	level->low = betree_image_copy(level->context, low);
	tree->height = Max(tree->height, levelno + 1);
}

/* Add a pivot to the node of a level; it is copied */
static void
level_add(BuildLevel *level, IndexTuple pivot)
{
	IndexTuple	copy = (IndexTuple) (level->data + level->used);

	Assert(level->nitems < level->max_items);
	Assert(level->used + MAXALIGN(IndexTupleSize(pivot)) <= BLCKSZ);

	memcpy(copy, pivot, IndexTupleSize(pivot));
	level->used += MAXALIGN(IndexTupleSize(pivot));
	level->items[level->nitems++] = copy;
	level->space += BetreeTupleSpace(pivot);
}

/*
 * Write the Bloom pages of a parent of leaves, if it shall have such, and
 * enter them into its directory.  They come behind the leaves, the last of which
 * may be the next node's.
 */
static void
write_bloom_pages(BetreeBuildTree *tree, Page node, BlockNumber owner)
{
	BetreeRel  *bt = tree->bt;
	int			nchildren = BetreeNodeNumChildren(node);
	int			npages = betree_bloom_pages_wanted(bt, nchildren);

	if (owner == InvalidBlockNumber)
		owner = tree->next_block + npages;
	if (betree_bloom_pages_fit(bt, node, npages))
	{
		for (int i = 0; i < npages; i++)
		{
			Page		page = ecp_page_writer_get(tree->writer);

			betree_bloom_pages_form(bt, page, &tree->blooms, nchildren, i, npages, owner);
			betree_node_add_dir(node, tree->next_block,
								BETREE_DIR_BLOOM_NUMBER(i), 0);
			ecp_page_writer_put(tree->writer, tree->next_block++, page);
		}
	}
	betree_bloom_pages_pass(&tree->blooms, nchildren);
}

/*
 * Write the page of a level, with "hikey" if it is a node, to the block that
 * is returned: the next one, if "blkno" does not say which.
 */
static BlockNumber
write_page(BetreeBuildTree *tree, int levelno, BlockNumber blkno,
		   IndexTuple hikey)
{
	BuildLevel *level = &tree->level[levelno];
	Page		page = ecp_page_writer_get(tree->writer);

	if (levelno > 0)
		betree_node_form(page, levelno, betree_log_ncap(tree->bt, levelno),
						 hikey, level->items, level->nitems);
	else
	{
		betree_page_init(page, BETREE_LEAF, 0, 0);
		for (int i = 0; i < level->nitems; i++)
			betree_page_add(page, level->items[i]);
	}
	if (levelno == 1 && tree->blooms.nslots > 0)
		write_bloom_pages(tree, page, blkno);
	if (blkno == InvalidBlockNumber)
		blkno = tree->next_block++;
	if (levelno == 0 && betree_bloom_pages_reserved(tree->bt) > 0)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(level->context);

		betree_bloom_pages_collect(tree->bt, &tree->blooms, blkno, level->items,
								   level->nitems);
		MemoryContextSwitchTo(oldcontext);
	}
	ecp_page_writer_put(tree->writer, blkno, page);
	return blkno;
}

/*
 * Finish the page of a level, whose upper bound is "high": write it, and tell
 * the level above.  The caller starts the next page, if there is one.
 */
static void
finish_page(BetreeBuildTree *tree, int levelno, IndexTuple high)
{
	BlockNumber blkno;
	BuildLevel *above;
	IndexTuple	pivot;
	int			special;
	int			space;
	int			limit;

	if (levelno + 1 >= BETREE_MAX_HEIGHT)
		elog(ERROR, "betree index \"%s\" is too high",
			 RelationGetRelationName(tree->bt->rel));

	blkno = write_page(tree, levelno, InvalidBlockNumber, high);
	pivot = tree->level[levelno].low;
	BetreePivotSetChild(pivot, blkno);
	BetreePivotSetMarker(pivot, 0);

	above = &tree->level[levelno + 1];
	if (tree->height <= levelno + 1)
		start_page(tree, levelno + 1, pivot);

	/* a node keeps room for the pivots of its children's splits */
	special = (int) BetreeNodeSpecialSize(betree_log_ncap(tree->bt,
														  levelno + 1));
	space = BLCKSZ - SizeOfPageHeaderData - special -
		2 * (int) BetreeMaxItemSize;
	limit = Min(space, (BLCKSZ - special) * BETREE_NODE_FILLFACTOR / 100);
	if (above->nitems > 1 &&
		(above->space + BetreeTupleSpace(pivot) > limit ||
		 above->nitems >= BETREE_NODE_MAX_CHILDREN - 1))
	{
		finish_page(tree, levelno + 1, pivot);
		start_page(tree, levelno + 1, pivot);
	}
	level_add(above, pivot);
}

/* Start writing a tree to a fork */
BetreeBuildTree *
betree_build_tree_begin(BetreeRel *bt, ForkNumber fork, int built_width)
{
	BetreeBuildTree *tree = palloc0(sizeof(BetreeBuildTree));

	tree->bt = bt;
	tree->built_width = built_width;
	if (built_width > 0)
		bt->built_width = built_width;
	tree->writer = ecp_page_writer_begin(bt->rel, fork);
	tree->next_block = BETREE_ROOT_BLKNO + 1;
	start_page(tree, 0, betree_node_infinite_pivot(false));
	return tree;
}

/*
 * betree_build_tree_add_leaf
 *		Write the next leaf, whose items lie one after the other, MAXALIGN'd;
 *		"high" is its upper bound and the lower bound of the next.
 */
void
betree_build_tree_add_leaf(BetreeBuildTree *tree, IndexTuple high, char *items,
						   Size bytes)
{
	BuildLevel *leaf = &tree->level[0];

	for (Size at = 0; at < bytes; at += MAXALIGN(IndexTupleSize((IndexTuple) (items + at))))
	{
		Assert(leaf->nitems < leaf->max_items);
		leaf->items[leaf->nitems++] = (IndexTuple) (items + at);
	}
	finish_page(tree, 0, high);
	ECP_STOP_POINT("build-written");
	start_page(tree, 0, high);
}

/*
 * betree_build_tree_end
 *		All leaves have come, at least one: write what is being filled at each
 *		level, the highest one as the root, and the metapage.
 */
void
betree_build_tree_end(BetreeBuildTree *tree)
{
	IndexTuple	plus = betree_node_infinite_pivot(true);
	Page		meta;
	int			levelno;

	for (levelno = 1; levelno < tree->height - 1; levelno++)
		finish_page(tree, levelno, plus);
	Assert(levelno == tree->height - 1);
	(void) write_page(tree, levelno, BETREE_ROOT_BLKNO, plus);

	meta = ecp_page_writer_get(tree->writer);
	betree_page_init_meta(meta, tree->bt->nkeyatts, tree->bt->natts, tree->built_width);
	ecp_page_writer_put(tree->writer, BETREE_META_BLKNO, meta);
	ecp_page_writer_end(tree->writer, true, NULL, NULL);
}
