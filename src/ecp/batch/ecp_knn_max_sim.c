/*-------------------------------------------------------------------------
 *
 * ecp_knn_max_sim.c
 *	  ecp_knn_max_sim(): the documents nearest to a set of vectors, where a document
 *	  is a set of rows.
 *
 * Models of late interaction have a vector for each token of a text.  The distance
 * of a document is the sum, over the query's vectors, of the least distance of any
 * of the document's rows: MaxSim, with a minus, where the distance is a negative
 * inner product.
 *
 * A statement (ecp_knn_statement.c) returns the rows of the candidates, document by
 * document, and what is here adds up the minima of each.  The candidates are:
 *
 *	 found		some rows for each vector, by a batch
 *	 met		how much nearer than the last row that it found a vector came to a
 *				document; one that has not met it counts as if with that last row (as in
 *				XTR and WARP)
 *	 best		the documents with the least sums of these
 *
 * or, for an exact answer, all documents.  Only the minima of one document are in
 * memory, and the nearest documents so far.  Rows whose document is NULL belong to none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/compat.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/typcache.h"
#include "vector/vector_value.h"

PGDLLEXPORT Datum ecp_knn_max_sim(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_knn_max_sim);

/* Rows of a document that are compared together. */
#define SIM_ROWS	64

typedef struct MaxSim
{
	const EcpMetaPageData *meta;
	Relation	index;
	int			nqueries;
	const EcpQuery **queries;

	/* the nearest documents so far */
	int			k;
	EcpGroupRow *best;			/* room for 2 k */
	int			nbest;

	/* the document whose rows are coming */
	int64		number;
	EcpGroupRow document;		/* with its first row; invalid if it has none */
	float8	   *least;			/* ranks, for each of the queries */

	EcpUserTableVectors rows;	/* of it that wait to be compared */
	MemoryContext context;		/* of a row */
} MaxSim;

/* Begin with a document. */
static void
sim_reset(MaxSim *sim)
{
	sim->document.distance = 0;
	ItemPointerSetInvalid(&sim->document.tid);
	for (int q = 0; q < sim->nqueries; q++)
		sim->least[q] = get_float8_infinity();
}

/* Prepare the vectors of the query, and memory for rows. */
static void
sim_init(MaxSim *sim, const EcpKnnStatement *statement, EcpKnnInput *input)
{
	const EcpMetaPageData *meta = sim->meta = &statement->state.meta;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(input->desc, &TTSOpsMinimalTuple);

	sim->index = statement->index;
	sim->queries = palloc(mul_size(Max(input->n, 1), sizeof(EcpQuery *)));
	tuplestore_rescan(input->store);
	while (tuplestore_gettupleslot(input->store, true, false, slot))
	{
		EcpVector	vector;
		bool		isnull;
		Datum		value = slot_getattr(slot, 2, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		ecp_vector_read(value, meta->ecpm_column_type, &vector);
		sim->queries[sim->nqueries++] =
			ecp_query_create(EcpMetaQueryElem(meta), meta->ecpm_metric,
							 meta->ecpm_dims, vector.data);
		ecp_vector_release(&vector);
	}
	tuplestore_rescan(input->store);
	ExecDropSingleTupleTableSlot(slot);

	ecp_user_table_vectors_init(&sim->rows, &statement->state, SIM_ROWS);
	sim->best = palloc_array(EcpGroupRow, 2 * sim->k);
	sim->least = palloc(mul_size(Max(sim->nqueries, 1), sizeof(float8)));
	sim->context = AllocSetContextCreate(CurrentMemoryContext, "ecp row of a document",
										 ALLOCSET_DEFAULT_SIZES);
	sim_reset(sim);
}

/* Compare the rows that wait with the query's vectors. */
static void
sim_compare(MaxSim *sim)
{
	float8		ranks[SIM_ROWS];
	int			n = sim->rows.n;

	CHECK_FOR_INTERRUPTS();
	for (int q = 0; n > 0 && q < sim->nqueries; q++)
	{
		ecp_query_rank_rows(sim->queries[q], sim->rows.vectors, sim->rows.stride,
							(const uint32 *const *) sim->rows.factors, n, ranks);
		for (int i = 0; i < n; i++)
		{
			if (ranks[i] < sim->least[q])
				sim->least[q] = ranks[i];
		}
	}
	sim->rows.n = 0;
}

/* All rows of the document have come: keep it, if it is among the nearest. */
static void
sim_finish(MaxSim *sim)
{
	EcpGroupRow *document = &sim->document;

	sim_compare(sim);
	if (ItemPointerIsValid(&document->tid))
	{
		for (int q = 0; q < sim->nqueries; q++)
		{
			/* a vector that has no direction is near to nothing */
			if (!isinf(sim->least[q]))
				document->distance += ecp_rank_distance(sim->meta->ecpm_metric,
														sim->least[q]);
		}
		sim->best[sim->nbest++] = *document;
		if (sim->nbest == 2 * sim->k)
		{
			ecp_group_rows_sort(sim->best, sim->nbest);
			sim->nbest = sim->k;
		}
	}
	sim_reset(sim);
}

/* Take a row: number of its document, TID and vector. */
static void
sim_add(TupleDesc desc, const Datum *values, const bool *nulls, void *arg)
{
	MaxSim	   *sim = arg;
	ItemPointer tid = (ItemPointer) DatumGetPointer(values[1]);
	MemoryContext old = MemoryContextSwitchTo(sim->context);

	if (DatumGetInt64(values[0]) != sim->number)
		sim_finish(sim);
	sim->number = DatumGetInt64(values[0]);
	if (ecp_user_table_vectors_add(&sim->rows, sim->index, sim->meta, values[2]))
	{
		if (!ItemPointerIsValid(&sim->document.tid) ||
			ItemPointerCompare(tid, &sim->document.tid) < 0)
			sim->document.tid = *tid;
		if (sim->rows.n == sim->rows.max)
			sim_compare(sim);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(sim->context);
}

/* The rows of the candidates, or of all documents, document by document. */
static char *
sim_statement(const EcpKnnStatement *statement, const char *document, int rows,
			  int candidates)
{
	char	   *column = psprintf("%s.%s", statement->name, quote_identifier(document));
	EcpUserColumn found;
	Oid			equal;
	StringInfoData sql;

	ecp_user_table_column(statement->heap, document, &found);
	if (found.attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("documents cannot be identified by system column \"%s\"",
						document)));
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT pg_catalog.dense_rank() OVER (ORDER BY %s), "
					 "%s.ctid, %s FROM %s WHERE %s AND %s IS NOT NULL",
					 column, statement->name, statement->vector, statement->table,
					 statement->where, column);
	if (candidates == 0)
		return sql.data;
	equal = lookup_type_cache(found.type, TYPECACHE_EQ_OPR)->eq_opr;
	if (!OidIsValid(equal))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an equality operator for type %s",
						format_type_be(found.type))));
	appendStringInfo(&sql, " AND %s %s ANY (SELECT met.c1 FROM "
					 "(SELECT found.c1, pg_catalog.min(found.distance) OPERATOR(pg_catalog.-) "
					 "pg_catalog.min(found.last) AS nearer FROM "
					 "(SELECT f.number, f.c1, f.distance, pg_catalog.max(f.distance) "
					 "OVER (PARTITION BY f.number) AS last FROM (%s) AS f) AS found "
					 "WHERE found.c1 IS NOT NULL GROUP BY found.c1, found.number) AS met "
					 "GROUP BY met.c1 ORDER BY pg_catalog.sum(met.nearer) LIMIT %d)",
					 column, ecp_knn_operator(equal),
					 ecp_knn_statement_search(statement, rows, 1, (char *const *) &document, true),
					 candidates);
	return sql.data;
}

/*
 * ecp_knn_max_sim(index regclass, queries anyarray or text, grouped_by name, k int,
 *		rows int, candidates int, condition text)
 */
Datum
ecp_knn_max_sim(PG_FUNCTION_ARGS)
{
	MaxSim		sim = {0};
	EcpKnnStatement statement;
	EcpKnnInput input;
	int			rows;
	int			candidates = 0;
	char	   *sql;

	if (!ecp_knn_result_begin(fcinfo, 5))
		return (Datum) 0;
	sim.k = ecp_knn_check_number(PG_GETARG_INT32(3), "k");
	rows = ecp_knn_check_number(PG_GETARG_INT32(4), "rows");
	if (!PG_ARGISNULL(5))
		candidates = Max(sim.k, ecp_knn_check_number(PG_GETARG_INT32(5), "candidates"));
	ecp_knn_statement_open(&statement, fcinfo, ecp_knn_condition(fcinfo, 6), &input);
	sql = sim_statement(&statement, NameStr(*PG_GETARG_NAME(2)), rows, candidates);
	if (!EcpIndexIsEmpty(&statement.state))
	{
		sim_init(&sim, &statement, &input);
		if (sim.nqueries > 0)
			ecp_knn_statement_run(&statement, &input, sql, sim_add, &sim);
		sim_finish(&sim);
		ecp_group_rows_return((ReturnSetInfo *) fcinfo->resultinfo, sim.best, sim.nbest,
							  sim.k);
	}
	ecp_knn_statement_close(&statement, &input);
	return (Datum) 0;
}
