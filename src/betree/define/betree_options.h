/*-------------------------------------------------------------------------
 *
 * betree_options.h
 *	  Storage parameters of the betree access method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_OPTIONS_H
#define BETREE_OPTIONS_H

#include "base/user_index.h"

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
#define BETREE_LOG_PAGES_AUTO	(-1)
#define BETREE_LOG_PAGES_MAX		128
#define BETREE_LOG_LEVELS_DEFAULT 1
#define BETREE_LOG_LEVELS_MAX	16
#define BETREE_FLUSH_BUDGET_DEFAULT	16
#define BETREE_FLUSH_BUDGET_MAX		10000

extern const EcpIndexKind betree_options_index_kind;

extern void betree_options_init(void);
extern bytea *betreeoptions(Datum reloptions, bool validate);

#endif							/* BETREE_OPTIONS_H */
