/*-------------------------------------------------------------------------
 *
 * ecp_guide.h
 *	  Lists of leaders near to each other.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_GUIDE_H
#define ECP_GUIDE_H

#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* What finds leaders of rows; see ecp_guide.c. */
typedef struct EcpGuide EcpGuide;

/* Bytes of a guide to n leaders, 0 if they are too few for one. */
extern Size ecp_guide_bytes(EcpElem elem, int dims, int n);
extern void ecp_guide_init(EcpGuide *guide, EcpElem elem, int dims,
						   const EcpPanel *leaders, int n);
extern void ecp_guide_nearest(const EcpGuide *guide, const char *rows,
							  Size stride, int nrows, int32 *leaders);

#endif							/* ECP_GUIDE_H */
