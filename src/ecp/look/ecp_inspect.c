/*-------------------------------------------------------------------------
 *
 * ecp_inspect.c
 *	  The index seen from SQL: metapage, statistics, clusters, slots.
 *
 * All functions read the present version under the query's snapshot, as a scan
 * does, so that nothing they read is freed; all require SELECT on the table.
 *
 * The statistics include two shares that tell how even the clusters are: those
 * with less than half of the mean number of rows, and those with more than one
 * and a half times as many; and how the index has changed since it was built
 * (ecp_drift.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "base/shards.h"
#include "base/user_index.h"
#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_options.h"
#include "ecp/look/ecp_drift.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_cluster.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/page/ecp_space.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "vector/vector_value.h"

PGDLLEXPORT Datum ecp_metapage_info(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_index_stats(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_clusters(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_page_items(PG_FUNCTION_ARGS);

#define ECP_METAPAGE_COLUMNS	23
#define ECP_STATS_COLUMNS		29
#define ECP_CLUSTERS_COLUMNS	8
#define ECP_ITEMS_COLUMNS		8

/* A cluster or an insert buffer. */
typedef struct EcpLeafInfo
{
	EcpChildData child;
	bool		is_buffer;
	int			nruns;
	uint32		nslots;
	uint32		nrows;
	uint32		npages;
	ItemPointerData *tids;		/* if wanted, else NULL */
} EcpLeafInfo;

typedef void (*EcpLeafVisitor) (const EcpLeafInfo *leaf, void *arg);

/* The nodes of the tree. */
typedef struct EcpNodeCounts
{
	int64		nnodes;
	int64		npages;
	int64		dead_leaders;	/* slots of leaders that were replaced */
} EcpNodeCounts;

static TupleDesc
inspect_result(FunctionCallInfo fcinfo, int ncolumns)
{
	TupleDesc	tupdesc;

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE ||
		tupdesc->natts != ncolumns)
		elog(ERROR, "return type must be a row type of %d columns", ncolumns);
	return tupdesc;
}

static const char *const metric_names[] = {
	[ECP_METRIC_L2] = "l2",
	[ECP_METRIC_IP] = "ip",
	[ECP_METRIC_COSINE] = "cosine",
	[ECP_METRIC_HAMMING] = "hamming",
};

/* ecp_meta_read_state() has checked that the number has a name. */
static Datum
inspect_name(const char *const *names, int n, int which)
{
	Assert(which >= 0 && which < n && names[which] != NULL);
	return CStringGetTextDatum(names[which]);
}

/* An array of n texts; NULL pointers become NULL. */
static Datum
inspect_texts(const char *const *texts, int n)
{
	Datum		values[ECP_ATTRS_MAX];
	bool		nulls[ECP_ATTRS_MAX];
	int			lower = 1;

	Assert(n > 0 && n <= ECP_ATTRS_MAX);
	for (int i = 0; i < n; i++)
	{
		nulls[i] = texts[i] == NULL;
		values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(texts[i]);
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower,
											  TEXTOID, -1, false, TYPALIGN_INT));
}

/* The kinds of the key attributes. */
static Datum
inspect_attr_kinds(const EcpMetaPageData *meta)
{
	const char *names[ECP_ATTRS_MAX];
	int			natts = meta->ecpm_nkeyatts - 1;

	for (int a = 0; a < natts; a++)
		names[a] = ecp_attr_kind_name(meta->ecpm_attr_kind[a]);
	return inspect_texts(names, natts);
}

/* The keys of a slot's attributes in hexadecimal, which sort as the values. */
static Datum
inspect_slot_keys(const EcpGeometry *geo, const EcpEntryView *view, int slot)
{
	const char *keys[ECP_ATTRS_MAX];

	for (int a = 0; a < geo->natts; a++)
	{
		if ((view->nulls[slot] & (1 << a)) != 0)
			keys[a] = NULL;
		else
			keys[a] = psprintf("%0*llx", 2 * geo->attr_width[a],
							   (unsigned long long)
							   ecp_attr_slot_key(geo, view, slot, a));
	}
	return inspect_texts(keys, geo->natts);
}

PG_FUNCTION_INFO_V1(ecp_metapage_info);

/*
 * ecp_metapage_info(index)
 */
Datum
ecp_metapage_info(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc = inspect_result(fcinfo, ECP_METAPAGE_COLUMNS);
	Relation	index = ecp_user_index_open(fcinfo, AccessShareLock, ECP_INDEX_READ,
											&ecp_index_kind);
	EcpIndexState state;
	EcpMetaPageData *meta = &state.meta;
	Datum		values[ECP_METAPAGE_COLUMNS];
	bool		nulls[ECP_METAPAGE_COLUMNS] = {0};
	int			i = 0;

	ecp_meta_read_state(index, &state);
	values[i++] = Int32GetDatum(meta->ecpm_version);
	values[i++] = CStringGetTextDatum(ecp_elem_name(meta->ecpm_elem));
	values[i++] = inspect_name(metric_names, lengthof(metric_names),
							   meta->ecpm_metric);
	values[i++] = Int32GetDatum(meta->ecpm_dims);
	values[i++] = BoolGetDatum((meta->ecpm_flags & ECP_META_DIMS_LEARNED) != 0);
	values[i++] = CStringGetTextDatum(meta->ecpm_quantizer ==
									  ECP_QUANTIZER_RABITQ ? "rabitq" : "none");
	values[i++] = CStringGetTextDatum(meta->ecpm_leaders == ECP_LEADERS_RANDOM ?
									  "random" : "kmeans");
	values[i++] = Int64GetDatum(meta->ecpm_seed);
	values[i++] = Int64GetDatum(meta->ecpm_leaf_target);
	values[i++] = Int64GetDatum(meta->ecpm_leaf_max);
	values[i++] = Int64GetDatum(meta->ecpm_node_target);
	values[i++] = Int64GetDatum(meta->ecpm_node_max);
	values[i++] = Int32GetDatum(meta->ecpm_dims > 0 ? state.leaf.slots : 0);
	values[i++] = Int64GetDatum(meta->ecpm_sversion);
	values[i++] = Int32GetDatum(EcpIndexIsEmpty(&state) ? 0 :
								meta->ecpm_root_level);
	nulls[i] = EcpIndexIsEmpty(&state);
	values[i++] = Int64GetDatum(meta->ecpm_root.ecpc_blk);
	values[i++] = Int64GetDatum(meta->ecpm_next_run);
	values[i++] = Int64GetDatum(meta->ecpm_nleaves);
	values[i++] = Int64GetDatum(meta->ecpm_retired_pages);
	values[i++] = BoolGetDatum(meta->ecpm_op.ecpi_kind != ECP_OP_NONE);
	values[i++] = Float8GetDatum(meta->ecpm_build_tuples);
	nulls[i] = meta->ecpm_nkeyatts == 1;
	values[i] = nulls[i] ? (Datum) 0 : inspect_attr_kinds(meta);
	i++;
	values[i++] = Int32GetDatum(meta->ecpm_attr_bytes);
	Assert(i == ECP_METAPAGE_COLUMNS);
	relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}

/* ---- the tree ---- */

/* Count the rows on one page of a leaf, and keep their TIDs if wanted. */
static void
inspect_leaf_page(const EcpEntryView *view, uint32 nslots, bool want_tids,
				  EcpLeafInfo *leaf)
{
	if (want_tids)
		leaf->tids = leaf->tids == NULL ?
			palloc((nslots + 1) * sizeof(ItemPointerData)) :
			repalloc_huge(leaf->tids, mul_size(leaf->nrows + nslots + 1,
											   sizeof(ItemPointerData)));
	for (uint32 slot = 0; slot < nslots; slot++)
	{
		if (!EcpSlotIsLive(view, slot))
			continue;
		if (want_tids)
			leaf->tids[leaf->nrows] = view->tids[slot];
		leaf->nrows++;
	}
}

/* Show a cluster or an insert buffer to the visitor. */
static void
inspect_leaf(Relation index, const EcpIndexState *state,
			 const EcpChildData *child, bool is_buffer, bool want_tids,
			 EcpLeafVisitor visitor, void *arg)
{
	EcpLeafInfo leaf = {0};
	PGAlignedBlock copy;
	EcpRun	   *runs;

	leaf.child = *child;
	leaf.is_buffer = is_buffer;
	leaf.nruns = ecp_cluster_runs(index, state, 0, child->ecpc_blk,
								  child->ecpc_run, InvalidBuffer, &runs);
	if (leaf.nruns < 0)
		ecp_report_moved(index, child->ecpc_blk);
	for (int r = 0; r < leaf.nruns; r++)
	{
		const EcpRunHeaderData *header = &runs[r].header;

		leaf.nslots += header->ecpr_nslots;
		leaf.npages += header->ecpr_npages;
		for (uint32 p = 0; p < header->ecpr_hw_page; p++)
		{
			EcpEntryView view;

			CHECK_FOR_INTERRUPTS();
			if (!ecp_run_copy_page(index, &runs[r], p, InvalidBuffer, copy.data))
				ecp_report_moved(index, runs[r].blk + p);
			ecp_entry_view(copy.data, &state->leaf, 0, &view);
			inspect_leaf_page(&view, Min(state->leaf.slots,
										 header->ecpr_nslots -
										 p * state->leaf.slots),
							  want_tids, &leaf);
		}
	}
	visitor(&leaf, arg);
	if (leaf.tids)
		pfree(leaf.tids);
	pfree(runs);
}

/*
 * Visit all clusters and insert buffers of the present version, in the order
 * of the tree, and count its nodes.
 */
static void
inspect_tree(Relation index, const EcpIndexState *state, bool want_tids,
			 EcpLeafVisitor visitor, void *arg, EcpNodeCounts *counts)
{
	List	   *nodes;
	ListCell   *lc;

	memset(counts, 0, sizeof(EcpNodeCounts));
	if (EcpIndexIsEmpty(state))
		return;
	if (state->meta.ecpm_root_level == 0)
	{
		inspect_leaf(index, state, &state->meta.ecpm_root, false, want_tids,
					 visitor, arg);
		return;
	}
	nodes = ecp_node_collect(index, state, -1);
	counts->nnodes = list_length(nodes);
	foreach(lc, nodes)
	{
		EcpNodeRef *ref = lfirst(lc);
		EcpNodeImage *node;

		node = ecp_node_read(index, state, ref->level, ref->child.ecpc_blk,
							 ref->child.ecpc_run, false);
		counts->npages += node->head.header.ecpr_npages;
		counts->dead_leaders += node->head.header.ecpr_nslots - node->nfree -
			node->nchildren - node->nbuffers;
		for (int i = 0;
			 ref->level == 1 && i < node->nchildren + node->nbuffers; i++)
			inspect_leaf(index, state, &node->children[i],
						 i >= node->nchildren, want_tids, visitor, arg);
		ecp_node_image_free(node);
	}
}

/* ---- statistics ---- */

typedef struct EcpStats
{
	uint32		nleaves;
	uint32		max;
	EcpChildData *leaves;		/* with their present numbers of rows */
	int64		nrows;
	int64		nslots;
	int64		nruns;
	int64		npages;
	uint32		smallest;
	uint32		largest;
	int64		nbuffers;
	int64		nbuffered;		/* rows in them */
} EcpStats;

static void
stats_visit(const EcpLeafInfo *leaf, void *arg)
{
	EcpStats   *stats = arg;

	if (leaf->is_buffer)
	{
		stats->nbuffers++;
		stats->nbuffered += leaf->nrows;
		return;
	}
	if (stats->nleaves == stats->max)
	{
		stats->max = Max(1024, stats->max * 2);
		stats->leaves = stats->leaves ?
			repalloc_huge(stats->leaves,
						  mul_size(stats->max, sizeof(EcpChildData))) :
			palloc(stats->max * sizeof(EcpChildData));
	}
	stats->smallest = stats->nleaves == 0 ? leaf->nrows :
		Min(stats->smallest, leaf->nrows);
	stats->largest = Max(stats->largest, leaf->nrows);
	stats->leaves[stats->nleaves] = leaf->child;
	stats->leaves[stats->nleaves++].ecpc_nrows = leaf->nrows;
	stats->nrows += leaf->nrows;
	stats->nslots += leaf->nslots;
	stats->nruns += leaf->nruns;
	stats->npages += leaf->npages;
}

/* Share of the clusters with more than "low" and fewer than "high" rows. */
static float8
stats_share(const EcpStats *stats, float8 low, float8 high)
{
	uint32		n = 0;

	for (uint32 i = 0; i < stats->nleaves; i++)
	{
		if (stats->leaves[i].ecpc_nrows > low &&
			stats->leaves[i].ecpc_nrows < high)
			n++;
	}
	return stats->nleaves > 0 ? (float8) n / stats->nleaves : 0;
}

/* Fill in the columns about drift; returns their number. */
static int
stats_put_drift(const EcpDrift *drift, Datum *values, bool *nulls)
{
	bool		measured = drift->measured != 0;
	bool		known = !isnan(drift->expected);
	int			i = 0;

	values[i++] = Int64GetDatum(drift->noverfull);
	values[i++] = Int64GetDatum(drift->nsplit);
	values[i++] = Float8GetDatum(drift->misassigned);
	nulls[i] = !measured;
	values[i++] = TimestampTzGetDatum(drift->measured);
	nulls[i] = !measured;
	values[i++] = Int64GetDatum(drift->nrows - (int64) drift->rows_then);
	values[i++] = Float8GetDatum(drift->target);
	nulls[i] = !known;
	values[i++] = Float8GetDatum(known ? Max(drift->expected, 0) : 0);
	nulls[i] = !known;
	values[i++] = Float8GetDatum(known ?
								 Max(drift->target - drift->expected, 0) : 0);
	nulls[i] = drift->advice == NULL;
	values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(drift->advice);
	return i + 1;
}

PG_FUNCTION_INFO_V1(ecp_index_stats);

/* those of a distributed table */
static const char *const stats_merge =
"SELECT sum(clusters), max(levels), sum(nodes), sum(rows),"
" COALESCE(sum(mean_rows * clusters) / NULLIF(sum(clusters), 0), 0),"
" min(min_rows), max(max_rows),"
" COALESCE(sum(share_small * clusters) / NULLIF(sum(clusters), 0), 0),"
" COALESCE(sum(share_large * clusters) / NULLIF(sum(clusters), 0), 0),"
" sum(free_slots), sum(appended_runs), sum(dead_leaders), sum(pages),"
" sum(cluster_pages), sum(node_pages), sum(retired_pages), sum(free_pages),"
" max(structure_version), sum(buffers), sum(buffered_rows), sum(overfull),"
" sum(split_clusters), sum(misassigned * rows) / NULLIF(sum(rows), 0),"
" min(measured), sum(rows_added), min(target_recall),"
" sum(expected_recall * rows) / NULLIF(sum(rows), 0),"
" sum(recall_loss * rows) / NULLIF(sum(rows), 0),"
" string_agg(format('shard %s: %s', shardid, advice), E'\n' ORDER BY shardid)"
"   FILTER (WHERE advice IS NOT NULL) FROM shards";

/*
 * ecp_index_stats(index)
 */
Datum
ecp_index_stats(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc = inspect_result(fcinfo, ECP_STATS_COLUMNS);
	Relation	index;
	EcpIndexState state;
	EcpStats	stats = {0};
	EcpDrift	drift;
	Datum		values[ECP_STATS_COLUMNS];
	bool		nulls[ECP_STATS_COLUMNS] = {0};
	EcpNodeCounts nodes;
	BlockNumber nblocks;
	uint64		nfree;
	float8		mean;
	Datum		result;
	int			i = 0;

	if (ecp_shards_call(fcinfo, false, stats_merge, &result))
		return result;
	index = ecp_user_index_open(fcinfo, AccessShareLock, ECP_INDEX_READ,
								&ecp_index_kind);
	ecp_meta_read_state(index, &state);
	inspect_tree(index, &state, false, stats_visit, &stats, &nodes);
	nfree = ecp_space_count_used(index);
	nblocks = RelationGetNumberOfBlocks(index);
	nfree = nblocks - Min(nfree, nblocks);
	mean = stats.nleaves > 0 ? (float8) stats.nrows / stats.nleaves : 0;
	ecp_drift_measure(index, &state, stats.leaves, stats.nleaves,
					  stats.nbuffered, nfree > nblocks / 2, &drift);

	values[i++] = Int64GetDatum(stats.nleaves);
	values[i++] = Int32GetDatum(EcpIndexIsEmpty(&state) ? 0 :
								state.meta.ecpm_root_level);
	values[i++] = Int64GetDatum(nodes.nnodes);
	values[i++] = Int64GetDatum(stats.nrows + stats.nbuffered);
	values[i++] = Float8GetDatum(mean);
	values[i++] = Int64GetDatum(stats.smallest);
	values[i++] = Int64GetDatum(stats.largest);
	values[i++] = Float8GetDatum(stats_share(&stats, -1, mean / 2));
	values[i++] = Float8GetDatum(stats_share(&stats, mean * 1.5,
											 get_float8_infinity()));
	values[i++] = Int64GetDatum(stats.nslots - stats.nrows);
	values[i++] = Int64GetDatum(stats.nruns - stats.nleaves);
	values[i++] = Int64GetDatum(nodes.dead_leaders);
	values[i++] = Int64GetDatum(nblocks);
	values[i++] = Int64GetDatum(stats.npages);
	values[i++] = Int64GetDatum(nodes.npages);
	values[i++] = Int64GetDatum(state.meta.ecpm_retired_pages);
	values[i++] = Int64GetDatum(nfree);
	values[i++] = Int64GetDatum(state.meta.ecpm_sversion);
	values[i++] = Int64GetDatum(stats.nbuffers);
	values[i++] = Int64GetDatum(stats.nbuffered);
	i += stats_put_drift(&drift, values + i, nulls + i);
	Assert(i == ECP_STATS_COLUMNS);
	relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}

/* ---- clusters and slots as rows ---- */

typedef struct EcpClusterRows
{
	ReturnSetInfo *rsinfo;
	int32		number;
} EcpClusterRows;

static void
clusters_visit(const EcpLeafInfo *leaf, void *arg)
{
	EcpClusterRows *rows = arg;
	Datum		values[ECP_CLUSTERS_COLUMNS];
	bool		nulls[ECP_CLUSTERS_COLUMNS] = {0};
	Datum	   *datums;
	ArrayType  *tids;

	if (leaf->is_buffer)
		return;
	datums = palloc(mul_size(leaf->nrows + 1, sizeof(Datum)));
	for (uint32 i = 0; i < leaf->nrows; i++)
		datums[i] = PointerGetDatum(&leaf->tids[i]);
	tids = construct_array(datums, leaf->nrows, TIDOID,
						   sizeof(ItemPointerData), false, TYPALIGN_SHORT);
	pfree(datums);
	values[0] = Int32GetDatum(rows->number++);
	values[1] = Int64GetDatum(leaf->child.ecpc_blk);
	values[2] = Int64GetDatum(leaf->child.ecpc_run);
	values[3] = Int32GetDatum(leaf->nruns);
	values[4] = Int64GetDatum(leaf->nslots);
	values[5] = Int64GetDatum(leaf->nrows);
	values[6] = Float4GetDatum(leaf->child.ecpc_radius);
	values[7] = PointerGetDatum(tids);
	tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc,
						 values, nulls);
	pfree(tids);
}

PG_FUNCTION_INFO_V1(ecp_clusters);

/*
 * ecp_clusters(index)
 *		A row for each cluster, with the TIDs of its rows.
 */
Datum
ecp_clusters(PG_FUNCTION_ARGS)
{
	Relation	index = ecp_user_index_open(fcinfo, AccessShareLock, ECP_INDEX_OWN,
											&ecp_index_kind);
	EcpClusterRows rows = {0};
	EcpNodeCounts nodes;
	EcpIndexState state;

	InitMaterializedSRF(fcinfo, 0);
	rows.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ecp_meta_read_state(index, &state);
	inspect_tree(index, &state, true, clusters_visit, &rows, &nodes);
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}

/* Report a page that is sound but has no entries, and check one that has. */
static void
inspect_check_entries(Relation index, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	const char *detail = "It was not used yet.";

	Assert(BufferIsValid(buffer));

	if (!PageIsNew(page))
	{
		/* do not use pd_special, which may be damaged */
		EcpPageOpaque opaque = (EcpPageOpaque) ((char *) page + BLCKSZ -
												MAXALIGN(sizeof(EcpPageOpaqueData)));

		if (opaque->ecpo_kind == ECP_PAGE_MAP)
			detail = "It is a map page.";
		else if (opaque->ecpo_kind == ECP_PAGE_VECTOR)
			detail = "It has vectors, or parts of them.";
		else
			detail = NULL;
		ecp_page_check(index, buffer,
					   detail ? opaque->ecpo_kind : ECP_PAGE_ENTRY);
	}
	if (detail)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block %u of index \"%s\" has no entries",
						BufferGetBlockNumber(buffer),
						RelationGetRelationName(index)),
				 errdetail_internal("%s", detail)));
}

PG_FUNCTION_INFO_V1(ecp_page_items);

/*
 * ecp_page_items(index, blkno)
 *		A row for each live slot of an entry page.
 */
Datum
ecp_page_items(PG_FUNCTION_ARGS)
{
	Relation	index = ecp_user_index_open(fcinfo, AccessShareLock, ECP_INDEX_OWN,
											&ecp_index_kind);
	int64		blk = PG_GETARG_INT64(1);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	PGAlignedBlock copy;
	EcpIndexState state;
	EcpPageOpaque opaque;
	EcpEntryView view;
	const EcpGeometry *geo;
	Buffer		buffer;
	bool		is_node;

	InitMaterializedSRF(fcinfo, 0);
	if (blk <= ECP_META_BLKNO || blk >= RelationGetNumberOfBlocks(index))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block number %lld of index \"%s\" is out of range",
						(long long) blk, RelationGetRelationName(index))));
	ecp_meta_read_state(index, &state);
	buffer = ecp_page_get(index, blk, BUFFER_LOCK_SHARE);
	inspect_check_entries(index, buffer);
	memcpy(copy.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);

	/* the level is on page 0 only, but the end of the payload tells it, too */
	opaque = EcpPageGetOpaque((Page) copy.data);
	is_node = ((PageHeader) copy.data)->pd_lower == state.node.lower &&
		(state.node.lower != state.leaf.lower ||
		 (opaque->ecpo_pageno == 0 &&
		  EcpPageGetRunHeader((Page) copy.data)->ecpr_level > 0));
	geo = is_node ? &state.node : &state.leaf;
	ecp_entry_view(copy.data, geo, is_node ? 1 : 0, &view);
	for (uint32 slot = 0; slot < geo->slots; slot++)
	{
		Datum		values[ECP_ITEMS_COLUMNS] = {0};
		bool		nulls[ECP_ITEMS_COLUMNS] = {0};

		if (!EcpSlotIsLive(&view, slot))
			continue;
		values[0] = Int32GetDatum(slot);
		if (is_node)
		{
			EcpChild	child = &view.children[slot];

			nulls[1] = true;
			values[2] = Int64GetDatum(child->ecpc_blk);
			values[3] = Int64GetDatum(child->ecpc_run);
			values[4] = Int64GetDatum(child->ecpc_vfrom);
			nulls[5] = child->ecpc_vto == ECP_V_NONE;
			values[5] = Int64GetDatum(child->ecpc_vto);
			values[6] = Int64GetDatum(child->ecpc_nrows);
		}
		else
		{
			values[1] = PointerGetDatum(&view.tids[slot]);
			for (int c = 2; c < 7; c++)
				nulls[c] = true;
		}
		nulls[7] = geo->natts == 0;
		if (!nulls[7])
			values[7] = inspect_slot_keys(geo, &view, slot);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}
