/*-------------------------------------------------------------------------
 *
 * ecp_check.c
 *	  ecp_index_check(): verifies the invariants that the README states.
 *
 * First the structure is checked, with all writers of the table locked out:
 * metapage, tree of leaders, clusters, retired queue and map (I1 to I9 of the
 * README), and the format of each page.  Then, on request, the table: every row
 * that the snapshot sees must be in the index under its TID with the same
 * elements and key attributes (I10); as in amcheck, the first scan fills a Bloom
 * filter, which the second one asks.  And every row of the index must be in the
 * table, dead or alive: a TID whose line pointer is free, or which now belongs
 * to a row that is not indexed, was removed by VACUUM.
 *
 * On a standby writers cannot be locked out.  There the tree and the table are
 * checked, which maintenance and purges leave unchanged while our snapshot
 * lives, but not the queue, the map, or rows of the index that may be dead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "base/heap_row.h"
#include "base/user_index.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"
#include "vector/vector_value.h"

PGDLLEXPORT Datum ecp_index_check(PG_FUNCTION_ARGS);

typedef struct EcpCheck
{
	Relation	index;
	EcpIndexState state;
	bool		locked_out;		/* no writers: queue and map do not change */
	uint64	   *seen;			/* blocks that have an owner */
	uint32		nmaps;			/* map pages that "seen" covers */
	EcpHeapCheck rows;			/* live ones of the present version */
	BlockNumber heap_blocks;
	EcpAttrDesc attrs;
	char	   *element;		/* of the filter: scratch */
	char	   *prepared;		/* scratch */
	const void *leader;			/* of the present leaf; NULL = root */
	bool		is_buffer;		/* the present leaf is an insert buffer */
	const char *summary;		/* of the present leaf, or NULL */
	char	   *row_summary;	/* scratch */
	int64		nrows;
	uint32		nleaves;
	uint32		nbuffers;
} EcpCheck;

#define ECP_CHECK_TID_BYTES		sizeof(ItemPointerData)

/* Note that the blocks of an extent have an owner, which must be the only one (I3). */
static void
check_claim(EcpCheck *check, BlockNumber blk, uint32 npages)
{
	Assert(check->locked_out && check->seen != NULL);
	for (uint32 i = 0; i < npages; i++)
	{
		uint64		bit = (uint64) blk + i;

		if (bit >= (uint64) check->nmaps * ECP_MAP_BITS)
			ecp_report_corrupt(check->index, blk + i,
							   "A run lies behind the last map page.");
		if (check->seen[bit / 64] & (UINT64CONST(1) << (bit % 64)))
			ecp_report_corrupt(check->index, blk + i,
							   "The block belongs to two owners.");
		check->seen[bit / 64] |= UINT64CONST(1) << (bit % 64);
	}
}

/* The payload ends at "lower", and the space after it is zero. */
static void
check_page_form(EcpCheck *check, BlockNumber blk, Page page, Size lower)
{
	PageHeader	header = (PageHeader) page;

	Assert(lower >= SizeOfPageHeaderData && lower <= BLCKSZ);
	if (header->pd_lower != lower)
		ecp_report_corrupt(check->index, blk,
						   psprintf("The payload ends at byte %u, expected %zu.",
									header->pd_lower, lower));
	for (Size i = header->pd_lower; i < header->pd_upper; i++)
	{
		if (((char *) page)[i] != 0)
			ecp_report_corrupt(check->index, blk,
							   "The unused part of the page is not zero.");
	}
}

/* Has the summary of the leaf what a row has (I13)? */
static void
check_row_summary(EcpCheck *check, const EcpEntryView *view, uint32 slot,
				  BlockNumber blk, uint32 run_slot)
{
	const EcpGeometry *node = &check->state.node;
	char	   *attrs = check->element + ECP_CHECK_TID_BYTES;

	ecp_entry_get_attrs(&check->state.leaf, view, slot, attrs);
	ecp_summary_init(node, 0, check->row_summary);
	ecp_summary_add(&check->state, attrs, check->row_summary);
	if (!ecp_summary_has(node, check->summary, check->row_summary))
		ecp_report_corrupt(check->index, blk,
						   psprintf("The summary of the cluster lacks what slot %u has.",
									run_slot));
}

/* Check a row: TID, elements, factors (I7, I8). */
static void
check_row(EcpCheck *check, const EcpRun *run, EcpEntryView *view,
		  uint32 run_slot, bool present)
{
	const EcpGeometry *geo = &check->state.leaf;
	uint32		slot = run_slot % geo->slots;
	BlockNumber blk = run->blk + run_slot / geo->slots;
	ItemPointer tid = &view->tids[slot];
	char	   *vector = check->element + ECP_CHECK_TID_BYTES;
	const char *fault;
	EcpSlotItem item = {0};
	char		levels[EcpLevelsBytes(ECP_CODE_DIMS_MAX)];
	char		stored[EcpLevelsBytes(ECP_CODE_DIMS_MAX)];

	Assert(EcpSlotIsLive(view, slot));
	if (!ItemPointerIsValid(tid))
		ecp_report_corrupt(check->index, blk, "A live slot has no valid TID.");

	/* "vector" is not aligned for the kernels: read to other scratch memory */
	ecp_run_read_vector(check->index, geo, run, view, run_slot,
						check->prepared);
	fault = ecp_elements_fault(geo->elem, geo->dims, check->prepared);
	if (fault != NULL)
		ecp_report_corrupt(check->index, blk,
						   psprintf("Slot %u has %s.", run_slot, fault));

	/* codes depend on the leader, which is not known of a retired cluster */
	item.vector = check->prepared;
	item.leader = check->leader;
	item.levels = levels;
	if ((present || geo->quantizer == ECP_QUANTIZER_NONE) &&
		!ecp_entry_matches(&check->state, view, slot, &item))
		ecp_report_corrupt(check->index, blk,
						   psprintf("Code or factors of slot %u do not belong to its vector.",
									run_slot));
	if (present && geo->levels_bytes > 0)
	{
		ecp_run_read_levels(check->index, geo, run, run_slot, stored);
		if (memcmp(stored, levels, geo->levels_bytes) != 0)
			ecp_report_corrupt(check->index, run->blk + run->header.ecpr_entry_pages +
							   EcpLevelsPage(geo, run_slot),
							   psprintf("Levels of slot %u do not belong to its vector.",
										run_slot));
	}
	fault = ecp_attr_slot_fault(&check->attrs, geo, view, slot);
	if (fault != NULL)
		ecp_report_corrupt(check->index, blk,
						   psprintf("Slot %u has %s.", run_slot, fault));
	if (view->include &&
		!ecp_include_is_valid(&check->attrs, view->include +
							  (Size) slot * geo->include_bytes))
		ecp_report_corrupt(check->index, blk,
						   psprintf("The INCLUDE columns of slot %u are damaged.",
									run_slot));
	if (!present)
		return;
	if (check->summary)
		check_row_summary(check, view, slot, blk, run_slot);

	check->nrows++;
	ecp_tid_check(check->index, check->rows.heap, tid, &check->heap_blocks);
	if (check->rows.filter)
	{
		memcpy(check->element, tid, ECP_CHECK_TID_BYTES);
		memcpy(vector, check->prepared, geo->vec_bytes);
		ecp_entry_get_attrs(geo, view, slot, vector + geo->vec_bytes);
	}
	ecp_heap_check_entry(&check->rows, tid, check->element,
						 ECP_CHECK_TID_BYTES + geo->row_bytes);
}

/* Check a leader: its span of versions (I6). */
static void
check_child(EcpCheck *check, BlockNumber blk, int level,
			const EcpChildData *child)
{
	uint32		next = check->state.meta.ecpm_sversion + 1;
	uint16		op = check->state.meta.ecpm_op.ecpi_kind;

	Assert(level > 0);
	if (child->ecpc_vfrom >= child->ecpc_vto)
		ecp_report_corrupt(check->index, blk,
						   "A leader ends before it begins.");
	if ((child->ecpc_flags & ~(ECP_CHILD_TRAINED | ECP_CHILD_BUFFER)) != 0)
		ecp_report_corrupt(check->index, blk, "A leader has an unknown flag.");
	if (level > 1 && (child->ecpc_flags & ECP_CHILD_BUFFER) != 0)
		ecp_report_corrupt(check->index, blk,
						   "A node without clusters has an insert buffer.");
	if (!check->locked_out)
		return;
	if (child->ecpc_vfrom > next ||
		(child->ecpc_vto > next && child->ecpc_vto != ECP_V_NONE) ||
		(op == ECP_OP_NONE &&
		 (child->ecpc_vfrom == next || child->ecpc_vto == next)))
		ecp_report_corrupt(check->index, blk,
						   "A leader belongs to a version that does not exist.");
}

/* Check a copy of an entry page of a run: form, bits, slots (I4, I5). */
static void
check_entry_page(EcpCheck *check, const EcpRun *run, int level,
				 uint32 pageno, Page page, bool present)
{
	const EcpGeometry *geo = EcpLevelGeometry(&check->state, level);
	uint32		nslots = Min(geo->slots,
							 run->header.ecpr_nslots - pageno * geo->slots);
	EcpEntryView view;

	Assert(level >= 0 && level <= check->state.meta.ecpm_root_level);
	Assert(pageno < run->header.ecpr_entry_pages);
	check_page_form(check, run->blk + pageno, page, geo->page_lower);
	ecp_entry_view(page, geo, level, &view);
	for (uint32 slot = 0; slot < geo->live_words * 64; slot++)
	{
		if (!EcpSlotIsLive(&view, slot))
			continue;
		if (slot >= nslots)
			ecp_report_corrupt(check->index, run->blk + pageno,
							   psprintf("Slot %u is live but does not exist.",
										slot));
		if (level == 0)
			check_row(check, run, &view, pageno * geo->slots + slot, present);
		else
			check_child(check, run->blk + pageno, level, &view.children[slot]);
	}
}

/*
 * Check an entry page of a run beyond those in use: no search would find rows
 * on it (I5).  And read it, as a vector page that may be in no use yet: an insert
 * will.
 */
static void
check_unused_page(EcpCheck *check, const EcpRun *run, uint32 pageno)
{
	Buffer		buffer;

	Assert(pageno >= run->header.ecpr_hw_page);
	CHECK_FOR_INTERRUPTS();
	if (!ecp_page_exists(check->index, run->blk + pageno))
		return;
	buffer = ecp_page_get(check->index, run->blk + pageno,
						  BUFFER_LOCK_SHARE);
	if (pageno < run->header.ecpr_entry_pages &&
		ecp_space_owner(BufferGetPage(buffer)) == run->run)
		ecp_report_corrupt(check->index, run->blk + pageno,
						   "The page is in use, but its run does not say so.");
	UnlockReleaseBuffer(buffer);
}

/* Check all pages of a run whose header was read by the caller. */
static void
check_run(EcpCheck *check, const EcpRun *run, int level, bool present)
{
	const EcpRunHeaderData *header = &run->header;
	PGAlignedBlock copy;

	if ((header->ecpr_flags & ECP_RUN_FREED) != 0)
		ecp_report_corrupt(check->index, run->blk,
						   "A run that is in use is marked as free.");
	if (check->locked_out)
	{
		if (EcpBlockMap(run->blk) != EcpBlockMap(run->blk + header->ecpr_npages - 1))
			ecp_report_corrupt(check->index, run->blk,
							   "The run crosses a map page.");
		check_claim(check, run->blk, header->ecpr_npages);
	}
	for (uint32 p = 0; p < header->ecpr_hw_page; p++)
	{
		ecp_run_copy_page(check->index, run, p, InvalidBuffer, copy.data);
		check_entry_page(check, run, level, p, (Page) copy.data, present);
	}
	for (uint32 p = header->ecpr_hw_page;
		 check->locked_out && p < header->ecpr_npages; p++)
		check_unused_page(check, run, p);
}

/* Check a cluster of any level, "present" or retired; returns its pages. */
static uint32
check_cluster(EcpCheck *check, int level, BlockNumber blk, uint64 run_id,
			  bool present)
{
	EcpRun	   *runs;
	int			nruns;
	uint32		npages = 0;

	nruns = ecp_cluster_runs(check->index, &check->state, level, blk, run_id,
							 InvalidBuffer, &runs);
	if (level > 0 && nruns > 1)
		ecp_report_corrupt(check->index, blk, "A node must be one run.");
	for (int r = 0; r < nruns; r++)
	{
		bool		retired = (runs[r].header.ecpr_flags & ECP_RUN_RETIRED) != 0;

		/* a leaf closed by an unfinished regrouping is still present */
		if (check->locked_out && r == 0 && retired && present &&
			check->state.meta.ecpm_op.ecpi_kind == ECP_OP_GROUP &&
			runs[r].header.ecpr_retired_v == check->state.meta.ecpm_sversion + 1)
			retired = false;
		if (check->locked_out && r == 0 && retired == present)
			ecp_report_corrupt(check->index, blk, present ?
							   "A cluster of the present version is marked as retired." :
							   "A cluster in the retired queue is not marked as retired.");
		if (runs[r].run >= check->state.meta.ecpm_next_run && check->locked_out)
			ecp_report_corrupt(check->index, runs[r].blk,
							   "The run has an identity that was never given.");
		check_run(check, &runs[r], level, present);
		npages += runs[r].header.ecpr_npages;
	}
	pfree(runs);
	return npages;
}

/* The summary of a child of a node, which must be its own (I13); NULL: there are none. */
static const char *
check_summary(EcpCheck *check, const EcpNodeImage *node, int i, char *summary)
{
	/* on a standby, rows come that it did not have when it was copied */
	if (check->state.node.summary_bytes == 0 || !check->locked_out)
		return NULL;
	if (!ecp_summary_read(check->index, &check->state, node->head.blk,
						  node->head.run, &node->head.header, node->slots[i],
						  summary))
		ecp_report_moved(check->index, node->head.blk);
	if (!ecp_summary_is_of(summary, node->children[i].ecpc_run))
		ecp_report_corrupt(check->index, node->head.blk,
						   psprintf("Slot %u has the summary of another cluster.",
									node->slots[i]));
	return summary;
}

/* Check the tree of the present version and its leaves. */
static void
check_tree(EcpCheck *check)
{
	EcpMetaPageData *meta = &check->state.meta;
	List	   *nodes;
	ListCell   *lc;
	char	   *summary;

	if (EcpIndexIsEmpty(&check->state))
		return;
	check->leader = NULL;
	if (meta->ecpm_root_level == 0)
	{
		check_cluster(check, 0, meta->ecpm_root.ecpc_blk,
					  meta->ecpm_root.ecpc_run, true);
		check->nleaves = 1;
		return;
	}

	summary = palloc(check->state.node.summary_bytes + 1);
	check->row_summary = palloc(check->state.node.summary_bytes + 1);
	nodes = ecp_node_collect(check->index, &check->state, -1);
	foreach(lc, nodes)
	{
		EcpNodeRef *ref = lfirst(lc);
		EcpNodeImage *node;

		check_cluster(check, ref->level, ref->child.ecpc_blk,
					  ref->child.ecpc_run, true);
		if (ref->level > 1)
			continue;
		node = ecp_node_read(check->index, &check->state, 1,
							 ref->child.ecpc_blk, ref->child.ecpc_run, true);
		for (int i = 0; i < node->nchildren + node->nbuffers; i++)
		{
			check->leader = node->leaders + i * node->stride;
			check->is_buffer = i >= node->nchildren;
			check->summary = check->is_buffer ? NULL :
				check_summary(check, node, i, summary);
			check_cluster(check, 0, node->children[i].ecpc_blk,
						  node->children[i].ecpc_run, true);
		}
		check->summary = NULL;
		check->nleaves += node->nchildren;
		check->nbuffers += node->nbuffers;
		ecp_node_image_free(node);
	}
}

/* Check the retired queue (I9). */
static void
check_retired(EcpCheck *check)
{
	EcpMetaPageData *meta = &check->state.meta;
	BlockNumber last = InvalidBlockNumber;
	uint32		npages = 0;
	EcpRetiredWalk walk;
	EcpRun		head;

	Assert(check->locked_out);
	ecp_cluster_retired_begin(&check->state, &walk);
	while (ecp_cluster_retired_next(check->index, &check->state, &walk, &head))
	{
		npages += check_cluster(check, head.header.ecpr_level, head.blk, head.run,
								false);
		last = head.blk;
	}
	if (last != meta->ecpm_retired_tail)
		ecp_report_corrupt(check->index, ECP_META_BLKNO,
						   "The tail of the retired queue is not its last cluster.");
	if (npages != meta->ecpm_retired_pages)
		ecp_report_corrupt(check->index, ECP_META_BLKNO,
						   psprintf("The retired queue has %u pages, not %u.",
									npages, meta->ecpm_retired_pages));
}

/* Check what an unfinished operation has allocated (I2). */
static void
check_intent(EcpCheck *check)
{
	EcpIntentData *op = &check->state.meta.ecpm_op;
	BlockNumber blk = op->ecpi_written;

	Assert(check->locked_out);
	if (op->ecpi_kind == ECP_OP_NONE)
		return;
	if ((op->ecpi_kind != ECP_OP_REPLACE && op->ecpi_kind != ECP_OP_GROUP) ||
		op->ecpi_nnew > lengthof(op->ecpi_new))
		ecp_report_corrupt(check->index, ECP_META_BLKNO,
						   "The unfinished operation is not a known one.");
	for (int i = 0; i < op->ecpi_nnew; i++)
	{
		if (op->ecpi_new[i] != InvalidBlockNumber)
			check_claim(check, op->ecpi_new[i], op->ecpi_new_npages[i]);
	}
	if (op->ecpi_parent != InvalidBlockNumber)
	{
		Buffer		head = ecp_page_get(check->index, op->ecpi_parent,
										BUFFER_LOCK_SHARE);

		ecp_node_check_header(check->index, head, &check->state);
		UnlockReleaseBuffer(head);
	}

	/* a ring would claim a block twice */
	while (op->ecpi_kind == ECP_OP_GROUP && blk != InvalidBlockNumber)
	{
		EcpRun		run;

		CHECK_FOR_INTERRUPTS();
		ecp_cluster_written_read(check->index, &check->state, blk, &run);
		check_claim(check, blk, run.header.ecpr_npages);
		blk = run.header.ecpr_retired_next;
	}
}

/*
 * Check that the map agrees with the blocks that have owners (I3).  Free blocks are
 * read, as they are before something is written to them.
 */
static void
check_map(EcpCheck *check)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(check->index);

	Assert(check->locked_out);
	if (check->state.meta.ecpm_map_hint >= check->nmaps)
		ecp_report_corrupt(check->index, ECP_META_BLKNO,
						   psprintf("Map page %u does not exist.",
									check->state.meta.ecpm_map_hint));
	for (uint32 mapno = 0; mapno < check->nmaps; mapno++)
	{
		uint64	   *seen = check->seen + (Size) mapno * ECP_MAP_BITS / 64;
		PGAlignedBlock copy;
		Buffer		buffer;
		uint64	   *words = EcpPageGetMap(copy.data);

		CHECK_FOR_INTERRUPTS();
		if (EcpMapBlock(mapno) >= nblocks)
			continue;
		buffer = ecp_page_get(check->index, EcpMapBlock(mapno),
							  BUFFER_LOCK_SHARE);
		if (PageIsNew(BufferGetPage(buffer)) && mapno > 0 &&
			pg_popcount((const char *) seen, ECP_MAP_BYTES) == 0)
		{
			/* extended, but not used before a crash */
			UnlockReleaseBuffer(buffer);
			continue;
		}
		ecp_page_check(check->index, buffer, ECP_PAGE_MAP);
		check_page_form(check, EcpMapBlock(mapno), BufferGetPage(buffer),
						MAXALIGN(SizeOfPageHeaderData) + ECP_MAP_BYTES);
		check_claim(check, EcpMapBlock(mapno), 1);
		memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
		UnlockReleaseBuffer(buffer);
		for (uint32 bit = 0; bit < ECP_MAP_BITS; bit++)
		{
			uint64		mask = UINT64CONST(1) << (bit % 64);
			BlockNumber blk = mapno * ECP_MAP_BITS + bit;

			CHECK_FOR_INTERRUPTS();
			if ((words[bit / 64] & mask) != (seen[bit / 64] & mask))
				ecp_report_corrupt(check->index, blk,
								   (words[bit / 64] & mask) ?
								   "The block is marked as used, but nothing uses it." :
								   "The block is in use, but marked as free.");
			if ((words[bit / 64] & mask) == 0 && blk < nblocks)
				ReleaseBuffer(ReadBuffer(check->index, blk));
		}
	}
}

/* What the index must have of a row of the table (I10). */
static const void *
check_form_row(void *arg, ItemPointer tid, Datum *values, bool *isnull, Size *size)
{
	EcpCheck   *check = arg;
	EcpMetaPageData *meta = &check->state.meta;
	EcpVector	vector;
	bool		indexed;

	if (isnull[0])
		return NULL;
	ecp_vector_read(values[0], meta->ecpm_column_type, &vector);
	indexed = ecp_prepare(meta, &vector, check->prepared);
	*size = 0;
	if (indexed && !EcpIndexIsEmpty(&check->state) && vector.dims == meta->ecpm_dims)
	{
		char	   *row = check->element + ECP_CHECK_TID_BYTES;

		memcpy(check->element, tid, ECP_CHECK_TID_BYTES);
		ecp_prepare_stored(meta, &vector, row);
		ecp_attr_form(&check->attrs, &vector, values, isnull,
					  row + check->state.leaf.vec_bytes);
		*size = ECP_CHECK_TID_BYTES + check->state.leaf.row_bytes;
	}
	ecp_vector_release(&vector);
	return indexed ? check->element : NULL;
}

/* Check the structure. */
static void
check_structure(EcpCheck *check)
{
	EcpMetaPageData *meta = &check->state.meta;
	BlockNumber nblocks = RelationGetNumberOfBlocks(check->index);
	Buffer		buffer;

	buffer = ecp_page_get(check->index, ECP_META_BLKNO, BUFFER_LOCK_SHARE);
	check_page_form(check, ECP_META_BLKNO, BufferGetPage(buffer),
					MAXALIGN(SizeOfPageHeaderData) + sizeof(EcpMetaPageData));
	UnlockReleaseBuffer(buffer);

	if (check->locked_out)
	{
		check->nmaps = EcpBlockMap(nblocks - 1) + 1;
		check->seen = palloc_extended((Size) check->nmaps * ECP_MAP_BITS / 8,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		check_claim(check, ECP_META_BLKNO, 1);
	}
	check_tree(check);
	if (!check->locked_out)
		return;

	if (check->nbuffers != meta->ecpm_nbuffers)
		ecp_report_corrupt(check->index, ECP_META_BLKNO,
						   psprintf("There are %u insert buffers, not %u.",
									check->nbuffers, meta->ecpm_nbuffers));
	if (check->nleaves != meta->ecpm_nleaves)
		ecp_report_corrupt(check->index, ECP_META_BLKNO,
						   psprintf("The index has %u clusters, not %u.",
									check->nleaves, meta->ecpm_nleaves));
	check_retired(check);
	check_intent(check);
	check_map(check);
}

/* Check structure and table, in a memory context of their own. */
static void
check_index(Relation heap, Relation index, bool locked_out,
			bool heapallindexed)
{
	MemoryContext context;
	MemoryContext old_context;
	EcpCheck   *check;

	context = AllocSetContextCreate(CurrentMemoryContext, "ecp check",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	check = palloc0(sizeof(EcpCheck));
	check->index = index;
	check->locked_out = locked_out;

	/* the snapshot before the version, as in a scan */
	ecp_heap_check_begin(&check->rows, heap, index, true, heapallindexed);
	ecp_meta_read_state(index, &check->state);
	check->element = palloc(ECP_CHECK_TID_BYTES +
							ECP_DIMS_MAX * sizeof(float4) +
							ECP_ATTR_BYTES_MAX + 64);
	ecp_attr_desc_init(index, &check->state.meta, &check->attrs);
	check->prepared = palloc(ECP_DIMS_MAX * sizeof(float4) + 64);
	check_structure(check);
	ecp_heap_check_end(&check->rows, check_form_row, check, locked_out);
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\": " INT64_FORMAT " rows in %u clusters verified",
							 RelationGetRelationName(index), check->nrows,
							 check->nleaves)));
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
}

PG_FUNCTION_INFO_V1(ecp_index_check);

/*
 * ecp_index_check(index regclass, heapallindexed bool)
 */
Datum
ecp_index_check(PG_FUNCTION_ARGS)
{
	bool		heapallindexed = PG_GETARG_BOOL(1);
	bool		locked_out = !RecoveryInProgress();
	EcpUserIndex user;

	ecp_user_index_begin(&user, fcinfo,
						 locked_out ? ShareLock : AccessShareLock,
						 &ecp_index_kind);
	check_index(user.heap, user.index, locked_out, heapallindexed);
	ecp_user_index_end(&user);
	PG_RETURN_VOID();
}
