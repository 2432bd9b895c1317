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

#include "access/reloptions.h"
#include "base/user_index.h"
#include "betree/define/betree_define.h"
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

const EcpIndexKind betree_options_index_kind = {"a betree index", betreeoptions};

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
