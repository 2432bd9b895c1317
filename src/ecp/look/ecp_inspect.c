/*-------------------------------------------------------------------------
 *
 * ecp_inspect.c
 *	  The index seen from SQL: metapage, clusters, slots.
 *
 * All functions read the present version under the query's snapshot, as a scan
 * does, so that nothing they read is freed; all require SELECT on the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "base/user_index.h"
#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_define.h"
#include "ecp/look/ecp_look.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "fmgr.h"
#include "funcapi.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"
#include "vector/vector_value.h"

PGDLLEXPORT Datum ecp_metapage_info(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_clusters(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_page_items(PG_FUNCTION_ARGS);

#define ECP_METAPAGE_COLUMNS	24
#define ECP_CLUSTERS_COLUMNS	8
#define ECP_ITEMS_COLUMNS		8

static const char *const metric_names[] = {
	[ECP_METRIC_L2] = "l2",
	[ECP_METRIC_IP] = "ip",
	[ECP_METRIC_COSINE] = "cosine",
	[ECP_METRIC_HAMMING] = "hamming",
	[ECP_METRIC_L1] = "l1",
	[ECP_METRIC_JACCARD] = "jaccard",
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

/* A set of tags in hexadecimal, two bytes at a time. */
static char *
inspect_tags(const char *set, int width)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < width / 2; i++)
		appendStringInfo(&text, "%04x", ((const uint16 *) set)[i]);
	return text.data;
}

/*
 * The keys of a slot's attributes in hexadecimal, which sort as the values; of
 * sets of tags what they have.
 */
static Datum
inspect_slot_keys(const EcpIndexState *state, const EcpEntryView *view, int slot)
{
	const EcpGeometry *geo = &state->leaf;
	const char *keys[ECP_ATTRS_MAX];

	for (int a = 0; a < geo->natts; a++)
	{
		if ((view->nulls[slot] & (1 << a)) != 0)
			keys[a] = NULL;
		else if (EcpAttrKindIsTags(state->meta.ecpm_attr_kind[a]))
			keys[a] = inspect_tags(view->attrs[a] + slot * geo->attr_width[a],
								   geo->attr_width[a]);
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
	Relation	index = ecp_user_index_open_monitored(fcinfo, &ecp_index_kind);
	EcpIndexState state;
	EcpMetaPageData *meta = &state.meta;
	Datum		values[ECP_METAPAGE_COLUMNS];
	bool		nulls[ECP_METAPAGE_COLUMNS] = {0};
	int			i = 0;

	if (index == NULL)
		PG_RETURN_NULL();
	ecp_meta_read_state(index, &state);
	values[i++] = Int32GetDatum(meta->ecpm_version);
	values[i++] = CStringGetTextDatum(ecp_elem_name(meta->ecpm_elem));
	values[i++] = inspect_name(metric_names, lengthof(metric_names),
							   meta->ecpm_metric);
	values[i++] = Int32GetDatum(meta->ecpm_dims);
	values[i++] = BoolGetDatum((meta->ecpm_flags & ECP_META_DIMS_LEARNED) != 0);
	values[i++] = CStringGetTextDatum(meta->ecpm_quantizer ==
									  ECP_QUANTIZER_RABITQ ? "rabitq" : "none");
	values[i++] = CStringGetTextDatum(meta->ecpm_vectors == ECP_VECTORS_CODES ?
									  "codes" : meta->ecpm_vectors ==
									  ECP_VECTORS_HALF ? "half" : "full");
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
	PG_RETURN_DATUM(ecp_user_row(fcinfo, ECP_METAPAGE_COLUMNS, values, nulls));
}

/* ---- clusters and slots as rows ---- */

typedef struct EcpClusterRows
{
	ReturnSetInfo *rsinfo;
	int32		number;
} EcpClusterRows;

static void
clusters_put(EcpClusterRows *rows, Relation index, const EcpIndexState *state,
			 const EcpChildData *child)
{
	const EcpGeometry *geo = &state->leaf;
	Datum		values[ECP_CLUSTERS_COLUMNS];
	bool		nulls[ECP_CLUSTERS_COLUMNS] = {0};
	uint32		nslots = 0;
	uint32		n = 0;
	ItemPointerData *items;
	Datum	   *tids;
	PGAlignedBlock copy;
	EcpRun	   *runs;
	int			nruns = ecp_cluster_runs(index, state, 0, child->ecpc_blk,
										 child->ecpc_run, InvalidBuffer, &runs);

	for (int r = 0; r < nruns; r++)
		nslots += runs[r].header.ecpr_nslots;
	items = palloc_extended(mul_size(nslots, sizeof(ItemPointerData)), MCXT_ALLOC_HUGE);
	tids = palloc_extended(mul_size(nslots, sizeof(Datum)), MCXT_ALLOC_HUGE);
	for (int r = 0; r < nruns; r++)
		for (uint32 p = 0; p < runs[r].header.ecpr_hw_page; p++)
		{
			EcpEntryView view;

			ecp_run_copy_page(index, &runs[r], p, InvalidBuffer, copy.data);
			ecp_entry_view(copy.data, geo, 0, &view);
			for (uint32 slot = 0; slot < ecp_run_page_slots(geo, &runs[r], p); slot++)
			{
				if (!EcpSlotIsLive(&view, slot))
					continue;
				items[n] = view.tids[slot];
				tids[n] = PointerGetDatum(&items[n]);
				n++;
			}
		}
	values[0] = Int32GetDatum(rows->number++);
	values[1] = Int64GetDatum(child->ecpc_blk);
	values[2] = Int64GetDatum(child->ecpc_run);
	values[3] = Int32GetDatum(nruns);
	values[4] = Int64GetDatum(nslots);
	values[5] = Int64GetDatum(n);
	values[6] = Float4GetDatum(child->ecpc_radius);
	values[7] = PointerGetDatum(construct_array(tids, n, TIDOID, sizeof(ItemPointerData),
												false, TYPALIGN_SHORT));
	tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc,
						 values, nulls);
	pfree(DatumGetPointer(values[7]));
	pfree(tids);
	pfree(items);
	pfree(runs);
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
											&ecp_index_kind, NULL);
	EcpClusterRows rows = {0};
	EcpLeaves	leaves;
	EcpIndexState state;

	InitMaterializedSRF(fcinfo, 0);
	rows.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ecp_meta_read_state(index, &state);
	ecp_leaves_collect(index, &state, &leaves);
	for (int i = 0; i < leaves.n; i++)
		if (!leaves.refs[i].is_buffer)
			clusters_put(&rows, index, &state, &leaves.refs[i].child);
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
											&ecp_index_kind, NULL);
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
	is_node = ((PageHeader) copy.data)->pd_lower == state.node.page_lower &&
		(state.node.page_lower != state.leaf.page_lower ||
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
			values[7] = inspect_slot_keys(&state, &view, slot);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	relation_close(index, AccessShareLock);
	return (Datum) 0;
}

/* ---- what the build of an index cost, by phase ---- */

/*
 * The build stores its report in the metapage.  The columns are those of Tables
 * 2 and 3 of the research report on build policies (wall time, time in I/O,
 * assignment and merging apart), and the counts of files, opens and bytes that
 * explain them.  Of a parallel build cpu_s and io_s are sums over its processes.
 */

PGDLLEXPORT Datum ecp_build_report(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_build_report);

#define REPORT_COLUMNS	14

static const char *const report_phase_names[ECP_BUILD_NPHASES] = {
	[ECP_BUILD_SAMPLE] = "sample",
	[ECP_BUILD_LEADERS] = "leaders",
	[ECP_BUILD_ASSIGN] = "assignment",
	[ECP_BUILD_MERGE] = "merging",
	[ECP_BUILD_RECALL] = "recall"
};

static void
report_phase(ReturnSetInfo *rsinfo, const char *name,
			 const EcpBuildPhaseData *phase, const EcpBuildReportData *report)
{
	Datum		values[REPORT_COLUMNS];
	bool		nulls[REPORT_COLUMNS] = {false};
	int			i = 0;

	values[i++] = CStringGetTextDatum(name);
	values[i++] = Float8GetDatum(phase->ecpb_wall_s);
	values[i++] = Float8GetDatum(phase->ecpb_cpu_s);
	values[i++] = Float8GetDatum(phase->ecpb_io_s);
	values[i++] = Int64GetDatum(phase->ecpb_files);
	values[i++] = Int64GetDatum(phase->ecpb_opens);
	values[i++] = Int64GetDatum(phase->ecpb_read_bytes);
	values[i++] = Int64GetDatum(phase->ecpb_written_bytes);
	values[i++] = CStringGetTextDatum(report->ecpb_policy == ECP_POLICY_TEMPFILES ?
									  "tempfiles" : "chunkfiles");
	values[i++] = CStringGetTextDatum(pnstrdup(report->ecpb_why,
											   sizeof(report->ecpb_why)));
	values[i++] = Int64GetDatum(report->ecpb_rounds);
	values[i++] = Int64GetDatum(report->ecpb_in_buff);
	values[i] = Float8GetDatum(report->ecpb_predicted_s);
	nulls[i++] = report->ecpb_predicted_s == 0;
	values[i++] = Int32GetDatum(report->ecpb_workers);
	Assert(i == REPORT_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
report_add(EcpBuildPhaseData *total, const EcpBuildPhaseData *phase)
{
	Assert(total != phase);
	total->ecpb_wall_s += phase->ecpb_wall_s;
	total->ecpb_cpu_s += phase->ecpb_cpu_s;
	total->ecpb_io_s += phase->ecpb_io_s;
	total->ecpb_files += phase->ecpb_files;
	total->ecpb_opens += phase->ecpb_opens;
	total->ecpb_read_bytes += phase->ecpb_read_bytes;
	total->ecpb_written_bytes += phase->ecpb_written_bytes;
}

/*
 * ecp_build_report(index regclass)
 *		One row for each phase of the build, and one for the total.
 */
Datum
ecp_build_report(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index = ecp_user_index_open_monitored(fcinfo, &ecp_index_kind);
	EcpIndexState *state = palloc(sizeof(EcpIndexState));
	const EcpBuildReportData *report = &state->meta.ecpm_report;
	EcpBuildPhaseData total = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (index == NULL)
		return (Datum) 0;
	ecp_meta_read_state(index, state);
	for (int i = 0; i < ECP_BUILD_NPHASES; i++)
	{
		report_phase(rsinfo, report_phase_names[i], &report->ecpb_phase[i],
					 report);
		report_add(&total, &report->ecpb_phase[i]);
	}
	report_phase(rsinfo, "total", &total, report);

	index_close(index, AccessShareLock);
	return (Datum) 0;
}
