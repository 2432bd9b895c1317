/*-------------------------------------------------------------------------
 *
 * betree_parallel.h
 *	  Parallel scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_PARALLEL_H
#define BETREE_PARALLEL_H

#include "access/genam.h"
#include "access/itup.h"
#include "access/sdir.h"
#include "base/compat.h"

struct BetreeScanOpaqueData;
struct BetreeParallelScanData;

extern Size betreeestimateparallelscan(ECP_ESTIMATE_PARALLEL_SCAN_ARGS);
extern void betreeinitparallelscan(void *target);
extern void betreeparallelrescan(IndexScanDesc scan);
extern struct BetreeParallelScanData *betree_parallel_state(IndexScanDesc scan);
extern bool betree_parallel_next(struct BetreeScanOpaqueData *so, ScanDirection dir,
								 IndexTuple *from);

#endif							/* BETREE_PARALLEL_H */
