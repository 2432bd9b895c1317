/*-------------------------------------------------------------------------
 *
 * device_placement_rename.c
 *	  Renames equal targets so that the most bytes stay.
 *
 * A placement decides which groups lie together; among targets of equal speed
 * and capacity it does not matter which of them gets which groups.  Choosing so
 * that as many bytes as possible are already there is an assignment problem,
 * which is solved exactly.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/shmem.h"

#include "base/compat.h"
#include "device/place/device_place.h"

/* Equal targets; memory grows with the square of their number. */
#define RENAME_TARGETS_MAX	4096

/*
 * rename_assign
 *		Assign rows to columns so that the sum of benefits is maximal.
 *
 * benefit is n by n, row-wise; the result row_of[column] is a permutation.
 * The Hungarian method with potentials, O(n^3); arrays count from 1 with 0 as
 * the column from which each search starts.
 */
static void
rename_assign(int n, const double *benefit, int *row_of)
{
	double	   *u = palloc0_array(double, n + 1);
	double	   *v = palloc0_array(double, n + 1);
	double	   *minv = palloc_array(double, n + 1);
	int		   *match = palloc0_array(int, n + 1);
	int		   *way = palloc0_array(int, n + 1);
	bool	   *seen = palloc_array(bool, n + 1);

	Assert(n > 0);
	for (int row = 1; row <= n; row++)
	{
		int			col = 0;

		match[0] = row;
		for (int j = 0; j <= n; j++)
		{
			minv[j] = INFINITY;
			seen[j] = false;
		}
		do
		{
			int			i = match[col];
			int			next = 0;
			double		delta = INFINITY;

			CHECK_FOR_INTERRUPTS();
			seen[col] = true;
			for (int j = 1; j <= n; j++)
			{
				double		cost;

				if (seen[j])
					continue;
				cost = -benefit[(i - 1) * n + j - 1] - u[i] - v[j];
				if (cost < minv[j])
				{
					minv[j] = cost;
					way[j] = col;
				}
				if (minv[j] < delta)
				{
					delta = minv[j];
					next = j;
				}
			}
			for (int j = 0; j <= n; j++)
			{
				if (seen[j])
				{
					u[match[j]] += delta;
					v[j] -= delta;
				}
				else
					minv[j] -= delta;
			}
			col = next;
		} while (match[col] != 0);
		while (col != 0)
		{
			match[col] = match[way[col]];
			col = way[col];
		}
	}
	for (int j = 1; j <= n; j++)
		row_of[j - 1] = match[j] - 1;
}

/*
 * Rename n equal targets, the members; member_no[t] is the number of target t
 * among them, or -1.
 */
static void
rename_equal(const EcpPlacement *p, const int *members,
			 const int *member_no, int n, int *rename)
{
	double	   *benefit;
	int		   *row_of;

	Assert(n > 1 && n <= p->ntargets);
	if (n > RENAME_TARGETS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot keep groups where they are on more than %d equal targets",
						RENAME_TARGETS_MAX),
				 errhint("Use the strategy \"online\", which moves nothing.")));

	/* benefit of calling the planned target "row" by the name "column" */
	benefit = palloc0_array(double, mul_size(n, n));
	row_of = palloc_array(int, n);
	for (int g = 0; g < p->ngroups; g++)
	{
		const EcpPlaceGroup *group = &p->groups[g];

		if (group->current >= 0 && member_no[group->current] >= 0 &&
			member_no[group->target] >= 0)
			benefit[member_no[group->target] * n +
					member_no[group->current]] += group->bytes;
	}
	rename_assign(n, benefit, row_of);
	for (int j = 0; j < n; j++)
		rename[members[row_of[j]]] = members[j];
	pfree(benefit);
	pfree(row_of);
}

/*
 * ecp_placement_rename
 *		Rename targets of equal speed and capacity so that the most bytes
 *		stay where they are.
 *
 * Changes neither the makespan nor what fits.
 */
void
ecp_placement_rename(EcpPlacement *p)
{
	int		   *rename = palloc_array(int, p->ntargets);
	bool	   *done = palloc0_array(bool, p->ntargets);
	int		   *members = palloc_array(int, p->ntargets);
	int		   *member_no = palloc_array(int, p->ntargets);
	bool		placed = false;

	for (int g = 0; g < p->ngroups; g++)
	{
		Assert(p->groups[g].target >= 0 && p->groups[g].target < p->ntargets);
		placed = placed || p->groups[g].current >= 0;
	}
	for (int t = 0; t < p->ntargets; t++)
		rename[t] = t;

	/* where no group is on a target there is nothing to keep */
	for (int t = 0; placed && t < p->ntargets; t++)
	{
		int			n = 0;

		CHECK_FOR_INTERRUPTS();
		if (done[t])
			continue;
		for (int o = 0; o < p->ntargets; o++)
		{
			member_no[o] = -1;
			if (p->targets[o].speed == p->targets[t].speed &&
				p->targets[o].capacity == p->targets[t].capacity)
			{
				member_no[o] = n;
				members[n++] = o;
				done[o] = true;
			}
		}
		if (n > 1)
			rename_equal(p, members, member_no, n, rename);
	}

	for (int g = 0; g < p->ngroups; g++)
		p->groups[g].target = rename[p->groups[g].target];
	pfree(rename);
	pfree(done);
	pfree(members);
	pfree(member_no);
}
