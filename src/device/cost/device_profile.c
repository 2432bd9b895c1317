/*-------------------------------------------------------------------------
 *
 * device_profile.c
 *	  The stored profile of a tablespace.
 *
 * ecp_calibrate() stores a row in the table ecp_device
 * for each tablespace that it has measured.  Defaults are computed from it: the
 * size of a cluster or node, the policy of a build, how far to read ahead.
 *
 * The table is that of the extension ecp_storage, which a database need not
 * have: without it no tablespace was measured.  A table that is not a member of
 * the extension is never read, since anybody could have made it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "device/cost/device_profile.h"

/* Columns of ecp_device behind the name, in the order of the install script. */
static const struct
{
	size_t		field;
	Oid			type;
}			profile_columns[] =

{
	{offsetof(EcpDeviceProfile, latency_us), FLOAT8OID},
	{offsetof(EcpDeviceProfile, read_mb_s), FLOAT8OID},
	{offsetof(EcpDeviceProfile, r2), FLOAT8OID},
	{offsetof(EcpDeviceProfile, half_bandwidth_bytes), INT8OID},
	{offsetof(EcpDeviceProfile, seq_read_mb_s), FLOAT8OID},
	{offsetof(EcpDeviceProfile, seq_write_mb_s), FLOAT8OID},
	{offsetof(EcpDeviceProfile, rand_read_iops), FLOAT8OID},
	{offsetof(EcpDeviceProfile, rand_read_iops_max), FLOAT8OID},
	{offsetof(EcpDeviceProfile, rand_write_iops), FLOAT8OID},
	{offsetof(EcpDeviceProfile, rand_write_us), FLOAT8OID},
	{offsetof(EcpDeviceProfile, fsync_us), FLOAT8OID},
	{offsetof(EcpDeviceProfile, cached_mb_s), FLOAT8OID},
	{offsetof(EcpDeviceProfile, best_workers), INT4OID},
	{offsetof(EcpDeviceProfile, step_read_us), FLOAT8OID},
	{offsetof(EcpDeviceProfile, mixed_ratio), FLOAT8OID},
};

/* The table of profiles, or InvalidOid if the extension is not installed. */
static Oid
profile_table(void)
{
	Oid			extoid = get_extension_oid("ecp_storage", true);
	Oid			relid;

	if (!OidIsValid(extoid))
		return InvalidOid;
	relid = get_relname_relid("ecp_device", get_namespace_oid("ecp_storage", true));
	if (!OidIsValid(relid) ||
		getExtensionOfObject(RelationRelationId, relid) != extoid)
		return InvalidOid;
	return relid;
}

/*
 * Assumed of a tablespace that was not measured: a flash drive of no particular
 * make.  It reaches half of its bandwidth at 128 kB.
 */
static void
profile_default(EcpDeviceProfile *profile)
{
	memset(profile, 0, sizeof(*profile));
	profile->latency_us = 262.144;
	profile->read_mb_s = 500;
	profile->half_bandwidth_bytes = 128 * 1024;
	profile->seq_read_mb_s = 500;
	profile->seq_write_mb_s = 400;
	profile->rand_read_iops = 4000;
	profile->rand_read_iops_max = 16000;
	profile->rand_write_iops = 4000;
	profile->rand_write_us = 1000;
	profile->fsync_us = 1000;
	profile->cached_mb_s = 5000;
	profile->best_workers = 4;
	profile->step_read_us = 250;
	profile->mixed_ratio = 1.5;
}

/* Take the figures of a row that are not NULL. */
static void
profile_from_row(const Datum *values, const bool *nulls, EcpDeviceProfile *p)
{
	p->step_read_us = -1;
	for (int i = 0; i < lengthof(profile_columns); i++)
	{
		void	   *field = (char *) p + profile_columns[i].field;

		if (nulls[i + 1])
			continue;
		if (profile_columns[i].type == FLOAT8OID)
			*(double *) field = DatumGetFloat8(values[i + 1]);
		else if (profile_columns[i].type == INT8OID)
			*(int64 *) field = DatumGetInt64(values[i + 1]);
		else
			*(int *) field = DatumGetInt32(values[i + 1]);
	}
	if (p->step_read_us < 0)
		p->step_read_us = p->latency_us;
}

/*
 * ecp_device_profile_read
 *		Look up the profile of a tablespace.
 *
 * InvalidOid stands for the default tablespace of the database.  Returns
 * false, with defaults in *profile, if the tablespace was not measured or
 * ecp_storage is not installed.  Needs a transaction; the newest row is
 * read, as from a catalog.  Keeps no lock, and checks no privilege, since the
 * figures are not secret.
 */
bool
ecp_device_profile_read(Oid tablespace, EcpDeviceProfile *profile)
{
	Oid			relid;
	char	   *spcname;
	Relation	rel;
	TableScanDesc scan;
	TupleTableSlot *slot;
	bool		found = false;

	Assert(IsTransactionState());
	profile_default(profile);
	if (!OidIsValid(tablespace))
		tablespace = MyDatabaseTableSpace;
	relid = profile_table();
	if (!OidIsValid(relid))
		return false;
	spcname = get_tablespace_name(tablespace);
	if (spcname == NULL)
		return false;

	rel = table_open(relid, AccessShareLock);
	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		RelationGetNumberOfAttributes(rel) <= lengthof(profile_columns))
	{
		table_close(rel, AccessShareLock);
		return false;
	}
	slot = table_slot_create(rel, NULL);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while (!found && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		slot_getallattrs(slot);
		if (strcmp(NameStr(*DatumGetName(slot->tts_values[0])),
				   spcname) == 0)
		{
			profile_from_row(slot->tts_values, slot->tts_isnull, profile);
			found = true;
		}
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, AccessShareLock);
	return found;
}
