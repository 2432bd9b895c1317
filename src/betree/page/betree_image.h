/*-------------------------------------------------------------------------
 *
 * betree_image.h
 *	  Images of pages: nodes, postings, removal; no locks, no WAL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_IMAGE_H
#define BETREE_IMAGE_H

#include "access/itup.h"
#include "betree/page/betree_page.h"
#include "storage/bufpage.h"
#include "utils/palloc.h"

/* A copy of a tuple or pivot */
static inline IndexTuple
betree_image_copy(MemoryContext context, IndexTuple itup)
{
	Size		size = IndexTupleSize(itup);

	return memcpy(MemoryContextAlloc(context, size), itup, size);
}

/* betree_node.c: images of nodes: pivots, and the directory of the log */

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
extern BetreeDirEntry *betree_node_get_dir(Page page, int kind);
extern uint32 betree_node_log_span(Page page, uint32 seq);
extern void betree_node_shift_log(Page page, int child, int delta);
extern int	betree_node_count_dir(Page page, int kind);
#define betree_node_nfilters(page)	betree_node_count_dir(page, BETREE_DIR_FILTER)
#define betree_node_nblooms(page)	betree_node_count_dir(page, BETREE_DIR_BLOOM)
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

/*
 * betree_posting.c: postings: items of a leaf for several rows with the same key.
 */

/*
 * A posting being made, or what a tuple of one row becomes when others are
 * added.  The key is the caller's and must live as long.
 */
typedef struct BetreePosting
{
	IndexTuple	key;			/* of one of the items that went in */
	int			key_size;
	ItemPointerData first;
	uint64		last;			/* number of the last TID */
	int			nrows;
	int			nbytes;
	int			max_bytes;
	uint8		bytes[BETREE_POSTING_BYTES_MAX];
} BetreePosting;

extern int	betree_posting_read(IndexTuple itup, ItemPointerData *tids);
extern ItemPointerData betree_posting_last(IndexTuple itup);
extern bool betree_posting_is_full(IndexTuple itup);
extern int	betree_posting_key_size(IndexTuple itup);
extern int	betree_posting_nrows(IndexTuple itup);
extern bool betree_posting_same_key(IndexTuple a, IndexTuple b);
extern IndexTuple betree_posting_form_row(IndexTuple itup, ItemPointer tid);
extern void betree_posting_begin(BetreePosting *posting, IndexTuple itup);
extern void betree_posting_begin_row(BetreePosting *posting, IndexTuple key,
									 ItemPointer tid);
extern bool betree_posting_add(BetreePosting *posting, IndexTuple itup);
extern bool betree_posting_add_row(BetreePosting *posting, ItemPointer tid);
extern IndexTuple betree_posting_form(BetreePosting *posting);

/* The same: removing rows from images of pages */

/* Rows to be removed from a LEAF or LOG page: whole items, and parts of postings */
typedef struct BetreeRemoval
{
	int			ndead;
	int			nshrunk;
	OffsetNumber dead[MaxIndexTuplesPerPage];
	OffsetNumber shrunk[MaxIndexTuplesPerPage];
	IndexTuple	left[MaxIndexTuplesPerPage];	/* of these */
} BetreeRemoval;

extern void betree_posting_removal_add(BetreeRemoval *removal, OffsetNumber off,
									   IndexTuple itup, const bool *dead);
extern void betree_posting_removal_apply(Page page, BetreeRemoval *removal);

#endif							/* BETREE_IMAGE_H */
