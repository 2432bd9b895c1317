/*-------------------------------------------------------------------------
 *
 * ecp_cluster.h
 *	  Clusters: their runs, their size, copies of their rows; the retired queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_CLUSTER_H
#define ECP_CLUSTER_H

#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"

/* Where a walk along the retired queue is. */
typedef struct EcpRetiredWalk
{
	BlockNumber next;
	uint32		version;		/* of the one before */
	uint64		npages;			/* of those so far, but for further runs */
} EcpRetiredWalk;

/* Rows of a leaf copied from its pages, and which slots they came from. */
typedef struct EcpRowSet
{
	int			nrows;
	int			max;
	ItemPointerData *tids;
	char	   *vectors;		/* rows, stride bytes each; see ecp_page.h */
	Size		stride;
	uint32		npages;			/* of all runs read */
	int			nruns;
	int			runs_max;
	struct EcpRowSetRun *runs;
} EcpRowSet;

/* What one visit to the headers of a cluster tells. */
typedef struct EcpClusterSize
{
	int			nruns;
	uint32		nslots;
	uint32		npages;
	uint32		nrows_about;	/* if no row was inserted but by flushes */
	uint32		nrows_had;		/* at least so many at some time */
	uint32		nlive;			/* only if counted */
	bool		has_holes;		/* VACUUM may have freed many slots */
} EcpClusterSize;

extern int	ecp_cluster_runs(Relation index, const EcpIndexState *state,
							 int level, BlockNumber blk, uint64 run,
							 Buffer held, EcpRun **runs);
extern int	ecp_cluster_runs_and_pages(Relation index,
									   const EcpIndexState *state,
									   BlockNumber blk, uint64 run,
									   EcpRun **runs, char **firsts);
extern bool ecp_cluster_size(Relation index, const EcpIndexState *state,
							 const EcpChildData *child, bool count_live,
							 EcpClusterSize *size);
extern void ecp_cluster_retired_read(Relation index, const EcpIndexState *state,
									 BlockNumber blk, EcpRun *out);
extern void ecp_cluster_retired_begin(const EcpIndexState *state,
									  EcpRetiredWalk *walk);
extern bool ecp_cluster_retired_next(Relation index, const EcpIndexState *state,
									 EcpRetiredWalk *walk, EcpRun *head);
extern void ecp_cluster_written_read(Relation index, const EcpIndexState *state,
									 BlockNumber blk, EcpRun *out);
extern void ecp_cluster_rows_init(EcpRowSet *rows, const EcpIndexState *state);
extern bool ecp_cluster_rows_read(Relation index, const EcpIndexState *state,
								  BlockNumber blk, uint64 run, Buffer held,
								  EcpRowSet *rows);

#endif							/* ECP_CLUSTER_H */
