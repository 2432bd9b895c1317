/*-------------------------------------------------------------------------
 *
 * ecp_bytes.h
 *	  Rows of floats as bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_BYTES_H
#define ECP_BYTES_H

#include "ecp/cluster/ecp_kmeans.h"
#include "ecp/cluster/ecp_team.h"

/* How bytes are made of floats; see ecp_bytes.c. */
typedef struct EcpByteForm
{
	int			dims;
	float4		scale;
	float4		lows[FLEXIBLE_ARRAY_MEMBER];
} EcpByteForm;

extern Size ecp_bytes_size(int dims);
extern EcpByteForm *ecp_bytes_form(const EcpRows *rows);
extern void ecp_bytes_put(const EcpByteForm *form, const float4 *vector,
						  uint8 *bytes);
extern void ecp_bytes_get(const EcpByteForm *form, const uint8 *bytes,
						  float4 *vector);
extern void ecp_bytes_rows(const EcpByteForm *form, const EcpRows *rows,
						   EcpRows *bytes, EcpMemory *memory);
extern bool ecp_bytes_serve(const EcpRows *bytes, const char *leaders,
							int nleaders);

#endif							/* ECP_BYTES_H */
