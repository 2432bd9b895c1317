/*-------------------------------------------------------------------------
 *
 * core_snapshot.h
 *	  Whether other processes have snapshots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CORE_SNAPSHOT_H
#define CORE_SNAPSHOT_H

#include "utils/relcache.h"

/*
 * Might a query that began before this call read "rel", which is a relation of
 * this database, in another process or on a standby that sends feedback, or in
 * this process?  False only if it is certain that none does.
 */
extern bool ecp_relation_may_be_read(Relation rel);

#endif							/* CORE_SNAPSHOT_H */
