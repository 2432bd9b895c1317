/*-------------------------------------------------------------------------
 *
 * betree_cost.c
 *	  amcostestimate: btree's estimate, and the logs on top.
 *
 * Selectivity, correlation and the leaf pages are those of a B-tree.  On the
 * way to its leaves a scan also looks into the log of each leaf parent, which
 * between two drains is half full on average.  A scan that can use the log's
 * filter (= on all key columns) reads one filter page and the tail instead;
 * any other reads the log once per node, and merges what is for its leaves.
 * Arrays make a scan go from window to window (betree_array.c): each is a leaf,
 * but not each a descent, and of a node's log they never ask more than its
 * pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/amapi.h"
#include "access/stratnum.h"
#include "base/compat.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_page.h"
#include "betree/plan/betree_plan.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "utils/index_selfuncs.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/* leaves of a node, about */
#define LEAVES_PER_NODE		180

/* comparisons of a binary search in a page */
#define SEARCH_COMPARISONS	8

/* btree's charge for a page on the way down, in cpu_operator_cost */
#define PAGE_OPERATORS		50.0

/*
 * Pages of a log that a lookup reads where there is a filter: it, the tail; and
 * the charge for one, in cpu_operator_cost.
 *
 * A cpu_operator_cost is some 125 instructions: 10,000 rows of an index-only
 * scan of btree take 8.8 million, and are charged 175.  So a lookup's 18,200
 * instructions more than btree's, with logs half full, are 146; with
 * btree's own charge it would be 50.
 */
#define FILTERED_PAGES		2
#define FILTERED_OPERATORS	100.0

/*
 * The same for a message that a range collects and merges.  10,000 rows, among
 * them some 1,200 messages, take 11.0 million instructions, btree's 8.8; with
 * empty logs 7.8, which is not counted.
 */
#define MESSAGE_OPERATORS	15.0

/* What the clauses of a path ask for */
typedef struct ScanShape
{
	double		nwindows;		/* parts of the index that arrays choose */
	bool		filtered;		/* each of them can use a filter */
} ScanShape;

/*
 * A clause's operator, or InvalidOid, and in "*nelements" how many values it
 * compares with; IS NULL has one.
 */
static Oid
examine_clause(PlannerInfo *root, Expr *clause, double *nelements)
{
	*nelements = 1;
	if (IsA(clause, OpExpr))
		return ((OpExpr *) clause)->opno;
	if (IsA(clause, ScalarArrayOpExpr))
	{
		ScalarArrayOpExpr *saop = (ScalarArrayOpExpr *) clause;

		*nelements = Max(1.0, ecp_estimate_array_length(root,
														lsecond(saop->args)));
		return saop->opno;
	}
	if (!IsA(clause, NullTest) || ((NullTest *) clause)->nulltesttype != IS_NULL)
		*nelements = 0;
	return InvalidOid;
}

static void
examine_clauses(PlannerInfo *root, IndexPath *path, BetreeRel *bt,
				ScanShape *shape)
{
	IndexOptInfo *index = path->indexinfo;
	double		elements[INDEX_MAX_KEYS] = {0}; /* fewest of a column's = */
	bool		hashed[INDEX_MAX_KEYS] = {0};
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, path->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);
		int			i = iclause->indexcol;

		foreach(lc2, iclause->indexquals)
		{
			double		n;
			Oid			op = examine_clause(root, lfirst_node(RestrictInfo, lc2)->clause,
											&n);
			Oid			left;
			Oid			right;
			Oid			arg_proc;

			if (i >= bt->nkeyatts || n == 0 ||
				(OidIsValid(op) &&
				 get_op_opfamily_strategy(op, index->opfamily[i]) !=
				 BTEqualStrategyNumber))
				continue;
			elements[i] = elements[i] > 0 ? Min(elements[i], n) : n;
			if (!OidIsValid(op))
				continue;
			op_input_types(op, &left, &right);
			if (OidIsValid(betree_hash_proc(bt, i, right, &arg_proc)))
				hashed[i] = true;
		}
	}

	shape->nwindows = 1;
	for (int i = 0; i < bt->nkeyatts && elements[i] > 0; i++)
		shape->nwindows *= elements[i];
	shape->filtered = betree_filter_pages(bt) > 0;
	for (int i = 0; i < bt->nkeyatts; i++)
		shape->filtered = shape->filtered && hashed[i];
}

/*
 * betree_cost_height
 *		amgettreeheight: pages that a scan passes above the leaf
 *
 * A function of an operator class may be what plans, under our own locks.
 */
int
betree_cost_height(Relation rel)
{
	Buffer		root;
	int			height;

	betree_entry_refuse(rel);
	root = betree_block_read(rel, BETREE_ROOT_BLKNO, BUFFER_LOCK_SHARE, BETREE_NODE);
	height = BetreePageGetOpaque(BufferGetPage(root))->bteo_level;
	UnlockReleaseBuffer(root);
	return height;
}

/* The same where the planner does not ask (before version 18), guessed */
static int
guess_height(double pages)
{
	int			height = 1;

	while (pages > LEAVES_PER_NODE)
	{
		pages /= LEAVES_PER_NODE;
		height++;
	}
	return height;
}

/* amcostestimate */
void
betreecostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				   Cost *indexStartupCost, Cost *indexTotalCost,
				   Selectivity *indexSelectivity, double *indexCorrelation,
				   double *indexPages)
{
	IndexOptInfo *index = path->indexinfo;
	double		pages = index->pages;
	int			height = index->tree_height;
	Relation	rel = index_open(index->indexoid, NoLock);
	BetreeRel	bt;
	ScanShape	shape;
	double		nodes;
	double		per_node;
	double		log_pages;
	double		per_leaf;
	double		miss;
	double		random_cost;
	Cost		page_cost;
	Cost		descent;
	Cost		first;
	Cost		whole;

	betree_rel_open(&bt, rel);
	examine_clauses(root, path, &bt, &shape);
	index_close(rel, NoLock);

	/* the descents are ours to charge, below */
	index->tree_height = -1;
	btcostestimate(root, path, loop_count, indexStartupCost, indexTotalCost,
				   indexSelectivity, indexCorrelation, indexPages);
	index->tree_height = height;
	if (height < 0)
		height = guess_height(pages);

	/* windows that share a leaf are read together */
	shape.nwindows = Max(1.0, Min(shape.nwindows, pages));
	nodes = Max(Min(shape.nwindows, ceil(pages / LEAVES_PER_NODE)),
				ceil(*indexPages / LEAVES_PER_NODE));
	per_node = Max(1.0, shape.nwindows / nodes);

	/* an index that is not larger than its nodes' logs has none yet */
	log_pages = Min(betree_rel_log_pages(&bt, (int) Min(pages, LEAVES_PER_NODE)) / 2.0,
					pages / 2.0);

	/* messages of a leaf */
	per_leaf = log_pages * BetreePageCapacity /
		(MAXALIGN(bt.tuple_width) + sizeof(ItemIdData)) /
		Max(1.0, Min(pages, LEAVES_PER_NODE));

	/* the part of the index that memory is not expected to hold */
	miss = 1.0 - (double) effective_cache_size / Max(1.0, pages);
	miss = Max(0.0, Min(1.0, miss));
	get_tablespace_page_costs(index->reltablespace, &random_cost,
							  NULL);

	/*
	 * A log page costs a binary search for each window, and then what is
	 * found there; a filter or a tail are read from one end to the other. The
	 * node costs, for a window after its first, what btree charges for a
	 * page.  The last page of a log, which takes appends, is in memory.
	 */
	page_cost = PAGE_OPERATORS * cpu_operator_cost;
	descent = height * page_cost;
	first = log_pages * (SEARCH_COMPARISONS * cpu_operator_cost +
						 miss * random_cost);
	whole = log_pages * (per_node * SEARCH_COMPARISONS * cpu_operator_cost +
						 miss * random_cost);
	if (shape.filtered)
	{
		log_pages = Min(log_pages, FILTERED_PAGES);
		first = log_pages * FILTERED_OPERATORS * cpu_operator_cost +
			Max(log_pages - 1, 0) * miss * random_cost;
		whole = Min(per_node * first, first + whole);
	}
	*indexStartupCost += descent + first;
	*indexTotalCost += nodes * (descent + (per_node - 1) * page_cost + whole);
	if (!shape.filtered)
		*indexTotalCost += *indexSelectivity * pages * per_leaf *
			MESSAGE_OPERATORS * cpu_operator_cost;
	*indexPages += log_pages * nodes;
}

/* ---- LIKE and regular expressions with a fixed prefix ---- */

/*
 * Core makes conditions for an index of "x LIKE 'a%'" (like_support.c) for the
 * operator families that it knows by their OIDs, those of btree, and of no
 * others.  Ours have the same operators under the same strategies.  So the
 * planner is told of the family of btree where our family is the counterpart
 * of one of these; the executor takes strategies from the index's own family,
 * and finds the same.
 */

/* core's families for patterns, known by type and < operator */
static const struct
{
	Oid			type;
	Oid			less;
	Oid			family;
}			families[] = {
	{TEXTOID, TextLessOperator, TEXT_BTREE_FAM_OID},
	{TEXTOID, TextPatternLessOperator, TEXT_PATTERN_BTREE_FAM_OID},
	{BPCHAROID, BpcharLessOperator, BPCHAR_BTREE_FAM_OID},
	{BPCHAROID, BpcharPatternLessOperator, BPCHAR_PATTERN_BTREE_FAM_OID},
	{BYTEAOID, ByteaLessOperator, BYTEA_BTREE_FAM_OID},
};

static EcpRelationHook previous_hook;

/* Core's counterpart of the family of an index's column, or the same */
static Oid
core_family(Oid family, Oid type)
{
	Oid			less = get_opfamily_member(family, type, type,
										   BTLessStrategyNumber);

	for (int i = 0; i < lengthof(families); i++)
	{
		if (families[i].type == type && families[i].less == less)
			return families[i].family;
	}
	return family;
}

static void
relation_info(ECP_RELATION_HOOK_ARGS)
{
	ListCell   *lc;

	if (previous_hook)
		previous_hook(ECP_RELATION_HOOK_PASSED);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if ((amcostestimate_function) index->amcostestimate != betreecostestimate)
			continue;
		for (int i = 0; i < index->nkeycolumns; i++)
			index->opfamily[i] = core_family(index->opfamily[i],
											 index->opcintype[i]);
	}
}

/*
 * betree_cost_init
 *		Set the hook; called once, by _PG_init.
 */
void
betree_cost_init(void)
{
	previous_hook = ecp_relation_hook;
	ecp_relation_hook = relation_info;
}
