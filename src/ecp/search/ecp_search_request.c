/*-------------------------------------------------------------------------
 *
 * ecp_search_request.c
 *	  SEARCH: what is wanted of a search.
 *
 * Called by ecp_scan.c and others between ecp_search_create() and
 * ecp_search_start(); ecp_search_set_passed() while rows are taken.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/topk.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_search.h"
#include "ecp/search/ecp_search_private.h"

/*
 * Return only rows that fulfil these conditions, from the next start on; the
 * filter must live as long.  NULL: all rows.
 */
void
ecp_search_set_filter(EcpSearch *search, const EcpAttrFilter *filter)
{
	Assert(!search->started);
	search->request.filter = filter;
}

void
ecp_search_set_ordered(EcpSearch *search, bool ordered)
{
	Assert(!search->started);
	search->request.unordered = !ordered;
}

void
ecp_search_set_located(EcpSearch *search)
{
	Assert(!search->started);
	search->request.located = true;
}

void
ecp_search_set_radius(EcpSearch *search, float8 radius)
{
	Assert(!search->started);
	/* NaN is greater than all numbers, and so is no limit either */
	search->request.radius = isnan(radius) ? get_float8_infinity() : radius;
}

void
ecp_search_set_limit(EcpSearch *search, uint64 rows, bool filtered,
					 bool immediate)
{
	Assert(!search->started);
	search->request.limit = rows;
	search->request.filtered = filtered;
	search->request.immediate = immediate;
	search->request.passed = 0;
}

void
ecp_search_set_test(EcpSearch *search, EcpSearchTest test, void *arg,
					bool always, bool grouped)
{
	Assert(!search->started && (test != NULL || !always));
	search->request.test = test;
	search->request.test_arg = arg;
	search->request.tested = always;
	search->request.grouped = grouped;
}

void
ecp_search_set_table(EcpSearch *search, EcpTableRow *table)
{
	Assert(!search->started);
	search->request.table = table;
}

void
ecp_search_set_passed(EcpSearch *search, uint64 passed)
{
	EcpSearchRequest *request = &search->request;
	EcpSearchHold *hold = &search->hold;

	Assert(search->started);
	if (passed > request->passed)
		search->returned.floor = search->returned.last;
	request->passed = passed;

	/* not visible: rows that are held back from now on are not lost */
	if (passed < search->stats.returned && request->immediate &&
		!request->filtered && request->test != NULL && search->strict &&
		!search->complete && request->limit > 0 && !hold->active)
	{
		hold->active = true;
		hold->returned = passed;
		hold->farthest = search->returned.last.rank;
	}
}

void
ecp_search_set_heap(EcpSearch *search, Relation heap)
{
	Assert(!search->started);
	search->request.heap = ecp_heap_prefetch_helps(heap) ? heap : NULL;
}
