/*-------------------------------------------------------------------------
 *
 * user_array.c
 *	  Arrays that are arguments of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/user_index.h"
#include "catalog/pg_type.h"
#include "utils/float.h"

static void
array_read(ArrayType *array, Oid type, const char *what, int least, int most,
		   Datum **elems, bool **nulls, int *n)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("array of %s must have one dimension", what)));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (*n < least || *n > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("between %d and %d %s must be given", least, most,
						what)));
	Assert(ARR_ELEMTYPE(array) == type);
	if (type == FLOAT8OID)
		deconstruct_array(array, type, sizeof(float8), FLOAT8PASSBYVAL,
						  TYPALIGN_DOUBLE, elems, nulls, n);
	else if (type == INT4OID)
		deconstruct_array(array, type, sizeof(int32), true, TYPALIGN_INT,
						  elems, nulls, n);
	else
		deconstruct_array(array, type, NAMEDATALEN, false, TYPALIGN_CHAR,
						  elems, nulls, n);
}

double *
ecp_user_array_float8(ArrayType *array, const char *what, int least, int most,
					  int *n)
{
	Datum	   *elems;
	bool	   *nulls;
	double	   *result;

	array_read(array, FLOAT8OID, what, least, most, &elems, &nulls, n);
	result = palloc((*n + 1) * sizeof(double));
	for (int i = 0; i < *n; i++)
		result[i] = nulls[i] ? get_float8_nan() : DatumGetFloat8(elems[i]);
	return result;
}

int *
ecp_user_array_int4(ArrayType *array, const char *what, int least, int most,
					int *n, bool **nulls)
{
	Datum	   *elems;
	bool	   *isnull;
	int		   *result;

	array_read(array, INT4OID, what, least, most, &elems, &isnull, n);
	if (nulls)
		*nulls = isnull;
	result = palloc((*n + 1) * sizeof(int));
	for (int i = 0; i < *n; i++)
		result[i] = isnull[i] ? 0 : DatumGetInt32(elems[i]);
	return result;
}

const char **
ecp_user_array_name(ArrayType *array, const char *what, int least, int most,
					int *n)
{
	Datum	   *elems;
	bool	   *nulls;
	const char **result;

	array_read(array, NAMEOID, what, least, most, &elems, &nulls, n);
	result = palloc((*n + 1) * sizeof(char *));
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", what)));
		result[i] = NameStr(*DatumGetName(elems[i]));
	}
	return result;
}
