/*-------------------------------------------------------------------------
 *
 * betree_descend.h
 *	  Descents from the root.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_DESCEND_H
#define BETREE_DESCEND_H

#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"
#include "storage/buf.h"

/* Called with each NODE on the way down, while it is locked */
typedef void (*BetreeVisit) (void *arg, Buffer nodebuf);

extern Buffer betree_descend(BetreeRel *bt, BetreeKey *key, bool strict,
							 int level, int lockmode, BetreeVisit visit,
							 void *arg);
extern bool betree_descend_remembered(BetreeRel *bt, Buffer buf,
									  BetreeKey *key, bool strict, int level,
									  int lockmode);
extern Buffer betree_descend_relock(BetreeRel *bt, Buffer buf, BetreeKey *key,
									int level, int lockmode);
extern int	betree_descend_height(BetreeRel *bt);

#endif							/* BETREE_DESCEND_H */
