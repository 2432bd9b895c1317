/*-------------------------------------------------------------------------
 *
 * ecp_index_only.h
 *	  Rows of an index-only scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_INDEX_ONLY_H
#define ECP_INDEX_ONLY_H

#include "access/relscan.h"
#include "ecp/search/ecp_search.h"

typedef struct EcpIndexOnly EcpIndexOnly;

extern EcpIndexOnly *ecp_index_only_create(IndexScanDesc scan);

/*
 * Put the row that "search" returned last, and whose TID is in
 * scan->xs_heaptid, into scan->xs_hitup.  Returns false if it is gone, and so
 * cannot be visible to the scan.
 */
extern bool ecp_index_only_row(EcpIndexOnly *ret, IndexScanDesc scan,
							   EcpSearch *search);
extern void ecp_index_only_free(EcpIndexOnly *ret);

extern bool ecpcanreturn(Relation index, int attno);

#endif							/* ECP_INDEX_ONLY_H */
