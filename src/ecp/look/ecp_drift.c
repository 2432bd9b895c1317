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

/*
 * Rows are searched for until recall is known to about twice this error, but no
 * more rows than this, and for about these seconds.
 */
#define DRIFT_ERROR				0.005
#define DRIFT_QUERIES			2048
#define DRIFT_SECONDS			5

/* Rows whose leaders are checked. */
#define DRIFT_PLACES			1000

/* Shares above which something should be done. */
#define DRIFT_OVERFULL			0.02
#define DRIFT_SPLIT				0.1
#define DRIFT_MISASSIGNED			0.5
#define DRIFT_RECALL			0.01
#define DRIFT_ROWS				0.5

/*
 * Measure the present recall of searches for rows of the index: for the usual
 * number, and the k for which it is farthest below the target.
 */
static void
drift_recall(Relation index, EcpIndexState *state, EcpDrift *drift)
{
	EcpRecallCurve *curve = ecp_recall_curve_begin(index, state, DRIFT_QUERIES);
	EcpScanPlan plan;

	if (curve == NULL)
		return;
	ecp_target_plan(index, &state->meta, ECP_TARGET_K, &plan);
	ecp_recall_curve_rows(curve, &plan, DRIFT_ERROR, DRIFT_SECONDS);
	drift->lowest = get_float8_infinity();
	for (int i = 0, k = 1; i < ECP_CURVE_KS; i++, k *= 10)
	{
		double		recall;
		double		error;

		ecp_target_plan(index, &state->meta, k, &plan);
		recall = ecp_recall_curve_at(curve, &plan, &error);
		if (k == ECP_TARGET_K)
			drift->expected = recall;
		else
			recall += error;
		if (recall < drift->lowest)
		{
			drift->lowest = recall;
			drift->lowest_k = k;
		}
	}
	ecp_recall_curve_end(curve);
}

/* What to do about recall, which is known. */
static const char *
drift_advice_recall(Relation index, const EcpIndexState *state,
					const EcpDrift *drift)
{
	double		rows = drift->nrows;
	EcpTargetShare share;

	if (ecp_probes > 0)
		return drift->expected >= drift->target - DRIFT_RECALL ? NULL :
			psprintf("reset ecp.probes: a recall of %.3f is expected with it",
					 drift->expected);
	if (drift->measured == 0)
		return "run ecp_recall(store => true): recall was not measured yet";
	if (drift->lowest < drift->target - DRIFT_RECALL)
		return psprintf(rows == drift->rows_then ?
						"raise target_recall: a recall at %d of %.3f is expected" :
						"run ecp_recall(store => true): a recall at %d of %.3f is expected now",
						drift->lowest_k, drift->lowest);
	if (fabs(rows - drift->rows_then) > DRIFT_ROWS * drift->rows_then)
		return psprintf("run ecp_recall(store => true): recall was measured with %.0f rows",
						drift->rows_then);
	if (ecp_target_takes_much(index, &state->meta, &share))
		return psprintf("set target_recall to %g or less: %g takes %.0f %% of the clusters, %g takes %.0f %%",
						share.lower, share.target, 100 * share.share,
						share.lower, 100 * share.lower_share);
	return NULL;
}

static const char *
drift_advice(Relation index, const EcpIndexState *state, uint32 nleaves,
			 bool wasteful, const EcpDrift *drift)
{
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
	return drift_advice_recall(index, state, drift);
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
	drift_recall(index, state, drift);
	drift->advice = drift_advice(index, state, nleaves, wasteful, drift);
}
