/*-------------------------------------------------------------------------
 *
 * betree_removal.c
 *	  Removing rows from pages: whole items, and rows of postings.
 *
 * As in betree_page.c the functions neither lock nor log.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"

/*
 * betree_removal_add
 *		Remove rows of an item: those of its TIDs, in order, for which "dead" is
 *		set.  Items come in the order of the page.
 *
 * What is left of a posting is not longer than it was: the distance over a row
 * that is gone takes no more bytes than the two to and from it.
 */
void
betree_removal_add(BetreeRemoval *removal, OffsetNumber off, IndexTuple itup,
				   const bool *dead)
{
	ItemPointerData tids[BETREE_POSTING_MAX_ROWS];
	BetreePosting posting;
	int			n = betree_posting_read(itup, tids);
	int			nleft = 0;

	Assert(removal->ndead + removal->nshrunk < MaxIndexTuplesPerPage);

	for (int i = 0; i < n; i++)
	{
		if (dead[i])
			continue;
		if (nleft++ == 0)
			betree_posting_begin_row(&posting, itup, &tids[i]);
		else if (!betree_posting_add_row(&posting, &tids[i]))
			betree_page_report_item(itup);
	}
	if (nleft == 0)
		removal->dead[removal->ndead++] = off;
	else if (nleft < n)
	{
		removal->shrunk[removal->nshrunk] = off;
		removal->left[removal->nshrunk++] = betree_posting_form(&posting);
	}
}

/* Remove the rows from a page image */
void
betree_removal_apply(Page page, BetreeRemoval *removal)
{
	for (int i = 0; i < removal->nshrunk; i++)
		betree_page_shrink_item(page, removal->shrunk[i], removal->left[i]);
	if (removal->ndead > 0)
		betree_page_delete_items(page, removal->dead, removal->ndead);
}
