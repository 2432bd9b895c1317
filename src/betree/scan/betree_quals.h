/*-------------------------------------------------------------------------
 *
 * betree_quals.h
 *	  What the scan keys ask for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_QUALS_H
#define BETREE_QUALS_H

#include "access/relscan.h"
#include "access/sdir.h"
#include "betree/order/betree_hash.h"
#include "betree/order/betree_key.h"
#include "betree/order/betree_rel.h"

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

extern FmgrInfo *betree_quals_cmp(BetreeRel *bt, ScanKey key);
extern void betree_quals_prepare(BetreeRel *bt, BetreeQuals *quals, IndexScanDesc scan);
extern bool betree_quals_jump(BetreeRel *bt, BetreeQuals *quals);
extern int	betree_quals_last_child(BetreeRel *bt, BetreeQuals *quals, Page node, int child,
									ScanDirection dir);
extern uint64 betree_quals_hash(BetreeRel *bt, BetreeQuals *quals, BetreeKey *key);
extern bool betree_quals_match(BetreeRel *bt, BetreeQuals *quals, IndexTuple itup);
extern bool betree_quals_skip(BetreeRel *bt, BetreeQuals *quals, IndexTuple from,
							  ScanDirection dir, BetreeKey *key, bool *moved);

#endif							/* BETREE_QUALS_H */
