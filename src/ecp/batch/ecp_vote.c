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
 * The neighbours come from ecp_knn_batch(), in a query that runs with the
 * privileges and policies of the calling user.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/user_index.h"
#include "catalog/pg_type.h"
#include "ecp/define/ecp_options.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#define VOTE_COLUMNS	4

PGDLLEXPORT Datum ecp_vote(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_vote);

/* The query whose rows are the answer; its parameters are index and k. */
static char *
vote_query(Oid function, Oid heap, const char *image, const char *queries)
{
	char	   *table = quote_qualified_identifier(get_namespace_name(get_rel_namespace(heap)),
												   get_rel_name(heap));
	char	   *batch = quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
												   "ecp_knn_batch");

	return psprintf("SELECT v.image::pg_catalog.text, v.votes, v.matches, v.nearest"
					" FROM (SELECT i.%s AS image,"
					" pg_catalog.count(DISTINCT n.query) AS votes,"
					" pg_catalog.count(*) AS matches,"
					" pg_catalog.min(n.distance) AS nearest"
					" FROM %s($1, %s::pg_catalog.text, $2) AS n"
					" JOIN ONLY %s AS i ON i.ctid OPERATOR(pg_catalog.=) n.tid"
					" GROUP BY 1) AS v"
					" ORDER BY v.votes DESC, v.matches DESC, v.nearest, 1",
					quote_identifier(image), batch,
					quote_literal_cstr(queries), table);
}

/*
 * ecp_vote(index regclass, queries text, image name, k int): a row for each
 * image that got a vote, the winner first.
 */
Datum
ecp_vote(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			index = PG_GETARG_OID(0);
	char	   *queries = text_to_cstring(PG_GETARG_TEXT_PP(1));
	char	   *image = NameStr(*PG_GETARG_NAME(2));
	Oid			argtypes[2] = {REGCLASSOID, INT4OID};
	Datum		args[2];
	Oid			heap = ecp_user_index_table(index, ECP_INDEX_READ,
											&ecp_index_kind);
	char	   *sql;

	args[0] = ObjectIdGetDatum(index);
	args[1] = PG_GETARG_DATUM(3);
	InitMaterializedSRF(fcinfo, 0);

	SPI_connect();
	sql = vote_query(fcinfo->flinfo->fn_oid, heap, image, queries);
	if (SPI_execute_with_args(sql, 2, argtypes, args, NULL, true,
							  0) != SPI_OK_SELECT)
		elog(ERROR, "could not count votes");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[VOTE_COLUMNS];
		bool		nulls[VOTE_COLUMNS];

		for (int c = 0; c < VOTE_COLUMNS; c++)
			values[c] = SPI_getbinval(SPI_tuptable->vals[i],
									  SPI_tuptable->tupdesc, c + 1,
									  &nulls[c]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
							 nulls);
	}
	SPI_finish();
	return (Datum) 0;
}
