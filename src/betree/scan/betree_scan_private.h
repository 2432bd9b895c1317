/*-------------------------------------------------------------------------
 *
 * betree_scan_private.h
 *	  State of an index scan, for the files that work on it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_SCAN_PRIVATE_H
#define BETREE_SCAN_PRIVATE_H

#include "betree/log/betree_log_cache.h"
#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"
#include "betree/scan/betree_quals.h"
#include "betree/tree/betree_walk.h"
#include "utils/snapshot.h"

typedef struct BetreeScanItem
{
	ItemPointerData tid;
	IndexTuple	itup;			/* only for index-only scans */
} BetreeScanItem;

/*
 * What one step of a scan has read: the matching items of one leaf and of the
 * logs above it, between two bounds.
 */
typedef struct BetreeScanPage
{
	IndexTuple	low;			/* bounds of the key range that was read */
	IndexTuple	high;
	BetreeScanItem *items;
	int			nitems;
	int			max_items;
	char	   *leaf;			/* page for copies of the leaf's tuples, where
								 * they were; or NULL */
	Buffer		pin;			/* leaf, against VACUUM; or invalid */
	Buffer		guard;			/* of the messages, when this was read; or
								 * invalid */
	MemoryContext context;		/* of the bounds and single tuples */
} BetreeScanPage;

/* Messages collected from logs, sorted; written by betree_collect.c */
typedef struct BetreeMessages
{
	BetreeSortItem *items;
	int			nitems;
	int			max_items;
	char	   *space;			/* for copies of tuples */
	Size		space_left;
	Size		space_size;		/* of the last chunk of it */
	bool		cached;			/* they are all that the node had ... */
	ScanDirection dir;			/* in this direction ... */
	IndexTuple	end;			/* up to this bound, in the context below */
	Buffer		guard;			/* if cached and so->interlock: the leaf that
								 * was pinned when they were read */
	MemoryContext context;
} BetreeMessages;

/*
 * What is kept from one step to the next; written by betree_step.c.
 *
 * How much that is depends on the scan (so->mvcc, quals.hashed) and on what it
 * has met (upper_logs):
 *
 *	mvcc hashed upper_logs	leaf parent	 log pins  messages collected
 *	no	 any	any			looked up	 none	   for the leaf, each step
 *	yes	 any	yes			looked up	 none	   for the leaf, each step
 *	yes	 yes	no			remembered	 none	   for the first leaf by the
 *												   filter, then for the rest of
 *												   the node (cached)
 *	yes	 no		no			remembered	 kept for  for the first leaf, then
 *									later steps	   for the next ones (cached); at
 *												   once if the log is longer
 *												   than may be pinned
 *
 * With windows (quals.nsets), "the rest" comes after as many reads of log pages
 * without a filter as the log has pages, and window_hashed is not hashed.
 *
 * With so->interlock, each row of the table holds a pin on the leaf that is
 * read, and a guard while messages are cached.
 */
typedef struct BetreeReader
{
	Buffer		nodebuf;		/* the last leaf parent, pinned */
	bool		upper_logs;		/* a node above it had messages */
	IndexTuple	leaf_low;		/* bounds of the leaf for which those were */
	IndexTuple	leaf_high;		/* collected, in messages.context, or NULL */
	int			nahead;			/* children behind its own that the next step
								 * collects for */
	int			nsteps;			/* of the scan; with skip_qual, in nodebuf */
	int			nreads;			/* of log pages without a filter, in nodebuf */
	bool		keep_log_pins;	/* mvcc and not hashed */
	BetreeLogCache log_cache;	/* the pins; nodebuf's log */
	BetreeWalk	walk;			/* since it began, turned, or was restored */
	ScanDirection walk_dir;
	BetreeMessages messages;
} BetreeReader;

/* What the processes of a parallel scan share, see betree_parallel.c */
typedef struct BetreeParallelScanData *BetreeParallelScan;

/* The scan; what is not in a struct of its own is written by betree_scan.c */
typedef struct BetreeScanOpaqueData
{
	BetreeRel	bt;
	MemoryContext context;		/* of the scan */

	/* set when it begins, after each amrescan */
	bool		begun;
	bool		mvcc;			/* snapshot allows TIDs to go stale */
	bool		recheck;		/* what is returned may be another row */
	bool		interlock;		/* index-only: pin leaves against VACUUM */
	Relation	heap;			/* NULL if the scan has none */
	BlockNumber heap_blocks;	/* betree_block_tid_limit(), or 0 */
	Snapshot	snapshot;

	/* position */
	BetreeScanPage *cur;
	int			cur_index;
	BetreeScanPage *mark;
	int			mark_index;
	BetreeScanPage *unused;		/* to be filled by the next step */
	ItemPointerData *killed;	/* rows of the current one that are dead to
								 * everyone */
	int			nkilled;
	int			max_killed;

	BetreeParallelScan parallel;	/* or NULL */
	IndexTuple	part_end;		/* of our part, NULL for the range's */

	BetreeReader reader;
	BetreeQuals quals;			/* the last: see there */
} BetreeScanOpaqueData;

typedef BetreeScanOpaqueData *BetreeScanOpaque;

#endif							/* BETREE_SCAN_PRIVATE_H */
