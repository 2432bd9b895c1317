/*-------------------------------------------------------------------------
 *
 * betree_scan.h
 *	  State of an index scan, shared by betree_scan.c, betree_quals.c,
 *	  betree_array.c and betree_step.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_SCAN_H
#define BETREE_SCAN_H

#include "betree/betree.h"

#include "access/relscan.h"
#include "access/sdir.h"

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

/* Hash functions for = on all key columns, kept from one rescan to the next */
typedef struct BetreeQualHash
{
	BetreeHash	own;			/* of the columns */
	FmgrInfo	arg[INDEX_MAX_KEYS];	/* of the quals' arguments */
	Oid			subtype[INDEX_MAX_KEYS];	/* of these types */
} BetreeQualHash;

/* Elements of an array qual, not NULL; in index order if "cmp" is set */
typedef struct BetreeArray
{
	Datum	   *values;
	int			nvalues;
	FmgrInfo   *cmp;			/* compares (column, element) */
} BetreeArray;

/* The argument of a qual that betree_array_prepare() has left its array */
#define BetreeQualGetArray(key) 	((BetreeArray *) DatumGetPointer((key)->sk_argument))

/*
 * What the scan keys ask for; written by betree_quals.c and betree_array.c.
 *
 * Mostly unused array space; members from "lower" on are not zeroed.
 */
typedef struct BetreeQuals
{
	bool		impossible;
	BetreeArray *sets;			/* of leading columns that have =, if ... */
	int			nsets;			/* ... one has an array, else 0 */
	ScanKey		filter;			/* quals that the range does not imply */
	int			nfilter;
	ScanKey		skip_qual;		/* qual with a skip function, or NULL */
	bool		hashed;			/* = on all key columns, which can be hashed */
	uint64		hash_value;		/* of the arguments */
	bool		window_hashed;	/* the same, with arrays: each window has one */
	bool		hash_known;		/* the functions have been looked for */
	bool		hash_usable;	/* and found */
	MemoryContext context;
	BetreeKey	lower;			/* the scan's range: from lower */
	BetreeKey	upper;			/* to before upper */
	int			chosen[INDEX_MAX_KEYS]; /* element of each set, of the window: */
	BetreeKey	window_low;		/* the part of the range that was last found */
	BetreeKey	window_high;	/* to have these elements */
	FmgrInfo	skip_proc;
	BetreeQualHash hash;
} BetreeQuals;

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
 *									the next step  for the rest (cached); at
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
	int			log_pages;		/* sealed pages that this step has read */
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

	BetreeParallelScan parallel;	/* or NULL */
	IndexTuple	part_end;		/* of our part, NULL for the range's */

	BetreeReader reader;
	BetreeQuals quals;			/* the last: see there */
} BetreeScanOpaqueData;

typedef BetreeScanOpaqueData *BetreeScanOpaque;

/* betree_quals.c */
extern FmgrInfo *betree_quals_cmp(BetreeRel *bt, ScanKey key);
extern void betree_quals_prepare(IndexScanDesc scan);
extern bool betree_quals_jump(BetreeScanOpaque so);
extern int	betree_quals_last_child(BetreeScanOpaque so, Page node, int child,
									ScanDirection dir);
extern uint64 betree_quals_hash(BetreeScanOpaque so, BetreeKey *key);
extern bool betree_quals_match(BetreeScanOpaque so, IndexTuple itup);
extern bool betree_quals_skip(BetreeScanOpaque so, IndexTuple from,
							  ScanDirection dir, BetreeKey *key, bool *moved);

/* betree_array.c */
extern bool betree_array_prepare(BetreeRel *bt, ScanKey key);
extern bool betree_array_accepts(BetreeRel *bt, ScanKey key, Datum value);
extern void betree_array_begin(BetreeQuals *quals);
extern bool betree_array_seek(BetreeScanOpaque so, IndexTuple pivot,
							  ScanDirection dir);
extern bool betree_array_narrow(BetreeScanOpaque so, IndexTuple lower,
								IndexTuple upper, BetreeKey *low);
extern bool betree_array_probe(BetreeScanOpaque so, Page node, IndexTuple upper,
							   uint16 *from, bool *hit);
extern bool betree_array_covers(BetreeScanOpaque so, IndexTuple itup);
extern OffsetNumber betree_array_skip(BetreeScanOpaque so, Page page,
									  OffsetNumber off, OffsetNumber last,
									  IndexTuple upper);

/* betree_parallel.c */
extern Size betreeestimateparallelscan(ECP_ESTIMATE_PARALLEL_SCAN_ARGS);
extern void betreeinitparallelscan(void *target);
extern void betreeparallelrescan(IndexScanDesc scan);
extern BetreeParallelScan betree_parallel_state(IndexScanDesc scan);
extern bool betree_parallel_next(BetreeScanOpaque so, ScanDirection dir,
								 IndexTuple *from);

/* betree_collect.c */
extern void betree_collect_reset(BetreeScanOpaque so);
extern void betree_collect_log(BetreeScanOpaque so, Page node, int first, int last);
extern void betree_collect_finish(BetreeScanOpaque so);

/* betree_merge.c */
extern void betree_merge_leaf(BetreeScanOpaque so, BetreeScanPage *page, Page leaf,
							  BetreeKey *from, BetreeKey *to);

/* betree_step.c */
extern void betree_step_init(BetreeScanOpaque so);
extern void betree_step_begin(BetreeScanOpaque so);
extern bool betree_step_read(BetreeScanOpaque so, BetreeScanPage *page,
							 IndexTuple from, ScanDirection dir);
extern void betree_step_restart(BetreeScanOpaque so);
extern void betree_step_forget(BetreeScanOpaque so);
extern void betree_step_page_unpin(BetreeScanPage *page);

#endif							/* BETREE_SCAN_H */
