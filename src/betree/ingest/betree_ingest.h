/*-------------------------------------------------------------------------
 *
 * betree_ingest.h
 *	  Inserts, drains, and the check of a unique index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_INGEST_H
#define BETREE_INGEST_H

#include "access/genam.h"
#include "betree/order/betree_order.h"
#include "nodes/execnodes.h"
#include "storage/buf.h"

/* betree_insert.c: inserts into a betree index */

extern bool betreeinsert(Relation rel, Datum *values, bool *isnull,
						 ItemPointer ht_ctid, Relation heapRel,
						 IndexUniqueCheck checkUnique, bool indexUnchanged,
						 IndexInfo *indexInfo);

extern void betree_insert_rows(BetreeRel *bt, BetreeSortItem *items, int nitems);

/* betree_held.c: rows of this transaction that are not in the index yet */

typedef struct BetreeHeld BetreeHeld;

extern void betree_held_init(void);
extern bool betree_held_add(BetreeHeld **held, Relation index, Relation heap,
							IndexTuple itup);
extern void betree_held_send(Oid index);
extern void betree_held_forget(Oid index);

/* betree_drain.c: drains: moving messages down */

extern void betree_drain_node(BetreeRel *bt, BlockNumber blkno, int level,
							  int *budget);
extern void betree_drain_all(BetreeRel *bt);

/* betree_unique.c: the check of a unique index */

/* The check of a tuple that goes into a unique index */
typedef struct BetreeUnique
{
	BetreeRel  *bt;
	Relation	heap;
	IndexTuple	itup;
	IndexUniqueCheck mode;
	int			level;			/* of the gate, if we go there from the root */
	bool		hashed;
	uint64		hash;

	/* what was found */
	bool		unique;			/* no row that counts, or may count */
	bool		done;			/* no need to look further */
	bool		found;			/* UNIQUE_CHECK_EXISTING: the row's own entry */
	bool		conflict;		/* a row that counts */
	TransactionId wait;			/* to be waited for before we know */
	uint32		token;			/* if it inserts speculatively */

	/* what is locked */
	bool		exclusive;		/* the gate, by the next check: else its tail
								 * is */
	Buffer		gate;
	Buffer		target;			/* the node that the tuple belongs to */
	Buffer		tail;			/* of the gate, if that is share-locked and
								 * has one */

	/* the tuple, and the bounds of all that have its key */
	BetreeKey	position;
	BetreeKey	low;
	BetreeKey	high;

	/* for asking the table, NULL if that has not been asked */
	struct IndexFetchTableData *fetch;
	struct TupleTableSlot *slot;

	/* rows that are dead to everyone: those of the check, and of a page */
	int			ndead;
	int			npage_dead;
	ItemPointerData page_dead[MaxIndexTuplesPerPage];
} BetreeUnique;

extern bool betree_unique_is_exempt(BetreeRel *bt, const bool *isnull);
extern void betree_unique_begin(BetreeUnique *unique, BetreeRel *bt,
								Relation heap, IndexTuple itup,
								IndexUniqueCheck mode);
extern void betree_unique_check(BetreeUnique *unique);
extern void betree_unique_unlock(BetreeUnique *unique);
extern void betree_unique_wait(BetreeUnique *unique);
pg_noreturn extern void betree_unique_report(BetreeUnique *unique,
											 Datum *values, bool *isnull);
pg_noreturn extern void betree_unique_report_missing(BetreeUnique *unique);

#endif							/* BETREE_INGEST_H */
