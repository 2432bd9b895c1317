/*-------------------------------------------------------------------------
 *
 * ecp_limits.c
 *	  Limits of leaves, groups of leaves, and the retired queue.
 *
 * They follow from the state of the index and the settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

/* Folds and merges pause while more than 1/n of the pages are retired. */
#define ECP_RETIRED_SHARE		16
#define ECP_RETIRED_PAGES_MIN	64

/* Share of maintenance_work_mem for the rows of a group. */
#define ECP_REGROUP_SHARE			0.6

/*
 * Rows above which a leaf is split by an insert or by VACUUM: the limit of a
 * build, so that the first inserts after it do not split clusters.
 */
uint32
ecp_limits_leaf_rows(const EcpIndexState *state)
{
	uint32		fits = ecp_geometry_slots(&state->leaf, ECP_SPLIT_PAGES_MAX);

	Assert(state->leaf.slots > 0);
	return Max(Min(state->meta.ecpm_leaf_max, fits), 2);
}

/* Rows of a group that fit into maintenance_work_mem. */
double
ecp_limits_regroup_rows(const EcpIndexState *state)
{
	Size		row_bytes = state->leaf.row_bytes + 4 * sizeof(int32) +
		sizeof(ItemPointerData);

	if (!EcpRowsArePrepared(&state->meta))
		row_bytes += state->node.vec_bytes;
	return Max(maintenance_work_mem * 1024.0 * ECP_REGROUP_SHARE / row_bytes, 2);
}

/* Are too many pages retired for anything but splits to retire more? */
bool
ecp_limits_too_much_retired(Relation index, const EcpIndexState *state)
{
	return state->meta.ecpm_retired_pages >
		Max(RelationGetNumberOfBlocks(index) / ECP_RETIRED_SHARE,
			ECP_RETIRED_PAGES_MIN);
}
