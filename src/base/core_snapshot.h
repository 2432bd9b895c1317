/*-------------------------------------------------------------------------
 *
 * core_snapshot.h
 *	  Whether a query may need what was replaced.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CORE_SNAPSHOT_H
#define CORE_SNAPSHOT_H

#include "access/transam.h"
#include "utils/relcache.h"

/*
 * If no query that began before this call reads "rel", which is a relation of this
 * database, in another process, on a standby that sends feedback, or in this process:
 * the largest transaction id of a record of page reuse by which another standby ends
 * its queries that do.  Invalid if one may read it.
 */
extern FullTransactionId ecp_relation_unread(Relation rel);

#endif							/* CORE_SNAPSHOT_H */
