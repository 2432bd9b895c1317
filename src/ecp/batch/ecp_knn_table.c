/*-------------------------------------------------------------------------
 *
 * ecp_knn_table.c
 *	  Many queries at once, exactly: the whole table compared with all of
 *	  them.
 *
 * One scan of the table for a batch of queries, shared by the main process and
 * its workers.  The index only says what is indexed and how distances are
 * computed.  Some rows are collected at a time, and while they are in the
 * processor's cache every query is compared with them.
 *
 * With row security or a condition the main process alone compares the rows that a
 * query run as the calling user returns.  What is indexed of a row is always
 * computed as the table's owner (ecp_user_table.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "base/compat.h"
#include "base/stop_point.h"
#include "base/user_index.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"

/* Rows that are compared with all queries at a time, and their bytes. */
#define TABLE_ROWS_MAX		256
#define TABLE_ROWS_MIN		16
#define TABLE_BYTES			(128 * 1024)

/* TIDs that the policies are asked for at a time. */
#define TABLE_FETCH			1000

struct EcpKnnTable
{
	MemoryContext context;
	EcpUserTableVectors rows;	/* waiting to be compared */
	ItemPointerData *tids;		/* of these */
	uint64		nrows;			/* compared with the batch */
	EcpKnnPair *queries;		/* all of the batch */
};

static EcpKnnTable *
table_create(EcpKnn *knn)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp exact search",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	EcpKnnTable *table = palloc0(sizeof(EcpKnnTable));
	int			max = TABLE_BYTES / knn->plan->query_bytes;

	table->context = context;
	max = Min(Max(max, TABLE_ROWS_MIN), TABLE_ROWS_MAX);
	ecp_user_table_vectors_init(&table->rows, &knn->plan->state, max);
	table->tids = palloc(max * sizeof(ItemPointerData));
	table->queries = palloc_extended(mul_size(knn->plan->max_queries,
											  sizeof(EcpKnnPair)),
									 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int q = 0; q < knn->plan->max_queries; q++)
		table->queries[q].query = q;
	MemoryContextSwitchTo(old);
	return table;
}

void
ecp_knn_table_end(EcpKnn *knn)
{
	if (knn->table == NULL)
		return;
	MemoryContextDelete(knn->table->context);
	knn->table = NULL;
}

/* The rows that this process compared with the queries of the batch. */
uint64
ecp_knn_table_rows(const EcpKnn *knn)
{
	Assert(knn->table != NULL);
	return knn->table->nrows;
}

/* Compare the rows that wait with all queries. */
static void
table_compare(EcpKnn *knn)
{
	EcpKnnTable *table = knn->table;
	EcpKnnBlock block = {0};

	CHECK_FOR_INTERRUPTS();
	block.n = table->rows.n;
	block.stride = table->rows.stride;
	block.rows = table->rows.vectors;
	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		block.factors[f] = table->rows.factors[f];
	block.tids = table->tids;
	if (block.n > 0)
		ecp_knn_compare(knn, &block, 1, table->queries,
						knn->shared->nqueries);
	table->nrows += table->rows.n;
	table->rows.n = 0;
}

/* Add a row, unless the index leaves it out. */
static void
table_add(const ItemPointerData *tid, Datum value, void *arg)
{
	EcpKnn	   *knn = arg;
	EcpKnnTable *table = knn->table;

	table->tids[table->rows.n] = *tid;
	if (ecp_user_table_vectors_add(&table->rows, knn->index, &knn->plan->state.meta,
								   value) &&
		table->rows.n == table->rows.max)
		table_compare(knn);
}

/* Compare this process's part of the table. */
static void
table_scan(EcpKnn *knn)
{
	TableScanDesc scan;

	if (knn->team.scan != NULL)
		scan = ecp_table_beginscan_parallel(knn->heap, knn->team.scan);
	else
		scan = ecp_table_beginscan(knn->heap, knn->snapshot);
	ecp_user_table_scan(knn->heap, knn->index, scan, table_add, knn);
	table_compare(knn);
	table_endscan(scan);
}

/*
 * Compare the rows that the calling user may see, and that satisfy the condition; in
 * the main process.  The policies are applied as the calling user, before anything
 * else sees the rows.
 */
static void
table_scan_secure(EcpKnn *knn)
{
	ItemPointerData *tids = palloc(TABLE_FETCH * sizeof(ItemPointerData));
	EcpPolicyScan *scan;
	int			n;

	ECP_STOP_POINT("knn-policies-exact");
	scan = ecp_policy_scan_begin(knn->heap, knn->snapshot, knn->condition);
	while ((n = ecp_policy_scan_next(scan, tids, TABLE_FETCH)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		ecp_user_table_fetch(knn->heap, knn->index, knn->snapshot, tids, n,
							 table_add, knn);
	}
	table_compare(knn);
	ecp_policy_scan_end(scan);
	pfree(tids);
}

/*
 * Compare the table, or this process's part of it, with all queries of the
 * batch.
 */
void
ecp_knn_table(EcpKnn *knn)
{
	Assert(knn->plan->exact);
	if (knn->table == NULL)
		knn->table = table_create(knn);
	knn->table->nrows = 0;
	if (knn->checked)
		table_scan_secure(knn);
	else
		table_scan(knn);
}
