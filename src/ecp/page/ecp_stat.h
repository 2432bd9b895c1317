/*-------------------------------------------------------------------------
 *
 * ecp_stat.h
 *	  Cumulative statistics of an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_STAT_H
#define ECP_STAT_H

#include "ecp/search/ecp_search.h"

/* In the order of the columns of ecp_stat_get(). */
typedef enum EcpStatCounter
{
	ECP_STAT_SCANS,
	ECP_STAT_BATCH_QUERIES,
	ECP_STAT_EARLY_STOPS,
	ECP_STAT_CLUSTERS,
	ECP_STAT_PAGES,
	ECP_STAT_VECTORS,
	ECP_STAT_RERANKED,
	ECP_STAT_FILTERED,
	ECP_STAT_RETURNED,
	ECP_STAT_DROPPED,
	ECP_STAT_INSERTS,
	ECP_STAT_SPLITS,
	ECP_STAT_FOLDS,
	ECP_STAT_MERGES,
	ECP_STAT_DROPS,
	ECP_STAT_REGROUPED,
	ECP_STAT_FLUSHES,
	ECP_STAT_FLUSHED_ROWS,
	ECP_STAT_FLUSHED_PAGES,
	ECP_STAT_PURGED_PAGES,
	ECP_STAT_NCOUNTERS
} EcpStatCounter;

extern void ecp_stat_create(Relation index);
extern void ecp_stat_count(Relation index, EcpStatCounter counter, uint64 n);
extern void ecp_stat_count_search(Relation index, const EcpSearchStats *stats);
extern void ecp_stat_add_search(EcpSearchStats *totals,
								const EcpSearchStats *stats);

#endif							/* ECP_STAT_H */
