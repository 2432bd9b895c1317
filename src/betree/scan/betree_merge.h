/*-------------------------------------------------------------------------
 *
 * betree_merge.h
 *	  Merging a leaf with collected messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_MERGE_H
#define BETREE_MERGE_H

#include "betree/order/betree_key.h"
#include "betree/scan/betree_scan_private.h"

extern void betree_merge_leaf(BetreeScanOpaque so, BetreeScanPage *page, Page leaf,
							  BetreeKey *from, BetreeKey *to);

#endif							/* BETREE_MERGE_H */
