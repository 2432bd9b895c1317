/*-------------------------------------------------------------------------
 *
 * betree_insert.h
 *	  Inserts into a betree index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_INSERT_H
#define BETREE_INSERT_H

#include "access/genam.h"
#include "nodes/execnodes.h"

extern bool betreeinsert(Relation rel, Datum *values, bool *isnull,
						 ItemPointer ht_ctid, Relation heapRel,
						 IndexUniqueCheck checkUnique, bool indexUnchanged,
						 IndexInfo *indexInfo);

#endif							/* BETREE_INSERT_H */
