/*-------------------------------------------------------------------------
 *
 * betree_build_tree.h
 *	  The pages of a tree that is built.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BUILD_TREE_H
#define BETREE_BUILD_TREE_H

#include "access/itup.h"
#include "common/relpath.h"

struct BetreeRel;

typedef struct BetreeBuildTree BetreeBuildTree;

/* "built_width" is the mean size of a tuple, or 0 if there are none */
extern BetreeBuildTree *betree_build_tree_begin(struct BetreeRel *bt,
												ForkNumber fork, int built_width);
extern void betree_build_tree_add_leaf(BetreeBuildTree *tree, IndexTuple high,
									   char *items, Size bytes);
extern void betree_build_tree_end(BetreeBuildTree *tree);

#endif							/* BETREE_BUILD_TREE_H */
