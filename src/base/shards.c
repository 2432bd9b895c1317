/*-------------------------------------------------------------------------
 *
 * shards.c
 *	  Tables that Citus distributes.
 *
 * Citus keeps them in its catalog pg_dist_partition, on all nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "base/shards.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

bool
ecp_shards_possible(void)
{
	return OidIsValid(get_extension_oid("citus", true));
}

bool
ecp_shards_exist(Oid table)
{
	Oid			catalog = get_relname_relid("pg_dist_partition",
											PG_CATALOG_NAMESPACE);
	Oid			unique;
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	bool		found;

	if (!OidIsValid(catalog) || !ecp_shards_possible())
		return false;
	unique = get_relname_relid("pg_dist_partition_logical_relid_index",
							   PG_CATALOG_NAMESPACE);
	ScanKeyInit(&key, get_attnum(catalog, "logicalrelid"),
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	rel = table_open(catalog, AccessShareLock);
	scan = systable_beginscan(rel, unique, OidIsValid(unique), NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

void
ecp_shards_refuse(Oid table)
{
	if (ecp_shards_exist(table))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is distributed", get_rel_name(table)),
				 errdetail("Its rows are in shards, which Citus places on its nodes."),
				 errhint("Call the function for each shard by run_command_on_shards().")));
}
