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
#include "commands/extension.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "device/cost/device_profile.h"

/* Columns of ecp_device, in the order of the install script. */
enum
{
	PROFILE_SPCNAME,
	PROFILE_LATENCY_US,
	PROFILE_READ_MB_S,
	PROFILE_R2,
	PROFILE_HALF_BANDWIDTH,
	PROFILE_SEQ_READ_MB_S,
	PROFILE_SEQ_WRITE_MB_S,
	PROFILE_RAND_READ_IOPS,
	PROFILE_RAND_READ_IOPS_MAX,
	PROFILE_RAND_WRITE_IOPS,
	PROFILE_RAND_WRITE_US,
	PROFILE_FSYNC_US,
	PROFILE_CACHED_MB_S,
	PROFILE_BEST_WORKERS,
	PROFILE_STEP_READ_US,
	PROFILE_MIXED_RATIO,
	PROFILE_NCOLUMNS			/* the columns after these are not read */
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

static double
profile_float(const Datum *values, const bool *nulls, int column,
			  double if_null)
{
	Assert(column > PROFILE_SPCNAME && column < PROFILE_NCOLUMNS);
	return nulls[column] ? if_null : DatumGetFloat8(values[column]);
}

static void
profile_from_row(const Datum *v, const bool *n, EcpDeviceProfile *p)
{
	p->latency_us = profile_float(v, n, PROFILE_LATENCY_US, p->latency_us);
	p->read_mb_s = profile_float(v, n, PROFILE_READ_MB_S, p->read_mb_s);
	p->r2 = profile_float(v, n, PROFILE_R2, 0);
	if (!n[PROFILE_HALF_BANDWIDTH])
		p->half_bandwidth_bytes = DatumGetInt64(v[PROFILE_HALF_BANDWIDTH]);
	p->seq_read_mb_s = profile_float(v, n, PROFILE_SEQ_READ_MB_S,
									 p->seq_read_mb_s);
	p->seq_write_mb_s = profile_float(v, n, PROFILE_SEQ_WRITE_MB_S,
									  p->seq_write_mb_s);
	p->rand_read_iops = profile_float(v, n, PROFILE_RAND_READ_IOPS,
									  p->rand_read_iops);
	p->rand_read_iops_max = profile_float(v, n, PROFILE_RAND_READ_IOPS_MAX,
										  p->rand_read_iops_max);
	p->rand_write_iops = profile_float(v, n, PROFILE_RAND_WRITE_IOPS,
									   p->rand_write_iops);
	p->rand_write_us = profile_float(v, n, PROFILE_RAND_WRITE_US,
									 p->rand_write_us);
	p->fsync_us = profile_float(v, n, PROFILE_FSYNC_US, p->fsync_us);
	p->cached_mb_s = profile_float(v, n, PROFILE_CACHED_MB_S, p->cached_mb_s);
	if (!n[PROFILE_BEST_WORKERS])
		p->best_workers = DatumGetInt32(v[PROFILE_BEST_WORKERS]);
	p->step_read_us = profile_float(v, n, PROFILE_STEP_READ_US,
									p->latency_us);
	p->mixed_ratio = profile_float(v, n, PROFILE_MIXED_RATIO,
								   p->mixed_ratio);
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
		RelationGetNumberOfAttributes(rel) < PROFILE_NCOLUMNS)
	{
		table_close(rel, AccessShareLock);
		return false;
	}
	slot = table_slot_create(rel, NULL);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while (!found && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		slot_getallattrs(slot);
		if (strcmp(NameStr(*DatumGetName(slot->tts_values[PROFILE_SPCNAME])),
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
