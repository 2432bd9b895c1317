/*-------------------------------------------------------------------------
 *
 * ecp_vote.c
 *	  ecp_vote(): which image do these descriptors come from.
 *
 * A photograph has hundreds of local descriptors.  Their neighbours are more
 * often descriptors of another picture of the same scene than of any other, so
 * each descriptor of the query votes for the images that its k nearest
 * rows belong to, once for each image, and the image with the most votes
 * wins.  One wrong neighbour decides nothing, which is why an approximate
 * search is good enough here.
 *
 * The neighbours come from ecp_knn_batch(), or of a distributed table from
 * ecp_knn_fetch(), in a query that runs with the privileges and policies of the
 * calling user.
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
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

PGDLLEXPORT Datum ecp_vote(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_vote);

/*
 * The query whose rows are the answer; its parameters are index and k.  A
 * distributed table has no "heap", and its nodes may not have what the queries
 * read, so these are read here.
 */
static char *
vote_query(Oid function, Oid heap, const char *image, const char *queries)
{
	const char *nspname =
		quote_identifier(get_namespace_name(get_func_namespace(function)));
	char	   *name;
	char	   *from;

	if (!OidIsValid(heap))
	{
		name = psprintf("n.data OPERATOR(pg_catalog.->>) %s",
						quote_literal_cstr(image));
		from = psprintf("%s.ecp_knn_fetch($1, (SELECT pg_catalog.array_agg(q.v)"
						" FROM (%s) AS q (v)), ARRAY[%s]::pg_catalog.name[], $2) AS n",
						nspname, queries, quote_literal_cstr(image));
	}
	else
	{
		name = psprintf("i.%s", quote_identifier(image));
		from = psprintf("%s.ecp_knn_batch($1, %s::pg_catalog.text, $2) AS n"
						" JOIN ONLY %s AS i ON i.ctid OPERATOR(pg_catalog.=) n.tid",
						nspname, quote_literal_cstr(queries),
						ecp_sql_relname(heap));
	}
	return psprintf("SELECT v.image::pg_catalog.text, v.votes, v.matches, v.nearest"
					" FROM (SELECT %s AS image,"
					" pg_catalog.count(DISTINCT n.query) AS votes,"
					" pg_catalog.count(*) AS matches,"
					" pg_catalog.min(n.distance) AS nearest"
					" FROM %s GROUP BY 1) AS v"
					" ORDER BY v.votes DESC, v.matches DESC, v.nearest, 1",
					name, from);
}

/*
 * ecp_vote(index regclass, queries text, image name, k int): a row for each
 * image that got a vote, the winner first.
 */
Datum
ecp_vote(PG_FUNCTION_ARGS)
{
	Oid			index = PG_GETARG_OID(0);
	char	   *queries = text_to_cstring(PG_GETARG_TEXT_PP(1));
	char	   *image = NameStr(*PG_GETARG_NAME(2));
	Oid			argtypes[2] = {REGCLASSOID, INT4OID};
	Datum		args[2] = {ObjectIdGetDatum(index), PG_GETARG_DATUM(3)};
	Oid			heap = ecp_shards_exist(index) ? InvalidOid :
		ecp_user_index_table(fcinfo, ECP_INDEX_READ, &ecp_index_kind);
	char	   *sql;

	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	sql = vote_query(fcinfo->flinfo->fn_oid, heap, image, queries);
	if (SPI_execute_with_args(sql, 2, argtypes, args, NULL, true,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "could not count votes");
	ecp_sql_return_rows(fcinfo);
	SPI_finish();
	return (Datum) 0;
}
