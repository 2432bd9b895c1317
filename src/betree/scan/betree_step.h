/*-------------------------------------------------------------------------
 *
 * betree_step.h
 *	  Steps of a scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_STEP_H
#define BETREE_STEP_H

#include "betree/scan/betree_scan_private.h"

extern void betree_step_init(BetreeScanOpaque so);
extern void betree_step_begin(BetreeScanOpaque so);
extern bool betree_step_read(BetreeScanOpaque so, BetreeScanPage *page,
							 IndexTuple from, ScanDirection dir);
extern void betree_step_restart(BetreeScanOpaque so);
extern void betree_step_forget(BetreeScanOpaque so);
extern void betree_step_page_unpin(BetreeScanPage *page);

#endif							/* BETREE_STEP_H */
