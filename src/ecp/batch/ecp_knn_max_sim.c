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
 *	 candidates	one batch search finds some rows for each vector, and of each document
 *				that is met the distances are added up; a vector that has not met the
 *				document counts as if it had with the last row that it found (as in
 *				XTR and WARP)
 *	 rows		all rows of the best candidates, by a query on their column, which the
 *				planner executes through an index on it, and which row-level security
 *				and the condition are part of (base/policy_scan.c)
 *	 distances	what is indexed of these rows, compared with all vectors
 *
 * With all documents as candidates the first two are left out, and the answer is
 * exact.  Where these take more than work_mem, rows of further documents are put
 * aside, their TIDs sorted by the hash of the document, and read again in that order.
 * Rows whose document is NULL belong to none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/policy_scan.h"
#include "base/topk.h"
#include "catalog/pg_type.h"
#include "ecp/batch/ecp_group.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/batch/ecp_user_table.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_tid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "vector/vector_value.h"

PGDLLEXPORT Datum ecp_knn_max_sim(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_knn_max_sim);

/* TIDs that the query on the documents is asked for at a time. */
#define SIM_FETCH			1000

/* A document whose rows are compared. */
typedef struct SimDocument
{
	float8		distance;
	uint32		number;
	ItemPointerData tid;		/* of its first row; invalid if it has none */
} SimDocument;

static int
document_compare(const SimDocument *a, const SimDocument *b)
{
	if (a->distance != b->distance)
		return float8_lt(a->distance, b->distance) ? -1 : 1;
	if (ItemPointerIsValid(&a->tid) && ItemPointerIsValid(&b->tid))
		return ItemPointerCompare((ItemPointer) &a->tid, (ItemPointer) &b->tid);
	return a->number < b->number ? -1 : a->number > b->number;
}

#define ST_SORT documents_sort
#define ST_ELEMENT_TYPE SimDocument
#define ST_COMPARE(a, b) document_compare(a, b)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

typedef struct MaxSim
{
	Relation	heap;
	Relation	index;
	Snapshot	snapshot;
	const char *condition;		/* or NULL */
	EcpIndexState state;
	EcpRowGroups groups;
	int			nqueries;
	const EcpQuery **queries;

	/* the nearest documents so far */
	int			k;
	SimDocument *best;			/* room for 2 k */
	uint32		nbest;

	/* documents, by the numbers of their groups */
	MemoryContext context;		/* of these */
	const char *grouped_by;
	bool		all;			/* also those that are met for the first time */
	bool		full;			/* there is no memory for more */
	bool		aside;			/* then put their rows aside: */
	EcpTopk		late;			/* ranks: hashes of documents */
	uint32		ndocuments;
	uint32		room;
	SimDocument *documents;
	float8	   *least;			/* ranks, nqueries for each */

	/* rows that wait to be compared */
	int			n;
	Size		stride;
	char	   *vectors;
	uint32	   *factors[ECP_FACTORS_MAX];
	uint32		row_documents[ECP_PASS_ROWS];
	void	   *prepared;		/* scratch for ecp_prepare() */
} MaxSim;

/* Make room for "n" documents, those that are new being far from everything. */
static void
sim_set_documents(MaxSim *sim, uint32 n)
{
	Assert(n >= sim->ndocuments);
	if (n > sim->room)
	{
		sim->room = Max(n, sim->room * 2);
		sim->documents = repalloc_huge(sim->documents,
									   mul_size(sim->room, sizeof(SimDocument)));
		sim->least = repalloc_huge(sim->least,
								   mul_size(mul_size(sim->room, sim->nqueries),
											sizeof(float8)));
	}
	for (; sim->ndocuments < n; sim->ndocuments++)
	{
		SimDocument *document = &sim->documents[sim->ndocuments];

		document->number = sim->ndocuments;
		document->distance = 0;
		ItemPointerSetInvalid(&document->tid);
		for (int q = 0; q < sim->nqueries; q++)
			sim->least[(Size) sim->ndocuments * sim->nqueries + q] = get_float8_infinity();
	}
}

/* Begin with no documents. */
static void
sim_reset(MaxSim *sim)
{
	MemoryContext old;

	MemoryContextReset(sim->context);
	old = MemoryContextSwitchTo(sim->context);
	ecp_group_init(&sim->groups, sim->heap, sim->grouped_by);
	sim->ndocuments = 0;
	sim->room = 1;
	sim->documents = palloc(sizeof(SimDocument));
	sim->least = palloc(mul_size(Max(sim->nqueries, 1), sizeof(float8)));
	sim->full = false;
	MemoryContextSwitchTo(old);
}

/* Prepare the vectors of the query, and memory for rows. */
static void
sim_init(MaxSim *sim, EcpKnnInput *input)
{
	const EcpMetaPageData *meta = &sim->state.meta;
	TupleTableSlot *slot = MakeSingleTupleTableSlot(input->desc, &TTSOpsMinimalTuple);

	sim->queries = palloc(mul_size(Max(input->n, 1), sizeof(EcpQuery *)));
	tuplestore_rescan(input->store);
	while (tuplestore_gettupleslot(input->store, true, false, slot))
	{
		EcpKnnErrorQuery error_query;
		EcpVector	vector;
		bool		isnull;
		Datum		value = slot_getattr(slot, 2, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		ecp_knn_error_begin(&error_query, DatumGetInt64(slot_getattr(slot, 1, &isnull)));
		ecp_vector_read(value, meta->ecpm_column_type, &vector);
		ecp_vector_check_dims(&vector, meta->ecpm_dims,
							  RelationGetRelationName(sim->index));
		ecp_knn_error_end(&error_query);
		sim->queries[sim->nqueries++] =
			ecp_query_create(EcpMetaQueryElem(meta), meta->ecpm_metric,
							 meta->ecpm_dims, vector.data);
		ecp_vector_release(&vector);
	}
	ExecDropSingleTupleTableSlot(slot);

	sim->stride = ecp_vector_bytes(EcpMetaQueryElem(meta), meta->ecpm_dims);
	sim->vectors = palloc(sim->stride * ECP_PASS_ROWS + ECP_KERNEL_SLACK);
	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		sim->factors[f] = palloc0(ECP_PASS_ROWS * sizeof(uint32) + ECP_KERNEL_SLACK);
	sim->prepared = palloc(sim->state.node.vec_bytes);
	sim->best = palloc_array(SimDocument, 2 * sim->k);
	sim_reset(sim);
}

/* Compare the rows that wait with the query's vectors. */
static void
sim_compare(MaxSim *sim)
{
	float8		limits[ECP_PASS_QUERIES];
	uint64		passed[ECP_PASS_QUERIES];
	float8		ranks[ECP_PASS_QUERIES * ECP_PASS_ROWS];

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < ECP_PASS_QUERIES; i++)
		limits[i] = get_float8_infinity();
	for (int first = 0; sim->n > 0 && first < sim->nqueries; first += ECP_PASS_QUERIES)
	{
		int			count = Min(sim->nqueries - first, ECP_PASS_QUERIES);

		ecp_queries_pass_rows(sim->queries + first, count, limits, sim->vectors,
							  sim->stride, (const uint32 *const *) sim->factors,
							  sim->n, passed, ranks);
		for (int i = 0; i < sim->n; i++)
		{
			float8	   *least = sim->least +
				(Size) sim->row_documents[i] * sim->nqueries + first;

			for (int q = 0; q < count; q++)
			{
				if (ranks[q * ECP_PASS_ROWS + i] < least[q])
					least[q] = ranks[q * ECP_PASS_ROWS + i];
			}
		}
	}
	sim->n = 0;
}

/*
 * The number of the document of the row in rows->slot; ECP_GROUP_NONE if that is none
 * of those, or there is no memory for it.
 */
static uint32
sim_document(MaxSim *sim, EcpUserTableRows *rows)
{
	bool		aside = sim->full && sim->aside;
	uint32		number = ecp_group_number(&sim->groups, rows->slot, sim->all && !aside);

	if (number == ECP_GROUP_NONE && aside)
	{
		ecp_ranked_set(ecp_topk_room(&sim->late, 1),
					   ecp_group_hash(&sim->groups, rows->slot),
					   ecp_tid_item(&rows->slot->tts_tid));
		ecp_topk_added(&sim->late, 1);
	}
	if (sim->groups.n > sim->ndocuments)
	{
		sim_set_documents(sim, sim->groups.n);
		sim->full = MemoryContextMemAllocated(sim->context, true) >
			work_mem * (Size) 1024 / 2;
	}
	if (number != ECP_GROUP_NONE && sim->groups.values[number].isnull)
		return ECP_GROUP_NONE;
	return number;
}

/* Add the row in rows->slot, if the index has it and its document is one of those. */
static void
sim_add(MaxSim *sim, EcpUserTableRows *rows)
{
	const EcpMetaPageData *meta = &sim->state.meta;
	uint32		number = sim_document(sim, rows);
	uint32		factors[ECP_FACTORS_MAX] = {0};
	SimDocument *document;
	EcpVector	vector;
	Datum		value;

	if (number == ECP_GROUP_NONE || !ecp_user_table_row_value(rows, &value))
		return;
	ecp_vector_read(value, meta->ecpm_column_type, &vector);
	ecp_vector_check_dims(&vector, meta->ecpm_dims, RelationGetRelationName(sim->index));
	if (ecp_prepare(meta, &vector, sim->prepared))
	{
		memcpy(sim->vectors + sim->n * sim->stride, vector.data, sim->stride);
		ecp_factors_compute(vector.elem, meta->ecpm_metric, meta->ecpm_dims,
							vector.data, factors);
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			sim->factors[f][sim->n] = factors[f];
		document = &sim->documents[number];
		if (!ItemPointerIsValid(&document->tid) ||
			ItemPointerCompare(&rows->slot->tts_tid, &document->tid) < 0)
			document->tid = rows->slot->tts_tid;
		sim->row_documents[sim->n++] = number;
	}
	ecp_vector_release(&vector);
	if (sim->n == ECP_PASS_ROWS)
		sim_compare(sim);
}

/* Compare the rows that a query returns. */
static void
sim_add_found(MaxSim *sim, EcpPolicyScan *scan)
{
	ItemPointerData tids[SIM_FETCH];
	int			n;

	while ((n = ecp_policy_scan_next(scan, tids, SIM_FETCH)) > 0)
	{
		EcpUserTableRows rows;

		/* the query runs as the caller, what is below as the owner */
		ecp_user_table_rows_begin(&rows, sim->heap, sim->index);
		for (int i = 0; i < n; i++)
		{
			if (table_tuple_fetch_row_version(sim->heap, &tids[i], sim->snapshot,
											  rows.slot))
				sim_add(sim, &rows);
		}
		ecp_user_table_rows_end(&rows);
	}
	ecp_policy_scan_end(scan);
}

/* Compare all rows that are not put aside. */
static void
sim_add_all(MaxSim *sim)
{
	TableScanDesc scan;
	EcpUserTableRows rows;

	if (sim->condition != NULL ||
		check_enable_rls(RelationGetRelid(sim->heap), InvalidOid, false) == RLS_ENABLED)
	{
		sim_add_found(sim, ecp_policy_scan_begin(sim->heap, sim->snapshot,
												 sim->condition, NULL, 0));
		return;
	}
	scan = ecp_table_beginscan(sim->heap, sim->snapshot);
	ecp_user_table_rows_begin(&rows, sim->heap, sim->index);
	while (table_scan_getnextslot(scan, ForwardScanDirection, rows.slot))
		sim_add(sim, &rows);
	ecp_user_table_rows_end(&rows);
	table_endscan(scan);
}

/*
 * Add to the estimates of documents what one vector has found, the nearest first: how
 * much nearer than its last row it came to each of them.
 */
static void
sim_estimate(MaxSim *sim, const uint32 *found, const float8 *distances, int n,
			 uint32 **met, uint32 *nmet, uint32 query)
{
	if (sim->groups.n > sim->ndocuments)
		sim_set_documents(sim, sim->groups.n);
	if (sim->ndocuments > *nmet)
	{
		*met = repalloc_huge(*met, mul_size(sim->room, sizeof(uint32)));
		memset(*met + *nmet, 0, (sim->ndocuments - *nmet) * sizeof(uint32));
		*nmet = sim->ndocuments;
	}
	for (int i = 0; i < n; i++)
	{
		if ((*met)[found[i]] == query)
			continue;
		(*met)[found[i]] = query;
		sim->documents[found[i]].distance += distances[i] - distances[n - 1];
	}
}

/* The documents of the rows that were found, with estimates of their distances. */
static void
sim_meet(MaxSim *sim, EcpKnnAnswers *answers, int k)
{
	TupleTableSlot *answer = MakeSingleTupleTableSlot(answers->desc, &TTSOpsMinimalTuple);
	TupleTableSlot *row = table_slot_create(sim->heap, NULL);
	uint32	   *found = palloc_array(uint32, k);
	float8	   *distances = palloc_array(float8, k);
	uint32	   *met = palloc_array(uint32, 1);
	uint32		nmet = 0;
	uint32		query = 1;
	int			n = 0;

	while (tuplestore_gettupleslot(answers->store, true, false, answer))
	{
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(answer);
		if (DatumGetInt32(answer->tts_values[1]) == 1 && n > 0)
		{
			sim_estimate(sim, found, distances, n, &met, &nmet, query++);
			n = 0;
		}
		tid = *(ItemPointer) DatumGetPointer(answer->tts_values[2]);
		if (!table_tuple_fetch_row_version(sim->heap, &tid, sim->snapshot, row))
			continue;
		found[n] = ecp_group_number(&sim->groups, row, true);
		distances[n++] = DatumGetFloat8(answer->tts_values[3]);
	}
	if (n > 0)
		sim_estimate(sim, found, distances, n, &met, &nmet, query);
	ExecDropSingleTupleTableSlot(row);
	ExecDropSingleTupleTableSlot(answer);
}

/* Compare the rows of the documents that seem nearest. */
static void
sim_add_candidates(MaxSim *sim, int candidates)
{
	Datum	   *values = palloc_array(Datum, candidates);
	uint32		all = sim->ndocuments;
	int			n = 0;

	documents_sort(sim->documents, all);
	for (uint32 i = 0; i < all && n < candidates; i++)
	{
		const NullableDatum *value = &sim->groups.values[sim->documents[i].number];

		if (!value->isnull)
			values[n++] = value->value;
	}
	sim->ndocuments = 0;
	sim_set_documents(sim, all);
	if (n > 0)
		sim_add_found(sim, ecp_policy_scan_begin_values(sim->heap, sim->snapshot,
														sim->condition,
														sim->groups.column.attnum,
														sim->groups.equal_operator,
														values, n));
}

/* All rows of the documents have been added: keep the nearest. */
static void
sim_finish(MaxSim *sim)
{
	uint32		n = 0;

	sim_compare(sim);
	for (uint32 i = 0; i < sim->ndocuments; i++)
	{
		SimDocument document = sim->documents[i];

		if (!ItemPointerIsValid(&document.tid))
			continue;
		document.distance = 0;
		for (int q = 0; q < sim->nqueries; q++)
		{
			float8		rank = sim->least[(Size) i * sim->nqueries + q];

			/* a vector that has no direction is near to nothing */
			if (!isinf(rank))
				document.distance += ecp_rank_distance(sim->state.meta.ecpm_metric, rank);
		}
		sim->documents[n++] = document;
	}
	documents_sort(sim->documents, n);
	n = Min(n, (uint32) sim->k);
	memcpy(sim->best + sim->nbest, sim->documents, n * sizeof(SimDocument));
	documents_sort(sim->best, sim->nbest + n);
	sim->nbest = Min(sim->nbest + n, (uint32) sim->k);
}

/* Compare the rows that were put aside, some documents at a time. */
static void
sim_add_late(MaxSim *sim)
{
	EcpUserTableRows rows;
	const EcpRanked *row;
	float8		hash = -1;

	sim->aside = false;
	ecp_user_table_rows_begin(&rows, sim->heap, sim->index);
	while ((row = ecp_topk_take(&sim->late)) != NULL)
	{
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		if (sim->full && row->rank != hash)
		{
			sim_finish(sim);
			sim_reset(sim);
		}
		hash = row->rank;
		ecp_tid_from_item(sim->index, EcpRankedItem(row), &tid);
		if (table_tuple_fetch_row_version(sim->heap, &tid, sim->snapshot, rows.slot))
			sim_add(sim, &rows);
	}
	ecp_user_table_rows_end(&rows);
	ecp_topk_unbound(&sim->late);
}

/* Compare the rows of all documents, within work_mem. */
static void
sim_add_documents(MaxSim *sim)
{
	ecp_topk_init(&sim->late, CurrentMemoryContext, 1);
	ecp_topk_set_bound(&sim->late, work_mem * (Size) 1024 / 4 / sizeof(EcpRanked),
					   work_mem / 4);
	sim->all = sim->aside = true;
	sim_add_all(sim);
	sim_add_late(sim);
}

/* Return the nearest documents. */
static void
sim_return(const MaxSim *sim, ReturnSetInfo *rsinfo)
{
	for (uint32 i = 0; i < sim->nbest; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = Int32GetDatum(i + 1);
		values[1] = PointerGetDatum(&sim->best[i].tid);
		values[2] = Float8GetDatum(sim->best[i].distance);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* An argument that is a number of rows or documents. */
static int
sim_number(FunctionCallInfo fcinfo, int arg, const char *name)
{
	int			n = PG_GETARG_INT32(arg);

	if (n < 1 || n > ECP_KNN_K_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", name, ECP_KNN_K_MAX)));
	return n;
}

/*
 * ecp_knn_max_sim(index regclass, queries anyarray or text, grouped_by name, k int,
 *		rows int, candidates int, condition text)
 */
Datum
ecp_knn_max_sim(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MaxSim		sim = {0};
	EcpKnnInput input;
	EcpKnnAnswers answers;
	int			rows;
	int			candidates = 0;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < 5; i++)
	{
		if (PG_ARGISNULL(i))
			return (Datum) 0;
	}
	sim.k = sim_number(fcinfo, 3, "k");
	rows = sim_number(fcinfo, 4, "rows");
	if (!PG_ARGISNULL(5))
		candidates = Max(sim.k, sim_number(fcinfo, 5, "candidates"));
	if (!PG_ARGISNULL(6))
		sim.condition = text_to_cstring(PG_GETARG_TEXT_PP(6));
	sim.index = ecp_user_index_open_with_table(fcinfo, AccessShareLock, ECP_INDEX_READ,
											   &ecp_index_kind, &sim.heap);
	sim.snapshot = GetActiveSnapshot();
	sim.grouped_by = NameStr(*PG_GETARG_NAME(2));
	sim.context = AllocSetContextCreate(CurrentMemoryContext, "ecp documents",
										ALLOCSET_DEFAULT_SIZES);
	sim_reset(&sim);
	if (sim.groups.column.attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("documents cannot be identified by system column \"%s\"",
						NameStr(*PG_GETARG_NAME(2)))));

	ecp_knn_answers_init(&answers);
	answers.queries = &input;
	if (candidates > 0)
		ecp_knn_answers_find(fcinfo, false, rows, sim.condition, &answers);
	else
	{
		ecp_knn_input_init(&input, sim.index);
		ecp_knn_input_read(&input, PG_GETARG_DATUM(1),
						   get_fn_expr_argtype(fcinfo->flinfo, 1));
	}
	ecp_meta_read_state(sim.index, &sim.state);
	if (!EcpIndexIsEmpty(&sim.state))
	{
		sim_init(&sim, &input);
		if (candidates > 0)
		{
			sim_meet(&sim, &answers, rows);
			sim_add_candidates(&sim, candidates);
		}
		else if (sim.nqueries > 0)
			sim_add_documents(&sim);
		sim_finish(&sim);
		sim_return(&sim, rsinfo);
	}
	tuplestore_end(answers.store);
	tuplestore_end(input.store);
	index_close(sim.index, AccessShareLock);
	table_close(sim.heap, AccessShareLock);
	return (Datum) 0;
}
