/*-------------------------------------------------------------------------
 *
 * betree_run.h
 *	  Merging pages of a log into a run.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_RUN_H
#define BETREE_RUN_H

#include "betree/order/betree_rel.h"
#include "storage/buf.h"
#include "storage/bufpage.h"

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

extern bool betree_run_wanted(Page node);
extern void betree_run_make(BetreeRel *bt, Buffer nodebuf);

#endif							/* BETREE_RUN_H */
