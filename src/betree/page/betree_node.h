/*-------------------------------------------------------------------------
 *
 * betree_node.h
 *	  Images of nodes: pivots, and the directory of the log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_NODE_H
#define BETREE_NODE_H

#include "access/itup.h"
#include "betree/page/betree_page.h"
#include "storage/bufpage.h"

extern void betree_node_form(Page page, int level, int ncap,
							 IndexTuple hikey, IndexTuple *pivots,
							 int npivots);
extern int	betree_node_room(Page page);
extern int	betree_node_ntails(Page page);
extern int	betree_node_tail_of(Page page, int child);
extern bool betree_node_same_tail(Page page, int child);
extern bool betree_node_has_log(Page page);
extern void betree_node_add_dir(Page page, BlockNumber blkno, int kind,
								uint32 seq);
extern void betree_node_remove_dir(Page page, int at);
extern int	betree_node_find_dir(Page page, int kind);
extern uint32 betree_node_log_span(Page page, uint32 seq);
extern void betree_node_shift_log(Page page, int child, int delta);
extern int	betree_node_nfilters(Page page);
extern int	betree_node_nblooms(Page page);
extern int	betree_node_log_capacity(Page page);
extern void betree_node_raise_lagging(Page page);
extern void betree_node_drop_log(Page page, int nlog);
extern uint32 *betree_node_count_batch(Page page, int nitems);
extern IndexTuple betree_node_infinite_pivot(bool plus);

/*
 * A lookup asks these of each entry of the directory, of some forty.
 */

/* Is tail "i", by its first child, behind the one before it? */
static inline bool
betree_node_tail_ordered(Page page, int i)
{
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	int			nlog = BetreePageGetOpaque(page)->bteo_nlog;

	return i == nlog ||
		(BetreeDirGetFirst(&dir[i]) <= BetreeNodeNumChildren(page) &&
		 (i == nlog + 1 || BetreeDirGetFirst(&dir[i - 1]) <= BetreeDirGetFirst(&dir[i])));
}

/*
 * betree_node_log_ordered
 *		Is log page "i" one, newer than the one before it, or of the same number
 *		and for children behind, and not newer than the newest number given?
 *		Or a tail, for children behind?
 */
static inline bool
betree_node_log_ordered(Page page, int i)
{
	BetreeDirEntry *dir = BetreeNodeGetDir(page);

	Assert(i >= 0 && i < BetreePageGetOpaque(page)->bteo_ndir);

	if (i >= BetreePageGetOpaque(page)->bteo_nlog)
		return betree_node_tail_ordered(page, i);
	if (!BetreeDirIsSealed(&dir[i]) ||
		BetreeSeqNewer(dir[i].bted_seq, BetreePageGetOpaque(page)->bteo_seq) ||
		BetreeDirGetFirst(&dir[i]) > BetreeNodeNumChildren(page))
		return false;
	if (i == 0 || BetreeSeqNewer(dir[i].bted_seq, dir[i - 1].bted_seq))
		return true;
	return dir[i].bted_seq == dir[i - 1].bted_seq &&
		BetreeDirGetFirst(&dir[i - 1]) <= BetreeDirGetFirst(&dir[i]);
}

/* Is log page "i" the last one with its number? */
static inline bool
betree_node_log_ends(Page page, int i)
{
	BetreeDirEntry *dir = BetreeNodeGetDir(page);

	Assert(i >= 0 && i < BetreePageGetOpaque(page)->bteo_nlog);

	return i + 1 >= BetreePageGetOpaque(page)->bteo_nlog ||
		dir[i + 1].bted_seq != dir[i].bted_seq;
}

/*
 * betree_node_log_covers
 *		May log page or tail "i" have messages of the children
 *		first_child..last_child?
 */
static inline bool
betree_node_log_covers(Page page, int i, int first_child, int last_child)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	BetreeDirEntry *dir = BetreeNodeGetDir(page);
	bool		tail = i >= opaque->bteo_nlog;
	bool		ends = tail ?
		i + 1 >= opaque->bteo_ndir || !BetreeDirIsTail(&dir[i + 1]) :
		betree_node_log_ends(page, i);

	Assert(i >= 0 && i < opaque->bteo_ndir);
	Assert(first_child <= last_child);

	return (i == opaque->bteo_nlog || BetreeDirGetFirst(&dir[i]) <= last_child) &&
		(ends || BetreeDirGetFirst(&dir[i + 1]) > first_child);
}

#endif							/* BETREE_NODE_H */
