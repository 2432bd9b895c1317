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
	EcpUserTableVectors rows;	/* waiting to be compared */
	ItemPointerData *tids;		/* of these */
	float8		ranks[TABLE_ROWS_MAX];
	uint64		nrows;			/* compared with the batch */
};

static EcpKnnTable *
table_create(EcpKnn *knn)
{
	MemoryContext old = MemoryContextSwitchTo(knn->context);
	EcpKnnTable *table = palloc0(sizeof(EcpKnnTable));
	int			max = TABLE_BYTES / knn->plan->query_bytes;

	max = Min(Max(max, TABLE_ROWS_MIN), TABLE_ROWS_MAX);
	ecp_user_table_vectors_init(&table->rows, &knn->plan->state, max);
	table->tids = palloc(max * sizeof(ItemPointerData));
	MemoryContextSwitchTo(old);
	return table;
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
	EcpUserTableVectors *rows = &table->rows;
	EcpKnnPair	pair = {0};

	for (; rows->n > 0 && pair.query < knn->shared->nqueries; pair.query++)
	{
		const EcpQuery *query;

		CHECK_FOR_INTERRUPTS();
		if ((knn->queries[pair.query].flags & ECP_KNN_NULL) != 0)
			continue;
		query = ecp_knn_compare_query(knn, pair.query);
		ecp_query_rank_rows(query, rows->vectors, rows->stride,
							(const uint32 *const *) rows->factors, rows->n, table->ranks);
		for (int from = 0; from < rows->n; from += 64)
			ecp_knn_compare_offer(knn, &pair, table->tids + from,
								  ecp_ranks_passed(table->ranks + from,
												   Min(rows->n - from, 64),
												   EcpKnnBound(knn, pair.query)),
								  table->ranks + from);
	}
	table->nrows += rows->n;
	rows->n = 0;
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
