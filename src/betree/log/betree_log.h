/*-------------------------------------------------------------------------
 *
 * betree_log.h
 *	  The log of a node, its filters, and Bloom filters of leaves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_LOG_H
#define BETREE_LOG_H

#include "base/core_wal.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_page.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "storage/off.h"
#include "utils/rel.h"

/* betree_log.c: batches of messages on their way down */

/* Messages of one child, collected from the log of its parent */
typedef struct BetreeBatch
{
	int			nitems;
	int			space;			/* of the items, with item pointers */
	int			max_space;		/* of "data" */
	bool		set_marker;		/* the items come from the node's log */
	uint16		upto;			/* they are all it had up to this number */
	bool		complete;		/* and that is the newest sealed page */
	BetreeSortItem *items;		/* MaxIndexTuplesPerPage for each page */
	char	   *data;			/* copies of the tuples */
	int			data_used;
} BetreeBatch;

extern void betree_log_batch_init(BetreeBatch *batch, int npages);

/* betree_log_cache.c: pins on the pages of a log */

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

/* bounds of a batch that takes all of a log */
#define BETREE_LOG_MAX_SPACE	(BETREE_NCAP_MAX * BetreePageCapacity)
#define BETREE_LOG_MAX_ITEMS	(BETREE_NCAP_MAX * (int) MaxIndexTuplesPerPage)


extern int	betree_log_ncap(BetreeRel *bt, int level);
extern void betree_log_append_batch(BetreeRel *bt, Buffer nodebuf, int child,
									Buffer tailbuf, BetreeBatch *batch);
extern void betree_log_set_drain(BetreeRel *bt, Buffer nodebuf);
extern bool betree_log_seal(BetreeRel *bt, Buffer nodebuf, bool single);
extern void betree_log_free_page(BetreeRel *bt, Buffer nodebuf, int at, Buffer buf);
extern bool betree_log_is_live(BetreeRel *bt, Page node, BetreeDirEntry *entry,
							   IndexTuple itup);
extern void betree_log_check_order(Page node);
extern void betree_log_gather(BetreeRel *bt, Page node, int child,
							  int max_space, int max_items,
							  BetreeLogCache *cache, BetreeBatch *batch);
extern void betree_log_absorb(EcpDelta *delta, int child, BetreeBatch *batch);

/* betree_append.c: putting messages into tails */

/* A tail or leaf, exclusively locked, and what one record appends to it, in order */
typedef struct BetreeAppend
{
	Buffer		buf;
	BetreeSortItem *items;
	int			nitems;
	int			bytes;			/* of the tuples */
} BetreeAppend;

/* Can these tuples be appended to this tail? */
static inline bool
betree_log_tail_has_room(Page page, int ntuples, int bytes)
{
	BetreeRoom	room;

	return betree_page_find_room(page, ntuples, bytes, BETREE_LOG_PAGE_MAX_ITEMS, &room);
}

extern bool betree_append_sort(BetreeRel *bt, Page page, ItemIdData *ids);
extern void betree_append_put(EcpDelta *delta, int bufno, BetreeRoom *room,
							  const void *tuples, OffsetNumber off, ItemIdData *ids);
extern void betree_append_rows(BetreeRel *bt, BetreeAppend *tails, int ntails);

/* betree_filter.c: fingerprints of the sealed pages of a log */

extern int	betree_filter_pages(BetreeRel *bt);
extern const char *betree_filter_complaint(Page page);
extern void betree_filter_trim(BetreeRel *bt, Buffer nodebuf);
extern void betree_filter_seal(BetreeRel *bt, Buffer nodebuf, Buffer *bufs,
							   int nbufs, uint32 seq, bool *covered);
extern bool betree_filter_probe(BetreeRel *bt, Page node, uint32 id,
								uint64 hash, uint16 *from, bool *hit);
extern bool betree_filter_lacks(BetreeRel *bt, Page node, BetreeHash *hash,
								IndexTuple itup, int i);
extern bool betree_filter_excludes(Page node, int i, uint16 from,
								   const bool *hit);

/* betree_bloom.c: bloom filters of leaves */

extern bool betree_bloom_excludes(BetreeRel *bt, Page node,
								  BlockNumber leafblk, uint32 hash_id,
								  uint64 hash);
extern bool betree_bloom_lacks(BetreeRel *bt, Page node, BlockNumber leafblk,
							   BetreeHash *hash, IndexTuple itup);
extern const char *betree_bloom_complaint(BetreeRel *bt, Page node, int at);
extern int	betree_bloom_count_slots(Page page);
extern bool betree_bloom_add(BetreeRel *bt, Buffer nodebuf,
							 BlockNumber leafblk, BetreeBatch *batch);
extern bool betree_bloom_has_slot(BetreeRel *bt, Page node,
								  BlockNumber leafblk);
extern void betree_bloom_set(BetreeRel *bt, Buffer nodebuf, Buffer leafbuf);
extern void betree_bloom_forget(BetreeRel *bt, Buffer nodebuf,
								BlockNumber leafblk);

/* the same: making Bloom pages, and freeing them */

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

#endif							/* BETREE_LOG_H */
