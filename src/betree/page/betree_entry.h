/*-------------------------------------------------------------------------
 *
 * betree_entry.h
 *	  The indexes that this backend works on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_ENTRY_H
#define BETREE_ENTRY_H

#include "utils/rel.h"

/* An index that this backend works on; functions may nest several */
typedef struct BetreeEntry
{
	Relation	rel;
	struct BetreeEntry *outer;
} BetreeEntry;

extern void betree_entry_refuse(Relation rel);
extern void betree_entry_begin(BetreeEntry *entry, Relation rel);
extern void betree_entry_end(BetreeEntry *entry);
extern Relation betree_entry_index(void);

#endif							/* BETREE_ENTRY_H */
