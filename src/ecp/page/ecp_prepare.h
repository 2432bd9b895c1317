/*-------------------------------------------------------------------------
 *
 * ecp_prepare.h
 *	  The form in which a row's vector is compared with leaders.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PREPARE_H
#define ECP_PREPARE_H

#include "ecp/page/ecp_page.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * The form of a column's vector in which it is compared with leaders: the
 * element kind is meta.ecpm_leader_elem; cosine is made unit length.  dst
 * has room for dims elements of that kind.  Returns false for a vector that
 * is not indexed (zero norm under cosine).
 */
extern bool ecp_prepare(const EcpMetaPageData *meta, const EcpVector *vector,
						void *dst);

/* Distance of two vectors in that form: of leaders, or a row and a leader. */
static inline float8
ecp_leader_distance(const EcpMetaPageData *meta, const void *a, const void *b)
{
	return ecp_distance(meta->ecpm_leader_elem, ECP_METRIC_L2,
						meta->ecpm_dims, a, b);
}

/* Do rows compare with leaders as they are? */
#define EcpRowsArePrepared(meta) \
	((meta)->ecpm_elem == (meta)->ecpm_leader_elem && \
	 (meta)->ecpm_metric != ECP_METRIC_COSINE)

#endif							/* ECP_PREPARE_H */
