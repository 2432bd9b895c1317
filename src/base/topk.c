/*-------------------------------------------------------------------------
 *
 * topk.c
 *	  Smallest first out of many, when it is unknown how many will be wanted.
 *
 * A scan has thousands of candidates and its executor usually takes ten of
 * them, but may take all.  Sorting everything would cost more than computing
 * the distances did; a heap costs its building and then a cache miss or two
 * a level for each item taken.  So items wait in an array without order, and
 * only a batch at a time is put in order: a small evenly spaced sample says
 * which rank has about as many items below it as we want, one pass brings
 * those to the front, and they are sorted.  The batch doubles every time, so
 * taking all of n items costs O(n log n) in the end.
 *
 * A caller that knows, while it adds items, which of them cannot be among the
 * first, saves most of that: it leaves these out until they are asked for.
 *
 * Items added later go to the end and make what was in order wait again with
 * the rest.  Used for the clusters of a descent and the rows of a scan.
 *
 * If a bound is set, items beyond it are sorted by tuplesort.c, which has them on
 * disk.  As soon as the first is taken, all are sorted there, and come back a batch
 * at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/topk.h"
#include "catalog/pg_type_d.h"
#include "port/pg_bswap.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#define TOPK_CAPACITY_MIN	256

/*
 * Between MIN and MAX items are sorted by the digits of their ranks, two to three times
 * as fast as by comparisons.  More would take too much memory.
 */
#define TOPK_DIGITS_MIN		128
#define TOPK_DIGITS_MAX		16384
#define TOPK_DIGIT_BITS		9
#define TOPK_DIGITS			(1 << TOPK_DIGIT_BITS)
#define TOPK_DIGITS_MOST	2

/* Ranks of a sample that are put in order, at most. */
#define TOPK_SAMPLE_KEEP	32

#define ST_SORT ecp_ranked_sort
#define ST_ELEMENT_TYPE EcpRanked
#define ST_COMPARE(a, b) \
	((a)->rank < (b)->rank ? -1 : \
	 (a)->rank > (b)->rank ? 1 : \
	 (a)->item < (b)->item ? -1 : (a)->item > (b)->item)
#define ST_SCOPE extern
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * An empty set in "context".  "expected" is how many are likely to be taken:
 * only the speed depends on it.
 */
void
ecp_topk_init(EcpTopk *topk, MemoryContext context, Size expected)
{
	memset(topk, 0, sizeof(EcpTopk));
	topk->context = context;
	topk->batch = Max(expected, 1);
}

/* Forget all items, keep the memory; "expected" as above. */
void
ecp_topk_reset(EcpTopk *topk, Size expected)
{
	topk->first = topk->sorted = topk->nitems = 0;
	topk->batch = Max(expected, 1);
	topk->more = NULL;
}

/* ---- items on disk ---- */

/* Items that come back from disk at a time. */
#define TOPK_SPILL_BATCH	1024

/* Memory to sort with, at least, in kB. */
#define TOPK_SPILL_KB_MIN	64

struct TopkSpill
{
	MemoryContext context;
	MemoryContext batch;		/* of what the sort returns */
	Tuplesortstate *sort;
	bool		sorted;			/* all items are there */
};

/*
 * An item as a uuid, whose order is that of its bytes, and back: the highest byte
 * of the rank first, negative ones by their complement.
 */
static void
spill_pack(const EcpRanked *item, pg_uuid_t *packed)
{
	uint64		rank;
	uint64		number = pg_hton64(item->item);

	memcpy(&rank, &item->rank, sizeof(rank));
	rank = pg_hton64(rank >> 63 ? ~rank : rank | UINT64CONST(1) << 63);
	memcpy(packed->data, &rank, sizeof(rank));
	memcpy(packed->data + sizeof(rank), &number, sizeof(number));
}

static void
spill_unpack(const pg_uuid_t *packed, EcpRanked *item)
{
	uint64		rank;
	uint64		number;

	memcpy(&rank, packed->data, sizeof(rank));
	memcpy(&number, packed->data + sizeof(rank), sizeof(number));
	rank = pg_ntoh64(rank);
	rank = rank >> 63 ? rank & ~(UINT64CONST(1) << 63) : ~rank;
	memcpy(&item->rank, &rank, sizeof(rank));
	item->item = pg_ntoh64(number);
}

static struct TopkSpill *
spill_begin(const EcpTopk *topk)
{
	MemoryContext context = AllocSetContextCreate(topk->context, "ecp rows on disk",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	struct TopkSpill *spill = palloc0(sizeof(struct TopkSpill));

	spill->context = context;
	spill->batch = AllocSetContextCreate(context, "ecp rows from disk",
										 ALLOCSET_DEFAULT_SIZES);
	spill->sort = tuplesort_begin_datum(UUIDOID,
										lookup_type_cache(UUIDOID, TYPECACHE_LT_OPR)->lt_opr,
										InvalidOid, false,
										Max(topk->bound_kb, TOPK_SPILL_KB_MIN),
										NULL, TUPLESORT_NONE);
	MemoryContextSwitchTo(old);
	return spill;
}

/* Move all items to disk. */
static void
spill_items(EcpTopk *topk)
{
	if (topk->spill == NULL)
		topk->spill = spill_begin(topk);
	Assert(!topk->spill->sorted);
	for (Size i = topk->first; i < topk->nitems; i++)
	{
		pg_uuid_t	packed;

		spill_pack(&topk->items[i], &packed);
		tuplesort_putdatum(topk->spill->sort, UUIDPGetDatum(&packed), false);
	}
	topk->first = topk->sorted = topk->nitems = 0;
}

/* All were taken that are in memory: bring more back.  False if there are none. */
static bool
spill_back(EcpTopk *topk)
{
	struct TopkSpill *spill = topk->spill;
	MemoryContext old;
	Datum		value;
	bool		isnull;

	if (!spill->sorted)
	{
		spill_items(topk);
		tuplesort_performsort(spill->sort);
		spill->sorted = true;
	}
	Assert(EcpTopkCount(topk) == 0);
	topk->first = topk->nitems = topk->sorted_from = 0;
	MemoryContextReset(spill->batch);
	old = MemoryContextSwitchTo(spill->batch);
	while (topk->nitems < Min(TOPK_SPILL_BATCH, topk->capacity) &&
		   ecp_tuplesort_getdatum(spill->sort, &value, &isnull))
		spill_unpack(DatumGetUUIDP(value), &topk->items[topk->nitems++]);
	MemoryContextSwitchTo(old);
	topk->sorted = topk->nitems;
	return topk->nitems > 0;
}

void
ecp_topk_set_bound(EcpTopk *topk, Size bound, int bound_kb)
{
	Assert(bound > 0 && topk->spill == NULL);
	topk->bound = bound;
	topk->bound_kb = bound_kb;
}

void
ecp_topk_unbound(EcpTopk *topk)
{
	struct TopkSpill *spill = topk->spill;

	topk->first = topk->sorted = topk->nitems = 0;
	topk->bound = 0;
	topk->more = NULL;
	topk->spill = NULL;
	if (spill == NULL)
		return;
	tuplesort_end(spill->sort);
	MemoryContextDelete(spill->context);
}

/* ---- items in memory ---- */

/* Make room for n more items behind those that were not taken yet. */
void
ecp_topk_enlarge(EcpTopk *topk, Size n)
{
	Size		waiting = EcpTopkCount(topk);
	Size		needed = add_size(waiting, n);

	if (topk->bound > 0 && needed > topk->bound && waiting > 0)
	{
		spill_items(topk);
		waiting = 0;
		needed = n;
	}
	if (topk->first > 0)
	{
		memmove(topk->items, topk->items + topk->first,
				waiting * sizeof(EcpRanked));
		topk->sorted -= topk->first;
		topk->nitems = waiting;
		topk->first = 0;
	}
	if (needed > topk->capacity)
	{
		Size		capacity = Max(topk->capacity, TOPK_CAPACITY_MIN);

		while (capacity < needed)
			capacity = mul_size(capacity, 2);
		if (topk->items == NULL)
			topk->items = MemoryContextAllocHuge(topk->context,
												 mul_size(capacity, sizeof(EcpRanked)));
		else
			topk->items = repalloc_huge(topk->items,
										mul_size(capacity, sizeof(EcpRanked)));
		topk->capacity = capacity;
	}
}

/*
 * A rank that about "wanted" of n ranks do not exceed, rather more than fewer;
 * at least one does not.  The sample is put in order as far as need be.
 */
float8
ecp_topk_threshold(float8 *sample, Size n, Size wanted)
{
	int			nkeep = (int) (ECP_TOPK_SAMPLE * wanted / n) + 3;
	int			nkept = 0;
	int			step = 1;

	Assert(n >= ECP_TOPK_SAMPLE && nkeep <= ECP_TOPK_SAMPLE);

	/* for a large share fewer ranks do, which are faster to put in order */
	for (; nkeep > TOPK_SAMPLE_KEEP; nkeep = nkeep / 2 + 2)
		step *= 2;
	for (int i = 0; i < ECP_TOPK_SAMPLE; i += step)
		(void) ecp_smallest_add(sample, &nkept, nkeep, sample[i]);
	return sample[nkept - 1];
}

void
ecp_topk_set_more(EcpTopk *topk, EcpTopkMore more, void *arg)
{
	Assert(topk->nitems == 0);
	topk->more = more;
	topk->more_arg = arg;
}

void
ecp_topk_add_more(EcpTopk *topk)
{
	EcpTopkMore more = topk->more;

	topk->more = NULL;
	if (more != NULL)
		more(topk, topk->more_arg);
}

/* The upper half of a rank, as a number in the same order. */
static inline uint32
topk_key(float8 rank)
{
	uint64		bits;

	rank += 0.0;				/* -0 is no less than 0 */
	memcpy(&bits, &rank, sizeof(bits));
	bits >>= 32;
	return (uint32) bits & 0x80000000 ? ~(uint32) bits : (uint32) bits | 0x80000000;
}

/* An item by the upper half of its rank, less what all have. */
typedef struct TopkKey
{
	uint32		key;
	uint32		number;
} TopkKey;

/* Put n keys in the order of one of their digits; those alike stay as they are. */
static void
topk_sort_digit(const TopkKey *from, TopkKey *to, Size n, int shift)
{
	uint32		ends[TOPK_DIGITS] = {0};
	uint32		end = 0;

	for (Size i = 0; i < n; i++)
		ends[from[i].key >> shift & (TOPK_DIGITS - 1)]++;
	for (int d = 0; d < TOPK_DIGITS; d++)
	{
		uint32		count = ends[d];

		ends[d] = end;
		end += count;
	}
	for (Size i = 0; i < n; i++)
		to[ends[from[i].key >> shift & (TOPK_DIGITS - 1)]++] = from[i];
}

/* Put items in order, by digits if there are many. */
static void
topk_sort(EcpTopk *topk, EcpRanked *items, Size n)
{
	uint32		least = PG_UINT32_MAX;
	uint32		most = 0;
	int			shift = 0;
	TopkKey    *keys[2];
	EcpRanked  *sorted;

	if (n < TOPK_DIGITS_MIN || n > TOPK_DIGITS_MAX)
	{
		ecp_ranked_sort(items, n);
		return;
	}
	for (Size i = 0; i < n; i++)
	{
		uint32		key = topk_key(items[i].rank);

		least = Min(least, key);
		most = Max(most, key);
	}
	if (most == least)
	{
		ecp_ranked_sort(items, n);
		return;
	}
	/* those alike in the digits that we look at are put in order in the end */
	while ((most - least) >> shift >> TOPK_DIGIT_BITS * TOPK_DIGITS_MOST != 0)
		shift++;
	if (topk->spare_max < n)
	{
		if (topk->spare)
			pfree(topk->spare);
		topk->spare_max = 0;
		topk->spare = MemoryContextAlloc(topk->context,
										 Min(topk->capacity, TOPK_DIGITS_MAX) *
										 (sizeof(EcpRanked) + 2 * sizeof(TopkKey)));
		topk->spare_max = Min(topk->capacity, TOPK_DIGITS_MAX);
	}
	sorted = topk->spare;
	keys[0] = (TopkKey *) (sorted + topk->spare_max);
	keys[1] = keys[0] + topk->spare_max;
	for (Size i = 0; i < n; i++)
		keys[0][i] = (TopkKey)
	{
		(topk_key(items[i].rank) - least) >> shift, i
	};
	most = (most - least) >> shift;
	for (int digit = 0; most >> digit != 0; digit += TOPK_DIGIT_BITS)
	{
		TopkKey    *from = keys[0];

		topk_sort_digit(from, keys[1], n, digit);
		keys[0] = keys[1];
		keys[1] = from;
	}
	for (Size i = 0; i < n; i++)
		sorted[i] = items[keys[0][i].number];
	for (Size i = 0; i < n;)
	{
		Size		end = i + 1;

		while (end < n && keys[0][end].key == keys[0][i].key)
			end++;
		if (end > i + 1)
			ecp_ranked_sort(sorted + i, end - i);
		i = end;
	}
	memcpy(items, sorted, n * sizeof(EcpRanked));
#ifdef USE_ASSERT_CHECKING
	for (Size i = 1; i < n; i++)
		Assert(items[i - 1].rank < items[i].rank ||
			   (items[i - 1].rank == items[i].rank &&
				items[i - 1].item <= items[i].item));
#endif
}

/* Put the items of at most this rank first; returns where the others begin. */
static Size
topk_partition(EcpTopk *topk, float8 rank)
{
	EcpRanked  *items = topk->items;
	Size		end = topk->first;

	for (Size i = topk->first; i < topk->nitems; i++)
	{
		if (items[i].rank <= rank)
		{
			EcpRanked	swap = items[end];

			items[end++] = items[i];
			items[i] = swap;
		}
	}
	return end;
}

/* Put the items before "end", which come before the others, in order. */
static void
topk_sort_first(EcpTopk *topk, Size end)
{
	topk_sort(topk, topk->items + topk->first, end - topk->first);
	topk->sorted = end;
	topk->sorted_from = topk->first;
}

/*
 * Put the next batch of items in order.  Returns false if there are none.
 */
bool
ecp_topk_sort_batch(EcpTopk *topk)
{
	Size		end;
	Size		n;

	if (topk->spill != NULL)
		return spill_back(topk);
	ecp_topk_add_more(topk);
	n = EcpTopkCount(topk);
	if (n == 0)
		return false;

	if (n < ECP_TOPK_SAMPLE || n / 4 <= topk->batch)
		end = topk->nitems;
	else
	{
		float8		sample[ECP_TOPK_SAMPLE];

		for (int i = 0; i < ECP_TOPK_SAMPLE; i++)
			sample[i] = topk->items[topk->first + i * (n / ECP_TOPK_SAMPLE)].rank;
		end = topk_partition(topk, ecp_topk_threshold(sample, n, topk->batch));
	}
	topk_sort_first(topk, end);
	topk->batch *= 2;
	return true;
}

/* Put the items of at most this rank in order.  None was taken since the last reset. */
void
ecp_topk_sort_below(EcpTopk *topk, float8 rank)
{
	Assert(topk->first == 0 && topk->spill == NULL);
	topk_sort_first(topk, topk_partition(topk, rank));
}
