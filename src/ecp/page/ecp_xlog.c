/*-------------------------------------------------------------------------
 *
 * ecp_xlog.c
 *	  The WAL records of a living ecp index.
 *
 * Each function writes one record of the table "WAL records" in the README
 * (ecp_xlog_put() and ecp_xlog_learn() may write VEC records before).  All are
 * generic records of at most four pages, except for FILL.  The comment of a
 * function says what holds after its record, even if a crash follows.  Other
 * files decide what is changed; after its build, an index is changed only by
 * this file and ecp_xlog_run.c, which has the records that link runs.
 *
 * Locks are taken in the README's order: pages of the cluster, pages of the
 * parent, the tail of the retired queue, the map, the metapage, pages that are
 * not reachable yet.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "base/bits.h"
#include "base/core.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "vector/vector_codes.h"

/* Pages that a generic record can register. */
#define ECP_RECORD_PAGES	MAX_GENERIC_XLOG_PAGES

/* Where ecp_xlog_put() writes. */
typedef struct EcpPutSlot
{
	Buffer		entry;			/* locked; may be page 0 itself */
	bool		fresh;			/* first touch */
	uint32		pageno;
	uint32		slot;			/* within the page */
} EcpPutSlot;

/*
 * LEARN: META, MAP, new head.  The first row of an index without root: its
 * dimensions are known (state->meta has them and what follows from them)
 * and the root is a leaf with one empty run.
 *
 * Returns false, having changed nothing, if the index has a root by now.
 */
bool
ecp_xlog_learn(Relation index, EcpIndexState *state, uint32 nslots)
{
	const EcpGeometry *geo = &state->leaf;
	uint32		entry_pages;
	EcpExtent	extent;
	Buffer		meta;
	Buffer		head;
	GenericXLogState *xlog;
	EcpMetaPage m;
	Page		page;

	Assert(state->meta.ecpm_dims > 0);
	Assert(nslots > 0);
	ecp_geometry_run_size(geo, nslots, &entry_pages, &extent.npages);
	ecp_space_find(index, state->meta.ecpm_map_hint, extent.npages, &extent);
	meta = ecp_meta_lock(index);
	m = EcpPageGetMeta(BufferGetPage(meta));
	if (m->ecpm_root.ecpc_run != 0 ||
		(m->ecpm_dims != 0 && m->ecpm_dims != state->meta.ecpm_dims &&
		 m->ecpm_retired_head != InvalidBlockNumber))
	{
		UnlockReleaseBuffer(meta);
		UnlockReleaseBuffer(extent.map);
		return false;
	}
	head = ecp_space_new_buffer(index, extent.blk);

	xlog = GenericXLogStart(index);
	m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));
	(void) ecp_space_register(index, xlog, &extent);
	page = GenericXLogRegisterBuffer(xlog, head, GENERIC_XLOG_FULL_IMAGE);

	if (m->ecpm_dims != state->meta.ecpm_dims)
		m->ecpm_flags |= ECP_META_DIMS_LEARNED;
	m->ecpm_dims = state->meta.ecpm_dims;
	m->ecpm_quantizer = state->meta.ecpm_quantizer;
	m->ecpm_leaf_target = state->meta.ecpm_leaf_target;
	m->ecpm_leaf_max = state->meta.ecpm_leaf_max;
	m->ecpm_node_target = state->meta.ecpm_node_target;
	m->ecpm_node_max = state->meta.ecpm_node_max;
	m->ecpm_summary_bytes = state->meta.ecpm_summary_bytes;
	ecp_meta_check_version(index, m);
	m->ecpm_sversion++;
	m->ecpm_nleaves = 1;
	m->ecpm_root_level = 0;
	memset(&m->ecpm_root, 0, sizeof(EcpChildData));
	m->ecpm_root.ecpc_blk = extent.blk;
	m->ecpm_root.ecpc_npages = extent.npages;
	m->ecpm_root.ecpc_run = ecp_meta_take_runs(index, m, 1);
	m->ecpm_root.ecpc_vfrom = m->ecpm_sversion;
	m->ecpm_root.ecpc_vto = ECP_V_NONE;
	ecp_run_init(page, geo, 0, m->ecpm_root.ecpc_run, m->ecpm_root.ecpc_run,
				 nslots);
	GenericXLogFinish(xlog);

	UnlockReleaseBuffer(head);
	UnlockReleaseBuffer(meta);
	UnlockReleaseBuffer(extent.map);
	return true;
}

/* Lowest free slot among the first nslots of an entry page, or -1. */
static int
entry_find_free(const EcpEntryView *view, uint32 nslots)
{
	Assert(nslots > 0);
	for (uint32 first = 0; first < nslots; first += 64)
	{
		uint64		free = ~view->live[first / 64] & EcpLowBits(nslots - first);

		if (free != 0)
			return first + pg_rightmost_one_pos64(free);
	}
	return -1;
}

/*
 * Find the lowest free slot of a run from its free_hint on.  Returns false
 * if there is none, else *place with its entry page locked.
 */
static bool
place_find(Relation index, const EcpGeometry *geo, int level,
		   Buffer page0, EcpPutSlot *place)
{
	EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(page0));
	uint64		run = EcpPageGetOpaque(BufferGetPage(page0))->ecpo_run;
	BlockNumber blk = BufferGetBlockNumber(page0);

	Assert(ecp_buffer_is_exclusive_locked(page0));
	for (uint32 p = header->ecpr_free_hint; p < header->ecpr_entry_pages; p++)
	{
		uint32		nslots = Min(geo->slots,
								 header->ecpr_nslots - p * geo->slots);
		EcpEntryView view;
		int			slot;

		place->pageno = p;
		place->slot = 0;
		place->fresh = p >= header->ecpr_hw_page;
		if (place->fresh)
		{
			place->entry = ecp_space_new_buffer(index, blk + p);
			return true;
		}
		if (p == 0)
			place->entry = page0;
		else
		{
			place->entry = ecp_run_page_get(index, ECP_PAGE_ENTRY, blk, run, p,
											BUFFER_LOCK_EXCLUSIVE);
			if (!BufferIsValid(place->entry))
				ecp_report_moved(index, blk + p);
			ecp_entry_check_lower(index, place->entry, geo);
		}
		ecp_entry_view(BufferGetPage(place->entry), geo, level, &view);
		slot = entry_find_free(&view, nslots);
		if (slot >= 0)
		{
			place->slot = slot;
			return true;
		}
		if (place->entry != page0)
			UnlockReleaseBuffer(place->entry);
	}
	return false;
}

/*
 * Register the vector page "pageno" of a run in a record, initialised if
 * this is its first touch, and write part of a vector to it.  Returns the
 * buffer, to be released after the record.
 *
 * Unlike an entry page, a vector page shows whether it was written: its special
 * space has our run id.  It can be relied on, because every write to the page was
 * logged before it could reach the disk.
 */
Buffer
ecp_xlog_vector_page(Relation index, GenericXLogState *xlog,
					 const EcpGeometry *geo, Buffer page0, uint32 pageno,
					 uint32 offset, const char *data, uint32 bytes)
{
	EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(page0));
	uint64		run = EcpPageGetOpaque(BufferGetPage(page0))->ecpo_run;
	BlockNumber blk = BufferGetBlockNumber(page0) + pageno;
	Buffer		buffer;
	Page		page;
	bool		fresh = true;

	if (blk >= RelationGetNumberOfBlocks(index))
		buffer = ecp_space_new_buffer(index, blk);
	else
	{
		buffer = ecp_page_get(index, blk, BUFFER_LOCK_EXCLUSIVE);
		fresh = ecp_space_owner(BufferGetPage(buffer)) != run;
		if (fresh)
			ecp_space_check_free(index, buffer);
		else if (!ecp_page_check_run(index, buffer, ECP_PAGE_VECTOR, run,
									 pageno))
			ecp_report_moved(index, blk);
	}

	page = GenericXLogRegisterBuffer(xlog, buffer,
									 fresh ? GENERIC_XLOG_FULL_IMAGE : 0);
	if (fresh)
		ecp_page_init_run(page, geo, run, pageno, header->ecpr_entry_pages);
	memcpy(EcpPageGetStream(page) + offset, data, bytes);
	return buffer;
}

/* What remains to be written of a vector in the vector part. */
typedef struct EcpVectorRest
{
	uint32		pageno;
	uint32		offset;
	const char *data;
	uint32		bytes;
} EcpVectorRest;

/* Write the rest of a vector to at most max pages within one record. */
static int
vector_rest_write(Relation index, GenericXLogState *xlog,
				  const EcpGeometry *geo, Buffer page0,
				  EcpVectorRest *rest, Buffer *buffers, int max)
{
	int			n = 0;

	while (rest->bytes > 0 && n < max)
	{
		uint32		part = Min(rest->bytes, ECP_PAYLOAD_BYTES - rest->offset);

		buffers[n++] = ecp_xlog_vector_page(index, xlog, geo, page0,
											rest->pageno, rest->offset,
											rest->data, part);
		rest->data += part;
		rest->bytes -= part;
		rest->pageno++;
		rest->offset = 0;
	}
	return n;
}

/*
 * VEC: up to four vector pages.  Writes a vector, whose slot is free, until
 * no more is left than SLOT can take with it, on slot_max pages.
 */
static void
xlog_vec(Relation index, const EcpGeometry *geo, Buffer page0,
		 EcpVectorRest *rest, int slot_max)
{
	while (rest->offset + rest->bytes > slot_max * ECP_PAYLOAD_BYTES)
	{
		GenericXLogState *xlog = GenericXLogStart(index);
		Buffer		buffers[ECP_RECORD_PAGES];
		int			n;

		n = vector_rest_write(index, xlog, geo, page0, rest, buffers,
							  ECP_RECORD_PAGES);
		GenericXLogFinish(xlog);
		while (--n >= 0)
			UnlockReleaseBuffer(buffers[n]);
		ECP_STOP_POINT("vec");
	}
}

/*
 * Write one slot into (the copy of) its entry page, and what changes with
 * it in (the copy of) page 0, which may be the same.
 */
static void
slot_write(Page entry, Page first, const EcpIndexState *state, int level,
		   const EcpPutSlot *place, const EcpSlotItem *item)
{
	const EcpGeometry *geo = EcpLevelGeometry(state, level);
	EcpEntryView view;

	ecp_entry_view(entry, geo, level, &view);
	ecp_entry_put(state, level, &view, place->slot, item);
	EcpSlotSetLive(&view, place->slot);

	if (first != NULL)
	{
		EcpRunHeader header = EcpPageGetRunHeader(first);

		header->ecpr_free_hint = place->pageno;
		if (place->fresh)
			header->ecpr_hw_page = place->pageno + 1;
		if (level > 0)
			header->ecpr_change++;
	}
}

/*
 * SLOT in the usual case: one entry page, which is already in use.  Of the bytes
 * that a slot consists of, those that differ are logged.
 */
static void
xlog_put_quickly(Relation index, const EcpIndexState *state, int level,
				 const EcpPutSlot *place, const EcpSlotItem *item)
{
	const EcpGeometry *geo = EcpLevelGeometry(state, level);
	Page		page = BufferGetPage(place->entry);
	EcpByteRange ranges[ECP_ENTRY_RANGES_MAX];
	EcpDelta	delta;
	char	   *before;
	Size		bytes = 0;
	int			nranges;

	Assert(ecp_buffer_is_exclusive_locked(place->entry));
	nranges = ecp_entry_ranges(geo, level, place->slot, ranges);
	for (int i = 0; i < nranges; i++)
		bytes += ranges[i].bytes;
	before = palloc(bytes);
	ecp_delta_begin(&delta, index, bytes + nranges * ECP_DELTA_HEADER, place->entry,
					InvalidBuffer);
	bytes = 0;
	for (int i = 0; i < nranges; i++)
	{
		memcpy(before + bytes, (char *) page + ranges[i].offset, ranges[i].bytes);
		bytes += ranges[i].bytes;
	}

	slot_write(page, NULL, state, level, place, item);
	bytes = 0;
	for (int i = 0; i < nranges; i++)
	{
		if (memcmp(before + bytes, (char *) page + ranges[i].offset,
				   ranges[i].bytes) != 0)
			ecp_delta_range(&delta, 0, ranges[i].offset, ranges[i].bytes);
		bytes += ranges[i].bytes;
	}
	ecp_delta_finish(&delta);
	pfree(before);
}

/*
 * SLOT: page 0 of the run (if it changes), entry page, that of the levels, one or two
 * vector pages.  Live bit, TID or child, codes, factors, levels and vector of one free
 * slot agree: all or nothing.
 *
 * page0 is page 0 of the run, exclusively locked; if the run belongs to a
 * leaf that others know, so is the cluster's head.  Returns false, having
 * changed nothing, if the run has no free slot before stop_slot; else the slot is
 * *filled, unless that is NULL.
 */
bool
ecp_xlog_put(Relation index, const EcpIndexState *state, int level,
			 Buffer page0, const EcpSlotItem *item, uint32 stop_slot,
			 uint32 *filled)
{
	const EcpGeometry *geo = EcpLevelGeometry(state, level);
	EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(page0));
	EcpVectorRest rest = {0};
	EcpSlotItem put = *item;
	EcpPutSlot	place;
	uint32		slot;
	int			max;
	GenericXLogState *xlog;
	Page		entry;
	Page		first = NULL;
	Buffer		buffers[ECP_RECORD_PAGES];
	int			n = 0;

	Assert(ecp_buffer_is_exclusive_locked(page0));
	Assert(level >= 0 && item->vector != NULL);
	if (!place_find(index, geo, level, page0, &place))
		return false;
	slot = place.pageno * geo->slots + place.slot;
	if (slot >= stop_slot)
	{
		if (place.entry != page0)
			UnlockReleaseBuffer(place.entry);
		return false;
	}
	if (filled)
		*filled = slot;

	if (geo->levels_bytes > 0)
		put.levels = palloc(geo->levels_bytes);
	max = ECP_RECORD_PAGES - (put.levels && place.entry != page0 ? 3 : 2);
	if (geo->stream)
	{
		ecp_geometry_stream_position(geo, EcpRunVectorPage(geo, header), slot,
									 &rest.pageno, &rest.offset);
		rest.data = item->vector;
		rest.bytes = geo->vec_bytes;
		xlog_vec(index, geo, page0, &rest, max);
	}

	if (level == 0 && !place.fresh && !geo->stream &&
		place.pageno == header->ecpr_free_hint)
	{
		xlog_put_quickly(index, state, level, &place, item);
		if (place.entry != page0)
			UnlockReleaseBuffer(place.entry);
		return true;
	}

	xlog = GenericXLogStart(index);
	entry = GenericXLogRegisterBuffer(xlog, place.entry,
									  place.fresh ? GENERIC_XLOG_FULL_IMAGE : 0);
	if (place.fresh)
		ecp_page_init_run(entry, geo,
						  EcpPageGetOpaque(BufferGetPage(page0))->ecpo_run,
						  place.pageno, header->ecpr_entry_pages);
	if (place.entry == page0)
		first = entry;
	else if (place.fresh || level > 0 ||
			 place.pageno != header->ecpr_free_hint)
		first = GenericXLogRegisterBuffer(xlog, page0, 0);
	slot_write(entry, first, state, level, &place, &put);
	if (rest.bytes > 0)
		n = vector_rest_write(index, xlog, geo, page0, &rest, buffers, max);
	if (put.levels)
	{
		buffers[n++] = ecp_xlog_vector_page(index, xlog, geo, page0,
											header->ecpr_entry_pages +
											EcpLevelsPage(geo, slot),
											EcpLevelsOffset(geo, slot), put.levels,
											geo->levels_bytes);
		pfree(put.levels);
	}
	GenericXLogFinish(xlog);

	while (--n >= 0)
		UnlockReleaseBuffer(buffers[n]);
	if (place.entry != page0)
		UnlockReleaseBuffer(place.entry);
	return true;
}

/*
 * KILL: one entry page.  Slots that are not in "keep" are free; VACUUM
 * removes the heap's line pointers later.
 */
void
ecp_xlog_kill(Relation index, Buffer buffer, const EcpGeometry *geo,
			  const uint64 *keep)
{
	GenericXLogState *xlog = GenericXLogStart(index);
	EcpEntryView view;

	Assert(ecp_buffer_is_exclusive_locked(buffer));
	ecp_entry_view(GenericXLogRegisterBuffer(xlog, buffer, 0), geo, 0, &view);
	for (int w = 0; w < geo->live_words; w++)
		view.live[w] &= keep[w];
	GenericXLogFinish(xlog);
}

/*
 * HINT: page 0 of a run, exclusively locked.  free_hint is not above the
 * lowest page that VACUUM found room on.  A crash before it costs nothing
 * but the use of those slots until the cluster is written anew.
 */
void
ecp_xlog_hint(Relation index, Buffer page0, uint32 free_hint)
{
	EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(page0));
	GenericXLogState *xlog;

	Assert(ecp_buffer_is_exclusive_locked(page0));
	if (header->ecpr_free_hint <= free_hint)
		return;
	xlog = GenericXLogStart(index);
	header = EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, page0, 0));
	header->ecpr_free_hint = free_hint;
	GenericXLogFinish(xlog);
}

/*
 * BEGIN: META.  ecpm_op names what may be half done from now on; nruns run
 * ids for the new clusters are reserved (intent->ecpi_first_run).
 */
void
ecp_xlog_begin(Relation index, EcpIntentData *intent, int nruns)
{
	Buffer		meta = ecp_meta_lock(index);
	GenericXLogState *xlog = GenericXLogStart(index);
	EcpMetaPage m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));

	Assert(intent->ecpi_kind != ECP_OP_NONE);
	Assert(nruns >= intent->ecpi_nnew || intent->ecpi_kind == ECP_OP_GROUP);
	Assert(m->ecpm_op.ecpi_kind == ECP_OP_NONE);
	intent->ecpi_first_run = ecp_meta_take_runs(index, m, nruns);
	m->ecpm_op = *intent;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta);
}

/*
 * ALLOC: MAP, META.  The bits of the new run "which" are set and named by
 * ecpm_op; *intent gets the same.  A run of a group that was named so before
 * is complete, and goes to the list of those.
 */
void
ecp_xlog_alloc(Relation index, int which, uint32 npages,
			   EcpIntentData *intent)
{
	EcpExtent	extent;
	Buffer		meta;
	GenericXLogState *xlog;
	EcpMetaPage m;
	uint32		hint;

	Assert(which >= 0 && which < lengthof(intent->ecpi_new));
	Assert(npages > 0 && npages <= ECP_RUN_PAGES_MAX);
	meta = ecp_meta_lock(index);
	hint = EcpPageGetMeta(BufferGetPage(meta))->ecpm_map_hint;
	UnlockReleaseBuffer(meta);

	ecp_space_find(index, hint, npages, &extent);
	meta = ecp_meta_lock(index);
	xlog = GenericXLogStart(index);
	m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));
	(void) ecp_space_register(index, xlog, &extent);

	/* nothing free for one page: nothing free at all */
	if (npages == 1 && extent.mapno > m->ecpm_map_hint)
		m->ecpm_map_hint = extent.mapno;
	if (m->ecpm_op.ecpi_new[which] != InvalidBlockNumber)
		m->ecpm_op.ecpi_written = m->ecpm_op.ecpi_new[which];
	m->ecpm_op.ecpi_new[which] = extent.blk;
	m->ecpm_op.ecpi_new_npages[which] = npages;
	*intent = m->ecpm_op;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta);
	UnlockReleaseBuffer(extent.map);
}

/*
 * FILL: pages of a new run by full image.  The run is complete with the last
 * of them, and unreachable until it is published; pages behind ecpr_hw_page,
 * and of the vector part behind the last vector, are written when they are
 * first used.
 *
 * Each page is logged before its buffer may be written out, so that a block
 * of ours on disk is always one that WAL can repair.
 */
void
ecp_xlog_fill(Relation index, BlockNumber blk, char *pages, uint32 npages)
{
	for (uint32 p = 0; p < npages; p++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = ecp_space_new_buffer(index, blk + p);
		START_CRIT_SECTION();
		memcpy(BufferGetPage(buffer), pages + (Size) p * BLCKSZ, BLCKSZ);
		MarkBufferDirty(buffer);
		if (RelationNeedsWAL(index))
			log_newpage_buffer(buffer, true);
		END_CRIT_SECTION();
		UnlockReleaseBuffer(buffer);
	}
}

/* Entry page with slot "slot" of a node whose head is locked, locked too. */
static Buffer
node_entry(Relation index, const EcpGeometry *geo, Buffer head,
		   uint32 pageno)
{
	Buffer		entry;

	if (pageno == 0)
		return head;
	entry = ecp_run_page_get(index, ECP_PAGE_ENTRY, BufferGetBlockNumber(head),
							 EcpPageGetOpaque(BufferGetPage(head))->ecpo_run,
							 pageno, BUFFER_LOCK_EXCLUSIVE);
	if (!BufferIsValid(entry))
		ecp_report_moved(index, BufferGetBlockNumber(head) + pageno);
	ecp_entry_check_lower(index, entry, geo);
	return entry;
}

/*
 * PARENT (its second half; new children are added by SLOT): head of a node,
 * exclusively locked, and an entry page.  The child in "slot" ends with version
 * vto, which is not published yet.
 */
void
ecp_xlog_end_child(Relation index, const EcpIndexState *state, Buffer head,
				   uint32 slot, uint32 vto)
{
	const EcpGeometry *geo = &state->node;
	Buffer		entry = node_entry(index, geo, head, slot / geo->slots);
	GenericXLogState *xlog = GenericXLogStart(index);
	Page		first = GenericXLogRegisterBuffer(xlog, head, 0);
	Page		page = first;
	EcpEntryView view;

	Assert(ecp_buffer_is_exclusive_locked(head));
	Assert(vto == state->meta.ecpm_sversion + 1);
	if (entry != head)
		page = GenericXLogRegisterBuffer(xlog, entry, 0);
	ecp_entry_view(page, geo, 1, &view);
	view.children[slot % geo->slots].ecpc_vto = vto;
	EcpPageGetRunHeader(first)->ecpr_change++;
	GenericXLogFinish(xlog);
	if (entry != head)
		UnlockReleaseBuffer(entry);
}

/*
 * CLOSE: META, head of a leaf, which is exclusively locked.  The leaf takes no
 * more rows, and ecpm_op names it: inserters that find it closed before the next
 * version is published wait for the maintenance lock.
 */
void
ecp_xlog_close(Relation index, Buffer head)
{
	Buffer		meta = ecp_meta_lock(index);
	GenericXLogState *xlog = GenericXLogStart(index);
	EcpMetaPage m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));
	EcpRunHeader header = EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, head, 0));

	Assert(ecp_buffer_is_exclusive_locked(head));
	header->ecpr_flags |= ECP_RUN_RETIRED;
	header->ecpr_retired_v = m->ecpm_sversion + 1;
	header->ecpr_retired_fxid = 0;
	header->ecpr_retired_next = m->ecpm_op.ecpi_closed;
	m->ecpm_op.ecpi_closed = BufferGetBlockNumber(head);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta);
}

/*
 * UNDO (of CLOSE): META, the head that was closed last.  The leaf takes rows
 * again and ecpm_op does not name it; *intent gets the same.
 */
void
ecp_xlog_undo_close(Relation index, EcpIntentData *intent)
{
	Buffer		head = ecp_page_get(index, intent->ecpi_closed,
									BUFFER_LOCK_EXCLUSIVE);
	Buffer		meta;
	GenericXLogState *xlog;
	EcpMetaPage m;
	EcpRunHeader header;

	Assert(BlockNumberIsValid(intent->ecpi_closed));
	ecp_page_check(index, head, ECP_PAGE_ENTRY);
	if ((EcpPageGetRunHeader(BufferGetPage(head))->ecpr_flags & ECP_RUN_RETIRED) == 0)
		ecp_report_corrupt(index, intent->ecpi_closed,
						   "A closed leaf of an unfinished operation is not one.");
	meta = ecp_meta_lock(index);
	xlog = GenericXLogStart(index);
	m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));
	header = EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, head, 0));
	header->ecpr_flags &= ~ECP_RUN_RETIRED;
	header->ecpr_retired_v = 0;
	m->ecpm_op.ecpi_closed = header->ecpr_retired_next;
	header->ecpr_retired_next = InvalidBlockNumber;
	*intent = m->ecpm_op;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta);
	UnlockReleaseBuffer(head);
}

/*
 * UNDO (of PARENT): head of a node, exclusively locked, and an entry page.
 * No child on the page begins or ends at the version after state's.  Writes
 * nothing if that is so already.
 */
void
ecp_xlog_undo_page(Relation index, const EcpIndexState *state, Buffer head,
				   uint32 pageno)
{
	const EcpGeometry *geo = &state->node;
	uint32		next = state->meta.ecpm_sversion + 1;
	Buffer		entry = node_entry(index, geo, head, pageno);
	GenericXLogState *xlog = GenericXLogStart(index);
	Page		first = GenericXLogRegisterBuffer(xlog, head, 0);
	Page		page = first;
	bool		changed = false;
	EcpRunHeader header = EcpPageGetRunHeader(first);
	uint32		nslots = Min(geo->slots,
							 header->ecpr_nslots - pageno * geo->slots);
	EcpEntryView view;

	Assert(ecp_buffer_is_exclusive_locked(head));
	if (entry != head)
		page = GenericXLogRegisterBuffer(xlog, entry, 0);
	ecp_entry_view(page, geo, 1, &view);
	for (uint32 slot = 0; slot < nslots; slot++)
	{
		EcpChild	child = &view.children[slot];

		if (!EcpSlotIsLive(&view, slot))
			continue;
		if (child->ecpc_vfrom == next)
		{
			EcpSlotClearLive(&view, slot);
			header->ecpr_free_hint = Min(header->ecpr_free_hint, pageno);
			changed = true;
		}
		else if (child->ecpc_vto == next)
		{
			child->ecpc_vto = ECP_V_NONE;
			changed = true;
		}
	}
	if (changed)
	{
		header->ecpr_change++;
		GenericXLogFinish(xlog);
	}
	else
		GenericXLogAbort(xlog);
	if (entry != head)
		UnlockReleaseBuffer(entry);
}

/*
 * Page 0 of a run of an unfinished operation, exclusively locked; InvalidBuffer
 * if it was not written yet.
 */
static Buffer
unfinished_page0(Relation index, BlockNumber blk,
				 const EcpIntentData *intent)
{
	Buffer		buffer;
	Page		page;

	if (!ecp_page_exists(index, blk))
		return InvalidBuffer;
	buffer = ecp_page_get(index, blk, BUFFER_LOCK_EXCLUSIVE);
	page = BufferGetPage(buffer);
	if (ecp_space_owner(page) >= intent->ecpi_first_run &&
		EcpPageGetOpaque(page)->ecpo_pageno == 0)
		return buffer;
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}

/* In a record: the blocks of the run whose page 0 is in "page0" are free. */
void
ecp_xlog_set_freed(GenericXLogState *xlog, Buffer page0)
{
	Page		page = GenericXLogRegisterBuffer(xlog, page0, 0);

	Assert(ecp_buffer_is_exclusive_locked(page0));
	EcpPageGetRunHeader(page)->ecpr_flags |= ECP_RUN_FREED;
}

/*
 * UNDO (of ALLOC): page 0 of the run if it was written, MAP, META.  The bits
 * of new run "which" are clear and ecpm_op does not name it.
 */
void
ecp_xlog_undo_extent(Relation index, int which, const EcpIntentData *intent)
{
	BlockNumber blk = intent->ecpi_new[which];
	Buffer		page0 = unfinished_page0(index, blk, intent);
	Buffer		map = ecp_space_map_lock(index, blk, BUFFER_LOCK_EXCLUSIVE);
	Buffer		meta = ecp_meta_lock(index);
	GenericXLogState *xlog = GenericXLogStart(index);
	EcpMetaPage m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));

	Assert(which >= 0 && which < lengthof(intent->ecpi_new));
	Assert(BlockNumberIsValid(intent->ecpi_new[which]));
	ecp_space_mark(index, GenericXLogRegisterBuffer(xlog, map, 0), blk,
				   intent->ecpi_new_npages[which], false);
	m->ecpm_op.ecpi_new[which] = InvalidBlockNumber;
	m->ecpm_op.ecpi_new_npages[which] = 0;
	m->ecpm_map_hint = Min(m->ecpm_map_hint, EcpBlockMap(blk));
	if (BufferIsValid(page0))
		ecp_xlog_set_freed(xlog, page0);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta);
	UnlockReleaseBuffer(map);
	if (BufferIsValid(page0))
		UnlockReleaseBuffer(page0);
}

/*
 * UNDO (of BEGIN, after all else is undone): META.  ecpm_op is empty.
 */
void
ecp_xlog_undo_begin(Relation index)
{
	Buffer		meta = ecp_meta_lock(index);
	GenericXLogState *xlog = GenericXLogStart(index);
	EcpMetaPage m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));

	memset(&m->ecpm_op, 0, sizeof(EcpIntentData));
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(meta);
}

/*
 * PUBLISH: META, one or two old heads (of a group: none, they are closed), the
 * tail of the retired queue.  The next version is the current one; the old
 * clusters are in the retired queue; ecpm_op is empty.
 */
void
ecp_xlog_publish(Relation index, const EcpPublish *publish)
{
	BlockNumber tail_blk;
	BlockNumber first = publish->first_closed;
	Buffer		tail = InvalidBuffer;
	Buffer		meta;
	GenericXLogState *xlog;
	EcpMetaPage m;

	Assert(publish->nold >= 0 && publish->nold <= lengthof(publish->old));
	Assert(publish->nold == 0 || ecp_buffer_is_exclusive_locked(publish->old[0]));
	Assert(publish->nold < 2 || ecp_buffer_is_exclusive_locked(publish->old[1]));
	if (publish->nold > 0)
		first = BufferGetBlockNumber(publish->old[0]);

	/* only maintenance changes the queue, so this stands */
	meta = ecp_page_get(index, ECP_META_BLKNO, BUFFER_LOCK_SHARE);
	tail_blk = EcpPageGetMeta(BufferGetPage(meta))->ecpm_retired_tail;
	UnlockReleaseBuffer(meta);
	if (tail_blk != InvalidBlockNumber)
	{
		tail = ecp_page_get(index, tail_blk, BUFFER_LOCK_EXCLUSIVE);
		ecp_page_check(index, tail, ECP_PAGE_ENTRY);
	}
	meta = ecp_meta_lock(index);

	xlog = GenericXLogStart(index);
	m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, meta, 0));
	if (first == InvalidBlockNumber)
		 /* nothing is retired */ ;
	else if (BufferIsValid(tail))
		EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, tail, 0))->ecpr_retired_next = first;
	else
		m->ecpm_retired_head = first;
	if (publish->nold == 0 && first != InvalidBlockNumber)
		m->ecpm_retired_tail = publish->last_closed;
	for (int i = 0; i < publish->nold; i++)
	{
		EcpRunHeader header;

		header = EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, publish->old[i], 0));
		header->ecpr_flags |= ECP_RUN_RETIRED;
		header->ecpr_retired_v = m->ecpm_sversion + 1;
		header->ecpr_retired_fxid = 0;
		header->ecpr_retired_next = i + 1 < publish->nold ?
			BufferGetBlockNumber(publish->old[i + 1]) : InvalidBlockNumber;
		m->ecpm_retired_tail = BufferGetBlockNumber(publish->old[i]);
	}
	m->ecpm_retired_pages += publish->retired_pages;
	m->ecpm_sversion++;
	m->ecpm_nleaves += publish->nleaves_delta;
	m->ecpm_nbuffers += publish->nbuffers_delta;
	if (publish->root_changes)
	{
		m->ecpm_root = publish->root;
		m->ecpm_root_level = publish->root_level;
	}
	memset(&m->ecpm_op, 0, sizeof(EcpIntentData));
	GenericXLogFinish(xlog);

	UnlockReleaseBuffer(meta);
	if (BufferIsValid(tail))
		UnlockReleaseBuffer(tail);
}

/*
 * STAMP: a retired head.  Its blocks may be freed once no snapshot is older
 * than the transaction id written here.
 *
 * The id is read after PUBLISH's record was inserted: one read before could
 * have been assigned and committed before it in WAL order, and a standby's
 * query that sees the commit but not yet PUBLISH would not conflict.
 */
void
ecp_xlog_stamp(Relation index, BlockNumber head)
{
	FullTransactionId fxid = ReadNextFullTransactionId();
	Buffer		buffer = ecp_page_get(index, head, BUFFER_LOCK_EXCLUSIVE);
	GenericXLogState *xlog;
	EcpRunHeader header;

	Assert(BlockNumberIsValid(head));
	ecp_page_check(index, buffer, ECP_PAGE_ENTRY);
	xlog = GenericXLogStart(index);
	header = EcpPageGetRunHeader(GenericXLogRegisterBuffer(xlog, buffer, 0));
	header->ecpr_retired_fxid = U64FromFullTransactionId(fxid);
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
}
