/*-------------------------------------------------------------------------
 *
 * ecp_drift.c
 *	  How inserts and deletes have changed an index since it was built, and what
 *	  to do about it.
 *
 * Clusters may grow faster than they are split; splits make leaders elsewhere
 * than a build would; rows can stay with a leader that is no longer the nearest;
 * and the recall curve (ecp_recall_curve.c) was measured before all this.  The
 * first three are counted.  Their cost is measured: random rows of the index
 * are searched for, and the neighbours that a search by the present settings
 * finds are compared with those found in many more clusters.
 *
 * The advice is the first thing to do, since each changes the other figures.
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
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/search/ecp_target.h"
#include "utils/float.h"

/* Rows that are searched for, and seconds that this should take. */
#define DRIFT_QUERIES			256
#define DRIFT_SECONDS			5

/* Rows whose leaders are checked. */
#define DRIFT_PLACES			1000

/* Shares above which something should be done. */
#define DRIFT_OVERFULL			0.02
#define DRIFT_SPLIT				0.1
#define DRIFT_MISASSIGNED			0.5
#define DRIFT_RECALL			0.01
#define DRIFT_ROWS				0.5

/* The present recall of searches for rows of the index; NaN if not known. */
static double
drift_recall(Relation index, EcpIndexState *state)
{
	EcpRecallCurve *curve = ecp_recall_curve_begin(index, state, DRIFT_QUERIES);
	EcpScanPlan plan;
	double		recall;

	if (curve == NULL)
		return get_float8_nan();
	ecp_target_plan(index, &state->meta, ECP_TARGET_K, &plan);
	ecp_recall_curve_rows(curve, DRIFT_QUERIES, DRIFT_SECONDS);
	recall = ecp_recall_curve_at(curve, &plan);
	ecp_recall_curve_end(curve);
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
		return "VACUUM: more than half of the pages are free";
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
 * Measure the drift of an index.  "leaves" are all its clusters with their
 * present numbers of rows, "nbuffered" the rows in insert buffers; "wasteful"
 * says that most of its pages are free.
 */
void
ecp_drift_measure(Relation index, EcpIndexState *state,
				  const EcpChildData *leaves, uint32 nleaves,
				  int64 nbuffered, bool wasteful, EcpDrift *drift)
{
	const EcpMetaPageData *meta = &state->meta;
	uint32		limit;

	Assert(nleaves == 0 || leaves != NULL);
	Assert(nbuffered >= 0);
	memset(drift, 0, sizeof(EcpDrift));
	drift->target = ecp_target_recall_of(index);
	drift->expected = get_float8_nan();
	if (meta->ecpm_curve.ecpm_queries > 0)
	{
		drift->measured = meta->ecpm_curve.ecpm_time;
		drift->rows_then = meta->ecpm_curve.ecpm_tuples;
	}
	if (EcpIndexIsEmpty(state))
		return;

	drift->nrows = nbuffered;
	limit = ecp_limits_leaf_rows(state);
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
	drift->misassigned = ecp_regroup_misassigned(index, state, DRIFT_PLACES);
	drift->expected = drift_recall(index, state);
	drift->advice = drift_advice(state, nleaves, wasteful, drift);
}
