/*-------------------------------------------------------------------------
 *
 * vector_value.c
 *	  Takes vectors out of Datums and puts them into Datums.
 *
 * The one place that knows how a column's type stores its elements: bytea
 * is the elements themselves, real[] has an array header.  Values arrive
 * with one-byte headers, compressed or out of line, as the heap stores them;
 * everything is detoasted as little as the element's alignment allows (bytes
 * need none, so a bytea with a short header is read in place).
 *
 * Called by the operators (vector_ops.c) and by everything in src/ecp that
 * gets a column's Datum.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"

#include "base/compat.h"
#include "vector/vector_value.h"

/* All ones in the exponent: infinity or NaN. */
#define FLOAT4_EXPONENT		0x7F800000

static void vector_read_array(ArrayType *array, EcpVector *vector);
static bool vector_is_finite(const float4 *elements, int dims);

Size
ecp_elem_size(EcpElem elem)
{
	switch (elem)
	{
		case ECP_ELEM_UINT8:
			return 1;
		case ECP_ELEM_FLOAT16:
			return 2;
		case ECP_ELEM_FLOAT32:
			return 4;
	}

	elog(ERROR, "unrecognized element kind: %d", (int) elem);
	return 0;					/* keep compiler quiet */
}

/*
 * ecp_vector_read
 *		Take the vector out of "value"; see the header for what is refused.
 *
 * vector->data stays valid until ecp_vector_release(), or as long as the
 * Datum's own memory when nothing had to be copied.
 */
void
ecp_vector_read(Datum value, EcpElem elem, EcpVector *vector)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	struct varlena *detoasted;

	vector->elem = elem;

	switch (elem)
	{
		case ECP_ELEM_UINT8:
			detoasted = pg_detoast_datum_packed(stored);
			vector->dims = VARSIZE_ANY_EXHDR(detoasted);
			vector->data = VARDATA_ANY(detoasted);
			break;
		case ECP_ELEM_FLOAT32:
			detoasted = pg_detoast_datum(stored);
			vector_read_array((ArrayType *) detoasted, vector);
			break;
		default:
			elog(ERROR, "unrecognized element kind: %d", (int) elem);
	}

	vector->detoasted = (detoasted != stored) ? detoasted : NULL;

	if (vector->dims < 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vector must have at least one element")));
	if (vector->dims > ECP_DIMS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vector cannot have more than %d elements",
						ECP_DIMS_MAX),
				 errdetail("The vector has %d elements.", vector->dims)));

	if (elem == ECP_ELEM_FLOAT32 &&
		!vector_is_finite(vector->data, vector->dims))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vector elements must be finite"),
				 errdetail("The array contains NaN or infinity.")));
}

/* Find the elements of an array of real, refusing what is not a vector. */
static void
vector_read_array(ArrayType *array, EcpVector *vector)
{
	if (ARR_ELEMTYPE(array) != FLOAT4OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("vector must be an array of type real")));
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vector must be a one-dimensional array"),
				 errdetail("The array has %d dimensions.", ARR_NDIM(array))));
	if (ARR_HASNULL(array) && array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vector must not contain null elements")));

	vector->dims = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	vector->data = ARR_DATA_PTR(array);
}

/*
 * No branch inside the loop: this runs for every value that an operator or
 * a build reads, and the answer is nearly always yes.
 */
static bool
vector_is_finite(const float4 *elements, int dims)
{
	uint32		bad = 0;

	for (int i = 0; i < dims; i++)
	{
		uint32		bits;

		memcpy(&bits, &elements[i], sizeof(bits));
		bad |= ((bits & FLOAT4_EXPONENT) == FLOAT4_EXPONENT);
	}

	return bad == 0;
}

/* Free what ecp_vector_read() had to copy, if anything. */
void
ecp_vector_release(EcpVector *vector)
{
	if (vector->detoasted != NULL)
		pfree(vector->detoasted);
	vector->detoasted = NULL;
	vector->data = NULL;
}

/* Make a palloc'd Datum of the column's type out of elements. */
Datum
ecp_vector_form(EcpElem elem, int dims, const void *data)
{
	Size		bytes = dims * ecp_elem_size(elem);

	switch (elem)
	{
		case ECP_ELEM_UINT8:
			{
				bytea	   *result = palloc(VARHDRSZ + bytes);

				SET_VARSIZE(result, VARHDRSZ + bytes);
				memcpy(VARDATA(result), data, bytes);
				return PointerGetDatum(result);
			}
		case ECP_ELEM_FLOAT32:
			{
				Size		header = ARR_OVERHEAD_NONULLS(1);
				ArrayType  *result = palloc0(header + bytes);

				SET_VARSIZE(result, header + bytes);
				result->ndim = 1;
				result->dataoffset = 0; /* no null bitmap */
				result->elemtype = FLOAT4OID;
				ARR_DIMS(result)[0] = dims;
				ARR_LBOUND(result)[0] = 1;
				memcpy(ARR_DATA_PTR(result), data, bytes);
				return PointerGetDatum(result);
			}
		default:
			elog(ERROR, "unrecognized element kind: %d", (int) elem);
			return (Datum) 0;	/* keep compiler quiet */
	}
}

/*
 * Error if a vector does not have the number of elements that the rest of
 * the index has.
 */
void
ecp_vector_check_dims(const EcpVector *vector, int dims,
					  const char *indexname)
{
	if (vector->dims != dims)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vector has %d dimensions, but index \"%s\" has %d",
						vector->dims, indexname, dims)));
}
