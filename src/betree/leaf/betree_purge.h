/*-------------------------------------------------------------------------
 *
 * betree_purge.h
 *	  Removing entries of dead rows from a full leaf.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_PURGE_H
#define BETREE_PURGE_H

#include "betree/log/betree_batch.h"
#include "betree/order/betree_rel.h"
#include "storage/buf.h"

extern void betree_purge_leaf(BetreeRel *bt, Buffer leafbuf,
							  BetreeBatch *batch);

#endif							/* BETREE_PURGE_H */
