/*-------------------------------------------------------------------------
 *
 * ecp_read.h
 *	  Reading the structure, one share lock at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_READ_H
#define ECP_READ_H

#include "ecp/page/ecp_page.h"
#include "nodes/pg_list.h"

/* Page 0 of a run, as it was when it was read. */
typedef struct EcpRun
{
	BlockNumber blk;
	uint64		run;
	EcpRunHeaderData header;
} EcpRun;

/* Where a walk along the retired queue is. */
typedef struct EcpRetiredWalk
{
	BlockNumber next;
	uint32		version;		/* of the one before */
	uint64		npages;			/* of those so far, but for further runs */
} EcpRetiredWalk;

/* A node copied from its pages: the children visible at one version. */
typedef struct EcpNodeImage
{
	EcpRun		head;
	int			level;
	uint32		valid_from;		/* versions that have the same children, while */
	uint32		valid_until;	/* ecpr_change stays; exclusive end */
	uint32		nfree;			/* slots that can be had: free, from
								 * ecpr_free_hint on */
	int			nchildren;
	int			nbuffers;		/* in the same arrays, behind the children */
	EcpChildData *children;
	uint32	   *slots;			/* of the children within the run */
	char	   *leaders;		/* stride bytes each; NULL if not wanted */
	Size		stride;
} EcpNodeImage;

/* Rows of a leaf copied from its pages, and which slots they came from. */
typedef struct EcpRowSet
{
	int			nrows;
	int			max;
	ItemPointerData *tids;
	char	   *vectors;		/* rows, stride bytes each; see ecp_page.h */
	Size		stride;
	uint8	   *bins;
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
	uint32		nlive;			/* only if counted */
	bool		has_holes;		/* VACUUM freed slots before the last page */
} EcpClusterSize;

extern void ecp_page_lock(Relation index, Buffer buffer, int lockmode);
extern Buffer ecp_page_get(Relation index, BlockNumber blk, int lockmode);
extern Buffer ecp_run_page_get(Relation index, int kind, BlockNumber blk,
							   uint64 run, uint32 pageno, int lockmode);

/* Checks of the header of a run, and of the head of a node of any level. */
extern void ecp_run_check_header(Relation index, Buffer buffer,
								 const EcpGeometry *geo);
extern void ecp_node_check_header(Relation index, Buffer buffer,
								  const EcpIndexState *state);
extern Buffer ecp_run_lock(Relation index, BlockNumber blk, uint64 run);
extern bool ecp_run_read(Relation index, const EcpIndexState *state,
						 int level, BlockNumber blk, uint64 run,
						 Buffer held, EcpRun *out);
extern int	ecp_cluster_runs(Relation index, const EcpIndexState *state,
							 int level, BlockNumber blk, uint64 run,
							 Buffer held, EcpRun **runs);
extern void ecp_retired_read(Relation index, const EcpIndexState *state,
							 BlockNumber blk, EcpRun *out);
extern void ecp_retired_begin(const EcpIndexState *state,
							  EcpRetiredWalk *walk);
extern bool ecp_retired_next(Relation index, const EcpIndexState *state,
							 EcpRetiredWalk *walk, EcpRun *head);
extern void ecp_written_read(Relation index, const EcpIndexState *state,
							 BlockNumber blk, EcpRun *out);
extern bool ecp_run_copy_page(Relation index, const EcpRun *run,
							  uint32 pageno, Buffer held, char *copy);
extern void ecp_run_read_vector(Relation index, const EcpGeometry *geo,
								const EcpRun *run, const EcpEntryView *view,
								uint32 slot, char *vector);
extern EcpNodeImage *ecp_node_read(Relation index, const EcpIndexState *state,
								   int level, BlockNumber blk, uint64 run,
								   bool leaders);
extern void ecp_node_image_free(EcpNodeImage *node);
extern bool ecp_cluster_size(Relation index, const EcpIndexState *state,
							 const EcpChildData *child, bool count_live,
							 EcpClusterSize *size);
extern void ecp_rows_init(EcpRowSet *rows, const EcpIndexState *state);
extern bool ecp_rows_read(Relation index, const EcpIndexState *state,
						  BlockNumber blk, uint64 run, Buffer held,
						  EcpRowSet *rows);

/* All nodes of one level (or all levels, -1), parents before children. */
extern List *ecp_collect_nodes(Relation index, const EcpIndexState *state,
							   int level);

/* Element of that list. */
typedef struct EcpNodeRef
{
	EcpChildData child;
	int			level;
} EcpNodeRef;

#endif							/* ECP_READ_H */
