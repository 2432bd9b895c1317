/*-------------------------------------------------------------------------
 *
 * device_plan.c
 *	  The model of device_model.c from SQL, on devices that are given by their
 *	  figures: of data sheets, ecp_build_model(), or measured, ecp_plan_build().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/user_index.h"
#include "device/cost/device_model.h"

#define PLAN_FIGURES_MAX		1000

PG_FUNCTION_INFO_V1(ecp_build_model);
PG_FUNCTION_INFO_V1(ecp_dirty_bytes);

/*
 * A device given as {latency ms, read MB/s, write MB/s, small writes/s}, and if it
 * was measured {..., ms of a small read after a step, ratio of reads beside writes}.
 */
static void
plan_device(ArrayType *array, EcpModelDevice *device)
{
	int			n;
	double	   *figures = ecp_user_array_float8(array, "figures of a device", 0,
												PLAN_FIGURES_MAX, &n);

	if (n != 4 && n != 6)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("a device is given by four figures"),
				 errhint("They are latency in milliseconds, read and write throughput in MB/s, and small writes per second.")));
	for (int i = 0; i < n; i++)
	{
		/* a measured latency may be 0 */
		if (!((figures[i] > 0 || (n == 6 && i % 4 == 0 && figures[i] == 0)) &&
			  isfinite(figures[i])))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("figures of a device must be positive and finite")));
	}
	memset(device, 0, sizeof(*device));
	device->read_latency_s = figures[0] * 1e-3;
	device->read_bps = figures[1] * 1e6;
	device->write_bps = figures[2] * 1e6;
	device->small_write_s = 1.0 / figures[3];
	device->measured = n == 6;
	if (device->measured)
	{
		device->step_read_s = figures[4] * 1e-3;
		device->mixed_ratio = figures[5];
	}
}

/*
 * ecp_build_model(vectors, record_bytes, raw_bytes, clusters, raw, temp, final,
 *				   temp_with_raw, temp_with_final, in_buff, merge_bytes, dirty,
 *				   cpu_assign_s, cpu_merge_s)
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
	shape.raw_bytes = PG_GETARG_FLOAT8(2);
	if (shape.raw_bytes == 0)
		shape.raw_bytes = shape.vectors * shape.record_bytes;
	shape.clusters = PG_GETARG_FLOAT8(3);
	plan_device(PG_GETARG_ARRAYTYPE_P(4), &layout.raw);
	plan_device(PG_GETARG_ARRAYTYPE_P(5), &layout.temp);
	plan_device(PG_GETARG_ARRAYTYPE_P(6), &layout.final);
	layout.temp_with_raw = PG_GETARG_BOOL(7);
	layout.temp_with_final = PG_GETARG_BOOL(8);
	shape.in_buff_bytes = PG_GETARG_FLOAT8(9);
	shape.merge_bytes = PG_GETARG_FLOAT8(10);
	shape.dirty_bytes = PG_GETARG_FLOAT8(11);
	shape.cpu_assign_s = PG_GETARG_FLOAT8(12);
	shape.cpu_merge_s = PG_GETARG_FLOAT8(13);
	if (!(shape.vectors > 0 && shape.record_bytes > 0 &&
		  shape.clusters > 0 && shape.in_buff_bytes > 0 &&
		  shape.dirty_bytes >= 0 && shape.cpu_assign_s >= 0 &&
		  shape.cpu_merge_s >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sizes and numbers of a build must be positive")));

	InitMaterializedSRF(fcinfo, 0);
	for (int tempfiles = 1; tempfiles >= 0; tempfiles--)
	{
		EcpBuildCost cost;
		Datum		values[7];
		bool		nulls[7] = {0};

		if (tempfiles)
			ecp_model_tempfiles(&shape, &layout, &cost);
		else
			ecp_model_chunkfiles(&shape, &layout, &cost);
		if (!isfinite(cost.total_s))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("sizes and figures of devices of a build are out of range")));
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

/* ecp_dirty_bytes(): how much written data the system keeps in memory */
Datum
ecp_dirty_bytes(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(ecp_model_dirty_bytes());
}
