/*-------------------------------------------------------------------------
 *
 * betree_opclass.h
 *	  Strategies and support functions of operator classes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_OPCLASS_H
#define BETREE_OPCLASS_H

#include "access/skey.h"

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

#endif							/* BETREE_OPCLASS_H */
