/*-------------------------------------------------------------------------
 *
 * ecp_knn_input.c
 *	  Many queries at once: taking the queries that a function is given.
 *
 * They are an array of vectors, or what a query of the user's returns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "catalog/pg_type.h"
#include "ecp/batch/ecp_knn.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "vector/vector_value.h"

/* Rows fetched from SPI at a time. */
#define INPUT_FETCH			1000

int
ecp_knn_check_number(int n, const char *name)
{
	if (n < 1 || n > ECP_KNN_K_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", name, ECP_KNN_K_MAX)));
	return n;
}

const char *
ecp_knn_condition(FunctionCallInfo fcinfo, int arg)
{
	return PG_ARGISNULL(arg) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(arg));
}

bool
ecp_knn_result_begin(FunctionCallInfo fcinfo, int n)
{
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < n; i++)
	{
		if (PG_ARGISNULL(i))
			return false;
	}
	return true;
}

static void
error_callback(void *arg)
{
	errcontext("query " INT64_FORMAT, ((const EcpKnnErrorQuery *) arg)->id);
}

void
ecp_knn_error_begin(EcpKnnErrorQuery *query, int64 id)
{
	query->id = id;
	query->callback.callback = error_callback;
	query->callback.arg = query;
	query->callback.previous = error_context_stack;
	error_context_stack = &query->callback;
}

void
ecp_knn_error_end(EcpKnnErrorQuery *query)
{
	Assert(error_context_stack == &query->callback);
	error_context_stack = query->callback.previous;
}

void
ecp_knn_input_init(EcpKnnInput *input, Relation index)
{
	input->store = tuplestore_begin_heap(true, false, work_mem);
	input->desc = CreateTemplateTupleDesc(3);
	TupleDescInitEntry(input->desc, 1, "query", INT8OID, -1, 0);
	TupleDescInitEntry(input->desc, 2, "vector", index->rd_opcintype[0], -1, 0);
	TupleDescInitEntry(input->desc, 3, "number", INT8OID, -1, 0);
	TupleDescFinalize(input->desc);
	input->n = 0;
	input->index = index;
	input->meta = NULL;
	input->convert.fn_oid = InvalidOid;
}

/* Bring a value into the form of the index's vectors. */
static Datum
input_vector(const EcpKnnInput *input, Datum value)
{
	EcpVector	vector;

	if (OidIsValid(input->convert.fn_oid))
		value = FunctionCall1(unconstify(FmgrInfo *, &input->convert), value);
	if (input->meta == NULL)
		return value;
	value = PointerGetDatum(PG_DETOAST_DATUM(value));
	ecp_vector_read(value, input->meta->ecpm_column_type, &vector);
	ecp_vector_check_dims(&vector, input->meta->ecpm_dims,
						  RelationGetRelationName(input->index));
	ecp_vector_release(&vector);
	return value;
}

void
ecp_knn_input_add(EcpKnnInput *input, int64 id, Datum value, bool isnull)
{
	Datum		values[3];
	bool		nulls[3] = {false};

	values[0] = Int64GetDatum(id);
	values[1] = value;
	nulls[1] = isnull;
	values[2] = Int64GetDatum(input->n);
	if (!isnull)
	{
		EcpKnnErrorQuery query;

		ecp_knn_error_begin(&query, id);
		values[1] = input_vector(input, value);
		ecp_knn_error_end(&query);
	}
	tuplestore_putvalues(input->store, input->desc, values, nulls);
	if (values[1] != value)
		pfree(DatumGetPointer(values[1]));
	input->n++;
}

/*
 * Values of this type are added.  What converts them is looked up once: a
 * function in SQL is planned when it is first called (200 queries real[] for a
 * column of type vector took 57 ms for that).
 */
static void
input_set_type(EcpKnnInput *input, Oid type, bool missing_ok)
{
	Oid			convert = ecp_user_table_conversion(input->index, type, missing_ok);

	if (convert == input->convert.fn_oid)
		return;
	input->convert.fn_oid = InvalidOid;
	if (OidIsValid(convert))
		fmgr_info(convert, &input->convert);
}

/*
 * Take the queries out of an array: of vectors, or, if it is of the type of a
 * vector itself, as real[] is, with one dimension more than a vector.
 */
static void
input_read_array(EcpKnnInput *input, ArrayType *array, Oid type)
{
	int			slice = 0;
	ArrayIterator iterator;
	Datum		value;
	bool		isnull;

	input_set_type(input, type, true);
	if (type == input->index->rd_opcintype[0] || OidIsValid(input->convert.fn_oid))
		slice = 1;
	else
		input_set_type(input, ARR_ELEMTYPE(array), false);
	if (ARR_NDIM(array) == 0)
		return;
	if (ARR_NDIM(array) > slice + 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array of queries must have at most %d dimensions",
						slice + 1)));
	if (ARR_NDIM(array) == slice)
	{
		ecp_knn_input_add(input, 1, PointerGetDatum(array), false);
		return;
	}
	iterator = array_create_iterator(array, slice, NULL);
	while (array_iterate(iterator, &value, &isnull))
	{
		CHECK_FOR_INTERRUPTS();
		ecp_knn_input_add(input, input->n + 1, value, isnull);
		if (slice > 0)
			pfree(DatumGetPointer(value));
	}
	array_free_iterator(iterator);
}

/* Take the rows that SPI has fetched of it. */
static void
input_take_rows(EcpKnnInput *input)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;
	int			attno = desc->natts;
	Oid			id_type = attno == 2 ? getBaseType(SPI_gettypeid(desc, 1)) :
		InvalidOid;

	if (attno < 1 || attno > 2)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("queries must return a vector, or a number and a vector")));
	input_set_type(input, SPI_gettypeid(desc, attno), false);
	if (attno == 2 &&
		id_type != INT2OID && id_type != INT4OID && id_type != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("queries must be numbered by integers, not by type %s",
						format_type_be(id_type))));

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		bool		isnull;
		int64		id = input->n + 1;
		Datum		value;

		if (attno == 2)
		{
			value = SPI_getbinval(tuple, desc, 1, &isnull);
			if (isnull)
				ereport(ERROR,
						(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						 errmsg("number of a query must not be NULL")));
			id = id_type == INT2OID ? DatumGetInt16(value) :
				id_type == INT4OID ? DatumGetInt32(value) :
				DatumGetInt64(value);
		}
		value = SPI_getbinval(tuple, desc, attno, &isnull);
		ecp_knn_input_add(input, id, value, isnull);
	}
}

/* Take the queries from the rows of a user's query, which only reads. */
static void
input_read_query(EcpKnnInput *input, const char *sql)
{
	SPIPlanPtr	plan;
	Portal		portal;

	SPI_connect();
	plan = SPI_prepare(sql, 0, NULL);
	if (plan == NULL)
		elog(ERROR, "could not prepare query: %s",
			 SPI_result_code_string(SPI_result));
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, true);
	do
	{
		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, INPUT_FETCH);
		input_take_rows(input);
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	SPI_finish();
}

/*
 * ecp_knn_input_read
 *		Take the queries of an argument: an array, or the text of a query.
 */
void
ecp_knn_input_read(EcpKnnInput *input, Datum argument, Oid type)
{
	if (type == TEXTOID)
		input_read_query(input, TextDatumGetCString(argument));
	else
		input_read_array(input, DatumGetArrayTypeP(argument), type);
}
