/*-------------------------------------------------------------------------
 *
 * betree_bloom.h
 *	  Bloom filters of leaves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BLOOM_H
#define BETREE_BLOOM_H

#include "betree/order/betree_hash.h"
#include "betree/order/betree_rel.h"
#include "storage/buf.h"
#include "storage/bufpage.h"

struct BetreeBatch;

extern bool betree_bloom_excludes(BetreeRel *bt, Page node,
								  BlockNumber leafblk, uint32 hash_id,
								  uint64 hash);
extern bool betree_bloom_lacks(BetreeRel *bt, Page node, BlockNumber leafblk,
							   BetreeHash *hash, IndexTuple itup);
extern const char *betree_bloom_complaint(BetreeRel *bt, Page node, int at);
extern int	betree_bloom_count_slots(Page page);
extern bool betree_bloom_add(BetreeRel *bt, Buffer nodebuf,
							 BlockNumber leafblk, struct BetreeBatch *batch);
extern bool betree_bloom_has_slot(BetreeRel *bt, Page node,
								  BlockNumber leafblk);
extern void betree_bloom_set(BetreeRel *bt, Buffer nodebuf, Buffer leafbuf);
extern void betree_bloom_forget(BetreeRel *bt, Buffer nodebuf,
								BlockNumber leafblk);

#endif							/* BETREE_BLOOM_H */
