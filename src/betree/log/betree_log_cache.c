/*-------------------------------------------------------------------------
 *
 * betree_log_cache.c
 *	  Pins on the pages of a log that are kept from one child to the next.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/log/betree_log.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_page.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

/*
 * betree_log_cache_limit
 *		Number of pages that each backend may keep pinned.
 */
int
betree_log_cache_limit(void)
{
	return Max(8, NBuffers / (2 * MaxBackends));
}

/*
 * betree_log_cache_init
 *		Allocate a cache that keeps as many pins as it may.
 */
void
betree_log_cache_init(BetreeLogCache *cache)
{
	cache->npins = Min(betree_log_cache_limit(), BETREE_NCAP_MAX);
	cache->buf = palloc0(BETREE_NCAP_MAX * sizeof(Buffer));
	cache->hint = palloc0(BETREE_NCAP_MAX * sizeof(OffsetNumber));
	cache->blkno = palloc0(BETREE_NCAP_MAX * sizeof(BlockNumber));
}

/*
 * betree_log_cache_release
 *		Give up the pins; the cache can be used again.
 */
void
betree_log_cache_release(BetreeLogCache *cache)
{
	for (int i = 0; i < cache->npins; i++)
	{
		if (BufferIsValid(cache->buf[i]))
			ReleaseBuffer(cache->buf[i]);
		cache->buf[i] = InvalidBuffer;
	}
}

/*
 * betree_log_cache_lock
 *		Share-lock the log page of directory entry "i".
 */
Buffer
betree_log_cache_lock(Relation index, BetreeLogCache *cache, int i,
					  BlockNumber blkno)
{
	Buffer		buf;

	Assert(i >= 0 && i < BETREE_NCAP_MAX);

	betree_block_verify(index, blkno);
	if (i < cache->npins)
	{
		cache->buf[i] = ReleaseAndReadBuffer(cache->buf[i], index, blkno);
		buf = cache->buf[i];
	}
	else
		buf = ReadBuffer(index, blkno);
	if (cache->blkno[i] != blkno)
	{
		cache->blkno[i] = blkno;
		cache->hint[i] = 0;
	}
	betree_block_lock(index, buf, BUFFER_LOCK_SHARE);
	betree_block_verify_page(index, buf, BETREE_LOG, -1);
	return buf;
}

/*
 * betree_log_cache_unlock
 *		Unlock that page; the pin stays if the cache has room for it.
 */
void
betree_log_cache_unlock(BetreeLogCache *cache, int i, Buffer buf)
{
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	if (i >= cache->npins)
		ReleaseBuffer(buf);
}
