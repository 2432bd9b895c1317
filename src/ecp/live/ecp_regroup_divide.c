/*-------------------------------------------------------------------------
 *
 * ecp_regroup_divide.c
 *	  Dividing the rows of a group of leaves among new clusters.
 *
 * A group is either reassigned (two steps of Lloyd's move its leaders to the
 * means of their rows) or trained (k-means, with the number of leaders that a
 * build would have).  Then each row goes to the nearest leader of the group,
 * clusters above the limit are cut by 2-means, and the rows of very small
 * clusters go to their neighbours.
 *
 * Used by ecp_replace_plan.c; ecp_regroup.c chooses the leaves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/compat.h"
#include "common/pg_prng.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/live/ecp_replace_private.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Rows that k-means looks at for each leader, and its steps. */
#define ECP_REGROUP_SAMPLE		64
#define ECP_REGROUP_ITERATIONS	10

/* Steps of Lloyd's before rows are reassigned. */
#define ECP_REGROUP_STEPS			2

/* Clusters below 1/n of their intended number of rows are dissolved. */
#define ECP_REGROUP_SMALL			8

/* Assign each row to the nearest leader. */
static void
group_assign(const EcpMetaPageData *meta, EcpRegroupRows *rows)
{
	ecp_kmeans_nearest(meta->ecpm_leader_elem, meta->ecpm_dims, rows->centres,
					   rows->centre_stride, rows->nclusters, rows->vectors, rows->stride,
					   rows->n, rows->clusters, NULL);
}

/* Rows in the order of their clusters; those of c begin at first[c]. */
static int32 *
group_order(const EcpRegroupRows *rows, int32 *first)
{
	int32	   *order = palloc_extended(mul_size(rows->n, sizeof(int32)),
										MCXT_ALLOC_HUGE);

	ecp_kmeans_group(rows->clusters, rows->n, rows->nclusters, first, order);
	return order;
}

/* Copy the rows of one cluster to "vectors". */
static void
group_gather(const EcpRegroupRows *rows, const int32 *order, int n,
			 char *vectors)
{
	for (int i = 0; i < n; i++)
		memcpy(vectors + i * rows->stride,
			   rows->vectors + order[i] * rows->stride, rows->stride);
}

/* Move leaders to the means of their rows; those without rows stay. */
static void
group_update(const EcpMetaPageData *meta, EcpRegroupRows *rows)
{
	int32	   *first = palloc_array(int32, rows->nclusters + 1);
	int32	   *order = group_order(rows, first);
	char	   *vectors = NULL;
	int			max = 0;

	for (int c = 0; c < rows->nclusters; c++)
	{
		int			n = first[c + 1] - first[c];

		CHECK_FOR_INTERRUPTS();
		if (n == 0)
			continue;
		if (n > max)
		{
			if (vectors)
				pfree(vectors);
			max = n;
			vectors = palloc_extended(mul_size(max, rows->stride),
									  MCXT_ALLOC_HUGE);
		}
		group_gather(rows, order + first[c], n, vectors);
		ecp_kmeans_centre(meta->ecpm_leader_elem, meta->ecpm_dims, vectors,
						  rows->stride, n, rows->centres + c * rows->centre_stride);
	}
	if (vectors)
		pfree(vectors);
	pfree(order);
	pfree(first);
}

/*
 * Remove leaders of clusters with few rows.  Returns true if there were any, and
 * rows have to be assigned again.
 */
static bool
group_drop_small(const EcpMetaPageData *meta, EcpRegroupRows *rows)
{
	uint32		small = Max(meta->ecpm_leaf_target / ECP_REGROUP_SMALL, 1);
	int32	   *counts = palloc0_array(int32, rows->nclusters);
	int			left = 0;
	bool		dropped;

	for (int i = 0; i < rows->n; i++)
		counts[rows->clusters[i]]++;
	for (int c = 0; c < rows->nclusters; c++)
	{
		if (counts[c] < small && (left > 0 || c + 1 < rows->nclusters))
			continue;
		if (left != c)
			memcpy(rows->centres + left * rows->centre_stride,
				   rows->centres + c * rows->centre_stride,
				   rows->centre_stride);
		left++;
	}
	dropped = left < rows->nclusters;
	rows->nclusters = left;
	pfree(counts);
	return dropped;
}

/* Cut clusters with more rows than "limit" until there are none. */
static void
group_cut_large(const EcpMetaPageData *meta, EcpRegroupRows *rows, int limit)
{
	int32	   *first = palloc_array(int32, rows->nclusters + 1);
	int32	   *order = group_order(rows, first);
	int			nclusters = rows->nclusters;

	Assert(limit > 0);
	for (int c = 0; c < nclusters; c++)
	{
		int32	   *members = order + first[c];
		int			n = first[c + 1] - first[c];
		int			from = 0;

		/* rows from "from" on have leader c, those before it new leaders */
		while (n - from > limit)
		{
			int			rest = n - from;
			char	   *vectors = palloc_extended(mul_size(rest, rows->stride),
												  MCXT_ALLOC_HUGE);
			uint8	   *sides = palloc(rest);
			char	   *added;
			void	   *centres[2];
			int			kept = from;

			CHECK_FOR_INTERRUPTS();
			rows->centres = repalloc_huge(rows->centres,
										  mul_size(rows->nclusters + 1,
												   rows->centre_stride));
			added = rows->centres + rows->nclusters * rows->centre_stride;
			memset(added, 0, rows->centre_stride);
			centres[0] = rows->centres + c * rows->centre_stride;
			centres[1] = added;
			group_gather(rows, members + from, rest, vectors);
			ecp_kmeans_two(meta->ecpm_leader_elem, meta->ecpm_dims, vectors,
						   rows->stride, rest, meta->ecpm_seed + rows->nclusters,
						   sides, centres);
			for (int i = 0; i < rest; i++)
			{
				int32		row = members[from + i];

				if (sides[i] == 0)
					continue;
				rows->clusters[row] = rows->nclusters;
				members[from + i] = members[kept];
				members[kept++] = row;
			}
			pfree(sides);
			pfree(vectors);
			rows->nclusters++;
			from = kept;
		}
	}
	pfree(order);
	pfree(first);
	if (rows->nclusters > nclusters)
	{
		int32	   *counts = palloc0_array(int32, rows->nclusters);
		bool		again = false;

		/* halves that were cut off may be too large */
		for (int i = 0; i < rows->n; i++)
		{
			if (++counts[rows->clusters[i]] > limit)
				again = true;
		}
		pfree(counts);
		if (again)
			group_cut_large(meta, rows, limit);
	}
}

/*
 * ecp_regroup_divide
 *		Leaders for the rows of a group, and the leader of each row.
 *
 * rows->n, vectors and stride are given; the rest is palloc'd.  There is at
 * least one row.  If the leaders are not trained, they start from those of the
 * children "which" of their parent.
 */
void
ecp_regroup_divide(const EcpIndexState *state, const EcpNodeImage *parent,
				   const int *which, int nwhich, bool retrain,
				   EcpRegroupRows *rows)
{
	const EcpMetaPageData *meta = &state->meta;
	int			k = nwhich;

	Assert(retrain || nwhich > 0);
	Assert(parent->leaders != NULL);
	Assert(rows->n > 0);
	rows->centre_stride = parent->stride;
	rows->clusters = palloc_extended(mul_size(rows->n, sizeof(int32)),
									 MCXT_ALLOC_HUGE);
	if (retrain)
	{
		EcpRows		sample = {0};
		int			sampled;
		pg_prng_state prng;
		char	   *centres;

		k = Max((int) rint((double) rows->n / meta->ecpm_leaf_target), 1);
		/* rows of an old cluster are consecutive, so every nth is fair */
		sampled = Max(rows->n / k / ECP_REGROUP_SAMPLE, 1);
		pg_prng_seed(&prng, meta->ecpm_seed + meta->ecpm_sversion);
		centres = palloc_extended(mul_size(k, state->node.vec_bytes),
								  MCXT_ALLOC_HUGE);
		sample.elem = meta->ecpm_leader_elem;
		sample.dims = meta->ecpm_dims;
		sample.rows = rows->vectors;
		sample.stride = rows->stride * sampled;
		sample.n = rows->n / sampled;
		k = ecp_kmeans(NULL, &sample, k,
					   meta->ecpm_leaders == ECP_LEADERS_RANDOM ? 0 :
					   ECP_REGROUP_ITERATIONS, &prng, centres, NULL);
		rows->centres = palloc_extended(mul_size(k, rows->centre_stride),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		for (int i = 0; i < k; i++)
			memcpy(rows->centres + i * rows->centre_stride,
				   centres + (Size) i * state->node.vec_bytes,
				   state->node.vec_bytes);
		pfree(centres);
	}
	else
	{
		rows->centres = palloc_extended(mul_size(k, rows->centre_stride),
										MCXT_ALLOC_HUGE);
		for (int i = 0; i < k; i++)
			memcpy(rows->centres + i * rows->centre_stride,
				   parent->leaders + which[i] * parent->stride,
				   rows->centre_stride);
	}
	rows->nclusters = k;

	group_assign(meta, rows);
	for (int step = 0; !retrain && step < ECP_REGROUP_STEPS; step++)
	{
		group_update(meta, rows);
		group_assign(meta, rows);
	}
	if (group_drop_small(meta, rows))
		group_assign(meta, rows);
	group_update(meta, rows);
	group_cut_large(meta, rows, ecp_limits_leaf_rows(state));
}
