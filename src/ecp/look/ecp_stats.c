/*-------------------------------------------------------------------------
 *
 * ecp_stats.c
 *	  Statistics of an index: what is stored, and what one pass measures.
 *
 * ecp_index_stats() reads the metapage and the map of used blocks, a page for
 * each 508 MB, and is meant to be polled.  Its number of rows is pg_class's, of
 * the build or the last VACUUM or ANALYZE, or that of the recall curve, with which
 * its recall was measured.
 *
 * ecp_index_drift() reads the pages of clusters once and those of nodes twice.
 * It counts rows, sizes and free room, and tells how even the clusters are by
 * two shares: those with less than half of the mean number of rows, and those
 * with more than one and a half times as many.  In the same pass it measures how
 * the index has changed since it was built (ecp_drift.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "base/user_index.h"
#include "ecp/define/ecp_define.h"
#include "ecp/look/ecp_look.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/timestamp.h"

PGDLLEXPORT Datum ecp_index_stats(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_index_drift(PG_FUNCTION_ARGS);

#define STATS_COLUMNS	14
#define DRIFT_COLUMNS	29

/* The clusters and insert buffers of an index, added up. */
typedef struct EcpStats
{
	EcpLeaves	leaves;			/* with their present numbers of rows */
	int64		nclusters;
	int64		nrows;
	int64		nslots;
	int64		nruns;
	int64		npages;
	uint32		smallest;
	uint32		largest;
	int64		nbuffers;
	int64		nbuffered;		/* rows in them */
} EcpStats;

/* Blocks of an index, and how many of them are free. */
static BlockNumber
stats_blocks(Relation index, uint64 *nfree)
{
	uint64		nused = ecp_space_count_used(index);
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);

	*nfree = nblocks - Min(nused, nblocks);
	return nblocks;
}

/* Fill in the columns from "measured" to "expected_recall"; returns their number. */
static int
stats_put_recall(const EcpDrift *drift, Datum *values, bool *nulls)
{
	bool		measured = drift->measured != 0;
	int			i = 0;

	nulls[i] = !measured;
	values[i++] = TimestampTzGetDatum(drift->measured);
	nulls[i] = !measured || drift->nrows < 0;
	values[i++] = Int64GetDatum(drift->nrows - (int64) drift->rows_then);
	values[i++] = Float8GetDatum(drift->target);
	nulls[i] = isnan(drift->expected);
	values[i] = Float8GetDatum(nulls[i] ? 0 : Max(drift->expected, 0));
	return i + 1;
}

/* Fill in the column "advice", the last one. */
static int
stats_put_advice(const EcpDrift *drift, Datum *value, bool *isnull)
{
	*isnull = drift->advice == NULL;
	*value = *isnull ? (Datum) 0 : CStringGetTextDatum(drift->advice);
	return 1;
}

/* A row of "n" columns of an index that is not valid: nothing but advice. */
static Datum
stats_not_valid(FunctionCallInfo fcinfo, int n)
{
	Datum		values[DRIFT_COLUMNS] = {0};
	bool		nulls[DRIFT_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	values[n - 1] = CStringGetTextDatum("drop it, or REINDEX it: it is not valid, unless it is being created now");
	nulls[n - 1] = false;
	return ecp_user_row(fcinfo, n, values, nulls);
}

PG_FUNCTION_INFO_V1(ecp_index_stats);

/*
 * ecp_index_stats(index)
 *		What is stored.
 */
Datum
ecp_index_stats(PG_FUNCTION_ARGS)
{
	Relation	index;
	EcpIndexState state;
	EcpDrift	drift;
	Datum		values[STATS_COLUMNS];
	bool		nulls[STATS_COLUMNS] = {0};
	BlockNumber nblocks;
	uint64		nfree;
	bool		empty;
	int			i = 0;

	index = ecp_user_index_open_monitored(fcinfo, &ecp_index_kind);
	if (index == NULL)
		return stats_not_valid(fcinfo, STATS_COLUMNS);
	ecp_meta_read_state(index, &state);
	empty = EcpIndexIsEmpty(&state);
	nblocks = stats_blocks(index, &nfree);
	ecp_drift_stored(index, &state, &drift);

	values[i++] = Int64GetDatum(state.meta.ecpm_nleaves);
	values[i++] = Int32GetDatum(empty ? 0 : state.meta.ecpm_root_level);
	nulls[i] = drift.nrows < 0;
	values[i++] = Int64GetDatum(drift.nrows);
	nulls[i] = drift.nrows < 0;
	values[i++] = Float8GetDatum(state.meta.ecpm_nleaves == 0 ? 0 :
								 (float8) drift.nrows / state.meta.ecpm_nleaves);
	values[i++] = Int64GetDatum(nblocks);
	values[i++] = Int64GetDatum(state.meta.ecpm_retired_pages);
	values[i++] = Int64GetDatum(nfree);
	values[i++] = Int64GetDatum(state.meta.ecpm_sversion);
	values[i++] = Int64GetDatum(state.meta.ecpm_nbuffers);
	i += stats_put_recall(&drift, values + i, nulls + i);
	i += stats_put_advice(&drift, values + i, nulls + i);
	Assert(i == STATS_COLUMNS);
	relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(ecp_user_row(fcinfo, STATS_COLUMNS, values, nulls));
}

/* ---- one pass ---- */

/* Add a leaf, and note its number of rows. */
static void
stats_add(EcpStats *stats, EcpLeafRef *ref, const EcpClusterSize *size)
{
	ref->child.ecpc_nrows = size->nlive;
	if (ref->is_buffer)
	{
		stats->nbuffers++;
		stats->nbuffered += size->nlive;
		return;
	}
	stats->smallest = stats->nclusters++ == 0 ? size->nlive :
		Min(stats->smallest, size->nlive);
	stats->largest = Max(stats->largest, size->nlive);
	stats->nrows += size->nlive;
	stats->nslots += size->nslots;
	stats->nruns += size->nruns;
	stats->npages += size->npages;
}

/* Read all leaves of an index, and measure its recall if it has rows. */
static void
stats_pass(Relation index, EcpIndexState *state, EcpStats *stats,
		   EcpDriftRecall **recall)
{
	EcpLeaves  *leaves = &stats->leaves;

	*recall = NULL;
	ecp_leaves_collect(index, state, leaves);
	if (leaves->n > 0)
		*recall = ecp_drift_recall_begin(index, state, leaves);
	for (int i = 0; i < leaves->n; i++)
	{
		EcpLeafRef *ref = &leaves->refs[i];
		uint32		nrows = 0;
		bool		counted = ecp_drift_recall_counted(*recall, &ref->child, &nrows);
		EcpClusterSize size;

		ecp_cluster_size(index, state, &ref->child, !counted, &size);
		if (counted)
			size.nlive = nrows;
		stats_add(stats, ref, &size);
	}
}

/* Share of the clusters with more than "low" and fewer than "high" rows. */
static float8
stats_share(const EcpStats *stats, float8 low, float8 high)
{
	uint32		n = 0;

	for (int i = 0; i < stats->leaves.n; i++)
	{
		const EcpLeafRef *ref = &stats->leaves.refs[i];

		if (!ref->is_buffer && ref->child.ecpc_nrows > low &&
			ref->child.ecpc_nrows < high)
			n++;
	}
	return stats->nclusters > 0 ? (float8) n / stats->nclusters : 0;
}

PG_FUNCTION_INFO_V1(ecp_index_drift);

/*
 * ecp_index_drift(index)
 *		What one pass over the index measures.
 */
Datum
ecp_index_drift(PG_FUNCTION_ARGS)
{
	Relation	index;
	EcpIndexState state;
	EcpStats	stats = {0};
	EcpDriftRecall *recall;
	EcpDrift	drift;
	Datum		values[DRIFT_COLUMNS];
	bool		nulls[DRIFT_COLUMNS] = {0};
	BlockNumber nblocks;
	uint64		nfree;
	float8		mean;
	int			i = 0;

	index = ecp_user_index_open_monitored(fcinfo, &ecp_index_kind);
	if (index == NULL)
		return stats_not_valid(fcinfo, DRIFT_COLUMNS);
	ecp_meta_read_state(index, &state);
	stats_pass(index, &state, &stats, &recall);
	nblocks = stats_blocks(index, &nfree);
	mean = stats.nclusters > 0 ? (float8) stats.nrows / stats.nclusters : 0;
	ecp_drift_measured(index, &state, &stats.leaves, recall, &drift);
	if (recall)
		ecp_drift_recall_end(recall);

	values[i++] = Int64GetDatum(stats.nclusters);
	values[i++] = Int32GetDatum(EcpIndexIsEmpty(&state) ? 0 :
								state.meta.ecpm_root_level);
	values[i++] = Int64GetDatum(stats.leaves.nnodes);
	values[i++] = Int64GetDatum(stats.nrows + stats.nbuffered);
	values[i++] = Float8GetDatum(mean);
	values[i++] = Int64GetDatum(stats.smallest);
	values[i++] = Int64GetDatum(stats.largest);
	values[i++] = Float8GetDatum(stats_share(&stats, -1, mean / 2));
	values[i++] = Float8GetDatum(stats_share(&stats, mean * 1.5,
											 get_float8_infinity()));
	values[i++] = Int64GetDatum(stats.nslots - stats.nrows);
	values[i++] = Int64GetDatum(stats.nruns - stats.nclusters);
	values[i++] = Int64GetDatum(stats.leaves.dead_leaders);
	values[i++] = Int64GetDatum(nblocks);
	values[i++] = Int64GetDatum(stats.npages);
	values[i++] = Int64GetDatum(stats.leaves.node_pages);
	values[i++] = Int64GetDatum(state.meta.ecpm_retired_pages);
	values[i++] = Int64GetDatum(nfree);
	values[i++] = Int64GetDatum(state.meta.ecpm_sversion);
	values[i++] = Int64GetDatum(stats.nbuffers);
	values[i++] = Int64GetDatum(stats.nbuffered);
	values[i++] = Int64GetDatum(drift.noverfull);
	values[i++] = Int64GetDatum(drift.nsplit);
	values[i++] = Float8GetDatum(drift.misassigned);
	i += stats_put_recall(&drift, values + i, nulls + i);
	nulls[i] = isnan(drift.expected);
	values[i] = Float8GetDatum(nulls[i] ? 0 :
							   Max(drift.target - drift.expected, 0));
	i++;
	i += stats_put_advice(&drift, values + i, nulls + i);
	Assert(i == DRIFT_COLUMNS);
	relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(ecp_user_row(fcinfo, DRIFT_COLUMNS, values, nulls));
}
