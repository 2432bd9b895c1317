/*-------------------------------------------------------------------------
 *
 * betree_filter.h
 *	  Fingerprints of the sealed pages of a log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_FILTER_H
#define BETREE_FILTER_H

#include "betree/order/betree_hash.h"
#include "betree/order/betree_rel.h"
#include "storage/buf.h"
#include "storage/bufpage.h"

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

#endif							/* BETREE_FILTER_H */
