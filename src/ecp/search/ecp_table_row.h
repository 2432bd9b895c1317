/*-------------------------------------------------------------------------
 *
 * ecp_table_row.h
 *	  The exact rank of a row whose vector only the table has.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TABLE_ROW_H
#define ECP_TABLE_ROW_H

#include "access/genam.h"
#include "ecp/page/ecp_page.h"
#include "vector/vector_distance.h"

typedef struct EcpTableRow EcpTableRow;

/* For the rows of a scan; in the current memory context. */
extern EcpTableRow *ecp_table_row_create(IndexScanDesc scan);
extern void ecp_table_row_free(EcpTableRow *row);

/*
 * The rank of the row with the TID of an EcpRanked's item; false if the scan's
 * snapshot does not see it.
 */
extern bool ecp_table_row_rank(EcpTableRow *row, const EcpMetaPageData *meta,
							   uint64 item, const EcpQuery *query, float8 *rank);

#endif							/* ECP_TABLE_ROW_H */
