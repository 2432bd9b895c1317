/*-------------------------------------------------------------------------
 *
 * ecp_insbuf_map.c
 *	  Which insert buffer of a node takes the rows of which cluster.
 *
 * This is not stored: it follows from the children that are visible at a
 * structure version (see ecp_insbuf.c).  Searches need it to find
 * the rows that wait for a cluster, inserts and flushes to put them there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/cluster/ecp_kmeans.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_insbuf_map.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* The nearest of n vectors; -1 if n is 0. */
static int
buffer_nearest_leader(const EcpMetaPageData *meta, const char *leaders,
					  Size stride, int n, const char *vector)
{
	int			nearest = -1;
	float8		nearest_d = 0;

	for (int i = 0; i < n; i++)
	{
		float8		d = ecp_distance(meta->ecpm_leader_elem, ECP_METRIC_L2,
									 meta->ecpm_dims, leaders + i * stride,
									 vector);

		if (nearest < 0 || d < nearest_d)
		{
			nearest = i;
			nearest_d = d;
		}
	}
	return nearest;
}

/*
 * ecp_insbuf_map
 *		Find the buffer of each child of a node.
 *
 * "leaders" are those of the clusters, then those of the buffers; there is at least one of each.  The arrays of the map are palloc'd.
 */
void
ecp_insbuf_map(const EcpMetaPageData *meta, const char *leaders, Size stride,
			   int nchildren, int nbuffers, EcpInsbufMap *map)
{
	EcpElem		elem = meta->ecpm_leader_elem;
	int			dims = meta->ecpm_dims;
	const char *pivots = leaders + nchildren * stride;
	void	   *memory = palloc_extended(ecp_panel_bytes(elem, dims, nbuffers),
										 MCXT_ALLOC_HUGE);
	EcpPanel   *panel = ecp_panel_init(memory, elem, ECP_METRIC_L2, dims,
									   nbuffers);

	Assert(nchildren >= 0 && nbuffers > 0);

	for (int b = 0; b < nbuffers; b++)
		ecp_panel_set(panel, b, pivots + b * stride);
	map->buffer_of = palloc0_array(int32, Max(nchildren, 1));
	map->nmembers = palloc0_array(int32, nbuffers);
	map->next = palloc_array(int32, nbuffers);
	map->keeper = palloc_array(int32, nbuffers);
	ecp_kmeans_assign(panel, nbuffers, dims, leaders, stride, nchildren,
					  map->buffer_of, NULL);
	pfree(memory);
	for (int i = 0; i < nchildren; i++)
		map->nmembers[map->buffer_of[i]]++;
	for (int b = 0; b < nbuffers; b++)
		map->next[b] = map->keeper[b] = -1;

	/* a buffer without clusters is read together with the nearest cluster's */
	for (int b = 0; b < nbuffers && nchildren > 0; b++)
	{
		int			last;

		if (map->nmembers[b] > 0)
			continue;
		map->keeper[b] = buffer_nearest_leader(meta, leaders, stride,
											   nchildren, pivots + b * stride);
		last = map->buffer_of[map->keeper[b]];
		map->next[b] = map->next[last];
		map->next[last] = b;
	}
}
