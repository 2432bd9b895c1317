/*-------------------------------------------------------------------------
 *
 * ecp_inspect_clusters.c
 *	  ecp_cluster_rows(): which rows are in which cluster.
 *
 * Walks the tree from the root in the order of the slots, which after a
 * build is the order of the leaders, and numbers the clusters as they come.
 * Two builds that made the same clusters give the same rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "ecp/ecp_living.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/memutils.h"

PGDLLEXPORT Datum ecp_cluster_rows(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_cluster_rows);

typedef struct ClusterWalk
{
	Relation	index;
	EcpIndexState state;
	ReturnSetInfo *rsinfo;
	MemoryContext ctx;			/* one cluster */
	int64		cluster;
} ClusterWalk;

static void
cluster_walk_leaf(ClusterWalk *walk, const EcpChildData *ref)
{
	MemoryContext oldctx = MemoryContextSwitchTo(walk->ctx);
	EcpRowSet	rows;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	ecp_rows_init(&rows, &walk->state);
	if (!ecp_rows_read(walk->index, &walk->state, ref->ecpc_blk,
					   ref->ecpc_run, InvalidBuffer, &rows))
		ecp_report_moved(walk->index, ref->ecpc_blk);

	walk->cluster++;
	for (int i = 0; i < rows.nrows; i++)
	{
		values[0] = Int64GetDatum(walk->cluster);
		values[1] = PointerGetDatum(&rows.tids[i]);
		tuplestore_putvalues(walk->rsinfo->setResult, walk->rsinfo->setDesc,
							 values, nulls);
	}
	MemoryContextSwitchTo(oldctx);
	MemoryContextReset(walk->ctx);
}

static void
cluster_walk(ClusterWalk *walk, const EcpChildData *ref, int level)
{
	EcpNodeImage *node;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	if (level == 0)
	{
		cluster_walk_leaf(walk, ref);
		return;
	}
	node = ecp_node_read(walk->index, &walk->state, level, ref->ecpc_blk,
						 ref->ecpc_run, false);
	if (node == NULL)
		ecp_report_moved(walk->index, ref->ecpc_blk);
	for (int i = 0; i < node->nchildren; i++)
		cluster_walk(walk, &node->children[i], level - 1);
	ecp_node_image_free(node);
}

/*
 * ecp_cluster_rows(index regclass)
 *		A row (cluster, tid) for each entry of the index.
 */
Datum
ecp_cluster_rows(PG_FUNCTION_ARGS)
{
	ClusterWalk walk;

	walk.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	walk.index = ecp_index_open(PG_GETARG_OID(0), AccessShareLock);
	walk.cluster = 0;
	walk.ctx = AllocSetContextCreate(CurrentMemoryContext, "ecp cluster rows",
									 ALLOCSET_DEFAULT_SIZES);
	InitMaterializedSRF(fcinfo, 0);
	ecp_index_state_read(walk.index, &walk.state);
	if (!EcpIndexIsEmpty(&walk.state))
		cluster_walk(&walk, &walk.state.meta.ecpm_root,
					 walk.state.meta.ecpm_root_level);

	MemoryContextDelete(walk.ctx);
	index_close(walk.index, AccessShareLock);
	return (Datum) 0;
}
