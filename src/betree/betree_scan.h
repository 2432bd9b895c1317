/*-------------------------------------------------------------------------
 *
 * betree_scan.h
 *	  State of an index scan, shared by betree_scan.c, betree_quals.c and
 *	  betree_step.c.
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
	Buffer		pin;			/* leaf, against VACUUM; or invalid */
	Buffer		guard;			/* so->guard when this was read; or invalid */
	MemoryContext context;		/* of all of the above */
} BetreeScanPage;

typedef struct BetreeScanOpaqueData
{
	BetreeRel	bt;

	/* quals, see betree_quals.c */
	bool		prepared;
	bool		impossible;
	BetreeKey	lower;			/* the scan's range: from lower */
	BetreeKey	upper;			/* to before upper */
	ScanKey		filter;			/* quals that the range does not imply */
	int			nfilter;
	bool		hashed;			/* = on all key columns, which can be hashed */
	uint64		hash_value;		/* of the arguments */
	bool		hash_known;		/* the functions have been looked for */
	bool		hash_usable;	/* and found */
	BetreeHash	hash;
	FmgrInfo	hash_arg[INDEX_MAX_KEYS];	/* for the quals' arguments */
	Oid			hash_subtype[INDEX_MAX_KEYS];	/* of these types */
	ScanKey		skip_qual;		/* qual with a skip function, or NULL */
	FmgrInfo	skip_proc;
	MemoryContext qual_context;

	/* position */
	BetreeScanPage *cur;
	int			cur_index;
	BetreeScanPage *mark;
	int			mark_index;
	BetreeScanPage *unused;		/* to be filled by the next step */
	MemoryContext context;		/* of the scan */

	/* reading, see betree_step.c */
	bool		mvcc;			/* snapshot allows TIDs to go stale */
	bool		recheck;		/* what is returned may be another row */
	bool		interlock;		/* index-only: pin leaves against VACUUM */
	Buffer		nodebuf;		/* the last leaf parent, pinned */
	BetreeLogCache logcache;	/* of its log, unless hashed */
	bool		logcache_ready;
	BetreeWalk	walk;			/* since it began, turned, or was restored */
	ScanDirection walk_dir;
	int			nsteps;			/* of the scan; with skip_qual, in nodebuf */
	bool		upper_logs;		/* a node above it had messages */
	BetreeSortItem *messages;	/* from the logs, sorted */
	int			nmessages;
	int			max_messages;
	bool		messages_cached;	/* they reach to the end of the node */
	Buffer		guard;			/* leaf pinned when they were read, if
								 * interlock */
	ScanDirection messages_dir;
	MemoryContext message_context;
	Relation	heap;			/* NULL if the scan has none */
	Snapshot	snapshot;
} BetreeScanOpaqueData;

typedef BetreeScanOpaqueData *BetreeScanOpaque;

/* betree_quals.c */
extern void betree_prepare_quals(IndexScanDesc scan);
extern bool betree_check_filter(BetreeScanOpaque so, IndexTuple itup);
extern bool betree_skip_ahead(BetreeScanOpaque so, BetreeKey *key,
							  bool *moved);

/* betree_step.c */
extern bool betree_scan_step(BetreeScanOpaque so, BetreeScanPage *page,
							 IndexTuple from, ScanDirection dir);
extern void betree_scan_forget(BetreeScanOpaque so);
extern void betree_scan_init_logcache(BetreeScanOpaque so);
extern void betree_scan_page_unpin(BetreeScanPage *page);

#endif							/* BETREE_SCAN_H */
