/*-------------------------------------------------------------------------
 *
 * betree_scan_private.h
 *	  State of an index scan, for the files that work on it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_SCAN_PRIVATE_H
#define BETREE_SCAN_PRIVATE_H

#include "access/relscan.h"
#include "access/sdir.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/tree/betree_tree.h"
#include "utils/snapshot.h"

/* betree_quals.c: what the scan keys ask for */

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
#define BetreeQualGetArray(key) \
	((BetreeArray *) DatumGetPointer((key)->sk_argument))

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
	MemoryContext context;		/* reset by betree_quals_prepare() */
	MemoryContext hash_context; /* of the scan */
	BetreeKey	lower;			/* the scan's range: from lower */
	BetreeKey	upper;			/* to before upper */
	int			chosen[INDEX_MAX_KEYS]; /* element of each set, of the window: */
	BetreeKey	window_low;		/* the part of the range that was last found */
	BetreeKey	window_high;	/* to have these elements */
	FmgrInfo	skip_proc;
	BetreeQualHash hash;
} BetreeQuals;

extern FmgrInfo *betree_quals_family_cmp(BetreeRel *bt, int i, Oid left, Oid right);
extern FmgrInfo *betree_quals_cmp(BetreeRel *bt, ScanKey key);
extern void betree_quals_prepare(BetreeRel *bt, BetreeQuals *quals, IndexScanDesc scan);
extern bool betree_quals_jump(BetreeRel *bt, BetreeQuals *quals);
extern int	betree_quals_last_child(BetreeRel *bt, BetreeQuals *quals, Page node, int child,
									ScanDirection dir);
extern uint64 betree_quals_hash(BetreeRel *bt, BetreeQuals *quals, BetreeKey *key);
extern bool betree_quals_match(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup);
extern bool betree_quals_skip(BetreeRel *bt, BetreeQuals *quals, IndexTuple from,
							  ScanDirection dir, BetreeKey *key, bool *moved);

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

/* What the processes of a parallel scan share, see betree_scan.c */
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

/* betree_array.c: scan keys with arrays */

extern bool betree_array_prepare(BetreeRel *bt, ScanKey key);
extern bool betree_array_accepts(BetreeRel *bt, ScanKey key, Datum value);
extern void betree_array_begin(BetreeQuals *quals);
extern bool betree_array_seek(BetreeRel *bt, BetreeQuals *quals, IndexTuple pivot,
							  ScanDirection dir);
extern bool betree_array_narrow(BetreeRel *bt, BetreeQuals *quals, IndexTuple lower,
								IndexTuple upper, BetreeKey *low);
extern bool betree_array_probe(BetreeRel *bt, BetreeQuals *quals, Page node, IndexTuple upper,
							   uint16 *from, bool *hit);
extern bool betree_array_enter(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup);
extern OffsetNumber betree_array_skip(BetreeRel *bt, BetreeQuals *quals, Page page,
									  OffsetNumber off, OffsetNumber last,
									  IndexTuple upper);

/* betree_collect.c: collecting messages from logs */

extern void betree_collect_reset(BetreeScanOpaque so);
extern void betree_collect_log(BetreeScanOpaque so, Page node, int first, int last);
extern void betree_collect_finish(BetreeScanOpaque so);

/* betree_merge.c: merging a leaf with collected messages */

extern void betree_merge_leaf(BetreeScanOpaque so, BetreeScanPage *page, Page leaf,
							  BetreeKey *from, BetreeKey *to);

/* betree_step.c: steps of a scan */

extern void betree_step_init(BetreeScanOpaque so);
extern void betree_step_begin(BetreeScanOpaque so);
extern bool betree_step_read(BetreeScanOpaque so, BetreeScanPage *page,
							 IndexTuple from, ScanDirection dir);
extern void betree_step_restart(BetreeScanOpaque so);
extern void betree_step_forget(BetreeScanOpaque so);
extern bool betree_step_is_last(BetreeScanOpaque so, IndexTuple bound, ScanDirection dir);
extern void betree_step_page_unpin(BetreeScanPage *page);

#endif							/* BETREE_SCAN_PRIVATE_H */
