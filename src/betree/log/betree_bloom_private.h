/*-------------------------------------------------------------------------
 *
 * betree_bloom_private.h
 *	  Bloom pages, for betree_bloom.c and betree_bloom_pages.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BLOOM_PRIVATE_H
#define BETREE_BLOOM_PRIVATE_H

#include "betree/order/betree_order.h"
#include "betree/page/betree_page.h"
#include "storage/buf.h"
#include "storage/bufpage.h"

/* A Bloom page, mostly a locked one */
typedef struct BetreeBloomPage
{
	Buffer		buf;
	Page		page;
	int			bytes;			/* of a slot's bits */
	int			nslots;
} BetreeBloomPage;

static inline char *
betree_bloom_slot(Page page, int bytes, int i)
{
	return (char *) PageGetContents(page) + sizeof(BetreeBloomHeaderData) +
		i * BetreeBloomSlotSize(bytes);
}

static inline BlockNumber *
betree_bloom_slot_leaf(char *slot)
{
	return (BlockNumber *) slot;
}

static inline uint8 *
betree_bloom_slot_bits(char *slot)
{
	return (uint8 *) slot + sizeof(BlockNumber);
}

/* betree_bloom.c */
extern bool betree_bloom_parse(BetreeBloomPage *bloom, Page page);
extern void betree_bloom_open(BetreeRel *bt, BlockNumber blkno, int lockmode,
							  BetreeBloomPage *bloom);
extern char *betree_bloom_find(BetreeBloomPage *bloom, BlockNumber leafblk);
extern BlockNumber betree_bloom_page_of(Page node, BlockNumber leafblk);
extern void betree_bloom_bits_add(uint8 *bits, int bytes, uint64 hash);

/* betree_bloom_pages.c */
extern bool betree_bloom_pages_add(BetreeRel *bt, Buffer nodebuf);

#endif							/* BETREE_BLOOM_PRIVATE_H */
