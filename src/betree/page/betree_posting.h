/*-------------------------------------------------------------------------
 *
 * betree_posting.h
 *	  Postings: items of a leaf for several rows with the same key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_POSTING_H
#define BETREE_POSTING_H

#include "betree/page/betree_page.h"

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

#endif							/* BETREE_POSTING_H */
