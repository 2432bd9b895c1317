/*-------------------------------------------------------------------------
 *
 * ecp_knn_batch.c
 *	  ecp_knn_batch(), ecp_knn_fetch() and ecp_vote(): what the nearest rows of many
 *	  queries are, what is in them, and which image they come from.
 *
 * All of it is a statement (ecp_knn_statement.c) whose rows come query by query, nearest
 * first.
 *
 * A photograph has hundreds of local descriptors.  Their neighbours are more often
 * descriptors of another picture of the same scene than of any other, so each descriptor
 * votes for the images that its k nearest rows belong to, once for each image, and the
 * image with the most votes wins.  One wrong neighbour decides nothing, which is why an
 * approximate search is good enough there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/compat.h"
#include "base/user_index.h"
#include "catalog/pg_type.h"
#include "ecp/batch/ecp_knn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/memutils.h"

PGDLLEXPORT Datum ecp_knn_batch(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_knn_fetch(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_vote(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_knn_batch);
PG_FUNCTION_INFO_V1(ecp_knn_fetch);
PG_FUNCTION_INFO_V1(ecp_vote);

/* Takes the rows of ecp_knn_statement_search(). */
typedef struct BatchResult
{
	ReturnSetInfo *rsinfo;
	int64		number;			/* of the query */
	int			rank;			/* of its last row */
	bool		is_nan;			/* its first row is at NaN */
	TupleDesc	columns;		/* that are returned as jsonb, or NULL */
	MemoryContext context;		/* of a row */
} BatchResult;

/* A row's condition and distance have been checked; put it with its rank. */
static void
batch_put(TupleDesc desc, const Datum *values, const bool *nulls, void *arg)
{
	BatchResult *result = arg;
	float8		distance = DatumGetFloat8(values[3]);
	Datum		row[4];
	bool		row_nulls[4] = {false};
	MemoryContext old;

	if (result->rank == 0 || result->number != DatumGetInt64(values[0]))
	{
		result->number = DatumGetInt64(values[0]);
		result->rank = 0;
		result->is_nan = isnan(distance);
	}

	/*
	 * by cosine it has no direction: not in the index, so another plan found
	 * it
	 */
	if (isnan(distance) && !result->is_nan)
		return;
	row[0] = values[1];
	row[1] = Int32GetDatum(++result->rank);
	if (result->columns == NULL)
	{
		row[2] = values[2];
		row[3] = values[3];
		tuplestore_putvalues(result->rsinfo->setResult, result->rsinfo->setDesc, row,
							 row_nulls);
		return;
	}
	old = MemoryContextSwitchTo(result->context);
	row[2] = values[3];
	row[3] = ecp_render_row(result->columns, values + 4, nulls + 4);
	tuplestore_putvalues(result->rsinfo->setResult, result->rsinfo->setDesc, row,
						 row_nulls);
	MemoryContextSwitchTo(old);
	MemoryContextReset(result->context);
}

/*
 * ecp_knn_batch(index regclass, queries anyarray or text, k int, condition text)
 */
Datum
ecp_knn_batch(PG_FUNCTION_ARGS)
{
	BatchResult result = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	EcpKnnStatement statement;
	EcpKnnInput input;
	int			k;

	if (!ecp_knn_result_begin(fcinfo, 3))
		return (Datum) 0;
	k = ecp_knn_check_number(PG_GETARG_INT32(2), "k");
	ecp_knn_statement_open(&statement, fcinfo, ecp_knn_condition(fcinfo, 3), &input);
	ecp_knn_statement_run_search(&statement, &input, k, 0, NULL, batch_put, &result);
	ecp_knn_statement_close(&statement, &input);
	return (Datum) 0;
}

/* The columns that are wanted, and their types. */
static char **
fetch_columns(Relation heap, ArrayType *array, TupleDesc *desc)
{
	Datum	   *names;
	bool	   *nulls;
	char	  **columns;
	int			n;

	deconstruct_array(array, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
					  &names, &nulls, &n);
	columns = palloc_array(char *, Max(n, 1));
	/* and those of the search */
	if (n > MaxTupleAttributeNumber - 4)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("at most %d columns can be fetched",
						MaxTupleAttributeNumber - 4)));
	*desc = CreateTemplateTupleDesc(n);
	for (int i = 0; i < n; i++)
	{
		EcpUserColumn column;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("name of a column must not be NULL")));
		columns[i] = NameStr(*DatumGetName(names[i]));
		ecp_user_table_column(heap, columns[i], &column);
		TupleDescInitEntry(*desc, i + 1, columns[i], column.type, -1, 0);
	}
	TupleDescFinalize(*desc);
	return columns;
}

/*
 * ecp_knn_fetch(index regclass, queries anyarray, columns name[], k int,
 *		condition text)
 */
Datum
ecp_knn_fetch(PG_FUNCTION_ARGS)
{
	BatchResult result = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	EcpKnnStatement statement;
	EcpKnnInput input;
	char	  **columns;
	int			k;

	if (!ecp_knn_result_begin(fcinfo, 4))
		return (Datum) 0;
	k = ecp_knn_check_number(PG_GETARG_INT32(3), "k");
	ecp_knn_statement_open(&statement, fcinfo, ecp_knn_condition(fcinfo, 4), &input);
	columns = fetch_columns(statement.heap, PG_GETARG_ARRAYTYPE_P(2), &result.columns);
	result.context = AllocSetContextCreate(CurrentMemoryContext, "ecp fetched row",
										   ALLOCSET_DEFAULT_SIZES);
	ecp_knn_statement_run_search(&statement, &input, k, result.columns->natts, columns,
								 batch_put, &result);
	MemoryContextDelete(result.context);
	ecp_knn_statement_close(&statement, &input);
	return (Datum) 0;
}

/* Put an image, with its votes; its value becomes text without casts of others. */
static void
vote_put(TupleDesc desc, const Datum *values, const bool *nulls, void *arg)
{
	BatchResult *result = arg;
	MemoryContext old = MemoryContextSwitchTo(result->context);
	Datum		row[4];
	bool		row_nulls[4] = {nulls[0]};

	memcpy(row, values, sizeof(row));
	if (!nulls[0])
		row[0] = ecp_render_text(values[0], TupleDescAttr(desc, 0)->atttypid);
	tuplestore_putvalues(result->rsinfo->setResult, result->rsinfo->setDesc, row,
						 row_nulls);
	MemoryContextSwitchTo(old);
	MemoryContextReset(result->context);
}

/*
 * ecp_vote(index regclass, queries text, image name, k int): a row for each
 * image that got a vote, the winner first.
 */
Datum
ecp_vote(PG_FUNCTION_ARGS)
{
	BatchResult result = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	char	   *image = NameStr(*PG_GETARG_NAME(2));
	EcpKnnStatement statement;
	EcpUserColumn column;
	EcpKnnInput input;
	int			k;

	InitMaterializedSRF(fcinfo, 0);
	k = ecp_knn_check_number(PG_GETARG_INT32(3), "k");
	ecp_knn_statement_open(&statement, fcinfo, NULL, &input);
	ecp_user_table_column(statement.heap, image, &column);
	result.context = AllocSetContextCreate(CurrentMemoryContext, "ecp vote",
										   ALLOCSET_DEFAULT_SIZES);
	ecp_knn_statement_run(&statement, &input,
						  psprintf("SELECT f.c1, pg_catalog.count(DISTINCT f.query), pg_catalog.count(*), "
								   "pg_catalog.min(f.distance) FROM (%s) AS f "
								   "GROUP BY f.c1 ORDER BY 2 DESC, 3 DESC, 4, 1",
								   ecp_knn_statement_search(&statement, k, 1, &image, true)),
						  vote_put, &result);
	MemoryContextDelete(result.context);
	ecp_knn_statement_close(&statement, &input);
	return (Datum) 0;
}
