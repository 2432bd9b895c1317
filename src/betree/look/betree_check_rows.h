/*-------------------------------------------------------------------------
 *
 * betree_check_rows.h
 *	  Checking that an index has the rows of its table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_CHECK_ROWS_H
#define BETREE_CHECK_ROWS_H

#include "storage/itemptr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

struct Tuplesortstate;

extern struct Tuplesortstate *betree_check_rows_begin(void);
extern void betree_check_rows_add(struct Tuplesortstate *tids, ItemPointer tid);
extern void betree_check_rows(Relation index, Relation heap,
							  struct Tuplesortstate *tids, Snapshot snapshot,
							  int64 nrows);

#endif							/* BETREE_CHECK_ROWS_H */
