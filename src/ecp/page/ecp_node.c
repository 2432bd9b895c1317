/*-------------------------------------------------------------------------
 *
 * ecp_node.c
 *	  Nodes: copies of them, and the nodes of a level.
 *
 * See ecp_run.c for what these functions have in common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "storage/shmem.h"
#include "vector/vector_distance.h"

/* The head of a node, of whatever level. */
void
ecp_node_check_header(Relation index, Buffer buffer,
					  const EcpIndexState *state)
{
	ecp_page_check(index, buffer, ECP_PAGE_ENTRY);
	ecp_run_check_header(index, buffer, &state->node);
	if (EcpPageGetRunHeader(BufferGetPage(buffer))->ecpr_level == 0)
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "A leaf was to be changed as a node.");
}

/* Room for n leaders. */
static char *
node_leaders(uint32 n, Size stride)
{
	return palloc_extended(add_size(mul_size(n, stride), ECP_KERNEL_SLACK),
						   MCXT_ALLOC_HUGE);
}

/* Narrow the range of versions that see the same children as ours. */
static void
node_note_stamp(EcpNodeImage *node, uint32 sversion, uint32 stamp)
{
	if (stamp <= sversion)
		node->valid_from = Max(node->valid_from, stamp);
	else
		node->valid_until = Min(node->valid_until, stamp);
}

/* Children first, buffers behind them, each in the order of slots. */
static void
node_image_order(EcpNodeImage *node)
{
	int			n = node->nchildren;
	EcpChildData *children = palloc(n * sizeof(EcpChildData));
	uint32	   *slots = palloc(n * sizeof(uint32));
	char	   *leaders = node->leaders ? node_leaders(n, node->stride) : NULL;
	int			next_child = 0;
	int			next_buffer = n - node->nbuffers;

	for (int i = 0; i < n; i++)
	{
		int			to = (node->children[i].ecpc_flags & ECP_CHILD_BUFFER) != 0 ?
			next_buffer++ : next_child++;

		children[to] = node->children[i];
		slots[to] = node->slots[i];
		if (leaders)
			memcpy(leaders + to * node->stride,
				   node->leaders + i * node->stride, node->stride);
	}
	pfree(node->children);
	pfree(node->slots);
	if (node->leaders)
		pfree(node->leaders);
	node->children = children;
	node->slots = slots;
	node->leaders = leaders;
	node->nchildren = n - node->nbuffers;
}

/*
 * ecp_node_try_read
 *		Copy a node: its children at state's version, with their leaders if
 *		wanted, and behind them its buffers.
 *
 * NULL if its blocks belong to another run now.  Free the result with
 * ecp_node_image_free().
 */
EcpNodeImage *
ecp_node_try_read(Relation index, const EcpIndexState *state, int level,
				  BlockNumber blk, uint64 run, bool leaders)
{
	const EcpGeometry *geo = &state->node;
	EcpNodeImage *node = palloc0(sizeof(EcpNodeImage));
	EcpRunHeaderData *header = &node->head.header;
	uint32		sversion = state->meta.ecpm_sversion;
	PGAlignedBlock copy;

	Assert(level > 0);
	if (!ecp_run_read(index, state, level, blk, run, InvalidBuffer,
					  &node->head))
		return NULL;
	if ((header->ecpr_flags & ECP_RUN_HEAD) == 0 || header->ecpr_next_run != 0)
		ecp_report_corrupt(index, blk, "A node must be one run.");

	node->level = level;
	node->valid_until = ECP_V_NONE;
	node->nfree = header->ecpr_nslots -
		Min(header->ecpr_free_hint * geo->slots, header->ecpr_nslots);
	node->stride = MAXALIGN(geo->vec_bytes);
	node->children = palloc(mul_size(header->ecpr_nslots, sizeof(EcpChildData)));
	node->slots = palloc(mul_size(header->ecpr_nslots, sizeof(uint32)));
	if (leaders)
		node->leaders = node_leaders(header->ecpr_nslots, node->stride);

	for (uint32 pageno = 0; pageno < header->ecpr_hw_page; pageno++)
	{
		uint32		nslots = ecp_run_page_slots(geo, &node->head, pageno);
		EcpEntryView view;

		ecp_run_copy_page(index, &node->head, pageno, InvalidBuffer, copy.data);
		ecp_entry_view(copy.data, geo, level, &view);
		for (uint32 slot = 0; slot < nslots; slot++)
		{
			EcpChild	child = &view.children[slot];
			int			n = node->nchildren;
			uint32		run_slot = pageno * geo->slots + slot;

			if (!EcpSlotIsLive(&view, slot))
				continue;
			if (pageno >= header->ecpr_free_hint)
				node->nfree--;
			node_note_stamp(node, sversion, child->ecpc_vfrom);
			node_note_stamp(node, sversion, child->ecpc_vto);
			if (!EcpChildIsVisible(child, sversion))
				continue;
			node->children[n] = *child;
			node->slots[n] = run_slot;
			if (leaders)
				ecp_run_read_vector(index, geo, &node->head, &view, run_slot,
									node->leaders + n * node->stride);
			node->nchildren++;
			if (child->ecpc_flags & ECP_CHILD_BUFFER)
				node->nbuffers++;
		}
	}
	if (node->nbuffers > 0)
		node_image_order(node);
	return node;
}

/*
 * ecp_node_read
 *		The same of a node that must be there.
 */
EcpNodeImage *
ecp_node_read(Relation index, const EcpIndexState *state, int level,
			  BlockNumber blk, uint64 run, bool leaders)
{
	EcpNodeImage *node = ecp_node_try_read(index, state, level, blk, run,
										   leaders);

	if (node == NULL)
		ecp_report_moved(index, blk);
	return node;
}

void
ecp_node_image_free(EcpNodeImage *node)
{
	pfree(node->children);
	pfree(node->slots);
	if (node->leaders)
		pfree(node->leaders);
	pfree(node);
}

/*
 * List of EcpNodeRef of the nodes at state's version: those of one level, or
 * of all levels if level is -1, parents first.
 */
List *
ecp_node_collect(Relation index, const EcpIndexState *state, int level)
{
	List	   *current;
	List	   *result = NIL;
	EcpNodeRef *root;

	Assert(level == -1 || level > 0);
	if (EcpIndexIsEmpty(state) || state->meta.ecpm_root_level == 0)
		return NIL;

	root = palloc(sizeof(EcpNodeRef));
	root->child = state->meta.ecpm_root;
	root->level = state->meta.ecpm_root_level;
	current = list_make1(root);
	for (int l = root->level; l >= 1; l--)
	{
		List	   *below = NIL;
		ListCell   *lc;

		if (level == -1)
			result = list_concat(result, current);
		if (l == 1 || l == level)
			return level == -1 ? result : level == l ? current : NIL;

		foreach(lc, current)
		{
			EcpNodeRef *ref = lfirst(lc);
			EcpNodeImage *node;

			node = ecp_node_read(index, state, l, ref->child.ecpc_blk,
								 ref->child.ecpc_run, false);
			for (int i = 0; i < node->nchildren; i++)
			{
				EcpNodeRef *child = palloc(sizeof(EcpNodeRef));

				child->child = node->children[i];
				child->level = l - 1;
				below = lappend(below, child);
			}
			ecp_node_image_free(node);

			/* a node that is a child of several, and so on, level by level */
			if (list_length(below) > RelationGetNumberOfBlocks(index))
				ecp_report_corrupt(index, ref->child.ecpc_blk,
								   "The tree has more nodes than blocks.");
		}
		current = below;
	}
	return result;
}

/* ---- leaves ---- */

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

void
ecp_leaves_collect(Relation index, const EcpIndexState *state,
				   EcpLeaves *leaves)
{
	int			max = 1024;
	List	   *nodes;
	ListCell   *lc;

	memset(leaves, 0, sizeof(EcpLeaves));
	leaves->refs = palloc_array(EcpLeafRef, max);
	if (EcpIndexIsEmpty(state))
		return;
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
