/*-------------------------------------------------------------------------
 *
 * betree_order.h
 *	  An open index, and the order of its tuples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_ORDER_H
#define BETREE_ORDER_H

#include "access/genam.h"
#include "access/itup.h"
#include "betree/page/betree_page.h"
#include "fmgr.h"
#include "storage/block.h"
#include "utils/rel.h"

/* betree_rel.c: what is known of an index while this backend works on it */

/* flush_budget without a limit */
#define BETREE_BUDGET_ALL			INT_MAX

/* how full, in percent, a build makes nodes */
#define BETREE_NODE_FILLFACTOR		70


/*
 * What the functions need to know of an index, copied once per call: nothing
 * of it points into rd_amcache, which an invalidation may free inside any
 * comparison.
 */
typedef struct BetreeRel
{
	Relation	rel;
	TupleDesc	tupdesc;
	int			natts;
	int			nkeyatts;
	int			fillfactor;
	int			log_pages;		/* sealed pages that start a drain; 0 = none */
	int			log_children;	/* if a node has at least this many; 0 =
								 * always.  See betree_rel_log_pages */
	int			log_levels;
	int			tuple_width;	/* guessed from the columns' types */
	int			pivot_width;	/* the same of the key columns */
	int			fixed_size;		/* of all tuples without NULLs, or 0 */
	int			built_width;	/* mean tuple that the build saw, else
								 * tuple_width */
	int			flush_budget;	/* batches that an insert moves of a drain */
	bool		inserts_drain;	/* every insert goes on with the drain of its
								 * node; else only the one that sealed */
	Relation	heap;			/* whose dead rows an insert may purge, or
								 * NULL */
	bool		new_version;	/* an insert, of a version whose key has not
								 * changed */
	bool		bloom;			/* nodes of level 1 shall have Bloom pages */
	bool		deduplicate;	/* leaves shall have postings */
	FmgrInfo   *cmp[INDEX_MAX_KEYS];
	Oid			header_type[INDEX_MAX_KEYS];	/* see
												 * betree_key_type_has_header */
	bool		same_bytes;		/* one key column, of fixed length, whose
								 * equal values have the same bytes */
	bool		plain;			/* comparisons run no code but the server's */
	bool		hash_known;		/* the hash functions have been looked for */
	struct BetreeHash *hash;	/* and found, or NULL; see betree_hash_get */
	MemoryContext context;		/* of the hash functions */
} BetreeRel;

extern void betree_rel_init(void);
extern void betree_rel_open(BetreeRel *bt, Relation rel);
extern Page betree_rel_get_root(BetreeRel *bt);
extern void betree_rel_set_root(BetreeRel *bt, Page page);
extern int	betree_rel_log_pages(BetreeRel *bt, int nchildren);
extern bool betree_rel_bloom_choose(Relation rel);
extern void betree_rel_bloom_learn(Relation rel, bool excluded);
extern bool betree_rel_get_hash(Relation rel, int i, Oid *proc, Oid *arg_proc);
extern uint64 betree_rel_catalog_changes(void);
extern void betree_rel_set_hash(Relation rel, int i, Oid proc, Oid arg_proc,
								uint64 catalog);

/* betree_key.c: the order of tuples, pivots and positions */

/*
 * A position in the order of (key, heap TID): "nkeys" attributes, then the
 * TID if has_tid, then minus infinity, or plus infinity if "after".
 */
typedef struct BetreeKey
{
	int			nkeys;
	bool		after;
	bool		has_tid;
	ItemPointerData tid;
	FmgrInfo   *cmp[INDEX_MAX_KEYS];	/* compares (column, value) */
	Datum		value[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
} BetreeKey;

/* A tuple to be sorted, with its first key */
typedef struct BetreeSortItem
{
	IndexTuple	itup;
	Datum		first;
	bool		first_null;
	uint16		order;			/* caller's; of equal ones the higher wins */
} BetreeSortItem;

extern int	betree_key_compare_values(BetreeRel *bt, int i, FmgrInfo *cmp,
									  Datum value, bool isnull, Datum other,
									  bool other_null);
extern Datum betree_key_getattr(BetreeRel *bt, IndexTuple itup, int attno,
								bool *isnull);
extern bool betree_key_type_has_header(Oid type);
extern void betree_key_verify_values(BetreeRel *bt, IndexTuple itup);

/* Check all values of a tuple that is handed to code that does not. */
static inline void
betree_key_verify_tuple(BetreeRel *bt, IndexTuple itup)
{
	if (bt->fixed_size == 0 || IndexTupleHasNulls(itup))
		betree_key_verify_values(bt, itup);
	else if (unlikely(IndexTupleSize(itup) < bt->fixed_size))
		betree_page_report_item(itup);
}

extern int	betree_key_fixed_size(TupleDesc tupdesc);
extern int	betree_key_pivot_natts(BetreeRel *bt, IndexTuple pivot);
extern void betree_key_from_tuple(BetreeRel *bt, IndexTuple itup,
								  BetreeKey *key);
extern void betree_key_from_pivot(BetreeRel *bt, IndexTuple pivot,
								  BetreeKey *key);
extern int	betree_key_compare_tuple(BetreeRel *bt, BetreeKey *key,
									 IndexTuple itup);
extern int	betree_key_compare_row(BetreeRel *bt, BetreeKey *key,
								   IndexTuple itup, ItemPointer tid);
extern OffsetNumber betree_key_find_equal(BetreeRel *bt, Page page,
										  OffsetNumber off, OffsetNumber last,
										  BetreeKey *key);
extern int	betree_key_compare_pivot(BetreeRel *bt, BetreeKey *key,
									 IndexTuple pivot);
extern int	betree_key_order_tuples(BetreeRel *bt, IndexTuple a, IndexTuple b);
extern const char *betree_key_item_complaint(BetreeRel *bt, Page page,
											 OffsetNumber off);
extern bool betree_key_equal_tuples(BetreeRel *bt, IndexTuple a, IndexTuple b);
extern void betree_key_sort(BetreeRel *bt, BetreeSortItem *items, int nitems);
extern int	betree_key_sort_unique(BetreeRel *bt, BetreeSortItem *items, int nitems);
extern int	betree_key_merge_lists(BetreeRel *bt, BetreeSortItem **items,
								   int nitems);
extern void betree_key_item_init(BetreeRel *bt, BetreeSortItem *item,
								 IndexTuple itup, int order);
extern int	betree_key_item_compare(BetreeRel *bt, const BetreeSortItem *a,
									const BetreeSortItem *b);
extern int	betree_key_search_node(BetreeRel *bt, Page page, BetreeKey *key,
								   bool strict);
extern OffsetNumber betree_key_search_page(BetreeRel *bt, Page page,
										   OffsetNumber last, BetreeKey *key);
extern int	betree_key_search_items(BetreeRel *bt, BetreeSortItem *items, int n,
									BetreeKey *key);
extern OffsetNumber betree_key_search_page_hint(BetreeRel *bt, Page page,
												OffsetNumber last,
												OffsetNumber hint,
												BetreeKey *key);
extern OffsetNumber betree_key_search_page_near(BetreeRel *bt, Page page,
												OffsetNumber first,
												OffsetNumber end, int distance,
												BetreeKey *key, bool *found);
extern bool betree_key_node_covers(BetreeRel *bt, Page page, BetreeKey *key);

/* betree_form.c: forming tuples and pivots */

extern IndexTuple betree_form_separator(BetreeRel *bt, IndexTuple left,
										IndexTuple right);
extern IndexTuple betree_form_tuple(BetreeRel *bt, Datum *values,
									bool *isnull, ItemPointer tid,
									Relation heap);

/* betree_hash.c: hashes of keys */

/* Hash functions of the key columns */
typedef struct BetreeHash
{
	uint32		id;				/* stands for all of them */
	FmgrInfo	proc[INDEX_MAX_KEYS];
} BetreeHash;

/*
 * Page number by which predicate locks name all keys with a hash: one that no
 * index reaches that has less than 16 terabytes
 */
#define BetreeHashGetLockBlock(hash)	((BlockNumber) (MaxBlockNumber - ((hash) >> 33)))

extern Oid	betree_hash_proc(BetreeRel *bt, int i, Oid subtype, Oid *arg_proc);
extern bool betree_hash_init(BetreeRel *bt, BetreeHash *hash);
extern BetreeHash *betree_hash_get(BetreeRel *bt);
extern uint64 betree_hash_add(BetreeRel *bt, FmgrInfo *proc, int i,
							  Datum value, bool isnull, uint64 hash);
extern uint64 betree_hash_tuple(BetreeRel *bt, BetreeHash *hash,
								IndexTuple itup);

#endif							/* BETREE_ORDER_H */
