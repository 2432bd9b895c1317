/*-------------------------------------------------------------------------
 *
 * ecp_cost.c
 *	  What a scan costs, and a distance that another plan computes.
 *
 * A scan reads "probes" clusters before it returns the first row, and reads the
 * next windows long before it has returned all rows of the first.  The planner
 * interpolates between startup and total cost for LIMIT, which cannot follow
 * such steps.  So the startup cost is that of all clusters which are read until
 * the LIMIT is satisfied, and the rest is spread over the rows.
 *
 * Conditions on key attributes enlarge the first window, as they do when it is
 * read (ecp_target_plan_among(), ecp_target_filter_probes()), and fewer of its rows
 * have to be compared, put in order and fetched.  A filter above the scan instead
 * makes the scan return more rows: one in a thousand, a thousand times as many.
 * Then fewer of the nearest rows are found, so ecp_match.c prefers an index that has
 * the column, whatever the costs.
 *
 * Only paths that ecp_path.c makes are ever chosen.  Core asks for the costs of
 * others, too, but does not offer them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/plan/ecp_plan.h"
#include "ecp/search/ecp_stop.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"
#include "vector/vector_value.h"

/*
 * Comparing a vector, in units of cpu_operator_cost (about 25 ns): a share of
 * the call for a page, and 20 bytes a nanosecond.
 */
#define ECP_COST_VECTOR(bytes)		(0.02 + (bytes) / 1280.0)

/*
 * A distance that another plan computes, in the same units: the call, reading
 * the vector of the row, and looking up one that is stored out of line.
 */
#define ECP_COST_CALL(bytes)		(40 + (bytes) / 5.0)
#define ECP_COST_TOAST				200

/* Leaders that a descent compares for each cluster; see ecp_descent.c. */
#define ECP_COST_BEAM		40

/*
 * Rows that clusters are read for under a filter, for each that the scan has to
 * return: the number is doubled when it was not enough.
 */
#define ECP_COST_FILTERED			2

/* Rows whose exact vectors are read for each row returned. */
#define ECP_COST_RERANKED			4

/* The same where they are in the table, and codes have four bits. */
#define ECP_COST_TABLE_ROWS			1.5

/* Visiting a single row, to rerank it or to fetch it from the table. */
#define ECP_COST_RETURN				40

/*
 * A search among many that are done at once, of the time of a scan; and what a batch of
 * them costs for each cluster of the index, in units of cpu_operator_cost.
 */
#define ECP_COST_BATCHED			0.8
#define ECP_COST_BATCH_CLUSTER		3

/* Clusters read for each insert buffer that is read with them, about. */
#define ECP_COST_BUFFER_PROBES		4

/*
 * A radius that is not known yet is assumed to be a reasonable one: a tenth of
 * the rows of the first window are within it, and none of the second window.
 */
#define ECP_COST_RADIUS_WINDOWS		3
#define ECP_COST_RADIUS_SHARE		0.1

/*
 * Skipping a cluster takes as long as this many operators, for the descent
 * to it and its summary.  Rows of a bitmap are charged ten times what they take in
 * memory, so this is, too.
 */
#define ECP_COST_SUMMARY			400

/* Clusters that summaries do not rule out although they have no match. */
#define ECP_COST_SUMMARY_WRONG		0.05

/* What the costs of a scan depend on. */
typedef struct EcpCostInput
{
	double		nclusters;
	double		rows;			/* of a cluster */
	double		pages;			/* of a cluster, without reranked vectors */
	double		vector_pages;	/* more for each row that is reranked */
	bool		from_table;		/* the vectors for that */
	double		vec_bytes;
	double		row_bytes;		/* compared with each row */
	double		levels;
	double		probes;			/* read before the first row, on average */
	double		window;			/* half of the next window */
	bool		follows;		/* reads as the rows that are wanted call for */
	double		probes_max;		/* that a scan can come to read */
	double		buffers;		/* read before the first row, as clusters */
	double		share;			/* of rows that pass the attribute conditions */
	double		matching;		/* of clusters that are read, and not passed
								 * over */
	double		summaries;		/* of them, on a page */
	double		loop_count;
} EcpCostInput;

/* Can a summary be asked for a condition on a key column? */
static bool
cost_is_asked(const IndexOptInfo *info, const IndexClause *clause,
			  const EcpMetaPageData *meta)
{
	int			a = clause->indexcol - 1;
	const RestrictInfo *qual;
	Oid			op = InvalidOid;

	if (a < 0 || (meta->ecpm_summary_atts & (1 << a)) == 0 ||
		list_length(clause->indexquals) != 1)
		return false;
	qual = linitial_node(RestrictInfo, clause->indexquals);
	if (IsA(qual->clause, NullTest))
		return castNode(NullTest, qual->clause)->nulltesttype == IS_NULL;
	if (IsA(qual->clause, OpExpr))
		op = castNode(OpExpr, qual->clause)->opno;
	else if (IsA(qual->clause, ScalarArrayOpExpr))
		op = castNode(ScalarArrayOpExpr, qual->clause)->opno;
	if (!OidIsValid(op))
		return false;
	return EcpAttrAsksForValues(meta->ecpm_attr_kind[a],
								get_op_opfamily_strategy(op, info->opfamily[a + 1]));
}

/*
 * The share of clusters with a row that fulfils the conditions for which summaries
 * are asked: as if rows were in clusters at random, which those of a tag are not.
 */
static double
cost_matching(PlannerInfo *root, const IndexPath *path,
			  const EcpMetaPageData *meta, const EcpCostInput *input)
{
	const IndexOptInfo *info = path->indexinfo;
	List	   *asked = NIL;
	double		share;
	ListCell   *lc;

	if (meta->ecpm_summary_bytes == 0 || input->share * ECP_SEARCH_SPARSE > 1)
		return 1;
	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (cost_is_asked(info, clause, meta))
			asked = list_concat(asked, clause->indexquals);
	}
	share = clauselist_selectivity(root, asked, info->rel->relid, JOIN_INNER, NULL);
	return -expm1(-share * input->rows) + ECP_COST_SUMMARY_WRONG;
}

static void
cost_read_index(PlannerInfo *root, const IndexPath *path, double share, bool radius,
				double wanted, EcpCostInput *input)
{
	const IndexOptInfo *info = path->indexinfo;
	Relation	index = index_open(info->indexoid, NoLock);
	EcpIndexState state = {0};	/* an empty index has no geometry */
	EcpScanPlan plan;
	double		tuples = Max(info->tuples, 1);

	ecp_meta_read_state(index, &state);

	Assert(share >= 0 && share <= 1);
	input->share = share;
	input->nclusters = Max(state.meta.ecpm_nleaves, 1);
	input->rows = tuples / input->nclusters;
	input->pages = Max(info->pages / input->nclusters, 1);
	input->vec_bytes = ecp_vector_bytes(state.meta.ecpm_elem,
										state.meta.ecpm_dims);
	input->row_bytes = input->vec_bytes;
	input->vector_pages = 0;
	input->from_table = state.meta.ecpm_elem == ECP_ELEM_NIBBLES;
	if (state.leaf.quantizer != ECP_QUANTIZER_NONE)
	{
		input->row_bytes = state.leaf.code_bytes;
		input->pages = Min(ceil(input->rows / state.leaf.slots), input->pages);
		input->vector_pages = 1 + input->vec_bytes / BLCKSZ;
	}
	input->matching = cost_matching(root, path, &state.meta, input);
	input->matching = Min(input->matching, 1);
	input->summaries = Max(state.node.summary_slots, 1);
	input->levels = state.meta.ecpm_root_level;
	ecp_target_plan(index, &state.meta, (uint64) Min(wanted, PG_INT32_MAX),
					&plan);
	input->follows = plan.adaptive && !radius;
	input->window = input->follows ?
		ecp_target_clusters(index, &state.meta,
							wanted / Max(share, 1 / tuples)) : plan.probes;
	input->buffers = 0;
	if (state.meta.ecpm_nbuffers > 0)
		input->buffers = ecp_insbuf_plan_limit(index, &state,
											   ecp_insbuf_plan_clusters(index, &state)) /
			2.0 / input->rows;
	index_close(index, NoLock);
	if (share < 1 && !input->follows)
		input->window = ecp_target_filter_probes(input->window,
												 Max(share, 1 / tuples), input->rows);
	input->window = Min(input->window, input->nclusters);
	input->probes = input->window;
	input->buffers *= Min(ceil(input->probes / ECP_COST_BUFFER_PROBES),
						  state.meta.ecpm_nbuffers);

	if (ecp_max_scan_tuples >= 0)
		input->probes = Min(input->probes,
							ecp_max_scan_tuples / input->rows + 1);
	if (ecp_iterative_scan == ECP_ITERATIVE_OFF)
		input->probes_max = input->probes;
	else if (ecp_max_scan_tuples >= 0)
		input->probes_max = Min(input->nclusters,
								ecp_max_scan_tuples / input->rows + 1);
	else
		input->probes_max = input->nclusters;
}

/* The share of a relation that is likely to be in the cache. */
static double
cost_cached(double pages)
{
	return Min(effective_cache_size / Max(pages, 1), 1);
}

/*
 * Cost of each of "n" reads in any order, where reading the whole relation takes
 * "most".  As core charges a bitmap scan, few reads are charged as random and
 * most of the relation as sequential, but only as far as the relation fits in
 * the cache, where what the kernel reads ahead stays until it is needed.
 */
static double
cost_read(Oid tablespace, double n, double most, double pages)
{
	double		random_cost;
	double		seq_cost;

	Assert(n >= 0 && most >= 0);
	get_tablespace_page_costs(tablespace, &random_cost, &seq_cost);
	if (n < 2 || seq_cost >= random_cost)
		return random_cost;
	return random_cost - (random_cost - seq_cost) *
		sqrt(Min(n / most, 1)) * cost_cached(pages);
}

/* Cost of reading the pages of "nclusters" clusters in each of many scans. */
static double
cost_pages(PlannerInfo *root, const IndexOptInfo *info,
		   const EcpCostInput *input, double nclusters)
{
	double		pages = nclusters * input->pages;
	double		seq_cost;
	double		cluster_cost;

	Assert(nclusters >= 0 && input->nclusters >= 1);
	get_tablespace_page_costs(info->reltablespace, NULL, &seq_cost);
	cluster_cost = cost_read(info->reltablespace, nclusters, input->nclusters,
							 info->pages) +
		(input->pages - 1) * seq_cost;
	if (input->loop_count > 1 && nclusters > 0)
	{
		/* pages that come again are found in the cache */
		double		fetched = index_pages_fetched(pages * input->loop_count,
												  info->pages, info->pages,
												  root);

		nclusters *= Min(fetched / (pages * input->loop_count), 1);
	}
	return nclusters * cluster_cost;
}

/* The index's conditions on attributes, and that with a radius, or NULL. */
static List *
cost_attribute_quals(List *indexclauses, RestrictInfo **radius)
{
	List	   *result = NIL;
	ListCell   *lc;

	*radius = NULL;
	foreach(lc, indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol == 0 && clause->lossy)
			*radius = clause->rinfo;
		else if (clause->indexcol == 0)
			continue;
		else
			result = list_concat(result, clause->indexquals);
	}
	return result;
}

/* The conditions on an index's table that a scan does not check. */
List *
ecp_cost_filters(const IndexOptInfo *index, List *indexclauses)
{
	List	   *filters = NIL;
	ListCell   *lc;

	foreach(lc, index->indrestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		bool		checked = rinfo->pseudoconstant;
		ListCell   *lc2;

		foreach(lc2, indexclauses)
			checked |= lfirst_node(IndexClause, lc2)->rinfo == rinfo;
		if (!checked)
			filters = lappend(filters, rinfo);
	}
	return filters;
}

/*
 * Rows that the index returns until the rows that the query wants have passed
 * the filter above the scan: a gamma distribution, whose variance is that of
 * rows that pass or fail independently of each other.
 */
typedef struct EcpCostReturned
{
	double		mean;
	double		shape;			/* infinite: as many as the mean */
} EcpCostReturned;

static void
cost_rows_returned(PlannerInfo *root, const IndexPath *path,
				   EcpCostReturned *returned)
{
	IndexOptInfo *index = path->indexinfo;
	double		wanted = root->tuple_fraction;
	double		share;

	if (wanted < 1)
		wanted *= index->rel->rows;
	wanted = Max(wanted, 1);
	share = clauselist_selectivity(root,
								   ecp_cost_filters(index, path->indexclauses),
								   index->rel->relid, JOIN_INNER, NULL);
	returned->mean = wanted / Max(share, 1 / Max(index->tuples, 1));
	returned->shape = share < 1 ? wanted / (1 - share) : get_float8_infinity();
}

/*
 * The cube root of a gamma distributed number is close to normal (Wilson and
 * Hilferty).
 */
double
ecp_cost_gamma_above(double mean, double shape, double n)
{
	double		ratio = n / mean;

	if (isinf(shape))
		return ratio < 1 ? 1 : 0;
	return erfc(3 * sqrt(shape / 2) * (cbrt(ratio) - 1 + 1 / (9 * shape))) / 2;
}

/*
 * Clusters that are read on average before the query has its rows.  With a
 * recall target these are the window's; with ecp.probes each window is
 * twice as large as the one before, and is read when a part of the candidates
 * has been returned (ecp_search.c).
 */
static double
cost_clusters_read(const EcpCostInput *input,
				   const EcpCostReturned *returned)
{
	double		window = input->window;
	double		read = input->probes;
	double		clusters = read;

	Assert(input->window > 0 && input->probes > 0);
	while (read < input->probes_max && !input->follows)
	{
		window = Min(2 * window, input->probes_max - read);
		clusters += window *
			ecp_cost_gamma_above(returned->mean, returned->shape,
								 read * input->rows * input->share /
								 ECP_SEARCH_AHEAD);
		read += window;
	}
	return Min(clusters, input->probes_max);
}

/*
 * Cost of the pages with the vectors of "rows" rows that are reranked, which
 * are close to each other in the clusters that were read.
 */
static Cost
cost_rerank(PlannerInfo *root, const IndexOptInfo *info,
			const EcpCostInput *input, double rows, double clusters)
{
	double		pages = ceil(clusters * info->pages / input->nclusters);
	double		seq_cost;

	Assert(rows >= 0 && clusters >= 0 && input->vector_pages > 0);
	get_tablespace_page_costs(info->reltablespace, NULL, &seq_cost);
	return seq_cost * index_pages_fetched(rows * input->vector_pages, pages,
										  info->pages, root);
}

/* Cost of reading clusters, and of reranking rows of them. */
static Cost
cost_clusters(PlannerInfo *root, const IndexOptInfo *info,
			  const EcpCostInput *input, double clusters, double reranked)
{
	double		read = clusters * input->matching;
	Cost		cost;

	cost = cost_pages(root, info, input,
					  read + input->buffers + input->levels) +
		(clusters + input->buffers) * input->rows *
		input->share * cpu_operator_cost * ECP_COST_VECTOR(input->row_bytes) +
		(read + input->buffers) * input->rows * 0.1 * cpu_index_tuple_cost;
	if (input->matching < 1)
		cost += clusters * ECP_COST_SUMMARY * cpu_operator_cost +
			clusters / input->summaries * cost_read(info->reltablespace,
													clusters / input->summaries,
													input->nclusters / input->summaries,
													info->pages);
	if (input->vector_pages > 0)
		cost += cost_rerank(root, info, input, reranked, clusters) +
			reranked * cpu_operator_cost *
			(ECP_COST_VECTOR(input->vec_bytes) + ECP_COST_RETURN);
	return cost;
}

/*
 * Cost of exact distances from the table, by a scan that returns "returned" rows:
 * reading the vectors, and the pages of rows that are not returned.  Core charges
 * for those of the others.
 */
static Cost
cost_table_rows(PlannerInfo *root, const IndexOptInfo *info, double returned,
				double most)
{
	const RelOptInfo *rel = info->rel;
	Path		path = {0};
	EcpDistanceCost distance;
	double		pages;

	path.rows = clamp_row_est(Min(ECP_COST_TABLE_ROWS * returned, most));
	ecp_cost_distance(info, root->simple_rte_array[rel->relid]->relid, &distance);
	pages = index_pages_fetched(clamp_row_est(path.rows - returned), rel->pages,
								info->pages, root);
	return ecp_cost_distances(root, &distance, &path, 1) +
		pages * cost_read(rel->reltablespace, pages, rel->pages, rel->pages);
}

/*
 * amcostestimate.  The startup cost is that of all clusters which are read
 * until the query has its rows; the rest is spread over the rows.
 */
void
ecpcostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				Cost *startup, Cost *total, Selectivity *selectivity,
				double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	EcpCostInput input;
	EcpCostReturned returned;
	double		clusters;
	double		rows;
	Cost		first;
	Cost		last;
	RestrictInfo *radius;
	List	   *quals = cost_attribute_quals(path->indexclauses, &radius);

	*correlation = 0;
	*pages = info->pages;
	*selectivity = info->rel->tuples > 0 ?
		Min(info->tuples / info->rel->tuples, 1) : 1;
	if (info->hypothetical)
	{
		*startup = *total = disable_cost;
		return;
	}

	cost_rows_returned(root, path, &returned);
	cost_read_index(root, path, clauselist_selectivity(root, quals,
													   info->rel->relid,
													   JOIN_INNER, NULL),
					radius != NULL,
					isinf(returned.shape) ? returned.mean :
					ECP_COST_FILTERED * returned.mean, &input);
	input.loop_count = loop_count;
	*selectivity *= input.share;
	if (radius)
	{
		input.probes_max = Min(input.probes_max,
							   ECP_COST_RADIUS_WINDOWS * input.probes);
		if (radius->norm_selec >= 0 && radius->norm_selec != DEFAULT_INEQ_SEL)
			*selectivity *= radius->norm_selec; /* see ecp_radius.c */
		else
			*selectivity *= Min(ECP_COST_RADIUS_SHARE * input.probes *
								input.rows / Max(info->tuples, 1), 1);
	}

	clusters = cost_clusters_read(&input, &returned);
	first = cost_clusters(root, info, &input, clusters,
						  Min(ECP_COST_RERANKED * returned.mean,
							  clusters * input.rows * input.share));
	if (input.from_table)
		first += cost_table_rows(root, info, returned.mean,
								 clusters * input.rows * input.share);
	*startup = first + cpu_operator_cost * ECP_COST_VECTOR(input.vec_bytes) *
		Min(input.nclusters, ECP_COST_BEAM * clusters);

	/* candidates are put in order at the cost of a sort */
	rows = input.probes_max * input.rows * input.share;
	last = cost_clusters(root, info, &input, input.probes_max, rows);
	if (input.from_table)
		last += cost_table_rows(root, info, rows, rows);
	*total = *startup + Max(last - first, 0) +
		rows * (cpu_index_tuple_cost + cpu_operator_cost *
				(ECP_COST_RETURN + 2.0 * log2(Max(rows, 2))));
	*pages = (clusters * input.matching + input.levels) * input.pages;
}

/*
 * What each of "n" searches costs that a batch does at once (ecp_knn.c), and the batch
 * besides.  Each page is read once, as if all that were read remained in the cache.
 * False if a batch would leave them to scans.
 */
bool
ecp_cost_batch(PlannerInfo *root, IndexPath *path, double n, Cost *search, Cost *setup)
{
	const IndexOptInfo *info = path->indexinfo;
	Relation	index = index_open(info->indexoid, NoLock);
	EcpIndexState state = {0};
	Cost		total;
	Selectivity selectivity;
	double		correlation;
	double		pages;

	Assert(n >= 1);
	ecp_meta_read_state(index, &state);
	index_close(index, NoLock);
	ecpcostestimate(root, path, n, search, &total, &selectivity, &correlation, &pages);
	*search *= ECP_COST_BATCHED;
	*setup = cpu_operator_cost * ECP_COST_BATCH_CLUSTER * state.meta.ecpm_nleaves;
	return state.leaf.elem != ECP_ELEM_NIBBLES && !EcpIndexIsEmpty(&state);
}

/* As costsize.c divides the work of a path: the main process has more to do. */
static double
cost_divisor(const Path *path)
{
	double		divisor = path->parallel_workers;
	double		leader = 1.0 - 0.3 * path->parallel_workers;

	if (parallel_leader_participation && leader > 0)
		divisor += leader;
	return divisor;
}

/*
 * Correct what core charges for fetching rows from the table: random_page_cost
 * for each page, even if the scan returns rows of most of them.
 */
void
ecp_cost_fetch(PlannerInfo *root, IndexPath *path)
{
	const RelOptInfo *rel = path->indexinfo->rel;
	double		rows = path->indexselectivity * rel->tuples;
	double		pages = index_pages_fetched(clamp_row_est(rows), rel->pages,
											path->indexinfo->pages, root);
	double		random_cost;

	Assert(path->indexinfo->amcostestimate == ecpcostestimate);
	if (isinf(path->path.total_cost))
		return;					/* infinity less infinity is not a number */
	get_tablespace_page_costs(rel->reltablespace, &random_cost, NULL);
	if (path->path.pathtype == T_IndexOnlyScan)
		pages *= 1 - rel->allvisfrac;
	path->path.total_cost -= pages *
		(random_cost - cost_read(rel->reltablespace, pages, rel->pages,
								 rel->pages));
}

/*
 * Blocks of a table's TOAST relation, 0 if it has none.
 */
static BlockNumber
cost_toast_pages(Oid relid)
{
	Relation	heap = table_open(relid, NoLock);
	Oid			toast_oid = heap->rd_rel->reltoastrelid;
	BlockNumber pages = 0;

	if (OidIsValid(toast_oid))
	{
		Relation	toast = table_open(toast_oid, AccessShareLock);

		pages = RelationGetNumberOfBlocks(toast);
		table_close(toast, AccessShareLock);
	}
	table_close(heap, NoLock);
	return pages;
}

/*
 * Is a column from which the index has its vectors stored out of line?  Then by
 * the statistics it is no wider than a TOAST pointer.  Without statistics the
 * length of the vectors decides.
 */
static bool
cost_is_toasted(const IndexOptInfo *index, Oid relid, double vec_bytes)
{
	Bitmapset  *columns = NULL;
	int			column = -1;

	if (index->indexkeys[0] != 0)
		columns = bms_make_singleton(index->indexkeys[0] -
									 FirstLowInvalidHeapAttributeNumber);
	else
		pull_varattnos(linitial(index->indexprs), index->rel->relid, &columns);
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attno = column + FirstLowInvalidHeapAttributeNumber;
		int32		width = get_attavgwidth(relid, attno);

		if (attno > 0 && get_typlen(get_atttype(relid, attno)) == -1 &&
			(width > 0 ? width <= TOAST_POINTER_SIZE + 1 :
			 vec_bytes > TOAST_TUPLE_TARGET))
			return true;
	}
	return false;
}

/*
 * What the distance of a row costs in a path of core beyond the operator, which
 * core charges for: comparing the vector, and fetching it from the TOAST table.
 * Core counts neither the TOAST table's pages nor the search in its index.
 */
void
ecp_cost_distance(const IndexOptInfo *info, Oid relid, EcpDistanceCost *cost)
{
	Relation	index = index_open(info->indexoid, NoLock);
	EcpIndexState state = {0};	/* an empty index has no geometry */
	double		rows = Max(info->rel->tuples, 1);
	double		vec_bytes;
	double		pages;

	Assert(OidIsValid(relid) && info->amcostestimate == ecpcostestimate);
	ecp_meta_read_state(index, &state);
	vec_bytes = ecp_vector_bytes(EcpMetaQueryElem(&state.meta),
								 state.meta.ecpm_dims);
	index_close(index, NoLock);

	cost->cpu = cpu_operator_cost * ECP_COST_CALL(vec_bytes);
	cost->toast_pages = 0;
	get_tablespace_page_costs(info->rel->reltablespace, &cost->random_page_cost,
							  &cost->seq_page_cost);
	pages = cost_is_toasted(info, relid, vec_bytes) ?
		cost_toast_pages(relid) : 0;
	if (pages * BLCKSZ > rows * TOAST_POINTER_SIZE)
	{
		cost->cpu += cpu_operator_cost * ECP_COST_TOAST;

		/* other columns may have most of it */
		cost->vector_pages = Min(pages / rows, 1 +
								 Max(vec_bytes, TOAST_TUPLE_TARGET) / BLCKSZ);
		cost->toast_pages = ceil(rows * cost->vector_pages);
	}
}

/*
 * Cost of "count" such distances for each row of a path.  The vectors of few
 * rows are scattered, like the pages of a bitmap scan.
 */
Cost
ecp_cost_distances(PlannerInfo *root, const EcpDistanceCost *cost,
				   const Path *path, double count)
{
	double		divisor = path->parallel_workers > 0 ? cost_divisor(path) : 1;
	double		pages;
	double		page_cost;

	Assert(count > 0);
	count *= path->rows;
	if (cost->toast_pages == 0)
		return count * cost->cpu;
	pages = index_pages_fetched(count * divisor * Max(cost->vector_pages, 1),
								cost->toast_pages, cost->toast_pages, root);
	page_cost = cost->random_page_cost -
		(cost->random_page_cost - cost->seq_page_cost) *
		sqrt(Min(pages / cost->toast_pages, 1));
	return count * cost->cpu + pages * page_cost / divisor;
}

/*
 * pg_index_column_has_property(..., 'distance_orderable'), which core does
 * not know of other methods than its own.
 */
bool
ecpproperty(Oid index_oid, int attno, IndexAMProperty prop,
			const char *propname, bool *res, bool *isnull)
{
	if (prop != AMPROP_DISTANCE_ORDERABLE || attno == 0)
		return false;
	*res = (attno == 1);
	return true;
}
