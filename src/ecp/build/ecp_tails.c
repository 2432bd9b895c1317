/*-------------------------------------------------------------------------
 *
 * ecp_tails.c
 *	  Rows that clusters give to others, so that pages are full.
 *
 * On average half of the last page of each cluster is empty.  With the storage
 * parameter full_pages a cluster with few rows on its last page gives these to
 * clusters nearby that have room on theirs.  How many rows go from which to which
 * follows from the numbers of rows and the distances between leaders
 * (ecp_tails_plan()), before any row is read, since it determines where runs lie.
 * Which rows go is decided when they are read (tails_choose()): those to which
 * the other leader is nearly as near.
 *
 * Both clusters belong to one range of ECP_RANGE_LEADERS leaders.  Its plan
 * depends on that range only, and every process that needs the plan makes it.
 * The range is read twice: first the rows that are given are chosen, and kept in
 * memory; then they are left out where they come from, and added where they go
 * (ecp_tails_exchange()).
 *
 * Used by ecp_merge.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/build/ecp_build.h"
#include "ecp/cluster/ecp_byte_copy.h"
#include "ecp/page/ecp_page.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "vector/vector_distance.h"

/*
 * A cluster gives rows only to the clusters of this many of the nearest leaders
 * of its range.  Sift-dev, 53 clusters: with 8, 16, 32 and 48 the index has 1.20,
 * 1.17, 1.16 and 1.15 times the bytes of the vectors, and recall is 0.9436,
 * 0.9421, 0.9413 and 0.9405, where it is 0.9453 if no row is given.
 */
#define TAILS_NEAR		64

/* A row that may go, and by how much the other leader is farther away. */
typedef struct TailsOffer
{
	float4		loss;
	int32		row;
	int			flow;
} TailsOffer;

/* ---- the plan ---- */

/* The clusters of the range. */
typedef struct TailsPlan
{
	const EcpBuild *build;
	EcpTails   *tails;
	int			excess[ECP_RANGE_LEADERS];	/* rows to give, or */
	int			room[ECP_RANGE_LEADERS];	/* rows to take */
	int			order[ECP_RANGE_LEADERS];	/* sorted numbers of clusters */
	float4		ranks[ECP_RANGE_LEADERS];	/* of leaders, from the giver's */
	char	   *vector;			/* the giver's leader */
} TailsPlan;

/*
 * If the last page of a cluster is less than half full, its rows there are an
 * excess, else it has room for more.  Only what becomes one run has either.
 */
static void
tails_measure(TailsPlan *plan, int cluster)
{
	const EcpGeometry *geo = &plan->build->state.leaf;
	uint64		max = plan->build->state.meta.ecpm_leaf_max;
	uint64		n = plan->tails->rows[cluster];
	uint32		entry_pages;
	uint32		npages;
	uint64		slots;
	uint64		fewer;

	plan->excess[cluster] = 0;
	plan->room[cluster] = 0;
	if (n == 0 || n > max)
		return;
	ecp_geometry_run_size(geo, n, &entry_pages, &npages);
	slots = ecp_geometry_slots(geo, npages);
	fewer = npages > 1 ? ecp_geometry_slots(geo, npages - 1) : 0;
	if (fewer > 0 && fewer < n && 2 * (n - fewer) < slots - fewer)
		plan->excess[cluster] = n - fewer;
	else if (slots > n)
		plan->room[cluster] = Min(slots, max) - n;
}

/* Order the clusters that have an excess, least first; returns their number. */
static int
tails_order(TailsPlan *plan)
{
	int			n = 0;

	for (int i = 0; i < plan->tails->n; i++)
	{
		int			place;

		if (plan->excess[i] == 0)
			continue;
		for (place = n++; place > 0 &&
			 plan->excess[plan->order[place - 1]] > plan->excess[i]; place--)
			plan->order[place] = plan->order[place - 1];
		plan->order[place] = i;
	}
	return n;
}

/* The clusters that are nearest to one, nearest first; returns their number. */
static int
tails_nearest(TailsPlan *plan, int giver, int nearest[TAILS_NEAR])
{
	const EcpTails *tails = plan->tails;
	const EcpPanel *panel = plan->build->tree->panel[0];
	int			n = 0;

	ecp_panel_get(panel, tails->from + giver, plan->vector);
	ecp_panel_rank(panel, plan->vector, tails->from, tails->n, plan->ranks);
	for (int i = 0; i < tails->n; i++)
	{
		int			place;

		if (i == giver ||
			(n == TAILS_NEAR && plan->ranks[i] >= plan->ranks[nearest[n - 1]]))
			continue;
		if (n < TAILS_NEAR)
			n++;
		for (place = n - 1; place > 0 &&
			 plan->ranks[nearest[place - 1]] > plan->ranks[i]; place--)
			nearest[place] = nearest[place - 1];
		nearest[place] = i;
	}
	return n;
}

/* Plan where the excess of a cluster goes, if there is room nearby. */
static void
tails_plan_giver(TailsPlan *plan, int giver)
{
	EcpTails   *tails = plan->tails;
	int			nearest[TAILS_NEAR];
	int			n = tails_nearest(plan, giver, nearest);
	int			left = plan->excess[giver];
	int			room = 0;

	for (int i = 0; i < n; i++)
		room += plan->room[nearest[i]];
	if (room < left)
		return;
	for (int i = 0; left > 0; i++)
	{
		int			taker = nearest[i];
		int			rows = Min(left, plan->room[taker]);
		EcpTailsFlow *flow;

		if (rows == 0)
			continue;
		/* one for each giver, and one for each cluster without further room */
		Assert(tails->nflows < ECP_TAILS_FLOWS_MAX);
		flow = &tails->flows[tails->nflows++];
		flow->giver = giver;
		flow->taker = taker;
		flow->rows = rows;
		tails->rows[giver] -= rows;
		tails->rows[taker] += rows;
		tails->max += rows;
		plan->room[taker] -= rows;
		left -= rows;
	}
}

void
ecp_tails_plan(const EcpBuild *build, int from, EcpTails *tails)
{
	Size		most = build->budget * ECP_SHARE_TAILS /
		(EcpBuildRowBytes(build) + sizeof(EcpTailsRow));
	TailsPlan	plan;
	int			ngivers;

	Assert(from % ECP_RANGE_LEADERS == 0 && from < build->tree->n[0]);
	memset(tails, 0, sizeof(EcpTails));
	tails->from = from;
	tails->n = Min(build->tree->n[0] - from, ECP_RANGE_LEADERS);
	memcpy(tails->rows, ecp_leader_rows(build) + from,
		   sizeof(uint64) * tails->n);
	plan.build = build;
	plan.tails = tails;
	plan.vector = palloc(build->tree->vec_bytes + 64);
	for (int i = 0; i < tails->n; i++)
		tails_measure(&plan, i);
	ngivers = tails_order(&plan);
	for (int i = 0; i < ngivers; i++)
		if (tails->max + (Size) plan.excess[plan.order[i]] <= most)
			tails_plan_giver(&plan, plan.order[i]);
	pfree(plan.vector);
}

/* ---- rows ---- */

/* For qsort(): the smallest loss first. */
static int
tails_offer_cmp(const void *a, const void *b)
{
	const TailsOffer *x = a;
	const TailsOffer *y = b;

	if (x->loss != y->loss)
		return x->loss < y->loss ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->flow - y->flow;
}

/* Rank a row among those leaders of the range that are wanted, by blocks. */
static void
tails_rank(const EcpTails *tails, const EcpPanel *panel, const void *vector,
		   const bool *wanted, float4 *ranks)
{
	for (int i = 0; i < tails->n; i += ECP_PANEL_BLOCK)
		if (wanted[i / ECP_PANEL_BLOCK])
			ecp_panel_rank(panel, vector, tails->from + i,
						   Min(tails->n - i, ECP_PANEL_BLOCK), ranks + i);
}

/* The flows from a leader's cluster; returns their number. */
static int
tails_flows(const EcpTails *tails, int leader, int *flows)
{
	int			n = 0;

	for (int i = 0; i < tails->nflows; i++)
		if (tails->flows[i].giver == leader - tails->from)
			flows[n++] = i;
	return n;
}

/* Offer each of n rows of a cluster to each of these flows. */
static TailsOffer *
tails_offers(const EcpBuild *build, const EcpTails *tails, const int *flows,
			 int nflows, int n, const char *vectors)
{
	const EcpLeaderTree *tree = build->tree;
	int			giver = tails->flows[flows[0]].giver;
	TailsOffer *offers = palloc_extended(mul_size(sizeof(TailsOffer), n * nflows),
										 MCXT_ALLOC_HUGE);
	TailsOffer *offer = offers;
	bool		same = ecp_build_compared_same(build);
	char	   *compared = palloc(tree->vec_bytes + 64);
	char	   *space = palloc(EcpBuildPrepBytes(build) + 64);
	bool		wanted[ECP_RANGE_LEADERS / ECP_PANEL_BLOCK] = {0};
	float4		ranks[ECP_RANGE_LEADERS];

	wanted[giver / ECP_PANEL_BLOCK] = true;
	for (int f = 0; f < nflows; f++)
		wanted[tails->flows[flows[f]].taker / ECP_PANEL_BLOCK] = true;
	for (int row = 0; row < n; row++)
	{
		const char *vector = vectors + row * EcpBuildRowBytes(build);

		if (!same)
			ecp_build_state_compared(build, vector, space, compared);
		tails_rank(tails, tree->panel[0], same ? vector : compared, wanted,
				   ranks);
		for (int f = 0; f < nflows; f++, offer++)
		{
			offer->loss = ranks[tails->flows[flows[f]].taker] - ranks[giver];
			offer->row = row;
			offer->flow = flows[f];
		}
	}
	pfree(space);
	pfree(compared);
	return offers;
}

/* Choose which of a cluster's n rows go by these flows. */
static void
tails_choose(const EcpBuild *build, EcpTails *tails, const int *flows,
			 int nflows, int n, const ItemPointerData *tids,
			 const char *vectors)
{
	Size		row_bytes = EcpBuildRowBytes(build);
	TailsOffer *offers = tails_offers(build, tails, flows, nflows, n, vectors);
	bool	   *goes = palloc0_array(bool, n);

	qsort(offers, n * nflows, sizeof(TailsOffer), tails_offer_cmp);
	for (int i = 0; i < n * nflows; i++)
	{
		int			row = offers[i].row;
		EcpTailsFlow *flow = &tails->flows[offers[i].flow];
		EcpTailsRow *given;

		if (goes[row] || flow->rows == 0)
			continue;
		goes[row] = true;
		flow->rows--;
		given = &tails->given[tails->ngiven];
		given->giver = tails->from + flow->giver;
		given->taker = tails->from + flow->taker;
		given->number = row;
		given->tid = tids[row];
		memcpy(tails->vectors + tails->ngiven * row_bytes,
			   vectors + row * row_bytes, row_bytes);
		tails->ngiven++;
	}
	pfree(goes);
	pfree(offers);
}

void
ecp_tails_begin(EcpBuild *build, int readers, int from, int max,
				ItemPointerData *tids, char *vectors, EcpTails *tails)
{
	const EcpPolicyRoutine *policy = ecp_policy_routine(build->plan.policy);
	int			upto;

	ecp_tails_plan(build, from, tails);
	upto = from + tails->n;
	if (tails->nflows > 0)
	{
		tails->given = palloc_array(EcpTailsRow, tails->max);
		tails->vectors = palloc_extended(mul_size(EcpBuildRowBytes(build),
												  tails->max),
										 MCXT_ALLOC_HUGE);
		policy->range(build, readers, from, upto, true);
		for (int l = from; l < upto; l++)
		{
			int			flows[ECP_TAILS_FLOWS_MAX];
			int			nflows = tails_flows(tails, l, flows);
			int			n;

			CHECK_FOR_INTERRUPTS();
			if (nflows == 0)
				continue;
			while ((n = policy->read(build, l, max, tids, vectors)) > 0)
				tails_choose(build, tails, flows, nflows, n, tids, vectors);
		}
	}
	policy->range(build, readers, from, upto, false);
}

void
ecp_tails_end(EcpTails *tails)
{
	if (tails->given == NULL)
		return;
	Assert(tails->ngiven == tails->max);
	pfree(tails->given);
	pfree(tails->vectors);
	tails->given = NULL;
}

int
ecp_tails_exchange(const EcpBuild *build, const EcpTails *tails, int leader,
				   int n, ItemPointerData *tids, char *vectors)
{
	Size		row_bytes = EcpBuildRowBytes(build);
	bool	   *goes = palloc0_array(bool, n);
	int			kept = 0;

	for (int i = 0; i < tails->ngiven; i++)
		if (tails->given[i].giver == leader)
			goes[tails->given[i].number] = true;
	for (int row = 0; row < n; row++)
	{
		if (goes[row])
			continue;
		tids[kept] = tids[row];
		memmove(vectors + kept * row_bytes, vectors + row * row_bytes, row_bytes);
		kept++;
	}
	for (int i = 0; i < tails->ngiven; i++)
		if (tails->given[i].taker == leader)
		{
			tids[kept] = tails->given[i].tid;
			memcpy(vectors + kept * row_bytes, tails->vectors + i * row_bytes,
				   row_bytes);
			kept++;
		}
	pfree(goes);
	return kept;
}
