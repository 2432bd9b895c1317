/*-------------------------------------------------------------------------
 *
 * ecp_return.h
 *	  Rows of an index-only scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RETURN_H
#define ECP_RETURN_H

#include "access/relscan.h"
#include "ecp/search/ecp_search.h"

typedef struct EcpReturn EcpReturn;

extern EcpReturn *ecp_return_create(IndexScanDesc scan);

/*
 * Put the row that "search" returned last, and whose TID is in
 * scan->xs_heaptid, into scan->xs_hitup.  Returns false if it is gone, and so
 * cannot be visible to the scan.
 */
extern bool ecp_return_row(EcpReturn *ret, IndexScanDesc scan,
						   EcpSearch *search);
extern void ecp_return_free(EcpReturn *ret);

#endif							/* ECP_RETURN_H */
