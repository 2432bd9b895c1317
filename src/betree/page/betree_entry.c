/*-------------------------------------------------------------------------
 *
 * betree_entry.c
 *	  The indexes that this backend works on with locks on their pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/page/betree_block.h"
#include "utils/rel.h"

static BetreeEntry *entered = NULL;

/*
 * betree_entry_refuse
 *		An error if this backend works on the index already.
 *
 * Functions of operator classes and types run under the locks on its pages.  One
 * that uses the same index would wait for its own backend, and a wait for a content
 * lock cannot be cancelled; in a temporary index, whose pages have no locks, it
 * would change what we are about to change.
 */
void
betree_entry_refuse(Relation rel)
{
	for (BetreeEntry *outer = entered; outer != NULL; outer = outer->outer)
	{
		if (RelationGetRelid(outer->rel) == RelationGetRelid(rel))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("cannot access index \"%s\" from a function that it calls",
							RelationGetRelationName(rel)),
					 errdetail("The functions of an operator class run while pages of the index are locked.")));
	}
}

/*
 * betree_entry_begin
 *		Begin to work on an index with locks on its pages; see betree_entry_end.
 */
void
betree_entry_begin(BetreeEntry *entry, Relation rel)
{
	betree_entry_refuse(rel);
	entry->rel = rel;
	entry->outer = entered;
	entered = entry;
}

/*
 * betree_entry_end
 *		End that; to be called also if an error was thrown.
 */
void
betree_entry_end(BetreeEntry *entry)
{
	Assert(entered == entry);

	entered = entry->outer;
}

/*
 * betree_entry_index
 *		The index that this backend works on, or NULL; for error messages.
 */
Relation
betree_entry_index(void)
{
	return entered != NULL ? entered->rel : NULL;
}
