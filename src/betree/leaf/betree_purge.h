/*-------------------------------------------------------------------------
 *
 * betree_purge.h
 *	  Removing entries of dead rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_PURGE_H
#define BETREE_PURGE_H

#include "access/itup.h"
#include "betree/log/betree_batch.h"
#include "betree/order/betree_rel.h"
#include "storage/buf.h"
#include "storage/itemptr.h"

/*
 * Dead rows of which someone who has asked the table about them has the entries
 * removed: fewer are asked about again, which costs less than two records.
 */
#ifdef BETREE_TINY
#define BETREE_PURGE_ROWS		2
#else
#define BETREE_PURGE_ROWS		16
#endif

extern void betree_purge_leaf(BetreeRel *bt, Buffer leafbuf,
							  BetreeBatch *batch);
extern void betree_purge_rows(BetreeRel *bt, Buffer buf, ItemPointerData *tids, int ntids);
extern void betree_purge_scanned(BetreeRel *bt, IndexTuple low, ItemPointerData *tids,
								 int ntids);
extern void betree_purge_tail(BetreeRel *bt, Buffer tailbuf);

#endif							/* BETREE_PURGE_H */
