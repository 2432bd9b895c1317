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
 * the index has changed since it was built.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "base/user_index.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/look/ecp_look.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/search/ecp_stop.h"
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

/* What inserts and deletes have changed. */
typedef struct EcpDrift
{
	int64		nrows;			/* -1 = not known */
	uint32		noverfull;		/* clusters that should be split */
	uint32		nsplit;			/* clusters made by splits */
	double		misassigned;	/* share of rows; statistic I11 */
	TimestampTz measured;		/* the recall curve; 0 = there is none */
	double		rows_then;
	double		change;			/* since then; see ecp_recall_curve_change() */
	double		target;			/* recall */
	double		expected;		/* recall; NaN = not known */
	double		lowest;			/* if known: that at the k with the lowest, */
	int			lowest_k;		/* within its error, and which that is */
	const char *advice;			/* NULL = nothing to do */
} EcpDrift;

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

/* ---- drift: how inserts and deletes have changed an index since it was built ---- */

/*
 * Clusters may grow faster than they are split; splits make leaders elsewhere
 * than a build would; rows can stay with a leader that is no longer the nearest;
 * and the recall curve (ecp_recall_curve.c) was measured before all this.
 *
 * drift_stored() tells what follows from the numbers of rows and clusters
 * then and now, and from the curve.  drift_measured() counts the first three
 * in a pass over the index, and measures recall there (ecp_drift_recall.c).
 *
 * The advice is the first thing to do, since each changes the other figures.
 */

/* Shares above which something should be done. */
#define DRIFT_OVERFULL			0.02
#define DRIFT_SPLIT				0.1
#define DRIFT_MISASSIGNED		0.5
#define DRIFT_RECALL			0.01
#define DRIFT_ROWS				1.0
#define DRIFT_CLUSTERS			2.0 /* times */

/* Times the pages of a fresh index that are too many, and more of them that are. */
#define DRIFT_PAGES				1.25
#define DRIFT_PAGES_MIN			16

/* Note the recall for k rows, which has this standard error. */
static void
drift_note_recall(EcpDrift *drift, int k, double recall, double error)
{
	if (k == ECP_TARGET_K)
		drift->expected = recall;
	recall += 2 * error;
	if (recall < drift->lowest)
	{
		drift->lowest = recall;
		drift->lowest_k = k;
	}
}

/* What to do about the numbers of rows and clusters, and the target. */
static const char *
drift_advice_curve(Relation index, const EcpMetaPageData *meta,
				   const EcpDrift *drift)
{
	double		nleaves = meta->ecpm_nleaves;
	double		leaves_then = meta->ecpm_curve.ecpm_leaves;
	EcpTargetShare share;

	if (drift->nrows >= 0 && drift->change > DRIFT_ROWS)
		return psprintf("run ecp_recall(store => true): recall was measured with %.0f rows",
						drift->rows_then);
	if (Max(nleaves, leaves_then) > DRIFT_CLUSTERS * Min(nleaves, leaves_then))
		return psprintf("run ecp_recall(store => true): recall was measured with %.0f clusters",
						leaves_then);
	if (ecp_target_takes_much(index, meta, &share))
		return psprintf("set target_recall to %g or less: %g takes %.0f %% of the clusters, %g takes %.0f %%",
						share.lower, share.target, 100 * share.share,
						share.lower, 100 * share.lower_share);
	return NULL;
}

/* Pages of a run for n rows or children, if it ends in the middle of a page. */
static double
drift_run_pages(const EcpGeometry *geo, double n)
{
	double		pages = Max(n / geo->slots + 0.5, 1);

	if (geo->stream)
		pages += n * geo->vec_bytes / ECP_PAYLOAD_BYTES + 0.5;
	if (geo->summary_bytes > 0)
		pages += n / geo->summary_slots + 0.5;
	return pages;
}

/* What to do about free pages and free slots, of so many pages. */
static const char *
drift_advice_size(Relation index, const EcpIndexState *state,
				  const EcpDrift *drift, BlockNumber nblocks)
{
	const EcpMetaPageData *meta = &state->meta;
	double		nleaves = Min(meta->ecpm_nleaves,
							  DRIFT_PAGES * drift->nrows / meta->ecpm_leaf_target) + 1;
	double		pages;

	if (drift->nrows < 0)
		return NULL;
	pages = nleaves * drift_run_pages(&state->leaf, drift->nrows / nleaves) +
		drift_run_pages(&state->node, 1.5 * nleaves) +
		meta->ecpm_nbuffers *
		drift_run_pages(&state->leaf, ecp_insbuf_plan_slots(index, state));
	if (nblocks <= pages * DRIFT_PAGES + DRIFT_PAGES_MIN)
		return NULL;
	return psprintf("run ecp_maintain(), or REINDEX: about %.0f of %u pages would be enough",
					pages, nblocks);
}

/* What to do about recall. */
static const char *
drift_advice_recall(Relation index, const EcpIndexState *state, bool stored,
					const EcpDrift *drift)
{
	if (ecp_probes > 0)
		return !(drift->expected < drift->target - DRIFT_RECALL) ? NULL :
			psprintf("reset ecp.probes: a recall of %.3f is expected with it",
					 drift->expected);
	/* the rule is right for few clusters, and for what cannot be measured */
	if (!ecp_target_has_curve(&state->meta))
		return EcpRecallIsMeasured(state) &&
			state->meta.ecpm_nleaves >= 2 * ECP_TARGET_CLUSTERS ?
			"VACUUM: recall was not measured yet" : NULL;
	/* nor can it be measured with few rows */
	if (drift->nrows >= 0 && drift->nrows < ECP_RECALL_QUERIES_LEAST)
		return NULL;
	if (drift->lowest < drift->target - DRIFT_RECALL)
		return psprintf(stored || drift->nrows == drift->rows_then ?
						"raise target_recall: a recall at %d of %.3f is expected" :
						"run ecp_recall(store => true): a recall at %d of %.3f is expected now",
						drift->lowest_k, drift->lowest);
	return drift_advice_curve(index, &state->meta, drift);
}

/* Begin with what the metapage tells. */
static void
drift_init(Relation index, const EcpMetaPageData *meta, EcpDrift *drift)
{
	memset(drift, 0, sizeof(EcpDrift));
	drift->target = ecp_target_recall_of(index);
	drift->expected = get_float8_nan();
	drift->lowest = get_float8_infinity();
	if (meta->ecpm_curve.ecpm_queries > 0)
	{
		drift->measured = meta->ecpm_curve.ecpm_time;
		drift->rows_then = meta->ecpm_curve.ecpm_tuples;
	}
}

/* What the metapage and pg_class tell. */
static void
drift_stored(Relation index, const EcpIndexState *state, EcpDrift *drift)
{
	const EcpMetaPageData *meta = &state->meta;

	drift_init(index, meta, drift);
	/* pg_class knows less than the curve if an insert has measured it since */
	drift->nrows = EcpIndexIsEmpty(state) ? 0 :
		(int64) Max(index->rd_rel->reltuples,
					drift->rows_then - meta->ecpm_curve.ecpm_removed);
	if (drift->nrows == 0 && !EcpIndexIsEmpty(state))
		drift->nrows = -1;
	drift->change = ecp_recall_curve_change(&meta->ecpm_curve, drift->nrows);
	if (EcpIndexIsEmpty(state))
		return;
	for (int i = 0; i < ECP_CURVE_KS; i++)
		drift_note_recall(drift, ecp_target_ks[i],
						  ecp_target_expected(index, meta, i), 0);
	/* when the rows were counted, there were these pages */
	drift->advice = drift_advice_size(index, state, drift,
									  Min(index->rd_rel->relpages,
										  RelationGetNumberOfBlocks(index)));
	if (drift->advice == NULL)
		drift->advice = drift_advice_recall(index, state, true, drift);
}

/* ---- measured ---- */

static const char *
drift_advice(Relation index, const EcpIndexState *state, const EcpDrift *drift)
{
	uint32		nleaves = state->meta.ecpm_nleaves;
	const char *advice = drift_advice_size(index, state, drift,
										   RelationGetNumberOfBlocks(index));

	if (drift->noverfull > DRIFT_OVERFULL * nleaves)
		return psprintf("run ecp_maintain(): %u of %u clusters are overfull",
						drift->noverfull, nleaves);
	if (drift->nsplit > DRIFT_SPLIT * nleaves)
		return psprintf("run ecp_maintain(): %u of %u clusters were made by splits",
						drift->nsplit, nleaves);
	if (drift->misassigned > DRIFT_MISASSIGNED)
		return psprintf("REINDEX: %.0f %% of the rows are nearer to another cluster",
						100 * drift->misassigned);
	return advice ? advice : drift_advice_recall(index, state, false, drift);
}

/*
 * What a pass over all leaves tells, which have their present numbers of rows;
 * "recall" is NULL if there are none.
 */
static void
drift_measured(Relation index, const EcpIndexState *state,
			   const EcpLeaves *leaves, EcpDriftRecall *recall,
			   EcpDrift *drift)
{
	const EcpMetaPageData *meta = &state->meta;
	uint32		limit;

	Assert(leaves->n == 0 || recall != NULL);
	drift_init(index, meta, drift);
	if (EcpIndexIsEmpty(state))
		return;
	limit = ecp_limits_leaf_rows(state);
	for (int i = 0; i < leaves->n; i++)
	{
		const EcpLeafRef *ref = &leaves->refs[i];

		drift->nrows += ref->child.ecpc_nrows;
		if (ref->is_buffer)
			continue;
		if (ref->child.ecpc_nrows > limit)
			drift->noverfull++;
		if (meta->ecpm_root_level > 0 &&
			(ref->child.ecpc_flags & ECP_CHILD_TRAINED) == 0)
			drift->nsplit++;
	}
	if (drift->nrows == 0)
		return;
	drift->change = ecp_recall_curve_change(&meta->ecpm_curve, drift->nrows);
	drift->misassigned = ecp_drift_recall_misassigned(recall);
	for (int i = 0; i < ECP_CURVE_KS && ecp_target_ks[i] <= ECP_DRIFT_K_MOST; i++)
	{
		int			k = ecp_target_ks[i];
		double		error;
		double		found = ecp_drift_recall_at(recall, k, &error);

		drift_note_recall(drift, k, found, error);
	}
	drift->advice = drift_advice(index, state, drift);
}

/* ---- what is stored ---- */

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
	drift_stored(index, &state, &drift);

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
	drift_measured(index, &state, &stats.leaves, recall, &drift);
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
