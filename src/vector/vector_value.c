/*-------------------------------------------------------------------------
 *
 * vector_value.c
 *	  Takes vectors out of Datums and puts them into Datums.
 *
 * The one place that knows how a column's type stores its elements: bytea
 * is the elements themselves, arrays have a header, and so have bit and pgvector's
 * types.  Values arrive with one-byte headers, compressed or
 * out of line, as the heap stores them; everything is detoasted as little as
 * the element's alignment allows (bytes need none, so a bytea with a short
 * header is read in place).
 *
 * Called by the operators (vector_ops.c) and by everything in src/ecp that
 * gets a column's Datum.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/varbit.h"

#include "base/compat.h"
#include "vector/vector_kernels.h"
#include "vector/vector_codes.h"
#include "vector/vector_value.h"

/* vector and halfvec, as pgvector stores them. */
typedef struct PgvectorData
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int16		dim;
	int16		unused;
	char		elements[FLEXIBLE_ARRAY_MEMBER];	/* aligned to 4 bytes */
} PgvectorData;

/*
 * The element kinds, as all but the kernels know them: leaders are means of
 * rows, which have been brought to unit length for cosine.
 */
typedef struct ElemKind
{
	const char *name;
	int			bits;			/* of one element */
	EcpElem		leader;			/* kind of the leaders of such rows */
	EcpElem		unit_leader;	/* the same for cosine */
} ElemKind;

static const ElemKind elem_kinds[] = {
	/* uint8 of unit length would be all zeros and ones */
	[ECP_ELEM_UINT8] = {"uint8", 8, ECP_ELEM_UINT8, ECP_ELEM_FLOAT32},
	[ECP_ELEM_FLOAT32] = {"float32", 32, ECP_ELEM_FLOAT32, ECP_ELEM_FLOAT32},
	/* means of bits say how many of the rows have them */
	[ECP_ELEM_BIT] = {"bit", 1, ECP_ELEM_UINT8, ECP_ELEM_UINT8},
	[ECP_ELEM_FLOAT16] = {"float16", 16, ECP_ELEM_FLOAT32, ECP_ELEM_FLOAT32},
	[ECP_ELEM_NIBBLES] = {"nibbles", 4, ECP_ELEM_FLOAT32, ECP_ELEM_FLOAT32},
};

static inline const ElemKind *
elem_kind(EcpElem elem)
{
	if ((int) elem < ECP_ELEM_UINT8 || (int) elem >= lengthof(elem_kinds))
		elog(ERROR, "unrecognized element kind: %d", (int) elem);
	return &elem_kinds[elem];
}

const char *
ecp_elem_name(EcpElem elem)
{
	return elem_kind(elem)->name;
}

EcpElem
ecp_elem_for_leaders(EcpElem elem, EcpMetric metric)
{
	return metric == ECP_METRIC_COSINE ? elem_kind(elem)->unit_leader :
		elem_kind(elem)->leader;
}

EcpElem
ecp_elem_for_query(EcpElem elem)
{
	return elem == ECP_ELEM_FLOAT16 || elem == ECP_ELEM_NIBBLES ?
		ECP_ELEM_FLOAT32 : elem;
}

Size
ecp_vector_bytes(EcpElem elem, int dims)
{
	if (elem == ECP_ELEM_NIBBLES)
		return EcpNibblesBytes(dims);
	return ((Size) dims * elem_kind(elem)->bits + BITS_PER_BYTE - 1) /
		BITS_PER_BYTE;
}

EcpElem
ecp_column_type_elem(EcpColumnType type)
{
	switch (type)
	{
		case ECP_COLUMN_BYTEA:
			return ECP_ELEM_UINT8;
		case ECP_COLUMN_BIT:
			return ECP_ELEM_BIT;
		default:
			return ECP_ELEM_FLOAT32;
	}
}

/* Report the first element that is not finite. */
static void
vector_refuse_elements(const EcpVector *vector)
{
	const float4 *elements = vector->data;
	int			i = 0;

	while (i < vector->dims - 1 && isfinite(elements[i]))
		i++;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("vector elements must be finite"),
			 errdetail("Element %d is %s.", i + 1,
					   isnan(elements[i]) ? "NaN" :
					   elements[i] < 0 ? "-Infinity" : "Infinity")));
}

/* Report the first NULL in an array of one dimension. */
static void
vector_refuse_nulls(const ArrayType *array)
{
	const uint8 *nulls = ARR_NULLBITMAP(array);
	int			i = 0;

	while (nulls[i / BITS_PER_BYTE] & (1 << i % BITS_PER_BYTE))
		i++;
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("vector must not contain null elements"),
			 errdetail("Element %d is null.", i + 1)));
}

/* Find the elements of an array; if it is no vector, an error or false. */
static bool
vector_find_array(ArrayType *array, Oid elemtype, bool report, EcpVector *vector)
{
	bool		has_nulls = ARR_HASNULL(array) && array_contains_nulls(array);

	if (ARR_ELEMTYPE(array) == elemtype && ARR_NDIM(array) <= 1 && !has_nulls)
	{
		vector->dims = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
		vector->data = ARR_DATA_PTR(array);
		vector->plain = ARR_NDIM(array) == 1 && ARR_LBOUND(array)[0] == 1;
		return true;
	}
	if (!report)
		return false;
	if (ARR_ELEMTYPE(array) != elemtype)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("vector must be an array of type %s",
						format_type_be(elemtype))));
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("vector must be a one-dimensional array"),
				 errdetail("The array has %d dimensions.", ARR_NDIM(array))));
	vector_refuse_nulls(array);
	return false;
}

/* The same of a value of one of pgvector's types. */
static bool
vector_find_pgvector(const PgvectorData *stored, Size elem_bytes, bool report,
					 EcpVector *vector)
{
	bool		found = VARSIZE(stored) >= offsetof(PgvectorData, elements) &&
		VARSIZE(stored) == offsetof(PgvectorData, elements) + stored->dim * elem_bytes;

	if (!found && report)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("vector has a wrong size"),
				 errdetail("Its %d dimensions do not take %d bytes.",
						   stored->dim, (int) VARSIZE(stored))));
	vector->dims = stored->dim;
	vector->data = stored->elements;
	return found;
}

/* The same of a value that is not toasted, of any type. */
static bool
vector_find(struct varlena *stored, EcpColumnType type, bool report, EcpVector *vector)
{
	vector->plain = true;
	switch (type)
	{
		case ECP_COLUMN_BYTEA:
			vector->dims = VARSIZE_ANY_EXHDR(stored);
			vector->data = VARDATA_ANY(stored);
			return true;
		case ECP_COLUMN_BIT:
			vector->dims = VARBITLEN(stored);
			vector->data = VARBITS(stored);
			return true;
		case ECP_COLUMN_ARRAY:
			return vector_find_array((ArrayType *) stored, FLOAT4OID, report, vector);
		case ECP_COLUMN_DOUBLES:
			return vector_find_array((ArrayType *) stored, FLOAT8OID, report, vector);
		case ECP_COLUMN_VECTOR:
			return vector_find_pgvector((PgvectorData *) stored, sizeof(float4), report,
										vector);
		case ECP_COLUMN_HALFVEC:
			return vector_find_pgvector((PgvectorData *) stored, sizeof(uint16), report,
										vector);
	}
	elog(ERROR, "unrecognized column type of vector: %d", (int) type);
	return false;				/* keep compiler quiet */
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

/* Replace the halves of a halfvec by a palloc'd array of float4. */
static void
vector_read_halves(EcpVector *vector)
{
	const uint16 *halves = vector->data;
	float4	   *elements = palloc(vector->dims * sizeof(float4));

	Assert(vector->elem == ECP_ELEM_FLOAT32);
	ecp_halves_to_floats(halves, vector->dims, elements);
	ecp_vector_release(vector);
	vector->data = vector->detoasted = elements;
}

/*
 * Replace the elements of a double precision[] by a palloc'd array of float4,
 * rounded.  What is too small becomes zero.
 */
static void
vector_read_doubles(EcpVector *vector)
{
	const float8 *doubles = vector->data;
	float4	   *elements = palloc(vector->dims * sizeof(float4));
	bool		exact = true;

	Assert(vector->elem == ECP_ELEM_FLOAT32);
	for (int i = 0; i < vector->dims; i++)
	{
		elements[i] = (float4) doubles[i];
		exact &= elements[i] == doubles[i];
	}
	for (int i = 0; i < vector->dims && !exact; i++)
	{
		if (isinf(elements[i]) && !isinf(doubles[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("vector element is out of range for type real"),
					 errdetail("Element %d is %g.", i + 1, doubles[i])));
	}
	ecp_vector_release(vector);
	vector->data = vector->detoasted = elements;
	vector->plain &= exact;
}

/* Eight elements' bits. */
typedef uint32 VectorBits __attribute__((vector_size(32), aligned(4), may_alias));

/*
 * No branch inside the loop: this runs for every value that an operator or
 * a build reads, and the answer is nearly always yes.
 */
static bool
vector_is_finite(const float4 *elements, int dims)
{
	int			whole = dims - dims % 8;
	VectorBits	lanes = {0};
	uint32		bad = 0;

	for (int i = 0; i < whole; i += 8)
	{
		VectorBits	bits = *(const VectorBits *) (elements + i);

		lanes |= (VectorBits) ((bits & FLOAT4_EXPONENT) == FLOAT4_EXPONENT);
	}
	for (int i = 0; i < 8; i++)
		bad |= lanes[i];
	for (int i = whole; i < dims; i++)
	{
		uint32		bits;

		memcpy(&bits, &elements[i], sizeof(bits));
		bad |= ((bits & FLOAT4_EXPONENT) == FLOAT4_EXPONENT);
	}

	return bad == 0;
}

/* Is no half infinite or not a number: no exponent is all ones? */
static bool
vector_halves_are_finite(const uint16 *halves, int dims)
{
	bool		bad = false;

	for (int i = 0; i < dims; i++)
		bad |= (halves[i] & HALF_EXPONENT) == HALF_EXPONENT;
	return !bad;
}

/*
 * ecp_vector_read
 *		Take the vector out of "value"; see the header for what is refused.
 *
 * vector->data stays valid until ecp_vector_release(), or as long as the
 * Datum's own memory when nothing had to be copied.
 */
void
ecp_vector_read(Datum value, EcpColumnType type, EcpVector *vector)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	struct varlena *detoasted = type == ECP_COLUMN_BYTEA ?
		pg_detoast_datum_packed(stored) : pg_detoast_datum(stored);

	vector->elem = ecp_column_type_elem(type);
	(void) vector_find(detoasted, type, true, vector);
	vector->detoasted = (detoasted != stored) ? detoasted : NULL;
	if (vector->dims < 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vector must have at least one dimension")));
	if (vector->dims > ECP_DIMS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("vector cannot have more than %d dimensions",
						ECP_DIMS_MAX),
				 errdetail("The vector has %d dimensions.", vector->dims)));

	if (type == ECP_COLUMN_HALFVEC)
		vector_read_halves(vector);
	else if (type == ECP_COLUMN_DOUBLES)
		vector_read_doubles(vector);
	if (vector->elem == ECP_ELEM_FLOAT32 &&
		!vector_is_finite(vector->data, vector->dims))
		vector_refuse_elements(vector);
}

/*
 * ecp_vector_is_readable
 *		Would ecp_vector_read() find a vector of "dims" dimensions?
 */
bool
ecp_vector_is_readable(Datum value, EcpColumnType type, int dims)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	EcpVector	vector;

	Assert(!VARATT_IS_EXTENDED(stored));
	if (!vector_find(stored, type, false, &vector) || vector.dims != dims)
		return false;
	if (type == ECP_COLUMN_HALFVEC)
		return vector_halves_are_finite(vector.data, dims);
	if (type != ECP_COLUMN_DOUBLES)
		return ecp_column_type_elem(type) != ECP_ELEM_FLOAT32 ||
			vector_is_finite(vector.data, dims);
	for (int i = 0; i < dims; i++)
	{
		if (!isfinite((float4) ((const float8 *) vector.data)[i]))
			return false;
	}
	return true;
}

/* A value of one of pgvector's types, without its elements. */
static PgvectorData *
pgvector_form(int dims, Size elem_bytes)
{
	Size		bytes = offsetof(PgvectorData, elements) + dims * elem_bytes;
	PgvectorData *result = palloc0(bytes);

	SET_VARSIZE(result, bytes);
	result->dim = dims;
	return result;
}

/* An array of one dimension, without its elements. */
static ArrayType *
array_form(int dims, Oid elemtype, Size elem_bytes)
{
	Size		bytes = ARR_OVERHEAD_NONULLS(1) + dims * elem_bytes;
	ArrayType  *result = palloc0(bytes);

	SET_VARSIZE(result, bytes);
	result->ndim = 1;
	result->dataoffset = 0;		/* no null bitmap */
	result->elemtype = elemtype;
	ARR_DIMS(result)[0] = dims;
	ARR_LBOUND(result)[0] = 1;
	return result;
}

/* Make a palloc'd Datum of the column's type out of elements. */
Datum
ecp_vector_make(EcpColumnType type, int dims, const void *data)
{
	Size		bytes = ecp_vector_bytes(ecp_column_type_elem(type), dims);

	void	   *result;
	void	   *elements;

	Assert(dims >= 1 && dims <= ECP_DIMS_MAX);
	Assert(data != NULL);
	switch (type)
	{
		case ECP_COLUMN_BYTEA:
			result = palloc(VARHDRSZ + bytes);
			SET_VARSIZE(result, VARHDRSZ + bytes);
			elements = VARDATA(result);
			break;
		case ECP_COLUMN_BIT:
			result = palloc0(VARBITTOTALLEN(dims));
			SET_VARSIZE(result, VARBITTOTALLEN(dims));
			VARBITLEN(result) = dims;
			elements = VARBITS(result);
			break;
		case ECP_COLUMN_ARRAY:
			result = array_form(dims, FLOAT4OID, sizeof(float4));
			elements = ARR_DATA_PTR((ArrayType *) result);
			break;
		case ECP_COLUMN_DOUBLES:
			result = array_form(dims, FLOAT8OID, sizeof(float8));
			for (int i = 0; i < dims; i++)
				((float8 *) ARR_DATA_PTR((ArrayType *) result))[i] = ((const float4 *) data)[i];
			return PointerGetDatum(result);
		case ECP_COLUMN_VECTOR:
			result = pgvector_form(dims, sizeof(float4));
			elements = ((PgvectorData *) result)->elements;
			break;
		case ECP_COLUMN_HALFVEC:
			result = pgvector_form(dims, sizeof(uint16));
			ecp_floats_to_halves(data, dims, (uint16 *) ((PgvectorData *) result)->elements);
			return PointerGetDatum(result);
		default:
			elog(ERROR, "unrecognized column type of vector: %d", (int) type);
			return (Datum) 0;	/* keep compiler quiet */
	}
	memcpy(elements, data, bytes);
	return PointerGetDatum(result);
}

/* Report the first element that is too large for a float16. */
static void
vector_refuse_halves(const float4 *elements, int dims)
{
	int			i = 0;

	while (i < dims - 1 && fabsf(elements[i]) <= ECP_HALF_MAX)
		i++;
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("vector element is out of range for half precision"),
			 errdetail("Element %d is %.9g; at most %d in magnitude is possible.",
					   i + 1, elements[i], ECP_HALF_MAX),
			 errhint("Create the index with the storage parameter vectors = full.")));
}

/* The largest magnitude of the elements. */
static float4
vector_largest(const float4 *elements, int dims)
{
	int32		largest = 0;
	float4		result;

	/* as integers, which are in the same order */
	for (int i = 0; i < dims; i++)
	{
		int32		bits;

		memcpy(&bits, &elements[i], sizeof(bits));
		bits &= PG_INT32_MAX;
		largest = Max(largest, bits);
	}
	memcpy(&result, &largest, sizeof(result));
	return result;
}

void
ecp_vector_halve(const EcpVector *vector, bool scaled, uint16 *dst)
{
	const float4 *elements = vector->data;
	float4		largest = vector_largest(elements, vector->dims);
	float4		some[64];
	float8		scale;

	Assert(vector->elem == ECP_ELEM_FLOAT32);
	if (!scaled || largest == 0)
	{
		if (largest > ECP_HALF_MAX)
			vector_refuse_halves(elements, vector->dims);
		ecp_floats_to_halves(elements, vector->dims, dst);
		return;
	}

	/* the largest one is at least 2^14 and less than 2^15 then */
	scale = ldexp(1, 14 - ilogbf(largest));
	for (int done = 0; done < vector->dims; done += lengthof(some))
	{
		int			n = Min(vector->dims - done, lengthof(some));

		for (int i = 0; i < n; i++)
			some[i] = (float4) (elements[done + i] * scale);
		ecp_floats_to_halves(some, n, dst + done);
	}
}

/* See the header: the kinds of rows, and those of their leaders. */
void
ecp_vector_convert(const EcpVector *vector, EcpElem elem, void *dst)
{
	const uint8 *data = vector->data;
	uint8	   *bytes = dst;
	float4	   *floats = dst;

	Assert(vector->dims >= 1 && vector->dims <= ECP_DIMS_MAX);

	if (vector->elem == elem)
		memcpy(dst, data, ecp_vector_bytes(elem, vector->dims));
	else if (vector->elem == ECP_ELEM_BIT && elem == ECP_ELEM_UINT8)
	{
		for (int i = 0; i < vector->dims; i++)
			bytes[i] = (data[i / BITS_PER_BYTE] << i % BITS_PER_BYTE & 0x80) ?
				255 : 0;
	}
	else if (vector->elem == ECP_ELEM_FLOAT16 && elem == ECP_ELEM_FLOAT32)
		ecp_halves_to_floats(vector->data, vector->dims, floats);
	else if (vector->elem == ECP_ELEM_NIBBLES && elem == ECP_ELEM_FLOAT32)
		ecp_nibbles_get(vector->dims, data, floats);
	else if (vector->elem == ECP_ELEM_FLOAT32 && elem == ECP_ELEM_NIBBLES)
		ecp_nibbles_make(vector->dims, vector->data, dst);
	else if (vector->elem == ECP_ELEM_UINT8 && elem == ECP_ELEM_FLOAT32)
	{
		for (int i = 0; i < vector->dims; i++)
			floats[i] = data[i];
	}
	else
		elog(ERROR, "cannot convert element kind %d to %d",
			 (int) vector->elem, (int) elem);
}

const char *
ecp_elements_fault(EcpElem elem, int dims, const void *elements)
{
	const uint8 *bytes = elements;

	if ((elem == ECP_ELEM_FLOAT32 && !vector_is_finite(elements, dims)) ||
		(elem == ECP_ELEM_FLOAT16 && !vector_halves_are_finite(elements, dims)))
		return "an element that is not finite";
	if (elem == ECP_ELEM_NIBBLES)
		return ecp_nibbles_fault(elements);
	if (elem == ECP_ELEM_BIT && dims % BITS_PER_BYTE != 0 &&
		(bytes[dims / BITS_PER_BYTE] & (0xFF >> dims % BITS_PER_BYTE)) != 0)
		return "bits behind its last one";
	return NULL;
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
						vector->dims, indexname, dims),
				 ecp_vector_errhint(vector)));
}

int
ecp_vector_errhint(const EcpVector *vector)
{
	const char *bytes = vector->data;

	if (vector->elem != ECP_ELEM_UINT8 || (*bytes != '{' && *bytes != '['))
		return 0;
	return errhint("Write a bytea as \"\\x\" and two hexadecimal digits for each byte, as in '\\x010203'; this one begins with \"%c\".",
				   *bytes);
}
