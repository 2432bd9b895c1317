/*-------------------------------------------------------------------------
 *
 * ecp_knn_fetch.c
 *	  ecp_knn_fetch(): a batch of queries, and columns of the rows it finds.
 *
 * ecp_knn_batch() identifies rows by TID, which means nothing where the table
 * is distributed: each shard has a row of that TID.  Here, each shard looks up
 * its rows and returns the columns that are wanted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/shards.h"
#include "base/sql_text.h"
#include "base/user_index.h"
#include "catalog/pg_type.h"
#include "ecp/define/ecp_options.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PGDLLEXPORT Datum ecp_knn_fetch(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_knn_fetch);

/* The columns of an array of names, of relation i. */
static char *
fetch_columns(ArrayType *array)
{
	Datum	   *names;
	bool	   *nulls;
	int			n;
	StringInfoData buf;

	deconstruct_array(array, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
					  &names, &nulls, &n);
	initStringInfo(&buf);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("name of a column must not be NULL")));
		appendStringInfo(&buf, "%si.%s", i > 0 ? ", " : "",
						 quote_identifier(NameStr(*DatumGetName(names[i]))));
	}
	return buf.data;
}

/* The query whose rows are the answer; its parameters are those of a batch. */
static char *
fetch_query(Oid function, Oid heap, char *columns)
{
	return psprintf("SELECT n.query, n.rank, n.distance,"
					" (SELECT pg_catalog.to_jsonb(c) FROM (SELECT %s) AS c)"
					" FROM %s.ecp_knn_batch($1, $2, $3) AS n"
					" JOIN ONLY %s AS i ON i.ctid OPERATOR(pg_catalog.=) n.tid"
					" ORDER BY n.query, n.rank", columns,
					quote_identifier(get_namespace_name(get_func_namespace(function))),
					ecp_sql_relname(heap));
}

/* ecp_knn_fetch(index regclass, queries anyarray, columns name[], k int) */
Datum
ecp_knn_fetch(PG_FUNCTION_ARGS)
{
	int			k = PG_GETARG_INT32(3);
	Oid			types[3] = {REGCLASSOID, get_fn_expr_argtype(fcinfo->flinfo, 1), INT4OID};
	Datum		args[3] = {PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), Int32GetDatum(k)};
	char	   *merge =
		psprintf("SELECT * FROM (SELECT query, row_number() OVER"
				 " (PARTITION BY query ORDER BY distance, shardid, rank),"
				 " distance, data FROM shards) AS n (query, rank)"
				 " WHERE rank <= %d ORDER BY query, rank", k);
	Datum		result;
	Oid			heap;
	char	   *sql;

	if (ecp_shards_call(fcinfo, false, merge, &result))
		return result;
	heap = ecp_user_index_table(fcinfo, ECP_INDEX_READ, &ecp_index_kind);
	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	sql = fetch_query(fcinfo->flinfo->fn_oid, heap,
					  fetch_columns(PG_GETARG_ARRAYTYPE_P(2)));
	if (SPI_execute_with_args(sql, 3, types, args, NULL, true,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "could not fetch rows");
	ecp_sql_return_rows(fcinfo);
	SPI_finish();
	return (Datum) 0;
}
