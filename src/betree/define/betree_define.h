/*-------------------------------------------------------------------------
 *
 * betree_define.h
 *	  Operator classes and storage parameters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_DEFINE_H
#define BETREE_DEFINE_H

#include "access/skey.h"
#include "base/user_index.h"

/* betree_opclass: strategies and support functions of operator classes */

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

/* betree_options.c: storage parameters of the betree access method */

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

/* betree_validate.c: checking operator classes of betree */

extern bool betreevalidate(Oid opclassoid);

#endif							/* BETREE_DEFINE_H */
