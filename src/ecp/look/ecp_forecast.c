/*-------------------------------------------------------------------------
 *
 * ecp_forecast.c
 *	  ecp_forecast(): what an index would take, before it is built.
 *
 * A sample of the table's rows goes to a temporary table.  Indexes on it, one for each
 * value of the storage parameter "vectors", are built and searched as any index is, and
 * what that took is scaled to the rows of the table:
 *
 *	 bytes, WAL		as the rows: clusters are as large
 *	 the build		by the comparisons that a build of so many rows makes, each of
 *					which takes as long as in the sample's; the rest as the rows
 *	 a search		the rows that it compares grow as a power of the rows; its time
 *					by a line, with these
 *
 * All of it happens in a subtransaction that is rolled back, as the calling user, who
 * reads the table by an ordinary query: privileges and row security are that query's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/compat.h"
#include "base/team.h"
#include "base/user_index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "ecp/create/ecp_build.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_scan.h"
#include "ecp/search/ecp_search.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"
#include "utils/varlena.h"
#include "vector/vector_codes.h"

/*
 * Rows of the sample: as many as have these bytes, within limits.  As in a build's, a few
 * are taken from many blocks.
 */
#define FORECAST_BYTES			20e6
#define FORECAST_ROWS_MIN		8192
#define FORECAST_ROWS_MAX		32768
#define FORECAST_ROWS_PER_BLOCK	4
#define FORECAST_BLOCKS_MIN		1000

#define FORECAST_QUERIES	100
#define FORECAST_PASSES		3	/* the first one is not timed */
#define FORECAST_K_MAX		1000
#define FORECAST_TARGETS	3

/*
 * The rows that a search compares grow as a power of the rows, which is higher where they
 * are many in the sample, too, as in data of more dimensions: of descriptors, which take
 * 12 times the root of the rows of the sample, .35, of sentence embeddings (16) .5, of
 * words (31) and uniform elements (87) .6.  Two samples tell less of the power: each
 * curve is measured with too few queries.
 */
#define FORECAST_EXPONENT_LEAST	0.35
#define FORECAST_EXPONENT_MOST	0.6
#define FORECAST_EASY			12.0

/* The same of the time for each: fewer of the pages are in the processor's caches. */
#define FORECAST_CACHES		0.1

#define FORECAST_TABLE		"pg_temp.\"ecp forecast\""
#define FORECAST_COLUMNS	12

static const double forecast_targets[FORECAST_TARGETS] = {0.9, 0.95, 0.99};

/* Values of "vectors"; those after the first are for floats. */
static const char *const forecast_kinds[] = {"full", "half", "codes"};

/* An index on the sample. */
typedef struct ForecastIndex
{
	const char *name;			/* of its kind */
	EcpBuild	build;			/* what the arithmetic of a build needs */
	double		rows;
	double		bytes;
	double		cpu_s[ECP_BUILD_NPHASES];
	double		vectors[FORECAST_TARGETS];	/* compared by a search */
	double		ms[FORECAST_TARGETS];
} ForecastIndex;

typedef struct Forecast
{
	Oid			relid;
	char	   *table;			/* qualified names */
	char	   *column;
	char	   *opclass;		/* "" = the default */
	char	   *options;		/* further storage parameters, each after a
								 * comma */
	int			k;
	bool		logged;			/* builds write WAL */
	double		blocks;
	double		rows_per_block;
	double		rows;			/* to be indexed */
	double		exponent;
	double		vectors[FORECAST_TARGETS];	/* compared by searches of the
											 * sample */
	int			nindexes;
	ForecastIndex indexes[lengthof(forecast_kinds)];
} Forecast;

PGDLLEXPORT Datum ecp_forecast(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_forecast);

/* ---- what the user wants ---- */

/* Is it a table that an index can be created on? */
static void
forecast_check_table(Relation rel)
{
	const char *name = RelationGetRelationName(rel);

	if (rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned table", name),
				 errdetail("Each of its partitions has an index of its own."),
				 errhint("Call ecp_forecast() for the leaves of pg_partition_tree(), and add up.")));
	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table or materialized view", name)));
	ecp_shards_refuse(RelationGetRelid(rel));
}

/* The operator class as CREATE INDEX would name and check it. */
static char *
forecast_opclass(Oid relid, char *column, List *names)
{
	Oid			method = get_index_am_oid("ecp", false);
	IndexElem  *element = makeNode(IndexElem);

	element->name = column;
	element->opclass = names;
	ecp_statement_check_vector(element, method, relid);
	return names == NIL ? "" :
		generate_opclass_name(get_opclass_oid(method, names, false));
}

/* Storage parameters, "name=value" each, as a list in WITH goes on. */
static char *
forecast_options(Datum array)
{
	StringInfoData list;
	ListCell   *lc;

	initStringInfo(&list);
	foreach(lc, untransformRelOptions(array))
	{
		const DefElem *option = lfirst_node(DefElem, lc);

		appendStringInfo(&list, ", %s", quote_identifier(option->defname));
		if (option->arg)
			appendStringInfo(&list, " = %s", quote_literal_cstr(strVal(option->arg)));
	}
	return list.data;
}

static void
forecast_begin(Forecast *forecast, FunctionCallInfo fcinfo)
{
	Relation	rel;

	for (int i = 0; i < 2; i++)
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be NULL", i == 0 ? "rel" : "col")));
	forecast->k = PG_ARGISNULL(4) ? 0 : PG_GETARG_INT32(4);
	if (forecast->k < 1 || forecast->k > FORECAST_K_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be between 1 and %d", FORECAST_K_MAX)));
	if (XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a read-only transaction", "ecp_forecast()"),
				 errdetail("It builds indexes on a temporary table."),
				 RecoveryInProgress() ? errhint("Call it on the primary server.") :
				 errhint("Begin a transaction with READ WRITE.")));

	forecast->relid = PG_GETARG_OID(0);
	rel = relation_open(forecast->relid, AccessShareLock);
	forecast_check_table(rel);
	forecast->column = NameStr(*PG_GETARG_NAME(1));
	if (get_attnum(forecast->relid, forecast->column) == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						forecast->column, RelationGetRelationName(rel))));
	forecast->opclass = forecast_opclass(forecast->relid, forecast->column,
										 PG_ARGISNULL(2) ? NIL :
										 textToQualifiedNameList(PG_GETARG_TEXT_PP(2)));
	forecast->options = PG_ARGISNULL(3) ? "" : forecast_options(PG_GETARG_DATUM(3));
	forecast->table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												 RelationGetRelationName(rel));
	forecast->logged = RelationIsPermanent(rel) && XLogIsNeeded();
	forecast->blocks = RelationGetNumberOfBlocks(rel);
	if (rel->rd_rel->reltuples >= 0 && rel->rd_rel->relpages > 0)
		forecast->rows_per_block = rel->rd_rel->reltuples / rel->rd_rel->relpages;
	/* the lock stays: what was checked is what is read */
	relation_close(rel, NoLock);
}

/* ---- the sample ---- */

/* Execute a statement; the number of rows, or the number that it selects. */
static double
forecast_execute(const char *sql)
{
	int			result = SPI_execute(sql, false, 0);
	bool		isnull;

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	return result != SPI_OK_SELECT ? (double) SPI_processed :
		DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
									&isnull));
}

/* What TABLESAMPLE reads of the table: about so many blocks. */
static char *
forecast_from(const Forecast *forecast, double blocks)
{
	return psprintf("FROM ONLY %s TABLESAMPLE pg_catalog.system (%.9g) REPEATABLE (1)",
					forecast->table, 100 * blocks / Max(forecast->blocks, 1));
}

/* Make the temporary table; returns the number of its rows. */
static double
forecast_sample(Forecast *forecast)
{
	const char *column = quote_identifier(forecast->column);
	double		blocks = Min(forecast->blocks, FORECAST_BLOCKS_MIN);
	char	   *from = forecast_from(forecast, blocks);
	double		bytes = forecast_execute(psprintf("SELECT pg_catalog.max(pg_catalog.pg_column_size(%s)) %s",
												  column, from));
	double		n = Min(Max(FORECAST_BYTES / Max(bytes, 1), FORECAST_ROWS_MIN),
						FORECAST_ROWS_MAX);
	double		share;

	/* never analyzed: count */
	if (forecast->rows_per_block <= 0 && blocks > 0)
		forecast->rows_per_block =
			forecast_execute(psprintf("SELECT pg_catalog.count(*) FROM (SELECT %s %s) s",
									  column, from)) / blocks;
	blocks = Min(forecast->blocks, Max(n / FORECAST_ROWS_PER_BLOCK, blocks));
	share = Min(n / Max(blocks * forecast->rows_per_block, 1), 1);
	/* rows at equal distances; the column keeps its name, for messages */
	return forecast_execute(psprintf("CREATE TEMPORARY TABLE " FORECAST_TABLE " AS SELECT %s FROM"
									 " (SELECT %s, pg_catalog.row_number() OVER () AS \"ecp row\" %s) s"
									 " WHERE \"ecp row\" OPERATOR(pg_catalog.*) %.0f"
									 " OPERATOR(pg_catalog.%%) 1000000 OPERATOR(pg_catalog.<) %.0f",
									 column, column, forecast_from(forecast, blocks),
									 1e6 * share, 1e6 * share));
}

/* ---- searching ---- */

static void
forecast_set(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/* Some of the rows, as queries. */
static int
forecast_queries(Relation heap, double rows, Datum *queries)
{
	TableScanDesc scan = ecp_table_beginscan(heap, GetActiveSnapshot());
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	int64		step = Max(1, (int64) (rows / FORECAST_QUERIES));
	int64		number = 0;
	int			n = 0;

	while (n < FORECAST_QUERIES &&
		   table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, 1, &isnull);

		if (!isnull && number++ % step == 0)
			queries[n++] = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return n;
}

/* Search for each query; returns the seconds, and adds up the rows compared. */
static double
forecast_pass(const Forecast *forecast, IndexScanDesc scan, TupleTableSlot *slot,
			  const Datum *queries, int n, double *vectors)
{
	double		start = ecp_team_process_cpu_s();

	for (int q = 0; q < n; q++)
	{
		ScanKeyData orderby = {0};

		CHECK_FOR_INTERRUPTS();
		orderby.sk_flags = SK_ORDER_BY;
		orderby.sk_attno = 1;
		orderby.sk_strategy = ECP_DISTANCE_STRATEGY;
		orderby.sk_argument = queries[q];
		/* the row that is the query, and others */
		ecp_scan_set_wanted(scan, forecast->k + 1);
		index_rescan(scan, NULL, 0, &orderby, 1);
		for (int i = 0; i <= forecast->k &&
			 index_getnext_slot(scan, ForwardScanDirection, slot); i++);
		*vectors += ecp_search_last.vectors;
	}
	return ecp_team_process_cpu_s() - start;
}

/*
 * Seconds to read a block that the buffers of temporary tables do not have, of which
 * there are few.  Those of the index will be in shared buffers.
 */
static double
forecast_read_s(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	int64		reads = pgBufferUsage.local_blks_read;
	double		start = ecp_team_process_cpu_s();

	for (BlockNumber blk = 0; blk < nblocks; blk++)
		ReleaseBuffer(ReadBuffer(index, blk));
	reads = pgBufferUsage.local_blks_read - reads;
	return (ecp_team_process_cpu_s() - start) / Max(reads, 1);
}

static void
forecast_search(const Forecast *forecast, Relation heap, Relation index,
				double rows, ForecastIndex *result)
{
	Datum		queries[FORECAST_QUERIES];
	int			n = forecast_queries(heap, rows, queries);
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	IndexScanDesc scan = ecp_index_beginscan(heap, index, GetActiveSnapshot(), 0, 1);
	double		read_s = forecast_read_s(index);

	for (int t = 0; t < FORECAST_TARGETS && n > 0; t++)
	{
		double		least = get_float8_infinity();
		double		vectors = 0;

		forecast_set("ecp.target_recall", psprintf("%g", forecast_targets[t]));
		for (int pass = 0; pass < FORECAST_PASSES; pass++)
		{
			double		seconds;
			int64		reads = pgBufferUsage.local_blks_read;

			vectors = 0;
			seconds = forecast_pass(forecast, scan, slot, queries, n, &vectors);
			seconds -= read_s * (pgBufferUsage.local_blks_read - reads);
			if (pass > 0)
				least = Min(least, seconds);
		}
		result->vectors[t] = vectors / n;
		result->ms[t] = 1000 * least / n;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/* ---- indexes on the sample ---- */

/* Build and search an index on the sample of n rows, and drop it. */
static void
forecast_index(const Forecast *forecast, const char *name, double n,
			   ForecastIndex *result)
{
	Oid			temporary = LookupExplicitNamespace("pg_temp", false);
	EcpBuild   *build = &result->build;
	Relation	heap;
	Relation	index;

	forecast_execute(psprintf("CREATE INDEX \"ecp forecast index\" ON " FORECAST_TABLE
							  " USING ecp (%s %s) WITH (vectors = %s%s)",
							  quote_identifier(forecast->column),
							  forecast->opclass, name, forecast->options));
	heap = table_open(get_relname_relid("ecp forecast", temporary), AccessShareLock);
	index = index_open(get_relname_relid("ecp forecast index", temporary), AccessShareLock);
	result->name = name;
	build->options = ecp_options_get(index);
	build->budget = maintenance_work_mem * (Size) 1024;
	build->plan.nparticipants = 1;
	ecp_meta_read_state(index, &build->state);
	build->plan.in_buff = build->state.meta.ecpm_report.ecpb_in_buff;
	result->rows = build->state.meta.ecpm_build_tuples;
	result->bytes = (double) RelationGetNumberOfBlocks(index) * BLCKSZ;
	for (int i = 0; i < ECP_BUILD_NPHASES; i++)
		result->cpu_s[i] = build->state.meta.ecpm_report.ecpb_phase[i].ecpb_cpu_s;
	PushActiveSnapshot(GetTransactionSnapshot());
	forecast_search(forecast, heap, index, n, result);
	PopActiveSnapshot();
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	forecast_execute("DROP INDEX pg_temp.\"ecp forecast index\"");
}

/*
 * Searches of indexes with the same clusters compare as many rows, but for the error with
 * which each curve was measured: take the mean of all.
 */
static void
forecast_pool(Forecast *forecast)
{
	for (int t = 0; t < FORECAST_TARGETS; t++)
	{
		double		sum = 0;

		for (int i = 0; i < forecast->nindexes; i++)
			sum += log(Max(forecast->indexes[i].vectors[t], 1));
		forecast->vectors[t] = forecast->indexes[0].vectors[t] > 0 ?
			exp(sum / forecast->nindexes) : 0;
	}
}

/* The power of the rows by which searches of k rows compare more: at a recall of .95. */
static double
forecast_exponent(const Forecast *forecast)
{
	double		tens = forecast->indexes[0].rows * forecast->k / 10;
	double		hard = log2(Max(forecast->vectors[1] / sqrt(Max(tens, 1)) /
								FORECAST_EASY, 1));

	return FORECAST_EXPONENT_LEAST +
		(FORECAST_EXPONENT_MOST - FORECAST_EXPONENT_LEAST) * Min(hard, 1);
}

static void
forecast_measure(Forecast *forecast)
{
	const ForecastIndex *first = &forecast->indexes[0];
	const EcpMetaPageData *meta = &first->build.state.meta;
	List	   *indexes;
	double		n;

	/* no messages about these indexes, and always the same sample */
	forecast_set("client_min_messages", "error");
	forecast_set("max_parallel_workers_per_gather", "0");
	forecast_set("ecp.probes", "0");
	forecast_set("ecp.max_ms", "-1");
	forecast_set("ecp.max_scan_tuples", "-1");
	forecast_set("ecp.iterative_scan", "strict_order");

	/* the planner computes predicates of indexes: the owner has to */
	indexes = ecp_indexes_fold(forecast->relid);
	n = forecast_sample(forecast);
	ecp_indexes_close(indexes);
	for (int i = 0; i < lengthof(forecast_kinds); i++)
		if (i == 0 ||
			(ecp_column_type_elem(meta->ecpm_column_type) == ECP_ELEM_FLOAT32 &&
			 (i < 2 || (meta->ecpm_dims <= ECP_NIBBLES_DIMS_MAX &&
						meta->ecpm_metric != ECP_METRIC_L1))))
			forecast_index(forecast, forecast_kinds[i], n,
						   &forecast->indexes[forecast->nindexes++]);
	forecast_pool(forecast);
	forecast->exponent = forecast_exponent(forecast);
	/* what is NULL, or has no direction, is not indexed */
	forecast->rows = Max(first->rows, forecast->blocks * forecast->rows_per_block *
						 first->rows / Max(n, 1));
}

/* ---- scaled to the table ---- */

/* Seconds of the processor that a build takes. */
static double
forecast_cpu_s(const Forecast *forecast, const ForecastIndex *index)
{
	const EcpBuild *build = &index->build;
	double		times = forecast->rows / Max(index->rows, 1);
	double		here = ecp_leaders_compared(build, index->rows);
	double		each = index->cpu_s[ECP_BUILD_LEADERS] / Max(here, 1);
	double		work;
	double		all;

	here += index->rows * ecp_assign_compared(build, index->rows);
	work = ecp_leaders_compared(build, forecast->rows) +
		forecast->rows * ecp_assign_compared(build, forecast->rows);
	all = index->cpu_s[ECP_BUILD_SAMPLE] + index->cpu_s[ECP_BUILD_LEADERS] +
		index->cpu_s[ECP_BUILD_ASSIGN] + index->cpu_s[ECP_BUILD_MERGE];
	return Max(all - each * here, 0) * times + each * work +
		index->cpu_s[ECP_BUILD_RECALL] * pow(times, forecast->exponent / 2);
}

static void
forecast_put(const Forecast *forecast, const ForecastIndex *index, ReturnSetInfo *rsinfo)
{
	double		times = Max(forecast->rows / Max(index->rows, 1), 1);
	double		more = index->vectors[FORECAST_TARGETS - 1] - index->vectors[0];
	double		slope = more <= 0 ? 0 :
		Max(index->ms[FORECAST_TARGETS - 1] - index->ms[0], 0) / more;
	double		start = Max(index->ms[0] - slope * index->vectors[0], 0);
	double		bytes = index->bytes * times;
	Datum		values[FORECAST_COLUMNS];
	bool		nulls[FORECAST_COLUMNS] = {false};
	int			i = 0;

	slope *= pow(times, FORECAST_CACHES);
	values[i++] = CStringGetTextDatum(index->name);
	values[i++] = Int64GetDatum((int64) rint(forecast->rows));
	values[i++] = Int64GetDatum((int64) bytes);
	values[i++] = Int64GetDatum((int64) ecp_build_state_memory(&index->build, forecast->rows));
	values[i++] = Float8GetDatum(forecast_cpu_s(forecast, index));
	values[i++] = Int64GetDatum(forecast->logged ? (int64) bytes : 0);
	for (int t = 0; t < FORECAST_TARGETS; t++)
	{
		double		vectors = Min(forecast->vectors[t] *
								  pow(times, forecast->exponent), forecast->rows);

		nulls[i] = nulls[i + FORECAST_TARGETS] = forecast->vectors[t] == 0;
		values[i] = Float8GetDatum(vectors);
		values[i++ + FORECAST_TARGETS] = Float8GetDatum(start + slope * vectors);
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* ---- the function ---- */

/*
 * ecp_forecast(rel regclass, col name, opclass text, options text[], k int)
 */
Datum
ecp_forecast(PG_FUNCTION_ARGS)
{
	Forecast   *forecast = palloc0(sizeof(Forecast));
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	forecast_begin(forecast, fcinfo);
	InitMaterializedSRF(fcinfo, 0);
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		SPI_connect();
		forecast_measure(forecast);
		SPI_finish();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		ReThrowError(error);
	}
	PG_END_TRY();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	for (int i = 0; i < forecast->nindexes; i++)
		forecast_put(forecast, &forecast->indexes[i], (ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}
