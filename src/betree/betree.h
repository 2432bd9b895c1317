/*-------------------------------------------------------------------------
 *
 * betree.h
 *	  Private declarations of the betree access method, grouped by file.
 *
 * See src/betree/README for the algorithms, the invariants and the order in
 * which locks are taken.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_H
#define BETREE_H

#include "betree/betree_page.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/generic_xlog.h"
#include "access/reloptions.h"
#include "access/skey.h"
#include "base/core_buffer.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "base/user_index.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * Operator classes: strategies 1 to 5 are btree's; the others are quals that
 * do not follow the order.  Support functions 1 to 6 have btree's meaning,
 * which the server insists on; of those we use 1, 2, 4 and 5.
 */
#define BETREE_STRATEGY_MAX		12

#define BETREE_ORDER_PROC		1
#define BETREE_SORTSUPPORT_PROC	2
#define BETREE_EQUALIMAGE_PROC	4
#define BETREE_OPTIONS_PROC		5
#define BETREE_SKIP_PROC		7	/* f(internal) returns boolean, see
									 * BetreeSkip */
#define BETREE_NPROCS			7

/* Blocks that a walk over the index has met, of the first "nblocks". */
typedef struct BetreeBlockSet
{
	BlockNumber nblocks;
	uint8	   *bits;
} BetreeBlockSet;

/* Empty, in the current context. */
static inline void
betree_block_set_init(BetreeBlockSet *set, BlockNumber nblocks)
{
	set->nblocks = nblocks;
	set->bits = palloc_extended(nblocks / 8 + 1,
								MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static inline bool
betree_block_set_has(const BetreeBlockSet *set, BlockNumber blkno)
{
	return blkno < set->nblocks &&
		(set->bits[blkno / 8] & (1 << (blkno % 8))) != 0;
}

/* Blocks that came into being during the walk are passed over. */
static inline void
betree_block_set_add(BetreeBlockSet *set, BlockNumber blkno)
{
	if (blkno < set->nblocks)
		set->bits[blkno / 8] |= 1 << (blkno % 8);
}

/*
 * Argument of support function 7, for quals with strategies above 5.
 *
 * In: the qual (sk_strategy, sk_argument) and a value of the column, or
 * have_value = false for "before all values".  Out: in "value" the smallest
 * value, not below the given one, that may satisfy the qual; the function's
 * result is false if there is none.  It may err by naming a value that fails,
 * never by passing over one that satisfies.  A result by reference is
 * allocated in the current context.
 */
typedef struct BetreeSkip
{
	ScanKey		qual;
	bool		have_value;
	Datum		value;
} BetreeSkip;

/* reloptions; -1 = chosen from the tuple's width and the profile */
typedef struct BetreeOptions
{
	int32		vl_len_;
	int			fillfactor;
	int			log_pages;
	int			log_levels;
	int			flush_budget;
	bool		bloom;
	bool		deduplicate;
} BetreeOptions;

#define BETREE_FILLFACTOR_MIN		10
#define BETREE_FILLFACTOR_DEFAULT	90
#define BETREE_FILLFACTOR_MAX		100
#define BETREE_NODE_FILLFACTOR		70
#define BETREE_LOG_PAGES_AUTO	(-1)
#define BETREE_LOG_PAGES_MAX		128
#define BETREE_LOG_LEVELS_DEFAULT 1
#define BETREE_LOG_LEVELS_MAX	16
#define BETREE_FLUSH_BUDGET_DEFAULT	16
#define BETREE_FLUSH_BUDGET_MAX		10000
#define BETREE_BUDGET_ALL			INT_MAX

/* Hash functions of the key columns, see betree_filter.c */
typedef struct BetreeHash
{
	uint32		id;				/* stands for all of them */
	FmgrInfo	proc[INDEX_MAX_KEYS];
} BetreeHash;

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
	bool		bloom;			/* nodes of level 1 shall have Bloom pages */
	bool		deduplicate;	/* leaves shall have postings */
	FmgrInfo   *cmp[INDEX_MAX_KEYS];
	Oid			header_type[INDEX_MAX_KEYS];	/* see
												 * betree_key_type_has_header */
	bool		same_bytes;		/* one key column, of fixed length, whose
								 * equal values have the same bytes */
	bool		hash_known;		/* the hash functions have been looked for */
	BetreeHash *hash;			/* and found, or NULL; see betree_filter_hash */
	MemoryContext context;		/* of the hash functions */
} BetreeRel;

/* An index that this backend works on; functions may nest several */
typedef struct BetreeEntry
{
	Relation	rel;
	struct BetreeEntry *outer;
} BetreeEntry;

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

/* Called with each NODE on the way down, while it is locked */
typedef void (*BetreeVisit) (void *arg, Buffer nodebuf);

/* A walk over the tree that goes on where its last step ended */
typedef struct BetreeWalk
{
	MemoryContext context;
	IndexTuple	seen;			/* a bound that it has passed, or NULL */
	uint64		nsteps;
} BetreeWalk;

/* A tuple to be sorted, with its first key */
typedef struct BetreeSortItem
{
	IndexTuple	itup;
	Datum		first;
	bool		first_null;
	uint16		order;			/* caller's; of equal ones the higher wins */
} BetreeSortItem;

/* Messages of one child, collected from the log of its parent */
typedef struct BetreeBatch
{
	int			nitems;
	int			space;			/* of the items, with item pointers */
	int			max_space;		/* of "data" */
	bool		set_marker;		/* the items come from the node's log */
	uint16		upto;			/* they are all it had up to this number */
	bool		complete;		/* and that is the newest sealed page */
	BetreeSortItem *items;		/* MaxIndexTuplesPerPage for each page */
	char	   *data;			/* copies of the tuples */
	int			data_used;
} BetreeBatch;

/* Can the tuple be appended to this tail? */
static inline bool
betree_log_tail_has_room(Page page, IndexTuple itup)
{
	PageHeader	header = (PageHeader) page;

	return header->pd_upper - header->pd_lower >= BetreeTupleSpace(itup) &&
		PageGetMaxOffsetNumber(page) < BETREE_LOG_PAGE_MAX_ITEMS;
}

/* The check of a tuple that goes into a unique index */
typedef struct BetreeUnique
{
	BetreeRel  *bt;
	Relation	heap;
	IndexTuple	itup;
	IndexUniqueCheck mode;
	int			level;			/* of the gate, if we go there from the root */
	bool		hashed;
	uint64		hash;

	/* what was found */
	bool		unique;			/* no row that counts, or may count */
	bool		done;			/* no need to look further */
	bool		found;			/* UNIQUE_CHECK_EXISTING: the row's own entry */
	bool		conflict;		/* a row that counts */
	TransactionId wait;			/* to be waited for before we know */
	uint32		token;			/* if it inserts speculatively */

	/* what is locked */
	Buffer		gate;
	Buffer		target;			/* the node that the tuple belongs to */

	/* the tuple, and the bounds of all that have its key */
	BetreeKey	place;
	BetreeKey	low;
	BetreeKey	high;
} BetreeUnique;

/*
 * A scan whose first step reads as many sealed pages of a node, or more, merges
 * some of them into a run (betree_run.c), if those are BETREE_RUN_MIN runs and
 * pages at least.
 */
#ifdef BETREE_TINY
#define BETREE_RUN_READS	2
#define BETREE_RUN_MIN		2
#else
#define BETREE_RUN_READS	5
#define BETREE_RUN_MIN		3
#endif

/* bounds of a batch that takes all of a log */
#define BETREE_LOG_MAX_SPACE	(BETREE_NCAP_MAX * BetreePageCapacity)
#define BETREE_LOG_MAX_ITEMS	(BETREE_NCAP_MAX * (int) MaxIndexTuplesPerPage)

/*
 * Pins on the pages of a log, by directory entry, and where the last child's
 * items ended
 */
typedef struct BetreeLogCache
{
	int			npins;			/* size of the arrays */
	Buffer	   *buf;
	OffsetNumber *hint;
	BlockNumber *blkno;			/* page that the hint belongs to */
} BetreeLogCache;

/* a node's children, and the first one of the next node */
#define BETREE_BLOOM_BUILD_SLOTS	(MaxIndexTuplesPerPage + 1)

/* Bloom filters of leaves of a build, see betree_bloom.c */
typedef struct BetreeBloomSlots
{
	int			bytes;			/* of a slot's bits */
	int			nslots;
	char	   *slots;			/* BETREE_BLOOM_BUILD_SLOTS */
} BetreeBloomSlots;

/* betree_handler.c */
extern Datum betreehandler(PG_FUNCTION_ARGS);

/* betree_options.c */
extern void betree_options_init(void);
extern bytea *betreeoptions(Datum reloptions, bool validate);
extern int	betree_options_node_ncap(BetreeRel *bt, int level);
extern int	betree_options_drain_threshold(BetreeRel *bt, Page page,
										   BlockNumber blkno);

/* betree_rel.c */
extern void betree_rel_init(void);
extern void betree_rel_open(BetreeRel *bt, Relation rel);
extern bool betree_rel_bloom_pays(Relation rel);
extern void betree_rel_bloom_learn(Relation rel, bool excluded);
extern bool betree_rel_get_hash(Relation rel, int i, Oid *proc, Oid *arg_proc);
extern uint64 betree_rel_catalog_changes(void);
extern void betree_rel_set_hash(Relation rel, int i, Oid proc, Oid arg_proc,
								uint64 catalog);

/* betree_unique.c */
extern bool betree_unique_is_exempt(BetreeRel *bt, const bool *isnull);
extern void betree_unique_begin(BetreeUnique *unique, BetreeRel *bt,
								Relation heap, IndexTuple itup,
								IndexUniqueCheck mode);
extern void betree_unique_check(BetreeUnique *unique);
extern void betree_unique_unlock(BetreeUnique *unique);
extern void betree_unique_wait(BetreeUnique *unique);
pg_noreturn extern void betree_unique_report(BetreeUnique *unique,
											 Datum *values, bool *isnull);
pg_noreturn extern void betree_unique_report_missing(BetreeUnique *unique);

/* betree_validate.c */
extern bool betreevalidate(Oid opclassoid);

/* betree_key.c */
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
extern OffsetNumber betree_key_search_page_hint(BetreeRel *bt, Page page,
												OffsetNumber last,
												OffsetNumber hint,
												BetreeKey *key);
extern OffsetNumber betree_key_search_page_near(BetreeRel *bt, Page page,
												OffsetNumber first,
												OffsetNumber end, int distance,
												BetreeKey *key, bool *found);
extern bool betree_key_node_covers(BetreeRel *bt, Page page, BetreeKey *key);

/* betree_entry.c */
extern void betree_entry_begin(BetreeEntry *entry, Relation rel);
extern void betree_entry_end(BetreeEntry *entry);
extern Relation betree_entry_index(void);

/* betree_form.c */
extern IndexTuple betree_key_form_separator(BetreeRel *bt, IndexTuple left,
											IndexTuple right);
extern IndexTuple betree_key_form_tuple(BetreeRel *bt, Datum *values,
										bool *isnull, ItemPointer tid,
										Relation heap);

/* betree_block.c */
extern void betree_block_lock(BetreeRel *bt, Buffer buf, int lockmode);
extern bool betree_block_tid_exists(Relation heap, ItemPointer tid);
extern BlockNumber betree_block_tid_limit(Relation heap);
extern void betree_block_verify(BetreeRel *bt, BlockNumber blkno);
extern Buffer betree_block_pin(BetreeRel *bt, BlockNumber blkno);
extern Buffer betree_block_read(BetreeRel *bt, BlockNumber blkno, int lockmode,
								int kind);
pg_noreturn extern void betree_block_report(BetreeRel *bt, Buffer buf);
extern Buffer betree_block_read_child(BetreeRel *bt, Page node, int child,
									  int lockmode);
extern void betree_block_verify_page(BetreeRel *bt, Buffer buf, int kind,
									 int level);
extern Buffer betree_block_alloc(BetreeRel *bt);

/* betree_walk.c */
extern void betree_walk_begin(BetreeWalk *walk, MemoryContext context);
extern void betree_walk_step(BetreeRel *bt, BetreeWalk *walk, IndexTuple bound,
							 BlockNumber blkno);
pg_noreturn extern void betree_walk_report(BetreeRel *bt, BlockNumber blkno);

/* betree_descend.c */
extern Buffer betree_descend(BetreeRel *bt, BetreeKey *key, bool strict,
							 int level, int lockmode, BetreeVisit visit,
							 void *arg);
extern bool betree_descend_remembered(BetreeRel *bt, Buffer buf,
									  BetreeKey *key, bool strict, int level,
									  int lockmode);
extern Buffer betree_descend_relock(BetreeRel *bt, Buffer buf, BetreeKey *key,
									int level, int lockmode);
extern int	betree_descend_height(BetreeRel *bt);

/* betree_insert.c */
extern bool betreeinsert(Relation rel, Datum *values, bool *isnull,
						 ItemPointer ht_ctid, Relation heapRel,
						 IndexUniqueCheck checkUnique, bool indexUnchanged,
						 IndexInfo *indexInfo);

/* betree_log.c */
extern void betree_log_append(BetreeRel *bt, Buffer tailbuf, IndexTuple itup);
extern void betree_log_append_batch(BetreeRel *bt, Buffer nodebuf, int child,
									Buffer tailbuf, BetreeBatch *batch);
extern void betree_log_set_drain(BetreeRel *bt, Buffer nodebuf);
extern bool betree_log_seal(BetreeRel *bt, Buffer nodebuf, IndexTuple itup);
extern int	betree_log_cache_limit(void);
extern void betree_log_cache_init(BetreeLogCache *cache);
extern Buffer betree_log_cache_lock(BetreeRel *bt, BetreeLogCache *cache,
									int i, BlockNumber blkno);
extern void betree_log_cache_unlock(BetreeLogCache *cache, int i, Buffer buf);
extern void betree_log_cache_release(BetreeLogCache *cache);
extern void betree_log_batch_init(BetreeBatch *batch, int npages);
extern void betree_log_check_order(Page node);
extern void betree_log_gather(BetreeRel *bt, Page node, int child,
							  int max_space, int max_items,
							  BetreeLogCache *cache, BetreeBatch *batch);
extern void betree_log_absorb(EcpDelta *delta, int bufno, int child,
							  BetreeBatch *batch);

/* betree_run.c */
extern bool betree_run_wanted(Page node);
extern void betree_run_make(BetreeRel *bt, Buffer nodebuf);

/* betree_drain.c */
extern void betree_drain_node(BetreeRel *bt, BlockNumber blkno, int level,
							  int *budget);
extern void betree_drain_all(BetreeRel *bt);

/* betree_filter.c */
extern Oid	betree_filter_hash_proc(BetreeRel *bt, int i, Oid subtype, Oid *arg_proc);
extern bool betree_filter_hash_init(BetreeRel *bt, BetreeHash *hash);
extern BetreeHash *betree_filter_hash(BetreeRel *bt);
extern uint64 betree_filter_hash_add(BetreeRel *bt, FmgrInfo *proc, int i,
									 Datum value, bool isnull, uint64 hash);
extern uint64 betree_filter_hash_tuple(BetreeRel *bt, BetreeHash *hash,
									   IndexTuple itup);
extern int	betree_filter_pages(BetreeRel *bt);
extern const char *betree_filter_complaint(Page page);
extern void betree_filter_trim(BetreeRel *bt, Buffer nodebuf);
extern void betree_filter_seal(BetreeRel *bt, Buffer nodebuf, Page page,
							   ItemIdData *ids, uint32 seq, bool *covered);
extern bool betree_filter_probe(BetreeRel *bt, Page node, uint32 id,
								uint64 hash, uint16 *from, bool *hit);
extern bool betree_filter_lacks(BetreeRel *bt, Page node, BetreeHash *hash,
								IndexTuple itup, int i);
extern bool betree_filter_excludes(Page node, int i, uint16 from,
								   const bool *hit);

/* betree_purge.c */
extern void betree_purge_leaf(BetreeRel *bt, Buffer leafbuf,
							  BetreeBatch *batch);

/* betree_bloom.c */
extern bool betree_bloom_excludes(BetreeRel *bt, Page node,
								  BlockNumber leafblk, uint32 hash_id,
								  uint64 hash);
extern bool betree_bloom_lacks(BetreeRel *bt, Page node, BlockNumber leafblk,
							   BetreeHash *hash, IndexTuple itup);
extern const char *betree_bloom_complaint(BetreeRel *bt, Page node, int at);
extern int	betree_bloom_count_slots(Page page);
extern bool betree_bloom_add(BetreeRel *bt, Buffer nodebuf,
							 BlockNumber leafblk, BetreeBatch *batch);
extern void betree_bloom_set(BetreeRel *bt, Buffer nodebuf, Buffer leafbuf);
extern void betree_bloom_forget(BetreeRel *bt, Buffer nodebuf,
								BlockNumber leafblk);

/* betree_bloom_make.c */
extern int	betree_bloom_pages(BetreeRel *bt, int nchildren);
extern int	betree_bloom_pages_reserved(BetreeRel *bt);
extern bool betree_bloom_has_room(BetreeRel *bt, Page node, int npages);
extern bool betree_bloom_begin(BetreeRel *bt, Buffer nodebuf);
extern int	betree_bloom_copy(BetreeRel *bt, Buffer nodebuf, int first,
							  int last, int npages, BetreeDirEntry *entries);
extern void betree_bloom_free(BetreeRel *bt, BetreeDirEntry *dir, int ndir);
extern void betree_bloom_drop(BetreeRel *bt, Buffer nodebuf);
extern void betree_bloom_collect(BetreeRel *bt, BetreeBloomSlots *slots,
								 BlockNumber leafblk, IndexTuple *items,
								 int nitems);
extern void betree_bloom_form(BetreeRel *bt, Page page,
							  BetreeBloomSlots *slots, int nchildren,
							  int number, int npages, BlockNumber owner);
extern void betree_bloom_pass(BetreeBloomSlots *slots, int nchildren);

/* betree_leaf.c */
extern bool betree_leaf_fits(Page page, BetreeBatch *batch);
extern bool betree_leaf_share(BetreeRel *bt, Buffer nodebuf, int child,
							  Buffer leafbuf, Buffer nextbuf,
							  BetreeBatch *batch, BetreeBatch *next_batch);
extern bool betree_leaf_merge(BetreeRel *bt, Buffer nodebuf, int child,
							  Buffer leafbuf, BetreeBatch *batch);

/* betree_split.c */
extern BlockNumber betree_split_node(BetreeRel *bt, BetreeKey *key, int level);

/* betree_build.c */
extern IndexBuildResult *betreebuild(Relation heap, Relation index,
									 IndexInfo *indexInfo);
extern void betreebuildempty(Relation index);

/* betree_scan.c */
extern IndexScanDesc betreebeginscan(Relation rel, int nkeys, int norderbys);
extern void betreerescan(IndexScanDesc scan, ScanKey scankey, int nscankeys,
						 ScanKey orderbys, int norderbys);
extern bool betreegettuple(IndexScanDesc scan, ScanDirection dir);
extern int64 betreegetbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void betreeendscan(IndexScanDesc scan);
extern void betreemarkpos(IndexScanDesc scan);
extern void betreerestrpos(IndexScanDesc scan);
extern bool betreecanreturn(Relation index, int attno);

/* betree_shrink.c */
extern bool betree_shrink_leaf(BetreeRel *bt, IndexTuple low,
							   IndexBulkDeleteResult *stats);
extern bool betree_shrink_nodes(BetreeRel *bt, IndexTuple low, IndexTuple end,
								BlockNumber *last,
								IndexBulkDeleteResult *stats);

/* betree_vacuum.c */
extern IndexBulkDeleteResult *betreebulkdelete(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats,
											   IndexBulkDeleteCallback callback,
											   void *callback_state);
extern IndexBulkDeleteResult *betreevacuumcleanup(IndexVacuumInfo *info,
												  IndexBulkDeleteResult *stats);

/* betree_handler.c */
extern const EcpIndexKind betree_index_kind;

/* betree_check.c */
extern void betree_check_meta(BetreeRel *bt);

/* betree_check_rows.c */
extern struct Tuplesortstate *betree_check_rows_begin(void);
extern void betree_check_rows_add(struct Tuplesortstate *tids, ItemPointer tid);
extern void betree_check_rows(Relation index, Relation heap,
							  struct Tuplesortstate *tids, Snapshot snapshot,
							  int64 nrows);

/* betree_cost.c */
extern void betreecostestimate(PlannerInfo *root, IndexPath *path,
							   double loop_count, Cost *indexStartupCost,
							   Cost *indexTotalCost,
							   Selectivity *indexSelectivity,
							   double *indexCorrelation, double *indexPages);

/* betree_like.c */
extern void betree_like_init(void);

#endif							/* BETREE_H */
