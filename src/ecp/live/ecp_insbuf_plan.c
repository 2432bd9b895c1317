/*-------------------------------------------------------------------------
 *
 * ecp_insbuf_plan.c
 *	  Number, size and leaders of the insert buffers of a node.
 *
 * The fewer clusters share a buffer, the fewer rows of other clusters a search
 * reads, but the more buffers have a last page, which should stay in memory.
 * The number of clusters that share a buffer keeps these pages within a fraction
 * of shared_buffers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/pg_prng.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "storage/shmem.h"

/* Clusters that share a buffer, and steps of the k-means that groups them. */
#define ECP_INSBUF_CLUSTERS_MIN 4
#define ECP_INSBUF_CLUSTERS_MAX 64
#define ECP_INSBUF_ITERATIONS	10

/* The last pages of all buffers should fit into 1/n of shared_buffers. */
#define ECP_INSBUF_CACHE_SHARE	4

/* Pages of a full buffer, at most. */
#define ECP_INSBUF_PAGES_MAX	(ECP_SPLIT_PAGES_MAX / 2)

/* Rows of a full buffer, at least. */
#define ECP_INSBUF_ROWS_MIN		8

/*
 * Centres of at most nbuffers groups of leaders, vec_bytes apart.  Returns
 * their number.
 */
int
ecp_insbuf_plan_divide(const EcpIndexState *state, const char *leaders,
					   Size stride, int n, int nbuffers, char *centres)
{
	const EcpMetaPageData *meta = &state->meta;
	EcpRows		rows = {0};
	pg_prng_state prng;

	Assert(n > 0);
	nbuffers = Min(nbuffers, n);
	if (nbuffers <= 1)
	{
		ecp_kmeans_centre(meta->ecpm_leader_elem, meta->ecpm_dims, leaders, stride, n,
						  centres);
		return 1;
	}
	pg_prng_seed(&prng, meta->ecpm_seed + meta->ecpm_sversion);
	rows.elem = meta->ecpm_leader_elem;
	rows.dims = meta->ecpm_dims;
	rows.rows = leaders;
	rows.stride = stride;
	rows.n = n;
	return ecp_kmeans(NULL, &rows, nbuffers, ECP_INSBUF_ITERATIONS, &prng,
					  centres, NULL);
}

/*
 * ecp_insbuf_plan_sides
 *		Sides for the children and buffers of a node of level 1 that is to be
 *		split, so that each buffer has its clusters beside it.
 *
 * The leaders of the two halves go to centres[0] and centres[1].  Returns
 * false if that does not divide the clusters.
 */
bool
ecp_insbuf_plan_sides(const EcpIndexState *state, const EcpNodeImage *node,
					  uint64 seed, uint8 *sides, void **centres)
{
	const EcpMetaPageData *meta = &state->meta;
	int			n = node->nchildren;
	uint8	   *of_buffer = sides + n;
	EcpInsbufMap map;
	char	   *leaders;
	int			counts[2] = {0, 0};

	Assert(node->leaders != NULL);
	if (node->nbuffers < 2)
		return false;
	ecp_insbuf_map(meta, node->leaders, node->stride, n,
				   node->nbuffers, &map);
	ecp_kmeans_two(meta->ecpm_leader_elem, meta->ecpm_dims,
				   node->leaders + n * node->stride, node->stride,
				   node->nbuffers, meta->ecpm_seed ^ seed, of_buffer, centres);
	for (int b = 0; b < node->nbuffers; b++)
	{
		if (map.keeper[b] >= 0)
			of_buffer[b] = of_buffer[map.buffer_of[map.keeper[b]]];
	}
	for (int i = 0; i < n; i++)
	{
		sides[i] = of_buffer[map.buffer_of[i]];
		counts[sides[i]]++;
	}
	if (counts[0] == 0 || counts[1] == 0)
		return false;
	leaders = palloc_extended(mul_size(n, node->stride), MCXT_ALLOC_HUGE);
	for (int side = 0; side < 2; side++)
	{
		int			k = 0;

		for (int i = 0; i < n; i++)
		{
			if (sides[i] == side)
				memcpy(leaders + k++ * node->stride,
					   node->leaders + i * node->stride, node->stride);
		}
		ecp_kmeans_centre(meta->ecpm_leader_elem, meta->ecpm_dims, leaders,
						  node->stride, k, centres[side]);
	}
	pfree(leaders);
	return true;
}

/*
 * Clusters that share a buffer: as few as the cache allows, and no more than a
 * flush can hold in memory.  There will be more clusters when the buffer is
 * flushed: half of the rows that it can hold are counted for that.
 */
int
ecp_insbuf_plan_clusters(Relation index, const EcpIndexState *state)
{
	const EcpMetaPageData *meta = &state->meta;
	double		rows = ecp_options_get(index).buffer_rows;
	double		growth = 1 + rows / Max(meta->ecpm_leaf_target, 1) / 2;
	double		pages = meta->ecpm_nleaves * growth * ECP_INSBUF_CACHE_SHARE;
	double		wanted = Max(ceil(pages / NBuffers), ECP_INSBUF_CLUSTERS_MIN);

	wanted = Min(wanted, ECP_INSBUF_CLUSTERS_MAX);
	return (int) Max(Min(ecp_limits_regroup_rows(state) /
						 (meta->ecpm_leaf_max + rows), wanted), 1);
}

/* Capacity in rows of the buffer of nmembers clusters. */
uint32
ecp_insbuf_plan_limit(Relation index, const EcpIndexState *state, int nmembers)
{
	uint32		fits = ecp_geometry_slots(&state->leaf, ECP_INSBUF_PAGES_MAX);
	uint64		rows = (uint64) ecp_options_get(index).buffer_rows *
		Max(nmembers, 1);

	Assert(nmembers >= 0);
	return Max(Min(rows, fits), ECP_INSBUF_ROWS_MIN);
}

/*
 * Rows for which a flush pays while retired clusters cannot be freed: half the
 * rows of the clusters that are rewritten.
 */
uint32
ecp_insbuf_plan_limit_held(const EcpIndexState *state, int nmembers)
{
	uint32		fits = ecp_geometry_slots(&state->leaf, ECP_INSBUF_PAGES_MAX);
	uint64		rows = (uint64) state->meta.ecpm_leaf_target *
		Max(nmembers, 1) / 2;

	return Min(rows, fits);
}

/* Slots of a new buffer: half of its capacity, in whole pages. */
uint32
ecp_insbuf_plan_slots(Relation index, const EcpIndexState *state)
{
	const EcpGeometry *geo = &state->leaf;
	uint32		nslots = ecp_insbuf_plan_limit(index, state,
											   ecp_insbuf_plan_clusters(index, state)) / 2;
	uint32		entry_pages;
	uint32		npages;

	if (geo->stream)
		return Max(nslots, ECP_INSBUF_ROWS_MIN);
	ecp_geometry_run_size(geo, nslots, &entry_pages, &npages);
	return entry_pages * geo->slots;
}
