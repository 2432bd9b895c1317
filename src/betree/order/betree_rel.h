/*-------------------------------------------------------------------------
 *
 * betree_rel.h
 *	  What is known of an index while this backend works on it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_REL_H
#define BETREE_REL_H

#include "access/genam.h"
#include "fmgr.h"
#include "utils/rel.h"

/* flush_budget without a limit */
#define BETREE_BUDGET_ALL			INT_MAX

/* how full, in percent, a build makes nodes */
#define BETREE_NODE_FILLFACTOR		70

struct BetreeHash;

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
	int			log_children;	/* of a node with at least so many children;
								 * or 0: of any.  See betree_rel_log_pages */
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
	bool		hash_known;		/* the hash functions have been looked for */
	struct BetreeHash *hash;	/* and found, or NULL; see betree_hash_get */
	MemoryContext context;		/* of the hash functions */
} BetreeRel;

extern void betree_rel_init(void);
extern void betree_rel_open(BetreeRel *bt, Relation rel);
extern int	betree_rel_log_pages(BetreeRel *bt, int nchildren);
extern bool betree_rel_bloom_choose(Relation rel);
extern void betree_rel_bloom_learn(Relation rel, bool excluded);
extern bool betree_rel_get_hash(Relation rel, int i, Oid *proc, Oid *arg_proc);
extern uint64 betree_rel_catalog_changes(void);
extern void betree_rel_set_hash(Relation rel, int i, Oid proc, Oid arg_proc,
								uint64 catalog);

#endif							/* BETREE_REL_H */
