/*-------------------------------------------------------------------------
 *
 * ecp_leaves.c
 *	  The clusters and insert buffers of an index, one after the other.
 *
 * Each page of a leaf is read once.  Page 0 of a run is copied with its header,
 * and a page of the vector part serves all rows with bytes on it, which follow
 * one another.
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

/* A page of a run's vector part, copied. */
typedef struct LeafVectorPage
{
	uint32		pageno;			/* 0 = none: that is an entry page */
	PGAlignedBlock copy;
} LeafVectorPage;

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

static void
leaf_reserve(EcpLeafRows *rows, uint32 more, int want, Size vec_bytes)
{
	uint32		max = Max(rows->nrows + more, rows->max + rows->max / 2);

	if (rows->nrows + more <= rows->max)
		return;
	if (want & ECP_LEAF_TIDS)
	{
		Size		bytes = mul_size(max, sizeof(ItemPointerData));

		rows->tids = rows->tids ? repalloc_huge(rows->tids, bytes) :
			palloc_extended(bytes, MCXT_ALLOC_HUGE);
	}
	if (want & ECP_LEAF_VECTORS)
	{
		Size		bytes = add_size(mul_size(max, vec_bytes), ECP_KERNEL_SLACK);

		rows->vectors = rows->vectors ? repalloc_huge(rows->vectors, bytes) :
			palloc_extended(bytes, MCXT_ALLOC_HUGE);
	}
	rows->max = max;
}

/* Copy the vector of a slot of a run. */
static void
leaf_vector(Relation index, const EcpGeometry *geo, const EcpRun *run,
			const EcpEntryView *view, uint32 slot, LeafVectorPage *page,
			char *vector)
{
	if (!geo->stream)
	{
		ecp_entry_get_vector(geo, view, slot % geo->slots, vector);
		return;
	}
	ecp_stream_foreach(part, geo, run->header.ecpr_entry_pages, slot)
	{
		if (page->pageno != part.pageno)
		{
			Buffer		buffer = ecp_run_page_get(index, ECP_PAGE_VECTOR,
												  run->blk, run->run,
												  part.pageno,
												  BUFFER_LOCK_SHARE);

			if (!BufferIsValid(buffer))
				ecp_report_moved(index, run->blk + part.pageno);
			memcpy(page->copy.data, BufferGetPage(buffer), BLCKSZ);
			UnlockReleaseBuffer(buffer);
			page->pageno = part.pageno;
		}
		memcpy(vector + part.done,
			   EcpPageGetStream(page->copy.data) + part.offset, part.bytes);
	}
}

/* Add the rows of an entry page, of which "entries" is a copy. */
static void
leaf_page(Relation index, const EcpGeometry *geo, const EcpRun *run,
		  uint32 pageno, char *entries, int want, LeafVectorPage *page,
		  EcpLeafRows *rows)
{
	uint32		nslots = ecp_run_page_slots(geo, run, pageno);
	EcpEntryView view;

	ecp_entry_view(entries, geo, 0, &view);
	leaf_reserve(rows, nslots, want, geo->vec_bytes);
	for (uint32 slot = 0; slot < nslots; slot++)
	{
		if (!EcpSlotIsLive(&view, slot))
			continue;
		if (want & ECP_LEAF_TIDS)
			rows->tids[rows->nrows] = view.tids[slot];
		if (want & ECP_LEAF_VECTORS)
			leaf_vector(index, geo, run, &view, pageno * geo->slots + slot, page,
						rows->vectors + (Size) rows->nrows * geo->vec_bytes);
		rows->nrows++;
	}
}

/* Read a leaf; free it with ecp_leaf_rows_free(). */
void
ecp_leaf_read(Relation index, const EcpIndexState *state,
			  const EcpLeafRef *ref, int want, EcpLeafRows *rows)
{
	const EcpGeometry *geo = &state->leaf;
	PGAlignedBlock copy;
	LeafVectorPage page;
	EcpRun	   *runs;
	char	   *firsts;

	memset(rows, 0, sizeof(EcpLeafRows));
	rows->nruns = ecp_cluster_runs_and_pages(index, state, ref->child.ecpc_blk,
											 ref->child.ecpc_run, &runs, &firsts);
	if (rows->nruns < 0)
		ecp_report_moved(index, ref->child.ecpc_blk);
	for (int r = 0; r < rows->nruns; r++)
	{
		const EcpRunHeaderData *header = &runs[r].header;

		rows->nslots += header->ecpr_nslots;
		rows->npages += header->ecpr_npages;
		page.pageno = 0;
		leaf_page(index, geo, &runs[r], 0, firsts + (Size) r * BLCKSZ, want,
				  &page, rows);
		for (uint32 p = 1; p < header->ecpr_hw_page; p++)
		{
			CHECK_FOR_INTERRUPTS();
			if (!ecp_run_copy_page(index, &runs[r], p, InvalidBuffer, copy.data))
				ecp_report_moved(index, runs[r].blk + p);
			leaf_page(index, geo, &runs[r], p, copy.data, want, &page, rows);
		}
	}
	pfree(firsts);
	pfree(runs);
}

void
ecp_leaf_rows_free(EcpLeafRows *rows)
{
	if (rows->tids)
		pfree(rows->tids);
	if (rows->vectors)
		pfree(rows->vectors);
	memset(rows, 0, sizeof(EcpLeafRows));
}
