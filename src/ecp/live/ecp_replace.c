/*-------------------------------------------------------------------------
 *
 * ecp_replace.c
 *	  REPLACE: one or two clusters by none, one or two new ones; a group of
 *	  leaves by another group, with or without a buffer.
 *
 * Splitting, folding (rewriting a cluster without holes, in one run), merging
 * and dropping clusters of rows or leaders are one operation: plan, write,
 * publish.  Old runs are not changed: new runs are written, the parent gets
 * entries that begin with the next structure version, and one record, PUBLISH,
 * makes that version current.  Older scans still read the old runs, which wait
 * in the retired queue until no snapshot can need them.
 *
 *	 1 copy the old cluster's rows without locks, and divide them; add those
 *	   that a group has got meanwhile (ecp_replace_plan.c)
 *	 2 BEGIN, then ALLOC and FILL for each new run, which is invisible
 *	 3 lock the old heads: inserters of these clusters wait from here on
 *	 4 rows inserted after 1 go into spare slots of the new runs (SLOT)
 *	 5 PARENT: entries of the new children from, of the old ones until, V + 1;
 *	   SUMMARY for each that has one
 *	 6 PUBLISH, unlock, STAMP
 *
 * A group has too many leaves to lock them all and to publish them by one
 * record.  There, step 3 closes one old leaf after the other (CLOSE): it takes
 * no more rows, rows inserted since 1 go to new leaves as in 4, and inserters
 * that need the leaf wait for the maintenance lock.
 *
 * The caller holds the maintenance lock, so there is one such operation at a
 * time, VACUUM frees no slot meanwhile, and leaves change by inserts only.  An
 * error, cancel or crash before PUBLISH leaves ecpm_op in the metapage, by which
 * the next maintainer undoes the operation; readers and
 * inserters are not affected.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/stop_point.h"
#include "ecp/live/ecp_live.h"
#include "ecp/live/ecp_replace_private.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Attempts, if more rows are inserted meanwhile than there is room for. */
#define ECP_REPLACE_TRIES	4

/* Free slots of a new leaf after the first attempt, at least. */
#define REPLACE_SPARE_MIN	16

/* The leader to which the codes of a new cluster's rows are relative. */
static const void *
replace_leader(const EcpReplace *r, const EcpNewRun *new)
{
	bool		is_root = r->target->parent == NULL && r->new.n == 1;

	return is_root ? NULL : new->leader;
}

/* The item that goes into slot i of a new cluster. */
static void
new_item(const EcpReplace *r, const EcpNewRun *new, int i, EcpSlotItem *item)
{
	const EcpNewRun *runs = r->new.runs;
	const EcpReplaceOld *old = &r->old;

	memset(item, 0, sizeof(EcpSlotItem));
	if (new == &runs[r->new.n]) /* the new root */
	{
		item->child = runs[i].child;
		item->vector = runs[i].leader;
	}
	else if (new->level == 0)
	{
		item->tid = old->rows.tids[new->items[i]];
		item->vector = old->rows.vectors + new->items[i] * old->rows.stride;
		item->leader = replace_leader(r, new);
	}
	else
	{
		item->child = old->node->children[new->items[i]];
		item->vector = old->node->leaders + new->items[i] * old->node->stride;
	}
}

/* Copy a vector into the vector part of a run in memory. */
static void
image_put_stream(char *pages, const EcpGeometry *geo, uint32 slot, const char *vector)
{
	uint32		vector_page = EcpRunVectorPage(geo, EcpPageGetRunHeader((Page) pages));

	ecp_stream_foreach(part, geo, vector_page, slot)
	{
		Page		page = (Page) (pages + (Size) part.pageno * BLCKSZ);

		memcpy(EcpPageGetStream(page) + part.offset, vector + part.done,
			   part.bytes);
	}
}

/* Copy the levels of a slot into a run in memory. */
static void
image_put_levels(char *pages, const EcpGeometry *geo, uint32 slot, const char *levels)
{
	uint32		pageno = EcpPageGetRunHeader((Page) pages)->ecpr_entry_pages +
		EcpLevelsPage(geo, slot);
	Page		page = (Page) (pages + (Size) pageno * BLCKSZ);

	memcpy(EcpPageGetStream(page) + EcpLevelsOffset(geo, slot), levels,
		   geo->levels_bytes);
}

/*
 * Begin the summary of a new leaf, of its rows or, of a further run, of these for
 * its cluster.  Insert buffers have none.
 */
static void
new_summarize(EcpReplace *r, EcpNewRun *new)
{
	const EcpGeometry *leaf = &r->state.leaf;

	if (r->state.node.summary_bytes == 0 || new->level > 0 ||
		(new->child.ecpc_flags & ECP_CHILD_BUFFER) != 0)
		return;
	new->summary = palloc(r->state.node.summary_bytes);
	ecp_summary_init(&r->state.node, new->extends ? new->extends->ecpc_run :
					 new->child.ecpc_run, new->summary);
	for (int i = 0; i < new->nitems; i++)
		ecp_summary_add(&r->state, r->old.rows.vectors +
						new->items[i] * r->old.rows.stride + leaf->vec_bytes,
						new->summary);
}

/*
 * Step 2 for one new cluster whose blocks are allocated: write it, except for
 * pages that are still empty.
 */
static void
new_write(EcpReplace *r, EcpNewRun *new)
{
	const EcpGeometry *geo = EcpLevelGeometry(&r->state, new->level);
	uint32		entry_pages;
	uint32		npages;
	uint32		used;
	uint32		vector_page;
	char	   *pages;
	char		levels[EcpLevelsBytes(ECP_CODE_DIMS_MAX)];
	EcpRunHeader header;

	Assert(new->nitems <= new->nslots);
	ecp_geometry_run_size(geo, new->nslots, &entry_pages, &npages);
	pages = palloc_extended((Size) npages * BLCKSZ, MCXT_ALLOC_HUGE);
	ecp_run_init((Page) pages, geo, new->level, new->child.ecpc_run,
				 new->extends ? new->extends->ecpc_run : new->child.ecpc_run,
				 new->nslots);
	for (uint32 p = 1; p < npages; p++)
		ecp_page_init_run((Page) (pages + (Size) p * BLCKSZ), geo,
						  new->child.ecpc_run, p, entry_pages);
	header = EcpPageGetRunHeader((Page) pages);
	if (new->extends)
	{
		header->ecpr_vfrom = new->child.ecpc_vfrom;
		header->ecpr_head_blk = new->extends->ecpc_blk;
	}
	used = Max((new->nitems + geo->slots - 1) / geo->slots, 1);
	header->ecpr_hw_page = used;
	header->ecpr_free_hint = new->nitems / geo->slots;
	if (EcpReplaceIsGroup(r))
		header->ecpr_retired_next = r->intent.ecpi_written;

	for (int i = 0; i < new->nitems; i++)
	{
		int			slot = i % geo->slots;
		EcpEntryView view;
		EcpSlotItem item;

		new_item(r, new, i, &item);
		item.levels = levels;
		ecp_entry_view((Page) (pages + (Size) (i / geo->slots) * BLCKSZ), geo,
					   new->level, &view);
		ecp_entry_put(&r->state, new->level, &view, slot, &item);
		if (geo->levels_bytes > 0)
			image_put_levels(pages, geo, i, levels);
		if (geo->stream)
			image_put_stream(pages, geo, i, item.vector);
		EcpSlotSetLive(&view, slot);
	}
	new_summarize(r, new);
	vector_page = EcpRunVectorPage(geo, header);
	ecp_xlog_fill(r->index, new->child.ecpc_blk, pages, used);
	ecp_xlog_fill(r->index, new->child.ecpc_blk + entry_pages,
				  pages + (Size) entry_pages * BLCKSZ,
				  ecp_geometry_levels_pages(geo, new->nitems));
	ecp_xlog_fill(r->index, new->child.ecpc_blk + vector_page,
				  pages + (Size) vector_page * BLCKSZ,
				  ecp_geometry_vector_pages(geo, new->nitems));
	pfree(pages);
}

/* Step 2: intent, blocks, contents. */
static void
replace_write(EcpReplace *r)
{
	const EcpReplaceRequest *target = r->target;
	bool		group = EcpReplaceIsGroup(r);
	bool		new_root = target->parent == NULL && r->new.n == 2;
	int			nruns = r->new.n + (new_root ? 1 : 0);
	EcpIntentData *intent = &r->intent;

	if (new_root)
	{
		EcpNewRun  *root = &r->new.runs[r->new.n];

		root->level = target->level + 1;
		root->nitems = r->new.n;
		root->nslots = ecp_replace_plan_slots(&r->state.node, root->level,
											  root->nitems, 0);
		root->child.ecpc_nrows = root->nitems;
		root->child.ecpc_vfrom = r->state.meta.ecpm_sversion + 1;
		root->child.ecpc_vto = ECP_V_NONE;
	}

	intent->ecpi_kind = group ? ECP_OP_GROUP : ECP_OP_REPLACE;
	intent->ecpi_nold = group ? 0 : r->old.n;
	intent->ecpi_nnew = group ? 1 : nruns;
	intent->ecpi_parent = target->parent ? target->parent->head.blk : InvalidBlockNumber;
	for (int i = 0; i < lengthof(intent->ecpi_old); i++)
		intent->ecpi_old[i] = i < intent->ecpi_nold ?
			r->old.children[i].ecpc_blk : InvalidBlockNumber;
	for (int i = 0; i < lengthof(intent->ecpi_new); i++)
		intent->ecpi_new[i] = InvalidBlockNumber;
	intent->ecpi_closed = InvalidBlockNumber;
	intent->ecpi_written = InvalidBlockNumber;
	ecp_xlog_begin(r->index, intent, nruns);
	ECP_STOP_POINT("replace-begin");

	for (int i = 0; i < nruns; i++)
	{
		EcpNewRun  *new = &r->new.runs[i];
		int			which = group ? 0 : i;
		uint32		entry_pages;
		uint32		npages;

		ecp_geometry_run_size(EcpLevelGeometry(&r->state, new->level), new->nslots,
							  &entry_pages, &npages);
		ecp_xlog_alloc(r->index, which, npages, intent);
		new->child.ecpc_npages = npages;
		new->child.ecpc_blk = intent->ecpi_new[which];
		new->child.ecpc_run = intent->ecpi_first_run + i;
		ECP_STOP_POINT("replace-alloc");
		new_write(r, new);
		ECP_STOP_POINT("replace-fill");
	}
}

/*
 * Step 4 for one row: put it into the nearest new leaf that has room, or the
 * nearest new insert buffer if there are any.  Returns false if none has room.
 */
static bool
replace_put_late(EcpReplace *r, int row, bool *full)
{
	const EcpRowSet *rows = &r->old.rows;
	EcpSlotItem item = {0};

	Assert(row >= 0 && row < rows->nrows);
	item.tid = rows->tids[row];
	item.vector = rows->vectors + row * rows->stride;
	for (;;)
	{
		int			nearest = -1;
		float8		nearest_d = 0;
		EcpNewRun  *new;
		Buffer		page0;
		bool		done;

		for (int k = r->new.nbuffers > 0 ? r->new.n - r->new.nbuffers : 0;
			 k < r->new.n; k++)
		{
			float8		d;

			if (full[k])
				continue;
			d = ecp_leader_distance(&r->state.meta, r->new.runs[k].leader,
									EcpReplaceVector(r, row));
			if (nearest < 0 || d < nearest_d)
			{
				nearest = k;
				nearest_d = d;
			}
		}
		if (nearest < 0)
			return false;
		new = &r->new.runs[nearest];
		page0 = ecp_run_lock(r->index, new->child.ecpc_blk, new->child.ecpc_run);
		item.leader = replace_leader(r, new);
		done = ecp_xlog_put(r->index, &r->state, 0, page0, &item,
							PG_UINT32_MAX, NULL);
		UnlockReleaseBuffer(page0);
		if (done && new->summary)
			ecp_summary_add(&r->state, (const char *) item.vector +
							r->state.leaf.vec_bytes, new->summary);
		if (done)
			return true;
		full[nearest] = true;
	}
}

/*
 * Step 4: rows inserted into the old leaves since they were copied.  The heads
 * are locked.  Returns false if there are not enough spare slots.
 */
static bool
replace_catch_up(EcpReplace *r, Buffer *heads)
{
	bool	   *full = palloc0(Max(r->new.n, 1) * sizeof(bool));
	int			first = r->old.rows.nrows;

	r->old.rows.npages = 0;
	for (int i = 0; i < r->old.n; i++)
		ecp_replace_plan_copy(r, &r->old.children[i], heads[i]);
	r->npages_retired = r->old.rows.npages;
	r->nlate = r->old.rows.nrows - first;
	for (int row = first; row < r->old.rows.nrows; row++)
	{
		if (!replace_put_late(r, row, full))
			return false;
		ECP_STOP_POINT("replace-catch-up");
	}
	return true;
}

/*
 * Write the summaries of the children of a new node of level 1: those of a node
 * that is replaced are copied, while its head is locked (M4).
 */
static void
replace_node_summaries(EcpReplace *r, const EcpNewRun *new)
{
	const EcpGeometry *geo = &r->state.node;
	const EcpNodeImage *old = r->old.node;
	uint32		entry_pages;
	uint32		npages;
	uint32		first = 0;
	uint32		used;
	char	   *pages;

	if (geo->summary_bytes == 0 || new->level != 1)
		return;
	ecp_geometry_run_size(geo, new->nslots, &entry_pages, &npages);
	first = entry_pages + ecp_geometry_vector_pages(geo, new->nslots);
	used = (new->nitems + geo->summary_slots - 1) / geo->summary_slots;
	pages = palloc_extended((Size) used * BLCKSZ, MCXT_ALLOC_HUGE);
	for (uint32 p = 0; p < used; p++)
		ecp_page_init_run((Page) (pages + (Size) p * BLCKSZ), geo,
						  new->child.ecpc_run, first + p, entry_pages);
	for (int i = 0; i < new->nitems; i++)
	{
		Page		page = (Page) (pages + (Size) (i / geo->summary_slots) * BLCKSZ);
		char	   *summary = EcpPageGetStream(page) + EcpSummaryOffset(geo, i);

		if (old == NULL)
			memcpy(summary, r->new.runs[i].summary, geo->summary_bytes);
		else if (new->items[i] < old->nchildren &&
				 !ecp_summary_read(r->index, &r->state, old->head.blk,
								   old->head.run, &old->head.header,
								   old->slots[new->items[i]], summary))
			ecp_report_moved(r->index, old->head.blk);
	}
	ecp_xlog_fill(r->index, new->child.ecpc_blk + first, pages, used);
	pfree(pages);
	ECP_STOP_POINT("node-summaries");
}

/* The same of all new nodes: those of a replaced one, or a root above two leaves. */
static void
replace_summaries(EcpReplace *r)
{
	int			nnew = r->new.n;

	if (r->target->parent == NULL && r->new.n == 2)
		nnew++;
	for (int i = 0; i < nnew; i++)
		replace_node_summaries(r, &r->new.runs[i]);
}

/*
 * Step 5: entries of the new children, with their summaries, and ends of the old
 * ones; what the rows of further runs have, too.
 */
static bool
replace_parent(EcpReplace *r)
{
	const EcpNodeImage *parent = r->target->parent;
	Buffer		head;
	bool		done = true;

	if (parent == NULL)
		return true;
	head = ecp_run_lock(r->index, parent->head.blk, parent->head.run);
	for (int i = 0; i < r->new.nextended; i++)
	{
		const EcpNewRun *new = &r->new.runs[i];

		if (new->summary)
			ecp_xlog_summary_add(r->index, &r->state, head,
								 parent->slots[new->extends - parent->children],
								 new->summary);
	}
	for (int i = r->new.nextended; i < r->new.n && done; i++)
	{
		EcpSlotItem item = {0};
		uint32		slot;

		item.child = r->new.runs[i].child;
		item.vector = r->new.runs[i].leader;
		done = ecp_xlog_put(r->index, &r->state, parent->level, head, &item,
							PG_UINT32_MAX, &slot);
		if (done && r->new.runs[i].summary)
			ecp_xlog_summary_put(r->index, &r->state, head, slot,
								 r->new.runs[i].summary);
		ECP_STOP_POINT("replace-parent-add");
	}
	for (int i = 0; i < r->old.n && done; i++)
	{
		ecp_xlog_end_child(r->index, &r->state, head,
						   parent->slots[r->old.which[i]],
						   r->state.meta.ecpm_sversion + 1);
		ECP_STOP_POINT("replace-parent-end");
	}
	UnlockReleaseBuffer(head);
	return done;
}

/*
 * Steps 3 and 4 for a group.  Returns false if there are not enough spare slots.
 */
static bool
replace_close(EcpReplace *r, EcpPublish *publish)
{
	const EcpReplaceOld *old = &r->old;
	int			first = old->rows.nrows;
	bool	   *full = palloc0(r->new.n * sizeof(bool));
	bool		done = true;

	Assert(EcpReplaceIsGroup(r));
	r->old.rows.npages = 0;
	for (int i = 0; i < old->n; i++)
	{
		int			before = old->rows.nrows;
		Buffer		head;

		CHECK_FOR_INTERRUPTS();
		head = ecp_run_lock(r->index, old->children[i].ecpc_blk,
							old->children[i].ecpc_run);
		ecp_replace_plan_copy(r, &old->children[i], head);
		ecp_xlog_close(r->index, head);
		UnlockReleaseBuffer(head);
		ECP_STOP_POINT("group-close");

		for (int row = before; row < old->rows.nrows && done; row++)
		{
			done = replace_put_late(r, row, full);
			ECP_STOP_POINT("group-late");
		}
	}
	ECP_STOP_POINT("group-closed");
	r->npages_retired = old->rows.npages;
	r->nlate = old->rows.nrows - first;
	publish->first_closed = publish->last_closed = InvalidBlockNumber;
	if (old->n > 0)
	{
		publish->last_closed = old->children[0].ecpc_blk;
		publish->first_closed = old->children[old->n - 1].ecpc_blk;
	}
	return done;
}

/*
 * Link a further run to its cluster: part of it from V + 1 on.  Returns false
 * if an inserter has added a run whose number is higher, since runs ascend in
 * a list.
 *
 * An inserter that comes to a run of a version unknown to it starts over, so
 * that no row is in or behind a run that undo may take away.
 */
static bool
replace_append_run(EcpReplace *r, const EcpNewRun *new)
{
	const EcpChildData *cluster = new->extends;
	Buffer		head = ecp_run_lock(r->index, cluster->ecpc_blk,
									cluster->ecpc_run);
	Buffer		last = head;
	uint64		run = cluster->ecpc_run;
	bool		done;

	for (;;)
	{
		EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(last));
		Buffer		next;

		if (header->ecpr_next_run == 0)
			break;
		if (header->ecpr_next_run <= run)
			ecp_report_corrupt(r->index, BufferGetBlockNumber(last),
							   "A run does not fit into the list of its cluster.");
		run = header->ecpr_next_run;
		next = ecp_run_lock(r->index, header->ecpr_next_blk, run);
		if (last != head)
			UnlockReleaseBuffer(last);
		last = next;
	}
	done = run < new->child.ecpc_run;
	if (done)
		ecp_xlog_run_append(r->index, last, new->child.ecpc_blk,
							new->child.ecpc_run);
	if (last != head)
		UnlockReleaseBuffer(last);
	UnlockReleaseBuffer(head);
	return done;
}

/* Link the further runs of a flush, invisible until it is published. */
static bool
replace_append(EcpReplace *r)
{
	for (int i = 0; i < r->new.nextended; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!replace_append_run(r, &r->new.runs[i]))
			return false;
		ECP_STOP_POINT("flush-append");
	}
	return true;
}

/* Lock the old heads, by block number. */
static void
replace_lock(EcpReplace *r, Buffer *heads)
{
	const EcpChildData *old = r->old.children;
	int			nold = r->old.n;
	int			lower = nold == 2 && old[1].ecpc_blk < old[0].ecpc_blk ? 1 : 0;

	Assert(nold <= 2);
	for (int i = 0; i < nold; i++)
	{
		int			k = i == 0 ? lower : 1 - lower;

		heads[k] = ecp_run_lock(r->index, old[k].ecpc_blk, old[k].ecpc_run);
		if (EcpPageGetRunHeader(BufferGetPage(heads[k]))->ecpr_flags & ECP_RUN_RETIRED)
			ecp_report_corrupt(r->index, old[k].ecpc_blk,
							   "A cluster of the present version is marked as retired.");
	}
}

/* Steps 3 to 6.  Returns false if the attempt failed. */
static bool
replace_publish(EcpReplace *r)
{
	const EcpReplaceRequest *target = r->target;
	EcpPublish	publish = {0};
	bool		done;

	if (EcpReplaceIsGroup(r))
		done = replace_close(r, &publish) && replace_append(r);
	else
	{
		publish.nold = r->old.n;
		replace_lock(r, publish.old);
		ECP_STOP_POINT("replace-lock");
		if (target->level == 0)
			done = replace_catch_up(r, publish.old);
		else
		{
			r->npages_retired = r->old.node->head.header.ecpr_npages;
			done = true;
		}
	}

	if (done)
	{
		replace_summaries(r);
		done = replace_parent(r);
	}
	if (done)
	{
		publish.retired_pages = r->npages_retired;
		publish.nbuffers_delta = r->new.nbuffers - r->old.nbuffers;
		publish.nleaves_delta = target->level > 0 ? 0 :
			r->new.n - r->new.nextended - r->old.n - publish.nbuffers_delta;
		if (target->parent == NULL)
		{
			publish.root_changes = true;
			if (r->new.n == 2)
				publish.root = r->new.runs[2].child;
			else if (r->new.n == 1)
				publish.root = r->new.runs[0].child;
			publish.root_level = r->new.n == 2 ? target->level + 1 :
				r->new.n == 1 ? target->level : 0;
		}
		ECP_STOP_POINT("replace-publish");
		if (EcpReplaceIsGroup(r))
			ECP_STOP_POINT("group-publish");
		ecp_xlog_publish(r->index, &publish);
		ECP_STOP_POINT("replace-published");
	}
	for (int i = 0; i < publish.nold; i++)
		UnlockReleaseBuffer(publish.old[i]);
	if (!done)
		return false;

	ECP_STOP_POINT("replace-stamp");
	for (int i = 0; i < r->old.n; i++)
		ecp_xlog_stamp(r->index, r->old.children[i].ecpc_blk);
	return true;
}

/*
 * Free slots of each new leaf for the next attempt: in all of them together for
 * twice the rows that were inserted in this one, since each goes to the nearest
 * leaf that has room.
 */
static uint32
replace_spare(const EcpReplace *r)
{
	int			nleaves = r->new.nbuffers > 0 ? r->new.nbuffers : r->new.n;

	return 2 * r->nlate / Max(nleaves, 1) + REPLACE_SPARE_MIN;
}

/*
 * One attempt, with *spare free slots in each new leaf.  If more rows were
 * inserted meanwhile, *spare gets a sufficient number, else 0.
 */
static bool
replace_try(Relation index, EcpReplaceKind kind,
			const EcpReplaceRequest *target, uint32 *spare)
{
	EcpReplace *r = palloc0(sizeof(EcpReplace));

	r->index = index;
	r->kind = kind;
	r->target = target;
	r->spare = *spare;
	*spare = 0;
	ecp_meta_read_state(index, &r->state);
	Assert(r->state.meta.ecpm_op.ecpi_kind == ECP_OP_NONE);
	ecp_meta_check_version(index, &r->state.meta);

	if (!ecp_replace_plan(r))
		return false;
	replace_write(r);
	if (!replace_publish(r))
	{
		ecp_replace_undo(index);
		*spare = replace_spare(r);
		return false;
	}
	if (target->result)
		*target->result = r->new.runs[0].child;
	return true;
}

/* Several attempts; what each allocates in "context" is freed. */
static bool
replace_tries(Relation index, EcpReplaceKind kind,
			  const EcpReplaceRequest *target, MemoryContext context)
{
	uint32		spare = ECP_LEAF_SPARE;
	bool		done = false;

	for (int tries = 0; tries < ECP_REPLACE_TRIES && spare > 0 && !done; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		done = replace_try(index, kind, target, &spare);
		MemoryContextReset(context);
	}
	return done;
}

/*
 * ecp_replace
 *		Replace target's one or two clusters, or its group of leaves, as
 *		"kind" says.
 *
 * The maintenance lock is held, ecpm_op is empty, and target->parent is a
 * current image (with leaders) of a node with at least ECP_NODE_FREE_MIN free
 * slots.  Nodes can only be folded and split.
 *
 * Returns false, with the structure unchanged, if the clusters do not have the
 * rows for it, or all attempts failed because of concurrent inserts.
 */
bool
ecp_replace(Relation index, EcpReplaceKind kind,
			const EcpReplaceRequest *target)
{
	MemoryContext context;
	MemoryContext old_context;
	bool		done;

	Assert(ecp_maintain_lock_held(index));
	Assert(target->level >= 0);
	Assert(target->nold >= 0 && (target->nold <= 2 || target->group != NULL));
	Assert(target->flush == NULL || kind == ECP_REPLACE_GROUP);
	Assert(!target->copy || kind == ECP_REPLACE_GROUP);
	Assert(target->parent != NULL || target->nold == 1);
	if (target->result)
		memset(target->result, 0, sizeof(EcpChildData));
	context = AllocSetContextCreate(CurrentMemoryContext, "ecp replace",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	done = replace_tries(index, kind, target, context);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return done;
}

/* ---- undo a replacement that was not published ---- */

/*
 * Each step can be repeated, and ecpm_op is emptied last, so that the next
 * maintainer finishes an undo that is interrupted.
 */

/* Of a group, also undo the closing of old leaves and the writing of new ones. */
static void
undo_group(Relation index, EcpIndexState *state)
{
	EcpIntentData *intent = &state->meta.ecpm_op;

	while (intent->ecpi_closed != InvalidBlockNumber)
	{
		CHECK_FOR_INTERRUPTS();
		ecp_xlog_undo_close(index, intent);
		ECP_STOP_POINT("undo-close");
	}
	while (intent->ecpi_written != InvalidBlockNumber)
	{
		EcpRun		run;

		CHECK_FOR_INTERRUPTS();
		ecp_cluster_written_read(index, state, intent->ecpi_written, &run);
		ecp_xlog_run_undo(index, &run, intent);
		ECP_STOP_POINT("undo-written");
	}
}

void
ecp_replace_undo(Relation index)
{
	EcpIndexState state;
	EcpIntentData *intent = &state.meta.ecpm_op;

	Assert(ecp_maintain_lock_held(index));
	ecp_meta_read_state(index, &state);
	if (intent->ecpi_kind == ECP_OP_NONE)
		return;
	if ((intent->ecpi_kind != ECP_OP_REPLACE &&
		 intent->ecpi_kind != ECP_OP_GROUP) ||
		intent->ecpi_nnew > lengthof(intent->ecpi_new))
		ecp_report_corrupt(index, ECP_META_BLKNO,
						   "The unfinished operation is not a known one.");

	if (intent->ecpi_parent != InvalidBlockNumber)
	{
		Buffer		head = ecp_page_get(index, intent->ecpi_parent,
										BUFFER_LOCK_EXCLUSIVE);
		uint32		npages;

		ecp_node_check_header(index, head, &state);
		npages = EcpPageGetRunHeader(BufferGetPage(head))->ecpr_hw_page;
		for (uint32 p = 0; p < npages; p++)
		{
			ecp_xlog_undo_page(index, &state, head, p);
			ECP_STOP_POINT("undo-page");
		}
		UnlockReleaseBuffer(head);
	}
	if (intent->ecpi_kind == ECP_OP_GROUP)
		undo_group(index, &state);
	for (int i = 0; i < intent->ecpi_nnew; i++)
	{
		if (intent->ecpi_new[i] == InvalidBlockNumber)
			continue;
		ecp_xlog_undo_extent(index, i, intent);
		ECP_STOP_POINT("undo-extent");
	}
	ecp_xlog_undo_begin(index);
}
