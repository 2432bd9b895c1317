/*-------------------------------------------------------------------------
 *
 * ecp_prepare.c
 *	  The forms in which a vector is stored, and compared with leaders.
 *
 * Compared as it is for L2 and inner product, brought to unit length for cosine,
 * where L2 ranks alike; of the element kind that means of such rows need.  Builds,
 * inserts and searches prepare alike.
 *
 * Stored as it is, as float16, or as codes of four bits.  As float16 it is scaled
 * under cosine, where its length does not matter (ecp_vector_halve()), so that no
 * element is out of range, and none is smaller than what float16 has digits for
 * unless it hardly matters beside the largest one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

void
ecp_prepare_check_dims(const EcpMetaPageData *meta, int dims)
{
	if (dims > EcpMetaDimsMax(meta))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vector cannot have more than %d dimensions in an index with the storage parameter vectors = codes",
						EcpMetaDimsMax(meta)),
				 errdetail("The vector has %d dimensions.", dims)));
}

void
ecp_prepare_stored(const EcpMetaPageData *meta, const EcpVector *vector,
				   void *dst)
{
	ecp_prepare_check_dims(meta, vector->dims);
	if (meta->ecpm_elem == ECP_ELEM_FLOAT16)
		ecp_vector_halve(vector, meta->ecpm_metric == ECP_METRIC_COSINE &&
						 !EcpStoredIsExact(meta), dst);
	else
		ecp_vector_convert(vector, meta->ecpm_elem, dst);
}

void
ecp_prepare_query(const EcpMetaPageData *meta, const void *row, void *dst)
{
	EcpVector	vector = {0};

	vector.elem = meta->ecpm_elem;
	vector.dims = meta->ecpm_dims;
	vector.data = row;
	ecp_vector_convert(&vector, EcpMetaQueryElem(meta), dst);
}

bool
ecp_prepare(const EcpMetaPageData *meta, const EcpVector *vector, void *dst)
{
	Assert(vector->elem == meta->ecpm_elem ||
		   vector->elem == EcpMetaQueryElem(meta));

	ecp_vector_convert(vector, meta->ecpm_leader_elem, dst);
	return meta->ecpm_metric != ECP_METRIC_COSINE ||
		ecp_unit_length(dst, vector->dims);
}
