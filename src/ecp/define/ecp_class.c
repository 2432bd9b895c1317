/*-------------------------------------------------------------------------
 *
 * ecp_class.c
 *	  What operator classes say about the columns of an index.
 *
 * The operator class of a vector has one ordering operator (strategy 1, the
 * distance, sorted as float8) and one support function (ECP_CLASS_PROC), which
 * returns how the type stores its elements (EcpColumnType) and the metric,
 * packed by EcpClassCode().  The rest of the access method knows nothing else
 * of a class, so an operator class for the type of another extension needs
 * nothing but such a function.
 *
 * The family can also have the distances of vectors of another type, and a
 * support function (ECP_CONVERT_PROC) from that type to the class's.  This says
 * that the distance of two such vectors is that of the class's operator between
 * the converted ones, and that a cast from the class's type to the other, which
 * PostgreSQL applies to a column compared with a value of the other type, loses
 * nothing that the distance depends on.  So "v::double precision[] <-> q" is
 * "v <-> ecp_real(q)" for an index on v (ecp_match.c).
 *
 * The operator class of a key attribute has search operators with the strategy
 * numbers of btree or, of sets of tags, ECP_TAGS_*; at least equality, which is
 * the same number in both.  Its support function returns the kind of the attribute
 * (EcpAttrKind).
 *
 * The support functions take one argument of type internal, which is NULL, so
 * that SQL cannot call them by mistake.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "ecp/define/ecp_define.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

StaticAssertDecl(ECP_METRIC_JACCARD < 256, "metric does not fit in a code");
StaticAssertDecl(EcpClassCode(ECP_COLUMN_DOUBLES, 0) < ECP_ATTR_CLASS,
				 "column types overlap the flag of attributes");
StaticAssertDecl(ECP_ATTR_KIND_MAX <= 0xFF,
				 "kind of attribute does not fit in a code");

#define ECP_CLASS_FUNCTION(name, code) \
	PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_INT32(code); \
	} \
	extern int no_such_variable

ECP_CLASS_FUNCTION(ecp_class_real_l2,
				   EcpClassCode(ECP_COLUMN_ARRAY, ECP_METRIC_L2));
ECP_CLASS_FUNCTION(ecp_class_real_ip,
				   EcpClassCode(ECP_COLUMN_ARRAY, ECP_METRIC_IP));
ECP_CLASS_FUNCTION(ecp_class_real_cosine,
				   EcpClassCode(ECP_COLUMN_ARRAY, ECP_METRIC_COSINE));
ECP_CLASS_FUNCTION(ecp_class_real_l1,
				   EcpClassCode(ECP_COLUMN_ARRAY, ECP_METRIC_L1));
ECP_CLASS_FUNCTION(ecp_class_double_l2,
				   EcpClassCode(ECP_COLUMN_DOUBLES, ECP_METRIC_L2));
ECP_CLASS_FUNCTION(ecp_class_double_ip,
				   EcpClassCode(ECP_COLUMN_DOUBLES, ECP_METRIC_IP));
ECP_CLASS_FUNCTION(ecp_class_double_cosine,
				   EcpClassCode(ECP_COLUMN_DOUBLES, ECP_METRIC_COSINE));
ECP_CLASS_FUNCTION(ecp_class_double_l1,
				   EcpClassCode(ECP_COLUMN_DOUBLES, ECP_METRIC_L1));
ECP_CLASS_FUNCTION(ecp_class_bytea_l2,
				   EcpClassCode(ECP_COLUMN_BYTEA, ECP_METRIC_L2));
ECP_CLASS_FUNCTION(ecp_class_bytea_ip,
				   EcpClassCode(ECP_COLUMN_BYTEA, ECP_METRIC_IP));
ECP_CLASS_FUNCTION(ecp_class_bytea_cosine,
				   EcpClassCode(ECP_COLUMN_BYTEA, ECP_METRIC_COSINE));
ECP_CLASS_FUNCTION(ecp_class_bit_hamming,
				   EcpClassCode(ECP_COLUMN_BIT, ECP_METRIC_HAMMING));
ECP_CLASS_FUNCTION(ecp_class_bit_jaccard,
				   EcpClassCode(ECP_COLUMN_BIT, ECP_METRIC_JACCARD));

/* of the bridging extension, ecp_pgvector */
ECP_CLASS_FUNCTION(ecp_class_vector_l2,
				   EcpClassCode(ECP_COLUMN_VECTOR, ECP_METRIC_L2));
ECP_CLASS_FUNCTION(ecp_class_vector_ip,
				   EcpClassCode(ECP_COLUMN_VECTOR, ECP_METRIC_IP));
ECP_CLASS_FUNCTION(ecp_class_vector_cosine,
				   EcpClassCode(ECP_COLUMN_VECTOR, ECP_METRIC_COSINE));
ECP_CLASS_FUNCTION(ecp_class_vector_l1,
				   EcpClassCode(ECP_COLUMN_VECTOR, ECP_METRIC_L1));
ECP_CLASS_FUNCTION(ecp_class_halfvec_l2,
				   EcpClassCode(ECP_COLUMN_HALFVEC, ECP_METRIC_L2));
ECP_CLASS_FUNCTION(ecp_class_halfvec_ip,
				   EcpClassCode(ECP_COLUMN_HALFVEC, ECP_METRIC_IP));
ECP_CLASS_FUNCTION(ecp_class_halfvec_cosine,
				   EcpClassCode(ECP_COLUMN_HALFVEC, ECP_METRIC_COSINE));
ECP_CLASS_FUNCTION(ecp_class_halfvec_l1,
				   EcpClassCode(ECP_COLUMN_HALFVEC, ECP_METRIC_L1));

ECP_CLASS_FUNCTION(ecp_class_attr_bool, ECP_ATTR_CLASS | ECP_ATTR_BOOL);
ECP_CLASS_FUNCTION(ecp_class_attr_char, ECP_ATTR_CLASS | ECP_ATTR_CHAR);
ECP_CLASS_FUNCTION(ecp_class_attr_int2, ECP_ATTR_CLASS | ECP_ATTR_INT2);
ECP_CLASS_FUNCTION(ecp_class_attr_int4, ECP_ATTR_CLASS | ECP_ATTR_INT4);
ECP_CLASS_FUNCTION(ecp_class_attr_int8, ECP_ATTR_CLASS | ECP_ATTR_INT8);
ECP_CLASS_FUNCTION(ecp_class_attr_oid, ECP_ATTR_CLASS | ECP_ATTR_OID);
ECP_CLASS_FUNCTION(ecp_class_attr_float4, ECP_ATTR_CLASS | ECP_ATTR_FLOAT4);
ECP_CLASS_FUNCTION(ecp_class_attr_float8, ECP_ATTR_CLASS | ECP_ATTR_FLOAT8);
ECP_CLASS_FUNCTION(ecp_class_attr_uuid, ECP_ATTR_CLASS | ECP_ATTR_UUID);
ECP_CLASS_FUNCTION(ecp_class_attr_hash, ECP_ATTR_CLASS | ECP_ATTR_HASH);
ECP_CLASS_FUNCTION(ecp_class_attr_prefix, ECP_ATTR_CLASS | ECP_ATTR_PREFIX);
ECP_CLASS_FUNCTION(ecp_class_attr_tags, ECP_ATTR_CLASS | ECP_ATTR_TAGS);
ECP_CLASS_FUNCTION(ecp_class_attr_paths, ECP_ATTR_CLASS | ECP_ATTR_PATHS);

/* What the operator class of a key column says; the first is column 0. */
static int
class_code(Relation index, int column)
{
	Assert(column >= 0 && column < IndexRelationGetNumberOfKeyAttributes(index));
	return DatumGetInt32(FunctionCall1(index_getprocinfo(index, column + 1,
														 ECP_CLASS_PROC),
									   PointerGetDatum(NULL)));
}

static const char *
class_column_name(Relation index, int column)
{
	return NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname);
}

/* Report an index whose first column is not a vector. */
static void
class_refuse_first(Relation index)
{
	int			ncolumns = IndexRelationGetNumberOfKeyAttributes(index);
	int			vector = 1;
	StringInfoData columns;

	while (vector < ncolumns && EcpClassIsAttr(class_code(index, vector)))
		vector++;
	initStringInfo(&columns);
	if (vector < ncolumns)
		appendStringInfoString(&columns,
							   quote_identifier(class_column_name(index, vector)));
	for (int i = 0; i < ncolumns; i++)
	{
		if (i != vector)
			appendStringInfo(&columns, ", %s",
							 quote_identifier(class_column_name(index, i)));
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("the first column of an ecp index must be a vector"),
			 errdetail("Column \"%s\" is of type %s.",
					   class_column_name(index, 0),
					   format_type_be(TupleDescAttr(RelationGetDescr(index), 0)->atttypid)),
			 vector < ncolumns ?
			 errhint("The vector column comes first: (%s).", columns.data) :
			 errhint(ECP_VECTOR_TYPES_HINT)));
}

/* The column type and the metric of an index's first column. */
void
ecp_class_get(Relation index, EcpColumnType *type, EcpMetric *metric)
{
	int			code;

	Assert(index->rd_rel->relkind == RELKIND_INDEX);
	code = class_code(index, 0);
	if (EcpClassIsAttr(code))
		class_refuse_first(index);
	*type = EcpClassType(code);
	*metric = EcpClassMetric(code);
}

EcpAttrKind
ecp_class_get_attr(Relation index, int column)
{
	int			code = class_code(index, column);

	Assert(column > 0);
	if (EcpClassIsAttr(code))
		return EcpClassAttrKind(code);
	if (EcpClassIsAttr(class_code(index, 0)))
		class_refuse_first(index);
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("an ecp index can have one vector column only"),
			 errdetail("Columns \"%s\" and \"%s\" are vectors.",
					   class_column_name(index, 0),
					   class_column_name(index, column)),
			 errhint("Create an index for each vector column.")));
}
