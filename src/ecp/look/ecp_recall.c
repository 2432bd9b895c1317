/*-------------------------------------------------------------------------
 *
 * ecp_recall.c
 *	  ecp_recall(): the share of the true nearest rows that an index finds.
 *
 * Queries are a sample of the table's rows, or the result of a query that the
 * user gives.  Passes over the table (ecp_knn_truth()) find the distance of the
 * k-th nearest row of each.  Then the queries are run through the index, once
 * for each number of probes.  A row counts if its distance is at most that of
 * the k-th nearest, so it does not matter which of equally distant rows are
 * returned: both sides compute distances by the same kernels, equal to the last
 * bit.
 *
 *	 queries		reservoir sample of the table | the user's query
 *	 truth			the exact search of many queries at once (ecp_knn_table.c)
 *	 curve			on request: the probes that each recall target takes, by
 *					these queries (ecp_recall_curve.c), into the metapage
 *	 measurements	index scans by the settings in force, and for each number of
 *					probes; told that k rows will be taken, as by a LIMIT
 *
 * A row that is itself the query is omitted on both sides, since it would
 * always be found.
 *
 * The user's query runs as the calling user.  The table and the index are read
 * directly, and index expressions computed as the table's owner (ecp_user_table.c);
 * so tables with row security are refused.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/search/ecp_scan.h"
#include "ecp/search/ecp_search.h"
#include "ecp/search/ecp_stop.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/guc.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "vector/vector_value.h"

#define ECP_RECALL_K_MAX		10000
#define ECP_RECALL_SAMPLES_MAX	10000

/* Queries unlike the user's, for the curve, and seconds that they may take. */
#define ECP_RECALL_OTHERS		400
#define ECP_RECALL_SECONDS		10

/* A query, without its vector. */
typedef struct EcpRecallQuery
{
	ItemPointerData self;		/* the row that it is, or invalid */
	int			nnearest;		/* rows of the truth, up to k */
	float8		farthest;		/* distance of the last of them */
} EcpRecallQuery;

typedef struct EcpRecall
{
	Relation	heap;
	Relation	index;
	EcpIndexState state;
	int			k;
	int			nsamples;
	bool		store;			/* the curve */
	EcpRecallQuery *queries;
	int			nqueries;
	EcpKnnInput input;			/* their numbers and vectors */
	TupleTableSlot *slot;		/* for one of them */
	uint64		nrows;			/* of the table, that the index would have */
	EcpRecallCurve *curve;		/* to be measured, or NULL */
	pg_prng_state prng;
	void	   *prepared;		/* scratch for ecp_prepare() */
} EcpRecall;

/* Sums over the queries, for one number of probes. */
typedef struct EcpRecallPoint
{
	double		hits;
	double		wanted;
	double		clusters;
	double		vectors;
	double		ms;
} EcpRecallPoint;

PGDLLEXPORT Datum ecp_recall(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_recall);

/* Open index and table, and check that the user may read the rows. */
static void
recall_open(EcpRecall *recall, FunctionCallInfo fcinfo)
{
	recall->index = ecp_user_index_open(fcinfo, AccessShareLock,
										ECP_INDEX_READ,
										&ecp_index_kind,
										&recall->heap);
	if (check_enable_rls(RelationGetRelid(recall->heap), InvalidOid,
						 false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("recall cannot be measured on a table with row-level security"),
				 errdetail("Policies of table \"%s\" apply to the current user, but not to its index.",
						   RelationGetRelationName(recall->heap))));

	ecp_meta_read_state(recall->index, &recall->state);
}

/* Read a vector; false if it would not be indexed. */
static bool
recall_read(EcpRecall *recall, Datum value, EcpVector *vector)
{
	ecp_vector_read(value, recall->state.meta.ecpm_column_type, vector);
	ecp_vector_check_dims(vector, recall->state.meta.ecpm_dims,
						  RelationGetRelationName(recall->index));
	if (ecp_prepare(&recall->state.meta, vector, recall->prepared))
		return true;
	ecp_vector_release(vector);
	return false;
}

/* Keep the TID of a row: reservoir sampling. */
static void
recall_sample(const ItemPointerData *tid, Datum value, void *arg)
{
	EcpRecall  *recall = arg;
	uint64		place = recall->nrows;
	EcpVector	vector;

	/* a vector without a direction has no distance */
	if (!recall_read(recall, value, &vector))
		return;
	ecp_vector_release(&vector);
	if (recall->nrows++ >= recall->nsamples)
		place = pg_prng_uint64_range(&recall->prng, 0, recall->nrows - 1);
	if (place < recall->nsamples)
		recall->queries[place].self = *tid;
}

/* Keep a query. */
static void
recall_take_query(const ItemPointerData *tid, Datum value, void *arg)
{
	EcpRecall  *recall = arg;
	const EcpMetaPageData *meta = &recall->state.meta;
	EcpVector	vector;

	if (recall->nqueries == recall->nsamples ||
		!recall_read(recall, value, &vector))
		return;
	/* not a pointer to the TOAST table */
	value = ecp_vector_make(meta->ecpm_column_type, meta->ecpm_dims, vector.data);
	ecp_knn_input_add(&recall->input, recall->nqueries, value, false);
	pfree(DatumGetPointer(value));
	recall->queries[recall->nqueries++].self = *tid;
	ecp_vector_release(&vector);
}

/* Take random rows of the table as queries. */
static void
recall_take_sample(EcpRecall *recall)
{
	TableScanDesc scan;
	int			n;
	ItemPointerData *tids;

	/* without synchronized scans: always in the same order */
	scan = table_beginscan_strat(recall->heap, GetActiveSnapshot(), 0, NULL,
								 true, false);
	ecp_user_table_scan(recall->heap, recall->index, scan, recall_sample, recall);
	table_endscan(scan);
	n = (int) Min(recall->nrows, recall->nsamples);
	tids = palloc(mul_size(n + 1, sizeof(ItemPointerData)));
	for (int q = 0; q < n; q++)
		tids[q] = recall->queries[q].self;
	ecp_user_table_fetch(recall->heap, recall->index, GetActiveSnapshot(), tids, n,
						 recall_take_query, recall);
	pfree(tids);
}

/* Take the first vectors that the user's query returns. */
static void
recall_run(EcpRecall *recall, Datum sql)
{
	ItemPointerData none;
	EcpKnnInput input;

	ItemPointerSetInvalid(&none);
	ecp_knn_input_init(&input, recall->index);
	ecp_knn_input_read(&input, sql, TEXTOID);
	while (tuplestore_gettupleslot(input.store, true, false, recall->slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(recall->slot, 2, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (!isnull)
			recall_take_query(&none, value, recall);
	}
	tuplestore_end(input.store);
}

/* Take the queries. */
static void
recall_prepare(EcpRecall *recall, const NullableDatum *queries, int seed)
{
	recall->queries = palloc0(mul_size(recall->nsamples,
									   sizeof(EcpRecallQuery)));
	recall->prepared = palloc(recall->state.node.vec_bytes);
	pg_prng_seed(&recall->prng, seed);
	ecp_knn_input_init(&recall->input, recall->index);
	recall->slot = MakeSingleTupleTableSlot(recall->input.desc,
											&TTSOpsMinimalTuple);
	if (!queries->isnull)
		recall_run(recall, queries->value);
	else
		recall_take_sample(recall);
}

/*
 * Take the truth of a query, of k + 1 rows, since the row that is itself the
 * query may be among them.  Pass it to the curve if one is measured.
 */
static void
recall_take_truth(int64 number, const void *elements, const EcpRanked *nearest,
				  int n, void *arg)
{
	EcpRecall  *recall = arg;
	EcpRecallQuery *query = &recall->queries[number];

	Assert(number >= 0 && number < recall->nqueries);
	Assert(n <= recall->k + 1);
	query->nnearest = 0;
	for (int i = 0; i < n && query->nnearest < recall->k; i++)
	{
		if (ItemPointerIsValid(&query->self) &&
			nearest[i].item == ecp_tid_item(&query->self))
			continue;
		query->farthest = nearest[i].rank;
		query->nnearest++;
	}
	if (recall->curve)
		ecp_recall_curve_query(recall->curve, elements,
							   ItemPointerIsValid(&query->self) ? &query->self : NULL);
}

static void
recall_find_truth(EcpRecall *recall)
{
	recall->nrows = ecp_knn_truth(recall->heap, recall->index, &recall->state,
								  &recall->input, recall->k + 1,
								  recall_take_truth, recall);
}

/* Find the truth, measure the recall curve and store it in the index. */
static void
recall_store(EcpRecall *recall)
{
	if (recall->nqueries < ECP_RECALL_QUERIES_LEAST)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%d queries are too few for a recall curve",
						recall->nqueries),
				 errhint("There must be at least %d.", ECP_RECALL_QUERIES_LEAST)));
	recall->curve = ecp_recall_curve_begin(recall->index, &recall->state,
										   recall->nqueries + ECP_RECALL_OTHERS);
	if (recall->curve == NULL)
		ereport(NOTICE,
				(errmsg("index \"%s\" has no recall curve, because its vectors are on pages of their own",
						RelationGetRelationName(recall->index))));
	else
		ecp_recall_curve_sample(recall->curve, false, ECP_RECALL_SECONDS);
	recall_find_truth(recall);
	if (recall->curve == NULL)
		return;
	if (ecp_recall_curve_choose(recall->curve, recall->nrows))
		ecp_recall_curve_store(recall->index, &recall->state.meta);
	ecp_recall_curve_end(recall->curve);
}

static void
recall_set_option(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * The distance of the row in rows->slot from a query, which is not what the index
 * has if that is rounded.
 */
static float8
recall_table_distance(const EcpRecall *recall, EcpUserTableRows *rows,
					  const EcpVector *query)
{
	float8		distance;

	return ecp_user_table_row_distance(rows, recall->index, &recall->state.meta,
									   query->data, &distance) ?
		distance : get_float8_infinity();
}

/* Run one query through the index, and add what it finds to the sums. */
static void
recall_measure_query(EcpRecall *recall, IndexScanDesc scan,
					 EcpUserTableRows *rows, EcpRecallQuery *query, Datum value,
					 EcpRecallPoint *point)
{
	bool		exact = EcpDistancesAreExact(&recall->state.meta);
	TupleTableSlot *slot = rows->slot;
	float8		bound;
	ScanKeyData orderby;
	EcpVector	vector;
	int			nfound = 0;
	int			nhits = 0;
	instr_time	start;
	instr_time	stop;

	Assert(query->nnearest <= recall->k);
	if (query->nnearest == 0)
		return;
	bound = query->farthest;

	memset(&orderby, 0, sizeof(orderby));
	orderby.sk_flags = SK_ORDER_BY;
	orderby.sk_attno = 1;
	orderby.sk_strategy = ECP_DISTANCE_STRATEGY;
	orderby.sk_argument = value;

	ecp_vector_read(value, recall->state.meta.ecpm_column_type, &vector);
	ecp_scan_set_wanted(scan, recall->k +
						(ItemPointerIsValid(&query->self) ? 1 : 0));
	INSTR_TIME_SET_CURRENT(start);
	index_rescan(scan, NULL, 0, &orderby, 1);
	while (nfound < query->nnearest &&
		   index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		if (ItemPointerIsValid(&query->self) &&
			ItemPointerEquals(&query->self, &slot->tts_tid))
			continue;
		nfound++;
		if ((exact ? DatumGetFloat8(scan->xs_orderbyvals[0]) :
			 recall_table_distance(recall, rows, &vector)) <= bound)
			nhits++;
	}
	INSTR_TIME_SET_CURRENT(stop);
	INSTR_TIME_SUBTRACT(stop, start);

	ecp_vector_release(&vector);
	point->hits += nhits;
	point->wanted += query->nnearest;
	point->clusters += ecp_search_last.clusters;
	point->vectors += ecp_search_last.vectors;
	point->ms += INSTR_TIME_GET_MILLISEC(stop);
}

/*
 * Measure one number of probes and no more than these, or, if it is 0, what
 * scans do by the settings in force; put a row of the result.
 */
static void
recall_measure(EcpRecall *recall, int probes, ReturnSetInfo *rsinfo)
{
	int			nestlevel = NewGUCNestLevel();
	EcpUserTableRows rows;
	EcpRecallPoint point = {0};
	IndexScanDesc scan;
	Datum		values[5];
	bool		nulls[5] = {false};

	Assert(probes >= 0 && probes <= ECP_PROBES_MAX);
	if (probes > 0)
	{
		recall_set_option("ecp.probes", psprintf("%d", probes));
		recall_set_option("ecp.iterative_scan", "off");
	}
	ecp_user_table_rows_begin(&rows, recall->heap, recall->index);
	scan = ecp_index_beginscan(recall->heap, recall->index,
							   GetActiveSnapshot(), 0, 1);
	tuplestore_rescan(recall->input.store);
	for (int q = 0; q < recall->nqueries &&
		 tuplestore_gettupleslot(recall->input.store, true, false,
								 recall->slot);
		 q++)
	{
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		recall_measure_query(recall, scan, &rows, &recall->queries[q],
							 slot_getattr(recall->slot, 2, &isnull), &point);
	}
	index_endscan(scan);
	ecp_user_table_rows_end(&rows);
	AtEOXact_GUC(false, nestlevel);

	values[0] = Int32GetDatum(probes);
	values[1] = Float8GetDatum(point.hits / Max(point.wanted, 1));
	nulls[1] = point.wanted == 0;
	values[2] = Float8GetDatum(point.clusters / Max(recall->nqueries, 1));
	values[3] = Float8GetDatum(point.vectors / Max(recall->nqueries, 1));
	values[4] = Float8GetDatum(point.ms / Max(recall->nqueries, 1));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * The numbers of probes to measure: the user's, or 0, which stands for the
 * settings in force, and their number times 1/4, 1/2, 1, 2 and 4.
 */
static int *
recall_probes(EcpRecall *recall, ArrayType *array, int *n)
{
	int			nclusters = Max(recall->state.meta.ecpm_nleaves, 1);
	int		   *probes;

	if (array == NULL)
	{
		double		probe = ecp_target_clusters(recall->index,
												&recall->state.meta,
												recall->k) / 4.0;

		probes = palloc0(6 * sizeof(int));
		*n = 1;
		for (int i = 0; i < 5; i++, probe *= 2)
		{
			int			value = Min(Max((int) probe, 1), nclusters);

			if (value > probes[*n - 1])
				probes[(*n)++] = value;
		}
		return probes;
	}

	if (ARR_NDIM(array) > 1 || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("probes must be a one-dimensional array without NULLs")));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	probes = (int *) ARR_DATA_PTR(array);
	for (int i = 0; i < *n; i++)
	{
		if (probes[i] < 0 || probes[i] > ECP_PROBES_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("number of probes must be between 0 and %d",
							ECP_PROBES_MAX)));
	}
	return probes;
}

static void
recall_check_null(FunctionCallInfo fcinfo, int argno, const char *name)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", name)));
}

static int
recall_check_argument(FunctionCallInfo fcinfo, int argno, const char *name,
					  int max)
{
	int			value = PG_GETARG_INT32(argno);

	recall_check_null(fcinfo, argno, name);
	if (value < 1 || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and %d", name, max)));
	return value;
}

/* Check that the user may store a curve in the index. */
static void
recall_check_store(EcpRecall *recall)
{
	PreventCommandDuringRecovery("ecp_recall(store => true)");
	if (!ecp_relation_ownercheck(RelationGetRelid(recall->index),
								 GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   RelationGetRelationName(recall->index));
	if (recall->nsamples < ECP_RECALL_QUERIES_LEAST)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("samples must be at least %d where the recall curve is stored",
						ECP_RECALL_QUERIES_LEAST)));
}

/*
 * ecp_recall(index regclass, k int, probes int[], samples int, seed int,
 *			  queries text, store bool)
 */
Datum
ecp_recall(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	EcpRecall	recall = {0};
	int		   *probes;
	int			nprobes;

	recall_check_null(fcinfo, 0, "index");
	recall.k = recall_check_argument(fcinfo, 1, "k", ECP_RECALL_K_MAX);
	recall.nsamples = recall_check_argument(fcinfo, 3, "samples",
											ECP_RECALL_SAMPLES_MAX);
	recall_check_null(fcinfo, 4, "seed");
	InitMaterializedSRF(fcinfo, 0);

	recall.store = !PG_ARGISNULL(6) && PG_GETARG_BOOL(6);
	recall_open(&recall, fcinfo);
	if (recall.store)
		recall_check_store(&recall);
	probes = recall_probes(&recall,
						   PG_ARGISNULL(2) ? NULL : PG_GETARG_ARRAYTYPE_P(2),
						   &nprobes);
	if (!EcpIndexIsEmpty(&recall.state))
	{
		recall_prepare(&recall, &fcinfo->args[5], PG_GETARG_INT32(4));
		if (recall.store)
			recall_store(&recall);
		else
			recall_find_truth(&recall);

		for (int i = 0; i < nprobes; i++)
			recall_measure(&recall, probes[i], rsinfo);
		ExecDropSingleTupleTableSlot(recall.slot);
		tuplestore_end(recall.input.store);
	}

	index_close(recall.index, AccessShareLock);
	table_close(recall.heap, AccessShareLock);
	return (Datum) 0;
}
