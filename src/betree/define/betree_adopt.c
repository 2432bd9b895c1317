/*-------------------------------------------------------------------------
 *
 * betree_adopt.c
 *	  betree_adopt(): make an operator class from one of btree.
 *
 * The install script has a class for every type of core; this function serves
 * the types of extensions and users.  It reads the members of the given btree
 * class from the catalog and runs the CREATE OPERATOR FAMILY, CREATE OPERATOR
 * CLASS and ALTER OPERATOR FAMILY commands that a user would write.  So the
 * privileges are those commands' own (a superuser's), and the result is an
 * ordinary class: DROP removes it, pg_dump saves it, event triggers see it.
 *
 * The new class has the name and schema of its model and joins the family of
 * the model's family's name, which is created with its first class.  It brings
 * the cross-type members whose left type is its own: those are what a search
 * in an index of the class can use.
 *
 * Citus distributes an index only if its operator class belongs to an
 * extension, which is then installed on every node.  So in a cluster of Citus
 * the class becomes a member of its model's extension; pg_dump leaves it out
 * then, as all that an extension makes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/opclass.h"
#include "base/user_index.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_opclass_d.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(betree_adopt);

/*
 * The members of class $1 as items of CREATE OPERATOR CLASS: whether the item
 * is cross-type, and its text.  Support functions other than comparison,
 * sortsupport and equalimage have no meaning for betree.
 */
static const char *const members_query =
"SELECT m.r OPERATOR(pg_catalog.<>) c.opcintype, m.item"
" FROM pg_catalog.pg_opclass c, LATERAL ("
"   SELECT o.amoprighttype, 0, o.amopstrategy,"
"          pg_catalog.format('OPERATOR %s %s', o.amopstrategy,"
"            o.amopopr::pg_catalog.regoperator)"
"   FROM pg_catalog.pg_amop o"
"   WHERE o.amopfamily OPERATOR(pg_catalog.=) c.opcfamily"
"     AND o.amoplefttype OPERATOR(pg_catalog.=) c.opcintype"
"   UNION ALL"
"   SELECT p.amprocrighttype, 1, p.amprocnum,"
"          pg_catalog.format('FUNCTION %s (%s, %s) %s', p.amprocnum,"
"            pg_catalog.format_type(p.amproclefttype, NULL),"
"            pg_catalog.format_type(p.amprocrighttype, NULL),"
"            p.amproc::pg_catalog.regprocedure)"
"   FROM pg_catalog.pg_amproc p"
"   WHERE p.amprocfamily OPERATOR(pg_catalog.=) c.opcfamily"
"     AND p.amproclefttype OPERATOR(pg_catalog.=) c.opcintype"
"     AND p.amprocnum OPERATOR(pg_catalog.=) ANY ('{1,2,4}')"
" ) m (r, kind, num, item)"
" WHERE c.oid OPERATOR(pg_catalog.=) $1"
" ORDER BY m.r, m.kind, m.num";

/*
 * Read the members of a btree class into two lists, already separated by
 * commas: those of its own type, and the cross-type ones.
 */
static void
read_members(Oid opclass, StringInfo own, StringInfo cross)
{
	Oid			argtypes[1] = {OIDOID};
	Datum		args[1] = {ObjectIdGetDatum(opclass)};

	if (SPI_execute_with_args(members_query, 1, argtypes, args, NULL,
							  true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the members of operator class %u",
			 opclass);

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		bool		isnull;
		bool		is_cross;
		StringInfo	list;

		is_cross = DatumGetBool(SPI_getbinval(row, SPI_tuptable->tupdesc, 1,
											  &isnull));
		list = is_cross ? cross : own;
		if (list->len > 0)
			appendStringInfoString(list, ", ");
		appendStringInfoString(list,
							   SPI_getvalue(row, SPI_tuptable->tupdesc, 2));
	}
}

/* Run a command as the caller of betree_adopt(). */
static void
run_command(const char *command)
{
	if (SPI_execute(command, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not execute \"%s\"", command);
}

/* Let Citus distribute indexes of a class. */
static void
join_extension(Oid model, const char *class_name, const char *new_family)
{
	Oid			extension = getExtensionOfObject(OperatorClassRelationId, model);
	const char *add;

	if (!OidIsValid(extension))
		return;
	add = psprintf("ALTER EXTENSION %s ADD OPERATOR",
				   quote_identifier(get_extension_name(extension)));
	run_command(psprintf("%s CLASS %s USING betree", add, class_name));
	if (new_family)
		run_command(psprintf("%s FAMILY %s USING betree", add, new_family));
	ereport(NOTICE,
			(errmsg("operator class %s is on this node only", class_name),
			 errhint("Call betree_adopt() on all nodes, by Citus's run_command_on_all_nodes().")));
}

/*
 * betree_adopt(opclass text) returns text
 *
 * "opclass" names a btree operator class, with or without its schema; the
 * qualified name of the new class is returned.
 */
Datum
betree_adopt(PG_FUNCTION_ARGS)
{
	List	   *name = textToQualifiedNameList(PG_GETARG_TEXT_PP(0));
	Oid			betree = get_index_am_oid("betree", false);
	Oid			model = get_opclass_oid(BTREE_AM_OID, name, false);
	EcpOpclass	opclass;
	Form_pg_opclass class;
	char	   *type;
	char	   *schema;
	char	   *class_name;
	char	   *family_name;
	bool		new_family;
	Oid			family_oid;
	StringInfoData own;
	StringInfoData cross;

	ecp_opclass_get(&opclass, model);
	class = opclass.form;
	if (class->opcnamespace == PG_CATALOG_NAMESPACE)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("operator class \"%s\" is already known to access method \"%s\"",
						NameStr(class->opcname), "betree"),
				 errdetail("The extension has a class of the same name for every btree operator class of the system catalog.")));

	/* as the commands would say, but for what to do */
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to create an operator class"),
				 errhint("Ask a superuser to call betree_adopt() in this database.")));

	type = format_type_extended(class->opcintype, -1,
								FORMAT_TYPE_FORCE_QUALIFY);
	schema = get_namespace_name(class->opcnamespace);
	class_name = quote_qualified_identifier(schema, NameStr(class->opcname));
	family_name = quote_qualified_identifier(schema, opclass.family);

	initStringInfo(&own);
	initStringInfo(&cross);

	SPI_connect();
	read_members(model, &own, &cross);

	new_family = !SearchSysCacheExists3(OPFAMILYAMNAMENSP,
										ObjectIdGetDatum(betree),
										CStringGetDatum(opclass.family),
										ObjectIdGetDatum(class->opcnamespace));
	if (new_family)
		run_command(psprintf("CREATE OPERATOR FAMILY %s USING betree",
							 family_name));
	family_oid = get_opfamily_oid(betree,
								  list_make2(makeString(schema),
											 makeString(opclass.family)),
								  false);

	/* the type's members came with another class of the same family */
	if (OidIsValid(get_opfamily_member(family_oid, class->opcintype,
									   class->opcintype,
									   BTLessStrategyNumber)))
	{
		resetStringInfo(&own);
		resetStringInfo(&cross);
		appendStringInfo(&own, "STORAGE %s", type);
	}

	run_command(psprintf("CREATE OPERATOR CLASS %s %s FOR TYPE %s"
						 " USING betree FAMILY %s AS %s",
						 class_name, class->opcdefault ? "DEFAULT" : "",
						 type, family_name, own.data));
	if (cross.len > 0)
		run_command(psprintf("ALTER OPERATOR FAMILY %s USING betree ADD %s",
							 family_name, cross.data));
	if (ecp_shards_possible())
		join_extension(model, class_name, new_family ? family_name : NULL);
	SPI_finish();

	ecp_opclass_release(&opclass);
	PG_RETURN_TEXT_P(cstring_to_text(class_name));
}
