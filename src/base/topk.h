/*-------------------------------------------------------------------------
 *
 * topk.h
 *	  Smallest first out of many, when it is unknown how many will be wanted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TOPK_H
#define ECP_TOPK_H

#include <math.h>

#include "utils/float.h"
#include "utils/palloc.h"

/*
 * Something with a rank; equal ranks are ordered by "item".  A rank that is
 * not a number comes after all others: it is kept as infinity with the top
 * bit of the item set, which leaves the comparisons plain.
 */
typedef struct EcpRanked
{
	float8		rank;
	uint64		item;			/* the top bit is ours */
} EcpRanked;

#define ECP_RANKED_NAN	(UINT64CONST(1) << 63)

#define EcpRankedIsNaN(r)	(((r)->item & ECP_RANKED_NAN) != 0)
#define EcpRankedItem(r)	((r)->item & ~ECP_RANKED_NAN)

static inline void
ecp_ranked_set(EcpRanked *ranked, float8 rank, uint64 item)
{
	ranked->rank = rank;
	ranked->item = item;
	if (unlikely(isnan(rank)))
	{
		ranked->rank = get_float8_infinity();
		ranked->item |= ECP_RANKED_NAN;
	}
}

/* In ascending order. */
extern void ecp_ranked_sort(EcpRanked *items, size_t n);

/* Of equal ranks the one whose item is less by the bits of "mask". */
static inline bool
ecp_ranked_is_less(const EcpRanked *a, const EcpRanked *b, uint64 mask)
{
	return a->rank < b->rank ||
		(a->rank == b->rank && (a->item & mask) < (b->item & mask));
}

/*
 * Put an item into a heap of the "max" smallest so far, of which there are *n, with
 * the largest first, which goes if there is no room.
 */
static inline void
ecp_ranked_push(EcpRanked *heap, int *n, int max, const EcpRanked *item, uint64 mask)
{
	int			i = 0;

	if (*n < max)
	{
		/* up from the end */
		for (i = (*n)++; i > 0; i = (i - 1) / 2)
		{
			if (!ecp_ranked_is_less(&heap[(i - 1) / 2], item, mask))
				break;
			heap[i] = heap[(i - 1) / 2];
		}
		heap[i] = *item;
	}
	else if (ecp_ranked_is_less(item, &heap[0], mask))
	{
		/* down from the first */
		for (int child = 1; child < max; child = 2 * i + 1)
		{
			if (child + 1 < max &&
				ecp_ranked_is_less(&heap[child], &heap[child + 1], mask))
				child++;
			if (!ecp_ranked_is_less(item, &heap[child], mask))
				break;
			heap[i] = heap[child];
			i = child;
		}
		heap[i] = *item;
	}
}

struct EcpTopk;

/* Adds items that were left out at first, behind all that are in order. */
typedef void (*EcpTopkMore) (struct EcpTopk *topk, void *arg);

typedef struct EcpTopk
{
	EcpRanked  *items;
	Size		capacity;
	Size		first;			/* those before it were taken */
	Size		sorted;			/* first .. sorted - 1: in order, and before
								 * all that follow */
	Size		sorted_from;	/* where what was put in order last began */
	Size		nitems;
	Size		batch;			/* how many to put in order next time */
	MemoryContext context;
	EcpRanked  *spare;			/* room to sort in, for spare_max items, or
								 * NULL */
	Size		spare_max;
	Size		bound;			/* items in memory, at most; 0 = any number */
	int			bound_kb;		/* memory to sort the others with */
	struct TopkSpill *spill;	/* the others, or NULL */
	EcpTopkMore more;			/* or NULL */
	void	   *more_arg;
} EcpTopk;

/* Number of items in memory not taken yet. */
#define EcpTopkCount(topk)	((topk)->nitems - (topk)->first)

/*
 * Keep the "max" smallest of the ranks that come, in ascending order, of which
 * there are *n; returns the place of this one, or -1.
 */
static inline int
ecp_smallest_add(float8 *smallest, int *n, int max, float8 rank)
{
	int			place;

	if (*n == max && !(rank < smallest[max - 1]))
		return -1;
	if (*n < max)
		(*n)++;
	for (place = *n - 1; place > 0 && smallest[place - 1] > rank; place--)
		smallest[place] = smallest[place - 1];
	smallest[place] = rank;
	return place;
}

/* Ranks of which ecp_topk_threshold() takes a sample, evenly spaced. */
#define ECP_TOPK_SAMPLE	256

extern float8 ecp_topk_threshold(float8 *sample, Size n, Size wanted);

extern void ecp_topk_init(EcpTopk *topk, MemoryContext context,
						  Size expected);
extern void ecp_topk_reset(EcpTopk *topk, Size expected);

/*
 * From now on keep about "bound" items in memory, and sort more of them on disk
 * within "bound_kb".  Nothing may be added after the first was taken.
 */
extern void ecp_topk_set_bound(EcpTopk *topk, Size bound, int bound_kb);

/* Forget all items and the bound. */
extern void ecp_topk_unbound(EcpTopk *topk);
extern void ecp_topk_enlarge(EcpTopk *topk, Size n);
extern bool ecp_topk_sort_batch(EcpTopk *topk);
extern void ecp_topk_sort_below(EcpTopk *topk, float8 rank);

/*
 * Until ecp_topk_add_more() is called, or the next reset, all items that are not
 * here are farther away than those that are in order, which come first:
 * "more" adds them when these have been taken.
 */
extern void ecp_topk_set_more(EcpTopk *topk, EcpTopkMore more, void *arg);
extern void ecp_topk_add_more(EcpTopk *topk);

/*
 * Room for n more items, which the caller fills and then counts with
 * ecp_topk_added(): n or fewer.
 */
static inline EcpRanked *
ecp_topk_room(EcpTopk *topk, Size n)
{
	if (topk->nitems + n > topk->capacity)
		ecp_topk_enlarge(topk, n);
	return topk->items + topk->nitems;
}

static inline void
ecp_topk_added(EcpTopk *topk, Size n)
{
	topk->nitems += n;
	topk->sorted = topk->first;
}

/*
 * The smallest item, without taking it; NULL when none is left.  Valid until
 * something is added.
 */
static inline const EcpRanked *
ecp_topk_peek(EcpTopk *topk)
{
	if (topk->first == topk->sorted && !ecp_topk_sort_batch(topk))
		return NULL;
	return &topk->items[topk->first];
}

/* Take it. */
static inline const EcpRanked *
ecp_topk_take(EcpTopk *topk)
{
	const EcpRanked *ranked = ecp_topk_peek(topk);

	if (ranked != NULL)
		topk->first++;
	return ranked;
}

#endif							/* ECP_TOPK_H */
