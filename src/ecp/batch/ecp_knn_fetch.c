/*-------------------------------------------------------------------------
 *
 * ecp_knn_fetch.c
 *	  ecp_knn_fetch(): a batch of queries, and columns of the rows it finds.
 *
 * Rows are looked up one by one, with the snapshot of the batch.  No query is
 * made of it: that would have to name the function, and a role that may create
 * functions in its schema could add another of this name, which fits the
 * arguments better and would run as the caller.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/render.h"
#include "base/user_index.h"
#include "catalog/pg_type.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/batch/ecp_user_table.h"
#include "ecp/define/ecp_options.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

PGDLLEXPORT Datum ecp_knn_fetch(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_knn_fetch);

/* What is wanted of each row. */
typedef struct FetchColumns
{
	int			n;
	EcpUserColumn *columns;
	TupleDesc	desc;
} FetchColumns;

static void
fetch_columns(FetchColumns *fetch, Relation heap, ArrayType *array)
{
	Datum	   *names;
	bool	   *nulls;

	deconstruct_array(array, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
					  &names, &nulls, &fetch->n);
	fetch->columns = palloc_array(EcpUserColumn, Max(fetch->n, 1));
	if (fetch->n > MaxTupleAttributeNumber)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("at most %d columns can be fetched",
						MaxTupleAttributeNumber)));
	fetch->desc = CreateTemplateTupleDesc(fetch->n);
	for (int i = 0; i < fetch->n; i++)
	{
		char	   *name;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("name of a column must not be NULL")));
		name = NameStr(*DatumGetName(names[i]));
		ecp_user_table_column(heap, name, &fetch->columns[i]);
		TupleDescInitEntry(fetch->desc, i + 1, name, fetch->columns[i].type, -1, 0);
	}
	TupleDescFinalize(fetch->desc);
}

/* The columns of the row in the slot as jsonb. */
static Datum
fetch_data(const FetchColumns *fetch, TupleTableSlot *slot)
{
	Datum	   *values = palloc_array(Datum, Max(fetch->n, 1));
	bool	   *nulls = palloc_array(bool, Max(fetch->n, 1));

	for (int i = 0; i < fetch->n; i++)
		values[i] = ecp_user_table_column_value(&fetch->columns[i], slot,
												&nulls[i]);
	return ecp_render_row(fetch->desc, values, nulls);
}

/* Return the answers with the columns of their rows. */
static void
fetch_rows(ReturnSetInfo *rsinfo, Relation heap, const FetchColumns *fetch,
		   EcpKnnAnswers *answers)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp fetched row",
												  ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *answer = MakeSingleTupleTableSlot(answers->desc,
													  &TTSOpsMinimalTuple);
	TupleTableSlot *row = table_slot_create(heap, NULL);

	while (tuplestore_gettupleslot(answers->store, true, false, answer))
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		ItemPointerData tid;
		Datum		values[4];
		bool		nulls[4] = {false};

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(answer);
		tid = *(ItemPointer) DatumGetPointer(answer->tts_values[2]);
		if (table_tuple_fetch_row_version(heap, &tid, GetActiveSnapshot(), row))
		{
			values[0] = answer->tts_values[0];
			values[1] = answer->tts_values[1];
			values[2] = answer->tts_values[3];
			values[3] = fetch_data(fetch, row);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
								 nulls);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	ExecDropSingleTupleTableSlot(row);
	ExecDropSingleTupleTableSlot(answer);
	MemoryContextDelete(context);
}

/*
 * ecp_knn_fetch(index regclass, queries anyarray, columns name[], k int,
 *		condition text)
 */
Datum
ecp_knn_fetch(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	heap;
	FetchColumns fetch;
	EcpKnnAnswers answers;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < 4; i++)
	{
		if (PG_ARGISNULL(i))
			return (Datum) 0;
	}
	heap = table_open(ecp_user_index_table(fcinfo, ECP_INDEX_READ,
										   &ecp_index_kind),
					  AccessShareLock);
	fetch_columns(&fetch, heap, PG_GETARG_ARRAYTYPE_P(2));
	ecp_knn_answers_init(&answers);
	ecp_knn_answers_find(fcinfo, false, PG_GETARG_INT32(3),
						 PG_ARGISNULL(4) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(4)),
						 &answers);
	fetch_rows(rsinfo, heap, &fetch, &answers);
	tuplestore_end(answers.store);
	table_close(heap, AccessShareLock);
	return (Datum) 0;
}
