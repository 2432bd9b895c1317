/*-------------------------------------------------------------------------
 *
 * opclass.c
 *	  Whether an operator class is fit for an access method.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/opclass.h"
#include "catalog/pg_opfamily.h"
#include "utils/syscache.h"

bool
ecp_opclass_validate(Oid oid, const EcpOpclassRules *rules)
{
	HeapTuple	class_tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(oid));
	Form_pg_opclass class;
	HeapTuple	family_tuple;
	const char *family;
	CatCList   *operators;
	CatCList   *functions;
	bool		result = true;

	if (!HeapTupleIsValid(class_tuple))
		elog(ERROR, "cache lookup failed for operator class %u", oid);
	class = (Form_pg_opclass) GETSTRUCT(class_tuple);
	family_tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(class->opcfamily));
	if (!HeapTupleIsValid(family_tuple))
		elog(ERROR, "cache lookup failed for operator family %u", class->opcfamily);
	family = NameStr(((Form_pg_opfamily) GETSTRUCT(family_tuple))->opfname);

	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(class->opcfamily));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(class->opcfamily));
	for (int i = 0; i < functions->n_members; i++)
		result &= rules->function(family, (Form_pg_amproc)
								  GETSTRUCT(&functions->members[i]->tuple));
	for (int i = 0; i < operators->n_members; i++)
		result &= rules->operator(family, (Form_pg_amop)
								  GETSTRUCT(&operators->members[i]->tuple));
	result &= rules->complete(class, family, operators, functions);

	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
	ReleaseSysCache(family_tuple);
	ReleaseSysCache(class_tuple);
	return result;
}

bool
ecp_opclass_fault(const char *method, const char *family, const char *fault)
{
	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator family \"%s\" of access method %s %s",
					family, method, fault)));
	return false;
}
