/*-------------------------------------------------------------------------
 *
 * ecp_search_rest.c
 *	  SEARCH: the rows of the first window that are probably not wanted.
 *
 * Of the thousands of rows that the first window has, ten are usually taken.  While
 * it is read, the k nearest so far are known (ecp_stop.c): rows farther away than
 * the k-th cannot be among the first k.  They do not become items of
 * search->rows.  Their ranks stay where the kernel has put them, beside their TIDs;
 * a register is compared at a time, and nothing else is done for each row.  If
 * more rows are taken than the nearest, or another window is read, they are added
 * to search->rows all at once.
 *
 * Not so where all rows are sorted (EcpSearch.complete), and with a radius, which
 * leaves out rows for good.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "base/topk.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/search/ecp_search_private.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"

#define REST_WORD		64
#define REST_WORDS_MIN	256

/* Put the rows that were left out into search->rows. */
static void
rest_flush(EcpTopk *rows, void *arg)
{
	EcpSearch  *search = arg;
	EcpSearchRest *rest = &search->rest;
	EcpRanked  *items = ecp_topk_room(rows, rest->nrows);
	Size		nitems = 0;

	Assert(rest->active && rows == &search->rows);
	for (Size w = 0; w < rest->nwords; w++)
	{
		const float8 *ranks = rest->ranks + w * REST_WORD;
		const ItemPointerData *tids = rest->tids + w * REST_WORD;

		for (uint64 left = rest->left[w]; left != 0; left &= left - 1)
		{
			int			i = pg_rightmost_one_pos64(left);

			ecp_ranked_set(&items[nitems++],
						   search->query.codes ?
						   ecp_search_bound((const float4 *) ranks, i) : ranks[i],
						   EcpSearchIsNumbered(search) ?
						   rest->numbers[w] + i : ecp_tid_item(&tids[i]));
		}
	}
	Assert(nitems == rest->nrows);
	ecp_topk_added(rows, nitems);
	rest->nrows = 0;
	rest->active = false;
}

void
ecp_search_rest_begin(EcpSearch *search)
{
	EcpSearchRest *rest = &search->rest;

	rest->nrows = 0;
	rest->nwords = 0;
	rest->active = !search->complete && isinf(search->query.rank_max);
	if (rest->active)
		ecp_topk_set_more(&search->rows, rest_flush, search);
}

static void *
rest_array(EcpSearch *search, void *array, Size words, Size bytes)
{
	bytes = mul_size(words, bytes);
	return array == NULL ? MemoryContextAllocHuge(search->memory, bytes) :
		repalloc_huge(array, bytes);
}

float8 *
ecp_search_rest_room(EcpSearch *search, int n)
{
	EcpSearchRest *rest = &search->rest;
	Size		needed = rest->nwords + (n + REST_WORD - 1) / REST_WORD + 1;

	StaticAssertStmt(ECP_KERNEL_SLACK <= REST_WORD * sizeof(float4),
					 "what kernels write behind the ranks is within another word");
	if (!rest->active)
		return search->slots.scratch;
	if (needed > rest->words_max)
	{
		Size		max = Max(REST_WORDS_MIN, rest->words_max);

		while (max < needed)
			max = mul_size(max, 2);
		rest->left = rest_array(search, rest->left, max, sizeof(uint64));
		rest->numbers = rest_array(search, rest->numbers, max, sizeof(uint64));
		rest->tids = rest_array(search, rest->tids, max,
								REST_WORD * sizeof(ItemPointerData));
		rest->ranks = rest_array(search, rest->ranks, max,
								 REST_WORD * sizeof(float8));
		rest->words_max = max;
	}
	return rest->ranks + rest->nwords * REST_WORD;
}

void
ecp_search_rest_add(EcpSearch *search, uint64 left, uint64 number,
					const ItemPointerData *tids, int n)
{
	EcpSearchRest *rest = &search->rest;
	Size		w = rest->nwords++;

	Assert(rest->active && w < rest->words_max);
	Assert(n > 0 && n <= REST_WORD && (left & ~EcpLowBits(n)) == 0);
	rest->left[w] = left;
	rest->numbers[w] = number;
	if (left != 0 && !EcpSearchIsNumbered(search))
		memcpy(rest->tids + w * REST_WORD, tids, n * sizeof(ItemPointerData));
	rest->nrows += pg_popcount64(left);
}
