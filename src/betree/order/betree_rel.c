/*-------------------------------------------------------------------------
 *
 * betree_rel.c
 *	  What is known of an index while this backend works on it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/transam.h"
#include "betree/define/betree_define.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_page.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "device/cost/device_profile.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/*
 * What an automatic log_pages aims at, where no profile asks for more:
 * messages per leaf write, when keys are uniform.  See README, "Draining".
 */
#ifdef BETREE_TINY
#define TARGET_MESSAGES		3
#define AUTO_PAGES_MIN		3
#else
#define TARGET_MESSAGES		54
#define AUTO_PAGES_MIN		20
#endif

/* What is looked up once for each relcache entry, cached in rd_amcache */
typedef struct RelBasis
{
	int			tuple_width;
	int			pivot_width;
	int			fixed_size;
	int			built_width;
	int			auto_log_pages;
	int			auto_log_children;
	Oid			header_type[INDEX_MAX_KEYS];	/* as in BetreeRel */
	int			bloom_yield;	/* moving average of lookups of absent keys,
								 * of BLOOM_YIELD_ALL */
	int			bloom_unasked;	/* lookups since a Bloom filter was asked */
	bool		same_bytes;		/* as in BetreeRel */
	bool		plain;			/* the same */
	uint64		root;			/* which copy of a root is that of the index */
	uint64		hash_catalog;	/* catalog_changes when these were found: */
	bool		hash_known[INDEX_MAX_KEYS];
	Oid			hash_proc[INDEX_MAX_KEYS];	/* of the column, or InvalidOid */
	Oid			hash_arg_proc[INDEX_MAX_KEYS];	/* of what it is compared with */
} RelBasis;

/* Copies of roots, of as many indexes as a transaction mostly uses */
#define ROOT_COPIES			16

typedef struct RootCopy
{
	uint64		number;
	PGAlignedBlock page;
} RootCopy;

static RootCopy *root_copies[ROOT_COPIES];

/* how often operators and their families have changed */
static uint64 catalog_changes = 0;

/*
 * Lookups ask the Bloom filters of leaves if at least a quarter of them are of
 * absent keys, and else each 16th, to find out.
 */
#define BLOOM_YIELD_ALL		256
#define BLOOM_YIELD_MIN		64
#define BLOOM_UNASKED_MAX	16

/* Children of a node at its usual fill */
static int
usual_children(int pivot_width)
{
	int			children = BetreePageCapacity /
		(int) (MAXALIGN(pivot_width) + sizeof(ItemIdData));

	return Max(1, Min(children, BETREE_NODE_MAX_CHILDREN) *
			   BETREE_NODE_FILLFACTOR / 100);
}

/*
 * Log pages for TARGET_MESSAGES a flush: a drain spreads P pages of U tuples
 * over F children, and a node holds F pivots at its usual fill.  That is 38
 * pages for keys of any width, and more if INCLUDE columns make the tuples
 * wider than the pivots.
 *
 * On a device where positioning is dear, a log of the half-bandwidth size:
 * longer ones would save it less than they would cost in bytes.  Never a
 * shorter one, for on any device the messages of a flush divide WAL, too.
 */
static int
automatic_log_pages(int tuple_width, double children, int64 half_bandwidth_bytes)
{
	double		tuples = (double) BetreePageCapacity /
		(MAXALIGN(tuple_width) + sizeof(ItemIdData));
	double		pages = TARGET_MESSAGES * children / tuples + 0.5;

	pages = Max(pages, (double) half_bandwidth_bytes / BLCKSZ);
	return (int) Max(AUTO_PAGES_MIN, Min(pages, BETREE_LOG_PAGES_MAX));
}

/* Has the index one key column, whose equal values have the same bytes? */
static bool
equal_has_same_bytes(Relation rel)
{
	Oid			proc = index_getprocid(rel, 1, BETREE_EQUALIMAGE_PROC);

	return IndexRelationGetNumberOfKeyAttributes(rel) == 1 &&
		TupleDescAttr(RelationGetDescr(rel), 0)->attlen > 0 && OidIsValid(proc) &&
		DatumGetBool(OidFunctionCall1Coll(proc, rel->rd_indcollation[0],
										  ObjectIdGetDatum(rel->rd_opcintype[0])));
}

/*
 * Are all key columns of types whose comparison calls no function of a type that
 * someone may have made, and reads no catalog?
 */
static bool
compares_plainly(Relation rel)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(rel); i++)
	{
		Oid			type = rel->rd_opcintype[i];

		if (index_getprocid(rel, i + 1, BETREE_ORDER_PROC) >= FirstGenbkiObjectId ||
			IsPolymorphicType(type) || type == RECORDOID || type_is_array(type))
			return false;
	}
	return true;
}

/*
 * Mean width of the tuples that the build saw, by the metapage, which is checked;
 * 0 if there is none yet, or it does not say.
 */
static int
built_width(Relation rel)
{
	Buffer		buf;
	Page		page;
	int			width = 0;

	if (RelationGetNumberOfBlocks(rel) == 0)
		return 0;
	buf = ReadBuffer(rel, BETREE_META_BLKNO);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buf);
	if (!PageIsNew(page))
	{
		betree_block_verify_page(rel, buf, BETREE_META, -1);
		if (BetreePageGetMeta(page)->btem_tuple_width >= sizeof(IndexTupleData) &&
			BetreePageGetMeta(page)->btem_tuple_width <= BetreeMaxItemSize)
			width = (int) BetreePageGetMeta(page)->btem_tuple_width;
	}
	UnlockReleaseBuffer(buf);
	return width;
}

/*
 * Look it up: the widths are guessed from the column types, and the profile of
 * the tablespace, if it has been measured, tells the size at which half of a
 * read is positioning.  A new calibration is seen by sessions that begin after
 * it, and after a REINDEX.
 */
static const RelBasis *
rel_basis(Relation rel)
{
	TupleDesc	tupdesc = RelationGetDescr(rel);
	EcpDeviceProfile profile;
	RelBasis	basis;

	if (rel->rd_amcache != NULL)
		return rel->rd_amcache;

	basis.tuple_width = sizeof(IndexTupleData);
	basis.pivot_width = sizeof(IndexTupleData);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		int			width = get_typavgwidth(att->atttypid, att->atttypmod);
		Oid			type = getBaseType(att->atttypid);

		basis.header_type[i] = betree_key_type_has_header(type) ? type : InvalidOid;
		basis.tuple_width += width;
		if (i < IndexRelationGetNumberOfKeyAttributes(rel))
			basis.pivot_width += width;
	}
	basis.same_bytes = equal_has_same_bytes(rel);
	basis.plain = compares_plainly(rel);
	basis.root = 0;
	basis.fixed_size = betree_key_fixed_size(tupdesc);
	basis.built_width = built_width(rel);
	if (basis.built_width == 0)
		basis.built_width = basis.tuple_width;
	basis.bloom_yield = BLOOM_YIELD_ALL;
	basis.bloom_unasked = 0;
	basis.auto_log_children = usual_children(basis.pivot_width);
	basis.auto_log_pages =
		automatic_log_pages(basis.tuple_width, basis.auto_log_children,
							ecp_device_profile_read(rel->rd_rel->reltablespace,
													&profile) ?
							profile.half_bandwidth_bytes : 0);
	basis.hash_catalog = catalog_changes;
	memset(basis.hash_known, 0, sizeof(basis.hash_known));
	if (rel->rd_amcache == NULL)
		rel->rd_amcache = MemoryContextAlloc(rel->rd_indexcxt,
											 sizeof(RelBasis));
	memcpy(rel->rd_amcache, &basis, sizeof(RelBasis));
	return rel->rd_amcache;
}

/* Operators or their families have changed */
static void
catalog_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	catalog_changes++;
}

/*
 * betree_rel_init
 *		Have changes of operators and their families told, from now on.
 */
void
betree_rel_init(void)
{
	CacheRegisterSyscacheCallback(AMOPOPID, catalog_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AMPROCNUM, catalog_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(OPEROID, catalog_changed, (Datum) 0);
}

/*
 * betree_rel_get_hash
 *		The hash functions of a column and, in "*arg_proc", of what its = of its
 *		own type compares it with, if betree_rel_set_hash() has told them, and
 *		they are still right.
 *
 * To look them up costs more than to search a leaf.
 */
bool
betree_rel_get_hash(Relation rel, int i, Oid *proc, Oid *arg_proc)
{
	RelBasis   *basis = (RelBasis *) rel->rd_amcache;

	if (basis == NULL || basis->hash_catalog != catalog_changes ||
		!basis->hash_known[i])
		return false;
	*proc = basis->hash_proc[i];
	*arg_proc = basis->hash_arg_proc[i];
	return true;
}

/*
 * betree_rel_catalog_changes
 *		What betree_rel_set_hash() wants, from before the functions are looked
 *		up.
 */
uint64
betree_rel_catalog_changes(void)
{
	return catalog_changes;
}

/* betree_rel_set_hash: remember what betree_rel_get_hash() is to tell */
void
betree_rel_set_hash(Relation rel, int i, Oid proc, Oid arg_proc, uint64 catalog)
{
	RelBasis   *basis = (RelBasis *) rel->rd_amcache;

	if (basis == NULL)
		return;
	if (basis->hash_catalog != catalog)
		memset(basis->hash_known, 0, sizeof(basis->hash_known));
	basis->hash_catalog = catalog;
	basis->hash_known[i] = true;
	basis->hash_proc[i] = proc;
	basis->hash_arg_proc[i] = arg_proc;
}

/*
 * betree_rel_get_root
 *		A copy of the root, or NULL.
 *
 * It may be out of date: what it says must be checked.  It stays where it is while
 * plain functions run.
 */
Page
betree_rel_get_root(BetreeRel *bt)
{
	RelBasis   *basis = (RelBasis *) bt->rel->rd_amcache;
	RootCopy   *copy;

	if (basis == NULL || basis->root == 0)
		return NULL;
	copy = root_copies[basis->root % ROOT_COPIES];
	return copy->number == basis->root ? copy->page.data : NULL;
}

/*
 * betree_rel_set_root
 *		Remember what the locked root has.
 */
void
betree_rel_set_root(BetreeRel *bt, Page page)
{
	static uint64 last = 0;
	RelBasis   *basis = (RelBasis *) bt->rel->rd_amcache;
	uint64		number;
	RootCopy  **copy;

	if (basis == NULL || !basis->plain)
		return;
	number = betree_rel_get_root(bt) != NULL ? basis->root : ++last;
	copy = &root_copies[number % ROOT_COPIES];
	if (*copy == NULL)
		*copy = MemoryContextAlloc(TopMemoryContext, sizeof(RootCopy));
	(*copy)->number = basis->root = number;
	memcpy((*copy)->page.data, page, BLCKSZ);
}

/*
 * betree_rel_log_pages
 *		Sealed pages that start a drain of a node with some children.
 *
 * An automatic log_pages is meant for a node of the usual fill.  For one with
 * fewer children a log that is shorter by as much gives each of them as many
 * messages: the index of a small table has a small log.
 */
int
betree_rel_log_pages(BetreeRel *bt, int nchildren)
{
	if (bt->log_children == 0 || nchildren >= bt->log_children)
		return bt->log_pages;
	return (bt->log_pages * nchildren + bt->log_children - 1) / bt->log_children;
}

/*
 * betree_rel_bloom_choose
 *		Choose whether a lookup asks the Bloom filter of the leaf before it reads
 *		that, and count those that do not.
 *
 * For a key that is there, the filter is a page read in vain.
 */
bool
betree_rel_bloom_choose(Relation rel)
{
	RelBasis   *basis = (RelBasis *) rel->rd_amcache;

	return basis == NULL || basis->bloom_yield >= BLOOM_YIELD_MIN ||
		++basis->bloom_unasked >= BLOOM_UNASKED_MAX;
}

/*
 * betree_rel_bloom_learn
 *		Take note of what a Bloom filter has said.
 */
void
betree_rel_bloom_learn(Relation rel, bool excluded)
{
	RelBasis   *basis = (RelBasis *) rel->rd_amcache;

	if (basis == NULL)
		return;
	basis->bloom_unasked = 0;
	basis->bloom_yield += ((excluded ? BLOOM_YIELD_ALL : 0) - basis->bloom_yield) / 16;
}

/*
 * betree_rel_open
 *		Fill "bt" for one call of an access method function, or for a scan.
 *
 * The current memory context must live as long as "bt" is used.
 */
void
betree_rel_open(BetreeRel *bt, Relation rel)
{
	BetreeOptions *options = (BetreeOptions *) rel->rd_options;
	const RelBasis *basis;

	Assert(rel->rd_rel->relkind == RELKIND_INDEX);
	Assert(rel->rd_indam->amoptions == betreeoptions);

	bt->rel = rel;
	bt->tupdesc = RelationGetDescr(rel);
	bt->natts = IndexRelationGetNumberOfAttributes(rel);
	bt->nkeyatts = IndexRelationGetNumberOfKeyAttributes(rel);
	bt->fillfactor = options ? options->fillfactor : BETREE_FILLFACTOR_DEFAULT;
	bt->log_pages = options ? options->log_pages :
		BETREE_LOG_PAGES_AUTO;
	bt->log_levels = options ? options->log_levels :
		BETREE_LOG_LEVELS_DEFAULT;
	bt->flush_budget = options ? options->flush_budget :
		BETREE_FLUSH_BUDGET_DEFAULT;
	bt->inserts_drain = bt->flush_budget > 0;
	if (!bt->inserts_drain)
		bt->flush_budget = BETREE_BUDGET_ALL;
	bt->bloom = rel->rd_index->indisunique || (options && options->bloom);
	bt->deduplicate = !rel->rd_index->indisunique && bt->natts == bt->nkeyatts &&
		(options == NULL || options->deduplicate);
	basis = rel_basis(rel);
	bt->tuple_width = basis->tuple_width;
	bt->pivot_width = basis->pivot_width;
	bt->fixed_size = basis->fixed_size;
	bt->built_width = basis->built_width;
	bt->same_bytes = basis->same_bytes;
	bt->plain = basis->plain;
	memcpy(bt->header_type, basis->header_type, bt->natts * sizeof(Oid));
	bt->log_children = 0;
	if (bt->log_pages == BETREE_LOG_PAGES_AUTO)
	{
		bt->log_pages = basis->auto_log_pages;
		bt->log_children = basis->auto_log_children;
	}
	bt->heap = NULL;
	bt->new_version = false;
	bt->hash_known = false;
	bt->hash = NULL;
	bt->context = CurrentMemoryContext;
	for (int i = 0; i < bt->nkeyatts; i++)
		bt->cmp[i] = index_getprocinfo(rel, i + 1, BETREE_ORDER_PROC);
}
