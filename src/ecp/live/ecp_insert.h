/*-------------------------------------------------------------------------
 *
 * ecp_insert.h
 *	  Insert into an ecp index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_INSERT_H
#define ECP_INSERT_H

#include "access/genam.h"
#include "nodes/execnodes.h"

extern bool ecpinsert(Relation index, Datum *values, bool *isnull,
					  ItemPointer heap_tid, Relation heap,
					  IndexUniqueCheck checkUnique, bool indexUnchanged,
					  IndexInfo *indexInfo);

#endif							/* ECP_INSERT_H */
