/*-------------------------------------------------------------------------
 *
 * ecp_cost.c
 *	  What a scan costs, and what it can do, for the planner and the catalog.
 *
 * Before it returns the first row a scan has read "probes" clusters; that is
 * its startup cost.  After that a row costs next to nothing until the next
 * window, so the rest of the clusters is spread over the rest of the rows.
 * The planner interpolates between the two for LIMIT, which is right: ten
 * rows come after the first window, and a filter that keeps one row in a
 * thousand makes it pay for a thousand times as many.
 *
 * Conditions on key attributes make the first window larger, as they do when
 * it is read (ecp_filter_probes), and the rows of it fewer that have to be
 * compared, put in order and fetched.  A filter above the scan does not, and
 * the nearest of the rows that it keeps are found less surely; it is charged
 * the same, so that plans are compared which find as much, and the index that
 * has the column is preferred to one that has not.
 *
 * Several processes can read the clusters of one scan (ecp_share.c), which
 * divides what a scan does before its first row.  The planner divides only
 * the run time, so ecp_path.c has ecp_cost_partial() correct such paths.
 *
 * Only the paths that ecp_path.c makes are ever chosen.  Core asks the cost of
 * others, too, and does not offer them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "ecp/ecp_living.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

/*
 * Comparing a vector, in units of cpu_operator_cost (about 25 ns): the call
 * for a page shared by its rows, and 20 bytes a nanosecond.
 */
#define ECP_COST_VECTOR(bytes)		(0.02 + (bytes) / 1280.0)

/*
 * A distance that another plan computes, in the same units: the call, bringing
 * a vector of the row into the form that it takes, and looking up one that is
 * stored out of line.
 */
#define ECP_COST_CALL(bytes)		(40 + (bytes) / 5.0)
#define ECP_COST_TOAST				200

/* Leaders that a descent compares for each cluster; see ecp_descent.c. */
#define ECP_COST_BEAM		40

/* Rows whose vectors are read, besides their codes, before the first row. */
#define ECP_COST_RERANKED			50

/* Returning a row, and visiting it in the table apart from other rows. */
#define ECP_COST_RETURN				40

/* Clusters read for each buffer that comes with them, about. */
#define ECP_COST_BUFFER_PROBES		4

/*
 * A radius, of which the planner knows nothing: we take it to be one that
 * somebody would choose, so that the second window has nothing within it, and
 * of the rows of the first one in ten.
 */
#define ECP_COST_RADIUS_WINDOWS		3
#define ECP_COST_RADIUS_SHARE		0.1

/* The index as the planner must know it. */
typedef struct EcpCostInput
{
	double		nclusters;
	double		rows;			/* of a cluster */
	double		pages;			/* of a cluster, without reranked vectors */
	double		vector_pages;	/* more for each row that is reranked */
	double		vec_bytes;
	double		row_bytes;		/* compared with each row */
	double		levels;
	double		probes;			/* read before the first row */
	double		probes_max;		/* that a scan can come to read */
	double		buffers;		/* read before the first row, as clusters */
} EcpCostInput;

static void
cost_read_index(const IndexOptInfo *info, double share, EcpCostInput *input)
{
	Relation	index = index_open(info->indexoid, NoLock);
	EcpIndexState state = {0};	/* an empty index has no geometry */
	double		tuples = Max(info->tuples, 1);

	ecp_index_state_read(index, &state);

	input->nclusters = Max(state.meta.ecpm_nleaves, 1);
	input->rows = tuples / input->nclusters;
	input->pages = Max(info->pages / input->nclusters, 1);
	input->vec_bytes = ecp_vector_bytes(state.meta.ecpm_elem,
										state.meta.ecpm_dims);
	input->row_bytes = input->vec_bytes;
	input->vector_pages = 0;
	if (state.leaf.quantizer != ECP_QUANTIZER_NONE)
	{
		input->row_bytes = state.leaf.code_bytes;
		input->pages = Min(ceil(input->rows / state.leaf.slots), input->pages);
		input->vector_pages = 1 + input->vec_bytes / BLCKSZ;
	}
	input->levels = state.meta.ecpm_root_level;
	input->probes = ecp_default_probes(index, &state.meta);
	input->buffers = 0;
	if (state.meta.ecpm_nbuffers > 0)
		input->buffers = ecp_buffer_limit(index, &state,
										  ecp_buffer_clusters(index, &state)) /
			2.0 / input->rows;
	index_close(index, NoLock);
	if (share < 1)
		input->probes = ecp_filter_probes(input->probes,
										  Max(share, 1 / tuples), input->rows);
	input->probes = Min(input->probes, input->nclusters);
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

/* Cost of reading the pages of "nclusters" clusters in each of many scans. */
static double
cost_pages(PlannerInfo *root, const IndexOptInfo *info,
		   const EcpCostInput *input, double nclusters, double loop_count)
{
	double		pages = nclusters * input->pages;
	double		random_cost;
	double		seq_cost;
	double		cluster_cost;

	get_tablespace_page_costs(info->reltablespace, &random_cost, &seq_cost);
	cluster_cost = random_cost + (input->pages - 1) * seq_cost;
	if (loop_count > 1 && nclusters > 0)
	{
		/* pages that come again are found in the cache */
		double		fetched = index_pages_fetched(pages * loop_count,
												  info->pages, info->pages,
												  root);

		nclusters *= Min(fetched / (pages * loop_count), 1);
	}
	return nclusters * cluster_cost;
}

/* The index's conditions on attributes; *radius says if there is a radius. */
static List *
cost_attribute_quals(List *indexclauses, bool *radius)
{
	List	   *result = NIL;
	ListCell   *lc;

	*radius = false;
	foreach(lc, indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol == 0)
			*radius |= clause->lossy;
		else
			result = list_concat(result, clause->indexquals);
	}
	return result;
}

/* Share of the rows that the conditions which the scan does not check keep. */
static Selectivity
cost_filter_share(PlannerInfo *root, const IndexPath *path)
{
	List	   *filters = NIL;
	ListCell   *lc;

	foreach(lc, path->indexinfo->indrestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		bool		checked = rinfo->pseudoconstant;
		ListCell   *lc2;

		foreach(lc2, path->indexclauses)
			checked |= lfirst_node(IndexClause, lc2)->rinfo == rinfo;
		if (!checked)
			filters = lappend(filters, rinfo);
	}
	return clauselist_selectivity(root, filters, path->indexinfo->rel->relid,
								  JOIN_INNER, NULL);
}

/*
 * Cost of reading the vectors of "rows" rows that are reranked, which stand
 * near each other in the clusters that have been read.
 */
static double
cost_rerank(const IndexOptInfo *info, const EcpCostInput *input, double rows)
{
	double		seq_cost;

	get_tablespace_page_costs(info->reltablespace, NULL, &seq_cost);
	return rows * input->vector_pages * seq_cost;
}

/* What a scan costs, by what may be divided among processes. */
typedef struct EcpCost
{
	double		pages;			/* read before the first row */
	Selectivity share;			/* of the table's rows */

	/* up to the first row, and all that follows */
	Cost		descent;
	Cost		first_io;
	Cost		first_cpu;
	Cost		rest_io;
	Cost		rest_cpu;
} EcpCost;

static void
cost_compute(PlannerInfo *root, IndexPath *path, double loop_count,
			 EcpCost *cost)
{
	IndexOptInfo *info = path->indexinfo;
	EcpCostInput input;
	double		rest;
	double		rows;
	double		reranked;
	double		vector_cost;
	double		row_cost;
	double		share;
	bool		radius;
	List	   *quals = cost_attribute_quals(path->indexclauses, &radius);

	share = clauselist_selectivity(root, quals, info->rel->relid, JOIN_INNER,
								   NULL);
	cost->share = share;
	cost_read_index(info, share * cost_filter_share(root, path), &input);
	if (radius)
	{
		input.probes_max = Min(input.probes_max,
							   ECP_COST_RADIUS_WINDOWS * input.probes);
		cost->share *= Min(ECP_COST_RADIUS_SHARE * input.probes * input.rows /
						   Max(info->tuples, 1), 1);
	}
	vector_cost = cpu_operator_cost * ECP_COST_VECTOR(input.vec_bytes);
	row_cost = input.rows *
		(share * cpu_operator_cost * ECP_COST_VECTOR(input.row_bytes) +
		 0.1 * cpu_index_tuple_cost);

	cost->descent = vector_cost * Min(input.nclusters,
									  ECP_COST_BEAM * input.probes);
	cost->first_io = cost_pages(root, info, &input,
								input.probes + input.buffers + input.levels,
								loop_count);
	cost->first_cpu = (input.probes + input.buffers) * row_cost;

	/* besides, putting candidates in order costs what it costs a sort */
	rest = input.probes_max - input.probes;
	rows = input.probes_max * input.rows * share;
	cost->rest_io = cost_pages(root, info, &input, rest, loop_count);
	if (input.vector_pages > 0)
	{
		reranked = Min(ECP_COST_RERANKED, input.probes * input.rows * share);
		cost->first_io += cost_rerank(info, &input, reranked);
		cost->rest_io += cost_rerank(info, &input, rows - reranked);
	}
	cost->rest_cpu = rest * row_cost +
		rows * (cpu_index_tuple_cost + cpu_operator_cost *
				(ECP_COST_RETURN + 2.0 * log2(Max(rows, 2))));
	cost->pages = (input.probes + input.levels) * input.pages;
}

void
ecpcostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				Cost *startup, Cost *total, Selectivity *selectivity,
				double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	EcpCost		cost;

	*correlation = 0;
	*pages = info->pages;
	*selectivity = info->rel->tuples > 0 ?
		Min(info->tuples / info->rel->tuples, 1) : 1;

	if (info->hypothetical)
	{
		*startup = *total = disable_cost;
		return;
	}
	cost_compute(root, path, loop_count, &cost);
	*selectivity *= cost.share;
	*startup = cost.descent + cost.first_io + cost.first_cpu;
	*total = *startup + cost.rest_io + cost.rest_cpu;
	*pages = cost.pages;
}

/* As costsize.c divides the work of a path: the leader has more to do. */
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
 * Correct the cost of a partial path.
 *
 * The planner divides only what it adds itself to a path's run time, as
 * amcostestimate cannot know that a path is partial.  The descent is one
 * process's work; comparing rows is divided.  So is the reading of pages, if
 * they are not likely to be in the cache: then several processes keep a
 * device busier than one, and what we charge for a page is its time.  What
 * we charge for a page that is there is far more than it takes.
 */
void
ecp_cost_partial(PlannerInfo *root, IndexPath *path)
{
	EcpCost		cost;
	double		saved = 1 - 1 / cost_divisor(&path->path);
	double		cached = Min(effective_cache_size /
							 Max(path->indexinfo->pages, 1.0), 1);
	Cost		startup;

	cost_compute(root, path, 1, &cost);
	startup = saved * (cost.first_cpu + (1 - cached) * cost.first_io);
	path->path.startup_cost -= startup;
	path->path.total_cost -= startup +
		saved * (cost.rest_cpu + (1 - cached) * cost.rest_io);
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
 * Is one of the columns that an index has its vectors from stored out of line?
 * Statistics say how wide it is in the table: no wider than a pointer.  If
 * there are none, the length of the vectors says whether it will be.
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
 * Cost of the distance of a row from what another path than ours returns,
 * beyond the operator that core charges for: the vector is compared, and
 * before that fetched from the TOAST table, if it is there.  Core has counted
 * neither its pages nor the search in the TOAST table's index for each row.
 */
Cost
ecp_cost_distance(const IndexOptInfo *info, Oid relid)
{
	Relation	index = index_open(info->indexoid, NoLock);
	EcpIndexState state = {0};	/* an empty index has no geometry */
	double		rows = Max(info->rel->tuples, 1);
	double		vec_bytes;
	double		pages;
	double		seq_cost;
	Cost		cost;

	ecp_index_state_read(index, &state);
	vec_bytes = ecp_vector_bytes(state.meta.ecpm_elem, state.meta.ecpm_dims);
	index_close(index, NoLock);

	cost = cpu_operator_cost * ECP_COST_CALL(vec_bytes);
	pages = cost_is_toasted(info, relid, vec_bytes) ?
		cost_toast_pages(relid) / rows : 0;
	if (pages * BLCKSZ <= TOAST_POINTER_SIZE)
		return cost;

	/* other columns may have most of it */
	pages = Min(pages, 1 + Max(vec_bytes, TOAST_TUPLE_TARGET) / BLCKSZ);
	get_tablespace_page_costs(info->rel->reltablespace, NULL, &seq_cost);
	return cost + pages * seq_cost + cpu_operator_cost * ECP_COST_TOAST;
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
