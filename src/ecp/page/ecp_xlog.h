/*-------------------------------------------------------------------------
 *
 * ecp_xlog.h
 *	  Changes of pages: each function is one kind of WAL record.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_XLOG_H
#define ECP_XLOG_H

#include "access/generic_xlog.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "storage/bufmgr.h"

extern void ecp_xlog_set_freed(GenericXLogState *xlog, Buffer page0);
extern bool ecp_xlog_learn(Relation index, EcpIndexState *state,
						   uint32 nslots);
extern bool ecp_xlog_put(Relation index, const EcpIndexState *state,
						 int level, Buffer page0, const EcpSlotItem *item,
						 uint32 stop_slot, uint32 *filled);
extern Buffer ecp_xlog_vector_page(Relation index, GenericXLogState *xlog,
								   const EcpGeometry *geo, Buffer page0,
								   uint32 pageno, uint32 offset,
								   const char *data, uint32 bytes);
extern void ecp_xlog_summary_put(Relation index, const EcpIndexState *state,
								 Buffer head, uint32 slot, const char *summary);
extern void ecp_xlog_summary_add(Relation index, const EcpIndexState *state,
								 Buffer head, uint32 slot, const char *summary);
extern void ecp_xlog_run_add(Relation index, const EcpIndexState *state,
							 Buffer last, uint32 nslots);
extern void ecp_xlog_kill(Relation index, Buffer buffer,
						  const EcpGeometry *geo, const uint64 *keep);
extern void ecp_xlog_hint(Relation index, Buffer page0, uint32 free_hint);
extern void ecp_xlog_run_append(Relation index, Buffer last, BlockNumber blk,
								uint64 run);
extern void ecp_xlog_begin(Relation index, EcpIntentData *intent, int nruns);
extern void ecp_xlog_alloc(Relation index, int which, uint32 npages,
						   EcpIntentData *intent);
extern void ecp_xlog_fill(Relation index, BlockNumber blk, char *pages,
						  uint32 npages);
extern void ecp_xlog_end_child(Relation index, const EcpIndexState *state,
							   Buffer head, uint32 slot, uint32 vto);
extern void ecp_xlog_close(Relation index, Buffer head);
extern void ecp_xlog_undo_close(Relation index, EcpIntentData *intent);
extern void ecp_xlog_run_undo(Relation index, const EcpRun *run,
							  EcpIntentData *intent);
extern void ecp_xlog_undo_page(Relation index, const EcpIndexState *state,
							   Buffer head, uint32 pageno);
extern void ecp_xlog_undo_begin(Relation index);
extern void ecp_xlog_undo_extent(Relation index, int which,
								 const EcpIntentData *intent);

/* The rest of what PUBLISH writes. */
typedef struct EcpPublish
{
	int			nold;
	Buffer		old[2];			/* exclusively locked heads */
	BlockNumber first_closed;	/* of a group: nold is 0; may be Invalid */
	BlockNumber last_closed;
	uint32		retired_pages;
	bool		root_changes;
	EcpChildData root;
	uint32		root_level;
	int			nleaves_delta;
	int			nbuffers_delta;
} EcpPublish;

extern void ecp_xlog_publish(Relation index, const EcpPublish *publish);
extern void ecp_xlog_stamp(Relation index, BlockNumber head);
extern void ecp_xlog_run_free(Relation index, const EcpRun *run,
							  const EcpRun *predecessor);

#endif							/* ECP_XLOG_H */
