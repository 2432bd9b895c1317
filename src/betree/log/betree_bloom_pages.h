/*-------------------------------------------------------------------------
 *
 * betree_bloom_pages.h
 *	  Making Bloom pages, and freeing them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BLOOM_PAGES_H
#define BETREE_BLOOM_PAGES_H

#include "betree/order/betree_rel.h"
#include "betree/page/betree_page.h"
#include "storage/buf.h"

/* a node's children, and the first one of the next node */
#define BETREE_BLOOM_BUILD_SLOTS	(MaxIndexTuplesPerPage + 1)

/* Bloom filters of leaves of a build, see betree_bloom.c */
typedef struct BetreeBloomSlots
{
	int			bytes;			/* of a slot's bits */
	int			nslots;
	char	   *slots;			/* BETREE_BLOOM_BUILD_SLOTS */
} BetreeBloomSlots;

extern int	betree_bloom_pages_wanted(BetreeRel *bt, int nchildren);
extern int	betree_bloom_pages_reserved(BetreeRel *bt);
extern bool betree_bloom_pages_fit(BetreeRel *bt, Page node, int npages);
extern bool betree_bloom_pages_ensure(BetreeRel *bt, Buffer nodebuf);
extern int	betree_bloom_pages_copy(BetreeRel *bt, Buffer nodebuf, int first,
									int last, int npages, BetreeDirEntry *entries);
extern void betree_bloom_pages_free(BetreeRel *bt, BetreeDirEntry *dir, int ndir);
extern void betree_bloom_pages_drop(BetreeRel *bt, Buffer nodebuf);
extern void betree_bloom_pages_collect(BetreeRel *bt, BetreeBloomSlots *slots,
									   BlockNumber leafblk, IndexTuple *items,
									   int nitems);
extern void betree_bloom_pages_form(BetreeRel *bt, Page page,
									BetreeBloomSlots *slots, int nchildren,
									int number, int npages, BlockNumber owner);
extern void betree_bloom_pages_pass(BetreeBloomSlots *slots, int nchildren);

#endif							/* BETREE_BLOOM_PAGES_H */
