/*-------------------------------------------------------------------------
 *
 * ecp_stat.h
 *	  Cumulative statistics of an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_STAT_H
#define ECP_STAT_H

#include "utils/rel.h"

/* Why a search read no further clusters. */
typedef enum EcpSearchStop
{
	ECP_STOP_NONE,				/* no more rows were requested */
	ECP_STOP_CLUSTERS,			/* it has read them all */
	ECP_STOP_PROBES,			/* ecp.iterative_scan = off */
	ECP_STOP_TUPLES,			/* ecp.max_scan_tuples */
	ECP_STOP_TIME,				/* max_ms */
	ECP_STOP_RADIUS,			/* a window had no row within the radius */
	ECP_STOP_NULL				/* the query is NULL: no row is nearer */
} EcpSearchStop;

typedef struct EcpSearchStats
{
	Oid			index;
	uint64		wanted;			/* rows that the LIMIT asks for; 0 = not known */
	int			probes;			/* clusters of the first window, planned */
	bool		early;			/* the first window ended at its target */
	float8		recall;			/* estimate of the first window's; 0 = none */
	uint64		windows;
	uint64		clusters;		/* read, or passed over */
	uint64		skipped;		/* of them, by their summaries */
	uint64		pages;
	uint64		vectors;		/* candidates: compared with the query */
	uint64		filtered;		/* rows that conditions kept out */
	uint64		reranked;		/* exactly, after their codes */
	uint64		returned;
	uint64		dropped;		/* nearer than a row returned before */
	EcpSearchStop stop;
} EcpSearchStats;

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
extern void ecp_stat_ensure(Relation index);
extern void ecp_stat_count(Relation index, EcpStatCounter counter, uint64 n);
extern void ecp_stat_count_search(Relation index, const EcpSearchStats *stats);
extern void ecp_stat_add_search(EcpSearchStats *totals,
								const EcpSearchStats *stats);

#endif							/* ECP_STAT_H */
