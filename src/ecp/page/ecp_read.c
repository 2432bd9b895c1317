/*-------------------------------------------------------------------------
 *
 * ecp_read.c
 *	  Reading the structure of a living index: nodes, clusters, rows.
 *
 * For the leader cache, maintenance, VACUUM, the checker and the inspection
 * functions; scans read clusters in a faster way (ecp_probe.c).  Everything
 * here copies what it reads under one share lock at a time, and holds nothing
 * on return.
 *
 * A reference may be outdated when the reader holds no maintenance lock: its
 * blocks may have been freed and used by another run.  The functions tell
 * that from damage, return false (or NULL), and the caller starts over or
 * reports it (ecp_report_moved()).
 *
 * Some callers read a cluster whose head they have locked; they pass its
 * buffer as "held", and that page is not locked again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/core_buffer.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_read.h"
#include "ecp/page/ecp_space.h"
#include "miscadmin.h"

/* Which slots of a run are in a row set. */
typedef struct EcpRowSetRun
{
	uint64		run;
	uint64	   *live;			/* live_words words for each */
} EcpRowSetRun;

/*
 * Lock a page that another page, which may be locked, refers to.  In a damaged
 * index it may be one that we have locked ourselves, and waiting for that would
 * never end.
 */
void
ecp_page_lock(Relation index, Buffer buffer, int lockmode)
{
	Assert(BufferIsValid(buffer));
	Assert(lockmode == BUFFER_LOCK_SHARE || lockmode == BUFFER_LOCK_EXCLUSIVE);
	if (ecp_buffer_is_locked(buffer))
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "A page that is being changed is referred to once more.");
	LockBuffer(buffer, lockmode);
}

/*
 * Pin and lock a block that a page refers to.
 */
Buffer
ecp_page_get(Relation index, BlockNumber blk, int lockmode)
{
	Buffer		buffer;

	if (!ecp_block_exists(index, blk))
		ecp_report_corrupt(index, blk, "A reference to a block is invalid.");
	buffer = ReadBufferExtended(index, MAIN_FORKNUM, blk, RBM_NORMAL,
								ecp_bulk_strategy(false));
	if (lockmode != BUFFER_LOCK_UNLOCK)
		ecp_page_lock(index, buffer, lockmode);
	return buffer;
}

/*
 * Page "pageno" of the run that begins at blk, locked and checked, or
 * InvalidBuffer if it belongs to another run now.
 */
Buffer
ecp_run_page_get(Relation index, int kind, BlockNumber blk, uint64 run,
				 uint32 pageno, int lockmode)
{
	Buffer		buffer;

	Assert(kind == ECP_PAGE_ENTRY || kind == ECP_PAGE_VECTOR);
	Assert(lockmode != BUFFER_LOCK_UNLOCK);
	if (blk == ECP_META_BLKNO || blk + pageno < blk)
		ecp_report_corrupt(index, blk, "A reference to a run is invalid.");
	buffer = ecp_page_get(index, blk + pageno, lockmode);
	if (ecp_page_check_run(index, buffer, kind, run, pageno))
		return buffer;
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}

/* Page 0 of a run that must be there, locked exclusively. */
Buffer
ecp_run_lock(Relation index, BlockNumber blk, uint64 run)
{
	Buffer		page0 = ecp_run_page_get(index, ECP_PAGE_ENTRY, blk, run, 0,
										 BUFFER_LOCK_EXCLUSIVE);

	if (!BufferIsValid(page0))
		ecp_report_moved(index, blk);
	return page0;
}

/*
 * Bounds of the header of the run whose page 0 is in "buffer": everything
 * that a reader follows or multiplies.
 */
void
ecp_run_check_header(Relation index, Buffer buffer, const EcpGeometry *geo)
{
	EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(buffer));
	BlockNumber blk = BufferGetBlockNumber(buffer);
	uint32		entry_pages;
	uint32		npages;

	Assert(geo->slots > 0);
	ecp_entry_check_lower(index, buffer, geo);
	if (header->ecpr_nslots == 0 ||
		(uint64) header->ecpr_nslots > (uint64) header->ecpr_entry_pages * geo->slots)
		ecp_report_corrupt(index, blk,
						   psprintf("A run of %u entry pages claims %u slots.",
									header->ecpr_entry_pages,
									header->ecpr_nslots));
	ecp_run_size(geo, header->ecpr_nslots, &entry_pages, &npages);
	if (header->ecpr_entry_pages != entry_pages ||
		header->ecpr_npages != npages ||
		header->ecpr_npages > ECP_RUN_PAGES_MAX ||
		header->ecpr_hw_page == 0 ||
		header->ecpr_hw_page > header->ecpr_entry_pages ||
		header->ecpr_free_hint > header->ecpr_hw_page ||
		blk + header->ecpr_npages < blk)
		ecp_report_corrupt(index, blk,
						   psprintf("A run of %u slots claims %u entry pages, %u of them used, of %u pages.",
									header->ecpr_nslots,
									header->ecpr_entry_pages,
									header->ecpr_hw_page,
									header->ecpr_npages));
}

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

/*
 * Copy the header of a run.  Returns false if the blocks belong to another
 * run now.
 */
bool
ecp_run_read(Relation index, const EcpIndexState *state, int level,
			 BlockNumber blk, uint64 run, Buffer held, EcpRun *out)
{
	bool		is_held = BufferIsValid(held) && BufferGetBlockNumber(held) == blk;
	Buffer		buffer = held;

	Assert(level >= 0);
	Assert(!BufferIsValid(held) || ecp_buffer_is_exclusive_locked(held));
	if (!is_held)
	{
		buffer = ecp_run_page_get(index, ECP_PAGE_ENTRY, blk, run, 0,
								  BUFFER_LOCK_SHARE);
		if (!BufferIsValid(buffer))
			return false;
	}
	ecp_run_check_header(index, buffer, EcpLevelGeometry(state, level));
	out->blk = blk;
	out->run = run;
	out->header = *EcpPageGetRunHeader(BufferGetPage(buffer));
	if (!is_held)
		UnlockReleaseBuffer(buffer);
	if (out->header.ecpr_level != level)
		ecp_report_corrupt(index, blk,
						   psprintf("A run of level %u was found where level %d was expected.",
									out->header.ecpr_level, level));
	return true;
}

/*
 * All runs that the cluster whose head is given has at state's version, as a
 * palloc'd array.  Returns their number, or -1 if the head's blocks belong to
 * another run now.
 */
int
ecp_cluster_runs(Relation index, const EcpIndexState *state, int level,
				 BlockNumber blk, uint64 run, Buffer held, EcpRun **runs)
{
	int			max = 4;
	int			n = 0;
	uint64		head_run = run;

	*runs = palloc(max * sizeof(EcpRun));
	do
	{
		EcpRun	   *r;

		CHECK_FOR_INTERRUPTS();
		if (n == max)
		{
			max *= 2;
			*runs = repalloc(*runs, max * sizeof(EcpRun));
		}
		r = &(*runs)[n];
		if (!ecp_run_read(index, state, level, blk, run, held, r))
		{
			if (n == 0)
				return -1;
			ecp_report_moved(index, blk);
		}

		/* run ids grow along the list, so that it cannot be a ring */
		if (r->header.ecpr_head_run != head_run ||
			((r->header.ecpr_flags & ECP_RUN_HEAD) != 0) != (n == 0) ||
			(r->header.ecpr_next_run != 0 && r->header.ecpr_next_run <= run))
			ecp_report_corrupt(index, blk,
							   "A run does not fit into the list of its cluster.");
		if (EcpRunIsVisible(&r->header, state->meta.ecpm_sversion))
			n++;
		blk = r->header.ecpr_next_blk;
		run = r->header.ecpr_next_run;
	} while (run != 0);

	return n;
}

/* Page 0 of a cluster in a list that is linked by blocks only. */
static void
linked_read(Relation index, const EcpIndexState *state, BlockNumber blk,
			EcpRun *out)
{
	Buffer		buffer = ecp_page_get(index, blk, BUFFER_LOCK_SHARE);
	Page		page = BufferGetPage(buffer);

	ecp_page_check(index, buffer, ECP_PAGE_ENTRY);
	out->blk = blk;
	out->run = EcpPageGetOpaque(page)->ecpo_run;
	out->header = *EcpPageGetRunHeader(page);
	ecp_run_check_header(index, buffer,
						 EcpLevelGeometry(state, out->header.ecpr_level));
	UnlockReleaseBuffer(buffer);
}

/*
 * Page 0 of a new leaf, or new run of a leaf, in the list of an unfinished
 * group.  The maintenance lock is held.
 */
void
ecp_written_read(Relation index, const EcpIndexState *state, BlockNumber blk,
				 EcpRun *out)
{
	bool		is_head;

	linked_read(index, state, blk, out);
	is_head = (out->header.ecpr_flags & ECP_RUN_HEAD) != 0;
	if ((out->header.ecpr_flags & (ECP_RUN_RETIRED | ECP_RUN_FREED)) != 0 ||
		out->header.ecpr_level != 0 ||
		is_head == (out->header.ecpr_vfrom == state->meta.ecpm_sversion + 1))
		ecp_report_corrupt(index, blk,
						   "A new leaf of an unfinished operation is not one.");
}

/* Page 0 of a cluster in the retired queue.  The maintenance lock is held. */
void
ecp_retired_read(Relation index, const EcpIndexState *state, BlockNumber blk,
				 EcpRun *out)
{
	const int	flags = ECP_RUN_HEAD | ECP_RUN_RETIRED;

	linked_read(index, state, blk, out);
	if ((out->header.ecpr_flags & (flags | ECP_RUN_FREED)) != flags)
		ecp_report_corrupt(index, blk,
						   "A run in the retired queue is not the head of a retired cluster.");
}

/*
 * ecp_retired_next
 *		Page 0 of the next cluster in the retired queue; false at its end.
 *
 * Begin with ecp_retired_begin().  The maintenance lock is held since "state"
 * was read.  A queue that is a ring has more pages than the metapage says, or
 * goes back to an older version.
 */
bool
ecp_retired_next(Relation index, const EcpIndexState *state,
				 EcpRetiredWalk *walk, EcpRun *head)
{
	const EcpRunHeaderData *header = &head->header;

	CHECK_FOR_INTERRUPTS();
	if (walk->next == InvalidBlockNumber)
		return false;
	ecp_retired_read(index, state, walk->next, head);
	walk->npages += header->ecpr_npages;
	if (header->ecpr_retired_v < walk->version ||
		header->ecpr_retired_v > state->meta.ecpm_sversion)
		ecp_report_corrupt(index, walk->next,
						   "The retired queue is not in the order of versions.");
	if (walk->npages > state->meta.ecpm_retired_pages)
		ecp_report_corrupt(index, walk->next,
						   "The retired queue has more pages than the metapage says.");
	walk->version = header->ecpr_retired_v;
	walk->next = header->ecpr_retired_next;
	return true;
}

void
ecp_retired_begin(const EcpIndexState *state, EcpRetiredWalk *walk)
{
	memset(walk, 0, sizeof(EcpRetiredWalk));
	walk->next = state->meta.ecpm_retired_head;
}

/* Copy a whole entry page of a run; false if it is another run's now. */
bool
ecp_run_copy_page(Relation index, const EcpRun *run, uint32 pageno,
				  Buffer held, char *copy)
{
	Buffer		buffer;

	Assert(pageno < run->header.ecpr_entry_pages);
	Assert(!BufferIsValid(held) || ecp_buffer_is_exclusive_locked(held));
	if (BufferIsValid(held) && BufferGetBlockNumber(held) == run->blk + pageno)
	{
		memcpy(copy, BufferGetPage(held), BLCKSZ);
		return true;
	}
	buffer = ecp_run_page_get(index, ECP_PAGE_ENTRY, run->blk, run->run, pageno,
							  BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		return false;
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return true;
}

/*
 * Copy the exact vector of a slot (numbered within the run): from the copied
 * entry page that "view" points into, or from the vector part.
 */
void
ecp_run_read_vector(Relation index, const EcpGeometry *geo, const EcpRun *run,
					const EcpEntryView *view, uint32 slot, char *vector)
{
	Assert(slot < run->header.ecpr_nslots);
	if (!geo->stream)
	{
		ecp_entry_get_vector(geo, view, slot % geo->slots, vector);
		return;
	}

	ecp_stream_foreach(part, geo, run->header.ecpr_entry_pages, slot)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = ecp_run_page_get(index, ECP_PAGE_VECTOR, run->blk, run->run,
								  part.pageno, BUFFER_LOCK_SHARE);
		if (!BufferIsValid(buffer))
			ecp_report_moved(index, run->blk + part.pageno);
		memcpy(vector + part.done,
			   EcpPageGetStream(BufferGetPage(buffer)) + part.offset,
			   part.bytes);
		UnlockReleaseBuffer(buffer);
	}
}

/* Slots of entry page "pageno" that exist. */
static uint32
page_slots(const EcpGeometry *geo, const EcpRun *run, uint32 pageno)
{
	Assert(pageno * geo->slots < run->header.ecpr_nslots);
	return Min(geo->slots, run->header.ecpr_nslots - pageno * geo->slots);
}

/* Room for n leaders; kernels may read 63 bytes behind the last. */
static char *
node_leaders(uint32 n, Size stride)
{
	return palloc_extended(add_size(mul_size(n, stride), 64), MCXT_ALLOC_HUGE);
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
 * ecp_node_read
 *		Copy a node: its children at state's version, with their leaders if
 *		wanted, and behind them its buffers.
 *
 * NULL if its blocks belong to another run now.  Free the result with
 * ecp_node_image_free().
 */
EcpNodeImage *
ecp_node_read(Relation index, const EcpIndexState *state, int level,
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
		uint32		nslots = page_slots(geo, &node->head, pageno);
		EcpEntryView view;

		CHECK_FOR_INTERRUPTS();
		if (!ecp_run_copy_page(index, &node->head, pageno, InvalidBuffer,
							   copy.data))
			ecp_report_moved(index, blk + pageno);
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
 * Rows of a run, by its header: those that it was written with, if that is
 * known, or the slots of the pages in use.
 */
static uint32
run_rows(const EcpRunHeaderData *header, const EcpGeometry *geo,
		 uint32 written)
{
	uint32		used = Min(header->ecpr_nslots,
						   header->ecpr_hw_page * geo->slots);

	return Min(Max(written, header->ecpr_free_hint * geo->slots), used);
}

/*
 * Runs, slots and pages of a leaf; live rows if count_live (reads all entry
 * pages).  Returns false if the head's blocks belong to another run now.
 */
bool
ecp_cluster_size(Relation index, const EcpIndexState *state,
				 const EcpChildData *child, bool count_live,
				 EcpClusterSize *size)
{
	const EcpGeometry *geo = &state->leaf;
	EcpRun	   *runs;

	memset(size, 0, sizeof(EcpClusterSize));
	size->nruns = ecp_cluster_runs(index, state, 0, child->ecpc_blk,
								   child->ecpc_run, InvalidBuffer, &runs);
	if (size->nruns < 0)
		return false;
	for (int r = 0; r < size->nruns; r++)
	{
		size->nslots += runs[r].header.ecpr_nslots;
		size->npages += runs[r].header.ecpr_npages;
		size->nrows_about += run_rows(&runs[r].header, geo,
									  r == 0 ? child->ecpc_nrows :
									  PG_UINT32_MAX);
		if (runs[r].header.ecpr_free_hint + 1 < runs[r].header.ecpr_hw_page)
			size->has_holes = true;
		for (uint32 p = 0; count_live && p < runs[r].header.ecpr_hw_page; p++)
		{
			Buffer		buffer;
			EcpEntryView view;

			CHECK_FOR_INTERRUPTS();
			buffer = ecp_run_page_get(index, ECP_PAGE_ENTRY, runs[r].blk,
									  runs[r].run, p, BUFFER_LOCK_SHARE);
			if (!BufferIsValid(buffer))
				ecp_report_moved(index, runs[r].blk + p);
			ecp_entry_view(BufferGetPage(buffer), geo, 0, &view);
			size->nlive += ecp_entry_count_live(geo, &view);
			UnlockReleaseBuffer(buffer);
		}
	}
	pfree(runs);
	return true;
}

void
ecp_rows_init(EcpRowSet *rows, const EcpIndexState *state)
{
	Assert(state->leaf.slots > 0);
	memset(rows, 0, sizeof(EcpRowSet));
	rows->stride = MAXALIGN(state->leaf.row_bytes);
}

/* What we have of a run so far. */
static EcpRowSetRun *
rows_run(EcpRowSet *rows, const EcpRun *run, const EcpGeometry *geo)
{
	EcpRowSetRun *known;

	for (int i = 0; i < rows->nruns; i++)
	{
		if (rows->runs[i].run == run->run)
			return &rows->runs[i];
	}
	if (rows->runs == NULL)
	{
		rows->runs_max = 8;
		rows->runs = palloc(rows->runs_max * sizeof(EcpRowSetRun));
	}
	else if (rows->nruns == rows->runs_max)
	{
		rows->runs_max *= 2;
		rows->runs = repalloc(rows->runs,
							  rows->runs_max * sizeof(EcpRowSetRun));
	}
	known = &rows->runs[rows->nruns++];
	known->run = run->run;
	known->live = palloc0(mul_size((Size) run->header.ecpr_entry_pages *
								   geo->live_words, sizeof(uint64)));
	return known;
}

static void
rows_reserve(EcpRowSet *rows, int more)
{
	if (rows->nrows + more <= rows->max)
		return;
	rows->max = Max(rows->nrows + more, rows->max + rows->max / 2);
	if (rows->tids == NULL)
	{
		rows->bins = palloc_extended(rows->max, MCXT_ALLOC_HUGE);
		rows->tids = palloc_extended(mul_size(rows->max, sizeof(ItemPointerData)),
									 MCXT_ALLOC_HUGE);
		/* kernels may read 63 bytes behind the last row */
		rows->vectors = palloc_extended(add_size(mul_size(rows->max,
														  rows->stride), 64),
										MCXT_ALLOC_HUGE);
		return;
	}
	rows->bins = repalloc_huge(rows->bins, rows->max);
	rows->tids = repalloc_huge(rows->tids,
							   mul_size(rows->max, sizeof(ItemPointerData)));
	rows->vectors = repalloc_huge(rows->vectors,
								  add_size(mul_size(rows->max, rows->stride),
										   64));
}

/* Add the rows of one copied entry page that we do not have yet. */
static void
rows_add_page(Relation index, const EcpGeometry *geo, const EcpRun *run,
			  uint32 pageno, char *copy, uint64 *known, EcpRowSet *rows)
{
	uint32		nslots = page_slots(geo, run, pageno);
	EcpEntryView view;

	ecp_entry_view(copy, geo, 0, &view);
	rows_reserve(rows, nslots);
	for (uint32 slot = 0; slot < nslots; slot++)
	{
		char	   *row;

		if (!EcpSlotIsLive(&view, slot) ||
			(known[slot / 64] & (UINT64CONST(1) << (slot % 64))) != 0)
			continue;
		if (!ItemPointerIsValid(&view.tids[slot]))
			ecp_report_corrupt(index, run->blk + pageno,
							   "A live slot has no valid TID.");
		rows->tids[rows->nrows] = view.tids[slot];
		rows->bins[rows->nrows] = view.bins ? view.bins[slot] :
			ECP_BIN_UNKNOWN;
		row = rows->vectors + rows->nrows * rows->stride;
		ecp_run_read_vector(index, geo, run, &view,
							pageno * geo->slots + slot, row);
		ecp_entry_get_attrs(geo, &view, slot, row + geo->vec_bytes);
		rows->nrows++;
	}
	for (int w = 0; w < geo->live_words; w++)
		known[w] |= view.live[w];
}

/*
 * ecp_rows_read
 *		Append the rows of a leaf that are live now and were not when the set
 *		was last read.
 *
 * The maintenance lock is held: rows come but none goes, so that reading
 * twice gives all of them, each once.  "held" may be the locked head.
 * Pages are added to rows->npages.  Returns false if the head's blocks belong to another run now.
 */
bool
ecp_rows_read(Relation index, const EcpIndexState *state, BlockNumber blk,
			  uint64 run, Buffer held, EcpRowSet *rows)
{
	const EcpGeometry *geo = &state->leaf;
	PGAlignedBlock copy;
	EcpRun	   *runs;
	int			nruns;

	Assert(rows->stride >= state->leaf.row_bytes);
	nruns = ecp_cluster_runs(index, state, 0, blk, run, held, &runs);
	if (nruns < 0)
		return false;
	for (int r = 0; r < nruns; r++)
	{
		EcpRowSetRun *known = rows_run(rows, &runs[r], geo);

		rows->npages += runs[r].header.ecpr_npages;
		for (uint32 p = 0; p < runs[r].header.ecpr_hw_page; p++)
		{
			CHECK_FOR_INTERRUPTS();
			if (!ecp_run_copy_page(index, &runs[r], p, held, copy.data))
				ecp_report_moved(index, runs[r].blk + p);
			rows_add_page(index, geo, &runs[r], p, copy.data,
						  known->live + (Size) p * geo->live_words, rows);
		}
	}
	pfree(runs);
	return true;
}

/*
 * List of EcpNodeRef of the nodes at state's version: those of one level, or
 * of all levels if level is -1, parents first.
 */
List *
ecp_collect_nodes(Relation index, const EcpIndexState *state, int level)
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
			if (node == NULL)
				ecp_report_moved(index, ref->child.ecpc_blk);
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
