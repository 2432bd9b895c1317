/*-------------------------------------------------------------------------
 *
 * device_calibrate.c
 *	  What ecp_calibrate() measures with: a file, and transfers of its blocks.
 *
 * Which transfers, in what time, and what follows from them, is PL/pgSQL,
 * _ecp_calibrate() in sql/ecp_storage--1.0.sql.  It and the functions of this file
 * that it calls are for the extension's owner, as whom ecp_calibrate() runs it: the
 * right to measure is the one to call ecp_calibrate(), and to create files in the
 * tablespace.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/htup_details.h"
#include "base/user_index.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "device/measure/device_measure.h"

#define CAL_BLOCK_MAX	(64 * 1024 * 1024)

PG_FUNCTION_INFO_V1(ecp_calibrate);
PG_FUNCTION_INFO_V1(ecp_calibrate_fill);
PG_FUNCTION_INFO_V1(ecp_calibrate_transfer);
PG_FUNCTION_INFO_V1(ecp_processors);

/* The file that is measured; of no bytes if there is none. */
static EcpDeviceFile cal_file;

/*
 * ecp_processors()
 *		The number of processors, which ecp_advise() keeps to.
 */
Datum
ecp_processors(PG_FUNCTION_ARGS)
{
	long		n = sysconf(_SC_NPROCESSORS_ONLN);

	PG_RETURN_INT32((int32) Max(n, 1));
}

/*
 * ecp_calibrate_fill(tablespace, bytes, seconds)
 *		Write the file, of these bytes or of as many as there is time for.
 */
Datum
ecp_calibrate_fill(PG_FUNCTION_ARGS)
{
	int64		bytes = PG_GETARG_INT64(1);
	double		seconds = PG_GETARG_FLOAT8(2);
	double		bytes_per_s;
	double		sync_s = 0;
	Datum		values[3];
	bool		nulls[3] = {0};

	if (bytes < 1 || !(seconds > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bytes and seconds must be positive")));
	ecp_device_file_create(ecp_device_file_tablespace(NameStr(*PG_GETARG_NAME(0)),
													  "ecp_calibrate()"),
						   &cal_file);
	ecp_device_file_fill(&cal_file, bytes, seconds, &bytes_per_s, &sync_s);
	values[0] = Int64GetDatum(cal_file.bytes);
	values[1] = Float8GetDatum(bytes_per_s);
	values[2] = Float8GetDatum(sync_s);
	PG_RETURN_DATUM(ecp_user_row(fcinfo, lengthof(values), values, nulls));
}

/* A field of the composite value that says what to transfer. */
static Datum
cal_field(HeapTupleHeader what, const char *name)
{
	bool		isnull;
	Datum		value = GetAttributeByName(what, name, &isnull);

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"%s\" of a transfer must not be null", name)));
	return value;
}

static double
cal_delay_us(const EcpJobResult *result)
{
	return result->ops > 0 ? result->busy_s / result->ops * 1e6 : 0;
}

/*
 * ecp_calibrate_transfer(what, seconds, warmup_s)
 *		Transfer blocks of the file, or of its first file_bytes.
 */
Datum
ecp_calibrate_transfer(PG_FUNCTION_ARGS)
{
	HeapTupleHeader what = PG_GETARG_HEAPTUPLEHEADER(0);
	EcpTransferTask task = {0};
	EcpJobResult results[ECP_JOB_WORKERS_MAX];
	EcpJobResult sum;
	int			workers = DatumGetInt32(cal_field(what, "workers"));
	int			launched;
	Datum		values[8];
	bool		nulls[8] = {0};

	strlcpy(task.path, cal_file.path, sizeof(task.path));
	task.write = DatumGetBool(cal_field(what, "write"));
	task.random = DatumGetBool(cal_field(what, "random"));
	task.warm = DatumGetBool(cal_field(what, "warm"));
	task.sync_each = DatumGetBool(cal_field(what, "sync_each"));
	task.sync_end = DatumGetBool(cal_field(what, "sync_end"));
	task.mixed = DatumGetBool(cal_field(what, "mixed"));
	task.block_bytes = DatumGetInt32(cal_field(what, "block"));
	task.step_bytes = DatumGetInt32(cal_field(what, "apart"));
	task.misalign = DatumGetInt32(cal_field(what, "misalign"));
	task.file_bytes = DatumGetInt64(cal_field(what, "file_bytes"));
	task.max_ops = DatumGetInt64(cal_field(what, "max_ops"));
	task.max_seconds = PG_GETARG_FLOAT8(1);
	task.warmup_s = PG_GETARG_FLOAT8(2);
	if (task.file_bytes < 1 || task.file_bytes > cal_file.bytes ||
		task.block_bytes < 1 || task.block_bytes > CAL_BLOCK_MAX ||
		task.step_bytes < 0 || task.misalign < 0 ||
		task.misalign > task.file_bytes ||
		workers < 1 || workers > ECP_JOB_WORKERS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("transfer is not one of blocks of the file")));

	/* all that was written was synced */
	if (DatumGetBool(cal_field(what, "cold")))
		ecp_device_file_forget(&cal_file, false);
	launched = ecp_job_run(EcpJobOf(ecp_job_transfer), &task, sizeof(task),
						   workers, 0, NULL, results);
	ecp_job_sum(results, launched, &sum);
	values[0] = Int32GetDatum(launched);
	values[1] = Int64GetDatum(sum.ops);
	values[2] = Int64GetDatum(sum.bytes);
	values[3] = Float8GetDatum(sum.counted_s > 0 ? sum.ops / sum.counted_s : 0);
	values[4] = Float8GetDatum(sum.counted_s > 0 ? sum.bytes / sum.counted_s * 1e-6 : 0);
	values[5] = Float8GetDatum(cal_delay_us(&sum));
	values[6] = Float8GetDatum(cal_delay_us(&results[0]));
	values[7] = Int64GetDatum(task.write ? sum.bytes :
							  task.mixed && launched > 1 ? results[1].bytes : 0);
	PG_RETURN_DATUM(ecp_user_row(fcinfo, lengthof(values), values, nulls));
}

/*
 * ecp_calibrate(tablespace, file_bytes, seconds, max_written, block_bytes,
 *				 workers, verbose)
 *		Run _ecp_calibrate() as the owner of this function, for a caller who may
 *		create files in the tablespace.
 */
Datum
ecp_calibrate(PG_FUNCTION_ARGS)
{
	Oid			types[7] = {NAMEOID, INT8OID, FLOAT8OID, INT8OID, INT4ARRAYOID, INT4ARRAYOID, BOOLOID};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[7];
	HeapTuple	tuple;
	Oid			owner;
	Oid			userid;
	int			context;

	(void) ecp_device_file_tablespace(NameStr(*PG_GETARG_NAME(0)),
									  "ecp_calibrate()");
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < lengthof(values); i++)
		values[i] = PG_GETARG_DATUM(i);
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(fcinfo->flinfo->fn_oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u",
			 fcinfo->flinfo->fn_oid);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);

	GetUserIdAndSecContext(&userid, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE);
	SPI_connect();
	if (SPI_execute_with_args("SELECT * FROM ecp_storage._ecp_calibrate($1, $2, $3, $4, $5, $6, $7)",
							  lengthof(values), types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not call _ecp_calibrate()");
	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(rsinfo->setResult, SPI_tuptable->vals[i]);
	SPI_finish();
	SetUserIdAndSecContext(userid, context);
	ecp_device_file_close(&cal_file);
	cal_file.bytes = 0;
	return (Datum) 0;
}
