/*-------------------------------------------------------------------------
 *
 * ecp_recall_curve.c
 *	  RECALL: measure what recall costs, for ecp_stop.c.
 *
 * The index is searched for random rows, each without itself and with, and for points
 * that are unlike the rows (ecp_recall_query.c).  The promise is about unseen
 * queries, and an index knows nothing but its rows.
 *
 * A search reads far more clusters than any target needs, all of them if there
 * are not many, and checks itself as searches for 1 to 10,000 rows
 * (ecp_target_ks) would (ecp_recall_search.c).  In the end the nearest rows are
 * known, and so is the recall at each check.  The first queries tell how far on there
 * is anything to find, and the others end there.  ecp_recall_points.c draws the conclusions.
 *
 * Queries are searched for in batches (ecp_recall_pass.c), which the processes of a
 * team share.  What is noted of a query depends neither on its batch nor on the
 * process, so the curve is the same with any number of workers and any memory.
 *
 * The time is bounded, which matters where each cluster is a wait for a
 * device: the curve follows from the batches done by then, and they are small.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/team.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/recall/ecp_recall_private.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "portability/instr_time.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * The first CURVE_WHOLE_QUERIES queries search to full depth and measure every k.
 * Later ones stop where those found nothing more for k = 100: the nearest thousands
 * take most of the clusters, and each query says more about their mean.  After the
 * first CURVE_MIXED_QUERIES all are rows, and after CURVE_ROWS_QUERIES they measure
 * k = 1 and 10.  With 240 rows, recall of 0.95 has a standard error of 0.004 to 0.008
 * for k = 1 and of 0.005 for k = 10, as for k = 100 with 160.  Fewer mixed queries
 * would do for rows, but not for those between them or far away: with 25 of each class,
 * two or more of the promise's cells are missed in sets of near copies; and four, if
 * half of the mixed ones that are no rows end where k = 10 finds nothing more.
 */
#define CURVE_WHOLE_QUERIES	40
#define CURVE_MIXED_QUERIES	320
#define CURVE_ROWS_QUERIES	320
#define CURVE_MIXED_KS		3
#define CURVE_LAST_KS		2

/*
 * A measurement may take CURVE_PATIENCE times as long as it should, or
 * CURVE_SECONDS if that is longer: from fewer queries, a curve asks for more
 * clusters in all later searches.
 */
#define CURVE_PATIENCE		3
#define CURVE_SECONDS		10.0

/*
 * From so many rows on, or with few queries, one row in ECP_RECALL_SHARE stands for them
 * where thousands of the nearest are looked for.
 */
#define CURVE_SHARE_ROWS	50000

/*
 * Memory of a search: for a cluster that it may read, and else.  All have a share of
 * maintenance_work_mem.  At least CURVE_FEW are made together.
 */
#define CURVE_CLUSTER_BYTES	(sizeof(EcpRecallRef) + 12)
#define CURVE_MEMORY_SHARE	4
#define CURVE_ROWS_OF		16	/* rows for a query of each other class */
#define CURVE_FEW			4

/*
 * Tables of searches by codes that are read for each cluster: more than a processor's
 * second cache holds would come from farther away.
 */
#define CURVE_TABLES_BYTES	(1024 * 1024)

/*
 * The first queries read all pages.  If they take a large part of the time, the others
 * are searched for few at a time, too, and if a smaller part, CURVE_SOME at a time.
 */
#define CURVE_SLOW			0.5
#define CURVE_NOT_FAST		0.125
#define CURVE_SOME			100

/* What codes lose; see ecp_recall_points.c. */
#define CURVE_CODES_LOSS	0.0005

/* ---- choosing queries ---- */

/* All clusters, with their numbers of rows, and then insert buffers. */
static void
curve_read_clusters(EcpRecallCurve *curve)
{
	EcpLeaves	leaves;

	ecp_leaves_collect(curve->index, curve->state, &leaves);
	curve->clusters = palloc_extended(mul_size(leaves.n, sizeof(EcpChildData)),
									  MCXT_ALLOC_HUGE);
	for (int buffers = 0; buffers <= 1; buffers++)
	{
		for (int i = 0; i < leaves.n; i++)
			if (leaves.refs[i].is_buffer == (buffers == 1))
				curve->clusters[curve->nplaces++] = leaves.refs[i].child;
		if (buffers == 0)
			curve->nclusters = curve->nplaces;
	}
	pfree(leaves.refs);
}

/*
 * Of eight queries, four are rows, and one is of each other class; in the end all
 * are rows.
 */
static EcpQueryClass
curve_class(int number)
{
	static const EcpQueryClass classes[] = {
		ECP_QUERY_ROW, ECP_QUERY_BETWEEN, ECP_QUERY_ROW, ECP_QUERY_MIXED,
		ECP_QUERY_ROW, ECP_QUERY_FAR, ECP_QUERY_ROW, ECP_QUERY_RANDOM
	};

	return number < CURVE_MIXED_QUERIES ? classes[number % lengthof(classes)] :
		ECP_QUERY_ROW;
}

/* Set a search for the first nks ks, and empty notes. */
static void
curve_set_search(const EcpRecallCurve *curve, EcpQueryClass class, const void *row, int nks,
				 EcpRecallSearch *search, EcpRecallNotes *notes)
{
	memset(search, 0, sizeof(EcpRecallSearch));
	memset(notes, 0, offsetof(EcpRecallNotes, checks));
	notes->class = class;
	search->notes = notes;
	search->row = row;
	search->nks = nks;
	search->share = 1;
	search->depth = curve->depth;
}

/* Begin to search for query number "number"; false if that is not possible. */
static bool
curve_begin_search(EcpRecallCurve *curve, int number, EcpRecallSearch *search,
				   EcpRecallNotes *notes)
{
	EcpQueryClass class = curve_class(number);
	char	   *query = palloc0(ecp_recall_query_bytes(curve) + ECP_KERNEL_SLACK);

	CHECK_FOR_INTERRUPTS();
	curve_set_search(curve, class, query, number < CURVE_WHOLE_QUERIES ? ECP_CURVE_KS :
					 number < CURVE_ROWS_QUERIES ? CURVE_MIXED_KS : CURVE_LAST_KS,
					 search, notes);
	if (class != ECP_QUERY_ROW)
		ecp_recall_query_other(curve, class, number, query);
	else if (!ecp_recall_query_row(curve, number, query, &search->self))
		return false;
	return true;
}

/* ---- searching ---- */

/*
 * Set how many rows there are for one that tells of thousands, and after how many
 * clusters the k-th row tells where a query is.
 */
static void
curve_set_share(EcpRecallCurve *curve)
{
	double		rows = 0;

	for (int c = 0; c < curve->nclusters; c++)
		rows += curve->clusters[c].ecpc_nrows;
	curve->share = curve->few || rows >= CURVE_SHARE_ROWS ? ECP_RECALL_SHARE : 1;
	curve->mean_rows = Max(rows / Max(curve->nclusters, 1), 1);
	for (int k = 0; k < ECP_CURVE_KS; k++)
		curve->known[k] = ecp_target_known(curve->mean_rows, ecp_target_ks[k]);
}

/* Count the rows of each cluster: inserts add more than it was written with. */
static void
curve_count_rows(EcpRecallCurve *curve)
{
	for (int c = 0; c < curve->nclusters; c++)
	{
		EcpChildData *cluster = &curve->clusters[c];
		EcpClusterSize size;

		ecp_cluster_size(curve->index, curve->state, cluster, true, &size);
		cluster->ecpc_nrows = size.nlive;
	}
}

/* Find the clusters with rows. */
static void
curve_set_clusters(EcpRecallCurve *curve)
{
	MemoryContext old;

	if (curve->clusters != NULL)
		return;
	old = MemoryContextSwitchTo(curve->context);
	curve_read_clusters(curve);
	if (curve->few)
		curve_count_rows(curve);
	for (int c = 0; c < curve->nclusters; c++)
		curve->largest = Max(curve->largest, curve->clusters[c].ecpc_nrows);
	curve_set_share(curve);
	ecp_recall_pass_init(curve);
	MemoryContextSwitchTo(old);
}

/*
 * Search for n queries.  Those for all ks first go to full depth with a share of
 * the rows, which tells enough of thousands of them, and then for the smaller ks
 * as far as nearly all of the nearest thousand are.
 */
static bool
curve_search(EcpRecallCurve *curve, EcpRecallSearch *searches, int n)
{
	bool		shared = curve->share > 1 && searches[0].nks == ECP_CURVE_KS;
	bool		in_time;

	for (int s = 0; s < n && shared; s++)
	{
		searches[s].first_k = CURVE_MIXED_KS;
		searches[s].share = curve->share;
	}
	for (int s = 0; s < n; s++)
		searches[s].done = !ecp_recall_search_begin(curve, &searches[s]);
	in_time = ecp_recall_pass_run(curve, searches, n);
	if (!shared || !in_time)
		return in_time;
	for (int s = 0; s < n; s++)
	{
		EcpRecallSearch *search = &searches[s];

		if (search->nchecks == 0)
			continue;
		search->depth = ecp_recall_depth(search->notes, CURVE_MIXED_KS);
		search->first_k = 0;
		search->nks = CURVE_MIXED_KS;
		search->share = 1;
		(void) ecp_recall_search_begin(curve, search);
	}
	return ecp_recall_pass_run(curve, searches, n);
}

/* Clusters that queries from number "first" on read on average. */
static int
curve_expected(const EcpRecallCurve *curve, int first)
{
	int64		clusters = CURVE_ROWS_OF * (int64) curve->ahead[ECP_QUERY_ROW];

	if (first < CURVE_WHOLE_QUERIES)
		return curve->depth;
	for (int class = ECP_QUERY_ROW + 1; class < ECP_QUERY_CLASSES; class++)
		clusters += curve->ahead[class];
	return clusters / (CURVE_ROWS_OF + ECP_QUERY_CLASSES - 1);
}

/* Bytes of rows of a search, query number "first" or a later one. */
static Size
curve_rows_bytes(const EcpRecallCurve *curve, int first)
{
	bool		whole = first < CURVE_WHOLE_QUERIES;
	int			share = whole ? curve->share : 1;
	Size		rows = ecp_target_ks[whole ? ECP_CURVE_KS - 1 : CURVE_MIXED_KS - 1] /
		share;

	/*
	 * twice the largest k for all ks; twice the rows, as their array is
	 * doubled
	 */
	return 2 * rows * sizeof(EcpRanked) +
		2 * Min(ECP_RECALL_PASS_TIMES * rows, ECP_RECALL_ROWS) * sizeof(EcpRecallRow);
}

/*
 * Queries from number "first" on that are searched for together: as many as a share
 * of the memory allows, and if clusters may have to be waited for, few, so that there
 * are some when the time is up.
 */
static int
curve_together(const EcpRecallCurve *curve, int first)
{
	const EcpIndexState *state = curve->state;
	Size		bytes = curve_expected(curve, first) * (Size) CURVE_CLUSTER_BYTES +
		curve_rows_bytes(curve, first) + 4 * (Size) state->leaf.vec_bytes;
	Size		memory = maintenance_work_mem * (Size) 1024 / CURVE_MEMORY_SHARE;

	if (curve->prefetch)
		return CURVE_FEW;
	if (curve->team)
		memory /= curve->team->nworkers + 1;
	/* 16 bytes for four elements */
	if (curve->has_codes)
		memory = Min(memory, bytes * (CURVE_TABLES_BYTES /
									  (4 * (Size) state->meta.ecpm_dims)));
	return (int) Min(Max(memory / bytes, CURVE_FEW), curve->most);
}

/*
 * Search for queries number first, first + step ..., n in all, with rows or without,
 * and set notes number slot, slot + step ...
 */
static bool
curve_batch(EcpRecallCurve *curve, int first, int slot, int step, int n, bool rows)
{
	MemoryContext old = MemoryContextSwitchTo(curve->batch_context);
	EcpRecallSearch *searches = palloc(mul_size(n, sizeof(EcpRecallSearch)));
	int			nsearches = 0;
	bool		in_time = true;

	for (int i = 0; i < n; i++)
	{
		int			number = first + i * step;

		if ((rows || curve_class(number) != ECP_QUERY_ROW) &&
			curve_begin_search(curve, number, &searches[nsearches],
							   EcpRecallNotesOf(&curve->queries,
												slot + i * step)))
			nsearches++;
	}
	if (nsearches > 0)
		in_time = curve_search(curve, searches, nsearches);
	for (int i = 0; i < nsearches && !in_time; i++)
		searches[i].notes->valid = false;
	MemoryContextSwitchTo(old);
	MemoryContextReset(curve->batch_context);
	return in_time;
}

/* Of n notes from "notes" on, a stride apart, add those that are valid. */
static void
curve_add_notes(EcpRecallCurve *curve, const char *notes, int n)
{
	for (int q = 0; q < n; q++)
	{
		const EcpRecallNotes *from = (const EcpRecallNotes *)
			(notes + q * curve->queries.stride);
		EcpRecallNotes *to = EcpRecallNotesOf(&curve->queries, curve->queries.n);

		if (!from->valid)
			continue;
		if (to != from)
			memmove(to, from, offsetof(EcpRecallNotes, checks) +
					from->nchecks * sizeof(EcpRecallCheck));
		curve->queries.n++;
	}
}

void
ecp_recall_curve_query(EcpRecallCurve *curve, const void *row, ItemPointer self)
{
	EcpRecallSearch search;
	EcpRecallNotes *notes = EcpRecallNotesOf(&curve->queries, curve->queries.n);
	MemoryContext old;

	if (curve->queries.n == curve->max_queries)
		return;
	old = MemoryContextSwitchTo(curve->batch_context);
	curve_set_clusters(curve);
	INSTR_TIME_SET_CURRENT(curve->start);
	curve->seconds = get_float8_infinity();
	curve_set_search(curve, ECP_QUERY_ROW, row, ECP_CURVE_KS, &search, notes);
	if (self)
		search.self = *self;
	(void) curve_search(curve, &search, 1);
	MemoryContextSwitchTo(old);
	MemoryContextReset(curve->batch_context);
	curve_add_notes(curve, (const char *) notes, 1);
}

/* Fill the pool; rows that are not there are zeros. */
static void
curve_set_pool(EcpRecallCurve *curve)
{
	EcpMetaPageData *meta = &curve->state->meta;
	Size		bytes = ecp_recall_query_bytes(curve);

	curve->pool = MemoryContextAllocZero(curve->context, ECP_RECALL_POOL * bytes +
										 ECP_KERNEL_SLACK);
	meta->ecpm_curve.ecpm_norm = 0;
	for (int r = 0; r < ECP_RECALL_POOL; r++)
	{
		char	   *row = curve->pool + r * bytes;
		ItemPointerData tid;

		(void) ecp_recall_query_row(curve, -1 - r, row, &tid);
		if (meta->ecpm_metric == ECP_METRIC_IP)
			meta->ecpm_curve.ecpm_norm =
				Max(meta->ecpm_curve.ecpm_norm,
					-ecp_distance(EcpMetaQueryElem(meta), ECP_METRIC_IP,
								  meta->ecpm_dims, row, row));
	}
	if (meta->ecpm_metric == ECP_METRIC_L1)
		meta->ecpm_curve.ecpm_norm = ecp_recall_query_l1(curve);
}

/* The first queries have been taken: set where others end. */
static void
curve_set_ends(EcpRecallCurve *curve)
{
	EcpMetaPageData *meta = &curve->state->meta;

	meta->ecpm_curve.ecpm_spread = ecp_recall_spread(&curve->queries);
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
	{
		for (int k = 0; k < ECP_CURVE_KS; k++)
			curve->sum_most[class][k] = ecp_recall_sum_most(&curve->queries, meta,
															class, k);
		curve->ahead[class] = Min(ecp_recall_ahead(&curve->queries, meta, class,
												   curve->sum_most[class],
												   CURVE_MIXED_KS), curve->depth);
	}
}

/* What a process of a team needs besides the state and the memories. */
typedef struct CurveArgs
{
	int			first;			/* number of the task's first query */
	int			n;				/* queries */
	int			nbatches;
	int			nclusters;
	int			nplaces;
	uint32		largest;
	float4		sum_most[ECP_QUERY_CLASSES][CURVE_MIXED_KS];
	int			ahead[ECP_QUERY_CLASSES];
	bool		prefetch;
	double		seconds;
} CurveArgs;

StaticAssertDecl(sizeof(CurveArgs) <= ECP_TASK_ARGS_BYTES, "arguments of a task");

/* Take n queries from number "first" on, by a team. */
static void
curve_take_team(EcpRecallCurve *curve, int first, int n)
{
	CurveArgs	args = {0};
	EcpMemory	clusters;
	EcpMemory	notes;
	EcpMemory	pool;
	EcpMemory  *memories[] = {&clusters, &notes, &pool};
	Size		data_bytes = MAXALIGN(sizeof(EcpRecallCurveData));
	Size		bytes = mul_size(sizeof(EcpChildData), curve->nplaces);
	int			together = curve_together(curve, first);

	args.first = first;
	args.n = n;
	args.nbatches = Max((n + together - 1) / together, curve->team->nworkers + 1);
	args.nclusters = curve->nclusters;
	args.nplaces = curve->nplaces;
	args.largest = curve->largest;
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
		memcpy(args.sum_most[class], curve->sum_most[class],
			   sizeof(args.sum_most[class]));
	memcpy(args.ahead, curve->ahead, sizeof(args.ahead));
	args.prefetch = curve->prefetch;
	args.seconds = curve->seconds;
	ecp_team_memory_alloc(&clusters, true, bytes);
	memcpy(clusters.address, curve->clusters, bytes);
	bytes = mul_size(curve->queries.stride, n);
	ecp_team_memory_alloc(&notes, true, bytes);
	memset(notes.address, 0, bytes);
	bytes = ECP_RECALL_POOL * ecp_recall_query_bytes(curve) + ECP_KERNEL_SLACK;
	ecp_team_memory_alloc(&pool, true, data_bytes + bytes);
	memcpy(pool.address, &curve->state->meta.ecpm_curve,
		   sizeof(EcpRecallCurveData));
	memcpy(pool.address + data_bytes, curve->pool, bytes);
	ecp_team_run(curve->team, curve->task, &args, sizeof(args), args.nbatches, 1, memories,
				 lengthof(memories));
	curve_add_notes(curve, notes.address, n);
	ecp_team_memory_free(&clusters);
	ecp_team_memory_free(&notes);
	ecp_team_memory_free(&pool);
}

/* Take queries number "first" .. "first" + n - 1, with rows or without. */
static void
curve_take(EcpRecallCurve *curve, int first, int n, bool rows, double seconds)
{
	int			together = curve_together(curve, first);
	int			nbatches;

	INSTR_TIME_SET_CURRENT(curve->start);
	curve->seconds = curve->few ? seconds : Max(seconds * CURVE_PATIENCE, CURVE_SECONDS);
	if (curve->task.function)
	{
		curve_take_team(curve, first, n);
		return;
	}
	n = Min(n, curve->max_queries - curve->queries.n);
	nbatches = (n + together - 1) / together;
	memset(EcpRecallNotesOf(&curve->queries, curve->queries.n), 0,
		   n * curve->queries.stride);
	for (int b = 0; b < nbatches; b++)
	{
		int			count = (n - b + nbatches - 1) / nbatches;

		if (!curve_batch(curve, first + b, curve->queries.n + b, nbatches, count, rows))
			break;
	}
	curve_add_notes(curve, (char *) EcpRecallNotesOf(&curve->queries,
													 curve->queries.n), n);
}

/* The first queries have been taken: how many at a time from now on? */
static void
curve_set_most(EcpRecallCurve *curve)
{
	if (ecp_recall_pass_is_late(curve, CURVE_SLOW))
		curve->most = CURVE_FEW;
	else if (ecp_recall_pass_is_late(curve, CURVE_NOT_FAST))
		curve->most = CURVE_SOME;
}

void
ecp_recall_curve_sample(EcpRecallCurve *curve, bool rows, double seconds)
{
	curve_set_clusters(curve);
	if (curve->largest == 0)
		return;
	curve_set_pool(curve);
	curve_take(curve, 0, CURVE_WHOLE_QUERIES, rows, seconds);
	curve_set_most(curve);
	curve_set_ends(curve);
	curve_take(curve, CURVE_WHOLE_QUERIES,
			   ECP_RECALL_QUERIES - CURVE_WHOLE_QUERIES, rows, seconds);
}

/* How rows' ranks exceed their leaders': see EcpRecallExcess. */
static void
curve_set_excess(const EcpRecallCurve *curve, EcpRecallCurveData *data)
{
	EcpRecallExcess all = {0};

	for (int q = 0; q < curve->queries.n; q++)
	{
		const EcpRecallExcess *excess = &EcpRecallNotesOf(&curve->queries, q)->excess;

		all.rows += excess->rows;
		all.ee += excess->ee;
		all.es += excess->es;
		all.ss += excess->ss;
	}
	data->ecpm_excess = all.ss > 0 ? all.es / all.ss : 0;
	data->ecpm_excess_deviation =
		sqrt(Max(all.ee - data->ecpm_excess * all.es, 0) / Max(all.rows, 1));
}

bool
ecp_recall_curve_choose(EcpRecallCurve *curve, double rows)
{
	EcpMetaPageData *meta = &curve->state->meta;
	EcpRecallCurveData *data = &meta->ecpm_curve;
	double		loss = curve->state->leaf.quantizer != ECP_QUANTIZER_NONE ||
		meta->ecpm_elem == ECP_ELEM_NIBBLES ? CURVE_CODES_LOSS : 0;

	if (curve->queries.n < Min(ECP_RECALL_QUERIES_LEAST, curve->max_queries))
	{
		*data = curve->before;
		return false;
	}
	data->ecpm_leaves = meta->ecpm_nleaves;
	ecp_recall_points(&curve->queries, loss, meta);
	curve_set_excess(curve, data);
	elog(DEBUG1, "ecp recall curve: %d queries, at most %d clusters each",
		 curve->queries.n, curve->depth);
	data->ecpm_queries = curve->queries.n;
	data->ecpm_time = GetCurrentTimestamp();
	data->ecpm_tuples = rows;
	if (rows == ECP_ROWS_UNKNOWN)
	{
		data->ecpm_tuples = 0;
		for (int c = 0; c < curve->nclusters; c++)
			data->ecpm_tuples += curve->clusters[c].ecpc_nrows;
	}
	data->ecpm_removed = 0;
	return true;
}

double
ecp_recall_curve_change(const EcpRecallCurveData *data, double rows)
{
	/* what was removed, and what was inserted besides what is more now */
	double		changed = 2 * data->ecpm_removed + rows - data->ecpm_tuples;

	if (data->ecpm_queries == 0)
		return get_float8_infinity();
	return Max(changed, data->ecpm_removed) / Max(data->ecpm_tuples, 1);
}

/* CURVE: META. */
void
ecp_recall_curve_store(Relation index, const EcpMetaPageData *meta)
{
	Buffer		buffer = ecp_meta_lock(index);
	GenericXLogState *xlog = GenericXLogStart(index);
	EcpMetaPage m = EcpPageGetMeta(GenericXLogRegisterBuffer(xlog, buffer, 0));

	m->ecpm_curve = meta->ecpm_curve;
	GenericXLogFinish(xlog);
	UnlockReleaseBuffer(buffer);
}

/* ---- begin and end ---- */

void
ecp_recall_curve_progress(EcpRecallCurve *curve)
{
	uint64		done = curve->team ?
		curve->ndone + ecp_team_count_rows(curve->team, 1) : ++curve->ndone;

	if (curve->report)
		curve->report(curve->report_arg, done);
}

EcpRecallCurve *
ecp_recall_curve_begin(Relation index, EcpIndexState *state, int max_queries)
{
	EcpMetaPageData *meta = &state->meta;
	MemoryContext context;
	MemoryContext old;
	EcpRecallCurve *curve;

	Assert(max_queries > 0);
	/* exact vectors beside the entry pages would take too long */
	if (!EcpRecallIsMeasured(state))
		return NULL;

	context = AllocSetContextCreate(CurrentMemoryContext, "ecp recall curve",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	curve = palloc0(sizeof(EcpRecallCurve));
	curve->context = context;
	curve->row_context = AllocSetContextCreate(context,
											   "ecp recall curve, one cluster",
											   ALLOCSET_DEFAULT_SIZES);
	curve->batch_context = AllocSetContextCreate(context,
												 "ecp recall curve, one batch",
												 ALLOCSET_DEFAULT_SIZES);
	curve->state = state;
	curve->before = meta->ecpm_curve;
	curve->depth = ecp_target_depth(meta);
	for (int n = 1; n <= curve->depth; n = EcpCheckNext(n))
		curve->max_checks++;
	curve->max_checks += 2;
	curve->index = index;
	curve->has_codes = state->leaf.quantizer != ECP_QUANTIZER_NONE;
	/* an index that fits the caches is in them, if it has just been written */
	curve->prefetch = RelationGetNumberOfBlocks(index) > effective_cache_size;
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
	{
		curve->ahead[class] = curve->depth;
		for (int k = 0; k < ECP_CURVE_KS; k++)
			curve->sum_most[class][k] = get_float4_infinity();
	}
	curve->max_queries = curve->most = max_queries;
	curve->queries.stride = MAXALIGN(offsetof(EcpRecallNotes, checks) +
									 curve->max_checks * sizeof(EcpRecallCheck));
	curve->queries.notes = palloc_extended(mul_size(max_queries,
													curve->queries.stride),
										   MCXT_ALLOC_HUGE);
	MemoryContextSwitchTo(old);
	return curve;
}

void
ecp_recall_curve_end(EcpRecallCurve *curve)
{
	MemoryContextDelete(curve->context);
}

bool
ecp_recall_curve_measure(Relation index, EcpIndexState *state, bool few, double rows,
						 double seconds)
{
	EcpRecallCurve *curve = ecp_recall_curve_begin(index, state,
												   few ? ECP_RECALL_QUERIES_FEW :
												   ECP_RECALL_QUERIES);
	bool		chosen = false;

	/* no curve is of use there */
	if (curve == NULL)
		return true;
	curve->few = few;
	if (!(few && curve->prefetch))
	{
		ecp_recall_curve_sample(curve, true, seconds);
		chosen = ecp_recall_curve_choose(curve, rows);
	}
	if (chosen)
		ecp_recall_curve_store(index, &state->meta);
	ecp_recall_curve_end(curve);
	return chosen;
}

void
ecp_recall_curve_set_team(EcpRecallCurve *curve, EcpTeam *team, EcpTask task)
{
	curve->team = team;
	curve->task = task;
}

void
ecp_recall_curve_report(EcpRecallCurve *curve, EcpRecallReport report, void *arg)
{
	curve->report = report;
	curve->report_arg = arg;
}

/* ---- by a team ---- */

/*
 * The memories are those of the clusters, of the notes, where the queries stand
 * by their numbers, and of the rates and the pool.
 */
void
ecp_recall_curve_work(EcpTeam *team, Relation index, EcpIndexState *state,
					  const void *args, char **memories,
					  EcpRecallReport report, void *arg)
{
	const CurveArgs *shape = args;
	EcpRecallCurve *curve;
	int64		from;
	int64		upto;

	memcpy(&state->meta.ecpm_curve, memories[2], sizeof(EcpRecallCurveData));
	curve = ecp_recall_curve_begin(index, state, shape->n);
	curve->clusters = (EcpChildData *) memories[0];
	curve->nclusters = shape->nclusters;
	curve->nplaces = shape->nplaces;
	curve->largest = shape->largest;
	curve->pool = memories[2] + MAXALIGN(sizeof(EcpRecallCurveData));
	curve->queries.notes = memories[1];
	for (int class = 0; class < ECP_QUERY_CLASSES; class++)
		memcpy(curve->sum_most[class], shape->sum_most[class],
			   sizeof(shape->sum_most[class]));
	memcpy(curve->ahead, shape->ahead, sizeof(curve->ahead));
	curve->prefetch = shape->prefetch;
	curve->team = team;
	curve->ndone = shape->first;
	curve->report = report;
	curve->report_arg = arg;
	curve_set_share(curve);
	ecp_recall_pass_init(curve);
	INSTR_TIME_SET_CURRENT(curve->start);
	curve->seconds = shape->seconds;
	while (ecp_team_claim(team, &from, &upto))
		for (int b = from; b < upto; b++)
		{
			int			n = (shape->n - b + shape->nbatches - 1) / shape->nbatches;

			if (ecp_recall_pass_is_late(curve, 1))
				break;
			(void) curve_batch(curve, shape->first + b, b, shape->nbatches, n, true);
		}
	ecp_recall_curve_end(curve);
}
