/*-------------------------------------------------------------------------
 *
 * ecp_row_test.h
 *	  Will the executor keep a row that a scan returns?
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_ROW_TEST_H
#define ECP_ROW_TEST_H

#include "access/genam.h"
#include "nodes/execnodes.h"

typedef struct EcpRowTest EcpRowTest;

/*
 * For the scan of a plan's node, an IndexScan or IndexOnlyScan; lives in the memory
 * of the executor, until ecp_row_test_free().
 */
extern EcpRowTest *ecp_row_test_create(IndexScanDesc scan, ScanState *node);
extern void ecp_row_test_free(EcpRowTest *test);

/*
 * Is the row with scan->xs_heaptid visible, and does it fulfil the conditions of
 * the node?  With "recheck" also those of the index.  Of an index-only scan, its
 * values are in scan->xs_hitup.  The executor looks again.
 */
extern bool ecp_row_test_passes(EcpRowTest *test, bool recheck);

#endif							/* ECP_ROW_TEST_H */
