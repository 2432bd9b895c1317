/*-------------------------------------------------------------------------
 *
 * ecp_tablespaces.c
 *	  The tablespaces that ecp.build_tablespaces names.
 *
 * They are looked up when the setting is made, so that a wrong name is reported
 * to who wrote it, and again by a build, which runs as the owner of the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "base/compat.h"
#include "catalog/pg_tablespace.h"
#include "commands/tablespace.h"
#include "ecp/define/ecp_define.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/varlena.h"

/*
 * Look up a tablespace.  As for temp_tablespaces, that of the database needs no
 * privilege.
 */
static bool
tablespaces_find(const char *name, Oid *oid, EcpTablespacesFault *fault)
{
	*oid = get_tablespace_oid(name, true);
	fault->detail = NULL;
	if (!OidIsValid(*oid))
	{
		fault->sqlerrcode = ERRCODE_UNDEFINED_OBJECT;
		fault->message = psprintf(_("tablespace \"%s\" does not exist"), name);
		return false;
	}
	if (*oid == GLOBALTABLESPACE_OID)
	{
		fault->sqlerrcode = ERRCODE_INVALID_PARAMETER_VALUE;
		fault->message = psprintf(_("tablespace \"%s\" in \"%s\" cannot hold intermediate files"),
								  name, "ecp.build_tablespaces");
		return false;
	}
	if (*oid == MyDatabaseTableSpace)
		*oid = InvalidOid;
	else if (ecp_tablespace_aclcheck(*oid, GetUserId()) != ACLCHECK_OK)
	{
		fault->sqlerrcode = ERRCODE_INSUFFICIENT_PRIVILEGE;
		fault->message = psprintf(_("permission denied for tablespace %s"),
								  name);
		return false;
	}
	return true;
}

/* The names in a list; false if it is not one. */
static bool
tablespaces_split(const char *list, List **names, EcpTablespacesFault *fault)
{
	fault->sqlerrcode = ERRCODE_INVALID_PARAMETER_VALUE;
	if (!SplitIdentifierString(pstrdup(list), ',', names))
	{
		fault->message = psprintf(_("invalid list syntax in parameter \"%s\""),
								  "ecp.build_tablespaces");
		fault->detail = NULL;
		return false;
	}
	if (list_length(*names) > ECP_TABLESPACES_MAX)
	{
		fault->message = psprintf(_("too many tablespaces in parameter \"%s\""),
								  "ecp.build_tablespaces");
		fault->detail = psprintf(_("At most %d can be used."),
								 ECP_TABLESPACES_MAX);
		return false;
	}
	return true;
}

int
ecp_tablespaces_resolve(const char *list, Oid oids[ECP_TABLESPACES_MAX],
						EcpTablespacesFault *fault)
{
	List	   *names;
	ListCell   *lc;
	int			n = 0;

	if (!tablespaces_split(list, &names, fault))
		return -1;
	foreach(lc, names)
	{
		if (!tablespaces_find(lfirst(lc), &oids[n++], fault))
			return -1;
	}
	return n;
}

/*
 * As check_temp_tablespaces(): what ALTER DATABASE, ALTER ROLE or a file sets is
 * for other users and may name a tablespace that will be created later.  A
 * parallel worker takes what its main process has, before it becomes its user.
 *
 * Nothing is reported by ereport(ERROR), because the library may just be loaded.
 */
bool
ecp_tablespaces_check(char **newval, void **extra, GucSource source)
{
	Oid			oids[ECP_TABLESPACES_MAX];
	EcpTablespacesFault fault;
	List	   *names;

	if (tablespaces_split(*newval, &names, &fault))
	{
		if (!IsTransactionState() || !OidIsValid(MyDatabaseId) ||
			InitializingParallelWorker || source < PGC_S_INTERACTIVE ||
			ecp_tablespaces_resolve(*newval, oids, &fault) >= 0)
			return true;
		if (source == PGC_S_TEST)
		{
			ereport(NOTICE,
					(errcode(fault.sqlerrcode),
					 errmsg_internal("%s", fault.message)));
			return true;
		}
	}
	GUC_check_errcode(fault.sqlerrcode);
	GUC_check_errmsg("%s", fault.message);
	if (fault.detail)
		GUC_check_errdetail("%s", fault.detail);
	return false;
}
