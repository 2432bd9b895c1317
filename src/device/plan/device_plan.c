/*-------------------------------------------------------------------------
 *
 * device_plan.c
 *	  Build planning from SQL: the model of device_model.c on a table and its
 *	  tablespaces, or on devices that are given by their figures.
 *
 * ecp_build_model() takes devices as arrays of four figures, and so reproduces
 * the published tables.  ecp_plan_build() takes a table, reads its size from
 * the catalogs and the profiles of the tablespaces from ecp_device, and tries
 * every way to place raw, intermediate and final data on them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "base/shards.h"
#include "catalog/pg_class.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "commands/tablespace.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "base/user_array.h"
#include "device/cost/device_model.h"
#include "device/measure/device_sql.h"

#define PLAN_TABLESPACES_MAX	8
#define PLAN_FIGURES_MAX		1000

/* Of maintenance_work_mem, what a merge of runs reads into. */
#define PLAN_MERGE_SHARE		0.4

/* What one processor merges into pages. */
#define PLAN_MERGE_BYTES_PER_S	100e6

PG_FUNCTION_INFO_V1(ecp_build_model);
PG_FUNCTION_INFO_V1(ecp_plan_build);

/* A device given as {latency ms, read MB/s, write MB/s, small writes/s}. */
static void
plan_device_from_array(ArrayType *array, EcpModelDevice *device)
{
	int			n;
	double	   *figures = ecp_user_array_float8(array, "figures of a device", 0,
												PLAN_FIGURES_MAX, &n);

	if (n != 4)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("a device is given by four figures"),
				 errhint("They are latency in milliseconds, read and write throughput in MB/s, and small writes per second.")));
	for (int i = 0; i < 4; i++)
	{
		if (!(figures[i] > 0 && isfinite(figures[i])))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("figures of a device must be positive and finite")));
	}
	device->read_latency_s = figures[0] * 1e-3;
	device->read_bps = figures[1] * 1e6;
	device->write_bps = figures[2] * 1e6;
	device->small_write_s = 1.0 / figures[3];
	device->measured = false;
	device->step_read_s = 0;
	device->mixed_ratio = 0;
}

static void
plan_check_shape(const EcpBuildShape *shape)
{
	if (!(shape->vectors > 0 && shape->record_bytes > 0 &&
		  shape->clusters > 0 && shape->in_buff_bytes > 0 &&
		  shape->dirty_bytes >= 0 && shape->cpu_assign_s >= 0 &&
		  shape->cpu_merge_s >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sizes and numbers of a build must be positive")));
}

/* Seconds of one policy; an error if they overflow. */
static void
plan_cost(bool tempfiles, const EcpBuildShape *shape,
		  const EcpBuildLayout *layout, EcpBuildCost *cost)
{
	if (tempfiles)
		ecp_model_tempfiles(shape, layout, cost);
	else
		ecp_model_chunkfiles(shape, layout, cost);
	if (!isfinite(cost->total_s))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("sizes and figures of devices of a build are out of range")));
}

/*
 * ecp_build_model(vectors, record_bytes, clusters, raw, temp, final,
 *				   temp_apart, in_buff, dirty, cpu_assign_s, cpu_merge_s)
 *		A row for each policy.
 */
Datum
ecp_build_model(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	EcpBuildShape shape;
	EcpBuildLayout layout;

	shape.vectors = PG_GETARG_FLOAT8(0);
	shape.record_bytes = PG_GETARG_FLOAT8(1);
	shape.raw_bytes = shape.vectors * shape.record_bytes;
	shape.clusters = PG_GETARG_FLOAT8(2);
	plan_device_from_array(PG_GETARG_ARRAYTYPE_P(3), &layout.raw);
	plan_device_from_array(PG_GETARG_ARRAYTYPE_P(4), &layout.temp);
	plan_device_from_array(PG_GETARG_ARRAYTYPE_P(5), &layout.final);
	layout.temp_with_raw = layout.temp_with_final = !PG_GETARG_BOOL(6);
	shape.in_buff_bytes = PG_GETARG_FLOAT8(7);
	shape.merge_bytes = 0;
	shape.dirty_bytes = PG_GETARG_FLOAT8(8);
	shape.cpu_assign_s = PG_GETARG_FLOAT8(9);
	shape.cpu_merge_s = PG_GETARG_FLOAT8(10);
	plan_check_shape(&shape);

	InitMaterializedSRF(fcinfo, 0);
	for (int tempfiles = 1; tempfiles >= 0; tempfiles--)
	{
		EcpBuildCost cost;
		Datum		values[7];
		bool		nulls[7] = {0};

		plan_cost(tempfiles == 1, &shape, &layout, &cost);
		values[0] = CStringGetTextDatum(tempfiles ? "tempfiles" : "chunkfiles");
		values[1] = Float8GetDatum(cost.assign_wait_s);
		values[2] = Float8GetDatum(cost.merge_wait_s);
		values[3] = Float8GetDatum(cost.total_s);
		values[4] = Float8GetDatum(cost.appends);
		values[5] = Float8GetDatum(cost.writes);
		values[6] = Float8GetDatum(cost.runs);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
							 values, nulls);
	}
	return (Datum) 0;
}

/*
 * The size of what would be built, from the statistics of the table.
 */
static void
plan_shape_of_table(Oid relid, const char *colname, double cluster_bytes,
					int levels, double mul_adds_per_s, EcpBuildShape *shape)
{
	Relation	rel;
	AttrNumber	attnum;
	int32		width;
	double		fanout;

	Assert(cluster_bytes > 0 && levels >= 1 && mul_adds_per_s > 0);
	(void) ecp_sql_relname(relid);	/* an error if there is none */
	attnum = get_attnum(relid, colname);
	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						colname, get_rel_name(relid))));
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(relid));

	rel = relation_open(relid, AccessShareLock);
	if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view",
						RelationGetRelationName(rel))));
	shape->vectors = rel->rd_rel->reltuples;
	shape->raw_bytes = (double) RelationGetNumberOfBlocks(rel) * BLCKSZ;
	relation_close(rel, AccessShareLock);

	width = get_attavgwidth(relid, attnum);
	if (shape->vectors <= 0 || width <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("size of table \"%s\" is not known",
						get_rel_name(relid)),
				 errhint("Run ANALYZE on it.")));

	/* the vector, its TID, and what is stored inside the row or beside it */
	shape->record_bytes = width + sizeof(ItemPointerData);
	shape->raw_bytes = Max(shape->raw_bytes, shape->vectors * width);
	shape->clusters = Max(1.0, ceil(shape->vectors * shape->record_bytes /
									cluster_bytes));

	/* each level of the leader tree is a scan of its fan-out */
	fanout = pow(shape->clusters, 1.0 / levels);
	shape->cpu_assign_s = shape->vectors * levels * fanout *
		(width / sizeof(float4)) / mul_adds_per_s;
	shape->cpu_merge_s = shape->vectors * shape->record_bytes /
		PLAN_MERGE_BYTES_PER_S;
}

/* The tablespaces to consider, all of which need a profile. */
static int
plan_tablespaces(ArrayType *array, Oid *oids, EcpModelDevice *devices)
{
	int			n;
	const char **names = ecp_user_array_name(array, "tablespaces", 1,
											 PLAN_TABLESPACES_MAX, &n);

	for (int i = 0; i < n; i++)
	{
		EcpDeviceProfile profile;

		oids[i] = get_tablespace_oid(names[i], false);
		if (!ecp_device_profile_read(oids[i], &profile))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("tablespace \"%s\" has not been measured",
							names[i]),
					 errhint("Run ecp_calibrate() on it.")));
		ecp_model_device(&profile, &devices[i]);
	}
	return n;
}

static Datum
plan_tablespace_name(Oid tablespace)
{
	return DirectFunctionCall1(namein,
							   CStringGetDatum(get_tablespace_name(tablespace)));
}

/*
 * ecp_plan_build(rel, col, tablespaces, cluster_size, in_buff, levels, dirty,
 *				  mul_adds_per_s)
 *		A row for each way to place the three kinds of data, and each policy.
 */
Datum
ecp_plan_build(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	EcpBuildShape shape;
	Oid			oids[PLAN_TABLESPACES_MAX];
	EcpModelDevice devices[PLAN_TABLESPACES_MAX];
	int			n;

	ecp_shards_refuse(PG_GETARG_OID(0));
	if (PG_GETARG_INT32(5) < 1 || !(PG_GETARG_FLOAT8(3) > 0) ||
		!(PG_GETARG_FLOAT8(7) > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size of clusters, number of levels and speed of the CPU must be positive")));
	n = plan_tablespaces(PG_GETARG_ARRAYTYPE_P(2), oids, devices);
	plan_shape_of_table(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)),
						PG_GETARG_FLOAT8(3), PG_GETARG_INT32(5),
						PG_GETARG_FLOAT8(7), &shape);
	shape.in_buff_bytes = PG_GETARG_FLOAT8(4);
	shape.merge_bytes = maintenance_work_mem * 1024.0 * PLAN_MERGE_SHARE;
	shape.dirty_bytes = PG_GETARG_FLOAT8(6) > 0 ? PG_GETARG_FLOAT8(6) :
		ecp_model_dirty_bytes();
	plan_check_shape(&shape);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < n * n * n * 2; i++)
	{
		int			raw = i / (2 * n * n);
		int			temp = i / (2 * n) % n;
		int			final = i / 2 % n;
		bool		tempfiles = i % 2 == 0;
		EcpBuildLayout layout;
		EcpBuildCost cost;
		Datum		values[10];
		bool		nulls[10] = {0};

		CHECK_FOR_INTERRUPTS();
		layout.raw = devices[raw];
		layout.temp = devices[temp];
		layout.final = devices[final];
		layout.temp_with_raw = raw == temp;
		layout.temp_with_final = final == temp;
		plan_cost(tempfiles, &shape, &layout, &cost);
		values[0] = plan_tablespace_name(oids[raw]);
		values[1] = plan_tablespace_name(oids[temp]);
		values[2] = plan_tablespace_name(oids[final]);
		values[3] = CStringGetTextDatum(tempfiles ? "tempfiles" : "chunkfiles");
		values[4] = Float8GetDatum(shape.cpu_assign_s + cost.assign_wait_s);
		values[5] = Float8GetDatum(shape.cpu_merge_s + cost.merge_wait_s);
		values[6] = Float8GetDatum(cost.total_s);
		values[7] = Float8GetDatum(cost.assign_wait_s);
		values[8] = Float8GetDatum(cost.merge_wait_s);
		values[9] = Float8GetDatum(tempfiles ? cost.appends : cost.runs);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc,
							 values, nulls);
	}
	return (Datum) 0;
}
