/*-------------------------------------------------------------------------
 *
 * ecp_run.h
 *	  Runs: page 0 and its header, entry pages, exact vectors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RUN_H
#define ECP_RUN_H

#include "ecp/page/ecp_page.h"

/* Page 0 of a run, as it was when it was read. */
typedef struct EcpRun
{
	BlockNumber blk;
	uint64		run;
	EcpRunHeaderData header;
} EcpRun;

extern void ecp_run_init(Page page, const EcpGeometry *geo, int level,
						 uint64 run, uint64 head_run, uint32 nslots);
extern Buffer ecp_run_page_get(Relation index, int kind, BlockNumber blk,
							   uint64 run, uint32 pageno, int lockmode);
extern Buffer ecp_run_lock(Relation index, BlockNumber blk, uint64 run);

/* Check the header of a run. */
extern void ecp_run_check_header(Relation index, Buffer buffer,
								 const EcpGeometry *geo);
extern bool ecp_run_read(Relation index, const EcpIndexState *state,
						 int level, BlockNumber blk, uint64 run,
						 Buffer held, EcpRun *out);
extern bool ecp_run_read_page(Relation index, const EcpIndexState *state,
							  int level, BlockNumber blk, uint64 run,
							  Buffer held, EcpRun *out, char *copy);
extern uint32 ecp_run_page_slots(const EcpGeometry *geo, const EcpRun *run,
								 uint32 pageno);
extern bool ecp_run_copy_page(Relation index, const EcpRun *run,
							  uint32 pageno, Buffer held, char *copy);
extern void ecp_run_read_vector(Relation index, const EcpGeometry *geo,
								const EcpRun *run, const EcpEntryView *view,
								uint32 slot, char *vector);

#endif							/* ECP_RUN_H */
