/*-------------------------------------------------------------------------
 *
 * betree_removal.h
 *	  Removing rows from images of pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_REMOVAL_H
#define BETREE_REMOVAL_H

#include "access/itup.h"
#include "storage/bufpage.h"

/* Rows to be removed from a LEAF or LOG page: whole items, and parts of postings */
typedef struct BetreeRemoval
{
	int			ndead;
	int			nshrunk;
	OffsetNumber dead[MaxIndexTuplesPerPage];
	OffsetNumber shrunk[MaxIndexTuplesPerPage];
	IndexTuple	left[MaxIndexTuplesPerPage];	/* of these */
} BetreeRemoval;

extern void betree_removal_add(BetreeRemoval *removal, OffsetNumber off,
							   IndexTuple itup, const bool *dead);
extern void betree_removal_apply(Page page, BetreeRemoval *removal);

#endif							/* BETREE_REMOVAL_H */
