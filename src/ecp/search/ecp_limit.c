/*-------------------------------------------------------------------------
 *
 * ecp_limit.c
 *	  SEARCH: how many rows a query wants of a scan.
 *
 * An index scan is not told of the LIMIT above it.  So when a query starts, its
 * plan is searched for scans of ecp indexes below a LIMIT that get there row by
 * row; these are noted, and when the scan starts it finds its note here.  The
 * number itself is computed by the Limit node before it asks for the first row
 * of each (re)scan, so it is exact for parameters, too.
 *
 * A note lives as long as the memory of its query's executor, also if that ends
 * with an error.  There are those of all queries that are running: cursors, and
 * functions called by queries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "common/int.h"
#include "ecp/define/ecp_define.h"
#include "ecp/search/ecp_scan.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/* A scan and the LIMIT above it. */
typedef struct LimitNote
{
	dlist_node	place;			/* in limit_notes */
	const IndexScanDesc *scan;	/* NULL until the scan starts */
	ScanState  *node;			/* the scan's, or NULL */
	const LimitState *limit;
	bool		filtered;		/* by nodes between */
	bool		tested;			/* by the scan's node */
	bool		immediate;
	MemoryContextCallback callback;
} LimitNote;

/* Where notes are made: a query, and one LIMIT of it. */
typedef struct LimitWalk
{
	MemoryContext context;		/* of the executor */
	dlist_node *last;			/* note of this query, or the head of the list */
	const LimitState *limit;
} LimitWalk;

/* What nodes between a LIMIT and a scan do with its rows. */
typedef struct LimitBetween
{
	bool		filtered;		/* they may discard some */
	bool		collected;		/* they may keep one while they ask for the
								 * next */
} LimitBetween;

/*
 * The notes of the youngest query first, those of one query in the order in
 * which scans are likely to start.
 */
static dlist_head limit_notes = DLIST_STATIC_INIT(limit_notes);

const CustomExecMethods *ecp_limit_numbers;

static ExecutorStart_hook_type limit_previous_hook;

static void
limit_forget(void *arg)
{
	LimitNote  *note = arg;

	dlist_delete(&note->place);
}

/* Note a scan, which the executor keeps at *scan. */
static void
limit_note(LimitWalk *walk, ScanState *node, const IndexScanDesc *scan,
		   LimitBetween between, bool tested)
{
	LimitNote  *note = MemoryContextAlloc(walk->context, sizeof(LimitNote));

	note->scan = scan;
	note->node = contain_volatile_functions((Node *) node->ps.plan->qual) ?
		NULL : node;
	note->limit = walk->limit;
	note->filtered = between.filtered;
	note->immediate = !between.collected;
	note->tested = tested;
	dlist_insert_after(walk->last, &note->place);
	walk->last = &note->place;
	note->callback.func = limit_forget;
	note->callback.arg = note;
	MemoryContextRegisterResetCallback(walk->context, &note->callback);
}

/*
 * Does a scan have conditions that the search does not know?  A radius is one
 * that it does, and which is checked again.
 */
static bool
limit_scan_is_filtered(const PlanState *node, const ScanKeyData *keys, int nkeys)
{
	int			nconditions = list_length(node->plan->qual);

	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i].sk_attno == 1 && keys[i].sk_strategy == ECP_RADIUS_STRATEGY)
			nconditions--;
	}
	return nconditions > 0;
}

static bool
limit_is_ours(Relation index)
{
	return index != NULL && index->rd_indam->amgettuple == ecpgettuple;
}

/* Can rows be left out because others have locked them? */
static bool
limit_skips_locked(const LockRowsState *node)
{
	ListCell   *lc;

	foreach(lc, node->lr_arowMarks)
	{
		const ExecAuxRowMark *mark = lfirst(lc);

		if (mark->rowmark->waitPolicy == LockWaitSkip)
			return true;
	}
	return false;
}

/* Note the scan of a node, if it is of one of our indexes. */
static void
limit_note_scan(LimitWalk *walk, PlanState *node, LimitBetween between)
{
	if (IsA(node, IndexScanState))
	{
		IndexScanState *scan = castNode(IndexScanState, node);

		if (limit_is_ours(scan->iss_RelationDesc))
			limit_note(walk, &scan->ss, &scan->iss_ScanDesc, between,
					   limit_scan_is_filtered(node, scan->iss_ScanKeys,
											  scan->iss_NumScanKeys));
	}
	else
	{
		IndexOnlyScanState *scan = castNode(IndexOnlyScanState, node);

		if (limit_is_ours(scan->ioss_RelationDesc))
			limit_note(walk, &scan->ss, &scan->ioss_ScanDesc, between,
					   limit_scan_is_filtered(node, scan->ioss_ScanKeys,
											  scan->ioss_NumScanKeys));
	}
}

static void limit_descend(LimitWalk *walk, PlanState *node,
						  LimitBetween between);

static void
limit_descend_all(LimitWalk *walk, PlanState **nodes, int n,
				  LimitBetween between)
{
	for (int i = 0; i < n; i++)
		limit_descend(walk, nodes[i], between);
}

/* Note a scan in an order on the inner side of a nested loop. */
static void
limit_descend_inner(LimitWalk *walk, PlanState *node, LimitBetween between)
{
	PlanState  *inner = innerPlanState(node);
	const Join *join = (const Join *) node->plan;

	if (!IsA(inner, IndexScanState) ||
		castNode(IndexScanState, inner)->iss_NumOrderByKeys == 0)
		return;
	between.filtered |= join->joinqual != NIL || join->plan.qual != NIL;
	limit_note_scan(walk, inner, between);
}

/*
 * Note the scans whose rows get from "node" to walk->limit one by one.  What
 * ExecSetTupleBound() of core tells a sort goes through the same nodes, and
 * through some more here:
 *
 *	 LockRows			returns the rows that it gets, but for those deleted
 *						meanwhile
 *	 IncrementalSort	is by the distance first, and so reads as many rows, and
 *						the ties of the last
 *	 WindowAgg			returns each row that it gets; it may read further for
 *						its aggregates, but not for rank()
 *	 NestLoop			reads the outer side as far as it has to for the rows that
 *						it returns: any number for each.  A scan in an order on the
 *						inner side is for one outer row (ecp_path_joined.c)
 *	 ProjectSet, Unique	likewise
 */
static void
limit_descend(LimitWalk *walk, PlanState *node, LimitBetween between)
{
	check_stack_depth();
	if (node == NULL)
		return;

	switch (nodeTag(node))
	{
		case T_IndexScanState:
		case T_IndexOnlyScanState:
			limit_note_scan(walk, node, between);
			break;
		case T_LockRowsState:
			between.filtered |= limit_skips_locked(castNode(LockRowsState, node));
			limit_descend(walk, outerPlanState(node), between);
			break;
		case T_IncrementalSortState:
		case T_WindowAggState:
			between.collected = true;
			between.filtered |= node->plan->qual != NIL;
			limit_descend(walk, outerPlanState(node), between);
			break;
		case T_CustomScanState:
			if (castNode(CustomScanState, node)->methods != ecp_limit_numbers)
				break;
			between.filtered |= node->plan->qual != NIL;
			limit_descend(walk, outerPlanState(node), between);
			break;
		case T_ResultState:
			between.filtered |= node->plan->qual != NIL;
			limit_descend(walk, outerPlanState(node), between);
			break;
		case T_NestLoopState:
			limit_descend_inner(walk, node, between);
			between.filtered = true;
			limit_descend(walk, outerPlanState(node), between);
			break;
		case T_ProjectSetState:
		case T_UniqueState:
			between.filtered = true;
			limit_descend(walk, outerPlanState(node), between);
			break;
		case T_SubqueryScanState:
			between.filtered |= node->plan->qual != NIL;
			limit_descend(walk, castNode(SubqueryScanState, node)->subplan,
						  between);
			break;
		case T_AppendState:
			limit_descend_all(walk, castNode(AppendState, node)->appendplans,
							  castNode(AppendState, node)->as_nplans, between);
			break;
		case T_MergeAppendState:
			between.collected = true;
			limit_descend_all(walk, castNode(MergeAppendState, node)->mergeplans,
							  castNode(MergeAppendState, node)->ms_nplans, between);
			break;
		default:
			break;
	}
}

/* Descend from each LIMIT of a plan. */
static bool
limit_walk(PlanState *node, void *context)
{
	if (IsA(node, LimitState))
	{
		LimitWalk  *walk = context;
		LimitBetween nothing = {false, false};

		walk->limit = castNode(LimitState, node);
		limit_descend(walk, outerPlanState(node), nothing);
	}
	return planstate_tree_walker(node, limit_walk, context);
}

static void
limit_start_hook(QueryDesc *query, int eflags)
{
	LimitWalk	walk;

	if (limit_previous_hook)
		limit_previous_hook(query, eflags);
	else
		standard_ExecutorStart(query, eflags);

	/* EXPLAIN does not open the indexes */
	if (query->planstate == NULL || (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	walk.context = query->estate->es_query_cxt;
	walk.last = &limit_notes.head;
	limit_walk(query->planstate, &walk);
}

/*
 * A note that was found goes to the end: so what is found next is at the start,
 * however many partitions there are.
 */
bool
ecp_limit_of(IndexScanDesc scan, EcpScanLimit *limit)
{
	dlist_iter	iter;

	memset(limit, 0, sizeof(EcpScanLimit));
	dlist_foreach(iter, &limit_notes)
	{
		LimitNote  *note = dlist_container(LimitNote, place, iter.cur);
		int64		rows;

		if (*note->scan != scan)
			continue;
		dlist_delete(&note->place);
		dlist_push_tail(&limit_notes, &note->place);
		if (note->limit->noCount)
			return false;
		if (pg_add_s64_overflow(note->limit->offset, note->limit->count, &rows))
			rows = PG_INT64_MAX;
		limit->rows = rows;
		limit->filtered = note->filtered;
		limit->tested = note->tested;
		limit->immediate = note->immediate;
		limit->scan = note->node;
		limit->node = note->limit;
		return true;
	}
	return false;
}

uint64
ecp_limit_passed(const EcpScanLimit *limit)
{
	return limit->node->position;
}

/* Install the hook; called by _PG_init(). */
void
ecp_limit_init(void)
{
	limit_previous_hook = ExecutorStart_hook;
	ExecutorStart_hook = limit_start_hook;
}
