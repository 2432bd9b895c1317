/*-------------------------------------------------------------------------
 *
 * ecp_budget.c
 *	  SEARCH: as much recall as a time allows ("max_ms").
 *
 * The dual of a recall target: that says what is found, and the search how
 * long it takes; here the time is given, and the search says what it has found,
 * by the curve (ecp_target_recall_at()).
 *
 * The time is that of one search, from its start to the last row that the LIMIT
 * asks for.  Before each cluster but the first the search looks at the clock,
 * and stops if another cluster, as long as those so far took on average, would
 * end after the time less what returning the rows will take.  That is what it
 * took for each row in the last searches of this session, and includes what
 * the executor did with the rows.
 *
 * Clusters come in order of promise, so there is nothing to decide but where to
 * stop.  What is found depends on the machine and on what is in memory, as
 * nothing else does (ecp_stop.c).
 *
 * Only searches for a known number of rows have a limit of time: others may be
 * all that is wanted, and lose rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/define/ecp_define.h"
#include "ecp/search/ecp_search_private.h"

/* The share of the time that is kept for returning rows, at most. */
#define BUDGET_RETURN_SHARE		0.5

/* How fast the mean time of returning a row follows the last one. */
#define BUDGET_FOLLOW			0.125

/* ms that returning a row takes: at first what it takes in memory. */
static double budget_row_ms = 0.001;

/* Milliseconds since the search started. */
static double
budget_elapsed(const EcpSearchBudget *budget)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, budget->start);
	return INSTR_TIME_GET_MILLISEC(now);
}

void
ecp_budget_start(EcpSearch *search, bool isnull)
{
	EcpSearchBudget *budget = &search->budget;

	budget->ms = 0;
	if (search->request.limit == 0 || isnull || ecp_max_ms < 0)
		return;
	budget->ms = ecp_max_ms > 0 ? ecp_max_ms :
		ecp_options_get(search->probe.index).max_ms;
	if (budget->ms == 0)
		return;
	budget->begun = budget->read = 0;
	INSTR_TIME_SET_CURRENT(budget->start);
}

bool
ecp_budget_is_spent(EcpSearch *search)
{
	EcpSearchBudget *budget = &search->budget;
	double		elapsed;
	double		cluster;
	double		returning;

	Assert(budget->ms > 0);
	elapsed = budget_elapsed(budget);
	if (search->probe.clusters == 0)
	{
		budget->begun = elapsed;
		return false;
	}
	cluster = (elapsed - budget->begun) / search->probe.clusters;
	returning = Min(budget_row_ms * search->request.limit,
					BUDGET_RETURN_SHARE * budget->ms);
	return elapsed + cluster + returning > budget->ms;
}

void
ecp_budget_read(EcpSearch *search)
{
	if (search->budget.ms > 0)
		search->budget.read = budget_elapsed(&search->budget);
}

void
ecp_budget_returned(EcpSearch *search)
{
	EcpSearchBudget *budget = &search->budget;
	uint64		rows = search->stats.returned;

	if (budget->ms == 0 || rows != search->request.limit ||
		search->stats.windows != 1)
		return;
	budget_row_ms += BUDGET_FOLLOW *
		((budget_elapsed(budget) - budget->read) / rows - budget_row_ms);
}
