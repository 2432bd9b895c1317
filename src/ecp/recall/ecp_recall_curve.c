/*-------------------------------------------------------------------------
 *
 * ecp_recall_curve.c
 *	  RECALL: measure what recall costs, for ecp_stop.c and ecp_target.c.
 *
 * The index is searched for random rows, each without itself and with, and for points
 * that are unlike the rows: half-way between two of them, with each element from
 * another row, farther out, and with random elements.  The promise is
 * about unseen queries, and an index knows nothing but its rows.
 *
 * A search reads far more clusters than any target needs, all of them if there
 * are not many, and looks at itself as searches for 1 to 10,000 rows
 * (ecp_target_ks) would (ecp_recall_search.c).  In the end the nearest rows are known, and so is the
 * recall at each look.  The first queries tell how far on there is anything to
 * find, and the others end there.  ecp_recall_points.c draws the conclusions.
 *
 * The time is bounded, which matters where each cluster is a wait for a
 * device: the curve follows from the queries done by then.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/team.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_cluster.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_node.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_xlog.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/recall/ecp_recall_private.h"
#include "ecp/search/ecp_target.h"
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
 * k = 1 and 10: which of the hardest rows are among them decides what all searches
 * read, so they are many.  Fewer mixed queries would do for rows, but not for those
 * between them or far away: with 25 of each kind, two or more of the promise's cells
 * are missed in sets of near copies.
 * CURVE_QUERIES_LEAST make a curve.
 */
#define CURVE_WHOLE_QUERIES	40
#define CURVE_MIXED_QUERIES	320
#define CURVE_ROWS_QUERIES	320
#define CURVE_QUERIES_LEAST	100
#define CURVE_MIXED_KS		3
#define CURVE_LAST_KS		2

/* Far queries are up to so many differences of two rows from a row. */
#define CURVE_FAR_MOST		16.0

/* Rows that queries unlike them are made of. */
#define CURVE_POOL			64

/* Rows that are looked at for one that is not a copy of another. */
#define CURVE_ROW_TRIES		32

/*
 * A measurement may take CURVE_PATIENCE times as long as it should, or
 * CURVE_SECONDS if that is longer: from fewer queries, a curve asks for more
 * clusters in all later searches.
 */
#define CURVE_PATIENCE		3
#define CURVE_SECONDS		10.0

/*
 * Clusters read for a query: up to CURVE_CLUSTERS, or, if that is more,
 * CURVE_DEPTH times the rule's for 0.95.
 */
#define CURVE_CLUSTERS		4096
#define CURVE_DEPTH			8

/* What codes lose; see ecp_recall_points.c. */
#define CURVE_CODES_LOSS	0.0005

/* ---- choosing queries ---- */

void
ecp_recall_curve_query(EcpRecallCurve *curve, const void *row, ItemPointer self)
{
	curve->nks = ECP_CURVE_KS;
	if (curve->queries.n < curve->max_queries)
		ecp_recall_search(curve, ECP_QUERY_ROW, row, self);
}

/* All clusters, with their numbers of rows. */
static EcpChildData *
curve_clusters(Relation index, EcpIndexState *state, int *n)
{
	EcpChildData *clusters;
	List	   *nodes;
	ListCell   *lc;

	*n = 0;
	clusters = palloc_extended(mul_size(Max(state->meta.ecpm_nleaves, 1),
										sizeof(EcpChildData)),
							   MCXT_ALLOC_HUGE);
	if (state->meta.ecpm_root_level == 0)
	{
		clusters[(*n)++] = state->meta.ecpm_root;
		return clusters;
	}
	nodes = ecp_node_collect(index, state, 1);
	foreach(lc, nodes)
	{
		EcpNodeRef *ref = lfirst(lc);
		EcpNodeImage *node = ecp_node_read(index, state, 1,
										   ref->child.ecpc_blk,
										   ref->child.ecpc_run, false);

		for (int i = 0; i < node->nchildren && *n < state->meta.ecpm_nleaves; i++)
			clusters[(*n)++] = node->children[i];
		ecp_node_image_free(node);
	}
	return clusters;
}

/* A stream of random numbers of its own for everything that has a number. */
static void
curve_seed(const EcpRecallCurve *curve, int number, pg_prng_state *prng)
{
	pg_prng_seed(prng, hash_bytes_uint32_extended(number,
												  curve->state->meta.ecpm_seed));
}

/* Choose a row: its cluster and its number; each with the same probability. */
static const EcpChildData *
curve_choose(const EcpRecallCurve *curve, pg_prng_state *prng, uint32 *row)
{
	const EcpChildData *cluster;

	/* by rejection */
	do
	{
		cluster = &curve->clusters[pg_prng_uint64_range(prng, 0,
														curve->nclusters - 1)];
		*row = pg_prng_uint64_range(prng, 0, curve->largest - 1);
	} while (*row >= cluster->ecpc_nrows);
	return cluster;
}

/* Is there another row at the same place before this one of a cluster? */
static bool
curve_is_copy(const EcpRecallCurve *curve, const EcpRowSet *rows, uint32 row)
{
	const char *vector = rows->vectors + row * rows->stride;

	for (uint32 r = 0; r < row; r++)
		if (memcmp(rows->vectors + r * rows->stride, vector,
				   curve->state->leaf.vec_bytes) == 0)
			return true;
	return false;
}

/* Bytes of a query, of which the pool has many. */
static Size
curve_query_bytes(const EcpRecallCurve *curve)
{
	const EcpMetaPageData *meta = &curve->state->meta;

	return ecp_vector_bytes(EcpMetaQueryElem(meta), meta->ecpm_dims);
}

/*
 * Take a random row as a query, or, if "copy" is given, as one of the pool.  The
 * choice follows from its number and the index's seed.  Of rows at one place, which
 * fill clusters of their own, only the first of each cluster is taken: the rest
 * are found by one query, and would hide what others miss.
 */
static void
curve_row(EcpRecallCurve *curve, int number, char *copy)
{
	MemoryContext old = MemoryContextSwitchTo(curve->row_context);
	pg_prng_state prng;

	Assert(curve->nclusters > 0 && curve->largest > 0);
	curve_seed(curve, number, &prng);
	for (int tries = 1; tries <= CURVE_ROW_TRIES; tries++)
	{
		uint32		row;
		const EcpChildData *cluster = curve_choose(curve, &prng, &row);
		EcpRowSet	rows;

		ecp_cluster_rows_init(&rows, curve->state);
		if (ecp_cluster_rows_read(curve->probe.index, curve->state,
								  cluster->ecpc_blk, cluster->ecpc_run,
								  InvalidBuffer, &rows) &&
			row < rows.nrows &&
			(tries == CURVE_ROW_TRIES || !curve_is_copy(curve, &rows, row)))
		{
			void	   *query = copy ? copy : palloc(curve_query_bytes(curve));

			ecp_prepare_query(&curve->state->meta,
							  rows.vectors + row * rows.stride, query);
			if (copy == NULL)
				ecp_recall_search(curve, ECP_QUERY_ROW, query, &rows.tids[row]);
			break;
		}
		MemoryContextReset(curve->row_context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(curve->row_context);
}

/* An element of a row of the pool; a bit is 0 or 1. */
static float4
curve_element(const EcpRecallCurve *curve, int row, int element)
{
	const char *vector = curve->pool + row * curve_query_bytes(curve);

	switch (EcpMetaQueryElem(&curve->state->meta))
	{
		case ECP_ELEM_FLOAT32:
			return ((const float4 *) vector)[element];
		case ECP_ELEM_UINT8:
			return ((const uint8 *) vector)[element];
		default:
			return (((const uint8 *) vector)[element / 8] >> (7 - element % 8)) & 1;
	}
}

/* Set one, as near to "value" as the kind of elements allows. */
static void
curve_set_element(const EcpRecallCurve *curve, char *vector, int element,
				  float4 value)
{
	switch (EcpMetaQueryElem(&curve->state->meta))
	{
		case ECP_ELEM_FLOAT32:
			((float4 *) vector)[element] = value;
			break;
		case ECP_ELEM_UINT8:
			((uint8 *) vector)[element] = (uint8) Min(Max(rintf(value), 0), 255);
			break;
		default:
			if (value > 0.5f)
				((uint8 *) vector)[element / 8] |= 0x80 >> element % 8;
			break;
	}
}

/* The least and the largest element of the pool. */
static void
curve_range(const EcpRecallCurve *curve, float4 *least, float4 *largest)
{
	*least = get_float4_infinity();
	*largest = -get_float4_infinity();
	for (int row = 0; row < CURVE_POOL; row++)
		for (int i = 0; i < curve->state->meta.ecpm_dims; i++)
		{
			float4		element = curve_element(curve, row, i);

			*least = Min(*least, element);
			*largest = Max(*largest, element);
		}
}

/* Make a query of this kind, which is not that of a row, and search for it. */
static void
curve_other(EcpRecallCurve *curve, EcpQueryKind kind, int number)
{
	char	   *vector = palloc0(curve_query_bytes(curve) + ECP_KERNEL_SLACK);
	bool		bits = curve->state->meta.ecpm_elem == ECP_ELEM_BIT;
	pg_prng_state prng;
	int			a;
	int			b;
	float4		far;
	float4		least = 0;
	float4		largest = 0;

	curve_seed(curve, number, &prng);
	a = pg_prng_uint64_range(&prng, 0, CURVE_POOL - 1);
	b = pg_prng_uint64_range(&prng, 0, CURVE_POOL - 1);
	far = pow(CURVE_FAR_MOST, pg_prng_double(&prng));
	if (kind == ECP_QUERY_RANDOM)
		curve_range(curve, &least, &largest);
	for (int i = 0; i < curve->state->meta.ecpm_dims; i++)
	{
		uint64		random = pg_prng_uint64(&prng);
		int			c = random % CURVE_POOL;
		int			d = random / CURVE_POOL % CURVE_POOL;
		bool		heads = random / CURVE_POOL / CURVE_POOL % 2;
		float4		from = curve_element(curve, c, i);
		float4		value;

		if (kind == ECP_QUERY_MIXED)
			value = from;
		else if (bits && kind == ECP_QUERY_RANDOM)
			value = heads;
		else if (kind == ECP_QUERY_RANDOM)
			value = least + (largest - least) * pg_prng_double(&prng);
		else if (bits && kind == ECP_QUERY_FAR)
			value = 1 - from;
		else if (kind == ECP_QUERY_FAR)
			value = from + far * (from - curve_element(curve, d, i));
		else if (bits)
			value = curve_element(curve, heads ? a : b, i);
		else
			value = (curve_element(curve, a, i) + curve_element(curve, b, i)) / 2;
		curve_set_element(curve, vector, i, value);
	}
	ecp_recall_search(curve, kind, vector, NULL);
	pfree(vector);
}

/*
 * Of eight queries, four are rows, and one is of each other kind; in the end all
 * are rows.
 */
static EcpQueryKind
curve_kind(int number)
{
	static const EcpQueryKind kinds[] = {
		ECP_QUERY_ROW, ECP_QUERY_BETWEEN, ECP_QUERY_ROW, ECP_QUERY_MIXED,
		ECP_QUERY_ROW, ECP_QUERY_FAR, ECP_QUERY_ROW, ECP_QUERY_RANDOM
	};

	return number < CURVE_MIXED_QUERIES ? kinds[number % lengthof(kinds)] :
		ECP_QUERY_ROW;
}

/* Take query number "number". */
static void
curve_choice(EcpRecallCurve *curve, int number)
{
	EcpQueryKind kind = curve_kind(number);

	curve->nks = number < CURVE_WHOLE_QUERIES ? ECP_CURVE_KS :
		number < CURVE_ROWS_QUERIES ? CURVE_MIXED_KS : CURVE_LAST_KS;
	if (kind == ECP_QUERY_ROW)
		curve_row(curve, number, NULL);
	else
		curve_other(curve, kind, number);
}

/* Is the time up of a measurement that should take these seconds? */
static bool
curve_is_late(instr_time start, double seconds)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_DOUBLE(now) >
		Max(seconds * CURVE_PATIENCE, CURVE_SECONDS);
}

/* Find the clusters with rows. */
static void
curve_set_clusters(EcpRecallCurve *curve)
{
	if (curve->clusters != NULL)
		return;
	curve->clusters = curve_clusters(curve->probe.index, curve->state,
									 &curve->nclusters);
	for (int c = 0; c < curve->nclusters; c++)
		curve->largest = Max(curve->largest, curve->clusters[c].ecpc_nrows);
}

/* Fill the pool; rows that are not there are zeros. */
static void
curve_set_pool(EcpRecallCurve *curve)
{
	EcpMetaPageData *meta = &curve->state->meta;
	Size		bytes = curve_query_bytes(curve);

	curve->pool = MemoryContextAllocZero(curve->context, CURVE_POOL * bytes +
										 ECP_KERNEL_SLACK);
	meta->ecpm_curve.ecpm_norm = 0;
	for (int r = 0; r < CURVE_POOL; r++)
	{
		char	   *row = curve->pool + r * bytes;

		curve_row(curve, -1 - r, row);
		if (meta->ecpm_metric == ECP_METRIC_IP)
			meta->ecpm_curve.ecpm_norm =
				Max(meta->ecpm_curve.ecpm_norm,
					-ecp_distance(EcpMetaQueryElem(meta), ECP_METRIC_IP,
								  meta->ecpm_dims, row, row));
	}
}

/* The first queries have been taken: set where others end. */
static void
curve_set_ends(EcpRecallCurve *curve)
{
	EcpMetaPageData *meta = &curve->state->meta;

	meta->ecpm_curve.ecpm_spread = ecp_recall_spread(&curve->queries);
	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
		for (int k = 0; k < ECP_CURVE_KS; k++)
			curve->sum_most[kind][k] = ecp_recall_sum_most(&curve->queries, meta,
														   kind, k);
}

/* Take queries number "first" .. "first" + n - 1, with rows or without. */
static void
curve_take(EcpRecallCurve *curve, int first, int n, bool rows, double seconds)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	for (int q = first; q < first + n && !curve_is_late(start, seconds); q++)
	{
		if (curve->queries.n == curve->max_queries)
			break;
		if (rows || curve_kind(q) != ECP_QUERY_ROW)
			curve_choice(curve, q);
		if (curve->report)
			curve->report(curve->report_arg, q + 1);
	}
}

void
ecp_recall_curve_sample(EcpRecallCurve *curve, bool rows, double seconds)
{
	curve_set_clusters(curve);
	if (curve->largest == 0)
		return;
	curve_set_pool(curve);
	curve_take(curve, 0, CURVE_WHOLE_QUERIES, rows, seconds);
	curve_set_ends(curve);
	curve_take(curve, CURVE_WHOLE_QUERIES,
			   ECP_RECALL_QUERIES - CURVE_WHOLE_QUERIES, rows, seconds);
}

bool
ecp_recall_curve_choose(EcpRecallCurve *curve, double rows)
{
	EcpMetaPageData *meta = &curve->state->meta;
	EcpRecallCurveData *data = &meta->ecpm_curve;
	double		loss = curve->state->leaf.quantizer != ECP_QUANTIZER_NONE ||
		meta->ecpm_elem == ECP_ELEM_NIBBLES ? CURVE_CODES_LOSS : 0;

	if (curve->queries.n < Min(CURVE_QUERIES_LEAST, curve->max_queries))
	{
		*data = curve->before;
		return false;
	}
	data->ecpm_leaves = meta->ecpm_nleaves;
	ecp_recall_points(&curve->queries, loss, meta);
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
	curve->query_context = AllocSetContextCreate(context,
												 "ecp recall curve, one query",
												 ALLOCSET_DEFAULT_SIZES);
	curve->state = state;
	curve->before = meta->ecpm_curve;
	curve->depth = (int) Min(Max(CURVE_DEPTH *
								 ecp_target_rule_probes(meta->ecpm_nleaves),
								 CURVE_CLUSTERS),
							 meta->ecpm_nleaves);
	for (int n = 1; n <= curve->depth; n = EcpLookNext(n))
		curve->max_looks++;
	curve->max_looks += 2;
	curve->probe.index = index;
	ecp_recall_search_init(curve);
	/* an index that fits the caches is in them, if it has just been written */
	curve->prefetch = RelationGetNumberOfBlocks(index) > effective_cache_size;
	for (int kind = 0; kind < ECP_QUERY_KINDS; kind++)
		for (int k = 0; k < ECP_CURVE_KS; k++)
			curve->sum_most[kind][k] = get_float4_infinity();
	curve->max_queries = max_queries;
	curve->queries.stride = MAXALIGN(offsetof(EcpRecallNotes, looks) +
									 curve->max_looks * sizeof(EcpRecallLook));
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

void
ecp_recall_curve_report(EcpRecallCurve *curve, EcpRecallReport report, void *arg)
{
	curve->report = report;
	curve->report_arg = arg;
}

/* ---- by a team ---- */

/* What a process of a team needs besides the state and the memories. */
typedef struct CurveArgs
{
	int			first;			/* number of the task's first choice */
	int			max_queries;
	int			nclusters;
	uint32		largest;
	float4		sum_most[ECP_QUERY_KINDS][ECP_CURVE_KS];
	bool		prefetch;
	double		seconds;
} CurveArgs;

StaticAssertDecl(sizeof(CurveArgs) <= ECP_TASK_ARGS_BYTES, "arguments of a task");

/*
 * The memories are those of the clusters, of the notes, where the queries stand
 * by the numbers of their choices, and of the rates and the pool.
 */
void
ecp_recall_curve_work(EcpTeam *team, Relation index, EcpIndexState *state,
					  const void *args, char **memories,
					  EcpRecallReport report, void *arg)
{
	const CurveArgs *shape = args;
	EcpRecallCurve *curve;
	instr_time	start;
	int64		from;
	int64		upto;

	memcpy(&state->meta.ecpm_curve, memories[2], sizeof(EcpRecallCurveData));
	curve = ecp_recall_curve_begin(index, state, shape->max_queries);
	curve->clusters = (EcpChildData *) memories[0];
	curve->nclusters = shape->nclusters;
	curve->largest = shape->largest;
	curve->pool = memories[2] + MAXALIGN(sizeof(EcpRecallCurveData));
	curve->queries.notes = memories[1];
	memcpy(curve->sum_most, shape->sum_most, sizeof(curve->sum_most));
	curve->prefetch = shape->prefetch;
	INSTR_TIME_SET_CURRENT(start);
	while (ecp_team_claim(team, &from, &upto))
		for (int64 q = from; q < upto; q++)
		{
			if (curve_is_late(start, shape->seconds))
				break;
			curve->queries.n = q;
			curve_choice(curve, shape->first + q);
			report(arg, shape->first + ecp_team_count_rows(team, 1));
		}
	ecp_recall_curve_end(curve);
}

/* Take n queries from number "first" on, by a team. */
static void
curve_take_team(EcpRecallCurve *curve, EcpTeam *team, EcpTask task, int first,
				int n, double seconds)
{
	CurveArgs	args = {0};
	EcpMemory	clusters;
	EcpMemory	notes;
	EcpMemory	pool;
	EcpMemory  *memories[] = {&clusters, &notes, &pool};
	Size		data_bytes = MAXALIGN(sizeof(EcpRecallCurveData));
	Size		bytes = mul_size(sizeof(EcpChildData), curve->nclusters);

	args.first = first;
	args.max_queries = n;
	args.nclusters = curve->nclusters;
	args.largest = curve->largest;
	memcpy(args.sum_most, curve->sum_most, sizeof(args.sum_most));
	args.prefetch = curve->prefetch;
	args.seconds = seconds;
	ecp_team_memory_alloc(&clusters, true, bytes);
	memcpy(clusters.address, curve->clusters, bytes);
	bytes = mul_size(curve->queries.stride, n);
	ecp_team_memory_alloc(&notes, true, bytes);
	memset(notes.address, 0, bytes);
	bytes = CURVE_POOL * curve_query_bytes(curve) + ECP_KERNEL_SLACK;
	ecp_team_memory_alloc(&pool, true, data_bytes + bytes);
	memcpy(pool.address, &curve->state->meta.ecpm_curve,
		   sizeof(EcpRecallCurveData));
	memcpy(pool.address + data_bytes, curve->pool, bytes);
	ecp_team_run(team, task, &args, sizeof(args), n,
				 ecp_team_step(team, n, 1), memories, lengthof(memories));
	for (int q = 0; q < n; q++)
	{
		const EcpRecallNotes *of = (const EcpRecallNotes *)
			(notes.address + q * curve->queries.stride);

		if (of->valid)
			memcpy(EcpRecallNotesOf(&curve->queries, curve->queries.n++), of,
				   curve->queries.stride);
	}
	ecp_team_memory_free(&clusters);
	ecp_team_memory_free(&notes);
	ecp_team_memory_free(&pool);
}

void
ecp_recall_curve_sample_team(EcpRecallCurve *curve, EcpTeam *team, EcpTask task,
							 double seconds)
{
	curve_set_clusters(curve);
	if (curve->largest == 0)
		return;
	curve_set_pool(curve);
	curve_take_team(curve, team, task, 0, CURVE_WHOLE_QUERIES, seconds);
	curve_set_ends(curve);
	curve_take_team(curve, team, task, CURVE_WHOLE_QUERIES,
					ECP_RECALL_QUERIES - CURVE_WHOLE_QUERIES, seconds);
}
