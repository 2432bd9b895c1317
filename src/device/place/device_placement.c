/*-------------------------------------------------------------------------
 *
 * device_placement.c
 *	  Placement of groups on targets: LPT and what it is compared with.
 *
 * The problem is scheduling on machines of different speed: put groups of
 * different size on targets of different speed so that the last target ends as
 * early as possible (its time is the "makespan").  It is NP-hard; we use the
 * rule "longest processing time first":
 *
 *		sort the groups by weight, heaviest first;
 *		put each on the target S that minimises  load(S) + weight / speed(S),
 *		where load(S) is a time.
 *
 * Offline, all groups are placed anew in that order.  Online, groups that
 * are on a target stay there and the others are placed in the order in which
 * they come.  Ties go to the target with the lower number and, between
 * groups, to the group with the lower number, so that a plan is the same
 * each time it is made.
 *
 * Capacities are hard: a target on which the group does not fit is not
 * considered.  With capacities the question whether any placement exists is
 * bin packing, so LPT can fail although there is one; we then try best-fit
 * decreasing by bytes, and raise an error only if that fails as well.
 *
 * LPT does not distinguish equal targets.  Afterwards, targets of equal speed
 * and capacity are renamed so that as many bytes as possible are already where
 * they should be (device_placement_rename.c).  So a plan that has been carried
 * out is not moved again.
 *
 * Rebalancing starts from the current state.  Each target above a limit gives
 * away as few bytes as bring it below, and those groups are placed by LPT.  For
 * few groups the result is then improved by a search that finds the fewest
 * bytes, unless it exceeds its budget.
 *
 * Nothing here reads a table: PL/pgSQL fills the arrays and carries plans out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "base/compat.h"
#include "device/place/device_place.h"

/* Groups up to which an exact search, which is exponential, is allowed. */
#define PLACE_OPTIMAL_MAX	16

/* Depths of cut that a rebalance tries. */
#define PLACE_CUTS	20

/* Partial placements that it searches for one that moves less. */
#define PLACE_SEARCH_MAX	200000

/* Load of each target so far. */
typedef struct PlaceState
{
	double	   *load;			/* seconds */
	double	   *used;			/* bytes */
} PlaceState;

/*
 * ecp_placement_check
 *		Refuse numbers whose sums would overflow.
 *
 * No sum of bytes or times is larger than that with all groups on the slowest
 * target: if those are finite, all are, and all comparisons of them are valid.
 */
void
ecp_placement_check(const EcpPlacement *p)
{
	double		bytes = 0;
	double		weight = 0;
	double		speed = 0;
	double		slowest = INFINITY;

	for (int g = 0; g < p->ngroups; g++)
	{
		bytes += p->groups[g].bytes;
		weight += p->groups[g].weight;
	}
	for (int t = 0; t < p->ntargets; t++)
	{
		speed += p->targets[t].speed;
		slowest = Min(slowest, p->targets[t].speed);
	}
	/* a factor of 2 covers rounding in another order of addition */
	if (!isfinite(2 * bytes) || !isfinite(2 * speed) ||
		!isfinite(2 * weight / slowest))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("weights or speeds of a placement are out of range"),
				 errdetail("Their sums, and all the weight divided by the lowest speed, must be finite.")));
}

static void
place_state_init(PlaceState *state, const EcpPlacement *p)
{
	state->load = palloc0_array(double, p->ntargets);
	state->used = palloc0_array(double, p->ntargets);
}

static void
place_state_add(PlaceState *state, const EcpPlacement *p, int g, int t)
{
	Assert(g >= 0 && g < p->ngroups && t >= 0 && t < p->ntargets);
	state->load[t] += p->groups[g].weight / p->targets[t].speed;
	state->used[t] += p->groups[g].bytes;
}

/* The state that the targets of the groups make. */
static void
place_state_placed(PlaceState *state, const EcpPlacement *p)
{
	place_state_init(state, p);
	for (int g = 0; g < p->ngroups; g++)
	{
		if (p->groups[g].target >= 0)
			place_state_add(state, p, g, p->groups[g].target);
	}
}

static void
place_state_remove(PlaceState *state, const EcpPlacement *p, int g, int t)
{
	Assert(g >= 0 && g < p->ngroups && t >= 0 && t < p->ntargets);
	state->load[t] -= p->groups[g].weight / p->targets[t].speed;
	state->used[t] -= p->groups[g].bytes;
}

static bool
place_fits(const PlaceState *state, const EcpPlacement *p, double bytes,
		   int t)
{
	Assert(t >= 0 && t < p->ntargets);
	return state->used[t] + bytes <= p->targets[t].capacity;
}

/*
 * The target on which a group would be ready first, or, by best fit, the one that
 * it fills best; -1 if it fits on none.
 */
static int
place_choose(const PlaceState *state, const EcpPlacement *p,
			 const EcpPlaceGroup *group, bool best_fit)
{
	int			best = -1;
	double		least = 0;

	Assert(p->ntargets > 0);
	for (int t = 0; t < p->ntargets; t++)
	{
		const EcpPlaceTarget *target = &p->targets[t];
		double		value = best_fit ?
			target->capacity - state->used[t] - group->bytes :
			state->load[t] + group->weight / target->speed;

		if (place_fits(state, p, group->bytes, t) &&
			(best < 0 || value < least))
		{
			best = t;
			least = value;
		}
	}
	return best;
}

pg_noreturn static void
place_no_room(const EcpPlacement *p, int g)
{
	double		largest = 0;

	Assert(g >= 0 && g < p->ngroups);
	for (int t = 0; t < p->ntargets; t++)
		largest = Max(largest, p->targets[t].capacity);

	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("no placement found within the capacities of the targets"),
			 p->groups[g].name ?
			 errdetail("Group \"%s\" of %.0f bytes is left over; the largest target holds %.0f bytes.",
					   p->groups[g].name, p->groups[g].bytes, largest) :
			 errdetail("Group %d of %.0f bytes is left over; the largest target holds %.0f bytes.",
					   g + 1, p->groups[g].bytes, largest),
			 errhint("Add a target or raise a capacity.")));
}

/* The larger one first, of equal ones the one with the lower number. */
static int
place_compare(double a, double b, int ga, int gb)
{
	if (a != b)
		return a > b ? -1 : 1;
	return ga < gb ? -1 : 1;
}

static int
place_compare_weight(const void *a, const void *b, void *arg)
{
	const EcpPlaceGroup *groups = ((const EcpPlacement *) arg)->groups;
	int			ga = *(const int *) a;
	int			gb = *(const int *) b;

	return place_compare(groups[ga].weight, groups[gb].weight, ga, gb);
}

static int
place_compare_bytes(const void *a, const void *b, void *arg)
{
	const EcpPlaceGroup *groups = ((const EcpPlacement *) arg)->groups;
	int			ga = *(const int *) a;
	int			gb = *(const int *) b;

	return place_compare(groups[ga].bytes, groups[gb].bytes, ga, gb);
}

/* The numbers of the groups that have no target, in the order wanted. */
static int *
place_order(const EcpPlacement *p, int *norder, qsort_arg_comparator compare)
{
	int		   *order = palloc_array(int, Max(p->ngroups, 1));
	int			n = 0;

	for (int g = 0; g < p->ngroups; g++)
	{
		if (p->groups[g].target < 0)
			order[n++] = g;
	}
	if (compare)
		qsort_arg(order, n, sizeof(int), compare, unconstify(EcpPlacement *, p));
	*norder = n;
	return order;
}

/*
 * Give a target to each group that has none.  "compare" is the order, or NULL
 * for the order in which they stand.  Returns the group that could not be
 * placed, or -1.
 */
static int
place_rest(EcpPlacement *p, PlaceState *state, qsort_arg_comparator compare,
		   bool best_fit)
{
	int			norder;
	int		   *order = place_order(p, &norder, compare);
	int			left_over = -1;

	for (int i = 0; i < norder && left_over < 0; i++)
	{
		EcpPlaceGroup *group = &p->groups[order[i]];
		int			t = place_choose(state, p, group, best_fit);

		CHECK_FOR_INTERRUPTS();
		if (t < 0)
			left_over = order[i];
		else
		{
			group->target = t;
			place_state_add(state, p, order[i], t);
		}
	}
	pfree(order);
	return left_over;
}

/*
 * The offline rule over all groups, with a second attempt if LPT cannot keep
 * the capacities.
 */
static void
place_lpt(EcpPlacement *p)
{
	for (int attempt = 0;; attempt++)
	{
		PlaceState	state;
		int			left_over;

		for (int g = 0; g < p->ngroups; g++)
			p->groups[g].target = -1;
		place_state_init(&state, p);
		if (attempt == 0)
			left_over = place_rest(p, &state, place_compare_weight, false);
		else
			left_over = place_rest(p, &state, place_compare_bytes, true);
		if (left_over < 0)
			break;
		if (attempt > 0)
			place_no_room(p, left_over);
	}
	ecp_placement_rename(p);
}

static void
place_current(EcpPlacement *p)
{
	for (int g = 0; g < p->ngroups; g++)
		p->groups[g].target = p->groups[g].current;
}

/* Groups that are placed stay; the others are placed in the array's order. */
static void
place_online(EcpPlacement *p)
{
	PlaceState	state;
	int			left_over;

	place_current(p);
	place_state_placed(&state, p);
	left_over = place_rest(p, &state, NULL, false);
	if (left_over >= 0)
		place_no_room(p, left_over);
}

/*
 * The same group number and seed give the same target, in any version and on
 * any machine.  A target that is full is skipped.
 */
static void
place_random(EcpPlacement *p, uint64 seed)
{
	PlaceState	state;

	place_state_init(&state, p);
	for (int g = 0; g < p->ngroups; g++)
	{
		uint64		hash = DatumGetUInt64(hash_uint32_extended(g, seed));
		int			first = (int) (hash % (uint64) p->ntargets);
		int			t = first;

		CHECK_FOR_INTERRUPTS();
		while (!place_fits(&state, p, p->groups[g].bytes, t))
		{
			t = (t + 1) % p->ntargets;
			if (t == first)
				place_no_room(p, g);
		}
		p->groups[g].target = t;
		place_state_add(&state, p, g, t);
	}
}

/* A search through all placements for one that costs less than "best_cost". */
typedef struct PlaceSearch
{
	EcpPlacement *p;
	PlaceState	state;
	int		   *order;			/* groups, the largest first */
	bool		moves;			/* cost: bytes moved; otherwise the makespan */
	double		limit;			/* no target may take longer */
	int64		budget;			/* partial placements still to look at */
	int		   *best;			/* target of each group */
	double		best_cost;
} PlaceSearch;

/*
 * Depth-first search over the groups, cut where a partial placement costs as
 * much as the best complete one.  A group that may stay is first tried where
 * it is, which costs nothing.
 */
static void
place_search(PlaceSearch *search, int depth, double cost)
{
	EcpPlacement *p = search->p;
	PlaceState *state = &search->state;
	EcpPlaceGroup *group;
	int			g;
	int			home;

	Assert(depth >= 0 && depth <= p->ngroups);
	if (search->budget-- <= 0 || cost >= search->best_cost)
		return;
	CHECK_FOR_INTERRUPTS();
	if (depth == p->ngroups)
	{
		search->best_cost = cost;
		for (g = 0; g < p->ngroups; g++)
			search->best[g] = p->groups[g].target;
		return;
	}

	g = search->order[depth];
	group = &p->groups[g];
	home = search->moves ? group->current : -1;
	for (int i = home < 0 ? 0 : -1; i < p->ntargets; i++)
	{
		int			t = i < 0 ? home : i;
		double		time = state->load[t] + group->weight / p->targets[t].speed;

		if (i == home || time > search->limit ||
			!place_fits(state, p, group->bytes, t))
			continue;
		group->target = t;
		place_state_add(state, p, g, t);
		place_search(search, depth + 1, !search->moves ? Max(cost, time) :
					 t == home ? cost : cost + group->bytes);
		place_state_remove(state, p, g, t);
	}
}

/* Search, with search->best as the best so far, and take what is found. */
static void
place_search_all(PlaceSearch *search, qsort_arg_comparator compare)
{
	EcpPlacement *p = search->p;
	int			norder;

	place_state_init(&search->state, p);
	for (int g = 0; g < p->ngroups; g++)
		p->groups[g].target = -1;
	search->order = place_order(p, &norder, compare);
	place_search(search, 0, 0);
	for (int g = 0; g < p->ngroups; g++)
		p->groups[g].target = search->best[g];
}

static void
place_optimal(EcpPlacement *p)
{
	PlaceSearch search = {.p = p,.limit = INFINITY,.budget = PG_INT64_MAX,.best_cost = INFINITY};

	if (p->ngroups > PLACE_OPTIMAL_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot search for the optimum of %d groups",
						p->ngroups),
				 errdetail("The exact search is for at most %d groups.",
						   PLACE_OPTIMAL_MAX),
				 errhint("Use the strategy \"lpt\".")));
	search.best = palloc0_array(int, Max(p->ngroups, 1));
	place_search_all(&search, place_compare_weight);
	if (p->ngroups > 0 && isinf(search.best_cost))
		place_no_room(p, search.order[0]);
	ecp_placement_rename(p);
}

/*
 * The group that an overloaded target should give away: the smallest that
 * alone brings it to the limit, else the heaviest.
 */
static int
place_give_away(const EcpPlacement *p, const PlaceState *state, int t,
				double limit)
{
	int			enough = -1;
	int			heaviest = -1;
	double		excess_time = state->load[t] - limit;
	double		excess_bytes = state->used[t] - p->targets[t].capacity;

	Assert(t >= 0 && t < p->ntargets);
	for (int g = 0; g < p->ngroups; g++)
	{
		const EcpPlaceGroup *group = &p->groups[g];

		if (group->target != t)
			continue;
		if (heaviest < 0 || group->weight > p->groups[heaviest].weight)
			heaviest = g;
		if (group->weight / p->targets[t].speed >= excess_time &&
			group->bytes >= excess_bytes &&
			(enough < 0 || group->bytes < p->groups[enough].bytes))
			enough = g;
	}
	return enough >= 0 ? enough : heaviest;
}

/*
 * place_rebalance_at
 *		Let each target give away until it is at "peel", then place again.
 *
 * Returns false if the groups given away do not all fit elsewhere.
 */
static bool
place_rebalance_at(EcpPlacement *p, double peel, double limit)
{
	PlaceState	state;
	int			norder = 0;
	int		   *order;

	Assert(peel <= limit);
	place_current(p);
	place_state_placed(&state, p);
	for (int t = 0; t < p->ntargets; t++)
	{
		/* only an overloaded target has to give */
		if (state.load[t] <= limit &&
			state.used[t] <= p->targets[t].capacity)
			continue;
		while (state.load[t] > peel ||
			   state.used[t] > p->targets[t].capacity)
		{
			int			g = place_give_away(p, &state, t, peel);

			CHECK_FOR_INTERRUPTS();
			if (g < 0)
				break;
			p->groups[g].target = -1;
			place_state_remove(&state, p, g, t);
		}
	}
	if (place_rest(p, &state, place_compare_weight, false) >= 0)
		return false;

	/* take back what need not have moved, the largest first */
	order = palloc_array(int, Max(p->ngroups, 1));
	for (int g = 0; g < p->ngroups; g++)
	{
		if (p->groups[g].current >= 0 &&
			p->groups[g].target != p->groups[g].current)
			order[norder++] = g;
	}
	qsort_arg(order, norder, sizeof(int), place_compare_bytes, p);
	for (int i = 0; i < norder; i++)
	{
		EcpPlaceGroup *group = &p->groups[order[i]];
		int			home = group->current;

		if (place_fits(&state, p, group->bytes, home) &&
			state.load[home] + group->weight / p->targets[home].speed <= limit)
		{
			place_state_remove(&state, p, order[i], group->target);
			group->target = home;
			place_state_add(&state, p, order[i], home);
		}
	}
	pfree(order);
	return true;
}

static double
place_moved_bytes(const EcpPlacement *p)
{
	double		moved = 0;

	for (int g = 0; g < p->ngroups; g++)
	{
		if (p->groups[g].target != p->groups[g].current)
			moved += p->groups[g].bytes;
	}
	return moved;
}

/* Let everything stay where it is, if the capacities allow that. */
static bool
place_stay(EcpPlacement *p)
{
	PlaceState	state;

	place_current(p);
	place_state_placed(&state, p);
	for (int g = 0; g < p->ngroups; g++)
	{
		if (p->groups[g].current < 0)
			return false;
	}
	for (int t = 0; t < p->ntargets; t++)
	{
		if (!place_fits(&state, p, 0, t))
			return false;
	}
	return true;
}

/*
 * place_rebalance
 *		Bring the makespan to factor times the lower bound, moving little.
 *
 * Giving away only as much as brings a target to the limit is cheapest, but
 * then what is given away may not fit below the limit elsewhere.  So we try
 * several deeper cuts, and LPT from scratch at the end, and keep the cheapest
 * that reaches the limit, else the one with the best makespan.  The current
 * state is kept if it is no worse.  With few groups a search then tries to move
 * fewer bytes.
 */
static void
place_rebalance(EcpPlacement *p, double factor)
{
	double		limit = ecp_placement_lower_bound(p) * factor * (1 + 1e-12);
	int		   *best = palloc_array(int, Max(p->ngroups, 1));
	double		best_time = INFINITY;
	double		best_moved = INFINITY;

	if (!(factor > 0 && isfinite(factor)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"factor\" must be positive and finite"),
				 errhint("It is how many times the lower bound a rebalancing may take.")));

	for (int cut = -1; cut <= PLACE_CUTS; cut++)
	{
		double		time;
		double		moved;

		if (cut == -1)
		{
			if (!place_stay(p))
				continue;
		}
		else if (cut < PLACE_CUTS)
		{
			if (!place_rebalance_at(p, limit * (1 - (double) cut / PLACE_CUTS),
									limit))
				continue;
		}
		else if (!isinf(best_time) && best_time <= limit)
			break;
		else
			place_lpt(p);

		time = ecp_placement_makespan(p);
		moved = place_moved_bytes(p);
		if ((time <= limit && best_time <= limit) ? moved < best_moved :
			time < best_time)
		{
			best_time = time;
			best_moved = moved;
			for (int g = 0; g < p->ngroups; g++)
				best[g] = p->groups[g].target;
		}
	}

	if (p->ngroups <= PLACE_OPTIMAL_MAX &&
		(best_time > limit || best_moved > 0))
	{
		PlaceSearch search = {.p = p,.moves = true,.limit = limit,.best = best,.budget = PLACE_SEARCH_MAX};

		search.best_cost = best_time <= limit ? best_moved : INFINITY;
		place_search_all(&search, place_compare_bytes);
	}
	for (int g = 0; g < p->ngroups; g++)
		p->groups[g].target = best[g];
	pfree(best);
}

/*
 * ecp_placement_solve
 *		Fill in the target of every group by the strategy of this name.
 *
 * Raises an error if the capacities cannot be kept.  "current" leaves groups that
 * are on no target at -1.
 */
void
ecp_placement_solve(EcpPlacement *p, const char *strategy, double factor,
					uint64 seed)
{
	if (p->ntargets < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a placement needs at least one target")));
	if (strcmp(strategy, "lpt") == 0)
		place_lpt(p);
	else if (strcmp(strategy, "online") == 0)
		place_online(p);
	else if (strcmp(strategy, "rebalance") == 0)
		place_rebalance(p, factor);
	else if (strcmp(strategy, "random") == 0)
		place_random(p, seed);
	else if (strcmp(strategy, "optimal") == 0)
		place_optimal(p);
	else if (strcmp(strategy, "current") == 0)
		place_current(p);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized placement strategy \"%s\"", strategy),
				 errhint("Valid strategies are \"lpt\", \"online\", \"rebalance\", \"random\", \"optimal\" and \"current\".")));
}

/*
 * ecp_placement_makespan
 *		Seconds until the last target has read what was put on it.
 *
 * Groups without a target count on none.
 */
double
ecp_placement_makespan(const EcpPlacement *p)
{
	PlaceState	state;
	double		time = 0;

	place_state_placed(&state, p);
	for (int t = 0; t < p->ntargets; t++)
		time = Max(time, state.load[t]);
	return time;
}

static int
place_compare_decreasing(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x < y) - (x > y);
}

/*
 * ecp_placement_lower_bound
 *		Seconds below which no placement can end.
 *
 * All the weight over all the speed; and, for every k below the number of
 * targets, the k heaviest groups, which cannot use more than k targets, over
 * the k fastest.  It ignores capacities, so it is a lower bound with them, too.
 */
double
ecp_placement_lower_bound(const EcpPlacement *p)
{
	double	   *weights = palloc_array(double, Max(p->ngroups, 1));
	double	   *speeds = palloc_array(double, Max(p->ntargets, 1));
	double		weight = 0;
	double		speed = 0;
	double		bound = 0;

	for (int g = 0; g < p->ngroups; g++)
		weights[g] = p->groups[g].weight;
	for (int t = 0; t < p->ntargets; t++)
		speeds[t] = p->targets[t].speed;
	qsort(weights, p->ngroups, sizeof(double), place_compare_decreasing);
	qsort(speeds, p->ntargets, sizeof(double), place_compare_decreasing);

	for (int k = 0; k < p->ntargets && k < p->ngroups; k++)
	{
		weight += weights[k];
		speed += speeds[k];
		if (k < p->ntargets - 1)
			bound = Max(bound, weight / speed);
	}
	for (int k = Min(p->ntargets, p->ngroups); k < p->ngroups; k++)
		weight += weights[k];
	for (int k = Min(p->ntargets, p->ngroups); k < p->ntargets; k++)
		speed += speeds[k];
	if (speed > 0)
		bound = Max(bound, weight / speed);
	pfree(weights);
	pfree(speeds);
	return bound;
}
