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

#include "common/hashfn.h"
#include "utils/guc.h"

static relopt_kind options_kind;

/*
 * betree_options_init
 *		Define the access method's options and set its hook; called once, by
 *		_PG_init.
 */
void
betree_options_init(void)
{
	options_kind = add_reloption_kind();
	/* the gates of a unique index are nodes of this level: all must agree */
	add_int_reloption(options_kind, "log_levels",
					  "Levels of nodes above the leaves that own a log",
					  BETREE_LOG_LEVELS_DEFAULT, 1,
					  BETREE_LOG_LEVELS_MAX, AccessExclusiveLock);
	add_int_reloption(options_kind, "log_pages",
					  "Full pages that a node's log holds before they move down, 0 for none, -1 to choose from the width of the tuples and the tablespace's profile",
					  BETREE_LOG_PAGES_AUTO, BETREE_LOG_PAGES_AUTO,
					  BETREE_LOG_PAGES_MAX, ShareUpdateExclusiveLock);
	add_int_reloption(options_kind, "fillfactor",
					  "Packs betree leaf pages only to this percentage",
					  BETREE_FILLFACTOR_DEFAULT, BETREE_FILLFACTOR_MIN,
					  BETREE_FILLFACTOR_MAX, ShareUpdateExclusiveLock);
	add_int_reloption(options_kind, "flush_budget",
					  "Leaves that one insert may flush, 0 for all of a node",
					  BETREE_FLUSH_BUDGET_DEFAULT, 0, BETREE_FLUSH_BUDGET_MAX,
					  ShareUpdateExclusiveLock);
	add_bool_reloption(options_kind, "bloom",
					   "Keeps Bloom filters of the leaves, as unique indexes always do, so that lookups of absent keys read none",
					   false, ShareUpdateExclusiveLock);
	add_bool_reloption(options_kind, "deduplicate_items",
					   "Stores rows with the same key as one item, unless the index is unique or has INCLUDE columns",
					   true, ShareUpdateExclusiveLock);

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
		{"bloom", RELOPT_TYPE_BOOL, offsetof(BetreeOptions, bloom)},
		{"deduplicate_items", RELOPT_TYPE_BOOL, offsetof(BetreeOptions, deduplicate)},
	};

	return (bytea *) build_reloptions(reloptions, validate, options_kind,
									  sizeof(BetreeOptions),
									  tab, lengthof(tab));
}

/*
 * betree_options_node_ncap
 *		Directory capacity that a new node of "level" gets.
 *
 * That is the sealed pages that start a drain, room for those that are sealed
 * while it runs, and for runs, a tail, and filter pages; and Bloom pages at
 * level 1.
 *
 * A node that owns no log by the present options still gets a few entries,
 * so that messages can go to any node when the options change.
 */
int
betree_options_node_ncap(BetreeRel *bt, int level)
{
	int			ncap = BETREE_NCAP_MIN;

	Assert(level >= 1);

	if (bt->log_pages > 0 && level <= bt->log_levels)
		ncap = bt->log_pages + Max(8, bt->log_pages / 4) + 1 +
			betree_filter_pages(bt);
	if (level == 1)
		ncap += betree_bloom_pages_reserved(bt);
	return Min(ncap, BETREE_NCAP_MAX);
}

/*
 * betree_options_drain_threshold
 *		Sealed pages that start a drain of the node at "blkno".
 *
 * Nodes that a build has made fill at the same pace when keys are random, and
 * would all drain at the same time, over and over.  So the first drain of a
 * node comes sooner, each node's at another length of its log, spread evenly:
 * then as many nodes drain at any time.  The root is alone on its level.
 */
int
betree_options_drain_threshold(BetreeRel *bt, Page page, BlockNumber blkno)
{
	int			pages = Max(1, Min(bt->log_pages,
								   betree_node_log_capacity(page) - 2));

	Assert(bt->log_pages >= 0 && bt->log_pages <= BETREE_LOG_PAGES_MAX);
	Assert(BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE);

	if (blkno == BETREE_ROOT_BLKNO ||
		(BetreePageGetOpaque(page)->bteo_flags & BETREE_DRAINED) != 0)
		return pages;
	return 1 + murmurhash32(blkno) % pages;
}
