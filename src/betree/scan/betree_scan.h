/*-------------------------------------------------------------------------
 *
 * betree_scan.h
 *	  Index scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_SCAN_H
#define BETREE_SCAN_H

#include "access/genam.h"
#include "access/itup.h"
#include "access/relscan.h"
#include "access/sdir.h"
#include "base/compat.h"
#include "nodes/tidbitmap.h"

extern IndexScanDesc betreebeginscan(Relation rel, int nkeys, int norderbys);
extern void betreerescan(IndexScanDesc scan, ScanKey scankey, int nscankeys,
						 ScanKey orderbys, int norderbys);
extern bool betreegettuple(IndexScanDesc scan, ScanDirection dir);
extern int64 betreegetbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void betreeendscan(IndexScanDesc scan);
extern void betreemarkpos(IndexScanDesc scan);
extern void betreerestrpos(IndexScanDesc scan);
extern bool betreecanreturn(Relation index, int attno);

extern Size betreeestimateparallelscan(ECP_ESTIMATE_PARALLEL_SCAN_ARGS);
extern void betreeinitparallelscan(void *target);
extern void betreeparallelrescan(IndexScanDesc scan);

#endif							/* BETREE_SCAN_H */
