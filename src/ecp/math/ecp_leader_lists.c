/*-------------------------------------------------------------------------
 *
 * ecp_leader_lists.c
 *	  BUILD: the nearest of many leaders without comparing a row with all.
 *
 * The leaders are themselves clustered by k-means.  Each centre has a list of
 * the leaders that are nearest to it, several times the number of those that
 * belong to it, so that lists overlap.  A row is compared with all centres,
 * then with the list of the nearest one.  Rows of a centre go to the kernel
 * together, each list being a panel.
 *
 * The nearest leader may not be on the list: of sift-dev's that happens to one
 * row in fifty with lists of 8 sqrt(leaders), and to fewer with these.  The
 * leader that such a row gets instead is hardly farther, and recall at equal
 * probes is the same (test/bench/RESULTS.md).
 *
 * The lists are one piece of memory without pointers, so that it can be shared
 * with workers.  Made by ecp_leaders.c for the assignment of rows
 * (ecp_assign.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/compat.h"
#include "ecp/math/ecp_math.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Centres, and leaders of a list, as multiples of sqrt(leaders). */
#define LISTS_CENTRES		2
#define LISTS_LIST			12

/* Of fewer leaders a list would be too large a part. */
#define LISTS_LEADERS_MIN	1000

#define LISTS_STEPS			4
#define LISTS_SEED			1

/* Leaders of a panel are ranked in blocks of these. */
#define LISTS_BLOCK			64

/* Rows that go to the kernel at a time. */
#define LISTS_ROWS			96

struct EcpLeaderLists
{
	EcpElem		elem;
	int			dims;
	int			ncentres;
	int			nlist;			/* leaders of each list */

	/* offsets from the start of this struct, and sizes */
	Size		numbers;		/* of leaders: int32 [ncentres][nlist] */
	Size		centres;		/* a panel */
	Size		first_list;		/* a panel each */
	Size		list_bytes;
	Size		bytes;			/* of all */
};

static void
lists_layout(EcpLeaderLists *lists, EcpElem elem, int dims, int n)
{
	int			root = (int) ceil(sqrt(n));

	lists->elem = elem;
	lists->dims = dims;
	lists->ncentres = Min(LISTS_CENTRES * root, n);
	lists->nlist = Min(TYPEALIGN(LISTS_BLOCK, LISTS_LIST * root), n);
	lists->numbers = TYPEALIGN(64, sizeof(EcpLeaderLists));
	lists->centres = lists->numbers +
		TYPEALIGN(64, mul_size(sizeof(int32),
							   mul_size(lists->ncentres, lists->nlist)));
	lists->first_list = lists->centres +
		TYPEALIGN(64, ecp_panel_bytes(elem, dims, lists->ncentres));
	lists->list_bytes = TYPEALIGN(64, ecp_panel_bytes(elem, dims,
													  lists->nlist));
	lists->bytes = add_size(lists->first_list,
							mul_size(lists->list_bytes, lists->ncentres));
}

Size
ecp_leader_lists_bytes(EcpElem elem, int dims, int n)
{
	EcpLeaderLists lists;

	if (n < LISTS_LEADERS_MIN)
		return 0;
	lists_layout(&lists, elem, dims, n);
	return lists.bytes;
}

double
ecp_leader_lists_compared(double n)
{
	return (LISTS_CENTRES + LISTS_LIST) * sqrt(n);
}

/* The numbers of the leaders on a list. */
static int32 *
leader_numbers(const EcpLeaderLists *lists, int centre)
{
	return (int32 *) ((char *) lists + lists->numbers) +
		(Size) centre * lists->nlist;
}

static EcpPanel *
leader_centres(const EcpLeaderLists *lists)
{
	return (EcpPanel *) ((char *) lists + lists->centres);
}

static EcpPanel *
leader_list(const EcpLeaderLists *lists, int centre)
{
	return (EcpPanel *) ((char *) lists + lists->first_list +
						 centre * lists->list_bytes);
}

/* The value at place "nth" of n, from 0, in ascending order; moves them. */
static float4
leader_select(float4 *values, int n, int nth)
{
	int			low = 0;
	int			high = n - 1;

	Assert(nth >= 0 && nth < n);
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
leader_choose(const EcpLeaderLists *lists, const EcpPanel *leaders, int n,
			  const void *centre, float4 *ranks, float4 *sorted,
			  int32 *numbers)
{
	float4		limit;

	ecp_panel_rank(leaders, centre, 0, n, ranks);
	for (int i = 0; i < n; i++)
	{
		if (isnan(ranks[i]))
			ranks[i] = get_float4_infinity();
	}
	memcpy(sorted, ranks, sizeof(float4) * n);
	limit = leader_select(sorted, n, lists->nlist - 1);
	ecp_kmeans_choose(ranks, n, limit, lists->nlist, numbers);
}

/*
 * Make the lists of the n leaders of a panel, in ecp_leader_lists_bytes() bytes of
 * memory on a 64-byte boundary.
 */
void
ecp_leader_lists_init(EcpLeaderLists *lists, EcpElem elem, int dims,
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

	Assert(n >= LISTS_LEADERS_MIN);
	Assert(lists == (EcpLeaderLists *) TYPEALIGN(64, lists));
	lists_layout(lists, elem, dims, n);
	for (int i = 0; i < n; i++)
		ecp_panel_get(leaders, i, vectors + i * vec_bytes);
	rows.elem = elem;
	rows.dims = dims;
	rows.stride = vec_bytes;
	rows.n = n;
	rows.rows = vectors;
	centres = palloc_extended(vec_bytes * lists->ncentres + 64,
							  MCXT_ALLOC_HUGE);
	pg_prng_seed(&prng, LISTS_SEED);
	lists->ncentres = ecp_kmeans(NULL, &rows, lists->ncentres, LISTS_STEPS,
								 &prng, centres, NULL);

	(void) ecp_panel_init(leader_centres(lists), elem, ECP_METRIC_L2, dims,
						  lists->ncentres);
	for (int c = 0; c < lists->ncentres; c++)
	{
		const char *centre = centres + c * vec_bytes;
		int32	   *numbers = leader_numbers(lists, c);
		EcpPanel   *list = leader_list(lists, c);

		CHECK_FOR_INTERRUPTS();
		ecp_panel_set(leader_centres(lists), c, centre);
		leader_choose(lists, leaders, n, centre, ranks, sorted, numbers);
		(void) ecp_panel_init(list, elem, ECP_METRIC_L2, dims, lists->nlist);
		for (int i = 0; i < lists->nlist; i++)
			ecp_panel_set(list, i, vectors + numbers[i] * vec_bytes);
	}
	pfree(centres);
	pfree(sorted);
	pfree(ranks);
	pfree(vectors);
}

/* The nearest leader of each row, or one that is hardly farther. */
void
ecp_leader_lists_nearest(const EcpLeaderLists *lists, const char *rows, Size stride,
						 int nrows, int32 *leaders)
{
	Size		vec_bytes = ecp_vector_bytes(lists->elem, lists->dims);
	int32	   *first = palloc_array(int32, lists->ncentres + 1);
	int32	   *order = palloc_array(int32, nrows);
	char	   *some = palloc(LISTS_ROWS * vec_bytes + 64);

	Assert(nrows > 0);
	ecp_kmeans_assign(leader_centres(lists), lists->ncentres, lists->dims, rows,
					  stride, nrows, leaders, NULL);
	ecp_kmeans_group(leaders, nrows, lists->ncentres, first, order);

	for (int c = 0; c < lists->ncentres; c++)
	{
		const int32 *numbers = leader_numbers(lists, c);

		CHECK_FOR_INTERRUPTS();
		for (int done = first[c]; done < first[c + 1]; done += LISTS_ROWS)
		{
			int			n = Min(first[c + 1] - done, LISTS_ROWS);
			int32		nearest[LISTS_ROWS];
			float4		ranks[LISTS_ROWS];

			for (int i = 0; i < n; i++)
				memcpy(some + i * vec_bytes,
					   rows + (Size) order[done + i] * stride, vec_bytes);
			ecp_panel_nearest(leader_list(lists, c), 0, lists->nlist, some,
							  vec_bytes, n, nearest, ranks);
			for (int i = 0; i < n; i++)
				leaders[order[done + i]] = numbers[nearest[i]];
		}
	}
	pfree(some);
	pfree(order);
	pfree(first);
}
