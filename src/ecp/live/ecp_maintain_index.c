/*-------------------------------------------------------------------------
 *
 * ecp_maintain_index.c
 *	  Maintenance of a whole index: VACUUM's cleanup, and ecp_maintain().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "base/user_index.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"

PGDLLEXPORT Datum ecp_maintain(PG_FUNCTION_ARGS);

/*
 * ecp_maintain_index
 *		Undo, stamp, purge, flush, split, fold, merge, regroup, compact.
 *
 * Waits for the maintenance lock.  VACUUM frees retired pages only if they are
 * many, then waits for snapshots a while, and trains leaders only where the index
 * has grown much; "thorough" frees all that it can at once.  "train" trains where
 * it has grown at all.
 */
void
ecp_maintain_index(Relation index, Relation heap, bool thorough, bool train,
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

/* ---- SQL ---- */

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
	ecp_maintain_index(user.index, user.heap, true, true, &counts);
	ecp_vacuum_measure(user.index, ECP_ROWS_UNKNOWN, 0, &counts);
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
