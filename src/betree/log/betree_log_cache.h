/*-------------------------------------------------------------------------
 *
 * betree_log_cache.h
 *	  Pins on the pages of a log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_LOG_CACHE_H
#define BETREE_LOG_CACHE_H

#include "storage/buf.h"
#include "storage/off.h"
#include "utils/rel.h"

/*
 * Pins on the pages of a log, by directory entry, and where the last child's
 * items ended
 */
typedef struct BetreeLogCache
{
	int			npins;			/* size of the arrays */
	Buffer	   *buf;
	OffsetNumber *hint;
	BlockNumber *blkno;			/* page that the hint belongs to */
} BetreeLogCache;

extern int	betree_log_cache_limit(void);
extern void betree_log_cache_init(BetreeLogCache *cache);
extern Buffer betree_log_cache_lock(Relation index, BetreeLogCache *cache,
									int i, BlockNumber blkno);
extern void betree_log_cache_unlock(BetreeLogCache *cache, int i, Buffer buf);
extern void betree_log_cache_release(BetreeLogCache *cache);

#endif							/* BETREE_LOG_CACHE_H */
