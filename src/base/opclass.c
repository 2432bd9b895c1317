/*-------------------------------------------------------------------------
 *
 * opclass.c
 *	  An operator class as the system catalogs have it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/opclass.h"
#include "catalog/pg_opfamily.h"
#include "utils/syscache.h"

void
ecp_opclass_get(EcpOpclass *opclass, Oid oid)
{
	opclass->class_tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(oid));
	if (!HeapTupleIsValid(opclass->class_tuple))
		elog(ERROR, "cache lookup failed for operator class %u", oid);
	opclass->form = (Form_pg_opclass) GETSTRUCT(opclass->class_tuple);

	opclass->family_tuple =
		SearchSysCache1(OPFAMILYOID,
						ObjectIdGetDatum(opclass->form->opcfamily));
	if (!HeapTupleIsValid(opclass->family_tuple))
		elog(ERROR, "cache lookup failed for operator family %u",
			 opclass->form->opcfamily);
	opclass->family =
		NameStr(((Form_pg_opfamily) GETSTRUCT(opclass->family_tuple))->opfname);
}

void
ecp_opclass_release(EcpOpclass *opclass)
{
	ReleaseSysCache(opclass->family_tuple);
	ReleaseSysCache(opclass->class_tuple);
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
