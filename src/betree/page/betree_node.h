/*-------------------------------------------------------------------------
 *
 * betree_node.h
 *	  Images of nodes: pivots, and the directory of the log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_NODE_H
#define BETREE_NODE_H

#include "access/itup.h"
#include "storage/bufpage.h"

extern void betree_node_form(Page page, int level, int ncap,
							 IndexTuple hikey, IndexTuple *pivots,
							 int npivots);
extern int	betree_node_room(Page page);
extern int	betree_node_ntails(Page page);
extern int	betree_node_tail_of(Page page, int child);
extern bool betree_node_same_tail(Page page, int child);
extern bool betree_node_has_log(Page page);
extern void betree_node_add_dir(Page page, BlockNumber blkno, int kind,
								uint32 seq);
extern void betree_node_remove_dir(Page page, int at);
extern int	betree_node_find_dir(Page page, int kind);
extern uint32 betree_node_log_span(Page page, uint32 seq);
extern bool betree_node_log_ordered(Page page, int i);
extern bool betree_node_log_ends(Page page, int i);
extern bool betree_node_log_covers(Page page, int i, int first_child,
								   int last_child);
extern void betree_node_shift_log(Page page, int child, int delta);
extern int	betree_node_nfilters(Page page);
extern int	betree_node_nblooms(Page page);
extern int	betree_node_log_capacity(Page page);
extern void betree_node_raise_lagging(Page page);
extern void betree_node_drop_log(Page page, int nlog);
extern uint32 *betree_node_count_batch(Page page, int nitems);
extern IndexTuple betree_node_infinite_pivot(bool plus);

#endif							/* BETREE_NODE_H */
