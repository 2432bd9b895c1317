/*-------------------------------------------------------------------------
 *
 * ecp_guide.c
 *	  BUILD: the nearest of many leaders without comparing a row with all.
 *
 * The leaders' own centres, by k-means, are a guide to them.  Each centre has
 * a list of the leaders that are nearest to it, several times as many as
 * belong to it, so that lists overlap.  A row is compared with all centres,
 * then with the list of the nearest one.  Rows of a centre go to the kernel
 * together, each list being a panel.
 *
 * The nearest leader may not be on the list: of sift-dev's that happens to one
 * row in fifty with lists of 8 sqrt(leaders), and to fewer with these.  The
 * leader that such a row gets instead is hardly farther, and recall at equal
 * probes is the same (test/bench/RESULTS.md).
 *
 * A guide is one piece of memory without pointers, so that it can be shared
 * (ecp_tree_share()).  Made by ecp_leaders.c for the assignment of rows
 * (ecp_assign.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/compat.h"
#include "ecp/cluster/ecp_guide.h"
#include "ecp/cluster/ecp_kmeans.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Centres, and leaders of a list, as multiples of sqrt(leaders). */
#define GUIDE_CENTRES		2
#define GUIDE_LIST			12

/* Of fewer leaders a list would be too large a part. */
#define GUIDE_LEADERS_MIN	1000

#define GUIDE_STEPS			4
#define GUIDE_SEED			1

/* Leaders of a panel are ranked in blocks of these. */
#define GUIDE_BLOCK			64

/* Rows that go to the kernel at a time. */
#define GUIDE_ROWS			96

struct EcpGuide
{
	EcpElem		elem;
	int			dims;
	int			ncentres;
	int			nlist;			/* leaders of each list */

	/* offsets from the start of this struct, and sizes */
	Size		numbers;		/* of leaders: int32 [ncentres][nlist] */
	Size		centres;		/* a panel */
	Size		lists;			/* a panel each */
	Size		list_bytes;
	Size		bytes;			/* of all */
};

static void
guide_layout(EcpGuide *guide, EcpElem elem, int dims, int n)
{
	int			root = (int) ceil(sqrt(n));

	guide->elem = elem;
	guide->dims = dims;
	guide->ncentres = Min(GUIDE_CENTRES * root, n);
	guide->nlist = Min(TYPEALIGN(GUIDE_BLOCK, GUIDE_LIST * root), n);
	guide->numbers = TYPEALIGN(64, sizeof(EcpGuide));
	guide->centres = guide->numbers +
		TYPEALIGN(64, mul_size(sizeof(int32),
							   mul_size(guide->ncentres, guide->nlist)));
	guide->lists = guide->centres +
		TYPEALIGN(64, ecp_panel_bytes(elem, dims, guide->ncentres));
	guide->list_bytes = TYPEALIGN(64, ecp_panel_bytes(elem, dims,
													  guide->nlist));
	guide->bytes = add_size(guide->lists,
							mul_size(guide->list_bytes, guide->ncentres));
}

Size
ecp_guide_bytes(EcpElem elem, int dims, int n)
{
	EcpGuide	guide;

	if (n < GUIDE_LEADERS_MIN)
		return 0;
	guide_layout(&guide, elem, dims, n);
	return guide.bytes;
}

/* The numbers of the leaders on a list. */
static int32 *
guide_numbers(const EcpGuide *guide, int centre)
{
	return (int32 *) ((char *) guide + guide->numbers) +
		(Size) centre * guide->nlist;
}

static EcpPanel *
guide_centres(const EcpGuide *guide)
{
	return (EcpPanel *) ((char *) guide + guide->centres);
}

static EcpPanel *
guide_list(const EcpGuide *guide, int centre)
{
	return (EcpPanel *) ((char *) guide + guide->lists +
						 centre * guide->list_bytes);
}

/* The value at place "nth" of n, from 0, in ascending order; moves them. */
static float4
guide_select(float4 *values, int n, int nth)
{
	int			low = 0;
	int			high = n - 1;

	while (low < high)
	{
		float4		pivot = values[low + (high - low) / 2];
		int			i = low;
		int			j = high;

		while (i <= j)
		{
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i <= j)
			{
				float4		value = values[i];

				values[i++] = values[j];
				values[j--] = value;
			}
		}
		if (nth <= j)
			high = j;
		else if (nth >= i)
			low = i;
		else
			break;
	}
	return values[nth];
}

/*
 * Numbers of the leaders nearest to a centre, in ascending order; of equal
 * ones the first.  "ranks" and "sorted" have room for all leaders.
 */
static void
guide_choose(const EcpGuide *guide, const EcpPanel *leaders, int n,
			 const void *centre, float4 *ranks, float4 *sorted,
			 int32 *numbers)
{
	float4		limit;
	int			found = 0;
	int			equal = guide->nlist;

	ecp_panel_rank(leaders, centre, 0, n, ranks);
	for (int i = 0; i < n; i++)
	{
		if (isnan(ranks[i]))
			ranks[i] = get_float4_infinity();
	}
	memcpy(sorted, ranks, sizeof(float4) * n);
	limit = guide_select(sorted, n, guide->nlist - 1);
	for (int i = 0; i < n; i++)
		equal -= ranks[i] < limit;
	for (int i = 0; i < n; i++)
	{
		if (ranks[i] < limit || (ranks[i] == limit && equal-- > 0))
			numbers[found++] = i;
	}
	Assert(found == guide->nlist);
}

/*
 * Make the guide to the n leaders of a panel, in ecp_guide_bytes() bytes of
 * memory on a 64-byte boundary.
 */
void
ecp_guide_init(EcpGuide *guide, EcpElem elem, int dims,
			   const EcpPanel *leaders, int n)
{
	Size		vec_bytes = ecp_vector_bytes(elem, dims);
	char	   *vectors = palloc_extended(mul_size(vec_bytes, n) + 64,
										  MCXT_ALLOC_HUGE);
	float4	   *ranks = palloc_array(float4, n);
	float4	   *sorted = palloc_array(float4, n);
	EcpRows		rows = {0};
	char	   *centres;
	pg_prng_state prng;

	guide_layout(guide, elem, dims, n);
	for (int i = 0; i < n; i++)
		ecp_panel_get(leaders, i, vectors + i * vec_bytes);
	rows.elem = elem;
	rows.dims = dims;
	rows.stride = vec_bytes;
	rows.n = n;
	rows.rows = vectors;
	centres = palloc_extended(vec_bytes * guide->ncentres + 64,
							  MCXT_ALLOC_HUGE);
	pg_prng_seed(&prng, GUIDE_SEED);
	guide->ncentres = ecp_kmeans(NULL, &rows, guide->ncentres, GUIDE_STEPS,
								 &prng, centres, NULL);

	(void) ecp_panel_init(guide_centres(guide), elem, ECP_METRIC_L2, dims,
						  guide->ncentres);
	for (int c = 0; c < guide->ncentres; c++)
	{
		const char *centre = centres + c * vec_bytes;
		int32	   *numbers = guide_numbers(guide, c);
		EcpPanel   *list = guide_list(guide, c);

		CHECK_FOR_INTERRUPTS();
		ecp_panel_set(guide_centres(guide), c, centre);
		guide_choose(guide, leaders, n, centre, ranks, sorted, numbers);
		(void) ecp_panel_init(list, elem, ECP_METRIC_L2, dims, guide->nlist);
		for (int i = 0; i < guide->nlist; i++)
			ecp_panel_set(list, i, vectors + numbers[i] * vec_bytes);
	}
	pfree(centres);
	pfree(sorted);
	pfree(ranks);
	pfree(vectors);
}

/* The nearest leader of each row, or one that is hardly farther. */
void
ecp_guide_nearest(const EcpGuide *guide, const char *rows, Size stride,
				  int nrows, int32 *leaders)
{
	Size		vec_bytes = ecp_vector_bytes(guide->elem, guide->dims);
	int32	   *first = palloc0_array(int32, guide->ncentres + 2);
	int32	   *order = palloc_array(int32, nrows);
	char	   *some = palloc(GUIDE_ROWS * vec_bytes + 64);

	/* rows by centre: while they are filled in, first[c + 1] moves on */
	ecp_nearest(guide_centres(guide), guide->ncentres, guide->dims, rows,
				stride, nrows, leaders, NULL);
	for (int i = 0; i < nrows; i++)
		first[leaders[i] + 2]++;
	for (int c = 0; c < guide->ncentres; c++)
		first[c + 2] += first[c + 1];
	for (int i = 0; i < nrows; i++)
		order[first[leaders[i] + 1]++] = i;

	for (int c = 0; c < guide->ncentres; c++)
	{
		const int32 *numbers = guide_numbers(guide, c);

		CHECK_FOR_INTERRUPTS();
		for (int done = first[c]; done < first[c + 1]; done += GUIDE_ROWS)
		{
			int			n = Min(first[c + 1] - done, GUIDE_ROWS);
			int32		nearest[GUIDE_ROWS];
			float4		ranks[GUIDE_ROWS];

			for (int i = 0; i < n; i++)
				memcpy(some + i * vec_bytes,
					   rows + (Size) order[done + i] * stride, vec_bytes);
			ecp_panel_nearest(guide_list(guide, c), guide->nlist, some,
							  vec_bytes, n, nearest, ranks);
			for (int i = 0; i < n; i++)
				leaders[order[done + i]] = numbers[nearest[i]];
		}
	}
	pfree(some);
	pfree(order);
	pfree(first);
}
