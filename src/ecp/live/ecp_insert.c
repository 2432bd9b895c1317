/*-------------------------------------------------------------------------
 *
 * ecp_insert.c
 *	  aminsert: one row into the cluster of its nearest leader, or into the
 *	  buffer that keeps rows for it.
 *
 *	 1 metapage -> structure version V; a descent at V (ecp_descent.c, from
 *	   the leader cache, so that usually no page of a node is read) gives
 *	   the nearest leader's cluster
 *	 2 lock the cluster's head, which locks the cluster among inserters; if
 *	   it has been retired or freed by maintenance, start over; set the bits of
 *	   the row's key attributes in the cluster's summary, if there are any
 *	 3 put the row into the first free slot of its runs: usually one WAL
 *	   record that changes one page
 *	 4 no free slot: if the cluster has reached its limit, split it, unless
 *	   another process maintains the index and the cluster is not yet
 *	   ECP_INSERT_OVERFULL times as large, and measure what recall costs if
 *	   there are twice as many clusters as then; else append a run
 *
 * With the storage parameter buffer_rows, the buffer of the nearest leader's
 * cluster replaces the cluster in 2 and 3, and in 4 a buffer that has
 * reached its limit is flushed (ecp_insbuf.c).
 *
 * An index without rows has no root.  The first row creates one, a leaf that
 * takes all rows until it is split.  An index on a table that was empty
 * therefore grows its leaders from its rows, as a B-tree grows levels.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/heap_row.h"
#include "base/stop_point.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Give up an insert after this many changes of the structure. */
#define ECP_INSERT_TRIES_MAX	100

/* How long measuring may take, for each of its two steps. */
#define ECP_INSERT_MEASURE_SECONDS	2

/*
 * A leaf of this many times the rows with which it is full makes an insert wait for
 * the process that maintains the index: it may be measuring, for seconds.
 */
#define ECP_INSERT_OVERFULL	8

/* Least slots of a run whose size pages do not determine. */
#define ECP_RUN_SLOTS_MIN		8

typedef enum EcpPutResult
{
	ECP_PUT_DONE,
	ECP_PUT_MOVED,				/* the cluster was, or is being, replaced */
	ECP_PUT_FULL				/* room should be made first */
} EcpPutResult;

/* Where a row goes: a cluster, or the buffer of one. */
typedef struct EcpInsertPlace
{
	EcpChildData leaf;
	bool		is_buffer;
	bool		wants_buffer;	/* there is none, but should be */
	const void *leader;			/* NULL = the cluster is a root */
	uint32		full;			/* rows at which it is split or flushed */
	BlockNumber parent_blk;		/* the node above, Invalid if it is a root */
	uint64		parent_run;
	uint32		parent_slot;
} EcpInsertPlace;

/* One insert: the row, where it goes, and how room can still be made, once each. */
typedef struct EcpInsert
{
	Relation	index;
	Relation	heap;
	EcpIndexState *state;
	void	   *prepared;		/* the vector, as it compares with leaders */
	void	   *leader;			/* has room for one */
	EcpSlotItem item;
	EcpInsertPlace place;
	bool		may_create;		/* the node's buffers, if nobody maintains the
								 * index */
	bool		may_split;		/* a full leaf, or flush, if nobody does */
	bool		may_wait;		/* until a far too large one can be split */
	bool		wait;			/* with ECP_PUT_FULL: that is the case */
} EcpInsert;

/*
 * Slots of the run to add to a leaf that has "total": half as many, or all
 * that a buffer lacks.
 */
static uint32
added_slots(const EcpIndexState *state, const EcpInsertPlace *place,
			uint32 total)
{
	const EcpGeometry *geo = &state->leaf;
	uint32		limit = place->full;
	uint32		nslots = place->is_buffer ? total : total / 2;
	uint32		entry_pages;
	uint32		npages;

	/*
	 * Not more than a split will need; but a leaf that is not split should
	 * have few runs.
	 */
	if (total < limit)
		nslots = Min(nslots, limit - total);
	else
		nslots = Max(limit / 2, total / 8);
	nslots = Max(nslots, ECP_RUN_SLOTS_MIN);
	nslots = Min(nslots, ecp_geometry_slots(geo, ECP_SPLIT_PAGES_MAX / 2));
	if (!geo->stream)
	{
		ecp_geometry_run_size(geo, nslots, &entry_pages, &npages);
		nslots = entry_pages * geo->slots;
	}
	return nslots;
}

/*
 * Have the bits of a row set in the summary of its cluster, whose head is locked.
 * False if the node above has been replaced.
 */
static bool
leaf_add_summary(const EcpInsert *insert)
{
	const EcpIndexState *state = insert->state;
	const EcpInsertPlace *place = &insert->place;
	char	   *summary;
	Buffer		head;
	bool		retired;

	if (state->node.summary_bytes == 0 || place->is_buffer ||
		!BlockNumberIsValid(place->parent_blk))
		return true;
	summary = palloc(state->node.summary_bytes);
	ecp_summary_init(&state->node, place->leaf.ecpc_run, summary);
	ecp_summary_add(state, (const char *) insert->item.vector + state->leaf.vec_bytes,
					summary);
	ECP_STOP_POINT("insert-summary");
	head = ecp_run_page_get(insert->index, ECP_PAGE_ENTRY, place->parent_blk,
							place->parent_run, 0, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(head))
		return false;
	ecp_run_check_header(insert->index, head, &state->node);
	retired = (EcpPageGetRunHeader(BufferGetPage(head))->ecpr_flags &
			   ECP_RUN_RETIRED) != 0;
	if (!retired)
		ecp_xlog_summary_add(insert->index, state, head, place->parent_slot, summary);
	UnlockReleaseBuffer(head);
	pfree(summary);
	return !retired;
}

/*
 * Should room be made for a leaf with these slots, none of them free, and pages,
 * rather than another run added?  A leaf that is, or becomes, far too large, or too
 * large to be split, is worth waiting for.
 */
static bool
leaf_wants_room(EcpInsert *insert, uint32 nslots, uint32 npages)
{
	uint32		full = insert->place.full;

	insert->wait = insert->may_wait &&
		(npages >= ECP_SPLIT_PAGES_MAX ||
		 (ecp_insert_split && nslots / ECP_INSERT_OVERFULL >= full));
	return insert->wait || (insert->may_split && nslots >= full);
}

/* Put the row into its leaf, whose head is exclusively locked. */
static EcpPutResult
leaf_put_locked(EcpInsert *insert, Buffer head)
{
	Relation	index = insert->index;
	const EcpIndexState *state = insert->state;
	uint32		full = insert->place.full;
	EcpPutResult result = ECP_PUT_DONE;
	uint32		nslots = 0;
	uint32		npages = 0;
	uint64		run = insert->place.leaf.ecpc_run;
	Buffer		page0 = head;

	for (;;)
	{
		EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(page0));
		uint32		stop_slot = PG_UINT32_MAX;
		Buffer		next;

		ecp_run_check_header(index, page0, &state->leaf);
		if (header->ecpr_level != 0)
			ecp_report_corrupt(index, BufferGetBlockNumber(page0),
							   "A node was found where a leaf was expected.");

		/* a leaf with enough rows is split even if it has room */
		if (insert->may_split)
			stop_slot = full > nslots ? full - nslots : 0;
		nslots += header->ecpr_nslots;
		npages += header->ecpr_npages;
		if (ecp_xlog_put(index, state, 0, page0, &insert->item, stop_slot, NULL))
			break;

		if (header->ecpr_next_run == 0)
		{
			if (leaf_wants_room(insert, nslots, npages))
			{
				result = ECP_PUT_FULL;
				break;
			}
			ECP_STOP_POINT("addrun");
			ecp_xlog_run_add(index, state, page0,
							 added_slots(state, &insert->place, nslots));
			ECP_STOP_POINT("addrun-done");
		}

		/* run ids grow along the list, so that it cannot be a ring */
		if (header->ecpr_next_run <= run)
			ecp_report_corrupt(index, BufferGetBlockNumber(page0),
							   "A run does not fit into the list of its cluster.");
		run = header->ecpr_next_run;
		next = ecp_run_lock(index, header->ecpr_next_blk, run);
		if (page0 != head)
			UnlockReleaseBuffer(page0);
		page0 = next;
		if (!EcpRunIsVisible(EcpPageGetRunHeader(BufferGetPage(page0)),
							 state->meta.ecpm_sversion))
		{
			/* of a flush that is not published, or later than our version */
			result = ECP_PUT_MOVED;
			break;
		}
	}
	if (page0 != head)
		UnlockReleaseBuffer(page0);
	return result;
}

/* Put the row into its leaf. */
static EcpPutResult
leaf_put(EcpInsert *insert)
{
	const EcpChildData *leaf = &insert->place.leaf;
	EcpPutResult result = ECP_PUT_MOVED;
	Buffer		head = ecp_run_page_get(insert->index, ECP_PAGE_ENTRY, leaf->ecpc_blk,
										leaf->ecpc_run, 0, BUFFER_LOCK_EXCLUSIVE);

	Assert(insert->item.vector != NULL);
	if (!BufferIsValid(head))
		return ECP_PUT_MOVED;
	if ((EcpPageGetRunHeader(BufferGetPage(head))->ecpr_flags & ECP_RUN_RETIRED) == 0 &&
		leaf_add_summary(insert))
		result = leaf_put_locked(insert, head);
	UnlockReleaseBuffer(head);
	return result;
}

/* Make the root, a leaf, for the first row. */
static void
insert_first(Relation index, EcpIndexState *state,
			 const EcpVector *vector)
{
	EcpMetaPageData *meta = &state->meta;
	uint32		nslots;

	/*
	 * Dimensions that were learnt from a row are forgotten once no row and no
	 * retired cluster is left.
	 */
	if (meta->ecpm_dims == 0 ||
		(meta->ecpm_dims != vector->dims &&
		 (meta->ecpm_flags & ECP_META_DIMS_LEARNED) != 0 &&
		 meta->ecpm_retired_head == InvalidBlockNumber))
	{
		ecp_meta_set_dims(index, meta, vector->dims);
		ecp_geometry_init(state);
	}
	ecp_vector_check_dims(vector, meta->ecpm_dims,
						  RelationGetRelationName(index));
	nslots = state->leaf.stream ?
		Min(ECP_RUN_SLOTS_MIN, ecp_limits_leaf_rows(state)) : state->leaf.slots;
	ECP_STOP_POINT("learn");
	if (ecp_xlog_learn(index, state, nslots))
		ECP_STOP_POINT("learn-done");
}

/*
 * The cluster at "child" of a node of level 1, or its buffer.  The leader is
 * copied to "leader".
 */
static void
insert_place(Relation index, const EcpIndexState *state,
			 const EcpNode *node, int child, void *leader,
			 EcpInsertPlace *place)
{
	bool		buffering = ecp_options_get(index).buffer_rows > 0;

	Assert(child >= 0 && child < node->nchildren);
	if (buffering && node->nbuffers > 0)
	{
		int			buffer = node->map.buffer_of[child];

		child = node->nchildren + buffer;
		place->is_buffer = true;
		place->full = ecp_insbuf_plan_limit(index, state,
											node->map.nmembers[buffer]);
	}
	place->wants_buffer = buffering && node->nbuffers == 0;
	place->leaf = node->children[child];
	place->parent_blk = node->blk;
	place->parent_run = node->run;
	place->parent_slot = node->slots[child];
	ecp_panel_get(node->panel, child, leader);
	place->leader = leader;
}

/* Find the place of the row: the cluster of the nearest leader, or its buffer. */
static void
insert_find(EcpInsert *insert)
{
	Relation	index = insert->index;
	const EcpIndexState *state = insert->state;
	EcpInsertPlace *place = &insert->place;
	EcpDescent *descent;
	EcpClusterRef cluster;

	memset(place, 0, sizeof(EcpInsertPlace));
	place->full = ecp_limits_leaf_rows(state);
	place->parent_blk = InvalidBlockNumber;
	if (state->meta.ecpm_root_level == 0)
	{
		place->leaf = state->meta.ecpm_root;
		return;
	}
	if (state->meta.ecpm_root_level == 1)
	{
		/* one node needs no queues of a descent */
		EcpNode    *node = ecp_cache_get(index, state, &state->meta.ecpm_root, 1, true);
		int32		nearest;
		float4		rank;

		if (node->nchildren == 0)
			ecp_report_corrupt(index, node->blk, "A node has no children.");
		ecp_panel_nearest(node->panel, 0, node->nchildren, insert->prepared,
						  state->node.vec_bytes, 1, &nearest, &rank);
		insert_place(index, state, node, nearest, insert->leader, place);
		ecp_cache_release(node);
		return;
	}
	descent = ecp_descent_nearest(index, state, insert->prepared, &cluster);
	insert_place(index, state, cluster.parent, cluster.panel_child, insert->leader, place);
	ecp_descent_end(descent);
}

/*
 * Room was made in an index that had "before" clusters: measure what recall costs if it
 * has become large enough for a curve, or twice as large as when that was done.  A
 * measurement that ran out of time is tried again after ECP_TARGET_CLUSTERS more.
 */
static void
insert_measure(Relation index, uint32 before)
{
	EcpIndexState state;
	const EcpMetaPageData *meta = &state.meta;

	ecp_meta_read_state(index, &state);
	if (meta->ecpm_nleaves / ECP_TARGET_CLUSTERS > before / ECP_TARGET_CLUSTERS &&
		(!ecp_target_has_curve(meta) ||
		 meta->ecpm_nleaves / 2 >= meta->ecpm_curve.ecpm_leaves))
		(void) ecp_recall_curve_measure(index, &state, true, ECP_ROWS_UNKNOWN,
										ECP_INSERT_MEASURE_SECONDS);
}

/*
 * Make room where the row goes: split the leaf, flush the buffer, or create it.  If
 * another process maintains the index, wait for it if "wait", else do nothing.
 */
static void
insert_make_room(const EcpInsert *insert, bool wait)
{
	Relation	index = insert->index;
	EcpIndexState state;

	if (wait)
		ecp_maintain_lock_take(index);
	else if (!ecp_maintain_lock_try(index))
		return;
	ecp_replace_undo(index);
	ecp_meta_read_state(index, &state);
	if (insert->place.is_buffer)
		ecp_insbuf_flush_full(index, insert->heap, insert->prepared);
	else if (insert->place.wants_buffer)
		ecp_insbuf_create(index, insert->prepared);
	else
	{
		/* the split may reuse what earlier ones have retired */
		(void) ecp_purge_for_insert(index, insert->heap, ECP_PURGE_SOME);
		ecp_maintain_full_leaf(index, insert->prepared);
	}
	insert_measure(index, state.meta.ecpm_nleaves);
	ecp_maintain_lock_release(index);
}

/*
 * Wait until the process that closed a leaf has published its successors, and
 * undo its work if it failed.  A leaf of the version of "state" that is still
 * closed then, or has a run of a later version, is damaged.
 */
static void
insert_wait(Relation index, const EcpIndexState *state,
			const EcpChildData *leaf)
{
	EcpIndexState now;

	ecp_maintain_lock_take(index);
	ecp_replace_undo(index);
	ecp_meta_read_state(index, &now);
	if (now.meta.ecpm_sversion == state->meta.ecpm_sversion)
	{
		EcpRun	   *runs;
		int			nruns = ecp_cluster_runs(index, &now, 0, leaf->ecpc_blk,
											 leaf->ecpc_run, InvalidBuffer,
											 &runs);

		if (nruns == 0 || (runs[0].header.ecpr_flags & ECP_RUN_RETIRED) != 0)
			ecp_report_moved(index, leaf->ecpc_blk);
		for (int r = 0; r < nruns; r++)
		{
			uint64		next = r + 1 < nruns ? runs[r + 1].run : 0;

			if (runs[r].header.ecpr_next_run != next)
				ecp_report_corrupt(index, runs[r].header.ecpr_next_blk,
								   "The run belongs to a version that does not exist.");
		}
		pfree(runs);
	}
	ecp_maintain_lock_release(index);
}

/*
 * Insert a vector, as stored, whose row (see ecp_page.h) is at "row".  "state" has
 * just been read.  The caller frees what is allocated.
 */
static void
insert_vector(Relation index, Relation heap, EcpIndexState *state,
			  const EcpVector *vector, const void *row, ItemPointer heap_tid)
{
	EcpInsert	insert = {.index = index,.heap = heap,.state = state};
	Size		bytes = mul_size(vector->dims, sizeof(float4)) + 64;
	int			moved = 0;

	insert.prepared = palloc(bytes);
	insert.leader = palloc(bytes);
	insert.item.tid = *heap_tid;
	insert.item.vector = row;
	insert.may_create = insert.may_wait = true;
	insert.may_split = ecp_insert_split;

	for (; moved < ECP_INSERT_TRIES_MAX; ecp_meta_read_state(index, state))
	{
		EcpPutResult result;

		CHECK_FOR_INTERRUPTS();
		if (state->meta.ecpm_dims != 0 && !EcpIndexIsEmpty(state))
			ecp_vector_check_dims(vector, state->meta.ecpm_dims,
								  RelationGetRelationName(index));
		if (!ecp_prepare(&state->meta, vector, insert.prepared))
			return;				/* zero length under cosine: not indexed */
		if (EcpIndexIsEmpty(state))
		{
			insert_first(index, state, vector);
			continue;
		}
		insert_find(&insert);
		insert.item.leader = insert.place.leader;
		if (insert.place.wants_buffer && insert.may_create)
		{
			insert.may_create = false;
			insert_make_room(&insert, false);
			continue;
		}
		insert.place.wants_buffer = false;
		result = leaf_put(&insert);
		if (result == ECP_PUT_DONE)
			return;
		if (result == ECP_PUT_FULL)
		{
			insert_make_room(&insert, insert.wait);
			*(insert.wait ? &insert.may_wait : &insert.may_split) = false;
		}
		/* twice: closed, and the next version is not published yet */
		else if (moved++ > 0)
			insert_wait(index, state, &insert.place.leaf);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("could not insert into index \"%s\" because its clusters kept changing",
					RelationGetRelationName(index))));
}

/*
 * Make the row of a table's row, of palloc'd memory, and turn the vector into what
 * is stored of it.
 */
static const void *
insert_form_row(Relation index, const EcpIndexState *state, EcpVector *vector,
				const Datum *values, const bool *isnull)
{
	EcpElem		elem = state->meta.ecpm_elem;
	Size		vec_bytes = ecp_vector_bytes(elem, vector->dims);
	EcpAttrDesc attrs;
	char	   *row;

	ecp_attr_desc_init(index, &state->meta, &attrs);
	if (vector->elem == elem && attrs.bytes == 0)
		return vector->data;
	row = palloc(vec_bytes + attrs.bytes);
	ecp_prepare_stored(&state->meta, vector, row);
	ecp_attr_form(&attrs, vector, values, isnull, row + vec_bytes);
	vector->elem = elem;
	vector->data = row;
	return row;
}

bool
ecpinsert(Relation index, Datum *values, bool *isnull, ItemPointer heap_tid,
		  Relation heap, IndexUniqueCheck checkUnique, bool indexUnchanged,
		  IndexInfo *indexInfo)
{
	MemoryContext context;
	MemoryContext old_context;
	EcpErrorRow error_row;
	EcpVector	vector;
	EcpIndexState state;
	const void *row;

	if (isnull[0])
		return false;

	/* generic WAL allocates 64 kB a record, and callers may reset late */
	context = AllocSetContextCreate(CurrentMemoryContext, "ecp insert",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	ecp_meta_read_state(index, &state);
	ecp_error_row_begin(&error_row, heap, index, heap_tid);
	ecp_vector_read(values[0], state.meta.ecpm_column_type, &vector);
	row = insert_form_row(index, &state, &vector, values, isnull);
	insert_vector(index, heap, &state, &vector, row, heap_tid);
	ecp_error_row_end(&error_row);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return false;
}
