/*-------------------------------------------------------------------------
 *
 * ecp_drift.c
 *	  What has become of an index since it was built, and what to do about it.
 *
 * Rows that come and go leave their marks: clusters that grow faster than they
 * are split, leaders that were made by splits where others would stand if the
 * rows had been there from the start, rows that stay with a leader that is no
 * longer the nearest, and a recall curve (ecp_recall_curve.c) that was measured
 * on another index.  The first three are counted.  What they cost is measured:
 * rows of the index, chosen at random, are searched for, and what a search by
 * the present settings would have found of their neighbours is compared with
 * what many more clusters have.
 *
 * The advice names the first thing to be done; each makes the next one look
 * different.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "ecp/define/ecp_options.h"
#include "ecp/live/ecp_limits.h"
#include "ecp/live/ecp_regroup.h"
#include "ecp/look/ecp_drift.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_target.h"




/* Rows that are searched for, and the seconds that half of them may take. */
#define DRIFT_QUERIES			256
#define DRIFT_SECONDS			5

/* Rows whose leaders are looked at. */
#define DRIFT_PLACES			1000

/* Shares that call for something to be done. */
#define DRIFT_OVERFULL			0.02
#define DRIFT_SPLIT				0.1
#define DRIFT_MISASSIGNED			0.5
#define DRIFT_RECALL			0.01
#define DRIFT_ROWS				0.5

/* What searches find now, of rows of the index; NaN if that is not known. */
static double
drift_recall(Relation index, EcpIndexState *state, const EcpChildData *leaves,
			 uint32 nleaves)
{
	EcpRecallCurve *cal = ecp_recall_curve_begin(index, state, DRIFT_QUERIES);
	EcpScanPlan plan;
	double		recall;

	if (cal == NULL)
		return get_float8_nan();
	ecp_scan_plan(index, &state->meta, &plan);
	ecp_recall_curve_sample(cal, leaves, nleaves, DRIFT_SECONDS);
	recall = ecp_recall_curve_at(cal, &plan);
	ecp_recall_curve_end(cal);
	return recall;
}

static const char *
drift_advice(const EcpIndexState *state, uint32 nleaves, bool wasteful,
			 const EcpDrift *drift)
{
	double		rows = drift->nrows;

	if (drift->noverfull > DRIFT_OVERFULL * nleaves)
		return psprintf("run ecp_maintain(): %u of %u clusters are overfull",
						drift->noverfull, nleaves);
	if (drift->nsplit > DRIFT_SPLIT * nleaves)
		return psprintf("run ecp_maintain(): %u of %u clusters were made by splits",
						drift->nsplit, nleaves);
	if (drift->misassigned > DRIFT_MISASSIGNED)
		return psprintf("REINDEX: %.0f %% of the rows are nearer to another cluster",
						100 * drift->misassigned);
	if (wasteful)
		return "REINDEX: more than half of the pages are free";
	if (isnan(drift->expected))
		return NULL;
	if (ecp_probes > 0)
		return drift->expected >= drift->target - DRIFT_RECALL ? NULL :
			psprintf("reset ecp.probes: a recall of %.3f is expected with it",
					 drift->expected);
	if (drift->measured == 0)
		return "run ecp_recall(store => true): recall was not measured yet";
	if (drift->expected < drift->target - DRIFT_RECALL)
		return psprintf("run ecp_recall(store => true): a recall of %.3f is expected now",
						drift->expected);
	if (fabs(rows - drift->rows_then) > DRIFT_ROWS * drift->rows_then)
		return psprintf("run ecp_recall(store => true): recall was measured with %.0f rows",
						drift->rows_then);
	return NULL;
}

/*
 * Measure the drift of an index, all of whose leaves are given with their
 * numbers of rows, and "nbuffered" more rows wait in buffers; "wasteful" says
 * that most of its pages are free.
 */
void
ecp_drift_measure(Relation index, EcpIndexState *state,
				  const EcpChildData *leaves, uint32 nleaves,
				  int64 nbuffered, bool wasteful, EcpDrift *drift)
{
	const EcpMetaPageData *meta = &state->meta;
	uint32		limit;

	memset(drift, 0, sizeof(EcpDrift));
	drift->target = ecp_target_recall_of(index);
	drift->expected = get_float8_nan();
	if (meta->ecpm_recall_points > 0)
	{
		drift->measured = meta->ecpm_recall_time;
		drift->rows_then = meta->ecpm_recall_tuples;
	}
	if (EcpIndexIsEmpty(state))
		return;

	drift->nrows = nbuffered;
	limit = ecp_leaf_limit(state);
	for (uint32 i = 0; i < nleaves; i++)
	{
		drift->nrows += leaves[i].ecpc_nrows;
		if (leaves[i].ecpc_nrows > limit)
			drift->noverfull++;
		if (meta->ecpm_root_level > 0 &&
			(leaves[i].ecpc_flags & ECP_CHILD_TRAINED) == 0)
			drift->nsplit++;
	}
	if (drift->nrows == 0)
		return;
	drift->misassigned = ecp_misassigned_share(index, state, DRIFT_PLACES);
	drift->expected = drift_recall(index, state, leaves, nleaves);
	drift->advice = drift_advice(state, nleaves, wasteful, drift);
}
