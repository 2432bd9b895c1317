/*-------------------------------------------------------------------------
 *
 * ecp_target.c
 *	  SEARCH: from a target of recall to a number of probes.
 *
 * The target is ecp.target_recall or, if that is 0, the index's storage
 * parameter.  What reaches it was measured by ecp_recall_curve.c or
 * ecp_recall(), and is a curve in the metapage, of which the first point that
 * is not below the target is taken.  Beyond the last point, probes grow as a
 * power of the share of rows that may be missed.  If the index has grown since,
 * probes grow with the square root of the number of clusters.
 *
 * Without a curve (an index that was created empty) a rule is used, which was
 * fitted to several data sets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_target.h"

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

/*
 * Fill in the plan for a target from the curve.
 *
 * Between two points the upper one is taken.  Probes and slack were chosen for
 * each point by itself, so interpolation would give combinations that were not
 * measured: one may fall while the other rises, and a slack may be infinite.
 */
static void
target_from_curve(const EcpMetaPageData *meta, double target,
				  EcpScanPlan *plan)
{
	const EcpRecallPointData *points = meta->ecpm_recall;
	int			n = meta->ecpm_recall_points;
	float4		wanted = (float4) target;	/* as in the points */
	double		growth = 1;
	double		probes = 1;
	double		varying;
	int			i = 0;

	while (i < n && points[i].ecpm_recall < wanted)
		i++;

	/* a search that cannot end early reads no less than for a lower target */
	for (int p = 0; p <= Min(i, n - 1); p++)
		probes = Max(probes, points[p].ecpm_probes);
	if (i < n)
	{
		varying = points[i].ecpm_probes;
		plan->slack = points[i].ecpm_slack;
	}
	else
	{
		/* above all that was measured: what the last one reads, and more */
		const EcpRecallPointData *last = &points[n - 1];
		double		missed = Max(1 - last->ecpm_recall, 1e-4);

		if (!isinf(last->ecpm_slack))
			probes = Max(probes, EcpTargetMost(last->ecpm_probes));
		probes *= Max(pow(missed / Max(1 - target, 1e-6), TARGET_POWER), 1);
		varying = probes;
		plan->slack = get_float4_infinity();
	}
	if (meta->ecpm_recall_leaves > 0)
		growth = sqrt((double) meta->ecpm_nleaves / meta->ecpm_recall_leaves);
	growth = Max(growth, 1);

	/* one more, as queries that are not rows of the table find less */
	varying = Min(floor(varying * growth) + 1, ECP_PROBES_MAX);
	plan->probes = (int) Min(floor(probes * growth) + 1, ECP_PROBES_MAX);
	plan->early = ecp_early_stop && !isinf(plan->slack);
	plan->least = EcpTargetLeast(varying);
	plan->most = Min(EcpTargetMost(varying), Max(meta->ecpm_nleaves, 1));
}

/* What a search of the index reads, by its settings. */
void
ecp_target_plan(Relation index, const EcpMetaPageData *meta, EcpScanPlan *plan)
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
}

/* The number of probes of that plan. */
int
ecp_target_probes(Relation index, const EcpMetaPageData *meta)
{
	EcpScanPlan plan;

	ecp_target_plan(index, meta, &plan);
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
ecp_target_filter_probes(double probes, double share, double cluster_rows)
{
	double		passed = Max(cluster_rows * share, 1e-9);

	Assert(probes >= 0 && cluster_rows >= 0);
	Assert(share >= 0 && share <= 1);

	probes /= pow(Max(share, 1e-9), ECP_FILTER_POWER);
	return ceil(Max(probes, ECP_FILTER_ROWS / passed));
}
