/*-------------------------------------------------------------------------
 *
 * shards.h
 *	  Tables that Citus distributes.
 *
 * A distributed table and its indexes are empty; the rows are in the tables
 * and indexes of its shards, which are ordinary ones on their nodes.  A
 * function that is given such a table or index refuses it, since it would
 * report on an empty one; doc/sharding.md has the calls for all shards.
 *
 * Where the extension citus is absent, all this is one lookup in a cache.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SHARDS_H
#define ECP_SHARDS_H

/* Whether the database is part of a cluster of Citus. */
extern bool ecp_shards_possible(void);

/* Whether a table is distributed.  Reference and Citus local tables are, too. */
extern bool ecp_shards_exist(Oid table);

/* An error if the table is distributed. */
extern void ecp_shards_refuse(Oid table);

#endif							/* ECP_SHARDS_H */
