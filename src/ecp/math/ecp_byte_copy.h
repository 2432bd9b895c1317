/*-------------------------------------------------------------------------
 *
 * ecp_byte_copy.h
 *	  Rows of floats as bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BYTE_COPY_H
#define ECP_BYTE_COPY_H

#include "base/team.h"
#include "ecp/math/ecp_kmeans.h"

/* How bytes are made of floats; see ecp_byte_copy.c. */
typedef struct EcpByteScale
{
	int			dims;
	float4		factor;
	float4		lows[FLEXIBLE_ARRAY_MEMBER];
} EcpByteScale;

extern Size ecp_byte_copy_size(int dims);
extern EcpByteScale *ecp_byte_copy_scale(const EcpRows *rows);
extern void ecp_byte_copy_put(const EcpByteScale *scale, const float4 *vector,
							  uint8 *bytes);
extern void ecp_byte_copy_rows(const EcpByteScale *scale, const EcpRows *rows,
							   EcpRows *bytes, EcpMemory *memory);
extern bool ecp_byte_copy_serves(const EcpRows *bytes, const char *leaders,
								 int nleaders);

#endif							/* ECP_BYTE_COPY_H */
