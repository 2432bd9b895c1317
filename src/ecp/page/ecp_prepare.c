/*-------------------------------------------------------------------------
 *
 * ecp_prepare.c
 *	  The form in which a row's vector is compared with leaders.
 *
 * As it is for L2 and inner product, brought to unit length for cosine, where
 * L2 ranks alike; of the element kind that means of such rows need.  Builds,
 * inserts and searches prepare alike.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

bool
ecp_prepare(const EcpMetaPageData *meta, const EcpVector *vector, void *dst)
{
	Assert(vector->elem == meta->ecpm_elem);

	ecp_vector_convert(vector, meta->ecpm_leader_elem, dst);
	return meta->ecpm_metric != ECP_METRIC_COSINE ||
		ecp_unit_length(dst, vector->dims);
}
