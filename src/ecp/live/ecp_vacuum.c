/*-------------------------------------------------------------------------
 *
 * ecp_vacuum.c
 *	  ambulkdelete and amvacuumcleanup.
 *
 * ambulkdelete holds the maintenance lock, so the structure does not change: no
 * row moves from a cluster that was not read yet to one that was.  Inserts go on
 * and use slots that need not be read.  All leaves of the current version are
 * read, then the leaves in the retired queue, which older scans still read;
 * every TID in them is passed to the callback, as CREATE INDEX CONCURRENTLY
 * requires.  A TID may be passed twice, which is harmless; only those of the
 * current version are counted.
 *
 * Each entry page is locked alone, without waiting for pins: index-only scans
 * check again that a row's entry is there (see README).  One record for each
 * page (KILL) removes the dead rows, whose slots inserts may use at once.
 *
 * amvacuumcleanup frees retired clusters, splits, folds and merges
 * (vacuum_maintain()), and gives back the end of the file (ecp_compact.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/stop_point.h"
#include "base/user_index.h"
#include "commands/vacuum.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * Recall is measured anew when this share of the rows has come or gone since it was
 * measured, or of the clusters was written anew now, and for the first time in an
 * index that is not small enough to be read whole.
 */
#define VACUUM_MEASURE_CHANGE	0.1
#define VACUUM_MEASURE_WRITTEN	0.25
#define VACUUM_MEASURE_CLUSTERS	8
#define VACUUM_MEASURE_SECONDS	2

/*
 * When this share of the rows has come or gone, leaders are trained where that has
 * split clusters at all: an index of old leaders for other rows takes several times the
 * clusters for its recall.
 */
#define VACUUM_TRAIN_CHANGE		0.3

typedef struct EcpVacuum
{
	Relation	index;
	EcpIndexState state;
	BufferAccessStrategy strategy;
	IndexBulkDeleteResult *stats;
	IndexBulkDeleteCallback callback;
	void	   *callback_state;
	bool		counting;		/* current version, not retired */
} EcpVacuum;

/*
 * Remove the rows of one entry page that the callback says are dead.  Returns
 * false if there are none.
 */
static bool
vacuum_page(EcpVacuum *vacuum, const EcpRun *run, uint32 pageno)
{
	const EcpGeometry *geo = &vacuum->state.leaf;
	BlockNumber blk = run->blk + pageno;
	uint32		nslots = Min(geo->slots,
							 run->header.ecpr_nslots - pageno * geo->slots);
	uint64		keep[BLCKSZ / sizeof(ItemPointerData) / 64 + 1];
	Buffer		buffer;
	EcpEntryView view;
	int			killed = 0;

	if (!ecp_page_exists(vacuum->index, blk))
		ecp_report_corrupt(vacuum->index, blk,
						   "A reference to a block is invalid.");
	buffer = ReadBufferExtended(vacuum->index, MAIN_FORKNUM, blk, RBM_NORMAL,
								vacuum->strategy);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!ecp_page_check_run(vacuum->index, buffer, ECP_PAGE_ENTRY, run->run,
							pageno))
		ecp_report_moved(vacuum->index, blk);
	ecp_entry_check_lower(vacuum->index, buffer, geo);
	ecp_entry_view(BufferGetPage(buffer), geo, 0, &view);
	memset(keep, 0xFF, sizeof(keep));
	for (uint32 slot = 0; slot < nslots; slot++)
	{
		if (!EcpSlotIsLive(&view, slot))
			continue;
		if (!ItemPointerIsValid(&view.tids[slot]))
			ecp_report_corrupt(vacuum->index, blk,
							   "A live slot has no valid TID.");
		if (vacuum->callback(&view.tids[slot], vacuum->callback_state))
		{
			keep[slot / 64] &= ~(UINT64CONST(1) << (slot % 64));
			killed++;
		}
		else if (vacuum->counting)
			vacuum->stats->num_index_tuples += 1;
	}
	if (killed > 0)
	{
		ecp_xlog_kill(vacuum->index, buffer, geo, keep);
		if (vacuum->counting)
			vacuum->stats->tuples_removed += killed;
	}
	UnlockReleaseBuffer(buffer);
	return killed > 0;
}

/* All pages of a leaf. */
static void
vacuum_leaf(EcpVacuum *vacuum, BlockNumber blk, uint64 run_id)
{
	EcpRun	   *runs;
	int			nruns;

	nruns = ecp_cluster_runs(vacuum->index, &vacuum->state, 0, blk, run_id,
							 InvalidBuffer, &runs);
	for (int r = 0; r < nruns; r++)
	{
		uint32		hint = PG_UINT32_MAX;
		Buffer		page0;

		for (uint32 p = 0; p < runs[r].header.ecpr_hw_page; p++)
		{
			ecp_vacuum_delay_point();
			if (vacuum_page(vacuum, &runs[r], p))
			{
				hint = Min(hint, p);
				ECP_STOP_POINT("vacuum-kill");
			}
		}
		if (hint == PG_UINT32_MAX)
			continue;
		page0 = ecp_run_lock(vacuum->index, runs[r].blk, runs[r].run);
		ecp_xlog_hint(vacuum->index, page0, hint);
		UnlockReleaseBuffer(page0);
		ECP_STOP_POINT("vacuum-hint");
	}
	pfree(runs);
}

/* All leaves of the present version. */
static void
vacuum_present(EcpVacuum *vacuum)
{
	EcpLeaves	leaves;

	vacuum->counting = true;
	ecp_leaves_collect(vacuum->index, &vacuum->state, &leaves);
	for (int i = 0; i < leaves.n; i++)
		vacuum_leaf(vacuum, leaves.refs[i].child.ecpc_blk,
					leaves.refs[i].child.ecpc_run);
	pfree(leaves.refs);
}

static void
vacuum_retired(EcpVacuum *vacuum)
{
	EcpRetiredWalk walk;
	EcpRun		head;

	vacuum->counting = false;
	ecp_cluster_retired_begin(&vacuum->state, &walk);
	while (ecp_cluster_retired_next(vacuum->index, &vacuum->state, &walk, &head))
	{
		ecp_vacuum_delay_point();
		if (head.header.ecpr_level == 0)
			vacuum_leaf(vacuum, head.blk, head.run);
	}
}

/*
 * Pass every TID of the index to the callback, and remove those that it says are
 * dead.
 */
IndexBulkDeleteResult *
ecpbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
			  IndexBulkDeleteCallback callback, void *callback_state)
{
	MemoryContext context;
	MemoryContext old_context;
	EcpVacuum  *vacuum;

	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	/* a second pass of the same VACUUM counts the remaining rows again */
	stats->num_index_tuples = 0;
	stats->estimated_count = false;

	context = AllocSetContextCreate(CurrentMemoryContext, "ecp vacuum",
									ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(context);
	vacuum = palloc0(sizeof(EcpVacuum));
	vacuum->index = info->index;
	vacuum->strategy = info->strategy;
	vacuum->stats = stats;
	vacuum->callback = callback;
	vacuum->callback_state = callback_state;

	ecp_maintain_lock_take(info->index);
	ecp_replace_undo(info->index);
	ecp_meta_read_state(info->index, &vacuum->state);
	vacuum_present(vacuum);
	vacuum_retired(vacuum);
	ecp_maintain_lock_release(info->index);

	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(context);
	return stats;
}

/* An IndexBulkDeleteCallback that lets all rows be counted. */
static bool
vacuum_keep(ItemPointer tid, void *state)
{
	return false;
}

/* Has so much changed, with the rows removed just now, that leaders should, too? */
static bool
vacuum_has_changed(Relation index, const IndexBulkDeleteResult *stats)
{
	EcpIndexState state;
	EcpRecallCurveData *data = &state.meta.ecpm_curve;

	ecp_meta_read_state(index, &state);
	data->ecpm_removed += stats->tuples_removed;
	return data->ecpm_queries > 0 &&
		ecp_recall_curve_change(data, stats->num_index_tuples) >= VACUUM_TRAIN_CHANGE;
}

/* Is what recall costs to be measured, and does that help? */
static bool
vacuum_measure_is_due(const EcpMetaPageData *meta, double rows,
					  const EcpMaintainCounts *counts)
{
	bool		measured = meta->ecpm_curve.ecpm_queries > 0;

	if (rows == 0 || meta->ecpm_nleaves < (measured ? 2 : VACUUM_MEASURE_CLUSTERS))
		return false;
	return counts->regrouped >= VACUUM_MEASURE_WRITTEN * meta->ecpm_nleaves ||
		(rows != ECP_ROWS_UNKNOWN &&
		 ecp_recall_curve_change(&meta->ecpm_curve, rows) >= VACUUM_MEASURE_CHANGE);
}

/*
 * Measure what recall costs if the index has become another since that was
 * done, or if it was never done.
 *
 * "rows" are in it now, "removed" were just removed, and "counts" says what was
 * written anew.  Removed rows that do not yet call for a measurement add up.
 * Splits wait meanwhile, some seconds.
 */
static void
vacuum_measure(Relation index, double rows, double removed,
			   const EcpMaintainCounts *counts)
{
	EcpIndexState state;
	EcpRecallCurveData *data = &state.meta.ecpm_curve;

	ecp_maintain_lock_take(index);
	ecp_meta_read_state(index, &state);
	data->ecpm_removed += removed;
	if (!vacuum_measure_is_due(&state.meta, rows, counts))
	{
		if (removed > 0 && data->ecpm_queries > 0)
			ecp_recall_curve_store(index, &state.meta);
	}
	else if (!ecp_recall_curve_measure(index, &state, false, rows,
									   VACUUM_MEASURE_SECONDS) &&
			 data->ecpm_queries > 0)
	{
		ecp_recall_curve_store(index, &state.meta);
		ereport(WARNING,
				(errmsg("recall of index \"%s\" could not be measured in time after many of its rows have changed",
						RelationGetRelationName(index)),
				 errdetail("Searches may find less than their recall target."),
				 errhint("Run ecp_recall() with store => true, or VACUUM when the server has less to do.")));
	}
	ecp_maintain_lock_release(index);
}

/* ---- maintenance of a whole index: VACUUM's cleanup, and ecp_maintain() ---- */

PGDLLEXPORT Datum ecp_maintain(PG_FUNCTION_ARGS);

/*
 * Undo, stamp, purge, flush, split, fold, merge, regroup, compact.
 *
 * Waits for the maintenance lock.  VACUUM frees retired pages only if they are
 * many, then waits for snapshots a while, and trains leaders only where the index
 * has grown much; "thorough" frees all that it can at once.  "train" trains where
 * it has grown at all.
 */
static void
vacuum_maintain(Relation index, Relation heap, bool thorough, bool train,
				EcpMaintainCounts *counts)
{
	ecp_maintain_lock_take(index);
	ecp_replace_undo(index);
	ecp_purge_stamp(index);
	counts->purged_pages += ecp_purge(index, heap,
									  thorough ? ECP_PURGE_FEW | ECP_PURGE_NOW : 0);
	if (thorough || ecp_options_get(index).buffer_rows == 0)
		ecp_insbuf_flush_all(index, counts);
	ecp_regroup_shrunk(index, heap, counts);
	ecp_maintain_leaves(index, counts);
	ecp_regroup_train(index, heap, train, thorough, counts);
	if (!train)
		ecp_regroup_around_splits(index, counts);
	counts->purged_pages += ecp_purge(index, heap, ECP_PURGE_NOW |
									  (thorough ? 0 : ECP_PURGE_WAIT));
	ecp_compact(index, heap, thorough, counts);
	ecp_maintain_lock_release(index);
}

PG_FUNCTION_INFO_V1(ecp_maintain);

/*
 * ecp_maintain(index regclass): what VACUUM does for the index besides removing
 * rows, thoroughly.
 */
Datum
ecp_maintain(PG_FUNCTION_ARGS)
{
	EcpMaintainCounts counts = {0};
	EcpUserIndex user;
	Datum		values[6];
	bool		nulls[6] = {0};

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("Indexes cannot be maintained during recovery.")));

	ecp_user_index_begin(&user, fcinfo, ShareUpdateExclusiveLock,
						 &ecp_index_kind);
	vacuum_maintain(user.index, user.heap, true, true, &counts);
	vacuum_measure(user.index, ECP_ROWS_UNKNOWN, 0, &counts);
	ecp_compact_truncate(user.index, DEBUG1, true);
	ecp_user_index_end(&user);

	values[0] = Int64GetDatum(counts.splits);
	values[1] = Int64GetDatum(counts.folds);
	values[2] = Int64GetDatum(counts.merges);
	values[3] = Int64GetDatum(counts.drops);
	values[4] = Int64GetDatum(counts.regrouped);
	values[5] = Int64GetDatum(counts.purged_pages);
	PG_RETURN_DATUM(ecp_user_row(fcinfo, lengthof(values), values, nulls));
}

IndexBulkDeleteResult *
ecpvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	EcpMaintainCounts counts = {0};

	if (info->analyze_only)
		return stats;
	/* nothing was deleted: rows without a vector, say, are not in the index */
	if (stats == NULL && info->num_heap_tuples != info->index->rd_rel->reltuples)
		stats = ecpbulkdelete(info, NULL, vacuum_keep, NULL);
	else if (stats == NULL)
	{
		stats = palloc0(sizeof(IndexBulkDeleteResult));
		stats->num_index_tuples = info->num_heap_tuples;
		stats->estimated_count = true;
	}

	vacuum_maintain(info->index, ecp_vacuum_heap(info), false,
					vacuum_has_changed(info->index, stats), &counts);
	vacuum_measure(info->index, stats->num_index_tuples,
				   stats->tuples_removed, &counts);
	ecp_compact_truncate(info->index, info->message_level, false);
	stats->num_pages = RelationGetNumberOfBlocks(info->index);
	stats->pages_free = stats->num_pages -
		Min(stats->num_pages, ecp_space_count_used(info->index));
	stats->pages_newly_deleted += counts.purged_pages;
	ereport(info->message_level,
			(errmsg_internal("index \"%s\": %u clusters split, %u rewritten, %u merged, %u dropped, %u regrouped; %u pages freed",
							 RelationGetRelationName(info->index),
							 counts.splits, counts.folds, counts.merges,
							 counts.drops, counts.regrouped,
							 counts.purged_pages)));
	return stats;
}
