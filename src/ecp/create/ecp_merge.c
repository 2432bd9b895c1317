/*-------------------------------------------------------------------------
 *
 * ecp_merge.c
 *	  From assigned rows to the pages of the index.
 *
 * The policy gives the rows of one cluster after the other, in the order of
 * their leaders, which is the order of the tree.  Rows of a cluster are
 * brought into memory, sorted by TID (so that the result does not depend on
 * the process that read them), halved across the line of 2-means while they
 * are more than a cluster may have, and written as one run.  A cluster larger
 * than the memory for it is treated in pieces.  Clusters without rows are left
 * out.
 *
 * The numbers of rows determine where each run goes and which entry it leaves,
 * before any row is read (ecp_layout.c).  The leaves are divided into items,
 * each a range of leaders, which the processes of the team claim and write,
 * each with a page writer of its own.  Nothing depends on which process writes
 * an item.
 *
 * Each run written leaves an entry: a leader with the reference to its
 * cluster.  When all clusters are written, the entries are written as nodes,
 * which leave the entries of the next level, until one is left: the root.
 * The few nodes and map pages are written by the backend, the metapage by
 * ecp_build.c when all else is on disk.
 *
 * Pages are made in local memory and written by base/page_writer.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/compat.h"
#include "base/page_writer.h"
#include "base/team.h"
#include "commands/progress.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/define/ecp_define.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Parts that the leaves are divided into, for each process. */
#define MERGE_ITEMS		8

/* Rows that are compared with their leader at a time. */
#define RADIUS_ROWS		64

typedef struct Merge
{
	EcpBuild   *build;
	EcpPageWriter *writer;
	EcpMetaPageData *meta;
	EcpLayout	at;
	EcpEntryList entries;		/* of the level that was written last */
	bool		lone;			/* the cluster will be the root */
} Merge;

/* Rows or leaders in memory that become one run or more. */
typedef struct MergeSet
{
	int			level;
	int			n;
	int			max;			/* of a run */
	char	   *vectors;		/* as they are stored */
	char	   *prepared;		/* as leaders are; may be the same memory */
	ItemPointerData *tids;		/* level 0 */
	EcpChildData *children;		/* else */
	char	   *summaries;		/* of these, or NULL */
	uint8	   *sides;
	int32		parent;			/* of the entries that it leaves */
} MergeSet;

/* ---- runs ---- */

static bool
merge_is_sorted(const MergeSet *set)
{
	for (int i = 1; i < set->n; i++)
		if (ItemPointerCompare(&set->tids[i - 1], &set->tids[i]) > 0)
			return false;
	return true;
}

/* The order in which a set is stored: rows by TID, entries as they are. */
static int32 *
merge_run_order(const MergeSet *set)
{
	int32	   *order = palloc_array(int32, set->n);

	for (int i = 0; i < set->n; i++)
		order[i] = i;
	if (set->level == 0 && !merge_is_sorted(set))
		qsort_arg(order, set->n, sizeof(int32), ecp_tid_order_cmp, set->tids);
	return order;
}

/* Rows from .. upto - 1 (of the order) to the slots of an entry page. */
static void
merge_fill_entries(Merge *merge, const MergeSet *set, const EcpGeometry *geo,
				   const int32 *order, int from, int upto,
				   const void *leader, Page page, char *levels)
{
	EcpEntryView view;
	EcpSlotItem item = {0};

	Assert(from <= upto && upto <= set->n);
	ecp_entry_view(page, geo, set->level, &view);
	for (int i = from; i < upto; i++)
	{
		int			slot = i - from;
		int32		row = order[i];

		if (set->level == 0)
			item.tid = set->tids[row];
		else
			item.child = set->children[row];
		item.vector = set->vectors + (Size) row * geo->row_bytes;
		item.leader = leader;
		item.levels = levels + (Size) i * geo->levels_bytes;
		ecp_entry_put(&merge->build->state, set->level, &view, slot, &item);
		EcpSlotSetLive(&view, slot);
	}
}

/* The part of the stream of vectors that falls onto a vector page. */
static void
merge_fill_stream(const MergeSet *set, const EcpGeometry *geo,
				  const int32 *order, uint32 streamno, Page page)
{
	uint64		start = (uint64) streamno * ECP_PAYLOAD_BYTES;
	uint64		end = start + ECP_PAYLOAD_BYTES;
	char	   *stream = EcpPageGetStream(page);

	for (uint64 i = start / geo->vec_bytes; i < (uint64) set->n; i++)
	{
		uint64		begins = i * geo->vec_bytes;
		uint64		from = Max(begins, start);
		uint64		upto = Min(begins + geo->vec_bytes, end);

		if (begins >= end)
			break;
		memcpy(stream + (from - start),
			   set->vectors + (Size) order[i] * geo->row_bytes + (from - begins),
			   upto - from);
	}
}

/* The levels that fall onto a page of these. */
static void
merge_fill_levels(const MergeSet *set, const EcpGeometry *geo, const char *levels,
				  uint32 levelsno, Page page)
{
	int			first = levelsno * geo->levels_slots;
	int			n = Min(geo->levels_slots, set->n - first);

	if (n > 0)
		memcpy(EcpPageGetStream(page), levels + (Size) first * geo->levels_bytes,
			   (Size) n * geo->levels_bytes);
}

/* The summaries that fall onto a page of these. */
static void
merge_fill_summaries(const MergeSet *set, const EcpGeometry *geo,
					 const int32 *order, uint32 summaryno, Page page)
{
	int			first = summaryno * geo->summary_slots;
	int			end = Min(first + geo->summary_slots, set->n);

	for (int i = first; i < end; i++)
		memcpy(EcpPageGetStream(page) + EcpSummaryOffset(geo, i),
			   set->summaries + (Size) order[i] * geo->summary_bytes,
			   geo->summary_bytes);
}

/*
 * Write a set with its leader (NULL = it will be the root) as one run;
 * *child receives its reference.
 */
static void
merge_write_run(Merge *merge, const MergeSet *set, const void *leader,
				EcpChildData *child)
{
	EcpBuild   *build = merge->build;
	const EcpGeometry *geo = set->level == 0 ?
		&build->state.leaf : &build->state.node;
	uint32		entry_pages;
	uint32		npages;
	uint32		nslots;
	uint32		vector_page;
	uint32		summary_page;
	int32	   *order = merge_run_order(set);
	char	   *levels = palloc_extended((Size) set->n * geo->levels_bytes, MCXT_ALLOC_HUGE);

	Assert(set->n > 0);
	memset(child, 0, sizeof(EcpChildData));
	nslots = ecp_layout_slots(geo, set->level, set->n, &entry_pages,
							  &npages);
	vector_page = entry_pages + ecp_geometry_levels_pages(geo, nslots);
	summary_page = vector_page + ecp_geometry_vector_pages(geo, nslots);
	child->ecpc_npages = npages;
	child->ecpc_flags = ECP_CHILD_TRAINED;
	child->ecpc_run = merge->at.run;
	child->ecpc_blk = ecp_layout_run(build, &merge->at, npages);
	child->ecpc_vfrom = merge->meta->ecpm_sversion;
	child->ecpc_vto = ECP_V_NONE;

	for (uint32 pageno = 0; pageno < child->ecpc_npages; pageno++)
	{
		Page		page = ecp_page_writer_get(merge->writer);

		if (pageno == 0)
		{
			EcpRunHeader header = EcpPageGetRunHeader(page);

			ecp_run_init(page, geo, set->level, child->ecpc_run,
						 child->ecpc_run, nslots);
			header->ecpr_hw_page = entry_pages;
			header->ecpr_free_hint = (uint32) set->n < nslots ?
				set->n / geo->slots : entry_pages;
		}
		else
			ecp_page_init_run(page, geo, child->ecpc_run, pageno, entry_pages);
		if (pageno < entry_pages)
			merge_fill_entries(merge, set, geo, order,
							   Min((int) (pageno * geo->slots), set->n),
							   Min((int) ((pageno + 1) * geo->slots), set->n),
							   leader, page, levels);
		else if (pageno < vector_page)
			merge_fill_levels(set, geo, levels, pageno - entry_pages, page);
		else if (pageno < summary_page)
			merge_fill_stream(set, geo, order, pageno - vector_page, page);
		else if (set->summaries)
			merge_fill_summaries(set, geo, order, pageno - summary_page, page);
		ecp_page_writer_put(merge->writer, child->ecpc_blk + pageno, page);
	}
	pfree(levels);
	pfree(order);
}

/* Largest distance of a set's members from a leader. */
static float4
merge_radius(const EcpBuild *build, const MergeSet *set, const char *leader)
{
	int			dims = build->state.meta.ecpm_dims;
	EcpElem		elem = build->state.meta.ecpm_leader_elem;
	EcpQuery   *query = ecp_query_create(elem, ECP_METRIC_L2, dims, leader);
	uint32		values[ECP_FACTORS_MAX][RADIUS_ROWS];
	const uint32 *const factors[ECP_FACTORS_MAX] = {values[0], values[1]};
	float8		largest = 0;

	Assert(set->n > 0);
	for (int done = 0; done < set->n; done += RADIUS_ROWS)
	{
		const char *rows = set->prepared + done * EcpBuildPrepBytes(build);
		int			n = Min(set->n - done, RADIUS_ROWS);
		float8		ranks[RADIUS_ROWS];

		for (int i = 0; i < n; i++)
		{
			uint32		row_factors[ECP_FACTORS_MAX] = {0};

			ecp_factors_compute(elem, ECP_METRIC_L2, dims,
								rows + i * EcpBuildPrepBytes(build), row_factors);
			for (int f = 0; f < ECP_FACTORS_MAX; f++)
				values[f][i] = row_factors[f];
		}
		ecp_query_rank_rows(query, rows, EcpBuildPrepBytes(build), factors, n, ranks);
		for (int i = 0; i < n; i++)
			largest = Max(largest, ranks[i]);
	}
	pfree(query);
	return (float4) sqrt(largest);
}

static uint32
merge_rows(const MergeSet *set)
{
	uint64		rows = 0;

	if (set->level == 0)
		return set->n;
	for (int i = 0; i < set->n; i++)
		rows += set->children[i].ecpc_nrows;
	return Min(rows, PG_UINT32_MAX);
}

/* What the rows of a leaf have in their key attributes. */
static void
merge_summary(const EcpBuild *build, const MergeSet *set, uint64 run,
			  char *summary)
{
	const EcpGeometry *leaf = &build->state.leaf;

	Assert(set->level == 0);
	ecp_summary_init(&build->state.node, run, summary);
	for (int i = 0; i < set->n; i++)
		ecp_summary_add(&build->state, set->vectors +
						(Size) i * leaf->row_bytes + leaf->vec_bytes, summary);
}

/* ---- cutting ---- */

static void
merge_swap_bytes(char *a, char *b, char *tmp, Size bytes)
{
	memcpy(tmp, a, bytes);
	memcpy(a, b, bytes);
	memcpy(b, tmp, bytes);
}

static void
merge_swap(const EcpBuild *build, MergeSet *set, int i, int j, char *tmp)
{
	Size		vec_bytes = set->level == 0 ? EcpBuildRowBytes(build) : EcpBuildPrepBytes(build);

	merge_swap_bytes(set->vectors + i * vec_bytes, set->vectors + j * vec_bytes,
					 tmp, vec_bytes);
	if (set->prepared != set->vectors)
		merge_swap_bytes(set->prepared + i * EcpBuildPrepBytes(build),
						 set->prepared + j * EcpBuildPrepBytes(build),
						 tmp, EcpBuildPrepBytes(build));
	if (set->level == 0)
	{
		ItemPointerData tid = set->tids[i];

		set->tids[i] = set->tids[j];
		set->tids[j] = tid;
	}
	else
	{
		EcpChildData child = set->children[i];

		set->children[i] = set->children[j];
		set->children[j] = child;
		if (set->summaries)
		{
			Size		bytes = build->state.node.summary_bytes;

			merge_swap_bytes(set->summaries + i * bytes, set->summaries + j * bytes,
							 tmp, bytes);
		}
	}
	set->sides[i] = 0;
	set->sides[j] = 1;
}

/*
 * Write a set as runs of at most set->max, and add their entries to "out".
 * Changes the order of the set.
 */
static void
merge_write_set(Merge *merge, MergeSet *set, EcpEntryList *out)
{
	EcpBuild   *build = merge->build;
	EcpMetaPageData *meta = merge->meta;
	Size		vec_bytes = set->level == 0 ? EcpBuildRowBytes(build) : EcpBuildPrepBytes(build);
	void	   *centres[2];
	MergeSet	part;
	int			ones;
	int			i = 0;
	int			j = set->n - 1;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();

	centres[0] = palloc(EcpBuildPrepBytes(build));
	if (set->n <= set->max)
	{
		EcpChildData child;

		ecp_kmeans_centre(meta->ecpm_leader_elem, meta->ecpm_dims, set->prepared,
						  EcpBuildPrepBytes(build), set->n, centres[0]);
		merge_write_run(merge, set, merge->lone ? NULL : centres[0], &child);
		child.ecpc_radius = merge_radius(build, set, centres[0]);
		child.ecpc_nrows = merge_rows(set);
		ecp_entries_add(out, &child, centres[0], set->parent);
		if (out->summaries)
			merge_summary(build, set, child.ecpc_run,
						  out->summaries + (Size) (out->n - 1) * out->summary_bytes);
		pfree(centres[0]);
		return;
	}

	centres[1] = palloc(EcpBuildPrepBytes(build));
	/* leaves must have the sizes that were planned */
	ones = set->n - set->n / 2;
	if (set->level == 0)
		ecp_kmeans_halve(meta->ecpm_leader_elem, meta->ecpm_dims,
						 set->prepared, EcpBuildPrepBytes(build), set->n,
						 meta->ecpm_seed + merge->at.run, set->sides, centres);
	else
		ones = ecp_kmeans_two(meta->ecpm_leader_elem, meta->ecpm_dims,
							  set->prepared, EcpBuildPrepBytes(build), set->n,
							  meta->ecpm_seed + merge->at.run,
							  set->sides, centres);
	pfree(centres[1]);

	/* side 0 to the front, side 1 to the back */
	centres[1] = palloc(Max(Max(vec_bytes, EcpBuildPrepBytes(build)),
							build->state.node.summary_bytes));
	for (;;)
	{
		while (i < j && set->sides[i] == 0)
			i++;
		while (i < j && set->sides[j] == 1)
			j--;
		if (i >= j)
			break;
		merge_swap(build, set, i, j, centres[1]);
	}
	pfree(centres[1]);
	pfree(centres[0]);

	part = *set;
	part.n = set->n - ones;
	merge_write_set(merge, &part, out);

	part.vectors += part.n * vec_bytes;
	part.prepared += part.n * EcpBuildPrepBytes(build);
	if (set->level == 0)
		part.tids += part.n;
	else
		part.children += part.n;
	if (part.summaries)
		part.summaries += (Size) part.n * build->state.node.summary_bytes;
	part.sides += part.n;
	part.n = ones;
	merge_write_set(merge, &part, out);
}

/* ---- clusters ---- */

/* Memory for the rows of a cluster, or of a piece of a large one. */
static void
merge_set_init(EcpBuild *build, MergeSet *set)
{
	Size		rows = ecp_layout_piece(build);

	memset(set, 0, sizeof(MergeSet));
	set->max = build->state.meta.ecpm_leaf_max;
	set->n = rows;				/* capacity, until it is filled */
	set->vectors = palloc_extended(rows * EcpBuildRowBytes(build) + 64,
								   MCXT_ALLOC_HUGE);
	set->prepared = ecp_build_prep_same(build) ? set->vectors :
		palloc_extended(rows * EcpBuildPrepBytes(build) + 64, MCXT_ALLOC_HUGE);
	set->tids = palloc_array(ItemPointerData, rows);
	set->sides = palloc(rows);
}

static void
merge_set_prepare(EcpBuild *build, MergeSet *set)
{
	if (ecp_build_prep_same(build))
		return;
	for (int i = 0; i < set->n; i++)
		(void) ecp_prepare_row(&build->state.meta, set->vectors + i * EcpBuildRowBytes(build),
							   set->prepared + i * EcpBuildPrepBytes(build));
}

/*
 * Bring rows into the order of their TIDs, on which means and cuts depend.
 * Policies return them so, except where a page has more rows than an in-buff.
 */
static void
merge_set_sort(EcpBuild *build, MergeSet *set)
{
	int32	   *order;
	char	   *tmp;

	if (merge_is_sorted(set))
		return;
	order = merge_run_order(set);
	tmp = palloc(Max(EcpBuildRowBytes(build), EcpBuildPrepBytes(build)));
	for (int i = 0; i < set->n; i++)
	{
		int			j = order[i];

		/* what was at j has been exchanged since */
		while (j < i)
			j = order[j];
		if (j != i)
			merge_swap(build, set, i, j, tmp);
	}
	pfree(tmp);
	pfree(order);
}

/* The entry of level + 1 that entry i of a level is under. */
static int32
tree_parent(const EcpLeaderTree *tree, int level, int32 i, int32 *cursor)
{
	if (level + 1 >= tree->nlevels)
		return 0;
	while (tree->first[level + 1][*cursor + 1] <= i)
		(*cursor)++;
	return *cursor;
}

/* Leaders whose clusters one process writes. */
typedef struct MergeItem
{
	int32		from;
	int32		upto;
	int32		entry;			/* that its first run leaves */
	EcpLayout	at;
} MergeItem;

/* What a process needs to know of the items. */
typedef struct MergeArgs
{
	int			nitems;			/* one more is the end */
	int			nentries;
	int			readers;		/* processes that write them */
} MergeArgs;

/* Find items and entries in their memory; returns its size. */
static Size
merge_memory_map(const EcpBuild *build, const MergeArgs *args, char *memory,
				 MergeItem **items, EcpEntryList *list)
{
	Size		n = args->nentries;
	Size		offset = MAXALIGN(mul_size(sizeof(MergeItem), args->nitems + 1));

	memset(list, 0, sizeof(EcpEntryList));
	list->fixed = true;
	list->max = n;
	list->vec_bytes = EcpBuildPrepBytes(build);
	list->summary_bytes = build->state.node.summary_bytes;
	*items = (MergeItem *) memory;
	list->children = (EcpChildData *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(EcpChildData), n)));
	list->parents = (int32 *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(int32), n)));
	offset = TYPEALIGN(64, offset);
	list->vectors = memory + offset;
	offset = add_size(offset, MAXALIGN(mul_size(list->vec_bytes, n)));
	if (list->summary_bytes > 0)
		list->summaries = memory + offset;
	return add_size(offset, mul_size(list->summary_bytes, n));
}

/* One cluster: "set" has room for "capacity" rows. */
static void
merge_cluster(Merge *merge, MergeSet *set, int capacity, int l)
{
	EcpBuild   *build = merge->build;
	const EcpPolicyRoutine *policy = ecp_policy_routine(build->plan.policy);
	const uint64 *counts = ecp_leader_rows(build);
	uint64		rows = 0;

	merge->lone = counts[l] == build->assigned.rows &&
		counts[l] <= (uint64) Min(set->max, capacity);
	while ((set->n = policy->read(build, l, capacity, set->tids,
								  set->vectors)) > 0)
	{
		rows += set->n;
		merge_set_sort(build, set);
		merge_set_prepare(build, set);
		merge_write_set(merge, set, &merge->entries);
	}
	if (rows != counts[l])
		elog(ERROR, "cluster %d has " UINT64_FORMAT " rows, expected " UINT64_FORMAT,
			 l, rows, counts[l]);
}

/* Write the clusters of an item, as one of "readers" processes. */
static void
merge_item(Merge *merge, MergeSet *set, int capacity, int readers,
		   const MergeItem *item)
{
	EcpBuild   *build = merge->build;
	const uint64 *counts = ecp_leader_rows(build);
	int32		cursor = 0;
	uint64		rows = 0;
	uint64		told = 0;		/* of them, as progress */

	Assert(item->from <= item->upto);
	Assert(item->from % ECP_RANGE_LEADERS == 0);
	merge->at = item->at;
	merge->entries.n = item->entry;
	ecp_policy_routine(build->plan.policy)->range(build, readers, item->from,
												  item->upto);
	for (int l = item->from; l < item->upto; l++)
	{
		if (counts[l] == 0)
			continue;
		set->parent = tree_parent(build->tree, 0, l, &cursor);
		merge_cluster(merge, set, capacity, l);
		rows += counts[l];
		if (rows - told >= ECP_PROGRESS_ROWS)
		{
			ecp_build_state_progress(build, rows - told, rows);
			told = rows;
		}
	}
	if (merge->at.blk != item[1].at.blk || merge->at.run != item[1].at.run ||
		merge->entries.n != item[1].entry)
		elog(ERROR, "clusters %d to %d do not lie where they were planned",
			 item->from, item->upto - 1);

	ecp_build_state_progress(build, rows - told, rows);
}

/* Memories of the task: those of what was assigned, and of items and entries. */
#define MERGE_MEMORIES	(ECP_ASSIGN_MEMORIES + 1)

/* Write leaves, in each process of the team, or in the backend alone. */
static void
merge_write_items(EcpBuild *build, const MergeArgs *args, char *memory)
{
	MemoryContext ctx = AllocSetContextCreate(build->ctx, "ecp merge, leaves",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldctx = MemoryContextSwitchTo(ctx);
	EcpFilesCount *count = ecp_files_count(build->files);
	Merge		merge = {0};
	MergeItem  *items;
	MergeSet	set;
	int			capacity;
	int64		from;
	int64		upto;
	double		seconds;
	uint64		bytes;

	(void) merge_memory_map(build, args, memory, &items, &merge.entries);
	merge_set_init(build, &set);
	capacity = set.n;

	merge.build = build;
	merge.meta = &build->state.meta;
	merge.writer = ecp_page_writer_begin(build->index, MAIN_FORKNUM);
	if (args->readers == 1)
		merge_item(&merge, &set, capacity, 1, &items[0]);
	else
		while (ecp_team_claim(build->team, &from, &upto))
			for (int64 i = from; i < upto; i++)
				merge_item(&merge, &set, capacity, args->readers, &items[i]);
	ecp_page_writer_end(merge.writer, false, &seconds, &bytes);

	count->io_s += seconds;
	count->written_bytes += bytes;
	MemoryContextSwitchTo(oldctx);
	MemoryContextDelete(ctx);
}

void
ecp_merge_task(EcpTeam *team, const void *args, char **memories)
{
	EcpBuild   *build = ecp_build_team_build(team);

	ecp_assign_attach(build, memories);
	merge_write_items(build, args, memories[ECP_ASSIGN_MEMORIES]);
}

/*
 * Divide the leaves into items, which are returned with one more for the end.
 * Several readers get items that they hold in their memory, if there are
 * files, so that these are read in large pieces.
 */
static MergeItem *
merge_plan(Merge *merge, MergeArgs *args)
{
	EcpBuild   *build = merge->build;
	const uint64 *counts = ecp_leader_rows(build);
	int			nleaders = build->tree->n[0];
	double		share = 1;
	int			step;
	MergeItem  *items;
	EcpLayout	at = merge->at;
	uint64		first_run = at.run;

	Assert(args->readers >= 1);
	if (args->readers > 1)
	{
		share = 1.0 / (MERGE_ITEMS * args->readers);
		if (!build->assigned.kept)
			share = Min(1.0 / args->readers,
						build->budget * ECP_SHARE_IN_BUFF / args->readers /
						(build->assigned.rows *
						 (ECP_RECORD_HEADER + EcpBuildRowBytes(build))));
	}
	step = Max((int) ceil(nleaders * share), 1);
	step = TYPEALIGN(ECP_RANGE_LEADERS, step);
	args->nitems = (nleaders + step - 1) / step;

	items = palloc_array(MergeItem, args->nitems + 1);
	for (int i = 0; i <= args->nitems; i++)
	{
		MergeItem  *item = &items[i];

		if (at.run - first_run > PG_INT32_MAX)
			elog(ERROR, "too many clusters");
		item->from = Min(i * step, nleaders);
		item->upto = Min((i + 1) * step, nleaders);
		item->entry = at.run - first_run;
		item->at = at;
		for (int l = item->from; l < item->upto; l++)
			ecp_layout_cluster(build, &at, counts[l]);
	}
	args->nentries = items[args->nitems].entry;
	return items;
}

/* Write all leaves; leaves their entries, and the layout behind them. */
static void
merge_leaves(Merge *merge)
{
	EcpBuild   *build = merge->build;
	MergeArgs	args = {0};
	EcpMemory	memory;
	MergeItem  *plan;
	MergeItem  *items;
	bool		shared = ecp_policy_routine(build->plan.policy)->merge(build) &&
		build->team != NULL;

	args.readers = shared ? build->plan.nparticipants : 1;
	plan = merge_plan(merge, &args);
	ecp_team_memory_alloc(&memory, shared,
						  merge_memory_map(build, &args, NULL, &items,
										   &merge->entries));
	(void) merge_memory_map(build, &args, memory.address, &items,
							&merge->entries);
	memcpy(items, plan, sizeof(MergeItem) * (args.nitems + 1));
	merge->entries.memory = memory;
	merge->entries.n = args.nentries;
	merge->at = plan[args.nitems].at;
	pfree(plan);

	ecp_page_writer_reserve(build->index, MAIN_FORKNUM, merge->at.blk);
	if (shared)
	{
		EcpMemory  *memories[MERGE_MEMORIES];

		ecp_assign_memories(build, memories);
		memories[ECP_ASSIGN_MEMORIES] = &memory;
		ecp_team_run(build->team, EcpTaskOf(ecp_merge_task), &args, sizeof(args),
					 args.nitems, 1, memories, lengthof(memories));
	}
	else
		merge_write_items(build, &args, memory.address);
}

/* ---- nodes ---- */

/*
 * Write the entries of level - 1 as nodes of "level": those under one parent
 * together, at the top all together.
 */
static void
merge_nodes(Merge *merge, int level)
{
	EcpBuild   *build = merge->build;
	EcpLeaderTree *tree = build->tree;
	EcpEntryList *in = &merge->entries;
	EcpEntryList out = {0};
	int32		cursor = 0;
	int			from = 0;

	Assert(level > 0 && in->n > 1);
	out.vec_bytes = in->vec_bytes;
	while (from < in->n)
	{
		MergeSet	set = {0};
		int			upto = from + 1;

		while (upto < in->n && in->parents[upto] == in->parents[from])
			upto++;
		set.level = level;
		set.n = upto - from;
		set.max = Min(merge->meta->ecpm_node_max,
					  ecp_geometry_node_slots_max(&build->state.node));
		set.vectors = in->vectors + from * in->vec_bytes;
		set.prepared = set.vectors;
		set.children = in->children + from;
		if (in->summaries)
			set.summaries = in->summaries + (Size) from * in->summary_bytes;
		set.sides = palloc_extended(set.n, MCXT_ALLOC_HUGE);
		if (level < tree->nlevels)
			set.parent = tree_parent(tree, level, in->parents[from], &cursor);
		merge_write_set(merge, &set, &out);
		pfree(set.sides);
		from = upto;
	}
	ecp_entries_free(in);
	*in = out;
}

/* Note the runs of a level, which has been written, in the map. */
static void
merge_note_runs(const Merge *merge, EcpLayoutMap *map)
{
	const EcpEntryList *list = &merge->entries;

	for (int i = 0; i < list->n; i++)
		ecp_layout_map_run(map, list->children[i].ecpc_blk,
						   list->children[i].ecpc_npages);
}

/*
 * ecp_merge
 *		Write all pages of the index but the metapage, and make them durable.
 *
 * Fills in the fields of the metapage that say where things are.
 */
void
ecp_merge(EcpBuild *build)
{
	MemoryContext ctx = AllocSetContextCreate(build->ctx, "ecp merge",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldctx = MemoryContextSwitchTo(ctx);
	EcpMetaPageData *meta = &build->state.meta;
	Merge		merge = {0};
	EcpLayoutMap map;
	double		seconds;
	uint64		bytes;
	int			level = 0;

	Assert(build->participant == 0);
	Assert(build->assigned.rows == 0 || build->tree != NULL);
	merge.build = build;
	merge.meta = meta;
	merge.at.blk = ECP_MAP_FIRST_BLKNO + 1;
	merge.at.run = meta->ecpm_next_run;
	if (build->assigned.rows > 0)
		merge_leaves(&merge);

	merge.writer = ecp_page_writer_begin(build->index, MAIN_FORKNUM);
	ecp_layout_map_begin(&map, merge.writer);
	merge_note_runs(&merge, &map);
	meta->ecpm_nleaves = merge.entries.n;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE,
								 ECP_PROGRESS_NODES);
	ecp_build_state_total(merge.entries.n);
	while (merge.entries.n > 1)
	{
		merge_nodes(&merge, ++level);
		merge_note_runs(&merge, &map);
	}
	if (merge.entries.n == 1)
	{
		meta->ecpm_root = merge.entries.children[0];
		meta->ecpm_root_level = level;
	}
	ecp_entries_free(&merge.entries);
	meta->ecpm_next_run = merge.at.run;
	ecp_layout_map_end(&map);
	ecp_page_writer_end(merge.writer, true, &seconds, &bytes);

	ecp_files_count(build->files)->io_s += seconds;
	ecp_files_count(build->files)->written_bytes += bytes;
	MemoryContextSwitchTo(oldctx);
	MemoryContextDelete(ctx);
}
