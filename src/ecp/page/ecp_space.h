/*-------------------------------------------------------------------------
 *
 * ecp_space.h
 *	  The block map, and the first touch of pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SPACE_H
#define ECP_SPACE_H

#include "access/generic_xlog.h"
#include "storage/bufmgr.h"

/* Free blocks found, their map page exclusively locked but not changed. */
typedef struct EcpExtent
{
	Buffer		map;
	bool		map_is_new;		/* to be initialised in the same record */
	uint32		mapno;
	BlockNumber blk;
	uint32		npages;
} EcpExtent;

extern void ecp_space_find(Relation index, uint32 hint, uint32 npages,
						   EcpExtent *extent);
extern Page ecp_space_register(Relation index, GenericXLogState *xlog,
							   const EcpExtent *extent);
extern void ecp_space_mark(Relation index, Page map, BlockNumber blk,
						   uint32 npages, bool used);
extern uint64 ecp_space_owner(Page page);
extern void ecp_space_check_free(Relation index, Buffer buffer);
extern Buffer ecp_space_map_lock(Relation index, BlockNumber blk, int lockmode);
extern uint64 ecp_space_count_used(Relation index);
extern BlockNumber ecp_space_end(Relation index, uint32 hint);

/*
 * Return "blk" of the main fork, exclusively locked, to be initialised by the
 * caller with a full image.  Extends the relation if it is too short (under the
 * extension lock).
 */
extern Buffer ecp_space_new_buffer(Relation index, BlockNumber blk);

#endif							/* ECP_SPACE_H */
