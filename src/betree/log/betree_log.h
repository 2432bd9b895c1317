/*-------------------------------------------------------------------------
 *
 * betree_log.h
 *	  The log of a node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_LOG_H
#define BETREE_LOG_H

#include "base/core_wal.h"
#include "betree/order/betree_rel.h"
#include "betree/page/betree_page.h"

/* bounds of a batch that takes all of a log */
#define BETREE_LOG_MAX_SPACE	(BETREE_NCAP_MAX * BetreePageCapacity)
#define BETREE_LOG_MAX_ITEMS	(BETREE_NCAP_MAX * (int) MaxIndexTuplesPerPage)

struct BetreeBatch;
struct BetreeLogCache;

/* Can the tuple be appended to this tail? */
static inline bool
betree_log_tail_has_room(Page page, IndexTuple itup)
{
	BetreeRoom	room;

	return betree_page_find_room(page, itup, BETREE_LOG_PAGE_MAX_ITEMS, &room);
}

extern int	betree_log_ncap(BetreeRel *bt, int level);
extern void betree_log_put(EcpDelta *delta, Page page, BetreeRoom *room,
						   IndexTuple itup, OffsetNumber off, ItemIdData *ids);
extern void betree_log_append(BetreeRel *bt, Buffer tailbuf, IndexTuple itup);
extern void betree_log_append_batch(BetreeRel *bt, Buffer nodebuf, int child,
									Buffer tailbuf, struct BetreeBatch *batch);
extern void betree_log_set_drain(BetreeRel *bt, Buffer nodebuf);
extern bool betree_log_seal(BetreeRel *bt, Buffer nodebuf, bool single);
extern void betree_log_check_order(Page node);
extern void betree_log_gather(BetreeRel *bt, Page node, int child,
							  int max_space, int max_items,
							  struct BetreeLogCache *cache, struct BetreeBatch *batch);
extern void betree_log_absorb(EcpDelta *delta, int bufno, int child,
							  struct BetreeBatch *batch);

#endif							/* BETREE_LOG_H */
