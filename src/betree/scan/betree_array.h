/*-------------------------------------------------------------------------
 *
 * betree_array.h
 *	  Scan keys with arrays.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_ARRAY_H
#define BETREE_ARRAY_H

#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"
#include "betree/scan/betree_quals.h"

extern bool betree_array_prepare(BetreeRel *bt, ScanKey key);
extern bool betree_array_accepts(BetreeRel *bt, ScanKey key, Datum value);
extern void betree_array_begin(BetreeQuals *quals);
extern bool betree_array_seek(BetreeRel *bt, BetreeQuals *quals, IndexTuple pivot,
							  ScanDirection dir);
extern bool betree_array_narrow(BetreeRel *bt, BetreeQuals *quals, IndexTuple lower,
								IndexTuple upper, BetreeKey *low);
extern bool betree_array_probe(BetreeRel *bt, BetreeQuals *quals, Page node, IndexTuple upper,
							   uint16 *from, bool *hit);
extern bool betree_array_enter(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup);
extern OffsetNumber betree_array_skip(BetreeRel *bt, BetreeQuals *quals, Page page,
									  OffsetNumber off, OffsetNumber last,
									  IndexTuple upper);

#endif							/* BETREE_ARRAY_H */
