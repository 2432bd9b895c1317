/*-------------------------------------------------------------------------
 *
 * ecp_insbuf_map.c
 *	  Which insert buffer of a node takes the rows of which cluster.
 *
 * This is not stored: it follows from the children that are visible at a
 * structure version (see ecp_insbuf.c).  Searches use it to find the rows that
 * wait for a cluster, inserts and flushes to put them there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "vector/vector_value.h"

/*
 * ecp_insbuf_map
 *		Find the buffer of each child of a node.
 *
 * "leaders" are those of the clusters, then those of the buffers, of which
 * there is at least one.  The arrays of the map are palloc'd.
 */
void
ecp_insbuf_map(const EcpMetaPageData *meta, const char *leaders, Size stride,
			   int nchildren, int nbuffers, EcpInsbufMap *map)
{
	EcpElem		elem = meta->ecpm_leader_elem;
	int			dims = meta->ecpm_dims;
	const char *pivots = leaders + nchildren * stride;

	Assert(nchildren >= 0 && nbuffers > 0);

	map->buffer_of = palloc0_array(int32, Max(nchildren, 1));
	map->nmembers = palloc0_array(int32, nbuffers);
	map->next = palloc_array(int32, nbuffers);
	map->keeper = palloc_array(int32, nbuffers);
	ecp_kmeans_nearest(elem, dims, pivots, stride, nbuffers, leaders, stride,
					   nchildren, map->buffer_of, NULL);
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
		ecp_kmeans_nearest(elem, dims, leaders, stride, nchildren,
						   pivots + b * stride, stride, 1, &map->keeper[b],
						   NULL);
		last = map->buffer_of[map->keeper[b]];
		map->next[b] = map->next[last];
		map->next[last] = b;
	}
}
