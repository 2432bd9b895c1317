/*-------------------------------------------------------------------------
 *
 * ecp_validate.c
 *	  Operator classes of ecp: what they say, and whether they are sound.
 *
 * An operator class of a vector has one ordering operator (strategy 1, the
 * distance, sorted as float8) and one support function (ECP_CLASS_PROC), which
 * says how the type stores its elements (EcpColumnType) and the metric, as
 * EcpClassCode() packs them.  Form and metric are all that the rest of the
 * access method knows of a class, so that a class of another extension's type
 * needs nothing here but such a function.
 *
 * An operator class of a key attribute has search operators with the strategy
 * numbers of btree, at least the one of equality, and its support function
 * says the kind of the attribute (ecp_attr.h).
 *
 * The support function takes one argument of type internal, which is NULL,
 * so that it cannot be called from SQL by mistake.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "base/opclass.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_type.h"
#include "ecp/define/ecp_validate.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "vector/vector_value.h"


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
ECP_CLASS_FUNCTION(ecp_class_bytea_l2,
				   EcpClassCode(ECP_COLUMN_BYTEA, ECP_METRIC_L2));
ECP_CLASS_FUNCTION(ecp_class_bytea_ip,
				   EcpClassCode(ECP_COLUMN_BYTEA, ECP_METRIC_IP));
ECP_CLASS_FUNCTION(ecp_class_bytea_cosine,
				   EcpClassCode(ECP_COLUMN_BYTEA, ECP_METRIC_COSINE));
ECP_CLASS_FUNCTION(ecp_class_bit_hamming,
				   EcpClassCode(ECP_COLUMN_BIT, ECP_METRIC_HAMMING));

/* of the bridging extension, ecp_pgvector */
ECP_CLASS_FUNCTION(ecp_class_vector_l2,
				   EcpClassCode(ECP_COLUMN_VECTOR, ECP_METRIC_L2));
ECP_CLASS_FUNCTION(ecp_class_vector_ip,
				   EcpClassCode(ECP_COLUMN_VECTOR, ECP_METRIC_IP));
ECP_CLASS_FUNCTION(ecp_class_vector_cosine,
				   EcpClassCode(ECP_COLUMN_VECTOR, ECP_METRIC_COSINE));
ECP_CLASS_FUNCTION(ecp_class_halfvec_l2,
				   EcpClassCode(ECP_COLUMN_HALFVEC, ECP_METRIC_L2));
ECP_CLASS_FUNCTION(ecp_class_halfvec_ip,
				   EcpClassCode(ECP_COLUMN_HALFVEC, ECP_METRIC_IP));
ECP_CLASS_FUNCTION(ecp_class_halfvec_cosine,
				   EcpClassCode(ECP_COLUMN_HALFVEC, ECP_METRIC_COSINE));

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

/* Form and metric of the index's (first) column. */
void
ecp_class_get(Relation index, EcpColumnType *type, EcpMetric *metric)
{
	int			code;

	code = DatumGetInt32(FunctionCall1(index_getprocinfo(index, 1,
														 ECP_CLASS_PROC),
									   PointerGetDatum(NULL)));
	if (EcpClassIsAttr(code))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the first column of an ecp index must be a vector"),
				 errdetail("Column \"%s\" is not.",
						   NameStr(TupleDescAttr(RelationGetDescr(index), 0)->attname))));
	*type = EcpClassType(code);
	*metric = EcpClassMetric(code);
}

/* Check the family's support functions; returns false after INFO messages. */
static bool
validate_procs(CatCList *list, const char *opfamilyname)
{
	bool		result = true;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_amproc form = (Form_pg_amproc) GETSTRUCT(&list->members[i]->tuple);
		bool		ok;

		if (form->amproclefttype != form->amprocrighttype)
		{
			ereport(INFO,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("operator family \"%s\" of access method %s contains support function %s with different left and right input types",
							opfamilyname, "ecp",
							format_procedure(form->amproc))));
			result = false;
		}

		if (form->amprocnum != ECP_CLASS_PROC)
		{
			ereport(INFO,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("operator family \"%s\" of access method %s contains function %s with invalid support number %d",
							opfamilyname, "ecp",
							format_procedure(form->amproc),
							form->amprocnum)));
			result = false;
			continue;
		}

		ok = check_amproc_signature(form->amproc, INT4OID, true, 1, 1,
									INTERNALOID);
		if (!ok)
		{
			ereport(INFO,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("operator family \"%s\" of access method %s contains function %s with wrong signature for support number %d",
							opfamilyname, "ecp",
							format_procedure(form->amproc),
							form->amprocnum)));
			result = false;
		}
	}

	return result;
}

/* The same for the family's operators. */
static bool
validate_operators(CatCList *list, const char *opfamilyname)
{
	bool		result = true;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&list->members[i]->tuple);

		/* a comparison with a key attribute, or the distance of a vector */
		bool		compares = form->amoppurpose == AMOP_SEARCH &&
			form->amopstrategy >= BTLessStrategyNumber &&
			form->amopstrategy <= BTGreaterStrategyNumber;

		if (!compares && form->amopstrategy != ECP_DISTANCE_STRATEGY)
		{
			ereport(INFO,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("operator family \"%s\" of access method %s contains operator %s with invalid strategy number %d",
							opfamilyname, "ecp",
							format_operator(form->amopopr),
							form->amopstrategy)));
			result = false;
		}

		if (!compares &&
			(form->amoppurpose != AMOP_ORDER ||
			 !opfamily_can_sort_type(form->amopsortfamily, FLOAT8OID)))
		{
			ereport(INFO,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("operator family \"%s\" of access method %s contains operator %s that does not order by double precision",
							opfamilyname, "ecp",
							format_operator(form->amopopr))));
			result = false;
		}

		if (!check_amop_signature(form->amopopr,
								  compares ? BOOLOID : FLOAT8OID,
								  form->amoplefttype, form->amoprighttype))
		{
			ereport(INFO,
					(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
					 errmsg("operator family \"%s\" of access method %s contains operator %s with wrong signature",
							opfamilyname, "ecp",
							format_operator(form->amopopr))));
			result = false;
		}
	}

	return result;
}

/*
 * Has this operator class all that an index needs?  For a vector, that is the
 * distance, for a key attribute (which has no ordering operator) equality.
 */
static bool
validate_complete(CatCList *operlist, CatCList *proclist, Oid opcintype,
				  const char *opclassname)
{
	int			strategy = BTEqualStrategyNumber;
	List	   *groups = identify_opfamily_groups(operlist, proclist);
	ListCell   *lc;

	for (int i = 0; i < operlist->n_members; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&operlist->members[i]->tuple);

		if (form->amoppurpose == AMOP_ORDER)
			strategy = ECP_DISTANCE_STRATEGY;
	}
	foreach(lc, groups)
	{
		OpFamilyOpFuncGroup *group = lfirst(lc);

		if (group->lefttype == opcintype && group->righttype == opcintype &&
			(group->operatorset & (1 << strategy)) != 0 &&
			(group->functionset & (1 << ECP_CLASS_PROC)) != 0)
			return true;
	}

	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator class \"%s\" of access method %s lacks operator %d or support function %d",
					opclassname, "ecp", strategy, ECP_CLASS_PROC)));
	return false;
}

/*
 * ecpvalidate
 *		Is the operator class one that ecp can work with?  amvalidate: INFO
 *		for every fault, never an error for a faulty class.
 */
bool
ecpvalidate(Oid opclassoid)
{
	EcpOpclass	opclass;
	CatCList   *proclist;
	CatCList   *operlist;
	bool		result;

	ecp_opclass_get(&opclass, opclassoid);
	operlist = SearchSysCacheList1(AMOPSTRATEGY,
								   ObjectIdGetDatum(opclass.form->opcfamily));
	proclist = SearchSysCacheList1(AMPROCNUM,
								   ObjectIdGetDatum(opclass.form->opcfamily));

	result = validate_procs(proclist, opclass.family);
	result = validate_operators(operlist, opclass.family) && result;
	result = validate_complete(operlist, proclist, opclass.form->opcintype,
							   NameStr(opclass.form->opcname)) && result;

	ReleaseCatCacheList(proclist);
	ReleaseCatCacheList(operlist);
	ecp_opclass_release(&opclass);

	return result;
}
