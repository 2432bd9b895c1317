/*-------------------------------------------------------------------------
 *
 * ecp_table.c
 *	  An index together with its table, for the SQL functions that compare
 *	  what the index finds with the rows: ecp_recall.c, ecp_knn.c,
 *	  ecp_exact.c, ecp_vote.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_index.h"
#include "ecp/ecp_table.h"
#include "executor/spi.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/*
 * Open index and table, in the order of their locks, and check that the index
 * is one of ours that can answer, and that the user may know of the rows.
 * Row security is the caller's to look at.
 */
void
ecp_table_open(Oid index_oid, Relation *heap, Relation *index)
{
	Oid			heap_oid = ecp_user_index_table(index_oid, ECP_INDEX_READ,
												&ecp_index_kind);

	*heap = table_open(heap_oid, AccessShareLock);
	*index = ecp_user_index_open(index_oid, AccessShareLock, ECP_INDEX_READ,
								 &ecp_index_kind);
	if (!(*index)->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(*index))));
}

/* "SELECT ctid, <what is indexed> FROM <table> WHERE <it is indexed>" */
char *
ecp_table_query(Relation heap, Relation index)
{
	Oid			index_oid = RelationGetRelid(index);
	char	   *column;
	StringInfoData sql;
	HeapTuple	tuple;
	Datum		predicate;
	bool		isnull;

	column = TextDatumGetCString(DirectFunctionCall3(pg_get_indexdef_ext,
													 ObjectIdGetDatum(index_oid),
													 Int32GetDatum(1),
													 BoolGetDatum(false)));
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT ctid, (%s) FROM ONLY %s WHERE (%s) IS NOT NULL",
					 column,
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(heap)),
												RelationGetRelationName(heap)),
					 column);

	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index_oid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index_oid);
	predicate = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indpred,
								&isnull);
	if (!isnull)
		appendStringInfo(&sql, " AND (%s)",
						 TextDatumGetCString(DirectFunctionCall2(pg_get_expr,
																 predicate,
																 ObjectIdGetDatum(RelationGetRelid(heap)))));
	ReleaseSysCache(tuple);
	return sql.data;
}

/*
 * A cursor on a query that only reads.  SPI is connected; the plan lasts until
 * SPI_finish().
 */
Portal
ecp_query_open(const char *sql)
{
	SPIPlanPtr	plan = SPI_prepare(sql, 0, NULL);

	if (plan == NULL)
		elog(ERROR, "could not prepare query: %s",
			 SPI_result_code_string(SPI_result));
	return SPI_cursor_open(NULL, plan, NULL, NULL, true);
}

/*
 * Are values of this type vectors that an index has, whose operator class is
 * for "wanted"?  A column may be of a domain, or of bit varying for bit.
 */
void
ecp_query_check_type(Oid wanted, Oid type)
{
	if (!IsBinaryCoercible(type, wanted))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("queries must be vectors of type %s, not %s",
						format_type_be(wanted), format_type_be(type))));
}
