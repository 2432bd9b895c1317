/*-------------------------------------------------------------------------
 *
 * betree_collect.h
 *	  Collecting messages from logs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_COLLECT_H
#define BETREE_COLLECT_H

#include "betree/scan/betree_scan_private.h"

extern void betree_collect_reset(BetreeScanOpaque so);
extern void betree_collect_log(BetreeScanOpaque so, Page node, int first, int last);
extern void betree_collect_finish(BetreeScanOpaque so);

#endif							/* BETREE_COLLECT_H */
