/*-------------------------------------------------------------------------
 *
 * betree_check.h
 *	  Checking the structure of an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_CHECK_H
#define BETREE_CHECK_H

#include "betree/order/betree_rel.h"

extern void betree_check_meta(BetreeRel *bt);

#endif							/* BETREE_CHECK_H */
