/*-------------------------------------------------------------------------
 *
 * ecp_target.c
 *	  SEARCH: from a target of recall to a number of probes.
 *
 * The target is ecp.target_recall or, if that is 0, the index's storage
 * parameter.  What reaches it was measured by ecp_calibrate.c or
 * ecp_recall(), and is a curve in the metapage; between its points the
 * logarithm of the share of rows missed falls about linearly with that of the
 * number of probes.  An index that has grown since needs more of them, about
 * with the square root of the number of clusters.
 *
 * Without a curve (an index that was created empty) there is a rule, of sets
 * that were measured.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "ecp/ecp_target.h"

/* Probes grow with this power of one over the share missed. */
#define TARGET_POWER		0.5

/* How probes grow as fewer rows pass, and rows to see then */
#define ECP_FILTER_POWER		0.25
#define ECP_FILTER_ROWS			100

/*
 * Measured at about 128 rows a cluster: a recall@10 of 0.95 takes 18 probes
 * of 203 clusters (SIFT), 25 of 496 (sentence embeddings; images only 6) and
 * 57 of 3,988 (SIFT).  For more clusters than that the trials say that
 * probes grow as their square root.
 */
double
ecp_target_rule_probes(uint32 nleaves)
{
	double		nclusters = Max(nleaves, 1);

	return Max(2.1 * pow(nclusters, 0.4), 0.92 * sqrt(nclusters));
}

/* The rule for any target; random leaders need more probes. */
static double
target_rule(const EcpMetaPageData *meta, double target)
{
	double		probes = ecp_target_rule_probes(meta->ecpm_nleaves);

	if (meta->ecpm_leaders == ECP_LEADERS_RANDOM)
		probes *= 1.7;
	return probes * pow(0.05 / (1 - target), TARGET_POWER);
}

float8
ecp_target_recall_of(Relation index)
{
	return ecp_target_recall > 0 ? ecp_target_recall :
		ecp_options_get(index).target_recall;
}

/* Fill in the plan for a target from the curve. */
static void
target_from_curve(const EcpMetaPageData *meta, double target,
				  EcpScanPlan *plan)
{
	const EcpRecallPointData *points = meta->ecpm_recall;
	int			n = meta->ecpm_recall_points;
	double		growth = 1;
	double		probes;
	int			i = 0;

	while (i < n && points[i].ecpm_recall < target)
		i++;
	if (i == n)
	{
		/* above all that was measured */
		const EcpRecallPointData *last = &points[n - 1];
		double		missed = Max(1 - last->ecpm_recall, 1e-4);

		probes = last->ecpm_probes *
			pow(missed / Max(1 - target, 1e-6), TARGET_POWER);
		plan->slack = get_float4_infinity();
	}
	else if (i == 0)
	{
		probes = points[0].ecpm_probes;
		plan->slack = points[0].ecpm_slack;
	}
	else
	{
		const EcpRecallPointData *a = &points[i - 1];
		const EcpRecallPointData *b = &points[i];
		double		low = log(Max(1 - a->ecpm_recall, 1e-6));
		double		share = (low - log(Max(1 - target, 1e-6))) /
			(low - log(Max(1 - b->ecpm_recall, 1e-6)));

		share = Min(share, 1);
		probes = exp((1 - share) * log(a->ecpm_probes) +
					 share * log(b->ecpm_probes));
		plan->slack = isinf(a->ecpm_slack) ? a->ecpm_slack :
			(1 - share) * a->ecpm_slack + share * b->ecpm_slack;
	}
	if (meta->ecpm_recall_leaves > 0)
		growth = sqrt((double) meta->ecpm_nleaves / meta->ecpm_recall_leaves);
	plan->probes = (int) Min(ceil(probes * Max(growth, 1)), ECP_PROBES_MAX);
	plan->early = ecp_early_stop && !isinf(plan->slack);
}

/* What a search of the index reads, by its settings. */
void
ecp_scan_plan(Relation index, const EcpMetaPageData *meta, EcpScanPlan *plan)
{
	double		target;

	memset(plan, 0, sizeof(EcpScanPlan));
	if (ecp_probes > 0)
	{
		plan->probes = ecp_probes;
		return;
	}
	target = ecp_target_recall_of(index);
	if (meta->ecpm_recall_points > 0 && target < 1)
		target_from_curve(meta, target, plan);
	else if (target < 1)
		plan->probes = (int) Min(ceil(target_rule(meta, target)),
								 meta->ecpm_nleaves);
	else
		plan->probes = meta->ecpm_nleaves;
	plan->probes = Min(Max(plan->probes, 1), Max(meta->ecpm_nleaves, 1));
	plan->least = EcpTargetLeast(plan->probes);
	plan->most = Min(EcpTargetMost(plan->probes), Max(meta->ecpm_nleaves, 1));
}

/* The number of probes of that plan. */
int
ecp_default_probes(Relation index, const EcpMetaPageData *meta)
{
	EcpScanPlan plan;

	ecp_scan_plan(index, meta, &plan);
	return plan.probes;
}

/*
 * Clusters that the first window has to have when a share of the rows passes
 * the conditions.
 *
 * The k nearest of these are about the k / share nearest of all, and those
 * are spread over a few more clusters than the k nearest; measured, with 200
 * thousand SIFT vectors: 1.2 times as many for one row in ten, 1.6 times for
 * one in a hundred.  We take a little more.  When hardly a row passes, what
 * matters is that enough of them are seen before the first is returned.
 */
double
ecp_filter_probes(double probes, double share, double cluster_rows)
{
	double		passed = Max(cluster_rows * share, 1e-9);

	probes /= pow(Max(share, 1e-9), ECP_FILTER_POWER);
	return ceil(Max(probes, ECP_FILTER_ROWS / passed));
}
