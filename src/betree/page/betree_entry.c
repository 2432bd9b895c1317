/*-------------------------------------------------------------------------
 *
 * betree_entry.c
 *	  The indexes that this backend works on with locks on their pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "betree/page/betree_block.h"
#include "utils/rel.h"

/* Calls that may be nested in each other */
#define ENTRIES_MAX		64

static struct
{
	Relation	rel;
	int			nest_level;		/* of the subtransaction */
}			entries[ENTRIES_MAX];
static int	nentries = 0;

/* An error has ended the work of a transaction, or of a subtransaction */
static void
entry_xact_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		nentries = 0;
}

static void
entry_subxact_callback(SubXactEvent event, SubTransactionId mySubid,
					   SubTransactionId parentSubid, void *arg)
{
	while (event == SUBXACT_EVENT_ABORT_SUB && nentries > 0 &&
		   entries[nentries - 1].nest_level >= GetCurrentTransactionNestLevel())
		nentries--;
}

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
	for (int i = 0; i < nentries; i++)
	{
		if (RelationGetRelid(entries[i].rel) == RelationGetRelid(rel))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE),
					 errmsg("cannot access index \"%s\" from a function that it calls",
							RelationGetRelationName(rel)),
					 errdetail("The functions of an operator class run while pages of the index are locked.")));
	}
}

/*
 * betree_entry_begin
 *		Begin to work on an index with locks on its pages, until betree_entry_end()
 *		or an error.
 */
void
betree_entry_begin(Relation rel)
{
	static bool registered = false;

	betree_entry_refuse(rel);
	if (!registered)
	{
		RegisterXactCallback(entry_xact_callback, NULL);
		RegisterSubXactCallback(entry_subxact_callback, NULL);
		registered = true;
	}
	if (nentries >= ENTRIES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
				 errmsg("functions that betree indexes call are nested too deeply"),
				 errdetail("At most %d indexes can wait for the functions that they call.",
						   ENTRIES_MAX)));
	entries[nentries].rel = rel;
	entries[nentries++].nest_level = GetCurrentTransactionNestLevel();
}

void
betree_entry_end(Relation rel)
{
	Assert(nentries > 0 && entries[nentries - 1].rel == rel);

	nentries--;
}

/*
 * betree_entry_index
 *		The index that this backend works on, or NULL; for error messages.
 */
Relation
betree_entry_index(void)
{
	return nentries > 0 ? entries[nentries - 1].rel : NULL;
}
