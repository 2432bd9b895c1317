/*-------------------------------------------------------------------------
 *
 * ecp_drift.c
 *	  How inserts and deletes have changed an index since it was built, and what
 *	  to do about it.
 *
 * Clusters may grow faster than they are split; splits make leaders elsewhere
 * than a build would; rows can stay with a leader that is no longer the nearest;
 * and the recall curve (ecp_recall_curve.c) was measured before all this.
 *
 * ecp_drift_stored() tells what follows from the numbers of rows and clusters
 * then and now, and from the curve.  ecp_drift_measured() counts the first three
 * in a pass over the index, and measures recall there (ecp_drift_recall.c).
 *
 * The advice is the first thing to do, since each changes the other figures.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/look/ecp_look.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/search/ecp_stop.h"
#include "utils/float.h"

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

void
ecp_drift_stored(Relation index, const EcpIndexState *state, EcpDrift *drift)
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

void
ecp_drift_measured(Relation index, const EcpIndexState *state,
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
