/*-------------------------------------------------------------------------
 *
 * ecp_statement.c
 *	  CREATE INDEX with a column of a type that has no operator class: the error
 *	  says what to do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/core.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "ecp/define/ecp_define.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* The access method with this name, if the handler is its own. */
static Oid
statement_method(const char *name, Oid handler)
{
	HeapTuple	tuple = SearchSysCache1(AMNAME, CStringGetDatum(name));
	Oid			result = InvalidOid;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	if (((Form_pg_am) GETSTRUCT(tuple))->amhandler == handler)
		result = ((Form_pg_am) GETSTRUCT(tuple))->oid;
	ReleaseSysCache(tuple);
	return result;
}

/* Is the type one of pgvector's? */
static bool
statement_is_pgvector(Oid type)
{
	Oid			extension = getExtensionOfObject(TypeRelationId, type);

	return OidIsValid(extension) &&
		strcmp(get_extension_name(extension), "vector") == 0;
}

/* Core names the schema of other types than its own from PostgreSQL 17 on. */
static const char *
statement_type_name(Oid type)
{
	const char *name = format_type_be(type);
	const char *dot = strrchr(name, '.');

	return dot && statement_is_pgvector(type) ? dot + 1 : name;
}

/*
 * Has the access method an operator class of this name, in any schema?  From
 * PostgreSQL 17 on the search_path of the session is not in force here; core
 * says whether the class can be seen.
 */
static bool
statement_has_class(Oid method, const List *names)
{
	CatCList   *list = SearchSysCacheList2(CLAAMNAMENSP,
										   ObjectIdGetDatum(method),
										   CStringGetDatum(strVal(llast(names))));
	bool		result = list->n_members > 0;

	ReleaseSysCacheList(list);
	return result;
}

/* Is the type an array of numbers that could be a vector's elements? */
static bool
statement_is_numbers(Oid type)
{
	switch (get_element_type(type))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
			return true;
	}
	return false;
}

/* The way out, for a column without an operator class. */
static char *
statement_hint(const char *column, Oid type, bool first)
{
	if (statement_is_pgvector(type))
		return OidIsValid(get_extension_oid("ecp_pgvector", true)) ?
			_("Of the types of pgvector, vector, halfvec and bit can be indexed.") :
			_("For the types of pgvector: CREATE EXTENSION ecp_pgvector.");
	if (statement_is_numbers(type))
		return psprintf(_("Index the expression ((%s::real[])), and order by that."),
						quote_identifier(column));
	return first ? _(ECP_VECTOR_TYPES_HINT) :
		_("Columns after the vector can be numbers, dates and times, uuid, text, enumerations, arrays or jsonb; columns of any type can be INCLUDEd.");
}

/*
 * Report the column if it has no operator class; and an array of numbers that is
 * "alone", which has one for its elements as tags.
 */
static void
statement_check_column(const IndexElem *element, Oid method, Oid table,
					   bool first, bool alone)
{
	AttrNumber	attno = get_attnum(table, element->name);
	Oid			type;

	if (attno == InvalidAttrNumber)
		return;
	type = getBaseType(get_atttype(table, attno));
	if (element->opclass == NIL &&
		(!OidIsValid(GetDefaultOpClass(type, method)) ||
		 (alone && statement_is_numbers(type))))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("column \"%s\" of type %s cannot be indexed by access method \"%s\"",
						element->name, statement_type_name(type),
						get_am_name(method)),
				 errhint("%s", statement_hint(element->name, type, first))));
	if (element->opclass != NIL && statement_is_pgvector(type) &&
		!statement_has_class(method, element->opclass))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("operator class \"%s\" does not exist for access method \"%s\"",
						NameListToString(element->opclass),
						get_am_name(method)),
				 errhint("%s", statement_hint(element->name, type, first))));
}

void
ecp_statement_check_vector(const IndexElem *element, Oid method, Oid table)
{
	statement_check_column(element, method, table, true, true);
}

/*
 * If the session executes a CREATE INDEX with the access method of this handler,
 * report a column that cannot be in such an index.  Core has checked that the
 * user owns the table, and would report the same column, without a hint.
 */
void
ecp_statement_check(Oid handler)
{
	Oid			table;
	const IndexStmt *statement = ecp_core_index_statement(&table);
	ListCell   *lc;
	Oid			method;

	if (statement == NULL)
		return;
	method = statement_method(statement->accessMethod, handler);
	if (!OidIsValid(method))
		return;
	foreach(lc, statement->indexParams)
	{
		const IndexElem *element = lfirst_node(IndexElem, lc);

		if (element->name != NULL)
			statement_check_column(element, method, table,
								   element == linitial(statement->indexParams),
								   list_length(statement->indexParams) == 1);
	}
}
