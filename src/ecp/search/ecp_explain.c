/*-------------------------------------------------------------------------
 *
 * ecp_explain.c
 *	  What EXPLAIN ANALYZE shows of a scan of an ecp index.
 *
 * From PostgreSQL 18 on; in older versions use ecp_last_scan().  The figures
 * are totals over all loops of the node, in the process that runs EXPLAIN.
 * But the rows wanted, the recall and the reason are those of the last.  They
 * are shown with ANALYZE, like the number of index searches: an option of
 * EXPLAIN would be unknown to a session that has not loaded the extension.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"		/* says whether there is a hook */

#ifdef ECP_HAVE_EXPLAIN_HOOK

#include "access/amapi.h"
#include "access/relscan.h"
#include "commands/explain.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#include "ecp/search/ecp_scan.h"

static explain_per_node_hook_type explain_next_hook = NULL;

/* The index scan of a node, or NULL if there is none or not one of ours. */
static IndexScanDesc
explain_scan_of(PlanState *planstate)
{
	IndexScanDesc scan = NULL;

	if (IsA(planstate, IndexScanState))
		scan = castNode(IndexScanState, planstate)->iss_ScanDesc;
	else if (IsA(planstate, IndexOnlyScanState))
		scan = castNode(IndexOnlyScanState, planstate)->ioss_ScanDesc;
	if (scan == NULL ||
		scan->indexRelation->rd_indam->amgettuple != ecpgettuple)
		return NULL;
	return scan;
}

static void
explain_node(PlanState *planstate, List *ancestors, const char *relationship,
			 const char *plan_name, ExplainState *es)
{
	IndexScanDesc scan = es->analyze ? explain_scan_of(planstate) : NULL;

	if (explain_next_hook)
		explain_next_hook(planstate, ancestors, relationship, plan_name, es);
	if (scan != NULL)
	{
		EcpSearchStats stats;

		ecp_scan_totals(scan, &stats);
		if (stats.wanted > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Rows Wanted", NULL, stats.wanted, es);
		ExplainPropertyUInteger("Clusters Probed", NULL, stats.clusters, es);
		if (stats.skipped > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Clusters Skipped", NULL, stats.skipped,
									es);
		ExplainPropertyUInteger("Vectors Scanned", NULL, stats.vectors, es);
		if (stats.reranked > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Vectors Reranked", NULL, stats.reranked,
									es);
		if (stats.filtered > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Vectors Filtered", NULL, stats.filtered,
									es);
		if (stats.dropped > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Rows Dropped", NULL, stats.dropped, es);
		if (stats.recall > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyFloat("Estimated Recall", NULL, stats.recall, 3, es);
		ExplainPropertyText("Search Ended By",
							ecp_scan_stop_name(stats.stop), es);
	}
}

void
ecp_explain_init(void)
{
	explain_next_hook = explain_per_node_hook;
	explain_per_node_hook = explain_node;
}

#endif							/* ECP_HAVE_EXPLAIN_HOOK */
