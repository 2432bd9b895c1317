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




uint8
ecp_leader_elem_for(EcpElem elem, EcpMetric metric)
{
	switch (elem)
	{
		case ECP_ELEM_UINT8:
			/* one of unit length would be all zeros and ones */
			return metric == ECP_METRIC_COSINE ?
				ECP_ELEM_FLOAT32 : ECP_ELEM_UINT8;
		case ECP_ELEM_BIT:
			/* means of bits say how many of the rows have them */
			return ECP_ELEM_UINT8;
		case ECP_ELEM_FLOAT32:
			break;
	}
	return ECP_ELEM_FLOAT32;
}

bool
ecp_prepare(const EcpMetaPageData *meta, const EcpVector *vector, void *dst)
{
	float4	   *x = dst;

	Assert(vector->elem == meta->ecpm_elem);
	Assert(vector->elem == meta->ecpm_elem);

	if (meta->ecpm_leader_elem == vector->elem)
		memcpy(dst, vector->data, ecp_vector_bytes(vector->elem, vector->dims));
	else if (vector->elem == ECP_ELEM_BIT)
		ecp_bits_spread(vector->data, vector->dims, dst);
	else if (vector->elem == ECP_ELEM_UINT8)
	{
		const uint8 *data = vector->data;

		for (int d = 0; d < vector->dims; d++)
			x[d] = data[d];
	}
	else
		elog(ERROR, "unexpected element kind %d", vector->elem);

	return meta->ecpm_metric != ECP_METRIC_COSINE ||
		ecp_unit_length(x, vector->dims);
}
