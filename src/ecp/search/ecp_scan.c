/*-------------------------------------------------------------------------
 *
 * ecp_scan.c
 *	  SEARCH: ambeginscan, amrescan, amgettuple and amendscan, and what a
 *	  user can see of the last scan.
 *
 * The executor's side of ecp_search.c.  A scan orders by one distance and
 * may have conditions on key attributes, which become a filter (ecp_attr_filter.c),
 * and a radius (ecp_path.c), without which it must have the order.  ecp_path.c
 * offers nothing else to the planner.  Other extensions may add paths: what a
 * scan cannot do is refused here, as the answer would be silently wrong.
 *
 * Distances are exact, so the executor is never asked to recheck the order.
 * In an index-only scan, ecp_index_only.c makes rows of what the search finds.
 *
 * A scan in strict order cannot return a row that turns up when farther ones have been
 * returned.  It therefore holds rows back until it knows as many as a LIMIT asks for
 * (ecp_search.c).  Only the executor would know which of them a condition outside the
 * index discards, or are not visible.  So EcpRowTest does what it does: fetch the row,
 * and evaluate the conditions of the node.  Those that fail are not returned; those
 * that pass are fetched and checked once more.  The conditions are evaluated in a
 * context of our own, whose memory is reset for each row.  Which rows they are
 * evaluated for is as undefined as with any other scan.  Rows that they discard are
 * counted for EXPLAIN ANALYZE.
 *
 * EXPLAIN ANALYZE shows figures of a scan from PostgreSQL 18 on; in older versions use
 * ecp_last_scan().  They are totals over all loops of the node, in the process that
 * runs EXPLAIN.  But the rows wanted, the recall and the reason are those of the last.
 * They are shown with ANALYZE, like the number of index searches: an option of EXPLAIN
 * would be unknown to a session that has not loaded the extension.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/user_index.h"
#include "catalog/pg_type.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_scan.h"
#include "ecp/search/ecp_search.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "funcapi.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#ifdef ECP_HAVE_EXPLAIN_HOOK
#include "access/amapi.h"
#include "commands/explain.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* Will the executor keep a row that a scan returns? */
typedef struct EcpRowTest
{
	IndexScanDesc scan;
	ScanState  *node;
	ExprState  *recheck;		/* conditions of the index */
	bool		index_only;
	ExprContext *context;
	TupleTableSlot *slot;
} EcpRowTest;

typedef struct EcpScanOpaqueData
{
	EcpSearch  *search;
	bool		started;
	Oid			distance_type;
	MemoryContext context;		/* of the conditions; reset by a rescan */
	bool		never;			/* no row can fulfil them */
	bool		recheck;
	bool		apart;			/* the radius is around another vector */
	Datum		query;			/* the vector that is searched for */
	bool		query_isnull;
	uint64		wanted;			/* rows, if no plan says it; 0 = not known */
	EcpScanTest own_test;		/* which rows those are, or NULL */
	void	   *own_arg;
	EcpScanLimit limit;			/* what the plan says */
	EcpTableRow *table;			/* for an index that has only codes */
	EcpRowTest *test;			/* by its node; NULL before it is needed */
	bool		filtered;		/* rows are discarded, not only checked again */
	bool		follows;		/* tell the search how many rows have passed */
	EcpSearchStats totals;		/* of searches that have ended */
	BlockNumber heap_blocks;	/* of the table at least; 0 = not known */
	EcpIndexOnly *only;			/* of an index-only scan, else NULL */
	bool		answered;		/* there is no search: it was done before */
	EcpScanAnswer answer;
	int			taken;			/* of its rows */
	int			skipped;		/* of these, by a search that goes on */
} EcpScanOpaqueData;

typedef EcpScanOpaqueData *EcpScanOpaque;

EcpScanAnswerer ecp_scan_answerer;

IndexScanDesc
ecpbeginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, nkeys, norderbys);
	EcpScanOpaque so = palloc0(sizeof(EcpScanOpaqueData));

	so->search = ecp_search_create(index);
	so->table = ecp_table_row_create(scan);
	so->distance_type = FLOAT8OID;
	so->context = AllocSetContextCreate(CurrentMemoryContext,
										"ecp scan conditions",
										ALLOCSET_SMALL_SIZES);
	scan->opaque = so;
	if (norderbys > 0)
	{
		scan->xs_orderbyvals = palloc0(sizeof(Datum) * norderbys);
		scan->xs_orderbynulls = palloc(sizeof(bool) * norderbys);
		memset(scan->xs_orderbynulls, true, sizeof(bool) * norderbys);
	}
	return scan;
}

static void
scan_refuse(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot scan an ecp index in this way"),
			 errdetail_internal("%s", detail),
			 errhint("Look for an extension that changes what the planner may choose.")));
}

/* Refuse what a scan cannot do; its keys have been set. */
static void
scan_check_keys(IndexScanDesc scan)
{
	int			nradii = 0;

	if (scan->numberOfOrderBys > 1)
		scan_refuse(_("It can order by one distance only."));
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		const ScanKeyData *key = &scan->keyData[i];

		if (key->sk_attno != 1)
			continue;
		if (key->sk_flags & SK_SEARCHNOTNULL)
			continue;			/* true of all rows in the index */
		if (key->sk_flags & SK_SEARCHNULL)
			scan_refuse(_("It does not have rows whose vector is NULL."));
		if (key->sk_strategy != ECP_RADIUS_STRATEGY ||
			(key->sk_flags & ~SK_ISNULL) != 0 || ++nradii > 1)
			scan_refuse(_("It can have one radius, and no other condition on the vector."));
	}
	if (scan->numberOfOrderBys == 0 && nradii == 0)
		scan_refuse(_("It must order by a distance or have a radius."));
}

/*
 * What is searched for, and how far: from the ORDER BY and from a condition
 * with a row (query, radius).  If they are of two vectors, the executor alone
 * checks the condition.
 */
static void
scan_set_query(IndexScanDesc scan)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;
	EcpSearchRequest *request = ecp_search_request(so->search);
	bool		ordered = scan->numberOfOrderBys > 0;

	so->query = (Datum) 0;
	so->query_isnull = true;
	so->apart = false;
	if (ordered)
	{
		so->query = scan->orderByData->sk_argument;
		so->query_isnull = (scan->orderByData->sk_flags & SK_ISNULL) != 0;
	}
	request->radius = get_float8_infinity();
	for (int i = 0; i < scan->numberOfKeys; i++)
	{
		ScanKey		key = &scan->keyData[i];
		HeapTupleHeader ball;
		Datum		centre = (Datum) 0;
		Datum		radius = (Datum) 0;
		bool		centre_isnull = true;
		bool		radius_isnull = true;

		if (key->sk_attno != 1 || key->sk_strategy != ECP_RADIUS_STRATEGY)
			continue;
		if ((key->sk_flags & SK_ISNULL) == 0)
		{
			ball = DatumGetHeapTupleHeader(key->sk_argument);
			centre = GetAttributeByNum(ball, 1, &centre_isnull);
			radius = GetAttributeByNum(ball, 2, &radius_isnull);
		}

		/* no distance is less than NULL, nor that from NULL than anything */
		if (centre_isnull || radius_isnull)
		{
			so->never = true;
			return;
		}
		if (ordered &&
			(so->query_isnull ||
			 !datum_image_eq(so->query, centre, false, -1)))
		{
			so->apart = true;
			continue;
		}
		so->query = centre;
		so->query_isnull = false;
		/* NaN is greater than all numbers, and so is no limit either */
		request->radius = isnan(DatumGetFloat8(radius)) ?
			get_float8_infinity() : DatumGetFloat8(radius);
	}
}

/* Add the figures of a search to those of others. */
static void
scan_add_search(EcpSearchStats *totals, const EcpSearchStats *stats)
{
	totals->index = stats->index;
	totals->wanted = stats->wanted;
	totals->probes = stats->probes;
	totals->early |= stats->early;
	totals->recall = stats->recall;
	totals->stop = stats->stop;
	totals->windows += stats->windows;
	totals->clusters += stats->clusters;
	totals->skipped += stats->skipped;
	totals->pages += stats->pages;
	totals->vectors += stats->vectors;
	totals->filtered += stats->filtered;
	totals->reranked += stats->reranked;
	totals->returned += stats->returned;
	totals->dropped += stats->dropped;
}

/* End the search, if there is one, and count what it did. */
static void
scan_finish(IndexScanDesc scan)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;

	so->answered = false;
	if (!so->started)
		return;
	so->started = false;
	ecp_search_finish(so->search);
	scan_add_search(&so->totals, &ecp_search_last);
}

void
ecprescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys,
		  int norderbys)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;
	MemoryContext old;

	scan_finish(scan);
	if (scan->xs_want_itup && so->only == NULL)
	{
		so->only = ecp_index_only_create(scan);
		ecp_search_request(so->search)->located = true;
	}
	if (orderbys && norderbys > 0)
		memmove(scan->orderByData, orderbys, norderbys * sizeof(ScanKeyData));
	if (keys && nkeys > 0)
		memmove(scan->keyData, keys, nkeys * sizeof(ScanKeyData));

	scan_check_keys(scan);

	MemoryContextReset(so->context);
	old = MemoryContextSwitchTo(so->context);
	ecp_search_request(so->search)->filter =
		ecp_attr_filter_create(scan->indexRelation, scan->keyData,
							   scan->numberOfKeys, &so->never, &so->recheck);
	scan_set_query(scan);
	MemoryContextSwitchTo(old);
}

void
ecp_scan_set_wanted(IndexScanDesc scan, uint64 rows)
{
	((EcpScanOpaque) scan->opaque)->wanted = rows;
}

void
ecp_scan_set_test(IndexScanDesc scan, EcpScanTest test, void *arg)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;

	so->own_test = test;
	so->own_arg = arg;
}

/*
 * For the scan of a plan's node, an IndexScan or IndexOnlyScan; lives in the memory
 * of the executor, until row_test_free().
 */
static EcpRowTest *
row_test_create(IndexScanDesc scan, ScanState *node)
{
	EState	   *estate = node->ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	EcpRowTest *test = palloc0(sizeof(EcpRowTest));

	test->scan = scan;
	test->node = node;
	test->index_only = IsA(node, IndexOnlyScanState);
	test->recheck = test->index_only ?
		castNode(IndexOnlyScanState, node)->recheckqual :
		castNode(IndexScanState, node)->indexqualorig;
	test->context = CreateExprContext(estate);
	/* of the kind for which the conditions were compiled */
	test->slot = MakeSingleTupleTableSlot(node->ss_ScanTupleSlot->tts_tupleDescriptor,
										  node->ss_ScanTupleSlot->tts_ops);
	MemoryContextSwitchTo(old);
	return test;
}

static void
row_test_free(EcpRowTest *test)
{
	ExecDropSingleTupleTableSlot(test->slot);
	FreeExprContext(test->context, true);
	pfree(test);
}

/* The row's values into the slot; false if it is not visible. */
static bool
row_test_fetch(EcpRowTest *test)
{
	IndexScanDesc scan = test->scan;
	ItemPointerData tid = scan->xs_heaptid;
	bool		found;

	if (test->index_only)
	{
		ExecForceStoreHeapTuple(scan->xs_hitup, test->slot, false);
		return true;
	}
	/* it moves the TID along a HOT chain */
	found = index_fetch_heap(scan, test->slot);
	scan->xs_heaptid = tid;
	return found;
}

/*
 * Is the row with scan->xs_heaptid visible, and does it fulfil the conditions of
 * the node?  With "recheck" also those of the index.  The values of an index-only scan
 * are in scan->xs_hitup.  The executor looks again.
 */
static bool
row_test_passes(EcpRowTest *test, bool recheck)
{
	bool		passes = false;

	ResetExprContext(test->context);
	test->context->ecxt_scantuple = test->slot;
	if (!row_test_fetch(test))
		return false;
	if (recheck && !ExecQual(test->recheck, test->context))
		InstrCountFiltered2(&test->node->ps, 1);
	else if (!ExecQual(test->node->ps.qual, test->context))
		InstrCountFiltered1(&test->node->ps, 1);
	else
		passes = true;
	ExecClearTuple(test->slot);
	return passes;
}

/* Will the executor keep the row with this TID?  For the search. */
static bool
scan_test(void *arg, ItemPointer tid, float8 rank)
{
	IndexScanDesc scan = arg;
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;

	ecp_tid_check(scan->indexRelation, scan->heapRelation, tid,
				  &so->heap_blocks);
	scan->xs_heaptid = *tid;
	if (so->own_test)
		return so->own_test(so->own_arg, scan, rank);
	if (so->test == NULL)
		so->test = row_test_create(scan, so->limit.scan);
	if (so->only && !ecp_index_only_row(so->only, scan, so->search))
		return false;
	return row_test_passes(so->test, so->recheck);
}

/* Tell the search what the plan says of the rows that are wanted. */
static void
scan_set_limit(IndexScanDesc scan)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;
	EcpSearchRequest *request = ecp_search_request(so->search);
	EcpScanLimit *limit = &so->limit;
	bool		testable;

	so->filtered = so->apart;
	if (ecp_limit_of(scan, limit))
	{
		so->filtered |= limit->filtered || limit->tested;
		limit->tested |= so->recheck || so->apart;
	}
	else
		limit->rows = so->wanted;
	testable = limit->scan != NULL || so->own_test != NULL;
	limit->filtered |= limit->tested && !testable;
	so->follows = limit->filtered || limit->immediate;
	request->limit = limit->rows;
	request->filtered = limit->filtered;
	request->immediate = limit->immediate;
	request->test = testable ? scan_test : NULL;
	request->test_arg = scan;
	request->tested = testable && (limit->tested || so->own_test != NULL);
	request->grouped = so->own_test != NULL;
}

/* Has the answer been found already? */
static bool
scan_take_answer(IndexScanDesc scan)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;
	const EcpScanLimit *limit = &so->limit;

	if (ecp_scan_answerer == NULL || limit->scan == NULL || limit->rows == 0 ||
		so->filtered || !limit->immediate ||
		scan->numberOfOrderBys == 0 || so->query_isnull || so->never || so->only)
		return false;
	return ecp_scan_answerer(scan, limit, so->query, &so->answer);
}

/* Begin to search. */
static void
scan_search(IndexScanDesc scan)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;
	EcpSearchRequest *request = ecp_search_request(so->search);

	pgstat_count_index_scan(scan->indexRelation);
	ecp_count_index_search(scan);
	request->unordered = scan->numberOfOrderBys == 0;
	request->heap = so->only == NULL && ecp_heap_prefetch_helps(scan->heapRelation) ?
		scan->heapRelation : NULL;
	request->table = so->table;
	ecp_search_start(so->search, scan->xs_snapshot,
					 so->query, so->query_isnull);
	so->started = true;
}

/*
 * The next row of the answer.  False after the last one, or if the answer is not enough:
 * a row was not visible or did not pass, or more are wanted.  Then a search goes on.
 */
static bool
scan_next_answer(IndexScanDesc scan, IndexOrderByDistance *distance)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;
	const EcpScanAnswer *answer = &so->answer;
	const EcpRanked *row = &answer->rows[so->taken];

	if (!answer->complete &&
		(so->taken == answer->n || ecp_limit_passed(&so->limit) < so->taken))
	{
		so->answered = false;
		so->skipped = 0;
		(*answer->given_up)++;
		scan_search(scan);
		return false;
	}
	if (so->taken == answer->n)
		return false;
	ecp_tid_from_item(scan->indexRelation, row->item, &scan->xs_heaptid);
	distance->value = row->rank;
	distance->isnull = false;
	so->taken++;
	if (ecp_heap_prefetch_helps(scan->heapRelation))
		ecp_heap_prefetch_next(scan->heapRelation, row + 1, answer->n - so->taken,
							   so->taken);
	return true;
}

/* Was the row that the search has found returned out of the answer? */
static bool
scan_is_taken(EcpScanOpaque so, ItemPointer tid)
{
	uint64		item = ecp_tid_item(tid);
	int			i = so->skipped;

	if (i == so->taken)
		return false;
	/* it comes in the same order */
	if (so->answer.rows[i].item != item)
		for (i = 0; i < so->taken && so->answer.rows[i].item != item; i++);
	if (i == so->taken)
		return false;
	so->skipped++;
	return true;
}

/* The next row of the search, which is told how many of its rows have passed. */
static bool
scan_next_found(IndexScanDesc scan, IndexOrderByDistance *distance)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;

	do
	{
		if (so->skipped < so->taken)
			ecp_search_set_passed(so->search, so->skipped);
		else if (so->follows)
			ecp_search_set_passed(so->search, ecp_limit_passed(&so->limit));
		if (!ecp_search_next(so->search, &scan->xs_heaptid, &distance->value,
							 &distance->isnull))
			return false;
	} while (scan_is_taken(so, &scan->xs_heaptid));
	return true;
}

/* The next row: of the answer, or of the search that takes its place. */
static bool
scan_next(IndexScanDesc scan, IndexOrderByDistance *distance)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;

	if (so->answered && scan_next_answer(scan, distance))
		return true;
	return !so->answered && scan_next_found(scan, distance);
}

static void
scan_start(IndexScanDesc scan)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;

	/*
	 * The structure version that we read keeps all rows that are visible to
	 * an MVCC snapshot; this does not hold for other snapshots.
	 */
	if (!IsMVCCSnapshot(scan->xs_snapshot))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ecp index scans need an MVCC snapshot")));
	scan_set_limit(scan);
	so->taken = so->skipped = 0;
	so->answered = scan_take_answer(scan);
	if (!so->answered)
		scan_search(scan);
}

bool
ecpgettuple(IndexScanDesc scan, ScanDirection dir)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;
	IndexOrderByDistance distance;

	if (!ScanDirectionIsForward(dir))
		elog(ERROR, "ecp index scans only go forward");

	scan->xs_recheck = so->recheck;
	if (!so->started && !so->answered)
		scan_start(scan);
	if (so->never)
		return false;
	do
	{
		if (!scan_next(scan, &distance))
			return false;
		ecp_tid_check(scan->indexRelation, scan->heapRelation,
					  &scan->xs_heaptid, &so->heap_blocks);
	}
	while (so->only && !ecp_index_only_row(so->only, scan, so->search));
	if (scan->numberOfOrderBys == 0)
		return true;
	index_store_float8_orderby_distances(scan, &so->distance_type, &distance,
										 false);
	return true;
}

void
ecpendscan(IndexScanDesc scan)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;

	scan_finish(scan);
	if (so->only)
		ecp_index_only_free(so->only);
	if (so->test)
		row_test_free(so->test);
	ecp_table_row_free(so->table);
	ecp_search_free(so->search);
	MemoryContextDelete(so->context);
	pfree(so);
}

/* Why a search read no further clusters, for users. */
const char *
ecp_scan_stop_name(EcpSearchStop stop)
{
	static const char *const reasons[] = {
		[ECP_STOP_NONE] = "limit",
		[ECP_STOP_CLUSTERS] = "all clusters read",
		[ECP_STOP_PROBES] = "iterative_scan = off",
		[ECP_STOP_TUPLES] = "max_scan_tuples",
		[ECP_STOP_TIME] = "max_ms",
		[ECP_STOP_RADIUS] = "no more within the radius",
		[ECP_STOP_NULL] = "query is NULL"
	};

	Assert(stop < lengthof(reasons));
	return reasons[stop];
}

/*
 * Figures of a scan since it began, over all rescans; the rows that were wanted,
 * the number of probes, the estimate of recall, and the reason for which it
 * stopped are those of the last search.
 */
void
ecp_scan_totals(IndexScanDesc scan, EcpSearchStats *totals)
{
	EcpScanOpaque so = (EcpScanOpaque) scan->opaque;

	*totals = so->totals;
	if (!so->started)
		return;
	ecp_search_note(so->search);
	scan_add_search(totals, &ecp_search_last);
}

PGDLLEXPORT Datum ecp_last_scan(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_last_scan);

/*
 * ecp_last_scan() returns the figures of this backend's last scan of an ecp
 * index as a row; NULL before the first.
 */
Datum
ecp_last_scan(PG_FUNCTION_ARGS)
{
	const EcpSearchStats *stats = &ecp_search_last;
	Datum		values[15];
	bool		nulls[15] = {false};
	int			i = 0;

	if (!OidIsValid(stats->index))
		PG_RETURN_NULL();

	values[i++] = ObjectIdGetDatum(stats->index);
	values[i++] = Int64GetDatum(stats->wanted);
	values[i++] = Int32GetDatum(stats->probes);
	values[i++] = BoolGetDatum(stats->early);
	nulls[i] = stats->recall == 0;
	values[i++] = Float8GetDatum(stats->recall);
	values[i++] = Int64GetDatum(stats->windows);
	values[i++] = Int64GetDatum(stats->clusters);
	values[i++] = Int64GetDatum(stats->skipped);
	values[i++] = Int64GetDatum(stats->pages);
	values[i++] = Int64GetDatum(stats->vectors);
	values[i++] = Int64GetDatum(stats->reranked);
	values[i++] = Int64GetDatum(stats->filtered);
	values[i++] = Int64GetDatum(stats->returned);
	values[i++] = Int64GetDatum(stats->dropped);
	values[i++] = CStringGetTextDatum(ecp_scan_stop_name(stats->stop));
	PG_RETURN_DATUM(ecp_user_row(fcinfo, i, values, nulls));
}

/* ---- what EXPLAIN ANALYZE shows ---- */

#ifdef ECP_HAVE_EXPLAIN_HOOK

static explain_per_node_hook_type explain_next_hook = NULL;

/* The index scan of a node, or NULL if there is none or not one of ours. */
static IndexScanDesc
explain_scan_of(PlanState *planstate)
{
	IndexScanDesc scan = NULL;

	if (IsA(planstate, IndexScanState))
		scan = castNode(IndexScanState, planstate)->iss_ScanDesc;
	else if (IsA(planstate, IndexOnlyScanState))
		scan = castNode(IndexOnlyScanState, planstate)->ioss_ScanDesc;
	if (scan == NULL ||
		scan->indexRelation->rd_indam->amgettuple != ecpgettuple)
		return NULL;
	return scan;
}

static void
explain_node(PlanState *planstate, List *ancestors, const char *relationship,
			 const char *plan_name, ExplainState *es)
{
	IndexScanDesc scan = es->analyze ? explain_scan_of(planstate) : NULL;

	if (explain_next_hook)
		explain_next_hook(planstate, ancestors, relationship, plan_name, es);
	if (scan != NULL)
	{
		EcpSearchStats stats;

		ecp_scan_totals(scan, &stats);
		if (stats.wanted > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Rows Wanted", NULL, stats.wanted, es);
		ExplainPropertyUInteger("Clusters Probed", NULL, stats.clusters, es);
		if (stats.skipped > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Clusters Skipped", NULL, stats.skipped,
									es);
		ExplainPropertyUInteger("Vectors Scanned", NULL, stats.vectors, es);
		if (stats.reranked > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Vectors Reranked", NULL, stats.reranked,
									es);
		if (stats.filtered > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Vectors Filtered", NULL, stats.filtered,
									es);
		if (stats.dropped > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Rows Dropped", NULL, stats.dropped, es);
		if (stats.recall > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyFloat("Estimated Recall", NULL, stats.recall, 3, es);
		ExplainPropertyText("Search Ended By",
							ecp_scan_stop_name(stats.stop), es);
	}
}

void
ecp_explain_init(void)
{
	explain_next_hook = explain_per_node_hook;
	explain_per_node_hook = explain_node;
}

#endif							/* ECP_HAVE_EXPLAIN_HOOK */
