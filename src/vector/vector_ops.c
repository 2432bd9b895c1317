/*-------------------------------------------------------------------------
 *
 * vector_ops.c
 *	  The operators <->, <#>, <=>, <+> and <&> and their functions, over real[],
 *	  double precision[], bytea and bit.
 *
 * Each SQL function is column type x metric; all of them are
 * vector_distance() with other parameters, which calls the kernels that the
 * index uses too, so that an index and a sequential scan order rows alike.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "vector/vector_distance.h"

/*
 * Distance of the two arguments.  The function is strict, and its arguments
 * are vectors of column type "type".
 */
static float8
vector_distance(FunctionCallInfo fcinfo, EcpColumnType type, EcpMetric metric)
{
	EcpVector	a;
	EcpVector	b;
	float8		distance;

	ecp_vector_read(PG_GETARG_DATUM(0), type, &a);
	ecp_vector_read(PG_GETARG_DATUM(1), type, &b);

	if (a.dims != b.dims && type == ECP_COLUMN_BIT)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_LENGTH_MISMATCH),
				 errmsg("cannot compare bit strings of different sizes"),
				 errdetail("They have %d and %d bits.", a.dims, b.dims)));
	if (a.dims != b.dims)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("cannot compare vectors of %d and %d dimensions",
						a.dims, b.dims),
				 ecp_vector_errhint(&a), ecp_vector_errhint(&b)));

	distance = ecp_distance(a.elem, metric, a.dims, a.data, b.data);

	ecp_vector_release(&a);
	ecp_vector_release(&b);

	return distance;
}

#define ECP_DISTANCE_FUNCTION(name, type, metric, sign) \
	PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_FLOAT8(sign vector_distance(fcinfo, type, metric)); \
	} \
	extern int no_such_variable

#define ECP_DISTANCE_FUNCTIONS(name, type) \
	ECP_DISTANCE_FUNCTION(ecp_##name##_l2_distance, type, ECP_METRIC_L2, +); \
	ECP_DISTANCE_FUNCTION(ecp_##name##_inner_product, type, ECP_METRIC_IP, -); \
	ECP_DISTANCE_FUNCTION(ecp_##name##_negative_inner_product, type, ECP_METRIC_IP, +); \
	ECP_DISTANCE_FUNCTION(ecp_##name##_cosine_distance, type, ECP_METRIC_COSINE, +)

ECP_DISTANCE_FUNCTIONS(real, ECP_COLUMN_ARRAY);
ECP_DISTANCE_FUNCTIONS(double, ECP_COLUMN_DOUBLES);
ECP_DISTANCE_FUNCTIONS(bytea, ECP_COLUMN_BYTEA);
ECP_DISTANCE_FUNCTION(ecp_real_l1_distance, ECP_COLUMN_ARRAY, ECP_METRIC_L1, +);
ECP_DISTANCE_FUNCTION(ecp_double_l1_distance, ECP_COLUMN_DOUBLES, ECP_METRIC_L1, +);
ECP_DISTANCE_FUNCTION(ecp_bit_hamming_distance, ECP_COLUMN_BIT, ECP_METRIC_HAMMING, +);
ECP_DISTANCE_FUNCTION(ecp_bit_jaccard_distance, ECP_COLUMN_BIT, ECP_METRIC_JACCARD, +);

/* A vector of one column type as the same vector of another. */
static Datum
vector_cast(Datum value, EcpColumnType from, EcpColumnType to)
{
	EcpVector	vector;
	Datum		result;

	Assert(ecp_column_type_elem(from) == ecp_column_type_elem(to));
	ecp_vector_read(value, from, &vector);
	result = ecp_vector_make(to, vector.dims, vector.data);
	ecp_vector_release(&vector);
	return result;
}

PGDLLEXPORT Datum ecp_real_from_double(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_double_from_real(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_real_from_double);
PG_FUNCTION_INFO_V1(ecp_double_from_real);

/* SQL function ecp_real(): a double precision[] as the operators see it. */
Datum
ecp_real_from_double(PG_FUNCTION_ARGS)
{
	return vector_cast(PG_GETARG_DATUM(0), ECP_COLUMN_DOUBLES, ECP_COLUMN_ARRAY);
}

/* SQL function ecp_double(): the reverse. */
Datum
ecp_double_from_real(PG_FUNCTION_ARGS)
{
	return vector_cast(PG_GETARG_DATUM(0), ECP_COLUMN_ARRAY, ECP_COLUMN_DOUBLES);
}

PGDLLEXPORT Datum ecp_kernels_sql(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_kernels_sql);

/* SQL function ecp_kernels(): the instruction set in use. */
Datum
ecp_kernels_sql(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(ecp_kernels_name()));
}

/* ---- the setting ecp.kernels ---- */

static const struct config_enum_entry kernels_values[] = {
	{"auto", 0, false},
	{"avx2", 1, false},
	{"avx512", 2, false},
	{"dotprod", 3, false},
	{"neon", 4, false},
	{"scalar", 5, false},
	{NULL, 0, false}
};

static int	kernels_option = 0;

static bool
kernels_check(int *value, void **extra, GucSource source)
{
	const char *name = kernels_values[*value].name;

	if (ecp_kernels_available(name))
		return true;
	GUC_check_errdetail("This machine does not have the instruction set \"%s\".", name);
	return false;
}

static void
kernels_assign(int value, void *extra)
{
	(void) ecp_kernels_select(kernels_values[value].name);
}

void
ecp_kernels_options_init(void)
{
	DefineCustomEnumVariable("ecp.kernels",
							 "Instruction set with which distances are computed.",
							 "\"auto\" takes the best one that the machine has.  Results are the same with all of them.",
							 &kernels_option, 0, kernels_values, PGC_USERSET, 0,
							 kernels_check, kernels_assign, NULL);
}
