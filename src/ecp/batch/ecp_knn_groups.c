/*-------------------------------------------------------------------------
 *
 * ecp_knn_groups.c
 *	  ecp_knn_groups(): the nearest row of each of the nearest groups.
 *
 * A group is the rows with the same value in a column: the passages of a document,
 * the descriptors of a photograph.  The answer is that of
 *
 *	 SELECT * FROM (SELECT DISTINCT ON (doc) ctid, v <-> $1 AS distance FROM items
 *					ORDER BY doc, v <-> $1) AS best
 *	 ORDER BY distance LIMIT k
 *
 * which reads all rows; here it is one search.  Of the rows that the search reads,
 * nearest first, it counts the first of each group, and goes on until there are k
 * (search_take_held() in ecp_search.c).  How many rows that takes is not known
 * before, so it reads in windows; a row that a later window has and that is
 * nearer than the one of its group takes the place of that one.  Therefore rows are
 * held back until k groups are known, as rows under a condition are, and what was
 * read then is enough for as many rows as the k groups had before their last.
 *
 * The row of each TID is fetched for its group, and asked for again only if it is in
 * the answer.  Rows that row-level security hides, or that do not satisfy the
 * condition, count for nothing, and their values are not compared.  If the index
 * knows which these are, the scan has the keys (ecp_knn_statement.c); else a query is
 * asked about each row (base/policy_scan.c).
 *
 * As for DISTINCT, the rows whose group is NULL are one group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/user_index.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_scan.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "vector/vector_value.h"

PGDLLEXPORT Datum ecp_knn_groups(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_knn_groups);

/* Groups that there is room for at first. */
#define GROUPS_FIRST		64

/* The nearest of a group's rows so far. */
typedef struct KnnGroup
{
	float8		rank;
	bool		returned;
} KnnGroup;

/* A search for groups. */
typedef struct KnnGroups
{
	EcpRowGroups groups;
	KnnGroup   *nearest;		/* by the group's number */
	uint32		room;			/* for so many */
	TupleTableSlot *slot;		/* for the row that is tested */
	EcpPolicyScan *policies;	/* and the condition; NULL if all rows pass */
	int			nkeys;			/* of the scan */
	ScanKeyData *keys;
	bool		tested;			/* by the search, as it finds them */
} KnnGroups;

static void
groups_init(KnnGroups *groups, Relation heap, const char *name)
{
	EcpUserColumn column;

	ecp_user_table_column(heap, name, &column);
	ecp_group_init(&groups->groups, column);
	groups->room = GROUPS_FIRST;
	groups->nearest = palloc_array(KnnGroup, groups->room);
	groups->slot = table_slot_create(heap, NULL);
	groups->tested = false;
	groups->policies = NULL;
	groups->nkeys = 0;
	groups->keys = NULL;
}

static void
groups_end(KnnGroups *groups)
{
	if (groups->policies)
		ecp_policy_scan_end(groups->policies);
	ExecDropSingleTupleTableSlot(groups->slot);
}

/*
 * The group of the row in a slot.  If it has none yet, or "rank" is less than that of
 * its nearest row, the row becomes this, and *nearest is true.
 */
static KnnGroup *
groups_add(KnnGroups *groups, TupleTableSlot *slot, float8 rank, bool *nearest)
{
	uint32		met = groups->groups.n;
	uint32		number = ecp_group_number(&groups->groups, slot);
	KnnGroup   *group;

	if (number >= groups->room)
	{
		groups->room *= 2;
		groups->nearest = repalloc_huge(groups->nearest,
										mul_size(groups->room, sizeof(KnnGroup)));
	}
	group = &groups->nearest[number];
	if (number == met)
		group->returned = false;
	*nearest = number == met || rank < group->rank;
	if (*nearest)
		group->rank = rank;
	return group;
}

static bool
groups_may_see(KnnGroups *groups, TupleTableSlot *slot)
{
	return groups->policies == NULL ||
		ecp_policy_scan_has(groups->policies, &slot->tts_tid);
}

/* Is a row that the search has found the nearest of its group, as far as is known? */
static bool
groups_test(void *arg, IndexScanDesc scan, float8 rank)
{
	KnnGroups  *groups = arg;
	bool		nearest = false;

	CHECK_FOR_INTERRUPTS();
	groups->tested = true;
	if (index_fetch_heap(scan, groups->slot) &&
		groups_may_see(groups, groups->slot))
		(void) groups_add(groups, groups->slot, rank, &nearest);
	ExecClearTuple(groups->slot);
	return nearest;
}

/*
 * Is a row that the scan returns, in order, one of the answer?  Not if a later one of
 * its group took its place in the search, and was returned before.
 */
static bool
groups_take(KnnGroups *groups, TupleTableSlot *slot)
{
	KnnGroup   *group;
	bool		nearest;

	if (!groups->tested && !groups_may_see(groups, slot))
		return false;
	group = groups_add(groups, slot, get_float8_infinity(), &nearest);
	if (group->returned)
		return false;
	group->returned = true;
	return true;
}

/*
 * Prepare to leave out the rows that the calling user may not see, and those that do not
 * satisfy the condition, where the keys of a scan for the vector are not enough for that.
 * False if no row can satisfy it.
 */
static bool
groups_check(KnnGroups *groups, Relation heap, Relation index, Datum query, int k,
			 const char *condition)
{
	bool		checked = check_enable_rls(RelationGetRelid(heap), InvalidOid, false) ==
		RLS_ENABLED;
	bool		never = false;

	if (condition != NULL)
	{
		EcpKnnStatement statement;

		ecp_knn_statement_begin(&statement, heap, index, condition);
		if (ecp_knn_statement_keys(&statement, query, k, &groups->keys, &groups->nkeys))
			(void) ecp_attr_filter_create(index, groups->keys, groups->nkeys, &never,
										  &checked);
		else
			checked = true;
		ecp_knn_statement_end(&statement);
	}
	if (checked && !never)
		groups->policies = ecp_policy_scan_begin_rows(heap, GetActiveSnapshot(),
													  condition);
	return !never;
}

/* Find the rows by a scan of the index for "query"; returns their number. */
static int
groups_search(Relation heap, Relation index, Snapshot snapshot, Datum query,
			  KnnGroups *groups, EcpGroupRow *rows, int k)
{
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	IndexScanDesc scan = ecp_index_beginscan(heap, index, snapshot, groups->nkeys, 1);
	ScanKeyData orderby = {0};
	int			n = 0;

	orderby.sk_flags = SK_ORDER_BY;
	orderby.sk_attno = 1;
	orderby.sk_strategy = ECP_DISTANCE_STRATEGY;
	orderby.sk_argument = query;
	ecp_scan_set_wanted(scan, k);
	ecp_scan_set_test(scan, groups_test, groups);
	index_rescan(scan, groups->keys, groups->nkeys, &orderby, 1);
	while (n < k && index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (!groups_take(groups, slot))
			continue;
		rows[n].tid = slot->tts_tid;
		rows[n++].distance = DatumGetFloat8(scan->xs_orderbyvals[0]);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return n;
}

/* The distances of the table's vectors, where those that the index has are rounded. */
static void
groups_set_distances(Relation heap, Relation index, Snapshot snapshot,
					 Datum query, EcpGroupRow *rows, int n)
{
	EcpIndexState state;
	EcpUserTableRows fetched;
	EcpVector	vector;

	ecp_meta_read_state(index, &state);
	if (n == 0 || EcpDistancesAreExact(&state.meta))
		return;
	ecp_vector_read(query, state.meta.ecpm_column_type, &vector);
	ecp_user_table_rows_begin(&fetched, heap, index);
	for (int i = 0; i < n; i++)
	{
		if (table_tuple_fetch_row_version(heap, &rows[i].tid, snapshot,
										  fetched.slot))
			(void) ecp_user_table_row_distance(&fetched, index, &state.meta,
											   vector.data, &rows[i].distance);
	}
	ecp_user_table_rows_end(&fetched);
	ecp_vector_release(&vector);
}

/*
 * ecp_knn_groups(index regclass, query anyelement, grouped_by name, k int,
 *		condition text)
 */
Datum
ecp_knn_groups(PG_FUNCTION_ARGS)
{
	Snapshot	snapshot = GetActiveSnapshot();
	Datum		query;
	int			k;
	KnnGroups	groups;
	EcpGroupRow *rows;
	Relation	heap;
	Relation	index;
	Oid			convert;
	int			n;

	if (!ecp_knn_result_begin(fcinfo, 4))
		return (Datum) 0;
	query = PG_GETARG_DATUM(1);
	k = ecp_knn_check_number(PG_GETARG_INT32(3), "k");
	index = ecp_user_index_open(fcinfo, AccessShareLock, ECP_INDEX_READ,
								&ecp_index_kind, &heap);
	convert = ecp_user_table_conversion(index,
										get_fn_expr_argtype(fcinfo->flinfo, 1),
										false);
	if (OidIsValid(convert))
		query = OidFunctionCall1(convert, query);
	else
		query = PointerGetDatum(PG_DETOAST_DATUM(query));

	groups_init(&groups, heap, NameStr(*PG_GETARG_NAME(2)));
	rows = palloc(mul_size(k, sizeof(EcpGroupRow)));
	n = groups_check(&groups, heap, index, query, k, ecp_knn_condition(fcinfo, 4)) ?
		groups_search(heap, index, snapshot, query, &groups, rows, k) : 0;
	groups_end(&groups);
	groups_set_distances(heap, index, snapshot, query, rows, n);
	ecp_group_rows_return((ReturnSetInfo *) fcinfo->resultinfo, rows, n, k);
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
	return (Datum) 0;
}
