/*-------------------------------------------------------------------------
 *
 * index_workers.h
 *	  How many parallel workers an index build asks for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_INDEX_WORKERS_H
#define ECP_INDEX_WORKERS_H

#include "nodes/execnodes.h"
#include "utils/relcache.h"

/*
 * Workers for a build.  As for a btree, the table's parallel_workers,
 * max_parallel_maintenance_workers and maintenance_work_mem come before the
 * size of what is read.  *read_blocks, unless NULL, receives that: the blocks of
 * the table, and about as many as the columns of the index take in the TOAST
 * table.
 */
extern int	ecp_index_workers(Relation heap, Relation index, IndexInfo *info,
							  double *read_blocks);

#endif							/* ECP_INDEX_WORKERS_H */
