/*-------------------------------------------------------------------------
 *
 * betree_block.h
 *	  Reading, checking, locking and allocating pages; the indexes in use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BLOCK_H
#define BETREE_BLOCK_H

#include "base/compat.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

extern void betree_block_lock(Relation index, Buffer buf, int lockmode);
extern bool betree_block_tid_exists(Relation heap, ItemPointer tid);
extern BlockNumber betree_block_tid_limit(Relation heap);
extern void betree_block_verify(Relation index, BlockNumber blkno);
extern Buffer betree_block_pin(Relation index, BlockNumber blkno);
extern Buffer betree_block_read(Relation index, BlockNumber blkno, int lockmode,
								int kind);
pg_noreturn extern void betree_block_report(Relation index, Buffer buf);
extern Buffer betree_block_read_passing(Relation index, BlockNumber blkno,
										int lockmode, int kind);
extern BlockNumber betree_block_last_count(Relation rel);
extern Buffer betree_block_read_child(Relation index, Page node, int child,
									  int lockmode);
extern void betree_block_verify_page(Relation index, Buffer buf, int kind,
									 int level);
extern Buffer betree_block_alloc(Relation index);
extern void betree_block_free(Relation index, BlockNumber blkno);
pg_noreturn extern void betree_block_report_order(Relation index, BlockNumber blkno);

/* betree_entry.c: the indexes that this backend works on */

extern void betree_entry_refuse(Relation rel);
extern void betree_entry_begin(Relation rel);
extern void betree_entry_end(Relation rel);
extern Relation betree_entry_index(void);

#endif							/* BETREE_BLOCK_H */
