/*-------------------------------------------------------------------------
 *
 * shards.h
 *	  Tables that Citus distributes.
 *
 * A distributed table and its indexes are empty; the rows are in the tables
 * and indexes of its shards, which are ordinary ones on their nodes.  So a
 * function that is given the index of a distributed table asks the shards, or
 * refuses and prints the statement that asks them; without these it would
 * report on an empty index.
 *
 * Where the extension citus is absent, all this is one lookup in a cache.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SHARDS_H
#define ECP_SHARDS_H

#include "fmgr.h"

/* Whether the database is part of a cluster of Citus. */
extern bool ecp_shards_possible(void);

/*
 * Whether a table, or that of an index, is distributed.  Reference tables and
 * Citus local tables are, too.
 */
extern bool ecp_shards_exist(Oid relid);

/*
 * Call the function of fcinfo, whose first argument is an index, on the index
 * of each shard instead; with "copies", on each copy of a shard.  False, and
 * nothing is done, unless the index is that of a distributed table.
 *
 * "merge" is a query that makes the result from the rows of all shards, which
 * it knows as the relation "shards": column shardid, and the columns of the
 * function's result.  NULL for a function that returns void.  *result is the
 * result of a function that does not return a set.
 *
 * The shards are asked through new connections, which see what is committed;
 * they have the settings ecp.* of this session.
 */
extern bool ecp_shards_call(FunctionCallInfo fcinfo, bool copies,
							const char *merge, Datum *result);

/*
 * The same for a function that returns a set, by means of another of its
 * schema, which is given the shard's index and these arguments, and returns
 * "columns"; no argument of that may be declared polymorphic.
 */
extern void ecp_shards_query(FunctionCallInfo fcinfo, const char *function,
							 int nargs, const Oid *types,
							 const NullableDatum *args, const char *columns,
							 const char *merge);

/*
 * An error if the relation that is the function's first argument is
 * distributed.  NULL for the usual hint, the statement that asks each shard.
 */
extern void ecp_shards_refuse(FunctionCallInfo fcinfo, const char *hint);
extern void ecp_shards_refuse_relation(Oid relid, const char *hint);

#endif							/* ECP_SHARDS_H */
