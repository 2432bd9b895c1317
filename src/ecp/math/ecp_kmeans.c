/*-------------------------------------------------------------------------
 *
 * ecp_kmeans.c
 *	  Centres of sets of vectors: k-means, 2-means, means.
 *
 * Lloyd's algorithm over rows that lie in memory.  A step assigns every row
 * to its nearest centre with the blocked panel kernel and then sums each
 * centre's rows one centre after the other, so that the sums of one centre
 * are all the memory it takes, whatever the number of centres, and the order
 * of additions (and with it the last bit of a float centre) depends on the
 * rows alone.  A team divides the first among itself by rows and the second
 * by centres, so that it gets the same centres as one process.
 *
 * Most of the work is in comparing rows with centres, and is saved where it
 * hardly changes the result: the first steps take a part of the rows only, and
 * in the last ones, when centres move but little, a row is compared with those
 * near to the centre that it has.
 *
 * Used by ecp_leaders.c for leaders and nodes, by ecp_merge.c to cut
 * clusters that came out too large, and by the splits of a living index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/compat.h"
#include "base/team.h"
#include "base/topk.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "ecp/math/ecp_math.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Multiply-adds between two checks for interrupts, about 0.1 s when scalar. */
#define NEAREST_STEP_OPS	(UINT64CONST(1) << 27)

/* Multiply-adds from which waking workers pays. */
#define TEAM_WORK_MIN		4e6

/* Rows whose uint8 elements can be summed in 32 bits. */
#define SUM_ROWS_MAX		(1 << 24)

/* Rows that are added at once. */
#define SUM_ROWS			64

/*
 * The last KMEANS_WHOLE_STEPS steps take all rows.  Those before, in which
 * centres move far with any rows, take KMEANS_START_ROWS for each centre.
 */
#define KMEANS_WHOLE_STEPS	5
#define KMEANS_START_ROWS	16

/*
 * After KMEANS_FULL_STEPS steps, a row that changes its centre moves to one
 * near to that.  If there are at least KMEANS_NEAR_MIN centres, a row that has
 * been compared with all is then compared with the KMEANS_NEAR nearest to its
 * own only.
 */
#define KMEANS_FULL_STEPS	3
#define KMEANS_NEAR			64
#define KMEANS_NEAR_MIN		(4 * KMEANS_NEAR)
#define KMEANS_NEAR_ROWS	96

#define TWO_MEANS_STEPS		8
#define TWO_MEANS_TRIES		8

/*
 * Sums of a set of rows, in double for floats, in 64 bits for uint8.  SUM_ROWS
 * rows are collected and added at once.
 */
typedef struct Summer
{
	EcpElem		elem;
	int			dims;
	int			nwaiting;
	const void *waiting[SUM_ROWS];
	uint32	   *small;			/* uint8: up to SUM_ROWS_MAX rows */
	uint64	   *large;
	double	   *sums;			/* float32 */
	int			nsmall;
} Summer;

static void
summer_init(Summer *summer, EcpElem elem, int dims)
{
	summer->elem = elem;
	summer->dims = dims;
	summer->small = NULL;
	summer->large = NULL;
	summer->sums = NULL;
	summer->nwaiting = 0;
	summer->nsmall = 0;
	if (elem == ECP_ELEM_UINT8)
	{
		summer->small = palloc0_array(uint32, dims);
		summer->large = palloc0_array(uint64, dims);
	}
	else
		summer->sums = palloc0_array(double, dims);
}

static void
summer_carry(Summer *summer)
{
	for (int d = 0; d < summer->dims; d++)
	{
		summer->large[d] += summer->small[d];
		summer->small[d] = 0;
	}
	summer->nsmall = 0;
}

static void
summer_flush(Summer *summer)
{
	if (summer->elem == ECP_ELEM_UINT8)
	{
		ecp_add_bytes((const uint8 *const *) summer->waiting,
					  summer->nwaiting, summer->dims, summer->small);
		summer->nsmall += summer->nwaiting;
		if (summer->nsmall > SUM_ROWS_MAX - SUM_ROWS)
			summer_carry(summer);
	}
	else
		ecp_add_floats((const float4 *const *) summer->waiting,
					   summer->nwaiting, summer->dims, summer->sums);
	summer->nwaiting = 0;
}

/* The row must stay until summer_mean(). */
static inline void
summer_add(Summer *summer, const void *row)
{
	summer->waiting[summer->nwaiting++] = row;
	if (summer->nwaiting == SUM_ROWS)
		summer_flush(summer);
}

/* The mean of the n rows added, and start again. */
static void
summer_mean(Summer *summer, int64 n, void *centre)
{
	Assert(n > 0);

	summer_flush(summer);
	if (summer->elem == ECP_ELEM_UINT8)
	{
		uint8	   *c = centre;
		double		inverse = 1.0 / n;

		summer_carry(summer);
		for (int d = 0; d < summer->dims; d++)
		{
			/*
			 * (sum + n / 2) / n in whole numbers: a division takes longer,
			 * and the half keeps rounding away from where the result changes
			 */
			c[d] = (uint8) ((double) (summer->large[d] + n / 2) * inverse +
							0.5 * inverse);
			summer->large[d] = 0;
		}
	}
	else
	{
		float4	   *c = centre;

		for (int d = 0; d < summer->dims; d++)
		{
			c[d] = (float4) (summer->sums[d] / n);
			summer->sums[d] = 0;
		}
	}
}

static void
summer_free(Summer *summer)
{
	if (summer->elem == ECP_ELEM_UINT8)
	{
		pfree(summer->small);
		pfree(summer->large);
	}
	else
		pfree(summer->sums);
}

void
ecp_kmeans_centre(EcpElem elem, int dims, const void *vectors, Size stride, int n,
				  void *centre)
{
	Summer		summer;

	Assert(n > 0);
	summer_init(&summer, elem, dims);
	for (int i = 0; i < n; i++)
		summer_add(&summer, (const char *) vectors + i * stride);
	summer_mean(&summer, n, centre);
	summer_free(&summer);
}

/*
 * Nearest of the panel's first n entries for each row.  ranks may be NULL.
 * Steps are small enough to be cancelled in.
 */
void
ecp_kmeans_assign(const EcpPanel *panel, int n, int dims, const char *rows,
				  Size stride, int nrows, int32 *leaders, float4 *ranks)
{
	uint64		row_ops = (uint64) n * dims;
	int			step = Max(16, Min(8192, NEAREST_STEP_OPS / row_ops));
	float4	   *scratch = ranks ? NULL : palloc_array(float4, step);

	Assert(n > 0 && nrows >= 0);
	for (int done = 0; done < nrows; done += step)
	{
		CHECK_FOR_INTERRUPTS();
		ecp_panel_nearest(panel, 0, n, rows + done * stride, stride,
						  Min(step, nrows - done), leaders + done,
						  ranks ? ranks + done : scratch);
	}
	if (scratch)
		pfree(scratch);
}

void
ecp_kmeans_nearest(EcpElem elem, int dims, const char *centres,
				   Size centre_stride, int n, const char *rows, Size stride,
				   int nrows, int32 *nearest, float4 *ranks)
{
	void	   *memory = palloc_extended(ecp_panel_bytes(elem, dims, n),
										 MCXT_ALLOC_HUGE);
	EcpPanel   *panel = ecp_panel_init(memory, elem, ECP_METRIC_L2, dims, n);

	for (int i = 0; i < n; i++)
		ecp_panel_set(panel, i, centres + i * centre_stride);
	ecp_kmeans_assign(panel, n, dims, rows, stride, nrows, nearest, ranks);
	pfree(memory);
}

void
ecp_kmeans_group(const int32 *leaders, int n, int k, int32 *first,
				 int32 *order)
{
	Assert(n >= 0 && k > 0);
	memset(first, 0, sizeof(int32) * ((Size) k + 1));
	for (int i = 0; i < n; i++)
		first[leaders[i] + 1]++;
	for (int c = 0; c < k; c++)
		first[c + 1] += first[c];
	for (int i = 0; i < n; i++)
		order[first[leaders[i]]++] = i;
	for (int c = k; c > 0; c--)
		first[c] = first[c - 1];
	first[0] = 0;
}

void
ecp_kmeans_choose(const float4 *ranks, int n, float4 limit, int m,
				  int32 *numbers)
{
	int			found = 0;
	int			equal = m;

	for (int i = 0; i < n; i++)
		equal -= ranks[i] < limit;
	for (int i = 0; i < n; i++)
	{
		if (ranks[i] < limit || (ranks[i] == limit && equal-- > 0))
			numbers[found++] = i;
	}
	Assert(found == m);
}

/* A run of k-means, as the arguments of its tasks. */
typedef struct KMeansShape
{
	EcpElem		elem;
	int			dims;
	Size		stride;
	int			n;
	int			k;
	int			used;			/* rows of the present step */
} KMeansShape;

/* A run of k-means, as one process sees it. */
typedef struct KMeans
{
	KMeansShape shape;
	Size		vec_bytes;
	const char *rows;
	char	   *centres;

	/* in one piece of memory, which the team shares */
	int32	   *leaders;		/* of each row */
	int32	   *order;			/* rows by leader */
	int32	   *first;			/* k + 1: where a leader's rows begin */
	void	   *panel_memory;
	EcpPanel   *panel;

	EcpTeam    *team;			/* NULL: one process */
	EcpMemory  *rows_memory;
	EcpMemory  *centres_memory;
	EcpMemory	memory;
} KMeans;

/* Find the parts of the memory of a run; returns its size. */
static Size
kmeans_map(KMeans *km, char *memory)
{
	const KMeansShape *shape = &km->shape;
	Size		rows_bytes = MAXALIGN(mul_size(sizeof(int32), shape->n));
	Size		offset = 0;

	km->vec_bytes = ecp_vector_bytes(shape->elem, shape->dims);
	km->leaders = (int32 *) (memory + offset);
	offset = add_size(offset, rows_bytes);
	km->order = (int32 *) (memory + offset);
	offset = add_size(offset, rows_bytes);
	km->first = (int32 *) (memory + offset);
	offset = add_size(offset, MAXALIGN(sizeof(int32) * ((Size) shape->k + 1)));
	km->panel_memory = memory + offset;
	km->panel = (EcpPanel *) TYPEALIGN(64, km->panel_memory);
	return add_size(offset,
					ecp_panel_bytes(shape->elem, shape->dims, shape->k));
}

/* k different rows, chosen at random, are the first centres. */
static void
kmeans_start(KMeans *km, pg_prng_state *prng)
{
	const KMeansShape *shape = &km->shape;
	int32	   *pick = km->order;	/* scratch of n */

	for (int i = 0; i < shape->n; i++)
		pick[i] = i;
	for (int i = 0; i < shape->k; i++)
	{
		int			j = pg_prng_uint64_range(prng, i, shape->n - 1);
		int32		row = pick[j];

		pick[j] = pick[i];
		pick[i] = row;
		memcpy(km->centres + i * km->vec_bytes, km->rows + row * shape->stride,
			   km->vec_bytes);
	}
}

static void
kmeans_nearest(KMeans *km, int from, int n)
{
	const KMeansShape *shape = &km->shape;

	ecp_kmeans_assign(km->panel, shape->k, shape->dims,
					  km->rows + (Size) from * shape->stride, shape->stride, n,
					  km->leaders + from, NULL);
}

/* Means of the rows of centres from .. upto - 1, of those that have rows. */
static void
kmeans_means(KMeans *km, int from, int upto)
{
	const KMeansShape *shape = &km->shape;
	Summer		summer;

	summer_init(&summer, shape->elem, shape->dims);
	for (int c = from; c < upto; c++)
	{
		int			n = km->first[c + 1] - km->first[c];

		for (int i = km->first[c]; i < km->first[c + 1]; i++)
			summer_add(&summer, km->rows + km->order[i] * shape->stride);
		if (n > 0)
			summer_mean(&summer, n, km->centres + c * km->vec_bytes);
	}
	summer_free(&summer);
}

/* A run of k-means as a task sees it. */
static void
kmeans_attach(KMeans *km, const void *args, char **memories)
{
	memset(km, 0, sizeof(KMeans));
	km->shape = *(const KMeansShape *) args;
	km->rows = memories[0];
	(void) kmeans_map(km, memories[1]);
	km->centres = memories[2];
}

void
ecp_kmeans_nearest_task(EcpTeam *team, const void *args, char **memories)
{
	KMeans		km;
	int64		from;
	int64		upto;

	kmeans_attach(&km, args, memories);
	while (ecp_team_claim(team, &from, &upto))
		kmeans_nearest(&km, from, upto - from);
}

void
ecp_kmeans_means_task(EcpTeam *team, const void *args, char **memories)
{
	KMeans		km;
	int64		from;
	int64		upto;

	kmeans_attach(&km, args, memories);
	while (ecp_team_claim(team, &from, &upto))
	{
		CHECK_FOR_INTERRUPTS();
		kmeans_means(&km, from, upto);
	}
}

/*
 * Numbers of the KMEANS_NEAR centres nearest to centre c, which is one of
 * them, in ascending order.  "ranks" has room for all.
 */
static void
kmeans_neighbours(const KMeans *km, int c, int32 *near, float4 *ranks)
{
	float8		smallest[KMEANS_NEAR];
	int			n = 0;

	ecp_panel_rank(km->panel, km->centres + c * km->vec_bytes, 0,
				   km->shape.k, ranks);
	ranks[c] = -1;				/* before centres equal to it */
	for (int i = 0; i < km->shape.k; i++)
	{
		if (isnan(ranks[i]))
			ranks[i] = get_float4_infinity();
		(void) ecp_smallest_add(smallest, &n, KMEANS_NEAR, ranks[i]);
	}
	Assert(n == KMEANS_NEAR);
	ecp_kmeans_choose(ranks, km->shape.k, smallest[n - 1], n, near);
}

/*
 * Find new centres for the rows of centres from .. upto - 1, among those near
 * to the old one.
 */
static void
kmeans_nearest_near(KMeans *km, int from, int upto)
{
	const KMeansShape *shape = &km->shape;
	Size		vec_bytes = km->vec_bytes;
	void	   *memory = palloc_extended(ecp_panel_bytes(shape->elem,
														 shape->dims,
														 KMEANS_NEAR),
										 MCXT_ALLOC_HUGE);
	EcpPanel   *panel = ecp_panel_init(memory, shape->elem, ECP_METRIC_L2,
									   shape->dims, KMEANS_NEAR);
	char	   *rows = palloc(KMEANS_NEAR_ROWS * vec_bytes + 64);
	float4	   *ranks = palloc_array(float4, shape->k);
	int32		near[KMEANS_NEAR];
	int32		leaders[KMEANS_NEAR_ROWS];
	float4		row_ranks[KMEANS_NEAR_ROWS];

	for (int c = from; c < upto; c++)
	{
		CHECK_FOR_INTERRUPTS();
		if (km->first[c] == km->first[c + 1])
			continue;
		kmeans_neighbours(km, c, near, ranks);
		for (int i = 0; i < KMEANS_NEAR; i++)
			ecp_panel_set(panel, i, km->centres + near[i] * vec_bytes);
		for (int done = km->first[c]; done < km->first[c + 1];
			 done += KMEANS_NEAR_ROWS)
		{
			const int32 *order = km->order + done;
			int			n = Min(km->first[c + 1] - done, KMEANS_NEAR_ROWS);

			for (int i = 0; i < n; i++)
				memcpy(rows + i * vec_bytes, km->rows + order[i] * shape->stride,
					   vec_bytes);
			ecp_panel_nearest(panel, 0, KMEANS_NEAR, rows, vec_bytes, n, leaders,
							  row_ranks);
			for (int i = 0; i < n; i++)
				km->leaders[order[i]] = near[leaders[i]];
		}
	}
	pfree(ranks);
	pfree(rows);
	pfree(memory);
}

void
ecp_kmeans_near_task(EcpTeam *team, const void *args, char **memories)
{
	KMeans		km;
	int64		from;
	int64		upto;

	kmeans_attach(&km, args, memories);
	while (ecp_team_claim(team, &from, &upto))
		kmeans_nearest_near(&km, from, upto);
}

static void
kmeans_run(KMeans *km, EcpTask task, int64 nitems, int64 least)
{
	EcpMemory  *memories[] = {km->rows_memory, &km->memory,
		km->centres_memory};

	ecp_team_run(km->team, task, &km->shape, sizeof(KMeansShape), nitems,
				 ecp_team_step(km->team, nitems, least), memories,
				 lengthof(memories));
}

/* Assign each row to its nearest centre; "near": of those near to the old one. */
static void
kmeans_assign(KMeans *km, bool near)
{
	const KMeansShape *shape = &km->shape;

	for (int i = 0; i < shape->k; i++)
		ecp_panel_set(km->panel, i, km->centres + i * km->vec_bytes);
	if (near && km->team)
		kmeans_run(km, EcpTaskOf(ecp_kmeans_near_task), shape->k, 1);
	else if (near)
		kmeans_nearest_near(km, 0, shape->k);
	else if (km->team)
		kmeans_run(km, EcpTaskOf(ecp_kmeans_nearest_task), shape->used, 64);
	else
		kmeans_nearest(km, 0, shape->used);

	ecp_kmeans_group(km->leaders, shape->used, shape->k, km->first, km->order);
}

/*
 * Move the centres to the means of their rows.  One without rows takes a
 * row at random from the centre that has most, but not in the last step,
 * where it would be left with that row's neighbours unassigned.
 */
static void
kmeans_update(KMeans *km, pg_prng_state *prng, bool last)
{
	const KMeansShape *shape = &km->shape;
	int			largest = 0;

	if (km->team)
		kmeans_run(km, EcpTaskOf(ecp_kmeans_means_task), shape->k, 1);
	else
		kmeans_means(km, 0, shape->k);
	if (last)
		return;
	for (int c = 0; c < shape->k; c++)
		if (km->first[c + 1] - km->first[c] >
			km->first[largest + 1] - km->first[largest])
			largest = c;
	for (int c = 0; c < shape->k; c++)
	{
		int			i;

		if (km->first[c + 1] > km->first[c])
			continue;
		i = pg_prng_uint64_range(prng, km->first[largest],
								 km->first[largest + 1] - 1);
		memcpy(km->centres + c * km->vec_bytes,
			   km->rows + km->order[i] * shape->stride, km->vec_bytes);
	}
}

/*
 * Leave out centres equal to an earlier one; returns the number left.
 */
static int
kmeans_unique(char *centres, Size vec_bytes, int k)
{
	int			nslots = 16;
	int32	   *slots;
	int			n = 0;

	while (nslots < 2 * k)
		nslots *= 2;
	slots = palloc_array(int32, nslots);
	memset(slots, -1, sizeof(int32) * nslots);

	for (int i = 0; i < k; i++)
	{
		const char *centre = centres + i * vec_bytes;
		uint32		slot = hash_bytes((const unsigned char *) centre,
									  vec_bytes) & (nslots - 1);

		while (slots[slot] >= 0 &&
			   memcmp(centres + slots[slot] * vec_bytes, centre, vec_bytes) != 0)
			slot = (slot + 1) & (nslots - 1);
		if (slots[slot] >= 0)
			continue;
		if (n != i)
			memcpy(centres + n * vec_bytes, centre, vec_bytes);
		slots[slot] = n++;
	}
	pfree(slots);
	return n;
}

/* Memory for a run with k centres, which a team works on if that pays. */
static void
kmeans_begin(KMeans *km, EcpTeam *team, const EcpRows *rows, int k,
			 char *centres, EcpMemory *centres_memory)
{
	double		work = (double) rows->n * k * rows->dims;

	km->shape.elem = rows->elem;
	km->shape.dims = rows->dims;
	km->shape.stride = rows->stride;
	km->shape.n = rows->n;
	km->shape.k = k;
	km->rows = rows->rows;
	km->centres = centres;
	if (team && rows->memory && centres_memory && work >= TEAM_WORK_MIN)
		km->team = team;
	km->rows_memory = rows->memory;
	km->centres_memory = centres_memory;
	ecp_team_memory_alloc(&km->memory, km->team != NULL, kmeans_map(km, NULL));
	(void) kmeans_map(km, km->memory.address);
	(void) ecp_panel_init(km->panel_memory, rows->elem, ECP_METRIC_L2,
						  rows->dims, k);
}

int
ecp_kmeans(EcpTeam *team, const EcpRows *rows, int k, int iterations,
		   pg_prng_state *prng, char *centres, EcpMemory *centres_memory)
{
	KMeans		km = {0};

	Assert(rows->n > 0 && k > 0);
	k = Min(k, rows->n);
	if (iterations == 0)
	{
		km.shape.stride = rows->stride;
		km.shape.n = rows->n;
		km.shape.k = k;
		km.rows = rows->rows;
		km.centres = centres;
		km.vec_bytes = ecp_vector_bytes(rows->elem, rows->dims);
		km.order = MemoryContextAllocHuge(CurrentMemoryContext,
										  mul_size(sizeof(int32), rows->n));
		kmeans_start(&km, prng);
		pfree(km.order);
		return kmeans_unique(centres, km.vec_bytes, k);
	}

	kmeans_begin(&km, team, rows, k, centres, centres_memory);
	kmeans_start(&km, prng);
	for (int i = 0; i < iterations; i++)
	{
		int			used = km.shape.used;

		km.shape.used = rows->n;
		if (rows->shuffled && i < iterations - KMEANS_WHOLE_STEPS)
			km.shape.used = Min(rows->n, (int64) k * KMEANS_START_ROWS);
		kmeans_assign(&km, used == rows->n && i >= KMEANS_FULL_STEPS &&
					  k >= KMEANS_NEAR_MIN);
		kmeans_update(&km, prng, i == iterations - 1);
		if (rows->step)
			rows->step(rows->step_arg, (i + 1.0) / iterations);
	}
	ecp_team_memory_free(&km.memory);

	return kmeans_unique(centres, km.vec_bytes, k);
}

/* The steps of ecp_kmeans() over rows in random order. */
double
ecp_kmeans_compared(double n, double k, int iterations)
{
	double		near = k < KMEANS_NEAR_MIN ? k : KMEANS_NEAR;

	Assert(iterations >= KMEANS_WHOLE_STEPS);
	return (iterations - KMEANS_WHOLE_STEPS) * Min(n, k * KMEANS_START_ROWS) * k +
		n * (k + (KMEANS_WHOLE_STEPS - 1) * near);
}

int
ecp_kmeans_refine(EcpTeam *team, const EcpRows *rows, int k, int steps,
				  const int32 *leaders, char *centres,
				  EcpMemory *centres_memory)
{
	KMeans		km = {0};

	Assert(rows->n > 0 && k > 0);
	if (k < KMEANS_NEAR_MIN)
		return kmeans_unique(centres, ecp_vector_bytes(rows->elem, rows->dims),
							 k);
	kmeans_begin(&km, team, rows, k, centres, centres_memory);
	km.shape.used = rows->n;
	memcpy(km.leaders, leaders, sizeof(int32) * (Size) rows->n);
	ecp_kmeans_group(km.leaders, rows->n, k, km.first, km.order);
	for (int i = 0; i < steps; i++)
	{
		kmeans_assign(&km, true);
		kmeans_update(&km, NULL, true);
	}
	ecp_team_memory_free(&km.memory);
	return kmeans_unique(centres, km.vec_bytes, k);
}

/* ---- 2-means ---- */

/*
 * Two halves of equal size, across the line between the centres.  Rows that
 * are all equal come apart by position.
 */
static void
two_means_halve(EcpPanel *panel, const char *rows, Size stride, int n,
				uint8 *sides)
{
	EcpRanked  *sorted = palloc_array(EcpRanked, n);

	for (int i = 0; i < n; i++)
	{
		float4		ranks[2];
		float4		lean;

		ecp_panel_rank(panel, rows + i * stride, 0, 2, ranks);
		lean = ranks[0] - ranks[1];
		ecp_ranked_set(&sorted[i], isnan(lean) ? 0 : lean, i);
	}
	ecp_ranked_sort(sorted, n);
	for (int i = 0; i < n; i++)
		sides[sorted[i].item] = i >= n / 2;
	pfree(sorted);
}

/* Means of both sides into centres and panel; returns rows of side 1. */
static int
two_means_update(Summer *summers, EcpPanel *panel, const char *rows,
				 Size stride, int n, const uint8 *sides, void *centres[2])
{
	int			count[2] = {0, 0};

	for (int i = 0; i < n; i++)
	{
		summer_add(&summers[sides[i]], rows + i * stride);
		count[sides[i]]++;
	}
	for (int s = 0; s < 2; s++)
	{
		if (count[s] > 0)
			summer_mean(&summers[s], count[s], centres[s]);
		ecp_panel_set(panel, s, centres[s]);
	}
	return count[1];
}

static int
two_means(EcpElem elem, int dims, const void *vectors, Size stride, int n,
		  uint64 seed, bool halve, uint8 *sides, void *centres[2])
{
	Size		vec_bytes = ecp_vector_bytes(elem, dims);
	const char *rows = vectors;
	void	   *memory = palloc_extended(ecp_panel_bytes(elem, dims, 2),
										 MCXT_ALLOC_HUGE);
	EcpPanel   *panel = ecp_panel_init(memory, elem, ECP_METRIC_L2, dims, 2);
	int32	   *nearest = palloc_array(int32, n);
	Summer		summers[2];
	pg_prng_state prng;
	const char *start[2];
	int			ones = 0;

	Assert(n >= 2);
	pg_prng_seed(&prng, seed);
	summer_init(&summers[0], elem, dims);
	summer_init(&summers[1], elem, dims);

	/* two different members, if a few tries find them */
	start[0] = rows + pg_prng_uint64_range(&prng, 0, n - 1) * stride;
	start[1] = start[0];
	for (int i = 0; i < TWO_MEANS_TRIES; i++)
	{
		start[1] = rows + pg_prng_uint64_range(&prng, 0, n - 1) * stride;
		if (memcmp(start[0], start[1], vec_bytes) != 0)
			break;
	}
	for (int s = 0; s < 2; s++)
	{
		memcpy(centres[s], start[s], vec_bytes);
		ecp_panel_set(panel, s, centres[s]);
	}

	for (int step = 0; step < TWO_MEANS_STEPS; step++)
	{
		bool		changed = false;

		ecp_kmeans_assign(panel, 2, dims, rows, stride, n, nearest, NULL);
		for (int i = 0; i < n; i++)
		{
			if (step == 0 || sides[i] != nearest[i])
				changed = true;
			sides[i] = nearest[i];
		}
		if (!changed)
			break;
		ones = two_means_update(summers, panel, rows, stride, n, sides,
								centres);
		if (ones == 0 || ones == n)
			break;
	}

	if (halve || Min(ones, n - ones) < n / 8 || ones == 0 || ones == n)
	{
		two_means_halve(panel, rows, stride, n, sides);
		ones = two_means_update(summers, panel, rows, stride, n, sides,
								centres);
	}

	summer_free(&summers[0]);
	summer_free(&summers[1]);
	pfree(nearest);
	pfree(memory);
	return ones;
}

int
ecp_kmeans_two(EcpElem elem, int dims, const void *vectors, Size stride,
			   int n, uint64 seed, uint8 *sides, void *centres[2])
{
	return two_means(elem, dims, vectors, stride, n, seed, false, sides,
					 centres);
}

void
ecp_kmeans_halve(EcpElem elem, int dims, const void *vectors, Size stride,
				 int n, uint64 seed, uint8 *sides, void *centres[2])
{
	(void) two_means(elem, dims, vectors, stride, n, seed, true, sides,
					 centres);
}
