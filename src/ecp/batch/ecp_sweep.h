/*-------------------------------------------------------------------------
 *
 * ecp_sweep.h
 *	  A pass over blocks of a relation in ascending order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SWEEP_H
#define ECP_SWEEP_H

#include "storage/bufmgr.h"
#include "utils/relcache.h"

/*
 * A pass over blocks of a relation in ascending order: on a device where a
 * seek costs more than reading what lies between, it reads that, too.
 */
typedef struct EcpSweep
{
	Relation	rel;
	BufferAccessStrategy strategy;	/* for blocks between those wanted */
	BlockNumber next;			/* behind the last one read */
	BlockNumber gap;			/* blocks to read rather than to skip */
	int			distance;		/* blocks or clusters to prefetch */
	int			cold;			/* blocks or clusters to prefetch on */
	int64		missed;			/* reads when the last block was asked for */
} EcpSweep;

extern void ecp_sweep_init(EcpSweep *sweep, Relation rel);
extern void ecp_sweep_to(EcpSweep *sweep, BlockNumber blk, uint32 npages);
extern void ecp_sweep_end(EcpSweep *sweep);
extern void ecp_sweep_read(Relation rel, BlockNumber *blocks, Size n);

/* Are pages being read from the device, so that prefetching pays? */
#define EcpSweepIsCold(sweep)	((sweep)->cold > 0 && (sweep)->distance > 0)

/* Would the kernel not read "blk" ahead by itself? */
#define EcpSweepIsJump(sweep, end, blk) \
	((blk) < (end) || (blk) - (end) > (sweep)->gap)

#endif							/* ECP_SWEEP_H */
