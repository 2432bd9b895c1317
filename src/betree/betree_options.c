/*-------------------------------------------------------------------------
 *
 * betree_options.c
 *	  Storage parameters and settings of the betree access method.
 *
 * The parameters may be changed at any time: they guide what the next seal,
 * drain or split does.  What a page has (the capacity of its directory) is
 * always read from the page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/betree.h"

#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "device/cost/device_profile.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

/*
 * What an automatic log_pages aims at, where no profile asks for more:
 * messages per leaf write, when keys are uniform.  See README, "How long a log is".
 */
#ifdef BETREE_TINY
#define TARGET_MESSAGES		3
#define AUTO_PAGES_MIN		3
#else
#define TARGET_MESSAGES		54
#define AUTO_PAGES_MIN		20
#endif

static relopt_kind betree_relopt_kind;

/*
 * betree_init
 *		Define the access method's options and set its hook; called once, by
 *		_PG_init.
 */
void
betree_init(void)
{
	betree_relopt_kind = add_reloption_kind();
	add_int_reloption(betree_relopt_kind, "log_levels",
					  "Levels of nodes above the leaves that own a log",
					  BETREE_LOG_LEVELS_DEFAULT, 1,
					  BETREE_LOG_LEVELS_MAX, ShareUpdateExclusiveLock);
	add_int_reloption(betree_relopt_kind, "log_pages",
					  "Full pages that a node's log holds before they move down, 0 for none, -1 to choose from the width of the tuples and the tablespace's profile",
					  BETREE_LOG_PAGES_AUTO, BETREE_LOG_PAGES_AUTO,
					  BETREE_LOG_PAGES_MAX, ShareUpdateExclusiveLock);
	add_int_reloption(betree_relopt_kind, "fillfactor",
					  "Packs betree leaf pages only to this percentage",
					  BETREE_FILLFACTOR_DEFAULT, BETREE_FILLFACTOR_MIN,
					  BETREE_FILLFACTOR_MAX, ShareUpdateExclusiveLock);
	add_int_reloption(betree_relopt_kind, "flush_budget",
					  "Leaves that one insert may flush, 0 for all of a node",
					  BETREE_FLUSH_BUDGET_DEFAULT, 0, BETREE_FLUSH_BUDGET_MAX,
					  ShareUpdateExclusiveLock);

	MarkGUCPrefixReserved("betree");
}

const EcpIndexKind betree_index_kind = {"a betree index", betreeoptions};

/* amoptions */
bytea *
betreeoptions(Datum reloptions, bool validate)
{
	static const relopt_parse_elt tab[] = {
		{"log_levels", RELOPT_TYPE_INT, offsetof(BetreeOptions, log_levels)},
		{"log_pages", RELOPT_TYPE_INT, offsetof(BetreeOptions, log_pages)},
		{"fillfactor", RELOPT_TYPE_INT, offsetof(BetreeOptions, fillfactor)},
		{"flush_budget", RELOPT_TYPE_INT, offsetof(BetreeOptions, flush_budget)},
	};

	return (bytea *) build_reloptions(reloptions, validate, betree_relopt_kind,
									  sizeof(BetreeOptions),
									  tab, lengthof(tab));
}

/* What is looked up once for each relcache entry, cached in rd_amcache */
typedef struct RelBasis
{
	int			tuple_width;
	int			auto_log_pages;
	Oid			header_type[INDEX_MAX_KEYS];	/* as in BetreeRel */
} RelBasis;

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
automatic_log_pages(int tuple_width, int pivot_width, int64 half_bandwidth_bytes)
{
	double		tuples = (double) BetreePageCapacity /
		(MAXALIGN(tuple_width) + sizeof(ItemIdData));
	double		children = (double) BetreePageCapacity /
		(MAXALIGN(pivot_width) + sizeof(ItemIdData)) *
		BETREE_NODE_FILLFACTOR / 100;
	double		pages = TARGET_MESSAGES * children / tuples + 0.5;

	pages = Max(pages, (double) half_bandwidth_bytes / BLCKSZ);
	return (int) Max(AUTO_PAGES_MIN, Min(pages, BETREE_LOG_PAGES_MAX));
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
	int			pivot_width = sizeof(IndexTupleData);

	if (rel->rd_amcache != NULL)
		return rel->rd_amcache;

	basis.tuple_width = sizeof(IndexTupleData);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);
		int			width = get_typavgwidth(att->atttypid, att->atttypmod);
		Oid			type = getBaseType(att->atttypid);

		basis.header_type[i] = betree_type_has_header(type) ? type : InvalidOid;
		basis.tuple_width += width;
		if (i < IndexRelationGetNumberOfKeyAttributes(rel))
			pivot_width += width;
	}
	basis.auto_log_pages =
		automatic_log_pages(basis.tuple_width, pivot_width,
							ecp_device_profile_read(rel->rd_rel->reltablespace,
													&profile) ?
							profile.half_bandwidth_bytes : 0);
	if (rel->rd_amcache == NULL)
		rel->rd_amcache = MemoryContextAlloc(rel->rd_indexcxt,
											 sizeof(RelBasis));
	memcpy(rel->rd_amcache, &basis, sizeof(RelBasis));
	return rel->rd_amcache;
}

/*
 * betree_open
 *		Fill "bt" for one call of an access method function.
 */
void
betree_open(BetreeRel *bt, Relation rel)
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
	basis = rel_basis(rel);
	bt->tuple_width = basis->tuple_width;
	memcpy(bt->header_type, basis->header_type, bt->natts * sizeof(Oid));
	if (bt->log_pages == BETREE_LOG_PAGES_AUTO)
		bt->log_pages = basis->auto_log_pages;
	for (int i = 0; i < bt->nkeyatts; i++)
		bt->cmp[i] = index_getprocinfo(rel, i + 1, BETREE_ORDER_PROC);
}

/*
 * betree_node_ncap
 *		Directory capacity that a new node of "level" gets.
 *
 * That is the sealed pages that start a drain, room for those that are sealed while it runs, a tail, and
 * filter pages.
 *
 * A node that owns no log by the present options still gets a few entries,
 * so that messages can go to any node when the options change.
 */
int
betree_node_ncap(BetreeRel *bt, int level)
{
	int			ncap = BETREE_NCAP_MIN;

	Assert(level >= 1);

	if (bt->log_pages > 0 && level <= bt->log_levels)
		ncap = bt->log_pages + Max(4, bt->log_pages / 4) + 1 +
			betree_filter_pages(bt);
	return Min(ncap, BETREE_NCAP_MAX);
}

/*
 * betree_drain_threshold
 *		Sealed pages that start a drain of the node at "blkno".
 *
 * Nodes that a build has made fill at the same pace when keys are random, and
 * would all drain at the same time, over and over.  So the first drain of a
 * node comes sooner, each node's at another length of its log, spread evenly:
 * then as many nodes drain at any time.  The root is alone on its level.
 */
int
betree_drain_threshold(BetreeRel *bt, Page page, BlockNumber blkno)
{
	int			ncap = BetreePageGetOpaque(page)->bteo_ncap -
		betree_node_nfilters(page);
	int			pages = Max(1, Min(bt->log_pages, ncap - 2));

	Assert(bt->log_pages >= 0 && bt->log_pages <= BETREE_LOG_PAGES_MAX);
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	if (blkno == BETREE_ROOT_BLKNO ||
		(BetreePageGetOpaque(page)->bteo_flags & BETREE_DRAINED) != 0)
		return pages;
	return 1 + murmurhash32(blkno) % pages;
}
