/*-------------------------------------------------------------------------
 *
 * ecp_leaves.c
 *	  The clusters and insert buffers of an index, one after the other.
 *
 * Each entry page of a leaf is read once: page 0 of a run is copied with its header.
 *
 * The caller reads a version under a snapshot, as a scan does, so that none of
 * its pages is freed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/look/ecp_look.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"

/* ---- which leaves there are ---- */

static void
leaves_add(EcpLeaves *leaves, int *max, const EcpChildData *child,
		   bool is_buffer)
{
	if (leaves->n == *max)
	{
		*max *= 2;
		leaves->refs = repalloc_huge(leaves->refs,
									 mul_size(*max, sizeof(EcpLeafRef)));
	}
	leaves->refs[leaves->n].child = *child;
	leaves->refs[leaves->n++].is_buffer = is_buffer;
}

/* Find all clusters and insert buffers of a version, and count its nodes. */
void
ecp_leaves_collect(Relation index, const EcpIndexState *state,
				   EcpLeaves *leaves)
{
	int			max = 1024;
	List	   *nodes;
	ListCell   *lc;

	memset(leaves, 0, sizeof(EcpLeaves));
	if (EcpIndexIsEmpty(state))
		return;
	leaves->refs = palloc_array(EcpLeafRef, max);
	if (state->meta.ecpm_root_level == 0)
	{
		leaves_add(leaves, &max, &state->meta.ecpm_root, false);
		return;
	}
	nodes = ecp_node_collect(index, state, -1);
	leaves->nnodes = list_length(nodes);
	foreach(lc, nodes)
	{
		EcpNodeRef *ref = lfirst(lc);
		EcpNodeImage *node = ecp_node_read(index, state, ref->level,
										   ref->child.ecpc_blk,
										   ref->child.ecpc_run, false);

		leaves->node_pages += node->head.header.ecpr_npages;
		leaves->dead_leaders += node->head.header.ecpr_nslots - node->nfree -
			node->nchildren - node->nbuffers;
		for (int i = 0;
			 ref->level == 1 && i < node->nchildren + node->nbuffers; i++)
			leaves_add(leaves, &max, &node->children[i], i >= node->nchildren);
		ecp_node_image_free(node);
	}
	list_free_deep(nodes);
}

/* ---- the rows of one ---- */

/* Add the rows of an entry page, of which "entries" is a copy. */
static void
leaf_page(const EcpGeometry *geo, const EcpRun *run, uint32 pageno, char *entries,
		  EcpLeafRows *rows)
{
	uint32		nslots = ecp_run_page_slots(geo, run, pageno);
	EcpEntryView view;

	ecp_entry_view(entries, geo, 0, &view);
	if (rows->nrows + nslots > rows->max)
	{
		Size		bytes;

		rows->max = Max(rows->nrows + nslots, rows->max + rows->max / 2);
		bytes = mul_size(rows->max, sizeof(ItemPointerData));
		rows->tids = rows->tids ? repalloc_huge(rows->tids, bytes) :
			palloc_extended(bytes, MCXT_ALLOC_HUGE);
	}
	for (uint32 slot = 0; slot < nslots; slot++)
		if (EcpSlotIsLive(&view, slot))
			rows->tids[rows->nrows++] = view.tids[slot];
}

/* Read a leaf; free rows->tids, unless it is NULL. */
void
ecp_leaf_read(Relation index, const EcpIndexState *state, const EcpLeafRef *ref,
			  EcpLeafRows *rows)
{
	const EcpGeometry *geo = &state->leaf;
	PGAlignedBlock copy;
	EcpRun	   *runs;
	char	   *firsts;

	memset(rows, 0, sizeof(EcpLeafRows));
	rows->nruns = ecp_cluster_runs_and_pages(index, state, ref->child.ecpc_blk,
											 ref->child.ecpc_run, &runs, &firsts);
	if (rows->nruns < 0)
		ecp_report_moved(index, ref->child.ecpc_blk);
	for (int r = 0; r < rows->nruns; r++)
	{
		rows->nslots += runs[r].header.ecpr_nslots;
		leaf_page(geo, &runs[r], 0, firsts + (Size) r * BLCKSZ, rows);
		for (uint32 p = 1; p < runs[r].header.ecpr_hw_page; p++)
		{
			CHECK_FOR_INTERRUPTS();
			if (!ecp_run_copy_page(index, &runs[r], p, InvalidBuffer, copy.data))
				ecp_report_moved(index, runs[r].blk + p);
			leaf_page(geo, &runs[r], p, copy.data, rows);
		}
	}
	pfree(firsts);
	pfree(runs);
}
